//! The tables of an A/B test for the terminal.

use crate::terminal::width;
use firstflight_lab::ab::Analysis;
use firstflight_lab::ab::analysis::{Entry, Part};
use firstflight_lab::decision::{Effect, WorldRow};
use firstflight_lab::stats::{Interval, extremes};
use firstflight_table::text::rounded;
use firstflight_table::{Marked, Table};

/// Columns that are shown only on request.
const ON_REQUEST: &[&str] =
    &["faster 95", "loss 95", "p99 ms", "mean ms", "mean faster", "loss p99", "retransmitted"];

/// Columns that are dropped first if the table does not fit.
const FIRST_TO_GO: &[&str] = &["p95 ms", "p50 ms", "queue ms", "loss %"];

/// Columns of the table over all connections.
pub(crate) const OVERALL: &[&str] = &[
    "arm",
    "p50\nms",
    "p95\nms",
    "faster\n%",
    "range\n%",
    "slower\n%",
    "loss\n%",
    "loss\npoints",
    "queue\nms",
    "faster\n95 %",
    "loss\n95 %",
    "p99\nms",
    "mean\nms",
    "mean\nfaster %",
    "loss p99\n%",
    "retransmitted\n%",
];

/// The line below the table that explains its columns.
pub(crate) const LEGEND: &str = "faster: geometric mean of paired time ratios; range: lowest and highest `faster` over all assumptions; slower: connections over 5 % slower; points: percentage points more loss; queue: p99 of queueing delay";

fn range(low: f64, high: f64, digits: usize) -> String {
    // Too few connections give no bounds.
    if !(low.is_finite() && high.is_finite()) {
        return "-".into();
    }
    let [low, high] = [low, high].map(|x| format!("{:.digits$}", rounded(x, digits)));
    if low == high { low } else { format!("{low}..{high}") }
}

/// One row per arm over all connections.
pub(crate) fn overall(analysis: &Analysis) -> Table {
    let mut sheet = Table::of_numbers("all connections", OVERALL, 1);
    sheet = sheet.dropping(FIRST_TO_GO).holding_back(ON_REQUEST);
    for entry in analysis.of(Part::All) {
        let versus = entry.versus_baseline.as_ref();
        let or_dash = |text: Option<String>| Marked::from(text.unwrap_or_else(|| "-".into()));
        let effects = analysis.decision.effects(&entry.arm);
        let assumed = effects.first();
        let worlds = effects.iter().map(|of| of.time_pct.value);
        let (least, most) = extremes(worlds);
        let chosen = analysis.decision.deploy.as_ref() == Some(&entry.arm);
        let one = |of: Interval, digits: usize| Marked::from(format!("{:.digits$}", of.value));
        sheet.row([
            Marked::from(format!("{}{}", entry.arm, if chosen { " *" } else { "" })),
            one(entry.ttlb_ms.p50, 0),
            one(entry.ttlb_ms.p95, 0),
            or_dash(assumed.map(|of| format!("{:.1}", rounded(of.time_pct.value, 1)))).bold(true),
            or_dash(assumed.map(|_| range(least, most, 0))),
            or_dash(assumed.map(|of| format!("{:.1}", rounded(of.slower_pct.value, 1)))),
            Marked::from(format!("{:.2}", entry.loss_pct.mean)),
            or_dash(assumed.map(|of| format!("{:+.2}", rounded(of.loss_points.value, 2)))),
            Marked::from(format!("{:.0}", entry.queue_p99_ms)),
            or_dash(assumed.map(|of| range(of.time_pct.low, of.time_pct.high, 1))),
            or_dash(assumed.map(|of| range(of.loss_points.low, of.loss_points.high, 2))),
            one(entry.ttlb_ms.p99, 0),
            Marked::from(format!("{:.1}", entry.ttlb_ms.mean)),
            or_dash(
                versus.map(|versus| format!("{:.1}", rounded(versus.reduction_pct.mean.value, 1))),
            ),
            one(entry.loss_pct.p99, 1),
            Marked::from(format!("{:.2}", entry.retransmitted_pct)),
        ]);
    }
    sheet
}

/// Kinds of parts with a table, and the header of its first column.
pub(super) const PARTS: [(Part, &str); 4] = [
    (Part::Group, "group"),
    (Part::Size, "object"),
    (Part::Bdp, "BDP"),
    (Part::Buffer, "buffer in BDP"),
];

