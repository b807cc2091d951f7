//! The table for several flows at a time.

use crate::output::{Output, names, wants_json};
use crate::results::{legend, sheet, shown, trials_in_words};
use crate::rows;
use firstflight_lab::Error;
use firstflight_lab::sharing::{
    JSON_BETWEEN, JSON_END, SharedFlowRow, Sharing, SharingPlan, SharingRow,
};
use firstflight_lab::table::figure;
use firstflight_table::text::one_line;
use firstflight_table::{Document, Table};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

impl Output for Sharing {
    fn document(&self) -> Document {
        let repeat = self.plan.plan.repeat;
        let title = title(self);
        let mut document = Document::default();
        document.paragraph(self.finding());
        document.heading(2, "", title.as_str());
        document.note([about(self)]);
        document.table(sheet(&title, &self.table()));
        document.note([format!(
            "{}; fairness and total rate cover the time when all flows are active",
            legend(repeat)
        )]);
        document
    }

    /// One row per flow. `trial_arm` is the arm of the trial, from which the arm of cross traffic
    /// differs.
    fn rows(&self) -> Table {
        let names = rows::names_of(SharedFlowRow::MEASURES);
        let mut all = Table::of_data(["trial_arm".to_owned()].into_iter().chain(names));
        for trial in &self.rows {
            let of = [("trial_arm", trial.arm.as_str().into())];
            all.extend(&of, &rows::of(SharedFlowRow::MEASURES, &trial.flows));
        }
        all
    }

    fn json(&self) -> Result<String, Error> {
        Ok(self.to_json())
    }
}

/// Several flows, with the rows of their trials in a file: trials of many flows have lists of
/// megabytes, which only the JSON shows.
pub(crate) struct Spooled {
    pub(crate) sharing: Sharing,
    spool: Option<Spool>,
}

/// Table of trials as JSON in an unnamed file, in order of arrival.
struct Spool {
    file: File,
    /// Offset and length of each row, by arm and repeat.
    places: HashMap<(usize, u32), (u64, usize)>,
    end: u64,
}

impl Spool {
    fn add(&mut self, key: (usize, u32), text: &str) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(text.as_bytes())?;
        self.places.insert(key, (self.end, text.len()));
        self.end += text.len() as u64;
        Ok(())
    }

    fn row(&self, key: (usize, u32)) -> io::Result<String> {
        let (at, length) = self.places.get(&key).copied().unwrap_or_default();
        let mut text = String::with_capacity(length);
        let mut file = &self.file;
        file.seek(SeekFrom::Start(at))?;
        file.take(length as u64).read_to_string(&mut text)?;
        Ok(text)
    }
}

/// Calls `run` with a function that processes each trial's row. JSON is stored only if it will be
/// requested.
///
/// # Errors
/// The errors of the run, and a one-line message if the file of rows cannot be written.
pub(crate) fn spooled(
    json: Option<&PathBuf>,
    run: impl FnOnce(&Each<'_>) -> Result<Sharing, Error>,
) -> Result<Spooled, Error> {
    let failed = |error: io::Error| Error::new(format!("rows of trials: {error}"));
    let spool = if wants_json(json) {
        let (places, end) = (HashMap::new(), 0);
        Some(Spool { file: tempfile::tempfile().map_err(failed)?, places, end })
    } else {
        None
    };
    let spool = spool.map(Mutex::new);
    let sharing = run(&|arm, round, row| {
        if let Some(spool) = &spool {
            let text = row.to_json();
            let mut spool = spool.lock().unwrap_or_else(PoisonError::into_inner);
            spool.add((arm, round), &text).map_err(failed)?;
        }
        row.flows.iter_mut().for_each(|flow| flow.flow.episodes = None);
        Ok(())
    })?;
    let spool = spool.map(|spool| spool.into_inner().unwrap_or_else(PoisonError::into_inner));
    Ok(Spooled { sharing, spool })
}

/// Takes the row of a trial, by arm and repeat.
pub(crate) type Each<'a> = dyn Fn(usize, u32, &mut SharingRow) -> Result<(), Error> + Sync + 'a;

impl Output for Spooled {
    fn document(&self) -> Document {
        self.sharing.document()
    }

    fn rows(&self) -> Table {
        self.sharing.rows()
    }

    fn json(&self) -> Result<String, Error> {
        let mut text = String::new();
        self.write_json(&mut |piece| {
            text += piece;
            Ok(())
        })?;
        Ok(text)
    }

    fn write_json(&self, out: &mut dyn FnMut(&str) -> Result<(), Error>) -> Result<(), Error> {
        let Some(spool) = &self.spool else { return out(&self.sharing.to_json()) };
        out(&self.sharing.json_head())?;
        let plan = &self.sharing.plan.plan;
        let keys = (0..plan.arms.len()).flat_map(|arm| (0..plan.repeat).map(move |one| (arm, one)));
        for (place, key) in keys.enumerate() {
            if place > 0 {
                out(JSON_BETWEEN)?;
            }
            let row = spool.row(key);
            out(&row.map_err(|error| Error::new(format!("rows of trials: {error}")))?)?;
        }
        out(JSON_END)
    }
}

/// Names of the columns, for people and in data.
pub(crate) fn columns(plan: &SharingPlan) -> (Vec<String>, Vec<String>) {
    let mut empty = plan.clone();
    empty.plan.arms.clear();
    let none = Sharing { plan: empty, rows: Vec::new(), warnings: Vec::new(), stopped: None };
    (shown(&plan.plan, names(&none.sheets())), none.rows().names())
}

/// The path, by its name if it has one.
fn title(sharing: &Sharing) -> String {
    let row = sharing.plan.plan.resolved();
    let name = row.path_name.filter(|name| *name != row.path);
    let title = name.map_or_else(|| row.path.clone(), |name| format!("{name}: {}", row.path));
    one_line(&title).into_owned()
}

/// Flows, path and seeds.
fn about(sharing: &Sharing) -> String {
    let SharingPlan { plan, flows, cross, apart, app_name, .. } = &sharing.plan;
    let row = plan.resolved();
    let queue = row.queue_bytes.map_or("unlimited queue".into(), |bytes| {
        format!("queue {}", figure(bytes as f64, "bytes"))
    });
    let against = match cross.len() {
        0 => String::new(),
        _ => format!(
            " against {}",
            cross.iter().map(|arm| arm.label.as_str()).collect::<Vec<_>>().join(", ")
        ),
    };
    let apart = match *flows as usize + cross.len() {
        1 => String::new(),
        _ if apart.0 == 0 => ", started together".to_owned(),
        _ => format!(", started {} ms apart", apart.0 as f64 / 1e6),
    };
    // QUIC has only one kind of loss detection.
    let detection = match row.transport {
        "tcp" => format!("TCP, loss detection {}, ", row.detection),
        _ => String::new(),
    };
    format!(
        "{flows} {} of each arm{against}{apart} ({app_name}, {} each), at {} Mbit/s, RTT {} ms, {queue}; {}initial window {} packets, {}",
        if *flows == 1 { "flow" } else { "flows" },
        figure(row.bytes as f64, "bytes"),
        row.rate_mbps,
        row.rtt_ms,
        detection,
        row.iw,
        trials_in_words(row.seed, row.repeat),
    )
}
