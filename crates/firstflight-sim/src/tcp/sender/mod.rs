//! The data sender: sequence space, scoreboard, detectors and one timer around one controller.
//!
//! An ACK is processed in the order of [`firstflight::detection`]. The controller decides how it
//! affects the window, the detectors choose what to send next, and the recovery policy how much.
//! The parts of this module: [`ack`] processes ACKs, [`timer`] the timer, [`send`] chooses and
//! sends segments.
//!
//! Departures: D1 the RTT sample is that of the latest sent segment newly delivered that was sent
//! once, to the nanosecond, as Linux gives it to congestion control; the estimator gets the same.
//! Where an ACK delivers only retransmissions, the timestamp provides a sample, to its tick, for
//! the estimator only. D2 a timestamp counts as the answer to a retransmission only on an ACK that
//! moves `una`: a duplicate ACK echoes the last segment in order. D3 outside episodes, counting
//! presets compare new data with the flight, so that only limited transmit uses the room that SACKs
//! free. RACK compares it with the pipe, as Linux does, which includes limited transmit. D4 a loss
//! that a probe repaired is given to the controller as a loss, which opens an episode with nothing
//! to retransmit. D5 a timeout inside an episode that keeps its target is given to the controller
//! as a repeated one: both leave the threshold alone. D6 F-RTO's caps on the window after a genuine
//! timeout are enforced by counting less growth on the ACK that decides. D7 without SACK, every
//! duplicate ACK is deducted from the pipe, not only as many as the flight at entry had segments: a
//! recovery of hundreds of round trips sends far more new data than that and would stall. No
//! receiver forges duplicates here. D8 (Linux, where the preset has its timeouts) retransmitting
//! the head in fast recovery restarts the timeout, as RFC 6675 section 6 allows: a recovery that
//! needs a second retransmission would otherwise not outlast it.

mod ack;
mod fast;
mod marker;
mod send;
mod timer;

use super::buffers::SendWindow;
use super::{Board, Host};
use crate::counters::Counters;
use crate::instrumented::{Combined, Company, Core, Instrumented};
use crate::limited::{Limit, Limited, Meter};
use crate::observe::Nobody;
use firstflight::account::{Account, Kept};
use firstflight::detection::delivered::DuplicateCredit;
use firstflight::detection::early_retransmit::{Counts, EarlyRetransmit};
use firstflight::detection::f_rto::FRto;
use firstflight::detection::limited_transmit::LimitedTransmit;
use firstflight::detection::presets::{Bounds, Early, Probe};
use firstflight::detection::reordering::Reordering;
use firstflight::detection::rto::{self, Rto};
use firstflight::detection::tlp::Tlp;
use firstflight::detection::undo::Undo;
use firstflight::detection::{Armed, Episode, Id, NextSeg, Scoreboard};
use firstflight::signal::rtt::{Rfc6298Rtt, RtoParams};
use firstflight::{Nanos, Pacer, Rate, Time};
use marker::{Marker, Repeats};

/// A segment that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The segment's position in the connection.
    pub id: Id,
    /// The segment in transit.
    pub segment: super::Segment,
    /// Whether it was sent before.
    pub repeat: bool,
}

/// Why the sender is not sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blocked {
    Window,
    Pacer(Time),
    /// No data, or the buffer of either end blocks it.
    NoData,
}

/// Segments to send regardless of the window.
#[derive(Clone, Copy, Debug, Default)]
struct Owed {
    /// Retransmission of the head: the timer expired.
    head: bool,
    /// A tail loss probe.
    probe: bool,
    /// A new segment, by limited transmit.
    limited: bool,
    /// New segments for F-RTO's test; these do respect the window.
    f_rto: u8,
}

/// State that [`Preset::LINUX`](firstflight::detection::presets::Preset::LINUX) keeps beyond the
/// RFCs.
#[derive(Clone, Copy, Debug, Default)]
struct Linux {
    /// The degree of reordering.
    reordering: Reordering,
    /// Reported duplicates of retransmissions.
    dsacks: u64,
    /// Whether the last ACK answers an original while retransmissions are in flight: nothing is
    /// marked or retransmitted.
    waits: bool,
    /// Whether the DSACK of the last ACK may concern a retransmission.
    believes: bool,
}

/// The sending end of one TCP flow that carries one object.
#[derive(Clone, Debug)]
pub struct Sender<S: Combined, L = Nobody> {
    host: Host,
    mss: u64,
    object: u64,
    /// Bytes of the object that the application has written.
    written: u64,
    controller: Instrumented<S, L>,
    rtt: Rfc6298Rtt,
    pacer: Pacer,
    board: Board,

    marker: Marker,
    repeats: Repeats,
    early: Option<EarlyRetransmit>,
    limited: LimitedTransmit,
    tlp: Tlp,
    probe_start: u64,
    probe_len: u64,
    f_rto: Option<FRto>,
    undo: Undo,
    linux: Option<Linux>,
    next_seg: NextSeg,
    credit: DuplicateCredit,
    rto: Rto,

