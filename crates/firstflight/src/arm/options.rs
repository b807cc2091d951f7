//! The options of every part of an arm: name, field, allowed values, meaning. What stands here is what the parser takes, the printer
//! writes and `firstflight arms` lists.

use super::knob::{Knob, names};
use crate::avoidance::{Base, cubic, reno};
use crate::detection::early_retransmit;
use crate::detection::presets::{Marking, Preset};
use crate::recovery::{LostRepeat, prr, rate_halving, sack};
use crate::startup::{best, best_published, hystart, hystart_plus_plus, jump_start, limited_slow_start, rapid_start, search};
use crate::units::Ratio;
use core::fmt;

/// One option of one part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionDoc {
    /// Its name.
    pub key: &'static str,
    /// What it takes.
    pub values: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

/// Why an option was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No option of that name.
    Key,
    /// The option does not take that value; this is what it takes.
    Value(&'static str),
}

/// A set of options that parses from and prints to `key=value` pairs.
pub trait Options: Copy + Default {
    /// Every option.
    const DOCS: &'static [OptionDoc];
    /// Sets one option.
    ///
    /// # Errors
    /// If there is no such option or it does not take the value.
    fn set(&mut self, key: &str, value: &str) -> Result<(), Refused>;
    /// Visits the options that differ from the default, in the order of [`Options::DOCS`].
    ///
    /// # Errors
    /// Those of the visitor.
    fn changed(&self, visit: &mut dyn FnMut(&'static str, &dyn Show) -> fmt::Result) -> fmt::Result;
}

/// A value that can be written.
pub trait Show {
    /// Writes it.
    ///
    /// # Errors
    /// Those of the writer.
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

impl<T: Knob> Show for T {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Knob::show(self, f)
    }
}

fn read<T: Knob>(value: &str, values: &'static str, fits: impl Fn(T) -> bool) -> Result<T, Refused> {
    T::parse(value).filter(|&parsed| fits(parsed)).ok_or(Refused::Value(values))
}

/// `options! { Type, preset; key: field, values, fits, meaning; ... }`. A preset option replaces all fields at once; the others are
/// compared with the preset in force, so `profile=gvisor` prints as just that.
macro_rules! options {
    ($type:ty $(, preset $pkey:literal: $pkind:ty, $pvalues:literal, $pof:expr, $pmake:expr, $pmeaning:literal)?;
     $($key:literal: $field:ident, $values:literal, $fits:expr, $meaning:literal;)*) => {
        impl Options for $type {
            const DOCS: &'static [OptionDoc] = &[
                $(OptionDoc { key: $pkey, values: $pvalues, meaning: $pmeaning },)?
                $(OptionDoc { key: $key, values: $values, meaning: $meaning },)*
            ];
            fn set(&mut self, key: &str, value: &str) -> Result<(), Refused> {
                match key {
                    $($pkey => *self = $pmake(read::<$pkind>(value, $pvalues, |_| true)?),)?
                    $($key => self.$field = read(value, $values, $fits)?,)*
                    _ => return Err(Refused::Key),
                }
                Ok(())
            }
            fn changed(&self, visit: &mut dyn FnMut(&'static str, &dyn Show) -> fmt::Result) -> fmt::Result {
                let base = <$type>::default();
                $(
                    let preset: $pkind = $pof(*self);
                    let base = if preset == $pof(base) { base } else {
                        visit($pkey, &preset)?;
                        $pmake(preset)
                    };
                )?
                $(if self.$field != base.$field { visit($key, &self.$field)?; })*
                Ok(())
            }
        }
    };
}

fn any<T>(_: T) -> bool {
    true
}

/// A decrease factor: below one, and not so small that a window vanishes.
fn factor(ratio: Ratio) -> bool {
    ratio.num() < ratio.den() && ratio.num() * 20 >= ratio.den()
}

fn optional_factor(ratio: Option<Ratio>) -> bool {
    ratio.is_none_or(factor)
}

names!(hystart::Profile {
    hystart::Profile::Linux => "linux" = hystart::Profile::Linux,
    hystart::Profile::Gvisor => "gvisor" = hystart::Profile::Gvisor,
    hystart::Profile::Ns3 => "ns3" = hystart::Profile::Ns3,
});
names!(hystart::RollAt {
    hystart::RollAt::Sample => "sample" = hystart::RollAt::Sample,
    hystart::RollAt::BehindGate => "gate" = hystart::RollAt::BehindGate,
    hystart::RollAt::Growth => "growth" = hystart::RollAt::Growth,
});
options! {
    hystart::Params, preset "profile": hystart::Profile, "linux, gvisor, ns3", |p: hystart::Params| p.profile, |profile| match profile {
        hystart::Profile::Linux => hystart::Params::LINUX,
        hystart::Profile::Gvisor => hystart::Params::GVISOR,
        hystart::Profile::Ns3 => hystart::Params::NS3,
    }, "whose constants and comparisons";
    "train": train, "on, off", any, "leave on an ACK train as long as the path";
    "delay": delay, "on, off", any, "leave when the round's smallest RTT rises";
    "low": low_window, "0 to 10000 segments", |n: u64| n <= 10_000, "no detection below this window";
    "roll": roll_at, "sample, gate, growth", any, "where a round may end";
    "scale": exit_scale, "a factor up to 1", |r: Ratio| r.num() <= r.den() && r.num() * 20 >= r.den(), "window kept at the exit";
}

names!(hystart_plus_plus::Mode {
    hystart_plus_plus::Mode::Css => "css" = hystart_plus_plus::Mode::Css,
    hystart_plus_plus::Mode::Lss => "lss" = hystart_plus_plus::Mode::Lss,
});
names!(hystart_plus_plus::Baseline {
    hystart_plus_plus::Baseline::CurrentRoundMin => "round" = hystart_plus_plus::Baseline::CurrentRoundMin,
    hystart_plus_plus::Baseline::EntryThreshold => "entry" = hystart_plus_plus::Baseline::EntryThreshold,
});
names!(hystart_plus_plus::FreshSamples {
    hystart_plus_plus::FreshSamples::Always => "on" = hystart_plus_plus::FreshSamples::Always,
    hystart_plus_plus::FreshSamples::OnEntry => "entry" = hystart_plus_plus::FreshSamples::OnEntry,
    hystart_plus_plus::FreshSamples::Never => "off" = hystart_plus_plus::FreshSamples::Never,
});
names!(hystart_plus_plus::RoundEnd {
    hystart_plus_plus::RoundEnd::Reached => "reached" = hystart_plus_plus::RoundEnd::Reached,
    hystart_plus_plus::RoundEnd::Passed => "passed" = hystart_plus_plus::RoundEnd::Passed,
});
names!(hystart_plus_plus::Rearm {
    hystart_plus_plus::Rearm::Never => "never" = hystart_plus_plus::Rearm::Never,
    hystart_plus_plus::Rearm::Idle => "idle" = hystart_plus_plus::Rearm::Idle,
    hystart_plus_plus::Rearm::Rto => "rto" = hystart_plus_plus::Rearm::Rto,
    hystart_plus_plus::Rearm::Always => "always" = hystart_plus_plus::Rearm::Always,
});

/// Rounds of conservative slow start, as an option: `off` is none at all.
#[derive(Clone, Copy, PartialEq, Eq)]
struct CssRounds(u8);

impl Knob for CssRounds {
    fn parse(text: &str) -> Option<CssRounds> {
        if text == "off" { Some(CssRounds(0)) } else { u8::parse(text).filter(|&n| n >= 1).map(CssRounds) }
    }
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 { f.write_str("off") } else { Knob::show(&self.0, f) }
    }
}

impl Options for hystart_plus_plus::Params {
    const DOCS: &'static [OptionDoc] = &[
        OptionDoc { key: "mode", values: "css, lss", meaning: "RFC 9406, or draft-03's limited slow start until the next congestion" },
        OptionDoc { key: "css", values: "off, or 1 to 255", meaning: "rounds of conservative slow start; off leaves at the first rise" },
        OptionDoc { key: "divisor", values: "2 to 64", meaning: "growth in conservative slow start is divided by this" },
        OptionDoc { key: "baseline", values: "round, entry", meaning: "what ends conservative slow start; entry cannot oscillate" },
        OptionDoc { key: "fresh", values: "on, entry, off", meaning: "eight new samples after each change of phase, or only into CSS" },
        OptionDoc {
            key: "end",
            values: "reached, passed",
            meaning: "a round ends when all below its mark is acknowledged, or the mark itself",
        },
        OptionDoc { key: "keep", values: "on, off", meaning: "a round without samples keeps the minimum of the one before" },
        OptionDoc { key: "skip", values: "on, off", meaning: "judge nothing before the first flight is acknowledged" },
        OptionDoc { key: "low", values: "0 to 10000 segments", meaning: "no detection below this window" },
        OptionDoc { key: "cap", values: "off, or 1 to 64 segments", meaning: "most that one ACK may count when unpaced (L)" },
        OptionDoc { key: "int", values: "on, off", meaning: "limited slow start rounds K down" },
        OptionDoc { key: "rearm", values: "never, idle, rto, always", meaning: "when it runs again" },
        OptionDoc { key: "limited", values: "on, off", meaning: "count a conservative round only if the window was the limit in it" },
    ];
    fn set(&mut self, key: &str, value: &str) -> Result<(), Refused> {
        let doc = Self::DOCS.iter().find(|doc| doc.key == key).ok_or(Refused::Key)?;
        let values = doc.values;
        match key {
            "mode" => {
                *self = match read(value, values, any)? {
                    hystart_plus_plus::Mode::Css => Self::RFC9406,
                    hystart_plus_plus::Mode::Lss => Self::DRAFT03,
                }
            }
            "css" => self.css_rounds = read::<CssRounds>(value, values, any)?.0,
            "divisor" => self.css_divisor = read(value, values, |n: u32| (2..=64).contains(&n))?,
            "baseline" => self.baseline = read(value, values, any)?,
            "fresh" => self.fresh_samples = read(value, values, any)?,
            "end" => self.round_end = read(value, values, any)?,
            "keep" => self.keep_last_min = read(value, values, any)?,
            "skip" => self.skip_first_flight = read(value, values, any)?,
            "low" => self.low_cwnd = read(value, values, |n: u64| n <= 10_000)?,
            "cap" => self.l = read(value, values, |l: Option<u64>| l.is_none_or(|n| (1..=64).contains(&n)))?,
            "int" => self.int_k = read(value, values, any)?,
            "rearm" => self.rearm = read(value, values, any)?,
            _ => self.css_count_limited = read(value, values, any)?,
        }
        Ok(())
    }
    fn changed(&self, visit: &mut dyn FnMut(&'static str, &dyn Show) -> fmt::Result) -> fmt::Result {
        let base = match self.mode {
            hystart_plus_plus::Mode::Css => Self::RFC9406,
            hystart_plus_plus::Mode::Lss => {
                visit("mode", &self.mode)?;
                Self::DRAFT03
            }
        };
        let mut differs = |key, value: &dyn Show, same: bool| if same { Ok(()) } else { visit(key, value) };
        differs("css", &CssRounds(self.css_rounds), self.css_rounds == base.css_rounds)?;
        differs("divisor", &self.css_divisor, self.css_divisor == base.css_divisor)?;
        differs("baseline", &self.baseline, self.baseline == base.baseline)?;
        differs("fresh", &self.fresh_samples, self.fresh_samples == base.fresh_samples)?;
        differs("end", &self.round_end, self.round_end == base.round_end)?;
        differs("keep", &self.keep_last_min, self.keep_last_min == base.keep_last_min)?;
        differs("skip", &self.skip_first_flight, self.skip_first_flight == base.skip_first_flight)?;
        differs("low", &self.low_cwnd, self.low_cwnd == base.low_cwnd)?;
        differs("cap", &self.l, self.l == base.l)?;
        differs("int", &self.int_k, self.int_k == base.int_k)?;
        differs("rearm", &self.rearm, self.rearm == base.rearm)?;
        differs("limited", &self.css_count_limited, self.css_count_limited == base.css_count_limited)
    }
}

options! {
    limited_slow_start::Params;
    "max": max_ssthresh, "2 to 100000 segments", |n: u64| (2..=100_000).contains(&n), "window above which growth is limited (max_ssthresh)";
    "int": rfc_int, "on, off", any, "the RFC's integer K instead of the exact one";
}

names!(search::Version {
    search::Version::V4_0 => "4.0" = search::Version::V4_0,
    search::Version::V3_1 => "3.1" = search::Version::V3_1,
    search::Version::V3_1In2025 => "3.1-2025" = search::Version::V3_1In2025,
});
names!(search::Exit {
    search::Exit::Drain => "drain" = search::Exit::Drain,
    search::Exit::None => "none" = search::Exit::None,
    search::Exit::Jump => "jump" = search::Exit::Jump,
    search::Exit::Rollback => "rollback" = search::Exit::Rollback,
});
names!(search::Interpolation {
    search::Interpolation::Older => "older" = search::Interpolation::Older,
    search::Interpolation::Newer => "newer" = search::Interpolation::Newer,
});
names!(search::Warmup {
    search::Warmup::Strict => "strict" = search::Warmup::Strict,
    search::Warmup::Kernel => "kernel" = search::Warmup::Kernel,
});
names!(search::Boundary {
    search::Boundary::Closed => "closed" = search::Boundary::Closed,
    search::Boundary::Open => "open" = search::Boundary::Open,
});

impl Knob for search::MissedBins {
    fn parse(text: &str) -> Option<search::MissedBins> {
        match text {
            "off" => Some(search::MissedBins::Off),
            "window" => Some(search::MissedBins::Window),
            text => {
                let (number, make): (_, fn(u8) -> search::MissedBins) = match (text.strip_suffix("bins"), text.strip_suffix("initial")) {
                    (Some(bins), _) => (bins, search::MissedBins::Bins),
                    (_, Some(alpha)) => (alpha, search::MissedBins::Initial),
                    _ => (text, search::MissedBins::Alpha),
                };
                u8::parse(number).filter(|&number| number >= 1).map(make)
            }
        }
    }
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            search::MissedBins::Off => f.write_str("off"),
            search::MissedBins::Window => f.write_str("window"),
            search::MissedBins::Alpha(alpha) => Knob::show(alpha, f),
            search::MissedBins::Bins(bins) => write!(f, "{bins}bins"),
            search::MissedBins::Initial(alpha) => write!(f, "{alpha}initial"),
        }
    }
}

