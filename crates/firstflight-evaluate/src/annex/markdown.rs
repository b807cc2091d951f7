//! The annex as kramdown-rfc reads it.

use super::block::{Block, REFERENCE};
use std::fmt::Write as _;

const COLUMNS: usize = 72;

pub(super) fn of(title: &str, blocks: &[Block]) -> String {
    let mut out = format!("# {}\n\n", plain(title));
    for block in blocks {
        match block {
            Block::Heading { title, .. } => {
                let _ = writeln!(out, "## {}\n", plain(title));
            }
            Block::Paragraph(text) => paragraph(&mut out, text),
            Block::Refers(before, after) => {
                paragraph(&mut out, &format!("{before}{{{{!{REFERENCE}}}}}{after}"));
            }
            Block::Items(items) => {
                for text in items {
                    let _ = writeln!(out, "{}", wrapped(&format!("* {}", plain(text)), "  "));
                }
                out.push('\n');
            }
            Block::Table { title, head, rows } => {
                let _ = writeln!(out, "| {} |\n|{}", head.join(" | "), ":---|".repeat(head.len()));
                for row in rows {
                    let cells: Vec<String> = row.iter().map(|cell| plain(cell)).collect();
                    let _ = writeln!(out, "| {} |", cells.join(" | "));
                }
                if let Some(title) = title {
                    let _ = writeln!(out, "{{: title=\"{title}\"}}");
                }
                out.push('\n');
            }
        }
    }
    out.truncate(out.trim_end().len());
    out + "\n"
}

/// Text in lines of at most 72 columns; lines after the first begin with `indent`.
fn wrapped(text: &str, indent: &str) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > COLUMNS {
            let _ = write!(out, "\n{indent}");
            used = indent.len();
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
    }
    out
}

/// Escapes Markdown's special characters.
fn plain(text: &str) -> String {
    text.replace('|', "\\|").replace('*', "\\*").replace('_', "\\_").replace('<', "\\<")
}

fn paragraph(out: &mut String, text: &str) {
    let _ = writeln!(out, "{}\n", wrapped(&plain(text), ""));
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn lines_have_72_columns_unless_a_word_is_longer() {
        let text = "some words ".repeat(40) + &"x".repeat(90);
        let lines = wrapped(&text, "  ");
        for line in lines.lines().filter(|line| !line.contains("xxx")) {
            assert!(line.chars().count() <= 72, "{line}");
        }
        assert!(lines.lines().skip(1).all(|line| line.starts_with("  ")), "{lines}");
    }
}
