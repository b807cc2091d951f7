//! The controller's own rules, one test each: the order of hooks within an ACK, one reduction per
//! period, undo, timeouts, idling, growth gates, pacing, and where TCP and QUIC differ. Any history
//! at all is `any_history.rs`; here the right answer is known.

use crate::told::Told;
use crate::{hand_fed, hooks};

use firstflight::avoidance::{Cubic, Reno, reno};
use firstflight::controller::Controller;
use firstflight::event::Context;
use firstflight::recovery::{Immediate, Prr, Sack, prr, sack};
use firstflight::startup::hystart_plus_plus::{HyStartPlusPlus, Params as HyStartParams};
use firstflight::startup::{ExitReason, Grown, Oracle, Pacing, SlowStart, Startup, Verdict};
use firstflight::{
    Ack, Config, Congestion, Nanos, Phase, Rate, Ratio, Ready, Sent, Seq, Signal, Time, Timeout,
    UNSET_SSTHRESH, Window,
};
use hand_fed::{Fed, MS, MSS, Usual, config, fed, usual};

const PACKETS: u64 = 100;

/// Slow start at a window of 100 packets, all of them in flight.
fn at_hundred(tcp: bool) -> Usual<SlowStart> {
    let mut flow = usual(SlowStart, config(tcp));
    flow.grow_to(PACKETS * MSS);
    flow.send(PACKETS);
    flow
}

fn lose<A: firstflight::avoidance::Avoidance, R: firstflight::recovery::Policy>(
    flow: &mut Fed<SlowStart, A, R>,
) {
    let ack = flow.lost(0, MSS);
    flow.ack(ack);
}

/// Everything sent so far and one packet more is acknowledged: any episode is complete.
fn complete(flow: &mut Usual<SlowStart>) -> u64 {
    flow.send(1);
    flow.una = flow.nxt;
    let ack = Told { acked_fresh: 0, inflight: 0, flight: 0, ..flow.acked(MSS) };
    flow.ack(ack)
}

fn timeout(flow: &Usual<SlowStart>, timeout: Timeout) -> Congestion {
    Congestion { now: Time(flow.now), timeout, nxt: Seq(flow.nxt), inflight_before: flow.c.cwnd() }
}

#[test]
fn larger_packets_lift_a_window_that_is_smaller_than_two_of_them() {
    let mut flow = at_hundred(false);
    flow.c.on_congestion(&timeout(&flow, Timeout::PersistentCongestion));
    assert_eq!(flow.c.cwnd(), 2 * MSS, "the smallest window");
    flow.c.set_mss(2 * MSS);
    assert_eq!(flow.c.cwnd(), 4 * MSS, "the smallest window of packets twice as large");
    flow.c.set_mss(MSS);
    assert_eq!(flow.c.cwnd(), 4 * MSS, "smaller packets take nothing away");
}

#[test]
fn packets_of_another_size_leave_a_larger_window_as_it_is() {
    let mut flow = at_hundred(false);
    lose(&mut flow);
    let before = (flow.c.cwnd(), flow.c.ssthresh());
    flow.c.set_mss(2 * MSS);
    assert_eq!((flow.c.cwnd(), flow.c.ssthresh()), before, "window and threshold");
}

/// Shows RFC5681 3.2-2: what stands in for it.
#[test]
fn fast_retransmit_halves_the_window_and_inflates_nothing() {
    let cut_and_fill = Sack::new(sack::Params::default());
    let mut flow = fed(SlowStart, Reno::new(reno::Params::default()), cut_and_fill, config(true));
    flow.grow_to(PACKETS * MSS);
    flow.send(PACKETS);
    lose(&mut flow);
    let half = PACKETS / 2 * MSS;
    assert_eq!(
        (flow.c.cwnd(), flow.c.ssthresh()),
        (half, Some(half)),
        "the window is the threshold, not three segments more"
    );
    flow.c.on_sent(&Sent { bytes: MSS, ..Sent::default() });
    for n in 1..=20 {
        let duplicate = Told { advanced: false, sacked: n * MSS, ..flow.acked(MSS) };
        assert_eq!(flow.ack(duplicate), half, "duplicate ACK {n} inflates nothing");
    }
    assert!(
        flow.c.admits(MSS, half - MSS) && !flow.c.admits(MSS, half),
        "what has left the network makes room through the pipe"
    );
}

// ------------------------------------------------------------------------------------------------------------- order within an ACK

