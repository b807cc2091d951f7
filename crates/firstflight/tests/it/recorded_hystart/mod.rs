//! The kernel's CUBIC on every ACK of a connection, and the core's HyStart on the same
//! ACKs. The records were made by a controller that calls the kernel's own functions and notes what
//! they left (`firstflight-linux`, `tests/it/hystart_trace.rs`).
#![allow(dead_code, reason = "each test file uses its part")]

use crate::told::Told;
use firstflight::Config;
use firstflight::event::{Context, SoFar, Timeout, Window};
use firstflight::startup::hystart::{HyStart, Params, linux_rate};
use firstflight::startup::{ExitReason, Startup, Verdict};
use firstflight::units::{Nanos, Seq, Time, UNSET_SSTHRESH};
use std::fmt::Write as _;

/// The kernel's threshold while it was never set.
const NEVER: u32 = 0x7fff_ffff;

/// Kind of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Begun,
    Acked,
    TimedOut,
}

/// One row; packets, microseconds and wrapping sequence numbers as the kernel has them when its
/// HyStart has looked at the ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub kind: Kind,
    pub at_us: u64,
    pub rtt_us: Option<u32>,
    pub una: u32,
    pub nxt: u32,
    pub packets_out: u32,
    pub srtt_x8: u32,
    pub cwnd: u32,
    pub ssthresh: u32,
    /// Bytes per second, as the ACK before left it.
    pub pacing_rate: u64,
    pub found: bool,
    /// A CUBIC epoch is running: samples of its first second are not taken.
    pub epoch: bool,
    /// 3 is recovery.
    pub state: u8,
}

/// One connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recording {
    /// Its origin.
    pub about: String,
    pub mss: u32,
    pub gso_max_size: u32,
    pub paced: bool,
    /// Exits that the kernel counted by train and by delay, in its namespace.
    pub trains: u64,
    pub delays: u64,
    pub rows: Vec<Row>,
}

impl Recording {
    /// A line of what holds throughout, then a line per row.
    pub(crate) fn to_text(&self) -> String {
        let Recording { about, mss, gso_max_size, paced, trains, delays, rows } = self;
        let mut text =
            format!("# {about}\n{mss} {gso_max_size} {} {trains} {delays}\n", u8::from(*paced));
        for row in rows {
            let kind = ["begun", "acked", "timeout"][row.kind as usize];
            let rtt = row.rtt_us.map_or("-".to_owned(), |us| us.to_string());
            let Row {
                at_us,
                una,
                nxt,
                packets_out,
                srtt_x8,
                cwnd,
                ssthresh,
                pacing_rate,
                found,
                epoch,
                state,
                ..
            } = row;
            let (found, epoch) = (u8::from(*found), u8::from(*epoch));
            let _ = writeln!(
                text,
                "{kind} {at_us} {rtt} {una} {nxt} {packets_out} {srtt_x8} {cwnd} {ssthresh} {pacing_rate} {found} {epoch} {state}"
            );
        }
        text
    }

    /// Of [`Recording::to_text`].
    pub(crate) fn from_text(text: &str) -> Option<Recording> {
        let mut lines = text.lines();
        let about = lines.next()?.strip_prefix("# ")?.to_owned();
        let head: Vec<u64> =
            lines.next()?.split(' ').map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let &[mss, gso_max_size, paced, trains, delays] = head.as_slice() else { return None };
        let rows = lines.map(row).collect::<Option<_>>()?;
        Some(Recording {
            about,
            mss: mss as u32,
            gso_max_size: gso_max_size as u32,
            paced: paced != 0,
            trains,
            delays,
            rows,
        })
    }
}

fn row(line: &str) -> Option<Row> {
    let words: Vec<&str> = line.split(' ').collect();
    let kind = match *words.first()? {
        "begun" => Kind::Begun,
        "acked" => Kind::Acked,
        _ => Kind::TimedOut,
    };
    let number = |at: usize| words.get(at)?.parse::<u64>().ok();
    let word = |at: usize| number(at).and_then(|number| u32::try_from(number).ok());
    Some(Row {
        kind,
        at_us: number(1)?,
        rtt_us: word(2),
        una: word(3)?,
        nxt: word(4)?,
        packets_out: word(5)?,
        srtt_x8: word(6)?,
        cwnd: word(7)?,
        ssthresh: word(8)?,
        pacing_rate: number(9)?,
        found: word(10)? != 0,
        epoch: word(11)? != 0,
        state: number(12)? as u8,
    })
}

