//! Two TCP hosts on a wire whose drops and delays are all set by a test: constant delay each way, a
//! fixed time per segment, and a fate for each transmission by its number.
#![allow(dead_code, reason = "each test file uses its own part")]

use firstflight::detection::presets::Preset;
use firstflight::detection::{Armed, Episode};
use firstflight::startup::AnyStartup;
use firstflight::{Ack, AnyController, Arm, Nanos, Seq, Time};
use firstflight_sim::Hosts;
use firstflight_sim::tcp::{AckPacket, Host, Receiver, Segment, Sender, Transmit};

pub(crate) const MSS: u64 = 1448;
pub(crate) const MS: u64 = 1_000_000;

/// Fate of one transmission on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Deliver,
    Drop,
    /// It is overtaken: this much later, ns.
    Late(u64),
}

/// Something a test may want to look back on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    /// Segment number (first byte over `MSS`), and whether it was sent before.
    Sent {
        segment: u64,
        repeat: bool,
    },
    /// Records that the controller received.
    Heard(Ack),
    Fired(Armed),
}

type Fates<'a> = Box<dyn FnMut(u64, &Transmit) -> Fate + 'a>;
type Watch<'a> = Box<dyn FnMut(&Sender<AnyStartup>) + 'a>;

pub(crate) struct Wire<'a> {
    pub sender: Sender<AnyStartup>,
    receiver: Receiver,
    object: u64,
    /// Each way, ns.
    delay: u64,
    /// Between two segments, ns.
    pace: u64,
    free_at: u64,
    fate: Fates<'a>,
    data: Vec<(u64, Segment)>,
    acks: Vec<(u64, AckPacket)>,
    pub now: u64,
    pub happened: Vec<(u64, Happening)>,
    /// Called after every step.
    pub watch: Watch<'a>,
}

pub(crate) fn preset(name: &str) -> Preset {
    *Preset::named(name).expect("a preset of that name")
}

/// An acknowledgement for every segment, so that every delivery is heard of.
pub(crate) fn host(name: &str) -> Host {
    Host {
        ack_every: firstflight_sim::tcp::AckEvery::Segments(1),
        ..Host::with_preset(preset(name))
    }
}

pub(crate) fn controller(host: &Host, arm: &str) -> AnyController {
    let arm = Arm::parse(arm).expect("an arm");
    arm.with_oracle(1 << 30).controller(Hosts::Tcp(*host).config(), Time(0), Seq(0))
}

