//! Number of trials of a comparison, and statistics over them.
//!
//! On a random path one trial is not representative: with 0.1 % loss the next seed reverses the
//! order of two arms. Trials are therefore repeated in stages until the intervals of the time
//! ratios to the first arm are narrow enough. The rule depends on results and not on a clock, so
//! that every machine runs the same trials. A clock limits them only if trials run in real time,
//! where no two runs are the same anyway.

use crate::measures::record;
use crate::stats::pairs::{Mark, Pairs};
use crate::stats::resample::quantile;
use crate::stats::{Interval, Summary};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Trials of each arm after each stage. Nothing is compared after the first one, which only shows
/// the size of a trial.
const STAGES: [u32; 6] = [LARGE_TRIALS, FIRST, 50, 100, 200, 400];
/// Trials of each arm after each stage if trials run in real time.
const IN_REAL_TIME: [u32; 3] = [5, 10, 20];
/// Trials of the first stage.
const FIRST: u32 = 20;
/// Trials of the first stage if any arm's trial sends more than [`LARGE`] packets.
const LARGE_TRIALS: u32 = 5;
const LARGE: u64 = 1_000_000;
/// Packets that one command may send by default.
const MOST_PACKETS: u64 = 20_000_000;
/// Time limit for the stages of one command if trials run in real time.
pub(crate) const MOST_WALL: Duration = Duration::from_secs(120);
/// Hidden trials that show how results depend on the phase of packets and timers.
pub(crate) const SILENT: u32 = 12;
/// Intervals no wider than this, as a share of the first arm's time, are precise.
const PRECISE: f64 = 0.02;

/// Note on a single trial if more would be needed.
pub(crate) const ONE_TRIAL: &str =
    "one trial on a path with chance; the next seed may reverse the order";
/// Times of single trials that differ by less than this many percent are called the same: less than
/// one packet of a short transfer.
pub(crate) const SAME: f64 = 0.5;

/// Repeats trials in stages, within a limit on packets, or on time if trials run in real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stages {
    most_packets: u64,
    most_wall: Duration,
}

impl Default for Stages {
    fn default() -> Stages {
        Stages { most_packets: MOST_PACKETS, most_wall: MOST_WALL }
    }
}

/// Why no further stage ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stopped {
    /// Every interval is narrow enough.
    Precision,
    /// There is no larger stage.
    Most,
    /// A larger stage would send too many packets, or take too long if trials run in real time.
    Work,
}

impl Stopped {
    /// Name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Stopped::Precision => "precision",
            Stopped::Most => "most",
            Stopped::Work => "work",
        }
    }

    /// The reason, worded to follow the number of trials.
    pub fn words(self) -> &'static str {
        match self {
            Stopped::Precision => "every interval is narrow enough",
            Stopped::Most => "use `--repeat` for more",
            Stopped::Work => "more would take long: `--repeat` runs them",
        }
    }
}

/// Trials of each arm at the end of each stage.
pub(crate) fn ends(in_real_time: bool) -> &'static [u32] {
    if in_real_time { &IN_REAL_TIME } else { &STAGES }
}

impl Stages {
    /// The stages for each of `comparisons` comparisons in one command.
    #[must_use]
    pub fn shared_by(self, comparisons: usize) -> Stages {
        let comparisons = u32::try_from(comparisons.max(1)).unwrap_or(u32::MAX);
        Stages {
            most_packets: self.most_packets / u64::from(comparisons),
            most_wall: self.most_wall / comparisons,
        }
    }

    /// Whether hidden trials of this many packets each are affordable.
    pub(crate) fn affords_silent(self, packets: u64) -> bool {
        packets.saturating_mul(u64::from(SILENT)) <= self.most_packets
    }

