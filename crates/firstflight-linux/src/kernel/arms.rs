//! The arms that exist as kernel controllers.

use firstflight::arm::Arm;
use firstflight_path::Error;

/// An arm that exists as a kernel controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelArm {
    /// Name on the command line.
    pub name: &'static str,
    /// Name in the kernel: used in sockets, routes and sysctls.
    pub kernel_name: &'static str,
    /// Name of the map in the object.
    pub(crate) map: &'static str,
    /// One-line description.
    pub about: &'static str,
    /// Possible conclusions of its evaluations, in the order in which a report counts them; empty
    /// if it counts none.
    pub outcomes: &'static [&'static str],
    /// Whether it has its own recovery and pacing (mode B); otherwise the kernel's are used.
    pub own_recovery: bool,
}

/// Attachment of an arm: see `bpf/mode_a.h` and `bpf/mode_b.h`.
const MODE_A: bool = false;
const MODE_B: bool = true;
const MODE_B_TRAINS: bool = true;
const MODE_B_SAVES: bool = true;

/// For an arm that counts no conclusions.
const UNCOUNTED: &[&str] = &[];

/// `enum best_outcome` of `best.h`.
const OF_BEST: &[&str] =
    &["set", "late", "inflated", "pacer", "few", "ambiguous", "unstable", "disagree"];

macro_rules! arms {
    ($(ARM($number:ident, $map:ident, $mode:ident, $state:ident, $hooks:ident, $kernel_name:literal, $name:literal, $outcomes:ident, $about:literal))*) => {
        /// All arms, by number.
        pub const ARMS: &[KernelArm] = &[
            $(KernelArm { name: $name, kernel_name: $kernel_name, map: stringify!($map), about: $about, outcomes: $outcomes, own_recovery: $mode },)*
        ];
    };
}

// `bpf/arms.def` as a single macro call.
include!(concat!(env!("OUT_DIR"), "/arms.rs"));

impl KernelArm {
    /// The kernel controller of an arm, in any spelling of the arm.
    pub fn of(arm: &Arm) -> Option<&'static KernelArm> {
        ARMS.iter().find(|ours| Arm::parse(ours.name).is_ok_and(|known| known == *arm))
    }
}

/// The arm called `name`: its kernel name, or any spelling of the command line, such as
/// `rapid(jump=off)` for `rapid-nojump`.
///
/// # Errors
/// A one-line message with all names if there is no such arm.
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
