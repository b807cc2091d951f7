//! Beat the oracle: a player sets the window for ten seconds of simulated time on an undisclosed
//! path, and is scored together with every arm on that path.
//!
//! No state is kept between requests: each request contains the player's moves so far, and the
//! trial is run again up to that time. The same round and the same windows give the same score
//! everywhere.

use crate::Error;
use firstflight::event::{Ack, Context, Ready, Signal, Window};
use firstflight::recovery::{OwnRecovery, Retreat, SafeRetreat};
use firstflight::startup::{Grown, Startup};
use firstflight::{Nanos, Ratio, Time, UNSET_SSTHRESH};
use firstflight_lab::arms::ALL;
use firstflight_lab::compare::Keep;
use firstflight_lab::record::{Moment, Recording};
use firstflight_lab::trial::{Trial, ms};
use firstflight_lab::{Hosts, NamedArm, Outcome, OwnStartup, Plan, Scenario, TrialRow, parse_arms};
use firstflight_path::{Path, Purpose, Stream};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Duration of a game, in simulated time.
const LENGTH: Nanos = Nanos::from_secs(10);
/// The player's name in the table.
const NAME: &str = "you";
/// The largest window, in packets: more than any of the paths holds.
const MOST_PACKETS: u32 = 8192;
/// Maximum number of window settings: a little over sixty per second.
const MOST_SETTINGS: usize = 1000;

/// The values from which a round's path is drawn, one of each kind: from a nearby server to a
/// satellite.
const RATES: [&str; 8] =
    ["4Mbit", "6Mbit", "8Mbit", "12Mbit", "16Mbit", "24Mbit", "32Mbit", "40Mbit"];
const ROUND_TRIPS: [&str; 8] =
    ["40ms", "60ms", "80ms", "120ms", "160ms", "240ms", "320ms", "550ms"];
const QUEUES: [&str; 4] = ["0.25bdp", "0.5bdp", "1bdp", "2bdp"];

/// A game up to the present moment.
#[derive(Debug, Deserialize)]
pub(crate) struct Game {
    /// Number of the path.
    round: u64,
    /// Window settings in order: start in milliseconds, and window in packets.
    windows: Vec<(u32, u32)>,
    /// Time up to which events are returned; from ten seconds on, also the score.
    until_ms: u32,
    /// Maximum number of samples of the sender's state.
    points: usize,
}

/// The sender's knowledge at that time, and the score once the game is over.
#[derive(Debug, Serialize)]
pub(crate) struct Seen {
    t_ms: f64,
    /// Bytes of a packet, as the window counts them.
    packet_bytes: u64,
    inflight: u64,
    rtt_ms: Option<f64>,
    min_rtt_ms: Option<f64>,
    /// Rate of arrivals over the last round trip.
    arriving_mbps: Option<f64>,
    lost_bytes: u64,
    series: Series,
    over: Option<Over>,
}

/// Columns with one value for each time.
#[derive(Debug, Default, Serialize)]
struct Series {
    t_ms: Vec<f64>,
    inflight: Vec<u64>,
    rtt_ms: Vec<Option<f64>>,
    /// Bytes declared lost since the previous sample.
    lost_bytes: Vec<u64>,
}

/// The end of a game: the path, and everyone's score.
#[derive(Debug, Serialize)]
struct Over {
    path: String,
    rate_mbps: f64,
    rtt_ms: f64,
    bdp_bytes: u64,
    full_bdp_bytes: Option<u64>,
    /// Maximum number of bytes that this path can deliver in ten seconds.
    room_bytes: u64,
    /// The player first, then every arm.
    scores: Vec<Score>,
    /// The oracle's window over time.
    oracle: Steps,
}

#[derive(Debug, Serialize)]
struct Score {
    arm: String,
    points: u64,
    delivered_bytes: u64,
    /// Bytes dropped because the bottleneck's queue was full.
    dropped_bytes: u64,
    queue_p99_ms: Option<f64>,
}

#[derive(Debug, Default, Serialize)]
struct Steps {
    t_ms: Vec<f64>,
    cwnd: Vec<u64>,
}

/// A sender whose window is set by the player, whatever happens to its packets: lost packets are
/// retransmitted, and nothing else reacts.
#[derive(Clone, Debug)]
struct Hand {
    windows: Arc<[(u32, u32)]>,
    /// Number of settings whose time has come.
    past: usize,
}

