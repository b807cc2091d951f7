//! Applications: their writes, the times of the writes, and the times of each part.

use crate::hosts;

use firstflight::{Nanos, Time};
use firstflight_sim::app::intervals;
use firstflight_sim::{App, Hosts, Outcome, Response, Stop, quic, tcp};
use hosts::{MS, SECOND, path, plan, shared, together};

fn both() -> [Hosts; 2] {
    [quic::Host::default().into(), tcp::Host::default().into()]
}

fn alone(text: &str, host: Hosts, arm: &str, app: App, limit: u64) -> Outcome {
    let path = path(text);
    together(&shared(&path, host, limit), vec![plan(arm, host, app, Nanos::ZERO)]).flows.remove(0)
}

#[test]
fn responses_follow_each_other_after_their_pauses() {
    let responses = [(0, 14_000), (2_000, 4_000), (500, 1), (30_000, 200_000)]
        .map(|(pause_ms, bytes)| Response { pause: Nanos(pause_ms * MS), bytes });
    for host in both() {
        let app = App::Responses(responses.into());
        let outcome = alone(
            "rate=10Mbit,rtt=100ms,queue=1bdp",
            host,
            "slowstart",
            app.clone(),
            1000 * SECOND,
        );
        let name = host.transport();
        assert_eq!(
            outcome.stop,
            Stop::Complete,
            "{name}: the connection ends with its last response"
        );
        assert_eq!(outcome.parts.len(), 4, "{name}");
        let mut before = (Time(0), 0);
        for (part, response) in outcome.parts.iter().zip(responses) {
            assert_eq!(part.from, before.1, "{name}: parts follow each other in the stream");
            assert!(
                part.bytes() >= response.bytes && part.bytes() < response.bytes + 1500,
                "{name}: {part:?} carries {response:?}"
            );
            assert_eq!(
                part.written,
                before.0 + response.pause,
                "{name}: {part:?} is written after the pause of {response:?}"
            );
            assert_eq!(
                part.first_sent,
                Some(part.written),
                "{name}: an idle connection sends at once"
            );
            let latency = part.latency().expect("it was acknowledged");
            assert!(latency.0 > 99 * MS, "{name}: {part:?} takes at least a round trip");
            before = (part.acked.expect("it was acknowledged"), part.to);
        }
        assert_eq!(outcome.delivered, before.1, "{name}: every byte is delivered");
        // 14000 bytes are ten packets, the initial window: one round trip, the packets behind the
        // first, and a held-back ACK.
        let first = outcome.parts[0].latency().expect("acknowledged").0;
        assert!(
            (100 * MS..=100 * MS + 12 * 1_200_000 + 40 * MS).contains(&first),
            "{name}: the first window takes {first} ns"
        );
    }
}

#[test]
fn a_response_knows_which_of_its_packets_were_dropped() {
    let responses = vec![Response { pause: Nanos(200 * MS), bytes: 50_000 }; 20];
    for host in both() {
        let outcome = alone(
            "rate=20Mbit,rtt=40ms,queue=1bdp,loss=2%",
            host,
            "slowstart",
            App::Responses(responses.clone()),
            1000 * SECOND,
        );
        let dropped: u64 = outcome.parts.iter().map(|part| u64::from(part.dropped)).sum();
        assert_eq!(
            dropped,
            outcome.counters.packets_dropped,
            "{}: each drop belongs to a response",
            host.transport()
        );
        assert!(
            dropped > 0 && outcome.parts.iter().any(|part| part.dropped == 0),
            "{}: some were hit, some not",
            host.transport()
        );
    }
}

#[test]
fn a_video_is_written_at_its_rate_after_the_first_part() {
    let app =
        App::Video { bytes: 2_000_000, first: 700_000, write: 65_536, every: Nanos(1_200 * MS) };
    for host in both() {
        let outcome =
            alone("rate=10Mbit,rtt=50ms,queue=1bdp", host, "slowstart", app.clone(), 1000 * SECOND);
        let name = host.transport();
        // 1.3 MB in writes of 64 kB: 19 whole ones and a rest.
        assert_eq!((outcome.stop, outcome.parts.len()), (Stop::Complete, 21), "{name}");
        for (k, part) in outcome.parts.iter().enumerate() {
            assert_eq!(
                part.written.0,
                k as u64 * 1_200 * MS,
                "{name}: write {k} is due at its multiple"
            );
        }
        let latencies: Vec<u64> = outcome.parts[1..20]
            .iter()
            .map(|part| part.latency().expect("acknowledged").0)
            .collect();
        assert!(
            latencies.iter().all(|ns| *ns < 400 * MS),
            "{name}: a path of ten times the rate takes each write at once: {latencies:?}"
        );
        assert_eq!(
            outcome.acked_after.0,
            20 * 1_200 * MS + outcome.parts[20].latency().expect("acknowledged").0,
            "{name}: the last write ends it"
        );
    }
}

