//! The canonical text of a path and of its parts: the values that differ from the defaults, in a
//! fixed order.

use crate::capacity::Queue;
use crate::direction::{Policer, Rate, Steps};
use crate::effect_keys::EFFECTS;
use crate::path::Path;
use crate::release::{PRESETS, Release};
use crate::setting;
use crate::trace::{TraceOptions, TraceStart};
use crate::value::{
    print_count_e3, print_factor, print_percent, print_range, print_rate, print_time,
};
use crate::whole_keys::WHOLE;
use std::fmt::{self, Display, Formatter};

impl Display for Policer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", print_rate(self.bps), print_time(self.bucket))
    }
}

impl Display for Steps {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, (at, bps)) in self.then.iter().enumerate() {
            let separator = if index == 0 { "" } else { "/" };
            let rate = if *bps == 0 { "off".to_owned() } else { print_rate(*bps) };
            write!(f, "{separator}{}:{rate}", print_time(*at))?;
        }
        Ok(())
    }
}

impl Display for Release {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some((name, _)) = PRESETS.iter().find(|(_, preset)| preset == self) {
            return f.write_str(name);
        }
        match self {
            Release::Plain => f.write_str("plain"),
            Release::Grant(grant) => {
                let outages = if grant.outages { ":outages" } else { "" };
                write!(
                    f,
                    "geo:{}:{}{outages}",
                    print_count_e3(grant.start),
                    print_factor(grant.growth)
                )
            }
            Release::Batch(batch) => {
                let engine = if batch.on_first { "first" } else { "batch" };
                write!(f, "{engine}:{}:{}", print_range(batch.period, print_time), batch.cap)?;
                if batch.spacing == (0, 0) {
                    Ok(())
                } else {
                    write!(f, ":{}", print_range(batch.spacing, print_time))
                }
            }
            Release::Handover(handover) => write!(
                f,
                "leo:{}:{}:{}:{}:{}",
                print_time(handover.step),
                print_range(handover.factor, print_factor),
                print_percent(handover.burst),
                print_time(handover.data_extra),
                print_time(handover.ack_extra)
            ),
        }
    }
}

/// The rate of a direction and the keys that belong to it. `key` is `rate` or `up`; `prefix` is the
/// prefix of the other keys.
fn rate(f: &mut Formatter<'_>, key: &str, prefix: &str, rate: &Rate) -> fmt::Result {
    match rate {
        Rate::Constant(bps) => write!(f, "{key}={}", print_rate(*bps)),
        Rate::Steps(steps) => write!(f, "{key}={},{prefix}steps={steps}", print_rate(steps.first)),
        Rate::Wander(wander) => {
            write!(
                f,
                "{key}={},{prefix}wander={}:{}",
                print_rate(wander.bps),
                print_factor(wander.sd),
                print_time(wander.tau)
            )
        }
        Rate::Poisson(poisson) => {
            write!(f, "{key}=poisson:{}", print_rate(poisson.bps))?;
            if poisson.lead_in != 0 {
                write!(f, ",{prefix}lead_in={}", poisson.lead_in)?;
            }
            if poisson.ms_slots { write!(f, ",{prefix}ms_slots") } else { Ok(()) }
        }
        Rate::Trace(played) => {
            write!(f, "{key}=trace:{}", played.file())?;
            trace_options(f, prefix, played.options())
        }
    }
}

fn trace_options(f: &mut Formatter<'_>, prefix: &str, options: &TraceOptions) -> fmt::Result {
    match options.start {
        TraceStart::At(0) => {}
        TraceStart::At(ns) => write!(f, ",{prefix}start={}", print_time(ns))?,
        TraceStart::Random => write!(f, ",{prefix}start=random")?,
    }
    if options.once {
        write!(f, ",{prefix}once")?;
    }
    if options.spread {
        write!(f, ",{prefix}spread")?;
    }
    if options.scale != 1_000_000 {
        write!(f, ",{prefix}scale={}", print_factor(options.scale))?;
    }
    if options.skip_ms != 0 {
        write!(f, ",{prefix}skip={}", print_time(options.skip_ms * 1_000_000))?;
    }
    Ok(())
}

impl Display for Path {
    /// The canonical text. Parsing it gives an equal path. Name and source are not printed.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        rate(f, "rate", "", self.rate())?;
        write!(f, ",rtt={},queue={}", print_time(self.rtt()), self.queue())?;
        if self.loss_ppb() != 0 {
            write!(f, ",loss={}", print_percent(self.loss_ppb()))?;
        }
        setting::print(f, "", EFFECTS, self.effects())?;
        if let Some(up) = self.up() {
            f.write_str(",")?;
            rate(f, "up", "up_", up)?;
        }
        if self.up_queue() != Queue::Unlimited {
            write!(f, ",up_queue={}", self.up_queue())?;
        }
        if self.up_loss_ppb() != 0 {
            write!(f, ",up_loss={}", print_percent(self.up_loss_ppb()))?;
        }
        setting::print(f, "up_", EFFECTS, self.up_effects())?;
        setting::print(f, "", WHOLE, self)
    }
}
