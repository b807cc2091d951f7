//! Every detector over one scoreboard, through any history: sends, SACKs in any order, cumulative
//! ACKs, repeats of what `next_seg` chooses, timeouts, marks taken back, SACKs forgotten, and a
//! clock that may stand, leap or go backwards. After every step the totals of the ledger are those
//! of a walk, nothing SACKed is marked lost or chosen for a repeat, and what a detector reports is
//! what it marked.
#![no_main]

#[path = "../../crates/firstflight/tests/it/detection_board/mod.rs"]
mod detection_board;
#[path = "../../crates/firstflight/tests/it/history/source.rs"]
#[allow(dead_code, reason = "the random generator is for the test that shares the module")]
mod source;

use detection_board::Board;
use firstflight::detection::dupack::{DupAck, Rule};
use firstflight::detection::lost_repeat::LostRepeats;
use firstflight::detection::quic::{self, PersistentCongestion, QuicLoss};
use firstflight::detection::rack::{Arrival, Facts, Rack};
use firstflight::detection::reordering::Reordering;
use firstflight::detection::rto::{Options, Rto};
use firstflight::detection::{
    Choice, Episode, Flags, Id, Losses, NextSeg, RepeatRule, Rules, Scoreboard,
};
use firstflight::{Nanos, Seq, Time};
use source::Source;

const MSS: u64 = 1_448;
/// Outstanding segments, at most: every step walks them all.
const MOST: u64 = 200;

/// Which detector judges this history; they do not share a scoreboard in any connection.
enum Detector {
    Counting(DupAck),
    Rack(Rack),
    Quic(QuicLoss, u64),
}

struct Connection<'a> {
    source: Source<'a>,
    board: Board,
    detector: Detector,
    repeats: LostRepeats,
    next: NextSeg,
    reordering: Reordering,
    rto: Rto,
    episode: Episode,
    now: Time,
}

