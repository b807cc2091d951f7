//! Detectors on the vectors of the specification, row by row: sections are those of the
//! loss-detection rules (2 to 11) and of the recovery rules (R2 delivered data, R3 pipe, R4 and R12
//! RFC 6675 with its published figures).

use crate::detection_board;

use detection_board::{Board, Racked, assert_lost, at, ms};
use firstflight::detection::delivered::{DuplicateCredit, delivered};
use firstflight::detection::dupack::{DupAck, Header, Rule};
use firstflight::detection::early_retransmit::{
    Act, Clock, EarlyRetransmit, Flight, Measure, Options, Threshold,
};
use firstflight::detection::f_rto::{self, FRto, Start, Verdict};
use firstflight::detection::limited_transmit::{LimitedTransmit, Room, Wording};
use firstflight::detection::lost_repeat::LostRepeats;
use firstflight::detection::presets::{Bounds, PRESETS, Preset};
use firstflight::detection::quic::{
    self, Fate, Judgement, PersistentCongestion, Pto, QuicLoss, Rtt,
};
use firstflight::detection::rack::{Arrival, Facts, Found, Rack};
use firstflight::detection::reordering::Reordering;
use firstflight::detection::rto::{self, Response, Rto, Sent};
use firstflight::detection::tlp::{self, Kind, Outcome, Tail, Tlp};
use firstflight::detection::undo::{Accepts, LateAcks, Proof, Undo};
use firstflight::detection::{
    Armed, Choice, Episode, Flags, Id, NextSeg, RepeatRule, Rules, Scoreboard,
};
use firstflight::units::{Nanos, Seq, Time};

const MSS: u64 = 1000;

// ---------------------------------------------------------------------------------------------------------------- 2 order of work

/// Shows OURS detect-timer.
#[test]
fn one_timer_is_armed_by_priority_and_none_without_data() {
    let (r, e, p, t) = (Some(at(4)), Some(at(3)), Some(at(2)), Some(at(1)));
    let rows = [
        ("all", true, (r, e, p, t), Some(Armed::Reordering(at(4)))),
        ("no reordering", true, (None, e, p, t), Some(Armed::EarlyRetransmit(at(3)))),
        ("no early retransmit", true, (None, None, p, t), Some(Armed::Probe(at(2)))),
        ("timeout only", true, (None, None, None, t), Some(Armed::Rto(at(1)))),
        ("nothing outstanding", false, (r, e, p, t), None),
    ];
    for (what, outstanding, (r, e, p, t), expected) in rows {
        let armed = Armed::choose(outstanding, r, e, p, t);
        assert_eq!(armed, expected, "with {what} the timer is {armed:?}, not {expected:?}");
    }
    assert_eq!(Armed::Probe(at(2)).deadline(), at(2), "a timer fires at its deadline");
}

/// Shows OURS detect-order. The order is the endpoint's to keep; these are the neighbours that give
/// another answer the other way round.
#[test]
fn each_step_of_an_ack_needs_what_the_one_before_it_knows() {
    // 1 before 2: a sample ends the backoff before the timer restarts.
    let expired = || {
        let mut rto = Rto::new(rto::Options::default());
        rto.on_sent(at(0), ms(300));
        rto.on_expiry(at(300), ms(300), Episode::None, Sent { nxt: Seq(9 * MSS), tx_next: 9 });
        rto
    };
    let (mut kept, mut swapped) = (expired(), expired());
    kept.on_sample();
    kept.on_advance(at(400), ms(300), Seq(MSS), true);
    swapped.on_advance(at(400), ms(300), Seq(MSS), true);
    swapped.on_sample();
    assert_eq!(
        (kept.deadline(), swapped.deadline()),
        (Some(at(700)), Some(at(1000))),
        "the sample first, or the old backoff lives on"
    );

    // Within 2: what an ACK delivers was overtaken by what was delivered before it, not by what it
    // delivers itself.
    let (mut kept, mut swapped) = (Reordering::default(), Reordering::default());
    assert_eq!(
        kept.on_delivered(Seq(MSS), 1, Seq(MSS), MSS),
        None,
        "one ACK for segments 1 to 8 shows no reordering"
    );
    assert_eq!(
        swapped.on_delivered(Seq(MSS), 1, Seq(9 * MSS), MSS),
        Some(8),
        "with its own highest byte it would show eight"
    );

    // 4 before 5: what counting has marked opens an episode, in which early retransmit has no
    // business.
    let two = flight(2, 1);
    let clock = Clock { now: at(0), srtt: Some(ms(100)), rto: Some(at(300)), ece: false };
    let after_marks = Flight { episode: Episode::Fast, ..two };
    let (mut kept, mut swapped) = (EarlyRetransmit::default(), EarlyRetransmit::default());
    assert_eq!(kept.on_ack(&after_marks, &clock, false), Act::Nothing, "counting has repaired it");
    assert_eq!(
        swapped.on_ack(&two, &clock, false),
        Act::Now,
        "asked first, it would mark the same segment again"
    );
}

/// Shows OURS detect-ties. Which comes first is the endpoint's to say; this is what it decides.
#[test]
fn an_arrival_at_the_deadline_saves_the_timeout() {
    let armed = || {
        let mut rto = Rto::new(rto::Options::default());
        rto.on_sent(at(0), ms(300));
        rto
    };
    let (mut arrival_first, mut timer_first) = (armed(), armed());
    arrival_first.on_advance(at(300), ms(300), Seq(MSS), true);
    assert_eq!(
        (arrival_first.deadline(), arrival_first.backoff()),
        (Some(at(600)), 0),
        "nothing is due any more"
    );
    timer_first.on_expiry(at(300), ms(300), Episode::None, Sent { nxt: Seq(9 * MSS), tx_next: 9 });
    timer_first.on_advance(at(300), ms(300), Seq(MSS), true);
    assert_eq!(timer_first.backoff(), 1, "the other way round the timeout has happened");
    assert_eq!(timer_first.loss_end(), Some(Seq(9 * MSS)), "and everything sent is in doubt");
}

// -------------------------------------------------------------------------------------------------
// 3.1 duplicate ACKs, 3.2 rules

/// Shows RFC5681 2-dup.
#[test]
fn a_duplicate_without_sack_repeats_the_last_acknowledgement_and_nothing_else() {
    let plain = Header {
        ack: Seq(7),
        una: Seq(7),
        outstanding: true,
        carries_data: false,
        window_changed: false,
    };
    let rows = [
        ("plain", plain, true),
        ("nothing outstanding", Header { outstanding: false, ..plain }, false),
        ("carries data", Header { carries_data: true, ..plain }, false),
        ("advances", Header { ack: Seq(8), ..plain }, false),
        ("old", Header { ack: Seq(6), ..plain }, false),
        ("window update", Header { window_changed: true, ..plain }, false),
    ];
    for (what, header, expected) in rows {
        assert_eq!(
            header.is_duplicate(),
            expected,
            "an ACK ({what}) counts as duplicate: expected {expected}"
        );
    }
}

/// Shows RFC6675 2-dup.
#[test]
fn an_ack_that_advances_and_sacks_is_a_duplicate_only_with_sack() {
    for (rule, expected) in
        [(Rule::Duplicates, 0), (Rule::Rfc3517, 1), (Rule::Rfc6675, 1), (Rule::Fack, 1)]
    {
        let mut detector = DupAck::new(rule);
        detector.count(false, true);
        detector.count(true, true);
        assert_eq!(
            detector.dupacks(),
            expected,
            "{rule:?} counts {} duplicates, not {expected}",
            detector.dupacks()
        );
    }
}

/// One ACK that SACKs `sacks` of six segments, as the `acks`-th duplicate.
fn one_ack(
    rule: Rule,
    reordering: Reordering,
    lengths: &[u64],
    sacks: &[u64],
    acks: u32,
) -> (Board, bool, u64) {
    let mut board = Board::new(RepeatRule::KeepsMark);
    for &len in lengths {
        board.send(len, Time(0));
    }
    let mut detector = DupAck::new(rule);
    for &id in sacks {
        assert!(board.mark_sacked(Id(id)), "segment {id} is new");
        detector.on_sacked(&board, Id(id));
    }
    for _ in 0..acks {
        detector.count(false, true);
    }
    let found = detector.detect(&mut board, reordering, MSS, Episode::None, false);
    (board, found.enter, found.losses.segments)
}

/// What, rule, lengths of the segments, SACKed ones, duplicate ACKs; an episode opens, marked ones.
type Row = (&'static str, Rule, &'static [u64], &'static [u64], u32, bool, &'static [u64]);

