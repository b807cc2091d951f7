//! A controller in a process of its own, in whatever language: one JSON object per line each way.
//!
//! It is sent `{"event":"begin",...}` first, then every event with the fields of an event log
//! (`docs/traces.md`), and answers each line with `{"cwnd":N,"ssthresh":N}`, bytes; no threshold or
//! null while it was never set.

use super::foreign::Foreign;
use crate::vectors::json_of;
use firstflight::fields::EVENT;
use firstflight::{Begin, Event};
use firstflight_path::Error;
use serde_json::{Map, Value as Json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The longest answer that is read, bytes.
const LONGEST: usize = 4096;

/// The other side of a pipe.
#[derive(Debug)]
pub struct Process {
    command: String,
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    window: (u64, Option<u64>),
}

impl Process {
    /// Starts `command` in a shell.
    ///
    /// # Errors
    /// One line if it does not start.
    pub fn start(command: &str) -> Result<Process, Error> {
        let failed = |why: &str| Error::new(format!("exec:{command}: {why}"));
        let mut child = Command::new("sh")
            .args(["-c", command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(&error.to_string()))?;
        let to = child.stdin.take();
        let from = child.stdout.take().ok_or_else(|| failed("it has no output"))?;
        let from = BufReader::new(from);
        Ok(Process { command: command.to_owned(), child, to, from, window: (0, None) })
    }

    fn ask(&mut self, line: &Map<String, Json>) -> Result<(), Error> {
        let failed = |why: &str| Error::new(format!("exec:{}: {why}", self.command));
        let text = serde_json::to_string(line).map_err(|error| failed(&error.to_string()))?;
        let to = self.to.as_mut().ok_or_else(|| failed("it has no input"))?;
        writeln!(to, "{text}")
            .and_then(|()| to.flush())
            .map_err(|error| failed(&format!("it takes no more events: {error}")))?;
        let mut answer = Vec::new();
        let read =
            std::io::Read::take(&mut self.from, LONGEST as u64).read_until(b'\n', &mut answer);
        read.map_err(|error| failed(&error.to_string()))?;
        if answer.is_empty() {
            return Err(failed("it ended without an answer"));
        }
        let wanted = "each answer is a line such as {\"cwnd\":14720,\"ssthresh\":null}";
        let answer: Json = serde_json::from_slice(&answer).map_err(|_| failed(wanted))?;
        let cwnd = answer.get("cwnd").and_then(Json::as_u64).ok_or_else(|| failed(wanted))?;
        self.window = (cwnd, answer.get("ssthresh").and_then(Json::as_u64));
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Its input ends, which tells a well-behaved one to end.
        self.to = None;
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

impl Foreign for Process {
    fn begin(&mut self, begin: &Begin) -> Result<(), Error> {
        let mut line = Map::new();
        line.insert("event".to_owned(), "begin".into());
        line.insert("now_ns".to_owned(), begin.now.0.into());
        line.insert("initial_window".to_owned(), begin.config.initial_window.into());
        line.insert("mss".to_owned(), begin.config.mss.into());
        line.insert("nxt".to_owned(), begin.nxt.0.into());
        self.ask(&line)
    }

    fn tell(&mut self, event: &Event) -> Result<(), Error> {
        self.ask(&line_of(event))
    }

    fn window(&self) -> (u64, Option<u64>) {
        self.window
    }
}

/// An event with every field that it has; what is unknown is left out.
fn line_of(event: &Event) -> Map<String, Json> {
    let mut line = Map::new();
    line.insert("event".to_owned(), event.name().into());
    line.insert("now_ns".to_owned(), event.now().0.into());
    for field in EVENT {
        if let Some(value) = field.get(event) {
            line.insert(field.name.to_owned(), json_of(value));
        }
    }
    line
}
