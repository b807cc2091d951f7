//! External programs at both ends of a link: a server that sends, and a client whose output is the
//! received data.

use super::transfer::read_all;
use crate::link::LinkEmulator;
use crate::namespace::Namespace;
use firstflight_path::Error;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;
use std::fs;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Longest time until a server must listen.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes requested by a flow without end.
const ENDLESS: u64 = 1_000_000_000_000;
/// The port of the first flow; every flow has its own.
const PORT: u16 = 6001;

/// Shell command lines for both ends. They find port, size and addresses in `$FIRSTFLIGHT_PORT`,
/// `$FIRSTFLIGHT_BYTES`, `$FIRSTFLIGHT_LOCAL` and `$FIRSTFLIGHT_PEER`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Programs<'a> {
    /// Command that listens at the sender's end, on TCP or UDP.
    pub server: &'a str,
    /// Command that sends the request at the receiver's end and writes the response to standard
    /// output.
    pub client: &'a str,
}

/// A pair of programs in a trial: the server runs, and the client starts when its flow does.
pub(super) struct Pair<'a> {
    programs: Programs<'a>,
    link: &'a LinkEmulator,
    _server: Process,
    client: Mutex<Client>,
    port: u16,
    bytes: Option<u64>,
    /// Bytes that the client wrote.
    read: AtomicU64,
}

enum Client {
    NotYet,
    Runs(Process),
    /// The trial or the client has ended.
    Over,
}

/// Result of a client.
#[derive(Debug, Default)]
pub(super) struct Fetched {
    /// Time of the last byte; `None` if it did not arrive.
    pub(super) after: Option<Duration>,
    /// Why the client failed on its own, if it did.
    pub(super) failure: Option<String>,
}

impl<'a> Pair<'a> {
    /// Starts the server and waits until it listens.
    pub(super) fn start(
        programs: Programs<'a>,
        link: &'a LinkEmulator,
        number: usize,
        bytes: Option<u64>,
    ) -> Result<Pair<'a>, Error> {
        let port = PORT + number as u16;
        let ends = (link.sender(), link.receiver());
        let (server, _) = Process::start(programs.server, ends, (port, bytes), false)?;
        let deadline = Instant::now() + PATIENCE;
        while !server.listens(port) {
            if let Some(code) = server.ended() {
                return Err(Error::new(format!(
                    "`{}`: ended before it listened on port {port}, {code}",
                    programs.server
                )));
            }
            if Instant::now() >= deadline {
                let seconds = PATIENCE.as_secs();
                return Err(Error::new(format!(
                    "`{}`: does not listen on port {port} (FIRSTFLIGHT_PORT) after {seconds} s",
                    programs.server
                )));
            }
            thread::sleep(Duration::from_millis(5));
        }
        let (client, read) = (Mutex::new(Client::NotYet), AtomicU64::new(0));
        Ok(Pair { programs, link, _server: server, client, port, bytes, read })
    }

    /// Bytes that have arrived.
    pub(super) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    fn client(&self) -> MutexGuard<'_, Client> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the client on the calling thread, from `start` until the last byte has arrived.
    pub(super) fn fetch(&self, start: Instant) -> Fetched {
        // The flow may be told to end before its start.
        while let Some(left) = start.checked_duration_since(Instant::now()) {
            if matches!(*self.client(), Client::Over) {
                return Fetched::default();
            }
            thread::sleep(left.min(Duration::from_millis(20)));
        }
        let failed = |failure: String| Fetched { after: None, failure: Some(failure) };
        let out = {
            let mut client = self.client();
            if matches!(*client, Client::Over) {
                return Fetched::default();
            }
            let ends = (self.link.receiver(), self.link.sender());
            match Process::start(self.programs.client, ends, (self.port, self.bytes), true) {
                Ok((process, Some(out))) => {
                    *client = Client::Runs(process);
                    out
                }
                Ok((_, None)) => return failed("the client has no standard output".to_owned()),
                Err(error) => return failed(error.as_str().to_owned()),
            }
        };
        let after = read_all(out, self.bytes, (&self.read, None), start);
        let told_to_end = matches!(*self.client(), Client::Over);
        let client = std::mem::replace(&mut *self.client(), Client::Over);
        let short = after.is_none() && self.bytes.is_some();
        let failure = match client {
            Client::Runs(process) if short && !told_to_end => {
                let got = self.read.load(Ordering::Relaxed);
                let wanted = self.bytes.unwrap_or(ENDLESS);
                let code = process.wait();
                let client = self.programs.client;
                Some(format!("`{client}`: wrote {got} of {wanted} bytes and ended, {code}"))
            }
            _ => None,
        };
        Fetched { after, failure }
    }

    /// Ends the client, whether it runs or has not started yet.
    pub(super) fn end(&self) {
        *self.client() = Client::Over;
    }
}

