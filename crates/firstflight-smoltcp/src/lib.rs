#![no_std]
#![doc = include_str!("../README.md")]

mod flow;
mod wire;

use core::cell::{Ref, RefCell};
use firstflight::arm::{Arm, ArmError, Pace, StartupSpec};
use firstflight::{Advice, AnyController, Config, Seq, Time};
use flow::Flow;
use smoltcp::phy::{self, Device, DeviceCapabilities, Medium};
use smoltcp::socket::tcp::{SendError, Socket};
use smoltcp::time::Instant;
use smoltcp::wire::IpAddress;
use wire::{Segment, segment};

/// Why this arm cannot run, if it cannot.
fn refusal(arm: &Arm) -> Option<&'static str> {
    const PACER: &str = "smoltcp has no pacer, and this startup cannot do without one";
    match &arm.startup {
        StartupSpec::Bbr(_)
        | StartupSpec::Bbr3(_)
        | StartupSpec::Chirping(_)
        | StartupSpec::Plumb(_)
        | StartupSpec::Suss(_)
        | StartupSpec::Jump(_) => Some(PACER),
        StartupSpec::Rapid(params) if params.jump.is_some() => {
            Some("smoltcp has no pacer to spread a jump with: use rapid(jump=off)")
        }
        StartupSpec::Rapid(params) if params.full_rtt_pacing => Some(PACER),
        StartupSpec::Careful(params) if params.saved.is_some() || arm.sender.hint.is_some() => {
            Some(PACER)
        }
        _ if arm.sender.pace == Some(Pace::On) => Some("smoltcp has no pacer: leave pace= out"),
        _ if arm.sender.max_rate.is_some() => Some("smoltcp has no pacer: leave maxrate= out"),
        _ if arm.sender.detection.is_some() || arm.sender.early.is_some() => {
            Some("smoltcp detects losses in its own way: leave `detection` and `early` out")
        }
        _ if arm.sender.acks.is_some() => Some("`acks` is QUIC's: leave it out"),
        _ if arm.sender.ecn.is_some() => Some("`ecn` is QUIC's: leave it out"),
        _ if arm.sender.rto_max.is_some() => {
            Some("smoltcp bounds its timeout in its own way: leave `rtomax` out")
        }
        _ if arm.sender.receive_ts => Some("`receivets` is QUIC's: leave it out"),
        _ if arm.sender.advice == Advice::Cap => Some("smoltcp has no pacer: use advice=exit"),
        _ => None,
    }
}

/// A device through which an arm controls one TCP connection of this host.
#[derive(Debug)]
pub struct Steered<D: Device> {
    device: D,
    watch: RefCell<Watch>,
}

/// The observed connection.
#[derive(Debug)]
struct Watch {
    medium: Medium,
    port: u16,
    /// Address and port of the peer, known after the first SYN.
    peer: Option<(IpAddress, u16)>,
    flow: Flow,
}

impl Watch {
    /// A segment leaves; ignored unless it belongs to the connection.
    fn on_transmit(&mut self, now: Time, frame: &[u8]) {
        let Some(segment) = segment(self.medium, frame) else {
            return;
        };
        if segment.source.1 == self.port && self.is_peer(&segment, segment.destination) {
            self.flow.on_sent(now, &segment);
        }
    }

    /// A segment arrives; ignored unless it belongs to the connection.
    fn on_receive(&mut self, now: Time, frame: &[u8]) {
        let Some(segment) = segment(self.medium, frame) else {
            return;
        };
        if segment.destination.1 == self.port && self.is_peer(&segment, segment.source) {
            self.flow.on_received(now, &segment);
        }
    }

    /// Whether the segment belongs to the connection; the first SYN determines the peer.
    fn is_peer(&mut self, segment: &Segment, other: (IpAddress, u16)) -> bool {
        if segment.syn && self.peer.is_none() {
            self.peer = Some(other);
        }
        self.peer == Some(other)
    }
}

fn time(now: Instant) -> Time {
    Time(u64::try_from(now.total_micros()).unwrap_or(0).saturating_mul(1000))
}

