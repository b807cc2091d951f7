//! Output formats.

use clap::ValueEnum;
use firstflight_table::markdown::Dialect;
use firstflight_table::{Table, latex};

/// Format of standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tables for people
    Table,
    /// The same tables in Markdown
    Md,
    /// Raw values, units in the names
    Csv,
    /// The same tables in LaTeX, with booktabs
    Tex,
    /// Everything, as `--json -` gives it
    Json,
}

impl Format {
    /// Its name on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The renderer of a format that shows the tables alone, for some of their columns.
    pub(crate) fn renderer(self) -> Option<fn(&Table, &[usize]) -> String> {
        match self {
            Format::Md => Some(|table, keep| Dialect::PAGE.table(table, keep)),
            Format::Tex => Some(latex::table),
            Format::Table | Format::Csv | Format::Json => None,
        }
    }
}
