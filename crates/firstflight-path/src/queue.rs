//! The packets waiting in front of a link: when the service of each starts, and their total bytes.

/// A drop-tail queue in bytes. State: one ring entry (16 bytes) per waiting packet, kept from trial
/// to trial.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    /// Service starts and lengths, in order; the length of the ring is a power of two.
    ring: Vec<(u64, u32)>,
    head: usize,
    count: usize,
    bytes: u64,
    capacity: u64,
    /// Time of the last look at the queue, and service start of the last packet.
    #[cfg(debug_assertions)]
    last: (u64, u64),
}

impl Waiting {
    pub(crate) fn new(capacity: u64) -> Self {
        Self { ring: vec![(0, 0); 16], capacity, ..Self::empty() }
    }

    /// A queue without memory, as a placeholder for one that is taken.
    pub(crate) fn empty() -> Self {
        Self {
            ring: Vec::new(),
            head: 0,
            count: 0,
            bytes: 0,
            capacity: 0,
            #[cfg(debug_assertions)]
            last: (0, 0),
        }
    }

    /// Empties the queue and gives it another capacity.
    pub(crate) fn restart(&mut self, capacity: u64) {
        (self.head, self.count, self.bytes, self.capacity) = (0, 0, 0, capacity);
        #[cfg(debug_assertions)]
        {
            self.last = (0, 0);
        }
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Removes every packet whose service has started by `now`.
    #[inline(always)]
    pub(crate) fn leave(&mut self, now: u64) {
        #[cfg(debug_assertions)]
        {
            assert!(now >= self.last.0, "offered at {now} ns, after {} ns", self.last.0);
            self.last.0 = now;
        }
        let mask = self.ring.len() - 1;
        while self.count > 0 {
            let (start, len) = self.ring[self.head & mask];
            if start > now {
                break;
            }
            self.head = (self.head + 1) & mask;
            self.count -= 1;
            self.bytes -= u64::from(len);
        }
        debug_assert!(self.count > 0 || self.bytes == 0, "{} bytes of no packet", self.bytes);
    }

    #[inline]
    pub(crate) fn has_room(&self, len: u32) -> bool {
        self.bytes + u64::from(len) <= self.capacity
    }

    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Adds a packet whose service starts at `start`, which is not before that of any waiting
    /// packet.
    #[inline(always)]
    pub(crate) fn join(&mut self, start: u64, len: u32) {
        #[cfg(debug_assertions)]
        {
            assert!(start >= self.last.1, "served at {start} ns, before {} ns", self.last.1);
            self.last.1 = start;
        }
        if self.count == self.ring.len() {
            self.grow();
        }
        let mask = self.ring.len() - 1;
        let tail = (self.head + self.count) & mask;
        self.ring[tail] = (start, len);
        self.count += 1;
        self.bytes += u64::from(len);
        debug_assert!(
            self.bytes <= self.capacity,
            "{} bytes wait where {} may",
            self.bytes,
            self.capacity
        );
    }

    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    #[cold]
    fn grow(&mut self) {
        self.ring.rotate_left(self.head);
        self.head = 0;
        self.ring.resize(self.ring.len() * 2, (0, 0));
    }
}
