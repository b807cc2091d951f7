//! The report: one self-contained page with the verdicts over all connections, and for the first
//! ones RTT, delivery rate, windows, ACK spacing, inner signals and every startup's exit on one
//! time axis.

mod chart;

use crate::replay::{Followed, Replay};
use crate::results::Results;
use crate::shown::{mbps, ms};
use crate::summary::{ConnectionRow, EARLY_BELOW, LATE_ABOVE, StartupRow, Verdict};
use chart::{Chart, LEFT, RIGHT, Scale, WIDTH, short};
use std::fmt::Write as _;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("cross.js");
/// Rows of the table of connections.
const MOST_ROWS: usize = 500;
/// Inner signals of one startup that are drawn.
const MOST_SIGNALS: usize = 16;

/// As text of an element or of a quoted attribute.
pub(crate) fn text(raw: &str) -> String {
    raw.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn colour(index: usize) -> String {
    format!("arm-{}", index % 8)
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".into(), |value| format!("{value:.digits$}"))
}

fn bytes(value: Option<u64>) -> String {
    value.map_or_else(|| "-".into(), |value| format!("{}B", short(value as f64)))
}

/// The page.
pub fn to_html(replay: &Replay, results: &Results, command: &str) -> String {
    let count = results.connections.len();
    let title = match &results.connections[..] {
        [one] => format!("Replay of {}", one.name),
        _ => format!("Replay of {count} connections"),
    };
    let mut page = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width,initial-scale=1\">\
         <meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\
         <title>{0}</title><style>{STYLE}</style><main><h1>{0}</h1>\
         <p class=lead>When would each algorithm have exited slow start, on the recorded ACKs? Open loop: the sender did not obey these startups; what it had in \
         flight of the window each would have had is in the column <i>used</i>. <span class=\"v early\">early</span>: with less than {EARLY_BELOW} BDP; \
         <span class=\"v right\">right</span>: up to {LATE_ABOVE} BDP; <span class=\"v late\">late</span>: above, or only at a loss; \
         <span class=\"v silent\">silent</span>: not within the trace. BDP is the best sustained delivery rate times the smallest RTT.</p><p><code>{1}</code></p>",
        text(&title),
        text(command)
    );
    for file in results.files.iter().filter_map(|file| file.fault.as_ref()) {
        let _ = write!(
            page,
            "<div class=\"note warning\"><strong>Partial:</strong> {}</div>",
            text(file)
        );
    }
    if count > 1 {
        verdicts(&mut page, results);
        connections(&mut page, results);
    }
    let kept = replay
        .done
        .iter()
        .zip(&results.connections)
        .filter(|(followed, _)| followed.line.is_some());
    for (followed, row) in kept {
        section(&mut page, followed, row);
    }
    let _ = writeln!(
        page,
        "<footer class=muted><p>firstflight {}</p></footer></main><script>{SCRIPT}</script></html>",
        env!("CARGO_PKG_VERSION")
    );
    page
}

fn verdicts(page: &mut String, results: &Results) {
    page.push_str("<h2>Verdicts</h2><div class=scroll><table><thead><tr><th>startup<th>connections<th>early %<th>right %<th>late %<th>silent %<th>window p10, BDP<th>p50<th>p90<tbody>");
    for row in &results.verdicts {
        let share = |count: u64, verdict: Verdict| {
            format!(
                "<td class=\"v {}\">{:.1}",
                verdict.name(),
                count as f64 * 100.0 / row.connections.max(1) as f64
            )
        };
        let _ = write!(
            page,
            "<tr><td>{}<td>{}{}{}{}{}<td>{}<td>{}<td>{}",
            text(&row.arm),
            row.connections,
            share(row.early, Verdict::Early),
            share(row.right, Verdict::Right),
            share(row.late, Verdict::Late),
            share(row.silent, Verdict::Silent),
            number(row.bdp_ratio_p10, 2),
            number(row.bdp_ratio_p50, 2),
            number(row.bdp_ratio_p90, 2)
        );
    }
    page.push_str("</table></div>");
}

