//! Who uses a loaded arm: the namespace's default, routes, control groups. What is changed is put
//! back, and only what is still ours.
//!
//! Defaults and routes outlive the process that set them, so a second process does the putting
//! back: the [`Keeper`], which is told what to do before anything is done and does it when the pipe
//! to it breaks, whether we end or are killed. Pinned arms keep the same words in a file,
//! for [`super::unload`]. Control groups need none of it: their programs are links and go with
//! their owner.

use super::arms::KernelArm;
use super::cgroup;
use super::change::{
    Change, default, note_undo, route, set_default, undo_and_forget, undo_file_of, words,
};
use super::pins;
use crate::refusal::refused;
use firstflight_path::Error;
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Selection of the connections that use an arm, besides those that choose it themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Every new connection of this network namespace.
    pub default: bool,
    /// Connections to these prefixes, which have routes already.
    pub routes: Vec<String>,
    /// Connections of the processes in these control groups (version 2) and below.
    pub cgroups: Vec<PathBuf>,
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
            cgroup::open(cgroup)?;
        }
        Ok(())
    }

    /// Makes default and routes so until the keeper is dropped or this process is gone. `keeper` is
    /// the command that runs [`super::undo_from`] on its standard input.
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
        note_undo(arm, &words);
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
