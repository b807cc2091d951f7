//! Output files: checked before a command runs, and written completely or not at all.

use crate::done::failed;
use firstflight_lab::Error;
use firstflight_table::whole::{self, For, Whole, folder_of, is_device};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Checks that `file` is not a folder and that its parent folder exists.
pub(crate) fn check_file(file: &Path) -> Result<(), Error> {
    if file.is_dir() {
        return Err(Error::new(format!("{}: is a folder, not a file", file.display())));
    }
    if !is_device(file) {
        return check_folder(folder_of(file));
    }
    // Opening a pipe would wait for its reader, and closing it again would show the reader an end
    // of file.
    if is_pipe(file) {
        return Ok(());
    }
    fs::File::options().write(true).open(file).map(drop).map_err(|error| failed(file, &error))
}

/// Returns `true` if results go to standard output, as with `--json -`.
pub(crate) fn to_stdout(json: Option<&PathBuf>) -> bool {
    json.is_some_and(|file| file.as_os_str() == "-")
}

/// Checks that every output file of a command can be written and that no two are the same: that of
/// `--json`, and others with the names of their options. None may be an input, either. Nothing is run or written before all files
/// have been checked.
pub(crate) fn check_outputs(
    json: Option<&PathBuf>,
    others: &[(&str, Option<&Path>)],
) -> Result<(), Error> {
    let report = others.iter().find(|(option, _)| *option == "--report");
    report.and_then(|(_, file)| *file).map_or(Ok(()), check_report)?;
    let json = json.filter(|_| !to_stdout(json)).map(PathBuf::as_path);
    let mut known: Vec<(&str, &Path)> = Vec::new();
    for &(option, file) in [("--json", json)].iter().chain(others) {
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
    let arguments = ARGUMENTS.get().map_or(&[][..], Vec::as_slice);
    known.iter().try_for_each(|(option, file)| check_inputs(option, file, arguments))
}

/// The arguments of the program, which name all its inputs.
static ARGUMENTS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Remembers the arguments of the program.
pub(crate) fn remember(arguments: &[OsString]) {
    // The first call in a process counts.
    let _ = ARGUMENTS.set(arguments.to_vec());
}

/// Checks that an output replaces no input: only one argument, or one part of one, as in
/// `--path trace=FILE,rtt=40ms`, names the file.
fn check_inputs(option: &str, output: &Path, arguments: &[OsString]) -> Result<(), Error> {
    let Some(target) = output.canonicalize().ok().filter(|_| !is_device(output)) else {
        return Ok(());
    };
    let names = |part: &[u8]| {
        // Most parts are no paths at all.
        part.ends_with(target.file_name().unwrap_or_default().as_encoded_bytes())
            && path_of(part).is_some_and(|path| path.canonicalize().is_ok_and(|it| it == target))
    };
    let is_named = |argument: &OsString| {
        let bytes = argument.as_encoded_bytes();
        names(bytes) || bytes.split(|byte| b"=,".contains(byte)).any(names)
    };
    if arguments.iter().filter(|argument| is_named(argument)).count() > 1 {
        return Err(Error::new(format!(
            "{option} {}: the command reads this file; name another",
            output.display()
        )));
    }
    Ok(())
}

/// The path that bytes of an argument name.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems know no bytes that are no UTF-8")]
fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    Some(std::ffi::OsStr::from_bytes(bytes).into())
}

/// The path that bytes of an argument name, if they are UTF-8.
#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(bytes).ok().map(PathBuf::from)
}

/// Checks that a report goes to a file that a browser opens as a page.
fn check_report(report: &Path) -> Result<(), Error> {
    if report.as_os_str() == "-" {
        return Err(Error::new(
            "--report -: a report goes to a file; `--json -` goes to standard output",
        ));
    }
    if let Some(kind) = report.extension().and_then(std::ffi::OsStr::to_str)
        && !["html", "htm", "xhtml"].contains(&kind.to_ascii_lowercase().as_str())
        && report.file_stem().is_some()
        && !is_device(report)
    {
        return Err(Error::new(format!(
            "--report {}: a report is a web page; name a .html file",
            report.display()
        )));
    }
    Ok(())
}

/// Checks that `folder` exists and that files can be created in it.
pub(crate) fn check_folder(folder: &Path) -> Result<(), Error> {
    if !folder.is_dir() {
        return Err(Error::new(format!("output folder {} does not exist", folder.display())));
    }
    whole::check_folder(folder)
        .map_err(|error| Error::new(format!("output folder {}: {error}", folder.display())))
}

/// Like [`check_folder`], but a name that ends in `/` may be missing if its parent exists;
/// [`make_folder`] then creates it.
pub(crate) fn check_folder_of_ours(folder: &Path) -> Result<(), Error> {
    if folder.is_dir() || !folder.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return check_folder(folder);
    }
    check_folder(
        folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")),
    )
}

/// Creates a folder that was checked, unless it exists.
pub(crate) fn make_folder(folder: &Path) -> Result<(), Error> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir(folder).map_err(|error| failed(folder, &error))
}

/// Returns `true` if the file is a named pipe.
#[cfg(unix)]
fn is_pipe(file: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    file.metadata().is_ok_and(|meta| meta.file_type().is_fifo())
}

/// Only Unix has named pipes in its file system.
#[cfg(not(unix))]
fn is_pipe(_: &Path) -> bool {
    false
}

/// Writes a file under a temporary name and renames it when it is complete, so that partial results
/// are never visible.
pub(crate) fn write_whole(
    file: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    whole::write_whole(file, For::Anybody, write).map_err(|error| failed(file, &error))
}

/// Like [`write_whole`], for a file that only its owner can read.
#[cfg(all(target_os = "linux", feature = "bpf", feature = "field"))]
pub(crate) fn write_own(
    file: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    whole::write_whole(file, For::Owner, write).map_err(|error| failed(file, &error))
}

/// Like [`write_whole`], for bytes in memory.
pub(crate) fn write_bytes(file: &Path, bytes: impl AsRef<[u8]>) -> Result<(), Error> {
    write_whole(file, |out| out.write_all(bytes.as_ref()))
}

/// A file that is written in pieces and appears when it is complete.
pub(crate) struct Growing {
    file: PathBuf,
    out: Whole,
}

impl Growing {
    /// Opens the file under a temporary name.
    pub(crate) fn open(file: &Path) -> Result<Growing, Error> {
        let out = Whole::open(file, For::Anybody).map_err(|error| failed(file, &error))?;
        Ok(Growing { file: file.to_owned(), out })
    }

    /// Its temporary name, for code that writes to it by name.
    #[cfg(feature = "replay")]
    pub(crate) fn beside(&self) -> &Path {
        self.out.beside()
    }

    /// Writes another piece.
    pub(crate) fn more(
        &mut self,
        write: impl FnOnce(&mut Whole) -> io::Result<()>,
    ) -> Result<(), Error> {
        write(&mut self.out).map_err(|error| failed(&self.file, &error))
    }

    /// Gives the file its final name.
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

/// Makes a file name from an arm's label: characters that a file system may refuse become `_`.
pub(crate) fn tame(label: &str) -> String {
    label
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "+-.=".contains(c) { c } else { '_' })
        .collect()
}
