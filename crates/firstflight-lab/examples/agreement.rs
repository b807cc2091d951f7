//! Agreement of the simulator, a real QUIC stack in virtual time and the same stack over real sockets
//! agree: writes `docs/agreement.md` to standard output.
//!
//! `cargo run --release -p firstflight-lab --features quic --example agreement -- --real 7 >
//! docs/agreement.md`
//!
//! Without `--real` nothing is measured in real time, and everything but the last table is the same
//! on every machine.

#[path = "agreement/real.rs"]
mod real;

use firstflight_lab::compare::Keep;
use firstflight_lab::table::change;
use firstflight_lab::testbed::{quic, sim};
use firstflight_lab::{Error, Plan, Scenario, Testbed, TrialRow, parse_arms};
use firstflight_path::Path;

/// Path, object in bytes, what it is for.
const GROUNDS: [(&str, u64, &str); 5] = [
    ("rate=100Mbit,rtt=30ms,queue=30ms", 10_000_000, "Queue of one BDP"),
    ("rate=100Mbit,rtt=60ms,queue=15ms", 10_000_000, "Queue of 0.25 BDP"),
    ("rate=20Mbit,rtt=100ms,queue=100ms", 10_000_000, "Lower rate, longer RTT"),
    ("rate=100Mbit,rtt=600ms,queue=600ms", 60_000_000, "Geostationary satellite"),
    ("rate=100Mbit,rtt=30ms,queue=30ms,loss=0.1%", 10_000_000, "Random loss"),
];

const ARMS: &str = "oracle,slowstart,slowstart/reno/immediate,slowstart-unpaced,hystart,hystart++,search,best,rapid-nojump,rapid,jumpstart";

/// The least depth of noq's bucket, in packets.
const BUCKET: u32 = 10;

const INTRODUCTION: &str = "\
# Agreement of the testbeds

Each table compares the simulator (`sim`) with a real QUIC stack in virtual time (`quic`, also deterministic): same path
model, core, seed and datagram size. Both start with 10 packets and acknowledge every second packet. *Read* is the time
until the receiver has read the last byte in order; *acked* is the time until the sender knows it. Exit cells give the
reason, the time and the window in BDPs. Differences above 5 % are bold and explained at the end.

Known differences between the two:

* **Pacer burst.** Our pacer's bucket holds 2 packets. noq's holds 2 ms of the pacing rate (10 to 256 packets, at most
  10 ms), and a controller cannot change it. After each pause noq sends a burst of that size, so the queue overflows
  slightly earlier and RTT samples scatter more. `sim 10` is the simulator with a bucket of 10 packets: where it moves
  towards `quic`, the bucket is the reason. At an RTT of 600 ms, noq's bucket holds only one packet during the first
  window, so exits come about 80 ms later.
* **HyStart++ loses more on noq**, because of the bucket. Of 3 MB on `rapid-slide`, noq loses 14.0 %, the simulator
  5.7 %, and the simulator with `hystart++@(burst=10)` 13.9 %. Bursts in the first window shift all later rounds, and
  HyStart++ uses the minimum RTT of each round, which its first packets determine. With a bucket of 2 packets, a round
  starts with 7.4 ms of queue, above the threshold of 4 ms, and growth slows at 1.95 BDP. With 10 packets, that round
  starts with 1.8 ms, and growth slows one round later, at 2.8 BDP. HyStart uses every RTT sample and loses 3.3 % on noq
  and 4.6 % in the simulator.
* **Start of the jump.** No stack reports how much data is waiting, so the adapter jumps when half of the initial window
  is in flight. The simulator jumps with the first packet.
* **Last ACK.** An odd last packet is acknowledged after the receiver's ACK delay of 25 ms, so *acked* can jump by
  25 ms. Compare *read* for the effect of the path.
* **Receiver merging** (`gro=`). On `quic`, the datagrams of a batch share one ACK; in the simulator, each is handled as
  it arrives.
