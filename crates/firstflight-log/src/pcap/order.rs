//! Sorts the frames of a capture by timestamp. Multiple queues of a network card, merged files and
//! threads that write to one file put neighbouring frames in the wrong order; this is not
//! reordering on the path.
//!
//! A fixed number of frames waits here. A frame with an earlier timestamp than a waiting frame of
//! the same connection is put before it. If timestamps fall back by more than the skew of queues
//! and stay there, the clock was set back, and those frames keep the order of the file.

use super::frame::Frame;
use firstflight::{Nanos, Time};
use std::collections::VecDeque;

/// Number of frames that wait.
const MOST_HELD: usize = 1024;
/// Maximum time difference between queues or files.
pub(super) const SKEW: Nanos = Nanos::from_millis(100);
/// If more frames in a row are further back than the skew, the clock was set back.
const MOST_STRAYS: usize = 8;

/// A frame, and whether it was out of order in the file.
pub(super) struct Held {
    pub(super) frame: Frame,
    pub(super) late: bool,
}

pub(super) struct Order {
    held: VecDeque<Held>,
    /// The latest timestamp since the clock was last set back.
    latest: Time,
    /// Number of frames at the back that precede [`Order::latest`] by more than the skew.
    strays: usize,
}

impl Order {
    pub(super) fn new() -> Order {
        Order { held: VecDeque::new(), latest: Time(0), strays: 0 }
    }

    /// Takes the next frame of the file; returns the first waiting frame if enough frames wait.
    pub(super) fn push(&mut self, frame: Frame) -> Option<Held> {
        let now = frame.segment.now;
        if now >= self.latest {
            self.settle();
            self.latest = now;
            self.held.push_back(Held { frame, late: false });
        } else if self.latest.since(now) <= SKEW {
            self.settle();
            self.place(frame, false, SKEW);
        } else {
            self.held.push_back(Held { frame, late: false });
            self.strays += 1;
            if self.strays > MOST_STRAYS {
                let back = self.held.iter().rev().take(self.strays);
                self.latest = back.map(|held| held.frame.segment.now).max().unwrap_or(now);
                self.strays = 0;
            }
        }
        if self.held.len() > MOST_HELD { self.pop() } else { None }
    }

    /// Returns the first waiting frame.
    pub(super) fn pop(&mut self) -> Option<Held> {
        self.strays = self.strays.min(self.held.len().saturating_sub(1));
        self.held.pop_front()
    }

    /// Ends the file.
    pub(super) fn close(&mut self) {
        self.settle();
    }

    /// The timestamps continued from [`Order::latest`], so the few frames far back were out of
    /// order.
    fn settle(&mut self) {
        if self.strays == 0 {
            return;
        }
        let strays = self.held.split_off(self.held.len() - self.strays);
        self.strays = 0;
        for stray in strays {
            self.place(stray.frame, stray.late, Nanos::MAX);
        }
    }

    /// Inserts a frame before the frames of its connection that are later by at most `most`.
    fn place(&mut self, frame: Frame, late: bool, most: Nanos) {
        let now = frame.segment.now;
        let mut at = self.held.len();
        for (index, Held { frame: other, .. }) in self.held.iter().enumerate().rev() {
            let is_same = (other.from == frame.from && other.to == frame.to)
                || (other.from == frame.to && other.to == frame.from);
            if is_same {
                if other.segment.now <= now || other.segment.now.since(now) > most {
                    break;
                }
                at = index;
            }
        }
        let late = late || at < self.held.len();
        self.held.insert(at, Held { frame, late });
    }
}
