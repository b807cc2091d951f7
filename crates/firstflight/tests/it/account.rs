//! The account of a connection: episodes and counters as a fold over what its controller was told.

use crate::hand_fed::{Fed, MS, MSS, Usual, config, usual};
use crate::told::Told as Record;
use firstflight::account::Kept;
use firstflight::startup::SlowStart;
use firstflight::{Account, Congestion, Episode, Event, Nanos, Sent, Seq, Time, event::Timeout};

/// A connection and its account, told the same.
struct Told {
    fed: Usual<SlowStart>,
    account: Account<Vec<Kept>>,
}

impl Told {
    /// With a window of `packets`, all of them in flight.
    fn new(tcp: bool, packets: u64) -> Told {
        let mut fed: Fed<_, _, _> = usual(SlowStart, config(tcp));
        fed.grow_to(packets * MSS);
        fed.send(packets);
        let mut account = Account::new(MSS);
        account.on_ready(&fed.c);
        Told { fed, account }
    }

    fn tell(&mut self, event: &Event) -> bool {
        self.fed.c.tell(event);
        self.account.take(event, &self.fed.c)
    }

    fn at(&mut self, ms: u64) {
        self.fed.now = ms * MS;
    }

    /// An ACK of a packet that says that `lost` bytes are lost. Returns whether an episode began.
    fn loss(&mut self, ms: u64, lost: u64) -> bool {
        self.at(ms);
        let ack = self.fed.lost(MSS, lost);
        self.tell(&Event::Ack(ack.ack(), ack.so_far()))
    }

    /// An ACK of everything that had left, which ends recovery.
    fn all(&mut self, ms: u64) {
        self.at(ms);
        self.fed.send(10);
        self.fed.una = self.fed.nxt;
        let ack = self.fed.acked(MSS);
        self.tell(&Event::Ack(ack.ack(), ack.so_far()));
    }

    fn sent(&mut self, ms: u64) {
        let (now, nxt) = (Time(ms * MS), Seq(self.fed.nxt));
        self.tell(&Event::Sent(Sent { now, bytes: MSS, nxt, inflight: MSS, srtt: None }));
    }

    fn timeout(&mut self, ms: u64, timeout: Timeout) {
        let (now, nxt) = (Time(ms * MS), Seq(self.fed.nxt));
        self.tell(&Event::Congestion(Congestion { now, timeout, nxt, inflight_before: MSS }));
    }

    fn episodes(&self) -> Vec<Episode> {
        self.account.episodes().copied().collect()
    }
}

#[test]
fn an_episode_goes_from_the_loss_to_the_end_of_recovery() {
    let mut told = Told::new(false, 40);
    assert!(told.loss(100, 3 * MSS), "a loss begins one");
    assert!(!told.loss(110, 2 * MSS), "a further one belongs to it");
    assert_eq!(told.episodes()[0].end, None, "it is open");
    told.all(200);
    let [episode] = told.episodes()[..] else { panic!("{:?}", told.episodes()) };
    let expected = Episode {
        start: Time(100 * MS),
        end: Some(Time(200 * MS)),
        cwnd_before: 40 * MSS,
        inflight: 40 * MSS,
        acked: 3 * MSS,
        lost: 5 * MSS,
        silence: Nanos::ZERO,
        cwnd_after: told.fed.c.cwnd(),
        repaired: None,
    };
    assert_eq!(episode, expected);
    assert_eq!(told.account.cwnd_max(), 40 * MSS, "the window before the loss was the largest");
    told.all(300);
    assert_eq!(told.episodes(), [expected], "what follows belongs to none");
}

#[test]
fn the_largest_window_counts_before_and_after_an_ack() {
    let mut told = Told::new(false, 40);
    told.at(100);
    let ack = told.fed.acked(2 * MSS);
    told.tell(&Event::Ack(ack.ack(), ack.so_far()));
    assert_eq!(told.account.cwnd_max(), 42 * MSS, "after");
    told.timeout(200, Timeout::PersistentCongestion);
    assert_eq!(told.account.cwnd_max(), 42 * MSS, "a smaller one changes nothing");
}

#[test]
fn an_episode_that_the_trial_cuts_off_is_reported_with_the_last_window() {
    let mut told = Told::new(false, 40);
    told.loss(100, 3 * MSS);
    let reported: Vec<_> = told.account.reported(7).collect();
    assert_eq!((reported[0].cwnd_after, reported[0].end), (7, None));
    told.all(200);
    let cwnd = told.fed.c.cwnd();
    let reported: Vec<_> = told.account.reported(7).collect();
    assert_eq!(reported[0].cwnd_after, cwnd, "one that has ended has its own");
}

#[test]
fn silence_is_the_longest_pause_within_the_episode() {
    let mut told = Told::new(false, 40);
    told.sent(10);
    told.loss(100, 3 * MSS);
    for ms in [130, 170, 175] {
        told.sent(ms);
    }
    assert_eq!(told.episodes()[0].silence, Nanos(40 * MS), "from 130 ms to 170 ms");
    told.all(200);
    told.sent(900);
    assert_eq!(told.episodes()[0].silence, Nanos(40 * MS), "what comes later is no part of it");

    let mut first = Told::new(false, 40);
    first.sent(10);
    first.loss(100, 3 * MSS);
    first.sent(150);
    assert_eq!(first.episodes()[0].silence, Nanos(50 * MS), "it counts from the loss on");
}

