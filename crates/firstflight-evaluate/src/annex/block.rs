//! Parts of the annex, independent of the output format.

/// The document that the annex refers to; each format has its own syntax for it.
pub(super) const REFERENCE: &str = "RFC9743";

/// A part of the text.
pub(super) enum Block {
    /// A criterion's heading; starts its section.
    Heading {
        /// Anchor, unique in the annex (an RFC section); may be empty.
        anchor: String,
        title: String,
    },
    /// Text.
    Paragraph(String),
    /// Text around a reference to [`REFERENCE`].
    Refers(&'static str, String),
    /// A list.
    Items(Vec<String>),
    /// A table with a header row.
    Table { title: Option<&'static str>, head: Vec<&'static str>, rows: Vec<Vec<String>> },
}
