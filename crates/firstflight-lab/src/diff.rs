//! Compares two results of the same kind: which numbers changed, and by how much. For two versions
//! of a sender, two paths or two days.
//!
//! Results are read from their JSON, so that results of different versions can be compared.
//! Comparisons are paired by path, arm and seed, tests by part and arm; in a test a change counts
//! only if the two intervals do not overlap.

use crate::measures::{Better, Column, Holds, columns};
use crate::stats::{Interval, student};
use crate::table::change as signed;
use crate::trial::TrialRow;
use firstflight_path::Error;
use firstflight_table::{Kind, Marked, Table, Tone};
use serde::Serialize;
use serde_json::Value;

/// Measures of an A/B test entry: place in the JSON, name, unit, good end.
const OF_TESTS: [(&str, &str, &str, Better); 8] = [
    ("/ttlb_ms/p50", "ttlb_ms_p50", "ms", Better::Low),
    ("/ttlb_ms/p95", "ttlb_ms_p95", "ms", Better::Low),
    ("/ttlb_ms/p99", "ttlb_ms_p99", "ms", Better::Low),
    ("/ttlb_ms/mean", "ttlb_ms_mean", "ms", Better::Low),
    ("/loss_pct/mean", "loss_pct_mean", "%", Better::Low),
    ("/loss_pct/p99", "loss_pct_p99", "%", Better::Low),
    ("/versus_baseline/reduction_pct", "reduction_pct", "%", Better::High),
    ("/versus_baseline/loss_points", "loss_points", "points", Better::Low),
];

/// Direction of a change, by the interval of the paired difference, or by the difference itself if
/// nothing varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sense {
    /// Better by more than the margin.
    Better,
    /// Beyond the margin, towards the bad end.
    Worse,
    /// Within the margin.
    Within,
    /// The measure has no good end.
    Other,
    /// The difference may be random, or a number is unknown.
    Unclear,
}

/// A tolerance towards the worse side: the larger of a share and an amount.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Most {
    /// Share of the earlier value, in percent.
    pub percent: f64,
    /// Amount in the measure's unit.
    pub units: f64,
}

impl Most {
    /// In the unit of the measure, for an earlier value of `before`.
    pub fn of(self, before: f64) -> f64 {
        (before.abs() * self.percent / 100.0).max(self.units)
    }

    pub(crate) fn shown(self, unit: &str) -> String {
        let Most { percent, units } = self;
        let amount = format!("{units} {unit}");
        match (percent > 0.0, units > 0.0) {
            (true, true) => format!("the larger of {percent} % and {}", amount.trim()),
            (true, false) => format!("{percent} %"),
            _ => amount.trim().to_owned(),
        }
    }
}

/// The margin of a measure, within which nothing counts as worse: the larger of a share of the
/// earlier value, in percent, and an amount in its own unit.
pub(crate) fn margin(measure: &str, unit: &str) -> Most {
    let (percent, units) = match (measure, unit) {
        ("ttlb_ms" | "acked_ms", _) => (2.0, 0.0),
        ("rtos" | "unfinished", _) => (0.0, 0.0),
        ("loss_ratio", _) => (0.0, 0.002),
        (name, "%" | "points") if name.starts_with("loss") => (0.0, 0.2),
        (name, _) if name.starts_with("ttlb_ms") => (2.0, 0.0),
        (_, "ms") => (5.0, 1.0),
        _ => (2.0, 0.0),
    };
    Most { percent, units }
}

/// A measure that is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Key of the measure in JSON and CSV.
    pub name: String,
    /// Whether lower or higher values are better.
    pub better: Better,
}

