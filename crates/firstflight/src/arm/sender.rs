//! What belongs to the sender and not to an algorithm: `@(iw=30,pace=off)`.

use crate::controller::{Ending, Increase, Relapse};
use crate::detection::early_retransmit;
use crate::detection::presets::Preset;
use crate::named::named;
use crate::options::{OptionDoc, Options, params};
use crate::units::Ratio;

params! {
    /// What belongs to the sender, not to an algorithm.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct SenderParams {
        /// Initial window in packets, if not the experiment's.
        pub iw: Option<u32> = None, "iw" [some 1..=1000 "packets"] "initial window";
        /// Paced or not, if not the transport's default.
        pub pace: Option<Pace> = None, "pace" [some of Pace] "spread packets over the round trip";
        /// Depth of the pacer's bucket in packets, if not the experiment's.
        pub burst: Option<u32> = None, "burst" [some 1..=1000 "packets"] "depth of the pacer's bucket";
        /// Pacing gain in ordinary recovery, if not 5/4.
        pub recovery_gain: Option<Ratio> = None,
            "recgain" [some "1 to 4" if |gain: Ratio| gain.num() >= gain.den() && gain.num() <= 4 * gain.den()] "pacing gain in ordinary recovery";
        /// Loss detection of a TCP sender, if not the experiment's.
        pub detection: Option<&'static Preset> = None, "detection" [some of &'static Preset] "loss detection of a TCP sender";
        /// Early retransmit, where the detection leaves it to the arm.
        pub early: Option<early_retransmit::Options> = None, "early" ["off, naive, a, b, ab"]
            "early retransmit with detection linux26: no guard, off after reordering (a), delayed by RTT/4 (b)";
        /// ACKs per round trip that a QUIC sender asks its receiver for
        /// (draft-ietf-quic-ack-frequency), if it asks.
        pub acks: Option<u32> = None, "acks" [some 1..=100 "ACKs per round trip"]
            "ask a QUIC receiver for so many ACKs per round trip (ACK_FREQUENCY)";
        /// Which windows may grow that are not filled.
        pub increase: Option<Increase> = None, "increase" [some of Increase]
            "which windows grow: used ones by RFC 9002 (QUIC's default) or Linux (TCP's and profile=linux), those within reach of the largest flight, or these to the letter of the draft";
        /// Segments that slow start counts of one ACK at most, if not all.
        pub count: Option<u32> = None, "count" [some 1..=64 "segments"]
            "most that slow start counts of one ACK: 1 in RFC 5681, 2 in RFC 3465; all by default, as Linux";
        /// Which new data lost in a TCP recovery opens another, if not what the arm's parts follow.
        pub relapse: Option<Relapse> = None, "relapse" [some of Relapse]
            "second cut after a TCP recovery: for new data declared lost in it (RFC 5681), or for what is outstanding of it (Linux)";
        /// Growth by the ACK that ends a TCP recovery.
        pub ending: Ending = Ending::Grows, "ending" []
            "the ACK that ends a TCP recovery grows the window (Linux) or only sets it (RFC 6582)";
    }
}

named! {
    /// Paced or not.
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
