//! ECN validation of a QUIC path: whether packets carry ECT(0), and whether reported marks count.
//!
//! Some network elements clear the ECN field, rewrite it, or drop packets that use it. A sender
//! therefore marks its first packets as probes, compares the counts in ACK frames with what it
//! sent, and stops using ECN if they do not fit. A transport calls [`Validation::on_send`] for each
//! packet, [`Validation::on_lost`] for each loss, and [`Validation::on_ack`] for each ACK frame.
//!
//! Follows RFC 9000 sections 13.4.2 and A.4 (May 2021), and quic-go's rule for paths that mark
//! every probe (`internal/ackhandler/ecn.go`, 2023). State: 104 bytes. Departures: D1 validation
//! succeeds with the first ACK that passes the checks, also while probes are still being sent. D2 a
//! path that failed is never tested again (the RFC allows it). D3 the sender uses ECT(0) only; a
//! transport that sends ECT(1) instead reports its count as `ect0`.

use crate::named::named;
use crate::units::{Nanos, Time};

named! {
    /// Use of ECN by a QUIC sender.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Ecn {
        /// Validates as RFC 9000 section 13.4.2 says; a path that marks every packet passes.
        Rfc9000 = "rfc9000",
        /// In addition, as quic-go: a path that marks or loses all probes fails.
        QuicGo = "quic-go",
        /// Sends packets without ECT.
        Off = "off",
    }
}

named! {
    /// Why validation failed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Failure {
        /// An ACK of ECT packets has no counts: the field was cleared, or the peer reports none.
        Missing = "missing",
        /// The counts grew by less than the ECT packets acknowledged.
        TooFew = "too_few",
        /// The counts exceed the ECT packets sent.
        TooMany = "too_many",
        /// All probes were lost.
        Lost = "lost",
        /// All probes were marked or lost.
        Mangled = "mangled",
    }
}

/// Counts of an ACK frame: packets of the path that arrived with each codepoint so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counts {
    /// ECT(0).
    pub ect0: u64,
    /// ECT(1).
    pub ect1: u64,
    /// Congestion Experienced.
    pub ce: u64,
}

/// An ACK frame as validation sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Report {
    /// Packets that it newly acknowledges and that [carried ECT](Validation::carries).
    pub acked: u64,
    /// Whether it increases the largest acknowledged number.
    pub advances: bool,
    /// Its counts; `None` if it has none.
    pub counts: Option<Counts>,
}

/// Number of probes.
const PROBES: u64 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
    /// Probes are being sent.
    Testing,
    /// All probes were sent; no ACK has decided yet.
    Unknown,
    Capable,
    Failed(Failure),
    Off,
}

/// The state of one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validation {
    rule: Ecn,
    state: State,
    /// When the first probe left.
    since: Option<Time>,
    /// Numbers of the probes: from the first to below `probes_end`.
    first_probe: u64,
    probes_end: u64,
    /// First number that carries ECT after validation; `u64::MAX` before.
    capable_from: u64,
    /// Packets sent with ECT, and lost probes.
    sent: u64,
    lost: u64,
    /// The counts as of the last ACK that passed.
    seen: Counts,
}

impl Validation {
    /// A path on which nothing was sent.
    pub const fn new(rule: Ecn) -> Validation {
        let state = match rule {
            Ecn::Off => State::Off,
            Ecn::Rfc9000 | Ecn::QuicGo => State::Testing,
        };
        let seen = Counts { ect0: 0, ect1: 0, ce: 0 };
        Validation {
            rule,
            state,
            since: None,
            first_probe: 0,
            probes_end: 0,
            capable_from: u64::MAX,
            sent: 0,
            lost: 0,
            seen,
        }
    }

