//! BBR's startup: the figures of the draft, and the startup cases of its appendix, each by its
//! name, over a bottleneck that this file keeps.

use crate::hooks;
use crate::rig::{self, MSS, Rig};
use crate::told::{Hear, Told};

use firstflight::signal::delivery::Delivery;
use firstflight::startup::bbr::{Bbr, HandOver, Params};
use firstflight::startup::{Handover, Leave, Pacing, Startup, Verdict};
use firstflight::{
    AnyController, Config, ExitReason, Nanos, Phase, Rate, Ratio, Ready, Sent, Seq, SoFar, Time,
    Timeout, Transport, Window,
};
use std::collections::VecDeque;

const MS: u64 = 1_000_000;

/// A bottleneck with a queue that never ends, and the sender in front of it.
pub(crate) struct Pipe {
    pub(crate) c: AnyController,
    pub(crate) now: u64,
    /// Bytes per second.
    pub(crate) rate: u64,
    pub(crate) rtt: u64,
    /// The link is busy until then, and the pacer.
    pub(crate) free: u64,
    pub(crate) paced: u64,
    pub(crate) sent: u64,
    pub(crate) acked: u64,
    /// When the ACK comes, and of what; `None` where the packet is lost.
    pub(crate) acks: VecDeque<(u64, Option<u64>)>,
    /// The application writes a packet each so many ns.
    pub(crate) app: Option<u64>,
    /// No ACK tells that the application is the limit.
    pub(crate) hides_limit: bool,
    /// Of so many packets one is lost.
    pub(crate) loses: Option<u64>,
    /// ACKs leave the receiver only at multiples of this.
    pub(crate) batch: u64,
    pub(crate) min_rtt: u64,
    /// Once it is in Drain the rate is this.
    pub(crate) rate_in_drain: u64,
    pub(crate) drain: Option<(u64, u32)>,
    pub(crate) inflight: u64,
    pub(crate) unseen: u64,
    /// Bytes in flight that ACKs tell of beside those that there are.
    pub(crate) hidden: u64,
    /// Size of the queue in bytes; a packet that finds it full is lost.
    pub(crate) queue: u64,
    /// A policer in front of it.
    pub(crate) policer: Option<Policer>,
    /// Packets lost so far.
    pub(crate) dropped: u64,
}

/// A token bucket that drops what it has no tokens for.
pub(crate) struct Policer {
    /// Bytes per second, and the most that the bucket holds.
    pub(crate) rate: u64,
    pub(crate) bucket: u64,
    /// Bytes in it, and since when.
    pub(crate) tokens: u64,
    pub(crate) at: u64,
}

impl Policer {
    fn passes(&mut self, now: u64) -> bool {
        let news = (now - self.at) * self.rate / 1_000_000_000;
        // The remainder of a token stays for the next packet.
        self.at += news * 1_000_000_000 / self.rate;
        self.tokens = (self.tokens + news).min(self.bucket);
        let passes = self.tokens >= MSS;
        self.tokens -= if passes { MSS } else { 0 };
        passes
    }
}

impl Pipe {
    pub(crate) fn new(arm: &str, rate: u64, rtt: u64) -> Pipe {
        let config = firstflight::with!(Config { initial_window: 10 * MSS, ..Config::quic(MSS) });
        Pipe {
            c: rig::controller(arm, config),
            now: 0,
            rate,
            rtt,
            free: 0,
            paced: 0,
            sent: 0,
            acked: 0,
            acks: VecDeque::new(),
            app: None,
            hides_limit: false,
            loses: None,
            batch: 1,
            min_rtt: u64::MAX,
            rate_in_drain: rate,
            drain: None,
            inflight: 0,
            unseen: 0,
            hidden: 0,
            queue: u64::MAX,
            policer: None,
            dropped: 0,
        }
    }

    pub(crate) fn signal(&self, name: &str) -> u64 {
        hooks::signal(name, |visit| self.c.signals(visit))
            .unwrap_or_else(|| panic!("no signal {name}"))
    }

    fn offered(&self) -> bool {
        self.app.is_none_or(|every| self.sent * every <= self.now)
    }

