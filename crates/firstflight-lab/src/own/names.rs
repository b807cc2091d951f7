//! User-defined parts by their names in arms: a program registers its parts once, and arms can then
//! use them like ours.

use super::{Own, OwnAvoidance, OwnRecovery, OwnStartup};
use firstflight::arm::{AVOIDANCES, RECOVERIES, SHORT_NAMES, STARTUPS};
use firstflight_path::Error;
use std::sync::OnceLock;

/// A user-defined part.
#[derive(Clone, Debug, PartialEq)]
pub enum OwnPart {
    /// A startup.
    Startup(OwnStartup),
    /// A congestion avoidance.
    Avoidance(OwnAvoidance),
    /// A recovery.
    Recovery(OwnRecovery),
}

impl OwnPart {
    fn name(&self) -> &str {
        match self {
            OwnPart::Startup(own) => &own.name,
            OwnPart::Avoidance(own) => &own.name,
            OwnPart::Recovery(own) => &own.name,
        }
    }

    /// Position in an arm.
    fn place(&self) -> usize {
        match self {
            OwnPart::Startup(_) => 0,
            OwnPart::Avoidance(_) => 1,
            OwnPart::Recovery(_) => 2,
        }
    }
}

/// Start of a startup whose policy is in a file.
const LEARNED: &str = "learned(";

/// User-defined parts of this program.
static KNOWN: OnceLock<Vec<OwnPart>> = OnceLock::new();

/// Name that stands for all startups and all short names.
pub const ALL: &str = "all";

/// Stand-ins for user-defined parts in an arm.
const STAND_INS: [&str; 3] = ["slowstart", "cubic", "prr"];

/// Registers parts by name for [`parse_arms`](crate::parse_arms), once per process.
///
/// # Errors
/// A one-line message for a name that is invalid or taken, or if parts were registered before.
pub fn own_parts(parts: Vec<OwnPart>) -> Result<(), Error> {
    let ours = [STARTUPS, AVOIDANCES, RECOVERIES].into_iter().flatten().map(|part| part.name);
    let mut taken: Vec<String> = ours.map(str::to_owned).collect();
    taken.extend(SHORT_NAMES.iter().map(|short| short.name.to_owned()));
    taken.push(ALL.to_owned());
    for part in &parts {
        let name = part.name();
        let fits = |letter: char| letter.is_ascii_alphanumeric() || "-_+.".contains(letter);
        if name.is_empty() || !name.chars().all(fits) {
            return Err(Error::new(format!(
                "`{name}`: a name has letters, digits, `-`, `_`, `+` and points"
            )));
        }
        if taken.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            return Err(Error::new(format!("`{name}`: this name is already in use")));
        }
        taken.push(name.to_owned());
    }
    KNOWN.set(parts).map_err(|_| Error::new("own parts can be registered only once"))
}

/// Separates user-defined parts in `parts` from an arm: returns them, and the arm with stand-ins in
/// their places. `None` if the arm has no such part.
pub(crate) fn taken_out(label: &str, parts: &[OwnPart]) -> Option<(Own, String)> {
    let (mut pieces, behind) = pieces(label);
    let mut own = Own::default();
    for part in parts {
        let Some(piece) = pieces.get_mut(part.place()) else { continue };
        if piece.trim() != part.name() {
            continue;
        }
        *piece = STAND_INS[part.place()];
        match part.clone() {
            OwnPart::Startup(startup) => own.startup = Some(startup),
            OwnPart::Avoidance(avoidance) => own.avoidance = Some(avoidance),
            OwnPart::Recovery(recovery) => own.recovery = Some(recovery),
        }
    }
    (own != Own::default()).then(|| (own, format!("{}{behind}", pieces.join("/"))))
}

/// User-defined parts of this program.
pub(crate) fn known() -> &'static [OwnPart] {
    KNOWN.get().map_or(&[], Vec::as_slice)
}

/// User-defined parts of this program: the kind of each part, and its name.
pub fn listed() -> Vec<(&'static str, &'static str)> {
    const KINDS: [&str; 3] = ["startup", "avoidance", "recovery"];
    known().iter().map(|part| (KINDS[part.place()], part.name())).collect()
}

/// The file of the policy that is the startup of an arm, and the text after the startup: those of
/// `learned(FILE)/avoidance/recovery@(options)`.
pub(crate) fn learned(arm: &str) -> Option<(&str, &str)> {
    let (parts, _) = pieces(arm);
    let file = parts[0].trim_end().strip_prefix(LEARNED)?.strip_suffix(')')?;
    Some((file, &arm[parts[0].len()..]))
}

/// The arm in full, with these names in place of the stand-ins.
pub(crate) fn full(own: &Own, rest: &str) -> String {
    let (mut pieces, behind) = pieces(rest);
    for (piece, name) in pieces.iter_mut().zip(own.names()) {
        *piece = name.unwrap_or(piece);
    }
    format!("{}{behind}", pieces.join("/"))
}

/// The parts of an arm, and the text after them including its `@`; an `@` inside options is
/// ignored.
fn pieces(arm: &str) -> (Vec<&str>, &str) {
    let (mut pieces, mut begin, mut depth) = (Vec::new(), 0, 0_usize);
    for (place, letter) in arm.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '/' if depth == 0 => {
                pieces.push(&arm[begin..place]);
                begin = place + 1;
            }
            '@' if depth == 0 => {
                pieces.push(&arm[begin..place]);
                return (pieces, &arm[place..]);
            }
            _ => {}
        }
    }
    pieces.push(&arm[begin..]);
    (pieces, "")
}
