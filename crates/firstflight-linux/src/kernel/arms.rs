//! The arms that exist as kernel controllers.

use crate::refusal::Refusal;

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
    /// What its evaluations can conclude, in the order in which a report counts them; empty if it counts nothing.
    pub outcomes: &'static [&'static str],
}

const fn of(name: &'static str, kernel_name: &'static str, map: &'static str, about: &'static str) -> KernelArm {
    KernelArm { name, kernel_name, map, about, outcomes: &[] }
}

/// `enum best_outcome` of `best.h`.
const OF_BEST: &[&str] = &["set", "late", "inflated", "pacer", "few", "ambiguous", "unstable", "disagree"];

/// All of them, in the order of `enum arm_number`.
pub const ARMS: &[KernelArm] = &[
    of("hystart++", "ff_hystartpp", "hystart_plus_plus", "HyStart++ (RFC 9406): CSS after a rise of the RTT; CUBIC, the kernel's recovery"),
    of(
        "hystart++-draft03",
        "ff_hystartpp_ls",
        "hystart_plus_plus_lss",
        "HyStart++ (draft-03): limited slow start beside CUBIC, the kernel's recovery",
    ),
    of("hystart", "ff_hystart", "hystart", "HyStart as Linux ships it, with reports: the control arm"),
    of("best-published", "ff_best_pub", "best_published", "BEST as published: the median of one round's ACK rates times the RTT"),
    of("search", "ff_search", "search", "SEARCH 4.0: delivered against sent one RTT earlier, then drains"),
    of("rapid", "ff_rapid", "rapid", "Rapid Start: jump, threefold growth, its own recovery; later PRR of RFC 9937"),
    of("rapid-nojump", "ff_rapid_nojump", "rapid_nojump", "Rapid Start without the jump"),
    of("slowstart/cubic/prr", "ff_prr", "slow_start_prr", "Slow start, CUBIC, PRR of RFC 9937"),
    of("slowstart/cubic/sack", "ff_rfc6675", "slow_start_rfc6675", "Slow start, CUBIC, cut once and fill (RFC 6675)"),
    of("slowstart/cubic/halving", "ff_rate_halving", "slow_start_rate_halving", "Slow start, CUBIC, rate halving (Linux until 3.1)"),
    of("kernel:cubic(hystart=off)", "ff_no_hystart", "no_hystart", "The kernel's CUBIC with its HyStart off, for one socket"),
    KernelArm {
        outcomes: OF_BEST,
        ..of(
            "best",
            "ff_best",
            "best",
            "BEST, robust: aims at rate times RTT where three estimates agree, else SEARCH; CUBIC, the kernel's recovery",
        )
    },
    of("slowstart/cubic/prr(mode=crb)", "ff_prr_crb", "slow_start_crb", "Slow start, CUBIC, PRR of RFC 6937 bound by conservation"),
    of("slowstart/cubic/prr(mode=ssrb)", "ff_prr_ssrb", "slow_start_ssrb", "Slow start, CUBIC, PRR of RFC 6937 bound by slow start"),
    of("slowstart/cubic/prr(mode=ub)", "ff_prr_ub", "slow_start_ub", "Slow start, CUBIC, PRR of RFC 6937 without a bound"),
];

/// The arm called `name`, by either of its names.
///
/// # Errors
/// If there is none.
pub fn arm(name: &str) -> Result<&'static KernelArm, Refusal> {
    ARMS.iter().find(|arm| arm.name == name || arm.kernel_name == name).ok_or_else(|| {
        let all: Vec<&str> = ARMS.iter().map(|arm| arm.name).collect();
        Refusal::new(format!("arm `{name}`: not a kernel arm; there are {}", all.join(", ")))
    })
}
