//! The seven rules, in order.

use super::answer::{ArmRow, Decision, Rule};
use super::effect::{Drawn, Effect, Effects, Is, TIME_PCT, World, clear_of, less_time};
use crate::stats::{Interval, Z_95};
use std::cmp::Ordering;

/// If more than this factor of connections is needed, no number is given.
const MOST_MORE: f64 = 100.0;

impl ArmRow {
    fn every(&self, holds: impl Fn(&Effects) -> bool) -> bool {
        self.effects.iter().all(holds)
    }

    fn is_faster(&self) -> bool {
        self.every(|of| of.time_pct.is == Is::Better)
    }

    fn is_clean(&self) -> bool {
        self.every(Effects::is_clean)
    }

    fn is_gentler(&self) -> bool {
        let holds = self.every(|of| of.all().iter().all(Effect::holds));
        holds && (self.has_less(|of| of.loss_points) || self.has_less(|of| of.queue_ms))
    }

    /// Whether the effect is better in the central world, and favourable in every other one.
    pub(super) fn has_less(&self, read: fn(&Effects) -> Effect) -> bool {
        let assumed = self.effects.first().is_some_and(|of| read(of).is == Is::Better);
        assumed && self.every(|of| read(of).gains)
    }

    /// The time saved in the world where it is smallest.
    pub(super) fn worst_time(&self) -> f64 {
        self.effects.iter().map(|of| of.time_pct.value).fold(f64::INFINITY, f64::min)
    }

    /// The loss added in the world where it is largest.
    fn worst_loss(&self) -> f64 {
        self.effects.iter().map(|of| of.loss_points.value).fold(f64::NEG_INFINITY, f64::max)
    }

    fn worst_queue(&self) -> f64 {
        self.effects.iter().map(|of| of.queue_ms.value).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Whether it may still turn out faster, or gentler, in every world.
    fn may_gain(&self) -> bool {
        let faster = self.every(|of| of.time_pct.high > of.time_pct.margin);
        faster || !self.effects.iter().any(Effects::has_worse)
    }

    /// Whether it may still turn out faster or gentler, and no effect is known to be worse.
    fn may_be_free(&self) -> bool {
        let read: [fn(&Effects) -> Effect; 3] =
            [|of| of.time_pct, |of| of.loss_points, |of| of.queue_ms];
        let gains = |read: fn(&Effects) -> Effect| self.every(|of| read(of).reaches);
        !self.effects.iter().any(Effects::has_worse) && read.into_iter().any(gains)
    }

    /// Factor on the number of connections that would settle all open effects.
    fn settle(&self) -> f64 {
        self.effects.iter().map(Effects::settle).fold(1.0, f64::max)
    }
}

/// The arm that saves most time in its worst world; among arms within a margin of it, the one that
/// loses least.
fn fastest<'a>(rows: impl Iterator<Item = &'a ArmRow>) -> Option<&'a ArmRow> {
    let rows: Vec<&ArmRow> = rows.collect();
    let most = rows.iter().map(|row| row.worst_time()).fold(f64::NEG_INFINITY, f64::max);
    let near = rows.into_iter().filter(|row| row.worst_time() >= most - TIME_PCT);
    near.min_by(|a, b| {
        let loss = a.worst_loss().total_cmp(&b.worst_loss());
        loss.then(b.worst_time().total_cmp(&a.worst_time()))
    })
}

fn gentlest<'a>(rows: impl Iterator<Item = &'a ArmRow>) -> Option<&'a ArmRow> {
    rows.filter(|row| row.is_gentler()).min_by(|a, b| {
        let loss = a.worst_loss().total_cmp(&b.worst_loss());
        loss.then(a.worst_queue().total_cmp(&b.worst_queue()))
    })
}

/// Two arms and two worlds that reverse the order of the arms.
pub(super) struct Turn {
    /// Indices of the arms in the question: 0 is the baseline.
    pub(super) arms: [usize; 2],
    /// The first arm is ahead in the first world, the second arm in the second world.
    pub(super) worlds: [usize; 2],
}

/// Lead of `a` over `b` in a world, percent of time.
fn ahead(world: &World<'_>, a: usize, b: usize) -> Interval {
    less_time(world.log(a).less(&world.log(b)).interval(Z_95))
}