impl Hand {
    fn hold(&mut self, now: Time, w: &mut Window, cx: &Context) {
        let is_past = |(from_ms, _): &(u32, u32)| u64::from(*from_ms) * 1_000_000 <= now.0;
        while self.windows.get(self.past).is_some_and(is_past) {
            self.past += 1;
        }
        let set = self.past.checked_sub(1).and_then(|last| self.windows.get(last));
        let bytes = set.map_or(cx.iw, |(_, packets)| u64::from(*packets) * cx.mss);
        *w = Window { cwnd: bytes.max(cx.minimum_window()), ssthresh: UNSET_SSTHRESH };
    }
}

impl Startup for Hand {
    type Saved = ();

    // Called before every packet, in and out of recovery: overrides every other change of the
    // window.
    fn before_send(&mut self, ready: &Ready, w: &mut Window, cx: &Context) {
        self.hold(ready.now, w, cx);
    }

    fn grow(&mut self, ack: &Ack, _acked: u64, w: &mut Window, cx: &Context) -> Grown {
        self.hold(ack.now, w, cx);
        Grown::default()
    }

    // In the startup's own recovery, packets are admitted by the window that `before_send` sets.
    fn on_congestion(
        &mut self,
        _signal: Signal,
        beta: Ratio,
        ack: &Ack,
        w: Window,
        cx: &Context,
    ) -> Option<OwnRecovery> {
        let retreat = SafeRetreat::new(beta, w.cwnd, ack.nxt, cx.iw, cx.mss);
        Some(OwnRecovery::Retreat(Retreat::Safe(retreat)))
    }
}

impl Game {
    fn check(&self) -> Result<(), Error> {
        if self.windows.len() > MOST_SETTINGS {
            return Err(Error::new(format!("a game has at most {MOST_SETTINGS} settings")));
        }
        if !self.windows.is_sorted_by_key(|(from_ms, _)| *from_ms) {
            return Err(Error::new("the settings of a game must be in order of time"));
        }
        match self.windows.iter().find(|(_, packets)| !(1..=MOST_PACKETS).contains(packets)) {
            None => Ok(()),
            Some((_, packets)) => Err(Error::new(format!(
                "a window of {packets} packets; allowed: 1 to {MOST_PACKETS}"
            ))),
        }
    }

    /// The path of this round, with an object that does not end within the game.
    fn scenario(&self) -> Result<Scenario, Error> {
        let draw = |purpose, list: &[&'static str]| {
            list[(Stream::new(self.round, 0, purpose).value(0) % list.len() as u64) as usize]
        };
        let path = Path::parse(&format!(
            "rate={},rtt={},queue={}",
            draw(Purpose::Rate, &RATES),
            draw(Purpose::Rtt, &ROUND_TRIPS),
            draw(Purpose::Buffer, &QUEUES),
        ))?;
        let endless = path.rate_bps() / 8 * (LENGTH.0 / 1_000_000_000);
        Ok(Scenario { limit: LENGTH, ..Scenario::new(path, endless) })
    }

    fn hand(&self) -> Result<NamedArm, Error> {
        let hand = Hand { windows: self.windows.clone().into(), past: 0 };
        let own = OwnStartup::new(NAME, Arc::default(), move || Box::new(hand.clone()));
        NamedArm::with_own(NAME, own, "")
    }

    /// The sender's knowledge at that time.
    pub(crate) fn play(&self) -> Result<Seen, Error> {
        self.check()?;
        let whole = self.scenario()?;
        let until = Nanos(u64::from(self.until_ms) * 1_000_000).min(LENGTH);
        let scenario = Scenario { limit: until, ..whole.clone() };
        let (arm, mut recording) = (self.hand()?, Recording::default());
        let outcome: Outcome = scenario.simulate(&arm, self.round, Some(&mut recording))?.into();
        let over = (until == LENGTH).then(|| self.over(&whole, &arm, &outcome)).transpose()?;
        let moments = recording.moments();
        let last = moments.last().map(|moment| &moment.state);
        let rtts = || moments.iter().rev().filter_map(|moment| moment.state.rtt);
        Ok(Seen {
            t_ms: ms(until.0),
            packet_bytes: whole.host.mss(),
            inflight: last.map_or(0, |state| state.inflight),
            rtt_ms: rtts().next().map(|rtt| ms(rtt.0)),
            min_rtt_ms: rtts().min().map(|rtt| ms(rtt.0)),
            arriving_mbps: rtts().min().map(|rtt| arriving(moments, until, rtt)),
            lost_bytes: moments.iter().map(|moment| moment.state.lost).sum(),
            series: Series::of(moments, self.points),
            over,
        })
    }

