//! Markdown.

use crate::document::{Block, Document, Span, Text};
use crate::table::{Kind, Table};
use crate::text::fold;
use std::fmt::Write as _;

/// The dialect of Markdown to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Lines of text have at most so many columns; otherwise they stay as they are.
    columns: Option<usize>,
    /// Characters that are escaped outside code, beside `|`.
    escapes: &'static str,
    /// Begin of the line below a table's header, and the cells there of text and of numbers.
    rule: [&'static str; 3],
    /// The title is an attribute below a table, not a heading above it.
    is_kramdown: bool,
}

impl Dialect {
    /// For kramdown-rfc: 72 columns as in RFCs, except for tables, whose rows Markdown cannot wrap.
    pub const RFC: Dialect = Dialect {
        columns: Some(72),
        escapes: "*_<",
        rule: ["|", ":---|", ":---|"],
        is_kramdown: true,
    };
    /// For people who read it in a repository or on a page.
    pub const PAGE: Dialect = Dialect {
        columns: None,
        escapes: "*_<[]\\",
        rule: ["|", " --- |", " ---: |"],
        is_kramdown: false,
    };
    /// The same for texts that contain Markdown.
    pub const AS_IS: Dialect =
        Dialect { escapes: "", rule: ["|", "---|", "---|"], ..Dialect::PAGE };

    /// Escapes Markdown syntax. Text between backticks is code and stays, except for characters
    /// that would end a cell.
    fn escape(&self, text: &str) -> String {
        let mut code = false;
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            code ^= c == '`';
            if c == '|' || !code && self.escapes.contains(c) {
                out.push('\\');
            }
            out.push(c);
        }
        out
    }

    fn text(&self, text: &Text, indent: usize) -> String {
        let other = |span: &Span, text: String| match span {
            Span::Cite(_) => format!("{{{{!{text}}}}}"),
            Span::Link(_) => format!("[{text}](#{text})"),
            _ => format!("**{text}**"),
        };
        let text = text.render(|text| self.escape(text), other);
        match self.columns {
            Some(columns) => fold(
                text.split_whitespace().map(|word| (word, true)),
                [columns - indent; 2],
                indent,
            ),
            None => text,
        }
    }

    /// A table of the columns `keep`.
    pub fn table(&self, table: &Table, keep: &[usize]) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut out = String::new();
        if !table.title.is_empty() && !self.is_kramdown {
            out = format!("### {}\n\n", self.escape(&table.title_line()));
        }
        let heading = |at: &usize| self.escape(&table.columns()[*at].heading_line());
        out += &line(keep.iter().map(heading).collect());
        let [begin, text, number] = self.rule;
        let rule =
            |at: &usize| if table.columns()[*at].kind == Kind::Number { number } else { text };
        out.extend([begin, &keep.iter().map(rule).collect::<String>(), "\n"]);
        for row in 0..table.len() {
            let cell = |column: &usize| {
                let words = self.escape(&table.line(row, *column));
                let bold = table.look(row, *column).bold && !words.is_empty();
                if bold { format!("**{words}**") } else { words }
            };
            out += &line(keep.iter().map(cell).collect());
        }
        if !table.title.is_empty() && self.is_kramdown {
            let _ = writeln!(out, "{{: title=\"{}\"}}", table.title_line());
        }
        out
    }

    fn block(&self, block: &Block) -> String {
        match block {
            Block::Heading { level, anchor, title } => {
                // kramdown-rfc makes its own anchors.
                let is_named = !anchor.is_empty() && !self.is_kramdown;
                let anchor =
                    if is_named { format!("<a id=\"{anchor}\"></a>\n") } else { String::new() };
                let other = |_: &Span, text: String| text;
                let title = title.render(|text| self.escape(text), other);
                format!("{anchor}{} {title}\n", "#".repeat(*level))
            }
            Block::Paragraph(text) => self.text(text, 0) + "\n",
            Block::Warning(text) => format!("**{}**\n", self.text(text, 0)),
            Block::Items(items) => {
                let item = |text: &Text| format!("* {}\n", self.text(text, 2));
                items.iter().map(item).collect()
            }
            Block::Table(table) => self.table(table, &table.every_column()),
            Block::Note(lines) => {
                lines.iter().map(|line| self.text(line, 0) + "\n").collect::<Vec<_>>().join("\n")
            }
            Block::Code(code) => format!("```\n{}\n```\n", code.trim_end()),
            Block::Chart(_) => String::new(),
            Block::Folded(_, blocks) => self.blocks(blocks),
        }
    }

    fn blocks(&self, blocks: &[Block]) -> String {
        let texts: Vec<String> =
            blocks.iter().map(|block| self.block(block)).filter(|text| !text.is_empty()).collect();
        texts.join("\n")
    }

    /// The document, with a line break at its end.
    pub fn document(&self, document: &Document) -> String {
        self.blocks(&document.blocks)
    }
}
