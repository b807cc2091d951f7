//! Startups and recoveries in the TCP of the running kernel, and how far the simulator
//! agrees: writes `docs/linux-results.md` to standard output. Needs root; takes about an hour.
//! Parts by name: `geo` (or `geo-clean`, `geo-grid-30`, ...), `recovery` (or `recovery-each`,
//! `recovery-collected-policer`, ...), `agreement`.
//!
//! `cargo build --release -p firstflight-lab --features linux --example linux && sudo
//! target/release/examples/linux > docs/linux-results.md`

use firstflight_lab::compare::Keep;
use firstflight_lab::table::change;
use firstflight_lab::testbed::{linux, sim};
use firstflight_lab::{Error, Plan, Scenario, Testbed, TrialRow, hosts_of_tcp, parse_arms};
use firstflight_path::Path;
use std::fs;

/// Trials per cell: medians are shown.
const REPEAT: u32 = 3;
/// Linux receivers since 4.18 collect up to 44 ACKs for up to a millisecond while there are holes.
/// Off: an ACK per packet, as before and as in the simulator.
const ACK_EVERY_HOLE: &[(&str, &str)] = &[("net/ipv4/tcp_comp_sack_nr", "0")];
/// As Linux does by default.
const COLLECTED: &[(&str, &str)] = &[];
/// Payload of a packet, bytes.
const MSS: f64 = 1448.0;

/// An arm of the kernel, and what it is in the simulator: the kernel's CUBIC, and no second cut
/// when a repeat is lost.
type Pair = (&'static str, &'static str);
const HYSTART_ON: Pair = ("kernel:cubic", "hystart/cubic(profile=linux)/prr(mode=linux)");
const HYSTART_OFF: Pair =
    ("kernel:cubic(hystart=off)", "slowstart/cubic(profile=linux)/prr(mode=linux)");
const STARTUPS: [Pair; 7] = [
    HYSTART_ON,
    HYSTART_OFF,
    ("hystart++", "hystart++/cubic(profile=linux)/prr(mode=linux)"),
    ("best", "best/cubic(profile=linux)/prr(mode=linux)"),
    ("best-published", "best-published/cubic(profile=linux)/prr(mode=linux)"),
    ("search", "search/cubic(profile=linux)/prr(mode=linux)"),
    // The kernel paces in trains of about a millisecond.
    ("rapid", "rapid/cubic(profile=linux)/prr(lost=ignore)@(pace=on,burst=20)"),
];
/// With the simulator's own pacer.
const RAPID: Pair = ("rapid", "rapid/cubic(profile=linux)/prr(lost=ignore)@(pace=on)");
const RECOVERIES: [Pair; 6] = [
    ("slowstart/cubic/halving", "slowstart/cubic(profile=linux)/halving@(pace=on)"),
    ("slowstart/cubic/sack", "slowstart/cubic(profile=linux)/sack(lost=ignore)@(pace=on)"),
    ("slowstart/cubic/prr", "slowstart/cubic(profile=linux)/prr(lost=ignore)@(pace=on)"),
    (
        "slowstart/cubic/prr(mode=crb)",
        "slowstart/cubic(profile=linux)/prr(mode=crb,lost=ignore)@(pace=on)",
    ),
    (
        "slowstart/cubic/prr(mode=ssrb)",
        "slowstart/cubic(profile=linux)/prr(mode=ssrb,lost=ignore)@(pace=on)",
    ),
    (
        "slowstart/cubic/prr(mode=ub)",
        "slowstart/cubic(profile=linux)/prr(mode=ub,lost=ignore)@(pace=on)",
    ),
];

