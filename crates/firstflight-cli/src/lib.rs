//! The command `firstflight`, as a program of its own or extended with your own algorithm: all its
//! commands, tables and reports then treat your algorithm like a built-in one.
//!
//! ```no_run
//! use firstflight::event::{Ack, Context, Window};
//! use firstflight::startup::{Grown, Startup};
//!
//! /// Grows by half a window in a round trip.
//! #[derive(Default)]
//! struct Half;
//!
//! impl Startup for Half {
//!     type Saved = ();
//!
//!     fn grow(&mut self, _: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
//!         w.open(cx.cap(acked) / 2);
//!         Grown::default()
//!     }
//! }
//!
//! firstflight_cli::program! { startup "half" => Half }
//! ```
//!
//! Then run `cargo run --release -- evaluate half --quick`, `compare --arms half,half/reno,rapid`
//! and so on. Any part that an arm does not name is the built-in default.
#![deny(unsafe_code)]
// All output of a command goes through its own writer, which handles closed pipes.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod ab;
#[cfg(any(target_os = "linux", feature = "quic"))]
mod address;
#[cfg(feature = "replay")]
mod advise;
mod check;
mod compare;
mod completions;
mod conform;
mod diff;
mod done;
mod drawing;
mod drill;
mod engine;
mod evaluate;
mod examples;
#[cfg(all(target_os = "linux", feature = "bpf"))]
mod exits;
mod experiment;
mod fetch;
mod files;
mod fit;
mod format;
mod help;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod link;
mod list;
mod output;
pub mod parts;
mod populations;
mod progress;
#[cfg(all(target_os = "linux", feature = "bpf"))]
mod random;
#[cfg(feature = "replay")]
mod replay;
mod report;
mod reproduce;
mod results;
#[cfg(all(target_os = "linux", feature = "bpf"))]
mod row_file;
mod rows;
mod run;
#[cfg(any(all(target_os = "linux", feature = "bpf"), feature = "quic"))]
mod secret;
mod serve;
mod sharing;
mod stop;
mod terminal;
mod traces;
#[cfg(feature = "field")]
mod trial;
mod tune;
mod ui;
mod vectors;
mod version;
#[cfg(all(target_os = "linux", feature = "replay"))]
mod watch;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use done::{Done, EXIT_BAD_INPUT, EXIT_SHORT};
pub use firstflight_lab::OwnPart;
use firstflight_lab::{Error, own_parts, request};
use firstflight_path::input::shortened;
use firstflight_table::{guard, text};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Compare slow start and loss recovery of TCP and QUIC: every algorithm on the same path, side by
/// side.
#[derive(Debug, Parser)]
#[command(name = "firstflight", version, long_version = version::LONG.as_str())]
#[command(arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    layout: fit::Layout,
}

