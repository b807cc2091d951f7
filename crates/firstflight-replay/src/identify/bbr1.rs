//! The sending times of Linux's BBRv1 (`tcp_bbr`). It is used only for identification and is not an
//! arm: it has no recovery of its own and never drains to measure the RTT, which takes ten seconds.

use super::delivered::Sample;
use firstflight::{Ack, Config, Nanos, Rate, Seq, SoFar, Time};

/// 2/ln 2, the startup gain, in thousandths.
const HIGH: u64 = 2885;
/// ProbeBW gains in thousandths, one per round trip.
const CYCLE: [u64; 8] = [1250, 750, 1000, 1000, 1000, 1000, 1000, 1000];
/// Positions in the cycle at which ProbeBW may start: a random one, but never the draining one.
pub(super) const PHASES: [usize; 7] = [0, 2, 3, 4, 5, 6, 7];
/// If the bandwidth grows by less than this in a round trip, in thousandths, the path is full:
/// 1.25, or what a capture may show instead because it sees each value slightly later than the
/// sender.
pub(super) const GROWTHS: [u64; 3] = [1250, 1210, 1290];
/// Length of the bandwidth filter in round trips.
const MEMORY: usize = 10;
/// Minimum window in packets.
const LEAST: u64 = 4;
/// The largest segmentation offload burst, in bytes and in packets.
const LARGEST_BURST: u64 = 65_536 - 1 - 320;
const MOST_SEGMENTS: u64 = 127;
/// Above this rate a burst has at least two packets, bytes per second.
const TWO_PACKETS: u64 = 150_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    Probe { phase: usize, since: Time },
}

#[derive(Clone, Debug)]
pub(super) struct Bbr1 {
    mss: u64,
    initial_window: u64,
    /// Position in the cycle at which ProbeBW starts.
    phase: usize,
    /// Growth per round trip that keeps startup going, in thousandths.
    growth: u64,
    mode: Mode,
    bandwidth: [u64; MEMORY],
    rounds: usize,
    next_round: u64,
    full: u64,
    flat_rounds: u8,
    min_rtt: Nanos,
    cwnd: u64,
    /// Pacing rate; until the first sample, the initial window over the handshake's RTT, times the
    /// gain.
    rate: u64,
    /// Bytes acknowledged in excess of the bandwidth, in this epoch and in the previous one.
    extra: [u64; 2],
    extra_since: (Time, u64),
    extra_rounds: u8,
    /// End of the current recovery, and the window before it.
    repair: Option<(Seq, u64)>,
    /// In the first round trip of a recovery, it sends what is acknowledged.
    conserves: bool,
}

impl Bbr1 {
    pub(super) fn new(config: &Config, phase: usize, growth: u64, now: Time) -> Bbr1 {
        Bbr1 {
            cwnd: config.initial_window,
            mss: config.mss.max(1),
            initial_window: config.initial_window,
            phase,
            growth,
            mode: Mode::Startup,
            bandwidth: [0; MEMORY],
            rounds: 0,
            next_round: 0,
            full: 0,
            flat_rounds: 0,
            min_rtt: Nanos::ZERO,
            rate: 0,
            extra: [0; 2],
            extra_since: (now, 0),
            extra_rounds: 0,
            repair: None,
            conserves: false,
        }
    }

    pub(super) fn cwnd(&self) -> u64 {
        self.cwnd
    }

    pub(super) fn pacing_rate(&self) -> Option<Rate> {
        (self.rate > 0).then_some(Rate(self.rate))
    }

    /// Sets the first pacing rate from the handshake's RTT.
    pub(super) fn on_handshake_rtt(&mut self, rtt: Nanos) {
        self.rate =
            Rate::from_bytes_over(self.initial_window, rtt).map_or(0, |rate| rate.0 * HIGH / 1000);
    }

    pub(super) fn on_mss(&mut self, mss: u64) {
        self.mss = mss.max(1);
    }

    pub(super) fn on_timeout(&mut self, nxt: Seq) {
        let before = self.repair.map_or(self.cwnd, |(_, before)| before);
        self.repair = Some((nxt, before));
        self.conserves = false;
        self.full = 0;
        self.cwnd = self.mss;
    }

    /// Takes an ACK, its delivery rate sample, and the bytes in flight before it according to the
    /// hypothesis.
    pub(super) fn on_ack(
        &mut self,
        ack: &Ack,
        so_far: &SoFar,
        sample: Option<Sample>,
        inflight: u64,
    ) {
        self.min_rtt = so_far.min_rtt.unwrap_or(self.min_rtt);
        let begins = self.round(so_far, sample);
        self.measure(sample);
        self.aggregate(ack, begins);
        self.change_mode(ack, begins, sample, inflight);
        let rate = self.most() * self.gain() / 1000 * 99 / 100;
        let known = sample.is_some_and(|sample| sample.rate.is_some()) || self.most() > 0;
        if known && (self.mode != Mode::Startup || rate > self.rate) {
            self.rate = rate;
        }
        self.set_window(ack, so_far);
    }

