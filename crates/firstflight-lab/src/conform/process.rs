//! A controller in a separate process, in any language: one JSON object per line in each direction.
//!
//! It receives `{"event":"begin",...}` first, then every event with the fields of an event log
//! (`docs/traces.md`), and answers each line with `{"cwnd":N,"ssthresh":N}`, in bytes; the
//! threshold is absent or null if it was never set.

use super::foreign::{Foreign, ending};
use crate::vectors::json_of;
use firstflight::fields::EVENT;
use firstflight::{Begin, Event};
use firstflight_path::Error;
use serde_json::{Map, Value as Json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Maximum length of a response, bytes.
const LONGEST: u64 = 4096;
/// The first response may take this many times as long: a program may have to be compiled.
const FIRST: u32 = 6;

/// A controller in a separate process.
#[derive(Debug)]
pub struct Process {
    command: String,
    child: Child,
    /// Lines for the thread that writes each line and reads its answer.
    to: Option<Sender<String>>,
    from: Receiver<std::io::Result<Vec<u8>>>,
    limit: Duration,
    window: (u64, Option<u64>),
    /// Whether it has answered.
    heard: bool,
    died: bool,
}

impl Process {
    /// Starts `command` in a shell. Each answer may take up to `limit`, the first up to six times
    /// as long.
    ///
    /// # Errors
    /// A one-line message if it does not start.
    pub fn start(command: &str, limit: Duration) -> Result<Process, Error> {
        let failed = |why: &str| Error::new(format!("exec:{command}: {why}"));
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(firstflight_path::input::file_of(command))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(&error.to_string()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("it has no input or no output"));
        };
        let ((to, lines), (answers, from)) = (channel(), channel());
        std::thread::spawn(move || converse(input, output, &lines, &answers));
        let (command, window) = (command.to_owned(), (0, None));
        let to = Some(to);
        Ok(Process { command, child, to, from, limit, window, heard: false, died: false })
    }

    fn ask(&mut self, line: &Map<String, Json>, during: &str) -> Result<(), Error> {
        let command = self.command.clone();
        let failed = |why: &str| Error::new(format!("exec:{command}: {why}"));
        let text = serde_json::to_string(line).map_err(|error| failed(&error.to_string()))?;
        // A thread that is gone has left its last answer in the channel.
        let _ = self.to.as_ref().map(|to| to.send(text + "\n"));
        let limit = if self.heard { self.limit } else { self.limit * FIRST };
        let answer = match self.from.recv_timeout(limit) {
            Ok(Ok(answer)) if !answer.is_empty() => answer,
            Err(RecvTimeoutError::Timeout) => {
                let _ = self.child.kill();
                self.died = true;
                let seconds = limit.as_secs_f64();
                return Err(failed(&format!("it did not answer within {seconds} s, {during}")));
            }
            Ok(_) | Err(RecvTimeoutError::Disconnected) => {
                let why = ending(&mut self.child, "it");
                // The shell's codes for a command that it cannot run.
                let cannot = matches!(
                    self.child.try_wait(),
                    Ok(Some(status)) if matches!(status.code(), Some(126 | 127))
                );
                self.died = self.heard || !cannot;
                return Err(failed(&format!("{why}, {during}")));
            }
        };
        self.heard = true;
        let wanted = "each answer is a line such as {\"cwnd\":14720,\"ssthresh\":null}";
        let answer: Json = serde_json::from_slice(&answer).map_err(|_| failed(wanted))?;
        let cwnd = answer.get("cwnd").and_then(Json::as_u64).ok_or_else(|| failed(wanted))?;
        self.window = (cwnd, answer.get("ssthresh").and_then(Json::as_u64));
        Ok(())
    }
}

/// Writes each line and reads its answer, until either side ends; an empty answer is the end of the
/// program's output.
fn converse(
    mut to: ChildStdin,
    from: ChildStdout,
    lines: &Receiver<String>,
    answers: &Sender<std::io::Result<Vec<u8>>>,
) {
    let mut from = BufReader::new(from);
    for line in lines {
        // A program that ends may have answered before it ended.
        let written = to.write_all(line.as_bytes()).and_then(|()| to.flush());
        let mut answer = Vec::new();
        let read = std::io::Read::take(&mut from, LONGEST).read_until(b'\n', &mut answer);
        let over = written.is_err() || !matches!(read, Ok(1..));
        if answers.send(read.map(|_| answer)).is_err() || over {
            return;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Closes the input, which tells a well-behaved program to end.
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
        self.ask(&line, "before the first event")
    }

    fn tell(&mut self, event: &Event) -> Result<(), Error> {
        let during = format!("at {:.1} ms ({})", crate::trial::ms(event.now().0), event.name());
        self.ask(&line_of(event), &during)
    }

    fn window(&self) -> (u64, Option<u64>) {
        self.window
    }

    fn died(&self) -> bool {
        self.died
    }
}

/// An event as JSON, with its known fields.
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
