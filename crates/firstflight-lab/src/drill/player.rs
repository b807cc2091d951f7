//! Plays a script against a host, which is the simulator's sender or the running kernel.

use super::expression::{self, Info, Trouble};
use super::script::{Script, Segment, Step, Unplayable, What, When};
use super::verdict::{Played, Verdict};
use firstflight_path::without_numbers;
use std::collections::VecDeque;
use std::fmt::Write;

/// Longest script, ns.
const LONGEST: u64 = 7 * 86_400 * 1_000_000_000;

/// Stream bytes that the host sent and that no expectation has matched yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// Time, ns after the start of the script.
    pub(super) at: u64,
    /// First byte of the stream.
    pub(super) from: u64,
    /// One past the last byte.
    pub(super) to: u64,
}

/// Why a host cannot continue: it deviates from the script, or the script needs something that the
/// host does not support.
#[derive(Clone, Debug)]
pub(super) enum Refusal {
    Differs(String),
    Lacks(String),
}

impl Refusal {
    fn at(self, line: usize) -> Verdict {
        match self {
            Refusal::Differs(why) => Verdict::Fail { line, why: without_numbers(&why) },
            Refusal::Lacks(why) => Verdict::Skipped { line, why: without_numbers(&why) },
        }
    }
}

/// A TCP host whose connection a script drives. Times are nanoseconds after the start.
pub(super) trait Host {
    /// Whether real time passes, so that each event must be waited for.
    const REAL_TIME: bool;

    /// Waits until `until`.
    fn wait(&mut self, until: u64);
    /// Waits until data leave or `deadline` passes.
    fn wait_for_data(&mut self, deadline: u64);
    /// Segments sent, oldest first.
    fn sent(&mut self) -> &mut VecDeque<Sent>;
    /// Handles a SYN expected from the host.
    fn expect_syn(&mut self, now: u64, segment: &Segment, deadline: u64) -> Result<(), Refusal>;
    /// Handles a segment that arrives at the host.
    fn inject(&mut self, now: u64, segment: &Segment) -> Result<(), Refusal>;
    /// Handles a write by the application.
    fn write(&mut self, bytes: u64) -> Result<(), Refusal>;
    /// Handles a change of Nagle's algorithm by the application.
    fn no_delay(&mut self, on: bool) -> Result<(), Refusal>;
    /// Handles a limit of the segment size set by the application.
    fn max_segment(&mut self, mss: u32) -> Result<(), Refusal>;
    /// Handles a call by the application that accepts or opens the connection.
    fn call(&mut self, text: &str) -> Result<(), Refusal>;
    /// The sender's `tcp_info`, once the connection is established.
    fn info(&self) -> Option<impl Info>;
}

pub(super) struct Player<'a, H> {
    script: &'a Script,
    host: H,
    /// Time of the last event.
    now: u64,
    /// Events and responses with their times, if a script is recorded.
    recorded: Option<Vec<(u64, String)>>,
    judged: u32,
    unknown: Vec<String>,
}