/// A measure that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The path (in a comparison) or the part of the population (in a test).
    pub of: String,
    /// The arm.
    pub arm: String,
    /// Name of the measure in the data.
    pub measure: String,
    /// Unit of the measure.
    pub unit: String,
    /// Value before; the mean of several trials.
    pub before: Option<f64>,
    /// Value after; the mean of several trials.
    pub after: Option<f64>,
    /// Relative change in percent; null if the earlier value is zero or one is missing.
    pub change_pct: Option<f64>,
    /// Number of pairs, one per seed.
    pub pairs: usize,
    /// Number of pairs that differ.
    pub changed: usize,
    /// Number of pairs that finished before but not after.
    #[serde(skip)]
    pub stopped: usize,
    /// Direction of the change.
    pub sense: Sense,
    /// Later minus earlier value with its 95 % interval, in the measure's unit: over the pairs of a
    /// comparison (Student's t), or for a test as if the two results were independent. `None` for a
    /// single pair without intervals, and if a number is missing.
    #[serde(skip)]
    pub difference: Option<Interval>,
    /// Whether lower or higher values are better.
    #[serde(skip)]
    pub better: Better,
}

impl Change {
    /// Whether it is one of the main measures of a comparison: completion time, loss, queueing
    /// delay at the 99th percentile, exit, timeouts or unfinished trials.
    pub fn is_main(&self) -> bool {
        let name = self.measure.as_str();
        matches!(name, "ttlb_ms" | "loss_ratio" | "queue_ms_p99" | "rtos" | "unfinished")
            || name.starts_with("exit")
            || OF_TESTS.iter().any(|(_, of_test, ..)| name == *of_test)
    }

    fn tone(&self) -> Option<Tone> {
        match self.sense {
            Sense::Better => Some(Tone::Good),
            Sense::Worse => Some(Tone::Bad),
            _ => None,
        }
    }

    /// The direction in words, with the number of pairs that changed.
    fn verdict(&self) -> String {
        let word = match self.sense {
            Sense::Better => "better",
            Sense::Worse => "worse",
            Sense::Within => "within its margin",
            Sense::Unclear => "unclear",
            Sense::Other => "",
        };
        match (self.pairs, word) {
            (0 | 1, word) => word.to_owned(),
            (pairs, word) => format!("{word} in {} of {pairs}", self.changed).trim().to_owned(),
        }
    }
}

/// Columns for a measure of two results.
pub const CHANGE_COLUMNS: [(&str, Kind); 6] = [
    ("arm", Kind::Name),
    ("measure", Kind::Name),
    ("before", Kind::Number),
    ("after", Kind::Number),
    ("change", Kind::Number),
    ("verdict", Kind::Name),
];

/// The changes as a table; with `intervals`, below each change the difference with its interval, and
/// verdicts in colour.
pub fn change_table<'a>(changes: impl Iterator<Item = &'a Change>, intervals: bool) -> Table {
    let mut table = Table::new("", CHANGE_COLUMNS).dropping(&["before", "after"]);
    let mut last = ("", "");
    for change in changes {
        let arm = if last == (&change.of, &change.arm) { "" } else { &change.arm };
        last = (&change.of, &change.arm);
        let decides = matches!(change.sense, Sense::Worse | Sense::Better);
        let difference = change.difference.filter(|_| intervals).map_or(String::new(), |of| {
            let [value, low, high] = [of.value, of.low, of.high].map(|end| number(Some(end)));
            format!("\n{value} [{low}, {high}]")
        });
        table.row([
            Marked::from(arm),
            change.measure.as_str().into(),
            number(change.before).into(),
            number(change.after).into(),
            Marked::from(percent(change.change_pct) + &difference).bold(decides),
            Marked::from(change.verdict()).tone(change.tone().filter(|_| intervals)),
        ]);
    }
    table
}

/// A value in such a table.
pub fn number(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value.fract() == 0.0 && value.abs() < 1e15 => format!("{value:.0}"),
        Some(value) if value.abs() >= 100.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.4}"),
    }
}

/// A relative change in such a table.
pub fn percent(change_pct: Option<f64>) -> String {
    change_pct.map_or("-".to_owned(), |percent| format!("{} %", signed(percent)))
}

/// A setting that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// Key of the measure in JSON and CSV.
    pub name: String,
    /// Value before.
    pub before: String,
    /// Value after.
    pub after: String,
}

