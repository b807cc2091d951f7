//! Runs documents, in parallel, until they are finished or stopped.

use crate::chapter::numbered;
use crate::values::Measured;
use crate::web_loss::{ON_WEB_PATHS, fit_web_once};
use crate::{Chapter, Effort, Partial, Reproduction, Row, Scale, Source};
use firstflight_lab::Error;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

impl Source {
    /// Measures every claim on the current thread pool. The result does not depend on the number of threads.
    ///
    /// # Errors
    /// If a path or an arm of the experiments is invalid.
    pub fn run(&'static self, effort: &Effort<'_>) -> Result<Chapter, Error> {
        let Measured { values, figures, findings } = (self.measure)(effort, self)?;
        let unmatched = self.unmatched(&values);
        let mut rows: Vec<Row> =
            self.items.iter().filter_map(|item| Some(Row::quoted(item.id, item.quoted?))).collect();
        rows.extend(self.rows_of_all(&values));
        for item in &self.items {
            if !rows.iter().any(|row| row.id == item.id) {
                // No claim is dropped silently.
                rows.push(Row::not_run(item.id, "we do not measure it yet"));
            }
        }
        for row in &mut rows {
            row.claim = self.item(row.id).map_or("", |item| item.published);
        }
        let order = |row: &Row| self.items.iter().position(|item| item.id == row.id);
        rows.sort_by_key(order);
        let rows = numbered(rows);
        Ok(Chapter {
            name: self.name,
            document: self.document,
            stated: self.stated,
            assumptions: &self.assumptions,
            findings,
            rows,
            figures,
            unmatched,
        })
    }
}

/// Panic payload that ends a measurement. Experiments have no stop flag of their own, but each announces its
/// measurements, and most call [`Effort::look`] before each trial.
struct Stopped;

/// Measures every claim of these documents on the current thread pool. If `stop` is set, each document ends before
/// its next measurement or trial, and the result contains the finished documents and is [`Partial`].
///
/// # Errors
/// If a path or an arm of the experiments is invalid; one line if it is stopped before the first document
/// is finished.
pub fn reproduce(
    sources: &[&'static Source],
    effort: &Effort<'_>,
    stop: &AtomicBool,
) -> Result<Reproduction, Error> {
    let failed = AtomicBool::new(false);
    let look = || {
        if stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed) {
            resume_unwind(Box::new(Stopped));
        }
    };
    let tell = |what: &str| {
        look();
        (effort.tell)(what);
    };
    let watched = Effort { look: &look, ..Effort::new(effort.scale, &tell) };
    let on_web_paths = sources.iter().filter(|source| ON_WEB_PATHS.contains(&source.name)).count();
    if on_web_paths > 1 && !stop.load(Ordering::Relaxed) {
        fit_web_once(&watched)?;
    }
    let measure = |source: &'static Source| {
        let done = catch_unwind(AssertUnwindSafe(|| source.run(&watched)));
        if !matches!(done, Ok(Ok(_))) {
            failed.store(true, Ordering::Relaxed);
        }
        done
    };
    let mut places: Vec<Option<thread::Result<Result<Chapter, Error>>>> = Vec::new();
    places.resize_with(sources.len(), || None);
    // While there are documents left to start, each thread measures a document alone, so that no thread waits for
    // the last trial of a measurement. Only the last documents share their trials.
    rayon::scope_fifo(|scope| {
        for (source, place) in sources.iter().zip(&mut places) {
            scope.spawn_fifo(|_| *place = Some(measure(source)));
        }
    });
    let mut chapters: Vec<Chapter> = Vec::with_capacity(sources.len());
    let mut stopped_in = None;
    for (source, done) in sources.iter().zip(places) {
        match done {
            Some(Ok(chapter)) => chapters.push(chapter?),
            Some(Err(thrown)) if !thrown.is::<Stopped>() => resume_unwind(thrown),
            _ => stopped_in = stopped_in.or(Some(source.name)),
        }
    }
    if chapters.is_empty() {
        return Err(Error::new("stopped before any document was finished"));
    }
    let quick = effort.scale != Scale::Full;
    let (documents, of) = (chapters.len(), sources.len());
    let partial = stopped_in.map(|stopped_in| Partial { documents, of, stopped_in });
    Ok(Reproduction { partial, ..Reproduction::new(quick, chapters) })
}
