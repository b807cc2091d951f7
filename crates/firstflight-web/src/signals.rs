//! Internal signals of an arm over time, with the thresholds to which they are compared.

use firstflight::Nanos;
use firstflight::startup::hystart::rise;
use firstflight_lab::Comparison;
use firstflight_lab::record::{Moment, Recording};
use firstflight_lab::trial::ms;
use serde::Serialize;
use std::collections::BTreeSet;

/// Curves over a common time axis, with one value per curve at each time.
#[derive(Debug, Serialize)]
pub(crate) struct Signals {
    arm: usize,
    t_ms: Vec<f64>,
    curves: Vec<Curve>,
}

#[derive(Debug, Serialize)]
struct Curve {
    name: String,
    unit: &'static str,
    /// Whether other curves are compared with it.
    threshold: bool,
    values: Vec<Option<f64>>,
}

/// Suffixes of the names of signals that get a curve, with the unit shown and the factor from the
/// signal's unit. Counts and positions are shown only step by step.
const UNITS: [(&str, &str, f64); 5] = [
    ("_ns", "ms", 1e-6),
    ("_bytes", "bytes", 1.0),
    ("_kbps", "Mbit/s", 1e-3),
    ("_mbps", "Mbit/s", 1.0),
    ("_percent", "%", 1.0),
];

/// Signals that are times of a clock, not durations.
const CLOCKS: [&str; 2] = ["hystart_round_start_ns", "hystart_last_ack_ns"];

/// Thresholds computed from a signal: the signal, and the name of the threshold.
const RISES: [(&str, &str); 2] = [
    ("hspp_last_min_ns", "hspp_last_min_ns + rise"),
    ("hystart_min_rtt_ns", "hystart_min_rtt_ns + rise"),
];

/// Signals that are thresholds themselves.
const THRESHOLDS: [&str; 3] = ["rtt_threshold_ns", "hspp_css_base_ns", "best_aim_bytes"];

impl Signals {
    /// The signals of an arm, at about `most` times or fewer; `None` if the arm was not recorded.
    pub(crate) fn of(comparison: &Comparison, arm: usize, most: usize) -> Option<Signals> {
        let record = comparison.records.get(arm)?;
        let moments: Vec<&Moment> = with_signals(record).collect();
        let all = curves(record, &moments);
        let kept = thinned(&all, moments.len(), most.max(16));
        let t_ms = kept.iter().map(|&i| ms(moments[i].state.now.0)).collect();
        let curves = all.into_iter().map(|curve| Curve {
            values: kept.iter().map(|&i| curve.values[i]).collect(),
            ..curve
        });
        Some(Signals { arm, t_ms, curves: curves.collect() })
    }
}

/// ACKs and timers; sends have no signals.
pub(crate) fn with_signals(record: &Recording) -> impl Iterator<Item = &Moment> {
    record.moments().iter().filter(|moment| moment.state.event.name() != "sent")
}

/// The value of a signal at a moment.
pub(crate) fn signal(record: &Recording, moment: &Moment, name: &str) -> Option<u64> {
    let index = record.names().iter().position(|known| *known == name)?;
    moment.signals.get(index).copied().flatten()
}

fn curves(record: &Recording, moments: &[&Moment]) -> Vec<Curve> {
    let rtt = Curve {
        name: "rtt".to_owned(),
        unit: "ms",
        threshold: false,
        values: moments.iter().map(|moment| moment.state.rtt.map(|rtt| ms(rtt.0))).collect(),
    };
    let mut curves = vec![rtt];
    for (index, name) in record.names().iter().enumerate() {
        let unit = UNITS.iter().find(|(end, ..)| name.ends_with(end));
        let (Some((_, unit, factor)), false) = (unit, CLOCKS.contains(name)) else { continue };
        let value = |moment: &&Moment| moment.signals.get(index).copied().flatten();
        let of = |read: &dyn Fn(u64) -> u64| -> Vec<Option<f64>> {
            let scaled = |value| Some(read(value?) as f64 * factor);
            moments.iter().map(|moment| scaled(value(moment))).collect()
        };
        let threshold = THRESHOLDS.contains(name);
        curves.push(Curve { name: (*name).to_owned(), unit, threshold, values: of(&|x| x) });
        if let Some((_, name)) = RISES.iter().find(|(of, _)| of == name) {
            let risen = of(&|min| (Nanos(min) + rise(Nanos(min))).0);
            curves.push(Curve { name: (*name).to_owned(), unit, threshold: true, values: risen });
        }
    }
    // Curves that are always zero or unknown are left out.
    curves.retain(|curve| curve.values.iter().flatten().any(|value| *value != 0.0));
    curves
}

/// Indices of the moments to keep: for each group of equally many consecutive moments its ends, and
/// the minimum and maximum of each curve.
fn thinned(curves: &[Curve], count: usize, most: usize) -> Vec<usize> {
    if count <= most {
        return (0..count).collect();
    }
    // Extremes of different curves often coincide: only a few groups keep more than a quarter of
    // the possible moments.
    let bucket = (count * (2 + 2 * curves.len())).div_ceil(4 * most).min(count);
    let mut kept = BTreeSet::new();
    for start in (0..count).step_by(bucket) {
        let end = (start + bucket).min(count);
        kept.extend([start, end - 1]);
        for curve in curves {
            let known = || (start..end).filter_map(|i| Some((i, curve.values[i]?)));
            kept.extend(known().min_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _)| i));
            kept.extend(known().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _)| i));
        }
    }
    kept.into_iter().collect()
}
