//! A scoreboard over a plain vector, with the hooks of an endpoint: what tests of detectors drive.
#![allow(dead_code, reason = "each test file uses its own part")]

use core::cell::Cell;

use firstflight::detection::rack::{Arrival, Facts, Rack};
use firstflight::detection::scoreboard::{
    Id, Ledger, RepeatRule, Scoreboard, SendOrder, Transmission,
};
use firstflight::detection::{Episode, Flags, Losses};
use firstflight::units::{Nanos, Seq, Time};

/// One segment, as the specification lists its fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub start: u64,
    pub end: u64,
    pub first_tx: Time,
    pub last_tx: Time,
    pub tx_count: u32,
    pub nxt_at_last_tx: u64,
    pub ordinal: u64,
    pub flags: Flags,
}

/// All segments of a connection; those below `first` are acknowledged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Board {
    pub segments: Vec<Segment>,
    pub first: u64,
    pub log: Vec<Id>,
    pub ledger: Ledger,
    /// Number of reads of marks: the cost of a detector.
    pub looks: Cell<u64>,
}

impl Board {
    pub(crate) fn new(rule: RepeatRule) -> Board {
        Board { ledger: Ledger::new(rule), ..Board::default() }
    }

    /// `count` segments of `len` bytes, all sent at once.
    pub(crate) fn with(rule: RepeatRule, count: u64, len: u64) -> Board {
        let mut board = Board::new(rule);
        for _ in 0..count {
            board.send(len, Time(0));
        }
        board
    }

    pub(crate) fn nxt(&self) -> u64 {
        self.segments.last().map_or(0, |segment| segment.end)
    }

    pub(crate) fn una(&self) -> u64 {
        self.segments.get(self.first as usize).map_or(self.nxt(), |segment| segment.start)
    }

    pub(crate) fn send(&mut self, len: u64, now: Time) -> Id {
        let id = self.next();
        let start = self.nxt();
        let ordinal = self.log.len() as u64;
        let end = start + len;
        let flags = Flags::NONE;
        self.segments.push(Segment {
            start,
            end,
            first_tx: now,
            last_tx: now,
            tx_count: 1,
            nxt_at_last_tx: end,
            ordinal,
            flags,
        });
        self.log.push(id);
        self.sent(id);
        id
    }

    pub(crate) fn send_again(&mut self, id: Id, now: Time) {
        let transmission =
            Transmission { now, ordinal: self.log.len() as u64, nxt: Seq(self.nxt()) };
        self.log.push(id);
        self.repeat(id, transmission);
    }

    /// Acknowledges the head cumulatively; a detector's `on_acked` comes before.
    pub(crate) fn pop(&mut self) {
        let head = Id(self.first);
        self.acked(head);
        self.first += 1;
    }

    pub(crate) fn outstanding(&self) -> impl Iterator<Item = (Id, &Segment)> {
        let skip = self.first as usize;
        self.segments
            .iter()
            .enumerate()
            .skip(skip)
            .map(|(index, segment)| (Id(index as u64), segment))
    }

    pub(crate) fn segment(&self, id: Id) -> &Segment {
        &self.segments[id.0 as usize]
    }

    /// The delivery of a segment as RACK receives it.
    pub(crate) fn arrival(&self, id: Id) -> Arrival {
        let &Segment { end, last_tx, tx_count, .. } = self.segment(id);
        Arrival { end: Seq(end), last_tx, tx_count, echo: None }
    }

    /// Ids of the outstanding segments marked lost.
    pub(crate) fn lost(&self) -> Vec<u64> {
        self.outstanding()
            .filter(|(_, segment)| segment.flags.has(Flags::LOST))
            .map(|(id, _)| id.0)
            .collect()
    }
}

impl Scoreboard for Board {
    fn ledger(&self) -> &Ledger {
        &self.ledger
    }
    fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }
    fn first(&self) -> Id {
        Id(self.first)
    }
    fn next(&self) -> Id {
        Id(self.segments.len() as u64)
    }
    fn start(&self, id: Id) -> Seq {
        Seq(self.segment(id).start)
    }
    fn end(&self, id: Id) -> Seq {
        Seq(self.segment(id).end)
    }
    fn first_tx(&self, id: Id) -> Time {
        self.segment(id).first_tx
    }
    fn last_tx(&self, id: Id) -> Time {
        self.segment(id).last_tx
    }
    fn tx_count(&self, id: Id) -> u32 {
        self.segment(id).tx_count
    }
    fn nxt_at_last_tx(&self, id: Id) -> Seq {
        Seq(self.segment(id).nxt_at_last_tx)
    }
    fn ordinal(&self, id: Id) -> u64 {
        self.segment(id).ordinal
    }
    fn flags(&self, id: Id) -> Flags {
        self.looks.set(self.looks.get() + 1);
        self.segment(id).flags
    }
    fn set_flags(&mut self, id: Id, flags: Flags) {
        self.segments[id.0 as usize].flags = flags;
    }
    fn record_repeat(&mut self, id: Id, transmission: Transmission) {
        let segment = &mut self.segments[id.0 as usize];
        segment.last_tx = transmission.now;
        segment.tx_count += 1;
        segment.nxt_at_last_tx = transmission.nxt.0;
        segment.ordinal = transmission.ordinal;
    }
}

impl SendOrder for Board {
    fn oldest_sent(&self) -> u64 {
        0
    }
    fn next_sent(&self) -> u64 {
        self.log.len() as u64
    }
    fn sent_as(&self, ordinal: u64) -> Option<Id> {
        self.log.get(ordinal as usize).copied()
    }
}

/// A sender with RACK on a path of constant RTT.
pub(crate) struct Racked {
    pub board: Board,
    pub rack: Rack,
    pub episode: Episode,
    pub rtt: Nanos,
}

impl Racked {
    pub(crate) fn new(rtt: Nanos) -> Racked {
        let (board, rack) = (Board::new(RepeatRule::NewBet), Rack::default());
        Racked { board, rack, episode: Episode::None, rtt }
    }

    pub(crate) fn send(&mut self, len: u64, now: Time) {
        let id = self.board.send(len, now);
        self.rack.on_sent(now, self.board.end(id));
    }

    pub(crate) fn repeat(&mut self, id: Id, now: Time) {
        self.board.send_again(id, now);
        self.rack.on_sent(now, self.board.end(id));
    }

    /// RACK receives an ACK of these deliveries, which the board has taken in.
    pub(crate) fn deliver(&mut self, now: Time, arrivals: &[Arrival]) {
        for arrival in arrivals {
            self.rack.on_delivered(now, arrival, Some(self.rtt));
        }
        self.rack.on_ack(&Facts {
            una: Seq(self.board.una()),
            nxt: Seq(self.board.nxt()),
            episode: self.episode,
            sacked_segments: self.board.ledger.sacked_segments(),
            min_rtt: Some(self.rtt),
            srtt: Some(self.rtt),
            ..Facts::default()
        });
    }
}

pub(crate) fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

pub(crate) fn at(millis: u64) -> Time {
    Time(0) + ms(millis)
}

/// Lost ids must be what `expected` says, in ascending order.
#[track_caller]
pub(crate) fn assert_lost(what: &str, board: &Board, losses: &Losses, expected: &[u64]) {
    assert_eq!(
        board.lost(),
        expected,
        "{what}: the marked segments are on the left, the expected ones on the right"
    );
    assert_eq!(
        losses.segments,
        expected.len() as u64,
        "{what}: the detector reports {} losses and marked {}",
        losses.segments,
        expected.len()
    );
}
