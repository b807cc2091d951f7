use firstflight::arm::Arm;
use firstflight::controller::Config;
use firstflight::{Nanos, Seq, Time};
use firstflight_path::Path;
use firstflight_sim::quic::Host;
use firstflight_sim::{Nobody, Setup, run};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let path = Path::parse(&args[1]).unwrap();
    let object: u64 = args[3].parse().unwrap();
    let reps: u32 = args.get(4).map_or(1, |s| s.parse().unwrap());
    for arm in Arm::parse_list(&args[2]) {
        let arm = arm.unwrap();
        let host = Host::default();
        let oracle = path.bdp_bytes() * 1472 / 1500 + 4 * 1472;
        let t = std::time::Instant::now();
        let mut out = None;
        let mut pk = 0;
        for i in 0..reps {
            let setup = Setup {
                path: &path,
                host: host.into(),
                pacer_burst: 2 * 1472,
                object,
                limit: Nanos::from_secs(600),
                seed: 1 + i as u64,
                path_index: 0,
            };
            let c = arm.controller(Config::quic(1472), oracle, Time(0), Seq(0));
            let o = run(&setup, c, &mut Nobody).unwrap();
            pk += o.packets_sent;
            out = Some(o);
        }
        let el = t.elapsed();
        let o = out.unwrap();
        println!(
            "{arm}: ttlb {:.1} ms goodput {:.1} sent {} lost {} rtx {} rtos {} spur {} exit {:?} q99 {} us {:.2} Mpkt/s",
            o.ttlb.0 as f64 / 1e6,
            object as f64 * 8e3 / o.delivered_after.map_or(0, |d| d.0) as f64,
            o.packets_sent,
            o.packets_lost,
            o.retransmitted_bytes,
            o.rtos,
            o.spurious_losses,
            o.exit.map(|e| (e.reason, e.since_first_send.0 / 1000, e.detect_cwnd, e.cwnd)),
            o.queue_us.value_at_quantile(0.99),
            pk as f64 / el.as_secs_f64() / 1e6
        );
        for e in o.episodes.iter().take(6) {
            println!(
                "   ep {:.1}-{:.1} before {} inflight {} acked {} lost {} silence {:?} after {} repaired {:?}",
                e.start.0 as f64 / 1e6,
                e.end.map_or(0.0, |t| t.0 as f64 / 1e6),
                e.cwnd_before,
                e.inflight,
                e.acked,
                e.lost,
                e.silence.0 / 1000,
                e.cwnd_after,
                e.repaired.map(|r| (r.0 - e.start.0) / 1000)
            );
        }
    }
}
