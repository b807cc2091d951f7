//! Rapid Start in a controller: jump, growth, the first recovery from entry to hand-over, and
//! HyStart++ beside it. Row numbers are those of our table of vectors for
//! draft-kazuho-ccwg-rapid-start-02; the window rule alone is in `rapid_recovery.rs`.

use crate::hand_fed;
use crate::hooks;
use crate::told::Told;

use firstflight::event::Context;
use firstflight::signal::rtt_floor::RttFloor;
use firstflight::startup::rapid_start::{Params, RapidStart, Threshold};
use firstflight::startup::{Grown, Pacing, Startup};
use firstflight::{ExitReason, Nanos, Phase, Rate, Ratio, Ready, Seq, Time, Window};
use hand_fed::{MS, MSS, RTT, Usual, config, usual};

const IW: u64 = 30 * MSS;

fn no_jump() -> RapidStart {
    RapidStart::new(firstflight::with!(Params { jump: None, ..Params::default() }))
}

fn context(paced: bool, limited: bool) -> Context {
    firstflight::with!(Context { iw: IW, paced, limited, ..hooks::quic(MSS) })
}

/// Growth by one ACK of 1000 bytes after these samples, given as (ms since the start, RTT in ns).
fn growth(samples: &[(u64, u64)], cx: &Context) -> u64 {
    let mut rapid = no_jump();
    rapid.start(Time(0), Seq(0));
    for &(at, rtt) in samples {
        rapid.on_rtt(Time(at * MS), Nanos(rtt), cx);
    }
    let mut w = Window { cwnd: IW, ssthresh: u64::MAX };
    let grown = rapid.grow(&Told { acked: 1_000, ..Told::default() }.ack(), 1_000, &mut w, cx);
    assert_eq!(grown, Grown::default(), "there is no threshold to stop at");
    w.cwnd - IW
}

/// Shows RAPID 3.1.2-1.
#[test]
fn later_rounds_may_be_spread_over_their_round_trip() {
    let cx = context(true, true);
    // (spread, RTTs in ms) -> pacing gain
    let rows = [
        (false, vec![30], Ratio::new(3, 1)),
        (false, vec![30, 60], Ratio::new(2, 1)),
        (true, vec![30], Ratio::new(33, 20)),
        (true, vec![30, 60], Ratio::new(33, 20)),
    ];
    for (spread, rtts, expected) in rows {
        let mut rapid = RapidStart::new(firstflight::with!(Params {
            jump: None,
            full_rtt_pacing: spread,
            ..Params::default()
        }));
        rapid.start(Time(0), Seq(0));
        for (n, rtt) in rtts.iter().enumerate() {
            rapid.on_rtt(Time(n as u64 * 100 * MS), Nanos::from_millis(*rtt), &cx);
        }
        assert_eq!(rapid.pacing(), Pacing::Gain(expected), "spread {spread}, RTTs {rtts:?} ms");
    }
    // 33/20: what grows threefold over a round trip while the pacer sends a window per round trip
    // needs at least ln 3 / (1 - 1/3) = 1.648, or the pacer and not the window would set the
    // growth.
    let mut flow = usual(
        RapidStart::new(firstflight::with!(Params {
            jump: None,
            full_rtt_pacing: true,
            ..Params::default()
        })),
        config(false),
    );
    flow.c.on_handshake_rtt(Time(0), RTT);
    assert_eq!(
        flow.c.pacing_rate(),
        Some(Rate(IW * 33 / 20 * 10)),
        "30 packets, times 1.65, per 100 ms"
    );
}

/// Shows RAPID 3.2-3.
#[test]
fn row_1_a_queue_is_4_ms_or_a_tenth_whichever_is_less() {
    // (min_rtt ms, the draft's threshold in us, the reference implementation's)
    let rows = [
        (8, 8_800, 12_000),
        (10, 11_000, 14_000),
        (30, 33_000, 34_000),
        (40, 44_000, 44_000),
        (100, 104_000, 109_375),
        (600, 604_000, 656_250),
    ];
    for (min_rtt, draft, quicly) in rows {
        let found = [Threshold::Draft, Threshold::Quicly]
            .map(|threshold| threshold.of(Nanos::from_millis(min_rtt)).micros());
        assert_eq!(found, [draft, quicly], "min_rtt {min_rtt} ms");
    }
}

