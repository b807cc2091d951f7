//! Reports that contain the simulator.

use firstflight_lab::compare::Keep;
use firstflight_lab::{Comparison, Hosts, Plan, Scenario, hosts_of_tcp, parse_arms};
use firstflight_path::Path;
use firstflight_replay::advice::named;
use firstflight_replay::files::follow_bytes;
use firstflight_replay::replay::Settings;
use firstflight_replay::results::Results;
use firstflight_web::{Engine, inside};
use serde_json::{Value, json};

fn compared(path: &str, host: Hosts, repeat: u32) -> Comparison {
    let path = Path::parse(path).expect("a path");
    let scenario = Scenario { host, iw: 20, ..Scenario::new(path, 700_001) };
    let arms = parse_arms("hystart++(cap=2)/reno,rapid@(iw=30)").expect("arms");
    let plan = Plan { seed: 7, repeat, ..Plan::new(arms, scenario) };
    plan.run(Keep::Events, &|| ()).expect("runs")
}

/// Text of the element of that id.
fn element<'a>(page: &'a str, id: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("id=\"{id}\">")).expect(id);
    rest.split_once("</script>").expect("it ends").0
}

#[test]
fn the_page_asks_its_simulator_for_exactly_what_was_printed() {
    for (path, host) in [
        ("rapid-slide,loss=0.1%", Hosts::default()),
        ("geo,return=geo_warm", hosts_of_tcp("linux26").expect("a preset")),
    ] {
        let comparison = compared(path, host, 2);
        let page = inside::page(&comparison, "firstflight compare", "AAAA").expect("a page");
        let plan: Value = serde_json::from_str(element(&page, "plan")).expect("JSON");
        let request = json!({"do": "compare", "plan": plan}).to_string();
        let answer = Engine::default().call(&request).expect("an answer");
        assert_eq!(answer, comparison.to_json(), "{plan}");
        assert_eq!(element(&page, "engine"), "AAAA");
    }
}

#[test]
fn a_page_with_a_simulator_may_run_it_and_nothing_else() {
    let comparison = compared("rapid-slide", Hosts::default(), 1);
    let page = inside::page(&comparison, "", "AAAA").expect("a page");
    assert!(page.contains(
        "content=\"default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; worker-src \
         blob:; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\""
    ));
    assert!(!page.contains("{{") && page.matches("</script").count() == 4);
    let plain = comparison.report("").to_html();
    assert!(!plain.contains("wasm") && !plain.contains("worker-src") && !plain.contains("{{"));
}

#[test]
fn what_takes_too_long_for_a_slider_has_no_simulator() {
    let comparison = compared("rapid-slide", Hosts::default(), 21);
    let why = inside::page(&comparison, "", "AAAA").expect_err("too many trials").to_string();
    assert!(why.contains("21 trials") && why.contains("--repeat 20"), "{why}");
}

#[test]
fn the_page_of_a_replay_has_the_replay_inside_and_not_the_recording() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples/plain.pcap.gz");
    let bytes = std::fs::read(sample).expect("a sample");
    let arms = named("hystart,rapid(jump=off)").expect("arms");
    let settings = Settings { arms, lines: 1, ..Settings::default() };
    let (replay, files) = follow_bytes("plain.pcap.gz", bytes, settings).expect("a replay");
    let results = Results::new(replay, files);
    let page = inside::replay_page(&results, "firstflight replay", "AAAA");
    assert_eq!(element(&page, "plan"), r#"{"arms":"hystart,rapid(jump=off)"}"#);
    assert_eq!(element(&page, "engine"), "AAAA");
    assert!(page.contains("What would another algorithm have done?") && !page.contains("{{"));
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
}
