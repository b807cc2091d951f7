//! An adaptive media sender: an encoder, the buffer that paces its packets, and a receiver that
//! sends reports, connected by NADA's arithmetic ([`crate::nada`], RFC 8698).
//!
//! The encoder produces 30 frames per second and cuts them into packets of 1000 bytes; if the rate
//! yields less than a packet per frame time, it skips frames. The receiver reports every 100 ms. A
//! report travels with the acknowledgement of the next packet that arrives, so it takes the return
//! path. Losses show as gaps in the packet numbers. The transport retransmits lost data in packets
//! that are sent in addition to the encoder's.

use crate::nada::{DELTA, FPS, LOGWIN, LossIntervals, Nada, Params, QEPS, Report};
use firstflight::{Nanos, Time};
use std::collections::VecDeque;

/// IP bytes of a media packet.
pub const PACKET: u64 = 1_000;
/// Number of packets for the minimum filter of the delay (RFC 8698 section 5.1.1).
const TAPS: usize = 15;
/// `BETA_V` and `BETA_S` (RFC 8698 section 5.2.1): a tenth.
const BETA: u64 = 10;
const SECOND: u64 = 1_000_000_000;

/// Departure time and number of a packet.
#[derive(Clone, Copy, Debug)]
struct Left {
    number: u64,
    at: Time,
}

#[derive(Clone, Copy, Debug)]
struct Arrived {
    number: u64,
    at: Time,
    delay: u64,
    marked: bool,
}

/// The receiver, with its record of the last [`LOGWIN`].
#[derive(Clone, Debug, Default)]
struct Receiver {
    log: VecDeque<Arrived>,
    /// One past the largest packet number so far, and one past the largest before the log.
    end: u64,
    begin: u64,
    base: Option<u64>,
    intervals: LossIntervals,
    /// Delays of the latest [`TAPS`] packets, including those older than the log.
    recent: VecDeque<u64>,
}

impl Receiver {
    fn on_packet(&mut self, packet: Arrived) {
        if packet.number >= self.end {
            self.intervals.on_packet(packet.number > self.end);
            self.end = packet.number + 1;
        }
        // A smaller base raises the delays of earlier packets, so delays are computed when they are
        // read.
        self.base = Some(self.base.map_or(packet.delay, |base| base.min(packet.delay)));
        if self.recent.len() == TAPS {
            self.recent.pop_front();
        }
        self.recent.push_back(packet.delay);
        self.log.push_back(packet);
    }

    fn report(&mut self, now: Time) -> Option<Report> {
        while let Some(first) = self.log.front().filter(|first| now.since(first.at) > LOGWIN) {
            self.begin = self.begin.max(first.number + 1);
            self.log.pop_front();
        }
        let base = self.base?;
        let queueing = Nanos(self.recent.iter().min()? - base);
        let new = self.log.iter().filter(|packet| packet.number >= self.begin);
        let (arrived, packets) = (new.count() as u64, self.end - self.begin);
        let count = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        Some(Report {
            queueing,
            quiet: self.log.iter().all(|packet| packet.delay - base < QEPS.0),
            packets: count(packets),
            lost: count(packets.saturating_sub(arrived)),
            marked: count(self.log.iter().filter(|packet| packet.marked).count() as u64),
            received: self.log.len() as u64 * PACKET * 8 * SECOND / LOGWIN.0,
            since_loss: self.intervals.since_loss(),
        })
    }
}

/// A report on its way.
#[derive(Clone, Copy, Debug)]
struct Sent {
    report: Report,
    /// Departure time of its newest packet, and the time since that packet arrived.
    newest_left: Time,
    held: Nanos,
    /// The sender receives it with the first acknowledgement that covers more packets than this.
    behind: u64,
}

/// Both ends of a media flow.
#[derive(Clone, Debug)]
pub(crate) struct Media {
    nada: Nada,
    params: Params,
    start: Time,
    /// Frames are written before this.
    end: Time,
    frames: u64,
    ticks: u64,
    /// Bits that the encoder may still produce, times [`FPS`].
    credit: u64,
    /// Packets written but not yet passed to the transport.
    waiting: u64,
    release: Time,
    left: VecDeque<Left>,
    arrived: u64,
    newest: Option<(Time, Time)>,
    receiver: Receiver,
    reports: VecDeque<Sent>,
}