/// Differences between two results.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Diff {
    /// Settings that differ. If they differ by mistake, the results below mean little.
    pub settings: Vec<Setting>,
    /// Measures that differ, in the order of the result.
    pub changes: Vec<Change>,
    /// Number of equal measures.
    pub equal: usize,
    /// The equal measures.
    #[serde(skip)]
    pub equals: Vec<Change>,
    /// Rows that are in one result only.
    pub alone: Vec<String>,
    /// Entries missing from the second result, as (path or part, arm).
    #[serde(skip)]
    pub gone: Vec<(String, String)>,
    /// Entries in both results, as (path or part, arm).
    #[serde(skip)]
    pub both: Vec<(String, String)>,
    /// All measures that were compared.
    #[serde(skip)]
    pub measures: Vec<Measured>,
    /// For two tests, how their connections differ; `None` if they ran on the same ones. Numbers
    /// without an interval then differ by chance, too.
    #[serde(skip)]
    pub apart: Option<String>,
}

impl Diff {
    /// Reads and compares two results.
    ///
    /// # Errors
    /// A one-line message if one is not a result, or if they are of different kinds. The names are
    /// those of the files.
    pub fn read(before: (&str, &str), after: (&str, &str)) -> Result<Diff, Error> {
        let [a, b] = [answer(before)?, answer(after)?];
        if a.is_test != b.is_test {
            let [a, b] = [&a, &b].map(|one| if one.is_test { "a test" } else { "a comparison" });
            let (before, after) = (before.0, after.0);
            return Err(Error::new(format!(
                "{before} is {a} and {after} {b}; allowed: two of the same kind"
            )));
        }
        differences(&a, &b).map_err(|error| {
            Error::new(format!("{} and {}: {}", before.0, after.0, error.as_str()))
        })
    }

    /// Whether any measure certainly got worse.
    pub fn is_worse(&self) -> bool {
        self.changes.iter().any(|change| change.sense == Sense::Worse)
    }
}

/// A result as it was read.
struct Answer {
    is_test: bool,
    document: Value,
}

impl Answer {
    fn rows(&self) -> impl Iterator<Item = &Value> {
        self.document["results"].as_array().into_iter().flatten()
    }

    /// The completion time that an unfinished trial counts with, ms.
    fn limit_ms(&self) -> f64 {
        self.document["experiment"]["limit_s"].as_f64().map_or(f64::INFINITY, |limit| limit * 1e3)
    }

    /// The full names of an arm, with all parts: two names may stand for one arm.
    fn full(&self, arm: &str) -> Option<&str> {
        self.rows().find(|row| row["arm"] == arm)?["arm_full"].as_str()
    }

    /// The first setting that gives two tests different connections; `None` if no setting does.
    fn told_apart(&self, other: &Answer) -> Option<String> {
        ["population", "flows", "seed", "population_toml"].into_iter().find_map(|name| {
            let [a, b] = [self, other].map(|one| &one.document["experiment"][name]);
            let told = || match name {
                "population_toml" => "the population was another version".to_owned(),
                _ => format!("{name} was {a} and is {b}"),
            };
            (a != b).then(told)
        })
    }

    /// True if this result has a row for the arm.
    fn has(&self, arm: &str) -> bool {
        self.rows().any(|row| row["arm"] == arm)
    }

    /// The path or part of a row, and its arm.
    fn key<'a>(&'a self, row: &'a Value) -> (&'a str, &'a str) {
        // Repeated trials differ from the requested path slightly in their round trips.
        let asked = &self.document["experiment"]["path"];
        let of = match (self.is_test, asked.is_string()) {
            (true, _) => &row["name"],
            (false, true) => asked,
            (false, false) => &row["path"],
        };
        (of.as_str().unwrap_or(""), row["arm"].as_str().unwrap_or(""))
    }
}

