//! The parts of one direction of a path: its rate, its queue, and other effects on packets. Plain
//! values with their limits.

use crate::capacity::Queue;
use crate::error::{Error, Key};
use crate::managed::{DualPi2, FqCodel, Red};
use crate::trace::{Schedule, Trace, TraceOptions, TraceStart};
use crate::value;
use std::sync::Arc;

/// Rate of a direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Bits per second, all IP bytes counted.
    Constant(u64),
    /// A first rate and the rates that follow.
    Steps(Steps),
    /// A rate that wanders around a value.
    Wander(WanderingRate),
    /// The delivery opportunities of a trace.
    Trace(PlayedTrace),
    /// Random delivery opportunities.
    Poisson(Poisson),
}

/// A rate that changes at fixed times. The last rate remains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    /// Bits per second at time zero.
    pub first: u64,
    /// (time in ns, bits per second starting then), times increasing; 0 bit/s is an outage.
    pub then: Arc<[(u64, u64)]>,
}

/// A rate whose logarithm is an AR(1) process with one step every 100 ms, clipped to between a
/// fifth of the nominal rate and five times that rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WanderingRate {
    /// Nominal bits per second: the median.
    pub bps: u64,
    /// Standard deviation of the logarithm, in 1e-6.
    pub sd: u64,
    /// Time constant in ns.
    pub tau: u64,
}

/// Opportunities of one 1500-byte packet each, with independent exponential gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Poisson {
    /// Mean bits per second.
    pub bps: u64,
    /// Number of opportunities exactly 100 ms apart before the process starts.
    pub lead_in: u64,
    /// Round each opportunity to the nearest whole millisecond.
    pub ms_slots: bool,
}

/// A trace, its file name, and its playback options.
#[derive(Clone, Debug)]
pub struct PlayedTrace {
    file: Arc<str>,
    trace: Arc<Trace>,
    options: TraceOptions,
    schedule: Arc<Schedule>,
}

impl PartialEq for PlayedTrace {
    fn eq(&self, other: &Self) -> bool {
        // The schedule follows from the trace and the options.
        self.file == other.file && self.options == other.options && self.trace == other.trace
    }
}

impl Eq for PlayedTrace {}

impl PlayedTrace {
    /// A trace played with `options`; `file` is the name printed for it.
    pub fn new(
        file: impl Into<String>,
        trace: Arc<Trace>,
        options: TraceOptions,
    ) -> Result<Self, Error> {
        let file: Arc<str> = Arc::from(file.into());
        if file.contains(',') || file.is_empty() {
            return Err(Error::at(
                "rate",
                &format!("trace:{file}"),
                "cannot be printed in a list of keys",
                "a file name without commas",
            ));
        }
        value::FACTOR.check("scale", options.scale, value::print_factor)?;
        let period = trace.period_ms();
        let Some(schedule) = Schedule::new(&trace, &options) else {
            let skip = value::print_time(options.skip_ms * 1_000_000);
            return Err(Error::at(
                "skip",
                &skip,
                format!("leaves nothing of {file}"),
                format!("less than its {period} ms"),
            ));
        };
        if let TraceStart::At(ns) = options.start
            && ns >= schedule.period_ms * 1_000_000
        {
            let allowed = format!("less than the {} ms that are played", schedule.period_ms);
            return Err(Error::at(
                "start",
                &value::print_time(ns),
                format!("is after the end of {file}"),
                allowed,
            ));
        }
        Ok(Self { file, trace, options, schedule: Arc::new(schedule) })
    }

    /// Name of the file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Playback options.
    pub fn options(&self) -> &TraceOptions {
        &self.options
    }

    pub(crate) fn schedule(&self) -> &Arc<Schedule> {
        &self.schedule
    }
}

