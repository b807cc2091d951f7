//! The data that a TCP sender believes to be in the network compared with the data that is there,
//! the causes of packet drops, and a receiver that compresses SACKs.

use crate::hosts;

use firstflight::detection::presets::Preset;
use firstflight::detection::{Flags, Scoreboard};
use firstflight::{Nanos, Time};
use firstflight_sim::outcome::Drops;
use firstflight_sim::tcp::{
    AckPacket, Board, Flow, Host, Receiver, SackCompression, Segment, Sender,
};
use firstflight_sim::{App, Hosts, Nobody, Setup, Stop, run};
use hosts::{MS, SECOND, controller, path, plan, shared, together};

const MSS: u64 = 1448;

// ---- the pipe ----

/// Bytes that count as in the network although the path has dropped them, which the sender cannot
/// know yet.
fn dropped_unnoticed(board: &Board) -> u64 {
    let mut bytes = 0;
    let mut id = board.first();
    while id < board.next() {
        let flags = board.flags(id);
        if !flags.has(Flags::SACKED) && !flags.has(Flags::LOST) && board.was_dropped(id) {
            bytes += board.len(id);
        }
        id = id.next();
    }
    bytes
}

/// Largest pipe, and the largest that is left of it without drops that are not noticed yet.
fn largest_pipe(arm: &str, text: &str) -> (u64, u64) {
    let path = path(text);
    let host = Host::default();
    let (mut forward, mut reverse) =
        path.links(host.mss + host.header, host.header, 1, 0).expect("it carries full packets");
    let controller = controller(arm, Hosts::Tcp(host), Nanos::ZERO);
    let sender = Sender::new(host, controller, 2 * MSS, 10_000_000, Nanos(path.rtt()), Time(0));
    let mut flow = Flow::new(0, host, sender, 10_000_000);
    flow.begin(0, &mut forward, &mut Nobody);
    let (mut now, mut believed, mut real) = (0, 0, 0);
    while !flow.complete() {
        now = flow.next_event().max(now);
        flow.step(now, &mut forward, &mut reverse, &mut Nobody);
        let pipe = flow.sender().inflight();
        believed = believed.max(pipe);
        real = real.max(pipe - dropped_unnoticed(flow.sender().board()));
    }
    (believed, real)
}

#[test]
fn what_the_pipe_holds_beyond_path_and_queue_was_dropped_and_not_yet_noticed() {
    // Path and queue hold 500 packets; CUBIC's target after slow start is 700, and the pipe goes
    // there. RACK forgets the original of a segment that it repeats, so nothing is counted
    // twice.
    let text = "rate=100Mbit,rtt=30ms,queue=30ms";
    let holds = 500 * MSS;
    for arm in [
        "slowstart",
        "slowstart/cubic/sack",
        "slowstart/cubic/sack(lost=ignore)",
        "slowstart/cubic/halving",
    ] {
        let (believed, real) = largest_pipe(arm, text);
        assert!(
            believed > holds + 150 * MSS,
            "{arm}: the pipe reaches only {believed} bytes, so this test shows nothing"
        );
        // One round trip holds beside the queue: the packet in service, and ACKs that wait for
        // a second segment.
        assert!(
            real <= holds + 8 * MSS,
            "{arm}: {real} bytes believed to be under way and not dropped, where {holds} fit"
        );
    }
}

#[test]
fn a_repeat_lost_again_is_what_makes_rfc_6675_lose_twice_as_much_where_nobody_hears_of_it() {
    // The kernel's TCP never cuts twice in an episode; by RFC 5681 section 4.3 the loss of a repeat
    // is a second sign of congestion.
    let path = path("rate=100Mbit,rtt=30ms,queue=30ms");
    let lost = |arm: &str| {
        let host = Hosts::Tcp(Host::default());
        let setup = Setup {
            path: &path,
            host,
            pacer_burst: 2 * MSS,
            object: 10_000_000,
            limit: Nanos(60 * SECOND),
            seed: 1,
            path_index: 0,
        };
        run(&setup, controller(arm, host, Nanos::ZERO), None)
            .expect("the path carries full packets")
            .counters
            .packets_lost
    };
    let (heard, ignored) =
        (lost("slowstart/cubic/sack"), lost("slowstart/cubic/sack(lost=ignore)"));
    assert!(
        ignored > heard * 3 / 2,
        "{heard} packets lost if a lost repeat cuts again, {ignored} if not"
    );
}

