//! Acknowledgements on the return path, and those that wait for their release.

/// An acknowledgement on the return path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The caller's id for it.
    pub id: u64,
    /// IP bytes.
    pub len: u32,
    /// The flow it belongs to; thinning counts per flow.
    pub flow: u32,
    /// Whether a later ACK carries all its information, so that thinning may drop it.
    pub pure: bool,
}

/// An ACK that waits for its release.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) ack: Ack,
    /// Time at which it joined the queue.
    pub(crate) since: u64,
    /// Whether it will be lost behind the link.
    pub(crate) lost: bool,
}