fn answer((name, text): (&str, &str)) -> Result<Answer, Error> {
    const ALLOWED: &str = "allowed: what `compare --json` and `ab --json` write";
    let document: Value = serde_json::from_str(text)
        .map_err(|error| Error::new(format!("{name}: is not JSON ({error}); {ALLOWED}")))?;
    let first = document["results"].get(0);
    match first {
        Some(row) if row["arm"].is_string() && document["experiment"].is_object() => {
            Ok(Answer { is_test: row["part"].is_string(), document })
        }
        _ => Err(Error::new(format!("{name}: is not a file with results; {ALLOWED}"))),
    }
}

/// A measure, and its place in a row.
struct Place {
    pointer: String,
    name: String,
    unit: &'static str,
    better: Better,
}

fn places(is_test: bool) -> Vec<Place> {
    if is_test {
        let place = |(pointer, name, unit, better): &(&str, &str, &'static str, Better)| Place {
            pointer: (*pointer).to_owned(),
            name: (*name).to_owned(),
            unit,
            better: *better,
        };
        return OF_TESTS.iter().map(place).collect();
    }
    let number = |column: &Column| matches!(column.measure.holds, Holds::Whole | Holds::Real);
    columns(TrialRow::MEASURES)
        .into_iter()
        .filter(|column| number(column) && column.name != "seed")
        .map(|column| Place {
            pointer: format!("/{}", column.path.replace('.', "/")),
            name: column.name,
            unit: column.measure.unit,
            better: column.measure.better,
        })
        .chain([Place {
            pointer: "/complete".to_owned(),
            name: "unfinished".to_owned(),
            unit: "",
            better: Better::Low,
        }])
        .collect()
}

/// A number with its interval, which may be the number alone.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Known {
    value: f64,
    low: f64,
    high: f64,
}

impl Known {
    fn exactly(value: f64) -> Known {
        Known { value, low: value, high: value }
    }
}

fn known(row: &Value, pointer: &str) -> Option<Known> {
    let found = row.pointer(pointer)?;
    let flag = found.as_bool().map(|complete| if complete { 0.0 } else { 1.0 });
    if let Some(value) = found.as_f64().or(flag) {
        return Some(Known::exactly(value));
    }
    let value = found["value"].as_f64()?;
    let end = |name: &str| found[name].as_f64().unwrap_or(value);
    Some(Known { value, low: end("low"), high: end("high") })
}

fn differences(a: &Answer, b: &Answer) -> Result<Diff, Error> {
    let mut diff = Diff { settings: settings(a, b), ..Diff::default() };
    let mut keys: Vec<(&str, &str)> = Vec::new();
    for row in a.rows() {
        if !keys.contains(&a.key(row)) {
            keys.push(a.key(row));
        }
    }
    let one_path = |answer: &Answer| {
        let mut paths: Vec<&str> = answer.rows().map(|row| answer.key(row).0).collect();
        paths.dedup();
        paths.len() == 1 && !answer.is_test
    };
    // Two paths are compared if each result has only one.
    let by_arm = one_path(a) && one_path(b);
    // An arm that goes by another name in the other result is found by its parts.
    let same_arm = |x: &str, y: &str| {
        let renamed = || !a.has(y) && !b.has(x) && a.full(x).is_some_and(|x| b.full(y) == Some(x));
        x == y || renamed()
    };
    // The first key is one of `a`, the second one of `b`.
    let same = |x: (&str, &str), y: (&str, &str)| same_arm(x.1, y.1) && (by_arm || x.0 == y.0);
    let limit_ms = a.limit_ms().min(b.limit_ms());
    let named = |(of, arm): (&str, &str)| format!("{arm} on {of}");
    for row in b.rows() {
        let key = b.key(row);
        let name = named(key);
        if !keys.iter().any(|other| same(*other, key)) && !diff.alone.contains(&name) {
            diff.alone.push(name);
        }
    }
    diff.apart = a.is_test.then(|| a.told_apart(b)).flatten();
    let places = places(a.is_test);
    let measured = |place: &Place| Measured { name: place.name.clone(), better: place.better };
    diff.measures = places.iter().map(measured).collect();
    for key in keys {
        let before: Vec<&Value> = a.rows().filter(|row| a.key(row) == key).collect();
        let after: Vec<&Value> = b.rows().filter(|row| same(key, b.key(row))).collect();
        let pairs: Vec<(&Value, &Value)> = before
            .iter()
            .filter_map(|row| Some((*row, *after.iter().find(|o| o["seed"] == row["seed"])?)))
            .collect();
        if (before.len() == 1) != (after.len() == 1) && !after.is_empty() {
            return Err(Error::new(format!(
                "{} has {} trials in one and {} in the other; allowed: one each, or several each",
                named(key),
                before.len(),
                after.len()
            )));
        }
        if pairs.is_empty() && !after.is_empty() {
            return Err(Error::new(format!("{}: they have no seed in common", named(key))));
        }
        if pairs.is_empty() {
            diff.alone.push(named(key));
            diff.gone.push((key.0.to_owned(), key.1.to_owned()));
            continue;
        }
        diff.both.push((key.0.to_owned(), key.1.to_owned()));
        for place in &places {
            let mut change = change(key, place, &pairs, limit_ms);
            let by_chance = diff.apart.is_some() && change.difference.is_none();
            if by_chance && matches!(change.sense, Sense::Better | Sense::Worse | Sense::Within) {
                change.sense = Sense::Unclear;
            }
            let list = if change.changed > 0 { &mut diff.changes } else { &mut diff.equals };
            list.push(change);
        }
    }
    diff.equal = diff.equals.len();
    Ok(diff)
}

