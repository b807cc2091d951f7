//! The numbers in README.md's own sentences.

use crate::command::well;
use std::fs;
use std::path::Path;

/// The sentence that says why it matters ends with the command that measured it.
#[test]
fn the_first_numbers_of_the_readme_are_what_their_command_measures() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = fs::read_to_string(readme).expect("README.md");
    let said = readme
        .split("\n\n")
        .find(|paragraph| paragraph.starts_with("Why it matters: "))
        .expect("the paragraph")
        .replace('\n', " ");
    let command = said.split('`').nth(1).expect("a command");
    let mut words: Vec<&str> = command.split(' ').skip(1).collect();
    words.extend(["--json", "-"]);
    let answer = well(&words).json();

    let decision = &answer["decision"];
    let sentence = decision["sentence"].as_str().expect("a sentence");
    let (deploy, claim) = sentence.split_once(": ").expect("an arm and a claim");
    assert_eq!(deploy, "Deploy plumb", "{sentence}");
    assert!(
        said.contains(claim.trim_end_matches('.')),
        "{command} says {claim}; README.md: {said}"
    );
    let named = decision["assumptions"].as_array().expect("a list").iter();
    for name in named.filter_map(serde_json::Value::as_str) {
        assert!(said.contains(name), "README.md names the assumption of {name}: {said}");
    }
}

/// README quotes the numbers on Plumb from the page of its results.
#[test]
fn the_numbers_on_plumb_are_those_of_its_results() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |file: &str| fs::read_to_string(root.join(file)).expect("a page");
    let page = read("docs/plumb-results.md");
    let (_, hold_out) = page.split_once("<!-- table: kinds of kinds.tsv -->").expect("its table");
    let row = |head: &str| {
        let row = hold_out.lines().find(|line| line.starts_with(&format!("| {head} |")));
        row.expect("a row").split('|').map(str::trim)
    };
    let all = |column: &str| {
        row("kind").zip(row("all kinds")).find(|(name, _)| *name == column).expect("a column").1
    };
    let loss = |column| format!("{:.1} %", all(column).parse::<f64>().expect("a number"));
    // `0.735 [0.719, 0.750]` of the time of slow start.
    let ratio = all("`plumb`: time over slow start's");
    let less: Vec<f64> = ratio
        .split(['[', ',', ']', ' '])
        .filter_map(|part| part.parse::<f64>().ok())
        .map(|part| 100.0 * (1.0 - part))
        .collect();
    let [value, high, low] = less[..] else { panic!("{ratio}") };
    let told = [
        format!("{value:.1} % less time than slow start (95 % CI {low:.1} to {high:.1})"),
        format!("loses {} of the packets", loss("`plumb`: loss, %")),
        format!(
            "(slow start {}, Rapid Start {})",
            loss("slow start's loss, %"),
            loss("`rapid`: loss, %")
        ),
    ];
    let readme = read("README.md").replace('\n', " ");
    for part in told {
        assert!(readme.contains(&part), "docs/plumb-results.md says {part}");
    }
}
