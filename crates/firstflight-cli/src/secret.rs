//! Files that contain a secret.

use crate::terminal::{CAUTION, whisper};
use std::path::Path;

/// Warns if a file with a key can be read by anyone other than its owner; with `group`, its group
/// counts, too. `gives` describes what the key reveals.
pub(crate) fn warn_if_shared(file: &Path, group: bool, gives: &str) {
    if let Some(mode) = shared(file, group) {
        whisper(&format!(
            "{CAUTION}note:{CAUTION:#} {}: readable by others (mode {mode:03o}), who can \
             then {gives}; `chmod 600` restricts it to the owner",
            file.display()
        ));
    }
}

/// The mode of the file, if others can read it.
#[cfg(unix)]
fn shared(file: &Path, group: bool) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(file).ok()?.permissions().mode() & 0o777;
    let others = if group { 0o044 } else { 0o004 };
    (mode & others != 0).then_some(mode)
}

#[cfg(not(unix))]
fn shared(_: &Path, _: bool) -> Option<u32> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::shared;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn who_can_read_a_key_is_seen_in_its_mode() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        for (mode, strict, loose) in
            [(0o600, false, false), (0o640, true, false), (0o644, true, true), (0o604, true, true)]
        {
            fs::set_permissions(file.path(), Permissions::from_mode(mode)).expect("the owner's");
            let found = [true, false].map(|group| shared(file.path(), group).is_some());
            assert_eq!(found, [strict, loose], "{mode:o}");
        }
        assert_eq!(shared("nothing".as_ref(), true), None);
    }
}
