//! The folder of a trial: its files and who writes them. Rows and state survive any end of the
//! trial; the lock ends with its process.

use crate::done::failed;
use crate::files::{check_folder, write_own};
use firstflight_lab::Error;
use firstflight_lab::field::{Answer, FieldRequest};
use firstflight_lab::request::from_pairs;
use firstflight_linux::lock::{Held, interrupt_holder};
use firstflight_table::rows::Lines;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Maximum number of rows that may be in transit when the state is written.
const UNDER_WAY: u64 = 10;

/// A folder that holds one trial.
#[derive(Clone, Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Opens the folder of an existing trial.
    pub(super) fn of(folder: &Path) -> Result<Folder, Error> {
        let folder = Folder(folder.to_owned());
        if !folder.state_file().is_file() {
            return Err(Error::new(format!("{}: contains no trial", folder.0.display())));
        }
        Ok(folder)
    }

    /// Checks a folder for a new trial. Nothing is created yet.
    ///
    /// # Errors
    /// A one-line message, also if it already contains a trial: pseudonyms of two trials are
    /// incompatible.
    pub(super) fn check(folder: &Path) -> Result<Folder, Error> {
        let folder = Folder(folder.to_owned());
        if folder.state_file().exists() {
            let wrong = "already contains a trial; name another folder";
            return Err(Error::new(format!("{}: {wrong}", folder.0.display())));
        }
        if folder.0.as_os_str() == "-" {
            return Err(Error::new("--out -: rows and state go into a folder"));
        }
        let there = folder.0.ancestors().find(|parent| parent.exists());
        check_folder(
            there.filter(|there| !there.as_os_str().is_empty()).unwrap_or(Path::new(".")),
        )?;
        Ok(folder)
    }

    /// Creates the folder if it is missing.
    pub(super) fn make(&self) -> Result<Made, Error> {
        let missing = self
            .0
            .ancestors()
            .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        let made = Made(missing.map(Path::to_owned).collect());
        fs::create_dir_all(&self.0).map_err(|error| failed(&self.0, &error))?;
        Ok(made)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// One row for each finished connection, written when it ends.
    pub(super) fn rows(&self) -> PathBuf {
        self.0.join("rows.jsonl")
    }

    /// Connections that were open at the last look.
    pub(super) fn open(&self) -> PathBuf {
        self.0.join("open.jsonl")
    }

    /// The rows used by the last look.
    fn mature(&self) -> PathBuf {
        self.0.join("mature.jsonl")
    }

    fn state_file(&self) -> PathBuf {
        self.0.join("trial.json")
    }

    /// Requested shares.
    pub(super) fn wanted(&self) -> PathBuf {
        self.0.join("shares.next")
    }

    /// Counters for the textfile collector of Prometheus' node_exporter.
    pub(super) fn metrics(&self) -> PathBuf {
        self.0.join("metrics.prom")
    }

    /// Messages of a detached process.
    pub(super) fn log(&self) -> PathBuf {
        self.0.join("log")
    }

    fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    /// Takes the lock of the process that runs the trial; `None` if another process holds it.
    pub(super) fn hold(&self) -> Result<Option<Held>, Error> {
        Held::take(&self.lock())
    }

    /// Whether a process runs the trial. For use by other processes.
    pub(super) fn runs(&self) -> Result<bool, Error> {
        Held::holder(&self.lock()).map(|holder| holder.is_some())
    }

    /// Asks the process that runs the trial to end. The process in the state and the holder of the
    /// lock according to the kernel must agree.
    pub(super) fn interrupt(&self) -> Result<(), Error> {
        let state = self.state()?;
        let number = |name: &str| state[name].as_u64();
        let (Some(process), Some(start)) = (number("process"), number("process_start")) else {
            let what = "its state names no process";
            return Err(Error::new(format!("{}: {what}", self.0.display())));
        };
        interrupt_holder(&self.lock(), process, start)
    }

    pub(super) fn state(&self) -> Result<Value, Error> {
        let file = self.state_file();
        let text = fs::read_to_string(&file).map_err(|error| failed(&file, &error))?;
        serde_json::from_str(&text)
            .map_err(|error| Error::new(format!("{}: {error}", file.display())))
    }

    pub(super) fn write_state(&self, state: &Value) -> Result<(), Error> {
        write_own(&self.state_file(), |out| writeln!(out, "{state:#}"))
    }

    /// Compares the arms over connections that started long enough ago, including open ones. The
    /// inner error explains why there is no result yet.
    pub(super) fn look(&self, guards: &[(&str, &str)]) -> Result<Result<Answer, String>, Error> {
        let state = self.state()?;
        let number = |name: &str| state[name].as_u64();
        let until = number("ended_s").unwrap_or_else(seconds);
        let latest = until.saturating_sub(number("maturity_s").unwrap_or(0));
        let Rows { text: mature, torn } = self.gather(latest)?;
        let young = |what: &str| format!("{}: {what} began long enough ago", self.0.display());
        if mature.is_empty() {
            return Ok(Err(young("no connection")));
        }
        let file = self.mature();
        write_own(&file, |out| out.write_all(mature.as_bytes()))?;
        let text = |name: &str| state[name].as_str().unwrap_or_default();
        let baseline = text("baseline");
        // The user did not name the baseline here, so its absence is not an option error.
        if !has_row_of(&mature, baseline) {
            return Ok(Err(young(&format!("no connection with {baseline}"))));
        }
        let mut pairs = vec![("baseline", baseline)];
        let settle = number("settle_s").unwrap_or(0).to_string();
        if text("unit") == "time" {
            pairs.push(("settle", &settle));
        } else if number("epoch") == Some(0) {
            // If the shares have changed, there is no single planned ratio.
            pairs.push(("shares", text("shares")));
        }
        pairs.extend(guards.iter().copied().filter(|(_, value)| !value.is_empty()));
        let pairs: Vec<_> =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let request: FieldRequest = from_pairs(&pairs)?;
        let mut answer = request.answer(&[file.display().to_string()])?;
        if let Some(why) = self.missing(&state)? {
            answer.withhold(why);
        }
        answer.warnings.extend(torn);
        Ok(Ok(answer))
    }

    /// Whether rows are missing. Every connection that was drawn when the state was written must
    /// have a row, have been open then, or be counted as dropped. Unlike the test of the sample
    /// ratio, this check is exact and names the arms with missing rows.
    fn missing(&self, state: &Value) -> Result<Option<String>, Error> {
        let Some(arms) = state["arms"].as_array() else { return Ok(None) };
        let drawn = |arm: &Value| arm["drawn"].as_u64().unwrap_or(0);
        // Numbers are assigned in order, so higher ones were drawn after the state was written.
        let all = arms.iter().map(drawn).sum::<u64>();
        let mut known: HashMap<String, u64> = HashMap::new();
        let mut seen = HashSet::new();
        for file in [self.rows(), self.open()] {
            each_row(&file, |_, row| {
                let number = row["connection"].as_u64().filter(|number| *number < all);
                if let (Some(number), Some(arm)) = (number, row["arm"].as_str())
                    && seen.insert(number)
                {
                    *known.entry(arm.to_owned()).or_default() += 1;
                }
            })?;
        }
        // Rows in transit between a counter and their record, and rows that could not be stored.
        let count = |name: &str| state[name].as_u64().unwrap_or(0);
        let excused = UNDER_WAY + count("dropped") + count("rows_lost") + count("rows_waiting");
        let told: Vec<String> = arms
            .iter()
            .filter_map(|arm| {
                let name = arm["arm"].as_str()?;
                let missing = drawn(arm).saturating_sub(known.get(name).copied().unwrap_or(0));
                (missing > excused).then(|| format!("{name} lacks {missing} of {}", drawn(arm)))
            })
            .collect();
        Ok((!told.is_empty())
            .then(|| format!("rows of drawn connections are missing: {}", told.join(", "))))
    }

    /// Rows of connections that started by `latest`. A connection that was open at the last look
    /// and has finished since counts once.
    fn gather(&self, latest: u64) -> Result<Rows, Error> {
        let (mut text, mut over, mut torn) = (String::new(), HashSet::new(), Vec::new());
        for file in [self.rows(), self.open()] {
            let is_torn = each_row(&file, |line, row| {
                if row["start_s"].as_u64().is_some_and(|start| start <= latest)
                    && over.insert(row["connection"].as_u64())
                {
                    text += &String::from_utf8_lossy(line);
                    text.push('\n');
                }
            })?;
            let named =
                || format!("{}: the last row is incomplete and not counted", file.display());
            torn.extend(is_torn.then(named));
        }
        Ok(Rows { text, torn })
    }
}