impl Rate {
    /// Bits per second: the first of several rates, the median of a wandering rate, the mean of
    /// opportunities.
    pub fn bps(&self) -> u64 {
        match self {
            Rate::Constant(bps) => *bps,
            Rate::Steps(steps) => steps.first,
            Rate::Wander(wander) => wander.bps,
            Rate::Trace(played) => played.schedule.mean_rate(),
            Rate::Poisson(poisson) => poisson.bps,
        }
    }

    /// Whether the rate depends on the seed.
    pub(crate) fn draws(&self) -> bool {
        match self {
            Rate::Constant(_) | Rate::Steps(_) => false,
            Rate::Wander(wander) => wander.sd > 0,
            Rate::Trace(played) => played.options.start == TraceStart::Random,
            Rate::Poisson(_) => true,
        }
    }

    /// Whether packets leave at opportunities instead of at a rate.
    pub(crate) fn is_slotted(&self) -> bool {
        matches!(self, Rate::Trace(_) | Rate::Poisson(_))
    }

    /// Time one packet takes on the wire, in ns. 0 with opportunities, which deliver a packet in an
    /// instant.
    pub(crate) fn serialization(&self, len: u64) -> u64 {
        if self.is_slotted() {
            0
        } else {
            (u128::from(len) * 8_000_000_000 / u128::from(self.bps().max(1))) as u64
        }
    }

    pub(crate) fn check(&self, prefix: &'static str) -> Result<(), Error> {
        let rate = if prefix.is_empty() { "rate" } else { "up" };
        if !matches!(self, Rate::Trace(_)) {
            value::RATE.check(rate, self.bps(), value::print_rate)?;
        }
        match self {
            Rate::Steps(steps) => steps.check(Key(prefix, "steps")),
            Rate::Wander(wander) => {
                value::SPREAD.check(Key(prefix, "wander"), wander.sd, value::print_factor)?;
                value::TIME.check(Key(prefix, "wander"), wander.tau, value::print_time)
            }
            Rate::Poisson(poisson) => {
                value::check_count(Key(prefix, "lead_in"), poisson.lead_in, 0, 1_000_000)
            }
            Rate::Constant(_) | Rate::Trace(_) => Ok(()),
        }
    }
}

impl Steps {
    fn check(&self, key: Key) -> Result<(), Error> {
        let refuse =
            |what: &str, allowed: &str| Err(Error::at(key, &self.to_string(), what, allowed));
        let Some((_, last)) = self.then.last() else {
            return refuse("has no step", "TIME:RATE, several separated by `/`");
        };
        if self.then.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
            return refuse("goes back in time", "increasing times");
        }
        if *last == 0 {
            return refuse("ends in an outage that never ends", "`off` at any step but the last");
        }
        self.then
            .iter()
            .filter(|(_, bps)| *bps > 0)
            .try_for_each(|(_, bps)| value::RATE.check(key, *bps, value::print_rate))
    }
}

/// Effects on packets of one direction beyond rate, queue and independent loss. The default has
/// none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// A token bucket in front of the queue.
    pub policer: Option<Policer>,
    /// Active management of the queue.
    pub aqm: Option<Aqm>,
    /// Congestion marks.
    pub ecn: Option<Ecn>,
    /// Loss in bursts; cannot be combined with independent loss.
    pub ge: Option<GilbertElliott>,
    /// Loses each packet whose ordinal, counted from one, is a multiple of this.
    pub loss_every: Option<u64>,
    /// Nothing is lost independently of the queue among the packets offered from this time on, in ns.
    pub loss_until: Option<u64>,
    /// Extra delay that keeps the order.
    pub jitter: Option<Jitter>,
    /// Extra delay for some packets, which other packets overtake.
    pub reorder: Option<Reorder>,
    /// Share of packets that arrive twice, in 1e-9.
    pub dup_ppb: u64,
}

/// A token bucket without a queue: it drops the excess and delays nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policer {
    /// Bits per second.
    pub bps: u64,
    /// Size of the bucket, in ns at that rate. It starts full.
    pub bucket: u64,
}

