//! The report: one self-contained page. Tables are HTML; figures are drawn by its script, which shares code with
//! the other reports.

use crate::{Chapter, Count, Figure, Reproduction, Row, Verdict, gate_words};
use firstflight_lab::report::html::{Page, STILL_SCRIPTS, STILL_STYLE, text};
use serde::Serialize;
use std::fmt::Write as _;

/// The page of reproductions; its body is generated from the rows.
const PAGE: Page<'_> = Page {
    kind: "reproduce",
    skip: "summary",
    styles: &[STILL_STYLE, include_str!("page/reproduce.css")],
    body: "",
    common: STILL_SCRIPTS,
    scripts: &[include_str!("page/reproduce_charts.js"), include_str!("page/reproduce.js")],
};

/// Data for the scripts.
#[derive(Serialize)]
struct Data<'a> {
    command: &'a str,
    finding: String,
    lead: String,
    chapters: Vec<Pictures<'a>>,
}

#[derive(Serialize)]
struct Pictures<'a> {
    name: &'static str,
    figures: &'a [Figure],
}

fn counted(count: &Count) -> String {
    let shown = count.each().filter(|(_, number)| *number > 0);
    shown
        .map(|(verdict, number)| {
            format!("<b class=\"{}\">{number}</b> {}", verdict.key(), verdict.words())
        })
        .collect::<Vec<_>>()
        .join(", ")
}

fn case_of(row: &Row) -> String {
    if row.case.is_empty() {
        String::new()
    } else {
        format!(" <span class=\"remark\">({})</span>", text(&row.case))
    }
}

/// Results under other settings, and the row's assumptions.
fn more(row: &Row) -> String {
    let mut out = String::new();
    if !row.sweep.is_empty() {
        let _ = write!(
            out,
            "<details><summary>{} other settings</summary><dl class=\"plain\">",
            row.sweep.len()
        );
        for point in &row.sweep {
            let _ = write!(out, "<dt>{}</dt><dd>{}</dd>", text(&point.setting), text(&point.ours));
        }
        out.push_str("</dl></details>");
    }
    if !row.assumptions.is_empty() {
        let _ = write!(
            out,
            "<details><summary>assumptions</summary>{}</details>",
            text(&row.assumptions.join(", "))
        );
    }
    out
}

fn note(row: &Row) -> String {
    if row.note.is_empty() {
        String::new()
    } else {
        format!("<div class=\"remark\">{}</div>", text(&row.note))
    }
}

/// One row; `published` is empty except in the first row of a claim.
fn row(row: &Row, published: &str) -> String {
    format!(
        "<tr><td class=\"id\">{}<td data-l=\"check:\">{}<td class=\"published\" data-l=\"published:\">{}<td>{}{}{}{}<td class=\"ours\" data-l=\"ours:\">{}\
         <td data-l=\"accepted:\">{}<td class=\"v {}\">{}</tr>\n",
        row.key,
        gate_words(&row.gates),
        text(published),
        text(&row.measure),
        case_of(row),
        note(row),
        more(row),
        text(&row.ours),
        text(&row.accepted),
        row.verdict.key(),
        text(&row.says)
    )
}

/// The results that were not reproduced, with their notes.
fn open(all: &Reproduction) -> String {
    let rows: Vec<(&Chapter, &Row)> = all
        .sources
        .iter()
        .flat_map(|chapter| chapter.rows.iter().map(move |row| (chapter, row)))
        .filter(|(_, row)| {
            matches!(
                row.verdict,
                Verdict::NotSeen | Verdict::Opposite | Verdict::Fails | Verdict::NotRun
            )
        })
        .collect();
    if rows.is_empty() {
        return "<p>No published result is missing or opposite.</p>\n".to_owned();
    }
    let mut out = String::from("<ul class=\"open\">\n");
    for (chapter, row) in rows {
        let _ = writeln!(
            out,
            "<li><b>{}</b> <a href=\"#{1}\">{1}</a>: {2}{3}: <b>{4}</b> ({5}). Published: {6}.{7}{8}</li>",
            row.key,
            chapter.name,
            text(&row.measure),
            case_of(row),
            text(&row.says),
            text(&row.ours),
            text(row.claim),
            note(row),
            more(row)
        );
    }
    out.push_str("</ul>\n");
    out
}

