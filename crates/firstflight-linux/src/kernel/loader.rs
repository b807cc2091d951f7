//! Loads an arm into the kernel and keeps it there.

use super::arms::KernelArm;
use super::cgroup::attach;
use super::change;
use super::exits::Exit;
use super::features::Features;
use super::hearing::{Heard, hearing};
use super::pins;
use super::ring::{self, Records};
use super::selection::Selection;
use firstflight_path::Error;
use libbpf_rs::{Link, MapCore, MapType, Object, ObjectBuilder, OpenObject};
use std::path::PathBuf;

/// All arms, compiled for any kernel.
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/firstflight.bpf.o"));
/// All arms with a record of every ACK, and the kernel's own controllers.
const TRACED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/traced.bpf.o"));
/// Offset of `cwnd_event_tx_start` in the object's own `tcp_congestion_ops`; `kernel.h` asserts it.
const TX_START_AT: usize = 88;
const EXITS: &str = "exits";
/// The program for control groups; and the length of the kernel's longest controller name with its
/// terminating zero.
const CHOOSER: &str = "choose";
const NAME_LEN: usize = 16;

/// An arm in the kernel. Dropping it removes the arm, unless it was pinned.
#[derive(Debug)]
pub struct Loaded {
    arm: &'static KernelArm,
    /// The programs that choose the arm for the sockets of control groups.
    choosers: Vec<Link>,
    /// Dropped before the object: without links (before 6.4), removal needs the object's map.
    link: Option<Link>,
    object: Object,
}

impl Loaded {
    /// Loads and registers the arm.
    ///
    /// # Errors
    /// If the kernel or our privilege does not allow it, or the name is already registered.
    pub fn load(arm: &'static KernelArm) -> Result<Loaded, Error> {
        Loaded::load_for(arm, &[])
    }

    /// Like [`Loaded::load`]; the connections of these control groups use the arm.
    ///
    /// # Errors
    /// Like [`Loaded::load`], or if a control group does not accept the program.
    pub fn load_for(arm: &'static KernelArm, cgroups: &[PathBuf]) -> Result<Loaded, Error> {
        Loaded::load_from(OBJECT, arm, cgroups)
    }

    /// Loads the arm with a record of every ACK.
    ///
    /// # Errors
    /// Like [`Loaded::load`].
    pub(super) fn load_traced(arm: &'static KernelArm) -> Result<Loaded, Error> {
        Loaded::load_from(TRACED, arm, &[])
    }

    fn load_from(
        object: &[u8],
        arm: &'static KernelArm,
        cgroups: &[PathBuf],
    ) -> Result<Loaded, Error> {
        let features = Features::detect()?;
        if pins::is_registered(arm) {
            let name = arm.kernel_name;
            return Err(Error::new(if pins::pinned().contains(&arm) {
                format!(
                    "{name} is already loaded, and pinned; `firstflight kernel unload '{}'` unloads it",
                    arm.name
                )
            } else if features.links() {
                format!(
                    "{name} is already loaded by a running `kernel load` or `kernel trace`; end it first"
                )
            } else {
                format!(
                    "{name} is already loaded; `firstflight kernel unload '{}'` unloads it",
                    arm.name
                )
            }));
        }
        pins::undo_leftover(arm)?;
        let mut object = hearing(|| {
            let mut open = ObjectBuilder::default().open_memory(object)?;
            prepare(&mut open, arm, features, !cgroups.is_empty())?;
            open.load()
        })
        .map_err(|heard| refusal(arm, &heard))?;
        let mut maps = object.maps_mut();
        let map = maps.find(|map| map.name() == arm.map);
        let mut map = map.ok_or_else(|| Error::new(format!("{}: not in the object", arm.name)))?;
        let link = hearing(|| map.attach_struct_ops()).map_err(|heard| refusal(arm, &heard))?;
        drop(maps);
        let mut choosers = Vec::new();
        for cgroup in cgroups {
            choosers.extend(attach(&object, cgroup, &[CHOOSER])?);
        }
        Ok(Loaded { arm, choosers, link: Some(link), object })
    }

