//! The subject of the steps of a row: a sender, a law of congestion avoidance, CUBIC's curve, an
//! RTT estimator, loss detection, PRR, a pacer, or a whole transfer in the simulator.

use super::drive::{Value, value};
use super::sender::Sender;
use firstflight::arm::Arm;
use firstflight::avoidance::cubic_curve::{Curve, icbrt};
use firstflight::avoidance::{AnyAvoidance, Avoidance, Cut};
use firstflight::detection::quic::{Fate, Judgement, PersistentCongestion, judge};
use firstflight::event::{Ack, Context, Signal, Window};
use firstflight::recovery::{AnyRecovery, Cause, Entry, Progress, Recovery};
use firstflight::signal::rtt::{INITIAL_RTT, Rfc9002Rtt};
use firstflight::units::MAX_BYTES;
use firstflight::{Config, Nanos, Pacer, Rate, Seq, Time};
use firstflight_lab::compare::Keep;
use firstflight_lab::flows::{App, Flows, SharingFlow};
use firstflight_lab::{Plan, Scenario, TrialRow, parse_arms};
use firstflight_path::Path;

/// The words behind a step's name: plain ones and `key=value`.
pub(super) struct Words<'a> {
    all: Vec<&'a str>,
}

impl<'a> Words<'a> {
    pub(super) fn of(text: &'a str) -> Words<'a> {
        Words { all: text.split_whitespace().collect() }
    }

    /// The plain word at this place.
    pub(super) fn plain(&self, index: usize) -> Option<&'a str> {
        self.all.get(index).copied()
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.all.contains(&word)
    }

    /// Text after this word.
    pub(super) fn after(&self, word: &str) -> Option<&'a str> {
        let at = self.all.iter().position(|here| *here == word)?;
        self.all.get(at + 1).copied()
    }

    pub(super) fn key(&self, key: &str) -> Option<&'a str> {
        self.all.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    pub(super) fn number(&self, key: &str, mss: u64) -> Result<Option<u64>, String> {
        self.key(key).map(|text| number(text, mss)).transpose()
    }

    pub(super) fn need(&self, key: &str, mss: u64) -> Result<u64, String> {
        self.number(key, mss)?.ok_or_else(|| format!("needs `{key}=`"))
    }

    fn first(&self, mss: u64) -> Result<u64, String> {
        number(self.plain(0).ok_or("needs a number")?, mss)
    }
}

pub(super) fn number(text: &str, mss: u64) -> Result<u64, String> {
    match value(text, mss) {
        Value::Number(number) => u64::try_from(number).map_err(|_| format!("`{text}` is negative")),
        Value::Word(_) => Err(format!("`{text}` is no number")),
    }
}

pub(super) fn arm(text: &str) -> Result<Arm, String> {
    Arm::parse(text).map_err(|error| format!("`{text}` is no arm: {error}"))
}

pub(super) fn word(text: &str) -> Value {
    Value::Word(text.to_owned())
}

pub(super) fn amount(number: u64) -> Value {
    Value::Number(i128::from(number))
}

pub(super) fn yes(truth: bool) -> Value {
    word(if truth { "yes" } else { "no" })
}

/// A number of bytes, nanoseconds or packets; `none` where there is none.
pub(super) fn amount_or_none(number: Option<u64>) -> Value {
    number.map_or_else(|| word("none"), amount)
}

/// A law of congestion avoidance alone, always limited by its window.
pub(super) struct Law {
    avoidance: AnyAvoidance,
    w: Window,
    cx: Context,
    now: Time,
    rtt: Nanos,
}

/// PRR in an open episode.
pub(super) struct Open {
    policy: AnyRecovery,
    mss: u64,
    pipe: u64,
}

/// A pacer at one rate.
pub(super) struct Paced {
    pacer: Pacer,
    rate: Rate,
    now: Time,
    mss: u64,
}

pub(super) enum Subject {
    None,
    Sender(Box<Sender>),
    Law(Box<Law>),
    Curve {
        curve: Curve,
        at: u64,
        mss: u64,
    },
    Estimator {
        rtt: Rfc9002Rtt,
        promise: Nanos,
        probes: u32,
    },
    Root(u64),
    Judged(Judgement),
    Persistent {
        search: PersistentCongestion,
        found: bool,
    },
    Prr(Box<Open>),
    Pacer(Paced),
    Trial(Box<TrialRow>),
    /// Several flows through one bottleneck: when the last of them was through.
    Flows(Option<Nanos>),
}

