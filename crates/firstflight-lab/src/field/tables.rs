//! Tables of an answer, for the terminal and the page.

use super::answer::{Answer, EffectRow};
use crate::stats::Interval;
use firstflight_table::{Marked, Table};

impl Answer {
    /// All tables that have rows.
    pub fn tables(&self) -> Vec<Table> {
        let all = [Answer::effects, arms, quantiles, totals, parts, needs].map(|of| of(self));
        all.into_iter().filter(|table| !table.is_empty()).collect()
    }

    /// The table of effects, which decides.
    pub fn effects(&self) -> Table {
        let title = format!(
            "Reduction in completion time against {}, at equal size",
            self.experiment.baseline
        );
        let headers =
            ["arm", "shorter by\n95 % interval", "always-valid", "units", "rows", "verdict"];
        let mut sheet = Table::of_numbers(title, &headers, 1);
        for row in &self.results {
            sheet.row([
                Marked::from(row.arm.as_str()),
                Marked::from(percent(row.reduction_pct)).bold(row.stands),
                range(row.always_valid_pct).into(),
                row.units.to_string().into(),
                row.rows.to_string().into(),
                verdict(row).into(),
            ]);
        }
        sheet
    }

    /// The cost of each arm in a line: its ratios over those of the baseline.
    pub fn costs(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let mut last = "";
        for row in &self.totals {
            let Some(one) = known(row.times) else { continue };
            let told =
                format!("{} x {:.2} ({:.2} to {:.2})", row.ratio, one.value, one.low, one.high);
            match lines.last_mut().filter(|_| last == row.arm) {
                Some(line) => line.extend([", ", told.as_str()]),
                None => lines.push(format!("Cost of {}: {told}", row.arm)),
            }
            last = &row.arm;
        }
        lines
    }

    /// The checks, one line each.
    pub fn checks(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(ratio) = &self.sample_ratio {
            let told = if ratio.mismatch { "not as planned" } else { "as planned" };
            lines.push(format!(
                "Sample ratio: {told} (evidence against the planned shares: 10^{:.1}, counted in {}; from 10^3 on, no verdict is given)",
                ratio.log10_bayes_factor, ratio.counted
            ));
        }
        if let Some(aa) =
            self.aa.as_ref().and_then(|aa| Some((known(aa.reduction_pct)?, aa.always_valid_pct)))
        {
            let (plain, always) = aa;
            lines.push(format!(
                "A/A: two random halves of the baseline differ by {:.1} % ({:.1} to {:.1}; always-valid {})",
                plain.value, plain.low, plain.high, range(always)
            ));
        }
        if let Some(found) = &self.rehearsal {
            lines.push(format!(
                "Rehearsal: in {} trials made from these rows the final interval covers the truth in {:.1} %, the always-valid interval in {:.1} % at all of {:.0} looks, a plain one in {:.1} %",
                found.trials, found.covered_pct, found.always_covered_pct, found.looks, found.plain_covered_pct
            ));
        }
        lines
    }
}

/// Drops an interval without finite ends, which few rows can cause.
fn known(interval: Option<Interval>) -> Option<Interval> {
    interval.filter(|one| [one.value, one.low, one.high].iter().all(|end| end.is_finite()))
}

/// `+7.3 %` with its interval below.
fn percent(interval: Option<Interval>) -> String {
    known(interval).map_or("-".to_owned(), |one| {
        format!("{:.1} %\n{:.1} to {:.1}", one.value, one.low, one.high)
    })
}

fn range(interval: Option<Interval>) -> String {
    known(interval).map_or("-".to_owned(), |one| format!("{:.1} to {:.1} %", one.low, one.high))
}

fn verdict(row: &EffectRow) -> &'static str {
    let sure = row.always_valid_pct.is_some_and(|always| !always.covers(0.0));
    match (row.stopped_by.is_some(), row.stands, sure) {
        (true, ..) => "stop",
        (_, true, true) => "differs (always-valid)",
        (_, true, false) => "differs (fixed end)",
        (_, false, _) => "within chance",
    }
}

