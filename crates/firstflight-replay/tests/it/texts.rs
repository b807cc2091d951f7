//! Text output of Linux and of iperf3: it shows the path, and exits only if it contains ACKs.

use crate::model::{replayed, row, rows};
use firstflight_replay::results::Results;
use std::fmt::Write as _;

/// A slow start of tcp_probe's lines: 10 packets, doubled each round trip of 40 ms; the clock of a
/// machine, numbers in hexadecimal digits that wrap.
fn probe(rounds: u64) -> String {
    let (mut text, mut una, mut nxt) = (String::from("# tracer: nop\n"), 0_u64, 14_480_u64);
    let (mut at, mut window) = (12_345_000_000_u64, 10_u64);
    let base = 0xffff_f000_u64;
    for _ in 0..rounds {
        at += 40_000;
        let packets = window;
        for packet in 0..packets / 2 {
            let _ = writeln!(
                text,
                "          <idle>-0       [001] ..s1. {}.{:06}: tcp_probe: family=AF_INET src=192.0.2.1:5201 dest=198.51.100.2:40000 mark=0x0 data_len=0 \
                 snd_nxt={:#x} snd_una={:#x} snd_cwnd={window} ssthresh=2147483647 snd_wnd=64256 srtt=40123 rcv_wnd=65152 sock_cookie=1",
                (at + packet * 100) / 1_000_000,
                (at + packet * 100) % 1_000_000,
                (base + nxt) & 0xffff_ffff,
                (base + una) & 0xffff_ffff,
            );
            una += 2896;
            nxt += 2 * 2896;
            window += 2;
        }
    }
    text
}

#[test]
fn tcp_probe_has_an_ack_per_line() {
    let found = row("probe.txt", probe(6));
    assert_eq!((found.mss, found.initial_window), (1448, 14_480));
    assert_eq!(found.min_rtt_ms, Some(40.123));
    assert_eq!(found.loss_ratio, None);
    // The last line has none behind it.
    assert_eq!(found.bytes, (5 * (1 + 2 + 4 + 8 + 16 + 32) - 1) * 2896);
    assert!(found.startups.iter().all(|startup| startup.arm_full.len() > 3));
    assert!(!found.startups.is_empty(), "ACKs show exits");
}

#[test]
fn snapshots_of_ss_show_the_path_and_no_exits() {
    let text = |times: bool| {
        let mut text = String::new();
        for index in 0..30_u64 {
            if times {
                let _ = writeln!(
                    text,
                    "{}.{:09}",
                    1_700_000_000 + index / 10,
                    index % 10 * 100_000_000
                );
            }
            let _ = write!(
                text,
                "ESTAB 0 1448000 192.0.2.1:5201 198.51.100.2:40000\n\t cubic wscale:7,7 rto:240 rtt:41.5/0.5 mss:1448 pmtu:1500 rcvmss:536 cwnd:70 ssthresh:60 \
                 bytes_sent:{} bytes_retrans:{} bytes_acked:{} segs_out:100 send 20.3Mbps lastsnd:4 pacing_rate 24.4Mbps delivery_rate 19.8Mbps unacked:65 \
                 minrtt:40.1\n",
                index * 260_000,
                index / 10 * 1448,
                index * 250_000,
            );
        }
        text
    };
    let found = row("ss.txt", text(true));
    assert_eq!((found.startups.len(), found.bytes), (0, 29 * 250_000));
    let rate = found.best_rate_mbps.expect("a rate");
    assert!((rate / 20.0 - 1.0).abs() < 0.03, "{rate}");
    assert_eq!((found.sender.pacing_mbps, found.sender.bandwidth_mbps), (Some(24.4), Some(19.8)));
    assert_eq!(found.sender.ssthresh, Some(60 * 1448));
    assert!(found.findings.iter().any(|finding| finding.kind == "coarse"));
    let fault = replayed("ss.txt", text(false)).0.expect_err("no time").to_string();
    assert!(fault.contains("date +%s.%N"), "{fault}");
}

#[test]
fn lines_of_tcp_probe_out_of_order_are_skipped_and_named() {
    let text = probe(6);
    let whole = row("probe.txt", text.clone());
    let mut lines: Vec<&str> = text.lines().collect();
    for at in (5..lines.len() - 3).step_by(9) {
        lines.swap(at, at + 1);
    }
    let (extent, replay) = replayed("probe.txt", lines.join("\n"));
    assert!(extent.is_ok(), "{extent:?}");
    let remark = replay.remarks.first().expect("a remark").to_string();
    assert!(remark.contains("the time decreases"), "{remark}");
    let found = Results::new(replay, Vec::new()).connections.remove(0);
    assert_eq!(found.bytes, whole.bytes, "each line states a total");
}

#[test]
fn snapshots_never_show_exits_and_fallen_counters_are_another_connection() {
    let snapshot = |at: u64, acked: u64| {
        format!(
            "{}.{:03}\nESTAB 0 0 192.0.2.1:5201 198.51.100.2:40000\n\t cubic rtt:41.5/0.5 mss:1448 cwnd:70 bytes_acked:{acked} unacked:65\n",
            1_700_000_000 + at / 1000,
            at % 1000
        )
    };
    // The same time in the first two, then a snapshot each millisecond.
    let close: String = (0..60_u64).map(|i| snapshot(i.saturating_sub(1), i * 2896)).collect();
    let found = row("ss.txt", close);
    assert_eq!((found.startups.len(), found.bytes), (0, 59 * 2896));
    let again: String = (0..40_u64).map(|i| snapshot(i * 100, i % 20 * 250_000)).collect();
    let found = rows("ss.txt", again);
    let bytes: Vec<u64> = found.iter().map(|row| row.bytes).collect();
    assert_eq!(bytes, [19 * 250_000; 2], "two connections one after the other");
}

