//! The thread between clients and server.

use super::options::{RelayOptions, wires};
use super::report::RelayReport;
use super::socket::{Received, Socket, owner, set_owner};
use crate::link::Report;
use crate::link::engine::{BATCH, NAP, become_first};
use crate::link::packet::Pool;
use crate::link::wire::Wire;
use firstflight_path::Error;
use firstflight_path::Path;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A client that is silent for this long may lose its place to a new one, ns.
const SILENCE: u64 = 30_000_000_000;

/// A client, and the socket that represents it towards the server.
struct Client {
    address: SocketAddr,
    back: Socket,
    /// Time of its latest packet, ns.
    heard: u64,
}

/// The current clients. Numbers are never reused: packets for a client that has left match no
/// client.
struct Clients {
    by_number: HashMap<u32, Client>,
    by_address: HashMap<SocketAddr, u32>,
    backs: Epoll,
    next: u32,
    most: usize,
    server: SocketAddr,
}

impl Clients {
    /// The number of the client at `address`; a new client gets a new number if there is room.
    fn number(&mut self, address: SocketAddr, now: u64) -> Option<u32> {
        if let Some(number) = self.by_address.get(&address) {
            if let Some(client) = self.by_number.get_mut(number) {
                client.heard = now;
            }
            return Some(*number);
        }
        if self.by_number.len() >= self.most {
            self.make_room(now)?;
        }
        let back = Socket::towards(self.server).ok()?;
        let number = self.next;
        self.backs.add(&back, EpollEvent::new(EpollFlags::EPOLLIN, u64::from(number))).ok()?;
        self.next += 1;
        self.by_address.insert(address, number);
        self.by_number.insert(number, Client { address, back, heard: now });
        Some(number)
    }

    /// Removes the client that has been silent longest, if it has been silent for long enough.
    fn make_room(&mut self, now: u64) -> Option<()> {
        let (&number, client) =
            self.by_number.iter().min_by_key(|(number, client)| (client.heard, **number))?;
        if now.saturating_sub(client.heard) < SILENCE {
            return None;
        }
        let _ = self.backs.delete(&client.back);
        self.by_address.remove(&client.address);
        self.by_number.remove(&number).map(drop)
    }
}

pub(super) struct Engine {
    front: Socket,
    clients: Clients,
    path: Path,
    options: RelayOptions,
    /// Towards the clients and towards the server. Which of them is the forward direction depends
    /// on which end sends.
    down: Wire,
    up: Wire,
    pool: Pool,
    stop: Arc<AtomicBool>,
    begin: Arc<AtomicBool>,
    turned_away: u64,
    too_long: u64,
}