/// Rows by arm, in the order of the arms.
fn trials(
    testbed: &'static dyn Testbed,
    (path, bytes): (&str, u64),
    receiver: &[(&str, &str)],
    arms: &[&str],
    repeat: u32,
) -> Result<Vec<Vec<TrialRow>>, Error> {
    eprintln!("{} {path}, {} MB", testbed.info().name, bytes as f64 / 1e6);
    let in_kernel = testbed.info().kernel_receiver;
    let settings = receiver
        .iter()
        .filter(|_| in_kernel)
        .map(|&(name, value)| (name.to_owned(), value.to_owned()));
    let plain = Scenario::new(Path::parse(path)?, bytes);
    let scenario = Scenario { host: hosts_of_tcp("rack")?, receiver: settings.collect(), ..plain };
    let plan = Plan { testbed, repeat, ..Plan::new(parse_arms(&arms.join(","))?, scenario) };
    let comparison = plan.run(Keep::Rows, &|| {})?;
    for warning in comparison.warnings.iter().filter(|_| in_kernel) {
        eprintln!("  {warning}");
    }
    Ok(comparison.rows.chunks(repeat as usize).map(<[TrialRow]>::to_vec).collect())
}

fn kernel(pairs: &[Pair]) -> Vec<&'static str> {
    pairs.iter().map(|pair| pair.0).collect()
}

fn simulated(pairs: &[Pair]) -> Vec<&'static str> {
    pairs.iter().map(|pair| pair.1).collect()
}

fn median(rows: &[TrialRow], of: impl Fn(&TrialRow) -> Option<f64>) -> f64 {
    let mut values: Vec<f64> = rows.iter().filter_map(of).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn extremes(rows: &[TrialRow], of: impl Fn(&TrialRow) -> Option<f64>) -> (f64, f64) {
    rows.iter().filter_map(of).fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
        (least.min(value), most.max(value))
    })
}

/// Reasons, and the median window in BDP.
fn exit(rows: &[TrialRow]) -> String {
    let mut reasons: Vec<&str> =
        rows.iter().filter_map(|row| row.exit.as_ref().map(|exit| exit.reason)).collect();
    reasons.sort_unstable();
    reasons.dedup();
    if reasons.is_empty() {
        return "none".into();
    }
    format!(
        "{} {:.2}",
        reasons.join(" or "),
        median(rows, |row| row.exit.as_ref().map(|exit| exit.bdp_ratio))
    )
}

fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole * 100.0 } else { 0.0 }
}

/// Difference of `b` from `a` in percent, bold above 10 %.
fn off(a: f64, b: f64) -> String {
    let off = (b / a - 1.0) * 100.0;
    let bold = if off.abs() > 10.0 { "**" } else { "" };
    format!("{bold}{} %{bold}", change(off))
}

fn load() -> String {
    fs::read_to_string("/proc/loadavg")
        .unwrap_or_default()
        .split_whitespace()
        .next()
        .unwrap_or("?")
        .to_owned()
}

fn geo(wanted: &dyn Fn(&str) -> bool) -> Result<(), Error> {
    println!("\n## Downloads over a geostationary satellite\n");
    println!(
        "150 Mbit/s, 600 ms, a queue of one BDP. *Clean*: ACKs return undelayed. *Grid*: the return path of a satellite terminal with frames of 40 ms and capacity\n\
         granted on use (`return=geo_cold`). Cells show seconds until the last byte was delivered, median of {REPEAT} (extremes), and the exit with its window in BDP."
    );
    for (name, path) in [("clean", "geo"), ("grid", "geo,return=geo_cold")] {
        for megabytes in [1_u64, 5, 30] {
            if wanted(&format!("geo-{name}-{megabytes}")) {
                download(name, path, megabytes)?;
            }
        }
    }
    Ok(())
}

