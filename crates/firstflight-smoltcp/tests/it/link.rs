//! A link in virtual time, and a transfer over it.

use firstflight::Arm;
use firstflight_smoltcp::Steered;
use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::phy::{self, ChecksumCapabilities, Device, DeviceCapabilities, Medium};
use smoltcp::socket::tcp;
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};
use std::collections::VecDeque;

pub(crate) const MSS: u64 = 1460;
const MTU: usize = 1500;
const DATA: usize = 1000;

/// Both directions in one device: what is sent comes back to the same host. Data waits for a
/// bottleneck; what is small passes it by.
pub(crate) struct Link {
    under_way: VecDeque<(Instant, Vec<u8>)>,
    free_at: Instant,
    delay: Duration,
    /// Time that a packet of data takes at the bottleneck, and how many packets may wait.
    service: Duration,
    queue: u64,
    /// Which packets of data, counted from 0, are dropped.
    drops: fn(u64) -> bool,
    sent: u64,
    dropped: u64,
}

impl Link {
    /// 1 packet per 0.25 ms, 20 ms each way, a queue of so many packets.
    pub(crate) fn new(queue: u64) -> Link {
        Link {
            under_way: VecDeque::new(),
            free_at: Instant::ZERO,
            delay: Duration::from_millis(20),
            service: Duration::from_micros(250),
            queue,
            drops: |_| false,
            sent: 0,
            dropped: 0,
        }
    }

    /// The same that drops these packets of data, counted from 0.
    pub(crate) fn dropping(self, drops: fn(u64) -> bool) -> Link {
        Link { drops, ..self }
    }

    /// Packets of data that did not arrive.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    fn carry(&mut self, now: Instant, frame: Vec<u8>) {
        let mut leaves = now;
        if frame.len() > DATA {
            let number = self.sent;
            self.sent += 1;
            let start = self.free_at.max(now);
            let waiting = (start - now).total_micros() / self.service.total_micros().max(1);
            if waiting > self.queue || (self.drops)(number) {
                self.dropped += 1;
                return;
            }
            self.free_at = start + self.service;
            leaves = self.free_at;
        }
        let arrives = leaves + self.delay;
        let behind = self.under_way.partition_point(|(at, _)| *at <= arrives);
        self.under_way.insert(behind, (arrives, frame));
    }
}

pub(crate) struct Rx(Vec<u8>);

impl phy::RxToken for Rx {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

pub(crate) struct Tx<'a>(&'a mut Link, Instant);

impl phy::TxToken for Tx<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut frame = vec![0; len];
        let result = f(&mut frame);
        self.0.carry(self.1, frame);
        result
    }
}

impl Device for Link {
    type RxToken<'a> = Rx;
    type TxToken<'a> = Tx<'a>;

    fn receive(&mut self, now: Instant) -> Option<(Rx, Tx<'_>)> {
        let due = self.under_way.front().is_some_and(|(at, _)| *at <= now);
        let (_, frame) = due.then(|| self.under_way.pop_front())??;
        Some((Rx(frame), Tx(self, now)))
    }

    fn transmit(&mut self, now: Instant) -> Option<Tx<'_>> {
        Some(Tx(self, now))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.max_transmission_unit = MTU;
        capabilities.medium = Medium::Ip;
        capabilities.checksum = ChecksumCapabilities::ignored();
        capabilities
    }
}

/// A transfer that is over: the device, and the moments with window and bytes in flight.
pub(crate) struct Done {
    pub(crate) device: Steered<Link>,
    pub(crate) windows: Vec<(Instant, u64, u64)>,
}

/// `bytes` over this link; panics if they do not arrive as they were sent within ten minutes.
pub(crate) fn transfer(link: Link, arm: &str, bytes: usize) -> Done {
    let arm = Arm::parse(arm).expect("an arm");
    let mut device = Steered::new(link, 4000, &arm, MSS as u16).expect("no pacer needed");
    let mut now = Instant::ZERO;
    let mut interface = Interface::new(Config::new(HardwareAddress::Ip), &mut device, now);
    let here = IpAddress::v4(127, 0, 0, 1);
    interface.update_ip_addrs(|all| all.push(IpCidr::new(here, 8)).expect("the first address"));
    let buffer = || tcp::SocketBuffer::new(vec![0; 4_000_000]);
    let socket = || tcp::Socket::new(buffer(), buffer());
    let mut sockets = SocketSet::new(vec![]);
    let (receiver, sender) = (sockets.add(socket()), sockets.add(socket()));
    sockets.get_mut::<tcp::Socket>(receiver).listen(80).expect("a free port");
    let client = sockets.get_mut::<tcp::Socket>(sender);
    client.connect(interface.context(), (here, 80), 4000).expect("a free port");
    let data: Vec<u8> = (0..bytes).map(|i| (i % 251) as u8).collect();
    let (mut sent, mut received, mut windows) = (0, Vec::new(), Vec::new());
    while received.len() < bytes {
        assert!(now.total_millis() < 600_000, "{} of {bytes} bytes arrived", received.len());
        interface.poll(now, &mut device, &mut sockets);
        let socket = sockets.get_mut::<tcp::Socket>(sender);
        if socket.may_send() && sent < bytes {
            sent += device.send(now, socket, &data[sent..]).expect("an open connection");
        }
        let socket = sockets.get_mut::<tcp::Socket>(receiver);
        while socket.can_recv() {
            received.extend(socket.recv(|all| (all.len(), all.to_vec())).expect("data"));
        }
        interface.poll(now, &mut device, &mut sockets);
        assert_eq!(device.controller().misfed(), None, "what the adapter reports can be");
        windows.push((now, device.controller().cwnd(), device.inflight()));
        now += Duration::from_micros(250);
    }
    assert!(received == data, "what was sent is what arrived");
    Done { device, windows }
}
