//! The tables of an A/B test for the terminal.

use crate::fit::fitted;
use crate::terminal::{QUIET, RULES, width, wrap};
use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, Table as Grid};
use firstflight_lab::ab::Analysis;
use firstflight_lab::ab::analysis::{Entry, Part};
use firstflight_lab::stats::Interval;

fn grid(header: &[&str]) -> Grid {
    let mut grid = Grid::new();
    grid.load_style(RULES).set_content_arrangement(ContentArrangement::Disabled);
    let cell = |(index, text): (usize, &&str)| {
        Cell::new(text).set_alignment(if index == 0 {
            CellAlignment::Left
        } else {
            CellAlignment::Right
        })
    };
    grid.set_header(header.iter().enumerate().map(cell));
    grid
}

fn right(text: impl Into<String>) -> Cell {
    Cell::new(text.into()).set_alignment(CellAlignment::Right)
}

/// Value over its interval.
fn two_lines(value: Interval, digits: usize, sign: bool) -> String {
    let show = |x: f64| {
        if !x.is_finite() {
            "-".to_owned()
        } else if sign {
            format!("{x:+.digits$}")
        } else {
            format!("{x:.digits$}")
        }
    };
    format!("{}\n{}..{}", show(value.value), show(value.low), show(value.high))
}

/// Columns that go first where they do not all fit: finer quantiles and second forms of the same
/// number before the means that decide.
const FIRST_TO_GO: &[&str] = &[
    "loss p50",
    "loss p90",
    "median",
    "pair p50",
    "shorter by p1-p99",
    "completion mean",
    "retransmitted",
    "pair p95",
    "loss p99",
    "completion p99",
    "over 5 %",
    "queueing delay",
    "completion p95",
];

/// One row per arm over all connections.
pub(super) fn overall(analysis: &Analysis) -> String {
    let header = [
        "arm",
        "completion\np50 ms",
        "completion\np95 ms",
        "completion\np99 ms",
        "completion\nmean ms",
        "shorter by\nmean %",
        "shorter by\np1-p99 %",
        "median\n%",
        "pair p50\nratio",
        "pair p95\nratio",
        "over 5 %\nlonger",
        "loss\nmean %",
        "loss p50\n%",
        "loss p90\n%",
        "loss p99\n%",
        "more loss\npoints",
        "retransmitted\n%",
        "queueing delay\np99 ms",
    ];
    let mut grid = grid(&header);
    for entry in analysis.of(Part::All) {
        let versus = entry.versus_baseline.as_ref();
        let or_dash = |text: Option<String>| right(text.unwrap_or_else(|| "-".into()));
        grid.add_row([
            Cell::new(format!("{}{}", entry.arm, if entry.front { " ·" } else { "" })),
            right(two_lines(entry.ttlb_ms.p50, 0, false)),
            right(two_lines(entry.ttlb_ms.p95, 0, false)),
            right(two_lines(entry.ttlb_ms.p99, 0, false)),
            right(format!("{:.1}", entry.ttlb_ms.mean)),
            or_dash(versus.map(|versus| two_lines(versus.reduction_pct.mean, 1, false)))
                .add_attribute(Attribute::Bold),
            or_dash(versus.map(|versus| format!("{:.1}", versus.reduction_pct.percentiles))),
            or_dash(versus.map(|versus| format!("{:.1}", versus.reduction_pct.median))),
            or_dash(versus.map(|versus| two_lines(versus.paired.p50, 3, false))),
            or_dash(versus.map(|versus| two_lines(versus.paired.p95, 3, false))),
            or_dash(versus.map(|versus| format!("{:.1} %", versus.paired.worse_pct))),
            right(format!("{:.2}", entry.loss_pct.mean)),
            right(two_lines(entry.loss_pct.p50, 2, false)),
            right(two_lines(entry.loss_pct.p90, 2, false)),
            right(two_lines(entry.loss_pct.p99, 1, false)),
            or_dash(versus.map(|versus| two_lines(versus.loss_points, 2, true))),
            right(format!("{:.2}", entry.retransmitted_pct)),
            right(format!("{:.1}", entry.queue_p99_ms)),
        ]);
    }
    fitted(grid, 1, FIRST_TO_GO)
}

/// Reduction of every arm by group, size, BDP and buffer.
pub(super) fn by_part(analysis: &Analysis) -> String {
    let arms = &analysis.experiment.arms;
    let mut header = vec!["shorter downloads, %", "connections"];
    header.extend(arms[1..].iter().map(String::as_str));
    let mut text = String::new();
    for (part, title) in [
        (Part::Group, "group"),
        (Part::Size, "object"),
        (Part::Bdp, "BDP"),
        (Part::Buffer, "buffer in BDP"),
    ] {
        let entries: Vec<&Entry> = analysis.of(part).collect();
        let parts: Vec<&[&Entry]> = entries.chunk_by(|a, b| a.name == b.name).collect();
        if parts.len() < 2 {
            continue;
        }
        header[0] = title;
        let mut grid = grid(&header);
        for arms in parts {
            let cells = arms
                .iter()
                .filter_map(|entry| Some((entry, entry.versus_baseline.as_ref()?)))
                .map(|(entry, versus)| {
                    let marks = format!(
                        "{}{}",
                        if versus.significant { "" } else { "°" },
                        if entry.front { " ·" } else { "  " }
                    );
                    let Interval { value, low, high } = versus.reduction_pct.mean;
                    let loss = versus.loss_points.value;
                    right(format!("{value:.1} [{low:.1}, {high:.1}]{marks}\n{loss:+.2} pt loss  "))
                });
            let first = [Cell::new(&arms[0].name), right(arms[0].flows.to_string())];
            grid.add_row(first.into_iter().chain(cells));
        }
        text.push_str(&fitted(grid, 1, &["connections"]));
        text.push('\n');
    }
    text
}

/// The baseline against itself, in a line.
pub(super) fn self_check(analysis: &Analysis) -> String {
    let aa = &analysis.aa;
    let range = |interval: Option<Interval>| match interval {
        Some(Interval { value, low, high }) => format!("{value:+.3} [{low:+.3}, {high:+.3}]"),
        None => "too few pairs".into(),
    };
    let line = format!(
        "A/A: the baseline against itself under other seeds on {} connections: {} % shorter, {} points more loss: {}; \
         with the same seed on {} connections: {} differ",
        aa.pairs,
        range(aa.reduction_pct),
        range(aa.loss_points),
        if aa.covers_zero { "covers zero" } else { "DOES NOT COVER ZERO" },
        aa.repeated,
        if aa.differed == 0 { "none".into() } else { aa.differed.to_string() },
    );
    format!("{QUIET}{}{QUIET:#}", wrap(&line, 0, width()))
}
