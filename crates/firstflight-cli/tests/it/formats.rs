//! `--format`: every answer that is a table is one in every format, and says the same in all.

use crate::command;
use command::{Run, command as bare, refused, well};
use serde_json::Value;
use std::collections::BTreeSet;

/// Commands that answer with tables, quick ones.
const TABLES: &[&[&str]] = &[
    &["compare", "--bytes", "100kB", "--arms", "slowstart,rapid(k=11/18)"],
    &["compare", "--bytes", "100kB", "--arms", "slowstart", "--flows", "2"],
    &["ab", "--population", "geo", "--flows", "40", "--arms", "rapid"],
    &["arms"],
    &["paths"],
    &["populations"],
    &["populations", "describe", "geo"],
    &["reproduce", "--list", "rapid-start"],
    &["evaluate", "--list", "--criteria", "7"],
    &["evaluate", "rapid", "--quick", "--criteria", "7.11"],
];

fn in_format(words: &[&str], format: &str) -> Run {
    well(&[words, &["--format", format]].concat())
}

/// Lines of CSV as cells.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            _ => cells.last_mut().expect("one at least").push(c),
        }
    }
    cells
}

#[test]
fn csv_has_a_value_for_every_name() {
    for words in TABLES {
        let text = in_format(words, "csv").stdout;
        let names = cells(text.lines().next().expect("names"));
        assert!(names.iter().all(|name| !name.is_empty() && !name.contains(' ')), "{names:?}");
        assert!(text.lines().count() > 1, "{words:?} has rows");
        for line in text.lines() {
            assert_eq!(cells(line).len(), names.len(), "{words:?}: {line}");
        }
    }
}

#[test]
fn csv_of_a_comparison_is_its_json_with_the_same_names() {
    let json = in_format(TABLES[0], "json").json();
    let text = in_format(TABLES[0], "csv").stdout;
    let names = cells(text.lines().next().expect("names"));
    let rows = json["results"].as_array().expect("results");
    assert_eq!(text.lines().count(), 1 + rows.len());
    for (line, row) in text.lines().skip(1).zip(rows) {
        for (name, cell) in names.iter().zip(cells(line)) {
            let Some(value) = row.get(name).filter(|value| !value.is_object()) else { continue };
            let same = match value {
                Value::Null => cell.is_empty(),
                Value::String(text) => *text == cell,
                Value::Number(number) => {
                    // The reader of JSON may be off by the last bit.
                    let number = number.as_f64().expect("a number");
                    let read: f64 = cell.parse().expect("a number");
                    (read - number).abs() <= number.abs() * 1e-15
                }
                Value::Bool(flag) => cell.parse() == Ok(*flag),
                other => panic!("{name} is {other}"),
            };
            assert!(same, "{name}: {cell} in CSV, {value} in JSON");
        }
    }
    assert!(names.contains(&"exit_reason".to_owned()) && names.contains(&"ttlb_ms".to_owned()));
}

#[test]
fn json_is_what_the_option_gives() {
    for words in &TABLES[..3] {
        let option = well(&[words, &["--json", "-"][..]].concat());
        assert_eq!(in_format(words, "json").stdout, option.stdout, "{words:?}");
    }
}

#[test]
fn markdown_and_latex_have_every_column_and_row_of_the_table() {
    for words in TABLES {
        let markdown = in_format(words, "md").stdout;
        let (mut width, mut rows) = (0, 0);
        for line in markdown.lines() {
            let columns = line.replace("\\|", "").matches('|').count();
            if line.starts_with('|') {
                assert!(width == 0 || columns == width, "{words:?}: {line}");
                (width, rows) = (columns, rows + 1);
            } else {
                width = 0;
            }
        }
        let latex = in_format(words, "tex").stdout;
        let begun = latex.matches("\\begin{tabular}").count();
        assert!(begun > 0 && begun == latex.matches("\\end{tabular}").count(), "{latex}");
        assert_eq!(latex.matches("\\midrule").count(), begun, "{words:?}");
        // Every row of Markdown but its rules is one here.
        assert_eq!(latex.matches(" \\\\\n").count(), rows - begun, "{words:?}");
        assert!(!latex.contains('\u{1b}') && !markdown.contains('\u{1b}'), "no colours");
    }
}

