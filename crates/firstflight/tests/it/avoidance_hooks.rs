//! Hooks of congestion avoidance in any order: one chosen at run time does what it is, ABBA without a
//! model what it stands on, and growth gets as far as `reach` says.

use crate::hooks;
use crate::told::Told;
use firstflight::avoidance::abba::{self, Over, Version};
use firstflight::avoidance::{
    Abba, AnyAvoidance, Avoidance, Cuback, Cubic, Dctcp, Prague, Reno, cuback, cubic, dctcp, prague,
};
use firstflight::event::{Context, Signal, Transport, Window};
use firstflight::startup::Handover;
use firstflight::units::{MAX_BYTES, Nanos, Ratio, Seq, Time};
use proptest::prelude::*;

const MSS: u64 = 1000;

/// The next event: the hook, its amount, and the time since the one before.
type Step = (u8, u64, u64);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((0u8..13, 1u64..30_000, 1u64..400), 1..150)
}

/// Hooks told one after the other, as a controller would.
struct Sender<A: Avoidance> {
    avoidance: A,
    saved: A::Saved,
    w: Window,
    now: Time,
    acked: u64,
}

/// All that can be seen of an avoidance.
#[derive(Debug, PartialEq)]
struct Seen {
    w: Window,
    reach: u64,
    betas: [Ratio; 4],
    epoch: Option<Time>,
    l4s: bool,
    answered: Option<(u64, u64)>,
    signals: Vec<(&'static str, u64)>,
}

impl<A: Avoidance> Sender<A> {
    fn new(avoidance: A) -> Sender<A> {
        let saved = avoidance.save();
        let w = Window { cwnd: 50_000, ssthresh: 50_000 };
        Sender { avoidance, saved, w, now: Time(0), acked: 0 }
    }

