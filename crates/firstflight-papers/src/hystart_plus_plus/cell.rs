//! Parameters of runs in which flows start together: loss detection and recovery, start times, RTT, object size and
//! initial window. Other experiments share some of them.

use firstflight::Nanos;
use firstflight_lab::Error;
use firstflight_lab::scenario::{Scenario, hosts_of_tcp};
use firstflight_path::Path;
use firstflight_path::random::{Purpose, Stream};

/// Segment size of all hosts, bytes.
pub(super) const MSS: u64 = 1448;

/// The arms in words, in the order of the experiments.
pub(super) const NAMES: &[&str] =
    &["plain slow start", "HyStart++ -03 (LSS)", "RFC 9406 (CSS)", "Linux HyStart"];
/// Round trips of the published cells, ms.
pub(super) const RTTS: [u64; 3] = [100, 50, 25];

/// Loss detection and recovery of both arms.
#[derive(Clone, Copy)]
pub(super) struct Hosts {
    pub(super) name: &'static str,
    pub(super) preset: &'static str,
    pub(super) recovery: &'static str,
}

/// The primary set-up, then the controls.
pub(super) const HOSTS: [Hosts; 4] = [
    Hosts { name: "RFC 6675", preset: "windows", recovery: "sack" },
    Hosts { name: "PRR", preset: "windows", recovery: "prr" },
    Hosts { name: "RACK", preset: "rack", recovery: "sack" },
    Hosts { name: "RACK and PRR", preset: "rack", recovery: "prr" },
];
pub(super) const STARTUPS: [&str; 2] = ["slowstart", "hystart++-draft03"];
pub(super) const SHORT: [u64; 2] = [2_000_000, 3_000_000];

/// Start of the flows.
#[derive(Clone, Copy)]
pub(super) enum Starts {
    /// 4 to 8 flows with equally spaced starts, up to 20 ms apart; the seed decides.
    Drawn,
    /// 4 to 8 flows, each starting at a random time within 20 ms.
    Scattered,
    /// A fixed number of flows, with starts a fixed number of ms apart.
    Fixed(u64, u64),
}

impl Starts {
    /// Start time of each flow, ns.
    pub(super) fn of(self, seed: u64) -> Vec<u64> {
        const MS: u64 = 1_000_000;
        let values = Stream::new(seed, 1_003, Purpose::FlowStart);
        let flows = 4 + values.value(0) % 5;
        match self {
            Starts::Drawn => {
                let apart = values.value(1) % (20 * MS);
                (0..flows).map(|flow| flow * apart).collect()
            }
            Starts::Scattered => {
                (0..flows).map(|flow| values.value(2 + flow) % (20 * MS)).collect()
            }
            Starts::Fixed(flows, apart) => (0..flows).map(|flow| flow * apart * MS).collect(),
        }
    }
}

/// Parameters of a run.
#[derive(Clone, Copy)]
pub(super) struct Cell {
    pub(super) hosts: Hosts,
    pub(super) starts: Starts,
    pub(super) rtt: u64,
    pub(super) bytes: u64,
    pub(super) iw: u32,
}

impl Cell {
    pub(super) fn ground(self) -> Result<Scenario, Error> {
        let path = Path::parse(&format!("hystart++-{}ms", self.rtt))?;
        let limit = Nanos::from_secs(300);
        Ok(Scenario {
            host: hosts_of_tcp(self.hosts.preset)?,
            limit,
            iw: self.iw,
            ..Scenario::new(path, 1)
        })
    }

    pub(super) fn arm(self, startup: usize) -> String {
        format!("{}/cubic/{}", STARTUPS[startup], self.hosts.recovery)
    }
}
