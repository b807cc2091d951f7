//! A field test in a QUIC server: each connection gets an arm at random, and a row is written to a
//! file when its last controller is dropped. `firstflight trial analyse` reads the file.
//!
//! ```no_run
//! # #[cfg(feature = "noq")] {
//! let trial = firstflight_quic::trial::Trial::open("rows.jsonl", "slowstart,rapid=20%")?;
//! let mut transport = noq_proto::TransportConfig::default();
//! transport.congestion_controller_factory(trial.noq());
//! # }
//! # Ok::<(), firstflight_quic::Refused>(())
//! ```
//!
//! Connections of one household share a bottleneck, where arms affect each other's results: draw
//! per client where you can. s2n-quic provides the address, and [`Trial::s2n`] uses it. noq and
//! quinn build a controller without naming the client: [`Trial::noq`] and [`Trial::quinn`] draw per
//! connection, while `noq_for` and `quinn_for` are for a server that accepts each connection with
//! its own configuration. [`TrialOptions`] also supports time slots. A connection that moves to
//! another path produces a row per path.
//!
//! A row contains no address, no port and no payload. Rows are appended whole or not at all
//! ([`RowWriter`]): if the server is killed, only the rows of open connections are missing, and a
//! full disk stops nothing.

use crate::driver::SharedRecorder;
use crate::plan::{Plan, Refused};
use crate::shadow::{Asked, Shadow};
use firstflight::{AnyController, Begin, Event, Exit, Nanos, Recorder, Time};
use firstflight_table::rows::Health;
pub use firstflight_table::rows::RowWriter;
pub use firstflight_trial::assign;
use firstflight_trial::assign::{Assignment, Key, Pseudonyms, controller, limits, shares};
pub use firstflight_trial::design;
use firstflight_trial::design::{By, Design};
use firstflight_trial::row::{Row, mbps, millis};
use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

/// The columns of a row that the controller of a QUIC stack can fill.
pub const COLUMNS: &[&str] = &[
    "arm",
    "epoch",
    "unit",
    "start_s",
    "bytes_acked",
    "busy_ms",
    "goodput_mbps",
    "handshake_rtt_ms",
    "min_rtt_ms",
    "srtt_ms",
    "bytes_sent",
    "bytes_lost",
    "timeouts",
    "ce",
    "exit_reason",
    "exit_ms",
    "exit_cwnd_bytes",
    "acked_all",
];
/// Further columns of rows in trials with time slots.
const SLOT_COLUMNS: &[&str] = &["slot", "slot_s"];

/// Options of a trial in addition to its arms.
#[derive(Clone, Debug, Default)]
pub struct TrialOptions {
    /// Randomization and enrolment.
    pub design: Design,
    /// The largest shares that arms may ever get: `rapid=80%`; 1/k for k arms if empty.
    pub max_share: String,
    /// Initial window in packets for arms that do not specify one.
    pub initial_window: Option<u32>,
    /// Arms that receive the same events as the one that sends: the row contains the startup exit
    /// of each, in columns such as `search.exit_ms`. An open loop; none if empty.
    pub shadow: String,
}

/// A running trial. Cheap to clone; all clones share the same data.
#[derive(Clone)]
pub struct Trial(Arc<Inner>);

struct Inner {
    assignment: Assignment,
    design: Design,
    columns: Vec<&'static str>,
    shadows: Vec<Asked>,
    began: Instant,
    pseudonyms: Pseudonyms,
    plans: Vec<Plan>,
    /// Connections drawn, by arm; rows are checked against these numbers.
    drawn: Vec<AtomicU64>,
    connections: AtomicU64,
    outside: AtomicU64,
    rows: Mutex<RowWriter>,
}

impl fmt::Debug for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trial").field("arms", &self.0.assignment.names()).finish_non_exhaustive()
    }
}

/// Assignment of a connection.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The plan for the connection's controllers.
    pub plan: Plan,
    /// Writes the row when the last controller that holds it is dropped.
    pub recorder: SharedRecorder,
}

