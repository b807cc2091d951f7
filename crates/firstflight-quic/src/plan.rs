//! The plan from which a factory builds controllers: an arm, and the host's settings.

#[cfg(any(feature = "noq", feature = "quinn", feature = "s2n", feature = "sender"))]
use firstflight::Config;
#[cfg(any(feature = "noq", feature = "quinn"))]
use firstflight::Time;
use firstflight::arm::Arm;
use firstflight::detection::ecn::Ecn;
#[cfg(any(feature = "quinn", feature = "sender"))]
use firstflight::{Advice, arm::StartupSpec};
use std::fmt;
#[cfg(any(feature = "noq", feature = "quinn"))]
use std::time::Instant;

/// Why an arm cannot run on a stack: a one-line message with the problem and the allowed values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// The plan of a controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// The arm.
    pub arm: Arm,
    /// Initial window in packets for an arm that does not specify one; `None` is the standard one
    /// (RFC 9002 section 7.2).
    pub initial_window: Option<u32>,
    /// Exit window in bytes for an oracle without one.
    pub oracle_exit: u64,
}

impl Plan {
    /// The plan of an arm with everything else at its default.
    pub const fn new(arm: Arm) -> Plan {
        Plan { arm, initial_window: None, oracle_exit: u64::MAX }
    }

    /// Reads an arm.
    ///
    /// # Errors
    /// If the text is not an arm, or specifies loss detection of TCP: a QUIC stack detects losses
    /// in its own way.
    pub fn parse(text: &str) -> Result<Plan, Refused> {
        let arm = Arm::parse(text).map_err(|error| Refused(error.to_string()))?;
        if arm.sender.rto_max.is_some() {
            return Err(Refused("`rtomax` is TCP's: leave it out".to_owned()));
        }
        if arm.sender.detection.is_some() || arm.sender.early.is_some() {
            return Err(Refused(
                "a QUIC stack detects losses in its own way: leave `detection` and `early` out"
                    .to_owned(),
            ));
        }
        if arm.sender.acks.is_some() {
            return Err(Refused(
                "a QUIC stack asks for ACKs in its own way: leave `acks` out".to_owned(),
            ));
        }
        if let Some(ecn) = arm.sender.ecn.filter(|ecn| *ecn != Ecn::Rfc9000) {
            return Err(Refused(format!(
                "a QUIC stack validates ECN as RFC 9000 says: leave `ecn={}` out",
                ecn.name()
            )));
        }
        if arm.sender.receive_ts {
            return Err(Refused(
                "no QUIC stack here reports when packets arrived: leave `receivets` out".to_owned(),
            ));
        }
        Ok(Plan::new(arm))
    }

    /// Whether the arm runs on a stack whose pacer takes no rate from its controller. `other` is what can run the arm instead.
    ///
    /// # Errors
    /// The reason, if the arm cannot do without a pacing rate or sets one.
    #[cfg(any(feature = "quinn", feature = "sender"))]
    pub fn without_rate(&self, stack: &str, other: &str) -> Result<(), Refused> {
        let sender = &self.arm.sender;
        let rate = |purpose| format!("{stack} has no pacing rate {purpose}: use {other}");
        let why = match &self.arm.startup {
            StartupSpec::Rapid(params) if params.jump.is_some() => format!(
                "{stack} has no pacing rate to spread a jump with: use rapid(jump=off), or {other}"
            ),
            StartupSpec::Rapid(params) if params.full_rtt_pacing => format!(
                "{stack} has no pacing rate to spread a round with: leave the pacing option out, or use {other}"
            ),
            StartupSpec::Bbr(_) | StartupSpec::Bbr3(_) => rate("for bbr to set"),
            StartupSpec::Careful(params) if params.saved.is_some() || sender.hint.is_some() => {
                rate("to spread a jump with")
            }
            StartupSpec::Jump(_) => rate("to spread a jump with"),
            StartupSpec::Plumb(_) | StartupSpec::Suss(_) => rate("to send trains with"),
            StartupSpec::Chirping(_) => rate("to send chirps with"),
            _ if sender.pace.is_some() => {
                format!("{stack}'s pacer is always on: leave pace= out, or use {other}")
            }
            _ if sender.burst.is_some() => {
                format!("{stack}'s pacer has a bucket of its own: leave burst= out, or use {other}")
            }
            _ if sender.recovery_gain.is_some() => {
                format!("{stack}'s pacer has a gain of its own: leave recgain= out, or use {other}")
            }
            _ if sender.max_rate.is_some() => {
                format!("{stack}'s pacer has no largest rate: leave maxrate= out, or use {other}")
            }
            _ if sender.advice == Advice::Cap => {
                format!("{stack}'s pacer has no largest rate: use advice=exit, or {other}")
            }
            _ => return Ok(()),
        };
        Err(Refused(format!("arm `{}`: {why}", self.arm)))
    }

    #[cfg(any(feature = "noq", feature = "quinn", feature = "s2n", feature = "sender"))]
    pub(crate) fn config(&self, mss: u64) -> Config {
        let standard = Config::quic(mss);
        let initial_window =
            self.initial_window.map_or(standard.initial_window, |packets| u64::from(packets) * mss);
        firstflight::with!(Config {
            initial_window,
            initial_packets: self.initial_window,
            ..standard
        })
    }
}

#[cfg(any(feature = "noq", feature = "quinn"))]
/// A stack's time on our clock, counted from `origin`.
pub(crate) fn since(origin: Instant, now: Instant) -> Time {
    Time(u64::try_from(now.saturating_duration_since(origin).as_nanos()).unwrap_or(u64::MAX))
}