/// A process and all its descendants. Dropping it kills them.
struct Process {
    group: Pid,
}

impl Process {
    fn start(
        line: &str,
        (here, there): (&Namespace, &Namespace),
        (port, bytes): (u16, Option<u64>),
        heard: bool,
    ) -> Result<(Process, Option<ChildStdout>), Error> {
        // The first process of a process namespace takes all others with it however it ends, even
        // if we end, and even those that became daemons.
        let mut shell = Command::new("unshare");
        shell.args(["--pid", "--fork", "--kill-child", "/bin/sh", "-c", line]);
        shell.stdin(Stdio::null());
        shell.stdout(if heard { Stdio::piped() } else { Stdio::null() });
        shell.env("FIRSTFLIGHT_LOCAL", here.address().to_string());
        shell.env("FIRSTFLIGHT_PEER", there.address().to_string());
        shell.env("FIRSTFLIGHT_PORT", port.to_string());
        shell.env("FIRSTFLIGHT_BYTES", bytes.unwrap_or(ENDLESS).to_string());
        let spawned = here.enter(&mut shell).spawn();
        let mut child = spawned.map_err(|error| Error::new(format!("`{line}`: {error}")))?;
        let out = child.stdout.take();
        Ok((Process { group: Pid::from_raw(child.id().cast_signed()) }, out))
    }

    /// The exit status as a shell would report it; `None` while it runs.
    fn ended(&self) -> Option<String> {
        // An ended process remains a zombie, so that its number is not reused.
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        let status = waitid(Id::Pid(self.group), flags);
        match status {
            Ok(WaitStatus::Exited(_, code)) => Some(format!("with code {code}")),
            Ok(WaitStatus::Signaled(_, signal, _)) => Some(format!("by {signal}")),
            Ok(_) => None,
            Err(error) => Some(error.to_string()),
        }
    }

    /// Waits for the end of a process that has closed its output; returns [`Process::ended`].
    fn wait(&self) -> String {
        let deadline = Instant::now() + Duration::from_secs(1);
        while Instant::now() < deadline {
            if let Some(code) = self.ended() {
                return code;
            }
            thread::sleep(Duration::from_millis(5));
        }
        "and still runs".to_owned()
    }

    /// Whether a process in the namespace listens on this TCP port or has bound this UDP port.
    fn listens(&self, port: u16) -> bool {
        // Columns: number, local address, remote address, state; 0A is LISTEN, 07 an unconnected
        // UDP socket.
        let has = |table: &str, state: &str| {
            let file = format!("/proc/{}/net/{table}", self.group);
            let text = fs::read_to_string(file).unwrap_or_default();
            let ending = format!(":{port:04X}");
            text.lines().skip(1).any(|line| {
                let mut words = line.split_whitespace().skip(1);
                let here = words.next().is_some_and(|local| local.ends_with(&ending));
                here && words.nth(1) == Some(state)
            })
        };
        has("tcp", "0A") || has("tcp6", "0A") || has("udp", "07") || has("udp6", "07")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = killpg(self.group, Signal::SIGKILL);
        let _ = waitpid(self.group, None);
    }
}