impl Connection<'_> {
    fn outstanding(&self) -> u64 {
        self.board.next().0 - self.board.first
    }

    fn deliver(&mut self, id: Id, cumulative: bool) {
        let segment = *self.board.segment(id);
        let known = segment.flags.has(Flags::SACKED);
        let fack = self.board.ledger.fack();
        if !known {
            self.reordering.on_delivered(Seq(segment.start), segment.tx_count, fack, MSS);
            let arrival = Arrival {
                end: Seq(segment.end),
                last_tx: segment.last_tx,
                tx_count: segment.tx_count,
                echo: None,
            };
            if let Detector::Rack(rack) = &mut self.detector {
                let min_rtt =
                    (self.source.u8() & 1 == 1).then(|| Nanos(self.source.wild(20_000_000)));
                rack.on_delivered(self.now, &arrival, min_rtt);
            }
        }
        if let Detector::Quic(_, largest) = &mut self.detector {
            *largest = (*largest).max(segment.ordinal);
        }
        if cumulative {
            if let Detector::Counting(counting) = &mut self.detector {
                counting.on_acked(&self.board, id);
            }
            self.board.pop();
        } else if self.board.mark_sacked(id)
            && let Detector::Counting(counting) = &mut self.detector
        {
            counting.on_sacked(&self.board, id);
        }
    }

    fn detect(&mut self, advanced: bool) {
        let before = self.board.clone();
        let mut losses = Losses::default();
        match &mut self.detector {
            Detector::Counting(counting) => {
                let found =
                    counting.detect(&mut self.board, self.reordering, MSS, self.episode, advanced);
                losses.merge(found.losses);
                if found.enter {
                    assert_eq!(self.episode, Episode::None, "an episode opens inside another");
                    self.episode = Episode::Fast;
                    self.next.open(&self.board, Seq(self.board.nxt()));
                }
            }
            Detector::Rack(rack) => {
                let facts = Facts {
                    una: Seq(self.board.una()),
                    nxt: Seq(self.board.nxt()),
                    dsack: self.source.u8() & 15 == 15,
                    ends_recovery: self.board.is_empty(),
                    episode: self.episode,
                    sacked_segments: self.board.ledger.sacked_segments(),
                    min_rtt: Some(Nanos(self.source.wild(20_000_000))),
                    srtt: Some(Nanos(self.source.wild(25_000_000))),
                };
                rack.on_ack(&facts);
                losses.merge(rack.detect(&mut self.board, self.now).losses);
            }
            Detector::Quic(loss, largest) => {
                let rtt =
                    quic::Rtt { srtt: Nanos(self.source.wild(20_000_000)), ..quic::Rtt::default() };
                let (found, deadline) =
                    loss.detect(&mut self.board, *largest, self.now, rtt.loss_delay());
                assert!(
                    deadline.is_none_or(|at| at > self.now),
                    "the loss time {deadline:?} has passed, it is {:?}",
                    self.now
                );
                losses.merge(found);
                let mut persistent = PersistentCongestion::new(
                    Some(Time(1)),
                    rtt.persistent_span(Nanos::from_millis(25)),
                );
                for (id, segment) in before.outstanding() {
                    let fate = if segment.flags.has(Flags::SACKED) {
                        quic::Fate::Acked
                    } else if self.board.flags(id).has(Flags::LOST) {
                        quic::Fate::Lost
                    } else {
                        quic::Fate::Open
                    };
                    persistent.present(segment.last_tx, true, fate);
                }
            }
        }
        // Each reported loss was marked, once.
        let (mut bytes, mut segments) = (0, 0);
        for (id, segment) in before.outstanding() {
            let marked = self.board.flags(id).has(Flags::LOST);
            assert!(
                !(marked && segment.flags.has(Flags::SACKED)),
                "{id:?} is SACKed and marked lost"
            );
            assert!(
                marked || !segment.flags.has(Flags::LOST),
                "a detector takes back the mark of {id:?}"
            );
            if marked && !segment.flags.has(Flags::LOST) {
                (bytes, segments) = (bytes + segment.end - segment.start, segments + 1);
            }
        }
        assert_eq!(
            (losses.bytes, losses.segments),
            (bytes, segments),
            "reported on the left, marked on the right"
        );
        if let Detector::Counting(_) = self.detector
            && self.episode != Episode::None
            && let Some(highest) = self.board.ledger.highest_sacked()
        {
            let end = self.board.end(highest);
            self.repeats.detect(&mut self.board, end, false, self.reordering, MSS);
        }
        if segments > 0 && self.episode == Episode::None {
            self.episode = Episode::Fast;
            self.next.open(&self.board, Seq(self.board.nxt()));
        }
    }

    fn repeat(&mut self) {
        let choice = self.next.choose(&mut self.board, false);
        let id = match choice {
            Choice::Lost(id) | Choice::Unsure(id) => id,
            Choice::Rescue => match self.board.highest_unsacked() {
                Some(id) => id,
                None => return,
            },
            Choice::New | Choice::Nothing => return,
        };
        assert!(self.board.holds(id), "{choice:?} is not outstanding");
        assert!(!self.board.flags(id).has(Flags::SACKED), "{choice:?} is SACKed");
        self.board.send_again(id, self.now);
        self.next.on_sent(choice);
        if let Detector::Rack(rack) = &mut self.detector {
            rack.on_sent(self.now, self.board.end(id));
        }
    }

    fn rewind(&mut self) {
        match &mut self.detector {
            Detector::Counting(counting) => counting.rewind(&self.board),
            Detector::Rack(rack) => rack.rewind(),
            Detector::Quic(loss, _) => *loss = QuicLoss::default(),
        }
        self.episode = Episode::None;
    }

    fn step(&mut self) {
        match self.source.below(16) {
            0..=3 if self.outstanding() < MOST => {
                // In QUIC and RACK alike a new segment gets the next ordinal.
                let id = self.board.send(u64::from(self.source.u8()) + 1, self.now);
                if let Detector::Rack(rack) = &mut self.detector {
                    rack.on_sent(self.now, self.board.end(id));
                }
                self.rto.on_sent(self.now, Nanos(self.source.wild(200_000_000)));
            }
            4..=6 if self.outstanding() > 1 => {
                let id = Id(self.board.first
                    + 1
                    + u64::from(self.source.u8()) % (self.outstanding() - 1));
                self.deliver(id, false);
                if let Detector::Counting(counting) = &mut self.detector {
                    counting.count(false, true);
                }
                self.detect(false);
            }
            7..=8 if self.outstanding() > 0 => {
                for _ in 0..u64::from(self.source.u8() % 8).min(self.outstanding() - 1) + 1 {
                    self.deliver(self.board.first(), true);
                }
                while !self.board.is_empty()
                    && self.board.flags(self.board.first()).has(Flags::SACKED)
                {
                    self.deliver(self.board.first(), true);
                }
                let (una, any) = (Seq(self.board.una()), !self.board.is_empty());
                self.rto.on_advance(self.now, Nanos(self.source.wild(200_000_000)), una, any);
                if self.board.is_empty() {
                    self.episode = Episode::None;
                }
                if let Detector::Counting(counting) = &mut self.detector {
                    counting.count(true, false);
                }
                self.detect(true);
            }
            9..=10 => self.repeat(),
            11 if self.outstanding() > 0 => {
                let rack =
                    if let Detector::Rack(rack) = &mut self.detector { Some(rack) } else { None };
                let losses = self.rto.mark(&mut self.board, rack, self.now);
                self.rto.allows_episode(&losses);
                self.episode = Episode::Timeout;
                self.next.open(&self.board, Seq(self.board.nxt()));
            }
            12 => {
                self.board.remark(|_| Flags::NONE);
                self.rewind();
            }
            13 => {
                self.board.forget_sacks();
                self.rewind();
            }
            14 => self.now += Nanos::from_millis(self.source.u8().into()),
            15 if self.source.u8() & 7 == 7 => self.now = Time(self.source.wild(self.now.0)),
            _ => self.detect(false),
        }
        self.totals();
    }

    /// The ledger against a walk.
    fn totals(&mut self) {
        let (mut outstanding, mut sacked, mut lost, mut repeated, mut pipe) = (0, 0, 0, 0, 0);
        for (_, segment) in self.board.outstanding() {
            let len = segment.end - segment.start;
            let is = |flag| u64::from(segment.flags.has(flag)) * len;
            outstanding += len;
            if segment.flags.has(Flags::SACKED) {
                sacked += len;
            } else {
                lost += is(Flags::LOST);
                repeated += is(Flags::REPEATED);
                pipe += len - is(Flags::LOST) + is(Flags::REPEATED);
            }
        }
        let l = &self.board.ledger;
        let found = (l.outstanding(), l.sacked(), l.lost(), l.repeated(), l.pipe());
        assert_eq!(
            found,
            (outstanding, sacked, lost, repeated, pipe),
            "totals on the left, a walk's on the right"
        );
        if let Some(id) = self.board.next_lost() {
            let flags = self.board.flags(id);
            assert!(
                flags.has(Flags::LOST) && !flags.has(Flags::SACKED),
                "{id:?} is not lost: {flags:?}"
            );
        }
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut source = Source::new(bytes);
    let (rule, detector, rules) = match source.below(6) {
        0 => (
            RepeatRule::KeepsMark,
            Detector::Counting(DupAck::new(Rule::Duplicates)),
            Rules::LostFirst,
        ),
        1 => {
            (RepeatRule::KeepsMark, Detector::Counting(DupAck::new(Rule::Rfc3517)), Rules::Rfc3517)
        }
        2 => {
            (RepeatRule::KeepsMark, Detector::Counting(DupAck::new(Rule::Rfc6675)), Rules::Rfc6675)
        }
        3 => (RepeatRule::KeepsMark, Detector::Counting(DupAck::new(Rule::Fack)), Rules::Rfc6675),
        4 => (RepeatRule::NewBet, Detector::Rack(Rack::default()), Rules::LostFirst),
        _ => (RepeatRule::NewBet, Detector::Quic(QuicLoss::default(), 0), Rules::LostFirst),
    };
    let mut c = Connection {
        source,
        board: Board::new(rule),
        detector,
        repeats: LostRepeats::default(),
        next: NextSeg::new(rules),
        reordering: Reordering::default(),
        rto: Rto::new(Options::default()),
        episode: Episode::None,
        now: Time(1_000_000_000),
    };
    let mut steps = 0;
    while !c.source.is_empty() && steps < 2_000 {
        c.step();
        steps += 1;
    }
});
