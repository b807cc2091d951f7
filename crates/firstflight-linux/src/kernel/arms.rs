//! The arms that exist as kernel controllers.

use firstflight_path::Error;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelArm {
    /// As the command line calls it.
    pub name: &'static str,
    /// As the kernel calls it: what sockets, routes and sysctls are given.
    pub kernel_name: &'static str,
    /// The map in the object.
    pub(crate) map: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// What its evaluations can conclude, in the order in which a report counts them; empty if it
    /// counts nothing.
    pub outcomes: &'static [&'static str],
    /// Recovery and pacing are its own (mode B); else the kernel keeps both.
    pub own_recovery: bool,
}

/// How an arm is bound: see `bpf/mode_a.h` and `bpf/mode_b.h`.
const MODE_A: bool = false;
const MODE_B: bool = true;
const MODE_B_TRAINS: bool = true;
const MODE_B_SAVES: bool = true;

/// Of an arm that counts nothing.
const UNCOUNTED: &[&str] = &[];

/// `enum best_outcome` of `best.h`.
const OF_BEST: &[&str] =
    &["set", "late", "inflated", "pacer", "few", "ambiguous", "unstable", "disagree"];

macro_rules! arms {
    ($(ARM($number:ident, $map:ident, $mode:ident, $state:ident, $hooks:ident, $kernel_name:literal, $name:literal, $outcomes:ident, $about:literal))*) => {
        /// All of them, by number.
        pub const ARMS: &[KernelArm] = &[
            $(KernelArm { name: $name, kernel_name: $kernel_name, map: stringify!($map), about: $about, outcomes: $outcomes, own_recovery: $mode },)*
        ];
    };
}

// `bpf/arms.def` as one call of the macro.
include!(concat!(env!("OUT_DIR"), "/arms.rs"));

/// The arm called `name`, by either of its names.
///
/// # Errors
/// If there is none.
pub fn arm(name: &str) -> Result<&'static KernelArm, Error> {
    ARMS.iter().find(|arm| arm.name == name || arm.kernel_name == name).ok_or_else(|| {
        let all: Vec<&str> = ARMS.iter().map(|arm| arm.name).collect();
        Error::new(format!("arm `{name}`: not a kernel arm; there are {}", all.join(", ")))
    })
}
