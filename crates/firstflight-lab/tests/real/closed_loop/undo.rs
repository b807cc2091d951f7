//! Recoveries that the kernel and the simulator undo, over the same paths.

use super::{Draw, missing, side_by_side};
use firstflight::detection::f_rto::Proof;
use firstflight::detection::presets::Preset;
use firstflight::{Config, Nanos, Seq, Time};
use firstflight_lab::drill::arm_of;
use firstflight_linux::link::LinkOptions;
use firstflight_linux::trial::{SocketOptions, Source, Trial};
use firstflight_path::Path;
use firstflight_sim::{Hosts, Setup, run, tcp};
use std::fmt::Write as _;
use std::time::Duration;

const LIMIT: u64 = 60;

/// A FIFO path with losses; every other one also reorders, and loses ACKs.
fn path(draw: &mut Draw, wild: bool) -> String {
    let rate = 1_000 + draw.below(49_000);
    let rtt = 10 + draw.below(140);
    let queue = (rate * rtt * (20 + draw.below(180)) / 800).max(3_000);
    let loss = 1 + draw.below(40);
    let mut text = format!("rate={rate}kbit,rtt={rtt}ms,queue={queue}B");
    write!(text, ",loss={}.{}%", loss / 10, loss % 10).expect("text");
    if wild {
        let (share, mean) = (1 + draw.below(10), 1 + draw.below(rtt));
        let up_loss = 1 + draw.below(20);
        write!(text, ",reorder={share}%:{mean}ms,up_loss={up_loss}%").expect("text");
    }
    text
}

/// Recoveries and how many of them were taken back, by the kernel's CUBIC and by ours.
fn play(seed: u64, wild: bool) -> [(u64, u64); 2] {
    let mut draw = Draw(seed);
    let text = path(&mut draw, wild);
    let path = Path::parse(&text).expect("a path");
    let object = 100_000 + draw.below(900_000);
    let measured = firstflight_linux::trial::run(
        &Trial {
            path: &path,
            options: LinkOptions { seed, ..LinkOptions::default() },
            bytes: object,
            source: Source::Controller("cubic", SocketOptions::default()),
            limit: Duration::from_secs(LIMIT),
            receiver: &[],
        },
        |_| (),
    )
    .unwrap_or_else(|e| panic!("{text}: {e}"));
    // The kernel's receiver merges SACKs (`tcp_comp_sack_delay_ns` and its siblings).
    let hold = (path.rtt() / 20).min(1_000_000);
    let host = tcp::Host {
        f_rto: Proof::Linux,
        comp_sack: Some(tcp::SackCompression { hold, most: 44 }),
        ..tcp::Host::with_preset(Preset::LINUX)
    };
    let host = host.receiving(&path);
    let mss = u64::from(host.mss);
    let setup = Setup {
        path: &path,
        host: Hosts::Tcp(host),
        pacer_burst: 2 * mss,
        object,
        limit: Nanos(LIMIT * 1_000_000_000),
        seed,
        path_index: 0,
    };
    let arm = arm_of("cubic").expect("an arm");
    let config = firstflight::with!(Config { initial_window: 10 * mss, ..Config::tcp(mss) });
    let controller = arm.controller(config, Time(0), Seq(0));
    let outcome = run(&setup, controller, None).expect("the path carries full packets");
    let kernel = (measured.counters.recoveries, measured.counters.undone);
    [kernel, (outcome.counters.recoveries, outcome.counters.undone)]
}

/// Half the width of the 95 % interval of a sum of what paths count, by their spread.
fn margin(counts: &[u64]) -> f64 {
    let (n, sum) = (counts.len() as f64, counts.iter().sum::<u64>() as f64);
    let spread: f64 = counts.iter().map(|&count| (count as f64 - sum / n).powi(2)).sum();
    // A count of zero allows up to three (rule of three).
    (1.96 * (n * spread / (n - 1.0)).sqrt()).max(3.0)
}

/// Two hundred paths of each kind in `make night`; four without reordering by day.
#[test]
fn as_many_recoveries_are_taken_back_as_in_the_kernel() {
    if let Some(why) = missing() {
        println!("skipped: {why}");
        return;
    }
    let night = std::env::var_os("NIGHT").is_some();
    let paths = if night { 200 } else { 4 };
    for (kind, wild) in [("FIFO with loss", false), ("with reordering and lost ACKs", true)] {
        if wild && !night {
            continue;
        }
        let counted = side_by_side(paths, |index| play(index + 1, wild));
        let of = |who: usize| -> Vec<u64> { counted.iter().map(|both| both[who].1).collect() };
        let recoveries = |who: usize| counted.iter().map(|both| both[who].0).sum::<u64>();
        let (kernel, ours) = (of(0), of(1));
        let (k, o) = (kernel.iter().sum::<u64>(), ours.iter().sum::<u64>());
        let margin = margin(&kernel);
        println!(
            "{paths} paths {kind}: kernel undid {k} of {} recoveries, ours {o} of {}, 95 % within {margin:.1}",
            recoveries(0),
            recoveries(1)
        );
        assert!(k.abs_diff(o) as f64 <= margin, "{kind}: the kernel {k}, ours {o}");
        assert!(wild || o == 0, "{kind}: nothing was reordered, ours {o}");
    }
}
