//! The command as tests run it: in a folder of its own, with nothing of the tester's environment
//! that changes what it prints.
#![allow(dead_code, reason = "every test binary uses its part")]

pub(crate) mod schema;

use assert_cmd::Command;
use serde_json::Value;
use std::fmt::Debug;
use std::fs;
use std::process::Output;
use tempfile::TempDir;

/// Outcome of a run.
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

    /// Bad input: exit code 2, nothing on standard output, and one line that contains `told`.
    #[track_caller]
    pub(crate) fn refuses(&self, typed: impl Debug, told: &str) {
        assert_eq!(
            (self.code, self.stdout.as_str(), self.said().len()),
            (2, "", 1),
            "{typed:?} is refused in one line, not: {}",
            self.stderr
        );
        assert!(
            self.stderr.starts_with("firstflight: ") && self.stderr.contains(told),
            "{typed:?} is refused with `{told}`, not: {}",
            self.stderr
        );
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
    ended(command.output().expect("the binary starts"))
}

/// The outcome of a program that has ended.
pub(crate) fn ended(output: Output) -> Run {
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

/// Each command is refused with a line that contains the words beside it.
#[track_caller]
pub(crate) fn refused(rows: &[(&[&str], &str)]) {
    for (arguments, told) in rows {
        run(arguments).refuses(arguments, told);
    }
}

/// The same of commands that begin with `base`, in `folder`, where they write nothing.
#[track_caller]
pub(crate) fn refused_in(folder: &TempDir, base: &[&str], rows: &[(&[&str], &str)]) {
    let before = inside(folder);
    for (more, told) in rows {
        let arguments = [base, more].concat();
        run_in(folder, &arguments).refuses(&arguments, told);
        assert_eq!(inside(folder), before, "{arguments:?} writes nothing");
    }
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

/// Runs the program, sends SIGINT after `seconds`, and checks that it ends with code 1.
pub(crate) fn interrupted(seconds: u64, arguments: &[&str]) -> Run {
    use std::process::Stdio;
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_firstflight"))
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    std::thread::sleep(std::time::Duration::from_secs(seconds));
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    if !sent.is_ok_and(|status| status.success()) {
        let _ = child.kill();
        panic!("no signal could be sent");
    }
    let run = ended(child.wait_with_output().expect("it ends"));
    assert_eq!(run.code, 1, "the result fell short: {}", run.stderr);
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
