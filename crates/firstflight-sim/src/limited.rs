//! The reason for which a sender does not send, and for how long.
//!
//! Each burst of a sender ends for one reason, which counts until a burst ends for another one.

use firstflight::{Nanos, Time};

/// The reason for which a burst ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// The congestion window, or the recovery policy, is full.
    Window,
    /// The pacer, at the controller's rate.
    Pacer,
    /// The pacer, at the sender's largest rate.
    MaxRate,
    /// The receiver allows no more.
    Receiver,
    /// The send buffer is full.
    SendBuffer,
    /// Everything written has been sent.
    Application,
}

/// For how long each reason kept a sender from sending; in total from its first packet to the end
/// of the trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limited {
    /// The congestion window, or the recovery policy, was full.
    pub cwnd: Nanos,
    /// The pacer waited, at the controller's rate.
    pub pacing: Nanos,
    /// The pacer waited, at the sender's largest rate.
    pub max_rate: Nanos,
    /// The receiver allowed no more data.
    pub rwnd: Nanos,
    /// The send buffer was full (TCP).
    pub sndbuf: Nanos,
    /// Everything that the application had written was sent.
    pub app: Nanos,
}

/// Adds up the reasons of one sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meter {
    by: Limit,
    since: Time,
    begun: bool,
    sums: Limited,
}

impl Meter {
    pub(crate) fn new() -> Meter {
        let sums = Limited::default();
        Meter { by: Limit::Application, since: Time(0), begun: false, sums }
    }

    /// A burst ended at `now`; `begun` once anything was sent.
    #[inline]
    pub(crate) fn note(&mut self, now: Time, by: Limit, begun: bool) {
        if by != self.by || begun != self.begun {
            self.change(now, by, begun);
        }
    }

    #[inline(never)]
    fn change(&mut self, now: Time, by: Limit, begun: bool) {
        if self.begun {
            self.sums = self.until(now);
        }
        (self.by, self.since, self.begun) = (by, now, begun);
    }

    /// The sums up to `now`.
    pub(crate) fn until(&self, now: Time) -> Limited {
        let mut sums = self.sums;
        let sum = match self.by {
            Limit::Window => &mut sums.cwnd,
            Limit::Pacer => &mut sums.pacing,
            Limit::MaxRate => &mut sums.max_rate,
            Limit::Receiver => &mut sums.rwnd,
            Limit::SendBuffer => &mut sums.sndbuf,
            Limit::Application => &mut sums.app,
        };
        if self.begun {
            *sum = *sum + now.since(self.since);
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_counts_until_another_one_takes_its_place_and_not_before_the_first_packet() {
        let mut meter = Meter::new();
        meter.note(Time(3), Limit::Application, false);
        meter.note(Time(10), Limit::Window, true);
        meter.note(Time(14), Limit::Window, true);
        meter.note(Time(30), Limit::Pacer, true);
        let sums = meter.until(Time(35));
        let expected = Limited { cwnd: Nanos(20), pacing: Nanos(5), ..Limited::default() };
        assert_eq!(sums, expected, "from 10 to 30 the window, then the pacer");
        assert_eq!(Meter::new().until(Time(9)), Limited::default(), "nothing was sent");
    }
}
