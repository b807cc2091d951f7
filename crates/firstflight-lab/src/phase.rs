//! Dependence of deterministic results on the phase of packets and timers: a change of the round
//! trip by half a millisecond can change the loss of an overshoot by several points, and with it
//! the fastest arm.

use crate::repeat::SAME;
use crate::stats::Summary;
use crate::trial::TrialRow;

/// Change of loss, in percentage points, that is not reported.
const STILL_LOSS: f64 = 1.0;
/// Change of time, as a share of the shortest time, that is not reported.
const STILL_TIME: f64 = 0.02;
/// Prefix of a note on results that depend on the phase.
pub(crate) const PHASE: &str = "timing matters: ";

/// The largest variation within these trials of each arm, in loss or in time, and whether the
/// fastest arm changes. `None` if variations are small.
pub(crate) fn moves(arms: &[Vec<&TrialRow>]) -> Option<String> {
    let widest = |read: &dyn Fn(&TrialRow) -> Option<f64>, width: &dyn Fn(&Summary) -> f64| {
        let of = |arm: &Vec<&TrialRow>| {
            let all = Summary::of(arm.iter().filter_map(|row| read(row)))?;
            Some((arm[0].arm.clone(), all, width(&all)))
        };
        arms.iter().filter_map(of).max_by(|a, b| a.2.total_cmp(&b.2))
    };
    let loss = widest(&|row| Some(100.0 * row.loss_ratio?), &|all| all.high - all.low);
    let time = widest(&|row| row.ttlb_ms, &|all| all.high / all.low.max(1e-6) - 1.0);
    let mut words = Vec::new();
    match (loss, time) {
        (Some((arm, all, width)), _) if width > STILL_LOSS => {
            words.push(format!("{arm} loses {:.1} to {:.1} %", all.low, all.high));
        }
        (_, Some((arm, all, width))) if width > STILL_TIME => {
            // A difference that counts shows in the digits.
            let digits = usize::from(all.low < 1_000.0);
            words.push(format!("{arm} takes {:.digits$} to {:.digits$} ms", all.low, all.high));
        }
        _ => {}
    }
    let fastest = fastest(arms);
    if fastest.len() > 1 {
        words.push(format!("the fastest is {}", fastest.join(" or ")));
    }
    (!words.is_empty())
        .then(|| format!("{PHASE}{} if the RTT changes by up to 0.5 ms", words.join(", and ")))
}

/// The fastest arm of the first trials, and the arms that beat it in a later trial by more than a
/// negligible difference.
fn fastest<'a>(arms: &[Vec<&'a TrialRow>]) -> Vec<&'a str> {
    let time = |arm: &Vec<&'a TrialRow>, trial: usize| arm[trial].ttlb_ms.unwrap_or(f64::INFINITY);
    let of = |trial: usize| arms.iter().min_by(|a, b| time(a, trial).total_cmp(&time(b, trial)));
    let Some(first) = of(0) else { return Vec::new() };
    let mut names = vec![first[0].arm.as_str()];
    for trial in 1..first.len() {
        if let Some(best) = of(trial)
            && time(first, trial) > time(best, trial) * (1.0 + SAME / 100.0)
            && !names.contains(&best[0].arm.as_str())
        {
            names.push(&best[0].arm);
        }
    }
    names
}
