//! A trial from its first connection to its end.

use super::folder::{Folder, seconds};
use super::metrics::Metrics;
use super::running::wait;
use super::start::StartOptions;
use crate::done::{Done, EXIT_STOPPED, failed};
use crate::files::{write_own, write_whole};
use crate::kernel::say_rivals;
use crate::random::{keys, pseudonyms};
use crate::row_file::{RowFile, held};
use crate::stop::{Stop, graceful};
use crate::terminal::{CAUTION, whisper};
use firstflight_lab::Error;
use firstflight_lab::field::{Answer, FieldRequest};
use firstflight_lab::request::from_pairs;
use firstflight_linux::kernel::{COLUMNS, Counts, FieldTest, Row};
use firstflight_linux::lock::{Lock, outlive, started};
use firstflight_table::guard::guarded;
use firstflight_trial::assign::{Assignment, limits, shares};
use firstflight_trial::design::{By, Design};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::env::args_os;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Intervals for taking rows, and for checking the stop rules.
const WAIT: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_secs(5);
/// Looks take at most one part in this many of the time.
const LOOKING: u32 = 20;
/// Minimum number of clients for the plain ratio.
const ENOUGH: usize = 100;

pub(super) fn start(options: &StartOptions) -> Result<Done, Error> {
    let wrong = |error| Error::new(format!("--arms {}: {error}", options.arms()));
    let shares = shares(options.arms()).map_err(wrong)?;
    let most = match options.drawing().max_share() {
        "" => Vec::new(),
        text => limits(text).map_err(|error| Error::new(format!("--max-share {text}: {error}")))?,
    };
    let design = options.drawing().design()?;
    design.check(&shares).map_err(wrong)?;
    check_rules(options)?;
    let folder = options.out().map(Folder::check).transpose()?;
    options.rows().map_or(Ok(()), RowFile::check)?;
    let [assign] = keys()?;
    let assignment = Assignment::within(assign, &shares, &most).map_err(wrong)?;
    if options.detach() {
        return folder.as_ref().map_or(Ok(Done::Well), detach);
    }
    let busy = |what: &Path| Error::new(format!("{}: in use by another trial", what.display()));
    let _taken = Lock::take(options.cgroup())?.ok_or_else(|| busy(options.cgroup()))?;
    let pseudonym = pseudonyms(options.keep_key())?;
    let file = match (&folder, options.rows()) {
        (Some(folder), _) => folder.rows(),
        (None, Some(rows)) => rows.to_owned(),
        (None, None) => return Err(Error::new("--rows or --out: nowhere to write rows")),
    };
    let stop = graceful("stopping the trial");
    let keys = [assign, pseudonym];
    say_rivals(options.cgroup());
    let test = FieldTest::start(options.cgroup(), &assignment, keys, &design)?;
    // Nothing is created if the kernel refuses. A folder and a service can each have only one
    // trial, because the arms of two trials would compete for connections.
    let made = folder.as_ref().map(Folder::make).transpose()?;
    let _held = match &folder {
        Some(folder) => Some(folder.hold()?.ok_or_else(|| busy(folder.path()))?),
        None => None,
    };
    drop(made);
    let rows = RowFile::open(&file, held(&test.columns()))?;
    let mut trial = Trial {
        options,
        folder,
        rows,
        assignment,
        design,
        columns: test.columns(),
        shares: options.arms().to_owned(),
        epochs: Vec::new(),
        began: seconds(),
        metrics: Metrics::default(),
        units: HashMap::new(),
        refused: None,
        started: started(std::process::id()),
        unwritten: None,
    };
    trial.epochs.push(json!({"epoch": 0, "at_s": trial.began, "shares": trial.shares}));
    trial.look(&test)?;
    if let Some(why) = trial.unwritten.take() {
        return Err(Error::new(why));
    }
    whisper(&format!(
        "trial of {} on {}; Ctrl-C ends it",
        options.arms(),
        options.cgroup().display()
    ));
    if trial.design.by != By::Client && remembers(Path::new("/proc/sys/net/ipv4")) {
        whisper(
            "Note: this kernel keeps ssthresh for each destination \
             (net.ipv4.tcp_no_ssthresh_metrics_save=0): a client's next connection starts with what \
             the last one left, whatever its arm. Set it to 1, or draw clients (--unit client)",
        );
    }
    let stopped = trial.follow(&test, stop)?;
    trial.finish(test, stopped)
}