#[test]
fn a_hundred_flows_in_timeouts_do_not_overload_their_bottleneck() {
    // Five packets of path and queue for each flow. RFC 6675 leaves lost repeats to the timeout;
    // while it is waited for, and in the recovery after it, SACKs alone must grow no window.
    let path = path("rate=100Mbit,rtt=30ms,queue=30ms");
    let host = Hosts::Tcp(Host::with_preset(*Preset::named("sack6675").expect("the table has it")));
    let plans = (0..100)
        .map(|flow| plan("slowstart", host, App::Bulk(1 << 40), Nanos(flow * MS)))
        .collect();
    let outcome = together(&shared(&path, host, 10 * SECOND), plans);
    let sum =
        |what: fn(&firstflight_sim::Outcome) -> u64| outcome.flows.iter().map(what).sum::<u64>();
    let (sent, dropped) =
        (sum(|flow| flow.counters.packets_sent), sum(|flow| flow.counters.packets_dropped));
    assert!(dropped * 10 < sent, "{dropped} of {sent} packets are dropped");
}

// ---- why ----

type OfCause = fn(&Drops) -> u64;

#[test]
fn every_drop_has_one_cause_and_the_causes_add_up() {
    let rows: [(&str, OfCause); 4] = [
        ("rate=20Mbit,rtt=40ms,queue=0.5bdp", |drops| drops.queue),
        ("rate=20Mbit,rtt=40ms,queue=unlimited,loss=2%", |drops| drops.random),
        ("rate=20Mbit,rtt=40ms,queue=unlimited,policer=5Mbit:30ms", |drops| drops.policer),
        ("rate=20Mbit,rtt=40ms,queue=unlimited,codel", |drops| drops.aqm),
    ];
    for host in [Hosts::default(), Hosts::Tcp(Host::default())] {
        for (text, of_cause) in rows {
            let path = path(text);
            let setup = Setup {
                path: &path,
                host,
                pacer_burst: 2 * MSS,
                object: 3_000_000,
                limit: Nanos(600 * SECOND),
                seed: 1,
                path_index: 0,
            };
            let outcome = run(&setup, controller("slowstart", host, Nanos::ZERO), None)
                .expect("the path carries full packets");
            let (drops, transport) = (outcome.drops, host.transport());
            assert!(
                of_cause(&drops) > 0,
                "{text}, {transport}: the path drops something for its own reason"
            );
            assert_eq!(
                of_cause(&drops),
                drops.total(),
                "{text}, {transport}: and for no other: {drops:?}"
            );
            assert_eq!(
                drops.total(),
                outcome.counters.packets_dropped,
                "{text}, {transport}: every drop is counted once"
            );
        }
    }
}

// ---- cross traffic ----

#[test]
fn a_trial_ends_with_the_last_flow_that_ends_and_cross_traffic_is_incomplete() {
    let path = path("rate=20Mbit,rtt=40ms,queue=1bdp");
    for host in [Hosts::default(), Hosts::Tcp(Host::default())] {
        let plans = vec![
            plan("slowstart", host, App::Endless, Nanos::ZERO),
            plan("slowstart", host, App::Bulk(2_000_000), Nanos(1500 * MS)),
            plan("slowstart", host, App::Bulk(1_000_000), Nanos(2 * SECOND)),
        ];
        let outcome = together(&shared(&path, host, 600 * SECOND), plans);
        let stops: Vec<Stop> = outcome.flows.iter().map(|flow| flow.stop).collect();
        assert_eq!(
            stops,
            [Stop::TimeLimit, Stop::Complete, Stop::Complete],
            "{}",
            host.transport()
        );
        let ends: Vec<u64> = outcome
            .flows
            .iter()
            .zip([0, 1500, 2000])
            .map(|(flow, start)| flow.acked_after.0 + start * MS)
            .collect();
        assert!(
            ends[0].abs_diff(ends[1].max(ends[2])) < 40 * MS,
            "cross traffic stops with the last of the others: {ends:?}"
        );
        assert!(
            outcome.flows[0].delivered > 1_000_000,
            "it was there: {} bytes",
            outcome.flows[0].delivered
        );
    }
}

// ---- SACK compression ----

