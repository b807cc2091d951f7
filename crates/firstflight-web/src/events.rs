//! The events of an arm in sentences, with the numbers that decided and the document that contains
//! the rule.

use crate::signals::signal;
use firstflight::arm::{AVOIDANCES, Part, RECOVERIES, STARTUPS};
use firstflight::startup::hystart::rise;
use firstflight::state::State;
use firstflight::{ExitReason, Nanos, Phase};
use firstflight_lab::Comparison;
use firstflight_lab::record::{Moment, Recording};
use firstflight_lab::trial;
use serde::Serialize;

/// One event.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Line {
    pub(crate) t_ms: f64,
    /// The document, with the section if a single rule in it acted.
    rule: String,
    says: String,
}

/// The documents that contain the rules of an arm.
struct Sources {
    startup: &'static Part,
    recovery: &'static str,
    avoidance: &'static str,
}

/// The recorded state right before and right after an event.
struct Change<'a> {
    record: &'a Recording,
    before: &'a Moment,
    after: &'a Moment,
}

/// The events of a recorded arm, in order.
pub(crate) fn lines(comparison: &Comparison, arm: usize) -> Vec<Line> {
    let Some(record) = comparison.records.get(arm) else { return Vec::new() };
    let Some(parts) = comparison.plan.arms[arm].parts() else { return Vec::new() };
    let part = |parts: &'static [Part], name| parts.iter().find(|part| part.name == name);
    let source = |parts, name| part(parts, name).map_or("", |part| part.source);
    let Some(startup) = part(STARTUPS, parts.startup.name()) else { return Vec::new() };
    let sources = Sources {
        startup,
        recovery: source(RECOVERIES, parts.recovery.name()),
        avoidance: source(AVOIDANCES, parts.avoidance.name()),
    };
    let mut lines = Vec::new();
    let mut before: Option<&Moment> = None;
    for after in record.moments() {
        if let Some(before) = before {
            tell(&Change { record, before, after }, &sources, &mut lines);
        }
        // Signals are read at ACKs and timers; a send does not change them.
        if after.state.event.name() != "sent" {
            before = Some(after);
        }
    }
    lines
}

fn tell(change: &Change<'_>, sources: &Sources, lines: &mut Vec<Line>) {
    let (before, after) = (&change.before.state, &change.after.state);
    let mut line = |rule: &str, says: String| {
        lines.push(Line { t_ms: trial::ms(after.now.0), rule: rule.to_owned(), says });
    };
    match (before.exit, after.exit) {
        (None, Some(exit)) => {
            let (rule, why) = exit_rule(change, sources, exit.reason);
            let at = kb(exit.detect_cwnd);
            line(rule, format!("leaves startup: {why}; cwnd {at}{}", threshold(after)));
        }
        (Some(_), None) => line(sources.startup.source, "the exit was a false alarm".to_owned()),
        _ => {}
    }
    if before.phase == after.phase {
        return;
    }
    match (before.phase, after.phase) {
        (Phase::Startup, Phase::Css) => line("RFC 9406 4.2", into_css(change)),
        (Phase::Css, Phase::Startup) => line("RFC 9406 4.2", out_of_css(change)),
        (_, Phase::Rapid) => line(
            sources.startup.source,
            "no queue is seen: the window grows threefold per round trip".to_owned(),
        ),
        (Phase::Rapid, Phase::Startup) => line(
            sources.startup.source,
            "the round trip has risen: the window doubles per round trip from here".to_owned(),
        ),
        (_, Phase::Drain) => line(sources.startup.source, "drains what it had too much".to_owned()),
        // If startup ends with the recovery, the line before already reports it.
        (_, Phase::Recovery) if before.exit.is_none() => {}
        (_, Phase::Recovery) => {
            let at = kb(before.cwnd);
            line(sources.recovery, format!("recovery begins; cwnd {at}{}", threshold(after)));
        }
        (Phase::Recovery, next) => {
            let at = kb(after.cwnd);
            line(sources.recovery, format!("recovery ends, {} goes on; cwnd {at}", next.name()));
        }
        (Phase::Avoidance, Phase::Startup) => {
            line(sources.avoidance, "a timeout: slow start again".to_owned());
        }
        _ => {}
    }
}

