//! Capabilities of the running kernel.

use firstflight_path::Error;
use std::fs;

/// Properties of the running kernel that decide how a controller is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// Major and minor version.
    pub version: (u32, u32),
    /// Whether CUBIC's `cwnd_event` can be called.
    pub(crate) cubic_cwnd_event: bool,
    /// Whether CUBIC's `cwnd_event_tx_start` can be called (7.1 and later).
    pub(crate) cubic_tx_start: bool,
    /// Whether congestion controllers have an operation `cwnd_event_tx_start` (7.1 and later).
    pub(crate) tx_start: bool,
}

impl Features {
    /// Queries the kernel.
    ///
    /// # Errors
    /// A one-line message about anything that BPF congestion control needs and the kernel lacks.
    pub fn detect() -> Result<Features, Error> {
        let Basis { version, about, vmlinux } = Basis::detect()?;
        // CUBIC may be a module with its own type information.
        let module = fs::read("/sys/kernel/btf/tcp_cubic").unwrap_or_default();
        let knows = |name: &str| has_string(&vmlinux, name) || has_string(&module, name);
        if !knows("tcp_congestion_ops")
            || !knows("bpf_struct_ops_tcp_congestion_ops") && !knows("bpf_struct_ops_common")
        {
            return Err(Error::new(format!(
                "{about}: no BPF congestion control; needs CONFIG_BPF_JIT and CONFIG_BPF_SYSCALL"
            )));
        }
        if !knows("cubictcp_cong_avoid") {
            return Err(Error::new(format!(
                "{about}: the kernel's CUBIC is missing; `modprobe tcp_cubic`"
            )));
        }
        Ok(Features {
            version,
            cubic_cwnd_event: knows("cubictcp_cwnd_event"),
            cubic_tx_start: knows("cubictcp_cwnd_event_tx_start"),
            tx_start: has_string(&vmlinux, "cwnd_event_tx_start"),
        })
    }

    /// Whether registrations are links, which vanish with their owner (6.4 and later); in earlier
    /// kernels they stay until they are removed.
    pub fn links(&self) -> bool {
        self.version >= (6, 4)
    }
}

/// The kernel features that every program of ours needs.
pub(super) struct Basis {
    version: (u32, u32),
    about: String,
    /// Type information.
    vmlinux: Vec<u8>,
}

impl Basis {
    /// Queries the kernel.
    ///
    /// # Errors
    /// A one-line message about a missing feature.
    pub(super) fn detect() -> Result<Basis, Error> {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let mut numbers =
            release.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse().ok());
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        let about = format!("kernel {}", release.trim());
        if version < (6, 1) {
            return Err(Error::new(format!("{about}: too old; needs Linux 6.1 or newer")));
        }
        let vmlinux = fs::read("/sys/kernel/btf/vmlinux").map_err(|_| {
            let missing =
                "no type information (/sys/kernel/btf/vmlinux); needs CONFIG_DEBUG_INFO_BTF";
            Error::new(format!("{about}: {missing}"))
        })?;
        Ok(Basis { version, about, vmlinux })
    }
}

/// Whether `name` is one of the strings in the type information, which end with a zero byte.
fn has_string(types: &[u8], name: &str) -> bool {
    let needle: Vec<u8> = [&[0], name.as_bytes(), &[0]].concat();
    types.windows(needle.len()).any(|window| window == needle)
}
