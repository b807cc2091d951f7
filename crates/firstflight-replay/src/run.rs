//! One startup on one connection.

use crate::meter::Meter;
use firstflight::event::{Phase, Ready, Transport};
use firstflight::startup::ExitReason;
use firstflight::{Ack, AnyController, Arm, Config, Exit, Nanos, Time};
use firstflight_log::step::Opening;

/// An arm with its name as requested.
#[derive(Clone, Debug)]
pub struct Named {
    /// Name as typed.
    pub label: String,
    /// The arm.
    pub arm: Arm,
}

/// Linux's BBRv1, which is not one of our arms.
pub const BBR1: &str = "kernel:bbr";

/// A possible sender that identification tries.
#[derive(Clone, Debug)]
pub struct Tried {
    /// Name as typed.
    pub(crate) label: String,
    /// The arm; `None` for BBRv1.
    pub(crate) arm: Option<Arm>,
}

impl Tried {
    /// Linux's BBRv1.
    pub fn bbr1() -> Tried {
        Tried { label: BBR1.into(), arm: None }
    }
}

impl From<Named> for Tried {
    fn from(named: Named) -> Tried {
        Tried { label: named.label, arm: Some(named.arm) }
    }
}

/// Input and settings of a replay.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The startups.
    pub arms: Vec<Named>,
    /// Whether the sender was paced; if `None`, the first flight decides.
    pub paced: Option<bool>,
    /// Initial window in packets; if `None`, the first flight is used.
    pub iw: Option<u32>,
    /// Number of connections whose course over time is kept, for the report.
    pub lines: usize,
    /// Startups to try for identifying the sender; empty to skip identification.
    pub identify: Vec<Tried>,
    /// Collect each connection's population entry.
    pub entries: bool,
    /// File for the ACKs that the readers found.
    pub events: Option<std::path::PathBuf>,
    /// Secrets that decrypt QUIC in captures, which are then read instead of TCP.
    #[cfg(feature = "keylog")]
    pub keylog: Option<std::sync::Arc<firstflight_log::quic::KeyLog>>,
}

/// Exit of a startup in the replay.
#[derive(Clone, Copy, Debug)]
pub struct Left {
    /// The controller's own record.
    pub exit: Exit,
    /// Number of the ACK that decided, counted from 0.
    pub ack: u64,
    /// Delivery rate over the preceding round trip, bytes per second.
    pub rate: Option<f64>,
}

/// A slow start threshold that a startup set while its window was below it.
#[derive(Clone, Copy, Debug)]
pub struct Aim {
    /// The threshold, bytes.
    pub ssthresh: u64,
    /// Time at which it was set.
    pub at: Time,
    /// The window at that time, bytes.
    pub cwnd: u64,
}

/// One startup on one connection.
#[derive(Clone, Debug)]
pub struct Run {
    /// The arm.
    pub named: Named,
    /// The trace states that this arm ran, and contains all its inputs.
    pub exact: bool,
    /// The exit, if any.
    pub left: Option<Left>,
    /// Last aim before the exit.
    pub aim: Option<Aim>,
    /// Window at the end.
    pub cwnd: u64,
    /// If the connection ended without an exit: the share of the window that was in flight at the
    /// last ACK, in percent.
    pub used_percent: u64,
    pub(crate) controller: AnyController,
    /// Time at which the first data packet was sent.
    start: Time,
    /// Nothing that follows can change the exit.
    pub(crate) settled: bool,
}

