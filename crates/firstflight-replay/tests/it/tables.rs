//! Tables as users have them: the meaning of a column follows from its rows, or the user is asked.

use crate::model::{replayed, row};
use std::fmt::Write as _;

/// Random numbers, the same in each run.
struct Random(u64);

impl Random {
    fn within(&mut self, low: u64, high: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        low + (self.0 >> 33) % (high - low)
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.within(0, of.len() as u64) as usize]
    }
}

/// A slow start without loss, ACK by ACK.
struct Transfer {
    mss: u64,
    rtt_us: u64,
    /// Time, bytes acknowledged, in flight before, sent because of it.
    acks: Vec<(u64, u64, u64, u64)>,
}

fn transfer(random: &mut Random) -> Transfer {
    let mss = random.one(&[1200, 1376, 1448, 8948]);
    let rtt_us = random.within(2_000, 300_000);
    let (mut acks, mut inflight, mut at) = (Vec::new(), 10 * mss, rtt_us);
    for _ in 0..random.within(3, 7) {
        let round = inflight / mss;
        let (mut left, mut index) = (round, 0);
        while left > 0 {
            let packets = random.within(1, 4).min(left);
            let acked = packets * mss;
            index += packets;
            acks.push((at + index * rtt_us / (2 * round), acked, inflight, 2 * acked));
            inflight += acked;
            left -= packets;
        }
        at += rtt_us;
    }
    Transfer { mss, rtt_us, acks }
}

