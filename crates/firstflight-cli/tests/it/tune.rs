//! `firstflight tune`: the answer first, a judgement that `ab` repeats, and one line for bad input.

use crate::command::{refused, well};
use serde_json::Value;
use std::fs;

const SMALL: [&str; 8] =
    ["tune", "slowstart@(iw=10..40)", "--budget", "60", "--flows", "100", "--holdout", "400"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    SMALL.iter().chain(more).copied().collect()
}

/// The words of a printed command, without quotes.
fn words(command: &str) -> Vec<String> {
    command.split(' ').map(|word| word.trim_matches('\'').to_owned()).collect()
}

#[test]
fn the_answer_fits_on_a_screen_and_its_judgement_can_be_repeated() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("tune.html");
    let page_name = page.to_str().expect("text");
    let shown = well(&with(&["--report", page_name])).stdout;
    assert!(shown.lines().count() <= 24, "{} lines:\n{shown}", shown.lines().count());
    let tuned = well(&with(&["--json", "-"])).json();
    let sentence = tuned["sentence"].as_str().expect("a sentence");
    let first = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(first.starts_with(sentence), "the sentence comes first:\n{shown}");
    let html = fs::read_to_string(page).expect("a page");
    assert!(html.contains("How much each one matters"), "the page has the profiles");

    let command = tuned["judge_command"].as_str().expect("a command");
    let command = words(command);
    let command: Vec<&str> =
        command[1..].iter().map(String::as_str).chain(["--json", "-"]).collect();
    let again = well(&command).json();
    assert_eq!(again["decision"], tuned["decision"], "`ab` repeats the judgement");
    assert_eq!(
        again["experiment"]["seed"], tuned["experiment"]["holdout_seed"],
        "on the connections of the hold-out"
    );
}

#[test]
fn the_same_seed_gives_the_same_bytes_with_any_number_of_threads() {
    let of = |threads| well(&with(&["--threads", threads, "--seed", "7", "--json", "-"])).stdout;
    assert!(of("1") == of("2"), "two threads change the result");
}

#[test]
fn a_parameter_without_effect_is_called_flat() {
    // `int` only applies to `mode=lss`.
    let words =
        ["tune", "hystart++(int=*)", "--budget", "60", "--flows", "100", "--holdout", "100"];
    let run = well(&words);
    assert!(run.stdout.starts_with("The default is as good"), "{}", run.stdout);
    assert!(run.stdout.contains("Flat, no value makes a difference: int"), "{}", run.stdout);
    let json = well(&[&words[..], &["--json", "-"]].concat()).json();
    assert_eq!(json["parameters"][0]["flat"], Value::Bool(true));
    assert_eq!(json["decision"], Value::Null, "nothing was better in training");
}

#[test]
fn wrong_spaces_and_budgets_are_refused_in_one_line() {
    refused(&[
        (&["tune", "hystart++(divisor=1..5)"], "allowed: 2 to 64"),
        (&["tune", "hystart++(lo=*)"], "did you mean `low`?"),
        (&["tune", "slowstart"], "nothing to tune"),
        (&["tune", "kernel:cubic"], "built-in parts"),
        (&["tune", "plumb", "--budget", "30"], "too small for 12 parameters"),
        (&["tune", "plumb", "--objective", "speed"], "allowed: time, p95, or time+loss:W"),
        (&["tune", "plumb", "--flows", "10"], "100"),
    ]);
}
