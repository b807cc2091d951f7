//! Congestion marks as a receiver reports them to the sender, with the echo of RFC 3168 or the
//! counter of Accurate ECN (RFC 9768).

use crate::segment::Segment;

/// Data that an ACK newly acknowledges.
#[derive(Clone, Copy, Debug, Default)]
pub struct Covered {
    /// Payload bytes, cumulative and by SACK.
    pub bytes: u64,
    /// The same data in packets.
    pub packets: u64,
    /// The acknowledgement number moved.
    pub advanced: bool,
    /// A later ACK has overtaken this one: its acknowledgement number is lower.
    pub overtaken: bool,
}

/// Marks that an ACK newly reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Number of marked packets; with the echo of RFC 3168, 1 each time the echo starts.
    pub packets: u64,
    /// Payload of the marked packets, where the receiver counts it.
    pub bytes: Option<u64>,
}

/// ECN mode that the ends negotiated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// No SYN was seen. An echo is interpreted as in RFC 3168.
    #[default]
    Unknown,
    /// RFC 3168.
    Echo,
    /// RFC 9768.
    Counter,
    /// No ECN, or implausible feedback.
    Off,
}

/// ECN modes that the SYNs of a connection ask for. A SYN may be repeated without ECN, and either
/// copy may be the one that arrives.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    /// A SYN was seen.
    seen: bool,
    /// RFC 3168, which every SYN for Accurate ECN allows, too.
    echo: bool,
    /// RFC 9768.
    counter: bool,
}

impl Asked {
    /// Takes a SYN. Section 3.1.3 of RFC 9768: flags without a meaning ask for Accurate ECN.
    fn take(&mut self, syn: &Segment) {
        self.seen = true;
        self.echo |= syn.ace() != 0;
        self.counter |= !matches!(syn.ace(), 0b000 | 0b011);
    }

    /// The mode to which a SYN/ACK agrees: table 2 of RFC 9768. The flags of a server that merely
    /// reflects them agree to nothing.
    fn agreed(self, answer: &Segment) -> Mode {
        match answer.ace() {
            0b010 | 0b011 | 0b100 | 0b110 if self.counter || !self.seen => Mode::Counter,
            0b001 | 0b101 if self.echo || !self.seen => Mode::Echo,
            _ => Mode::Off,
        }
    }
}

/// The marks of one direction of a connection, from the segments of its receiver.
#[derive(Clone, Copy, Debug, Default)]
pub struct MarkReader {
    mode: Mode,
    asked: Asked,
    /// Whether the last segment carried the echo.
    echo: bool,
    /// The counter modulo 8, and whether an ACK has moved it.
    counter: Option<u8>,
    counted: bool,
    /// The first value of the counter is known.
    begun: bool,
    /// The receiver opened the connection, and its next segment ends the handshake.
    ends_handshake: bool,
    /// The receiver's timestamp in the last segment that counted.
    stamp: Option<u32>,
    /// The byte counter of the option, and the data since the last option.
    marked_bytes: Option<u32>,
    since: Since,
}

/// Sums since the last Accurate ECN option.
#[derive(Clone, Copy, Debug, Default)]
struct Since {
    marks: u64,
    packets: u64,
    bytes: u64,
    /// An ACK covered enough packets for the counter to have wrapped.
    round: bool,
}

/// The counter's first value (RFC 9768 section 3.2.1).
const FIRST: u8 = 5;
/// Value in the last ACK of a handshake that reports a marked SYN/ACK, which counts as one packet.
const MARKED_ANSWER: u8 = 0b110;
const COUNTS: u64 = 8;

impl MarkReader {
    /// Starts at the first byte of a connection whose SYN was not seen.
    pub fn begin(&mut self) {
        (self.counter, self.begun) = (Some(FIRST), true);
    }

    /// Takes a segment of the sender whose packets are marked.
    pub fn see_own(&mut self, segment: &Segment) {
        self.negotiate(segment);
    }

    /// Takes a segment of the receiver, with or without ACK flag.
    pub fn see_peer(&mut self, segment: &Segment) {
        self.negotiate(segment);
        if segment.syn {
            self.ends_handshake = !segment.has_ack;
        } else if std::mem::take(&mut self.ends_handshake)
            && self.mode == Mode::Counter
            && segment.is_pure_ack()
            && segment.ace() == MARKED_ANSWER
        {
            self.counter = Some(FIRST + 1);
        }
    }

