//! A flow that has its path to itself, with the path: it runs to its end, or event by event for a
//! caller that decides in between.

use crate::ahead::{Held, Toward};
use crate::back::Way;
use crate::counters::Counters;
use crate::flow::{Bursts, Ends, Flow, Hosted, goes_ahead};
use crate::hello::{Greeting, greet};
use crate::hosts::Hosts;
use crate::instrumented::{Combined, Core};
use crate::observe::{Nobody, Observer};
use crate::outcome::{Outcome, Stop};
use crate::quic;
use crate::setup::Setup;
use firstflight::{Nanos, Time};
use firstflight_path::{Error, Forward, Reverse};

/// The flow, both directions of its path, and the clock.
pub(crate) struct Running<E: Ends> {
    pub(crate) flow: Flow<E>,
    forward: Toward<E::Sent, E::Ack>,
    back: Way<E::Ack>,
    limit: u64,
    now: u64,
    /// Duration of the handshake before the data.
    handshake: Option<Nanos>,
    /// Whether the path has events of its own.
    later: bool,
}

impl<E: Bursts> Running<E> {
    /// Opens the path and sends the first packets.
    pub(crate) fn open<L>(
        setup: &Setup<'_>,
        host: E::Host,
        controller: Core<E::Startup>,
        company: L,
        observer: &mut impl Observer,
    ) -> Result<Running<E>, Error>
    where
        E: Hosted<L>,
    {
        let &Setup { path, pacer_burst, object, limit, .. } = setup;
        let (mut forward, mut reverse) = path.open_driven(
            setup.host.packet_bytes(),
            setup.host.ack_bytes(),
            setup.seed,
            setup.path_index,
        )?;
        let ends = E::between(host, path, controller, pacer_burst, object, company);
        let mut flow = Flow::between(0, ends, object);
        let greeting = path
            .hello()
            .map(|bytes| shake_hands(setup, bytes, &mut forward, &mut reverse))
            .transpose()?;
        let (start, rtt) =
            greeting.map_or((0, Nanos(path.rtt())), |greeting| (greeting.at, greeting.rtt));
        flow.open(Time(start), rtt, greeting.is_some());
        let (mut forward, back) = (Toward::from(forward), Way::from(reverse));
        let ahead = goes_ahead(&forward, &back) && !setup.host.asks_acks() && !observer.watches();
        flow.begin(start, &mut forward, observer);
        let later = forward.decides_later() || back.decides_later();
        if ahead {
            flow.goes_ahead_until(limit.0);
        }
        if !later {
            flow.is_alone_until(limit.0);
        }
        let handshake = greeting.map(|greeting| Nanos(greeting.at));
        Ok(Running { flow, forward, back, limit: limit.0, now: start, handshake, later })
    }

    /// Runs until the flow stops, and returns why; or until `pause` is true of it after an event,
    /// and returns `None`.
    #[inline(always)]
    pub(crate) fn until(
        &mut self,
        observer: &mut impl Observer,
        pause: impl Fn(&Flow<E>) -> bool,
    ) -> Option<Stop> {
        while !self.flow.complete() {
            let own = self.flow.next_event();
            if self.later && self.decide(own) {
                continue;
            }
            if own >= self.limit {
                self.now = self.limit;
                return Some(Stop::TimeLimit);
            }
            // A timer whose new due time has passed fires at once.
            self.now = own.max(self.now);
            self.flow.step(self.now, &mut self.forward, &mut self.back, observer);
            if pause(&self.flow) {
                return None;
            }
        }
        Some(Stop::Complete)
    }

    /// Runs the decisions of a queue or terminal before the flow's own next event at `own`. Returns
    /// whether there was one before the limit.
    #[inline(never)]
    fn decide(&mut self, own: u64) -> bool {
        let (release, leaves) = (self.back.next_event(), self.forward.next_event());
        let next = own.min(release).min(leaves);
        if next >= self.limit {
            return false;
        }
        let now = next.max(self.now);
        debug_assert!(release >= now || own <= release, "an ACK was let go in the past");
        if leaves <= now {
            // The queue comes before all other events of this instant.
            while let Some((held, fate)) = self.forward.poll(now) {
                if let Held::Data { left, sent, .. } = held {
                    self.flow.land(&sent, Time(left), fate);
                }
            }
        } else if own <= release {
            return false;
        } else {
            // Everything acknowledged at this instant has been handed in; now the return path decides.
            while let Some((at, ack)) = self.back.poll(now) {
                self.flow.hear(at, ack.packet);
            }
        }
        self.now = now;
        true
    }

    /// The result of the flow, which stopped now.
    pub(crate) fn finish(self, stop: Stop) -> Outcome {
        let handshake = self.handshake;
        Outcome { handshake, ..self.flow.finish(self.now, stop) }
    }
}

/// The handshake in front of a trial, on a path that knows at once when a packet arrives.
fn shake_hands(
    setup: &Setup<'_>,
    bytes: u64,
    forward: &mut Forward,
    reverse: &mut Reverse,
) -> Result<Greeting, Error> {
    let path = setup.path;
    let Hosts::Quic(host) = setup.host else {
        return Err(Error::new(format!(
            "{path}: `hello` is QUIC's handshake; TLS over TCP is data of its stream: leave `hello` or `--transport tcp` out"
        )));
    };
    match (forward, reverse) {
        (Forward::Link(there), Reverse::Link(back)) => {
            Ok(greet((there, back), &host, bytes, setup.limit.0))
        }
        _ => Err(Error::new(format!(
            "{path}: `hello` needs to know when each packet arrives: leave it or the queue management (fq_codel, dualpi2, codel), `thin` or the release of ACKs (`return`) out"
        ))),
    }
}

/// A trial of a QUIC sender that pauses when its startup needs a decision from outside.
///
/// Events, and so results, are those of [`run`](crate::run) with a startup that decides alike
/// itself.
pub struct Stepped<S: Combined>(Running<quic::Ends<S>>);

impl<S: Combined> Stepped<S> {
    /// Opens the path and sends the first packets.
    ///
    /// # Errors
    /// If the hosts are not QUIC's, or if the path cannot carry their packets.
    pub fn open(setup: &Setup<'_>, controller: Core<S>) -> Result<Stepped<S>, Error> {
        let Hosts::Quic(host) = setup.host else {
            return Err(Error::new("a trial in steps has QUIC hosts"));
        };
        Running::open(setup, host, controller, Nobody, &mut Nobody).map(Stepped)
    }

    /// Runs until `pause` is true of the startup after an event, and returns `None`; or until the
    /// trial stops, and returns why.
    pub fn until(&mut self, pause: impl Fn(&S) -> bool) -> Option<Stop> {
        self.0.until(&mut Nobody, |flow| pause(flow.sender().controller().startup()))
    }

    /// Bytes of the object that a full packet carries.
    pub fn payload(&self) -> u64 {
        self.0.flow.ends.room()
    }

    /// Time since the trial began.
    pub fn now(&self) -> Nanos {
        Nanos(self.0.now)
    }

    /// Its controller.
    pub fn controller(&self) -> &Core<S> {
        self.0.flow.sender().controller()
    }

    /// The counters of its sender so far.
    pub fn counters(&self) -> Counters {
        self.0.flow.ends.counters()
    }

    /// The result of the trial, which stopped now.
    pub fn finish(self, stop: Stop) -> Outcome {
        self.0.finish(stop)
    }
}
