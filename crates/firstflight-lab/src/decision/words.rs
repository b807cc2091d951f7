//! The sentences of a decision.

use super::answer::{ArmRow, Decision};
use super::effect::{Effect, Effects, Is};
use super::rule::Turn;
use crate::stats::extremes;

/// Ends of a range that are this close are printed as one number, percent of time.
const NEAR_PCT: f64 = 2.0;

/// A number rounded down, for a claim: whole numbers for 10 and above, two decimals below 0.1.
fn down(value: f64) -> String {
    let decimals = match value {
        value if value >= 10.0 => 0,
        value if value >= 0.1 => 1,
        _ => 2,
    };
    let scale = 10_f64.powi(decimals);
    // Avoids -0.
    format!("{:.*}", decimals as usize, (value * scale + 1e-9).floor() / scale + 0.0)
}

/// `0.2 to 0.5`, or one number if both ends read the same.
fn span(low: f64, high: f64, digits: usize) -> String {
    let show = |x: f64| {
        let text = format!("{x:.digits$}");
        if text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.') {
            text.trim_start_matches('-').to_owned()
        } else {
            text
        }
    };
    let (low, high) = (show(low), show(high));
    if low == high { low } else { format!("{low} to {high}") }
}

type Read = fn(&Effects) -> Effect;

impl Decision {
    /// The assumptions that a quantity of an arm depends on most.
    fn depends_on(&self, row: &ArmRow, read: Read) -> String {
        let corners: Vec<(&[bool], f64)> = self
            .worlds
            .iter()
            .zip(&row.effects)
            .filter(|(world, _)| !world.corner.ends.is_empty())
            .map(|(world, of)| (world.corner.ends.as_slice(), read(of).value))
            .collect();
        let moved = |which: usize| {
            let mean = |end: bool| {
                let of = corners.iter().filter(|(ends, _)| ends[which] == end);
                let (sum, n) = of.fold((0.0, 0.0), |(sum, n), (_, value)| (sum + value, n + 1.0));
                if n > 0.0 { Some(sum / n) } else { None }
            };
            mean(true).zip(mean(false)).map_or(0.0, |(high, low)| (high - low).abs())
        };
        let most = (0..self.assumptions.len()).map(moved).fold(0.0, f64::max);
        let names = self.assumptions.iter().enumerate();
        let names = names.filter(|(index, _)| most > 0.0 && moved(*index) >= most / 2.0);
        names.map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(" and ")
    }

    fn depending(&self, row: &ArmRow, read: Read) -> String {
        let names = self.depends_on(row, read);
        if names.is_empty() { String::new() } else { format!(" depending on {names}") }
    }

    /// `at least 19 % faster (19 to 35 % depending on random loss)`.
    fn faster(&self, row: &ArmRow) -> String {
        let (least, _) = extremes(row.effects.iter().map(|of| of.time_pct.low));
        let (_, most) = extremes(row.effects.iter().map(|of| of.time_pct.value));
        let claim = format!("at least {} % faster", down(least));
        if self.worlds.len() < 2 || most - least < NEAR_PCT {
            return claim;
        }
        let depending = self.depending(row, |of| of.time_pct);
        format!("{claim} ({} to {most:.0} %{depending})", down(least))
    }

    /// Clause for an arm whose loss is no worse, or accepted.
    fn loss_clause(row: &ArmRow) -> String {
        let every =
            |holds: fn(&Effect) -> bool| row.effects.iter().all(|of| holds(&of.loss_points));
        let (low, high) = extremes(row.effects.iter().map(|of| of.loss_points.value));
        if every(|loss| loss.is == Is::Better) {
            "it loses less".to_owned()
        } else if every(|loss| loss.high <= loss.margin) {
            "it loses no more".to_owned()
        } else {
            format!("it loses {} points more, which you accept", span(low.max(0.0), high, 1))
        }
    }

    pub(super) fn clean(&self, row: &ArmRow) -> String {
        let loss = Decision::loss_clause(row);
        format!("Deploy {}: {}, and {loss}.", row.arm, self.faster(row))
    }

