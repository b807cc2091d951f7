//! Tolerances: how much worse a measure may become before a check in the user's repository fails.

pub use crate::diff::Most;
use crate::diff::{Change, Diff, worsened};
use crate::measures::Better;
use firstflight_path::Error;
use firstflight_table::text::xml;
use std::fmt::Write as _;

/// Allowed deterioration of one measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance {
    /// Name of the measure in the data (`ttlb_ms`; in a test `ttlb_ms_p95`).
    pub measure: String,
    /// The largest allowed deterioration, never negative.
    pub most: Most,
}

/// Default tolerances for a comparison.
const OF_COMPARISONS: &str = "ttlb_ms:2%,loss_ratio:0.002,queue_ms_p99:max(5%,1ms),rtos:0";
/// Default tolerances for a test.
const OF_TESTS: &str = "ttlb_ms_p50:2%,ttlb_ms_p95:2%,ttlb_ms_mean:2%,loss_pct_mean:0.2";

/// The result for one measure of one arm.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The path (in a comparison) or the part of the population (in a test).
    pub of: String,
    /// The arm.
    pub arm: String,
    /// The measure; empty if the whole row is missing.
    pub measure: String,
    /// Value before; the mean of several trials.
    pub before: Option<f64>,
    /// Value after; the mean of several trials.
    pub after: Option<f64>,
    /// Relative change in percent.
    pub change_pct: Option<f64>,
    /// Why it fails, on one line.
    pub failure: Option<String>,
}

/// Reads `ttlb_ms:2%,loss_ratio:0.001,queue_ms_p99:max(5%,1ms)`: percent of the earlier value, an
/// amount in the measure's unit, or the larger of the two.
///
/// # Errors
/// An item that is not `MEASURE:MOST`, or a repeated measure.
pub fn tolerances(text: &str) -> Result<Vec<Tolerance>, Error> {
    let mut found: Vec<Tolerance> = Vec::new();
    for part in firstflight::arm::split_list(text).map(str::trim) {
        let wrong = |why: &str| {
            Error::new(format!(
                "`{part}`: {why}; allowed: `ttlb_ms:2%`, `queue_ms_p99:max(5%,1ms)`"
            ))
        };
        let (measure, most) = part.split_once(':').ok_or_else(|| wrong("is not MEASURE:MOST"))?;
        if found.iter().any(|other| other.measure == measure) {
            return Err(wrong("is given twice"));
        }
        let both = most.strip_prefix("max(").and_then(|most| most.strip_suffix(')'));
        let mut read = Most { percent: 0.0, units: 0.0 };
        for amount in both.unwrap_or(most).split(',').map(str::trim) {
            let (number, into) = match amount.strip_suffix('%') {
                Some(number) => (number, &mut read.percent),
                None => (amount.strip_suffix("ms").unwrap_or(amount), &mut read.units),
            };
            let number: f64 = number.trim().parse().map_err(|_| wrong("is not a number"))?;
            if !(number.is_finite() && number >= 0.0) {
                return Err(wrong("is not a distance"));
            }
            *into = number;
        }
        found.push(Tolerance { measure: measure.to_owned(), most: read });
    }
    Ok(found)
}

impl Diff {
    /// Measures checked by default: completion time, loss, queueing delay, timeouts.
    ///
    /// # Errors
    /// Never.
    pub fn usual_tolerances(&self) -> Result<Vec<Tolerance>, Error> {
        let is_test = self.measures.iter().any(|measure| measure.name == "ttlb_ms_p50");
        tolerances(if is_test { OF_TESTS } else { OF_COMPARISONS })
    }

    /// Measures with a good end that these tolerances leave out.
    pub fn unseen(&self, tolerances: &[Tolerance]) -> Vec<&str> {
        let named = |name: &str| tolerances.iter().any(|one| one.measure == name);
        let ends = self.measures.iter().filter(|measure| measure.better != Better::None);
        ends.map(|measure| measure.name.as_str()).filter(|name| !named(name)).collect()
    }

