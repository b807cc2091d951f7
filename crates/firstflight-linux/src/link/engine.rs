//! The thread between the two devices.

use super::packet::Pool;
use super::report::Report;
use super::sights::{Place, Witness};
use super::wire::Wire;
use crate::sys::run_first;
use crate::tun::Tun;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Packets read or written at a time, so that one direction cannot starve the other.
pub(crate) const BATCH: usize = 64;
/// The longest sleep: the time within which the thread notices that the link should stop.
pub(crate) const NAP: u64 = 100_000_000;
/// Real-time priority: above all ordinary threads, below those that the system itself may need.
const PRIORITY: i32 = 20;
/// Maximum delay of a wake-up by the kernel, ns; the default is 50 000.
const SLACK: u64 = 1_000;

/// The two devices.
pub(crate) struct Ends {
    pub(crate) near: Tun,
    pub(crate) far: Tun,
}

pub(crate) struct Engine {
    ends: Ends,
    forward: Wire,
    reverse: Wire,
    pool: Pool,
    stop: Arc<AtomicBool>,
    witness: Option<Witness>,
}

impl Engine {
    pub(crate) fn new(
        ends: Ends,
        (forward, reverse): (Wire, Wire),
        mtu: usize,
        stop: Arc<AtomicBool>,
    ) -> Engine {
        Engine { ends, forward, reverse, pool: Pool::new(mtu), stop, witness: None }
    }

    /// Records every packet if `notes` is set.
    pub(crate) fn witnessed(self, notes: bool) -> Engine {
        Engine { witness: notes.then(Witness::default), ..self }
    }

    /// Runs until it is stopped. No logging, no allocation once the path is full, and a single
    /// clock.
    pub(crate) fn run(mut self) -> Report {
        let not_first = become_first();
        let start = Instant::now();
        let now = || start.elapsed().as_nanos() as u64;
        while !self.stop.load(Ordering::Relaxed) {
            let next = self.forward.next().into_iter().chain(self.reverse.next()).min();
            let nap = next.map_or(NAP, |at| at.saturating_sub(now()).min(NAP));
            let [near, far] = self.sleep(nap);
            if near {
                take_in(
                    &self.ends.near,
                    &mut self.forward,
                    &mut self.pool,
                    now,
                    &mut seen(&mut self.witness, Place::SenderOut),
                );
            }
            if far {
                take_in(
                    &self.ends.far,
                    &mut self.reverse,
                    &mut self.pool,
                    now,
                    &mut seen(&mut self.witness, Place::ReceiverOut),
                );
            }
            give_out(
                &mut self.forward,
                &self.ends.far,
                &mut self.pool,
                now,
                &mut seen(&mut self.witness, Place::ReceiverIn),
            );
            give_out(
                &mut self.reverse,
                &self.ends.near,
                &mut self.pool,
                now,
                &mut seen(&mut self.witness, Place::SenderIn),
            );
        }
        let cpu =
            clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from);
        for wire in [&mut self.forward, &mut self.reverse] {
            wire.tally.inside = wire.inside();
        }
        let lasted = start.elapsed();
        Report {
            forward: self.forward.tally,
            reverse: self.reverse.tally,
            cpu,
            lasted,
            not_first,
            sights: self.witness.map_or_else(Vec::new, Witness::into_sights),
        }
    }

    /// Sleeps until a device has a packet, at most `nap` ns. Returns which devices have one.
    fn sleep(&self, nap: u64) -> [bool; 2] {
        let mut fds = [&self.ends.near, &self.ends.far]
            .map(|tun| PollFd::new(tun.as_fd(), PollFlags::POLLIN));
        let timeout = TimeSpec::from_duration(Duration::from_nanos(nap));
        match ppoll(&mut fds, Some(timeout), None) {
            Ok(0) | Err(_) => [false, false],
            Ok(_) => fds.map(|fd| fd.any().unwrap_or(false)),
        }
    }
}

/// Makes the calling thread wake to the microsecond and run before all others. Returns the reason
/// if it cannot.
pub(crate) fn become_first() -> Option<String> {
    let _ = set_timerslack(SLACK);
    run_first(PRIORITY).err().map(|error| match error.raw_os_error() {
        Some(libc::EPERM) => "real-time priority needs CAP_SYS_NICE".to_owned(),
        _ => format!("real-time priority: {error}"),
    })
}

/// The function that records packets at this place.
fn seen(witness: &mut Option<Witness>, place: Place) -> impl FnMut(u64, &[u8]) {
    move |at, packet| {
        if let Some(witness) = witness {
            witness.see(at, place, packet);
        }
    }
}

/// Each packet gets its own timestamp: with one for a batch, all would seem to arrive at once.
fn take_in(
    device: &Tun,
    wire: &mut Wire,
    pool: &mut Pool,
    now: impl Fn() -> u64,
    seen: &mut impl FnMut(u64, &[u8]),
) {
    for _ in 0..BATCH {
        let mut packet = pool.take();
        let Some(len) = device.receive(packet.space()) else { return pool.give_back(packet) };
        packet.set_len(len);
        let at = now();
        seen(at, packet.bytes());
        wire.offer(at, packet, pool);
    }
}

fn give_out(
    wire: &mut Wire,
    device: &Tun,
    pool: &mut Pool,
    now: impl Fn() -> u64,
    seen: &mut impl FnMut(u64, &[u8]),
) {
    for _ in 0..BATCH {
        let at = now();
        let Some((due, packet)) = wire.take(at, pool) else { break };
        seen(at, packet.bytes());
        let taken = device.send(packet.bytes());
        wire.tally.left(at.saturating_sub(due), packet.bytes().len(), taken);
        pool.give_back(packet);
    }
}
