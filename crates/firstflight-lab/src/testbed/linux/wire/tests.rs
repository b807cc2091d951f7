//! Segments as seen on a link, and the log made from them.

use super::*;
use firstflight_log::trace::{Log, Start};

const MS: u64 = 1_000_000;
const FIRST: u32 = u32::MAX - 1500;

/// The sender's data segment number `number` with 1000 bytes; sequence numbers wrap around zero on
/// the way.
fn data(number: u32, id: u16) -> (u16, Segment) {
    let segment = Segment {
        seq: FIRST.wrapping_add(number * 1000),
        payload: 1000,
        has_ack: true,
        ack: 7,
        stamps: Some((1, 1)),
        ..Segment::default()
    };
    (id, segment)
}

fn ack(upto: u32, sacks: &[(u32, u32)]) -> (u16, Segment) {
    let place = |number: u32| FIRST.wrapping_add(number * 1000);
    let mut blocks = [None; 4];
    for (block, (from, to)) in blocks.iter_mut().zip(sacks) {
        *block = Some((place(*from), place(*to)));
    }
    let segment = Segment {
        has_ack: true,
        ack: place(upto),
        sacks: blocks,
        stamps: Some((40 + upto, 1)),
        ..Segment::default()
    };
    (0, segment)
}

fn log(sights: &[(u64, Place, (u16, Segment))]) -> Log {
    let sights: Vec<Sight> = sights
        .iter()
        .map(|&(ms, place, (id, segment))| {
            let segment = Segment { now: Time((ms + 5) * MS), ..segment };
            Sight { place, len: segment.payload as u16 + 52, id, segment }
        })
        .collect();
    let mut log = LogWriter::new(Start::default());
    log.begin(Time(0), |_| ());
    let look = |_| Some(State { cwnd: 4000, ..State::default() });
    assert_eq!(
        read(&mut log, &sights, 1000, &look),
        Some(5 * MS),
        "the first data left 5 ms after the link began"
    );
    log.finish()
}

fn acks(trace: &Log) -> Vec<(Ack, Ranges, Ranges)> {
    let told = |what: &What| match what {
        What::Event { event: Event::Ack(ack, _), acked, lost, .. } => {
            Some((*ack, acked.clone(), lost.clone()))
        }
        _ => None,
    };
    trace.entries.iter().filter_map(|entry| told(&entry.what)).collect()
}

/// Four segments, the second of which is dropped and retransmitted.
fn one_loss() -> Log {
    log(&[
        (0, Place::SenderOut, data(0, 10)),
        (0, Place::SenderOut, data(1, 11)),
        (0, Place::SenderOut, data(2, 12)),
        (0, Place::SenderOut, data(3, 13)),
        (15, Place::ReceiverIn, data(0, 10)),
        (15, Place::ReceiverOut, ack(1, &[])),
        (16, Place::ReceiverIn, data(2, 12)),
        (17, Place::ReceiverIn, data(3, 13)),
        (17, Place::ReceiverOut, ack(1, &[(2, 4)])),
        (30, Place::SenderIn, ack(1, &[])),
        (32, Place::SenderIn, ack(1, &[(2, 4)])),
        (33, Place::SenderOut, data(1, 14)),
        (48, Place::ReceiverIn, data(1, 14)),
        (48, Place::ReceiverOut, ack(4, &[])),
        (63, Place::SenderIn, ack(4, &[])),
    ])
}

#[test]
fn each_ack_says_what_it_newly_delivers() {
    let acks = acks(&one_loss());
    let said: Vec<_> = acks
        .iter()
        .map(|(ack, acked, _)| (ack.now.0 / MS, ack.acked, ack.una.0, ack.sacked, acked.clone()))
        .collect();
    assert_eq!(
        said,
        [
            (30, 1000, 1000, 0, vec![(0, 0)]),
            (32, 2000, 1000, 2000, vec![(2, 3)]),
            (63, 1000, 4000, 0, vec![(4, 4)])
        ]
    );
    assert_eq!(acks[0].0.detail.receiver_ts, Some(41), "the receiver's clock is that of the ACK");
}

#[test]
fn what_is_sent_again_was_lost_with_the_ack_before() {
    let acks = acks(&one_loss());
    let lost: Vec<_> =
        acks.iter().map(|(ack, _, lost)| (ack.lost, ack.tx_lost, lost.clone())).collect();
    assert_eq!(lost, [(0, None, vec![]), (1000, Some(1), vec![(1, 1)]), (0, None, vec![])]);
    let inflight: Vec<_> =
        acks.iter().map(|(ack, ..)| (ack.inflight_before, ack.inflight)).collect();
    assert_eq!(inflight, [(4000, 3000), (3000, 0), (1000, 0)], "before and after each ACK");
}

