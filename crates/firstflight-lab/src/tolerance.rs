//! How much worse a measure may become before a check of one's own repository fails.

use crate::diff::{Change, Diff, Sense};
use crate::report::Better;
use firstflight_path::Error;
use std::fmt::Write as _;

/// How much worse one measure may become.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance {
    /// The measure, as the data call it (`ttlb_ms`; of a test `ttlb_ms_p95`).
    pub measure: String,
    /// How much, never negative.
    pub most: Most,
}

/// A distance to the worse side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Most {
    /// Of what it was, in percent.
    Percent(f64),
    /// In the measure's unit.
    Units(f64),
}

/// One measure of one arm, judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The path of a comparison, the part of a test.
    pub of: String,
    /// The arm.
    pub arm: String,
    /// The measure; empty where the whole row is missing.
    pub measure: String,
    /// Why it fails, in a line.
    pub failure: Option<String>,
}

/// Reads `ttlb_ms:2%,loss_ratio:0.001`: percent of what a measure was, or its own unit.
///
/// # Errors
/// What is no `MEASURE:MOST`, or a measure twice.
pub fn tolerances(text: &str) -> Result<Vec<Tolerance>, Error> {
    let mut found: Vec<Tolerance> = Vec::new();
    for part in text.split(',').map(str::trim) {
        let wrong = |why: &str| Error::new(format!("`{part}`: {why}; allowed: `ttlb_ms:2%`"));
        let (measure, most) = part.split_once(':').ok_or_else(|| wrong("is no MEASURE:MOST"))?;
        let (number, percent) = match most.strip_suffix('%') {
            Some(number) => (number, true),
            None => (most, false),
        };
        let number: f64 = number.parse().map_err(|_| wrong("is no number"))?;
        if !(number.is_finite() && number >= 0.0) {
            return Err(wrong("is no distance"));
        }
        if found.iter().any(|other| other.measure == measure) {
            return Err(wrong("stands here twice"));
        }
        let most = if percent { Most::Percent(number) } else { Most::Units(number) };
        found.push(Tolerance { measure: measure.to_owned(), most });
    }
    Ok(found)
}

impl Diff {
    /// Judges each named measure of each row that is in both, and rows that are gone; what is new has
    /// nothing to be held against. A measure fails that became
    /// worse by more than its tolerance (medians; where an interval is known only if the two do
    /// not overlap), or that is not known any more.
    ///
    /// # Errors
    /// A name that is no measure of these answers, or of one that has no good end.
    pub fn judge(&self, tolerances: &[Tolerance]) -> Result<Vec<Judged>, Error> {
        for Tolerance { measure, .. } in tolerances {
            if !self.measures.contains(measure) {
                let all = self.measures.join(", ");
                return Err(Error::new(format!("{measure}: no measure of these; allowed: {all}")));
            }
        }
        let mut judged: Vec<Judged> = Vec::new();
        for (of, arm) in &self.both {
            for tolerance in tolerances {
                let here = |one: &&Change| {
                    &one.of == of && &one.arm == arm && one.measure == tolerance.measure
                };
                let failure = match self.changes.iter().find(here) {
                    Some(change) => failure(change, tolerance.most)?,
                    None => None,
                };
                judged.push(Judged {
                    of: of.clone(),
                    arm: arm.clone(),
                    measure: tolerance.measure.clone(),
                    failure,
                });
            }
        }
        judged.extend(self.gone.iter().map(|(of, arm)| Judged {
            of: of.clone(),
            arm: arm.clone(),
            measure: String::new(),
            failure: Some("is not in the answer any more".to_owned()),
        }));
        Ok(judged)
    }
}

/// Why a change fails; `None` if it does not.
fn failure(change: &Change, most: Most) -> Result<Option<String>, Error> {
    let sign = match change.better {
        Better::Low => 1.0,
        Better::High => -1.0,
        Better::None => {
            let measure = &change.measure;
            return Err(Error::new(format!("{measure}: has no good end, nothing is worse")));
        }
    };
    let (before, after) = match (change.before, change.after) {
        (Some(before), Some(after)) => (before, after),
        (Some(before), None) => return Ok(Some(format!("was {before:.4}, is not known any more"))),
        (None, _) => return Ok(None),
    };
    let worse = sign * (after - before);
    let (room, shown) = match most {
        Most::Percent(percent) => (before.abs() * percent / 100.0, format!("{percent} %")),
        Most::Units(units) => (units, format!("{units} {}", change.unit)),
    };
    let sure = matches!(change.sense, Sense::Worse | Sense::Mixed);
    Ok((sure && worse > room).then(|| {
        let by = change.change_pct.map_or(String::new(), |by| format!(" ({by:+.1} %)"));
        format!("{before:.4} -> {after:.4}{by}, more than {} worse", shown.trim())
    }))
}