    fn over(&self, scenario: &Scenario, arm: &NamedArm, outcome: &Outcome) -> Result<Over, Error> {
        let room = room(scenario);
        let path = &scenario.path;
        let trial = Trial { testbed: "sim", scenario, arm, seed: self.round, ideal: None, outcome };
        let plan = Plan { seed: self.round, ..Plan::new(parse_arms(ALL)?, scenario.clone()) };
        let mut rows = plan.run(Keep::Rows, &|| ())?.rows;
        rows.insert(0, TrialRow::of(&trial));
        Ok(Over {
            path: path.to_string(),
            rate_mbps: path.rate_bps() as f64 / 1e6,
            rtt_ms: ms(path.rtt()),
            bdp_bytes: path.bdp_bytes(),
            full_bdp_bytes: path.full_bdp_bytes(),
            room_bytes: room,
            scores: rows.iter().map(|row| Score::of(row, scenario, room)).collect(),
            oracle: oracle(scenario, self.round, self.points)?,
        })
    }
}

/// Mbit/s that arrived within the last `rtt`.
fn arriving(moments: &[Moment], until: Nanos, rtt: Nanos) -> f64 {
    let since = until.0.saturating_sub(rtt.0);
    let begin = moments.partition_point(|moment| moment.state.now.0 < since);
    let delivered = |moment: Option<&Moment>| moment.map_or(0, |moment| moment.state.delivered);
    let before = begin.checked_sub(1).and_then(|before| moments.get(before));
    let bytes = delivered(moments.last()).saturating_sub(delivered(before));
    bytes as f64 * 8e3 / rtt.0.max(1) as f64
}

/// Object bytes that arrive within a game if the bottleneck is never idle and drops nothing.
fn room(scenario: &Scenario) -> u64 {
    let packet = u128::from(scenario.host.packet_bytes());
    let payload = u128::from(payload(scenario));
    let time = u128::from(LENGTH.0 - scenario.path.rtt() / 2);
    let wire = u128::from(scenario.path.rate_bps()) * time / 8_000_000_000;
    (wire * payload / packet) as u64
}

/// Object bytes of a full packet.
fn payload(scenario: &Scenario) -> u64 {
    match scenario.host {
        Hosts::Quic(host) => host.payload(),
        Hosts::Tcp(host) => u64::from(host.mss),
    }
}

fn oracle(scenario: &Scenario, seed: u64, points: usize) -> Result<Steps, Error> {
    let mut recording = Recording::default();
    let mut arms = parse_arms("oracle")?;
    scenario.simulate(&arms.swap_remove(0), seed, Some(&mut recording))?;
    let mut steps = Steps::default();
    for moment in stretches(recording.moments(), points).filter_map(<[Moment]>::last) {
        steps.t_ms.push(ms(moment.state.now.0));
        steps.cwnd.push(moment.state.cwnd);
    }
    Ok(steps)
}

/// Groups of consecutive moments, one group for each of about `points` periods of equal length with
/// at least one event.
fn stretches(moments: &[Moment], points: usize) -> impl Iterator<Item = &[Moment]> {
    let length = LENGTH.0 / points.clamp(1, 10_000) as u64;
    moments.chunk_by(move |a, b| a.state.now.0 / length == b.state.now.0 / length)
}

impl Series {
    fn of(moments: &[Moment], points: usize) -> Series {
        let mut series = Series::default();
        for stretch in stretches(moments, points) {
            let [.., last] = stretch else { continue };
            let rtt = stretch.iter().rev().find_map(|moment| moment.state.rtt);
            series.t_ms.push(ms(last.state.now.0));
            series.inflight.push(last.state.inflight);
            series.rtt_ms.push(rtt.map(|rtt| ms(rtt.0)));
            series.lost_bytes.push(stretch.iter().map(|moment| moment.state.lost).sum());
        }
        series
    }
}

impl Score {
    /// One point per thousandth of the room; dropped bytes are deducted from delivered ones.
    fn of(row: &TrialRow, scenario: &Scenario, room: u64) -> Score {
        let delivered = row.delivered_bytes.unwrap_or(0);
        let dropped = row.drops.map_or(0, |drops| drops.queue) * payload(scenario);
        let kept = u128::from(delivered.saturating_sub(dropped));
        Score {
            arm: row.arm.clone(),
            points: (kept * 1000 / u128::from(room.max(1))) as u64,
            delivered_bytes: delivered,
            dropped_bytes: dropped,
            queue_p99_ms: row.queue_ms.p99,
        }
    }
}
