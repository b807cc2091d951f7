//! Sounding: the rate of the bottleneck, read from the spacing of ACKs.
//!
//! A sounding is a run of ACKs over which the RTT rose: the packets left faster than their ACKs
//! came back, so the path and not the sender set their pace. Send times are derived from the RTT
//! samples, so no packet needs a mark, and TCP and QUIC work alike.
//!
//! Follows: ours; prior art is packet trains, paced chirping, BEST and SUSS. State: 152 bytes.

use crate::event::{Ack, SoFar};
use crate::units::{Nanos, Rate, Time, mul_div};

/// ACKs no further apart than this count as one arrival: a host that reads its socket late receives
/// several at once, and their spacing means nothing.
const ONE_ARRIVAL: Nanos = Nanos::from_micros(5);
/// Number of closed soundings that are kept.
const KEPT: usize = 4;
/// Rounds after which a sounding no longer counts. It must last many rounds: a sender that paces at
/// exactly this rate raises no RTT and so makes no new sounding.
const LIFETIME: u32 = 8;
/// A longer silence ends a run in any case. Two packets in this time are 400 kbit/s; beyond that, a
/// return path that holds back ACKs is more likely than a slower line.
const LONGEST_BUSY: Nanos = Nanos::from_millis(60);

/// One ACK with an RTT sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// When it came.
    pub at: Time,
    /// Its RTT sample.
    pub rtt: Nanos,
    /// Bytes delivered on the connection by then.
    pub delivered: u64,
}

impl Arrival {
    /// The arrival of `ack`; `None` if it has no RTT sample or acknowledges nothing.
    pub fn of(ack: &Ack, so_far: &SoFar) -> Option<Arrival> {
        let rtt = ack.rtt.filter(|_| ack.acked > 0)?;
        Some(Arrival { at: ack.now, rtt, delivered: so_far.delivered })
    }

    /// When the packet of the sample left.
    pub fn sent(&self) -> Time {
        Time(self.at.0.saturating_sub(self.rtt.0))
    }
}

/// Combined result of the soundings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The median rate of the soundings that count; the larger of the two middle rates if their
    /// number is even.
    pub rate: Rate,
    /// Whether the second largest rate is at least four fifths of the largest.
    pub sure: bool,
}

/// The soundings of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sounding {
    /// A run must last longer than this many nanoseconds, because of the grain of the clock.
    least: u32,
    open: bool,
    /// First and last arrival of the open run.
    first: Arrival,
    last: Arrival,
    /// Rate of the open run in bytes per second; zero if it gives none.
    current: u64,
    /// The rates of the last closed runs, and the rounds they closed in.
    rates: [u64; KEPT],
    rounds: [u32; KEPT],
    /// The smallest RTT of the connection, the handshake's included.
    idle: Nanos,
    /// Smallest and largest RTT of first arrivals of runs, while no queue of the sender's own can
    /// exist.
    heads: Option<(Nanos, Nanos)>,
    /// The queue of some train was gone when the next one arrived.
    drained: bool,
    /// The queue of a train of the first flight remained after a pause.
    crowded: bool,
}

impl Default for Sounding {
    fn default() -> Self {
        Sounding {
            least: ONE_ARRIVAL.0 as u32,
            open: false,
            first: Arrival::default(),
            last: Arrival::default(),
            current: 0,
            rates: [0; KEPT],
            rounds: [0; KEPT],
            idle: Nanos::ZERO,
            heads: None,
            drained: false,
            crowded: false,
        }
    }
}

impl Sounding {
    /// Uses a clock with this tick; only the first arrival of each tick is reported. A run lasts at
    /// least four ticks, so that its rate is accurate within a quarter.
    pub fn by_ticks(tick: Nanos) -> Sounding {
        let least = u32::try_from(tick.0.saturating_mul(4).saturating_sub(1)).unwrap_or(u32::MAX);
        Sounding { least, ..Sounding::default() }
    }

    /// Every RTT sample in any phase, the handshake's included.
    pub fn on_rtt(&mut self, rtt: Nanos) {
        self.idle = if self.idle == Nanos::ZERO { rtt } else { self.idle.min(rtt) };
    }

    /// Processes an arrival in round `round` of startup; `min` is the smallest RTT of data, `mss` the size
    /// of a packet. In the rounds before the second, the RTTs at which runs start are kept: no
    /// queue of the sender's own can have delayed them.
    #[inline]
    pub fn on_arrival(&mut self, e: Arrival, min: Nanos, round: u32, mss: u64) {
        if !self.open {
            self.open = true;
            self.begin(e, round);
            self.current = 0;
            return;
        }
        if e.at.since(self.last.at) <= ONE_ARRIVAL {
            // Replace it by the later one.
            if self.first.at == self.last.at {
                self.first = Arrival { at: self.first.at, ..e };
            }
            self.last = Arrival { at: self.last.at, ..e };
        } else {
            // PLUMB 2-run: a run ends where the RTT falls by more than a quarter of its rise, or
            // after a silence of half a round trip. PLUMB 2-busy: a silence does not end the run if
            // the RTT rose by a quarter of the silence: the path was busy, because on a slow line
            // packets take that long.
            let rise = self.last.rtt - self.first.rtt;
            let fall = self.last.rtt - e.rtt;
            let silence = e.at.since(self.last.at);
            let busy = silence <= LONGEST_BUSY && (e.rtt - self.last.rtt).0 >= silence.0 / 4;
            if self.current > 0 {
                self.look_for_room(e, rise, silence, round);
            }
            if fall.0 > rise.0 / 4 || (silence.0 > min.0 / 2 && !busy) {
                self.close(round);
                self.begin(e, round);
            }
            self.last = e;
        }
        self.current = self.rate_of_run(mss).map_or(0, |rate| rate.0);
    }

