//! The vantage and quality record of a captured connection: where the capture was taken, whether it
//! is complete, and whether its numbers can be trusted. It is made from evidence in the capture
//! ([`crate::pcap`]) and decides how the connection is used (`docs/replay.md`).

use serde::Serialize;

/// Position of a capture as seen from the sender of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Vantage {
    /// At the sender.
    Sender,
    /// At the receiver.
    Receiver,
    /// Between the two.
    Middle,
    /// The evidence does not decide.
    Unknown,
}

impl Vantage {
    /// Name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Vantage::Sender => "sender",
            Vantage::Receiver => "receiver",
            Vantage::Middle => "middle",
            Vantage::Unknown => "unknown",
        }
    }
}

/// Whether the numbers of a connection can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// They can.
    Sound,
    /// They are shown and marked; populations and advice use them only on request.
    Doubtful,
    /// They would be wrong, so the connection is left out.
    Refused,
}

impl Trust {
    /// Name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Trust::Sound => "sound",
            Trust::Doubtful => "doubtful",
            Trust::Refused => "refused",
        }
    }
}

/// The record. Unknown values are null.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quality {
    /// Whether the numbers can be trusted.
    pub trust: Trust,
    /// Position of the capture.
    pub vantage: Vantage,
    /// Fraction of the RTT that lies between the capture and the sender.
    pub share: Option<f64>,
    /// The sender's shortest response time to a packet that passed the capture, ms.
    pub near_ms: Option<f64>,
    /// The receiver's shortest response time, ms.
    pub far_ms: Option<f64>,
    /// The near half of the RTT, added to the RTTs seen in the capture, ms.
    pub added_ms: f64,
    /// The evidence for the vantage, one sentence each.
    pub evidence: Vec<String>,
    /// The capture contains the first byte of the connection.
    pub begins: bool,
    /// Number of frames that were captured twice; the copies are dropped.
    pub doubled: u64,
    /// Number of frames that may be copies but cannot be identified as such; they are kept.
    pub doubled_unsure: u64,
    /// Number of frames that were out of order in the file.
    pub out_of_order: u64,
    /// Bytes that were sent but are not in the capture.
    pub unseen_bytes: u64,
    /// Number of frames whose TCP options were cut off.
    pub options_cut: u64,
    /// The step of the capture's clock, ms; null if it is too fine to matter.
    pub tick_ms: Option<f64>,
    /// Number of clock steps that were removed.
    pub clock_steps: u64,
    /// The largest of these steps, ms; negative if the clock went back.
    pub largest_step_ms: Option<f64>,
    /// Time from data to its ACK when a proxy responds for the receiver, ms.
    pub proxy_ms: Option<f64>,
    /// Bytes in the other direction, which are left out.
    pub left_out_bytes: u64,
    /// Startup exits can be determined from this capture.
    pub shows_exits: bool,
    /// The RTT can be determined: the clock is fine enough.
    pub shows_rtt: bool,
    /// The part of the near half that still has to be added to RTTs, ns.
    #[serde(skip)]
    pub to_add_ns: u64,
    /// Faults, one sentence each.
    pub remarks: Vec<String>,
}

impl Quality {
    /// The faults in one line; `None` if there are none.
    pub fn line(&self) -> Option<String> {
        (!self.remarks.is_empty()).then(|| {
            let mark = if self.trust == Trust::Doubtful { "doubtful: " } else { "" };
            format!("{mark}{}", self.remarks.join("; "))
        })
    }

    /// The largest clock step that hides smaller values, ns.
    pub fn tick_ns(&self) -> u64 {
        self.tick_ms.map_or(0, |tick| (tick * 1e6) as u64)
    }
}

/// Bytes in readable form: `8.7 kB`.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", digits(bytes as f64 / 1e3)),
        1_000_000..1_000_000_000 => format!("{} MB", digits(bytes as f64 / 1e6)),
        _ => format!("{} GB", digits(bytes as f64 / 1e9)),
    }
}

/// Milliseconds in readable form.
pub fn time(ms: f64) -> String {
    if ms.abs() >= 10_000.0 {
        format!("{} s", digits(ms / 1e3))
    } else {
        format!("{} ms", digits(ms))
    }
}

/// At most three significant digits.
fn digits(value: f64) -> String {
    match value.abs() {
        x if x >= 99.95 => format!("{value:.0}"),
        x if x >= 9.995 => format!("{value:.1}").trim_end_matches(".0").to_owned(),
        x if x >= 0.995 => format!("{value:.1}").trim_end_matches(".0").to_owned(),
        _ => format!("{value:.3}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}
