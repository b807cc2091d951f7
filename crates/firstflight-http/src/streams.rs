//! What both ends settle about streams before any is opened.

/// When a stream counts as finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finish {
    /// As soon as its end is noted for sending.
    Noted,
    /// When the peer has acknowledged everything, or wants no more.
    Acknowledged,
}

/// How many bytes a stream of the peer may deliver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    /// One that asks.
    pub(super) request: u64,
    /// One that controls: settings, priorities, header tables, over the whole life of a
    /// connection.
    pub(super) control: u64,
    /// The peer may open push streams: it is a server.
    pub(super) push: bool,
}

impl Allowance {
    /// As many as it likes.
    pub(super) const NONE: Allowance =
        Allowance { request: u64::MAX, control: u64::MAX, push: true };
}