/// Shows OURS detect-head, RFC5681 3.2-third, RFC3517 4-IsLost, RFC3517 5-entry, RFC6675 4-IsLost,
/// RFC6675 5-entry, LINUX fack-mark.
#[test]
fn the_head_is_lost_when_the_rule_says_so() {
    let six: &'static [u64] = &[MSS; 6];
    // Three segments above the head of 2 * mss + 1 and 2 * mss bytes together, in two ranges at
    // most.
    let (over, exact): (&'static [u64], &'static [u64]) =
        (&[MSS, MSS, MSS, 1], &[MSS, MSS, MSS - 1, 1]);
    #[rustfmt::skip]
    let rows: &[Row] = &[
        // what                     rule             lengths SACK        dup  enters  marked
        ("one far",                 Rule::Fack,       six,   &[3],        1,  true,   &[0]),
        ("one far",                 Rule::Rfc6675,    six,   &[3],        1,  false,  &[]),
        ("one far",                 Rule::Rfc3517,    six,   &[3],        1,  false,  &[]),
        ("one near",                Rule::Fack,       six,   &[2],        1,  false,  &[]),
        ("three ranges",            Rule::Rfc6675,    six,   &[1, 3, 5],  1,  true,   &[0]),
        ("three ranges, any order", Rule::Rfc6675,    six,   &[5, 1, 3],  1,  true,   &[0]),
        ("three ranges",            Rule::Fack,       six,   &[1, 3, 5],  1,  true,   &[0, 2]),
        ("two ranges",              Rule::Rfc6675,    six,   &[1, 5],     1,  false,  &[]),
        ("two joined by a third",   Rule::Rfc6675,    exact, &[1, 3, 2],  1,  false,  &[]),
        ("three in a row",          Rule::Rfc6675,    six,   &[1, 2, 3],  3,  true,   &[0]),
        ("three in a row",          Rule::Rfc3517,    six,   &[1, 2, 3],  3,  true,   &[0]),
        ("three in a row",          Rule::Fack,       six,   &[1, 2, 3],  3,  true,   &[0]),
        ("three duplicates",        Rule::Duplicates, six,   &[],         3,  true,   &[0]),
        ("two duplicates",          Rule::Duplicates, six,   &[],         2,  false,  &[]),
        ("2 mss + 1 bytes",         Rule::Rfc6675,    over,  &[1, 2, 3],  1,  true,   &[0]),
        ("2 mss bytes",             Rule::Rfc6675,    exact, &[1, 2, 3],  1,  false,  &[]),
        ("2 mss bytes, third ACK",  Rule::Rfc6675,    exact, &[1, 2, 3],  3,  true,   &[0]),
        ("3 mss bytes, first ACK",  Rule::Rfc3517,    six,   &[1, 2, 3],  1,  false,  &[]),
        ("five of six",             Rule::Rfc3517,    six,   &[2, 3, 4],  3,  true,   &[0, 1]),
        ("2 mss + 1, third ACK",    Rule::Rfc3517,    over,  &[1, 2, 3],  3,  true,   &[0]),
    ];
    for &(what, rule, lengths, sacks, acks, enters, marked) in rows {
        let (board, entered, count) = one_ack(rule, Reordering::default(), lengths, sacks, acks);
        assert_eq!(
            entered, enters,
            "{what}, {rule:?}: an episode opens is {entered}, not {enters}"
        );
        assert_eq!(
            board.lost(),
            marked,
            "{what}, {rule:?}: marked on the left, expected on the right"
        );
        assert_eq!(
            count,
            marked.len() as u64,
            "{what}, {rule:?}: {count} losses are reported for {marked:?}"
        );
    }
}

/// Shows LINUX fack-off.
#[test]
fn after_reordering_was_seen_fack_counts_sacked_segments() {
    let mut seen = Reordering::default();
    assert_eq!(
        seen.on_delivered(Seq(MSS), 1, Seq(4 * MSS), MSS),
        Some(3),
        "segment 1 after 2 and 3: metric 3"
    );
    #[rustfmt::skip]
    let rows: &[(&[u64], bool, &[u64])] = &[
        (&[5],          false, &[]),
        (&[1, 5],       false, &[]),
        (&[1, 3, 5],    true,  &[0]),
        (&[2, 3, 5],    true,  &[0, 1]),
    ];
    for &(sacks, enters, marked) in rows {
        let (board, entered, _) = one_ack(Rule::Fack, seen, &[MSS; 6], sacks, 1);
        assert_eq!(
            (entered, board.lost().as_slice()),
            (enters, marked),
            "SACK {sacks:?}: found on the left, expected on the right"
        );
    }
}

/// Shows RFC6582 3.2-3.
#[test]
fn newreno_marks_each_new_head_inside_an_episode() {
    let mut board = Board::with(RepeatRule::KeepsMark, 6, MSS);
    let mut detector = DupAck::new(Rule::Duplicates);
    (0..3).for_each(|_| detector.count(false, true));
    assert!(
        detector.detect(&mut board, Reordering::default(), MSS, Episode::None, false).enter,
        "the third duplicate opens an episode"
    );
    board.send_again(Id(0), at(1));
    for _ in 0..2 {
        detector.on_acked(&board, Id(board.first));
        board.pop();
    }
    detector.count(true, false);
    let found = detector.detect(&mut board, Reordering::default(), MSS, Episode::Fast, true);
    assert_lost("partial ACK of 2", &board, &found.losses, &[2]);
    assert!(!found.enter, "an ACK inside an episode opens none");
    let mut quiet = board.clone();
    quiet.remark(|_| Flags::NONE);
    let found = detector.detect(&mut quiet, Reordering::default(), MSS, Episode::Timeout, true);
    assert_lost("partial ACK after a timeout", &quiet, &found.losses, &[]);
}

// -------------------------------------------------------------------------------------------------
// 3.3 metric, 3.4 lost repeats

/// Shows LINUX reordering-metric, LINUX reordering-max, LINUX reordering-original.
#[test]
fn the_reordering_metric_is_the_distance_from_the_highest_delivered_byte() {
    #[rustfmt::skip]
    let rows = [
        // what                    start      tx  fack       metric   degree  seen
        ("1 after {2,3}",          MSS,       1,  4 * MSS,   Some(3),   3,    true),
        ("1 after {2,3,4}",        MSS,       1,  5 * MSS,   Some(4),   4,    true),
        ("rounded up",             MSS,       1,  4 * MSS + 1, Some(4), 4,    true),
        ("in order",               5 * MSS,   1,  5 * MSS,   None,      3,    false),
        ("a repeat",               MSS,       2,  5 * MSS,   None,      3,    false),
        ("far",                    0,         1,  500 * MSS, Some(500), 300,  true),
    ];
    for (what, start, tx_count, fack, metric, degree, seen) in rows {
        let mut reordering = Reordering::default();
        let found = reordering.on_delivered(Seq(start), tx_count, Seq(fack), MSS);
        assert_eq!(
            (found, reordering.degree(), reordering.seen()),
            (metric, degree, seen),
            "{what}: found on the left"
        );
    }
    let mut reordering = Reordering::default();
    assert_eq!(
        reordering.on_needless_repeat(Seq(0), Seq(6 * MSS), MSS),
        Some(6),
        "a needless repeat of 0 when 5 was delivered: metric 6"
    );
    assert_eq!(
        reordering.degree(),
        6,
        "a needless repeat raises the degree to {}, not 6",
        reordering.degree()
    );
    assert_eq!(
        reordering.on_delivered(Seq(0), 1, Seq(0), 0),
        None,
        "no segment size is no reason to divide by it"
    );
}

/// Shows LINUX lost-repeat-1, LINUX lost-repeat-2.
#[test]
fn a_repeat_is_lost_when_data_sent_after_it_is_sacked() {
    // Ten segments, 0 repeated when nxt is 10, then new ones; SACKs arrive up to the given segment.
    let mut seen = Reordering::default();
    seen.on_delivered(Seq(MSS), 1, Seq(4 * MSS), MSS);
    #[rustfmt::skip]
    let rows = [
        // what           FACK    degree                 highest     lost again
        ("old data",      true,   Reordering::default(), 10 * MSS,     false),
        ("one byte",      true,   Reordering::default(), 10 * MSS + 1, true),
        ("new segment",   true,   Reordering::default(), 11 * MSS,     true),
        ("not far",       false,  seen,                  13 * MSS,     false),
        ("far",           false,  seen,                  13 * MSS + 1, true),
    ];
    for (what, fack, reordering, highest, again) in rows {
        let mut board = Board::with(RepeatRule::KeepsMark, 10, MSS);
        board.mark_lost(Id(0));
        board.send_again(Id(0), at(1));
        for _ in 0..5 {
            board.send(MSS, at(1));
        }
        assert_eq!(board.ledger.waiting(), 0, "the repeat is on its way");
        let mut repeats = LostRepeats::default();
        let losses = repeats.detect(&mut board, Seq(highest), fack, reordering, MSS);
        assert_eq!(
            losses.lost_again(10),
            again,
            "{what}: lost again is {}, not {again}",
            losses.lost_again(10)
        );
        assert_eq!(
            board.ledger.waiting(),
            u64::from(again),
            "{what}: the segment waits for another repeat: expected {again}"
        );
        let more = repeats.detect(&mut board, Seq(highest), fack, reordering, MSS);
        assert!(more.is_empty(), "{what}: one lost repeat is reported once, not again as {more:?}");
    }
}

// ------------------------------------------------------------------------------------------------------------ 4 limited transmit

/// Shows RFC3042 2-1, RFC6675 5-3.
#[test]
fn limited_transmit_sends_a_new_segment_on_the_first_two_duplicates() {
    let room = Room { cwnd: 20 * MSS, flight: 20 * MSS, pipe: 19 * MSS, mss: MSS, new_len: MSS };
    for wording in [Wording::Rfc3042, Wording::Rfc6675] {
        let mut limited = LimitedTransmit::new(wording);
        let mut sent = Vec::new();
        for dupacks in 1..=4 {
            let now = Room { flight: room.flight + u64::from(limited.sent()) * MSS, ..room };
            sent.push(limited.on_duplicate(dupacks, &now));
        }
        assert_eq!(
            sent,
            [true, true, false, false],
            "{wording:?}: what the first four duplicates sent is on the left"
        );
        limited.on_advance();
        assert!(
            limited.on_duplicate(1, &room),
            "{wording:?}: after an advance the next duplicate is a first one"
        );
    }
    let rows = [
        ("off", Wording::Off, room, false),
        ("no new data", Wording::Rfc3042, Room { new_len: 0, ..room }, false),
        ("two over", Wording::Rfc3042, Room { flight: 21 * MSS, ..room }, true),
        ("over by a byte", Wording::Rfc3042, Room { flight: 21 * MSS + 1, ..room }, false),
        ("pipe leaves a segment", Wording::Rfc6675, room, true),
        ("pipe leaves less", Wording::Rfc6675, Room { pipe: 19 * MSS + 1, ..room }, false),
    ];
    for (what, wording, room, expected) in rows {
        let sent = LimitedTransmit::new(wording).on_duplicate(1, &room);
        assert_eq!(sent, expected, "{what}: sending is {sent}, not {expected}");
    }
}

// ----------------------------------------------------------------------------------------------------------- 5 early retransmit

fn flight(segments: u64, sacked: u64) -> Flight {
    Flight {
        segments,
        bytes: segments * MSS,
        sacked_segments: sacked,
        sacked_bytes: sacked * MSS,
        dupacks: sacked as u32,
        sack: true,
        mss: MSS,
        ..Flight::default()
    }
}

