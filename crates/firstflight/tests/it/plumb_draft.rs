//! The vectors of `drafts/draft-firstflight-plumb.md`, read from its tables, so that text and code
//! say the same. A packaged crate comes without the draft: then there is nothing to check.

use crate::hooks;
use crate::plumb::{opened_after, params};
use crate::sounding::by_clock;
use crate::told::Told;
use firstflight::UNSET_SSTHRESH;
use firstflight::event::{Context, Ready, Signal, Window};
use firstflight::recovery::OwnRecovery;
use firstflight::signal::bunches::Bunches;
use firstflight::signal::sounding::{Arrival, Sounding};
use firstflight::startup::plumb::Plumb;
use firstflight::startup::{Leave, Startup, Verdict};
use firstflight::units::{Nanos, Ratio, Seq, Time};
use std::path::Path;

const MSS: u64 = 1_000;
const RTT: u64 = 30_000_000;
const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const BETA: Ratio = Ratio::new(7, 10);

/// The rows of the table with this title, cell by cell; `None` without the draft.
fn table(title: &str) -> Option<Vec<Vec<String>>> {
    let draft =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../drafts/draft-firstflight-plumb.md");
    let text = std::fs::read_to_string(draft).ok()?;
    let lines: Vec<&str> = text.lines().collect();
    let end = lines.iter().position(|line| line.starts_with("{: title=") && line.contains(title));
    let end = end.unwrap_or_else(|| panic!("the draft has no table `{title}`"));
    let rows: Vec<Vec<String>> = lines[..end]
        .iter()
        .rev()
        .take_while(|line| {
            line.starts_with('|') && !line.starts_with("|:") && !line.starts_with("|-")
        })
        .map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect())
        .collect();
    assert!(!rows.is_empty(), "the table `{title}` has no rows");
    Some(rows.into_iter().rev().collect())
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("`{text}` is no number"))
}

/// `a+b` as two numbers.
fn pair(text: &str) -> (u64, u64) {
    let (a, b) = text.split_once('+').expect("two numbers with a plus");
    (number(a), number(b))
}

/// `time+excess:packets`, in microseconds.
fn arrivals(text: &str) -> Vec<Arrival> {
    let arrival = |text: &str| {
        let (before, packets) = text.split_once(':').expect("time+excess:packets");
        let (at, over) = pair(before);
        Arrival {
            at: Time(10 * RTT + at * US),
            rtt: Nanos(RTT + over * US),
            delivered: number(packets) * MSS,
        }
    };
    text.split_whitespace().map(arrival).collect()
}

