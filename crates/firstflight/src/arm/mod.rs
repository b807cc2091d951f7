//! Arms: named sender configurations.
//! `startup(options)/avoidance(options)/recovery(options)@(sender options)`.
//!
//! Every part after the startup is optional and options always stand in parentheses, so that commas
//! outside them separate arms. What is left out is CUBIC (with the kernel's growth floor behind
//! Linux's HyStart and SUSS) and PRR (RFC 9937). Short names stand for whole arms ([`SHORT_NAMES`]). Parsing
//! and printing are inverse: an arm prints every part and the options that differ from their
//! defaults.

mod sender;

pub use sender::{Pace, SenderParams};

use crate::AnyController;
use crate::avoidance::{
    Abba, AnyAvoidance, Cuback, Cubic, Dctcp, Prague, Reno, abba, cuback, cubic, dctcp, prague,
    reno,
};
use crate::controller::{Config, Controller, Increase, Relapse};
use crate::detection::presets::Early;
use crate::hint::{Advice, HintSource};
use crate::options::{NoOptions, OptionDoc, Options, Show, Wrong};
use crate::recovery::{AnyRecovery, Immediate, Prr, RateHalving, Sack, prr, rate_halving, sack};
use crate::startup::{
    AnyStartup, Bbr, Bbr3, Best, BestPublished, Careful, Chirping, HyStart, HyStartPlusPlus,
    JumpStart, LimitedSlowStart, Oracle, Plumb, RapidStart, Search, SlowStart, Startup, Suss, bbr,
    bbr3, best, best_published, careful, chirping, hystart, hystart_plus_plus, jump_start,
    limited_slow_start, oracle, plumb, rapid_start, search, suss,
};
use crate::units::{Seq, Time};
use core::fmt;

/// One part that an arm can be made of.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Its name.
    pub name: &'static str,
    /// Description in a line.
    pub summary: &'static str,
    /// Specification or other source.
    pub source: &'static str,
    /// Its options.
    pub options: &'static [OptionDoc],
}

macro_rules! parts {
    ($(#[$doc:meta])* $enum:ident, $list:ident, $what:literal; $($variant:ident($params:ty) = $name:literal, $summary:literal, $source:literal;)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum $enum {
            $(#[doc = $summary] $variant($params),)*
        }

        #[doc = concat!("Every ", $what, " there is.")]
        pub const $list: &[Part] = &[
            $(Part { name: $name, summary: $summary, source: $source, options: <$params as Options>::DOCS },)*
        ];

        impl $enum {
            fn named(name: &str) -> Option<$enum> {
                match name {
                    $($name => Some($enum::$variant(<$params>::default())),)*
                    _ => None,
                }
            }

            /// Its name without options.
            pub const fn name(&self) -> &'static str {
                match self {
                    $($enum::$variant(_) => $name,)*
                }
            }

            fn set(&mut self, key: &str, value: &str) -> Result<(), Wrong> {
                match self {
                    $($enum::$variant(params) => params.set(key, value),)*
                }
            }

            fn docs(&self) -> &'static [OptionDoc] {
                match self {
                    $($enum::$variant(_) => <$params as Options>::DOCS,)*
                }
            }
        }

        impl fmt::Display for $enum {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())?;
                match self {
                    $($enum::$variant(params) => write_options(f, params),)*
                }
            }
        }
    };
}

