//! Output files of traces; the file's extension determines the format.

use crate::files::{check_file, check_folder_of_ours, make_folder, tame, write_whole};
use firstflight_lab::{Error, Plan};
use firstflight_log::trace::qlog::{self, End};
use firstflight_log::trace::{Log, csv};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Format of a file of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// A table as text.
    Csv,
    /// A table in columns.
    Parquet,
    /// qlog as a single document.
    Qlog,
    /// qlog as a sequence of records.
    Sqlog,
}

impl Format {
    /// The format for the file's extension.
    ///
    /// # Errors
    /// If the extension is unknown, or this build cannot write the format.
    pub(crate) fn of(option: &str, file: &Path) -> Result<Format, Error> {
        let extension = file.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        match extension.as_str() {
            "csv" => Ok(Format::Csv),
            "qlog" => Ok(Format::Qlog),
            "sqlog" => Ok(Format::Sqlog),
            "parquet" if cfg!(feature = "parquet") => Ok(Format::Parquet),
            "parquet" => Err(Error::new(format!(
                "{option} {}: Parquet is not part of this build; `cargo run --release --features parquet -- ...` has it, .csv always works",
                file.display()
            ))),
            _ => Err(Error::new(format!(
                "{option} {}: a trace ends in .csv, .parquet, .qlog or .sqlog",
                file.display()
            ))),
        }
    }
}

/// Writes traces to one file in this format; a sequence of records takes only the first trace.
pub(crate) fn write_traces(file: &Path, format: Format, traces: &[&Log]) -> Result<(), Error> {
    match format {
        Format::Csv => write_whole(file, |out| csv::write(traces, out)),
        Format::Qlog => write_whole(file, |out| qlog::write_contained(traces, out)),
        Format::Sqlog => {
            let only = traces.first().ok_or_else(|| {
                Error::new(format!("{}: there is nothing to write", file.display()))
            })?;
            write_whole(file, |out| qlog::write_sequence(only, End::Sender, out))
        }
        Format::Parquet => write_parquet(file, traces),
    }
}

#[cfg(feature = "parquet")]
fn write_parquet(file: &Path, traces: &[&Log]) -> Result<(), Error> {
    let grown = crate::files::Growing::open(file)?;
    firstflight_log::trace::parquet::write(traces, grown)
        .map_err(|error| Error::new(format!("{}: {error}", file.display())))?
        .finish()
}

#[cfg(not(feature = "parquet"))]
fn write_parquet(file: &Path, _traces: &[&Log]) -> Result<(), Error> {
    Format::of("--trace", file).map(|_| ())
}

/// Destination given by `--trace`.
#[derive(Debug)]
enum Wanted {
    /// One CSV file per arm in this folder.
    Folder(PathBuf),
    /// All traces in one file.
    File(PathBuf, Format),
}

/// Destination of a comparison's traces.
pub(crate) struct Outputs<'a> {
    plan: &'a Plan,
    trace: Option<Wanted>,
    qlog: Option<&'a Path>,
    /// Traces for a single file, which is written in order once all are there.
    kept: Mutex<Vec<(usize, Log)>>,
}

impl<'a> Outputs<'a> {
    /// Checks before the run that every output can be written.
    pub(crate) fn check(
        trace: Option<&Path>,
        qlog: Option<&'a Path>,
        plan: &'a Plan,
    ) -> Result<Outputs<'a>, Error> {
        qlog.map_or(Ok(()), check_folder_of_ours)?;
        let trace = match trace {
            None => None,
            Some(folder) if folder.is_dir() || folder.extension().is_none() => {
                check_folder_of_ours(folder)?;
                Some(Wanted::Folder(folder.to_owned()))
            }
            Some(file) => {
                let format = Format::of("--trace", file)?;
                check_file(file)?;
                let arms = plan.arms.len();
                if format == Format::Sqlog && arms != 1 {
                    return Err(Error::new(format!(
                        "--trace {}: a file of this kind holds one trace and there are {arms} arms; --qlog FOLDER writes one file for each, \
                         .qlog holds all",
                        file.display()
                    )));
                }
                Some(Wanted::File(file.to_owned(), format))
            }
        };
        if let Some(Wanted::Folder(folder)) = &trace {
            make_folder(folder)?;
        }
        qlog.map_or(Ok(()), make_folder)?;
        Ok(Outputs { plan, trace, qlog, kept: Mutex::default() })
    }

    /// Whether any output is requested.
    pub(crate) fn any(&self) -> bool {
        self.trace.is_some() || self.qlog.is_some()
    }

    /// Takes the log of an arm's first trial.
    pub(crate) fn take(&self, arm: usize, trace: Log) -> Result<(), Error> {
        let seed = self.plan.seed;
        let label = tame(&self.plan.arms[arm].label);
        if let Some(folder) = self.qlog {
            for end in [End::Sender, End::Receiver] {
                if end == End::Receiver && trace.receiver.is_empty() {
                    continue;
                }
                let name = format!(
                    "{:02}-{label}-{}-seed{seed}-{}.sqlog",
                    arm + 1,
                    self.path(),
                    end.name()
                );
                write_whole(&folder.join(name), |out| qlog::write_sequence(&trace, end, out))?;
            }
        }
        match &self.trace {
            Some(Wanted::Folder(folder)) => {
                let name = format!("{:02}-{label}-seed{seed}.csv", arm + 1);
                write_whole(&folder.join(name), |out| csv::write(&[&trace], out))
            }
            Some(Wanted::File(..)) => {
                self.kept.lock().unwrap_or_else(PoisonError::into_inner).push((arm, trace));
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// The path as part of a file name.
    fn path(&self) -> String {
        const LONGEST: usize = 60;
        let path = &self.plan.scenario.path;
        let name = if path.name().is_empty() { path.to_string() } else { path.name().to_owned() };
        tame(&name).chars().take(LONGEST).collect()
    }

    /// Writes the traces that had to wait for the last trial.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        let Some(Wanted::File(file, format)) = &self.trace else { return Ok(()) };
        let mut kept =
            std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        kept.sort_by_key(|(arm, _)| *arm);
        write_traces(file, *format, &kept.iter().map(|(_, trace)| trace).collect::<Vec<_>>())
    }
}
