//! Per-ACK tables whose clock starts at the first ACK, from a synthetic satellite link that
//! releases ACKs in bursts on a grid. Only time differences are known, and the exits come at the
//! same ACK as in the published code.

use firstflight::arm::Arm;
use firstflight_log::read;
use firstflight_replay::replay::{Named, Replay, Settings};
use firstflight_replay::results::Results;
use firstflight_replay::summary::{ConnectionRow, StartupRow};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::Cursor;

const MSS: u64 = 1308;
const ARMS: [&str; 16] = [
    "slowstart",
    "limited",
    "hystart",
    "hystart(profile=gvisor)",
    "hystart(profile=ns3)",
    "hystart++",
    "hystart++(mode=lss)",
    "search",
    "search(exit=none)",
    "search(version=3.1)",
    "best",
    "best(fallback=none)",
    "best-published",
    "rapid",
    "jumpstart",
    "slowstart/cubic(profile=linux)",
];

/// One ACK as the sender saw it; times in us, the first at 0.
#[derive(Clone, Copy, Debug)]
struct Row {
    now: u64,
    acked: u64,
    rtt: u64,
    una: u64,
    nxt: u64,
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// Slow start over a link of `serial` us per packet and `rtt` us; the receiver's ACKs leave on a
/// grid of `frame` us, in bursts.
struct Satellite {
    serial: u64,
    rtt: u64,
    frame: u64,
    packets: u64,
    seed: u64,
}

const GEO: Satellite =
    Satellite { serial: 400, rtt: 650_000, frame: 40_000, packets: 12_000, seed: 1 };

impl Satellite {
    fn draw(seed: u64) -> Satellite {
        let mut random = Random(seed);
        Satellite {
            serial: 50 + random.below(800),
            rtt: 20_000 + random.below(700_000),
            frame: [1, 2_500, 10_000, 40_000][random.below(4) as usize],
            packets: 2_000 + random.below(4_000),
            seed,
        }
    }

    fn rows(&self) -> Vec<Row> {
        let mut random = Random(self.seed);
        let (mut now, mut free, mut last) = (1_000_000_u64, 0_u64, 0_u64);
        let (mut cwnd, mut nxt, mut una) = (10, 0, 0);
        // When the ACK of a packet comes, and when the packet left.
        let mut coming: VecDeque<(u64, u64)> = VecDeque::new();
        let mut rows = Vec::new();
        loop {
            while nxt - una < cwnd && nxt < self.packets {
                free = free.max(now) + self.serial;
                let slot = (free + self.rtt).div_ceil(self.frame) * self.frame;
                // Inside a burst ACKs are tens of microseconds apart.
                last = slot.max(last + 22 + random.below(90));
                coming.push_back((last, now));
                nxt += 1;
            }
            let Some((at, sent)) = coming.pop_front() else { break };
            let mut acked = 1;
            let mut left = sent;
            // Now and then one ACK stands for a few packets.
            while random.below(8) == 0
                && let Some((_, sent)) = coming.pop_front()
            {
                (acked, left) = (acked + 1, sent);
            }
            now = at;
            una += acked;
            cwnd += acked;
            rows.push(Row {
                now,
                acked: acked * MSS,
                rtt: now - left,
                una: una * MSS,
                nxt: nxt.max(una) * MSS,
            });
        }
        let first = rows[0].now;
        for row in &mut rows {
            row.now -= first;
        }
        rows
    }
}

fn table(rows: &[Row], shift: u64) -> String {
    let mut text = "now_us,bytes_acked,mss,rtt_us,snd_una,snd_nxt\n".to_owned();
    for row in rows {
        let _ = writeln!(
            text,
            "{},{},{MSS},{},{},{}",
            row.now + shift,
            row.acked,
            row.rtt,
            row.una,
            row.nxt
        );
    }
    text
}

fn replayed(rows: &[Row], shift: u64, arms: &[&str]) -> ConnectionRow {
    let arms = arms
        .iter()
        .map(|name| Named { label: (*name).into(), arm: Arm::parse(name).expect("an arm") })
        .collect();
    let mut replay = Replay::new(Settings { arms, ..Settings::default() });
    read::from("acks.csv", Box::new(Cursor::new(table(rows, shift).into_bytes())), &mut replay)
        .expect("a table");
    assert_eq!(replay.remarks, [], "the table is whole");
    Results::new(replay, Vec::new()).connections.remove(0)
}

fn of<'a>(row: &'a ConnectionRow, arm: &str) -> &'a StartupRow {
    row.startups.iter().find(|startup| startup.arm == arm).expect("an arm of the list")
}

#[test]
fn a_constant_added_to_all_times_changes_nothing() {
    let links = (0..24).map(Satellite::draw).chain([GEO]);
    for (link, satellite) in links.enumerate() {
        let rows = satellite.rows();
        let reference = replayed(&rows, 10_000_000, &ARMS);
        let exact = serde_json::to_value(&reference).expect("rows are JSON");
        // From nothing before the first ACK to microseconds since 1970.
        for shift in [0, 1, 649_999, 1_000_000, 12_345_678, 1 << 32, 1_760_000_000_000_000] {
            let shifted =
                serde_json::to_value(replayed(&rows, shift, &ARMS)).expect("rows are JSON");
            assert_eq!(shifted, exact, "link {link}, {shift} us later");
        }
    }
}

