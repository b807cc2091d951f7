//! Options of the sender, not of an algorithm: `@(iw=30,pace=off)`.

use crate::controller::{Ending, Increase, Relapse};
use crate::detection::early_retransmit;
use crate::detection::ecn::Ecn;
use crate::detection::presets::Preset;
use crate::hint::{Advice, Hint};
use crate::named::named;
use crate::options::{OptionDoc, Options, Range, params};
use crate::units::{Nanos, Rate, Ratio};

params! {
    /// Options of the sender, not of an algorithm.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct SenderParams {
        /// Initial window in packets (default: the experiment's).
        pub iw: Option<u32> = None, "iw" [some 1..=1000 "packets"] "initial window";
        /// Whether the sender is paced (default: the transport's).
        pub pace: Option<Pace> = None, "pace" [some of Pace] "spread packets over the round trip";
        /// Depth of the pacer's bucket in packets (default: the experiment's).
        pub burst: Option<u32> = None, "burst" [some 1..=1000 "packets"] "depth of the pacer's bucket";
        /// Largest pacing rate, as the socket option `SO_MAX_PACING_RATE` sets it (default: none).
        pub max_rate: Option<Rate> = None,
            "maxrate" [some "a rate such as 20Mbit, 1kbit to 1000Gbit" if |rate: Rate| (125..=125_000_000_000).contains(&rate.0)]
            "largest pacing rate; also paces a sender that is not paced otherwise, as SO_MAX_PACING_RATE does";
        /// Pacing gain in ordinary recovery (default: 5/4).
        pub recovery_gain: Option<Ratio> = None,
            "recgain" [some "1 to 4" if |gain: Ratio| gain.num() >= gain.den() && gain.num() <= 4 * gain.den(); Range::Fraction { off: false, low: "1", high: "4" }] "pacing gain in ordinary recovery";
        /// Loss detection of a TCP sender (default: the experiment's).
        pub detection: Option<&'static Preset> = None, "detection" [some of &'static Preset] "loss detection of a TCP sender";
        /// Early retransmit, if the detection preset leaves it to the arm.
        pub early: Option<early_retransmit::Options> = None, "early" ["off, naive, a, b, ab"; Range::Words]
            "early retransmit with detection linux26: no guard, off after reordering (a), delayed by RTT/4 (b)";
        /// ACKs per round trip that a QUIC sender requests from its receiver
        /// (draft-ietf-quic-ack-frequency) (default: no request).
        pub acks: Option<u32> = None, "acks" [some 1..=100 "ACKs per round trip"]
            "ask a QUIC receiver for so many ACKs per round trip (ACK_FREQUENCY)";
        /// Use of ECN by a QUIC sender (default: its packets can be marked wherever the path marks).
        pub ecn: Option<Ecn> = None, "ecn" [some of Ecn]
            "ECN of a QUIC sender: validation by RFC 9000, this and quic-go's rule for paths that mark everything, or no ECN";
        /// Longest retransmission timeout of a TCP sender (default: 120 s, or 60 s by RFC 6298; as the
        /// hosts' loss detection has it).
        pub rto_max: Option<Nanos> = None,
            "rtomax" [some "a time such as 300s, 1s to 86400s" if |most: Nanos| (1_000_000_000..=86_400_000_000_000).contains(&most.0)]
            "longest retransmission timeout of a TCP sender, as TCP_RTO_MAX_MS: 120s in Linux, 60s in RFC 6298";
        /// Which windows may grow although they are not filled.
        pub increase: Option<Increase> = None, "increase" [some of Increase]
            "which windows grow: used ones by RFC 9002 (QUIC's default) or Linux (TCP's and profile=linux), those within reach of the largest flight, or these to the letter of the draft";
        /// Maximum number of segments of one ACK that slow start counts (default: all).
        pub count: Option<u32> = None, "count" [some 1..=64 "segments"]
            "most that slow start counts of one ACK: 1 in RFC 5681, 2 in RFC 3465; all by default, as Linux";
        /// Which losses of new data during a TCP recovery start another recovery (default: as
        /// specified by the arm's parts).
        pub relapse: Option<Relapse> = None, "relapse" [some of Relapse]
            "second cut after a TCP recovery: for new data declared lost in it (RFC 5681), or for what is outstanding of it (Linux)";
        /// Whether the ACK that ends a TCP recovery grows the window.
        pub ending: Ending = Ending::Grows, "ending" []
            "the ACK that ends a TCP recovery grows the window (Linux) or only sets it (RFC 6582)";
        /// A hint about the path's rate (default: none).
        pub hint: Option<Hint> = None,
            "hint" [some "SOURCE:RATE or SOURCE:RATE:AGE, such as saved:20Mbit:600s; sources saved, prefix, scone" if |hint: Hint| hint.rate.0 > 0]
            "rate that earlier connections measured (saved, prefix: careful and rapid(hint=on) may jump) or that the network advises (scone: with advice=)";
        /// Whether a QUIC receiver reports when packets arrived (draft-ietf-quic-receive-ts).
        pub receive_ts: bool = false, "receivets" []
            "ask a QUIC receiver when packets arrived, so that RTT samples are without the delay of ACKs";
        /// Use of the network's advice.
        pub advice: Advice = Advice::Off, "advice" []
            "SCONE advice of the path or of hint=scone: ignored, the end of startup at its BDP, or also the largest pacing rate";
    }
}

named! {
    /// Whether the sender is paced.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Pace {
        /// Packets leave at the pacing rate.
        On = "on",
        /// Packets leave as soon as the window allows.
        Off = "off",
    }
}

impl SenderParams {
    /// Every sender option.
    pub const DOCS: &'static [OptionDoc] = <SenderParams as Options>::DOCS;
}
