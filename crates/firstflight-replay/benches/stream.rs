//! Speed and memory of reading a large qlog: `cargo bench -p firstflight-replay [-- MEGABYTES]`.
//! The log is generated on the fly: an endless download in quiche's format, two packets with a
//! stream frame for each ACK.

use firstflight::arm::Arm;
use firstflight_log::read;
use firstflight_replay::replay::{Named, Replay, Settings};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read};
use std::time::Instant;

struct Endless {
    left: usize,
    text: String,
    at: usize,
    packet: u64,
    acked: u64,
}

impl Endless {
    fn new(bytes: usize) -> Endless {
        let text = "\u{1e}{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"trace\":{\"vantage_point\":{\"type\":\"server\"}}}\n"
            .to_owned();
        Endless { left: bytes, text, at: 0, packet: 0, acked: 0 }
    }

    fn more(&mut self) {
        self.text.clear();
        self.at = 0;
        // 100 Mbit/s: a packet every 120 us, acknowledged 30 ms after it was sent.
        let sent = |text: &mut String, packet: u64| {
            let _ = writeln!(
                text,
                "\u{1e}{{\"time\":{:.6},\"name\":\"transport:packet_sent\",\"data\":{{\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{packet},\"dcid\":\"4f1c2b9a77aa01\"}},\
                 \"raw\":{{\"length\":1452,\"payload_length\":1424}},\"send_at_time\":0.5,\"frames\":[{{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":{},\"length\":1410,\"fin\":false}}]}}}}",
                packet as f64 * 0.12,
                packet * 1410
            );
        };
        for _ in 0..64 {
            sent(&mut self.text, self.packet);
            sent(&mut self.text, self.packet + 1);
            self.packet += 2;
            if self.packet > 250 {
                self.acked += 2;
                let _ = writeln!(
                    self.text,
                    "\u{1e}{{\"time\":{:.6},\"name\":\"transport:packet_received\",\"data\":{{\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{}}},\"raw\":{{\"length\":42}},\
                     \"frames\":[{{\"frame_type\":\"ack\",\"ack_delay\":0.12,\"acked_ranges\":[[{},{}]]}}]}}}}",
                    self.packet as f64 * 0.12 - 0.01,
                    self.acked / 2,
                    self.acked.saturating_sub(200),
                    self.acked - 1
                );
                let _ = writeln!(
                    self.text,
                    "\u{1e}{{\"time\":{:.6},\"name\":\"recovery:metrics_updated\",\"data\":{{\"latest_rtt\":30.1,\"bytes_in_flight\":{}}}}}",
                    self.packet as f64 * 0.12 - 0.01,
                    (self.packet - self.acked) * 1452
                );
            }
        }
    }
}

impl Read for Endless {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.at == self.text.len() {
            if self.left == 0 {
                return Ok(0);
            }
            self.more();
        }
        let size = to.len().min(self.text.len() - self.at);
        to[..size].copy_from_slice(&self.text.as_bytes()[self.at..self.at + size]);
        self.at += size;
        self.left = self.left.saturating_sub(size);
        Ok(size)
    }
}

/// The value of a line of `/proc/self/status`, in kB.
fn status(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Processor time of this process, seconds.
fn cpu() -> f64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> =
        text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: f64 = fields
        .get(11..13)
        .unwrap_or_default()
        .iter()
        .filter_map(|ticks| ticks.parse::<f64>().ok())
        .sum();
    ticks / 100.0
}

fn main() {
    let megabytes: usize =
        std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(1000);
    // The time for generating the log alone is subtracted.
    let (mut log, mut sink, before) =
        (Endless::new(megabytes * 1_000_000), vec![0; 1 << 16], cpu());
    while log.read(&mut sink).is_ok_and(|read| read > 0) {}
    let making = cpu() - before;
    for arms in ["slowstart", "slowstart,hystart,hystart++,search,best,best-published,rapid-nojump"]
    {
        let names = arms
            .split(',')
            .map(|name| Named { label: name.into(), arm: Arm::parse(name).expect("an arm") })
            .collect();
        let mut replay = Replay::new(Settings { arms: names, ..Settings::default() });
        let (start, before) = (Instant::now(), cpu());
        let extent =
            read::from("endless", Box::new(Endless::new(megabytes * 1_000_000)), &mut replay)
                .expect("a log");
        let busy = (cpu() - before - making).max(0.001);
        println!(
            "{} MB of qlog, {} events, {} startups: {:.0} MB/s of processor time ({:.2} s; {:.2} s on the clock), at most {:.1} MB of memory",
            extent.bytes / 1_000_000,
            extent.records,
            arms.split(',').count(),
            extent.bytes as f64 / 1e6 / busy,
            busy,
            start.elapsed().as_secs_f64(),
            status("VmHWM") as f64 / 1e3
        );
    }
}