impl Subject {
    pub(super) fn mss(&self) -> u64 {
        match self {
            Subject::Sender(sender) => sender.mss,
            Subject::Law(law) => law.cx.mss,
            Subject::Curve { mss, .. } => *mss,
            Subject::Prr(open) => open.mss,
            Subject::Pacer(paced) => paced.mss,
            _ => 1,
        }
    }

    /// One step; the name of a subject makes a new one.
    pub(super) fn step(&mut self, name: &str, words: &Words<'_>) -> Result<(), String> {
        match name {
            "sender" => *self = Subject::Sender(Box::new(Sender::new(words)?)),
            "law" => *self = Subject::Law(Box::new(Law::new(words)?)),
            "curve" => {
                let mss = words.need("mss", 1)?;
                let (w_max, cwnd) = (words.need("w_max", mss)?, words.need("cwnd", mss)?);
                *self = Subject::Curve { curve: Curve::new(w_max, cwnd, mss), at: 0, mss };
            }
            "estimator" => {
                let initial = words.number("initial", 1)?.map_or(INITIAL_RTT, Nanos);
                let rtt = Rfc9002Rtt::new(initial);
                *self = Subject::Estimator { rtt, promise: Nanos::ZERO, probes: 0 };
            }
            "root" => *self = Subject::Root(icbrt(u128::from(words.first(1)?))),
            "judge" => {
                *self = Subject::Judged(judge(
                    words.need("packet", 1)?,
                    Time(words.need("sent", 1)?),
                    words.need("largest", 1)?,
                    Time(words.need("now", 1)?),
                    Nanos(words.need("delay", 1)?),
                ));
            }
            "losses" => {
                let first = words.number("first", 1)?.map(Time);
                let span = Nanos(words.need("span", 1)?);
                let search = PersistentCongestion::new(first, span);
                *self = Subject::Persistent { search, found: false };
            }
            "prr" => *self = Subject::Prr(Box::new(Open::new(words)?)),
            "pacer" => {
                let mss = words.need("mss", 1)?;
                let rate = Rate(words.need("rate", mss)?);
                let pacer = Pacer::new(words.need("burst", mss)?, Time(0));
                *self = Subject::Pacer(Paced { pacer, rate, now: Time(0), mss });
            }
            "trial" => *self = Subject::Trial(Box::new(trial(words)?)),
            "flows" => *self = Subject::Flows(flows(words)?),
            _ => return self.go_on(name, words),
        }
        Ok(())
    }

    fn go_on(&mut self, name: &str, words: &Words<'_>) -> Result<(), String> {
        let mss = self.mss();
        match (self, name) {
            (Subject::Sender(sender), _) => return sender.step(name, words),
            (Subject::Law(law), _) => return law.step(name, words),
            (Subject::Prr(open), _) => return open.step(name, words),
            (Subject::Curve { at, .. }, "at") => *at = words.first(mss)? / 1_000,
            (Subject::Estimator { rtt, .. }, "sample") => {
                let delay = Nanos(words.number("delay", 1)?.unwrap_or(0));
                let most = words.number("max", 1)?.map(Nanos);
                rtt.on_sample(Nanos(words.first(1)?), delay, most);
            }
            (Subject::Estimator { rtt, .. }, "persistent") => rtt.on_persistent_congestion(),
            (Subject::Estimator { promise, .. }, "promise") => *promise = Nanos(words.first(1)?),
            (Subject::Estimator { probes, .. }, "probes") => {
                *probes = u32::try_from(words.first(1)?).map_err(|error| error.to_string())?;
            }
            (Subject::Persistent { search, found }, "lost" | "acked") => {
                let fate = if name == "lost" { Fate::Lost } else { Fate::Acked };
                let sent = Time(words.first(1)?);
                *found |= search.present(sent, !words.has("quiet"), fate);
            }
            (Subject::Pacer(paced), "take") => paced.pacer.take(words.first(mss)?),
            (Subject::Pacer(paced), "wait") => {
                paced.now += Nanos(words.first(mss)?);
                paced.pacer.fill(paced.now, paced.rate);
            }
            (Subject::Pacer(paced), "rate") => paced.rate = Rate(words.first(mss)?),
            _ => return Err("is no step of this subject".to_owned()),
        }
        Ok(())
    }

