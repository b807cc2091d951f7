//! The finding of a comparison, in one or two sentences: which arm finishes first, and at what
//! cost.

use crate::arms::NamedArm;
use crate::compare::Comparison;
use crate::repeat::{Repeats, SAME, Stopped};
use crate::sharing::Sharing;
use crate::stats::pairs::Mark;
use crate::table::change;
use std::fmt::Write as _;

/// An arm's results, for the finding.
struct Seen<'a> {
    arm: &'a str,
    /// Completion time, ms; `None` if it did not finish.
    ms: Option<f64>,
    /// Lost packets, percent; `None` if the testbed does not know.
    loss: Option<f64>,
}

impl Comparison {
    /// The finding, for the top of a page. It applies only to this path and these seeds. Arms that
    /// know what no sender can know (`oracle`) are bounds for the others and are left out.
    pub fn finding(&self) -> String {
        let repeats = self.repeats();
        if repeats.trials() > 1 {
            return repeats.finding(self.stopped);
        }
        // Without other arms, the reference arm is the subject.
        let alone = self.plan.arms.iter().all(NamedArm::is_reference);
        let rows: Vec<Seen<'_>> = self
            .plan
            .arms
            .iter()
            .enumerate()
            .filter(|(_, arm)| alone || !arm.is_reference())
            .map(|(index, arm)| Seen {
                arm: &arm.label,
                ms: self.trials(index)[0].ttlb_ms,
                loss: repeats.loss(index).map(|loss| 100.0 * loss),
            })
            .collect();
        told(&rows)
    }
}

impl Sharing {
    /// The finding for several flows at a time, with the median over the flows of each trial.
    pub fn finding(&self) -> String {
        self.repeats().finding(self.stopped)
    }
}

impl Repeats {
    /// The fastest arm over all trials, compared with the first arm, and its cost.
    fn finding(&self, stopped: Option<Stopped>) -> String {
        let arms = self.names();
        let competing = self.competing();
        let with = |wanted: Mark| -> Vec<usize> {
            (0..arms.len()).filter(|arm| self.mark(*arm) == wanted).collect()
        };
        let names = |of: &[usize]| joined(&of.iter().map(|arm| arms[*arm]).collect::<Vec<_>>());
        let trials = self.trials();
        let mut words = match (with(Mark::Best).as_slice(), with(Mark::Near).as_slice()) {
            ([best], _) => {
                let other = if *best > 0 { Some(0) } else { self.next_to(*best) };
                let time = other
                    .map_or(String::new(), |other| format!(": {}", self.against(*best, other)));
                format!("{} is fastest{time}", arms[*best])
            }
            (_, []) if competing.iter().filter(|competes| **competes).count() == 1 => {
                let only = competing.iter().position(|competes| *competes).unwrap_or_default();
                let ms = self.median(only).unwrap_or_default();
                format!("{} takes {ms:.1} ms (median)", arms[only])
            }
            (_, []) => "No arm finished every trial within the limit".to_owned(),
            (_, near) if near.len() == competing.iter().filter(|one| **one).count() => {
                format!("No arm is fastest: {} do not differ significantly", names(near))
            }
            (_, near) => {
                let first = near.iter().copied().find(|arm| *arm > 0);
                let time = first.filter(|_| !near.contains(&0)).map_or(String::new(), |arm| {
                    format!("; {} takes {}", arms[arm], self.against(arm, 0))
                });
                format!("The fastest are {}, which do not differ significantly{time}", names(near))
            }
        };
        let _ = write!(words, " ({trials} trials");
        if let Some(stopped) = stopped.filter(|stopped| *stopped != Stopped::Precision) {
            let _ = write!(words, "; {}", stopped.words());
        }
        words += ").";
        words += &self.least_loss();
        let unfinished: Vec<usize> =
            (0..arms.len()).filter(|arm| self.unfinished(*arm) > 0).collect();
        if !unfinished.is_empty() {
            let _ = write!(words, " Not always finished within the limit: {}.", names(&unfinished));
        }
        words
    }

