//! Runs a command at one end of a link and, if requested, a server at the other, and ends both
//! however the command ends: by itself, by Ctrl-C, by a signal to us, by a panic. If we are killed
//! outright, a reaper process ends them.

use crate::link::{LinkEmulator, LinkOptions, Report, refuse_window};
use crate::namespace::Namespace;
use crate::reaper::{Reaper, kill_inside};
use firstflight_path::Error;
use firstflight_path::Path;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpgrp, tcgetpgrp, tcsetpgrp};
use std::ffi::OsString;
use std::io::{IsTerminal, stderr, stdin};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Longest time until a server must listen.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest time that a command may take to end after a signal.
const GRACE: Duration = Duration::from_secs(2);

/// A command and where it runs.
#[derive(Clone, Debug)]
pub struct Job {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// A shell command line to run at the other end.
    pub server: Option<String>,
    /// Whether the command sends: the path's forward direction then leads away from it, otherwise
    /// to it.
    pub uploads: bool,
}

/// Outcome.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Exit code of the command; if a signal ended it, 128 plus the number of the signal.
    pub code: u8,
    /// Report of the link.
    pub report: Report,
}

/// Runs a job behind a link. Must be called from the main thread: processes die with the thread
/// that started them. `stopping` is called at the first termination signal.
///
/// # Errors
/// If the link cannot be created or a program cannot be started.
pub fn run(
    path: &Path,
    options: LinkOptions,
    job: &Job,
    stopping: impl FnMut(),
) -> Result<Ended, Error> {
    refuse_window(path)?;
    let [program, arguments @ ..] = job.command.as_slice() else {
        return Err(Error::new("no command to run behind the link"));
    };
    // Before any other thread: the reaper must be forked from a single-threaded process, and every
    // thread must leave signals to this one.
    let mut reaper =
        Reaper::start().map_err(|error| Error::new(format!("a reaper process: {error}")))?;
    let signals = Signals::block()?;
    let link = LinkEmulator::start(path, options)?;
    let namespaces = [link.sender().number()?, link.receiver().number()?];
    for number in namespaces {
        reaper.adopt_namespace(number);
    }
    // Dropped in any case from here on, before the link ends.
    let inside = Inside(namespaces);
    let (here, there) = if job.uploads {
        (link.sender(), link.receiver())
    } else {
        (link.receiver(), link.sender())
    };

    let mut server = None;
    if let Some(line) = &job.server {
        let mut shell = Command::new("/bin/sh");
        let output =
            stderr().as_fd().try_clone_to_owned().map_or_else(|_| Stdio::null(), Stdio::from);
        shell.arg("-c").arg(line).stdin(Stdio::null()).stdout(output);
        let running = Running::start(&mut shell, there, here, &reaper)?;
        wait_until_listening(&running)?;
        server = Some(running);
    }
    let mut command = Command::new(program);
    command.args(arguments);
    let running = Running::start(&mut command, here, there, &reaper)?;
    let terminal = Terminal::lend(running.group);
    let code = signals.wait(&running, &mut reaper, stopping);
    drop(terminal);
    // The users of the link end before the link does, and the link before the reaper.
    for ended in [Some(running), server].into_iter().flatten() {
        let group = ended.group;
        drop(ended);
        reaper.release(group.as_raw().cast_unsigned());
    }
    drop(inside);
    let report = link.stop();
    if reaper.has_died() {
        return Err(Error::new(
            "the reaper process, which ends the command if we are killed, was killed itself; the link and its processes were ended",
        ));
    }
    Ok(Ended { code, report })
}

/// The processes in these network namespaces, whether started by the command or entered from
/// outside. Dropping it kills them.
struct Inside([u64; 2]);

impl Drop for Inside {
    fn drop(&mut self) {
        kill_inside(&self.0);
    }
}

/// A process and all its descendants. Dropping it kills them.
struct Running {
    group: Pid,
}

impl Running {
    fn start(
        command: &mut Command,
        here: &Namespace,
        there: &Namespace,
        reaper: &Reaper,
    ) -> Result<Running, Error> {
        command.env("FIRSTFLIGHT_LOCAL", here.address().to_string());
        command.env("FIRSTFLIGHT_PEER", there.address().to_string());
        command.env("FIRSTFLIGHT_PEER_NS", there.path());
        let name = command.get_program().to_string_lossy().into_owned();
        reaper.adopt(command);
        let child =
            here.enter(command).spawn().map_err(|error| Error::new(format!("{name}: {error}")))?;
        Ok(Running { group: Pid::from_raw(child.id().cast_signed()) })
    }

