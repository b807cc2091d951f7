//! Inspects and controls a trial in a folder from another process.

use super::folder::Folder;
use super::tables::Shown;
use super::verdict::ended;
use crate::done::{Done, EXIT_STOPPED};
use crate::files::write_own;
use crate::output::{Columns, Files, produce};
use crate::run::command_line;
use crate::terminal::{QUIET, say, whisper};
use clap::Args;
use firstflight_lab::Error;
use firstflight_table::text::one_line;
use firstflight_trial::assign::shares;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

#[derive(Args, Debug)]
pub(super) struct InFolder {
    /// Folder of the trial: the one given to `trial start --out`
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

#[derive(Args, Debug)]
pub(super) struct ReportOptions {
    #[command(flatten)]
    of: InFolder,
    /// Write the result as JSON to a file, or to standard output (`-`) instead of the tables
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the report, one self-contained HTML page
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct SharesOptions {
    #[command(flatten)]
    of: InFolder,
    /// The same arms with new shares, such as kernel:cubic,hystart++=40%
    #[arg(value_name = "SHARES")]
    shares: String,
}

/// Maximum time for a process to carry out a request.
const PATIENCE: Duration = Duration::from_secs(30);

/// Shows the status of a trial.
pub(super) fn status(options: &InFolder) -> Result<Done, Error> {
    let folder = Folder::of(&options.folder)?;
    let state = folder.state()?;
    let text = |name: &str| one_line(state[name].as_str().unwrap_or_default()).into_owned();
    let how = match (text("state").as_str(), folder.runs()?) {
        ("running", true) => format!("running, process {}", state["process"]),
        // The arms were removed when it ended.
        ("running", false) => "its process was killed; no more arms are assigned".to_owned(),
        (other, _) => other.to_owned(),
    };
    let mut lines = format!("{}: {how}\n", options.folder.display());
    let _ = writeln!(lines, "epoch {}: {}", state["epoch"], text("shares"));
    for arm in state["arms"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let name = one_line(arm["arm"].as_str().unwrap_or_default());
        let _ = write!(lines, "{name}: {} connections drawn, {} over", arm["drawn"], arm["rows"]);
        let changed = arm["changed"].as_u64().filter(|changed| *changed > 0);
        let _ = changed.map(|changed| write!(lines, ", {changed} changed by their service"));
        lines.push('\n');
    }
    let count = |name: &str| state[name].as_u64().unwrap_or(0);
    let _ = write!(lines, "{} open", count("open"));
    for (name, what) in [
        ("outside", "did not take part"),
        ("left_out", "left out, their service chose a controller"),
        ("failed", "could not be assigned their arm"),
        ("dropped", "rows dropped"),
        ("rows_waiting", "rows not yet written"),
        ("rows_lost", "rows lost"),
    ] {
        if count(name) > 0 {
            let _ = write!(lines, "; {} {what}", count(name));
        }
    }
    lines.push('\n');
    match folder.look(&[("stop-if", &text("stop_if"))]) {
        Ok(Ok(answer)) => {
            let _ = writeln!(lines, "{}", answer.finding);
            for warning in &answer.warnings {
                let _ = writeln!(lines, "{QUIET}{warning}{QUIET:#}");
            }
        }
        Ok(Err(young)) => {
            let _ = writeln!(lines, "no result yet: {young}");
        }
        Err(error) => {
            let _ = writeln!(lines, "no result: {error}");
        }
    }
    say(&lines)?;
    Ok(of_state(&state))
}

/// Once a rule has stopped a trial, every command that inspects it exits with that code.
fn of_state(state: &Value) -> Done {
    match state["state"].as_str() {
        Some("stopped by a rule") => {
            whisper(&one_line(state["why"].as_str().unwrap_or_default()));
            Done::With(EXIT_STOPPED)
        }
        _ => Done::Well,
    }
}

/// Stops the trial and waits for its end.
pub(super) fn stop(options: &InFolder) -> Result<Done, Error> {
    let folder = Folder::of(&options.folder)?;
    if !folder.runs()? {
        return Err(Error::new(format!("{}: is not running", options.folder.display())));
    }
    folder.interrupt()?;
    wait("the trial to end", || folder.runs().map(|runs| !runs))?;
    Ok(of_state(&folder.state()?))
}

/// Reports the effects of the arms.
pub(super) fn report(options: &ReportOptions) -> Result<Done, Error> {
    let files =
        Files { json: options.json.as_ref(), others: &[("--report", options.report.as_deref())] };
    let folder = Folder::of(&options.of.folder)?;
    let rules = folder.state()?["stop_if"].as_str().unwrap_or_default().to_owned();
    let answer = match folder.look(&[("stop-if", &rules)])? {
        Ok(answer) => answer,
        Err(young) => return Ok(Done::Because(young)),
    };
    let page = |shown: &Shown, _: &str| Ok(shown.0.page(&command_line()));
    let Shown(answer) = produce(&files, Columns::OfResult, || Ok(Shown(answer)), page)?;
    Ok(ended(&answer))
}

/// Changes the shares, which starts a new epoch.
pub(super) fn reshare(options: &SharesOptions) -> Result<Done, Error> {
    let folder = Folder::of(&options.of.folder)?;
    shares(&options.shares).map_err(|error| Error::new(error.to_string()))?;
    if !folder.runs()? {
        return Err(Error::new(format!("{}: is not running", options.of.folder.display())));
    }
    let before = folder.state()?["epoch"].clone();
    let file = folder.wanted();
    write_own(&file, |out| out.write_all(options.shares.as_bytes()))?;
    wait("the trial to take them", || Ok(!file.exists()))?;
    let state = folder.state()?;
    if let (true, Some(why)) = (state["epoch"] == before, state["refused"].as_str()) {
        return Err(Error::new(why.to_owned()));
    }
    say(&format!("epoch {}: {}\n", state["epoch"], options.shares))?;
    Ok(Done::Well)
}

/// Waits for a process that does not respond at once.
pub(super) fn wait(
    what: &str,
    mut is_so: impl FnMut() -> Result<bool, Error>,
) -> Result<(), Error> {
    let began = Instant::now();
    while !is_so()? {
        if began.elapsed() > PATIENCE {
            return Err(Error::new(format!("waited {} s for {what}", PATIENCE.as_secs())));
        }
        sleep(Duration::from_millis(50));
    }
    Ok(())
}