/// Whether the kernel gives a connection the slow start threshold of an earlier connection to the
/// same destination. Linux has not done so by default since 5.6. `settings` is
/// `/proc/sys/net/ipv4`.
fn remembers(settings: &Path) -> bool {
    let off =
        |name: &str| fs::read_to_string(settings.join(name)).is_ok_and(|value| value.trim() == "0");
    off("tcp_no_metrics_save") && off("tcp_no_ssthresh_metrics_save")
}

/// Reports errors in `--stop-if` before anything runs.
fn check_rules(options: &StartOptions) -> Result<(), Error> {
    if options.stop_if().is_empty() {
        return Ok(());
    }
    let pairs = [("stop-if".to_owned(), options.stop_if().to_owned())];
    let request: FieldRequest = from_pairs(&pairs)?;
    request.check_rules(COLUMNS)
}

/// Starts the same command in the background; returns once it runs.
fn detach(folder: &Folder) -> Result<Done, Error> {
    let made = folder.make()?;
    let log = folder.log();
    let out = File::create(&log).map_err(|error| failed(&log, &error))?;
    let both = out.try_clone().map_err(|error| failed(&log, &error))?;
    let own = std::env::current_exe().map_err(|error| failed("our own file".as_ref(), &error))?;
    let mut command = Command::new(own);
    command
        .args(args_os().skip(1).filter(|argument| argument != "--detach"))
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(both);
    // It must survive Ctrl-C and the end of this terminal, and must not inherit our files.
    outlive(&mut command);
    let mut child = command.spawn().map_err(|error| failed("our own file".as_ref(), &error))?;
    let mut ended = false;
    wait("the trial to begin", || {
        ended = child.try_wait().is_ok_and(|status| status.is_some());
        Ok(ended || Folder::of(folder.path()).is_ok())
    })?;
    if ended {
        let said = fs::read_to_string(&log).unwrap_or_default();
        let said = said.trim().trim_start_matches("firstflight: ");
        let _ = fs::remove_file(&log);
        return Err(Error::new(if said.is_empty() { "the trial ended at once" } else { said }));
    }
    made.keep();
    let at = folder.path().display();
    whisper(&format!(
        "process {} runs the trial; `firstflight trial stop {at}` ends it",
        child.id()
    ));
    Ok(Done::Well)
}

struct Trial<'a> {
    options: &'a StartOptions,
    folder: Option<Folder>,
    rows: RowFile,
    assignment: Assignment,
    design: Design,
    columns: Vec<&'static str>,
    shares: String,
    epochs: Vec<Value>,
    began: u64,
    metrics: Metrics,
    /// Some clients of each arm, as many as the plain ratio needs.
    units: HashMap<String, HashSet<String>>,
    /// Reason why requested shares were refused.
    refused: Option<String>,
    /// Start time of this process, as [`started`] returns it.
    started: Option<u64>,
    /// Reason why the last attempt to write the state failed.
    unwritten: Option<String>,
}

