//! A path as a value: what it consists of, what follows from it, and the links it makes.

use crate::error::PathError;
use crate::link::{Kind, Link};
use crate::plain::{self, Plain};
use crate::random::Purpose;
use crate::slots::{self, Cursor, Slotted};
use crate::trace::{Schedule, Trace, TraceOptions, TraceStart};
use crate::value;
use std::borrow::Cow;
use std::sync::Arc;

/// IP bytes of a full packet: the unit of `pkt`, and what every queue must be able to hold.
pub const PACKET: u64 = 1500;

/// IP bytes of the smallest acknowledgement: the idle RTT must have room for the serialization of one.
pub const SMALLEST_ACK: u64 = 40;

/// How fast a direction sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Bits per second, all IP bytes counted.
    Constant(u64),
    /// At the opportunities of a trace.
    Trace(PlayedTrace),
}

/// A trace, the name of its file, and how it is played.
#[derive(Clone, Debug)]
pub struct PlayedTrace {
    file: String,
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
    pub fn new(file: impl Into<String>, trace: Arc<Trace>, options: TraceOptions) -> Result<Self, PathError> {
        let file = file.into();
        if file.contains(',') || file.is_empty() {
            return Err(PathError::at(
                "rate",
                &format!("trace:{file}"),
                "cannot be printed in a list of keys",
                "a file name without commas",
            ));
        }
        let period = trace.period_ms();
        let Some(schedule) = Schedule::new(&trace, &options) else {
            let skip = value::print_time(options.skip_ms * 1_000_000);
            return Err(PathError::at("skip", &skip, format!("leaves nothing of {file}"), format!("less than its {period} ms")));
        };
        if let TraceStart::At(ns) = options.start
            && ns >= schedule.period_ms * 1_000_000
        {
            let allowed = format!("less than the {} ms that are played", schedule.period_ms);
            return Err(PathError::at("start", &value::print_time(ns), format!("is behind the end of {file}"), allowed));
        }
        Ok(Self { file, trace, options, schedule: Arc::new(schedule) })
    }

    /// Name of the file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// How it is played.
    pub fn options(&self) -> &TraceOptions {
        &self.options
    }
}

impl Rate {
    /// Bits per second; the mean over one period for a trace.
    pub fn bps(&self) -> u64 {
        match self {
            Rate::Constant(bps) => *bps,
            Rate::Trace(played) => played.schedule.mean_rate(),
        }
    }

    /// Time one packet takes on the wire, in ns. None on a trace: a packet is delivered at an instant.
    fn serialization(&self, len: u64) -> u64 {
        match self {
            Rate::Constant(bps) => (u128::from(len) * 8_000_000_000 / u128::from((*bps).max(1))) as u64,
            Rate::Trace(_) => 0,
        }
    }
}

/// How much may wait in front of a link. The packet in service is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Bytes.
    Bytes(u64),
    /// Packets of 1500 bytes, that is multiples of 1500 bytes.
    Packets(u64),
    /// What the link sends in this time, in ns.
    Time(u64),
    /// Multiples of rate x idle RTT, in 1e-6.
    Bdp(u64),
    /// No limit.
    Unlimited,
}

