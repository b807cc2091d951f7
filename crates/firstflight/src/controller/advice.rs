//! Hints at the start of a connection, and the network's advice until it expires.

use super::config::Config;
use super::{Controller, KBIT, in_kbit};
use crate::avoidance::Avoidance;
use crate::hint::{Advice, Hint, HintSource};
use crate::recovery::Policy;
use crate::startup::Startup;
use crate::units::{Nanos, Rate, Time, UNSET_SSTHRESH};

impl<S: Startup, A: Avoidance, R: Policy> Controller<S, A, R> {
    pub(super) fn take_hints(&mut self, config: &Config) {
        // SCONE bound-1: advice is no promise of capacity, so it never starts a jump.
        let Some(hint) = config.hint.filter(Hint::is_fresh) else { return };
        if hint.source != HintSource::Scone {
            self.startup.on_hint(&hint);
        } else if config.advice != Advice::Off {
            // SCONE period-1: whole seconds, rounded up.
            let left = Hint::PERIOD - hint.age;
            self.usage.advised = in_kbit(hint.rate);
            self.cx.advice = config.advice;
            self.cx.advice_secs = left.0.div_ceil(Nanos::from_secs(1).0).min(255) as u8;
        }
    }

    /// The window at which the advice ends startup, in bytes: the advised rate times the smallest RTT,
    /// but a packet more than the initial window, which needs no advice. Without advice or an RTT,
    /// the largest number.
    pub(super) fn advised_window(&self) -> u64 {
        let Some(rtt) = self.cx.so_far.min_rtt.filter(|_| self.usage.advised != 0) else {
            return UNSET_SSTHRESH;
        };
        let rate = Rate(u64::from(self.usage.advised) * KBIT);
        rate.bytes_in(rtt).max(self.cx.iw.saturating_add(self.cx.mss))
    }

    /// The smaller of the advised and the configured rate, in kbit/s; 0 if there is none.
    pub(super) fn least_kbit(&self) -> u32 {
        match (self.usage.advised, self.max_kbit) {
            (advised, 0) => advised,
            (0, most) => most,
            (advised, most) => advised.min(most),
        }
    }

    /// SCONE bound-2: in the first slow start the threshold is at most the advised window. Afterwards
    /// avoidance takes over: the path may carry more, or less.
    #[cold]
    pub(super) fn heed_advice(&mut self, now: Time, inflight: u64) {
        let most = self.advised_window();
        let starts = self.ended.is_none() && !self.startup.is_whole();
        if now.since(self.first_sent) > Nanos::from_secs(self.cx.advice_secs.into()) {
            if starts && self.w.ssthresh == most {
                self.w.ssthresh = UNSET_SSTHRESH;
            }
            self.usage.advised = 0;
        } else if starts && most < self.w.ssthresh {
            let below = self.w.in_slow_start();
            self.w.ssthresh = most.max(self.cx.minimum_window());
            if below {
                self.note_threshold(now, self.w.cwnd, inflight);
            }
        }
    }
}