    fn send(&mut self) {
        let srtt = (self.min_rtt != u64::MAX).then_some(Nanos(self.rtt));
        let now = Time(self.now);
        let nxt = Seq(self.sent);
        self.c.before_send(&Ready {
            now,
            nxt,
            inflight: self.inflight,
            backlog: u64::MAX,
            srtt,
            ..Ready::default()
        });
        let service = MSS * 1_000_000_000 / self.rate;
        let waiting = self.free.saturating_sub(self.now) / service * MSS;
        let policed = self.policer.as_mut().is_some_and(|policer| !policer.passes(self.now));
        let full = policed || waiting.saturating_add(MSS) > self.queue;
        let lost = full || self.loses.is_some_and(|every| self.sent % every == every - 1);
        self.free = self.free.max(self.now) + if full { 0 } else { service };
        let at = (self.free + self.rtt).div_ceil(self.batch) * self.batch;
        self.acks.push_back((at, (!lost).then_some(self.now)));
        self.sent += 1;
        self.dropped += u64::from(lost);
        self.inflight += MSS;
        let sent = Sent { now, bytes: MSS, nxt: Seq(self.sent), inflight: self.inflight, srtt };
        self.c.on_sent(&sent);
        let gap = self.c.pacing_rate().map_or(0, |rate| MSS * 1_000_000_000 / rate.0);
        self.paced = self.paced.max(self.now) + gap;
    }

    /// The packets whose ACKs come now; a loss shows with the next ACK.
    fn acknowledge(&mut self) {
        let (mut acked, mut lost, mut rtt, mut tx_lost) = (0, 0, None, None);
        let inflight_before = self.inflight;
        while let Some(&(at, sent)) = self.acks.front()
            && at <= self.now
        {
            self.acks.pop_front();
            if let Some(sent) = sent {
                (acked, rtt) = (acked + MSS, Some(self.now - sent));
            } else {
                (lost, tx_lost) = (lost + MSS, Some(self.acked));
            }
            self.acked += 1;
        }
        if acked == 0 {
            (self.unseen, self.acked) = (self.unseen + lost, self.acked);
            return;
        }
        lost += std::mem::take(&mut self.unseen);
        self.inflight -= acked + lost;
        self.min_rtt = self.min_rtt.min(rtt.unwrap_or(u64::MAX));
        let limited = !self.offered();
        let ack = Told {
            now: Time(self.now),
            acked,
            acked_fresh: acked,
            lost,
            tx_lost: tx_lost.or((lost > 0).then(|| self.acked - 1)),
            rtt: rtt.map(Nanos),
            srtt: Some(Nanos(self.rtt)),
            min_rtt: Some(Nanos(self.min_rtt)),
            una: Seq(self.acked),
            nxt: Seq(self.sent),
            advanced: true,
            tx_acked: Some(self.acked - 1),
            tx_next: self.sent,
            flight: self.inflight,
            inflight_before,
            inflight: self.inflight + self.hidden,
            cwnd_limited: !limited,
            app_limited: limited && !self.hides_limit && self.inflight < self.c.cwnd(),
            ..Told::default()
        };
        self.c.hear(&ack);
        if self.c.phase() == Phase::Drain && self.drain.is_none() {
            self.drain = Some((self.now, self.c.rounds()));
            self.rate = self.rate_in_drain;
        }
    }

    /// Until startup is over or the time is up.
    fn run(&mut self, ms: u64) {
        self.go(ms, |pipe| pipe.c.exit().is_some());
    }

    /// Until this is so or the time is up; whether it was so.
    pub(crate) fn go(&mut self, ms: u64, until: impl Fn(&Pipe) -> bool) -> bool {
        while !until(self) {
            if self.now >= ms * MS {
                return false;
            }
            if self.offered() && self.paced <= self.now && self.c.admits(MSS, self.inflight) {
                self.send();
                continue;
            }
            let mut next = self.acks.front().map_or(u64::MAX, |ack| ack.0);
            if self.c.admits(MSS, self.inflight) {
                let offered = self.app.map_or(0, |every| self.sent * every);
                next = next.min(self.paced.max(offered));
            }
            self.now = next.max(self.now);
            self.acknowledge();
        }
        true
    }