fn connections(page: &mut String, results: &Results) {
    page.push_str("<h2>Connections</h2><div class=scroll><table><thead><tr><th>connection<th>RTT ms<th>rate Mbit/s<th>BDP<th>lost %");
    for arm in &results.arms {
        let _ = write!(page, "<th>{}", text(arm));
    }
    page.push_str("<tbody>");
    for row in results.connections.iter().take(MOST_ROWS) {
        let _ = write!(
            page,
            "<tr><td>{}<td>{}<td>{}<td>{}<td>{:.2}",
            text(&row.name),
            number(row.min_rtt_ms, 1),
            number(row.best_rate_wire_mbps, 1),
            bytes(row.bdp_bytes),
            row.loss_ratio * 100.0
        );
        for arm in &results.arms {
            let _ = match row.startups.iter().find(|startup| startup.arm == *arm) {
                Some(startup) => {
                    write!(
                        page,
                        "<td class=\"v {0}\">{0} {1}",
                        startup.verdict.name(),
                        number(startup.bdp_ratio, 2).replace('-', "")
                    )
                }
                None => write!(page, "<td>-"),
            };
        }
    }
    page.push_str("</table></div>");
    if results.connections.len() > MOST_ROWS {
        let _ = write!(
            page,
            "<p class=muted>and {} more in the JSON</p>",
            results.connections.len() - MOST_ROWS
        );
    }
}

fn startups(page: &mut String, row: &ConnectionRow) {
    page.push_str(
        "<div class=scroll><table><thead><tr><th>startup<th>verdict<th>exit<th>at ms<th>ACK<th>window, BDP<th>in flight<th>used %<th>rate then, Mbit/s<th>of best %<th>estimate<th>aims at, BDP<tbody>",
    );
    for (index, startup) in row.startups.iter().enumerate() {
        let percent = |share: Option<f64>| number(share.map(|share| share * 100.0), 0);
        let verdict = startup.verdict.name();
        let estimate = match (startup.estimate, startup.estimate_unit) {
            (Some(value), Some("ms")) => format!("{value:.1} ms"),
            (Some(value), _) => bytes(Some(value as u64)),
            _ => "-".into(),
        };
        let _ = write!(
            page,
            "<tr><td><span style=\"color:var(--{})\">&#9632;</span> {}{}<td class=\"v {verdict}\">{verdict}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{estimate}<td>{}",
            colour(index),
            text(&startup.arm),
            if startup.exact { " <span class=muted>(ran; exact)</span>" } else { "" },
            startup.reason.unwrap_or("-"),
            number(startup.time_ms, 1),
            startup.ack.map_or_else(|| "-".into(), |ack| ack.to_string()),
            number(startup.bdp_ratio, 2),
            bytes(startup.inflight),
            percent(startup.used_ratio),
            number(startup.rate_then_mbps, 1),
            percent(startup.rate_ratio),
            number(startup.aim_ratio, 2),
        );
    }
    page.push_str("</table></div>");
}

/// How much of a connection is drawn: the startup, with room behind it for what the path turned out
/// to carry.
fn range(followed: &Followed, row: &ConnectionRow) -> f64 {
    let all = ms(followed.end.since(followed.opening.start).0).max(1.0);
    let last = row.startups.iter().filter_map(|startup| startup.time_ms).fold(0.0, f64::max);
    if last > 0.0 && all > last * 4.0 { last * 3.0 } else { all }
}