options! {
    search::Params, preset "version": search::Version, "4.0, 3.1, 3.1-2025", |p: search::Params| p.version, |version| match version {
        search::Version::V4_0 => search::Params::V4_0,
        search::Version::V3_1 => search::Params::V3_1,
        search::Version::V3_1In2025 => search::Params::V3_1_IN_2025,
    }, "which generation";
    "thresh": thresh_percent, "1 to 50", |n: u8| (1..=50).contains(&n), "shortfall in percent that ends slow start";
    "exit": exit, "drain, none, jump, rollback", any, "what happens to the window then";
    "extra": extra, "1 to 15", |n: u8| (1..=search::MAX_EXTRA).contains(&n), "bins that the look-back may reach";
    "ratio": drain_ratio, "1 to 64", |n: u8| (1..=64).contains(&n), "segments acknowledged per segment sent while draining";
    "interpolate": interpolation, "older, newer", any, "towards which bin";
    "warmup": warmup, "strict, kernel", any, "bins needed before the first comparison";
    "missed": missed_bins, "off, window, or 1 to 255, 1bins to 255bins, 1initial to 255initial", any,
        "silence that restarts the record (multiples of the RTT, bins, bins of an initial RTT)";
    "bits": bits, "16 to 32", |n: u8| (16..=32).contains(&n), "bits of a counter";
    "edge": boundary, "closed, open", any, "whether an ACK at the end of a bin closes it";
    "epoch": skip_young_epoch, "on, off", any, "ignore samples in the first second of an avoidance epoch";
}