    /// A map of the object.
    pub(super) fn map(&self, name: &str) -> Result<libbpf_rs::Map<'_>, Error> {
        let map = self.object.maps().find(|map| map.name() == name);
        map.ok_or_else(|| Error::new(format!("the object has no map `{name}`")))
    }

    /// Its reports, to be read on demand.
    pub(super) fn exits(&self) -> Result<Records<Exit>, Error> {
        Records::of(&self.map(EXITS)?, Exit::parse)
    }

    /// The only counter of the object for traces: records dropped for lack of room.
    pub(super) fn counter(&self) -> Result<u64, Error> {
        Ok(super::cgroup::counters(&self.object)?.first().copied().unwrap_or(0))
    }

    /// The arm.
    pub fn arm(&self) -> &'static KernelArm {
        self.arm
    }

    /// Keeps the arm after this process ends, until [`super::unload`].
    ///
    /// # Errors
    /// If the kernel cannot do it (before 6.4), there is no place for the pin, or the selection's
    /// default or routes cannot be set.
    pub fn pin(mut self, selection: &Selection) -> Result<(), Error> {
        if !Features::detect()?.links() {
            return Err(Error::new("pinning needs Linux 6.4 or newer"));
        }
        let folder = pins::make_folder(self.arm)?;
        let failed = |error: libbpf_rs::Error| Error::new(format!("{}: {error}", folder.display()));
        if let Some(mut exits) = self.object.maps_mut().find(|map| map.name() == EXITS) {
            exits.pin(folder.join(EXITS)).map_err(failed)?;
        }
        for (i, chooser) in self.choosers.iter_mut().enumerate() {
            chooser.pin(folder.join(format!("cgroup{i}"))).map_err(failed)?;
        }
        if let Some(link) = self.link.as_mut() {
            link.pin(folder.join(pins::LINK)).map_err(failed)?;
        }
        selection.apply_pinned(self.arm, &change::undo_file(self.arm)).inspect_err(|_| {
            let _ = pins::unload(self.arm);
        })
    }

    /// Passes every report to `take` as it arrives, until `go_on` returns `false`; `go_on` is
    /// called about every 50 ms.
    ///
    /// # Errors
    /// If the ring buffer cannot be read.
    pub fn watch(&self, take: impl FnMut(Exit), go_on: impl FnMut() -> bool) -> Result<(), Error> {
        ring::watch(&self.map(EXITS)?, take, go_on)
    }
}

/// Removes from the object everything that this kernel does not support or only other arms need.
fn prepare(
    open: &mut OpenObject,
    arm: &KernelArm,
    features: Features,
    choose: bool,
) -> Result<(), libbpf_rs::Error> {
    let mine =
        |name: &str| name.strip_prefix(arm.map).is_some_and(|rest| CALLBACKS.contains(&rest));
    for mut program in open.progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        let wanted = mine(&name) && (features.tx_start || !name.ends_with("_cwnd_event_tx_start"));
        program.set_autoload(wanted || choose && name == CHOOSER);
    }
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if name == arm.map {
            if !features.tx_start
                && let Some(operations) = map.initial_value_mut()
                && let Some(operation) = operations.get_mut(TX_START_AT..TX_START_AT + 8)
            {
                operation.fill(0);
            }
            if !features.links() {
                map.set_map_flags(0)?;
            }
        } else if name.ends_with("features") {
            if let Some(value) = map.initial_value_mut().filter(|value| value.len() >= 2 + NAME_LEN)
            {
                value[0] = u8::from(features.cubic_cwnd_event);
                value[1] = u8::from(features.cubic_tx_start);
                // The last byte stays zero.
                value[2..2 + NAME_LEN - 1]
                    .iter_mut()
                    .zip(arm.kernel_name.bytes())
                    .for_each(|(to, from)| *to = from);
            }
        } else if map.map_type() == MapType::StructOps
            || OF_AN_ARM
                .iter()
                .any(|end| name.strip_suffix(end).is_some_and(|its_arm| its_arm != arm.map))
        {
            map.set_autocreate(false)?;
        }
    }
    Ok(())
}

/// The maps of an arm, by the suffix of their name: states of connections, and the parameters that
/// they save.
const OF_AN_ARM: [&str; 2] = ["_states", "_sets"];

/// The programs of an arm, by the suffix of their name.
const CALLBACKS: [&str; 11] = [
    "_init",
    "_release",
    "_ssthresh",
    "_undo_cwnd",
    "_cong_avoid",
    "_cong_control",
    "_set_state",
    "_cwnd_event",
    "_cwnd_event_tx_start",
    "_pkts_acked",
    "_min_tso_segs",
];

fn refusal(arm: &KernelArm, Heard { error, said }: &Heard) -> Error {
    // The verifier's refusals look like missing permission, too, but the verifier gives its
    // reasons.
    if error.kind() == libbpf_rs::ErrorKind::PermissionDenied && !said.contains("PROG LOAD LOG") {
        return Error::new(
            "BPF congestion control: not permitted; needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN; run as root",
        );
    }
    // The log ends with the verifier's objection.
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(8)..].join("; ");
    Error::new(format!(
        "{}: the kernel refuses it: {error}{}{last}",
        arm.name,
        if last.is_empty() { "" } else { ": " }
    ))
}
