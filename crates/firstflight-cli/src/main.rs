//! The command `firstflight` with its built-in parts.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    firstflight_cli::run(Vec::new(), std::env::args_os())
}