/// Time saved by each arm, by group, size, BDP and buffer.
pub(super) fn by_part(analysis: &Analysis) -> Vec<Table> {
    PARTS.iter().filter_map(|(part, title)| of_part(analysis, *part, title, false)).collect()
}

/// The tables by part for the terminal. If the arms do not fit side by side, intervals move below
/// their values before an arm is dropped.
pub(super) fn by_part_fitted(analysis: &Analysis) -> Vec<Table> {
    let fitted = |(part, title): &(Part, &str)| {
        let arms = analysis.experiment.arms.len() - 1;
        let names = analysis.of(*part).map(|entry| entry.name.chars().count()).max().unwrap_or(0);
        let narrow = width().is_some_and(|width| width < names + ARM_WIDTH * arms + COUNT_WIDTH);
        of_part(analysis, *part, title, narrow)
    };
    PARTS.iter().filter_map(fitted).collect()
}

/// Maximum width of an arm in a table by parts, in terminal columns.
const ARM_WIDTH: usize = 23;
/// Width of the column `connections` with its separators.
const COUNT_WIDTH: usize = 16;

fn of_part(analysis: &Analysis, part: Part, title: &str, narrow: bool) -> Option<Table> {
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
    let mut sheet = Table::of_numbers(heading, &header, 1).dropping(&["connections"]);
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
                    return Marked::from(format!(
                        "{value:.1}{marks}\n{low:.1}..{high:.1}  \n{loss:+.2} pt  "
                    ));
                }
                Marked::from(format!(
                    "{value:.1} [{low:.1}, {high:.1}]{marks}\n{loss:+.2} pt loss  "
                ))
            });
        let first = [Marked::from(arms[0].name.as_str()), arms[0].flows.to_string().into()];
        sheet.row(first.into_iter().chain(cells));
    }
    Some(sheet)
}

/// The baseline compared with itself, in a line.
pub(super) fn self_check(analysis: &Analysis) -> String {
    let check = &analysis.decision.check;
    let range = |interval: Option<Interval>| match interval {
        Some(Interval { value, low, high }) => format!("{value:+.2} [{low:+.2}, {high:+.2}]"),
        None => "too few pairs".into(),
    };
    format!(
        "The baseline against itself under other seeds on {} connections: {} % faster, {} points more loss (99 %): {}; \
         with the same seed on {} connections: {} differ",
        check.pairs,
        range(check.time_pct),
        range(check.loss_points),
        if check.passed { "passed" } else { "FAILED" },
        check.repeated,
        if check.differed == 0 { "none".into() } else { check.differed.to_string() },
    )
}

/// The assumptions under which the decision holds, in one line.
pub(super) fn worlds(analysis: &Analysis) -> Option<String> {
    let [_, others @ ..] = &analysis.decision.worlds[..] else { return None };
    let least = others.iter().map(|world| world.connections).min()?;
    let words = |world: &WorldRow| world.corner.words.clone();
    let words: Vec<String> = others.iter().map(words).collect();
    Some(format!("Other assumptions, on {least} connections each: {}", words.join("; ")))
}

/// The effects of every arm under every assumption.
pub(super) fn by_world(analysis: &Analysis) -> Option<Table> {
    let decision = &analysis.decision;
    if decision.worlds.len() < 2 {
        return None;
    }
    let mut sheet = Table::of_numbers("Under every assumption", BY_WORLD, 2);
    for (index, world) in decision.worlds.iter().enumerate() {
        for row in &decision.arms {
            let of = row.effects.get(index)?;
            let show = |effect: Effect, digits: usize| range(effect.low, effect.high, digits);
            sheet.row([
                world.corner.words.clone(),
                row.arm.clone(),
                world.connections.to_string(),
                show(of.time_pct, 1),
                show(of.mean_pct, 1),
                show(of.p95_pct, 1),
                show(of.slower_pct, 1),
                show(of.loss_points, 2),
                show(of.queue_ms, 1),
            ]);
        }
    }
    Some(sheet)
}

/// Columns of the table over assumptions.
const BY_WORLD: &[&str] = &[
    "assumption",
    "arm",
    "connections",
    "faster\n%",
    "faster by\nmean %",
    "faster at\np95 %",
    "over 5 %\nslower %",
    "more loss\npoints",
    "more queueing\ndelay ms",
];
