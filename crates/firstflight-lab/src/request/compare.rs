//! The request for a comparison.

use super::{HostArgs, SharingArgs, named, packets, seed};
use crate::arms::{DEFAULT_ARMS, NamedArm, parse_arms};
use crate::compare::{Keep, Plan, Watch};
use crate::repeat::Stages;
use crate::request::Answer;
use crate::resume::{Resume, SAME};
use crate::scenario::Scenario;
use crate::sharing::SharingPlan;
use crate::size;
use crate::sweep::{Axis, SweepPlan};
use crate::testbed::{BUILT_IN, Testbed, quic_real};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use firstflight::Nanos;
use firstflight_path::Error;
use firstflight_path::{DEFAULT, Path};
use std::sync::atomic::AtomicBool;

/// Options of `compare`.
#[derive(Args, Clone, Debug)]
pub struct CompareRequest {
    /// Testbed
    #[arg(long, value_parser = testbeds(), default_value = "sim")]
    on: &'static dyn Testbed,
    /// Short for `--on quic-real`
    #[arg(long)]
    real: bool,
    #[command(flatten)]
    hosts: HostArgs,
    /// Path: a built-in name, inline text such as `rate=100Mbit,rtt=30ms,queue=30ms`, or a TOML
    /// file
    #[arg(long, default_value = DEFAULT, value_parser = named())]
    path: String,
    /// Object size with its unit
    #[arg(long, default_value = "3MB", value_parser = size::parse, allow_hyphen_values = true)]
    bytes: u64,
    /// Arms, separated by commas
    #[arg(long, default_value = DEFAULT_ARMS, value_parser = named())]
    arms: String,
    /// For `careful` and `plumb`, run an earlier connection first and reuse what it learned about
    /// the path (RFC 9959); `--resume=geo` runs it on another path
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true, default_missing_value = SAME, value_parser = named())]
    resume: Option<String>,
    /// Seed of the first trial's random draws; each later trial takes the next seed
    #[arg(long, default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    seed: u64,
    /// Trials per arm, each with the next seed and up to 0.5 ms of extra RTT [default: 1 on a deterministic path; on a random one 20 to 400,
    /// until the intervals are narrow]
    #[arg(long, value_parser = repeats, allow_negative_numbers = true)]
    repeat: Option<u32>,
    /// Initial window in packets, for arms that do not name one
    #[arg(long, default_value_t = 10, value_parser = packets, allow_negative_numbers = true)]
    iw: u32,
    /// Stop a trial after this much simulated time: 30s, 500ms, 2min, or a number of seconds
    #[arg(long, value_name = "TIME", default_value = "600s", value_parser = limit, allow_negative_numbers = true)]
    limit: Nanos,
    #[command(flatten)]
    sharing: SharingArgs,
}

fn repeats(text: &str) -> Result<u32, String> {
    size::count(text, 1..=100_000, "").map(|count| count as u32)
}

fn limit(text: &str) -> Result<Nanos, String> {
    size::limit(text, 86_400)
}

/// A parsed request.
#[derive(Clone, Debug)]
pub enum Asked {
    /// One flow at a time.
    Alone(Plan),
    /// Several flows at a time.
    Together(SharingPlan),
}

impl Asked {
    /// Arms, path and object.
    pub fn plan(&self) -> &Plan {
        match self {
            Asked::Alone(plan) => plan,
            Asked::Together(sharing) => &sharing.plan,
        }
    }

    fn plan_mut(&mut self) -> &mut Plan {
        match self {
            Asked::Alone(plan) => plan,
            Asked::Together(sharing) => &mut sharing.plan,
        }
    }

    /// Divides the work between this many comparisons of one command.
    pub(crate) fn share_work(&mut self, comparisons: usize) {
        let plan = self.plan_mut();
        plan.stages = plan.stages.map(|stages| stages.shared_by(comparisons));
    }

    /// Reduces trials in stages to a single trial; returns `false` if there are no stages.
    pub fn once(&mut self) -> bool {
        let plan = self.plan_mut();
        let staged = plan.stages.take().is_some();
        if staged {
            plan.repeat = 1;
        }
        staged
    }

    /// Maximum number of trials.
    pub fn trials(&self) -> u64 {
        self.plan().arms.len() as u64 * u64::from(self.plan().repeat)
    }

