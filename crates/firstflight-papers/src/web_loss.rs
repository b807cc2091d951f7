//! The fitted loss of web paths, from which several documents start: fitted once in a run.

use crate::servers::{FILE, Fitted, fit_web_from};
use crate::{Effort, Source};
use firstflight_lab::Error;

/// Documents that start from the fitted loss of web paths.
pub(crate) const ON_WEB_PATHS: [&str; 3] = ["hystart++", "prr", "early-retransmit"];

/// The fitted loss, for one of these documents.
pub(crate) fn fit_web(effort: &Effort<'_>, source: &Source) -> Result<Fitted, Error> {
    debug_assert!(ON_WEB_PATHS.contains(&source.name), "{} is not in the list", source.name);
    fit_web_once(effort).cloned()
}

/// The fitted loss. Documents side by side each fit it themselves unless it is there when they begin: none
/// may wait for another, since a thread that waits takes up other work, and that may be who waits for the
/// same.
pub(crate) fn fit_web_once<'a>(effort: &'a Effort<'_>) -> Result<&'a Fitted, Error> {
    if let Some(fitted) = effort.web.get() {
        return Ok(fitted);
    }
    let fitted = fit_web_from(FILE, effort.sample("web.fit"))?;
    Ok(effort.web.get_or_init(|| fitted))
}
