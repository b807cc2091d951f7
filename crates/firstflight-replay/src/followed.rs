//! One connection, followed from its first ACK to its end: the startups that it drives, and what
//! its ACKs reveal about the path.

use crate::identify::{Identifier, Identity};
use crate::line::Line;
use crate::meter::Meter;
use crate::run::{Named, Run, Settings, guessed};
use crate::signals::Signals;
use crate::spread::Spread;
use firstflight::arm::Arm;
use firstflight::{Ack, Event, Nanos, Sent, Time};
use firstflight_log::quality::Quality;
use firstflight_log::step::{Opening, Recorded, Step};

/// The real sender's reports about itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sender {
    /// Its largest congestion window, bytes.
    pub cwnd_most: u64,
    /// Time of its first slow start threshold, and its window then: the end of its startup.
    pub left: Option<(Time, u64)>,
    /// Exit of its startup, if the trace is our own.
    pub recorded: Option<Recorded>,
    /// Its first slow start threshold, bytes.
    pub ssthresh: Option<u64>,
    /// Highest pacing rate, bits per second.
    pub pacing: Option<u64>,
    /// Highest bandwidth estimate, bits per second.
    pub bandwidth: Option<u64>,
}

/// One connection, followed to its end.
#[derive(Clone, Debug)]
pub struct Followed {
    /// Values known when the connection was opened.
    pub opening: Opening,
    /// The replayed startups.
    pub runs: Vec<Run>,
    /// Delivered bytes over time.
    pub meter: Meter,
    /// Signals in the ACKs.
    pub signals: Signals,
    /// RTT samples, ns.
    pub rtts: Spread,
    /// Smallest RTT.
    pub min_rtt: Option<Nanos>,
    /// Payload bytes sent, as windows count them.
    pub sent: u64,
    /// Bytes sent on the wire, with IP headers.
    pub wire: u64,
    /// Bytes acknowledged.
    pub delivered: u64,
    /// Bytes declared lost.
    pub lost: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Number of ACKs that acknowledged data.
    pub acks: u64,
    /// Time of the last event.
    pub end: Time,
    /// Size of a packet, bytes.
    pub mss: u64,
    /// Maximum bytes in flight.
    pub inflight_most: u64,
    /// Reports of the sender.
    pub sender: Sender,
    /// Number of times that losses proved spurious.
    pub spurious: u64,
    /// Its course over time, if it is kept.
    pub line: Option<Line>,
    /// The identified startup, if identification was requested.
    pub identity: Option<Identity>,
    /// Quality of the capture, if there was one.
    pub quality: Option<Quality>,
    identifier: Option<Identifier>,
    initial: u64,
    /// A timer has fired, and the next transmission is data it took for lost.
    timed_out: bool,
}

impl Followed {
    pub(crate) fn new(settings: &Settings, opening: Opening, keeps_line: bool) -> Followed {
        // Sums over intervals show no exit.
        let coarse = opening.stated.coarse;
        let mut arms = if coarse.is_some() { Vec::new() } else { settings.arms.clone() };
        // The arm that ran is always replayed, to show that the replay is right.
        if let Some(ran) = opening.ran.as_ref().filter(|ran| ran.complete && !arms.is_empty())
            && !arms.iter().any(|named| named.arm.to_string() == ran.arm)
            && let Ok(arm) = Arm::parse(&ran.arm)
        {
            arms.push(Named { label: ran.arm.clone(), arm });
        }
        let runs: Vec<Run> = arms.iter().map(|named| Run::new(named, settings, &opening)).collect();
        Followed {
            line: keeps_line.then(|| Line::new(runs.len())),
            runs,
            identity: None,
            quality: None,
            identifier: (!settings.identify.is_empty() && coarse.is_none())
                .then(|| Identifier::new(settings, &opening)),
            meter: Meter::new(opening.start),
            signals: Signals::default(),
            rtts: Spread::default(),
            min_rtt: None,
            sent: 0,
            wire: 0,
            delivered: 0,
            lost: 0,
            timeouts: 0,
            acks: 0,
            end: opening.start,
            mss: opening.mss,
            inflight_most: 0,
            sender: Sender::default(),
            spurious: 0,
            timed_out: false,
            initial: opening.ran.as_ref().map_or_else(
                || guessed(settings, &opening).initial_window,
                |ran| ran.config.initial_window,
            ),
            opening,
        }
    }

