//! The order of work within one ACK, seen by parts that only write down when they are called.

use crate::told::{Hear, Told};
use std::cell::RefCell;
use std::rc::Rc;

use firstflight::avoidance::{Avoidance, Cut, Reduced};
use firstflight::recovery::{End, Entry, OwnRecovery, Policy, Progress, Recovery};
use firstflight::startup::{Grown, Handover, Leave, Startup, Verdict};
use firstflight::{
    Ack, Config, Congestion, Context, Controller, ExitReason, Nanos, Ratio, Seq, Signal, Time,
    Timeout, Transport, Window,
};

const MSS: u64 = 1_000;

type Log = Rc<RefCell<Vec<String>>>;

struct Begin {
    log: Log,
    /// Verdict of the sample hook.
    verdict: Rc<RefCell<Verdict>>,
}

impl Startup for Begin {
    type Saved = ();

    fn on_rtt(&mut self, _now: Time, _rtt: Nanos, _cx: &Context) {
        self.log.borrow_mut().push("rtt".into());
    }
    fn sample(&mut self, _ack: &Ack, w: Window, _cx: &Context) -> Verdict {
        self.log.borrow_mut().push(format!("sample at {}", w.cwnd));
        self.verdict.take()
    }
    fn grow(&mut self, _ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        self.log.borrow_mut().push(format!("slow start by {acked}"));
        Grown { leftover: if cx.limited { w.open(acked) } else { 0 }, verdict: Verdict::Stay }
    }
    fn reached(&mut self) -> ExitReason {
        self.log.borrow_mut().push("reached".into());
        ExitReason::Threshold
    }
    fn on_congestion(
        &mut self,
        _signal: Signal,
        _beta: Ratio,
        _ack: &Ack,
        _w: Window,
        _cx: &Context,
    ) -> Option<OwnRecovery> {
        self.log.borrow_mut().push("startup hit".into());
        None
    }
}

struct Middle {
    log: Log,
}

impl Avoidance for Middle {
    type Saved = ();
    fn grow(&mut self, _ack: &Ack, acked: u64, _w: &mut Window, cx: &Context) {
        self.log
            .borrow_mut()
            .push(format!("avoidance by {acked}{}", if cx.limited { "" } else { ", not limited" }));
    }
    fn reduce(&mut self, cut: &Cut, w: Window, _cx: &Context) -> Reduced {
        self.log.borrow_mut().push(format!("reduce on {:?}", cut.signal));
        Reduced { ssthresh: w.cwnd / 2, cwnd: w.cwnd / 2 }
    }
    fn on_rto(&mut self, _cut: &Cut, w: Window, _cx: &Context) -> u64 {
        w.cwnd / 2
    }
    fn on_persistent_congestion(&mut self, _now: Time) {}
    fn hand_over(&mut self, handover: Handover, _w: Window, _cx: &Context) {
        self.log.borrow_mut().push(format!("hand over {handover:?}"));
    }
    fn on_idle(&mut self, _now: Time, _idle: Nanos, _since_sent: Nanos) {}
    fn beta(&self, _signal: Signal, _from_slow_start: bool) -> Ratio {
        Ratio::new(1, 2)
    }
    fn save(&self) {}
    fn restore(&mut self, (): ()) {}
}

struct Finish {
    log: Log,
    target: u64,
}

impl Policy for Finish {
    type Settings = Log;
    fn settings(&self) -> Log {
        Rc::clone(&self.log)
    }
    fn with(log: Log) -> Finish {
        Finish { log, target: 0 }
    }
}

impl Recovery for Finish {
    fn enter(&mut self, entry: &Entry) {
        self.target = entry.target;
        self.log.borrow_mut().push(format!("enter by {:?}", entry.cause));
    }
    fn on_ack(&mut self, progress: &Progress) {
        self.log.borrow_mut().push(if progress.timer {
            "recovery timer".into()
        } else {
            format!("recovery of {}", progress.delivered)
        });
    }
    fn admits(&self, len: u64, pipe: u64) -> bool {
        pipe + len <= self.target
    }
    fn on_sent(&mut self, _len: u64) {}
    fn cwnd(&self) -> u64 {
        self.target
    }
    fn end(&mut self, how: End, _pipe: u64) -> u64 {
        self.log.borrow_mut().push(format!("end {how:?}"));
        self.target
    }
}

