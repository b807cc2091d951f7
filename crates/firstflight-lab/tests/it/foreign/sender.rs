//! A QUIC sender driven by a table: packets by number, and the records that a transport would make
//! of their fates.

use super::drive::Value;
use super::subject::{Words, amount, amount_or_none, arm, number, word, yes};
use firstflight::signal::rtt::Rfc9002Rtt;
use firstflight::{Ack, AnyController, Config, Congestion, Nanos, Ready, Sent, Seq, Time, Timeout};
use std::collections::BTreeSet;

#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Flying,
    Acked,
    Lost,
}

struct Packet {
    sent: Time,
    bytes: u64,
    fate: Fate,
}

pub(super) struct Sender {
    c: AnyController,
    pub mss: u64,
    now: Time,
    packets: Vec<Packet>,
    /// The oldest packet that may still be in flight.
    oldest: usize,
    inflight: u64,
    sent: u64,
    /// The largest acknowledged packet and one.
    una: u64,
    /// Every sample, if the row sets it; otherwise samples follow from the times of sending.
    rtt: Option<Nanos>,
    estimator: Rfc9002Rtt,
    /// The window stopped the sender since the last ACK.
    limited: bool,
    idle_since: Option<Time>,
    /// Packets lost in the last episode and not acknowledged since.
    lost: BTreeSet<usize>,
    /// Packets that the last `fill` sent.
    filled: u64,
}

impl Sender {
    pub(super) fn new(words: &Words<'_>) -> Result<Sender, String> {
        let mss = words.need("mss", 1)?;
        let base = Config::quic(mss);
        let initial_window = words.number("iw", mss)?.unwrap_or(base.initial_window);
        let paced = words.key("paced") != Some("no");
        let now = Time(1_000_000_000);
        let c = arm(words.plain(0).ok_or("which arm?")?)?.with_oracle(100 * mss).controller(
            firstflight::with!(Config { initial_window, paced, ..base }),
            now,
            Seq(0),
        );
        Ok(Sender {
            c,
            mss,
            now,
            packets: Vec::new(),
            oldest: 0,
            inflight: 0,
            sent: 0,
            una: 0,
            rtt: None,
            estimator: Rfc9002Rtt::default(),
            limited: false,
            idle_since: None,
            lost: BTreeSet::new(),
            filled: 0,
        })
    }

    fn nxt(&self) -> Seq {
        Seq(self.packets.len() as u64)
    }

    fn send(&mut self, bytes: u64) {
        self.c.before_send(&Ready {
            now: self.now,
            nxt: self.nxt(),
            inflight: self.inflight,
            backlog: u64::MAX,
            srtt: self.estimator.srtt(),
            idle: self.idle_since.map_or(Nanos::ZERO, |since| self.now.since(since)),
            timeout: Nanos::from_secs(1),
        });
        self.idle_since = None;
        self.packets.push(Packet { sent: self.now, bytes, fate: Fate::Flying });
        self.inflight += bytes;
        self.sent += bytes;
        self.c.on_sent(&Sent {
            now: self.now,
            bytes,
            nxt: self.nxt(),
            inflight: self.inflight,
            srtt: self.estimator.srtt(),
        });
        self.limited |= !self.c.admits(self.mss, self.inflight);
    }

    fn take_out(&mut self, index: usize, fate: Fate) -> u64 {
        let packet = &mut self.packets[index];
        let was = std::mem::replace(&mut packet.fate, fate);
        let bytes = if was == Fate::Flying { packet.bytes } else { 0 };
        self.inflight -= bytes;
        if self.inflight == 0 && bytes > 0 {
            self.idle_since = Some(self.now);
        }
        bytes
    }

    /// Numbers: `3` is the three oldest in flight, `all` is all of them, `4..6` are the packets 4, 5
    /// and 6, `last` is the newest.
    fn chosen(&mut self, text: &str) -> Result<Vec<usize>, String> {
        if text == "last" {
            return Ok(vec![self.packets.len() - 1]);
        }
        if let Some((first, last)) = text.split_once("..") {
            let (first, last) = (number(first, 1)? as usize, number(last, 1)? as usize);
            if last >= self.packets.len() {
                return Err(format!("packet {last} was not sent"));
            }
            return Ok((first..=last).collect());
        }
        let flying = |packet: &Packet| packet.fate == Fate::Flying;
        let many = if text == "all" {
            self.packets.iter().filter(|packet| flying(packet)).count()
        } else {
            number(text, 1)? as usize
        };
        while self.packets.get(self.oldest).is_some_and(|packet| !flying(packet)) {
            self.oldest += 1;
        }
        let indices: Vec<usize> = (self.oldest..self.packets.len())
            .filter(|&index| flying(&self.packets[index]))
            .take(many)
            .collect();
        if indices.len() < many {
            return Err(format!("only {} packets are in flight", indices.len()));
        }
        Ok(indices)
    }

