//! The settings that make other programs use an arm, namely the namespace's default or a route: how
//! they are changed, how the changes are recorded in words, and how they are undone from those
//! words.

use super::arms::{ARMS, KernelArm};
use crate::refusal::refused;
use firstflight_path::Error;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The default congestion control of our namespace.
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// Words in the listing of routes that are states, not settings.
const STATES: [&str; 4] = ["linkdown", "dead", "offload", "trap"];
/// Folder of the undo records.
pub(super) const UNDO_FOLDER: &str = "/run/firstflight-undo";

/// One change, and how to undo it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The previous default.
    Default(String),
    /// A change by `ip -4` or `ip -6`: the route before and after it.
    Route { family: char, before: String, after: String },
}

impl Change {
    pub(super) fn make(&self, arm: &KernelArm) -> Result<(), Error> {
        match self {
            Change::Default(_) => set_default(arm.kernel_name),
            Change::Route { family, after, .. } => {
                ip(*family, &["route", "replace"], after).map(|_| ())
            }
        }
    }

    /// Undoes the change, unless another process has changed the setting since.
    fn undo(&self, arm: &KernelArm) -> Result<(), Error> {
        match self {
            Change::Default(before) if default()? == arm.kernel_name => set_default(before),
            Change::Route { family, before, after } => {
                let prefix = before.split_whitespace().next().unwrap_or_default();
                let ours = ip(*family, &["route", "show", "exact"], prefix)?
                    .lines()
                    .any(|line| same(line, after));
                if ours { ip(*family, &["route", "replace"], before).map(|_| ()) } else { Ok(()) }
            }
            Change::Default(_) => Ok(()),
        }
    }

    fn line(&self) -> String {
        match self {
            Change::Default(before) => format!("default\t{before}\n"),
            Change::Route { family, before, after } => {
                format!("route{family}\t{before}\t{after}\n")
            }
        }
    }

    fn parse(line: &str) -> Option<Change> {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields.as_slice() {
            ["default", before] => Some(Change::Default((*before).to_owned())),
            ["route4", before, after] => Some(Change::Route {
                family: '4',
                before: (*before).to_owned(),
                after: (*after).to_owned(),
            }),
            ["route6", before, after] => Some(Change::Route {
                family: '6',
                before: (*before).to_owned(),
                after: (*after).to_owned(),
            }),
            _ => None,
        }
    }
}

/// The arm's name and the changes, one per line.
pub(super) fn words(arm: &KernelArm, changes: &[Change]) -> String {
    let mut text = format!("{}\n", arm.kernel_name);
    text.extend(changes.iter().map(Change::line));
    text
}

/// The arm whose changes these are.
fn arm_of(words: &str) -> Option<&'static KernelArm> {
    let name = words.lines().next()?;
    ARMS.iter().find(|arm| arm.kernel_name == name)
}

/// Undoes the changes in `words`, the last one first.
///
/// # Errors
/// The changes that could not be undone; all others were.
pub fn undo_from(words: &str) -> Result<(), Error> {
    let Some(arm) = arm_of(words) else { return Ok(()) };
    let changes: Vec<Change> = words.lines().skip(1).filter_map(Change::parse).collect();
    let failed: Vec<String> = changes
        .iter()
        .rev()
        .filter_map(|change| change.undo(arm).err())
        .map(|refusal| refusal.to_string())
        .collect();
    if failed.is_empty() { Ok(()) } else { Err(Error::new(failed.join("; "))) }
}

/// Like [`undo_from`], but also deletes the saved record.
///
/// # Errors
/// Errors of [`undo_from`]; the record is then kept.
pub fn undo_and_forget(words: &str) -> Result<(), Error> {
    undo_from(words)?;
    arm_of(words).into_iter().for_each(forget_undo);
    Ok(())
}

