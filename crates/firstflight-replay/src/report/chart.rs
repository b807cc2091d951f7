//! Charts as SVG: panels that share one time axis.

use std::fmt::Write as _;

/// Width of every chart, in its own units.
pub(super) const WIDTH: f64 = 1120.0;
/// Where the time axis begins.
pub(super) const LEFT: f64 = 76.0;
/// Where it ends.
pub(super) const RIGHT: f64 = WIDTH - 16.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 22.0;

/// How values become heights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// In proportion, from zero.
    Linear,
    /// Powers of ten.
    Log,
}

/// One panel.
pub(super) struct Chart {
    height: f64,
    to_ms: f64,
    low: f64,
    high: f64,
    scale: Scale,
    body: String,
}

/// A number of an axis: short.
pub(super) fn short(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        x if x >= 1e9 => (value / 1e9, "G"),
        x if x >= 1e6 => (value / 1e6, "M"),
        x if x >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let text = if scaled.abs() >= 100.0 { format!("{scaled:.0}") } else { format!("{scaled:.2}") };
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    };
    format!("{text}{unit}")
}

/// Steps of 1, 2 or 5 times a power of ten, at most `most` of them up to `to`.
fn steps(to: f64, most: usize) -> Vec<f64> {
    let rough = to / most as f64;
    if !rough.is_finite() || rough <= 0.0 {
        return Vec::new();
    }
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| *step >= rough)
        .unwrap_or(rough);
    (0..=most).map(|index| index as f64 * step).take_while(|value| *value <= to * 1.0001).collect()
}

impl Chart {
    /// An empty panel for values between `low` and `high`.
    pub(super) fn new(height: f64, to_ms: f64, low: f64, high: f64, scale: Scale) -> Chart {
        let high = if high > low { high } else { low.abs().max(1.0) * 2.0 };
        let low = if scale == Scale::Log { low.max(high * 1e-7).max(1e-9) } else { 0.0 };
        let mut chart = Chart {
            height,
            to_ms: to_ms.max(1e-6),
            low,
            high: high * if scale == Scale::Log { 1.3 } else { 1.06 },
            scale,
            body: String::new(),
        };
        chart.axes();
        chart
    }

    /// Where a time stands.
    pub(super) fn x(&self, ms: f64) -> f64 {
        LEFT + (ms / self.to_ms).clamp(0.0, 1.0) * (RIGHT - LEFT)
    }

    fn y(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
        };
        self.height - BOTTOM - share.clamp(0.0, 1.0) * (self.height - TOP - BOTTOM)
    }

    fn axes(&mut self) {
        let marks = match self.scale {
            Scale::Linear => steps(self.high, 5),
            Scale::Log => {
                let (from, to) = (self.low.log10().ceil() as i32, self.high.log10().floor() as i32);
                let every = ((to - from) / 5 + 1).max(1);
                (from..=to).step_by(every as usize).map(|power| 10f64.powi(power)).collect()
            }
        };
        for mark in marks {
            let y = self.y(mark);
            let _ = write!(
                self.body,
                "<line class=rule x1={LEFT} x2={RIGHT} y1={y:.1} y2={y:.1} /><text x={:.1} y={:.1} text-anchor=end>{}</text>",
                LEFT - 6.0,
                y + 4.0,
                short(mark)
            );
        }
        for mark in steps(self.to_ms, 10) {
            let x = self.x(mark);
            let _ = write!(
                self.body,
                "<line class=rule x1={x:.1} x2={x:.1} y1={TOP} y2={:.1} /><text x={x:.1} y={:.1} text-anchor=middle>{}</text>",
                self.height - BOTTOM,
                self.height - 6.0,
                short(mark)
            );
        }
        let _ = write!(
            self.body,
            "<line class=axis x1={LEFT} x2={RIGHT} y1={0:.1} y2={0:.1} />",
            self.height - BOTTOM
        );
    }

    /// A line through points in order of time; it stops where there is no value.
    pub(super) fn line(
        &mut self,
        points: impl Iterator<Item = (f64, Option<f64>)>,
        class: &str,
        colour: Option<&str>,
    ) {
        let (mut path, mut pen_down) = (String::new(), false);
        for (ms, value) in points {
            match value.filter(|value| value.is_finite() && ms <= self.to_ms * 1.001) {
                Some(value) => {
                    let _ = write!(
                        path,
                        "{}{:.1} {:.1}",
                        if pen_down { 'L' } else { 'M' },
                        self.x(ms),
                        self.y(value)
                    );
                    pen_down = true;
                }
                None => pen_down = false,
            }
        }
        let stroke =
            colour.map_or(String::new(), |colour| format!(" style=\"stroke:var(--{colour})\""));
        if !path.is_empty() {
            let _ = write!(self.body, "<path class=\"line {class}\"{stroke} d=\"{path}\" />");
        }
    }

    /// Dots.
    pub(super) fn dots(&mut self, points: impl Iterator<Item = (f64, f64)>) {
        let mut path = String::new();
        for (ms, value) in points.filter(|(ms, value)| value.is_finite() && *ms <= self.to_ms) {
            let _ =
                write!(path, "M{:.1} {:.1}h1.8v1.8h-1.8z", self.x(ms) - 0.9, self.y(value) - 0.9);
        }
        let _ = write!(self.body, "<path class=dot d=\"{path}\" />");
    }

    /// A level, with its name.
    pub(super) fn level(&mut self, value: f64, class: &str, name: &str) {
        let y = self.y(value);
        let _ = write!(
            self.body,
            "<line class=\"line {class}\" x1={LEFT} x2={RIGHT} y1={y:.1} y2={y:.1} /><text class=label x={:.1} y={:.1} text-anchor=end>{}</text>",
            RIGHT - 4.0,
            y - 4.0,
            super::text(name)
        );
    }

    /// A moment: a line from top to bottom in a colour, with a mark at the top.
    pub(super) fn moment(&mut self, ms: f64, colour: &str, title: &str) {
        if ms > self.to_ms {
            return;
        }
        let (x, bottom) = (self.x(ms), self.height - BOTTOM);
        let _ = write!(
            self.body,
            "<g style=\"stroke:var(--{colour});fill:var(--{colour})\"><title>{}</title><line x1={x:.1} x2={x:.1} y1={TOP} y2={bottom:.1} stroke-width=1.4 />\
             <path d=\"M{:.1} {:.1}h8l-4 7z\" /></g>",
            super::text(title),
            x - 4.0,
            TOP - 8.0
        );
    }

    /// Short strokes at the bottom: losses.
    pub(super) fn strokes(&mut self, times: impl Iterator<Item = f64>) {
        let (low, high) = (self.height - BOTTOM, self.height - BOTTOM - 7.0);
        let mut path = String::new();
        for x in times.filter(|ms| *ms <= self.to_ms).map(|ms| self.x(ms)) {
            let _ = write!(path, "M{x:.1} {low:.1}V{high:.1}");
        }
        let _ = write!(self.body, "<path class=lost d=\"{path}\" />");
    }

    /// The panel with its heading.
    pub(super) fn figure(self, title: &str, how: &str) -> String {
        format!(
            "<figure><figcaption><b>{title}</b> {how}</figcaption><svg viewBox=\"0 0 {WIDTH} {h}\" role=img aria-label=\"{title}\">{}\
             <line class=cross x1=0 x2=0 y1={TOP} y2={:.1} /></svg></figure>\n",
            self.body,
            self.height - BOTTOM,
            h = self.height
        )
    }
}
