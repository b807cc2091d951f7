//! The simulator's TCP sender as the host of a script.

use super::expression::Info;
use super::player::{Host, Player, Refusal, Sent};
use super::script::{Script, Segment, Unplayable, What};
use super::settings::Settings;
use super::verdict::Played;
use firstflight::detection::presets::{Bounds, Marking, Preset, Probe};
use firstflight::detection::{Episode, Flags, Id, Scoreboard, dupack};
use firstflight::startup::AnyStartup;
use firstflight::{AnyController, Arm, Config, Nanos, Seq, Time};
use firstflight_sim::tcp::{self, AckPacket, BLOCKS, Buffer, Range, Sender};
use std::collections::VecDeque;

/// The largest segment size of an Ethernet path with IPv4.
const ETHERNET_MSS: u32 = 1460;
/// Bytes of a timestamp option, padded.
const STAMP_BYTES: u32 = 12;
/// Maximum number of segments that a script sends; a sender that exceeds this is broken.
const MOST_SEGMENTS: usize = 1_000_000;

/// Facts about the handshake.
#[derive(Clone, Debug, Default)]
struct Handshake {
    /// The SYN of the script's end.
    peer: Option<Segment>,
    /// Time and content of the SYN of our end.
    ours: Option<(u64, Segment)>,
    max_segment: Option<u32>,
}

struct Simulated<'a> {
    arm: &'a Arm,
    settings: &'a Settings,
    now: u64,
    handshake: Handshake,
    sender: Option<Sender<AnyStartup>>,
    mss: u64,
    scale: u8,
    /// Milliseconds of our clock minus the script's timestamps.
    stamp_shift: Option<i64>,
    object: u64,
    written: u64,
    no_delay: bool,
    marks: u32,
    sent: VecDeque<Sent>,
}

/// Plays a script against the simulator's sender with this arm.
pub fn play(script: &Script, arm: &Arm) -> Played {
    Player::new(script, Simulated::new(script, arm)).play()
}

/// The script with the responses of this arm filled in: every segment sent, and the window after
/// each event. The script's own expectations and statements are left out.
///
/// # Errors
/// The line that cannot be played, and the reason.
pub fn record(script: &Script, arm: &Arm) -> Result<String, Unplayable> {
    Player::new(script, Simulated::new(script, arm)).record(&arm.to_string())
}

