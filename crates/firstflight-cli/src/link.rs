//! `firstflight link`.

use crate::address::resolve;
use crate::done::Done;
use crate::stop::graceful;
use crate::terminal::{CAUTION, QUIET, whisper};
use clap::Args;
use firstflight_lab::Error;
use firstflight_lab::request::named;
use firstflight_lab::size;
use firstflight_linux::LinkOptions;
use firstflight_linux::relay::{Relay, RelayOptions};
use firstflight_linux::supervise::{self, Job};
use firstflight_path::{DEFAULT, Path};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::time::Duration;

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Path: a built-in name, inline text such as `rate=100Mbit,rtt=30ms,queue=30ms`, or a TOML
    /// file
    #[arg(long, default_value = DEFAULT, value_parser = named())]
    path: String,
    /// Relay UDP instead: clients connect to this address, and traffic in both directions crosses the path. Needs no privilege, runs until
    /// Ctrl-C
    #[arg(long, value_name = "ADDRESS:PORT", requires = "to", conflicts_with_all = ["command", "server"])]
    udp: Option<String>,
    /// Server that UDP is relayed to
    #[arg(long, value_name = "HOST:PORT", requires = "udp")]
    to: Option<String>,
    /// Largest number of clients at a time
    #[arg(long, default_value_t = 1024, requires = "udp", value_parser = |text: &str| size::count(text, 1..=50_000, "clients").map(|n| n as usize), allow_negative_numbers = true)]
    clients: usize,
    /// Shell command to run at the other end of the link; COMMAND starts once it listens
    #[arg(long, value_name = "LINE")]
    server: Option<String>,
    /// Send from COMMAND (with --udp, from the clients): the path's forward direction starts at that end
    #[arg(long)]
    upload: bool,
    /// Seed of every random draw
    #[arg(long, default_value_t = 1, value_parser = |text: &str| size::count(text, 0..=u64::MAX, ""), allow_negative_numbers = true)]
    seed: u64,
    /// Largest IP packet in bytes, unless the path has `mtu`
    #[arg(long, default_value_t = 1500, value_parser = |text: &str| size::count(text, 576..=9000, "bytes").map(|mtu| mtu as u16), allow_negative_numbers = true)]
    mtu: u16,
    /// Do not print the summary of the link
    #[arg(long, short)]
    quiet: bool,
    /// The command and its arguments. $FIRSTFLIGHT_LOCAL holds the address of its own end, $FIRSTFLIGHT_PEER that of the other end; `nsenter --net=$FIRSTFLIGHT_PEER_NS ...` starts a program at the other end
    #[arg(last = true, required_unless_present = "udp", value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Options {
    /// Whether it runs a command, to which signals are passed on.
    pub(crate) fn supervises(&self) -> bool {
        self.udp.is_none()
    }
}

pub(crate) fn run(options: Options) -> Result<Done, Error> {
    let path = Path::parse(&options.path)?;
    if let (Some(listen), Some(to)) = (&options.udp, &options.to)
        && let Some((listen, to)) = pair(&resolve("--udp", listen)?, &resolve("--to", to)?)
    {
        return relay(&path, &options, listen, to);
    }
    let settings = LinkOptions { mtu: options.mtu, seed: options.seed, ..LinkOptions::default() };
    let job = Job { command: options.command, server: options.server, uploads: options.upload };
    let ended = supervise::run(&path, settings, &job, || {
        whisper("stopping the command; press Ctrl-C again to stop now");
    })?;
    if !options.quiet {
        tell(&ended.report.to_string(), &ended.report.doubts());
    }
    Ok(Done::With(ended.code))
}

/// Relays until a signal arrives.
fn relay(
    path: &Path,
    options: &Options,
    listen: SocketAddr,
    to: SocketAddr,
) -> Result<Done, Error> {
    let settings = RelayOptions {
        uploads: options.upload,
        mtu: options.mtu,
        seed: options.seed,
        clients: options.clients,
        ..RelayOptions::new(listen, to)
    };
    let stop = graceful("stopping the relay");
    let relay = Relay::start(path, settings)?;
    whisper(&format!("relaying {} to {to} until Ctrl-C; {path}", relay.address()));
    while !stop.wait(Duration::from_secs(3600)) {}
    let report = relay.stop();
    if !options.quiet {
        tell(&report.to_string(), &report.doubts());
    }
    Ok(Done::Well)
}

fn tell(report: &str, doubts: &[String]) {
    for line in report.lines() {
        whisper(&format!("{QUIET}{line}{QUIET:#}"));
    }
    for doubt in doubts {
        whisper(&format!("{CAUTION}note:{CAUTION:#} {doubt}"));
    }
}

/// The address to listen on and the address to relay to: the first pair of the same address family,
/// because a name may have addresses of both.
fn pair(listen: &[SocketAddr], to: &[SocketAddr]) -> Option<(SocketAddr, SocketAddr)> {
    let of = |to: &SocketAddr| {
        let listen = listen.iter().find(|listen| listen.is_ipv4() == to.is_ipv4())?;
        Some((*listen, *to))
    };
    // Without such a pair, the relay's message names the families.
    to.iter().find_map(of).or_else(|| Some((*listen.first()?, *to.first()?)))
}
