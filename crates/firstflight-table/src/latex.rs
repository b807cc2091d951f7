//! LaTeX.

use crate::table::{Kind, Table};

/// A `tabular` of the columns `keep`; it needs `\usepackage{booktabs}`.
pub fn table(table: &Table, keep: &[usize]) -> String {
    let line = |cells: Vec<String>| format!("{} \\\\\n", cells.join(" & "));
    let column = |at: &usize| match table.columns()[*at].kind {
        Kind::Name => "l",
        Kind::Number => "r",
        Kind::Prose => "p{0.4\\linewidth}",
    };
    let mut text = String::new();
    if !table.title.is_empty() {
        text = format!("% {}\n", crate::table::on_one_line(&table.title_line()));
    }
    let columns: String = keep.iter().map(column).collect();
    text.extend(["\\begin{tabular}{", &columns, "}\n\\toprule\n"]);
    text += &line(keep.iter().map(|at| escape(&table.columns()[*at].heading_line())).collect());
    text += "\\midrule\n";
    for row in 0..table.len() {
        let cell = |column: &usize| {
            let words = escape(&table.line(row, *column));
            let bold = table.look(row, *column).bold && !words.is_empty();
            if bold { format!("\\textbf{{{words}}}") } else { words }
        };
        text += &line(keep.iter().map(cell).collect());
    }
    text + "\\bottomrule\n\\end{tabular}\n"
}

/// Escapes LaTeX syntax, and replaces characters that pdfLaTeX does not support.
fn escape(text: &str) -> String {
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
    use crate::markdown::Dialect;
    use crate::table::Marked;

    fn example() -> Table {
        let columns = [("arm", Kind::Name), ("loss\n%", Kind::Number), ("what", Kind::Prose)];
        let mut table = Table::new("geo: 10 MB", columns);
        let best = Marked::from("9.28\n9..10").bold(true);
        table.row([Marked::from("rapid(k=11/18)"), best, "a|b _c_ `d_e` 5 % [x]".into()]);
        table
    }

    #[test]
    fn markdown_escapes_what_is_its_own_and_keeps_code() {
        assert_eq!(
            Dialect::PAGE.table(&example(), &[0, 1, 2]),
            "### geo: 10 MB\n\n\
             | arm | loss (%) | what |\n\
             | --- | ---: | --- |\n\
             | rapid(k=11/18) | **9.28 (9..10)** | a\\|b \\_c\\_ `d_e` 5 % \\[x\\] |\n"
        );
    }

    #[test]
    fn latex_is_a_tabular_with_rules_and_nothing_of_its_own_in_the_cells() {
        assert_eq!(
            table(&example(), &[0, 1, 2]),
            "% geo: 10 MB\n\
             \\begin{tabular}{lrp{0.4\\linewidth}}\n\\toprule\n\
             arm & loss (\\%) & what \\\\\n\\midrule\n\
             rapid(k=11/18) & \\textbf{9.28 (9..10)} & a\\textbar{}b \\_c\\_ \
             \\textasciigrave{}d\\_e\\textasciigrave{} 5 \\% {[}x{]} \\\\\n\
             \\bottomrule\n\\end{tabular}\n"
        );
        assert_eq!(
            escape("\\~^<>{}$#&%_"),
            "\\textbackslash{}\\textasciitilde{}\\textasciicircum{}\\textless{}\\textgreater{}\\{\\}\\$\\#\\&\\%\\_"
        );
    }
}