/// Shows RFC5827 3-new, RFC5827 3.2-1, LINUX er-quiet, LINUX er-delay, LINUX er-guard-b, OURS
/// er-rto, OURS er-guard-a.
#[test]
fn early_retransmit_follows_the_table() {
    let clock =
        |srtt, rto| Clock { now: at(0), srtt: Some(ms(srtt)), rto: Some(at(rto)), ece: false };
    let usual = clock(100, 300);
    let mut reordered = Reordering::default();
    reordered.on_delivered(Seq(0), 1, Seq(4 * MSS), MSS);
    let two = flight(2, 1);
    #[rustfmt::skip]
    let rows = [
        // vector                           options          flight                               clock            act
        ("flight 2, SACK {1}, naive",       Options::NAIVE,  two,                                 usual,           Act::Now),
        ("flight 2, SACK {1}, B",           Options::B,      two,                                 usual,           Act::Wait(at(25))),
        ("flight 3, SACK {2}",              Options::NAIVE,  flight(3, 1),                        usual,           Act::Nothing),
        ("flight 3, SACK {1,2}",            Options::NAIVE,  flight(3, 2),                        usual,           Act::Now),
        ("flight 3, SACK {1,2}, B",         Options::B,      flight(3, 2),                        usual,           Act::Wait(at(25))),
        ("flight 3, SACK {2}, new data",    Options::NAIVE,  Flight { new_data: true, ..flight(3, 2) }, usual,     Act::Nothing),
        ("srtt 4 ms",                       Options::B,      two,                                 clock(4, 300),   Act::Wait(at(2))),
        ("RTO due in 20 ms",                Options::B,      two,                                 clock(100, 20),  Act::Now),
        ("RTO due in 25 ms",                Options::B,      two,                                 clock(100, 25),  Act::Now),
        ("ECE",                             Options::B,      two,                                 Clock { ece: true, ..usual }, Act::Now),
        ("no RTT sample",                   Options::B,      two,                                 Clock { srtt: None, ..usual }, Act::Now),
        ("metric 4 seen, A",                Options::A,      Flight { reordering: reordered, ..two }, usual,       Act::Nothing),
        ("metric 4 seen, A and B",          Options::AB,     Flight { reordering: reordered, ..two }, usual,       Act::Nothing),
        ("metric 4 seen, naive",            Options::NAIVE,  Flight { reordering: reordered, ..two }, usual,       Act::Now),
        ("flight 1",                        Options::NAIVE,  flight(1, 0),                        usual,           Act::Nothing),
        ("flight 4",                        Options::NAIVE,  flight(4, 3),                        usual,           Act::Nothing),
        ("a repeat outstanding",            Options::NAIVE,  Flight { repeat_outstanding: true, ..two }, usual,    Act::Nothing),
        ("inside an episode",               Options::NAIVE,  Flight { episode: Episode::Fast, ..two }, usual,      Act::Nothing),
        ("no SACK, 2 of 3",                 Options::NAIVE,  Flight { sack: false, dupacks: 2, ..flight(3, 0) }, usual, Act::Now),
        ("no SACK, 1 of 3",                 Options::NAIVE,  Flight { sack: false, dupacks: 1, ..flight(3, 0) }, usual, Act::Nothing),
        ("relaxed, 1 of 3",                 Options { threshold: Threshold::Relaxed, ..Options::NAIVE }, flight(3, 1), usual, Act::Now),
        ("relaxed, 0 of 3",                 Options { threshold: Threshold::Relaxed, ..Options::NAIVE }, flight(3, 0), usual, Act::Nothing),
    ];
    for (what, options, flight, clock, expected) in rows {
        let act = EarlyRetransmit::new(options).on_ack(&flight, &clock, false);
        assert_eq!(act, expected, "{what}: {act:?} instead of {expected:?}");
    }
}

/// Shows RFC5827 3.1-1.
#[test]
fn the_byte_form_of_early_retransmit_counts_bytes() {
    // Six tiny segments in 2.5 mss: the segment form sees six, the byte form three.
    let tiny = Flight {
        segments: 6,
        bytes: 2500,
        sacked_segments: 5,
        sacked_bytes: 1500,
        dupacks: 2,
        sack: true,
        mss: MSS,
        ..Flight::default()
    };
    let bytes = EarlyRetransmit::new(Options { measure: Measure::Bytes, ..Options::NAIVE });
    let rows = [
        ("all but one mss SACKed", tiny, true),
        ("a byte less", Flight { sacked_bytes: 1499, ..tiny }, false),
        ("no SACK, two duplicates", Flight { sack: false, ..tiny }, true),
        ("no SACK, one duplicate", Flight { sack: false, dupacks: 1, ..tiny }, false),
        ("one mss", Flight { bytes: MSS, sacked_bytes: 0, ..tiny }, false),
        ("four mss", Flight { bytes: 4 * MSS, sacked_bytes: 3 * MSS, ..tiny }, false),
    ];
    for (what, flight, expected) in rows {
        assert_eq!(bytes.eligible(&flight), expected, "{what}: eligible should be {expected}");
    }
    assert!(
        !EarlyRetransmit::default().eligible(&tiny),
        "the segment form is not eligible with six segments out"
    );
}

/// Shows LINUX er-guard-b.
#[test]
fn an_arrival_within_the_delay_cancels_it() {
    let clock = Clock { now: at(0), srtt: Some(ms(100)), rto: Some(at(300)), ece: false };
    let mut early = EarlyRetransmit::new(Options::B);
    assert_eq!(early.on_ack(&flight(2, 1), &clock, false), Act::Wait(at(25)), "the delay begins");
    // Segment 0's ACK arrives 10 ms later.
    let later = Clock { now: at(10), ..clock };
    assert_eq!(
        early.on_ack(&flight(0, 0), &later, true),
        Act::Nothing,
        "an advance ends the delay"
    );
    assert_eq!(early.deadline(), None, "no timer is left");
    assert!(!early.on_timer(&flight(2, 1)), "a cancelled delay does not fire");
    let counts = early.counts();
    assert_eq!(
        (counts.fired, counts.delayed, counts.cancelled),
        (0, 1, 1),
        "counted on the left: fired, delayed, cancelled"
    );

    assert_eq!(
        early.on_ack(&flight(2, 1), &clock, false),
        Act::Wait(at(25)),
        "the delay begins again"
    );
    assert!(early.on_timer(&flight(2, 1)), "the hole is still there when the delay ends");
    assert_eq!(early.counts().fired, 1, "firing is counted");
    early.on_dsack();
    assert_eq!(early.counts().later_dsacked, 1, "and that the repeat turned out to be needless");
}

// ----------------------------------------------------------------------------------------------------------------------- 6 RACK

const RTT: Nanos = Nanos::from_millis(100);

impl Racked {
    /// `count` segments, number i sent at i ms.
    fn sent(count: u64) -> Racked {
        let mut racked = Racked::new(RTT);
        (0..count).for_each(|i| racked.send(1, at(i)));
        racked
    }

    fn sack(&mut self, now: Time, ids: &[u64]) -> Found {
        let mut arrivals = Vec::new();
        for &id in ids {
            arrivals.push(self.board.arrival(Id(id)));
            assert!(self.board.mark_sacked(Id(id)), "segment {id} is new");
        }
        self.deliver(now, &arrivals);
        self.rack.detect(&mut self.board, now)
    }
}

/// Shows RFC8985 6.2-5, RFC8985 6.2-7.
#[test]
fn rack_waits_a_quarter_rtt_until_the_third_sack() {
    let mut c = Racked::sent(10);
    let first = c.sack(at(101), &[1]);
    assert_eq!(c.rack.reference(), Some((at(1), Seq(2))), "the reference is segment 1");
    assert_eq!(c.rack.reordering_window(), ms(25), "the window is a quarter of the RTT");
    assert_eq!(c.rack.rtt(), ms(100), "segments are judged by its RTT");
    assert!(
        first.losses.is_empty() && first.deadline == Some(at(125)),
        "0 waits until 125 ms: {first:?}"
    );
    assert_eq!(c.sack(at(102), &[2]).deadline, Some(at(125)), "0 still waits until 125 ms");
    let third = c.sack(at(103), &[3]);
    assert_eq!(c.rack.reordering_window(), Nanos::ZERO, "the third SACK ends the patience");
    assert_lost("third SACK", &c.board, &third.losses, &[0]);
    assert_eq!(third.deadline, None, "nothing is left to wait for");
}

/// Shows RFC8985 6.2-5.
#[test]
fn rack_waits_the_whole_window_once_reordering_was_seen() {
    let mut c = Racked::sent(10);
    // Segment 2 overtakes segment 1: both arrive, in that order, before the rest.
    c.sack(at(102), &[2]);
    c.sack(at(102), &[1]);
    assert!(c.rack.reordering_seen(), "1 arrived below 2");
    let third = c.sack(at(103), &[3]);
    assert!(
        third.losses.is_empty() && third.deadline == Some(at(125)),
        "0 waits until 125 ms: {third:?}"
    );
    assert!(c.rack.detect(&mut c.board, at(124)).losses.is_empty(), "at 124 ms 0 may still come");
    let timer = c.rack.detect(&mut c.board, at(125));
    assert_lost("timer at 125 ms", &c.board, &timer.losses, &[0]);
}

/// Shows RFC8985 6.2-7.
#[test]
fn rack_finds_a_lost_repeat() {
    let mut c = Racked::sent(10);
    c.sack(at(101), &[1]);
    c.sack(at(102), &[2]);
    c.sack(at(103), &[3]);
    c.episode = Episode::Fast;
    c.repeat(Id(0), at(103));
    c.send(1, at(104));
    assert!(c.board.lost().is_empty(), "a repeat is a new bet");
    c.sack(at(109), &[4, 5, 6, 7, 8, 9]);
    let found = c.sack(at(204), &[10]);
    assert_eq!(c.rack.reference(), Some((at(104), Seq(11))), "the reference is the new segment");
    assert_lost("the repeat's own time is up", &c.board, &found.losses, &[0]);
    assert!(found.losses.lost_again(10), "a repeat of this episode is lost: {:?}", found.losses);
}

