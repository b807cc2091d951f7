//! Turns an A/B test on recorded connections into a recommendation: which startup to deploy on
//! these paths.
//!
//! The [`Decision`](crate::decision::Decision) of the test is the recommendation under three
//! conditions: there are at least [`LEAST_CONNECTIONS`] recorded connections, the current sender is
//! known, and the model of it reproduces the captures ([`Model`]).

use crate::ab::Analysis;
use crate::ab::analysis::Part;
use crate::decision::Rule;
use crate::stats::student;
use crate::table::time;
pub use firstflight_log::FileRow;
use firstflight_path::Error;
use serde::Serialize;

/// Minimum number of recorded connections for a recommendation. With fewer, nothing is known about
/// how much the next connection differs from them.
pub const LEAST_CONNECTIONS: usize = 5;

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The recommendation in one sentence.
    pub finding: String,
    /// The arm to deploy, which may be the baseline; null if nothing is recommended.
    pub deploy: Option<String>,
    /// Number of recorded connections used.
    pub connections: usize,
    /// The current sender.
    pub baseline: Baseline,
    /// Whether the model reproduces the captures.
    pub model: Model,
    /// Lines that a terminal shows below the finding.
    pub lines: Vec<Line>,
}

/// A line of the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Topic.
    pub about: &'static str,
    /// Text.
    pub text: String,
}

/// The current sender.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Baseline {
    /// The arm.
    pub arm: String,
    /// Source of the knowledge of the arm.
    pub why: String,
    /// Whether the arm is known: requested, named by the logs, or identified.
    pub known: bool,
    /// Startups that would have sent the same.
    pub alike: Vec<String>,
}

/// The captured connections compared with simulations of the same connections and the current
/// sender.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Model {
    /// Packets lost in the captures, percent.
    pub captured_loss_pct: f64,
    /// Packets lost in the model, percent.
    pub loss_pct: f64,
    /// Median duration in the captures, ms.
    pub captured_p50_ms: f64,
    /// Median duration in the model, ms.
    pub p50_ms: f64,
    /// Median over connections of |ln(time in the model / time captured)|.
    pub median_off: f64,
    /// Share of connections whose time is off by more than 50 %.
    pub far_off: f64,
    /// Mean time in the model over the mean captured time.
    pub mean_ratio: f64,
    /// The most likely reasons if the model does not reproduce the captures.
    pub reasons: Vec<String>,
}

impl Model {
    /// Whether the model is accurate enough for a recommendation.
    pub fn reproduces(&self) -> bool {
        let points = (self.loss_pct - self.captured_loss_pct).abs();
        let [least, most] = if self.loss_pct < self.captured_loss_pct {
            [self.loss_pct, self.captured_loss_pct]
        } else {
            [self.captured_loss_pct, self.loss_pct]
        };
        self.median_off <= 0.2
            && self.far_off <= 0.2
            && (0.75..=1.25).contains(&self.mean_ratio)
            && (points <= 1.0 || most <= 2.0 * least)
    }

    /// `captured 0.7 % lost, p50 303 ms; model of the same sender 0.8 %, 311 ms`.
    fn sentence(&self) -> String {
        format!(
            "captured {:.1} % lost, p50 {}; model of the same sender {:.1} %, {}",
            self.captured_loss_pct,
            time(self.captured_p50_ms),
            self.loss_pct,
            time(self.p50_ms)
        )
    }
}

/// Data behind the recommendation, for the page.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Evidence {
    /// The files.
    pub files: Vec<FileRow>,
    /// Connections in the files.
    pub paths: Vec<PathRow>,
    /// Assumptions with their reasons.
    pub assumed: Vec<(String, String)>,
    /// Connections left out because they show neither a rate nor a round trip.
    pub left_out: u64,
    /// Sentence about the connections left out because their capture is doubtful.
    pub doubts: Option<String>,
}

