//! One trial without the lab: an arm on a path, and the speed of the simulator.
//!
//! `cargo run --release -p firstflight-sim --example one_trial -- rapid-slide rapid 10000000 200`

use firstflight::{Arm, Config, Nanos, Seq, Time};
use firstflight_path::Path;
use firstflight_sim::quic::Host;
use firstflight_sim::{Setup, run};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [path, arm, bytes, times] = words.as_slice() else {
        return Err("usage: one_trial PATH ARM BYTES TIMES".into());
    };
    let path = Path::parse(path)?;
    let arm = Arm::parse(arm).map_err(|error| error.to_string())?;
    let (object, times): (u64, u32) = (bytes.parse()?, times.parse()?);
    let host = Host::default();
    let mss = u64::from(host.datagram);
    let setup = Setup {
        path: &path,
        host: host.into(),
        pacer_burst: 2 * mss,
        object,
        limit: Nanos::from_secs(600),
        seed: 1,
        path_index: 0,
    };
    let start = Instant::now();
    let mut packets = 0;
    for _ in 0..times {
        let controller =
            arm.with_oracle(path.bdp_bytes()).controller(Config::quic(mss), Time(0), Seq(0));
        let outcome = run(&setup, controller, None)?;
        packets += outcome.counters.packets_sent;
        std::hint::black_box(outcome);
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{arm} on {path}: {packets} data packets in {seconds:.3} s, {:.2} million a second",
        packets as f64 / seconds / 1e6
    );
    Ok(())
}
