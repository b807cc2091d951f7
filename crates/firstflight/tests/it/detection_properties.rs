//! Detectors against plain restatements of their rules, on random histories. Rows L0 to L13 are the
//! invariants of the loss-detection rules; L14 and L15 speak of a whole endpoint and are shown
//! there, L16 is shown by running everything twice.

use crate::detection_board;

use detection_board::{Board, Racked, at, ms};
use firstflight::detection::dupack::{DupAck, Rule};
use firstflight::detection::early_retransmit::{
    Act, Clock, EarlyRetransmit, Flight, Guard, MIN_DELAY, Options, Threshold, When,
};
use firstflight::detection::f_rto::{self, FRto, Verdict};
use firstflight::detection::limited_transmit::{LimitedTransmit, Room, Wording};
use firstflight::detection::quic::QuicLoss;
use firstflight::detection::rack::{Arrival, Facts, Rack};
use firstflight::detection::reordering::Reordering;
use firstflight::detection::rto::{self, Rto, Sent};
use firstflight::detection::{
    Armed, Choice, Episode, Flags, Id, NextSeg, RepeatRule, Rules, Scoreboard,
};
use firstflight::units::{Nanos, Seq, Time};
use proptest::prelude::*;

/// Something that happens to a connection. Numbers are reduced to what is outstanding at the
/// moment.
#[derive(Clone, Copy, Debug)]
enum Event {
    Send { len: u64 },
    Sack { which: u64 },
    Ack { count: u64 },
    Repeat,
    Probe,
    Timeout,
    Undo,
    Wait { ms: u64 },
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (1u64..=3).prop_map(|len| Event::Send { len: len * 500 }),
        8 => any::<u64>().prop_map(|which| Event::Sack { which }),
        3 => (1u64..4).prop_map(|count| Event::Ack { count }),
        4 => Just(Event::Repeat),
        1 => Just(Event::Probe),
        1 => Just(Event::Undo),
        4 => (0u64..60).prop_map(|ms| Event::Wait { ms }),
    ]
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec(prop_oneof![40 => event(), 1 => Just(Event::Timeout)], 1..300)
}

const MSS: u64 = 1000;

/// L0, L12: marks exclude each other and the totals are what a walk over the scoreboard finds.
fn check_totals(board: &mut Board) {
    let (mut outstanding, mut sacked, mut lost, mut repeated, mut pipe) = (0, 0, 0, 0, 0);
    let (mut sacked_segments, mut waiting, mut lowest, mut highest) = (0, 0, None, None);
    for (id, segment) in board.outstanding() {
        let (len, flags) = (segment.end - segment.start, segment.flags);
        outstanding += len;
        if flags.has(Flags::SACKED) {
            assert!(!flags.has(Flags::LOST), "L0: segment {id:?} is SACKed and lost");
            assert!(
                !flags.has(Flags::REPEATED),
                "segment {id:?} is SACKed and its repeat still counts"
            );
            (sacked, sacked_segments, highest) = (sacked + len, sacked_segments + 1, Some(id));
            continue;
        }
        let (is_lost, is_repeated) = (flags.has(Flags::LOST), flags.has(Flags::REPEATED));
        lost += if is_lost { len } else { 0 };
        repeated += if is_repeated { len } else { 0 };
        pipe += len * (u64::from(!is_lost) + u64::from(is_repeated));
        if is_lost && !is_repeated {
            waiting += 1;
            lowest = lowest.or(Some(id));
        }
    }
    let found = (
        board.ledger.outstanding(),
        board.ledger.sacked(),
        board.ledger.lost(),
        board.ledger.repeated(),
        board.ledger.pipe(),
    );
    assert_eq!(
        found,
        (outstanding, sacked, lost, repeated, pipe),
        "L12: totals on the left, a walk's on the right"
    );
    let found =
        (board.ledger.sacked_segments(), board.ledger.waiting(), board.ledger.highest_sacked());
    assert_eq!(
        found,
        (sacked_segments, waiting, highest),
        "counts on the left, a walk's on the right"
    );
    assert!(board.is_consistent(), "what this walk found right, the board's own finds wrong");
    assert_eq!(
        board.next_lost(),
        lowest,
        "the lowest lost segment on the left, a walk's on the right"
    );
}

/// Section 3.2, read off the scoreboard: is `x` lost?
fn is_lost(board: &Board, rule: Rule, reordering: Reordering, x: Id) -> bool {
    let (mut bytes, mut segments, mut ranges, mut joins, mut highest) = (0, 0, 0, false, None);
    for (id, segment) in board.outstanding().filter(|(id, _)| *id > x) {
        let here = segment.flags.has(Flags::SACKED);
        if here {
            bytes += segment.end - segment.start;
            segments += 1;
            ranges += u64::from(!joins);
            highest = Some(id);
        }
        joins = here;
    }
    let degree = u64::from(reordering.degree());
    match rule {
        Rule::Duplicates => false,
        Rule::Rfc3517 => ranges >= 3 || bytes >= 3 * MSS,
        Rule::Rfc6675 => ranges >= 3 || bytes > 2 * MSS,
        Rule::Fack if reordering.seen() => segments >= degree,
        Rule::Fack => highest.is_some_and(|highest| {
            let fackets = highest.0 - board.first + 1;
            x.0 - board.first + degree < fackets
        }),
    }
}