fn kb(bytes: u64) -> String {
    format!("{:.0} kB", bytes as f64 / 1e3)
}

/// The threshold, if it is set.
fn threshold(state: &State) -> String {
    state.ssthresh.map_or(String::new(), |bytes| format!(", ssthresh {}", kb(bytes)))
}

fn ms(nanos: u64) -> String {
    format!("{:.1}", trial::ms(nanos))
}

impl Change<'_> {
    fn before(&self, name: &str) -> Option<u64> {
        signal(self.record, self.before, name)
    }

    fn after(&self, name: &str) -> Option<u64> {
        signal(self.record, self.after, name)
    }

    /// The smallest RTT of the round, including this ACK's.
    fn round_min(&self) -> Option<u64> {
        let sample = self.after.state.rtt.map(|rtt| rtt.0);
        [self.before("hspp_round_min_ns"), sample].into_iter().flatten().min()
    }
}

// RFC 9406 section 4.2: RttThresh is an eighth of the last round's minimum, at least 4 and at most
// 16 ms.
fn into_css(change: &Change<'_>) -> String {
    let slower = "conservative slow start, a quarter of the growth";
    match (change.round_min(), change.before("hspp_last_min_ns")) {
        (Some(now), Some(last)) => format!(
            "minimum RTT of this round {} ms ≥ {} + {}: {slower}",
            ms(now),
            ms(last),
            ms(rise(Nanos(last)).0)
        ),
        _ => slower.to_owned(),
    }
}

fn out_of_css(change: &Change<'_>) -> String {
    match (change.round_min(), change.before("hspp_css_base_ns")) {
        (Some(now), Some(base)) => format!(
            "minimum RTT of this round {} ms < {} when it had risen: jitter, slow start goes on",
            ms(now),
            ms(base)
        ),
        _ => "the rise was jitter: slow start goes on".to_owned(),
    }
}

/// The rule that ended startup, and its reason.
fn exit_rule(change: &Change<'_>, sources: &Sources, reason: ExitReason) -> (&'static str, String) {
    let source = sources.startup.source;
    let because = reason.because().to_owned();
    match (sources.startup.name, reason) {
        // Loss, marks and timeouts end every slow start.
        (_, ExitReason::Loss | ExitReason::Ecn | ExitReason::Timeout) => {
            (sources.recovery, because)
        }
        ("hystart++", ExitReason::CssDone) => {
            let rounds = change.before("hspp_css_rounds").map_or(0, |rounds| rounds + 1);
            ("RFC 9406 4.2", format!("conservative slow start has run for {rounds} rounds"))
        }
        ("hystart", ExitReason::Delay) => {
            match (change.after("hystart_round_min_ns"), change.after("hystart_min_rtt_ns")) {
                (Some(now), Some(min)) => {
                    let risen = format!(
                        "minimum RTT of this round {} ms ≥ {} + {}",
                        ms(now),
                        ms(min),
                        ms(rise(Nanos(min)).0)
                    );
                    (source, risen)
                }
                _ => (source, because),
            }
        }
        ("hystart", ExitReason::Train) => {
            let ends =
                change.after("hystart_last_ack_ns").zip(change.after("hystart_round_start_ns"));
            match (ends, change.after("hystart_min_rtt_ns")) {
                (Some((last, first)), Some(min)) => {
                    let train = format!(
                        "a train of ACKs {} ms long, half of the minimum RTT is {}",
                        ms(last.saturating_sub(first)),
                        ms(min / 2)
                    );
                    (source, train)
                }
                _ => (source, because),
            }
        }
        ("search", ExitReason::Flattened) => match change.after("search_norm_percent") {
            Some(percent) => (
                source,
                format!("delivery is {percent} % short of what was sent a round trip earlier"),
            ),
            None => (source, because),
        },
        _ => (source, because),
    }
}