fn download(name: &str, path: &str, megabytes: u64) -> Result<(), Error> {
    let rows =
        trials(&linux::BED, (path, megabytes * 1_000_000), COLLECTED, &kernel(&STARTUPS), REPEAT)?;
    let model =
        trials(&sim::BED, (path, megabytes * 1_000_000), COLLECTED, &simulated(&STARTUPS), REPEAT)?;
    println!("\n### {name}, {megabytes} MB (load of the machine afterwards: {})\n", load());
    println!(
        "| arm | seconds | exit | lost, % | simulator, s | exit there | kernel to simulator |\n|---|---:|---|---:|---:|---|---:|"
    );
    let seconds = |row: &TrialRow| row.ttlb_ms.map(|ms| ms / 1e3);
    for ((pair, rows), model) in STARTUPS.iter().zip(&rows).zip(&model) {
        let (least, most) = extremes(rows, seconds);
        println!(
            "| `{}` | {:.2} ({least:.2} to {most:.2}) | {} | {:.2} | {:.2} | {} | {} |",
            pair.0,
            median(rows, seconds),
            exit(rows),
            median(rows, |row| row.loss_ratio.map(|ratio| ratio * 100.0)),
            median(model, seconds),
            exit(model),
            off(median(model, seconds), median(rows, seconds)),
        );
    }
    let against_off = |arm: &str| {
        let of = |arm: &str| {
            STARTUPS
                .iter()
                .position(|pair| pair.0 == arm)
                .map_or(f64::NAN, |i| median(&rows[i], seconds))
        };
        (of(arm) / of(HYSTART_OFF.0) - 1.0) * 100.0
    };
    println!(
        "\nCompared with HyStart off: BEST {} %, HyStart on {} %.",
        change(against_off("best")),
        change(against_off(HYSTART_ON.0))
    );
    Ok(())
}

/// Name, path, object, what it is.
const LOSSY: [(&str, &str, u64, &str); 5] = [
    (
        "bursts",
        "rate=10Mbit,rtt=100ms,queue=100ms,ge=0.5%:6:70%",
        2_300_000,
        "losses in bursts (Gilbert-Elliott), a full BDP of queue",
    ),
    (
        "slow",
        "rate=4Mbit,rtt=220ms,queue=150ms,ge=0.3%:6:70%",
        2_300_000,
        "the same on a slow, long path with a shallow queue",
    ),
    (
        "policer",
        "rate=20Mbit,rtt=100ms,policer=6Mbit:50ms",
        5_000_000,
        "a policer at 6 Mbit/s with a bucket of 50 ms",
    ),
    ("both", "rate=10Mbit,rtt=220ms,ge=0.3%:6:70%,policer=5Mbit:100ms", 2_300_000, "both"),
    (
        "control",
        "rate=10Mbit,rtt=100ms,queue=unlimited,loss=1%",
        2_300_000,
        "independent loss, no queue to overflow: the control, where nothing should show",
    ),
];
const SEEDS: u32 = 5;

fn recovery(wanted: &dyn Fn(&str) -> bool) -> Result<(), Error> {
    println!("\n## Recoveries under bursts of loss and policers\n");
    println!(
        "The experiment of RFC 6937 section 5 and the kernel's change of 2015, on kernel TCP: the same connections with rate halving, RFC 6675 and the\n\
         bounds of PRR, {SEEDS} seeds each, counts pooled. *Retransmitted*: share of data packets. *Lost again*: retransmissions that the kernel found lost\n\
         (`TCPLostRetransmit`). *Slow start after*: recoveries that ended with the window below ssthresh. Receivers acknowledge every packet behind a\n\
         hole (`tcp_comp_sack_nr=0`), as in 2011, or compress SACKs, as Linux does since 4.18."
    );
    let arms: Vec<&str> = kernel(&RECOVERIES).into_iter().chain([HYSTART_OFF.0]).collect();
    let receivers = [
        ("each", ACK_EVERY_HOLE, "an ACK per packet"),
        ("collected", COLLECTED, "ACKs collected (the default of Linux)"),
    ];
    for (receiver, settings, who) in receivers {
        for (name, path, bytes, what) in
            LOSSY.into_iter().take(if settings.is_empty() { 3 } else { LOSSY.len() })
        {
            if !wanted(&format!("recovery-{receiver}-{name}")) {
                continue;
            }
            let rows = trials(&linux::BED, (path, bytes), settings, &arms, SEEDS)?;
            println!(
                "\n### {what}: `{path}`, {:.1} MB; {who} (load {})\n",
                bytes as f64 / 1e6,
                load()
            );
            println!(
                "| arm | retransmitted, % | lost again, % | slow start after, % | timeouts | seconds, median |\n|---|---:|---:|---:|---:|---:|"
            );
            for (arm, rows) in arms.iter().zip(&rows) {
                let sum = |of: fn(&TrialRow) -> Option<u64>| {
                    rows.iter().filter_map(of).sum::<u64>() as f64
                };
                let again = sum(|row| row.retransmitted_bytes) / MSS;
                println!(
                    "| `{arm}` | {:.2} | {:.2} | {:.0} | {} | {:.2} |",
                    percent(again, sum(|row| row.packets_sent)),
                    percent(sum(|row| row.lost_retransmissions), again),
                    percent(sum(|row| row.slow_starts_after_recovery), sum(|row| row.recoveries)),
                    sum(|row| row.rtos),
                    median(rows, |row| row.ttlb_ms.map(|ms| ms / 1e3)),
                );
            }
        }
    }
    Ok(())
}

