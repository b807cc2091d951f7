//! Who uses a loaded arm: the namespace's default, routes, control groups. What is changed is put
//! back, and only what is still ours.
//!
//! Defaults and routes outlive the process that set them, so a second process does the putting
//! back: the [`Keeper`], which is told what to do before anything is done and does it when the pipe
//! to it breaks, whether we end or are killed. Pinned arms keep the same words in a file,
//! for [`super::unload`]. Control groups need none of it: their programs are links and go with
//! their owner.

use super::arms::{ARMS, KernelArm};
use super::pins;
use crate::refusal::refused;
use firstflight_path::Error;
use nix::sys::statfs::{CGROUP2_SUPER_MAGIC, statfs};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The default of the namespace we run in.
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// Marks in the listing of routes that are states, not settings.
const STATES: [&str; 4] = ["linkdown", "dead", "offload", "trap"];

/// Who is to use an arm, beside those who choose it themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Every new connection of this network namespace.
    pub default: bool,
    /// Connections to these prefixes, which have routes already.
    pub routes: Vec<String>,
    /// Connections of the processes in these control groups (version 2) and below.
    pub cgroups: Vec<PathBuf>,
}

/// One change, and how to undo it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Change {
    /// The default was this.
    Default(String),
    /// `ip -4` or `ip -6`; the route as it was, and as it becomes.
    Route { family: char, before: String, after: String },
}

impl Selection {
    /// Nobody but those who choose it themselves.
    pub fn is_empty(&self) -> bool {
        *self == Selection::default()
    }

    /// What has to be changed.
    fn changes(&self, arm: &KernelArm) -> Result<Vec<Change>, Error> {
        let mut changes = Vec::new();
        if self.default {
            let before = default()?;
            // Outside the first namespace not every name may be set: what is there now must be
            // possible again.
            set_default(&before).map_err(|_| {
                Error::new(format!(
                    "the default of this namespace: not permitted; needs CAP_NET_ADMIN, and that {before} may be put back: in namespaces but the \
                     first it has to be in net.ipv4.tcp_allowed_congestion_control"
                ))
            })?;
            changes.push(Change::Default(before));
        }
        for prefix in &self.routes {
            changes.push(route(prefix, arm)?);
        }
        Ok(changes)
    }

    /// Refuses what cannot work, before anything is loaded, and puts back what an earlier owner
    /// left who was killed together with its keeper.
    ///
    /// # Errors
    /// If a prefix has no route of its own or a folder is not a control group of version 2.
    pub fn check(&self, arm: &KernelArm) -> Result<(), Error> {
        pins::undo_leftover(arm)?;
        self.changes(arm)?;
        for cgroup in &self.cgroups {
            let kind = statfs(cgroup)
                .map_err(|error| refused(&cgroup.display().to_string(), "root", &error.into()))?;
            if kind.filesystem_type() != CGROUP2_SUPER_MAGIC {
                return Err(Error::new(format!(
                    "{}: not a control group of version 2 (mount -t cgroup2)",
                    cgroup.display()
                )));
            }
        }
        Ok(())
    }

    /// Makes default and routes so until the keeper is dropped or this process is gone. `keeper` is
    /// the command that runs [`undo_from`] on its standard input.
    ///
    /// # Errors
    /// If something cannot be changed; what was changed before is put back.
    pub fn apply(&self, arm: &KernelArm, keeper: Command) -> Result<Keeper, Error> {
        let changes = self.changes(arm)?;
        if changes.is_empty() {
            return Ok(Keeper { child: None, command: keeper, words: String::new() });
        }
        let words = words(arm, &changes);
        // Should keeper and owner be killed at the same time, the next `load` or `unload` reads
        // here what is to be put back.
        pins::note_undo(arm, &words);
        let mut keeper = Keeper { child: None, command: keeper, words };
        keeper.start()?;
        changes.iter().try_for_each(|change| change.make(arm))?;
        Ok(keeper)
    }

    /// Makes default and routes so until `undo_file` is undone: written first, by rename.
    ///
    /// # Errors
    /// If something cannot be changed; what was changed before is put back.
    pub(super) fn apply_pinned(&self, arm: &KernelArm, undo_file: &Path) -> Result<(), Error> {
        let changes = self.changes(arm)?;
        if changes.is_empty() {
            return Ok(());
        }
        let failed =
            |error: &std::io::Error| refused(&undo_file.display().to_string(), "root", error);
        let new = undo_file.with_extension("new");
        fs::write(&new, words(arm, &changes))
            .and_then(|()| fs::rename(&new, undo_file))
            .map_err(|error| failed(&error))?;
        changes.iter().try_for_each(|change| change.make(arm)).inspect_err(|_| {
            let _ = undo_file_of(undo_file);
        })
    }
}