parts! {
    /// The startup of an arm.
    StartupSpec, STARTUPS, "startup";
    SlowStart(NoOptions) = "slowstart", "slow start until packets are lost", "RFC 5681, RFC 9002";
    Limited(limited_slow_start::Params) = "limited", "Limited Slow Start: linear above a window", "RFC 3742";
    HyStart(hystart::Params) = "hystart", "HyStart: exit on an ACK train or a raised RTT", "Linux tcp_cubic, gVisor";
    HyStartPlusPlus(hystart_plus_plus::Params) = "hystart++", "HyStart++: slow down on a raised RTT, exit if it persists", "RFC 9406, draft-03";
    Search(search::Params) = "search", "SEARCH: exit when delivery no longer keeps up with sending", "draft-chung-ccwg-search-09";
    Best(best::Params) = "best", "BEST, robust: aim at the bandwidth that ACK spacing shows", "ours, after the BEST slides";
    BestPublished(best_published::Params) = "best-published", "BEST as published, to the bit", "NetDev 0x16, tcp_bw";
    Rapid(rapid_start::Params) = "rapid", "Rapid Start: jump, threefold growth, smooth recovery", "draft-kazuho-ccwg-rapid-start-02";
    Suss(suss::Params) = "suss", "SUSS: HyStart that grows fourfold while ACK trains stay short", "SIGCOMM 2024, SUSS for Linux 6.8";
    Bbr(bbr::Params) = "bbr", "BBR's Startup and Drain: exit with the estimated BDP", "draft-ietf-ccwg-bbr";
    Bbr3(bbr3::Params) = "bbr3", "BBRv3, a complete controller: no other part applies", "draft-ietf-ccwg-bbr";
    Careful(careful::Params) = "careful", "Careful Resume: jump to half of an earlier window", "RFC 9959";
    Plumb(plumb::Params) = "plumb", "Plumb: probe the path with packet trains, grow to its BDP", "ours, docs/plumb.md";
    Chirping(chirping::Params) = "chirping", "Paced Chirping: find the rate with chirps that leave no queue", "Misund and Briscoe, 2018-2020";
    Jump(jump_start::Params) = "jumpstart", "slow start with an enlarged first window and safe retreat", "Careful Resume draft-04";
    Oracle(oracle::Params) = "oracle", "slow start that knows the BDP; bounds loss, not time", "reference";
}

impl StartupSpec {
    /// Whether a rate that earlier connections measured may enlarge its first flights.
    pub(crate) const fn uses_hint(&self) -> bool {
        match self {
            StartupSpec::Careful(params) => params.saved.is_none(),
            StartupSpec::Rapid(params) => params.hint,
            _ => false,
        }
    }

    /// True if the startup uses knowledge that no sender has (the oracle). It is a bound and is not ranked.
    pub const fn is_reference(&self) -> bool {
        matches!(self, StartupSpec::Oracle(_))
    }

    /// Whether it is a complete congestion control, so no avoidance and no recovery follow it.
    pub const fn is_whole(&self) -> bool {
        matches!(self, StartupSpec::Bbr3(_))
    }
}

parts! {
    /// The congestion avoidance of an arm.
    AvoidanceSpec, AVOIDANCES, "congestion avoidance";
    Cubic(cubic::Params) = "cubic", "CUBIC", "RFC 9438";
    Cuback(cuback::Params) = "cuback", "Cuback: CUBIC whose clock is the acknowledged bytes", "draft-kazuho-ccwg-cuback-00";
    Abba(abba::Params) = "abba", "ABBA: CUBIC or Cuback that grows faster on a short queue", "draft-kazuho-ccwg-abba, September 2026";
    Reno(reno::Params) = "reno", "Reno", "RFC 5681, RFC 9002";
    Dctcp(dctcp::Params) = "dctcp", "DCTCP: cut by the share of marks; for data centres", "RFC 8257";
    Prague(prague::Params) = "prague", "Prague: DCTCP for the Internet, with ECT(1) (L4S)", "udp_prague, February 2026";
}

impl AvoidanceSpec {
    /// Whether it needs the number of marked bytes, not only the fact that some were marked.
    pub const fn counts_marks(&self) -> bool {
        matches!(self, AvoidanceSpec::Dctcp(_) | AvoidanceSpec::Prague(_))
    }
}

parts! {
    /// The loss recovery of an arm.
    RecoverySpec, RECOVERIES, "recovery";
    Prr(prr::Params) = "prr", "Proportional Rate Reduction", "RFC 9937, RFC 6937";
    Immediate(NoOptions) = "immediate", "cut the window at once", "RFC 9002";
    Sack(sack::Params) = "sack", "cut once, then fill the window", "RFC 6675";
    RateHalving(rate_halving::Params) = "halving", "rate halving: one packet per two ACKs", "Linux until 3.1";
}