    /// The competing arm with the shortest mean time after the best.
    fn next_to(&self, best: usize) -> Option<usize> {
        let competing = self.competing();
        let others = (0..competing.len()).filter(|arm| *arm != best && competing[*arm]);
        others.min_by(|a, b| self.between(*a, best).value.total_cmp(&self.between(*b, best).value))
    }

    /// The time of an arm compared with another arm's, with its 95 % interval.
    fn against(&self, arm: usize, other: usize) -> String {
        let ratio = self.between(arm, other);
        let percent = |ratio: f64| 100.0 * (1.0 - ratio);
        let (value, sign) = if ratio.value <= 1.0 {
            (percent(ratio.value), 1.0)
        } else {
            (-percent(ratio.value), -1.0)
        };
        let mut ends = [sign * percent(ratio.low), sign * percent(ratio.high)];
        ends.sort_by(f64::total_cmp);
        let [low, high] = ends.map(figure);
        let which = if sign > 0.0 { "less" } else { "more" };
        let other = self.names()[other];
        let value = match figure(value) {
            none if none == "0.0" => "under 0.1".to_owned(),
            value => value,
        };
        format!("{value} % {which} time than {other}, 95 % interval {low} to {high}")
    }

    /// The arm with the least mean loss, if arms differ.
    fn least_loss(&self) -> String {
        let competing = self.competing();
        let arms = (0..competing.len()).filter(|arm| competing[*arm]);
        let mut known: Vec<(usize, f64)> =
            arms.filter_map(|arm| Some((arm, 100.0 * self.loss(arm)?))).collect();
        known.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (Some((_, loss)), Some((_, most))) = (known.first(), known.last()) else {
            return String::new();
        };
        if known.len() < 2 || most - loss < 0.01 {
            return String::new();
        }
        let names = self.names();
        let ties = known.iter().filter(|(_, of)| of - loss < 0.01).map(|(arm, _)| names[*arm]);
        let ties: Vec<&str> = ties.collect();
        let verb = if ties.len() == 1 { "has" } else { "have" };
        format!(" {} {verb} the lowest mean loss, {loss:.2} %.", joined(&ties))
    }
}

/// A percentage with one digit, never -0.
fn figure(percent: f64) -> String {
    change(percent).trim_start_matches('+').to_owned()
}

