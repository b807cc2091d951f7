//! Delivery rate: how fast the path carried the data sent a round trip ago.
//!
//! Follows: draft-ietf-ccwg-bbr (August 2026), section on delivery rate samples. A packet records
//! the delivered amount when it leaves. When it is acknowledged, the amount delivered since then is
//! divided by the longer of two spans: the time it took to send and the time it took to be
//! acknowledged. State: 376 bytes. Each mark can carry more data (`E`), and the number of marks is
//! a parameter (`N`, at most 16).
//!
//! Departures:
//! * D1 (BBR rate-marks): the draft keeps this for every packet in flight. Here up to sixteen
//!   packets are marked, spread evenly over the flight: when one more would not fit, every second
//!   mark is removed and the following ones are twice as far apart. The first packet of a flight
//!   and of a round is always marked. Only the first ACK that reaches a mark makes a sample, which
//!   is the draft's sample of that packet. Times are stored in 32 bits in units of 1.024 us,
//!   amounts in 32 bits in bytes, or in units of 256 bytes once more than 1 GiB is in flight.
//! * D2 (BBR rate-limited): the transport reports with its ACKs that the application is the limit;
//!   this replaces the draft's own test.

use crate::event::{Ack, Context, Sent, SoFar, Transport};
use crate::units::{Nanos, Rate, Time};

/// Marks in flight.
const MARKS: usize = 16;

/// Up to this many bytes in flight, marks store amounts in bytes.
const FINE: u64 = 1 << 30;
/// Above that, marks store amounts in units of `1 << COARSE` bytes: enough for
/// [`crate::units::MAX_BYTES`].
const COARSE: u8 = 8;

/// Twice the distance between marks, in the unit in which marks store amounts; odd if that unit is
/// the coarse one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Gap(u32);

impl Gap {
    #[inline]
    fn unit(self) -> u8 {
        if self.0 & 1 == 0 { 0 } else { COARSE }
    }

    #[inline]
    fn bytes(self) -> u64 {
        u64::from(self.0 >> 1) << self.unit()
    }

    fn coarsen(&mut self) {
        self.0 = (self.0 >> COARSE) | 1;
    }

    fn halve(&mut self) {
        self.0 = (self.0 >> 2 << 1) | (self.0 & 1);
    }

    /// Doubles the distance, to at least two packets.
    fn double(&mut self, packet: u64) {
        let units = u64::from(self.0 >> 1).max(packet >> self.unit()).saturating_mul(2);
        let most = u32::MAX >> 1;
        self.0 = (u32::try_from(units).unwrap_or(most).min(most) << 1) | (self.0 & 1);
    }
}

/// A marked packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mark<E> {
    /// Its ordinal.
    tx: u32,
    /// Amount delivered when it left, in units of the sampler, and the time of the last delivery.
    delivered: u32,
    delivered_at: u32,
    /// Its send time, and the send time of the packet that had been delivered last by then.
    sent: u32,
    first_sent: u32,
    more: E,
}

/// The record of a marked packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remembered<E> {
    /// Its ordinal, the lower 32 bits.
    pub tx: u32,
    /// Additional data stored with the mark.
    pub more: E,
    /// The application was the limit when it left.
    pub app_limited: bool,
}

impl<E> Remembered<E> {
    /// Whether it left no later than transmission `tx`.
    pub(crate) fn is_until(&self, tx: u64) -> bool {
        is_until(self.tx, tx)
    }
}

fn is_until(mark: u32, tx: u64) -> bool {
    (tx as u32).wrapping_sub(mark) <= u32::MAX / 2
}

/// Delivery-rate sample from the ACK of a marked packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Bytes delivered since the packet left.
    pub delivered: u64,
    /// Bytes delivered before it left, counted from the start.
    pub prior_delivered: u64,
    /// `delivered` divided by the longer of the two spans, if that span is at least the minimum
    /// RTT.
    pub rate: Option<Rate>,
    /// The application was the limit when it left.
    pub app_limited: bool,
}

