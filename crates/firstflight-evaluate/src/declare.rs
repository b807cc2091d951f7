//! What the author of an algorithm declares of it: a file of TOML, and what contradicts it.

use crate::battery::Battery;
use crate::schema::parse;
use firstflight::controller::Config;
use firstflight::startup::SlowStart;
use firstflight::{Seq, Time};
use firstflight_lab::{NamedArm, Sender};
use firstflight_path::Error;
use serde::{Deserialize, Serialize};

/// What marks mean to an algorithm, and with that what its packets carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ecn {
    /// A mark is as a loss (RFC 3168, RFC 8511): ECT(0).
    Ect0,
    /// The share of marks counts (RFC 9331): ECT(1).
    Ect1,
}

/// A declaration. What is left out is not declared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Declaration {
    /// Which codepoint it sends.
    pub ecn: Option<Ecn>,
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

    /// What the algorithm does that was declared otherwise, as sentences about it.
    pub(crate) fn contradictions(&self, arm: &NamedArm) -> Vec<String> {
        let (Sender::Arm(parts) | Sender::Own { rest: parts, .. }) = &arm.sender else {
            return Vec::new();
        };
        let made = parts.controller_with(SlowStart, Config::quic(1_200), Time(0), Seq(0));
        let (declared, sends) = match (self.ecn, made.is_l4s()) {
            (Some(Ecn::Ect1), false) => {
                ("ecn = \"ect1\"", "sends ECT(0) and answers a mark as a loss")
            }
            (Some(Ecn::Ect0), true) => {
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
        let all = [
            ecn,
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