impl Trial {
    /// A trial with these shares (`slowstart,rapid=20%`, the baseline first) whose rows are
    /// appended to a file. Its keys are drawn now and kept in memory only.
    ///
    /// # Errors
    /// A one-line message: invalid shares or arms, a file that cannot be opened, or no random
    /// numbers.
    pub fn open(file: impl AsRef<Path>, text: &str) -> Result<Trial, Refused> {
        let file = file.as_ref();
        let refused = |error| Refused(format!("{}: {error}", file.display()));
        let rows = RowWriter::later(file).map_err(refused)?;
        let trial = Trial::new(rows, text, &TrialOptions::default())?;
        trial.begin().map_err(refused)?;
        Ok(trial)
    }

    /// Like [`Trial::open`], with another destination for the rows, and with options.
    ///
    /// # Errors
    /// Like [`Trial::open`], and for shares that exceed their limit or do not fit the design.
    pub fn new(rows: RowWriter, text: &str, options: &TrialOptions) -> Result<Trial, Refused> {
        let refused = |error: assign::Error| Refused(error.0);
        let shares = shares(text).map_err(refused)?;
        options.design.check(&shares).map_err(refused)?;
        let most = match options.max_share.as_str() {
            "" => Vec::new(),
            text => limits(text).map_err(refused)?,
        };
        let initial_window = options.initial_window;
        let plan = |arm: &str| Ok(Plan { initial_window, ..Plan::parse(controller(arm))? });
        let shadows = match options.shadow.as_str() {
            "" => Vec::new(),
            text => Asked::list(text, initial_window)
                .map_err(|why| Refused(format!("startups beside: {}", why.0)))?,
        };
        let plans = shares.iter().map(|share| plan(&share.arm)).collect::<Result<_, Refused>>()?;
        // Two keys: whoever knows the key of the pseudonyms could try all networks.
        let [assign, pseudonym] = [random()?, random()?];
        let assignment = Assignment::within(Key(assign), &shares, &most).map_err(refused)?;
        let slots = if matches!(options.design.by, By::Time(_)) { SLOT_COLUMNS } else { &[] };
        Ok(Trial(Arc::new(Inner {
            design: options.design,
            shadows,
            columns: COLUMNS.iter().chain(slots).copied().collect(),
            began: Instant::now(),
            outside: AtomicU64::new(0),
            drawn: shares.iter().map(|_| AtomicU64::new(0)).collect(),
            assignment,
            pseudonyms: Pseudonyms::new(Key(pseudonym)),
            plans,
            connections: AtomicU64::new(0),
            rows: Mutex::new(rows),
        })))
    }

    /// Draws for a new connection: by its client's network if that is known and clients are drawn,
    /// otherwise for the connection alone. A connection that takes no part uses the baseline's plan
    /// and produces no row: it is in no arm.
    pub fn draw(&self, client: Option<IpAddr>) -> Drawn {
        self.draw_in(client, true)
    }

    /// Like [`Trial::draw`]; `batches`: whether the stack reports several packets at once instead
    /// of each.
    pub(crate) fn draw_in(&self, client: Option<IpAddr>, batches: bool) -> Drawn {
        let inner = &self.0;
        let number = inner.connections.fetch_add(1, Ordering::Relaxed);
        let place = inner.design.draw(&inner.assignment, client, number, inner.began.elapsed());
        let Some(place) = place else {
            inner.outside.fetch_add(1, Ordering::Relaxed);
            return Drawn { plan: inner.plans[0], recorder: Arc::new(Mutex::new(NoRow)) };
        };
        let arm = place.arm;
        inner.drawn[arm].fetch_add(1, Ordering::Relaxed);
        let start = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let row = Row {
            arm: Some(inner.assignment.names()[arm].clone()),
            epoch: Some(inner.assignment.epoch()),
            unit: Some(place.pair().unwrap_or_else(|| inner.pseudonyms.name(&place.unit))),
            slot: place.slot.map(|(slot, _)| slot),
            slot_s: place.slot.map(|(_, within)| within.as_secs()),
            start_s: start.ok().map(|since| since.as_secs()),
            ..Row::default()
        };
        let shadows = inner.shadows.iter().map(Shadow::new).collect();
        let seen = Seen { batches, ..Seen::default() };
        let recorder = Writer { trial: self.clone(), row, seen, shadows };
        Drawn { plan: inner.plans[arm], recorder: Arc::new(Mutex::new(recorder)) }
    }

