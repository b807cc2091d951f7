//! A sender in slow start over one bottleneck, packet by packet: FIFO link with drop-tail, constant
//! delay, and a return path that may hold ACKs back. Enough to check when a startup leaves, and
//! nothing more.
use crate::hooks::{self, Random};
use crate::told::Told;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use firstflight::startup::{ExitReason, Handover, Leave, Startup, Verdict};
use firstflight::{Config, SoFar};
use firstflight::{Context, Nanos, Rate, Seq, Time, Transport, UNSET_SSTHRESH, Window};

pub(crate) const MSS: u64 = 1448;
/// The context of a test without a path.
pub(crate) const CX: Context = firstflight::with!(Context { paced: false, ..hooks::quic(MSS) });
/// Payload and 52 bytes of headers.
pub(crate) const WIRE: u64 = 1500;

/// Effect of the return path on ACKs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Return {
    Plain,
    /// Releases what waits at every multiple of `period`, at most `cap` ACKs, `lo` to `hi` apart.
    Batch {
        period: u64,
        cap: usize,
        lo: u64,
        hi: u64,
    },
    /// The slotted, grant-limited return link of a cold satellite terminal.
    GeoCold {
        seed: u64,
    },
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub name: &'static str,
    /// Forward rate in Mbit/s.
    pub mbps: u64,
    pub rtt: Nanos,
    /// Queue in hundredths of the BDP.
    pub queue_percent: u64,
    /// Packets per ACK.
    pub ack_every: u64,
    pub back: Return,
    /// Release packets at twice the window per RTT.
    pub paced: bool,
    /// Receiver time stamps with ticks of this many nanoseconds.
    pub tick: Option<u64>,
}

pub(crate) const GEO: Link = link("GEO", 150, 600, 100);
pub(crate) const LEO: Link = link("LEO", 100, 30, 100);
pub(crate) const FIVE_G: Link = link("5G", 3000, 10, 100);
pub(crate) const FOUR_G: Link = link("4G", 200, 20, 100);

pub(crate) const fn link(name: &'static str, mbps: u64, rtt_ms: u64, queue_percent: u64) -> Link {
    let rtt = Nanos::from_millis(rtt_ms);
    Link {
        name,
        mbps,
        rtt,
        queue_percent,
        ack_every: 1,
        back: Return::Plain,
        paced: false,
        tick: None,
    }
}

impl Link {
    /// Time to serialise one packet.
    pub(crate) fn packet_ns(&self) -> u64 {
        WIRE * 8_000 / self.mbps
    }

    pub(crate) fn bdp_packets(&self) -> u64 {
        self.rtt.0 / self.packet_ns()
    }

    pub(crate) fn queue_packets(&self) -> u64 {
        self.bdp_packets() * self.queue_percent / 100
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    /// Time and window (packets) of the first packet dropped.
    pub first_drop: Option<(Nanos, u64)>,
    /// When the sender learned of it.
    pub learned: Option<Nanos>,
    /// Every new threshold: time, window then, threshold, both in packets.
    pub aims: Vec<(Nanos, u64, u64)>,
    /// The end of startup: time, window before and threshold after in packets, reason.
    pub exit: Option<(Nanos, u64, u64, ExitReason)>,
    /// When draining began.
    pub drain_began: Option<Nanos>,
    pub handover: Option<Handover>,
    pub acks: u64,
    /// Every ACK as the startup saw it, if asked for.
    pub log: Vec<(Told, Window)>,
}

impl Report {
    pub(crate) fn rtts(time: Nanos, link: &Link) -> f64 {
        time.0 as f64 / link.rtt.0 as f64
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// An ACK up to this packet enters the return path.
    AckIn {
        upto: u64,
        ts: u32,
    },
    Request,
    Frame,
    AckOut {
        upto: u64,
        ts: u32,
    },
    Pacer,
}

const FRAME: u64 = 40_000_000;
const REQUEST: u64 = 100_000_000;
const GRANT_DELAY: u64 = 600_000_000;
const GROWTH: u64 = 105_449;

struct ReturnPath {
    back: Return,
    random: Random,
    queue: VecDeque<(u64, u32)>,
    free: u64,
    grant: u64,
    credit: u64,
    arrivals: u64,
    last_arrival: u64,
    pipe: VecDeque<(u64, u64)>,
}

impl ReturnPath {
    fn request(&mut self, t: u64) {
        if self.queue.is_empty() && t.saturating_sub(self.last_arrival) > 3_000_000_000 {
            self.grant = 1000;
            self.pipe.clear();
        }
        let want = 1100 * self.arrivals * FRAME / REQUEST
            + 1100 * self.queue.len() as u64 * FRAME / GRANT_DELAY;
        self.arrivals = 0;
        self.pipe.push_back((t + GRANT_DELAY, want));
        while self.pipe.front().is_some_and(|&(due, _)| due <= t) {
            let (_, want) = self.pipe.pop_front().unwrap();
            self.grant = want
                .clamp(self.grant * 100_000 / GROWTH, self.grant * GROWTH / 100_000)
                .clamp(1000, 160_000);
        }
    }

