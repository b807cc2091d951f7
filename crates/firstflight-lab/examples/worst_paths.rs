//! The worst paths of an arm: an optimiser looks for those on which it takes longest beside the
//! faster of slow start and Rapid Start. One line per path, the worst first, tab-separated.
//!
//! `cargo run --release -p firstflight-lab --example worst_paths -- arm=plumb beside=plumb(growth=8)`
//!
//! The domain: 1 to 1000 Mbit/s, 5 to 300 ms, queues of 0.1 to 10 BDP, loss of 0 to 2 %, jitter of 0
//! to 0.3 of the round trip, ACKs as they come or collected as LTE or Wi-Fi do. The search: `starts`
//! paths drawn at random, from each of them steps in one coordinate at a time, first large, then
//! small, for as long as they make it worse; medians of three seeds. `beside` is a second arm whose
//! numbers stand on the same lines.

mod settings;

use firstflight_lab::{Error, NamedArm, Scenario, parse_arms};
use firstflight_path::random::Sequence;
use firstflight_path::{Path, Purpose, Stream};
use rayon::prelude::*;
use settings::Settings;

/// A path as a point: rate, round trip, queue, loss, jitter and return path, each from 0 to 1.
type Point = [f64; 6];

fn between(low: f64, high: f64, at: f64) -> f64 {
    low * (high / low).powf(at)
}

fn path(point: Point) -> Result<Path, Error> {
    let [rate, rtt, queue, loss, jitter, back] = point;
    let mbit = between(1.0, 1000.0, rate);
    // No round trip is shorter than a packet and its ACK take, and a queue holds a packet.
    let packet = 13.0 / mbit;
    let rtt = between(5.0, 300.0, rtt).max(2.0 * packet);
    let queue = (rtt * between(0.1, 10.0, queue)).max(packet);
    let mut items = vec![format!("rate={mbit:.3}Mbit,rtt={rtt:.3}ms,queue={queue:.3}ms")];
    // The lower half of these is none at all.
    if loss > 0.5 {
        items.push(format!("loss={:.3}%", between(0.05, 2.0, 2.0 * loss - 1.0)));
    }
    if jitter > 0.5 {
        items.push(format!("jitter={:.3}ms", rtt * between(0.01, 0.3, 2.0 * jitter - 1.0)));
    }
    if back > 0.6 {
        items.push(if back > 0.8 { "return=lte" } else { "return=wifi" }.into());
    }
    Path::parse(&items.join(","))
}

/// Milliseconds and share lost of each arm: medians of three seeds.
fn measure(point: Point, bytes: u64, arms: &[NamedArm]) -> Result<Vec<(f64, f64)>, Error> {
    let scenario = Scenario::new(path(point)?, bytes);
    arms.iter()
        .map(|arm| {
            let (mut times, mut losses) = ([0.0; 3], [0.0; 3]);
            for seed in 0..3 {
                let outcome = scenario.simulate(arm, seed as u64 + 1, None)?;
                let limit = scenario.limit;
                times[seed] = outcome.delivered_after.unwrap_or(limit).0 as f64 / 1e6;
                losses[seed] = outcome.counters.packets_lost as f64
                    / outcome.counters.packets_sent.max(1) as f64;
            }
            times.sort_by(f64::total_cmp);
            losses.sort_by(f64::total_cmp);
            Ok((times[1], losses[1]))
        })
        .collect()
}

/// Time of the third arm over the faster of the first two.
fn badness(point: Point, bytes: u64, arms: &[NamedArm]) -> Result<f64, Error> {
    let found = measure(point, bytes, &arms[..3])?;
    Ok(found[2].0 / found[0].0.min(found[1].0))
}

/// From a point drawn at random to where no step makes it worse.
fn climb(seed: u64, start: u64, bytes: u64, arms: &[NamedArm]) -> Result<(f64, Point), Error> {
    let mut chance = Sequence::new(Stream::new(seed, start, Purpose::Class).key());
    let mut point = Point::default().map(|_| (chance.draw() >> 11) as f64 / (1u64 << 53) as f64);
    let mut worst = badness(point, bytes, arms)?;
    let mut step = 0.25;
    while step > 0.02 {
        let before = worst;
        for coordinate in 0..point.len() {
            for by in [step, -step] {
                let mut other = point;
                other[coordinate] = (other[coordinate] + by).clamp(0.0, 1.0);
                let found = badness(other, bytes, arms)?;
                if found > worst {
                    (worst, point) = (found, other);
                }
            }
        }
        if worst <= before {
            step /= 2.0;
        }
    }
    Ok((worst, point))
}

fn main() -> Result<(), Error> {
    let set = Settings::read([
        ("arm", "plumb"),
        ("beside", "plumb(growth=8)"),
        ("bytes", "1000000"),
        ("starts", "40"),
        ("seed", "1"),
        ("show", "10"),
    ])?;
    let number = |key| set.number(key);
    let (bytes, seed) = (number("bytes")?, number("seed")?);
    let mut arms = parse_arms("slowstart,rapid")?;
    arms.extend(parse_arms(set.text("arm"))?);
    arms.extend(parse_arms(set.text("beside"))?);
    if arms.len() != 4 {
        return Err(Error::new("arm and beside are one arm each"));
    }
    let starts: Vec<u64> = (0..number("starts")?).collect();
    let found: Result<Vec<_>, Error> =
        starts.par_iter().map(|&start| climb(seed, start, bytes, &arms)).collect();
    let mut found = found?;
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    println!("path\tarm\tttlb_ms\tloss\tover_faster");
    for &(_, point) in found.iter().take(usize::try_from(number("show")?).unwrap_or(10)) {
        let measured = measure(point, bytes, &arms)?;
        let faster = measured[0].0.min(measured[1].0);
        for (arm, (time, loss)) in arms.iter().zip(measured) {
            let (path, over) = (path(point)?, time / faster);
            println!("{path}\t{}\t{time:.3}\t{loss:.6}\t{over:.4}", arm.label);
        }
    }
    Ok(())
}