impl<'a> Simulated<'a> {
    fn new(script: &'a Script, arm: &'a Arm) -> Simulated<'a> {
        let bytes = script.steps.iter().map(|step| match step.what {
            What::Write(bytes) => bytes,
            _ => 0,
        });
        Simulated {
            arm,
            settings: &script.settings,
            now: 0,
            handshake: Handshake::default(),
            sender: None,
            mss: 0,
            scale: 0,
            stamp_shift: None,
            object: bytes.fold(0u64, u64::saturating_add).clamp(1, 1 << 40),
            written: 0,
            no_delay: false,
            marks: 0,
            sent: VecDeque::new(),
        }
    }

    /// Creates the sender when the handshake is complete.
    fn establish(&mut self, segment: &Segment) -> Result<(), Refusal> {
        let lacks = |why: &str| Err(Refusal::Lacks(why.to_owned()));
        let (Some(peer), Some((at, ours))) = (&self.handshake.peer, &self.handshake.ours) else {
            return lacks("data before a handshake is not modelled");
        };
        let settings = self.settings;
        let both = |a: bool, b: bool| a && b;
        let stamps = both(peer.stamps.is_some(), settings.timestamps);
        let sack = both(peer.sack_ok, settings.sack);
        let preset = preset(settings, sack);
        let mss = peer.mss.unwrap_or(536).min(ETHERNET_MSS);
        let mss = self.handshake.max_segment.map_or(mss, |most| mss.min(most));
        let mss = mss.saturating_sub(if stamps { STAMP_BYTES } else { 0 });
        if mss < 8 {
            return lacks("a segment size below 8 bytes");
        }
        self.scale = if ours.scale.is_some() { peer.scale.unwrap_or(0) } else { 0 };
        let scale = if segment.syn { 0 } else { self.scale };
        let window = segment.window.unwrap_or(65_535) << scale;
        self.stamp_shift = ours
            .stamps
            .filter(|_| stamps)
            .map(|(value, _)| (*at / 1_000_000) as i64 - i64::from(value));
        let host = tcp::Host {
            mss,
            receive_buffer: Buffer::Payload(window),
            timestamps: stamps,
            ..tcp::Host::with_preset(preset)
        };
        let config = firstflight::with!(Config {
            idle_restart: settings.restart_after_idle,
            initial_window: 10 * u64::from(mss),
            ..Config::tcp(u64::from(mss))
        });
        let now = Time(self.now);
        let controller: AnyController = self.arm.controller(config, now, Seq(0));
        let rtt = Nanos(self.now.saturating_sub(*at)).max(Nanos::from_micros(1));
        let mut sender = Sender::new(host, controller, 2 * u64::from(mss), self.object, rtt, now);
        sender.write(0);
        self.mss = u64::from(mss);
        self.sender = Some(sender);
        Ok(())
    }

    /// An ACK as the simulator's sender reads it; `None` for a segment without one.
    fn acknowledgement(&mut self, segment: &Segment) -> Option<AckPacket> {
        let ack = segment.ack?.saturating_sub(1);
        self.marks += u32::from(segment.ece && !segment.syn);
        let scale = if segment.syn { 0 } else { self.scale };
        let mut blocks = [Range::default(); BLOCKS];
        let offsets = segment
            .sacks
            .iter()
            .map(|&(from, to)| Range { from: from.saturating_sub(1), to: to.saturating_sub(1) });
        let nxt = self.sender.as_ref().map_or(0, |sender| sender.board().nxt());
        let sane = |block: &Range| block.from < block.to && block.to <= nxt;
        let offsets: Vec<Range> = offsets.filter(sane).take(BLOCKS).collect();
        blocks[..offsets.len()].copy_from_slice(&offsets);
        // RFC2883 4: the first block reports a duplicate if it lies below the ACK or in the next.
        let dsack = match offsets[..] {
            [first, ..] if first.to <= ack => true,
            [first, second, ..] => second.covers(first),
            _ => false,
        };
        let (stamp, echo) = segment.stamps.unwrap_or_default();
        let echo = self.stamp_shift.map_or(0, |shift| (i64::from(echo) + shift).max(0) as u32);
        Some(AckPacket {
            ack,
            window: segment.window.unwrap_or(65_535) << scale,
            marks: self.marks,
            stamp,
            echo,
            count: offsets.len() as u8,
            dsack,
            blocks,
        })
    }

    fn next_event(&self) -> Option<u64> {
        let sender = self.sender.as_ref()?;
        let times = [sender.timer_at(), sender.release_at()];
        times.into_iter().flatten().map(|time| time.0).min()
    }

    /// Processes all events up to `until` that need no input.
    fn advance(&mut self, until: u64) {
        while let Some(next) = self.next_event().filter(|&next| next <= until) {
            if self.sent.len() > MOST_SEGMENTS {
                break;
            }
            self.now = next.max(self.now);
            let now = Time(self.now);
            if let Some(sender) = &mut self.sender
                && sender.timer_at().is_some_and(|at| at <= now)
            {
                sender.on_timer(now);
            }
            self.pump();
            // Avoids an endless loop if the sender waits for a time in the past.
            if self.next_event().is_some_and(|again| again <= self.now && again == next) {
                self.now += 1;
            }
        }
        self.now = until.max(self.now);
    }

    /// Sends as much as window, pacer and data allow.
    fn pump(&mut self) {
        let Some(sender) = &mut self.sender else { return };
        let now = Time(self.now);
        loop {
            // Nagle: a small segment waits while anything is unacknowledged.
            let (una, nxt) = (sender.una(), sender.board().nxt());
            let small = self.written.saturating_sub(nxt) % self.mss;
            let held = !self.no_delay && (nxt > una || self.written - nxt > small);
            sender.write(if held { self.written - small } else { self.written });
            let Some(left) = sender.poll(now) else { break };
            let from = left.segment.from;
            let to = from + u64::from(left.segment.len);
            self.sent.push_back(Sent { at: self.now, from, to });
            if self.sent.len() > MOST_SEGMENTS {
                break;
            }
        }
    }
}

