//! The vocabulary of xml2rfc, version 3 (RFC 7991).

use crate::document::{Block, Document, Span, Text};
use crate::table::Table;
use crate::text::xml_body;
use std::fmt::Write as _;

/// A `<section>` with the document, whose title names it; other headings start subsections.
pub fn document(document: &Document) -> String {
    let mut out = String::new();
    let (mut root, mut open) = ("", 0);
    for block in &document.blocks {
        if let Block::Heading { level, anchor, title } = block {
            if *level == 1 {
                root = anchor;
            }
            for depth in (*level..=open).rev() {
                let _ = writeln!(out, "{:1$}</section>", "", 2 * (depth - 1));
            }
            open = *level;
            let indent = " ".repeat(2 * (level - 1));
            let anchor =
                if *level == 1 { name(root) } else { format!("{}-{}", name(root), name(anchor)) };
            let title = text(title);
            let _ = write!(
                out,
                "{indent}<section anchor=\"{anchor}\">\n{indent}  <name>{title}</name>\n"
            );
        } else {
            self::block(&mut out, block);
        }
    }
    for depth in (1..=open).rev() {
        let _ = writeln!(out, "{:1$}</section>", "", 2 * (depth - 1));
    }
    out
}

fn block(out: &mut String, block: &Block) {
    let mut line = |words: String| {
        let _ = writeln!(out, "    {words}");
    };
    match block {
        Block::Heading { .. } | Block::Chart(_) => {}
        Block::Paragraph(words) | Block::Warning(words) => line(format!("<t>{}</t>", text(words))),
        Block::Note(lines) => {
            for words in lines {
                line(format!("<aside><t>{}</t></aside>", text(words)));
            }
        }
        Block::Items(items) => {
            line("<ul>".into());
            for item in items {
                line(format!("  <li>{}</li>", text(item)));
            }
            line("</ul>".into());
        }
        Block::Code(code) => line(format!("<sourcecode>{}</sourcecode>", xml_body(code))),
        Block::Table(of) => table(out, of),
        Block::Folded(_, blocks) => {
            for block in blocks {
                self::block(out, block);
            }
        }
    }
}

fn table(out: &mut String, table: &Table) {
    let line = |kind: &str, cells: &mut dyn Iterator<Item = String>| {
        let cells: Vec<String> =
            cells.map(|cell| format!("<{kind}>{}</{kind}>", xml_body(&cell))).collect();
        format!("        <tr>{}</tr>\n", cells.concat())
    };
    let columns = table.every_column();
    let head = line("th", &mut table.columns().iter().map(crate::table::Column::heading_line));
    let body: String = (0..table.len())
        .map(|row| line("td", &mut columns.iter().map(|column| table.line(row, *column))))
        .collect();
    let title = match table.title.as_str() {
        "" => String::new(),
        title => format!("      <name>{}</name>\n", xml_body(title)),
    };
    let _ = write!(
        out,
        "    <table>\n{title}      <thead>\n{head}      </thead>\n      <tbody>\n{body}      </tbody>\n    </table>\n"
    );
}

fn text(text: &Text) -> String {
    let other = |span: &Span, text: String| match span {
        Span::Cite(_) => format!("<xref target=\"{text}\"/>"),
        Span::Link(anchor) => format!("<xref target=\"{}\"/>", name(anchor)),
        _ => format!("<strong>{text}</strong>"),
    };
    text.render(xml_body, other)
}

/// An anchor: letters, digits, points and hyphens.
fn name(words: &str) -> String {
    let kept = |letter: char| letter.is_ascii_alphanumeric() || letter == '.';
    let parts = words.split(|letter| !kept(letter)).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Kind;

    #[test]
    fn every_element_is_closed_and_words_are_no_elements() {
        let mut report = Document::titled("evaluation", "rapid & co");
        report.paragraph(
            Text::from("see ")
                .and(Span::Cite("RFC9743".into()))
                .and(Span::Plain(" & <more>".into())),
        );
        let mut table = Table::new("t", ["a", "b", "c"].map(|name| (name, Kind::Name)));
        table.row(["1 < 2", "\u{1}", ""]);
        report.table(table);
        report.heading(2, "5.1.5, 5.2.3", "5 > 4");
        report.items(["one", "two"]);
        report.heading(2, "scope", "Scope");
        report.paragraph("end");
        let page = document(&report);
        let mut open: Vec<&str> = Vec::new();
        for tag in page.split('<').skip(1) {
            let (tag, _) = tag.split_once('>').expect("a tag");
            if let Some(closed) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(closed), "{page}");
            } else if !tag.ends_with('/') {
                open.push(tag.split(' ').next().unwrap_or(tag));
            }
        }
        assert!(open.is_empty(), "{open:?} are not closed: {page}");
        for said in [
            "rapid &amp; co",
            "<xref target=\"RFC9743\"/> &amp; &lt;more&gt;",
            "evaluation-5.1.5-5.2.3",
            "<td>1 &lt; 2</td><td>\\u0001</td><td></td>",
        ] {
            assert!(page.contains(said), "{said}: {page}");
        }
    }
}
