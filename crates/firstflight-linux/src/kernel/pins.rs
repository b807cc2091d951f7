//! Arms that stay loaded without a process, and the list of registered controllers.

use super::arms::{ARMS, KernelArm};
use super::change::{UNDO_FOLDER, undo_file, undo_file_of};
use super::exits::Exit;
use super::features::Features;
use super::ring;
use crate::refusal::refused;
use firstflight_path::Error;
use libbpf_rs::query::MapInfoIter;
use libbpf_rs::{MapCore, MapHandle, MapType};
use nix::mount::{MsFlags, mount, umount};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Folder of pinned arms: a BPF file system of our own, mounted while it contains any.
pub const PIN_FOLDER: &str = "/run/firstflight";
/// Longest time that the kernel may take to release a name.
const PATIENCE: Duration = Duration::from_secs(2);
pub(super) const LINK: &str = "link";
const EXITS: &str = "exits";

/// The controllers registered in the kernel, by any program.
pub fn registered() -> Vec<String> {
    let list = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .unwrap_or_default();
    list.split_whitespace().map(str::to_owned).collect()
}

/// Whether this arm is registered.
pub fn is_registered(arm: &KernelArm) -> bool {
    registered().iter().any(|name| name == arm.kernel_name)
}

/// Undoes the changes of an owner that was killed together with its keeper. Returns whether there
/// were any.
///
/// # Errors
/// If they cannot be undone.
pub(super) fn undo_leftover(arm: &KernelArm) -> Result<bool, Error> {
    let left = !folder(arm).exists() && !is_registered(arm) && undo_file(arm).exists();
    if left {
        undo_file_of(&undo_file(arm))?;
        let _ = fs::remove_dir(UNDO_FOLDER);
    }
    Ok(left)
}

fn folder(arm: &KernelArm) -> PathBuf {
    Path::new(PIN_FOLDER).join(arm.kernel_name)
}

/// The arms that are pinned.
pub fn pinned() -> Vec<&'static KernelArm> {
    ARMS.iter().filter(|arm| folder(arm).join(LINK).exists()).collect()
}

/// The arm's folder.
pub(super) fn make_folder(arm: &KernelArm) -> Result<PathBuf, Error> {
    let failed = |error: &std::io::Error| refused(PIN_FOLDER, "root", error);
    fs::create_dir_all(PIN_FOLDER).map_err(|error| failed(&error))?;
    if statfs(PIN_FOLDER).map(|fs| fs.filesystem_type()) != Ok(BPF_FS_MAGIC) {
        mount(Some("bpf"), PIN_FOLDER, Some("bpf"), MsFlags::empty(), None::<&str>)
            .map_err(|error| failed(&error.into()))?;
    }
    let folder = folder(arm);
    fs::create_dir_all(&folder).map_err(|error| failed(&error))?;
    fs::create_dir_all(UNDO_FOLDER).map_err(|error| failed(&error))?;
    Ok(folder)
}

/// Removes a pinned arm, after undoing the changes of default and routes that use it. New
/// connections cannot choose it any more; those that use it keep it.
///
/// # Errors
/// If it is not loaded, or another process holds it.
pub fn unload(arm: &KernelArm) -> Result<(), Error> {
    let folder = folder(arm);
    if folder.exists() {
        undo_file_of(&undo_file(arm))?;
        let failed = |error: &std::io::Error| refused(&folder.display().to_string(), "root", error);
        for pin in fs::read_dir(&folder).map_err(|error| failed(&error))?.flatten() {
            fs::remove_file(pin.path()).map_err(|error| failed(&error))?;
        }
        let _ = fs::remove_dir(&folder);
        if pinned().is_empty() {
            let _ = umount(PIN_FOLDER);
            let _ = fs::remove_dir(PIN_FOLDER);
            let _ = fs::remove_dir(UNDO_FOLDER);
        }
        // The kernel takes a moment to release the name.
        let started = Instant::now();
        while is_registered(arm) && started.elapsed() < PATIENCE {
            sleep(Duration::from_millis(1));
        }
        return Ok(());
    }
    if is_registered(arm) && !Features::detect()?.links() && remove_leftover(arm) {
        undo_leftover(arm)?;
        return Ok(());
    }
    if undo_leftover(arm)? {
        return Ok(());
    }
    Err(Error::new(if is_registered(arm) {
        format!(
            "{} is held by a running `kernel load` or `kernel trace`; end it first",
            arm.kernel_name
        )
    } else {
        format!("{} is not loaded", arm.kernel_name)
    }))
}

/// Before 6.4 a killed loader leaves its arm registered: its map is found by name and emptied,
/// which unregisters the arm.
fn remove_leftover(arm: &KernelArm) -> bool {
    // Length to which the kernel truncates a name.
    const LONGEST: usize = 15;
    let name = &arm.map[..arm.map.len().min(LONGEST)];
    for map in MapInfoIter::default()
        .filter(|map| map.ty == MapType::StructOps && map.name.to_str() == Some(name))
    {
        if let Ok(map) = MapHandle::from_map_id(map.id) {
            let _ = map.delete(&0_u32.to_ne_bytes());
        }
    }
    !is_registered(arm)
}

/// Passes the reports of a pinned arm to `take`; see [`super::Loaded::watch`].
///
/// # Errors
/// If it is not pinned or may not be read.
pub fn watch_pinned(
    arm: &KernelArm,
    take: impl FnMut(Exit),
    go_on: impl FnMut() -> bool,
) -> Result<(), Error> {
    let path = folder(arm).join(EXITS);
    let exits = MapHandle::from_pinned_path(&path)
        .map_err(|error| Error::new(format!("{}: {error}", path.display())))?;
    ring::watch(&exits, take, go_on)
}