/// What runs beside BEST, by name.
impl Knob for best::FallbackParams {
    fn parse(text: &str) -> Option<best::FallbackParams> {
        match text {
            "search" => Some(best::FallbackParams::Search(search::Params::V4_0)),
            "hystart++" => Some(best::FallbackParams::HyStartPlusPlus(hystart_plus_plus::Params::RFC9406)),
            "none" => Some(best::FallbackParams::None),
            _ => None,
        }
    }
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            best::FallbackParams::Search(_) => "search",
            best::FallbackParams::HyStartPlusPlus(_) => "hystart++",
            best::FallbackParams::None => "none",
        })
    }
}

options! {
    best::Params;
    "samples": min_samples, "1 to 255", |n: u8| n >= 1, "spacing samples that a round needs";
    "percentile": percentile, "0 to 100", |n: u8| n <= 100, "of the spacing rates of a round";
    "queue": queue_hint, "off, or bytes", any, "known queue: the threshold stays at or below twice that";
    "fallback": fallback, "search, hystart++, none", any, "what decides where BEST is silent";
}

options! {
    best_published::Params;
    "round": min_round, "0 to 6", |n: u8| n <= 6, "decide after this many rounds";
    "percentile": percentile, "1 to 100", |n: u8| (1..=100).contains(&n), "of the estimates of a round";
    "set": set_ssthresh, "on, off", any, "set the threshold, or only estimate";
    "low": low_window, "0 to 255 segments", any, "no estimate below this window";
}

