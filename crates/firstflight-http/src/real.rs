//! A trial over real sockets: the server and the client of [this crate](crate), each on its own
//! thread, and any path that a caller puts between them. Measures the same quantities as the
//! [rig](firstflight_rig) where the ends can know them; the path's owner knows which packets it
//! dropped.
//!
//! The receiver's windows, its tolerance of gaps and the packet sizes are those of the rig. The
//! differences are those of a real machine: timers that fire late, system calls, and other programs
//! that use the processor.

use crate::{Fetch, Limits, Server, ServerOptions, Trust, Verified, Watch, fetch_and};
use firstflight::{Episode, Exit, Nanos, Time};
use firstflight_path::Error;
use firstflight_quic::{Plan, Status};
use firstflight_rig::{Counters, Logbook, Observer, open};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

/// Stacks of sender and receiver.
pub const STACKS: &str = "HTTP/3 of noq 1.4 to iroh-quinn 0.16, over UDP sockets";

/// Longest time that both ends may be silent.
const SILENCE: Duration = Duration::from_secs(60);

/// Measurements of a trial at both ends. Times count from the moment the first byte of the response
/// was passed to the sender.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Whether every byte was acknowledged and correct.
    pub complete: bool,
    /// Time until every byte was acknowledged at the sender, or until the end.
    pub acked_after: Nanos,
    /// Time until the last byte was read at the receiver, if it was.
    pub delivered_after: Option<Nanos>,
    /// Object bytes read at the receiver.
    pub delivered: u64,
    /// Counters of the sender; those of dropped packets are unknown.
    pub counters: Counters<Option<u64>>,
    /// Packets declared lost, whether or not they were.
    pub packets_declared_lost: u64,
    /// Exit of the startup, if any.
    pub exit: Option<Exit>,
    /// Recovery episodes.
    pub episodes: Vec<Episode>,
    /// Largest window, bytes.
    pub cwnd_max: u64,
    /// State of the controller at the end.
    pub status: Option<Status>,
    /// Start of the object, on the controller's clock.
    begin: Time,
    logbook: Arc<Mutex<Logbook>>,
    /// Object bytes read at the receiver over time: pairs of ns since the start of the object, and
    /// bytes.
    read: Vec<(u64, u64)>,
}

impl Measured {
    /// Passes every event to `observer`, once, if the sender was set to keep events.
    pub fn read_to(&self, observer: &mut dyn Observer) {
        let mut read = self.read.iter().peekable();
        let mut delivered = 0;
        let by = |at: Time| {
            let at = at.0.saturating_sub(self.begin.0);
            while let Some((_, more)) = read.next_if(|(read_at, _)| *read_at <= at) {
                delivered = *more;
            }
            delivered
        };
        open(&self.logbook).read_to(observer, self.begin, by, 0);
    }
}

/// The times that the two ends report.
#[derive(Debug)]
struct Stopwatch {
    logbook: Arc<Mutex<Logbook>>,
    marks: Mutex<Marks>,
}

#[derive(Default)]
struct Marks {
    /// Called when the trial begins.
    hook: Option<Box<dyn Fn() + Send>>,
    begun: Option<Instant>,
    ended: Option<(Instant, bool, Option<Status>)>,
    told: Option<oneshot::Sender<()>>,
}

impl std::fmt::Debug for Marks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Marks")
            .field("begun", &self.begun)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

impl Stopwatch {
    fn marks(&self) -> MutexGuard<'_, Marks> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch for Stopwatch {
    fn begins(&self) {
        let mut marks = self.marks();
        open(&self.logbook).begin();
        if let Some(hook) = &marks.hook {
            hook();
        }
        marks.begun = Some(Instant::now());
    }

    fn ends(&self, complete: bool, status: Option<Status>) {
        let mut marks = self.marks();
        marks.ended = Some((Instant::now(), complete, status));
        if let Some(told) = marks.told.take() {
            let _ = told.send(());
        }
    }
}

/// A sender that waits for its only request.
#[derive(Debug)]
pub struct Sender {
    address: SocketAddr,
    pin: String,
    origin: Instant,
    datagram: u16,
    plan: Plan,
    prepare: fn(),
    stopwatch: Arc<Stopwatch>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

fn runtime() -> Result<Runtime, Error> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::new(format!("a runtime: {error}")))
}

