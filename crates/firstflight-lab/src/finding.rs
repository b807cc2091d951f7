//! The finding of a comparison, in one or two sentences: which arm finishes first, and at what
//! cost.

use crate::arms::NamedArm;
use crate::compare::Comparison;
use crate::repeat::{Repeats, SAME, Stopped};
use crate::sharing::Sharing;
use crate::stats::extremes;
use crate::stats::pairs::{Mark, Pairs};
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
        let repeats = self.repeats();
        if repeats.trials() > 1 {
            return repeats.finding(self.stopped);
        }
        let arms = 0..self.plan.plan.arms.len();
        let names = repeats.names();
        let rows = arms.filter(|arm| repeats.is_candidate(*arm)).map(|arm| Seen {
            arm: names[arm],
            ms: repeats.median(arm).filter(|_| repeats.unfinished(arm) == 0),
            loss: repeats.loss(arm).map(|loss| 100.0 * loss),
        });
        told(&rows.collect::<Vec<_>>())
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
        let trials = self.trials();
        let unfinished: Vec<usize> =
            (0..arms.len()).filter(|arm| self.unfinished(*arm) > 0).collect();
        // A reference is no arm to compare with, unless all arms are references.
        let first = self.is_candidate(0).then_some(0);
        let mut words = match (with(Mark::Best).as_slice(), with(Mark::Near).as_slice()) {
            ([best], _) => {
                let other = first.filter(|first| first != best).or_else(|| self.next_to(*best));
                let time = other
                    .map_or(String::new(), |other| format!(": {}", self.against(*best, other)));
                // An arm that sometimes fails may still be faster where it does not.
                let of =
                    if unfinished.is_empty() { "" } else { "Of the arms that always finish, " };
                format!("{of}{} is fastest{time}", arms[*best])
            }
            (_, []) if competing.iter().filter(|competes| **competes).count() == 1 => {
                let only = competing.iter().position(|competes| *competes).unwrap_or_default();
                let ms = self.median(only).unwrap_or_default();
                if unfinished.is_empty() {
                    format!("{} takes {ms:.1} ms (median)", arms[only])
                } else {
                    format!("Only {} always finishes: {ms:.1} ms (median)", arms[only])
                }
            }
            (_, []) => "No arm finished every trial within the limit".to_owned(),
            (_, near) => self.near(near, first),
        };
        let _ = write!(words, " ({trials} trials");
        if let Some(stopped) = stopped.filter(|stopped| *stopped != Stopped::Precision) {
            let _ = write!(words, "; {}", stopped.words());
        }
        words += ").";
        words += &self.least_loss();
        if !unfinished.is_empty() {
            let _ = write!(
                words,
                " Not always finished within the limit: {}.",
                self.named(&unfinished)
            );
        }
        words
    }

    /// The names of these arms, as a list in words.
    fn named(&self, of: &[usize]) -> String {
        let arms = self.names();
        joined(&of.iter().map(|arm| arms[*arm]).collect::<Vec<_>>())
    }

    /// The sentence if several arms may be the fastest.
    fn near(&self, near: &[usize], first: Option<usize>) -> String {
        let arms = self.names();
        let differ = |a: usize, b: usize| {
            let ratio = self.between(a, b);
            ratio.high < 1.0 || ratio.low > 1.0
        };
        let competing = self.competing();
        let behind: Vec<usize> =
            (0..arms.len()).filter(|arm| competing[*arm] && !near.contains(arm)).collect();
        // `near` holds what does not differ from one arm; its members may still differ among
        // themselves, or not from an arm behind them.
        let alike = near.iter().all(|a| near.iter().all(|b| !differ(*a, *b)));
        let ahead = near.iter().all(|a| behind.iter().all(|b| differ(*a, *b)));
        let leader = self.leader(near);
        let against = first.filter(|first| !near.contains(first));
        let time = |words: &str| {
            against
                .map_or(String::new(), |first| format!("{words} {}", self.against(leader, first)))
        };
        if alike && behind.is_empty() {
            format!("No arm is fastest: {} do not differ significantly", self.named(near))
        } else if alike && ahead {
            format!(
                "The fastest are {}, which do not differ significantly{}",
                self.named(near),
                time(&format!("; {} takes", arms[leader]))
            )
        } else {
            let others: Vec<usize> = near.iter().copied().filter(|arm| *arm != leader).collect();
            let verb = if others.len() == 1 { "does" } else { "do" };
            format!(
                "No arm is fastest: {} has the shortest mean time{}, but {} {verb} not differ significantly from it",
                arms[leader],
                against
                    .map_or(String::new(), |first| format!(" ({})", self.against(leader, first))),
                self.named(&others)
            )
        }
    }

    /// The arm with the shortest mean time among these.
    fn leader(&self, among: &[usize]) -> usize {
        let first = among.first().copied().unwrap_or_default();
        let mean = |arm: usize| self.between(arm, first).value;
        among.iter().copied().min_by(|a, b| mean(*a).total_cmp(&mean(*b))).unwrap_or(first)
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
        let value = match figure(value) {
            none if none == "0.0" => "under 0.1".to_owned(),
            value => value,
        };
        // The true times of unfinished trials exceed the limit that they count with.
        let least = if sign > 0.0 && self.unfinished(other) > 0 { "at least " } else { "" };
        let other = self.names()[other];
        format!("{least}{value} % {which} time than {other}, 95 % interval {low} to {high}")
    }

    /// The arms with the lowest mean loss, if the others certainly lose more.
    fn least_loss(&self) -> String {
        let competing = self.competing();
        let arms: Vec<(usize, Vec<f64>)> = (0..competing.len())
            .filter(|arm| competing[*arm])
            .filter_map(|arm| Some((arm, self.losses(arm)?)))
            .collect();
        let (places, losses): (Vec<usize>, Vec<Vec<f64>>) = arms.into_iter().unzip();
        let pairs = Pairs::of(&losses).among(competing.len());
        let marks = pairs.marks(&vec![true; losses.len()]);
        let (least, others): (Vec<usize>, Vec<usize>) =
            (0..losses.len()).partition(|arm| marks[*arm] != Mark::None);
        let apart = |a: &usize, b: &usize| {
            let more = pairs.difference(*b, *a);
            more.low > 0.0 && more.value >= 1e-4
        };
        if others.is_empty() && least.len() > 1
            || losses.len() < 2
            || !least.iter().all(|a| others.iter().all(|b| apart(a, b)))
            || !least.iter().all(|a| least.iter().all(|b| !apart(a, b)))
        {
            return String::new();
        }
        let mean = |arm: &usize| 100.0 * self.loss(places[*arm]).unwrap_or_default();
        let (low, high) = extremes(least.iter().map(mean));
        let [low, high] = [low, high].map(|loss| format!("{loss:.2}"));
        let loss = if low == high { low } else { format!("{low} to {high}") };
        let least: Vec<usize> = least.iter().map(|arm| places[*arm]).collect();
        let verb = if least.len() == 1 { "has" } else { "have" };
        format!(" {} {verb} the lowest mean loss, {loss} %.", self.named(&least))
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
        .filter(|(_, of)| same || *of <= ms * (1.0 + SAME / 100.0) || format!("{of:.1}") == shown)
        .map(|(seen, _)| *seen)
        .collect();
    let longest = fastest.iter().filter_map(|seen| seen.ms).fold(ms, f64::max);
    let mut words = if done.len() == 1 {
        format!("{} takes {ms:.1} ms{}.", first.arm, loses(&fastest))
    } else if same && format!("{slowest:.1}") == shown {
        format!("All arms take the same time, {ms:.1} ms.")
    } else if same {
        format!("All arms take about the same time, {ms:.1} to {slowest:.1} ms.")
    } else {
        // The first requested arm is the one that the others are compared with.
        let asked = rows.iter().find_map(|seen| Some((seen, seen.ms?)));
        let (other, later) = asked
            .filter(|(seen, _)| fastest.iter().all(|fast| fast.arm != seen.arm))
            .unwrap_or((last, slowest));
        let sooner = 100.0 * (1.0 - ms / later);
        let names: Vec<&str> = fastest.iter().map(|seen| seen.arm).collect();
        let span = match format!("{longest:.1}") {
            longest if longest == shown => shown,
            longest => format!("{shown} to {longest}"),
        };
        format!(
            "{} {} fastest: {span} ms, {sooner:.1} % less than {}{}.",
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
    use crate::repeat::{Repeats, Times};

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

    #[test]
    fn arms_apart_by_less_than_counts_are_fastest_together() {
        let rows = [seen("a", 427.1, 6.8), seen("b", 422.5, 6.4), seen("c", 423.5, 0.3)];
        assert_eq!(
            told(&rows),
            "b and c are fastest: 422.5 to 423.5 ms, 1.1 % less than a. c loses least, 0.30 %."
        );
    }

    /// An arm with these times and losses, and the last trials unfinished.
    fn times(arm: &str, ms: &[f64], loss: &[f64], unfinished: usize) -> Times {
        Times {
            arm: arm.into(),
            reference: arm == "oracle",
            ms: ms.to_vec(),
            unfinished,
            loss: loss.iter().map(|loss| Some(*loss)).collect(),
        }
    }

    /// Values around a mean, which differ from seed to seed by a share of it.
    fn around(mean: f64, share: f64, turn: usize) -> Vec<f64> {
        let noise = [0.0, 1.0, -0.6, 0.3, -0.9, 0.8, -0.2, -0.4];
        (0..24).map(|seed| mean * (1.0 + share * noise[(seed * turn + turn) % 8])).collect()
    }

    fn finding(arms: Vec<Times>) -> String {
        Repeats::of(arms, 4_000.0).finding(None)
    }

    #[test]
    fn a_loss_is_the_lowest_only_if_the_others_certainly_lose_more() {
        let arm =
            |name, mean, turn| times(name, &around(900.0, 0.1, turn), &around(mean, 0.5, turn), 0);
        let chance = finding(vec![arm("a", 0.0200, 1), arm("b", 0.0198, 3)]);
        assert!(!chance.contains("lowest mean loss"), "{chance}");
        let clear = finding(vec![arm("a", 0.02, 1), arm("b", 0.001, 3), arm("c", 0.001, 3)]);
        assert!(clear.contains(" b and c have the lowest mean loss, 0.10 %."), "{clear}");
    }

    #[test]
    fn the_arm_that_the_sentence_compares_is_the_one_with_the_shortest_time() {
        let none = [0.0; 24];
        let arms = vec![
            times("base", &around(1000.0, 0.001, 1), &none, 0),
            times("wide", &around(960.0, 0.9, 3), &none, 0),
            times("leader", &around(700.0, 0.001, 5), &none, 0),
        ];
        let text = finding(arms);
        assert!(
            text.starts_with(
                "No arm is fastest: leader has the shortest mean time (30.0 % less time than base,"
            ) && text.contains("but wide does not differ significantly from it"),
            "{text}"
        );
    }

    #[test]
    fn a_reference_is_not_what_the_others_are_compared_with() {
        let none = [0.0; 24];
        let arm = |name: &str, ms: f64| times(name, &around(ms, 0.01, 3), &none, 0);
        let text = finding(vec![arm("oracle", 500.0), arm("a", 600.0), arm("b", 900.0)]);
        assert!(text.starts_with("a is fastest: 33.3 % less time than b"), "{text}");
    }

    #[test]
    fn what_an_unfinished_arm_is_compared_with_is_a_bound() {
        let none = [0.0; 24];
        let mut late = around(3_000.0, 0.05, 3);
        late[20..].fill(4_000.0);
        let arm = |name: &str, ms: f64| times(name, &around(ms, 0.01, 3), &none, 0);
        let arms = vec![times("late", &late, &none, 4), arm("a", 600.0), arm("b", 900.0)];
        let text = finding(arms);
        assert!(
            text.starts_with("Of the arms that always finish, a is fastest: at least ")
                && text.ends_with("Not always finished within the limit: late."),
            "{text}"
        );
        let text = finding(vec![times("late", &late, &none, 4), arm("a", 600.0)]);
        assert!(text.starts_with("Only a always finishes: 599.4 ms (median)"), "{text}");
    }
}
