//! Records of the kernel's TCP on every ACK: controllers that note the sender's counters before
//! they act (`bpf/traced.h`). They are our controllers unchanged, and the kernel's own CUBIC and
//! Reno wrapped in controllers that only call their functions.

use super::arms::{ARMS, KernelArm};
use super::loader::Loaded;
use super::members::Members;
use super::ring::Records;
use firstflight_path::Error;
use std::time::Duration;

/// The kernel's own controllers, which only the object for traces contains.
const OWN: &[KernelArm] = &[
    KernelArm {
        name: "kernel:cubic",
        kernel_name: "ff_k_cubic",
        map: "kernel_cubic",
        about: "The kernel's CUBIC with its HyStart",
        outcomes: &[],
        own_recovery: false,
    },
    KernelArm {
        name: "kernel:reno",
        kernel_name: "ff_k_reno",
        map: "kernel_reno",
        about: "The kernel's Reno",
        outcomes: &[],
        own_recovery: false,
    },
];

/// The reason for a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    /// The controller was set up on an established connection.
    Begun,
    /// An ACK arrived: its deliveries are counted, its losses are not yet.
    Acked,
    /// The socket enters this state: 0 open, 1 disorder, 2 window reduced, 3 recovery, 4 loss.
    State(u8),
}

/// The counters of a sender at one moment, in packets except for the two sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckRecord {
    /// Identifies the socket while it lives.
    pub socket: u64,
    /// The kernel's time of the ACK or timer, microseconds.
    pub at_us: u64,
    /// Reason for the record.
    pub noted: Noted,
    /// Congestion window, as the previous ACK left it.
    pub cwnd: u32,
    /// Threshold; 0x7fffffff if never set.
    pub ssthresh: u32,
    /// Outstanding packets, including SACKed and lost ones.
    pub packets_out: u32,
    /// Outstanding packets that are SACKed.
    pub sacked_out: u32,
    /// Outstanding packets that are lost.
    pub lost_out: u32,
    /// Retransmissions in flight.
    pub retrans_out: u32,
    /// Maximum of `packets_out` since the window was last checked.
    pub max_packets_out: u32,
    /// Packets delivered since the connection began, wrapping.
    pub delivered: u32,
    /// Packets found lost since the connection began, retransmissions included, wrapping.
    pub lost: u32,
    /// Data packets sent since the connection began, retransmissions included, wrapping.
    pub sent: u32,
    /// First unacknowledged sequence number, bytes, wrapping.
    pub una: u32,
    /// Next new sequence number, bytes, wrapping.
    pub nxt: u32,
    /// RTT sample, microseconds; `None` without one.
    pub rtt_us: Option<u32>,
    /// Eight times the smoothed RTT, microseconds.
    pub srtt_x8: u32,
    /// Segment size, bytes.
    pub mss: u32,
    /// Maximum handed to the device at once, bytes.
    pub gso_max_size: u32,
    /// State of the socket so far: see [`Noted::State`].
    pub state: u8,
    /// Whether the window was the limit when the socket last sent.
    pub limited: bool,
    /// Whether the application had nothing more to send.
    pub app_limited: bool,
    /// Whether the socket is paced.
    pub paced: bool,
    /// The receiver's clock, in its ticks.
    pub receiver_ts: Option<u32>,
}

impl AckRecord {
    /// Packets in the network, as far as the sender knows: the pipe of RFC 6675.
    pub fn pipe(&self) -> u32 {
        self.packets_out.saturating_sub(self.sacked_out + self.lost_out) + self.retrans_out
    }

    /// Parses a `struct trace_record`.
    fn parse(bytes: &[u8]) -> Option<AckRecord> {
        const SIZE: usize = 96;
        let mut members = Members(bytes.get(..SIZE)?);
        let [socket, at_us] = [(); 2].map(|()| members.u64());
        let [cwnd, ssthresh, packets_out, sacked_out, lost_out, retrans_out, max_packets_out] =
            [(); 7].map(|()| members.u32());
        let [delivered, lost, sent, una, nxt] = [(); 5].map(|()| members.u32());
        let [rtt, srtt_x8, mss, gso_max_size, receiver_ts] = [(); 5].map(|()| members.u32());
        let [kind, state, to, limited, app_limited, has_ts, paced] = members.take();
        let noted = match kind {
            0 => Noted::Begun,
            1 => Noted::Acked,
            _ => Noted::State(to),
        };
        Some(AckRecord {
            socket,
            at_us,
            noted,
            cwnd,
            ssthresh,
            packets_out,
            sacked_out,
            lost_out,
            retrans_out,
            max_packets_out,
            delivered,
            lost,
            sent,
            una,
            nxt,
            // Negative without a sample.
            rtt_us: i32::try_from(rtt).is_ok().then_some(rtt),
            srtt_x8,
            mss,
            gso_max_size,
            state,
            limited: limited != 0,
            app_limited: app_limited != 0,
            paced: paced != 0,
            receiver_ts: (has_ts != 0).then_some(receiver_ts),
        })
    }
}

/// A controller in the kernel that records every ACK. Dropping it removes the controller.
#[derive(Debug)]
pub struct Traced {
    records: Records<AckRecord>,
    loaded: Loaded,
}

impl Traced {
    /// Loads the controller called `name`: `kernel:cubic`, `kernel:reno`, or one of [`ARMS`] by
    /// either of its names.
    ///
    /// # Errors
    /// If there is no such controller, it is already loaded, or the kernel or our privilege does
    /// not allow it.
    pub fn load(name: &str) -> Result<Traced, Error> {
        let found = OWN.iter().chain(ARMS).find(|arm| arm.name == name || arm.kernel_name == name);
        let arm = found.ok_or_else(|| {
            let all: Vec<&str> = OWN.iter().chain(ARMS).map(|arm| arm.name).collect();
            Error::new(format!("cannot be traced; allowed: {}", all.join(", ")))
        })?;
        let loaded = Loaded::load_traced(arm)?;
        let records = Records::of(&loaded.map("acks")?, AckRecord::parse)?;
        Ok(Traced { records, loaded })
    }

    /// The controller; its `kernel_name` is the name to set on sockets.
    pub fn arm(&self) -> &'static KernelArm {
        self.loaded.arm()
    }

    /// Passes the records since the last call to `each`, in order.
    ///
    /// # Errors
    /// If the buffer cannot be read, or had no room for some records.
    pub fn take(&self, each: impl FnMut(AckRecord)) -> Result<(), Error> {
        self.records.take(Duration::ZERO, each)?;
        match self.loaded.counter()? {
            0 => Ok(()),
            lost => Err(Error::new(format!("{lost} ACKs did not fit into the trace"))),
        }
    }
}