    /// The arms, the baseline first, with the number of connections drawn for each.
    pub fn drawn(&self) -> Vec<(String, u64)> {
        let names = self.0.assignment.names().iter().cloned();
        names.zip(self.0.drawn.iter().map(|count| count.load(Ordering::Relaxed))).collect()
    }

    /// Connections that took no part.
    pub fn outside(&self) -> u64 {
        self.0.outside.load(Ordering::Relaxed)
    }

    /// Opens the file of rows, if it is not open yet. Returns the number of bytes removed of an
    /// incomplete row that a crash had left in it.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn begin(&self) -> std::io::Result<u64> {
        self.rows().begin()
    }

    /// State of the rows: waiting, lost, and the last error. Call it from time to time: it retries
    /// rows that wait for room on the disk.
    pub fn health(&self) -> Health {
        let mut rows = self.rows();
        rows.tick();
        rows.health()
    }

    /// Makes a last attempt to write the waiting rows, and drops those that cannot be written.
    pub fn finish(&self) -> Health {
        self.rows().finish()
    }

    fn rows(&self) -> MutexGuard<'_, RowWriter> {
        self.0.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(feature = "quinn")]
    pub(crate) fn plans(&self) -> &[Plan] {
        &self.0.plans
    }
}

fn random() -> Result<[u8; 16], Refused> {
    let mut key = [0; 16];
    getrandom::fill(&mut key)
        .map_err(|error| Refused(format!("no random numbers for the trial's keys: {error}")))?;
    Ok(key)
}

/// The observed state of a connection.
#[derive(Debug, Default)]
struct Seen {
    acked: u64,
    sent: u64,
    lost: u64,
    timeouts: u64,
    ce: u64,
    inflight: u64,
    busy: Nanos,
    /// When the currently outstanding data became outstanding.
    since: Option<Time>,
    first: Option<Time>,
    handshake: Option<Nanos>,
    min_rtt: Option<Nanos>,
    srtt: Option<Nanos>,
    last: Time,
    exit: Option<Exit>,
    /// Maximum size of a data packet, bytes; and the number after the last packet.
    size: u64,
    next: u64,
    /// Whether the stack reports several packets at once. The numbers show how many there were,
    /// apart from skipped numbers.
    batches: bool,
    /// Bytes of the last packet that exceeded that size: a probe of the path's MTU (RFC 9000,
    /// section 14.4).
    probe: Option<u64>,
}

impl Seen {
    /// Whether data is outstanding. An MTU probe is not data: a client that has everything closes
    /// without it, and its loss is not reported to a controller.
    fn is_open(&self) -> bool {
        self.inflight > 0 && self.probe != Some(self.inflight)
    }

    fn sent(&mut self, now: Time, bytes: u64, inflight: u64) {
        self.sent += bytes;
        self.inflight = inflight;
        self.since.get_or_insert(now);
        self.first.get_or_insert(now);
    }

    fn left(&mut self, now: Time, inflight: u64) {
        self.inflight = inflight;
        if inflight == 0
            && let Some(since) = self.since.take()
        {
            self.busy = Nanos(self.busy.0.saturating_add(now.since(since).0));
        }
    }

