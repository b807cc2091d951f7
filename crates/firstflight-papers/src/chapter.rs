//! Results: the rows of each document, and their number by verdict.

use crate::{Assumption, Figure, Row, Verdict};
use serde::Serialize;

/// Gives every row a unique key: the claim's number, followed by the row's index if the claim has several rows.
pub(crate) fn numbered(mut rows: Vec<Row>) -> Vec<Row> {
    for at in 0..rows.len() {
        let id = rows[at].id;
        let several = rows.iter().filter(|row| row.id == id).count() > 1;
        let place = rows[..=at].iter().filter(|row| row.id == id).count();
        rows[at].key = if several { format!("{id}#{place}") } else { id.to_owned() };
    }
    rows
}

/// Results of one document.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chapter {
    /// Name.
    pub name: &'static str,
    /// Document and version.
    pub document: &'static str,
    /// Statements about its experiments.
    pub stated: &'static str,
    /// Our assumptions where the document is silent.
    pub assumptions: &'static [Assumption],
    /// Joint finding of its rows.
    pub findings: Vec<String>,
    /// Its rows, in the order of the list; the gates and cases of one claim are adjacent.
    pub rows: Vec<Row>,
    /// Figures.
    pub figures: Vec<Figure>,
    /// Claims without a measured value, and values without a claim. A test requires this to be empty.
    #[serde(skip)]
    pub unmatched: Vec<String>,
}

/// Number of rows by verdict; serialised as an object with the verdicts' keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count([usize; Verdict::ALL.len()]);

impl Count {
    /// Counts these rows.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Count {
        let mut count = Count::default();
        for row in rows {
            count.0[row.verdict as usize] += 1;
        }
        count
    }

    /// Number of rows with this verdict.
    pub fn number(&self, verdict: Verdict) -> usize {
        self.0[verdict as usize]
    }

    /// Every verdict with its count.
    pub fn each(&self) -> impl Iterator<Item = (Verdict, usize)> + '_ {
        Verdict::ALL.into_iter().map(|verdict| (verdict, self.number(verdict)))
    }

    /// "12 confirmed in size, 3 smaller than published, ...": the verdicts that occur.
    pub fn words(&self) -> String {
        let told = self
            .each()
            .filter(|(_, number)| *number > 0)
            .map(|(verdict, number)| format!("{number} {}", verdict.words()));
        told.collect::<Vec<_>>().join(", ")
    }
}

impl Serialize for Count {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.each().map(|(verdict, number)| (verdict.key(), number)))
    }
}

/// State of a run that was stopped and contains only the finished documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Partial {
    /// Number of finished documents.
    pub documents: usize,
    /// Number of requested documents.
    pub of: usize,
    /// The first unfinished document, in the order of the list.
    pub stopped_in: &'static str,
}

impl Partial {
    /// `partial: 2 of 7 documents, stopped in prr`.
    pub fn words(&self) -> String {
        let Partial { documents, of, stopped_in } = self;
        format!("partial: {documents} of {of} documents, stopped in {stopped_in}")
    }
}

/// All results, as in `--json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reproduction {
    /// Version of the program.
    pub firstflight: &'static str,
    /// Whether the run used fewer seeds and connections than a full run.
    pub quick: bool,
    /// Set if the run was stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
    /// Documents in the order of the list.
    pub sources: Vec<Chapter>,
    /// All rows together.
    pub count: Count,
}

impl Reproduction {
    /// Combines these chapters.
    pub fn new(quick: bool, sources: Vec<Chapter>) -> Reproduction {
        let count = Count::of(sources.iter().flat_map(|chapter| &chapter.rows));
        Reproduction {
            firstflight: env!("CARGO_PKG_VERSION"),
            quick,
            partial: None,
            sources,
            count,
        }
    }

    /// The result in one sentence.
    pub fn finding(&self) -> String {
        use Verdict::{
            Confirmed, Exact, Fails, Larger, NotSeen, Opposite, SameDirection, SizeOpen, Smaller,
            WithinBound,
        };
        let of = |verdicts: &[Verdict]| -> usize {
            verdicts.iter().map(|verdict| self.count.number(*verdict)).sum()
        };
        let parts = [
            (of(&[WithinBound]), "are within the accepted bounds"),
            (
                of(&[SizeOpen, Smaller, Larger, SameDirection]),
                "have the same direction but a different, undecided or unpublished size",
            ),
            (of(&[NotSeen, Fails]), "are not seen"),
            (of(&[Opposite]), "are opposite"),
        ];
        let parts = parts.into_iter().filter(|(number, _)| *number > 0);
        let parts: Vec<String> =
            parts.map(|(number, words)| format!(", {number} {words}")).collect();
        let parts = parts.concat();
        let judged = of(Verdict::MEASURED) + of(&[Fails]);
        let confirmed = of(&[Confirmed, Exact]);
        format!(
            "Of {judged} published results that can be judged, {confirmed} are confirmed{parts}."
        )
    }

    /// Whether every consequence of the algebra holds.
    pub fn sound(&self) -> bool {
        self.count.number(Verdict::Fails) == 0
    }

    /// The results as one JSON object; the same run gives the same bytes.
    ///
    /// # Panics
    /// Never: rows hold only numbers and strings.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("numbers and strings serialise");
        text.push('\n');
        text
    }
}
