//! The smallest network in which a recovery policy can be watched segment by segment: a FIFO, a
//! receiver that answers every delivery with full SACK state, and a sender with the scoreboard
//! rules of RFC 6675. Time does not exist; a row of the log is one ACK.
//!
//! Rows are written as in the tables of RFC 6937: `N` a new segment, `R` a repeat, with a count in
//! front, `.` nothing.

use std::collections::{BTreeSet, VecDeque};
use std::ops::RangeInclusive;

use firstflight::Seq;
use firstflight::detection::delivered::delivered;
use firstflight::recovery::prr::{Bound, ExitWindow, Params as PrrParams, Rules};
use firstflight::recovery::{
    Cause, End, Entry, Progress, Prr, RateHalving, Recovery, Sack, rate_halving, sack,
};

/// Duplicate ACKs, and SACKed segments above a hole, that make a loss.
const DUPTHRESH: usize = 3;

/// One segment as the sender sees it.
#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    sacked: bool,
    lost: bool,
}

/// The sender's scoreboard, in segments; RFC 6675 with exclusive ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    segments: Vec<Segment>,
    pub una: usize,
    pub high_rxt: usize,
    pub rescue_rxt: Option<usize>,
    pub recover_end: usize,
}

/// Choice of `next_seg`, by rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Rules 1 and 3.
    Repeat(usize),
    /// Rule 2.
    New,
    /// Rule 4.
    Rescue(usize),
}

impl Scoreboard {
    pub(crate) fn with_flight(flight: usize) -> Scoreboard {
        Scoreboard { segments: vec![Segment::default(); flight], ..Scoreboard::default() }
    }

    pub(crate) fn nxt(&self) -> usize {
        self.segments.len()
    }

    pub(crate) fn flight(&self) -> usize {
        self.nxt() - self.una
    }

    /// Segments SACKed above `una`.
    pub(crate) fn sacked(&self) -> usize {
        self.segments[self.una..].iter().filter(|s| s.sacked).count()
    }

    fn highest_sacked(&self) -> Option<usize> {
        (self.una..self.nxt()).rev().find(|&i| self.segments[i].sacked)
    }

    /// Takes an ACK in; returns the segments newly delivered (section 2 of the account: difference
    /// of totals).
    pub(crate) fn receive(&mut self, una: usize, sacks: impl IntoIterator<Item = usize>) -> u64 {
        let before = (self.una, self.sacked());
        self.una = self.una.max(una);
        for s in sacks {
            self.segments[s].sacked = true;
            self.segments[s].lost = false;
        }
        delivered(Seq(before.0 as u64), Seq(self.una as u64), before.1 as u64, self.sacked() as u64)
            .expect("the receiver keeps what it SACKed")
    }

    /// Marks what now has three SACKed segments above it; returns how many are newly lost.
    pub(crate) fn mark(&mut self) -> usize {
        let (mut above, mut newly) = (0, 0);
        for i in (self.una..self.nxt()).rev() {
            if self.segments[i].sacked {
                above += 1;
            } else if above >= DUPTHRESH && !self.segments[i].lost {
                self.segments[i].lost = true;
                newly += 1;
            }
        }
        newly
    }

    pub(crate) fn is_lost(&self, segment: usize) -> bool {
        self.segments.get(segment).is_some_and(|s| s.lost)
    }

    /// The pipe of RFC 6675: what is not judged lost, and once more what was repeated.
    pub(crate) fn pipe(&self) -> usize {
        (self.una..self.nxt())
            .filter(|&i| !self.segments[i].sacked)
            .map(|i| usize::from(!self.segments[i].lost) + usize::from(i < self.high_rxt))
            .sum()
    }

    pub(crate) fn next_seg(&self, new_data: bool, rescue: bool) -> Option<Next> {
        let highest = self.highest_sacked().unwrap_or(self.una);
        let from = self.una.max(self.high_rxt);
        let hole = |lost: bool| {
            (from..highest).find(|&i| !self.segments[i].sacked && self.segments[i].lost == lost)
        };
        if let Some(i) = hole(true) {
            return Some(Next::Repeat(i));
        }
        if new_data {
            return Some(Next::New);
        }
        if let Some(i) = hole(false) {
            return Some(Next::Repeat(i));
        }
        if rescue && self.rescue_rxt.is_none_or(|end| self.una > end) {
            return (self.una..self.nxt())
                .rev()
                .find(|&i| !self.segments[i].sacked)
                .map(Next::Rescue);
        }
        None
    }