struct Watched {
    c: Controller<Begin, Middle, Finish>,
    log: Log,
    verdict: Rc<RefCell<Verdict>>,
}

fn watched(transport: Transport) -> Watched {
    let (log, verdict) = (Log::default(), Rc::default());
    let base = if transport == Transport::Quic { Config::quic(MSS) } else { Config::tcp(MSS) };
    let c = Controller::new(
        Begin { log: Rc::clone(&log), verdict: Rc::clone(&verdict) },
        Middle { log: Rc::clone(&log) },
        Finish { log: Rc::clone(&log), target: 0 },
        firstflight::with!(Config { initial_window: 10 * MSS, ..base }),
        Time(0),
        Seq(0),
    );
    Watched { c, log, verdict }
}

/// An ACK of one segment, of 10 in flight, of everything below `una`; the mark of an episode it
/// opens is 100.
fn ack(una: u64) -> Told {
    Told {
        now: Time(una * 1_000_000),
        acked: MSS,
        acked_fresh: MSS,
        rtt: Some(Nanos::from_millis(30)),
        srtt: Some(Nanos::from_millis(30)),
        una: Seq(una),
        nxt: Seq(100),
        advanced: true,
        tx_acked: Some(una),
        tx_next: 100,
        inflight_before: 10 * MSS,
        inflight: 9 * MSS,
        flight: 9 * MSS,
        cwnd_limited: true,
        ..Told::default()
    }
}

fn losing(una: u64, tx_lost: u64) -> Told {
    Told { lost: MSS, tx_lost: Some(tx_lost), ..ack(una) }
}

/// The record of a loss timer.
fn timer(una: u64, tx_lost: u64) -> Told {
    Told {
        acked: 0,
        acked_fresh: 0,
        rtt: None,
        advanced: false,
        tx_acked: None,
        ..losing(una, tx_lost)
    }
}

impl Watched {
    /// Hooks that one ACK called, in order.
    fn calls(&mut self, ack: &Told) -> Vec<String> {
        self.log.borrow_mut().clear();
        self.c.hear(ack);
        self.log.borrow().clone()
    }
}

const BOTH: [Transport; 2] = [Transport::Quic, Transport::Tcp];

/// Shows OURS ack-order.
#[test]
fn an_ack_in_slow_start_is_a_sample_first_and_growth_last() {
    for transport in BOTH {
        let calls = watched(transport).calls(&ack(1));
        assert_eq!(calls, ["rtt", "sample at 10000", "slow start by 1000"], "{transport:?}");
    }
}

/// Shows OURS ack-order.
#[test]
fn a_loss_is_answered_after_the_sample_and_instead_of_growth() {
    for transport in BOTH {
        let calls = watched(transport).calls(&losing(4, 0));
        let expected = [
            "rtt",
            "sample at 10000",
            "reduce on Loss",
            "startup hit",
            "enter by Ack",
            "recovery of 1000",
        ];
        assert_eq!(calls, expected, "{transport:?}");
    }
}

#[test]
fn a_sample_that_leaves_hands_over_before_a_loss_on_the_same_ack_is_cut() {
    let mut w = watched(Transport::Quic);
    let leave = Leave {
        reason: ExitReason::Delay,
        ssthresh: 10 * MSS,
        cwnd: None,
        handover: Handover::LossFree,
        estimate: Some(7),
    };
    w.verdict.replace(Verdict::Leave(leave));
    let calls = w.calls(&losing(4, 0));
    let expected = [
        "rtt",
        "sample at 10000",
        "hand over LossFree",
        "reduce on Loss",
        "startup hit",
        "enter by Ack",
        "recovery of 1000",
    ];
    assert_eq!(calls, expected);
    assert_eq!(
        w.c.exit().map(|exit| exit.reason),
        Some(ExitReason::Delay),
        "the sample left first, so the loss is not the reason"
    );
}

