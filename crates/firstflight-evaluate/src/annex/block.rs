//! Parts of the annex before any vocabulary.

/// The document that an annex refers to; each vocabulary has its own way to say so.
pub(super) const REFERENCE: &str = "RFC9743";

/// A part of the text.
pub(super) enum Block {
    /// A criterion's heading; what follows belongs to it.
    Heading {
        /// Unique in the annex, if it is not empty: sections of the RFC.
        anchor: String,
        title: String,
    },
    /// Words.
    Paragraph(String),
    /// Words around a reference to [`REFERENCE`].
    Refers(&'static str, String),
    /// A list.
    Items(Vec<String>),
    /// A table with a line of headers.
    Table { title: &'static str, head: [&'static str; 3], rows: Vec<[String; 3]> },
}
