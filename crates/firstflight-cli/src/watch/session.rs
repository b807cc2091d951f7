//! A watching session, from the first connection to the output files.

use super::answer::{Answer, Seen};
use super::options::Options;
use super::rows::{cells, columns};
use crate::done::Done;
use crate::files::{check_outputs, write_whole};
use crate::output::{check_before, give};
use crate::progress::{Progress, Unit};
use crate::random::pseudonyms;
use crate::replay::text;
use crate::row_file::RowFile;
use crate::run::command_line;
use crate::stop::{Stop, graceful};
use crate::terminal::{CAUTION, whisper};
use firstflight_lab::Error;
use firstflight_linux::kernel::{Heard, Watch, WatchOptions, cgroup_root};
use firstflight_log::live::Live;
use firstflight_replay::advice::named;
use firstflight_replay::population::{Entry, to_toml};
use firstflight_replay::replay::{Replay, Settings};
use firstflight_replay::report;
use firstflight_replay::results::{FileRow, Results};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Interval for reading records; the kernel's buffer must hold those that arrive in between.
const WAIT: Duration = Duration::from_millis(20);
/// Interval for updating the line in the terminal.
const LINE: Duration = Duration::from_millis(500);
/// Maximum number of connections whose results are kept for tables, report and population; all have
/// rows.
const MOST_RESULTS: usize = 20_000;
/// Number of connections whose course over time the report shows.
const LINES: usize = 24;
/// Above this number, the controllers of connections are forgotten, because the ends of some
/// connections are lost.
const MOST_CONTROLLERS: usize = 1 << 17;

pub(crate) fn run(options: &Options) -> Result<Done, Error> {
    // Parquet rows go to a folder.
    let lines = options.out.as_deref().filter(|file| file.extension() != Some("parquet".as_ref()));
    check_outputs(
        options.json.as_ref(),
        &[
            ("--report", options.report.as_deref()),
            ("--out", lines),
            ("--population", options.population.as_deref()),
        ],
    )?;
    options.out.as_deref().map_or(Ok(()), RowFile::check)?;
    let settings = Settings {
        arms: named(&options.arms)?,
        lines: if options.report.is_some() { LINES } else { 0 },
        entries: options.population.is_some(),
        ..Settings::default()
    };
    let labels: Vec<String> = settings.arms.iter().map(|arm| arm.label.clone()).collect();
    let shown = text::columns(labels.iter().map(String::as_str));
    check_before(options.json.as_ref(), &shown, &text::RAW.map(str::to_owned))?;
    let folder = options.who.cgroup.clone().map_or_else(cgroup_root, Ok)?;
    let pseudonyms = pseudonyms(options.keep_key.as_deref())?;
    // The file of rows is opened last, so that it is not created if watching is refused.
    let stop = graceful("stopping with the results so far");
    let asked = WatchOptions { of_2_32: options.sample, port: options.who.port, pseudonyms };
    let watch = Watch::start(&folder, &asked)?;
    let open = |file| RowFile::open(file, columns(&labels));
    let rows = options.out.as_deref().map(open).transpose()?;
    let mut session = Session { rows, ..Session::new(settings, labels) };
    session.follow(&watch, options, stop)?;
    session.finish(watch, options)
}

/// Results of the records so far.
struct Session {
    replay: Replay,
    live: Live,
    /// Controllers of open connections.
    controllers: HashMap<u32, String>,
    rows: Option<RowFile>,
    /// The startups in the columns of the rows.
    startups: Vec<String>,
    seen: Seen,
    /// Number of remarks that were reported.
    told: usize,
    /// An internal error that cost a connection was reported.
    broken: bool,
}

impl Session {
    /// Creates a session without rows.
    fn new(settings: Settings, startups: Vec<String>) -> Session {
        Session {
            replay: Replay::new(settings),
            live: Live::new(),
            controllers: HashMap::new(),
            rows: None,
            startups,
            seen: Seen::default(),
            told: 0,
            broken: false,
        }
    }

