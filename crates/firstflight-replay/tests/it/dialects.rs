//! One transfer in the qlog dialect of every stack; all logs give the same path and the same exits.

use crate::model;

use firstflight_replay::summary::ConnectionRow;
use model::{Happened, Link, MSS, Moment, replayed, row, rows, shows, transfer};
use std::fmt::Write as _;

fn moments() -> Vec<Moment> {
    transfer(Link::USUAL, 3000)
}

fn ms(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

fn json_ranges(ranges: &[(u64, u64)]) -> String {
    let text: Vec<String> = ranges
        .iter()
        .rev()
        .map(|(a, b)| if a == b { format!("[{a}]") } else { format!("[{a},{b}]") })
        .collect();
    format!("[{}]", text.join(","))
}

/// quiche and neqo, 0.3: `transport:` and `recovery:`, sizes in `raw`.
pub(crate) fn quiche(moments: &[Moment]) -> String {
    let mut text = "\u{1e}{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"title\":\"quiche-server qlog\",\"trace\":{\"vantage_point\":{\"type\":\"server\"},\"title\":\"quiche\",\"configuration\":{\"time_offset\":0.0}}}\n".to_owned();
    let mut received = 0;
    for (now, happened) in moments {
        let (name, data) = match happened {
            Happened::Sent { packet, piece } => (
                "transport:packet_sent",
                format!(
                    "{{\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{packet}}},\"raw\":{{\"length\":{MSS},\"payload_length\":1170}},\
                     \"frames\":[{{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":{},\"length\":1160,\"fin\":false}}]}}",
                    piece * 1160
                ),
            ),
            Happened::Acked { ranges, .. } => {
                received += 1;
                (
                    "transport:packet_received",
                    format!(
                        "{{\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{received}}},\"raw\":{{\"length\":40}},\"frames\":[{{\"frame_type\":\"ack\",\"ack_delay\":0.1,\
                         \"acked_ranges\":{}}}]}}",
                        json_ranges(ranges)
                    ),
                )
            }
            Happened::Lost { packet } => (
                "recovery:packet_lost",
                format!("{{\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{packet}}}}}"),
            ),
        };
        let _ = writeln!(
            text,
            "\u{1e}{{\"time\":{:.4},\"name\":\"{name}\",\"data\":{data}}}",
            ms(*now)
        );
    }
    text
}

/// neqo: as quiche, and packets acknowledged by number instead of frames.
fn neqo(moments: &[Moment]) -> String {
    let mut told = std::collections::BTreeSet::new();
    let mut text = "\u{1e}{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"trace\":{\"vantage_point\":{\"type\":\"server\"},\"common_fields\":{\"group_id\":\"aabb\",\"reference_time\":0.0}}}\n".to_owned();
    for (now, happened) in moments {
        let (name, data) = match happened {
            Happened::Sent { packet, .. } => (
                "transport:packet_sent",
                format!(
                    "{{\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{packet},\"length\":{MSS}}},\"raw\":{{\"length\":{MSS}}}}}"
                ),
            ),
            Happened::Acked { ranges, .. } => {
                let numbers: Vec<String> = ranges
                    .iter()
                    .flat_map(|&(a, b)| a..=b)
                    .filter(|number| told.insert(*number))
                    .map(|number| number.to_string())
                    .collect();
                (
                    "recovery:packets_acked",
                    format!(
                        "{{\"packet_number_space\":\"application_data\",\"packet_numbers\":[{}]}}",
                        numbers.join(",")
                    ),
                )
            }
            Happened::Lost { packet } => (
                "recovery:packet_lost",
                format!(
                    "{{\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{packet}}},\"trigger\":\"reordering_threshold\"}}"
                ),
            ),
        };
        let _ = writeln!(
            text,
            "\u{1e}{{\"time\":{:.6},\"name\":\"{name}\",\"data\":{data}}}",
            ms(*now)
        );
    }
    text
}

/// noq 1.4: the present drafts, ranges without their last packet, losses before the packet that
/// told of them.
fn noq(moments: &[Moment]) -> String {
    let mut text = "\u{1e}{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\",\"serialization_format\":\"JSON-SEQ\",\"trace\":{\"common_fields\":{\"group_id\":\"815eaea4\"},\
        \"vantage_point\":{\"type\":\"server\"},\"event_schemas\":[]}}\n"
        .to_owned();
    // The handshake, as every real log has it: there the odd ends of ranges show before it matters.
    text.push_str("\u{1e}{\"time\":1.0,\"name\":\"quic:packet_sent\",\"data\":{\"header\":{\"packet_type\":\"handshake\",\"packet_number\":0},\"raw\":{\"length\":900},\"frames\":[{\"frame_type\":\"crypto\"}]}}\n");
    text.push_str("\u{1e}{\"time\":2.0,\"name\":\"quic:packet_received\",\"data\":{\"header\":{\"packet_type\":\"handshake\",\"packet_number\":0},\"frames\":[{\"frame_type\":\"ack\",\"acked_ranges\":[[0,1]]}]}}\n");
    let mut waiting = String::new();
    for (index, (now, happened)) in moments.iter().enumerate() {
        let time = ms(*now);
        let line = match happened {
            Happened::Sent { packet, .. } => format!(
                "\u{1e}{{\"time\":{time:.3},\"name\":\"quic:packet_sent\",\"data\":{{\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{packet}}},\"raw\":{{\"length\":{MSS}}},\
                 \"frames\":[{{\"frame_type\":\"stream\",\"stream_id\":0}}]}}}}\n"
            ),
            Happened::Acked { ranges, .. } => {
                let text: Vec<String> =
                    ranges.iter().rev().map(|(a, b)| format!("[{a},{}]", b + 1)).collect();
                waiting = format!(
                    "\u{1e}{{\"time\":{time:.3},\"name\":\"quic:packet_received\",\"data\":{{\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{index}}},\
                     \"frames\":[{{\"frame_type\":\"ack\",\"ack_delay\":25.0,\"acked_ranges\":[{}]}}]}}}}\n",
                    text.join(",")
                );
                String::new()
            }
            Happened::Lost { packet } => format!(
                "\u{1e}{{\"time\":{time:.3},\"name\":\"quic:packet_lost\",\"data\":{{\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{packet},\"length\":{MSS}}}}}}}\n"
            ),
        };
        if matches!(happened, Happened::Sent { .. }) {
            text.push_str(&std::mem::take(&mut waiting));
        }
        text.push_str(&line);
        if !matches!(moments.get(index + 1), Some((_, Happened::Lost { .. }))) {
            text.push_str(&std::mem::take(&mut waiting));
        }
    }
    text
}

/// quinn 0.11: no frames, RTTs in seconds, what changed of the metrics; one log for all
/// connections, told apart by group.
fn quinn(moments: &[Moment], group: &str) -> String {
    let mut text = "\u{1e}{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"trace\":{\"vantage_point\":{\"type\":\"unknown\"},\"configuration\":{\"time_offset\":0.0}}}\n".to_owned();
    let (mut inflight, mut out, mut lost_packets) =
        (0, std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
    for (index, (now, happened)) in moments.iter().enumerate() {
        let time = ms(*now);
        let event = |text: &mut String, name: &str, data: &str| {
            let _ = writeln!(
                text,
                "\u{1e}{{\"time\":{time:.6},\"name\":\"{name}\",\"data\":{data},\"group_id\":\"{group}\"}}"
            );
        };
        match happened {
            Happened::Sent { packet, .. } => {
                event(
                    &mut text,
                    "transport:packet_sent",
                    &format!(
                        "{{\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{packet},\"length\":{MSS}}}}}"
                    ),
                );
                out.insert(*packet);
                inflight += MSS;
            }
            Happened::Acked { ranges, .. } => {
                event(
                    &mut text,
                    "transport:packet_received",
                    &format!(
                        "{{\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{index}}}}}"
                    ),
                );
                for &(a, b) in ranges {
                    for packet in a..=b {
                        inflight -= if out.remove(&packet) { MSS } else { 0 };
                    }
                }
            }
            Happened::Lost { packet } => {
                event(
                    &mut text,
                    "recovery:packet_lost",
                    &format!(
                        "{{\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{packet},\"length\":{MSS}}},\"trigger\":\"reordering_threshold\"}}"
                    ),
                );
                inflight -= if out.remove(packet) { MSS } else { 0 };
                lost_packets.insert(*packet);
            }
        }
        if !matches!(moments.get(index + 1), Some((_, Happened::Lost { .. }))) {
            event(
                &mut text,
                "recovery:metrics_updated",
                &format!("{{\"latest_rtt\":0.05,\"bytes_in_flight\":{inflight}}}"),
            );
        }
    }
    text
}

/// picoquic: draft-00, arrays, microseconds, shouted names.
fn picoquic(moments: &[Moment]) -> String {
    let mut text = "{ \"qlog_version\": \"draft-00\", \"title\": \"picoquic\", \"traces\": [\n{ \"vantage_point\": { \"name\": \"backend-67\", \"type\": \"server\" },\n\
        \"title\": \"picoquic\", \"description\": \"0011\",\"event_fields\": [\"relative_time\", \"CATEGORY\", \"EVENT_TYPE\", \"DATA\"],\n\
        \"configuration\": {\"time_units\": \"us\"},\n\"common_fields\": { \"protocol_type\": \"QUIC_HTTP3\", \"reference_time\": \"1\"},\n\"events\": ["
        .to_owned();
    for (index, (now, happened)) in moments.iter().enumerate() {
        let comma = if index > 0 { ",\n" } else { "\n" };
        let us = now / 1000;
        let _ = match happened {
            Happened::Sent { packet, .. } => write!(
                text,
                "{comma}[{us}, \"TRANSPORT\", \"PACKET_SENT\", {{ \"packet_type\": \"1RTT\", \"header\": {{ \"packet_size\": {MSS}, \"packet_number\": {packet}, \"dcid\": \"00\" }}, \
                 \"frames\": [{{ \n    \"frame_type\": \"stream\", \"id\": 0, \"offset\": 0, \"length\": 1160, \"fin\": false , \"begins_with\": \"0102\"}}]}}]"
            ),
            Happened::Acked { ranges, .. } => write!(
                text,
                "{comma}[{us}, \"TRANSPORT\", \"PACKET_RECEIVED\", {{ \"packet_type\": \"1RTT\", \"header\": {{ \"packet_size\": 40, \"packet_number\": {index} }}, \
                 \"frames\": [{{ \n    \"frame_type\": \"ack\", \"ack_delay\": 4, \"acked_ranges\": {}}}]}}]",
                json_ranges(ranges)
            ),
            Happened::Lost { packet } => write!(
                text,
                "{comma}[{us}, \"RECOVERY\", \"PACKET_LOST\", {{\n    \"packet_type\" : \"1RTT\",\n    \"packet_number\" : {packet},\n    \"trigger\": \"repeat\",\n    \"header\": {{\n        \
                 \"packet_type\" : \"1RTT\",\n        \"packet_number\" : {packet},\n        \"packet_size\" : {MSS}}}}}]"
            ),
        };
    }
    text.push_str("]}]}\n");
    text
}

/// quicly's adapter: draft-02 on one line, times since the epoch in whole milliseconds, no sizes.
fn quicly_adapter(moments: &[Moment]) -> String {
    let mut events = Vec::new();
    for (index, (now, happened)) in moments.iter().enumerate() {
        let at = 1_700_000_000_000 + now / 1_000_000;
        events.push(match happened {
            Happened::Sent { packet, .. } => format!(
                "[{at}, \"transport\", \"packet_sent\", {{\"packet_type\": \"1rtt\", \"header\": {{\"packet_number\": {packet}}}, \"frames\": [{{\"frame_type\": \"stream\", \
                 \"stream_id\": 0, \"length\": {}, \"offset\": 0}}]}}]",
                MSS - 32
            ),
            Happened::Acked { ranges, .. } => format!(
                "[{at}, \"transport\", \"packet_received\", {{\"packet_type\": \"1rtt\", \"header\": {{\"packet_number\": {index}}}, \"frames\": [{{\"frame_type\": \"ack\", \
                 \"acked_ranges\": {}}}]}}]",
                json_ranges(ranges)
            ),
            Happened::Lost { packet } => {
                format!("[{at}, \"recovery\", \"packet_lost\", {{\"packet_type\": \"1rtt\", \"header\": {{\"packet_number\": {packet}}}}}]")
            }
        });
    }
    format!(
        "{{\"qlog_version\": \"draft-02-wip\", \"title\": \"h2o/quicly qlog\", \"traces\": [{{\"vantage_point\": {{\"type\": \"server\"}}, \
         \"event_fields\": [\"time\", \"category\", \"event\", \"data\"], \"events\": [{}]}}]}}",
        events.join(", ")
    )
}

/// quicly's own log: one flat object per line.
fn quicly(moments: &[Moment]) -> String {
    let (mut text, mut told) = (String::new(), std::collections::BTreeSet::new());
    for (now, happened) in moments {
        let at = 1_700_000_000_000 + now / 1_000_000;
        match happened {
            Happened::Sent { packet, .. } => {
                let _ = writeln!(
                    text,
                    "{{\"type\":\"packet-sent\", \"conn\":3, \"time\":{at}, \"pn\":{packet}, \"len\":{MSS}, \"packet-type\":3, \"ack-only\":0}}"
                );
            }
            Happened::Acked { ranges, .. } => {
                for packet in ranges
                    .iter()
                    .flat_map(|&(a, b)| a..=b)
                    .filter(|packet| told.insert(*packet))
                    .collect::<Vec<_>>()
                {
                    let _ = writeln!(
                        text,
                        "{{\"type\":\"packet-acked\", \"conn\":3, \"time\":{at}, \"pn\":{packet}, \"is-late-ack\":0}}"
                    );
                }
            }
            Happened::Lost { packet } => {
                let _ = writeln!(
                    text,
                    "{{\"type\":\"packet-lost\", \"conn\":3, \"time\":{at}, \"pn\":{packet}, \"packet-type\":3}}"
                );
            }
        }
    }
    text
}

/// 0.3 as one object, whose times count from the event before.
fn contained_with_deltas(moments: &[Moment]) -> String {
    let mut before = 0;
    let events: Vec<String> = moments
        .iter()
        .enumerate()
        .map(|(index, (now, happened))| {
            let delta = ms(now - before);
            before = *now;
            match happened {
                Happened::Sent { packet, .. } => {
                    format!("{{\"time\":{delta},\"name\":\"transport:packet_sent\",\"data\":{{\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":\"{packet}\"}},\"raw\":{{\"length\":\"{MSS}\"}},\"frames\":[\"stream\"]}}}}")
                }
                Happened::Acked { ranges, .. } => format!(
                    "{{\"time\":{delta},\"name\":\"transport:packet_received\",\"data\":{{\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{index}}},\"frames\":[{{\"frame_type\":\"ack\",\"acked_ranges\":{}}}]}}}}",
                    json_ranges(ranges)
                ),
                Happened::Lost { packet } => format!("{{\"time\":{delta},\"name\":\"recovery:packet_lost\",\"data\":{{\"header\":{{\"packet_number\":{packet}}}}}}}"),
            }
        })
        .collect();
    format!(
        "{{\"file_schema\":\"urn:ietf:params:qlog:file:contained\",\"extra\":{{\"deep\":[[[{{\"a\":\"\\\"}}]\"}}]]]}},\"traces\":[{{\"common_fields\":{{\"time_format\":\"relative_to_previous_event\"}},\"events\":[{}]}}]}}",
        events.join(",")
    )
}

/// Values that must be equal in every format.
pub(crate) fn gist(row: &ConnectionRow) -> Vec<(String, Option<&'static str>, Option<u64>)> {
    row.startups.iter().map(|startup| (startup.arm.clone(), startup.reason, startup.ack)).collect()
}

#[test]
fn every_dialect_shows_the_link() {
    let moments = moments();
    let all = [
        ("quiche", quiche(&moments)),
        ("neqo", neqo(&moments)),
        ("noq", noq(&moments)),
        ("quinn", quinn(&moments, "c1")),
        ("picoquic", picoquic(&moments)),
        ("quicly-adapter", quicly_adapter(&moments)),
        ("quicly", quicly(&moments)),
        ("contained", contained_with_deltas(&moments)),
    ];
    for (name, text) in all {
        let row = row(name, text);
        shows(&row, Link::USUAL);
        assert_eq!(row.startups[0].reason, Some("loss"), "{name}: slow start ends by loss");
    }
}

/// The lines of a text sequence, header first, in another order.
fn reordered(text: &str, order: impl Fn(&mut Vec<&str>)) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let header = lines.remove(0);
    order(&mut lines);
    [&[header], &lines[..]].concat().join("\n") + "\n"
}

#[test]
fn events_out_of_order_are_as_in_order() {
    let text = quiche(&moments());
    let whole = |text: String| {
        let mut row = serde_json::to_value(row("log", text)).expect("a row is JSON");
        row.as_object_mut().expect("a row has fields").remove("name");
        row
    };
    let before = whole(text.clone());
    let time = |line: &str| {
        let rest = line.split("\"time\":").nth(1).expect("a time");
        rest.split(',').next().expect("a number").to_owned()
    };
    for distance in [1, 2, 7] {
        let after = reordered(&text, |lines| {
            for at in (distance..lines.len()).step_by(11) {
                // Events of the same moment have an order of their own.
                let apart = lines[at - distance..=at].windows(2);
                if apart.into_iter().all(|pair| time(pair[0]) != time(pair[1])) {
                    lines.swap(at - distance, at);
                }
            }
        });
        assert_ne!(after, text, "some events change places");
        assert_eq!(whole(after), before, "events {distance} places away");
    }
}

#[test]
fn times_before_the_reference_are_times() {
    let moments = moments();
    let text = quiche(&moments);
    let before = row("log", text.clone());
    let first = moments[0].0 as f64 / 1e6;
    let earlier: String = text
        .lines()
        .map(|line| match line.split_once("{\"time\":") {
            Some((head, rest)) => {
                let (time, rest) = rest.split_once(',').expect("a number");
                let time: f64 = time.parse().expect("a number");
                format!("{head}{{\"time\":{:.6},{rest}\n", time - first - 70.0)
            }
            None => format!("{line}\n"),
        })
        .collect();
    let after = row("log", earlier);
    assert_eq!(after.min_rtt_ms, before.min_rtt_ms, "70 ms before the reference");
    assert_eq!(gist(&after), gist(&before));
}

#[test]
fn dialects_that_say_the_same_lead_to_the_same_exits() {
    let moments = moments();
    let reference = gist(&row("quiche", quiche(&moments)));
    for (name, text) in [
        ("neqo", neqo(&moments)),
        ("noq", noq(&moments)),
        ("picoquic", picoquic(&moments)),
        ("contained", contained_with_deltas(&moments)),
    ] {
        assert_eq!(
            gist(&row(name, text)),
            reference,
            "{name} and quiche wrote the same transfer down"
        );
    }
}

#[test]
fn a_log_without_frames_leads_to_nearly_the_same_exits() {
    let moments = moments();
    let (with, without) = (row("quiche", quiche(&moments)), row("quinn", quinn(&moments, "c")));
    for (a, b) in with.startups.iter().zip(&without.startups) {
        assert_eq!(a.reason, b.reason, "{}: as with frames", a.arm);
        let (a, b) = (a.time_ms.unwrap_or(0.0), b.time_ms.unwrap_or(0.0));
        assert!((a - b).abs() < 5.0, "{a} ms with frames, {b} without");
    }
}

#[test]
fn connections_of_one_file_are_told_apart() {
    let (one, two) = (
        transfer(Link::USUAL, 2000),
        transfer(Link { rate: 5_000_000, rtt: 20_000_000, ..Link::USUAL }, 1000),
    );
    let text = |moments: &[Moment], group| {
        quinn(moments, group).lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    let (a, b) = (text(&one, "aa"), text(&two, "bb"));
    let head = quinn(&[], "");
    let mut mixed = head;
    for index in 0..a.len().max(b.len()) {
        for line in a.get(index).into_iter().chain(b.get(index)) {
            mixed.push_str(line);
            mixed.push('\n');
        }
    }
    let rows = rows("mixed", mixed);
    assert_eq!(rows.len(), 2, "two groups are two connections");
    let of = |group: &str| {
        rows.iter().find(|row| row.name.ends_with(group)).expect("named by its group")
    };
    shows(of("aa"), Link::USUAL);
    assert!(of("bb").min_rtt_ms.expect("an RTT") < 25.0, "the other one has its own round trip");
}

#[test]
fn a_log_of_the_receiving_end_says_so() {
    let text = "\u{1e}{\"qlog_version\":\"0.3\",\"trace\":{}}\n\u{1e}{\"time\":1,\"name\":\"transport:packet_received\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":3}}}\n";
    let fault = replayed("client.sqlog", text).0.expect_err("nothing was sent");
    assert!(fault.to_string().contains("the sender's log is needed"), "{fault}");
}

