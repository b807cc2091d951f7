//! A path as a value: its parts and the quantities derived from them.

use crate::capacity::{PACKET, Queue};
use crate::direction::{Effects, Jitter, Rate};
use crate::error::{Error, Key};
use crate::release::{BatchSettings, Release};
use crate::value;
use std::borrow::Cow;

/// IP bytes of the smallest acknowledgement; the idle RTT must be long enough to serialize one.
pub const SMALLEST_ACK: u64 = 40;

/// Position of the propagation delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delay {
    /// Half behind the forward bottleneck, half in the reverse direction.
    #[default]
    Even,
    /// All of it in front of the forward bottleneck.
    Before,
    /// All of it behind the forward bottleneck.
    Behind,
}

/// Settings of one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Side {
    /// `None`: ten times the rate of the other direction.
    rate: Option<Rate>,
    queue: Queue,
    loss_ppb: u64,
    effects: Effects,
}

/// Acknowledgement of packets that come in order, by the receiving host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acks {
    /// After this many packets, 1 to 1000, and after the host's longest delay.
    Every(u64),
    /// This many times per idle round trip, 1 to 100, however many packets arrive: the packet that
    /// arrives
    /// first waits for this part of the path's RTT.
    PerRtt(u64),
}

/// Buffer of the receiving host: how far ahead of its application it lets the sender send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rwnd {
    /// Always this many bytes of the object.
    Fixed(u64),
    /// Tuned by the receiver, up to this many bytes of buffer.
    Auto(u64),
}

impl Rwnd {
    /// `tcp_rmem` of Linux until 6.15: 4096 131072 6291456.
    pub const AUTO: Rwnd = Rwnd::Auto(6_291_456);
}

/// The network between sender and receiver.
///
/// A plain value, made from text by [`Path::parse`] or with [`Path::new`] and the `with_`
/// functions. [`Path::links`] or [`Path::open`] turn it into state machines. Two paths are equal
/// when they behave the same; name and source do not count.
#[derive(Clone, Debug)]
pub struct Path {
    name: Cow<'static, str>,
    source: Cow<'static, str>,
    rtt: u64,
    forward: Side,
    reverse: Side,
    delay: Delay,
    overhead: u64,
    mtu: Option<u64>,
    release: Release,
    thin: Option<u64>,
    gro: Option<(u64, u64)>,
    comp_sack: Option<(u64, u64)>,
    ack: Option<Acks>,
    rwnd: Option<Rwnd>,
    read: Option<u64>,
    scone: Option<u64>,
    hello: Option<u64>,
}

/// Maximum number of acknowledgements that compression merges into one.
pub(crate) const MOST_COMPRESSED: u64 = 1_000_000;

/// Maximum number of packets that a receiver acknowledges together.
pub(crate) const MOST_PER_ACK: u64 = 1_000;

/// Maximum number of acknowledgements per round trip of a receiver that acknowledges by time.
pub(crate) const MOST_PER_RTT: u64 = 100;

