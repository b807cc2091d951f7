//! HTML: the body of a page. Whoever makes the page gives its style to `.remark`, `.how`,
//! `.number`, `.name`, `.good`, `.fair`, `.bad` and `details.table`.

use crate::document::{Block, Document, Span, Text};
use crate::table::{Kind, Table, Tone};
use crate::text;
use std::fmt::Write as _;

/// The blocks as HTML: each heading of level 2 starts a `<section>`.
pub fn document(document: &Document) -> String {
    let mut out = String::new();
    let mut open = false;
    for block in &document.blocks {
        if let Block::Heading { level: 2, anchor, title } = block {
            if open {
                out.push_str("</section>\n");
            }
            open = true;
            let (anchor, title) = (id(anchor), words(title));
            let _ = writeln!(
                out,
                "<section aria-labelledby=\"{anchor}\"><h2 id=\"{anchor}\">{title}</h2>"
            );
        } else {
            self::block(&mut out, block);
        }
    }
    if open {
        out.push_str("</section>\n");
    }
    out
}

/// Text of an element or a quoted attribute, on one line; what would steer a reader is visible.
fn xml(raw: &str) -> String {
    text::xml(&text::cell(raw))
}

/// An anchor as an id, which has no spaces.
fn id(anchor: &str) -> String {
    xml(anchor).replace([' ', ','], "-")
}

fn block(out: &mut String, block: &Block) {
    let _ = match block {
        Block::Heading { level, anchor, title } => {
            let anchor =
                if anchor.is_empty() { String::new() } else { format!(" id=\"{}\"", id(anchor)) };
            writeln!(out, "<h{level}{anchor}>{}</h{level}>", words(title))
        }
        Block::Paragraph(text) => writeln!(out, "<p>{}</p>", words(text)),
        Block::Warning(text) => writeln!(out, "<p class=\"bad\">{}</p>", words(text)),
        Block::Note(lines) => lines
            .iter()
            .filter(|line| **line != Text::from(""))
            .try_for_each(|line| writeln!(out, "<p class=\"how\">{}</p>", words(line))),
        Block::Items(items) => {
            out.push_str("<ul>\n");
            for item in items {
                let _ = writeln!(out, "<li>{}</li>", words(item));
            }
            writeln!(out, "</ul>")
        }
        Block::Code(code) => writeln!(out, "<pre tabindex=\"0\">{}</pre>", xml(code)),
        Block::Chart(name) => writeln!(out, "<div class=\"figures\" id=\"{}\"></div>", id(name)),
        Block::Table(of) => writeln!(out, "{}", table(of)),
        Block::Folded(summary, blocks) => {
            let _ = writeln!(out, "<details class=\"table\"><summary>{}</summary>", xml(summary));
            for block in blocks {
                self::block(out, block);
            }
            writeln!(out, "</details>")
        }
    };
}

fn words(text: &Text) -> String {
    let other = |span: &Span, text: String| match span {
        Span::Link(anchor) => format!("<a href=\"#{}\">{text}</a>", id(anchor)),
        Span::Cite(_) => format!("[{text}]"),
        _ => format!("<b>{text}</b>"),
    };
    text.render(|text| xml(text).replace('\n', " "), other)
}

/// A table. On a narrow page every cell can show the name of its column, `data-l`; lines below the
/// first are remarks.
pub fn table(table: &Table) -> String {
    let class = |column: usize, tone: Option<Tone>| {
        let kind = match table.columns()[column].kind {
            Kind::Name => "name",
            Kind::Number => "number",
            Kind::Prose => "prose",
        };
        match tone {
            None => kind.to_owned(),
            Some(Tone::Good) => format!("{kind} good"),
            Some(Tone::Fair) => format!("{kind} fair"),
            Some(Tone::Bad) => format!("{kind} bad"),
        }
    };
    let mut out = String::from("<table class=\"rows\">");
    if !table.title.is_empty() {
        let _ = write!(out, "<caption>{}</caption>", xml(&table.title));
    }
    out.push_str("<thead><tr>");
    for (at, column) in table.columns().iter().enumerate() {
        let title = match column.doc.as_str() {
            "" => String::new(),
            doc => format!(" title=\"{}\"", xml(doc)),
        };
        let name = xml(&column.heading_line());
        let _ = write!(out, "<th scope=\"col\" class=\"{}\"{title}>{name}</th>", class(at, None));
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in 0..table.len() {
        out.push_str("<tr>");
        for (at, column) in table.columns().iter().enumerate() {
            let look = table.look(row, at);
            let words = table.words(row, at);
            let mut lines = words.lines();
            let first = xml(lines.next().unwrap_or_default());
            let first = if look.bold { format!("<b>{first}</b>") } else { first };
            let near = if look.near { " ≈" } else { "" };
            let mut remarks = String::new();
            for line in lines {
                let _ = write!(remarks, "<div class=\"remark\">{}</div>", xml(line));
            }
            let _ = write!(
                out,
                "<td class=\"{}\" data-l=\"{}:\">{first}{near}{remarks}</td>",
                class(at, look.tone),
                xml(&column.heading_line())
            );
        }
        out.push_str("</tr>\n");
    }
    out + "</tbody></table>"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Marked;

    #[test]
    fn sections_are_closed_and_nothing_foreign_is_an_element() {
        let mut page = Document::default();
        page.heading(2, "a", "A & B");
        page.chart("rules-5.1, 5.2");
        page.paragraph(Text::from("see ").and(Span::Link("b".into())));
        let mut table = Table::new("", [("arm", Kind::Name), ("loss\n%", Kind::Number)]);
        table.row([
            Marked::from("<script>"),
            Marked::from("1.0\n0.5 to 2").bold(true).tone(Some(Tone::Good)),
        ]);
        let mut inside = Document::default();
        inside.table(table);
        page.folded("All\u{202e} rows", inside);
        page.heading(2, "b", "B");
        assert_eq!(
            document(&page),
            "<section aria-labelledby=\"a\"><h2 id=\"a\">A &amp; B</h2>\n\
             <div class=\"figures\" id=\"rules-5.1--5.2\"></div>\n\
             <p>see <a href=\"#b\">b</a></p>\n\
             <details class=\"table\"><summary>All\\u202e rows</summary>\n\
             <table class=\"rows\"><thead><tr><th scope=\"col\" class=\"name\">arm</th>\
             <th scope=\"col\" class=\"number\">loss (%)</th></tr></thead><tbody>\n\
             <tr><td class=\"name\" data-l=\"arm:\">&lt;script&gt;</td>\
             <td class=\"number good\" data-l=\"loss (%):\"><b>1.0</b><div class=\"remark\">0.5 to 2</div></td></tr>\n\
             </tbody></table>\n</details>\n</section>\n\
             <section aria-labelledby=\"b\"><h2 id=\"b\">B</h2>\n</section>\n"
        );
    }
}
