//! The two ends that a flow drives: the sender and the receiver of one transport.

use crate::access::Lie;
use crate::app::App;
use crate::counters::Counters;
use crate::instrumented::{Combined, Core};
use crate::limited::Limited;
use crate::observe::Record;
use crate::pool::Plain;
use firstflight::account::{Account, Kept};
use firstflight::detection::ecn::Failure;
use firstflight::{Ack, Nanos, Time};
use firstflight_path::{Ect, Error, Path, Stream};

/// A sender and a receiver of one transport.
pub trait Ends {
    /// The startup of the sender's controller.
    type Startup: Combined;
    /// A data packet as it travels.
    type Data: Plain;
    /// An ACK as it travels.
    type Ack: Plain;
    /// A data packet as the sender knows it.
    type Sent: Copy;

    /// The sender's handshake is complete at `now` and gave an RTT sample. `late`: `now` differs
    /// from the start time that its controller was created for.
    fn establish(&mut self, now: Time, handshake_rtt: Nanos, late: bool);
    /// The sender's controller.
    fn controller(&self) -> &Core<Self::Startup>;
    /// History of that controller.
    fn account(&self) -> &Account<Vec<Kept>>;
    /// The next event that the controller received, if the events are recorded; each is returned
    /// once.
    fn next_record(&mut self) -> Option<Record>;
    /// The next packet that may leave now, if any; asked again until it returns `None`.
    fn poll(&mut self, now: Time) -> Option<Self::Sent>;
    /// The packet as it travels.
    fn packet(&self, sent: &Self::Sent, marked: bool) -> Self::Data;
    /// IP bytes of the packet.
    fn data_len(&self, sent: &Self::Sent) -> u32;
    /// Offset of its first byte in the stream.
    fn offset(&self, sent: &Self::Sent) -> u64;
    /// Stream bytes in the packet.
    fn payload(&self, sent: &Self::Sent) -> u64;
    /// Its packet number (QUIC) or the ordinal of the transmission (TCP).
    fn number(&self, sent: &Self::Sent) -> u64;
    /// Whether its data was sent before.
    fn is_repeat(&self, sent: &Self::Sent) -> bool;
    /// The path dropped the packet that left at `left` (ground truth; the sender itself does not
    /// know).
    fn on_dropped(&mut self, sent: &Self::Sent, left: Time);
    /// A data packet arrives. Returns the ACK that leaves at once, if one does.
    fn on_data(&mut self, now: Time, data: &Self::Data) -> Option<Self::Ack>;
    /// When a held-back ACK must leave.
    fn ack_due(&self) -> Option<Time>;
    /// The held-back ACK leaves.
    fn acknowledge(&mut self, now: Time) -> Self::Ack;
    /// IP bytes of an ACK.
    fn ack_len(&self, ack: &Self::Ack) -> u32;
    /// Whether a later ACK contains all of its information.
    fn is_pure(ack: &Self::Ack) -> bool;
    /// An ACK arrives. Returns whether the controller received a record; it is then in `record`,
    /// which must be the default before the call.
    fn on_ack(&mut self, now: Time, ack: &Self::Ack, record: &mut Ack) -> bool;
    /// When the pacer releases the next packet, if the sender is waiting for it.
    fn release_at(&self) -> Option<Time>;
    /// When the sender's timer fires.
    fn timer_at(&self) -> Option<Time>;
    /// The sender's timer fires.
    fn on_timer(&mut self, now: Time) -> Option<Ack>;
    /// Whether every byte of the object is acknowledged.
    fn complete(&self) -> bool;
    /// Whether the whole object has reached the receiver.
    fn has_all(&self) -> bool;
    /// Bytes of the stream delivered in order at the receiver.
    fn delivered(&self) -> u64;
    /// Bytes of the stream acknowledged without a gap at the sender.
    fn acked(&self) -> u64;
    /// Stream offset up to which the sender's buffer lets the application write.
    fn accepts(&self) -> u64;
    /// The application has written the stream up to here.
    fn write(&mut self, written: u64);
    /// Bytes in flight.
    fn inflight(&self) -> u64;
    /// Smallest RTT.
    fn min_rtt(&self) -> Option<Nanos>;
    /// When the first packet left.
    fn first_sent(&self) -> Option<Time>;
    /// Makes its receiver misbehave from now on.
    fn misbehave(&mut self, lie: Lie);
    /// Makes its sender skip packet numbers from the first packet on, on average one in `mean`.
    /// Does nothing in transports without packet numbers.
    fn skip_numbers(&mut self, mean: u64, draws: Stream) {
        _ = (mean, draws);
    }
    /// Whether the sender has closed the connection early.
    fn is_closed(&self) -> bool {
        false
    }
    /// Packets that the sender knows to have arrived, in the receiver's count; 0 if the transport
    /// does not know.
    fn heard(&self) -> u64 {
        0
    }
    /// The number of an arriving packet, and whether it is ECN-marked; `None` if the transport's
    /// packets have no numbers.
    fn arriving(&self, data: &Self::Data) -> Option<(u64, bool)> {
        _ = data;
        None
    }
    /// Why the sender stopped using ECN.
    fn ecn_failure(&self) -> Option<Failure> {
        None
    }
    /// Whether the packet that was polled last may be marked.
    #[inline]
    fn ect(&self) -> Ect {
        Ect::AsThePath
    }
    /// Bytes of the stream in a full packet.
    fn room(&self) -> u64 {
        1
    }
    /// The sender's counters.
    fn counters(&self) -> Counters;
    /// For how long each reason kept the sender from sending, up to `now`.
    fn limited(&self, now: Time) -> Limited;
    /// Panics if the two ends contradict each other: the receiver must have all data that the
    /// sender believes it has. Called after every event in builds with debug assertions.
    fn verify(&self, now: Time) {
        _ = now;
    }
}

