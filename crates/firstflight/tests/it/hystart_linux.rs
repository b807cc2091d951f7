//! HyStart of a whole controller against a model of what a sender of Linux computes with: packets
//! and microseconds in 32 bits, and `sk_pacing_rate` kept at the end of each ACK, with a pacer or
//! without. The model is written from the arithmetic as documented (a rate of 200 or 120 % of the
//! window per smoothed RTT, which is kept in eighths of a microsecond), not from the crate or its C
//! twin: a mistake that those two share shows here.

use crate::hooks::Random;
use crate::told::{Hear, Told};
use firstflight::avoidance::Cubic;
use firstflight::event::{Congestion, Timeout};
use firstflight::recovery::Immediate;
use firstflight::startup::{ExitReason, HyStart};
use firstflight::{Config, Controller, Nanos, Seq, Time};

const MSS: u64 = 1448;
const GSO: u64 = 65_536;
const SEQUENCES: u64 = 12_000;

/// The kernel's side. Windows in packets, times in microseconds.
struct Model {
    paced: bool,
    /// The rate is kept; without, as if `sk_pacing_rate` were zero in an unpaced sender.
    keeps_rate: bool,
    rate: u64,
    srtt_x8: i64,
    path: u32,
    round_start: u32,
    last_ack: u32,
    lowest: u32,
    samples: u8,
    mark: u32,
    found: Option<ExitReason>,
}

impl Model {
    fn new(paced: bool, keeps_rate: bool, now: u32, nxt: u32) -> Model {
        let (path, lowest) = (u32::MAX, u32::MAX);
        let (round_start, last_ack) = (now, now);
        Model {
            paced,
            keeps_rate,
            rate: 0,
            srtt_x8: 0,
            path,
            round_start,
            last_ack,
            lowest,
            samples: 0,
            mark: nxt,
            found: None,
        }
    }

    fn estimate(&mut self, rtt: u32) {
        let rtt = i64::from(rtt);
        self.srtt_x8 =
            if self.srtt_x8 == 0 { 8 * rtt } else { self.srtt_x8 + rtt - (self.srtt_x8 >> 3) };
    }

    /// When the segments have been taken off and the RTT is estimated, before the window grows.
    fn acked(&mut self, now: u32, rtt: u32, una: u32, nxt: u32, cwnd: u32, slow_start: bool) {
        let rtt = rtt.max(1);
        self.path = self.path.min(rtt);
        if self.found.is_some() || !slow_start {
            return;
        }
        if una.wrapping_sub(self.mark).cast_signed() > 0 {
            (self.round_start, self.last_ack, self.mark, self.lowest, self.samples) =
                (now, now, nxt, u32::MAX, 0);
        }
        if cwnd < 16 {
            return;
        }
        if now.wrapping_sub(self.last_ack) <= 2_000 {
            self.last_ack = now;
            let batching =
                (GSO * 4 * 1_000_000).checked_div(self.rate).map_or(0, |us| us.min(1_000) as u32);
            let limit = (self.path + batching) >> u32::from(!self.paced);
            if now.wrapping_sub(self.round_start) > limit {
                self.found = Some(ExitReason::Train);
            }
        }
        self.lowest = self.lowest.min(rtt);
        if self.samples < 8 {
            self.samples += 1;
        } else if self.lowest > self.path + (self.path >> 3).clamp(4_000, 16_000)
            && self.found.is_none()
        {
            self.found = Some(ExitReason::Delay);
        }
    }

    /// When everything else of an ACK is done.
    fn set_rate(&mut self, cwnd: u32, ssthresh: u32, outstanding: u32) {
        if !self.paced && !self.keeps_rate {
            return;
        }
        let percent = if cwnd < ssthresh / 2 { 200 } else { 120 };
        self.rate = MSS * 80_000 * percent * u64::from(cwnd.max(outstanding)) / self.srtt_x8 as u64;
    }

    fn timed_out(&mut self, now: u32, nxt: u32) {
        let (rate, srtt_x8) = (self.rate, self.srtt_x8);
        *self = Model { rate, srtt_x8, ..Model::new(self.paced, self.keeps_rate, now, nxt) };
    }
}

/// The ACK that ended startup, and why.
type Found = Option<(u32, ExitReason)>;

fn kernel_thresh(bytes: Option<u64>) -> u32 {
    bytes.map_or(0x7fff_ffff, |bytes| (bytes / MSS) as u32)
}