impl Policer {
    /// Size of the bucket in bytes, rounded down.
    pub fn bucket_bytes(&self) -> u64 {
        Queue::Time(self.bucket).bytes(self.bps, 0).unwrap_or(u64::MAX)
    }
}

/// Active queue management.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aqm {
    /// RFC 8289. [`crate::Path::open_driven`] runs the queue; a [`crate::Link`] decides at the
    /// offer, a departure from the RFC.
    Codel {
        /// Acceptable standing delay, in ns.
        target: u64,
        /// Time in which the delay must fall below the target once, in ns.
        interval: u64,
    },
    /// RFC 8033.
    Pie {
        /// Target delay, in ns.
        target: u64,
    },
    /// Random Early Detection.
    Red(Red),
    /// RFC 8290. Forward direction only, on a path opened with [`crate::Path::open_driven`].
    FqCodel(FqCodel),
    /// RFC 9332. Restricted as FQ-CoDel is.
    DualPi2(DualPi2),
}

impl Aqm {
    /// CoDel with the settings of RFC 8289 sections 4.2 and 4.3: target 5 ms, interval 100 ms.
    pub const CODEL: Self = Self::Codel { target: 5_000_000, interval: 100_000_000 };
    /// PIE with the target of RFC 8033 section 4.2: 15 ms.
    pub const PIE: Self = Self::Pie { target: 15_000_000 };

    /// Whether it decides about some packets only after they were offered.
    pub const fn is_driven(&self) -> bool {
        matches!(self, Self::FqCodel(_) | Self::DualPi2(_))
    }

    /// Refuses settings out of range.
    fn check(&self, prefix: &'static str) -> Result<(), Error> {
        let key = |name: &'static str| Key(prefix, name);
        match self {
            Self::Codel { target, interval } => {
                value::TIME.check(key("codel"), *target, value::print_time)?;
                value::TIME.check(key("codel"), *interval, value::print_time)
            }
            Self::Pie { target } => value::TIME.check(key("pie"), *target, value::print_time),
            Self::Red(red) => red.check(key(if red.adaptive { "ared" } else { "red" })),
            Self::FqCodel(_) | Self::DualPi2(_) if !prefix.is_empty() => Err(Error::at(
                key(if matches!(self, Self::FqCodel(_)) { "fq_codel" } else { "dualpi2" }),
                "...",
                "manages the forward direction only",
                "codel, pie or red in the reverse direction",
            )),
            Self::FqCodel(fq) => fq.check(key("fq_codel")),
            Self::DualPi2(dual) => dual.check(key("dualpi2")),
        }
    }
}

/// Treatment of the ECN field: a rule for marking packets Congestion Experienced, or a fault. A
/// [`crate::Link`] treats every packet as ECN-capable unless its sender says otherwise
/// ([`crate::Ect`]); a [`crate::ForwardPath`] uses the [`crate::Codepoint`] of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// Packets that the queue management would have dropped.
    InsteadOfDrop,
    /// Packets that find at least this much in the queue.
    Above(Queue),
    /// This share of all packets, at random, in 1e-9: for the response to a known share of marks.
    Chance(u64),
    /// Fault: clears the field, so that the receiver counts no ECN-capable packet.
    Bleach,
    /// Fault: loses each packet whose sender sets ECT ([`crate::Ect::Set`]).
    Drop,
}

/// Loss in bursts: a good and a bad state, each with its own loss, and a possible change of state
/// after each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GilbertElliott {
    /// Probability per packet to go from good to bad, in 1e-9.
    pub g: u64,
    /// Mean length of a stay in the bad state, in 1e-6 packets.
    pub burst: u64,
    /// Loss in the bad state, in 1e-9.
    pub h: u64,
    /// Loss in the good state, in 1e-9.
    pub k: u64,
}

/// Extra delay per packet; order is kept, so a packet never arrives before its predecessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    /// Uniform between two values, in ns.
    Uniform(u64, u64),
    /// Normal with this mean and standard deviation in ns, clipped at zero.
    Normal(u64, u64),
}

