//! Output files: checked before anything runs, written whole or not at all.

use crate::Failed;
use firstflight_lab::Bad;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

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

/// `folder` exists.
///
/// # Errors
/// One line.
pub fn check_folder(folder: &Path) -> Result<(), Bad> {
    if folder.is_dir() { Ok(()) } else { Err(Bad(format!("output folder {} does not exist", folder.display()))) }
}

/// Writes a file under another name and renames it when it is whole: nobody ever sees half a result.
///
/// # Errors
/// One line with the file's name.
pub fn write_whole(file: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Bad> {
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

/// A file name out of an arm's label: what a file system may dislike becomes `_`.
pub fn tame(label: &str) -> String {
    label.chars().map(|c| if c.is_ascii_alphanumeric() || "+-.=".contains(c) { c } else { '_' }).collect()
}