    pub(super) fn field(&self, name: &str) -> Option<Value> {
        Some(match (self, name) {
            (Subject::Sender(sender), _) => return sender.field(name),
            (Subject::Law(law), _) => return law.field(name),
            (Subject::Prr(open), _) => return open.field(name),
            (Subject::Trial(row), _) => return of_trial(row, name),
            (Subject::Flows(last), "time") => amount_or_none(last.map(|last| last.0)),
            (Subject::Curve { curve, .. }, "k") => amount(curve.k_us() * 1_000),
            (Subject::Curve { curve, at, .. }, "w") => amount(curve.at(*at)),
            (Subject::Estimator { rtt, promise, probes }, _) => match name {
                "srtt" => amount(rtt.smoothed().0),
                "latest" => amount_or_none(rtt.latest().map(|rtt| rtt.0)),
                "min" => amount_or_none(rtt.min().map(|rtt| rtt.0)),
                "var" => amount(rtt.variance().0),
                "pto" => amount(rtt.pto_after(*promise, *probes).0),
                "loss_delay" => amount(rtt.loss_delay().0),
                "span" => amount(rtt.persistent_duration(*promise).0),
                _ => return None,
            },
            (Subject::Root(root), "root") => amount(*root),
            (Subject::Judged(Judgement::Wait(at)), "waits") => amount(at.0),
            (Subject::Judged(judgement), "judgement") => word(match judgement {
                Judgement::TooNew => "new",
                Judgement::LostByOrder => "order",
                Judgement::LostByTime => "time",
                Judgement::Wait(_) => "wait",
            }),
            (Subject::Persistent { found, .. }, "persistent") => yes(*found),
            (Subject::Pacer(paced), "delay") => amount(paced.pacer.wait(paced.mss, paced.rate).0),
            _ => return None,
        })
    }
}

impl Law {
    fn new(words: &Words<'_>) -> Result<Law, String> {
        let mss = words.need("mss", 1)?;
        let law = words.plain(0).ok_or("which law?")?;
        let (avoidance, _) = arm(&format!("slowstart/{law}/immediate"))?.after_startup();
        let cwnd = words.need("cwnd", mss)?;
        let cx = firstflight::with!(Context {
            iw: 10 * mss,
            ..Context::new(&Config::quic(mss), Seq(0))
        });
        let w = Window { cwnd, ssthresh: cwnd };
        let rtt = Nanos(words.number("rtt", 1)?.unwrap_or(100_000_000));
        Ok(Law { avoidance, w, cx, now: Time(1_000_000_000), rtt })
    }

    fn grow(&mut self, acked: u64) {
        self.cx.srtt = self.rtt;
        self.cx.so_far.on_rtt(self.rtt);
        self.cx.so_far.advanced = true;
        let ack = Ack {
            acked,
            acked_fresh: acked,
            rtt: Some(self.rtt),
            srtt: Some(self.rtt),
            cwnd_limited: true,
            ..Ack::blank(self.now)
        };
        self.avoidance.grow(&ack, acked, &mut self.w, &self.cx);
    }

    fn step(&mut self, name: &str, words: &Words<'_>) -> Result<(), String> {
        let mss = self.cx.mss;
        match name {
            "wait" => self.now += Nanos(words.first(mss)?),
            "rtt" => self.rtt = Nanos(words.first(mss)?),
            "window" => {
                let cwnd = words.first(mss)?;
                self.w = Window { cwnd, ssthresh: cwnd };
            }
            "grow" => self.grow(words.first(mss)?),
            // One round trip of ACKs of a packet each, evenly spread.
            "fly" => {
                self.rtt = Nanos(words.first(mss)?);
                let packets = (self.w.cwnd / mss).max(1);
                for _ in 0..words.number("acks", 1)?.unwrap_or(packets) {
                    self.now += Nanos(self.rtt.0 / packets);
                    self.grow(mss);
                }
            }
            "cut" => {
                let signal = if words.has("ecn") { Signal::Ecn } else { Signal::Loss };
                let cut = Cut {
                    now: self.now,
                    signal,
                    inflight_before: MAX_BYTES,
                    flight: MAX_BYTES,
                    from_slow_start: words.has("startup"),
                };
                let left = self.avoidance.reduce(&cut, self.w, &self.cx);
                self.w = Window { cwnd: left.cwnd, ssthresh: left.ssthresh };
            }
            "idle" => {
                let span = Nanos(words.first(mss)?);
                self.now += span;
                self.avoidance.on_idle(self.now, span, span);
            }
            "persistent" => self.avoidance.on_persistent_congestion(self.now),
            _ => return Err("is no step of a law".to_owned()),
        }
        Ok(())
    }

