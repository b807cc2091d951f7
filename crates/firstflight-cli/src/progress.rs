//! The progress of a run: a bar on a terminal, or one line per minute if standard error is a pipe
//! or a file.

use crate::terminal::whisper;
use firstflight_lab::table::figure;
use firstflight_table::text::one_line;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The bar appears after this time, so that it does not flicker in a short run.
const PATIENCE: Duration = Duration::from_secs(1);
/// Interval between two lines.
const MINUTE: Duration = Duration::from_secs(60);

/// Unit of the progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Objects with this name.
    Count(&'static str),
    /// Thousands of objects with this name, printed in millions.
    Thousands(&'static str),
    /// Bytes.
    Bytes,
    /// No unit: the progress is described in words.
    Words,
}

/// The progress of a run; it disappears when the value is dropped.
pub(crate) struct Progress {
    bar: ProgressBar,
    begun: Instant,
    terminal: bool,
    /// Dropping it ends the lines.
    _lines: Option<Sender<()>>,
}

/// The rate without decimals, which change with every step.
fn whole_per_second(state: &ProgressState, to: &mut dyn Write) {
    let _ = write!(to, "{:.0}/s", state.per_sec());
}

impl Progress {
    /// Starts the progress. `style` is a template of the bar, `total` the amount of work if it is
    /// known.
    pub(crate) fn begin(style: &str, unit: Unit, total: Option<u64>) -> Progress {
        let bar = ProgressBar::hidden();
        if let Some(total) = total {
            bar.set_length(total);
        }
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style.with_key("per_sec", whole_per_second));
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

    /// Adds `done` units of completed work.
    pub(crate) fn inc(&self, done: u64) {
        self.bar.inc(done);
        if self.terminal && self.bar.is_hidden() && self.begun.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(4));
        }
    }

    /// Sets the description of the current work.
    pub(crate) fn tell(&self, words: impl Into<String>) {
        let words: String = words.into();
        self.bar.set_message(one_line(&words).into_owned());
        self.inc(0);
    }

    /// Sets the total; only the first call counts. Only a download learns its total during the run.
    #[cfg(feature = "quic")]
    pub(crate) fn expect(&self, total: u64) {
        if self.bar.length().is_none() {
            self.bar.set_length(total);
        }
    }

    /// Number of completed units.
    pub(crate) fn done(&self) -> u64 {
        self.bar.position()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Calls `beat` with 1, 2, ... at this interval until the returned value is dropped. If no thread
/// can be started, there are no calls.
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

/// Estimate of the remaining time; empty while nothing is done.
fn left(minutes: u64, done: u64, total: u64) -> String {
    match done {
        0 => String::new(),
        _ => format!(", about {} min left", (minutes * total.saturating_sub(done)).div_ceil(done)),
    }
}

/// The line after this many minutes.
fn line(minutes: u64, unit: Unit, done: u64, total: Option<u64>, words: &str) -> String {
    let bytes = |bytes: u64| figure(bytes as f64, "bytes");
    let told = match (unit, total) {
        (Unit::Words, _) => words.to_owned(),
        (Unit::Count(what), Some(total)) => {
            let words = if words.is_empty() { String::new() } else { format!(": {words}") };
            format!("{done} of {total} {what}{}{words}", left(minutes, done, total))
        }
        (Unit::Count(what), None) => format!("{done} {what}"),
        (Unit::Thousands(what), total) => {
            let millions = |thousands: u64| format!("{:.1}", thousands as f64 / 1e3);
            let of = total.map_or_else(String::new, |total| format!(" of {}", millions(total)));
            let rest = total.map_or_else(String::new, |total| left(minutes, done, total));
            format!("{}{of} million {what}{rest}", millions(done))
        }
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
            (
                Unit::Thousands("packets"),
                Some(20_000),
                "firstflight: after 3 min: 1.2 of 20.0 million packets, about 47 min left",
            ),
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
        // The thread ends and drops the last sender, which ends this loop.
        assert!(
            said.iter().zip(4..).all(|(seen, expected)| seen == expected),
            "no line is left out"
        );
    }
}
