//! Thinning: reduces the number of samples and keeps the peaks, the troughs and the ends. Time is
//! divided into equal buckets, and each keeps the first and the last sample and the extremes of
//! every curve. The largest number of buckets that fits is used, so curves that rise together (as
//! most do) need fewer points and keep more detail.

use super::{Loss, Phase, Point, Report};

/// Maximum number of points of one series in a page: more than one per pixel of a wide screen.
pub const MAX_POINTS: usize = 1500;
/// Maximum number of loss marks of one series in a page.
pub const MAX_LOSSES: usize = 600;
/// Maximum number of phases, and of recovery episodes, of one series in a page.
pub const MAX_SPANS: usize = 300;
/// With more arms than this, each gets fewer points, so that a page stays below 2 MB: 12 full
/// series are about 1.5 MB.
const FULL_ARMS: usize = 12;
/// Maximum number of samples that a bucket keeps: both ends, and two extremes each of cwnd,
/// ssthresh, inflight and queue. Delivered bytes never decrease, so their extremes are the ends.
const PER_BUCKET: usize = 10;

/// At most `max` of `points`, in order, including the first, the last and the extremes of every
/// curve. If `max` is too small for one bucket (`PER_BUCKET` points), only the ends are kept; 1 or
/// 0 keeps that many points.
pub fn thin(points: &[Point], max: usize) -> Vec<Point> {
    if points.len() <= max {
        return points.to_vec();
    }
    let ends = [0, points.len() - 1];
    if max < PER_BUCKET {
        return ends.iter().take(max).map(|&i| points[i]).collect();
    }
    let mut buckets = max / 2;
    loop {
        let keep = choose(points, buckets);
        if keep.len() <= max {
            return keep.into_iter().map(|i| points[i]).collect();
        }
        // This loop ends: `max / PER_BUCKET` buckets fit for any data, and that is at least one.
        buckets = (buckets * 9 / 10).max(max / PER_BUCKET);
    }
}

/// The indices kept for `buckets` equal time intervals, ascending.
fn choose(points: &[Point], buckets: usize) -> Vec<usize> {
    let (start, end) = (points[0].t_ms, points[points.len() - 1].t_ms);
    let span = end - start;
    // Conversion from float to integer saturates: a time outside the span (or NaN) falls into the
    // nearest (the first) bucket.
    let bucket = |p: &Point| {
        if span > 0.0 {
            (((p.t_ms - start) / span * buckets as f64) as usize).min(buckets - 1)
        } else {
            0
        }
    };
    let mut seen = vec![None::<[usize; PER_BUCKET]>; buckets];
    for (i, p) in points.iter().enumerate() {
        let kept = seen[bucket(p)].get_or_insert([i; PER_BUCKET]);
        kept[1] = i;
        for ([least, most], curve) in kept[2..].as_chunks_mut().0.iter_mut().zip(CURVES) {
            if curve(p) < curve(&points[*least]) {
                *least = i;
            }
            if curve(p) > curve(&points[*most]) {
                *most = i;
            }
        }
    }
    let mut keep: Vec<usize> = seen.into_iter().flatten().flatten().collect();
    keep.sort_unstable();
    keep.dedup();
    keep
}

/// The curves whose extremes a bucket keeps. An unset threshold is above every set one.
const CURVES: [fn(&Point) -> u64; 4] =
    [|p| p.cwnd, |p| p.ssthresh.unwrap_or(u64::MAX), |p| p.inflight, |p| p.queue_bytes];

/// At most `max` marks (at least one) with the bytes of all `losses`: losses in the same time
/// interval are merged at the time of the first.
pub fn thin_losses(losses: &[Loss], max: usize) -> Vec<Loss> {
    let max = max.max(1);
    if losses.len() <= max {
        return losses.to_vec();
    }
    let width = (losses[losses.len() - 1].t_ms - losses[0].t_ms) / max as f64;
    let mut marks: Vec<Loss> = Vec::new();
    for loss in losses {
        match marks.last_mut() {
            Some(mark) if same_stretch(mark, loss, width) => {
                mark.bytes = mark.bytes.saturating_add(loss.bytes);
            }
            _ => marks.push(*loss),
        }
    }
    // By rounding, a mark may start slightly before its interval ends and leave one mark too many.
    while marks.len() > max {
        let last = marks.pop().map_or(0, |mark| mark.bytes);
        if let Some(mark) = marks.last_mut() {
            mark.bytes = mark.bytes.saturating_add(last);
        }
    }
    marks
}

/// Whether `loss` still belongs to the interval that `mark` started.
fn same_stretch(mark: &Loss, loss: &Loss, width: f64) -> bool {
    loss.t_ms - mark.t_ms <= width
}

/// At most `max` phases (at least one) over the same time: the shortest ones are merged into the
/// preceding phase.
pub fn thin_phases(phases: &[Phase], max: usize) -> Vec<Phase> {
    let max = max.max(1);
    let length = |phase: &Phase| phase.end_ms - phase.start_ms;
    let mut kept = phases.to_vec();
    let mut limit =
        phases.last().map_or(0.0, |last| last.end_ms - phases[0].start_ms) / max as f64 / 8.0;
    while kept.len() > max && limit.is_finite() {
        let mut out: Vec<Phase> = Vec::with_capacity(kept.len());
        for phase in kept {
            match out.last_mut() {
                Some(last) if last.name == phase.name || length(&phase) <= limit => {
                    last.end_ms = phase.end_ms;
                }
                _ => out.push(phase),
            }
        }
        kept = out;
        // If all phases have zero length, doubling zero would never end.
        limit = (limit * 2.0).max(1e-6);
    }
    kept.truncate(max);
    kept
}

impl Report {
    /// The report as the page embeds it: every list within its bound, times in whole microseconds.
    #[must_use]
    pub fn bounded(&self) -> Report {
        self.clone().trimmed(MAX_POINTS)
    }

    /// Like [`Report::bounded`], with at most `most_points` points per series, for a page that
    /// redraws many times a second. Series that are far too long are first thinned in one pass,
    /// because the search for the best fit
    /// would take about ten passes over them.
    #[must_use]
    pub fn within(mut self, most_points: usize) -> Report {
        for series in &mut self.series {
            if series.points.len() > 4 * most_points && most_points >= PER_BUCKET {
                let kept = choose(&series.points, most_points / 2);
                series.points = kept.into_iter().map(|i| series.points[i]).collect();
            }
        }
        self.trimmed(most_points)
    }

    fn trimmed(self, most_points: usize) -> Report {
        let arms = self.series.len();
        let share = |most: usize| if arms > FULL_ARMS { most * FULL_ARMS / arms } else { most };
        let mut report = self;
        for series in &mut report.series {
            series.points = thin(&series.points, share(most_points));
            series.losses = thin_losses(&series.losses, share(MAX_LOSSES));
            series.phases = thin_phases(&series.phases, share(MAX_SPANS));
            let spans = share(MAX_SPANS);
            if series.episodes.len() > spans {
                series.episodes_total = series.episodes_total.max(series.episodes.len() as u64);
                series.episodes.truncate(spans);
            }
            let points = series.points.iter_mut().map(|p| &mut p.t_ms);
            let losses = series.losses.iter_mut().map(|l| &mut l.t_ms);
            let phases = series.phases.iter_mut().flat_map(|p| [&mut p.start_ms, &mut p.end_ms]);
            let exit = series.exit.iter_mut().map(|e| &mut e.time_ms);
            points
                .chain(losses)
                .chain(phases)
                .chain(exit)
                .for_each(|t| *t = (*t * 1000.0).round() / 1000.0);
        }
        report
    }
}
