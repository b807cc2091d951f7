//! Published numbers beside ours: every row of our list of experiments, by the document it stands in.
//!
//! A [`Source`] is a document with its rows and with what it leaves unsaid; [`Source::run`] measures the rows through the lab. Gates say
//! what a row is worth: **U** follows from the algebra and must hold, **G** is a direction that counts as reproduced only if it holds,
//! **B** is a band around the published size, **Q** is quoted because its population is unknown. No row is left out: one that cannot
//! be measured says why.

#![forbid(unsafe_code)]

pub mod best;
pub mod early_retransmit;
pub mod figure;
pub mod gvisor;
mod html;
pub mod hystart_plus_plus;
mod lab;
mod markdown;
pub mod neqo;
pub mod prr;
pub mod rapid_start;
mod row;
mod sample;
mod servers;
mod verdict;

pub use figure::Figure;
pub use row::{Accept, Gate, Point, Row, Try};
pub use sample::{Interval, RESAMPLES};
pub use verdict::{Published, Verdict};

use firstflight_lab::error::{Bad, nearest};
use serde::Serialize;

/// A row of the list: what was published, and what it is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Number of the row in the list of experiments.
    pub id: &'static str,
    /// Letters of its gates.
    pub gates: &'static str,
    /// What was published, shortly.
    pub published: &'static str,
}

/// Something that the document does not say and that we had to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Assumption {
    /// The name that rows refer to.
    pub name: &'static str,
    /// What we chose.
    pub value: &'static str,
}

/// A document with published numbers.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// The name on the command line.
    pub name: &'static str,
    /// Document and version.
    pub document: &'static str,
    /// What it states about its experiments.
    pub stated: &'static str,
    /// Its rows.
    pub items: &'static [Item],
    /// What it leaves unsaid.
    pub assumptions: &'static [Assumption],
    measure: fn(&Effort<'_>) -> Result<Measured, Bad>,
}

/// What was measured for a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Rows.
    pub rows: Vec<Row>,
    /// Pictures.
    pub figures: Vec<Figure>,
    /// What the rows say together, in words made from their numbers.
    pub findings: Vec<String>,
}

impl Measured {
    /// Adds what another part of the document measured.
    pub fn extend(&mut self, other: Measured) {
        self.rows.extend(other.rows);
        self.figures.extend(other.figures);
        self.findings.extend(other.findings);
    }
}

impl From<Vec<Row>> for Measured {
    /// Rows without pictures.
    fn from(rows: Vec<Row>) -> Measured {
        Measured { rows, ..Measured::default() }
    }
}

/// Every document, in the order of the list of experiments.
pub const SOURCES: &[Source] =
    &[hystart_plus_plus::SOURCE, rapid_start::SOURCE, best::SOURCE, gvisor::SOURCE, prr::SOURCE, early_retransmit::SOURCE, neqo::SOURCE];

/// How much to spend.
#[derive(Clone, Copy)]
pub struct Effort<'a> {
    /// How many seeds and connections.
    pub scale: Scale,
    /// Called with what is being measured now.
    pub tell: &'a (dyn Fn(&str) + Sync),
}

/// How many seeds and connections an effort has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Enough to see that every row is measured and nothing else: for tests. Intervals say nothing.
    Glance,
    /// Minutes instead of tens of them.
    Quick,
    /// What the list of experiments asks for.
    Full,
}

impl Effort<'_> {
    /// Seeds of a laboratory case.
    pub fn seeds(&self) -> u32 {
        match self.scale {
            Scale::Glance => 2,
            Scale::Quick => 6,
            Scale::Full => 30,
        }
    }

    /// The first unless the run is a full one.
    pub fn either<T>(&self, quick: T, full: T) -> T {
        if self.scale == Scale::Full { full } else { quick }
    }

    /// Connections of a population: a glance takes a fortieth of a quick run.
    pub fn connections<T: From<u32> + std::ops::Div<Output = T> + Ord>(&self, quick: T, full: T) -> T {
        match self.scale {
            Scale::Glance => (quick / T::from(40)).max(T::from(40)),
            Scale::Quick => quick,
            Scale::Full => full,
        }
    }

    fn tell(&self, what: &str) {
        (self.tell)(what);
    }
}

/// The document of that name.
///
/// # Errors
/// One line with the nearest known name.
pub fn source(name: &str) -> Result<&'static Source, Bad> {
    SOURCES.iter().find(|source| source.name == name).ok_or_else(|| {
        let all = SOURCES.iter().map(|source| source.name).collect::<Vec<_>>().join(", ");
        match nearest(name, SOURCES.iter().map(|source| source.name)) {
            Some(near) => Bad(format!("unknown document `{name}`; did you mean `{near}`? There are {all}")),
            None => Bad(format!("unknown document `{name}`; there are {all}")),
        }
    })
}