/// Result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Compared {
    /// ACKs on which both looked.
    pub acks: u32,
    /// Row, and the core's reason; `None` where only the kernel left.
    pub core: Vec<(usize, Option<ExitReason>)>,
    /// Rows on which the kernel left.
    pub kernel: Vec<usize>,
    /// Of these, in recovery, where the core's controller does not look.
    pub in_recovery: u32,
    /// ACKs of slow start whose rate the core derives to the byte, and those where it does not.
    pub rates_equal: u32,
    pub rates_other: Vec<(usize, u64, u64)>,
}

/// Gives every ACK to the core's HyStart where the kernel asks its own: below the threshold, with a
/// sample, nothing found yet.
pub(crate) fn replay(recording: &Recording, largest_burst: u64) -> Compared {
    let mss = u64::from(recording.mss);
    let mut cx = firstflight::with!(Context {
        iw: 10 * mss,
        paced: recording.paced,
        max_burst: largest_burst,
        so_far: SoFar::default(),
        ..Context::new(&Config::tcp(mss), Seq(0))
    });
    let mut core = HyStart::new(Params::LINUX);
    let mut compared = Compared::default();
    let mut before: Option<Row> = None;
    let (mut una, mut nxt) = (1 << 40, 1 << 40);
    for (number, row) in recording.rows.iter().enumerate() {
        let old = before.unwrap_or(*row);
        if before.is_none() {
            nxt += u64::from(row.nxt.wrapping_sub(row.una));
        }
        una += u64::from(row.una.wrapping_sub(old.una));
        nxt += u64::from(row.nxt.wrapping_sub(old.nxt));
        before = Some(*row);
        let now = Time(row.at_us * 1_000);
        match row.kind {
            Kind::Begun => {
                core = HyStart::new(Params::LINUX);
                core.start(now, Seq(nxt));
            }
            Kind::TimedOut => core.on_timeout(Timeout::Rto, now, Seq(nxt)),
            Kind::Acked => {
                // Whoever finds something sets the threshold to the window.
                let left = row.found && !old.found;
                let ssthresh = if left { old.ssthresh } else { row.ssthresh };
                let w = Window {
                    cwnd: u64::from(row.cwnd) * mss,
                    ssthresh: if ssthresh == NEVER {
                        UNSET_SSTHRESH
                    } else {
                        u64::from(ssthresh) * mss
                    },
                };
                // An epoch begins with avoidance; the kernel then discards for a second by its own
                // clock, which is not recorded.
                cx.young_epoch = row.epoch;
                if let Some(us) = row.rtt_us {
                    core.on_rtt(now, Nanos::from_micros(u64::from(us)), &cx);
                }
                if old.found || !w.in_slow_start() {
                    continue;
                }
                // A cut between two ACKs leaves the old rate; in a reduction the core's controller
                // does not ask.
                if old.kind == Kind::Acked && old.srtt_x8 > 0 && row.state < 2 {
                    let ours = linux_rate(w, u64::from(old.packets_out) * mss, srtt(&old), mss).0;
                    if ours == row.pacing_rate {
                        compared.rates_equal += 1;
                    } else {
                        compared.rates_other.push((number, ours, row.pacing_rate));
                    }
                }
                compared.acks += 1;
                let verdict = core.sample(
                    &Told {
                        now,
                        rtt: row.rtt_us.map(|us| Nanos::from_micros(u64::from(us))),
                        srtt: Some(srtt(row)),
                        una: Seq(una),
                        nxt: Seq(nxt),
                        flight: u64::from(row.packets_out) * mss,
                        ..Told::default()
                    }
                    .ack(),
                    w,
                    &cx,
                );
                if left {
                    compared.kernel.push(number);
                    compared.in_recovery += u32::from(row.state == 3);
                }
                match verdict {
                    Verdict::Leave(leave) => compared.core.push((number, Some(leave.reason))),
                    _ if left => compared.core.push((number, None)),
                    _ => {}
                }
            }
        }
    }
    compared
}

fn srtt(row: &Row) -> Nanos {
    Nanos(u64::from(row.srtt_x8) * 125)
}

impl Compared {
    /// Both left on the same ACKs, or neither.
    pub(crate) fn agree(&self) -> bool {
        let core: Vec<usize> =
            self.core.iter().filter(|(_, reason)| reason.is_some()).map(|(row, _)| *row).collect();
        core == self.kernel
    }

    /// The core's reason of the first exit, if both agree on the ACK and it is among those that the
    /// kernel counted. One that both detectors find on the same ACK the kernel counts twice.
    pub(crate) fn reason_fits(&self, recording: &Recording) -> bool {
        match self.core.first() {
            Some((_, Some(ExitReason::Train))) => recording.trains > 0,
            Some((_, Some(ExitReason::Delay))) => recording.delays > 0 && recording.trains == 0,
            _ => recording.trains + recording.delays == 0,
        }
    }
}
