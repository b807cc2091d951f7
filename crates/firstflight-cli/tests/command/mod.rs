//! The command as tests run it: in a folder of its own, with nothing of the tester's environment
//! that changes what it prints.
#![allow(dead_code, reason = "every test binary uses its part")]

pub(crate) mod schema;

use assert_cmd::Command;
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

/// What a run left behind.
pub(crate) struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// Lines of standard error.
    pub(crate) fn said(&self) -> Vec<&str> {
        self.stderr.lines().collect()
    }

    /// Standard output as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| {
            panic!("standard output is not JSON ({error}): {}", self.stdout)
        })
    }
}

/// `firstflight` with these arguments, not yet run.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstflight"));
    for variable in ["COLUMNS", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "RAYON_NUM_THREADS"] {
        command.env_remove(variable);
    }
    command.args(arguments);
    command
}

fn collect(mut command: Command) -> Run {
    let output = command.output().expect("the binary starts");
    Run {
        code: output.status.code().expect("no signal ends it"),
        stdout: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("standard error is UTF-8"),
    }
}

/// Runs it wherever the tests run.
pub(crate) fn run(arguments: &[&str]) -> Run {
    collect(command(arguments))
}

/// Runs it with `folder` as the current one.
pub(crate) fn run_in(folder: &TempDir, arguments: &[&str]) -> Run {
    let mut command = command(arguments);
    command.current_dir(folder.path());
    collect(command)
}

/// Runs it and expects that it ends well.
pub(crate) fn well(arguments: &[&str]) -> Run {
    let run = run(arguments);
    assert_eq!(
        run.code,
        0,
        "`firstflight {}` ends with {}: {}",
        arguments.join(" "),
        run.code,
        run.stderr
    );
    run
}

/// Names of everything in a folder, sorted.
pub(crate) fn inside(folder: &TempDir) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder.path())
        .expect("the folder can be read")
        .map(|entry| {
            entry.expect("the entry can be read").file_name().to_string_lossy().into_owned()
        })
        .collect();
    names.sort();
    names
}
