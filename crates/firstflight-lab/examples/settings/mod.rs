//! The `KEY=VALUE` arguments of the examples.

use firstflight_lab::Error;
use std::collections::HashMap;

/// The settings of one run, by key.
pub(crate) struct Settings(HashMap<String, String>);

impl Settings {
    /// These defaults, replaced by the arguments of the program.
    ///
    /// # Errors
    /// If an argument is not one of the keys with a value.
    pub(crate) fn read<const N: usize>(defaults: [(&str, &str); N]) -> Result<Settings, Error> {
        let mut set = HashMap::from(defaults.map(|(key, value)| (key.into(), value.into())));
        for argument in std::env::args().skip(1) {
            let known = argument.split_once('=').filter(|(key, _)| set.contains_key(*key));
            let (key, value) = known.ok_or_else(|| Error::new(format!("unknown: `{argument}`")))?;
            set.insert(key.to_owned(), value.to_owned());
        }
        Ok(Settings(set))
    }

    /// The value of a key that has a default.
    pub(crate) fn text(&self, key: &str) -> &str {
        &self.0[key]
    }

    /// The same as a number.
    ///
    /// # Errors
    /// If it is none.
    pub(crate) fn number(&self, key: &str) -> Result<u64, Error> {
        self.text(key).parse().map_err(|_| Error::new(format!("{key} takes a number")))
    }
}