/// In the order of use: decide, understand, look up, run for real.
#[derive(Debug, Subcommand)]
enum Command {
    /// Recommend a startup for the paths in your captures
    #[cfg(feature = "replay")]
    #[command(after_help = examples::ADVISE)]
    Advise(Box<advise::Options>),
    /// Compare arms on one path: ramp-up, overshoot, cost
    #[command(after_help = examples::COMPARE)]
    Compare(compare::Options),
    /// Run an A/B test of arms on a model population of paths
    #[command(after_help = examples::AB)]
    Ab(Box<ab::Options>),
    /// Find the parameters of an arm that suit a population
    #[command(after_help = examples::TUNE)]
    Tune(Box<tune::Options>),
    /// Watch live TCP connections: when would each startup exit?
    #[cfg(all(target_os = "linux", feature = "replay"))]
    #[command(after_help = examples::WATCH)]
    Watch(Box<watch::Options>),
    /// Run a randomized trial on a share of live connections
    #[cfg(feature = "field")]
    #[command(after_help = examples::TRIAL)]
    Trial(trial::Options),
    /// Show what differs between two results of `compare` or `ab`
    #[command(after_help = examples::DIFF)]
    Diff(diff::Options),
    /// Write the report page of a result saved as JSON
    #[command(after_help = examples::REPORT)]
    Report(report::Options),
    /// Check results against a baseline; exit 1 on a regression
    #[command(after_help = examples::CHECK)]
    Check(check::Options),
    /// Run an experiment from a TOML file
    #[command(after_help = examples::RUN)]
    Run(experiment::Options),
    /// Show when each startup would have exited, on recorded ACKs
    #[cfg(feature = "replay")]
    #[command(after_help = examples::REPLAY)]
    Replay(replay::Options),
    /// Reproduce published results, with intervals and verdicts
    #[command(after_help = examples::REPRODUCE)]
    Reproduce(reproduce::Options),
    /// Evaluate an algorithm against the criteria of RFC 9743
    #[command(after_help = examples::EVALUATE)]
    Evaluate(Box<evaluate::Options>),
    /// Find where a controller diverges from the reference
    #[command(after_help = examples::CONFORM)]
    Conform(conform::Options),
    /// Run packetdrill scripts against our TCP sender
    #[command(after_help = examples::DRILL)]
    Drill(drill::Options),
    /// Generate test vectors: events in, expected windows out
    #[command(after_help = examples::VECTORS)]
    Vectors(vectors::Options),
    /// List the algorithms that form an arm, or describe one
    #[command(after_help = examples::ARMS)]
    Arms(list::Options),
    /// List the built-in paths, or describe one
    #[command(after_help = examples::PATHS)]
    Paths(list::Options),
    /// List the built-in populations, describe one, or make one
    #[command(visible_alias = "population", after_help = examples::POPULATIONS)]
    Populations(populations::Options),
    /// Serve objects over HTTP/3 with any arm
    #[command(after_help = examples::SERVE)]
    Serve(Box<serve::Options>),
    /// Download over HTTP/3, timed and verified
    #[command(after_help = examples::FETCH)]
    Fetch(fetch::Options),
    /// Run a command behind an emulated link
    #[cfg(target_os = "linux")]
    #[command(after_help = examples::LINK)]
    Link(link::Options),
    /// Load arms into the running kernel as congestion controllers
    #[cfg(target_os = "linux")]
    #[command(after_help = examples::KERNEL)]
    Kernel(kernel::Options),
    /// Open the playground: the simulator in your browser
    #[command(after_help = examples::UI)]
    Ui(ui::Options),
    /// Print completions for a shell
    #[command(after_help = examples::COMPLETIONS)]
    Completions(completions::Options),
    /// Write a manual page for each command
    #[command(hide = true)]
    Man(completions::ManOptions),
    /// The process in which `conform table:FILE` runs the library
    #[command(hide = true)]
    Table(conform::TableOptions),
}

/// Runs the whole command with these parts in addition to the built-in ones. The first of `words`
/// is the name of the program. May be called once per process. Returns the exit code, which `--help`
/// explains.
pub fn run(parts: Vec<OwnPart>, words: impl IntoIterator<Item = OsString>) -> ExitCode {
    if !parts.is_empty()
        && let Err(bad) = own_parts(parts)
    {
        return refuse(bad.as_str());
    }
    let words: Vec<OsString> = words.into_iter().collect();
    files::remember(&words);
    let parsed = help::grouped(Cli::command()).try_get_matches_from(words);
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error)
            if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) =>
        {
            return match error.print().and_then(|()| std::io::stdout().flush()) {
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                    refuse(&format!("standard output: {error}"))
                }
                _ => ExitCode::SUCCESS,
            };
        }
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            return ExitCode::from(EXIT_BAD_INPUT);
        }
        Err(error) => return refuse(&request::line_of(&error, Some(&Cli::command()))),
    };
    fit::ask(cli.layout);
    // A command behind a link is supervised by a single thread, which waits for signals itself.
    if !cli.command.supervises() {
        stop::listen();
    }
    let done = guard::program(|| {
        let tables = cli.command.without_tables().map_or(Ok(()), output::no_tables);
        tables.and_then(|()| carry_out(cli.command))
    });
    let code = match done {
        Ok(Ok(Done::Well)) => 0,
        Ok(Ok(Done::Short)) => EXIT_SHORT,
        Ok(Ok(Done::Because(why))) => {
            say_why(&why);
            EXIT_SHORT
        }
        #[cfg(any(target_os = "linux", feature = "field"))]
        Ok(Ok(Done::With(code))) => code,
        Ok(Err(bad)) => {
            say_why(bad.as_str());
            // A command that was stopped before it had any result did not fail because of bad
            // input.
            if stop::asked() { EXIT_SHORT } else { EXIT_BAD_INPUT }
        }
        Err(broken) => {
            say_why(&broken.to_string());
            EXIT_SHORT
        }
    };
    stop::finish();
    // An internal error is not the fault of the input, whatever the result.
    let inner = guard::caught() > 0 && matches!(code, 0 | EXIT_BAD_INPUT);
    ExitCode::from(if inner { EXIT_SHORT } else { code })
}

