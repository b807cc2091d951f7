//! Beat the oracle, scored without a browser.

use crate::answer;
use firstflight_web::Engine;
use serde_json::{Value, json};

/// A game as a hand played it, with its score: the browser's tests read it too.
const PLAYED: &str = include_str!("played.json");

fn request(round: &Value, windows: &Value, until_ms: u32) -> Value {
    json!({
        "do": "play", "round": round, "windows": windows, "until_ms": until_ms, "points": 400,
    })
}

fn play(windows: &Value, until_ms: u32) -> Value {
    answer(&mut Engine::default(), &request(&json!(11), windows, until_ms))
}

#[test]
fn a_recorded_game_has_the_same_score_wherever_and_whenever() {
    let played: Value = serde_json::from_str(PLAYED).expect("JSON");
    let ask = request(&played["round"], &played["windows"], 10_000);
    let mut engine = Engine::default();
    let first = engine.call(&ask.to_string()).expect("a score");
    assert_eq!(engine.call(&ask.to_string()).expect("a score"), first);
    let first: Value = serde_json::from_str(&first).expect("JSON");
    assert_eq!(first["over"]["scores"][0], played["score"]);
}

#[test]
fn a_window_that_fills_the_path_beats_every_arm_and_half_of_it_has_half_the_points() {
    let over = &play(&json!([[0, 10]]), 10_000)["over"];
    let packets = over["bdp_bytes"].as_u64().expect("bytes") / 1472;
    let points = |window: u64| {
        let seen = play(&json!([[0, window]]), 10_000);
        seen["over"]["scores"][0]["points"].as_u64().expect("points")
    };
    let (whole, half, far) = (points(packets + 1), points(packets / 2), points(20 * packets));
    let arms = over["scores"].as_array().expect("scores")[1..].iter();
    let best = arms.filter_map(|score| score["points"].as_u64()).max().expect("arms");
    assert!(whole > best && whole <= 1000, "{whole} points, the best arm {best}");
    assert!((430..=510).contains(&half), "half a BDP has {half} points");
    assert_eq!(far, 0, "twenty BDPs are dropped but for one and the queue");
}

#[test]
fn what_is_seen_on_the_way_does_not_hang_on_what_comes_later() {
    let windows = json!([[0, 10], [400, 60], [1500, 20]]);
    let (early, late) = (play(&windows, 1_200), play(&windows, 3_000));
    let column = |seen: &Value, name: &str| seen["series"][name].as_array().expect(name).clone();
    assert_eq!(early["over"], Value::Null);
    assert_eq!(early["t_ms"], 1200.0);
    for name in ["t_ms", "inflight", "rtt_ms", "lost_bytes"] {
        let (seen, later) = (column(&early, name), column(&late, name));
        assert!(seen.len() > 40 && later.starts_with(&seen[..seen.len() - 1]), "{name}");
    }
    let inflight = early["inflight"].as_u64().expect("bytes");
    assert!(inflight <= 60 * 1472 && inflight > 50 * 1472, "{inflight} bytes of 60 packets");
}

#[test]
fn a_game_that_makes_no_sense_is_refused_in_one_line() {
    for (windows, part) in [
        (json!([[0, 0]]), "a window of 0 packets; allowed: 1 to 8192"),
        (json!([[5, 9], [4, 9]]), "in order of time"),
        (json!(vec![[0, 9]; 1001]), "at most 1000 settings"),
        (json!([[0, -1]]), "no request"),
    ] {
        let request = request(&json!(1), &windows, 10).to_string();
        let said = Engine::default().call(&request).expect_err("refused").to_string();
        assert!(said.contains(part) && !said.contains('\n'), "{windows}: {said}");
    }
}