names!(rapid_start::Threshold {
    rapid_start::Threshold::Draft => "draft" = rapid_start::Threshold::Draft,
    rapid_start::Threshold::Quicly => "quicly" = rapid_start::Threshold::Quicly,
});
options! {
    rapid_start::Params;
    "k": k, "a fraction below 1", |r: Ratio| r.num() < r.den(), "share of the reduction paid by acknowledged bytes";
    "jump": jump, "off, 2iw or packets", any, "first window, spread over a whole round trip";
    "threshold": threshold, "draft, quicly", any, "RTT rise that ends threefold growth";
    "spread": full_rtt_pacing, "on, off", any, "pace every round over its whole RTT (gain 1.65)";
    "recovery": own_recovery, "on, off", any, "the smooth first recovery";
    "hystart": then_hystart, "on, off", any, "HyStart++ watches too and may leave before a loss";
}

options! {
    jump_start::Params;
    "jump": window, "2iw or packets", any, "first window, spread over a whole round trip";
}

names!(Base {
    Base::Cwnd => "cwnd" = Base::Cwnd,
    Base::Inflight => "inflight" = Base::Inflight,
});
options! {
    reno::Params;
    "beta": beta, "0.05 to 1, at most four decimals", factor, "decrease factor";
    "first": first_beta, "off, or 0.05 to 1, at most four decimals", optional_factor, "decrease factor of the cut that ends slow start";
    "abe": abe, "off, or 0.05 to 1, at most four decimals", optional_factor, "decrease factor after ECN marks (RFC 8511: 0.8)";
    "base": base, "cwnd, inflight", any, "what the factor multiplies";
}

