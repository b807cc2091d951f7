//! Distributions: their text format, and the value for a normal number.
//!
//! All except mixtures are monotone in one standard normal number, so that variables can be
//! correlated whatever their shape.

use super::normal::{inverse_normal, normal_cdf};
use super::place::{Field, Section};
use super::quantiles::QuantileTable;
use super::variable::{Unit, Variable};
use firstflight_path::Error;
use std::cell::Cell;
use std::fmt;

/// A distribution of one variable, with the unit of its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// The shape and its parameters.
    pub shape: Shape,
    /// The unit of the parameters.
    pub unit: Unit,
}

/// The shapes.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A constant.
    Constant(f64),
    /// Uniform between two values.
    Uniform {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
    },
    /// Logarithm uniform between two values.
    LogUniform {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
    },
    /// `shift + median * exp(sigma * z)`, clipped to `min` and `max`.
    Lognormal {
        /// Median above the shift.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
        /// Added to every value.
        shift: f64,
        /// Smaller values become this.
        min: Option<f64>,
        /// Larger values become this.
        max: Option<f64>,
    },
    /// The share of values above x falls as x^-alpha; with `max`, the distribution is truncated
    /// there.
    Pareto {
        /// Smallest.
        min: f64,
        /// Exponent.
        alpha: f64,
        /// Upper bound.
        max: Option<f64>,
    },
    /// One of a list.
    Choice {
        /// The values.
        values: Vec<f64>,
        /// Their probabilities.
        weights: Vec<f64>,
    },
    /// A measured distribution.
    Table(QuantileTable),
    /// A mixture of several distributions. The rest of the random number that makes the choice
    /// determines the value, so the value is not monotone in that number and cannot be correlated
    /// with others.
    Mixture {
        /// Shares of the parts.
        weights: Vec<f64>,
        /// The parts, all in the same unit.
        of: Vec<Distribution>,
    },
}

/// The random number behind one value: uniform, or normal if it is correlated with others. Each
/// form is computed from the other when first needed.
#[derive(Debug)]
pub struct Chance {
    uniform: Cell<Option<f64>>,
    normal: Cell<Option<f64>>,
}

impl Chance {
    /// From a uniform number.
    pub fn uniform(u: f64) -> Chance {
        Chance { uniform: Cell::new(Some(u)), normal: Cell::new(None) }
    }

    /// From a normal number.
    pub fn normal(z: f64) -> Chance {
        Chance { uniform: Cell::new(None), normal: Cell::new(Some(z)) }
    }

    /// As a uniform number.
    pub fn u(&self) -> f64 {
        self.uniform.get().unwrap_or_else(|| {
            let u = normal_cdf(self.normal.get().unwrap_or_default());
            self.uniform.set(Some(u));
            u
        })
    }

    /// As a normal number.
    pub fn z(&self) -> f64 {
        self.normal.get().unwrap_or_else(|| {
            let z = inverse_normal(self.uniform.get().unwrap_or(0.5));
            self.normal.set(Some(z));
            z
        })
    }
}

/// The index of the part of `weights` that `u` falls into.
pub(super) fn pick(weights: impl IntoIterator<Item = f64>, u: f64) -> usize {
    let mut sum = 0.0;
    let mut last = 0;
    for (index, weight) in weights.into_iter().enumerate() {
        sum += weight;
        if weight > 0.0 {
            last = index;
        }
        if u < sum {
            return index;
        }
    }
    // The sum may be below 1 by rounding.
    last
}