const AGREEMENT: [(&str, u64); 4] = [
    ("rate=100Mbit,rtt=30ms,queue=30ms", 10_000_000),
    ("rate=100Mbit,rtt=60ms,queue=15ms", 10_000_000),
    ("rate=20Mbit,rtt=100ms,queue=100ms", 5_000_000),
    ("rate=50Mbit,rtt=40ms,queue=40ms,loss=0.1%", 5_000_000),
];

fn agreement(_wanted: &dyn Fn(&str) -> bool) -> Result<(), Error> {
    println!("\n## Agreement with the simulator\n");
    println!(
        "The same path, object and seeds in kernel TCP (median of {REPEAT}) and in the simulator's TCP, with the kernel's CUBIC and its rule for lost\n\
         retransmissions. Both acknowledge every packet behind holes. *Read*: until the last byte was read in order. Differences above 10 % are bold."
    );
    let pairs: Vec<Pair> = STARTUPS
        .into_iter()
        .filter(|pair| pair.0 != RAPID.0)
        .chain([RAPID])
        .chain(RECOVERIES)
        .collect();
    for (path, bytes) in AGREEMENT {
        beside_the_simulator(&pairs, (path, bytes))?;
    }
    Ok(())
}

/// A table of one path.
fn beside_the_simulator(pairs: &[Pair], (path, bytes): (&str, u64)) -> Result<(), Error> {
    let rows = trials(&linux::BED, (path, bytes), ACK_EVERY_HOLE, &kernel(pairs), REPEAT)?;
    let model = trials(&sim::BED, (path, bytes), ACK_EVERY_HOLE, &simulated(pairs), REPEAT)?;
    println!("\n### `{path}`, {} MB (load {})\n", bytes / 1_000_000, load());
    println!(
        "| arm | read, kernel ms | simulator | | lost, kernel % | simulator | exit, kernel | simulator |\n|---|---:|---:|---:|---:|---:|---|---|"
    );
    for ((pair, rows), model) in pairs.iter().zip(&rows).zip(&model) {
        let (real, simulated) = (median(rows, |row| row.ttlb_ms), median(model, |row| row.ttlb_ms));
        let lost =
            |rows: &[TrialRow]| median(rows, |row| row.loss_ratio.map(|ratio| ratio * 100.0));
        println!(
            "| `{}` | {real:.0} | {simulated:.0} | {} | {:.2} | {:.2} | {} | {} |",
            pair.0,
            off(simulated, real),
            lost(rows),
            lost(model),
            exit(rows),
            exit(model),
        );
    }
    Ok(())
}

type Part = fn(&dyn Fn(&str) -> bool) -> Result<(), Error>;

fn main() -> Result<(), Error> {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    // `a-b-c` is a part of `a-b`, and that of `a`.
    let within = |part: &str, whole: &str| {
        part.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let part = |name: &str| asked.is_empty() || asked.iter().any(|asked| within(asked, name));
    let wanted = |name: &str| asked.is_empty() || asked.iter().any(|asked| within(name, asked));
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let version = release.split('-').next().unwrap_or_default().trim();
    println!("# Results in kernel TCP\n");
    println!(
        "The example `linux` of `firstflight-lab` measured these results on Linux {version}: our controllers in BPF and the kernel's own, behind an"
    );
    println!("emulated link in real time. [How to read and repeat it](linux.md).");
    let parts: [(&str, Part); 3] = [("geo", geo), ("recovery", recovery), ("agreement", agreement)];
    parts.into_iter().filter(|(name, _)| part(name)).try_for_each(|(_, run)| run(&wanted))
}
