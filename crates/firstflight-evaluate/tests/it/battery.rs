//! The built-in battery, and error messages for batteries with mistakes.

use crate::{asked, battery_of};
use firstflight_evaluate::{Battery, Effort, Judge, METRICS, Rule, cells};
use std::collections::BTreeSet;
use std::fs;

#[test]
fn every_cell_of_the_battery_is_read_and_has_a_name_of_its_own() {
    let battery = Battery::builtin().expect("it comes with the program");
    let all: Vec<usize> = (0..battery.criteria.len()).collect();
    for effort in [Effort::Quick, Effort::Standard, Effort::Full] {
        let cells = cells(&battery, &all, effort).unwrap_or_else(|bad| panic!("{bad}"));
        let names: BTreeSet<&str> = cells.iter().map(|cell| cell.id.as_str()).collect();
        assert_eq!(names.len(), cells.len(), "two cells have one name");
        for cell in &cells {
            assert!(!cell.judges.is_empty() || effort != Effort::Full, "{} has no rule", cell.id);
            assert!(!cell.id.contains(' '), "{} is not one word of a command", cell.id);
            assert!(cell.newcomer() < cell.time, "{}: somebody starts after its end", cell.id);
        }
    }
}

#[test]
fn every_section_of_the_rfc_has_a_file() {
    let battery = Battery::builtin().expect("it comes with the program");
    let sections: Vec<&str> =
        battery.criteria.iter().flat_map(|criterion| criterion.criterion.split(", ")).collect();
    for section in [
        "5.1.1", "5.1.2", "5.1.3", "5.1.4", "5.1.5", "5.2", "5.2.1", "5.2.2", "5.2.3", "5.3.1",
        "5.3.2", "6.1", "6.2", "6.3", "6.4", "7.1", "7.2", "7.3", "7.4", "7.5", "7.6", "7.7",
        "7.8", "7.9", "7.10", "7.11",
    ] {
        assert!(sections.contains(&section), "nothing is said of section {section}");
    }
}

#[test]
fn the_directory_in_the_checkout_is_the_built_in_battery() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/rfc9743");
    let [read, builtin] = [Battery::read(folder.as_ref()), Battery::builtin()]
        .map(|battery| battery.unwrap_or_else(|bad| panic!("{bad}")));
    assert_eq!(read.sha256, builtin.sha256, "a file is missing in one of them");
}

#[test]
fn budgets_are_those_of_ten_minutes() {
    let battery = Battery::builtin().expect("it comes with the program");
    let million = |effort| {
        let job = asked(battery.clone(), "rapid", effort).job().expect("cells");
        job.packets / 1_000_000
    };
    let (quick, standard) = (million(Effort::Quick), million(Effort::Standard));
    // At 2.5 million packets a second two cores have 900 million in three minutes, 3000 in ten.
    assert!(quick < 450, "quick runs {quick} million packets");
    assert!(standard < 3_000, "standard runs {standard} million packets");
}

#[test]
fn words_choose_sections_with_their_parts() {
    let battery = Battery::builtin().expect("it comes with the program");
    let chosen = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        battery.select(&words).map(|chosen| {
            chosen
                .into_iter()
                .map(|index| battery.criteria[index].criterion.clone())
                .collect::<Vec<_>>()
        })
    };
    assert_eq!(chosen(&["7.1"]).expect("a section"), ["7.1"], "7.10 is another section");
    assert_eq!(chosen(&["5.2.3"]).expect("a section"), ["5.1.5, 5.2.3"]);
    assert_eq!(chosen(&["6"]).expect("a chapter"), ["6.1", "6.2", "6.3", "6.4"]);
    let bad = chosen(&["5.1.9"]).expect_err("there is none").to_string();
    assert!(bad.starts_with("no criterion `5.1.9`"), "{bad}");
}