impl Queue {
    /// Bytes on a link of `bps` with idle round-trip time `rtt` (ns), rounded down; nothing if unlimited.
    pub fn bytes(self, bps: u64, rtt: u64) -> Option<u64> {
        let bits_ns = |ns: u64| u128::from(bps) * u128::from(ns);
        let bytes = match self {
            Queue::Bytes(bytes) => u128::from(bytes),
            Queue::Packets(packets) => u128::from(packets) * u128::from(PACKET),
            Queue::Time(ns) => bits_ns(ns) / 8_000_000_000,
            Queue::Bdp(millionths) => bits_ns(rtt).saturating_mul(u128::from(millionths)) / 8_000_000_000_000_000,
            Queue::Unlimited => return None,
        };
        Some(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

/// The network between sender and receiver.
///
/// A plain value: made from text by [`Path::parse`], or with [`Path::new`] and the `with_` functions, turned into state machines by
/// [`Path::links`]. Two paths are equal when they behave alike; name and source do not count.
#[derive(Clone, Debug)]
pub struct Path {
    name: Cow<'static, str>,
    source: Cow<'static, str>,
    rate: Rate,
    rtt: u64,
    queue: Queue,
    loss_ppb: u64,
    up: Option<Rate>,
    up_queue: Queue,
    up_loss_ppb: u64,
}

impl PartialEq for Path {
    fn eq(&self, other: &Self) -> bool {
        (&self.rate, self.rtt, self.queue, self.loss_ppb) == (&other.rate, other.rtt, other.queue, other.loss_ppb)
            && (&self.up, self.up_queue, self.up_loss_ppb) == (&other.up, other.up_queue, other.up_loss_ppb)
    }
}

impl Eq for Path {}

impl Default for Path {
    /// `rapid-slide`: 100 Mbit/s, 30 ms, a queue of 30 ms.
    fn default() -> Self {
        let mut path = Self::new(100_000_000, 30_000_000).with_queue(Queue::Time(30_000_000));
        path.name = Cow::Borrowed(crate::builtin::DEFAULT);
        path
    }
}

impl Path {
    /// A path of constant forward rate (bit/s) and idle round-trip time (ns) with everything else at its default:
    /// a queue of one BDP, ten times the rate in reverse, an unlimited queue there, no loss.
    pub fn new(rate_bps: u64, rtt_ns: u64) -> Self {
        Self::with_rate(Rate::Constant(rate_bps), rtt_ns)
    }

    /// The same for any kind of forward rate.
    pub fn with_rate(rate: Rate, rtt_ns: u64) -> Self {
        Self {
            name: Cow::Borrowed(""),
            source: Cow::Borrowed(""),
            rate,
            rtt: rtt_ns,
            queue: Queue::Bdp(1_000_000),
            loss_ppb: 0,
            up: None,
            up_queue: Queue::Unlimited,
            up_loss_ppb: 0,
        }
    }

    /// Another idle round-trip time, ns.
    #[must_use]
    pub fn with_rtt(mut self, rtt_ns: u64) -> Self {
        self.rtt = rtt_ns;
        self
    }

    /// Another forward queue.
    #[must_use]
    pub fn with_queue(mut self, queue: Queue) -> Self {
        self.queue = queue;
        self
    }

    /// Independent forward loss, in units of 1e-9.
    #[must_use]
    pub fn with_loss_ppb(mut self, ppb: u64) -> Self {
        self.loss_ppb = ppb;
        self
    }

    /// Another reverse rate; `None` is ten times the forward rate.
    #[must_use]
    pub fn with_up(mut self, up: Option<Rate>) -> Self {
        self.up = up;
        self
    }

    /// Another reverse queue.
    #[must_use]
    pub fn with_up_queue(mut self, queue: Queue) -> Self {
        self.up_queue = queue;
        self
    }

    /// Independent reverse loss, in units of 1e-9.
    #[must_use]
    pub fn with_up_loss_ppb(mut self, ppb: u64) -> Self {
        self.up_loss_ppb = ppb;
        self
    }

    /// A name, and where the numbers come from.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<Cow<'static, str>>, source: impl Into<Cow<'static, str>>) -> Self {
        (self.name, self.source) = (name.into(), source.into());
        self
    }

    /// The name; empty if it has none.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the numbers come from; empty if unknown.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The forward rate.
    pub fn rate(&self) -> &Rate {
        &self.rate
    }

    /// The reverse rate if one was given.
    pub fn up(&self) -> Option<&Rate> {
        self.up.as_ref()
    }

    /// The forward queue as it was given.
    pub fn queue(&self) -> Queue {
        self.queue
    }

    /// The reverse queue as it was given.
    pub fn up_queue(&self) -> Queue {
        self.up_queue
    }

    /// Independent forward loss, in units of 1e-9.
    pub fn loss_ppb(&self) -> u64 {
        self.loss_ppb
    }

    /// Independent reverse loss, in units of 1e-9.
    pub fn up_loss_ppb(&self) -> u64 {
        self.up_loss_ppb
    }

    /// Forward rate in bit/s; the mean over one period for a trace.
    pub fn rate_bps(&self) -> u64 {
        self.rate.bps()
    }

    /// Reverse rate in bit/s: what was given, or ten times the (mean) forward rate.
    pub fn up_bps(&self) -> u64 {
        self.up.as_ref().map_or_else(|| self.rate_bps().saturating_mul(10), Rate::bps)
    }

    /// Idle round-trip time in ns: propagation both ways and the serialization of one data packet and one ACK.
    pub fn rtt(&self) -> u64 {
        self.rtt
    }

    /// Bandwidth-delay product, rate x idle RTT, in bytes.
    pub fn bdp_bytes(&self) -> u64 {
        Queue::Time(self.rtt).bytes(self.rate_bps(), self.rtt).unwrap_or(u64::MAX)
    }

    /// What may wait in front of the forward link, in bytes; nothing if unlimited.
    pub fn queue_bytes(&self) -> Option<u64> {
        self.queue.bytes(self.rate_bps(), self.rtt)
    }

    /// BDP and queue together, in bytes; nothing if the queue is unlimited.
    pub fn full_bdp_bytes(&self) -> Option<u64> {
        self.queue_bytes().map(|queue| queue.saturating_add(self.bdp_bytes()))
    }

    /// Refuses what no link can be made of. Text is checked when it is parsed; a path built by hand when its links are made.
    pub fn check(&self) -> Result<(), PathError> {
        for (key, rate) in [("rate", Some(&self.rate)), ("up", self.up.as_ref())] {
            if let Some(Rate::Constant(bps)) = rate {
                value::RATE.check(key, *bps, value::print_rate)?;
            }
        }
        value::TIME.check("rtt", self.rtt, value::print_time)?;
        value::LOSS.check("loss", self.loss_ppb, value::print_percent)?;
        value::LOSS.check("up_loss", self.up_loss_ppb, value::print_percent)?;
        for (key, queue, bps) in [("queue", self.queue, self.rate_bps()), ("up_queue", self.up_queue, self.up_bps())] {
            if let Some(bytes) = queue.bytes(bps, self.rtt).filter(|bytes| *bytes < PACKET) {
                let wrong = format!("comes to {bytes} B and holds no packet of 1500 B");
                return Err(PathError::at(key, &queue.to_string(), wrong, "1500B or more, or `unlimited`"));
            }
        }
        self.propagation(PACKET, SMALLEST_ACK).map(|_| ())
    }

    /// Both propagation delays, in ns: the idle RTT less one data and one ACK serialization, the forward half rounded down.
    fn propagation(&self, data_len: u64, ack_len: u64) -> Result<(u64, u64), PathError> {
        let (data, ack) = (self.rate.serialization(data_len), self.up_rate().serialization(ack_len));
        let Some(propagation) = self.rtt.checked_sub(data.saturating_add(ack)) else {
            let wrong = format!("leaves no time to send a packet of {data_len} B and an ACK of {ack_len} B");
            let least = format!("{} or more", value::print_time(data.saturating_add(ack)));
            return Err(PathError::at("rtt", &value::print_time(self.rtt), wrong, least));
        };
        Ok((propagation / 2, propagation - propagation / 2))
    }

    fn up_rate(&self) -> Cow<'_, Rate> {
        self.up.as_ref().map_or_else(|| Cow::Owned(Rate::Constant(self.up_bps())), Cow::Borrowed)
    }

    /// The forward and the reverse link at time zero.
    ///
    /// `data_len` and `ack_len`: IP bytes of the packets whose serialization the idle RTT includes. `seed` and `path_index`: the draws of the
    /// trial (see [`crate::random`]).
    pub fn links(&self, data_len: u32, ack_len: u32, seed: u64, path_index: u64) -> Result<(Link, Link), PathError> {
        let (forward, reverse) = self.directions(data_len, ack_len)?;
        Ok((forward.link(seed, path_index), reverse.link(seed, path_index)))
    }

    /// [`Path::links`] into links that exist already: between constant-rate paths nothing is allocated.
    pub fn links_into(&self, data_len: u32, ack_len: u32, seed: u64, path_index: u64, links: &mut (Link, Link)) -> Result<(), PathError> {
        let (forward, reverse) = self.directions(data_len, ack_len)?;
        forward.link_into(seed, path_index, &mut links.0);
        reverse.link_into(seed, path_index, &mut links.1);
        Ok(())
    }

    fn directions(&self, data_len: u32, ack_len: u32) -> Result<(Direction<'_>, Direction<'_>), PathError> {
        self.check()?;
        let (there, back) = self.propagation(u64::from(data_len), u64::from(ack_len))?;
        let up = self.up_rate();
        let up_capacity = self.up_queue.bytes(self.up_bps(), self.rtt).unwrap_or(u64::MAX);
        let forward = Direction {
            rate: Cow::Borrowed(&self.rate),
            propagation: there,
            capacity: self.queue_bytes().unwrap_or(u64::MAX),
            loss_ppb: self.loss_ppb,
            purposes: [Purpose::ForwardRate, Purpose::ForwardLoss],
        };
        let reverse = Direction {
            rate: up,
            propagation: back,
            capacity: up_capacity,
            loss_ppb: self.up_loss_ppb,
            purposes: [Purpose::ReverseRate, Purpose::ReverseLoss],
        };
        Ok((forward, reverse))
    }
}

/// Everything one link is made of.
struct Direction<'a> {
    rate: Cow<'a, Rate>,
    propagation: u64,
    capacity: u64,
    loss_ppb: u64,
    purposes: [Purpose; 2],
}