/// Folders that were created; they are removed again if they stay empty.
#[must_use]
pub(super) struct Made(Vec<PathBuf>);

impl Made {
    /// Keeps the folders.
    pub(super) fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // Only an empty folder can be removed.
        for folder in &self.0 {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Rows of a trial, and warnings about them.
#[derive(Debug)]
struct Rows {
    text: String,
    torn: Vec<String>,
}

/// Calls `each` for each row of a file, if the file exists. Returns whether the last row is
/// incomplete.
///
/// # Errors
/// A one-line message about any other line that is not a row.
fn each_row(file: &Path, mut each: impl FnMut(&[u8], Value)) -> Result<bool, Error> {
    let Ok(opened) = File::open(file) else { return Ok(false) };
    let wrong = |(number, what): (u64, String)| {
        Error::new(format!("{}: line {number}: {what}", file.display()))
    };
    let mut lines = Lines::of(BufReader::new(opened));
    while let Some(line) = lines.next_line().map_err(wrong)? {
        let Some(row) = line.row(serde_json::from_slice::<Value>).map_err(wrong)? else {
            return Ok(true);
        };
        each(line.bytes, row);
    }
    Ok(false)
}

fn has_row_of(rows: &str, arm: &str) -> bool {
    let mut rows = rows.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    rows.any(|row| row["arm"] == arm)
}

/// Seconds since 1970.
pub(super) fn seconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_look_takes_connections_by_their_start_and_each_once() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = Folder::check(&place.path().join("trial")).expect("a trial's");
        folder.make().expect("made").keep();
        assert!(Folder::of(folder.path()).is_err(), "nothing was started yet");
        let row = |connection: u32, start: u32, ended: &str| {
            format!("{{\"connection\":{connection},\"start_s\":{start},\"ended\":\"{ended}\"}}\n")
        };
        let rows = row(1, 10, "fin") + &row(2, 50, "fin") + "{\"connection\":9,\"start_s";
        fs::write(folder.rows(), rows).expect("rows");
        fs::write(folder.open(), row(1, 10, "open") + &row(3, 11, "open")).expect("rows");
        let Rows { text: mature, torn } = folder.gather(40).expect("rows");
        assert!(
            torn.len() == 1 && torn[0].contains("rows.jsonl: the last row is incomplete"),
            "{torn:?}"
        );
        assert_eq!(mature, row(1, 10, "fin") + &row(3, 11, "open"), "2 is too young, 1 is over");
        assert_eq!(folder.gather(5).expect("rows").text, "", "all are too young");
        fs::write(folder.rows(), row(1, 10, "fin") + "{\"conn\n" + &row(2, 50, "fin"))
            .expect("rows");
        let why = folder.gather(40).expect_err("no row").to_string();
        assert!(why.contains("rows.jsonl: line 2: "), "{why}");
        fs::write(folder.rows(), row(1, 10, "fin")).expect("rows");
        let state = json!({"baseline": "kernel:cubic", "ended_s": 60});
        folder.write_state(&state).expect("a state");
        let why = folder.look(&[]).expect("a folder").expect_err("the baseline has no row");
        assert!(why.contains("no connection with kernel:cubic began long enough ago"), "{why}");
        assert!(Folder::check(folder.path()).is_err(), "one trial in a folder");
    }

