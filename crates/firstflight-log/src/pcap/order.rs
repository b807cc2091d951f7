//! Frames of a capture in the order of their time stamps. Several queues of a network card, merged
//! files and threads that write one file leave neighbours in the wrong order; nothing was reordered
//! on the path then.
//!
//! A fixed number of frames waits here. A frame whose stamp lies before one of its connection that
//! waits is put before it. Frames that fall back by more than the skew of queues, and stay there,
//! are a clock that was set back: they keep the order of the file.

use super::frame::Frame;
use firstflight::{Nanos, Time};
use std::collections::VecDeque;

/// Frames that wait.
const MOST_HELD: usize = 1024;
/// Queues and files differ by less.
pub(super) const SKEW: Nanos = Nanos::from_millis(100);
/// More frames in a row that lie further back than the skew are a clock that was set back.
const MOST_STRAYS: usize = 8;

/// A frame, and whether it was out of order in the file.
pub(super) struct Held {
    pub(super) frame: Frame,
    pub(super) late: bool,
}

/// The frames that wait.
pub(super) struct Order {
    held: VecDeque<Held>,
    /// The latest stamp of the present stretch of the file.
    latest: Time,
    /// Frames at the back that lie further before [`Order::latest`] than the skew.
    strays: usize,
}

impl Order {
    pub(super) fn new() -> Order {
        Order { held: VecDeque::new(), latest: Time(0), strays: 0 }
    }

    /// Takes the next frame of the file; returns the one whose turn it is, if enough wait.
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

    /// The frame whose turn it is.
    pub(super) fn pop(&mut self) -> Option<Held> {
        self.strays = self.strays.min(self.held.len().saturating_sub(1));
        self.held.pop_front()
    }

    /// The file is over: no more frames come.
    pub(super) fn close(&mut self) {
        self.settle();
    }

    /// The file went on where it was: the few frames that lay far back were out of order.
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

    /// Puts a frame before those of its connection that are later by up to `most`.
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
