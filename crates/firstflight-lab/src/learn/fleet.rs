//! Connections of a population that run side by side and pause for decisions from outside: what a
//! learning algorithm trains on.

use super::course::{Action, Course};
use super::steered::Steered;
use super::watch::{ONE, Observation};
use crate::population::{Drawn, Population};
use crate::scenario::Scenario;
use firstflight::arm::Arm;
use firstflight::controller::Controller;
use firstflight::{Nanos, Seq, Time};
use firstflight_path::Error;
use firstflight_sim::{App, Setup, Stepped, Stop};

/// Price of each cost in the reward.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Of the time that passes until the object is delivered, as a share of the ideal completion
    /// time.
    pub time: f64,
    /// Of the packets lost, as a share of the packets of the object.
    pub loss: f64,
    /// Of the 99th percentile of the queueing delay, as a share of the ideal completion time; due with
    /// the last step.
    pub queue: f64,
}

/// The connections, and how decisions are made.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Source of paths and objects.
    pub population: Population,
    /// When a decision is due, and which quantity it sets.
    pub course: Course,
    /// Initial window, packets.
    pub iw: u32,
    /// Simulated time after which an unfinished connection is truncated.
    pub limit: Nanos,
    /// Prices of the reward.
    pub prices: Prices,
}

/// State of one connection after a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// The observation; that of the last decision if the connection has ended.
    pub seen: Observation,
    /// The reward of the step.
    pub reward: f64,
    /// The object was delivered.
    pub terminated: bool,
    /// The limit ended the connection.
    pub truncated: bool,
    /// Numbers for people.
    pub account: Account,
}

macro_rules! account {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Numbers of a connection. Only the reward is computed from them.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct Account {
            $($(#[$doc])* pub $name: f64,)*
        }

        impl Account {
            /// The names.
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];

            /// The numbers, in the order of the names.
            pub fn values(&self) -> [f64; Account::NAMES.len()] {
                [$(self.$name),*]
            }
        }
    };
}

account! {
    /// Index of the connection in the population.
    connection,
    /// Time since the first packet, ms.
    time_ms,
    /// Window, bytes.
    cwnd_bytes,
    /// Packets sent, retransmissions included.
    packets_sent,
    /// Packets lost.
    packets_lost,
    /// Completion time, ms; not a number before the end, and if the connection was truncated.
    ttlb_ms,
    /// Completion time that no sender can beat, ms.
    ideal_ms,
    /// 99th percentile of the queueing delay, ms; not a number before the end.
    queue_p99_ms,
    /// Object, bytes.
    object_bytes,
    /// Idle round trip, ms.
    rtt_ms,
    /// Rate of the bottleneck, Mbit/s.
    rate_mbps,
    /// Capacity of the bottleneck's queue, bytes.
    queue_bytes,
}

/// A connection under way.
struct Trial {
    sim: Stepped<Steered>,
    costs: Costs,
}

/// Inputs of the reward.
#[derive(Clone, Copy)]
struct Costs {
    ideal_ns: u64,
    /// Packets of the object.
    packets: u64,
    /// Time and losses that earlier rewards charged.
    paid_ns: u64,
    paid_lost: u64,
}

struct Place {
    /// The index after which the next connection is looked for.
    next: u64,
    trial: Option<Box<Trial>>,
    view: View,
}

/// Connections that run side by side. Each is independent of the others: a place has the connection
/// that its index and the seed determine.
pub struct Fleet {
    settings: Settings,
    seed: u64,
    places: Vec<Place>,
}

/// Most connections side by side.
const MOST_PLACES: usize = 1 << 20;

/// So many connections in a row may end before a decision is due.
const MOST_SKIPPED: u64 = 100_000;

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

impl Fleet {
    /// A fleet with this many places; [`Fleet::reset`] comes before the first step.
    ///
    /// # Errors
    /// A one-line message if a setting is out of range.
    pub fn new(settings: Settings, places: usize, seed: u64) -> Result<Fleet, Error> {
        if !(1..=MOST_PLACES).contains(&places) {
            return Err(Error::new(format!(
                "{places} connections side by side; allowed: 1 to {MOST_PLACES}"
            )));
        }
        if !(1..=1_000).contains(&settings.iw) {
            return Err(Error::new(format!("iw {}: allowed: 1 to 1000 packets", settings.iw)));
        }
        if !(Nanos::from_millis(1)..=Nanos::from_secs(3_600)).contains(&settings.limit) {
            return Err(Error::new("limit: is out of range; allowed: 1ms to 1h"));
        }
        let Prices { time, loss, queue } = settings.prices;
        if let Some(price) = [time, loss, queue].iter().find(|price| !price.is_finite()) {
            return Err(Error::new(format!("reward {price}: a price is a finite number")));
        }
        let view = View {
            seen: Observation::default(),
            reward: 0.0,
            terminated: true,
            truncated: false,
            account: Account::default(),
        };
        let place = |index: usize| Place { next: index as u64, trial: None, view };
        Ok(Fleet { settings, seed, places: (0..places).map(place).collect() })
    }