#[test]
fn mistakes_are_refused_in_a_line_that_names_file_and_line() {
    let table = [
        ("strenght = \"x\"", "5.1.3-test.toml:6: unknown field `strenght`"),
        ("[[scenario]]\nid = \"a\"", "missing field `path`"),
        (
            &scenario("metric = \"los\", rule = \"report\"", ""),
            "no metric `los` (did you mean `loss`?)",
        ),
        (&scenario("metric = \"loss\", rule = \"below\"", ""), "loss has a rule with a limit"),
        (&scenario("metric = \"harm_x\", rule = \"report\"", ""), "needs `solo`, the role"),
        (&scenario("metric = \"t90_s\", rule = \"report\"", ""), "has no `event`"),
        (
            &scenario("metric = \"loss\", of = \"victim\", rule = \"report\"", ""),
            "which no flow has",
        ),
        (&scenario("metric = \"loss\", rule = \"report\"", "grid = \"H\""), "no grid `H`"),
        ("answer = \"maybe\"", "unknown variant `maybe`"),
        ("", "nothing is run"),
    ];
    for (text, said) in table {
        let folder = tempfile::tempdir().expect("a directory");
        let head = "criterion = \"5.1.3\"\ntitle = \"T\"\nstrength = \"s\"\nsource = \"h\"\nabout = \"a\"\n";
        for (name, text) in
            [("VERSION", "1"), ("grids.toml", ""), ("5.1.3-test.toml", &format!("{head}{text}"))]
        {
            fs::write(folder.path().join(name), text).expect("a file");
        }
        let bad = Battery::read(folder.path()).expect_err(text).to_string();
        assert!(bad.contains(said), "of `{text}` it is said: {bad}");
        assert!(!bad.contains('\n'), "one line, not: {bad}");
    }
}

fn scenario(judge: &str, more: &str) -> String {
    format!(
        "[[scenario]]\nid = \"a\"\npath = \"rate=1Mbit,rtt=50ms\"\nfor = \"9s\"\n{more}\nflow = [{{ who = \"@algorithm\" }}]\njudge = [{{ {judge} }}]\n"
    )
}

#[test]
fn cells_with_mistakes_are_named() {
    for (line, said) in [
        ("sweep.queue = [\"1bdp\", \"none\"]", "cell 5.1.3/a:none: queue=none"),
        ("sweep.rate = [\"1Mbit\"]", "`$queue` has no value"),
    ] {
        let text = scenario("metric = \"loss\", rule = \"report\"", line)
            .replace("50ms", "50ms,queue=$queue");
        let bad = cells(&battery_of(&text), &[0], Effort::Quick).expect_err(line).to_string();
        assert!(bad.contains(said), "of `{line}` it is said: {bad}");
    }
}

#[test]
fn rules_of_the_battery_use_every_metric_or_the_metric_goes() {
    let battery = Battery::builtin().expect("it comes with the program");
    let of_scenarios = battery.criteria.iter().flat_map(|criterion| &criterion.scenario);
    let judges = of_scenarios.flat_map(|scenario| &scenario.judge);
    let judges: Vec<&Judge> =
        judges.chain(battery.criteria.iter().flat_map(|criterion| &criterion.judge)).collect();
    assert!(judges.iter().any(|judge| judge.rule == Rule::NotRising));
    let unused: Vec<&str> = METRICS
        .iter()
        .map(|metric| metric.name)
        .filter(|name| judges.iter().all(|judge| judge.metric != *name))
        .collect();
    // For batteries of others.
    assert_eq!(unused, ["queue_p50_ms", "rtt_p95_ms"]);
}

const BEGIN: &str = "<!-- metrics: written by `WRITE_DOCS=1 cargo test -p firstflight-evaluate the_page_defines_every_metric` -->\n";
const END: &str = "<!-- end of metrics -->";

#[test]
fn the_page_defines_every_metric() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/evaluate-metrics.md");
    let text = fs::read_to_string(page).expect("the page");
    let line = |metric: &firstflight_evaluate::MetricDoc| {
        let good = if metric.high_is_good { "; more is better" } else { "" };
        format!("| `{}` | {} | {}{good} |\n", metric.name, metric.unit, metric.doc)
    };
    let head = "| metric | unit | definition |\n|---|---|---|\n".to_owned();
    let table = head + &METRICS.iter().map(line).collect::<String>();
    let (before, rest) = text.split_once(BEGIN).expect("a begin");
    let (_, after) = rest.split_once(END).expect("an end");
    let right = format!("{before}{BEGIN}{table}{END}{after}");
    if std::env::var_os("WRITE_DOCS").is_some() {
        fs::write(page, &right).expect("the page can be written");
    }
    assert!(
        fs::read_to_string(page).expect("the page") == right,
        "{page} is not what the program says"
    );
}