/// Shows RAPID 3.2-1, RAPID 3.2-2.
#[test]
fn rows_2_and_3_growth_is_threefold_while_the_floor_of_the_last_round_is_low() {
    let rows = [
        ("2: at the threshold", vec![(0, 30 * MS), (60, 33 * MS)], 2_000),
        ("2: above it", vec![(0, 30 * MS), (60, 33 * MS + 1)], 1_000),
        ("3: one sample", vec![(0, 16 * MS)], 2_000),
        ("3: raised, with a low one still in the window", vec![(0, 16 * MS), (11, 21 * MS)], 2_000),
        ("3: the low one aged out", vec![(0, 16 * MS), (17, 21 * MS)], 1_000),
        ("3: and low again: not latched", vec![(0, 16 * MS), (17, 21 * MS), (20, 16 * MS)], 2_000),
        ("3: no sample", vec![], 1_000),
    ];
    for (row, samples, expected) in rows {
        assert_eq!(growth(&samples, &context(true, true)), expected, "row {row}");
    }
}

/// Shows RAPID 3.2-1.
#[test]
fn row_4_an_unused_window_does_not_grow_and_without_a_pacer_growth_is_that_of_slow_start() {
    let low = [(0, 30 * MS)];
    assert_eq!(growth(&low, &context(true, true)), 2_000, "no queue");
    assert_eq!(growth(&low, &context(true, false)), 0, "the window was not the limit");
    assert_eq!(
        growth(&low, &context(false, true)),
        1_000,
        "three times the window would leave as one burst"
    );
}

/// Shows RAPID 3.2-5.
#[test]
fn the_floor_covers_three_quarters_to_one_smallest_rtt() {
    // (ms of the low sample, ms of the raised one, the floor in ms): slots of 10 ms, four of them.
    let rows = [(0, 29, 40), (0, 39, 40), (0, 40, 60), (9, 39, 40), (9, 40, 60), (5, 400, 60)];
    for (low, raised, expected) in rows {
        let mut floor = RttFloor::default();
        floor.start(Time(0));
        floor.on_rtt(Time(low * MS), Nanos(40 * MS));
        floor.on_rtt(Time(raised * MS), Nanos(60 * MS));
        assert_eq!(
            floor.floor(),
            Some(Nanos(expected * MS)),
            "a sample of 40 ms at {low} ms and one of 60 at {raised}"
        );
        assert_eq!(floor.min_rtt(), Some(Nanos(40 * MS)), "the minimum does not age");
    }
}

/// Shows RAPID 3.1.1-1, RAPID 3.1.1-2.
#[test]
fn row_16_the_jump_is_two_initial_windows_spread_over_one_rtt() {
    let mut flow = usual(RapidStart::new(Params::default()), config(false));
    flow.c.before_send(&flow.ready());
    assert_eq!(flow.c.cwnd(), 72_000, "twice 30 packets of 1200");
    assert_eq!(flow.c.pacing_rate(), Some(Rate(720_000)), "72 000 bytes per 100 ms");
    assert_eq!(flow.c.phase(), Phase::Jump);
    flow.now += 100 * MS;
    flow.c.before_send(&flow.ready());
    assert_eq!(flow.c.phase(), Phase::Startup, "one RTT later the spreading is over");
    assert_eq!(
        flow.c.pacing_rate(),
        Some(Rate(1_440_000)),
        "and the gain is that of slow start, since there is no sample yet"
    );
}

/// Shows RAPID 3.1.1-1, OURS jump-once.
#[test]
fn the_jump_needs_an_rtt_a_pacer_data_and_a_smaller_window() {
    let quic = config(false);
    let ready = usual(no_jump(), quic).ready();
    let rows = [
        ("all there is", quic, ready, 2 * IW),
        ("no RTT", quic, Ready { srtt: None, ..ready }, IW),
        ("no pacer", firstflight::with!(firstflight::Config { paced: false, ..quic }), ready, IW),
        ("less to send than the window holds", quic, Ready { backlog: IW - 1, ..ready }, IW),
        ("what is in flight counts", quic, Ready { backlog: IW - 1, inflight: 1, ..ready }, 2 * IW),
        ("after an idle period", quic, Ready { idle: Nanos(301 * MS), ..ready }, IW),
    ];
    for (row, config, ready, expected) in rows {
        let mut flow = usual(RapidStart::new(Params::default()), config);
        flow.c.before_send(&ready);
        assert_eq!(flow.c.cwnd(), expected, "{row}");
    }
    let mut grown = usual(RapidStart::new(Params::default()), quic);
    let no_rtt = Ready { srtt: None, ..ready };
    grown.c.before_send(&no_rtt);
    let ack = Told { rtt: None, ..grown.acked(IW) };
    assert_eq!(grown.ack(ack), 2 * IW, "a round of doubling");
    grown.c.before_send(&no_rtt);
    grown.c.before_send(&ready);
    assert_eq!(grown.c.cwnd(), 2 * IW, "a window that has grown there needs no jump");
}