impl Shape {
    /// The value for a random number.
    pub fn value(&self, chance: &Chance) -> f64 {
        match self {
            Shape::Constant(value) => *value,
            Shape::Uniform { min, max } => min + (max - min) * chance.u(),
            Shape::LogUniform { min, max } => min * libm::exp(libm::log(max / min) * chance.u()),
            Shape::Lognormal { median, sigma, shift, min, max } => {
                let value = shift + median * libm::exp(sigma * chance.z());
                value.max(min.unwrap_or(f64::NEG_INFINITY)).min(max.unwrap_or(f64::INFINITY))
            }
            Shape::Pareto { min, alpha, max } => {
                let below = max.map_or(1.0, |max| 1.0 - libm::pow(min / max, *alpha));
                min * libm::pow(1.0 - chance.u() * below, -1.0 / alpha)
            }
            Shape::Choice { values, weights } => values[pick(weights.iter().copied(), chance.u())],
            Shape::Table(table) => table.value(chance.u()),
            Shape::Mixture { weights, of } => {
                let u = chance.u();
                let chosen = pick(weights.iter().copied(), u);
                let before: f64 = weights[..chosen].iter().sum();
                let left = ((u - before) / weights[chosen]).clamp(f64::EPSILON, 1.0 - f64::EPSILON);
                of[chosen].shape.value(&Chance::uniform(left))
            }
        }
    }
}

/// Reads a file of quantile tables.
pub(super) type ReadTable<'r> =
    dyn Fn(&Field<'_>, Variable) -> Result<(QuantileTable, Unit), Error> + 'r;

/// The names of the shapes, as written.
pub(super) const SHAPES: &[&str] = &[
    "constant",
    "uniform",
    "log_uniform",
    "lognormal",
    "pareto",
    "choice",
    "table",
    "quantiles",
    "mixture",
];

/// The parameters of one shape: names that carry a unit, and names that do not.
struct Params<'a> {
    section: Section<'a>,
    variable: Variable,
}

impl<'a> Params<'a> {
    fn new(
        field: &Field<'a>,
        variable: Variable,
        with_unit: &[&str],
        plain: &[&str],
    ) -> Result<Params<'a>, Error> {
        let spelt = with_unit.iter().flat_map(|name| {
            variable.suffixes().map(move |(suffix, ..)| format!("{name}{suffix}"))
        });
        let known: Vec<String> = spelt.chain(plain.iter().map(|name| (*name).to_owned())).collect();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        Ok(Params { section: field.section(&known)?, variable })
    }

    /// A parameter with its unit, if present.
    fn find(&self, name: &str) -> Result<Option<(Field<'a>, Unit, f64)>, Error> {
        let mut found = self.variable.suffixes().filter_map(|(suffix, unit, factor)| {
            Some((self.section.get(&format!("{name}{suffix}"))?, unit, factor))
        });
        match (found.next(), found.next()) {
            (Some((one, ..)), Some(_)) => {
                Err(one.bad("is given twice, in two units; allowed: once"))
            }
            (first, _) => Ok(first),
        }
    }

    fn optional(&self, name: &str) -> Result<Option<(f64, Unit)>, Error> {
        let Some((field, unit, factor)) = self.find(name)? else { return Ok(None) };
        let number = field.number()? * factor;
        if !number.is_finite() || number < 0.0 {
            return Err(field.bad(format_args!("{number} is out of range; allowed: 0 or more")));
        }
        Ok(Some((number, unit)))
    }

    /// A parameter that must be a valid value of the variable.
    fn value(&self, name: &str) -> Result<(f64, Unit), Error> {
        let missing = || {
            let spelt: Vec<String> =
                self.variable.suffixes().map(|(suffix, ..)| format!("{name}{suffix}")).collect();
            self.section.bad(&spelt.join(" or "), "is missing")
        };
        let (field, unit, factor) = self.find(name)?.ok_or_else(missing)?;
        Ok((drawable(&field, self.variable, factor)?, unit))
    }

    fn bounds(&self) -> Result<(f64, f64, Unit), Error> {
        let ((min, unit), (max, other)) = (self.value("min")?, self.value("max")?);
        if unit != other {
            return Err(self.section.bad("min and max", "are in two kinds of units; allowed: one"));
        }
        if min > max {
            return Err(self.section.bad(
                "min and max",
                format_args!("{min} is more than {max}; allowed: min at most max"),
            ));
        }
        Ok((min, max, unit))
    }

    fn same(&self, unit: Unit, other: Option<(f64, Unit)>) -> Result<Option<f64>, Error> {
        match other {
            Some((_, other)) if other != unit => {
                Err(self.section.bad("its parameters", "are in two kinds of units; allowed: one"))
            }
            other => Ok(other.map(|(value, _)| value)),
        }
    }
}

