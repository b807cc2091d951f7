//! Output formats.

use clap::ValueEnum;

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
    pub(crate) fn name(self) -> &'static str {
        match self {
            Format::Table => "table",
            Format::Md => "md",
            Format::Csv => "csv",
            Format::Tex => "tex",
            Format::Json => "json",
        }
    }
}
