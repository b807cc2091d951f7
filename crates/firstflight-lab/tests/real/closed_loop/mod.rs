//! The running kernel's TCP sender and the simulator's with the same ACKs. The simulator's
//! receiver, behind a TUN device and an emulated path, acknowledges the kernel's data; our sender
//! receives the same ACKs at the same times. Needs root; otherwise the tests pass with a message
//! that says what is missing.
//!
//! `CLOSED_LOOP=FIRST:COUNT cargo test -p firstflight-lab --features linux --test real closed_loop
//! --
//! --nocapture` runs other seeds and prints each first difference.

mod kernel;
mod name;
mod ours;
mod undo;

use firstflight_path::Path;
use kernel::{Episode, MSS, Recording, play};
use name::{Name, name};
use ours::{Clock, Ours, Step};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Drawn from a seed (SplitMix64).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

/// The episode of a seed: a path with a short queue, and some with random losses, reordering,
/// duplicates, lost and thinned ACKs. Even seeds are Reno's, odd ones CUBIC's.
fn episode(seed: u64) -> Episode {
    let mut draw = Draw(seed.wrapping_mul(0x1_0001));
    let rtt = 20 + draw.below(60);
    let (rate, queue) = (4 + draw.below(30), 10 + draw.below(80));
    let mut path = format!("rate={rate}Mbit,rtt={rtt}ms,queue={queue}pkt");
    let mut add = |key: String| path += &key;
    if draw.one_in(2) {
        add(format!(",loss={}%", 1 + draw.below(4)));
    }
    if draw.one_in(3) {
        add(format!(",reorder={}%:{}ms", 1 + draw.below(5), 1 + draw.below(rtt / 2)));
    }
    if draw.one_in(6) {
        add(",dup=1%".to_owned());
    }
    if draw.one_in(3) {
        add(format!(",up_loss={}%", 1 + draw.below(10)));
    }
    add(format!(",ack={}", [1, 2, 2, 4, 8][draw.below(5) as usize]));
    Episode {
        seed,
        congestion: if seed.is_multiple_of(2) { "reno" } else { "cubic" },
        path: Path::parse(&path).expect("a path"),
        segments: 200 + draw.below(300),
    }
}

/// The machine left the kernel alone for so long that nobody knows when it took an ACK.
const DISTURBED: Duration = Duration::from_millis(1);

/// Outcome of an episode.
struct Verdict {
    steps: usize,
    /// The first step at which anything differs, why, and what both did.
    first: Option<(usize, Name, String)>,
    /// The same in full, or for CUBIC to one segment, from beginning to end.
    holds: bool,
}

/// Steps of both up to which they agree, each within this many segments.
fn agree(recording: &Recording, ours: &[Step], within: i64) -> usize {
    let mut sent = [Vec::new(), Vec::new()];
    let last = recording.steps.len() - 1;
    for (index, (kernel, ours)) in recording.steps.iter().zip(ours).enumerate() {
        let (k, o) = (&kernel.state, &ours.state);
        let apart = |a: i64, b: i64| a.abs_diff(b) > within as u64;
        if apart(k.cwnd, o.cwnd) || apart(k.ssthresh, o.ssthresh) {
            return index;
        }
        // The test does not wait for packets after the last ACK.
        let later = |later: &[kernel::Left]| if index == last { 0 } else { later.len() };
        for (who, now, after) in [
            (0, &kernel.sent, &kernel.later[..later(&kernel.later)]),
            (1, &ours.sent, &ours.later[..later(&ours.later)]),
        ] {
            sent_by(&mut sent[who], now.iter().chain(after));
        }
        if !same_order(&sent, within) {
            return index;
        }
    }
    recording.steps.len()
}

fn sent_by<'a>(sent: &mut Vec<(u64, u32, bool)>, left: impl Iterator<Item = &'a kernel::Left>) {
    for left in left {
        let before = sent.iter().any(|&(from, ..)| from == left.from);
        sent.push((left.from, left.len, before));
    }
}

