//! System calls without a safe wrapper: TUN and interface ioctls, real-time scheduling, fork, and
//! the steps of a child before exec.

use std::ffi::c_int;
use std::fs::{File, OpenOptions};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

/// `ifreq` with the union flattened to the largest member that we use.
#[repr(C)]
struct Ifreq {
    name: [u8; libc::IFNAMSIZ],
    value: [u8; 24],
}

impl Ifreq {
    fn new(name: &str) -> Ifreq {
        let mut request = Ifreq { name: [0; libc::IFNAMSIZ], value: [0; 24] };
        // One byte stays zero: the kernel needs a terminated name.
        for (to, from) in request.name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
            *to = from;
        }
        request
    }

    fn with(mut self, bytes: &[u8]) -> Ifreq {
        self.value[..bytes.len()].copy_from_slice(bytes);
        self
    }

    fn with_address(self, address: Ipv4Addr) -> Ifreq {
        let mut sockaddr = [0; 8];
        sockaddr[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
        sockaddr[4..].copy_from_slice(&address.octets());
        self.with(&sockaddr)
    }

    fn ask(&mut self, fd: RawFd, request: libc::Ioctl) -> io::Result<()> {
        // SAFETY: every request used here reads or writes one `ifreq`, whose size and layout this
        // struct has.
        check(unsafe { libc::ioctl(fd, request, std::ptr::from_mut(self)) }).map(|_| ())
    }
}

fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Creates a TUN device called `name` in the namespace of the calling thread: non-blocking, whole
/// IP packets with nothing before them.
pub(crate) fn open_tun(name: &str) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")?;
    let flags = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
    Ifreq::new(name)
        .with(&flags.to_ne_bytes())
        .ask(file.as_raw_fd(), libc::TUNSETIFF as libc::Ioctl)?;
    Ok(file)
}

/// Settings of an interface in the namespace of the calling thread.
pub(crate) struct Interfaces(OwnedFd);

impl Interfaces {
    pub(crate) fn open() -> io::Result<Interfaces> {
        // SAFETY: a plain socket call; the descriptor it returns belongs to nobody else.
        let fd = check(unsafe {
            libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0)
        })?;
        // SAFETY: as above.
        Ok(Interfaces(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    fn ask(&self, mut request: Ifreq, what: libc::c_ulong) -> io::Result<()> {
        request.ask(self.0.as_raw_fd(), what as libc::Ioctl)
    }

    /// Sets the address, a netmask of `prefix` bits, the MTU and the length of the transmit ring.
    pub(crate) fn configure(
        &self,
        name: &str,
        address: Ipv4Addr,
        prefix: u32,
        mtu: u32,
        ring: u32,
    ) -> io::Result<()> {
        let mask = Ipv4Addr::from_bits(u32::MAX << (32 - prefix.clamp(1, 32)));
        self.ask(Ifreq::new(name).with_address(address), libc::SIOCSIFADDR)?;
        self.ask(Ifreq::new(name).with_address(mask), libc::SIOCSIFNETMASK)?;
        self.ask(Ifreq::new(name).with(&mtu.to_ne_bytes()), libc::SIOCSIFMTU)?;
        match self.ask(Ifreq::new(name).with(&ring.to_ne_bytes()), libc::SIOCSIFTXQLEN) {
            // The only setting that root of a user namespace may not make. With the default of 500
            // slots the device may lose packets when the emulator is late; its counter would show
            // that.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            result => result,
        }
    }

    /// Brings the interface up.
    pub(crate) fn up(&self, name: &str) -> io::Result<()> {
        let flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
        self.ask(Ifreq::new(name).with(&flags.to_ne_bytes()), libc::SIOCSIFFLAGS)
    }
}

/// Gives the calling thread real-time priority: it runs before every ordinary thread.
pub(crate) fn run_first(priority: c_int) -> io::Result<()> {
    // The system call itself: musl's function of that name always fails, and its struct has fields
    // other than the kernel's, which is a single number.
    // SAFETY: the pointer is to a live, initialised number; 0 is the calling thread.
    let done = unsafe {
        libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_FIFO, &raw const priority)
    };
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Makes the child of `command` enter the network namespace behind `namespace` and lead its own
/// process group, with no signal blocked; it is killed if the thread that started it dies.
pub(crate) fn prepare_child(command: &mut Command, namespace: &File) {
    let fd = namespace.as_raw_fd();
    let prepare = move || {
        // SAFETY: only async-signal-safe system calls between fork and exec; the descriptor is open
        // in the child, close-on-exec.
        unsafe {
            check(libc::setns(fd, libc::CLONE_NEWNET))?;
            check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            check(libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut()))?;
        }
        Ok(())
    };
    // SAFETY: see above; nothing allocates or locks.
    unsafe { command.process_group(0).pre_exec(prepare) };
}

/// Makes the child of `command` write its process id into `pipe` before it executes the program.
pub(crate) fn announce_child(command: &mut Command, pipe: BorrowedFd<'_>) {
    let fd = pipe.as_raw_fd();
    let announce = move || {
        // SAFETY: two async-signal-safe system calls between fork and exec; the descriptor is open
        // in the child, close-on-exec.
        unsafe {
            let number = i64::from(libc::getpid()).to_ne_bytes();
            check(libc::write(fd, number.as_ptr().cast(), number.len()) as c_int)?;
        }
        Ok(())
    };
    // SAFETY: see above; nothing allocates or locks.
    unsafe { command.pre_exec(announce) };
}

/// Forks; this process must have a single thread. In the child, all descriptors except `keep` are
/// closed and `life` runs; the child never returns.
pub(crate) fn fork_reaper(keep: BorrowedFd<'_>, life: fn(RawFd)) -> io::Result<libc::pid_t> {
    // SAFETY: a copy of a process with one thread: nobody else held a lock that the child could
    // wait for.
    let pid = check(unsafe { libc::fork() })?;
    if pid != 0 {
        return Ok(pid);
    }
    // SAFETY: as above; the process ends here.
    unsafe {
        libc::setsid();
        libc::dup2(keep.as_raw_fd(), 0);
        libc::syscall(libc::SYS_close_range, 1, libc::c_uint::MAX, 0);
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
            libc::signal(signal, libc::SIG_IGN);
        }
        life(0);
        libc::_exit(0)
    }
}

