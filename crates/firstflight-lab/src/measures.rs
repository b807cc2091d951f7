//! The measures: each record of results has one table with the name, unit, definition, good end and
//! source of each measure.
//!
//! A measure is defined by one entry of `record!`. The fields of the row and therefore the JSON,
//! the columns of the printed table and of the report ([`crate::table`]), the columns of CSV,
//! Parquet and Python's tables and the tables in `docs/metrics.md` and `docs/ab-metrics.md` are made
//! from it.

use firstflight_table::markdown::Dialect;
use firstflight_table::{Kind, Table};
use std::collections::BTreeMap;

pub use firstflight_table::{Better, Cell};

/// Type of a measure's value; any value may be missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Holds {
    /// Text.
    Text,
    /// Text with few different values.
    Name,
    /// A non-negative integer.
    Whole,
    /// A number.
    Real,
    /// Yes or no.
    Flag,
    /// Several values in one, which only the data have.
    Several,
    /// A record of measures.
    Record(&'static [Measure]),
    /// A list of records.
    List(&'static [Measure]),
}

/// One measure of a record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// Name in JSON, which ends with the unit.
    pub name: &'static str,
    /// Prefix of this record's columns, if it differs from the name; empty for none.
    pub part: &'static str,
    /// Type of the value.
    pub holds: Holds,
    /// The unit of the value; empty for a plain number, text or a record.
    pub unit: &'static str,
    /// Whether lower or higher values are better.
    pub better: Better,
    /// The definition, line by line. The first line can be used alone.
    pub doc: &'static [&'static str],
    /// Column of the printed table; `None` if the measure is only in the data.
    pub shown: Option<Shown>,
}

/// Presentation of a measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shown {
    /// Name of the column in the data of a report.
    pub key: &'static str,
    /// Heading.
    pub label: &'static str,
    /// Unit shown; `%` shows a ratio times a hundred.
    pub unit: &'static str,
}

impl Measure {
    /// The first line of the definition.
    pub fn summary(&self) -> &'static str {
        self.doc.first().map_or("", |line| line.trim())
    }

    /// The whole definition on one line.
    pub fn definition(&self) -> String {
        self.doc.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
    }
}

/// A text with few different values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(transparent)]
pub struct Name<'a>(pub &'a str);

/// Value of a record's field.
pub trait Field {
    /// Type of the value.
    const HOLDS: Holds;

    /// The value; for a record, the value of the measure `path`, such as `time_ms`.
    fn cell(&self, path: &str) -> Cell<'_>;

    /// Passes on every value that has a column, in the order of [`columns`].
    fn each<'s>(&'s self, take: &mut dyn FnMut(Cell<'s>)) {
        take(self.cell(""));
    }
}

macro_rules! plain {
    ($($kind:ident: $($Type:ty)+ = $of:expr;)+) => {
        $($(impl Field for $Type {
            const HOLDS: Holds = Holds::$kind;

            fn cell(&self, _path: &str) -> Cell<'_> {
                let of: for<'s> fn(&'s $Type) -> Cell<'s> = $of;
                of(self)
            }
        })+)+
    };
}

plain! {
    Text: String = |text| text.into();
    Text: &str = |text| (*text).into();
    Name: Name<'_> = |name| name.0.into();
    Whole: u64 u32 = |whole| (*whole).into();
    Real: f64 = |real| (*real).into();
    Flag: bool = |flag| (*flag).into();
}

impl<F: Field> Field for Option<F> {
    const HOLDS: Holds = F::HOLDS;

    fn cell(&self, path: &str) -> Cell<'_> {
        self.as_ref().map_or(Cell::Missing, |field| field.cell(path))
    }

    fn each<'s>(&'s self, take: &mut dyn FnMut(Cell<'s>)) {
        match self {
            Some(field) => field.each(take),
            None => (0..width(F::HOLDS)).for_each(|_| take(Cell::Missing)),
        }
    }
}

/// Number of columns in a flat table.
fn width(holds: Holds) -> usize {
    match holds {
        Holds::Record(measures) => measures.iter().map(|measure| width(measure.holds)).sum(),
        Holds::List(_) | Holds::Several => 0,
        _ => 1,
    }
}

/// Lists have no column: their records form a separate table.
macro_rules! several {
    ($($Type:ty: $($generic:ident: $bound:ident)? = $holds:expr;)+) => {
        $(impl $(<$generic: $bound>)? Field for $Type {
            const HOLDS: Holds = $holds;

            fn cell(&self, _path: &str) -> Cell<'_> {
                Cell::Missing
            }

            fn each<'s>(&'s self, _take: &mut dyn FnMut(Cell<'s>)) {}
        })+
    };
}

several! {
    Vec<F>: F: Field = match F::HOLDS {
        Holds::Record(measures) => Holds::List(measures),
        _ => Holds::Several,
    };
    [f64; 2]: = Holds::Several;
    BTreeMap<&'static str, f64>: = Holds::Several;
}