/// A connection with a counting detector.
struct Counted {
    board: Board,
    detector: DupAck,
    next: NextSeg,
    reordering: Reordering,
    episode: Episode,
    rule: Rule,
    now: Time,
    /// Segments marked since the last reset of marks, and the highest among them: marks stay
    /// although FACK may be switched off.
    ever: Vec<u64>,
}

impl Counted {
    fn new(rule: Rule) -> Counted {
        let rules = if rule == Rule::Rfc3517 { Rules::Rfc3517 } else { Rules::Rfc6675 };
        Counted {
            board: Board::new(RepeatRule::KeepsMark),
            detector: DupAck::new(rule),
            next: NextSeg::new(rules),
            reordering: Reordering::default(),
            episode: Episode::None,
            rule,
            now: Time(0),
            ever: Vec::new(),
        }
    }

    fn sack(&mut self, which: u64) {
        let count = self.board.next().0 - self.board.first;
        if count < 2 {
            return;
        }
        // The head is never SACKed: it would be acknowledged.
        let id = Id(self.board.first + 1 + which % (count - 1));
        let (fack, segment) = (self.board.ledger.fack(), *self.board.segment(id));
        let fresh = self.board.mark_sacked(id);
        if fresh {
            self.detector.on_sacked(&self.board, id);
            self.reordering.on_delivered(Seq(segment.start), segment.tx_count, fack, MSS);
        }
        self.detector.count(false, fresh);
        self.detect(false);
    }

    fn ack(&mut self, count: u64) {
        let before = self.board.first;
        let fack = self.board.ledger.fack();
        for _ in 0..count {
            let head = self.board.first();
            let follows = self.board.first > before
                && head < self.board.next()
                && self.board.flags(head).has(Flags::SACKED);
            if self.board.is_empty() || (self.board.first >= before + count && !follows) {
                break;
            }
            let segment = *self.board.segment(head);
            if !segment.flags.has(Flags::SACKED) {
                self.reordering.on_delivered(Seq(segment.start), segment.tx_count, fack, MSS);
            }
            self.detector.on_acked(&self.board, head);
            self.board.pop();
        }
        while !self.board.is_empty() && self.board.flags(self.board.first()).has(Flags::SACKED) {
            self.detector.on_acked(&self.board, self.board.first());
            self.board.pop();
        }
        if self.board.is_empty() {
            self.episode = Episode::None;
        }
        self.detector.count(self.board.first > before, false);
        self.detect(self.board.first > before);
    }

    fn detect(&mut self, advanced: bool) {
        let before = self.board.clone();
        let found =
            self.detector.detect(&mut self.board, self.reordering, MSS, self.episode, advanced);
        let judging = self.rule != Rule::Rfc3517 || self.episode != Episode::None || found.enter;
        for (id, segment) in before.outstanding() {
            let marked = self.board.flags(id).has(Flags::LOST);
            let was = segment.flags.has(Flags::LOST);
            assert!(!was || marked, "{:?} takes back the mark of {id:?}", self.rule);
            if segment.flags.has(Flags::SACKED) || was {
                continue;
            }
            let due = judging && is_lost(&before, self.rule, self.reordering, id);
            let head = found.enter && id == before.first();
            // L2: marked if and only if the rule says so (or as the head of an opening episode).
            assert_eq!(
                marked,
                due || head,
                "L2 {:?}: {id:?} marked is on the left, the rule's word on the right",
                self.rule
            );
            if marked {
                self.ever.push(id.0);
            }
        }
        let newly = self.ever.len() as u64;
        assert_eq!(
            found.losses.segments, newly,
            "{:?} reports {} losses and marked {newly}",
            self.rule, found.losses.segments
        );
        self.ever.clear();
        if found.enter {
            assert_eq!(self.episode, Episode::None, "an episode opens only outside one");
            self.episode = Episode::Fast;
            let nxt = Seq(self.board.nxt());
            self.next.open(&self.board, nxt);
        }
    }

    fn repeat(&mut self) {
        let brute = self.brute_choice();
        let choice = self.next.choose(&mut self.board, false);
        assert_eq!(choice, brute, "next_seg with cursors on the left, a walk's on the right");
        let id = match choice {
            Choice::Lost(id) | Choice::Unsure(id) => id,
            Choice::Rescue => {
                self.board.highest_unsacked().expect("a rescue has something to rescue")
            }
            Choice::New | Choice::Nothing => return,
        };
        assert!(!self.board.flags(id).has(Flags::SACKED), "L0: SACKed data is repeated: {id:?}");
        self.board.send_again(id, self.now);
        self.next.on_sent(choice);
    }

