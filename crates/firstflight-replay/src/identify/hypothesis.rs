//! One explanation of a connection: an arm, its initial window, and how much it would have sent in
//! the round trip at hand.

use super::bbr1::Bbr1;
use super::delivered::Sample;
use firstflight::arm::{Arm, ArmController};
use firstflight::event::Ready;
use firstflight::{Ack, Config, Event, Nanos, Rate, Sent, Seq, SoFar, Time};
use firstflight_log::step::Opening;

/// A pacer that was held up may catch up by so many packets.
const BURST: u64 = 10;
/// What an application with enough to send has ready.
const PLENTY: u64 = 1 << 40;

/// What it was, with everything that its sending depends on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// One of our arms.
    Arm(Arm),
    /// BBRv1 of the kernel, and where in its cycle ProbeBW begins.
    Bbr1 {
        /// The place.
        phase: usize,
        /// The growth in startup that it asks for, in thousandths.
        growth: u64,
    },
}

/// What sends.
#[derive(Clone, Debug)]
enum Sender {
    Arm(Box<ArmController>),
    Bbr1(Box<Bbr1>),
}

impl Sender {
    fn cwnd(&self) -> u64 {
        match self {
            Sender::Arm(controller) => controller.cwnd(),
            Sender::Bbr1(bbr) => bbr.cwnd(),
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        match self {
            Sender::Arm(controller) => controller.pacing_rate(),
            Sender::Bbr1(bbr) => bbr.pacing_rate(),
        }
    }

    fn admits(&self, len: u64, inflight: u64) -> bool {
        match self {
            Sender::Arm(controller) => controller.admits(len, inflight),
            Sender::Bbr1(bbr) => inflight.saturating_add(len) <= bbr.cwnd(),
        }
    }

    fn before_send(&mut self, ready: &Ready) {
        if let Sender::Arm(controller) = self {
            controller.before_send(ready);
        }
    }
}

/// A sender with an initial window.
#[derive(Clone, Debug)]
pub(super) struct Hypothesis {
    /// Which startup: the place in the list that was asked for.
    pub(super) startup: usize,
    /// What it is.
    pub(super) kind: Kind,
    /// Its initial window, bytes.
    pub(super) initial_window: u64,
    /// Bytes that it lets go before the first ACK.
    pub(super) first_flight: u64,
    /// How long that takes it, ns.
    pub(super) first_span: u64,
    /// Logarithm of how probable its first flight makes the one that was seen.
    pub(super) likelihood: f64,
    sender: Sender,
    mss: u64,
    /// In flight, had it sent since the round trip began.
    virtual_flight: u64,
    /// What it would have sent since then.
    would_send: u64,
    /// What the pacer has saved up, bytes.
    tokens: u64,
    /// Until when the pacer has counted.
    paced_until: Time,
}

impl Hypothesis {
    pub(super) fn new(
        startup: usize,
        kind: Kind,
        base: Config,
        opening: &Opening,
        rtt: Option<Nanos>,
    ) -> Hypothesis {
        let mut sender = match kind {
            Kind::Arm(arm) => {
                let mut controller = arm.controller(base, u64::MAX, opening.made, opening.nxt);
                if let Some(rtt) = rtt {
                    controller.on_handshake_rtt(opening.start, rtt);
                }
                Sender::Arm(Box::new(controller))
            }
            Kind::Bbr1 { phase, growth } => {
                let mut bbr = Bbr1::new(&base, phase, growth, opening.made);
                if let Some(rtt) = rtt {
                    bbr.on_handshake_rtt(rtt);
                }
                Sender::Bbr1(Box::new(bbr))
            }
        };
        sender.before_send(&Ready {
            now: opening.start,
            nxt: opening.nxt,
            backlog: PLENTY,
            srtt: rtt,
            ..Ready::default()
        });
        let first_flight = sender.cwnd();
        let first_span = sender.pacing_rate().map_or(0, |rate| {
            (u128::from(first_flight) * 1_000_000_000 / u128::from(rate.0.max(1))) as u64
        });
        Hypothesis {
            startup,
            kind,
            initial_window: base.initial_window,
            first_flight,
            first_span,
            likelihood: 0.0,
            sender,
            mss: base.mss.max(1),
            virtual_flight: 0,
            would_send: 0,
            tokens: 0,
            paced_until: opening.start,
        }
    }

    /// A round trip begins with so much in flight.
    pub(super) fn begin(&mut self, now: Time, inflight: u64) {
        self.virtual_flight = inflight;
        self.would_send = 0;
        self.paced_until = now;
        self.tokens = self.tokens.min(self.mss);
    }

    /// What it would have sent in the round trip so far, bytes.
    pub(super) fn would_send(&self) -> u64 {
        self.would_send
    }

    /// Time passes: what it is allowed to send leaves, in this round trip no more than `receiver`
    /// has room for.
    pub(super) fn pass(&mut self, now: Time, receiver: u64) {
        let rate = self.sender.pacing_rate();
        if let Some(rate) = rate {
            let earned = rate.bytes_in(now.since(self.paced_until));
            // What is saved up while the window is shut is no more than a burst, but what was
            // earned since the last event may all be used.
            self.tokens = self.tokens.min(self.mss.saturating_mul(BURST)).saturating_add(earned);
        }
        self.paced_until = self.paced_until.max(now);
        if !self.sender.admits(self.mss, self.virtual_flight) {
            return;
        }
        let room = self.sender.cwnd().saturating_sub(self.virtual_flight);
        let room = room.min(receiver.saturating_sub(self.would_send));
        let most = if rate.is_some() { room.min(self.tokens) } else { room };
        let leaves = most / self.mss * self.mss;
        self.virtual_flight = self.virtual_flight.saturating_add(leaves);
        self.would_send = self.would_send.saturating_add(leaves);
        self.tokens -= leaves.min(self.tokens);
    }

    /// An ACK or what a loss timer found.
    pub(super) fn on_ack(&mut self, ack: &Ack, so_far: &SoFar, sample: Option<Sample>) {
        let before = self.virtual_flight;
        self.virtual_flight =
            self.virtual_flight.saturating_sub(ack.acked.saturating_add(ack.lost));
        match &mut self.sender {
            Sender::Arm(controller) => controller.on_ack_of_another(ack),
            Sender::Bbr1(bbr) => bbr.on_ack(ack, so_far, sample, before),
        }
    }

    /// The real sender sent.
    pub(super) fn on_sent(&mut self, sent: &Sent, nxt: Seq) {
        self.sender.before_send(&Ready {
            now: sent.now,
            nxt,
            inflight: sent.inflight.saturating_sub(sent.bytes),
            backlog: PLENTY,
            srtt: sent.srtt,
            ..Ready::default()
        });
        if let Sender::Arm(controller) = &mut self.sender {
            controller.on_sent(sent);
        }
    }

    /// Anything else.
    pub(super) fn tell(&mut self, event: &Event) {
        match (&mut self.sender, event) {
            (Sender::Arm(controller), event) => controller.tell(event),
            (Sender::Bbr1(bbr), Event::Congestion(timeout)) => bbr.on_timeout(timeout.nxt),
            (Sender::Bbr1(bbr), Event::Mss { mss, .. }) => bbr.on_mss(*mss),
            (Sender::Bbr1(_), _) => {}
        }
    }
}
