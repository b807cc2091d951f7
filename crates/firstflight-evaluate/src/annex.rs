//! The annex for an Internet-Draft: Markdown as kramdown-rfc reads it, with holes for what only the
//! author can say. Tables have at most 72 columns, as RFCs have.

use crate::report::{CellRow, CriterionRow, Report, Verdict};
use std::fmt::Write as _;

const COLUMNS: usize = 72;

/// Text in lines of at most 72 columns; lines after the first begin with `indent`.
fn wrapped(text: &str, indent: &str) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > COLUMNS {
            let _ = write!(out, "\n{indent}");
            used = indent.len();
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
    }
    out
}

/// Letters that Markdown would read as its own.
fn plain(text: &str) -> String {
    text.replace('|', "\\|").replace('*', "\\*").replace('_', "\\_").replace('<', "\\<")
}

fn paragraph(out: &mut String, text: &str) {
    let _ = writeln!(out, "{}\n", wrapped(&plain(text), ""));
}

fn item(out: &mut String, text: &str) {
    let _ = writeln!(out, "{}", wrapped(&format!("* {}", plain(text)), "  "));
}

impl Report {
    /// The annex.
    pub fn annex(&self) -> String {
        let mut out = format!("# Evaluation of {}\n\n", plain(&self.algorithm));
        paragraph(
            &mut out,
            &format!(
                "This annex follows the criteria of {{{{!RFC9743}}}}. It was made by firstflight {} with version {} of its battery (SHA-256 {}). Every criterion was run for {} and for {} in the same place with the same seeds, from {} on, in {} runs of {} cells in a packet-level simulator with QUIC senders.",
                self.firstflight,
                self.version,
                self.sha256,
                self.algorithm_full,
                self.baseline_full,
                self.seed,
                self.runs,
                self.cells
            ),
        );
        paragraph(
            &mut out,
            &format!(
                "Differences are paired by seed; intervals are of 95 percent by Student's t. The {} rules that compare with the baseline are judged together at 5 percent (Holm). {} of them are below 0.05 by themselves. \"concern\" is a finding to explain, \"pass\" that every cell excludes its margin, \"undecided\" that intervals are too wide. RFC 9743 gives no thresholds; margins are conventions of the battery.",
                self.tests, self.marked
            ),
        );
        for line in self.notes.iter().skip(1).chain(&self.partial).chain(&self.broken) {
            paragraph(&mut out, line);
        }
        out.push_str(&self.matrix());
        for criterion in &self.criteria {
            out.push_str(&Report::section(criterion));
        }
        out.push_str(CLOSING);
        out
    }

    fn matrix(&self) -> String {
        let mut out = String::from("| Section | Verdict | Criterion |\n|:---|:---|:---|\n");
        for row in &self.criteria {
            let _ = writeln!(
                out,
                "| {} | {} | {} |",
                row.section,
                row.verdict.name(),
                plain(&row.title)
            );
        }
        out + "{: title=\"Criteria of RFC 9743 and what they came to\"}\n\n"
    }

    fn section(criterion: &CriterionRow) -> String {
        let CriterionRow { section, title, verdict, strength, .. } = criterion;
        let mut out = format!("## {}: {}\n\n", section, plain(title));
        let reason = criterion.reason.as_ref().map_or(String::new(), |why| format!(": {why}"));
        paragraph(
            &mut out,
            &format!("RFC 9743 {section} ({strength}). Verdict: {}{reason}.", verdict.name()),
        );
        if !criterion.about.is_empty() {
            paragraph(&mut out, &criterion.about);
        }
        for line in &criterion.ours {
            item(&mut out, &format!("Convention: {line}."));
        }
        for line in &criterion.missing {
            item(&mut out, &format!("Not run: {line}."));
        }
        for (what, rows) in by_rule(&criterion.judges) {
            item(&mut out, &Report::line(&what, &rows));
        }
        let lists = criterion.ours.len() + criterion.missing.len() + criterion.judges.len();
        if lists > 0 {
            out.push('\n');
        }
        for question in &criterion.author {
            paragraph(&mut out, &format!("AUTHOR: {question}"));
        }
        if *verdict == Verdict::Concern {
            paragraph(&mut out, "AUTHOR: explain this finding, or why it does no harm.");
        }
        out
    }

    /// One rule over all its cells: the worst cell, and how many came to what.
    fn line(what: &str, rows: &[&CellRow]) -> String {
        let of = |verdict: Verdict| rows.iter().filter(|row| row.verdict == verdict).count();
        let counted: Vec<String> = Verdict::ALL
            .into_iter()
            .filter(|verdict| of(*verdict) > 0)
            .map(|verdict| format!("{} {}", of(verdict), verdict.name()))
            .collect();
        let worst = rows.iter().min_by(|a, b| {
            let key = |row: &CellRow| {
                (row.verdict.rank(), row.upper.or(row.difference).unwrap_or(f64::MIN))
            };
            let (a, b) = (key(a), key(b));
            b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
        });
        let worst = worst.map_or(String::new(), |row| {
            let worse = row.worse();
            let worse = if worse.is_empty() { String::new() } else { format!(" ({worse})") };
            format!("; worst in {}: {}, baseline {}{worse}", row.cell, row.ours(), row.theirs())
        });
        let cells =
            if rows.len() == 1 { "1 cell".to_owned() } else { format!("{} cells", rows.len()) };
        format!("{what}, {cells}: {}{worst}.", counted.join(", "))
    }
}

/// Rows of one metric, role and horizon together, in the order of their first.
fn by_rule(rows: &[CellRow]) -> Vec<(String, Vec<&CellRow>)> {
    let mut groups: Vec<(String, Vec<&CellRow>)> = Vec::new();
    for row in rows {
        let what = row.what();
        match groups.iter_mut().find(|(known, _)| *known == what) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((what, vec![row])),
        }
    }
    groups
}

/// What RFC 9743 section 3.2 and every draft ask of the author besides.
const CLOSING: &str = "\
## Scope and Security

AUTHOR: for which environments is the algorithm meant: the Internet, or
controlled networks only? Say so in the abstract, too (RFC 9743 3.2).

AUTHOR: which data of the network or of receivers does the algorithm
trust, and what can an attacker gain by false ones?
";

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn lines_have_72_columns_unless_a_word_is_longer() {
        let text = "some words ".repeat(40) + &"x".repeat(90);
        let lines = wrapped(&text, "  ");
        for line in lines.lines().filter(|line| !line.contains("xxx")) {
            assert!(line.chars().count() <= 72, "{line}");
        }
        assert!(lines.lines().skip(1).all(|line| line.starts_with("  ")), "{lines}");
    }
}
