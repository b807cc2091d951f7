//! The arms that exist as kernel controllers.

use firstflight::arm::Arm;
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
    /// Description in a line.
    pub about: &'static str,
    /// Possible conclusions of its evaluations, in the order in which a report counts them; empty
    /// if it counts none.
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

impl KernelArm {
    /// The kernel controller of an arm, however the arm is written.
    pub fn of(arm: &Arm) -> Option<&'static KernelArm> {
        ARMS.iter().find(|ours| Arm::parse(ours.name).is_ok_and(|known| known == *arm))
    }
}

/// The arm called `name`: as the kernel calls it, or in any spelling of the command line, such as
/// `rapid(jump=off)` for `rapid-nojump`.
///
/// # Errors
/// One line with all names if there is none.
pub fn arm(name: &str) -> Result<&'static KernelArm, Error> {
    let named = ARMS.iter().find(|arm| arm.name == name || arm.kernel_name == name);
    named.or_else(|| KernelArm::of(&Arm::parse(name).ok()?)).ok_or_else(|| {
        let all: Vec<&str> = ARMS.iter().map(|arm| arm.name).collect();
        Error::new(format!("arm `{name}`: not a kernel arm; there are {}", all.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::{ARMS, arm};

    #[test]
    fn an_arm_is_found_by_each_of_its_spellings() {
        for ours in ARMS {
            assert_eq!(arm(ours.name), Ok(ours));
            assert_eq!(arm(ours.kernel_name), Ok(ours));
        }
        let found = |name| arm(name).map(|arm| arm.name);
        assert_eq!(found("rapid(jump=off)"), Ok("rapid-nojump"));
        assert_eq!(found("hystart++/cubic/prr"), Ok("hystart++"));
        assert!(found("hystart++/reno").is_err() && found("rapid@(iw=30)").is_err());
    }
}
