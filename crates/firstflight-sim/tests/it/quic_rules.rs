//! The requirements of RFC 9000 for the receiver and of RFC 9002 for the sender, one test per rule.

use crate::rig;

use firstflight::Time;
use firstflight::startup::AnyStartup;
use firstflight_path::Path;
use firstflight_sim::quic::{Host, Receiver, Sender, Transmit};
use firstflight_sim::{Cause, Outcome, Stop};
use rig::{DATAGRAM, PAYLOAD, Trial, Watch, path};

const MS: u64 = 1_000_000;

fn at(ms: u64) -> Time {
    Time(ms * MS)
}

/// Everything that may leave now.
fn poll_all(sender: &mut Sender<AnyStartup>, now: Time) -> Vec<Transmit> {
    std::iter::from_fn(|| sender.poll(now)).collect()
}

fn chunks(packets: &[Transmit]) -> Vec<u64> {
    packets.iter().map(|packet| packet.chunk).collect()
}

/// An unpaced sender of `packets` full packets with a window of `iw`, on a path of 30 ms that gave
/// its RTT in the handshake.
fn sender(packets: u64, iw: u64) -> Sender<AnyStartup> {
    Trial {
        iw,
        ..Trial::new(path("rapid-slide"), "slowstart/reno/immediate@(pace=off)", packets * PAYLOAD)
    }
    .sender()
}

/// A receiver that gets one packet and acknowledges at once, whatever it would have done; the
/// sender processes the ACK.
fn deliver(receiver: &mut Receiver, sender: &mut Sender<AnyStartup>, now: Time, packet: Transmit) {
    let ack = receiver
        .on_packet(now, packet.number, packet.chunk, false)
        .unwrap_or_else(|| receiver.acknowledge(now));
    sender.on_ack(now, ack, receiver);
}

// ---- receiver, RFC 9000 section 13.2 ----

#[test]
fn every_second_packet_is_acknowledged_and_a_last_odd_one_after_the_delay() {
    // RFC9000 13.2.2-2, 13.2.1-2.
    let mut receiver = Receiver::new(&Host::default());
    assert_eq!(
        receiver.on_packet(at(1), 0, 0, false).map(|ack| ack.log_end),
        None,
        "the first packet waits for a second"
    );
    assert_eq!(
        receiver.ack_due(),
        Some(Time(at(1).0 + Host::default().max_ack_delay)),
        "but no longer than the promised delay"
    );
    assert_eq!(
        receiver.on_packet(at(2), 1, 1, false).map(|ack| ack.log_end),
        Some(2),
        "the second one is answered at once"
    );
    assert_eq!(receiver.ack_due(), None, "and nothing is owed then");
    receiver.on_packet(at(3), 2, 2, false);
    let ack = receiver.acknowledge(at(28));
    assert_eq!(
        (ack.log_end, u64::from(ack.ack_delay)),
        (3, 25 * MS),
        "a held-back ACK says how long it was held"
    );
}

#[test]
fn a_gap_and_what_fills_it_are_acknowledged_at_once_and_what_follows_a_gap_in_order_is_not() {
    // RFC9000 13.2.1-8.
    let mut receiver = Receiver::new(&Host::default());
    let rows = [
        (1, true, "opens a gap"),
        (2, false, "is in order behind it"),
        (0, true, "fills the gap"),
        (3, false, "is in order again"),
        (5, true, "opens another"),
        (6, false, "follows"),
        (7, true, "is the second since the last ACK"),
    ];
    for (number, at_once, what) in rows {
        let ack = receiver.on_packet(at(number), number, number, false);
        assert_eq!(ack.is_some(), at_once, "packet {number} {what}");
    }
}

#[test]
fn a_mark_is_reported_at_once() {
    // RFC9000 13.2.1-11.
    let (mut sender, mut receiver) = (sender(5, 10), Receiver::new(&Host::default()));
    let packet = poll_all(&mut sender, Time(0))[0];
    let ack = receiver
        .on_packet(at(1), packet.number, packet.chunk, true)
        .expect("a marked packet is answered at once");
    let record = sender.on_ack(at(2), ack, &mut receiver).expect("it acknowledges something");
    assert!(record.ce, "and the sender hears of the mark");
}

