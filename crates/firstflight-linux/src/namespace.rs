//! Network namespaces without names: they live as long as a process holds their descriptor or runs
//! inside.

use crate::counters::TcpCounters;
use crate::refusal::refused;
use crate::sys::prepare_child;
use firstflight_path::Error;
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;
use std::{fs, thread};

/// Settings of every namespace before anything runs in it. A failure is not fatal, because a kernel
/// may lack some of them.
const SYSCTLS: [(&str, &str); 6] = [
    // No router solicitations through the link.
    ("net/ipv6/conf/all/disable_ipv6", "1"),
    ("net/ipv6/conf/default/disable_ipv6", "1"),
    // Threshold and RTT of one connection must not affect the next.
    ("net/ipv4/tcp_no_metrics_save", "1"),
    // The usual maxima of 4 to 6 MB are too small for a satellite path.
    ("net/ipv4/tcp_rmem", "4096 131072 67108864"),
    ("net/ipv4/tcp_wmem", "4096 131072 67108864"),
    // The machine's default may be anything.
    ("net/ipv4/tcp_congestion_control", "cubic"),
];

/// One end of a link.
#[derive(Debug)]
pub struct Namespace {
    file: File,
    address: Ipv4Addr,
}

impl Namespace {
    /// Creates a namespace and runs `inside` in it, on a separate thread: the caller never leaves
    /// its own namespace.
    pub(crate) fn create<T: Send>(
        address: Ipv4Addr,
        inside: impl FnOnce() -> Result<T, Error> + Send,
    ) -> Result<(Namespace, T), Error> {
        on_thread(move || {
            unshare(CloneFlags::CLONE_NEWNET).map_err(|error| {
                let need = "CAP_SYS_ADMIN; run as root or under `unshare --map-root-user`";
                refused("network namespaces", need, &error.into())
            })?;
            let open = File::open("/proc/thread-self/ns/net");
            let file = open
                .map_err(|error| refused("/proc/thread-self/ns/net", "a mounted /proc", &error))?;
            for (name, value) in SYSCTLS {
                let _ = fs::write(format!("/proc/sys/{name}"), value);
            }
            Ok((Namespace { file, address }, inside()?))
        })
    }

    /// The address of this end.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Its number in `/proc/PID/ns/net`.
    ///
    /// # Errors
    /// If the kernel does not provide it.
    pub(crate) fn number(&self) -> Result<u64, Error> {
        let told = self.file.metadata();
        told.map(|of| of.ino())
            .map_err(|error| Error::new(format!("the number of a network namespace: {error}")))
    }

    /// A path through which other processes can enter while this process lives: `nsenter --net=PATH
    /// ...`.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()))
    }

    /// Makes `command` start in this namespace, in its own process group; it dies with the thread
    /// that starts it.
    pub fn enter<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        prepare_child(command, &self.file);
        command
    }

    /// Runs `work` on a thread inside the namespace. Sockets created there stay in the namespace
    /// wherever they are used.
    ///
    /// # Errors
    /// If the namespace cannot be entered.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
        on_thread(move || {
            let entered = setns(&self.file, CloneFlags::CLONE_NEWNET);
            entered
                .map_err(|error| refused("network namespaces", "CAP_SYS_ADMIN", &error.into()))?;
            Ok(work())
        })
    }

    /// TCP counters of this namespace.
    ///
    /// # Errors
    /// If the namespace cannot be entered, or its counters cannot be read.
    pub fn tcp_counters(&self) -> Result<TcpCounters, Error> {
        let read = self.run(|| fs::read_to_string("/proc/thread-self/net/netstat"))?;
        let text = read.map_err(|error| Error::new(format!("TCP's counters: {error}")))?;
        Ok(TcpCounters::parse(&text))
    }

    /// Sets a sysctl of this namespace, such as `net/ipv4/tcp_ecn`.
    ///
    /// # Errors
    /// If the kernel has no such setting, or does not accept the value.
    pub fn set_sysctl(&self, name: &str, value: &str) -> Result<(), Error> {
        self.run(|| fs::write(format!("/proc/sys/{name}"), value))?
            .map_err(|error| refused(&format!("sysctl {name}={value}"), "CAP_NET_ADMIN", &error))
    }
}

fn on_thread<T: Send>(work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    thread::scope(|scope| {
        match thread::Builder::new().name("namespace".into()).spawn_scoped(scope, work) {
            Ok(handle) => handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(error) => Err(Error::new(format!("a thread: {error}"))),
        }
    })
}
