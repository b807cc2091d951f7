//! The result of an identification, as in `--json`.

use super::hypothesis::Kind;
use super::score::{Seen, after_loss, deviation, is_strange, log_likelihood};
use super::{Identifier, Round};
use firstflight::arm::{AvoidanceSpec, StartupSpec};
use firstflight::{Ratio, Transport};
use serde::Serialize;
use std::collections::BTreeMap;

/// Fewer round trips are not enough for an answer.
const LEAST_ROUNDS: usize = 4;
/// If fewer round trips precede the first loss, those after it are judged, too.
const LEAST_BEFORE_LOSS: usize = 3;
/// Two startups whose log-likelihoods differ by less explain the connection equally well.
const ALIKE: f64 = 1.0;
/// Maximum mean deviation per round trip of a startup that explains the connection, as a logarithm.
const FITS: f64 = 0.025;
/// Number of first rounds judged on their own, with twice that deviation: a long steady course that
/// something else explains does not hide a bad start.
const EARLY: usize = 10;
/// Startups whose predictions differ by at most this, as a logarithm, cannot be told apart.
const SAME: f64 = 0.01;
/// Minimum share of round trips in which the sender used what it was allowed to send.
const OWN_CHOICE: f64 = 0.6;

/// A startup that was tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// Name as requested.
    pub startup: String,
    /// Full arm, with the congestion avoidance that fits best.
    pub arm: String,
    /// Its initial window, bytes.
    pub initial_window: u64,
    /// Log-likelihood of the examined round trips, minus that of the best startup: 0 for the best,
    /// negative for others.
    pub log_likelihood: f64,
    /// Mean deviation of predicted from sent bytes per round trip until the first loss, or half of
    /// that of the first ten round trips if that is more, as a ratio above 1: 1.05 is 5 %.
    pub deviation: f64,
    /// In every examined round trip its prediction equals that of the best startup, within two
    /// packets or 1 %: no capture of this connection can tell them apart. If both leave the first
    /// loss to the same recovery and explain the rest equally well, only the round trips before it
    /// count.
    pub same: bool,
}

/// The identified startup.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Identity {
    /// The startup that explains the sending times best; null if none does, or if several do.
    pub startup: Option<String>,
    /// All startups that explain them equally well, best first; empty if none does.
    pub alike: Vec<String>,
    /// Share of this startup's window left after the first loss, such as 0.7; null if there was no
    /// loss, or too little data after it.
    pub cut: Option<f64>,
    /// Number of examined round trips.
    pub rounds: u64,
    /// Number of these in which the sender rested, or sent less than half of what any candidate would
    /// have sent: it had nothing to send, or is none of the candidates.
    pub idle_rounds: u64,
    /// Reason for the answer, in a sentence.
    pub why: String,
    /// All startups that were tried, best first.
    pub candidates: Vec<Candidate>,
}

struct Scored {
    startup: usize,
    kind: Kind,
    initial_window: u64,
    likelihood: f64,
    /// Of it, what the round trips add in which the first loss is repaired.
    repair: f64,
    /// Of it, what the round trips from the first loss on add.
    after_loss: f64,
    deviation: f64,
    /// Logarithm of the level after the first loss over the level that the reduction predicts.
    level: Option<f64>,
    /// Predicted bytes in each round trip.
    predicted: Vec<u64>,
    /// Number of these before the first loss.
    before_loss: usize,
}

/// Share of the window that a loss leaves; `None` for BBRv1, which has no such factor.
fn beta(kind: &Kind) -> Option<f64> {
    let Kind::Arm(arm) = kind else { return None };
    let beta = match &arm.avoidance {
        AvoidanceSpec::Reno(params) => params.beta,
        AvoidanceSpec::Cubic(params) => params.beta,
        AvoidanceSpec::Cuback(params) => params.beta,
        AvoidanceSpec::Abba(params) => params.beta,
        AvoidanceSpec::Dctcp(_) | AvoidanceSpec::Prague(_) => Ratio::new(1, 2),
    };
    Some(beta.num() as f64 / beta.den() as f64)
}

/// It cuts to what was delivered, by a recovery of its own.
fn cuts_to_delivered(kind: &Kind) -> bool {
    let Kind::Arm(arm) = kind else { return false };
    matches!(
        arm.startup,
        StartupSpec::Jump(_)
            | StartupSpec::Rapid(_)
            | StartupSpec::Plumb(_)
            | StartupSpec::Careful(_)
    )
}

/// Whether the connection's recovery repairs the first loss, not a recovery of the startup.
fn leaves_losses(kind: &Kind) -> bool {
    let Kind::Arm(arm) = kind else { return false };
    let bbr = matches!(arm.startup, StartupSpec::Bbr(_) | StartupSpec::Bbr3(_));
    !bbr && !cuts_to_delivered(kind)
}

impl Scored {
    /// Share of the window left after the first loss.
    fn cut(&self) -> Option<f64> {
        self.level.and_then(|level| Some(beta(&self.kind)? * (-level).exp()))
    }
}

