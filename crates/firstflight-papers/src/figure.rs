//! Pictures of the report: what the documents show as plots, with our curves and the published
//! numbers in one frame.
//!
//! A figure is data and words; the page draws it. What was published is told apart from what we
//! measured in every series.

use super::Interval;
use serde::Serialize;

/// One picture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Short title.
    pub name: String,
    /// Instructions for reading it, with its assumption.
    pub how: String,
    /// Rows of the list that it belongs to.
    pub rows: Vec<&'static str>,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Shape of points.
    pub shape: Shape,
    /// Data series.
    pub series: Vec<Series>,
    /// Ranges of the value axis that were published, shaded.
    pub bands: Vec<Band>,
}

/// Shape of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Joined by lines.
    Line,
    /// Each holds until the next.
    Step,
    /// A row per name, its values side by side: the horizontal axis has the values, the points
    /// count the names.
    Rows,
}

/// An axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Axis {
    /// Quantity and unit.
    pub label: String,
    /// Names of the places, where the axis counts names or stretches a scale: place and text.
    pub names: Vec<(f64, String)>,
    /// Begins at zero.
    pub from_zero: bool,
    /// Equal factors are equally far apart.
    pub log: bool,
}

/// Points of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// Whose.
    pub name: String,
    /// Taken from the document, not measured by us.
    pub published: bool,
    /// Not joined.
    pub dots: bool,
    /// Which colour and mark, where several pictures or a published curve beside ours need the
    /// same.
    pub hue: Option<usize>,
    /// Places and values; in rows the number of the row and the value.
    pub points: Vec<[f64; 2]>,
    /// 95 % intervals of the values, where there are any.
    pub spans: Vec<Option<[f64; 2]>>,
}

/// A published range of values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Band {
    /// Name.
    pub name: String,
    /// Smallest.
    pub from: f64,
    /// Largest; the same as the smallest for a line.
    pub to: f64,
}

/// The axis of this quantity.
pub fn axis(label: &str) -> Axis {
    Axis { label: label.to_owned(), ..Axis::default() }
}

impl Axis {
    /// Beginning at zero.
    #[must_use]
    pub fn from_zero(self) -> Axis {
        Axis { from_zero: true, ..self }
    }

    /// With equal factors equally far apart.
    #[must_use]
    pub fn log(self) -> Axis {
        Axis { log: true, ..self }
    }

    /// With these names at these places.
    #[must_use]
    pub fn named(self, names: impl IntoIterator<Item = (f64, String)>) -> Axis {
        Axis { names: names.into_iter().collect(), ..self }
    }
}

impl Series {
    /// Measured values.
    pub fn ours(name: impl Into<String>, points: Vec<[f64; 2]>) -> Series {
        let kept: Vec<[f64; 2]> =
            points.into_iter().filter(|point| point.iter().all(|x| x.is_finite())).collect();
        Series {
            name: name.into(),
            published: false,
            dots: false,
            hue: None,
            spans: vec![None; kept.len()],
            points: kept,
        }
    }

    /// Measured values with intervals, one per row or place in order.
    pub fn with_intervals(
        name: impl Into<String>,
        values: impl IntoIterator<Item = (f64, Interval)>,
    ) -> Series {
        let values: Vec<(f64, Interval)> =
            values.into_iter().filter(|(_, value)| value.estimate.is_finite()).collect();
        let span = |value: &Interval| {
            (!value.is_point() && value.low.is_finite() && value.high.is_finite())
                .then_some([value.low, value.high])
        };
        Series {
            name: name.into(),
            published: false,
            dots: false,
            hue: None,
            points: values.iter().map(|(at, value)| [*at, value.estimate]).collect(),
            spans: values.iter().map(|(_, value)| span(value)).collect(),
        }
    }

    /// Values out of the document.
    pub fn published(name: impl Into<String>, points: Vec<[f64; 2]>) -> Series {
        Series { published: true, dots: true, ..Series::ours(name, points) }
    }

    /// In this colour and with this mark.
    #[must_use]
    pub fn hue(self, hue: usize) -> Series {
        Series { hue: Some(hue), ..self }
    }

    /// Joined, or not.
    #[must_use]
    pub fn dots(self, dots: bool) -> Series {
        Series { dots, ..self }
    }
}

impl Figure {
    /// A picture without anything in it.
    pub fn new(
        name: impl Into<String>,
        rows: &[&'static str],
        shape: Shape,
        x: Axis,
        y: Axis,
    ) -> Figure {
        Figure {
            name: name.into(),
            how: String::new(),
            rows: rows.to_vec(),
            x,
            y,
            shape,
            series: Vec::new(),
            bands: Vec::new(),
        }
    }

    /// With words on how to read it.
    #[must_use]
    pub fn how(self, how: impl Into<String>) -> Figure {
        Figure { how: how.into(), ..self }
    }

    /// With these series.
    #[must_use]
    pub fn with(mut self, series: impl IntoIterator<Item = Series>) -> Figure {
        self.series.extend(series.into_iter().filter(|series| !series.points.is_empty()));
        self
    }

    /// With a published range, or a line if both ends are one.
    #[must_use]
    pub fn band(mut self, name: impl Into<String>, from: f64, to: f64) -> Figure {
        self.bands.push(Band { name: name.into(), from, to });
        self
    }
}

/// Every `step`, the last value known: what a curve of a run needs to be drawn. `at` and `value` of
/// what was recorded, in order.
pub fn sampled(record: impl IntoIterator<Item = (f64, f64)>, step: f64, end: f64) -> Vec<[f64; 2]> {
    let mut points = Vec::new();
    let mut next = 0.0;
    let mut last = None;
    for (at, value) in record {
        while at > next && next <= end {
            if let Some(value) = last {
                points.push([next, value]);
            }
            next += step;
        }
        last = Some(value);
    }
    if let Some(value) = last.filter(|_| next <= end) {
        points.push([next, value]);
    }
    points
}

#[cfg(test)]
mod tests {
    use super::sampled;

    #[test]
    fn a_sampled_curve_holds_the_last_value_known() {
        let record = [(0.0, 1.0), (0.5, 2.0), (2.2, 3.0)];
        assert_eq!(sampled(record, 1.0, 5.0), [[0.0, 1.0], [1.0, 2.0], [2.0, 2.0], [3.0, 3.0]]);
    }
}