    fn step(&mut self, (kind, amount, after_ms): Step) -> Seen {
        let (rtt, srtt) = (Nanos::from_millis(20 + amount % 90), Nanos::from_millis(60));
        let cx = firstflight::with!(Context { srtt, ..hooks::quic(MSS) });
        self.now += Nanos::from_millis(after_ms);
        self.acked += amount;
        let ack = Told {
            now: self.now,
            acked: amount,
            ce: kind > 9,
            ce_bytes: (kind > 10).then_some(amount / 2),
            rtt: Some(rtt),
            srtt: Some(srtt),
            una: Seq(self.acked / MSS),
            nxt: Seq((self.acked + self.w.cwnd) / MSS),
            delivered: self.acked,
            ..Told::default()
        };
        let mut answered = None;
        match kind {
            0 => {
                let signal = if amount % 2 == 0 { Signal::Loss } else { Signal::Ecn };
                self.saved = self.avoidance.save();
                let cut = hooks::cut(self.now, signal, MAX_BYTES);
                self.w = hooks::reduced(&mut self.avoidance, &cut, self.w, &cx);
                if amount % 3 == 0 {
                    self.avoidance.restore(self.saved);
                } else {
                    self.avoidance.on_recovery_end(self.w);
                }
            }
            1 => {
                self.w.ssthresh =
                    self.avoidance.on_rto(&hooks::timeout(self.now, amount, self.w), self.w, &cx);
            }
            2 => self.avoidance.on_persistent_congestion(self.now),
            3 => {
                let how = [Handover::LossFree, Handover::AfterLoss, Handover::AfterTimeout];
                self.avoidance.hand_over(how[(amount % 3) as usize], self.w, &cx);
            }
            4 => {
                let idle = Nanos::from_millis(after_ms);
                self.avoidance.on_idle(self.now, idle, idle);
            }
            _ => {
                self.avoidance.on_rtt(self.now, rtt, self.w, false);
                self.avoidance.on_ack(&ack.ack(), &ack.within(&cx));
                if ack.ce {
                    answered = self.avoidance.answer_marks(&ack.ack(), self.w, &ack.within(&cx));
                }
                let cx = firstflight::with!(Context { limited: kind != 5, ..cx });
                self.avoidance.grow(&ack.ack(), amount, &mut self.w, &ack.within(&cx));
            }
        }
        let mut signals = Vec::new();
        self.avoidance.signals(&mut |name, value| signals.push((name, value)));
        let beta = |signal, start| self.avoidance.beta(signal, start);
        Seen {
            w: self.w,
            reach: self.avoidance.reach(&ack.ack(), amount, self.w, &ack.within(&cx)),
            betas: [
                beta(Signal::Loss, false),
                beta(Signal::Loss, true),
                beta(Signal::Ecn, false),
                beta(Signal::Ecn, true),
            ],
            epoch: self.avoidance.epoch_start(),
            l4s: self.avoidance.is_l4s(),
            answered: answered.map(|left| (left.cwnd, left.ssthresh)),
            signals,
        }
    }
}

/// After each step both show the same; signals only if both have the same ones to show.
fn alike<A: Avoidance, B: Avoidance>(one: A, other: B, signals: bool, steps: &[Step]) {
    let (mut one, mut other) = (Sender::new(one), Sender::new(other));
    for (at, &step) in steps.iter().enumerate() {
        let (mut seen, mut due) = (one.step(step), other.step(step));
        if !signals {
            (seen.signals, due.signals) = (Vec::new(), Vec::new());
        }
        assert_eq!(seen, due, "step {at}, {step:?}");
    }
}

proptest! {
    /// One chosen at run time is the one that was chosen.
    #[test]
    fn any_avoidance_does_what_it_is(steps in steps()) {
        alike(AnyAvoidance::Reno(Reno::default()), Reno::default(), true, &steps);
        alike(AnyAvoidance::Cubic(Cubic::default()), Cubic::default(), true, &steps);
        let cuback = Cuback::new(cuback::Params::default());
        alike(AnyAvoidance::Cuback(cuback), cuback, true, &steps);
        let abba = Abba::new(abba::Params::default());
        alike(AnyAvoidance::Abba(abba), abba, true, &steps);
        let dctcp = Dctcp::new(dctcp::Params::default());
        alike(AnyAvoidance::Dctcp(dctcp), dctcp, true, &steps);
        let prague = Prague::new(prague::Params::default());
        alike(AnyAvoidance::Prague(prague), prague, true, &steps);
    }

    /// Shows ABBA 3-first, ABBA1 4-gate: while the first version knows no full queue, and the second
    /// has seen no cut, they are what they stand on, a false alarm included.
    #[test]
    fn abba_without_a_model_is_what_it_stands_on(steps in steps()) {
        let abe = Some(Ratio::new(17, 20));
        for version in [Version::First, Version::Second] {
            let uncut: Vec<Step> =
                steps.iter().copied().filter(|step| version == Version::First || step.0 != 0).collect();
            for over in [Over::Cubic, Over::Cuback] {
                let abba = Abba::new(firstflight::with!(abba::Params { over, version, abe, ..abba::Params::default() }));
                match over {
                    Over::Cubic => {
                        let cubic = firstflight::with!(cubic::Params { abe, ..cubic::Params::default() });
                        alike(abba, Cubic::new(cubic), false, &uncut);
                    }
                    Over::Cuback => {
                        let cuback = firstflight::with!(cuback::Params { abe, ..cuback::Params::default() });
                        alike(abba, Cuback::new(cuback), false, &uncut);
                    }
                }
            }
        }
    }
}

/// A window of `cwnd` that ACKs of all of it grow within one round trip, and how far `reach` said.
fn a_round<A: Avoidance>(avoidance: &mut A, now: Time, cwnd: u64, rtt: Nanos) -> (u64, u64) {
    let cx = firstflight::with!(Context { srtt: rtt, ..hooks::quic(MSS) });
    let mut w = Window { cwnd, ssthresh: cwnd / 2 };
    let packets = cwnd / MSS;
    let ack =
        |k: u64| Told { now: now + Nanos(rtt.0 * k / packets), srtt: Some(rtt), ..Told::default() };
    let reach = avoidance.reach(&ack(0).ack(), cwnd, w, &cx);
    for k in 1..=packets {
        avoidance.grow(&Told { acked: MSS, ..ack(k) }.ack(), MSS, &mut w, &cx);
    }
    (w.cwnd, reach)
}

/// Over a hundred rounds that are filled; the fastest grows by `most` at least.
fn follows_its_reach<A: Avoidance>(
    name: &str,
    avoidance: &mut A,
    mut cwnd: u64,
    rtt: Nanos,
    most: u64,
) {
    let mut widest = 0;
    for round in 0..100 {
        let (grown, reach) = a_round(avoidance, Time(1 + round * rtt.0), cwnd, rtt);
        // The first ACK begins the epoch that `reach` then sees.
        if round > 0 {
            assert!(
                grown <= reach + MSS && grown + grown / 100 + MSS >= reach,
                "{name}, round {round}: from {cwnd} to {grown}, a reach of {reach}"
            );
        }
        widest = widest.max(grown - cwnd);
        cwnd = grown;
    }
    assert!(widest >= most, "{name}: {widest} bytes in the fastest round");
}

/// Shows RATELIMITED cubic-reach: a flight of the whole window grows it as far as `reach` says, a
/// segment more or less: Reno and DCTCP by a segment, CUBIC and Cuback along their curves, ABBA into the
/// room that its line shows now.
#[test]
fn a_flight_of_the_window_grows_it_to_its_reach() {
    let rtt = Nanos::from_millis(100);
    let cut = |now| hooks::cut(now, Signal::Loss, MAX_BYTES);
    let cx = firstflight::with!(Context { srtt: rtt, ..hooks::quic(MSS) });
    let before = Window { cwnd: 1_000_000, ssthresh: 1_000_000 };
    let mut reno = Reno::default();
    let left = reno.reduce(&cut(Time(0)), before, &cx);
    follows_its_reach("Reno", &mut reno, left.cwnd, rtt, MSS - 1);
    let mut dctcp = Dctcp::new(dctcp::Params::default());
    let left = dctcp.reduce(&cut(Time(0)), before, &cx);
    follows_its_reach("DCTCP", &mut dctcp, left.cwnd, rtt, MSS - 1);
    let mut cubic = Cubic::default();
    let left = cubic.reduce(&cut(Time(0)), before, &cx);
    follows_its_reach("CUBIC", &mut cubic, left.cwnd, rtt, 9 * MSS);
    let mut cuback = Cuback::new(cuback::Params::default());
    let left = cuback.reduce(&cut(Time(0)), before, &cx);
    follows_its_reach("Cuback", &mut cuback, left.cwnd, rtt, 6 * MSS);
    // A line from 200 ms at a window of 1 MB to 100 ms at 0.7 MB: where 100 ms go on, room is left.
    let mut abba =
        Abba::new(firstflight::with!(abba::Params { cap: false, ..abba::Params::default() }));
    abba.on_rtt(Time(0), rtt * 2, before, false);
    let left = abba.reduce(&cut(Time(0)), before, &cx);
    let left = Window { cwnd: left.cwnd, ssthresh: left.ssthresh };
    abba.on_recovery_end(left);
    abba.on_rtt(Time(0), rtt, left, false);
    let reach = |abba: &Abba, cwnd, max_fs| {
        abba.reach(&Told::default().ack(), max_fs, Window { cwnd, ssthresh: cwnd / 2 }, &cx)
    };
    assert_eq!(reach(&abba, 900_000, 900_000), 1_033_333, "two thirds of 200 000 bytes of room");
    assert_eq!(reach(&abba, 900_000, 450_000), 516_666, "by half of that, of half a window");
    assert_eq!(reach(&abba, 600_000, 600_000), 601_000, "no room: what it stands on");
    // At no round trip at all the line sees nearly the whole window as room: half of it at most.
    abba.on_rtt(Time(0), Nanos(1_000), Window { cwnd: 2_000_000, ssthresh: u64::MAX }, false);
    assert_eq!(reach(&abba, 1_200_000, 600_000), 900_000);
}

/// Shows RFC5681 3.1-eq4, RFC9438 4.8-1: a loss and a timeout leave a factor of what was used and two packets
/// at least, and so do marks, of which TCP's CUBIC and Cuback may leave a window of one.
#[test]
fn cuts_leave_a_factor_and_two_packets_at_least() {
    let arms = [
        ("Reno", AnyAvoidance::Reno(Reno::default()), 50_000, 2_000),
        ("CUBIC", AnyAvoidance::Cubic(Cubic::default()), 70_000, 1_000),
        ("Cuback", AnyAvoidance::Cuback(Cuback::new(cuback::Params::default())), 70_000, 1_000),
        ("ABBA", AnyAvoidance::Abba(Abba::new(abba::Params::default())), 70_000, 1_000),
        ("DCTCP", AnyAvoidance::Dctcp(Dctcp::new(dctcp::Params::default())), 50_000, 2_000),
        ("Prague", AnyAvoidance::Prague(Prague::new(prague::Params::default())), 50_000, 2_000),
    ];
    let rtt = Nanos::from_millis(50);
    for (name, avoidance, factor, least) in arms {
        for transport in [Transport::Quic, Transport::Tcp] {
            let cx = firstflight::with!(Context { transport, srtt: rtt, ..hooks::quic(MSS) });
            for (window, left) in [(100_000, factor), (2_100, 2_000), (1_200, 2_000)] {
                let w = Window { cwnd: window, ssthresh: window };
                let reduced = |signal| {
                    let cut = hooks::cut(Time(0), signal, window);
                    let left = { avoidance }.reduce(&cut, w, &cx);
                    (left.cwnd, left.ssthresh)
                };
                assert_eq!(reduced(Signal::Loss), (left, left), "{name}: a loss at {window}");
                let rto = { avoidance }.on_rto(&hooks::timeout(Time(0), window, w), w, &cx);
                assert_eq!(rto, left, "{name}: a timeout with {window} in flight");
                if window < 2 * MSS {
                    let least = if transport == Transport::Tcp { least } else { 2_000 };
                    assert_eq!(
                        reduced(Signal::Ecn),
                        (least, 2_000),
                        "{name}: marks, {transport:?}"
                    );
                }
            }
        }
    }
}
