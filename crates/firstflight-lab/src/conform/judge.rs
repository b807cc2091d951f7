//! Compares two windows event by event.

use super::rule::Rule;
use super::step::{Side, Step};
use firstflight::event::Transport;
use firstflight::{Ack, AnyController, Arm, Event, Phase, Seq, Time};
use firstflight_path::Error;
use serde::Serialize;
use std::collections::VecDeque;

/// Number of steps kept before and after a difference.
const AROUND: usize = 3;

/// A reduction is compared by its factor: the share of the window, as its reciprocal, by which two
/// reductions may differ due to rounding.
const FACTOR_GRAIN: u64 = 1_000;

/// Growth over an epoch may differ by this share of ours, given as its reciprocal, if that is more
/// than the tolerance. A curve in whole packets, or a clock in milliseconds, explains that much.
const EPOCH_GRAIN: u64 = 50;

/// The window of a controller that is not ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold, bytes; `None` if it was never set.
    pub ssthresh: Option<u64>,
}

/// The first time that the controllers differed on a rule.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// The rule.
    pub rule: Rule,
    /// Document and section of the rule.
    pub section: &'static str,
    /// Whether the windows were equal before, so that this event alone caused the difference.
    /// Always set for a reduction, which is compared by its factor.
    pub on_its_own: bool,
    /// The event.
    pub step: Step,
    /// The three steps before and after it.
    pub around: Vec<Step>,
}

/// Results for one rule.
#[derive(Clone, Debug, Serialize)]
pub struct RuleRow {
    /// The rule.
    pub rule: Rule,
    /// Document and section of the rule.
    pub section: &'static str,
    /// Events that tested it.
    pub events: u64,
    /// Events on which the controllers differed.
    pub differ: u64,
    /// Differences from equal windows.
    pub on_its_own: u64,
    /// The largest difference on one event, bytes.
    pub largest_bytes: u64,
    /// The largest change of our window that the rule caused, or of a window that ignores the rule,
    /// bytes.
    pub step_bytes: u64,
    /// Whether that change is above the tolerance, so that a controller that ignores the rule would
    /// be detected.
    pub can_fail: bool,
    /// The first difference.
    pub first: Option<Difference>,
}

/// Result of a comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// Number of ACKs and loss-timer expiries that both controllers received.
    pub acks: u64,
    /// Number of ACKs and loss-timer expiries after which the windows differed.
    pub acks_apart: u64,
    /// Largest difference, in bytes, at which two windows count as equal.
    pub tolerance_bytes: u64,
    /// The first difference between the windows.
    pub first: Option<Difference>,
    /// Every rule that was tested.
    pub rules: Vec<RuleRow>,
    /// Why the controller stopped answering; null if it answered every event.
    pub ended: Option<String>,
}

impl Verdict {
    /// Whether the controllers agreed on every rule.
    pub fn is_same(&self) -> bool {
        self.ended.is_none() && self.first.is_none() && self.rules.iter().all(|row| row.differ == 0)
    }

    /// The verdict for a controller that died.
    #[must_use]
    pub(super) fn ended(self, why: &Error) -> Verdict {
        Verdict { ended: Some(why.as_str().to_owned()), ..self }
    }
}

/// Compares two controllers on the same events.
#[derive(Debug)]
pub struct Judge {
    arm: Arm,
    transport: Transport,
    /// Whether our window approaches the threshold over a round trip, so that reductions are seen
    /// in the threshold.
    gradual: bool,
    tolerance: u64,
    ours: Ours,
    theirs: Seen,
    acks: u64,
    acks_apart: u64,
    first: Option<Difference>,
    rows: Vec<RuleRow>,
    /// The steps before the current one.
    before: VecDeque<Step>,
    /// Differences that still collect the steps that follow them: in `rows`, and the first of all.
    open: usize,
    /// The windows, theirs and ours, at the start of startup, if neither has been reduced since.
    startup: Option<(u64, u64)>,
    round: Option<Span>,
    epoch: Option<Span>,
}

/// A period of growth in congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Span {
    /// The windows, theirs and ours, at its start.
    from: (u64, u64),
    /// The span ends once this is acknowledged.
    mark: Seq,
}

/// The values compared for our controller.
#[derive(Clone, Copy, Debug, Default)]
struct Ours {
    cwnd: u64,
    ssthresh: Option<u64>,
    phase: Phase,
    in_recovery: bool,
    episodes: u32,
    has_exit: bool,
}

impl Ours {
    fn of(core: &AnyController) -> Ours {
        let stats = core.stats();
        Ours {
            cwnd: core.cwnd(),
            ssthresh: core.ssthresh(),
            phase: core.phase(),
            in_recovery: core.in_recovery(),
            episodes: stats.loss_episodes + stats.ecn_episodes,
            has_exit: core.exit().is_some(),
        }
    }
}