/// The sampler of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<E = (), const N: usize = MARKS> {
    marks: [Mark<E>; N],
    /// Bit `i` belongs to `marks[i]`.
    limited: u16,
    first: u8,
    len: u8,
    gap: Gap,
    /// Times count from here.
    start: Time,
    /// The ordinal of the next transmission.
    tx_next: u64,
    /// Bytes sent since the last mark.
    unmarked: u64,
    delivered: u64,
    /// Until more than this is delivered, the application is the limit and packets are marked as
    /// limited. A connection's first flight is marked as limited, too.
    limited_until: u64,
    delivered_at: u32,
    first_sent: u32,
}

impl<E: Copy + Default, const N: usize> Default for Delivery<E, N> {
    fn default() -> Self {
        // `limited` has one bit per mark.
        const { assert!(N <= 16) };
        Delivery {
            marks: [Mark::default(); N],
            limited: 0,
            first: 0,
            len: 0,
            gap: Gap::default(),
            start: Time(0),
            tx_next: 0,
            unmarked: 0,
            delivered: 0,
            limited_until: 0,
            delivered_at: 0,
            first_sent: 0,
        }
    }
}

impl Delivery {
    /// Records a packet or burst that left.
    pub fn on_sent(&mut self, sent: &Sent, cx: &Context) {
        self.mark(sent, cx, || ());
    }

    /// Processes an ACK and returns its sample, if it is the first to reach a mark. `limited` says that something
    /// other than the path and the window kept the sender from sending.
    pub fn on_ack(&mut self, ack: &Ack, limited: bool, so_far: &SoFar) -> Option<Sample> {
        self.reach(ack, limited, so_far, |_| {})
    }
}

impl<E: Copy + Default, const N: usize> Delivery<E, N> {
    /// A connection starts at `now`.
    pub fn start(&mut self, now: Time) {
        *self = Delivery { start: now, ..Delivery::default() };
    }

    /// Time since the connection started.
    pub fn age(&self, now: Time) -> Nanos {
        now.since(self.start)
    }

    /// Marks packets as limited by the application until the `inflight` bytes now in flight are
    /// acknowledged.
    pub fn limit(&mut self, inflight: u64) {
        self.limited_until = self.delivered.saturating_add(inflight);
    }

    /// BBR rate-limited: whether the application is the limit (`C.app_limited` is set). It remains
    /// the limit until more is delivered than was in flight when it ran out of data; an equal
    /// amount is not enough.
    pub fn is_limited(&self) -> bool {
        self.limited_until >= self.delivered
    }

    /// Marks the next packet that leaves, because a round ends with it.
    pub(crate) fn mark_next(&mut self) {
        self.unmarked = self.gap.bytes();
    }

    /// The newest mark in flight whose packet left no later than transmission `tx`.
    pub fn in_flight(&self, tx: u64) -> Option<Remembered<E>> {
        let places = (0..usize::from(self.len)).rev().map(|nth| self.place_of(nth));
        places.map(|at| self.remembered(at)).find(|mark| mark.is_until(tx))
    }

    fn remembered(&self, at: usize) -> Remembered<E> {
        let Mark { tx, more, .. } = self.marks[at];
        Remembered { tx, more, app_limited: self.limited & (1 << at) != 0 }
    }

