//! Fit of random loss to published losses, for every factor on the buffers.

use crate::output::{Output, fitted};
use crate::rows::pretty;
use crate::terminal::{QUIET, TITLE, width, wrap};
use firstflight_lab::population::calibrate::{Fitted, MEASURED_MS, NEARLY, Point, Profile};
use firstflight_lab::{Error, Population};
use firstflight_table::{Kind, Marked, Table};

/// A fit, and its population.
pub(super) struct Fit<'a> {
    pub(super) population: &'a Population,
    pub(super) profile: &'a Profile,
}

/// Columns of the data: one row per factor and published number.
pub(super) const RAW: [&str; 12] = [
    "q",
    "k",
    "s",
    "buffer_ms",
    "buffer_bdp",
    "misfit",
    "accepted",
    "fitted",
    "statistic",
    "published",
    "measured",
    "inside",
];

/// The published difference in loss, in percentage points, according to the slides.
const MORE_LOSS_POINTS: &str = "+0.46";

/// Columns of the fit.
pub(super) fn columns() -> impl Iterator<Item = (&'static str, Kind)> {
    let numbers = [
        "buffer\np50",
        "k\n%",
        "s",
        "mean\n%",
        "P50\n%",
        "P90\n%",
        "P99\n%",
        "rapid\nx",
        "rapid\n+points",
        "misfit",
    ];
    let numbers = numbers.map(|header| (header, Kind::Number));
    std::iter::once(("q", Kind::Name)).chain(numbers).chain([("verdict", Kind::Name)])
}

/// Marks a number outside its band.
fn judged(one: &Fitted) -> String {
    format!("{:.2}{}", one.measured, if one.inside { " " } else { "!" })
}

impl Fit<'_> {
    /// The best-fitting knobs for every factor.
    fn fits(&self) -> Table {
        let Profile { points, best, .. } = self.profile;
        let title = format!("{}: random loss fitted for every factor q", self.population.name);
        let mut sheet = Table::new(title, columns()).dropping(&["rapid +points", "s"]);
        let empty = || std::iter::repeat_n(Marked::default(), 3);
        let targets = |text: fn(&Fitted) -> String| {
            let fitted = points.first().map_or(&[][..], |point| &point.columns);
            fitted.iter().map(move |one| Marked::from(text(one))).collect::<Vec<_>>()
        };
        let published = targets(|one| format!("{:.2} ", one.target.target));
        let more = [MORE_LOSS_POINTS, "", ""].map(Marked::from);
        sheet.row(
            [Marked::from("published")].into_iter().chain(empty()).chain(published).chain(more),
        );
        let bands = targets(|one| format!("{}-{} ", one.target.low, one.target.high));
        sheet
            .row([Marked::from("accepted")].into_iter().chain(empty()).chain(bands).chain(empty()));
        for (index, point) in points.iter().enumerate() {
            let verdict = match (index == *best, point.accepted) {
                (true, _) => "best",
                (_, true) => "fits nearly as well",
                (_, false) => "",
            };
            let knobs = [
                point.q.to_string(),
                format!("{:.0} ms {:.1} BDP", point.buffer_ms, point.buffer_bdp),
                format!("{:.3}", point.k * 100.0),
                format!("{:.3}", point.s),
            ];
            let ends = [
                format!("{:+.2}", point.more_loss_points),
                format!("{:.2}", point.misfit),
                verdict.to_owned(),
            ];
            let all = knobs.into_iter().chain(point.columns.iter().map(judged)).chain(ends);
            sheet.row(all.map(|text| Marked::from(text).bold(index == *best)));
        }
        sheet
    }

    /// The best point, and both ends of the range that fits nearly as well.
    fn points(&self) -> Vec<&Point> {
        let Profile { points, best, range, .. } = self.profile;
        let shown = |(index, point): &(usize, &Point)| {
            index == best || [range.0, range.1].contains(&point.q)
        };
        points.iter().enumerate().filter(shown).map(|(_, point)| point).collect()
    }

    /// Published numbers that were not used in the fit.
    fn held_out(&self) -> Table {
        let points = self.points();
        let headers = points.iter().map(|point| (format!("q = {}", point.q), Kind::Number));
        let first = [("held out", Kind::Prose), ("published", Kind::Number)]
            .map(|(header, side)| (header.to_owned(), side));
        let mut sheet =
            Table::new("held out: published, not fitted", first.into_iter().chain(headers));
        let count = points.first().map_or(0, |point| point.held_out.len());
        for row in 0..count {
            let target = points[0].held_out[row].target;
            let first = [target.name.to_owned(), format!("{:.2}", target.target)];
            let values = points.iter().map(|point| {
                let one = &point.held_out[row];
                format!("{:.2}{}", one.measured, if one.inside { "       " } else { " MISSED" })
            });
            sheet.row(first.into_iter().chain(values));
        }
        sheet
    }
}

impl Output for Fit<'_> {
    fn text(&self) -> String {
        let Profile { flows, range, .. } = self.profile;
        let (low, high) = MEASURED_MS;
        let keys = [
            "! outside its band. k and s: least squares over slow start's four columns.".to_owned(),
            format!(
                "misfit: sum over the five columns and the median buffer (measured ones lie between {low:.0} and {high:.0} ms) of (ln(measured / published) / half the accepted band in the logarithm) squared; a row fits nearly as well up to {NEARLY} above the least."
            ),
        ];
        let keys = keys.map(|line| wrap(&line, 0, width()) + "\n").concat();
        format!(
            "{TITLE}{}{TITLE:#}: random loss fitted for every factor q on the buffers {QUIET}{flows} connections per row{QUIET:#}\n\
             {}{QUIET}{keys}{QUIET:#}range of q that fits nearly as well: {} to {}\n\n{}",
            firstflight_table::text::one_line(&self.population.name),
            fitted(&[self.fits()]),
            range.0,
            range.1,
            fitted(&[self.held_out()]),
        )
    }

    fn sheets(&self) -> Vec<Table> {
        vec![self.fits(), self.held_out()]
    }

    fn rows(&self) -> Table {
        let mut rows = Table::of_data(RAW);
        for point in &self.profile.points {
            let fitted = point.columns.iter().map(|one| (true, one));
            for (in_fit, one) in fitted.chain(point.held_out.iter().map(|one| (false, one))) {
                rows.values([
                    point.q.into(),
                    point.k.into(),
                    point.s.into(),
                    point.buffer_ms.into(),
                    point.buffer_bdp.into(),
                    point.misfit.into(),
                    point.accepted.into(),
                    in_fit.into(),
                    one.target.name.into(),
                    one.target.target.into(),
                    one.measured.into(),
                    one.inside.into(),
                ]);
            }
        }
        rows
    }

    fn json(&self) -> Result<String, Error> {
        pretty(serde_json::to_string_pretty(self.profile))
    }
}
