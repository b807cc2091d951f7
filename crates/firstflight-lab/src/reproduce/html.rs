//! The report: one self-contained page. Its tables stand in it as they are; its pictures are drawn by the script inside it, with the code
//! of the other reports.

use super::row::Verdict;
use super::{Chapter, Count, Figure, Reproduction, Row};
use crate::report::html::{Page, REPRODUCE, text};
use serde::Serialize;
use std::fmt::Write as _;

/// What the scripts read.
#[derive(Serialize)]
struct Data<'a> {
    command: &'a str,
    lead: String,
    chapters: Vec<Pictures<'a>>,
}

#[derive(Serialize)]
struct Pictures<'a> {
    name: &'static str,
    figures: &'a [Figure],
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

/// Every way to end, its number and its words.
fn counts(count: &Count) -> [(Verdict, usize, &'static str); 7] {
    [
        (Verdict::Holds, count.holds, "hold"),
        (Verdict::NotReproduced, count.not_reproduced, "not reproduced"),
        (Verdict::Misses, count.misses, "outside their band"),
        (Verdict::Fails, count.fails, "fail by algebra"),
        (Verdict::Reported, count.reported, "reported without a gate"),
        (Verdict::QuotedOnly, count.quoted, "quoted only"),
        (Verdict::NotRun, count.not_run, "not run"),
    ]
}

fn counted(count: &Count) -> String {
    let shown = counts(count).into_iter().filter(|(_, number, _)| *number > 0);
    shown.map(|(verdict, number, words)| format!("<b class=\"{}\">{number}</b> {words}", class(verdict))).collect::<Vec<_>>().join(", ")
}

fn case_of(row: &Row) -> String {
    if row.case.is_empty() { String::new() } else { format!(" <span class=\"remark\">({})</span>", text(&row.case)) }
}

/// What other settings give, and what the row rests on.
fn more(row: &Row) -> String {
    let mut out = String::new();
    if !row.sweep.is_empty() {
        let _ = write!(out, "<details><summary>{} other settings</summary><dl class=\"plain\">", row.sweep.len());
        for point in &row.sweep {
            let _ = write!(out, "<dt>{}</dt><dd>{}</dd>", text(&point.setting), text(&point.ours));
        }
        out.push_str("</dl></details>");
    }
    if !row.assumptions.is_empty() {
        let _ = write!(out, "<details><summary>assumes</summary>{}</details>", text(&row.assumptions.join(", ")));
    }
    out
}

fn note(row: &Row) -> String {
    if row.note.is_empty() { String::new() } else { format!("<div class=\"remark\">{}</div>", text(&row.note)) }
}

/// One row; `published` is said once per number.
fn row(row: &Row, published: &str) -> String {
    format!(
        "<tr><td class=\"id\">{}<td data-l=\"gate\">{}<td class=\"published\" data-l=\"published:\">{}<td>{}{}{}{}<td class=\"ours\" data-l=\"ours:\">{}\
         <td data-l=\"accepted:\">{}<td class=\"v {}\">{}</tr>\n",
        row.id,
        row.gate.letter(),
        text(published),
        text(&row.measure),
        case_of(row),
        note(row),
        more(row),
        text(&row.ours),
        text(&row.accepted),
        class(row.verdict),
        row.verdict.words()
    )
}

/// The directions that did not come out, with what breaks them.
fn open(all: &Reproduction) -> String {
    let rows: Vec<(&Chapter, &Row)> = all
        .sources
        .iter()
        .flat_map(|chapter| chapter.rows.iter().map(move |row| (chapter, row)))
        .filter(|(_, row)| matches!(row.verdict, Verdict::NotReproduced | Verdict::Fails | Verdict::NotRun))
        .collect();
    if rows.is_empty() {
        return "<p>Every direction came out.</p>\n".to_owned();
    }
    let mut out = String::from("<ul class=\"open\">\n");
    for (chapter, row) in rows {
        let _ = writeln!(
            out,
            "<li><b>{}</b> <a href=\"#{1}\">{1}</a>: {2}{3}: <b>{4}</b>, accepted {5}. Published: {6}.{7}{8}</li>",
            row.id,
            chapter.name,
            text(&row.measure),
            case_of(row),
            text(&row.ours),
            text(&row.accepted),
            text(row.published),
            note(row),
            more(row)
        );
    }
    out.push_str("</ul>\n");
    out
}

fn chapter(chapter: &Chapter) -> String {
    let count = Count::of(&chapter.rows);
    let mut out = format!(
        "<section aria-labelledby=\"{0}\"><h2 id=\"{0}\">{0}: {1}</h2><p class=\"how\">Stated: {2}.</p><p class=\"counts\">{3}.</p>\n\
         <div class=\"figures\" id=\"figures-{0}\"></div>\n<details class=\"table\"><summary>All {4} rows</summary>\
         <table class=\"rows\"><thead><tr><th>row<th>gate<th>published<th>measured<th>ours [95 %]<th>accepted<th>verdict</thead><tbody>\n",
        chapter.name,
        text(chapter.document),
        text(chapter.stated),
        counted(&count),
        chapter.rows.len()
    );
    let mut before = "";
    for one in &chapter.rows {
        out.push_str(&row(one, if one.id == before { "" } else { one.published }));
        before = one.id;
    }
    out.push_str("</tbody></table></details>\n<details class=\"table\"><summary>What the document does not say and we assumed</summary><dl class=\"plain\">");
    for assumption in chapter.assumptions {
        let _ = write!(out, "<dt>{}</dt><dd>{}</dd>", text(assumption.name), text(assumption.value));
    }
    out.push_str("</dl></details></section>\n");
    out
}

fn body(all: &Reproduction) -> String {
    let mut out = String::from("<section aria-labelledby=\"summary\"><h2 id=\"summary\">In short</h2><ul class=\"tally\">");
    for (verdict, number, words) in counts(&all.count) {
        let _ = write!(out, "<li class=\"{}\"><b>{number}</b>{words}</li>", class(verdict));
    }
    out.push_str("</ul>\n<nav class=\"chapters\" aria-label=\"Documents\">");
    for chapter in &all.sources {
        let _ = write!(out, "<a href=\"#{0}\">{0}</a>", chapter.name);
    }
    out.push_str(
        "</nav>\n<p class=\"how\">Every row of our list of experiments stands below, also those that do not come out. U follows from the \
         algebra and must hold; G is a direction, reproduced only if its interval is on the published side; B is a band around the published \
         size, and a miss is a finding; Q is quoted, because its population is unknown; - is measured for the reader. Intervals are 95 %, \
         paired bootstrap, each row by itself: of a hundred directions behind which there is nothing, two or three would hold by chance.</p>\n<h3 class=\"after\">Directions that did not come out, and what breaks them</h3>\n",
    );
    out.push_str(&open(all));
    out.push_str("</section>\n");
    for one in &all.sources {
        out.push_str(&chapter(one));
    }
    out.push_str(
        "<section aria-labelledby=\"again\"><h2 id=\"again\">Run it again</h2><p class=\"how\">The same command with the same version gives the \
         same numbers, on any machine, with any number of threads.</p><div class=\"command\"><pre id=\"command\" tabindex=\"0\"></pre>\
         <button type=\"button\" id=\"copy\" class=\"quiet no-print\">Copy</button></div></section>\n",
    );
    out
}

pub fn page(all: &Reproduction, command: &str) -> String {
    let count = &all.count;
    let lead = format!(
        "{} published numbers of {} documents, measured again: {} gated rows hold and {} do not.{}",
        all.sources
            .iter()
            .map(|chapter| super::SOURCES.iter().find(|one| one.name == chapter.name).map_or(0, |one| one.items.len()))
            .sum::<usize>(),
        all.sources.len(),
        count.holds,
        count.not_reproduced + count.misses + count.fails,
        if all.quick { " A quick run: fewer seeds and connections, wider intervals." } else { "" }
    );
    let chapters = all.sources.iter().map(|chapter| Pictures { name: chapter.name, figures: &chapter.figures }).collect();
    let data = serde_json::to_string(&Data { command, lead, chapters }).unwrap_or_default();
    let body = body(all);
    Page { body: &body, ..REPRODUCE }.fill("Published results beside ours", &format!("firstflight {}", all.firstflight), &data)
}