/// Ends that also send in bursts.
pub trait Bursts: Ends {
    /// Number of packets, at most `most`, that may leave now, all alike and each as [`Ends::poll`]
    /// would return it; `None` if each packet must be polled. The caller takes them one by one
    /// ([`Bursts::next_of_burst`]) and then ends the burst ([`Bursts::end_burst`]).
    fn burst(&mut self, now: Time, most: u64) -> Option<u64>;
    /// The next packet of the burst.
    fn next_of_burst(&mut self, now: Time) -> Self::Sent;
    /// IP bytes of each packet of the burst.
    fn burst_len(&self) -> u32;
    /// If the next packets to leave are also the next that the receiver expects, and the receiver's
    /// state depends only on how many arrived: the longest time that it delays an ACK. Then the
    /// burst may arrive in runs ([`Bursts::on_run`]) and be taken as a whole ([`Bursts::take_burst`]).
    fn runs(&self) -> Option<Nanos>;
    /// Number of further in-order packets after which the receiver acknowledges at once; at least
    /// 1.
    fn until_ack(&self) -> u64;
    /// The next `count` packets, at most [`Bursts::until_ack`], were sent at `sent` and arrive in
    /// order, from `first` to `last`. Returns the ACK that leaves with the last packet, if one
    /// does.
    fn on_run(&mut self, sent: Time, count: u64, first: Time, last: Time) -> Option<Self::Ack>;
    /// Takes this many packets of a burst at once, as [`Bursts::next_of_burst`] takes one.
    fn take_burst(&mut self, now: Time, count: u64);
    /// Ends a burst of this many packets.
    fn end_burst(&mut self, now: Time, count: u64);
    /// After [`Bursts::burst`] and the packets it returned: whether nothing more may leave now. If
    /// so, the sender has done what [`Ends::poll`] does before it returns `None`. `false` if
    /// [`Ends::poll`] must be called to find out.
    fn is_blocked(&mut self, now: Time) -> bool;
    /// Whether the next burst is one packet, the one that the pacer releases at `now`, provided that
    /// nothing else has happened since [`Bursts::is_blocked`]. `false` if [`Bursts::burst`] must be
    /// called.
    fn release(&mut self, now: Time) -> bool;
    /// Like [`Ends::on_data`], for a packet as the sender knows it.
    #[inline(always)]
    fn on_sent_data(&mut self, now: Time, sent: &Self::Sent, marked: bool) -> Option<Self::Ack> {
        let data = self.packet(sent, marked);
        self.on_data(now, &data)
    }
}

/// Ends that can be created for a given controller.
pub trait Hosted<L>: Bursts + Sized {
    /// Sizes and timers of both hosts.
    type Host: Copy;

    /// Creates the ends between hosts of this kind on this path, for `object` bytes, before the
    /// handshake; `company` follows the controller.
    fn between(
        host: Self::Host,
        path: &Path,
        controller: Core<Self::Startup>,
        pacer_burst: u64,
        object: u64,
        company: L,
    ) -> Self;
    /// The hosts of a flow with this application, which may set its own packet size.
    ///
    /// # Errors
    /// If this transport cannot carry the application.
    fn carrying(host: Self::Host, app: &App) -> Result<Self::Host, Error>;
    /// The application's writes as this transport sends them.
    fn fit(host: Self::Host, app: App) -> App;
    /// The followers of the controller.
    fn company(&mut self) -> &mut L;
}

/// The methods of [`Ends`] that ends leave to their `sender`.
macro_rules! forward_to_sender {
    () => {
        fn controller(&self) -> &Core<S> {
            self.sender.controller()
        }
        fn account(&self) -> &Account<Vec<Kept>> {
            self.sender.account()
        }
        fn next_record(&mut self) -> Option<Record> {
            self.sender.recorder().next()
        }
        #[inline(always)]
        fn poll(&mut self, now: Time) -> Option<Transmit> {
            self.sender.poll(now)
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
        fn counters(&self) -> Counters {
            self.sender.counters()
        }
        fn limited(&self, now: Time) -> Limited {
            self.sender.limited(now)
        }
    };
}

/// The methods of [`Bursts`] that ends leave to their `sender`.
macro_rules! forward_bursts_to_sender {
    () => {
        #[inline(always)]
        fn burst(&mut self, now: Time, most: u64) -> Option<u64> {
            self.sender.burst(now, most)
        }
        #[inline(always)]
        fn next_of_burst(&mut self, now: Time) -> Transmit {
            self.sender.next_of_burst(now)
        }
        #[inline(always)]
        fn take_burst(&mut self, now: Time, count: u64) {
            self.sender.take_burst(now, count);
        }
        #[inline(always)]
        fn end_burst(&mut self, now: Time, count: u64) {
            self.sender.end_burst(now, count);
        }
        #[inline(always)]
        fn is_blocked(&mut self, now: Time) -> bool {
            self.sender.is_blocked(now)
        }
        #[inline(always)]
        fn release(&mut self, now: Time) -> bool {
            self.sender.release(now)
        }
    };
}

pub(crate) use {forward_bursts_to_sender, forward_to_sender};
