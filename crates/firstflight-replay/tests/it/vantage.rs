//! Captures as users have them: taken elsewhere on the path, duplicated, out of order, truncated,
//! or with a coarse or stepping clock. Each is made from a connection with known ground truth, and
//! gives the numbers of the good capture, a refusal, or a correct remark.

use crate::model::replayed;
use crate::synthetic::{MS, Packet, Plan, RAW, Random, Seen, along, connection, pcap};
use firstflight_log::quality::{Trust, Vantage};
use firstflight_replay::population::{Accept, Entries, to_toml};
use firstflight_replay::results::Results;
use firstflight_replay::summary::ConnectionRow;

/// Cases of each kind.
fn cases(share: u64) -> u64 {
    if std::env::var_os("NIGHT").is_some() { share * 50 } else { share }
}

/// Outcome of a capture: the row of the download, or the refusal.
fn read(seen: &[Seen]) -> Result<ConnectionRow, String> {
    let (extent, replay) = replayed("x.pcap", pcap(seen, RAW));
    extent.map_err(|fault| fault.to_string())?;
    let mut rows = Results::new(replay, Vec::new()).connections;
    if rows.len() == 1 { Ok(rows.remove(0)) } else { Err(format!("{} connections", rows.len())) }
}

/// Results that must not depend on the way of capturing.
#[derive(Debug, PartialEq)]
struct Numbers {
    bytes: u64,
    min_rtt: Option<u64>,
    lost: u64,
    timeouts: u64,
    first_window: u64,
    exits: Vec<(String, Option<&'static str>, Option<u64>)>,
}

fn numbers(row: &ConnectionRow) -> Numbers {
    let exits = row.startups.iter();
    Numbers {
        bytes: row.bytes,
        min_rtt: row.min_rtt_ms.map(|rtt| (rtt * 1e6).round() as u64),
        lost: ((row.loss_ratio.expect("a capture shows losses") * 1e9).round()) as u64,
        timeouts: row.timeouts,
        first_window: row.initial_window,
        exits: exits.map(|one| (one.arm.clone(), one.reason, one.cwnd)).collect(),
    }
}

/// A connection, its capture at the sender, and what that shows.
struct Good {
    plan: Plan,
    packets: Vec<Packet>,
    seen: Vec<Seen>,
    row: ConnectionRow,
    min_rtt: u64,
}

fn good(seed: u64) -> Good {
    // No timer of a TCP in use waits for more than two minutes.
    let rests = |packets: &[Packet]| {
        let seen = along(packets, 0.0);
        seen.windows(2).all(|pair| pair[1].at - pair[0].at < 120_000 * MS)
    };
    let (plan, (mut packets, truth)) = (0..100)
        .map(|again| Plan::random(seed + again * 1_000_003))
        .map(|plan| (plan.clone(), connection(&plan)))
        .find(|(_, (packets, _))| rests(packets))
        .expect("a plan whose timers fire");
    // A kernel takes a moment, so what it sends is later than what it answers.
    for packet in packets.iter_mut().filter(|packet| packet.from_sender) {
        packet.left += TURN;
    }
    echo(&mut packets);
    let seen = along(&packets, 0.0);
    let row = read(&seen).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
    let capture = row.capture.as_ref().expect("a record");
    assert_eq!(capture.trust, Trust::Sound, "seed {seed}: {capture:?}");
    assert_eq!(capture.vantage, Vantage::Sender, "seed {seed}: {capture:?}");
    assert_eq!(capture.line(), None, "seed {seed}: nothing is wrong with it");
    assert_eq!(row.bytes, truth.bytes, "seed {seed}");
    let min_rtt = row.min_rtt_ms.expect("an RTT") * 1e6;
    // A SACK tells of segments that no ACK covers yet: it may show a shorter one than the truth.
    let least = plan.rtt as f64 - TURN as f64;
    assert!(min_rtt >= least && min_rtt < 1.01 * truth.min_rtt as f64, "seed {seed}: {min_rtt}");
    Good { plan, packets, seen, row, min_rtt: min_rtt as u64 }
}

/// Puts the latest timestamp that the sender had received into all that it sent, RFC 7323.
fn echo(packets: &mut [Packet]) {
    let value = |packet: &Packet| {
        let option = packet.options.iter().find(|option| option[0] == 8)?;
        Some(option[2..6].to_vec())
    };
    let mut heard: Vec<(u64, Vec<u8>)> = packets
        .iter()
        .filter(|packet| !packet.from_sender)
        .filter_map(|packet| Some((packet.reached?, value(packet)?)))
        .collect();
    heard.sort();
    for packet in packets.iter_mut().filter(|packet| packet.from_sender) {
        let before = heard.partition_point(|(at, _)| *at <= packet.left);
        let latest = heard[..before].iter().map(|(_, value)| value).max();
        let option = packet.options.iter_mut().find(|option| option[0] == 8);
        if let (Some(option), Some(latest)) = (option, latest) {
            option[6..10].copy_from_slice(latest);
        }
    }
}

/// Response time of an end, ns.
const TURN: u64 = 15_000;
/// TTL of an IPv4 packet.
const TTL: usize = 8;
/// Identification.
const ID: usize = 4;

fn is_syn(seen: &Seen) -> bool {
    seen.bytes[33] & 2 != 0
}

/// The sender itself sends a segment twice within a millisecond: without identifications nothing
/// tells that from a copy.
fn repeats_at_once(seen: &[Seen]) -> bool {
    let data: Vec<&Seen> =
        seen.iter().filter(|seen| seen.from_sender && seen.length > 100).collect();
    data.iter().enumerate().any(|(index, one)| {
        let after = data[index + 1..].iter().take_while(|other| other.at - one.at <= MS);
        after.into_iter().any(|other| other.bytes[24..] == one.bytes[24..])
    })
}

/// The packet at this place repeats data of the sender.
fn is_repeat(seen: &[Seen], at: usize) -> bool {
    let seq = |seen: &Seen| seen.bytes[24..28].to_vec();
    let before = seen[..at].iter().filter(|other| other.from_sender && other.length > 100);
    seen[at].from_sender && before.into_iter().any(|other| seq(other) == seq(&seen[at]))
}

/// Nanoseconds of an RTT that a row shows.
fn rtt(row: &ConnectionRow) -> Option<f64> {
    row.min_rtt_ms.map(|rtt| rtt * 1e6)
}

#[test]
fn captured_twice_is_as_captured_once() {
    for seed in 0..cases(40) {
        let good = good(seed);
        let mut random = Random::new(seed ^ 0x0d0b);
        let share = random.one(&[1000, 1000, 300, 50]);
        let most = (good.min_rtt / 3).min(MS);
        let numbered = random.chance(800) || repeats_at_once(&good.seen);
        let apart = random.one(&[0, 2_000, 50_000, most]).min(if numbered { most } else { 50_000 });
        let routed = random.chance(300);
        let mut doubled = Vec::new();
        let mut copies = 0;
        for seen in &good.seen {
            let mut seen = seen.clone();
            if !numbered {
                seen.bytes[ID..ID + 2].fill(0);
            }
            if random.chance(share) {
                let mut copy = Seen { at: seen.at + random.below(apart + 1), ..seen.clone() };
                if routed {
                    copy.bytes[TTL] -= 1;
                }
                copies += u64::from(numbered);
                doubled.push(copy);
            }
            doubled.push(seen);
        }
        doubled.sort_by_key(|seen| seen.at);
        let row = read(&doubled).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        let capture = row.capture.as_ref().expect("a record");
        let about = format!("seed {seed}, {share} of 1000, {apart} ns: {capture:?}");
        // If some frames were captured twice, only an identification or a SACK block tells the copy
        // of a duplicate ACK from the next one.
        let bare = !numbered && !good.plan.sack;
        if bare && share < 1000 && capture.trust == Trust::Doubtful {
            assert!(capture.doubled_unsure > 0, "{about}");
            continue;
        }
        assert_eq!(numbers(&row), numbers(&good.row), "{about}");
        assert_eq!(capture.trust, Trust::Sound, "{about}");
        // Copies of the last ACK come when the connection is over.
        assert!(
            capture.doubled + 4 >= copies && capture.doubled <= good.seen.len() as u64,
            "{about}: {copies}"
        );
    }
}

#[test]
fn out_of_order_in_the_file_is_no_loss() {
    for seed in 0..cases(40) {
        let good = good(seed);
        let mut random = Random::new(seed ^ 0x5f1e);
        let mut shuffled = good.seen.clone();
        match random.below(3) {
            0 => {
                for index in 0..shuffled.len() - 1 {
                    if random.chance(100) {
                        shuffled.swap(index, index + 1);
                    }
                }
            }
            1 => {
                let most = random.one(&[200_000, MS, 10 * MS]);
                let late: Vec<u64> = shuffled.iter().map(|_| random.below(most)).collect();
                let mut order: Vec<usize> = (0..shuffled.len()).collect();
                order.sort_by_key(|index| shuffled[*index].at + late[*index]);
                shuffled = order.into_iter().map(|index| good.seen[index].clone()).collect();
            }
            // Two queues that are emptied in turn.
            _ => {
                let batch = random.one(&[2_u64, 5, 20]) * MS;
                shuffled.sort_by_key(|seen| (seen.at / batch, seen.from_sender, seen.at));
            }
        }
        let row = read(&shuffled).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        let capture = row.capture.as_ref().expect("a record");
        assert_eq!(numbers(&row), numbers(&good.row), "seed {seed}: {capture:?}");
        assert_eq!(capture.trust, Trust::Sound, "seed {seed}: {capture:?}");
    }
}

#[test]
fn a_capture_taken_elsewhere_is_refused_or_right() {
    for seed in 0..cases(40) {
        let good = good(seed);
        let mut random = Random::new(seed ^ 0xe15e);
        let part = random.one(&[0.03, 0.06, 0.2, 0.5, 0.8, 0.97, 1.0]);
        let (handshake, hops) = (random.chance(600), random.chance(500));
        let mut seen = along(&good.packets, part);
        seen.retain(|seen| handshake || !is_syn(seen));
        if !hops {
            // One link, or a tunnel: no router has touched them.
            for seen in &mut seen {
                seen.bytes[TTL] = 64;
            }
        }
        let about = format!("seed {seed}, at {part}, handshake {handshake}, {:?}", good.plan);
        match read(&seen) {
            Ok(row) => {
                let capture = row.capture.as_ref().expect("a record");
                let doubts = capture.trust == Trust::Doubtful && capture.line().is_some();
                // The handshake shows both halves.
                let named = handshake && part > 0.1;
                assert!(!named, "{about}: {capture:?}");
                let off = rtt(&row).map_or(1.0, |rtt| (rtt / good.min_rtt as f64 - 1.0).abs());
                // A link without a router leaves no trace in TTLs.
                let known = if handshake { 0.05 } else { 0.1 };
                // Less may be the sender's own turn.
                let off_ns = rtt(&row).map_or(f64::MAX, |rtt| (rtt - good.min_rtt as f64).abs());
                assert!(
                    doubts || off < known || off_ns < 250_000.0,
                    "{about}: off by {off}, {capture:?}"
                );
                assert_eq!(row.startups.is_empty(), !handshake, "{about}");
            }
            Err(why) => {
                let true_word = if part >= 0.9 { "at the receiver" } else { "in the middle" };
                assert!(part >= 0.1 && why.contains(true_word), "{about}: {why}");
            }
        }
    }
}

#[test]
fn a_capture_that_was_cut_says_so() {
    for seed in 0..cases(40) {
        let good = good(seed);
        let mut random = Random::new(seed ^ 0xc07);
        let count = good.seen.len() as u64;
        let some = 4 + random.below(count / 3) as usize;
        let kind = random.below(3);
        let seen: Vec<Seen> = match kind {
            0 => good.seen[some..].to_vec(),
            1 => good.seen[..good.seen.len() - some].to_vec(),
            _ => {
                // Behind the first data.
                let from = 6 + random.below(count / 3) as usize;
                let gap = 1 + random.below(20) as usize;
                [&good.seen[..from], &good.seen[from + gap..]].concat()
            }
        };
        let about = format!("seed {seed}, kind {kind}, {some} packets of {count}");
        let row = match read(&seen) {
            Ok(row) => row,
            Err(why) => {
                let is_short = why.contains("too little data") || why == "0 connections";
                assert!(is_short, "{about}: {why}");
                continue;
            }
        };
        let capture = row.capture.as_ref().expect("a record");
        let about = format!("{about}: {capture:?}");
        assert!(capture.trust == Trust::Sound || capture.line().is_some(), "{about}");
        assert!(rtt(&row).is_none_or(|rtt| rtt > 0.99 * good.min_rtt as f64), "{about}");
        assert_eq!(capture.begins, kind != 0, "{about}");
        if kind == 0 {
            assert!(row.startups.is_empty(), "{about}: no exits");
            assert!(capture.line().is_some_and(|line| line.contains("started before")), "{about}");
        } else {
            assert_eq!(row.startups.len(), good.row.startups.len(), "{about}");
        }
        if kind == 1 {
            assert_eq!(row.initial_window, good.row.initial_window, "{about}");
            assert!(numbers(&row).min_rtt >= numbers(&good.row).min_rtt, "{about}");
            assert!(row.timeouts <= good.row.timeouts, "{about}");
        }
    }
}

#[test]
fn a_coarse_clock_claims_nothing_below_its_tick() {
    for seed in 0..cases(30) {
        let good = good(seed);
        let mut random = Random::new(seed ^ 0x71c);
        let tick = random.one(&[MS, 4 * MS, 10 * MS]);
        let seen: Vec<Seen> = good
            .seen
            .iter()
            .map(|seen| Seen { at: seen.at / tick * tick, ..seen.clone() })
            .collect();
        let row = read(&seen).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        let capture = row.capture.as_ref().expect("a record");
        let about = format!("seed {seed}, tick {tick}: {capture:?}");
        assert_eq!(capture.tick_ms, Some(tick as f64 / 1e6), "{about}");
        assert_eq!(row.bytes, good.row.bytes, "{about}");
        let off = rtt(&row).map(|rtt| (rtt - good.min_rtt as f64).abs());
        assert!(off.is_none_or(|off| off <= tick as f64), "{about}: {off:?}");
        let coarse = tick * 9 > good.min_rtt;
        assert!(!coarse || capture.trust == Trust::Doubtful, "{about}");
        assert!(!coarse || row.startups.is_empty(), "{about}: exits hang on finer times");
        assert!(rate_is_true(&row, &good), "{about}: {:?} Mbit/s", row.best_rate_mbps);
    }
}

/// The rate is unknown, or right within the error that a coarse clock may cause.
fn rate_is_true(row: &ConnectionRow, good: &Good) -> bool {
    let link = good.plan.rate as f64 / 1e6;
    let most = good.row.best_rate_mbps.map_or(link, |rate| rate.max(link)) * 1.25;
    row.best_rate_mbps.is_none_or(|rate| rate <= most)
}

#[test]
fn a_clock_of_seconds_shows_no_rate_that_the_path_cannot_carry() {
    for seed in 0..cases(30) {
        let good = good(seed);
        let second = 1000 * MS;
        let seen: Vec<Seen> = good
            .seen
            .iter()
            .map(|seen| Seen { at: seen.at / second * second, ..seen.clone() })
            .collect();
        if let Ok(row) = read(&seen) {
            let about = format!("seed {seed}: {:?} Mbit/s", row.best_rate_mbps);
            assert!(rate_is_true(&row, &good), "{about}, {:?}", good.plan);
        }
    }
}

#[test]
fn steps_of_the_clock_are_taken_out() {
    for seed in 0..cases(30) {
        let good = good(seed);
        let mut random = Random::new(seed ^ 0x57e);
        let at = 8 + random.below(good.seen.len() as u64 - 16) as usize;
        let step = random.one(&[3_600_000, 20_000, 8_000, -300, -2_000, -60_000]) * MS as i64;
        let mut seen = good.seen.clone();
        for seen in &mut seen[at..] {
            seen.at = seen.at.saturating_add_signed(step);
        }
        let row = read(&seen).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        let capture = row.capture.as_ref().expect("a record");
        let about = format!("seed {seed}, {step} ns at {at}: {capture:?}");
        assert_eq!(row.bytes, good.row.bytes, "{about}");
        // A pause of a sender that waits for nothing is one whatever its length.
        // A few packets that are earlier than those before may be out of order as well.
        let told = capture.clock_steps == 1 || capture.out_of_order > 0;
        assert!(capture.clock_steps <= 1 && (told || step > 0), "{about}");
        let (queue, before) =
            (row.queue_max_ms.unwrap_or(0.0), good.row.queue_max_ms.unwrap_or(0.0));
        // Before a retransmission it may be a timer that has backed off.
        let is_timer = step > 0 && step < 300_000 * MS as i64 && is_repeat(&good.seen, at);
        assert!(queue < before + 300.0 || is_timer, "{about}: {queue} and not {before} ms");
        if capture.clock_steps == 1 {
            assert_eq!(capture.trust, Trust::Doubtful, "{about}");
            assert!(capture.line().is_some_and(|line| line.contains("clock stepped")), "{about}");
        }
    }
}

#[test]
fn a_proxy_that_answers_for_the_receiver_is_told() {
    let plan = Plan { rtt: 30 * MS, stamps: false, sender_opens: true, ..Plan::usual() };
    let (packets, _) = connection(&plan);
    let seen = along(&packets, 0.0);
    let proxy = |seen: &[Seen]| {
        let capture = read(seen).expect("a connection").capture.expect("a record");
        assert_eq!(capture.vantage, Vantage::Sender, "{capture:?}");
        (
            capture.proxy_ms,
            capture.line().is_some_and(|line| line.contains("a proxy acknowledges the data")),
        )
    };
    assert_eq!(proxy(&seen), (None, false));
    // The SYN crosses the satellite; data are answered on this side of it.
    let mut over_satellite = seen.clone();
    let syn = over_satellite.iter().position(is_syn).expect("a SYN");
    over_satellite[syn + 1..].iter_mut().for_each(|seen| seen.at += 570 * MS);
    let (time, told) = proxy(&over_satellite);
    let off = (time.expect("a proxy") / 30.0 - 1.0).abs();
    assert!(off < 0.2 && told, "{time:?}");
}

#[test]
fn data_the_other_way_is_told() {
    let good = good(3);
    // A second connection in the file, of which the receiving end was captured.
    let mut seen = along(&good.packets, 1.0);
    for seen in &mut seen {
        let ports = if seen.from_sender { 22..24 } else { 20..22 };
        seen.bytes[ports].copy_from_slice(&40_000_u16.to_be_bytes());
    }
    let all = [good.seen, seen].concat();
    let (extent, replay) = replayed("both.pcap", pcap(&all, RAW));
    assert_eq!(extent.map(|extent| extent.connections), Ok(1));
    let notes: Vec<String> = replay.notes.iter().map(ToString::to_string).collect();
    assert!(
        notes[0].contains("of data were captured at the receiver: its ACKs leave"),
        "{notes:?}"
    );
}

#[test]
fn doubtful_connections_enter_populations_only_on_request() {
    let good = good(3);
    let entries = |seen: &[Seen], accept| {
        let (extent, replay) = replayed("x.pcap", pcap(seen, RAW));
        assert!(extent.is_ok(), "{extent:?}");
        Entries::of(&replay, accept)
    };
    let fine = entries(&good.seen, None);
    assert_eq!((fine.taken.len(), fine.doubtful, fine.doubts()), (1, 0, None));
    // The clock is set back in its middle.
    let mut stepped = good.seen.clone();
    let half = stepped.len() / 2;
    stepped[half..].iter_mut().for_each(|seen| seen.at -= 2_000 * MS);
    let out = entries(&stepped, None);
    assert_eq!((out.taken.len(), out.doubtful), (0, 1));
    let why = out.refusal(&["x.pcap".into()], "").to_string();
    let expected = "x.pcap: 1 connection is left out (the clock stepped once, by ";
    assert!(
        why.starts_with(expected) && why.ends_with("`--accept doubtful` includes them"),
        "{why}"
    );
    assert_eq!(entries(&stepped, Some(Accept::Doubtful)).taken.len(), 1);
    // Good captures of one connection give one population.
    let doubled: Vec<Seen> =
        good.seen.iter().flat_map(|seen| [seen.clone(), seen.clone()]).collect();
    let file = |entries: &Entries| to_toml(&entries.taken, "command").expect("a population");
    assert_eq!(file(&entries(&doubled, None)), file(&fine));
}