    /// One ACK, or the loss timer if nothing is acknowledged.
    fn tell(&mut self, acked: &[usize], lost: &[usize], ce: bool) {
        let inflight_before = self.inflight;
        let mark = self.c.recovery_mark();
        let mut ack = Ack { inflight_before, ce, ..Ack::blank(self.now) };
        for &index in acked {
            let late = self.packets[index].fate == Fate::Lost;
            let bytes = self.take_out(index, Fate::Acked);
            ack.acked += bytes;
            if mark.is_none_or(|mark| index as u64 >= mark.0) {
                ack.acked_fresh += bytes;
            }
            if late && self.lost.remove(&index) && self.lost.is_empty() {
                self.c.on_spurious();
            }
        }
        ack.flight = self.inflight;
        for &index in lost {
            ack.lost += self.take_out(index, Fate::Lost);
        }
        if let Some(&largest) = acked.iter().max() {
            let passed = largest as u64 + 1;
            self.una = self.una.max(passed);
            ack.tx_acked = Some(largest as u64);
            let sample = self.rtt.unwrap_or_else(|| self.now.since(self.packets[largest].sent));
            if sample > Nanos::ZERO {
                self.estimator.on_sample(sample, Nanos::ZERO, None);
                ack.rtt = Some(sample);
            }
        }
        ack.srtt = self.estimator.srtt();
        (ack.una, ack.nxt) = (Seq(self.una), self.nxt());
        ack.inflight = self.inflight;
        ack.sent = self.sent;
        ack.tx_lost = lost.iter().max().map(|index| *index as u64);
        ack.tx_next = self.packets.len() as u64;
        ack.cwnd_limited = self.limited;
        ack.app_limited = !self.limited;
        let episodes = self.c.stats().loss_episodes;
        self.c.on_ack(&ack);
        if self.c.stats().loss_episodes != episodes {
            self.lost.clear();
        }
        self.lost.extend(lost);
        if !acked.is_empty() {
            self.limited = !self.c.admits(self.mss, self.inflight);
        }
    }

    pub(super) fn step(&mut self, name: &str, words: &Words<'_>) -> Result<(), String> {
        let first = words.plain(0).unwrap_or_default();
        let mss = self.mss;
        match name {
            "wait" => self.now += Nanos(number(first, mss)?),
            "rtt" => self.rtt = Some(Nanos(number(first, mss)?)),
            "handshake" => {
                let rtt = Nanos(number(first, mss)?);
                self.estimator.on_sample(rtt, Nanos::ZERO, None);
                self.c.on_handshake_rtt(self.now, rtt);
            }
            "send" => {
                let bytes = words.after("of").map_or(Ok(mss), |text| number(text, mss))?;
                (0..number(first, 1)?).for_each(|_| self.send(bytes));
            }
            "fill" => {
                self.filled = 0;
                while self.c.admits(mss, self.inflight) {
                    self.send(mss);
                    self.filled += 1;
                }
                self.limited = true;
            }
            "ack" => {
                let acked = self.chosen(first)?;
                let lost = match words.after("lose") {
                    Some(text) => self.chosen(text)?,
                    None => Vec::new(),
                };
                self.tell(&acked, &lost, words.has("ce"));
            }
            "acks" => {
                for index in self.chosen(first)? {
                    self.tell(&[index], &[], false);
                }
            }
            "lose" => {
                let lost = self.chosen(first)?;
                self.tell(&[], &lost, false);
            }
            "persistent" => self.c.on_congestion(&Congestion {
                now: self.now,
                timeout: Timeout::PersistentCongestion,
                nxt: self.nxt(),
                inflight_before: self.inflight,
            }),
            "mss" => {
                self.mss = number(first, 1)?;
                self.c.set_mss(self.mss);
            }
            _ => return Err("is no step of a sender".to_owned()),
        }
        Ok(())
    }

    pub(super) fn field(&self, name: &str) -> Option<Value> {
        Some(match name {
            "cwnd" => amount(self.c.cwnd()),
            "ssthresh" => amount_or_none(self.c.ssthresh()),
            "inflight" => amount(self.inflight),
            "phase" => word(self.c.phase().name()),
            "recovery" => yes(self.c.in_recovery()),
            "episodes" => amount(u64::from(self.c.stats().loss_episodes)),
            "undone" => amount(u64::from(self.c.stats().undone)),
            "exit" => word(self.c.exit().map_or("none", |exit| exit.reason.name())),
            "filled" => amount(self.filled),
            "admits" => yes(self.c.admits(self.mss, self.inflight)),
            "rate" => amount_or_none(self.c.pacing_rate().map(|rate| rate.0)),
            _ => {
                let mut found = None;
                self.c.signals(&mut |signal, value| {
                    if signal == name {
                        found = Some(amount(value));
                    }
                });
                return found;
            }
        })
    }
}
