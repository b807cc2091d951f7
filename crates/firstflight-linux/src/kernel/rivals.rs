//! Other programs that choose the controllers of connections in a control group: the kernel runs
//! the programs of a group, then those of the groups above it, and the last choice counts.

use libbpf_rs::ProgramAttachType;
use libbpf_rs::query::{LinkInfoIter, LinkTypeInfo, ProgInfoIter};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Maximum number of folders checked below a control group.
const MOST: usize = 10_000;

/// Descriptions of the programs that choose controllers in this control group, above it or below
/// it. Also empty if the kernel does not provide the list.
pub fn rivals(cgroup: &Path) -> Vec<String> {
    let groups = family(cgroup);
    let names: HashMap<u32, String> = ProgInfoIter::default()
        .map(|program| (program.id, program.name.to_string_lossy().into_owned()))
        .collect();
    let mut found: HashMap<String, i32> = HashMap::new();
    for link in LinkInfoIter::default() {
        let LinkTypeInfo::Cgroup(of) = &link.info else { continue };
        if !groups.contains(&of.cgroup_id) {
            continue;
        }
        let name = names.get(&link.prog_id).map_or("?", String::as_str);
        // A field test and `watch` have a program of the same name. The one of `watch` chooses
        // nothing and comes with a second program, which a field test does not have.
        let (what, count) = match (&of.attach_type, name) {
            (ProgramAttachType::CgroupSockOps, "choose") => ("`kernel load`", 1),
            (ProgramAttachType::CgroupSockOps, "connection") => ("`trial start`", 1),
            (_, "arrives") => ("`trial start`", -1),
            (ProgramAttachType::CgroupSockOps, other) => {
                *found.entry(format!("the program `{other}`")).or_default() += 1;
                continue;
            }
            _ => continue,
        };
        *found.entry(what.to_owned()).or_default() += count;
    }
    let mut found: Vec<String> =
        found.into_iter().filter(|(_, count)| *count > 0).map(|(what, _)| what).collect();
    found.sort();
    found
}

/// The numbers of a control group and of the groups above and below it.
fn family(cgroup: &Path) -> HashSet<u64> {
    let mut groups = HashSet::new();
    let Ok(cgroup) = cgroup.canonicalize() else { return groups };
    let mut waiting = vec![cgroup.clone()];
    while let Some(folder) = waiting.pop().filter(|_| groups.len() < MOST) {
        groups.extend(fs::metadata(&folder).map(|data| data.ino()));
        let inside = fs::read_dir(&folder).into_iter().flatten().flatten();
        let folders = inside.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        waiting.extend(folders.map(|entry| entry.path()));
    }
    // The folders above the root of the groups belong to another file system with its own numbers.
    let device = fs::metadata(&cgroup).map(|data| data.dev()).ok();
    let above = cgroup.ancestors().filter_map(|folder| fs::metadata(folder).ok());
    groups.extend(above.take_while(|data| Some(data.dev()) == device).map(|data| data.ino()));
    groups
}