impl Engine {
    pub(super) fn new(
        front: Socket,
        path: Path,
        options: RelayOptions,
        wires: (Wire, Wire),
        (stop, begin): (Arc<AtomicBool>, Arc<AtomicBool>),
    ) -> Result<Engine, Error> {
        let backs = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)
            .map_err(|error| Error::new(format!("epoll: {error}")))?;
        let clients = Clients {
            by_number: HashMap::new(),
            by_address: HashMap::new(),
            backs,
            next: 0,
            most: options.clients.max(1),
            server: options.to,
        };
        let (down, up) = placed(wires, &options);
        let pool = Pool::new(usize::from(options.mtu));
        Ok(Engine {
            front,
            clients,
            path,
            options,
            down,
            up,
            pool,
            stop,
            begin,
            turned_away: 0,
            too_long: 0,
        })
    }

    /// Runs until it is stopped.
    pub(super) fn run(mut self) -> RelayReport {
        let not_first = become_first();
        let start = Instant::now();
        let now = || start.elapsed().as_nanos() as u64;
        while !self.stop.load(Ordering::Relaxed) {
            if self.begin.swap(false, Ordering::Acquire) {
                self.begin_anew(now());
            }
            let next = self.down.next().into_iter().chain(self.up.next()).min();
            let [front, backs] =
                self.sleep(next.map_or(NAP, |at| at.saturating_sub(now()).min(NAP)));
            if front {
                self.hear_clients(now);
            }
            if backs {
                self.hear_server(now);
            }
            self.give_out(now);
        }
        let cpu =
            clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from);
        for wire in [&mut self.down, &mut self.up] {
            wire.tally.inside = wire.inside();
        }
        let (forward, reverse) =
            if self.options.uploads { (self.up, self.down) } else { (self.down, self.up) };
        let link = Report {
            forward: forward.tally,
            reverse: reverse.tally,
            cpu,
            lasted: start.elapsed(),
            not_first,
            sights: Vec::new(),
        };
        RelayReport {
            link,
            clients: u64::from(self.clients.next),
            turned_away: self.turned_away,
            too_long: self.too_long,
            buffer: self.front.buffer(),
        }
    }

    /// See [`super::Relay::begin`]. The path was opened before, so opening it again succeeds.
    fn begin_anew(&mut self, now: u64) {
        if let Ok(wires) = wires(&self.path, &self.options) {
            let (down, up) = placed(wires, &self.options);
            self.down.replace(down, now);
            self.up.replace(up, now);
        }
    }

    /// Sleeps until a socket has a datagram, at most `nap` ns. Returns whether clients or the
    /// server sent one.
    fn sleep(&self, nap: u64) -> [bool; 2] {
        let mut fds = [self.front.as_fd(), self.clients.backs.0.as_fd()]
            .map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        match ppoll(&mut fds, Some(TimeSpec::from_duration(Duration::from_nanos(nap))), None) {
            Ok(0) | Err(_) => [false, false],
            Ok(_) => fds.map(|fd| fd.any().unwrap_or(false)),
        }
    }

    fn hear_clients(&mut self, now: impl Fn() -> u64) {
        for _ in 0..BATCH {
            let mut packet = self.pool.take();
            let Some(Received { from, too_long }) = self.front.receive(&mut packet) else {
                return self.pool.give_back(packet);
            };
            let at = now();
            let number = from.filter(|_| !too_long).and_then(|from| self.clients.number(from, at));
            if let Some(number) = number {
                set_owner(&mut packet, number);
                self.up.offer(at, packet, &mut self.pool);
            } else {
                self.too_long += u64::from(too_long);
                self.turned_away += u64::from(!too_long);
                self.pool.give_back(packet);
            }
        }
    }

    fn hear_server(&mut self, now: impl Fn() -> u64) {
        let mut ready = [EpollEvent::empty(); BATCH];
        let count = self.clients.backs.wait(&mut ready, EpollTimeout::ZERO).unwrap_or(0);
        // Every client with datagrams gets a turn, and none gets more than its share.
        let share = (BATCH / count.max(1)).max(1);
        for event in &ready[..count] {
            let number = event.data() as u32;
            let Some(client) = self.clients.by_number.get(&number) else { continue };
            for _ in 0..share {
                let mut packet = self.pool.take();
                let Some(Received { too_long, .. }) = client.back.receive(&mut packet) else {
                    self.pool.give_back(packet);
                    break;
                };
                if too_long {
                    self.too_long += 1;
                    self.pool.give_back(packet);
                    continue;
                }
                set_owner(&mut packet, number);
                self.down.offer(now(), packet, &mut self.pool);
            }
        }
    }

    fn give_out(&mut self, now: impl Fn() -> u64) {
        for downwards in [true, false] {
            for _ in 0..BATCH {
                let at = now();
                let wire = if downwards { &mut self.down } else { &mut self.up };
                let Some((due, packet)) = wire.take(at, &mut self.pool) else { break };
                let taken = self.clients.by_number.get(&owner(&packet)).is_some_and(|client| {
                    if downwards {
                        self.front.send(&packet, Some(client.address))
                    } else {
                        client.back.send(&packet, None)
                    }
                });
                wire.tally.left(at.saturating_sub(due), packet.bytes().len(), taken);
                self.pool.give_back(packet);
            }
        }
    }
}

/// Orders the forward and the reverse wire as down and up.
fn placed((forward, reverse): (Wire, Wire), options: &RelayOptions) -> (Wire, Wire) {
    if options.uploads { (reverse, forward) } else { (forward, reverse) }
}
