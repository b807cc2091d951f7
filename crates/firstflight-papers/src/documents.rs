//! All documents, and the experiments that measure each file in `papers/`.

use crate::source::{Measure, PAPERS, Paper, Source};
use crate::{
    abba, best, browser, careful, chirping, cuback, early_retransmit, gvisor, hystart_plus_plus,
    idle_trap, leo, neqo, prr, rapid_start, rwnd, scone, suss,
};
use firstflight_lab::Error;
use firstflight_path::suggestion;
use std::sync::LazyLock;

/// For each document: its experiments, the arms that they compare, and the number of measurements that they
/// announce.
const EXPERIMENTS: [(&str, Measure, &[&str], u64); 17] = [
    ("hystart++", hystart_plus_plus::measured, hystart_plus_plus::ARMS, 15),
    ("rapid-start", rapid_start::measured, rapid_start::production::ARMS, 8),
    ("best", best::measured, best::exits::ARMS, 18),
    ("gvisor", gvisor::measured, gvisor::ARMS, 6),
    ("prr", prr::measured, prr::web::ARMS, 49),
    ("early-retransmit", early_retransmit::measured, early_retransmit::ARMS, 15),
    ("neqo", neqo::measured, neqo::ARMS, 3),
    ("cuback", cuback::measured, cuback::ARMS, 5),
    ("abba", abba::measured, abba::ARMS, 6),
    ("browser", browser::measured, browser::ARMS, 1),
    ("careful", careful::measured, careful::ARMS, 4),
    ("leo", leo::measured, leo::ARMS, 3),
    ("suss", suss::measured, suss::ARMS, 7),
    ("chirping", chirping::measured, chirping::ARMS, 3),
    ("rwnd", rwnd::measured, rwnd::ARMS, 3),
    ("scone", scone::measured, scone::ARMS, 10),
    ("idle-trap", idle_trap::measured, idle_trap::ARMS, 1),
];

/// Every document, in the order of the list of experiments.
pub static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
    let of = |paper: &Paper| {
        let (_, measure, arms, steps) = EXPERIMENTS
            .iter()
            .find(|(name, ..)| *name == paper.name)
            .unwrap_or_else(|| panic!("{} of papers/ has no experiments", paper.name));
        Source::of(paper, *measure, arms, *steps)
    };
    PAPERS.iter().map(of).collect()
});

/// The document of that name.
///
/// # Errors
/// One line with the most similar known name.
pub fn source(name: &str) -> Result<&'static Source, Error> {
    SOURCES.iter().find(|source| source.name == name).ok_or_else(|| {
        let all = SOURCES.iter().map(|source| source.name).collect::<Vec<_>>().join(", ");
        let near = suggestion(name, SOURCES.iter().map(|source| source.name));
        Error::new(format!("unknown document `{name}`{near}; allowed: {all}"))
    })
}