fn section(page: &mut String, followed: &Followed, row: &ConnectionRow) {
    let Some(line) = &followed.line else { return };
    let to = range(followed, row);
    let _ = write!(
        page,
        "<section data-to={to} data-left={LEFT} data-right={RIGHT} data-width={WIDTH}><h2>{}</h2><div class=time></div>\
         <p class=muted>{}: {}B over {} in {:.1} ms, {} ACKs; RTT {} ms at least, {} at the median; best sustained rate {} Mbit/s ({} on the wire); BDP {}; {:.2} % lost{}</p>",
        text(&row.name),
        text(&row.origin),
        short(row.bytes as f64),
        row.transport,
        row.duration_ms,
        row.acks,
        number(row.min_rtt_ms, 1),
        number(row.rtt_p50_ms, 1),
        number(row.best_rate_mbps, 1),
        number(row.best_rate_wire_mbps, 1),
        bytes(row.bdp_bytes),
        row.loss_ratio * 100.0,
        if to < row.duration_ms - 1.0 {
            format!("; the first {to:.0} ms are drawn")
        } else {
            String::new()
        }
    );
    for finding in &row.findings {
        let _ = write!(page, "<div class=note>{}</div>", text(&finding.text));
    }
    startups(page, row);
    page.push_str("<div class=legend>");
    for (index, startup) in row.startups.iter().enumerate() {
        let when = startup.time_ms.map_or_else(
            || "did not leave".to_owned(),
            |time| format!("left at {time:.1} ms by {}", startup.reason.unwrap_or("")),
        );
        let _ = write!(
            page,
            "<span style=\"color:var(--{})\"><i></i><span style=\"all:unset;color:var(--ink)\">{} {when}</span></span>",
            colour(index),
            text(&startup.arm)
        );
    }
    page.push_str("</div>");
    let start = followed.opening.start;
    let at = |now: firstflight::Time| ms(now.since(start).0);
    let exits = |chart: &mut Chart| {
        row.startups.iter().enumerate().for_each(|(index, startup)| mark(chart, index, startup));
        chart.strokes(line.losses.iter().map(|(now, _)| at(*now)));
    };

    let rtts = || line.moments.iter().filter_map(|moment| Some((at(moment.now), ms(moment.rtt?))));
    let mut chart =
        Chart::new(190.0, to, 0.0, rtts().map(|(_, rtt)| rtt).fold(0.0, f64::max), Scale::Linear);
    chart.dots(rtts());
    row.min_rtt_ms.into_iter().for_each(|min| chart.level(min, "best", "smallest"));
    exits(&mut chart);
    page.push_str(
        &chart.figure("RTT", "ms; triangles: where each startup leaves; red strokes: losses found"),
    );

    let rates: Vec<(f64, f64)> =
        followed.meter.series(700).into_iter().map(|(at, rate)| (ms(at), mbps(rate))).collect();
    let rates: Vec<(f64, f64)> = smooth(&rates, row.min_rtt_ms.unwrap_or(0.0));
    let most =
        rates.iter().map(|(_, rate)| *rate).fold(row.best_rate_mbps.unwrap_or(0.0), f64::max);
    let mut chart = Chart::new(190.0, to, 0.0, most, Scale::Linear);
    chart.line(rates.iter().map(|(at, rate)| (*at, Some(*rate))), "flight", None);
    row.best_rate_mbps.into_iter().for_each(|best| chart.level(best, "best", "best sustained"));
    exits(&mut chart);
    page.push_str(&chart.figure("Delivery rate", "Mbit/s of payload, over a round trip"));

    windows(page, followed, row, to, &exits);

    let gaps = || line.gaps.iter().map(|(now, gap)| (at(*now), *gap as f64 / 1e6));
    let least = gaps().map(|(_, gap)| gap).fold(f64::INFINITY, f64::min);
    let mut chart = Chart::new(
        170.0,
        to,
        if least.is_finite() { least * 0.6 } else { 0.001 },
        gaps().map(|(_, gap)| gap).fold(0.0, f64::max),
        Scale::Log,
    );
    chart.dots(gaps());
    exits(&mut chart);
    page.push_str(&chart.figure(
        "ACK spacing",
        "ms since the ACK before; horizontal bands are bursts and the gaps between them",
    ));

    signals(page, followed, row, to);
    page.push_str("</section>");
}

