//! Our qlog conforms to the schema: another implementation reads every standard event and drops
//! nothing, and all data that a viewer needs for a congestion graph is present.

use firstflight_lab::compare::{Keep, Watch};
use firstflight_lab::{Plan, Scenario, hosts_of_tcp, parse_arms};
use firstflight_log::trace::qlog::{End, write_contained, write_sequence};
use firstflight_log::trace::{COLUMNS, Log};
use firstflight_path::Path;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Mutex;

const OURS: &str = "firstflight:";

/// One trial of each transport with losses, two exits and every kind of phase.
fn traces() -> Vec<Log> {
    let mut all = Vec::new();
    for tcp in [false, true] {
        let path =
            Path::parse("rate=20Mbit,rtt=60ms,queue=40ms,loss=0.1%,dup=0.1%").expect("a path");
        let scenario = Scenario::new(path, 1_000_000);
        let scenario = if tcp {
            Scenario { host: hosts_of_tcp("rack").expect("a preset"), ..scenario }
        } else {
            scenario
        };
        let kept = Mutex::<Vec<(usize, Log)>>::default();
        let take = |arm, trace| {
            kept.lock().expect("no panic").push((arm, trace));
            Ok(())
        };
        let plan = Plan::new(parse_arms("hystart++,rapid@(pace=on)").expect("arms"), scenario);
        plan.run_with(Keep::Rows, Some(&take), &Watch::default()).expect("a comparison");
        let mut kept = kept.into_inner().expect("no panic");
        kept.sort_by_key(|(arm, _)| *arm);
        all.extend(kept.into_iter().map(|(_, trace)| trace));
    }
    all
}

fn sequence(trace: &Log, end: End) -> Vec<Value> {
    let mut text = Vec::new();
    write_sequence(trace, end, &mut text).expect("memory takes it");
    let text = String::from_utf8(text).expect("text");
    assert!(
        text.ends_with('\n') && text.starts_with('\u{1e}'),
        "RFC 7464: records begin with RS and end with a line feed"
    );
    text.split('\u{1e}')
        .skip(1)
        .map(|record| serde_json::from_str(record).expect("a record is JSON"))
        .collect()
}

fn name(event: &Value) -> &str {
    event["name"].as_str().expect("an event has a name")
}

/// The names in a value, all the way down.
fn names(value: &Value, prefix: &str, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                into.insert(format!("{prefix}.{name}"));
                names(value, &format!("{prefix}.{name}"), into);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| names(value, prefix, into)),
        _ => {}
    }
}

#[track_caller]
fn nothing_is_dropped(ours: &Value, theirs: &Value) {
    let (mut own, mut kept) = (BTreeSet::new(), BTreeSet::new());
    names(ours, "", &mut own);
    names(theirs, "", &mut kept);
    let dropped: Vec<_> = own.difference(&kept).collect();
    assert!(dropped.is_empty(), "the schema does not know {dropped:?} in {ours}");
}

#[test]
fn every_standard_event_is_one_of_the_schema() {
    for trace in traces() {
        for end in [End::Sender, End::Receiver] {
            let records = sequence(&trace, end);
            let head: qlog::QlogSeq =
                serde_json::from_value(records[0].clone()).expect("the head is one of the schema");
            assert_eq!(
                (head.qlog_version.as_str(), head.qlog_format.as_str()),
                ("0.3", "JSON-SEQ")
            );
            nothing_is_dropped(&records[0], &serde_json::to_value(&head).expect("JSON"));
            let mut seen = BTreeSet::new();
            for event in records[1..].iter().filter(|event| !name(event).starts_with(OURS)) {
                let theirs: qlog::events::Event = serde_json::from_value(event.clone())
                    .unwrap_or_else(|error| panic!("{event} is not of the schema: {error}"));
                nothing_is_dropped(event, &serde_json::to_value(&theirs).expect("JSON"));
                seen.insert(name(event).to_owned());
            }
            let expected: &[&str] = match end {
                End::Sender => &[
                    "recovery:congestion_state_updated",
                    "recovery:metrics_updated",
                    "recovery:packet_lost",
                    "recovery:parameters_set",
                    "transport:packet_received",
                    "transport:packet_sent",
                ],
                End::Receiver => &["transport:packet_received", "transport:packet_sent"],
            };
            assert!(seen.iter().eq(expected), "{} has {seen:?}", end.name());
        }
    }
}