/// The cycle of BBRv1 starts at a random phase, so its likelihood is the mean over the phases; the
/// best one carries it.
fn average_phases(scored: &mut [Scored]) {
    let mut cycles: BTreeMap<_, Vec<&mut Scored>> = BTreeMap::new();
    for one in scored {
        if let Kind::Bbr1 { growth, .. } = one.kind {
            let key = (one.startup, growth, one.initial_window);
            cycles.entry(key).or_default().push(one);
        }
    }
    for cycle in cycles.values_mut() {
        cycle.sort_by(|a, b| b.likelihood.total_cmp(&a.likelihood));
        let top = cycle.first().map_or(0.0, |first| first.likelihood);
        let sum: f64 = cycle.iter().map(|one| (one.likelihood - top).exp()).sum();
        let prior = -(cycle.len() as f64).ln();
        for (place, one) in cycle.iter_mut().enumerate() {
            one.likelihood += if place == 0 { prior + sum.ln() } else { prior };
        }
    }
}

impl Identifier {
    /// Returns the result at the end of the connection.
    pub fn answer(&self) -> Identity {
        let rounds = self.whole_rounds();
        let whole = rounds.len();
        let idle: Vec<bool> = rounds.iter().map(is_idle).collect();
        let idle_rounds = idle.iter().filter(|idle| **idle).count();
        let used: Vec<&Round> =
            rounds.iter().zip(&idle).filter(|(_, idle)| !**idle).map(|(round, _)| round).collect();
        let mut scored = self.scored(&used);
        scored.sort_by(|a, b| b.likelihood.total_cmp(&a.likelihood));
        // The candidate that explains the recovery least badly is no sender if even it is far off.
        let explains = |one: &&Scored| one.deviation <= FITS;
        if scored.iter().find(explains).and_then(|first| first.level).is_some_and(is_strange) {
            for one in &mut scored {
                one.likelihood -= one.after_loss;
                one.repair = 0.0;
                one.level = None;
            }
        }
        average_phases(&mut scored);
        scored.sort_by(|a, b| b.likelihood.total_cmp(&a.likelihood));
        self.say(&scored, whole, idle_rounds)
    }

    /// The round trips during which data to send was always available.
    fn whole_rounds(&self) -> &[Round] {
        let mut rounds = &self.rounds[..];
        if self.over {
            return rounds;
        }
        // The data ended during the last round trip, and the round trips before it may already be
        // its tail.
        rounds = rounds.split_last().map_or(rounds, |(_, before)| before);
        while let [.., before, last] = rounds
            && last.seen == Seen::Clean
            && last.sent * 2 < before.sent
        {
            rounds = &rounds[..rounds.len() - 1];
        }
        rounds
    }

    fn scored(&self, used: &[&Round]) -> Vec<Scored> {
        let mss = self.base.mss.max(1);
        let loss = used.iter().position(|round| round.seen == Seen::Repairing);
        let (before, after) = used.split_at(loss.unwrap_or(used.len()));
        let each = self.hypotheses.iter().enumerate().map(|(index, one)| {
            let apart = |round: &&Round| deviation(round.predicted[index], round.sent, mss);
            let of_startup: Vec<f64> = before.iter().map(apart).collect();
            let (clean, repairing): (Vec<&Round>, Vec<&Round>) =
                after.iter().copied().partition(|round| round.seen == Seen::Clean);
            let clean: Vec<f64> = clean.iter().map(apart).collect();
            let (later, level) = after_loss(&clean, cuts_to_delivered(&one.kind));
            let before: f64 = of_startup.iter().map(|one| log_likelihood(*one, Seen::Clean)).sum();
            let repair: f64 =
                repairing.iter().map(|round| log_likelihood(apart(round), Seen::Repairing)).sum();
            // After a loss the recovery matters as much as the startup.
            let shown = if of_startup.len() < LEAST_BEFORE_LOSS { &clean } else { &of_startup };
            let mean = |shown: &[f64]| {
                let sum: f64 = shown.iter().map(|one| one.abs().min(1.0)).sum();
                sum / shown.len().max(1) as f64
            };
            let early = &shown[..shown.len().min(EARLY)];
            Scored {
                startup: one.startup,
                kind: one.kind,
                initial_window: one.initial_window,
                likelihood: one.likelihood + before + repair + later,
                repair,
                after_loss: repair + later,
                deviation: mean(shown).max(mean(early) / 2.0),
                level,
                predicted: used.iter().map(|round| round.predicted[index]).collect(),
                before_loss: of_startup.len(),
            }
        });
        each.collect()
    }

    /// Whether this capture cannot tell the two apart, because they would have sent the same. If the
    /// same recovery repairs the first loss for both, they need to agree only until then, provided
    /// that they explain the rest equally well.
    fn sends_alike(&self, one: &Scored, other: &Scored) -> bool {
        let shared = one.before_loss >= LEAST_BEFORE_LOSS
            && leaves_losses(&one.kind)
            && leaves_losses(&other.kind)
            && ((one.likelihood - other.likelihood).abs() < ALIKE
                || self.differ_in_repair(one, other));
        let rounds = if shared { one.before_loss } else { one.predicted.len() };
        let mut both = one.predicted.iter().zip(&other.predicted).take(rounds);
        both.all(|(one, other)| deviation(*one, *other, self.base.mss.max(1)).abs() <= SAME)
    }