pub(crate) fn arms(answer: &Answer) -> Table {
    let headers = ["arm", "rows", "units", "effective units", "largest unit", "data", "incomplete"];
    let mut sheet = Table::of_numbers("Connections and units of each arm", &headers, 1)
        .dropping(&["largest", "data"]);
    for arm in &answer.arms {
        let part =
            |percent: Option<f64>| percent.map_or("-".to_owned(), |part| format!("{part:.1} %"));
        sheet.row([
            arm.arm.clone(),
            arm.rows.to_string(),
            arm.units.to_string(),
            format!("{:.0}", arm.effective_units),
            part(arm.largest_unit_pct),
            format!("{:.1} MB", arm.bytes / 1e6),
            part(arm.incomplete_pct),
        ]);
    }
    sheet
}

pub(crate) fn quantiles(answer: &Answer) -> Table {
    let title = format!("Quantiles of {}, all sizes together", answer.experiment.columns.time);
    let headers = ["arm", "quantile", "time", "baseline", "shorter by\n95 % interval"];
    let mut sheet = Table::of_numbers(title, &headers, 2);
    let mut last = "";
    for row in &answer.quantiles {
        let arm = if last == row.arm { "" } else { &row.arm };
        last = &row.arm;
        sheet.row([
            arm.to_owned(),
            row.quantile.clone(),
            number(row.time),
            number(row.baseline_time),
            percent(row.reduction_pct),
        ]);
    }
    sheet
}

fn number(value: f64) -> String {
    match value {
        value if !value.is_finite() => "-".to_owned(),
        value if value >= 100.0 => format!("{value:.0}"),
        value => format!("{value:.2}"),
    }
}

pub(crate) fn totals(answer: &Answer) -> Table {
    let headers =
        ["arm", "ratio of totals", "value", "baseline", "factor\n95 % interval", "always-valid"];
    let mut sheet = Table::of_numbers("Cost", &headers, 2);
    let small = |value: Option<f64>| {
        let value = value.filter(|value| value.is_finite());
        value.map_or("-".to_owned(), |value| format!("{value:.4}"))
    };
    for row in &answer.totals {
        let times = known(row.times).map_or("too few".to_owned(), |one| {
            format!("{:.2}\n{:.2} to {:.2}", one.value, one.low, one.high)
        });
        let always = known(row.always_valid_times);
        sheet.row([
            row.arm.clone(),
            row.ratio.clone(),
            small(row.value),
            small(row.baseline_value),
            times,
            always.map_or("-".to_owned(), |one| format!("{:.2} to {:.2}", one.low, one.high)),
        ]);
    }
    sheet
}

pub(crate) fn parts(answer: &Answer) -> Table {
    let headers = ["by", "part", "arm", "shorter by\n95 % interval", "rows"];
    let mut sheet = Table::of_numbers("Effect by part", &headers, 3);
    let mut last = "";
    for row in &answer.parts {
        let part = if last == row.part { "" } else { &row.part };
        last = &row.part;
        sheet.row([
            Marked::from(part),
            row.name.as_str().into(),
            row.arm.as_str().into(),
            Marked::from(percent(Some(row.reduction_pct))).bold(row.stands),
            row.rows.to_string().into(),
        ]);
    }
    sheet
}

pub(crate) fn needs(answer: &Answer) -> Table {
    let headers = [
        "effect",
        "units if checked\nat any time",
        "units if the end\nis fixed in advance",
        "hours at the\ncurrent rate",
    ];
    let mut sheet =
        Table::of_numbers("Sample size needed with two arms of equal share", &headers, 0);
    for need in &answer.needs {
        sheet.row([
            format!("{:.0} %", need.effect_pct),
            whole(need.units),
            whole(need.units_fixed),
            need.hours
                .filter(|hours| hours.is_finite())
                .map_or("-".to_owned(), |hours| format!("{hours:.1}")),
        ]);
    }
    sheet
}

fn whole(value: f64) -> String {
    if value.is_finite() { format!("{value:.0}") } else { "-".to_owned() }
}
