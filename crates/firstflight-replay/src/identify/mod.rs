//! Identifies the startup of a recorded sender: the startup, and the window reduction after a loss,
//! that best explain its sending times.
//!
//! For every candidate, one of our controllers receives the ACKs that the sender saw. From its
//! window and its pacer follows, for each round trip, how many bytes it would have sent, starting
//! with the bytes that were really in flight. The prediction is compared with the bytes sent, and
//! the score is the likelihood of the deviations; `docs/identify.md` explains it in words.
//!
//! A round trip ends with the first ACK of data that was sent after it began.

mod answer;
mod bbr1;
mod delivered;
mod hypothesis;
mod score;

pub use answer::{Candidate, Identity};

use crate::run::{Settings, Tried, guessed};
use bbr1::{GROWTHS, PHASES};
use delivered::Delivered;
use firstflight::arm::{Arm, AvoidanceSpec, StartupSpec};
use firstflight::startup::rapid_start;
use firstflight::{Ack, Config, Event, Nanos, Sent, Seq, SoFar, Time};
use firstflight_log::step::Opening;
use hypothesis::{Hypothesis, Kind};
use score::Seen;

/// The startups that are tried if none are named.
pub const DEFAULT_CANDIDATES: &str = "slowstart,hystart,hystart++,hystart++-draft03,search,best,\
                                      limited,rapid,jumpstart,plumb,bbr,kernel:bbr";

/// Congestion avoidance after the startup. After a loss Reno keeps half of the window, CUBIC 0.7,
/// and some stacks 0.85 with ABE (RFC 8511). Linux's CUBIC grows by a twentieth in each round trip
/// until the first loss, whatever the startup.
const AFTERWARDS: [&str; 4] = ["reno", "cubic", "cubic(floor20=on)", "cubic(beta=0.85)"];

/// Number of round trips examined after the first loss, which show the reduction. Later congestion
/// avoidance contains no information about the startup.
const AFTER_LOSS: u32 = 6;
/// Maximum number of round trips examined.
const MOST_ROUNDS: usize = 80;
/// No sender uses an initial window of more packets.
const LARGEST_INITIAL: u64 = 64;

/// One round trip: what was sent, and what each hypothesis predicted.
#[derive(Clone, Debug)]
struct Round {
    sent: u64,
    seen: Seen,
    /// The application had nothing to send for a while.
    rested: bool,
    predicted: Vec<u64>,
}

/// Compares every candidate with one connection, event by event.
#[derive(Clone, Debug)]
pub struct Identifier {
    opening: Opening,
    candidates: Vec<Tried>,
    base: Config,
    /// Whether the sender paced. An unpaced first flight proves nothing, because pacers let a burst
    /// pass.
    paced: Vec<bool>,
    hypotheses: Vec<Hypothesis>,
    rounds: Vec<Round>,
    delivered: Delivered,
    /// Bytes sent before the first ACK, and the time of the last of them.
    first: (u64, Time),
    handshake: Option<Nanos>,
    /// Bytes sent in the current round trip.
    sent: u64,
    lossy: bool,
    rested: bool,
    last_ack: Time,
    mark: Seq,
    nxt: Seq,
    /// Right edge of the receiver's window; `None` if the trace does not show it.
    edge: Option<Seq>,
    /// End of the current recovery: the data sent before the last loss.
    repair: Option<Seq>,
    after_loss: Option<u32>,
    over: bool,
}

impl Identifier {
    /// Creates an identifier for a connection without any events.
    pub fn new(settings: &Settings, opening: &Opening) -> Identifier {
        let base = match &opening.ran {
            Some(ran) => ran.config,
            None => guessed(settings, opening),
        };
        Identifier {
            opening: opening.clone(),
            candidates: settings.identify.clone(),
            base,
            paced: settings.paced.map_or(vec![true, false], |paced| vec![paced]),
            hypotheses: Vec::new(),
            rounds: Vec::new(),
            delivered: Delivered::default(),
            first: (0, opening.start),
            handshake: opening.handshake_rtt,
            sent: 0,
            lossy: false,
            rested: false,
            last_ack: opening.start,
            mark: opening.nxt,
            nxt: opening.nxt,
            edge: None,
            repair: None,
            after_loss: None,
            over: false,
        }
    }

