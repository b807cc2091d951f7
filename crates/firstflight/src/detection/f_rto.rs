//! F-RTO: was the timeout spurious? Find out before repeating the rest of the window.
//!
//! After a timeout only the head is repeated. If the next ACK moves on, two new segments are sent
//! instead of repeats, and the ACK after that decides: data acknowledged that was sent before the
//! timeout and never repeated must have been on its way all the time; news of the new segments only
//! means that the old ones are gone.
//!
//! Follows RFC 5682 (September 2009) section 3, SACK form. State: 24 bytes.
//! Departures: D1 the scoreboard is kept (the document resets it), see the timeout's own D1.
//! D2 in step 3 an ACK whose only news is data that had been repeated before decides nothing and is
//! waited out. D3 (Linux, option) any newly delivered, never repeated byte proves it at once,
//! already in step 2.

use crate::units::Seq;

/// When it is proven.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Proof {
    /// In step 3 only.
    #[default]
    Rfc5682,
    /// As soon as a byte never repeated arrives.
    Linux,
}

/// Whether the timeout is put to the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Start {
    /// Repeat the head only.
    Probing,
    /// Ordinary timeout recovery up to `nxt`.
    Ordinary,
}

/// One ACK after the timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The acknowledgement number.
    pub ack: Seq,
    /// It moved `una`.
    pub advanced: bool,
    /// It is a duplicate ACK by the rules of the connection; a DSACK alone is none.
    pub duplicate: bool,
    /// The highest end acknowledged, by SACK or cumulatively, including this ACK.
    pub fack: Seq,
    /// It newly delivers something below the data sent since the timeout.
    pub fresh: bool,
    /// It newly delivers a byte first sent before the timeout and never repeated.
    pub fresh_original: bool,
    /// The next never-sent byte.
    pub nxt: Seq,
    /// New data is queued and the receiver's window allows a segment of it.
    pub new_data: bool,
}

/// What an ACK led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// No test is running, or it goes on.
    None,
    /// Send up to two new segments and nothing else.
    SendNew,
    /// The timeout was real, or cannot be told: ordinary recovery, the window at most this many
    /// segments (`None`: as slow start has it).
    Ordinary {
        /// Cap on the window, in segments.
        cap: Option<u64>,
    },
    /// The timeout was spurious: undo, take back the marks, repeat nothing more.
    Spurious,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    #[default]
    Idle,
    /// Step 2: the head was repeated; `end` is what had been sent.
    Head { end: Seq },
    /// Step 3: up to two new segments went out beyond `point`.
    New { point: Seq },
}

/// The test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FRto {
    proof: Proof,
    step: Step,
}

impl FRto {
    /// With this kind of proof.
    pub fn new(proof: Proof) -> FRto {
        FRto { proof, step: Step::Idle }
    }

    /// The test is running: lost marks stand, but nothing is repeated; only the new segments of
    /// [`Verdict::SendNew`] may leave.
    #[inline]
    pub fn holds_repeats(&self) -> bool {
        self.step != Step::Idle
    }

    /// A timeout, the first or a further one. `earlier`: where an earlier recovery ends
    /// (exclusive), if it was not completed.
    pub fn on_timeout(&mut self, una: Seq, earlier: Option<Seq>, nxt: Seq) -> Start {
        // RFC5682 3-1: repeats of an earlier recovery may still be on their way, and their ACKs
        // would look like proof.
        if earlier.is_some_and(|end| end > una) {
            self.step = Step::Idle;
            return Start::Ordinary;
        }
        self.step = Step::Head { end: nxt };
        Start::Probing
    }

    /// An ACK, after the scoreboard update.
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
            // RFC5682 3-2a: everything is acknowledged, so nothing sent before the timeout is left
            // to tell.
            Verdict::Ordinary { cap: Some(2) }
        } else if facts.new_data {
            // RFC5682 3-2b: up to two new segments; without any it cannot be told.
            Verdict::SendNew
        } else {
            Verdict::Ordinary { cap: None }
        }
    }

    /// RFC5682 3-3: old data or new, which arrived?
    fn after_new(facts: &Facts, point: Seq) -> Verdict {
        if !facts.advanced && !facts.duplicate {
            return Verdict::None;
        }
        if facts.fack > point || (facts.duplicate && !facts.fresh) {
            // RFC5682 3-3a: news of the new segments, or nothing new: the timeout was real.
            Verdict::Ordinary { cap: Some(3) }
        } else if facts.fresh_original {
            // RFC5682 3-3b: an original was on its way all the time.
            Verdict::Spurious
        } else {
            Verdict::None
        }
    }

    /// The connection's state made the test void (an episode opened, nothing is outstanding).
    pub fn stop(&mut self) {
        self.step = Step::Idle;
    }
}