/// Both sent the same segments, originals and repeats each in the same order, but for so many at the
/// end.
fn same_order(sent: &[Vec<(u64, u32, bool)>; 2], within: i64) -> bool {
    if within == 0 {
        return sent[0] == sent[1];
    }
    [false, true].iter().all(|repeats| {
        let of = |who: usize| sent[who].iter().filter(|(.., repeat)| repeat == repeats);
        let (kernel, ours) = (of(0).count(), of(1).count());
        kernel.abs_diff(ours) <= within as usize && of(0).zip(of(1)).all(|(a, b)| a == b)
    })
}

fn judge(episode: &Episode, recording: &Recording) -> Verdict {
    let ours = Ours::new(episode, recording, Clock::default()).play();
    let steps = recording.steps.len();
    let within = i64::from(episode.congestion == "cubic");
    let first = agree(recording, &ours, 0);
    let beyond = agree(recording, &ours, within);
    let holds = beyond == steps;
    let first = (first < steps).then(|| {
        let name = name(episode, recording, &ours, first);
        let mut text = differ(recording, &ours, first);
        let seen = (0..first).find(|&at| recording.steps[at].state.seen != ours[at].state.seen);
        if let Some(at) = seen {
            text += "    only one has seen reordering from here on:\n";
            text += &differ(recording, &ours, at);
        }
        if !holds && beyond > first {
            text += "    more than one segment apart:\n";
            text += &differ(recording, &ours, beyond);
        }
        (first, name, text)
    });
    Verdict { steps, first, holds }
}

/// State of both at a step and at the one before it.
fn differ(recording: &Recording, ours: &[Step], at: usize) -> String {
    let mut text = String::new();
    let short = |left: &[kernel::Left]| -> Vec<u64> {
        left.iter().map(|left| left.from / u64::from(MSS)).collect()
    };
    for index in at.saturating_sub(1)..=at {
        let (kernel, ours) = (&recording.steps[index], &ours[index]);
        let blocks = |ack: &firstflight_sim::tcp::AckPacket| -> Vec<(u64, u64)> {
            let blocks = &ack.blocks[..usize::from(ack.count)];
            blocks.iter().map(|b| (b.from / u64::from(MSS), b.to / u64::from(MSS))).collect()
        };
        let ack = kernel.ack.map_or("writes".to_owned(), |ack| {
            format!("ack {} {:?} dsack {}", ack.ack / u64::from(MSS), blocks(&ack), ack.dsack)
        });
        let _ = writeln!(text, "    {:.3} ms {ack}", kernel.at as f64 / 1e6);
        for (who, state, sent, later) in [
            ("kernel", &kernel.state, &kernel.sent, &kernel.later),
            ("ours", &ours.state, &ours.sent, &ours.later),
        ] {
            let _ = writeln!(text, "      {who} {state:?} {:?} {:?}", short(sent), short(later));
        }
    }
    text
}

/// Plays an episode until the machine does not disturb it, at most three times.
fn undisturbed(episode: &Episode) -> Result<Option<Recording>, firstflight_path::Error> {
    for _ in 0..3 {
        let recording = play(episode)?;
        if recording.blur < DISTURBED {
            return Ok(Some(recording));
        }
    }
    Ok(None)
}

/// Runs `work` for each of `0..count` side by side; results in order.
fn side_by_side<T: Send>(count: u64, work: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let (next, results) = (AtomicU64::new(0), Mutex::new(BTreeMap::new()));
    thread::scope(|scope| {
        for _ in 0..count.min(8) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        return;
                    }
                    let result = work(index);
                    results.lock().expect("nobody panicked").insert(index, result);
                }
            });
        }
    });
    results.into_inner().expect("nobody panicked").into_values().collect()
}

/// Reason in one line why episodes cannot be played here.
fn missing() -> Option<String> {
    let probe = firstflight_linux::scripted::Peer::open("reno", &[]);
    probe.err().map(|why| why.to_string())
}

