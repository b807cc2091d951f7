//! Verdicts on published numbers: confirmed in size, the same direction only, not seen, or opposite.
//!
//! A direction alone is not a confirmation: 0.7 % has the same sign as a published "up to 39 %" but means something
//! else. The verdict is computed only from the measured value, its interval, the published value and the band accepted
//! beforehand.

use super::gate::{Accept, Gate, short};
use super::sample::Interval;
use serde::Serialize;

/// Outcome of a row. The names are stable JSON keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Two thirds to one and a half times the published size, or in the published range, and in the
    /// accepted band; significant if an effect was published.
    Confirmed,
    /// The interval crosses an end of that band.
    SizeOpen,
    /// Significant in the published direction, but smaller than accepted; for a level: below the accepted band.
    Smaller,
    /// Significant in the published direction, but larger than accepted; for a level: above the accepted band.
    Larger,
    /// Significant in the published direction; no size was published.
    SameDirection,
    /// Within the accepted bounds; no size was published.
    WithinBound,
    /// Not significant, or a stated condition is not met.
    NotSeen,
    /// Significant in the opposite direction.
    Opposite,
    /// A consequence of the algebra that holds.
    Exact,
    /// A consequence of the algebra that does not hold: a defect in our code.
    Fails,
    /// Measured without a gate.
    Reported,
    /// Not measured, because it cannot be compared.
    QuotedOnly,
    /// The document omits a decisive parameter; the sweep shows the range of results.
    NotReproducible,
    /// Not measured; the note gives the reason.
    NotRun,
}

impl Verdict {
    /// Verdicts on measured effects, levels and equalities: the first nine of [`Verdict::ALL`].
    pub const MEASURED: &[Verdict] = Verdict::ALL.split_at(9).0;

    /// All verdicts, in the order of summaries.
    pub const ALL: [Verdict; 14] = [
        Verdict::Confirmed,
        Verdict::SizeOpen,
        Verdict::Smaller,
        Verdict::Larger,
        Verdict::SameDirection,
        Verdict::WithinBound,
        Verdict::NotSeen,
        Verdict::Opposite,
        Verdict::Exact,
        Verdict::Fails,
        Verdict::Reported,
        Verdict::QuotedOnly,
        Verdict::NotReproducible,
        Verdict::NotRun,
    ];

    /// The key in JSON and in the page's style sheet.
    pub const fn key(self) -> &'static str {
        match self {
            Verdict::Confirmed => "confirmed",
            Verdict::SizeOpen => "size_open",
            Verdict::Smaller => "smaller",
            Verdict::Larger => "larger",
            Verdict::SameDirection => "same_direction",
            Verdict::WithinBound => "within_bound",
            Verdict::NotSeen => "not_seen",
            Verdict::Opposite => "opposite",
            Verdict::Exact => "exact",
            Verdict::Fails => "fails",
            Verdict::Reported => "reported",
            Verdict::QuotedOnly => "quoted_only",
            Verdict::NotReproducible => "not_reproducible",
            Verdict::NotRun => "not_run",
        }
    }

    /// The text in summaries.
    pub const fn words(self) -> &'static str {
        match self {
            Verdict::Confirmed => "confirmed in size",
            Verdict::SizeOpen => "size open",
            Verdict::Smaller => "smaller than published",
            Verdict::Larger => "larger than published",
            Verdict::SameDirection => "in the same direction, no size published",
            Verdict::WithinBound => "within the accepted bounds, no size published",
            Verdict::NotSeen => "not seen",
            Verdict::Opposite => "opposite",
            Verdict::Exact => "exact",
            Verdict::Fails => "contradict the algebra",
            Verdict::Reported => "reported without a claim",
            Verdict::QuotedOnly => "quoted only",
            Verdict::NotReproducible => "not reproducible from what is published",
            Verdict::NotRun => "not run",
        }
    }
}

/// A published number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Published {
    /// The number, in the unit of the row.
    pub value: f64,
    /// Value without an effect: 0 for a change, 1 for a ratio; null for a level, which has no
    /// direction.
    pub neutral: Option<f64>,
    /// Whether the number is an "up to", the best of several cells.
    pub up_to: bool,
    /// The range, if the source gives one; the number is its middle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
    /// Size of the last printed digit, in the unit of the row; a smaller published effect counts as no effect.
    #[serde(skip)]
    pub resolution: f64,
}

