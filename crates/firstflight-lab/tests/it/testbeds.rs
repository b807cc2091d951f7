//! User-defined testbeds: one that only counts packets runs the same comparison as the built-in
//! ones, and values that it does not know are null. Warnings of trials stay with their own
//! comparison.

use firstflight::Nanos;
use firstflight_lab::compare::Keep;
use firstflight_lab::outcome::Counters;
use firstflight_lab::record::Recording;
use firstflight_lab::testbed::{BUILT_IN, Info};
use firstflight_lab::{
    Comparison, Error, NamedArm, Outcome, Plan, Scenario, Sender, Testbed, Testbeds, parse_arms,
};
use firstflight_path::{Fate, Path};
use std::sync::Barrier;
use std::thread;

/// Offers the object to the path packet by packet, as fast as the link takes it, and counts.
struct Counter;

static COUNTER: Counter = Counter;

static INFO: Info = Info {
    name: "counter",
    summary: "Counts packets",
    place: "packet by packet",
    stacks: Some("nobody's"),
    ..Info::REAL_STACKS
};

impl Testbed for Counter {
    fn info(&self) -> &Info {
        &INFO
    }

    fn run(
        &self,
        scenario: &Scenario,
        _arm: &NamedArm,
        seed: u64,
        _recorder: Option<&mut Recording>,
    ) -> Result<Outcome, Error> {
        let wire = scenario.host.packet_bytes();
        let packets = scenario.bytes.div_ceil(scenario.host.mss());
        let (mut forward, _) =
            scenario.path.links(wire, scenario.host.ack_bytes(), seed, scenario.path_index)?;
        let mut arrived = 0;
        for _ in 0..packets {
            arrived += u64::from(matches!(forward.offer(0, wire), Fate::Deliver { .. }));
        }
        Ok(Outcome {
            complete: arrived == packets,
            counters: Counters { packets_sent: Some(packets), ..Counters::default() },
            ..Outcome::default()
        })
    }
}

fn scenario(path: &str) -> Scenario {
    Scenario::new(Path::parse(path).expect("a path"), 1_000_000)
}

fn compared(testbed: &'static dyn Testbed, arms: &str, path: &str) -> Comparison {
    let arms = parse_arms(arms).expect("arms");
    Plan { testbed, repeat: 3, ..Plan::new(arms, scenario(path)) }
        .run(Keep::Rows, &|| ())
        .expect("runs")
}

#[test]
fn a_testbed_of_another_crate_is_compared_on_by_name() {
    let mut testbeds = Testbeds::default();
    testbeds.add(&COUNTER).expect("a new name");
    let counter = testbeds.find("counter").expect("it was added");
    let comparison = compared(counter, "slowstart,rapid", "rate=100Mbit,rtt=30ms,queue=unlimited");
    assert!(comparison.complete() && comparison.rows.len() == 6, "two arms, three seeds");
    let rows: serde_json::Value = serde_json::from_str(&comparison.to_json()).expect("JSON");
    assert_eq!(rows["experiment"]["testbed"], "counter");
    for row in rows["results"].as_array().expect("rows") {
        assert_eq!(
            (&row["testbed"], row["packets_sent"].as_u64()),
            (&"counter".into(), Some(1_000_000_u64.div_ceil(1472))),
            "{row}"
        );
        for unknown in [
            "ttlb_ms",
            "packets_lost",
            "loss_ratio",
            "rtos",
            "recoveries",
            "drops",
            "episodes",
            "exit",
            "delivered_bytes",
        ] {
            assert!(
                row[unknown].is_null(),
                "{unknown}: nobody measured it, and {} is no answer",
                row[unknown]
            );
        }
        assert!(row["queue_ms"]["p99"].is_null(), "{row}");
    }
    let page = comparison.report("nothing").to_html();
    assert!(page.contains("packet by packet"), "the report says where, in the testbed's own words");
}

