//! The record of a connection that is over (`struct closed` of `bpf/field.h`).

use super::exits::Members;
use firstflight_trial::row::{Row, mbps, millis};
use nix::time::{ClockId, clock_gettime};
use std::time::{Duration, SystemTime};

/// Its bytes.
pub(super) const SIZE: usize = 80;

/// When it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// The connection is over.
    Over,
    /// It was just given its arm.
    Begun,
    /// It goes on.
    Going,
}

impl Moment {
    /// As `enum moment` numbers them.
    const ALL: [Moment; 3] = [Moment::Over, Moment::Begun, Moment::Going];
}

/// One of them.
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
    ce: u32,
    timeouts: u32,
    arm: u16,
    epoch: u16,
    connection: u32,
    moment: Moment,
    ended: bool,
    acked_all: bool,
    has_timeouts: bool,
}

impl Closed {
    pub(super) fn parse(bytes: &[u8]) -> Option<Closed> {
        let mut record = Members(bytes.get(..SIZE)?);
        let [start, busy, unit, acked] = [(); 4].map(|()| record.u64());
        let [written, handshake, min_rtt, srtt] = [(); 4].map(|()| record.u32());
        let [segments, retransmitted, _lost, ce, timeouts] = [(); 5].map(|()| record.u32());
        let [arm, epoch] = [(); 2].map(|()| record.u16());
        let [ended, acked_all, has_timeouts, moment] = record.take();
        let moment = *Moment::ALL.get(usize::from(moment))?;
        let [ended, acked_all, has_timeouts] =
            [ended, acked_all, has_timeouts].map(|byte| byte != 0);
        let connection = record.u32();
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
            ce,
            timeouts,
            arm,
            epoch,
            connection,
            moment,
            ended,
            acked_all,
            has_timeouts,
        })
    }

    /// The number of its arm.
    pub(super) fn arm(&self) -> usize {
        usize::from(self.arm)
    }

    /// Its unit: a pseudonym, or the slot of time of its beginning.
    pub(super) fn unit(&self) -> u64 {
        self.unit
    }

    pub(super) fn moment(&self) -> Moment {
        self.moment
    }

    pub(super) fn connection(&self) -> u32 {
        self.connection
    }

    /// On the kernel's monotonic clock, ns.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// A record without data, for tests.
    #[cfg(test)]
    pub(super) fn bytes(connection: u32, moment: Moment, start: u64) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes[..8].copy_from_slice(&start.to_ne_bytes());
        bytes[75] = moment as u8;
        bytes[76..].copy_from_slice(&connection.to_ne_bytes());
        bytes
    }

    /// Bytes that were acknowledged, as TCP counts them.
    pub(super) fn acked(&self) -> u64 {
        self.acked
    }

    /// All of it but the arm.
    pub(super) fn row(&self) -> Row {
        let rtt = |us: u32| (us > 0 && us < u32::MAX).then(|| millis(u64::from(us) * 1000));
        Row {
            epoch: Some(u32::from(self.epoch)),
            connection: Some(u64::from(self.connection)),
            unit: Some(format!("{:016x}", self.unit)),
            start_s: started(self.start),
            // A difference of sequence numbers, which wrap at 4 GiB.
            bytes_written: (self.acked < 1 << 32).then_some(u64::from(self.written)),
            bytes_acked: Some(self.acked),
            busy_ms: (self.busy > 0).then(|| millis(self.busy)),
            goodput_mbps: mbps(self.acked, self.busy),
            handshake_rtt_ms: rtt(self.handshake),
            min_rtt_ms: rtt(self.min_rtt),
            srtt_ms: rtt(self.srtt),
            segments: Some(u64::from(self.segments)),
            retransmitted: Some(u64::from(self.retransmitted)),
            timeouts: self.has_timeouts.then_some(u64::from(self.timeouts)),
            ce: Some(u64::from(self.ce)),
            ended: Some(if self.ended { "fin" } else { "rst" }.to_owned()),
            acked_all: Some(self.acked_all),
            tail_unseen: Some(false),
            ..Row::default()
        }
    }
}

/// Seconds since 1970 of a moment of the kernel's monotonic clock.
fn started(start: u64) -> Option<u64> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).ok()?;
    let now = Duration::new(now.tv_sec() as u64, now.tv_nsec() as u32);
    let ago = now.saturating_sub(Duration::from_nanos(start));
    let since = SystemTime::now().checked_sub(ago)?.duration_since(SystemTime::UNIX_EPOCH);
    since.ok().map(|since| since.as_secs())
}
