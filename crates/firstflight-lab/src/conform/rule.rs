//! The rule that an event tests, and the document that states it.

use super::step::{Side, Step};
use firstflight::arm::{AVOIDANCES, Arm, RECOVERIES, STARTUPS};
use firstflight::event::Transport;
use firstflight::{Event, Phase};
use serde::Serialize;

/// A rule that an event tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The initial window of a connection.
    InitialWindow,
    /// Growth before startup has ended.
    SlowStart,
    /// An unused window does not grow.
    UnusedWindow,
    /// Startup ends without loss: the window at that point, by the growth since the start.
    Exit,
    /// The reduction on loss or marks, once per round trip.
    Reduction,
    /// The window during recovery.
    Recovery,
    /// Growth in congestion avoidance, over a round trip; on a single ACK the window changes by
    /// less than any tolerance.
    Avoidance,
    /// Growth in congestion avoidance, over an epoch from one reduction to the next.
    Epoch,
    /// A timeout, or persistent congestion.
    Timeout,
    /// A reduction turned out to be spurious.
    Undo,
    /// Sending, a new packet size, an RTT of the handshake: these change no window.
    Sending,
}

impl Rule {
    /// All rules, in the order of a connection.
    pub const ALL: [Rule; 11] = [
        Rule::InitialWindow,
        Rule::SlowStart,
        Rule::UnusedWindow,
        Rule::Exit,
        Rule::Reduction,
        Rule::Recovery,
        Rule::Avoidance,
        Rule::Epoch,
        Rule::Timeout,
        Rule::Undo,
        Rule::Sending,
    ];

    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Rule::InitialWindow => "initial window",
            Rule::SlowStart => "growth in slow start",
            Rule::UnusedWindow => "an unused window does not grow",
            Rule::Exit => "end of slow start without loss",
            Rule::Reduction => "reduction on loss or marks",
            Rule::Recovery => "window in recovery",
            Rule::Avoidance => "growth in avoidance, per RTT",
            Rule::Epoch => "growth in avoidance, per epoch",
            Rule::Timeout => "timeout or persistent congestion",
            Rule::Undo => "undo of a false alarm",
            Rule::Sending => "sending",
        }
    }

    /// Document and section of the rule, for a sender like `arm` over this transport.
    pub fn section(self, arm: &Arm, transport: Transport) -> &'static str {
        match transport {
            Transport::Quic => self.section_over_quic(arm),
            Transport::Tcp => self.section_over_tcp(arm),
        }
    }

    /// TCP's own documents, where RFC 9002 has the rule for QUIC.
    fn section_over_tcp(self, arm: &Arm) -> &'static str {
        match self {
            Rule::InitialWindow => "RFC 6928 2",
            Rule::SlowStart if arm.startup.name() == "slowstart" => "RFC 5681 3.1",
            Rule::UnusedWindow => "RFC 7661 4.3",
            Rule::Reduction | Rule::Avoidance | Rule::Epoch if arm.avoidance.name() == "reno" => {
                "RFC 5681 3.1"
            }
            Rule::Recovery if arm.recovery.name() == "immediate" => "RFC 5681 3.2",
            Rule::Timeout => "RFC 5681 3.1, RFC 6298 5",
            _ => self.section_over_quic(arm),
        }
    }

    fn section_over_quic(self, arm: &Arm) -> &'static str {
        let source = |parts: &'static [firstflight::arm::Part], name: &str| {
            parts.iter().find(|part| part.name == name).map_or("", |part| part.source)
        };
        let startup = || match arm.startup.name() {
            "slowstart" => "RFC 9002 7.3.1",
            "hystart++" => "RFC 9406 4.2",
            name => source(STARTUPS, name),
        };
        let avoidance = arm.avoidance.name();
        match self {
            Rule::InitialWindow => "RFC 9002 7.2",
            Rule::SlowStart | Rule::Exit => startup(),
            Rule::UnusedWindow => "RFC 9002 7.8",
            Rule::Reduction if matches!(avoidance, "cubic" | "cuback") => "RFC 9438 4.6, 4.7",
            Rule::Reduction => "RFC 9002 7.3.2",
            Rule::Recovery => match arm.recovery.name() {
                "immediate" => "RFC 9002 7.3.2",
                name => source(RECOVERIES, name),
            },
            Rule::Avoidance | Rule::Epoch => match avoidance {
                "cubic" => "RFC 9438 4.2 to 4.5",
                "reno" => "RFC 9002 7.3.3",
                other => source(AVOIDANCES, other),
            },
            Rule::Timeout => "RFC 9002 7.6.2",
            Rule::Undo => "RFC 9438 4.9",
            Rule::Sending => "",
        }
    }

    /// The rule that a step of both controllers tests. If `gradual` is set, our window approaches
    /// the threshold over a round trip, and a smaller window within an episode is not a separate
    /// reduction.
    pub(super) fn of(event: &Event, step: &Step, gradual: bool) -> Rule {
        let (ours, theirs) = (&step.ours, &step.theirs);
        match event {
            Event::Congestion(_) => Rule::Timeout,
            Event::Spurious { .. } => Rule::Undo,
            Event::Ack(ack, _) => {
                let cut = is_cut(theirs) || is_cut(ours);
                if step.episode_begins || cut && !(gradual && step.in_recovery) {
                    Rule::Reduction
                } else if step.in_recovery {
                    Rule::Recovery
                } else if step.exits {
                    Rule::Exit
                } else if matches!(step.phase, Phase::Avoidance | Phase::Recovery) {
                    Rule::Avoidance
                } else if ack.acked > 0 && ours.change() == 0 && theirs.change() > 0 {
                    Rule::UnusedWindow
                } else {
                    Rule::SlowStart
                }
            }
            _ => Rule::Sending,
        }
    }
}

fn is_cut(side: &Side) -> bool {
    side.cwnd < side.cwnd_before
}