    fn frame(&mut self, t: u64) -> Vec<(u64, (u64, u32))> {
        let mut out = Vec::new();
        let (n, k, lo, hi) = match self.back {
            Return::Plain => return out,
            Return::Batch { cap, lo, hi, .. } => (self.queue.len().min(cap), 1, lo, hi),
            Return::GeoCold { .. } => {
                self.credit += self.grant;
                let n = (self.credit / 1000).min(self.queue.len() as u64);
                self.credit -= 1000 * n;
                if self.queue.len() as u64 == n {
                    self.credit = self.credit.min(1000);
                }
                let k = match n {
                    0..=4 => 1,
                    5..=8 => 2,
                    9..=16 => 4,
                    17..=32 => 8,
                    _ => 16,
                };
                let c = n.clamp(4, 16) - 4;
                (n as usize, k, 74_000 - 52_000 * c / 12, 113_000 - 80_000 * c / 12)
            }
        };
        let geo = matches!(self.back, Return::GeoCold { .. });
        if n == 0 {
            return out;
        }
        for b in 0..k {
            let jitter = match (geo, k) {
                (false, _) => 0,
                (true, 1) => self.random.within(0, 6_000_000),
                (true, _) => self.random.within(0, 200_000),
            };
            let mut s = (t + b as u64 * FRAME / k as u64 + jitter).max(self.free);
            for _ in n * b / k..n * (b + 1) / k {
                out.push((s, self.queue.pop_front().unwrap()));
                self.free = s;
                s += self.random.within(lo, hi);
            }
        }
        out
    }
}

#[expect(
    clippy::too_many_lines,
    reason = "one loop over the events of one flow, read from top to bottom"
)]
/// Runs `startup` until it leaves, loss is learned of, or `limit` passes. Segments are packets
/// numbered from 0, as in QUIC.
pub(crate) fn run<S: Startup>(
    startup: &mut S,
    link: &Link,
    limit: Nanos,
    keep_log: bool,
) -> Report {
    let tx = link.packet_ns();
    let mut report = Report::default();
    let mut events: BinaryHeap<Reverse<(u64, u64, Event)>> = BinaryHeap::new();
    let mut order = 0u64;
    let mut at = |events: &mut BinaryHeap<Reverse<(u64, u64, Event)>>, time: u64, event: Event| {
        order += 1;
        // At one instant: ACK input, then request, then frame.
        let rank = match event {
            Event::AckIn { .. } => 0,
            Event::Request => 1,
            Event::Frame => 2,
            _ => 3,
        };
        events.push(Reverse((time, (rank << 60) + order, event)));
    };
    let seed = if let Return::GeoCold { seed } = link.back { seed } else { 1 };
    let mut path = ReturnPath {
        back: link.back,
        random: Random(seed),
        queue: VecDeque::new(),
        free: 0,
        grant: 1000,
        credit: 0,
        arrivals: 0,
        last_arrival: 0,
        pipe: VecDeque::new(),
    };
    match link.back {
        Return::Plain => {}
        Return::Batch { period, .. } => at(&mut events, period, Event::Frame),
        Return::GeoCold { .. } => {
            let phase = path.random.within(0, FRAME - 1);
            at(&mut events, 0, Event::Request);
            at(&mut events, phase, Event::Frame);
        }
    }
    let epoch = 1_000_000_000u64; // The host's clock does not start at zero.
    let mut w = Window { cwnd: 10 * MSS, ssthresh: UNSET_SSTHRESH };
    let (mut nxt, mut una, mut free_at) = (0u64, 0u64, 0u64);
    let mut sent_at: Vec<u64> = Vec::new();
    let mut dropped: Option<u64> = None;
    let mut unacked_at_receiver = 0u64;
    let mut srtt = link.rtt.0;
    let mut pacer_free = 0u64;
    let mut min_rtt = u64::MAX;
    startup.start(Time(epoch), Seq(0));
    let mut now = 0u64;
    loop {
        // Send what the window and the pacer allow.
        while (nxt - una) * MSS + MSS <= w.cwnd && (!link.paced || pacer_free <= now) {
            if link.paced {
                let gap = MSS * srtt / (2 * w.cwnd);
                pacer_free = pacer_free.max(now) + gap;
                at(&mut events, pacer_free, Event::Pacer);
            }
            sent_at.push(now);
            let backlog = free_at.saturating_sub(now).div_ceil(tx);
            if backlog > link.queue_packets() {
                if dropped.is_none() {
                    dropped = Some(nxt);
                    report.first_drop = Some((Nanos(now), w.cwnd / MSS));
                }
            } else {
                free_at = free_at.max(now) + tx;
                unacked_at_receiver += 1;
                if unacked_at_receiver >= link.ack_every {
                    unacked_at_receiver = 0;
                    let arrival = free_at + link.rtt.0 / 2;
                    let ts = link.tick.map_or(0, |tick| ((arrival + epoch) / tick) as u32);
                    at(&mut events, free_at + link.rtt.0, Event::AckIn { upto: nxt + 1, ts });
                }
            }
            nxt += 1;
        }
        let Some(Reverse((time, _, event))) = events.pop() else { return report };
        now = time;
        if now > limit.0 {
            return report;
        }
        match event {
            Event::AckIn { upto, ts } => match link.back {
                Return::Plain => at(&mut events, now, Event::AckOut { upto, ts }),
                Return::Batch { .. } | Return::GeoCold { .. } => {
                    path.queue.push_back((upto, ts));
                    path.arrivals += 1;
                    path.last_arrival = now;
                }
            },
            Event::Request => {
                path.request(now);
                at(&mut events, now + REQUEST, Event::Request);
            }
            Event::Frame => {
                for (time, (upto, ts)) in path.frame(now) {
                    at(&mut events, time, Event::AckOut { upto, ts });
                }
                let period =
                    if let Return::Batch { period, .. } = link.back { period } else { FRAME };
                at(&mut events, now + period, Event::Frame);
            }
            Event::Pacer => {}
            Event::AckOut { upto, ts } => {
                if dropped.is_some_and(|lost| upto > lost) {
                    report.learned = Some(Nanos(now));
                    return report;
                }
                let before = (nxt - una) * MSS;
                let acked = (upto - una) * MSS;
                una = upto;
                let rtt = now - sent_at[upto as usize - 1];
                min_rtt = min_rtt.min(rtt);
                srtt = srtt - srtt / 8 + rtt / 8;
                let rate = Rate(2 * w.cwnd * 1_000_000_000 / srtt);
                let cx = firstflight::with!(Context {
                    mss: MSS,
                    count: None,
                    iw: 10 * MSS,
                    transport: Transport::Quic,
                    paced: link.paced,
                    srtt: Nanos(srtt),
                    pacing_rate: link.paced.then_some(rate),
                    so_far: SoFar::default(),
                    ..Context::new(&Config::quic(MSS), Seq(0))
                });
                let ack = Told {
                    now: Time(now + epoch),
                    acked,
                    acked_fresh: acked,
                    rtt: Some(Nanos(rtt)),
                    srtt: Some(Nanos(srtt)),
                    min_rtt: Some(Nanos(min_rtt)),
                    una: Seq(una),
                    nxt: Seq(nxt),
                    advanced: true,
                    flight: (nxt - una) * MSS,
                    inflight_before: before,
                    inflight: (nxt - una) * MSS,
                    delivered: una * MSS,
                    sent: nxt * MSS,
                    cwnd_limited: true,
                    receiver_ts: link.tick.map(|_| ts),
                    ..Told::default()
                };
                report.acks += 1;
                startup.on_rtt(ack.now, Nanos(rtt), &cx);
                if keep_log {
                    report.log.push((ack, w));
                }
                let at_sample = w.cwnd;
                let mut done = false;
                match startup.sample(&ack.ack(), w, &ack.within(&cx)) {
                    Verdict::Stay => {}
                    Verdict::Aim { ssthresh } => {
                        report.aims.push((Nanos(now), w.cwnd / MSS, ssthresh / MSS));
                        w.ssthresh = ssthresh;
                    }
                    Verdict::Settle { cwnd, .. } => w.cwnd = cwnd,
                    Verdict::Hold { cwnd } => {
                        report.drain_began.get_or_insert(Nanos(now));
                        w.cwnd = cwnd;
                    }
                    Verdict::Leave(Leave { reason, ssthresh, cwnd, handover, .. }) => {
                        report.exit = Some((Nanos(now), at_sample / MSS, ssthresh / MSS, reason));
                        report.handover = Some(handover);
                        w.cwnd = cwnd.unwrap_or(w.cwnd);
                        done = true;
                    }
                }
                if !done {
                    startup.grow(&ack.ack(), acked, &mut w, &ack.within(&cx));
                    if w.cwnd >= w.ssthresh {
                        report.exit =
                            Some((Nanos(now), w.cwnd / MSS, w.ssthresh / MSS, startup.reached()));
                        done = true;
                    }
                }
                if done {
                    return report;
                }
            }
        }
    }
}
