//! Figures of the report: the plots of the documents, with our curves and the published numbers
//! together.
//!
//! A figure consists of data and text; the page draws it. Every series is marked as published or
//! measured.

use super::Interval;
use serde::Serialize;

/// One figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Short title.
    pub name: String,
    /// Explanation, with the assumption behind it.
    pub how: String,
    /// Claims that it illustrates.
    pub rows: Vec<&'static str>,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Shape of points.
    pub shape: Shape,
    /// Data series.
    pub series: Vec<Series>,
    /// Published ranges of the value axis, drawn shaded.
    pub bands: Vec<Band>,
}

/// Shape of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Points joined by lines.
    Line,
    /// Each value holds until the next point.
    Step,
    /// One row per name: values are on the horizontal axis, and the first coordinate of a point is the index of
    /// its name.
    Rows,
}

/// An axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Axis {
    /// Quantity and unit.
    pub label: String,
    /// Named positions on the axis: position and text.
    pub names: Vec<(f64, String)>,
    /// Whether the axis starts at zero.
    pub from_zero: bool,
    /// Whether the scale is logarithmic.
    pub log: bool,
}

/// A series of points.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// Name.
    pub name: String,
    /// Whether the values are from the document, not measured by us.
    pub published: bool,
    /// Whether points are drawn without lines.
    pub dots: bool,
    /// Index of colour and mark, if figures or a published and a measured curve must share them.
    pub hue: Option<usize>,
    /// Positions and values; for rows, the index of the row and the value.
    pub points: Vec<[f64; 2]>,
    /// 95 % intervals of the values, if any.
    pub spans: Vec<Option<[f64; 2]>>,
}

/// A published range of values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Band {
    /// Name.
    pub name: String,
    /// Smallest.
    pub from: f64,
    /// Largest; equal to the smallest for a line.
    pub to: f64,
}

/// An axis with this label.
pub fn axis(label: &str) -> Axis {
    Axis { label: label.to_owned(), ..Axis::default() }
}

impl Axis {
    /// Starts the axis at zero.
    #[must_use]
    pub fn from_zero(self) -> Axis {
        Axis { from_zero: true, ..self }
    }

    /// Makes the scale logarithmic.
    #[must_use]
    pub fn log(self) -> Axis {
        Axis { log: true, ..self }
    }

    /// Adds names at these positions.
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

    /// Measured values with intervals, one per row or position, in order.
    pub fn with_intervals(
        name: impl Into<String>,
        values: impl IntoIterator<Item = (f64, Interval)>,
    ) -> Series {
        let values: Vec<(f64, Interval)> =
            values.into_iter().filter(|(_, value)| value.value.is_finite()).collect();
        let span = |value: &Interval| {
            (!value.is_point() && value.low.is_finite() && value.high.is_finite())
                .then_some([value.low, value.high])
        };
        Series {
            name: name.into(),
            published: false,
            dots: false,
            hue: None,
            points: values.iter().map(|(at, value)| [*at, value.value]).collect(),
            spans: values.iter().map(|(_, value)| span(value)).collect(),
        }
    }

    /// Values from the document.
    pub fn published(name: impl Into<String>, points: Vec<[f64; 2]>) -> Series {
        Series { published: true, dots: true, ..Series::ours(name, points) }
    }

    /// Sets colour and mark.
    #[must_use]
    pub fn hue(self, hue: usize) -> Series {
        Series { hue: Some(hue), ..self }
    }

    /// Sets whether points are drawn without lines.
    #[must_use]
    pub fn dots(self, dots: bool) -> Series {
        Series { dots, ..self }
    }
}

impl Figure {
    /// An empty figure.
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

    /// Sets the explanation.
    #[must_use]
    pub fn how(self, how: impl Into<String>) -> Figure {
        Figure { how: how.into(), ..self }
    }

    /// Adds the non-empty series.
    #[must_use]
    pub fn with(mut self, series: impl IntoIterator<Item = Series>) -> Figure {
        self.series.extend(series.into_iter().filter(|series| !series.points.is_empty()));
        self
    }

    /// Adds a published range, or a line if both ends are equal.
    #[must_use]
    pub fn band(mut self, name: impl Into<String>, from: f64, to: f64) -> Figure {
        self.bands.push(Band { name: name.into(), from, to });
        self
    }
}

/// Samples a curve every `step`, with the last known value. `record` has times and values, in order.
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