/// A short name for a whole arm.
#[derive(Clone, Copy, Debug)]
pub struct ShortName {
    /// The name.
    pub name: &'static str,
    /// The arm that it abbreviates.
    pub arm: &'static str,
    /// Purpose in a line.
    pub summary: &'static str,
}

/// Every short name there is.
pub const SHORT_NAMES: &[ShortName] = &[
    ShortName { name: "rapidstart", arm: "rapid", summary: "Rapid Start with jump" },
    ShortName {
        name: "rapid-nojump",
        arm: "rapid(jump=off)",
        summary: "Rapid Start without its jump",
    },
    ShortName {
        name: "plumb-tolerant",
        arm: "plumb(rapid=on,tolerate=2,keep=0.85)",
        summary: "Plumb that tolerates 2 % loss in a startup round",
    },
    ShortName {
        name: "oracle-rate",
        arm: "oracle(rate=on)",
        summary: "oracle that knows the rate after a round trip; bounds time",
    },
    ShortName {
        name: "search3",
        arm: "search(version=3.1)",
        summary: "SEARCH as in the patch posted to netdev",
    },
    ShortName {
        name: "hystart-gvisor",
        arm: "hystart(profile=gvisor)",
        summary: "HyStart as in gVisor",
    },
    ShortName { name: "hystart-ns3", arm: "hystart(profile=ns3)", summary: "HyStart as in ns-3" },
    ShortName {
        name: "hystart++-draft03",
        arm: "hystart++(mode=lss)",
        summary: "HyStart++ with limited slow start",
    },
    ShortName {
        name: "slowstart-rfc9002",
        arm: "slowstart/reno/immediate",
        summary: "slow start, halving and immediate cut: RFC 9002 as written",
    },
    ShortName {
        name: "slowstart-unpaced",
        arm: "slowstart@(pace=off)",
        summary: "slow start in bursts, like most TCP senders",
    },
];

/// A named sender configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arm {
    /// The startup.
    pub startup: StartupSpec,
    /// The congestion avoidance.
    pub avoidance: AvoidanceSpec,
    /// The loss recovery.
    pub recovery: RecoverySpec,
    /// Options of the sender.
    pub sender: SenderParams,
}

