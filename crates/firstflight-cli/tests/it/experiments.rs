//! `firstflight run`: an experiment in a file is what its commands are, cell by cell, and a file
//! that says something wrong is refused with the line that says it.

use crate::command;

use command::{inside, refused, refused_in, run, run_in, well};
use serde_json::Value;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A folder with an experiment in it.
fn folder(text: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("x.toml"), text).expect("a file");
    folder
}

const GRID: &str = "title = \"Two paths, two sizes\"
path = [\"rapid-slide\", \"rate=20Mbit,rtt=80ms,queue=1bdp\"]
bytes = [\"200kB\", \"2MB\"]
arms = [\"slowstart\", \"rapid(jump=off)/reno\"]
repeat = 2
";

#[test]
fn every_experiment_of_the_repository_can_be_run() {
    let experiments = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut files = 0;
    for entry in fs::read_dir(experiments).expect("the experiments") {
        let file = entry.expect("an entry").path();
        if file.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        files += 1;
        let text = fs::read_to_string(&file).expect("a file");
        let name = file.to_string_lossy();
        if text.contains("on = \"linux\"") && !cfg!(feature = "linux") {
            let refused = run(&["run", &name, "--dry-run"]);
            refused.refuses(&name, "--features linux");
            continue;
        }
        let dry = well(&["run", &name, "--dry-run"]);
        let command =
            if text.contains("population = ") { "firstflight ab " } else { "firstflight compare " };
        assert!(
            dry.stdout.lines().count() > 0
                && dry.stdout.lines().all(|line| line.starts_with(command)),
            "{name}: {}",
            dry.stdout
        );
        assert!(
            text.starts_with("# ") && text.contains("\ntitle = \""),
            "{name}: says what it is about"
        );
    }
    assert!(files >= 8, "one per published experiment, and a template: {files}");
}

#[test]
fn a_grid_is_its_comparisons() {
    let folder = folder(GRID);
    let all = run_in(&folder, &["run", "x.toml", "--json", "-"]);
    assert_eq!(all.code, 0, "{}", all.stderr);
    let document = all.json();
    assert_eq!(document["title"], "Two paths, two sizes");
    let comparisons = document["comparisons"].as_array().expect("a list");
    let cells = ["rapid-slide", "rate=20Mbit,rtt=80ms,queue=1bdp"]
        .map(|path| ["200kB", "2MB"].map(|bytes| (path, bytes)));
    assert_eq!(comparisons.len(), 4);
    for (comparison, (path, bytes)) in comparisons.iter().zip(cells.as_flattened()) {
        let alone = well(&[
            "compare",
            "--path",
            path,
            "--bytes",
            bytes,
            "--arms",
            "slowstart,rapid(jump=off)/reno",
            "--repeat",
            "2",
            "--json",
            "-",
        ]);
        assert_eq!(*comparison, alone.json(), "{path}, {bytes}");
    }
}

#[test]
fn a_grid_shows_every_table_and_one_over_all() {
    let folder = folder(GRID);
    let shown = run_in(&folder, &["run", "x.toml"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(shown.stdout.starts_with("Two paths, two sizes\n"), "{}", shown.stdout);
    assert_eq!(
        shown.stdout.matches(" queueing delay p99 ").count(),
        4,
        "four tables: {}",
        shown.stdout
    );
    let (_, overview) = shown.stdout.split_once("completion time of all\n").expect("an overview");
    assert!(
        overview.contains("rapid-slide")
            && overview.contains("path 3")
            && overview.contains("200.0 kB"),
        "{overview}"
    );
    let mut narrow = command::command(&["run", "x.toml"]);
    let narrow = narrow.current_dir(folder.path()).env("COLUMNS", "80").output();
    let narrow = String::from_utf8(narrow.expect("it starts").stdout).expect("UTF-8");
    assert!(
        narrow.lines().count() <= 24 && narrow.contains("or as fast as the"),
        "a screen shows the answer and the table over all: {narrow}"
    );
    let json = run_in(&folder, &["run", "x.toml", "--json", "-"]).json();
    let median = |cell: usize| {
        let of = |row: usize| {
            json["comparisons"][cell]["results"][row]["ttlb_ms"].as_f64().expect("a time")
        };
        format!("{:.1}", f64::midpoint(of(0), of(1)))
    };
    for cell in 0..4 {
        assert!(
            overview.contains(&median(cell)),
            "slow start in cell {cell}: {} in\n{overview}",
            median(cell)
        );
    }
}

#[test]
fn an_experiment_on_a_population_is_that_of_ab() {
    let folder = folder(
        "population = \"cdn\"\nbaseline = \"slowstart\"\narms = [\"rapid\"]\nflows = 64\nseed = 3\n",
    );
    let ran = run_in(&folder, &["run", "x.toml", "--json", "-", "--threads", "1"]);
    let test = well(&[
        "ab",
        "--population",
        "cdn",
        "--arms",
        "rapid",
        "--flows",
        "64",
        "--seed",
        "3",
        "--json",
        "-",
    ]);
    assert_eq!((ran.code, ran.stdout), (test.code, test.stdout));
}

#[test]
fn several_flows_and_applications_are_experiments_too() {
    let folder = folder(
        "bytes = \"1MB\"\narms = \"slowstart\"\nflows = 2\napart = \"100ms\"\ncross = [\"slowstart\"]\n",
    );
    let ran = run_in(&folder, &["run", "x.toml", "--json", "-"]).json();
    let typed = well(&[
        "compare",
        "--bytes",
        "1MB",
        "--arms",
        "slowstart",
        "--flows",
        "2",
        "--apart",
        "100ms",
        "--cross",
        "slowstart",
        "--json",
        "-",
    ]);
    assert_eq!(ran["comparisons"][0], typed.json());
    assert_eq!(ran["title"], Value::Null);
    let report = run_in(&folder, &["run", "x.toml", "--report", "x.html"]);
    report.refuses("--report", "one flow alone");
}

#[test]
fn reports_are_one_page_or_a_folder_of_pages() {
    let grid = folder(GRID);
    let page: &[&str] = &["--report", "x.html"];
    refused_in(&grid, &["run", "x.toml"], &[(page, "4 pages; name a folder that exists")]);
    fs::create_dir(grid.path().join("pages")).expect("a folder");
    assert_eq!(run_in(&grid, &["run", "x.toml", "--report", "pages", "--json", "x.json"]).code, 0);
    let mut pages: Vec<String> = fs::read_dir(grid.path().join("pages"))
        .expect("pages")
        .map(|page| page.expect("a page").file_name().to_string_lossy().into())
        .collect();
    pages.sort();
    assert_eq!(pages.len(), 4);
    assert_eq!(pages[0], "01-rapid-slide__200.0_kB.html");
    let one = folder("bytes = \"200kB\"\narms = \"slowstart\"\n");
    assert_eq!(run_in(&one, &["run", "x.toml", "--report", "x.html"]).code, 0);
    assert_eq!(inside(&one), ["x.html", "x.toml"]);
    let dash: &[&str] = &["--report", "-"];
    refused_in(&one, &["run", "x.toml"], &[(dash, "a report goes to a file")]);
}

#[test]
fn files_are_looked_for_beside_the_experiment() {
    let folder = tempfile::tempdir().expect("a folder");
    let deep = folder.path().join("deep");
    fs::create_dir(&deep).expect("a folder");
    fs::write(deep.join("mine.toml"), "rate = \"20Mbit\"\nrtt = \"80ms\"\nqueue = \"1bdp\"\n")
        .expect("a file");
    fs::write(
        deep.join("x.toml"),
        "path = [\"mine.toml\"]\nbytes = \"200kB\"\narms = \"slowstart\"\n",
    )
    .expect("a file");
    let ran = run_in(&folder, &["run", "deep/x.toml", "--json", "-"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.json()["comparisons"][0]["experiment"]["rate_mbps"], 20.0);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let rows: &[(&str, &str)] = &[
        (
            "arms = \"slowstart\"\npaht = \"geo\"\n",
            "x.toml:2: paht: unknown key (did you mean `path`?); allowed: title, ",
        ),
        ("population = \"cdn\"\nrepeat = 2\n", "x.toml:2: repeat: unknown key"),
        ("\nseed = [1, 2]\n", "x.toml:2: seed: a list of 2; allowed: one value"),
        ("arms = []\n", "x.toml:1: arms: a list of 0"),
        ("arms = [[\"slowstart\"]]\n", "x.toml:1: arms: found array; allowed: text, a number"),
        (
            "path = \"geo\"\n\nbytes = [\"1MB\", \"1\"]\n",
            "x.toml:3: bytes 1: the unit is missing; allowed: 1B to 1024GiB",
        ),
        ("repeat = 0\n", "x.toml:1: repeat 0: is zero; allowed: 1 to 100000"),
        (
            "on = \"mars\"\n",
            "x.toml:1: on mars: unknown value; allowed: sim, quic, quic-real, linux",
        ),
        ("on = \"quic\"\nreal = \"maybe\"\n", "x.toml:2: real maybe: allowed: true or false"),
        ("arms = \"rapdi\"\n", "x.toml: unknown arm or startup `rapdi` (did you mean `rapid`?)"),
        ("path = [\"geo\", \"goe\"]\n", "x.toml: "),
        ("path = \"geo\narms = \n", "x.toml:1: "),
        ("population = \"cdn\"\nflows = -3\n", "x.toml:2: flows -3: is negative"),
    ];
    for (text, told) in rows {
        let folder = folder(text);
        let told = format!("firstflight: {told}");
        refused_in(&folder, &["run", "x.toml"], &[(&["--json", "out.json"], &told)]);
    }
    refused(&[(&["run", "no-such-file.toml"], "firstflight: no-such-file.toml: ")]);
}

#[test]
fn the_testbed_can_be_another_than_the_files() {
    let folder = folder("on = \"sim\"\nbytes = \"200kB\"\narms = \"slowstart\"\n");
    let ran = run_in(&folder, &["run", "x.toml", "--on", "quic", "--dry-run"]);
    if cfg!(feature = "quic") {
        assert_eq!(
            ran.stdout, "firstflight compare --arms=slowstart --bytes=200kB --on=quic\n",
            "{}",
            ran.stderr
        );
    } else {
        ran.refuses("--on quic", "testbed `quic` is not part of this build");
    }
    let sim = run_in(&folder, &["run", "x.toml", "--on", "sim", "--dry-run"]);
    assert_eq!(sim.stdout, "firstflight compare --arms=slowstart --bytes=200kB --on=sim\n");
    let folder = self::folder("population = \"cdn\"\n");
    let linux: &[&str] = &["--on", "linux"];
    refused_in(&folder, &["run", "x.toml"], &[(linux, "a population is met in the simulator")]);
}
