//! `firstflight arms` and `firstflight paths`: everything that is listed works under the name it is
//! listed by.

use crate::command;

use command::{refused, run, well};
use firstflight::arm::{AVOIDANCES, RECOVERIES, SHORT_NAMES, STARTUPS, SenderParams};
use firstflight_path::builtins;

/// The first words of the lines that are indented by so many blanks; cells of a table begin with
/// one.
fn words(text: &str, indent: usize) -> Vec<&str> {
    text.lines()
        .filter(|line| line.len() - line.trim_start().len() == indent && !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .collect()
}

#[test]
fn every_listed_path_carries_an_object() {
    let list = well(&["paths", "--format", "json"]).json();
    let rows = list.as_array().expect("a list");
    let listed: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| (row["name"].as_str().expect("a name"), row["path"].as_str().expect("a path")))
        .collect();
    assert_eq!(listed.len(), builtins().len(), "every built-in path is listed: {list}");
    for (name, text) in listed {
        let run = run(&[
            "compare",
            "--path",
            name,
            "--arms",
            "slowstart",
            "--bytes",
            "20kB",
            "--json",
            "-",
        ]);
        assert_eq!(run.code, 0, "`{name}` is listed and fails: {}", run.stderr);
        let experiment = &run.json()["experiment"];
        assert_eq!(experiment["path"], text, "`{name}` is the path that is listed");
        assert_eq!(experiment["path_name"], name);
    }
}

#[test]
fn a_way_back_that_grants_capacity_on_demand_makes_hystart_leave_early() {
    let exit = |path: &str| {
        let arm = "hystart@(pace=off)";
        let run = run(&[
            "compare",
            "--transport",
            "tcp",
            "--path",
            path,
            "--arms",
            arm,
            "--bytes",
            "5MB",
            "--json",
            "-",
        ]);
        assert_eq!(run.code, 0, "`{path}`: {}", run.stderr);
        run.json()["results"][0]["exit"]["bdp_ratio"].as_f64()
    };
    let early = exit("geo,return=geo_cold").expect("startup ends");
    assert!(early < 0.05, "it leaves at {early} BDP");
    assert!(
        exit("geo").is_none_or(|ratio| ratio > 0.1),
        "without it, it leaves much later or not at all"
    );
}

#[test]
fn every_path_is_listed_once_and_described_by_its_name() {
    let list = well(&["paths"]).stdout;
    for builtin in builtins() {
        let of = |line: &&str| line.split_whitespace().next() == Some(builtin.name);
        let [line] = list.lines().filter(of).collect::<Vec<_>>()[..] else {
            panic!("{} has one line", builtin.name)
        };
        let first = builtin.about.split(';').next().expect("a clause");
        assert!(line.contains(first), "{} is explained: {line}", builtin.name);
        let one = well(&["paths", builtin.name]).stdout;
        for what in [builtin.about, builtin.text, builtin.source] {
            assert!(one.contains(what), "{}: {what}: {one}", builtin.name);
        }
    }
    let aliased = well(&["paths", "lte"]).stdout;
    assert!(aliased.contains("quicly15/lte"), "{aliased}");
    refused(&[(&["paths", "lted"], "not a known path")]);
}

#[test]
fn every_listed_part_makes_an_arm_that_takes_off() {
    let list = well(&["arms"]).stdout;
    let listed = words(&list, 1);
    for part in STARTUPS.iter().chain(AVOIDANCES).chain(RECOVERIES) {
        assert!(listed.contains(&part.name), "{} is listed", part.name);
        let one = well(&["arms", part.name]).stdout;
        assert!(one.contains(part.source), "{} has its source: {one}", part.name);
    }
    let startups = STARTUPS.iter().map(|part| part.name.to_owned());
    let avoidances = AVOIDANCES.iter().map(|part| format!("slowstart/{}", part.name));
    let recoveries = RECOVERIES.iter().map(|part| format!("slowstart/cubic/{}", part.name));
    for arm in startups.chain(avoidances).chain(recoveries) {
        let run = well(&["compare", "--arms", &arm, "--bytes", "1MB", "--json", "-"]);
        assert_eq!(run.json()["results"][0]["complete"], true, "{arm} finishes");
    }
}

#[test]
fn every_short_name_stands_for_the_arm_beside_it() {
    for short in SHORT_NAMES {
        let list = well(&["arms", short.name]).stdout;
        let line = list
            .lines()
            .find(|line| line.split_whitespace().next() == Some(short.name))
            .unwrap_or_else(|| panic!("{} is listed", short.name));
        assert_eq!(
            line.split_whitespace().nth(1),
            Some(short.arm),
            "the arm beside {}",
            short.name
        );
        let full = |arm: &str| {
            well(&["compare", "--arms", arm, "--bytes", "10kB", "--json", "-"]).json()["results"][0]
                ["arm_full"]
                .clone()
        };
        assert_eq!(full(short.name), full(short.arm), "{} and what it stands for", short.name);
    }
}

#[test]
fn every_option_is_described_with_its_part() {
    let sender = ("sender", SenderParams::DOCS);
    let parts = STARTUPS.iter().chain(AVOIDANCES).chain(RECOVERIES);
    for (name, docs) in parts.map(|part| (part.name, part.options)).chain([sender]) {
        let one = well(&["arms", name]).stdout;
        for doc in docs {
            let line =
                one.lines().find(|line| line.trim_start().starts_with(&format!("{}=", doc.key)));
            let line = line.unwrap_or_else(|| panic!("{name}: {} is described: {one}", doc.key));
            assert!(line.contains(doc.values) && line.contains(doc.meaning), "{name}: {line}");
        }
    }
    refused(&[(&["arms", "rapdi"], "did you mean `rapid`")]);
}

#[test]
fn help_and_version_end_well() {
    for arguments in
        [&["--help"][..], &["--version"], &["help"], &["compare", "--help"], &["help", "compare"]]
    {
        let run = well(arguments);
        assert!(
            !run.stdout.is_empty() && run.stderr.is_empty(),
            "`firstflight {}` answers on standard output",
            arguments.join(" ")
        );
    }
}
