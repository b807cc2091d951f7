//! Other startups run alongside the controller that sends, to see how they would have left startup:
//! each receives the same events. This is an open loop: the sender does not obey them.

use crate::plan::{Plan, Refused};
use firstflight::event::Phase;
use firstflight::startup::ExitReason;
use firstflight::{AnyController, Begin, Event, Time};
use serde_json::{Map, Value};

/// The columns of a row for each shadow, after its name and a dot.
const CELLS: [&str; 4] = ["exit_reason", "exit_ms", "exit_ack", "exit_cwnd_bytes"];

/// A requested startup, as typed.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    label: String,
    plan: Plan,
}

impl Asked {
    /// Reads arms, separated by commas outside parentheses.
    ///
    /// # Errors
    /// A one-line message if a text is not an arm or an arm is named twice.
    pub(crate) fn list(text: &str, initial_window: Option<u32>) -> Result<Vec<Asked>, Refused> {
        let mut all: Vec<Asked> = Vec::new();
        for label in firstflight_trial::assign::names(text).map_err(|error| Refused(error.0))? {
            let plan = Plan { initial_window, ..Plan::parse(&label)? };
            if all.iter().any(|known| known.label == label) {
                return Err(Refused(format!("{label}: named twice")));
            }
            all.push(Asked { label, plan });
        }
        Ok(all)
    }
}

/// The exit of a startup.
#[derive(Clone, Copy, Debug)]
struct Left {
    reason: ExitReason,
    at: Time,
    /// The ACK that decided, counted from 0.
    ack: u64,
    cwnd: u64,
}

/// One startup that runs alongside a connection.
#[derive(Debug)]
pub(crate) struct Shadow {
    asked: Asked,
    controller: Option<Box<AnyController>>,
    /// Whether it is the arm that sends: then all events concern itself.
    exact: bool,
    start: Option<Time>,
    acks: u64,
    left: Option<Left>,
    /// Whether no later event can change its exit.
    settled: bool,
}

impl Shadow {
    pub(crate) fn new(asked: &Asked) -> Shadow {
        let asked = asked.clone();
        Shadow {
            asked,
            controller: None,
            exact: false,
            start: None,
            acks: 0,
            left: None,
            settled: false,
        }
    }

    /// The connection starts, or its handshake is complete and it starts again.
    pub(crate) fn begin(&mut self, begin: &Begin) {
        let arm = self.asked.plan.arm;
        // The connection's own numbers with this arm's options.
        let config = arm.configure(self.asked.plan.config(begin.config.mss));
        let controller =
            arm.with_oracle(self.asked.plan.oracle_exit).controller(config, begin.now, begin.nxt);
        *self = Shadow {
            controller: Some(Box::new(controller)),
            exact: arm == begin.arm && config == begin.config,
            ..Shadow::new(&self.asked)
        };
    }

    pub(crate) fn tell(&mut self, event: &Event) {
        let Some(controller) = self.controller.as_mut().filter(|_| !self.settled) else { return };
        match event {
            Event::Ack(ack, _) if !self.exact => {
                // The limits of the real sender's window do not apply to this one.
                controller.on_ack_of_another(ack);
            }
            event => controller.tell(event),
        }
        let now = match event {
            Event::Ack(ack, _) => ack.now,
            Event::Sent(sent) => {
                self.start.get_or_insert(sent.now);
                return;
            }
            Event::Congestion(congestion) => congestion.now,
            _ => return,
        };
        self.note(now);
        self.acks += u64::from(matches!(event, Event::Ack(ack, _) if ack.acked > 0));
    }

    fn note(&mut self, now: Time) {
        let Some(controller) = &self.controller else { return };
        let ack = self.acks;
        self.left = match (controller.exit(), self.left) {
            (Some(exit), Some(left)) if left.at == exit.at => Some(left),
            (Some(exit), _) => {
                Some(Left { reason: exit.reason, at: exit.at, ack, cwnd: exit.detect_cwnd })
            }
            // SEARCH drains by sending less than is acknowledged, which this sender does not do:
            // the detection counts as its exit.
            (None, _) if !self.exact && controller.phase() == Phase::Drain => {
                Some(Left { reason: ExitReason::Flattened, at: now, ack, cwnd: controller.cwnd() })
            }
            (None, _) => None,
        };
        // Only a loss or a timeout can prove a false alarm.
        let proves = |left: &Left| matches!(left.reason, ExitReason::Loss | ExitReason::Timeout);
        self.settled = !self.exact && self.left.as_ref().is_some_and(|left| !proves(left));
    }

    /// Adds its cells to a row.
    pub(crate) fn fill(&self, row: &mut Map<String, Value>) {
        let left = self.left;
        let ms = left.zip(self.start).map(|(left, start)| left.at.since(start).0 as f64 / 1e6);
        let cells: [Value; 4] = [
            left.map(|left| left.reason.name()).into(),
            ms.into(),
            left.map(|left| left.ack).into(),
            left.map(|left| left.cwnd).into(),
        ];
        for (name, cell) in CELLS.iter().zip(cells) {
            row.insert(format!("{}.{name}", self.asked.label), cell);
        }
    }
}