/// Change of a measure over the pairs of an arm. The means over the pairs decide and are shown: of
/// medians, one may stay where every mean moves. An unfinished trial counts with the shorter limit
/// of the two results.
fn change(key: (&str, &str), place: &Place, pairs: &[(&Value, &Value)], limit_ms: f64) -> Change {
    let is_time = place.name == "ttlb_ms" && limit_ms.is_finite();
    let unfinished = |row: &Value| row["complete"] == false && known(row, &place.pointer).is_none();
    let read = |row: &Value| {
        let stopped = || unfinished(row).then(|| Known::exactly(limit_ms));
        let value = known(row, &place.pointer);
        if !is_time {
            return value;
        }
        value.map(|value| Known::exactly(value.value.min(limit_ms))).or_else(stopped)
    };
    let both: Vec<(Option<Known>, Option<Known>)> =
        pairs.iter().map(|(a, b)| (read(a), read(b))).collect();
    let value = |known: Option<Known>| known.map(|known| known.value);
    let changed = both.iter().filter(|(a, b)| value(*a) != value(*b)).count();
    let stopped = pairs.iter().filter(|(a, b)| is_time && !unfinished(a) && unfinished(b)).count();
    let mean = |side: Vec<Option<f64>>| {
        let known: Option<Vec<f64>> = side.into_iter().collect();
        let known = known.filter(|known| !known.is_empty())?;
        Some(known.iter().sum::<f64>() / known.len() as f64)
    };
    let before = mean(both.iter().map(|(a, _)| value(*a)).collect());
    let after = mean(both.iter().map(|(_, b)| value(*b)).collect());
    let change_pct = before.zip(after).filter(|(before, _)| *before != 0.0);
    let difference = difference(&both);
    Change {
        of: key.0.to_owned(),
        arm: key.1.to_owned(),
        measure: place.name.clone(),
        unit: place.unit.to_owned(),
        before,
        after,
        change_pct: change_pct.map(|(before, after)| 100.0 * (after / before - 1.0)),
        pairs: pairs.len(),
        changed,
        stopped,
        sense: sense(place, before.zip(after), difference),
        difference,
        better: place.better,
    }
}

/// Later minus earlier value.
fn difference(both: &[(Option<Known>, Option<Known>)]) -> Option<Interval> {
    let all: Option<Vec<(Known, Known)>> = both.iter().map(|(a, b)| a.zip(*b)).collect();
    match all?.as_slice() {
        [(a, b)] => {
            let value = b.value - a.value;
            let half = ((a.high - a.low).hypot(b.high - b.low)) / 2.0;
            (half > 0.0).then_some(Interval { value, low: value - half, high: value + half })
        }
        many => {
            let apart: Vec<(f64, f64)> =
                many.iter().map(|(a, b)| (1.0, b.value - a.value)).collect();
            Some(student(&apart)).filter(|apart| apart.low.is_finite())
        }
    }
}

