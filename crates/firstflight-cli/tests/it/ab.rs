//! `firstflight ab` and `firstflight populations`: the same bytes however a test is cut, honest
//! numbers, and one line for bad input.

use crate::command;

use command::{Run, inside, interrupted, refused, refused_in, run_in, well};
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

const SMALL: [&str; 9] =
    ["ab", "--population", "cdn", "--flows", "300", "--arms", "jumpstart,rapid", "--seed", "5"];

fn with<'a>(base: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    base.iter().chain(more).copied().collect()
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

#[track_caller]
fn well_in(folder: &TempDir, arguments: &[&str]) -> Run {
    let run = run_in(folder, arguments);
    assert_eq!(
        run.code,
        0,
        "`firstflight {}` ends with {}: {}",
        arguments.join(" "),
        run.code,
        run.stderr
    );
    run
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let one = well(&with(&SMALL, &["--json", "-", "--threads", "1"])).stdout;
    for threads in ["2", "3"] {
        let more = well(&with(&SMALL, &["--json", "-", "--threads", threads])).stdout;
        assert!(one == more, "{threads} threads change the result");
    }
}

#[test]
fn shards_merged_in_any_order_are_the_whole() {
    let folder = folder();
    let whole = well(&with(&SMALL, &["--json", "-"])).stdout;
    for (part, file) in [("1/3", "a.ffab"), ("2/3", "b.ffab"), ("3/3", "c.ffab")] {
        let shard =
            well_in(&folder, &with(&SMALL, &["--shard", part, "--save", file, "--json", "-"]))
                .json();
        assert_eq!(shard["complete"], false, "a shard says that it is not everything");
    }
    for order in [["a.ffab", "b.ffab", "c.ffab"], ["c.ffab", "a.ffab", "b.ffab"]] {
        let merged =
            well_in(&folder, &with(&["ab", "merge"], &with(&order, &["--json", "-"]))).stdout;
        assert!(whole == merged, "shards in the order {order:?} differ from the whole");
    }
    let part = run_in(&folder, &["ab", "merge", "a.ffab", "c.ffab", "--json", "-"]);
    assert_eq!(
        (part.code, part.json()["complete"].clone()),
        (1, Value::Bool(false)),
        "a missing shard is a result that fell short"
    );
    well_in(&folder, &["ab", "--flows", "100", "--seed", "9", "--save", "other.ffab"]);
    let mut bytes = fs::read(folder.path().join("b.ffab")).unwrap();
    let middle = bytes.len() - 100;
    bytes[middle] ^= 1;
    fs::write(folder.path().join("damaged.ffab"), bytes).unwrap();
    fs::write(folder.path().join("words.ffab"), "not a shard at all\n").unwrap();
    let rows: &[(&[&str], &str)] = &[
        (&["a.ffab", "a.ffab"], "contains block 0, as does another shard"),
        (&["a.ffab", "other.ffab"], "belongs to another test than a.ffab"),
        (&["damaged.ffab"], "is damaged: its checksum is wrong"),
        (&["words.ffab"], "is not a shard"),
    ];
    refused_in(&folder, &["ab", "merge"], rows);
}

#[test]
fn satellites_responses_and_policed_videos_are_sharded_and_threaded_as_exactly() {
    for population in ["geo", "mobile-2025", "us-web", "in-video"] {
        let folder = folder();
        let test = [
            "ab",
            "--population",
            population,
            "--flows",
            "140",
            "--baseline",
            "hystart",
            "--arms",
            "slowstart,rapid",
        ];
        let whole = well(&with(&test, &["--json", "-", "--threads", "1"])).stdout;
        let threads = well(&with(&test, &["--json", "-", "--threads", "3"])).stdout;
        assert!(whole == threads, "{population}: three threads change the result");
        for (part, file) in [("1/2", "a.ffab"), ("2/2", "b.ffab")] {
            well_in(&folder, &with(&test, &["--shard", part, "--save", file]));
        }
        let merged = well_in(&folder, &["ab", "merge", "b.ffab", "a.ffab", "--json", "-"]).stdout;
        assert!(whole == merged, "{population}: merged shards differ from the whole");
        let result: Value = serde_json::from_str(&whole).unwrap();
        assert_eq!(
            result["decision"]["check"]["differed"], 0,
            "{population}: the same seed gives the same"
        );
    }
}