    /// Whether and why the stage that ends with these times, a list for each arm, is the last.
    /// `first` is the number of packets sent up to the end of the first stage; `wall` is the
    /// duration of all trials, if they run in real time.
    pub(crate) fn after(
        self,
        wall: Option<Duration>,
        times: &[Vec<f64>],
        first: u64,
    ) -> Option<Stopped> {
        let in_real_time = wall.is_some();
        let trials = times.first().map_or(0, Vec::len) as u32;
        let each = first / u64::from(trials.clamp(1, FIRST));
        let each_wall = wall.unwrap_or_default() / trials.max(1);
        if trials == LARGE_TRIALS && !in_real_time {
            return (each > LARGE).then_some(Stopped::Work);
        }
        if precise(times) {
            return Some(Stopped::Precision);
        }
        match ends(in_real_time).iter().find(|end| **end > trials) {
            None => Some(Stopped::Most),
            Some(next)
                if each.saturating_mul(u64::from(*next)) > self.most_packets
                    || each_wall.saturating_mul(*next) > self.most_wall =>
            {
                Some(Stopped::Work)
            }
            Some(_) => None,
        }
    }
}

/// Number of trials whose packets are counted.
pub(crate) fn counted(trials: usize) -> usize {
    trials.min(FIRST as usize)
}

/// Whether every interval is narrower than 2 %, or than a quarter of the effect.
fn precise(times: &[Vec<f64>]) -> bool {
    ratios(times)
        .iter()
        .all(|ratio| ratio.high - ratio.low <= PRECISE.max((ratio.value - 1.0).abs() / 4.0))
}

/// The time of each arm except the first over that of the first, seed by seed: geometric means with
/// simultaneous intervals.
pub fn ratios(times: &[Vec<f64>]) -> Vec<Interval> {
    let logs = logs(times);
    let pairs = Pairs::of(&logs);
    (1..times.len()).map(|arm| pairs.difference(arm, 0).map(libm::exp)).collect()
}

/// Logarithms of times.
pub(crate) fn logs(times: &[Vec<f64>]) -> Vec<Vec<f64>> {
    times.iter().map(|arm| arm.iter().map(|time| libm::log(time.max(1e-6))).collect()).collect()
}

/// The times of an arm in all of its trials.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    /// Name of the arm.
    pub(crate) arm: String,
    /// Whether it is a bound for the other arms and does not compete.
    pub(crate) reference: bool,
    /// Completion times, ms; the limit for an unfinished trial.
    pub(crate) ms: Vec<f64>,
    /// Trials that did not finish within the limit.
    pub(crate) unfinished: usize,
    /// Loss of each trial, if known.
    pub(crate) loss: Vec<Option<f64>>,
}

/// Statistics of the arms' times over all trials.
#[derive(Clone, Debug)]
pub struct Repeats {
    arms: Vec<Times>,
    /// Logarithms of the times.
    logs: Vec<Vec<f64>>,
    marks: Vec<Mark>,
    /// The time used for an unfinished trial.
    pub(crate) limit_ms: f64,
}

impl Repeats {
    pub(crate) fn of(arms: Vec<Times>, limit_ms: f64) -> Repeats {
        let times: Vec<Vec<f64>> = arms.iter().map(|arm| arm.ms.clone()).collect();
        let mut repeats = Repeats { logs: logs(&times), marks: Vec::new(), arms, limit_ms };
        repeats.marks = Pairs::of(&repeats.logs).marks(&repeats.competing());
        repeats
    }

