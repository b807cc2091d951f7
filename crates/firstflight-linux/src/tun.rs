//! One end of an emulated link: a TUN device that lives exactly as long as its descriptor.

use crate::refusal::refused;
use crate::sys::{Interfaces, open_tun};
use firstflight_path::Error;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd};

/// The name at both ends; each namespace contains only one device.
pub(crate) const NAME: &str = "tun0";
/// Slots of the device's ring. The device drops silently when they run out, so there are many more
/// than the emulator can fall behind.
const RING: u32 = 20_000;

/// A TUN device.
#[derive(Debug)]
pub(crate) struct Tun(File);

impl Tun {
    /// Creates the device in the namespace of the calling thread and brings it up.
    pub(crate) fn create(address: Ipv4Addr, prefix: u32, mtu: u32) -> Result<Tun, Error> {
        let need = "CAP_NET_ADMIN in the namespace; run as root or under `unshare --map-root-user`";
        let file = open_tun(NAME).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                Error::new("no TUN devices here: /dev/net/tun is missing; `modprobe tun`, or give the container the device")
            }
            _ => refused("TUN device (/dev/net/tun)", need, &error),
        })?;
        let configure = || {
            let interfaces = Interfaces::open()?;
            interfaces.up("lo")?;
            interfaces.configure(NAME, address, prefix, mtu, RING)?;
            interfaces.up(NAME)
        };
        configure().map_err(|error| refused("interface settings", need, &error))?;
        Ok(Tun(file))
    }

    /// Reads one packet; `None` if there is none.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> Option<usize> {
        (&self.0).read(buffer).ok().filter(|len| *len > 0)
    }

    /// Writes one packet. Returns whether the device accepted all of it.
    pub(crate) fn send(&self, packet: &[u8]) -> bool {
        (&self.0).write(packet).is_ok_and(|written| written == packet.len())
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Counters of the device in the calling thread's namespace: packets that it took from the stack,
/// and packets that it dropped for lack of a slot.
pub(crate) fn transmitted() -> Option<(u64, u64)> {
    let table = std::fs::read_to_string("/proc/thread-self/net/dev").ok()?;
    let line = table.lines().find_map(|line| line.trim().strip_prefix(NAME)?.strip_prefix(':'))?;
    // Eight columns of receive counters, then bytes, packets, errors, drops of the transmit side.
    let field = |index: usize| line.split_whitespace().nth(index)?.parse().ok();
    Some((field(9)?, field(11)?))
}