fn drawable(field: &Field<'_>, variable: Variable, factor: f64) -> Result<f64, Error> {
    let value = field.number()? * factor;
    if variable.allows(value) {
        Ok(value)
    } else {
        Err(field.bad(format_args!(
            "{} is out of range; allowed: {}",
            field.number()?,
            variable.allowed()
        )))
    }
}

/// Checks that weights are not negative and sum to 1 within 1e-9.
pub(super) fn check_weights(field: &Field<'_>, weights: &[f64]) -> Result<(), Error> {
    if let Some(weight) = weights.iter().find(|weight| !(0.0..=1.0).contains(*weight)) {
        return Err(field.bad(format_args!("{weight} is out of range; allowed: 0 to 1")));
    }
    let sum: f64 = weights.iter().sum();
    if (sum - 1.0).abs() > 1e-9 {
        return Err(field.bad(format_args!("sum to {sum}; allowed: 1 within 1e-9")));
    }
    Ok(())
}

impl Distribution {
    /// Reads `{ shape = { ... } }`; a bare number is a constant if the variable has no unit.
    /// `read_table` reads a file of quantile tables.
    pub(super) fn parse(
        field: &Field<'_>,
        variable: Variable,
        besides: &[&str],
        read_table: &ReadTable<'_>,
    ) -> Result<Distribution, Error> {
        // Variables without a unit may be a bare number.
        let plain = matches!(variable, Variable::Loss | Variable::PolicerRate);
        if !field.is_table() && plain {
            return Ok(Distribution {
                shape: Shape::Constant(drawable(field, variable, 1.0)?),
                unit: Unit::Ratio,
            });
        }
        let chosen = field.choice(SHAPES, besides)?;
        let kind = chosen.name.rsplit('.').next().unwrap_or_default();
        let (shape, unit) = match kind {
            "constant" if !chosen.is_table() && plain => {
                (Shape::Constant(drawable(&chosen, variable, 1.0)?), Unit::Ratio)
            }
            "constant" => {
                let (value, unit) =
                    Params::new(&chosen, variable, &["value"], &[])?.value("value")?;
                (Shape::Constant(value), unit)
            }
            "uniform" | "log_uniform" => {
                let params = Params::new(&chosen, variable, &["min", "max"], &[])?;
                let (min, max, unit) = params.bounds()?;
                if kind == "uniform" {
                    (Shape::Uniform { min, max }, unit)
                } else if min > 0.0 {
                    (Shape::LogUniform { min, max }, unit)
                } else {
                    return Err(chosen.bad("min of 0 has no logarithm; allowed: more than 0"));
                }
            }
            "lognormal" => parse_lognormal(&chosen, variable)?,
            "pareto" => parse_pareto(&chosen, variable)?,
            "choice" => parse_choice(&chosen, variable)?,
            "table" => parse_table(&chosen, variable)?,
            "mixture" => parse_mixture(&chosen, variable, read_table)?,
            _ => {
                let (table, unit) = read_table(&chosen, variable)?;
                (Shape::Table(table), unit)
            }
        };
        Ok(Distribution { shape, unit })
    }