    /// Costs of an arm, and whether they are known.
    fn costs(&self, row: &ArmRow, is: Is) -> Vec<String> {
        let has = |read: Read, is: Is| row.effects.iter().any(|of| read(of).is == is);
        // An effect that is worse in one world is a known cost, however open it is in another.
        let some = |read: Read| has(read, is) && (is == Is::Worse || !has(read, Is::Worse));
        let all = |read: Read| row.effects.iter().map(read);
        let mut told = Vec::new();
        let mut tell = |read: Read, digits: usize, sign: f64, words: &str| {
            if !some(read) {
                return;
            }
            let (low, high) = if is == Is::Worse {
                extremes(all(read).map(|effect| sign * effect.value))
            } else {
                let both = |effect: Effect| [sign * effect.low, sign * effect.high];
                extremes(all(read).flat_map(both))
            };
            if !(low.is_finite() && high.is_finite()) {
                return told.push(words.trim_start_matches("% more ").to_owned());
            }
            let depending =
                if is == Is::Worse && format!("{low:.digits$}") != format!("{high:.digits$}") {
                    self.depending(row, read)
                } else {
                    String::new()
                };
            told.push(format!("{} {words}{depending}", span(low, high, digits)));
        };
        tell(|of| of.loss_points, 1, 1.0, "points more loss");
        tell(|of| of.queue_ms, 0, 1.0, "ms more queueing delay");
        tell(|of| of.slower_pct, 0, 1.0, "% of connections over 5 % slower");
        tell(|of| of.p95_pct, 0, -1.0, "% more time at the 95th percentile");
        tell(|of| of.mean_pct, 0, -1.0, "% more mean time");
        told
    }

    pub(super) fn price(&self, row: &ArmRow) -> String {
        let worse = self.costs(row, Is::Worse);
        let faster = self.faster(row);
        if worse.is_empty() {
            let open = self.costs(row, Is::Open).join(", ");
            let more = self
                .settled_at
                .map_or(String::new(), |m| format!("; about {m} connections would settle it"));
            return format!("{} is {faster}; the price is not settled: {open}{more}.", row.arm);
        }
        let open = match self.costs(row, Is::Open).as_slice() {
            [] => String::new(),
            open => format!("; not settled: {}", open.join(", ")),
        };
        format!("{} is {faster}; the price is {}{open}.", row.arm, worse.join(", and "))
    }

    /// `Deploy G: same time, at least 0.2 points less loss.`
    pub(super) fn gentler(&self, row: &ArmRow, verb: &str) -> String {
        let less: [(Read, &str); 2] = [
            (|of| of.loss_points, "points less loss"),
            (|of| of.queue_ms, "ms less queueing delay"),
        ];
        let less = less.into_iter().filter(|(read, _)| row.has_less(*read));
        let gains: Vec<String> = less
            .map(|(read, what)| {
                let least = -extremes(row.effects.iter().map(|of| read(of).high)).1;
                let most = -extremes(row.effects.iter().map(|of| read(of).value)).0;
                let claim = format!("at least {} {what}", down(least));
                if most < 2.0 * least {
                    return claim;
                }
                let depending = self.depending(row, read);
                format!("{claim} ({} to {}{depending})", down(least), down(most))
            })
            .collect();
        let faster = row.effects.iter().all(|of| of.time_pct.is == Is::Better);
        let time = if faster { self.faster(row) } else { "same time".to_owned() };
        let colon = if verb.ends_with(':') { "" } else { ":" };
        let arm = &row.arm;
        if colon.is_empty() {
            format!("{verb} {arm} has the {time}, {}.", gains.join(", "))
        } else {
            format!("{verb} {arm}: {time}, {}.", gains.join(", "))
        }
    }

    pub(super) fn depends(&self, turn: &Turn) -> String {
        let arm = |index: usize| {
            index.checked_sub(1).map_or(self.baseline.as_str(), |row| self.arms[row].arm.as_str())
        };
        let ends = |world: usize| self.worlds[world].corner.ends.as_slice();
        let [one, other] = turn.worlds;
        let differ: Vec<&str> = self
            .assumptions
            .iter()
            .enumerate()
            .filter(|(index, _)| ends(one).get(*index) != ends(other).get(*index))
            .map(|(_, name)| name.as_str())
            .collect();
        let words = |world: usize| match self.worlds[world].corner.words.as_str() {
            "as assumed" => "As assumed".to_owned(),
            words => format!("With {words}"),
        };
        let what = differ.join(" and ");
        let second = words(other);
        let second = second[..1].to_lowercase() + &second[1..];
        format!(
            "{}: {}; {second}: {}. Measure {what}.",
            words(one),
            arm(turn.arms[0]),
            arm(turn.arms[1])
        )
    }

    pub(super) fn not_settled(&self) -> String {
        let rest = self.settled_at.map_or_else(
            || format!(", and unlikely to be with more: keep {}", self.baseline),
            |more| format!("; about {more} would settle it"),
        );
        format!("Not settled at {} connections{rest}.", self.connections)
    }
}
