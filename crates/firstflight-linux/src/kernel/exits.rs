//! How startups ended, as the controllers report it.

use super::arms::{ARMS, KernelArm};
use super::ledger::MOST_OPEN;
use super::members::Members;
use firstflight::ExitReason;
use std::collections::HashMap;
use std::net::Ipv4Addr;

/// Bytes of `struct exit_record` in `firstflight.h`.
const SIZE: usize = 96;
/// Kinds of outcomes that are counted per connection.
const OUTCOMES: usize = 8;

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
    /// Number of evaluations of the startup by conclusion up to then, saturating at 255; see
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

/// Reports of connections that are not over.
#[derive(Debug, Default)]
pub(super) struct Exits(HashMap<u64, Vec<Exit>>);

impl Exits {
    /// One more; an end that was a false alarm is none.
    pub(super) fn add(&mut self, exit: Exit) {
        let (socket, _) = exit.socket;
        if exit.reason.is_none() {
            if let Some(known) = self.0.get_mut(&socket) {
                known.pop();
            }
        } else if self.0.len() < MOST_OPEN || self.0.contains_key(&socket) {
            self.0.entry(socket).or_default().push(exit);
        }
    }

    /// The last of the connection that this socket was from then to then, us, which is over. Its place
    /// in memory may be that of the next connection by now.
    pub(super) fn of(&mut self, socket: u64, from: u64, to: u64) -> Option<Exit> {
        let known = self.0.get_mut(&socket)?;
        let later = known.partition_point(|exit| exit.socket.1 <= to);
        let last = known.drain(..later).rfind(|exit| exit.socket.1 >= from);
        if known.is_empty() {
            self.0.remove(&socket);
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A report by SEARCH; number 11 is the false alarm.
    fn report(socket: u64, at: u64, number: u8) -> Exit {
        let mut bytes = Vec::new();
        for word in [at, 0, 0, 0, socket] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.resize(SIZE, 0);
        bytes[80] = number;
        Exit::parse(&bytes).expect("a report")
    }

    #[test]
    fn a_report_belongs_to_the_connection_that_had_the_socket_then() {
        let mut exits = Exits::default();
        let at = |exit: Option<Exit>| exit.map(|exit| exit.socket.1);
        // Three connections in one place of memory, read at once; the second reported nothing.
        for (socket, at) in [(1, 10), (1, 50), (2, 12)] {
            exits.add(report(socket, at, 5));
        }
        assert_eq!(at(exits.of(1, 5, 20)), Some(10));
        assert_eq!(at(exits.of(1, 21, 40)), None);
        assert_eq!(at(exits.of(1, 41, 60)), Some(50));
        assert_eq!(at(exits.of(1, 61, 80)), None);
        // A false alarm, and the end that came after all.
        for (at, number) in [(10, 1), (11, 11), (15, 6)] {
            exits.add(report(3, at, number));
        }
        assert_eq!(at(exits.of(3, 9, 20)), Some(15));
        assert_eq!(at(exits.of(2, 13, 20)), None, "older than the connection");
        assert!(exits.0.is_empty(), "nothing is kept of what is over");
    }

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