names!(cubic::Profile {
    cubic::Profile::Rfc9438 => "rfc" = cubic::Profile::Rfc9438,
    cubic::Profile::Linux => "linux" = cubic::Profile::Linux,
});
options! {
    cubic::Params, preset "profile": cubic::Profile, "rfc, linux", |p: cubic::Params| p.profile, |profile| match profile {
        cubic::Profile::Rfc9438 => cubic::Params::default(),
        cubic::Profile::Linux => cubic::Params::linux(),
    }, "RFC 9438, or the kernel's arithmetic in segments";
    "beta": beta, "0.05 to 1, at most four decimals", factor, "decrease factor";
    "first": first_beta, "off, or 0.05 to 1, at most four decimals", optional_factor, "decrease factor of the cut that ends slow start";
    "abe": abe, "off, or 0.05 to 1, at most four decimals", optional_factor, "decrease factor after ECN marks (RFC 8511: 0.85)";
    "base": base, "cwnd, inflight", any, "what the factor multiplies";
    "fast": fast_convergence, "on, off", any, "fast convergence";
    "floor20": ca_floor_20, "on, off", any, "grow by at least 5 % per RTT until the first congestion";
}

names!(LostRepeat {
    LostRepeat::CutAgain => "again" = LostRepeat::CutAgain,
    LostRepeat::Ignore => "ignore" = LostRepeat::Ignore,
});
names!(sack::Fill {
    sack::Fill::FullSegment => "segment" = sack::Fill::FullSegment,
    sack::Fill::AnyRoom => "any" = sack::Fill::AnyRoom,
});
options! {
    sack::Params;
    "fill": fill, "segment, any", any, "how much room a segment needs";
    "inflate": inflate, "0 to 10 segments", |n: u32| n <= 10, "segments added to the target while recovering (gVisor: 3)";
    "lost": lost_repeat, "again, ignore", any, "what a lost repeat does";
}

