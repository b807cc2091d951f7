//! Paths with chance: every command repeats what it compares, and says what the repeats say.

use crate::command::{command, inside, run_in, well};
use serde_json::Value;
use std::fs;

const LOSSY: &str = "rate=20Mbit,rtt=80ms,queue=1bdp,loss=0.5%";
const SMALL: [&str; 7] =
    ["compare", "--path", LOSSY, "--bytes", "300kB", "--arms", "slowstart,rapid,plumb,oracle"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&SMALL[..], more].concat()
}

#[test]
fn a_path_with_chance_is_repeated_until_the_intervals_are_narrow() {
    let run = well(&with(&["--json", "-"]));
    let json = run.json();
    let trials = json["experiment"]["repeat"].as_u64().expect("a number");
    assert!([20, 50, 100, 200, 400].contains(&trials), "{trials}");
    let stopped = json["experiment"]["stopped"].as_str().expect("a reason");
    assert_eq!(json["results"].as_array().map(Vec::len), Some(4 * trials as usize));
    let summary = json["summary"].as_array().expect("a summary");
    assert_eq!(summary[0]["time_ratio"], Value::Null);
    let mut narrow = true;
    for row in &summary[1..] {
        let [value, low, high] =
            ["value", "low", "high"].map(|end| row["time_ratio"][end].as_f64().expect("a ratio"));
        assert!(low <= value && value <= high, "{row}");
        narrow &= high - low <= f64::max(0.02, (value - 1.0).abs() / 4.0);
        // Geometric mean of the ratios seed by seed.
        let times = |arm: &str| {
            let rows = json["results"].as_array().expect("rows").iter();
            let rows = rows.filter(|row| row["arm"] == arm).map(|row| row["ttlb_ms"].as_f64());
            rows.collect::<Option<Vec<f64>>>().expect("times")
        };
        let (ours, first) = (times(row["arm"].as_str().expect("a name")), times("slowstart"));
        let logs: f64 = ours.iter().zip(&first).map(|(a, b)| (a / b).ln()).sum();
        assert!(((logs / trials as f64).exp() - value).abs() < 1e-9, "{row}");
    }
    assert_eq!(stopped == "precision", narrow, "{stopped}: {summary:?}");
    assert_eq!(summary[3]["mark"], Value::Null, "the oracle competes with nobody");
    for threads in ["1", "2", "5"] {
        let again = well(&with(&["--json", "-", "--threads", threads]));
        assert_eq!(run.stdout, again.stdout, "{threads} threads");
    }
}

/// The lines of a table, from the first arm on.
fn table(text: &str) -> Vec<&str> {
    let rows = text.lines().skip_while(|line| !line.trim_start().starts_with("slowstart"));
    rows.take_while(|line| !line.starts_with('─')).collect()
}

fn at_80(words: &[&str]) -> String {
    let mut command = command(words);
    let output = command.env("COLUMNS", "80").output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn a_decision_comes_first_and_fits_a_screen() {
    for population in ["cdn", "fixed-2025", "mobile-2025", "geo", "leo-starlink"] {
        let text = at_80(&["ab", "--population", population, "--flows", "300"]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() <= 22, "{} lines, and two for notes:\n{text}", lines.len());
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
        let about = lines.iter().position(|line| line.starts_with(population)).expect("a head");
        assert!((1..=5).contains(&about), "at most five lines of answer:\n{text}");
        let marks = lines.iter().filter(|line| line.starts_with('─')).count();
        assert_eq!((marks, table(&text).len()), (3, 5), "one line per arm:\n{text}");
    }
}

#[test]
fn the_answer_comes_first_and_fits_a_screen() {
    for path in ["rapid-slide", LOSSY] {
        let text = at_80(&["compare", "--bytes", "1MB", "--path", path]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() <= 22, "{} lines, and two for notes:\n{text}", lines.len());
        for line in &lines {
            assert!(line.chars().count() <= 80, "{line}");
        }
        let answer = lines[..3].join(" ");
        let says = ["fastest", "same time", "do not differ significantly"];
        assert!(says.iter().any(|words| answer.contains(words)), "{text}");
        assert_eq!(table(&text).len(), 6, "one line per arm:\n{text}");
        assert!(text.contains("plumb"), "{text}");
    }
}

#[test]
fn the_terminal_shows_the_ratio_with_its_interval_and_honest_marks() {
    let json = well(&with(&["--json", "-"])).json();
    let text = well(&with(&[])).stdout;
    assert!(text.contains("time vs slowstart") && text.contains("p95"), "{text}");
    for (row, line) in json["summary"].as_array().expect("rows").iter().zip(table(&text)) {
        if let Some(value) = row["time_ratio"]["value"].as_f64() {
            let percent = firstflight_lab::table::change(100.0 * (value - 1.0)) + " (";
            assert!(line.contains(&percent), "{percent} in {line}");
        }
        let time = format!("{:.1}", row["ttlb_ms"].as_f64().expect("a time"));
        let mark = match row["mark"].as_str() {
            Some("best") => "*",
            Some("near") => "≈",
            _ => " ",
        };
        assert!(line.contains(&format!("{time}{mark}")), "{time}{mark} in {line}");
    }
}

#[test]
fn one_trial_says_that_the_next_may_reverse_the_order() {
    let run = well(&with(&["--repeat", "1"]));
    assert!(
        run.stderr.contains("one trial on a path with chance; the next seed may reverse the order"),
        "{}",
        run.stderr
    );
    let json = well(&with(&["--repeat", "3", "--json", "-"])).json();
    assert_eq!(
        (&json["experiment"]["repeat"], &json["experiment"]["stopped"]),
        (&3.into(), &Value::Null)
    );
}

#[test]
fn traces_are_those_of_the_first_seed() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = run_in(
        &folder,
        &with(&["--qlog", "logs/", "--trace", "all.csv", "--seed", "5", "--json", "x.json"]),
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(inside(&folder), ["all.csv", "logs", "x.json"]);
    let logs = fs::read_dir(folder.path().join("logs")).expect("a folder");
    let names = logs.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned());
    let names: Vec<String> = names.collect();
    assert_eq!(names.len(), 4 * 2, "both ends of every arm: {names:?}");
    assert!(names.iter().all(|name| name.contains("-seed5-")), "{names:?}");
    let json: Value = serde_json::from_str(
        &fs::read_to_string(folder.path().join("x.json")).expect("the results"),
    )
    .expect("JSON");
    assert!(json["experiment"]["repeat"].as_u64() >= Some(20));
}

