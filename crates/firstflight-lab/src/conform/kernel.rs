//! Controllers of the running kernel: a real connection behind an emulated link is traced ACK by
//! ACK, and one of our controllers receives what the kernel learned from each ACK.
//!
//! Nothing that affects decisions is inferred: bytes delivered and lost per ACK, the RTT sample,
//! the packets in flight, and whether the window was the limit are the kernel's own. Two things are
//! inferred: when data left (with the ACK before it) and which transmission an ACK covers (the
//! oldest in flight). Losses that a timer finds within a recovery count with the preceding ACK.
//! Windows are bytes, segments of the kernel times its segment size.

use super::judge::{Judge, Seen, Verdict};
use crate::arms::NamedArm;
use crate::scenario::Scenario;
use firstflight::event::{Congestion, Ready, Timeout, Transport};
use firstflight::{
    Ack, AckDetail, AnyController, Arm, Begin, Config, Event, Nanos, Sent, Seq, SoFar, Time,
};
use firstflight_linux::LinkOptions;
use firstflight_linux::kernel::{ARMS, AckRecord, KernelArm, Noted, Traced};
use firstflight_linux::trial::{self, SocketOptions, Source, Trial};
use firstflight_path::Error;
use std::time::Duration;

/// The kernel's value for a threshold that was never set.
const UNSET_SSTHRESH: u32 = 0x7fff_ffff;
/// States of a socket: see [`Noted::State`].
const REDUCED: u8 = 2;
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;

/// The controller of ours that runs in the kernel under this name after `kernel:`.
fn ours(name: &str) -> Option<&'static KernelArm> {
    ARMS.iter().find(|arm| {
        arm.name == name
            || arm.kernel_name == name
            || arm.name.strip_prefix("kernel:") == Some(name)
    })
}

/// Our counterpart of a kernel controller, for comparison by default; `None` if there is none. All
/// counterparts use the kernel's CUBIC, and its recovery unless they have their own.
pub(super) fn counterpart(name: &str) -> Option<String> {
    const AVOIDANCE: &str = "cubic(profile=linux)";
    const RECOVERY: &str = "prr(mode=linux)";
    match name {
        "reno" => return Some(format!("slowstart/reno(profile=linux)/{RECOVERY}")),
        "cubic" => return Some(format!("hystart/{AVOIDANCE}/{RECOVERY}")),
        "cubic(hystart=off)" => return Some(format!("slowstart/{AVOIDANCE}/{RECOVERY}")),
        _ => {}
    }
    let kernels = ours(name)?;
    let arm = Arm::parse(kernels.name).ok()?;
    let startup = arm.to_string();
    let startup = startup.split('/').next()?;
    Some(if kernels.own_recovery {
        // K5: the kernel does not report retransmissions that were lost again.
        let recovery = arm.recovery.to_string();
        let recovery = match recovery.strip_suffix(')') {
            Some(open) => format!("{open},lost=ignore)"),
            None if recovery == "halving" => recovery,
            None => format!("{recovery}(lost=ignore)"),
        };
        format!("{startup}/{AVOIDANCE}/{recovery}")
    } else {
        format!("{startup}/{AVOIDANCE}/{RECOVERY}")
    })
}

/// Runs a real connection with the kernel controller `name` (as in `kernel:NAME`); `against`
/// receives what the kernel learned.
///
/// # Errors
/// A one-line message if the scenario cannot run: missing privilege, no such controller, or a trace
/// with gaps.
pub(super) fn beside(
    name: &str,
    against: &NamedArm,
    scenario: &Scenario,
    seed: u64,
    judge: Judge,
) -> Result<Verdict, Error> {
    let refused = |error: Error| Error::new(format!("controller `kernel:{name}`: {error}"));
    let arm = *against.arm()?;
    let known = ours(name).map_or_else(|| format!("kernel:{name}"), |arm| arm.name.to_owned());
    let traced = Traced::load(&known).map_err(refused)?;
    let trial = Trial {
        receiver: &scenario.receiver,
        path: &scenario.path,
        options: LinkOptions { seed, path_index: scenario.path_index, ..LinkOptions::default() },
        bytes: scenario.bytes,
        source: Source::Controller(traced.arm().kernel_name, SocketOptions::default()),
        limit: Duration::from_nanos(scenario.limit.0),
    };
    let measured = trial::run(&trial, |_| {}).map_err(refused)?;
    if !measured.complete {
        return Err(refused(Error::new("the connection did not end in time")));
    }
    let mut records = Vec::new();
    traced.take(|record| records.push(record)).map_err(refused)?;
    verdict(&records, traced.arm(), arm, scenario, judge.over(Transport::Tcp))
        .ok_or_else(|| refused(Error::new("the trace has no connection")))
}

