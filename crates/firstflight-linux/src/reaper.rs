//! A process whose only task is to outlive us: when we are killed without a chance to clean up, it
//! ends the processes that we started.
//!
//! It holds the reading end of a pipe. We write into the pipe each process group that we start, the
//! negative number of each group that has ended, and our network namespaces. When the pipe breaks
//! because we are gone, the reaper kills the remaining groups and then everything in the
//! namespaces: a process that called `setsid` has another group but is still in its namespace. We
//! watch the reaper in turn: if it is killed, we end the link.

use crate::sys::{announce_child, fork_reaper, kill_group, read_raw};
use nix::fcntl::OFlag;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, pipe2};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// Maximum number of process groups at a time.
const GROUPS: usize = 64;
/// Maximum number of namespaces: both ends of a link.
const NAMESPACES: usize = 2;
/// Distinguishes a namespace's number from that of a process.
const NAMESPACE: i64 = 1 << 62;
/// Maximum number of passes that kill everything in a namespace, a millisecond apart: a process
/// forked in the meantime is found by the next pass.
const PASSES: usize = 2_000;

/// Handle of the reaper.
#[derive(Debug)]
pub(crate) struct Reaper {
    pipe: Option<File>,
    pid: Pid,
    died: bool,
}

impl Reaper {
    pub(crate) fn start() -> io::Result<Reaper> {
        let (reading, writing) = pipe2(OFlag::O_CLOEXEC)?;
        let pid = fork_reaper(reading.as_fd(), watch)?;
        Ok(Reaper { pipe: Some(writing.into()), pid: Pid::from_raw(pid), died: false })
    }

    /// Makes the process group that `command` will lead die with us. The child announces itself
    /// before it executes the other program: we may be killed between its first instruction and our
    /// next.
    pub(crate) fn adopt(&self, command: &mut Command) {
        if let Some(pipe) = &self.pipe {
            announce_child(command, pipe.as_fd());
        }
    }

    /// Makes everything in the network namespace of this number die with us.
    pub(crate) fn adopt_namespace(&mut self, number: u64) {
        self.tell(NAMESPACE | number.cast_signed());
    }

    /// The group has ended.
    pub(crate) fn release(&mut self, group: u32) {
        self.tell(-i64::from(group));
    }

    fn tell(&mut self, message: i64) {
        if let Some(pipe) = &mut self.pipe {
            let _ = pipe.write_all(&message.to_ne_bytes());
        }
    }

    /// Whether the reaper was killed.
    pub(crate) fn has_died(&mut self) -> bool {
        if !self.died {
            self.died = !matches!(
                waitpid(self.pid, Some(WaitPidFlag::WNOHANG)),
                Ok(WaitStatus::StillAlive)
            );
        }
        self.died
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        self.pipe = None;
        if !self.died {
            let _ = waitpid(self.pid, None);
        }
    }
}

/// Body of the reaper, in a process forked from a single-threaded one: no lock is held that it
/// could wait for.
fn watch(pipe: RawFd) {
    let mut groups = [0_i32; GROUPS];
    let mut namespaces = [0_u64; NAMESPACES];
    let mut message = [0_u8; 8];
    // A write of eight bytes into a pipe is atomic.
    while read_raw(pipe, &mut message) == 8 {
        let told = i64::from_ne_bytes(message);
        if told >= NAMESPACE {
            if let Some(slot) = namespaces.iter_mut().find(|slot| **slot == 0) {
                *slot = (told & !NAMESPACE).cast_unsigned();
            }
            continue;
        }
        let told = told as i32;
        let (from, to) = if told > 0 { (0, told) } else { (-told, 0) };
        if let Some(slot) = groups.iter_mut().find(|slot| **slot == from) {
            *slot = to;
        }
    }
    for group in groups.into_iter().filter(|group| *group > 0) {
        kill_group(group);
    }
    kill_inside(&namespaces);
}

/// Kills every process in these network namespaces, in any group or session, until none is left.
pub(crate) fn kill_inside(namespaces: &[u64]) {
    for _ in 0..PASSES {
        let Ok(processes) = fs::read_dir("/proc") else { return };
        let mut left = false;
        for process in processes.flatten() {
            let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<i32>().ok())
            else {
                continue;
            };
            // A process that has ended is in no namespace.
            if fs::metadata(process.path().join("ns/net"))
                .is_ok_and(|of| namespaces.contains(&of.ino()))
            {
                left = true;
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
        if !left {
            return;
        }
        sleep(Duration::from_millis(1));
    }
}
