//! Settings of a connection, given to its controller once, at the start.

use crate::event::{Context, EpochUse, SoFar, Transport};
use crate::hint::{Advice, Hint};
use crate::named::named;
use crate::startup::GAIN_AVOIDANCE;
use crate::units::{Nanos, Rate, Ratio, Seq, mul_div};

named! {
    /// Which windows may grow where the application, and not the window, is the limit.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Increase {
        /// Used windows: at least half full in slow start, else full (RFC 9002 section 7.8). The default of QUIC.
        #[default]
        Limited = "limited",
        /// Windows that were full in the last round, and in slow start those below twice the most outstanding (Linux). The default of TCP and of
        /// `profile=linux`.
        Linux = "linux",
        /// Windows below the bound that the largest flight since the last cut sets.
        MaxFs = "maxfs",
        /// The same, and an unused window above that falls to it.
        Literal = "literal",
    }
}

named! {
    /// Which new data lost during a TCP recovery makes its end the start of another.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Relapse {
        /// Data first sent in it and declared lost, even if it was repaired by then (RFC 5681 section 4.3).
        #[default]
        Declared = "declared",
        /// Data neither acknowledged nor SACKed by then (Linux).
        Outstanding = "outstanding",
    }
}

named! {
    /// Growth on the ACK that ends a TCP recovery.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Ending {
        /// It grows the window by what it newly delivered (Linux).
        #[default]
        Grows = "grows",
        /// Recovery sets the window, and nothing grows (RFC 6582 section 3.2, RFC 6675 section 5).
        Still = "still",
    }
}

/// Settings of a connection, given to its controller once, at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// Transport whose rules apply where TCP and QUIC differ.
    pub transport: Transport,
    /// Largest payload of a packet as the window counts it, in bytes; 1 to 65536, what lies
    /// outside is cut to it.
    pub mss: u64,
    /// Initial window in bytes; at least the smallest window of the transport.
    pub initial_window: u64,
    /// The initial window was chosen as this number of packets, whatever their size. `None`: it is
    /// [the standard's](Config::standard_initial_window), or a number of bytes.
    pub initial_packets: Option<u32>,
    /// A pacer will release the packets.
    pub paced: bool,
    /// Largest pacing rate, cut to whole kbit/s. It also paces a sender that is not [paced](Config::paced) or has no RTT
    /// yet.
    pub max_rate: Option<Rate>,
    /// Largest burst that leaves in one send call, in bytes.
    pub max_burst: u64,
    /// Pacing gain in ordinary recovery episodes; 5/4 by default.
    pub recovery_gain: Ratio,
    /// After an idle period longer than the timeout the window falls back to the initial one, at
    /// once (RFC 5681 section 4.1) or, with [`Increase::Linux`], by half for each timeout; there an
    /// unused window falls, too (`tcp_slow_start_after_idle`). On for TCP.
    pub idle_restart: bool,
    /// Which windows may grow that are not filled.
    pub increase: Increase,
    /// TCP: the connection uses SACK. Without it a recovery lasts until something sent after it
    /// began is acknowledged (RFC 6582 section 3.2).
    pub sack: bool,
    /// TCP: which losses of new data in a recovery open another at its end.
    pub relapse: Relapse,
    /// TCP: growth by the ACK that ends a recovery.
    pub ending: Ending,
    /// Segments that slow start counts of one ACK at most; `None` counts all that is newly
    /// delivered. 1 in RFC 5681, 2 in RFC 3465.
    pub count: Option<u32>,
    /// A hint about the path's rate: measured by earlier connections, for startups that jump, or
    /// advised by the network, for [`Config::advice`]. Too old ([`Hint::is_fresh`]), it is ignored.
    pub hint: Option<Hint>,
    /// Use of a hint that is the network's advice.
    pub advice: Advice,
}

impl Config {
    /// RFC6928 2-1, RFC9002 7.2-1: `min(10 * mss, max(14720, 2 * mss))` bytes.
    pub const fn standard_initial_window(mss: u64) -> u64 {
        let two = mss.saturating_mul(2);
        let floor = if two > 14_720 { two } else { 14_720 };
        let ten = mss.saturating_mul(10);
        if ten < floor { ten } else { floor }
    }

    /// The initial window of `window` bytes after packets of `old` bytes have become packets of
    /// `new` bytes.
    pub(super) fn resized_window(window: u64, packets: Option<u32>, (old, new): (u64, u64)) -> u64 {
        match packets {
            Some(packets) => new.saturating_mul(u64::from(packets)),
            // RFC9002 7.2-resize: computed anew with the new size.
            None if window == Config::standard_initial_window(old) => {
                Config::standard_initial_window(new)
            }
            None => mul_div(window, new, old),
        }
    }

    /// The defaults of a QUIC sender with packets of `mss` bytes.
    pub const fn quic(mss: u64) -> Config {
        Config {
            transport: Transport::Quic,
            mss,
            initial_window: Config::standard_initial_window(mss),
            initial_packets: None,
            paced: true,
            max_rate: None,
            max_burst: mss.saturating_mul(10),
            recovery_gain: GAIN_AVOIDANCE,
            idle_restart: false,
            increase: Increase::Limited,
            sack: true,
            relapse: Relapse::Declared,
            ending: Ending::Grows,
            count: None,
            hint: None,
            advice: Advice::Off,
        }
    }

    /// The defaults of a TCP sender with segments of `mss` bytes: not paced, 64 KiB bursts, unused
    /// windows as in Linux.
    pub const fn tcp(mss: u64) -> Config {
        Config {
            transport: Transport::Tcp,
            mss,
            initial_window: Config::standard_initial_window(mss),
            initial_packets: None,
            paced: false,
            max_rate: None,
            max_burst: 65_536,
            recovery_gain: GAIN_AVOIDANCE,
            idle_restart: true,
            sack: true,
            relapse: Relapse::Declared,
            ending: Ending::Grows,
            increase: Increase::Linux,
            count: None,
            hint: None,
            advice: Advice::Off,
        }
    }
}

impl Context {
    /// Before anything happened: no RTT sample, no epoch, and the window is the limit.
    pub const fn new(config: &Config, nxt: Seq) -> Context {
        Context {
            mss: config.mss,
            iw: config.initial_window,
            count: config.count,
            transport: config.transport,
            paced: config.paced,
            srtt: Nanos::ZERO,
            pacing_rate: None,
            max_burst: config.max_burst,
            limited: true,
            young_epoch: false,
            newborn_epoch: false,
            epoch_use: EpochUse::Nowhere,
            advice: Advice::Off,
            advice_secs: 0,
            so_far: SoFar::new(config.transport, nxt),
        }
    }
}
