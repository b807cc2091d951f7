//! Damaged and unexpected files give one line with file and position, partial results if something
//! could be read, and never a panic.

use crate::model;

use flate2::Compression;
use flate2::write::GzEncoder;
use model::{Link, replayed, row, shows, transfer};
use std::io::Write;

fn table() -> String {
    let mut text = "time_us,acked_bytes,rtt_us,inflight_bytes,mss,lost_bytes\n".to_owned();
    let (mut inflight, mut sent_at) = (0_u64, std::collections::BTreeMap::new());
    let mut acked = std::collections::BTreeSet::new();
    let mut lost = 0;
    for (now, happened) in transfer(Link::USUAL, 2000) {
        match happened {
            model::Happened::Sent { packet, .. } => {
                sent_at.insert(packet, now);
                inflight += model::MSS;
            }
            model::Happened::Lost { .. } => lost += model::MSS,
            model::Happened::Acked { ranges, .. } => {
                let new: Vec<u64> = ranges
                    .iter()
                    .flat_map(|&(a, b)| a..=b)
                    .filter(|packet| acked.insert(*packet))
                    .collect();
                let bytes = new.len() as u64 * model::MSS;
                let rtt = new.iter().max().map_or(0, |packet| (now - sent_at[packet]) / 1000);
                let _ = std::fmt::Write::write_fmt(
                    &mut text,
                    format_args!("{},{bytes},{rtt},{inflight},{},{lost}\n", now / 1000, model::MSS),
                );
                inflight -= bytes + lost;
                lost = 0;
            }
        }
    }
    text
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("into memory");
    encoder.finish().expect("into memory")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn a_table_of_acks_shows_the_link() {
    let found = row("acks.csv", table());
    // A table counts headers of TCP.
    let found_rate = found.best_rate_mbps.expect("a rate");
    let wire = (model::MSS + 28) as f64 / model::MSS as f64;
    assert!(
        (found_rate * wire / 20.0 - 1.0).abs() < 0.05,
        "{found_rate} Mbit/s of payload on a link of 20"
    );
    assert!((found.min_rtt_ms.expect("an RTT") - 50.49).abs() < 1.0);
}

#[test]
fn compression_is_told_by_its_first_bytes_and_undone() {
    let plain = table();
    let reference = serde_json::to_string(&row("a", plain.clone())).expect("rows are JSON");
    let (half, rest) = plain.as_bytes().split_at(plain.len() / 2);
    let two_frames = [zstd(half), zstd(rest)].concat();
    let two_members = [gzip(half), gzip(rest)].concat();
    for (how, bytes) in [
        ("gzip", gzip(plain.as_bytes())),
        ("zstd", zstd(plain.as_bytes())),
        ("two members", two_members),
        ("two frames", two_frames),
    ] {
        assert_eq!(
            serde_json::to_string(&row("a", bytes)).expect("rows are JSON"),
            reference,
            "{how}"
        );
    }
}

#[test]
fn what_is_no_trace_is_refused_with_one_line() {
    let cases: [(&str, &[u8], &str); 13] = [
        ("empty", b"", "empty: is empty"),
        ("noise", &[0xff, 0xfe, 0x00, 0x01, 0x7f], "noise: byte 0: unknown format"),
        ("text", b"hello world\n", "unknown format"),
        ("object", b"{}", "it contains no events"),
        ("cut", b"{\"traces\":[{\"events\":[{\"time\":1", "the file ends inside this value"),
        ("wrong", b"{\"traces\" 3}", "cut: byte"),
        ("brace", b"\x1e{\"time\":1,\"name\":", "a malformed event"),
        ("results", b"arm,ttlb_ms\nrapid,3\n", "results: line 1: results, not events"),
        ("table", b"a,b,c\n1,2,3\n", "table: line 1: no column `inflight_bytes`"),
        ("no rows", b"time_us,acked_bytes,inflight_bytes\n", "no row below the header"),
        (
            "words",
            b"time_us,acked_bytes,inflight_bytes\nx,y,z\n",
            "words: line 2: the time: `x` is not a number",
        ),
        ("pcap", &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0], "no pcap or pcapng header"),
        ("gzip", &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3], "gzip: cannot be read"),
    ];
    for (name, bytes, expected) in cases {
        let (extent, replay) = replayed(name, bytes);
        let fault = extent.expect_err(name).to_string();
        assert!(!fault.contains('\n'), "{name}: one line: {fault}");
        assert!(fault.starts_with(name), "{name}: the file comes first: {fault}");
        let expected = expected.replace("cut: byte", "wrong: byte");
        assert!(fault.contains(&expected), "{name}: `{fault}` should say `{expected}`");
        assert_eq!(replay.done.len(), 0, "{name}: nothing was made up");
    }
}