/// Why a text is not an arm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ArmError<'a> {
    /// Nothing between two commas.
    Empty,
    /// A parenthesis without its partner, or something after it.
    Parentheses(&'a str),
    /// More than three parts.
    TooManyParts(&'a str),
    /// No startup or short name of that name.
    UnknownStartup(&'a str),
    /// No congestion avoidance of that name.
    UnknownAvoidance(&'a str),
    /// No recovery of that name.
    UnknownRecovery(&'a str),
    /// An option without `=`.
    NotAnOption(&'a str),
    /// The part has no such option; these are the ones it has.
    UnknownOption {
        /// The part.
        part: &'static str,
        /// The option.
        key: &'a str,
        /// Options that the part has.
        known: &'static [OptionDoc],
    },
    /// The option does not take that value.
    BadValue {
        /// The part.
        part: &'static str,
        /// The option.
        key: &'a str,
        /// The value.
        value: &'a str,
        /// Allowed values.
        values: &'static str,
    },
    /// The parts do not go together, or not with the transport.
    Nonsense(&'static str),
}

impl fmt::Display for ArmError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArmError::Empty => f.write_str("an arm is missing between two commas"),
            ArmError::Parentheses(text) => write!(f, "arm `{text}`: parentheses do not match"),
            ArmError::TooManyParts(text) => {
                write!(f, "arm `{text}`: at most startup/avoidance/recovery")
            }
            ArmError::UnknownStartup(name) => write!(f, "unknown arm or startup `{name}`"),
            ArmError::UnknownAvoidance(name) => write!(f, "unknown congestion avoidance `{name}`"),
            ArmError::UnknownRecovery(name) => write!(f, "unknown recovery `{name}`"),
            ArmError::NotAnOption(text) => {
                write!(f, "`{text}` is not an option of the form key=value")
            }
            ArmError::UnknownOption { part, key, known } => {
                write!(f, "{part} has no option `{key}`")?;
                for (i, doc) in known.iter().enumerate() {
                    write!(f, "{}{}", if i == 0 { "; it has " } else { ", " }, doc.key)?;
                }
                if SenderParams::DOCS.iter().any(|doc| doc.key == *key) {
                    write!(
                        f,
                        "; `{key}` is the sender's: write it as `@({key}=..)` behind the arm"
                    )?;
                }
                Ok(())
            }
            ArmError::BadValue { part, key, value, values } => {
                write!(f, "{part}: `{key}` takes {values}, not `{value}`")
            }
            ArmError::Nonsense(why) => f.write_str(why),
        }
    }
}

impl core::error::Error for ArmError<'_> {}

impl Arm {
    /// Reads one arm.
    ///
    /// # Errors
    /// The error names the fault and the allowed values.
    pub fn parse(text: &str) -> Result<Arm, ArmError<'_>> {
        let text = text.trim();
        if text.is_empty() {
            return Err(ArmError::Empty);
        }
        let (parts, sender) = match outside(text, '@') {
            Some((parts, sender)) => (parts, Some(sender)),
            None => (text, None),
        };
        let (startup, rest) =
            outside(parts, '/').map_or((parts, None), |(first, rest)| (first, Some(rest)));
        let (avoidance, recovery) = match rest.map(|rest| (rest, outside(rest, '/'))) {
            None => (None, None),
            Some((_, Some((avoidance, recovery)))) => (Some(avoidance), Some(recovery)),
            Some((avoidance, None)) => (Some(avoidance), None),
        };
        if recovery.is_some_and(|recovery| outside(recovery, '/').is_some()) {
            return Err(ArmError::TooManyParts(text));
        }
        let mut arm = Arm::start(startup)?;
        let floored = match &arm.startup {
            StartupSpec::HyStart(params) => {
                matches!(params.profile, hystart::Profile::Linux | hystart::Profile::Ns3)
            }
            StartupSpec::Suss(_) => true,
            _ => false,
        };
        if let (true, AvoidanceSpec::Cubic(cubic)) = (floored, &mut arm.avoidance) {
            // LINUX cubic-floor: the kernel's CUBIC grows by at least 5 % per RTT until the first
            // congestion; without it a window that HyStart left early would look worse
            // than it is in the kernel. NS3 cubic-floor: ns-3's too (CntClamp). A congestion
            // avoidance that is named stays as named.
            cubic.ca_floor_20 = true;
        }
        if arm.startup.is_whole() && avoidance.is_some() {
            return Err(ArmError::Nonsense(
                "bbr3 is a whole congestion control: no avoidance and no recovery follow it",
            ));
        }
        if let Some(text) = avoidance {
            let (name, options) = split_options(text)?;
            arm.avoidance = AvoidanceSpec::named(name).ok_or(ArmError::UnknownAvoidance(name))?;
            let (part, known) = (arm.avoidance.name(), arm.avoidance.docs());
            each_option(options, part, known, |key, value| arm.avoidance.set(key, value))?;
        }
        if let Some(text) = recovery {
            let (name, options) = split_options(text)?;
            arm.recovery = RecoverySpec::named(name).ok_or(ArmError::UnknownRecovery(name))?;
            let (part, known) = (arm.recovery.name(), arm.recovery.docs());
            each_option(options, part, known, |key, value| arm.recovery.set(key, value))?;
        }
        if let Some(sender) = sender {
            let (name, options) = split_options(sender)?;
            if !name.is_empty() || options.is_none() {
                return Err(ArmError::Parentheses(text));
            }
            each_option(options, "the sender", SenderParams::DOCS, |key, value| {
                arm.sender.set(key, value)
            })?;
        }
        arm.check().map_err(ArmError::Nonsense)?;
        Ok(arm)
    }

    /// The arms of a list separated by commas outside parentheses.
    pub fn parse_list(text: &str) -> impl Iterator<Item = Result<Arm, ArmError<'_>>> {
        split_list(text).map(Arm::parse)
    }

    fn start(text: &str) -> Result<Arm, ArmError<'_>> {
        let (name, options) = split_options(text)?;
        let mut arm = if let Some(startup) = StartupSpec::named(name) {
            Arm {
                startup,
                avoidance: AvoidanceSpec::Cubic(cubic::Params::default()),
                recovery: RecoverySpec::Prr(prr::Params::default()),
                sender: SenderParams::default(),
            }
        } else {
            let short = SHORT_NAMES
                .iter()
                .find(|short| short.name == name)
                .ok_or(ArmError::UnknownStartup(name))?;
            Arm::parse(short.arm)?
        };
        let (part, known) = (arm.startup.name(), arm.startup.docs());
        each_option(options, part, known, |key, value| arm.startup.set(key, value))?;
        Ok(arm)
    }

    /// Refuses combinations that cannot mean anything.
    fn check(&self) -> Result<(), &'static str> {
        let paced = self.sender.pace != Some(Pace::Off);
        if self.sender.early.is_some()
            && self.sender.detection.is_some_and(|preset| preset.early_retransmit == Early::Off)
        {
            return Err(
                "early retransmit goes with detection=linux26; the others have none, and in RACK's place it would be done twice",
            );
        }
        match self.sender.hint.map(|hint| hint.source) {
            Some(HintSource::Scone) if self.sender.advice == Advice::Off => {
                return Err(
                    "hint=scone is advice of the network: say what to do with it, advice=exit or advice=cap",
                );
            }
            None | Some(HintSource::Scone) => {}
            Some(_) if self.startup.uses_hint() => {}
            Some(_) if matches!(self.startup, StartupSpec::Careful(_)) => {
                return Err("careful(saved=..) knows its window: leave hint= out");
            }
            Some(_) => {
                return Err(
                    "hint= is used by careful and rapid(hint=on); the others start without it",
                );
            }
        }
        if self.startup.is_whole() && self.sender.advice == Advice::Exit {
            return Err("bbr3 has no threshold that advice could set: use advice=cap");
        }
        match &self.startup {
            StartupSpec::Rapid(p) if p.hint && p.jump.is_none() => {
                Err("rapid jumps by the hint: use rapid(hint=on) with a jump, or leave hint=on out")
            }
            StartupSpec::HyStart(p) if !p.train && !p.delay => {
                Err("hystart with both detectors off is slow start: say slowstart")
            }
            StartupSpec::Rapid(p) if !paced && p.jump.is_some() => Err(
                "a jump spreads its window over a round trip and needs the pacer: use rapid(jump=off) or drop pace=off",
            ),
            StartupSpec::Suss(_) if !paced => {
                Err("suss without a pacer is hystart: say hystart, or drop pace=off")
            }
            StartupSpec::Bbr(_) | StartupSpec::Bbr3(_) if !paced => {
                Err("bbr finds the rate by pacing: drop pace=off")
            }
            StartupSpec::Careful(p)
                if !paced && (p.saved.is_some() || self.sender.hint.is_some()) =>
            {
                Err("careful spreads its jump over a round trip and needs the pacer: drop pace=off")
            }
            StartupSpec::Jump(_) if !paced => Err(
                "jumpstart spreads its window over a round trip and needs the pacer: drop pace=off",
            ),
            _ => Ok(()),
        }
    }

    /// Whether its avoidance is the kernel's.
    fn has_linux_avoidance(&self) -> bool {
        let reno =
            matches!(&self.avoidance, AvoidanceSpec::Reno(p) if p.profile == reno::Profile::Linux);
        reno || self.has_linux_cubic()
    }

    /// Whether its avoidance is the kernel's CUBIC.
    fn has_linux_cubic(&self) -> bool {
        matches!(&self.avoidance, AvoidanceSpec::Cubic(p) if p.profile == cubic::Profile::Linux)
    }

    /// Whether a part of it has the kernel's profile: then its sender does with unused windows as the
    /// kernel does, on every transport.
    fn is_linux(&self) -> bool {
        let startup = match &self.startup {
            StartupSpec::HyStart(params) => params.profile == hystart::Profile::Linux,
            StartupSpec::Suss(_) => true,
            _ => false,
        };
        startup || self.has_linux_avoidance()
    }

    /// The transport's configuration with this arm's sender options applied.
    pub fn configure(&self, base: Config) -> Config {
        let mut config = base;
        if let Some(iw) = self.sender.iw {
            config.initial_window = config.mss.saturating_mul(u64::from(iw));
            config.initial_packets = Some(iw);
        }
        if let Some(pace) = self.sender.pace {
            config.paced = pace == Pace::On;
        } else if matches!(
            self.startup,
            StartupSpec::Bbr(_) | StartupSpec::Bbr3(_) | StartupSpec::Suss(_)
        ) {
            // BBR pace-1: without its pacer it is no BBR, also where the transport does not pace.
            // SUSS red-pace: it turns the pacer on.
            config.paced = true;
        }
        if let Some(rate) = self.sender.max_rate {
            config.max_rate = Some(rate);
            // LINUX max-pacing: setting SO_MAX_PACING_RATE turns the socket's pacing on
            // (`sk_setsockopt`), so the sender paces by its window, too. `pace=off` leaves the cap.
            config.paced |= self.sender.pace.is_none();
        }
        if let Some(gain) = self.sender.recovery_gain {
            config.recovery_gain = gain;
        }
        if let Some(increase) = self.sender.increase {
            config.increase = increase;
        } else if self.is_linux() {
            config.increase = Increase::Linux;
        }
        if self.sender.count.is_some() {
            config.count = self.sender.count;
        }
        config.relapse = self.sender.relapse.unwrap_or(if self.follows_linux() {
            Relapse::Outstanding
        } else {
            Relapse::Declared
        });
        config.ending = self.sender.ending;
        config.advice = self.sender.advice;
        config.hint = self.sender.hint.or(config.hint);
        config
    }

    /// Its avoidance or its recovery is the kernel's.
    fn follows_linux(&self) -> bool {
        self.has_linux_avoidance()
            || matches!(self.recovery, RecoverySpec::Prr(p) if matches!(p.rules, prr::Rules::Linux { .. }))
    }

    /// Sets the exit window of an oracle that has none of its own, usually the BDP of the path, bytes.
    /// Without one, an oracle runs slow start until the first loss. Other arms ignore it.
    #[must_use]
    pub fn with_oracle(mut self, bytes: u64) -> Arm {
        if let StartupSpec::Oracle(params) = &mut self.startup {
            params.exit.get_or_insert(bytes);
        }
        self
    }

    /// A controller for a connection of this arm that starts at `now` with `nxt` as its first packet
    /// or sequence number.
    pub fn controller(&self, base: Config, now: Time, nxt: Seq) -> AnyController {
        let startup: AnyStartup = match self.startup {
            StartupSpec::SlowStart(_) => SlowStart.into(),
            StartupSpec::Limited(params) => LimitedSlowStart::new(params).into(),
            StartupSpec::HyStart(params) => HyStart::new(params).into(),
            StartupSpec::HyStartPlusPlus(params) => HyStartPlusPlus::new(params).into(),
            StartupSpec::Search(params) => Search::new(params).into(),
            StartupSpec::Best(params) => Best::new(params).into(),
            StartupSpec::BestPublished(params) => BestPublished::new(params).into(),
            StartupSpec::Rapid(params) => RapidStart::new(params).into(),
            StartupSpec::Suss(params) => Suss::new(params).into(),
            StartupSpec::Bbr(params) => Bbr::new(params).into(),
            StartupSpec::Bbr3(params) => Bbr3::new(params).into(),
            StartupSpec::Careful(params) => Careful::new(params).into(),
            StartupSpec::Plumb(params) => Plumb::new(params).into(),
            StartupSpec::Chirping(params) => Chirping::new(params).into(),
            StartupSpec::Jump(params) => JumpStart::new(params).into(),
            StartupSpec::Oracle(params) => {
                Oracle::new(params.exit.unwrap_or(u64::MAX), params.rate).into()
            }
        };
        self.controller_with(startup, base, now, nxt)
    }

    /// The same with another startup in the place of this arm's: one that is not of this crate.
    pub fn controller_with<S: Startup>(
        &self,
        startup: S,
        base: Config,
        now: Time,
        nxt: Seq,
    ) -> Controller<S, AnyAvoidance, AnyRecovery> {
        let (avoidance, recovery) = self.after_startup();
        Controller::new(startup, avoidance, recovery, self.configure(base), now, nxt)
    }

    /// Its avoidance and its recovery, fresh.
    pub fn after_startup(&self) -> (AnyAvoidance, AnyRecovery) {
        let avoidance = match self.avoidance {
            AvoidanceSpec::Cubic(params) => AnyAvoidance::Cubic(Cubic::new(params)),
            AvoidanceSpec::Abba(params) => AnyAvoidance::Abba(Abba::new(params)),
            AvoidanceSpec::Cuback(params) => AnyAvoidance::Cuback(Cuback::new(params)),
            AvoidanceSpec::Reno(params) => AnyAvoidance::Reno(Reno::new(params)),
            AvoidanceSpec::Dctcp(params) => AnyAvoidance::Dctcp(Dctcp::new(params)),
            AvoidanceSpec::Prague(params) => AnyAvoidance::Prague(Prague::new(params)),
        };
        let recovery = match self.recovery {
            RecoverySpec::Prr(params) => AnyRecovery::Prr(Prr::new(params)),
            RecoverySpec::Immediate(_) => AnyRecovery::Immediate(Immediate::default()),
            RecoverySpec::Sack(params) => AnyRecovery::Sack(Sack::new(params)),
            RecoverySpec::RateHalving(params) => AnyRecovery::RateHalving(RateHalving::new(params)),
        };
        (avoidance, recovery)
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.startup)?;
        if !self.startup.is_whole() {
            write!(f, "/{}/{}", self.avoidance, self.recovery)?;
        }
        if self.sender != SenderParams::default() {
            f.write_str("@")?;
            write_options(f, &self.sender)?;
        }
        Ok(())
    }
}

