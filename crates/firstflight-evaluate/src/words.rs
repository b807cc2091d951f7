//! Text of reports.

use crate::metrics::metric_named;
use crate::report::{Basis, CellRow, CriterionRow, Report, RuleName, Verdict};

/// Formats a number with three significant digits.
pub fn figure(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".into();
    }
    if !(0.000_995..9999.5).contains(&size) {
        return format!("{value:.1e}");
    }
    let places = (2 - libm::floor(libm::log10(size)) as i32).max(0) as usize;
    let text = format!("{value:.places$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

fn with_unit(value: f64, unit: &str) -> String {
    if unit.is_empty() { figure(value) } else { format!("{} {unit}", figure(value)) }
}

impl CellRow {
    /// Metric, role and horizon, as named in the battery.
    pub fn key(&self) -> String {
        let of = if self.of == "all" { String::new() } else { format!(" of {}", self.of) };
        format!("{}{of} ({})", self.metric, self.window)
    }

    /// Metric, role and horizon in words.
    pub fn what(&self) -> String {
        let words = metric_named(&self.metric).map_or(self.metric.as_str(), |metric| metric.words);
        let of = if self.of == "all" { String::new() } else { format!(" of {}", self.of) };
        let window = match self.window {
            "start" => " in the first seconds",
            "steady" => " in the steady state",
            _ => "",
        };
        format!("{words}{of}{window}")
    }

    /// The algorithm's value.
    pub fn ours(&self) -> String {
        self.value.map_or("not reached".into(), |value| with_unit(value, self.unit))
    }

    /// The baseline's value.
    pub fn theirs(&self) -> String {
        self.baseline.map_or("-".into(), |value| with_unit(value, self.unit))
    }

    /// The difference with its interval; empty if nothing was compared.
    pub fn worse(&self) -> String {
        let Some(difference) = self.difference else { return String::new() };
        let shown = |value: f64| {
            if self.logarithm {
                let percent = (libm::exp(value) - 1.0) * 100.0;
                format!("{}{} %", if percent > 0.0 { "+" } else { "" }, figure(percent))
            } else {
                // Stored with a sign such that more is worse; shown in the metric's own direction.
                let value = if self.high_is_good { -value } else { value };
                format!("{}{}", if value > 0.0 { "+" } else { "" }, figure(value))
            }
        };
        match self.interval {
            Some([low, high]) if self.high_is_good && !self.logarithm => {
                format!("{} [{}, {}]", shown(difference), shown(high), shown(low))
            }
            Some([low, high]) => format!("{} [{}, {}]", shown(difference), shown(low), shown(high)),
            None => shown(difference),
        }
    }

    /// The reason why it is a concern, as a sentence without the final period.
    pub fn why(&self, baseline: &str) -> String {
        let what = format!("{} is {}", self.what(), self.ours());
        match self.rule {
            RuleName::Below | RuleName::Above => {
                let side = if self.rule == RuleName::Below { "below" } else { "above" };
                let share = figure(self.beyond.unwrap_or(0.0) * 100.0);
                let limit = self.limit.map_or(String::new(), figure);
                format!(
                    "{what}, {} with {baseline}; it should stay {side} {limit} and does not in {share} % of the seeds",
                    self.theirs()
                )
            }
            RuleName::NotMoreOftenThanBaseline => {
                let side = if self.high_is_good { "at most" } else { "at least" };
                let limit = self.limit.map_or(String::new(), figure);
                let share = |share: f64| figure(share * 100.0);
                let beyond = self.beyond.unwrap_or(0.0);
                let theirs = beyond - self.difference.unwrap_or(0.0);
                format!(
                    "{} is {side} {limit} in {} % of the seeds, {} % with {baseline}",
                    self.what(),
                    share(beyond),
                    share(theirs)
                )
            }
            RuleName::NotRising => {
                format!(
                    "{what}, {} compared with the previous cell: it should not rise",
                    self.worse()
                )
            }
            RuleName::NotMoreThanBaseline | RuleName::Report => {
                format!("{what}, {} with {baseline}: {}", self.theirs(), self.worse())
            }
        }
    }
}

impl CriterionRow {
    /// The value that decided, with its interval, the baseline's value and the cell.
    pub fn decided(&self) -> String {
        match (self.deciding_row(), &self.reason) {
            (_, Some(reason)) => reason.clone(),
            (Some(row), None) => {
                let worse = row.worse();
                let worse = if worse.is_empty() { String::new() } else { format!("; {worse}") };
                let by = match row.basis {
                    Some(Basis::Limit) => "; decided by the limit",
                    Some(Basis::Seeds) => "; decided by the share of seeds",
                    Some(Basis::Comparison) | None => "",
                };
                format!(
                    "{} {}, baseline {}{worse}{by}; {}",
                    row.what(),
                    row.ours(),
                    row.theirs(),
                    row.place
                )
            }
            (None, None) if self.verdict == Verdict::Author => "for the author to answer".into(),
            (None, None) => String::new(),
        }
    }

    /// Rows that are concerns, most certain first.
    pub fn concerns(&self) -> Vec<&CellRow> {
        let mut rows: Vec<&CellRow> =
            self.judges.iter().filter(|row| row.verdict == Verdict::Concern).collect();
        rows.sort_by(|a, b| {
            a.chance.unwrap_or(0.0).total_cmp(&b.chance.unwrap_or(0.0)).then(a.cell.cmp(&b.cell))
        });
        rows
    }
}

impl Report {
    /// One-line summary: the findings to explain, and the number of criteria per verdict.
    pub fn summary(&self) -> String {
        let counted = Verdict::ALL.into_iter().filter_map(|verdict| {
            let number = self.number(verdict);
            let name = match verdict {
                Verdict::Concern if number > 1 => "concerns",
                Verdict::Pass => "passed",
                Verdict::Report => "informational",
                Verdict::Author => "for the author",
                other => other.name(),
            };
            (number > 0).then(|| format!("{number} {name}"))
        });
        let counted = counted.collect::<Vec<_>>().join(", ");
        let concerns = self.criteria.iter().filter(|row| row.verdict == Verdict::Concern);
        let named: Vec<String> =
            concerns.map(|row| format!("{} ({})", row.title, row.section)).collect();
        let Report { algorithm, baseline, .. } = self;
        let found = if named.is_empty() {
            format!("{algorithm}, compared with {baseline}, raises no concerns.")
        } else {
            format!(
                "{algorithm}, compared with {baseline}, raises concerns to explain: {}.",
                named.join("; ")
            )
        };
        format!("{found} Criteria of RFC 9743: {counted}.")
    }

    /// One-line description of the method.
    pub fn method(&self) -> String {
        format!(
            "battery {} {} (SHA-256 {}), firstflight {}, testbed {}, {}: {} cells, {} runs, first seed {}; {} relative rules tested together (Holm, 5 %), {} with p < 0.05 individually",
            self.battery,
            self.version,
            &self.sha256[..12.min(self.sha256.len())],
            self.firstflight,
            self.testbed,
            self.effort,
            self.cells,
            self.runs,
            self.seed,
            self.tests,
            self.marked
        )
    }

    /// Concerns as sentences, one for the worst cell of each rule, each with the command that shows it.
    pub fn sentences(&self) -> Vec<(String, String)> {
        let mut lines = Vec::new();
        for criterion in &self.criteria {
            let concerns = criterion.concerns();
            let mut told: Vec<String> = Vec::new();
            for row in &concerns {
                let key = row.key();
                if told.contains(&key) {
                    continue;
                }
                let same = concerns.iter().filter(|other| other.key() == key).count();
                let more = match same {
                    1 => String::new(),
                    2 => "; also in another cell".to_owned(),
                    _ => format!("; also in {} other cells", same - 1),
                };
                told.push(key);
                let why = row.why(&self.baseline);
                let (section, title, place) = (&criterion.section, &criterion.title, &row.place);
                let sentence = format!("{section} {title}: {why} ({place}{more}).");
                lines.push((sentence, self.command(row)));
            }
        }
        lines
    }

    /// The command that shows a cell.
    pub fn command(&self, row: &CellRow) -> String {
        self.command_of(&row.cell, row.worst_seed)
    }

    pub(crate) fn command_of(&self, cell: &str, seed: Option<u64>) -> String {
        let word = |text: &str| {
            let plain =
                |letter: char| letter.is_ascii_alphanumeric() || "-_./:,@=%+".contains(letter);
            if text.chars().all(plain) { text.to_owned() } else { format!("'{text}'") }
        };
        let seed = seed.map_or(String::new(), |seed| format!(" --seed {seed}"));
        let other = if self.baseline == DEFAULT_BASELINE {
            String::new()
        } else {
            format!(" --baseline {}", word(&self.baseline))
        };
        let on =
            if self.testbed == "sim" { String::new() } else { format!(" --on {}", self.testbed) };
        format!(
            "firstflight evaluate {}{on}{other} --cell {}{seed}",
            word(&self.algorithm),
            word(cell)
        )
    }
}

/// The default baseline.
pub const DEFAULT_BASELINE: &str = "slowstart/cubic/prr";

#[cfg(test)]
mod tests {
    use super::figure;

    #[test]
    fn figures_have_three_digits_and_no_idle_zeros() {
        for (value, text) in [
            (0.0, "0"),
            (0.123_456, "0.123"),
            (1.0, "1"),
            (12.34, "12.3"),
            (-0.05, "-0.05"),
            (1234.0, "1234"),
            (100.0, "100"),
            (0.000_012, "1.2e-5"),
            (99_999.0, "1.0e5"),
        ] {
            assert_eq!(figure(value), text);
        }
    }
}