#[test]
fn a_contained_file_is_one_of_the_schema_and_has_both_ends() {
    let traces = traces();
    let mut text = Vec::new();
    write_contained(&traces.iter().collect::<Vec<_>>(), &mut text).expect("memory takes it");
    assert!(
        text.starts_with(br#"{"qlog_version":"0.3","qlog_format":"JSON""#),
        "a viewer looks for version and format at the top"
    );
    let mut file: Value = serde_json::from_slice(&text).expect("JSON");
    let ends: Vec<_> = file["traces"]
        .as_array()
        .expect("traces")
        .iter()
        .map(|trace| trace["vantage_point"]["type"].clone())
        .collect();
    assert_eq!(
        ends,
        ["server", "client"].repeat(traces.len()),
        "sender and receiver of each trial"
    );
    for (trace, events) in file["traces"].as_array_mut().expect("traces").iter_mut().zip(0..) {
        let all = trace["events"].as_array_mut().expect("events");
        let ours = all.len();
        all.retain(|event| !name(event).starts_with(OURS));
        assert!(all.len() > 500, "trace {events} has {} standard events of {ours}", all.len());
    }
    let _: qlog::Qlog = serde_json::from_value(file).expect("the rest is of the schema");
}

#[test]
fn a_viewer_finds_what_a_congestion_graph_is_drawn_from() {
    for trace in traces() {
        for end in [End::Sender, End::Receiver] {
            let records = sequence(&trace, end);
            let (mut last, mut sent, mut received, mut acked) =
                (0.0, BTreeSet::new(), BTreeSet::new(), 0);
            for event in &records[1..] {
                let time = event["time"].as_f64().expect("a time");
                assert!(time >= last, "time falls from {last} to {time}");
                last = time;
                let data = &event["data"];
                let (own, other) = match name(event) {
                    "transport:packet_sent" => (&mut sent, &received),
                    "transport:packet_received" => (&mut received, &sent),
                    "recovery:packet_lost" => {
                        let number = data["header"]["packet_number"].as_u64().expect("a number");
                        assert!(
                            sent.contains(&number),
                            "packet {number} is lost that was never sent"
                        );
                        continue;
                    }
                    _ => continue,
                };
                for frame in data["frames"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter(|frame| frame["frame_type"] == "ack")
                {
                    for range in frame["acked_ranges"].as_array().expect("ranges") {
                        for number in range[0].as_u64().expect("a number")
                            ..=range[1].as_u64().expect("a number")
                        {
                            assert!(
                                other.contains(&number),
                                "packet {number} is acknowledged that never was there"
                            );
                            acked += 1;
                        }
                    }
                }
                if let Some(number) = data["header"]["packet_number"].as_u64() {
                    own.insert(number);
                }
            }
            assert!(acked > 600, "{acked} packets are acknowledged");
        }
    }
}

#[test]
fn the_fields_of_our_events_are_the_columns_of_the_table() {
    let columns: BTreeSet<&str> = COLUMNS.iter().map(|column| column.name).collect();
    assert_eq!(columns.len(), COLUMNS.len(), "each column has a name of its own");
    for trace in traces() {
        for event in sequence(&trace, End::Sender).iter().skip(1) {
            let own = name(event).strip_prefix(OURS).filter(|name| *name != "signals");
            for field in own.and(event["data"].as_object()).into_iter().flatten() {
                assert!(
                    columns.contains(field.0.as_str()),
                    "{} has {}, which is no column",
                    name(event),
                    field.0
                );
            }
        }
    }
}

#[test]
fn every_column_and_event_is_in_the_documentation() {
    let text = include_str!("../../../../docs/traces.md");
    for column in COLUMNS.iter() {
        assert!(
            text.contains(&format!("`{}`", column.name)),
            "docs/traces.md does not name `{}`",
            column.name
        );
    }
    let events = [
        "start",
        "handshake_rtt",
        "ready",
        "sent",
        "ack",
        "timer",
        "timeout",
        "spurious",
        "mss",
        "exit",
        "exit_withdrawn",
    ];
    for event in events {
        assert!(
            text.contains(&format!("| `{event}` |")),
            "docs/traces.md does not describe `{event}`"
        );
    }
}