    pub(crate) fn bdp(&self) -> u64 {
        self.rate * self.rtt / 1_000_000_000
    }
}

/// Shows BBR full-1, BBR bw-1, BBR rate-marks, BBR rate-span.
#[test]
fn exiting_startup_on_bandwidth_plateau() {
    for (rate, rtt) in
        [(125_000, 40 * MS), (1_250_000, 30 * MS), (12_500_000, 30 * MS), (12_500_000, 600 * MS)]
    {
        let mut pipe = Pipe::new("bbr", rate, rtt);
        pipe.run(60_000);
        let bw = pipe.signal("bbr_max_bw");
        assert!(bw.abs_diff(rate) * 50 <= rate, "{rate} B/s over {rtt} ns: estimated {bw}");
        assert_eq!(pipe.signal("bbr_full_count"), 3);
        assert_eq!(u64::from(pipe.c.rounds()), pipe.signal("bbr_rounds"), "rounds are its own");
        let exit = pipe.c.exit().expect("startup ends");
        assert_eq!(exit.reason, ExitReason::Plateau);
        assert!(pipe.drain.is_some(), "by way of Drain");
        assert_eq!(exit.cwnd, exit.estimate.expect("the BDP"), "what avoidance gets");
        assert_eq!(pipe.c.ssthresh(), Some(exit.cwnd));
    }
}

/// Shows BBR loss-1, BBR loss-absorbed, BBR bw-1.
#[test]
fn exiting_startup_on_loss_when_application_limited() {
    // Five packets a round trip with one in thirty lost are 3.3 %, but never six places in a round;
    // a hundred a round with one in fifteen are.
    for (packets, every, leaves) in [(100, 15, true), (100, 60, false)] {
        let mut pipe = Pipe::new("bbr", 12_500_000, 40 * MS);
        pipe.app = Some(40 * MS / packets);
        pipe.loses = Some(every);
        pipe.go(4_000, |pipe| {
            let over = pipe.c.exit().is_some();
            // The ACK that ends startup may tell of a loss, too.
            assert!(over || pipe.c.stats().loss_episodes == 0, "a loss of startup cut the window");
            over
        });
        let reason = pipe.c.exit().map(|exit| exit.reason);
        assert_eq!(reason, leaves.then_some(ExitReason::HighLoss), "one of {every} lost");
    }
}

/// Shows BBR drain-1.
#[test]
fn exiting_drain_based_on_inflight() {
    let mut pipe = Pipe::new("bbr", 12_500_000, 30 * MS);
    pipe.run(60_000);
    let (_, began) = pipe.drain.expect("a Drain");
    let exit = pipe.c.exit().expect("startup ends");
    assert!(exit.rounds <= began + 3, "not by rounds: from {began} to {}", exit.rounds);
    assert!(pipe.inflight <= exit.cwnd, "{} in flight, BDP {}", pipe.inflight, exit.cwnd);
    assert!(
        exit.cwnd * 100 >= pipe.bdp() * 80 && exit.cwnd * 100 <= pipe.bdp() * 130,
        "{} of a BDP of {}",
        exit.cwnd,
        pipe.bdp()
    );
}

/// Shows BBR drain-1.
#[test]
fn exiting_drain_based_on_time() {
    let mut pipe = Pipe::new("bbr(drain=1)", 12_500_000, 30 * MS);
    // The draft takes 10 % from the path. Drain at half the rate is out of that within a round, so
    // here it drains at the whole of it.
    pipe.rate_in_drain = 11_250_000;
    pipe.run(60_000);
    let (_, began) = pipe.drain.expect("a Drain");
    let exit = pipe.c.exit().expect("startup ends");
    assert_eq!(exit.rounds, began + 4, "three rounds after the one of the entry");
    assert!(exit.inflight > exit.cwnd, "with the queue still there");
}

/// Shows BBR bw-1, BBR full-1, BBR rate-limited.
#[test]
fn never_exiting_startup_when_application_limited_with_no_loss() {
    let mut pipe = Pipe::new("bbr", 12_500_000, 30 * MS);
    pipe.app = Some(2 * MS);
    pipe.run(20_000);
    assert_eq!((pipe.c.exit(), pipe.c.phase()), (None, Phase::Startup));
}