    /// Takes the next event of the connection.
    pub fn see(&mut self, event: &Event) {
        if self.over {
            return;
        }
        match event {
            Event::Sent(sent) => self.on_sent(sent),
            Event::Ack(ack, so_far) => self.on_ack(ack, so_far),
            Event::HandshakeRtt { rtt, .. } if self.hypotheses.is_empty() => {
                self.handshake = Some(*rtt);
            }
            Event::Mss { mss, .. } => {
                self.base.mss = (*mss).max(1);
                self.hypotheses.iter_mut().for_each(|one| one.tell(event));
            }
            Event::Congestion(timeout) => {
                self.pass(timeout.now);
                self.lose(timeout.nxt);
                self.hypotheses.iter_mut().for_each(|one| one.tell(event));
            }
            Event::Spurious { .. } => {
                self.hypotheses.iter_mut().for_each(|one| one.tell(event));
            }
            Event::HandshakeRtt { .. } | Event::Ready(_) => {}
        }
    }

    /// Sets the right edge of the receiver's window.
    pub fn see_edge(&mut self, edge: Seq) {
        self.edge = Some(edge);
    }

    fn pass(&mut self, now: Time) {
        // Retransmissions need no room, so the receiver's window does not limit a recovery.
        let room = match self.edge {
            Some(edge) if self.repair.is_none() && !self.lossy => {
                edge.0.saturating_sub(self.mark.0)
            }
            _ => u64::MAX,
        };
        self.hypotheses.iter_mut().for_each(|one| one.pass(now, room));
    }

    fn lose(&mut self, nxt: Seq) {
        self.lossy = true;
        self.repair = Some(nxt);
        self.after_loss.get_or_insert(0);
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.delivered.on_sent(sent, self.base.mss);
        if self.hypotheses.is_empty() {
            self.first.0 = self.first.0.saturating_add(sent.bytes);
            self.first.1 = sent.now;
            self.nxt = self.nxt.max(sent.nxt);
            return;
        }
        // Nothing was in flight, and no ACK is what made it leave.
        let least = self.handshake.map_or(0, |rtt| rtt.0 / 4);
        self.rested |= sent.inflight <= sent.bytes && sent.now.since(self.last_ack).0 > least;
        self.pass(sent.now);
        let before = self.nxt;
        self.nxt = self.nxt.max(sent.nxt);
        self.sent = self.sent.saturating_add(sent.bytes);
        self.hypotheses.iter_mut().for_each(|one| one.on_sent(sent, before));
    }

    fn on_ack(&mut self, ack: &Ack, so_far: &SoFar) {
        let sample = self.delivered.on_ack(ack, so_far);
        self.last_ack = ack.now;
        if self.hypotheses.is_empty() {
            if ack.acked == 0 {
                return;
            }
            self.suppose(ack);
        }
        self.pass(ack.now);
        if ack.una > self.mark && ack.acked > 0 {
            self.end_round(ack);
            if self.over {
                return;
            }
        }
        if ack.lost > 0 || ack.ce {
            self.lose(ack.nxt);
        }
        // A capture shows a loss only by its retransmission; the sender already knew from the SACK
        // holes.
        self.lossy |= ack.sacked > 0;
        if self.repair.is_some_and(|until| ack.una >= until) {
            self.repair = None;
        }
        self.hypotheses.iter_mut().for_each(|one| one.on_ack(ack, so_far, sample));
    }

    /// On the first ACK, creates the hypotheses that may explain the first flight.
    fn suppose(&mut self, ack: &Ack) {
        let rtt = self.handshake.or(ack.rtt);
        let mss = self.base.mss.max(1);
        let flight = if self.first.0 > 0 { self.first.0 } else { self.opening.first_flight };
        self.first.0 = flight;
        let standard = Config::standard_initial_window(mss);
        for (index, named) in self.candidates.iter().enumerate() {
            for (paced, kind) in named.kinds(&self.paced) {
                for initial_window in initial_windows(&kind, flight, standard, mss) {
                    let base = firstflight::with!(Config { initial_window, paced, ..self.base });
                    let one = Hypothesis::new(index, kind, base, &self.opening, rtt);
                    self.hypotheses.push(one);
                }
            }
        }
        let first = Sent {
            now: self.opening.start,
            bytes: flight,
            nxt: self.nxt,
            inflight: flight,
            srtt: rtt,
        };
        let span = self.opening.first_flight_span.unwrap_or(self.first.1.since(self.opening.start));
        let round = rtt.unwrap_or(Nanos::from_millis(100)).0.max(1);
        for one in &mut self.hypotheses {
            one.on_sent(&first, self.opening.nxt);
            one.likelihood = score::first_flight(one, flight, span.0, round, mss)
                + score::prior(one.initial_window, standard);
            one.begin(ack.now, ack.inflight_before);
        }
        self.mark = self.nxt;
    }

