//! Every proof that an episode was a false alarm, compared with the path's treatment of each
//! packet.
//!
//! The statements: QUIC: no undone episode contains a packet that the path dropped. TCP,
//! timestamps: the original of the segment at `una` when the episode opened had arrived. DSACKs:
//! the original of every segment retransmitted since then had arrived, or the path duplicated a
//! retransmission. F-RTO: a segment of the flight that was never retransmitted had arrived. On a
//! path that keeps the order and loses no ACK, no fast recovery is undone.

use crate::hosts;

use firstflight::detection::f_rto;
use firstflight::detection::presets::{Preset, Probe, UndoRule};
use firstflight::detection::undo::Proof;
use firstflight::{AnyController, Event, Nanos, Time, Timeout};
use firstflight_path::Path;
use firstflight_sim::observe::{Record, Signals};
use firstflight_sim::{Hosts, Observer, Setup, Snapshot, quic, run, tcp};
use hosts::{SECOND, controller};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Drawn from a seed (SplitMix64).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// From `low` to `high`, small ones as often as large ones.
    fn spread(&mut self, low: u64, high: u64) -> u64 {
        let (low_bits, high_bits) = ((low as f64).ln(), (high as f64).ln());
        let at = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        (low_bits + at * (high_bits - low_bits)).exp() as u64
    }
    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

/// One transmission and its fate.
#[derive(Clone, Copy, Debug)]
struct Sent {
    from: u64,
    to: u64,
    repeat: bool,
    arrives: [Option<Time>; 2],
}

impl Sent {
    fn arrived(&self, now: Time) -> bool {
        self.arrives.iter().flatten().any(|&at| at <= now)
    }
    fn is_doubled(&self) -> bool {
        self.arrives.iter().flatten().count() == 2
    }
}

/// The latest episode.
#[derive(Clone, Debug, Default)]
struct Open {
    una: u64,
    nxt: u64,
    /// Transmissions before it.
    sent: usize,
    timeout: bool,
    /// Packets declared lost in it.
    lost: Vec<u64>,
}

/// Counts of the trials' outcomes.
#[derive(Clone, Debug, Default)]
struct Tally {
    episodes: u64,
    timeouts: u64,
    /// Of fast recoveries (false) and timeouts (true), by what proved it.
    undone: BTreeMap<(String, bool), u64>,
    false_proofs: Vec<String>,
}

impl Tally {
    fn undone_recoveries(&self) -> u64 {
        self.undone.iter().filter(|((_, timeout), _)| !timeout).map(|(_, count)| count).sum()
    }
}

/// Follows one trial with a controller of its own, to know when an episode opens.
struct Watch<'a> {
    controller: AnyController,
    quic: bool,
    una: u64,
    sent: BTreeMap<u64, Sent>,
    open: Option<Open>,
    tally: &'a mut Tally,
}

impl Watch<'_> {
    fn original(&self, at: u64) -> Option<&Sent> {
        self.sent.values().find(|sent| !sent.repeat && sent.from <= at && at < sent.to)
    }

    fn original_arrived(&self, at: u64, now: Time) -> bool {
        self.original(at).is_some_and(|sent| sent.arrived(now))
    }

    /// Whether the statement of this proof is true.
    fn holds(&self, proof: Option<Proof>, open: &Open, now: Time) -> bool {
        let repeats =
            || self.sent.range(open.sent as u64..).map(|(_, sent)| sent).filter(|s| s.repeat);
        match proof {
            Some(Proof::LateAck) => open.lost.iter().all(|lost| {
                self.sent.get(lost).is_some_and(|sent| sent.arrives.iter().any(Option::is_some))
            }),
            Some(Proof::Timestamp) => self.original_arrived(open.una, now),
            Some(Proof::Dsack) => repeats().all(|repeat| {
                let doubled =
                    self.sent.values().any(|s| s.repeat && s.from == repeat.from && s.is_doubled());
                doubled || self.original_arrived(repeat.from, now)
            }),
            Some(Proof::FRto) => {
                open.timeout && {
                    let flight = |s: &&Sent| !s.repeat && open.una <= s.from && s.from < open.nxt;
                    self.sent.values().filter(flight).any(|sent| {
                        let repeated = self.sent.values().any(|s| s.repeat && s.from == sent.from);
                        !repeated && sent.arrived(now)
                    })
                }
            }
            None => false,
        }
    }
}

