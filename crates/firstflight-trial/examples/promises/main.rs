//! Measures how often the intervals cover the truth, and how often an observer who looks all the
//! time is misled: 1 000 simulated trials of each kind, in minutes. The argument is a smaller
//! number of trials.
//!
//! `cargo run --release -p firstflight-trial --features statistics --example promises`

mod clients;

use clients::{Clients, Random};
use firstflight_trial::statistics::rehearsal::{Rehearsal, Rehearsed};
use firstflight_trial::statistics::{Sample, mismatch};
use std::sync::atomic::AtomicBool;

type Make = fn(u32, &mut Random) -> Clients;

fn main() {
    let asked = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let trials = asked.unwrap_or(1_000);
    println!(
        "| clients | effect | looks | final 95 % interval covers | sequence covers at every look | plain interval does |"
    );
    println!("|---|---|---|---|---|---|");
    let kinds: [(&str, Make, u32); 3] = [
        ("4000 of one connection", Clients::apart, 4_000),
        ("400 with 1 to 300", Clients::heavy, 400),
        ("2000 with 1 to 300", Clients::heavy, 2_000),
    ];
    for (name, make, units) in kinds {
        for effect in [0.0, -0.05] {
            let found = rehearse(make, units, effect, trials);
            let percent = |of: u32| 100.0 * f64::from(of) / f64::from(found.trials);
            println!(
                "| {name} | {effect} | {} | {:.1} % | {:.1} % | {:.1} % |",
                found.looks / found.trials,
                percent(found.covered),
                percent(found.always_covered),
                percent(found.plain_covered)
            );
        }
    }
    let mut random = Random(3);
    let alarms = (0..trials).filter(|_| alarm(&mut random)).count();
    println!("\nSample-ratio mismatch, false alarms with 200 looks: {alarms} of {trials}");
}

/// Rehearses with new clients for every trial.
fn rehearse(make: Make, units: u32, effect: f64, trials: u32) -> Rehearsed {
    let rehearsal =
        Rehearsal { trials: 1, effect, every: 100, tau: 0.05, alpha: 0.05, paired: false };
    let mut sum = Rehearsed::default();
    let mut random = Random(1);
    for _ in 0..trials {
        let clients = make(units, &mut random);
        let sample = Sample { arm: &[], unit: &clients.unit, stratum: &clients.stratum };
        let one = rehearsal.run(sample, &clients.y, &mut || random.next(), &AtomicBool::new(false));
        sum.trials += one.trials;
        sum.covered += one.covered;
        sum.always_covered += one.always_covered;
        sum.plain_covered += one.plain_covered;
        sum.looks += one.looks;
    }
    sum
}

/// Whether 20 000 units with correct shares raise an alarm at any of 200 looks.
fn alarm(random: &mut Random) -> bool {
    let mut counts = [0; 2];
    (0..200).any(|_| {
        for _ in 0..100 {
            counts[(random.next() >> 63) as usize] += 1;
        }
        mismatch::is_mismatch(&counts, &[0.5, 0.5])
    })
}