    /// The exit code, once the leader has ended. A suspended leader is resumed: the link's clock
    /// cannot be stopped.
    fn ended(&self) -> Option<u8> {
        match waitpid(self.group, Some(WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED)) {
            Ok(WaitStatus::Exited(_, code)) => Some(code as u8),
            Ok(WaitStatus::Signaled(_, signal, _)) => {
                Some(128_u8.saturating_add(signal as i32 as u8))
            }
            Ok(WaitStatus::Stopped(..)) => {
                let _ = killpg(self.group, Signal::SIGCONT);
                None
            }
            Ok(_) => None,
            Err(_) => Some(0),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = killpg(self.group, Signal::SIGKILL);
        let _ = waitpid(self.group, None);
    }
}

/// The signals that we wait for instead of being interrupted by them.
struct Signals {
    fd: SignalFd,
    before: SigSet,
}

impl Signals {
    fn block() -> Result<Signals, Error> {
        let refused = |error: nix::Error| Error::new(format!("signals: {error}"));
        let before = SigSet::thread_get_mask().map_err(refused)?;
        let mut set = SigSet::empty();
        let ending = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];
        // SIGTTOU would stop us when we take back the terminal.
        let others = [Signal::SIGCHLD, Signal::SIGTTOU];
        for signal in ending.into_iter().filter(|signal| ends(*signal)).chain(others) {
            set.add(signal);
        }
        set.thread_block().map_err(refused)?;
        let fd = SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
            .map_err(refused)?;
        Ok(Signals { fd, before })
    }

    /// Waits until the command has ended. The first signal is passed on to it and enforced after a
    /// while, the second one is enforced at once. If the reaper dies, the command is killed.
    fn wait(&self, running: &Running, reaper: &mut Reaper, mut stopping: impl FnMut()) -> u8 {
        let mut deadline: Option<Instant> = None;
        loop {
            if let Some(code) = running.ended() {
                return code;
            }
            if reaper.has_died() || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                let _ = killpg(running.group, Signal::SIGKILL);
            }
            let timeout =
                if deadline.is_some() { PollTimeout::from(50_u16) } else { PollTimeout::NONE };
            let _ = poll(&mut [PollFd::new(self.fd.as_fd(), PollFlags::POLLIN)], timeout);
            while let Ok(Some(info)) = self.fd.read_signal() {
                let Ok(signal) = Signal::try_from(info.ssi_signo.cast_signed()) else { continue };
                if !ends(signal) {
                    continue;
                }
                if deadline.is_some() {
                    deadline = Some(Instant::now());
                } else {
                    stopping();
                    let _ = killpg(running.group, signal);
                    deadline = Some(Instant::now() + GRACE);
                }
            }
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        let _ = self.before.thread_set_mask();
    }
}

/// Whether a signal asks a program to end. SIGHUP and SIGQUIT do not if they were ignored when this
/// program started, as `nohup` ignores SIGHUP.
fn ends(signal: Signal) -> bool {
    match signal {
        Signal::SIGINT | Signal::SIGTERM => true,
        Signal::SIGHUP | Signal::SIGQUIT => !is_ignored(signal as i32),
        _ => false,
    }
}

/// Whether this process ignores the signal of this number; the setting is inherited from its
/// parent.
pub fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    ignored.is_some_and(|set| (1..=64).contains(&signal) && set >> (signal - 1) & 1 == 1)
}

/// The terminal, lent to the command so that Ctrl-C and a shell's job control reach it; dropping it
/// takes the terminal back.
struct Terminal(Option<Pid>);

impl Terminal {
    fn lend(group: Pid) -> Terminal {
        let ours = getpgrp();
        let foreground = stdin().is_terminal() && tcgetpgrp(stdin()) == Ok(ours);
        Terminal((foreground && tcsetpgrp(stdin(), group).is_ok()).then_some(ours))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Some(ours) = self.0 {
            let _ = tcsetpgrp(stdin(), ours);
        }
    }
}

/// Waits until a process in the server's namespace listens on TCP or has bound UDP.
fn wait_until_listening(server: &Running) -> Result<(), Error> {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if listens(server.group) {
            return Ok(());
        }
        if let Some(code) = server.ended() {
            return Err(Error::new(format!(
                "the server ended before it listened, with code {code}"
            )));
        }
        thread::sleep(Duration::from_millis(5));
    }
    Err(Error::new(format!("the server does not listen after {} s", PATIENCE.as_secs())))
}

fn listens(process: Pid) -> bool {
    // Columns: number, local address, remote address, state; 0A is LISTEN, 07 an unconnected UDP
    // socket.
    let has = |table: &str, state: &str| {
        let text = fs::read_to_string(format!("/proc/{process}/net/{table}")).unwrap_or_default();
        text.lines().skip(1).any(|line| line.split_whitespace().nth(3) == Some(state))
    };
    has("tcp", "0A") || has("tcp6", "0A") || has("udp", "07") || has("udp6", "07")
}
