//! The command `firstflight`, with what comes with it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    firstflight_cli::run(Vec::new(), std::env::args_os())
}
