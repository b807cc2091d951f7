//! From an A/B test on recorded connections to an answer: which startup to deploy on these paths.
//!
//! [`Analysis::decision`] says what the test comes to, with intervals that hold for the simulated
//! connections: there are as many of them as anybody wants. The paths they were drawn from are
//! few. So an answer has to pass one more gate: there are [`LEAST_CONNECTIONS`] recorded ones or
//! more, and the effect stands when it is averaged over them, with the interval that their
//! differences give (Student). One rule goes beyond the test's: where nothing can be said about
//! time, an arm that loses less at both ends of every assumption and is nowhere slower by what
//! counts is better than the baseline all the same ([`Verdict::Gentler`]). Each group of the
//! population is one recorded connection, or those most alike.

use crate::ab::LEAST_FLOWS;
use crate::ab::analysis::{Entry, Part};
use crate::ab::sensitivity::{SMALLEST_LOSS_POINTS, SMALLEST_TIME_PCT};
use crate::ab::{Analysis, Decision};
use crate::stats::{Interval, student};
use crate::table::time;
pub use firstflight_log::FileRow;
use firstflight_path::Error;
use serde::Serialize;

/// With fewer recorded connections nothing is recommended: how far the next one differs from them
/// is not known.
pub const LEAST_CONNECTIONS: usize = 5;

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// In a sentence.
    pub finding: String,
    /// The arm to deploy, the baseline included; null where nothing is recommended, or a
    /// trade-off has to be agreed on.
    pub deploy: Option<String>,
    /// The fastest arm and the one that loses least, where that is a choice.
    pub trade_off: Option<[String; 2]>,
    /// Recorded connections behind it.
    pub connections: usize,
    /// What the arms do, averaged over the recorded connections.
    pub effects: Vec<Effect>,
    /// What a terminal shows.
    pub lines: Vec<Line>,
}

/// A line of the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// What it is about.
    pub about: &'static str,
    /// What it says.
    pub text: String,
}

/// An arm beside the baseline, averaged over recorded connections, each counted by its share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// The arm.
    pub arm: String,
    /// Connections, or groups of those most alike, that the interval rests on.
    pub groups: usize,
    /// Reduction of the mean completion time, percent; the ends are null with fewer than two
    /// groups.
    pub reduction_pct: Interval,
    /// Mean loss less the baseline's, percentage points.
    pub loss_points: Interval,
}

/// What was read, for the page.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Evidence {
    /// The files.
    pub files: Vec<FileRow>,
    /// Their connections.
    pub paths: Vec<PathRow>,
    /// What was assumed: what, and why.
    pub assumed: Vec<(String, String)>,
    /// Connections that show no rate and no round trip.
    pub left_out: u64,
    /// What was left out since its capture leaves a doubt, in a sentence.
    pub doubts: Option<String>,
}

/// A connection: the path as its ACKs show it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathRow {
    /// What it is called.
    pub name: String,
    /// What wrote the trace.
    pub origin: String,
    /// `quic` or `tcp`.
    pub transport: &'static str,
    /// Delivered, bytes.
    pub bytes: u64,
    /// Smallest RTT, ms.
    pub rtt_ms: Option<f64>,
    /// Best sustained rate with headers, Mbit/s.
    pub rate_mbps: Option<f64>,
    /// The path may carry more.
    pub rate_is_lower_bound: bool,
    /// What the queue adds when it is full, ms.
    pub buffer_ms: Option<f64>,
    /// Declared lost, of what was sent, percent.
    pub loss_pct: Option<f64>,
    /// What else the ACKs say, in sentences.
    pub findings: Vec<String>,
    /// How each startup would have left on the recorded ACKs: arm, verdict, window in BDP.
    pub exits: Vec<(String, &'static str, Option<f64>)>,
}

/// Everything, for programs; `R` is the replay of the captures.
#[derive(Clone, Debug, Serialize)]
pub struct Answer<'a, R> {
    firstflight: &'static str,
    advice: &'a Advice,
    assumed: &'a [(String, String)],
    left_out: u64,
    doubts: Option<&'a str>,
    replay: &'a R,
    ab: &'a Analysis,
}

impl<'a, R: Serialize> Answer<'a, R> {
    /// Of these parts.
    pub fn new(
        advice: &'a Advice,
        evidence: &'a Evidence,
        replay: &'a R,
        ab: &'a Analysis,
    ) -> Answer<'a, R> {
        let (assumed, left_out) = (evidence.assumed.as_slice(), evidence.left_out);
        let doubts = evidence.doubts.as_deref();
        let firstflight = env!("CARGO_PKG_VERSION");
        Answer { firstflight, advice, assumed, left_out, doubts, replay, ab }
    }

    /// As JSON, one object, the same bytes for the same captures.
    ///
    /// # Errors
    /// One line if the replay is nothing that JSON can hold.
    pub fn to_json(&self) -> Result<String, Error> {
        let text =
            serde_json::to_string_pretty(self).map_err(|error| Error::new(error.to_string()))?;
        Ok(text + "\n")
    }
}

