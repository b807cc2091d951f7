//! Bulk TCP flows through one bottleneck, with the parameters of `benches/ns3/bottleneck.cc`: the
//! same scenario and the same line of key=value pairs. `benches/ns3.sh` runs both.
//!
//! `cargo run --release -p firstflight-sim --example bulk -- rtt=30 flows=1 cc=cubic hystart=1
//! times=20`; the other keys are `rate`, `seconds`, `ackEvery` and `preset`.

use firstflight::detection::presets::Preset;
use firstflight::startup::AnyStartup;
use firstflight::{Arm, Config, Nanos, Seq, Time};
use firstflight_path::Path;
use firstflight_sim::{
    App, Arrangement, FlowPlan, Hosts, Nobody, Setup, Shared, run, run_flows, tcp,
};
use std::error::Error;

const MSS: u64 = 1448;
/// IP, TCP and PPP.
const WIRE: u64 = MSS + 20 + 32 + 2;

struct Scenario {
    rate_mbps: u64,
    rtt_ms: u64,
    seconds: u64,
    flows: u64,
    arm: Arm,
    path: Path,
    host: tcp::Host,
}

/// CPU time of this thread in nanoseconds, where the system reports it.
fn cpu() -> u64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    told.split_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

/// Peak memory of this process, KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

impl Scenario {
    fn controller(&self, start: u64) -> firstflight::AnyController {
        let hosts = Hosts::Tcp(self.host);
        let config = firstflight::with!(Config { initial_window: 10 * MSS, ..hosts.config() });
        self.arm.with_oracle(self.path.bdp_bytes()).controller(config, Time(start), Seq(0))
    }

    /// Data starts after the handshake: a round trip of two small packets.
    fn handshake(&self) -> u64 {
        self.rtt_ms * 1_000_000 + 2 * 60 * 8_000 / self.rate_mbps
    }

    fn limit(&self) -> u64 {
        self.seconds * 1_000_000_000
    }

    /// Runs once. Returns the packets that left the bottleneck, the drops and the bytes delivered.
    fn run(&self) -> Result<(u64, u64, u64), Box<dyn Error>> {
        let (host, object) = (Hosts::Tcp(self.host), 1 << 40);
        if self.flows == 1 {
            let limit = Nanos(self.limit() - self.handshake());
            let setup = Setup {
                path: &self.path,
                host,
                pacer_burst: 2 * MSS,
                object,
                limit,
                seed: 1,
                path_index: 0,
            };
            let outcome = run(&setup, self.controller(0), None)?;
            return Ok((
                outcome.counters.packets_sent - outcome.counters.packets_dropped,
                outcome.counters.packets_dropped,
                outcome.delivered,
            ));
        }
        let shared = Shared {
            path: &self.path,
            host,
            limit: Nanos(self.limit()),
            seed: 1,
            path_index: 0,
            sample: None,
            jitter: Nanos::ZERO,
        };
        let plan = |flow: u64| {
            let start = self.handshake() + flow * 1_000_000;
            FlowPlan::<AnyStartup> {
                controller: self.controller(start),
                pacer_burst: 2 * MSS,
                app: App::Bulk(object),
                start: Nanos(start),
                rtt_extra: Nanos::ZERO,
            }
        };
        let outcome =
            run_flows(&shared, (0..self.flows).map(plan).collect(), &Arrangement::default(), None)?;
        let sum = |what: fn(&firstflight_sim::Outcome) -> u64| {
            outcome.flows.iter().map(what).sum::<u64>()
        };
        let dropped = sum(|flow| flow.counters.packets_dropped);
        Ok((sum(|flow| flow.counters.packets_sent) - dropped, dropped, sum(|flow| flow.delivered)))
    }

    /// Steps one flow until the path drops a packet. Returns the time and the window at that
    /// moment.
    fn first_drop(&self) -> Result<Option<(u64, u64)>, Box<dyn Error>> {
        let host = self.host;
        let (mut forward, mut reverse) =
            self.path.links(host.mss + host.header, host.header, 1, 0)?;
        let sender = tcp::Sender::new(
            host,
            self.controller(0),
            2 * MSS,
            1 << 40,
            Nanos(self.path.rtt()),
            Time(0),
        );
        let mut flow = tcp::Flow::new(0, host, sender, 1 << 40);
        flow.begin(0, &mut forward, &mut Nobody);
        let mut now = 0;
        while now < self.limit() - self.handshake() {
            now = flow.next_event().max(now);
            flow.step(now, &mut forward, &mut reverse, &mut Nobody);
            if flow.sender().counters().packets_dropped > 0 {
                return Ok(Some((now + self.handshake(), flow.sender().controller().cwnd())));
            }
        }
        Ok(None)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |key: &str, default: &'static str| {
        let found = words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        found.unwrap_or(default).to_owned()
    };
    let number = |key: &str, default: &'static str| {
        word(key, default).parse::<u64>().map_err(|error| format!("{key}: {error}"))
    };
    let (rate_mbps, rtt_ms, seconds) =
        (number("rate", "100")?, number("rtt", "30")?, number("seconds", "10")?);
    let arm = match (word("cc", "cubic").as_str(), number("hystart", "1")?) {
        ("newreno", _) => "slowstart/reno/prr@(pace=off)",
        (_, 0) => "slowstart/cubic/prr@(pace=off)",
        _ => "hystart(profile=ns3)/cubic(floor20=on)/prr@(pace=off)",
    };
    // ns-3 configures the propagation delay; the idle round trip here includes the serialization of
    // a packet and its ACK.
    let serial = |bytes: u64| bytes * 8_000 / rate_mbps;
    let rtt_us = (rtt_ms * 1_000_000 + serial(WIRE) + serial(54)).div_ceil(1_000);
    let queue = (rate_mbps * rtt_ms * 125).max(4 * WIRE);
    let path = Path::parse(&format!(
        "rate={rate_mbps}Mbit,rtt={rtt_us}us,queue={queue}B,up={rate_mbps}Mbit,overhead=2B"
    ))?;
    let preset = word("preset", "sack6675");
    let preset = *Preset::named(&preset).ok_or_else(|| format!("no preset {preset}"))?;
    let ack_every = tcp::AckEvery::Segments(number("ackEvery", "2")?.clamp(1, 1000) as u32);
    let host = tcp::Host { ack_every, ack_delay: 200_000_000, ..tcp::Host::with_preset(preset) };
    let arm = Arm::parse(arm).map_err(|error| error.to_string())?;
    let scenario =
        Scenario { rate_mbps, rtt_ms, seconds, flows: number("flows", "1")?, arm, path, host };

    let first = if scenario.flows == 1 { scenario.first_drop()? } else { None };
    let times = number("times", "1")?.max(1);
    let before = cpu();
    let mut result = (0, 0, 0);
    for _ in 0..times {
        result = std::hint::black_box(scenario.run()?);
    }
    let spent = (cpu() - before) as f64 / 1e9 / times as f64;
    let (data, drops, delivered) = result;
    let (at, cwnd) = first.map_or((-1.0, 0), |(at, cwnd)| (at as f64 / 1e9, cwnd));
    println!(
        "data_packets={data} drops={drops} first_drop_s={at} cwnd_at_first_drop={cwnd} delivered_bytes={delivered} cpu_s={spent:.6} rss_kib={} rate_mbps={} rtt_ms={} flows={}",
        peak_kib(),
        scenario.rate_mbps,
        scenario.rtt_ms,
        scenario.flows
    );
    Ok(())
}