/// A table's title, and the results of a row for an arm; the row's other cells are its input.
type Vectors = (&'static str, fn(&[String], &str) -> Vec<String>);

const VECTORS: [Vectors; 10] = [
    ("Rates measured", measured),
    ("Acknowledgments in bunches", bunched),
    ("The first flight", flown),
    ("Growth (Section 5)", |row, arm| vec![opened(row, arm).to_string()]),
    ("Thresholds without noise", threshold),
    ("Landings", |row, arm| vec![landings(&row[0], arm).1]),
    ("Many losses far below the depth", answered),
    ("Losses while a landing drains", reduced),
    ("The receiver's clock", |row, _| vec![forward(&row[0])]),
    ("A window that was saved", |row, arm| {
        vec![opened(&row[2..], &saving(arm, &row[0], &row[1])).to_string()]
    }),
];

#[test]
fn every_row_of_the_draft_is_what_plumb_does() {
    for (title, results) in VECTORS {
        for row in table(title).unwrap_or_default() {
            let found = results(&row, "plumb");
            let expected = &row[row.len() - found.len()..];
            assert_eq!(found, expected, "{title}: {}", row.join(" | "));
        }
    }
}

/// An implementation that has another value of a constant fails the vectors.
#[test]
fn another_value_of_a_constant_fails_a_vector() {
    let others = [
        "plumb(train=3)",
        "plumb(train=5)",
        "plumb(growth=3)",
        "plumb(growth=5)",
        "plumb(strikes=2)",
        "plumb(strikes=4)",
        "plumb(verify=on)",
        "plumb(bunches=off)",
        "plumb(rapid=on)",
    ];
    for other in others {
        let told = VECTORS.iter().any(|(title, results)| {
            let rows = table(title);
            rows.is_none_or(|rows| {
                rows.iter().any(|row| results(row, other) != results(row, "plumb"))
            })
        });
        assert!(told, "no vector differs for `{other}`");
    }
}

fn measured(row: &[String], _arm: &str) -> Vec<String> {
    let mut sounding = Sounding::default();
    sounding.on_rtt(Nanos(RTT));
    for arrival in arrivals(&row[0]) {
        sounding.on_arrival(arrival, Nanos(RTT), 1, MSS);
    }
    let found = sounding.estimate(1);
    let rate = found.map_or("none".into(), |found| found.rate.0.to_string());
    vec![rate, if found.is_some_and(|found| found.sure) { "yes" } else { "no" }.into()]
}

fn bunched(row: &[String], _arm: &str) -> Vec<String> {
    let mut bunches = Bunches::default();
    for arrival in arrivals(&row[0]) {
        bunches.on_arrival(arrival, Nanos(RTT / 4), MSS);
    }
    let told = match bunches.verdict() {
        None => "unknown",
        Some(true) => "yes",
        Some(false) => "no",
    };
    vec![told.into()]
}

/// The flight that began with the connection, at a later time.
fn flown(row: &[String], arm: &str) -> Vec<String> {
    let (mut plumb, cx) = (Plumb::new(params(arm)), hooks::quic(MSS));
    let mut w = Window { cwnd: 10 * MSS, ssthresh: UNSET_SSTHRESH };
    for ms in [0, number(&row[0])] {
        let ready = Ready {
            now: Time(ms * MS),
            nxt: Seq(0),
            inflight: 0,
            backlog: u64::MAX,
            srtt: Some(Nanos(RTT)),
            idle: Nanos::ZERO,
            timeout: Nanos(3 * RTT),
        };
        plumb.before_send(&ready, &mut w, &cx);
    }
    let train = plumb.train().expect("the flight lasts 30 ms");
    // Trains of other lengths leave between whole milliseconds.
    let ms = train.next.0 as f64 / MS as f64;
    vec![train.inflight.to_string(), ms.to_string()]
}

fn opened(row: &[String], arm: &str) -> u64 {
    let acks: Vec<(u64, u64)> = row[0].split_whitespace().map(pair).collect();
    opened_after(arm, &acks)
}

/// The arm with a saved window, and its RTT unless that is `none`.
fn saving(arm: &str, packets: &str, rtt: &str) -> String {
    let rtt = if rtt == "none" { String::new() } else { format!(",rtt={rtt}") };
    match arm.strip_suffix(')') {
        Some(options) => format!("{options},saved={packets}{rtt})"),
        None => format!("{arm}(saved={packets}{rtt})"),
    }
}

fn threshold(row: &[String], arm: &str) -> Vec<String> {
    let (mut plumb, cx) = (Plumb::new(params(arm)), hooks::quic(MSS));
    let w = Window { cwnd: 10 * MSS, ssthresh: UNSET_SSTHRESH };
    let (now, rtt) = (Time(10 * MS), Nanos(number(&row[0]) * US));
    plumb.start(Time(0), Seq(0));
    plumb.on_rtt(now, rtt, &cx);
    let ack = Told { now, rtt: Some(rtt), srtt: Some(rtt), acked: MSS, ..Told::default() };
    plumb.sample(&ack.ack(), w, &ack.within(&cx));
    let mut threshold = None;
    plumb.signals(&mut |name, value| {
        if name == "rtt_threshold_ns" {
            threshold = Some(value / US);
        }
    });
    vec![threshold.expect("an RTT is known").to_string()]
}

/// A connection whose window only landings change, at the end of some acknowledgments.
struct Connection {
    plumb: Plumb,
    w: Window,
    cx: Context,
}

/// The events of these acknowledgments, `k:window` or `k:strike` or `k:exit`, and the connection
/// after them; see the text above the draft's table.
fn landings(acks: &str, arm: &str) -> (Connection, String) {
    let (plumb, cx) = (Plumb::new(params(arm)), hooks::quic(MSS));
    let w = Window { cwnd: 40 * MSS, ssthresh: UNSET_SSTHRESH };
    let mut c = Connection { plumb, w, cx };
    c.plumb.start(Time(0), Seq(0));
    let (mut now, mut una, mut nxt, mut count, mut strikes) = (RTT, 0, 40, 0, 0);
    let mut events = Vec::new();
    for some in acks.split_whitespace() {
        let (times, rest) = some.split_once('*').expect("times*gap+excess");
        let (gap, over) = pair(rest);
        for _ in 0..number(times) {
            count += 1;
            now += gap * US;
            una += 4;
            let inflight_before = (nxt - una + 4) * MSS;
            nxt = nxt.max(una + c.w.cwnd / MSS);
            let (time, rtt) = (Time(now), Nanos(RTT + over * US));
            c.plumb.on_rtt(time, rtt, &c.cx);
            let ack = Told {
                now: time,
                rtt: Some(rtt),
                srtt: Some(Nanos(RTT)),
                acked: 4 * MSS,
                delivered: una * MSS,
                una: Seq(una),
                nxt: Seq(nxt),
                inflight_before,
                cwnd_limited: true,
                ..Told::default()
            };
            let verdict = c.plumb.sample(&ack.ack(), c.w, &ack.within(&c.cx));
            let before = strikes;
            c.plumb.signals(&mut |name, value| {
                if name == "strikes" {
                    strikes = value;
                }
            });
            if strikes > before {
                events.push(format!("{count}:strike"));
            }
            match verdict {
                Verdict::Hold { cwnd } => {
                    c.w.cwnd = cwnd;
                    events.push(format!("{count}:{cwnd}"));
                }
                Verdict::Leave(Leave { ssthresh, .. }) => {
                    assert_eq!(ssthresh, c.w.cwnd, "startup ends with the window that it has");
                    events.push(format!("{count}:exit"));
                    return (c, events.join(" "));
                }
                _ => {}
            }
        }
    }
    let events = if events.is_empty() { "none".into() } else { events.join(" ") };
    (c, events)
}

/// A loss with so much in flight, both in packets.
fn lossy(lost: u64, flight: u64, rtt: Nanos) -> Told {
    Told {
        lost: lost * MSS,
        acked: 2 * MSS,
        inflight_before: flight * MSS,
        rtt: Some(rtt),
        una: Seq(1),
        nxt: Seq(400),
        advanced: true,
        ..Told::default()
    }
}

/// Two packets per 0.1 ms are delivered, a depth of 602 packets; then a whole round trip has this
/// RTT, and a loss comes.
fn answered(row: &[String], arm: &str) -> Vec<String> {
    let (mut plumb, cx) = (Plumb::new(params(arm)), hooks::quic(MSS));
    plumb.start(Time(0), Seq(0));
    let w = |packets| Window { cwnd: packets * MSS, ssthresh: UNSET_SSTHRESH };
    for k in 0..4 {
        let (now, rtt) = (Time(RTT + k * 100 * US), Nanos(RTT + k * 100 * US));
        plumb.on_rtt(now, rtt, &cx);
        let ack = Told {
            now,
            rtt: Some(rtt),
            srtt: Some(rtt),
            acked: 2 * MSS,
            delivered: 2 * MSS * (k + 1),
            una: Seq(2 * k + 2),
            nxt: Seq(20),
            inflight_before: 20 * MSS,
            ..Told::default()
        };
        plumb.sample(&ack.ack(), w(20), &ack.within(&cx));
    }
    let [lost, flight, over] = [&row[0], &row[1], &row[2]].map(|cell| number(cell));
    let rtt = Nanos(RTT + over * US);
    for k in 0..8 {
        plumb.on_rtt(Time(2 * RTT + k * RTT / 4), rtt, &cx);
    }
    let ack = lossy(lost, flight, rtt);
    let own = plumb.on_congestion(Signal::Loss, BETA, &ack.ack(), w(flight), &ack.within(&cx));
    vec![if matches!(own, Some(OwnRecovery::Rapid(_))) { "delivered" } else { "usual" }.into()]
}

/// A loss behind the first landing of these acknowledgments: the window after it.
fn reduced(row: &[String], arm: &str) -> Vec<String> {
    let (mut c, _) = landings(&row[0], arm);
    let ack = lossy(1, number(&row[1]), Nanos(RTT));
    let cx = ack.within(&c.cx);
    let own = c.plumb.on_congestion(Signal::Loss, BETA, &ack.ack(), c.w, &cx);
    let own = own.map_or("usual".into(), |own| own.cwnd().to_string());
    vec![c.w.cwnd.to_string(), own]
}

/// The excess of `forward` over 30 ms of each acknowledgment but the first, us; `none` where the
/// clock is not used.
fn forward(acks: &str) -> String {
    let acks: Vec<(u64, u64, u32)> = acks
        .split_whitespace()
        .map(|ack| {
            let (before, stamp) = ack.split_once(':').expect("time+excess:stamp");
            let (at, over) = pair(before);
            (at, RTT / US + over, u32::try_from(number(stamp)).expect("32 bits"))
        })
        .collect();
    let read = by_clock(&acks).into_iter().skip(1).map(|read| match read {
        Some((rtt, _)) => (rtt as i64 - (RTT / US) as i64).to_string(),
        None => "none".into(),
    });
    read.collect::<Vec<_>>().join(" ")
}
