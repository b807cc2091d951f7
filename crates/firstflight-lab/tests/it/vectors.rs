//! Vectors are self-contained.

use firstflight::arm::{Arm, RECOVERIES, STARTUPS};
use firstflight::controller::Config;
use firstflight::event::Transport;
use firstflight::fields::EVENT;
use firstflight::{Event, Ratio, Seq, Time};
use firstflight_lab::parse_arms;
use firstflight_lab::vectors::{ANSWERS, Rules, columns, make, standard, to_json};
use serde_json::Value;

fn document(arms: &str, rules: Rules) -> Value {
    let vectors = make(&parse_arms(arms).expect("arms"), rules).expect("vectors");
    serde_json::from_str(&to_json(&vectors).expect("text")).expect("JSON")
}

/// The event of a step, whose columns of [`EVENT`] are `places`.
fn event_of(step: &[Value], places: &[usize]) -> Event {
    let name = step[0].as_str().expect("a name");
    let now = Time(step[1].as_u64().expect("a time"));
    let mut event = Event::blank(name, now).expect("a known event");
    for (field, index) in EVENT.iter().zip(places) {
        let text = match &step[*index] {
            Value::Null => continue,
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        field.put(&mut event, Some(&text)).expect("it can be read");
    }
    event
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn every_answer_follows_from_the_file_alone() {
    let vectors = standard(Rules::Both).expect("vectors");
    let document: Value = serde_json::from_str(&to_json(&vectors).expect("text")).expect("JSON");
    let columns = columns();
    // By name, as a runner in another language finds them.
    let place = |name: &str| columns.iter().position(|column| *column == name).expect("a column");
    let places: Vec<usize> = EVENT.iter().map(|field| place(field.name)).collect();
    let [cwnd, phase, ssthresh] = ["cwnd", "phase", "ssthresh"].map(place);
    let mut exits = 0;
    for vector in document["vectors"].as_array().expect("a list") {
        let (arm, config) = (vector["arm"].as_str().expect("a text"), &vector["config"]);
        let transport = config["transport"].as_str().expect("a text");
        let (num, den) = config["recovery_gain"]
            .as_str()
            .and_then(|gain| gain.split_once('/'))
            .expect("a fraction");
        let mss = number(&config["mss"]);
        let standard = if transport == "quic" { Config::quic(mss) } else { Config::tcp(mss) };
        let config_of = firstflight::with!(Config {
            transport: if transport == "quic" { Transport::Quic } else { Transport::Tcp },
            initial_window: number(&config["initial_window"]),
            paced: config["paced"] == true,
            max_burst: number(&config["max_burst"]),
            recovery_gain: Ratio::new(num.parse().expect("a number"), den.parse().expect("one")),
            idle_restart: config["idle_restart"] == true,
            ..standard
        });
        let mut controller = Arm::parse(arm)
            .expect("an arm")
            .with_oracle(number(&config["oracle_exit_bytes"]))
            .controller(config_of, Time(number(&config["now_ns"])), Seq(number(&config["nxt"])));
        let steps = vector["steps"].as_array().expect("a list");
        assert!(steps.len() > 300, "{}: {} steps", vector["name"], steps.len());
        for (index, step) in steps.iter().enumerate() {
            let step = step.as_array().expect("a list");
            controller.tell(&event_of(step, &places));
            assert_eq!(
                (controller.cwnd(), controller.phase().name()),
                (number(&step[cwnd]), step[phase].as_str().expect("a text")),
                "{}, step {index}",
                vector["name"]
            );
            assert_eq!(controller.ssthresh(), step[ssthresh].as_u64());
        }
        exits += u32::from(controller.exit().is_some());
    }
    assert!(exits as usize > STARTUPS.len() + RECOVERIES.len(), "{exits} startups have ended");
}

#[test]
fn a_step_has_a_value_for_every_column() {
    let document = document("slowstart,rapid", Rules::Both);
    let width = document["columns"].as_array().expect("a list").len();
    assert_eq!(width, 2 + EVENT.len() + ANSWERS.len());
    for vector in document["vectors"].as_array().expect("a list") {
        for step in vector["steps"].as_array().expect("a list") {
            assert_eq!(step.as_array().expect("a list").len(), width, "{step}");
        }
    }
}
