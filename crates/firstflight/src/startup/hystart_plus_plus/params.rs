//! The constants of HyStart++, and the interpretations on which its implementations disagree.
//!
//! Follows: see [`super`].

use crate::named::named;
use crate::options::{Listed, OptionValue, Range, params};
use core::fmt;

named! {
    /// The response to a risen RTT.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Mode {
        /// Conservative slow start, which can return to slow start (RFC 9406).
        #[default]
        Css = "css",
        /// The threshold is set and limited slow start runs alongside avoidance (draft-03).
        Lss = "lss",
    }
}

named! {
    /// The RTT below which conservative slow start was a false alarm.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Baseline {
        /// The round's minimum on entry (RFC 9406). With jitter, CSS may be entered and left
        /// repeatedly.
        #[default]
        CurrentRoundMin = "round",
        /// The RTT threshold for entry: an RTT that would cause entry cannot cause a return.
        EntryThreshold = "entry",
    }
}

named! {
    /// The changes between slow start and CSS after which the next test waits for eight new samples.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum FreshSamples {
        /// After both entry and return.
        #[default]
        Always = "on",
        /// After entry only (like neqo): after a return, the samples that led to it still count.
        OnEntry = "entry",
        /// After neither: all samples of the round count, which is the literal reading.
        Never = "off",
    }
}

named! {
    /// Meaning of windowEnd "is ACKed" (RFC 9406 section 4.2).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum RoundEnd {
        /// Everything below it is acknowledged. windowEnd is set to SND.NXT, which names the next
        /// byte to be sent just as an acknowledgement number names the next byte expected: an ACK
        /// with the number windowEnd says that all data outstanding when the round began has
        /// arrived. That is the round trip that rounds approximate, and the round also ends if the
        /// sender falls silent.
        #[default]
        Reached = "reached",
        /// windowEnd itself is acknowledged (like neqo and msquic, where the mark is the number of
        /// the next packet): one packet later, and never while nothing more is sent.
        Passed = "passed",
        /// NEQO 3506-limbo: the same, and the next round begins only with the next packet sent;
        /// ACKs in between belong to no round. neqo did this until April 2026; the option shows its
        /// cost.
        Limbo = "limbo",
    }
}

named! {
    /// The later slow starts in which HyStart++ runs again. Mode `Lss` never runs again after a
    /// sign of congestion.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Rearm {
        /// Initial slow start only (RFC 9406 section 4.3).
        #[default]
        Never = "never",
        /// After a long idle time, which RFC 9406 permits.
        Idle = "idle",
        /// After a retransmission timeout or persistent congestion (like ngtcp2).
        Rto = "rto",
        /// In every slow start (like neqo).
        Always = "always",
    }
}

params! {
    /// The options of HyStart++.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// RFC 9406 or the draft.
        pub mode: Mode = Mode::Css;
        /// Rounds in CSS before avoidance, including the round of the entry: CSS_ROUNDS (RFC9406
        /// 4.3-5). 0 switches CSS off: the first rise ends startup.
        pub css_rounds: u8 = 5;
        /// Growth in CSS is divided by this: CSS_GROWTH_DIVISOR, at least 2 (RFC9406 4.3-4; 0 counts as 1).
        pub css_divisor: u32 = 4, "divisor" [2..=64] "growth in conservative slow start is divided by this";
        /// The baseline for CSS.
        pub baseline: Baseline = Baseline::CurrentRoundMin, "baseline" [] "RTT baseline that ends conservative slow start; entry cannot oscillate";
        /// The changes between slow start and CSS after which the next test waits for eight new samples.
        pub fresh_samples: FreshSamples = FreshSamples::Always, "fresh" [] "require eight new samples after each phase change, or only on entering CSS";
        /// When a round ends.
        pub round_end: RoundEnd = RoundEnd::Reached, "end" [] "a round ends when all data below its end mark is acknowledged (reached) or the mark too (passed); limbo: as neqo before its issue 3506";
        /// Whether a round without samples keeps the previous round's minimum; otherwise the
        /// following round cannot be judged.
        pub keep_last_min: bool = false, "keep" [] "a round without samples keeps the previous round's minimum";
        /// Whether to judge nothing before the first flight is fully acknowledged: below about 3
        /// Mbit/s the packets of one flight queue behind each other for more than 4 ms.
        pub skip_first_flight: bool = false, "skip" [] "no detection before the first flight is acknowledged";
        /// The RTT is not judged below this many segments; 0 for no limit.
        pub low_cwnd: u64 = 0, "low" [0..=10_000 "segments"] "no detection below this window";
        /// `L`, the segments that one ACK may count when unpaced (default: 8 in TCP as in RFC 9406,
        /// all in QUIC; RFC 3465 has 2).
        pub l: Option<u64> = None, "cap" [off or 1..=64 "segments"] "most segments one ACK may count when unpaced (L)";
        /// Whether LSS rounds `K` down to an integer (like quiche): faster until the window has
        /// grown by a quarter.
        pub int_k: bool = false, "int" [] "round K of limited slow start down";
        /// When HyStart++ runs again.
        pub rearm: Rearm = Rearm::Never, "rearm" [] "when it restarts";
        /// Whether a round in CSS counts only if the window was the limit at least once in it.
        pub css_count_limited: bool = false, "limited" [] "count a conservative round only if the window limited sending";
    }
    preset "mode": Mode [] "RFC 9406, or draft-03's limited slow start until the next congestion",
        of |params| params.mode,
        make Params::of;
    option "css": CssRounds [] "rounds of conservative slow start; off exits at the first rise",
        get |params| Some(CssRounds(params.css_rounds)),
        set |params, rounds| {
            params.css_rounds = rounds.0;
            true
        };
}

impl Params {
    /// RFC 9406.
    pub const RFC9406: Params = Params::DEFAULT;
    /// The individual draft -03 with limited slow start; it does not judge the RTT below 16
    /// segments (LSS low-cwnd).
    pub const DRAFT03: Params = Params { mode: Mode::Lss, low_cwnd: 16, ..Params::RFC9406 };

    fn of(mode: Mode) -> Params {
        match mode {
            Mode::Css => Params::RFC9406,
            Mode::Lss => Params::DRAFT03,
        }
    }
}

/// Rounds of conservative slow start, as an option: `off` disables it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct CssRounds(u8);

impl OptionValue for CssRounds {
    fn parse(text: &str) -> Option<CssRounds> {
        if text == "off" {
            Some(CssRounds(0))
        } else {
            <u8 as OptionValue>::parse(text).filter(|&n| n >= 1).map(CssRounds)
        }
    }
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 { f.write_str("off") } else { self.0.show(f) }
    }
}

impl Listed for CssRounds {
    const VALUES: &'static str = "off, or 1 to 255";
    const RANGE: Range = Range::Whole { off: true, low: 1, high: 255 };
}
