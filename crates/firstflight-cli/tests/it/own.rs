//! The command with parts of somebody's own inside.

use firstflight::avoidance::{Reno, reno};
use firstflight::recovery::Immediate;
use firstflight::startup::{RapidStart, rapid_start};
use firstflight_cli::parts::{avoidance, recovery, startup};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::process::ExitCode;

#[test]
fn parts_of_somebodys_own_are_arms_of_every_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("out.json");
    let run = |parts, words: &[&str]| {
        let words = ["firstflight"].iter().chain(words).map(OsString::from);
        let words = words.chain(["--json".into(), file.clone().into()]);
        let code = firstflight_cli::run(parts, words);
        assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::SUCCESS));
        let text = fs::read_to_string(&file).expect("an answer");
        serde_json::from_str::<Value>(&text).expect("JSON")
    };
    let parts = vec![
        startup("my-rapid", || RapidStart::new(rapid_start::Params::default())),
        avoidance("my-reno", || Reno::new(reno::Params::default())),
        recovery("at-once", Immediate::default),
    ];
    let arms = "rapid/reno/immediate,my-rapid/my-reno/at-once";
    let compared = run(parts, &["compare", "--bytes", "1MB", "--arms", arms]);
    let mut rows = compared["results"].as_array().expect("rows").clone();
    assert_eq!(rows[1]["arm"], "my-rapid/my-reno/at-once");
    for row in &mut rows {
        let row = row.as_object_mut().expect("a row");
        row.retain(|key, _| !key.starts_with("arm"));
    }
    assert_eq!(rows[0], rows[1], "what does as ours do has their row");
    let words = ["evaluate", "slowstart/my-reno", "--quick", "--criteria", "7.11"];
    let evaluated = run(Vec::new(), &words);
    assert_eq!(evaluated["algorithm_full"], "slowstart/my-reno/prr");
    assert_eq!(evaluated["broken"], Value::Array(Vec::new()));
}
