//! One connection of the running kernel whose peer is the simulator's receiver behind an emulated
//! path, recorded event by event.

use firstflight::Time;
use firstflight_linux::scripted::{Header, Peer};
use firstflight_path::{Error, Fate, Link, Path};
use firstflight_sim::tcp::{AckPacket, Host, Range, Receiver, Segment};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// Payload bytes of a full segment with timestamps.
pub(super) const MSS: u32 = 1448;
const HEADER: u32 = 52;
/// No connection lasts longer.
const LONGEST: Duration = Duration::from_secs(30);

/// A scenario: a path, the amount sent over it, and the draws.
#[derive(Clone, Debug)]
pub(super) struct Episode {
    pub(super) seed: u64,
    pub(super) congestion: &'static str,
    pub(super) path: Path,
    pub(super) segments: u64,
}

/// A data segment that left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left {
    /// When it was read from the device.
    pub(super) at: u64,
    /// Its timestamp, counted from that of the SYN.
    pub(super) stamp: u32,
    pub(super) from: u64,
    pub(super) len: u32,
}

/// The kernel's state after an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) cwnd: i64,
    pub(super) ssthresh: i64,
    pub(super) phase: i64,
    pub(super) lost: i64,
    pub(super) sacked: i64,
    pub(super) retrans: i64,
    /// Reordering was seen, and its degree.
    pub(super) seen: bool,
    pub(super) degree: i64,
}

/// An ACK that the kernel got, and what it did until the next one.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Nanoseconds since the beginning, and how much later the kernel was done.
    pub(super) at: u64,
    pub(super) took: u64,
    /// `None`: the application wrote everything.
    pub(super) ack: Option<AckPacket>,
    /// Right after the ACK.
    pub(super) state: State,
    /// Packets that left at once, and those that the kernel's timers released later.
    pub(super) sent: Vec<Left>,
    pub(super) later: Vec<Left>,
}

#[derive(Clone, Debug)]
pub(super) struct Recording {
    /// When the handshake was over.
    pub(super) established: u64,
    /// Its RTT, as the kernel measured it.
    pub(super) handshake: u64,
    pub(super) steps: Vec<Step>,
    /// Ticks of the kernel's timestamps since the beginning are those of the ACKs plus this.
    pub(super) stamp_shift: i64,
    /// The longest time for which it is not known when the kernel took an ACK.
    pub(super) blur: Duration,
}

impl Episode {
    pub(super) fn host(&self) -> Host {
        Host { mss: MSS, header: HEADER, ..Host::default() }.receiving(&self.path)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.segments * u64::from(MSS)
    }
}

/// Settings of an unchanged kernel, but for buffers that never limit and bursts of the device:
/// the simulator has no segmentation offload.
fn sysctls() -> Vec<(&'static str, String)> {
    let given = [
        ("net/ipv4/tcp_sack", "1"),
        ("net/ipv4/tcp_dsack", "1"),
        ("net/ipv4/tcp_timestamps", "1"),
        ("net/ipv4/tcp_early_retrans", "3"),
        ("net/ipv4/tcp_recovery", "1"),
        ("net/ipv4/tcp_frto", "2"),
        ("net/ipv4/tcp_slow_start_after_idle", "1"),
        ("net/ipv4/tcp_reordering", "3"),
        ("net/ipv4/tcp_ecn", "0"),
        ("net/ipv4/tcp_wmem", "4096 16777216 67108864"),
        ("net/ipv4/tcp_tso_win_divisor", "255"),
    ];
    given.map(|(name, value)| (name, value.to_owned())).to_vec()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// A segment reaches the receiver.
    Arrives { from: u64, len: u32, stamp: u32 },
    /// An ACK reaches the kernel.
    Answers(usize),
}

struct Player<'a> {
    episode: &'a Episode,
    peer: Peer,
    links: (Link, Link),
    receiver: Receiver,
    /// By time and order.
    due: BinaryHeap<Reverse<(u64, u64, Due)>>,
    order: u64,
    answers: Vec<AckPacket>,
    isn: u32,
    /// The kernel's timestamp of its SYN.
    stamp: u32,
    recording: Recording,
}

