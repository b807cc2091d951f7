//! Output files: checked before anything runs, written whole or not at all.

use crate::done::failed;
use firstflight_lab::Error;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The folder that `file` will be written into exists and `file` is not a folder.
///
/// # Errors
/// One line.
pub(crate) fn check_file(file: &Path) -> Result<(), Error> {
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if file.is_dir() {
        return Err(Error::new(format!("{}: is a folder, not a file", file.display())));
    }
    if !is_device(file) {
        return check_folder(folder);
    }
    // To open a pipe is to wait for who reads it, and when that goes away again it has seen the
    // end.
    if is_pipe(file) {
        return Ok(());
    }
    fs::File::options().write(true).open(file).map(drop).map_err(|error| failed(file, &error))
}

/// Results go to standard output, as `--json -` says.
pub(crate) fn to_stdout(json: Option<&PathBuf>) -> bool {
    json.is_some_and(|file| file.as_os_str() == "-")
}

/// Every file that a command will write has a place to go, and one of its own: those of `--json`
/// and `--report`, and others with the names of their options. Nothing is run, and nothing is
/// written, before all of them are known to be writable.
///
/// # Errors
/// One line.
pub(crate) fn check_outputs(
    json: Option<&PathBuf>,
    report: Option<&PathBuf>,
    others: &[(&str, Option<&Path>)],
) -> Result<(), Error> {
    if report.is_some_and(|report| report.as_os_str() == "-") {
        return Err(Error::new(
            "--report -: a report goes to a file; `--json -` goes to standard output",
        ));
    }
    let json = json.filter(|_| !to_stdout(json)).map(PathBuf::as_path);
    let mut known: Vec<(&str, &Path)> = Vec::new();
    for &(option, file) in
        [("--json", json), ("--report", report.map(PathBuf::as_path))].iter().chain(others)
    {
        let Some(file) = file else { continue };
        check_file(file)?;
        if let Some((other, _)) = known.iter().find(|(_, other)| *other == file && !is_device(file))
        {
            return Err(Error::new(format!(
                "{option} {}: {other} names the same file",
                file.display()
            )));
        }
        known.push((option, file));
    }
    Ok(())
}

/// `folder` exists, and files can be made in it.
///
/// # Errors
/// One line.
pub(crate) fn check_folder(folder: &Path) -> Result<(), Error> {
    if !folder.is_dir() {
        return Err(Error::new(format!("output folder {} does not exist", folder.display())));
    }
    // Permissions alone do not tell: the file system may be read-only, or make no files. Under this
    // name it would be written, too.
    let probe = folder.join(format!(".firstflight.{}.part", std::process::id()));
    let made = fs::File::create(&probe).and_then(|_| fs::remove_file(&probe));
    made.map_err(|error| Error::new(format!("output folder {}: {error}", folder.display())))
}

/// As [`check_folder`]; a name that ends in `/` says that it is a folder, and one is made of it by
/// [`make_folder`] if its parent exists.
///
/// # Errors
/// One line.
pub(crate) fn check_folder_of_ours(folder: &Path) -> Result<(), Error> {
    if folder.is_dir() || !folder.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return check_folder(folder);
    }
    check_folder(
        folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")),
    )
}

/// Makes a folder that was checked, unless it is there.
///
/// # Errors
/// One line.
pub(crate) fn make_folder(folder: &Path) -> Result<(), Error> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir(folder).map_err(|error| failed(folder, &error))
}

/// A pipe with a name.
#[cfg(unix)]
fn is_pipe(file: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    file.metadata().is_ok_and(|meta| meta.file_type().is_fifo())
}

/// A pipe with a name.
#[cfg(not(unix))]
fn is_pipe(_: &Path) -> bool {
    false
}

/// A device or a pipe. Nothing may take its place: root's `--json /dev/null` would leave the
/// machine without one.
fn is_device(file: &Path) -> bool {
    file.metadata().is_ok_and(|meta| !meta.is_file() && !meta.is_dir())
}

/// Writes a file under another name and renames it when it is whole: nobody ever sees half a
/// result.
///
/// # Errors
/// One line with the file's name.
pub(crate) fn write_whole(
    file: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    if is_device(file) {
        let written =
            fs::File::options().write(true).open(file).and_then(|mut device| write(&mut device));
        return written.map_err(|error| failed(file, &error));
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let partial = file.with_file_name(format!(".{name}.{}.part", std::process::id()));
    let written = (|| {
        let mut out = BufWriter::new(fs::File::create(&partial)?);
        write(&mut out)?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(&partial, file)
    })();
    written.map_err(|error| {
        let _ = fs::remove_file(&partial);
        failed(file, &error)
    })
}

/// As [`write_whole`], of bytes that are there.
///
/// # Errors
/// One line with the file's name.
pub(crate) fn write_bytes(file: &Path, bytes: impl AsRef<[u8]>) -> Result<(), Error> {
    write_whole(file, |out| out.write_all(bytes.as_ref()))
}

/// A file that is written bit by bit and appears when it is whole.
pub(crate) struct Growing {
    file: PathBuf,
    partial: PathBuf,
    out: BufWriter<fs::File>,
}

impl Growing {
    /// Opens it under another name.
    ///
    /// # Errors
    /// One line with the file's name.
    pub(crate) fn open(file: &Path) -> Result<Growing, Error> {
        if is_device(file) {
            return Err(Error::new(format!("{}: not an ordinary file", file.display())));
        }
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let partial = file.with_file_name(format!(".{name}.{}.part", std::process::id()));
        let out = fs::File::create(&partial).map_err(|error| failed(file, &error))?;
        Ok(Growing { file: file.to_owned(), partial, out: BufWriter::new(out) })
    }

    /// Writes more.
    ///
    /// # Errors
    /// One line with the file's name.
    pub(crate) fn more(
        &mut self,
        write: impl FnOnce(&mut BufWriter<fs::File>) -> io::Result<()>,
    ) -> Result<(), Error> {
        write(&mut self.out).map_err(|error| failed(&self.file, &error))
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// One line with the file's name.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        let done = self
            .out
            .flush()
            .and_then(|()| self.out.get_ref().sync_all())
            .and_then(|()| fs::rename(&self.partial, &self.file));
        done.map_err(|error| failed(&self.file, &error))
    }
}

impl Write for Growing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for Growing {
    fn drop(&mut self) {
        // After a rename there is nothing left under this name.
        let _ = fs::remove_file(&self.partial);
    }
}

/// A file name out of an arm's label: what a file system may dislike becomes `_`.
pub(crate) fn tame(label: &str) -> String {
    label
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "+-.=".contains(c) { c } else { '_' })
        .collect()
}