#[test]
fn ack_frames_without_ranges_are_explained() {
    let text = quicly_adapter(&moments()).replace("\"acked_ranges\"", "\"other\"");
    let fault = replayed("old.qlog", text).0.expect_err("no packet is named");
    assert!(fault.to_string().contains("acked_ranges"), "{fault}");
}

/// A text with its keys, or all of it, in capitals.
fn shouted(text: &str) -> String {
    // JSON's own words stay as they are.
    text.to_uppercase().replace("TRUE", "true").replace("FALSE", "false")
}

#[test]
fn a_log_means_the_same_however_its_names_and_records_are_written() {
    let moments = moments();
    let plain = quiche(&moments);
    let reference = gist(&row("quiche", plain.clone()));
    let first_only = plain.replace("\n\u{1e}", "\n");
    let frames_only = plain.replace("\"ack\"", "\"ACK\"").replace("\"stream\"", "\"Stream\"");
    for (how, text) in [
        ("no separators", plain.replace('\u{1e}', "")),
        ("one separator", first_only),
        ("no line ends", plain.replace(['\u{1e}', '\n'], "")),
        ("Windows line ends", plain.replace('\u{1e}', "").replace('\n', "\r\n")),
        ("a mark in front", format!("\u{feff}{plain}")),
        ("a mark and no separators", format!("\u{feff}{}", plain.replace('\u{1e}', ""))),
        ("frames in capitals", frames_only),
        ("all in capitals", shouted(&plain)),
    ] {
        assert_eq!(gist(&row("quiche", text)), reference, "{how}");
    }
    let arrays = picoquic(&moments);
    assert_eq!(gist(&row("picoquic", shouted(&arrays))), reference);
}

