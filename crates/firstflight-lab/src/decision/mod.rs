//! The conclusion of a test: which arm to deploy and at what cost, or that the test does not settle
//! it.
//!
//! A test runs in several worlds: the population under the central assumptions, and the corners of
//! the unmeasured assumptions. In each, every arm has effects relative to the baseline
//! ([`Effects`]), and margins define which effects count. The first of seven rules that applies
//! gives the sentence ([`Rule`]). All printed text is made from the [`Decision`].

mod answer;
mod check;
mod effect;
mod limits;
mod rule;
mod sums;
mod words;

pub use answer::{ArmRow, Corner, Decision, Rule, WorldRow};
pub use check::Check;
pub use effect::{Effect, Effects, Is, LOSS_POINTS, TIME_PCT};
pub use limits::{LEAST, Limits};
pub use sums::{Sample, Sums};

use effect::World;

/// Input of a decision.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The arms, the baseline first.
    pub arms: &'a [String],
    /// The names of the assumptions.
    pub assumptions: &'a [String],
    /// The worlds in addition to the central assumptions.
    pub corners: &'a [Corner],
    /// The cost that the user accepts.
    pub limits: Limits,
}

/// The sums of a test.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// All connections, under the central assumptions.
    pub assumed: &'a Sums,
    /// The connections that also ran in the other worlds, under the central assumptions.
    pub part: &'a Sums,
    /// The same connections in every other world.
    pub corners: &'a [Sums],
    /// The baseline under two other seeds.
    pub twice: &'a Sums,
    /// Number of reruns of the baseline with the same seed, and number of those that differed.
    pub repeated: [u64; 2],
}

/// Returns the decision on a finished test.
pub fn decide(question: &Question<'_>, of: &Evidence<'_>) -> Decision {
    let assumed = WorldRow {
        corner: Corner { words: "as assumed".into(), ends: Vec::new(), knobs: String::new() },
        connections: of.assumed.flows(),
    };
    let rows = question.corners.iter().zip(of.corners);
    let rows =
        rows.map(|(corner, sums)| WorldRow { corner: corner.clone(), connections: sums.flows() });
    let worlds: Vec<World<'_>> = std::iter::once(World::assumed(of.assumed))
        .chain(of.corners.iter().map(|end| World::end(of.assumed, of.part, end)))
        .collect();
    let enough = worlds.iter().all(|world| world.flows() >= LEAST);
    let arms = question.arms.iter().enumerate().skip(1).filter(|_| enough);
    let arms = arms.map(|(index, arm)| ArmRow {
        arm: arm.clone(),
        effects: worlds.iter().map(|world| world.effects(index, &question.limits)).collect(),
    });
    let mut decision = Decision {
        sentence: String::new(),
        rule: Rule::NotSettled,
        deploy: None,
        arm: None,
        baseline: question.arms.first().cloned().unwrap_or_default(),
        notes: Vec::new(),
        connections: of.assumed.flows(),
        settled_at: None,
        limits: question.limits,
        assumptions: question.assumptions.to_vec(),
        worlds: std::iter::once(assumed).chain(rows).collect(),
        arms: arms.collect(),
        check: Check::of(of.twice, of.repeated),
    };
    if let Some(why) = decision.check.fault(decision.connections) {
        decision.withhold(&why);
    } else if !enough {
        let least = worlds.iter().map(World::flows).min().unwrap_or(0);
        decision.withhold(&format!(
            "too few simulated connections, {least} for a set of assumptions where {LEAST} are needed; raise `--flows`"
        ));
    } else if answer::is_reference(&decision.baseline) {
        let why = format!(
            "{} knows what no sender can know; it cannot be the baseline",
            decision.baseline
        );
        decision.withhold(&why);
    } else {
        rule::apply(&mut decision, &worlds);
    }
    decision
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::bootstrap::weights;
    use firstflight_path::random::mix;

    /// A decision on 4 000 connections where the second arm takes 70 % of the first one's time.
    fn of(names: [&str; 2]) -> Decision {
        let [mut all, mut twice] = [2, 2].map(Sums::new);
        for index in 0..4_000 {
            let ns = 100_000_000 + mix(index) % 50_000_000;
            let sample = |ttlb_ns| Sample { ttlb_ns, loss_ppb: 1_000_000, queue_p99_us: 1_000 };
            let weights = weights(1, index);
            all.add(index, [sample(ns), sample(ns * 7 / 10)].into_iter(), &weights);
            twice.add(index, [sample(ns), sample(ns)].into_iter(), &weights);
        }
        let limits = Limits::default();
        let names = names.map(str::to_owned);
        let question = Question { arms: &names, assumptions: &[], corners: &[], limits };
        let (assumed, twice) = (&all, &twice);
        let evidence = Evidence { assumed, part: assumed, corners: &[], twice, repeated: [0, 0] };
        decide(&question, &evidence)
    }

    #[test]
    fn an_arm_that_knows_the_path_is_never_recommended() {
        assert_eq!(of(["slowstart", "rapid"]).deploy.as_deref(), Some("rapid"));
        for names in [["slowstart", "oracle-rate"], ["slowstart", "oracle"], ["oracle", "rapid"]] {
            let decision = of(names);
            assert_eq!((decision.rule, decision.deploy), (Rule::None, None), "{names:?}");
            assert!(decision.arms[0].effects[0].time_pct.value > 25.0, "it still has effects");
        }
    }
}
