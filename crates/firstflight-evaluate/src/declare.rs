//! The author's declarations about an algorithm, in TOML, and their check against its behaviour.

use crate::battery::Battery;
use crate::schema::parse;
use crate::wire;
use firstflight::controller::Config;
use firstflight::startup::SlowStart;
use firstflight::{Seq, Time};
use firstflight_lab::{NamedArm, Sender};
use firstflight_path::Error;
use serde::{Deserialize, Serialize};

/// Response to marks, which decides the ECN codepoint of the algorithm's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ecn {
    /// A mark counts as a loss (RFC 3168, RFC 8511): ECT(0).
    Ect0,
    /// The share of marks counts (RFC 9331): ECT(1).
    Ect1,
}

/// Results of checking a declaration's claims, each with its key and value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checked {
    /// Claims confirmed on the wire, with the observation.
    pub(crate) right: Vec<String>,
    /// Contradictions, as sentences whose subject is the algorithm.
    pub(crate) wrong: Vec<String>,
    /// Claims that cannot be observed, or not clearly.
    pub(crate) unchecked: Vec<String>,
}

impl Checked {
    fn add(&mut self, claim: &str, what: &str, agrees: Option<bool>) {
        match agrees {
            Some(true) => self.right.push(format!("{claim} (it {what})")),
            Some(false) => self.wrong.push(format!("{what}, but `{claim}` is declared")),
            None => self.unchecked.push(format!("{claim} (it {what}: unclear)")),
        }
    }

    /// Lines for the notes of a report.
    pub(crate) fn notes(&self) -> Vec<String> {
        let line = |what: &str, claims: &[String]| {
            (!claims.is_empty()).then(|| format!("{what}: {}.", claims.join("; ")))
        };
        let lines = [
            line("Declared, checked on the wire", &self.right),
            line("Declared, not checked", &self.unchecked),
        ];
        lines.into_iter().flatten().collect()
    }
}

/// A declaration; `None` means not declared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Declaration {
    /// Response to marks, and the codepoint that it sends.
    pub ecn: Option<Ecn>,
    /// Maximum number of packets that it sends before the first acknowledgement.
    pub initial_window: Option<u64>,
    /// Whether it sends less when packets are lost.
    pub reacts_to_loss: Option<bool>,
    /// Whether it sends less when packets are marked.
    pub reacts_to_marks: Option<bool>,
    /// Whether it spreads its packets over the round trip.
    pub paced: Option<bool>,
    /// Whether it uses delay as a congestion signal.
    pub delay_based: Option<bool>,
    /// Whether receivers must change, too.
    pub receiver_change: Option<bool>,
    /// Whether it sends on several paths.
    pub multipath: Option<bool>,
    /// Whether it is only for networks under one administration.
    pub controlled_environment: Option<bool>,
    /// Sections of the RFC that it is not designed for; they are not run.
    pub excludes: Vec<String>,
}

impl Declaration {
    /// Parses a file's text; sections are those of this battery.
    ///
    /// # Errors
    /// One line that names the file, and the wrong line or the unknown section.
    pub fn parse(file: &str, text: &str, battery: &Battery) -> Result<Declaration, Error> {
        let declaration: Declaration = parse(file, text)?;
        declaration
            .excluding(&[], battery)
            .map_err(|bad| Error::new(format!("{file}: excludes: {bad}")))
    }

    /// Excludes more sections; the result has their full names.
    ///
    /// # Errors
    /// One line if a section does not exist.
    pub fn excluding(self, more: &[String], battery: &Battery) -> Result<Declaration, Error> {
        let words: Vec<String> = self.excludes.iter().chain(more).cloned().collect();
        let chosen = if words.is_empty() { Vec::new() } else { battery.select(&words)? };
        let name = |index: usize| battery.criteria[index].criterion.clone();
        Ok(Declaration { excludes: chosen.into_iter().map(name).collect(), ..self })
    }

