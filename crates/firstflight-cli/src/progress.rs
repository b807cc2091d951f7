//! How far a run is: a bar for who waits at a terminal, a line a minute where standard error is a
//! pipe or a file.

use crate::terminal::whisper;
use firstflight_lab::table::figure;
use firstflight_table::text::one_line;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// A quick run never flickers.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between two lines.
const MINUTE: Duration = Duration::from_secs(60);

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Things called so.
    Count(&'static str),
    /// Bytes.
    Bytes,
    /// Nothing: what is being done is told in words.
    Words,
}

/// The progress of a run. It is gone with its value.
pub(crate) struct Progress {
    bar: ProgressBar,
    begun: Instant,
    terminal: bool,
    /// Dropped, it ends the lines.
    _lines: Option<Sender<()>>,
}

impl Progress {
    /// Begins; `style` is a template of the bar, `total` what is to be done if that is known.
    pub(crate) fn begin(style: &str, unit: Unit, total: Option<u64>) -> Progress {
        let bar = ProgressBar::hidden();
        if let Some(total) = total {
            bar.set_length(total);
        }
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        let terminal = std::io::stderr().is_terminal();
        let lines = (!terminal).then(|| {
            let seen = bar.clone();
            every(MINUTE, move |times| {
                let words = seen.message();
                whisper(&line(times, unit, seen.position(), seen.length(), &words));
            })
        });
        Progress { bar, begun: Instant::now(), terminal, _lines: lines.flatten() }
    }

    /// So much more is done.
    pub(crate) fn inc(&self, done: u64) {
        self.bar.inc(done);
        if self.terminal && self.bar.is_hidden() && self.begun.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(4));
        }
    }

    /// What is being done.
    pub(crate) fn tell(&self, words: impl Into<String>) {
        let words: String = words.into();
        self.bar.set_message(one_line(&words).into_owned());
        self.inc(0);
    }

    /// What is to be done is known now; the first time counts. Only a download learns it on the
    /// way.
    #[cfg(feature = "quic")]
    pub(crate) fn expect(&self, total: u64) {
        if self.bar.length().is_none() {
            self.bar.set_length(total);
        }
    }

    /// How much is done.
    pub(crate) fn done(&self) -> u64 {
        self.bar.position()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Calls `beat` with 1, 2, ... after every such time, until what it returns is dropped. No thread
/// to be had: no calls.
fn every(time: Duration, beat: impl Fn(u64) + Send + 'static) -> Option<Sender<()>> {
    let (end, ended) = channel::<()>();
    let beats = move || {
        let mut times = 0;
        while ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
            times += 1;
            beat(times);
        }
    };
    thread::Builder::new().spawn(beats).ok().map(|_| end)
}

/// How long it may still take, by what it has taken so far; nothing as long as nobody can know.
fn left(minutes: u64, done: u64, total: u64) -> String {
    match done {
        0 => String::new(),
        _ => format!(", about {} min left", (minutes * total.saturating_sub(done)).div_ceil(done)),
    }
}

/// The line after so many minutes.
fn line(minutes: u64, unit: Unit, done: u64, total: Option<u64>, words: &str) -> String {
    let bytes = |bytes: u64| figure(bytes as f64, "bytes");
    let told = match (unit, total) {
        (Unit::Words, _) => words.to_owned(),
        (Unit::Count(what), Some(total)) => {
            let words = if words.is_empty() { String::new() } else { format!(": {words}") };
            format!("{done} of {total} {what}{}{words}", left(minutes, done, total))
        }
        (Unit::Count(what), None) => format!("{done} {what}"),
        (Unit::Bytes, Some(total)) => format!("{} of {}", bytes(done), bytes(total)),
        (Unit::Bytes, None) => bytes(done),
    };
    format!("firstflight: after {minutes} min: {told}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_after_how_long_how_much_is_done() {
        let table = [
            (
                Unit::Count("connections"),
                Some(20_000),
                "firstflight: after 3 min: 1200 of 20000 connections, about 47 min left: rapid-start: G1",
            ),
            (Unit::Count("trials"), None, "firstflight: after 3 min: 1200 trials"),
            (Unit::Bytes, Some(2_000_000), "firstflight: after 3 min: 1.2 kB of 2.00 MB"),
            (Unit::Words, Some(5), "firstflight: after 3 min: rapid-start: G1"),
        ];
        for (unit, total, expected) in table {
            assert_eq!(line(3, unit, 1200, total, "rapid-start: G1"), expected);
        }
    }

    #[test]
    fn lines_come_one_after_the_other_until_the_run_ends() {
        let (say, said) = channel();
        let end = every(Duration::from_millis(1), move |times| say.send(times).unwrap_or_default())
            .expect("a thread");
        assert_eq!((said.recv(), said.recv(), said.recv()), (Ok(1), Ok(2), Ok(3)));
        drop(end);
        // The thread ends, and with it the last sender: this loop does.
        assert!(
            said.iter().zip(4..).all(|(seen, expected)| seen == expected),
            "no line is left out"
        );
    }
}