/// Shows RFC8985 6.2-1.
#[test]
fn rack_orders_a_burst_by_its_last_bytes() {
    let mut c = Racked::sent(0);
    (0..4).for_each(|_| c.send(1, at(0)));
    let found = c.sack(at(100), &[2]);
    assert!(
        found.losses.is_empty() && found.deadline == Some(at(125)),
        "0 and 1 were sent before 2 and wait: {found:?}"
    );
    let timer = c.rack.detect(&mut c.board, at(125));
    assert_lost("of a burst at one instant", &c.board, &timer.losses, &[0, 1]);
}

/// Shows RFC8985 6.2-1.
#[test]
fn rack_orders_a_burst_by_last_bytes_even_if_it_was_sent_the_other_way() {
    let mut c = Racked::sent(0);
    c.send(1, at(0));
    c.send(1, at(50));
    // At one instant first new data, then a repeat of 0.
    c.send(1, at(60));
    c.repeat(Id(0), at(60));
    c.episode = Episode::Fast;
    let found = c.sack(at(160), &[2]);
    assert_lost("new data then repeat", &c.board, &found.losses, &[0, 1]);
}

/// Shows RFC8985 6.2-2.
#[test]
fn rack_ignores_an_arrival_that_may_be_the_originals() {
    let min_rtt = Some(RTT);
    #[rustfmt::skip]
    let rows = [
        // what                   last_tx  tx  echo          counts
        ("original",              at(0),   1,  None,         true),
        ("repeat, RTT too short", at(101), 2,  None,         false),
        ("repeat, RTT exact",     at(100), 2,  None,         true),
        ("repeat, older echo",    at(50),  2,  Some(at(49)), false),
        ("repeat, equal echo",    at(50),  2,  Some(at(50)), true),
    ];
    for (what, last_tx, tx_count, echo, counts) in rows {
        let mut rack = Rack::default();
        rack.on_delivered(at(200), &Arrival { end: Seq(1), last_tx, tx_count, echo }, min_rtt);
        rack.on_ack(&Facts { min_rtt, ..Facts::default() });
        assert_eq!(
            rack.reference().is_some(),
            counts,
            "{what}: becoming the reference should be {counts}"
        );
    }
}

/// Shows RFC8985 6.2-4, RFC8985 6.2-6.
#[test]
fn dsacks_widen_the_window_once_a_round_and_sixteen_recoveries_narrow_it() {
    let mut rack = Rack::default();
    let facts = Facts {
        una: Seq(0),
        nxt: Seq(10),
        min_rtt: Some(RTT),
        srtt: Some(RTT),
        ..Facts::default()
    };
    let dsack = Facts { dsack: true, ..facts };
    rack.on_ack(&dsack);
    rack.on_ack(&dsack);
    assert_eq!(rack.reordering_window(), ms(50), "two DSACKs of one round widen the window once");
    rack.on_ack(&Facts { una: Seq(10), ..dsack });
    assert_eq!(rack.reordering_window(), ms(75), "a DSACK of the next round widens it again");
    (0..3).for_each(|round| {
        rack.on_ack(&Facts { una: Seq(20 + 10 * round), nxt: Seq(20 + 10 * round), ..dsack });
    });
    assert_eq!(rack.reordering_window(), RTT, "the window never exceeds the smoothed RTT");
    let over = Facts { una: Seq(100), ends_recovery: true, ..facts };
    (0..15).for_each(|_| rack.on_ack(&over));
    assert_eq!(rack.reordering_window(), RTT, "after fifteen recoveries it is still wide");
    rack.on_ack(&over);
    assert_eq!(rack.reordering_window(), ms(25), "the sixteenth narrows it");
}

/// Shows RFC8985 6.3-1.
#[test]
fn on_a_timeout_rack_marks_what_is_due_and_always_the_head() {
    let mut c = Racked::sent(10);
    c.sack(at(105), &[5]);
    let losses = c.rack.on_timeout(&mut c.board, at(127));
    assert_lost("timeout at 127 ms", &c.board, &losses, &[0, 1, 2]);
    let mut young = Racked::sent(3);
    young.sack(at(101), &[1]);
    let losses = young.rack.on_timeout(&mut young.board, at(102));
    assert_lost("timeout before anything is due", &young.board, &losses, &[0]);
}

// ------------------------------------------------------------------------------------------------------------------------ 7 TLP

/// Shows RFC8985 7.1-1, RFC8985 7.2-1, RFC8985 7.2-2, RFC8985 7.2-3.
#[test]
fn the_probe_timer_is_two_round_trips_and_never_later_than_the_timeout() {
    let tail = Tail {
        now: at(0),
        srtt: Some(ms(100)),
        segments: 5,
        sack: true,
        max_ack_delay: tlp::MAX_ACK_DELAY,
        rto: Some(at(500)),
        ..Tail::default()
    };
    #[rustfmt::skip]
    let rows = [
        ("srtt 100, RTO 500",             tail,                                               Some(at(200))),
        ("one segment in flight",         Tail { segments: 1, ..tail },                       Some(at(400))),
        ("one segment, RTO 300",          Tail { segments: 1, rto: Some(at(300)), ..tail },   Some(at(300))),
        ("no sample",                     Tail { srtt: None, rto: Some(at(3000)), ..tail },   Some(at(1000))),
        ("no SACK",                       Tail { sack: false, ..tail },                       None),
        ("a SACKed segment",              Tail { sacked_segments: 1, ..tail },                None),
        ("in recovery",                   Tail { episode: Episode::Fast, ..tail },            None),
        ("nothing outstanding",           Tail { segments: 0, ..tail },                       None),
    ];
    for (what, tail, expected) in rows {
        assert_eq!(
            Tlp::default().deadline(&tail),
            expected,
            "{what}: the probe is due on the left"
        );
    }
    let mut tlp = Tlp::default();
    tlp.on_sent(Tlp::kind(true), Seq(9));
    assert_eq!(tlp.deadline(&tail), None, "one probe per tail");
}

/// Shows RFC8985 7.3-1, RFC8985 7.4.2-1.
#[test]
fn an_ack_tells_the_fate_of_a_probe() {
    let plain = tlp::Facts { ack: Seq(10), duplicate: true, ..tlp::Facts::default() };
    let block = tlp::Facts { any_block: true, ..plain };
    #[rustfmt::skip]
    let rows = [
        ("below the probe",          Kind::Repeat, tlp::Facts { ack: Seq(9), ..plain },              Outcome::Waiting),
        ("new data",                 Kind::New,    plain,                                            Outcome::Harmless),
        ("DSACK of the probe",       Kind::Repeat, tlp::Facts { dsack_of_probe: true, ..block },     Outcome::Harmless),
        ("DSACK, and further",       Kind::Repeat, tlp::Facts { ack: Seq(11), dsack_of_probe: true, ..block }, Outcome::Harmless),
        ("further",                  Kind::Repeat, tlp::Facts { ack: Seq(11), ..plain },             Outcome::Repaired),
        ("equal, duplicate",         Kind::Repeat, plain,                                            Outcome::Harmless),
        ("equal, first",             Kind::Repeat, tlp::Facts { duplicate: false, ..plain },         Outcome::Waiting),
        ("equal, with a block",      Kind::Repeat, block,                                            Outcome::Waiting),
    ];
    for (what, kind, facts, expected) in rows {
        let mut tlp = Tlp::default();
        tlp.on_sent(kind, Seq(10));
        let outcome = tlp.on_ack(&facts);
        assert_eq!(outcome, expected, "{what}: {outcome:?} instead of {expected:?}");
        assert_eq!(
            tlp.is_outstanding(),
            expected == Outcome::Waiting,
            "{what}: the probe is outstanding only while waiting"
        );
    }
    assert_eq!(
        Tlp::default().on_ack(&plain),
        Outcome::NoProbe,
        "without a probe there is nothing to tell"
    );
}

#[test]
fn marks_of_a_segment_pack_into_four_bits() {
    for bits in 0..=u8::MAX {
        assert_eq!(Flags::from_bits(bits).bits(), bits & 15, "of {bits}");
    }
}

// ------------------------------------------------------------------------------------------------------------------------ 8 RTO

/// Shows RFC6298 5-1, RFC6298 5-2, RFC6298 5-3, RFC6298 5-5.
#[test]
fn the_timeout_doubles_and_the_first_sample_ends_the_backoff() {
    let mut rto = Rto::new(rto::Options { max: ms(1000), ..rto::Options::default() });
    rto.on_sent(at(0), ms(300));
    assert_eq!(rto.deadline(), Some(at(300)), "sending starts the timer");
    rto.on_sent(at(10), ms(300));
    assert_eq!(rto.deadline(), Some(at(300)), "sending more does not restart it");
    let mut steps = Vec::new();
    for _ in 0..3 {
        steps.push(rto.timeout(ms(300)));
        rto.on_expiry(at(0), ms(300), Episode::None, Sent::default());
    }
    assert_eq!(steps, [ms(300), ms(600), ms(1000)], "300, 600, then 1200 cut to the cap");
    assert_eq!(Rto::default().timeout(ms(1200)), ms(1200), "below the cap nothing is cut");
    rto.restart(at(40), ms(300));
    assert_eq!(rto.deadline(), Some(at(1040)), "restarted from now, with the backoff");
    rto.on_advance(at(5), ms(300), Seq(1), true);
    assert_eq!(rto.backoff(), 3, "an ACK without a valid sample keeps the backoff");
    rto.on_sample();
    rto.on_advance(at(5), ms(300), Seq(1), true);
    assert_eq!(rto.deadline(), Some(at(305)), "the timer restarts with what the estimator says");
    rto.on_advance(at(5), ms(300), Seq(1), false);
    assert_eq!(rto.deadline(), None, "with nothing outstanding it stops");
}