    /// The names of the arms.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.arms.iter().map(|arm| arm.arm.as_str()).collect()
    }

    /// Number of trials of each arm.
    pub(crate) fn trials(&self) -> usize {
        self.arms.first().map_or(0, |arm| arm.ms.len())
    }

    /// Trials of an arm that did not finish within the limit.
    pub(crate) fn unfinished(&self, arm: usize) -> usize {
        self.arms[arm].unfinished
    }

    /// The arms that may be marked as best: those that finished every trial, without reference arms
    /// unless all arms are references.
    pub(crate) fn competing(&self) -> Vec<bool> {
        let finished = |arm: usize| self.unfinished(arm) == 0 && self.is_candidate(arm);
        (0..self.arms.len()).map(finished).collect()
    }

    /// True if the arm is ranked when it finishes: it is not a reference, or all arms are references.
    pub(crate) fn is_candidate(&self, arm: usize) -> bool {
        !self.arms[arm].reference || self.arms.iter().all(|arm| arm.reference)
    }

    /// 95th percentile of an arm's completion times, and the number of unfinished trials beyond it.
    pub(crate) fn p95(&self, arm: usize) -> (f64, usize) {
        let p95 = quantile(self.arms[arm].ms.clone(), 0.95);
        (p95, if p95 < self.limit_ms { 0 } else { self.arms[arm].unfinished })
    }

    /// The time of an arm over that of the first arm; `None` for the first arm and with a single
    /// trial.
    pub fn ratio(&self, arm: usize) -> Option<Interval> {
        (arm > 0 && self.trials() > 1).then(|| self.between(arm, 0))
    }

    /// Rank of an arm's time among the others'.
    pub fn mark(&self, arm: usize) -> Mark {
        if self.trials() > 1 { self.marks[arm] } else { Mark::None }
    }

    /// The time of an arm over that of another arm.
    pub(crate) fn between(&self, arm: usize, other: usize) -> Interval {
        Pairs::of(&self.logs).difference(arm, other).map(libm::exp)
    }

    /// The rows of the summary.
    pub fn summary(&self) -> Vec<SummaryRow> {
        (0..self.arms.len()).map(|arm| SummaryRow::of((self, arm))).collect()
    }

    /// The median time of an arm.
    pub(crate) fn median(&self, arm: usize) -> Option<f64> {
        Summary::of(self.arms[arm].ms.iter().copied()).map(|all| all.median)
    }

    /// The mean loss of an arm, if it is known for every trial.
    pub(crate) fn loss(&self, arm: usize) -> Option<f64> {
        let known = self.losses(arm)?;
        Some(known.iter().sum::<f64>() / known.len() as f64)
    }

    /// The loss of an arm's trials, if it is known for every trial.
    pub(crate) fn losses(&self, arm: usize) -> Option<Vec<f64>> {
        let known: Option<Vec<f64>> = self.arms[arm].loss.iter().copied().collect();
        known.filter(|known| !known.is_empty())
    }
}

record! {
    /// One arm over all its trials, as in `--json`.
    SummaryRow of ((repeats, arm) = (&Repeats, usize));

    /// name of the arm as requested
    arm: String, "", None = repeats.arms[arm].arm.clone();
    /// trials, each with the next seed
    trials: u32, "", None = repeats.arms[arm].ms.len() as u32;
    /// trials that did not finish within the limit; their time is the limit
    unfinished: u32, "", Low = repeats.arms[arm].unfinished as u32;
    /// median completion time over the trials
    ttlb_ms: Option<f64>, "ms", Low = repeats.median(arm);
    /// 95th percentile of the completion time over the trials
    ttlb_p95_ms: f64, "ms", Low = repeats.p95(arm).0;
    /// completion time over that of the first arm on the same seed: geometric mean over the seeds with its 95 % interval, which holds simultaneously
    /// for all pairs of arms; null for the first arm
    time_ratio: Option<Interval>, "", Low = repeats.ratio(arm);
    /// `best` if its time is shorter than that of every other arm beyond the interval, `near` if it cannot be distinguished from the best; null
    /// otherwise, for an arm with unfinished trials, and for the oracle
    mark: Option<&'static str>, "", None = match repeats.mark(arm) {
        Mark::Best => Some("best"),
        Mark::Near => Some("near"),
        Mark::None => None,
    };
    /// mean over the trials of packets declared lost and truly dropped, over all packets sent
    loss_ratio: Option<f64>, "", Low = repeats.loss(arm);
}

#[cfg(test)]
mod tests {
    use super::{Repeats, STAGES, Stages, Stopped, Times, ratios};
    use crate::stats::pairs::Mark;
    use firstflight_path::random::Sequence;
    use std::time::Duration;