/// ACKs in ten round trips of 200 ms, from 2 s on: the window has been full for a while.
fn acks_in_ten_rounds(receiver: &str, asks: Option<u32>) -> usize {
    let trial = Trial {
        host: Host { asks_acks: asks, ..Host::default() },
        ..Trial::new(
            path(&format!("rate=50Mbit,rtt=200ms,queue=1bdp{receiver}")),
            "oracle/reno",
            20_000_000,
        )
    };
    let mut watch = Watch::default();
    assert_eq!(trial.observe(&mut watch).stop, Stop::Complete);
    let seen = |at: Time| (at_s(2)..at_s(4)).contains(&at);
    watch.0.iter().filter(|it| it.event == Cause::Ack && seen(it.now)).count()
}

fn at_s(seconds: u64) -> Time {
    at(1000 * seconds)
}

#[test]
fn a_receiver_acknowledges_by_count_by_time_or_as_it_is_asked() {
    // A window of 833 packets on its way, with an ACK for two or 25 of them.
    let (two, many) = (acks_in_ten_rounds("", None), acks_in_ten_rounds(",ack=25", None));
    assert!((4000..4300).contains(&two) && (320..345).contains(&many), "{two}, {many}");
    // Four per idle round trip, or one, which makes the next round trip wait for it.
    let (four, one) =
        (acks_in_ten_rounds(",ack=4/rtt", None), acks_in_ten_rounds(",ack=1/rtt", None));
    assert!((38..=41).contains(&four) && (5..=10).contains(&one), "{four}, {one}");
    // draft-ietf-quic-ack-frequency 6: the frame takes the place of what the receiver did.
    for receiver in ["", ",ack=25", ",ack=1/rtt"] {
        let asked = acks_in_ten_rounds(receiver, Some(8));
        assert!((78..=115).contains(&asked), "`{receiver}`, asked for 8: {asked} in ten rounds");
    }
}

/// The largest RTT sample of a controller after 100 ms, less the idle round trip, in ms, of a
/// transfer without a queue whose ACKs are late by up to 20 ms; and its outcome.
fn largest_excess(receive_ts: bool) -> (u64, Outcome) {
    let trial = Trial {
        host: Host { receive_ts, ..Host::default() },
        ..Trial::new(
            path("rate=1Gbit,rtt=40ms,queue=1bdp,up_jitter=20ms"),
            "slowstart/reno",
            200_000,
        )
    };
    let mut watch = Watch::default();
    let outcome = trial.observe(&mut watch);
    // By the second round trip one of the ACKs has been nearly as fast as can be.
    let later = watch.0.iter().filter(|it| it.now > at(100));
    let largest = later.filter_map(|it| it.rtt).max().expect("samples");
    (largest.0.saturating_sub(40 * MS) / MS, outcome)
}

#[test]
fn receive_timestamps_take_the_delay_of_acks_out_of_rtt_samples() {
    let ((noisy, plain), (clean, clocked)) = (largest_excess(false), largest_excess(true));
    assert!(noisy >= 15, "without them the samples vary by {noisy} ms with the ACKs");
    assert!(3 * clean < noisy, "with them by {clean} ms, what the fastest ACK was late");
    assert_eq!(plain.stop, clocked.stop);
    assert_eq!(plain.counters, clocked.counters, "slow start without a queue asks for no RTT");
}

#[test]
fn a_frame_that_is_lost_is_repeated_by_the_packets_after_it() {
    let trial = |asks| Trial {
        host: Host { asks_acks: asks, ..Host::default() },
        ..Trial::new(path("rate=50Mbit,rtt=200ms,queue=2bdp,loss=30%"), "slowstart", 300_000)
    };
    for seed in 0..20 {
        let outcome = Trial { seed, ..trial(Some(4)) }.run();
        assert_eq!(outcome.stop, Stop::Complete, "seed {seed}");
    }
}

#[test]
fn a_burst_of_21_packets_is_answered_by_11_acks() {
    let trial =
        Trial { iw: 100, ..Trial::new(path("rapid-slide"), "slowstart@(pace=off)", 21 * PAYLOAD) };
    let mut watch = Watch::default();
    trial.observe(&mut watch);
    assert_eq!(
        watch.0.iter().filter(|snapshot| snapshot.event == Cause::Ack).count(),
        11,
        "ten pairs and the odd one"
    );
}

// ---- timers and probes, RFC 9002 section 6.2 ----

/// A path that delivers nothing.
fn dead(like: &Path) -> Path {
    like.clone().with_loss_ppb(999_999_999)
}

