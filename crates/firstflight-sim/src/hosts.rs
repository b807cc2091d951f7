//! The hosts of a trial, for either transport.

use crate::{quic, tcp};
use firstflight::Nanos;
use firstflight::controller::Config;
use firstflight::signal::rtt::INITIAL_RTT;
use firstflight_path::Path;

/// The hosts of a trial: their transport, sizes and timers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hosts {
    /// QUIC.
    Quic(quic::Host),
    /// TCP.
    Tcp(tcp::Host),
}

impl Default for Hosts {
    fn default() -> Hosts {
        Hosts::Quic(quic::Host::default())
    }
}

impl From<quic::Host> for Hosts {
    fn from(host: quic::Host) -> Hosts {
        Hosts::Quic(host)
    }
}

impl From<tcp::Host> for Hosts {
    fn from(host: tcp::Host) -> Hosts {
        Hosts::Tcp(host)
    }
}

impl Hosts {
    /// These hosts on a path: full packets are as large as its MTU, if it has one. QUIC's are not
    /// smaller than a datagram of 1200 bytes (RFC 9000 section 14), which the links of such a path
    /// refuse.
    #[must_use]
    pub fn on(self, path: &Path) -> Hosts {
        let Some(mtu) = path.mtu() else { return self };
        let mtu = mtu as u32;
        match self {
            Hosts::Quic(host) => {
                let datagram = mtu.saturating_sub(host.lower).max(quic::LEAST_DATAGRAM);
                quic::Host { datagram, ..host }.into()
            }
            Hosts::Tcp(host) => tcp::Host { mss: mtu.saturating_sub(host.header), ..host }.into(),
        }
    }

    /// The transport's name.
    pub const fn transport(&self) -> &'static str {
        match self {
            Hosts::Quic(_) => "quic",
            Hosts::Tcp(_) => "tcp",
        }
    }

    /// The name of the loss detection.
    pub const fn detection(&self) -> &'static str {
        match self {
            Hosts::Quic(_) => "quic",
            Hosts::Tcp(host) => host.preset.name,
        }
    }

    /// Bytes of a full packet as the window counts them.
    pub fn mss(&self) -> u64 {
        match self {
            Hosts::Quic(host) => u64::from(host.datagram),
            Hosts::Tcp(host) => u64::from(host.mss),
        }
    }

    /// IP bytes of a full packet.
    pub fn packet_bytes(&self) -> u32 {
        match self {
            Hosts::Quic(host) => host.datagram + host.lower,
            Hosts::Tcp(host) => host.mss + host.header,
        }
    }

    /// IP bytes of a plain ACK.
    pub fn ack_bytes(&self) -> u32 {
        match self {
            Hosts::Quic(host) => host.ack_packet,
            Hosts::Tcp(host) => host.header,
        }
    }

    /// Packets that the receiver acknowledges together, at least one.
    pub fn ack_every(&self) -> u32 {
        match self {
            Hosts::Quic(host) => host.ack_every,
            Hosts::Tcp(host) => match host.ack_every {
                tcp::AckEvery::Segments(segments) => segments,
                tcp::AckEvery::Bytes(bytes) => bytes.div_ceil(u64::from(host.mss)).max(1) as u32,
            },
        }
    }

    /// Whether the sender asks the receiver for ACKs while packets are in flight.
    pub(crate) fn asks_acks(&self) -> bool {
        matches!(self, Hosts::Quic(host) if host.asks_acks.is_some())
    }

    /// Longest time the receiver holds an ACK back, ns.
    pub fn ack_delay(&self) -> u64 {
        match self {
            Hosts::Quic(host) => host.max_ack_delay,
            Hosts::Tcp(host) => host.ack_delay,
        }
    }

    /// Time until a sender retransmits its first handshake packet.
    pub const fn handshake_timeout(&self) -> Nanos {
        match self {
            // RFC 9002 section 6.2.2: a probe timeout of the initial RTT of 333 ms plus four times
            // its variation, which is half of it.
            Hosts::Quic(_) => Nanos(3 * INITIAL_RTT.0),
            Hosts::Tcp(host) => host.preset.initial_rto,
        }
    }

    /// Configuration for the controller of a connection between them.
    pub fn config(&self) -> Config {
        match self {
            Hosts::Quic(_) => Config::quic(self.mss()),
            Hosts::Tcp(host) => {
                firstflight::with!(Config { sack: host.preset.sack, ..Config::tcp(self.mss()) })
            }
        }
    }
}