    fn follow(&mut self, watch: &Watch, options: &Options, stop: Stop) -> Result<(), Error> {
        let began = Instant::now();
        whisper("watching without changing anything; press Ctrl-C to stop");
        let progress = Progress::begin("{msg}", Unit::Words, None);
        let mut last = began;
        loop {
            let most = options.duration.map(|most| Duration::from_nanos(most.0));
            let over = most.is_some_and(|most| began.elapsed() >= most) || stop.came();
            watch.take(WAIT, |heard| self.take(heard))?;
            self.tell_of_broken();
            if let Some(rows) = &mut self.rows {
                rows.tick();
            }
            if over {
                return Ok(());
            }
            if last.elapsed() >= LINE {
                last = Instant::now();
                self.seen.counts = watch.counts()?;
                progress.tell(self.line(began.elapsed()));
            }
        }
    }

    /// The line in the terminal.
    fn line(&self, since: Duration) -> String {
        let counts = &self.seen.counts;
        let mut line = format!(
            "{} s: {} of {} connections watched, {} open, {} replayed (open loop)",
            since.as_secs(),
            counts.watched,
            counts.watched + counts.others,
            self.live.open(),
            self.replay.done.len() as u64 + self.replay.beyond,
        );
        if counts.dropped > 0 {
            let _ = write!(line, ", {} records dropped", counts.dropped);
        }
        if let Some(health) = self.rows.as_ref().map(RowFile::health).filter(|now| !now.is_well()) {
            let _ = write!(line, ", {health}");
        }
        line
    }

    /// Reports new remarks and the first internal error that cost a connection.
    fn tell_of_broken(&mut self) {
        for fault in &self.replay.remarks[self.told..] {
            whisper(&format!("{CAUTION}note:{CAUTION:#} {fault}"));
        }
        self.told = self.replay.remarks.len();
        // A peer may cause any number of errors.
        if let Some(what) = self.replay.take_broken()
            && !std::mem::replace(&mut self.broken, true)
        {
            whisper(&format!("{CAUTION}note:{CAUTION:#} {what}"));
        }
    }

    fn take(&mut self, heard: Heard) {
        let Heard { record, controller, row } = heard;
        self.seen.records += 1;
        if let Some(name) = controller {
            if self.controllers.len() >= MOST_CONTROLLERS {
                self.controllers.clear();
            }
            self.controllers.insert(record.connection, name);
        }
        let before = self.replay.done.len();
        let Some(ended) = self.live.take(&record, &mut self.replay) else { return };
        self.seen.closed += 1;
        self.seen.incomplete += u64::from(ended.missing > 0);
        self.seen.tail_unseen += u64::from(ended.tail_unseen);
        let controller = self.controllers.remove(&record.connection);
        let replayed = self.replay.done.get(before);
        if let (Some(rows), Some(row)) = (&mut self.rows, row) {
            rows.add(cells(*row, &self.startups, controller.as_deref(), ended, replayed));
        }
        self.replay.keep(MOST_RESULTS);
    }