/// The next action that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The encoder has a frame of this many packets.
    Frame(u64),
    /// A packet is passed to the transport.
    Release,
}

impl Media {
    pub(crate) fn new(params: Params, run: Nanos, start: Time) -> Media {
        Media {
            nada: Nada::new(params),
            params: params.bounded(),
            start,
            end: start + run,
            frames: 0,
            ticks: 0,
            credit: 0,
            waiting: 0,
            release: start,
            left: VecDeque::new(),
            arrived: 0,
            newest: None,
            receiver: Receiver::default(),
            reports: VecDeque::new(),
        }
    }

    fn next_frame(&self) -> Option<Time> {
        let at = self.start + Nanos(self.frames * SECOND / FPS);
        (at < self.end).then_some(at)
    }

    fn next_tick(&self) -> Option<Time> {
        let at = self.start + DELTA * (self.ticks + 1);
        (at < self.end).then_some(at)
    }

    fn next_release(&self) -> Option<Time> {
        (self.waiting > 0).then_some(self.release)
    }

    /// The time of its next action; `None` when its time is over and all packets have left.
    pub(crate) fn next(&self) -> Option<Time> {
        let all = [self.next_frame(), self.next_tick(), self.next_release()];
        all.into_iter().flatten().min()
    }

    /// Whether nothing more will come.
    pub(crate) fn is_over(&self) -> bool {
        self.next_frame().is_none() && self.waiting == 0
    }

    /// Bits per second that the waiting packets need in addition to the rate (RFC 8698 section
    /// 5.2.1).
    fn pressure(&self) -> u64 {
        8 * PACKET * self.waiting * FPS / BETA
    }

    /// Performs one action that is due at `now`.
    pub(crate) fn step(&mut self, now: Time) -> Option<Step> {
        while self.next_tick().is_some_and(|at| at <= now) {
            self.ticks += 1;
            self.report(now);
        }
        if self.next_frame().is_some_and(|at| at <= now) {
            self.frames += 1;
            let rate = self.nada.rate().saturating_sub(self.pressure()).max(self.params.min);
            self.credit += rate;
            let packet = 8 * PACKET * FPS;
            let packets = self.credit / packet;
            self.credit %= packet;
            if self.waiting == 0 {
                self.release = self.release.max(now);
            }
            self.waiting += packets;
            return Some(Step::Frame(packets));
        }
        if self.next_release().is_some_and(|at| at <= now) {
            let rate = (self.nada.rate() + self.pressure()).min(self.params.max);
            self.waiting -= 1;
            self.release = now + Nanos(8 * PACKET * SECOND / rate);
            return Some(Step::Release);
        }
        None
    }

    fn report(&mut self, now: Time) {
        let Some((left, arrived)) = self.newest else { return };
        if let Some(report) = self.receiver.report(now) {
            let held = now.since(arrived);
            self.reports.push_back(Sent { report, newest_left: left, behind: self.arrived, held });
        }
    }

    /// The sender knows that this many packets have arrived.
    pub(crate) fn on_heard(&mut self, now: Time, heard: u64) {
        while let Some(sent) = self.reports.front().filter(|sent| sent.behind < heard).copied() {
            self.reports.pop_front();
            let rtt = Nanos(now.since(sent.newest_left).0.saturating_sub(sent.held.0));
            self.nada.on_report(now, rtt, &sent.report);
        }
    }

    pub(crate) fn on_sent(&mut self, now: Time, number: u64) {
        self.left.push_back(Left { number, at: now });
    }

    /// A packet has arrived at the receiver.
    pub(crate) fn on_arrived(&mut self, now: Time, number: u64, marked: bool) {
        self.arrived += 1;
        let Ok(place) = self.left.binary_search_by_key(&number, |left| left.number) else { return };
        let left = self.left[place];
        let delay = now.since(left.at).0;
        self.newest = Some((left.at, now));
        self.receiver.on_packet(Arrived { number, at: now, delay, marked });
        // Packets that left many seconds ago are lost or too late to matter.
        while self.left.front().is_some_and(|old| now.since(old.at).0 > 100 * SECOND) {
            self.left.pop_front();
        }
    }
}
