//! Packetdrill scripts as tests: a script written for a TCP sender is played against the
//! simulator's sender with any arm.
//!
//! Packetdrill (Cardwell and others, USENIX ATC 2013) scripts a TCP connection: segments that
//! arrive, segments that must leave, and statements about `tcp_info`. The public scripts of its
//! repository and of the kernel's selftests state what Linux does, so they can find mistakes that
//! our own tests share. `docs/drill.md` describes the subset.

pub mod expression;
#[cfg(all(feature = "linux", target_os = "linux"))]
mod kernel;
mod player;
pub mod script;
pub mod settings;
mod sim;
mod verdict;

#[cfg(all(feature = "linux", target_os = "linux"))]
pub use kernel::play_in_kernel;
pub use script::{Script, Unplayable};
pub use sim::{play, record, shown};
pub use verdict::{Played, Verdict};

use firstflight::arm::Arm;
use firstflight_path::Error;

/// The arm that follows a congestion control of the kernel.
///
/// # Errors
/// If there is none.
pub fn arm_of(congestion: &str) -> Result<Arm, Error> {
    let text = match congestion {
        "reno" => "slowstart/reno(profile=linux)/prr(mode=linux)",
        "cubic" => "hystart/cubic(profile=linux)/prr(mode=linux)",
        "bbr" => "bbr",
        name => return Err(Error::new(format!("no arm follows the congestion control `{name}`"))),
    };
    Arm::parse(text).map_err(|error| Error::new(error.to_string()))
}