    fn finish(mut self, watch: Watch, options: &Options) -> Result<Done, Error> {
        self.seen.counts = watch.counts()?;
        // From here on, no packet is observed.
        drop(watch);
        let rows = self.rows.as_mut().map(RowFile::finish);
        self.seen.open = self.live.open() as u64;
        // The final length of open connections is unknown, so only finished ones are used.
        let entries: Vec<Entry> = self.replay.entries.drain(..).flatten().collect();
        self.seen.incomplete += self.live.end(&mut self.replay) + self.live.lost_ends();
        self.replay.keep(MOST_RESULTS);
        self.tell_of_broken();
        let file = FileRow {
            file: "live".to_owned(),
            bytes: 0,
            records: self.seen.records,
            connections: self.seen.counts.watched,
            fault: None,
            notes: Vec::new(),
        };
        let results = Results::new(self.replay, vec![file]);
        if let Some(file) = &options.report {
            let page = report::page(&results, &command_line());
            write_whole(file, |out| out.write_all(page.as_bytes()))?;
        }
        let mut short_of = Vec::new();
        if let Some(file) = &options.population {
            match to_toml(&entries, &command_line()) {
                Some(text) => write_whole(file, |out| out.write_all(text.as_bytes()))?,
                None => short_of.push("--population: no connection showed a rate and a round trip"),
            }
        }
        let empty = results.connections.is_empty();
        give(options.json.as_ref(), &Answer { results, seen: self.seen })?;
        if empty {
            short_of.push("no connection was established, received 10 ACKs and ended in this time");
        }
        for why in &short_of {
            whisper(&format!("{CAUTION}note:{CAUTION:#} {why}"));
        }
        let lost = rows.is_some_and(|health| health.lost > 0);
        Ok(if short_of.is_empty() && !lost { Done::Well } else { Done::Short })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstflight::Time;
    use firstflight_log::Segment;
    use firstflight_log::live::{Opened, Record, What};
    use firstflight_replay::replay::LEAST_ACKS;

    /// Feeds the records of one connection with `acks` ACKs, and its end if `ends`.
    fn tell(session: &mut Session, connection: u32, acks: u32, ends: bool) {
        let begin = u64::from(connection) * 1_000_000;
        let mut serial = 0;
        let mut take = |at: u64, what: What, controller: Option<&str>| {
            let record = Record { connection, serial, now: Time(begin + at), what };
            serial += 1;
            session.take(Heard { record, controller: controller.map(str::to_owned), row: None });
        };
        let opened = Opened { first_seq: 1, mss: 1000, ..Opened::default() };
        take(0, What::Opened(opened), Some("cubic"));
        for number in 0..acks {
            let segment = Segment {
                now: Time(begin + 10 + u64::from(number)),
                seq: 1 + number * 1000,
                has_ack: true,
                window: 60_000,
                payload: 1000,
                headers: 40,
                ..Segment::default()
            };
            take(10 + u64::from(number), What::Sent(segment), None);
        }
        for number in 0..acks {
            let at = 100_000 + u64::from(number);
            let segment = Segment {
                now: Time(begin + at),
                ack: 1 + (number + 1) * 1000,
                has_ack: true,
                window: 60_000,
                headers: 40,
                ..Segment::default()
            };
            take(at, What::Arrived(segment), None);
        }
        if ends {
            take(200_000, What::Closed(u64::from(acks) * 1000), None);
        }
    }

    #[test]
    fn connections_that_end_leave_a_bounded_number_of_results_and_nothing_else() {
        let mut session = Session::new(Settings::default(), Vec::new());
        let all = MOST_RESULTS as u32 + 50;
        for connection in 0..all {
            tell(&mut session, connection, LEAST_ACKS as u32, true);
        }
        assert_eq!((session.replay.done.len(), session.replay.beyond), (MOST_RESULTS, 50));
        assert_eq!(session.seen.closed, u64::from(all));
        assert_eq!((session.live.open(), session.controllers.len()), (0, 0));
    }

    #[test]
    fn connections_whose_end_is_never_told_are_given_up_beyond_a_bound() {
        let mut session = Session::new(Settings::default(), Vec::new());
        let all = MOST_CONTROLLERS as u32 + 10;
        for connection in 0..all {
            tell(&mut session, connection, 1, false);
        }
        assert!(session.controllers.len() <= MOST_CONTROLLERS);
        assert!(session.live.open() <= 1 << 16, "{} are open", session.live.open());
        let given_up = session.live.lost_ends();
        assert_eq!(session.live.open() as u64 + given_up, u64::from(all), "each is somewhere");
        assert_eq!(session.replay.incomplete, given_up, "the replay has forgotten them, too");
    }
}