    #[test]
    fn a_connection_that_was_drawn_has_a_row_or_is_open_or_was_counted_as_dropped() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = Folder::check(&place.path().join("trial")).expect("a trial's");
        folder.make().expect("made").keep();
        let row = |connection: u64| {
            let arm = if connection.is_multiple_of(2) { "a" } else { "b" };
            format!("{{\"connection\":{connection},\"arm\":\"{arm}\"}}\n")
        };
        let state = |dropped: u64| json!({"arms": [{"arm": "a", "drawn": 100}, {"arm": "b", "drawn": 100}], "dropped": dropped});
        // Rows 200 and above came after the state; some connections that were open have ended
        // since.
        let rows = |keep: fn(&u64) -> bool| (0..260).filter(keep).map(row).collect::<String>();
        fs::write(folder.open(), (170..200).map(row).collect::<String>()).expect("rows");
        fs::write(folder.rows(), rows(|number| *number < 180 || *number > 199)).expect("rows");
        assert_eq!(folder.missing(&state(0)).expect("rows"), None);
        fs::write(folder.rows(), rows(|number| number % 2 == 0 || *number >= 60)).expect("rows");
        let told = folder.missing(&state(0)).expect("rows").expect("30 rows are missing");
        assert!(told.ends_with("missing: b lacks 30 of 100"), "{told}");
        assert_eq!(folder.missing(&state(20)).expect("rows"), None, "known to be dropped");
    }
}