fn carry_out(command: Command) -> Result<Done, Error> {
    match command {
        #[cfg(feature = "replay")]
        Command::Advise(options) => advise::run(&options),
        Command::Compare(options) => compare::run(&options),
        Command::Reproduce(options) => reproduce::run(&options),
        Command::Evaluate(options) => evaluate::run(&options),
        #[cfg(target_os = "linux")]
        Command::Kernel(options) => kernel::run(&options),
        #[cfg(target_os = "linux")]
        Command::Link(options) => link::run(options),
        Command::Serve(options) => serve::run(&options),
        Command::Fetch(options) => fetch::run(&options),
        Command::Ab(options) => ab::run(&options),
        Command::Tune(options) => tune::run(&options),
        #[cfg(feature = "replay")]
        Command::Replay(options) => replay::run(&options),
        Command::Populations(options) => populations::run(&options),
        Command::Diff(options) => diff::run(&options),
        Command::Report(options) => report::run(&options),
        Command::Check(options) => check::run(&options),
        Command::Run(options) => experiment::run(&options),
        #[cfg(all(target_os = "linux", feature = "replay"))]
        Command::Watch(options) => watch::run(&options),
        #[cfg(feature = "field")]
        Command::Trial(options) => trial::run(&options),
        Command::Ui(options) => ui::run(&options),
        Command::Conform(options) => conform::run(&options),
        Command::Drill(options) => drill::run(&options),
        Command::Table(options) => conform::run_table(&options),
        Command::Vectors(options) => vectors::run(&options),
        Command::Arms(options) => list::arms(&options),
        Command::Paths(options) => list::paths(&options),
        Command::Completions(options) => completions::run(&options, Cli::command()),
        Command::Man(options) => completions::man(&options, Cli::command()),
    }
}

impl Command {
    /// The command's name, if it shows no tables.
    fn without_tables(&self) -> Option<&'static str> {
        match self {
            #[cfg(target_os = "linux")]
            Command::Link(_) => Some("link"),
            Command::Serve(_) => Some("serve"),
            Command::Fetch(_) => Some("fetch"),
            Command::Ui(_) => Some("ui"),
            Command::Report(_) => Some("report"),
            Command::Vectors(_) => Some("vectors"),
            Command::Completions(_) => Some("completions"),
            Command::Man(_) => Some("man"),
            Command::Table(_) => Some("table"),
            _ => None,
        }
    }
}

impl Command {
    /// Returns `true` if the command runs a user's program and forwards signals to it.
    fn supervises(&self) -> bool {
        match self {
            #[cfg(target_os = "linux")]
            Command::Link(options) => options.supervises(),
            _ => false,
        }
    }
}

fn refuse(line: &str) -> ExitCode {
    say_why(line);
    ExitCode::from(EXIT_BAD_INPUT)
}

/// Gives the reason for an exit code above 0, in one line.
fn say_why(line: &str) {
    terminal::whisper(&format!("firstflight: {}", text::one_line(&shortened(line))));
}
