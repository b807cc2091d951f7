//! Trials for tests: an arm on a path, run to the end or step by step, with a look at the flow
//! after each step.
#![allow(dead_code, reason = "every test file uses its part of the rig")]

use firstflight::controller::Config;
use firstflight::startup::AnyStartup;
use firstflight::{AnyController, Arm, Nanos, Seq, Time};
use firstflight_path::{Link, Path};
use firstflight_sim::quic::{Flow, Host, Sender};
use firstflight_sim::{Nobody, Observer, Outcome, Setup, Stop, run};

/// Window bytes of a full packet, and what the link counts.
pub(crate) const DATAGRAM: u64 = 1472;
pub(crate) const WIRE: u64 = 1500;
/// Object bytes of a full packet.
pub(crate) const PAYLOAD: u64 = 1436;

/// One trial.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub path: Path,
    pub arm: String,
    pub object: u64,
    pub iw: u64,
    pub host: Host,
    pub burst: u64,
    pub limit: Nanos,
    pub seed: u64,
}

pub(crate) fn path(text: &str) -> Path {
    Path::parse(text).unwrap_or_else(|e| panic!("`{text}` should be a path, but: {e}"))
}

impl Trial {
    /// `object` bytes by `arm` over `path`: initial window 10, bucket of 2 packets, at most 1 000
    /// s.
    pub(crate) fn new(path: Path, arm: &str, object: u64) -> Trial {
        Trial {
            path,
            arm: arm.to_owned(),
            object,
            iw: 10,
            host: Host::default(),
            burst: 2,
            limit: Nanos::from_secs(1000),
            seed: 1,
        }
    }

    pub(crate) fn controller(&self) -> AnyController {
        let arm = Arm::parse(&self.arm)
            .unwrap_or_else(|e| panic!("`{}` should be an arm, but: {e}", self.arm));
        let mss = u64::from(self.host.datagram);
        let config =
            firstflight::with!(Config { initial_window: self.iw * mss, ..Config::quic(mss) });
        let oracle = self.path.bdp_bytes() * DATAGRAM / WIRE + 4 * mss;
        arm.with_oracle(oracle).controller(config, Time(0), Seq(0))
    }

    pub(crate) fn sender(&self) -> Sender<AnyStartup> {
        let burst = self.burst * u64::from(self.host.datagram);
        Sender::new(
            self.host,
            self.controller(),
            burst,
            self.object,
            Nanos(self.path.rtt()),
            Time(0),
        )
    }

    pub(crate) fn links(&self) -> (Link, Link) {
        let wire = self.host.datagram + self.host.lower;
        self.path
            .links(wire, self.host.ack_packet, self.seed, 0)
            .unwrap_or_else(|e| panic!("{}: {e}", self.path))
    }

    pub(crate) fn run(&self) -> Outcome {
        self.observe(&mut Nobody)
    }

    pub(crate) fn observe(&self, observer: &mut dyn Observer) -> Outcome {
        let setup = Setup {
            path: &self.path,
            host: self.host.into(),
            pacer_burst: self.burst * u64::from(self.host.datagram),
            object: self.object,
            limit: self.limit,
            seed: self.seed,
            path_index: 0,
        };
        run(&setup, self.controller(), Some(observer))
            .unwrap_or_else(|e| panic!("{}: {e}", self.path))
    }

    /// Runs over these links; `look` sees time and flow after every step, and may lead the data
    /// over another link from then on.
    pub(crate) fn steps(
        &self,
        links: (Link, Link),
        mut look: impl FnMut(u64, &Flow<AnyStartup>, &mut Link),
    ) -> Outcome {
        let (mut forward, mut reverse) = links;
        let mut flow = Flow::new(0, self.host, self.sender(), self.object);
        flow.begin(0, &mut forward, &mut Nobody);
        let mut now = 0;
        look(now, &flow, &mut forward);
        while !flow.complete() {
            let next = flow.next_event();
            if next >= self.limit.0 {
                return flow.finish(self.limit.0, Stop::TimeLimit);
            }
            now = next.max(now);
            flow.step(now, &mut forward, &mut reverse, &mut Nobody);
            look(now, &flow, &mut forward);
        }
        flow.finish(now, Stop::Complete)
    }
}

/// Keeps every snapshot.
#[derive(Default)]
pub(crate) struct Watch(pub Vec<firstflight_sim::Snapshot>);

impl Observer for Watch {
    fn on_event(
        &mut self,
        snapshot: &firstflight_sim::Snapshot,
        _signals: &firstflight_sim::observe::Signals<'_>,
    ) {
        self.0.push(*snapshot);
    }
}

/// Everything about an outcome that can be compared.
pub(crate) fn digest(outcome: &Outcome) -> String {
    let waits: Vec<(u64, u64)> = outcome
        .queue_us
        .iter_recorded()
        .map(|value| (value.value_iterated_to(), value.count_at_value().into()))
        .collect();
    let bare = Outcome {
        queue_us: hdrhistogram::Histogram::new(1).expect("one digit"),
        ..outcome.clone()
    };
    format!("{bare:?} {waits:?}")
}
