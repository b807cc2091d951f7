//! Intervals of ratios of totals and of quantiles cover the true value, with few clients, some of
//! which have most of the connections and their own loss rates.

use crate::clients::Random;
use firstflight_trial::statistics::quantile::quantiles;
use firstflight_trial::statistics::totals::totals;

/// Connections of clients that differ in number, loss and speed.
#[derive(Default)]
struct Rows {
    arm: Vec<u16>,
    unit: Vec<u32>,
    segments: Vec<f64>,
    lost: Vec<f64>,
    time: Vec<f64>,
}

/// A draw of Poisson's distribution, of few events.
fn poisson(mean: f64, random: &mut Random) -> f64 {
    let (limit, mut product, mut count) = ((-mean.min(300.0)).exp(), random.unit(), 0);
    while product > limit {
        product *= random.unit();
        count += 1;
    }
    f64::from(count)
}

fn draw(clients: u32, random: &mut Random) -> Rows {
    let mut rows = Rows::default();
    for unit in 0..clients {
        let connections = random.unit().powf(-1.0 / 1.3).min(100.0) as u32;
        let (share, speed) = ((random.normal() - 4.5).exp(), 0.7 * random.normal());
        for _ in 0..connections {
            let segments = (4.0 + 1.2 * random.normal()).exp();
            let burst = if random.unit() < 0.5 { -2.0 * random.unit().ln() } else { 0.0 };
            rows.arm.push((unit % 2) as u16);
            rows.unit.push(unit);
            rows.segments.push(segments);
            rows.lost.push(poisson(segments * share * burst, random));
            rows.time.push((speed + 0.8 * random.normal() + 0.3 * segments.ln()).exp());
        }
    }
    rows
}

#[test]
fn ratios_of_totals_are_covered() {
    let (mut covered, draws) = (0_u32, 2_000_u32);
    let mut random = Random(7);
    for _ in 0..draws {
        let rows = draw(100, &mut random);
        let found = totals(&rows.arm, &rows.unit, [&rows.lost, &rows.segments], 1, 0);
        let (_, low, high) = found.interval();
        covered += u32::from(low <= 1.0 && 1.0 <= high);
    }
    let percent = 100.0 * f64::from(covered) / f64::from(draws);
    assert!((93.0..=97.0).contains(&percent), "{percent} % of {draws}");
}

#[test]
fn quantiles_are_covered() {
    let (mut covered, draws) = ([0_u32; 2], 1_000_u32);
    let mut random = Random(7);
    for number in 0..u64::from(draws) {
        let rows = draw(100, &mut random);
        let columns = (rows.arm.as_slice(), rows.unit.as_slice(), rows.time.as_slice());
        let weights = |unit: u32, block: usize| {
            let mut random = Random((number << 40) | (u64::from(unit) << 20) | block as u64);
            [0; 4].map(|_: u8| poisson(1.0, &mut random) as u8)
        };
        let found = quantiles(columns, (1, 0), &[0.5, 0.99], (50, &weights)).expect("rows");
        for (covered, one) in covered.iter_mut().zip(&found) {
            let [low, high] = one.interval.expect("enough replicates");
            *covered += u32::from(low <= 0.0 && 0.0 <= high);
        }
    }
    let percent = covered.map(|covered| 100.0 * f64::from(covered) / f64::from(draws));
    // The truth is 93.5 to 95 %; a standard error of so many draws is 0.75.
    assert!(percent.iter().all(|percent| (92.0..=97.5).contains(percent)), "{percent:?} %");
}
