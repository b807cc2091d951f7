//! Stop rules: when an arm is so harmful that it gets no more connections.

use super::{sequence, totals::Totals};

/// Number of units per arm from which a hard limit applies.
pub const LEAST_UNITS: usize = 100;

/// A rule on a ratio of totals: the arm's over the baseline's.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Name of the compared measure, as the user gave it.
    pub measure: String,
    /// The rule stops the arm if the arm's ratio over the baseline's exceeds this factor.
    pub factor: f64,
}

impl Rule {
    /// Reads `retransmitted > 2x`.
    ///
    /// # Errors
    /// A message with the problem and the allowed values.
    pub fn parse(text: &str) -> Result<Rule, String> {
        let allowed = "allowed: MEASURE > FACTORx with a factor above 1, as `retransmitted > 2x`";
        let (measure, factor) = text.split_once('>').ok_or(allowed)?;
        let number = factor.trim().trim_end_matches(['x', 'X']).parse::<f64>().ok();
        let factor = number.filter(|factor| factor.is_finite() && *factor > 1.0);
        match (measure.trim(), factor) {
            ("", _) | (_, None) => Err(allowed.to_owned()),
            (measure, Some(factor)) => Ok(Rule { measure: measure.to_owned(), factor }),
        }
    }

    /// Whether the arm certainly exceeds the limit: the lower end of the sequence for the logarithm
    /// of the ratio lies above that of the factor. `alpha` is this rule's part of the error
    /// probability.
    pub fn stops(&self, found: &Totals, alpha: f64) -> bool {
        let half = sequence::half_width(found.variance, sequence::TAU_STOP, alpha);
        found.value - half > libm::log(self.factor)
    }

    /// Whether the plain ratio exceeds the factor, with at least [`LEAST_UNITS`] on either side:
    /// safety does not wait for significance.
    pub fn stops_hard(&self, found: &Totals) -> bool {
        let enough = found.units.iter().all(|units| *units >= LEAST_UNITS);
        enough && found.value > libm::log(self.factor)
    }
}

#[cfg(test)]
mod tests {
    use super::Rule;
    use crate::statistics::totals::Totals;

    #[test]
    fn rules_are_read_or_refused() {
        let rule = Rule::parse(" retransmitted > 2x").expect("a rule");
        assert_eq!(rule, Rule { measure: "retransmitted".into(), factor: 2.0 });
        assert!((Rule::parse("a/b>1.5").expect("a rule").factor - 1.5).abs() < 1e-12);
        for wrong in ["", "a", "a > ", "a > x", "> 2x", "a > 1x", "a > 0.5x", "a > inf", "a < 2x"] {
            assert!(Rule::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_rule_waits_until_it_is_sure_and_a_hard_one_does_not() {
        let found = |variance: f64, units: usize| Totals {
            ratios: [0.06, 0.02],
            events: [600.0, 200.0],
            value: 3.0_f64.ln(),
            variance,
            degrees: f64::INFINITY,
            units: [units; 2],
        };
        let rule = Rule { measure: "retransmitted".into(), factor: 2.0 };
        assert!(rule.stops(&found(0.003, 500), 0.05), "3x with a small error is above 2x");
        assert!(!rule.stops(&found(0.3, 500), 0.05), "not yet sure");
        assert!(!rule.stops(&found(f64::INFINITY, 500), 0.05), "too few events");
        assert!(rule.stops_hard(&found(0.3, 100)) && !rule.stops_hard(&found(0.3, 99)));
    }
}
