//! A packet at a queue that decides later: as offered, and while it waits.

use crate::fate::DropCause;

/// The ECN field of a packet (RFC 3168 section 5, RFC 9331 section 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Codepoint {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECN-capable, classic.
    Ect0,
    /// ECN-capable, scalable.
    Ect1,
    /// Congestion experienced.
    Ce,
}

impl Codepoint {
    /// Whether a queue may mark it instead of dropping it.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Codepoint::NotEct)
    }
}

/// Whether a packet can be marked, as a [`crate::Link`] sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ect {
    /// It carries ECT if the path marks packets, and otherwise does not.
    #[default]
    AsThePath,
    /// Its sender sets ECT.
    Set,
    /// Its sender does not: queue management drops it where it would mark, and nothing else marks
    /// it.
    Unset,
}

/// A packet as it is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offered {
    /// The caller's id for it.
    pub id: u64,
    /// IP bytes.
    pub len: u32,
    /// The flow that flow queues see: a flow, or everything in one tunnel.
    pub flow: u32,
    /// ECN field of the packet.
    pub codepoint: Codepoint,
}

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) id: u64,
    pub(crate) len: u32,
    pub(crate) flow: u32,
    pub(crate) codepoint: Codepoint,
    /// Time at which it joined the queue.
    pub(crate) since: u64,
    pub(crate) ordinal: u64,
    /// Whether it will be lost behind the server.
    pub(crate) lost: bool,
}

/// Callback for dropped packets.
pub(crate) type Dropped<'a> = dyn FnMut(Waiting, DropCause) + 'a;
