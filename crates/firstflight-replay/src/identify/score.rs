//! How unlikely it is that a sender which is what a hypothesis says sent what was seen.
//!
//! The deviation of a round trip is the logarithm of bytes predicted over bytes sent. It is taken
//! to be spread as a Laplace distribution, narrow in ordinary round trips and wide in those of a
//! recovery, beside which a few round trips are anything at all (a pause of the application, a
//! timer of the stack): so no single one decides.

use super::hypothesis::Hypothesis;

/// What kind of round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// Without losses.
    Clean,
    /// Something was lost, or is being repaired.
    Repairing,
}

/// Width of the distribution in ordinary round trips: a twentieth of what was sent.
const CLEAN: f64 = 0.05;
/// In those of a recovery, which stacks do in many ways.
const REPAIRING: f64 = 0.4;
/// Share of round trips that are anything at all.
const ANYTHING: f64 = 0.03;
/// These lie evenly between a fiftieth and fifty times, on a logarithmic scale.
const RANGE: f64 = 7.8;
/// Width for the time of the first flight, in round trips.
const SPAN: f64 = 0.05;
/// Packets that a pacer lets through at once at the beginning, at most.
const BUCKET: u64 = 10;
/// What another initial window than the standard one costs.
const UNUSUAL: f64 = -3.0;
/// Width for how far the level after the first loss may lie beside what the cut predicts.
const LEVEL: f64 = 0.04;
/// The same for startups that cut to what was delivered: a capture shows a loss later than the sender
/// knew it, and what was delivered by then is another amount.
const DELIVERED_LEVEL: f64 = 0.15;
/// A level further off than this is none that a recovery of these leaves: what the capture shows of
/// the recovery was misread, or it is a stranger's.
const STRANGE_LEVEL: f64 = 0.35;

/// The deviation of a round trip; two packets count as rounding.
pub(super) fn deviation(predicted: u64, sent: u64, mss: u64) -> f64 {
    let rounding = 2.0 * mss as f64;
    let apart = (predicted.abs_diff(sent) as f64 - rounding).max(0.0);
    let least = predicted.min(sent) as f64 + rounding;
    let size = ((least + apart) / least.max(1.0)).ln();
    if predicted < sent { -size } else { size }
}

/// Logarithm of the density of a deviation.
pub(super) fn log_likelihood(deviation: f64, seen: Seen) -> f64 {
    let width = match seen {
        Seen::Clean => CLEAN,
        Seen::Repairing => REPAIRING,
    };
    laplace(deviation, width)
}

/// The same for the round trips after the first loss. Their common level is what the cut left: it
/// may lie beside the hypothesis's, at a price, and is returned as the logarithm of predicted over
/// seen. Their course counts in full.
pub(super) fn after_loss(deviations: &[f64], to_delivered: bool) -> (f64, Option<f64>) {
    let mut sorted = deviations.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(level) = sorted.get(sorted.len() / 2).copied().filter(|_| sorted.len() > 2) else {
        return (deviations.iter().map(|one| log_likelihood(*one, Seen::Clean)).sum(), None);
    };
    let course: f64 = deviations.iter().map(|one| laplace(one - level, CLEAN)).sum();
    let width = if to_delivered { DELIVERED_LEVEL } else { LEVEL };
    (course - level.abs() / width - (width / LEVEL).ln(), Some(level))
}

/// Whether a recovery that left this level may be a candidate's.
pub(super) fn is_strange(level: f64) -> bool {
    level.abs() > STRANGE_LEVEL
}

fn laplace(deviation: f64, width: f64) -> f64 {
    let close = (-deviation.abs() / width).exp() / (2.0 * width);
    ((1.0 - ANYTHING) * close + ANYTHING / RANGE).ln()
}

/// The first flight: its bytes, and the time over which it was spread, ns. A pacer that begins with
/// a full bucket lets up to ten packets through at once, so the time is one out of a range.
pub(super) fn first_flight(one: &Hypothesis, bytes: u64, span: u64, round: u64, mss: u64) -> f64 {
    let size = laplace(deviation(one.first_flight, bytes, mss), CLEAN);
    let share = |span: u64| (span as f64 / round as f64).min(2.0);
    let packets = one.first_flight.div_ceil(mss).max(1);
    let most = share(one.first_span);
    let least = most * packets.saturating_sub(BUCKET) as f64 / packets as f64;
    let seen = share(span);
    size + laplace((least - seen).max(seen - most).max(0.0), SPAN)
}

/// Logarithm of how much less probable a sender is whose initial window is not the standard one
/// (RFC 6928, RFC 9002 7.2): a number that may be anything explains more.
pub(super) fn prior(initial_window: u64, standard: u64) -> f64 {
    let times = initial_window as f64 / standard.max(1) as f64;
    if (0.8..=1.25).contains(&times) { 0.0 } else { UNUSUAL }
}
