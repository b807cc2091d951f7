//! The rules that mark segments lost, and the record of recent retransmissions.

use crate::ring::Ring;
use crate::tcp::Board;
use firstflight::detection::dupack::DupAck;
use firstflight::detection::lost_repeat::LostRepeats;
use firstflight::detection::presets::{LostRepeat, Marking, Preset};
use firstflight::detection::rack::{Arrival, Facts, Rack};
use firstflight::detection::reordering::Reordering;
use firstflight::detection::{Episode, Id, Losses, Scoreboard};
use firstflight::{Nanos, Seq, Time};

/// A counting rule with its state, or RACK.
#[derive(Clone, Debug)]
pub(super) enum Marker {
    Counting { rule: DupAck, reordering: Reordering, lost_repeats: Option<LostRepeats> },
    Rack(Rack),
}

/// A newly delivered segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivered {
    pub now: Time,
    pub id: Id,
    pub echo: Option<Time>,
    pub min_rtt: Option<Nanos>,
    /// The highest delivered end before this ACK.
    pub fack: Seq,
    pub mss: u64,
}

impl Marker {
    pub(super) fn new(preset: &Preset) -> Marker {
        match preset.marking {
            Marking::Counting(rule) => Marker::Counting {
                rule: DupAck::new(rule),
                reordering: Reordering::default(),
                lost_repeats: (preset.lost_repeats == LostRepeat::BySacks)
                    .then(LostRepeats::default),
            },
            // QUIC's own rule needs packet numbers; RACK is the closest rule here.
            Marking::Rack | Marking::Quic if !preset.linux => Marker::Rack(Rack::default()),
            Marking::Rack | Marking::Quic => Marker::Rack(Rack::linux()),
        }
    }

    pub(super) fn is_rack(&self) -> bool {
        matches!(self, Marker::Rack(_))
    }

    pub(super) fn reordering(&self) -> Reordering {
        match self {
            Marker::Counting { reordering, .. } => *reordering,
            Marker::Rack(_) => Reordering::default(),
        }
    }

    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, end: Seq) {
        if let Marker::Rack(rack) = self {
            rack.on_sent(now, end);
        }
    }

    /// Called right after the scoreboard recorded a SACK.
    #[inline]
    pub(super) fn on_sacked(&mut self, board: &Board, id: Id) {
        if let Marker::Counting { rule, .. } = self {
            rule.on_sacked(board, id);
        }
    }

    /// Called right before a cumulatively acknowledged segment leaves the scoreboard.
    #[inline]
    pub(super) fn on_acked(&mut self, board: &Board, id: Id) {
        if let Marker::Counting { rule, .. } = self {
            rule.on_acked(board, id);
        }
    }

    #[inline(always)]
    pub(super) fn on_delivered(&mut self, board: &Board, delivered: &Delivered) {
        let Delivered { now, id, echo, min_rtt, fack, mss } = *delivered;
        match self {
            Marker::Counting { reordering, .. } => {
                reordering.on_delivered(board.start(id), board.tx_count(id), fack, mss);
            }
            Marker::Rack(rack) => {
                let (last_tx, tx_count, end) =
                    (board.last_tx(id), board.tx_count(id), board.end(id));
                rack.on_delivered(now, &Arrival { end, last_tx, tx_count, echo }, min_rtt);
            }
        }
    }

    /// The segments that an ACK marks; with counting rules also the head, if an episode opens.
    #[inline(always)]
    pub(super) fn detect(
        &mut self,
        board: &mut Board,
        now: Time,
        heard: Heard,
        facts: &Facts,
        mss: u64,
    ) -> (Losses, Option<Time>) {
        match self {
            Marker::Rack(rack) => {
                rack.on_ack(facts);
                let found = rack.detect(board, now);
                (found.losses, found.deadline)
            }
            Marker::Counting { rule, reordering, lost_repeats } => {
                rule.count(heard.advanced, heard.duplicate);
                let found =
                    rule.detect(board, *reordering, mss, facts.episode, heard.advanced).losses;
                // Counting marks an original, even if a retransmission of it is in flight (NextSeg
                // rule 3): no retransmission was lost.
                let mut losses = Losses { latest_repeat: None, ..found };
                if let Some(lost_repeats) = lost_repeats {
                    let highest = board.ledger().fack();
                    losses.merge(lost_repeats.detect(
                        board,
                        highest,
                        !reordering.seen(),
                        *reordering,
                        mss,
                    ));
                }
                (losses, None)
            }
        }
    }

    /// Processes an ACK on which no segment may be marked.
    pub(super) fn note(&mut self, facts: &Facts) {
        if let Marker::Rack(rack) = self {
            rack.on_ack(facts);
        }
    }

    /// The reordering timer fired.
    pub(super) fn on_timer(&mut self, board: &mut Board, now: Time) -> (Losses, Option<Time>) {
        match self {
            Marker::Rack(rack) => {
                let found = rack.expire(board, now);
                (found.losses, found.deadline)
            }
            Marker::Counting { .. } => (Losses::default(), None),
        }
    }

    /// Whether RACK has seen reordering.
    pub(super) fn has_seen_reordering(&self) -> bool {
        matches!(self, Marker::Rack(rack) if rack.reordering_seen())
    }

    pub(super) fn rack(&mut self) -> Option<&mut Rack> {
        match self {
            Marker::Rack(rack) => Some(rack),
            Marker::Counting { .. } => None,
        }
    }

    /// Called after marks were removed.
    pub(super) fn rewind(&mut self, board: &Board) {
        match self {
            Marker::Counting { rule, .. } => rule.rewind(board),
            Marker::Rack(rack) => rack.rewind(),
        }
    }

    /// A DSACK proved a retransmission unnecessary.
    pub(super) fn on_needless_repeat(&mut self, repeat: &Repeat, mss: u64) {
        if let Marker::Counting { reordering, .. } = self {
            reordering.on_needless_repeat(Seq(repeat.start), Seq(repeat.fack), mss);
        }
    }
}

/// The properties of an ACK that counting rules use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    pub advanced: bool,
    pub duplicate: bool,
}

/// A retransmission, as it was when it left.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Repeat {
    pub start: u64,
    /// The highest delivered end at that time.
    pub fack: u64,
    /// Whether early retransmit caused it.
    pub early: bool,
    /// Whether a duplicate of it was reported.
    pub reported: bool,
}

/// The latest retransmissions: a DSACK arrives long after its segment has left the scoreboard.
#[derive(Clone, Debug, Default)]
pub(super) struct Repeats {
    ring: Ring<Repeat>,
}

impl Repeats {
    /// Older entries are dropped: a DSACK arrives within a round trip or two.
    const MOST: u64 = 512;

    pub(super) fn add(&mut self, repeat: Repeat) {
        self.ring.push(repeat);
        if self.ring.end() - self.ring.base() > Self::MOST {
            self.ring.pop();
        }
    }

    /// A duplicate of the segment that starts at `start` is reported. Returns the latest
    /// retransmission that may have caused it, or `None` if the path made the copy.
    pub(super) fn report(&mut self, start: u64) -> Option<Repeat> {
        let number = (self.ring.base()..self.ring.end()).rev().find(|&number| {
            let repeat = self.ring.get(number);
            repeat.start == start && !repeat.reported
        })?;
        let repeat = self.ring.get_mut(number);
        repeat.reported = true;
        Some(*repeat)
    }
}

/// Whether the losses may open an episode: detectors that mark outside an episode always include
/// the head.
pub(super) fn opens(losses: &Losses, episode: Episode) -> bool {
    episode == Episode::None && !losses.is_empty()
}
