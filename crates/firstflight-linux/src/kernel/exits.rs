//! How startups ended, as the controllers report it.

use super::arms::{ARMS, KernelArm};
use firstflight::ExitReason;
use std::net::Ipv4Addr;

/// Bytes of `struct exit_record` in `firstflight.h`.
const SIZE: usize = 96;
/// Kinds of outcomes that are counted per connection.
const OUTCOMES: usize = 8;

/// Reads the members of a record in their order.
pub(super) struct Members<'a>(pub(super) &'a [u8]);

impl Members<'_> {
    pub(super) fn take<const N: usize>(&mut self) -> [u8; N] {
        let (head, tail) = self.0.split_at(N.min(self.0.len()));
        self.0 = tail;
        head.try_into().unwrap_or([0; N])
    }

    pub(super) fn u64(&mut self) -> u64 {
        u64::from_ne_bytes(self.take())
    }

    pub(super) fn u32(&mut self) -> u32 {
        u32::from_ne_bytes(self.take())
    }

    pub(super) fn u16(&mut self) -> u16 {
        u16::from_ne_bytes(self.take())
    }
}

/// What a controller in the kernel can report, each by the number one above its place here (`enum
/// reason` of `firstflight.h`): the reasons of the core, and `None` that the end reported before
/// was a false alarm. The oracle is told its path, which no kernel is.
fn reasons() -> impl Iterator<Item = Option<ExitReason>> {
    ExitReason::ALL
        .into_iter()
        .filter(|reason| {
            !matches!(reason, ExitReason::Oracle | ExitReason::Plateau | ExitReason::HighLoss)
        })
        .map(Some)
        .chain([None])
}

/// One report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exit {
    /// The arm.
    pub arm: &'static KernelArm,
    /// Why; `None`: the loss reported before was a false alarm, startup goes on.
    pub reason: Option<ExitReason>,
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
    /// The number that decided, in the algorithm's unit: microseconds or packets; 0 if there is
    /// none.
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
    /// How often the startup's evaluations concluded what until then, saturating at 255; see
    /// [`KernelArm::outcomes`].
    pub outcomes: [u8; OUTCOMES],
    /// Where the socket stands in the kernel's memory, and when it was, us on the kernel's monotonic
    /// clock: together they name a connection.
    pub(super) socket: (u64, u64),
}

impl Exit {
    /// Out of the bytes of a ring buffer; `None` if they are not a report of ours.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Exit> {
        let mut record = Members(bytes.get(..SIZE)?);
        let [at, since_first_send_us, estimate, bytes_acked, socket] =
            [(); 5].map(|()| record.u64());
        let peer = Ipv4Addr::from(record.take::<4>());
        let [detect_cwnd, cwnd, ssthresh, inflight, rounds, mss, srtt_us, _min_rtt_us] =
            [(); 8].map(|()| record.u32());
        let peer = (peer, u16::from_be(record.u16()));
        let port = record.u16();
        let [number, arm] = record.take();
        let outcomes = record.take();
        Some(Exit {
            arm: ARMS.get(usize::from(arm))?,
            reason: reasons().nth(usize::from(number).checked_sub(1)?)?,
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
            socket: (socket, at),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_numbers_the_reasons_of_the_core_in_their_order() {
        let header = include_str!("../../bpf/firstflight.h");
        let (_, body) =
            header.split_once("enum reason {").expect("firstflight.h has `enum reason`");
        let (body, _) = body.split_once('}').expect("the enum ends");
        let known: Vec<&str> = body
            .split(',')
            .filter_map(|item| item.lines().last())
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .collect();
        let names = reasons().map(|reason| reason.map_or("undone", ExitReason::name));
        let wanted: Vec<String> = ["none"]
            .into_iter()
            .chain(names)
            .map(|name| format!("EXIT_{}", name.to_uppercase()))
            .collect();
        assert_eq!(
            known, wanted,
            "`enum reason` of firstflight.h and ExitReason::ALL without those that no controller of the kernel has, in order: add what is missing there"
        );
    }
}
