//! The rig: real QUIC endpoints on an emulated path, in virtual time. No sockets, no threads, no
//! clock.
//!
//! A noq (or quinn) server sends one object to a client over the same path state machine that the
//! simulator uses. Nothing reads a clock and every random choice that could change a size or a time
//! is seeded, so two runs give the same trial to the nanosecond, many times faster than real time.
//! What the simulator models, the rig runs: packets with their headers, ACK frames, loss detection,
//! pacing.
//!
//! What a result depends on beside path and arm:
//! * datagrams are as large as [`Setup::datagram`] from the first one on, path MTU discovery is
//!   off;
//! * the receiver's windows cover the whole object ([`Outcome::stream_window`]) and its reassembly
//!   has no limit on gaps;
//! * the handshake crosses the path without its random loss and without what the return path does
//!   to ACKs (`return=`, `thin=`), so that its RTT sample is that of the idle path; time, draws,
//!   slots and traces start with the first byte of the object;
//! * what the path's receiving host merges (`gro=`) reaches the stack in batches; how often it
//!   acknowledges (`ack=`) is the stack's affair.

#![forbid(unsafe_code)]
// A library has no terminal.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod audit;
mod followed;
mod install;
mod logbook;
mod merge;
mod noq_sender;
mod own;
#[cfg(feature = "qlog")]
mod qlog;
#[cfg(feature = "quinn")]
mod quinn_sender;
mod receiver;
#[cfg(feature = "s2n")]
mod s2n;
mod sender;
mod tls;
mod wire;

pub use firstflight_sim::Observer;
pub use logbook::Logbook;
pub use own::{Own, OwnControl};

use firstflight::{Episode, Exit, Nanos, Time};
use firstflight_path::{Error, Path, Release, Reverse};
use firstflight_quic::{Plan, SharedRecorder, Status, Voice};
use followed::Witness;
use hdrhistogram::Histogram;
use install::{Installed, install};
use merge::Merge;
use noq_sender::NoqSender;
use receiver::Receiver;
use sender::Sender;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use wire::{Offered, Wire};

/// What the sender and the receiver are.
pub const STACKS: &str = "noq-proto 1.4 to iroh-quinn-proto 0.15";

/// A state machine that makes no progress fails after so many steps instead of hanging.
const STEPS: u64 = 50_000_000;

/// Which stack sends, and what controls it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Control {
    /// An arm on noq.
    Noq(Plan),
    /// A stack with a controller of its own.
    Own(OwnControl),
    /// An arm on quinn. quinn names no lost packets: dropped ones count as lost, and none as false
    /// alarms.
    #[cfg(feature = "quinn")]
    Quinn(Plan),
}

/// What a trial runs on.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The path.
    pub path: &'a Path,
    /// The sender.
    pub control: Control,
    /// Bytes of a full datagram (UDP payload), 1200 to 1472.
    pub datagram: u16,
    /// IP bytes of a packet that carries only an ACK: what the path's idle RTT counts with.
    pub ack_packet: u32,
    /// Object size, bytes; at least 1.
    pub object: u64,
    /// Virtual time after which an unfinished trial stops.
    pub limit: Nanos,
    /// Seed of every random draw, of the path and of the stacks.
    pub seed: u64,
    /// Which path of a population this is; keys the draws together with the seed.
    pub path_index: u64,
}