    /// Records the round trip that ends with this ACK, and starts the next one.
    fn end_round(&mut self, ack: &Ack) {
        let seen = if self.lossy || self.repair.is_some() { Seen::Repairing } else { Seen::Clean };
        let predicted = self.hypotheses.iter().map(Hypothesis::would_send).collect();
        self.rounds.push(Round { sent: self.sent, seen, rested: self.rested, predicted });
        self.sent = 0;
        self.lossy = false;
        self.rested = false;
        self.mark = self.nxt;
        self.hypotheses.iter_mut().for_each(|one| one.begin(ack.now, ack.inflight_before));
        if self.repair.is_none()
            && let Some(rounds) = &mut self.after_loss
        {
            *rounds += 1;
        }
        self.over = self.rounds.len() >= MOST_ROUNDS
            || self.after_loss.is_some_and(|rounds| rounds > AFTER_LOSS);
    }
}

impl Tried {
    /// The candidate's full variants, and whether each paces.
    fn kinds(&self, paced: &[bool]) -> Vec<(bool, Kind)> {
        let Some(arm) = &self.arm else {
            let each = |phase| GROWTHS.map(|growth| (true, Kind::Bbr1 { phase, growth }));
            return PHASES.into_iter().flat_map(each).collect();
        };
        let full = paced.iter().flat_map(|paced| arms(arm, *paced));
        full.map(|(paced, arm)| (paced, Kind::Arm(arm))).collect()
    }
}

/// The arms of a candidate: the startup with each window reduction. Rapid Start is also tried
/// without its jump, which needs an early RTT sample. Neither Rapid Start nor a startup that jumps
/// is tried without pacing.
fn arms(arm: &Arm, paced: bool) -> Vec<(bool, Arm)> {
    let startups = match arm.startup {
        StartupSpec::Jump(_) | StartupSpec::Rapid(_) if !paced => Vec::new(),
        StartupSpec::Rapid(params) if params.jump.is_some() => {
            vec![
                arm.startup,
                StartupSpec::Rapid(firstflight::with!(rapid_start::Params {
                    jump: None,
                    ..params
                })),
            ]
        }
        startup => vec![startup],
    };
    let with = |startup: StartupSpec| {
        AFTERWARDS.into_iter().filter_map(move |avoidance| {
            let other = Arm::parse(&format!("slowstart/{avoidance}")).ok()?;
            // The candidate's own CUBIC; HyStart's has a floor.
            let own = avoidance == "cubic" && matches!(arm.avoidance, AvoidanceSpec::Cubic(_));
            let avoidance = if own { arm.avoidance } else { other.avoidance };
            Some((paced, Arm { startup, avoidance, ..*arm }))
        })
    };
    startups.into_iter().flat_map(with).collect()
}

/// Initial windows that may explain a first flight, bytes.
fn initial_windows(kind: &Kind, flight: u64, standard: u64, mss: u64) -> Vec<u64> {
    let jumps = match kind {
        Kind::Arm(Arm { startup: StartupSpec::Jump(_), .. }) => true,
        Kind::Arm(Arm { startup: StartupSpec::Rapid(params), .. }) => params.jump.is_some(),
        Kind::Arm(_) | Kind::Bbr1 { .. } => false,
    };
    let mut windows = vec![standard];
    if jumps {
        windows.push(flight.div_ceil(mss.saturating_mul(2)).saturating_mul(mss));
    }
    if flight <= mss.saturating_mul(LARGEST_INITIAL) && !jumps {
        windows.push(flight);
    }
    windows.retain(|window| *window / 2 >= mss);
    windows.sort_unstable();
    windows.dedup();
    windows
}