    /// Whether two startups differ only while the first loss is repaired, by the same recovery. In a
    /// capture of TCP these round trips say nothing about the startup: it shows a loss later than the
    /// sender saw it.
    fn differ_in_repair(&self, one: &Scored, other: &Scored) -> bool {
        let apart = one.likelihood - one.repair - (other.likelihood - other.repair);
        self.base.transport == Transport::Tcp
            && leaves_losses(&one.kind)
            && leaves_losses(&other.kind)
            && apart.abs() < ALIKE
    }

    /// Why no startup can be named, if none can.
    fn unanswerable(&self, best: &[&Scored], rounds: usize, idle_rounds: usize) -> Option<String> {
        let first = best.first()?;
        let label = |one: &Scored| &self.candidates[one.startup].label;
        let used = rounds - idle_rounds;
        if used < LEAST_ROUNDS {
            return Some(format!(
                "the sender used its window in only {used} round trips: too few to identify it"
            ));
        }
        if (used as f64) < OWN_CHOICE * rounds as f64 {
            return Some(format!(
                "in {idle_rounds} of {rounds} round trips the sender was idle or sent less than half of what \
                 any candidate would have sent"
            ));
        }
        if first.deviation > FITS {
            return Some(format!(
                "no candidate explains it: the nearest, {}, is off by {:.0} % in the mean round trip",
                label(first),
                (first.deviation.exp() - 1.0) * 100.0
            ));
        }
        // Two startups each explain a part that the other one does not.
        let other = best.iter().find(|one| one.likelihood > first.likelihood)?;
        Some(format!(
            "no candidate explains all of it: {} fits the round trips before the first loss, {} those after it",
            label(first),
            label(other)
        ))
    }

    fn say(&self, scored: &[Scored], rounds: usize, idle_rounds: usize) -> Identity {
        // The best hypothesis for each startup.
        let mut best: Vec<&Scored> = Vec::new();
        for one in scored {
            if !best.iter().any(|known| known.startup == one.startup) {
                best.push(one);
            }
        }
        // A startup that does not explain the course before the first loss cannot make up for it
        // with the recovery.
        best.sort_by_key(|one| one.deviation > FITS);
        let label = |one: &Scored| self.candidates[one.startup].label.clone();
        let top = best.first().map_or(0.0, |first| first.likelihood);
        let candidates = best
            .iter()
            .map(|one| Candidate {
                startup: label(one),
                arm: match one.kind {
                    Kind::Arm(arm) => arm.to_string(),
                    Kind::Bbr1 { .. } => label(one),
                },
                initial_window: one.initial_window,
                log_likelihood: round(one.likelihood - top),
                deviation: round(one.deviation.exp()),
                same: best.first().is_some_and(|first| self.sends_alike(first, one)),
            })
            .collect();
        let mut identity = Identity {
            startup: None,
            alike: Vec::new(),
            cut: None,
            rounds: rounds as u64,
            idle_rounds: idle_rounds as u64,
            why: String::new(),
            candidates,
        };
        let Some(first) = best.first() else {
            "no startup was tried".clone_into(&mut identity.why);
            return identity;
        };
        if let Some(why) = self.unanswerable(&best, rounds, idle_rounds) {
            identity.why = why;
            return identity;
        }
        identity.alike = best
            .iter()
            .filter(|one| {
                one.deviation <= FITS
                    && (top - one.likelihood < ALIKE || self.differ_in_repair(first, one))
            })
            .map(|one| label(one))
            .collect();
        identity.cut = first.cut().map(|cut| (cut * 100.0).round() / 100.0);
        if let [only] = &identity.alike[..] {
            identity.startup = Some(only.clone());
            let next = best.get(1).map_or(String::new(), |next| {
                format!(
                    "; the next candidate, {}, is e^{:.0} times less likely",
                    label(next),
                    top - next.likelihood
                )
            });
            identity.why = format!(
                "off by {:.0} % in the mean round trip{next}",
                (first.deviation.exp() - 1.0) * 100.0
            );
        } else {
            let same = identity
                .candidates
                .iter()
                .zip(&identity.alike)
                .all(|(candidate, _)| candidate.same);
            identity.why = if same {
                "they would have sent the same packets on these ACKs"
            } else {
                "they would have sent nearly the same packets on these ACKs"
            }
            .into();
        }
        identity
    }
}

/// Whether the sender had nothing to send, or no hypothesis would have sent as little.
fn is_idle(round: &Round) -> bool {
    let least = round.predicted.iter().min();
    round.seen == Seen::Clean
        && (round.rested || least.is_some_and(|least| *least / 2 > round.sent))
}

fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}
