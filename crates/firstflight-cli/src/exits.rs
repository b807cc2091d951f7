//! `firstflight kernel trace --out FILE`: the kernel's reports as a file.

use crate::files::Growing;
use crate::traces::{Format, write_traces};
use firstflight::{Nanos, Time};
use firstflight_lab::Error;
use firstflight_linux::kernel::Exit;
use firstflight_log::trace::exits::Report;
use firstflight_log::trace::{Log, csv, qlog};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Destination of the reports.
enum Sink {
    /// Written as reports arrive.
    Csv(Growing),
    /// Written as reports arrive.
    Sqlog(Growing),
    /// Parquet and qlog files are written at the end.
    Later(PathBuf, Format, Vec<Log>),
}

/// A file of exits.
pub(crate) struct Exits {
    sink: Sink,
    began: Instant,
    count: u32,
}

impl Exits {
    /// Opens the file; its extension determines the format.
    pub(crate) fn open(file: &Path, arm: &str) -> Result<Exits, Error> {
        let format = Format::of("--out", file)?;
        crate::files::check_file(file)?;
        let sink = match format {
            Format::Csv => {
                let mut out = Growing::open(file)?;
                out.more(|out| csv::write(&[], out))?;
                Sink::Csv(out)
            }
            Format::Sqlog => {
                let mut out = Growing::open(file)?;
                let since_1970 = SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .map_or(0.0, |time| time.as_secs_f64() * 1e3);
                out.more(|out| {
                    qlog::begin_many(
                        &format!("exits of {arm} in the running kernel"),
                        since_1970,
                        out,
                    )
                })?;
                Sink::Sqlog(out)
            }
            Format::Qlog | Format::Parquet => Sink::Later(file.to_owned(), format, Vec::new()),
        };
        Ok(Exits { sink, began: Instant::now(), count: 0 })
    }

    /// Adds a report.
    pub(crate) fn add(&mut self, exit: &Exit) -> Result<(), Error> {
        let report = report(exit, Time(self.began.elapsed().as_nanos() as u64));
        let endpoints = report.endpoints.clone();
        let trace = report.into_trace();
        let connection = self.count;
        self.count += 1;
        match &mut self.sink {
            Sink::Csv(out) => out.more(|out| csv::append(&trace, connection, &[], out)),
            Sink::Sqlog(out) => out.more(|out| qlog::append_many(&trace, &endpoints, out)),
            Sink::Later(_, _, all) => {
                all.push(trace);
                Ok(())
            }
        }
    }

    /// Completes the file and gives it its final name.
    pub(crate) fn finish(self) -> Result<(), Error> {
        match self.sink {
            Sink::Csv(out) | Sink::Sqlog(out) => out.finish(),
            Sink::Later(file, format, all) => {
                write_traces(&file, format, &all.iter().collect::<Vec<_>>())
            }
        }
    }
}

fn report(exit: &Exit, at: Time) -> Report {
    let mss = u64::from(exit.mss);
    let bytes = |packets: u32| u64::from(packets) * mss;
    Report {
        at,
        arm: exit.arm.name.to_owned(),
        endpoints: format!("{}>{}:{}", exit.port, exit.peer.0, exit.peer.1),
        reason: exit.reason,
        since_first_send: Nanos(exit.since_first_send_us.saturating_mul(1000)),
        rounds: exit.rounds,
        mss,
        detect_cwnd: bytes(exit.detect_cwnd),
        cwnd: bytes(exit.cwnd),
        ssthresh: exit.ssthresh.map(bytes),
        inflight: bytes(exit.inflight),
        estimate: Some(exit.estimate).filter(|estimate| *estimate != 0),
        acked: exit.bytes_acked,
    }
}