#[test]
fn iperf_shows_the_same_in_a_stream_of_events() {
    let text = iperf(",\"rtt\":42000,\"pmtu\":1500", "TCP");
    let whole: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let event = |name: &str, data: &serde_json::Value| {
        format!("{{\"event\":\"{name}\",\"data\":{data}}}\n")
    };
    let intervals = whole["intervals"].as_array().expect("intervals").iter();
    let stream: String = std::iter::once(event("start", &whole["start"]))
        .chain(intervals.map(|interval| event("interval", interval)))
        .chain([event("end", &whole["end"])])
        .collect();
    let (one, other) = (row("iperf.json", text), row("iperf.json", stream.clone()));
    assert_eq!((one.bytes, one.loss_ratio), (other.bytes, other.loss_ratio));
    let (extent, replay) = replayed("iperf.json", &stream[..stream.len() - 60]);
    assert!(extent.is_ok(), "{extent:?}");
    assert_eq!(replay.remarks.len(), 1, "the file ends inside an event");
    let cut = Results::new(replay, Vec::new()).connections.remove(0);
    assert_eq!(cut.bytes, 11 * 2_500_000, "the intervals before the cut");
}

#[test]
fn the_first_line_of_bpftrace_is_skipped() {
    let table = |first: &str| {
        let mut text = format!("{first}time_us,acked_bytes,inflight_bytes,rtt_us\n");
        for index in 0..40 {
            let _ = writeln!(text, "{},2896,28960,{}", index * 1000, 40_000 + index);
        }
        text
    };
    let plain = row("trace.csv", table("")).bytes;
    for first in ["Attaching 3 probes...\n", "Attached 3 probes\n", "Attached 1 probe\n"] {
        assert_eq!(row("trace.csv", table(first)).bytes, plain, "{first}");
    }
}

fn iperf(rtt: &str, protocol: &str) -> String {
    let rows: Vec<String> = (0..12)
        .map(|second| {
            format!(
                "{{\"streams\":[{{\"socket\":5,\"start\":{second},\"end\":{}.00002,\"seconds\":1.0,\"bytes\":2500000,\"retransmits\":{},\"snd_cwnd\":150000{rtt},\"omitted\":false,\"sender\":true}}]}}",
                second + 1,
                u64::from(second == 3)
            )
        })
        .collect();
    format!(
        "{{\"start\":{{\"connected\":[{{\"socket\":5}}],\"version\":\"iperf 3.16\",\"tcp_mss\":1448,\"test_start\":{{\"protocol\":\"{protocol}\"}}}},\"intervals\":[{}],\"end\":{{}}}}",
        rows.join(",")
    )
}

#[test]
fn iperf_shows_the_path_and_no_exits() {
    let found = row("iperf.json", iperf(",\"rtt\":42000,\"pmtu\":1500", "TCP"));
    assert_eq!((found.startups.len(), found.min_rtt_ms), (0, Some(42.0)));
    let rate = found.best_rate_mbps.expect("a rate");
    assert!((rate / 20.0 - 1.0).abs() < 0.02, "{rate}");
    assert!(found.loss_ratio.is_some_and(|loss| loss > 0.0));
    for (text, expected) in
        [(iperf("", "TCP"), "the sender's report is needed"), (iperf("", "UDP"), "over UDP")]
    {
        let fault = replayed("iperf.json", text).0.expect_err(expected).to_string();
        assert!(fault.contains(expected), "{fault}");
    }
}

#[test]
fn what_was_understood_is_read_again() {
    use firstflight::arm::Arm;
    use firstflight_replay::files::{GroupBy, follow};
    use firstflight_replay::replay::{Named, Settings};
    let folder = tempfile::tempdir().expect("a folder");
    let events = folder.path().join("events.csv");
    let arms = ["hystart++", "search"]
        .map(|name| Named { label: name.into(), arm: Arm::parse(name).expect("an arm") });
    let settings = || Settings { arms: arms.to_vec(), ..Settings::default() };
    let read = |file: &str, settings: Settings| {
        let watch =
            |_: &str, _: u64| -> firstflight_replay::files::OnBytes { Box::new(|_| Ok(())) };
        let files = [file.to_owned()];
        let (replay, rows) =
            follow(&files, settings, GroupBy::default(), &watch).expect("a replay");
        Results::new(replay, rows).connections
    };
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples/plain.pcap.gz");
    let written = Settings { events: Some(events.clone()), ..settings() };
    let first = read(sample, written);
    let again = read(events.to_str().expect("a name"), settings());
    assert_eq!(first.len(), again.len());
    for (one, other) in first.iter().zip(&again) {
        assert_eq!((one.bytes, one.acks), (other.bytes, other.acks));
        assert_eq!(one.rtt_p50_ms, other.rtt_p50_ms);
        for (one, other) in one.startups.iter().zip(&other.startups) {
            assert_eq!((one.reason, one.ack), (other.reason, other.ack), "{}", one.arm);
        }
    }
    // The folder with the one trace in it is that trace.
    let folder = read(folder.path().to_str().expect("a name"), settings());
    assert_eq!(folder.len(), again.len());
}