fn chapter(chapter: &Chapter) -> String {
    let count = Count::of(&chapter.rows);
    let findings: Vec<String> = chapter
        .findings
        .iter()
        .map(|finding| format!("<p class=\"finding\">{}</p>", text(finding)))
        .collect();
    let findings = findings.concat();
    let mut out = format!(
        "<section aria-labelledby=\"{0}\"><h2 id=\"{0}\">{0}: {1}</h2><p class=\"how\">Stated: {2}.</p><p class=\"counts\">{3}.</p>{5}\n\
         <div class=\"figures\" id=\"figures-{0}\"></div>\n<details class=\"table\"><summary>All {4} rows</summary>\
         <table class=\"rows\"><thead><tr><th>row<th>check<th>published<th>measured<th>ours [95 %]<th>accepted<th>verdict</thead><tbody>\n",
        chapter.name,
        text(chapter.document),
        text(chapter.stated),
        counted(&count),
        chapter.rows.len(),
        findings
    );
    let mut before = "";
    for one in &chapter.rows {
        out.push_str(&row(one, if one.id == before { "" } else { one.claim }));
        before = one.id;
    }
    out.push_str("</tbody></table></details>\n<details class=\"table\"><summary>Our assumptions where the document is silent</summary><dl class=\"plain\">");
    for assumption in chapter.assumptions {
        let _ =
            write!(out, "<dt>{}</dt><dd>{}</dd>", text(assumption.name), text(assumption.value));
    }
    out.push_str("</dl></details></section>\n");
    out
}

fn body(all: &Reproduction) -> String {
    let mut out = String::from(
        "<section aria-labelledby=\"summary\"><h2 id=\"summary\">Summary</h2><ul class=\"tally\">",
    );
    for (verdict, number) in all.count.each().filter(|(_, number)| *number > 0) {
        let _ =
            write!(out, "<li class=\"{}\"><b>{number}</b>{}</li>", verdict.key(), verdict.words());
    }
    out.push_str("</ul>\n<nav class=\"chapters\" aria-label=\"Documents\">");
    for chapter in &all.sources {
        let _ = write!(out, "<a href=\"#{0}\">{0}</a>", chapter.name);
    }
    out.push_str(
        "</nav>\n<p class=\"how\">All rows of our list of experiments follow, including those that were not reproduced. A row checks \
         a value that follows from the algebra (exact), a direction, the published size, or nothing (-). Verdicts state \
         size: a significant effect inside the accepted band is confirmed in size, one outside it is reported with both numbers, and \
         one whose interval includes no effect is not seen. Intervals are 95 %, from a paired bootstrap, each row on its own: of a hundred \
         directions without a real effect, two or three would be seen by chance.</p>\n<h3 class=\"after\">Results that were not seen or were opposite, with possible reasons</h3>\n",
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

impl Reproduction {
    /// One self-contained page that loads nothing from elsewhere.
    pub fn to_html(&self, command: &str) -> String {
        page(self, command)
    }
}

fn page(all: &Reproduction, command: &str) -> String {
    let finding = all.finding();
    let lead = format!(
        "{}{} published numbers of {} documents, measured again.{}",
        all.partial.map_or(String::new(), |partial| format!("Incomplete ({}). ", partial.words())),
        all.sources
            .iter()
            .map(|chapter| crate::SOURCES
                .iter()
                .find(|one| one.name == chapter.name)
                .map_or(0, |one| one.items.len()))
            .sum::<usize>(),
        all.sources.len(),
        if all.quick { " A quick run: fewer seeds and connections, wider intervals." } else { "" }
    );
    let chapters = all
        .sources
        .iter()
        .map(|chapter| Pictures { name: chapter.name, figures: &chapter.figures })
        .collect();
    let data =
        serde_json::to_string(&Data { command, finding, lead, chapters }).unwrap_or_default();
    let body = body(all);
    Page { body: &body, ..PAGE }.fill(
        "Published results compared with ours",
        &format!("firstflight {}", all.firstflight),
        &data,
    )
}