/// Shows LINUX rto-bounds.
#[test]
fn the_bounds_are_those_of_the_table() {
    let rows = [(Bounds::Rfc, 1000, 60), (Bounds::Linux, 200, 120), (Bounds::Windows, 300, 60)];
    for (bounds, min_ms, max_s) in rows {
        assert_eq!(
            (bounds.min(), bounds.max()),
            (ms(min_ms), Nanos::from_secs(max_s)),
            "{bounds:?}: in the code on the left"
        );
    }
}

/// Shows RFC5681 3.1-series, RFC6298 5-4, LINUX rto-keep-target.
#[test]
fn the_first_expiry_of_a_series_cuts_and_later_ones_do_not() {
    let keep = rto::Options { keep_target: true, ..rto::Options::default() };
    let rows = [
        ("rfc, no episode", rto::Options::default(), Episode::None, Response::Cut),
        ("rfc, in an episode", rto::Options::default(), Episode::Fast, Response::Cut),
        ("keep_T, no episode", keep, Episode::None, Response::Cut),
        ("keep_T, in an episode", keep, Episode::Fast, Response::KeepTarget),
    ];
    for (what, options, episode, expected) in rows {
        let mut rto = Rto::new(options);
        let sent = Sent { nxt: Seq(10), tx_next: 10 };
        assert_eq!(
            rto.on_expiry(at(0), ms(300), episode, sent),
            expected,
            "{what}: the first response is on the left"
        );
        assert_eq!(
            rto.on_expiry(at(0), ms(300), Episode::Timeout, sent),
            Response::Again,
            "{what}: the same data times out again"
        );
        assert_eq!(
            rto.loss_end(),
            Some(Seq(10)),
            "{what}: timeout recovery lasts until what was sent is acknowledged"
        );
        assert!(
            !rto.on_advance(at(1), ms(300), Seq(9), true),
            "{what}: one segment short of the end"
        );
        assert_eq!(
            rto.on_expiry(at(0), ms(300), Episode::Timeout, sent),
            Response::Cut,
            "{what}: una moved, a new series begins"
        );
        assert!(rto.on_advance(at(1), ms(300), Seq(10), true), "{what}: the end is reached");
    }
}

/// Shows RFC6675 5.1-2, RFC2018 8-1.
#[test]
fn a_timeout_marks_everything_not_sacked_and_voids_repeats() {
    let mut board = Board::with(RepeatRule::KeepsMark, 6, MSS);
    for id in [2, 4] {
        board.mark_sacked(Id(id));
    }
    board.mark_lost(Id(0));
    board.send_again(Id(0), at(1));
    let losses = Rto::default().mark(&mut board, None, at(300));
    assert_lost("timeout", &board, &losses, &[0, 1, 3, 5]);
    assert_eq!(
        (board.ledger.waiting(), board.ledger.pipe()),
        (4, 0),
        "all four wait for a repeat and nothing is in the network"
    );
    assert_eq!(board.next_lost(), Some(Id(0)), "repeats begin with the head");

    let again = Rto::default().mark(&mut board, None, at(900));
    assert!(again.is_empty(), "what waits for its repeat already is no news: {again:?}");

    let clear = Rto::new(rto::Options { forget_sacks: true, ..rto::Options::default() });
    clear.mark(&mut board, None, at(300));
    assert_eq!(board.lost(), [0, 1, 2, 3, 4, 5], "with SACKs forgotten everything is lost");
    assert_eq!(board.ledger.sacked_segments(), 0, "no SACK is left");
}

/// Shows RFC2018 8-2.
#[test]
fn a_timeout_whose_head_was_reported_forgets_what_the_receiver_discarded() {
    for rack in [false, true] {
        let mut board = Board::with(RepeatRule::NewBet, 5, MSS);
        for id in [0, 1, 3] {
            board.mark_sacked(Id(id));
        }
        assert!(Rto::is_reneged(&board), "the head is reported and not acknowledged");
        let mut walk = Rack::default();
        let losses = Rto::default().mark(&mut board, rack.then_some(&mut walk), at(9_000));
        assert_lost("reneged", &board, &losses, &[0, 1, 2, 3, 4]);
        assert_eq!(board.next_lost(), Some(Id(0)), "the left edge is repeated first");
        assert!(!Rto::is_reneged(&board), "nothing is reported any more");
    }
}

/// Shows LINUX rto-reenter.
#[test]
fn a_lost_repeat_of_timeout_recovery_opens_an_episode_only_by_option() {
    let rows = [
        ("default", rto::Options::default(), false),
        ("reenter", rto::Options { reenter: true, ..rto::Options::default() }, true),
    ];
    for (what, options, expected) in rows {
        let mut board = Board::with(RepeatRule::NewBet, 3, MSS);
        let mut rto = Rto::new(options);
        rto.on_expiry(at(300), ms(300), Episode::None, Sent { nxt: Seq(3 * MSS), tx_next: 3 });
        rto.mark(&mut board, None, at(300));
        let mut losses = firstflight::detection::Losses::default();
        board.send_again(Id(0), at(300));
        board.mark_lost(Id(0));
        losses.add(&board, Id(0));
        assert_eq!(
            rto.allows_episode(&losses),
            expected,
            "{what}: opening an episode should be {expected}"
        );
        let mut old = firstflight::detection::Losses::default();
        old.add(&board, Id(1));
        assert!(!rto.allows_episode(&old), "{what}: an original of before the timeout opens none");
    }
}

// ---------------------------------------------------------------------------------------------------------------------- 9 F-RTO

/// Segments 0..9 in flight, timeout of 0, repeat of 0; the ACKs given; new data as said.
fn f_rto(proof: f_rto::Proof, acks: &[f_rto::Facts]) -> Verdict {
    let mut f_rto = FRto::new(proof);
    assert_eq!(
        f_rto.on_timeout(Seq(0), None, Seq(10)),
        Start::Probing,
        "without an earlier recovery the timeout is tested"
    );
    let mut last = Verdict::None;
    for facts in acks {
        last = f_rto.on_ack(facts);
    }
    let done = !matches!(last, Verdict::None | Verdict::SendNew);
    assert_eq!(
        f_rto.holds_repeats(),
        !done,
        "repeats are held back exactly while the test runs ({last:?})"
    );
    last
}

fn advance(ack: u64, nxt: u64, new_data: bool) -> f_rto::Facts {
    f_rto::Facts {
        ack: Seq(ack),
        advanced: true,
        duplicate: false,
        fack: Seq(ack),
        fresh: true,
        fresh_original: ack > 1,
        nxt: Seq(nxt),
        new_data,
    }
}

fn duplicate(ack: u64, fack: u64, nxt: u64, fresh: bool) -> f_rto::Facts {
    f_rto::Facts {
        advanced: false,
        duplicate: true,
        fack: Seq(fack),
        fresh,
        fresh_original: fresh,
        ..advance(ack, nxt, true)
    }
}

/// Shows RFC5682 3-2, RFC5682 3-2a, RFC5682 3-2b, RFC5682 3-3, RFC5682 3-3a, RFC5682 3-3b, LINUX
/// frto-early.
#[test]
fn f_rto_tells_spurious_timeouts_from_real_ones() {
    use f_rto::Proof::{Linux, Rfc5682};
    let first = advance(1, 10, true);
    let ordinary = |cap| Verdict::Ordinary { cap };
    #[rustfmt::skip]
    let rows: &[(&str, f_rto::Proof, &[f_rto::Facts], Verdict)] = &[
        ("partial",                   Rfc5682, &[first],                                            Verdict::SendNew),
        ("spurious: ACK 1, ACK 2",    Rfc5682, &[first, advance(2, 12, true)],                      Verdict::Spurious),
        ("real: ACK 5, SACK {10}",    Rfc5682, &[advance(5, 10, true), duplicate(5, 11, 12, false)], ordinary(Some(3))),
        ("real: ACK 5, ACK 11",       Rfc5682, &[advance(5, 10, true), advance(11, 12, true)],      ordinary(Some(3))),
        ("real: duplicate, no news",  Rfc5682, &[first, duplicate(1, 1, 12, false)],                ordinary(Some(3))),
        ("spurious by SACK",          Rfc5682, &[first, duplicate(1, 3, 12, true)],                 Verdict::Spurious),
        ("tail: ACK 10",              Rfc5682, &[advance(10, 10, true)],                            ordinary(Some(2))),
        ("no new data: ACK 1",        Rfc5682, &[advance(1, 10, false)],                            ordinary(None)),
        ("duplicates in step 2",      Rfc5682, &[duplicate(0, 3, 10, true), duplicate(0, 4, 10, true)], Verdict::None),
        ("window update in step 3",   Rfc5682, &[first, f_rto::Facts { advanced: false, ..advance(1, 12, true) }], Verdict::None),
        ("kernel, step 2",            Linux,   &[duplicate(0, 3, 10, true)],                        Verdict::Spurious),
        ("kernel, ACK 5 in step 2",   Linux,   &[advance(5, 10, true)],                             Verdict::Spurious),
        ("kernel, real",              Linux,   &[first, duplicate(1, 11, 12, false)],               ordinary(Some(3))),
    ];
    for &(what, proof, acks, expected) in rows {
        let verdict = f_rto(proof, acks);
        assert_eq!(verdict, expected, "{what}: {verdict:?} instead of {expected:?}");
    }
}

/// Shows RFC5682 3-1.
#[test]
fn f_rto_is_not_tried_over_an_unfinished_recovery() {
    let rows = [
        ("below una", Some(5), Start::Probing),
        ("at una", Some(10), Start::Probing),
        ("above una", Some(11), Start::Ordinary),
    ];
    for (what, earlier, expected) in rows {
        let start = FRto::default().on_timeout(Seq(10), earlier.map(Seq), Seq(20));
        assert_eq!(
            start, expected,
            "an earlier recovery that ends {what}: {start:?} instead of {expected:?}"
        );
    }
    let mut f_rto = FRto::default();
    f_rto.on_timeout(Seq(0), None, Seq(10));
    f_rto.on_ack(&advance(1, 10, true));
    assert_eq!(
        f_rto.on_timeout(Seq(1), None, Seq(12)),
        Start::Probing,
        "a further timeout starts over"
    );
    assert_eq!(
        f_rto.on_ack(&duplicate(1, 3, 12, true)),
        Verdict::None,
        "and duplicates are step 2's again"
    );
}

