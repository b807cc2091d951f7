//! The counts of a receiver, and the sender's validation of them.
//!
//! The receiver's log has all packets with their marks, so the counts that an ACK frame would carry
//! follow from the packets that it acknowledges; a lost ACK changes nothing.

use firstflight::Time;
use firstflight::detection::ecn::{Counts, Ecn, Failure, Report, Validation};
use firstflight::units::Nanos;
use firstflight_path::Ect;

/// ECN of one connection.
#[derive(Clone, Debug)]
pub(super) struct Using {
    validation: Validation,
    /// The field of the packet that left last.
    field: Ect,
    /// Whether the path clears the field.
    pub(super) bleached: bool,
    counts: Counts,
    /// ECT packets that the current ACK newly acknowledges.
    acked: u64,
    /// Bytes of marked packets that it newly acknowledges.
    marked: u64,
}

impl Using {
    pub(super) fn new(rule: Ecn) -> Using {
        Using {
            validation: Validation::new(rule),
            field: Ect::Unset,
            bleached: false,
            counts: Counts::default(),
            acked: 0,
            marked: 0,
        }
    }

    pub(super) fn field(&self) -> Ect {
        self.field
    }

    pub(super) fn failure(&self) -> Option<Failure> {
        self.validation.failure()
    }

    pub(super) fn on_send(&mut self, number: u64, now: Time, pto: Nanos) {
        let ect = self.validation.on_send(number, now, pto);
        self.field = if ect { Ect::Set } else { Ect::Unset };
    }

    pub(super) fn on_lost(&mut self, number: u64) {
        self.validation.on_lost(number);
    }

    /// An ACK newly acknowledges the packet `number`, of `bytes`.
    pub(super) fn on_acked(&mut self, number: u64, bytes: u64, marked: bool) {
        if marked {
            self.counts.ce += 1;
            self.marked += bytes;
        }
        if self.validation.carries(number) {
            self.acked += 1;
            self.counts.ect0 += u64::from(!marked && !self.bleached);
        }
    }

    /// All packets of an ACK are processed. Returns the bytes that arrived marked, if the sender must
    /// respond.
    pub(super) fn on_ack(&mut self, advances: bool) -> Option<u64> {
        let counts = Some(self.counts).filter(|counts| *counts != Counts::default());
        let acked = std::mem::take(&mut self.acked);
        let marked = std::mem::take(&mut self.marked);
        let report = Report { acked, advances, counts };
        (self.validation.on_ack(&report) > 0).then_some(marked)
    }
}
