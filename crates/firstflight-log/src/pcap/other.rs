//! Counts the packets of a capture that are not readable TCP segments, and describes them in a
//! sentence.

use std::collections::BTreeMap;
use std::fmt;

/// A packet that is not a readable TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Other {
    /// QUIC, judging by its port.
    Quic,
    /// It may contain TCP, but in an encapsulation that is not read.
    Inside(Why),
    /// A link layer that is not read.
    Link(i32),
    /// A fragment of an IP packet.
    Fragment,
    /// The headers are not in the captured part of the packet.
    Cut,
    /// Something else.
    NoTcp,
}

/// Encapsulation around a TCP segment that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Why {
    Capwap,
    Compressed,
    Deep,
    Gre,
    Ipsec,
    L2tp3,
    Macsec,
    Multilink,
    Wireguard,
}

/// Names of link layers that occur now and then.
const LINKS: [(i32, &str); 24] = [
    (3, "AX.25"),
    (6, "token ring"),
    (7, "ARCNET"),
    (8, "SLIP"),
    (10, "FDDI"),
    (105, "802.11"),
    (107, "frame relay"),
    (119, "802.11 with a Prism header"),
    (127, "802.11 with a radiotap header"),
    (143, "DOCSIS"),
    (163, "802.11 with an AVS header"),
    (187, "Bluetooth"),
    (189, "USB"),
    (192, "PPI"),
    (195, "802.15.4"),
    (201, "Bluetooth"),
    (220, "USB"),
    (226, "Solaris ipnet"),
    (230, "802.15.4"),
    (249, "USB"),
    (253, "netlink"),
    (254, "Bluetooth"),
    (264, "ISO 14443"),
    (272, "nRF sniffer"),
];

impl fmt::Display for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Other::Quic => "of QUIC",
            Other::Inside(why) => return why.fmt(f),
            Other::Link(link) => {
                write!(f, "with link type {link}")?;
                if let Some((_, name)) = LINKS.iter().find(|(known, _)| known == link) {
                    write!(f, " ({name})")?;
                }
                return f.write_str(", which is not supported");
            }
            Other::Fragment => "that are IP fragments, which are not reassembled",
            Other::Cut => "with truncated headers (capture at least 128 bytes of each packet)",
            Other::NoTcp => "without TCP",
        })
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::Capwap => "in CAPWAP, which is not supported",
            Why::Compressed => "that are compressed (PPP, IPComp)",
            Why::Deep => "in too many nested tunnels",
            Why::Gre => "in an unsupported variant of GRE",
            Why::Ipsec => "encrypted by IPsec (ESP): capture outside the tunnel",
            Why::L2tp3 => "in L2TPv3, which is not supported",
            Why::Macsec => "encrypted by MACsec: capture before or after the encrypted link",
            Why::Multilink => "in multilink PPP, which is not supported",
            Why::Wireguard => "encrypted by WireGuard: capture outside the tunnel",
        })
    }
}

/// Number of packets of each kind.
#[derive(Debug, Default)]
pub(super) struct Others(BTreeMap<Other, u64>);

impl Others {
    pub(super) fn add(&mut self, other: Other) {
        *self.0.entry(other).or_default() += 1;
    }

    /// Explains why a capture of `packets` packets has no TCP to read.
    pub(super) fn sentence(&self, packets: u64) -> String {
        let only_others = self.0.keys().all(|other| *other == Other::NoTcp);
        if only_others {
            return format!("{packets} packets, none of them TCP");
        }
        let each: Vec<String> =
            self.0.iter().map(|(other, count)| format!("{count} {other}")).collect();
        let quic = if self.0.contains_key(&Other::Quic) {
            ". QUIC's ACKs are encrypted: a qlog is needed (captures with a key log are not read yet)"
        } else {
            ""
        };
        format!("{packets} packets and no readable TCP: {}{quic}", each.join("; "))
    }
}
