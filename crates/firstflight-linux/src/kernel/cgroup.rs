//! BPF programs on the sockets of a control group.

use super::hearing::hearing;
use crate::refusal::refused;
use firstflight_path::Error;
use libbpf_rs::{Link, MapCore, MapFlags, Object, OpenObject};
use nix::sys::statfs::{CGROUP2_SUPER_MAGIC, fstatfs};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Attaches these programs in order. Each lives as long as its link, and at most as long as this
/// process.
///
/// # Errors
/// A one-line message that names the folder.
pub(super) fn attach(
    object: &Object,
    cgroup: &Path,
    programs: &[&str],
) -> Result<Vec<Link>, Error> {
    let failed =
        |error: &dyn std::fmt::Display| Error::new(format!("{}: {error}", cgroup.display()));
    let folder = open(cgroup)?;
    let one = |name: &&str| {
        let program = object.progs_mut().find(|program| program.name() == *name);
        let program = program.ok_or_else(|| Error::new(format!("no program `{name}`")))?;
        hearing(|| program.attach_cgroup(folder.as_raw_fd())).map_err(|heard| failed(&heard.error))
    };
    programs.iter().map(one).collect()
}

/// Opens the folder of a control group of version 2.
///
/// # Errors
/// A one-line message if it is something else.
pub(super) fn open(cgroup: &Path) -> Result<File, Error> {
    let failed = |error: io::Error| refused(&cgroup.display().to_string(), "root", &error);
    let folder = File::open(cgroup).map_err(failed)?;
    let kind = fstatfs(&folder).map_err(|error| failed(error.into()))?;
    if kind.filesystem_type() == CGROUP2_SUPER_MAGIC {
        return Ok(folder);
    }
    let wrong = "not a control group of version 2 (mount -t cgroup2)";
    Err(Error::new(format!("{}: {wrong}", cgroup.display())))
}

/// The root of the control groups of version 2, which contains all processes of the machine.
///
/// # Errors
/// If none is mounted.
pub fn root() -> Result<PathBuf, Error> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let root = mounts.filter(|words| words.get(2) == Some(&"cgroup2")).find_map(|words| {
        // /proc/self/mounts writes a space this way.
        words.get(1).map(|folder| PathBuf::from(folder.replace("\\040", " ")))
    });
    root.ok_or_else(|| {
        Error::new("no control groups of version 2 are mounted: mount -t cgroup2 none FOLDER")
    })
}

/// Writes settings into the frozen data whose name ends with `section`.
pub(super) fn configure(open: &mut OpenObject, section: &str, settings: &[u8]) {
    for mut map in open.maps_mut() {
        if map.name().to_string_lossy().ends_with(section)
            && let Some(value) =
                map.initial_value_mut().filter(|value| value.len() >= settings.len())
        {
            value[..settings.len()].copy_from_slice(settings);
        }
    }
}

/// The counters of an object: its 64-bit variables, in order.
///
/// # Errors
/// If they cannot be read.
pub(super) fn counters(object: &Object) -> Result<Vec<u64>, Error> {
    let map = object.maps().find(|map| map.name().to_string_lossy().ends_with(".bss"));
    let map = map.ok_or_else(|| Error::new("the object has no counters"))?;
    let value = map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY);
    let value = value.map_err(|error| Error::new(format!("counters: {error}")))?;
    let (words, _) = value.as_deref().unwrap_or_default().as_chunks();
    Ok(words.iter().map(|word| u64::from_ne_bytes(*word)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_no_control_group_is_named_as_what_it_is() {
        let told = open(Path::new("/proc")).expect_err("no control group").to_string();
        assert!(told.starts_with("/proc: not a control group of version 2"), "{told}");
        assert!(open(Path::new("/nowhere")).is_err());
        if let Ok(root) = root() {
            assert!(open(&root).is_ok(), "{}", root.display());
        }
    }
}