    fn negotiate(&mut self, segment: &Segment) {
        if segment.syn && !segment.has_ack {
            self.asked.take(segment);
        } else if segment.syn && segment.has_ack {
            // A retransmitted SYN/ACK may give up ECN; if the first one arrived, that one counts.
            let mode = self.asked.agreed(segment);
            if mode == Mode::Counter {
                self.begin();
            }
            if self.mode != Mode::Counter {
                self.mode = mode;
            }
        } else if !segment.syn && !segment.rst && segment.ae && self.mode == Mode::Unknown {
            // RFC 3168 leaves this flag 0.
            self.mode = Mode::Counter;
        }
    }

    /// Whether the receiver counts marked packets instead of only echoing.
    pub fn counts(&self) -> bool {
        self.mode == Mode::Counter
    }

    /// Takes a segment of the receiver that acknowledges.
    pub fn on_ack(&mut self, segment: &Segment, covered: &Covered) -> Marks {
        if segment.syn || segment.rst {
            return Marks::default();
        }
        self.negotiate(segment);
        match self.mode {
            Mode::Off => Marks::default(),
            Mode::Unknown | Mode::Echo => {
                let begins = segment.ece && !self.echo;
                self.echo = segment.ece;
                Marks { packets: u64::from(begins), bytes: None }
            }
            Mode::Counter => self.count(segment, covered),
        }
    }

    fn count(&mut self, segment: &Segment, covered: &Covered) -> Marks {
        let stamp = segment.stamps.map(|(value, _)| value);
        let later = self.counted
            && stamp.zip(self.stamp).is_some_and(|(now, last)| now.wrapping_sub(last) as i32 > 0);
        // An ACK without new information may be older than the last one. A later ACK repeats its
        // count.
        if covered.overtaken || !(covered.bytes > 0 || covered.advanced || later) {
            return Marks::default();
        }
        self.stamp = stamp.or(self.stamp);
        let value = segment.ace();
        let counter = self.counter.replace(value);
        let first = !std::mem::replace(&mut self.counted, true);
        // A middlebox clears the flags (RFC 9768 section 3.2.2.4): a true value of 0 would mean
        // three marks, more than there are packets.
        if first && self.begun && value == 0 && covered.packets < 3 {
            self.mode = Mode::Off;
            return Marks::default();
        }
        let Some(counter) = counter else {
            self.marked_bytes = segment.marked_bytes;
            return Marks::default();
        };
        let mut marks = u64::from(value.wrapping_sub(counter) % COUNTS as u8);
        self.since.packets += covered.packets;
        self.since.bytes += covered.bytes;
        self.since.marks += marks;
        self.since.round |= covered.packets >= COUNTS;
        let mut bytes = None;
        if let Some(now) = segment.marked_bytes {
            // The option's counter starts at 0.
            let before = self.marked_bytes.replace(now).or(self.begun.then_some(0));
            let news = before.map(|before| u64::from(now.wrapping_sub(before) & 0xff_ffff));
            let since = std::mem::take(&mut self.since);
            if let Some(news) = news.filter(|news| *news <= since.bytes) {
                let rounds = if since.round { since.rounds(news) } else { 0 };
                marks += COUNTS * rounds;
                bytes = Some(news);
            }
        }
        Marks { packets: marks, bytes: bytes.filter(|bytes| *bytes > 0) }
    }
}