/// Form of a table.
#[derive(Clone, Copy, Debug)]
struct Style {
    /// The acknowledged bytes: name, and whether it is a running total.
    acked: (&'static str, bool),
    una: bool,
    inflight: bool,
    /// `nxt` counts what its ACK allowed.
    after: bool,
    cwnd: bool,
    delimiter: char,
    mark: bool,
    capitals: bool,
    comments: bool,
    wraps: bool,
}

fn written(transfer: &Transfer, style: Style) -> String {
    let mut names = vec!["time_us", style.acked.0, "rtt_us", "mss"];
    names.extend(style.una.then_some(["snd_una", "snd_nxt"]).into_iter().flatten());
    names.extend(style.inflight.then_some("inflight_bytes"));
    names.extend(style.cwnd.then_some("cwnd_bytes"));
    let separator = style.delimiter.to_string();
    let mut header = names.join(&separator);
    if style.capitals {
        header = header.to_uppercase();
    }
    let mut text = String::new();
    if style.mark {
        text.push('\u{feff}');
    }
    if style.comments {
        text.push_str("# written by somebody, for 10 paths\n");
    }
    let _ = writeln!(text, "{header}");
    let base = if style.wraps { u64::from(u32::MAX) - 40_000 } else { 1_000 };
    let (mut una, mut nxt) = (0, transfer.acks[0].2);
    for (index, &(at, acked, inflight, sent)) in transfer.acks.iter().enumerate() {
        una += acked;
        let counted = if style.after { nxt + sent } else { nxt };
        let wrapped = |number: u64| {
            let number = base + number;
            if style.wraps { number % (1 << 32) } else { number }
        };
        let said = if style.acked.1 { una } else { acked };
        let mut cells = vec![at, said, transfer.rtt_us, transfer.mss];
        if style.una {
            cells.extend([wrapped(una), wrapped(counted)]);
        }
        cells.extend(style.inflight.then_some(inflight));
        cells.extend(style.cwnd.then_some(inflight + acked));
        let cells: Vec<String> = cells.iter().map(u64::to_string).collect();
        let _ = writeln!(text, "{}", cells.join(&separator));
        if style.comments && index % 7 == 3 {
            text.push_str("# still here\n");
        }
        nxt += sent;
    }
    text
}

#[test]
fn a_table_means_the_same_however_it_is_written() {
    let mut random = Random(1);
    for _ in 0..60 {
        let transfer = transfer(&mut random);
        let plain = Style {
            acked: ("acked_bytes", false),
            una: false,
            inflight: true,
            after: false,
            cwnd: false,
            delimiter: ',',
            mark: false,
            capitals: false,
            comments: false,
            wraps: false,
        };
        let reference = row("a.csv", written(&transfer, plain));
        let una = random.within(0, 3) > 0;
        let style = Style {
            acked: random.one(&[
                ("acked_bytes", false),
                ("bytes_acked", false),
                ("bytes_acked", true),
                ("acked_total_bytes", true),
            ]),
            una,
            inflight: !una,
            after: una && random.within(0, 2) == 0,
            cwnd: random.within(0, 2) == 0,
            delimiter: random.one(&[',', ';', '\t']),
            mark: random.within(0, 2) == 0,
            capitals: random.within(0, 2) == 0,
            comments: random.within(0, 2) == 0,
            wraps: una && random.within(0, 2) == 0,
        };
        let found = row("a.csv", written(&transfer, style));
        assert_eq!(found.bytes, reference.bytes, "{style:?}");
        assert_eq!(found.inflight_max, reference.inflight_max, "{style:?}");
        assert_eq!(found.initial_window, reference.initial_window, "{style:?}");
        assert_eq!(found.loss_ratio, None, "{style:?}");
        for (one, other) in found.startups.iter().zip(&reference.startups) {
            assert_eq!((one.ack, one.cwnd), (other.ack, other.cwnd), "{}: {style:?}", one.arm);
        }
    }
}

#[test]
fn columns_that_contradict_each_other_are_refused() {
    let mut text = "time_us,acked_bytes,una,nxt\n".to_owned();
    for index in 0..40_u64 {
        let _ = writeln!(text, "{},2896,{},{}", 1000 * index, 1 + 2 * index, 40 + 2 * index);
    }
    let fault = replayed("packets.csv", text).0.expect_err("packets are no bytes").to_string();
    assert!(fault.contains("`una` moves by 2 where `acked_bytes` says 2896"), "{fault}");
}

#[test]
fn a_column_with_two_readings_is_asked_for() {
    let mut text = "time_us,bytes_acked,inflight_bytes\n".to_owned();
    for index in 1..6_u64 {
        let _ = writeln!(text, "{},{},90000", 1000 * index, 1448 * index);
    }
    let fault = replayed("short.csv", text).0.expect_err("nothing tells").to_string();
    assert!(fault.contains("`acked_bytes` or `acked_total_bytes`"), "{fault}");
}

#[test]
fn losses_that_only_rise_are_a_total() {
    let (mut new, mut total) =
        ("time_us,acked_bytes,inflight_bytes,lost_bytes\n".to_owned(), String::new());
    let mut sum = 0;
    total.push_str(&new);
    for index in 0..250_u64 {
        let lost = if index % 20 == 5 { 2896 } else { 0 };
        sum += lost;
        let _ = writeln!(new, "{},1448,30000,{lost}", 1000 * index);
        let _ = writeln!(total, "{},1448,30000,{sum}", 1000 * index);
    }
    let (new, total) = (row("a.csv", new), row("a.csv", total));
    assert_eq!((new.loss_ratio.is_some(), new.loss_ratio), (true, total.loss_ratio));
}

#[test]
fn what_a_table_does_not_tell_is_not_known() {
    let mut text = "time_ms;acked_bytes;inflight_bytes;rtt_ms;total_retrans\n".to_owned();
    for index in 0..60 {
        let _ = writeln!(text, "{},5;1448;14480;40,25;{}", 40 + index, index / 3);
    }
    let found = row("a.csv", text);
    assert_eq!((found.loss_ratio, found.min_rtt_ms), (None, Some(40.25)));
    assert!(found.origin.contains("`total_retrans` not read"), "{}", found.origin);
}

#[test]
fn a_header_behind_a_mark_is_one() {
    let mut text = "# Time (ms)\tAcked bytes\tInflight bytes\n".to_owned();
    for index in 0..60 {
        let _ = writeln!(text, "{index}\t1448\t14480");
    }
    assert_eq!(row("a.tsv", text).bytes, 60 * 1448);
}

#[test]
fn what_bpftrace_prints_is_read() {
    let header = "time_ns,connection,acked_bytes,inflight_bytes,rtt_us,lost_bytes";
    let mut text = format!("Attaching 2 probes...\n{header}\n");
    for index in 0..60_u64 {
        let _ = writeln!(text, "{},{},1448,14480,20000,0", 1_000_000 * index, index % 2);
    }
    let (extent, replay) = replayed("trace.txt", text.clone());
    assert_eq!(extent.map(|extent| extent.connections), Ok(2));
    assert_eq!(replay.remarks, []);
    // A row that is none is named by its own line, the 63rd.
    text.push_str("@retransmitted: 3\n");
    let (extent, replay) = replayed("trace.txt", text);
    assert_eq!(extent.map(|extent| extent.connections), Ok(2));
    let remarks: Vec<String> = replay.remarks.iter().map(ToString::to_string).collect();
    assert!(remarks[0].contains(":63:") || remarks[0].contains("line 63"), "{remarks:?}");
}

#[test]
fn what_is_read_by_nobody_is_named() {
    let tar = [vec![b'a'; 257], b"ustar\0".to_vec(), vec![0; 300]].concat();
    let record = |seconds: u32| {
        let mut record = vec![0, 0, 0, 0];
        record.extend(seconds.to_le_bytes());
        record.extend([2, 4, 0, 64, 0, 0, 0, 60]);
        record.extend([0xee; 48]);
        record
    };
    let erf = [record(1_500_000_000), record(1_500_000_001)].concat();
    let cases: [(&[u8], &str); 8] = [
        (b"PK\x03\x04\x14\0,x.pcap\n", "a zip archive"),
        (b"BZh91AY&SY,,,\n", "bzip2"),
        (b"\xfd7zXZ\0,\n", "xz"),
        (b"snoop\0\0\0\0\0\0\x02\0\0\0\x04", "a snoop capture"),
        (b"\xff\xfet\0i\0m\0e\0", "UTF-16"),
        (&tar, "a tar archive"),
        (&erf, "an ERF capture"),
        (b"<!DOCTYPE html><title>a, b</title>", "a web page"),
    ];
    for (bytes, expected) in cases {
        let fault = replayed("it", bytes).0.expect_err(expected).to_string();
        assert!(fault.contains(expected), "{fault}");
        assert!(!fault.contains("column"), "{fault}");
    }
}
