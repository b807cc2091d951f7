//! Both ends of a QUIC connection, as a flow drives them.

use super::{AckPacket, Host, Receiver, Sender, Transmit};
use crate::flow;
use crate::outcome::Outcome;
use crate::told::{Core, Listener, Silent, Tape};
use firstflight::startup::Startup;
use firstflight::{Ack, Nanos, Time};

/// Sender and receiver.
#[derive(Debug)]
pub struct Ends<S: Startup, L = Silent> {
    /// Of the receiver.
    host: Host,
    object: u64,
    sender: Sender<S, L>,
    receiver: Receiver,
}

/// One QUIC flow.
pub type Flow<S, L = Silent> = flow::Flow<Ends<S, L>>;

/// A data packet on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Packet number.
    pub number: u64,
    /// Which chunk of the object it carries.
    pub chunk: u64,
    /// Congestion Experienced was set on the way.
    pub marked: bool,
}

impl<S: Startup, L: Listener<S>> Flow<S, L> {
    /// A flow of `object` bytes between two hosts.
    pub fn new(id: u32, host: Host, sender: Sender<S, L>, object: u64) -> Flow<S, L> {
        Flow::between(id, Ends { host, object, sender, receiver: Receiver::default() }, object)
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
    /// The same hosts with a receiver that merges what comes within `hold` ns, up to `bytes`, before it acknowledges.
    #[must_use]
    pub fn merging(self, hold: u64, bytes: u64) -> Host {
        let most = bytes / u64::from(self.datagram.max(1));
        Host { ack_every: self.ack_every.max(most.min(u64::from(u32::MAX)) as u32), max_ack_delay: hold, ..self }
    }
}

impl<S: Startup, L: Listener<S>> flow::Ends for Ends<S, L> {
    type Startup = S;
    type Data = Packet;
    type Ack = AckPacket;
    type Sent = Transmit;

    #[inline]
    fn controller(&self) -> &Core<S> {
        self.sender.controller()
    }
    fn tape(&mut self) -> Option<&mut Tape<S>> {
        self.sender.listener().tape()
    }
    #[inline]
    fn poll(&mut self, now: Time) -> Option<Transmit> {
        self.sender.poll(now)
    }
    #[inline]
    fn packet(&self, sent: &Transmit, marked: bool) -> Packet {
        Packet { number: sent.number, chunk: sent.chunk, marked }
    }
    #[inline]
    fn data_len(&self, sent: &Transmit) -> u32 {
        sent.bytes + self.host.lower
    }
    fn offset(&self, sent: &Transmit) -> u64 {
        sent.chunk * self.host.payload()
    }
    fn payload(&self, sent: &Transmit) -> u32 {
        sent.bytes - self.host.overhead
    }
    fn number(&self, sent: &Transmit) -> u64 {
        sent.number
    }
    fn is_repeat(&self, sent: &Transmit) -> bool {
        self.sender.is_repeat(sent.number)
    }
    fn on_dropped(&mut self, sent: &Transmit) {
        self.sender.on_dropped(sent.number);
    }
    #[inline]
    fn on_data(&mut self, now: Time, data: &Packet) -> Option<AckPacket> {
        self.receiver.on_packet(now, data.number, data.chunk, data.marked, &self.host)
    }
    #[inline]
    fn ack_due(&self) -> Option<Time> {
        self.receiver.ack_due()
    }
    fn acknowledge(&mut self, now: Time) -> AckPacket {
        self.receiver.acknowledge(now)
    }
    #[inline]
    fn ack_len(&self, _ack: &AckPacket) -> u32 {
        self.host.ack_packet
    }
    #[inline]
    fn is_pure(_ack: &AckPacket) -> bool {
        // Ranges are told until they are known to have arrived.
        true
    }
    #[inline]
    fn on_ack(&mut self, now: Time, ack: &AckPacket) -> Option<Ack> {
        self.sender.on_ack(now, *ack, &mut self.receiver)
    }
    #[inline]
    fn release_at(&self) -> Option<Time> {
        self.sender.release_at()
    }
    #[inline]
    fn timer_at(&self) -> Option<Time> {
        self.sender.timer_at()
    }
    fn on_timer(&mut self, now: Time) -> Option<Ack> {
        self.sender.on_timer(now)
    }
    #[inline]
    fn complete(&self) -> bool {
        self.sender.complete()
    }
    #[inline]
    fn delivered(&self) -> u64 {
        (self.receiver.in_order_chunks() * self.host.payload()).min(self.object)
    }
    fn acked(&self) -> u64 {
        self.sender.acked()
    }
    fn accepts(&self) -> u64 {
        // No send buffer is modelled: what is acknowledged was taken.
        self.sender.acked()
    }
    fn write(&mut self, written: u64) {
        self.sender.write(written);
    }
    #[inline]
    fn inflight(&self) -> u64 {
        self.sender.inflight()
    }
    fn min_rtt(&self) -> Option<Nanos> {
        self.sender.min_rtt()
    }
    fn first_sent(&self) -> Option<Time> {
        self.sender.first_sent()
    }

    fn count(&self, outcome: &mut Outcome) {
        let counters = self.sender.counters();
        let stats = self.sender.controller().stats();
        outcome.packets_sent = counters.packets_sent;
        outcome.packets_lost = counters.packets_lost;
        outcome.packets_dropped = counters.packets_dropped;
        outcome.spurious_losses = counters.spurious_losses;
        outcome.retransmitted_bytes = counters.retransmitted_bytes;
        outcome.lost_retransmissions = counters.lost_retransmissions;
        outcome.retransmissions = counters.retransmissions;
        outcome.rtos = counters.rtos;
        outcome.recoveries = u64::from(stats.loss_episodes);
        outcome.recoveries_below_ssthresh = counters.recoveries_below_ssthresh;
        outcome.undone = u64::from(stats.undone);
        outcome.episodes = self.sender.episodes().to_vec();
        outcome.cwnd_max = counters.cwnd_max;
    }
}
