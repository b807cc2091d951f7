//! How far the simulator, a real QUIC stack in virtual time and the same stack over real sockets
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
use firstflight_lab::testbed::{quic, sim};
use firstflight_lab::{Error, Plan, Scenario, Testbed, TrialRow, parse_arms};
use firstflight_path::Path;

/// Path, object in bytes, what it is for.
const GROUNDS: [(&str, u64, &str); 5] = [
    ("rate=100Mbit,rtt=30ms,queue=30ms", 10_000_000, "a full BDP of queue"),
    ("rate=100Mbit,rtt=60ms,queue=15ms", 10_000_000, "a quarter of a BDP"),
    ("rate=20Mbit,rtt=100ms,queue=100ms", 10_000_000, "slower and further away"),
    ("rate=100Mbit,rtt=600ms,queue=600ms", 60_000_000, "a geostationary satellite"),
    ("rate=100Mbit,rtt=30ms,queue=30ms,loss=0.1%", 10_000_000, "random loss"),
];

const ARMS: &str = "oracle,slowstart,slowstart/reno/immediate,slowstart-unpaced,hystart,hystart++,search,best,rapid-nojump,rapid,jumpstart";

/// The least depth of noq's bucket, in packets.
const BUCKET: u32 = 10;

const INTRODUCTION: &str = "\
# Agreement of the testbeds

Written by `cargo run --release -p firstflight-lab --features quic --example agreement -- --real 7 > docs/agreement.md`; without `--real`
the table of real sockets is left out.

The same path state machine, the same core, the same seed, once under the simulator's endpoints (`sim`) and once under a real QUIC stack
in virtual time (`quic`, deterministic like the simulator). Both send datagrams of 1472 bytes, start with 10 packets and a handshake RTT
sample, and acknowledge every second packet. *Read* is the time until the last byte was read in order at the receiver, *acked* the time
until it was acknowledged at the sender. Exits: reason, time, window in BDP.

What still differs, and where it shows:

* **The pacer's bucket.** Ours holds 2 packets. noq's holds 2 ms of the pacing rate, 10 to 256 packets but at most 10 ms of it, and cannot
  be set by a controller. After each pause a burst of that size leaves at once, the queue overflows a little earlier, and RTT samples
  scatter more: HyStart++ and Rapid Start see another queue. `sim 10` is the simulator with a bucket of 10 packets: where it moves
  towards `quic`, the bucket was the reason. On 600 ms the first windows are so slow that noq's bucket is a single packet: each packet of
  the first window leaves 30 ms after the one before, also the second, and every exit is some 80 ms later (the simulator with
  `@(burst=1)`: 78 ms).
* **HyStart++ loses more on noq** for the same reason: 14.0 % of 3 MB on `rapid-slide`, where the simulator loses 5.7 %, and 13.9 % with
  `hystart++@(burst=10)`. The bursts of the first window move the ends of all later rounds. HyStart++ looks at the smallest RTT of a round,
  which comes from its first packets. With a bucket of 2 packets a round begins at 200 ms, when the queue is 7.4 ms deep: above the threshold of
  4 ms, and growth slows down at a window of 1.95 BDP. With 10 packets it begins at 184 ms with 1.8 ms of queue, and growth slows down
  a round later, at 2.8 BDP. HyStart, which looks at every RTT, loses 3.3 % and 4.6 %.
* **The jump's take-off.** No stack says how much is waiting to be sent, so the adapter jumps when half of the initial window is in
  flight; the simulator knows, and jumps with the first packet.
* **The last ACK.** If the number of packets is odd at the end, the last one waits out the receiver's 25 ms of ACK delay. A few packets
  more or less lost on the way decide it, so *acked* jumps by 25 ms where *read* does not. Compare *read* for what the path did.
* **Headers.** The simulator takes 36 bytes of each datagram for header, frame header and tag; noq's take 34 on average: 10 MB without
  loss are 6964 packets there and 6952 here.
* **Losses are found** by the same rules (3 packets, 9/8 RTT), but noq skips a packet number now and then, at which the receiver
  acknowledges at once.
* **Merging at the receiver** (`gro=`). On `quic` the datagrams of a batch reach the stack together and are acknowledged by one ACK, a single
  one with the next. The simulator's receiver takes each as it comes, holds the ACK back instead, and acknowledges a single one as well.
* **False alarms.** noq forgets lost packets after two probe timeouts and reports a false alarm when all that it remembers came back.

Differences above 5 % are set in bold; their reasons stand at the end.
";

const REASONS: &str = "
## Above 5 %

* `hystart` on 600 ms. Its ACK train must last half a minimum RTT, and pacing at twice the window per RTT makes trains of just that
  length: whether round 10 or round 11 of startup passes is decided on a knife's edge. Over `rtt=` of 580 to 650 ms the simulator exits
  in round 10 up to 610 ms and in round 11 from 620 ms on, the real stack in round 10 up to 580 ms and in round 11 from 590 ms on. Both
  show the same two outcomes with the same windows; they differ in where the edge lies.
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

/// How far `b` is from `a`, in bold above 5 %.
fn off(a: f64, b: f64) -> String {
    let percent = (b / a - 1.0) * 100.0;
    if percent.abs() > 5.0 { format!("**{percent:+.1} %**") } else { format!("{percent:+.1} %") }
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
