//! Tables for the results of `trial analyse`.

use crate::fit::brief;
use crate::output::{Output, fitted};
use crate::terminal::{TITLE, width, wrap};
use firstflight_lab::Error;
use firstflight_lab::field::Answer;
use firstflight_lab::stats::Interval;
use firstflight_table::Table;
use std::fmt::Write as _;

pub(super) struct Shown(pub(super) Answer);

impl Output for Shown {
    fn text(&self) -> String {
        let Shown(answer) = self;
        let mut text = wrap(&answer.finding, 0, width()) + "\n";
        for warning in &answer.warnings {
            text += &(wrap(&format!("Note: {warning}"), 6, width()) + "\n");
        }
        // A plan has no effect to show first.
        let brief = brief() && !answer.results.is_empty();
        let sheets = if brief { vec![answer.effects()] } else { self.sheets() };
        for sheet in sheets {
            let title = wrap(&sheet.title, 0, width());
            let _ = writeln!(text, "\n{TITLE}{title}{TITLE:#}");
            text += &fitted(&[sheet]);
        }
        text += "\n";
        let costs = if brief { answer.costs() } else { Vec::new() };
        for line in costs.into_iter().chain(answer.checks()) {
            text += &(wrap(&line, 2, width()) + "\n");
        }
        if brief {
            let more = "`--wide` shows units, quantiles, parts and the sample size needed";
            text += &(wrap(more, 0, width()) + "\n");
        }
        text
    }

    fn sheets(&self) -> Vec<Table> {
        self.0.tables()
    }

    fn rows(&self) -> Table {
        let mut rows = Table::of_data([
            "arm",
            "baseline",
            "reduction_pct",
            "reduction_pct_low",
            "reduction_pct_high",
            "always_valid_pct_low",
            "always_valid_pct_high",
            "p",
            "stands",
            "rows",
            "units",
            "strata",
            "rows_left_out",
            "stopped_by",
        ]);
        for row in &self.0.results {
            let end = |interval: Option<Interval>, read: fn(&Interval) -> f64| {
                interval.as_ref().map(read).into()
            };
            rows.values([
                row.arm.clone().into(),
                self.0.experiment.baseline.clone().into(),
                end(row.reduction_pct, |one| one.value),
                end(row.reduction_pct, |one| one.low),
                end(row.reduction_pct, |one| one.high),
                end(row.always_valid_pct, |one| one.low),
                end(row.always_valid_pct, |one| one.high),
                row.p.into(),
                row.stands.into(),
                row.rows.into(),
                row.units.into(),
                row.strata.into(),
                row.rows_left_out.into(),
                row.stopped_by.clone().into(),
            ]);
        }
        rows
    }

    fn json(&self) -> Result<String, Error> {
        self.0.to_json()
    }
}
