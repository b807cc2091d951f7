//! The rig's observer receives every event that the stack's controller received: replaying the
//! events reproduces the controller's exit from startup.

use firstflight::{AnyController, Begin, Exit, Nanos, Time};
use firstflight_path::Path;
use firstflight_quic::Plan;
use firstflight_rig::{Control, Setup, run};
use firstflight_sim::observe::Signals;
use firstflight_sim::{Observer, Record, Snapshot};

/// A controller that is told what the observer hears.
#[derive(Default)]
struct Twin {
    controller: Option<AnyController>,
    told: u64,
    strayed: Option<(Time, u64, u64)>,
}

impl Observer for Twin {
    fn on_event(&mut self, _snapshot: &Snapshot, _signals: &Signals<'_>) {}

    fn on_begin(&mut self, begin: &Begin, _started: Time) {
        self.controller = Some(begin.controller());
    }

    fn on_told(&mut self, record: Record) {
        let controller = self.controller.as_mut().expect("a controller was built");
        self.told += 1;
        controller.tell(&record.event);
        if controller.cwnd() != record.state.cwnd && self.strayed.is_none() {
            self.strayed = Some((record.event.now(), record.state.cwnd, controller.cwnd()));
        }
    }
}

fn exits(control: Control, path: &str) -> (Option<Exit>, Option<Exit>) {
    let path = Path::parse(path).expect("a path");
    let setup = Setup {
        path: &path,
        control,
        datagram: 1472,
        ack_packet: 64,
        object: 3_000_000,
        limit: Nanos::from_secs(60),
        seed: 1,
        path_index: 0,
    };
    let mut twin = Twin::default();
    let outcome = run(&setup, Some(&mut twin)).expect("a trial");
    assert!(twin.told > 2000, "{control:?}: the controller was told {} things", twin.told);
    assert_eq!(twin.strayed, None, "{control:?}: the windows part (time, the stack's, the twin's)");
    let controller = twin.controller.expect("a controller was built");
    (outcome.status.and_then(|status| status.exit), controller.exit())
}

const PATHS: [&str; 2] = ["rapid-slide", "rate=20Mbit,rtt=60ms,queue=40ms,loss=0.2%"];
const ARMS: [&str; 5] = ["slowstart", "hystart++", "best", "search", "rapid-nojump"];

#[test]
fn an_arm_on_noq_leaves_with_the_same_record_when_told_again() {
    for (arm, path) in ARMS.iter().chain(&["rapid"]).flat_map(|arm| PATHS.map(|path| (arm, path))) {
        let (real, twin) = exits(Control::Noq(Plan::parse(arm).expect("an arm")), path);
        assert_eq!(real, twin, "{arm} on {path}");
    }
}

#[cfg(feature = "quinn")]
#[test]
fn an_arm_on_quinn_leaves_with_the_same_record_when_told_again() {
    for (arm, path) in ARMS.iter().flat_map(|arm| PATHS.map(|path| (arm, path))) {
        let (real, twin) = exits(Control::Quinn(Plan::parse(arm).expect("an arm")), path);
        assert_eq!(real, twin, "{arm} on {path}");
    }
}
