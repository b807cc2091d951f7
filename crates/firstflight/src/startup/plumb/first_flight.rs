//! The first flight: twice the initial window within one round trip, as trains.
//!
//! PLUMB 1-volume: the volume and the mean pace are those of Rapid Start's jump, so the load on the
//! path is the same; but the ACKs of trains have the spacing of the bottleneck, whereas those of a
//! paced jump have the pacer's.

use crate::event::{Ack, Context, Ready, Window};
use crate::startup::Train;
use crate::units::{Seq, Time, mul_div};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Armed,
    Flying {
        enter: Seq,
        since: Time,
        train: Train,
    },
    Done,
}

/// The first flight of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FirstFlight {
    state: State,
}

/// Volume of the flight, in initial windows.
const VOLUME: u64 = 2;

impl FirstFlight {
    /// Starts the flight if its conditions are met, and determines which packets leave now.
    pub(super) fn before_send(&mut self, ready: &Ready, packets: u8, w: &mut Window, cx: &Context) {
        let target = cx.iw.saturating_mul(VOLUME);
        if self.state == State::Armed {
            let fills = ready.backlog >= w.cwnd.saturating_sub(ready.inflight);
            // PLUMB 1-once: not for a window that has already grown that far, not after idling, and
            // only with a pacer, an RTT sample, and data to fill the flight.
            if w.cwnd > target || (ready.idle > ready.timeout && ready.timeout.0 > 0) {
                self.state = State::Done;
            } else if ready.srtt.is_some() && cx.paced && fills && w.in_slow_start() {
                w.cwnd = w.cwnd.max(target.min(w.ssthresh));
                let (enter, since) = (ready.nxt, ready.now);
                self.state = State::Flying { enter, since, train: Train::default() };
            }
        }
        let (State::Flying { train, since, .. }, Some(srtt)) = (&mut self.state, ready.srtt) else {
            return;
        };
        let passed = ready.now.since(*since);
        if passed >= srtt {
            self.state = State::Done;
            return;
        }
        // PLUMB 1-trains: one train per `srtt * train / volume`, back to back.
        let bytes = cx.mss.saturating_mul(u64::from(packets)).max(1);
        let slot = mul_div(srtt.0, bytes, target.max(1)).max(1);
        let number = passed.0 / slot + 1;
        *train = Train {
            // Half a packet less, because the last packet of a train may be smaller.
            inflight: bytes.saturating_mul(number).saturating_sub(cx.mss / 2),
            next: Time(since.0.saturating_add(slot.saturating_mul(number))),
        };
    }

    /// Whether [`FirstFlight::before_send`] may still do anything before the next ACK.
    #[inline]
    pub(super) fn heeds_sending(&self) -> bool {
        self.state != State::Done
    }

    /// One ACK outside recovery, before it grows the window. The first one of the flight ends it.
    pub(super) fn on_ack(&mut self, ack: &Ack, w: &mut Window, cx: &Context) {
        if let State::Flying { enter, .. } = self.state
            && ack.una > enter
        {
            // PLUMB 1-used: the part of the flight that the application did not use is not kept.
            let target = cx.iw.saturating_mul(VOLUME);
            w.cwnd = w.cwnd.min(ack.inflight_before.clamp(cx.iw.min(target), target));
            self.state = State::Done;
        }
    }

    pub(super) fn train(&self) -> Option<Train> {
        match self.state {
            State::Flying { train, .. } => Some(train),
            _ => None,
        }
    }

    pub(super) fn cancel(&mut self) {
        self.state = State::Done;
    }
}