    fn constant(arms: usize, trials: usize) -> Vec<Vec<f64>> {
        (0..arms).map(|arm| vec![100.0 + arm as f64; trials]).collect()
    }

    /// Two arms whose ratio alternates around one by this share.
    fn noisy(trials: usize, by: f64) -> Vec<Vec<f64>> {
        let up = |seed: usize| if seed.is_multiple_of(2) { 1.0 + by } else { 1.0 - by };
        vec![vec![100.0; trials], (0..trials).map(|seed| 100.0 * up(seed)).collect()]
    }

    #[test]
    fn a_stage_is_the_last_for_precision_for_its_size_or_for_the_work() {
        let stages = Stages::default();
        let after = |times: &[Vec<f64>], each: u64| {
            let first = each * times[0].len().min(20) as u64;
            stages.after(None, times, first)
        };
        assert_eq!(after(&constant(3, 5), 7_000), None, "five trials compare nothing");
        assert_eq!(after(&constant(3, 5), 1_000_001), Some(Stopped::Work));
        assert_eq!(after(&constant(3, 20), 7_000), Some(Stopped::Precision));
        assert_eq!(after(&noisy(20, 0.5), 7_000), None);
        assert_eq!(after(&noisy(20, 0.5), 400_001), Some(Stopped::Work), "50 would be too many");
        assert_eq!(after(&noisy(200, 0.5), 50_001), Some(Stopped::Work), "400 would be too many");
        assert_eq!(after(&noisy(400, 0.5), 7_000), Some(Stopped::Most));
        assert_eq!(after(&constant(1, 20), 7_000), Some(Stopped::Precision), "one arm");
        assert_eq!(
            stages.shared_by(10).after(None, &noisy(20, 0.5), 20 * 40_001),
            Some(Stopped::Work)
        );
        let real = |times: &[Vec<f64>], seconds: u64| {
            stages.after(Some(Duration::from_secs(seconds)), times, 0)
        };
        assert_eq!(real(&constant(2, 5), 500), Some(Stopped::Precision));
        assert_eq!(real(&noisy(5, 0.5), 60), None, "ten take two minutes");
        assert_eq!(real(&noisy(5, 0.5), 61), Some(Stopped::Work), "ten take more");
        assert_eq!(real(&noisy(10, 0.5), 61), Some(Stopped::Work), "20 take more");
        assert_eq!(real(&noisy(20, 0.5), 1), Some(Stopped::Most));
        let shared = stages.shared_by(10).after(Some(Duration::from_secs(7)), &noisy(5, 0.5), 0);
        assert_eq!(shared, Some(Stopped::Work), "ten points of a sweep share the time");
    }

    #[test]
    fn a_large_effect_may_have_a_wider_interval() {
        let half = |by: f64| {
            let mut times = noisy(50, by);
            times[1].iter_mut().for_each(|time| *time /= 2.0);
            times
        };
        let wide = ratios(&half(0.15))[0];
        let width = wide.high - wide.low;
        assert!(width > 0.02 && width < 0.125, "{wide:?}");
        assert_eq!(Stages::default().after(None, &half(0.15), 0), Some(Stopped::Precision));
        assert_eq!(Stages::default().after(None, &noisy(50, 0.15), 0), None);
    }

    /// Draws between 0 and 1.
    fn uniform(draws: &mut Sequence) -> f64 {
        draws.between(1, 1 << 40) as f64 / (1_u64 << 40) as f64
    }

    /// The time of an arm on a seed: a common effect of the path, individual noise, and
    /// occasionally a timeout that doubles it.
    fn drawn(draws: &mut Sequence, path: f64, mean: f64) -> f64 {
        let (a, b) = (uniform(draws), uniform(draws));
        let normal = (-2.0 * a.ln()).sqrt() * (2.0 * std::f64::consts::PI * b).cos();
        let timeout = if uniform(draws) < 0.03 { 0.7 } else { 0.0 };
        (path + mean + 0.06 * normal + timeout).exp()
    }