    /// Checks the declared properties that are visible on the wire, with short simulator runs.
    ///
    /// # Errors
    /// If the simulator cannot run it.
    pub(crate) fn checked(&self, arm: &NamedArm) -> Result<Checked, Error> {
        let mut checked = Checked::default();
        checked.wrong.extend(self.codepoint(arm));
        if self.ecn.is_some() && checked.wrong.is_empty() {
            checked.right.push("ecn".to_owned());
        }
        if let Some(most) = self.initial_window {
            let sends = wire::initial_window(arm)?;
            let what = format!("sends {sends} packets before the first acknowledgement");
            checked.add(&format!("initial_window = {most}"), &what, Some(sends <= most));
        }
        if let Some(paced) = self.paced {
            let (burst, is_paced) = wire::largest_burst(arm)?;
            let what = format!("sends up to {burst} packets at once when ACKs arrive every 40 ms");
            checked.add(&format!("paced = {paced}"), &what, Some(is_paced == paced));
        }
        let reactions = [
            ("reacts_to_loss", self.reacts_to_loss, "dropped", wire::kept_at_loss as fn(_) -> _),
            ("reacts_to_marks", self.reacts_to_marks, "marked", wire::kept_at_marks),
        ];
        for (name, declared, fate, kept) in reactions {
            let Some(declared) = declared else { continue };
            let kept: u64 = kept(arm)?;
            let what =
                format!("sends {kept} % of its usual packets when a tenth of them are {fate}");
            let reacts = match kept {
                0..=50 => Some(true),
                51..=90 => None,
                _ => Some(false),
            };
            checked.add(
                &format!("{name} = {declared}"),
                &what,
                reacts.map(|does| does == declared),
            );
        }
        checked.unchecked.extend(self.unseen());
        Ok(checked)
    }

    /// Declared properties that are not visible on the wire.
    pub(crate) fn unseen(&self) -> Vec<String> {
        let all = [
            ("delay_based", self.delay_based),
            ("receiver_change", self.receiver_change),
            ("multipath", self.multipath),
            ("controlled_environment", self.controlled_environment),
        ];
        all.into_iter().filter_map(|(name, what)| Some(format!("{name} = {}", what?))).collect()
    }

    /// All declared properties, for a run in which none was checked.
    pub(crate) fn unlooked(&self) -> Vec<String> {
        let yes_no = |name: &str, what: Option<bool>| Some(format!("{name} = {}", what?));
        let window = self.initial_window.map(|packets| format!("initial_window = {packets}"));
        let ecn = self.ecn.map(|ecn| format!("ecn = {ecn:?}").to_lowercase());
        let all = [
            ecn,
            window,
            yes_no("paced", self.paced),
            yes_no("reacts_to_loss", self.reacts_to_loss),
            yes_no("reacts_to_marks", self.reacts_to_marks),
        ];
        all.into_iter().flatten().chain(self.unseen()).collect()
    }

    /// A sentence if it sends a different codepoint than declared.
    fn codepoint(&self, arm: &NamedArm) -> Vec<String> {
        let (declared, sends) = match (self.ecn, sends_ect1(arm)) {
            (Some(Ecn::Ect1), Some(false)) => {
                ("ecn = \"ect1\"", "sends ECT(0) and treats a mark as a loss")
            }
            (Some(Ecn::Ect0), Some(true)) => {
                ("ecn = \"ect0\"", "sends ECT(1) and responds to the share of marks")
            }
            _ => return Vec::new(),
        };
        vec![format!("{sends}, but `{declared}` is declared")]
    }

    /// The declaration as a sentence for a report; `None` if nothing is declared.
    pub(crate) fn sentence(&self) -> Option<String> {
        let yes_no = |what: Option<bool>, yes: &str, no: &str| {
            what.map(|what| if what { yes } else { no }.to_owned())
        };
        let ecn = self.ecn.map(|ecn| match ecn {
            Ecn::Ect0 => "marks are treated as losses, ECT(0)".to_owned(),
            Ecn::Ect1 => "it responds to the share of marks, ECT(1)".to_owned(),
        });
        let window = self.initial_window;
        let all = [
            ecn,
            window.map(|packets| format!("an initial window of {packets} packets")),
            yes_no(self.reacts_to_loss, "it reacts to loss", "it does not react to loss"),
            yes_no(self.reacts_to_marks, "it reacts to marks", "it does not react to marks"),
            yes_no(self.paced, "paced", "not paced"),
            yes_no(self.delay_based, "delay is a signal", "delay is not a signal"),
            yes_no(self.receiver_change, "receivers must be changed", "receivers need no change"),
            yes_no(self.multipath, "several paths", "one path"),
            yes_no(
                self.controlled_environment,
                "for controlled environments only",
                "for the Internet",
            ),
            (!self.excludes.is_empty())
                .then(|| format!("not designed for {}", self.excludes.join(", "))),
        ];
        let said: Vec<String> = all.into_iter().flatten().collect();
        (!said.is_empty()).then(|| format!("Declared by the author: {}.", said.join("; ")))
    }
}

/// Whether the simulator sends this arm's packets as ECT(1), if the path supports ECN; `None` if the arm is not
/// one of ours.
pub(crate) fn sends_ect1(arm: &NamedArm) -> Option<bool> {
    let (Sender::Arm(parts) | Sender::Own { rest: parts, .. }) = &arm.sender else { return None };
    Some(parts.controller_with(SlowStart, Config::quic(1_200), Time(0), Seq(0)).is_l4s())
}