// ---------------------------------------------------------------------------------------------------------------------- 10 QUIC

fn rtt_100() -> Rtt {
    Rtt { srtt: ms(100), var: ms(50), latest: ms(100) }
}

/// Shows RFC9002 6.1-1, RFC9002 6.1.1-1, RFC9002 6.1.2-1.
#[test]
fn a_quic_packet_is_lost_by_order_or_by_time() {
    let delay = rtt_100().loss_delay();
    assert_eq!(delay, Nanos(112_500_000), "9/8 of 100 ms");
    let (sent, old) = (at(0), Time(112_500_000));
    #[rustfmt::skip]
    let rows = [
        // pn  now               judgement
        (7,    at(1),            Judgement::LostByOrder),
        (8,    Time(old.0 - 1),  Judgement::Wait(old)),
        (8,    old,              Judgement::LostByTime),
        (9,    at(1),            Judgement::Wait(old)),
        (10,   old,              Judgement::TooNew),
        (11,   old,              Judgement::TooNew),
    ];
    for (pn, now, expected) in rows {
        let judgement = quic::judge(pn, sent, 10, now, delay);
        assert_eq!(
            judgement, expected,
            "packet {pn} at {now:?}: {judgement:?} instead of {expected:?}"
        );
    }
    assert_eq!(
        Rtt { srtt: Nanos(10), var: Nanos(1), latest: Nanos(5) }.loss_delay(),
        ms(1),
        "never less than a millisecond"
    );
}

/// Shows RFC9002 6.1.1-1.
#[test]
fn quic_marks_packet_7_of_10_at_once_and_the_others_by_time() {
    let mut board = Board::with(RepeatRule::NewBet, 12, MSS);
    for id in [0, 1, 2, 3, 4, 5, 6, 10] {
        board.mark_sacked(Id(id));
    }
    let mut detector = QuicLoss::default();
    let delay = rtt_100().loss_delay();
    let (losses, loss_time) = detector.detect(&mut board, 10, at(100), delay);
    assert_lost("on the ACK", &board, &losses, &[7]);
    assert_eq!(loss_time, Some(Time(112_500_000)), "8 and 9 wait for the loss time");
    let (losses, loss_time) = detector.detect(&mut board, 10, at(113), delay);
    assert_eq!(
        (losses.segments, loss_time),
        (2, None),
        "then both are lost and the later 11 is never judged"
    );
    assert_eq!(board.ledger.pipe(), MSS, "only packet 11 is in flight");
}

/// Shows RFC9002 6.2-1, RFC9002 6.2.1-1, RFC9002 6.2.1-2, RFC9002 6.2.1-3, RFC9002 6.2.1-4.
#[test]
fn the_probe_timeout_doubles_and_gives_way_to_the_loss_time() {
    let base = rtt_100().pto_base(ms(25));
    let mut pto = Pto::default();
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(pto.deadline(at(0), base, None));
        pto.on_fire();
    }
    assert_eq!(seen, [Some(at(325)), Some(at(650)), Some(at(1300))], "325 ms, then doubled twice");
    assert_eq!(pto.deadline(at(0), base, Some(at(9))), None, "not armed while a loss time is");
    pto.on_ack(false);
    assert_eq!(pto.count(), 3, "a client not yet validated keeps its backoff");
    pto.on_ack(true);
    assert_eq!(pto.count(), 0, "an ACK ends the backoff");
    assert_eq!(Rtt::default().pto_base(Nanos::ZERO), ms(999), "333 + 4 * 166.5 ms before a sample");
}

/// Shows RFC9002 7.6.1-1, RFC9002 7.6.1-2, RFC9002 7.6.2-2, RFC9002 7.6.2-3.
#[test]
fn persistent_congestion_needs_losses_further_apart_than_three_probe_timeouts() {
    // The example of RFC 9002 section 7.6.3: sends #1..#7 at 0..6 s, probes #8 at 8 and #9 at 12;
    // base period 2 s, threshold 6 s. Sends in ms; the sender learns #1 at 1.2 s and #9 at 12.2
    // s.
    let sends = [0, 1000, 2000, 3000, 4000, 5000, 6000, 8000, 12_000];
    let span = Nanos::from_secs(6);
    let fates = |index: usize| if index == 0 || index == 8 { Fate::Acked } else { Fate::Lost };
    let declared = |first_sample: Option<Time>,
                    fates: &dyn Fn(usize) -> Fate,
                    eliciting: &dyn Fn(usize) -> bool| {
        let mut look = PersistentCongestion::new(first_sample, span);
        sends
            .iter()
            .enumerate()
            .any(|(index, &sent)| look.present(at(sent), eliciting(index), fates(index)))
    };
    let all = |_: usize| true;
    let broken = |index: usize| if index == 4 { Fate::Acked } else { fates(index) };
    let open = |index: usize| if index == 4 { Fate::Open } else { fates(index) };
    assert!(declared(Some(at(500)), &fates, &all), "#2 to #8 span 7 s: declared");
    assert!(
        !declared(Some(at(1200)), &fates, &all),
        "#2 was sent before the first sample, #3 to #8 span exactly 6 s: not declared"
    );
    assert!(
        !declared(Some(at(1000)), &fates, &all),
        "nor was #2 sent after a sample of the same moment"
    );
    assert!(!declared(None, &fates, &all), "without a sample nothing is declared");
    assert!(
        !declared(Some(at(500)), &broken, &all),
        "an acknowledged packet between them breaks the run"
    );
    assert!(declared(Some(at(500)), &open, &all), "an undecided one does not");
    assert!(
        !declared(Some(at(500)), &fates, &|index| index != 7),
        "a packet that asks for no ACK is no end of the span"
    );
    assert_eq!(
        Rtt { srtt: ms(1000), var: ms(250), latest: ms(1000) }.persistent_span(Nanos::ZERO),
        span,
        "three base periods of 2 s"
    );
}

// ---------------------------------------------------------------------------------------------------------------------- 11 undo

/// Shows RFC3708 3-1.
#[test]
fn an_episode_is_undone_when_every_repeat_was_a_duplicate() {
    let mut undo = Undo::new(Accepts { dsack: true, timestamps: true, every: false });
    undo.open(Seq(100));
    assert_eq!(undo.on_dsack(Seq(100)), None, "no repeat was sent yet");
    undo.on_repeat(at(1));
    undo.on_repeat(at(2));
    assert_eq!(undo.on_dsack(Seq(50)), None, "a DSACK of older data is none of this episode's");
    assert_eq!(undo.on_dsack(Seq(100)), None, "one of two proves nothing");
    assert_eq!(undo.on_dsack(Seq(101)), Some(Proof::Dsack), "both do");
    assert_eq!(undo.on_dsack(Seq(102)), None, "more are none of this episode's");
    undo.open(Seq(200));
    undo.on_repeat(at(3));
    assert_eq!(undo.on_dsack(Seq(199)), None, "older data, and the only repeat stays open");
    assert_eq!(undo.on_dsack(Seq(200)), Some(Proof::Dsack), "the repeat of the first segment");
}

/// Shows RFC3522 3.2-1.
#[test]
fn the_first_ack_of_an_original_undoes_the_episode() {
    #[rustfmt::skip]
    let rows = [
        ("older echo",     Some(at(9)),  Some(Proof::Timestamp)),
        ("equal echo",     Some(at(10)), None),
        ("later echo",     Some(at(11)), None),
        ("no time stamps", None,         None),
    ];
    for (what, echo, expected) in rows {
        let mut undo = Undo::new(Accepts { dsack: true, timestamps: true, every: false });
        undo.open(Seq(100));
        assert_eq!(
            undo.on_advance(Seq(101), Some(at(0))),
            None,
            "{what}: before the first repeat an ACK proves nothing"
        );
        undo.on_repeat(at(10));
        assert_eq!(
            undo.on_advance(Seq(100), Some(at(0))),
            None,
            "{what}: an ACK that does not pass undo_una is not the first"
        );
        assert_eq!(undo.on_advance(Seq(102), echo), expected, "{what}: the proof is on the left");
        assert_eq!(
            undo.on_advance(Seq(103), Some(at(0))),
            None,
            "{what}: only the first ACK counts"
        );
    }
}

/// Shows OURS undo-void.
#[test]
fn proofs_that_a_preset_does_not_accept_undo_nothing() {
    let mut undo = Undo::new(Accepts::default());
    undo.open(Seq(0));
    undo.on_repeat(at(1));
    assert_eq!(
        (undo.on_dsack(Seq(0)), undo.on_advance(Seq(1), Some(at(0)))),
        (None, None),
        "nothing is accepted"
    );
    undo.open(Seq(0));
    undo.on_repeat(at(1));
    undo.discard();
    assert!(
        !undo.is_open() && undo.on_dsack(Seq(0)).is_none(),
        "after congestion marks nothing can be proven"
    );
}

/// Shows OURS undo-late-acks.
#[test]
fn a_quic_episode_is_undone_when_every_lost_packet_was_acknowledged() {
    let mut late = LateAcks::default();
    let earlier = [late.on_lost(), late.on_lost()];
    late.open(1);
    assert_eq!(late.missing(), 1, "the loss that opens an episode belongs to it");
    let here = [earlier[1], late.on_lost()];
    late.on_late_ack(earlier[0]);
    assert_eq!((late.missing(), late.proof()), (2, None), "an earlier episode's is none of these");
    late.on_late_ack(here[1]);
    assert_eq!((late.missing(), late.proof()), (1, None), "one of two");
    late.on_late_ack(here[0]);
    assert_eq!((late.missing(), late.proof()), (0, Some(Proof::LateAck)), "both");
    late.discard();
    assert_eq!(late.proof(), None, "the proof is given once");
    let next = late.on_lost();
    late.on_late_ack(here[0]);
    assert_eq!(late.proof(), None, "late, and of what was discarded");
    late.on_late_ack(next);
    assert_eq!(late.proof(), Some(Proof::LateAck), "all that was lost since");
}