/// The first connection of a trace compared with `arm`; `None` if there is none.
fn verdict(
    records: &[AckRecord],
    kernels: &KernelArm,
    arm: Arm,
    scenario: &Scenario,
    judge: Judge,
) -> Option<Verdict> {
    let begun = records.iter().position(|record| record.noted == Noted::Begun)?;
    let first = &records[begun];
    let mut reader = Reader::begin(first, kernels, arm, scenario, judge)?;
    records[begun + 1..]
        .iter()
        .filter(|record| record.socket == first.socket)
        .for_each(|record| reader.take(record));
    Some(reader.judge.verdict())
}

/// The kernel's knowledge so far, in the core's terms.
struct Reader {
    judge: Judge,
    core: AnyController,
    mss: u64,
    /// The kernel's time at the start, microseconds.
    origin_us: u64,
    una: u64,
    srtt: Option<Nanos>,
    sent: u64,
    /// In flight after the last event, plus packets sent since then.
    pipe: u32,
    /// The last record, whose outcome is in the next record.
    last: AckRecord,
    /// Changes in the last record.
    news: News,
}

/// Changes between two records.
#[derive(Clone, Copy, Default)]
struct News {
    /// Packets delivered.
    acked: u32,
    /// Packets found lost.
    lost: u32,
    /// Whether the oldest unacknowledged byte moved.
    advanced: bool,
    /// Whether something was sent.
    sent: bool,
}

impl Reader {
    /// Starts on an established connection, including what the startup does to the first window.
    fn begin(
        first: &AckRecord,
        kernels: &KernelArm,
        arm: Arm,
        scenario: &Scenario,
        judge: Judge,
    ) -> Option<Reader> {
        const INITIAL_WINDOW: u64 = 10;
        let (now, mss) = (Time(0), u64::from(first.mss));
        if mss == 0 {
            return None;
        }
        let config = firstflight::with!(Config {
            initial_window: INITIAL_WINDOW * mss,
            paced: first.paced,
            max_burst: u64::from(first.gso_max_size),
            ..Config::tcp(mss)
        });
        let begin = Begin {
            now,
            arm,
            config: arm.configure(config),
            nxt: Seq(0),
            oracle_exit: scenario.oracle_exit(),
        };
        let rtt = (first.srtt_x8 > 0).then(|| srtt(first));
        let mut core = begin.controller();
        // If recovery is the kernel's, the handshake affects a controller only through the smoothed
        // RTT.
        if let Some(rtt) = rtt {
            if kernels.own_recovery {
                core.tell(&Event::HandshakeRtt { now, rtt });
            } else {
                core.recall_rtt(rtt);
            }
        }
        let backlog = scenario.bytes;
        core.tell(&Event::Ready(Ready { now, backlog, srtt: rtt, ..Ready::default() }));
        let mut reader = Reader {
            judge,
            core,
            mss,
            origin_us: first.at_us,
            una: 0,
            srtt: rtt,
            sent: 0,
            pipe: 0,
            last: *first,
            news: News::default(),
        };
        reader.judge.begin(&reader.core, reader.seen(first));
        Some(reader)
    }

    fn seen(&self, record: &AckRecord) -> Seen {
        let ssthresh = Some(record.ssthresh).filter(|ssthresh| *ssthresh < UNSET_SSTHRESH);
        Seen {
            cwnd: self.bytes(record.cwnd),
            ssthresh: ssthresh.map(|packets| self.bytes(packets)),
        }
    }

    fn time(&self, record: &AckRecord) -> Time {
        Time(record.at_us.saturating_sub(self.origin_us) * 1_000)
    }

    fn bytes(&self, packets: u32) -> u64 {
        u64::from(packets) * self.mss
    }

    /// Passes the event to our controller and compares it with theirs.
    fn tell(&mut self, event: &Event, theirs: &AckRecord) {
        self.core.tell(event);
        let event = match event {
            Event::Ack(ack, _) => Event::Ack(*ack, *self.core.so_far()),
            other => *other,
        };
        self.judge.step(&event, &self.core, self.seen(theirs));
    }

    fn take(&mut self, record: &AckRecord) {
        // A state change caused by an ACK is part of the ACK; a timer has its own time.
        let of_ack = matches!(record.noted, Noted::State(_))
            && self.last.noted == Noted::Acked
            && record.at_us == self.last.at_us;
        let of_no_loss = matches!(record.noted, Noted::State(..RECOVERY));
        if of_ack || of_no_loss {
            return;
        }
        let last = self.last;
        match last.noted {
            Noted::Acked => self.acked(&last, record),
            Noted::State(to) => self.timer(&last, to, record),
            Noted::Begun => {}
        }
        self.leaves(&last, record);
        let moved = record.una.wrapping_sub(last.una);
        self.news = News {
            acked: record.delivered.wrapping_sub(last.delivered),
            lost: record.lost.wrapping_sub(last.lost),
            advanced: moved > 0,
            sent: record.sent != last.sent,
        };
        self.una += u64::from(moved);
        if record.noted == Noted::Acked {
            self.srtt = Some(srtt(record));
        }
        self.last = *record;
    }

