//! How startups ended, as the controllers report it.

use super::arms::{ARMS, KernelArm};
use std::net::Ipv4Addr;

/// Bytes of `struct exit_record` in `firstflight.h`.
const SIZE: usize = 88;
/// Kinds of outcomes that are counted per connection.
const OUTCOMES: usize = 8;

/// Reads the members of a record in their order.
struct Members<'a>(&'a [u8]);

impl Members<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (head, tail) = self.0.split_at(N.min(self.0.len()));
        self.0 = tail;
        head.try_into().unwrap_or([0; N])
    }

    fn u64(&mut self) -> u64 {
        u64::from_ne_bytes(self.take())
    }

    fn u32(&mut self) -> u32 {
        u32::from_ne_bytes(self.take())
    }

    fn u16(&mut self) -> u16 {
        u16::from_ne_bytes(self.take())
    }
}

/// Why a startup ended; the core's reasons, and that an end was a false alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Packets were lost first.
    Loss,
    /// Congestion marks, or a drop in the sender's own queues, came first.
    Ecn,
    /// A timeout came first.
    Timeout,
    /// A threshold that was set beforehand.
    Threshold,
    /// HyStart's train detector.
    Train,
    /// HyStart's delay detector.
    Delay,
    /// Conservative slow start ran for its rounds.
    CssDone,
    /// Limited slow start began.
    LssTrigger,
    /// SEARCH: delivery stopped keeping up.
    Flattened,
    /// BEST: the estimate was reached.
    Estimate,
    /// The loss reported before was a false alarm: startup goes on.
    Undone,
}

impl Reason {
    const ALL: [Reason; 11] = [
        Reason::Loss,
        Reason::Ecn,
        Reason::Timeout,
        Reason::Threshold,
        Reason::Train,
        Reason::Delay,
        Reason::CssDone,
        Reason::LssTrigger,
        Reason::Flattened,
        Reason::Estimate,
        Reason::Undone,
    ];

    /// The name used in traces and tables; that of the core.
    pub const fn name(self) -> &'static str {
        match self {
            Reason::Loss => "loss",
            Reason::Ecn => "ecn",
            Reason::Timeout => "timeout",
            Reason::Threshold => "threshold",
            Reason::Train => "train",
            Reason::Delay => "delay",
            Reason::CssDone => "css_done",
            Reason::LssTrigger => "lss_trigger",
            Reason::Flattened => "flattened",
            Reason::Estimate => "estimate",
            Reason::Undone => "undone",
        }
    }
}

/// One report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exit {
    /// The arm.
    pub arm: &'static KernelArm,
    /// Why.
    pub reason: Reason,
    /// Microseconds since the first data was sent.
    pub since_first_send_us: u64,
    /// Round trips completed.
    pub rounds: u32,
    /// Window when the end was detected, packets.
    pub detect_cwnd: u32,
    /// Window as the report was made, packets; after a loss the reduction comes later.
    pub cwnd: u32,
    /// Threshold then, packets; `None` if it was never set.
    pub ssthresh: Option<u32>,
    /// Packets in flight after the deciding ACK.
    pub inflight: u32,
    /// The number that decided, in the algorithm's unit: microseconds or packets; 0 if there is none.
    pub estimate: u64,
    /// Smoothed RTT, microseconds.
    pub srtt_us: u32,
    /// Segment size, bytes.
    pub mss: u32,
    /// Bytes acknowledged by then.
    pub bytes_acked: u64,
    /// The other end (IPv4).
    pub peer: (Ipv4Addr, u16),
    /// Our port.
    pub port: u16,
    /// How often the startup's evaluations concluded what until then, saturating at 255; see [`KernelArm::outcomes`].
    pub outcomes: [u8; OUTCOMES],
}

impl Exit {
    /// Out of the bytes of a ring buffer; `None` if they are not a report of ours.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Exit> {
        let mut record = Members(bytes.get(..SIZE)?);
        let _at_us = record.u64();
        let [since_first_send_us, estimate, bytes_acked] = [(); 3].map(|()| record.u64());
        let peer = Ipv4Addr::from(record.take::<4>());
        let [detect_cwnd, cwnd, ssthresh, inflight, rounds, mss, srtt_us, _min_rtt_us] = [(); 8].map(|()| record.u32());
        let peer = (peer, u16::from_be(record.u16()));
        let port = record.u16();
        let [reason, arm] = record.take();
        let outcomes = record.take();
        Some(Exit {
            arm: ARMS.get(usize::from(arm))?,
            reason: *Reason::ALL.get(usize::from(reason).checked_sub(1)?)?,
            since_first_send_us,
            rounds,
            detect_cwnd,
            cwnd,
            // Never set, as the kernel says it.
            ssthresh: Some(ssthresh).filter(|ssthresh| *ssthresh < 0x7fff_ffff),
            inflight,
            estimate,
            srtt_us,
            mss,
            bytes_acked,
            peer,
            port,
            outcomes,
        })
    }
}
