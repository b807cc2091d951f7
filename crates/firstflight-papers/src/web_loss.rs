//! The fitted loss of web paths, which several documents use; fitted once per run.

use crate::servers::{FILE, Fitted, fit_web_from};
use crate::{Effort, Source};
use firstflight_lab::Error;

/// Documents that use the fitted loss of web paths.
pub(crate) const ON_WEB_PATHS: [&str; 3] = ["hystart++", "prr", "early-retransmit"];

/// The fitted loss, for one of these documents.
pub(crate) fn fit_web(effort: &Effort<'_>, source: &Source) -> Result<Fitted, Error> {
    debug_assert!(ON_WEB_PATHS.contains(&source.name), "{} is not in the list", source.name);
    fit_web_once(effort).cloned()
}

/// The fitted loss. Documents that run in parallel each compute it unless it exists when they start. They must not
/// wait for each other: a waiting thread takes up other work, which could wait for the same fit.
pub(crate) fn fit_web_once<'a>(effort: &'a Effort<'_>) -> Result<&'a Fitted, Error> {
    if let Some(fitted) = effort.web.get() {
        return Ok(fitted);
    }
    let fitted = fit_web_from(FILE, effort.sample("web.fit"))?;
    Ok(effort.web.get_or_init(|| fitted))
}
