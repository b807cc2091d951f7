//! Report of a relay's run.

use crate::link::Report;
use std::fmt;

/// Counters of a relay.
#[derive(Clone, Debug, Default)]
pub struct RelayReport {
    /// The path, as a link reports it; bytes are those of IP packets.
    pub link: Report,
    /// Clients that were relayed.
    pub clients: u64,
    /// Datagrams from clients that were turned away for lack of room.
    pub turned_away: u64,
    /// Datagrams larger than the path carries.
    pub too_long: u64,
    /// Buffer size that the system grants each socket for unread datagrams, bytes.
    pub buffer: usize,
}

impl RelayReport {
    /// Reasons not to trust the timing of this run, if there are any.
    pub fn doubts(&self) -> Vec<String> {
        let mut doubts = self.link.doubts();
        if self.turned_away > 0 {
            doubts.push(format!(
                "{} datagrams came from more clients than there was room for",
                self.turned_away
            ));
        }
        if self.buffer < MODEST_BUFFER {
            doubts.push(format!(
                "a socket buffer of {} kB, the system's limit, may overflow unnoticed: raise net.core.rmem_max",
                self.buffer / 1000
            ));
        }
        doubts
    }
}

/// Five milliseconds at 1 Gbit/s.
const MODEST_BUFFER: usize = 625_000;

impl fmt::Display for RelayReport {
    /// A line for each direction and one for the clients.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}clients: {}", self.link, self.clients)?;
        if self.turned_away > 0 {
            write!(f, ", datagrams of other senders rejected: {}", self.turned_away)?;
        }
        if self.too_long > 0 {
            write!(f, "; larger than the path carries: {}", self.too_long)?;
        }
        writeln!(f)
    }
}