/// Names as a list in a sentence.
fn joined(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

fn told(rows: &[Seen<'_>]) -> String {
    let mut done: Vec<(&Seen<'_>, f64)> =
        rows.iter().filter_map(|seen| Some((seen, seen.ms?))).collect();
    done.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (Some(&(first, ms)), Some(&(last, slowest))) = (done.first(), done.last()) else {
        return "No arm finished within the limit.".to_owned();
    };
    let same = slowest <= ms * (1.0 + SAME / 100.0);
    let shown = format!("{ms:.1}");
    let fastest: Vec<&Seen<'_>> = done
        .iter()
        .filter(|(_, of)| same || format!("{of:.1}") == shown)
        .map(|(seen, _)| *seen)
        .collect();
    let mut words = if done.len() == 1 {
        format!("{} takes {ms:.1} ms{}.", first.arm, loses(&fastest))
    } else if same && format!("{slowest:.1}") == shown {
        format!("All arms take the same time, {ms:.1} ms.")
    } else if same {
        format!("All arms take about the same time, {ms:.1} to {slowest:.1} ms.")
    } else {
        // The first requested arm is the one that the others are compared with.
        let asked = rows.iter().find_map(|seen| Some((seen, seen.ms?)));
        let (other, later) = asked.filter(|(_, of)| *of > ms).unwrap_or((last, slowest));
        let sooner = 100.0 * (1.0 - ms / later);
        let names: Vec<&str> = fastest.iter().map(|seen| seen.arm).collect();
        format!(
            "{} {} fastest: {ms:.1} ms, {sooner:.1} % less than {}{}.",
            joined(&names),
            if names.len() == 1 { "is" } else { "are" },
            other.arm,
            loses(&fastest)
        )
    };
    words += &least(&fastest, &done, same);
    let unfinished: Vec<&str> =
        rows.iter().filter(|seen| seen.ms.is_none()).map(|seen| seen.arm).collect();
    if !unfinished.is_empty() {
        words += " Not finished within the limit: ";
        words += &unfinished.join(", ");
        words.push('.');
    }
    words
}

/// The loss of the fastest arms, if it is known and all of them have the same.
fn loses(fastest: &[&Seen<'_>]) -> String {
    let first = fastest[0].loss;
    if fastest.iter().any(|seen| seen.loss != first) {
        return String::new();
    }
    let (verb, whose) = if fastest.len() == 1 { ("loses", "its") } else { ("lose", "their") };
    match first {
        Some(0.0) => ", without loss".to_owned(),
        Some(loss) => format!(", and {verb} {loss:.2} % of {whose} packets"),
        None => String::new(),
    }
}

/// The arm that loses least among those that finished, if losses are known and differ.
fn least(fastest: &[&Seen<'_>], done: &[(&Seen<'_>, f64)], same: bool) -> String {
    let losses = done.iter().filter_map(|(seen, ms)| Some((seen.arm, seen.loss?, *ms)));
    let Some((arm, loss, ms)) = losses.clone().min_by(|a, b| a.1.total_cmp(&b.1)) else {
        return String::new();
    };
    if losses.clone().count() < 2 || losses.clone().all(|(_, other, _)| other <= loss) {
        return String::new();
    }
    let among = fastest.iter().any(|seen| seen.arm == arm);
    if among && !same && fastest.iter().all(|seen| seen.loss == Some(loss)) {
        // No arm can lose less than 0.
        return if loss > 0.0 { " No arm loses less.".to_owned() } else { String::new() };
    }
    match (loss > 0.0, among) {
        (true, true) => format!(" {arm} loses least, {loss:.2} %."),
        (true, false) => format!(" {arm} loses least, {loss:.2} %, and takes {ms:.1} ms."),
        (false, true) => format!(" {arm} loses nothing."),
        (false, false) => format!(" {arm} loses nothing and takes {ms:.1} ms."),
    }
}

#[cfg(test)]
mod tests {
    use super::{Seen, told};

    fn seen(arm: &str, ms: impl Into<Option<f64>>, loss: impl Into<Option<f64>>) -> Seen<'_> {
        Seen { arm, ms: ms.into(), loss: loss.into() }
    }

    #[test]
    fn who_is_first_and_at_which_price() {
        let rows = [seen("a", 1000.0, 9.0), seen("b", 900.0, 10.0), seen("c", 1000.0, 1.0)];
        assert_eq!(
            told(&rows),
            "b is fastest: 900.0 ms, 10.0 % less than a, and loses 10.00 % of its packets. \
             c loses least, 1.00 %, and takes 1000.0 ms."
        );
        let rows = [seen("a", 1000.0, 9.0), seen("b", 900.0, 1.0), seen("c", None, 0.0)];
        assert_eq!(
            told(&rows),
            "b is fastest: 900.0 ms, 10.0 % less than a, and loses 1.00 % of its packets. \
             No arm loses less. Not finished within the limit: c."
        );
    }

    #[test]
    fn nothing_is_said_that_is_not_known() {
        assert_eq!(told(&[]), "No arm finished within the limit.");
        assert_eq!(told(&[seen("a", 10.0, None)]), "a takes 10.0 ms.");
        let same = [seen("a", 1000.0, 2.0), seen("b", 1001.0, 1.0)];
        assert_eq!(
            told(&same),
            "All arms take about the same time, 1000.0 to 1001.0 ms. b loses least, 1.00 %."
        );
        let same = [seen("a", 1000.0, None), seen("b", 1000.0, None)];
        assert_eq!(told(&same), "All arms take the same time, 1000.0 ms.");
    }

    #[test]
    fn arms_with_the_same_time_are_named_together() {
        let rows = [seen("a", 900.0, 4.0), seen("b", 900.0, 4.0), seen("c", 1000.0, 8.0)];
        assert_eq!(
            told(&rows),
            "a and b are fastest: 900.0 ms, 10.0 % less than c, and lose 4.00 % of their packets. \
             No arm loses less."
        );
        let rows = [seen("a", 900.0, 4.0), seen("b", 900.0, 0.0), seen("c", 1000.0, 0.0)];
        assert_eq!(
            told(&rows),
            "a and b are fastest: 900.0 ms, 10.0 % less than c. b loses nothing."
        );
    }
}