names!(rate_halving::Floor {
    rate_halving::Floor::Target => "target" = rate_halving::Floor::Target,
    rate_halving::Floor::HalfTarget => "half" = rate_halving::Floor::HalfTarget,
});
options! {
    rate_halving::Params;
    "floor": floor, "target, half", any, "where the halving stops";
    "moderation": moderation, "off, or 0 to 100 segments", |m: Option<u32>| m.is_none_or(|n| n <= 100), "burst allowed at the exit";
}

/// The rules of PRR by name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PrrMode {
    Rfc9937,
    Crb,
    Ssrb,
    Ub,
    Linux,
}
names!(PrrMode {
    PrrMode::Rfc9937 => "9937" = PrrMode::Rfc9937,
    PrrMode::Crb => "crb" = PrrMode::Crb,
    PrrMode::Ssrb => "ssrb" = PrrMode::Ssrb,
    PrrMode::Ub => "ub" = PrrMode::Ub,
    PrrMode::Linux => "linux" = PrrMode::Linux,
});

fn prr_mode(params: prr::Params) -> PrrMode {
    match params.rules {
        prr::Rules::Rfc9937 { .. } => PrrMode::Rfc9937,
        prr::Rules::Rfc6937 { bound: prr::Bound::Crb, .. } => PrrMode::Crb,
        prr::Rules::Rfc6937 { bound: prr::Bound::Ssrb, .. } => PrrMode::Ssrb,
        prr::Rules::Rfc6937 { bound: prr::Bound::Ub, .. } => PrrMode::Ub,
        prr::Rules::Linux { .. } => PrrMode::Linux,
    }
}

names!(prr::SafeAck {
    prr::SafeAck::Progress => "9937" = prr::SafeAck::Progress,
    prr::SafeAck::Repeat => "2015" = prr::SafeAck::Repeat,
});

