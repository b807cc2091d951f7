//! Output files that appear as a whole: written in the same folder under an unguessable name, then
//! renamed. A replaced file keeps its mode; a new one gets the mode that the umask allows.
//!
//! A file is locked while it is written. An unlocked file of this kind was left by a program that
//! was killed, and the next program that writes into the folder removes it.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tempfile::{Builder, NamedTempFile};

const PREFIX: &str = ".firstflight-";
const SUFFIX: &str = ".part";

/// Files that this program is writing now.
static UNDER_WAY: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn under_way<T>(with: impl FnOnce(&mut BTreeSet<PathBuf>) -> T) -> T {
    with(&mut UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Removes the files that this program is writing now; for use right before it ends without
/// unwinding.
pub fn discard_all() {
    for file in under_way(std::mem::take) {
        let _ = fs::remove_file(file);
    }
}

/// Permissions of a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// Every user that the umask allows.
    Anybody,
    /// Only the owner, even if the previous file had another mode.
    Owner,
}

/// A file that is written in pieces and appears when it is complete.
#[derive(Debug)]
pub struct Whole {
    file: PathBuf,
    beside: PathBuf,
    out: BufWriter<NamedTempFile>,
}

impl Whole {
    /// Opens it under another name in the same folder.
    ///
    /// # Errors
    /// Errors of the file system, and for a device or a pipe, which must not be replaced.
    pub fn open(file: &Path, who: For) -> io::Result<Whole> {
        if is_device(file) {
            return Err(io::Error::other("not an ordinary file"));
        }
        let folder = folder_of(file);
        let made = make(folder, who)?;
        sweep(folder, &made);
        if who == For::Anybody {
            keep_mode(file, made.as_file());
        }
        let beside = made.path().to_owned();
        under_way(|all| all.insert(beside.clone()));
        Ok(Whole { file: file.to_owned(), beside, out: BufWriter::new(made) })
    }

    /// Its name until it is complete, for code that writes into it by name.
    pub fn beside(&self) -> &Path {
        &self.beside
    }

    /// Renames it to its final name.
    ///
    /// # Errors
    /// Errors of the file system; nothing of it is then left.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()?;
        self.out.get_ref().as_file().sync_all()?;
        fs::rename(&self.beside, &self.file)
    }
}

impl Write for Whole {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        // After the rename, the temporary name no longer exists.
        under_way(|all| all.remove(&self.beside));
        let _ = fs::remove_file(&self.beside);
    }
}

/// Writes a file as a whole; a device or a pipe is written into directly.
///
/// # Errors
/// Errors of the file system and of `write`.
pub fn write_whole(
    file: &Path,
    who: For,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    if is_device(file) {
        let mut device = OpenOptions::new().write(true).open(file)?;
        return write(&mut device);
    }
    let mut whole = Whole::open(file, who)?;
    write(&mut whole)?;
    whole.finish()
}

/// Checks that files can be created in this folder, which permissions alone do not show: a file
/// system may be read-only. Removes the files that killed programs left in it.
///
/// # Errors
/// Errors of the file system.
pub fn check_folder(folder: &Path) -> io::Result<()> {
    let made = make(folder, For::Owner)?;
    sweep(folder, &made);
    made.close()
}

/// Whether the file is a device or a pipe. Nothing may replace those: root's `--json /dev/null`
/// would leave the machine without one.
pub fn is_device(file: &Path) -> bool {
    file.metadata().is_ok_and(|meta| !meta.is_file() && !meta.is_dir())
}

/// The folder that contains a file.
pub fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A new, locked file.
fn make(folder: &Path, who: For) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX).rand_bytes(10);
    mode(&mut builder, who);
    loop {
        let made = builder.tempfile_in(folder).map_err(plain)?;
        lock(made.as_file());
        // Another program may have swept the folder in between.
        if made.path().symlink_metadata().is_ok() {
            return Ok(made);
        }
    }
}

/// The system's error alone, because the temporary file name means nothing to the user.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn plain(error: io::Error) -> io::Error {
    let inner = error.get_ref().and_then(|inner| inner.source());
    let code = inner.and_then(|inner| inner.downcast_ref::<io::Error>()?.raw_os_error());
    code.map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

#[cfg(unix)]
fn mode(builder: &mut Builder<'_, '_>, who: For) {
    use std::os::unix::fs::PermissionsExt;
    // The umask removes its bits.
    let mode = if who == For::Owner { 0o600 } else { 0o666 };
    builder.permissions(fs::Permissions::from_mode(mode));
}

