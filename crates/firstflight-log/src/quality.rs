//! The vantage and quality record of a captured connection: where the capture was taken, whether it
//! is whole, and whether its numbers may be believed. It is made from evidence in the capture
//! ([`crate::pcap`]), and every consequence is drawn from it (`docs/replay.md`).

use serde::Serialize;

/// Where a capture was taken, as seen from the sender of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Vantage {
    /// At the sender.
    Sender,
    /// At the receiver.
    Receiver,
    /// Between both.
    Middle,
    /// The evidence does not decide.
    Unknown,
}

impl Vantage {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Vantage::Sender => "sender",
            Vantage::Receiver => "receiver",
            Vantage::Middle => "middle",
            Vantage::Unknown => "unknown",
        }
    }
}

/// Whether the numbers of a connection may be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// They may.
    Sound,
    /// They are shown and marked; populations and advice take them only on request.
    Doubtful,
    /// They would be wrong: the connection is left out.
    Refused,
}

impl Trust {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Trust::Sound => "sound",
            Trust::Doubtful => "doubtful",
            Trust::Refused => "refused",
        }
    }
}

/// The record. What is not known is null.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quality {
    /// Whether the numbers may be believed.
    pub trust: Trust,
    /// Where the capture was taken.
    pub vantage: Vantage,
    /// The part of the RTT that lies between the capture and the sender.
    pub share: Option<f64>,
    /// The sender's shortest answer to a packet that passed the capture, ms.
    pub near_ms: Option<f64>,
    /// The receiver's shortest answer, ms.
    pub far_ms: Option<f64>,
    /// The near half that RTTs contain in addition to what the capture shows, ms.
    pub added_ms: f64,
    /// The evidence for the vantage, one sentence each.
    pub evidence: Vec<String>,
    /// The capture holds the first byte of the connection.
    pub begins: bool,
    /// Frames that were captured twice and dropped.
    pub doubled: u64,
    /// Frames that may be copies but that nothing identifies; they are kept.
    pub doubled_unsure: u64,
    /// Frames that were out of order in the file.
    pub out_of_order: u64,
    /// Bytes that were sent but are not in the capture.
    pub unseen_bytes: u64,
    /// Frames whose TCP options were cut off.
    pub options_cut: u64,
    /// The step in which the capture's clock counts, ms; null if it is too fine to matter.
    pub tick_ms: Option<f64>,
    /// Steps of the clock that were taken out.
    pub clock_steps: u64,
    /// The largest of them, ms; negative: the clock went back.
    pub largest_step_ms: Option<f64>,
    /// A proxy answers for the receiver: its ACKs take this long, ms.
    pub proxy_ms: Option<f64>,
    /// Bytes that came the other way and are left out.
    pub left_out_bytes: u64,
    /// Exits of startups can be told from this capture.
    pub shows_exits: bool,
    /// The RTT can be told: the clock is fine enough.
    pub shows_rtt: bool,
    /// The rest of the near half, which RTTs are to grow by, ns.
    #[serde(skip)]
    pub to_add_ns: u64,
    /// Faults, one sentence each.
    pub remarks: Vec<String>,
}

impl Quality {
    /// Faults in one line; `None` without any.
    pub fn line(&self) -> Option<String> {
        (!self.remarks.is_empty()).then(|| {
            let mark = if self.trust == Trust::Doubtful { "doubtful: " } else { "" };
            format!("{mark}{}", self.remarks.join("; "))
        })
    }

    /// The largest step of the clock that hides values below it, ns.
    pub fn tick_ns(&self) -> u64 {
        self.tick_ms.map_or(0, |tick| (tick * 1e6) as u64)
    }
}

/// Bytes as a person reads them: `8.7 kB`.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", digits(bytes as f64 / 1e3)),
        1_000_000..1_000_000_000 => format!("{} MB", digits(bytes as f64 / 1e6)),
        _ => format!("{} GB", digits(bytes as f64 / 1e9)),
    }
}

/// Milliseconds as a person reads them.
pub fn time(ms: f64) -> String {
    if ms.abs() >= 10_000.0 {
        format!("{} s", digits(ms / 1e3))
    } else {
        format!("{} ms", digits(ms))
    }
}

/// Three digits that matter at most.
fn digits(value: f64) -> String {
    match value.abs() {
        x if x >= 99.95 => format!("{value:.0}"),
        x if x >= 9.995 => format!("{value:.1}").trim_end_matches(".0").to_owned(),
        x if x >= 0.995 => format!("{value:.1}").trim_end_matches(".0").to_owned(),
        _ => format!("{value:.3}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}
