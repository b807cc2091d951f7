//! `firstflight compare --sweep`: the same comparison at every point.

use crate::command::{command, interrupted, refused, well};
use serde_json::Value;

const SMALL: [&str; 5] = ["compare", "--arms", "slowstart,rapid", "--bytes", "300kB"];

fn small(more: &[&str]) -> Vec<&'static str> {
    let words = SMALL.iter().chain(more).map(|word| (*word).to_owned());
    words.map(|word| &*Box::leak(word.into_boxed_str())).collect()
}

/// Completion time of an arm in the rows of a sweep or of a comparison.
fn ttlb(rows: &Value, arm: &str, wanted: &[(&str, &str)]) -> f64 {
    let is =
        |row: &&Value| row["arm"] == arm && wanted.iter().all(|(key, value)| row[*key] == *value);
    let row = rows.as_array().expect("rows").iter().find(is).expect("the row");
    let time = &row["ttlb_ms"];
    time.as_f64().or_else(|| time["value"].as_f64()).expect("a time")
}

#[test]
fn every_point_is_the_comparison_that_one_would_have_typed() {
    let sweep = well(&small(&[
        "--sweep",
        "rtt=20ms..80ms:3",
        "--sweep",
        "queue=0.5bdp,2bdp",
        "--json",
        "-",
    ]));
    let json = sweep.json();
    let rows = &json["results"];
    assert_eq!(rows.as_array().expect("rows").len(), 3 * 2 * 2);
    for (rtt, queue) in [("20ms", "0.5bdp"), ("40ms", "2bdp"), ("80ms", "0.5bdp")] {
        let path = format!("rapid-slide,rtt={rtt},queue={queue}");
        let one = well(&small(&["--path", &path, "--json", "-"])).json();
        for arm in ["slowstart", "rapid"] {
            let here = ttlb(rows, arm, &[("rtt", rtt), ("queue", queue)]);
            let there = ttlb(&one["results"], arm, &[]);
            assert!((here - there).abs() < 1e-9, "{arm} at {path}: {here}, alone {there}");
        }
    }
}

#[test]
fn a_sweep_is_the_same_for_any_number_of_threads() {
    let words = small(&["--sweep", "bytes=100kB..1MB:3", "--repeat", "3", "--json", "-"]);
    let one = well(&[words.as_slice(), &["--threads", "1"]].concat());
    let two = well(&[words.as_slice(), &["--threads", "2"]].concat());
    assert_eq!(one.stdout, two.stdout);
    let json = one.json();
    assert_eq!(json["experiment"]["bytes"], Value::Null, "the size is what is swept");
    let row = &json["results"][0];
    assert_eq!((&row["bytes"], &row["object_bytes"]), (&"100kB".into(), &100_000.into()));
    let time = &row["ttlb_ms"];
    let [low, value, high] = ["low", "value", "high"].map(|end| time[end].as_f64().expect("ms"));
    assert!(low <= value && value <= high && low < high, "{time}: repeats differ");
}

#[test]
fn tables_fit_80_columns_whatever_is_swept() {
    let arms = ["compare", "--arms", "slowstart,rapid,hystart++,rapid-nojump", "--bytes", "50kB"];
    for sweeps in [
        &["--sweep", "rtt=10ms..300ms:13"][..],
        &["--sweep", "rtt=10ms..300ms:2", "--sweep", "queue=0.25..4bdp:17"],
    ] {
        let mut command = command(&[&arms, sweeps].concat());
        let output = command.env("COLUMNS", "80").output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
        }
        assert!(!text.contains("left out"), "every value has a place:\n{text}");
        for value in ["10ms", "300ms"] {
            assert!(text.contains(value), "{value} is missing:\n{text}");
        }
    }
}

