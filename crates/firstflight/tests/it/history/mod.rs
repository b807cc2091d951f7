//! Any history: a controller driven through a sequence of operations read from bytes, with
//! invariants checked after every event.
//!
//! Half of the operations belong to a model of what is in flight and make histories that a path
//! could make; the other half is nonsense that no path makes: huge values, zeros, a clock that goes
//! backwards, positions that jump. Shared by the test `any_history`, which feeds random bytes, and
//! by the fuzzer, which looks for bytes that reach new code.

pub(crate) mod arms;
mod flight;
mod invariants;
mod source;

use crate::told::{Hear, Told};
use arms::Choice;
use firstflight::units::MAX_BYTES;
use firstflight::{
    AnyController, Arm, Config, Congestion, ExitReason, Nanos, Phase, Ready, Sent, Seq, Time,
    Timeout, Transport,
};
use flight::{Delivery, Flight};
use invariants::Watch;
pub(crate) use source::{Source, random_bytes};

/// Operations per history, at most: enough for several episodes, and the fuzzer prefers short ones
/// anyway.
const MOST_OPERATIONS: u32 = 2_000;
/// Segments outstanding, at most: the model walks them for every packet, and no rule of a
/// controller looks at more.
const MOST_SEGMENTS: usize = 1_000;

/// One step of a history.
#[derive(Clone, Copy, Debug)]
enum Operation {
    /// Time passes.
    Wait(Nanos),
    /// Packets leave while the controller admits them.
    Send { packets: u8, backlog: bool },
    /// Packets arrive and are acknowledged with one ACK: `skip` in flight before them are
    /// overtaken.
    Deliver { packets: u8, skip: u8, ce: bool, rescue: bool },
    /// The oldest packets are declared lost without an ACK.
    LossTimer { packets: u8 },
    /// The path goes silent until a timeout.
    Timeout(Timeout),
    /// The losses of the last episode were a false alarm.
    Spurious,
    /// A record of nonsense.
    WildAck,
    /// A send of nonsense.
    WildSend,
    /// A timeout of nonsense.
    WildTimeout,
    /// An RTT sample of nonsense before the data.
    WildHandshake,
}

impl Operation {
    fn read(source: &mut Source<'_>, nonsense: bool) -> Operation {
        let kind = source.below(if nonsense { 22 } else { 16 });
        match kind {
            0 | 1 => Operation::Wait(Nanos(source.u32().into())),
            2..=4 => Operation::Send { packets: 64, backlog: true },
            5 => Operation::Send { packets: source.u8(), backlog: source.u8() & 1 == 1 },
            6..=8 => Operation::Deliver { packets: 2, skip: 0, ce: false, rescue: false },
            9 => Operation::Deliver { packets: source.u8(), skip: 0, ce: false, rescue: false },
            10 => Operation::Deliver {
                packets: source.u8() % 8,
                skip: source.u8(),
                ce: false,
                rescue: false,
            },
            11 => Operation::Deliver {
                packets: source.u8() % 8,
                skip: source.u8() % 8,
                ce: true,
                rescue: source.u8() & 1 == 1,
            },
            12 => Operation::Wait(Nanos::from_millis(source.u8().into())),
            13 => Operation::LossTimer { packets: source.u8() % 8 },
            14 => Operation::Timeout(timeout(source)),
            15 => Operation::Spurious,
            16..=18 => Operation::WildAck,
            19 => Operation::WildSend,
            20 => Operation::WildTimeout,
            _ => Operation::WildHandshake,
        }
    }
}

fn timeout(source: &mut Source<'_>) -> Timeout {
    match source.u8() % 4 {
        0 => Timeout::Rto,
        1 => Timeout::RtoAgain,
        _ => Timeout::PersistentCongestion,
    }
}

/// A connection in the middle of its history.
struct Connection<'a> {
    source: Source<'a>,
    controller: AnyController,
    watch: Watch,
    flight: Flight,
    transport: Transport,
    now: Time,
    /// The last burst ended because the window was full.
    limited: bool,
    idle_since: Option<Time>,
    /// Something happened that no path does: only the invariants that hold for nonsense are left.
    wild: bool,
}

/// State of a controller after an operation, with times counted from the start of the connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shown {
    cwnd: u64,
    ssthresh: Option<u64>,
    pacing: Option<u64>,
    phase: Phase,
    exit: Option<(ExitReason, Nanos, Nanos, u32, u64)>,
}

impl Shown {
    fn of(c: &AnyController, start: Time) -> Shown {
        Shown {
            cwnd: c.cwnd(),
            ssthresh: c.ssthresh(),
            pacing: c.pacing_rate().map(|rate| rate.0),
            phase: c.phase(),
            exit: c.exit().map(|exit| {
                (
                    exit.reason,
                    exit.at.since(start),
                    exit.since_first_send,
                    exit.rounds,
                    exit.detect_cwnd,
                )
            }),
        }
    }
}

