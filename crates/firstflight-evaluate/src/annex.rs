//! The annex for an Internet-Draft: what the evaluation found, with holes for what only the author can
//! say. Its text is the same as Markdown for kramdown-rfc and in the vocabulary of xml2rfc.

mod block;
mod markdown;
mod xml;

use crate::report::{CellRow, CriterionRow, Report, Verdict};
use block::Block;

impl Report {
    /// The annex as Markdown for kramdown-rfc, in lines of at most 72 columns, as RFCs have.
    pub fn annex(&self) -> String {
        markdown::of(&self.title(), &self.blocks())
    }

    /// The same in the vocabulary of xml2rfc, version 3 (RFC 7991): a `<section>` for the `<back>` of
    /// an Internet-Draft whose references name RFC 9743.
    pub fn annex_xml(&self) -> String {
        xml::of(&self.title(), &self.blocks())
    }

    fn title(&self) -> String {
        format!("Evaluation of {}", self.algorithm)
    }

    fn blocks(&self) -> Vec<Block> {
        let method = format!(
            ". It was made by firstflight {} with version {} of its battery (SHA-256 {}). Every criterion was run for {} and for {} in the same place with the same seeds, from {} on, in {} runs of {} cells {}.",
            self.firstflight,
            self.version,
            self.sha256,
            self.algorithm_full,
            self.baseline_full,
            self.seed,
            self.runs,
            self.cells,
            self.ran_in()
        );
        let statistics = format!(
            "Differences are paired by seed; intervals are of 95 percent by Student's t. The {} rules that compare with the baseline are judged together at 5 percent (Holm). {} of them are below 0.05 by themselves. \"concern\" is a finding to explain, \"pass\" that every cell excludes its margin, \"undecided\" that intervals are too wide. RFC 9743 gives no thresholds; margins are conventions of the battery.",
            self.tests, self.marked
        );
        let mut blocks = vec![
            Block::Refers("This annex follows the criteria of ", method),
            Block::Paragraph(statistics),
        ];
        let notes = self.notes.iter().skip(1).chain(&self.partial).chain(&self.broken);
        blocks.extend(notes.cloned().map(Block::Paragraph));
        let row = |row: &CriterionRow| {
            [row.section.clone(), row.verdict.name().to_owned(), row.title.clone()]
        };
        blocks.push(Block::Table {
            title: "Criteria of RFC 9743 and what they came to",
            head: ["Section", "Verdict", "Criterion"],
            rows: self.criteria.iter().map(row).collect(),
        });
        blocks.extend(self.criteria.iter().flat_map(section));
        blocks.push(Block::Heading { anchor: "scope".into(), title: "Scope and Security".into() });
        blocks.extend(CLOSING.map(|text| Block::Paragraph(text.into())));
        blocks
    }

    fn ran_in(&self) -> &'static str {
        match self.testbed {
            "sim" => "in a packet-level simulator with QUIC senders",
            "quic" => "between real QUIC stacks in virtual time",
            _ => "behind an emulated link on Linux",
        }
    }
}

fn section(criterion: &CriterionRow) -> Vec<Block> {
    let CriterionRow { section, title, verdict, strength, .. } = criterion;
    let reason = criterion.reason.as_ref().map_or(String::new(), |why| format!(": {why}"));
    let says = format!("RFC 9743 {section} ({strength}). Verdict: {}{reason}.", verdict.name());
    let mut blocks = vec![
        Block::Heading { anchor: section.clone(), title: format!("{section}: {title}") },
        Block::Paragraph(says),
    ];
    if !criterion.about.is_empty() {
        blocks.push(Block::Paragraph(criterion.about.clone()));
    }
    let ours = criterion.ours.iter().map(|line| format!("Convention: {line}."));
    let missing = criterion.missing.iter().map(|line| format!("Not run: {line}."));
    let rules = by_rule(&criterion.judges);
    let rules = rules.iter().map(|(what, rows)| line(what, rows));
    let items: Vec<String> = ours.chain(missing).chain(rules).collect();
    if !items.is_empty() {
        blocks.push(Block::Items(items));
    }
    let asks = |question: &String| Block::Paragraph(format!("AUTHOR: {question}"));
    blocks.extend(criterion.author.iter().map(asks));
    if *verdict == Verdict::Concern {
        let explain = "AUTHOR: explain this finding, or why it does no harm.";
        blocks.push(Block::Paragraph(explain.into()));
    }
    blocks
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
        let key =
            |row: &CellRow| (row.verdict.rank(), row.upper.or(row.difference).unwrap_or(f64::MIN));
        let (a, b) = (key(a), key(b));
        b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    let worst = worst.map_or(String::new(), |row| {
        let worse = row.worse();
        let worse = if worse.is_empty() { String::new() } else { format!(" ({worse})") };
        format!("; worst in {}: {}, baseline {}{worse}", row.cell, row.ours(), row.theirs())
    });
    let cells = if rows.len() == 1 { "1 cell".to_owned() } else { format!("{} cells", rows.len()) };
    format!("{what}, {cells}: {}{worst}.", counted.join(", "))
}

/// Rows of one metric, role and horizon together, in the order of their first.
fn by_rule(rows: &[CellRow]) -> Vec<(String, Vec<&CellRow>)> {
    let mut groups: Vec<(String, Vec<&CellRow>)> = Vec::new();
    for row in rows {
        let what = row.key();
        match groups.iter_mut().find(|(known, _)| *known == what) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((what, vec![row])),
        }
    }
    groups
}

/// What RFC 9743 section 3.2 and every draft ask of the author besides.
const CLOSING: [&str; 2] = [
    "AUTHOR: for which environments is the algorithm meant: the Internet, or controlled networks only? Say so in the abstract, too (RFC 9743 3.2).",
    "AUTHOR: which data of the network or of receivers does the algorithm trust, and what can an attacker gain by false ones?",
];