    /// As written under the key `variable`.
    pub(super) fn show(&self, besides: &str) -> String {
        let unit = self.unit.suffix();
        let list = |values: &mut dyn Iterator<Item = f64>| {
            format!("[{}]", values.map(|x| format!("{x:?}")).collect::<Vec<_>>().join(", "))
        };
        let bound = |name: &str, value: &Option<f64>| {
            value.map_or(String::new(), |value| format!(", {name}{unit} = {value:?}"))
        };
        let shape = match &self.shape {
            Shape::Constant(value) if unit.is_empty() => format!("constant = {value:?}"),
            Shape::Constant(value) => format!("constant = {{ value{unit} = {value:?} }}"),
            Shape::Uniform { min, max } => {
                format!("uniform = {{ min{unit} = {min:?}, max{unit} = {max:?} }}")
            }
            Shape::LogUniform { min, max } => {
                format!("log_uniform = {{ min{unit} = {min:?}, max{unit} = {max:?} }}")
            }
            Shape::Lognormal { median, sigma, shift, min, max } => {
                let shift =
                    if *shift > 0.0 { format!(", shift{unit} = {shift:?}") } else { String::new() };
                format!(
                    "lognormal = {{ median{unit} = {median:?}, sigma = {sigma:?}{shift}{}{} }}",
                    bound("min", min),
                    bound("max", max)
                )
            }
            Shape::Pareto { min, alpha, max } => format!(
                "pareto = {{ min{unit} = {min:?}, alpha = {alpha:?}{} }}",
                bound("max", max)
            ),
            Shape::Choice { values, weights } => {
                format!(
                    "choice = {{ values{unit} = {}, weights = {} }}",
                    list(&mut values.iter().copied()),
                    list(&mut weights.iter().copied())
                )
            }
            Shape::Table(table) => {
                let (mut q, mut values) =
                    (table.rows().iter().map(|row| row.0), table.rows().iter().map(|row| row.1));
                format!("table = {{ q = {}, values{unit} = {} }}", list(&mut q), list(&mut values))
            }
            Shape::Mixture { weights, of } => {
                let parts = of.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                format!(
                    "mixture = {{ weights = {}, of = [{parts}] }}",
                    list(&mut weights.iter().copied())
                )
            }
        };
        format!("{{ {shape}{besides} }}")
    }
}

impl Distribution {
    /// The distribution with every value multiplied by `factor`.
    #[must_use]
    pub fn times(&self, factor: f64) -> Distribution {
        let all = |values: &[f64]| values.iter().map(|value| value * factor).collect();
        let shape = match &self.shape {
            Shape::Constant(value) => Shape::Constant(value * factor),
            Shape::Uniform { min, max } => Shape::Uniform { min: min * factor, max: max * factor },
            Shape::LogUniform { min, max } => {
                Shape::LogUniform { min: min * factor, max: max * factor }
            }
            Shape::Lognormal { median, sigma, shift, min, max } => Shape::Lognormal {
                median: median * factor,
                sigma: *sigma,
                shift: shift * factor,
                min: min.map(|min| min * factor),
                max: max.map(|max| max * factor),
            },
            Shape::Pareto { min, alpha, max } => {
                Shape::Pareto { min: min * factor, alpha: *alpha, max: max.map(|max| max * factor) }
            }
            Shape::Choice { values, weights } => {
                Shape::Choice { values: all(values), weights: weights.clone() }
            }
            Shape::Table(table) => Shape::Table(table.times(factor)),
            Shape::Mixture { weights, of } => Shape::Mixture {
                weights: weights.clone(),
                of: of.iter().map(|part| part.times(factor)).collect(),
            },
        };
        Distribution { shape, unit: self.unit }
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.show(""))
    }
}

fn parse_lognormal(chosen: &Field<'_>, variable: Variable) -> Result<(Shape, Unit), Error> {
    let params = Params::new(chosen, variable, &["median", "shift", "min", "max"], &["sigma"])?;
    let (median, unit) = params.value("median")?;
    let sigma = params
        .section
        .need("sigma")?
        .number_that(|sigma| (0.0..=10.0).contains(&sigma), "0 to 10")?;
    let shift = params.same(unit, params.optional("shift")?)?.unwrap_or(0.0);
    let min = params.same(unit, params.optional("min")?)?;
    let max = params.same(unit, params.optional("max")?)?;
    if min.zip(max).is_some_and(|(min, max)| min > max) {
        return Err(chosen.bad("min is more than max; allowed: min at most max"));
    }
    if let Some(max) = max.filter(|max| !variable.allows(*max)) {
        return Err(chosen
            .bad(format_args!("max of {max} is out of range; allowed: {}", variable.allowed())));
    }
    Ok((Shape::Lognormal { median, sigma, shift, min, max }, unit))
}