impl Run {
    pub(crate) fn new(named: &Named, settings: &Settings, opening: &Opening) -> Run {
        let exact = opening
            .ran
            .as_ref()
            .is_some_and(|ran| ran.complete && ran.arm == named.arm.to_string());
        let (config, oracle) = match &opening.ran {
            Some(ran) => (ran.config, ran.oracle_exit),
            None => (guessed(settings, opening), u64::MAX),
        };
        let mut controller =
            named.arm.with_oracle(oracle).controller(config, opening.made, opening.nxt);
        if let Some(rtt) = opening.handshake_rtt {
            controller.on_handshake_rtt(opening.start, rtt);
        }
        if opening.ran.is_none() {
            // The first flight as one burst is all that a foreign trace shows of the application's
            // data.
            controller.before_send(&Ready {
                now: opening.start,
                nxt: opening.nxt,
                backlog: opening.first_flight,
                srtt: opening.handshake_rtt,
                ..Ready::default()
            });
        }
        let cwnd = controller.cwnd();
        Run {
            named: named.clone(),
            exact,
            left: None,
            aim: None,
            cwnd,
            used_percent: 0,
            controller,
            start: opening.start,
            settled: false,
        }
    }

    pub(crate) fn on_ack(&mut self, ack: &Ack, number: u64, meter: &Meter, round: Nanos) {
        if self.settled {
            return;
        }
        let cwnd = self.controller.cwnd();
        if self.exact {
            self.controller.on_ack(ack);
        } else {
            // The limits of the real sender's window do not apply to this one.
            self.controller.on_ack_of_another(ack);
        }
        self.note(ack.now, number, meter, round);
        self.note_drain(ack, number, meter, round);
        if self.left.is_none() {
            self.used_percent = ack.inflight_before.saturating_mul(100) / cwnd.max(1);
            if let Some(ssthresh) = self.controller.ssthresh()
                && self.aim.is_none_or(|aim| aim.ssthresh != ssthresh)
            {
                self.aim = Some(Aim { ssthresh, at: ack.now, cwnd: self.controller.cwnd() });
            }
        }
    }

    /// Records SEARCH's exit at the start of its drain. SEARCH drains by sending less than is
    /// acknowledged. The recorded sender does not, so the drain would never end. The exit has the
    /// window and the time of the detection.
    fn note_drain(&mut self, ack: &Ack, number: u64, meter: &Meter, round: Nanos) {
        if self.exact || self.left.is_some() || self.controller.phase() != Phase::Drain {
            return;
        }
        let mut target = None;
        self.controller.signals(&mut |name, value| {
            if name == "search_empty_queue_target_bytes" {
                target = Some(value);
            }
        });
        let cwnd = self.controller.cwnd();
        let exit = Exit {
            reason: ExitReason::Flattened,
            at: ack.now,
            since_first_send: ack.now.since(self.start),
            rounds: self.controller.rounds(),
            detect_cwnd: cwnd,
            cwnd,
            inflight: ack.inflight_before,
            estimate: target,
        };
        self.left = Some(Left { exit, ack: number, rate: meter.recent(ack.now, round) });
        self.settled = true;
    }

    /// Records an exit, or its withdrawal after a spurious loss.
    pub(crate) fn note(&mut self, now: Time, number: u64, meter: &Meter, round: Nanos) {
        self.left = match (self.controller.exit(), self.left) {
            (None, _) => None,
            (Some(exit), Some(left)) if left.exit == exit => Some(left),
            (Some(exit), _) => Some(Left { exit, ack: number, rate: meter.recent(now, round) }),
        };
        // Only a loss or a timeout can prove a false alarm.
        self.settled = !self.exact
            && self.left.is_some_and(|left| {
                !matches!(left.exit.reason, ExitReason::Loss | ExitReason::Timeout)
            });
    }
}

/// The configuration of the controller, as far as a foreign trace shows it.
pub(crate) fn guessed(settings: &Settings, opening: &Opening) -> Config {
    let base = match opening.transport {
        Transport::Quic => Config::quic(opening.mss),
        Transport::Tcp => Config::tcp(opening.mss),
    };
    let standard = Config::standard_initial_window(opening.mss);
    firstflight::with!(Config {
        // A small first flight means little data to send, not a small window.
        initial_window: settings.iw.map_or(
            opening.stated.initial_window.unwrap_or(opening.first_flight.max(standard)),
            |packets| u64::from(packets) * opening.mss,
        ),
        paced: settings.paced.or(opening.paced).unwrap_or(base.paced),
        ..base
    })
}
