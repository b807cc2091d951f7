//! Both ends of a QUIC connection, as a flow drives them.

use super::flow_control::{FlowControl, Receive};
use super::frequency::Request;
use super::{AckPacket, Host, Receiver, Sender, Transmit};
use crate::access::Lie;
use crate::app::App;
use crate::counters::Counters;
use crate::flow::{self, forward_bursts_to_sender, forward_to_sender};
use crate::instrumented::{Combined, Company, Core};
use crate::limited::Limited;
use crate::media;
use crate::observe::{Nobody, Record};
use firstflight::account::{Account, Kept};
use firstflight::detection::ecn::Failure;
use firstflight::{Ack, Nanos, Time};
use firstflight_path::{Acks, Ecn, Ect, Error, Path, Rwnd, Stream};

/// Sender and receiver.
#[derive(Debug)]
#[repr(C)]
pub struct Ends<S: Combined, L = Nobody> {
    receiver: Receiver,
    object: u64,
    /// Object bytes per packet.
    payload: u64,
    /// Packets needed for the object.
    chunks: u64,
    /// Bytes that a link adds to a datagram, and IP bytes of an ACK packet.
    lower: u32,
    ack_packet: u32,
    sender: Sender<S, L>,
    flow: Option<Box<FlowControl>>,
    /// An ACK_FREQUENCY frame that the receiver has not seen yet.
    request: Option<Request>,
    /// False claims of the receiver.
    lie: Option<Lie>,
}

/// One QUIC flow.
pub type Flow<S, L = Nobody> = flow::Flow<Ends<S, L>>;

impl<S: Combined, L: Company<S>> Ends<S, L> {
    fn new(host: Host, mut sender: Sender<S, L>, object: u64) -> Ends<S, L> {
        let request = sender.ask();
        let (receiver, payload) = (Receiver::new(&host), host.payload());
        let Host { lower, ack_packet, .. } = host;
        let chunks = object.div_ceil(payload);
        let flow = host.receive.map(|receive| Box::new(FlowControl::new(&receive, payload)));
        let lie = None;
        Ends { receiver, object, payload, chunks, lower, ack_packet, sender, flow, request, lie }
    }

    /// Processes a packet at a receiver with flow control.
    #[inline(never)]
    fn take_limited(
        &mut self,
        now: Time,
        take: impl FnOnce(&mut Self) -> Option<AckPacket>,
    ) -> Option<AckPacket> {
        let before = flow::Ends::delivered(self);
        if let Some(flow) = &mut self.flow {
            flow.before_arrival(now, before);
        }
        let ack = take(self);
        let arrived = flow::Ends::delivered(self);
        let due = self.flow.as_mut().is_some_and(|flow| flow.update(now, arrived));
        let ack = ack.or_else(|| due.then(|| self.receiver.acknowledge(now)));
        ack.map(|ack| self.told(ack))
    }

    fn take(&mut self, now: Time, number: u64, chunk: u64, marked: bool) -> Option<AckPacket> {
        match self.lie {
            Some(Lie::Optimistic) => self.receiver.claim(now, chunk, self.sender.next_number()),
            _ => self.receiver.on_packet(now, number, chunk, marked),
        }
    }

    /// The ACK with the delay that the receiver claims, and with its limit.
    #[inline]
    fn told(&self, ack: AckPacket) -> AckPacket {
        let limit = self.flow.as_ref().map_or(ack.limit, |flow| flow.chunks());
        let ack_delay = if self.lie == Some(Lie::Delays) { u32::MAX } else { ack.ack_delay };
        AckPacket { ack_delay, limit, ..ack }
    }
}

/// A data packet in transit, in as few bits as distinguish it from the others in transit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// The low 31 bits of the packet number; the highest bit is the Congestion Experienced mark.
    number_and_mark: u32,
    /// The low bits of the index of the chunk that it carries.
    chunk: u32,
}

impl Packet {
    #[inline]
    fn new(number: u64, chunk: u64, marked: bool) -> Packet {
        Packet { number_and_mark: (number as u32) << 1 | u32::from(marked), chunk: chunk as u32 }
    }

    /// The packet number, at most 2^30 away from `near`.
    #[inline]
    fn number(self, near: u64) -> u64 {
        let away = (self.number_and_mark & !1).wrapping_sub((near as u32) << 1) as i32 >> 1;
        near.wrapping_add_signed(i64::from(away))
    }

    /// The index of its chunk, at most 2^31 away from `near`.
    #[inline]
    fn chunk(self, near: u64) -> u64 {
        near.wrapping_add_signed(i64::from(self.chunk.wrapping_sub(near as u32) as i32))
    }

    #[inline]
    fn marked(self) -> bool {
        self.number_and_mark & 1 == 1
    }
}

impl<S: Combined, L: Company<S>> Flow<S, L> {
    /// A flow of `object` bytes between two hosts.
    pub fn new(id: u32, host: Host, sender: Sender<S, L>, object: u64) -> Flow<S, L> {
        Flow::between(id, Ends::new(host, sender, object), object)
    }

