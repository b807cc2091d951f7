//! The page `docs/results.md`.

use super::row::Verdict;
use super::{Chapter, Count, Reproduction, Row};
use std::fmt::Write as _;

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn count_line(count: &Count) -> String {
    format!(
        "{} hold, {} not reproduced, {} miss their band, {} fail, {} reported without a gate, {} quoted only, {} not run",
        count.holds, count.not_reproduced, count.misses, count.fails, count.reported, count.quoted, count.not_run
    )
}

fn row_line(row: &Row) -> String {
    let case = if row.case.is_empty() { String::new() } else { format!(" ({})", row.case) };
    let measure = if row.measure.is_empty() { row.note.clone() } else { format!("{}{case}", row.measure) };
    let assumed = row.assumptions.join(", ");
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {assumed} |\n",
        row.id,
        row.gate.letter(),
        cell(row.published),
        cell(&measure),
        cell(&row.ours),
        cell(&row.accepted),
        row.verdict.words()
    )
}

/// What stands below the table: notes, sweeps.
fn remarks(chapter: &Chapter) -> String {
    let mut text = String::new();
    for row in chapter.rows.iter().filter(|row| !row.measure.is_empty() && (!row.note.is_empty() || !row.sweep.is_empty())) {
        let case = if row.case.is_empty() { String::new() } else { format!(" ({})", row.case) };
        let note = if row.note.is_empty() { String::new() } else { format!(": {}", row.note) };
        let _ = write!(text, "* **{}** {}{case}, {}{note}", row.id, row.measure, row.verdict.words());
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
         Gates: **U** follows from the algebra and must hold; **G** is a direction, reproduced only if the 95 % interval is on the\n\
         published side; **B** is a band around the published size, a miss is a finding; **Q** is quoted, its population is unknown;\n\
         **-** is measured for the reader. Intervals are paired bootstrap, {} resamples, over seeds (laboratory) or connections\n\
         (populations), each row by itself: of a hundred directions behind which there is nothing, two or three would hold by\n\
         chance. Names in the last column are assumptions: what the document does not say and we had to choose.\n\n\
         {}.\n",
        all.firstflight,
        if all.quick { ", a quick run with fewer seeds and connections" } else { "" },
        super::RESAMPLES,
        count_line(&all.count),
    );
    for chapter in &all.sources {
        let _ = write!(
            text,
            "\n## {}: {}\n\nStated: {}\n\n{}.\n\n| row | gate | published | measured | ours [95 %] | accepted | verdict | assuming |\n|---|---|---|---|---|---|---|---|\n",
            chapter.name,
            chapter.document,
            chapter.stated,
            count_line(&Count::of(&chapter.rows)),
        );
        let mut before = "";
        for row in &chapter.rows {
            // What was published is said once per number.
            let published = if row.id == before { "" } else { row.published };
            text.push_str(&row_line(&Row { published, ..row.clone() }));
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