impl Change {
    fn make(&self, arm: &KernelArm) -> Result<(), Error> {
        match self {
            Change::Default(_) => set_default(arm.kernel_name),
            Change::Route { family, after, .. } => {
                ip(*family, &["route", "replace"], after).map(|_| ())
            }
        }
    }

    /// Unless somebody else has changed it since.
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

/// The arm's name, then the changes, a line each.
fn words(arm: &KernelArm, changes: &[Change]) -> String {
    let mut text = format!("{}\n", arm.kernel_name);
    text.extend(changes.iter().map(Change::line));
    text
}

/// Puts back what `words` tell, the last change first.
///
/// # Errors
/// What could not be put back; the rest was.
pub fn undo_from(words: &str) -> Result<(), Error> {
    let mut lines = words.lines();
    let Some(arm) = lines.next().and_then(|name| ARMS.iter().find(|arm| arm.kernel_name == name))
    else {
        return Ok(());
    };
    let changes: Vec<Change> = lines.filter_map(Change::parse).collect();
    let failed: Vec<String> = changes
        .iter()
        .rev()
        .filter_map(|change| change.undo(arm).err())
        .map(|refusal| refusal.to_string())
        .collect();
    if failed.is_empty() { Ok(()) } else { Err(Error::new(failed.join("; "))) }
}

/// The same, and forgets what was noted of it.
///
/// # Errors
/// Those of [`undo_from`]; then it stays noted.
pub fn undo_and_forget(words: &str) -> Result<(), Error> {
    undo_from(words)?;
    let arm = words.lines().next().and_then(|name| ARMS.iter().find(|arm| arm.kernel_name == name));
    arm.into_iter().for_each(pins::forget_undo);
    Ok(())
}

/// Undoes what a pinned arm has changed, if anything, and forgets it.
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

/// The process that puts things back when this handle is dropped or we are gone.
#[derive(Debug)]
pub struct Keeper {
    /// None if there is nothing to put back.
    child: Option<Child>,
    command: Command,
    words: String,
}

impl Keeper {
    fn start(&mut self) -> Result<(), Error> {
        let failed = |error: &std::io::Error| {
            Error::new(format!("a process that puts things back: {error}"))
        };
        // In a group of its own: Ctrl-C is for us.
        let child = self
            .command
            .stdin(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| failed(&error))?;
        let child = self.child.insert(child);
        if let Some(pipe) = &mut child.stdin {
            pipe.write_all(self.words.as_bytes()).map_err(|error| failed(&error))?;
        }
        Ok(())
    }

    /// Starts another one if somebody has killed this one. Returns whether that was so.
    ///
    /// # Errors
    /// If no other can be started: then everything is put back already.
    pub fn renew(&mut self) -> Result<bool, Error> {
        let Some(child) = &mut self.child else { return Ok(false) };
        if matches!(child.try_wait(), Ok(None)) {
            return Ok(false);
        }
        self.child = None;
        self.start().inspect_err(|_| {
            let _ = undo_and_forget(&self.words);
        })?;
        Ok(true)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            drop(child.stdin.take());
            // One that was killed has put nothing back.
            if !child.wait().is_ok_and(|status| status.success()) {
                let _ = undo_and_forget(&self.words);
            }
        }
    }
}

fn default() -> Result<String, Error> {
    let text =
        fs::read_to_string(DEFAULT).map_err(|error| refused(DEFAULT, "a mounted /proc", &error))?;
    Ok(text.trim().to_owned())
}

/// Whether the namespace's default is this arm.
pub fn is_default(arm: &KernelArm) -> bool {
    default().is_ok_and(|name| name == arm.kernel_name)
}

fn set_default(name: &str) -> Result<(), Error> {
    // Neither created nor cut off: it is a setting, not a file.
    let written = File::options()
        .write(true)
        .open(DEFAULT)
        .and_then(|mut file| file.write_all(name.as_bytes()));
    written.map_err(|error| {
        refused("the default of this namespace", "CAP_NET_ADMIN; run as root", &error)
    })
}

/// The route to `prefix` itself, and with the arm on it.
fn route(prefix: &str, arm: &KernelArm) -> Result<Change, Error> {
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

/// A listed route without its states, as it can be given back to `ip route replace`.
fn settings(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().filter(|word| !STATES.contains(word)).collect();
    words.join(" ")
}

/// `ip` may print the settings in another order than they were given in.
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