impl Host for Simulated<'_> {
    const REAL_TIME: bool = false;

    fn wait(&mut self, until: u64) {
        self.advance(until);
    }

    fn wait_for_data(&mut self, deadline: u64) {
        while self.sent.is_empty()
            && let Some(next) = self.next_event().filter(|&next| next <= deadline)
        {
            self.advance(next.max(self.now));
        }
    }

    fn sent(&mut self) -> &mut VecDeque<Sent> {
        &mut self.sent
    }

    fn expect_syn(&mut self, now: u64, segment: &Segment, _deadline: u64) -> Result<(), Refusal> {
        // SYNs are never retransmitted here: the first one is the sender's.
        self.handshake.ours.get_or_insert((now, segment.clone()));
        Ok(())
    }

    fn inject(&mut self, now: u64, segment: &Segment) -> Result<(), Refusal> {
        self.now = now.max(self.now);
        if segment.syn {
            if self.sender.is_some() {
                return Err(Refusal::Lacks("a second SYN is not modelled".into()));
            }
            self.handshake.peer = Some(segment.clone());
            if segment.ack.is_none() {
                return Ok(());
            }
        }
        if self.sender.is_none() {
            self.establish(segment)?;
        }
        let Some(ack) = self.acknowledgement(segment) else { return Ok(()) };
        if let Some(sender) = &mut self.sender {
            let nxt = sender.board().nxt();
            if ack.ack > nxt {
                let (ack, nxt) = (ack.ack + 1, nxt + 1);
                let why = format!("the script acknowledges {ack} where only {nxt} was sent");
                return Err(Refusal::Differs(why));
            }
            sender.on_ack(Time(self.now), &ack);
        }
        self.pump();
        Ok(())
    }

    fn write(&mut self, bytes: u64) -> Result<(), Refusal> {
        self.written = self.written.saturating_add(bytes).min(self.object);
        self.pump();
        Ok(())
    }

    fn no_delay(&mut self, on: bool) -> Result<(), Refusal> {
        self.no_delay = on;
        Ok(())
    }

    fn max_segment(&mut self, mss: u32) -> Result<(), Refusal> {
        self.handshake.max_segment = Some(mss);
        Ok(())
    }

    fn call(&mut self, _text: &str) -> Result<(), Refusal> {
        Ok(())
    }

    fn info(&self) -> Option<impl Info> {
        self.sender.as_ref().map(|sender| shown(sender, self.mss))
    }
}

/// Loss detection of a kernel with these settings.
fn preset(settings: &Settings, sack: bool) -> Preset {
    let named = |name| *Preset::named(name).expect("the table has it");
    let linux = named("rack");
    let base = if sack {
        linux
    } else {
        Preset {
            bounds: Bounds::Linux,
            f_rto: linux.f_rto,
            keep_target: linux.keep_target,
            ..named("reno")
        }
    };
    Preset {
        f_rto: base.f_rto && settings.f_rto,
        probe: if settings.probes { base.probe } else { Probe::None },
        marking: if settings.rack {
            base.marking
        } else {
            Marking::Counting(dupack::Rule::Rfc6675)
        },
        ..base
    }
}

/// The `tcp_info` of a simulated sender with segments of `mss` bytes.
pub fn shown(sender: &Sender<AnyStartup>, mss: u64) -> impl Info {
    View { sender, mss }
}

struct View<'a> {
    sender: &'a Sender<AnyStartup>,
    mss: u64,
}

impl View<'_> {
    /// The window in segments. In a recovery it is the flight plus the segments that may still
    /// leave, as in Linux; there a partial segment counts as a whole one.
    fn cwnd(&self) -> u64 {
        let controller = self.sender.controller();
        let cwnd = controller.cwnd();
        if controller.in_recovery() { cwnd.div_ceil(self.mss) } else { cwnd / self.mss }
    }

    /// Segments whose retransmission is in flight.
    fn repeated(&self) -> i64 {
        let board = self.sender.board();
        let under_way = |id: &Id| {
            let flags = board.flags(*id);
            board.tx_count(*id) > 1 && !flags.has(Flags::SACKED) && !flags.has(Flags::LOST)
        };
        (board.first().0..board.next().0).map(Id).filter(under_way).count() as i64
    }

    fn state(&self) -> i64 {
        match self.sender.episode() {
            Episode::Timeout => 4,
            Episode::Fast => 3,
            Episode::None if self.sender.controller().in_recovery() => 2,
            Episode::None if self.sender.board().ledger().sacked() > 0 => 1,
            Episode::None => 0,
        }
    }
}

impl Info for View<'_> {
    fn value(&self, name: &str) -> Option<i64> {
        let ledger = self.sender.board().ledger();
        let segments = |bytes: u64| bytes.div_ceil(self.mss) as i64;
        let counters = self.sender.counters();
        Some(match name {
            "tcpi_snd_cwnd" => self.cwnd() as i64,
            "tcpi_snd_ssthresh" => match self.sender.controller().ssthresh() {
                Some(bytes) => (bytes / self.mss) as i64,
                None => 0x7fff_ffff,
            },
            "tcpi_ca_state" => self.state(),
            "tcpi_state" => 1,
            "tcpi_unacked" => self.sender.board().segments() as i64,
            "tcpi_sacked" => ledger.sacked_segments() as i64,
            // Linux counts a segment as lost until it is acknowledged, retransmitted or not.
            "tcpi_lost" => segments(ledger.lost()) + self.repeated(),
            "tcpi_retrans" => self.repeated(),
            "tcpi_total_retrans" => counters.retransmissions as i64,
            "tcpi_reordering" => i64::from(self.sender.reordering().degree()),
            // A flag, not a count.
            "tcpi_reord_seen" => i64::from(self.sender.reordering_seen()),
            "tcpi_snd_mss" => self.mss as i64,
            "tcpi_min_rtt" => self.sender.min_rtt().map_or(0, |rtt| (rtt.0 / 1000) as i64),
            _ => return None,
        })
    }
}
