//! The setting of a policy: when it decides, and which quantity it sets.

use crate::size;
use firstflight::Nanos;
use firstflight_path::{Error, suggestion};

/// The part of a connection in which a policy decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acts {
    /// Until startup ends: by the policy's decision, or by congestion. Congestion avoidance and
    /// recovery of the arm follow.
    Startup,
    /// The whole connection. Losses are only observed: no recovery reduces the window.
    Sender,
}

/// The quantity that a policy sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Growth factor of the window per round trip.
    Growth,
    /// The window.
    Window,
    /// The pacing rate; the window is twice the rate times the smallest RTT.
    Rate,
}

/// A decision. It takes effect with the next ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    /// The quantity, from -64 to 64:
    ///
    /// * growth: the window grows by `4^(value / 64)` per round trip. Below zero, startup ends with
    ///   the window times this factor, and a sender's window is cut by it once;
    /// * window: `2^(8 + value / 8)` packets;
    /// * rate: `2^(value / 8)` times 10 Mbit/s.
    pub value: i32,
    /// Startup ends with this window or rate.
    pub leave: bool,
}

impl Action {
    /// Slow start's: the window doubles per round trip.
    pub const DOUBLE: Action = Action { value: 32, leave: false };
}

/// When the next decision is due: at the first ACK that meets the condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Any later ACK.
    Ack,
    /// It acknowledges a packet that was sent after the last decision.
    Rtt,
    /// This much time has passed.
    Time(Nanos),
}

/// The setting of a policy: the same in training and as an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Course {
    /// The part of the connection.
    pub acts: Acts,
    /// The quantity.
    pub control: Control,
    /// The time between decisions.
    pub step: Step,
}

/// Shortest and longest time between decisions.
const STEPS: std::ops::RangeInclusive<Nanos> = Nanos::from_micros(100)..=Nanos::from_secs(10);

impl Course {
    /// Reads the three parts.
    ///
    /// # Errors
    /// A one-line message that lists the allowed values.
    pub fn parse(acts: &str, control: &str, step: &str) -> Result<Course, Error> {
        let unknown = |what: &str, given: &str, allowed: &[&str]| {
            let near = suggestion(given, allowed.iter().copied());
            let allowed = allowed.join(", ");
            Error::new(format!("{what} `{given}`: is unknown{near}; allowed: {allowed}"))
        };
        let acts = match acts {
            "startup" => Acts::Startup,
            "sender" => Acts::Sender,
            other => return Err(unknown("acts", other, &["startup", "sender"])),
        };
        let control = match control {
            "growth" => Control::Growth,
            "window" => Control::Window,
            "rate" => Control::Rate,
            other => return Err(unknown("control", other, &["growth", "window", "rate"])),
        };
        let step = match step {
            "ack" => Step::Ack,
            "rtt" => Step::Rtt,
            other => match size::time(other) {
                Ok(time) if STEPS.contains(&time) => Step::Time(time),
                _ => {
                    let allowed = "ack, rtt, or a time from 100us to 10s";
                    return Err(Error::new(format!("step `{other}`: allowed: {allowed}")));
                }
            },
        };
        Ok(Course { acts, control, step })
    }

    /// Number of values in a decision: one, or two where a second one above zero ends startup. With
    /// [`Control::Growth`] a shrinking window ends it.
    pub const fn values(&self) -> usize {
        match (self.acts, self.control) {
            (Acts::Startup, Control::Window | Control::Rate) => 2,
            _ => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_word_is_refused_with_the_allowed_ones() {
        for (acts, control, step, expected) in [
            ("start", "growth", "rtt", "acts `start`: is unknown"),
            ("startup", "widnow", "rtt", "(did you mean `window`?)"),
            ("sender", "rate", "rt", "step `rt`: allowed: ack, rtt, or a time from 100us to 10s"),
            ("sender", "rate", "1us", "step `1us`: allowed:"),
        ] {
            let error = Course::parse(acts, control, step).expect_err(step).to_string();
            assert!(error.contains(expected), "{acts}, {control}, {step}: {error}");
        }
    }

    #[test]
    fn a_decision_has_two_values_where_no_value_of_the_first_ends_startup() {
        let values =
            |acts, control| Course::parse(acts, control, "rtt").map(|course| course.values());
        assert_eq!(values("startup", "growth"), Ok(1));
        assert_eq!(values("startup", "rate"), Ok(2));
        assert_eq!(values("sender", "window"), Ok(1));
    }
}
