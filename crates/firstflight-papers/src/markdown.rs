//! The result of each claim, on one Markdown page (`reproduce --markdown`). The CSV and the HTML report
//! have all rows.

use crate::{Chapter, Count, Gate, Reproduction, Row, Verdict, gate_words};
use std::fmt::Write as _;

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// The row that decides a claim: the first one with a gate, otherwise the first.
fn primary<'a>(chapter: &'a Chapter, id: &str) -> Option<&'a Row> {
    let mut rows = chapter.rows.iter().filter(|row| row.id == id);
    let gated = rows.clone().find(|row| row.gate != Gate::Seen);
    gated.or_else(|| rows.next())
}

/// Numbers of the claims, in list order.
fn claims(chapter: &Chapter) -> Vec<&'static str> {
    let mut ids: Vec<&'static str> = chapter.rows.iter().map(|row| row.id).collect();
    ids.dedup();
    ids
}

/// Summary of a document's claims in one sentence.
fn sentence(chapter: &Chapter) -> String {
    let ids = claims(chapter);
    let count = Count::of(ids.iter().filter_map(|id| primary(chapter, id)));
    format!("Of {} claims, each by its first row: {}.", ids.len(), count.words())
}

fn claim_line(chapter: &Chapter, row: &Row) -> String {
    let case = if row.case.is_empty() { String::new() } else { format!(" ({})", row.case) };
    let measure =
        if row.measure.is_empty() { row.note.clone() } else { format!("{}{case}", row.measure) };
    let others =
        Count::of(chapter.rows.iter().filter(|other| other.id == row.id && other.key != row.key));
    let cells = [
        row.id,
        &gate_words(&row.gates),
        row.claim,
        &measure,
        &row.ours,
        &row.says,
        &others.words(),
    ]
    .map(cell);
    format!("| {} |\n", cells.join(" | "))
}

/// Table of the number of rows by document and verdict, for verdicts on effects and levels.
fn counts(all: &Reproduction) -> String {
    let heads: Vec<&str> = Verdict::MEASURED.iter().map(|verdict| verdict.words()).collect();
    let mut text =
        format!("| document | {} |\n|---|{}\n", heads.join(" | "), "---|".repeat(heads.len()));
    let mut line = |name: &str, count: &Count| {
        let cells: Vec<String> =
            Verdict::MEASURED.iter().map(|verdict| count.number(*verdict).to_string()).collect();
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    };
    for chapter in &all.sources {
        line(&format!("[{0}](#{0})", chapter.name), &Count::of(&chapter.rows));
    }
    line("all", &all.count);
    text
}

impl Reproduction {
    /// The page for the documentation, with a line per claim; `command` is the command that wrote it.
    pub fn to_markdown(&self, command: &str) -> String {
        page(self, command)
    }
}

fn page(all: &Reproduction, command: &str) -> String {
    let mut text = format!(
        "<!-- Written by `{command}`; do not edit. -->\n\
         # Published results compared with ours\n\n{}\
         Written by `{command}` with firstflight {}{}. One line per claim: its first row with a gate, and the verdicts of the claim's other\n\
         rows. The CSV (`--csv`) and the report (`--report`) have all {} rows, with accepted bands, assumptions and remarks;\n\
         `crates/firstflight-papers/papers` has the published claims and our assumptions.\n\n\
         A claim is checked for a value that follows from the algebra (*exact*), a *direction*, the published *size*, or nothing\n\
         (*-*); *quoted* claims are not measured. Verdicts state size: *confirmed in size* is a significant effect inside the\n\
         accepted band (without a band: two thirds to one and a half times the published effect); *same direction, smaller* or *larger*\n\
         gives both numbers; *not seen* is an effect whose 95 % interval includes no effect, or a condition that is not met;\n\
         *opposite* is significant in the other direction. Intervals are from a paired bootstrap with {} resamples over seeds (laboratory)\n\
         or connections (populations), each row on its own: of a hundred directions without a real effect, two or three would\n\
         be seen by chance.\n\n\
         Rows by verdict:\n\n{}",
        all.partial
            .map_or(String::new(), |partial| format!("**Incomplete** ({}).\n\n", partial.words())),
        all.firstflight,
        if all.quick { ", a quick run with fewer seeds and connections" } else { "" },
        all.sources.iter().map(|chapter| chapter.rows.len()).sum::<usize>(),
        crate::RESAMPLES,
        counts(all),
    );
    for chapter in &all.sources {
        let findings: Vec<String> =
            chapter.findings.iter().map(|finding| format!("{finding}\n\n")).collect();
        let _ = write!(
            text,
            "\n<a id=\"{0}\"></a>\n## {0}: {1}\n\nStated: {2}\n\n{3}\n\n{4}| claim | check | published | measured | ours [95 %] | verdict | other rows |\n|---|---|---|---|---|---|---|\n",
            chapter.name,
            chapter.document,
            chapter.stated,
            sentence(chapter),
            findings.concat(),
        );
        for row in claims(chapter).iter().filter_map(|id| primary(chapter, id)) {
            text.push_str(&claim_line(chapter, row));
        }
    }
    text
}
