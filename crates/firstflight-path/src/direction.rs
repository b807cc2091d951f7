//! What one direction of a path consists of: its rate, its queue, and what else happens to packets
//! on it. Plain values with their limits.

use crate::capacity::{PACKET, Queue};
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
    /// At the opportunities of a trace.
    Trace(PlayedTrace),
    /// At random opportunities.
    Poisson(Poisson),
}

/// A rate that changes at fixed times. The last rate stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    /// Bits per second from time zero on.
    pub first: u64,
    /// (time in ns, bits per second from then on), times increasing; 0 bit/s is an outage.
    pub then: Arc<[(u64, u64)]>,
}

/// A rate whose logarithm is an AR(1) process with a step every 100 ms, clipped to a fifth and five
/// times the nominal rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WanderingRate {
    /// Nominal bits per second: the median.
    pub bps: u64,
    /// Standard deviation of the logarithm, in 1e-6.
    pub sd: u64,
    /// Time constant in ns.
    pub tau: u64,
}

/// Opportunities of one 1500-byte packet at independent exponential gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Poisson {
    /// Mean bits per second.
    pub bps: u64,
    /// Number of opportunities exactly 100 ms apart before the process starts.
    pub lead_in: u64,
    /// Round each opportunity to the nearest whole millisecond.
    pub ms_slots: bool,
}

/// A trace, the name of its file, and how it is played.
#[derive(Clone, Debug)]
pub struct PlayedTrace {
    file: Arc<str>,
    trace: Arc<Trace>,
    options: TraceOptions,
    schedule: Arc<Schedule>,
}

impl PartialEq for PlayedTrace {
    fn eq(&self, other: &Self) -> bool {
        // The schedule follows from trace and options.
        self.file == other.file && self.options == other.options && self.trace == other.trace
    }
}

impl Eq for PlayedTrace {}

impl PlayedTrace {
    /// A trace played with `options`; `file` is the name it is printed under.
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
                format!("is behind the end of {file}"),
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
    /// Bits per second: the first of several, the median of a wandering rate, the mean of
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

    /// Whether the seed decides how fast it is.
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

    /// Time one packet takes on the wire, in ns. None at opportunities: a packet is delivered at an
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

/// Effects on packets of one direction beyond rate, queue and independent loss. The default is
/// nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// A token bucket in front of the queue.
    pub policer: Option<Policer>,
    /// Active management of the queue.
    pub aqm: Option<Aqm>,
    /// Congestion marks.
    pub ecn: Option<Ecn>,
    /// Loss in bursts; not together with independent loss.
    pub ge: Option<GilbertElliott>,
    /// Lose each packet whose ordinal, counted from one, is a multiple of this.
    pub loss_every: Option<u64>,
    /// Extra delay that keeps the order.
    pub jitter: Option<Jitter>,
    /// Extra delay for some packets, which the others overtake.
    pub reorder: Option<Reorder>,
    /// Share of packets that arrive twice, in 1e-9.
    pub dup_ppb: u64,
}

/// A token bucket without a queue: it drops what exceeds it and delays nothing.
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
    /// RFC 8289. [`crate::Path::open_driven`] runs the queue; a [`crate::Link`] decides at the offer, with a
    /// departure.
    Codel {
        /// Acceptable standing delay, in ns.
        target: u64,
        /// Time in which the delay must fall below the target once, in ns.
        interval: u64,
    },
    /// RFC 8033.
    Pie {
        /// Delay it steers to, in ns.
        target: u64,
    },
    /// Random Early Detection.
    Red(Red),
    /// RFC 8290. Of the forward direction, and of a path that is opened with
    /// [`crate::Path::open_driven`].
    FqCodel(FqCodel),
    /// RFC 9332. As FQ-CoDel.
    DualPi2(DualPi2),
}

impl Aqm {
    /// CoDel as RFC 8289 section 4.2 and 4.3 set it: 5 ms in 100 ms.
    pub const CODEL: Self = Self::Codel { target: 5_000_000, interval: 100_000_000 };
    /// PIE as RFC 8033 section 4.2 sets it: 15 ms.
    pub const PIE: Self = Self::Pie { target: 15_000_000 };

    /// Whether it can only decide about a packet after it was offered.
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

/// Which packets are marked Congestion Experienced. A [`crate::Link`] takes every packet as
/// ECN-capable; a [`crate::ForwardPath`] goes by the [`crate::Codepoint`] of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// Those the queue management would have dropped.
    InsteadOfDrop,
    /// Those that meet at least this much in the queue.
    Above(Queue),
    /// This share of all, by chance, in 1e-9: for the response to a known share of marks.
    Chance(u64),
}

/// Loss in bursts: a good and a bad state, each with a loss of its own, and a possible change of
/// state behind each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GilbertElliott {
    /// Probability per packet to go from good to bad, in 1e-9.
    pub g: u64,
    /// Mean stay in the bad state, in 1e-6 packets.
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
    /// Normal with this mean and standard deviation in ns, cut off at zero.
    Normal(u64, u64),
}

/// Exponential extra delay for a share of the packets, and another for a second share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reorder {
    /// Share in 1e-9 and mean extra delay in ns.
    pub first: (u64, u64),
    /// A second kind.
    pub second: Option<(u64, u64)>,
}

impl Effects {
    /// Refuses what is out of range; `prefix` is that of the direction's keys.
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
            (Some(Ecn::Chance(_)), Some(_)) => {
                let wrong = "the queue management decides what is marked";
                let allowed = "`ecn` alone with queue management";
                return Err(Error::at(key("ecn"), "ce:...", wrong, allowed));
            }
            (Some(Ecn::Chance(share)), None) => {
                value::SHARE.check(key("ecn"), share, value::print_percent)?;
            }
            _ => {}
        }
        if let Some(GilbertElliott { g, burst, h, k }) = self.ge {
            value::BURST.check(key("ge"), burst, value::print_factor)?;
            [g, h, k]
                .into_iter()
                .try_for_each(|share| value::SHARE.check(key("ge"), share, value::print_percent))?;
        }
        if let Some(every) = self.loss_every {
            value::check_count(key("loss_every"), every, 1, 1_000_000_000)?;
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
            value::SHARE.check(key("reorder"), shares, value::print_percent)?;
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
        if self.bucket_bytes() < PACKET {
            let wrong = format!(
                "has a bucket of {} B that never holds a packet of 1500 B",
                self.bucket_bytes()
            );
            return Err(Error::at(key, &self.to_string(), wrong, "a bucket of 1500B or more"));
        }
        if self.bps >= link {
            let wrong =
                format!("never acts, because the link itself sends {}", value::print_rate(link));
            return Err(Error::at(key, &self.to_string(), wrong, "a rate below that of the link"));
        }
        Ok(())
    }
}