impl Effect {
    fn of(analysis: &Analysis, arm: &str) -> Effect {
        let groups = || analysis.of(Part::Group).filter(|entry| entry.arm == arm);
        let over = |read: &dyn Fn(&crate::ab::analysis::Difference) -> f64| {
            let values: Vec<(f64, f64)> = groups()
                .filter_map(|entry| {
                    Some((entry.flows as f64, read(entry.versus_baseline.as_ref()?)))
                })
                .collect();
            student(&values)
        };
        Effect {
            arm: arm.to_owned(),
            groups: groups().count(),
            reduction_pct: over(&|versus| versus.reduction_pct.mean.value),
            loss_points: over(&|versus| versus.loss_points.value),
        }
    }

    /// Beyond what differs from connection to connection, and beyond what counts.
    fn stands(&self) -> bool {
        self.reduction_pct.low > 0.0 && self.reduction_pct.value >= SMALLEST_TIME_PCT
    }

    /// `21.3 % less time than with slowstart [18.2, 24.1], 0.31 points more loss [0.20, 0.42]`.
    fn sentence(&self, baseline: &str) -> String {
        let ends = |of: Interval, digits: usize, turned: bool| {
            let Interval { low, high, .. } = if turned { of.map(|x| -x) } else { of };
            if low.is_finite() {
                format!(" [{low:.digits$}, {high:.digits$}]")
            } else {
                String::new()
            }
        };
        let (time, loss) = (self.reduction_pct, self.loss_points);
        let (slower, gentler) = (time.value < 0.0, loss.value < 0.0);
        format!(
            "{:.1} % {} time than with {baseline}{}, {:.2} points {} loss{}",
            time.value.abs(),
            if slower { "more" } else { "less" },
            ends(time, 1, slower),
            loss.value.abs(),
            if gentler { "less" } else { "more" },
            ends(loss, 2, gentler),
        )
    }
}

/// What the baseline does on these paths.
fn today(baseline: &Entry) -> String {
    format!(
        "{}, simulated on them, takes {} at the median, {} at p95 ({:.2} times the bound), loses \
         {:.2} % of its packets and lets them wait up to {} (p99)",
        baseline.arm,
        time(baseline.ttlb_ms.p50.value),
        time(baseline.ttlb_ms.p95.value),
        baseline.vs_ideal,
        baseline.loss_pct.mean,
        time(baseline.queue_p99_ms),
    )
}

/// Why the recorded connections are no ground for a recommendation.
fn too_few(connections: usize) -> Option<String> {
    match connections {
        0 | 1 => Some(format!(
            "one connection shows one path, and not how others differ from it; \
             {LEAST_CONNECTIONS} or more are needed"
        )),
        few if few < LEAST_CONNECTIONS => Some(format!(
            "{few} connections are too few to know how the next ones differ; {LEAST_CONNECTIONS} \
             or more are needed"
        )),
        _ => None,
    }
}

/// What the answer comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// What the test decided, which the recorded connections bear.
    As(Decision),
    /// This arm loses less, however the assumptions lie, and is not slower. Nothing else is sure,
    /// for this reason.
    Gentler(String, String),
}

/// The arm that loses least of those that are safe to take instead of the baseline: not slower by
/// what counts, and less lost, over the recorded connections and at both ends of every assumption.
fn gentler<'a>(analysis: &Analysis, effects: &'a [Effect]) -> Option<&'a Effect> {
    let safe = |effect: &&Effect| {
        let ends = analysis.sensitivity.iter().filter_map(|one| one.effect(&effect.arm));
        let held = ends.clone().all(|end| {
            end.reduction_pct.range[0] > -SMALLEST_TIME_PCT
                && end.loss_points.range[1] <= -SMALLEST_LOSS_POINTS
        });
        held && ends.count() == analysis.experiment.assumptions.len()
            && effect.reduction_pct.low > -SMALLEST_TIME_PCT
            && effect.loss_points.high <= -SMALLEST_LOSS_POINTS
    };
    let sound = analysis.complete
        && analysis.flows >= LEAST_FLOWS
        && analysis.aa.differed == 0
        && analysis.aa.covers_zero;
    let least = |a: &&Effect, b: &&Effect| a.loss_points.value.total_cmp(&b.loss_points.value);
    if sound { effects.iter().filter(safe).min_by(least) } else { None }
}

fn verdict(analysis: &Analysis, effects: &[Effect], connections: usize) -> Verdict {
    let decision = decide(analysis, effects, connections);
    match (&decision, gentler(analysis, effects)) {
        (Decision::Nothing(why), Some(effect)) if connections >= LEAST_CONNECTIONS => {
            Verdict::Gentler(effect.arm.clone(), why.clone())
        }
        _ => Verdict::As(decision),
    }
}

/// The decision of the test, if the recorded connections bear it.
fn decide(analysis: &Analysis, effects: &[Effect], connections: usize) -> Decision {
    if let Some(reason) = too_few(connections) {
        return Decision::Nothing(reason);
    }
    let decision = analysis.decision();
    let (Decision::Deploy(arm) | Decision::Trade { fast: arm, .. }) = &decision else {
        return decision;
    };
    match effects.iter().find(|effect| effect.arm == *arm) {
        Some(effect) if !effect.stands() => {
            let Interval { value, low, high } = effect.reduction_pct;
            Decision::Nothing(format!(
                "what {arm} gains differs too much from connection to connection: {value:.1} % on \
                 average, 95 % interval [{low:.1}, {high:.1}]"
            ))
        }
        _ => decision,
    }
}