/// Writes down the hooks in the order they come, and the window each sees.
#[derive(Clone, Copy, Debug, Default)]
struct Diary {
    lines: [Option<(&'static str, u64)>; 8],
    len: usize,
}

impl Diary {
    fn note(&mut self, hook: &'static str, cwnd: u64) {
        if let Some(line) = self.lines.get_mut(self.len) {
            *line = Some((hook, cwnd));
            self.len += 1;
        }
    }
}

impl Startup for Diary {
    type Saved = ();

    fn on_rtt(&mut self, _now: Time, _rtt: Nanos, _cx: &Context) {
        self.note("on_rtt", 0);
    }
    fn sample(&mut self, _ack: &Ack, w: Window, _cx: &Context) -> Verdict {
        self.note("sample", w.cwnd);
        Verdict::Stay
    }
    fn grow(&mut self, _ack: &Ack, acked: u64, w: &mut Window, _cx: &Context) -> Grown {
        self.note("grow", w.cwnd);
        Grown { leftover: w.open(acked), verdict: Verdict::Stay }
    }
    fn on_congestion(
        &mut self,
        _signal: Signal,
        _beta: Ratio,
        _ack: &Ack,
        w: Window,
        _cx: &Context,
    ) -> Option<firstflight::recovery::OwnRecovery> {
        self.note("on_congestion", w.cwnd);
        None
    }
}

/// Shows OURS ack-order.
#[test]
fn hooks_come_in_the_order_of_the_contract_and_see_the_window_before_growth() {
    let iw = 30 * MSS;
    let (rtt, sample, grow, congestion) = (
        Some(("on_rtt", 0)),
        Some(("sample", iw)),
        Some(("grow", iw)),
        Some(("on_congestion", iw)),
    );
    let flow = usual(Diary::default(), config(false));
    let timer = Told { lost: MSS, tx_lost: Some(0), ..flow.base() };
    let rows = [
        ("an ACK", flow.acked(MSS), vec![rtt, sample, grow]),
        ("without a sample", Told { rtt: None, ..flow.acked(MSS) }, vec![sample, grow]),
        ("of nothing new", flow.acked(0), vec![rtt, sample]),
        ("that reveals a loss", flow.lost(MSS, MSS), vec![rtt, sample, congestion]),
        ("a loss timer", timer, vec![congestion]),
    ];
    for (what, ack, expected) in rows {
        let mut flow = usual(Diary::default(), config(false));
        flow.ack(ack);
        let diary = flow.c.startup();
        assert_eq!(diary.lines[..diary.len], expected, "hooks of {what}");
    }
}

/// Shows OURS ack-order.
#[test]
fn in_recovery_only_rtt_samples_reach_the_startup() {
    let mut flow = usual(Diary::default(), config(false));
    flow.send(30);
    let loss = flow.lost(0, MSS);
    flow.ack(loss);
    let before = flow.c.startup().len;
    let ack = flow.acked(MSS);
    flow.ack(ack);
    assert_eq!(
        flow.c.startup().lines[before..before + 2],
        [Some(("on_rtt", 0)), None],
        "one hook and no other"
    );
}

// --------------------------------------------------------------------------------------------------------- one reduction per period

/// Shows RFC9002 7.3.2-4.
#[test]
fn a_period_cuts_once_however_much_is_lost_in_it() {
    for tcp in [false, true] {
        let mut flow = at_hundred(tcp);
        lose(&mut flow);
        let threshold = flow.c.ssthresh();
        assert_eq!(threshold, Some(PACKETS * MSS * 7 / 10), "the cut");
        let mark = flow.nxt;
        for _ in 0..20 {
            let more = Told { tx_lost: Some(mark - 1), ce: true, ..flow.lost(MSS, MSS) };
            flow.ack(more);
        }
        assert_eq!(
            (flow.c.ssthresh(), flow.c.stats().loss_episodes),
            (threshold, 1),
            "tcp {tcp}: twenty losses and marks later"
        );
    }
}

/// Shows RFC9002 7.3.2-4.
#[test]
fn in_quic_only_a_packet_sent_after_the_last_entry_begins_another_period() {
    let mut flow = at_hundred(false);
    lose(&mut flow);
    let mark = flow.nxt;
    complete(&mut flow);
    let late = Told { tx_lost: Some(mark - 1), ..flow.lost(0, MSS) };
    flow.ack(late);
    assert_eq!(flow.c.stats().loss_episodes, 1, "packet {} was sent before entry", mark - 1);
    let fresh = Told { tx_lost: Some(mark), ..flow.lost(0, MSS) };
    flow.ack(fresh);
    assert_eq!(flow.c.stats().loss_episodes, 2, "packet {mark} after it");
}

/// Shows RFC6675 5-end, RFC9002 7.3.2-5.
#[test]
fn recovery_ends_at_its_mark_in_tcp_and_beyond_it_in_quic() {
    for (tcp, beyond) in [(true, 0), (false, 1)] {
        let mut flow = at_hundred(tcp);
        lose(&mut flow);
        let mark = flow.nxt;
        flow.send(10);
        flow.una = mark + beyond - 1;
        let ack = flow.acked(MSS);
        flow.ack(ack);
        assert!(flow.c.in_recovery(), "tcp {tcp}: una {} with the mark at {mark}", flow.una);
        flow.una += 1;
        let ack = Told { acked_fresh: 0, ..flow.acked(MSS) };
        flow.ack(ack);
        assert!(!flow.c.in_recovery(), "tcp {tcp}: una {} with the mark at {mark}", flow.una);
        // In TCP the same ACK grows it by the segment that it delivers.
        let grown = flow.c.cwnd() - flow.c.ssthresh().expect("a threshold");
        assert!(
            if tcp { (1..MSS / 50).contains(&grown) } else { grown == 0 },
            "the episode leaves the window at its target, and it is {grown} bytes above"
        );
    }
}

/// Shows LINUX ack-completing, RFC9002 7.3.2-growth.
#[test]
fn the_ack_that_ends_recovery_grows_by_its_news_in_tcp_and_only_by_later_packets_in_quic() {
    use firstflight::controller::Ending;
    for (tcp, ending, fresh, grows) in [
        (true, Ending::Grows, 0, true),
        (true, Ending::Still, 60, false),
        (false, Ending::Grows, 0, false),
        (false, Ending::Still, 60, true),
    ] {
        let config = firstflight::with!(Config { ending, ..config(tcp) });
        let mut flow = fed(SlowStart, Reno::default(), Prr::default(), config);
        flow.grow_to(PACKETS * MSS);
        flow.send(PACKETS);
        lose(&mut flow);
        flow.send(60);
        flow.una = flow.nxt;
        let ack = Told { acked_fresh: fresh * MSS, ..flow.acked(60 * MSS) };
        let window = flow.ack(ack);
        let expected = 50 * MSS + if grows { MSS * 60 / 50 } else { 0 };
        assert_eq!(
            window, expected,
            "tcp {tcp}, {ending:?}, {fresh} of 60 packets sent after entry"
        );
    }
}

/// Shows LINUX ack-completing.
#[test]
fn losses_of_the_completing_ack_are_answered() {
    // Also in TCP, where the order of work would go straight to sending: losses are reported once,
    // and nobody would answer them later.
    for tcp in [false, true] {
        let mut flow = at_hundred(tcp);
        lose(&mut flow);
        flow.send(20);
        flow.una = flow.nxt - 5;
        let ack = flow.lost(MSS, MSS);
        flow.ack(ack);
        assert_eq!(
            (flow.c.in_recovery(), flow.c.stats().loss_episodes),
            (true, 2),
            "tcp {tcp}: a second period"
        );
    }
}

/// Shows RFC5681 4.3-1.
#[test]
fn a_repeat_lost_again_cuts_again_if_the_policy_says_so() {
    for (lost_repeat, episodes, threshold) in [
        (firstflight::recovery::LostRepeat::CutAgain, 2, 49),
        (firstflight::recovery::LostRepeat::Ignore, 1, 70),
    ] {
        let sack =
            Sack::new(firstflight::with!(sack::Params { lost_repeat, ..sack::Params::default() }));
        let mut flow = fed(SlowStart, Cubic::default(), sack, config(true));
        flow.grow_to(PACKETS * MSS);
        flow.send(PACKETS);
        lose(&mut flow);
        let again = Told { lost_again: true, ..flow.lost(MSS, MSS) };
        flow.ack(again);
        let stats = *flow.c.stats();
        assert_eq!(
            (stats.loss_episodes, stats.replaced),
            (episodes, episodes - 1),
            "{lost_repeat:?}"
        );
        assert_eq!(flow.c.ssthresh(), Some(threshold * MSS), "{lost_repeat:?}: beta once or twice");
    }
}

#[test]
fn marks_open_an_episode_that_forces_no_packet() {
    let mut flow = at_hundred(false);
    let marked = Told { ce: true, ..flow.acked(0) };
    flow.ack(marked);
    assert_eq!(
        (flow.c.stats().ecn_episodes, flow.c.stats().loss_episodes),
        (1, 0),
        "a marked episode"
    );
    assert!(!flow.c.admits(MSS, flow.c.cwnd()), "nothing is to be repeated");
    assert_eq!(flow.c.exit().map(|exit| exit.reason), Some(ExitReason::Ecn));
}

/// Shows RFC9002 7.3.2-3.
#[test]
fn the_immediate_cut_of_quic_lets_one_packet_through() {
    let mut flow = fed(SlowStart, Reno::default(), Immediate::default(), config(false));
    flow.grow_to(PACKETS * MSS);
    flow.send(PACKETS);
    lose(&mut flow);
    assert_eq!(flow.c.cwnd(), 50 * MSS, "halved at once");
    assert!(flow.c.admits(MSS, 99 * MSS), "one packet as if before");
    flow.c.on_sent(&Sent { bytes: MSS, ..Sent::default() });
    assert!(!flow.c.admits(MSS, 99 * MSS), "and no second");
}

// ---------------------------------------------------------------------------------------------------------------------------- undo

/// Shows RFC9438 4.9-2.
#[test]
fn inside_an_episode_it_does_not_matter_what_may_be_sent_at_the_moment() {
    let mut flow = at_hundred(false);
    let first_repeat = Told { inflight: PACKETS * MSS, ..flow.lost(0, MSS) };
    assert!(flow.ack(first_repeat) > PACKETS * MSS, "the whole flight and a forced repeat");
    flow.c.on_spurious();
    assert_eq!((flow.c.cwnd(), flow.c.ssthresh()), (PACKETS * MSS, None), "all back");
}

/// Shows OURS undo-mark.
#[test]
fn after_a_false_alarm_a_real_loss_of_what_was_sent_before_it_is_news() {
    for tcp in [false, true] {
        let mut flow = at_hundred(tcp);
        lose(&mut flow);
        flow.c.on_spurious();
        lose(&mut flow);
        assert_eq!(
            flow.c.stats().loss_episodes,
            2,
            "tcp {tcp}: nothing was sent in between, but the first loss never was one"
        );
        assert!(flow.c.in_recovery(), "tcp {tcp}: the second loss is answered");
    }
}

/// Shows RFC9438 4.9-2.
#[test]
fn a_window_that_has_outgrown_the_old_one_is_kept() {
    // Cut from 100 to 70 packets; all lost packets turn up when the window is at 71, or at 105.
    for (at, left) in [(71, 100), (105, 105)] {
        let mut flow = at_hundred(false);
        lose(&mut flow);
        complete(&mut flow);
        flow.send(1_000);
        while flow.c.cwnd() < at * MSS {
            flow.now += 100 * MS;
            let ack = flow.acked(MSS);
            flow.ack(ack);
        }
        let grown = flow.c.cwnd();
        flow.c.on_spurious();
        assert_eq!(flow.c.cwnd(), (left * MSS).max(grown), "from {grown} bytes");
        assert_eq!(flow.c.stats().undone, 1, "counted either way");
    }
}

/// Shows RFC9438 4.9-1.
#[test]
fn marks_void_the_memory_of_an_earlier_loss_and_a_new_loss_replaces_it() {
    let mut flow = at_hundred(false);
    lose(&mut flow);
    complete(&mut flow);
    flow.send(10);
    flow.una = flow.nxt;
    let marked = Told { ce: true, ..flow.acked(MSS) };
    flow.ack(marked);
    let window = flow.c.cwnd();
    flow.c.on_spurious();
    assert_eq!((flow.c.cwnd(), flow.c.stats().undone), (window, 0), "marks are never taken back");

    let mut flow = at_hundred(false);
    lose(&mut flow);
    complete(&mut flow);
    flow.send(10);
    lose(&mut flow);
    flow.c.on_spurious();
    assert_eq!(
        flow.c.cwnd(),
        PACKETS * MSS * 7 / 10,
        "back to before the second loss, not the first"
    );
}

/// Shows OURS undo-phase.
#[test]
fn a_false_alarm_resumes_the_phase_of_the_startup() {
    let startup = HyStartPlusPlus::new(HyStartParams::RFC9406);
    let mut flow = usual(startup, config(false));
    flow.send(10);
    for packet in 1..=28 {
        if packet % 10 == 0 {
            flow.send(10);
        }
        flow.una = packet;
        let rtt = Nanos(if packet <= 20 { 100 } else { 150 } * MS);
        let ack = Told { rtt: Some(rtt), ..flow.acked(MSS) };
        flow.ack(ack);
    }
    assert_eq!(flow.c.phase(), Phase::Css, "the RTT has risen");
    let loss = flow.lost(0, MSS);
    flow.ack(loss);
    flow.c.on_spurious();
    assert_eq!(flow.c.phase(), Phase::Css, "not unguarded slow start");
}

// ------------------------------------------------------------------------------------------------------------------------ timeouts

/// Shows RFC5681 3.1-12, RFC5681 3.1-series.
#[test]
fn a_timeout_cuts_the_threshold_once_in_a_series_and_the_window_each_time() {
    let mut flow = at_hundred(true);
    flow.c.on_congestion(&timeout(&flow, Timeout::Rto));
    assert_eq!((flow.c.cwnd(), flow.c.ssthresh()), (MSS, Some(70 * MSS)), "first");
    flow.c.on_congestion(&timeout(&flow, Timeout::RtoAgain));
    assert_eq!((flow.c.cwnd(), flow.c.ssthresh()), (MSS, Some(70 * MSS)), "again");
    assert_eq!(flow.c.stats().timeouts, 2);
}

/// Shows RFC9002 7.6.2-1.
#[test]
fn persistent_congestion_leaves_two_packets_the_threshold_and_no_recovery() {
    let mut flow = at_hundred(false);
    lose(&mut flow);
    flow.c.on_congestion(&timeout(&flow, Timeout::PersistentCongestion));
    assert_eq!(
        (flow.c.cwnd(), flow.c.ssthresh()),
        (2 * MSS, Some(70 * MSS)),
        "the threshold is the loss's"
    );
    assert!(!flow.c.in_recovery());
    let old = Told { tx_lost: Some(0), ..flow.lost(0, MSS) };
    flow.ack(old);
    assert_eq!(flow.c.stats().loss_episodes, 2, "the memory of the period is gone with it");
}

/// Shows RFC5681 3.1-8, RFC9002 7.3.2-growth.
#[test]
fn slow_start_after_a_timeout_grows_by_repeated_data() {
    let mut flow = at_hundred(true);
    flow.c.on_congestion(&timeout(&flow, Timeout::Rto));
    // Everything up to the mark was sent before the timeout and is sent again.
    for (una, window) in [(1, 2), (3, 4), (7, 8)] {
        let acked = (una - flow.una) * MSS;
        flow.una = una;
        let ack = Told { acked_fresh: 0, ..flow.acked(acked) };
        assert_eq!(flow.ack(ack), window * MSS, "una {una}");
    }
}

/// Shows OURS timeout-episode.
#[test]
fn a_timeout_inside_an_episode_cuts_its_target_not_what_was_left_of_the_window() {
    let mut flow = at_hundred(true);
    lose(&mut flow);
    // Most of the flight turns out to be lost: PRR shows little more than the pipe.
    let heavy = Told { inflight: 5 * MSS, ..flow.lost(MSS, 80 * MSS) };
    assert!(flow.ack(heavy) < 10 * MSS, "the window is what may be sent now");
    flow.c.on_congestion(&timeout(&flow, Timeout::Rto));
    assert_eq!(flow.c.ssthresh(), Some(49 * MSS), "beta times the target of 70 packets");
}

/// Shows LINUX rto-reenter, RFC6675 5.1-1.
#[test]
fn in_timeout_recovery_no_loss_opens_an_episode_but_that_of_a_repeat() {
    let mut flow = at_hundred(true);
    flow.c.on_congestion(&timeout(&flow, Timeout::Rto));
    flow.una = PACKETS / 2;
    lose(&mut flow);
    assert_eq!(
        flow.c.stats().loss_episodes,
        0,
        "una has not reached what was sent before the timeout"
    );
    let again = Told { lost_again: true, ..flow.lost(MSS, MSS) };
    flow.ack(again);
    assert_eq!(
        flow.c.stats().loss_episodes,
        1,
        "a repeat sent after the timeout was lost: the policy bounds what follows"
    );
}

/// Shows RFC5682 3-undo.
#[test]
fn a_needless_timeout_is_taken_back_unless_an_episode_was_open() {
    let mut flow = at_hundred(true);
    flow.c.on_congestion(&timeout(&flow, Timeout::Rto));
    flow.c.on_congestion(&timeout(&flow, Timeout::RtoAgain));
    flow.c.on_spurious();
    assert_eq!(
        (flow.c.cwnd(), flow.c.ssthresh(), flow.c.exit()),
        (PACKETS * MSS, None, None),
        "F-RTO: as before the first of the series"
    );

    // The second is how a transport says that the threshold stays, because the episode has cut it
    // already.
    for first in [Timeout::Rto, Timeout::RtoAgain] {
        let mut flow = at_hundred(true);
        lose(&mut flow);
        flow.c.on_congestion(&timeout(&flow, first));
        flow.c.on_spurious();
        assert_eq!(
            (flow.c.cwnd(), flow.c.stats().undone),
            (MSS, 0),
            "{first:?}: the loss that came before it was real"
        );
    }

    let mut flow = at_hundred(false);
    flow.c.on_congestion(&timeout(&flow, Timeout::PersistentCongestion));
    flow.c.on_spurious();
    assert_eq!(
        (flow.c.cwnd(), flow.c.stats().undone),
        (2 * MSS, 0),
        "persistent congestion is never taken back"
    );
}

// -------------------------------------------------------------------------------------------------
// idling, growth, pacing, start

/// Shows OURS growth-half, RFC9002 7.8-1.
#[test]
fn growth_needs_a_window_that_is_used_and_in_slow_start_half_of_it_is_use_enough() {
    // (in slow start, limited, bytes in flight before in packets, grows)
    let rows = [
        (true, true, 0, true),
        (true, false, 50, true),
        (true, false, 49, false),
        (false, true, 0, true),
        (false, false, 100, false),
    ];
    for (slow_start, cwnd_limited, inflight, grows) in rows {
        let mut flow = fed(SlowStart, Reno::default(), Prr::default(), config(false));
        flow.grow_to(PACKETS * MSS);
        if !slow_start {
            flow.send(PACKETS);
            lose(&mut flow);
            flow.send(1);
            flow.una = flow.nxt;
            let ends = Told { acked_fresh: 0, ..flow.acked(MSS) };
            flow.ack(ends);
        }
        let before = flow.c.cwnd();
        let ack = Told { cwnd_limited, inflight_before: inflight * MSS, ..flow.acked(10 * MSS) };
        let grown = flow.ack(ack) > before;
        assert_eq!(
            grown, grows,
            "slow start {slow_start}, limited {cwnd_limited}, {inflight} packets of {before} bytes in flight"
        );
    }
}

/// Shows RFC5681 3.1-8, OURS handover-threshold.
#[test]
fn bytes_beyond_the_threshold_grow_avoidance_on_the_same_ack() {
    let mut flow = fed(SlowStart, Reno::new(reno::Params::default()), Prr::default(), config(true));
    flow.grow_to(PACKETS * MSS);
    flow.send(PACKETS);
    let rto = Congestion {
        now: Time(0),
        timeout: Timeout::Rto,
        nxt: Seq(flow.nxt),
        inflight_before: 20 * MSS,
    };
    flow.c.on_congestion(&rto);
    assert_eq!(flow.c.ssthresh(), Some(10 * MSS), "half the flight");
    for packets in [1, 2, 4] {
        let ack = flow.acked(packets * MSS);
        flow.ack(ack);
    }
    assert_eq!(flow.c.cwnd(), 8 * MSS, "doubling");
    let ack = flow.acked(8 * MSS);
    assert_eq!(
        flow.ack(ack),
        10 * MSS + MSS * 6 / 10,
        "two packets to the threshold, the other six by Reno"
    );
}

/// Shows OURS gain-slow-start, OURS gain-elsewhere, RFC9002 7.7-1, RFC9002 7.7-2.
#[test]
fn each_phase_has_its_pacing_gain() {
    let gain =
        |flow: &Usual<SlowStart>| flow.c.pacing_rate().map(|rate| rate.0 * 10 / flow.c.cwnd());
    let mut flow = at_hundred(false);
    assert_eq!(gain(&flow), Some(200), "slow start: 2 windows per 100 ms");
    lose(&mut flow);
    let in_recovery = gain(&flow).unwrap_or(0);
    assert!((124..=125).contains(&in_recovery), "recovery: 5/4, found {in_recovery}");
    complete(&mut flow);
    assert_eq!(gain(&flow), Some(125), "avoidance: 5/4");
    let other = firstflight::with!(Config { recovery_gain: Ratio::new(2, 1), ..config(false) });
    let mut flow = usual(SlowStart, other);
    flow.grow_to(PACKETS * MSS);
    flow.send(PACKETS);
    lose(&mut flow);
    let in_recovery = gain(&flow).unwrap_or(0);
    assert!(
        (199..=200).contains(&in_recovery),
        "recovery: the gain asked for, found {in_recovery}"
    );
}

/// Shows RFC9002 7.7-1.
#[test]
fn without_an_rtt_or_a_pacer_there_is_no_pacing_rate() {
    let quic = usual(SlowStart, config(false));
    assert_eq!(quic.c.pacing_rate(), None, "no RTT yet");
    let mut tcp = at_hundred(true);
    assert_eq!(tcp.c.pacing_rate(), None, "not paced");
    tcp.c.on_sent(&Sent::default());
    let mut quic = quic;
    quic.c.on_handshake_rtt(Time(0), Nanos(100 * MS));
    assert_eq!(quic.c.pacing_rate(), Some(Rate(30 * MSS * 20)), "the handshake's RTT will do");
}

/// Shows LINUX max-pacing.
#[test]
fn a_largest_rate_caps_the_pacer_and_paces_who_is_not_paced() {
    let cap = Rate(1_000_000);
    let capped = |tcp| firstflight::with!(Config { max_rate: Some(cap), ..config(tcp) });
    for tcp in [false, true] {
        let mut flow = usual(SlowStart, capped(tcp));
        assert_eq!(flow.c.pacing_rate(), Some(cap), "without an RTT the cap is all there is");
        flow.grow_to(PACKETS * MSS);
        assert_eq!((flow.c.pacing_rate(), flow.c.is_capped()), (Some(cap), true), "tcp: {tcp}");
        assert_eq!(flow.c.exit_was_capped(), None, "startup goes on");
        flow.send(PACKETS);
        lose(&mut flow);
        assert_eq!(flow.c.exit_was_capped(), Some(true), "the cap was in force");
    }
    let arm = |text: &str| firstflight::Arm::parse(text).expect("an arm");
    for (text, paced) in [
        ("slowstart", false),
        ("slowstart@(maxrate=8Mbit)", true),
        ("slowstart@(maxrate=8Mbit,pace=off)", false),
    ] {
        let configured = arm(text).configure(config(true));
        assert_eq!(configured.paced, paced, "{text}");
    }
    let slow = arm("slowstart@(maxrate=8Mbit)").configure(config(false));
    assert_eq!(slow.max_rate, Some(cap), "8 Mbit/s in bytes per second");
}

/// Trains leave back to back, so that their ACKs show the path's rate.
#[test]
fn the_pacer_holds_a_train_to_the_largest_rate_and_to_no_other() {
    // Twice the initial window per round trip, and 1 Mbit/s.
    let (own, cap) = (Some(Rate(2 * 30 * MSS * 20)), Some(Rate(125_000)));
    for (text, in_train, rate) in [
        ("plumb", true, None),
        ("plumb@(maxrate=1Mbit)", true, cap),
        ("plumb@(pace=off)", false, None),
        ("slowstart", false, own),
        ("slowstart@(maxrate=1Mbit)", false, cap),
    ] {
        let arm = firstflight::Arm::parse(text).expect("an arm");
        let mut c = arm.controller(arm.configure(config(false)), Time(0), Seq(0));
        assert_eq!(c.spacing().train, None, "{text}: nothing is being sent");
        let rtt = Nanos(50 * MS);
        c.on_handshake_rtt(Time(0), rtt);
        c.before_send(&Ready { backlog: u64::MAX, srtt: Some(rtt), ..Ready::default() });
        let spacing = c.spacing();
        assert_eq!(spacing.train, c.train().filter(|_| in_train), "{text}");
        assert_eq!(spacing.train.is_some(), in_train, "{text}: {spacing:?}");
        assert_eq!(spacing.rate, rate, "{text}: the bucket's rate");
    }
}

/// A transport that reports packets only after they have left must know which arms mind.
#[test]
fn only_chirps_plan_single_departures() {
    for name in firstflight::arm::STARTUPS.iter().map(|part| part.name) {
        let Ok(arm) = firstflight::Arm::parse(name) else { continue };
        let c = arm.controller(arm.configure(config(false)), Time(0), Seq(0));
        assert_eq!(c.heeds_departures(), name == "chirping", "{name}");
    }
}

/// Shows RFC6928 2-1, RFC9002 7.2-1.
#[test]
fn the_initial_window_is_ten_segments_within_its_bounds() {
    // RFC 6928 and RFC 9002: at most 14 720 bytes, unless that is less than two segments.
    for (mss, expected) in [
        (536, 5_360),
        (1_200, 12_000),
        (1_448, 14_480),
        (1_472, 14_720),
        (4_096, 14_720),
        (9_000, 18_000),
    ] {
        assert_eq!(Config::standard_initial_window(mss), expected, "segments of {mss}");
    }
}

/// Shows OURS oracle-exit.
#[test]
fn the_oracle_leaves_where_it_is_told() {
    // (exit in packets, the window it is seen at, the window it leaves with)
    for (exit, detected, left) in [(100, 60, 100), (30, 30, 30), (10, 30, 30)] {
        let mut flow = usual(Oracle::new(exit * MSS, false), config(false));
        flow.c.before_send(&flow.ready());
        for packets in [30, 60] {
            let ack = flow.acked(packets * MSS);
            flow.ack(ack);
        }
        let exit = flow.c.exit().expect("the threshold is met");
        assert_eq!(
            (exit.reason, exit.detect_cwnd, exit.cwnd),
            (ExitReason::Oracle, detected * MSS, left * MSS)
        );
    }
}

/// Shows OURS oracle-rate.
#[test]
fn the_oracle_that_knows_the_rate_fills_the_path_with_the_first_ack() {
    let mut flow = usual(Oracle::new(300 * MSS, true), config(false));
    flow.c.before_send(&flow.ready());
    assert_eq!(flow.c.cwnd(), 60 * MSS, "twice the initial window first");
    flow.send(60);
    flow.una = 1;
    let ack = flow.acked(2 * MSS);
    assert_eq!(flow.ack(ack), 299 * MSS, "all of the path with the first ACK");
    let rate = flow.c.pacing_rate().expect("paced").0;
    assert_eq!(rate, 299 * MSS * 10, "within one round trip of 100 ms: the rate of the path");
    flow.send(239);
    flow.una = 61;
    let ack = flow.acked(2 * MSS);
    assert!(flow.ack(ack) >= 300 * MSS, "then it leaves");
    assert_eq!(flow.c.exit().expect("it left").reason, ExitReason::Oracle);

    let unpaced = firstflight::with!(Config { paced: false, ..config(false) });
    let mut flow = usual(Oracle::new(300 * MSS, true), unpaced);
    flow.c.before_send(&flow.ready());
    let ack = flow.acked(2 * MSS);
    assert_eq!(flow.ack(ack), 32 * MSS, "without a pacer it is the plain oracle");
}

/// Shows OURS oracle-rate: until everything that was out with the first ACK is back the window stands; a loss,
/// a timeout or a pause makes it slow start. It asks for packets that leave only until the jump has left.
#[test]
fn the_oracle_that_knows_the_rate_waits_for_its_flight_and_gives_up_on_trouble() {
    let cx = firstflight::with!(Context { iw: 30 * MSS, ..hooks::quic(MSS) });
    let jumped = || {
        let mut oracle = Oracle::new(300 * MSS, true);
        let mut w = Window { cwnd: 30 * MSS, ssthresh: UNSET_SSTHRESH };
        assert!(oracle.heeds().sending, "its threshold is not set");
        let ready = |ms| Ready {
            now: Time(ms * MS),
            backlog: u64::MAX,
            srtt: Some(Nanos(100 * MS)),
            ..Ready::default()
        };
        oracle.before_send(&ready(0), &mut w, &cx);
        assert!(oracle.heeds().sending && oracle.reach(MSS, w, &cx) == u64::MAX);
        oracle.before_send(&ready(100), &mut w, &cx);
        assert!(!oracle.heeds().sending, "the jump has left");
        assert_eq!((w.cwnd, w.ssthresh), (60 * MSS, 300 * MSS));
        let ack = |una| Told { una: Seq(una), nxt: Seq(60), acked: MSS, ..Told::default() };
        assert_eq!(oracle.grow(&ack(1).ack(), MSS, &mut w, &cx), Grown::default());
        assert_eq!(w.cwnd, 299 * MSS);
        (oracle, w, ack)
    };
    let gain = |oracle: &Oracle| match oracle.pacing() {
        Pacing::Gain(gain) => (gain.num(), gain.den()),
        Pacing::Rate(rate) => panic!("it paces at {rate:?}"),
    };
    let (mut oracle, mut w, ack) = jumped();
    for una in [2, 59, 60] {
        oracle.grow(&ack(una).ack(), MSS, &mut w, &cx);
        assert_eq!((w.cwnd, gain(&oracle)), (299 * MSS, (1, 1)), "{una} of 60 are back");
    }
    oracle.grow(&ack(61).ack(), MSS / 2, &mut w, &cx);
    assert_eq!((w.cwnd, gain(&oracle)), (299 * MSS + MSS / 2, (2, 1)), "and slow start again");
    let ends: [fn(&mut Oracle); 4] = [
        |oracle| oracle.on_timeout(Timeout::Rto, Time(0), Seq(60)),
        |oracle| oracle.on_idle(Time(0), Seq(60)),
        |oracle| assert_eq!(oracle.reached(), ExitReason::Oracle),
        |oracle| {
            let (w, cx) = (Window { cwnd: MSS, ssthresh: MSS }, hooks::quic(MSS));
            let none = oracle.on_congestion(
                Signal::Loss,
                Ratio::new(1, 2),
                &Told::default().ack(),
                w,
                &cx,
            );
            assert!(none.is_none(), "the arm's own recovery");
        },
    ];
    for (which, end) in ends.iter().enumerate() {
        let (mut oracle, w, _) = jumped();
        end(&mut oracle);
        assert_eq!((gain(&oracle), oracle.reach(MSS, w, &cx)), ((2, 1), 2 * MSS), "end {which}");
    }
}

/// Aims at the window itself, as an estimate may that turns out to be exactly that.
#[derive(Clone, Copy, Debug)]
struct AimsAtTheWindow;

impl Startup for AimsAtTheWindow {
    type Saved = ();

    fn sample(&mut self, _ack: &Ack, w: Window, _cx: &Context) -> Verdict {
        Verdict::Aim { ssthresh: w.cwnd }
    }
    fn grow(&mut self, _ack: &Ack, acked: u64, w: &mut Window, _cx: &Context) -> Grown {
        Grown { leftover: w.open(acked), verdict: Verdict::Stay }
    }
}

/// Shows OURS handover-threshold.
#[test]
fn a_threshold_that_comes_down_to_the_window_ends_startup_there() {
    let mut flow = usual(AimsAtTheWindow, config(false));
    let ack = flow.acked(MSS);
    flow.ack(ack);
    let exit = flow.c.exit().expect("the window is at its threshold");
    assert_eq!((exit.reason, exit.detect_cwnd), (ExitReason::Threshold, 30 * MSS));
    assert_eq!(flow.c.phase(), Phase::Avoidance);
}

/// Shows RFC9002 7.2-3, RFC5681 3.1-12.
#[test]
fn tcp_windows_are_at_least_one_segment_and_those_of_quic_two() {
    for (tcp, least) in [(true, 1), (false, 2)] {
        let config = firstflight::with!(Config { initial_window: 0, ..config(tcp) });
        let controller = Controller::new(
            SlowStart,
            Cubic::default(),
            Prr::new(prr::Params::rfc9937()),
            config,
            Time(0),
            Seq(0),
        );
        assert_eq!(controller.cwnd(), least * MSS, "tcp {tcp}");
    }
}

/// Shows RFC5681 3.1-cumulative.
#[test]
fn in_tcp_only_what_moves_una_grows_the_window() {
    for (tcp, grown) in [(true, 0), (false, MSS)] {
        let mut flow = at_hundred(tcp);
        let before = flow.c.cwnd();
        let sacked = Told { advanced: false, sacked: MSS, ..flow.acked(MSS) };
        assert_eq!(
            flow.ack(sacked) - before,
            grown,
            "growth by {MSS} bytes that did not move una, tcp {tcp}"
        );
    }
}

/// Shows RFC5681 3.1-cumulative.
#[test]
fn while_a_repeat_is_missing_after_a_timeout_the_window_stays_small() {
    let mut flow = at_hundred(true);
    flow.c.on_congestion(&timeout(&flow, Timeout::Rto));
    for _ in 0..1_000 {
        let sacked = Told { advanced: false, sacked: MSS, ..flow.acked(MSS) };
        flow.ack(sacked);
    }
    assert_eq!(flow.c.cwnd(), MSS, "a thousand segments SACKed, none of them acknowledged");
}