/// Undoes the changes of a pinned arm, if there are any, and deletes their record.
pub(super) fn undo_file_of(undo_file: &Path) -> Result<(), Error> {
    match fs::read_to_string(undo_file) {
        Ok(words) => {
            undo_from(&words)?;
            fs::remove_file(undo_file)
                .map_err(|error| refused(&undo_file.display().to_string(), "root", &error))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(refused(&undo_file.display().to_string(), "root", &error)),
    }
}

/// The file with the changes to undo when a pinned arm is unloaded. It is outside the pin folder
/// because a BPF file system holds no ordinary files.
pub(super) fn undo_file(arm: &KernelArm) -> PathBuf {
    Path::new(UNDO_FOLDER).join(arm.kernel_name)
}

/// Saves the changes to undo in case no process is left to do it. Best effort: a user who can load
/// arms can usually write there.
pub(super) fn note_undo(arm: &KernelArm, words: &str) {
    let _ = fs::create_dir_all(UNDO_FOLDER).and_then(|()| fs::write(undo_file(arm), words));
}

/// Deletes the record after the changes were undone.
pub(super) fn forget_undo(arm: &KernelArm) {
    let _ = fs::remove_file(undo_file(arm));
    let _ = fs::remove_dir(UNDO_FOLDER);
}

pub(super) fn default() -> Result<String, Error> {
    let text =
        fs::read_to_string(DEFAULT).map_err(|error| refused(DEFAULT, "a mounted /proc", &error))?;
    Ok(text.trim().to_owned())
}

/// Whether this arm is the namespace's default.
pub fn is_default(arm: &KernelArm) -> bool {
    default().is_ok_and(|name| name == arm.kernel_name)
}

pub(super) fn set_default(name: &str) -> Result<(), Error> {
    // Opened without creating or truncating it: it is a setting, not a file.
    let written = File::options()
        .write(true)
        .open(DEFAULT)
        .and_then(|mut file| file.write_all(name.as_bytes()));
    written.map_err(|error| {
        refused("the default of this namespace", "CAP_NET_ADMIN; run as root", &error)
    })
}

/// The change that puts the arm on the existing route to `prefix`.
pub(super) fn route(prefix: &str, arm: &KernelArm) -> Result<Change, Error> {
    let family = if prefix.contains(':') { '6' } else { '4' };
    let listed = ip(family, &["route", "show", "exact"], prefix)?;
    let mut routes = listed.lines().filter(|line| !line.trim().is_empty());
    let Some(line) = routes.next() else {
        return Err(Error::new(format!(
            "route {prefix}: none of exactly this prefix in the main table; `ip route add {prefix} ...` first"
        )));
    };
    if routes.next().is_some() {
        return Err(Error::new(format!(
            "route {prefix}: more than one, or with several next hops; set `congctl {}` by hand",
            arm.kernel_name
        )));
    }
    let before = settings(line);
    let mut plain: Vec<&str> = before.split(' ').collect();
    if let Some(at) = plain.iter().position(|word| *word == "congctl") {
        let words = if plain.get(at + 1) == Some(&"lock") { 3 } else { 2 };
        plain.drain(at..(at + words).min(plain.len()));
    }
    Ok(Change::Route {
        family,
        after: format!("{} congctl {}", plain.join(" "), arm.kernel_name),
        before,
    })
}

/// A listed route without its states, as `ip route replace` accepts it.
fn settings(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().filter(|word| !STATES.contains(word)).collect();
    words.join(" ")
}

/// Compares routes; `ip` may print the settings in a different order from the one given.
fn same(line: &str, route: &str) -> bool {
    let sorted = |text: &str| {
        let mut words: Vec<String> = settings(text).split(' ').map(str::to_owned).collect();
        words.sort_unstable();
        words
    };
    sorted(line) == sorted(route)
}

/// Runs `ip -FAMILY ARGUMENTS words-of-`route``.
fn ip(family: char, arguments: &[&str], route: &str) -> Result<String, Error> {
    let output = Command::new("ip")
        .arg(format!("-{family}"))
        .args(arguments)
        .args(route.split_whitespace())
        .output();
    let output = output.map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::new("routes need the command `ip` (Debian: iproute2)"),
        _ => Error::new(format!("ip: {error}")),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("failed").trim();
    let need =
        if said.contains("not permitted") { "; needs CAP_NET_ADMIN; run as root" } else { "" };
    Err(Error::new(format!("ip {} {route}: {said}{need}", arguments.join(" "))))
}

#[cfg(test)]
mod tests;
