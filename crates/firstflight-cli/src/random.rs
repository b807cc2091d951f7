//! Random keys.

use crate::done::failed;
use crate::secret::warn_if_shared;
use firstflight_lab::Error;
use firstflight_linux::kernel::Key;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Generates `N` keys.
///
/// # Errors
/// A one-line message if the machine has no random numbers.
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

/// The key of the pseudonyms: from a file, or a new one that is kept only in memory.
pub(crate) fn pseudonyms(file: Option<&Path>) -> Result<Key, Error> {
    match file {
        Some(file) => kept(file),
        None => keys().map(|[key]| key),
    }
}

/// The key in a file, as 32 hexadecimal digits. A missing file is created with a new key, readable
/// only by its owner, because the key allows anyone to find every client's prefix by trial.
///
/// # Errors
/// A one-line message if the file cannot be read or created, or does not contain a key.
fn kept(file: &Path) -> Result<Key, Error> {
    let wrong = |error| failed(file, &error);
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    match made {
        Ok(mut made) => {
            let [key] = keys()?;
            let text = format!("{:032x}\n", u128::from_be_bytes(key.0));
            made.write_all(text.as_bytes()).map_err(wrong)?;
            Ok(key)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let text = fs::read_to_string(file).map_err(wrong)?;
            warn_if_shared(file, true, "find the prefix of every client");
            parsed(text.trim()).map(Key).ok_or_else(|| {
                let told = "contains no key; allowed: 32 hexadecimal digits, or no file";
                Error::new(format!("{}: {told}", file.display()))
            })
        }
        Err(error) => Err(wrong(error)),
    }
}

fn parsed(text: &str) -> Option<[u8; 16]> {
    let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    digits.then(|| u128::from_str_radix(text, 16).ok()).flatten().map(u128::to_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_made_once_for_its_owner_and_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("key");
        let key = kept(&file).expect("made");
        let mode = fs::metadata(&file).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "nobody else reads it");
        assert!(kept(&file).expect("read") == key && key.0 != [0; 16]);
        let other = kept(&folder.path().join("other")).expect("made");
        assert!(other != key, "another file has another key");
        for text in ["", "12", &"g".repeat(32), &"0".repeat(33), "+1234567890123456789012345678901"]
        {
            fs::write(&file, text).expect("written");
            let refused = kept(&file).expect_err("no key").to_string();
            assert!(refused.ends_with("32 hexadecimal digits, or no file"), "{refused}");
        }
    }
}