impl Judge {
    /// Compares another controller with `arm`; windows count as equal if they differ by at most
    /// `tolerance` bytes.
    pub fn new(arm: Arm, tolerance: u64) -> Judge {
        Judge {
            arm,
            transport: Transport::Quic,
            gradual: arm.recovery.name() != "immediate",
            tolerance,
            ours: Ours::default(),
            theirs: Seen::default(),
            acks: 0,
            acks_apart: 0,
            first: None,
            rows: Vec::new(),
            before: VecDeque::new(),
            open: 0,
            startup: None,
            round: None,
            epoch: None,
        }
    }

    /// Cites the documents of this transport where TCP and QUIC have different ones. The default is
    /// QUIC.
    #[must_use]
    pub fn over(self, transport: Transport) -> Judge {
        Judge { transport, ..self }
    }

    /// Starts the comparison after both controllers were built; earlier steps do not count.
    pub fn begin(&mut self, core: &AnyController, theirs: Seen) {
        *self = Judge::new(self.arm, self.tolerance).over(self.transport);
        (self.ours, self.theirs) = (Ours::of(core), theirs);
        self.startup = Some((theirs.cwnd, self.ours.cwnd));
        let side = |cwnd: u64, ssthresh| Side { cwnd_before: 0, cwnd, ssthresh };
        let step = Step {
            ack: 0,
            at_ms: 0.0,
            event: "begin",
            acked_bytes: 0,
            lost_bytes: 0,
            inflight_bytes: None,
            theirs: side(theirs.cwnd, theirs.ssthresh),
            ours: side(self.ours.cwnd, self.ours.ssthresh),
            phase: self.ours.phase,
            in_recovery: false,
            episode_begins: false,
            exits: false,
        };
        self.note(Rule::InitialWindow, step);
    }

    /// Compares both controllers right after an event.
    pub fn step(&mut self, event: &Event, core: &AnyController, theirs: Seen) {
        let (was, theirs_before) = (self.ours, self.theirs);
        (self.ours, self.theirs) = (Ours::of(core), theirs);
        let is = self.ours;
        let (mut acked, mut lost) = (0, 0);
        if let Event::Ack(ack, _) = event {
            self.acks += 1;
            self.acks_apart += u64::from(self.gap() > self.tolerance);
            (acked, lost) = (ack.acked, ack.lost);
        }
        let side = |before: u64, cwnd, ssthresh| Side { cwnd_before: before, cwnd, ssthresh };
        let step = Step {
            ack: self.acks,
            at_ms: since_start(event.now()),
            event: event.name(),
            acked_bytes: acked,
            lost_bytes: lost,
            inflight_bytes: flight(event),
            theirs: side(theirs_before.cwnd, theirs.cwnd, theirs.ssthresh),
            ours: side(was.cwnd, is.cwnd, is.ssthresh),
            phase: was.phase,
            in_recovery: was.in_recovery || is.in_recovery,
            episode_begins: is.episodes != was.episodes,
            exits: is.has_exit && !was.has_exit,
        };
        let rule = Rule::of(event, &step, self.gradual);
        match (rule, event) {
            (Rule::Avoidance, Event::Ack(ack, _)) => self.grow(ack, step),
            // A send that changes no window is not reported.
            (Rule::Sending, _) if step.theirs.change() == 0 && step.ours.change() == 0 => {}
            (Rule::Sending, _) => self.note(rule, step),
            (Rule::Exit, _) => self.exit(step),
            _ => {
                if matches!(rule, Rule::Reduction | Rule::Timeout) {
                    self.startup = None;
                }
                self.end_epoch();
                self.note(rule, step);
            }
        }
    }

    /// Startup ends: it is judged by the growth since it began, because a controller that left
    /// earlier or later differs by less than a packet on each ACK.
    fn exit(&mut self, step: Step) {
        self.end_epoch();
        self.trail(&step);
        let from = self.startup.take();
        let whole = from.map(|from| over(from, &step));
        self.judge(Rule::Exit, whole.as_ref().unwrap_or(&step));
        self.keep(step);
    }

    /// An ACK in congestion avoidance, judged with its round trip and with its epoch.
    fn grow(&mut self, ack: &Ack, step: Step) {
        let span = Span { from: (step.theirs.cwnd_before, step.ours.cwnd_before), mark: ack.nxt };
        let round = *self.round.get_or_insert(span);
        self.epoch.get_or_insert(span);
        self.trail(&step);
        if ack.una > round.mark {
            self.round = None;
            self.judge(Rule::Avoidance, &over(round.from, &step));
        }
        self.keep(step);
    }

    /// Judges the growth of the epoch that ended; an unfinished round trip is discarded.
    fn end_epoch(&mut self) {
        self.round = None;
        if let (Some(epoch), Some(last)) = (self.epoch.take(), self.before.back()) {
            let whole = over(epoch.from, last);
            self.judge(Rule::Epoch, &whole);
        }
    }

    /// Returns the result.
    pub fn verdict(&mut self) -> Verdict {
        self.end_epoch();
        let mut rules = self.rows.clone();
        rules.sort_by_key(|row| Rule::ALL.iter().position(|rule| *rule == row.rule));
        Verdict {
            acks: self.acks,
            acks_apart: self.acks_apart,
            tolerance_bytes: self.tolerance,
            first: self.first.clone(),
            rules,
            ended: None,
        }
    }