#[test]
fn probe_timeouts_double_from_three_deviations_of_the_handshake_sample() {
    let trial = Trial {
        limit: firstflight::Nanos(10_000 * MS),
        ..Trial::new(dead(&path("rapid-slide")), "slowstart", 100 * PAYLOAD)
    };
    let mut watch = Watch::default();
    let outcome = trial.observe(&mut watch);
    let fired: Vec<u64> =
        watch.0.iter().filter(|s| s.event == Cause::Timer).map(|s| s.now.0).collect();
    // RFC9002 6.2.1-1: 30 + max(4 * 15, 1) + 25 ms after the last packet; 6.2.1-9: twice as long
    // with each. The paced first flight of ten packets ends 8/20 of a round trip after a burst
    // of two.
    let last = watch
        .0
        .iter()
        .rfind(|s| s.event == Cause::Sent && s.now.0 < fired[0])
        .map_or(0, |s| s.now.0);
    let mut due = last;
    for (k, at) in fired.iter().enumerate() {
        due += (115 * MS) << k;
        assert_eq!(*at, due, "probe timeout {k} fired at {at} instead of {due} ns");
    }
    assert_eq!(
        (fired.len(), outcome.counters.rtos),
        (6, 6),
        "six doublings fit into ten seconds: {fired:?}"
    );
    assert_eq!(
        (outcome.stop, outcome.counters.packets_lost),
        (Stop::TimeLimit, 0),
        "RFC9002 6.2-3: a probe timeout declares nothing lost"
    );
    assert_eq!(outcome.counters.packets_sent, 10 + 2 * 6, "two probes per timeout");
    assert!(outcome.episodes.is_empty() && outcome.exit.is_none(), "and changes no window");
}

#[test]
fn probes_carry_new_data_past_the_window() {
    // RFC9002 6.2.4-1, 6.2.4-2, 7.5-1.
    let mut sender = sender(100, 2);
    assert_eq!(chunks(&poll_all(&mut sender, at(0))), [0, 1], "the window holds two packets");
    let due = sender.timer_at().expect("something is in flight");
    assert_eq!(due, at(115), "the timer runs from the last packet");
    assert!(sender.on_timer(due).is_none(), "no loss is declared");
    assert_eq!(
        chunks(&poll_all(&mut sender, due)),
        [2, 3],
        "two probes with new data, though the window is full"
    );
    assert_eq!(sender.inflight(), 4 * DATAGRAM, "probes are in flight like any packet");
    assert_eq!(poll_all(&mut sender, due), [], "and no third");
}

#[test]
fn probes_without_new_data_copy_distinct_packets_oldest_first() {
    let mut five = sender(5, 10);
    assert_eq!(poll_all(&mut five, at(0)).len(), 5, "everything fits the window");
    for _ in 0..2 {
        let due = five.timer_at().expect("something is in flight");
        five.on_timer(due);
        assert_eq!(chunks(&poll_all(&mut five, due)), [0, 1], "each timeout copies the two oldest");
    }
    let mut one = sender(1, 10);
    poll_all(&mut one, at(0));
    let due = one.timer_at().expect("something is in flight");
    one.on_timer(due);
    assert_eq!(
        chunks(&poll_all(&mut one, due)),
        [0],
        "one packet is worth one probe, not the same twice"
    );
    assert_eq!(one.counters().retransmissions, 1, "a copy is a repeat");
}

#[test]
fn a_probe_skips_what_was_acknowledged_through_another_copy() {
    let (mut sender, mut receiver) = (sender(5, 10), Receiver::new(&Host::default()));
    poll_all(&mut sender, at(0));
    let due = sender.timer_at().expect("in flight");
    sender.on_timer(due);
    let probes = poll_all(&mut sender, due);
    // The copy of chunk 0 arrives; nothing is three packets older than it except the originals of 0
    // to 2.
    deliver(&mut receiver, &mut sender, Time(due.0 + 30 * MS), probes[0]);
    let repeats = poll_all(&mut sender, Time(due.0 + 30 * MS));
    assert!(!chunks(&repeats).contains(&0), "chunk 0 has arrived in its copy: {repeats:?}");
}

#[test]
fn a_chunk_whose_original_and_probe_are_both_lost_is_repeated_once() {
    let (mut sender, mut receiver) = (sender(8, 20), Receiver::new(&Host::default()));
    poll_all(&mut sender, at(0));
    let mut last = Vec::new();
    let mut now = at(0);
    for _ in 0..2 {
        now = sender.timer_at().expect("in flight");
        sender.on_timer(now);
        last = poll_all(&mut sender, now);
    }
    // Of originals 0..8 and two pairs of probes only the very last one arrives; half of 20 packets
    // has room for every repeat at once.
    let mut arriving = vec![last[1]];
    let mut sent = Vec::new();
    while !sender.complete() {
        now = Time(now.0 + 30 * MS);
        for packet in std::mem::take(&mut arriving) {
            deliver(&mut receiver, &mut sender, now, packet);
        }
        arriving = poll_all(&mut sender, now);
        sent.extend(chunks(&arriving));
    }
    sent.sort_unstable();
    assert_eq!(
        sent,
        [0, 2, 3, 4, 5, 6, 7],
        "each chunk that never arrived is repeated exactly once"
    );
}

