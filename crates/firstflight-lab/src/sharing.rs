//! Several arms through one bottleneck at the same time, on the simulator: who starts when, what each carries, and how they share.

use crate::arms::NamedArm;
use crate::error::Bad;
use crate::testbed::Testbed;
use crate::trial::Ground;
use firstflight::{Nanos, Seq, Time};
pub use firstflight_sim::{App, Response, SharedOutcome, fairness_ppm};
use firstflight_sim::{FlowPlan, Nobody, Shared, run_flows};

/// One flow of several.
#[derive(Clone, Debug)]
pub struct SharingFlow {
    /// Who sends.
    pub arm: NamedArm,
    /// What.
    pub app: App,
    /// When its first packet leaves.
    pub start: Nanos,
    /// What its round trip is longer than the path's.
    pub rtt_extra: Nanos,
}

impl Ground {
    /// Runs flows together, until all are through or the limit is reached. The ground's object does not count, each flow has its own;
    /// with `sample` it is noted that often what each flow has delivered.
    ///
    /// # Errors
    /// If the path cannot carry the host's packets, or the testbed is not the simulator.
    pub fn run_flows(&self, flows: &[SharingFlow], seed: u64, sample: Option<Nanos>) -> Result<SharedOutcome, Bad> {
        if self.testbed != Testbed::Sim {
            return Err(Bad("several flows at a time run in the simulator only".into()));
        }
        if let Some(flow) = flows.iter().find(|flow| flow.arm.own.is_some()) {
            return Err(Bad(format!("arm `{}`: a startup of your own has the path for itself", flow.arm.label)));
        }
        if let Some(flow) = flows.iter().find(|flow| flow.arm.arm.sender.detection.is_some() || flow.arm.arm.sender.early.is_some()) {
            return Err(Bad(format!("arm `{}`: flows that share a path share their hosts: `--detection` goes for all", flow.arm.label)));
        }
        let plan = |flow: &SharingFlow| FlowPlan {
            controller: flow.arm.arm.controller(self.config(), self.oracle_exit(), Time(flow.start.0), Seq(0)),
            pacer_burst: u64::from(flow.arm.arm.sender.burst.unwrap_or(self.burst)) * self.host.mss(),
            app: flow.app.clone(),
            start: flow.start,
            rtt_extra: flow.rtt_extra,
        };
        let shared = Shared { path: &self.path, host: self.host, limit: self.limit, seed, path_index: self.path_index, sample };
        Ok(run_flows(&shared, flows.iter().map(plan).collect(), &mut Nobody)?)
    }
}