impl Trial<'_> {
    fn follow(&mut self, test: &FieldTest, stop: Stop) -> Result<Option<String>, Error> {
        let began = Instant::now();
        let (mut last, mut pause) = (began, LOOK);
        loop {
            let over = self.options.most().is_some_and(|most| began.elapsed() >= most);
            self.take(test)?;
            if over || stop.came() {
                return Ok(None);
            }
            self.reshare(test)?;
            if last.elapsed() >= pause {
                last = Instant::now();
                self.look(test)?;
                if let Some(why) = self.broken() {
                    return Ok(Some(why));
                }
                // With very many rows, a look takes long.
                pause = LOOK.max(last.elapsed() * LOOKING);
            }
        }
    }

    fn take(&mut self, test: &FieldTest) -> Result<(), Error> {
        test.take(WAIT, |row| {
            self.rows.add(row.cells(&self.columns));
            self.metrics.add(&row);
            let Row { arm: Some(arm), unit: Some(unit), .. } = row else { return };
            let units = self.units.entry(arm).or_default();
            if units.len() < ENOUGH {
                units.insert(unit);
            }
        })?;
        self.rows.tick();
        Ok(())
    }

    /// Applies new shares, if they are requested.
    fn reshare(&mut self, test: &FieldTest) -> Result<(), Error> {
        let Some(file) = self.folder.as_ref().map(Folder::wanted) else { return Ok(()) };
        let Ok(text) = fs::read_to_string(&file) else { return Ok(()) };
        let wanted = shares(&text).and_then(|wanted| {
            self.design.check(&wanted)?;
            self.assignment.reshare(&wanted)
        });
        self.refused = wanted.as_ref().err().map(ToString::to_string);
        if wanted.is_ok() {
            test.reshare(&self.assignment)?;
            self.shares = text;
            let epoch = self.assignment.epoch();
            let at = seconds();
            self.epochs.push(json!({"epoch": epoch, "at_s": at, "shares": self.shares}));
        }
        // The state must have the result before the file is removed.
        self.look(test)?;
        if let Err(error) = fs::remove_file(&file) {
            self.unwritten(failed(&file, &error));
        }
        Ok(())
    }

    /// The reason why the trial must stop. Without rows of the baseline, no rule is broken yet.
    fn broken(&self) -> Option<String> {
        if let Some(why) = self.options.stop_hard().and_then(|most| self.harmful(most)) {
            return Some(why);
        }
        let rules = self.options.stop_if();
        if rules.is_empty() {
            return None;
        }
        // The analysis reads rows that others wrote; if it fails, the trial continues.
        let looked = guarded(|| self.judged(rules));
        let answer = match looked {
            Ok(answer) => answer.ok()?,
            Err(broken) => {
                whisper(&broken.to_string());
                return None;
            }
        };
        answer.stopped().map(|_| answer.finding.clone())
    }

    /// The result of the analysis with these rules.
    fn judged(&self, rules: &str) -> Result<Answer, Error> {
        if let Some(folder) = &self.folder {
            folder.look(&[("stop-if", rules)])?.map_err(Error::new)
        } else {
            let baseline = self.assignment.names()[0].clone();
            let pairs = [("stop-if", rules.to_owned()), ("baseline", baseline)];
            let pairs = pairs.map(|(name, value)| (name.to_owned(), value));
            from_pairs::<FieldRequest>(&pairs)
                .and_then(|request| request.answer(&[self.rows.path().display().to_string()]))
        }
    }

    /// An arm whose plain ratio of retransmitted segments exceeds `most` times that of the
    /// baseline.
    fn harmful(&self, most: f64) -> Option<String> {
        let (baseline, others) = self.assignment.names().split_first()?;
        let enough = |arm: &str| self.units.get(arm).is_some_and(|units| units.len() >= ENOUGH);
        let ratio = |arm: &str, least: u64| {
            let (retransmitted, segments) = self.metrics.retransmitted(arm);
            retransmitted.max(least) as f64 / segments.max(1) as f64
        };
        // A baseline without retransmissions counts as having one.
        let usual = ratio(baseline, 1);
        let worst = others.iter().find(|arm| enough(arm) && ratio(arm, 0) > most * usual)?;
        Some(format!(
            "{worst}: {:.2} % of segments retransmitted, {:.1} times the share of {baseline}; --stop-hard {most}x",
            100.0 * ratio(worst, 0),
            ratio(worst, 0) / usual,
        ))
    }

    /// Takes rows and writes the state. The counters are read before the open connections, so every
    /// counted connection has a row or is known to be open; otherwise its row is missing.
    fn look(&mut self, test: &FieldTest) -> Result<(), Error> {
        let counts = test.counts()?;
        test.look()?;
        self.take(test)?;
        self.keep_state(test, &counts, "running", None);
        Ok(())
    }

    /// Writes the state. A full disk does not end the trial: the error is reported once, and the
    /// write is tried again at the next look.
    fn keep_state(&mut self, test: &FieldTest, counts: &Counts, state: &str, why: Option<&str>) {
        match self.write_state(test, counts, state, why) {
            Ok(()) => {
                if self.unwritten.take().is_some() {
                    whisper("the state of the trial can be written again");
                }
            }
            Err(error) => self.unwritten(error),
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "errors are taken")]
    fn unwritten(&mut self, error: Error) {
        if self.unwritten.is_none() {
            whisper(&format!("{CAUTION}note:{CAUTION:#} {error}; the trial continues"));
        }
        self.unwritten = Some(error.as_str().to_owned());
    }

    fn write_state(
        &self,
        test: &FieldTest,
        counts: &Counts,
        state: &str,
        why: Option<&str>,
    ) -> Result<(), Error> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let names = self.assignment.names();
        let arms = names.iter().zip(&counts.assigned);
        let arms: Vec<Value> = arms
            .map(|(arm, drawn)| {
                let (rows, changed) = (self.metrics.rows(arm), self.metrics.changed(arm));
                json!({"arm": arm, "drawn": drawn, "rows": rows, "changed": changed})
            })
            .collect();
        let ended = (state != "running").then(seconds);
        let open = test.open();
        // Each file is independent: if one cannot be written, others may succeed.
        let open_rows = write_own(&folder.open(), |out| {
            let rows = test.open_rows();
            rows.iter().try_for_each(|row| out.write_all(row.line(&self.columns).as_bytes()))
        });
        let health = self.rows.health();
        let metrics = self.metrics.text(names, counts, open as u64, &health)?;
        let metrics = write_whole(&folder.metrics(), |out| out.write_all(metrics.as_bytes()));
        let state = folder.write_state(&json!({
            "firstflight": env!("CARGO_PKG_VERSION"),
            "state": state,
            "why": why,
            "process": std::process::id(),
            "process_start": self.started,
            "began_s": self.began,
            "ended_s": ended,
            "baseline": names[0],
            "shares": self.shares,
            "epoch": self.assignment.epoch(),
            "epochs": self.epochs,
            "refused": self.refused,
            "unit": match self.design.by {
                By::Client => "client",
                By::Connection => "connection",
                By::Time(_) => "time",
            },
            "slot_length_s": match self.design.by {
                By::Time(slots) => Some(slots.length.as_secs_f64()),
                _ => None,
            },
            "settle_s": test.settling().as_secs_f64().ceil() as u64,
            "enrolled_pct": 100.0 * self.design.enrol,
            "stop_if": self.options.stop_if(),
            "maturity_s": test.maturity().as_secs(),
            "arms": arms,
            "open": open,
            "left_out": counts.left_out,
            "failed": counts.failed,
            "dropped": counts.dropped,
            "outside": counts.outside,
            "rows_waiting": health.waiting,
            "rows_lost": health.lost,
            "rows_trouble": health.trouble,
        }));
        open_rows.and(metrics).and(state)
    }

    fn finish(mut self, test: FieldTest, stopped: Option<String>) -> Result<Done, Error> {
        let counts = test.counts()?;
        test.look()?;
        self.take(&test)?;
        // An open connection also gets a row, with its values so far.
        for row in test.open_rows() {
            self.rows.add(row.cells(&self.columns));
        }
        let rows = self.rows.finish();
        let state = if stopped.is_some() { "stopped by a rule" } else { "ended" };
        self.keep_state(&test, &counts, state, stopped.as_deref());
        // From here on, no connection is assigned an arm.
        let (open, settling) = (test.open(), test.settling());
        drop(test);
        whisper(&told(&self.assignment, &counts, open));
        if let By::Time(slots) = self.design.by
            && slots.length < 10 * settling
        {
            let (slot, most) = (slots.length.as_secs_f64(), settling.as_secs_f64());
            whisper(&format!(
                "note: 99 of 100 connections last {most:.1} s, and slots only {slot:.1} s: less than ten times as long"
            ));
        }
        let whole = rows.lost == 0 && self.unwritten.is_none();
        Ok(stopped.map_or(if whole { Done::Well } else { Done::Short }, |why| {
            whisper(&why);
            Done::With(EXIT_STOPPED)
        }))
    }
}