    /// Number of places.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// True if the fleet has no place.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// When a decision is due, and which quantity it sets.
    pub fn course(&self) -> Course {
        self.settings.course
    }

    /// All places, in their order.
    pub fn views(&self) -> impl Iterator<Item = &View> {
        self.places.iter().map(|place| &place.view)
    }

    /// Changes the seed: place `k` starts with connection `k` again at its next reset.
    pub fn reseed(&mut self, seed: u64) {
        self.seed = seed;
        for (index, place) in self.places.iter_mut().enumerate() {
            place.next = index as u64;
        }
    }

    /// The next reset of place `k` starts connection `connections[k]`.
    pub fn choose(&mut self, connections: &[u64]) {
        for (place, connection) in self.places.iter_mut().zip(connections) {
            place.next = *connection;
        }
    }

    /// Starts the next connection in each place for which `which` is true. A connection that ends
    /// before its first decision is skipped: the place takes its next one: as many connections further as there are places.
    ///
    /// # Errors
    /// A one-line message if a connection cannot run, or if none has a decision.
    pub fn reset(&mut self, which: impl Fn(usize) -> bool) -> Result<(), Error> {
        let stride = self.places.len() as u64;
        for index in (0..self.places.len()).filter(|index| which(*index)) {
            let first = self.places[index].next;
            let mut found = None;
            for skipped in 0..MOST_SKIPPED {
                let connection = first.wrapping_add(skipped.wrapping_mul(stride));
                if let Some(begun) = self.begin(connection)? {
                    found = Some((connection, begun));
                    break;
                }
            }
            let Some((connection, (trial, drawn))) = found else {
                return Err(Error::new(format!(
                    "population {}: {MOST_SKIPPED} connections in a row end before the first decision",
                    self.settings.population.name
                )));
            };
            let account = Account {
                connection: connection as f64,
                ideal_ms: ms(trial.costs.ideal_ns),
                object_bytes: drawn.bytes as f64,
                rtt_ms: drawn.rtt_us as f64 / 1e3,
                rate_mbps: drawn.rate_kbps as f64 / 1e3,
                queue_bytes: drawn.queue_bytes as f64,
                ttlb_ms: f64::NAN,
                queue_p99_ms: f64::NAN,
                ..Account::default()
            };
            let place = &mut self.places[index];
            place.next = connection.wrapping_add(stride);
            place.view = View {
                seen: *trial.sim.controller().startup().seen(),
                reward: 0.0,
                terminated: false,
                truncated: false,
                account: account.of(&trial.sim),
            };
            place.trial = Some(trial);
        }
        Ok(())
    }

    /// Opens a connection and runs it to its first decision; `None` if it has none.
    fn begin(&self, connection: u64) -> Result<Option<(Box<Trial>, Drawn)>, Error> {
        let Settings { population, course, iw, limit, .. } = &self.settings;
        let drawn = population.draw(self.seed, connection);
        if !matches!(population.app(&drawn, self.seed), App::Bulk(_)) {
            return Err(Error::new(format!(
                "population {}: an environment has connections with one object each",
                population.name
            )));
        }
        let scenario = Scenario {
            iw: *iw,
            limit: *limit,
            path_index: connection,
            ..Scenario::new(population.path(&drawn)?, drawn.bytes)
        };
        let arm = Arm::parse("slowstart").map_err(|bad| Error::new(bad.to_string()))?;
        let (avoidance, recovery) = arm.after_startup();
        let config = arm.configure(scenario.config());
        let steered = Steered::from_outside(*course);
        let controller = Controller::new(steered, avoidance, recovery, config, Time(0), Seq(0));
        let setup = Setup {
            path: &scenario.path,
            host: scenario.host,
            pacer_burst: scenario.pacer_burst(&arm),
            object: drawn.bytes,
            limit: *limit,
            seed: self.seed,
            path_index: connection,
        };
        let mut sim = Stepped::open(&setup, controller)?;
        if sim.until(Steered::is_waiting).is_some() {
            return Ok(None);
        }
        // Behind a policer there is no bound; the rate of the link makes one that is close.
        let bound = || {
            let serial = u128::from(drawn.bytes) * 8_000_000 / u128::from(drawn.rate_kbps.max(1));
            u64::try_from(serial).unwrap_or(u64::MAX).saturating_add(drawn.rtt_us * 500)
        };
        let ideal_ns = scenario.ideal(self.seed)?.map_or_else(bound, |ideal| ideal.0).max(1);
        let packets = drawn.bytes.div_ceil(sim.payload()).max(1);
        let costs = Costs { ideal_ns, packets, paid_ns: 0, paid_lost: 0 };
        let trial = Trial { sim, costs };
        Ok(Some((Box::new(trial), drawn)))
    }

