//! The annex as XML for xml2rfc, version 3 (RFC 7991).

use super::block::{Block, REFERENCE};
use firstflight_table::text::xml_body;
use std::fmt::Write as _;

pub(super) fn of(title: &str, blocks: &[Block]) -> String {
    let mut out = format!(
        "<!-- For <back>. The references of the draft need RFC 9743:\n<xi:include href=\"https://bib.ietf.org/public/rfc/bibxml/reference.RFC.9743.xml\"/> -->\n<section anchor=\"evaluation\">\n  <name>{}</name>\n",
        xml_body(title)
    );
    let mut open = false;
    for block in blocks {
        match block {
            Block::Heading { anchor, title } => {
                if open {
                    out.push_str("  </section>\n");
                }
                open = true;
                let (anchor, title) = (name(anchor), xml_body(title));
                let _ = writeln!(
                    out,
                    "  <section anchor=\"evaluation-{anchor}\">\n    <name>{title}</name>"
                );
            }
            Block::Paragraph(words) => {
                let _ = writeln!(out, "    <t>{}</t>", xml_body(words));
            }
            Block::Refers(before, after) => {
                let (before, after) = (xml_body(before), xml_body(after));
                let _ = writeln!(out, "    <t>{before}<xref target=\"{REFERENCE}\"/>{after}</t>");
            }
            Block::Items(items) => {
                out.push_str("    <ul>\n");
                for item in items {
                    let _ = writeln!(out, "      <li>{}</li>", xml_body(item));
                }
                out.push_str("    </ul>\n");
            }
            Block::Table { title, head, rows } => {
                let row = |kind: &str, cells: Vec<String>| {
                    let cells = cells.iter().map(|cell| format!("<{kind}>{cell}</{kind}>"));
                    format!("        <tr>{}</tr>\n", cells.collect::<String>())
                };
                let head = row("th", head.iter().map(|cell| xml_body(cell)).collect());
                let body = rows
                    .iter()
                    .map(|cells| row("td", cells.iter().map(|cell| xml_body(cell)).collect()));
                let body: String = body.collect();
                let name = title.map(|title| format!("      <name>{}</name>\n", xml_body(title)));
                let name = name.unwrap_or_default();
                let _ = write!(
                    out,
                    "    <table>\n{name}      <thead>\n{head}      </thead>\n      <tbody>\n{body}      </tbody>\n    </table>\n"
                );
            }
        }
    }
    if open {
        out.push_str("  </section>\n");
    }
    out + "</section>\n"
}

/// What follows the first letter of an anchor: letters, digits, points and hyphens.
fn name(words: &str) -> String {
    let kept = |letter: char| letter.is_ascii_alphanumeric() || letter == '.';
    let parts = words.split(|letter| !kept(letter)).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_closed_and_words_are_no_elements() {
        let blocks = [
            Block::Refers("see ", " & <more>".into()),
            Block::Table {
                title: Some("t"),
                head: vec!["a", "b", "c"],
                rows: vec![vec!["1 < 2".into(), "\u{1}".into(), String::new()]],
            },
            Block::Heading { anchor: "5.1.5, 5.2.3".into(), title: "5 > 4".into() },
            Block::Items(vec!["one".into(), "two".into()]),
            Block::Heading { anchor: "scope".into(), title: "Scope".into() },
            Block::Paragraph("end".into()),
        ];
        let page = of("rapid & co", &blocks);
        let (_, page) = page.split_once("-->").expect("the comment");
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
            "<td>1 &lt; 2</td><td> </td>",
        ] {
            assert!(page.contains(said), "{said}: {page}");
        }
    }
}