impl Since {
    /// Number of times the counter has wrapped, from the payload of the marked packets: the result
    /// nearest to their share of all packets.
    fn rounds(&self, marked_bytes: u64) -> u64 {
        let packets = (marked_bytes * self.packets).div_ceil(self.bytes.max(1));
        (packets.saturating_sub(self.marks) + COUNTS / 2) / COUNTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(ace: u8) -> Segment {
        let [ae, cwr, ece] = [4, 2, 1].map(|bit| ace & bit != 0);
        Segment { has_ack: true, ae, cwr, ece, ..Segment::default() }
    }

    fn packets(packets: u64) -> Covered {
        Covered { bytes: packets * 1000, packets, advanced: true, overtaken: false }
    }

    /// A receiver that opened the connection, at the end of the handshake.
    fn opened(answer: u8, end: u8) -> MarkReader {
        let mut reader = MarkReader::default();
        reader.see_peer(&Segment { syn: true, has_ack: false, ..flags(7) });
        reader.see_own(&Segment { syn: true, ..flags(answer) });
        reader.see_peer(&flags(end));
        reader
    }

    #[test]
    fn a_counter_that_stands_at_its_first_value_reports_nothing() {
        for answer in [0b010, 0b011, 0b100, 0b110] {
            for end in [0b010, 0b011, 0b100, 0b110] {
                let mut reader = opened(answer, end);
                let first = if end == 0b110 { 6 } else { 5 };
                for step in 0..20 {
                    let marks = reader.on_ack(&flags(first), &packets(2));
                    assert_eq!(marks, Marks::default(), "{answer:03b} {end:03b}, ACK {step}");
                }
                let marks = reader.on_ack(&flags((first + 3) % 8), &packets(3));
                assert_eq!(marks.packets, 3, "several marks in one ACK are several");
            }
        }
    }

    #[test]
    fn other_answers_to_a_syn_leave_the_echo_or_nothing() {
        for (answer, marks) in [(0b001, 1), (0b101, 1), (0b000, 0), (0b111, 0)] {
            let mut reader = opened(answer, 0);
            let all: u64 = [1, 1, 0, 0]
                .map(|ace| reader.on_ack(&flags(ace), &packets(2)).packets)
                .iter()
                .sum();
            assert_eq!(all, marks, "{answer:03b}");
        }
    }

    #[test]
    fn an_answer_agrees_only_to_what_a_syn_asked_for() {
        // The flags of the SYNs, of the SYN/ACK, and the resulting mode.
        for (syns, answer, mode) in [
            (&[0b111][..], 0b010, Mode::Counter),
            (&[0b111], 0b001, Mode::Echo),
            (&[0b111], 0b111, Mode::Off),
            (&[0b101], 0b110, Mode::Counter),
            (&[0b011], 0b001, Mode::Echo),
            (&[0b011], 0b101, Mode::Echo),
            (&[0b011], 0b011, Mode::Off),
            (&[0b011], 0b110, Mode::Off),
            (&[0b000], 0b001, Mode::Off),
            (&[0b000], 0b010, Mode::Off),
            (&[0b111, 0b000], 0b010, Mode::Counter),
            (&[0b111, 0b011], 0b001, Mode::Echo),
            (&[], 0b010, Mode::Counter),
            (&[], 0b001, Mode::Echo),
        ] {
            let mut reader = MarkReader::default();
            for syn in syns {
                reader.see_peer(&Segment { syn: true, has_ack: false, ..flags(*syn) });
            }
            reader.see_own(&Segment { syn: true, ..flags(answer) });
            assert_eq!(reader.mode, mode, "SYNs {syns:?}, SYN/ACK {answer:03b}");
        }
    }

    #[test]
    fn without_a_syn_the_flag_of_accurate_ecn_tells() {
        let mut reader = MarkReader::default();
        reader.see_own(&flags(5));
        assert_eq!(reader.on_ack(&flags(3), &packets(2)).packets, 0, "it began before");
        assert_eq!(reader.on_ack(&flags(4), &packets(2)).packets, 1);
        let mut echo = MarkReader::default();
        assert_eq!(echo.on_ack(&flags(1), &packets(2)).packets, 1, "RFC 3168");
    }

    #[test]
    fn an_ack_that_is_not_newer_counts_nothing_and_loses_nothing() {
        let mut reader = opened(0b010, 0b010);
        reader.on_ack(&flags(5), &packets(2));
        reader.on_ack(&flags(7), &packets(2));
        let old = Covered::default();
        assert_eq!(reader.on_ack(&flags(6), &old).packets, 0, "it was overtaken");
        assert_eq!(reader.on_ack(&flags(0), &packets(2)).packets, 1, "from 7 to 0");
    }

    #[test]
    fn flags_that_are_cleared_on_the_way_are_no_marks() {
        let mut reader = opened(0b010, 0b010);
        for _ in 0..5 {
            assert_eq!(reader.on_ack(&flags(0), &packets(2)).packets, 0);
        }
        assert_eq!(opened(0b010, 0b010).on_ack(&flags(0), &packets(3)).packets, 3);
    }

    #[test]
    fn marked_bytes_tell_how_often_the_counter_went_round() {
        for marked in 0..=60_u64 {
            let mut reader = opened(0b010, 0b010);
            let count = |marks: u64| ((5 + marks) % 8) as u8;
            let ack = Segment { marked_bytes: Some(marked as u32 * 1000), ..flags(count(marked)) };
            let marks = reader.on_ack(&ack, &packets(60));
            let bytes = (marked > 0).then_some(marked * 1000);
            assert_eq!(marks, Marks { packets: marked, bytes });
            // The option comes with a later ACK, and its counter wraps.
            reader.marked_bytes = Some(0xff_fff0);
            let next = reader.on_ack(&flags(count(2 * marked)), &packets(60)).packets;
            let wrapped = (0xff_fff0 + marked as u32 * 1000) & 0xff_ffff;
            let ack = Segment { marked_bytes: Some(wrapped), ..flags(count(2 * marked + 1)) };
            let last = reader.on_ack(&ack, &packets(1)).packets;
            assert!((next + last).abs_diff(marked + 1) < 1, "{marked}: {next} and {last}");
        }
    }
}
