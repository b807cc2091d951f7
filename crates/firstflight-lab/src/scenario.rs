//! The scenario of a transfer: the path, the object and the hosts, as plain data that every testbed
//! reads.

use firstflight::arm::SenderParams;
use firstflight::controller::Config;
use firstflight::detection::presets::{Marking, PRESETS};
use firstflight::{Advice, Arm, Hint, Nanos, units};
use firstflight_path::Error;
use firstflight_path::{
    Acks, Effects, Fate, HandoverSettings, Path, Purpose, Queue, Rate, Release, Stream, suggestion,
};
pub use firstflight_sim::Hosts;
use firstflight_sim::tcp;

/// Settings common to all trials of a comparison, on any testbed.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The path.
    pub path: Path,
    /// Object size, bytes.
    pub bytes: u64,
    /// Initial window, in packets, of arms that specify none.
    pub iw: u32,
    /// Pacer's bucket, in packets, of arms that specify none.
    pub burst: u32,
    /// Simulated time after which an unfinished trial stops.
    pub limit: Nanos,
    /// Transport, sizes and timers of the hosts.
    pub host: Hosts,
    /// Index of the path in a population; with the seed it keys every draw of the path.
    pub path_index: u64,
    /// Settings of the receiver's network namespace, as names below `/proc/sys` (such as
    /// `net/ipv4/tcp_comp_sack_nr`) and values; only for testbeds whose receiver is a kernel.
    pub receiver: Vec<(String, String)>,
}

/// TCP hosts with this loss-detection preset, as named in `--detection`.
///
/// # Errors
/// If TCP has no such preset.
pub fn hosts_of_tcp(detection: &str) -> Result<Hosts, Error> {
    let presets = || PRESETS.iter().filter(|preset| preset.marking != Marking::Quic);
    let found = presets().find(|preset| preset.name == detection);
    let names = || presets().map(|preset| preset.name).collect::<Vec<_>>().join(", ");
    let preset = found.ok_or_else(|| {
        let near = suggestion(detection, presets().map(|preset| preset.name));
        Error::new(format!("unknown detection `{detection}`{near}; TCP has {}", names()))
    })?;
    Ok(tcp::Host::with_preset(*preset).into())
}

impl Scenario {
    /// A scenario with the defaults of the QUIC host: initial window 10, bucket of 2 packets.
    pub fn new(path: Path, bytes: u64) -> Scenario {
        let limit = Nanos::from_secs(600);
        let host = Hosts::default().on(&path);
        Scenario { path, bytes, iw: 10, burst: 2, limit, host, path_index: 0, receiver: Vec::new() }
    }

    /// The exit window of the oracle: it fills the path and no more, plus the bytes that the
    /// receiver holds back between two ACKs.
    pub fn oracle_exit(&self) -> u64 {
        let mss = self.host.mss();
        let bdp = u128::from(self.path.bdp_bytes()) * u128::from(mss)
            / u128::from(self.host.packet_bytes());
        bdp as u64 + 2 * self.held_back(bdp as u64)
    }

    /// Number of packets that the receiver acknowledges together: that of the path (`ack=`), or of
    /// the host. `None` if it acknowledges by time.
    pub fn ack_every(&self) -> Option<u32> {
        match self.path.acks() {
            Some(Acks::Every(packets)) => Some(packets as u32),
            Some(Acks::PerRtt(_)) => None,
            None => Some(self.host.ack_every()),
        }
    }

    /// Longest time that the receiver delays an ACK, ns.
    pub fn ack_delay(&self) -> u64 {
        match self.path.acks() {
            Some(Acks::PerRtt(times)) => self.path.rtt() / times.max(1),
            _ => self.host.ack_delay(),
        }
    }

    /// Bytes, as the window counts them, that the receiver holds back between two ACKs.
    fn held_back(&self, bdp: u64) -> u64 {
        match self.path.acks() {
            Some(Acks::PerRtt(times)) => bdp / times.max(1),
            _ => u64::from(self.ack_every().unwrap_or(1)) * self.host.mss(),
        }
    }

