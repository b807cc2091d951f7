//! Locks for one process at a time, which end with the process however it ends, and their holders.

use crate::sys::{detach, interrupt_process, open_process};
use firstflight_path::Error;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, Flock, FlockArg, fcntl};
use std::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Command;

/// A lock, held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: Flock<File>,
}

impl Lock {
    /// Locks an existing file or folder; `None` if another process holds the lock.
    ///
    /// # Errors
    /// A one-line message with its name.
    pub fn take(path: &Path) -> Result<Option<Lock>, Error> {
        let file = File::open(path).map_err(|error| failed(path, &error))?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(file) => Ok(Some(Lock { _file: file })),
            Err((_, Errno::EWOULDBLOCK)) => Ok(None),
            Err((_, error)) => Err(failed(path, &error)),
        }
    }
}

fn failed(path: &Path, error: &dyn Display) -> Error {
    Error::new(format!("{}: {error}", path.display()))
}

/// A file whose lock identifies the process that holds it. Only its owner can read and lock it.
#[derive(Debug)]
pub struct Held {
    _file: File,
}

impl Held {
    /// Creates the file and locks it for this process; `None` if another process holds the lock.
    /// Any close of the file in this process releases the lock, so it is opened only once.
    ///
    /// # Errors
    /// A one-line message with its name.
    pub fn take(path: &Path) -> Result<Option<Held>, Error> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        options.custom_flags(libc::O_NOFOLLOW);
        let file = options.open(path).map_err(|error| failed(path, &error))?;
        match fcntl(&file, FcntlArg::F_SETLK(&whole(libc::F_WRLCK))) {
            Ok(_) => Ok(Some(Held { _file: file })),
            Err(Errno::EACCES | Errno::EAGAIN) => Ok(None),
            Err(error) => Err(failed(path, &error)),
        }
    }

    /// The process that holds this file, if any. The kernel provides it; the file's content does
    /// not matter.
    ///
    /// # Errors
    /// A one-line message with its name.
    pub fn holder(path: &Path) -> Result<Option<u32>, Error> {
        let opened = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path);
        let file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(path, &error)),
        };
        let mut lock = whole(libc::F_WRLCK);
        fcntl(&file, FcntlArg::F_GETLK(&mut lock)).map_err(|error| failed(path, &error))?;
        let held = lock.l_type != libc::F_UNLCK as libc::c_short;
        // 0 represents a process in another namespace.
        Ok(held.then_some(u32::try_from(lock.l_pid).unwrap_or(0)))
    }
}

/// A lock on the whole file.
fn whole(kind: libc::c_int) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

/// Start time of a process, in ticks since boot. A number is reused after its process has ended;
/// the pair of number and start time is not.
pub fn started(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The program's name may contain spaces and parentheses. The 19 fields before the start time
    // are skipped.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// Asks the process that holds this lock to end, as Ctrl-C does, provided that it has this number
/// and this start time.
///
/// # Errors
/// A one-line message: no process holds the lock, or another one does.
pub fn interrupt_holder(lock: &Path, number: u64, start: u64) -> Result<(), Error> {
    let wrong = |why: &str| Error::new(format!("{}: {why}", lock.display()));
    let number = i32::try_from(number).ok().filter(|number| *number > 0);
    let number = number.ok_or_else(|| wrong("names no process"))?;
    let process =
        open_process(number).map_err(|error| wrong(&format!("process {number}: {error}")))?;
    // In this order: the descriptor keeps referring to the process that is checked now.
    let is_it = Held::holder(lock)? == Some(number.cast_unsigned())
        && started(number.cast_unsigned()) == Some(start);
    if !is_it {
        return Err(wrong(&format!("process {number} does not run this trial")));
    }
    interrupt_process(process.as_fd()).map_err(|error| wrong(&format!("process {number}: {error}")))
}

/// Lets the child of this command outlive its parent: it gets its own session and inherits no open
/// descriptor.
pub fn outlive(command: &mut Command) {
    detach(command);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;
    use std::process::Stdio;

    fn place(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("firstflight-{name}-{}", std::process::id()))
    }

    #[test]
    fn a_lock_is_held_by_one_and_ends_with_its_holder() {
        let file = place("lock");
        fs::write(&file, "").expect("a file");
        let held = Lock::take(&file).expect("a lock");
        assert!(held.is_some() && Lock::take(&file).expect("no failure").is_none());
        drop(held);
        assert!(Lock::take(&file).expect("no failure").is_some());
        fs::remove_file(&file).expect("it is there");
    }

    /// Whatever number and start time a state file contains, a process that does not hold the lock
    /// gets no signal. This process holds a lock itself, as a trial would, and is not interrupted
    /// either.
    #[test]
    fn nobody_but_the_holder_of_the_lock_is_ever_interrupted() {
        let file = place("held");
        assert_eq!(Held::holder(&file).expect("no failure"), None, "there is no file");
        let mut bystander =
            Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().expect("a process");
        let start = started(bystander.id()).expect("it runs");
        let held = Held::take(&file).expect("no failure").expect("nobody has it");
        assert_eq!(fs::metadata(&file).expect("there").mode() & 0o777, 0o600);
        for number in [
            0,
            1,
            u64::from(bystander.id()),
            u64::from(u32::MAX),
            u64::from(u32::MAX) + 1 + u64::from(bystander.id()),
            u64::MAX,
            1 << 31,
        ] {
            for start in [0, start, u64::MAX] {
                assert!(interrupt_holder(&file, number, start).is_err(), "{number}");
            }
        }
        // The holder's number with the start time of another process.
        assert!(interrupt_holder(&file, u64::from(std::process::id()), start + 1_000_000).is_err());
        drop(held);
        assert!(bystander.try_wait().expect("ours").is_none(), "the bystander got no signal");
        bystander.kill().expect("ours");
        bystander.wait().expect("ours");
        fs::remove_file(&file).expect("it is there");
    }

    #[test]
    fn a_child_that_outlives_us_holds_nothing_of_ours() {
        let (read, write) = io::pipe().expect("a pipe");
        // Without the close-on-exec flag, like a shell's `exec 9>lock`.
        fcntl(&write, FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty())).expect("ours");
        let mut command = Command::new("sleep");
        command.arg("60").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        outlive(&mut command);
        let mut child = command.spawn().expect("a process");
        drop(write);
        let mut read = read;
        let ended = io::Read::read(&mut read, &mut [0]).expect("the end of the pipe");
        assert_eq!(ended, 0, "nobody holds the other end");
        child.kill().expect("ours");
        child.wait().expect("ours");
    }
}
