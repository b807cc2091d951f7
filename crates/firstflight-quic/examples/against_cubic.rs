//! Arms of firstflight beside the CUBIC that quinn and noq bring, in virtual time, in one run.
//!
//! `cargo run --release -p firstflight-quic --features rig,quinn --example against_cubic [PATH] [BYTES]`

use firstflight::Nanos;
use firstflight_path::Path;
use firstflight_quic::Plan;
use firstflight_quic::rig::{Control, Setup, run};
use std::error::Error;

const ARMS: [&str; 8] = [
    "slowstart/cubic/immediate",
    "slowstart/cubic/prr",
    "hystart++/cubic/prr",
    "best/cubic/prr",
    "search/cubic/prr",
    "rapid(jump=off)",
    "rapid",
    "slowstart/reno/immediate",
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let path = Path::parse(&words.next().unwrap_or("rate=100Mbit,rtt=30ms,queue=30ms".into()))?;
    let object = words.next().map_or(Ok(10_000_000), |bytes| bytes.parse())?;
    println!("{object} bytes on {path}");
    let arms = ARMS.iter().map(|arm| Plan::parse(arm).map(|plan| (*arm, plan))).collect::<Result<Vec<_>, _>>()?;
    let quinn = arms.iter().map(|(arm, plan)| (format!("quinn {arm}"), Control::Quinn(*plan)));
    let noq = arms.iter().map(|(arm, plan)| (format!("noq   {arm}"), Control::Noq(*plan)));
    let own = [("quinn its own CUBIC".into(), Control::QuinnCubic), ("noq   its own CUBIC".into(), Control::NoqCubic)];
    println!("{:40} {:>10} {:>10} {:>8} {:>8} {:>12}", "", "TTLB ms", "read ms", "sent", "dropped", "exit");
    for (name, control) in own.into_iter().chain(quinn).chain(noq) {
        let setup =
            Setup { path: &path, control, datagram: 1472, ack_packet: 64, object, limit: Nanos::from_secs(600), seed: 1, path_index: 0 };
        match run(&setup, None) {
            Ok(outcome) => println!(
                "{name:40} {:10.1} {:10.1} {:8} {:8} {:>12}",
                outcome.ttlb.0 as f64 / 1e6,
                outcome.delivered_after.map_or(f64::NAN, |after| after.0 as f64 / 1e6),
                outcome.packets_sent,
                outcome.packets_dropped,
                outcome.exit.map_or("-", |exit| exit.reason.name()),
            ),
            Err(fault) => println!("{name:40} {fault}"),
        }
    }
    Ok(())
}