    /// Rules 1 and 3 by a walk; rule 4 is taken from the cursors, which have nothing to walk there.
    fn brute_choice(&mut self) -> Choice {
        let highest = self.board.ledger.highest_sacked();
        let free = |segment: &detection_board::Segment| {
            !segment.flags.has(Flags::SACKED) && !segment.flags.has(Flags::REPEATED)
        };
        let lost = self
            .board
            .outstanding()
            .find(|(_, segment)| free(segment) && segment.flags.has(Flags::LOST));
        if let Some((id, _)) = lost {
            return Choice::Lost(id);
        }
        let high_rxt = self.high_rxt();
        let unsure = self
            .board
            .outstanding()
            .find(|(id, segment)| free(segment) && *id >= high_rxt && Some(*id) < highest);
        match unsure {
            Some((id, _)) => Choice::Unsure(id),
            None => match self.next.choose(&mut self.board, false) {
                Choice::Rescue => Choice::Rescue,
                _ => Choice::Nothing,
            },
        }
    }

    /// One past the highest segment repeated by rules 1 and 3 in this episode.
    fn high_rxt(&self) -> Id {
        self.next.high_rxt()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Shows RFC3517 4-IsLost, RFC6675 4-IsLost.
    #[test]
    fn counting_detectors_mark_exactly_what_their_rule_names(history in events(), rule in 0usize..3) {
        let mut c = Counted::new([Rule::Rfc3517, Rule::Rfc6675, Rule::Fack][rule]);
        for event in history {
            match event {
                Event::Send { len } => {
                    c.board.send(len, c.now);
                }
                Event::Sack { which } => c.sack(which),
                Event::Ack { count } => c.ack(count),
                Event::Repeat if c.episode != Episode::None => c.repeat(),
                Event::Timeout if !c.board.is_empty() => {
                    Rto::default().mark(&mut c.board, None, c.now);
                    c.episode = Episode::Timeout;
                    let nxt = Seq(c.board.nxt());
                    c.next.open(&c.board, nxt);
                }
                Event::Undo => {
                    c.board.remark(|_| Flags::NONE);
                    c.detector.rewind(&c.board);
                    c.episode = Episode::None;
                    c.detector.count(true, false);
                }
                Event::Wait { ms: wait } => c.now += ms(wait),
                Event::Repeat | Event::Probe | Event::Timeout => {}
            }
            check_totals(&mut c.board);
        }
    }
}

/// RACK as section 6 states it: a walk over all segments.
struct PlainRack {
    reference: Option<(Time, Seq)>,
    rtt: Nanos,
    fack: Seq,
    seen: bool,
    window: Nanos,
}

impl PlainRack {
    fn deliver(&mut self, now: Time, mut arrivals: Vec<Arrival>, min_rtt: Nanos) {
        arrivals.sort_by_key(|arrival| (arrival.last_tx, arrival.end));
        for arrival in arrivals {
            // An RTT of zero counts as one tick: the smallest RTT, or a millisecond.
            let tick = if min_rtt == Nanos(0) { ms(1) } else { min_rtt };
            let rtt = now.since(arrival.last_tx);
            let rtt = if rtt == Nanos(0) { tick } else { rtt };
            if arrival.tx_count > 1 && rtt < min_rtt {
                continue;
            }
            self.rtt = rtt;
            self.reference = self.reference.max(Some((arrival.last_tx, arrival.end)));
            if arrival.end < self.fack && arrival.tx_count == 1 {
                self.seen = true;
            } else {
                self.fack = self.fack.max(arrival.end);
            }
        }
    }

    /// The segments to mark and the deadline.
    fn detect(&self, board: &Board, now: Time) -> (Vec<u64>, Option<Time>) {
        let (mut lost, mut deadline) = (Vec::new(), None);
        let Some(reference) = self.reference else { return (lost, deadline) };
        for (id, segment) in board.outstanding() {
            let open = !segment.flags.has(Flags::SACKED) && !segment.flags.has(Flags::LOST);
            if open && (segment.last_tx, Seq(segment.end)) < reference {
                let due = segment.last_tx + (self.rtt + self.window);
                if due <= now { lost.push(id.0) } else { deadline = deadline.max(Some(due)) }
            }
        }
        (lost, deadline)
    }
}

/// RACK beside the plain one.
struct Both {
    racked: Racked,
    plain: PlainRack,
    now: Time,
}

impl Both {
    fn new(min_rtt: Nanos) -> Both {
        let plain = PlainRack {
            reference: None,
            rtt: Nanos(0),
            fack: Seq(0),
            seen: false,
            window: Nanos(0),
        };
        Both { racked: Racked::new(min_rtt), plain, now: Time(0) }
    }

    fn send(&mut self, len: u64) {
        self.racked.send(len, self.now);
    }

    fn repeat(&mut self, id: Id) {
        assert!(
            !self.racked.board.flags(id).has(Flags::SACKED),
            "L0: SACKed data is repeated: {id:?}"
        );
        self.racked.repeat(id, self.now);
    }

    fn sack(&mut self, ids: &[Id]) {
        let mut arrivals = Vec::new();
        for &id in ids {
            let arrival = self.racked.board.arrival(id);
            if self.racked.board.mark_sacked(id) {
                arrivals.push(arrival);
            }
        }
        self.finish(arrivals);
    }

    fn ack(&mut self, count: u64) {
        let mut arrivals = Vec::new();
        for index in 0.. {
            let head = self.racked.board.first();
            if self.racked.board.is_empty()
                || (index >= count && !self.racked.board.flags(head).has(Flags::SACKED))
            {
                break;
            }
            if !self.racked.board.flags(head).has(Flags::SACKED) {
                arrivals.push(self.racked.board.arrival(head));
            }
            self.racked.board.pop();
        }
        self.finish(arrivals);
    }

