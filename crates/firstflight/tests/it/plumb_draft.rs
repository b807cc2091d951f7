//! The vectors of `drafts/draft-firstflight-plumb.md`, read from its tables, so that text and code
//! say the same. A packaged crate comes without the draft: then there is nothing to check.

use crate::hooks;
use crate::plumb::opened_after;
use crate::told::Told;
use firstflight::event::{Ready, Window};
use firstflight::signal::bunches::Bunches;
use firstflight::signal::sounding::{Arrival, Sounding};
use firstflight::startup::Startup;
use firstflight::startup::plumb::{Params, Plumb};
use firstflight::units::{Nanos, Seq, Time};
use firstflight::{Rate, UNSET_SSTHRESH};
use std::path::Path;

const MSS: u64 = 1_000;
const RTT: u64 = 30_000_000;
const US: u64 = 1_000;
const MS: u64 = 1_000_000;

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

/// `time+excess:packets`, in microseconds.
fn arrivals(text: &str) -> Vec<Arrival> {
    let arrival = |text: &str| {
        let (at, rest) = text.split_once('+').expect("time+excess");
        let (over, packets) = rest.split_once(':').expect("excess:packets");
        Arrival {
            at: Time(10 * RTT + number(at) * US),
            rtt: Nanos(RTT + number(over) * US),
            delivered: number(packets) * MSS,
        }
    };
    text.split_whitespace().map(arrival).collect()
}

#[test]
fn rates_are_measured_as_the_draft_says() {
    for row in table("Rates measured").unwrap_or_default() {
        let mut sounding = Sounding::default();
        sounding.on_rtt(Nanos(RTT));
        for arrival in arrivals(&row[0]) {
            sounding.on_arrival(arrival, Nanos(RTT), 1, MSS);
        }
        let found = sounding.estimate(1);
        let rate = (row[1] != "none").then(|| Rate(number(&row[1])));
        assert_eq!(found.map(|found| found.rate), rate, "{}", row[0]);
        assert_eq!(found.is_some_and(|found| found.sure), row[2] == "yes", "{}", row[0]);
    }
}

#[test]
fn bunches_are_what_the_draft_says() {
    for row in table("Acknowledgments in bunches").unwrap_or_default() {
        let mut bunches = Bunches::default();
        for arrival in arrivals(&row[0]) {
            bunches.on_arrival(arrival, Nanos(RTT / 4), MSS);
        }
        let told = match bunches.verdict() {
            None => "unknown",
            Some(true) => "yes",
            Some(false) => "no",
        };
        assert_eq!(told, row[1], "{}", row[0]);
    }
}

#[test]
fn the_first_flight_leaves_as_the_draft_says() {
    let (mut plumb, cx) = (Plumb::new(Params::default()), hooks::quic(MSS));
    let mut w = Window { cwnd: 10 * MSS, ssthresh: UNSET_SSTHRESH };
    for row in table("The first flight").unwrap_or_default() {
        let ready = Ready {
            now: Time(number(&row[0]) * MS),
            nxt: Seq(0),
            inflight: 0,
            backlog: u64::MAX,
            srtt: Some(Nanos(RTT)),
            idle: Nanos::ZERO,
            timeout: Nanos(3 * RTT),
        };
        plumb.before_send(&ready, &mut w, &cx);
        let train = plumb.train().expect("it is under way");
        let expected = (number(&row[1]), Time(number(&row[2]) * MS));
        assert_eq!((train.inflight, train.next), expected, "{} ms after the first packet", row[0]);
    }
}

#[test]
fn growth_is_that_of_the_draft() {
    for row in table("Growth (Section 5)").unwrap_or_default() {
        let acks: Vec<(u64, u64)> = row[0]
            .split_whitespace()
            .map(|ack| ack.split_once('+').expect("time+excess"))
            .map(|(at, over)| (number(at), number(over)))
            .collect();
        assert_eq!(opened_after("plumb", &acks), number(&row[1]), "{}", row[0]);
    }
}

#[test]
fn thresholds_are_those_of_the_draft() {
    for row in table("Thresholds without noise").unwrap_or_default() {
        let (mut plumb, cx) = (Plumb::new(Params::default()), hooks::quic(MSS));
        let w = Window { cwnd: 10 * MSS, ssthresh: UNSET_SSTHRESH };
        let (now, rtt) = (Time(10 * MS), Nanos(number(&row[0]) * US));
        plumb.start(Time(0), Seq(0));
        plumb.on_rtt(now, rtt, &cx);
        let ack = Told { now, rtt: Some(rtt), srtt: Some(rtt), acked: MSS, ..Told::default() };
        plumb.sample(&ack.ack(), w, &ack.within(&cx));
        let threshold = hooks::signal("rtt_threshold_ns", |visit| plumb.signals(visit));
        assert_eq!(
            threshold.map(|ns| ns / US),
            Some(number(&row[1])),
            "a smallest RTT of {} us",
            row[0]
        );
    }
}
