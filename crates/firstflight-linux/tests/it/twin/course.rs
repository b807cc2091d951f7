//! The kinds of connections from which a random sequence is drawn.

/// SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x6a09_e667_f3bc_c908)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `bound`, which is at least 1.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// Once in `n` on average; never for 0.
    pub(crate) fn once_in(&mut self, n: u64) -> bool {
        n > 0 && self.below(n) == 0
    }
}

/// Kind of connection.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    pub random: Random,
    pub mss: u32,
    /// Idle RTT, time per packet, packets that the queue holds.
    pub base_us: u64,
    pub serial_us: u64,
    pub queue: u32,
    /// Once in how many ACKs: losses, marks, timeouts, silence; ACKs without a sample; jitter in
    /// us.
    pub loss: u64,
    pub mark: u64,
    pub rto: u64,
    pub idle: u64,
    pub no_sample: u64,
    pub jitter_us: u64,
    /// Largest number of packets that one ACK covers.
    pub stretch: u32,
    /// Half of the ACKs come eight times as fast.
    pub bimodal: bool,
    /// Once in how many ACKs one comes with the one before, or late.
    pub uneven: u64,
    /// Once in how many ACKs the application runs out of data.
    pub lazy: u64,
    /// Length of a tick of the receiver's clock; 0: it sends no timestamps. Once in how many ACKs
    /// it jumps.
    pub tick_us: u64,
    pub clock_jumps: u64,
    pub paced: bool,
}

impl Course {
    pub(crate) fn draw(seed: u64, mss: u32) -> Course {
        let mut r = Random::new(seed);
        let one_of = |r: &mut Random, choice: &[u64]| choice[r.below(choice.len() as u64) as usize];
        let base_us =
            1_000 + one_of(&mut r, &[3_000, 30_000, 100_000, 600_000]) * (1 + r.below(100)) / 50;
        Course {
            mss,
            base_us,
            serial_us: (base_us / one_of(&mut r, &[20, 100, 1_000, 8_000])).max(1),
            queue: one_of(&mut r, &[10, 100, 1_000, 20_000]) as u32,
            loss: one_of(&mut r, &[0, 300, 3_000]),
            mark: one_of(&mut r, &[0, 0, 500]),
            rto: one_of(&mut r, &[0, 400, 2_000]),
            idle: one_of(&mut r, &[0, 0, 700]),
            no_sample: one_of(&mut r, &[0, 10, 50]),
            jitter_us: one_of(&mut r, &[1, 200, 4_000, 30_000]),
            stretch: one_of(&mut r, &[2, 2, 16, 200]) as u32,
            uneven: one_of(&mut r, &[0, 4, 60]),
            bimodal: r.once_in(8),
            lazy: one_of(&mut r, &[0, 5, 100]),
            tick_us: one_of(&mut r, &[0, 1, 1_000, 1_000, 4_000, 10_000, 33_000]),
            clock_jumps: one_of(&mut r, &[0, 0, 1_000]),
            paced: r.once_in(3),
            random: r,
        }
    }
}