    pub(crate) fn step(&mut self, step: &Step) {
        match step {
            Step::Event(event, wire) => {
                if let Some(identifier) = &mut self.identifier {
                    identifier.see(event);
                }
                self.tell(event, *wire);
            }
            Step::Exit(recorded) => self.sender.recorded = *recorded,
            Step::Window { now, cwnd, ssthresh } => {
                self.sender.cwnd_most = self.sender.cwnd_most.max(*cwnd);
                if ssthresh.is_some() && self.sender.left.is_none() {
                    self.sender.left = Some((*now, *cwnd));
                    self.sender.ssthresh = *ssthresh;
                }
                if let Some(line) = &mut self.line {
                    line.sender_window(*cwnd);
                }
            }
            Step::Rates { pacing, bandwidth } => {
                self.sender.pacing = self.sender.pacing.max(*pacing);
                self.sender.bandwidth = self.sender.bandwidth.max(*bandwidth);
            }
            Step::ReceiverLimited(_) => self.signals.receiver_limit(),
            Step::Marks(packets) => self.signals.marks_of_next = Some(*packets),
            Step::WindowProbe(now) => {
                self.signals.window_probes += 1;
                self.end = self.end.max(*now);
            }
            Step::KeepAlive(_) => self.signals.keep_alives += 1,
            Step::Unsure(unsure) => self.signals.unsure.push(*unsure),
            Step::ReceiverEdge(edge) => {
                if let Some(identifier) = &mut self.identifier {
                    identifier.see_edge(*edge);
                }
            }
        }
    }

    fn tell(&mut self, event: &Event, wire: u64) {
        match event {
            Event::Ack(ack, _) => return self.on_ack(ack),
            Event::Sent(sent) => self.on_sent(sent, wire),
            Event::Congestion(timeout) => {
                self.timeouts += 1;
                // Our own logs state losses separately.
                self.timed_out = self.opening.ran.is_none();
                self.end = self.end.max(timeout.now);
            }
            Event::Mss { mss, .. } => self.mss = *mss,
            Event::Spurious { .. } => self.spurious += 1,
            Event::HandshakeRtt { .. } | Event::Ready(_) => {}
        }
        self.each(|run| run.controller.tell(event));
        match event {
            Event::Congestion(timeout) => self.note(timeout.now),
            Event::Spurious { .. } => self.note(self.end),
            _ => {}
        }
    }

    fn each(&mut self, mut tell: impl FnMut(&mut Run)) {
        self.runs.iter_mut().filter(|run| !run.settled).for_each(&mut tell);
    }

    fn note(&mut self, now: Time) {
        let (number, round) = (self.acks, self.round());
        let Followed { runs, meter, .. } = self;
        runs.iter_mut()
            .filter(|run| !run.settled)
            .for_each(|run| run.note(now, number, meter, round));
    }

    /// The round trip that rates are measured over.
    fn round(&self) -> Nanos {
        self.min_rtt.or(self.opening.handshake_rtt).unwrap_or(Nanos::from_millis(100))
    }

    fn on_sent(&mut self, sent: &Sent, wire: u64) {
        if std::mem::take(&mut self.timed_out) {
            self.lost += sent.bytes;
        }
        self.sent += sent.bytes;
        self.wire += wire;
        self.end = self.end.max(sent.now);
        self.inflight_most = self.inflight_most.max(sent.inflight);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.end = self.end.max(ack.now);
        if let Some(rtt) = ack.rtt.filter(|rtt| rtt.0 > 0) {
            self.rtts.add(rtt.0);
            let min = self.min_rtt.map_or(rtt, |min| min.min(rtt));
            self.min_rtt = Some(min);
            self.meter.round(min.max(self.opening.stated.coarse.unwrap_or(min)));
        }
        self.meter.add(ack.now, ack.acked);
        self.delivered += ack.acked;
        self.lost += ack.lost;
        self.inflight_most = self.inflight_most.max(ack.inflight_before);
        self.signals.see(ack);
        let round = ack.srtt.unwrap_or_else(|| self.round());
        let Followed { runs, meter, acks, line, .. } = self;
        for run in runs.iter_mut() {
            run.on_ack(ack, *acks, meter, round);
        }
        if let Some(line) = line {
            line.see(ack, runs);
        }
        self.acks += u64::from(ack.acked > 0);
    }

    /// Share of the sent bytes declared lost; `None` if the log cannot record losses.
    pub fn loss(&self) -> Option<f64> {
        let ratio = self.lost as f64 / self.sent.max(1) as f64;
        (!self.opening.stated.loss_unknown).then_some(ratio)
    }

    /// Initial window that the startups assumed, bytes.
    pub fn initial_window(&self) -> u64 {
        self.initial
    }

    /// Ends the connection.
    pub(crate) fn finish(&mut self) {
        for run in &mut self.runs {
            run.cwnd = run.controller.cwnd();
        }
        self.identity = self.identifier.take().map(|identifier| identifier.answer());
        // Startups depend on the first flight, and on times that the clock must resolve.
        if self.quality.as_ref().is_some_and(|quality| !quality.shows_exits) {
            self.runs.clear();
            self.identity = None;
        }
    }
}