/// Shows BBR aggregation-1.
#[test]
fn achieving_expected_startup_bandwidth_on_a_link_with_aggregation() {
    let mut pipe = Pipe::new("bbr(aggregation=on)", 12_500_000, 30 * MS);
    pipe.batch = 8 * MS;
    let mut widest = 0;
    for until in (10..2_000).step_by(10) {
        pipe.run(until);
        if pipe.c.phase() == Phase::Startup {
            widest = widest.max(pipe.c.cwnd());
        }
    }
    let bw = pipe.signal("bbr_max_bw");
    assert!(bw.abs_diff(12_500_000) * 20 <= 12_500_000, "estimated {bw}");
    assert!(widest > 2 * pipe.bdp(), "a window of {widest} with a BDP of {}", pipe.bdp());
}

/// Shows BBR pace-init, BBR pace-1, BBR cwnd-1.
#[test]
fn rates_and_windows_of_the_formulas() {
    let mut bbr = Bbr::new(Params::default());
    let cx = firstflight::with!(firstflight::Context { iw: 14_480, ..hooks::quic(1_448) });
    assert_eq!(bbr.pacing(), Pacing::default(), "before a sample the usual rule");
    bbr.start(Time(0), Seq(0));
    bbr.on_rtt(Time(60 * MS), Nanos(60 * MS), &cx);
    assert_eq!(bbr.pacing(), Pacing::Rate(Rate(668_493)));
    bbr.on_rtt(Time(61 * MS), Nanos(90 * MS), &cx);
    assert_eq!(bbr.pacing(), Pacing::Rate(Rate(668_493)), "set once");
}

/// One packet a round at these rates, in 10 kB/s: how many rounds until the pipe is full.
fn full_after(rates: &[u64]) -> Option<usize> {
    full_behind_a_peer(Params::default(), rates, usize::MAX)
}

/// The same with these constants, the peer's window the limit from that round on.
fn full_behind_a_peer(params: Params, rates: &[u64], from: usize) -> Option<usize> {
    let cx = hooks::quic(1_000);
    let mut bbr = Bbr::new(params);
    bbr.start(Time(0), Seq(0));
    // Values that the 1.024 us of a mark and whole bytes per second express exactly.
    let (mut now, rtt) = (0, 102_400_000);
    let w = Window { cwnd: 1_000, ssthresh: u64::MAX };
    for (round, &rate) in (1..).zip(rates) {
        let bytes = rate * 1_024;
        let (round, sent) = (round as usize, Time(now));
        let nxt = Seq(round as u64);
        bbr.on_sent(&Sent { now: sent, bytes, nxt, inflight: bytes, srtt: None }, w, &cx);
        now += rtt;
        let ack = Told {
            now: Time(now),
            acked: bytes,
            min_rtt: Some(Nanos(rtt)),
            tx_acked: Some(nxt.0 - 1),
            tx_next: nxt.0,
            inflight: 100_000_000,
            cwnd_limited: round < from,
            ..Told::default()
        };
        bbr.sample(&ack.ack(), w, &ack.within(&cx));
        if bbr.status().phase == Phase::Drain {
            return Some(round);
        }
    }
    None
}

/// Shows BBR full-2, BBR round-1, BBR rate-idle.
#[test]
fn a_plateau_is_three_rounds_of_less_than_a_quarter() {
    for (rates, expected) in [
        (&[10, 20, 40, 50, 62, 60, 62][..], Some(7)),
        (&[10, 20, 40, 50, 63, 60, 63, 63], Some(8)),
        (&[10, 13, 17, 22, 28, 35], None),
        // The first flight counts as the application's.
        (&[10, 10, 10, 10, 10], Some(5)),
    ] {
        assert_eq!(full_after(rates), expected, "{rates:?}");
    }
}

