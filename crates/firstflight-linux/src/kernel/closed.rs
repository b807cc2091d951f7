//! The record of a finished connection (`struct closed` of `bpf/field.h`).

use super::members::Members;
use firstflight_trial::row::{Row, mbps, millis};
use nix::time::{ClockId, clock_getres, clock_gettime};
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

/// Bytes of a record.
pub(super) const SIZE: usize = 80;

/// The parsed record. Times are microseconds, either on the kernel's monotonic clock or durations.
#[derive(Clone, Debug)]
pub(super) struct Closed {
    start: u64,
    busy: u64,
    unit: u64,
    acked: u64,
    written: u32,
    handshake: u32,
    min_rtt: u32,
    srtt: u32,
    segments: u32,
    retransmitted: u32,
    lost: u32,
    ce: u32,
    rwnd_ticks: u32,
    sndbuf_ticks: u32,
    timeouts: u16,
    ended: bool,
    acked_all: bool,
    has_timeouts: bool,
}

impl Closed {
    pub(super) fn parse(bytes: &[u8]) -> Option<Closed> {
        let mut record = Members(bytes.get(..SIZE)?);
        let [start, busy, unit, acked] = [(); 4].map(|()| record.u64());
        let [written, handshake, min_rtt, srtt] = [(); 4].map(|()| record.u32());
        let [segments, retransmitted, lost, ce] = [(); 4].map(|()| record.u32());
        let [rwnd_ticks, sndbuf_ticks] = [(); 2].map(|()| record.u32());
        let timeouts = record.u16();
        let [ended, acked_all, has_timeouts] = record.take().map(|byte| byte != 0);
        Some(Closed {
            start,
            busy,
            unit,
            acked,
            written,
            handshake,
            min_rtt,
            srtt,
            segments,
            retransmitted,
            lost,
            ce,
            rwnd_ticks,
            sndbuf_ticks,
            timeouts,
            ended,
            acked_all,
            has_timeouts,
        })
    }

    /// Its unit: a pseudonym, or the time slot in which it began.
    pub(super) fn unit(&self) -> u64 {
        self.unit
    }

    /// Start of the connection, us on the kernel's monotonic clock.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// A record without data, for tests.
    #[cfg(test)]
    pub(super) fn bytes(start: u64) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes[..8].copy_from_slice(&start.to_ne_bytes());
        bytes
    }

    /// Acknowledged bytes, as TCP counts them.
    pub(super) fn acked(&self) -> u64 {
        self.acked
    }

    /// The complete row except for the arm.
    pub(super) fn row(&self) -> Row {
        let ticks =
            |count: u32| tick().map(|tick| millis(u64::from(count) * tick.as_nanos() as u64));
        Row {
            bytes_acked: Some(self.acked),
            // A difference of sequence numbers, which wrap at 4 GiB.
            bytes_written: (self.acked < 1 << 32).then_some(u64::from(self.written)),
            busy_ms: (self.busy > 0).then(|| millis(self.busy * 1000)),
            rwnd_limited_ms: ticks(self.rwnd_ticks),
            sndbuf_limited_ms: ticks(self.sndbuf_ticks),
            goodput_mbps: mbps(self.acked, self.busy * 1000),
            min_rtt_ms: rtt(self.min_rtt),
            srtt_ms: rtt(self.srtt),
            segments: Some(u64::from(self.segments)),
            retransmitted: Some(u64::from(self.retransmitted)),
            lost: Some(u64::from(self.lost)),
            timeouts: self.has_timeouts.then_some(u64::from(self.timeouts)),
            ce: Some(u64::from(self.ce)),
            ended: Some(if self.ended { "fin" } else { "rst" }.to_owned()),
            acked_all: Some(self.acked_all),
            tail_unseen: Some(false),
            ..begun(self.start, self.unit, self.handshake)
        }
    }
}

/// The columns that are known when a connection begins: its start, its unit and its handshake round
/// trip; both times in us.
pub(super) fn begun(start: u64, unit: u64, handshake: u32) -> Row {
    Row {
        unit: Some(format!("{unit:016x}")),
        start_s: started(start),
        handshake_rtt_ms: rtt(handshake),
        ..Row::default()
    }
}

/// Returns `None` if there was no sample.
fn rtt(us: u32) -> Option<f64> {
    (us > 0 && us < u32::MAX).then(|| millis(u64::from(us) * 1000))
}

/// Length of the kernel's ticks: the resolution of its coarse clock.
fn tick() -> Option<Duration> {
    static TICK: LazyLock<Option<Duration>> =
        LazyLock::new(|| clock_getres(ClockId::CLOCK_MONOTONIC_COARSE).ok().map(Duration::from));
    *TICK
}

/// The kernel's monotonic clock, us.
pub(super) fn now_us() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |now| Duration::from(now).as_micros() as u64)
}

/// Seconds since 1970 for a time on the kernel's monotonic clock, us.
fn started(start: u64) -> Option<u64> {
    let ago = Duration::from_micros(now_us().saturating_sub(start));
    let since = SystemTime::now().checked_sub(ago)?.duration_since(SystemTime::UNIX_EPOCH);
    since.ok().map(|since| since.as_secs())
}
