//! Thinning: fewer samples without losing what a reader would look for, the peaks, the troughs and
//! the ends. Time is cut into equal buckets and each keeps the first, the last, and the smallest
//! and largest of every curve. As many buckets are used as fit, so curves that rise together (most
//! do) cost fewer points and keep more detail.

use super::{Loss, Phase, Point, Report};

/// Most points of one series in a page: more than one per pixel of a wide screen.
pub const MAX_POINTS: usize = 1500;
/// Most loss marks of one series in a page.
pub const MAX_LOSSES: usize = 600;
/// Most phases, and most recovery episodes, of one series in a page.
pub const MAX_SPANS: usize = 300;
/// With more arms than this, each gets less, so that a page stays below 2 MB: 12 full series are
/// about 1.5 MB.
const FULL_ARMS: usize = 12;
/// What a bucket keeps at most: both ends, and two extremes each of cwnd, ssthresh, inflight and
/// queue. Delivered bytes never decrease, so the ends are their extremes.
const PER_BUCKET: usize = 10;

/// At most `max` of `points`, in their order, with the first, the last and the extremes of every
/// curve among them. A `max` too small for one bucket (`PER_BUCKET` points) keeps the ends alone,
/// and one or zero keeps as much as it says.
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
        // Always ends: `max / PER_BUCKET` buckets fit whatever the data, and that is at least one.
        buckets = (buckets * 9 / 10).max(max / PER_BUCKET);
    }
}

/// The indices that `buckets` equal stretches of time keep, ascending.
fn choose(points: &[Point], buckets: usize) -> Vec<usize> {
    let (start, end) = (points[0].t_ms, points[points.len() - 1].t_ms);
    let span = end - start;
    // Float to integer saturates: a time outside the span (or not a number) lands in the nearest
    // (the first) bucket.
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

/// At most `max` marks (at least one) that carry the bytes of all `losses`: those in the same
/// stretch of time become one, at the time of its first.
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
    // A mark may open a hair before its stretch ends and leave one too many behind.
    while marks.len() > max {
        let last = marks.pop().map_or(0, |mark| mark.bytes);
        if let Some(mark) = marks.last_mut() {
            mark.bytes = mark.bytes.saturating_add(last);
        }
    }
    marks
}

/// Whether `loss` still belongs to the stretch that `mark` opened.
fn same_stretch(mark: &Loss, loss: &Loss, width: f64) -> bool {
    loss.t_ms - mark.t_ms <= width
}

/// At most `max` phases (at least one) over the same time: the shortest ones go to the phase before
/// them.
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
        // Zero length throughout: doubling zero would never end.
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

    /// The same with at most so many points of one series, for a page that draws many times a
    /// second: what is far too much is thinned in one pass first, which finding the best fit
    /// would go over ten times.
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