#[test]
fn a_recommendation_names_the_arm_that_the_numbers_name() {
    let test = ["ab", "--population", "cdn", "--flows", "3000", "--arms", "plumb", "--seed", "5"];
    let result = well(&with(&test, &["--json", "-"])).json();
    let decision = &result["decision"];
    assert_eq!(decision["rule"], "clean", "{}", decision["sentence"]);
    assert_eq!((&decision["deploy"], &decision["arm"]), (&"plumb".into(), &"plumb".into()));
    let effects = decision["arms"][0]["effects"].as_array().unwrap();
    let worlds = decision["worlds"].as_array().unwrap();
    assert_eq!(effects.len(), worlds.len(), "an effect in every world");
    let lows = effects.iter().map(|of| of["time_pct"]["low"].as_f64().unwrap());
    let claim = lows.fold(f64::INFINITY, f64::min).floor();
    let told = decision["sentence"].as_str().unwrap();
    assert!(told.starts_with(&format!("Deploy plumb: at least {claim:.0} % faster")), "{told}");
    let text = well(&test).stdout;
    let first: Vec<&str> = text.lines().take(3).collect();
    let lines = first.join(" ");
    assert!(told.split(' ').all(|word| lines.contains(word)), "{told} in {first:?}");
    assert!(text.lines().count() <= 24, "one screen: {text}");
}

fn lines(of: &Value) -> Vec<&str> {
    of.as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect()
}