    episode: Episode,
    /// The end of the current fast recovery, and the first transmission that belongs to it.
    recover_end: u64,
    first_of_episode: u64,
    loss_episodes: u32,
    dupacks: u32,

    reordering_at: Option<Time>,
    /// When new data was last sent or `una` last moved: the start of a possible tail.
    tail_at: Time,
    timer: Option<Armed>,

    window: SendWindow,
    /// The first byte that the receiver does not allow yet.
    right_edge: u64,
    peer_window: u64,
    peer_stamp: Option<u32>,
    marks_seen: u32,

    owed: Owed,
    in_burst: bool,
    /// Whether the last burst filled the window.
    filled: bool,
    blocked: Blocked,
    meter: Meter,
    /// The largest pacing rate.
    max_rate: Option<Rate>,
    app_limited: bool,
    cwnd_limited: bool,
    idle_since: Option<Time>,
    last_sent_at: Time,
    first_sent: Option<Time>,
    bytes_sent: u64,
    counters: Counters,
    /// The segment that early retransmit has just declared lost.
    early_head: Option<Id>,
}

fn estimator(host: &Host) -> Rfc6298Rtt {
    let params = match host.preset.bounds {
        Bounds::Rfc => RtoParams::RFC,
        Bounds::Linux => RtoParams::LINUX,
        Bounds::Windows => RtoParams::WINDOWS,
    };
    let max = host.rto_max.unwrap_or(params.max);
    Rfc6298Rtt::new(RtoParams { initial: host.preset.initial_rto.min(max), max, ..params })
}

impl<S: Combined> Sender<S> {
    /// A sender of an object of `object` bytes whose handshake just gave an RTT sample.
    pub fn new(
        host: Host,
        controller: Core<S>,
        pacer_burst: u64,
        object: u64,
        handshake_rtt: Nanos,
        now: Time,
    ) -> Sender<S> {
        Sender::recorded(host, controller, pacer_burst, object, handshake_rtt, now)
    }
}

impl<S: Combined, L: Company<S>> Sender<S, L> {
    /// Like [`Sender::new`], with a recorder of the controller's events.
    pub fn recorded(
        host: Host,
        controller: Core<S>,
        pacer_burst: u64,
        object: u64,
        handshake_rtt: Nanos,
        now: Time,
    ) -> Sender<S, L> {
        let mut sender = Sender::unopened(host, controller, pacer_burst, object);
        sender.establish(now, handshake_rtt, false);
        sender
    }

    /// The handshake is complete at `now` and gave an RTT sample. `late`: `now` differs from the
    /// start time that the controller was created for.
    pub fn establish(&mut self, now: Time, handshake_rtt: Nanos, late: bool) {
        (self.tail_at, self.last_sent_at) = (now, now);
        self.rtt.on_sample(handshake_rtt);
        if late {
            self.controller.restart(now);
        }
        // The kernel's congestion control starts after the handshake.
        if self.linux.is_none() {
            self.controller.on_handshake_rtt(now, handshake_rtt);
        }
    }

    /// Adds followers of the controller, before any query.
    pub(crate) fn in_company(self, company: L) -> Sender<S, L> {
        let mut sender = Sender { controller: self.controller.in_company(company), ..self };
        // The query must reach the new followers, too.
        sender.window.follow(|| sender.controller.cwnd());
        sender
    }

    /// A sender whose handshake is not complete: it must not be used before [`Sender::establish`].
    pub fn unopened(
        host: Host,
        controller: Core<S>,
        pacer_burst: u64,
        object: u64,
    ) -> Sender<S, L> {
        let preset = &host.preset;
        let mss = u64::from(host.mss);
        let max_rate = controller.max_rate();
        let mut controller = Instrumented::<S, L>::new(controller, mss);
        let (rtt, now) = (estimator(&host), Time(0));
        let early = host.early_retransmit.filter(|_| preset.early_retransmit == Early::ByArm);
        // The window that the receiver's SYN would have advertised.
        let peer_window = super::ReceiveWindow::new(host.receive_buffer, mss).bytes();
        let mut window = SendWindow::new(host.send_buffer, mss);
        window.follow(|| controller.cwnd());
        Sender {
            mss,
            object,
            written: object,
            controller,
            rtt,
            pacer: Pacer::new(pacer_burst, now),
            board: Board::new(preset.repeats, mss).naming_losses(L::records()),
            marker: Marker::new(preset),
            repeats: Repeats::default(),
            early: early.map(EarlyRetransmit::new),
            limited: LimitedTransmit::new(preset.limited_transmit),
            tlp: Tlp::default(),
            probe_start: 0,
            probe_len: 0,
            f_rto: preset.f_rto.then(|| FRto::new(host.f_rto)),
            undo: Undo::new(preset.accepts()),
            linux: preset.linux.then(Linux::default),
            next_seg: NextSeg::new(preset.rules),
            credit: DuplicateCredit::default(),
            rto: Rto::new(rto::Options {
                max: host.rto_max.unwrap_or(preset.bounds.max()),
                ..preset.rto()
            }),
            episode: Episode::None,
            recover_end: 0,
            first_of_episode: 0,
            loss_episodes: 0,
            dupacks: 0,
            reordering_at: None,
            tail_at: now,
            timer: None,
            window,
            right_edge: peer_window,
            peer_window,
            peer_stamp: None,
            marks_seen: 0,
            owed: Owed::default(),
            in_burst: false,
            filled: false,
            blocked: Blocked::NoData,
            meter: Meter::new(),
            max_rate,
            app_limited: false,
            cwnd_limited: false,
            idle_since: None,
            last_sent_at: now,
            first_sent: None,
            bytes_sent: 0,
            counters: Counters::default(),
            early_head: None,
            host,
        }
    }

