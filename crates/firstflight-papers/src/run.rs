//! Running documents one after the other, until somebody has seen enough.

use crate::{Chapter, Effort, Partial, Reproduction, Scale, Source};
use firstflight_lab::Error;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Thrown through a measurement that is to end: experiments know no stop, but each says before it
/// begins what it measures.
struct Stopped;

/// Measures every claim of these documents, on the current thread pool. If somebody sets `stop`,
/// it ends before the next measurement with the documents that are through by then, and the result
/// says that it is [`Partial`].
///
/// # Errors
/// If a path or an arm of the table is refused; one line if it is stopped before the first document
/// is through.
pub fn reproduce(
    sources: &[&'static Source],
    effort: &Effort<'_>,
    stop: &AtomicBool,
) -> Result<Reproduction, Error> {
    let tell = |what: &str| {
        if stop.load(Ordering::Relaxed) {
            resume_unwind(Box::new(Stopped));
        }
        (effort.tell)(what);
    };
    let watched = Effort { scale: effort.scale, tell: &tell };
    let mut chapters: Vec<Chapter> = Vec::with_capacity(sources.len());
    let mut partial = None;
    for source in sources {
        match catch_unwind(AssertUnwindSafe(|| source.run(&watched))) {
            Ok(chapter) => chapters.push(chapter?),
            Err(thrown) if thrown.is::<Stopped>() => {
                let (documents, of) = (chapters.len(), sources.len());
                partial = Some(Partial { documents, of, stopped_in: source.name });
                break;
            }
            Err(thrown) => resume_unwind(thrown),
        }
    }
    if chapters.is_empty() {
        return Err(Error::new("stopped before one document was through"));
    }
    let quick = effort.scale != Scale::Full;
    Ok(Reproduction { partial, ..Reproduction::new(quick, chapters) })
}
