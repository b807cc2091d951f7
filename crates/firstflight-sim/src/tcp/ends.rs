//! Both ends of a TCP connection, as a flow drives them.

use super::{
    AckEvery, AckPacket, Buffer, Host, Reads, Receiver, SackCompression, Segment, Sender, Transmit,
    ticks,
};
use crate::access::Lie;
use crate::app::App;
use crate::audit::walk_is_due;
use crate::counters::Counters;
use crate::flow::{self, forward_bursts_to_sender, forward_to_sender};
use crate::instrumented::{Combined, Company, Core};
use crate::limited::Limited;
use crate::observe::{Nobody, Record};
use firstflight::account::{Account, Kept};
use firstflight::detection::{Flags, Id, Scoreboard, SendOrder};
use firstflight::{Ack, Nanos, Time};
use firstflight_path::{Acks, Error, Path, Rwnd};

/// Sender and receiver.
#[derive(Debug)]
pub struct Ends<S: Combined, L = Nobody> {
    header: u32,
    object: u64,
    buffer: Buffer,
    sender: Sender<S, L>,
    receiver: Receiver,
    /// False claims of the receiver.
    lie: Option<Lie>,
    /// Sequence number that it has falsely acknowledged, and the time at which it may renege again.
    claimed: u64,
    renege_at: Time,
}

/// One TCP flow.
pub type Flow<S, L = Nobody> = flow::Flow<Ends<S, L>>;

impl<S: Combined, L> Ends<S, L> {
    fn new(host: Host, sender: Sender<S, L>, object: u64) -> Ends<S, L> {
        let receiver = Receiver::new(&host);
        Ends {
            header: host.header,
            object,
            buffer: host.send_buffer,
            sender,
            receiver,
            lie: None,
            claimed: 0,
            renege_at: Time(0),
        }
    }
}

impl<S: Combined, L: Company<S>> Ends<S, L> {
    /// A segment arrives at a misbehaving receiver.
    #[cold]
    fn lied(&mut self, now: Time, segment: &Segment) -> Option<AckPacket> {
        match self.lie {
            Some(Lie::Optimistic) => {
                _ = self.receiver.on_segment(now, segment);
                let more = self.claimed + Lie::AHEAD * u64::from(segment.len);
                let end = self.sender.board().nxt().min(more);
                let news = end > self.claimed;
                self.claimed = end;
                news.then(|| self.receiver.claim(now, segment, end))
            }
            Some(Lie::Reneges(every)) => {
                if now >= self.renege_at && self.receiver.renege() {
                    self.renege_at = now + every;
                }
                self.receiver.on_segment(now, segment)
            }
            _ => self.receiver.on_segment(now, segment),
        }
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
        Host { ack_every: AckEvery::Bytes(bytes), ack_delay: hold, ..self }
    }

    /// Applies the receiver behaviour that the path specifies.
    #[must_use]
    pub fn receiving(self, path: &Path) -> Host {
        let counting = match path.acks() {
            Some(Acks::Every(packets)) => {
                Host { ack_every: AckEvery::Segments(packets as u32), ..self }
            }
            Some(Acks::PerRtt(times)) => Host {
                ack_every: AckEvery::Segments(u32::MAX),
                ack_delay: path.rtt() / times.max(1),
                ..self
            },
            None => self,
        };
        let merging = path
            .receive_aggregation()
            .map_or(counting, |(hold, bytes)| counting.merging(hold, bytes));
        let given = path.sack_compression().map(|(hold, most)| SackCompression {
            hold,
            most: u32::try_from(most).unwrap_or(u32::MAX),
        });
        Host { comp_sack: given.or(self.comp_sack), ..merging }
    }

    /// Gives the receiver the buffer and the application that the path specifies; the sender knows
    /// the first window from the handshake.
    #[must_use]
    pub fn allowing(self, path: &Path) -> Host {
        let buffer = path.rwnd().map(|rwnd| match rwnd {
            Rwnd::Fixed(bytes) => Buffer::Payload(bytes),
            Rwnd::Auto(max) => Buffer::Tuned { max },
        });
        let reads = path.read_bps().map(|bps| Reads { bps, rtt: path.rtt() });
        Host {
            receive_buffer: buffer.unwrap_or(self.receive_buffer),
            reads: reads.or(self.reads),
            ..self
        }
    }
}

impl<S: Combined, L: Company<S>> flow::Ends for Ends<S, L> {
    type Startup = S;
    type Data = Segment;
    type Ack = AckPacket;
    type Sent = Transmit;

    forward_to_sender!();