#[test]
fn a_map_names_the_best_arm_and_its_margin() {
    // Twice the window of the other is twice as fast where one round trip is all there is.
    let words = ["compare", "--arms", "slowstart,slowstart@(iw=40)", "--bytes", "40kB"];
    let path = ["--path", "rate=1Gbit,rtt=100ms,queue=1bdp"];
    let sweeps = ["--sweep", "rtt=100ms,200ms", "--sweep", "loss=0%,0.001%"];
    let all = [&words[..], &path, &sweeps].concat();
    let text = well(&all).stdout;
    let map: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("completion time"))
        .filter(|line| line.contains("ms "))
        .take(2)
        .collect();
    for line in &map {
        assert_eq!(line.matches(" B ").count(), 2, "the larger window is best: {map:?}\n{text}");
    }
    assert!(text.contains("B slowstart@(iw=40)"), "{text}");
    let csv = well(&[&all[..], &["--format", "csv"]].concat()).stdout;
    let mut lines = csv.lines();
    let names = lines.next().expect("names");
    assert!(names.starts_with("rtt,loss,arm,arm_full,path,"), "{names}");
    assert!(names.contains(",ttlb_ms,ttlb_ms_low,ttlb_ms_high,"), "{names}");
    assert_eq!(lines.count(), 8);
    let markdown = well(&[&all[..], &["--format", "md"]].concat()).stdout;
    assert!(markdown.contains("### loss: best arm"), "{markdown}");
    assert!(markdown.contains("slowstart@(iw=40)"), "{markdown}");
}

#[test]
fn a_sweep_has_a_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("page.html");
    let name = file.to_str().expect("text");
    well(&small(&["--sweep", "rtt=10ms,20ms", "--sweep", "queue=1bdp,2bdp", "--report", name]));
    let page = std::fs::read_to_string(&file).expect("a page");
    let open = r#"<script type="application/json" id="data">"#;
    let (_, rest) = page.split_once(open).expect("data");
    let (data, _) = rest.split_once("</script>").expect("the end of the data");
    let data: Value = serde_json::from_str(data).expect("JSON");
    assert_eq!(data["judged"][0]["points"].as_array().expect("points").len(), 4);
    assert_eq!(data["sweep"]["results"].as_array().expect("rows").len(), 8);
    assert!(data["sweep"]["finding"].as_str().expect("a finding").starts_with("Completion time:"));
}

#[test]
fn what_cannot_be_swept_is_refused_in_one_line() {
    let rows = [
        (&["--sweep", "rtt"][..], "--sweep rtt: has no values"),
        (&["--sweep", "rtt=300ms..10ms"], "descending order"),
        (&["--sweep", "rtx=1ms,2ms"], "unknown key (did you mean `rtt`?)"),
        (&["--sweep", "rtt=1ms,2ms", "--sweep", "rtt=3ms"], "--sweep rtt: given twice"),
        (&["--sweep", "rtt=1ms", "--sweep", "loss=0", "--sweep", "ack=1"], "one or two"),
        (&["--sweep", "rtt=20ms", "--flows", "2"], "one flow alone"),
        (&["--sweep", "rtt=20ms", "--trace", "x.csv"], "--trace"),
        (&["--sweep", "bytes=1MB,2 bananas"], "--sweep bytes: 2 bananas unknown unit"),
        (&["--sweep", "rtt=20ms", "--columns", "colour"], "no column of this name"),
    ];
    for (words, what) in rows {
        refused(&[(&small(words), what)]);
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_shows_the_points_that_are_through() {
    let base = ["compare", "--sweep", "rtt=10ms..300ms:100", "--repeat", "5000", "--threads", "1"];
    let more = ["--bytes", "50kB", "--arms", "slowstart,rapid", "--json", "-"];
    let stopped = interrupted(4, &[&base[..], &more].concat());
    let (json, said) = (stopped.json(), &stopped.stderr);
    let through = json["points_through"].as_u64().expect("points");
    assert!((1..100).contains(&through), "{through}");
    assert_eq!(json["results"].as_array().expect("rows").len() as u64, 2 * through);
    assert!(said.contains(&format!("stopped: {through} of 100 points")), "{said}");
}
