//! What a flow drives: sender and receiver of one transport.

use crate::access::Lie;
use crate::app::App;
use crate::instrumented::{Combined, Core};
use crate::observe::Record;
use crate::outcome::Outcome;
use crate::pool::Plain;
use firstflight::account::{Account, Kept};
use firstflight::{Ack, Nanos, Time};
use firstflight_path::{Error, Path, Stream};

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

    /// The sender's handshake is over at `now` and gave an RTT sample. `late`: that is not when its
    /// controller was made to start.
    fn establish(&mut self, now: Time, handshake_rtt: Nanos, late: bool);
    /// The sender's controller.
    fn controller(&self) -> &Core<Self::Startup>;
    /// What that has been through.
    fn account(&self) -> &Account<Vec<Kept>>;
    /// The next thing that it was told since this was last asked, if somebody keeps that.
    fn next_record(&mut self) -> Option<Record>;
    /// The next packet that may leave now, if any; asked again until it returns `None`.
    fn poll(&mut self, now: Time) -> Option<Self::Sent>;
    /// How many packets may leave now, at most `most`, one like the other and each as [`Ends::poll`] would
    /// give it; `None` where that must be asked for each. They are taken one by one
    /// ([`Ends::next_of_burst`]), and then the burst is over ([`Ends::end_burst`]).
    fn burst(&mut self, now: Time, most: u64) -> Option<u64>;
    /// The next one.
    fn next_of_burst(&mut self, now: Time) -> Self::Sent;
    /// IP bytes of each.
    fn burst_len(&self) -> u32;
    /// If what leaves next is also what its receiver expects next, and that knows nothing but how many came:
    /// for how long it holds an ACK back at most. Then the burst may arrive in runs ([`Ends::on_run`]) and
    /// be taken at once ([`Ends::take_burst`]).
    fn runs(&self) -> Option<Nanos>;
    /// After how many more in order the receiver acknowledges at once; at least 1.
    fn until_ack(&self) -> u64;
    /// The next `count` packets, at most [`Ends::until_ack`], arrive in order, sent at `sent`, from `first`
    /// to `last`. Returns the ACK that leaves with the last, if one does.
    fn on_run(&mut self, sent: Time, count: u64, first: Time, last: Time) -> Option<Self::Ack>;
    /// Takes this many of a burst at once, as [`Ends::next_of_burst`] does one.
    fn take_burst(&mut self, now: Time, count: u64);
    /// So many have left.
    fn end_burst(&mut self, now: Time, count: u64);
    /// After [`Ends::burst`] and what it gave: whether nothing more may leave now, with everything done that
    /// [`Ends::poll`] does where it says so. `false` where that must be asked.
    fn is_blocked(&mut self, now: Time) -> bool;
    /// After [`Ends::is_blocked`] when nothing has happened since but that its pacer releases at `now`: the
    /// next burst is one packet. `false` where [`Ends::burst`] must be asked.
    fn release(&mut self, now: Time) -> bool;
    /// What travels of it.
    fn packet(&self, sent: &Self::Sent, marked: bool) -> Self::Data;
    /// Its IP bytes.
    fn data_len(&self, sent: &Self::Sent) -> u32;
    /// The place of its first byte in the stream.
    fn offset(&self, sent: &Self::Sent) -> u64;
    /// Bytes of the stream in it.
    fn payload(&self, sent: &Self::Sent) -> u64;
    /// Its packet number (QUIC) or the ordinal of the transmission (TCP).
    fn number(&self, sent: &Self::Sent) -> u64;
    /// It was sent before.
    fn is_repeat(&self, sent: &Self::Sent) -> bool;
    /// The path dropped what left at `left` (ground truth; the sender itself does not know).
    fn on_dropped(&mut self, sent: &Self::Sent, left: Time);
    /// A data packet arrives. Returns the ACK that leaves at once, if one does.
    fn on_data(&mut self, now: Time, data: &Self::Data) -> Option<Self::Ack>;
    /// The same of what travels of this packet.
    #[inline(always)]
    fn on_sent_data(&mut self, now: Time, sent: &Self::Sent, marked: bool) -> Option<Self::Ack> {
        let data = self.packet(sent, marked);
        self.on_data(now, &data)
    }
    /// When a held-back ACK must leave.
    fn ack_due(&self) -> Option<Time>;
    /// It leaves.
    fn acknowledge(&mut self, now: Time) -> Self::Ack;
    /// IP bytes of an ACK.
    fn ack_len(&self, ack: &Self::Ack) -> u32;
    /// A later ACK says everything this one says.
    fn is_pure(ack: &Self::Ack) -> bool;
    /// An ACK arrives. Returns whether a record was given to the controller: it is in `record`, which was
    /// as new.
    fn on_ack(&mut self, now: Time, ack: &Self::Ack, record: &mut Ack) -> bool;
    /// When the pacer releases the next packet, if that is what the sender waits for.
    fn release_at(&self) -> Option<Time>;
    /// When the sender's timer fires.
    fn timer_at(&self) -> Option<Time>;
    /// It fires.
    fn on_timer(&mut self, now: Time) -> Option<Ack>;
    /// Every byte of the object is acknowledged.
    fn complete(&self) -> bool;
    /// The whole object has reached the receiver.
    fn has_all(&self) -> bool;
    /// Bytes of the stream delivered in order at the receiver.
    fn delivered(&self) -> u64;
    /// Bytes of the stream acknowledged without a gap at the sender.
    fn acked(&self) -> u64;
    /// How far into the stream the sender's buffer lets the application write.
    fn accepts(&self) -> u64;
    /// The application has written the stream up to here.
    fn write(&mut self, written: u64);
    /// Bytes in flight.
    fn inflight(&self) -> u64;
    /// Smallest RTT.
    fn min_rtt(&self) -> Option<Nanos>;
    /// When the first packet left.
    fn first_sent(&self) -> Option<Time>;
    /// Its receiver misbehaves from now on.
    fn misbehave(&mut self, lie: Lie);
    /// Its sender skips packet numbers, one in so many on average, from the first on. A transport
    /// without them does not.
    fn skip_numbers(&mut self, mean: u64, draws: Stream) {
        _ = (mean, draws);
    }
    /// The sender has closed the connection before its end.
    fn is_closed(&self) -> bool {
        false
    }
    /// Packets that the sender knows to have arrived, as the receiver counts them; 0 of a transport
    /// that does not know.
    fn heard(&self) -> u64 {
        0
    }
    /// The number of a packet that arrives, and whether it is marked; `None` of a transport whose
    /// packets have no numbers.
    fn arriving(&self, data: &Self::Data) -> Option<(u64, bool)> {
        _ = data;
        None
    }
    /// Bytes of the stream in a full packet.
    fn room(&self) -> u64 {
        1
    }
    /// Fills in what the transport counted.
    fn count(&self, outcome: &mut Outcome);
    /// Panics if the two ends contradict each other: what the sender believes the receiver to have,
    /// it has. Called after every event of a build with debug assertions.
    fn verify(&self, now: Time) {
        _ = now;
    }
}

/// Ends that are made around a controller.
pub trait Hosted<L>: Ends + Sized {
    /// Sizes and timers of both hosts.
    type Host: Copy;

    /// Between hosts of this kind on this path, with a handshake that is not over, for `object`
    /// bytes; `company` goes along with the controller.
    fn between(
        host: Self::Host,
        path: &Path,
        controller: Core<Self::Startup>,
        pacer_burst: u64,
        object: u64,
        company: L,
    ) -> Self;
    /// The hosts of a flow with this application, whose packets may have a size of their own.
    ///
    /// # Errors
    /// If this transport does not carry it.
    fn carrying(host: Self::Host, app: &App) -> Result<Self::Host, Error>;
    /// What the application writes, as this transport sends it.
    fn fit(host: Self::Host, app: App) -> App;
    /// Those that go along with the controller.
    fn company(&mut self) -> &mut L;
}
