//! `firstflight arms` and `firstflight paths`: everything that is listed works under the name it is
//! listed by.

use crate::command;

use command::{run, well};
use firstflight::arm::{AVOIDANCES, RECOVERIES, SHORT_NAMES, STARTUPS};
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
fn every_path_is_listed_with_its_source() {
    let list = well(&["paths"]).stdout;
    for builtin in builtins() {
        let line = list.lines().find(|line| line.split_whitespace().next() == Some(builtin.name));
        let line = line.unwrap_or_else(|| panic!("{} is listed", builtin.name));
        assert!(line.contains(builtin.about), "{} is explained: {line}", builtin.name);
        assert!(
            line.trim_end().ends_with(builtin.source),
            "{} has its source: {line}",
            builtin.name
        );
        assert!(list.contains(&format!(" {} ", builtin.text)), "{} has its text", builtin.name);
    }
}

#[test]
fn every_listed_part_makes_an_arm_that_takes_off() {
    let list = well(&["arms"]).stdout;
    let listed = words(&list, 1);
    for part in STARTUPS.iter().chain(AVOIDANCES).chain(RECOVERIES) {
        assert!(listed.contains(&part.name), "{} is listed", part.name);
        assert!(
            list.lines().any(|line| line.trim_end().ends_with(part.source)),
            "{} is listed with its source",
            part.name
        );
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
    let list = well(&["arms"]).stdout;
    for short in SHORT_NAMES {
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
fn every_option_is_listed_with_its_values() {
    let list = well(&["arms"]).stdout;
    let listed = words(&list, 3);
    for doc in STARTUPS.iter().chain(AVOIDANCES).chain(RECOVERIES).flat_map(|part| part.options) {
        assert!(listed.contains(&format!("{}=", doc.key).as_str()), "{} is listed", doc.key);
        assert!(
            list.contains(&format!("{}: {}", doc.values, doc.meaning)),
            "{} is explained",
            doc.key
        );
    }
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
