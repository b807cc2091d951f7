//! The parameters that calibration may change, and the status of their values.

/// Parameters that calibration may change.
#[derive(Clone, Debug, PartialEq)]
pub struct Knobs {
    /// Factor on every buffer.
    pub q: f64,
    /// Median, over the connections, of the random loss added to each group's own loss.
    pub k: f64,
    /// Standard deviation, over the connections, of the logarithm of that added loss; 0 adds the
    /// same loss to every connection.
    pub s: f64,
    /// Factor on the rate of groups whose rate is a lower bound
    /// ([`Group::rate_is_lower_bound`](super::Group::rate_is_lower_bound)).
    pub r: f64,
    /// Factor on the groups' own loss.
    pub l: f64,
    /// Status of the parameters: how they were fitted, or that they were not.
    pub status: String,
    /// Whether all fitted columns lie in their bands; `None` for a population that has no target.
    pub calibrated: Option<bool>,
}

impl Default for Knobs {
    fn default() -> Knobs {
        Knobs { q: 1.0, k: 0.0, s: 0.0, r: 1.0, l: 1.0, status: String::new(), calibrated: None }
    }
}

/// Whether a factor changes nothing.
pub(super) fn as_seen(factor: f64) -> bool {
    factor.to_bits() == 1.0_f64.to_bits()
}
