//! Likelihood of the observed sending under a hypothesis.
//!
//! The deviation of a round trip is the logarithm of predicted over sent bytes. It is assumed to
//! follow a Laplace distribution, narrow in ordinary round trips and wide during recovery. In
//! addition, a few round trips may have any deviation (a pause of the application, a timer of the
//! stack), so no single round trip decides.

use super::hypothesis::Hypothesis;

/// Kind of a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// Without losses.
    Clean,
    /// With losses, or during recovery.
    Repairing,
}

/// Width of the distribution in ordinary round trips: 5 % of the bytes sent.
const CLEAN: f64 = 0.05;
/// Width during recovery, which stacks implement in many ways.
const REPAIRING: f64 = 0.4;
/// Share of round trips that may have any deviation.
const ANYTHING: f64 = 0.03;
/// Width of the uniform distribution of these deviations: from 1/50 to 50 times, as a logarithm.
const RANGE: f64 = 7.8;
/// Width for the duration of the first flight, in round trips.
const SPAN: f64 = 0.05;
/// Maximum number of packets that a pacer sends at once at the start.
const BUCKET: u64 = 10;
/// Log-likelihood of a non-standard initial window.
const UNUSUAL: f64 = -3.0;
/// Width for the difference between the level after the first loss and the predicted reduction.
const LEVEL: f64 = 0.04;
/// This width for startups that reduce the window to the delivered amount: a capture shows a loss
/// later than the sender detected it, and by then more has been delivered.
const DELIVERED_LEVEL: f64 = 0.15;
/// Log-likelihood of a recovery that the capture does not show as it was, such as a second cut in it:
/// one in twenty, which then leaves any level.
const MISREAD: f64 = -3.0;
/// Largest distance of a level from those that the candidates' recoveries leave. Beyond it, the
/// recovery was misread in the capture or belongs to none of the candidates.
const STRANGE_LEVEL: f64 = 0.35;

/// The deviation of a round trip; a difference of up to two packets counts as rounding.
pub(super) fn deviation(predicted: u64, sent: u64, mss: u64) -> f64 {
    let rounding = 2.0 * mss as f64;
    let apart = (predicted.abs_diff(sent) as f64 - rounding).max(0.0);
    let least = predicted.min(sent) as f64 + rounding;
    let size = ((least + apart) / least.max(1.0)).ln();
    if predicted < sent { -size } else { size }
}

/// Logarithm of the probability density of a deviation.
pub(super) fn log_likelihood(deviation: f64, seen: Seen) -> f64 {
    let width = match seen {
        Seen::Clean => CLEAN,
        Seen::Repairing => REPAIRING,
    };
    laplace(deviation, width)
}

/// The log-likelihood of the round trips after the first loss. Their common level is the result of
/// the window reduction: it may differ from the hypothesis at a limited cost, and is returned as the
/// logarithm of predicted over sent. Deviations from that level count in full.
pub(super) fn after_loss(deviations: &[f64], to_delivered: bool) -> (f64, Option<f64>) {
    let mut sorted = deviations.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(level) = sorted.get(sorted.len() / 2).copied().filter(|_| sorted.len() > 2) else {
        return (deviations.iter().map(|one| log_likelihood(*one, Seen::Clean)).sum(), None);
    };
    let course: f64 = deviations.iter().map(|one| laplace(one - level, CLEAN)).sum();
    let width = if to_delivered { DELIVERED_LEVEL } else { LEVEL };
    let reduction = (-level.abs() / width).max(MISREAD);
    (course + reduction - (width / LEVEL).ln(), Some(level))
}

/// Whether a recovery that left this level may be a candidate's.
pub(super) fn is_strange(level: f64) -> bool {
    level.abs() > STRANGE_LEVEL
}

fn laplace(deviation: f64, width: f64) -> f64 {
    let close = (-deviation.abs() / width).exp() / (2.0 * width);
    ((1.0 - ANYTHING) * close + ANYTHING / RANGE).ln()
}

/// Log-likelihood of the first flight: its bytes, and its duration in ns. A pacer that starts with
/// a full bucket sends up to ten packets at once, so a range of durations is possible.
pub(super) fn first_flight(one: &Hypothesis, bytes: u64, span: u64, round: u64, mss: u64) -> f64 {
    let size = laplace(deviation(one.first_flight, bytes, mss), CLEAN);
    let share = |span: u64| (span as f64 / round as f64).min(2.0);
    let packets = one.first_flight.div_ceil(mss).max(1);
    let most = share(one.first_span);
    let least = most * packets.saturating_sub(BUCKET) as f64 / packets as f64;
    let seen = share(span);
    size + laplace((least - seen).max(seen - most).max(0.0), SPAN)
}

/// Logarithm of the prior for an initial window: a non-standard one (RFC 6928, RFC 9002 7.2) is
/// less likely, because a free parameter can explain more.
pub(super) fn prior(initial_window: u64, standard: u64) -> f64 {
    let times = initial_window as f64 / standard.max(1) as f64;
    if (0.8..=1.25).contains(&times) { 0.0 } else { UNUSUAL }
}
