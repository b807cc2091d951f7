//! The simulator's sender with the ACKs that the kernel received, at the same times.

use super::kernel::{Episode, Left, MSS, Recording, State};
use firstflight::detection::f_rto::Proof;
use firstflight::detection::presets::Preset;
use firstflight::startup::AnyStartup;
use firstflight::{Config, Nanos, Seq, Time};
use firstflight_lab::drill::expression::Info as _;
use firstflight_lab::drill::{arm_of, shown};
use firstflight_sim::tcp::{AckPacket, Host, Range, Sender};

/// Ticks of the kernel's timers.
pub(super) const JIFFY: u64 = 4_000_000;

/// State of ours after an event.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) state: State,
    pub(super) sent: Vec<Left>,
    pub(super) later: Vec<Left>,
}

pub(super) struct Ours<'a> {
    recording: &'a Recording,
    clock: Clock,
    sender: Sender<AnyStartup>,
    now: u64,
    sent: Vec<Left>,
    /// When the timer was last set.
    armed: u64,
}

/// When within the time that it took to hand an ACK over the kernel is thought to have taken it, in
/// quarters: the same for all, or by chance.
#[derive(Clone, Copy, Debug)]
pub(super) enum Clock {
    At(u64),
    Chance(u64),
    /// Shifts one step by this many nanoseconds.
    Moved(usize, i64),
    /// A timer that is due before the ACK of this step fires before it. What it sent was read with
    /// what the ACK let go.
    TimerBefore(usize),
}

impl Default for Clock {
    fn default() -> Clock {
        Clock::At(0)
    }
}

impl Clock {
    /// Other moments: the same for all, eight draws, and each of the steps of the last flights before
    /// this one a little earlier or later, since what left then is known no better.
    pub(super) fn shaken(at: usize) -> impl Iterator<Item = Clock> {
        let moved = (at.saturating_sub(64)..=at).rev().flat_map(|step| {
            [50, -50, 100, -100, 200, -200].map(|us| Clock::Moved(step, us * 1_000))
        });
        [1, 2, 4].map(Clock::At).into_iter().chain((1..=8).map(Clock::Chance)).chain(moved)
    }

    fn moment(self, index: usize, step: &super::kernel::Step) -> u64 {
        let quarters = match self {
            Clock::At(quarters) => quarters,
            Clock::Moved(moved, by) => {
                return step.at.saturating_add_signed(if moved == index { by } else { 0 });
            }
            Clock::TimerBefore(_) => 0,
            Clock::Chance(seed) => super::Draw(seed << 32 | index as u64).below(5),
        };
        step.at + step.took * quarters / 4
    }
}

/// Largest delay of the kernel's timer wheel for a timer of this length: one tick and the rest of the
/// one that has begun, and more the longer it is (`calc_wheel_index`).
fn slack(length: u64) -> u64 {
    let jiffies = length / JIFFY;
    let mut step = 1;
    while jiffies >= 63 * step {
        step *= 8;
    }
    (step + 1) * JIFFY
}

impl<'a> Ours<'a> {
    pub(super) fn new(episode: &Episode, recording: &'a Recording, clock: Clock) -> Ours<'a> {
        let host = Host { preset: Preset::LINUX, f_rto: Proof::Linux, ..episode.host() };
        let arm = arm_of(episode.congestion).expect("an arm");
        let mss = u64::from(MSS);
        let config = firstflight::with!(Config { initial_window: 10 * mss, ..Config::tcp(mss) });
        let now = Time(recording.established);
        let rtt = Nanos(recording.handshake);
        let controller = arm.controller(config, now, Seq(0));
        let mut sender = Sender::new(host, controller, 2 * mss, episode.bytes(), rtt, now);
        sender.write(0);
        Ours { recording, clock, sender, now: now.0, sent: Vec::new(), armed: now.0 }
    }

    /// All steps.
    pub(super) fn play(&mut self) -> Vec<Step> {
        let steps = &self.recording.steps;
        let mut played = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            self.now = self.clock.moment(index, step).max(self.now);
            match &step.ack {
                None => self.sender.write(u64::MAX),
                Some(packet) => {
                    let packet = self.heard(packet);
                    self.sender.on_ack(Time(self.now), &packet);
                }
            }
            self.pump();
            let (state, sent) = (self.state(), std::mem::take(&mut self.sent));
            let until =
                steps.get(index + 1).map_or(self.now, |next| self.clock.moment(index + 1, next));
            let left_at: Vec<u64> = step.later.iter().map(|left| self.left_at(left)).collect();
            let first = matches!(self.clock, Clock::TimerBefore(before) if before == index + 1);
            self.wait(&left_at, until, first);
            let later = if first { Vec::new() } else { std::mem::take(&mut self.sent) };
            played.push(Step { state, sent, later });
        }
        played
    }

    /// An ACK with the echo in ticks of ours, without what ours has not sent.
    fn heard(&self, packet: &AckPacket) -> AckPacket {
        let nxt = self.sender.board().nxt();
        let echo = (i64::from(packet.echo) + self.recording.stamp_shift).max(0) as u32;
        let mut heard = AckPacket { ack: packet.ack.min(nxt), echo, ..*packet };
        let mut count = 0;
        for block in &packet.blocks[..usize::from(packet.count)] {
            if block.to <= nxt {
                heard.blocks[count] = *block;
                count += 1;
            }
        }
        heard.blocks[count..].fill(Range::default());
        heard.count = count as u8;
        heard
    }

    /// When a segment left: not after it was read, and in the tick of its timestamp.
    fn left_at(&self, left: &Left) -> u64 {
        let tick = (i64::from(left.stamp) + self.recording.stamp_shift).max(0) as u64;
        left.at.min((tick + 1) * 1_000_000 - 1)
    }

    /// Timers fire when the kernel's did, where its wheel explains the difference, or when they are due.
    fn wait(&mut self, kernel: &[u64], until: u64, when_due: bool) {
        loop {
            let Some(due) = self.sender.timer_at() else { return };
            let slack = slack(due.0.saturating_sub(self.armed));
            let fires = kernel
                .iter()
                .find(|&&at| at >= self.now && at.abs_diff(due.0) <= slack)
                .map_or(due.0 + slack, |&at| at.max(due.0));
            let fires = if when_due { due.0 } else { fires };
            if fires >= until {
                return;
            }
            self.now = fires.max(self.now);
            self.sender.on_timer(Time(self.now));
            self.pump();
        }
    }

    fn pump(&mut self) {
        while let Some(left) = self.sender.poll(Time(self.now)) {
            let (from, len) = (left.segment.from, left.segment.len);
            self.sent.push(Left { at: self.now, stamp: 0, from, len });
            assert!(self.sent.len() < 100_000, "it sends without end");
        }
        self.armed = self.now;
    }

    fn state(&self) -> State {
        let shown = shown(&self.sender, u64::from(MSS));
        let field = |name| shown.value(name).unwrap_or(-1);
        State {
            cwnd: field("tcpi_snd_cwnd"),
            ssthresh: field("tcpi_snd_ssthresh"),
            phase: field("tcpi_ca_state"),
            lost: field("tcpi_lost"),
            sacked: field("tcpi_sacked"),
            retrans: field("tcpi_retrans"),
            seen: field("tcpi_reord_seen") > 0,
            degree: field("tcpi_reordering"),
        }
    }
}
