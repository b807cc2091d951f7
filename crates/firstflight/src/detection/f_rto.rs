//! F-RTO: finds out whether a timeout was spurious before the rest of the window is retransmitted.
//!
//! After a timeout only the head is retransmitted. If the next ACK advances, two new segments are
//! sent instead of retransmissions, and the following ACK decides. If it acknowledges data that was
//! sent before the timeout and never retransmitted, that data was in flight all the time. If it
//! reports only the new segments, the old ones are lost.
//!
//! Follows RFC 5682 (September 2009) section 3, SACK form. State: 24 bytes. Departures: D1 the
//! scoreboard is kept (the document resets it), see the timeout's own D1. D2 in step 3 an ACK that
//! newly acknowledges only data retransmitted before decides nothing, and the test waits. D3
//! (Linux, option) any newly delivered byte that was never retransmitted proves it at once, already
//! in step 2.

use crate::units::Seq;

/// When a timeout is proven spurious.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Proof {
    /// In step 3 only.
    #[default]
    Rfc5682,
    /// As soon as a byte arrives that was never retransmitted.
    Linux,
}

/// Whether the timeout is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Start {
    /// Retransmit the head only.
    Probing,
    /// Ordinary timeout recovery up to `nxt`.
    Ordinary,
}

/// One ACK after the timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The acknowledgement number.
    pub ack: Seq,
    /// Whether it advanced `una`.
    pub advanced: bool,
    /// Whether it is a duplicate ACK by the rules of the connection; a DSACK alone is not.
    pub duplicate: bool,
    /// The highest end acknowledged, by SACK or cumulatively, including this ACK.
    pub fack: Seq,
    /// Whether it newly delivers data below the data sent since the timeout.
    pub fresh: bool,
    /// Whether it newly delivers a byte first sent before the timeout and never retransmitted.
    pub fresh_original: bool,
    /// The next never-sent byte.
    pub nxt: Seq,
    /// Whether new data is queued and the receiver's window allows a segment of it.
    pub new_data: bool,
}

/// Result of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// No test is running, or the test continues.
    None,
    /// Send up to two new segments and nothing else.
    SendNew,
    /// The timeout was real, or this cannot be decided: ordinary recovery with a window of at most
    /// `cap` segments (`None`: as in slow start).
    Ordinary {
        /// Cap on the window, in segments.
        cap: Option<u64>,
    },
    /// The timeout was spurious: undo, remove the marks, and retransmit nothing more.
    Spurious,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    #[default]
    Idle,
    /// Step 2: the head was retransmitted; `end` is the end of the data sent so far.
    Head { end: Seq },
    /// Step 3: up to two new segments were sent beyond `point`.
    New { point: Seq },
}

/// The test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FRto {
    proof: Proof,
    step: Step,
}

impl FRto {
    /// Creates the state of a connection that uses this kind of proof.
    pub fn new(proof: Proof) -> FRto {
        FRto { proof, step: Step::Idle }
    }

    /// Whether the test is running: lost marks stay, but nothing is retransmitted; only the new
    /// segments of [`Verdict::SendNew`] may leave.
    #[inline]
    pub fn holds_repeats(&self) -> bool {
        self.step != Step::Idle
    }

    /// A timeout, the first or a further one. `earlier`: where an earlier recovery ends
    /// (exclusive), if it was not completed.
    pub fn on_timeout(&mut self, una: Seq, earlier: Option<Seq>, nxt: Seq) -> Start {
        // RFC5682 3-1: retransmissions of an earlier recovery may still be in flight, and their
        // ACKs would look like proof.
        if earlier.is_some_and(|end| end > una) {
            self.step = Step::Idle;
            return Start::Ordinary;
        }
        self.step = Step::Head { end: nxt };
        Start::Probing
    }

    /// Processes an ACK after the scoreboard update.
    pub fn on_ack(&mut self, facts: &Facts) -> Verdict {
        let verdict = match self.step {
            Step::Idle => Verdict::None,
            // LINUX frto-early: any original proves it, in step 2 as well (D3).
            _ if self.proof == Proof::Linux && facts.fresh_original => Verdict::Spurious,
            Step::Head { end } => Self::after_head(facts, end),
            Step::New { point } => Self::after_new(facts, point),
        };
        self.step = match verdict {
            Verdict::None => self.step,
            Verdict::SendNew => Step::New { point: facts.nxt },
            Verdict::Ordinary { .. } | Verdict::Spurious => Step::Idle,
        };
        verdict
    }

    /// RFC5682 3-2: duplicates only update the scoreboard; the first ACK that advances decides.
    fn after_head(facts: &Facts, end: Seq) -> Verdict {
        if !facts.advanced {
            Verdict::None
        } else if facts.ack >= facts.nxt.min(end) {
            // RFC5682 3-2a: everything is acknowledged, so no data from before the timeout is left
            // to test.
            Verdict::Ordinary { cap: Some(2) }
        } else if facts.new_data {
            // RFC5682 3-2b: up to two new segments; without new data the test is impossible.
            Verdict::SendNew
        } else {
            Verdict::Ordinary { cap: None }
        }
    }

    /// RFC5682 3-3: checks whether old or new data arrived.
    fn after_new(facts: &Facts, point: Seq) -> Verdict {
        if !facts.advanced && !facts.duplicate {
            return Verdict::None;
        }
        if facts.fack > point || (facts.duplicate && !facts.fresh) {
            // RFC5682 3-3a: the ACK reports the new segments, or nothing new: the timeout was real.
            Verdict::Ordinary { cap: Some(3) }
        } else if facts.fresh_original {
            // RFC5682 3-3b: an original was in flight all the time.
            Verdict::Spurious
        } else {
            Verdict::None
        }
    }

    /// Stops the test, because the connection's state invalidated it (an episode opened, or nothing
    /// is outstanding).
    pub fn stop(&mut self) {
        self.step = Step::Idle;
    }
}
