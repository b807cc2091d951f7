//! A recovery policy selected at run time, without heap allocation or virtual calls.

use super::{
    End, Entry, Immediate, Policy, Progress, Prr, RateHalving, Recovery, Sack, prr, rate_halving,
    sack,
};

/// Any recovery policy of the crate.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum AnyRecovery {
    /// Immediate cut (RFC 9002).
    Immediate(Immediate),
    /// Cut once and fill (RFC 6675).
    Sack(Sack),
    /// Linux rate halving.
    RateHalving(RateHalving),
    /// Proportional Rate Reduction (RFC 6937, RFC 9937, Linux).
    Prr(Prr),
}

/// The settings of a policy.
#[derive(Clone, Copy, Debug)]
pub enum AnySettings {
    /// The immediate cut has no settings.
    Immediate,
    /// Settings of the cut that fills.
    Sack(sack::Params),
    /// Settings of rate halving.
    RateHalving(rate_halving::Params),
    /// Settings of proportional rate reduction.
    Prr(prr::Params),
}

macro_rules! each {
    ($self:expr, $recovery:ident => $call:expr) => {
        match $self {
            AnyRecovery::Immediate($recovery) => $call,
            AnyRecovery::Sack($recovery) => $call,
            AnyRecovery::RateHalving($recovery) => $call,
            AnyRecovery::Prr($recovery) => $call,
        }
    };
}

impl Policy for AnyRecovery {
    type Settings = AnySettings;

    fn settings(&self) -> AnySettings {
        match self {
            AnyRecovery::Immediate(_) => AnySettings::Immediate,
            AnyRecovery::Sack(sack) => AnySettings::Sack(sack.settings()),
            AnyRecovery::RateHalving(halving) => AnySettings::RateHalving(halving.settings()),
            AnyRecovery::Prr(prr) => AnySettings::Prr(prr.settings()),
        }
    }
    fn with(settings: AnySettings) -> AnyRecovery {
        match settings {
            AnySettings::Immediate => AnyRecovery::Immediate(Immediate::with(())),
            AnySettings::Sack(params) => AnyRecovery::Sack(Sack::with(params)),
            AnySettings::RateHalving(params) => AnyRecovery::RateHalving(RateHalving::with(params)),
            AnySettings::Prr(params) => AnyRecovery::Prr(Prr::with(params)),
        }
    }
}

impl Recovery for AnyRecovery {
    fn enter(&mut self, entry: &Entry) {
        each!(self, r => r.enter(entry));
    }
    #[inline]
    fn on_ack(&mut self, progress: &Progress) {
        each!(self, r => r.on_ack(progress));
    }
    #[inline]
    fn admits(&self, len: u64, pipe: u64) -> bool {
        each!(self, r => r.admits(len, pipe))
    }
    #[inline]
    fn on_sent(&mut self, len: u64) {
        each!(self, r => r.on_sent(len));
    }
    fn cwnd(&self) -> u64 {
        each!(self, r => r.cwnd())
    }
    fn end(&mut self, how: End, pipe: u64) -> u64 {
        each!(self, r => r.end(how, pipe))
    }
    fn retarget(&mut self, target: u64, mss: u64) {
        each!(self, r => r.retarget(target, mss));
    }
    fn restarts_on_lost_repeat(&self) -> bool {
        each!(self, r => r.restarts_on_lost_repeat())
    }
}