#[test]
fn times_count_from_the_first_packet_also_where_the_table_begins_with_the_first_ack() {
    let rows = GEO.rows();
    let row = replayed(&rows, 0, &ARMS);
    let last = rows.last().expect("rows").now;
    let near = |ms: f64, us: u64| (ms - us as f64 / 1e3).abs() < 1e-6;
    assert!(
        near(row.duration_ms, rows[0].rtt + last),
        "the first round trip is part of the connection"
    );
    for startup in &row.startups {
        if let (Some(ack), Some(ms)) = (startup.ack, startup.time_ms) {
            let at = rows[usize::try_from(ack).expect("an index")].now + rows[0].rtt;
            assert!(near(ms, at), "{} leaves at {ms} ms", startup.arm);
        }
    }
}

/// The published code of BEST, from its description: every rate of a round in a sorted
/// list, a clock that never shows zero. Returns at which ACK it decides, and for how many packets.
fn published(rows: &[Row]) -> Option<(usize, u64)> {
    let clock = |now: u64| (now + 5_000_000) as u32;
    let start = clock(0).wrapping_sub(rows[0].rtt as u32);
    let (mut cwnd, mut delivered) = (10 * MSS, 0_u64);
    let (mut seen, mut begun, mut last, mut end) = (0_u32, start, start, 0_u32);
    let (mut before, mut least, mut rounds) = (0_u32, u32::MAX, 0_u8);
    let mut rates: Vec<u16> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let now = clock(row.now);
        delivered += row.acked;
        let outstanding = row.nxt - row.una + row.acked;
        if cwnd / MSS >= 16 {
            least = if least == 0 { row.rtt as u32 } else { least.min(row.rtt as u32) };
            if begun != seen {
                let median =
                    if rates.is_empty() { 0 } else { rates[(rates.len() * 50).div_ceil(100) - 1] };
                if (4..=7).contains(&rounds) && median > 0 {
                    let packets = (u32::from(median).wrapping_mul(least) / (8 * MSS as u32)) as u16;
                    return Some((index, u64::from(packets)));
                }
                rates.clear();
                rounds = rounds.wrapping_add(1);
                seen = begun;
            }
            let (bytes, us) = ((delivered as u32).wrapping_sub(before), now.wrapping_sub(last));
            let rate = bytes.wrapping_mul(8).checked_div(us).unwrap_or(0) as u16;
            if rates.len() < 300 {
                rates.insert(rates.partition_point(|other| *other <= rate), rate);
            }
            (before, last) = (delivered as u32, now);
        }
        if outstanding >= cwnd / 2 {
            if row.una as u32 > end {
                (begun, last, end, least) = (now, now, row.nxt as u32, u32::MAX);
            }
            cwnd += row.acked.min(8 * MSS);
        }
    }
    None
}

#[test]
fn best_as_published_decides_where_the_published_code_does() {
    let mut decided = 0;
    for satellite in (0..60).map(Satellite::draw).chain([GEO]) {
        let rows = satellite.rows();
        let row = replayed(&rows, 0, &["best-published"]);
        let startup = of(&row, "best-published");
        let Some((index, packets)) = published(&rows) else {
            assert_eq!((startup.aim_bytes, startup.reason), (None, None), "nothing is decided");
            continue;
        };
        decided += 1;
        let ms = (rows[index].now + rows[0].rtt) as f64 / 1e3;
        let (at, estimate) = match startup.aim_ms {
            Some(at) => (at, startup.aim_bytes.expect("an aim") as f64),
            None => (startup.time_ms.expect("an exit"), startup.estimate.expect("an estimate")),
        };
        assert_eq!((at, estimate), (ms, (packets * MSS) as f64), "when, and how many bytes");
    }
    assert!(decided > 30, "only {decided} connections decide anything");
}

/// The recorded sender does not drain for SEARCH: what counts is the finding, the same whatever
/// SEARCH does next.
#[test]
fn what_search_has_found_is_its_exit() {
    let mut found = 0;
    for satellite in (0..60).map(Satellite::draw).chain([GEO]) {
        let rows = satellite.rows();
        let row = replayed(&rows, 0, &["search", "search(exit=none)"]);
        let (drains, stays) = (of(&row, "search"), of(&row, "search(exit=none)"));
        let shown = |startup: &StartupRow| {
            let StartupRow { reason, time_ms, ack, rounds, cwnd, inflight, estimate, .. } =
                startup.clone();
            (reason, time_ms, ack, rounds, cwnd, inflight, estimate)
        };
        assert_eq!(shown(drains), shown(stays));
        found += u32::from(drains.reason == Some("flattened"));
    }
    assert!(found > 10, "only {found} connections show an exit");
}
