//! Invariants of every trial: bytes leave the flight once, as acknowledged or as lost; packets are
//! neither invented nor forgotten; time never goes backwards. Checked in builds with debug
//! assertions; other builds contain none of it.

#[cfg(debug_assertions)]
pub(crate) use on::{Flight, Way};

#[cfg(not(debug_assertions))]
pub(crate) use off::{Flight, Way};

#[cfg(debug_assertions)]
mod on {
    use firstflight::{Event, Time};
    use std::collections::BTreeMap;

    /// Bytes in flight, according to the controller's events and to the packets that the stack
    /// named. Checked from the first packet after the start of the trial: the handshake's packets
    /// leave with their number space, which no stack reports.
    #[derive(Debug, Default)]
    pub(crate) struct Flight {
        /// Whether the trial has started.
        begun: bool,
        /// Whether a packet was sent since then.
        checked: bool,
        now: Time,
        /// Bytes in flight after the last event.
        inflight: u64,
        /// First unused position in the order of sending, and first position that is checked.
        next: u64,
        first: u64,
        /// Bytes of the packets that are neither acknowledged nor lost, by position.
        out: BTreeMap<u64, u64>,
        /// Whether the stack names packets.
        names: bool,
        /// Bytes acknowledged and lost, according to the named packets and to the events.
        named: [u64; 2],
        told: [u64; 2],
        /// The sums must restart: a packet sent before the trial was named.
        adrift: bool,
    }

    impl Flight {
        /// The trial begins.
        pub(crate) fn begin(&mut self) {
            self.begun = true;
        }

        pub(crate) fn on_acked(&mut self, position: u64) {
            self.leave(position, 0);
        }

        pub(crate) fn on_lost(&mut self, position: u64) {
            self.leave(position, 1);
        }

        fn leave(&mut self, position: u64, how: usize) {
            let bytes = self.out.remove(&position);
            self.names = true;
            assert!(
                bytes.is_some() || !self.checked || position < self.first,
                "packet {position} leaves the flight and is not in it"
            );
            // The size of a handshake packet is not known for certain.
            self.adrift |= bytes.is_none();
            self.named[how] += bytes.unwrap_or(0);
        }

        pub(crate) fn on_event(&mut self, event: &Event) {
            let now = event.now();
            assert!(
                now >= self.now || !self.checked,
                "an event at {} ns comes after one at {} ns",
                now.0,
                self.now.0
            );
            self.now = now;
            match event {
                Event::Sent(sent) => {
                    let position = sent.nxt.0.saturating_sub(1);
                    assert!(
                        position >= self.next || !self.checked,
                        "position {position} was sent at before: {} are taken",
                        self.next
                    );
                    self.next = position + 1;
                    self.out.insert(position, sent.bytes);
                    self.check_sent(sent.bytes, sent.inflight);
                    self.inflight = sent.inflight;
                }
                Event::Ack(ack, _) => {
                    self.told[0] += ack.acked;
                    self.told[1] += ack.lost;
                    // A stack that names no packets also reports ACK-only packets as sent.
                    let expected = if self.names {
                        ack.inflight_before == self.inflight
                    } else {
                        ack.inflight_before <= self.inflight
                    };
                    assert!(
                        expected || !self.checked,
                        "{} bytes are in flight before an ACK and were {} after the last event",
                        ack.inflight_before,
                        self.inflight
                    );
                    assert_eq!(
                        ack.inflight + ack.acked + ack.lost,
                        ack.inflight_before,
                        "bytes in flight, acknowledged and lost are those that were in flight"
                    );
                    self.inflight = ack.inflight;
                }
                _ => {}
            }
        }

        /// Before a packet leaves, every ACK has been reported completely: named packets and bytes
        /// must agree.
        fn check_sent(&mut self, bytes: u64, inflight: u64) {
            if self.checked {
                assert_eq!(
                    inflight,
                    self.inflight + bytes,
                    "bytes in flight with a packet of {bytes} bytes"
                );
                assert!(
                    !self.names || self.adrift || self.named == self.told,
                    "packets of {:?} bytes were acknowledged and lost, and {:?} bytes were",
                    self.named,
                    self.told
                );
            } else if self.begun {
                (self.checked, self.first, self.adrift) = (true, self.next - 1, true);
            }
            if std::mem::take(&mut self.adrift) {
                (self.named, self.told) = ([0; 2], [0; 2]);
            }
        }
    }

    /// One direction of the path.
    #[derive(Debug, Default)]
    pub(crate) struct Way {
        now: u64,
        /// Datagrams with a known arrival, and those that have arrived.
        taken: u64,
        arrived: u64,
    }

    impl Way {
        /// An event happens at `now`, ns.
        pub(crate) fn at(&mut self, now: u64) {
            assert!(now >= self.now, "an event at {now} ns comes after one at {} ns", self.now);
            self.now = now;
        }

        /// A datagram will arrive at `at`, between one at `before` and one at `after`.
        pub(crate) fn on_taken(&mut self, at: u64, before: Option<u64>, after: Option<u64>) {
            assert!(
                before.is_none_or(|before| before <= at) && after.is_none_or(|after| at < after),
                "{at} ns is not between {before:?} and {after:?}"
            );
            self.taken += 1;
        }

        /// A datagram due at `at` has arrived; `left` datagrams are left.
        pub(crate) fn on_arrived(&mut self, at: u64, left: usize) {
            assert!(at <= self.now, "it is {} ns and a datagram of {at} ns arrives", self.now);
            self.arrived += 1;
            let Way { taken, arrived, .. } = *self;
            assert_eq!(
                taken,
                arrived + left as u64,
                "{taken} datagrams left, {arrived} arrived and {left} are on their way"
            );
        }
    }
}

#[cfg(not(debug_assertions))]
#[expect(clippy::unused_self, reason = "the same calls as where it does something")]
mod off {
    use firstflight::Event;

    /// No checks.
    #[derive(Debug, Default)]
    pub(crate) struct Flight;

    impl Flight {
        #[inline(always)]
        pub(crate) fn begin(&self) {}
        #[inline(always)]
        pub(crate) fn on_acked(&self, _position: u64) {}
        #[inline(always)]
        pub(crate) fn on_lost(&self, _position: u64) {}
        #[inline(always)]
        pub(crate) fn on_event(&self, _event: &Event) {}
    }

    /// No checks.
    #[derive(Debug, Default)]
    pub(crate) struct Way;

    impl Way {
        #[inline(always)]
        pub(crate) fn at(&self, _now: u64) {}
        #[inline(always)]
        pub(crate) fn on_taken(&self, _at: u64, _before: Option<u64>, _after: Option<u64>) {}
        #[inline(always)]
        pub(crate) fn on_arrived(&self, _at: u64, _left: usize) {}
    }
}