    /// Runs the request, with a tick after every trial, until `stop` is set.
    ///
    /// # Errors
    /// Errors of [`Plan::run_with`] and [`SharingPlan::run_with`].
    pub fn run(
        &self,
        keep: Keep,
        tick: &(impl Fn() + Sync),
        stop: &AtomicBool,
    ) -> Result<Answer, Error> {
        let watch = Watch { tick, stop, partly: false };
        match self {
            Asked::Alone(plan) => plan.run_with(keep, None, &watch).map(Answer::Alone),
            Asked::Together(plan) => plan.run_with(&|_, _, _| Ok(()), &watch).map(Answer::Together),
        }
    }
}

impl CompareRequest {
    /// Parses the request.
    ///
    /// # Errors
    /// A one-line message if an option is invalid.
    pub fn asked(&self) -> Result<Asked, Error> {
        self.asked_of(None)
    }

    /// The parsed request; `arms` replace its own if given.
    ///
    /// # Errors
    /// A one-line message if an option is invalid.
    pub fn asked_of(&self, arms: Option<&[NamedArm]>) -> Result<Asked, Error> {
        let plan = self.plan_on(Path::parse(&self.path), self.bytes, arms)?;
        if self.sharing.are_given() {
            if plan.resume.is_some() {
                return Err(Error::new(
                    "--resume: one flow after another; leave out --flows, --apart, --cross and --app",
                ));
            }
            self.sharing.plan(plan).map(Asked::Together)
        } else {
            Ok(Asked::Alone(plan))
        }
    }

    /// The sweep over these axes; `arms` replace its own if given.
    ///
    /// # Errors
    /// A one-line message if an option or a key is invalid.
    pub fn sweep_of(&self, axes: Vec<Axis>, arms: Option<&[NamedArm]>) -> Result<SweepPlan, Error> {
        if self.sharing.are_given() {
            return Err(Error::new(
                "--sweep: sweeps one flow alone; leave out --flows, --apart, --cross and --app",
            ));
        }
        SweepPlan::new(axes, &self.path, |path, bytes| {
            self.plan_on(Ok(path), bytes.unwrap_or(self.bytes), arms)
        })
    }

    /// The comparison on this path with an object of this size, if the path is valid.
    fn plan_on(
        &self,
        path: Result<Path, Error>,
        bytes: u64,
        arms: Option<&[NamedArm]>,
    ) -> Result<Plan, Error> {
        let testbed = testbed(self.on, self.real)?;
        let info = testbed.info();
        let named = if self.arms == DEFAULT_ARMS { info.arms } else { &self.arms };
        let path = path?;
        let host = info.only_hosts().map_or_else(|| self.hosts.hosts(), Ok)?.on(&path);
        let plan = Plan {
            arms: arms.map_or_else(|| parse_arms(named), |arms| Ok(arms.to_vec()))?,
            testbed,
            scenario: Scenario {
                iw: self.iw,
                limit: self.limit,
                host,
                ..Scenario::new(path, bytes)
            },
            seed: self.seed,
            repeat: self.repeat.unwrap_or(1),
            stages: None,
            resume: self.resume.as_deref().map(Resume::parse).transpose()?,
        };
        Ok(if self.repeat.is_some() { plan } else { plan.staged(Stages::default()) })
    }
}

/// Values of `--on`, each with a line of help text.
pub fn testbeds() -> impl TypedValueParser<Value = &'static dyn Testbed> {
    let values = BUILT_IN
        .iter()
        .map(|testbed| PossibleValue::new(testbed.info().name).help(testbed.info().summary));
    let by_name = |name: String| {
        BUILT_IN.into_iter().find(|testbed| testbed.info().name == name).ok_or("no such testbed")
    };
    PossibleValuesParser::new(values).try_map(by_name)
}

/// The testbed that the options name, if this build has it.
fn testbed(named: &'static dyn Testbed, real: bool) -> Result<&'static dyn Testbed, Error> {
    let testbed: &'static dyn Testbed = match named.info().name {
        "sim" if real => {
            return Err(Error::new("--real: only `--on quic` has real sockets"));
        }
        "quic" if real => &quic_real::BED,
        _ => named,
    };
    testbed.available().map(|()| testbed)
}