    fn field(&self, name: &str) -> Option<Value> {
        Some(match (name, &self.avoidance) {
            ("cwnd", _) => amount(self.w.cwnd),
            ("w_max", AnyAvoidance::Cubic(cubic)) => amount_or_none(cubic.w_max()),
            ("k", AnyAvoidance::Cubic(cubic)) => amount_or_none(cubic.k_us().map(|us| us * 1_000)),
            ("w_est", AnyAvoidance::Cubic(cubic)) => amount_or_none(cubic.w_est()),
            _ => return None,
        })
    }
}

impl Open {
    fn new(words: &Words<'_>) -> Result<Open, String> {
        let mss = words.need("mss", 1)?;
        let text = words.plain(0).ok_or("which recovery?")?;
        let (_, mut policy) = arm(&format!("slowstart/reno/{text}"))?.after_startup();
        let (flight, target) = (words.need("flight", mss)?, words.need("target", mss)?);
        policy.enter(&Entry {
            cause: Cause::Ack,
            target,
            flight,
            sacked: 0,
            delivered: 0,
            cwnd: words.number("cwnd", mss)?.unwrap_or(flight),
            reduced: target,
            mss,
        });
        Ok(Open { policy, mss, pipe: flight })
    }

    fn step(&mut self, name: &str, words: &Words<'_>) -> Result<(), String> {
        let mss = self.mss;
        match name {
            "deliver" => {
                self.pipe = words.need("pipe", mss)?;
                let newly_lost = words.number("lost", mss)?.unwrap_or(0);
                self.policy.on_ack(&Progress {
                    delivered: words.first(mss)?,
                    advanced: !words.has("stuck"),
                    newly_lost,
                    pipe: self.pipe,
                    mss,
                    ..Progress::default()
                });
            }
            "out" => {
                let len = words.first(mss)?;
                self.pipe += len;
                self.policy.on_sent(len);
            }
            _ => return Err("is no step of a recovery".to_owned()),
        }
        Ok(())
    }

    fn field(&self, name: &str) -> Option<Value> {
        let mut found = None;
        match &self.policy {
            AnyRecovery::Prr(prr) => prr.signals(&mut |signal, value| {
                if signal.strip_prefix("prr_") == Some(name) {
                    found = Some(amount(value));
                }
            }),
            _ => return None,
        }
        match name {
            "admits" => Some(yes(self.policy.admits(self.mss, self.pipe))),
            _ => found,
        }
    }
}

/// A transfer over the simulator's QUIC.
fn trial(words: &Words<'_>) -> Result<TrialRow, String> {
    let arms =
        parse_arms(words.plain(0).ok_or("which arm?")?).map_err(|error| error.to_string())?;
    let path = Path::parse(words.key("path").ok_or("needs `path=`")?)
        .map_err(|error| error.to_string())?;
    let mut scenario = Scenario::new(path, words.need("bytes", 1)?);
    if let Some(limit) = words.number("limit", 1)? {
        scenario.limit = Nanos(limit);
    }
    let comparison =
        Plan::new(arms, scenario).run(Keep::Rows, &|| {}).map_err(|error| error.to_string())?;
    comparison.rows.into_iter().next().ok_or_else(|| "has no row".to_owned())
}

/// `ARM@START` each: flows of the same size over the simulator's QUIC.
fn flows(words: &Words<'_>) -> Result<Option<Nanos>, String> {
    let path = Path::parse(words.key("path").ok_or("needs `path=`")?)
        .map_err(|error| error.to_string())?;
    let bytes = words.need("bytes", 1)?;
    let mut flows = Vec::new();
    for (arm, start) in words.all.iter().filter_map(|word| word.rsplit_once('@')) {
        let arms = parse_arms(arm).map_err(|error| error.to_string())?;
        let arm = arms.into_iter().next().ok_or("which arm?")?;
        let start = Nanos(number(start, 1)?);
        flows.push(SharingFlow { arm, app: App::Bulk(bytes), start, rtt_extra: Nanos::ZERO });
    }
    let outcome = Scenario::new(path, bytes)
        .run_flows(&Flows::new(&flows, 1), None)
        .map_err(|error| error.to_string())?;
    let ends = outcome
        .flows
        .iter()
        .zip(&flows)
        .map(|(flow, plan)| Some(plan.start + flow.delivered_after?));
    Ok(ends.collect::<Option<Vec<Nanos>>>().and_then(|ends| ends.into_iter().max()))
}

fn of_trial(row: &TrialRow, name: &str) -> Option<Value> {
    match name {
        "time" => Some(amount_or_none(row.ttlb_ms.map(|ms| (ms * 1e6) as u64))),
        "loss_ppm" => Some(amount((row.loss_ratio? * 1e6) as u64)),
        _ => None,
    }
}
