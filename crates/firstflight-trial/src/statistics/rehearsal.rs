//! Trials made from rows that exist: their units are given to two arms by a coin, one arm is made
//! faster by a known amount, and the analysis is asked what it sees. How often its intervals cover
//! the truth is then counted, not believed.

use super::effect::{Effect, effect};
use super::{Sample, sequence, student, switchback};
use std::sync::atomic::{AtomicBool, Ordering};

/// Input of a rehearsal.
#[derive(Clone, Copy, Debug)]
pub struct Rehearsal {
    /// Trials.
    pub trials: u32,
    /// The effect that is put in, on the logarithmic scale.
    pub effect: f64,
    /// Rows between two looks.
    pub every: usize,
    /// tau of the sequence.
    pub tau: f64,
    /// Chance of being wrong that is allowed.
    pub alpha: f64,
    /// Units are pairs of slots, of which the coin says the order.
    pub paired: bool,
}

/// Outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rehearsed {
    /// Trials with an answer.
    pub trials: u32,
    /// Of these, how many final intervals covered the truth.
    pub covered: u32,
    /// In how many the sequence covered the truth at every look.
    pub always_covered: u32,
    /// In how many a plain interval, looked at as often, did.
    pub plain_covered: u32,
    /// Looks of all trials: from 100 effective units of either arm on.
    pub looks: u32,
}

impl Rehearsal {
    /// Rehearses on rows in the order in which they came. `coin` gives random numbers. What was
    /// found so far is the result once `stop` is set.
    pub fn run(
        &self,
        sample: Sample<'_>,
        y: &[f64],
        coin: &mut dyn FnMut() -> u64,
        stop: &AtomicBool,
    ) -> Rehearsed {
        let mut found = Rehearsed::default();
        for _ in 0..self.trials {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let sides: Vec<u16> = (0..sample.units()).map(|_| (coin() >> 63) as u16).collect();
            let side = |row: usize| {
                let second = if self.paired { u16::from(sample.arm[row] != 0) } else { 0 };
                sides[sample.unit[row] as usize] ^ second
            };
            let arm: Vec<u16> = (0..sample.unit.len()).map(side).collect();
            let of = |of: u16| if of == 1 { self.effect } else { 0.0 };
            let shifted: Vec<f64> = y.iter().zip(&arm).map(|(y, arm)| y + of(*arm)).collect();
            self.one(Sample { arm: &arm, ..sample }, &shifted, &mut found, stop);
        }
        found
    }

    fn effect(&self, sample: Sample<'_>, y: &[f64]) -> Option<Effect> {
        if self.paired { switchback::effect(sample, y, 1, 0) } else { effect(sample, y, 1, 0) }
    }

    fn one(&self, sample: Sample<'_>, y: &[f64], found: &mut Rehearsed, stop: &AtomicBool) {
        let Some(last) = self.effect(sample, y) else { return };
        let before = *found;
        found.trials += 1;
        let covers = |value: f64, half: f64| (value - self.effect).abs() <= half;
        let half = student::half_width(last.variance, last.degrees, 1.0 - self.alpha);
        found.covered += u32::from(covers(last.value, half));
        let (mut always, mut plain) = (true, true);
        let ends = (self.every..y.len()).step_by(self.every.max(1)).chain([y.len()]);
        for end in ends {
            // A trial that was not looked at to its end says nothing.
            if stop.load(Ordering::Relaxed) {
                *found = before;
                return;
            }
            let until = Sample {
                arm: &sample.arm[..end],
                unit: &sample.unit[..end],
                stratum: &sample.stratum[..end],
            };
            let Some(now) = self.effect(until, &y[..end]) else { continue };
            if now.effective_units.iter().any(|units| *units < sequence::LEAST_UNITS) {
                continue;
            }
            found.looks += 1;
            always &= covers(now.value, sequence::half_width(now.variance, self.tau, self.alpha));
            plain &=
                covers(now.value, student::half_width(now.variance, now.degrees, 1.0 - self.alpha));
        }
        found.always_covered += u32::from(always);
        found.plain_covered += u32::from(plain);
    }
}
