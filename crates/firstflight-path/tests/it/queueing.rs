//! A link compared with queueing theory: Poisson arrivals of packets of one length at a constant
//! rate form the M/D/1 queue, whose mean wait is known.

#![allow(
    clippy::float_arithmetic,
    reason = "the theory is about real numbers; the link under test is not"
)]

use firstflight_path::{Fate, Path};

/// Uniform in (0, 1].
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> f64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (((z ^ (z >> 31)) >> 11) as f64 + 1.0) / (1u64 << 53) as f64
    }
}

/// Mean wait and share of packets that wait at all, over `packets` Poisson arrivals at load `rho`;
/// service takes 0.12 ms.
fn offered(rho: f64, packets: u64, queue: &str) -> (f64, f64, f64) {
    const SERVICE: f64 = 120_000.0;
    let path = Path::parse(&format!("rate=100Mbit,rtt=30ms,queue={queue}")).expect("a path");
    let (mut link, _) = path.links(1500, 40, 1, 0).expect("it carries full packets");
    let (mut draws, mut now) = (Draws(42), 0.0_f64);
    let (mut waited_ns, mut waiting, mut dropped) = (0.0, 0.0, 0.0);
    for _ in 0..packets {
        now -= draws.next().ln() * SERVICE / rho;
        match link.offer(now as u64, 1500) {
            Fate::Deliver { waited, .. } => {
                waited_ns += waited as f64;
                waiting += f64::from(u8::from(waited > 0));
            }
            Fate::Drop(_) => dropped += 1.0,
            Fate::Duplicate { .. } => panic!("nothing is duplicated on a plain path"),
        }
    }
    let delivered = packets as f64 - dropped;
    (waited_ns / delivered / SERVICE, waiting / delivered, dropped / packets as f64)
}

#[test]
fn the_mean_wait_of_poisson_arrivals_is_that_of_the_m_d_1_queue() {
    // Pollaczek and Khinchine: rho / (2 (1 - rho)) service times; a packet waits with probability
    // rho (arrivals see time averages).
    for (rho, tolerance) in [(0.1, 0.02), (0.5, 0.02), (0.8, 0.02), (0.9, 0.04)] {
        let (wait, waiting, dropped) = offered(rho, 2_000_000, "unlimited");
        let theory = rho / (2.0 * (1.0 - rho));
        assert!(
            (wait / theory - 1.0).abs() < tolerance,
            "load {rho}: a mean wait of {wait:.4} services where theory has {theory:.4}"
        );
        assert!((waiting - rho).abs() < 0.005, "load {rho}: {waiting:.4} of the packets wait");
        assert!(dropped <= 0.0, "a queue without a limit drops nothing");
    }
}

#[test]
fn a_queue_of_one_packet_under_overload_drops_what_renewal_theory_says() {
    // M/D/1 with one waiting place and load a: states seen right after departures are 0
    // (probability p0 = e^-a of no arrival in a service) or 1. With P = e^-a: carried load = 1
    // / (P + a), so the loss is 1 - 1 / (a + P).
    for load in [0.5_f64, 1.0, 2.0] {
        let (_, _, dropped) = offered(load, 2_000_000, "1pkt");
        let theory = 1.0 - 1.0 / (load + (-load).exp());
        assert!(
            (dropped - theory).abs() < 0.002,
            "load {load}: {dropped:.4} dropped where theory has {theory:.4}"
        );
    }
}
