//! The page `docs/results.md`.

use super::{Chapter, Count, Reproduction, Row, Verdict};
use std::fmt::Write as _;

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn row_line(row: &Row, claim: &str) -> String {
    let case = if row.case.is_empty() { String::new() } else { format!(" ({})", row.case) };
    let measure = if row.measure.is_empty() { row.note.clone() } else { format!("{}{case}", row.measure) };
    let assumed = row.assumptions.join(", ");
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {assumed} |\n",
        row.key,
        row.gates,
        cell(claim),
        cell(&measure),
        cell(&row.ours),
        cell(&row.accepted),
        cell(&row.says)
    )
}

/// What stands below the table: notes, sweeps.
fn remarks(chapter: &Chapter) -> String {
    let mut text = String::new();
    for row in chapter.rows.iter().filter(|row| !row.measure.is_empty() && (!row.note.is_empty() || !row.sweep.is_empty())) {
        let case = if row.case.is_empty() { String::new() } else { format!(" ({})", row.case) };
        let note = if row.note.is_empty() { String::new() } else { format!(": {}", row.note) };
        let _ = write!(text, "* **{}** {}{case}, {}{note}", row.key, row.measure, row.says);
        if !row.sweep.is_empty() {
            let points: Vec<String> = row.sweep.iter().map(|point| format!("{}: {}", point.setting, point.ours)).collect();
            let _ = write!(text, " — sweep: {}", points.join("; "));
        }
        text.push('\n');
    }
    text
}

pub fn page(all: &Reproduction, command: &str) -> String {
    let mut text = format!(
        "<!-- Written by `{command}`; do not edit. -->\n\
         # Published results beside ours\n\n\
         Written by `{command}` with firstflight {}{}. Every row of our list of experiments stands here, also those that do not come out\n\
         and those that were not run.\n\n\
         Gates: **U** follows from the algebra and must hold; **G** is a direction, **B** a band around the published size; **Q** is\n\
         quoted; **-** is measured for the reader. A verdict states size: *confirmed in size* is an effect beyond noise inside the\n\
         accepted band (without a band: two thirds to one and a half times the published effect); *same direction, smaller* or *larger*\n\
         gives both numbers; *not seen* is an effect whose 95 % interval reaches no effect, or a condition that is not met;\n\
         *opposite* lies beyond noise on the other side. Intervals are paired bootstrap, {} resamples, over seeds (laboratory) or\n\
         connections (populations), each row by itself: of a hundred directions behind which there is nothing, two or three would\n\
         be seen by chance. Names in the last column are assumptions: what the document does not say and we had to choose.\n\n\
         {}.\n",
        all.firstflight,
        if all.quick { ", a quick run with fewer seeds and connections" } else { "" },
        super::RESAMPLES,
        all.count.words(),
    );
    for chapter in &all.sources {
        let findings: Vec<String> = chapter.findings.iter().map(|finding| format!("{finding}\n\n")).collect();
        let _ = write!(
            text,
            "\n## {}: {}\n\nStated: {}\n\n{}.\n\n{}| row | gate | published | measured | ours [95 %] | accepted | verdict | assuming |\n|---|---|---|---|---|---|---|---|\n",
            chapter.name,
            chapter.document,
            chapter.stated,
            Count::of(&chapter.rows).words(),
            findings.concat(),
        );
        let mut before = "";
        for row in &chapter.rows {
            // What was published is said once per number.
            let claim = if row.id == before { "" } else { row.claim };
            text.push_str(&row_line(row, claim));
            before = row.id;
        }
        let remarks = remarks(chapter);
        if !remarks.is_empty() {
            let _ = write!(text, "\nRemarks:\n{remarks}");
        }
        let open: Vec<&Row> = chapter.rows.iter().filter(|row| row.verdict == Verdict::NotRun).collect();
        if !open.is_empty() {
            let ids: Vec<&str> = open.iter().map(|row| row.id).collect();
            let _ = write!(text, "\nNot run: {}.\n", ids.join(", "));
        }
        text.push_str("\nAssumed:\n");
        for assumption in chapter.assumptions {
            let _ = writeln!(text, "* `{}`: {}", assumption.name, assumption.value);
        }
    }
    text
}