/// Shows BBR rate-rwnd.
#[test]
fn a_peers_window_is_a_bottleneck_in_the_draft_and_no_plateau_by_option() {
    let rates = [10, 20, 40, 40, 40, 40, 40, 40];
    let on = firstflight::with!(Params { rwnd: true, ..Params::default() });
    for (params, from, expected, why) in [
        (Params::default(), usize::MAX, Some(6), "the path is full"),
        (Params::default(), 3, Some(6), "the draft treats the peer's window as a bottleneck"),
        (on, usize::MAX, Some(6), "the window is the limit: the path is full"),
        (on, 3, None, "the peer is the limit from the third round on"),
        (on, 6, Some(6), "it became the limit when three rounds were counted"),
    ] {
        assert_eq!(full_behind_a_peer(params, &rates, from), expected, "{why}");
    }
}

/// Shows BBR loss-ranges, BBR ce-1.
#[test]
fn six_ranges_of_more_than_two_percent_fill_the_pipe() {
    // (ACKs that declare losses, packets each, marks instead, leaves)
    for (events, packets, marks, leaves) in [
        (5, 1, false, false),
        (6, 1, false, true),
        (6, 1, true, true),
        (5, 1, true, false),
        (2, 3, false, false),
    ] {
        let mut rig = Rig::quic("bbr", 100 * MSS);
        (0..100).for_each(|_| rig.send(MSS));
        rig.wait(30);
        for k in 0..100 {
            let ack = rig.record(MSS);
            let hit = k < events;
            let lost = if hit && !marks { packets * MSS } else { 0 };
            let ack = Told { lost, ce: hit && marks, app_limited: true, ..ack };
            rig.deliver(&ack);
        }
        (0..40).for_each(|_| rig.send(MSS));
        rig.wait(30);
        for _ in 0..20 {
            let ack = Told { app_limited: true, ..rig.record(MSS) };
            rig.deliver(&ack);
        }
        let left = rig.c.phase() == Phase::Drain || rig.c.exit().is_some();
        assert_eq!(left, leaves, "{events} times {packets} of 100, marks {marks}");
    }
}

/// BBR by hand: packets of 1000 bytes, a flight of a hundred at a time, the application the limit so that
/// only losses fill the pipe.
pub(crate) struct Flights<S> {
    pub(crate) bbr: S,
    cx: firstflight::Context,
    now: u64,
    sent: u64,
    acked: u64,
    /// It got as far as Drain.
    pub(crate) drained: bool,
    /// The verdict with which it left.
    left: Option<Leave>,
}

impl<S: Startup> Flights<S> {
    pub(crate) fn new(mut bbr: S) -> Flights<S> {
        bbr.start(Time(0), Seq(0));
        let cx = hooks::quic(1_000);
        Flights { bbr, cx, now: 0, sent: 0, acked: 0, drained: false, left: None }
    }

    /// A hundred packets leave.
    pub(crate) fn send(&mut self) {
        let w = Window { cwnd: 100_000, ssthresh: u64::MAX };
        for _ in 0..100 {
            self.sent += 1;
            let inflight = (self.sent - self.acked) * 1_000;
            let (now, nxt) = (Time(self.now), Seq(self.sent));
            self.bbr.on_sent(&Sent { now, bytes: 1_000, nxt, inflight, srtt: None }, w, &self.cx);
        }
        self.now += 100 * MS;
    }

    /// ACKs of so many packets; those of `losses` tell that so much was lost of a flight of this size.
    pub(crate) fn ack(
        &mut self,
        packets: u64,
        losses: std::ops::Range<u64>,
        lost: u64,
        flight: u64,
    ) {
        for k in 0..packets {
            self.now += MS / 10;
            let lost = if losses.contains(&k) { lost } else { 0 };
            let ack = Told {
                now: Time(self.now),
                acked: 1_000,
                lost,
                min_rtt: Some(Nanos(100 * MS)),
                tx_acked: Some(self.acked),
                tx_next: self.sent,
                inflight_before: flight,
                inflight: (self.sent - self.acked - 1) * 1_000,
                app_limited: true,
                ..Told::default()
            };
            self.acked += 1;
            let w = Window { cwnd: 100_000, ssthresh: u64::MAX };
            if let Verdict::Leave(leave) = self.bbr.sample(&ack.ack(), w, &ack.within(&self.cx)) {
                (self.drained, self.left) = (true, Some(leave));
            }
            self.drained |= self.bbr.status().phase != Phase::Startup;
        }
    }
}

