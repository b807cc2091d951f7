//! The loop of a trial: the path, its flows, and the clock.

use crate::connection::{Connection, Watched, Ways};
use crate::trial::{FlowPlan, Outcome, Shared, SharedOutcome};
use crate::wire;
use firstflight::Time;
use firstflight_path::{Error, Release};
use firstflight_sim::Counted;
use std::time::Instant;

/// Number of steps after which a state machine without progress fails instead of hanging.
const STEPS: u64 = 50_000_000;

/// A flow of a trial.
struct Place<'a> {
    plan: FlowPlan,
    /// Extras of the first flow, until it starts.
    watched: Watched<'a>,
    /// `None` before its handshake.
    connection: Option<Connection<'a>>,
    /// Whether anything happened to it at this instant.
    touched: bool,
    /// When it finished.
    end: Option<u64>,
}

pub(crate) struct Rig<'a> {
    shared: Shared<'a>,
    epoch: Instant,
    now: u64,
    places: Vec<Place<'a>>,
    ways: Ways,
    /// When the first byte of the first object was passed to its sender.
    origin: Option<u64>,
    delivered: Vec<Vec<u64>>,
    counted: Vec<Vec<Counted>>,
    queue: Vec<u64>,
    steps: u64,
    /// Steps since the clock last moved.
    same_instant: u32,
}