    /// The packet `number`, above all numbers so far, leaves at `now`; `pto` is the probe timeout
    /// without backoff. Returns whether the packet carries ECT(0).
    pub fn on_send(&mut self, number: u64, now: Time, pto: Nanos) -> bool {
        match self.state {
            // RFC9000 13.4.2-2: probes are ten packets, or those of three probe timeouts.
            State::Testing => {
                let since = *self.since.get_or_insert(now);
                if self.sent > 0 && now.since(since).0 >= pto.0.saturating_mul(3) {
                    self.state = State::Unknown;
                    self.judge_probes();
                    return false;
                }
                if self.sent == 0 {
                    self.first_probe = number;
                }
                self.probes_end = number + 1;
                self.sent += 1;
                if self.sent == PROBES {
                    self.state = State::Unknown;
                }
                true
            }
            // RFC9000 13.4.2-1: ECT(0) on early packets. RFC9000 A.4-2: and on a validated path.
            State::Capable => {
                self.capable_from = self.capable_from.min(number);
                self.sent += 1;
                true
            }
            // RFC9000 A.4-1: no ECT until validation has succeeded. RFC9000 13.4.2.2-1: nor after a
            // failure.
            State::Unknown | State::Failed(_) | State::Off => false,
        }
    }

    /// Whether the packet `number` carried ECT; meaningless after a failure.
    pub const fn carries(&self, number: u64) -> bool {
        self.is_probe(number) || number >= self.capable_from
    }

    const fn is_probe(&self, number: u64) -> bool {
        number >= self.first_probe && number < self.probes_end
    }

    /// The packet `number` is declared lost.
    pub fn on_lost(&mut self, number: u64) {
        if self.is_probe(number) {
            self.lost += 1;
            self.judge_probes();
        }
    }

    /// Judges the probes once all of them were sent and no ACK has validated the path.
    fn judge_probes(&mut self) {
        if self.state != State::Unknown {
            return;
        }
        if self.lost >= self.sent {
            // RFC9000 13.4.2-3: all packets with ECT were lost.
            self.state = State::Failed(Failure::Lost);
        } else if self.rule == Ecn::QuicGo && self.seen.ce.saturating_add(self.lost) >= self.sent {
            // QUICGO ecn-mangled: all probes are marked or lost (an option in RFC 9000 A.4).
            self.state = State::Failed(Failure::Mangled);
        }
    }

    /// Processes an ACK frame. Returns the number of newly reported marks to which the sender must
    /// respond.
    pub fn on_ack(&mut self, report: &Report) -> u64 {
        // RFC9000 13.4.2.1-4: a frame that does not advance may be late, and must fail nothing.
        if matches!(self.state, State::Failed(_) | State::Off) || !report.advances {
            return 0;
        }
        // RFC9000 13.4.2.2-2: the checks go on after validation, and later failures count, too.
        let seen = self.seen;
        let Some(counts) = report.counts else {
            if report.acked > 0 {
                // RFC9000 13.4.2.1-1: ECT packets are acknowledged without counts.
                self.state = State::Failed(Failure::Missing);
            }
            return 0;
        };
        if counts.ect0 > self.sent || counts.ect1 > 0 {
            // RFC9000 13.4.2.1-5: more than were sent, or a codepoint that was never sent.
            self.state = State::Failed(Failure::TooMany);
            return 0;
        }
        let marks = counts.ce.checked_sub(seen.ce);
        let rise = counts.ect0.checked_sub(seen.ect0).zip(marks);
        let Some((unmarked, marks)) =
            rise.filter(|(ect0, ce)| ect0.saturating_add(*ce) >= report.acked)
        else {
            // RFC9000 13.4.2.1-2: too small an increase. RFC9000 13.4.2.1-3: a larger one is fine,
            // because ACKs get lost.
            self.state = State::Failed(Failure::TooFew);
            return 0;
        };
        self.seen = counts;
        self.judge_probes();
        // QUICGO ecn-trust: an unmarked packet must have arrived before marks count.
        let valid = match self.rule {
            Ecn::QuicGo => unmarked > 0,
            Ecn::Rfc9000 | Ecn::Off => true,
        };
        if matches!(self.state, State::Testing | State::Unknown) && report.acked > 0 && valid {
            self.state = State::Capable;
        }
        if self.state == State::Capable { marks } else { 0 }
    }

    /// Whether an ACK has validated the path; `false` again after a failure.
    pub fn is_capable(&self) -> bool {
        self.state == State::Capable
    }

    /// Why ECN was switched off.
    pub const fn failure(&self) -> Option<Failure> {
        match self.state {
            State::Failed(failure) => Some(failure),
            _ => None,
        }
    }
}
