//! The engine without a browser: the same requests, natively. `tests/web` compares it with the
//! program, `tests/browser/test_playground.py` checks the page.

mod game;
mod inside;

use firstflight_lab::compare::Keep;
use firstflight_lab::{Plan, Scenario, parse_arms};
use firstflight_path::Path;
use firstflight_web::Engine;
use firstflight_web::page::{POLICY, files};
use serde_json::{Value, json};

fn answer(engine: &mut Engine, request: &Value) -> Value {
    let text = engine.call(&request.to_string()).expect("an answer");
    serde_json::from_str(&text).expect("JSON")
}

fn view(engine: &mut Engine, arms: &str) -> Value {
    let plan = json!({"arms": arms, "path": "rapid-slide", "bytes": "10MB", "seed": 1});
    answer(engine, &json!({"do": "view", "plan": plan, "points": 200, "arm": 0}))
}

#[test]
fn a_comparison_is_that_of_the_lab() {
    let path = Path::parse("geo,queue=0.5bdp").expect("a path");
    let plan =
        Plan::new(parse_arms("hystart,rapid").expect("arms"), Scenario::new(path, 1_000_000));
    let expected = plan.run(Keep::Rows, &|| ()).expect("runs").to_json();
    let plan = json!({"arms": "hystart,rapid", "path": "geo,queue=0.5bdp", "bytes": "1MB"});
    let request = json!({"do": "compare", "plan": plan}).to_string();
    assert_eq!(Engine::default().call(&request).expect("an answer"), expected);
}

#[test]
fn what_makes_no_sense_is_refused_in_one_line() {
    let mut engine = Engine::default();
    for (request, part) in [
        ("", "no request"),
        (r#"{"do": "fly"}"#, "unknown variant `fly`"),
        (r#"{"do": "compare", "plan": {"arms": "warp"}}"#, "unknown arm or startup `warp`"),
        (r#"{"do": "compare", "plan": {"bytes": [1]}}"#, "--bytes: takes one text or number"),
        (r#"{"do": "compare", "plan": {"json": "-"}}"#, "--json: unknown option"),
        (r#"{"do": "step", "arm": 0, "at_ms": 1.0, "by": 1}"#, "there is no ACK to show"),
    ] {
        let said = engine.call(request).expect_err("refused").to_string();
        assert!(said.contains(part) && !said.contains('\n'), "{request}: {said}");
    }
}

#[test]
fn an_event_says_the_numbers_that_decided_and_the_rule() {
    let seen = view(&mut Engine::default(), "hystart++");
    let first = &seen["events"][0][0];
    assert_eq!(first["rule"], "RFC 9406 4.2");
    let says = first["says"].as_str().expect("a sentence");
    assert!(says.starts_with("minimum RTT of this round 37.4 ms ≥ 30.0 + 4.0"), "{says}");
    let exit = &seen["report"]["series"][0]["exit"];
    let left = |event: &&Value| event["says"].as_str().is_some_and(|says| says.contains("leaves"));
    let event = seen["events"][0].as_array().expect("events").iter().find(left).expect("an exit");
    assert_eq!(event["t_ms"], exit["time_ms"]);
}

#[test]
fn signals_are_few_enough_to_draw_and_keep_what_decides() {
    let seen = view(&mut Engine::default(), "hystart++");
    let times = seen["signals"]["t_ms"].as_array().expect("times");
    assert!((50..=400).contains(&times.len()), "{} times", times.len());
    let curves = seen["signals"]["curves"].as_array().expect("curves");
    let named = |name: &str| curves.iter().find(|curve| curve["name"] == name).expect(name);
    assert_eq!(named("hspp_last_min_ns + rise")["threshold"], true);
    assert!(curves.iter().all(|curve| curve["values"].as_array().unwrap().len() == times.len()));
}

#[test]
fn steps_go_from_ack_to_ack_and_stop_at_the_ends() {
    let mut engine = Engine::default();
    view(&mut engine, "slowstart,rapid");
    let mut step = |at: &Value, by: i64| {
        answer(&mut engine, &json!({"do": "step", "arm": 1, "at_ms": at, "by": by}))
    };
    let here = step(&json!(100.0), 0);
    assert!(here["t_ms"].as_f64().expect("a time") <= 100.0);
    let next = step(&here["t_ms"], 1);
    assert_eq!(next["index"].as_u64(), here["index"].as_u64().map(|index| index + 1));
    assert_eq!(step(&next["t_ms"], -1), here);
    assert_eq!(step(&json!(0.0), -5)["index"], 0);
    assert_eq!(step(&json!(1e9), 5)["index"].as_u64(), here["of"].as_u64().map(|of| of - 1));
}

#[test]
fn several_flows_have_a_table_and_no_charts() {
    let plan = json!({"arms": "rapid", "bytes": "1MB", "cross": "slowstart"});
    let request = json!({"do": "view", "plan": plan, "points": 200, "arm": 0});
    let seen = answer(&mut Engine::default(), &request);
    assert_eq!(seen["report"]["table"]["rows"].as_array().map(Vec::len), Some(1));
    assert_eq!(seen["report"]["series"].as_array().map(Vec::len), Some(0));
    assert_eq!(
        seen["report"]["command"],
        "firstflight compare --arms=rapid --bytes=1MB --cross=slowstart"
    );
}

#[test]
fn the_page_has_the_policy_of_its_server_and_names_only_its_own_files() {
    let all = files();
    let index = &all.iter().find(|file| file.name == "index.html").expect("a page").text;
    assert!(index.contains(&format!("content=\"{POLICY}\"")), "index.html has another policy");
    for (attribute, end) in [("src=\"", '"'), ("href=\"", '"')] {
        for part in index.split(attribute).skip(1) {
            let (target, _) = part.split_once(end).expect("the attribute ends");
            let own = all.iter().any(|file| file.name == target);
            assert!(own || target.starts_with('#') || target == "data:,", "{target}");
        }
    }
}

/// A story that quotes numbers of a path with chance says that they are one trial's.
#[test]
fn the_tour_names_single_trials_where_there_is_chance() {
    let tour: Vec<Value> =
        serde_json::from_str(include_str!("../../page/tour.json")).expect("stories");
    let has_chance = |story: &Value| {
        let path = story["plan"]["path"].as_str().expect("a path");
        Path::parse(path).expect("a path").has_chance()
    };
    let says_so = |story: &Value| story["says"].as_str().expect("a text").contains("one trial");
    assert!(tour.iter().any(has_chance));
    for story in &tour {
        assert_eq!(has_chance(story), says_so(story), "{}", story["title"]);
    }
}