    /// Judges each named measure of each row that is in both results, and rows that are missing
    /// from the second; new rows are not judged. A measure fails if it became worse by more than
    /// its tolerance (for several trials, if the whole interval of the paired difference is beyond
    /// it), if it is no longer known, or if a trial no longer finishes.
    ///
    /// # Errors
    /// A name that is not a measure of these results, a measure without a good end, or two tests on
    /// other connections.
    pub fn judge(&self, tolerances: &[Tolerance]) -> Result<Vec<Judged>, Error> {
        if let Some(apart) = &self.apart {
            return Err(Error::new(format!(
                "the tests ran on other connections: {apart}; allowed: the same --population, --flows and --seed"
            )));
        }
        for Tolerance { measure, .. } in tolerances {
            match self.measures.iter().find(|one| one.name == *measure) {
                Some(one) if one.better == Better::None => {
                    return Err(Error::new(format!(
                        "{measure}: has no better direction, so nothing can be worse"
                    )));
                }
                Some(_) => {}
                None => {
                    let all: Vec<&str> =
                        self.measures.iter().map(|one| one.name.as_str()).collect();
                    let all = all.join(", ");
                    return Err(Error::new(format!("{measure}: unknown measure; allowed: {all}")));
                }
            }
        }
        let mut judged: Vec<Judged> = Vec::new();
        for (of, arm) in &self.both {
            for Tolerance { measure, most } in tolerances {
                let here =
                    |one: &&Change| one.of == *of && one.arm == *arm && one.measure == *measure;
                let mut all = self.changes.iter().chain(&self.equals);
                judged.extend(all.find(here).map(|change| Judged {
                    of: of.clone(),
                    arm: arm.clone(),
                    measure: measure.clone(),
                    before: change.before,
                    after: change.after,
                    change_pct: change.change_pct,
                    failure: failure(change, *most),
                }));
            }
        }
        judged.extend(self.gone.iter().map(|(of, arm)| Judged {
            of: of.clone(),
            arm: arm.clone(),
            measure: String::new(),
            before: None,
            after: None,
            change_pct: None,
            failure: Some("is missing from the new result".to_owned()),
        }));
        Ok(judged)
    }
}

/// Why a change fails; `None` if it does not.
fn failure(change: &Change, most: Most) -> Option<String> {
    if change.stopped > 0 {
        return Some(match change.pairs {
            1 => "no longer finishes".to_owned(),
            pairs => format!("no longer finishes in {} of {pairs}", change.stopped),
        });
    }
    let (before, after) = match (change.before, change.after) {
        (Some(before), Some(after)) => (before, after),
        (Some(_), None) => return Some("is no longer known".to_owned()),
        (None, _) => return None,
    };
    let (least, _) = worsened(change.better, after - before, change.difference);
    (least > most.of(before)).then(|| format!("more than {} worse", most.shown(&change.unit)))
}

/// The results as JUnit XML, which CI systems show: one test case per measure and arm.
pub fn junit(judged: &[Judged]) -> String {
    let failures = judged.iter().filter(|one| one.failure.is_some()).count();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"firstflight\" \
         tests=\"{}\" failures=\"{failures}\">\n",
        judged.len(),
    );
    for one in judged {
        let name = format!("{} {}", one.arm, one.measure);
        let (class, name) = (xml(&one.of), xml(name.trim()));
        let _ = write!(text, "<testcase classname=\"{class}\" name=\"{name}\"");
        let _ = match &one.failure {
            None => writeln!(text, "/>"),
            Some(why) => {
                writeln!(text, "><failure message=\"{}\"/></testcase>", xml(why))
            }
        };
    }
    text + "</testsuite>\n</testsuites>\n"
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
        let larger = tolerances("queue_ms_p99:max(5%,1ms)").expect("read")[0].most;
        assert_eq!((larger.of(10.0), larger.of(100.0)), (1.0, 5.0));
        for wrong in ["", "ttlb_ms", "ttlb_ms:", "ttlb_ms:-1%", "ttlb_ms:NaN", "a:1,a:2", "a:max(1"]
        {
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
