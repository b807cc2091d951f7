//! Keys that nobody can guess.

use crate::failed;
use firstflight_lab::Error;
use firstflight_linux::kernel::Key;
use std::fs::File;
use std::io::Read;

/// As many as are asked for.
///
/// # Errors
/// One line if the machine has no random numbers.
pub(crate) fn keys<const N: usize>() -> Result<[Key; N], Error> {
    let file = "/dev/urandom";
    let wrong = |error| failed(file.as_ref(), &error);
    let mut bytes = [[0; 16]; N];
    let mut random = File::open(file).map_err(wrong)?;
    for key in &mut bytes {
        random.read_exact(key).map_err(wrong)?;
    }
    Ok(bytes.map(Key))
}
