//! Release of acknowledgements on the return path: the settings of the release engines and their
//! presets. Plain values with their limits.

use crate::error::Error;
use crate::value;

/// Release of acknowledgements on a return path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Release {
    /// As the reverse link sends them.
    #[default]
    Plain,
    /// In slots, within the granted capacity (satellite terminals).
    Grant(GrantSettings),
    /// All waiting ACKs at once, at certain instants (LTE, Wi-Fi, network cards).
    Batch(BatchSettings),
    /// As the link sends them, but delays and rates of both directions change at handovers
    /// (low-orbit satellites).
    Handover(HandoverSettings),
}

/// A return link with slots of 40 ms and capacity that must be requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantSettings {
    /// Grant at the start, in 1/1000 ACK per frame.
    pub start: u64,
    /// Fastest growth of the grant per second, in 1e-6; one million keeps it constant.
    pub growth: u64,
    /// Whether there are outages.
    pub outages: bool,
}

impl GrantSettings {
    /// A terminal that starts without capacity.
    pub const COLD: Self = Self { start: 1_000, growth: 1_700_000, outages: false };
    /// A terminal with a constant 11 ACKs per frame.
    pub const WARM: Self = Self { start: 11_000, growth: 1_000_000, outages: false };
    /// A terminal limited to 75 ACKs per second.
    pub const STARVED: Self = Self { start: 3_000, growth: 1_000_000, outages: false };
    /// The cold terminal with outages, three per minute.
    pub const STRESS: Self = Self { outages: true, ..Self::COLD };
}

/// Releases in batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSettings {
    /// Whether an instant follows the first ACK that finds an empty queue, instead of the previous
    /// instant.
    pub on_first: bool,
    /// Time to the next instant, uniform between two values in ns.
    pub period: (u64, u64),
    /// Most ACKs per instant.
    pub cap: u64,
    /// Gap inside a batch, uniform between two values in ns.
    pub spacing: (u64, u64),
}

impl BatchSettings {
    /// LTE: every 5 ms.
    pub const LTE: Self =
        Self { on_first: false, period: (5_000_000, 5_000_000), cap: 24, spacing: (9_000, 30_000) };
    /// Wi-Fi: every 1 to 10 ms.
    pub const WIFI: Self = Self {
        on_first: false,
        period: (1_000_000, 10_000_000),
        cap: 64,
        spacing: (2_000, 20_000),
    };
    /// Interrupt moderation: 10 to 60 us after the first.
    pub const NIC: Self =
        Self { on_first: true, period: (10_000, 60_000), cap: 64, spacing: (1_000, 3_000) };
}

/// Changes at each handover, every 15 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandoverSettings {
    /// Largest change of each one-way delay from its nominal value, in ns.
    pub step: u64,
    /// Factor on both rates, uniform between two values in 1e-6.
    pub factor: (u64, u64),
    /// Probability of a burst of losses after a boundary, in 1e-9.
    pub burst: u64,
    /// Largest extra delay of a data packet around a boundary, in ns.
    pub data_extra: u64,
    /// Largest extra delay of an ACK around a boundary, in ns.
    pub ack_extra: u64,
}

impl HandoverSettings {
    /// The preset `leo`.
    pub const LEO: Self = Self {
        step: 10_000_000,
        factor: (500_000, 1_500_000),
        burst: 0,
        data_extra: 20_000_000,
        ack_extra: 40_000_000,
    };
}

/// Names of presets.
pub(crate) const PRESETS: &[(&str, Release)] = &[
    ("plain", Release::Plain),
    ("geo_cold", Release::Grant(GrantSettings::COLD)),
    ("geo_warm", Release::Grant(GrantSettings::WARM)),
    ("geo_starved", Release::Grant(GrantSettings::STARVED)),
    ("geo_stress", Release::Grant(GrantSettings::STRESS)),
    ("lte", Release::Batch(BatchSettings::LTE)),
    ("wifi", Release::Batch(BatchSettings::WIFI)),
    ("nic", Release::Batch(BatchSettings::NIC)),
    ("leo", Release::Handover(HandoverSettings::LEO)),
];