/// One connection on both sides; exits of the crate and of the model.
fn run(seed: u64, keeps_rate: bool) -> (u64, Found, Found) {
    let mut random = Random(seed);
    let base = match random.below(4) {
        0 => 100 + random.below(1_900),
        1 => 2_000 + random.below(8_000),
        2 => 10_000 + random.below(40_000),
        _ => 50_000 + random.below(150_000),
    };
    let serial = (base / [20, 100, 1_000, 4_000][random.below(4) as usize]).max(1);
    let (paced, rto, jitter) = (
        random.below(2) == 0,
        [0, 0, 300][random.below(3) as usize],
        1 + random.below(base / 4 + 1),
    );
    let lazy = [0, 5][random.below(2) as usize];
    let start = 1_000_000 + random.below(1 << 32);
    let isn = u64::from(u32::MAX) - random.below(200) * MSS;
    let config = firstflight::with!(Config { paced, ..Config::tcp(MSS) });
    let mut core = Controller::new(
        HyStart::default(),
        Cubic::default(),
        Immediate::default(),
        config,
        Time(start * 1_000),
        Seq(isn),
    );
    let mut model = Model::new(paced, keeps_rate, start as u32, isn as u32);
    let (mut now, mut una, mut nxt) = (start + base, 0_u64, 10_u64);
    let (mut ours, mut theirs) = (None, None);
    for ack in 0..1_500 {
        if rto > 0 && ack > 30 && random.below(rto) == 0 {
            now += base;
            core.on_congestion(&Congestion {
                now: Time(now * 1_000),
                timeout: Timeout::Rto,
                nxt: Seq(isn + nxt * MSS),
                inflight_before: (nxt - una) * MSS,
            });
            model.timed_out(now as u32, (isn + nxt * MSS) as u32);
            (ours, theirs) = (None, None);
        }
        let stretch = if random.below(9) == 0 { 40 } else { 2 };
        let acked = 1 + random.below((nxt - una).min(stretch));
        let waiting = (nxt - una).saturating_sub(base / serial);
        now += match random.below(12) {
            0 => 0,
            1 => random.below(base / 2 + 1),
            2 => random.below(2 * serial + 1),
            _ => acked * serial,
        };
        let rtt = base + waiting * serial + random.below(jitter);
        let before = nxt - una;
        una += acked;
        model.estimate(rtt as u32);
        // A threshold after a timeout need not be whole segments here: both sides agree on what
        // slow start is.
        let (cwnd, slow_start) = (
            (core.cwnd() / MSS) as u32,
            core.ssthresh().is_none_or(|ssthresh| core.cwnd() < ssthresh),
        );
        model.acked(
            now as u32,
            rtt as u32,
            (isn + una * MSS) as u32,
            (isn + nxt * MSS) as u32,
            cwnd,
            slow_start,
        );
        core.hear(&Told {
            now: Time(now * 1_000),
            acked: acked * MSS,
            rtt: Some(Nanos::from_micros(rtt)),
            srtt: Some(Nanos(model.srtt_x8 as u64 * 125)),
            una: Seq(isn + una * MSS),
            nxt: Seq(isn + nxt * MSS),
            advanced: true,
            flight: (nxt - una) * MSS,
            inflight_before: before * MSS,
            inflight: (nxt - una) * MSS,
            cwnd_limited: true,
            ..Told::default()
        });
        model.set_rate(
            (core.cwnd() / MSS) as u32,
            kernel_thresh(core.ssthresh()),
            (nxt - una) as u32,
        );
        theirs = theirs.or(model.found.map(|reason| (ack, reason)));
        let exits = (core.startup().stats().train_exits, core.startup().stats().delay_exits);
        if exits != (0, 0) {
            ours = Some((ack, if exits.0 > 0 { ExitReason::Train } else { ExitReason::Delay }));
        }
        if ours.is_some() || theirs.is_some() {
            break;
        }
        // Fills the window, or a part of it; there is always something under way.
        let room = (core.cwnd() / MSS).saturating_sub(nxt - una);
        nxt += if lazy > 0 && random.below(lazy) == 0 { random.below(room + 1) } else { room };
        nxt = nxt.max(una + 1);
    }
    (base, ours, theirs)
}

/// Shows LINUX hystart-rate, LINUX hystart-ack-delay.
#[test]
fn the_controller_leaves_on_the_ack_of_the_kernels_arithmetic() {
    let (mut trains, mut delays, mut without, mut short, mut short_without) = (0, 0, 0, 0, 0);
    for seed in 0..SEQUENCES {
        let (base, ours, theirs) = run(seed, true);
        assert_eq!(
            ours, theirs,
            "exit of the crate and of the kernel's arithmetic, sequence {seed}, path {base} us"
        );
        match ours {
            Some((_, ExitReason::Train)) => trains += 1,
            Some(_) => delays += 1,
            None => {}
        }
        // Result of the same sequence if a sender without a pacer has no rate.
        let (_, ours, theirs) = run(seed, false);
        short += u32::from(base < 2_000);
        short_without += u32::from(base < 2_000 && ours != theirs);
        without += u32::from(ours != theirs);
    }
    println!(
        "{SEQUENCES} sequences: {trains} trains, {delays} delays; without the rate {without} differ, of {short} below 2 ms {short_without}"
    );
    assert!(trains > 1_000 && delays > 1_000, "{trains} exits by train and {delays} by delay");
    assert!(
        without > SEQUENCES as u32 / 50,
        "the sequences tell a kept rate from none: {without} differ"
    );
}