    /// The lower bound on the completion time for any sender: the one-way delay plus the object,
    /// without headers, at the bottleneck's rate. If the rate changes with time, it is the time
    /// in which the link, with an unlimited queue, delivers an object offered all at once. `None`
    /// behind a policer, whose bucket passes some of the object at another rate.
    ///
    /// # Errors
    /// If the path cannot carry the host's packets.
    pub fn ideal(&self, seed: u64) -> Result<Option<Nanos>, Error> {
        if self.path.link_bps() != self.path.rate_bps() {
            return Ok(None);
        }
        // None of these effects makes an arrival earlier. Handovers are kept, since they change
        // rate and delay of the forward link.
        let open = self
            .path
            .clone()
            .with_queue(Queue::Unlimited)
            .with_loss_ppb(0)
            .with_effects(Effects::default())
            .with_thin(None);
        let (release, shorter) = match *open.release() {
            // A packet that leaves the bottleneck later may have a shorter delay: the bound uses
            // the shortest delay ever possible.
            Release::Handover(settings) => (
                Release::Handover(HandoverSettings { burst: 0, data_extra: 0, ..settings }),
                Some(settings.step),
            ),
            _ => (Release::Plain, None),
        };
        let wire = u64::from(self.host.packet_bytes());
        let (mut forward, _) = open.with_release(release).links(
            wire as u32,
            self.host.ack_bytes(),
            seed,
            self.path_index,
        )?;
        let mut left = self.bytes;
        loop {
            let len = left.min(wire);
            let Fate::Deliver { at, waited, .. } = forward.offer(0, len as u32) else {
                return Ok(None);
            };
            left -= len;
            let last = match shorter {
                // The packet's own serialization is left out, because it depends on the time.
                Some(step) => waited + forward.propagation().saturating_sub(step),
                None => at,
            };
            if left == 0 {
                return Ok(Some(Nanos(last)));
            }
            if let (Rate::Constant(bps), None) = (self.path.rate(), shorter) {
                let rest = u128::from(left) * 8_000_000_000 / u128::from((*bps).max(1));
                return Ok(Some(Nanos(
                    last.saturating_add(u64::try_from(rest).unwrap_or(u64::MAX)),
                )));
            }
        }
    }

    /// Configuration of a controller on these hosts, for arms that specify no initial window.
    pub fn config(&self) -> Config {
        firstflight::with!(Config {
            initial_window: u64::from(self.iw) * self.host.mss(),
            ..self.host.config()
        })
    }

    /// The arm with the advice of the path's network element (`scone=`), which its sender knows when the
    /// connection starts: the element sets it in the packets of the handshake.
    #[must_use]
    pub fn advised(&self, arm: &Arm) -> Arm {
        let Some(bps) = self.path.scone_bps().filter(|_| arm.sender.advice != Advice::Off) else {
            return *arm;
        };
        let advice = Hint::advising(units::Rate(bps / 8));
        let hint = Some(arm.sender.hint.map_or(advice, |own| own.or_lower(advice)));
        Arm { sender: firstflight::with!(SenderParams { hint, ..arm.sender }), ..*arm }
    }

    /// Lengthens the round trip by up to half a millisecond, depending on the seed; see
    /// [`rtt_jitter`].
    #[must_use]
    pub fn jittered(&self, seed: u64) -> Scenario {
        let path = self.path.clone();
        let rtt = path.rtt() + rtt_jitter(seed);
        Scenario { path: path.with_rtt(rtt), ..self.clone() }
    }
}

/// The extra RTT of a repeated trial, ns: uniform over half a millisecond, drawn from the seed.
/// Without it every trial of a deterministic scenario would be the same, and a result could depend
/// on one alignment of packets and timers.
pub fn rtt_jitter(seed: u64) -> u64 {
    let draw = Stream::new(seed, 0, Purpose::Jitter).value(0);
    ((u128::from(draw) * 500_001) >> 64) as u64
}
