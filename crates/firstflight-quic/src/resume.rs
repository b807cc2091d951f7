//! Careful Resume in a QUIC server (RFC 9959): path parameters saved by one connection are the
//! starting point of the same client's next connection.
//!
//! ```
//! # #[cfg(feature = "noq")] {
//! use firstflight_quic::{Plan, noq::Factory, resume::{Memory, Settings}};
//! use std::net::IpAddr;
//!
//! // One memory for the server, a factory for each connection that is accepted.
//! let memory = Memory::new(Settings::default());
//! let client: IpAddr = [192, 0, 2, 7].into();
//! let factory = Factory::new(Plan::parse("careful")?).with_resume(&memory, client);
//! # drop(factory);
//! # }
//! # Ok::<(), firstflight_quic::Refused>(())
//! ```
//!
//! An arm saves parameters but does not use them unless its startup is `careful`, `plumb` or
//! `rapid(hint=on)`. A server that keeps no memory can [hand them to its clients](carriage).
//! quinn has no pacing rate with which to spread a jump, so its adapter has no memory.
//!
//! * A set of parameters belongs to an address, in IPv6 to its /64, and is kept in memory only, for
//!   [`Settings::lifetime`].
//! * One connection at a time uses a set, until it closes; other connections start without saved
//!   parameters. So does another path of the same connection.
//! * A retreat deletes the set at once. Newer parameters replace it, except that an
//!   application-limited connection does not lower it.
//! * Windows of less than four initial windows are not saved: slow start reaches them as fast.
//!
//! Attacks by a client: only acknowledged bytes create an entry, so a forged address creates none.
//! There are at most [`Settings::clients`] entries, and the oldest is removed first. A client that
//! acknowledges data that it has not received gains nothing here that the same lie would not gain
//! in a running connection; `careful(max=..)` bounds the jump. An attacker with many addresses may
//! displace other clients, which then start without saved parameters. An attacker who forges a
//! client's address keeps its set from being used until the handshake fails.

pub mod carriage;

use crate::driver::{SharedRecorder, locked};
use crate::plan::Plan;
use firstflight::resume::{Observation, Saved};
use firstflight::startup::Resumption;
use firstflight::{AnyController, Begin, Event, Recorder};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
#[cfg(feature = "noq")]
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Size and lifetime of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Lifetime of a set after it was saved. The RFC leaves it to configuration, minutes to hours.
    pub lifetime: Duration,
    /// Maximum number of clients stored; about 100 bytes each.
    pub clients: usize,
}

impl Default for Settings {
    /// An hour, 10 000 clients.
    fn default() -> Settings {
        Settings { lifetime: Duration::from_secs(3600), clients: 10_000 }
    }
}

/// The stored set of one client.
#[derive(Clone, Copy, Debug)]
struct Entry {
    saved: Saved,
    learnt: Instant,
    /// The connection that uses the set.
    user: Option<u64>,
}

#[derive(Debug, Default)]
struct Table {
    entries: HashMap<IpAddr, Entry>,
    /// Number of connections that have used a set.
    users: u64,
}

/// The sets of all clients of a server. Cheap to clone; all clones share the same data.
#[derive(Clone, Debug)]
pub struct Memory {
    settings: Settings,
    table: Arc<Mutex<Table>>,
}

impl Memory {
    /// An empty memory.
    pub fn new(settings: Settings) -> Memory {
        Memory { settings, table: Arc::default() }
    }