    /// The sender.
    pub fn sender(&self) -> &Sender<S, L> {
        &self.ends.sender
    }

    /// The receiver.
    pub fn receiver(&self) -> &Receiver {
        &self.ends.receiver
    }
}

impl Host {
    /// Makes the receiver merge arrivals within `hold` ns, up to `bytes`, before it acknowledges.
    #[must_use]
    pub fn merging(self, hold: u64, bytes: u64) -> Host {
        let most = bytes / u64::from(self.datagram.max(1));
        Host {
            ack_every: self.ack_every.max(most.min(u64::from(u32::MAX)) as u32),
            max_ack_delay: hold,
            ..self
        }
    }

    /// Adapts the hosts to a path whose receiver acknowledges by time: the longest ACK delay is one
    /// of the receiver's transport parameters (RFC 9000 section 18.2), so the sender knows it, too.
    #[must_use]
    pub fn agreeing(self, path: &Path) -> Host {
        match path.acks() {
            Some(Acks::PerRtt(times)) => {
                Host { ack_every: u32::MAX, max_ack_delay: path.rtt() / times.max(1), ..self }
            }
            _ => self,
        }
    }

    /// Gives the receiver the flow control that the path specifies: its first limit is one of the
    /// transport parameters, which the sender knows.
    #[must_use]
    pub fn allowing(self, path: &Path) -> Host {
        let (read, rtt) = (path.read_bps(), path.rtt());
        let receive = path.rwnd().map(|rwnd| match rwnd {
            Rwnd::Fixed(bytes) => Receive::fixed(bytes.max(2 * self.payload()), read, rtt),
            Rwnd::Auto(most) => Receive::tuned(most, read, rtt),
        });
        Host { receive: receive.or(self.receive), ..self }
    }

    /// Applies the receiver behaviour that the path specifies.
    #[must_use]
    pub fn receiving(self, path: &Path) -> Host {
        let counting = match path.acks() {
            Some(Acks::Every(packets)) => Host { ack_every: packets as u32, ..self },
            _ => self.agreeing(path),
        };
        path.receive_aggregation().map_or(counting, |(hold, bytes)| counting.merging(hold, bytes))
    }
}

impl<S: Combined, L: Company<S>> flow::Ends for Ends<S, L> {
    type Startup = S;
    type Data = Packet;
    type Ack = AckPacket;
    type Sent = Transmit;

    forward_to_sender!();

    fn establish(&mut self, now: Time, handshake_rtt: Nanos, late: bool) {
        self.sender.establish(now, handshake_rtt, late);
        self.request = self.sender.ask();
    }
    #[inline]
    fn packet(&self, sent: &Transmit, marked: bool) -> Packet {
        Packet::new(sent.number, sent.chunk, marked)
    }
    #[inline]
    fn data_len(&self, sent: &Transmit) -> u32 {
        sent.bytes + self.lower
    }
    fn offset(&self, sent: &Transmit) -> u64 {
        sent.chunk * self.payload
    }
    fn payload(&self, sent: &Transmit) -> u64 {
        u64::from(sent.bytes - self.sender.overhead())
    }
    fn number(&self, sent: &Transmit) -> u64 {
        sent.number
    }
    fn is_repeat(&self, sent: &Transmit) -> bool {
        self.sender.is_repeat(sent.number)
    }
    fn on_dropped(&mut self, sent: &Transmit, _left: Time) {
        self.sender.on_dropped(sent.number);
    }
    #[inline(always)]
    fn on_data(&mut self, now: Time, data: &Packet) -> Option<AckPacket> {
        let (number, chunk) =
            (data.number(self.receiver.largest()), data.chunk(self.receiver.in_order_chunks()));
        if let Some(request) = self.request.take_if(|request| number >= request.from) {
            self.receiver.obey(now, request);
        }
        let marked = data.marked();
        if self.flow.is_some() {
            return self.take_limited(now, |ends| ends.take(now, number, chunk, marked));
        }
        if self.lie.is_none() {
            return self.receiver.on_packet(now, number, chunk, marked);
        }
        let ack = self.take(now, number, chunk, marked);
        ack.map(|ack| self.told(ack))
    }
    #[inline]
    fn ack_due(&self) -> Option<Time> {
        let due = self.receiver.ack_due();
        match &self.flow {
            None => due,
            Some(flow) => due.into_iter().chain(flow.update_at()).min(),
        }
    }
    fn acknowledge(&mut self, now: Time) -> AckPacket {
        let arrived = flow::Ends::delivered(self);
        if let Some(flow) = &mut self.flow {
            flow.update(now, arrived);
        }
        let ack = self.receiver.acknowledge(now);
        self.told(ack)
    }
    #[inline]
    fn ack_len(&self, _ack: &AckPacket) -> u32 {
        self.ack_packet
    }
    #[inline]
    fn is_pure(_ack: &AckPacket) -> bool {
        // Ranges are repeated until they are known to have arrived.
        true
    }
    #[inline(always)]
    fn on_ack(&mut self, now: Time, ack: &AckPacket, record: &mut Ack) -> bool {
        if self.flow.is_some() {
            self.sender.allow(ack.limit);
        }
        let told = self.sender.hear(now, *ack, &mut self.receiver, record);
        if let Some(request) = self.sender.ask() {
            self.request = Some(request);
        }
        told
    }
    #[inline]
    fn has_all(&self) -> bool {
        self.receiver.in_order_chunks() >= self.chunks
    }
    #[inline]
    fn delivered(&self) -> u64 {
        (self.receiver.in_order_chunks() * self.payload).min(self.object)
    }
    fn acked(&self) -> u64 {
        self.sender.acked()
    }
    fn accepts(&self) -> u64 {
        // The simulator models no send buffer: acknowledged data counts as taken.
        self.sender.acked()
    }

