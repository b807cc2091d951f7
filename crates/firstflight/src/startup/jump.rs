//! The jump: the first full window is enlarged and spread over a whole round trip.
//!
//! Follows: draft-kazuho-ccwg-rapid-start-02 (2026-03-16), phase A, which names Careful Resume's
//! unvalidated phase (draft-ietf-tsvwg-careful-resume) as one way to do it. Shared by Rapid Start
//! and jump start. State: 56 bytes.
//!
//! Departures:
//! * D1 (when): it starts when the flow first fills its window and an RTT sample exists, not
//!   necessarily with the first packet: as in slow start, packets may leave before there is a
//!   sample.

use crate::event::{Ack, Context, Ready, Window};
use crate::options::{Listed, OptionValue, Range};
use crate::units::{Nanos, Rate, Ratio, Seq, Time};
use core::fmt;

/// Size of the enlarged first window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JumpWindow {
    /// A multiple of the initial window.
    Initial(u32),
    /// A fixed number of packets.
    Packets(u32),
}

impl JumpWindow {
    fn bytes(self, cx: &Context) -> u64 {
        match self {
            JumpWindow::Initial(times) => cx.iw.saturating_mul(u64::from(times)),
            JumpWindow::Packets(count) => cx.mss.saturating_mul(u64::from(count)),
        }
    }
}

/// `2iw`: a multiple of the initial window; `60`: packets.
impl OptionValue for JumpWindow {
    fn parse(text: &str) -> Option<JumpWindow> {
        let (number, window): (_, fn(u32) -> JumpWindow) = match text.strip_suffix("iw") {
            Some(times) => (times, JumpWindow::Initial),
            None => (text, JumpWindow::Packets),
        };
        <u32 as OptionValue>::parse(number).filter(|&n| (1..=100_000).contains(&n)).map(window)
    }
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JumpWindow::Initial(times) => write!(f, "{times}iw"),
            JumpWindow::Packets(count) => write!(f, "{count}"),
        }
    }
}

impl Listed for JumpWindow {
    const VALUES: &'static str = "2iw or packets";
    const RANGE: Range = Range::Whole { off: false, low: 1, high: 100_000 };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Armed,
    /// The jump window is being sent; `spread` holds until one smoothed RTT has passed or the first
    /// ACK of the jump arrives.
    Flying {
        enter: Seq,
        since: Time,
        spread: bool,
    },
    /// The first ACK of the jump arrived; the jump is validated once everything before `end` is
    /// acknowledged.
    Validating {
        end: Seq,
    },
    Done,
}

/// The jump of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jump {
    window: JumpWindow,
    state: State,
    acked: u64,
    /// The rate that earlier connections measured; zero if unknown.
    known: Rate,
    /// The window of a jump that the hint enlarged, once it has begun.
    target: u64,
}

/// OURS hint-share: half of what a hint promises, as RFC 9959 allows half of a saved window.
const SHARE: u64 = 2;
/// OURS hint-most: initial windows in a first flight by hint, at most. A hint may be wrong by any
/// factor; eight initial windows bound what it can do to others.
const MOST: u64 = 8;

/// RAPID 3.1.1-2: the pacing gain of the jump, its window once per round trip.
pub const GAIN_JUMP: Ratio = Ratio::new(1, 1);

impl Jump {
    /// A jump to `window`, armed; `None` never jumps.
    pub fn new(window: Option<JumpWindow>) -> Jump {
        match window {
            Some(window) => Jump::in_state(window, State::Armed),
            None => Jump::in_state(JumpWindow::Initial(1), State::Done),
        }
    }

    fn in_state(window: JumpWindow, state: State) -> Jump {
        Jump { window, state, acked: 0, known: Rate(0), target: 0 }
    }

    /// Earlier connections measured this rate: the jump is half of it times the RTT, but no less than
    /// without the hint, and at most eight initial windows.
    pub fn know(&mut self, rate: Rate) {
        self.known = rate;
    }

    fn wanted(&self, srtt: Option<Nanos>, cx: &Context) -> u64 {
        let usual = self.window.bytes(cx);
        let known = self.known.bytes_in(srtt.unwrap_or(Nanos::ZERO)) / SHARE;
        known.min(cx.iw.saturating_mul(MOST)).max(usual)
    }

    /// Starts the jump if its conditions are met. Returns true if the window was enlarged.
    pub fn before_send(&mut self, ready: &Ready, w: &mut Window, cx: &Context) -> bool {
        match self.state {
            State::Armed => {
                let target = self.wanted(ready.srtt, cx);
                // RAPID 3.1.1-1: only with an RTT sample, a pacer, and data to fill the window.
                let fills = ready.backlog >= w.cwnd.saturating_sub(ready.inflight);
                // OURS jump-once: not for a window that has already grown that far, and not after
                // idling.
                if w.cwnd >= target || (ready.idle > ready.timeout && ready.timeout > Nanos::ZERO) {
                    self.state = State::Done;
                } else if ready.srtt.is_some() && cx.paced && fills && w.in_slow_start() {
                    w.cwnd = target.min(w.ssthresh);
                    self.target = if self.known.0 > 0 { target } else { 0 };
                    self.state = State::Flying { enter: ready.nxt, since: ready.now, spread: true };
                    return true;
                }
            }
            State::Flying { enter, since, spread: true }
                if ready.srtt.is_none_or(|srtt| ready.now.since(since) >= srtt) =>
            {
                self.state = State::Flying { enter, since, spread: false };
            }
            _ => {}
        }
        false
    }

    /// Whether [`Jump::before_send`] may still do anything before the next ACK.
    #[inline]
    pub fn heeds_sending(&self) -> bool {
        matches!(self.state, State::Armed | State::Flying { spread: true, .. })
    }

    /// One ACK outside recovery, before it grows the window. The first ACK of a jump packet sets
    /// the window to the bytes actually in flight, between the initial and the jump window.
    pub fn on_ack(&mut self, ack: &Ack, w: &mut Window, cx: &Context) {
        match self.state {
            State::Flying { enter, .. } if ack.una > enter => {
                let target = self.window.bytes(cx).max(self.target);
                // RAPID 3.1.1-3: keep the used part of the jump.
                w.cwnd = ack
                    .inflight_before
                    .clamp(cx.iw.min(target), target)
                    .min(w.ssthresh)
                    .max(cx.minimum_window());
                self.acked = ack.acked;
                self.state = State::Validating { end: ack.nxt };
            }
            State::Validating { end } => {
                self.acked = self.acked.saturating_add(ack.acked);
                if ack.una >= end {
                    self.state = State::Done;
                }
            }
            _ => {}
        }
    }

    /// CR 3.5-3: congestion during the jump. Returns the bytes of the jump acknowledged so far
    /// (PipeSize) and the mark that ends it, if the jump was in flight or not yet validated.
    pub fn crash(&mut self, ack: &Ack) -> Option<(u64, Seq)> {
        let hit = match self.state {
            State::Flying { enter, .. } if ack.una > enter => Some((ack.acked, ack.nxt)),
            State::Flying { .. } => Some((0, ack.nxt)),
            State::Validating { end } => Some((self.acked.saturating_add(ack.acked), end)),
            State::Armed | State::Done => None,
        };
        self.state = State::Done;
        hit
    }

    /// Disables the jump for the rest of the connection.
    pub fn cancel(&mut self) {
        self.state = State::Done;
    }

    /// Whether the jump window is currently being spread over the round trip.
    pub fn spreading(&self) -> bool {
        matches!(self.state, State::Flying { spread: true, .. })
    }
}