#[cfg(not(unix))]
fn mode(_: &mut Builder<'_, '_>, _: For) {}

/// Gives the new file the mode and owner of the file that it will replace, as far as that is
/// allowed.
#[cfg(unix)]
fn keep_mode(file: &Path, new: &File) {
    use std::os::unix::fs::{MetadataExt, fchown};
    let Ok(old) = file.symlink_metadata() else { return };
    if old.is_file() {
        let same = new.metadata().is_ok_and(|new| (new.uid(), new.gid()) == (old.uid(), old.gid()));
        let _ = if same { Ok(()) } else { fchown(new, Some(old.uid()), Some(old.gid())) };
        // Changing the owner clears mode bits.
        let _ = new.set_permissions(old.permissions());
    }
}

#[cfg(not(unix))]
fn keep_mode(_: &Path, _: &File) {}

/// On a file system without locks, files stay unlocked and nothing is swept.
#[cfg(unix)]
fn lock(file: &File) {
    use rustix::fs::{FlockOperation, flock};
    let _ = flock(file, FlockOperation::LockExclusive);
}

#[cfg(not(unix))]
fn lock(_: &File) {}

/// Removes the files that killed programs of the same user left in a folder. `ours` is our own new
/// file there.
#[cfg(unix)]
fn sweep(folder: &Path, ours: &NamedTempFile) {
    use rustix::fs::{FlockOperation, OFlags, flock};
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    let Ok(owner) = ours.as_file().metadata().map(|ours| ours.uid()) else { return };
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !name.starts_with(PREFIX) || !name.ends_with(SUFFIX) || entry.path() == ours.path() {
            continue;
        }
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
        let opened =
            OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(entry.path());
        let Ok(file) = opened else { continue };
        let dead = file.metadata().is_ok_and(|meta| meta.is_file() && meta.uid() == owner)
            && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
        if dead {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(not(unix))]
fn sweep(_: &Path, _: &NamedTempFile) {}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    fn inside(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder").flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn mode_of(file: &Path) -> u32 {
        fs::symlink_metadata(file).expect("a file").mode() & 0o7777
    }

    fn write(file: &Path, text: &str, who: For) -> io::Result<()> {
        write_whole(file, who, |out| out.write_all(text.as_bytes()))
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_keeps_its_mode() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("out");
        write(&file, "new", For::Anybody).expect("written");
        let probe = folder.path().join("probe");
        fs::write(&probe, "").expect("written");
        assert_eq!(mode_of(&file), mode_of(&probe), "a new file has what the umask leaves");
        for mode in [0o600, 0o640, 0o604, 0o666] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("ours");
            write(&file, "other", For::Anybody).expect("written");
            assert_eq!(mode_of(&file), mode, "{mode:o}");
        }
        write(&file, "secret", For::Owner).expect("written");
        assert_eq!(mode_of(&file), 0o600, "for its owner alone");
        let failed = write_whole(&file, For::Anybody, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("no"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_to_string(&file).expect("there"), "secret");
        assert_eq!(inside(folder.path()), ["out", "probe"], "no temporary file is left");
    }

    #[test]
    fn a_link_is_replaced_and_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "theirs").expect("written");
        fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).expect("ours");
        symlink(&target, &link).expect("a link");
        write(&link, "ours", For::Anybody).expect("written");
        assert_eq!(fs::read_to_string(&target).expect("there"), "theirs");
        assert!(fs::symlink_metadata(&link).expect("there").is_file());
    }

    #[test]
    fn the_next_program_removes_what_a_killed_one_left_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let of = |name: &str| folder.path().join(name);
        let writing = Whole::open(&of("slow"), For::Anybody).expect("opened");
        fs::write(of(".firstflight-abcdefghij.part"), "of a killed program").expect("written");
        fs::write(of(".firstflight-notes"), "of the user").expect("written");
        symlink(of(".firstflight-notes"), of(".firstflight-link.part")).expect("a link");
        check_folder(folder.path()).expect("writable");
        assert_eq!(inside(folder.path()).len(), 3, "{:?}", inside(folder.path()));
        writing.finish().expect("written");
        assert_eq!(inside(folder.path()), [".firstflight-link.part", ".firstflight-notes", "slow"]);
    }

    #[test]
    fn names_may_be_as_long_as_the_file_system_takes() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("x".repeat(255));
        write(&file, "text", For::Anybody).expect("written");
        assert!(file.is_file());
    }
}
