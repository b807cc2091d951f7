//! A testbed of somebody else, which only counts packets, beside the simulator: the program of
//! `docs/add-a-testbed.md`.

use firstflight_lab::compare::Keep;
use firstflight_lab::outcome::Counters;
use firstflight_lab::record::Recording;
use firstflight_lab::testbed::{Info, Speaks};
use firstflight_lab::{Error, NamedArm, Outcome, Plan, Scenario, Testbed, Testbeds, parse_arms};
use firstflight_path::Path;

struct Mine;

static MINE: Mine = Mine;

static INFO: Info = Info {
    name: "mine",
    summary: "My stack on my network",
    place: "over my network",
    stacks: Some("my stack 1.0"),
    speaks: Speaks::Quic,
    ..Info::REAL_STACKS
};

impl Testbed for Mine {
    fn info(&self) -> &Info {
        &INFO
    }

    // The scenario holds the path, the object, the time limit and the hosts; the arm selects the
    // sender; the seed determines every random draw of the path.
    fn run(
        &self,
        scenario: &Scenario,
        _arm: &NamedArm,
        _seed: u64,
        _recording: Option<&mut Recording>,
    ) -> Result<Outcome, Error> {
        let sent = scenario.bytes.div_ceil(scenario.host.mss());
        let counters = Counters { packets_sent: Some(sent), ..Counters::default() };
        Ok(Outcome { complete: true, counters, ..Outcome::default() })
    }
}

fn main() -> Result<(), Error> {
    let mut testbeds = Testbeds::default();
    testbeds.add(&MINE)?;
    for name in ["mine", "sim"] {
        let scenario = Scenario::new(Path::parse("rate=100Mbit,rtt=30ms,queue=30ms")?, 1_000_000);
        let arms = parse_arms("slowstart,rapid")?;
        let plan = Plan { testbed: testbeds.find(name)?, ..Plan::new(arms, scenario) };
        println!("{}", plan.run(Keep::Rows, &|| ())?.to_json());
    }
    Ok(())
}