    /// Records a transmission; returns the segment number.
    pub(crate) fn send(&mut self, next: Next) -> usize {
        match next {
            Next::New => {
                self.segments.push(Segment::default());
                self.nxt() - 1
            }
            Next::Repeat(i) => {
                self.high_rxt = i + 1;
                self.rescue_rxt.get_or_insert(i + 1);
                i
            }
            Next::Rescue(i) => {
                self.rescue_rxt = Some(self.recover_end);
                i
            }
        }
    }
}

/// One episode's world. Everything is in segments but `mss` and `target_bytes`.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub mss: u64,
    /// Flight and window at the start.
    pub flight: usize,
    /// `T`, in bytes.
    pub target_bytes: u64,
    /// `F` as supplied; `None`: each policy computes its own.
    pub recover_fs: Option<u64>,
    /// Segments whose first transmission is dropped.
    pub lost: BTreeSet<usize>,
    /// One ACK per so many deliveries, and whenever nothing is left in the network.
    pub stretch: usize,
    /// No new data on the ACKs triggered by these segments.
    pub stall: Option<RangeInclusive<usize>>,
    /// Limited transmit may send.
    pub early_data: bool,
    /// RFC 6675 rule 4.
    pub rescue: bool,
}

impl Scenario {
    /// Flight and window of `flight` segments, target `target` segments, segments `lost` dropped;
    /// unlimited data, an ACK per delivery.
    pub(crate) fn new(
        flight: usize,
        target: u64,
        lost: impl IntoIterator<Item = usize>,
    ) -> Scenario {
        Scenario {
            mss: 1,
            flight,
            target_bytes: target,
            recover_fs: None,
            lost: lost.into_iter().collect(),
            stretch: 1,
            stall: None,
            early_data: true,
            rescue: true,
        }
    }

    pub(crate) fn f(mut self, segments: u64) -> Scenario {
        self.recover_fs = Some(segments);
        self
    }

    pub(crate) fn mss(mut self, mss: u64) -> Scenario {
        self.target_bytes = self.target_bytes / self.mss * mss;
        self.mss = mss;
        self
    }

    pub(crate) fn stretch(mut self, k: usize) -> Scenario {
        self.stretch = k;
        self
    }

    pub(crate) fn stall(mut self, acks: RangeInclusive<usize>) -> Scenario {
        self.stall = Some(acks);
        self
    }

    pub(crate) fn no_early_data(mut self) -> Scenario {
        self.early_data = false;
        self
    }
}

/// One ACK, completing one excluded. Amounts in segments unless they say bytes.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// The last delivered segment that this ACK reports.
    pub trigger: usize,
    /// An episode is open.
    pub open: bool,
    /// Before sending.
    pub pipe: usize,
    pub delivered: u64,
    pub advanced: bool,
    pub newly_lost: usize,
    pub rescue_next: bool,
    /// The policy's window after the ACK, in bytes; the initial window before entry.
    pub cwnd: u64,
    /// Segments sent, new or repeated.
    pub sent: Vec<char>,
    /// Sums over the episode, in segments: delivered including this ACK, sent before it.
    pub del: u64,
    pub out_before: u64,
}

impl Step {
    /// The notation of the tables: `N`, `2R`, `RN`, `.`.
    pub(crate) fn notation(&self) -> String {
        let mut text = String::new();
        for run in self.sent.chunk_by(|a, b| a == b) {
            if run.len() > 1 {
                text += &run.len().to_string();
            }
            text.push(run[0]);
        }
        if text.is_empty() { ".".to_owned() } else { text }
    }
}

/// Outcome of an episode.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub steps: Vec<Step>,
    /// Pipe in segments at the completing ACK and the window left with in bytes; `None` if the
    /// network fell silent before.
    pub exit: Option<(usize, u64)>,
    /// `nxt - sacked before` of the entry: RFC 9937's F in segments.
    pub f_9937: u64,
}