    /// Arms with these mean logarithms, repeated as in a comparison.
    fn repeated(seed: u64, means: &[f64]) -> (Repeats, Stopped) {
        let draws = &mut Sequence::new(seed);
        let mut times = vec![Vec::new(); means.len()];
        for end in STAGES {
            while times[0].len() < end as usize {
                let path = 7.0 + 0.3 * uniform(draws);
                for (arm, mean) in times.iter_mut().zip(means) {
                    arm.push(drawn(draws, path, *mean));
                }
            }
            let Some(stopped) = Stages::default().after(None, &times, 20 * 7_000) else {
                continue;
            };
            let arm = |(index, ms): (usize, Vec<f64>)| Times {
                arm: index.to_string(),
                reference: false,
                unfinished: 0,
                loss: vec![None; ms.len()],
                ms,
            };
            let arms = times.into_iter().enumerate().map(arm).collect();
            return (Repeats::of(arms, 600_000.0), stopped);
        }
        unreachable!("the last stage ends it");
    }

    /// With six identical arms, at most 5 % of the answers mark an arm as best or distinguish it
    /// from the best.
    #[test]
    fn arms_that_are_alike_are_called_so() {
        const ANSWERS: u64 = 1_000;
        let wrong = |seed: &u64| {
            let (repeats, _) = repeated(*seed, &[0.0; 6]);
            let covers =
                (1..6).all(|arm| repeats.ratio(arm).is_some_and(|ratio| ratio.covers(1.0)));
            !covers || (0..6).any(|arm| repeats.mark(arm) != Mark::Near)
        };
        let wrong = (1..=ANSWERS).filter(wrong).count();
        assert!(wrong as u64 * 20 <= ANSWERS, "{wrong} of {ANSWERS} answers err");
    }

    /// An arm that is 12 % faster than five others is marked as best; one that is 3 % faster never
    /// loses the mark to another.
    #[test]
    fn planted_effects_are_found() {
        const ANSWERS: u64 = 300;
        let starred = |seed: u64, means: &[f64]| {
            let (repeats, _) = repeated(seed, means);
            (0..means.len()).find(|arm| repeats.mark(*arm) == Mark::Best)
        };
        let clear = [0.0, 0.0, 0.05, -0.12, 0.0, 0.1];
        let found = (1..=ANSWERS).filter(|seed| starred(*seed, &clear) == Some(3)).count() as u64;
        assert!(found * 20 >= ANSWERS * 19, "the fast arm is found in {found} of {ANSWERS}");
        let close = [0.0, -0.03, 0.0, 0.02];
        let wrong = |seed: &u64| starred(*seed, &close).is_some_and(|arm| arm != 1);
        let wrong = (1..=ANSWERS).filter(wrong).count() as u64;
        assert!(wrong * 100 <= ANSWERS, "another arm gets the star in {wrong} of {ANSWERS}");
        let (repeats, stopped) = repeated(1, &clear);
        assert_eq!((stopped, repeats.trials()), (Stopped::Most, 400), "no interval is below 2 %");
    }

    /// Unfinished trials count with the limit and keep an arm from being marked as best.
    #[test]
    fn an_arm_that_does_not_always_finish_gets_no_star() {
        let arm = |ms: f64, unfinished: usize| Times {
            arm: "a".into(),
            reference: false,
            ms: (0..20).map(|seed| if seed < unfinished { 600_000.0 } else { ms }).collect(),
            unfinished,
            loss: vec![Some(0.0); 20],
        };
        let repeats = Repeats::of(vec![arm(900.0, 0), arm(500.0, 1), arm(1000.0, 0)], 600_000.0);
        let marks = [0, 1, 2].map(|arm| repeats.mark(arm));
        assert_eq!(marks, [Mark::Best, Mark::None, Mark::None]);
        let row = &repeats.summary()[1];
        assert_eq!((row.unfinished, row.ttlb_ms, row.ttlb_p95_ms), (1, Some(500.0), 500.0));
        assert!(row.time_ratio.is_some_and(|ratio| ratio.high > 0.8), "{row:?}");
    }
}
