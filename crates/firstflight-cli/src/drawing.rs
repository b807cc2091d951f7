//! Random assignment in a field test: options shared by `trial start` and `serve --trial`.

use clap::{Args, ValueEnum};
use firstflight::Nanos;
use firstflight_lab::size;

#[derive(Args, Debug)]
pub(crate) struct Drawing {
    /// Unit of randomization [default: client]
    #[arg(long, value_enum)]
    unit: Option<Unit>,
    /// Share of units that take part, such as 20% or 1/5, drawn independently of the arms; the others keep their controller and belong to no arm [default: all]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    enrol: Option<f64>,
    /// Largest share that each arm may ever get, such as rapid=80%; fixed at the start [default: equal shares]
    #[arg(long, value_name = "SHARES")]
    max_share: Option<String>,
    /// Length of the IPv4 prefix that counts as one client [default: 24]
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u8).range(0..=32))]
    prefix4: Option<u8>,
    /// Length of the IPv6 prefix that counts as one client [default: 56]
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u8).range(0..=128))]
    prefix6: Option<u8>,
    /// Length of a slot for `--unit time`: at least ten times the duration of nearly all connections
    /// [default: 10min]
    #[arg(long, value_name = "TIME", value_parser = |text: &str| size::limit(text, 86_400))]
    slot: Option<Nanos>,
}

/// Unit of randomization.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Unit {
    /// All connections of a client's network, which may share a bottleneck
    #[default]
    Client,
    /// Each connection
    Connection,
    /// All connections that start in the same time slot; requires two arms, which take the slots of each pair in random order
    Time,
}

/// Parses a share: a fraction, a percentage or a number, above 0 and at most 1.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let wrong =
        || format!("`{text}` is not a share; allowed: above 0 and at most 1, as 1/10, 10% or 0.1");
    let number = |text: &str| text.trim().parse::<f64>().map_err(|_| wrong());
    let share = match (text.split_once('/'), text.strip_suffix('%')) {
        (Some((part, whole)), _) => number(part)? / number(whole)?,
        (None, Some(percent)) => number(percent)? / 100.0,
        (None, None) => number(text)?,
    };
    if share > 0.0 && share <= 1.0 { Ok(share) } else { Err(wrong()) }
}

#[cfg(any(feature = "quic", all(target_os = "linux", feature = "bpf")))]
mod read {
    use super::{Drawing, Unit};
    use firstflight_lab::Error;
    use firstflight_trial::design::{By, Design, Slots};
    use std::time::Duration;

    impl Drawing {
        /// The design of the trial.
        ///
        /// # Errors
        /// A one-line message if a slot length is given without slots.
        pub(crate) fn design(&self) -> Result<Design, Error> {
            let usual = Design::default();
            let length = self.slot.map_or(Slots::USUAL.length, |slot| Duration::from_nanos(slot.0));
            let unit = self.unit.unwrap_or_default();
            if self.slot.is_some() && unit != Unit::Time {
                return Err(Error::new("--slot: needs --unit time"));
            }
            Ok(Design {
                by: match unit {
                    Unit::Client => By::Client,
                    Unit::Connection => By::Connection,
                    Unit::Time => By::Time(Slots { length }),
                },
                prefix_v4: self.prefix4.unwrap_or(usual.prefix_v4),
                prefix_v6: self.prefix6.unwrap_or(usual.prefix_v6),
                enrol: self.enrol.unwrap_or(usual.enrol),
            })
        }

        /// The maximum shares, as typed; empty if none are given.
        pub(crate) fn max_share(&self) -> &str {
            self.max_share.as_deref().unwrap_or_default()
        }

        /// The first of these options that was given, if any.
        #[cfg(feature = "quic")]
        pub(crate) fn first_given(&self) -> Option<&'static str> {
            let given = [
                ("--unit", self.unit.is_some()),
                ("--enrol", self.enrol.is_some()),
                ("--max-share", self.max_share.is_some()),
                ("--prefix4", self.prefix4.is_some()),
                ("--prefix6", self.prefix6.is_some()),
                ("--slot", self.slot.is_some()),
            ];
            given.into_iter().find_map(|(name, given)| given.then_some(name))
        }
    }
}