/// Summary of a history, for tests that check whether histories reach the intended states.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reached {
    /// Events fed.
    pub events: u32,
    /// Loss and ECN episodes.
    pub episodes: u32,
    /// Timeouts.
    pub timeouts: u32,
    /// False alarms.
    pub undone: u32,
    /// Startups that brought the window to at least four times the initial one.
    pub grew: u32,
}

/// Plays the history that `bytes` spell; panics if an invariant does not hold.
pub(crate) fn play(bytes: &[u8]) -> Reached {
    let mut source = Source::new(bytes);
    let choice = Choice::read(&mut source);
    play_arm(&choice, source)
}

/// Plays the rest of the bytes with the arm and connection of `choice`.
pub(crate) fn play_arm(choice: &Choice, mut source: Source<'_>) -> Reached {
    let start = Time(if choice.nonsense { source.wild(0) } else { 1_000_000 });
    play_from(choice, source, start, |_| ())
}

/// Plays the bytes from `start` on and shows the controller after every operation.
pub(crate) fn play_from(
    choice: &Choice,
    mut source: Source<'_>,
    start: Time,
    mut show: impl FnMut(Shown),
) -> Reached {
    let arm = Arm::parse(&choice.text)
        .unwrap_or_else(|error| panic!("`{}` of the table should be an arm: {error}", choice.text));
    let base = firstflight::with!(Config {
        idle_restart: choice.idle_restart,
        max_burst: choice.max_burst,
        initial_window: choice.iw,
        ..choice.base()
    });
    let nxt = Seq(if choice.nonsense { source.wild(0) } else { 0 });
    let controller = arm.with_oracle(choice.oracle_exit).controller(base, start, nxt);
    let config = arm.configure(base);
    let mut c = Connection {
        watch: Watch::new(&controller, &arm, config),
        source,
        controller,
        flight: Flight::new(config.transport, config.mss, nxt),
        transport: config.transport,
        now: start,
        limited: false,
        idle_since: None,
        wild: choice.nonsense,
    };
    c.watch.after("the start", &c.controller);
    let mut operations = 0;
    while !c.source.is_empty() && operations < MOST_OPERATIONS {
        operations += 1;
        let operation = Operation::read(&mut c.source, choice.nonsense);
        c.step(operation);
        show(Shown::of(&c.controller, start));
    }
    c.watch.reached(&c.controller)
}