/// Not by the macro: `safeack` belongs to two of the modes only.
impl Options for prr::Params {
    const DOCS: &'static [OptionDoc] = &[
        OptionDoc { key: "mode", values: "9937, crb, ssrb, ub, linux", meaning: "RFC 9937, a bound of RFC 6937, or the kernel's" },
        OptionDoc {
            key: "safeack",
            values: "9937, 2015 (modes 9937 and linux)",
            meaning: "which ACKs earn a segment more: progress without loss, or a repeat's as in Linux of 2015",
        },
        OptionDoc { key: "guard", values: "on, off", meaning: "splitting ACKs gains no extra segments" },
        OptionDoc { key: "lost", values: "again, ignore", meaning: "what a lost repeat does" },
    ];
    fn set(&mut self, key: &str, value: &str) -> Result<(), Refused> {
        let values = Self::DOCS.iter().find(|doc| doc.key == key).ok_or(Refused::Key)?.values;
        match key {
            "mode" => *self = of_mode(read(value, values, any)?),
            "safeack" => match &mut self.rules {
                prr::Rules::Rfc9937 { safe_ack, .. } | prr::Rules::Linux { safe_ack } => *safe_ack = read(value, values, any)?,
                prr::Rules::Rfc6937 { .. } => return Err(Refused::Value(values)),
            },
            "guard" => self.split_guard = read(value, values, any)?,
            _ => self.lost_repeat = read(value, values, any)?,
        }
        Ok(())
    }
    fn changed(&self, visit: &mut dyn FnMut(&'static str, &dyn Show) -> fmt::Result) -> fmt::Result {
        let mode = prr_mode(*self);
        if mode != prr_mode(prr::Params::default()) {
            visit("mode", &mode)?;
        }
        let base = of_mode(mode);
        if let prr::Rules::Rfc9937 { safe_ack, .. } | prr::Rules::Linux { safe_ack } = self.rules
            && safe_ack != prr::SafeAck::default()
        {
            visit("safeack", &safe_ack)?;
        }
        if self.split_guard != base.split_guard {
            visit("guard", &self.split_guard)?;
        }
        if self.lost_repeat != base.lost_repeat {
            visit("lost", &self.lost_repeat)?;
        }
        Ok(())
    }
}

fn of_mode(mode: PrrMode) -> prr::Params {
    match mode {
        PrrMode::Rfc9937 => prr::Params::rfc9937(),
        PrrMode::Crb => prr::Params::rfc6937(prr::Bound::Crb),
        PrrMode::Ssrb => prr::Params::rfc6937(prr::Bound::Ssrb),
        PrrMode::Ub => prr::Params::rfc6937(prr::Bound::Ub),
        PrrMode::Linux => prr::Params::linux(),
    }
}

/// A part without options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoOptions;
impl Options for NoOptions {
    const DOCS: &'static [OptionDoc] = &[];
    fn set(&mut self, _key: &str, _value: &str) -> Result<(), Refused> {
        Err(Refused::Key)
    }
    fn changed(&self, _visit: &mut dyn FnMut(&'static str, &dyn Show) -> fmt::Result) -> fmt::Result {
        Ok(())
    }
}

/// The oracle's option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OracleParams {
    /// The window at which it leaves, bytes; without it whoever knows the path fills it in.
    pub exit: Option<u64>,
}
options! {
    OracleParams;
    "exit": exit, "off, or bytes", |e: Option<u64>| e.is_none_or(|n| n >= 1), "window at which it leaves; off: the path's BDP";
}

/// What belongs to the sender, not to an algorithm: `@(iw=30,pace=off)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderParams {
    /// Initial window in packets, if not the experiment's.
    pub iw: Option<u32>,
    /// Paced or not, if not the transport's default.
    pub pace: Option<Pace>,
    /// Depth of the pacer's bucket in packets, if not the experiment's.
    pub burst: Option<u32>,
    /// Pacing gain in ordinary recovery, if not 5/4.
    pub recovery_gain: Option<Ratio>,
    /// Loss detection of a TCP sender, if not the experiment's.
    pub detection: Option<&'static Preset>,
    /// Early retransmit, where the detection leaves it to the arm.
    pub early: Option<early_retransmit::Options>,
}

