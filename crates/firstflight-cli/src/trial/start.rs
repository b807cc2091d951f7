//! `firstflight trial start`: arms by chance for the new TCP connections of a control group.

use clap::{Args, ValueEnum};
use firstflight::Nanos;
use firstflight_lab::size;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(super) struct StartOptions {
    /// Control group (version 2) of the service; connections of its processes take part
    #[arg(long, value_name = "FOLDER")]
    cgroup: PathBuf,
    /// Arms with their shares, the baseline first: kernel:cubic,hystart++=20%. `kernel:NAME` is one
    /// of the kernel's own, `kernel list` has the others
    #[arg(long, value_name = "SHARES")]
    arms: String,
    /// Append a row of each connection to this file, for `trial analyse`
    #[arg(long, value_name = "FILE")]
    rows: PathBuf,
    /// Whether all connections of a client's network get one arm, or each its own
    #[arg(long, value_enum, default_value_t = Unit::Client)]
    unit: Unit,
    /// End after this time: 30s, 10min, 24h [default: Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = |text: &str| size::limit(text, 366 * 86_400))]
    duration: Option<Nanos>,
    /// Ratios that an arm must not exceed, separated by commas: 'retransmitted > 2x'; the trial
    /// ends with code 3 if one does
    #[arg(long, value_name = "RULES")]
    stop_if: Option<String>,
}

/// What is assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Unit {
    /// All connections of a /24 or /56 get one arm: they may share a bottleneck
    Client,
    /// Each connection gets its own
    Connection,
}

#[cfg(not(feature = "bpf"))]
pub(super) fn start(_options: &StartOptions) -> Result<crate::Done, firstflight_lab::Error> {
    Err(firstflight_lab::Error::new(
        "`trial start` is not part of this build: `cargo build --release --features bpf` has it (Debian: clang libelf-dev zlib1g-dev)",
    ))
}

#[cfg(feature = "bpf")]
pub(super) use with_bpf::start;

#[cfg(feature = "bpf")]
mod with_bpf {
    use super::{StartOptions, Unit};
    use crate::Done;
    use crate::failed;
    use crate::random::keys;
    use crate::terminal::whisper;
    use crate::trial::EXIT_STOPPED;
    use firstflight_lab::Error;
    use firstflight_lab::field::FieldRequest;
    use firstflight_lab::request::from_pairs;
    use firstflight_linux::kernel::{COLUMNS, Counts, FieldTest};
    use firstflight_linux::supervise::Interrupts;
    use firstflight_trial::assign::{Assignment, shares};
    use std::fmt::Write as _;
    use std::fs::File;
    use std::io::Write as _;
    use std::time::{Duration, Instant};

    /// Between two looks at rows, and between two at the stop rules.
    const WAIT: Duration = Duration::from_millis(100);
    const LOOK: Duration = Duration::from_secs(5);

    pub(in crate::trial) fn start(options: &StartOptions) -> Result<Done, Error> {
        let shares = shares(&options.arms);
        let shares =
            shares.map_err(|error| Error::new(format!("--arms {}: {error}", options.arms)))?;
        let guard = guard(options, &shares[0].arm)?;
        let [assign, pseudonym] = keys()?;
        let assignment =
            Assignment::new(assign, &shares).map_err(|error| Error::new(error.to_string()))?;
        let wrong = |error| failed(&options.rows, &error);
        let mut rows =
            File::options().create(true).append(true).open(&options.rows).map_err(wrong)?;
        let interrupts = Interrupts::block()?;
        let by_client = options.unit == Unit::Client;
        let test = FieldTest::start(&options.cgroup, &assignment, [assign, pseudonym], by_client)?;
        let began = Instant::now();
        whisper(&format!(
            "trial of {} on {}; Ctrl-C ends it",
            options.arms,
            options.cgroup.display()
        ));
        let (mut last, mut lost) = (began, None);
        let stopped = loop {
            let over = options
                .duration
                .is_some_and(|most| began.elapsed().as_nanos() >= u128::from(most.0));
            test.take(WAIT, |row| {
                // One write: a row is in the file whole or not at all.
                lost = lost.take().or(rows.write_all(row.line(COLUMNS).as_bytes()).err());
            })?;
            if let Some(error) = lost {
                return Err(failed(&options.rows, &error));
            }
            if over || interrupts.came() {
                break None;
            }
            if last.elapsed() >= LOOK {
                last = Instant::now();
                if let Some(why) = guard.as_ref().and_then(|guard| broken(guard, options)) {
                    break Some(why);
                }
            }
        };
        let counts = test.counts()?;
        // From here on nobody is given an arm.
        drop(test);
        whisper(&told(&assignment, &counts));
        Ok(stopped.map_or(Done::Well, |why| {
            whisper(&why);
            Done::With(EXIT_STOPPED)
        }))
    }

    /// The analysis that looks for harm, if any rule is given.
    fn guard(options: &StartOptions, baseline: &str) -> Result<Option<FieldRequest>, Error> {
        let Some(rules) = &options.stop_if else { return Ok(None) };
        let pairs = [("stop-if", rules.as_str()), ("baseline", baseline)];
        let request: FieldRequest =
            from_pairs(&pairs.map(|(name, value)| (name.to_owned(), value.to_owned())))?;
        request.check_rules(COLUMNS)?;
        Ok(Some(request))
    }

    /// Why the trial has to stop. A file without rows of the baseline breaks no rule yet.
    fn broken(guard: &FieldRequest, options: &StartOptions) -> Option<String> {
        let answer = guard.answer(&[options.rows.display().to_string()]).ok()?;
        answer.stopped().map(|_| answer.finding.clone())
    }

    fn told(assignment: &Assignment, counts: &Counts) -> String {
        let arms = assignment.names().iter().zip(&counts.assigned);
        let arms: Vec<String> = arms.map(|(arm, count)| format!("{arm} {count}")).collect();
        let mut told = format!("connections drawn: {}", arms.join(", "));
        for (count, what) in [
            (counts.left_out, "left out, their service chose a controller"),
            (counts.failed, "could not be given their arm"),
            (counts.dropped, "rows dropped"),
        ] {
            if count > 0 {
                let _ = write!(told, "; {count} {what}");
            }
        }
        told
    }
}