impl Release {
    /// Whether the release of acknowledgements depends on the seed.
    pub(crate) fn draws(&self) -> bool {
        match self {
            Release::Plain => false,
            // The phase of the first frame, and of the first handover, is drawn.
            Release::Grant(_) | Release::Handover(_) => true,
            Release::Batch(BatchSettings { period, spacing, .. }) => {
                period.0 < period.1 || spacing.0 < spacing.1
            }
        }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        const KEY: &str = "return";
        match self {
            Release::Plain => Ok(()),
            Release::Grant(grant) => {
                value::GRANT.check(KEY, grant.start, value::print_count_e3)?;
                value::GROWTH.check(KEY, grant.growth, value::print_factor)
            }
            Release::Batch(batch) => {
                for ns in [batch.period.0, batch.period.1] {
                    value::TIME.check(KEY, ns, value::print_time)?;
                }
                for ns in [batch.spacing.0, batch.spacing.1] {
                    value::EXTRA.check(KEY, ns, value::print_time)?;
                }
                value::check_range(KEY, batch.period, value::print_time)?;
                value::check_range(KEY, batch.spacing, value::print_time)?;
                value::check_count(KEY, batch.cap, 1, 1_000_000)
            }
            Release::Handover(handover) => {
                for factor in [handover.factor.0, handover.factor.1] {
                    value::FACTOR.check(KEY, factor, value::print_factor)?;
                }
                for ns in [handover.step, handover.data_extra, handover.ack_extra] {
                    value::EXTRA.check(KEY, ns, value::print_time)?;
                }
                value::check_range(KEY, handover.factor, value::print_factor)?;
                value::CHANCE.check(KEY, handover.burst, value::print_percent)
            }
        }
    }

    /// Parses a preset, or an engine with its settings.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        if let Some((_, release)) = PRESETS.iter().find(|(name, _)| *name == text) {
            return Ok(*release);
        }
        let engine = text.split(':').next().unwrap_or_default();
        let within = |e: Error| e.within(format!("return={text}"));
        match engine {
            "geo" => Self::parse_grant(text).map_err(within),
            "batch" | "first" => Self::parse_batch(text, engine == "first").map_err(within),
            "leo" => Self::parse_handover(text).map_err(within),
            _ => {
                let names = PRESETS.iter().map(|(name, _)| *name);
                let nearest = crate::error::suggestion(text, names.clone());
                let allowed = format!(
                    "{}, or geo:..., batch:..., first:..., leo:...",
                    names.collect::<Vec<_>>().join(", ")
                );
                Err(Error::at("return", text, format!("unknown release{nearest}"), allowed))
            }
        }
    }

    fn parse_grant(text: &str) -> Result<Self, Error> {
        let parts = value::fields("return", text, &["geo", "GRANT", "GROWTH", "outages"], 3)?;
        let outages = match parts.get(3) {
            None => false,
            Some(&"outages") => true,
            Some(other) => {
                return Err(Error::at("outages", other, "is unknown", "`outages` or nothing"));
            }
        };
        Ok(Release::Grant(GrantSettings {
            start: value::GRANT.parse("GRANT", parts[1])?,
            growth: value::GROWTH.parse("GROWTH", parts[2])?,
            outages,
        }))
    }

    fn parse_batch(text: &str, on_first: bool) -> Result<Self, Error> {
        let engine = if on_first { "first" } else { "batch" };
        let parts = value::fields("return", text, &[engine, "PERIOD", "CAP", "SPACING"], 3)?;
        Ok(Release::Batch(BatchSettings {
            on_first,
            period: value::range("PERIOD", parts[1], &value::TIME)?,
            cap: value::count("CAP", parts[2], 1, 1_000_000)?,
            spacing: parts
                .get(3)
                .map_or(Ok((0, 0)), |text| value::range("SPACING", text, &value::EXTRA))?,
        }))
    }

    fn parse_handover(text: &str) -> Result<Self, Error> {
        let parts =
            value::fields("return", text, &["leo", "STEP", "FACTOR", "LOSS", "DATA", "ACK"], 2)?;
        let mut handover = HandoverSettings {
            step: value::EXTRA.parse("STEP", parts[1])?,
            ..HandoverSettings::LEO
        };
        if let Some(text) = parts.get(2) {
            handover.factor = value::range("FACTOR", text, &value::FACTOR)?;
        }
        if let Some(text) = parts.get(3) {
            handover.burst = value::CHANCE.parse("LOSS", text)?;
        }
        if let Some(text) = parts.get(4) {
            handover.data_extra = value::EXTRA.parse("DATA", text)?;
        }
        if let Some(text) = parts.get(5) {
            handover.ack_extra = value::EXTRA.parse("ACK", text)?;
        }
        Ok(Release::Handover(handover))
    }
}
