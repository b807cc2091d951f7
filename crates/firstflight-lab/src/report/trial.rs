//! The page of a field test.

use super::html::{AGAIN, Page, TRIAL, in_words};
use super::looks;
use crate::field::{Answer, tables};
use firstflight_table::{Document, Table, html};
use serde::Serialize;

/// All data of the page.
#[derive(Serialize)]
struct Data<'a> {
    command: &'a str,
    version: String,
    answer: &'a Answer,
    /// Looks of the arms.
    arms: Vec<(&'a str, usize)>,
}

impl Answer {
    /// The page; `command` reproduces it.
    pub fn page(&self, command: &str) -> String {
        let names = || self.arms.iter().map(|arm| arm.arm.as_str());
        let version = format!("firstflight {}", self.firstflight);
        let arms = names().zip(looks(names())).collect();
        let data = Data { command, version: version.clone(), answer: self, arms };
        let baseline = &self.experiment.baseline;
        let others: Vec<&str> = names().skip(1).collect();
        let title = match others.as_slice() {
            [] => format!("A field test of {baseline}"),
            others => format!("{} against {baseline} in the field", in_words(others)),
        };
        let body =
            "<div id=\"notes\"></div>\n".to_owned() + &html::document(&self.sections()) + AGAIN;
        let data = serde_json::to_string(&data).unwrap_or_default();
        Page { body: &body, ..TRIAL }.fill(&title, &version, &data)
    }

    fn sections(&self) -> Document {
        let mut out = Document::default();
        out.heading(2, "effects", "Effects");
        out.note([
            "Completion times at equal size: how much shorter than with the baseline. Thick: the 95 % interval for an end that was fixed in \
             advance. Thin: the always-valid interval, which holds however often you look. Hollow: not beyond chance when all arms are \
             tested together.",
        ]);
        out.chart("forest");
        out.table(self.effects().titled(""));
        let mut section = |anchor: &str, title: &str, how: &str, table: Table| {
            if !table.is_empty() {
                out.heading(2, anchor, title);
                out.note([how]);
                out.table(table.titled(""));
            }
        };
        section(
            "where",
            "Where",
            "The effects by size and by round trip; bold if significant when all cells are tested together (Holm, 5 %).",
            tables::parts(self),
        );
        section(
            "tails",
            "Quantiles",
            "Over all connections of an arm, whatever their size; intervals from a bootstrap over units.",
            tables::quantiles(self),
        );
        section(
            "cost",
            "What it costs",
            "Ratios of totals, not means of ratios. Intervals are shown once each arm has 50 events.",
            tables::totals(self),
        );
        out.heading(2, "trust", "How far to trust it");
        out.table(tables::arms(self).titled(""));
        let balance = if self.balance.unbalanced {
            "The distribution of sizes differs between the arms beyond chance"
        } else {
            "The arms have the same distribution of sizes"
        };
        out.items(self.checks().into_iter().chain([balance.to_owned()]));
        let needs = tables::needs(self);
        if !needs.is_empty() {
            out.heading(3, "", needs.title.as_str());
            out.table(needs.titled(""));
        }
        out
    }
}
