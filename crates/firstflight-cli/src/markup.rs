//! Tables as Markdown and as LaTeX (`booktabs`).

use crate::sheet::{Field, Sheet, Side};

/// Units that stand alone on the second line of a header.
const UNITS: &[&str] = &["ms", "%", "BDP", "Mbit/s", "points", "ratio"];

/// Puts a header on one line, with its unit in parentheses.
fn header(text: &str) -> String {
    match text.rsplit_once('\n') {
        Some((label, unit)) if UNITS.contains(&unit) => format!("{} ({unit})", one_line(label)),
        _ => one_line(text),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Puts a cell on one line; the remark below its number goes into parentheses.
fn cell(field: &Field, side: Side) -> String {
    let text = field.signed();
    match text.split_once('\n') {
        Some((first, rest)) if side != Side::Prose => {
            format!("{} ({})", one_line(first), one_line(rest))
        }
        _ => one_line(&text),
    }
}

/// The escaped cells of a row; bold cells are enclosed in the two `marks`.
fn cells(
    sheet: &Sheet,
    row: &[Field],
    keep: &[usize],
    escape: fn(&str) -> String,
    marks: [&str; 2],
) -> Vec<String> {
    let one = |index: &usize| {
        let words = escape(&cell(&row[*index], sheet.side(*index)));
        let [begin, end] = marks.map(|mark| if row[*index].bold { mark } else { "" });
        if words.is_empty() { words } else { format!("{begin}{words}{end}") }
    };
    keep.iter().map(one).collect()
}

/// A Markdown table of the columns `keep`.
pub(crate) fn markdown(sheet: &Sheet, keep: &[usize]) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let headers: Vec<&str> = sheet.raw_headers().collect();
    let mut text = String::new();
    if !sheet.title.is_empty() {
        text = format!("### {}\n\n", in_markdown(&sheet.title));
    }
    text += &line(keep.iter().map(|index| in_markdown(&header(headers[*index]))).collect());
    let rule = |index: &usize| if sheet.side(*index) == Side::Right { "---:" } else { "---" };
    text += &line(keep.iter().map(|index| rule(index).to_owned()).collect());
    for row in sheet.rows() {
        text += &line(cells(sheet, row, keep, in_markdown, ["**", "**"]));
    }
    text
}

/// Escapes Markdown syntax. Text between backticks is code and stays, except for characters that
/// would end a cell.
fn in_markdown(text: &str) -> String {
    let mut code = false;
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        code ^= c == '`';
        match c {
            '|' => out.push_str("\\|"),
            '*' | '_' | '<' | '[' | ']' | '\\' if !code => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}

/// A `tabular` of the columns `keep`; it needs `\usepackage{booktabs}`.
pub(crate) fn latex(sheet: &Sheet, keep: &[usize]) -> String {
    let line = |cells: Vec<String>| format!("{} \\\\\n", cells.join(" & "));
    let headers: Vec<&str> = sheet.raw_headers().collect();
    let column = |index: &usize| match sheet.side(*index) {
        Side::Left => "l",
        Side::Right => "r",
        Side::Prose => "p{0.4\\linewidth}",
    };
    let mut text = String::new();
    if !sheet.title.is_empty() {
        text = format!("% {}\n", one_line(&sheet.title));
    }
    let columns: String = keep.iter().map(column).collect();
    text.extend(["\\begin{tabular}{", &columns, "}\n\\toprule\n"]);
    text += &line(keep.iter().map(|index| in_latex(&header(headers[*index]))).collect());
    text += "\\midrule\n";
    for row in sheet.rows() {
        text += &line(cells(sheet, row, keep, in_latex, ["\\textbf{", "}"]));
    }
    text + "\\bottomrule\n\\end{tabular}\n"
}

/// Escapes LaTeX syntax, and replaces characters that pdfLaTeX does not support.
fn in_latex(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' => out.push_str("\\textless{}"),
            '>' => out.push_str("\\textgreater{}"),
            '|' => out.push_str("\\textbar{}"),
            // At the start of a row, a bracket would be the optional argument of `\\`.
            '[' => out.push_str("{[}"),
            ']' => out.push_str("{]}"),
            '`' => out.push_str("\\textasciigrave{}"),
            '"' => out.push_str("\\textquotedbl{}"),
            '·' => out.push_str("$\\cdot$"),
            '°' => out.push_str("$^{\\circ}$"),
            '×' => out.push_str("$\\times$"),
            '±' => out.push_str("$\\pm$"),
            '≤' => out.push_str("$\\le$"),
            '≥' => out.push_str("$\\ge$"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> Sheet {
        let mut sheet = Sheet::new(
            "geo: 10 MB",
            [("arm", Side::Left), ("loss\n%", Side::Right), ("what", Side::Prose)],
        );
        let best = Field::from("9.28\n9..10").bold(true);
        sheet.row([Field::from("rapid(k=11/18)"), best, Field::from("a|b _c_ `d_e` 5 % [x]")]);
        sheet
    }

    #[test]
    fn markdown_escapes_what_is_its_own_and_keeps_code() {
        assert_eq!(
            markdown(&sheet(), &[0, 1, 2]),
            "### geo: 10 MB\n\n\
             | arm | loss (%) | what |\n\
             | --- | ---: | --- |\n\
             | rapid(k=11/18) | **9.28 (9..10)** | a\\|b \\_c\\_ `d_e` 5 % \\[x\\] |\n"
        );
    }

    #[test]
    fn latex_is_a_tabular_with_rules_and_nothing_of_its_own_in_the_cells() {
        assert_eq!(
            latex(&sheet(), &[0, 1, 2]),
            "% geo: 10 MB\n\
             \\begin{tabular}{lrp{0.4\\linewidth}}\n\\toprule\n\
             arm & loss (\\%) & what \\\\\n\\midrule\n\
             rapid(k=11/18) & \\textbf{9.28 (9..10)} & a\\textbar{}b \\_c\\_ \
             \\textasciigrave{}d\\_e\\textasciigrave{} 5 \\% {[}x{]} \\\\\n\
             \\bottomrule\n\\end{tabular}\n"
        );
        let all = in_latex("\\~^<>{}$#&%_");
        assert_eq!(
            all,
            "\\textbackslash{}\\textasciitilde{}\\textasciicircum{}\\textless{}\\textgreater{}\\{\\}\\$\\#\\&\\%\\_"
        );
    }
}