/// An arm that is faster than another in one world and slower in another: the baseline and any arm,
/// or two arms each of which is the fastest somewhere. If the sentence names an arm, that arm gains
/// on the baseline at no cost.
fn turn(decision: &Decision, worlds: &[World<'_>]) -> Option<Turn> {
    let arms = &decision.arms;
    let deployable = decision.deployable();
    let with_baseline = deployable.iter().filter_map(|&arm| {
        let row = &arms[arm.checked_sub(1)?];
        let worse = |of: &Effects| of.time_pct.is == Is::Worse;
        let worlds =
            [row.effects.iter().position(Effects::is_clean)?, row.effects.iter().position(worse)?];
        Some(Turn { arms: [arm, 0], worlds })
    });
    let first = with_baseline.max_by(|a, b| {
        let best = |turn: &Turn| arms[turn.arms[0] - 1].effects[turn.worlds[0]].time_pct.value;
        best(a).total_cmp(&best(b))
    });
    if first.is_some() {
        return first;
    }
    let time = |arm: usize, world: usize| {
        arm.checked_sub(1).map_or(0.0, |row| arms[row].effects[world].time_pct.value)
    };
    let best = |world: usize| {
        let better =
            |a: &usize, b: &usize| -> Ordering { time(*a, world).total_cmp(&time(*b, world)) };
        deployable.iter().copied().max_by(better).unwrap_or(0)
    };
    let all = || 0..worlds.len();
    all().flat_map(|one| all().map(move |other| (one, other))).find_map(|(one, other)| {
        let (x, y) = (best(one), best(other));
        let beyond = |world: usize, a: usize, b: usize| ahead(&worlds[world], a, b).low > TIME_PCT;
        // If neither beats the baseline, the baseline serves both worlds.
        let gains = |arm: usize, world: usize| arm == 0 || arms[arm - 1].effects[world].is_clean();
        let turns =
            x != y && gains(x, one) && gains(y, other) && beyond(one, x, y) && beyond(other, y, x);
        turns.then_some(Turn { arms: [x, y], worlds: [one, other] })
    })
}

/// Factor by which the number of connections must grow to settle whether an arm gains in one world without a price,
/// and another one, or the baseline, in another world; 1 where that is settled.
fn open_turn(decision: &Decision, worlds: &[World<'_>]) -> f64 {
    let arms = 0..=decision.arms.len();
    let logs: Vec<Vec<Drawn>> =
        worlds.iter().map(|world| arms.clone().map(|arm| world.log(arm)).collect()).collect();
    // Factor by which the number of connections must grow to show that an arm is ahead of another in some world, or not.
    let ahead = |a: usize, b: usize| {
        let named = |world: &usize| match a.checked_sub(1) {
            None => Some(1.0),
            Some(row) => {
                let effects = &decision.arms[row].effects[*world];
                effects.may_be_clean().then(|| effects.settle_clean())
            }
        };
        let lead = |world: usize| {
            let lead = less_time(logs[world][a].less(&logs[world][b]).interval(Z_95));
            let settled = if lead.low > TIME_PCT { 1.0 } else { clear_of(lead, TIME_PCT) };
            (lead.high > TIME_PCT).then_some(settled)
        };
        let of = |world: usize| Some(f64::max(named(&world)?, lead(world)?));
        (0..worlds.len()).filter_map(of).min_by(f64::total_cmp)
    };
    let arms = decision.deployable();
    let pairs =
        arms.iter().flat_map(|a| arms.iter().take_while(move |b| *b < a).map(move |b| (*a, *b)));
    let open = pairs.filter_map(|(a, b)| Some(f64::max(ahead(a, b)?, ahead(b, a)?)));
    open.filter(|times| *times > 1.0).min_by(f64::total_cmp).unwrap_or(1.0)
}

/// Applies the first rule that fits.
pub(super) fn apply(decision: &mut Decision, worlds: &[World<'_>]) {
    let arms: Vec<ArmRow> = decision.candidates().cloned().collect();
    if arms.is_empty() && !decision.arms.is_empty() {
        let why = "no arm beside the baseline can be deployed";
        return decision.withhold(why);
    }
    let rows = || arms.iter();
    let name = |row: &ArmRow| Some(row.arm.clone());
    let every = |holds: fn(&Effects) -> bool| rows().all(|row| row.every(holds));
    if let Some(row) = fastest(rows().filter(|row| row.is_clean())) {
        (decision.rule, decision.deploy, decision.arm) = (Rule::Clean, name(row), name(row));
        decision.sentence = decision.clean(row);
        decision.notes = faster(rows(), row);
    } else if let Some(row) = fastest(rows().filter(|row| row.is_faster())) {
        (decision.rule, decision.arm) = (Rule::Price, name(row));
        decision.settled_at = settled_at(decision.connections, row.settle());
        decision.sentence = decision.price(row);
        decision.notes = vec![decision.without_price(row)];
    } else if let Some(row) = gentlest(rows()) {
        (decision.rule, decision.deploy, decision.arm) = (Rule::Gentler, name(row), name(row));
        decision.sentence = decision.gentler(row, "Deploy");
    } else if let Some(turn) = turn(decision, worlds) {
        decision.rule = Rule::Depends;
        decision.sentence = decision.depends(&turn);
    } else if every(|of| of.time_pct.is == Is::Worse) {
        decision.rule = Rule::Keep;
        decision.deploy = Some(decision.baseline.clone());
        let others = if arms.len() < decision.arms.len() { " that can be deployed" } else { "" };
        decision.sentence =
            format!("Keep {}: every other arm{others} is slower.", decision.baseline);
    } else if every(|of| of.all().iter().all(|effect| effect.within)) {
        decision.rule = Rule::Same;
        decision.deploy = Some(decision.baseline.clone());
        decision.sentence =
            format!("No difference that anybody would notice: keep {}.", decision.baseline);
    } else {
        let open = rows().filter(|row| row.settle() > 1.0 && row.may_gain());
        let open = open.max_by(|a, b| a.worst_time().total_cmp(&b.worst_time()));
        decision.arm = open.and_then(name);
        let more = open.map_or_else(|| open_turn(decision, worlds), ArmRow::settle);
        decision.rule = Rule::NotSettled;
        decision.settled_at = settled_at(decision.connections, more);
        decision.sentence = if more > 1.0 {
            decision.not_settled()
        } else {
            format!("No arm gains under every assumption: keep {}.", decision.baseline)
        };
    }
}

impl Decision {
    /// Names the arm that gains without the cost of the recommended one.
    fn without_price(&self, named: &ArmRow) -> String {
        let others = || self.candidates().filter(|row| row.arm != named.arm);
        if let Some(row) = gentlest(others()) {
            return self.gentler(row, "Without that price:");
        }
        let open: Vec<&str> = others()
            .filter(|row| row.settle() > 1.0 && row.may_be_free())
            .map(|row| row.arm.as_str())
            .collect();
        let baseline = &self.baseline;
        if !open.is_empty() {
            let names = open.join(", ");
            return format!("It is not settled whether {names} would gain at no price.");
        }
        format!("To pay nothing, keep {baseline}.")
    }
}

/// Names the arms that save more time than the recommended one, at a cost.
fn faster<'a>(rows: impl Iterator<Item = &'a ArmRow>, than: &ArmRow) -> Vec<String> {
    let more = |row: &&ArmRow| row.is_faster() && row.worst_time() > than.worst_time() + TIME_PCT;
    let (known, open): (Vec<&ArmRow>, Vec<&ArmRow>) =
        rows.filter(more).partition(|row| row.effects.iter().any(Effects::has_worse));
    let tell = |rows: Vec<&ArmRow>, price: &str| {
        let names: Vec<&str> = rows.iter().map(|row| row.arm.as_str()).collect();
        let verb = if names.len() == 1 { "is" } else { "are" };
        (!names.is_empty()).then(|| format!("{} {verb} faster still{price}.", names.join(", ")))
    };
    let known = tell(known, ", at a price");
    let open = tell(open, "; the price is not settled");
    known.into_iter().chain(open).collect()
}

/// Number of connections needed, in two digits; `None` if the question is settled, or out of reach.
fn settled_at(connections: u64, times: f64) -> Option<u64> {
    if !(times > 1.0 && times <= MOST_MORE) {
        return None;
    }
    let wanted = connections as f64 * times;
    let unit = 10_f64.powf((wanted.log10() - 1.0).floor()).max(1.0);
    Some(((wanted / unit).ceil() * unit) as u64)
}