impl<'a> Rig<'a> {
    pub(crate) fn new(shared: Shared<'a>, plans: &[FlowPlan], watched: Watched<'a>) -> Rig<'a> {
        let mut watched = Some(watched);
        let place = |plan: &FlowPlan| Place {
            plan: *plan,
            watched: watched.take().unwrap_or_default(),
            connection: None,
            touched: true,
            end: None,
        };
        Rig {
            shared,
            // The only read of a clock: an `Instant` cannot be constructed, so one is taken and all
            // times count from it.
            epoch: Instant::now(),
            now: 0,
            places: plans.iter().map(place).collect(),
            ways: Ways::default(),
            origin: None,
            delivered: Vec::new(),
            counted: Vec::new(),
            queue: Vec::new(),
            steps: 0,
            same_instant: 0,
        }
    }

    pub(crate) fn run(mut self) -> Result<SharedOutcome, Error> {
        self.open()?;
        loop {
            self.steps += 1;
            if self.steps > STEPS {
                return Err(Error::new(format!(
                    "no end after {STEPS} steps, at {} ms of virtual time",
                    self.now / 1_000_000
                )));
            }
            if !self.turns()? {
                return self.finish();
            }
            let end = self.origin.unwrap_or(0).saturating_add(self.shared.limit.0);
            let through = || self.places.iter().all(|place| place.end.is_some());
            let quiet = (self.shared.whole && through()).then_some(end);
            let Some(next) = self.next().or(quiet) else {
                return Err(Error::new("nothing is on its way and no timer is set: a deadlock"));
            };
            self.note(next.min(end));
            self.note_queue(next.min(end));
            if next >= end {
                self.now = end;
                return self.finish();
            }
            self.advance(next);
            self.stop();
            self.open()?;
            self.deliver()?;
            self.fire()?;
        }
    }

    /// Starts the handshakes that are due: on the path that other flows already use, or on one of
    /// their own.
    fn open(&mut self) -> Result<(), Error> {
        let Shared { path, datagram, ack_packet, seed, path_index, .. } = self.shared;
        for (flow, place) in (0..).zip(&mut self.places) {
            if place.connection.is_some() || place.plan.start.0 > self.now {
                continue;
            }
            if self.origin.is_none() {
                let packet = u32::from(datagram) + wire::LOWER;
                let idle = path
                    .clone()
                    .with_loss_ppb(0)
                    .with_up_loss_ppb(0)
                    .with_release(Release::Plain)
                    .with_thin(None);
                let (down, up) = idle.links(packet, ack_packet, seed, path_index)?;
                self.ways.down.open(flow, down, self.now);
                self.ways.up.open(flow, up, self.now);
            }
            let watched = std::mem::take(&mut place.watched);
            let at = (self.epoch, self.now);
            let connection = Connection::new(&self.shared, place.plan, flow, watched, at)?;
            (place.connection, place.touched) = (Some(connection), true);
        }
        Ok(())
    }

    /// Ends the flows whose time is over.
    fn stop(&mut self) {
        let Some(origin) = self.origin else { return };
        for place in self.places.iter_mut().filter(|place| place.end.is_none()) {
            let stops = place.plan.stop.is_some_and(|stop| origin + stop.0 <= self.now);
            place.end = stops.then_some(self.now);
        }
    }

    /// Lets every flow with a new event send. Returns whether the trial still waits for a flow.
    fn turns(&mut self) -> Result<bool, Error> {
        let mut waiting = self.shared.whole;
        for place in &mut self.places {
            let Some(connection) = place.connection.as_mut().filter(|_| place.end.is_none()) else {
                waiting |= place.end.is_none() && place.plan.object.is_some();
                continue;
            };
            if std::mem::take(&mut place.touched) {
                connection.receiver_turn(self.now, &mut self.ways.up)?;
                connection.sender_turn(&self.shared, self.now, &mut self.ways)?;
                self.origin = self.origin.or(connection.begin_at());
                if connection.done() {
                    place.end = Some(self.now);
                }
            }
            waiting |= connection.awaited() && place.end.is_none();
        }
        Ok(waiting)
    }

    /// The time of the next event.
    fn next(&mut self) -> Option<u64> {
        let origin = self.origin;
        let of_place = |place: &mut Place<'_>| {
            let stop = place.plan.stop.zip(origin).map(|(stop, origin)| origin + stop.0);
            let own = match &mut place.connection {
                Some(connection) if place.end.is_none() => connection.next(),
                Some(_) => return None,
                None => Some(place.plan.start.0),
            };
            own.into_iter().chain(stop).min()
        };
        let own = self.places.iter_mut().filter_map(of_place).min();
        own.into_iter()
            .chain([self.ways.down.next(), self.ways.up.next()].into_iter().flatten())
            .min()
    }

    /// Records the bytes that every flow has delivered, for the sampling times up to `next`.
    fn note(&mut self, next: u64) {
        let (Some(origin), Some(every)) = (self.origin, self.shared.sample) else { return };
        let at = |taken: usize| origin.saturating_add(every.0.saturating_mul(taken as u64));
        while every.0 > 0 && at(self.delivered.len()) <= next {
            let received =
                |place: &Place<'_>| place.connection.as_ref().map_or(0, Connection::received);
            self.delivered.push(self.places.iter().map(received).collect());
            if self.shared.queue_every.is_some() {
                let counted = |place: &Place<'_>| {
                    place.connection.as_ref().map_or_else(Counted::default, Connection::counted)
                };
                self.counted.push(self.places.iter().map(counted).collect());
            }
        }
    }

    /// Records the queue, for the sampling times up to `next`.
    fn note_queue(&mut self, next: u64) {
        let every = self.shared.queue_every.filter(|every| every.0 > 0);
        let (Some(origin), Some(every)) = (self.origin, every) else { return };
        let at = |taken: usize| origin.saturating_add(every.0.saturating_mul(taken as u64));
        while at(self.queue.len()) <= next {
            self.queue.push(self.ways.down.queued(at(self.queue.len())));
        }
    }

    /// Moves the clock. A pacing delay below half a nanosecond rounds to zero on the stack's clock.
    /// The rig then advances by a nanosecond instead of polling for ever at the same instant.
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
        let now = self.now;
        while let Some((flow, ecn, bytes)) = self.ways.down.arrive(now) {
            if let Some((place, connection)) = under_way(&mut self.places[flow as usize]) {
                *place = true;
                connection.take(now, ecn, bytes, &mut self.ways.up);
            }
        }
        for (touched, connection) in self.places.iter_mut().filter_map(under_way) {
            *touched |= connection.flush(now, &mut self.ways.up);
            if self.ways.up.is_driven() {
                // ACKs of this instant are handed in before the return path decides.
                *touched |= connection.receiver_timer(now);
                if *touched {
                    connection.receiver_turn(now, &mut self.ways.up)?;
                }
            }
        }
        while let Some((flow, ecn, bytes)) = self.ways.up.arrive(now) {
            if let Some((touched, connection)) = under_way(&mut self.places[flow as usize]) {
                *touched = true;
                connection.hear(now, ecn, bytes, &mut self.ways.down)?;
            }
        }
        Ok(())
    }

    /// Runs the timers that are due.
    fn fire(&mut self) -> Result<(), Error> {
        for (touched, connection) in self.places.iter_mut().filter_map(under_way) {
            *touched |= connection.receiver_timer(self.now);
            *touched |= connection.sender_timer(&self.shared, self.now, &mut self.ways)?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<SharedOutcome, Error> {
        let origin = self.origin.unwrap_or(0);
        let (mut flows, mut starts): (Vec<Option<Outcome>>, Vec<Option<Time>>) = Default::default();
        for place in std::mem::take(&mut self.places) {
            let begin = place.connection.as_ref().and_then(Connection::begin_at);
            starts.push(begin.map(|begin| Time(begin - origin)));
            flows.push(match place.connection.filter(|_| begin.is_some()) {
                Some(connection) => {
                    let at = place.end.unwrap_or(self.now);
                    let done = connection.done();
                    Some(connection.finish(done, at, self.steps, &mut self.ways)?)
                }
                None => None,
            });
        }
        let Rig { delivered, counted, queue, .. } = self;
        Ok(SharedOutcome { flows, starts, delivered, counted, queue })
    }
}

/// A flow between its handshake and its end, with its `touched` flag.
fn under_way<'p, 'a>(place: &'p mut Place<'a>) -> Option<(&'p mut bool, &'p mut Connection<'a>)> {
    let Place { connection, touched, end: None, .. } = place else { return None };
    connection.as_mut().map(|connection| (touched, connection))
}
