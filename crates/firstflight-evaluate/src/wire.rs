//! What is declared of an algorithm, as far as its packets show it: how many leave before the first
//! acknowledgement, how many at once, and how its rate answers losses and marks.

use firstflight::Nanos;
use firstflight_lab::flows::{Access, App, Arrangement, SharingFlow};
use firstflight_lab::{NamedArm, Scenario};
use firstflight_path::{Error, Path};
use firstflight_sim::observe::Signals;
use firstflight_sim::{Cause, Observer, Snapshot};

/// Packets that leave together although they are paced: RFC 9002 section 7.7 wants bursts limited to
/// the initial window, which is ten.
const BURST: u64 = 10;
/// ACKs are let go so rarely that a sender clocked by them has far more than [`BURST`] to send.
const HELD: Nanos = Nanos::from_millis(40);

/// What was seen.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Packets before the first acknowledgement.
    first: u64,
    acks: u64,
    sent: u64,
    /// The most that left at one time after the first, and the present number.
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

/// An endless flow alone on a path for so long.
fn seen(arm: &NamedArm, path: &str, seconds: u64, access: Access) -> Result<Seen, Error> {
    let time = Nanos::from_secs(seconds);
    let scenario = Scenario { limit: time, ..Scenario::new(Path::parse(path)?, 1) };
    let flow = SharingFlow {
        arm: arm.clone(),
        app: App::Endless,
        start: Nanos::ZERO,
        rtt_extra: Nanos::ZERO,
    };
    // Of an algorithm without sense this is enough.
    let access = vec![Access { packets: Some(500_000), ..access }];
    let arrangement = Arrangement { access, whole: true, ..Arrangement::default() };
    let mut seen = Seen::default();
    scenario.run_flows_arranged(&[flow], 1, None, Nanos::ZERO, &arrangement, Some(&mut seen))?;
    Ok(seen)
}

/// Packets that leave in the first round trip of 200 ms, before anything is acknowledged.
pub(crate) fn initial_window(arm: &NamedArm) -> Result<u64, Error> {
    Ok(seen(arm, "rate=100Mbit,rtt=200ms", 1, Access::default())?.first)
}

/// The most packets that leave at one time, where acknowledgements come every 40 ms, and whether that
/// is as paced.
pub(crate) fn largest_burst(arm: &NamedArm) -> Result<(u64, bool), Error> {
    let access = Access { ack_batch: HELD, ..Access::default() };
    let burst = seen(arm, "rate=50Mbit,rtt=80ms,queue=4bdp", 4, access)?.burst;
    Ok((burst, burst <= BURST))
}

/// How many of a hundred packets are still sent where the path drops a tenth of them.
pub(crate) fn kept_at_loss(arm: &NamedArm) -> Result<u64, Error> {
    kept(arm, "loss=10%")
}

/// The same where it marks a tenth.
pub(crate) fn kept_at_marks(arm: &NamedArm) -> Result<u64, Error> {
    kept(arm, "ecn=ce:10%")
}

fn kept(arm: &NamedArm, what: &str) -> Result<u64, Error> {
    let path = "rate=20Mbit,rtt=80ms,queue=1bdp";
    let [plain, with] = [path.to_owned(), format!("{path},{what}")]
        .map(|path| seen(arm, &path, 20, Access::default()).map(|seen| seen.sent));
    Ok(100 * with? / plain?.max(1))
}
