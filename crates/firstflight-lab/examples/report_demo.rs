//! Writes a report of three made-up arms to the file named on the command line (default
//! `report-demo.html`), to look at the page without a testbed. The arms run over a toy of a path:
//! the shapes are plausible, and the numbers mean nothing.

use firstflight::ExitReason;
use firstflight_lab::report::{
    Better, Column, Episode, Exit, Fact, Ideal, Level, Loss, Note, Path, Phase, Point, Report, Row,
    Series, Spread, Table, Value,
};
use std::collections::{BTreeSet, VecDeque};

const MSS: u64 = 1500;
const BYTES: u64 = 10_000_000;
const RATE_MBPS: f64 = 100.0;
const BYTES_PER_MS: f64 = RATE_MBPS * 125.0;
const RTT_MS: f64 = 30.0;
const QUEUE: u64 = 375_000;
const STEP_MS: f64 = 0.05;
const REPEAT: u64 = 5;

fn main() -> std::io::Result<()> {
    let file = std::env::args().nth(1).unwrap_or_else(|| "report-demo.html".into());
    let arms = [
        ("slowstart", "slowstart/cubic/prr@(iw=10,pace=off)"),
        ("hystart++", "hystart++(css=on,profile=rfc9406)/cubic/prr@(iw=10,pace=on)"),
        ("rapid", "rapid(jump=on)/cubic/rapid@(iw=30,pace=on)"),
    ];
    let mut report = empty_report();
    for (arm, arm_full) in arms {
        let mut runs: Vec<Run> = (0..REPEAT).map(|seed| run(arm, seed + 7)).collect();
        let table: Vec<[f64; 8]> = runs.iter().map(Run::metrics).collect();
        let column = |i: usize| {
            let mut values: Vec<f64> = table.iter().map(|row| row[i]).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let (mut values, mut spread): (Vec<_>, Vec<_>) = (0..8)
            .map(column)
            .map(|v| {
                (Value::Number(v[v.len() / 2]), Some(Spread { low: v[0], high: v[v.len() - 1] }))
            })
            .unzip();
        let first = runs.swap_remove(0).series;
        values.insert(
            3,
            first.exit.as_ref().map_or(Value::Missing, |exit| Value::Text(exit.reason.clone())),
        );
        spread.insert(3, None);
        report.table.rows.push(Row {
            arm: arm.into(),
            arm_full: arm_full.into(),
            values,
            spread,
            best: vec![],
            near: vec![],
        });
        report.series.push(Series { arm: arm.into(), ..first });
    }
    report.table.mark_best(&[]);
    let page = report.to_html();
    std::fs::write(&file, &page)?;
    println!("{file}: {} bytes", page.len());
    Ok(())
}

fn empty_report() -> Report {
    let bdp = (BYTES_PER_MS * RTT_MS) as u64;
    let text = "rate=100Mbit,rtt=30ms,queue=30ms";
    let column = |key: &str, label: &str, unit: &str, better, explanation: &str| Column {
        key: key.into(),
        label: label.into(),
        unit: unit.into(),
        better,
        explanation: explanation.into(),
    };
    Report {
        title: "Three startups on a 100 Mbit/s path with a queue of one BDP".into(),
        command: format!(
            "firstflight compare --path '{text}' --bytes 10MB --arms 'slowstart,hystart++,rapid' --seed 7 --repeat {REPEAT} --report report-demo.html"
        ),
        version: format!("firstflight {}", env!("CARGO_PKG_VERSION")),
        testbed: "sim".into(),
        place: "in the simulator".into(),
        path: Path {
            text: text.into(),
            name: None,
            source: Some("made up for this demonstration".into()),
            rate_mbps: Some(RATE_MBPS),
            rtt_ms: RTT_MS,
            queue_bytes: Some(QUEUE),
            bdp_bytes: Some(bdp),
            full_bdp_bytes: Some(bdp + QUEUE),
        },
        workload_bytes: BYTES,
        seed: 7,
        repeat: REPEAT as u32,
        notes: vec![
            Note {
                level: Level::Warning,
                text: "These numbers come from a toy that only shows what a report looks like. Do not draw conclusions from them.".into(),
            },
            Note { level: Level::Info, text: "The queue is drop-tail and counts bytes; the packet in service is not counted.".into() },
        ],
        table: Table {
            columns: vec![
                column(
                    "ttlb_ms",
                    "Completion time",
                    "ms",
                    Better::Low,
                    "From the first byte sent until the last one is delivered in order at the receiver.",
                ),
                column(
                    "vs_ideal",
                    "Against ideal",
                    "×",
                    Better::Low,
                    "Completion time over the bound no sender beats: one-way delay plus bytes over rate.",
                ),
                column(
                    "goodput_mbps",
                    "Goodput",
                    "Mbit/s",
                    Better::High,
                    "Bytes in order at the receiver over the time until the last of them.",
                ),
                column("exit_reason", "Exit", "", Better::None, "Why startup ended."),
                column(
                    "exit_bdp_ratio",
                    "Exit window",
                    "× BDP",
                    Better::None,
                    "The window when startup ended, over rate times idle round trip.",
                ),
                column("loss_ratio_percent", "Loss", "%", Better::Low, "Packets declared lost and truly dropped, of the packets sent."),
                column("retransmitted_bytes", "Sent again", "bytes", Better::Low, "Bytes sent a second time or more."),
                column("rtos", "Timeouts", "", Better::Low, "Retransmission timeouts."),
                column("queue_ms_p99", "Queue, 99\u{a0}%", "ms", Better::Low, "What 99 % of the packets waited at most at the bottleneck."),
            ],
            rows: vec![],
        },
        ideal: Some(Ideal { t0_ms: RTT_MS / 2.0, rate_mbps: RATE_MBPS }),
        provenance: vec![
            Fact { name: "Path hash".into(), value: "0f3a9c51".into() },
            Fact { name: "Built with".into(), value: "rustc 1.95, release".into() },
        ],
        ..Report::default()
    }
}

/// A packet on its way: when the sender hears of it, which one, and whether it was dropped.
struct Flight {
    back_ms: f64,
    packet: u64,
    sent_ms: f64,
    wait_ms: f64,
    dropped: bool,
}

/// One toy connection, stepped every [`STEP_MS`].
struct Run {
    series: Series,
    arm: String,
    phase: &'static str,
    phase_start: f64,
    cwnd: f64,
    ssthresh: Option<f64>,
    inflight: u64,
    sent: u64,
    dropped: u64,
    rounds_end: u64,
    css_rounds: u32,
    recovery_until: Option<f64>,
    last_send: f64,
    waits: Vec<f64>,
    now: f64,
}

fn run(arm: &str, seed: u64) -> Run {
    let jump = arm == "rapid";
    let mut run = Run {
        series: Series::default(),
        arm: arm.into(),
        phase: if jump { "jump" } else { "startup" },
        phase_start: 0.0,
        cwnd: (if jump { 30 } else { 10 } * MSS) as f64,
        ssthresh: None,
        inflight: 0,
        sent: 0,
        dropped: 0,
        rounds_end: 0,
        css_rounds: 0,
        recovery_until: None,
        last_send: 0.0,
        waits: vec![],
        now: 0.0,
    };
    let packets = BYTES / MSS;
    let mut noise = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut flights: VecDeque<Flight> = VecDeque::new();
    let mut arrivals: VecDeque<(f64, u64)> = VecDeque::new();
    let mut again: BTreeSet<u64> = BTreeSet::new();
    let mut missing: BTreeSet<u64> = (0..packets).collect();
    let (mut next, mut acked, mut link_free, mut budget) = (0, 0, 0.0_f64, 0.0);
    while acked < packets && run.now < 60_000.0 {
        // Paced at twice the window per round trip, the jump at one.
        let gain = if run.phase == "jump" { 1.0 } else { 2.0 };
        budget = (budget + gain * run.cwnd / RTT_MS * STEP_MS).min(8.0 * MSS as f64);
        while budget >= MSS as f64 && (run.inflight + MSS) as f64 <= run.cwnd {
            let Some(packet) =
                again.pop_first().or_else(|| (next < packets).then(|| (next, next += 1).0))
            else {
                break;
            };
            budget -= MSS as f64;
            let wait = (link_free - run.now).max(0.0);
            let dropped = wait * BYTES_PER_MS + MSS as f64 > QUEUE as f64;
            if !dropped {
                link_free = run.now + wait + MSS as f64 / BYTES_PER_MS;
                run.waits.push(wait);
                arrivals.push_back((run.now + wait + RTT_MS / 2.0, packet));
            }
            noise = noise
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let jitter = (noise >> 40) as f64 / (1u64 << 24) as f64 * 0.8;
            flights.push_back(Flight {
                back_ms: run.now + wait + RTT_MS + jitter,
                packet,
                sent_ms: run.now,
                wait_ms: wait + jitter,
                dropped,
            });
            run.silence();
            run.inflight += MSS;
            run.sent += 1;
        }
        while arrivals.front().is_some_and(|a| a.0 <= run.now) {
            missing.remove(&arrivals.pop_front().map_or(0, |a| a.1));
        }
        while flights.front().is_some_and(|f| f.back_ms <= run.now) {
            let Some(flight) = flights.pop_front() else { break };
            run.inflight -= MSS;
            if flight.dropped {
                again.insert(flight.packet);
                run.on_loss(&flight);
            } else {
                acked += 1;
                run.on_ack(&flight, acked, flights.len() as u64);
            }
        }
        run.series.points.push(Point {
            t_ms: run.now,
            cwnd: run.cwnd as u64,
            ssthresh: run.ssthresh.map(|s| s as u64),
            inflight: run.inflight,
            delivered_bytes: missing.first().copied().unwrap_or(packets) * MSS,
            queue_bytes: ((link_free - run.now).max(0.0) * BYTES_PER_MS) as u64,
        });
        run.now += STEP_MS;
    }
    run.enter("done");
    if let Some(last) = run.series.points.last_mut() {
        last.delivered_bytes = BYTES;
    }
    run
}

impl Run {
    fn enter(&mut self, phase: &'static str) {
        if phase != self.phase {
            self.series.phases.push(Phase {
                start_ms: self.phase_start,
                end_ms: self.now,
                name: self.phase.into(),
            });
            (self.phase, self.phase_start) = (phase, self.now);
        }
    }

    fn exit(&mut self, reason: &str) {
        let ratio = self.cwnd / (BYTES_PER_MS * RTT_MS);
        let because = ExitReason::from_name(reason).map_or("", ExitReason::because).into();
        let exit = Exit {
            reason: reason.into(),
            because,
            time_ms: self.now,
            cwnd: self.cwnd as u64,
            bdp_ratio: Some(ratio),
        };
        self.series.exit.get_or_insert(exit);
    }

    fn silence(&mut self) {
        let quiet = self.now - self.last_send;
        if let (Some(episode), true) =
            (self.series.episodes.last_mut(), self.recovery_until.is_some())
        {
            episode.silence_ms = episode.silence_ms.max(quiet);
        }
        self.last_send = self.now;
    }

    fn on_loss(&mut self, flight: &Flight) {
        self.dropped += 1;
        self.series.losses.push(Loss { t_ms: self.now, bytes: MSS });
        if self.recovery_until.is_none() {
            self.exit("loss");
            let before = self.cwnd;
            // Rapid lands a little above the BDP, the others at a fraction of what was in flight.
            self.cwnd = if self.arm == "rapid" {
                1.05 * BYTES_PER_MS * RTT_MS
            } else {
                self.inflight as f64 * 0.7
            };
            self.ssthresh = Some(self.cwnd);
            self.enter("recovery");
            self.recovery_until = Some(self.now);
            self.series.episodes.push(Episode {
                start_ms: self.now,
                end_ms: None,
                cwnd_before: before as u64,
                cwnd_after: self.cwnd as u64,
                silence_ms: 0.0,
                lost_bytes: 0,
            });
        }
        // Packets sent before the episode began still belong to it; later drops of them prolong it.
        if let (Some(episode), Some(until)) =
            (self.series.episodes.last_mut(), &mut self.recovery_until)
        {
            episode.lost_bytes += MSS;
            if flight.sent_ms <= episode.start_ms {
                *until = self.now + RTT_MS * 1.3;
            }
        }
    }

    fn on_ack(&mut self, flight: &Flight, acked: u64, flying: u64) {
        let mss = MSS as f64;
        if let Some(until) = self.recovery_until {
            if self.now < until {
                return;
            }
            if let Some(episode) = self.series.episodes.last_mut() {
                (episode.end_ms, episode.cwnd_after) = (Some(self.now), self.cwnd as u64);
            }
            self.recovery_until = None;
            self.enter("avoidance");
        }
        let round_over = acked >= self.rounds_end;
        if round_over {
            self.rounds_end = acked + flying;
        }
        match self.phase {
            "startup" => self.cwnd += mss,
            "jump" if round_over && acked > 25 => self.enter("rapid"),
            "rapid" => self.cwnd += 2.0 * mss,
            "css" => self.cwnd += mss / 16.0,
            "avoidance" => self.cwnd += 0.6 * mss * mss / self.cwnd * 8.0,
            _ => {}
        }
        match (self.arm.as_str(), self.phase) {
            ("hystart++", "startup") if flight.wait_ms > 2.0 => self.enter("css"),
            ("hystart++", "css") if round_over => {
                self.css_rounds += 1;
                if self.css_rounds == 5 {
                    self.exit("css_done");
                    self.ssthresh = Some(self.cwnd);
                    self.enter("avoidance");
                }
            }
            _ => {}
        }
    }

    fn metrics(&self) -> [f64; 8] {
        let mut waits = self.waits.clone();
        waits.sort_by(f64::total_cmp);
        let ideal = RTT_MS + BYTES as f64 / BYTES_PER_MS;
        let last = self
            .series
            .points
            .iter()
            .find(|p| p.delivered_bytes + MSS > BYTES)
            .map_or(self.now, |p| p.t_ms);
        let sent_again = (self.sent - BYTES / MSS) * MSS;
        [
            self.now,
            self.now / ideal,
            BYTES as f64 / 125.0 / last,
            self.series.exit.as_ref().and_then(|exit| exit.bdp_ratio).unwrap_or(f64::NAN),
            self.dropped as f64 * 100.0 / self.sent as f64,
            sent_again as f64,
            0.0,
            waits.get(waits.len() * 99 / 100).copied().unwrap_or(0.0),
        ]
    }
}