impl Observer for Watch<'_> {
    fn watches(&self) -> bool {
        true
    }
    fn listens(&self) -> bool {
        true
    }
    fn on_event(&mut self, _snapshot: &Snapshot, _signals: &Signals<'_>) {}

    fn on_told(&mut self, record: Record) {
        let before = *self.controller.stats();
        self.controller.tell(&record.event);
        let after = *self.controller.stats();
        if let Some(open) = &mut self.open {
            open.lost.extend(&record.lost);
        }
        match record.event {
            Event::Sent(_) => {
                let packet = record.packet.expect("a packet left");
                let (from, len) = packet.stream.unwrap_or_default();
                self.sent.insert(
                    packet.number,
                    Sent {
                        from,
                        to: from + len,
                        repeat: packet.repeat.unwrap_or(false),
                        arrives: record.arrives,
                    },
                );
            }
            Event::Ack(ack, _) => {
                self.una = ack.una.0;
                let timeouts = after.timeouts != before.timeouts;
                if after.loss_episodes != before.loss_episodes && !timeouts {
                    self.tally.episodes += 1;
                    self.open = Some(Open {
                        una: ack.una.0,
                        nxt: ack.nxt.0,
                        sent: ack.tx_next as usize,
                        timeout: false,
                        lost: record.lost.clone(),
                    });
                } else if after.ecn_episodes != before.ecn_episodes {
                    self.open = None;
                }
            }
            Event::Congestion(congestion) => match congestion.timeout {
                Timeout::Rto => {
                    self.tally.timeouts += 1;
                    self.open = Some(Open {
                        una: self.una,
                        nxt: congestion.nxt.0,
                        sent: self.sent.keys().next_back().map_or(0, |last| *last as usize + 1),
                        timeout: true,
                        lost: Vec::new(),
                    });
                }
                // Of a series the first counts; inside an episode nothing is taken back any more.
                Timeout::RtoAgain => self.open = self.open.take().filter(|open| open.timeout),
                Timeout::PersistentCongestion => self.open = None,
            },
            Event::Spurious { now } => {
                let kind = record.proof.map_or("nothing".to_owned(), |proof| format!("{proof:?}"));
                let open = self.open.take();
                let holds = open.as_ref().is_some_and(|open| self.holds(record.proof, open, now));
                if !holds {
                    let repeats: Vec<_> =
                        self.sent.iter().filter(|(_, sent)| sent.repeat).collect();
                    let last = &repeats[repeats.len().saturating_sub(20)..];
                    let text = format!("{kind} at {now:?} of {open:?}, last repeats {last:?}");
                    self.tally.false_proofs.push(text);
                }
                let timeout = open.is_some_and(|open| open.timeout);
                if after.undone != before.undone {
                    *self.tally.undone.entry((kind, timeout)).or_default() += 1;
                }
            }
            _ => {}
        }
    }
}

/// A path in whose one direction nothing overtakes, on which data is lost and no ACK is.
fn fifo(draw: &mut Draw) -> String {
    let rate = draw.spread(1_000, 100_000);
    // Long enough to send a packet and its ACK.
    let rtt = 3 + 15_000 / rate + draw.spread(1, 300);
    // Of the BDP from a fifth to four, and at least two packets.
    let queue = (rate * rtt * draw.spread(20, 400) / 800).max(3_000);
    let mut text = format!("rate={rate}kbit,rtt={rtt}ms,queue={queue}B");
    match draw.below(4) {
        0 => {}
        1 => {
            write!(text, ",ge={}%:{}:0%:100%", 1 + draw.below(3), 1 + draw.below(6)).expect("text");
        }
        _ => {
            let loss = draw.spread(1, 80);
            write!(text, ",loss={}.{}%", loss / 10, loss % 10).expect("text");
        }
    }
    text
}

/// The same with what may make a loss look like none, and none like a loss.
fn wild(draw: &mut Draw) -> String {
    let mut text = fifo(draw);
    if draw.one_in(2) {
        write!(text, ",reorder={}%:{}ms", 1 + draw.below(20), draw.spread(1, 200)).expect("text");
    }
    if draw.one_in(4) {
        write!(text, ",jitter={}ms", draw.spread(1, 30)).expect("text");
    }
    if draw.one_in(2) {
        write!(text, ",up_loss={}%", 1 + draw.below(40)).expect("text");
    }
    if draw.one_in(6) {
        write!(text, ",dup={}%", 1 + draw.below(5)).expect("text");
    }
    if draw.one_in(4) {
        write!(text, ",thin={}", 2 + draw.below(4)).expect("text");
    }
    if draw.one_in(4) {
        write!(text, ",ack={}", 1 + draw.below(8)).expect("text");
    }
    if draw.one_in(6) {
        write!(text, ",gro={}ms:64kB", 1 + draw.below(3)).expect("text");
    }
    if draw.one_in(3) {
        // Silences: everything waits.
        let (from, long) = (draw.spread(100, 1_500), draw.spread(100, 2_000));
        let rate = text[5..text.find(',').expect("a rate")].to_owned();
        write!(text, ",steps={from}ms:off/{}ms:{rate}", from + long).expect("text");
    }
    text
}