fn parse_pareto(chosen: &Field<'_>, variable: Variable) -> Result<(Shape, Unit), Error> {
    let params = Params::new(chosen, variable, &["min", "max"], &["alpha"])?;
    let (min, unit) = params.value("min")?;
    if min <= 0.0 {
        return Err(chosen.bad("min of 0; allowed: more than 0"));
    }
    let alpha = params
        .section
        .need("alpha")?
        .number_that(|alpha| alpha > 0.0 && alpha <= 100.0, "more than 0 and at most 100")?;
    let max = params.same(unit, params.optional("max")?)?;
    if max.is_some_and(|max| max < min) {
        return Err(chosen.bad("min is more than max; allowed: min at most max"));
    }
    Ok((Shape::Pareto { min, alpha, max }, unit))
}

/// The values of a list whose key has the unit.
fn values(params: &Params<'_>, variable: Variable) -> Result<(Vec<f64>, Unit), Error> {
    let Some((field, unit, factor)) = params.find("values")? else {
        return Err(params.section.bad("values", "is missing, with its unit"));
    };
    let list = field.list()?;
    if list.is_empty() {
        return Err(field.bad("is empty; allowed: at least one value"));
    }
    Ok((
        list.iter().map(|entry| drawable(entry, variable, factor)).collect::<Result<_, _>>()?,
        unit,
    ))
}

fn parse_choice(chosen: &Field<'_>, variable: Variable) -> Result<(Shape, Unit), Error> {
    let params = Params::new(chosen, variable, &["values"], &["weights"])?;
    let (values, unit) = values(&params, variable)?;
    let Some(field) = params.section.get("weights") else {
        let weights = vec![1.0 / values.len() as f64; values.len()];
        return Ok((Shape::Choice { values, weights }, unit));
    };
    let weights: Vec<f64> = field.list()?.iter().map(Field::number).collect::<Result<_, _>>()?;
    if weights.len() != values.len() {
        return Err(field.bad(format_args!(
            "{} weights for {} values; allowed: as many",
            weights.len(),
            values.len()
        )));
    }
    check_weights(&field, &weights)?;
    Ok((Shape::Choice { values, weights }, unit))
}

fn parse_table(chosen: &Field<'_>, variable: Variable) -> Result<(Shape, Unit), Error> {
    let params = Params::new(chosen, variable, &["values"], &["q"])?;
    let (values, unit) = values(&params, variable)?;
    let field = params.section.need("q")?;
    let q: Vec<f64> = field.list()?.iter().map(Field::number).collect::<Result<_, _>>()?;
    if q.len() != values.len() {
        return Err(field.bad(format_args!(
            "{} shares for {} values; allowed: as many",
            q.len(),
            values.len()
        )));
    }
    let table = QuantileTable::new(q.into_iter().zip(values).collect())
        .map_err(|(index, message)| field.bad(format_args!("row {index}: {message}")))?;
    Ok((Shape::Table(table), unit))
}

fn parse_mixture(
    chosen: &Field<'_>,
    variable: Variable,
    read_table: &ReadTable<'_>,
) -> Result<(Shape, Unit), Error> {
    let section = chosen.section(&["weights", "of"])?;
    let field = section.need("weights")?;
    let weights: Vec<f64> = field.list()?.iter().map(Field::number).collect::<Result<_, _>>()?;
    let parts = section.need("of")?;
    let of: Vec<Distribution> = parts
        .list()?
        .iter()
        .map(|part| Distribution::parse(part, variable, &[], read_table))
        .collect::<Result<_, _>>()?;
    let Some(first) = of.first() else {
        return Err(parts.bad("is empty; allowed: at least one distribution"));
    };
    if weights.len() != of.len() {
        return Err(field.bad(format_args!(
            "{} weights for {} distributions; allowed: as many",
            weights.len(),
            of.len()
        )));
    }
    if of.iter().any(|part| part.unit != first.unit) {
        return Err(parts.bad("has parts in different units; allowed: one unit"));
    }
    check_weights(&field, &weights)?;
    let unit = first.unit;
    Ok((Shape::Mixture { weights, of }, unit))
}