#[test]
fn the_kernel_and_ours_do_the_same_under_the_same_acks() {
    if let Some(why) = missing() {
        println!("skipped: {why}");
        return;
    }
    let asked = std::env::var("CLOSED_LOOP").ok();
    let asked = asked.as_deref().and_then(|text| text.split_once(':'));
    let number = |text: &str| text.parse().expect("CLOSED_LOOP=FIRST:COUNT");
    let night = std::env::var_os("NIGHT").is_some();
    let (first, count) = match asked {
        Some((first, count)) => (number(first), number(count)),
        None => (0, if night { 2_000 } else { 40 }),
    };
    let verdicts = side_by_side(count, |index| {
        let episode = episode(first + index);
        let recording = undisturbed(&episode).unwrap_or_else(|e| panic!("{e}"));
        let verdict = recording.map(|recording| judge(&episode, &recording));
        (episode, verdict)
    });
    let (mut left_out, mut names) = (0, BTreeMap::<Name, u64>::new());
    let mut counts = BTreeMap::<&str, [u64; 3]>::new();
    for (episode, verdict) in &verdicts {
        let Some(Verdict { steps, first, holds }) = verdict else {
            left_out += 1;
            continue;
        };
        let counts = counts.entry(episode.congestion).or_default();
        counts[0] += 1;
        counts[1] += u64::from(*holds);
        counts[2] += u64::from(first.is_none());
        let Some((step, name, what)) = first else { continue };
        *names.entry(*name).or_default() += 1;
        if asked.is_some() || *name == Name::Unknown {
            println!(
                "seed {} {} {}: step {step} of {steps}, {name:?}\n{what}",
                episode.seed, episode.congestion, episode.path
            );
        }
    }
    println!("{left_out} episodes left out: the machine was busy");
    for (congestion, [all, hold, exact]) in &counts {
        let within = if *congestion == "cubic" { "within one segment" } else { "equal" };
        println!("{congestion}: {hold} of {all} {within} to the end, {exact} equal in everything");
    }
    for (name, count) in &names {
        println!("first difference, {count} times: {}", name.meaning());
    }
    let enough = |congestion: &str, percent: u64| {
        let [all, hold, _] = counts.get(congestion).copied().unwrap_or_default();
        // Fewer would hold in one of a thousand runs, if each did with this probability.
        let share = percent as f64 / 100.0;
        let deviation = (all as f64 * share * (1.0 - share)).sqrt();
        let least = all as f64 * share - 3.1 * deviation - 0.5;
        assert!(hold as f64 >= least, "{congestion}: {hold} of {all} episodes hold");
    };
    // The goals are 90 and 80 on undisturbed seeds; a busy machine disturbs some that it lets pass.
    enough("reno", 80);
    enough("cubic", 60);
    let unknown = names.get(&Name::Unknown).copied().unwrap_or(0);
    assert!(unknown * 10 <= count, "{unknown} of {count} episodes differ for no known reason");
}

/// An ACK for each 32 segments: slow start counts all of them in the kernel, and so in ours.
#[test]
fn windows_under_thinned_acks_are_the_kernels() {
    if let Some(why) = missing() {
        println!("skipped: {why}");
        return;
    }
    let path = Path::parse("rate=1Gbit,rtt=20ms,queue=unlimited,ack=32").expect("a path");
    let episode = Episode { seed: 1, congestion: "reno", path, segments: 750 };
    let recording = play(&episode).unwrap_or_else(|e| panic!("{e}"));
    let ours = Ours::new(&episode, &recording, Clock::default()).play();
    let cwnd = |states: Vec<i64>| {
        let mut states = states;
        states.dedup();
        states
    };
    let kernel = cwnd(recording.steps.iter().map(|step| step.state.cwnd).collect());
    let ours = cwnd(ours.iter().map(|step| step.state.cwnd).collect());
    assert_eq!(kernel, ours, "windows ACK by ACK");
    assert_eq!(kernel[..5], [10, 20, 40, 72, 104], "{kernel:?}");
    assert!(kernel.len() > 10, "{kernel:?}");
}