    /// Applies a decision to every place with an unfinished connection, and runs it to its next decision or to
    /// its end. `actions` has [`Course::values`] numbers from -1 to 1 per place; they are rounded to
    /// multiples of 1/64, and NaN counts as 0. A place whose connection has ended
    /// keeps its view, with a reward of 0.
    pub fn step(&mut self, actions: &[f32]) {
        let (values, prices) = (self.settings.course.values(), self.settings.prices);
        for (place, action) in self.places.iter_mut().zip(actions.chunks(values)) {
            place.view.reward = 0.0;
            let Some(mut trial) = place.trial.take() else { continue };
            // From a float to an integer: NaN becomes 0.
            let value = libm::rintf(action[0].clamp(-1.0, 1.0) * ONE as f32) as i32;
            let leave = action.get(1).is_some_and(|leave| *leave > 0.0);
            trial.sim.controller().startup().decide(Action { value, leave });
            if let Some(stop) = trial.sim.until(Steered::is_waiting) {
                place.view.end(*trial, stop, prices);
            } else {
                let view = &mut place.view;
                view.seen = *trial.sim.controller().startup().seen();
                view.account = view.account.of(&trial.sim);
                let lost = trial.sim.counters().packets_lost;
                (view.reward, trial.costs) = trial.costs.charge(trial.sim.now().0, lost, prices);
                place.trial = Some(trial);
            }
        }
    }
}

impl Account {
    fn of(self, sim: &Stepped<Steered>) -> Account {
        let counters = sim.counters();
        Account {
            time_ms: ms(sim.now().0),
            cwnd_bytes: sim.controller().cwnd() as f64,
            packets_sent: counters.packets_sent as f64,
            packets_lost: counters.packets_lost as f64,
            ..self
        }
    }
}

impl Costs {
    /// The reward for the time and the losses since the last charge, and the costs of the next one.
    fn charge(self, now_ns: u64, lost: u64, prices: Prices) -> (f64, Costs) {
        // Data may be delivered before the last decision, whose ACK is on its way: what was charged
        // too much is given back. So is a loss that proves false.
        let time = (now_ns as f64 - self.paid_ns as f64) / self.ideal_ns as f64;
        let losses = (lost as f64 - self.paid_lost as f64) / self.packets as f64;
        let reward = -(prices.time * time + prices.loss * losses);
        (reward, Costs { paid_ns: now_ns, paid_lost: lost, ..self })
    }
}

impl View {
    /// The connection has stopped.
    fn end(&mut self, trial: Trial, stop: Stop, prices: Prices) {
        self.account = self.account.of(&trial.sim);
        let Trial { sim, costs } = trial;
        let outcome = sim.finish(stop);
        self.truncated = !outcome.complete();
        self.terminated = !self.truncated;
        // The receiver's clock, unless the limit came first.
        let end = outcome.delivered_after.unwrap_or(outcome.acked_after);
        let queue_us = match &outcome.queue_us {
            none if none.is_empty() => 0,
            some => some.value_at_quantile(0.99),
        };
        self.account.packets_sent = outcome.counters.packets_sent as f64;
        self.account.packets_lost = outcome.counters.packets_lost as f64;
        self.account.time_ms = ms(end.0);
        self.account.ttlb_ms = outcome.delivered_after.map_or(f64::NAN, |time| ms(time.0));
        self.account.queue_p99_ms = queue_us as f64 / 1e3;
        let queue = queue_us as f64 * 1e3 / costs.ideal_ns as f64;
        let (reward, _) = costs.charge(end.0, outcome.counters.packets_lost, prices);
        self.reward = reward - prices.queue * queue;
    }
}