    /// The controller.
    pub fn controller(&self) -> &Core<S> {
        self.controller.core()
    }

    /// Recorder of the controller's events.
    pub fn recorder(&mut self) -> &mut L {
        self.controller.recorder()
    }

    /// The scoreboard.
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// Counters so far.
    pub fn counters(&self) -> Counters {
        let truth = self.board.truth();
        Counters {
            packets_sent: self.transmissions(),
            packets_lost: truth.dropped,
            spurious_losses: truth.delivered,
            rtos: u64::from(self.controller.core().stats().timeouts),
            ..self.counters
        }
    }

    /// Counters of early retransmit.
    pub fn early_retransmits(&self) -> Counts {
        self.early.map_or_else(Counts::default, |early| early.counts())
    }

    /// History of the controller.
    pub fn account(&self) -> &Account<Vec<Kept>> {
        self.controller.account()
    }

    /// The congestion state as the detectors see it.
    pub fn episode(&self) -> Episode {
        self.episode
    }

    /// The degree of reordering that loss detection uses.
    pub fn reordering(&self) -> Reordering {
        self.linux.map_or_else(|| self.marker.reordering(), |linux| linux.reordering)
    }

    /// Whether RACK has seen reordering.
    pub fn reordering_seen(&self) -> bool {
        self.marker.has_seen_reordering()
    }

    /// Smallest RTT.
    pub fn min_rtt(&self) -> Option<Nanos> {
        self.rtt.min()
    }

    /// When the first segment left.
    pub fn first_sent(&self) -> Option<Time> {
        self.first_sent
    }

    /// The oldest unacknowledged byte.
    pub fn una(&self) -> u64 {
        self.board.una()
    }

    /// Whether every byte of the object is acknowledged.
    #[inline]
    pub fn complete(&self) -> bool {
        self.board.una() >= self.object
    }

    /// The application has written the first `written` bytes of the object. Data that was sent is
    /// never taken back.
    pub fn write(&mut self, written: u64) {
        self.written = written.clamp(self.board.nxt(), self.object);
    }

    /// Bytes that the send buffer holds, counted from the oldest unacknowledged byte.
    pub fn send_window(&self) -> u64 {
        self.window.bytes()
    }

    /// The sender's only timer.
    #[inline]
    pub fn timer(&self) -> Option<Armed> {
        self.timer
    }

    /// When the timer fires.
    #[inline]
    pub fn timer_at(&self) -> Option<Time> {
        self.timer.map(Armed::deadline)
    }

    /// When the pacer releases the next segment, if the sender is waiting for it.
    #[inline]
    pub fn release_at(&self) -> Option<Time> {
        match self.blocked {
            Blocked::Pacer(at) => Some(at),
            Blocked::Window | Blocked::NoData => None,
        }
    }

    /// For how long each reason kept it from sending, up to `now`.
    pub(crate) fn limited(&self, now: Time) -> Limited {
        self.meter.until(now)
    }

    /// The burst that ended at `now` ended for this reason.
    #[inline(always)]
    fn note(&mut self, now: Time, by: Limit) {
        self.meter.note(now, by, self.first_sent.is_some());
    }

    /// Bytes believed to be in the network: the pipe.
    #[inline]
    pub fn inflight(&self) -> u64 {
        let ledger = self.board.ledger();
        if self.host.preset.sack {
            return ledger.pipe();
        }
        // D7: every duplicate counts.
        ledger.pipe_without_sack(ledger.outstanding(), self.credit.credit())
    }

    fn is_linux(&self) -> bool {
        self.host.preset.bounds == Bounds::Linux
    }

    fn uses_probes(&self) -> bool {
        self.host.preset.probe == Probe::Tlp
    }
}