/// The judgement as JUnit XML, which CI systems show: a test case for each measure of each arm.
pub fn junit(judged: &[Judged]) -> String {
    let failures = judged.iter().filter(|one| one.failure.is_some()).count();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"firstflight\" \
         tests=\"{}\" failures=\"{failures}\">\n",
        judged.len(),
    );
    for one in judged {
        let name = format!("{} {}", one.arm, one.measure);
        let (class, name) = (escaped(&one.of), escaped(name.trim()));
        let _ = write!(text, "<testcase classname=\"{class}\" name=\"{name}\"");
        let _ = match &one.failure {
            None => writeln!(text, "/>"),
            Some(why) => {
                writeln!(text, "><failure message=\"{}\"/></testcase>", escaped(why))
            }
        };
    }
    text + "</testsuite>\n</testsuites>\n"
}

/// Text for an attribute. Control characters, which XML cannot carry, become spaces.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            control if control.is_control() => out.push(' '),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn diff(before: (f64, f64), after: (Option<f64>, f64)) -> Diff {
        let answer = |ms: Option<f64>, goodput: f64| {
            json!({"firstflight": "0.1.0", "experiment": {"path": "a<b>"}, "results": [
                {"arm": "rapid", "path": "a<b>", "seed": 1, "ttlb_ms": ms,
                 "goodput_mbps": goodput}]})
            .to_string()
        };
        let [a, b] = [answer(Some(before.0), before.1), answer(after.0, after.1)];
        Diff::read(("a", &a), ("b", &b)).expect("two answers")
    }

    fn failures(diff: &Diff, text: &str) -> usize {
        let judged = diff.judge(&tolerances(text).expect(text)).expect(text);
        judged.iter().filter(|one| one.failure.is_some()).count()
    }

    #[test]
    fn worse_is_to_the_side_of_the_measure_and_beyond_its_room() {
        let slower = diff((1000.0, 50.0), (Some(1019.0), 48.0));
        assert_eq!(failures(&slower, "ttlb_ms:2%"), 0);
        assert_eq!(failures(&slower, "ttlb_ms:1.8%"), 1);
        assert_eq!(failures(&slower, "ttlb_ms:19"), 0);
        assert_eq!(failures(&slower, "ttlb_ms:18.9,goodput_mbps:1.9"), 2);
        assert_eq!(failures(&slower, "goodput_mbps:4%"), 0);
        let faster = diff((1000.0, 50.0), (Some(900.0), 60.0));
        assert_eq!(failures(&faster, "ttlb_ms:0%,goodput_mbps:0"), 0);
    }

    #[test]
    fn a_number_that_is_gone_fails() {
        assert_eq!(failures(&diff((1000.0, 50.0), (None, 50.0)), "ttlb_ms:50%"), 1);
    }

    #[test]
    fn a_row_that_is_gone_fails_and_a_new_one_does_not() {
        let answer = |arms: &[&str]| {
            let row = |arm| json!({"arm": arm, "path": "p", "seed": 1, "ttlb_ms": 1.0});
            let rows: Vec<_> = arms.iter().map(row).collect();
            json!({"experiment": {"path": "p"}, "results": rows}).to_string()
        };
        let [one, two] = [answer(&["rapid"]), answer(&["rapid", "best"])];
        let between = |a, b| failures(&Diff::read(("a", a), ("b", b)).expect("two"), "ttlb_ms:2%");
        assert_eq!((between(&one, &two), between(&two, &one)), (0, 1));
    }

    #[test]
    fn names_and_distances_that_are_none_are_refused() {
        for wrong in ["", "ttlb_ms", "ttlb_ms:", "ttlb_ms:-1%", "ttlb_ms:NaN", "a:1,a:2"] {
            assert!(tolerances(wrong).is_err(), "{wrong}");
        }
        let same = diff((1.0, 1.0), (Some(1.0), 1.0));
        let refused = same.judge(&tolerances("ttbl_ms:2%").expect("read")).expect_err("no measure");
        assert!(refused.as_str().contains("ttlb_ms"), "{refused}");
    }

    #[test]
    fn junit_counts_and_escapes() {
        let judged = diff((1000.0, 50.0), (Some(2000.0), 50.0))
            .judge(&tolerances("ttlb_ms:2%,goodput_mbps:2%").expect("read"))
            .expect("measures");
        let xml = junit(&judged);
        assert!(xml.contains("tests=\"2\" failures=\"1\""), "{xml}");
        assert!(xml.contains("classname=\"a&lt;b&gt;\" name=\"rapid ttlb_ms\"><failure"), "{xml}");
        assert!(xml.contains("name=\"rapid goodput_mbps\"/>"), "{xml}");
    }
}