impl Run {
    pub(crate) fn sent(&self) -> String {
        self.steps.iter().map(Step::notation).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn pipes(&self) -> String {
        self.steps.iter().map(|s| s.pipe.to_string()).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn cwnds(&self, mss: u64) -> String {
        self.steps.iter().map(|s| (s.cwnd / mss).to_string()).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn triggers(&self) -> String {
        self.steps.iter().map(|s| s.trigger.to_string()).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn total(&self) -> usize {
        self.steps.iter().map(|s| s.sent.len()).sum()
    }

    pub(crate) fn exit_pipe(&self) -> usize {
        self.exit.expect("the episode completes").0
    }

    /// The steps of the open episode.
    pub(crate) fn open(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|s| s.open)
    }

    /// Most segments sent on one ACK of the episode.
    pub(crate) fn burst(&self) -> usize {
        self.open().map(|s| s.sent.len()).max().unwrap_or(0)
    }
}

/// Runs one episode to its end.
pub(crate) fn run(policy: &mut dyn Recovery, scenario: &Scenario) -> Run {
    World::new(scenario).run(policy)
}

struct World<'a> {
    scenario: &'a Scenario,
    board: Scoreboard,
    network: VecDeque<usize>,
    received: BTreeSet<usize>,
    dupacks: usize,
    open: bool,
    del: u64,
    out: u64,
    f_9937: u64,
}

impl<'a> World<'a> {
    fn new(scenario: &'a Scenario) -> World<'a> {
        let network = (0..scenario.flight).filter(|s| !scenario.lost.contains(s)).collect();
        let board = Scoreboard::with_flight(scenario.flight);
        World {
            scenario,
            board,
            network,
            received: BTreeSet::new(),
            dupacks: 0,
            open: false,
            del: 0,
            out: 0,
            f_9937: 0,
        }
    }

    fn run(mut self, policy: &mut dyn Recovery) -> Run {
        let (mut steps, mut exit, mut waiting) = (Vec::new(), None, 0);
        while let Some(segment) = self.network.pop_front() {
            self.received.insert(segment);
            waiting += 1;
            if waiting < self.scenario.stretch && !self.network.is_empty() {
                continue;
            }
            waiting = 0;
            match self.ack(segment, policy) {
                Ok(step) => steps.push(step),
                Err(end) => {
                    exit = Some(end);
                    break;
                }
            }
            assert!(steps.len() < 10_000, "an episode does not last for ever: {:?}", self.scenario);
        }
        Run { steps, exit, f_9937: self.f_9937 }
    }

    /// One ACK; `Err` if it completes the episode.
    fn ack(&mut self, trigger: usize, policy: &mut dyn Recovery) -> Result<Step, (usize, u64)> {
        let mss = self.scenario.mss;
        let una_before = self.board.una;
        let sacked_before = self.board.sacked();
        let cumulative = first_missing(&self.received);
        let sacks: Vec<usize> = self.received.range(cumulative..).copied().collect();
        let delivered = self.board.receive(cumulative, sacks);
        let newly_lost = self.board.mark();
        let advanced = self.board.una > una_before;
        self.dupacks = if advanced { 0 } else { self.dupacks + 1 };

        if self.open && self.board.una >= self.board.recover_end {
            let pipe = self.board.pipe();
            return Err((pipe, policy.end(End::Complete, pipe as u64 * mss)));
        }
        let new_data = self.new_data(trigger);
        if !self.open && (self.dupacks >= DUPTHRESH || self.board.is_lost(self.board.una)) {
            self.f_9937 = (self.board.nxt() - una_before - sacked_before) as u64;
            self.enter(delivered, policy);
        }
        let pipe = self.board.pipe();
        let rescue_next = self.open
            && matches!(self.board.next_seg(new_data, self.scenario.rescue), Some(Next::Rescue(_)));
        let mut step = Step {
            trigger,
            open: self.open,
            pipe,
            delivered,
            advanced,
            newly_lost,
            rescue_next,
            cwnd: self.scenario.flight as u64 * mss,
            sent: Vec::new(),
            del: 0,
            out_before: self.out,
        };
        if self.open {
            self.del += delivered;
            step.del = self.del;
            policy.on_ack(&Progress {
                delivered: delivered * mss,
                advanced,
                newly_lost: newly_lost as u64 * mss,
                rescue_next,
                pipe: pipe as u64 * mss,
                mss,
                ..Progress::default()
            });
            step.cwnd = policy.cwnd();
            self.send_loop(new_data, policy, &mut step.sent);
        } else if !advanced && new_data && self.dupacks < DUPTHRESH {
            self.transmit(Next::New, &mut step.sent); // RFC3042 2: one new segment on each of the first two duplicates.
        }
        Ok(step)
    }

    fn new_data(&self, trigger: usize) -> bool {
        (self.open || self.scenario.early_data || self.dupacks >= DUPTHRESH)
            && !self.scenario.stall.as_ref().is_some_and(|s| s.contains(&trigger))
    }

    fn enter(&mut self, delivered: u64, policy: &mut dyn Recovery) {
        let Scenario { mss, flight, target_bytes, recover_fs, .. } = *self.scenario;
        let mut entry = Entry {
            cause: Cause::Ack,
            target: target_bytes,
            flight: self.board.flight() as u64 * mss,
            sacked: self.board.sacked() as u64 * mss,
            delivered: delivered * mss,
            cwnd: flight as u64 * mss,
            reduced: target_bytes,
            mss,
        };
        if let Some(f) = recover_fs {
            // Every policy's own formula then yields this F; rate halving keeps the true window,
            // which it starts from.
            (entry.flight, entry.sacked, entry.delivered) = (f * mss, 0, 0);
        }
        policy.enter(&entry);
        self.board.recover_end = self.board.nxt();
        self.board.high_rxt = self.board.una;
        self.board.rescue_rxt = None;
        self.open = true;
    }

    fn send_loop(&mut self, new_data: bool, policy: &mut dyn Recovery, sent: &mut Vec<char>) {
        let mss = self.scenario.mss;
        let mut pipe = self.board.pipe() as u64 * mss;
        while let Some(next) = self.board.next_seg(new_data, self.scenario.rescue) {
            if !policy.admits(mss, pipe) {
                break;
            }
            self.transmit(next, sent);
            self.out += 1;
            pipe += mss;
            policy.on_sent(mss);
        }
    }

    fn transmit(&mut self, next: Next, sent: &mut Vec<char>) {
        let segment = self.board.send(next);
        sent.push(if next == Next::New { 'N' } else { 'R' });
        if next != Next::New || !self.scenario.lost.contains(&segment) {
            self.network.push_back(segment);
        }
    }
}

/// The cumulative acknowledgement of a receiver that has `received`.
pub(crate) fn first_missing(received: &BTreeSet<usize>) -> usize {
    (0..=received.len())
        .find(|s| !received.contains(s))
        .expect("n segments cannot fill n + 1 places")
}

/// The policies that the tables compare, by the tables' names.
pub(crate) fn arm(name: &str) -> Box<dyn Recovery> {
    match name {
        "6675" => Box::new(Sack::new(sack::Params::default())),
        "RH" => Box::new(RateHalving::new(rate_halving::Params::default())),
        "Linux" => Box::new(Prr::new(PrrParams::linux())),
        _ => Box::new(Prr::new(prr_params(name))),
    }
}

/// The parameters of a variant of proportional rate reduction.
pub(crate) fn prr_params(name: &str) -> PrrParams {
    match name {
        "CRB" => PrrParams::rfc6937(Bound::Crb),
        "SSRB" => PrrParams::rfc6937(Bound::Ssrb),
        "UB" => PrrParams::rfc6937(Bound::Ub),
        "9937" => PrrParams::rfc9937(),
        "Linux" => PrrParams::linux(),
        _ => panic!("no arm {name}"),
    }
}

/// A variant of RFC 6937 that ends at what the last ACK allowed.
pub(crate) fn with_granted_exit(name: &str) -> PrrParams {
    let mut params = prr_params(name);
    let Rules::Rfc6937 { exit, .. } = &mut params.rules else { panic!("{name} sets the window") };
    *exit = ExitWindow::Granted;
    params
}

/// All variants of proportional rate reduction.
pub(crate) const PRR: [&str; 5] = ["CRB", "SSRB", "UB", "9937", "Linux"];

/// An ACK that delivers `delivered` bytes and leaves `pipe`, nothing else.
pub(crate) fn progress(delivered: u64, pipe: u64, mss: u64) -> Progress {
    Progress { delivered, pipe, mss, ..Progress::default() }
}

/// `policy` entered with target `target` so that every definition of `F` yields `recover_fs`; all
/// in bytes.
pub(crate) fn opened<P: Recovery>(mut policy: P, target: u64, recover_fs: u64, mss: u64) -> P {
    policy.enter(&Entry {
        cause: Cause::Ack,
        target,
        flight: recover_fs,
        sacked: 0,
        delivered: 0,
        cwnd: recover_fs,
        reduced: target,
        mss,
    });
    policy
}

/// A variant just after an ACK that delivered `d` and left `pipe`, with `(delivered, out)` in its
/// account, `d` included; mss 1000.
pub(crate) fn at(
    name: &str,
    target: u64,
    recover_fs: u64,
    account: (u64, u64),
    d: u64,
    pipe: u64,
    safe: bool,
) -> Prr {
    let mut prr = opened(Prr::new(prr_params(name)), target, recover_fs, 1_000);
    if account.0 > d {
        prr.on_ack(&progress(account.0 - d, u64::MAX / 2, 1_000));
    }
    if account.1 > 0 {
        prr.on_sent(account.1);
    }
    prr.on_ack(&Progress { advanced: safe, ..progress(d, pipe, 1_000) });
    prr
}
