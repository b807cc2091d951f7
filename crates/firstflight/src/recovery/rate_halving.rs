//! Rate halving: one segment leaves for every two ACKs until the window has shrunk, which keeps the
//! ACK clock ticking. On every ACK the window is also cut to one segment above the pipe, so a stall
//! or a heavy loss shrinks it permanently. The exit window is often far below the target, and slow
//! start must then climb back.
//!
//! Follows: Linux up to 3.1 (`tcp_cwnd_down` and `tcp_moderate_cwnd` in `net/ipv4/tcp_input.c`),
//! the "Linux" arm of the 2011 experiments that led to PRR. State: 48 bytes. The kernel counts
//! packets, and so does the state.
//!
//! Departures:
//! * D1 (DSACK): the kernel also counts an ACK that carries only a DSACK; such ACKs are not
//!   distinguished here and do not count.
//! * D2 (packets): pipe is rounded up to packets. The exit window is the exact target in bytes, not
//!   in packets as in the kernel; otherwise every exit would lie a fraction of a segment below the
//!   threshold and count as slow start.

use crate::named::named;
use crate::options::params;
use crate::recovery::{End, Entry, Policy, Progress, Recovery};
use crate::units::MAX_BYTES;

named! {
    /// LINUX halving-floor: where the halving stops.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Floor {
        /// The target.
        #[default]
        Target = "target",
        /// Half of the target, as returned by that kernel's Reno hook.
        HalfTarget = "half",
    }
}

params! {
    /// Parameters.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Lower bound of the halving.
        pub floor: Floor = Floor::Target, "floor" [] "where the halving stops";
        /// LINUX halving-moderation: at exit the window is at most this many segments above the
        /// pipe: 3 in the kernel, 1 according to the talk, `None` for no limit.
        pub moderation: Option<u32> = Some(3), "moderation" [off or 0..=100 "segments"] "burst allowed at the exit";
    }
}

/// Rate halving; see the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateHalving {
    params: Params,
    /// The target in bytes, for the exit.
    target: u64,
    /// Segments.
    cwnd: u64,
    /// Segments.
    floor: u64,
    mss: u64,
    /// Whether one ACK of the pair has been seen.
    odd: bool,
}

impl RateHalving {
    /// A policy with these parameters.
    pub fn new(params: Params) -> RateHalving {
        RateHalving { params, ..RateHalving::default() }
    }

    /// The parameters.
    #[doc(hidden)]
    pub fn params(&self) -> &Params {
        &self.params
    }

    fn bytes(&self, segments: u64) -> u64 {
        segments.saturating_mul(self.mss)
    }
}

impl Policy for RateHalving {
    type Settings = Params;

    fn settings(&self) -> Params {
        self.params
    }

    fn with(settings: Params) -> RateHalving {
        RateHalving::new(settings)
    }
}

impl Recovery for RateHalving {
    fn enter(&mut self, entry: &Entry) {
        self.mss = entry.mss.clamp(1, MAX_BYTES);
        self.target = entry.target.min(MAX_BYTES);
        self.cwnd = entry.cwnd.min(MAX_BYTES).div_ceil(self.mss).max(1);
        let target = self.target / self.mss;
        self.floor = match self.params.floor {
            Floor::Target => target.max(2),
            Floor::HalfTarget => (target / 2).max(2),
        };
        self.odd = false;
    }

    fn on_ack(&mut self, progress: &Progress) {
        self.mss = progress.mss.clamp(1, MAX_BYTES);
        if progress.delivered == 0 && !progress.advanced {
            return;
        }
        // LINUX halving-slope: every second ACK removes one segment, whatever the target: the slope
        // is fixed at one half.
        if self.odd && self.cwnd > self.floor {
            self.cwnd -= 1;
        }
        self.odd = !self.odd;
        // LINUX halving-clamp: because of this line, the scheme permanently loses what it could not
        // send at once. The floor does not limit it.
        self.cwnd = self.cwnd.min(progress.pipe.div_ceil(self.mss).saturating_add(1));
    }

    #[inline]
    fn admits(&self, _len: u64, pipe: u64) -> bool {
        // LINUX halving-admit: in packets, pipe < cwnd, a short segment counting as a whole one.
        pipe.saturating_add(self.mss) <= self.bytes(self.cwnd)
    }

    #[inline]
    fn on_sent(&mut self, _len: u64) {}

    #[inline]
    fn cwnd(&self) -> u64 {
        self.bytes(self.cwnd)
    }

    fn end(&mut self, _how: End, pipe: u64) -> u64 {
        let left = if self.cwnd >= self.target / self.mss.max(1) {
            self.target
        } else {
            self.bytes(self.cwnd)
        };
        match self.params.moderation {
            Some(m) => left.min(pipe.saturating_add(self.bytes(u64::from(m)))),
            None => left,
        }
    }

    fn restarts_on_lost_repeat(&self) -> bool {
        false
    }
}