    fn establish(&mut self, now: Time, handshake_rtt: Nanos, late: bool) {
        self.sender.establish(now, handshake_rtt, late);
    }
    #[inline]
    fn packet(&self, sent: &Transmit, marked: bool) -> Segment {
        Segment { marked, ..sent.segment }
    }
    #[inline]
    fn data_len(&self, sent: &Transmit) -> u32 {
        sent.segment.len + self.header
    }
    fn offset(&self, sent: &Transmit) -> u64 {
        sent.segment.from
    }
    fn payload(&self, sent: &Transmit) -> u64 {
        u64::from(sent.segment.len)
    }
    fn number(&self, sent: &Transmit) -> u64 {
        self.sender.board().ordinal(sent.id)
    }
    fn is_repeat(&self, sent: &Transmit) -> bool {
        sent.repeat
    }
    fn on_dropped(&mut self, sent: &Transmit, left: Time) {
        self.sender.on_dropped(sent, left);
    }
    #[inline(always)]
    fn on_data(&mut self, now: Time, segment: &Segment) -> Option<AckPacket> {
        if self.lie.is_some() {
            self.lied(now, segment)
        } else {
            self.receiver.on_segment(now, segment)
        }
    }
    #[inline]
    fn ack_due(&self) -> Option<Time> {
        self.receiver.ack_due()
    }
    fn acknowledge(&mut self, now: Time) -> AckPacket {
        self.receiver.acknowledge(now)
    }
    #[inline]
    fn ack_len(&self, ack: &AckPacket) -> u32 {
        self.header + ack.option_bytes()
    }
    #[inline]
    fn is_pure(ack: &AckPacket) -> bool {
        // A block is repeated, but not for ever.
        ack.count == 0
    }
    #[inline(always)]
    fn on_ack(&mut self, now: Time, ack: &AckPacket, record: &mut Ack) -> bool {
        self.sender.hear(now, ack, record)
    }
    #[inline]
    fn has_all(&self) -> bool {
        self.receiver.delivered() >= self.object
    }
    #[inline]
    fn delivered(&self) -> u64 {
        self.receiver.delivered()
    }
    fn acked(&self) -> u64 {
        self.sender.una()
    }
    fn accepts(&self) -> u64 {
        let una = self.sender.una();
        if self.buffer == Buffer::Unlimited {
            una
        } else {
            una.saturating_add(self.sender.send_window())
        }
    }

    fn misbehave(&mut self, lie: Lie) {
        self.lie = Some(lie);
        if let Lie::Reneges(every) = lie {
            self.renege_at = Time(every.0);
        }
    }

    fn verify(&self, now: Time) {
        let (board, receiver) = (self.sender.board(), &self.receiver);
        let (una, arrived, nxt) = (board.una(), receiver.delivered(), board.nxt());
        assert!(
            una <= arrived && arrived <= nxt,
            "{nxt} bytes were sent, {arrived} arrived in order, {una} are acknowledged"
        );
        if walk_is_due(now.0 ^ board.next_sent(), board.segments()) {
            assert!(board.is_consistent(), "totals and marks disagree: {:?}", board.ledger());
            for id in (board.first().0..board.next().0).map(Id) {
                assert!(
                    !board.flags(id).has(Flags::SACKED)
                        || receiver.has(board.start(id).0, board.end(id).0),
                    "{id:?} is SACKed and the receiver has it not"
                );
            }
        }
    }
}

impl<S: Combined, L: Company<S>> flow::Bursts for Ends<S, L> {
    forward_bursts_to_sender!();

    #[inline(always)]
    fn burst_len(&self) -> u32 {
        self.sender.segment_bytes() + self.header
    }
    #[inline(always)]
    fn runs(&self) -> Option<Nanos> {
        if self.lie.is_none() { self.receiver.runs(self.sender.board().nxt()) } else { None }
    }
    #[inline(always)]
    fn until_ack(&self) -> u64 {
        self.receiver.until_ack(u64::from(self.sender.segment_bytes()))
    }
    #[inline(always)]
    fn on_run(&mut self, sent: Time, count: u64, first: Time, last: Time) -> Option<AckPacket> {
        self.receiver.on_run(
            ticks(sent),
            count * u64::from(self.sender.segment_bytes()),
            count,
            (first, last),
        )
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
        let host = host.allowing(path);
        let sender = Sender::unopened(host, controller, pacer_burst, object).in_company(company);
        Ends::new(host.receiving(path), sender, object)
    }
    fn carrying(host: Host, app: &App) -> Result<Host, Error> {
        match app {
            App::Nada { .. } => Err(Error::new("media:nada: only QUIC carries it here")),
            _ => Ok(host),
        }
    }
    fn fit(_host: Host, app: App) -> App {
        app
    }
    fn company(&mut self) -> &mut L {
        self.sender.recorder()
    }
}