/// Shows BBR loss-1: more than two percent of the flight in which the first loss showed; as much is not.
#[test]
fn two_percent_of_the_flight_are_not_too_much_and_a_byte_more_is() {
    let (two, three) = (Ratio::new(1, 50), Ratio::new(3, 100));
    for (loss, lost, flight, leaves) in [
        (two, 333, 100_000, false),
        (two, 334, 100_000, true),
        (two, 334, 101_000, false),
        (two, 167, 50_000, true),
        (three, 500, 100_000, false),
        (three, 501, 100_000, true),
    ] {
        let mut flights =
            Flights::new(Bbr::new(firstflight::with!(Params { loss, ..Params::default() })));
        flights.send();
        flights.ack(100, 10..16, lost, flight);
        flights.send();
        flights.ack(99, 0..0, 0, 0);
        assert_eq!(flights.left.is_some(), leaves, "six times {lost} of {flight}, {loss}");
    }
}

/// Shows BBR loss-1: a round of losses begins with the first loss, or with the end of the one before as
/// long as something is lost in each.
#[test]
fn rounds_of_losses_follow_each_other_while_there_are_losses() {
    // Two flights are out at any time, so a round that begins within one ends with the next but one.
    // (flight and ACKs of it that tell of a packet lost, whether six of them fall into one round)
    for (losses, leaves, what) in [
        (&[(4, 95..98), (5, 0..3)][..], true, "the first loss begins it"),
        (&[(1, 50..51), (4, 95..98), (5, 0..3)], false, "one ended in between"),
        (
            &[(1, 50..51), (6, 95..98), (7, 0..3)],
            true,
            "a round without losses is followed by none",
        ),
    ] {
        let mut flights = Flights::new(Bbr::new(Params::default()));
        flights.send();
        for flight in 0..10 {
            flights.send();
            let acks = losses.iter().find(|(of, _)| *of == flight).map(|(_, acks)| acks.clone());
            flights.ack(100, acks.unwrap_or(0..0), 1_000, 100_000);
        }
        assert_eq!(flights.drained, leaves, "{what}");
    }
}

/// Avoidance takes over the BDP; by option, and only after losses, the amount that a round
/// has delivered if that is more.
#[test]
fn what_is_handed_over_after_losses_and_after_a_plateau() {
    for (handover, expected) in
        [(HandOver::Bdp, Handover::LossFree), (HandOver::LongTerm, Handover::AfterLoss)]
    {
        let mut flights =
            Flights::new(Bbr::new(firstflight::with!(Params { handover, ..Params::default() })));
        flights.send();
        flights.ack(100, 10..16, 1_000, 100_000);
        flights.send();
        flights.ack(100, 0..0, 0, 0);
        let Leave { reason, ssthresh, cwnd, handover, estimate } = flights.left.expect("an end");
        assert_eq!((reason, handover, cwnd), (ExitReason::HighLoss, expected, Some(ssthresh)));
        let bdp = estimate.expect("the BDP");
        assert_eq!(
            ssthresh == bdp,
            expected == Handover::LossFree,
            "{ssthresh} with a BDP of {bdp}"
        );
        assert!(ssthresh >= bdp && ssthresh <= 101_000, "{ssthresh}");
    }
    let mut pipe = Pipe::new("bbr(handover=longterm)", 1_250_000, 30 * MS);
    pipe.run(60_000);
    let exit = pipe.c.exit().expect("a plateau");
    assert_eq!((exit.reason, Some(exit.cwnd)), (ExitReason::Plateau, exit.estimate));
}

/// The window up to which this ACK would still let it grow.
pub(crate) fn grows_up_to<S: Startup + Copy>(
    bbr: &S,
    ack: &Told,
    cx: &firstflight::Context,
) -> u64 {
    let (mut grows, mut stays) = (0, 1 << 30);
    while stays - grows > 1 {
        let cwnd = u64::midpoint(grows, stays);
        let verdict =
            { *bbr }.sample(&ack.ack(), Window { cwnd, ssthresh: u64::MAX }, &ack.within(cx));
        if verdict == Verdict::Stay { stays = cwnd } else { grows = cwnd }
    }
    stays
}

