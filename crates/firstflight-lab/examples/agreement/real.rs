//! The table of real sockets: every arm several times over, in turn, so that a busy minute does not
//! fall on one arm.

use super::{ARMS, cells, off, trials};
use firstflight_lab::compare::Keep;
use firstflight_lab::testbed::{quic, quic_real, sim};
use firstflight_lab::{Comparison, Error, Plan, Scenario, parse_arms};
use firstflight_path::Path;

const PATH: &str = "rate=100Mbit,rtt=30ms,queue=30ms";
const BYTES: u64 = 10_000_000;

const INTRODUCTION: &str = "
`firstflight compare --on quic --real`: HTTP/3 from a noq server to a client over loopback sockets and the relay
(`link --udp`), in real time. Each cell shows the median and the range. The rig (`quic` above) is the same stack without
sockets, so any difference comes from the machine. A trial in which the relay forwarded packets late is repeated.

A late timer makes the pacer send a millisecond's worth of packets at once. *Acked* stays the same, but algorithms that
read ACK spacing react: HyStart's train and delay triggers swap order, and HyStart++ enters CSS in a different round. In
virtual time BEST sees only its own pacer and never exits on its estimate; here it sometimes measures the bottleneck
within a burst and exits without loss.
";

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("unknown").to_owned()
}

/// Prints the table of `count` trials each.
pub(crate) fn table(count: usize) -> Result<(), Error> {
    let burst = Scenario::new(Path::parse(PATH)?, BYTES).burst;
    let sim = trials(PATH, BYTES, &sim::BED, burst)?;
    let rig = trials(PATH, BYTES, &quic::BED, burst)?;
    let before = load();
    let scenario = Scenario::new(Path::parse(PATH)?, BYTES);
    let plan = Plan { testbed: &quic_real::BED, ..Plan::new(parse_arms(ARMS)?, scenario) };
    let real: Vec<Comparison> =
        (0..count).map(|_| plan.run(Keep::Rows, &|| {})).collect::<Result<_, Error>>()?;
    // A doubt names its trial.
    let doubts = real
        .iter()
        .flat_map(|comparison| &comparison.warnings)
        .filter(|warning| warning.contains(", seed 1: "))
        .count();
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    println!("\n## Real sockets: `{PATH}`, {} MB\n{INTRODUCTION}", BYTES / 1_000_000);
    println!(
        "{count} trials per arm on {processors} processors, load average {before} before and {} after; the relay raised {doubts} warnings.\n",
        load()
    );
    println!(
        "| arm | acked sim, ms | rig | real | real to rig | read rig, ms | real | real to rig | lost rig | real | exit rig | real |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|---|");
    for (index, (sim, rig)) in sim.iter().zip(&rig).enumerate() {
        let arm = &sim.arm;
        let real: Vec<_> = real.iter().map(|comparison| cells(&comparison.rows[index])).collect();
        let of = |value: fn(&super::Cells) -> f64| real.iter().map(value).collect::<Vec<f64>>();
        let (acked, read, lost) =
            (of(|cells| cells.acked), of(|cells| cells.read), of(|cells| cells.lost as f64));
        let (least, most) = acked.iter().fold((f64::MAX, f64::MIN), |(least, most), acked| {
            (least.min(*acked), most.max(*acked))
        });
        // The exit of the trial that is the median.
        let middle = median(acked.clone());
        let exit = real
            .iter()
            .find(|cells| cells.acked.total_cmp(&middle).is_eq())
            .map_or("", |cells| &cells.exit);
        let (sim, rig) = (cells(sim), cells(rig));
        println!(
            "| `{arm}` | {:.1} | {:.1} | {middle:.1} ({least:.1}..{most:.1}) | {} | {:.1} | {:.1} | {} | {} | {:.0} | {} | {exit} |",
            sim.acked,
            rig.acked,
            off(rig.acked, middle),
            rig.read,
            median(read.clone()),
            off(rig.read, median(read)),
            rig.lost,
            median(lost),
            rig.exit,
        );
    }
    Ok(())
}