#[test]
fn a_file_that_is_cut_off_gives_what_was_before_the_cut_and_says_so() {
    let whole = table();
    // Within a line, three quarters down.
    let mut cut = whole.as_bytes()[..whole.len() * 3 / 4].to_vec();
    while cut.last().is_some_and(|byte| *byte != b',') {
        cut.pop();
    }
    let (extent, replay) = replayed("cut.csv", cut);
    assert_eq!(extent.expect("most of it can be read").connections, 1);
    assert_eq!(replay.done.len(), 1, "the connection is there");
    let remark = replay.remarks.first().expect("and the cut is told").to_string();
    assert!(remark.starts_with("cut.csv: line "), "{remark}");
}

#[test]
fn a_compressed_file_that_is_cut_off_gives_what_was_before_the_cut() {
    for (name, mut bytes) in
        [("cut.gz", gzip(table().as_bytes())), ("cut.zst", zstd(table().as_bytes()))]
    {
        bytes.truncate(bytes.len() * 3 / 4);
        let (extent, replay) = replayed(name, bytes);
        match extent {
            // A frame may be one block: then nothing comes out of it.
            Err(fault) => assert!(fault.to_string().starts_with(name), "{fault}"),
            Ok(_) => assert!(
                replay.remarks.first().expect("the cut is told").to_string().starts_with(name)
            ),
        }
    }
}

#[test]
fn rows_that_make_no_sense_are_left_out_and_the_first_is_told() {
    let text = table();
    let spoilt = text
        .lines()
        .enumerate()
        .map(|(index, line)| if index == 200 { "1,2" } else { line })
        .collect::<Vec<_>>()
        .join("\n");
    let (extent, replay) = replayed("odd.csv", spoilt);
    assert!(extent.is_ok() && replay.done.len() == 1, "the rest is read");
    assert!(
        replay.remarks[0].to_string().contains("2 cells under 6 columns"),
        "{}",
        replay.remarks[0]
    );
}

#[test]
fn hostile_sizes_are_refused_before_they_fill_the_memory() {
    let long = format!("time_us,acked_bytes,inflight_bytes\n{}", "1".repeat(3 << 20));
    assert!(
        replayed("long.csv", long)
            .0
            .expect_err("no line ends")
            .to_string()
            .contains("cannot be a row of a table")
    );
    let deep = format!("{{\"traces\":[{{\"events\":[{}", "[".repeat(1 << 20));
    assert!(
        replayed("deep.qlog", deep)
            .0
            .expect_err("nobody nests that deep")
            .to_string()
            .contains("nested")
    );
    let wide = format!("{{\"traces\":[{{\"events\":[\"{}", "x".repeat(18 << 20));
    assert!(
        replayed("wide.qlog", wide)
            .0
            .expect_err("no event is that large")
            .to_string()
            .contains("MiB")
    );
    let record = [b"\x1e{\"a\":\"".as_slice(), &vec![b'x'; 18 << 20]].concat();
    assert!(
        replayed("record.sqlog", record)
            .0
            .expect_err("no record is that large")
            .to_string()
            .contains("MiB")
    );
    // pcapng: a block of four gigabytes.
    let block = [0x0a, 0x0d, 0x0d, 0x0a, 0xff, 0xff, 0xff, 0xfc, 0x4d, 0x3c, 0x2b, 0x1a];
    assert!(replayed("block.pcapng", block.repeat(4)).0.is_err());
    // Ranges that cover all numbers there are cost no more than what is out.
    let ranges = "\u{1e}{\"time\":1,\"name\":\"transport:packet_received\",\"data\":{\"header\":{\"packet_type\":\"1RTT\"},\"frames\":[{\"frame_type\":\"ack\",\"acked_ranges\":[[0,18446744073709551615]]}]}}\n";
    assert!(replayed("ranges.sqlog", ranges.repeat(1000)).0.is_err());
}

#[test]
fn control_characters_of_a_file_do_not_reach_the_terminal() {
    let fault =
        replayed("x", "time_us,acked_bytes,\u{1b}[31mred\u{7}\n1,2,3\n").0.expect_err("no column");
    assert!(
        !fault.to_string().contains('\u{1b}') && !fault.to_string().contains('\u{7}'),
        "{fault}"
    );
}

#[test]
fn the_usual_link_is_what_the_model_says() {
    // The model itself: without it the other tests would hold nothing.
    let moments = transfer(Link::USUAL, 2000);
    let sent = moments
        .iter()
        .filter(|(_, happened)| matches!(happened, model::Happened::Sent { .. }))
        .count();
    let lost = moments
        .iter()
        .filter(|(_, happened)| matches!(happened, model::Happened::Lost { .. }))
        .count();
    assert_eq!(sent - lost, 2000, "every piece arrives once");
    assert!(lost > 10, "slow start overshoots: {lost}");
    let _ = shows;
}