    fn take(&mut self, event: &Event) {
        match event {
            Event::Sent(sent) => {
                self.last = sent.now;
                let packets = sent.nxt.0.saturating_sub(self.next);
                self.next = sent.nxt.0;
                if sent.bytes > self.size && (packets == 1 || !self.batches) {
                    self.probe = Some(sent.bytes);
                }
                self.sent(sent.now, sent.bytes, sent.inflight);
            }
            Event::Ack(ack, so_far) => {
                self.last = ack.now;
                self.acked += ack.acked;
                self.lost += ack.lost;
                self.ce += u64::from(ack.ce);
                self.min_rtt = so_far.min_rtt.or(self.min_rtt);
                self.srtt = ack.srtt.or(self.srtt);
                self.left(ack.now, ack.inflight);
            }
            Event::HandshakeRtt { rtt, .. } => self.handshake = Some(*rtt),
            Event::Congestion(congestion) => {
                self.last = congestion.now;
                self.timeouts += 1;
            }
            Event::Mss { mss, .. } => {
                self.size = *mss;
                self.probe = self.probe.filter(|probe| probe > mss);
            }
            _ => {}
        }
    }
}

/// The recorder of a connection that takes no part.
#[derive(Debug)]
struct NoRow;

impl Recorder<AnyController> for NoRow {
    fn on_event(&mut self, _event: &Event, _after: &AnyController) {}
}

/// Follows a connection, and writes its row at the end.
struct Writer {
    trial: Trial,
    row: Row,
    seen: Seen,
    shadows: Vec<Shadow>,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("arm", &self.row.arm).finish_non_exhaustive()
    }
}

impl Recorder<AnyController> for Writer {
    fn on_begin(&mut self, begin: &Begin) {
        // The handshake's packets and samples do not count as data; packets still in flight may.
        let Seen { handshake, inflight, batches, .. } = self.seen;
        let (size, next) = (begin.config.mss, begin.nxt.0);
        self.seen = Seen { handshake, last: begin.now, size, next, batches, ..Seen::default() };
        if inflight > 0 {
            self.seen.sent(begin.now, inflight, inflight);
        }
        self.shadows.iter_mut().for_each(|shadow| shadow.begin(begin));
    }

    fn on_event(&mut self, event: &Event, after: &AnyController) {
        self.seen.take(event);
        self.shadows.iter_mut().for_each(|shadow| shadow.tell(event));
        if self.seen.exit.is_none() {
            self.seen.exit = after.exit();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let seen = &mut self.seen;
        // A connection that closes with data outstanding was busy until its last event.
        if let Some(since) = seen.since {
            seen.busy = Nanos(seen.busy.0.saturating_add(seen.last.since(since).0));
        }
        let ms = |nanos: Nanos| millis(nanos.0);
        let row = Row {
            bytes_acked: Some(seen.acked),
            busy_ms: seen.first.map(|_| ms(seen.busy)),
            goodput_mbps: mbps(seen.acked, seen.busy.0),
            handshake_rtt_ms: seen.handshake.map(ms),
            min_rtt_ms: seen.min_rtt.map(ms),
            srtt_ms: seen.srtt.map(ms),
            bytes_sent: Some(seen.sent),
            bytes_lost: Some(seen.lost),
            timeouts: Some(seen.timeouts),
            ce: Some(seen.ce),
            exit_reason: seen.exit.as_ref().map(|exit| exit.reason.name().to_owned()),
            exit_ms: seen.exit.as_ref().map(|exit| ms(exit.since_first_send)),
            exit_cwnd_bytes: seen.exit.as_ref().map(|exit| exit.cwnd),
            acked_all: Some(!seen.is_open()),
            ..std::mem::take(&mut self.row)
        };
        let mut cells = row.cells(&self.trial.0.columns);
        self.shadows.iter().for_each(|shadow| shadow.fill(&mut cells));
        let line = format!("{}\n", serde_json::Value::Object(cells));
        self.trial.rows().add(line.as_bytes());
    }
}

#[cfg(test)]
mod tests;
