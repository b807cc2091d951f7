//! The report: one self-contained page without scripts, in the colours of the other reports.

use super::row::Verdict;
use super::{Chapter, Count, Reproduction, Row};
use std::fmt::Write as _;

const STYLE: &str = include_str!("../report/style.css");
/// What this page has beyond the common style.
const OWN: &str = "main{max-width:96rem;margin:0 auto;padding:1.5rem}h2{margin-top:2.5rem}table.rows{border-collapse:collapse;width:100%;\
font-size:.86rem}table.rows th,table.rows td{text-align:left;vertical-align:top;padding:.3rem .5rem;border-bottom:1px solid \
color-mix(in srgb,currentColor 15%,transparent)}table.rows td.ours{white-space:nowrap}.v{font-weight:600;white-space:nowrap}.holds{color:#2a7f3f}\
.misses{color:#a66a00}.not_reproduced,.fails{color:#c0392b}.reported,.quoted_only,.not_run{opacity:.65}.remark{opacity:.75}\
details{margin-top:.2rem}summary{cursor:pointer}nav a{margin-right:1rem}dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}\
dt{font-family:monospace}dd{margin:0}@media(prefers-color-scheme:dark){.holds{color:#62c37c}.misses{color:#e0a94a}\
.not_reproduced,.fails{color:#ff7a6b}}";

fn text(raw: &str) -> String {
    raw.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Fails => "fails",
        Verdict::NotReproduced => "not_reproduced",
        Verdict::Misses => "misses",
        Verdict::Reported => "reported",
        Verdict::QuotedOnly => "quoted_only",
        Verdict::NotRun => "not_run",
    }
}

fn counted(count: &Count) -> String {
    format!(
        "<b class=holds>{}</b> hold, <b class=not_reproduced>{}</b> not reproduced, <b class=misses>{}</b> miss their band, \
         <b class=fails>{}</b> fail, {} reported, {} quoted only, {} not run",
        count.holds, count.not_reproduced, count.misses, count.fails, count.reported, count.quoted, count.not_run
    )
}

/// One row; `published` is said once per number.
fn row(row: &Row, published: &str) -> String {
    let case = if row.case.is_empty() { String::new() } else { format!(" <span class=remark>({})</span>", text(&row.case)) };
    let note = if row.note.is_empty() { String::new() } else { format!("<div class=remark>{}</div>", text(&row.note)) };
    let mut more = String::new();
    if !row.sweep.is_empty() {
        more.push_str("<details><summary>other settings</summary><dl>");
        for point in &row.sweep {
            let _ = write!(more, "<dt>{}</dt><dd>{}</dd>", text(&point.setting), text(&point.ours));
        }
        more.push_str("</dl></details>");
    }
    if !row.assumptions.is_empty() {
        let _ = write!(more, "<details><summary>assumes</summary>{}</details>", text(&row.assumptions.join(", ")));
    }
    format!(
        "<tr><td>{}<td>{}<td>{}<td>{}{case}{note}{more}<td class=ours>{}<td>{}<td class=\"v {}\">{}</tr>\n",
        row.id,
        row.gate.letter(),
        text(published),
        text(&row.measure),
        text(&row.ours),
        text(&row.accepted),
        class(row.verdict),
        row.verdict.words()
    )
}

fn chapter(chapter: &Chapter) -> String {
    let mut out = format!(
        "<h2 id=\"{0}\">{0}: {1}</h2><p>Stated: {2}</p><p>{3}</p><table class=rows><thead><tr><th>row<th>gate<th>published<th>measured\
         <th>ours [95 %]<th>accepted<th>verdict</thead><tbody>\n",
        chapter.name,
        text(chapter.document),
        text(chapter.stated),
        counted(&Count::of(&chapter.rows))
    );
    let mut before = "";
    for one in &chapter.rows {
        out.push_str(&row(one, if one.id == before { "" } else { one.published }));
        before = one.id;
    }
    out.push_str("</tbody></table><details><summary>What the document does not say and we assumed</summary><dl>");
    for assumption in chapter.assumptions {
        let _ = write!(out, "<dt>{}</dt><dd>{}</dd>", text(assumption.name), text(assumption.value));
    }
    out.push_str("</dl></details>\n");
    out
}

pub fn page(all: &Reproduction, command: &str) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <title>Published results beside ours</title><style>{STYLE}{OWN}</style></head><body><main>\n\
         <h1>Published results beside ours</h1><p><code>{}</code>, firstflight {}{}.</p>\
         <p>U follows from the algebra and must hold; G is a direction, reproduced only if its interval is on the published side; B is a band \
         around the published size, a miss is a finding; Q is quoted, its population is unknown; - is measured for the reader.</p><p>{}.</p><nav>",
        text(command),
        all.firstflight,
        if all.quick { ", a quick run with fewer seeds and connections" } else { "" },
        counted(&all.count)
    );
    for chapter in &all.sources {
        let _ = write!(out, "<a href=\"#{0}\">{0}</a>", chapter.name);
    }
    out.push_str("</nav>\n");
    for one in &all.sources {
        out.push_str(&chapter(one));
    }
    out.push_str("</main></body></html>\n");
    out
}