impl Direction<'_> {
    fn plain(&self, rate: u64) -> plain::Settings {
        let [_, loss_purpose] = self.purposes;
        plain::Settings { rate, propagation: self.propagation, capacity: self.capacity, loss_ppb: self.loss_ppb, loss_purpose }
    }

    fn link(&self, seed: u64, path_index: u64) -> Link {
        Link::new(match &*self.rate {
            Rate::Constant(bps) => Kind::Plain(Plain::new(self.plain(*bps), seed, path_index)),
            Rate::Trace(played) => {
                let [start_purpose, loss_purpose] = self.purposes;
                let settings = slots::Settings {
                    start: played.options.start,
                    start_purpose,
                    propagation: self.propagation,
                    capacity: self.capacity,
                    loss_ppb: self.loss_ppb,
                    loss_purpose,
                };
                let cursor = Cursor::new(Arc::clone(&played.schedule), played.options.spread, played.options.once);
                Kind::Slotted(Box::new(Slotted::new(settings, cursor, seed, path_index)))
            }
        })
    }

    fn link_into(&self, seed: u64, path_index: u64, link: &mut Link) {
        match (&*self.rate, link.kind_mut()) {
            (Rate::Constant(bps), Kind::Plain(plain)) => plain.rebuild(self.plain(*bps), seed, path_index),
            (_, kind) => *kind = self.link(seed, path_index).into_kind(),
        }
    }
}
