//! The tables of an A/B test for the terminal.

use crate::output::fitted;
use crate::sheet::{Field, Sheet};
use crate::terminal::{QUIET, TITLE, width, wrap};
use firstflight_lab::ab::Analysis;
use firstflight_lab::ab::analysis::{Entry, Part};
use firstflight_lab::stats::Interval;

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

/// Columns that are shown on request: finer quantiles, and second forms of the same number.
const ON_REQUEST: &[&str] = &[
    "completion mean",
    "shorter by p1-p99",
    "median",
    "pair p50",
    "pair p95",
    "loss p50",
    "loss p90",
    "loss p99",
    "more loss",
    "retransmitted",
];

/// Columns that go first where they do not all fit: what it costs others before what decides.
const FIRST_TO_GO: &[&str] = &["queueing delay", "over 5 %", "loss mean", "completion p99"];

/// Columns of the table over all connections.
pub(super) const OVERALL: &[&str] = &[
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

/// One row per arm over all connections.
pub(super) fn overall(analysis: &Analysis) -> Sheet {
    let mut sheet = Sheet::of_numbers("all connections", OVERALL, 1);
    sheet = sheet.dropping(FIRST_TO_GO).holding_back(ON_REQUEST);
    for entry in analysis.of(Part::All) {
        let versus = entry.versus_baseline.as_ref();
        let or_dash = |text: Option<String>| Field::from(text.unwrap_or_else(|| "-".into()));
        sheet.row([
            Field::from(format!("{}{}", entry.arm, if entry.front { " ·" } else { "" })),
            Field::from(two_lines(entry.ttlb_ms.p50, 0, false)),
            Field::from(two_lines(entry.ttlb_ms.p95, 0, false)),
            Field::from(two_lines(entry.ttlb_ms.p99, 0, false)),
            Field::from(format!("{:.1}", entry.ttlb_ms.mean)),
            or_dash(versus.map(|versus| two_lines(versus.reduction_pct.mean, 1, false))).bold(true),
            or_dash(versus.map(|versus| format!("{:.1}", versus.reduction_pct.percentiles))),
            or_dash(versus.map(|versus| format!("{:.1}", versus.reduction_pct.median))),
            or_dash(versus.map(|versus| two_lines(versus.paired.p50, 3, false))),
            or_dash(versus.map(|versus| two_lines(versus.paired.p95, 3, false))),
            or_dash(versus.map(|versus| format!("{:.1} %", versus.paired.worse_pct))),
            Field::from(format!("{:.2}", entry.loss_pct.mean)),
            Field::from(two_lines(entry.loss_pct.p50, 2, false)),
            Field::from(two_lines(entry.loss_pct.p90, 2, false)),
            Field::from(two_lines(entry.loss_pct.p99, 1, false)),
            or_dash(versus.map(|versus| two_lines(versus.loss_points, 2, true))),
            Field::from(format!("{:.2}", entry.retransmitted_pct)),
            Field::from(format!("{:.1}", entry.queue_p99_ms)),
        ]);
    }
    sheet
}

/// Kinds of parts with a table, and what its first column is called.
pub(super) const PARTS: [(Part, &str); 4] = [
    (Part::Group, "group"),
    (Part::Size, "object"),
    (Part::Bdp, "BDP"),
    (Part::Buffer, "buffer in BDP"),
];

/// Reduction of every arm by group, size, BDP and buffer.
pub(super) fn by_part(analysis: &Analysis) -> Vec<Sheet> {
    PARTS.iter().filter_map(|(part, title)| of_part(analysis, *part, title, false)).collect()
}

/// The same for the terminal, each below its title. Where there is no room for all arms side by
/// side, intervals go below their values before an arm goes.
pub(super) fn by_part_text(analysis: &Analysis) -> String {
    let text = |(part, title): &(Part, &str)| {
        let wide = of_part(analysis, *part, title, false)?;
        let arms = analysis.experiment.arms.len() - 1;
        let names = analysis.of(*part).map(|entry| entry.name.chars().count()).max().unwrap_or(0);
        let narrow = width().is_some_and(|width| width < names + ARM_WIDTH * arms + COUNT_WIDTH);
        let sheet = if narrow { of_part(analysis, *part, title, true)? } else { wide };
        let table = fitted(std::slice::from_ref(&sheet));
        // Without any of the columns that were asked for there is no table.
        let title = wrap(&sheet.title, 0, width());
        (!table.is_empty()).then(|| format!("\n{TITLE}{title}{TITLE:#}\n{table}"))
    };
    PARTS.iter().filter_map(text).collect()
}

/// What an arm takes at most in a table by parts, in columns of the terminal.
const ARM_WIDTH: usize = 23;
/// The column `connections` with what is around it.
const COUNT_WIDTH: usize = 16;

fn of_part(analysis: &Analysis, part: Part, title: &str, narrow: bool) -> Option<Sheet> {
    let entries: Vec<&Entry> = analysis.of(part).collect();
    let parts: Vec<&[&Entry]> = entries.chunk_by(|a, b| a.name == b.name).collect();
    if parts.len() < 2 {
        return None;
    }
    let mut header = vec![title, "connections"];
    header.extend(analysis.experiment.arms[1..].iter().map(String::as_str));
    let heading = format!(
        "Completion time saved against {} in %, by {title}; points of loss below",
        analysis.experiment.arms[0]
    );
    let mut sheet = Sheet::of_numbers(heading, &header, 1).dropping(&["connections"]);
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
                if narrow {
                    return Field::from(format!(
                        "{value:.1}{marks}\n{low:.1}..{high:.1}  \n{loss:+.2} pt  "
                    ));
                }
                Field::from(format!(
                    "{value:.1} [{low:.1}, {high:.1}]{marks}\n{loss:+.2} pt loss  "
                ))
            });
        let first = [Field::from(arms[0].name.as_str()), arms[0].flows.to_string().into()];
        sheet.row(first.into_iter().chain(cells));
    }
    Some(sheet)
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