#[test]
fn an_ack_ends_the_backoff() {
    let (mut sender, mut receiver) = (sender(100, 2), Receiver::new(&Host::default()));
    poll_all(&mut sender, at(0));
    let mut now = at(0);
    let mut probes = Vec::new();
    for _ in 0..3 {
        now = sender.timer_at().expect("in flight");
        sender.on_timer(now);
        probes = poll_all(&mut sender, now);
    }
    let backed_off = sender.timer_at().expect("in flight").since(now).0;
    assert_eq!(backed_off, (115 * MS) << 3, "three timeouts double it three times");
    let heard = Time(now.0 + 30 * MS);
    for probe in probes {
        deliver(&mut receiver, &mut sender, heard, probe);
    }
    poll_all(&mut sender, heard);
    let timer = sender.timer_at().expect("in flight").since(heard).0;
    assert!(timer <= 115 * MS, "an ACK ends the backoff: the timer is {timer} ns away");
}

// ---- loss and persistent congestion, RFC 9002 sections 6.1 and 7.6 ----

#[test]
fn three_packets_later_is_lost_and_two_only_after_nine_eighths_of_a_round_trip() {
    let (mut sender, mut receiver) = (sender(20, 10), Receiver::new(&Host::default()));
    let flight = poll_all(&mut sender, at(0));
    deliver(&mut receiver, &mut sender, at(30), flight[2]);
    assert_eq!(sender.account().episodes().len(), 0, "two packets later is no sign of loss yet");
    // RFC9002 6.1.2-1: 9/8 of 30 ms after the packets were sent.
    assert_eq!(
        sender.timer_at(),
        Some(Time(33_750_000)),
        "the loss timer waits for the time threshold"
    );
    deliver(&mut receiver, &mut sender, at(31), flight[3]);
    let lost = sender.account().episodes().next().map(|episode| episode.lost);
    assert_eq!(
        lost,
        Some(DATAGRAM),
        "packet 0 is three behind packet 3: lost; packet 1 is not yet"
    );
    let due = sender.timer_at().expect("packet 1 is still waiting");
    let record = sender.on_timer(due).expect("time declares a loss");
    assert_eq!((record.lost, record.acked), (DATAGRAM, 0), "packet 1 is lost by time");
}

/// The default path falls silent in `[from, to)` ms. Returns timeouts that the controller saw, its
/// window just after the first, and the smallest RTT then.
fn outage(from: u64, to: u64) -> (u32, Option<u64>, Option<u64>) {
    let trial = Trial::new(path("rapid-slide"), "slowstart/reno/immediate", 20_000_000);
    let silent = Trial { path: dead(&trial.path), ..trial.clone() };
    let (mut spare, _) = silent.links();
    let (mut timeouts, mut window, mut min_rtt, mut down) = (0, None, None, false);
    trial.steps(trial.links(), |now, flow, forward| {
        if (from * MS..to * MS).contains(&now) != down {
            std::mem::swap(forward, &mut spare);
            down = !down;
        }
        let seen = flow.sender().controller().stats().timeouts;
        if seen > timeouts && window.is_none() {
            // The step has sent two packets at most since: the window is as the timeout left it.
            window = Some(flow.sender().controller().cwnd());
            min_rtt = flow.sender().min_rtt().map(|rtt| rtt.0);
        }
        timeouts = seen;
    });
    (timeouts, window, min_rtt)
}

#[test]
fn an_outage_of_seconds_is_persistent_congestion_and_one_of_a_round_trip_is_not() {
    // RFC9002 7.6.2-1, 5.2-3.
    let (timeouts, window, min_rtt) = outage(500, 5_500);
    assert_eq!(
        (timeouts, window),
        (1, Some(2 * DATAGRAM)),
        "five seconds of silence leave the minimum window, once"
    );
    assert!(min_rtt >= Some(30 * MS), "the smallest RTT restarts at the newest sample");
    let (timeouts, ..) = outage(500, 530);
    assert_eq!(timeouts, 0, "one round trip of silence is ordinary loss");
}