#[test]
fn the_name_of_the_time_sets_the_clock() {
    let moments = moments();
    let text = picoquic(&moments);
    let reference = row("picoquic", text.clone());
    let (head, events) = text.split_once("\"events\": [").expect("a trace");
    let mut before = 0;
    let mut deltas = format!("{}\"events\": [", head.replace("relative_time", "DELTA_TIME"));
    for (index, ((now, _), line)) in moments.iter().zip(events.split("\n[").skip(1)).enumerate() {
        let (_, rest) = line.split_once(", ").expect("a time");
        let comma = if index > 0 { "\n[" } else { "[" };
        let _ = write!(deltas, "{comma}{}, {rest}", now / 1000 - before);
        before = now / 1000;
    }
    let found = row("picoquic", deltas);
    assert_eq!(gist(&found), gist(&reference));
    // The one counts from its first event, the other from an epoch.
    assert!((found.duration_ms - reference.duration_ms).abs() < 1e-6);
    let objects = contained_with_deltas(&moments);
    let objects = objects
        .replace("{\"time\":", "{\"delta_time\":")
        .replace("relative_to_previous_event", "x");
    assert_eq!(gist(&row("contained", objects)), gist(&reference));
}

#[test]
fn the_initial_window_is_the_one_that_the_log_states() {
    let moments = moments();
    let plain = quiche(&moments);
    let (head, rest) = plain.split_once('\n').expect("a header");
    // A first packet with tickets or connection IDs, acknowledged before any data leaves.
    let small = "\u{1e}{\"time\":1,\"name\":\"transport:packet_sent\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":0},\"raw\":{\"length\":91},\"frames\":[{\"frame_type\":\"new_connection_id\"}]}}\n\
        \u{1e}{\"time\":50,\"name\":\"transport:packet_received\",\"data\":{\"header\":{\"packet_type\":\"1RTT\"},\"frames\":[{\"frame_type\":\"ack\",\"acked_ranges\":[[0,0]]}]}}\n";
    let said = "\u{1e}{\"time\":0,\"name\":\"recovery:parameters_set\",\"data\":{\"initial_congestion_window\":40960}}\n";
    let window = |text: String| row("a.sqlog", text).initial_window;
    // Data follows after the small packet with the numbers moved by one.
    let moved: Vec<Moment> = moments
        .iter()
        .map(|(now, happened)| {
            let happened = match happened {
                Happened::Sent { packet, piece } => {
                    Happened::Sent { packet: packet + 1, piece: *piece }
                }
                Happened::Lost { packet } => Happened::Lost { packet: packet + 1 },
                Happened::Acked { ranges, pieces } => Happened::Acked {
                    ranges: ranges.iter().map(|(a, b)| (a + 1, b + 1)).collect(),
                    pieces: pieces.clone(),
                },
            };
            (*now, happened)
        })
        .collect();
    let moved = quiche(&moved);
    let after = moved.split_once('\n').expect("a header").1;
    assert_eq!(window(format!("{head}\n{said}{rest}")), 40_960, "as the log says");
    assert_eq!(window(format!("{head}\n{small}{after}")), 10 * MSS, "packets of the usual size");
    assert_eq!(window(format!("{head}\n{said}{small}{after}")), 40_960);
}