#[test]
fn csv_report_sweep_experiment_and_several_flows_are_repeated_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let ok = |words: &[&str]| {
        let run = run_in(&folder, words);
        assert_eq!(run.code, 0, "{words:?}: {}", run.stderr);
        run
    };
    let csv = ok(&with(&["--format", "csv", "--report", "page.html", "--plain-report"])).stdout;
    let rows = csv.lines().count() - 1;
    assert!(rows >= 80 && rows.is_multiple_of(4), "{rows} rows");
    let page = fs::read_to_string(folder.path().join("page.html")).expect("a page");
    assert!(page.contains(&format!("\"repeat\":{}", rows / 4)), "the page has all trials");
    assert!(page.contains("\"near\":[") && page.contains("time vs slowstart"));

    let sweep = ok(&[
        "compare",
        "--path",
        LOSSY,
        "--bytes",
        "100kB",
        "--arms",
        "slowstart,rapid",
        "--sweep",
        "loss=0%,1%",
        "--json",
        "-",
    ])
    .json();
    let rows = sweep["results"].as_array().expect("rows");
    assert_eq!((&rows[0]["trials"], &rows[0]["stopped"]), (&1.into(), &Value::Null));
    assert!(
        rows[2]["trials"].as_u64() >= Some(20) && rows[2]["stopped"].is_string(),
        "{}",
        rows[2]
    );
    assert!(rows[3]["time_ratio"]["low"].as_f64() < rows[3]["time_ratio"]["high"].as_f64());

    let file = format!(
        "path = [\"rapid-slide\", \"{LOSSY}\"]\nbytes = \"100kB\"\narms = \"slowstart,rapid\"\n"
    );
    fs::write(folder.path().join("x.toml"), file).expect("a file");
    let answers = ok(&["run", "x.toml", "--json", "-"]).json();
    let of = |cell: usize| answers["comparisons"][cell]["experiment"]["repeat"].as_u64();
    assert!(of(0) == Some(1) && of(1) >= Some(20), "{:?} {:?}", of(0), of(1));

    let shared = ["compare", "--bytes", "100kB", "--arms", "slowstart,rapid", "--flows", "2"];
    let json = ok(&[&shared[..], &["--json", "-"]].concat()).json();
    assert!(json["experiment"]["repeat"].as_u64() >= Some(20), "starts are delayed at random");
    assert!(json["experiment"]["stopped"].is_string());
    assert_eq!(json["summary"].as_array().map(Vec::len), Some(2));
    let still = ok(&[&shared[..], &["--jitter", "0ms", "--json", "-"]].concat()).json();
    assert_eq!(still["experiment"]["repeat"], 1);
    let text = ok(&shared).stdout;
    assert!(text.lines().next().is_some_and(|line| line.contains("trials")), "{text}");
}

#[test]
fn a_time_that_the_limit_cut_off_is_a_bound() {
    let words =
        ["compare", "--path", LOSSY, "--bytes", "3MB", "--arms", "slowstart,slowstart@(iw=2)"];
    let run = crate::command::run(&[&words[..], &["--limit", "500ms", "--repeat", "4"]].concat());
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stdout.contains(">= 0.5 s (4)"), "{}", run.stdout);
    assert!(table(&run.stdout).iter().all(|line| !line.contains('*')), "no star:\n{}", run.stdout);
}
