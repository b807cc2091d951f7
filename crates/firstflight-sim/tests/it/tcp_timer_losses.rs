//! Losses that RACK's timer declares inside an open episode, while no ACK is processed. The sender
//! may at once use the room that they leave in the window: a sender limited to the grant of the
//! last delivery would wait for the timeout, with nothing left in the network.

use crate::tcp_wire;

use firstflight::Ack;
use firstflight::detection::Scoreboard as _;
use firstflight_sim::tcp::Transmit;
use tcp_wire::{Fate, Happening, MS, MSS, Wire, host};

/// By RFC 9937 with and without a second cut for a lost repeat, and by Linux's rules.
const ARMS: [&str; 3] = [
    "slowstart@(iw=20)",
    "slowstart/cubic/prr(lost=ignore)@(iw=20)",
    "slowstart/cubic/prr(mode=linux)@(iw=20)",
];

/// No ACK was processed.
fn timer(ack: &Ack) -> bool {
    ack.acked == 0 && ack.lost > 0 && ack.detail.receiver_ts.is_none()
}

/// Segment 0 is lost and 1 overtaken by three others, so that the episode opens at once and RACK
/// then waits for reordering. Its repeats are lost, and so is the rest of the flight but its last
/// segment, whose ACK lets the timer find that.
#[test]
fn a_repeat_and_the_rest_of_the_flight_lost_need_no_timeout() {
    for arm in ARMS {
        let fate = |number: u64, sent: &Transmit| match number {
            1 => Fate::Late(MS / 2),
            2 | 3 | 4 | 19 => Fate::Deliver,
            _ if sent.segment.stamp < 120 => Fate::Drop,
            _ => Fate::Deliver,
        };
        let mut wire = Wire::new(host("rack"), arm, 60, fate);
        wire.run();
        let found: Vec<(u64, u64)> = wire
            .heard()
            .filter(|(_, ack)| timer(ack))
            .map(|(at, ack)| (at / MS, ack.lost / MSS))
            .collect();
        let first = *found.first().expect("the timer finds losses");
        assert!(
            first.1 >= 10,
            "{arm}: at {} ms the timer finds {} segments lost",
            first.0,
            first.1
        );
        assert!(
            wire.repeats().iter().any(|(at, _)| at / MS == first.0),
            "{arm}: repeats leave when the timer finds them lost"
        );
        assert_eq!(wire.sender.counters().rtos, 0, "{arm}: nothing waits for the timeout");
    }
}

/// SplitMix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Reordering early, then a stretch in which most transmissions are lost, repeats like originals.
fn rough(seed: u64) -> impl FnMut(u64, &Transmit) -> Fate {
    let mut state = seed;
    let (from, length, share) =
        (20 + random(&mut state) % 40, 10 + random(&mut state) % 60, 50 + random(&mut state) % 50);
    move |number, _| match number {
        2 => Fate::Late(MS / 4),
        _ if number >= from && number < from + length && random(&mut state) % 100 < share => {
            Fate::Drop
        }
        _ => Fate::Deliver,
    }
}

#[test]
fn a_whole_segment_of_room_in_an_episode_is_used() {
    for arm in ARMS {
        let (mut by_timer, mut held) = (0, Vec::new());
        for seed in 0..300 {
            let mut wire = Wire::new(host("rack"), arm, 400, rough(seed));
            wire.watch = Box::new(|sender| {
                let room = sender.controller().cwnd().saturating_sub(sender.inflight());
                let waits = sender.release_at().is_some() || sender.board().ledger().lost() == 0;
                if sender.controller().in_recovery() && room >= MSS && !waits {
                    held.push((seed, sender.una() / MSS, room / MSS));
                }
            });
            wire.run();
            let mut open = false;
            for (_, what) in &wire.happened {
                if let Happening::Heard(ack) = what {
                    by_timer += u32::from(open && timer(ack));
                    open |= ack.lost > 0;
                }
            }
        }
        assert!(by_timer >= 100, "{arm}: the timer found losses only {by_timer} times");
        assert_eq!(
            held,
            [],
            "{arm}: seed, first segment missing, segments of room that losses left and that are not sent into"
        );
    }
}
