//! The populations that ship with the program, as files in `populations` that users can copy
//! and change.

use super::Population;
use firstflight_path::Error;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        /// Name and text of each population.
        pub const FILES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../populations/", $name, ".toml")))),*];
    };
}

files!(
    "cdn",
    "fixed-2025",
    "mobile-2025",
    "cdn-global-2019",
    "leo-starlink",
    "geo",
    "dc-adjacent",
    "us-web",
    "us-small",
    "in-video",
    "best-links",
    "browser-upload",
    "cloudflare-2025"
);

/// Names of the built-in populations.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// The population with this name; `None` if there is none.
pub fn population(name: &str) -> Option<Result<Population, Error>> {
    let (name, text) = FILES.iter().find(|(known, _)| *known == name)?;
    Some(Population::from_toml(&format!("{name}.toml"), text, None))
}