#[test]
fn a_sample_that_leaves_makes_avoidance_grow_on_the_same_ack_by_the_stricter_test() {
    let leave = Leave {
        reason: ExitReason::Delay,
        ssthresh: 10 * MSS,
        cwnd: None,
        handover: Handover::LossFree,
        estimate: None,
    };
    // Half of the window in flight is enough for slow start but not for avoidance.
    for (cwnd_limited, growth) in
        [(true, "avoidance by 1000"), (false, "avoidance by 1000, not limited")]
    {
        let mut w = watched(Transport::Quic);
        w.verdict.replace(Verdict::Leave(leave));
        let calls = w.calls(&Told { cwnd_limited, ..ack(1) });
        assert_eq!(calls, ["rtt", "sample at 10000", "hand over LossFree", growth]);
    }
}

/// Shows OURS handover-threshold.
#[test]
fn a_threshold_aimed_at_the_window_ends_startup_there() {
    for (aim, met) in [(9 * MSS, true), (10 * MSS, true), (10 * MSS + 1, false)] {
        let mut w = watched(Transport::Quic);
        w.verdict.replace(Verdict::Aim { ssthresh: aim });
        let calls = w.calls(&ack(1));
        // Below it slow start goes on, and takes the last byte on this very ACK.
        let expected: &[&str] = if met {
            &["rtt", "sample at 10000", "hand over LossFree", "reached", "avoidance by 1000"]
        } else {
            &[
                "rtt",
                "sample at 10000",
                "slow start by 1000",
                "hand over LossFree",
                "reached",
                "avoidance by 999",
            ]
        };
        assert_eq!(calls, expected, "aimed at {aim}");
        let exit = w.c.exit().expect("startup is over");
        assert_eq!(
            (exit.reason, exit.detect_cwnd, exit.estimate),
            (ExitReason::Threshold, 10 * MSS, Some(aim)),
            "aimed at {aim}"
        );
    }
}

/// Shows OURS ack-order.
#[test]
fn an_ack_that_continues_an_episode_neither_samples_nor_grows() {
    for transport in BOTH {
        let mut w = watched(transport);
        w.calls(&losing(4, 0));
        assert_eq!(w.calls(&ack(5)), ["rtt", "recovery of 1000"], "{transport:?}, progress");
        assert_eq!(
            w.calls(&losing(6, 1)),
            ["rtt", "recovery of 1000"],
            "{transport:?}, more of the same loss"
        );
        assert_eq!(
            w.calls(&Told { ce: true, ..ack(7) }),
            ["rtt", "recovery of 1000"],
            "{transport:?}, marks of before the episode"
        );
        assert_eq!(w.c.stats().loss_episodes, 1, "{transport:?}: one period is one reduction");
    }
}

/// Shows LINUX ack-completing.
#[test]
fn the_ack_that_completes_grows_by_its_news_in_tcp_and_fresh_packets_in_quic() {
    // (transport, una on both sides of the mark 100, fresh bytes, calls)
    let rows: [(Transport, u64, u64, &[&str]); 5] = [
        (Transport::Tcp, 99, MSS, &["rtt", "recovery of 1000"]),
        (Transport::Tcp, 100, 0, &["rtt", "end Complete", "avoidance by 1000"]),
        (Transport::Quic, 100, MSS, &["rtt", "recovery of 1000"]),
        (Transport::Quic, 101, 0, &["rtt", "end Complete"]),
        (Transport::Quic, 101, 400, &["rtt", "end Complete", "avoidance by 400"]),
    ];
    for (transport, una, fresh, expected) in rows {
        let mut w = watched(transport);
        w.calls(&losing(4, 0));
        let calls = w.calls(&Told { acked_fresh: fresh, ..ack(una) });
        assert_eq!(calls, expected, "{transport:?}, una {una}, {fresh} bytes fresh");
    }
}