#[test]
fn silence_right_after_the_handshake_counts_because_the_handshake_gave_a_sample() {
    // RFC9002 7.6.2-2: both ends of the silence were sent after the first RTT sample, which is the
    // handshake's, at 0 ms.
    let (mut sender, mut receiver) = (sender(100, 10), Receiver::new(&Host::default()));
    poll_all(&mut sender, at(1));
    let (mut now, mut probes) = (at(1), Vec::new());
    for _ in 0..3 {
        now = sender.timer_at().expect("in flight");
        sender.on_timer(now);
        probes = poll_all(&mut sender, now);
    }
    deliver(&mut receiver, &mut sender, Time(now.0 + 30 * MS), probes[1]);
    let controller = sender.controller();
    assert_eq!(
        (controller.stats().timeouts, controller.cwnd()),
        (1, 2 * DATAGRAM),
        "the first flight and two pairs of probes are lost"
    );
}

// ---- false alarms, RFC 9438 section 4.9 ----

#[test]
fn a_loss_that_proves_false_gives_the_window_back() {
    let (mut sender, mut receiver) = (sender(40, 10), Receiver::new(&Host::default()));
    let flight = poll_all(&mut sender, at(0));
    deliver(&mut receiver, &mut sender, at(30), flight[3]);
    assert_eq!(
        sender.controller().cwnd(),
        5 * DATAGRAM,
        "packet 0 counts as lost and the window is halved"
    );
    deliver(&mut receiver, &mut sender, at(31), flight[0]);
    assert_eq!(sender.counters().spurious_losses, 1, "packet 0 was only late");
    assert_eq!(
        (sender.controller().cwnd(), sender.controller().ssthresh()),
        (10 * DATAGRAM, None),
        "everything is as before"
    );
    assert!(sender.controller().exit().is_none(), "and startup has not ended");
}

#[test]
fn a_late_packet_of_an_earlier_episode_excuses_no_later_loss() {
    let (mut sender, mut receiver) = (sender(200, 10), Receiver::new(&Host::default()));
    let first = poll_all(&mut sender, at(0));
    // Packets 0 and 1 are declared lost: the episode is false only if both turn up.
    deliver(&mut receiver, &mut sender, at(30), first[4]);
    for (ms, packet) in (31..).zip(&first[5..]) {
        deliver(&mut receiver, &mut sender, at(ms), *packet);
    }
    let second = poll_all(&mut sender, at(40));
    deliver(&mut receiver, &mut sender, at(70), second[0]);
    let third = poll_all(&mut sender, at(71));
    assert!(third.len() + second.len() >= 5, "enough packets for another loss");
    let later: Vec<Transmit> = second[1..].iter().chain(&third).copied().collect();
    deliver(&mut receiver, &mut sender, at(101), later[3]);
    assert_eq!(sender.controller().stats().loss_episodes, 2, "a second episode has begun");
    let cut = sender.controller().cwnd();
    deliver(&mut receiver, &mut sender, at(102), first[0]);
    assert_eq!(
        sender.controller().stats().undone,
        0,
        "a packet of the first episode says nothing about the second"
    );
    assert!(sender.controller().cwnd() <= cut, "the window stays cut");
}

// ---- application limit, RFC 9002 section 7.8 ----

#[test]
fn the_tail_of_an_object_does_not_grow_the_window() {
    // One full window and a little more: once the data is out and less than half of the window is
    // in flight, growth stops.
    let (mut sender, mut receiver) = (sender(12, 10), Receiver::new(&Host::default()));
    let mut flight = poll_all(&mut sender, at(0));
    deliver(&mut receiver, &mut sender, at(30), flight[0]);
    flight.extend(poll_all(&mut sender, at(30)));
    assert_eq!(flight.len(), 12, "the rest leaves with the first ACK");
    let mut windows = vec![sender.controller().cwnd()];
    for (ms, packet) in (31..).zip(&flight[1..]) {
        deliver(&mut receiver, &mut sender, at(ms), *packet);
        poll_all(&mut sender, at(ms));
        windows.push(sender.controller().cwnd());
    }
    let most = *windows.last().expect("windows were noted");
    assert!(sender.complete(), "everything is acknowledged");
    assert!(
        most < 22 * DATAGRAM,
        "doubling would have reached 22 packets, the window ends at {most} B"
    );
    assert_eq!(
        windows[windows.len() - 3..],
        [most; 3],
        "the last ACKs find a window that nobody uses"
    );
}