/// A connection, with its path as seen in the ACKs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathRow {
    /// Name.
    pub name: String,
    /// Program that wrote the trace.
    pub origin: String,
    /// `quic` or `tcp`.
    pub transport: &'static str,
    /// Delivered bytes.
    pub bytes: u64,
    /// Smallest RTT, ms.
    pub rtt_ms: Option<f64>,
    /// Best sustained rate including headers, Mbit/s.
    pub rate_mbps: Option<f64>,
    /// Whether the path may carry more.
    pub rate_is_lower_bound: bool,
    /// Queueing delay of a full queue, ms.
    pub buffer_ms: Option<f64>,
    /// Packets declared lost over packets sent, percent.
    pub loss_pct: Option<f64>,
    /// Further findings from the ACKs, in sentences.
    pub findings: Vec<String>,
    /// Exit of each startup on the recorded ACKs: arm, verdict, window in BDP.
    pub exits: Vec<(String, &'static str, Option<f64>)>,
}

/// The whole answer, for programs; `R` is the replay of the captures.
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
    /// Assembles the answer from these parts.
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

    /// One JSON object, identical for the same captures.
    ///
    /// # Errors
    /// A one-line message if the replay cannot be represented in JSON.
    pub fn to_json(&self) -> Result<String, Error> {
        let text =
            serde_json::to_string_pretty(self).map_err(|error| Error::new(error.to_string()))?;
        Ok(text + "\n")
    }
}

/// Why the captures do not support a recommendation.
fn fault(connections: usize, baseline: &Baseline, model: &Model) -> Option<String> {
    if connections < LEAST_CONNECTIONS {
        let count = if connections == 1 {
            "one connection is".into()
        } else {
            format!("{connections} connections are")
        };
        return Some(format!(
            "{count} not enough, {LEAST_CONNECTIONS} or more are needed; capture more"
        ));
    }
    if !baseline.known {
        return Some(format!("{}; name the sender with `--baseline`", baseline.why));
    }
    (!model.reproduces()).then(|| {
        let reasons = model.reasons.join(", ");
        format!("the model does not reproduce your captures (most likely causes: {reasons})")
    })
}

/// Why the gain of an arm cannot be generalized: it differs too much between the recorded
/// connections.
fn differs(analysis: &Analysis, arm: &str) -> Option<String> {
    let groups = analysis.of(Part::Group).filter(|entry| entry.arm == arm);
    let gains: Vec<(f64, f64)> = groups
        .filter_map(|entry| {
            let ratio = entry.versus_baseline.as_ref()?.paired.geometric_mean;
            Some((entry.flows as f64, (1.0 - ratio) * 100.0))
        })
        .collect();
    let gain = student(&gains);
    (gains.len() > 1 && gain.low <= 0.0).then(|| {
        format!(
            "{arm} gains {:.0} to {:.0} % on the next connections (95 %): capture more",
            gain.low, gain.high
        )
    })
}

/// Answers which startup to deploy on the recorded paths. `paths` is a phrase that describes them;
/// `replayed` is how an arm would have left slow start on the captures.
pub fn advise(
    analysis: &mut Analysis,
    connections: usize,
    paths: &str,
    (baseline, model): (Baseline, Model),
    replayed: &dyn Fn(&str) -> Option<String>,
) -> Advice {
    let decision = &mut analysis.decision;
    if let Some(why) = fault(connections, &baseline, &model) {
        decision.withhold(&why);
    } else if matches!(decision.rule, Rule::Clean | Rule::Price)
        && let Some(arm) = decision.arm.clone()
        && let Some(why) = differs(analysis, &arm)
    {
        analysis.decision.withhold(&why);
    }
    let decision = &mut analysis.decision;
    if matches!(decision.rule, Rule::Keep | Rule::Same) {
        decision.sentence = format!("You already run the best of these. {}", decision.sentence);
    }
    let line = |about, text: String| Line { about, text };
    let mut lines = vec![line("Check", model.sentence()), line("Today", baseline.why.clone())];
    lines.push(line("Your paths", paths.to_owned()));
    if let Some(arm) = &decision.arm
        && let Some(text) = replayed(arm)
    {
        lines.push(line("Replay", text));
    }
    Advice {
        finding: decision.sentence.clone(),
        deploy: decision.deploy.clone(),
        connections,
        baseline,
        model,
        lines,
    }
}