/// Shows LINUX ack-completing.
#[test]
fn the_ack_that_completes_opens_the_next_episode_if_something_sent_since_was_lost() {
    // (transport, una, last packet lost, a new episode)
    for (transport, una, tx_lost, again) in [
        (Transport::Quic, 104, 100, true),
        (Transport::Quic, 104, 99, false),
        (Transport::Tcp, 100, 100, true),
    ] {
        let mut w = watched(transport);
        w.calls(&losing(4, 0));
        let calls = w.calls(&Told { acked_fresh: 0, ..losing(una, tx_lost) });
        let mut expected = vec!["rtt", "end Complete"];
        if again {
            expected.extend(["reduce on Loss", "startup hit", "enter by Ack", "recovery of 1000"]);
        }
        assert_eq!(calls, expected, "{transport:?}, {tx_lost} lost");
    }
}

/// Shows OURS ack-order.
#[test]
fn a_loss_timer_is_no_sample_and_no_growth() {
    for transport in BOTH {
        let mut w = watched(transport);
        assert_eq!(
            w.calls(&timer(0, 0)),
            ["reduce on Loss", "startup hit", "enter by Timer", "recovery timer"],
            "{transport:?}, opening"
        );
        assert_eq!(w.calls(&timer(0, 1)), ["recovery timer"], "{transport:?}, going on");
    }
}

/// Shows RFC5681 4.3-1.
#[test]
fn a_repeat_lost_again_replaces_the_episode() {
    let mut w = watched(Transport::Tcp);
    w.calls(&losing(4, 0));
    let calls = w.calls(&Told { lost_again: true, ..losing(5, 101) });
    assert_eq!(
        calls,
        [
            "rtt",
            "end Replaced",
            "reduce on Loss",
            "startup hit",
            "enter by Ack",
            "recovery of 1000"
        ]
    );
    assert_eq!(
        (w.c.stats().replaced, w.c.stats().loss_episodes),
        (1, 2),
        "one was replaced, two were opened"
    );
}

/// Shows RFC9002 7.3.2-4.
#[test]
fn late_losses_of_an_old_episode_do_not_hide_new_marks() {
    let mut w = watched(Transport::Quic);
    w.calls(&losing(4, 0));
    w.calls(&ack(101));
    let calls = w.calls(&Told { ce: true, nxt: Seq(200), ..losing(102, 99) });
    assert_eq!(
        calls,
        ["rtt", "reduce on Ecn", "startup hit", "enter by Ecn", "recovery of 1000"],
        "the marks are news, the loss is not"
    );
    assert_eq!(
        (w.c.stats().loss_episodes, w.c.stats().ecn_episodes),
        (1, 1),
        "each was counted as what it was"
    );
}

#[test]
fn a_timeout_ends_the_episode_and_slow_start_hands_over_once_as_after_a_timeout() {
    let mut w = watched(Transport::Tcp);
    w.calls(&losing(4, 0));
    w.log.borrow_mut().clear();
    w.c.on_congestion(&Congestion {
        now: Time(9),
        timeout: Timeout::Rto,
        nxt: Seq(100),
        inflight_before: 10 * MSS,
    });
    assert_eq!(*w.log.borrow(), ["end Timeout"]);
    assert_eq!(
        (w.c.cwnd(), w.c.ssthresh()),
        (MSS, Some(2_500)),
        "one segment, and half of the halved window"
    );
    assert_eq!(
        w.calls(&Told { acked: 1_000, ..ack(50) }),
        ["rtt", "sample at 1000", "slow start by 1000"]
    );
    let calls = w.calls(&Told { acked: 1_000, ..ack(51) });
    assert_eq!(
        calls,
        [
            "rtt",
            "sample at 2000",
            "slow start by 1000",
            "hand over AfterTimeout",
            "reached",
            "avoidance by 500"
        ]
    );
}

#[test]
fn an_ack_of_nothing_grows_nothing() {
    let mut w = watched(Transport::Tcp);
    let duplicate =
        Told { acked: 0, acked_fresh: 0, rtt: None, advanced: false, tx_acked: Some(3), ..ack(4) };
    assert_eq!(
        w.calls(&duplicate),
        ["sample at 10000"],
        "a duplicate ACK is an ACK, but there is nothing to grow by"
    );
}