#[test]
fn a_repeat_gives_no_rtt_sample() {
    let rtts: Vec<_> =
        acks(&one_loss()).iter().map(|(ack, ..)| ack.rtt.map(|rtt| rtt.0 / MS)).collect();
    assert_eq!(rtts, [Some(30), Some(32), None]);
}

#[test]
fn the_receivers_end_has_what_arrived_and_what_it_acknowledged() {
    let trace = one_loss();
    let numbers: Vec<u64> = trace
        .receiver
        .iter()
        .filter_map(
            |(_, what)| if let Received::Data { number, .. } = what { Some(*number) } else { None },
        )
        .collect();
    assert_eq!(
        numbers,
        [0, 2, 3, 4],
        "the second transmission never arrives, the fifth repeats it"
    );
    let told: Vec<Ranges> = trace
        .receiver
        .iter()
        .filter_map(|(_, what)| {
            if let Received::Acknowledged { packets, .. } = what {
                Some(packets.clone())
            } else {
                None
            }
        })
        .collect();
    assert_eq!(told, [vec![(0, 0)], vec![(2, 3)], vec![(4, 4)]]);
    let dropped: Vec<bool> = trace
        .entries
        .iter()
        .filter_map(|entry| {
            if let What::Event { packet: Some(packet), .. } = &entry.what {
                Some(packet.dropped)
            } else {
                None
            }
        })
        .collect();
    assert_eq!(dropped, [false, true, false, false, false]);
    let delivered = trace.entries.last().and_then(|entry| entry.state).map(|state| state.delivered);
    assert_eq!(delivered, Some(4000), "in the end all is there in order");
}

/// The same ACK with the three ECN flags as a number.
fn reporting(ace: u8, (id, segment): (u16, Segment)) -> (u16, Segment) {
    let [ae, cwr, ece] = [4, 2, 1].map(|bit| ace & bit != 0);
    (id, Segment { ae, cwr, ece, ..segment })
}

#[test]
fn accurate_ecn_reports_packets_and_its_counter_alone_reports_none() {
    let answer = Segment { syn: true, has_ack: true, ..Segment::default() };
    let mut sights = vec![(0, Place::SenderOut, reporting(0b010, (0, answer)))];
    sights.extend((0..6).map(|number| (1, Place::SenderOut, data(number, 10 + number as u16))));
    // No new marks, two packets at once, one, none.
    for (at, upto, ace) in [(30, 1, 5), (31, 3, 7), (32, 4, 0), (33, 6, 0)] {
        sights.push((at, Place::SenderIn, reporting(ace, ack(upto, &[]))));
    }
    let sights: Vec<Sight> = sights
        .into_iter()
        .map(|(ms, place, (id, segment))| {
            let segment = Segment { now: Time(ms * MS), ..segment };
            Sight { place, len: segment.payload as u16 + 52, id, segment }
        })
        .collect();
    let mut log = LogWriter::new(Start::default());
    log.begin(Time(0), |_| ());
    read(&mut log, &sights, 1000, &|_| None).expect("data");
    let marks: Vec<_> =
        acks(&log.finish()).iter().map(|(ack, ..)| (ack.ce, ack.detail.ce_bytes)).collect();
    assert_eq!(marks, [(false, None), (true, Some(2000)), (true, Some(1000)), (false, None)]);
}

#[test]
fn sack_blocks_below_the_number_or_beyond_the_data_report_nothing() {
    let acks = acks(&log(&[
        (0, Place::SenderOut, data(0, 10)),
        (0, Place::SenderOut, data(1, 11)),
        (0, Place::SenderOut, data(2, 12)),
        (0, Place::SenderOut, data(3, 13)),
        (30, Place::SenderIn, ack(1, &[])),
        (31, Place::SenderIn, ack(2, &[(0, 1), (0, 2)])),
        (32, Place::SenderIn, ack(2, &[(3, 4), (0, 1)])),
        (33, Place::SenderIn, ack(2, &[(3, 9)])),
        (34, Place::SenderIn, ack(2, &[(3, 4), (1, 3)])),
    ]));
    let news: Vec<_> = acks.iter().map(|(ack, ..)| ack.acked).collect();
    assert_eq!(news, [1000, 1000, 1000, 1000], "the last block covers the third segment, too");
}
