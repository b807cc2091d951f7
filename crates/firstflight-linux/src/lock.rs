//! One process at a time: locks on files and folders that end with the process, however it ends.

use firstflight_path::Error;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::File;
use std::path::Path;

/// A lock, held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: Flock<File>,
}

impl Lock {
    /// Locks a file or folder that exists; `None` if another process has.
    ///
    /// # Errors
    /// One line with its name.
    pub fn take(path: &Path) -> Result<Option<Lock>, Error> {
        let failed =
            |error: &dyn std::fmt::Display| Error::new(format!("{}: {error}", path.display()));
        let file = File::open(path).map_err(|error| failed(&error))?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(file) => Ok(Some(Lock { _file: file })),
            Err((_, nix::errno::Errno::EWOULDBLOCK)) => Ok(None),
            Err((_, error)) => Err(failed(&error)),
        }
    }
}

/// Asks a process to end, as Ctrl-C does.
///
/// # Errors
/// One line.
pub fn interrupt(process: u32) -> Result<(), Error> {
    kill(Pid::from_raw(process.cast_signed()), Signal::SIGINT)
        .map_err(|error| Error::new(format!("process {process}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::Lock;

    #[test]
    fn a_lock_is_held_by_one_and_ends_with_its_holder() {
        let file = std::env::temp_dir().join(format!("firstflight-lock-{}", std::process::id()));
        std::fs::write(&file, "").expect("a file");
        let held = Lock::take(&file).expect("a lock");
        assert!(held.is_some() && Lock::take(&file).expect("no failure").is_none());
        drop(held);
        assert!(Lock::take(&file).expect("no failure").is_some());
        std::fs::remove_file(&file).expect("it is there");
    }
}