impl Published {
    /// A change from zero.
    pub const fn change(value: f64) -> Published {
        Published { value, neutral: Some(0.0), up_to: false, range: None, resolution: 0.0 }
    }

    /// A change of the best cell.
    pub const fn up_to(value: f64) -> Published {
        Published { up_to: true, ..Published::change(value) }
    }

    /// A ratio of two arms.
    pub const fn ratio(value: f64) -> Published {
        Published { neutral: Some(1.0), ..Published::change(value) }
    }

    /// A level: a rate, a share, a time.
    pub const fn level(value: f64) -> Published {
        Published { neutral: None, ..Published::change(value) }
    }

    /// A change somewhere in a range.
    pub const fn within([low, high]: [f64; 2]) -> Published {
        Published { range: Some([low, high]), ..Published::change(f64::midpoint(low, high)) }
    }

    /// Sets the size of the last printed digit.
    #[must_use]
    pub(crate) const fn printed_to(self, resolution: f64) -> Published {
        Published { resolution, ..self }
    }

    /// Whether no effect was published: zero, or less than the last printed digit.
    fn is_nothing(&self) -> bool {
        self.neutral.is_some_and(|neutral| {
            let size = (self.value - neutral).abs();
            size == 0.0 || size < self.resolution
        })
    }

    /// Range of values that count as the published size.
    fn band(&self) -> (f64, f64) {
        if let Some([low, high]) = self.range {
            return (low, high);
        }
        if self.is_nothing() {
            return (self.value - self.resolution, self.value + self.resolution);
        }
        let neutral = self.neutral.unwrap_or(0.0);
        let times = |factor: f64| neutral + factor * (self.value - neutral);
        (times(SIZE.0), times(SIZE.1))
    }
}

/// A condition of the list of experiments, with its gate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Check {
    /// Evidential weight.
    pub gate: Gate,
    /// Accepted range.
    pub accept: Accept,
}

/// Factors on the published effect between which an effect counts as confirmed in size. The list of experiments may
/// accept a narrower band, never a wider one.
const SIZE: (f64, f64) = (2.0 / 3.0, 1.5);

/// Direction of an effect: the value without an effect, and the side of the published value.
#[derive(Clone, Copy)]
struct Effect {
    neutral: f64,
    side: f64,
}

impl Effect {
    /// From the published effect, otherwise from a direction among the checks.
    fn of(checks: &[Check], published: Option<Published>) -> Option<Effect> {
        if let Some(Published { value, neutral, .. }) = published {
            return neutral.map(|neutral| Effect { neutral, side: (value - neutral).signum() });
        }
        checks.iter().find_map(|check| match check.accept {
            Accept::Above(neutral) => Some(Effect { neutral, side: 1.0 }),
            Accept::Below(neutral) => Some(Effect { neutral, side: -1.0 }),
            _ => None,
        })
    }

    /// Size of the effect; positive in the published direction.
    fn size(self, value: f64) -> f64 {
        self.side * (value - self.neutral)
    }
}

/// The measured effect over the published one, if both are known.
pub(crate) fn ratio(ours: Interval, published: Option<Published>) -> Option<f64> {
    let Published { value, neutral, .. } = published?;
    let zero = neutral.unwrap_or(0.0);
    let ratio = (ours.value - zero) / (value - zero);
    ratio.is_finite().then_some(ratio)
}

/// The verdict on a number, from its checks and the published value.
pub(crate) fn judge(ours: Interval, checks: &[Check], published: Option<Published>) -> Verdict {
    if !ours.value.is_finite() {
        return Verdict::NotSeen;
    }
    if checks.iter().any(|check| check.gate == Gate::Unit) {
        return if checks.iter().all(|check| check.accept.holds(ours)) {
            Verdict::Exact
        } else {
            Verdict::Fails
        };
    }
    let effect = Effect::of(checks, published);
    let size = |value: f64| effect.map_or(value, |effect| effect.size(value));
    let sizes = |(a, b): (f64, f64)| {
        let (a, b) = (size(a), size(b));
        (a.min(b), a.max(b))
    };
    let (low, high) = sizes((ours.low, ours.high));
    if effect.is_some() && !published.is_some_and(|published| published.is_nothing()) && low <= 0.0
    {
        return if high < 0.0 { Verdict::Opposite } else { Verdict::NotSeen };
    }
    let misses = |check: &Check| check.gate == Gate::Direction && !check.accept.holds(ours);
    if effect.is_none() && checks.iter().any(misses) {
        return Verdict::NotSeen;
    }
    let mut band = published.map_or(ANY, |published| sizes(published.band()));
    for check in checks {
        let (least, most) = sizes(check.accept.range());
        let lenient = matches!(check.accept, Accept::NotAbove(_) | Accept::NotBelow(_));
        if lenient && !check.accept.holds(ours) {
            return if high < least { Verdict::Smaller } else { Verdict::Larger };
        }
        // A band that starts at no effect sets no minimum size.
        let least = if effect.is_some() && least <= 0.0 { f64::NEG_INFINITY } else { least };
        if !lenient {
            band = (band.0.max(least), band.1.min(most));
        }
    }
    match band {
        (least, _) if high < least => Verdict::Smaller,
        (_, most) if low > most => Verdict::Larger,
        (least, most) if low < least || high > most => Verdict::SizeOpen,
        _ if published.is_some() => Verdict::Confirmed,
        ANY if effect.is_some() => Verdict::SameDirection,
        _ => Verdict::WithinBound,
    }
}