#[test]
fn a_video_on_a_path_below_its_rate_falls_behind_and_catches_up_without_a_pause() {
    let app =
        App::Video { bytes: 1_000_000, first: 100_000, write: 100_000, every: Nanos(100 * MS) };
    for host in both() {
        let (video, bulk) = [app.clone(), App::Bulk(1_000_000)]
            .map(|app| alone("rate=2Mbit,rtt=50ms,queue=1bdp", host, "hystart", app, 1000 * SECOND))
            .into();
        let (video, bulk) = (video.acked_after.0, bulk.acked_after.0);
        assert!(
            video < bulk * 11 / 10 && bulk < video * 11 / 10,
            "{}: {video} ns, as one object {bulk} ns",
            host.transport()
        );
    }
}

const BLOCK: u64 = 2 << 20;

fn upload(arm: &str, queue: &str, run: u64) -> Outcome {
    let host = tcp::Host { send_buffer: tcp::Buffer::Payload(3_000_000), ..tcp::Host::default() };
    let text = format!("rate=85.5Mbit,rtt=140ms,queue={queue}");
    alone(&text, host.into(), arm, App::Blocks { block: BLOCK, run: Nanos(run) }, 100 * SECOND)
}

#[test]
fn blocks_are_counted_when_the_send_buffer_takes_them() {
    let outcome = upload("oracle(exit=1495000)@(pace=off)", "1bdp", 3 * SECOND);
    assert_eq!(outcome.stop, Stop::Complete, "the run ends by itself");
    let last = outcome.parts.last().expect("blocks");
    assert_eq!(last.taken, Some(Time(outcome.acked_after.0)), "it ends when a block is taken");
    assert!(outcome.acked_after.0 >= 3 * SECOND, "and not before its time");
    assert_eq!(outcome.parts[0].taken, Some(Time(0)), "the first block fits into the empty buffer");
    for pair in outcome.parts.windows(2) {
        assert_eq!(
            Some(pair[1].written),
            pair[0].taken,
            "each block is written when the one before is taken"
        );
    }
    for part in &outcome.parts[1..] {
        // The buffer holds 3 MB beyond what is acknowledged: the block's end is taken when 3 MB
        // before it is acknowledged.
        assert!(part.taken.is_some_and(|at| at.0 > 0), "{part:?}");
    }

    let report = intervals(&outcome.parts, Time(0), Nanos(SECOND));
    let (closed, open) = report.split_at(report.len() - 1);
    assert!(
        closed.iter().all(|interval| interval.to.0 - interval.from.0 >= SECOND),
        "an interval lasts a second or more: {report:?}"
    );
    assert!(
        report.iter().all(|interval| interval.bytes > 0 && interval.bytes % BLOCK == 0),
        "and holds whole blocks: {report:?}"
    );
    assert!(
        report.windows(2).all(|pair| pair[0].to == pair[1].from),
        "they follow each other: {report:?}"
    );
    assert_eq!(open[0].to, outcome.acked_after, "the last one ends with the run");
    let total: u64 = report.iter().map(|interval| interval.bytes).sum();
    assert_eq!(total, outcome.parts.len() as u64 * BLOCK, "nothing is counted twice");
    // Later intervals see the buffer full all the time: bytes taken are bytes acknowledged, no
    // faster than the payload rate of the path.
    let payload_rate = 85_500_000 / 8 * 1448 / 1500;
    for interval in &report[1..] {
        let most = (interval.to.0 - interval.from.0) * payload_rate / SECOND + BLOCK / 100;
        assert!(
            interval.bytes <= most + 300_000,
            "{interval:?} is faster than the path: {most} bytes fit"
        );
    }
}

#[test]
fn a_block_is_taken_when_slow_start_has_made_room_for_it() {
    // The second block ends 1 194 304 bytes, 825 segments, beyond the buffer. Six round trips bring
    // 10 (2^6 - 1) = 630 of them; the rest comes in the seventh, at the rate of the path. Each
    // round the first ACK waits for a second segment.
    let outcome = upload("slowstart@(pace=off)", "1bdp", 3 * SECOND);
    let segment = 1500 * 8 * SECOND / 85_500_000;
    let least = 7 * 140 * MS + (825 - 630 - 1) * segment;
    let taken = outcome.parts[1].taken.map_or(0, |at| at.0);
    assert!(
        (least..=least + 9 * segment).contains(&taken),
        "taken after {taken} ns, arithmetic says {least} ns and up to nine segments"
    );
}
