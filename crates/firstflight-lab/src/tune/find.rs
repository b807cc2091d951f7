//! The whole search: training, validation, judgement.

use super::answer::{Found, Front, Parameter as ParameterRow, Point};
use super::bench::{Bench, Set};
use super::race::Race;
use super::score::{Judge, Measured, Objective, saved};
use super::search::search;
use super::space::{Choice, Parameter, Space};
use crate::decision::{Decision, Limits};
use crate::stats::Interval;
use crate::stats::front::{Versus, front};
use firstflight_path::Error;

/// Candidates that are compared again on the validation set.
const FINALISTS: usize = 3;
/// Most points of the front of time against loss.
const MOST_FRONT: usize = 8;
/// Levels of a parameter in its profile, at most.
const PROFILE: usize = 9;
/// Smallest gain of a changed parameter that is worth keeping, in percent of time.
const LEAST_PCT: f64 = 0.1;
/// Coverage of the intervals that decide whether a change is worth keeping.
const SURE: f64 = 0.99;
/// The same for a whole profile, which is several comparisons.
const SURE_OF_ALL: f64 = 0.999;
/// Evaluations that the search has, at the least.
const LEAST_SEARCH: u64 = 20;

/// Input of a search, in addition to its bench.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The objective, which is minimised.
    pub objective: Objective,
    /// The acceptable cost.
    pub limits: Limits,
    /// Number of evaluations.
    pub budget: u64,
    /// Number of connections of a set.
    pub flows: u64,
    /// Seed of the search.
    pub seed: u64,
}

impl Rules {
    /// Evaluations that are kept back for the validation: finalists and default in every world,
    /// each parameter put back and its profile, and the front.
    fn kept_back(space: &Space, worlds: usize) -> u64 {
        let profile: usize = space.parameters.iter().map(|of| of.levels.len().min(PROFILE)).sum();
        ((FINALISTS + 1) * worlds + space.parameters.len() + profile + MOST_FRONT) as u64
    }

    /// Refuses a budget that does not reach.
    ///
    /// # Errors
    /// A one-line message with the smallest budget.
    pub fn check(&self, space: &Space, worlds: usize) -> Result<(), Error> {
        let least = Rules::kept_back(space, worlds) + LEAST_SEARCH;
        if self.budget < least {
            return Err(Error::new(format!(
                "--budget {}: too small for {} parameters; allowed: {least} or more",
                self.budget,
                space.parameters.len()
            )));
        }
        Ok(())
    }
}

/// The connections that validate.
struct Validation<'a, B> {
    central: Race<'a, B>,
    others: Vec<Race<'a, B>>,
}

impl<'a, B: Bench> Validation<'a, B> {
    fn new(bench: &'a B, judge: Judge, flows: u64, default: &Choice) -> Result<Self, Error> {
        let race = |world| Race::new(bench, judge, (Set::Validation, world), flows, default);
        let others = (1..bench.worlds()).map(race).collect::<Result<_, _>>()?;
        Ok(Validation { central: race(0)?, others })
    }

    /// The result in the world where it is worst.
    fn worst(&mut self, choice: &Choice) -> Result<Measured, Error> {
        let one = std::slice::from_ref(choice);
        let mut worst = self.central.all(one)?[0];
        for race in &mut self.others {
            let of = race.all(one)?[0];
            if of.cost > worst.cost {
                worst = of;
            }
        }
        Ok(worst)
    }