    /// Number of stored clients, including expired ones that no connection has asked for yet.
    pub fn clients(&self) -> usize {
        self.table().entries.len()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // The table is consistent after every statement that changes it.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The plan and the follower of a new connection of this client; `and` also receives every
    /// event.
    pub(crate) fn begin(
        &self,
        plan: Plan,
        client: IpAddr,
        and: Option<SharedRecorder>,
    ) -> (Plan, SharedRecorder) {
        let client = endpoint(client);
        let used = self.take(client, Instant::now());
        let arm = used.and_then(|(saved, _)| saved.resume(plan.arm)).unwrap_or(plan.arm);
        let follower = Follower {
            memory: self.clone(),
            client,
            user: used.map(|(_, user)| user),
            least: 0,
            seen: None,
            and,
        };
        (Plan { arm, ..plan }, Arc::new(Mutex::new(follower)))
    }

    /// The set of a client, reserved for a new user, and the number of that user.
    fn take(&self, client: IpAddr, now: Instant) -> Option<(Saved, u64)> {
        let mut table = self.table();
        let user = table.users;
        let entry = table.entries.get_mut(&client)?;
        // An expired set is deleted when it is found.
        if now.saturating_duration_since(entry.learnt) > self.settings.lifetime {
            table.entries.remove(&client);
            return None;
        }
        // One user at a time.
        if entry.user.is_some() {
            return None;
        }
        entry.user = Some(user);
        let saved = entry.saved;
        table.users += 1;
        Some((saved, user))
    }

    /// The set that this user has was wrong; deletes it.
    fn forget(&self, client: IpAddr, user: u64) {
        let mut table = self.table();
        if table.entries.get(&client).is_some_and(|entry| entry.user == Some(user)) {
            table.entries.remove(&client);
        }
    }

    /// A connection of this client has ended; saves its parameters.
    fn end(&self, client: IpAddr, user: Option<u64>, saved: Option<Saved>, now: Instant) {
        let mut table = self.table();
        if let Some(entry) = table.entries.get_mut(&client) {
            if user.is_some() && entry.user == user {
                entry.user = None;
            }
            let fresh = now.saturating_duration_since(entry.learnt) <= self.settings.lifetime;
            if let Some(saved) = saved
                // A lower bound below the stored window contains no information.
                && !(fresh && saved.at_least && saved.cwnd < entry.saved.cwnd)
            {
                (entry.saved, entry.learnt) = (saved, now);
            }
            return;
        }
        let Some(saved) = saved.filter(|_| self.settings.clients > 0) else { return };
        if table.entries.len() >= self.settings.clients {
            let lifetime = self.settings.lifetime;
            table
                .entries
                .retain(|_, entry| now.saturating_duration_since(entry.learnt) <= lifetime);
        }
        if table.entries.len() >= self.settings.clients
            && let Some(oldest) =
                table.entries.iter().min_by_key(|(_, entry)| entry.learnt).map(|(key, _)| *key)
        {
            table.entries.remove(&oldest);
        }
        table.entries.insert(client, Entry { saved, learnt: now, user: None });
    }
}

/// The address, or for IPv6 its /64, within which a host changes its address.
fn endpoint(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// Follows a connection, and updates the memory when it ends.
struct Follower {
    memory: Memory,
    client: IpAddr,
    user: Option<u64>,
    /// Smallest window worth saving, bytes.
    least: u64,
    seen: Option<Observation>,
    and: Option<SharedRecorder>,
}

impl std::fmt::Debug for Follower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follower").field("seen", &self.seen).finish_non_exhaustive()
    }
}

impl Recorder<AnyController> for Follower {
    fn on_begin(&mut self, begin: &Begin) {
        self.least = begin.config.initial_window.saturating_mul(4);
        self.seen = Some(Observation::new(begin.config.mss));
        if let Some(and) = &self.and {
            locked(and).on_begin(begin);
        }
    }

    fn on_event(&mut self, event: &Event, after: &AnyController) {
        if let Some(seen) = &mut self.seen {
            seen.take(event, after);
            if seen.resumption() == Resumption::Refuted
                && let Some(user) = self.user.take()
            {
                self.memory.forget(self.client, user);
            }
        }
        if let Some(and) = &self.and {
            locked(and).on_event(event, after);
        }
    }

    fn on_acked(&mut self, number: u64) {
        if let Some(and) = &self.and {
            locked(and).on_acked(number);
        }
    }

    fn on_lost(&mut self, number: u64) {
        if let Some(and) = &self.and {
            locked(and).on_lost(number);
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let saved = self.seen.as_ref().and_then(Observation::saved);
        let worth = saved.filter(|saved| saved.cwnd >= self.least);
        self.memory.end(self.client, self.user, worth, Instant::now());
    }
}

/// The memory for the connections of one client, used in a factory.
#[cfg(feature = "noq")]
#[derive(Clone, Debug)]
pub(crate) struct Resuming {
    memory: Memory,
    client: IpAddr,
    /// Whether the connection's first path has started.
    begun: Arc<AtomicBool>,
}

#[cfg(feature = "noq")]
impl Resuming {
    pub(crate) fn new(memory: &Memory, client: IpAddr) -> Resuming {
        Resuming { memory: memory.clone(), client, begun: Arc::default() }
    }

    /// Only the first path of a connection is the saved one.
    pub(crate) fn first_path(
        &self,
        plan: Plan,
        and: Option<SharedRecorder>,
    ) -> (Plan, Option<SharedRecorder>) {
        if self.begun.swap(true, Ordering::Relaxed) {
            return (plan, and);
        }
        let (plan, recorder) = self.memory.begin(plan, self.client, and);
        (plan, Some(recorder))
    }
}

#[cfg(test)]
mod tests;