/// Shows BBR cwnd-1, BBR aggregation-1: the window grows up to two BDPs, and by option up to what ACKs
/// bring beyond the bandwidth since they last fell behind it on top.
#[test]
fn the_window_grows_to_two_bdps_and_what_acks_bring_in_bursts() {
    let cx = hooks::quic(1_000);
    for aggregation in [false, true] {
        let mut bbr = Bbr::new(firstflight::with!(Params { aggregation, ..Params::default() }));
        bbr.start(Time(0), Seq(0));
        let w = Window { cwnd: 300_000, ssthresh: u64::MAX };
        let (mut now, rtt) = (0, 102_400_000);
        // A round at 1 MB/s, a BDP of 102 400 bytes; then some in which the application sends next to
        // nothing.
        for (nxt, bytes) in (1..).zip([102_400, 1_024, 1_024, 1_024]) {
            let sent = Sent { now: Time(now), bytes, nxt: Seq(nxt), inflight: bytes, srtt: None };
            bbr.on_sent(&sent, Window { cwnd: 1_000, ..w }, &cx);
            now += rtt;
            let ack = Told {
                now: Time(now),
                acked: bytes,
                min_rtt: Some(Nanos(rtt)),
                tx_acked: Some(nxt - 1),
                tx_next: nxt,
                inflight: 1_000_000,
                app_limited: true,
                ..Told::default()
            };
            bbr.sample(&ack.ack(), w, &ack.within(&cx));
        }
        // (ms later, bytes of an ACK, the most beyond the bandwidth so far)
        for (later, acked, beyond) in [(0, 3_000, 4_024), (1, 2_000, 5_024), (10, 1_000, 5_024)] {
            now += later * MS;
            let ack = Told {
                now: Time(now),
                acked,
                min_rtt: Some(Nanos(rtt)),
                tx_next: 4,
                inflight: 1_000_000,
                app_limited: true,
                ..Told::default()
            };
            let due = 204_800 + if aggregation { beyond } else { 0 };
            assert_eq!(
                grows_up_to(&bbr, &ack, &cx),
                due,
                "aggregation {aggregation}, {acked} bytes"
            );
            bbr.sample(&ack.ack(), w, &ack.within(&cx));
        }
    }
}

/// Shows BBR cwnd-1: until the initial window is delivered it grows whatever the model says.
#[test]
fn next_to_nothing_is_known_until_the_initial_window_is_delivered() {
    let cx = hooks::quic(1_000);
    for (acked, grows) in [(9_999, true), (10_000, false)] {
        let mut bbr = Bbr::new(Params::default());
        bbr.start(Time(0), Seq(0));
        let w = Window { cwnd: 500_000, ssthresh: u64::MAX };
        let sent = Sent { now: Time(0), bytes: 10_000, nxt: Seq(10), inflight: 10_000, srtt: None };
        bbr.on_sent(&sent, w, &cx);
        let rtt = Some(Nanos(30 * MS));
        let ack = Told {
            now: Time(30 * MS),
            acked,
            min_rtt: rtt,
            tx_acked: Some(9),
            tx_next: 10,
            ..Told::default()
        };
        let due = if grows { Verdict::Hold { cwnd: 500_000 + acked } } else { Verdict::Stay };
        assert_eq!(bbr.sample(&ack.ack(), w, &ack.within(&cx)), due, "{acked} of 10000 bytes");
    }
}

/// Shows BBR rto-1.
#[test]
fn a_timeout_ends_it() {
    for transport in [Transport::Quic, Transport::Tcp] {
        let mut rig = Rig::new("bbr", transport, 10 * MSS);
        rig.fill();
        rig.wait(30);
        rig.ack(MSS);
        let before = rig.c.pacing_rate().map(|rate| rate.0);
        rig.timeout(Timeout::Rto);
        assert_eq!(rig.c.exit().map(|exit| exit.reason), Some(ExitReason::Timeout));
        let least = if transport == Transport::Quic { 2 * MSS } else { MSS };
        assert_eq!(rig.c.cwnd(), least);
        rig.wait(1_000);
        rig.ack(9 * MSS);
        rig.fill();
        rig.wait(30);
        rig.ack(MSS);
        let cwnd = rig.c.cwnd();
        assert!(least < cwnd && cwnd < 10 * MSS, "slow start from the smallest window: {cwnd}");
        let rate = rig.c.pacing_rate().map(|rate| rate.0);
        assert!(rate < before, "and of it the usual rate: {rate:?} after {before:?}");
    }
}

