//! Stream settings that both ends fix before any stream is opened.

/// When a stream counts as finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finish {
    /// As soon as its end is queued for sending.
    Noted,
    /// When the peer has acknowledged everything, or has stopped the stream.
    Acknowledged,
}

/// Number of bytes that a stream of the peer may deliver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    /// A request stream.
    pub(super) request: u64,
    /// A control stream: settings, priorities, header tables, over the lifetime of a connection.
    pub(super) control: u64,
    /// Whether the peer may open push streams: it is a server.
    pub(super) push: bool,
}

impl Allowance {
    /// No limits.
    pub(super) const NONE: Allowance =
        Allowance { request: u64::MAX, control: u64::MAX, push: true };
}
