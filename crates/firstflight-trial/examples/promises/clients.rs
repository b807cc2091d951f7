//! Connections of clients that differ from each other, for simulated trials.

/// Random numbers (splitmix64, Steele et al. 2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to 1, both excluded.
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Standard normal (Box, Muller 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// Columns of simulated connections, in order of arrival.
pub(crate) struct Clients {
    pub(crate) unit: Vec<u32>,
    pub(crate) stratum: Vec<u32>,
    pub(crate) y: Vec<f64>,
}

impl Clients {
    /// `units` clients with 1 to hundreds of connections each (Pareto with index 1.5), each with
    /// its own path; sizes in four strata.
    pub(crate) fn heavy(units: u32, random: &mut Random) -> Clients {
        let mut rows = Vec::new();
        for unit in 0..units {
            let own = 0.7 * random.normal();
            let connections = (random.unit().powf(-1.0 / 1.5) as u32).min(300);
            for _ in 0..connections {
                let stratum = (random.next() >> 62) as u32;
                let y = f64::from(stratum) * 0.7 + own + 0.5 * random.normal();
                rows.push((random.next(), unit, stratum, y));
            }
        }
        // In mixed order, as they arrive at a server.
        rows.sort_by_key(|row| row.0);
        Clients {
            unit: rows.iter().map(|row| row.1).collect(),
            stratum: rows.iter().map(|row| row.2).collect(),
            y: rows.iter().map(|row| row.3).collect(),
        }
    }

    /// Independent connections.
    pub(crate) fn apart(units: u32, random: &mut Random) -> Clients {
        let stratum: Vec<u32> = (0..units).map(|_| (random.next() >> 63) as u32).collect();
        let y = stratum.iter().map(|stratum| f64::from(*stratum) + random.normal()).collect();
        Clients { unit: (0..units).collect(), stratum, y }
    }
}