/// What a trial measured. Times are counted from the first byte of the object.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Every byte was acknowledged.
    pub complete: bool,
    /// Until every byte was acknowledged at the sender, or until the stop.
    pub acked_after: Nanos,
    /// Until the last byte was read in order at the receiver; `None` if it was not.
    pub delivered_after: Option<Nanos>,
    /// Object bytes read in order at the receiver.
    pub delivered: u64,
    /// Ack-eliciting packets sent, repeats and probes included.
    pub packets_sent: u64,
    /// The stack named each packet that it declared lost. quinn does not: then dropped packets count
    /// as lost, and nothing is known of false alarms, retransmissions and probes.
    pub names_losses: bool,
    /// Packets declared lost that the path had dropped.
    pub packets_lost: u64,
    /// Packets that the path dropped.
    pub packets_dropped: u64,
    /// Packets declared lost that the path had not dropped.
    pub spurious_losses: u64,
    /// Packets that carried bytes declared lost before; told by the amount owed, since the stack
    /// repeats first.
    pub retransmissions: u64,
    /// Object bytes in them, headers of the usual size assumed.
    pub retransmitted_bytes: u64,
    /// Of these packets, dropped by the path.
    pub lost_retransmissions: u64,
    /// Probe timeouts: sends after a timer when nothing had been sent for a round trip and nothing
    /// was declared lost.
    pub probe_timeouts: u64,
    /// Recovery episodes opened by loss with no more in flight at entry than the threshold allows,
    /// in whole datagrams; `None` for a stack's own controller, which does not say when it
    /// recovers.
    pub recoveries_below_ssthresh: Option<u64>,
    /// How startup ended, if it did. Of a stack's own controller: the first time that its window
    /// was not below its threshold; never if it has none (BBR).
    pub exit: Option<Exit>,
    /// Recovery episodes; none of a stack's own controller.
    pub episodes: Vec<Episode>,
    /// Waiting time of every datagram at the bottleneck, microseconds.
    pub queue_us: Histogram<u32>,
    /// Largest window, bytes.
    pub cwnd_max: u64,
    /// What the controller says of itself at the end; `None` if it is the stack's own.
    pub status: Option<Status>,
    /// Receive window of the stream and of the connection, bytes.
    pub stream_window: u64,
    /// RTT sample of the handshake, as the controller started with it.
    pub handshake_rtt: Option<Nanos>,
    /// Steps of the virtual clock.
    pub steps: u64,
}

/// Runs one trial. An observer hears what the controller is told on the clock of the controller, on
/// which the handshake comes before the trial.
///
/// # Errors
/// If the path cannot carry the packets, or a stack fails or makes no progress.
pub fn run<'a>(
    setup: &'a Setup<'a>,
    observer: Option<&'a mut (dyn Observer + 'a)>,
) -> Result<Outcome, Error> {
    Rig::new(setup, observer, None, None)?.run()
}

/// Runs one trial of a stack's own controller ([`Control::Own`]). `witness` follows the one of ours
/// beside it, which hears the same calls and steers nothing; what the stack's own made of each it finds
/// in `voice`. It is called from within the stack: it must be quick.
///
/// # Errors
/// As [`run`].
pub fn run_beside(
    setup: &Setup<'_>,
    voice: Arc<Voice>,
    witness: SharedRecorder,
) -> Result<Outcome, Error> {
    Rig::new(setup, None, None, Some((voice, witness)))?.run()
}

/// Where the sending stack writes its own qlog.
pub type StackLog = Box<dyn std::io::Write + Send + Sync>;

/// Runs one trial and has the sending stack write its own qlog, in virtual time.
///
/// # Errors
/// As [`run`].
#[cfg(feature = "qlog")]
pub fn run_logged<'a>(
    setup: &'a Setup<'a>,
    observer: Option<&'a mut (dyn Observer + 'a)>,
    log: StackLog,
) -> Result<Outcome, Error> {
    Rig::new(setup, observer, Some(log), None)?.run()
}

/// What is written in a logbook that a stack's controller shares.
pub fn open(logbook: &Mutex<Logbook>) -> MutexGuard<'_, Logbook> {
    logbook.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the trial's clock was when.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    /// The first byte of the object was handed to the sender.
    begin: Option<u64>,
    delivered: Option<u64>,
}

struct Rig<'a> {
    setup: &'a Setup<'a>,
    observer: Option<&'a mut (dyn Observer + 'a)>,
    epoch: Instant,
    now: u64,
    sender: Box<dyn Sender>,
    receiver: Receiver,
    down: Wire,
    up: Wire,
    /// What the receiving host merges, as soon as the trial has begun.
    merge: Option<Merge>,
    logbook: Arc<Mutex<Logbook>>,
    marks: Marks,
    queue_us: Histogram<u32>,
    probe_timeouts: u64,
    steps: u64,
    /// Steps without the clock moving.
    same_instant: u32,
    stream_window: u64,
    books: audit::Books,
}