impl<D: Device> Steered<D> {
    /// Puts the first connection of local port `port` under the control of `arm`; `mss` is its
    /// largest segment in bytes of payload.
    ///
    /// # Errors
    /// [`ArmError::Nonsense`] if the arm needs a pacer or another loss detection.
    pub fn new(device: D, port: u16, arm: &Arm, mss: u16) -> Result<Steered<D>, ArmError<'static>> {
        if let Some(why) = refusal(arm) {
            return Err(ArmError::Nonsense(why));
        }
        let medium = device.capabilities().medium;
        let mss = u64::from(mss.max(1));
        // smoltcp's sender does not use SACK.
        let config = firstflight::with!(Config { sack: false, ..Config::tcp(mss) });
        let controller = arm.controller(config, Time(0), Seq(0));
        let watch = Watch { medium, port, peer: None, flow: Flow::new(controller, mss) };
        Ok(Steered { device, watch: RefCell::new(watch) })
    }

    /// Passes as much of `data` to the socket as the controller allows now and the socket accepts.
    /// Returns the number of bytes.
    ///
    /// # Errors
    /// Errors of [`Socket::send_slice`].
    pub fn send(
        &mut self,
        now: Instant,
        socket: &mut Socket<'_>,
        data: &[u8],
    ) -> Result<usize, SendError> {
        let flow = &mut self.watch.get_mut().flow;
        let (queued, capacity) = (socket.send_queue(), socket.send_capacity());
        let space = capacity.saturating_sub(queued);
        let room = flow.room(time(now), flow.unsent(queued as u64), space as u64);
        let len = data.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        // The application limits the burst if it has less data than may leave.
        flow.app_limited = (data.len() as u64) < room;
        socket.send_slice(&data[..len])
    }

    /// The controller of the connection: window, phase, startup exit.
    pub fn controller(&self) -> Ref<'_, AnyController> {
        Ref::map(self.watch.borrow(), |watch| watch.flow.controller())
    }

    /// Bytes of the connection in flight.
    pub fn inflight(&self) -> u64 {
        self.watch.borrow().flow.inflight()
    }

    /// The wrapped device.
    pub fn get_mut(&mut self) -> &mut D {
        &mut self.device
    }
}

impl<D: Device> Device for Steered<D> {
    type RxToken<'a>
        = RxToken<'a, D::RxToken<'a>>
    where
        D: 'a;
    type TxToken<'a>
        = TxToken<'a, D::TxToken<'a>>
    where
        D: 'a;

    fn receive(&mut self, now: Instant) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        let (watch, now_ns) = (&self.watch, time(now));
        let (rx, tx) = self.device.receive(now)?;
        Some((RxToken { inner: rx, watch, now: now_ns }, TxToken { inner: tx, watch, now: now_ns }))
    }

    fn transmit(&mut self, now: Instant) -> Option<Self::TxToken<'_>> {
        let inner = self.device.transmit(now)?;
        Some(TxToken { inner, watch: &self.watch, now: time(now) })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        self.device.capabilities()
    }
}

/// A received frame, inspected on its way to the stack.
#[derive(Debug)]
pub struct RxToken<'a, T> {
    inner: T,
    watch: &'a RefCell<Watch>,
    now: Time,
}

impl<T: phy::RxToken> phy::RxToken for RxToken<'_, T> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        let RxToken { inner, watch, now } = self;
        inner.consume(|frame| {
            watch.borrow_mut().on_receive(now, frame);
            f(frame)
        })
    }

    fn meta(&self) -> phy::PacketMeta {
        self.inner.meta()
    }
}

/// A frame to transmit, inspected after the stack.
#[derive(Debug)]
pub struct TxToken<'a, T> {
    inner: T,
    watch: &'a RefCell<Watch>,
    now: Time,
}

impl<T: phy::TxToken> phy::TxToken for TxToken<'_, T> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let TxToken { inner, watch, now } = self;
        inner.consume(len, |frame| {
            let result = f(frame);
            watch.borrow_mut().on_transmit(now, frame);
            result
        })
    }

    fn set_meta(&mut self, meta: phy::PacketMeta) {
        self.inner.set_meta(meta);
    }
}
