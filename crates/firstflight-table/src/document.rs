//! A document: what people read, independent of the format.

use crate::table::Table;

/// A piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Span {
    /// Text. A line break in it is one of the source; formats may move it.
    Plain(String),
    /// Emphasised text.
    Strong(String),
    /// A reference to a section of this document, by its anchor.
    Link(String),
    /// A citation of another document, by the name that the formats of RFCs give it.
    Cite(String),
}

/// Text with references.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(pub Vec<Span>);

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text(vec![Span::Plain(text)])
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        text.to_owned().into()
    }
}

impl Text {
    /// Adds a piece.
    #[must_use]
    pub fn and(mut self, span: Span) -> Text {
        self.0.push(span);
        self
    }

    /// Renders each piece; the text of a plain one and the words of others go through `plain`.
    pub(crate) fn render(
        &self,
        plain: impl Fn(&str) -> String,
        other: impl Fn(&Span, String) -> String,
    ) -> String {
        let one = |span: &Span| match span {
            Span::Plain(text) => plain(text),
            Span::Strong(text) | Span::Link(text) | Span::Cite(text) => other(span, plain(text)),
        };
        self.0.iter().map(one).collect()
    }
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A heading, which starts a section.
    Heading {
        /// Level: 1 for the title of the document.
        level: usize,
        /// Name of the section, unique in the document; may be empty.
        anchor: String,
        /// Its text.
        title: Text,
    },
    /// Text.
    Paragraph(Text),
    /// A list.
    Items(Vec<Text>),
    /// A table.
    Table(Table),
    /// Secondary text, line by line.
    Note(Vec<Text>),
    /// A warning.
    Warning(Text),
    /// Code or a command, which is never wrapped.
    Code(String),
    /// The place of a drawing that a page's script makes; only pages have it.
    Chart(String),
    /// Parts that a page shows on request, under this summary; other formats show them.
    Folded(String, Vec<Block>),
}

/// A document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// Its parts.
    pub blocks: Vec<Block>,
}

impl Document {
    /// A document that begins with this title; its name is the anchor of the whole.
    pub fn titled(anchor: &str, title: impl Into<Text>) -> Document {
        let mut document = Document::default();
        document.heading(1, anchor, title);
        document
    }

    /// Adds a heading.
    pub fn heading(&mut self, level: usize, anchor: &str, title: impl Into<Text>) {
        let (anchor, title) = (anchor.to_owned(), title.into());
        self.blocks.push(Block::Heading { level, anchor, title });
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: impl Into<Text>) {
        self.blocks.push(Block::Paragraph(text.into()));
    }

    /// Adds a list, unless it is empty.
    pub fn items<T: Into<Text>>(&mut self, items: impl IntoIterator<Item = T>) {
        let items: Vec<Text> = items.into_iter().map(Into::into).collect();
        if !items.is_empty() {
            self.blocks.push(Block::Items(items));
        }
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) {
        self.blocks.push(Block::Table(table));
    }

    /// Adds secondary text, line by line, unless there is none.
    pub fn note<T: Into<Text>>(&mut self, lines: impl IntoIterator<Item = T>) {
        let lines: Vec<Text> = lines.into_iter().map(Into::into).collect();
        if !lines.is_empty() {
            self.blocks.push(Block::Note(lines));
        }
    }

    /// Adds a warning.
    pub fn warning(&mut self, text: impl Into<Text>) {
        self.blocks.push(Block::Warning(text.into()));
    }

    /// Adds code.
    pub fn code(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Code(text.into()));
    }

    /// Adds the place of a drawing.
    pub fn chart(&mut self, name: impl Into<String>) {
        self.blocks.push(Block::Chart(name.into()));
    }

    /// Adds another document, folded on pages.
    pub fn folded(&mut self, summary: impl Into<String>, other: Document) {
        self.blocks.push(Block::Folded(summary.into(), other.blocks));
    }

    /// All tables, in order.
    pub fn tables(&self) -> Vec<&Table> {
        fn of<'a>(blocks: &'a [Block], tables: &mut Vec<&'a Table>) {
            for block in blocks {
                match block {
                    Block::Table(table) => tables.push(table),
                    Block::Folded(_, blocks) => of(blocks, tables),
                    _ => {}
                }
            }
        }
        let mut tables = Vec::new();
        of(&self.blocks, &mut tables);
        tables
    }
}

impl From<Vec<Table>> for Document {
    fn from(tables: Vec<Table>) -> Document {
        Document { blocks: tables.into_iter().map(Block::Table).collect() }
    }
}