/// Shows RFC3522 3.2-kept, LINUX undo-carry.
#[test]
fn repeats_in_flight_from_an_earlier_episode_count_in_the_next() {
    let both = Accepts { dsack: true, timestamps: true, every: false };
    // (repeats carried over, whether one of them is undelivered, proof of an answer to the repeat
    // that left at 10 ms, proof of one DSACK after one more repeat)
    for (carried, undelivered, echo, dsack) in [
        (Some((1, true)), true, None, None),
        (Some((1, false)), false, Some(Proof::Timestamp), None),
        (Some((0, false)), false, Some(Proof::Timestamp), Some(Proof::Dsack)),
        (None, true, None, None),
    ] {
        let mut undo = Undo::new(both);
        undo.open(Seq(100));
        undo.on_repeat(at(10));
        if let Some((repeats, some)) = carried {
            undo.carry(repeats, some);
            assert_eq!(some, undelivered);
        }
        undo.open(Seq(200));
        undo.on_repeat(at(20));
        let mut answered = undo;
        assert_eq!(answered.on_advance(Seq(201), Some(at(10))), echo, "{carried:?}: echo");
        assert_eq!(undo.on_dsack(Seq(200)), dsack, "{carried:?}: DSACK");
    }
}

// ------------------------------------------------------------------------------------------------------------------- 12 presets

/// Shows OURS preset-rows.
#[test]
fn presets_are_found_by_name() {
    let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
    assert_eq!(
        names,
        ["reno", "sack3517", "sack6675", "linux26", "rack", "linux", "quic", "windows"],
        "the names of the table"
    );
    for name in names {
        assert_eq!(
            Preset::named(name).map(|preset| preset.name),
            Some(name),
            "{name} finds itself"
        );
    }
    assert!(Preset::named("vegas").is_none(), "an unknown name finds nothing");
    let rack = Preset::named("rack").expect("rack is in the table");
    assert!(
        rack.rto().reenter && rack.rto().keep_target && rack.accepts().dsack,
        "RACK re-enters, keeps T, accepts DSACKs"
    );
}

#[test]
fn presets_bound_the_timeout_as_their_stacks_do() {
    let others = [("reno", Bounds::Rfc), ("sack3517", Bounds::Rfc), ("sack6675", Bounds::Rfc)];
    let stacks = [("rack", Bounds::Linux), ("quic", Bounds::Rfc), ("windows", Bounds::Windows)];
    for (name, bounds) in others.into_iter().chain(stacks) {
        let preset = Preset::named(name).expect("a preset");
        assert_eq!((preset.bounds, preset.initial_rto), (bounds, Nanos::from_secs(1)), "{name}");
    }
    let old = Preset::named("linux26").expect("a preset");
    assert_eq!((old.bounds, old.initial_rto), (Bounds::Linux, Nanos::from_secs(3)), "RFC 1122");
}

// ----------------------------------------------------------------------------------------- R2
// delivered data, R3 pipe, R4 next_seg

/// Shows RFC6937 2-1, RFC9937 6-delivered.
#[test]
fn delivered_data_counts_each_byte_once() {
    #[rustfmt::skip]
    let rows = [
        // vector                                  una before, after  SACKed before, after  D
        ("SACKed {1,2,3}, ACK to 4",                0,  4,             3, 0,                 Some(1)),
        ("ACK of {1} lost, next carries {1,2}",     0,  0,             0, 2,                 Some(2)),
        ("old ACK 8 below una 10 with {14,15}",    10, 10,             0, 2,                 Some(2)),
        ("old ACK number itself",                  10,  8,             0, 2,                 Some(2)),
        ("only a DSACK",                           10, 10,             2, 2,                 Some(0)),
        ("receiver discarded",                     10, 10,             2, 1,                 None),
    ];
    for (what, before, after, sacked_before, sacked, expected) in rows {
        let found = delivered(Seq(before), Seq(after), sacked_before, sacked);
        assert_eq!(found, expected, "{what}: D is {found:?}, not {expected:?}");
    }
}

/// Shows RFC6937 2-2.
#[test]
fn without_sack_duplicates_are_set_off_against_the_advance() {
    let mut credit = DuplicateCredit::default();
    let found = [credit.on_duplicate(1), credit.on_duplicate(1), credit.on_duplicate(1)];
    assert_eq!(credit.credit(), 3, "what the pipe without SACK is short of");
    assert_eq!((found, credit.on_advance(5)), ([1; 3], 2), "three duplicates, then una + 5");
    assert_eq!(credit.credit(), 0, "the credit is used up");
}

/// Shows RFC6675 4-SetPipe, RFC6675 4-NextSeg1, RFC6675 4-NextSeg2, RFC6675 4-NextSeg3, RFC6675
/// 4-NextSeg4, RFC6675 4-HighRxt.
#[test]
fn pipe_counts_lost_and_repeated_once_and_unsure_repeats_twice() {
    let mut board = Board::with(RepeatRule::KeepsMark, 10, 1);
    for id in [1, 5, 6] {
        board.mark_sacked(Id(id));
    }
    let mut next = NextSeg::new(Rules::Rfc6675);
    next.open(&board, Seq(10));
    board.mark_lost(Id(0));
    let first = next.choose(&mut board, true);
    assert_eq!(first, Choice::Lost(Id(0)), "the head goes first");
    board.send_again(Id(0), at(1));
    next.on_sent(first);
    assert_eq!(next.high_rxt(), Id(1), "HighRxt is the end of the first repeat");
    assert_eq!(board.ledger.pipe(), 7, "six not lost, one repeated");
    let third = next.choose(&mut board, false);
    assert_eq!(third, Choice::Unsure(Id(2)), "rule 3 takes the lowest un-SACKed one");
    board.send_again(Id(2), at(1));
    next.on_sent(third);
    assert_eq!(board.ledger.pipe(), 8, "2 counts twice");
    // The rest in order: 3 and 4 by rule 3; 7, 8, 9 are above the highest SACK; the rescue waits
    // for una to pass the first repeat.
    for expected in [3, 4] {
        let choice = next.choose(&mut board, false);
        assert_eq!(choice, Choice::Unsure(Id(expected)), "rule 3 goes on with {expected}");
        board.send_again(Id(expected), at(1));
        next.on_sent(choice);
    }
    assert_eq!(next.high_rxt(), Id(5), "and of those by rule 3");
    assert_eq!(next.choose(&mut board, true), Choice::New, "rule 2: new data");
    assert_eq!(
        next.choose(&mut board, false),
        Choice::Nothing,
        "una has not passed the first repeat"
    );
    board.pop();
    board.pop();
    assert_eq!(
        next.choose(&mut board, false),
        Choice::Rescue,
        "una 2 is above the first repeat's end, 1"
    );
    assert!(next.rescue_next(&mut board, false), "which SafeACK hears of");
    assert_eq!(
        board.highest_unsacked(),
        Some(Id(9)),
        "the rescue is the highest un-SACKed segment"
    );
    next.on_sent(Choice::Rescue);
    assert_eq!(next.choose(&mut board, false), Choice::Nothing, "once per episode");
}

/// Shows RFC6675 4-SetPipe.
#[test]
fn under_rack_a_repeat_counts_once_and_a_probe_twice() {
    let mut board = Board::with(RepeatRule::NewBet, 4, 1);
    board.mark_lost(Id(0));
    assert_eq!(board.ledger.pipe(), 3, "a lost segment is gone");
    board.send_again(Id(0), at(1));
    assert_eq!(board.ledger.pipe(), 4, "its repeat counts once");
    board.mark_lost(Id(0));
    assert_eq!(board.ledger.pipe(), 3, "lost again it counts nothing");
    board.send_again(Id(3), at(2));
    assert_eq!(board.ledger.pipe(), 4, "a probe of a segment never lost counts beside it");
    board.mark_lost(Id(3));
    assert_eq!(board.ledger.pipe(), 2, "lost, both are gone");
}

/// Shows RFC6675 4-SetPipe.
#[test]
fn pipe_without_sack_takes_duplicates_for_delivered_segments() {
    let mut board = Board::with(RepeatRule::KeepsMark, 10, 1);
    assert_eq!(board.ledger.pipe_without_sack(10, 3), 7, "three duplicates");
    board.mark_lost(Id(0));
    assert_eq!(board.ledger.pipe_without_sack(10, 3), 6, "and the head lost");
    board.send_again(Id(0), at(1));
    assert_eq!(board.ledger.pipe_without_sack(10, 3), 7, "and repeated");
    assert_eq!(board.ledger.pipe_without_sack(5, 8), 5, "never more than the flight at entry");
}

/// Shows RFC6675 4-NextSeg2.
#[test]
fn new_reno_and_rack_repeat_what_is_lost_and_then_send_new_data() {
    let mut board = Board::with(RepeatRule::NewBet, 4, 1);
    board.mark_sacked(Id(3));
    let mut next = NextSeg::new(Rules::LostFirst);
    next.open(&board, Seq(4));
    assert_eq!(
        next.choose(&mut board, false),
        Choice::Nothing,
        "nothing lost, no new data, no rule 3"
    );
    board.mark_lost(Id(1));
    assert_eq!(next.choose(&mut board, true), Choice::Lost(Id(1)), "lost before new");
    board.send_again(Id(1), at(1));
    assert_eq!(next.choose(&mut board, true), Choice::New, "then new data");
}

