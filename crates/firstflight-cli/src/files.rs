//! Output files: checked before anything runs, written whole or not at all.

use crate::Failed;
use firstflight_lab::Bad;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The folder that `file` will be written into exists and `file` is not a folder.
///
/// # Errors
/// One line.
pub fn check_file(file: &Path) -> Result<(), Bad> {
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    check_folder(folder)?;
    if file.is_dir() {
        return Err(Bad(format!("{}: is a folder, not a file", file.display())));
    }
    Ok(())
}

/// Results go to standard output, as `--json -` says.
pub fn to_stdout(json: Option<&PathBuf>) -> bool {
    json.is_some_and(|file| file.as_os_str() == "-")
}

/// What `--json` and `--report` name has a place to go.
///
/// # Errors
/// One line.
pub fn check_outputs(json: Option<&PathBuf>, report: Option<&PathBuf>) -> Result<(), Bad> {
    let json = json.filter(|_| !to_stdout(json));
    for file in json.into_iter().chain(report) {
        check_file(file)?;
    }
    match report {
        Some(report) if report.as_os_str() == "-" => {
            Err(Bad("--report -: a report goes to a file; `--json -` goes to standard output".into()))
        }
        Some(report) if json == Some(report) => Err(Bad(format!("--report {}: --json names the same file", report.display()))),
        _ => Ok(()),
    }
}

/// `folder` exists.
///
/// # Errors
/// One line.
pub fn check_folder(folder: &Path) -> Result<(), Bad> {
    if folder.is_dir() { Ok(()) } else { Err(Bad(format!("output folder {} does not exist", folder.display()))) }
}

/// A device or a pipe. Nothing may take its place: root's `--json /dev/null` would leave the machine without one.
fn is_device(file: &Path) -> bool {
    file.metadata().is_ok_and(|meta| !meta.is_file() && !meta.is_dir())
}

/// Writes a file under another name and renames it when it is whole: nobody ever sees half a result.
///
/// # Errors
/// One line with the file's name.
pub fn write_whole(file: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Bad> {
    if is_device(file) {
        let written = fs::File::options().write(true).open(file).and_then(|mut device| write(&mut device));
        return written.map_err(|error| Failed::from(error).at(file));
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
        Failed::from(error).at(file)
    })
}

/// A file that is written bit by bit and appears when it is whole.
pub struct Growing {
    file: PathBuf,
    partial: PathBuf,
    out: BufWriter<fs::File>,
}

impl Growing {
    /// Opens it under another name.
    ///
    /// # Errors
    /// One line with the file's name.
    pub fn open(file: &Path) -> Result<Growing, Bad> {
        if is_device(file) {
            return Err(Bad(format!("{}: not an ordinary file", file.display())));
        }
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let partial = file.with_file_name(format!(".{name}.{}.part", std::process::id()));
        let out = fs::File::create(&partial).map_err(|error| Failed::from(error).at(file))?;
        Ok(Growing { file: file.to_owned(), partial, out: BufWriter::new(out) })
    }

    /// Writes more.
    ///
    /// # Errors
    /// One line with the file's name.
    pub fn more(&mut self, write: impl FnOnce(&mut BufWriter<fs::File>) -> io::Result<()>) -> Result<(), Bad> {
        write(&mut self.out).map_err(|error| Failed::from(error).at(&self.file))
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// One line with the file's name.
    pub fn finish(mut self) -> Result<(), Bad> {
        let done = self.out.flush().and_then(|()| self.out.get_ref().sync_all()).and_then(|()| fs::rename(&self.partial, &self.file));
        done.map_err(|error| Failed::from(error).at(&self.file))
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
pub fn tame(label: &str) -> String {
    label.chars().map(|c| if c.is_ascii_alphanumeric() || "+-.=".contains(c) { c } else { '_' }).collect()
}
