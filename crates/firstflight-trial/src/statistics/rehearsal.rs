//! Trials simulated from existing rows: the units are assigned to two arms at random, one arm is
//! made faster by a known amount, and the analysis is run. This measures how often its intervals
//! cover the truth.

use super::effect::{Effect, effect};
use super::{Sample, sequence, student, switchback};
use std::sync::atomic::{AtomicBool, Ordering};

/// Input of a rehearsal.
#[derive(Clone, Copy, Debug)]
pub struct Rehearsal {
    /// Number of trials.
    pub trials: u32,
    /// The effect added to one arm, on the logarithmic scale.
    pub effect: f64,
    /// Rows between two looks.
    pub every: usize,
    /// tau of the sequence.
    pub tau: f64,
    /// Allowed error probability.
    pub alpha: f64,
    /// Whether units are pairs of slots, whose order is random.
    pub paired: bool,
}

/// Outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rehearsed {
    /// Trials with a result.
    pub trials: u32,
    /// Trials whose final interval covered the truth.
    pub covered: u32,
    /// Trials in which the sequence covered the truth at every look.
    pub always_covered: u32,
    /// Trials in which a plain interval covered the truth at every look.
    pub plain_covered: u32,
    /// Looks taken in all trials, counted once each arm has 100 effective units.
    pub looks: u32,
}

impl Rehearsal {
    /// Rehearses on rows in order of arrival. `coin` returns random numbers. Once `stop` is set,
    /// the result covers only the trials finished by then.
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
            // A trial that is not followed to its end does not count.
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
