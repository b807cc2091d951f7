//! The canonical text of a path and of its parts: what differs from the defaults, in a fixed order.

use crate::direction::{
    Aqm, Ecn, Effects, GilbertElliott, Jitter, Policer, Queue, Rate, Reorder, Steps,
};
use crate::managed::Red;
use crate::path::{Acks, Delay, Path};
use crate::release::{PRESETS, Release};
use crate::trace::{TraceOptions, TraceStart};
use crate::value::{
    print_count_e3, print_factor, print_percent, print_range, print_rate, print_size, print_time,
};
use std::fmt::{self, Display, Formatter};

impl Display for Queue {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Queue::Bytes(bytes) => f.write_str(&print_size(*bytes)),
            Queue::Packets(packets) => write!(f, "{packets}pkt"),
            Queue::Time(ns) => f.write_str(&print_time(*ns)),
            Queue::Bdp(millionths) => write!(f, "{}bdp", print_factor(*millionths)),
            Queue::Unlimited => f.write_str("unlimited"),
        }
    }
}

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

/// The rate of a direction and the keys that belong to it. `key` is `rate` or `up`, `prefix` that
/// of the other keys.
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

const fn red_key(red: Red) -> &'static str {
    if red.adaptive { "ared" } else { "red" }
}

fn effects(f: &mut Formatter<'_>, prefix: &str, effects: &Effects) -> fmt::Result {
    if let Some(policer) = effects.policer {
        write!(f, ",{prefix}policer={policer}")?;
    }
    match effects.aqm {
        None => {}
        Some(Aqm::CODEL) => write!(f, ",{prefix}codel")?,
        Some(Aqm::Codel { target, interval }) => {
            write!(f, ",{prefix}codel={}:{}", print_time(target), print_time(interval))?;
        }
        Some(Aqm::PIE) => write!(f, ",{prefix}pie")?,
        Some(Aqm::Pie { target }) => write!(f, ",{prefix}pie={}", print_time(target))?,
        Some(Aqm::Red(red)) if red == Red { adaptive: red.adaptive, ..Red::default() } => {
            write!(f, ",{prefix}{}", red_key(red))?;
        }
        Some(Aqm::Red(red)) => write!(f, ",{prefix}{}={red}", red_key(red))?,
        Some(Aqm::FqCodel(fq)) => write!(f, ",{prefix}fq_codel{fq}")?,
        Some(Aqm::DualPi2(dual)) => write!(f, ",{prefix}dualpi2{dual}")?,
    }
    match effects.ecn {
        None => {}
        Some(Ecn::InsteadOfDrop) => write!(f, ",{prefix}ecn")?,
        Some(Ecn::Above(queue)) => write!(f, ",{prefix}ecn={queue}")?,
        Some(Ecn::Chance(share)) => write!(f, ",{prefix}ecn=ce:{}", print_percent(share))?,
    }
    if let Some(GilbertElliott { g, burst, h, k }) = effects.ge {
        write!(
            f,
            ",{prefix}ge={}:{}:{}:{}",
            print_percent(g),
            print_factor(burst),
            print_percent(h),
            print_percent(k)
        )?;
    }
    if let Some(every) = effects.loss_every {
        write!(f, ",{prefix}loss_every={every}")?;
    }
    match effects.jitter {
        None => {}
        Some(Jitter::Uniform(0, high)) => write!(f, ",{prefix}jitter={}", print_time(high))?,
        Some(Jitter::Uniform(low, high)) => {
            write!(f, ",{prefix}jitter={}-{}", print_time(low), print_time(high))?;
        }
        Some(Jitter::Normal(mean, sigma)) => {
            write!(f, ",{prefix}jitter=normal:{}:{}", print_time(mean), print_time(sigma))?;
        }
    }
    if let Some(Reorder { first: (share, mean), second }) = effects.reorder {
        write!(f, ",{prefix}reorder={}:{}", print_percent(share), print_time(mean))?;
        if let Some((share, mean)) = second {
            write!(f, ":{}:{}", print_percent(share), print_time(mean))?;
        }
    }
    if effects.dup_ppb != 0 {
        write!(f, ",{prefix}dup={}", print_percent(effects.dup_ppb))?;
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
        effects(f, "", self.effects())?;
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
        effects(f, "up_", self.up_effects())?;
        match self.delay() {
            Delay::Even => {}
            Delay::Before => f.write_str(",delay=before")?,
            Delay::Behind => f.write_str(",delay=behind")?,
        }
        if self.overhead() != 0 {
            write!(f, ",overhead={}", print_size(self.overhead()))?;
        }
        if *self.release() != Release::Plain {
            write!(f, ",return={}", self.release())?;
        }
        if let Some(limit) = self.thin() {
            write!(f, ",thin={limit}")?;
        }
        if let Some((window, bytes)) = self.gro_given() {
            write!(f, ",gro={}:{}", print_time(window), print_size(bytes))?;
        }
        if let Some((time, count)) = self.sack_compression() {
            write!(f, ",comp_sack={}:{count}", print_time(time))?;
        }
        match self.acks() {
            Some(Acks::Every(packets)) => write!(f, ",ack={packets}")?,
            Some(Acks::PerRtt(times)) => write!(f, ",ack={times}/rtt")?,
            None => {}
        }
        Ok(())
    }
}