    fn round(&mut self, so_far: &SoFar, sample: Option<Sample>) -> bool {
        let begins = sample.is_some_and(|sample| sample.prior_delivered >= self.next_round);
        if begins {
            self.next_round = so_far.delivered;
            self.rounds += 1;
            self.bandwidth[self.rounds % MEMORY] = 0;
            self.conserves = false;
        }
        begins
    }

    fn measure(&mut self, sample: Option<Sample>) {
        if let Some(Sample { rate: Some(rate), app_limited, .. }) = sample
            && (!app_limited || rate.0 >= self.most())
        {
            let newest = &mut self.bandwidth[self.rounds % MEMORY];
            *newest = rate.0.max(*newest);
        }
    }

    /// The filtered bandwidth.
    fn most(&self) -> u64 {
        self.bandwidth.iter().copied().max().unwrap_or(0)
    }

    /// Increases the window's allowance for ACKs that arrive in bursts.
    fn aggregate(&mut self, ack: &Ack, begins: bool) {
        if ack.acked == 0 {
            return;
        }
        if begins {
            self.extra_rounds += 1;
            if self.extra_rounds >= 5 {
                self.extra = [0, self.extra[0]];
                self.extra_rounds = 0;
            }
        }
        let (since, acked) = self.extra_since;
        let mut expected = Rate(self.most()).bytes_in(ack.now.since(since));
        let mut acked = acked;
        if acked <= expected {
            (self.extra_since.0, acked, expected) = (ack.now, 0, 0);
        }
        acked = acked.saturating_add(ack.acked);
        self.extra_since.1 = acked;
        let extra = acked.saturating_sub(expected).min(self.cwnd);
        self.extra[0] = self.extra[0].max(extra);
    }

    fn change_mode(&mut self, ack: &Ack, begins: bool, sample: Option<Sample>, inflight: u64) {
        match self.mode {
            Mode::Startup => {
                if begins && sample.is_some_and(|sample| !sample.app_limited) {
                    let most = self.most();
                    if u128::from(most) * 1000 >= u128::from(self.full) * u128::from(self.growth) {
                        (self.full, self.flat_rounds) = (most, 0);
                    } else {
                        self.flat_rounds += 1;
                    }
                    if self.flat_rounds >= 3 {
                        self.mode = Mode::Drain;
                    }
                }
            }
            Mode::Probe { phase, since } => {
                let long = ack.now.since(since) > self.min_rtt;
                let next = match CYCLE[phase] {
                    1250 => long && (ack.lost > 0 || inflight >= self.volume(1250)),
                    750 => long || inflight <= self.volume(1000),
                    _ => long,
                };
                if next {
                    self.mode = Mode::Probe { phase: (phase + 1) % CYCLE.len(), since: ack.now };
                }
            }
            Mode::Drain => {}
        }
        if self.mode == Mode::Drain && ack.inflight <= self.volume(1000) {
            self.mode = Mode::Probe { phase: self.phase, since: ack.now };
        }
    }

    /// Pacing gain in thousandths.
    fn gain(&self) -> u64 {
        match self.mode {
            Mode::Startup => HIGH,
            Mode::Drain => 1_000_000 / HIGH,
            Mode::Probe { phase, .. } => CYCLE[phase],
        }
    }

    /// The BDP times `gain` thousandths, plus room for bursts in the hosts.
    fn volume(&self, gain: u64) -> u64 {
        let mss = self.mss;
        let most = self.most();
        if most == 0 || self.min_rtt == Nanos::ZERO {
            return self.initial_window;
        }
        let bdp = Rate(most).bytes_in(self.min_rtt);
        let least = if self.rate < TWO_PACKETS { 1 } else { 2 };
        let burst = ((self.rate >> 10).min(LARGEST_BURST) / mss).clamp(least, MOST_SEGMENTS);
        let packets = (bdp.saturating_mul(gain) / 1000).div_ceil(mss) + 3 * burst;
        let probes = matches!(self.mode, Mode::Probe { phase: 0, .. });
        (packets.next_multiple_of(2) + if probes { 2 } else { 0 }) * mss
    }

    fn set_window(&mut self, ack: &Ack, so_far: &SoFar) {
        if self.repair.is_some_and(|(until, _)| ack.una >= until) {
            self.cwnd = self.cwnd.max(self.repair.take().map_or(0, |(_, before)| before));
            self.conserves = false;
        }
        self.cwnd = self.cwnd.saturating_sub(ack.lost).max(self.mss);
        if ack.lost > 0 && self.repair.is_none() {
            self.repair = Some((ack.nxt, self.cwnd.saturating_add(ack.lost)));
            self.conserves = true;
            self.next_round = so_far.delivered;
            self.cwnd = ack.inflight.saturating_add(ack.acked);
        }
        if ack.acked == 0 {
            return;
        }
        if self.conserves {
            self.cwnd = self.cwnd.max(ack.inflight.saturating_add(ack.acked));
            return;
        }
        let gain = if matches!(self.mode, Mode::Probe { .. }) { 2000 } else { HIGH };
        let target = self.volume(gain).saturating_add(self.extra[0].max(self.extra[1]));
        let grown = self.cwnd.saturating_add(ack.acked);
        if self.mode != Mode::Startup {
            self.cwnd = grown.min(target);
        } else if self.cwnd < target || so_far.delivered < 10 * self.mss {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.max(LEAST * self.mss);
    }
}