impl<'a> Wire<'a> {
    /// An object of `segments` full segments from an `arm` with `host`, over 50 ms each way and 0.1
    /// ms per segment.
    pub(crate) fn new(
        host: Host,
        arm: &str,
        segments: u64,
        fate: impl FnMut(u64, &Transmit) -> Fate + 'a,
    ) -> Wire<'a> {
        let object = segments * MSS;
        let sender =
            Sender::new(host, controller(&host, arm), 2 * MSS, object, Nanos(100 * MS), Time(0));
        Wire {
            sender,
            receiver: Receiver::new(&host),
            object,
            delay: 50 * MS,
            pace: MS / 10,
            free_at: 0,
            fate: Box::new(fate),
            data: Vec::new(),
            acks: Vec::new(),
            now: 0,
            happened: Vec::new(),
            watch: Box::new(|_| {}),
        }
    }

    fn pump(&mut self) {
        while let Some(sent) = self.sender.poll(Time(self.now)) {
            let number = self.sender.transmissions() - 1;
            self.happened.push((
                self.now,
                Happening::Sent { segment: sent.segment.from / MSS, repeat: sent.repeat },
            ));
            self.free_at = self.free_at.max(self.now) + self.pace;
            let at = self.free_at + self.delay;
            match (self.fate)(number, &sent) {
                Fate::Deliver => self.data.push((at, sent.segment)),
                Fate::Late(by) => self.data.push((at + by, sent.segment)),
                Fate::Drop => self.sender.on_dropped(&sent, Time(self.now)),
            }
        }
        self.check_timer();
        (self.watch)(&self.sender);
    }

    /// L6: a timer is armed exactly while data is outstanding.
    fn check_timer(&self) {
        let outstanding = self.sender.board().segments();
        let timer = self.sender.timer();
        assert_eq!(
            timer.is_some(),
            outstanding > 0,
            "L6: {outstanding} segments are outstanding at {} ns and the timer is {timer:?}",
            self.now
        );
    }

    fn next_event(&self) -> Option<u64> {
        let due = [self.receiver.ack_due(), self.sender.release_at(), self.sender.timer_at()];
        let wire = self.data.iter().map(|(at, _)| *at).chain(self.acks.iter().map(|(at, _)| *at));
        wire.chain(due.into_iter().flatten().map(|time| time.0)).min()
    }

    fn step(&mut self) -> bool {
        let Some(next) = self.next_event() else { return false };
        self.now = self.now.max(next);
        let now = Time(self.now);
        while let Some(segment) = take_first(&mut self.data, self.now) {
            if let Some(ack) = self.receiver.on_segment(now, &segment) {
                self.acks.push((self.now + self.delay, ack));
            }
        }
        if self.receiver.ack_due().is_some_and(|due| due <= now) {
            let ack = self.receiver.acknowledge(now);
            self.acks.push((self.now + self.delay, ack));
        }
        while let Some(packet) = take_first(&mut self.acks, self.now) {
            if let Some(ack) = self.sender.on_ack(now, &packet) {
                self.happened.push((self.now, Happening::Heard(ack)));
            }
            self.pump();
        }
        if let Some(timer) = self.sender.timer().filter(|timer| timer.deadline() <= now) {
            self.happened.push((self.now, Happening::Fired(timer)));
            if let Some(ack) = self.sender.on_timer(now) {
                self.happened.push((self.now, Happening::Heard(ack)));
            }
        }
        self.pump();
        true
    }

    /// Runs until everything is acknowledged.
    pub(crate) fn run(&mut self) {
        self.pump();
        while !self.sender.complete() {
            assert!(
                self.step(),
                "nothing is due although {} of {} bytes are acknowledged",
                self.sender.una(),
                self.object
            );
            assert!(
                self.now < 3_600_000 * MS,
                "the transfer does not end: {} of {} bytes",
                self.sender.una(),
                self.object
            );
        }
        assert_eq!(self.receiver.delivered(), self.object, "every byte was delivered in order");
    }

    /// Runs until `stop`.
    pub(crate) fn run_until(&mut self, mut stop: impl FnMut(&Self) -> bool) {
        self.pump();
        while !stop(self) {
            assert!(self.step(), "nothing is due");
            assert!(self.now < 3_600_000 * MS, "what the test waits for never happens");
        }
    }

    /// Segments sent again, in order, with the time.
    pub(crate) fn repeats(&self) -> Vec<(u64, u64)> {
        self.sends().filter(|sent| sent.2).map(|(at, segment, _)| (at, segment)).collect()
    }

    /// Time, segment, repeat.
    pub(crate) fn sends(&self) -> impl Iterator<Item = (u64, u64, bool)> {
        self.happened.iter().filter_map(|(at, what)| match what {
            Happening::Sent { segment, repeat } => Some((*at, *segment, *repeat)),
            _ => None,
        })
    }

    pub(crate) fn heard(&self) -> impl Iterator<Item = (u64, Ack)> {
        self.happened.iter().filter_map(|(at, what)| {
            if let Happening::Heard(ack) = what { Some((*at, *ack)) } else { None }
        })
    }

    pub(crate) fn fired(&self) -> Vec<(u64, Armed)> {
        self.happened
            .iter()
            .filter_map(
                |(at, what)| {
                    if let Happening::Fired(timer) = what { Some((*at, *timer)) } else { None }
                },
            )
            .collect()
    }

    pub(crate) fn in_episode(&self) -> bool {
        self.sender.episode() != Episode::None
    }
}

/// The first in order of time and then of sending, if it is due.
fn take_first<T>(queue: &mut Vec<(u64, T)>, now: u64) -> Option<T> {
    let place = queue
        .iter()
        .enumerate()
        .filter(|(_, (at, _))| *at <= now)
        .min_by_key(|(place, (at, _))| (*at, *place))?
        .0;
    Some(queue.remove(place).1)
}

/// Drops these transmissions (numbers over all transmissions of the connection).
pub(crate) fn dropping(numbers: &'static [u64]) -> impl FnMut(u64, &Transmit) -> Fate {
    move |number, _| if numbers.contains(&number) { Fate::Drop } else { Fate::Deliver }
}

/// Drops the first copy of these segments.
pub(crate) fn losing(segments: &'static [u64]) -> impl FnMut(u64, &Transmit) -> Fate {
    move |_, sent| {
        if !sent.repeat && segments.contains(&(sent.segment.from / MSS)) {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    }
}
