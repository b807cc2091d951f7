//! Socket buffers: how much unacknowledged data a sender may hold, and how far ahead a receiver
//! lets it send.
//!
//! A buffer is unlimited, of a fixed size, or grows as in Linux: the receiver doubles its window as
//! fast as data arrives per round trip (dynamic right-sizing), and the sender keeps room for two
//! congestion windows. Half of a Linux buffer holds payload; the rest is overhead.
//!
//! Follows Linux `tcp_rcv_space_adjust` and `tcp_sndbuf_expand` (`net/ipv4/tcp_input.c`), as we
//! restate them. State: 88 bytes. Departures: D1 overhead is half of any buffer, as with
//! `tcp_adv_win_scale = 1`; later kernels measure it per packet. D2 the window is not rounded to
//! the scale of the option, so a slow reader's window closes to the byte.

use firstflight::{Nanos, Time};

/// The size of a socket buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Buffer {
    /// Never the limit.
    #[default]
    Unlimited,
    /// This many bytes of payload.
    Payload(u64),
    /// Linux: starts at `default` and grows up to `max`, both in bytes of buffer, half of which is
    /// payload.
    Linux {
        /// The second of the three numbers of `tcp_rmem` or `tcp_wmem`.
        default: u64,
        /// The third.
        max: u64,
    },
    /// A receiver of Linux 6.18 that starts at 131072 bytes of buffer and grows up to `max`. As
    /// [`Buffer::Linux`], without 16 segments of slack, and the window follows the data that
    /// arrived: it opens by at most two bytes for each.
    Tuned {
        /// The third of the three numbers of `tcp_rmem`.
        max: u64,
    },
}

/// The second number of `tcp_rmem`.
const TUNED_DEFAULT: u64 = 131_072;

impl Buffer {
    /// `tcp_rmem` of Linux: 4096 131072 6291456.
    pub const LINUX_RECEIVE: Buffer = Buffer::Linux { default: 131_072, max: 6_291_456 };
    /// `tcp_wmem` of Linux: 4096 16384 4194304.
    pub const LINUX_SEND: Buffer = Buffer::Linux { default: 16_384, max: 4_194_304 };

    fn initial(self, least: u64) -> u64 {
        match self {
            Buffer::Unlimited => u64::MAX / 4,
            Buffer::Payload(bytes) => bytes.max(least),
            Buffer::Linux { default, .. } => (default / 2).max(least),
            Buffer::Tuned { max } => (TUNED_DEFAULT.min(max) / 2).max(least),
        }
    }

    fn most(self, least: u64) -> u64 {
        match self {
            Buffer::Linux { max, .. } | Buffer::Tuned { max } => (max / 2).max(least),
            Buffer::Unlimited | Buffer::Payload(_) => self.initial(least),
        }
    }
}

/// The payload that a sender may have outstanding.
#[derive(Clone, Copy, Debug)]
pub struct SendWindow {
    bytes: u64,
    most: u64,
}

impl SendWindow {
    /// Creates a window with room for at least two segments.
    pub fn new(buffer: Buffer, mss: u64) -> SendWindow {
        SendWindow { bytes: buffer.initial(2 * mss), most: buffer.most(2 * mss) }
    }

    /// Bytes that the send buffer holds, counted from the oldest unacknowledged byte.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Called at the start and when an ACK frees buffer space: the buffer follows two congestion
    /// windows and never shrinks.
    #[inline]
    pub fn follow(&mut self, cwnd: impl FnOnce() -> u64) {
        if self.bytes < self.most {
            self.bytes = self.bytes.max(cwnd().saturating_mul(2).min(self.most));
        }
    }
}

/// The window that a receiver advertises.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveWindow {
    /// Room for data in the buffer.
    bytes: u64,
    most: u64,
    /// Part of it that the receiver offers, if that grows with the data that arrives.
    offered: Option<u64>,
    mss: u64,
    rtt: Option<Nanos>,
    /// Payload received in the best round trip measured so far.
    space: u64,
    /// Start of the current measured round trip: its time, and its first byte.
    since: Option<Time>,
    from: u64,
}