/// The arm that gains most of those that do anything else than the baseline, recommended or not.
fn best(effects: &[Effect]) -> Option<&Effect> {
    let moves = |effect: &&Effect| {
        effect.reduction_pct.value.abs() >= 0.05 || effect.loss_points.value.abs() >= 0.005
    };
    let order = |a: &&Effect, b: &&Effect| a.reduction_pct.value.total_cmp(&b.reduction_pct.value);
    effects.iter().filter(moves).max_by(order)
}

/// What an answer hangs on.
fn hangs_on(analysis: &Analysis, effect: Option<&Effect>, assumed: &[(String, String)]) -> String {
    let Some(effect) = effect else {
        return "nothing that was tried: the arms do what the baseline does".to_owned();
    };
    let ranges: Vec<String> = analysis
        .sensitivity
        .iter()
        .filter_map(|one| {
            let [low, high] = one.effect(&effect.arm)?.reduction_pct.range;
            let points = one.effect(&effect.arm)?.loss_points.range;
            let why = assumed.iter().find(|(value, _)| *value == one.value);
            let why = why.map_or(String::new(), |(_, text)| format!(" ({text})"));
            Some(format!(
                "{}{why}: {low:.1} to {high:.1} % less time, {:+.2} to {:+.2} points of loss with \
                 {}",
                one.value, points[0], points[1], effect.arm
            ))
        })
        .collect();
    if ranges.is_empty() {
        "too few connections ran at the ends of what was assumed".to_owned()
    } else {
        ranges.join("; ")
    }
}

/// The answer to which startup to deploy on the paths that were recorded. `paths` says in a phrase
/// what they are like; the population of the test has a group for each of them.
pub fn advise(analysis: &Analysis, connections: usize, paths: &str, evidence: &Evidence) -> Advice {
    let experiment = &analysis.experiment;
    let baseline = experiment.arms.first().map_or("", String::as_str);
    let effects: Vec<Effect> =
        experiment.arms.iter().skip(1).map(|arm| Effect::of(analysis, arm)).collect();
    let effect = |arm: &str| effects.iter().find(|effect| effect.arm == arm);
    let verdict = verdict(analysis, &effects, connections);
    let told = |arm: &str| effect(arm).map_or(String::new(), |effect| effect.sentence(baseline));
    let (finding, deploy, trade_off, main) = match verdict {
        Verdict::Gentler(arm, reason) => (
            format!(
                "Deploy {arm}: it loses less than {baseline} and is not slower. Downloads take \
                 {}. Which arm is fastest cannot be said: {reason}.",
                told(&arm)
            ),
            Some(arm.clone()),
            None,
            effect(&arm),
        ),
        Verdict::As(Decision::Nothing(reason)) => {
            (format!("No recommendation: {reason}."), None, None, best(&effects))
        }
        Verdict::As(Decision::Keep) => (
            format!("Keep {baseline}: every other arm is slower on these paths."),
            Some(baseline.to_owned()),
            None,
            best(&effects),
        ),
        Verdict::As(Decision::Deploy(arm)) => (
            format!("Deploy {arm}: downloads take {}.", told(&arm)),
            Some(arm.clone()),
            None,
            effect(&arm),
        ),
        Verdict::As(Decision::Trade { fast, gentle }) => (
            format!(
                "Trade-off: {fast} is fastest ({}), {gentle} loses least{}.",
                told(&fast),
                effect(&gentle).map_or(String::new(), |effect| {
                    format!(" ({})", effect.sentence(baseline))
                })
            ),
            None,
            Some([fast.clone(), gentle]),
            effect(&fast),
        ),
    };
    let same = || format!("every arm does what {baseline} does on these paths");
    let gain = main.map_or_else(same, |effect| {
        let whole = analysis.of(Part::All).find(|entry| entry.arm == effect.arm);
        let versus = whole.and_then(|entry| Some((entry, entry.versus_baseline.as_ref()?)));
        let tail = versus.map_or(String::new(), |(entry, versus)| {
            format!(
                "; {:.1} % of transfers take over 5 % longer; queueing delay p99 {} ({:+.0} ms)",
                versus.paired.worse_pct,
                time(entry.queue_p99_ms),
                versus.queue_p99_ms.value
            )
        });
        format!("{}: {}{tail}", effect.arm, effect.sentence(baseline))
    });
    let today = analysis.of(Part::All).next().map_or(String::new(), today);
    let line = |about, text: String| Line { about, text };
    Advice {
        lines: vec![
            line("Your paths", paths.to_owned()),
            line("Today", today),
            line("Which arm", finding.clone()),
            line("Gain and cost", gain),
            line("It hangs on", hangs_on(analysis, main, &evidence.assumed)),
        ],
        finding,
        deploy,
        trade_off,
        connections,
        effects,
    }
}