fn told(assignment: &Assignment, counts: &Counts, open: usize) -> String {
    let arms = assignment.names().iter().zip(&counts.assigned);
    let arms: Vec<String> = arms.map(|(arm, count)| format!("{arm} {count}")).collect();
    let mut told = format!("connections drawn: {}", arms.join(", "));
    for (count, what) in [
        (open as u64, "open, their rows are censored"),
        (counts.outside, "did not take part"),
        (counts.left_out, "left out, their service chose a controller"),
        (counts.failed, "could not be assigned their arm"),
        (counts.dropped, "rows dropped"),
    ] {
        if count > 0 {
            let _ = write!(told, "; {count} {what}");
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_remembered_where_both_settings_allow_it() {
        let folder = tempfile::tempdir().unwrap();
        let set = |name: &str, value: &str| fs::write(folder.path().join(name), value).unwrap();
        assert!(!remembers(folder.path()), "unknown is no warning");
        for (metrics, thresholds, warned) in
            [("0\n", "1\n", false), ("1\n", "0\n", false), ("0\n", "0\n", true)]
        {
            set("tcp_no_metrics_save", metrics);
            set("tcp_no_ssthresh_metrics_save", thresholds);
            assert_eq!(remembers(folder.path()), warned, "{metrics:?} {thresholds:?}");
        }
    }
}
