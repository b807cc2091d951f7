//! Vectors detect faults: at least one of them detects every injected fault, and every value of an
//! option changes at least one.

use crate::students::{WITHOUT, faults};
use firstflight::arm::{AVOIDANCES, Arm, RECOVERIES, STARTUPS};
use firstflight::options::OptionDoc;
use firstflight_lab::conform::OneOfOurs;
use firstflight_lab::vectors::{CONNECTIONS, Reaches, Rules, Vector, standard};
use firstflight_lab::{default_of, parse_arms};
use rayon::prelude::*;
use std::collections::BTreeSet;
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

/// An option's value, and the pairs of arms that differ in it alone.
struct Value {
    name: String,
    reaches: Reaches,
    pairs: Vec<(Arm, Arm)>,
}

/// Arms beside the plain one in which options of a part do something.
fn contexts(part: &str) -> &'static [&'static str] {
    match part {
        "hystart" => &["hystart@(iw=2)"],
        "hystart++" => &["hystart++(mode=lss)", "hystart++@(pace=off)", "hystart++@(iw=2)"],
        "search" => &["search(version=3.1)", "search(exit=jump)"],
        "careful" => &["careful(saved=60,rtt=40)"],
        "plumb" => &["plumb(saved=300,rtt=40,rapid=on,tolerate=2,keep=0.85)"],
        "prr" => &[
            "slowstart/cubic/prr(mode=linux)",
            "slowstart/cubic/prr(mode=crb)",
            "slowstart/reno/prr",
        ],
        "abba" => &["slowstart/abba(version=1)/immediate"],
        "cubic" => &["slowstart/cubic(profile=linux)/immediate"],
        _ => &[],
    }
}

/// An arm with an option of a part set behind those it has.
fn with(arm: &str, part: &str, option: &str) -> Option<Arm> {
    let (before, behind) = arm.split_at(arm.rfind(part)? + part.len());
    let text = match behind.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((options, rest)) => format!("{before}({options},{option}){rest}"),
        None => format!("{before}({option}){behind}"),
    };
    Arm::parse(&text).ok()
}

/// Every value that is named, both ends of a range, and half and twice what the arm has.
fn values(arm: &str, part: &str, doc: &OptionDoc) -> BTreeSet<String> {
    let takes = |value: &str| with(arm, part, &format!("{}={value}", doc.key));
    let words = doc.values.split([',', ' ', ':', '(', ')']).map(str::to_owned);
    let ends = [("below 1", "0.9999"), ("above 0", "0.0001")];
    let ends = ends.iter().filter(|(words, _)| doc.values.contains(words));
    let mut values: BTreeSet<String> =
        words.chain(ends.map(|(_, end)| (*end).to_owned())).collect();
    if doc.values.contains(|c: char| c.is_ascii_digit()) || doc.values.contains("fraction") {
        let plain = Arm::parse(arm).expect("an arm");
        let has = default_of(doc, &plain, |option| with(arm, part, option));
        let has: Option<(u32, u32)> = has.and_then(|value| {
            let (num, den) = value.split_once('/').unwrap_or((&value, "1"));
            Some((num.parse().ok()?, den.parse().ok()?))
        });
        if let Some((num, den)) = has.filter(|(num, _)| *num > 0) {
            let text = |num: u32, den: u32| match num % den {
                0 => (num / den).to_string(),
                _ => format!("{num}/{den}"),
            };
            values.extend([text(2 * num, den), text(num, 2 * den), (num / den / 2).to_string()]);
        }
    }
    values.retain(|value| takes(value).is_some());
    values
}

fn every_value() -> Vec<Value> {
    let of = [
        (Reaches::Startup, STARTUPS, "", ""),
        (Reaches::Avoidance, AVOIDANCES, "slowstart/", "/immediate"),
        (Reaches::Recovery, RECOVERIES, "slowstart/cubic/", ""),
    ];
    let mut all = Vec::new();
    for (reaches, parts, before, behind) in of {
        for part in parts {
            let plain = format!("{before}{}{behind}", part.name);
            let arms: Vec<&str> = std::iter::once(plain.as_str())
                .chain(contexts(part.name).iter().copied())
                .collect();
            for doc in part.options {
                let values: BTreeSet<String> =
                    arms.iter().flat_map(|arm| values(arm, part.name, doc)).collect();
                for value in values {
                    let option = format!("{}={value}", doc.key);
                    let pairs = arms.iter().filter_map(|text| {
                        let (arm, other) =
                            (Arm::parse(text).ok()?, with(text, part.name, &option)?);
                        (arm != other).then_some((arm, other))
                    });
                    let pairs: Vec<(Arm, Arm)> = pairs.collect();
                    if !pairs.is_empty() {
                        let name = format!("{}({option})", part.name);
                        all.push(Value { name, reaches, pairs });
                    }
                }
            }
        }
    }
    all
}