impl Connection<'_> {
    fn step(&mut self, operation: Operation) {
        match operation {
            Operation::Wait(time) => self.now += time,
            Operation::Send { packets, backlog } => self.send(packets, backlog),
            Operation::Deliver { packets, skip, ce, rescue } => {
                self.deliver(Delivery { packets, skip }, ce, rescue);
            }
            Operation::LossTimer { packets } => self.loss_timer(packets),
            Operation::Timeout(timeout) => self.timeout(timeout),
            Operation::Spurious => {
                self.controller.on_spurious();
                self.watch.spurious(&self.controller);
            }
            Operation::WildAck => self.wild_ack(),
            Operation::WildSend => self.wild_send(),
            Operation::WildTimeout => {
                let event = Congestion {
                    now: Time(self.source.wild(self.now.0)),
                    timeout: timeout(&mut self.source),
                    nxt: Seq(self.source.wild(self.flight.nxt.0)),
                    inflight_before: self.source.wild(self.controller.cwnd()),
                };
                self.wild = true;
                self.controller.on_congestion(&event);
                self.watch.timeout(&event, &self.controller);
            }
            Operation::WildHandshake => {
                let (now, rtt) =
                    (Time(self.source.wild(self.now.0)), Nanos(self.source.wild(10_000_000)));
                self.wild = true;
                self.controller.on_handshake_rtt(now, rtt);
                self.watch.after("a handshake sample", &self.controller);
            }
        }
    }

    fn send(&mut self, packets: u8, backlog: bool) {
        let mss = self.flight.mss;
        let idle = self.idle_since.take().map_or(Nanos::ZERO, |since| self.now.since(since));
        let inflight = self.flight.inflight();
        let ready = Ready {
            now: self.now,
            nxt: self.flight.nxt,
            inflight,
            backlog: if backlog { MAX_BYTES } else { u64::from(packets).saturating_mul(mss) },
            srtt: self.flight.srtt,
            idle,
            timeout: self.flight.srtt.map_or(Nanos::from_secs(1), |srtt| srtt * 3),
        };
        self.before_send(&ready);
        self.limited = false;
        for _ in 0..packets {
            if !self.controller.admits(mss, self.flight.inflight()) {
                self.limited = true;
                break;
            }
            if self.flight.len() >= MOST_SEGMENTS {
                break;
            }
            self.flight.send(self.now);
            let sent = Sent {
                now: self.now,
                bytes: mss,
                nxt: self.flight.nxt,
                inflight: self.flight.inflight(),
                srtt: self.flight.srtt,
            };
            self.controller.on_sent(&sent);
            self.watch.sent(&sent, &self.controller);
        }
    }

    fn before_send(&mut self, ready: &Ready) {
        let before = self.controller;
        self.controller.before_send(ready);
        self.watch.before_send(ready, &before, &self.controller);
    }

    fn deliver(&mut self, delivery: Delivery, ce: bool, rescue: bool) {
        let mark = self.controller.recovery_mark();
        let Some(mut ack) =
            self.flight.deliver(self.now, delivery, mark, self.controller.in_recovery())
        else {
            return;
        };
        ack.ce = ce;
        ack.rescue_next = rescue;
        ack.cwnd_limited = self.limited;
        ack.app_limited = !self.limited;
        self.ack(&ack);
    }

    fn loss_timer(&mut self, packets: u8) {
        if let Some(mut ack) = self.flight.lose(self.now, packets, self.controller.in_recovery()) {
            ack.cwnd_limited = self.limited;
            self.ack(&ack);
        }
    }

    fn ack(&mut self, ack: &Told) {
        let before = self.controller;
        self.controller.hear(ack);
        self.watch.ack(ack, self.wild, &before, &self.controller);
        assert!(
            self.wild || self.controller.misfed().is_none(),
            "{:?} of a report that is as it should be: {ack:?}",
            self.controller.misfed()
        );
        if self.flight.inflight() == 0 {
            self.idle_since = Some(self.now);
        }
    }

    fn timeout(&mut self, timeout: Timeout) {
        // Each transport has its own; the other's would be nonsense.
        let timeout = match (self.transport, timeout) {
            (Transport::Quic, _) => Timeout::PersistentCongestion,
            (Transport::Tcp, Timeout::PersistentCongestion) => Timeout::Rto,
            (Transport::Tcp, timeout) => timeout,
        };
        if self.flight.inflight() == 0 {
            return;
        }
        let event = Congestion {
            now: self.now,
            timeout,
            nxt: self.flight.nxt,
            inflight_before: self.flight.inflight(),
        };
        if self.transport == Transport::Tcp {
            self.flight.all_lost();
        }
        self.controller.on_congestion(&event);
        self.watch.timeout(&event, &self.controller);
    }

    fn wild_ack(&mut self) {
        self.wild = true;
        let (now, nxt, cwnd) = (self.now.0, self.flight.nxt.0, self.controller.cwnd());
        let s = &mut self.source;
        let flags = s.u8();
        let bit = |n: u8| flags >> n & 1 == 1;
        let maybe = |s: &mut Source<'_>, near: u64| (s.u8() & 3 > 0).then(|| s.wild(near));
        let ack = Told {
            now: Time(s.wild(now)),
            acked: s.wild(cwnd / 10),
            acked_fresh: s.wild(cwnd / 10),
            lost: if bit(0) { s.wild(cwnd / 10) } else { 0 },
            ce: bit(1),
            ce_bytes: (bit(1) && bit(7)).then(|| s.wild(cwnd / 10)),
            rtt: maybe(s, 20_000_000).map(Nanos),
            srtt: maybe(s, 20_000_000).map(Nanos),
            min_rtt: maybe(s, 20_000_000).map(Nanos),
            una: Seq(s.wild(nxt)),
            nxt: Seq(s.wild(nxt)),
            advanced: bit(2),
            flight: s.wild(cwnd),
            sacked: s.wild(cwnd / 2),
            inflight_before: s.wild(cwnd),
            inflight: s.wild(cwnd),
            delivered: s.wild(cwnd * 4),
            sent: s.wild(cwnd * 4),
            tx_acked: maybe(s, nxt),
            tx_lost: maybe(s, nxt),
            tx_next: s.wild(nxt),
            lost_again: bit(3),
            rescue_next: bit(4),
            unrepaired: bit(0) || bit(3),
            repeat_acked: bit(2) && bit(0),
            cwnd_limited: bit(5),
            app_limited: bit(6),
            receiver_ts: bit(7).then_some(s.u32()),
        };
        self.ack(&ack);
    }

    fn wild_send(&mut self) {
        self.wild = true;
        let (now, nxt, cwnd) = (self.now.0, self.flight.nxt.0, self.controller.cwnd());
        let s = &mut self.source;
        let srtt = (s.u8() & 3 > 0).then(|| Nanos(s.wild(20_000_000)));
        let ready = Ready {
            now: Time(s.wild(now)),
            nxt: Seq(s.wild(nxt)),
            inflight: s.wild(cwnd),
            backlog: s.wild(cwnd),
            srtt,
            idle: Nanos(s.wild(0)),
            timeout: Nanos(s.wild(1_000_000_000)),
        };
        let sent = Sent {
            now: ready.now,
            bytes: s.wild(1448),
            nxt: Seq(s.wild(nxt)),
            inflight: s.wild(cwnd),
            srtt,
        };
        self.before_send(&ready);
        self.controller.on_sent(&sent);
        self.watch.sent(&sent, &self.controller);
    }
}