/// Makes the child of `command` start its own session with only the three standard descriptors, so
/// that it does not hold its parent's open files, such as a lock or a pipe.
pub(crate) fn detach(command: &mut Command) {
    let prepare = || {
        // SAFETY: two async-signal-safe system calls between fork and exec. Descriptors are closed by
        // exec, not now: through one of them it reports its own failure.
        unsafe {
            check(libc::setsid())?;
            let flags = libc::CLOSE_RANGE_CLOEXEC as c_int;
            if libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, flags) == -1 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: see above; nothing allocates or locks.
    unsafe { command.pre_exec(prepare) };
}

/// A descriptor of a process: unlike a process number, it never refers to another process later.
pub(crate) fn open_process(number: libc::pid_t) -> io::Result<OwnedFd> {
    // SAFETY: a plain system call; the descriptor it returns belongs to nobody else.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, number, 0) };
    check(fd as c_int)?;
    // SAFETY: as above.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Sends SIGINT to the process behind a descriptor.
pub(crate) fn interrupt_process(process: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: a plain system call; without further information there is no pointer to follow.
    let sent = unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            process.as_raw_fd(),
            libc::SIGINT,
            std::ptr::null::<libc::siginfo_t>(),
            0,
        )
    };
    check(sent as c_int).map(|_| ())
}

/// Reads into `buffer` without allocation, for the reaper.
pub(crate) fn read_raw(fd: RawFd, buffer: &mut [u8]) -> isize {
    // SAFETY: the pointer and the length are those of one live slice.
    unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) }
}

/// Kills a whole process group, for the reaper.
pub(crate) fn kill_group(group: libc::pid_t) {
    // SAFETY: a plain system call.
    unsafe { libc::kill(-group, libc::SIGKILL) };
}

/// Sets an option of a socket from a value with the layout of the kernel's.
fn set_option<T: Copy>(
    socket: BorrowedFd<'_>,
    (level, name): (c_int, c_int),
    value: T,
) -> io::Result<()> {
    // SAFETY: the pointer and the length are those of one live value, which the kernel only reads.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(&value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    })
    .map(|_| ())
}

/// Sets the largest pacing rate of a socket, bytes per second. TCP paces such a socket itself.
pub(crate) fn max_pacing_rate(socket: BorrowedFd<'_>, rate: u64) -> io::Result<()> {
    set_option(socket, (libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE), rate)
}

/// Sets the longest retransmission timeout of a socket. The kernel counts in milliseconds.
pub(crate) fn rto_max(socket: BorrowedFd<'_>, most: Duration) -> io::Result<()> {
    /// Of `linux/tcp.h` since 6.15; the crate libc does not have it yet.
    const TCP_RTO_MAX_MS: c_int = 44;
    let ms = c_int::try_from(most.as_millis()).unwrap_or(c_int::MAX);
    set_option(socket, (libc::IPPROTO_TCP, TCP_RTO_MAX_MS), ms)
}

/// Sets the receive buffer of a socket beyond the limit of `net.core.rmem_max`; the kernel doubles
/// it and stops tuning it. Takes the right to administer the network.
pub(crate) fn set_receive_buffer(socket: BorrowedFd<'_>, bytes: c_int) -> io::Result<()> {
    set_option(socket, (libc::SOL_SOCKET, libc::SO_RCVBUFFORCE), bytes)
}

/// Bounds the window that a socket and those it accepts advertise, bytes.
pub(crate) fn window_clamp(socket: BorrowedFd<'_>, bytes: c_int) -> io::Result<()> {
    set_option(socket, (libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP), bytes)
}

/// Reads the kernel's `tcp_info` of a TCP connection as bytes; fields unknown to this kernel are
/// missing at the end.
pub(crate) fn tcp_info(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    let mut len = buffer.len() as libc::socklen_t;
    // SAFETY: the pointer and the length are those of one live slice, and the kernel writes no more
    // than the length says.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            buffer.as_mut_ptr().cast(),
            &raw mut len,
        )
    })?;
    Ok(len as usize)
}
