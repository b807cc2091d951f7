//! Nanoseconds per packet of [`Link::offer`]: `cargo bench -p firstflight-path`. Each line is the
//! best of five rounds.

use firstflight_path::{Fate, Link, Path};
use std::hint::black_box;
use std::time::Instant;

const PACKETS: u64 = 4_000_000;

fn best_of_five(name: &str, text: &str, gap: impl Fn(u64) -> u64, len: impl Fn(u64) -> u32) {
    let path = Path::parse(text).expect("a path");
    let (mut link, _): (Link, Link) = path.links(1500, 66, 1, 0).expect("links");
    let (mut best, mut delivered) = (f64::MAX, 0_u64);
    for _ in 0..5 {
        link.reset(1, 0);
        delivered = 0;
        let begin = Instant::now();
        let mut now = 0;
        for k in 0..PACKETS {
            now += gap(k);
            if let Fate::Deliver { at, waited, .. } = link.offer(now, len(k)) {
                delivered += 1;
                black_box((at, waited));
            }
        }
        best = best.min(begin.elapsed().as_nanos() as f64 / PACKETS as f64);
    }
    println!("{name:<34} {best:6.1} ns per packet, {delivered} of {PACKETS} delivered");
}

fn main() {
    let full = |_| 1500;
    best_of_five("idle", "rapid-slide", |_| 130_000, full);
    best_of_five(
        "saturated, queue near full",
        "rapid-slide",
        |k| if k % 16 == 0 { 16 * 118_000 } else { 0 },
        full,
    );
    best_of_five(
        "saturated, GEO queue",
        "geo",
        |k| if k % 16 == 0 { 16 * 79_000 } else { 0 },
        full,
    );
    best_of_five(
        "saturated, loss 1 %",
        "rapid-slide,loss=1%",
        |k| if k % 16 == 0 { 16 * 118_000 } else { 0 },
        full,
    );
    best_of_five(
        "length changes every packet",
        "rapid-slide",
        |_| 110_000,
        |k| 1000 + (k % 2) as u32 * 500,
    );
    best_of_five(
        "varying rate, bursts, jitter",
        "rapid-slide,wander=0.3,ge=0.1%:3:80%,jitter=1ms",
        |_| 130_000,
        full,
    );
    best_of_five("CoDel, overloaded", "rapid-slide,codel", |_| 100_000, full);
    best_of_five("Poisson opportunities", "rate=poisson:100Mbit,rtt=30ms", |_| 130_000, full);
}