/// A column of a flat table: a measure, or a measure of a nested record.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name, such as `exit_reason`.
    pub name: String,
    /// Path of the value, for [`Field::cell`]: `exit.reason`.
    pub path: String,
    /// The measure.
    pub measure: &'static Measure,
}

/// The columns of measures, in order; measures with several values are left out.
pub fn columns(measures: &'static [Measure]) -> Vec<Column> {
    let joined = |outer: &str, inner: &str| match (outer, inner) {
        ("", only) | (only, "") => only.to_owned(),
        (outer, inner) => format!("{outer}_{inner}"),
    };
    let mut columns = Vec::new();
    for measure in measures {
        match measure.holds {
            Holds::Record(inner) => {
                columns.extend(self::columns(inner).into_iter().map(|column| Column {
                    name: joined(measure.part, &column.name),
                    path: format!("{}.{}", measure.name, column.path),
                    ..column
                }));
            }
            Holds::List(_) | Holds::Several => {}
            _ => columns.push(Column {
                name: measure.part.into(),
                path: measure.name.into(),
                measure,
            }),
        }
    }
    columns
}

/// The table of measures as documentation, in Markdown: name, unit, good end and definition. The
/// measures of a nested record follow it, unless `told` lists them.
pub fn markdown(measures: &'static [Measure], told: &[&[Measure]]) -> String {
    fn rows(measures: &[Measure], told: &[&[Measure]], outer: &str, table: &mut Table) {
        for measure in measures {
            let name = format!("{outer}{}", measure.name);
            let good = match measure.better {
                Better::Low => "low",
                Better::High => "high",
                Better::None => "",
            };
            table.row([
                format!("`{name}`"),
                measure.unit.into(),
                good.into(),
                measure.definition(),
            ]);
            if let Holds::Record(inner) | Holds::List(inner) = measure.holds
                && !told.contains(&inner)
            {
                rows(inner, told, &format!("{name}."), table);
            }
        }
    }
    let columns = ["field", "unit", "good", "definition"];
    let mut table = Table::new("", columns.map(|name| (name, Kind::Name)));
    rows(measures, told, "", &mut table);
    Dialect::AS_IS.table(&table, &table.every_column())
}

/// Defines a record and the table of its measures. `Name of (pattern = type)` is the source of its
/// values. Each measure follows as `name: type, "unit", good end = expression`, with `=> (key,
/// label, unit)` if it has a column in the printed table. `as "part"` after the good end is its
/// part in the names of columns, if that is not its name.
macro_rules! record {
    (
        $(#[$meta:meta])*
        $Record:ident $(<$life:lifetime>)? of ($from:pat_param = $From:ty);
        $(
            $(#[doc = $doc:literal])+
            $(#[serde($($serde:tt)+)])*
            $name:ident: $Type:ty, $unit:literal, $better:ident $(as $part:literal)? = $read:expr
                $(=> ($key:literal, $label:literal, $as:literal))?;
        )+
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        pub struct $Record $(<$life>)? {
            $($(#[doc = $doc])+ $(#[serde($($serde)+)])* pub $name: $Type,)+
        }

        impl $(<$life>)? $Record $(<$life>)? {
            /// The record's measures, in order.
            pub const MEASURES: &'static [$crate::measures::Measure] =
                &[$($crate::measures::Measure {
                    name: stringify!($name),
                    part: $crate::measures::record!(@part $name $($part)?),
                    holds: <$Type as $crate::measures::Field>::HOLDS,
                    unit: $unit,
                    better: $crate::measures::Better::$better,
                    doc: &[$($doc),+],
                    shown: $crate::measures::record!(@shown $($key, $label, $as)?),
                }),+];

            /// Computes every measure.
            pub fn of($from: $From) -> Self {
                $Record { $($name: $read,)+ }
            }
        }

        impl $(<$life>)? $crate::measures::Field for $Record $(<$life>)? {
            const HOLDS: $crate::measures::Holds =
                $crate::measures::Holds::Record($Record::MEASURES);

            fn cell(&self, path: &str) -> $crate::measures::Cell<'_> {
                let (name, rest) = path.split_once('.').unwrap_or((path, ""));
                match name {
                    $(stringify!($name) => $crate::measures::Field::cell(&self.$name, rest),)+
                    _ => $crate::measures::Cell::Missing,
                }
            }

            fn each<'s>(&'s self, take: &mut dyn FnMut($crate::measures::Cell<'s>)) {
                $($crate::measures::Field::each(&self.$name, take);)+
            }
        }
    };
    (@part $name:ident) => { stringify!($name) };
    (@part $name:ident $part:literal) => { $part };
    (@shown) => { None };
    (@shown $key:literal, $label:literal, $as:literal) => {
        Some($crate::measures::Shown { key: $key, label: $label, unit: $as })
    };
}

pub(crate) use record;