#[test]
fn every_corner_of_the_assumptions_is_a_world_but_what_the_user_set_stays() {
    let worlds = |population: &str| {
        let test = ["ab", "--population", population, "--flows", "160", "--arms", "rapid"];
        let result = well(&with(&test, &["--json", "-"])).json();
        assert_eq!(result["experiment"]["worlds_every"], 4, "a quarter of a small test");
        let worlds = result["decision"]["worlds"].as_array().unwrap().clone();
        assert!(worlds[1..].iter().all(|world| world["connections"] == 40), "{worlds:?}");
        worlds[1..]
            .iter()
            .map(|world| world["knobs"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let corners = worlds("cdn");
    assert_eq!(corners.len(), 4, "buffers and random loss: {corners:?}");
    let fixed = worlds("cdn(k=0.0001)");
    assert_eq!(fixed.len(), 2, "the user's loss is no assumption: {fixed:?}");
    assert!(fixed.iter().all(|knobs| knobs.contains("k = 0.0001,")), "{fixed:?}");
    let buffers = worlds("cdn(q=3)");
    assert!(buffers.iter().all(|knobs| knobs.contains("q = 3.0,")), "{buffers:?}");
    let measured = ["ab", "--population", "best-links", "--flows", "60", "--arms", "rapid"];
    let stated = well(&with(&measured, &["--json", "-"])).json();
    assert_eq!(stated["decision"]["worlds"].as_array().unwrap().len(), 1, "nothing to try");
}

#[test]
fn a_price_that_is_accepted_makes_a_deployment() {
    let test = ["ab", "--population", "cdn(k=0.0001)", "--flows", "3200", "--arms", "rapid"];
    let plain = well(&with(&test, &["--json", "-"])).json();
    assert_eq!(plain["decision"]["rule"], "price", "{}", plain["decision"]["sentence"]);
    assert_eq!(plain["decision"]["deploy"], Value::Null);
    let accepted = ["--max-loss-cost", "5", "--max-queue", "1000", "--max-slower", "50"];
    let paid = well(&with(&test, &with(&accepted, &["--json", "-"]))).json();
    assert_eq!(paid["decision"]["deploy"], "rapid", "{}", paid["decision"]["sentence"]);
    assert!(paid["decision"]["sentence"].as_str().unwrap().ends_with("which you accept."));
}

#[test]
fn nothing_is_recommended_on_a_part_of_a_test() {
    let folder = folder();
    let part =
        well_in(&folder, &with(&SMALL, &["--shard", "1/3", "--save", "a.ffab", "--json", "-"]))
            .json();
    let told = part["decision"]["sentence"].as_str().unwrap();
    assert!(
        told.starts_with("No recommendation: the test is not complete, 1")
            && told.contains(" of 300 connections ran"),
        "{told:?}"
    );
    assert_eq!(
        (&part["decision"]["rule"], &part["decision"]["deploy"]),
        (&"none".into(), &Value::Null)
    );
}

#[test]
fn p50_p95_and_p99_of_the_completion_time_stand_first() {
    let json = well(&with(&SMALL, &["--json", "-"])).stdout;
    let results = &json[json.find("\"results\"").unwrap()..];
    let places =
        ["\"flows\"", "\"ttlb_ms\"", "\"p50\"", "\"p95\"", "\"p99\"", "\"mean\"", "\"incomplete\""]
            .map(|key| results.find(key).unwrap());
    assert!(
        places.is_sorted(),
        "the first numbers of an arm are its completion times: {}",
        &results[..600]
    );
    let table = well(&SMALL).stdout;
    let row = table.lines().find(|line| line.trim_start().starts_with("arm")).unwrap();
    assert_eq!(row.split_whitespace().skip(1).take(2).collect::<Vec<_>>(), ["p50", "p95"], "{row}");
}

#[test]
fn no_arm_is_called_best_beside_a_cell_that_says_more_loss() {
    for seed in ["5", "6", "7"] {
        let result = well(&[
            "ab",
            "--flows",
            "200",
            "--seed",
            seed,
            "--arms",
            "jumpstart,rapid-nojump,rapid",
            "--json",
            "-",
        ])
        .json();
        for line in
            lines(&result["advice"]).into_iter().filter(|line| line.ends_with("loses least"))
        {
            let (name, rest) = line.split_once(": ").unwrap();
            let arm = rest.split(' ').next().unwrap();
            let of = |arm: &str| {
                entry(&result, if name == "all" { "all" } else { "group" }, name, arm)["loss_pct"]["mean"].as_f64().unwrap()
            };
            for other in lines(&result["experiment"]["arms"]) {
                assert!(of(arm) <= of(other), "seed {seed}: {line}, yet {other} loses less");
            }
        }
    }
}

#[test]
fn what_was_finished_is_not_run_again() {
    let folder = folder();
    let first = well_in(&folder, &with(&SMALL, &["--resume", "kept", "--json", "-"])).stdout;
    let kept = folder.path().join("kept");
    let blocks = |folder: &std::path::Path| {
        let mut files: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    };
    let files = blocks(&kept);
    assert_eq!(files.len(), 5, "300 connections are 5 blocks of 64");
    let times: Vec<_> =
        files.iter().map(|file| fs::metadata(file).unwrap().modified().unwrap()).collect();
    fs::remove_file(&files[2]).unwrap();
    let again = well_in(&folder, &with(&SMALL, &["--resume", "kept", "--json", "-"])).stdout;
    assert!(first == again, "an interrupted test ends as one that was not");
    for (index, file) in blocks(&kept).iter().enumerate().filter(|(index, _)| *index != 2) {
        assert_eq!(
            fs::metadata(file).unwrap().modified().unwrap(),
            times[index],
            "block {index} is left alone"
        );
    }
    assert!(
        first == well_in(&folder, &["ab", "merge", "kept", "--json", "-"]).stdout,
        "and the folder merges to the same"
    );
    let other: &[&str] = &["--flows", "300", "--resume", "kept"];
    refused_in(&folder, &["ab"], &[(other, "block-000000.ffab: belongs to another test")]);
}

fn entry<'a>(result: &'a Value, part: &str, name: &str, arm: &str) -> &'a Value {
    let found = result["results"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["part"] == part && row["name"] == name && row["arm"] == arm);
    found.unwrap_or_else(|| panic!("no entry for {part} {name} {arm}"))
}

#[test]
fn the_numbers_are_those_of_the_rows() {
    let folder = folder();
    let result = well_in(&folder, &with(&SMALL, &["--out", "rows.csv", "--json", "-"])).json();
    let text = fs::read_to_string(folder.path().join("rows.csv")).unwrap();
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = |name: &str| {
        header
            .iter()
            .position(|column| *column == name)
            .unwrap_or_else(|| panic!("no column {name}"))
    };
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 900, "300 connections under 3 arms");
    let number = |row: &[&str], column: &str| row[at(column)].parse::<f64>().unwrap();
    let order: Vec<(u64, &str)> =
        rows.iter().map(|row| (row[at("path_index")].parse().unwrap(), row[at("arm")])).collect();
    let expected: Vec<(u64, &str)> = (0..300)
        .flat_map(|index| ["slowstart", "jumpstart", "rapid"].map(|arm| (index, arm)))
        .collect();
    assert!(order == expected, "rows are sorted by connection and arm");
    let mean = |arm: usize, column: &str| {
        rows.iter().skip(arm).step_by(3).map(|row| number(row, column)).sum::<f64>() / 300.0
    };
    for (arm, name) in [(1, "jumpstart"), (2, "rapid")] {
        let versus = &entry(&result, "all", "all", name)["versus_baseline"];
        let value = |path: &Value| path.as_f64().unwrap();
        let reduction = (1.0 - mean(arm, "ttlb_ms") / mean(0, "ttlb_ms")) * 100.0;
        assert!(
            (value(&versus["reduction_pct"]["mean"]["value"]) - reduction).abs() < 1e-9,
            "{name}: reduction of the mean is {reduction}"
        );
        let points = (mean(arm, "loss_ratio") - mean(0, "loss_ratio")) * 100.0;
        assert!(
            (value(&versus["loss_points"]["value"]) - points).abs() < 1e-6,
            "{name}: {points} points of loss"
        );
        let pairs: Vec<f64> = rows
            .chunks(3)
            .map(|three| number(&three[arm], "ttlb_ms") / number(&three[0], "ttlb_ms"))
            .collect();
        let worse = pairs.iter().filter(|ratio| **ratio > 1.05).count() as f64 / 3.0;
        assert!(
            (value(&versus["paired"]["worse_pct"]) - worse).abs() < 1e-9,
            "{name}: {worse} % take over 5 % longer"
        );
        let mut sorted = pairs.clone();
        sorted.sort_by(f64::total_cmp);
        let median = f64::midpoint(sorted[149], sorted[150]);
        assert!(
            (value(&versus["paired"]["p50"]["value"]) / median - 1.0).abs() < 0.006,
            "{name}: median ratio {median}"
        );
        let geometric = (pairs.iter().map(|ratio| ratio.ln()).sum::<f64>() / 300.0).exp();
        assert!(
            (value(&versus["paired"]["geometric_mean"]) - geometric).abs() < 1e-6,
            "{name}: geometric mean {geometric}"
        );
    }
    for row in rows.chunks(3) {
        for column in ["rate_mbps", "rtt_ms", "queue_bytes", "random_loss", "object_bytes", "group"]
        {
            assert!(
                row.iter().all(|arm| arm[at(column)] == row[0][at(column)]),
                "every arm meets the same {column}"
            );
        }
    }
}