#[test]
fn a_blocked_sender_is_limited_by_its_receiver() {
    let moments = moments();
    let text = quiche(&moments);
    let limited = |text: String| {
        let row = row("a.sqlog", text);
        row.findings.iter().find(|one| one.kind == "receiver_limited").map(|one| one.value)
    };
    assert_eq!(limited(text.clone()), None);
    for frame in ["data_blocked", "stream_data_blocked", "STREAM_DATA_BLOCKED"] {
        // From the first half of its packets on it says that it is blocked.
        let half = text.lines().count() / 2;
        let lines: Vec<String> = text.lines().enumerate().map(|(at, line)| {
            if at < half { return line.to_owned(); }
            let blocked = format!("\"frames\":[{{\"frame_type\":\"{frame}\",\"limit\":1}},{{\"frame_type\":\"stream\"");
            line.replacen("\"frames\":[{\"frame_type\":\"stream\"", &blocked, 1)
        }).collect();
        let share = limited(lines.join("\n")).unwrap_or_else(|| panic!("{frame}: not told"));
        assert!((25.0..=75.0).contains(&share), "{frame}: {share} %");
    }
}

#[test]
fn json_that_is_no_qlog_is_named_as_what_it_is() {
    let fault = |text: &str| replayed("a.json", text).0.expect_err("no qlog").to_string();
    let other = fault("{\"rows\": [1, 2], \"arms\": {}}");
    assert!(other.contains("it contains no events; its keys are `rows`, `arms`"), "{other}");
    let events = "{\"qlog_version\":\"0.3\",\"traces\":[{\"events\":[{\"time\":1,\"name\":\"http:frame_created\",\"data\":{}}]}]}";
    assert!(fault(events).contains("none of its 1 events is about packets"), "{}", fault(events));
}