/// A preset of loss detection by name; those of TCP only, QUIC has its own.
impl Knob for &'static Preset {
    fn parse(text: &str) -> Option<&'static Preset> {
        Preset::named(text).filter(|preset| preset.marking != Marking::Quic)
    }
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Early retransmit by the names of the 2011 experiments: without a guard, with either, with both. Options that are none of these have no
/// name in an arm.
impl Knob for early_retransmit::Options {
    fn parse(text: &str) -> Option<early_retransmit::Options> {
        EARLY.iter().find(|(name, _)| *name == text).map(|&(_, options)| options)
    }
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EARLY.iter().find(|(_, options)| options == self).map_or("custom", |&(name, _)| name))
    }
}

const EARLY: [(&str, early_retransmit::Options); 4] = [
    ("naive", early_retransmit::Options::NAIVE),
    ("a", early_retransmit::Options::A),
    ("b", early_retransmit::Options::B),
    ("ab", early_retransmit::Options::AB),
];

/// Paced or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Packets leave at the pacing rate.
    On,
    /// Packets leave as soon as the window allows.
    Off,
}

impl SenderParams {
    /// Every sender option.
    pub const DOCS: &'static [OptionDoc] = <SenderParams as Options>::DOCS;
}

impl Options for SenderParams {
    const DOCS: &'static [OptionDoc] = &[
        OptionDoc { key: "iw", values: "1 to 1000 packets", meaning: "initial window" },
        OptionDoc { key: "pace", values: "on, off", meaning: "spread packets over the round trip" },
        OptionDoc { key: "burst", values: "1 to 1000 packets", meaning: "depth of the pacer's bucket" },
        OptionDoc { key: "recgain", values: "1 to 4", meaning: "pacing gain in ordinary recovery" },
        OptionDoc {
            key: "detection",
            values: "rack, linux26, sack6675, sack3517, reno, windows",
            meaning: "loss detection of a TCP sender",
        },
        OptionDoc {
            key: "early",
            values: "off, naive, a, b, ab",
            meaning: "early retransmit with detection linux26: no guard, off after reordering (a), delayed by RTT/4 (b)",
        },
    ];
    fn set(&mut self, key: &str, value: &str) -> Result<(), Refused> {
        let values = Self::DOCS.iter().find(|doc| doc.key == key).ok_or(Refused::Key)?.values;
        let packets = |n: u32| (1..=1000).contains(&n);
        match key {
            "iw" => self.iw = Some(read(value, values, packets)?),
            "pace" => self.pace = Some(if read(value, values, any)? { Pace::On } else { Pace::Off }),
            "burst" => self.burst = Some(read(value, values, packets)?),
            "detection" => self.detection = Some(read(value, values, any)?),
            "early" => self.early = read(value, values, any)?,
            _ => self.recovery_gain = Some(read(value, values, |r: Ratio| r.num() >= r.den() && r.num() <= 4 * r.den())?),
        }
        Ok(())
    }
    fn changed(&self, visit: &mut dyn FnMut(&'static str, &dyn Show) -> fmt::Result) -> fmt::Result {
        if let Some(iw) = self.iw {
            visit("iw", &iw)?;
        }
        if let Some(pace) = self.pace {
            visit("pace", &(pace == Pace::On))?;
        }
        if let Some(burst) = self.burst {
            visit("burst", &burst)?;
        }
        if let Some(gain) = self.recovery_gain {
            visit("recgain", &gain)?;
        }
        if let Some(detection) = self.detection {
            visit("detection", &detection)?;
        }
        if let Some(early) = self.early {
            visit("early", &early)?;
        }
        Ok(())
    }
}
