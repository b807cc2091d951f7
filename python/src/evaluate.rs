//! The RFC 9743 evaluation of an algorithm, including one written in Python.

use crate::startup::{AnyArm, Fault, arms};
use crate::supervise::supervised;
use crate::table::{Batches, Holds, Spec, of_json};
use crate::{refuse, refused};
use firstflight_evaluate::{
    Battery, Declaration, Effort, Evaluation, Job, Report, evaluate, evidence,
};
use firstflight_lab::testbed::sim;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::path::PathBuf;

/// An evaluation that can be run.
#[pyclass(frozen, module = "firstflight._engine")]
pub struct EvaluationPlan {
    inner: Evaluation,
    job: Job,
    fault: Fault,
}

#[pymethods]
impl EvaluationPlan {
    /// `declare` is the text of a declaration and the name of its file.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        algorithm: AnyArm,
        baseline: AnyArm,
        criteria: Vec<String>,
        effort: &str,
        seed: u64,
        declare: Option<(String, String)>,
        exclude: Vec<String>,
        battery: Option<PathBuf>,
    ) -> PyResult<EvaluationPlan> {
        let fault = Fault::default();
        let mut both = arms(vec![algorithm, baseline], &fault)?.into_iter();
        let (Some(algorithm), Some(baseline)) = (both.next(), both.next()) else {
            return Err(refuse("an algorithm and a baseline are needed".to_owned()));
        };
        let efforts = [Effort::Quick, Effort::Standard, Effort::Full];
        let Some(effort) = efforts.into_iter().find(|one| one.name() == effort) else {
            return Err(refuse(format!("effort `{effort}`: allowed: quick, standard, full")));
        };
        let built = || {
            let battery = battery.as_deref().map_or_else(Battery::builtin, Battery::read)?;
            let declaration = match &declare {
                Some((name, text)) => Declaration::parse(name, text, &battery)?,
                None => Declaration::default(),
            };
            let inner = Evaluation {
                criteria: battery.select(&criteria)?,
                algorithm,
                baseline,
                effort,
                seed,
                declaration: declaration.excluding(&exclude, &battery)?,
                testbed: &sim::BED,
                battery,
            };
            let job = inner.job()?;
            Ok((inner, job))
        };
        let (inner, job) = built().map_err(|bad| refused(&bad))?;
        Ok(EvaluationPlan { inner, job, fault })
    }

    /// Number of runs of cells, including those of the baseline.
    #[getter]
    fn runs(&self) -> u64 {
        self.job.runs
    }

    /// Thousands of data packets, at most; for a progress bar.
    #[getter]
    fn steps(&self) -> u64 {
        self.job.packets / 1_000
    }

    /// Runs the evaluation; Ctrl-C ends it.
    #[pyo3(signature = (threads = None, progress = None))]
    fn run(
        &self,
        py: Python<'_>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<EvaluationReport> {
        let run = self.fault.run();
        let tick = |packets: u64| run.tick(packets / 1_000);
        let result = supervised(py, &run, threads, progress.as_ref(), || {
            evaluate(&self.inner, &tick, &run.stop)
        });
        let inner = self.fault.or(result)?;
        Ok(EvaluationReport { asked: self.inner.clone(), inner, fault: self.fault.clone() })
    }
}

/// Result of an evaluation.
#[pyclass(frozen, module = "firstflight._engine")]
pub struct EvaluationReport {
    asked: Evaluation,
    inner: Report,
    fault: Fault,
}

#[pymethods]
impl EvaluationReport {
    /// The same bytes as `evaluate --json -`.
    fn to_json(&self) -> PyResult<String> {
        self.inner.to_json().map_err(|bad| refused(&bad))
    }

    /// The report; it names `command` as its source.
    fn report(&self, py: Python<'_>, command: &str) -> PyResult<String> {
        let run = self.fault.run();
        let page = supervised(py, &run, None, None, || {
            let places = evidence(&self.asked, &self.inner, &run.stop)?;
            Ok(self.inner.page(command, &places))
        });
        self.fault.or(page)
    }

    /// An annex for an Internet-Draft, Markdown for kramdown-rfc or the vocabulary of xml2rfc.
    fn annex(&self, xml: bool) -> String {
        if xml { self.inner.annex_xml() } else { self.inner.annex() }
    }

    /// The finding, in a sentence.
    #[getter]
    fn summary(&self) -> String {
        self.inner.summary()
    }

    /// Forbidden behaviour of the algorithm, and the reason why the result is incomplete.
    fn troubles(&self) -> Vec<String> {
        self.inner.broken.iter().chain(&self.inner.partial).cloned().collect()
    }

    /// One row per criterion.
    fn criteria(&self) -> PyResult<Batches> {
        let rows = self.inner.criteria.iter().map(|row| {
            json!({
                "section": row.section, "title": row.title, "verdict": row.verdict.name(),
                "decided_by": row.decided(), "rules": row.judges.len(),
            })
        });
        of_json(CRITERIA, rows)
    }

    /// One row per rule and cell.
    fn rules(&self) -> PyResult<Batches> {
        let rows = self.inner.criteria.iter().flat_map(|criterion| {
            criterion.judges.iter().map(|row| {
                let mut row = serde_json::to_value(row).unwrap_or_default();
                if let Value::Object(row) = &mut row {
                    row.insert("section".into(), criterion.section.as_str().into());
                }
                row
            })
        });
        of_json(RULES, rows)
    }
}

const CRITERIA: &[Spec] = &[
    ("section", "/section", Holds::Text),
    ("title", "/title", Holds::Text),
    ("verdict", "/verdict", Holds::Text),
    ("decided_by", "/decided_by", Holds::Text),
    ("rules", "/rules", Holds::Whole),
];

const RULES: &[Spec] = &[
    ("section", "/section", Holds::Text),
    ("cell", "/cell", Holds::Text),
    ("metric", "/metric", Holds::Text),
    ("of", "/of", Holds::Text),
    ("window", "/window", Holds::Text),
    ("unit", "/unit", Holds::Text),
    ("rule", "/rule", Holds::Text),
    ("seeds", "/seeds", Holds::Whole),
    ("value", "/value", Holds::Real),
    ("baseline", "/baseline", Holds::Real),
    ("difference", "/difference", Holds::Real),
    ("difference_low", "/interval/0", Holds::Real),
    ("difference_high", "/interval/1", Holds::Real),
    ("logarithm", "/logarithm", Holds::Flag),
    ("margin", "/margin", Holds::Real),
    ("limit", "/limit", Holds::Real),
    ("chance", "/chance", Holds::Real),
    ("verdict", "/verdict", Holds::Text),
];