/// Shows RAPID 3.1.1-3.
#[test]
fn row_17_the_first_ack_of_a_jump_packet_keeps_what_was_used() {
    // (in flight when it comes, the window before the growth of that ACK)
    for (inflight, kept) in [(50_000, 50_000), (20_000, IW), (80_000, 2 * IW)] {
        let mut flow = usual(RapidStart::new(Params::default()), config(false));
        flow.send(2);
        flow.c.before_send(&flow.ready());
        flow.send(58);
        flow.una = 2;
        let of_an_earlier_packet = Told { inflight_before: inflight, rtt: None, ..flow.acked(0) };
        assert_eq!(flow.ack(of_an_earlier_packet), 72_000, "packet 1 was sent before the jump");
        flow.una = 3;
        let first = Told { inflight_before: inflight, ..flow.acked(MSS) };
        assert_eq!(flow.ack(first), kept + 2 * MSS, "{inflight} bytes were in flight");
    }
}

fn in_flight(bytes: u64, tcp: bool) -> Usual<RapidStart> {
    let mut flow =
        usual(no_jump(), firstflight::with!(firstflight::Config { paced: true, ..config(tcp) }));
    let first = flow.acked(0);
    flow.ack(first);
    flow.c.on_handshake_rtt(Time(0), Nanos(200 * MS));
    while flow.c.cwnd() < bytes {
        let ack = Told { rtt: None, ..flow.acked((bytes - flow.c.cwnd()).div_ceil(2)) };
        flow.ack(ack);
    }
    assert_eq!(flow.c.cwnd(), bytes, "the window this test starts from");
    flow.send(bytes / MSS);
    flow
}

/// Shows RAPID 3.3-1, RAPID 3.3-2.
#[test]
fn the_first_loss_charges_its_own_ack_and_nothing_grows_before() {
    let mut flow = in_flight(120_000, false);
    let ack = flow.lost(2_400, 1_200);
    // s * pre - a * acked - l * lost with s = l = 9/10 and a = 2/10.
    assert_eq!(
        flow.ack(ack),
        (9 * 120_000 - 2 * 2_400 - 9 * 1_200) / 10,
        "the ACK that reveals the loss"
    );
    assert_eq!(flow.c.ssthresh(), Some(flow.c.cwnd()), "threshold and window are one throughout");
    assert_eq!(
        flow.c.exit().map(|exit| (exit.reason, exit.detect_cwnd)),
        Some((ExitReason::Loss, 120_000))
    );
    assert!(
        !flow.c.admits(1_200, 120_000) && flow.c.admits(1_200, flow.c.cwnd() - 1_200),
        "the plain window test is all there is"
    );
}

/// Shows OURS rapid-pre.
#[test]
fn row_11_an_unused_part_of_the_window_does_not_survive() {
    let mut flow = in_flight(120_000, false);
    let ack = Told { ce: true, inflight_before: 60_000, ..flow.acked(0) };
    assert_eq!(flow.ack(ack), 54_000, "nine tenths of the 60 000 in flight");
}

/// Shows RAPID 3.3-end.
#[test]
fn in_quic_it_ends_with_a_packet_sent_after_entry_which_is_not_charged_and_grows_nothing() {
    let mut flow = in_flight(120_000, false);
    let ack = flow.lost(0, 1_200);
    flow.ack(ack);
    let mark = flow.nxt;
    flow.una = mark;
    let all_before = flow.acked(60_000);
    let window = flow.ack(all_before);
    assert!(
        flow.c.in_recovery(),
        "everything sent before entry is acknowledged and no packet sent after it"
    );
    flow.send(1);
    flow.una = mark + 1;
    let after = flow.acked(1_200);
    assert_eq!(flow.ack(after), window, "it was no part of the flight at entry");
    assert!(!flow.c.in_recovery(), "over");
    assert_eq!(flow.c.phase(), Phase::Avoidance);
    // Charged no more, and not a new event either: these packets were sent before entry.
    let late = Told { tx_lost: Some(mark - 1), ..flow.lost(0, 12_000) };
    assert_eq!(flow.ack(late), window, "a late loss of before");
    let grows = flow.acked(1_200);
    flow.ack(grows);
    let w_max = hooks::signal("w_max", |visit| flow.c.signals(visit));
    assert_eq!(
        w_max,
        Some(window * 10 / 7),
        "row 18 without fast convergence: the path held cwnd / beta"
    );
}

