//! Measures the declared properties that are visible on the wire: packets before the first acknowledgement, burst
//! size, and the response of the rate to losses and marks.

use firstflight::Nanos;
use firstflight_lab::flows::{Access, App, Arrangement, Flows, SharingFlow};
use firstflight_lab::{NamedArm, Scenario};
use firstflight_path::{Error, Path};
use firstflight_sim::observe::Signals;
use firstflight_sim::{Cause, Observer, Snapshot};

/// Largest burst that still counts as paced: RFC 9002 section 7.7 limits bursts to the initial window, which is ten
/// packets.
const BURST: u64 = 10;
/// Interval at which ACKs are released: so long that a sender clocked by them sends far more than [`BURST`] at once.
const HELD: Nanos = Nanos::from_millis(40);

/// Observed behaviour.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Packets sent before the first acknowledgement.
    first: u64,
    acks: u64,
    sent: u64,
    /// Largest burst after the first acknowledgement.
    burst: u64,
    now: u64,
    together: u64,
}

impl Observer for Seen {
    fn on_event(&mut self, snapshot: &Snapshot, _signals: &Signals<'_>) {
        match snapshot.event {
            Cause::Ack => self.acks += 1,
            Cause::Sent => {
                self.sent += 1;
                self.first += u64::from(self.acks == 0);
                let same = snapshot.now.0 == self.now;
                self.together = if same { self.together + 1 } else { 1 };
                self.now = snapshot.now.0;
                if self.acks > 0 {
                    self.burst = self.burst.max(self.together);
                }
            }
            Cause::Timer => {}
        }
    }
}

/// Runs a single endless flow on a path for this many seconds.
fn seen(arm: &NamedArm, path: &str, seconds: u64, access: Access) -> Result<Seen, Error> {
    let time = Nanos::from_secs(seconds);
    let scenario = Scenario { limit: time, ..Scenario::new(Path::parse(path)?, 1) };
    let flow = [SharingFlow {
        arm: arm.clone(),
        app: App::Endless,
        start: Nanos::ZERO,
        rtt_extra: Nanos::ZERO,
    }];
    // A limit for broken algorithms.
    let access = vec![Access { packets: Some(500_000), ..access }];
    let arrangement = Arrangement { access, whole: true, ..Arrangement::default() };
    let mut seen = Seen::default();
    let flows = Flows { jitter: Nanos::ZERO, arrangement, ..Flows::new(&flow, 1) };
    scenario.run_flows(&flows, Some(&mut seen))?;
    Ok(seen)
}

/// Number of packets sent in the first round trip of 200 ms, before anything is acknowledged.
pub(crate) fn initial_window(arm: &NamedArm) -> Result<u64, Error> {
    Ok(seen(arm, "rate=100Mbit,rtt=200ms", 1, Access::default())?.first)
}

/// The largest burst when acknowledgements arrive every 40 ms, and whether it counts as paced.
pub(crate) fn largest_burst(arm: &NamedArm) -> Result<(u64, bool), Error> {
    let access = Access { ack_batch: HELD, ..Access::default() };
    let burst = seen(arm, "rate=50Mbit,rtt=80ms,queue=4bdp", 4, access)?.burst;
    Ok((burst, burst <= BURST))
}

/// Packets sent when the path drops a tenth of them, in percent of those without loss.
pub(crate) fn kept_at_loss(arm: &NamedArm) -> Result<u64, Error> {
    kept(arm, "loss=10%")
}

/// Packets sent when the path marks a tenth of them, in percent of those without marks.
pub(crate) fn kept_at_marks(arm: &NamedArm) -> Result<u64, Error> {
    kept(arm, "ecn=ce:10%")
}

fn kept(arm: &NamedArm, what: &str) -> Result<u64, Error> {
    let path = "rate=20Mbit,rtt=80ms,queue=1bdp";
    let [plain, with] = [path.to_owned(), format!("{path},{what}")]
        .map(|path| seen(arm, &path, 20, Access::default()).map(|seen| seen.sent));
    Ok(100 * with? / plain?.max(1))
}
