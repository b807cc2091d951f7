//! The result in sentences, and warnings to read before believing it.

use super::answer::{Answer, EffectRow, no_verdict};
use super::columns::{Rows, assigned};
use crate::stats::Interval;
use firstflight_trial::statistics::switchback::LEAST_PAIRS;

/// A largest unit with more than this share of an arm's bytes is reported, in percent.
const LARGE_UNIT_PCT: f64 = 5.0;
/// Effective units of an arm below which intervals are doubtful.
const FEW_UNITS: f64 = 100.0;

/// Fills in the finding, the warnings and the reason if there is no verdict.
pub(super) fn tell(answer: &mut Answer, rows: &Rows) {
    answer.withheld = withheld(answer, rows);
    answer.warnings = warnings(answer, rows);
    answer.finding = finding(answer);
}

fn withheld(answer: &Answer, rows: &Rows) -> Option<String> {
    if let Some(ratio) = answer.sample_ratio.as_ref().filter(|ratio| ratio.mismatch) {
        let came: u64 = ratio.counts.iter().sum();
        let pairs = answer.arms.iter().zip(&ratio.counts).zip(&ratio.planned_pct);
        let told: Vec<String> = pairs
            .map(|((arm, count), planned)| {
                let part = 100.0 * *count as f64 / came.max(1) as f64;
                format!(
                    "{} has {part:.1} % of the {} instead of {planned:.1} %",
                    arm.arm, ratio.counted
                )
            })
            .collect();
        return Some(format!(
            "rows are missing or arms were not drawn as planned: {}",
            told.join(", ")
        ));
    }
    let pairs = answer.results.first().map_or(0, |row| row.units);
    if rows.slots.is_some() && (pairs as f64) < LEAST_PAIRS {
        return Some(format!(
            "{pairs} pairs of slots have both arms, and {LEAST_PAIRS} are needed"
        ));
    }
    answer.balance.unbalanced.then(|| {
        "sizes differ between the arms beyond chance, so a comparison at equal size compares different connections"
            .to_owned()
    })
}

fn warnings(answer: &Answer, rows: &Rows) -> Vec<String> {
    let mut told = rows.remarks.clone();
    for arm in &answer.arms {
        // Fewer pairs of slots are enough, and their number has been reported.
        if arm.effective_units < FEW_UNITS && rows.slots.is_none() {
            told.push(format!(
                "{}: {:.0} effective units; below {FEW_UNITS:.0}, intervals are doubtful",
                arm.arm, arm.effective_units
            ));
        }
        if let Some(part) = arm.largest_unit_pct.filter(|part| *part > LARGE_UNIT_PCT) {
            told.push(format!("{}: one unit has {part:.0} % of the bytes", arm.arm));
        }
    }
    for row in answer.results.iter().filter(|row| row.rows_left_out * 20 > row.rows) {
        told.push(format!(
            "{}: {} rows are left out because the other arm has none of their size and round trip",
            row.arm, row.rows_left_out
        ));
    }
    if rows.slots.is_some() {
        told.push(if rows.unsettled > 0 {
            format!("{} rows from the start of slots are left out", rows.unsettled)
        } else {
            "no rows are left out at the start of slots (--settle), when connections of the previous slot still run".to_owned()
        });
    } else if rows.own {
        told.push("each row counts as a unit; if clients return, name their column with --cluster, otherwise intervals are too narrow".into());
    } else if assigned(rows).0 {
        told.push("clients have connections in several arms: arms that share a bottleneck change each other's results (Spang et al., IMC 2021)".into());
    }
    if answer.sample_ratio.is_none() && answer.arms.len() > 1 {
        told.push(
            "planned shares are not known (--shares), so missing rows would not be noticed".into(),
        );
    }
    if rows.armless > 0 {
        told.push(format!("{} rows have no arm and are left out", rows.armless));
    }
    if let Some(aa) =
        answer.aa.as_ref().and_then(|aa| aa.always_valid_pct).filter(|aa| !aa.covers(0.0))
    {
        told.push(format!(
            "the baseline differs from itself by {:.1} %: something other than the arm causes differences",
            aa.value.abs()
        ));
    }
    told
}

/// `7.3 % shorter than with slowstart at equal size (95 % interval 5.1 to 9.4)`.
fn ranged(interval: Interval, baseline: &str, kind: &str, condition: &str) -> String {
    let (word, shown) =
        if interval.value < 0.0 { ("longer", interval.map(|x| -x)) } else { ("shorter", interval) };
    let Interval { value, low, high } = shown;
    format!(
        "{value:.1} % {word} than with {baseline} at equal size ({kind}95 % interval {low:.1} to {high:.1}{condition})"
    )
}

fn finding(answer: &Answer) -> String {
    let baseline = &answer.experiment.baseline;
    if let Some(why) = &answer.withheld {
        return no_verdict(why);
    }
    if let Some((arm, rule)) = answer.stopped() {
        return format!("Stop {arm}: {rule} {baseline}, for sure.");
    }
    if answer.results.is_empty() {
        let told = answer.needs.iter().find(|need| need.effect_pct > 1.5 && need.effect_pct < 3.0);
        return told.map_or("One arm: nothing to compare.".to_owned(), |need| {
            format!("One arm: nothing to compare. To see 2 % takes {:.0} units.", need.units)
        });
    }
    let told: Vec<String> = answer.results.iter().map(|row| sentence(row, baseline)).collect();
    told.join(". ") + "."
}

fn sentence(row: &EffectRow, baseline: &str) -> String {
    let Some(found) = row.reduction_pct else {
        return format!("{}: too few units to compare with {baseline}", row.arm);
    };
    // Uses the interval for which the sentence claims validity.
    let at_any_look = row.always_valid_pct.filter(|always| !always.covers(0.0));
    match (row.stands, at_any_look) {
        (true, Some(always)) => format!(
            "{}: completion times are {}",
            row.arm,
            ranged(always, baseline, "always-valid ", "")
        ),
        (true, None) => format!(
            "{}: completion times are {}",
            row.arm,
            ranged(
                found,
                baseline,
                "",
                ", valid only if the end of the trial was fixed in advance"
            )
        ),
        (false, _) => format!(
            "{}: no significant difference from {baseline} (95 % interval {:.1} to {:.1} % shorter)",
            row.arm, found.low, found.high
        ),
    }
}