#[test]
fn another_arm_changes_nothing_for_the_others() {
    let (few, more) = (well(&with(&SMALL, &["--json", "-"])).json(), {
        let mut arguments = with(&SMALL, &["--json", "-"]);
        arguments[6] = "jumpstart,rapid,hystart++";
        well(&arguments).json()
    });
    for arm in ["slowstart", "jumpstart", "rapid"] {
        for key in ["ttlb_ms", "loss_pct", "queue_p99_ms", "exits"] {
            assert_eq!(
                entry(&few, "all", "all", arm)[key],
                entry(&more, "all", "all", arm)[key],
                "{key} of {arm}"
            );
        }
    }
}

#[test]
fn every_test_checks_the_baseline_against_itself() {
    let result = well(&with(&SMALL, &["--json", "-"])).json();
    let check = &result["decision"]["check"];
    assert_eq!(check["pairs"], 300, "a small test uses every connection");
    assert_eq!(
        (check["differed"].clone(), check["passed"].clone()),
        (0.into(), true.into()),
        "{check}"
    );
    assert!(check["repeated"].as_u64().unwrap() >= 75, "{check}");
    let text = well(&with(&SMALL, &["--wide"])).stdout;
    let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("The baseline against itself") && said.contains("passed"), "{text}");
}

#[test]
fn words_and_warnings_stand_beside_the_numbers() {
    let run = well(&with(&SMALL, &["--wide"]));
    assert!(run.stdout.contains("Other assumptions, on"), "{}", run.stdout);
    assert!(!run.stdout.contains("inf."), "no interval is endless: {}", run.stdout);
    assert!(
        run.stdout.contains("fastest ") && run.stdout.contains("least loss "),
        "{}",
        run.stdout
    );
    assert!(run.stderr.contains("note: 300 connections: p99 rests on 3 of them"), "{}", run.stderr);
    let turned = well(&["ab", "--population", "cdn(q=1)", "--flows", "60", "--arms", "rapid"]);
    assert!(
        turned.stderr.contains("note: population cdn is uncalibrated: q=1.0"),
        "a knob turned by hand is told: {}",
        turned.stderr
    );
    let twins = well(&[
        "ab",
        "--population",
        "dc-adjacent",
        "--flows",
        "60",
        "--baseline",
        "slowstart",
        "--arms",
        "slowstart/cubic/prr@(burst=2)",
    ]);
    assert!(
        twins.stderr.contains("behaved like the baseline on every single connection"),
        "{}",
        twins.stderr
    );
}