/// The closing ACK pays for what it brings of the flight at entry and declares lost of it.
/// Shows RAPID 3.3.1-flight.
#[test]
fn the_ack_that_ends_it_is_charged_for_the_flight_at_entry_alone() {
    // (acknowledged by it, of these sent after entry, lost) -> charged, in tenths of bytes: a =
    // 2/10, l = 9/10
    for (acked, fresh, lost, charge) in [
        (1_200, 1_200, 0, 0),
        (12_000, 7_200, 0, 2 * 4_800),
        (12_000, 0, 0, 2 * 12_000),
        (4_800, 4_800, 2_400, 9 * 2_400),
    ] {
        let mut flow = in_flight(120_000, false);
        let ack = flow.lost(0, 1_200);
        flow.ack(ack);
        let (mark, old) = (flow.nxt, Told { acked_fresh: 0, ..flow.acked(60_000) });
        let window = flow.ack(old);
        flow.send(1);
        flow.una = mark + 1;
        let last = Told { acked_fresh: fresh, ..flow.lost(acked, lost) };
        assert_eq!(
            flow.ack(last),
            window - charge / 10,
            "{acked} bytes acknowledged, {fresh} of them sent after entry, {lost} lost"
        );
        assert!(!flow.c.in_recovery(), "over");
    }
    // TCP cannot tell repeats from the rest: never more than what is open of the 120 000, here 120
    // 000 - 12 000 - 106 800.
    let mut flow = in_flight(120_000, true);
    let ack = flow.lost(0, 12_000);
    flow.ack(ack);
    let entry = flow.tx_next;
    let old = Told { tx_acked: Some(entry - 1), advanced: false, ..flow.acked(106_800) };
    let window = flow.ack(old);
    flow.tx_next += 1;
    let last = Told { tx_acked: Some(entry), advanced: false, ..flow.acked(4_800) };
    assert_eq!(
        flow.ack(last),
        window - 240,
        "1200 of the 4800 bytes can be of the flight at entry"
    );
}

/// The landing is beta times what arrived of the flight, however much of the next one the closing
/// ACK brings.
/// Shows RAPID 3.3.1-flight.
#[test]
fn what_the_closing_ack_brings_of_the_next_flight_does_not_move_the_landing() {
    for tcp in [false, true] {
        for later in [1, 2, 10, 64] {
            let mut flow = in_flight(120_000, tcp);
            // Half arrives, half is lost, all of it before the end.
            let ack = flow.lost(0, 60_000);
            flow.ack(ack);
            let (mark, entry) = (flow.nxt, flow.tx_next);
            let old = Told {
                acked_fresh: 0,
                tx_acked: Some(entry - 1),
                advanced: !tcp,
                ..flow.acked(60_000)
            };
            flow.ack(old);
            flow.send(later);
            if !tcp {
                flow.una = mark + later;
            }
            let last = Told { tx_acked: Some(entry), advanced: !tcp, ..flow.acked(later * MSS) };
            assert_eq!(
                flow.ack(last),
                42_000,
                "0.7 of the 60 000 that arrived, TCP {tcp}, {later} packets of the next flight"
            );
        }
    }
}

/// Shows RAPID 3.3-end, OURS rapid-repair.
#[test]
fn in_tcp_it_ends_with_a_transmission_after_entry_and_the_window_stands_until_the_holes_are_filled()
{
    let mut flow = in_flight(120_000, true);
    let ack = flow.lost(0, 12_000);
    flow.ack(ack);
    let (mark, entry) = (flow.nxt, flow.tx_next);
    let original = Told { tx_acked: Some(entry - 1), advanced: false, ..flow.acked(48_000) };
    let before = flow.ack(original);
    flow.tx_next += 1;
    let repeat = Told { tx_acked: Some(entry), advanced: false, ..flow.acked(1_200) };
    let landed = flow.ack(repeat);
    assert_eq!(
        landed,
        before - 240,
        "the first repeat to arrive ends the rule, una has not moved; for all that is known it was of the flight"
    );
    assert!(flow.c.in_recovery(), "holes are left");
    let room = flow.c.admits(MSS, landed - MSS);
    assert!(
        room && !flow.c.admits(MSS, landed),
        "the window alone says what may be sent meanwhile"
    );
    for (acked, lost) in [(12_000, 0), (1_200, 4_800), (24_000, 0)] {
        let ack = flow.lost(acked, lost);
        assert_eq!(flow.ack(ack), landed, "the window stands while the repair goes on");
    }
    flow.una = mark;
    let repaired = flow.acked(12_000);
    let grown = flow.ack(repaired) - landed;
    assert!((1..MSS).contains(&grown), "the ACK that completes the repair grows it by {grown}");
    assert!(!flow.c.in_recovery());
    let next = flow.acked(1_200);
    assert!(flow.ack(next) >= landed, "then avoidance");
}