/// The harness of section R12 for RFC 6675: FIFO network, one ACK per delivered segment, 20
/// segments in flight, the window cut to `t` at the third duplicate. `stalled`: ACKs (by the
/// segment that triggered them) during which the application has no new data.
fn rfc6675(
    lost: &[u64],
    t: u64,
    acks: usize,
    stalled: std::ops::RangeInclusive<u64>,
) -> (String, String) {
    let mut board = Board::with(RepeatRule::KeepsMark, 20, 1);
    let mut network: std::collections::VecDeque<u64> =
        (0..20).filter(|id| !lost.contains(id)).collect();
    let (mut detector, mut next) = (DupAck::new(Rule::Rfc6675), NextSeg::new(Rules::Rfc6675));
    let (mut limited, mut episode) = (LimitedTransmit::default(), Episode::None);
    let (mut sent, mut pipes) = (Vec::new(), Vec::new());
    for _ in 0..acks {
        let Some(arrived) = network.pop_front() else { break };
        let arrived = Id(arrived);
        let fresh = board.holds(arrived) && board.mark_sacked(arrived);
        if fresh {
            detector.on_sacked(&board, arrived);
        }
        let una = board.first;
        while !board.is_empty() && board.flags(board.first()).has(Flags::SACKED) {
            detector.on_acked(&board, board.first());
            board.pop();
        }
        let advanced = board.first > una;
        detector.count(advanced, fresh && !advanced);
        let found = detector.detect(&mut board, Reordering::default(), 1, episode, advanced);
        let new_data = !stalled.contains(&arrived.0);
        let mut now = Vec::new();
        if found.enter {
            episode = Episode::Fast;
            let nxt = board.nxt();
            next.open(&board, Seq(nxt));
            // The head goes out whatever the pipe says.
            let head = Choice::Lost(board.first());
            pipes.push(board.ledger.pipe());
            board.send_again(Id(board.first), at(1));
            network.push_back(board.first);
            next.on_sent(head);
            now.push('R');
        } else {
            pipes.push(board.ledger.pipe());
        }
        if episode == Episode::Fast {
            while t.saturating_sub(board.ledger.pipe()) >= 1 {
                let choice = next.choose(&mut board, new_data);
                match choice {
                    Choice::Lost(id) | Choice::Unsure(id) => {
                        board.send_again(id, at(1));
                        network.push_back(id.0);
                        now.push('R');
                    }
                    Choice::New => {
                        let id = board.send(1, at(1));
                        network.push_back(id.0);
                        now.push('N');
                    }
                    Choice::Rescue | Choice::Nothing => break,
                }
                next.on_sent(choice);
            }
        } else {
            let (flight, pipe) = (board.ledger.outstanding(), board.ledger.pipe());
            if limited.on_duplicate(
                detector.dupacks(),
                &Room { cwnd: 20, flight, pipe, mss: 1, new_len: u64::from(new_data) },
            ) {
                let id = board.send(1, at(1));
                network.push_back(id.0);
                now.push('N');
            }
        }
        sent.push(match now.as_slice() {
            [] => ".".to_owned(),
            [one] => one.to_string(),
            many if many.iter().all(|&kind| kind == many[0]) => {
                format!("{}{}", many.len(), many[0])
            }
            many => many.iter().collect(),
        });
    }
    (sent.join(" "), pipes.iter().map(u64::to_string).collect::<Vec<_>>().join(" "))
}

/// Shows RFC6675 4-NextSeg1.
#[test]
fn rfc6675_sends_as_in_the_published_figures() {
    const NO_STALL: std::ops::RangeInclusive<u64> = u64::MAX..=u64::MAX;
    #[rustfmt::skip]
    let rows = [
        // row                        lost            T   ACKs stalled   sent                                          pipe
        ("12.1 figure 1",             0..=0,          11, 19,  NO_STALL, "N N R . . . . . . . . N N N N N N N N",         "19 19 18 18 17 16 15 14 13 12 11 10 10 10 10 10 10 10 10"),
        ("12.2 figure 2",             0..=14,         11, 5,   NO_STALL, "N N 7R R R",                                   "19 19 4 10 10"),
        ("12.3 loss {0}, T 10",       0..=0,          10, 21,  NO_STALL, "N N R . . . . . . . . . N N N N N N N N N",     "19 19 18 18 17 16 15 14 13 12 11 10 9 9 9 9 9 9 9 9 9"),
        ("12.3 loss {0}, T 14",       0..=0,          14, 21,  NO_STALL, "N N R . . . . . N N N N N N N N N N N N N",     ""),
        ("12.3 loss {0..14}",         0..=14,         10, 21,  NO_STALL, "N N 6R R R R R R R R R R N N N N N N N N N",    ""),
        ("12.3 stall during 5..8",    0..=0,          10, 21,  5..=8,    "N N R . . . . . . . . . N N N N N N N N N",     ""),
        ("12.3 stall during 5..15",   0..=0,          10, 16,  5..=15,   "N N R . . . . . . . . . . . . 4N",              ""),
    ];
    for (what, lost, t, acks, stalled, sent, pipe) in rows {
        let lost: Vec<u64> = lost.collect();
        let (found_sent, found_pipe) = rfc6675(&lost, t, acks, stalled);
        assert_eq!(found_sent, sent, "{what}: sent is on the left, the figure's on the right");
        if !pipe.is_empty() {
            assert_eq!(found_pipe, pipe, "{what}: pipe is on the left, the figure's on the right");
        }
    }
}

/// The kernel's RACK takes the RTT of the last segment reported, where RFC 8985 takes that of the latest
/// sent, and looks for losses only on an ACK that delivers something.
#[test]
fn the_kernels_rack_takes_the_last_rtt_and_waits_for_a_delivery() {
    let facts = |una: u64| Facts {
        una: Seq(una * MSS),
        nxt: Seq(6 * MSS),
        sacked_segments: 1,
        min_rtt: Some(ms(40)),
        srtt: Some(ms(50)),
        ..Facts::default()
    };
    let arrival = |end: u64, sent: u64| Arrival {
        end: Seq(end * MSS),
        last_tx: at(sent),
        tx_count: 1,
        echo: None,
    };
    let rtts = [Rack::default(), Rack::linux()].map(|mut rack| {
        // One ACK SACKs the fourth segment, sent at 20 ms, and acknowledges the first, sent at 0.
        rack.on_delivered(at(100), &arrival(4, 20), Some(ms(40)));
        rack.on_delivered(at(100), &arrival(1, 0), Some(ms(40)));
        rack.on_ack(&facts(1));
        assert_eq!(rack.reference(), Some((at(20), Seq(4 * MSS))));
        rack.rtt()
    });
    assert_eq!(rtts, [ms(80), ms(100)]);

    let marked = [Rack::default(), Rack::linux()].map(|mut rack| {
        let mut board = Board::with(RepeatRule::NewBet, 3, MSS);
        for end in 1..=3 {
            rack.on_sent(at(0), Seq(end * MSS));
        }
        rack.on_delivered(at(60), &arrival(3, 0), Some(ms(40)));
        board.mark_sacked(Id(2));
        rack.on_ack(&facts(0));
        let first = rack.detect(&mut board, at(60));
        assert!(first.losses.is_empty() && first.deadline == Some(at(70)), "{first:?}");
        // Later than that an ACK says nothing new, and then the timer fires.
        rack.on_ack(&facts(0));
        let later = rack.detect(&mut board, at(75)).losses.is_empty();
        (later, rack.expire(&mut board, at(76)).losses.is_empty())
    });
    assert_eq!(marked, [(false, true), (true, false)]);
}

/// A proof that is put off is judged again with the next ACK.
#[test]
fn a_proof_that_is_put_off_comes_again() {
    let mut undo = Undo::new(Accepts { dsack: true, timestamps: true, every: false });
    undo.carry(0, false);
    undo.open(Seq(0));
    undo.on_repeat(at(50));
    assert_eq!(undo.on_advance(Seq(MSS), Some(at(40))), Some(Proof::Timestamp));
    undo.put_off();
    assert_eq!(undo.on_advance(Seq(2 * MSS), Some(at(45))), Some(Proof::Timestamp));
    assert_eq!(undo.on_advance(Seq(3 * MSS), Some(at(45))), None, "told once");
}

/// Shows LINUX undo-every.
#[test]
fn linux_asks_every_ack_of_an_episode() {
    for (every, expected) in [(false, None), (true, Some(Proof::Timestamp))] {
        let mut undo = Undo::new(Accepts { dsack: true, timestamps: true, every });
        undo.open(Seq(0));
        undo.on_repeat(at(50));
        assert_eq!(undo.on_advance(Seq(MSS), Some(at(60))), None, "an answer to the repeat");
        assert_eq!(undo.on_advance(Seq(2 * MSS), Some(at(40))), expected, "every ACK: {every}");
    }
}

/// Shows LINUX rack-dsack, LINUX rack-steps.
#[test]
fn a_dsack_widens_the_window_of_linux_with_the_next_delivery() {
    let mut rack = Rack::linux();
    rack.see_reordering();
    let facts = Facts { min_rtt: Some(ms(40)), srtt: Some(ms(10_000)), ..Facts::default() };
    let dsack = |rack: &mut Rack| rack.on_ack(&Facts { dsack: true, ..facts });
    let deliver = |rack: &mut Rack, sent: u64| {
        let (end, last_tx) = (Seq((sent + 1) * MSS), at(sent));
        let arrival = Arrival { end, last_tx, tx_count: 1, echo: None };
        rack.on_delivered(at(sent + 40), &arrival, Some(ms(40)));
        rack.on_ack(&facts);
        rack.reordering_window()
    };
    for sent in [0, 10, 20] {
        rack.on_sent(at(sent), Seq((sent + 1) * MSS));
    }
    assert_eq!(deliver(&mut rack, 0), ms(10));
    dsack(&mut rack);
    assert_eq!(rack.reordering_window(), ms(10), "nothing was delivered since");
    assert_eq!(deliver(&mut rack, 10), ms(20));
    dsack(&mut rack);
    assert_eq!(deliver(&mut rack, 20), ms(20), "it left before the window was widened");
    for sent in 21..=400 {
        rack.on_sent(at(sent), Seq((sent + 1) * MSS));
        dsack(&mut rack);
        deliver(&mut rack, sent);
    }
    assert_eq!(rack.reordering_window(), ms(2_550), "255 quarters");
}