impl ReceiveWindow {
    /// Creates a window with room for at least two segments.
    pub fn new(buffer: Buffer, mss: u64) -> ReceiveWindow {
        let bytes = buffer.initial(2 * mss);
        ReceiveWindow {
            bytes,
            most: buffer.most(2 * mss),
            offered: matches!(buffer, Buffer::Tuned { .. }).then_some(bytes),
            mss,
            rtt: None,
            space: 10 * mss,
            since: None,
            from: 0,
        }
    }

    /// Bytes beyond the next expected one.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.offered.unwrap_or(self.bytes)
    }

    /// Whether it may still grow.
    #[inline]
    pub fn is_growing(&self) -> bool {
        self.bytes() < self.most
    }

    /// A segment of `len` bytes arrived, and data was read up to `next`; `rtt` is the RTT from the
    /// timestamp echo. Called once per arriving segment while the window may grow.
    pub fn on_data(&mut self, now: Time, next: u64, rtt: Option<Nanos>, len: u64) {
        self.measure(now, next, rtt);
        // LINUX grow-window: `rcv_ssthresh` rises by two bytes for each that arrives.
        if let Some(offered) = &mut self.offered {
            *offered = offered.saturating_add(2 * len).min(self.bytes);
        }
    }

    /// Dynamic right-sizing, once per round trip.
    fn measure(&mut self, now: Time, next: u64, rtt: Option<Nanos>) {
        if let Some(sample) = rtt.filter(|sample| sample.0 > 0) {
            self.rtt = Some(self.rtt.map_or(sample, |rtt| Nanos(rtt.0 - rtt.0 / 8 + sample.0 / 8)));
        }
        let since = *self.since.get_or_insert(now);
        if self.rtt.is_none_or(|rtt| now.since(since) < rtt) {
            return;
        }
        let copied = next - self.from;
        if copied > self.space {
            // Twice the data received, and in slow start, when each round trip brings more, also
            // the amount by which it grew.
            let slack = if self.offered.is_some() { 0 } else { 16 * self.mss };
            let window = 2 * copied + slack;
            let grown = window.saturating_add(
                2 * firstflight::units::mul_div(window, copied - self.space, self.space.max(1)),
            );
            self.bytes = self.bytes.max(grown.min(self.most));
            self.space = copied;
        }
        (self.since, self.from) = (Some(now), next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linux_receive_window_stays_ahead_of_slow_start_and_ends_at_half_the_buffer() {
        let rtt = Nanos::from_millis(100);
        let mut window = ReceiveWindow::new(Buffer::LINUX_RECEIVE, 1448);
        let (mut next, mut flight) = (0, 14_480u64);
        assert_eq!(window.bytes(), 65_536, "half of 131072");
        for round in 1..12u64 {
            let allowed = flight.min(window.bytes());
            assert!(
                round > 8 || allowed == flight,
                "round {round}: slow start's {flight} bytes fit into {}",
                window.bytes()
            );
            next += allowed;
            window.on_data(Time(0) + rtt * round, next, Some(rtt), allowed);
            flight *= 2;
        }
        assert_eq!(window.bytes(), 6_291_456 / 2, "half of 6291456");
        assert!(!window.is_growing());
    }

    #[test]
    fn a_fixed_window_never_changes() {
        let mut window = ReceiveWindow::new(Buffer::Payload(100_000), 1448);
        assert!(!window.is_growing());
        window.on_data(Time(1_000_000_000), 90_000, Some(Nanos::from_millis(1)), 1448);
        assert_eq!(window.bytes(), 100_000);
        assert_eq!(
            ReceiveWindow::new(Buffer::Payload(1), 1448).bytes(),
            2896,
            "two segments at least"
        );
    }
}
