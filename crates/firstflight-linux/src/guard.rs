//! A process that does nothing but outlive us: when we are killed without a chance to clean up, it ends what we had started.
//!
//! It holds the reading end of a pipe. Each process group that is started is written into the pipe, each one that has ended again as a
//! negative number; when the pipe breaks, because we are gone, it kills those that are left.

use crate::sys::{announce_child, fork_guard, kill_group, read_raw};
use nix::fcntl::OFlag;
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, pipe2};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, RawFd};
use std::process::Command;

/// Process groups that can be guarded at a time.
const GROUPS: usize = 64;

/// Handle of the guard.
#[derive(Debug)]
pub(crate) struct Guard {
    pipe: Option<File>,
    pid: Pid,
}

impl Guard {
    pub(crate) fn start() -> io::Result<Guard> {
        let (reading, writing) = pipe2(OFlag::O_CLOEXEC)?;
        let pid = fork_guard(reading.as_fd(), watch)?;
        Ok(Guard { pipe: Some(writing.into()), pid: Pid::from_raw(pid) })
    }

    /// The process group that `command` will lead dies with us. It says so itself before it becomes another program: between its first
    /// instruction and our next one we may be killed.
    pub(crate) fn adopt(&self, command: &mut Command) {
        if let Some(pipe) = &self.pipe {
            announce_child(command, pipe.as_fd());
        }
    }

    /// The group has ended.
    pub(crate) fn release(&mut self, group: u32) {
        if let Some(pipe) = &mut self.pipe {
            let _ = pipe.write_all(&(-group.cast_signed()).to_ne_bytes());
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.pipe = None;
        let _ = waitpid(self.pid, None);
    }
}

/// The guard's life, in a forked process: no allocation, no locks.
fn watch(pipe: RawFd) {
    let mut groups = [0_i32; GROUPS];
    let mut number = [0_u8; 4];
    // A write of four bytes into a pipe is never torn.
    while read_raw(pipe, &mut number) == 4 {
        let told = i32::from_ne_bytes(number);
        let (from, to) = if told > 0 { (0, told) } else { (-told, 0) };
        if let Some(slot) = groups.iter_mut().find(|slot| **slot == from) {
            *slot = to;
        }
    }
    for group in groups.into_iter().filter(|group| *group > 0) {
        kill_group(group);
    }
}