#[test]
fn every_table_fits_80_columns_and_120_with_every_number_whole() {
    for words in TABLES {
        let whole = numbers(&well(words).stdout);
        for width in [80, 120] {
            let mut command = bare(words);
            let output = command.env("COLUMNS", width.to_string()).output().expect("it starts");
            let text = String::from_utf8(output.stdout).expect("UTF-8");
            let widest = text.lines().max_by_key(|line| line.chars().count()).expect("lines");
            assert!(widest.chars().count() <= width, "{words:?} at {width}: {widest}");
            // The number of omitted columns appears on a narrow terminal only.
            let lines = text.lines().filter(|line| !line.contains(" hidden to fit "));
            let shown = numbers(&lines.collect::<Vec<_>>().join("\n"));
            let cut: Vec<&str> = shown.difference(&whole).map(String::as_str).collect();
            assert!(cut.is_empty(), "{words:?} at {width}: {cut:?} are cut\n{text}");
        }
    }
}

/// Commands whose whole result is longer than a screen.
const LONG: &[&[&str]] = &[
    &[
        "conform",
        "slowstart/cubic(beta=0.6)",
        "--against",
        "slowstart/cubic",
        "--path",
        "rapid-slide",
    ],
    &["replay", "samples/plain.pcap.gz"],
    &["replay", "samples/plain.pcap.gz", "--identify"],
    &["trial", "analyse", "samples/connections.csv.gz", "--size", "bytes", "--cluster", "client"],
    &["reproduce", "--list"],
];

#[test]
fn a_long_result_is_one_screen_on_a_terminal_and_whole_in_a_pipe() {
    let checkout = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    for words in LONG {
        let lines = |columns: Option<&str>, more: &[&str]| {
            let mut command = bare(&[words, more].concat());
            command.current_dir(checkout).envs(columns.map(|columns| ("COLUMNS", columns)));
            let output = command.output().expect("it starts");
            String::from_utf8(output.stdout).expect("UTF-8").lines().count()
        };
        let (screen, wide) = (lines(Some("80"), &[]), lines(Some("80"), &["--wide"]));
        assert!((2..=24).contains(&screen), "{words:?} takes {screen} of 24 lines");
        assert!(wide > 24, "{words:?}: `--wide` shows {wide} lines");
        assert!(lines(None, &[]) > 24, "{words:?}: a pipe gets the whole result");
    }
}

/// The numbers of a text, without ranges.
fn numbers(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_digit() && c != '.');
    let words = words.map(|word| word.trim_matches('.'));
    let alone = |word: &&str| !word.is_empty() && !word.contains("..");
    words.filter(alone).map(str::to_owned).collect()
}

#[test]
fn columns_are_chosen_in_every_format_and_unknown_ones_refused_before_anything_runs() {
    let compare = ["compare", "--bytes", "100kB", "--arms", "slowstart", "--columns"];
    let chosen = |columns: &str, format: &str| {
        well(&[&compare[..], &[columns, "--format", format]].concat()).stdout
    };
    assert!(chosen("loss,exit time", "md").contains("| arm | loss (%) | exit time (ms) |\n"));
    assert!(chosen("loss_ratio,ttlb", "csv").starts_with("arm,ttlb_ms,loss_ratio\nslowstart,"));
    // It would take hours.
    let long = ["compare", "--repeat", "100000", "--columns", "queing delay"];
    let csv = [&compare[..], &["lossratio", "--format", "csv"]].concat();
    refused(&[
        (&long, "did you mean `queueing delay`?"),
        (&long, "goodput"),
        (&csv, "loss_ratio"),
        (&["compare", "--columns", "loss", "--json", "-"], "JSON has every field"),
        (&["compare", "--format", "csv", "--json", "-"], "leave out `--format csv`"),
        (&["fetch", "https://localhost:1/", "--format", "csv"], "`fetch` shows no table"),
    ]);
}