/// A band that accepts everything.
const ANY: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// Formats a number with the precision of a verdict.
fn brief(value: f64) -> String {
    let places = match value.abs() {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        size if size > 0.0 => (1.0 - size.log10().floor()).min(6.0) as usize,
        _ => 0,
    };
    let text = format!("{value:.places$}");
    if places == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

/// The verdict in words, with both sizes where they differ.
pub(crate) fn words(
    verdict: Verdict,
    ours: Interval,
    unit: &str,
    checks: &[Check],
    published: Option<Published>,
) -> String {
    let seen = if ours.value.is_finite() {
        format!("{}{unit}", brief(ours.value))
    } else {
        "nothing measured".to_owned()
    };
    let band = |check: &&Check| !matches!(check.accept, Accept::Above(_) | Accept::Below(_));
    let accepted =
        checks.iter().find(band).or(checks.first()).map(|check| check.accept.words(unit));
    let due = match (published, accepted) {
        (Some(Published { range: Some([low, high]), .. }), _) => {
            format!("published {} to {}{unit}", short(low), short(high))
        }
        (Some(Published { value, up_to, .. }), _) => {
            format!("published {}{}{unit}", if up_to { "up to " } else { "" }, short(value))
        }
        (None, Some(accepted)) => format!("accepted {accepted}"),
        (None, None) => String::new(),
    };
    let join = |lead: &str| match due.as_str() {
        "" => format!("{lead}: {seen}"),
        due => format!("{lead}: {seen}, {due}"),
    };
    let direction = Effect::of(checks, published).is_some();
    match verdict {
        Verdict::Smaller => join(if direction { "same direction, smaller" } else { "smaller" }),
        Verdict::Larger => join(if direction { "same direction, larger" } else { "larger" }),
        Verdict::SameDirection => format!("same direction: {seen}, no size published"),
        Verdict::WithinBound => "within the accepted bounds".to_owned(),
        Verdict::SizeOpen => join("size open"),
        Verdict::NotSeen => join("not seen"),
        Verdict::Opposite => join("opposite"),
        Verdict::Fails => "FAILS".to_owned(),
        Verdict::Reported => "reported".to_owned(),
        Verdict::Confirmed
        | Verdict::Exact
        | Verdict::QuotedOnly
        | Verdict::NotReproducible
        | Verdict::NotRun => verdict.words().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const G: Gate = Gate::Direction;
    const B: Gate = Gate::Band;

    fn told(
        ours: (f64, f64, f64),
        unit: &str,
        checks: &[(Gate, Accept)],
        published: Option<Published>,
    ) -> (Verdict, String) {
        let ours = Interval { value: ours.0, low: ours.1, high: ours.2 };
        let checks: Vec<Check> =
            checks.iter().map(|&(gate, accept)| Check { gate, accept }).collect();
        let verdict = judge(ours, &checks, published);
        (verdict, words(verdict, ours, unit, &checks, published))
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table: a row for each verdict")]
    fn a_verdict_states_the_size() {
        let band = |low, high| [(G, Accept::Above(0.0)), (B, Accept::Within(low, high))];
        let short = Some(Published::up_to(39.0));
        let cases = [
            // Two results that a plain "holds" would not distinguish.
            (
                told((0.7142, 0.063, 1.714), " %", &band(20.0, 60.0), short),
                Verdict::Smaller,
                "same direction, smaller: 0.71 %, published up to 39 %",
            ),
            (
                told(
                    (0.0, 0.0, 0.0),
                    " %",
                    &[(G, Accept::Above(-2.0)), (B, Accept::Within(2.0, 25.0))],
                    Some(Published::up_to(14.0)),
                ),
                Verdict::NotSeen,
                "not seen: 0 %, published up to 14 %",
            ),
            (
                told((45.0, 30.0, 52.0), " %", &band(20.0, 60.0), short),
                Verdict::Confirmed,
                "confirmed in size",
            ),
            // The band of the list is wider than two thirds to one and a half, which does not confirm more.
            (
                told((22.0, 21.0, 23.0), " %", &band(20.0, 60.0), short),
                Verdict::Smaller,
                "same direction, smaller: 22 %, published up to 39 %",
            ),
            // Across an end.
            (
                told((30.0, 24.0, 36.0), " %", &band(20.0, 60.0), short),
                Verdict::SizeOpen,
                "size open: 30 %, published up to 39 %",
            ),
            // A gate and a published effect.
            (
                told(
                    (47.8, 47.8, 47.8),
                    " %",
                    &[(G, Accept::NotBelow(50.0))],
                    Some(Published::change(55.6)),
                ),
                Verdict::Smaller,
                "same direction, smaller: 47.8 %, published 55.6 %",
            ),
            // A published range, and an effect below what was printed.
            (
                told(
                    (-4.9, -6.0, -3.8),
                    " %",
                    &[(B, Accept::Within(-15.0, -1.0))],
                    Some(Published::within([-10.0, -3.0])),
                ),
                Verdict::Confirmed,
                "confirmed in size",
            ),
            (
                told(
                    (0.4, 0.2, 0.6),
                    " %",
                    &[(B, Accept::Within(-5.0, 5.0))],
                    Some(Published::change(0.0).printed_to(1.0)),
                ),
                Verdict::Confirmed,
                "confirmed in size",
            ),
            (
                told(
                    (2.0, 1.5, 2.5),
                    " %",
                    &[(B, Accept::Within(-5.0, 5.0))],
                    Some(Published::change(0.0).printed_to(1.0)),
                ),
                Verdict::Larger,
                "same direction, larger: 2 %, published 0 %",
            ),
            (
                told((71.0, 66.0, 75.0), " %", &band(20.0, 60.0), short),
                Verdict::Larger,
                "same direction, larger: 71 %, published up to 39 %",
            ),
            (
                told((4.0, -1.0, 9.0), " %", &band(20.0, 60.0), short),
                Verdict::NotSeen,
                "not seen: 4 %, published up to 39 %",
            ),
            // Inside the band, but not significant.
            (
                told((25.0, -3.0, 50.0), " %", &band(20.0, 60.0), short),
                Verdict::NotSeen,
                "not seen: 25 %, published up to 39 %",
            ),
            (
                told((-6.0, -9.0, -2.0), " %", &band(20.0, 60.0), short),
                Verdict::Opposite,
                "opposite: -6 %, published up to 39 %",
            ),
            // A ratio: no effect is 1, and an interval that touches 1 is no effect.
            (
                told(
                    (0.55, 0.53, 0.58),
                    " x",
                    &[(G, Accept::Below(1.0)), (B, Accept::AtMost(0.6))],
                    Some(Published::ratio(0.5)),
                ),
                Verdict::Confirmed,
                "confirmed in size",
            ),
            (
                told(
                    (0.08, 0.08, 0.09),
                    " x",
                    &[(G, Accept::Below(1.0)), (B, Accept::AtMost(0.6))],
                    Some(Published::ratio(0.5)),
                ),
                Verdict::Larger,
                "same direction, larger: 0.08 x, published 0.5 x",
            ),
            (
                told(
                    (0.8, 0.7, 0.9),
                    " x",
                    &[(G, Accept::Below(1.0)), (B, Accept::AtMost(0.6))],
                    Some(Published::ratio(0.5)),
                ),
                Verdict::Smaller,
                "same direction, smaller: 0.8 x, published 0.5 x",
            ),
            (
                told((1.02, 0.97, 1.0), " x", &[(G, Accept::Below(1.0))], None),
                Verdict::NotSeen,
                "not seen: 1.02 x, accepted below 1 x",
            ),
            (
                told((0.4, 0.3, 0.5), " x", &[(G, Accept::Below(1.0))], None),
                Verdict::SameDirection,
                "same direction: 0.4 x, no size published",
            ),
            (
                told(
                    (0.4, 0.3, 0.5),
                    " x",
                    &[(G, Accept::Below(1.0)), (B, Accept::AtMost(0.5))],
                    None,
                ),
                Verdict::WithinBound,
                "within the accepted bounds",
            ),
            // No band of its own: two thirds to one and a half times the published effect.
            (
                told(
                    (-3.0, -3.5, -2.5),
                    " %",
                    &[(B, Accept::Below(0.0))],
                    Some(Published::change(-8.0)),
                ),
                Verdict::Smaller,
                "same direction, smaller: -3 %, published -8 %",
            ),
            (
                told(
                    (-7.0, -9.5, -2.5),
                    " %",
                    &[(B, Accept::Below(0.0))],
                    Some(Published::change(-8.0)),
                ),
                Verdict::SizeOpen,
                "size open: -7 %, published -8 %",
            ),
            // Levels have no direction.
            (
                told(
                    (24.78, 24.7, 24.8),
                    " Mbit/s",
                    &[(B, Accept::Within(34.85, 47.15))],
                    Some(Published::level(41.0)),
                ),
                Verdict::Smaller,
                "smaller: 24.8 Mbit/s, published 41 Mbit/s",
            ),
            (
                told((61.7, 60.5, 62.9), " %", &[(B, Accept::Within(40.0, 50.0))], None),
                Verdict::Larger,
                "larger: 61.7 %, accepted 40 to 50 %",
            ),
            (
                told((2.0, 2.0, 2.0), " %", &[(B, Accept::Within(-5.0, 5.0))], None),
                Verdict::WithinBound,
                "within the accepted bounds",
            ),
            (
                told((323.0, 323.0, 323.0), "", &[(G, Accept::AtMost(0.0))], None),
                Verdict::NotSeen,
                "not seen: 323, accepted at most 0",
            ),
            (
                told((0.0, 0.0, 0.0), "", &[(G, Accept::AtMost(0.0))], None),
                Verdict::WithinBound,
                "within the accepted bounds",
            ),
            (
                told(
                    (2.3, 1.5, 3.2),
                    " %",
                    &[(B, Accept::AtMost(12.0))],
                    Some(Published::level(6.0)),
                ),
                Verdict::Smaller,
                "smaller: 2.3 %, published 6 %",
            ),
            // A band that starts at no effect sets no minimum size: 28 % of the published effect is smaller.
            (
                told(
                    (1.037, 1.037, 1.037),
                    " x",
                    &[(B, Accept::Within(1.0, 1.3))],
                    Some(Published::ratio(1.13)),
                ),
                Verdict::Smaller,
                "same direction, smaller: 1.04 x, published 1.13 x",
            ),
            // Algebra.
            (
                told((1.0, 1.0, 1.0), " F", &[(Gate::Unit, Accept::Within(0.95, 1.05))], None),
                Verdict::Exact,
                "exact",
            ),
            (
                told((1.2, 1.2, 1.2), " F", &[(Gate::Unit, Accept::Within(0.95, 1.05))], None),
                Verdict::Fails,
                "FAILS",
            ),
            // Nothing was measured, which must not read "none %".
            (
                told((f64::NAN, f64::NAN, f64::NAN), " %", &band(20.0, 60.0), short),
                Verdict::NotSeen,
                "not seen: nothing measured, published up to 39 %",
            ),
        ];
        for (index, (ours, verdict, words)) in cases.into_iter().enumerate() {
            assert_eq!(ours, (verdict, words.to_owned()), "case {index}");
        }
    }

    #[test]
    fn keys_and_words_are_unique() {
        for (index, one) in Verdict::ALL.iter().enumerate() {
            for other in &Verdict::ALL[index + 1..] {
                assert!(
                    one.key() != other.key() && one.words() != other.words(),
                    "{one:?} and {other:?}"
                );
            }
            assert_eq!(
                serde_json::to_value(one).ok().as_ref().and_then(|value| value.as_str()),
                Some(one.key()),
                "the key of the JSON"
            );
        }
    }

    #[test]
    fn the_ratio_is_that_of_the_effects() {
        let of = |estimate: f64, published| {
            ratio(Interval::from(estimate), Some(published)).map(|ratio| (ratio * 1e3).round())
        };
        assert_eq!(of(0.55, Published::ratio(0.5)), Some(900.0));
        assert_eq!(of(7.8, Published::up_to(39.0)), Some(200.0));
        assert_eq!(of(20.5, Published::level(41.0)), Some(500.0));
        assert_eq!(of(f64::NAN, Published::change(1.0)), None);
    }
}