#[test]
fn a_timeout_of_tcp_ends_an_episode_and_is_counted() {
    let mut told = Told::new(true, 40);
    told.loss(100, 3 * MSS);
    let before = told.fed.c.cwnd();
    assert_eq!(told.account.recoveries_timed_out(), 0);
    told.timeout(300, Timeout::Rto);
    let [episode] = told.episodes()[..] else { panic!("{:?}", told.episodes()) };
    assert_eq!((episode.end, episode.cwnd_after), (Some(Time(300 * MS)), before));
    assert!(
        told.fed.c.cwnd() < before,
        "the window that it left behind is not that of the timeout"
    );
    assert_eq!(told.account.recoveries_timed_out(), 1);
    told.timeout(600, Timeout::RtoAgain);
    assert_eq!(told.account.recoveries_timed_out(), 1, "no episode was open");
}

#[test]
fn persistent_congestion_ends_no_episode_by_itself() {
    let mut told = Told::new(false, 40);
    told.loss(100, 3 * MSS);
    told.timeout(100, Timeout::PersistentCongestion);
    assert_eq!(told.episodes()[0].end, None, "the next ACK ends it");
    assert_eq!(told.account.recoveries_timed_out(), 0);
}

#[test]
fn an_episode_that_was_a_false_alarm_is_not_cut_short_by_a_timeout() {
    let mut told = Told::new(true, 40);
    told.loss(100, 3 * MSS);
    told.tell(&Event::Spurious { now: Time(150 * MS) });
    assert!(!told.fed.c.in_recovery(), "the controller took it back");
    assert_eq!(told.episodes()[0].end, None, "the next event shows it");
    told.timeout(300, Timeout::Rto);
    assert_eq!(told.account.recoveries_timed_out(), 0);
    assert_eq!(told.episodes()[0].end, Some(Time(300 * MS)));
}

#[test]
fn a_window_that_moves_before_a_burst_is_the_one_before_the_loss() {
    let mut told = Told { account: Account::new(MSS), ..Told::new(false, 40) };
    let ready = told.fed.ready();
    told.tell(&Event::Ready(ready));
    told.loss(100, MSS);
    assert_eq!(told.episodes()[0].cwnd_before, 40 * MSS);

    let mut unaware = Told { account: Account::new(MSS), ..Told::new(false, 40) };
    unaware.loss(100, MSS);
    assert_eq!(unaware.episodes()[0].cwnd_before, 0, "it was told nothing of the window before");
}

#[test]
fn recoveries_with_no_more_in_flight_than_the_threshold_are_counted() {
    // CUBIC of QUIC goes to 7/10 of the window: 28 packets of 40.
    for (inflight, below) in [(28 * MSS, 1), (28 * MSS + 1, 0), (MSS, 1), (39 * MSS, 0)] {
        let mut told = Told::new(false, 40);
        told.at(100);
        let ack = Record { inflight, ..told.fed.lost(MSS, MSS) };
        told.tell(&Event::Ack(ack.ack(), ack.so_far()));
        assert_eq!(told.fed.c.ssthresh(), Some(28 * MSS), "the threshold this test is about");
        let counted = told.account.recoveries_below_ssthresh();
        assert_eq!(counted, below, "with {inflight} bytes in flight");
    }
    let mut marked = Told::new(false, 40);
    marked.at(100);
    let ack = Record { ce: true, inflight: MSS, ..marked.fed.acked(MSS) };
    assert!(marked.tell(&Event::Ack(ack.ack(), ack.so_far())), "a mark begins an episode, too");
    assert_eq!(marked.account.recoveries_below_ssthresh(), 0, "and no recovery from loss");
}

#[test]
fn an_episode_is_repaired_when_its_last_hole_is_filled() {
    let mut told = Told::new(false, 40);
    told.account.on_filled(Time(1), 1_000);
    told.account.on_hole(500);
    told.loss(100, MSS);
    told.account.on_hole(0);
    told.account.on_filled(Time(101 * MS), u64::MAX);
    assert_eq!(told.episodes()[0].repaired, None, "without a hole nothing is repaired");
    told.account.on_hole(3_000);
    told.account.on_hole(2_000);
    told.account.on_filled(Time(110 * MS), 2_999);
    assert_eq!(told.episodes()[0].repaired, None, "the highest one is left");
    told.account.on_filled(Time(120 * MS), 3_000);
    assert_eq!(told.episodes()[0].repaired, Some(Time(120 * MS)));
    told.account.on_filled(Time(130 * MS), 9_000);
    assert_eq!(told.episodes()[0].repaired, Some(Time(120 * MS)), "it is repaired once");
    told.account.on_hole(4_000);
    told.account.on_filled(Time(140 * MS), 4_000);
    assert_eq!(told.episodes()[0].repaired, Some(Time(140 * MS)), "until the next one begins");
}

#[test]
fn holes_of_an_episode_outlast_the_next_one() {
    let mut told = Told::new(false, 40);
    told.loss(100, MSS);
    told.account.on_hole(1_000);
    told.all(200);
    assert!(told.loss(300, MSS), "a second one");
    told.account.on_hole(5_000);
    let repaired = |told: &Told| told.episodes().iter().map(|one| one.repaired).collect::<Vec<_>>();
    told.account.on_filled(Time(310 * MS), 4_000);
    assert_eq!(repaired(&told), [Some(Time(310 * MS)), None]);
    told.account.on_filled(Time(320 * MS), 5_000);
    assert_eq!(repaired(&told), [Some(Time(310 * MS)), Some(Time(320 * MS))]);
    told.all(400);
    assert!(told.loss(500, MSS), "a third one");
    told.account.on_hole(6_000);
    told.account.on_filled(Time(510 * MS), 6_000);
    assert_eq!(repaired(&told)[2], Some(Time(510 * MS)));
    assert_eq!(repaired(&told)[0], Some(Time(310 * MS)), "the first ones stay as they were");
}