#[test]
fn a_testbed_has_a_name_of_its_own_and_an_unknown_one_is_refused_with_those_that_are_known() {
    let mut testbeds = Testbeds::default();
    testbeds.add(&COUNTER).expect("a new name");
    assert!(testbeds.add(&COUNTER).is_err(), "twice the same name");
    let line = testbeds.find("conter").expect_err("there is none").to_string();
    assert!(
        line.contains("sim, quic, quic-real, linux, counter")
            && line.contains("did you mean `counter`?"),
        "{line}"
    );
    assert_eq!(
        Testbeds::default().names().count(),
        BUILT_IN.len(),
        "nobody's list but one's own has grown"
    );
}

#[test]
fn what_a_testbed_does_not_run_is_refused_before_the_first_trial() {
    for (arm, why) in [
        ("kernel:cubic", "testbed `linux` only"),
        ("slowstart@(detection=reno)", "a real stack detects losses in its own way"),
    ] {
        let plan = Plan {
            testbed: &COUNTER,
            ..Plan::new(parse_arms(arm).expect("an arm"), scenario("rapid-slide"))
        };
        let line =
            plan.run(Keep::Rows, &|| panic!("a trial ran")).expect_err("refused").to_string();
        assert!(line.contains(why), "`{line}` should say `{why}`");
    }
    let settings = vec![("net/ipv4/tcp_sack".to_owned(), "0".to_owned())];
    let elsewhere = Scenario { receiver: settings, ..scenario("rapid-slide") };
    let line = Plan::new(parse_arms("slowstart").expect("an arm"), elsewhere)
        .run(Keep::Rows, &|| ())
        .expect_err("refused")
        .to_string();
    assert!(line.contains("not a kernel"), "{line}");
}

/// Meets another trial and doubts itself, by name.
struct Doubting {
    meet: Barrier,
}

static DOUBTING: std::sync::LazyLock<Doubting> =
    std::sync::LazyLock::new(|| Doubting { meet: Barrier::new(2) });

impl Testbed for Doubting {
    fn info(&self) -> &Info {
        &INFO
    }

    fn run(
        &self,
        scenario: &Scenario,
        arm: &NamedArm,
        seed: u64,
        _recorder: Option<&mut Recording>,
    ) -> Result<Outcome, Error> {
        self.meet.wait();
        assert!(matches!(arm.sender, Sender::Arm(_)));
        let doubt = format!("{}, seed {seed}: {} bytes", arm.label, scenario.bytes);
        Ok(Outcome {
            complete: true,
            delivered_after: Some(Nanos(1)),
            warnings: vec![doubt],
            ..Outcome::default()
        })
    }
}

#[test]
fn two_comparisons_at_a_time_keep_their_warnings_apart() {
    let compare = |bytes: u64| {
        move || {
            let scenario = Scenario { bytes, ..scenario("rapid-slide") };
            let plan = Plan {
                testbed: &*DOUBTING,
                repeat: 50,
                ..Plan::new(parse_arms("slowstart").expect("an arm"), scenario)
            };
            let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
            alone.install(|| plan.run(Keep::Rows, &|| ())).expect("runs").warnings
        }
    };
    let (one, two) = (thread::spawn(compare(1_000)), thread::spawn(compare(2_000)));
    for (bytes, warnings) in
        [(1_000, one.join().expect("no panic")), (2_000, two.join().expect("no panic"))]
    {
        let expected: Vec<String> =
            (1..=50).map(|seed| format!("slowstart, seed {seed}: {bytes} bytes")).collect();
        assert_eq!(warnings, expected, "in the order of the trials, and only its own");
    }
}

/// The page shows a program that is compiled with the tests.
#[test]
fn the_page_on_testbeds_shows_the_example() {
    let page = include_str!("../../../../docs/add-a-testbed.md");
    let example = include_str!("../../examples/own_testbed.rs");
    let shown = page.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next());
    let program = example.split_once("\n\n").map(|(_, program)| program);
    assert_eq!(shown, program);
}
