//! Output files: checked before anything runs, written whole or not at all.

use crate::done::failed;
use firstflight_lab::Error;
use firstflight_table::whole::{self, For, Whole, folder_of, is_device};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The folder that `file` will be written into exists and `file` is not a folder.
///
/// # Errors
/// One line.
pub(crate) fn check_file(file: &Path) -> Result<(), Error> {
    if file.is_dir() {
        return Err(Error::new(format!("{}: is a folder, not a file", file.display())));
    }
    if !is_device(file) {
        return check_folder(folder_of(file));
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
    if let Some(report) = report
        && let Some(kind) = report.extension().and_then(std::ffi::OsStr::to_str)
        && !["html", "htm", "xhtml"].contains(&kind.to_ascii_lowercase().as_str())
        && report.file_stem().is_some()
        && !is_device(report)
    {
        return Err(Error::new(format!(
            "--report {}: a report is a web page; name a .html file",
            report.display()
        )));
    }
    let json = json.filter(|_| !to_stdout(json)).map(PathBuf::as_path);
    let mut known: Vec<(&str, &Path)> = Vec::new();
    for &(option, file) in
        [("--json", json), ("--report", report.map(PathBuf::as_path))].iter().chain(others)
    {
        let Some(file) = file else { continue };
        if file.as_os_str() == "-" {
            return Err(Error::new(format!(
                "{option} -: goes to a file; `--json -` goes to standard output"
            )));
        }
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
    whole::check_folder(folder)
        .map_err(|error| Error::new(format!("output folder {}: {error}", folder.display())))
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

/// Writes a file under another name and renames it when it is whole: nobody ever sees half a
/// result.
///
/// # Errors
/// One line with the file's name.
pub(crate) fn write_whole(
    file: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    whole::write_whole(file, For::Anybody, write).map_err(|error| failed(file, &error))
}

/// The same for a file that its owner alone reads.
///
/// # Errors
/// One line with the file's name.
#[cfg(all(target_os = "linux", feature = "bpf", feature = "field"))]
pub(crate) fn write_own(
    file: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    whole::write_whole(file, For::Owner, write).map_err(|error| failed(file, &error))
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
    out: Whole,
}

impl Growing {
    /// Opens it under another name.
    ///
    /// # Errors
    /// One line with the file's name.
    pub(crate) fn open(file: &Path) -> Result<Growing, Error> {
        let out = Whole::open(file, For::Anybody).map_err(|error| failed(file, &error))?;
        Ok(Growing { file: file.to_owned(), out })
    }

    /// Its name until it is whole, for code that writes into it by name.
    #[cfg(feature = "replay")]
    pub(crate) fn beside(&self) -> &Path {
        self.out.beside()
    }

    /// Writes more.
    ///
    /// # Errors
    /// One line with the file's name.
    pub(crate) fn more(
        &mut self,
        write: impl FnOnce(&mut Whole) -> io::Result<()>,
    ) -> Result<(), Error> {
        write(&mut self.out).map_err(|error| failed(&self.file, &error))
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// One line with the file's name.
    pub(crate) fn finish(self) -> Result<(), Error> {
        self.out.finish().map_err(|error| failed(&self.file, &error))
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

/// A file name out of an arm's label: what a file system may dislike becomes `_`.
pub(crate) fn tame(label: &str) -> String {
    label
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "+-.=".contains(c) { c } else { '_' })
        .collect()
}