impl Sender {
    /// Starts a server on loopback that sends with `plan` in datagrams of `datagram` bytes. With
    /// `watched` it keeps every event. Each thread of the trial first calls `prepare`, for example
    /// to change its scheduling.
    ///
    /// # Errors
    /// If the system has no socket or thread for it.
    pub fn start(plan: Plan, datagram: u16, watched: bool, prepare: fn()) -> Result<Sender, Error> {
        let origin = Instant::now();
        let logbook = Arc::new(Mutex::new(Logbook::new(datagram, watched)));
        let stopwatch =
            Arc::new(Stopwatch { logbook: Arc::clone(&logbook), marks: Mutex::default() });
        let options = ServerOptions {
            origin,
            datagram: Some(datagram),
            limits: Limits { patience: SILENCE, ..Limits::default() },
            recorder: Some(logbook),
            watch: Some(Arc::clone(&stopwatch) as Arc<dyn Watch>),
            ..ServerOptions::new(&[(Ipv4Addr::LOCALHOST, 0).into()], plan)
        };
        let runtime = runtime()?;
        let server = {
            let _inside = runtime.enter();
            Server::bind(options)?
        };
        let (address, pin) = (server.address(), server.pin().to_owned());
        let (stop, stopped) = oneshot::channel();
        let until = async { drop(stopped.await) };
        let serve = move || {
            prepare();
            // Connections that have not finished when it ends are cut off.
            let _ = runtime.block_on(server.run(until, std::future::ready(())));
        };
        let thread = thread::Builder::new()
            .name("sender".into())
            .spawn(serve)
            .map_err(|error| Error::new(format!("a thread: {error}")))?;
        Ok(Sender {
            address,
            pin,
            origin,
            datagram,
            plan,
            prepare,
            stopwatch,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Fetches an object of `object` bytes through `via` instead of from the sender's own address;
    /// `begin` is called when the object's first byte is about to be sent.
    ///
    /// # Errors
    /// If the object does not arrive, or arrives with a wrong byte. An object that is not complete
    /// within the limit is not an error.
    pub fn trial(
        mut self,
        via: SocketAddr,
        object: u64,
        limit: Nanos,
        begin: impl Fn() + Send + 'static,
    ) -> Result<Measured, Error> {
        let (told, ended) = oneshot::channel();
        {
            let mut marks = self.stopwatch.marks();
            marks.hook = Some(Box::new(begin));
            marks.told = Some(told);
        }
        let url = format!("https://localhost:{}/bytes/{object}B", self.address.port());
        let limit = Duration::from_nanos(limit.0);
        let wanted = Fetch {
            trust: Trust::Pin(self.pin.clone()),
            connect_to: vec![via],
            window: object.saturating_add(1_000_000),
            idle: SILENCE,
            limit: limit + Duration::from_secs(5),
            datagram: Some(self.datagram),
            ..Fetch::new(url.parse().map_err(|_| Error::new(format!("{url} is not a URL")))?)
        };
        let mut read: Vec<(Instant, u64)> = Vec::new();
        let mut delivered = 0;
        let take = |_: Option<u64>, piece: &[u8]| {
            delivered += piece.len() as u64;
            read.push((Instant::now(), delivered));
            Ok(())
        };
        let prepare = self.prepare;
        let receive = || {
            prepare();
            let race = async {
                // Until the sender knows the end, too.
                let known = async { drop(ended.await) };
                tokio::select! {
                    fetched = fetch_and(&wanted, take, known) => Some(fetched),
                    () = tokio::time::sleep(limit) => None,
                }
            };
            runtime().map(|runtime| runtime.block_on(race))
        };
        // A separate thread, because the effects of `prepare` must not remain.
        let received = thread::scope(|scope| scope.spawn(receive).join())
            .map_err(|_| Error::new("the receiver panicked"))?;
        let fetched = received?;
        self.end();
        match fetched.transpose().map_err(|error| Error::new(error.to_string()))? {
            Some(fetched) if fetched.verified != Verified::Content => {
                return Err(Error::new("the object could not be verified"));
            }
            Some(_) | None => {}
        }
        self.measured(object, &read)
    }

    fn end(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    fn measured(&self, object: u64, read: &[(Instant, u64)]) -> Result<Measured, Error> {
        let marks = self.stopwatch.marks();
        let begun = marks.begun.ok_or_else(|| Error::new("no request arrived within the limit"))?;
        let since = |at: Instant| {
            Nanos(u64::try_from(at.saturating_duration_since(begun).as_nanos()).unwrap_or(u64::MAX))
        };
        let (ended, complete, status) = marks.ended.unwrap_or((Instant::now(), false, None));
        if status.is_some_and(|status| status.arm != self.plan.arm) {
            return Err(Error::new("the sender ran another controller"));
        }
        let offset = u64::try_from(begun.saturating_duration_since(self.origin).as_nanos())
            .unwrap_or(u64::MAX);
        let counted = |at: Time| Time(at.0.saturating_sub(offset));
        let book = open(&self.stopwatch.logbook);
        let episodes = book.episodes(Time(offset), status.map_or(0, |status| status.cwnd));
        Ok(Measured {
            complete: complete && read.last().is_some_and(|(_, delivered)| *delivered == object),
            acked_after: since(ended),
            delivered_after: read
                .last()
                .filter(|(_, delivered)| *delivered == object)
                .map(|(at, _)| since(*at)),
            delivered: read.last().map_or(0, |(_, delivered)| *delivered),
            counters: Counters {
                packets_lost: None,
                packets_dropped: None,
                spurious_losses: None,
                lost_retransmissions: None,
                ..book.counters(status.as_ref())
            },
            packets_declared_lost: book.declared_lost(),
            // The controller's own clock started with the settings of HTTP/3, a round trip before
            // the object.
            exit: status.and_then(|status| status.exit).map(|exit| {
                let at = counted(exit.at);
                Exit { at, since_first_send: Nanos(at.0), ..exit }
            }),
            episodes,
            cwnd_max: book.account.cwnd_max(),
            status,
            begin: Time(offset),
            logbook: Arc::clone(&self.stopwatch.logbook),
            read: read.iter().map(|(at, delivered)| (since(*at).0, *delivered)).collect(),
        })
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.end();
    }
}