/// Plays an episode.
pub(super) fn play(episode: &Episode) -> Result<Recording, Error> {
    let peer = Peer::open(episode.congestion, &sysctls())?;
    let links = episode.path.links(MSS + HEADER, HEADER, episode.seed, 0)?;
    let mut player = Player {
        episode,
        peer,
        links,
        receiver: Receiver::new(&episode.host()),
        due: BinaryHeap::new(),
        order: 0,
        answers: Vec::new(),
        isn: 0,
        stamp: 0,
        recording: Recording {
            established: 0,
            handshake: 0,
            steps: Vec::new(),
            stamp_shift: i64::MIN,
            blur: Duration::ZERO,
        },
    };
    player.run().map_err(|error| Error::new(format!("seed {}: {error}", episode.seed)))?;
    Ok(player.recording)
}

impl Player<'_> {
    fn run(&mut self) -> std::io::Result<()> {
        let other = std::io::Error::other;
        let header = Header { window: 65_535, ..Header::default() };
        let soon = self.peer.now() + Duration::from_secs(1);
        self.peer.inject(&Header {
            syn: true,
            mss: Some(1460),
            sack_ok: true,
            scale: Some(14),
            stamps: Some((1, 0)),
            ..header.clone()
        })?;
        let (at, answer) = self.peer.receive(soon).ok_or_else(|| other("no answer to the SYN"))?;
        let (stamp, _) = answer.stamps.ok_or_else(|| other("no timestamps"))?;
        (self.isn, self.stamp) = (answer.seq, stamp);
        self.note_stamp(at, stamp);
        // Below what the path takes later: no RTT is compared with one that is the same.
        let back = at + Duration::from_nanos(self.episode.path.rtt() * 15 / 16);
        while self.peer.receive(back).is_some() {}
        self.recording.established = nanos(self.peer.now());
        self.peer.inject(&Header {
            seq: 1,
            ack: Some(self.isn.wrapping_add(1)),
            stamps: Some((2, stamp)),
            ..header
        })?;
        self.peer.accept()?;
        self.peer.no_delay(true)?;
        let rtt = self.peer.info_at_once().and_then(|info| info.field("rtt"));
        self.recording.handshake = rtt.unwrap_or(0) as u64 * 1000;
        let at = nanos(self.peer.now());
        self.peer.write(self.episode.bytes())?;
        self.begin_step(at, 0, None);
        while self.receiver.delivered() < self.episode.bytes() || !self.due.is_empty() {
            if self.peer.now() > LONGEST {
                return Err(other("it takes too long"));
            }
            let next = self.next_due().unwrap_or(u64::MAX).min(nanos(LONGEST) + 1);
            if let Some((at, header)) = self.peer.receive(Duration::from_nanos(next)) {
                let left = self.left(at, &header);
                self.recording.steps.last_mut().expect("the first write").later.extend(left);
                continue;
            }
            self.pass(next)?;
        }
        Ok(())
    }

    fn next_due(&self) -> Option<u64> {
        let ack = self.receiver.ack_due().map(|at| at.0);
        self.due.peek().map(|Reverse((at, ..))| *at).into_iter().chain(ack).min()
    }

    /// Handles everything due at this moment.
    fn pass(&mut self, now: u64) -> std::io::Result<()> {
        if self.receiver.ack_due().is_some_and(|at| at.0 <= now) {
            let packet = self.receiver.acknowledge(Time(now));
            self.answer(now, packet);
        }
        while let Some(Reverse((at, _, due))) =
            self.due.peek().copied().filter(|due| due.0.0 <= now)
        {
            self.due.pop();
            match due {
                Due::Arrives { from, len, stamp } => {
                    let segment = Segment { from, len, stamp, echo: None, marked: false };
                    if let Some(packet) = self.receiver.on_segment(Time(at), &segment) {
                        self.answer(at, packet);
                    }
                }
                Due::Answers(index) => self.inject(self.answers[index])?,
            }
        }
        Ok(())
    }

    fn schedule(&mut self, at: u64, due: Due) {
        self.due.push(Reverse((at, self.order, due)));
        self.order += 1;
    }

    /// The receiver sends an ACK.
    fn answer(&mut self, at: u64, packet: AckPacket) {
        let index = self.answers.len();
        self.answers.push(packet);
        match self.links.1.offer(at, HEADER + packet.option_bytes()) {
            Fate::Deliver { at, .. } => self.schedule(at, Due::Answers(index)),
            Fate::Duplicate { at, again, .. } => {
                self.schedule(at, Due::Answers(index));
                self.schedule(again, Due::Answers(index));
            }
            Fate::Drop(_) => {}
        }
    }

    fn inject(&mut self, packet: AckPacket) -> std::io::Result<()> {
        let wrap = |offset: u64| self.isn.wrapping_add(1).wrapping_add(offset as u32);
        let blocks = &packet.blocks[..usize::from(packet.count)];
        let header = Header {
            seq: 1,
            ack: Some(wrap(packet.ack)),
            window: 65_535,
            stamps: Some((packet.stamp.max(2), self.stamp.wrapping_add(packet.echo))),
            sacks: blocks.iter().map(|Range { from, to }| (wrap(*from), wrap(*to))).collect(),
            ..Header::default()
        };
        let at = self.peer.now();
        self.peer.inject(&header)?;
        let took = self.peer.now().saturating_sub(at);
        self.recording.blur = self.recording.blur.max(took);
        self.begin_step(nanos(at), nanos(took), Some(packet));
        Ok(())
    }

    /// The kernel has worked through an event: what it is like now, and what it sent.
    fn begin_step(&mut self, at: u64, took: u64, ack: Option<AckPacket>) {
        let info = self.peer.info_at_once();
        let field = |name| info.as_ref().and_then(|info| info.field(name)).unwrap_or(-1);
        let state = State {
            cwnd: field("snd_cwnd"),
            ssthresh: field("snd_ssthresh"),
            phase: field("ca_state"),
            lost: field("lost"),
            sacked: field("sacked"),
            retrans: field("retrans"),
            seen: field("reord_seen") > 0,
            degree: field("reordering"),
        };
        let mut sent = Vec::new();
        while let Some((at, header)) = self.peer.receive(Duration::ZERO) {
            sent.extend(self.left(at, &header));
        }
        self.recording.steps.push(Step { at, took, ack, state, sent, later: Vec::new() });
    }

    /// A segment of the kernel enters the path.
    fn left(&mut self, at: Duration, header: &Header) -> Option<Left> {
        let (stamp, _) = header.stamps?;
        if header.len == 0 {
            return None;
        }
        self.note_stamp(at, stamp);
        let from = u64::from(header.seq.wrapping_sub(self.isn).wrapping_sub(1));
        let (at, len) = (nanos(at), header.len);
        let due = Due::Arrives { from, len, stamp: stamp.wrapping_sub(self.stamp) };
        match self.links.0.offer(at, len + HEADER) {
            Fate::Deliver { at, .. } => self.schedule(at, due),
            Fate::Duplicate { at, again, .. } => {
                self.schedule(at, due);
                self.schedule(again, due);
            }
            Fate::Drop(_) => {}
        }
        Some(Left { at, stamp: stamp.wrapping_sub(self.stamp), from, len })
    }

    /// A segment with this stamp was read at `at`, not before it left.
    fn note_stamp(&mut self, at: Duration, stamp: u32) {
        let behind = at.as_millis() as i64 - i64::from(stamp.wrapping_sub(self.stamp));
        let shift = &mut self.recording.stamp_shift;
        *shift = if *shift == i64::MIN { behind } else { (*shift).min(behind) };
    }
}

fn nanos(time: Duration) -> u64 {
    time.as_nanos() as u64
}