    fn misbehave(&mut self, lie: Lie) {
        self.lie = Some(lie);
    }
    fn skip_numbers(&mut self, mean: u64, draws: Stream) {
        self.sender.skip_numbers(mean, draws);
    }
    #[inline]
    fn is_closed(&self) -> bool {
        self.sender.caught()
    }

    fn heard(&self) -> u64 {
        self.sender.heard()
    }
    fn arriving(&self, data: &Packet) -> Option<(u64, bool)> {
        Some((data.number(self.receiver.largest()), data.marked()))
    }
    fn ecn_failure(&self) -> Option<Failure> {
        self.sender.ecn_failure()
    }
    #[inline]
    fn ect(&self) -> Ect {
        self.sender.ect()
    }
    fn room(&self) -> u64 {
        self.payload
    }

    fn verify(&self, _now: Time) {
        self.sender.verify(&self.receiver);
    }
}

impl<S: Combined, L: Company<S>> flow::Bursts for Ends<S, L> {
    forward_bursts_to_sender!();

    #[inline(always)]
    fn burst_len(&self) -> u32 {
        self.sender.whole_packet() as u32 + self.lower
    }
    #[inline(always)]
    fn runs(&self) -> Option<Nanos> {
        let plain = self.lie.is_none() && self.request.is_none() && self.flow.is_none();
        if plain {
            self.receiver.runs(self.sender.next_number(), self.sender.next_chunk())
        } else {
            None
        }
    }
    #[inline(always)]
    fn until_ack(&self) -> u64 {
        self.receiver.until_ack()
    }
    #[inline(always)]
    fn on_run(&mut self, sent: Time, count: u64, first: Time, last: Time) -> Option<AckPacket> {
        _ = sent;
        self.receiver.on_run(count, first, last)
    }
    #[inline(always)]
    fn on_sent_data(&mut self, now: Time, sent: &Transmit, marked: bool) -> Option<AckPacket> {
        debug_assert!(self.lie.is_none(), "a receiver that lies knows what has left");
        if let Some(request) = self.request.take_if(|request| sent.number >= request.from) {
            self.receiver.obey(now, request);
        }
        if self.flow.is_some() {
            let (number, chunk) = (sent.number, sent.chunk);
            return self.take_limited(now, |ends| ends.take(now, number, chunk, marked));
        }
        self.receiver.on_packet(now, sent.number, sent.chunk, marked)
    }
}

impl<S: Combined, L: Company<S>> flow::Hosted<L> for Ends<S, L> {
    type Host = Host;

    fn between(
        host: Host,
        path: &Path,
        controller: Core<S>,
        pacer_burst: u64,
        object: u64,
        company: L,
    ) -> Ends<S, L> {
        let host = host.agreeing(path).allowing(path);
        let mut sender =
            Sender::unopened(host, controller, pacer_burst, object).in_company(company);
        sender.expect_bleach(path.effects().ecn == Some(Ecn::Bleach));
        Ends::new(host.receiving(path), sender, object)
    }
    fn carrying(host: Host, app: &App) -> Result<Host, Error> {
        Ok(match app {
            App::Nada { .. } => Host { datagram: media::PACKET as u32 - host.lower, ..host },
            _ => host,
        })
    }
    fn fit(host: Host, app: App) -> App {
        app.in_packets(host.payload())
    }
    fn company(&mut self) -> &mut L {
        self.sender.recorder()
    }
}

#[cfg(test)]
mod tests {
    use super::Packet;

    #[test]
    fn a_packet_is_told_from_its_neighbours_wherever_their_numbers_are() {
        for near in [0_u64, 5, (1 << 31) - 2, 1 << 31, (1 << 32) - 1, (1 << 32) + 1, 1 << 40] {
            for away in [0_i64, 1, -1, 1_000_000, -1_000_000, (1 << 30) - 1, 1 - (1 << 30)] {
                let Some(number) = near.checked_add_signed(away) else { continue };
                for marked in [false, true] {
                    let packet = Packet::new(number, number, marked);
                    assert_eq!(
                        (packet.number(near), packet.chunk(near), packet.marked()),
                        (number, number, marked),
                        "{away} from {near}"
                    );
                }
            }
        }
    }
}
