//! The scoreboard, compared with plain walks over a plain copy of it: lookups, skip pointers and
//! the truth about declared losses.

use firstflight::detection::{Flags, Id, RepeatRule, Scoreboard, SendOrder};
use firstflight::{Seq, Time};
use firstflight_sim::tcp::Board;
use proptest::prelude::*;

const MSS: u64 = 1000;

/// Something that happens; numbers are reduced to what is outstanding.
#[derive(Clone, Copy, Debug)]
enum Event {
    Send { len: u64 },
    Sack { from: u64, count: u64 },
    Ack { count: u64 },
    Lose { which: u64 },
    Repeat { which: u64 },
    Drop { which: u64 },
    ForgetSacks,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => prop_oneof![4 => Just(MSS), 1 => 1..=MSS].prop_map(|len| Event::Send { len }),
        6 => (any::<u64>(), 1u64..12).prop_map(|(from, count)| Event::Sack { from, count }),
        3 => (1u64..6).prop_map(|count| Event::Ack { count }),
        3 => any::<u64>().prop_map(|which| Event::Lose { which }),
        3 => any::<u64>().prop_map(|which| Event::Repeat { which }),
        3 => any::<u64>().prop_map(|which| Event::Drop { which }),
        1 => Just(Event::ForgetSacks),
    ]
}

/// A segment in a plain list.
#[derive(Clone, Copy, Debug)]
struct Plain {
    start: u64,
    end: u64,
    first_tx: u64,
    last_tx: u64,
    count: u32,
    nxt_at_last_tx: u64,
    ordinal: u64,
    /// The transmission before the latest.
    earlier: Option<u64>,
}

fn check(board: &mut Board, plain: &[Plain], first: usize) -> Result<(), TestCaseError> {
    prop_assert_eq!((board.first(), board.next()), (Id(first as u64), Id(plain.len() as u64)));
    prop_assert_eq!(
        board.una(),
        plain.get(first).map_or(board.nxt(), |segment| segment.start),
        "the oldest unacknowledged byte"
    );
    let mut pipe = 0;
    for (index, segment) in plain.iter().enumerate().skip(first) {
        let id = Id(index as u64);
        let is = (
            board.start(id).0,
            board.end(id).0,
            board.first_tx(id).0,
            board.last_tx(id).0,
            board.tx_count(id),
            board.ordinal(id),
        );
        let was = (
            segment.start,
            segment.end,
            segment.first_tx,
            segment.last_tx,
            segment.count,
            segment.ordinal,
        );
        prop_assert_eq!(
            is,
            was,
            "segment {}: start, end, first and last sending, count, ordinal",
            index
        );
        prop_assert_eq!(
            board.nxt_at_last_tx(id).0,
            segment.nxt_at_last_tx,
            "segment {}: next byte at its last sending",
            index
        );
        prop_assert_eq!(
            board.live(segment.ordinal),
            Some(id),
            "the log knows who was sent as {}",
            segment.ordinal
        );
        let flags = board.flags(id);
        let len = segment.end - segment.start;
        pipe += if flags.has(Flags::SACKED) {
            0
        } else {
            u64::from(!flags.has(Flags::LOST)) + u64::from(flags.has(Flags::REPEATED))
        } * len;
        for at in [segment.start, segment.end - 1] {
            prop_assert_eq!(board.find(Seq(at)), id, "byte {} is in segment {}", at, index);
        }
        let next_unsacked = (index..plain.len())
            .find(|&index| !board.flags(Id(index as u64)).has(Flags::SACKED))
            .unwrap_or(plain.len());
        prop_assert_eq!(
            board.unsacked_from(id),
            Id(next_unsacked as u64),
            "the first un-SACKed segment from {} on",
            index
        );
    }
    prop_assert_eq!(board.ledger().pipe(), pipe, "L12: the pipe is what a walk finds");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_board_agrees_with_a_plain_list(
        events in prop::collection::vec(event(), 1..400),
        rule in prop_oneof![Just(RepeatRule::NewBet), Just(RepeatRule::KeepsMark)],
    ) {
        let mut board = Board::new(rule, MSS);
        let (mut plain, mut first, mut ordinal) = (Vec::<Plain>::new(), 0usize, 0u64);
        // Per transmission: the path dropped it, it was declared lost.
        let mut fates: Vec<(bool, bool)> = Vec::new();
        for (now, event) in events.into_iter().enumerate() {
            let now = now as u64;
            let outstanding = (plain.len() - first) as u64;
            let pick = |which: u64| Id(first as u64 + which % outstanding.max(1));
            match event {
                Event::Send { len } => {
                    let start = board.nxt();
                    board.push(Time(now), len);
                    plain.push(Plain { start, end: start + len, first_tx: now, last_tx: now, count: 1, nxt_at_last_tx: start + len, ordinal, earlier: None });
                    fates.push((false, false));
                    ordinal += 1;
                }
                Event::Sack { from, count } if outstanding > 1 => {
                    // Never the head: that would be acknowledged.
                    let from = first as u64 + 1 + from % (outstanding - 1);
                    for index in from..(from + count).min(plain.len() as u64) {
                        board.mark_sacked(Id(index));
                    }
                }
                Event::Ack { count } => {
                    for _ in 0..count.min(outstanding) {
                        board.pop();
                        first += 1;
                    }
                    board.forget_old();
                }
                Event::Lose { which } if outstanding > 0 => {
                    let id = pick(which);
                    let repeated = board.flags(id).has(Flags::REPEATED);
                    if board.mark_lost(id) {
                        let segment = &plain[id.0 as usize];
                        // The original that a repeat stands beside; the repeat too unless it keeps its own mark.
                        if let Some(ordinal) = segment.earlier.filter(|_| repeated) {
                            fates[ordinal as usize].1 = true;
                        }
                        if !repeated || rule == RepeatRule::NewBet {
                            fates[segment.ordinal as usize].1 = true;
                        }
                    }
                }
                Event::Repeat { which } if outstanding > 0 => {
                    let id = pick(which);
                    if !board.flags(id).has(Flags::SACKED) {
                        let nxt = board.nxt();
                        board.push_again(Time(now), id);
                        let segment = &mut plain[id.0 as usize];
                        segment.earlier = Some(segment.ordinal);
                        (segment.last_tx, segment.count, segment.nxt_at_last_tx, segment.ordinal) = (now, segment.count + 1, nxt, ordinal);
                        fates.push((false, false));
                        ordinal += 1;
                    }
                }
                Event::Drop { which } if outstanding > 0 => {
                    // The path decides right when a segment is sent, before anybody declares anything.
                    let id = pick(which);
                    let fate = &mut fates[plain[id.0 as usize].ordinal as usize];
                    if !fate.1 {
                        board.on_dropped(id, board.last_tx(id));
                        fate.0 = true;
                    }
                }
                Event::ForgetSacks => board.forget_sacks(),
                _ => {}
            }
            check(&mut board, &plain, first)?;
        }
        let truth = board.truth();
        let declared = |dropped: bool| fates.iter().filter(|fate| **fate == (dropped, true)).count() as u64;
        prop_assert_eq!((truth.dropped, truth.delivered), (declared(true), declared(false)), "declared losses by what had become of them");
    }
}