    /// Whether a candidate is better than another beyond doubt in a world other than the central
    /// one.
    fn pays_elsewhere(&mut self, choice: &Choice, than: &Choice) -> Result<bool, Error> {
        for race in &mut self.others {
            race.all(&[choice.clone(), than.clone()])?;
            // Both are about as close to a limit, so that only chance decides which breaks it.
            let more = race.more(than, choice, SURE);
            if more.low > 0.0 && more.value >= LEAST_PCT {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn trials(&self) -> u64 {
        self.central.trials + self.others.iter().map(|race| race.trials).sum::<u64>()
    }
}

/// Resets every changed parameter whose change is not worth keeping.
fn simplified<B: Bench>(
    space: &Space,
    race: &mut Race<'_, B>,
    choice: Choice,
) -> Result<Choice, Error> {
    let default = space.default_choice();
    let mut choice = choice;
    loop {
        let changed: Vec<usize> =
            (0..choice.len()).filter(|index| choice[*index] != default[*index]).collect();
        let without = |of: &[usize]| {
            let mut less = choice.clone();
            for index in of {
                less[*index] = default[*index];
            }
            less
        };
        let mut idle: Vec<(f64, usize)> = Vec::new();
        for index in changed {
            let less = without(&[index]);
            if space.arm(&less).is_some() {
                race.all(&[less.clone(), choice.clone()])?;
                if !pays(race, &choice, &less) {
                    idle.push((race.more(&less, &choice, SURE).value, index));
                }
            }
        }
        idle.sort_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, least)) = idle.first() else { return Ok(choice) };
        let all = without(&idle.iter().map(|(_, index)| *index).collect::<Vec<_>>());
        let together = space.arm(&all).is_some() && {
            race.all(std::slice::from_ref(&all))?;
            !pays(race, &choice, &all)
        };
        choice = if together { all } else { without(&[*least]) };
    }
}

/// Whether a candidate is better than another beyond doubt, by an amount that counts.
fn pays<B: Bench>(race: &Race<'_, B>, choice: &[usize], than: &[usize]) -> bool {
    if !race.measured(than).allowed {
        return race.measured(choice).allowed;
    }
    let more = race.more(than, choice, SURE);
    more.low > 0.0 && more.value >= LEAST_PCT
}

/// Levels of a parameter in its profile: both ends, the default, the chosen one, and some between.
fn profile_levels(parameter: &Parameter, chosen: usize) -> Vec<usize> {
    let last = parameter.levels.len() - 1;
    let some = last.clamp(1, PROFILE - 3);
    let mut levels: Vec<usize> = (0..=some).map(|step| step * last / some).collect();
    levels.extend([parameter.default, chosen]);
    levels.sort_unstable();
    levels.dedup();
    levels
}

/// Searches, validates and judges.
///
/// # Errors
/// A one-line message if the budget is too small, or from the bench.
pub fn find<B: Bench + Sync>(space: &Space, bench: &B, rules: &Rules) -> Result<Found, Error> {
    rules.check(space, bench.worlds())?;
    let judge = Judge { objective: rules.objective, limits: rules.limits };
    let (flows, default) = (rules.flows, space.default_choice());
    let trials = (rules.budget - Rules::kept_back(space, bench.worlds())) * flows;
    let mut training = Race::new(bench, judge, (Set::Training, 0), flows, &default)?;
    search(space, &mut training, rules.seed, flows, trials)?;
    let finished = training.finished();

    let mut validation = Validation::new(bench, judge, flows, &default)?;
    let better =
        |(choice, of): &&(Choice, Measured)| of.allowed && of.cost < 0.0 && *choice != default;
    let finalists: Vec<Choice> =
        finished.iter().filter(better).take(FINALISTS).map(|(choice, _)| choice.clone()).collect();
    let winner = finalists.first().cloned();
    let mut best: Option<(Choice, f64)> = None;
    for choice in finalists {
        let of = validation.worst(&choice)?;
        if of.allowed && best.as_ref().is_none_or(|(_, cost)| of.cost < *cost) {
            best = Some((choice, of.cost));
        }
    }
    let mut chosen = default.clone();
    if let Some((choice, _)) = best.filter(|(_, cost)| *cost < 0.0) {
        let simple = simplified(space, &mut validation.central, choice.clone())?;
        // A parameter may pay in another world only.
        chosen = if validation.pays_elsewhere(&choice, &simple)? { choice } else { simple };
        if !pays(&validation.central, &chosen, &default) {
            chosen.clone_from(&default);
        }
    }
    // The default has nothing to be judged beside; the winner of the training shows what it is worth.
    let judged = if chosen == default { winner.clone() } else { Some(chosen.clone()) };

    let race = &mut validation.central;
    let mut parameters = Vec::new();
    for index in 0..space.parameters.len() {
        parameters.push(parameter(space, race, judge, &chosen, index)?);
    }
    let front = time_against_loss(space, race, &finished)?;
    let gain = |race: &Race<'_, B>, choice: &Choice| judge.gain(race.measured(choice).cost);
    let shown = judged.as_ref();
    if let Some(choice) = shown {
        training.all(std::slice::from_ref(choice))?;
        race.all(std::slice::from_ref(choice))?;
    }
    let training_gain = shown.map(|choice| gain(&training, choice));
    let validation_gain = shown.map(|choice| gain(&validation.central, choice));
    let decision = shown.map(|choice| bench.judge(choice)).transpose()?;
    Ok(Found {
        default: space.text(&default),
        tuned: space.text(&chosen),
        judged: judged.map(|choice| space.text(&choice)),
        candidates: training.candidates(),
        trials: training.trials + validation.trials(),
        training: training_gain,
        validation: validation_gain,
        holdout: decision.as_ref().and_then(|decision| holdout(decision, rules.objective)),
        parameters,
        front,
        decision,
    })
}

/// The gain on the hold-out under the central assumptions, in the unit of the objective.
fn holdout(decision: &Decision, objective: Objective) -> Option<Interval> {
    let effects = decision.arms.first()?.effects.first()?;
    let of = |effect: crate::decision::Effect| Interval {
        value: effect.value,
        low: effect.low,
        high: effect.high,
    };
    let time = of(effects.time_pct);
    let interval = match objective {
        Objective::Time => time,
        Objective::P95 => of(effects.p95_pct),
        Objective::TimeAndLoss(weight) => {
            let loss = of(effects.loss_points);
            Interval {
                value: time.value - weight * loss.value,
                low: time.low - weight * loss.high,
                high: time.high - weight * loss.low,
            }
        }
    };
    (interval.low.is_finite() && interval.high.is_finite()).then_some(interval)
}

/// A parameter with its profile around the chosen arm.
fn parameter<B: Bench>(
    space: &Space,
    race: &mut Race<'_, B>,
    judge: Judge,
    chosen: &Choice,
    index: usize,
) -> Result<ParameterRow, Error> {
    let of = &space.parameters[index];
    let with = |level: usize| {
        let mut choice = chosen.clone();
        choice[index] = level;
        choice
    };
    let levels = profile_levels(of, chosen[index]);
    let levels: Vec<usize> =
        levels.into_iter().filter(|level| space.arm(&with(*level)).is_some()).collect();
    let choices: Vec<Choice> = levels.iter().map(|level| with(*level)).collect();
    let measured = race.all(&choices)?;
    let mut flat = race.measured(chosen).allowed || *chosen == space.default_choice();
    let mut points = Vec::new();
    for ((level, choice), measured) in levels.iter().zip(&choices).zip(measured) {
        let more = race.more(choice, chosen, SURE_OF_ALL);
        flat &= measured.allowed && more.low <= LEAST_PCT && more.high >= -LEAST_PCT;
        points.push(Point {
            value: of.levels[*level].text.clone(),
            gain: judge.gain(race.more(choice, &space.default_choice(), SURE).value),
            time_pct: saved(measured.log_pct),
            loss_points: measured.loss_points,
            within_limits: measured.allowed,
        });
    }
    let back = with(of.default);
    let put_back = if chosen[index] == of.default || space.arm(&back).is_none() {
        None
    } else {
        let more = race.more(&back, chosen, 0.95);
        Some(more.map(|cost| judge.gain(-cost)))
    };
    Ok(ParameterRow {
        name: space.name(index),
        part: of.part.clone(),
        key: of.key,
        meaning: of.meaning,
        low: of.levels[0].text.clone(),
        high: of.levels[of.levels.len() - 1].text.clone(),
        levels: of.levels.len(),
        default: of.levels[of.default].text.clone(),
        tuned: of.levels[chosen[index]].text.clone(),
        changed: chosen[index] != of.default,
        flat,
        put_back,
        profile: points,
    })
}

/// The candidates that no other one beats in time without more loss, measured on the validation
/// set; the default is a point too.
fn time_against_loss<B: Bench>(
    space: &Space,
    race: &mut Race<'_, B>,
    finished: &[(Choice, Measured)],
) -> Result<Vec<Front>, Error> {
    let edge = |points: &[(Choice, Measured)]| -> Vec<(Choice, Measured)> {
        let versus = |a: f64, b: f64| match a.total_cmp(&b) {
            std::cmp::Ordering::Less => Versus::Better,
            std::cmp::Ordering::Greater => Versus::Worse,
            std::cmp::Ordering::Equal => Versus::Even,
        };
        let kept = front(points.len(), |a, b| {
            let ((_, a), (_, b)) = (&points[a], &points[b]);
            [versus(a.log_pct, b.log_pct), versus(a.loss_points, b.loss_points)]
        });
        let mut kept: Vec<(Choice, Measured)> = points
            .iter()
            .zip(kept)
            .filter(|(_, kept)| *kept)
            .map(|(point, _)| point.clone())
            .collect();
        kept.sort_by(|(_, a), (_, b)| {
            let loss = a.loss_points.total_cmp(&b.loss_points);
            loss.then(a.log_pct.total_cmp(&b.log_pct))
        });
        kept.dedup_by(|(_, a), (_, b)| (a.loss_points, a.log_pct) == (b.loss_points, b.log_pct));
        kept
    };
    let first = edge(finished);
    let step = first.len().div_ceil(MOST_FRONT - 1).max(1);
    let mut choices: Vec<Choice> =
        first.iter().step_by(step).map(|(choice, _)| choice.clone()).collect();
    choices.push(space.default_choice());
    choices.sort_unstable();
    choices.dedup();
    let measured = race.all(&choices)?;
    let points: Vec<(Choice, Measured)> = choices.into_iter().zip(measured).collect();
    let row = |(choice, of): (Choice, Measured)| Front {
        arm: space.text(&choice),
        time_pct: saved(of.log_pct),
        loss_points: of.loss_points + 0.0,
        within_limits: of.allowed,
    };
    Ok(edge(&points).into_iter().map(row).collect())
}
