//! One explanation of a connection: an arm, its initial window, and the bytes it would have sent in
//! the current round trip.

use super::bbr1::Bbr1;
use super::delivered::Sample;
use firstflight::event::Ready;
use firstflight::{Ack, AnyController, Arm, Config, Event, Nanos, Rate, Sent, Seq, SoFar, Time};
use firstflight_log::step::Opening;

/// Number of packets by which a delayed pacer may catch up.
const BURST: u64 = 10;
/// Backlog of an application with enough to send.
const PLENTY: u64 = 1 << 40;

/// The sender, with everything that determines its sending.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all are arms, and there are few")]
pub(super) enum Kind {
    /// One of our arms.
    Arm(Arm),
    /// The kernel's BBRv1.
    Bbr1 {
        /// Position in the cycle at which ProbeBW starts.
        phase: usize,
        /// Growth per round trip that keeps startup going, in thousandths.
        growth: u64,
    },
}

#[derive(Clone, Debug)]
enum Sender {
    Arm(Box<AnyController>),
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

#[derive(Clone, Debug)]
pub(super) struct Hypothesis {
    /// Index of the startup in the requested list.
    pub(super) startup: usize,
    /// The sender.
    pub(super) kind: Kind,
    /// Initial window, bytes.
    pub(super) initial_window: u64,
    /// Bytes that it would send before the first ACK.
    pub(super) first_flight: u64,
    /// Time that this would take, ns.
    pub(super) first_span: u64,
    /// Log-likelihood of the first flight that was seen.
    pub(super) likelihood: f64,
    sender: Sender,
    mss: u64,
    /// Bytes in flight if it had sent since the start of the round trip.
    virtual_flight: u64,
    /// Bytes that it would have sent since then.
    would_send: u64,
    /// Bytes that the pacer has saved up.
    tokens: u64,
    /// Time up to which the pacer has earned bytes.
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
                let mut controller = arm.controller(base, opening.made, opening.nxt);
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

    /// Starts a round trip with `inflight` bytes in flight.
    pub(super) fn begin(&mut self, now: Time, inflight: u64) {
        self.virtual_flight = inflight;
        self.would_send = 0;
        self.paced_until = now;
        self.tokens = self.tokens.min(self.mss);
    }

    /// Bytes that it would have sent in the round trip so far.
    pub(super) fn would_send(&self) -> u64 {
        self.would_send
    }

    /// Advances the time and sends what is allowed: in this round trip, at most `receiver` bytes.
    pub(super) fn pass(&mut self, now: Time, receiver: u64) {
        let rate = self.sender.pacing_rate();
        if let Some(rate) = rate {
            let earned = rate.bytes_in(now.since(self.paced_until));
            // While the window is full, the pacer saves up at most a burst, but everything earned
            // since the last event may be used.
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

    /// Takes an ACK or the losses found by a timer.
    pub(super) fn on_ack(&mut self, ack: &Ack, so_far: &SoFar, sample: Option<Sample>) {
        let before = self.virtual_flight;
        self.virtual_flight =
            self.virtual_flight.saturating_sub(ack.acked.saturating_add(ack.lost));
        match &mut self.sender {
            Sender::Arm(controller) => controller.on_ack_of_another(ack),
            Sender::Bbr1(bbr) => bbr.on_ack(ack, so_far, sample, before),
        }
    }

    /// Takes a transmission of the real sender.
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

    /// Takes any other event.
    pub(super) fn tell(&mut self, event: &Event) {
        match (&mut self.sender, event) {
            (Sender::Arm(controller), event) => controller.tell(event),
            (Sender::Bbr1(bbr), Event::Congestion(timeout)) => bbr.on_timeout(timeout.nxt),
            (Sender::Bbr1(bbr), Event::Mss { mss, .. }) => bbr.on_mss(*mss),
            (Sender::Bbr1(_), _) => {}
        }
    }
}