impl Control {
    fn plan(&self) -> Option<&Plan> {
        match self {
            Control::Noq(plan) => Some(plan),
            Control::Own(_) => None,
            #[cfg(feature = "quinn")]
            Control::Quinn(plan) => Some(plan),
        }
    }

    /// The stack names each packet that it declares lost.
    fn names_losses(&self) -> bool {
        match self {
            Control::Noq(_) => true,
            Control::Own(control) => control.own.names_losses(),
            #[cfg(feature = "quinn")]
            Control::Quinn(_) => false,
        }
    }
}

fn sender(
    setup: &Setup<'_>,
    epoch: Instant,
    logbook: &Arc<Mutex<Logbook>>,
    (seed, log, witness): ([u8; 32], Option<StackLog>, Option<Witness>),
) -> Result<Box<dyn Sender>, Error> {
    let object = setup.object.max(1);
    let log = log.map(|log| (epoch, log));
    let from_receiver = noq_proto::FourTuple::new(RECEIVER, Some(SENDER.ip()));
    Ok(match install(setup, epoch, logbook, witness)? {
        Installed::Noq(factory) => {
            Box::new(NoqSender::new(object, setup.datagram, factory, from_receiver, seed, log)?)
        }
        #[cfg(feature = "quinn")]
        Installed::Quinn(factory) => Box::new(quinn_sender::QuinnSender::new(
            object,
            setup.datagram,
            factory,
            RECEIVER,
            seed,
            log,
        )?),
    })
}

const fn address(last: u8, port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)), port)
}

const SENDER: SocketAddr = address(1, 443);
const RECEIVER: SocketAddr = address(2, 50_000);