    /// Handles the ACK of `record`, whose outcome is in `next`.
    fn acked(&mut self, record: &AckRecord, next: &AckRecord) {
        let now = self.time(record);
        // Losses found by a timer open its recovery.
        let lost = match next.noted {
            Noted::Acked | Noted::Begun => next.lost.wrapping_sub(record.lost),
            Noted::State(_) => 0,
        };
        // Only an undo raises a threshold.
        if next.ssthresh > record.ssthresh && record.state >= REDUCED {
            self.core.tell(&Event::Spurious { now });
        }
        let inflight = record.pipe().saturating_sub(lost);
        let oldest = self.sent.checked_sub(u64::from(inflight) + 1);
        let News { acked, advanced, sent, .. } = self.news;
        let mut detail = AckDetail::default();
        detail.receiver_ts = record.receiver_ts;
        let ack = Ack {
            now,
            acked: self.bytes(acked),
            acked_fresh: self.bytes(acked),
            lost: self.bytes(lost),
            rtt: record.rtt_us.map(|us| Nanos::from_micros(u64::from(us))),
            inflight_before: self.bytes(self.pipe),
            inflight: self.bytes(inflight),
            tx_acked: oldest.filter(|_| acked > 0),
            tx_lost: oldest.filter(|_| lost > 0),
            // The kernel keeps the flag for a round, and so does the core by itself: only the
            // result of the last send is new.
            cwnd_limited: record.limited && sent,
            app_limited: record.app_limited,
            detail,
            ..self.situation(record)
        };
        self.pipe = inflight;
        if ack.acked > 0 || ack.lost > 0 || advanced {
            self.tell(&Event::Ack(ack, SoFar::default()), next);
        }
    }

    /// Handles a timer that moved the socket to the state `to`, with its outcome in `next`.
    fn timer(&mut self, record: &AckRecord, to: u8, next: &AckRecord) {
        let now = self.time(record);
        let inflight_before = self.bytes(self.pipe);
        self.pipe = record.pipe();
        let event = if to == LOSS {
            let again = record.state == LOSS;
            Event::Congestion(Congestion {
                now,
                timeout: if again { Timeout::RtoAgain } else { Timeout::Rto },
                nxt: self.situation(record).nxt,
                inflight_before,
            })
        } else {
            let ack = Ack {
                now,
                lost: self.bytes(self.news.lost),
                inflight_before,
                inflight: self.bytes(self.pipe),
                tx_lost: self.sent.checked_sub(1),
                ..self.situation(record)
            };
            Event::Ack(ack, SoFar::default())
        };
        self.tell(&event, next);
    }

    /// Handles data sent between two records.
    fn leaves(&mut self, last: &AckRecord, record: &AckRecord) {
        let more = record.sent.wrapping_sub(last.sent);
        if more == 0 {
            return;
        }
        self.sent += u64::from(more);
        self.pipe += more;
        let event = Event::Sent(Sent {
            now: self.time(last),
            bytes: self.bytes(more),
            nxt: Seq(self.una + u64::from(record.nxt.wrapping_sub(last.una))),
            inflight: self.bytes(self.pipe),
            srtt: self.srtt,
        });
        self.tell(&event, record);
    }

    /// The part of an ACK that does not depend on the changes.
    fn situation(&self, record: &AckRecord) -> Ack {
        let flight = u64::from(record.nxt.wrapping_sub(record.una));
        Ack {
            srtt: self.srtt,
            una: Seq(self.una),
            nxt: Seq(self.una + flight),
            flight,
            sacked: self.bytes(record.sacked_out),
            sent: self.sent * self.mss,
            tx_next: self.sent,
            cwnd_limited: true,
            ..Ack::blank(self.time(record))
        }
    }
}

fn srtt(record: &AckRecord) -> Nanos {
    Nanos(u64::from(record.srtt_x8) * 125)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_controller_of_ours_in_the_kernel_has_a_counterpart_that_is_an_arm() {
        for arm in ARMS {
            let name = arm.name.strip_prefix("kernel:").unwrap_or(arm.name);
            let text = counterpart(name).unwrap_or_else(|| panic!("{name} has a counterpart"));
            assert!(Arm::parse(&text).is_ok(), "{name}: `{text}` is an arm");
        }
        assert_eq!(counterpart("bbr"), None, "nothing of ours is like the kernel's BBR");
    }
}