/// Shows BBR loss-absorbed.
#[test]
fn a_loss_of_the_timer_is_counted_and_cuts_nothing() {
    let mut rig = Rig::quic("bbr", 10 * MSS);
    rig.fill();
    rig.wait(30);
    rig.ack(MSS);
    let before = rig.c.cwnd();
    let timer = Told { lost: MSS, tx_lost: Some(1), rtt: None, ..rig.record(0) };
    rig.c.hear(&timer);
    assert_eq!(
        (rig.c.cwnd(), rig.c.in_recovery(), rig.signal("bbr_lost_in_round")),
        (before, false, Some(MSS))
    );
}

#[test]
fn nothing_is_said_before_anything_was_sent() {
    let mut bbr = Bbr::new(Params::default());
    let w = Window { cwnd: 10_000, ssthresh: u64::MAX };
    assert_eq!(bbr.sample(&Told::default().ack(), w, &hooks::quic(1_000)), Verdict::Stay);
}

/// Shows BBR rate-short.
#[test]
fn a_span_below_the_smallest_rtt_gives_no_rate() {
    let cx = hooks::quic(1_000);
    for (min_ms, rate) in [(30, Some(1_000 * 1_000 / 30)), (31, None)] {
        let mut delivery = Delivery::default();
        delivery.start(Time(0));
        delivery.on_sent(
            &Sent { now: Time(0), bytes: 1_000, nxt: Seq(1), inflight: 1_000, srtt: None },
            &cx,
        );
        let sample = delivery.on_ack(
            &Told {
                now: Time(30 * MS),
                acked: 1_000,
                tx_acked: Some(0),
                tx_next: 1,
                ..Told::default()
            }
            .ack(),
            false,
            &SoFar { min_rtt: Some(Nanos(min_ms * MS)), ..SoFar::default() },
        );
        let sample = sample.expect("the ACK of a marked packet");
        assert_eq!(sample.rate.is_some(), rate.is_some(), "a smallest RTT of {min_ms} ms");
        if let (Some(measured), Some(rate)) = (sample.rate, rate) {
            assert!(measured.0.abs_diff(rate) * 1_000 <= rate, "{measured:?} of {rate}");
        }
    }
}

/// Each ACK looks at the newest mark that it reaches, and each mark serves once.
#[test]
fn marks_are_reached_one_after_the_other() {
    let cx = hooks::quic(1_000);
    let mut delivery = Delivery::default();
    delivery.start(Time(0));
    let send = |delivery: &mut Delivery, at_ms: u64, nxt: u64| {
        let (now, nxt) = (Time(at_ms * MS), Seq(nxt));
        let sent = Sent { now, bytes: 1_000, nxt, inflight: 2_000, srtt: None };
        delivery.on_sent(&sent, &cx);
    };
    let ack = |delivery: &mut Delivery, at_ms: u64, packet: u64| {
        delivery
            .on_ack(
                &Told {
                    now: Time(at_ms * MS),
                    acked: 1_000,
                    tx_acked: Some(packet),
                    tx_next: packet + 2,
                    ..Told::default()
                }
                .ack(),
                false,
                &SoFar::default(),
            )
            .map(|sample| (sample.prior_delivered, sample.delivered))
    };
    send(&mut delivery, 0, 1);
    send(&mut delivery, 10, 2);
    assert_eq!(ack(&mut delivery, 30, 0), Some((0, 1_000)), "packet 0 left before anything came");
    send(&mut delivery, 35, 3);
    assert_eq!(ack(&mut delivery, 40, 1), Some((0, 2_000)), "so did packet 1");
    assert_eq!(ack(&mut delivery, 65, 2), Some((1_000, 2_000)), "packet 2 left after the first");
    assert_eq!(ack(&mut delivery, 66, 2), None, "no mark is left");
}