impl<'a> Rig<'a> {
    fn new(
        setup: &'a Setup<'a>,
        observer: Option<&'a mut (dyn Observer + 'a)>,
        log: Option<StackLog>,
        witness: Option<Witness>,
    ) -> Result<Rig<'a>, Error> {
        // The only look at a clock: an instant cannot be made up, so one is taken and everything is
        // counted from it.
        let epoch = Instant::now();
        let packet = u32::from(setup.datagram) + wire::LOWER;
        let idle = setup
            .path
            .clone()
            .with_loss_ppb(0)
            .with_up_loss_ppb(0)
            .with_release(Release::Plain)
            .with_thin(None);
        let (down, up) = idle.links(packet, setup.ack_packet, setup.seed, setup.path_index)?;
        let logbook = Arc::new(Mutex::new(Logbook::new(setup.datagram, observer.is_some())));
        let stream_window = setup.object.saturating_add(1_000_000);
        let seeds = |which: u8| {
            let mut seed = [which; 32];
            seed[..8].copy_from_slice(&setup.seed.to_le_bytes());
            seed[8..16].copy_from_slice(&setup.path_index.to_le_bytes());
            seed
        };
        let from_sender =
            iroh_quinn_proto::FourTuple { remote: SENDER, local_ip: Some(RECEIVER.ip()) };
        Ok(Rig {
            setup,
            observer,
            epoch,
            now: 0,
            sender: sender(setup, epoch, &logbook, (seeds(1), log, witness))?,
            receiver: Receiver::new(epoch, stream_window, SENDER, from_sender, seeds(2))?,
            down: Wire::new(down),
            up: Wire::new(up),
            merge: None,
            logbook,
            marks: Marks::default(),
            // 1 us to 120 s at two significant digits: 0.8 % resolution in 20 kB.
            queue_us: Histogram::new_with_bounds(1, 120_000_000, 2)
                .map_err(|error| Error::new(error.to_string()))?,
            probe_timeouts: 0,
            steps: 0,
            same_instant: 0,
            stream_window,
            books: audit::Books::default(),
        })
    }

    fn instant(&self, now: u64) -> Instant {
        self.epoch + Duration::from_nanos(now)
    }

    fn time_of(&self, instant: Instant) -> u64 {
        u64::try_from(instant.saturating_duration_since(self.epoch).as_nanos()).unwrap_or(u64::MAX)
    }

    fn run(mut self) -> Result<Outcome, Error> {
        loop {
            self.steps += 1;
            if self.steps > STEPS {
                return Err(Error::new(format!(
                    "no end after {STEPS} steps, at {} ms of virtual time",
                    self.now / 1_000_000
                )));
            }
            self.receiver_turn()?;
            self.sender_turn()?;
            if self.sender.done() && self.receiver.finished() {
                return self.finish(true);
            }
            let timers = [self.receiver.timeout(), self.sender.timeout()]
                .map(|timer| timer.map(|timer| self.time_of(timer)));
            let merged = self.merge.as_ref().and_then(Merge::next);
            let next = timers
                .into_iter()
                .chain([self.down.next(), self.up.next(), merged])
                .flatten()
                .min();
            let Some(next) = next else {
                return Err(Error::new("nothing is on its way and no timer is set: a deadlock"));
            };
            let end = self.marks.begin.unwrap_or(0).saturating_add(self.setup.limit.0);
            if next >= end {
                self.now = end;
                return self.finish(false);
            }
            self.advance(next);
            self.books.at(self.now);
            self.deliver()?;
            self.fire()?;
        }
    }

    /// Moves the clock. A pacing delay below half a nanosecond is no delay to the stack's clock:
    /// rather than ask again for ever at the same instant, the rig lets a nanosecond pass.
    fn advance(&mut self, next: u64) {
        const PATIENCE: u32 = 64;
        if next > self.now {
            (self.now, self.same_instant) = (next, 0);
            return;
        }
        self.same_instant += 1;
        if self.same_instant > PATIENCE {
            self.now += 1;
        }
    }

    fn deliver(&mut self) -> Result<(), Error> {
        let instant = self.instant(self.now);
        while let Some((ecn, bytes)) = self.down.arrive(self.now) {
            match &mut self.merge {
                Some(merge) => merge.take(self.now, ecn, bytes),
                None => self.receiver.handle(instant, self.now, ecn, bytes, &mut self.up),
            }
        }
        for (ecn, bytes) in self.merge.as_mut().map_or_else(Vec::new, |merge| merge.flush(self.now))
        {
            self.receiver.handle(instant, self.now, ecn, bytes, &mut self.up);
        }
        if self.up.is_driven() {
            // What is acknowledged at this instant is handed in before the return path decides.
            if self.receiver.timeout().is_some_and(|due| due <= instant) {
                self.receiver.handle_timeout(instant);
            }
            self.receiver_turn()?;
        }
        while let Some((ecn, bytes)) = self.up.arrive(self.now) {
            self.sender.handle(instant, self.now, ecn, bytes, &mut self.down)?;
        }
        Ok(())
    }

    /// Timers that are due.
    fn fire(&mut self) -> Result<(), Error> {
        let instant = self.instant(self.now);
        if self.receiver.timeout().is_some_and(|due| due <= instant) {
            self.receiver.handle_timeout(instant);
        }
        if self.sender.timeout().is_some_and(|due| due <= instant) {
            // What arrived at this instant is answered first: only what the timer itself sends can
            // be a probe.
            self.sender_turn()?;
            let before = {
                let book = open(&self.logbook);
                (book.packets_sent(), book.packets_lost + book.spurious, book.last_sent())
            };
            self.sender.handle_timeout(instant);
            self.sender_turn()?;
            let book = open(&self.logbook);
            let quiet = before
                .2
                .is_some_and(|last| self.now.saturating_sub(last.0) >= self.setup.path.rtt());
            if quiet
                && book.packets_sent() > before.0
                && book.packets_lost + book.spurious == before.1
            {
                self.probe_timeouts += 1;
            }
        }
        Ok(())
    }

    fn receiver_turn(&mut self) -> Result<(), Error> {
        let instant = self.instant(self.now);
        self.receiver.drive()?;
        self.books.on_read(self.receiver.received(), self.setup.object);
        // The end of the stream may come behind its last byte; what counts is the byte.
        if self.marks.delivered.is_none() && self.receiver.received() >= self.setup.object {
            self.marks.delivered = Some(self.now);
        }
        while let Some((ecn, bytes)) = self.receiver.transmit(instant) {
            self.up.offer(self.now, ecn, bytes);
            let begun = self.marks.begin.is_some();
            if let Some(observer) = self.observer.as_deref_mut().filter(|_| begun) {
                observer.on_acknowledgement(0, Time(self.now), bytes.len() as u32);
            }
        }
        Ok(())
    }

    fn sender_turn(&mut self) -> Result<(), Error> {
        let instant = self.instant(self.now);
        self.sender.drive()?;
        if self.marks.begin.is_none() && self.sender.serving() {
            self.begin()?;
        }
        loop {
            let before = open(&self.logbook).packets_sent();
            let Some((ecn, bytes)) = self.sender.transmit(instant) else { break };
            let fate = self.down.offer(self.now, ecn, bytes);
            if self.marks.begin.is_none() {
                continue;
            }
            let mut book = open(&self.logbook);
            let packets = book.packets_sent();
            let data = packets > before;
            self.books.on_sent(before, packets, fate == Offered::Dropped);
            match fate {
                Offered::Sent { waited, at } if data => {
                    self.queue_us.saturating_record(waited / 1000);
                    book.settle_last(bytes.len() as u64, at.map(|at| at.map(Time)));
                }
                Offered::Dropped if data => {
                    book.settle_last(bytes.len() as u64, [None; 2]);
                }
                Offered::Sent { .. } | Offered::Dropped | Offered::Later => {}
            }
        }
        self.report();
        Ok(())
    }

    /// The request is in: the trial begins.
    fn begin(&mut self) -> Result<(), Error> {
        let packet = u32::from(self.setup.datagram) + wire::LOWER;
        let path = self.setup.path;
        let (down, up) =
            path.open(packet, self.setup.ack_packet, self.setup.seed, self.setup.path_index)?;
        self.down.replace(Reverse::Link(down), self.now);
        self.up.replace(up, self.now);
        self.merge = path
            .receive_aggregation()
            .map(|(window, bytes)| Merge::new(window, bytes, self.setup.datagram));
        open(&self.logbook).begin();
        self.marks.begin = Some(self.now);
        Ok(())
    }

    /// Passes on what was noted.
    fn report(&mut self) {
        let (Some(observer), Some(begin)) = (self.observer.as_deref_mut(), self.marks.begin) else {
            return;
        };
        let (received, queue) = (self.receiver.received(), self.down.queued(self.now));
        open(&self.logbook).read_to(observer, Time(begin), |_| received, queue);
    }

    fn finish(mut self, complete: bool) -> Result<Outcome, Error> {
        self.sender.close_log();
        self.report();
        let begin = self
            .marks
            .begin
            .ok_or_else(|| Error::new("the handshake did not finish within the limit"))?;
        let status = self.sender.status();
        if status.map(|status| status.arm) != self.setup.control.plan().map(|plan| plan.arm) {
            return Err(Error::new("the sender ran another controller"));
        }
        let book = open(&self.logbook);
        self.books.check(&book);
        let episodes =
            status.map_or_else(Vec::new, |status| book.episodes(Time(begin), status.cwnd));
        let exit = status.and_then(|status| status.exit).or_else(|| book.seen_exit());
        Ok(Outcome {
            complete,
            acked_after: Nanos(self.now - begin),
            delivered_after: self.marks.delivered.map(|at| Nanos(at - begin)),
            delivered: self.receiver.received(),
            packets_sent: book.packets_sent(),
            names_losses: self.setup.control.names_losses(),
            packets_lost: if self.setup.control.names_losses() {
                book.packets_lost
            } else {
                book.packets_dropped
            },
            packets_dropped: book.packets_dropped,
            spurious_losses: book.spurious,
            retransmissions: book.repeats,
            retransmitted_bytes: book.repeated_bytes,
            lost_retransmissions: book.lost_repeats,
            probe_timeouts: self.probe_timeouts,
            recoveries_below_ssthresh: status.map(|_| book.account.recoveries_below_ssthresh()),
            exit: exit.map(|exit| Exit { at: Time(exit.at.0.saturating_sub(begin)), ..exit }),
            episodes,
            queue_us: self.queue_us.clone(),
            cwnd_max: book.cwnd_max(),
            status,
            stream_window: self.stream_window,
            handshake_rtt: status.and_then(|status| status.handshake_rtt),
            steps: self.steps,
        })
    }
}

/// The example of the page that registries show.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