fn mark(chart: &mut Chart, index: usize, startup: &StartupRow) {
    if let Some(time) = startup.time_ms {
        let title = format!(
            "{} leaves at {time:.1} ms by {}: {}",
            startup.arm,
            startup.reason.unwrap_or(""),
            startup.verdict.name()
        );
        chart.moment(time, &colour(index), &title);
    }
}

/// A moving mean over `span` ms.
fn smooth(rates: &[(f64, f64)], span: f64) -> Vec<(f64, f64)> {
    let mut from = 0;
    let mut sum = 0.0;
    let mut out = Vec::with_capacity(rates.len());
    for (index, (at, rate)) in rates.iter().enumerate() {
        sum += rate;
        while rates[from].0 < at - span {
            sum -= rates[from].1;
            from += 1;
        }
        out.push((*at, sum / (index + 1 - from) as f64));
    }
    out
}

fn windows(
    page: &mut String,
    followed: &Followed,
    row: &ConnectionRow,
    to: f64,
    exits: &dyn Fn(&mut Chart),
) {
    let Some(line) = &followed.line else { return };
    let start = followed.opening.start;
    let at = |now: firstflight::Time| ms(now.since(start).0);
    let all = line
        .moments
        .iter()
        .flat_map(|moment| moment.cwnds.iter().flatten().copied().chain([moment.inflight]));
    let most = all.filter(|bytes| *bytes < 1 << 39).max().unwrap_or(1) as f64;
    let least = line
        .moments
        .iter()
        .map(|moment| moment.inflight)
        .filter(|bytes| *bytes > 0)
        .min()
        .unwrap_or(1) as f64;
    let mut chart = Chart::new(300.0, to, least.max(most / 1e4), most, Scale::Log);
    chart.line(
        line.moments.iter().map(|moment| (at(moment.now), Some(moment.inflight as f64))),
        "flight",
        None,
    );
    chart.line(
        line.moments
            .iter()
            .map(|moment| (at(moment.now), moment.sender_cwnd.map(|cwnd| cwnd as f64))),
        "real",
        None,
    );
    for index in 0..followed.runs.len() {
        let window = |moment: &crate::line::Moment| {
            moment.cwnds.get(index).copied().flatten().map(|cwnd| cwnd as f64)
        };
        chart.line(
            line.moments.iter().map(|moment| (at(moment.now), window(moment))),
            "",
            Some(&colour(index)),
        );
    }
    row.bdp_bytes.into_iter().for_each(|bdp| chart.level(bdp as f64, "best", "BDP"));
    exits(&mut chart);
    page.push_str(&chart.figure(
        "Windows",
        "bytes; grey: really in flight; dotted: the real sender's window where it said so; colours: each startup's window until it leaves",
    ));
}

/// Every inner signal as a strip of its own.
fn signals(page: &mut String, followed: &Followed, row: &ConnectionRow, to: f64) {
    let Some(line) = &followed.line else { return };
    let start = followed.opening.start;
    for (index, startup) in row.startups.iter().enumerate() {
        let Some(names) = line.names.get(index).filter(|names| !names.is_empty()) else { continue };
        let _ = write!(page, "<details><summary>inner signals of {}</summary>", text(&startup.arm));
        for (signal, name) in names.iter().enumerate().take(MOST_SIGNALS) {
            let value = |moment: &crate::line::Moment| {
                moment
                    .signals
                    .get(index)?
                    .get(signal)
                    .copied()
                    .flatten()
                    .filter(|value| *value < u64::MAX / 2)
            };
            let most = line.moments.iter().filter_map(value).max().unwrap_or(0) as f64;
            let mut chart = Chart::new(96.0, to, 0.0, most, Scale::Linear);
            let points = line.moments.iter().map(|moment| {
                (ms(moment.now.since(start).0), value(moment).map(|value| value as f64))
            });
            chart.line(points, "", Some(&colour(index)));
            mark(&mut chart, index, startup);
            page.push_str(
                &chart.figure(&text(name), "times in ns, amounts in bytes, counters as such"),
            );
        }
        page.push_str("</details>");
    }
}