    fn gap(&self) -> u64 {
        self.ours.cwnd.abs_diff(self.theirs.cwnd)
    }

    /// Judges a step of the connection.
    fn note(&mut self, rule: Rule, step: Step) {
        self.trail(&step);
        self.judge(rule, &step);
        self.keep(step);
    }

    /// Judges one step, or several steps combined.
    fn judge(&mut self, rule: Rule, step: &Step) {
        let section = rule.section(&self.arm, self.transport);
        let equal_before =
            step.theirs.cwnd_before.abs_diff(step.ours.cwnd_before) <= self.tolerance;
        let by_factor = rule == Rule::Reduction && step.ours.cwnd_before > 0;
        let off = match by_factor {
            true if self.gradual && step.episode_begins => off_by_factor(step, Side::target),
            true => off_by_factor(step, |side| side.cwnd),
            false => off_by_bytes(step),
        };
        let tolerance = match rule {
            Rule::Epoch | Rule::Exit => self.tolerance.max(moved(&step.ours) / EPOCH_GRAIN),
            _ => self.tolerance,
        };
        let differs = off > tolerance;
        // A controller that ignores a rule about growth grows by the bytes acknowledged.
        let could = match rule {
            Rule::Avoidance | Rule::Epoch => moved(&step.ours),
            _ => moved(&step.ours).max(step.acked_bytes),
        };
        // If windows are not reduced at once, a controller that opens no episode may just be in a
        // different state.
        let both = !self.gradual || step.theirs.target() < step.theirs.cwnd_before;
        let on_its_own = equal_before || (by_factor && both);
        let found = |around: &VecDeque<Step>| Difference {
            rule,
            section,
            on_its_own,
            step: step.clone(),
            around: around.iter().cloned().collect(),
        };
        if self.first.is_none() && self.gap() > self.tolerance {
            self.first = Some(found(&self.before));
            self.open = AROUND;
        }
        let index = self.rows.iter().position(|row| row.rule == rule).unwrap_or_else(|| {
            self.rows.push(RuleRow {
                rule,
                section,
                events: 0,
                differ: 0,
                on_its_own: 0,
                largest_bytes: 0,
                step_bytes: 0,
                can_fail: false,
                first: None,
            });
            self.rows.len() - 1
        });
        let row = &mut self.rows[index];
        row.events += 1;
        row.step_bytes = row.step_bytes.max(could);
        row.can_fail |= could > tolerance;
        if differs {
            row.differ += 1;
            row.on_its_own += u64::from(on_its_own);
            row.largest_bytes = row.largest_bytes.max(off);
            // An independent difference says more than one that follows from another.
            if row.first.as_ref().is_none_or(|first| !first.on_its_own && on_its_own) {
                row.first = Some(found(&self.before));
                self.open = AROUND;
            }
        }
    }

    fn keep(&mut self, step: Step) {
        self.before.push_back(step);
        if self.before.len() > AROUND {
            self.before.pop_front();
        }
    }

    /// Adds a step to differences found shortly before.
    fn trail(&mut self, step: &Step) {
        if self.open == 0 {
            return;
        }
        self.open -= 1;
        let rows = self.rows.iter_mut().filter_map(|row| row.first.as_mut());
        for found in rows.chain(self.first.as_mut()) {
            let behind = found.around.iter().filter(|other| other.at_ms > found.step.at_ms);
            if behind.count() < AROUND && step.ack > found.step.ack {
                found.around.push(step.clone());
            }
        }
    }
}

/// Combines all steps from these windows, theirs and ours, to the state after `last`.
fn over(from: (u64, u64), last: &Step) -> Step {
    let mut whole = last.clone();
    (whole.theirs.cwnd_before, whole.ours.cwnd_before) = from;
    whole
}

/// Change of the window, bytes.
fn moved(side: &Side) -> u64 {
    side.cwnd.abs_diff(side.cwnd_before)
}

fn off_by_bytes(step: &Step) -> u64 {
    let off = (step.theirs.change() - step.ours.change()).unsigned_abs();
    u64::try_from(off).unwrap_or(u64::MAX)
}

/// Distance of the window that the reduction leaves them from the result of our factor; 0 if
/// rounding explains it.
fn off_by_factor(step: &Step, left: impl Fn(&Side) -> u64) -> u64 {
    let (theirs, ours) = (&step.theirs, &step.ours);
    let wanted = u128::from(theirs.cwnd_before) * u128::from(left(ours))
        / u128::from(ours.cwnd_before.max(1));
    let wanted = u64::try_from(wanted).unwrap_or(u64::MAX);
    let off = left(theirs).abs_diff(wanted);
    if off <= wanted / FACTOR_GRAIN { 0 } else { off }
}

fn flight(event: &Event) -> Option<u64> {
    match event {
        Event::Ack(ack, _) => Some(ack.inflight_before),
        Event::Congestion(congestion) => Some(congestion.inflight_before),
        other => other.inflight(),
    }
}

fn since_start(now: Time) -> f64 {
    crate::trial::ms(now.0)
}