* **Spurious losses.** noq forgets lost packets after two probe timeouts, and reports a spurious loss only once every
  packet it still remembers has arrived.

`cargo run --release -p firstflight-lab --features quic --example agreement -- --real 7 > docs/agreement.md` regenerates
this page; without `--real` it omits the table of real sockets.
";

const REASONS: &str = "
## Differences above 5 %

* `hystart` at 600 ms. The ACK train must last half of the minimum RTT, and pacing at twice the window per RTT makes
  trains of exactly that length. A tiny difference therefore decides between an exit in round 10 and in round 11.
";

struct Cells {
    acked: f64,
    read: f64,
    lost: u64,
    exit: String,
}

fn cells(row: &TrialRow) -> Cells {
    Cells {
        acked: row.acked_ms.unwrap_or(f64::NAN),
        read: row.ttlb_ms.unwrap_or(f64::NAN),
        lost: row.packets_lost.unwrap_or_default(),
        exit: row.exit.as_ref().map_or("none".into(), |exit| {
            format!("{} {:.0} ms {:.2}", exit.reason, exit.time_ms, exit.bdp_ratio)
        }),
    }
}

fn trials(
    path: &str,
    bytes: u64,
    testbed: &'static dyn Testbed,
    burst: u32,
) -> Result<Vec<TrialRow>, Error> {
    let scenario = Scenario { burst, ..Scenario::new(Path::parse(path)?, bytes) };
    Ok(Plan { testbed, ..Plan::new(parse_arms(ARMS)?, scenario) }.run(Keep::Rows, &|| {})?.rows)
}

/// Difference of `b` from `a` in percent, bold above 5 %.
fn off(a: f64, b: f64) -> String {
    let percent = (b / a - 1.0) * 100.0;
    let bold = if percent.abs() > 5.0 { "**" } else { "" };
    format!("{bold}{} %{bold}", change(percent))
}

fn main() -> Result<(), Error> {
    print!("{INTRODUCTION}");
    for (path, bytes, what) in GROUNDS {
        println!("\n## {what}: `{path}`, {} MB\n", bytes / 1_000_000);
        println!(
            "| arm | acked sim, ms | sim 10 | quic | quic to sim | read sim, ms | quic | quic to sim | lost sim | sim 10 | quic | exit sim | sim 10 | quic |"
        );
        println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|---|---|");
        let ours = Scenario::new(Path::parse(path)?, bytes).burst;
        let columns: [(&'static dyn Testbed, u32); 3] =
            [(&sim::BED, ours), (&sim::BED, BUCKET), (&quic::BED, ours)];
        let columns = columns.map(|(testbed, burst)| trials(path, bytes, testbed, burst));
        let [sim, bucket, quic] = columns;
        for ((sim, bucket), quic) in sim?.iter().zip(&bucket?).zip(&quic?) {
            let name = &sim.arm;
            let (sim, bucket, quic) = (cells(sim), cells(bucket), cells(quic));
            println!(
                "| `{name}` | {:.1} | {:.1} | {:.1} | {} | {:.1} | {:.1} | {} | {} | {} | {} | {} | {} | {} |",
                sim.acked,
                bucket.acked,
                quic.acked,
                off(sim.acked, quic.acked),
                sim.read,
                quic.read,
                off(sim.read, quic.read),
                sim.lost,
                bucket.lost,
                quic.lost,
                sim.exit,
                bucket.exit,
                quic.exit
            );
        }
    }
    print!("{REASONS}");
    let mut words = std::env::args().skip(1);
    match (words.next().as_deref(), words.next().map(|count| count.parse())) {
        (None, _) => Ok(()),
        (Some("--real"), Some(Ok(count @ 1..=100))) => real::table(count),
        _ => Err(Error::new("allowed: nothing, or `--real N`, N from 1 to 100")),
    }
}