/// Shows OURS rapid-undo.
#[test]
fn a_false_alarm_gives_the_window_back_but_not_the_algorithm() {
    let mut flow = in_flight(120_000, false);
    let ack = flow.lost(0, 1_200);
    flow.ack(ack);
    flow.c.on_spurious();
    assert_eq!(
        (flow.c.cwnd(), flow.c.ssthresh(), flow.c.exit()),
        (120_000, None, None),
        "as before the loss"
    );
    flow.send(10);
    flow.una = flow.nxt;
    let ack = flow.acked(1_200);
    assert_eq!(flow.ack(ack), 121_200, "classic slow start");
    flow.send(10);
    let loss = flow.lost(0, 1_200);
    flow.ack(loss);
    assert_eq!(flow.c.ssthresh(), Some(121_200 * 7 / 10), "the one recovery of its own is used up");
}

/// Shows RAPID 3.1-gain, RAPID 3.3-pacing.
#[test]
fn it_paces_at_three_while_growing_threefold_and_at_two_otherwise() {
    let mut flow = in_flight(120_000, false);
    let low = flow.acked(0);
    flow.ack(low);
    let gain = |flow: &Usual<RapidStart>| flow.c.pacing_rate().map(|rate| rate.0 / flow.c.cwnd());
    assert_eq!(
        (flow.c.phase(), gain(&flow)),
        (Phase::Rapid, Some(30)),
        "no queue: {RTT:?} per window, gain 3"
    );
    flow.now += 400 * MS;
    let queued = Told { rtt: Some(Nanos(150 * MS)), ..flow.acked(0) };
    flow.ack(queued);
    assert_eq!((flow.c.phase(), gain(&flow)), (Phase::Startup, Some(20)), "a queue: gain 2");
    let loss = flow.lost(0, 1_200);
    flow.ack(loss);
    assert_eq!(
        (flow.c.phase(), gain(&flow)),
        (Phase::Recovery, Some(20)),
        "its own recovery: gain 2"
    );
}

/// Rapid Start with HyStart++ beside it, two rounds of ten packets at 100 ms behind it and eight
/// samples at `rtt_ms` just seen.
fn with_hystart(rtt_ms: u64) -> Usual<RapidStart> {
    let params = firstflight::with!(Params { jump: None, then_hystart: true, ..Params::default() });
    let mut flow = usual(RapidStart::new(params), config(false));
    flow.send(10);
    for packet in 1..=28 {
        if packet % 10 == 0 {
            flow.send(10);
        }
        flow.una = packet;
        flow.now += 400 * MS;
        let rtt = if packet <= 20 { 100 } else { rtt_ms };
        let ack = Told { rtt: Some(Nanos(rtt * MS)), ..flow.acked(MSS) };
        flow.ack(ack);
    }
    flow
}

/// Shows RAPID 3.2-4.
#[test]
fn hystart_beside_it_slows_growth_before_a_loss_and_the_recovery_still_applies() {
    let mut flow = with_hystart(150);
    assert_eq!(flow.c.phase(), Phase::Css, "the RTT has risen by half");
    let before = flow.c.cwnd();
    flow.send(10);
    let ack = Told { rtt: None, ..flow.acked(4 * MSS) };
    assert_eq!(flow.ack(ack), before + MSS, "a quarter");
    let loss = flow.lost(0, MSS);
    assert_eq!(
        flow.ack(loss),
        (9 * (before + MSS) - 9 * MSS) / 10,
        "the first loss is still its own"
    );
}

/// Shows RAPID 3.2-4.
#[test]
fn after_a_false_alarm_hystart_goes_on_where_it_was() {
    let mut flow = with_hystart(150);
    let before = flow.c.cwnd();
    flow.send(10);
    let loss = flow.lost(0, MSS);
    flow.ack(loss);
    flow.c.on_spurious();
    assert_eq!((flow.c.cwnd(), flow.c.phase()), (before, Phase::Css), "the phase is back");
    flow.send(10);
    let ack = Told { rtt: None, ..flow.acked(4 * MSS) };
    assert_eq!(flow.ack(ack), before + MSS, "growth is that of the phase shown and paced for");
}