#[test]
fn a_population_printed_and_read_gives_the_same_test() {
    let folder = folder();
    let text = well(&["populations", "show", "cdn"]).stdout;
    fs::write(folder.path().join("mine.toml"), text).unwrap();
    let mut arguments = with(&SMALL, &["--json", "-"]);
    let named = well(&arguments).stdout;
    arguments[2] = "mine.toml";
    assert!(named == well_in(&folder, &arguments).stdout, "a copy of the file is the population");
}

#[test]
fn tcp_can_be_tested_too() {
    let result =
        well(&["ab", "--flows", "100", "--transport", "tcp", "--arms", "hystart++", "--json", "-"])
            .json();
    assert_eq!(
        (result["experiment"]["transport"].clone(), result["complete"].clone()),
        ("tcp".into(), true.into())
    );
}

#[test]
fn the_report_is_one_file_that_fetches_nothing() {
    let folder = folder();
    well_in(&folder, &with(&SMALL, &["--report", "page.html"]));
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(
        page.contains("<title>jumpstart, rapid against slowstart on cdn</title>"),
        "the title says what was tested"
    );
    assert!(
        !page.contains("{{") && !page.contains("src=\"http") && !page.contains("url(http"),
        "nothing is left open or fetched"
    );
    assert_eq!(inside(&folder), ["page.html"], "and nothing else is left behind");
}