impl<'a, H: Host> Player<'a, H> {
    pub(super) fn new(script: &'a Script, host: H) -> Player<'a, H> {
        Player { script, host, now: 0, recorded: None, judged: 0, unknown: Vec::new() }
    }

    /// Plays the whole script.
    pub(super) fn play(mut self) -> Played {
        let verdict = self.run();
        Played { verdict, judged: self.judged, unknown: self.unknown }
    }

    /// The script with the host's responses filled in.
    pub(super) fn record(mut self, title: &str) -> Result<String, Unplayable> {
        self.recorded = Some(Vec::new());
        for step in &self.script.steps {
            match self.step(step) {
                Ok(()) => {}
                Err(Verdict::Pass) => break,
                Err(Verdict::Fail { line, why } | Verdict::Skipped { line, why }) => {
                    return Err(Unplayable { line, why });
                }
            }
        }
        let mut text = format!("// Recorded from {title}.\n");
        text.extend(self.script.commands.iter().map(|command| format!("`{command}`\n")));
        let mut before = 0;
        for (at, event) in self.recorded.unwrap_or_default() {
            let after = at.saturating_sub(before);
            before = before.max(at);
            let seconds = format!("{}.{:06}", after / 1_000_000_000, after / 1000 % 1_000_000);
            let seconds = seconds.trim_end_matches('0').trim_end_matches('.').to_owned();
            let _ = writeln!(text, "{:>9} {event}", format!("+{seconds}"));
        }
        Ok(text)
    }

    fn run(&mut self) -> Verdict {
        for step in &self.script.steps {
            if let Err(verdict) = self.step(step) {
                return verdict;
            }
        }
        if self.judged == 0 {
            let why = "no statement about what this sender sends or decides".to_owned();
            return Verdict::Skipped { line: 1, why };
        }
        Verdict::Pass
    }

    fn step(&mut self, step: &Step) -> Result<(), Verdict> {
        let skip = |why: &str| Err(Verdict::Skipped { line: step.line, why: why.to_owned() });
        let refused = |refusal: Refusal| refusal.at(step.line);
        let (first, last) = match step.when {
            When::Any => (self.now, self.now),
            When::At(first, last) => (first, last),
            When::After(first, last) => {
                (self.now.saturating_add(first), self.now.saturating_add(last))
            }
        };
        if first > LONGEST {
            return skip("the script lasts more than a week");
        }
        if let What::Expect(segment) = &step.what {
            return self.expect(step, segment, (first, last));
        }
        self.pass_until(first);
        match &step.what {
            What::Nothing => {
                self.host.call(&step.text).map_err(refused)?;
                self.note_setup(step);
                Ok(())
            }
            What::Write(bytes) => {
                self.host.write(*bytes).map_err(refused)?;
                self.note(step);
                Ok(())
            }
            What::NoDelay(on) => {
                self.host.no_delay(*on).map_err(refused)?;
                self.note_setup(step);
                Ok(())
            }
            What::MaxSegment(mss) => {
                self.host.max_segment(*mss).map_err(refused)?;
                self.note_setup(step);
                Ok(())
            }
            What::Close => self.over(step),
            What::Congestion(name) => {
                if *name != self.script.congestion() {
                    return skip("the congestion control changes within the script");
                }
                self.note_setup(step);
                Ok(())
            }
            What::Inject(segment) => {
                if segment.rst {
                    return skip("a reset is not modelled");
                }
                self.host.inject(self.now, segment).map_err(refused)?;
                self.note(step);
                Ok(())
            }
            What::Check(_) if self.recorded.is_some() => Ok(()),
            What::Check(code) => self.check(step, code),
            What::Expect(_) => Ok(()),
        }
    }

    /// Refuses a step after the connection has closed, which no longer concerns its sender.
    fn over(&self, step: &Step) -> Result<(), Verdict> {
        if self.judged > 0 || self.recorded.is_some() {
            return Err(Verdict::Pass);
        }
        let why = "the connection closes before anything is judged".to_owned();
        Err(Verdict::Skipped { line: step.line, why })
    }

    fn check(&mut self, step: &Step, code: &str) -> Result<(), Verdict> {
        let Some(info) = self.host.info() else {
            let why = "a statement before the connection is established".to_owned();
            return Err(Verdict::Skipped { line: step.line, why });
        };
        let held = expression::check(code, &info);
        drop(info);
        match held {
            Ok(()) => self.judged += 1,
            Err(Trouble::Unknown(why)) => self.unknown.push(format!("line {}: {why}", step.line)),
            Err(Trouble::False(why)) => return Err(Verdict::Fail { line: step.line, why }),
        }
        Ok(())
    }

    fn pass_until(&mut self, until: u64) {
        let until = until.max(self.now);
        self.host.wait(until);
        self.now = until;
    }

    /// Checks a segment expected from the host.
    fn expect(
        &mut self,
        step: &Step,
        segment: &Segment,
        (first, last): (u64, u64),
    ) -> Result<(), Verdict> {
        let tolerance = self.script.tolerance.0;
        let any = step.when == When::Any;
        let deadline = if any { LONGEST } else { last.saturating_add(tolerance) };
        if segment.syn {
            self.pass_until(first);
            self.host.expect_syn(self.now, segment, deadline).map_err(|why| why.at(step.line))?;
            self.note_setup(step);
            return Ok(());
        }
        if segment.fin {
            return self.over(step);
        }
        if segment.rst {
            let why = "a reset is not modelled".to_owned();
            return Err(Verdict::Skipped { line: step.line, why });
        }
        // A pure ACK acknowledges data of the other direction.
        if segment.from == segment.to {
            self.pass_until(first);
            return Ok(());
        }
        if self.recorded.is_some() {
            return Ok(());
        }
        let fail = |why: String| Err(Verdict::Fail { line: step.line, why });
        let ms = |nanos: u64| nanos as f64 / 1e6;
        let Some(mut from) = segment.from.checked_sub(1) else {
            return fail(format!("expected {segment}: data begin at 1"));
        };
        let to = segment.to - 1;
        while from < to {
            if self.host.sent().is_empty() {
                self.host.wait_for_data(deadline);
            }
            let Some(mut front) = self.host.sent().pop_front() else {
                return fail(format!("expected {segment} at {:.1} ms, nothing was sent", ms(last)));
            };
            if front.from != from {
                let sent = wire(front.from, front.to);
                return fail(format!("expected {}, sent {sent}", wire(from, to)));
            }
            if !any && (front.at > deadline || front.at.saturating_add(tolerance) < first) {
                let (expected, at) = (ms(first), ms(front.at));
                return fail(format!(
                    "expected {segment} at {expected:.1} ms, sent it at {at:.1} ms"
                ));
            }
            self.now = self.now.max(if H::REAL_TIME { front.at.min(last) } else { front.at });
            if front.to > to {
                let rest = Sent { from: to, ..front };
                front.to = to;
                self.host.sent().push_front(rest);
            }
            from = front.to;
        }
        self.now = self.now.max(first);
        self.judged += 1;
        Ok(())
    }

    /// Records an event to which the sender does not respond.
    fn note_setup(&mut self, step: &Step) {
        if let Some(recorded) = &mut self.recorded {
            recorded.push((self.now, step.text.clone()));
        }
    }

    /// Records an event, the segments sent before it, and the responses to it.
    fn note(&mut self, step: &Step) {
        let Some(recorded) = &mut self.recorded else { return };
        let at = self.now;
        // Segments that a timer sent before this event are recorded before it.
        let sent = self.host.sent();
        while let Some(before) = sent.front().copied().filter(|sent| sent.at < at) {
            sent.pop_front();
            record_sent(recorded, before);
        }
        recorded.push((at, step.text.clone()));
        for sent in sent.drain(..) {
            record_sent(recorded, sent);
        }
        if let Some(cwnd) = self.host.info().and_then(|info| info.value("tcpi_snd_cwnd")) {
            recorded.push((at, format!("%{{ assert tcpi_snd_cwnd == {cwnd}, tcpi_snd_cwnd }}%")));
        }
    }
}

/// Records a segment; one that continues the previous segment at the same time is merged with it.
fn record_sent(recorded: &mut Vec<(u64, String)>, sent: Sent) {
    let mut from = sent.from + 1;
    let to = sent.to + 1;
    if let Some((at, text)) = recorded.last()
        && *at == sent.at
        && let Some(before) = text.strip_prefix("> . ").and_then(|text| text.split_once('('))
        && let Some((start, end)) = before.0.split_once(':')
        && end.parse() == Ok(from)
        && let Ok(start) = start.parse()
    {
        from = start;
        recorded.pop();
    }
    recorded.push((sent.at, format!("> . {from}:{to}({}) ack 1", to - from)));
}

/// Stream offsets as sequence numbers of a script.
fn wire(from: u64, to: u64) -> String {
    format!("{}:{}({})", from + 1, to + 1, to - from)
}