/// Hands segments to a receiver, one per millisecond from 1 ms on; which of them are answered at
/// once, and with how many blocks.
fn answers(receiver: &mut Receiver, segments: &[u64]) -> Vec<Option<u8>> {
    let segment =
        |number: u64| Segment { from: number * MSS, len: MSS as u32, ..Segment::default() };
    let answer = |(place, number): (u64, &u64)| {
        receiver.on_segment(Time((1 + place) * MS), &segment(*number)).map(|ack| ack.count)
    };
    (0..).zip(segments).map(answer).collect()
}

fn compressing(hold: u64, most: u32) -> Receiver {
    Receiver::new(&Host { comp_sack: Some(SackCompression { hold, most }), ..Host::default() })
}

#[test]
fn the_first_three_sacks_leave_at_once_and_later_ones_are_held() {
    let mut receiver = compressing(10 * MS, 44);
    // Segment 0 is missing; 8 extends the block, 0 fills the hole.
    let answered = answers(&mut receiver, &[1, 2, 3, 4, 5]);
    assert_eq!(answered, [Some(1), Some(1), Some(1), None, None], "three at once, then none");
    assert_eq!(
        receiver.ack_due(),
        Some(Time(4 * MS + 10 * MS)),
        "the first that is held starts the clock"
    );
    let held: AckPacket = receiver.acknowledge(Time(14 * MS));
    assert_eq!((held.count, held.sacks()[0].to), (1, 6 * MSS), "one ACK tells all of it");
    assert_eq!(receiver.ack_due(), None, "and nothing is owed then");
    assert_eq!(answers(&mut receiver, &[6]), [None], "the gap is the same: three were enough");
    assert_eq!(
        answers(&mut receiver, &[0]),
        [Some(0)],
        "what moves the acknowledgement number is said at once"
    );
    assert_eq!(answers(&mut receiver, &[8, 9]), [Some(1), Some(1)], "a new gap counts anew");
}

#[test]
fn no_more_than_so_many_sacks_are_held_and_no_block_is_forgotten_unreported() {
    let mut receiver = compressing(10 * MS, 2);
    let answered = answers(&mut receiver, &[1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(
        answered,
        [Some(1), Some(1), Some(1), None, None, Some(1), None],
        "two held, then one that tells"
    );
    // Every second segment is missing: each makes a block of its own, of which an ACK tells three.
    let mut receiver = compressing(10 * MS, 44);
    let answered = answers(&mut receiver, &[1, 3, 5, 7, 9, 11]);
    assert_eq!(
        answered,
        [Some(1), Some(2), Some(3), None, Some(3), Some(3)],
        "what is held is told before another block pushes it out"
    );
}

#[test]
fn without_compression_every_segment_out_of_order_is_answered() {
    let mut receiver = Receiver::new(&Host::default());
    assert!(
        answers(&mut receiver, &[1, 2, 3, 4, 5, 6]).iter().all(Option::is_some),
        "RFC 5681 section 4.2"
    );
}

/// Shows RFC7323 5.3-R1, LINUX paws-dsack.
#[test]
fn a_segment_older_than_the_one_that_is_echoed_is_discarded() {
    let segment = |number: u64, stamp: u32| Segment {
        from: number * MSS,
        len: MSS as u32,
        stamp,
        ..Segment::default()
    };
    let mut receiver = Receiver::new(&Host::default());
    assert_eq!(receiver.on_segment(Time(70 * MS), &segment(0, 50)), None, "a repeat, in order");
    let ack = receiver.on_segment(Time(71 * MS), &segment(1, 20)).expect("an ACK at once");
    assert_eq!(
        (ack.ack, ack.count, ack.echo),
        (MSS, 0, 50),
        "the late original behind it is not taken"
    );
    let ack = receiver.on_segment(Time(72 * MS), &segment(0, 19)).expect("an ACK at once");
    assert!(ack.dsack, "the late original of the repeat is reported as a duplicate");
    assert_eq!((ack.blocks[0].from, ack.blocks[0].to), (0, MSS), "with its bytes");
    _ = receiver.on_segment(Time(73 * MS), &segment(1, 49));
    assert_eq!(receiver.delivered(), 2 * MSS, "a tick earlier is tolerated");

    let mut receiver = Receiver::new(&Host { timestamps: false, ..Host::default() });
    _ = receiver.on_segment(Time(70 * MS), &segment(0, 50));
    _ = receiver.on_segment(Time(71 * MS), &segment(1, 20));
    assert_eq!(receiver.delivered(), 2 * MSS, "without timestamps nobody can tell");
}
