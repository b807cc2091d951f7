//! What the author of an algorithm declares of it: a file of TOML, and what contradicts it.

use crate::battery::Battery;
use crate::schema::parse;
use crate::wire;
use firstflight::controller::Config;
use firstflight::startup::SlowStart;
use firstflight::{Seq, Time};
use firstflight_lab::{NamedArm, Sender};
use firstflight_path::Error;
use serde::{Deserialize, Serialize};

/// Response of an algorithm to marks, which decides the ECN field of its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ecn {
    /// A mark is as a loss (RFC 3168, RFC 8511): ECT(0).
    Ect0,
    /// The share of marks counts (RFC 9331): ECT(1).
    Ect1,
}

/// What became of a declaration's claims, each with its key and value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checked {
    /// Those that the wire bears out, with what it shows.
    pub(crate) right: Vec<String>,
    /// What it does that was declared otherwise, as sentences about it.
    pub(crate) wrong: Vec<String>,
    /// Those that nobody can see there, or not clearly.
    pub(crate) unchecked: Vec<String>,
}

impl Checked {
    fn add(&mut self, claim: &str, what: &str, agrees: Option<bool>) {
        match agrees {
            Some(true) => self.right.push(format!("{claim} (it {what})")),
            Some(false) => self.wrong.push(format!("{what}, where `{claim}` is declared")),
            None => self.unchecked.push(format!("{claim} (it {what}: neither)")),
        }
    }

    /// For the notes of a report.
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

/// A declaration. What is left out is not declared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Declaration {
    /// Which codepoint it sends.
    pub ecn: Option<Ecn>,
    /// Packets that it sends before it hears of any, at most.
    pub initial_window: Option<u64>,
    /// It sends less when packets are lost.
    pub reacts_to_loss: Option<bool>,
    /// It sends less when packets are marked.
    pub reacts_to_marks: Option<bool>,
    /// It spreads its packets over the round trip.
    pub paced: Option<bool>,
    /// Delay is a signal of congestion to it.
    pub delay_based: Option<bool>,
    /// Receivers have to be changed, too.
    pub receiver_change: Option<bool>,
    /// It sends on several paths.
    pub multipath: Option<bool>,
    /// It is for networks under one administration only.
    pub controlled_environment: Option<bool>,
    /// Sections of the RFC that it is not made for: not run.
    pub excludes: Vec<String>,
}

impl Declaration {
    /// Of a file's text; sections are those of this battery.
    ///
    /// # Errors
    /// One line that names the file, and the line in it or the section that there is not.
    pub fn parse(file: &str, text: &str, battery: &Battery) -> Result<Declaration, Error> {
        let declaration: Declaration = parse(file, text)?;
        declaration
            .excluding(&[], battery)
            .map_err(|bad| Error::new(format!("{file}: excludes: {bad}")))
    }

    /// The same with more sections excluded, by their full names.
    ///
    /// # Errors
    /// One line if there is no such section.
    pub fn excluding(self, more: &[String], battery: &Battery) -> Result<Declaration, Error> {
        let words: Vec<String> = self.excludes.iter().chain(more).cloned().collect();
        let chosen = if words.is_empty() { Vec::new() } else { battery.select(&words)? };
        let name = |index: usize| battery.criteria[index].criterion.clone();
        Ok(Declaration { excludes: chosen.into_iter().map(name).collect(), ..self })
    }

    /// What of it shows on the wire, held against that: short runs of the simulator for what is declared.
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
            let what =
                format!("sends up to {burst} packets at one time where ACKs come every 40 ms");
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
                format!("sends {kept} % of its usual packets where a tenth of them is {fate}");
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

    /// What is declared and does not show on the wire.
    pub(crate) fn unseen(&self) -> Vec<String> {
        let all = [
            ("delay_based", self.delay_based),
            ("receiver_change", self.receiver_change),
            ("multipath", self.multipath),
            ("controlled_environment", self.controlled_environment),
        ];
        all.into_iter().filter_map(|(name, what)| Some(format!("{name} = {}", what?))).collect()
    }

    /// What shows on the wire, where nobody looked.
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

    /// It sends another codepoint than was declared: a sentence about it.
    fn codepoint(&self, arm: &NamedArm) -> Vec<String> {
        let (declared, sends) = match (self.ecn, sends_ect1(arm)) {
            (Some(Ecn::Ect1), Some(false)) => {
                ("ecn = \"ect1\"", "sends ECT(0) and answers a mark as a loss")
            }
            (Some(Ecn::Ect0), Some(true)) => {
                ("ecn = \"ect0\"", "sends ECT(1) and answers the share of marks")
            }
            _ => return Vec::new(),
        };
        vec![format!("{sends}, where `{declared}` is declared")]
    }

    /// As a sentence of a report; nothing where nothing is declared.
    pub(crate) fn sentence(&self) -> Option<String> {
        let yes_no = |what: Option<bool>, yes: &str, no: &str| {
            what.map(|what| if what { yes } else { no }.to_owned())
        };
        let ecn = self.ecn.map(|ecn| match ecn {
            Ecn::Ect0 => "marks count as losses, ECT(0)".to_owned(),
            Ecn::Ect1 => "the share of marks counts, ECT(1)".to_owned(),
        });
        let window = self.initial_window;
        let all = [
            ecn,
            window.map(|packets| format!("an initial window of {packets} packets")),
            yes_no(self.reacts_to_loss, "it reacts to loss", "it does not react to loss"),
            yes_no(self.reacts_to_marks, "it reacts to marks", "it does not react to marks"),
            yes_no(self.paced, "paced", "not paced"),
            yes_no(self.delay_based, "delay is a signal", "delay is no signal"),
            yes_no(
                self.receiver_change,
                "receivers have to be changed",
                "receivers stay as they are",
            ),
            yes_no(self.multipath, "several paths", "one path"),
            yes_no(
                self.controlled_environment,
                "for controlled environments only",
                "for the Internet",
            ),
            (!self.excludes.is_empty())
                .then(|| format!("not made for {}", self.excludes.join(", "))),
        ];
        let said: Vec<String> = all.into_iter().flatten().collect();
        (!said.is_empty()).then(|| format!("Declared by the author: {}.", said.join("; ")))
    }
}

/// Whether it sends ECT(1) where the path lets it, as the simulator does it; `None` of those that are
/// not ours.
pub(crate) fn sends_ect1(arm: &NamedArm) -> Option<bool> {
    let (Sender::Arm(parts) | Sender::Own { rest: parts, .. }) = &arm.sender else { return None };
    Some(parts.controller_with(SlowStart, Config::quic(1_200), Time(0), Seq(0)).is_l4s())
}