    /// PLUMB 2-room: a train sent after a pause finds no queue left by the previous train, unless
    /// other traffic fills the path.
    fn look_for_room(&mut self, e: Arrival, rise: Nanos, silence: Nanos, round: u32) {
        let fell = (self.last.rtt - e.rtt).0 > rise.0 / 4;
        self.drained |= fell && e.rtt < self.first.rtt + Nanos(rise.0 / 2);
        // In a pause of twice the train's duration the queue would have drained twice. After round
        // 1 the sender makes no pauses.
        let pause = silence > self.last.at.since(self.first.at) * 2;
        self.crowded |= pause && !fell && round <= 1;
    }

    fn begin(&mut self, e: Arrival, round: u32) {
        (self.first, self.last) = (e, e);
        if round <= 1 {
            let (low, high) = self.heads.unwrap_or((e.rtt, e.rtt));
            self.heads = Some((low.min(e.rtt), high.max(e.rtt)));
        }
    }

    fn close(&mut self, round: u32) {
        if self.current > 0 {
            self.rates.rotate_right(1);
            self.rounds.rotate_right(1);
            (self.rates[0], self.rounds[0]) = (self.current, round);
        }
    }

    /// The rate of the open run, if the run gives one.
    fn rate_of_run(&self, mss: u64) -> Option<Rate> {
        let took = self.last.at.since(self.first.at);
        let bytes = self.last.delivered.saturating_sub(self.first.delivered);
        let rise = self.last.rtt - self.first.rtt;
        // PLUMB 2-path: the RTT rose by a quarter of the time, so packets whose ACKs took `took` to
        // arrive had left within three quarters of it.
        if took.0 <= u64::from(self.least) || bytes < 2 * mss || rise.0 < took.0 / 4 {
            return None;
        }
        let rate = Rate::from_bytes_over(bytes, took).filter(|rate| rate.0 > 0)?;
        // PLUMB 2-late: a run whose first ACK was delayed is a bunch of ACKs, not a train. A delay
        // of up to an eighth of the idle RTT, or of three packets at this rate, is tolerated.
        let waited = self.first.rtt - self.idle;
        let three = mul_div(3 * mss, 1_000_000_000, rate.0);
        (waited.0 <= (self.idle.0 / 8).max(three)).then_some(rate)
    }

    /// The estimate in round `round`; `None` if there is none.
    pub fn estimate(&self, round: u32) -> Option<Estimate> {
        if self.rates == [0; KEPT] {
            // A single run is never sure.
            let rate = Rate(self.current);
            return (self.current > 0).then_some(Estimate { rate, sure: false });
        }
        let mut rates = [self.current; KEPT + 1];
        for (rate, (kept, closed)) in rates.iter_mut().zip(self.rates.iter().zip(self.rounds)) {
            let counts = closed.saturating_add(LIFETIME) >= round;
            *rate = if counts { *kept } else { 0 };
        }
        rates.sort_unstable();
        let [.., second, best] = rates;
        // PLUMB 2-sure: two rates that agree within a fifth.
        let sure = u128::from(second) * 5 >= u128::from(best) * 4;
        let silent = rates.iter().filter(|&&rate| rate == 0).count();
        // PLUMB 2-middle: jitter squeezes one run and stretches the next; the largest rate comes
        // from the run squeezed most.
        let middle = silent + (KEPT + 1 - silent) / 2;
        rates.get(middle).filter(|_| best > 0).map(|&rate| Estimate { rate: Rate(rate), sure })
    }

    /// Spread of the RTTs at which runs started in the first two rounds: the noise of the path.
    pub fn spread(&self) -> Nanos {
        self.heads.map_or(Nanos::ZERO, |(low, high)| high - low)
    }

    /// Whether the queue of some train was gone when the next one arrived, so the path had room.
    pub fn is_drained(&self) -> bool {
        self.drained
    }

    /// Whether the queue of a train of the first flight remained after a pause, so other traffic
    /// fills the path.
    pub fn is_crowded(&self) -> bool {
        self.crowded
    }

    /// Discards all rates measured so far.
    pub(crate) fn forget_rates(&mut self) {
        self.rates = [0; KEPT];
        self.current = 0;
    }

    /// Discards all rates; the next arrival starts a new run.
    pub fn forget(&mut self) {
        self.forget_rates();
        self.open = false;
    }
}