fn sense(place: &Place, values: Option<(f64, f64)>, difference: Option<Interval>) -> Sense {
    if place.better == Better::None {
        return Sense::Other;
    }
    let Some((before, after)) = values else { return Sense::Unclear };
    let (least, most) = worsened(place.better, after - before, difference);
    let margin = margin(&place.name, place.unit).of(before);
    if least > margin {
        Sense::Worse
    } else if most < -margin {
        Sense::Better
    } else if least >= -margin && most <= margin {
        Sense::Within
    } else {
        Sense::Unclear
    }
}

/// Deterioration of a measure, at least and at most; negative for an improvement.
pub(crate) fn worsened(better: Better, by: f64, difference: Option<Interval>) -> (f64, f64) {
    let (low, high) = difference.map_or((by, by), |interval| (interval.low, interval.high));
    if better == Better::High { (-high, -low) } else { (low, high) }
}

/// Settings that differ, and the versions.
fn settings(a: &Answer, b: &Answer) -> Vec<Setting> {
    let text = |value: &Value| match value {
        Value::String(text) if text.lines().count() > 1 => {
            format!("{} lines", text.lines().count())
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut found = Vec::new();
    let mut compare = |name: &str, before: &Value, after: &Value| {
        if before != after {
            let (before, after) = (text(before), text(after));
            found.push(Setting { name: name.to_owned(), before, after });
        }
    };
    compare("firstflight", &a.document["firstflight"], &b.document["firstflight"]);
    let [before, after] = [a, b].map(|one| one.document["experiment"].as_object());
    let (Some(before), Some(after)) = (before, after) else { return found };
    let new = after.keys().filter(|name| !before.contains_key(*name));
    for name in before.keys().chain(new) {
        let of = |side: &serde_json::Map<String, Value>| side.get(name).cloned();
        compare(name, &of(before).unwrap_or_default(), &of(after).unwrap_or_default());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Diff, Sense};
    use serde_json::{Value, json};

    fn comparison(rtt: u64, rows: &[(&str, u64, Value, f64)]) -> String {
        let row = |(arm, seed, ms, loss): &(&str, u64, Value, f64)| {
            json!({"arm": arm, "path": format!("rtt={rtt}ms"), "seed": seed, "ttlb_ms": ms,
                   "loss_ratio": loss, "exit": {"time_ms": 5.0, "reason": "loss"}})
        };
        let rows: Vec<Value> = rows.iter().map(row).collect();
        json!({"firstflight": "0.1.0", "experiment": {"rtt_ms": rtt}, "results": rows}).to_string()
    }

    fn diff(a: &str, b: &str) -> Diff {
        Diff::read(("a.json", a), ("b.json", b)).expect("two comparisons")
    }

    #[test]
    fn an_answer_equals_itself() {
        let one = comparison(30, &[("slowstart", 1, json!(900.0), 0.1)]);
        let same = diff(&one, &one);
        assert!(same.changes.is_empty() && same.settings.is_empty() && same.alone.is_empty());
        assert!(same.equal > 10 && !same.is_worse());
    }

    #[test]
    fn changes_are_paired_by_seed_and_have_a_direction() {
        let a = comparison(
            30,
            &[("slowstart", 1, json!(900.0), 0.1), ("slowstart", 2, json!(1000.0), 0.1)],
        );
        let b = comparison(
            40,
            &[("slowstart", 1, json!(990.0), 0.05), ("slowstart", 2, json!(1000.0), 0.2)],
        );
        let found = diff(&a, &b);
        assert_eq!(found.settings.len(), 1);
        assert_eq!(found.settings[0].name, "rtt_ms");
        let of = |name: &str| found.changes.iter().find(|one| one.measure == name).expect(name);
        let time = of("ttlb_ms");
        assert_eq!((time.pairs, time.changed, time.sense), (2, 1, Sense::Unclear));
        assert_eq!((time.before, time.after), (Some(950.0), Some(995.0)));
        assert_eq!(of("loss_ratio").sense, Sense::Unclear);
        assert!(!found.is_worse());
    }

    #[test]
    fn nothing_is_worse_below_its_margin_or_where_the_interval_reaches_it() {
        let answer = |ms: [f64; 3]| {
            let rows: Vec<_> =
                (1..).zip(ms).map(|(seed, ms)| ("rapid", seed, json!(ms), 0.1)).collect();
            comparison(30, &rows)
        };
        let sense = |after| diff(&answer([900.0; 3]), &answer(after)).changes[0].sense;
        assert_eq!(sense([910.0, 911.0, 912.0]), Sense::Within);
        assert_eq!(sense([990.0, 991.0, 992.0]), Sense::Worse);
        assert_eq!(sense([810.0, 811.0, 812.0]), Sense::Better);
        assert_eq!(sense([990.0, 900.0, 940.0]), Sense::Unclear);
    }

    #[test]
    fn answers_without_a_seed_in_common_or_of_one_trial_and_several_are_refused() {
        let rows = |seeds: std::ops::Range<u64>| {
            let rows: Vec<_> = seeds.map(|seed| ("rapid", seed, json!(900.0), 0.1)).collect();
            comparison(30, &rows)
        };
        for (a, b) in [(rows(1..4), rows(4..7)), (rows(1..2), rows(1..51))] {
            assert!(Diff::read(("a.json", &a), ("b.json", &b)).is_err());
        }
    }

    #[test]
    fn repeats_are_pairs_of_one_path_whose_round_trips_differ_a_little() {
        let answer = |ms: f64| {
            let row = |seed: u64| {
                json!({"arm": "rapid", "path": format!("rtt=30.{seed}ms"), "seed": seed,
                       "ttlb_ms": ms + seed as f64})
            };
            json!({"firstflight": "0.1.0", "experiment": {"path": "rtt=30ms"},
                   "results": [row(1), row(2), row(3)]})
            .to_string()
        };
        let found = diff(&answer(900.0), &answer(990.0));
        assert_eq!(found.changes.len(), 1, "one change, of one arm: {:?}", found.changes);
        let change = &found.changes[0];
        assert_eq!((change.pairs, change.changed, change.sense), (3, 3, Sense::Worse));
        let difference = change.difference.expect("three pairs have an interval");
        assert!((difference.value - 90.0).abs() < 1e-9 && difference.covers(90.0));
        assert!(found.finding().starts_with("Completion time: rapid 10.0 % longer."));
    }

    fn repeated(label: &str, times: &[Option<f64>], limit_s: f64) -> String {
        let row = |(seed, ms): (usize, &Option<f64>)| {
            json!({"arm": label, "arm_full": "rapid/cubic/prr", "path": "p", "seed": seed,
                   "ttlb_ms": ms, "complete": ms.is_some()})
        };
        let rows: Vec<Value> = times.iter().enumerate().map(row).collect();
        json!({"firstflight": "0.1.0", "experiment": {"path": "p", "limit_s": limit_s},
               "results": rows})
        .to_string()
    }

    #[test]
    fn the_change_that_is_shown_is_the_change_that_decides() {
        // The medians are equal; the mean of the pairs rises by 10 %.
        let before = repeated("rapid", &[Some(1000.0); 30], 600.0);
        let times = |seed: usize| Some(if seed < 18 { 1000.0 } else { 1250.0 });
        let after: Vec<Option<f64>> = (0..30).map(times).collect();
        let found = diff(&before, &repeated("rapid", &after, 600.0));
        let time = &found.changes[0];
        assert_eq!((time.measure.as_str(), time.sense), ("ttlb_ms", Sense::Worse));
        let (change, interval) = (time.change_pct.expect("both"), time.difference.expect("pairs"));
        assert!((change - 10.0).abs() < 1e-9, "the change shown is {change} %");
        assert!((interval.value / 10.0 - change).abs() < 1e-9, "{interval:?} decides");
    }

    #[test]
    fn unfinished_trials_count_with_the_limit_on_both_sides() {
        let times = |ms: f64, first: Option<f64>| {
            let mut times = vec![Some(ms); 20];
            times[0] = first;
            times
        };
        // One unfinished trial in the baseline does not hide that all others got slower.
        let before = repeated("rapid", &times(1000.0, None), 3.0);
        let found = diff(&before, &repeated("rapid", &times(1500.0, None), 3.0));
        assert_eq!(found.changes[0].sense, Sense::Worse, "{:?}", found.changes[0]);
        // Two limits: both sides count with the shorter one.
        let one = repeated("rapid", &times(1000.0, Some(5000.0)), 600.0);
        let found = diff(&one, &repeated("rapid", &times(1000.0, None), 3.0));
        let time = found.changes.iter().chain(&found.equals).find(|one| one.measure == "ttlb_ms");
        assert_eq!(time.map(|time| (time.changed, time.stopped)), Some((0, 1)));
    }

    #[test]
    fn another_name_of_the_same_arm_is_the_same_arm() {
        let one = |label: &str, ms: f64| repeated(label, &[Some(ms); 3], 600.0);
        let found = diff(&one("rapid", 900.0), &one("rapidstart", 990.0));
        assert!(found.alone.is_empty() && found.gone.is_empty(), "{:?}", found.alone);
        assert_eq!(found.changes[0].measure, "ttlb_ms");
    }

    #[test]
    fn tests_on_other_connections_differ_by_chance_where_no_interval_tells() {
        let test = |seed: u64, mean: f64| {
            json!({"firstflight": "0.1.0", "experiment": {"flows": 10, "seed": seed}, "results": [
                {"part": "all", "name": "all", "arm": "rapid", "ttlb_ms": {"mean": mean}}]})
            .to_string()
        };
        let found = diff(&test(1, 100.0), &test(2, 130.0));
        assert_eq!(found.changes[0].sense, Sense::Unclear);
        assert_eq!(found.apart.as_deref(), Some("seed was 1 and is 2"));
        let found = diff(&test(1, 100.0), &test(1, 130.0));
        assert_eq!((found.changes[0].sense, found.apart), (Sense::Worse, None));
    }

    #[test]
    fn what_is_not_known_is_not_called_better() {
        let a = comparison(30, &[("slowstart", 1, json!(900.0), 0.1)]);
        let b = comparison(30, &[("slowstart", 1, Value::Null, 0.1), ("rapid", 1, json!(1), 0.1)]);
        let found = diff(&a, &b);
        assert_eq!(found.changes[0].after, None);
        assert_eq!(found.changes[0].sense, Sense::Unclear);
        assert_eq!(found.alone, ["rapid on rtt=30ms"]);
    }

    #[test]
    fn intervals_that_overlap_are_no_change_for_sure() {
        let test = |low: f64, value: f64, high: f64| {
            json!({"firstflight": "0.1.0", "experiment": {"flows": 10}, "results": [
                {"part": "all", "name": "all", "arm": "rapid",
                 "ttlb_ms": {"p50": {"value": value, "low": low, "high": high}}}]})
            .to_string()
        };
        let found = diff(&test(90.0, 100.0, 110.0), &test(100.0, 105.0, 120.0));
        assert_eq!(found.changes[0].sense, Sense::Unclear);
        let found = diff(&test(90.0, 100.0, 110.0), &test(111.0, 115.0, 120.0));
        assert_eq!(found.changes[0].sense, Sense::Worse);
    }

    #[test]
    fn other_files_are_refused_by_name() {
        let one = comparison(30, &[("slowstart", 1, json!(900.0), 0.1)]);
        for wrong in ["", "{}", "[]", "{\"results\": [1]}"] {
            let refused = Diff::read(("a.json", &one), ("b.json", wrong)).expect_err(wrong);
            assert!(refused.as_str().starts_with("b.json: "), "{refused}");
        }
    }
}