/// Every detection, with and without probes, each with all proofs accepted.
fn host(draw: &mut Draw) -> Hosts {
    const TCP: [&str; 6] = ["rack", "linux26", "sack6675", "sack3517", "reno", "windows"];
    if draw.one_in(4) {
        return Hosts::Quic(quic::Host {
            probes: 1 + draw.below(2) as u32,
            ..quic::Host::default()
        });
    }
    let name = if draw.one_in(2) { "rack" } else { TCP[draw.below(6) as usize] };
    let preset = *Preset::named(name).expect("in the table");
    let preset = Preset {
        undo: UndoRule::DsackAndTimestamps,
        f_rto: true,
        probe: if draw.one_in(2) { Probe::None } else { Probe::Tlp },
        ..preset
    };
    let proof = if draw.one_in(2) { f_rto::Proof::Linux } else { f_rto::Proof::Rfc5682 };
    Hosts::Tcp(tcp::Host { f_rto: proof, ..tcp::Host::with_preset(preset) })
}

fn arm(draw: &mut Draw) -> &'static str {
    const ARMS: [&str; 8] = [
        "slowstart",
        "slowstart/reno/immediate",
        "slowstart/cubic/prr(mode=crb)",
        "slowstart/cubic(profile=linux)/prr(mode=linux)",
        "slowstart/cubic/sack(lost=ignore)",
        "hystart++",
        "rapid",
        "slowstart/cubic/halving",
    ];
    ARMS[draw.below(8) as usize]
}

/// Plays the trial of this seed on a path drawn by `of`; what it was.
fn play(seed: u64, of: fn(&mut Draw) -> String, tally: &mut Tally) -> String {
    let mut draw = Draw(seed);
    let (text, host, arm) = (of(&mut draw), host(&mut draw), arm(&mut draw));
    let path = Path::parse(&text).unwrap_or_else(|e| panic!("`{text}`: {e}"));
    let object = draw.spread(20_000, 1_500_000);
    let setup = Setup {
        path: &path,
        host,
        pacer_burst: 2 * host.mss(),
        object,
        limit: Nanos(60 * SECOND),
        seed,
        path_index: 0,
    };
    let controller = controller(arm, host, Nanos::ZERO);
    let mut watch = Watch {
        controller,
        quic: matches!(host, Hosts::Quic(_)),
        una: 0,
        sent: BTreeMap::new(),
        open: None,
        tally,
    };
    let outcome = run(&setup, controller, Some(&mut watch)).expect("the path carries full packets");
    assert_eq!(
        (u64::from(watch.controller.stats().undone), watch.controller.cwnd()),
        (outcome.counters.undone, watch.controller.cwnd()),
        "seed {seed}: a controller that is told the same is the same"
    );
    let name = match host {
        Hosts::Quic(_) => "quic".to_owned(),
        Hosts::Tcp(host) => {
            format!("{} {:?} {:?}", host.preset.name, host.preset.probe, host.f_rto)
        }
    };
    assert_eq!(watch.quic, name == "quic");
    format!("{arm} {object} B on {text} by {name}, seed {seed}")
}

/// Trials of each kind; 10 000 with `NIGHT` set (`make night`).
fn trials() -> u64 {
    std::env::var_os("NIGHT").map_or(500, |_| 10_000)
}

#[test]
fn without_reordering_and_lost_acks_no_recovery_is_taken_back() {
    let mut all = Tally::default();
    for seed in 0..trials() {
        let mut one = Tally::default();
        let what = play(seed, fifo, &mut one);
        assert_eq!(one.false_proofs, Vec::<String>::new(), "{what}");
        assert!(one.timeouts > 0 || one.undone_recoveries() == 0, "{what}: {:?}", one.undone);
        all.episodes += one.episodes;
        all.timeouts += one.timeouts;
        for (key, count) in one.undone {
            *all.undone.entry(key).or_default() += count;
        }
    }
    println!("{} recoveries, {} timeouts; undone {:?}", all.episodes, all.timeouts, all.undone);
    assert!(all.episodes > trials(), "{} recoveries show little", all.episodes);
}

#[test]
fn every_proof_of_a_false_alarm_is_true() {
    let mut all = Tally::default();
    for seed in 0..trials() {
        let what = play(1 << 32 | seed, wild, &mut all);
        assert_eq!(all.false_proofs, Vec::<String>::new(), "{what}");
    }
    println!("{} recoveries, {} timeouts; undone {:?}", all.episodes, all.timeouts, all.undone);
    for proof in ["Dsack", "Timestamp", "FRto", "LateAck"] {
        let count: u64 =
            all.undone.iter().filter(|((kind, _), _)| kind == proof).map(|(_, count)| count).sum();
        assert!(count > 0, "{proof} proved nothing: {:?}", all.undone);
    }
}
