//! The options of comparisons and tests.
//!
//! An option is defined by one field of [`CompareRequest`] or [`AbRequest`]. Flags of the command
//! line with their help, keys of experiments in TOML and keyword arguments of the Python package
//! are derived from it ([`keys`]) and parsed by it ([`parse`]), so that an option has the same
//! meaning and the same error everywhere. Where results go is not part of a request; the caller
//! decides.

mod ab;
mod answer;
mod compare;
mod experiment;
mod hosts;
mod population_test;
mod refusal;
mod sharing;
#[cfg(feature = "tune")]
mod tune;

pub use ab::{AbRequest, baseline};
pub use answer::Answer;
pub use compare::{Asked, CompareRequest, testbeds};
pub use experiment::{Experiment, ExperimentCell, Pairs};
pub use hosts::{HostArgs, Transport};
pub use refusal::{line, line_of};
pub use sharing::SharingArgs;
#[cfg(feature = "tune")]
pub use tune::TuneRequest;

pub use crate::words::command_line;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use firstflight_path::Error;
use firstflight_path::input::text_of;

/// Type of an option's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Text.
    Text,
    /// A number, with or without a unit.
    Number,
    /// An amount of bytes.
    Size,
    /// A boolean.
    Flag,
    /// Arms.
    Arms,
    /// A path.
    Path,
    /// A population.
    Population,
}

/// An option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Name, as on the command line but without the dashes.
    pub name: String,
    /// Values it accepts.
    pub takes: Takes,
    /// Default value, as typed; `None` if there is none.
    pub default: Option<String>,
    /// Help text.
    pub help: String,
}

impl Key {
    fn of(option: &Arg, name: &str) -> Key {
        let default = option.get_default_values().first();
        Key {
            name: name.to_owned(),
            takes: match name {
                "arms" | "baseline" | "cross" => Takes::Arms,
                "path" => Takes::Path,
                "population" => Takes::Population,
                "bytes" => Takes::Size,
                _ if matches!(option.get_action(), ArgAction::SetTrue) => Takes::Flag,
                _ if option.is_allow_negative_numbers_set() => Takes::Number,
                _ => Takes::Text,
            },
            default: default.map(|value| value.to_string_lossy().into_owned()),
            help: option.get_help().map(ToString::to_string).unwrap_or_default(),
        }
    }

    /// The command-line word that gives the option this value; `None` for a flag that is off.
    ///
    /// # Errors
    /// A one-line message if a flag is neither `true` nor `false`.
    pub fn word(&self, value: &str) -> Result<Option<String>, Error> {
        match (self.takes, value) {
            (Takes::Flag, "true") => Ok(Some(format!("--{}", self.name))),
            (Takes::Flag, "false") => Ok(None),
            (Takes::Flag, other) => {
                Err(Error::new(format!("--{} {other}: allowed: true or false", self.name)))
            }
            // With `=`, a value that starts with a dash is still a value.
            _ => Ok(Some(format!("--{}={value}", self.name))),
        }
    }
}

/// The options of a request, in order.
pub fn keys<R: Args>() -> Vec<Key> {
    let command = R::augment_args(Command::new("request"));
    let key = |option: &Arg| option.get_long().map(|name| Key::of(option, name));
    command.get_arguments().filter_map(key).collect()
}

/// Parses a request from command-line words.
///
/// # Errors
/// A one-line message that starts with the option.
pub fn parse<R: Args>(words: &[String]) -> Result<R, Error> {
    let command = Command::new("request").no_binary_name(true).disable_help_flag(true);
    R::augment_args(command)
        .try_get_matches_from(words)
        .and_then(|matches| R::from_arg_matches(&matches))
        .map_err(|error| Error::new(line(&error)))
}

/// The command-line words for these options and values.
///
/// # Errors
/// A one-line message for an unknown option, or a flag that is neither `true` nor `false`.
pub fn words<R: Args>(pairs: &[(String, String)]) -> Result<Vec<String>, Error> {
    let keys = keys::<R>();
    let mut words = Vec::with_capacity(pairs.len());
    for (name, value) in pairs {
        // Python keywords have underscores instead of dashes.
        let known = keys.iter().find(|key| key.name == name.replace('_', "-"));
        let key = known.ok_or_else(|| Error::new(format!("--{name}: unknown option")))?;
        words.extend(key.word(value)?);
    }
    Ok(words)
}

/// Parses a request from options and their values.
///
/// # Errors
/// Errors of [`words`] and of [`parse`].
pub fn from_pairs<R: Args>(pairs: &[(String, String)]) -> Result<R, Error> {
    parse(&words::<R>(pairs)?)
}

/// A request with its options as typed, or their defaults, so that it can be passed on.
#[derive(Clone, Debug)]
pub struct Typed<R> {
    /// The request.
    pub request: R,
    /// Options and their values.
    pub pairs: Vec<(String, String)>,
}

impl<R: Args> FromArgMatches for Typed<R> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Typed<R>, clap::Error> {
        let pair = |key: Key| {
            let value = matches.get_raw(&key.name)?.next()?;
            Some((key.name, value.to_string_lossy().into_owned()))
        };
        let pairs = keys::<R>().into_iter().filter_map(pair).collect();
        Ok(Typed { request: R::from_arg_matches(matches)?, pairs })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Typed::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<R: Args> Args for Typed<R> {
    fn augment_args(command: Command) -> Command {
        R::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        R::augment_args_for_update(command)
    }
}

/// Parses an initial window.
fn packets(text: &str) -> Result<u32, String> {
    crate::size::count(text, 1..=1000, "packets").map(|count| count as u32)
}

/// Parses an argument that may be a file name, which need not be UTF-8
/// ([`firstflight_path::input::file_of`]).
pub fn named() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().map(|word| text_of(&word))
}

/// A seed: any whole number, as text or `1e6`.
///
/// # Errors
/// The allowed values.
pub fn seed(text: &str) -> Result<u64, String> {
    crate::size::count(text, 0..=u64::MAX, "")
}
