//! `ab --engine ray`: runs the connections on a Ray cluster through the Python package, and makes
//! the tables here.
//!
//! The package writes the totals of the whole test to a file, like `--save`; everything after that
//! is as if they had been computed here.

use super::options::TestOptions;
use crate::stop::graceful_with;
use firstflight_lab::Error;
use firstflight_lab::ab::{Experiment, Tallies, run as files};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// Refuses options that cannot be combined.
pub(super) fn check(options: &TestOptions) -> Result<(), Error> {
    let wrong = if options.cluster.is_ray() {
        let engine = "does not go with `--engine ray`: the cluster decides";
        [
            ("--shard", options.shard.is_some(), engine),
            ("--threads", options.threads.is_some(), engine),
        ]
    } else if options.out.is_some() && options.resume.is_some() {
        [
            ("--out", true, "does not go with --resume: finished blocks have no rows left"),
            ("", false, ""),
        ]
    } else {
        let engine = "goes with `--engine ray`";
        [
            ("--address", options.cluster.address.is_some(), engine),
            ("--shards", options.cluster.shards.is_some(), engine),
        ]
    };
    match wrong.iter().find(|(_, given, _)| *given) {
        Some((option, _, why)) => Err(Error::new(format!("{option}: {why}"))),
        None => Ok(()),
    }
}

/// Environment variable with the Python interpreter that has the package.
const PYTHON: &str = "FIRSTFLIGHT_PYTHON";

/// Runs the test on the cluster.
pub(super) fn run(options: &TestOptions, experiment: &Experiment) -> Result<Tallies, Error> {
    let python = env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
    find_package(&python)?;
    let sums = Sums(env::temp_dir().join(format!("firstflight-{}.ffab", std::process::id())));
    let runner = Command::new(&python)
        .args(["-m", "firstflight.ray"])
        .args(words(options, &sums.0))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(|error| cannot_start(&python, &error))?;
    let number = runner.id();
    // The runner cancels the work on the cluster; its file must be removed after that.
    let cancel = Box::new(move |_| interrupt(number));
    graceful_with("stopping the run on the cluster", 1, Some(cancel));
    let ended = runner.wait_with_output().map_err(|error| cannot_start(&python, &error))?;
    if !ended.status.success() {
        return Err(failure(ended.status, &String::from_utf8_lossy(&ended.stdout)));
    }
    let (known, tallies) = files::read(&sums.0)?;
    if known != *experiment {
        return Err(Error::new(
            "--engine ray: the package ran a different test than this command; install the same version of both",
        ));
    }
    Ok(tallies)
}

/// Interrupts the runner. A terminal's Ctrl-C reaches it directly, and a second one does no harm.
#[cfg(unix)]
fn interrupt(runner: u32) {
    use nix::sys::signal::{Signal, kill};
    let _ = kill(nix::unistd::Pid::from_raw(runner.cast_signed()), Signal::SIGINT);
}

#[cfg(not(unix))]
fn interrupt(_: u32) {}

fn cannot_start(python: &OsString, error: &std::io::Error) -> Error {
    Error::new(format!(
        "--engine ray: {}: {error}; {PYTHON} names another Python",
        python.display()
    ))
}

fn find_package(python: &OsString) -> Result<(), Error> {
    let look = "import sys\nfrom importlib.util import find_spec\nsys.exit(0 if find_spec('firstflight') and find_spec('ray') else 3)";
    let found = Command::new(python)
        .args(["-c", look])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| cannot_start(python, &error))?;
    if found.status.success() {
        return Ok(());
    }
    Err(Error::new(format!(
        "--engine ray: {} has no package `firstflight` with Ray; `pip install './python[ray]'` in a checkout installs it, {PYTHON} names another Python",
        python.display()
    )))
}

/// The test as arguments of the package's runner.
fn words(options: &TestOptions, sums: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    let mut word = |name: &str, value: OsString| {
        // With `=`, a value may start with a dash.
        let mut both = OsString::from(format!("--{name}="));
        both.push(value);
        words.push(both);
    };
    word("save", sums.into());
    for (name, value) in &options.request.pairs {
        word(name, value.into());
    }
    let optional = [
        ("resume", options.resume.clone().map(Into::into)),
        ("out", options.out.clone().map(Into::into)),
        ("address", options.cluster.address.clone().map(Into::into)),
        ("shards", options.cluster.shards.map(|shards| shards.to_string().into())),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            word(name, value);
        }
    }
    words
}

/// The runner's exit code for an error that the user can fix; the message is on its standard
/// output.
const REFUSED: i32 = 2;
/// The runner's exit code after Ctrl-C.
const INTERRUPTED: i32 = 130;

fn failure(status: ExitStatus, said: &str) -> Error {
    match status.code() {
        Some(REFUSED) => {
            Error::new(said.lines().next().unwrap_or("--engine ray: refused").to_owned())
        }
        Some(INTERRUPTED) => Error::new(
            "--engine ray: interrupted; finished blocks in the folder of --resume will not run again",
        ),
        _ => Error::new(format!(
            "--engine ray: the runner failed ({status}); its own message is above"
        )),
    }
}

/// The file of totals, removed at the end of the run.
struct Sums(PathBuf);

impl Drop for Sums {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
