//! The connections that use a loaded arm: the namespace's default, routes, control groups. Every
//! change is undone, unless another process has changed the setting since.
//!
//! Defaults and routes outlive the process that set them, so a second process undoes the changes:
//! the [`Keeper`]. It receives its instructions before anything is changed and carries them out
//! when its pipe breaks, whether we end or are killed. Pinned arms keep the same instructions in a
//! file, for [`super::unload`]. Control groups need none of this: their programs are links and
//! vanish with their owner.

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

/// The connections that use an arm, in addition to those that choose it themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Every new connection of this network namespace.
    pub default: bool,
    /// Connections to these prefixes, which must already have routes.
    pub routes: Vec<String>,
    /// Connections of the processes in these control groups (version 2) and their descendants.
    pub cgroups: Vec<PathBuf>,
}

impl Selection {
    /// Whether only connections that choose the arm themselves use it.
    pub fn is_empty(&self) -> bool {
        *self == Selection::default()
    }

    /// The changes to make.
    fn changes(&self, arm: &KernelArm) -> Result<Vec<Change>, Error> {
        let mut changes = Vec::new();
        if self.default {
            let before = default()?;
            // Outside the initial namespace not every name may be set: make sure that the current
            // value can be restored.
            set_default(&before).map_err(|_| {
                Error::new(format!(
                    "the default of this namespace: not permitted; needs CAP_NET_ADMIN and permission to restore {before}: outside the initial \
                     namespace, it must be in net.ipv4.tcp_allowed_congestion_control"
                ))
            })?;
            changes.push(Change::Default(before));
        }
        for prefix in &self.routes {
            changes.push(route(prefix, arm)?);
        }
        Ok(changes)
    }

    /// Refuses settings that cannot work before anything is loaded, and undoes the changes of an
    /// earlier owner that was killed together with its keeper.
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

    /// Sets the default controller and the controllers of the routes. They stay set until the
    /// keeper is dropped or this process ends. `keeper` is the command that runs
    /// [`super::undo_from`] on its standard input.
    ///
    /// # Errors
    /// If a setting cannot be changed; earlier changes are undone.
    pub fn apply(&self, arm: &KernelArm, keeper: Command) -> Result<Keeper, Error> {
        let changes = self.changes(arm)?;
        if changes.is_empty() {
            return Ok(Keeper { child: None, command: keeper, words: String::new() });
        }
        let words = words(arm, &changes);
        // If keeper and owner are killed at the same time, the next `load` or `unload` reads from
        // here what must be undone.
        note_undo(arm, &words);
        let mut keeper = Keeper { child: None, command: keeper, words };
        keeper.start()?;
        changes.iter().try_for_each(|change| change.make(arm))?;
        Ok(keeper)
    }

    /// Sets the default controller and the controllers of the routes. They stay set until
    /// `undo_file` is undone; the file is written first, by rename.
    ///
    /// # Errors
    /// If a setting cannot be changed; earlier changes are undone.
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

/// The process that undoes the changes when this handle is dropped or our process has ended.
#[derive(Debug)]
pub struct Keeper {
    /// `None` if there is nothing to undo.
    child: Option<Child>,
    command: Command,
    words: String,
}

impl Keeper {
    fn start(&mut self) -> Result<(), Error> {
        let failed = |error: &std::io::Error| {
            Error::new(format!("a process that restores the system: {error}"))
        };
        // In a process group of its own: Ctrl-C is meant for us only.
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

    /// Starts a new keeper if this one was killed. Returns whether it was.
    ///
    /// # Errors
    /// If no new one can be started; the changes are then already undone.
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
            // A keeper that was killed has undone nothing.
            if !child.wait().is_ok_and(|status| status.success()) {
                let _ = undo_and_forget(&self.words);
            }
        }
    }
}