    fn finish(&mut self, arrivals: Vec<Arrival>) {
        self.racked.deliver(self.now, &arrivals);
        self.plain.deliver(self.now, arrivals, self.racked.rtt);
        let sacked_segments = self.racked.board.ledger.sacked_segments();
        let impatient = self.racked.episode != Episode::None || sacked_segments >= 3;
        self.plain.window =
            if !self.plain.seen && impatient { Nanos(0) } else { Nanos(self.racked.rtt.0 / 4) };
        self.detect();
    }

    fn detect(&mut self) {
        let before = self.racked.board.clone();
        let (expected, deadline) = self.plain.detect(&before, self.now);
        let found = self.racked.rack.detect(&mut self.racked.board, self.now);
        let newly: Vec<u64> = self
            .racked
            .board
            .lost()
            .into_iter()
            .filter(|&id| !before.flags(Id(id)).has(Flags::LOST))
            .collect();
        assert_eq!(
            newly, expected,
            "L8 at {:?}: marked on the left, the walk over all on the right",
            self.now
        );
        assert_eq!(found.losses.segments, expected.len() as u64, "every mark is reported once");
        assert_eq!(
            found.deadline, deadline,
            "at {:?} the reordering timer on the left, the walk's on the right",
            self.now
        );
        for id in newly {
            let segment = before.segment(Id(id));
            assert!(
                self.now.since(segment.last_tx) >= self.plain.rtt + self.plain.window,
                "L8: {id} is marked before its time"
            );
        }
        if !found.losses.is_empty() && self.racked.episode == Episode::None {
            self.racked.episode = Episode::Fast;
        }
    }
}

fn run_rack(history: &[Event], min_rtt: Nanos) -> Board {
    let mut c = Both::new(min_rtt);
    for &event in history {
        let count = c.racked.board.next().0 - c.racked.board.first;
        match event {
            Event::Send { len } => c.send(len),
            Event::Sack { which } if count > 1 => {
                let id = |n: u64| Id(c.racked.board.first + 1 + n % (count - 1));
                let ids = if which % 5 == 0 {
                    vec![id(which), id(which / 7), id(which / 49)]
                } else {
                    vec![id(which)]
                };
                c.sack(&ids);
            }
            Event::Ack { count } => {
                c.ack(count);
                if c.racked.board.is_empty() {
                    c.racked.episode = Episode::None;
                }
            }
            Event::Repeat => {
                if let Some(id) = c.racked.board.next_lost() {
                    c.repeat(id);
                }
            }
            Event::Probe => {
                if let Some(id) = c.racked.board.highest_unsacked() {
                    c.repeat(id);
                }
            }
            Event::Timeout if count > 0 => {
                let patience = c.plain.rtt + c.plain.window;
                let now = c.now;
                let due = |(id, segment): (Id, &detection_board::Segment)| {
                    let open = !segment.flags.has(Flags::SACKED)
                        && (segment.flags.has(Flags::LOST) || segment.last_tx + patience <= now);
                    (open || id == c.racked.board.first()).then_some(id.0)
                };
                let expected: Vec<u64> = c.racked.board.outstanding().filter_map(due).collect();
                Rto::default().mark(&mut c.racked.board, Some(&mut c.racked.rack), now);
                assert_eq!(
                    c.racked.board.lost(),
                    expected,
                    "timeout: lost on the left, the walk's on the right"
                );
                c.racked.episode = Episode::Timeout;
            }
            Event::Undo => {
                c.racked.board.remark(|_| Flags::NONE);
                c.racked.rack.rewind();
                c.detect();
            }
            Event::Wait { ms: wait } => {
                c.now += ms(wait);
                c.detect();
            }
            Event::Sack { .. } | Event::Timeout => {}
        }
        check_totals(&mut c.racked.board);
    }
    c.racked.board
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Shows RFC8985 6.2-7.
    #[test]
    fn rack_marks_and_waits_as_the_walk_over_all_segments_does(history in events(), min_rtt in 0u64..120) {
        run_rack(&history, ms(min_rtt));
    }

    #[test]
    fn the_same_history_gives_the_same_marks(history in events()) {
        let (one, two) = (run_rack(&history, ms(50)), run_rack(&history, ms(50)));
        prop_assert_eq!(one.ledger, two.ledger, "L16: two runs of one history differ");
    }

    /// Shows RFC9002 6.1-1.
    #[test]
    fn quic_marks_exactly_what_is_three_behind_or_too_old(history in events(), delay in 1u64..150) {
        let mut board = Board::new(RepeatRule::NewBet);
        let mut detector = QuicLoss::default();
        let (mut now, mut largest) = (Time(0), None::<u64>);
        for event in history {
            match event {
                Event::Send { len } => {
                    board.send(len, now);
                }
                Event::Sack { which } if !board.is_empty() => {
                    let id = Id(board.first + which % (board.next().0 - board.first));
                    if board.mark_sacked(id) {
                        largest = largest.max(Some(id.0));
                    }
                }
                Event::Ack { .. } => {
                    while !board.is_empty() && !board.flags(board.first()).without(Flags::REPEATED).eq(&Flags::NONE) {
                        board.pop();
                    }
                }
                Event::Wait { ms: wait } => now += ms(wait),
                _ => {}
            }
            let Some(largest) = largest else { continue };
            let before = board.clone();
            let (losses, loss_time) = detector.detect(&mut board, largest, now, ms(delay));
            let (mut expected, mut due) = (Vec::new(), None::<Time>);
            for (id, packet) in before.outstanding() {
                if packet.flags != Flags::NONE || id.0 >= largest {
                    continue;
                }
                if id.0 + 3 <= largest || packet.last_tx + ms(delay) <= now {
                    expected.push(id.0);
                } else {
                    let at = packet.last_tx + ms(delay);
                    due = Some(due.map_or(at, |due| due.min(at)));
                }
            }
            let newly: Vec<u64> = board.lost().into_iter().filter(|&id| !before.flags(Id(id)).has(Flags::LOST)).collect();
            prop_assert_eq!(&newly, &expected, "L11: marked on the left, by definition on the right");
            prop_assert_eq!(losses.segments, expected.len() as u64, "every loss is reported once");
            prop_assert_eq!(loss_time, due, "the loss time on the left, by definition on the right");
            check_totals(&mut board);
        }
    }

    /// Shows RFC3042 2-1.
    #[test]
    fn limited_transmit_sends_at_most_two_and_stays_near_the_window(
        acks in prop::collection::vec((0u32..6, any::<bool>(), 0u64..40_000), 1..100),
        cwnd in 1000u64..30_000,
    ) {
        let mut limited = LimitedTransmit::new(Wording::Rfc3042);
        let mut sent = 0;
        for (dupacks, advanced, flight) in acks {
            if advanced {
                limited.on_advance();
                sent = 0;
            }
            let room = Room { cwnd, flight, pipe: flight, mss: MSS, new_len: MSS };
            if limited.on_duplicate(dupacks, &room) {
                sent += 1;
                prop_assert!(flight + MSS <= cwnd + 2 * MSS, "L3: flight {} after sending exceeds the window {cwnd} by more than 2", flight + MSS);
            }
            prop_assert!(sent <= 2, "L3: {sent} segments in one round");
        }
    }

    /// Shows RFC5827 3-small, RFC5827 3-new.
    #[test]
    fn early_retransmit_acts_only_on_two_or_three_segments(
        segments in 0u64..7, sacked in 0u64..7, degree in 0u64..6, new_data: bool, repeat_outstanding: bool,
        guard in 0usize..3, relaxed: bool, delayed: bool, srtt in prop::option::of(0u64..400), rto in prop::option::of(0u64..400),
    ) {
        let mut reordering = Reordering::default();
        reordering.on_delivered(Seq(0), 1, Seq(degree * MSS), MSS);
        let options = Options {
            guard: [Guard::Off, Guard::Degree, Guard::Any][guard],
            when: if delayed { When::Delayed } else { When::AtOnce },
            threshold: if relaxed { Threshold::Relaxed } else { Threshold::AllButOne },
            ..Options::NAIVE
        };
        let flight = Flight {
            segments, sacked_segments: sacked, dupacks: sacked as u32, sack: true, new_data, repeat_outstanding, reordering, mss: MSS,
            ..Flight::default()
        };
        let clock = Clock { now: at(1000), srtt: srtt.map(ms), rto: rto.map(|rto| at(1000 + rto)), ece: false };
        let act = EarlyRetransmit::new(options).on_ack(&flight, &clock, false);
        if act != Act::Nothing {
            prop_assert!(segments == 2 || segments == 3, "L4: acts with {segments} segments");
            prop_assert!(!new_data && !repeat_outstanding, "L4: acts with new data {new_data}, repeat {repeat_outstanding}");
            prop_assert!(relaxed || sacked == segments - 1, "L4: acts with {sacked} of {segments} SACKed");
            prop_assert!(options.guard != Guard::Degree || reordering.degree() <= 3, "L4: acts at degree {}", reordering.degree());
        }
        if let Act::Wait(until) = act {
            let delay = Nanos(clock.srtt.expect("a delay needs a sample").0 / 4).max(MIN_DELAY);
            prop_assert_eq!(until, clock.now + delay, "L5: acts at the left, max(srtt/4, 2 ms) later is the right");
            prop_assert!(clock.rto.is_none_or(|rto| until < rto), "L5: {until:?} is not before the timeout {:?}", clock.rto);
        }
    }

    /// Shows OURS detect-timer.
    #[test]
    fn one_timer_is_armed_while_data_is_outstanding(outstanding: bool, times in prop::array::uniform4(prop::option::of(any::<u64>()))) {
        let [reordering, early, probe, rto] = times.map(|time| time.map(Time));
        let armed = Armed::choose(outstanding, reordering, early, probe, rto);
        let any = reordering.or(early).or(probe).or(rto).is_some();
        prop_assert_eq!(armed.is_some(), outstanding && any, "L6: armed on the left, needed on the right");
    }

    #[test]
    fn the_timeout_stays_in_bounds_and_doubles(base in 0u64..=u64::MAX, max in 1u64..=u64::MAX, expiries in 0usize..80) {
        let mut rto = Rto::new(rto::Options { max: Nanos(max), ..rto::Options::default() });
        let mut before = rto.timeout(Nanos(base));
        for _ in 0..expiries {
            rto.on_expiry(Time(u64::MAX), Nanos(base), Episode::None, Sent::default());
            let timeout = rto.timeout(Nanos(base));
            prop_assert_eq!(timeout, (before * 2).min(Nanos(max)), "L7: the timeout on the left, twice the last (capped) on the right");
            before = timeout;
        }
        prop_assert!(before <= Nanos(max), "L7: {before:?} exceeds the cap");
    }

    /// Shows RFC5682 3-3b.
    #[test]
    fn f_rto_is_convinced_only_by_data_never_repeated(
        acks in prop::collection::vec((0u64..14, any::<bool>(), any::<bool>(), 0u64..16, any::<bool>(), any::<bool>(), any::<bool>()), 1..40),
        linux: bool,
    ) {
        let mut f_rto = FRto::new(if linux { f_rto::Proof::Linux } else { f_rto::Proof::Rfc5682 });
        f_rto.on_timeout(Seq(0), None, Seq(10));
        for (ack, advanced, duplicate, fack, fresh, fresh_original, new_data) in acks {
            let facts = f_rto::Facts { ack: Seq(ack), advanced, duplicate, fack: Seq(fack), fresh, fresh_original, nxt: Seq(12), new_data };
            let held = f_rto.holds_repeats();
            let verdict = f_rto.on_ack(&facts);
            prop_assert!(verdict != Verdict::Spurious || fresh_original, "L13: convinced by {facts:?}");
            prop_assert!(held || verdict == Verdict::None, "no test was running, yet the verdict is {verdict:?}");
        }
    }
}

/// A receiver on a path: acknowledges everything it has, every `thin`-th arrival, and
/// when the path falls silent. Arrivals are given in order of time; returns how many segments each
/// detector marked: counting rules, RACK, QUIC.
fn spurious(arrivals: &[(Time, u64)], send_gap: Nanos, rtt: Nanos, thin: usize) -> [u64; 5] {
    let count = arrivals.len() as u64;
    let mut marked = [0; 5];
    for (kind, marked) in marked.iter_mut().enumerate() {
        let rule = if kind < 3 { RepeatRule::KeepsMark } else { RepeatRule::NewBet };
        let mut board = Board::new(rule);
        let mut counting = DupAck::new([Rule::Rfc6675, Rule::Rfc3517, Rule::Fack][kind % 3]);
        let (mut rack, mut quic, mut reordering) =
            (Rack::default(), QuicLoss::default(), Reordering::default());
        for i in 0..count {
            let now = Time(0) + send_gap * i;
            let id = board.send(MSS, now);
            rack.on_sent(now, board.end(id));
        }
        let (mut held, mut batch, mut largest) = (vec![false; arrivals.len()], Vec::new(), 0);
        for (index, &(now, id)) in arrivals.iter().enumerate() {
            let in_order =
                arrivals[..index].iter().filter(|(_, earlier)| *earlier < id).count() as u64 == id;
            batch.push(id);
            held[id as usize] = true;
            if in_order && (index + 1) % thin != 0 && index + 1 < arrivals.len() {
                continue;
            }
            let fack = board.ledger.fack();
            let before = board.first;
            batch.sort_unstable();
            let mut fresh_sack = false;
            for id in batch.drain(..).map(Id) {
                let segment = *board.segment(id);
                reordering.on_delivered(Seq(segment.start), 1, fack, MSS);
                rack.on_delivered(
                    now,
                    &Arrival {
                        end: Seq(segment.end),
                        last_tx: segment.last_tx,
                        tx_count: 1,
                        echo: None,
                    },
                    Some(rtt),
                );
                board.mark_sacked(id);
                counting.on_sacked(&board, id);
                largest = largest.max(id.0);
                fresh_sack = true;
            }
            while !board.is_empty() && held[board.first as usize] {
                counting.on_acked(&board, board.first());
                board.pop();
            }
            let advanced = board.first > before;
            counting.count(advanced, fresh_sack && board.ledger.sacked_segments() > 0);
            let facts = Facts {
                una: Seq(board.una()),
                nxt: Seq(board.nxt()),
                sacked_segments: board.ledger.sacked_segments(),
                min_rtt: Some(rtt),
                srtt: Some(rtt),
                ..Facts::default()
            };
            rack.on_ack(&facts);
            *marked += match kind {
                0..3 => {
                    counting
                        .detect(&mut board, reordering, MSS, Episode::None, advanced)
                        .losses
                        .segments
                }
                3 => rack.detect(&mut board, now).losses.segments,
                _ => quic.detect(&mut board, largest, now, Nanos(rtt.0 / 8 * 9)).0.segments,
            };
        }
    }
    marked
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn nothing_is_marked_on_a_path_that_keeps_order_and_loses_nothing(count in 1u64..120, gap in 0u64..3, thin in 1usize..30) {
        let arrivals: Vec<_> = (0..count).map(|i| (at(100 + gap * i), i)).collect();
        let marked = spurious(&arrivals, ms(gap), ms(100), thin);
        prop_assert_eq!(marked, [0; 5], "L9: marks of 6675, 3517, FACK, RACK, QUIC");
    }

    /// Shows RFC5681 3.2-third.
    #[test]
    fn a_displacement_of_two_segments_marks_nothing(count in 12u64..120, swaps in prop::collection::vec((any::<u64>(), 1u64..=2), 1..6)) {
        // A segment arrives d places late: d segments pass it. Events are kept apart, as the rule speaks of one displacement.
        let mut order: Vec<u64> = (0..count).collect();
        let mut places: Vec<_> = swaps.iter().map(|(place, d)| (place % (count / 6), *d)).collect();
        places.sort_unstable();
        places.dedup_by_key(|(place, _)| *place);
        for (place, d) in places {
            let from = (place * 6) as usize;
            let to = (from + d as usize).min(order.len() - 1);
            order[from..=to].rotate_left(1);
        }
        let arrivals: Vec<_> = order.iter().enumerate().map(|(i, &id)| (at(100 + i as u64), id)).collect();
        let marked = spurious(&arrivals, ms(1), ms(100), 1);
        // FACK takes the distance, not a count: it has the same limit here, for nothing is lost.
        prop_assert_eq!(marked[..3].to_vec(), [0; 3], "L10: spurious marks of 6675, 3517, FACK at displacement 2");
        prop_assert_eq!(marked[3], 0, "L10: spurious marks of RACK within a quarter of the RTT");
    }
}

/// Shows RFC5681 3.2-third.
#[test]
fn a_displacement_of_three_segments_does_mark() {
    // The negative control of L10.
    let order = [0, 2, 3, 4, 1, 5, 6];
    let arrivals: Vec<_> =
        order.iter().enumerate().map(|(i, &id)| (at(100 + i as u64), id)).collect();
    let marked = spurious(&arrivals, ms(1), ms(100), 1);
    assert_eq!(marked[..3], [1, 1, 1], "three segments passed one: each counting rule gives it up");
    assert_eq!(marked[4], 1, "and QUIC's packet threshold does");
}

/// Shows RFC8985 6.2-3.
#[test]
fn after_reordering_was_seen_rack_waits_a_quarter_of_the_rtt() {
    // Segment 1 passes 0 first (reordering is seen), then 10 is late by 24 or 26 ms behind many
    // others.
    for (late, expected) in [(24, 0), (26, 1)] {
        let mut arrivals: Vec<_> = (0..60).map(|i| (at(100 + i), i)).collect();
        arrivals[0].0 = Time(at(101).0 + 1);
        arrivals[10].0 = Time(at(110 + late).0 - 1);
        arrivals.sort_unstable();
        let marked = spurious(&arrivals, ms(1), ms(100), 1);
        assert_eq!(
            marked[3], expected,
            "L10: {late} ms late RACK marks {} segments, not {expected}",
            marked[3]
        );
    }
}

/// Looks at a segment per event while half of a window of 20 000 is missing, for each detector: a
/// walk over the window per ACK would take thousands.
#[test]
fn detectors_do_not_walk_the_window_on_each_ack() {
    const WINDOW: u64 = 20_000;
    for kind in ["6675", "FACK", "RACK", "RACK, reordering seen", "QUIC"] {
        let counting = kind == "6675" || kind == "FACK";
        let mut board =
            Board::new(if counting { RepeatRule::KeepsMark } else { RepeatRule::NewBet });
        let mut detector = DupAck::new(if kind == "FACK" { Rule::Fack } else { Rule::Rfc6675 });
        let mut next = NextSeg::new(if counting { Rules::Rfc6675 } else { Rules::LostFirst });
        let (mut rack, mut quic) = (Rack::default(), QuicLoss::default());
        let gap = Nanos::from_micros(30);
        let rtt = ms(600);
        for i in 0..WINDOW {
            let now = Time(0) + gap * i;
            let id = board.send(MSS, now);
            rack.on_sent(now, board.end(id));
        }
        next.open(&board, Seq(board.nxt()));
        let mut events = WINDOW;
        board.looks.set(0);
        // Every segment but each third arrives; a repeat or new data leaves on each ACK. Under
        // "reordering seen" a pair arrives swapped.
        for n in (0..WINDOW).filter(|n| n % 3 != 0) {
            let id = match n % 3 {
                1 if kind == "RACK, reordering seen" && n + 1 < WINDOW => Id(n + 1),
                2 if kind == "RACK, reordering seen" => Id(n - 1),
                _ => Id(n),
            };
            let now = Time(0) + gap * n + rtt;
            let segment = *board.segment(id);
            if !board.mark_sacked(id) {
                continue;
            }
            detector.on_sacked(&board, id);
            rack.on_delivered(
                now,
                &Arrival {
                    end: Seq(segment.end),
                    last_tx: segment.last_tx,
                    tx_count: 1,
                    echo: None,
                },
                Some(rtt),
            );
            let facts = Facts {
                sacked_segments: 9,
                min_rtt: Some(rtt),
                srtt: Some(rtt),
                nxt: Seq(board.nxt()),
                ..Facts::default()
            };
            rack.on_ack(&facts);
            let _ = match kind {
                "6675" | "FACK" => {
                    detector
                        .detect(&mut board, Reordering::default(), MSS, Episode::Fast, false)
                        .losses
                }
                "QUIC" => quic.detect(&mut board, id.0, now, rtt).0,
                _ => rack.detect(&mut board, now).losses,
            };
            let choice = next.choose(&mut board, n % 2 == 0);
            match choice {
                Choice::Lost(id) | Choice::Unsure(id) => {
                    board.send_again(id, now);
                    rack.on_sent(now, board.end(id));
                }
                Choice::New => {
                    let id = board.send(MSS, now);
                    rack.on_sent(now, board.end(id));
                }
                Choice::Rescue | Choice::Nothing => {}
            }
            next.on_sent(choice);
            events += 2;
        }
        let looks = board.looks.get();
        // Marking and sending cost two or three looks each; what is bounded is that no event costs
        // a window.
        assert!(
            looks < 8 * events,
            "{kind}: {looks} looks at flags in {events} events, more than 8 each"
        );
    }
}

/// Nonsense: nothing may panic or divide by zero.
#[test]
fn nonsense_is_survived() {
    let numbers = [0, 1, u64::MAX / 2, u64::MAX];
    for &a in &numbers {
        for &b in &numbers {
            for &c in &numbers {
                drive(a, b, c);
            }
        }
    }
}

fn drive(a: u64, b: u64, c: u64) {
    let mut reordering = Reordering::default();
    reordering.on_delivered(Seq(a), 1, Seq(b), c);
    reordering.on_needless_repeat(Seq(a), Seq(b), c);
    let mut rack = Rack::default();
    rack.on_sent(Time(a), Seq(b));
    rack.on_sent(Time(b), Seq(c));
    rack.on_delivered(
        Time(a),
        &Arrival { end: Seq(b), last_tx: Time(c), tx_count: 0, echo: Some(Time(b)) },
        Some(Nanos(c)),
    );
    let facts = Facts {
        una: Seq(a),
        nxt: Seq(b),
        dsack: true,
        min_rtt: Some(Nanos(c)),
        srtt: Some(Nanos(a)),
        ..Facts::default()
    };
    rack.on_ack(&facts);
    let mut board = Board::with(RepeatRule::NewBet, 3, a.min(1 << 60));
    rack.detect(&mut board, Time(b));
    rack.on_timeout(&mut board, Time(c));
    for rule in [Rule::Duplicates, Rule::Rfc3517, Rule::Rfc6675, Rule::Fack] {
        let mut board = Board::with(RepeatRule::KeepsMark, 3, a.min(1 << 60));
        let mut detector = DupAck::new(rule);
        board.mark_sacked(Id(2));
        detector.on_sacked(&board, Id(2));
        detector.detect(&mut board, reordering, b, Episode::None, true);
        detector.on_acked(&board, Id(a));
        detector.rewind(&board);
    }
    let flight =
        Flight { segments: a, bytes: b, sacked_bytes: c, sack: true, mss: 0, ..Flight::default() };
    EarlyRetransmit::default().on_ack(
        &flight,
        &Clock { now: Time(a), srtt: Some(Nanos(b)), rto: Some(Time(c)), ece: false },
        true,
    );
    let room = Room { cwnd: a, flight: b, pipe: c, mss: a, new_len: b };
    LimitedTransmit::new(Wording::Rfc3042).on_duplicate(1, &room);
    LimitedTransmit::new(Wording::Rfc6675).on_duplicate(1, &room);
    let rtt = firstflight::detection::quic::Rtt { srtt: Nanos(a), var: Nanos(b), latest: Nanos(c) };
    let mut pto = firstflight::detection::quic::Pto::default();
    (0..70).for_each(|_| pto.on_fire());
    pto.deadline(Time(a), rtt.pto_base(Nanos(b)), None);
    firstflight::detection::quic::judge(a, Time(b), c, Time(a), rtt.loss_delay());
    QuicLoss::default().detect(&mut board, a, Time(b), Nanos(c));
}

#[test]
fn the_state_is_as_small_as_the_files_say() {
    use core::mem::size_of;
    use firstflight::detection::{
        Ledger, evidence::Evidence, lost_repeat::LostRepeats, tlp::Tlp, undo,
    };
    let rows = [
        ("Ledger", size_of::<Ledger>(), 88),
        ("Evidence", size_of::<Evidence>(), 32),
        ("DupAck", size_of::<DupAck>(), 40),
        ("LostRepeats", size_of::<LostRepeats>(), 8),
        ("NextSeg", size_of::<NextSeg>(), 48),
        ("LimitedTransmit", size_of::<LimitedTransmit>(), 2),
        ("EarlyRetransmit", size_of::<EarlyRetransmit>(), 40),
        ("Rack", size_of::<Rack>(), 240),
        ("Tlp", size_of::<Tlp>(), 16),
        ("Rto", size_of::<Rto>(), 64),
        ("FRto", size_of::<FRto>(), 24),
        ("Undo", size_of::<undo::Undo>(), 40),
        ("LateAcks", size_of::<undo::LateAcks>(), 24),
    ];
    for (what, size, stated) in rows {
        assert_eq!(size, stated, "{what} takes {size} bytes, its file says {stated}");
    }
}