/// Effect of an option on a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Changes {
    /// The vector is the same without it.
    Nothing,
    /// The vector is another one.
    Vector,
    /// A controller that ignores it fails the vector.
    Window,
}

fn changes(reaches: Reaches, (plain, other): &(Arm, Arm)) -> Changes {
    let named = |arm: &Arm| parse_arms(&arm.to_string()).expect("an arm").remove(0);
    let (plain_named, named) = (named(plain), named(other));
    let mut ignores = OneOfOurs::new(*plain);
    let mut most = Changes::Nothing;
    for connection in CONNECTIONS.iter().filter(|one| one.reaches.has(reaches)) {
        for host in Rules::Both.hosts() {
            let Ok(vector) = connection.vector(&named, host) else { continue };
            if vector.fails(&mut ignores).expect("it answers").is_some() {
                return Changes::Window;
            }
            if most == Changes::Nothing {
                let without = connection.vector(&plain_named, host).expect("it runs");
                if !vector.steps().eq(without.steps()) {
                    most = Changes::Vector;
                }
            }
        }
    }
    most
}

/// Values that no vector shows, and why: these connections do not reach what they change.
const UNSEEN: &[(&[&str], &str)] = &[
    (
        &[
            "hystart(low=0)",
            "hystart(low=8)",
            "hystart++(low=0)",
            "hystart++(low=8)",
            "hystart++(low=32)",
        ],
        "no queue builds up below 32 packets",
    ),
    (&["rapid(hint=on)"], "the sender has no hint"),
    (&["hystart++(skip=on)"], "the first round has nothing to compare with"),
    (&["hystart++(rearm=rto)"], "no rise in the slow start behind a timeout"),
    (&["search(extra=15)"], "no RTT grows that far"),
    (&["search(bits=16)", "search(bits=32)"], "counters of 16 bits round by less than a percent"),
    (&["search(epoch=on)"], "no avoidance epoch begins while SEARCH watches"),
    (
        &["best(percentile=0)", "best(percentile=25)", "best(percentile=100)"],
        "the samples of a round agree, or BEST is silent",
    ),
    (
        &[
            "bbr(loss=0.001)",
            "bbr(loss=1/100)",
            "bbr(loss=2/50)",
            "bbr3(loss=0.001)",
            "bbr3(loss=1/100)",
            "bbr3(loss=2/50)",
        ],
        "rounds lose nothing or a lot more",
    ),
    (&["bbr(rwnd=on)"], "no receiver's window is in the way"),
    (&["bbr3(precaution=off)"], "no probe loses too much"),
    (&["bbr3(probertt=off)"], "no probe of the round trip falls due while data is in flight"),
    (&["careful(max=1000000)"], "half of the saved window is below it"),
    (&["plumb(grain=2)"], "no connection has ACKs in bunches of that size"),
    (&["plumb(rtt=80)", "plumb(rtt=off)"], "the path may still be the same"),
    (&["suss(max=6)"], "startup ends before a fourth round grows fourfold"),
    (&["chirping(l=2)", "chirping(l=8)"], "no cross traffic drains within a chirp"),
    (&["chirping(ecn=ignore)"], "no mark arrives while chirps are sent"),
    (&["chirping(overload=10000)"], "no queue holds ten seconds"),
    (
        &["cubic(floor20=on)"],
        "it ends with the first congestion, and so does the slow start before it",
    ),
    (&["abba(cap=off)"], "growth stays below it"),
    (&["prr(guard=on)"], "no receiver splits ACKs"),
];

#[test]
fn each_value_of_each_option_changes_a_vector() {
    let found: Vec<(String, Changes)> = every_value()
        .into_par_iter()
        .map(|Value { name, reaches, pairs }| {
            let most = pairs.iter().map(|pair| changes(reaches, pair)).max();
            (name, most.unwrap_or(Changes::Nothing))
        })
        .collect();
    let of = |most: Changes| found.iter().filter(move |(_, of)| *of == most);
    let (caught, seen) = (of(Changes::Window).count(), of(Changes::Vector).count());
    println!("of {} values {caught} move a window, {seen} something else", found.len());
    let unseen: BTreeSet<&str> = of(Changes::Nothing).map(|(name, _)| name.as_str()).collect();
    let known: BTreeSet<&str> = UNSEEN.iter().flat_map(|(names, _)| *names).copied().collect();
    let news: Vec<&&str> = unseen.symmetric_difference(&known).collect();
    assert!(news.is_empty(), "values that change no vector, or do by now: {news:?}");
    assert!(caught * 4 >= found.len() * 3, "{caught} of {} move a window", found.len());
}