impl Source {
    /// The published row of that number.
    pub fn item(&self, id: &str) -> Option<&'static Item> {
        self.items.iter().find(|item| item.id == id)
    }

    /// Measures every row, on the current thread pool; the same bytes for any number of threads.
    ///
    /// # Errors
    /// If a path or an arm of the table is refused.
    pub fn run(&self, effort: &Effort<'_>) -> Result<Chapter, Bad> {
        let Measured { mut rows, figures, findings } = (self.measure)(effort)?;
        for item in self.items {
            if !rows.iter().any(|row| row.id == item.id) {
                // Nothing is dropped in silence.
                rows.push(Row::not_run(item.id, "no measurement of ours covers it yet"));
            }
        }
        for row in &mut rows {
            row.claim = self.item(row.id).map_or("", |item| item.published);
        }
        let order = |row: &Row| self.items.iter().position(|item| item.id == row.id);
        rows.sort_by_key(order);
        let rows = numbered(once(rows));
        Ok(Chapter {
            name: self.name,
            document: self.document,
            stated: self.stated,
            assumptions: self.assumptions,
            findings,
            rows,
            figures,
        })
    }
}

/// A number that several gates look at is one row.
fn once(rows: Vec<Row>) -> Vec<Row> {
    let mut kept: Vec<Row> = Vec::new();
    for row in rows {
        match kept.iter().position(|one| one.is_also(&row)) {
            Some(at) => {
                let one = kept.remove(at);
                kept.insert(at, one.merged(row));
            }
            None => kept.push(row),
        }
    }
    kept
}

/// Gives every row a key of its own: the number alone where it has one row, else with its place among them.
fn numbered(mut rows: Vec<Row>) -> Vec<Row> {
    for at in 0..rows.len() {
        let id = rows[at].id;
        let several = rows.iter().filter(|row| row.id == id).count() > 1;
        let place = rows[..=at].iter().filter(|row| row.id == id).count();
        rows[at].key = if several { format!("{id}#{place}") } else { id.to_owned() };
    }
    rows
}

/// What came out for one document.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chapter {
    /// Its name.
    pub name: &'static str,
    /// Document and version.
    pub document: &'static str,
    /// What it states about its experiments.
    pub stated: &'static str,
    /// What it leaves unsaid.
    pub assumptions: &'static [Assumption],
    /// What its rows say together.
    pub findings: Vec<String>,
    /// Its rows, in the order of the list; several gates or cases of one number stand together.
    pub rows: Vec<Row>,
    /// Its pictures.
    pub figures: Vec<Figure>,
}

/// How many rows ended how: an object with the keys of the verdicts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count([usize; Verdict::ALL.len()]);

impl Count {
    /// Of these rows.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Count {
        let mut count = Count::default();
        for row in rows {
            count.0[row.verdict as usize] += 1;
        }
        count
    }

    /// With that verdict.
    pub fn number(&self, verdict: Verdict) -> usize {
        self.0[verdict as usize]
    }

    /// Every verdict with its number.
    pub fn each(&self) -> impl Iterator<Item = (Verdict, usize)> + '_ {
        Verdict::ALL.into_iter().map(|verdict| (verdict, self.number(verdict)))
    }

    /// "12 confirmed in size, 3 smaller than published, ...": those that occur.
    pub fn words(&self) -> String {
        let told = self.each().filter(|(_, number)| *number > 0).map(|(verdict, number)| format!("{number} {}", verdict.words()));
        told.collect::<Vec<_>>().join(", ")
    }
}

impl Serialize for Count {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.each().map(|(verdict, number)| (verdict.key(), number)))
    }
}

/// Everything that was run, as in `--json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reproduction {
    /// Version of the program.
    pub firstflight: &'static str,
    /// Fewer seeds and connections than the full run.
    pub quick: bool,
    /// Documents in the order of the list.
    pub sources: Vec<Chapter>,
    /// All rows together.
    pub count: Count,
}

impl Reproduction {
    /// Of these chapters.
    pub fn new(quick: bool, sources: Vec<Chapter>) -> Reproduction {
        let count = Count::of(sources.iter().flat_map(|chapter| &chapter.rows));
        Reproduction { firstflight: env!("CARGO_PKG_VERSION"), quick, sources, count }
    }

    /// Every consequence of the algebra came out.
    pub fn sound(&self) -> bool {
        self.count.number(Verdict::Fails) == 0
    }

    /// One JSON object, the same bytes for the same run.
    ///
    /// # Panics
    /// Never: rows hold only numbers and strings.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("numbers and strings serialise");
        text.push('\n');
        text
    }

    /// The page for the documentation; `command` is what made it.
    pub fn to_markdown(&self, command: &str) -> String {
        markdown::page(self, command)
    }

    /// one self-contained page that fetches nothing.
    pub fn to_html(&self, command: &str) -> String {
        html::page(self, command)
    }
}
