//! Startup exits, as the controllers report them.

use super::arms::{ARMS, KernelArm};
use super::ledger::MOST_OPEN;
use super::members::Members;
use firstflight::ExitReason;
use std::collections::HashMap;
use std::net::Ipv4Addr;

/// Bytes of `struct exit_record` in `firstflight.h`.
const SIZE: usize = 96;
/// Number of kinds of outcomes that are counted per connection.
const OUTCOMES: usize = 8;

/// The reports of a kernel controller; each has the number one above its index here (`enum reason`
/// of `firstflight.h`). They are the reasons of the core, and `None`: the exit reported before was
/// a false alarm. The oracle needs to know its path,
/// which a kernel cannot, and no kernel receives advice.
fn reasons() -> impl Iterator<Item = Option<ExitReason>> {
    ExitReason::ALL
        .into_iter()
        .filter(|reason| {
            !matches!(
                reason,
                ExitReason::Oracle
                    | ExitReason::Plateau
                    | ExitReason::HighLoss
                    | ExitReason::Advice
            )
        })
        .map(Some)
        .chain([None])
}

/// One report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exit {
    /// The arm.
    pub arm: &'static KernelArm,
    /// Reason of the exit; `None` if the loss reported before was a false alarm and startup goes
    /// on.
    pub reason: Option<ExitReason>,
    /// Microseconds since the first data was sent.
    pub since_first_send_us: u64,
    /// Round trips completed.
    pub rounds: u32,
    /// Window when the exit was detected, packets.
    pub detect_cwnd: u32,
    /// Window at the time of the report, packets; after a loss it is reduced later.
    pub cwnd: u32,
    /// Threshold at that time, packets; `None` if it was never set.
    pub ssthresh: Option<u32>,
    /// Packets in flight after the deciding ACK.
    pub inflight: u32,
    /// The value that decided, in the algorithm's unit: microseconds or packets; 0 if there is
    /// none.
    pub estimate: u64,
    /// Smoothed RTT, microseconds.
    pub srtt_us: u32,
    /// Segment size, bytes.
    pub mss: u32,
    /// Bytes acknowledged so far.
    pub bytes_acked: u64,
    /// Address and port of the peer (IPv4).
    pub peer: (Ipv4Addr, u16),
    /// Our port.
    pub port: u16,
    /// Number of the startup's evaluations so far by conclusion, saturating at 255; see
    /// [`KernelArm::outcomes`].
    pub outcomes: [u8; OUTCOMES],
    /// Address of the socket in the kernel's memory, and the time of the report, us on the kernel's
    /// monotonic clock: together they identify a connection.
    pub(super) socket: (u64, u64),
}

impl Exit {
    /// Parses the bytes of a ring buffer; `None` if they are not such a report.
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
            // The kernel's value for a threshold that was never set.
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

/// Reports of connections that are not finished.
#[derive(Debug, Default)]
pub(super) struct Exits(HashMap<u64, Vec<Exit>>);

impl Exits {
    /// Adds a report; a false alarm removes the exit before it.
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

    /// The last report of the finished connection that used this socket from `from` to `to`, us.
    /// The next connection may use the same memory by now.
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

    /// A report by SEARCH; number 11 means a false alarm.
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
        // Three connections at one address, read at once; the second one reported nothing.
        for (socket, at) in [(1, 10), (1, 50), (2, 12)] {
            exits.add(report(socket, at, 5));
        }
        assert_eq!(at(exits.of(1, 5, 20)), Some(10));
        assert_eq!(at(exits.of(1, 21, 40)), None);
        assert_eq!(at(exits.of(1, 41, 60)), Some(50));
        assert_eq!(at(exits.of(1, 61, 80)), None);
        // A false alarm, and the exit that came later.
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