struct AsText<'a>(&'a dyn Show);

impl fmt::Display for AsText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.show(f)
    }
}

fn write_options(f: &mut fmt::Formatter<'_>, options: &impl Options) -> fmt::Result {
    let mut first = true;
    options.changed(&mut |key, value| {
        let open = if core::mem::take(&mut first) { '(' } else { ',' };
        write!(f, "{open}{key}={}", AsText(value))
    })?;
    if first { Ok(()) } else { f.write_str(")") }
}

/// Splits at the first `mark` outside parentheses.
fn outside(text: &str, mark: char) -> Option<(&str, &str)> {
    let mut depth = 0u32;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            c if c == mark && depth == 0 => return Some((&text[..at], &text[at + c.len_utf8()..])),
            _ => {}
        }
    }
    None
}

/// The items of a list separated by commas outside parentheses.
pub fn split_list(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    core::iter::from_fn(move || {
        let text = rest?;
        match outside(text, ',') {
            Some((item, tail)) => {
                rest = Some(tail);
                Some(item)
            }
            None => rest.take(),
        }
    })
}

/// `name(options)` into its name and what stands in the parentheses.
fn split_options(text: &str) -> Result<(&str, Option<&str>), ArmError<'_>> {
    let text = text.trim();
    match text.split_once('(') {
        None if text.contains(')') => Err(ArmError::Parentheses(text)),
        None => Ok((text, None)),
        Some((name, rest)) => {
            let options = rest
                .strip_suffix(')')
                .filter(|inner| !inner.contains(['(', ')']))
                .ok_or(ArmError::Parentheses(text))?;
            Ok((name.trim(), Some(options)))
        }
    }
}

fn each_option<'a>(
    options: Option<&'a str>,
    part: &'static str,
    known: &'static [OptionDoc],
    mut set: impl FnMut(&str, &str) -> Result<(), Wrong>,
) -> Result<(), ArmError<'a>> {
    for option in options.into_iter().flat_map(|options| options.split(',')) {
        let (key, value) = option.split_once('=').ok_or(ArmError::NotAnOption(option))?;
        let (key, value) = (key.trim(), value.trim());
        set(key, value).map_err(|refused| match refused {
            Wrong::Absent => ArmError::UnknownOption { part, key, known },
            Wrong::Not(values) => ArmError::BadValue { part, key, value, values },
        })?;
    }
    Ok(())
}
