//! Vectors can fail: every option and every planted fault is told apart by at least one of them.

use crate::students::{WITHOUT, faults};
use firstflight::arm::{AVOIDANCES, Arm, Part, RECOVERIES, STARTUPS};
use firstflight::options::OptionDoc;
use firstflight_lab::vectors::{Rules, Vector, standard};
use std::sync::LazyLock;

static VECTORS: LazyLock<Vec<Vector>> =
    LazyLock::new(|| standard(Rules::Both).expect("every one of them runs"));

fn of_arm(arm: &Arm) -> impl Iterator<Item = &'static Vector> {
    VECTORS.iter().filter(move |vector| vector.begin.arm == *arm)
}

#[test]
fn each_planted_fault_fails_a_vector_and_what_has_none_passes_all() {
    for (fault, arm, mut foreign) in faults() {
        let arm = Arm::parse(arm).expect("an arm");
        let failed: Vec<String> = of_arm(&arm)
            .filter_map(|vector| {
                let apart = vector.fails(&mut *foreign).expect("it answers")?;
                Some(format!("{}: {apart:?}", vector.name))
            })
            .collect();
        assert_eq!(failed.is_empty(), fault == WITHOUT, "{fault}, {arm}: {failed:#?}");
    }
}

/// Values that no vector tells from the default, and why.
const ALIKE: &[(&str, &str)] = &[];

#[test]
fn every_value_of_every_option_changes_a_vector() {
    let mut alike = Vec::new();
    let mut told = 0;
    for (slot, parts) in [STARTUPS, AVOIDANCES, RECOVERIES].into_iter().enumerate() {
        for part in parts {
            for doc in part.options {
                for value in values(slot, part, doc) {
                    match differs(slot, part, doc.key, &value) {
                        Some(true) => told += 1,
                        Some(false) => alike.push(format!("{}({}={value})", part.name, doc.key)),
                        None => {}
                    }
                }
            }
        }
    }
    let known = |name: &String| ALIKE.iter().any(|(alike, _)| name.starts_with(alike));
    let unknown: Vec<&String> = alike.iter().filter(|name| !known(name)).collect();
    assert!(unknown.is_empty(), "no vector tells these from the default: {unknown:#?}");
    for (name, _) in ALIKE {
        assert!(alike.iter().any(|one| one.starts_with(name)), "{name} is told apart by now");
    }
    assert!(told > 200, "{told} values told apart");
}

/// Whether a vector of an arm with this part is answered otherwise with the option at that value;
/// nothing if every one of them has that value already, or cannot have it.
fn differs(slot: usize, part: &Part, key: &str, value: &str) -> Option<bool> {
    let mut result = None;
    let mut arms: Vec<Arm> = Vec::new();
    for vector in VECTORS.iter() {
        let arm = vector.begin.arm;
        let here = [arm.startup.name(), arm.avoidance.name(), arm.recovery.name()][slot];
        if here == part.name && !arms.contains(&arm) {
            arms.push(arm);
        }
    }
    for arm in arms {
        let text = with(&arm, slot, key, value);
        let Ok(other) = Arm::parse(&text) else { continue };
        if other == arm {
            continue;
        }
        if of_arm(&arm).any(|vector| answers_otherwise(vector, &other)) {
            return Some(true);
        }
        result = Some(false);
    }
    result
}

fn answers_otherwise(vector: &Vector, arm: &Arm) -> bool {
    let mut ours = vector.begin.controller();
    let mut other = firstflight::Begin { arm: *arm, ..vector.begin }.controller();
    vector.events.iter().any(|event| {
        ours.tell(event);
        other.tell(event);
        (ours.cwnd(), ours.ssthresh(), ours.pacing_rate(), ours.phase())
            != (other.cwnd(), other.ssthresh(), other.pacing_rate(), other.phase())
    })
}

/// The arm with the option set in the part at `slot`.
fn with(arm: &Arm, slot: usize, key: &str, value: &str) -> String {
    let text = arm.to_string();
    let (parts, sender) = text.split_once('@').map_or((&*text, None), |(a, b)| (a, Some(b)));
    let mut depth = 0;
    let mut parts: Vec<String> = parts
        .split(|letter| {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            letter == '/' && depth == 0
        })
        .map(str::to_owned)
        .collect();
    let part = &mut parts[slot];
    match part.strip_suffix(')') {
        Some(open) => *part = format!("{open},{key}={value})"),
        None => *part = format!("{part}({key}={value})"),
    }
    let sender = sender.map_or(String::new(), |sender| format!("@{sender}"));
    parts.join("/") + &sender
}

/// What an option can be set to, out of the words that say so: every name; of numbers both ends,
/// half the default and twice that.
fn values(slot: usize, part: &Part, doc: &OptionDoc) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for words in doc.values.split(", ") {
        let words = words.split(" (").next().unwrap_or(words);
        let words = words.strip_prefix("or ").unwrap_or(words);
        let end = |text: &str| text.split(' ').next().unwrap_or(text).to_owned();
        if let Some((low, high)) = words.split_once(" to ") {
            let low = low.replace("a fraction from ", "");
            values.push(low.strip_prefix("above ").map_or(low.clone(), |_| "0.001".into()));
            values.push(high.strip_prefix("below 1").map_or(end(high), |_| "0.9".into()));
        } else if words.starts_with("a fraction") || words.starts_with("a factor") {
            values.extend(["0.1", "1/10", "0.9", "9/10"].map(str::to_owned));
        } else if words == "at most four decimals" {
        } else {
            for word in words.split(" or ") {
                match word {
                    "bytes" => values.extend(["20000", "1000000"].map(str::to_owned)),
                    "packets" => values.extend(["2", "40"].map(str::to_owned)),
                    word => values.push(word.to_owned()),
                }
            }
        }
    }
    if values.iter().any(|value| value.starts_with(|c: char| c.is_ascii_digit())) {
        values.extend(around_default(slot, part, doc.key));
    }
    values
}

/// Half the default and twice that, where it is a number.
fn around_default(slot: usize, part: &Part, key: &str) -> Vec<String> {
    let base = ["", "slowstart/", "slowstart/cubic/"][slot].to_owned() + part.name;
    let Ok(arm) = Arm::parse(&base) else { return Vec::new() };
    let is = |text: &str| Arm::parse(&with(&arm, slot, key, text)) == Ok(arm);
    if let Some(whole) = (1..=2_000_u32).find(|number| is(&number.to_string())) {
        return vec![whole.div_ceil(2).to_string(), (2 * whole).to_string()];
    }
    let thousandth = (1..=4_000_u32).find(|number| is(&format!("{}", f64::from(*number) / 1e3)));
    let scaled = |by: f64| thousandth.map(|number| format!("{}", f64::from(number) / 1e3 * by));
    [scaled(0.5), scaled(2.0)].into_iter().flatten().collect()
}