impl PartialEq for Path {
    fn eq(&self, other: &Self) -> bool {
        (
            self.rtt,
            self.delay,
            self.overhead,
            self.release,
            self.thin,
            self.gro,
            self.comp_sack,
            (self.ack, self.rwnd, self.read, self.mtu, self.scone, self.hello),
        ) == (
            other.rtt,
            other.delay,
            other.overhead,
            other.release,
            other.thin,
            other.gro,
            other.comp_sack,
            (other.ack, other.rwnd, other.read, other.mtu, other.scone, other.hello),
        ) && (&self.forward, &self.reverse) == (&other.forward, &other.reverse)
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
    /// A path of constant forward rate (bit/s) and idle round-trip time (ns) with everything else
    /// at its default: a queue of one BDP, ten times the rate in reverse, an unlimited queue
    /// there, no loss.
    pub fn new(rate_bps: u64, rtt_ns: u64) -> Self {
        Self::with_rate(Rate::Constant(rate_bps), rtt_ns)
    }

    /// Like [`Path::new`], for any kind of forward rate.
    pub fn with_rate(rate: Rate, rtt_ns: u64) -> Self {
        let side = |rate, queue| Side { rate, queue, loss_ppb: 0, effects: Effects::default() };
        Self {
            name: Cow::Borrowed(""),
            source: Cow::Borrowed(""),
            rtt: rtt_ns,
            forward: side(Some(rate), Queue::Bdp(1_000_000)),
            reverse: side(None, Queue::Unlimited),
            delay: Delay::Even,
            overhead: 0,
            mtu: None,
            release: Release::Plain,
            thin: None,
            gro: None,
            comp_sack: None,
            ack: None,
            rwnd: None,
            read: None,
            scone: None,
            hello: None,
        }
    }

    /// Sets the idle round-trip time, ns.
    #[must_use]
    pub fn with_rtt(mut self, rtt_ns: u64) -> Self {
        self.rtt = rtt_ns;
        self
    }

    /// Sets the idle round-trip time to this propagation (ns, both directions together) plus the
    /// serialization of a full packet and of an ACK of [`SMALLEST_ACK`] on the current links.
    #[must_use]
    pub fn with_propagation(self, propagation_ns: u64) -> Self {
        let data = self.rate().serialization(self.packet() + self.overhead);
        let ack = self.up_rate().serialization(SMALLEST_ACK + self.overhead);
        self.with_rtt(propagation_ns.saturating_add(data).saturating_add(ack))
    }

    /// Sets the forward queue.
    #[must_use]
    pub fn with_queue(mut self, queue: Queue) -> Self {
        self.forward.queue = queue;
        self
    }

    /// Sets independent forward loss, in units of 1e-9.
    #[must_use]
    pub fn with_loss_ppb(mut self, ppb: u64) -> Self {
        self.forward.loss_ppb = ppb;
        self
    }

    /// Sets further effects on forward packets.
    #[must_use]
    pub fn with_effects(mut self, effects: Effects) -> Self {
        self.forward.effects = effects;
        self
    }

    /// Sets the reverse rate; `None` is ten times the forward rate.
    #[must_use]
    pub fn with_up(mut self, up: Option<Rate>) -> Self {
        self.reverse.rate = up;
        self
    }

    /// Sets the reverse queue.
    #[must_use]
    pub fn with_up_queue(mut self, queue: Queue) -> Self {
        self.reverse.queue = queue;
        self
    }

    /// Sets independent reverse loss, in units of 1e-9.
    #[must_use]
    pub fn with_up_loss_ppb(mut self, ppb: u64) -> Self {
        self.reverse.loss_ppb = ppb;
        self
    }

    /// Sets further effects on reverse packets.
    #[must_use]
    pub fn with_up_effects(mut self, effects: Effects) -> Self {
        self.reverse.effects = effects;
        self
    }

    /// Sets the position of the propagation delay.
    #[must_use]
    pub fn with_delay(mut self, delay: Delay) -> Self {
        self.delay = delay;
        self
    }

    /// Sets the number of bytes added to every packet, in queues and on the wire, in both
    /// directions.
    #[must_use]
    pub fn with_overhead(mut self, bytes: u64) -> Self {
        self.overhead = bytes;
        self
    }

    /// Sets the IP bytes of the largest packet that crosses the path; `None` leaves them to the hosts.
    #[must_use]
    pub fn with_mtu(mut self, bytes: Option<u64>) -> Self {
        self.mtu = bytes;
        self
    }

    /// Sets the release of acknowledgements on the return path.
    #[must_use]
    pub fn with_release(mut self, release: Release) -> Self {
        self.release = release;
        self
    }

    /// Thins out acknowledgements: only this many of a flow's waiting ACKs are kept.
    #[must_use]
    pub fn with_thin(mut self, limit: Option<u64>) -> Self {
        self.thin = limit;
        self
    }

    /// Sets receive aggregation: packets that arrive within this time (ns) merge, up to this many
    /// bytes.
    #[must_use]
    pub fn with_gro(mut self, window_and_bytes: Option<(u64, u64)>) -> Self {
        self.gro = window_and_bytes;
        self
    }

    /// Sets SACK compression: while a gap is open, acknowledgements after the third that only add
    /// SACKs are merged for this time (ns), at most this many into one.
    #[must_use]
    pub fn with_comp_sack(mut self, time_and_count: Option<(u64, u64)>) -> Self {
        self.comp_sack = time_and_count;
        self
    }

    /// Sets when the receiver acknowledges packets that come in order; `None` leaves it to the
    /// host.
    #[must_use]
    pub fn with_acks(mut self, acks: Option<Acks>) -> Self {
        self.ack = acks;
        self
    }

    /// Sets the receiver's buffer; `None` never limits the sender.
    #[must_use]
    pub fn with_rwnd(mut self, rwnd: Option<Rwnd>) -> Self {
        self.rwnd = rwnd;
        self
    }

    /// Sets the rate (bit/s) at which the receiving application reads; `None` reads at once. Needs a
    /// buffer ([`Path::with_rwnd`]).
    #[must_use]
    pub fn with_read(mut self, bps: Option<u64>) -> Self {
        self.read = bps;
        self
    }

    /// Sets the average rate (bit/s) that a network element advises to senders (SCONE).
    #[must_use]
    pub fn with_scone(mut self, bps: Option<u64>) -> Self {
        self.scone = bps;
        self
    }

    /// Sets the bytes of handshake data in a server's first flight; `None` starts with the data.
    #[must_use]
    pub fn with_hello(mut self, bytes: Option<u64>) -> Self {
        self.hello = bytes;
        self
    }

    /// Sets the name and the source of the numbers.
    #[must_use]
    pub fn with_name(
        mut self,
        name: impl Into<Cow<'static, str>>,
        source: impl Into<Cow<'static, str>>,
    ) -> Self {
        (self.name, self.source) = (name.into(), source.into());
        self
    }

    /// The name; empty if it has none.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Source of the numbers; empty if unknown.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The rate of the forward link.
    pub fn rate(&self) -> &Rate {
        const NONE: &Rate = &Rate::Constant(0);
        self.forward.rate.as_ref().unwrap_or(NONE)
    }

    /// The reverse rate, if it is set.
    pub fn up(&self) -> Option<&Rate> {
        self.reverse.rate.as_ref()
    }

    /// The forward queue as specified.
    pub fn queue(&self) -> Queue {
        self.forward.queue
    }

    /// The reverse queue as specified.
    pub fn up_queue(&self) -> Queue {
        self.reverse.queue
    }

    /// Independent forward loss, in units of 1e-9.
    pub fn loss_ppb(&self) -> u64 {
        self.forward.loss_ppb
    }

    /// Independent reverse loss, in units of 1e-9.
    pub fn up_loss_ppb(&self) -> u64 {
        self.reverse.loss_ppb
    }

    /// Further effects on forward packets.
    pub fn effects(&self) -> &Effects {
        &self.forward.effects
    }

    /// Further effects on reverse packets.
    pub fn up_effects(&self) -> &Effects {
        &self.reverse.effects
    }

    /// Position of the propagation delay.
    pub fn delay(&self) -> Delay {
        self.delay
    }

    /// Bytes added to every packet.
    pub fn overhead(&self) -> u64 {
        self.overhead
    }

    /// IP bytes of the largest packet, if the path specifies them. Hosts on the path send packets of
    /// that size; the links refuse larger ones.
    pub fn mtu(&self) -> Option<u64> {
        self.mtu
    }

    /// IP bytes of a full packet: the MTU, or [`PACKET`].
    pub fn packet(&self) -> u64 {
        self.mtu.unwrap_or(PACKET)
    }

    /// Release of acknowledgements on the return path.
    pub fn release(&self) -> &Release {
        &self.release
    }

    /// Number of a flow's waiting acknowledgements that survive thinning; `None` without thinning.
    pub fn thin(&self) -> Option<u64> {
        self.thin
    }

    /// Receive aggregation of the host: packets that arrive within this time (ns), up to this many
    /// bytes, are merged before they are acknowledged. The links do not do it; the code that
    /// simulates the receiver does. `return=nic` implies 20 us and 64 KiB.
    pub fn receive_aggregation(&self) -> Option<(u64, u64)> {
        let of_nic =
            (self.release == Release::Batch(BatchSettings::NIC)).then_some((20_000, 65_536));
        self.gro.or(of_nic)
    }

    /// SACK compression of the receiving host: holding time (ns) and count of acknowledgements that
    /// only add SACKs. For the code that simulates the receiver; does not apply to QUIC.
    pub fn sack_compression(&self) -> Option<(u64, u64)> {
        self.comp_sack
    }

    /// The receiving host's acknowledgement of packets that come in order, if the path specifies
    /// it. For the code that simulates the receiver, after receive aggregation
    /// ([`Path::receive_aggregation`]).
    pub fn acks(&self) -> Option<Acks> {
        self.ack
    }

    /// The receiver's buffer, if the path specifies it. For the code that simulates the receiver.
    pub fn rwnd(&self) -> Option<Rwnd> {
        self.rwnd
    }

    /// Rate at which the receiving application reads, bit/s; `None` reads at once.
    pub fn read_bps(&self) -> Option<u64> {
        self.read
    }

    /// The average rate that a network element advises, bit/s. For the code that simulates the
    /// sender: the path itself carries what its rate allows.
    pub fn scone_bps(&self) -> Option<u64> {
        self.scone
    }

    /// Bytes of handshake data, the certificate above all, in a server's first flight; `None` if the
    /// trial starts with its data. For the code that simulates the hosts.
    pub fn hello(&self) -> Option<u64> {
        self.hello
    }

    pub(crate) fn gro_given(&self) -> Option<(u64, u64)> {
        self.gro
    }

    /// Whether the forward link hides the sender's packet spacing, because several packets leave at
    /// one instant. A comparison of arms that differ in pacing should say so.
    pub fn hides_pacing(&self) -> bool {
        match self.rate() {
            Rate::Trace(played) => !played.options().spread && self.link_bps() > 12_000_000,
            Rate::Poisson(poisson) => poisson.ms_slots && poisson.bps > 12_000_000,
            _ => false,
        }
    }

    /// A note on jitter longer than the round trip; `None` if there is none.
    pub fn long_jitter(&self) -> Option<String> {
        let sides = [("", self.effects()), ("up_", self.up_effects())];
        sides.into_iter().find_map(|(prefix, effects)| {
            let longest = match effects.jitter? {
                Jitter::Uniform(_, high) => high,
                Jitter::Normal(mean, _) => mean,
            };
            let [delay, rtt] = [longest, self.rtt].map(value::print_time);
            (longest > self.rtt).then(|| {
                format!(
                    "{prefix}jitter of {delay} exceeds the round trip of {rtt}: a delayed packet holds back those behind it"
                )
            })
        })
    }

    /// Bits per second available to a long transfer: the rate of the forward link (the first,
    /// median or mean rate if it varies), or of its policer if that is lower.
    pub fn rate_bps(&self) -> u64 {
        let link = self.link_bps();
        self.forward.effects.policer.map_or(link, |policer| policer.bps.min(link))
    }

    /// Bits per second of the forward link itself. Queue sizes in ms or BDP are converted to bytes
    /// at this rate.
    pub fn link_bps(&self) -> u64 {
        self.rate().bps()
    }

    /// Reverse rate in bit/s: the specified rate, or ten times the rate of the forward link.
    pub fn up_bps(&self) -> u64 {
        self.reverse.rate.as_ref().map_or_else(|| self.link_bps().saturating_mul(10), Rate::bps)
    }

    /// Idle round-trip time in ns: propagation both ways and the serialization of one data packet
    /// and one ACK.
    pub fn rtt(&self) -> u64 {
        self.rtt
    }

    /// Bandwidth-delay product, [`Path::rate_bps`] x idle RTT, in bytes.
    pub fn bdp_bytes(&self) -> u64 {
        Queue::Time(self.rtt).bytes(self.rate_bps(), self.rtt).unwrap_or(u64::MAX)
    }

    /// Queue capacity of the forward link, bytes; `None` if unlimited.
    pub fn queue_bytes(&self) -> Option<u64> {
        self.forward.queue.bytes_of(self.packet(), self.link_bps(), self.rtt)
    }

    /// Queue capacity of the reverse link, bytes; `None` if unlimited.
    pub fn up_queue_bytes(&self) -> Option<u64> {
        self.reverse.queue.bytes_of(self.packet(), self.up_bps(), self.rtt)
    }

    /// BDP and queue together, in bytes; `None` if the queue is unlimited.
    pub fn full_bdp_bytes(&self) -> Option<u64> {
        self.queue_bytes().map(|queue| queue.saturating_add(self.bdp_bytes()))
    }

    /// Refuses invalid values and contradictory combinations. Text is checked when it is parsed; a
    /// path built by hand is checked when its links are made.
    pub fn check(&self) -> Result<(), Error> {
        value::ROUND_TRIP.check("rtt", self.rtt, value::print_time)?;
        let forward = ("", &self.forward, Cow::Borrowed(self.rate()), self.queue_bytes());
        let reverse = ("up_", &self.reverse, self.up_rate(), self.up_queue_bytes());
        for (prefix, side, rate, queue) in [forward, reverse] {
            if side.rate.is_some() {
                rate.check(prefix)?;
            }
            value::LOSS.check(Key(prefix, "loss"), side.loss_ppb, value::print_percent)?;
            let packet = self.packet();
            if let Some(bytes) = queue.filter(|bytes| *bytes < packet) {
                let wrong = format!("comes to {bytes} B and holds no packet of {packet} B");
                return Err(Error::at(
                    Key(prefix, "queue"),
                    &side.queue.to_string(),
                    wrong,
                    format!("{packet}B or more, or `unlimited`"),
                ));
            }
            if let Some(policer) = side.effects.policer.filter(|one| one.bucket_bytes() < packet) {
                let bytes = policer.bucket_bytes();
                return Err(Error::at(
                    Key(prefix, "policer"),
                    &policer.to_string(),
                    format!("has a bucket of {bytes} B that never holds a packet of {packet} B"),
                    format!("a bucket of {packet}B or more"),
                ));
            }
            side.effects.check(prefix, &rate)?;
            if side.loss_ppb != 0 && side.effects.ge.is_some() {
                let wrong = "two loss processes";
                return Err(Error::at(
                    Key(prefix, "ge"),
                    "...",
                    wrong,
                    "one of loss and ge; the loss of the good state is the last field of ge",
                ));
            }
        }
        value::OVERHEAD.check("overhead", self.overhead, value::print_size)?;
        self.mtu.map_or(Ok(()), |mtu| value::MTU.check("mtu", mtu, value::print_size))?;
        self.check_return()?;
        self.propagation(self.packet(), SMALLEST_ACK).map(|_| ())
    }

    /// Refuses combinations that a release engine or thinning does not support.
    /// Refuses `loss_until` on a path without losses. Only text is checked: testbeds clear losses and keep their end.
    pub(crate) fn check_loss_ends(&self) -> Result<(), Error> {
        for (prefix, side) in [("", &self.forward), ("up_", &self.reverse)] {
            let Effects { ge, loss_every, loss_until, .. } = side.effects;
            let loses = side.loss_ppb != 0 || ge.is_some() || loss_every.is_some();
            if let Some(end) = loss_until.filter(|_| !loses) {
                return Err(Error::at(
                    Key(prefix, "loss_until"),
                    &value::print_time(end),
                    "there is no loss that could end",
                    "with loss, ge or loss_every",
                ));
            }
        }
        Ok(())
    }

    fn check_return(&self) -> Result<(), Error> {
        self.release.check()?;
        let engine = matches!(self.release, Release::Grant(_) | Release::Batch(_));
        if engine && self.reverse.effects.reorder.is_some() {
            return Err(Error::at(
                "up_reorder",
                "...",
                format!("return={} keeps the order of ACKs", self.release),
                "one of the two",
            ));
        }
        if let Release::Handover(_) = self.release {
            for (key, rate) in [("rate", self.forward.rate.as_ref()), ("up", self.up())] {
                if let Some(rate) = rate.filter(|rate| !matches!(rate, Rate::Constant(_))) {
                    let wrong = format!("return={} varies the rate itself", self.release);
                    return Err(Error::at(
                        key,
                        &value::print_rate(rate.bps()),
                        wrong,
                        "a constant rate",
                    ));
                }
            }
        }
        if let Some(limit) = self.thin {
            value::check_count("thin", limit, 1, 1_000_000)?;
            let plain = self.up().is_none_or(|rate| matches!(rate, Rate::Constant(_)))
                && self.reverse.effects == Effects::default();
            if !engine && (!plain || self.release != Release::Plain) {
                let wrong = "needs to know which ACKs wait";
                return Err(Error::at(
                    "thin",
                    &limit.to_string(),
                    wrong,
                    "with a constant `up` without further effects, or with a release engine",
                ));
            }
        }
        if let Some((window, bytes)) = self.gro {
            value::TIME.check("gro", window, value::print_time)?;
            value::SIZE.check("gro", bytes, value::print_size)?;
        }
        if let Some((time, count)) = self.comp_sack {
            value::TIME.check("comp_sack", time, value::print_time)?;
            if !(1..=MOST_COMPRESSED).contains(&count) {
                return Err(Error::at(
                    "comp_sack",
                    &count.to_string(),
                    "is out of range",
                    format!("1 to {MOST_COMPRESSED} ACKs"),
                ));
            }
        }
        match self.rwnd {
            Some(Rwnd::Fixed(bytes)) => value::RWND.check("rwnd", bytes, value::print_size)?,
            Some(Rwnd::Auto(bytes)) => value::RMEM.check("rwnd", bytes, value::print_size)?,
            None => {}
        }
        if let Some(bps) = self.read {
            value::RATE.check("read", bps, value::print_rate)?;
            if self.rwnd.is_none() {
                return Err(Error::at(
                    "read",
                    &value::print_rate(bps),
                    "never delays a sender whose receiver has an unlimited buffer",
                    "with rwnd, such as rwnd=auto",
                ));
            }
        }
        if let Some(bps) = self.scone {
            value::RATE.check("scone", bps, value::print_rate)?;
        }
        if let Some(bytes) = self.hello {
            value::HELLO.check("hello", bytes, value::print_size)?;
        }
        match self.ack {
            Some(Acks::Every(packets)) => value::check_count("ack", packets, 1, MOST_PER_ACK)?,
            Some(Acks::PerRtt(times)) => value::check_count("ack", times, 1, MOST_PER_RTT)?,
            None => {}
        }
        Ok(())
    }

    /// Propagation in front of the forward bottleneck, behind it, and in the reverse direction, in
    /// ns: the idle RTT less the serialization of one data packet and one ACK.
    pub(crate) fn propagation(&self, data_len: u64, ack_len: u64) -> Result<[u64; 3], Error> {
        let data = self.rate().serialization(data_len.saturating_add(self.overhead));
        let ack = self.up_rate().serialization(ack_len.saturating_add(self.overhead));
        let Some(propagation) = self.rtt.checked_sub(data.saturating_add(ack)) else {
            let wrong = format!(
                "leaves no time to send a packet of {data_len} B and an ACK of {ack_len} B"
            );
            let least = format!("{} or more", value::print_time(data.saturating_add(ack)));
            return Err(Error::at("rtt", &value::print_time(self.rtt), wrong, least));
        };
        Ok(match self.delay {
            // The forward half is rounded down.
            Delay::Even => [0, propagation / 2, propagation - propagation / 2],
            Delay::Before => [propagation, 0, 0],
            Delay::Behind => [0, propagation, 0],
        })
    }

    pub(crate) fn up_rate(&self) -> Cow<'_, Rate> {
        self.up().map_or_else(|| Cow::Owned(Rate::Constant(self.up_bps())), Cow::Borrowed)
    }
}