#[test]
fn populations_are_listed_and_described() {
    let list = well(&["populations"]).stdout;
    for name in [
        "cdn",
        "fixed-2025",
        "cdn-global-2019",
        "geo",
        "us-web",
        "us-small",
        "in-video",
        "best-links",
        "browser-upload",
    ] {
        assert!(list.contains(&format!("\n {name} ")), "{name} is listed");
        let text = well(&["populations", "describe", name]).stdout;
        assert!(
            ["rtt_ms", "bdp_bytes", "buffer_bdp", "p99"].iter().all(|word| text.contains(word)),
            "{name}: {text}"
        );
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_gives_what_is_done_so_far() {
    let stopped = interrupted(3, &["ab", "--flows", "100000000", "--threads", "1", "--json", "-"]);
    let result = stopped.json();
    assert_eq!(result["complete"], false);
    let flows = result["flows"].as_u64().unwrap();
    assert!((1..100_000_000).contains(&flows), "{flows} connections ran");
    assert!(
        result["warnings"][0].as_str().unwrap().starts_with("incomplete: "),
        "{}",
        result["warnings"]
    );
}

#[test]
fn bad_input_is_one_line() {
    let folder = folder();
    let good = well(&["populations", "show", "dc-adjacent"]).stdout;
    let spoilt = [
        ("key.toml", good.replace("weight =", "wieght =")),
        ("weights.toml", good.replace("weight = 1.0", "weight = 0.5")),
        ("size.toml", good.replace("median_bytes = 60000.0", "median_bytes = 0")),
        ("empty.toml", good.split("[[group]]").next().unwrap().to_owned()),
        ("nothing.toml", String::new()),
    ];
    for (name, text) in spoilt {
        assert_ne!(text, good, "{name} is spoilt");
        fs::write(folder.path().join(name), text).unwrap();
    }
    let rows: &[(&[&str], &str)] = &[
        (&["--population", "key.toml"], "key.toml:"),
        (&["--population", "key.toml"], "group[0].wieght: unknown key (did you mean `weight`?)"),
        (&["--population", "weights.toml"], "group.weight: sum to 0.5; allowed: 1 within 1e-9"),
        (
            &["--population", "size.toml"],
            "group[0].size.lognormal.median_bytes: 0 is out of range; allowed: at least 1 byte",
        ),
        (&["--population", "empty.toml"], "group: is missing"),
        (&["--population", "nothing.toml"], "nothing.toml:1: schema: is missing"),
        (&["--population", "cnd"], "did you mean `cdn`?"),
        (&["--population", "cdn(q=1,q=2)"], "`q` is given twice"),
        (&["--flows", "0"], "--flows 0: "),
        (&["--arms", "slowstart"], "arms `slowstart` and `slowstart` are the same"),
        (&["--arms", "rapidd"], "did you mean `rapid`?"),
        (&["--baseline", "rapid,slowstart"], "--baseline rapid,slowstart: 2 arms; allowed: one"),
        (&["--shard", "3/2"], "--shard 3/2: is not a part"),
        (&["--shard", "1/2"], "needs --save FILE or --resume FOLDER"),
        (&["--out", "rows.xlsx"], "unknown kind of file"),
        (&["--limit", "9999"], "--limit 9999: "),
        (&["--json", "no/where.json"], "output folder no does not exist"),
        (&["--resume", "no/where"], "output folder no does not exist"),
        (&["--engine", "spark"], "--engine spark: unknown value"),
        (&["--shards", "4"], "--shards: goes with `--engine ray`"),
        (&["--engine", "ray", "--shards", "0"], "--shards 0: "),
        (&["--engine", "ray", "--shard", "1/2"], "--shard: does not go with `--engine ray`"),
        (&["--out", "rows.csv", "--resume", "kept"], "--out: does not go with --resume"),
    ];
    refused_in(&folder, &["ab"], rows);
    refused(&[(&["populations", "calibrate", "geo"], "")]);
}

/// Times that the limit cut off are equal for every arm, and so would be the 95th percentiles.
#[test]
fn a_limit_that_stops_many_transfers_leaves_no_recommendation() {
    let of = ["ab", "--population", "leo-starlink", "--flows", "300", "--arms", "plumb"];
    let run = well(&with(&of, &["--limit", "500ms", "--json", "-"]));
    let decision = &run.json()["decision"];
    assert_eq!((&decision["rule"], &decision["deploy"]), (&"none".into(), &Value::Null));
    let sentence = decision["sentence"].as_str().expect("a sentence");
    assert!(
        sentence.starts_with("No recommendation: ") && sentence.ends_with("raise `--limit`."),
        "{sentence}"
    );
}