/// Exponential extra delay for a share of the packets, and optionally another for a second share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reorder {
    /// Share in 1e-9 and mean extra delay in ns.
    pub first: (u64, u64),
    /// The second share and its mean extra delay.
    pub second: Option<(u64, u64)>,
}

impl Effects {
    /// Refuses values out of range; `prefix` is that of the direction's keys.
    pub(crate) fn check(&self, prefix: &'static str, rate: &Rate) -> Result<(), Error> {
        let key = |name: &'static str| Key(prefix, name);
        if let Some(policer) = self.policer {
            policer.check(key("policer"), rate.bps())?;
        }
        self.aqm.map_or(Ok(()), |aqm| aqm.check(prefix))?;
        match (self.ecn, self.aqm) {
            (Some(Ecn::InsteadOfDrop), None) => {
                let wrong = "there is no queue management that could mark instead of drop";
                return Err(Error::at(
                    key("ecn"),
                    "true",
                    wrong,
                    "with codel, pie, red or fq_codel, or with a threshold such as ecn=15ms",
                ));
            }
            (Some(Ecn::Above(at)), Some(_)) => {
                let wrong = "the queue management decides what is marked";
                return Err(Error::at(
                    key("ecn"),
                    &at.to_string(),
                    wrong,
                    "`ecn` alone with queue management",
                ));
            }
            (Some(ecn @ (Ecn::Chance(_) | Ecn::Bleach | Ecn::Drop)), Some(_)) => {
                let wrong = "the queue management decides what is marked";
                let allowed = "`ecn` alone with queue management";
                let text = match ecn {
                    Ecn::Bleach => "bleach",
                    Ecn::Drop => "drop",
                    _ => "ce:...",
                };
                return Err(Error::at(key("ecn"), text, wrong, allowed));
            }
            (Some(Ecn::Chance(share)), None) => {
                value::CHANCE.check(key("ecn"), share, value::print_percent)?;
            }
            _ => {}
        }
        if let Some(GilbertElliott { g, burst, h, k }) = self.ge {
            value::BURST.check(key("ge"), burst, value::print_factor)?;
            [g, h, k].into_iter().try_for_each(|share| {
                value::CHANCE.check(key("ge"), share, value::print_percent)
            })?;
        }
        if let Some(every) = self.loss_every {
            value::check_count(key("loss_every"), every, 1, 1_000_000_000)?;
        }
        if let Some(end) = self.loss_until {
            value::TIME.check(key("loss_until"), end, value::print_time)?;
        }
        match self.jitter {
            Some(Jitter::Uniform(a, b) | Jitter::Normal(a, b)) => {
                [a, b]
                    .into_iter()
                    .try_for_each(|ns| value::EXTRA.check(key("jitter"), ns, value::print_time))?;
            }
            None => {}
        }
        if let Some(Jitter::Uniform(low, high)) = self.jitter {
            value::check_range(key("jitter"), (low, high), value::print_time)?;
        }
        if let Some(reorder) = self.reorder {
            let shares =
                reorder.first.0.saturating_add(reorder.second.map_or(0, |(share, _)| share));
            value::CHANCE.check(key("reorder"), shares, value::print_percent)?;
            value::TIME.check(key("reorder"), reorder.first.1, value::print_time)?;
            if let Some((_, mean)) = reorder.second {
                value::TIME.check(key("reorder"), mean, value::print_time)?;
            }
        }
        value::LOSS.check(key("dup"), self.dup_ppb, value::print_percent)
    }
}

impl Policer {
    fn check(&self, key: Key, link: u64) -> Result<(), Error> {
        value::RATE.check(key, self.bps, value::print_rate)?;
        value::TIME.check(key, self.bucket, value::print_time)?;
        if self.bps >= link {
            let wrong =
                format!("never acts, because the link itself sends {}", value::print_rate(link));
            return Err(Error::at(key, &self.to_string(), wrong, "a rate below that of the link"));
        }
        Ok(())
    }
}