    /// Bytes delivered so far.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    fn moment(&self, now: Time) -> u32 {
        (now.since(self.start).0 >> 10) as u32
    }

    /// Records a packet or burst that left; if it is marked, `more` is stored with the mark.
    #[inline]
    pub fn mark(&mut self, sent: &Sent, cx: &Context, more: impl FnOnce() -> E) {
        self.tx_next = match cx.transport {
            Transport::Quic => sent.nxt.0,
            Transport::Tcp => {
                let mss = cx.mss.max(1);
                let burst = if sent.bytes <= mss { 1 } else { sent.bytes.div_ceil(mss) };
                self.tx_next.saturating_add(burst)
            }
        };
        // BBR rate-idle: nothing else is in flight, so both spans begin here.
        if sent.inflight <= sent.bytes {
            let now = self.moment(sent.now);
            (self.first_sent, self.delivered_at) = (now, now);
        }
        if sent.inflight > FINE && self.gap.unit() == 0 {
            self.coarsen();
        }
        self.unmarked = self.unmarked.saturating_add(sent.bytes);
        if self.len == 0 || self.unmarked >= self.gap.bytes() {
            self.place(sent, more());
        }
    }

    /// BBR rate-marks: the packet that has just left is marked.
    fn place(&mut self, sent: &Sent, more: E) {
        if usize::from(self.len) == N {
            self.thin(sent.bytes);
        } else if usize::from(self.len) <= N / 4 {
            // The flight has shrunk: place marks closer together.
            self.gap.halve();
        }
        let at = self.place_of(usize::from(self.len));
        self.marks[at] = Mark {
            tx: self.tx_next.saturating_sub(1) as u32,
            delivered: self.in_units(),
            delivered_at: self.delivered_at,
            sent: self.moment(sent.now),
            first_sent: self.first_sent,
            more,
        };
        self.limited = (self.limited & !(1 << at)) | (u16::from(self.is_limited()) << at);
        self.len += 1;
        self.unmarked = 0;
    }

    /// The amount delivered so far, in the unit of marks.
    fn in_units(&self) -> u32 {
        (self.delivered >> self.gap.unit()) as u32
    }

    /// Bytes delivered since that mark was made.
    fn since(&self, mark: u32) -> u64 {
        u64::from(self.in_units().wrapping_sub(mark)) << self.gap.unit()
    }

    /// Switches to the coarse unit, because amounts in bytes no longer fit.
    #[cold]
    fn coarsen(&mut self) {
        let before = *self;
        self.gap.coarsen();
        for mark in &mut self.marks {
            mark.delivered =
                (before.delivered.saturating_sub(before.since(mark.delivered)) >> COARSE) as u32;
        }
    }

    fn place_of(&self, nth: usize) -> usize {
        let at = usize::from(self.first) + nth;
        if at < N { at } else { at - N }
    }

    /// Removes every second mark, starting with the second, and doubles the distance between later
    /// marks.
    #[cold]
    fn thin(&mut self, packet: u64) {
        let before = *self;
        for kept in 0..N.div_ceil(2) {
            let (from, to) = (before.place_of(2 * kept), self.place_of(kept));
            self.marks[to] = before.marks[from];
            self.limited = (self.limited & !(1 << to)) | (before.limited >> from & 1) << to;
        }
        self.len = N.div_ceil(2) as u8;
        self.gap.double(packet);
    }

    /// Removes all marks that the ACK of transmission `tx` reaches, and returns the newest of them.
    fn reached(&mut self, tx: u64, mut each: impl FnMut(Remembered<E>)) -> Option<(Mark<E>, bool)> {
        let mut newest = None;
        while self.len > 0 {
            let at = usize::from(self.first);
            let mark = self.marks[at];
            if !is_until(mark.tx, tx) {
                break;
            }
            each(self.remembered(at));
            newest = Some((mark, self.limited & (1 << at) != 0));
            self.first = self.place_of(1) as u8;
            self.len -= 1;
        }
        newest
    }

    /// One ACK: what it says, if it is the first to reach a mark; `each` gets all that it reaches.
    /// `limited` says that something other than the path and the window kept the sender from sending.
    pub fn reach(
        &mut self,
        ack: &Ack,
        limited: bool,
        so_far: &SoFar,
        each: impl FnMut(Remembered<E>),
    ) -> Option<Sample> {
        self.tx_next = self.tx_next.max(ack.tx_next);
        self.delivered = self.delivered.saturating_add(ack.acked);
        // D2.
        if limited {
            self.limited_until = self.delivered.saturating_add(ack.inflight);
        }
        if ack.acked == 0 {
            return None;
        }
        let now = self.moment(ack.now);
        self.delivered_at = now;
        let (mark, app_limited) = self.reached(ack.tx_acked?, each)?;
        self.first_sent = mark.sent;
        let delivered = self.since(mark.delivered);
        // BBR rate-span: packets cannot be delivered faster than they were sent, and ACKs that
        // arrive in one burst do not mean that the packets were delivered in one.
        let spans = [mark.sent.wrapping_sub(mark.first_sent), now.wrapping_sub(mark.delivered_at)];
        let span = Nanos(u64::from(spans[0].max(spans[1])) << 10);
        // BBR rate-short: a span below the smallest RTT is one of a repeat that was not needed.
        let least = so_far.min_rtt.unwrap_or_default().0 >> 10 << 10;
        let rate = Rate::from_bytes_over(delivered, span).filter(|_| span.0 >= least);
        let prior_delivered = self.delivered.saturating_sub(delivered);
        Some(Sample { delivered, prior_delivered, rate, app_limited })
    }
}
