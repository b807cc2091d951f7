//! Idle time that CUBIC counts from the last send, after heavy loss that ends (`loss_until=`).

use crate::hosts::{controller, path};
use firstflight::Nanos;
use firstflight_sim::{Hosts, Outcome, Setup, quic, run};

const SECOND: u64 = 1_000_000_000;

fn download(arm: &str, seed: u64) -> Outcome {
    let path = path("rate=1Gbit,rtt=10ms,queue=1bdp,loss=30%,loss_until=2s");
    let host: Hosts = quic::Host::default().into();
    let setup = Setup {
        path: &path,
        host,
        pacer_burst: 2 * host.mss(),
        object: 10_000_000,
        limit: Nanos::from_secs(30),
        seed,
        path_index: 0,
    };
    run(&setup, controller(arm, host, Nanos::ZERO), None).expect("the path carries the packets")
}

/// Shows QUICHE idle-sent.
#[test]
fn after_heavy_loss_a_window_of_two_packets_is_stuck_where_idle_time_counts_from_the_last_send() {
    let stuck = |arm: &str| {
        let outcomes: Vec<Outcome> = (1..=40).map(|seed| download(arm, seed)).collect();
        let late = |outcome: &&Outcome| outcome.delivered_after.is_none_or(|at| at.0 > 10 * SECOND);
        let late: Vec<&Outcome> = outcomes.iter().filter(late).collect();
        let done = outcomes.iter().filter_map(|outcome| outcome.delivered_after);
        println!("{arm}: {} of 40 late, the slowest other {:?}", late.len(), done.max());
        // Two packets per round trip are 8.6 MB in 30 s; a window that grows again takes no 30 s.
        assert!(late.iter().all(|one| one.delivered_after.is_none()), "{arm}: late, but not stuck");
        late.len()
    };
    let [sent, flight, reno] =
        ["hystart++/cubic(idle=sent)", "hystart++/cubic", "hystart++/reno"].map(stuck);
    assert!((8..=40).contains(&sent), "{sent} of 40 downloads are stuck");
    assert_eq!((flight, reno), (0, 0), "without idle time none is");
}
