//! The interface used by other languages: user-defined startups, runs that can be stopped, tests by
//! blocks, populations sent together with their files.

use firstflight::Nanos;
use firstflight::event::{Ack, Context, Window};
use firstflight::startup::{ExitReason, Grown, Handover, Leave, SlowStart, Startup, Verdict};
use firstflight_lab::ab::{Analysis, Clock, Run, Tallies, Test, Watch, shard};
use firstflight_lab::compare::{self, Keep};
use firstflight_lab::flows::{App, Flows, Response, SharingFlow};
use firstflight_lab::testbed::BUILT_IN;
use firstflight_lab::{
    Error, NamedArm, OwnStartup, Plan, Population, Scenario, TrialRow, parse_arms,
};
use firstflight_path::Path;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Slow start that somebody else wrote, and that leaves at a window if one is given.
struct Foreign {
    exit: Option<u64>,
    broken: Option<Arc<AtomicBool>>,
}

impl Startup for Foreign {
    type Saved = ();

    fn sample(&mut self, _ack: &Ack, w: Window, _cx: &Context) -> Verdict {
        if let Some(broken) = &self.broken {
            broken.store(true, Ordering::Relaxed);
        }
        match self.exit {
            Some(exit) if w.cwnd >= exit => Verdict::Leave(Leave {
                reason: ExitReason::Estimate,
                ssthresh: exit,
                cwnd: None,
                handover: Handover::LossFree,
                estimate: Some(exit),
            }),
            _ => Verdict::Stay,
        }
    }

    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        SlowStart.grow(ack, acked, w, cx)
    }
}

fn own(exit: Option<u64>) -> OwnStartup {
    OwnStartup::new("foreign", Arc::default(), move || Box::new(Foreign { exit, broken: None }))
}

fn arm(text: &str) -> NamedArm {
    parse_arms(text).expect("an arm").remove(0)
}

fn plan(arms: Vec<NamedArm>, path: &str) -> Plan {
    let scenario = Scenario::new(Path::parse(path).expect("a path"), 2_000_000);
    Plan { repeat: 3, ..Plan::new(arms, scenario) }
}

fn nameless(rows: &[TrialRow]) -> Vec<TrialRow> {
    rows.iter()
        .map(|row| TrialRow { arm: String::new(), arm_full: String::new(), ..row.clone() })
        .collect()
}

#[test]
fn a_startup_that_is_not_ours_does_what_ours_does() {
    for (rest, path) in [
        ("", "rapid-slide"),
        ("/reno/immediate@(iw=30)", "leo,loss=1%"),
        ("/cubic/sack", "rate=20Mbit,rtt=80ms,queue=0.2bdp"),
    ] {
        let foreign = NamedArm::with_own("mine", own(None), rest).expect("an arm");
        let result = plan(vec![arm(&format!("slowstart{rest}")), foreign], path)
            .run(Keep::Rows, &|| ())
            .expect("runs");
        assert_eq!(
            nameless(result.trials(0)),
            nameless(result.trials(1)),
            "slow start behind a virtual call is slow start, `{rest}` on {path}"
        );
    }
}

#[test]
fn responses_and_videos_are_carried_by_the_startup_that_was_asked_for() {
    let scenario = Scenario::new(Path::parse("rapid-slide").expect("a path"), 2_000_000);
    let responses =
        App::Responses(vec![Response { pause: Nanos::from_millis(50), bytes: 1_000_000 }; 2]);
    let video = App::Video {
        bytes: 3_000_000,
        first: 1_000_000,
        write: 64_000,
        every: Nanos::from_millis(20),
    };
    for app in [responses, video] {
        let foreign = |exit| NamedArm::with_own("mine", own(exit), "/reno").expect("an arm");
        let leaves =
            scenario.simulate_app(&foreign(Some(100_000)), app.clone(), 1, None).expect("runs");
        let exit = leaves.exit.expect("it left");
        assert_eq!(
            (exit.reason, exit.estimate),
            (ExitReason::Estimate, Some(100_000)),
            "the foreign startup decided, on {app:?}"
        );
        let (stays, ours) = (
            scenario.simulate_app(&foreign(None), app.clone(), 1, None),
            scenario.simulate_app(&arm("slowstart/reno"), app.clone(), 1, None),
        );
        let (stays, ours) = (stays.expect("runs"), ours.expect("runs"));
        assert_eq!(
            (stays.acked_after, stays.counters.packets_sent, stays.parts),
            (ours.acked_after, ours.counters.packets_sent, ours.parts),
            "slow start is slow start"
        );

        let broken = Arc::new(AtomicBool::new(false));
        let shared = broken.clone();
        let make = move || -> Box<dyn Startup<Saved = ()>> {
            Box::new(Foreign { exit: None, broken: Some(shared.clone()) })
        };
        let breaks = NamedArm::with_own("mine", OwnStartup::new("foreign", broken, make), "")
            .expect("an arm");
        assert!(
            scenario
                .simulate_app(&breaks, app.clone(), 1, None)
                .expect_err("it broke")
                .to_string()
                .contains("its startup broke")
        );

        // The arm's other options run or are refused, too.
        let refused = scenario
            .simulate_app(&arm("slowstart@(detection=reno)"), app.clone(), 1, None)
            .expect_err("QUIC has no such detection")
            .to_string();
        assert!(refused.contains("--transport tcp"), "`{refused}` should say what it goes with");
        let kernel = scenario
            .simulate_app(&arm("kernel:cubic"), app.clone(), 1, None)
            .expect_err("not in the simulator")
            .to_string();
        assert!(kernel.contains("kernel:cubic") && kernel.lines().count() == 1, "{kernel}");
        let flow = SharingFlow {
            arm: arm("kernel:cubic"),
            app,
            start: Nanos::ZERO,
            rtt_extra: Nanos::ZERO,
        };
        assert!(
            scenario.run_flows(&Flows::new(&[flow], 1), None).is_err(),
            "nor beside other flows"
        );
    }
}

#[test]
fn a_startup_that_is_not_ours_leaves_when_it_says() {
    let foreign = NamedArm::with_own("mine", own(Some(200_000)), "/reno").expect("an arm");
    let result = plan(vec![foreign], "rapid-slide").run(Keep::Signals, &|| ()).expect("runs");
    let exit = result.rows[0].exit.as_ref().expect("it left");
    assert_eq!((exit.reason, exit.estimate), ("estimate", Some(200_000)));
    assert_eq!(
        result.rows[0].arm_full, "foreign/reno/prr",
        "its full name is its own, then the rest of the arm"
    );
}

#[test]
fn a_startup_that_broke_ends_the_comparison() {
    let broken = Arc::new(AtomicBool::new(false));
    let shared = broken.clone();
    let make = move || -> Box<dyn Startup<Saved = ()>> {
        Box::new(Foreign { exit: None, broken: Some(shared.clone()) })
    };
    let foreign =
        NamedArm::with_own("mine", OwnStartup::new("foreign", broken, make), "").expect("an arm");
    let line = plan(vec![foreign], "rapid-slide")
        .run(Keep::Rows, &|| ())
        .expect_err("it broke")
        .to_string();
    assert!(line.contains("its startup broke"), "`{line}` should say so");
}

#[test]
fn a_startup_that_is_not_ours_runs_beside_other_flows_and_nothing_in_its_name() {
    let flow = |arm| SharingFlow {
        arm,
        app: App::Bulk(1_000_000),
        start: Nanos::ZERO,
        rtt_extra: Nanos::ZERO,
    };
    let foreign = NamedArm::with_own("mine", own(Some(60_000)), "").expect("an arm");
    let scenario = Scenario::new(Path::default(), 1_000_000);
    let outcome = scenario
        .run_flows(&Flows::new(&[flow(foreign), flow(arm("slowstart"))], 1), None)
        .expect("it runs beside ours");
    let left = outcome.flows[0].exit.map(|exit| exit.reason);
    assert_eq!(left, Some(ExitReason::Estimate), "it leaves where it says");
}

#[test]
fn a_startup_that_is_not_ours_is_refused_where_it_cannot_run() {
    let scenario = Scenario::new(Path::default(), 1_000_000);
    for rest in ["reno", "/nonsense", "/reno/prr/more"] {
        assert!(
            NamedArm::with_own("mine", own(None), rest).is_err(),
            "`{rest}` is not the rest of an arm"
        );
    }
    let foreign = NamedArm::with_own("mine", own(None), "").expect("an arm");
    for testbed in BUILT_IN {
        let name = testbed.info().name;
        assert_eq!(
            testbed.check(&scenario, &foreign).is_ok(),
            name == "sim",
            "only the simulator runs it, not {name}"
        );
    }
}

#[test]
fn a_receiver_that_the_path_describes_is_the_simulators() {
    let path = || Path::parse("rapid-slide,ack=1").expect("a path");
    let every =
        Scenario::new(path(), 1_000_000).simulate(&arm("slowstart"), 1, None).expect("runs");
    let second = Scenario::new(Path::parse("rapid-slide").expect("a path"), 1_000_000)
        .simulate(&arm("slowstart"), 1, None)
        .expect("runs");
    assert_ne!(
        every.acked_after, second.acked_after,
        "an ACK for every packet, or for every second"
    );
    assert_eq!(
        plan(vec![arm("slowstart")], "rapid-slide,ack=1").resolved().ack_every,
        Some(1),
        "what was run is said"
    );
    for testbed in BUILT_IN
        .into_iter()
        .filter(|testbed| testbed.info().name != "sim" && testbed.available().is_ok())
    {
        let plan =
            Plan { testbed, ..Plan::new(vec![arm("slowstart")], Scenario::new(path(), 1_000_000)) };
        let refused = plan.run(Keep::Rows, &|| ()).expect_err("not here").to_string();
        assert!(
            refused.contains("ack=")
                && refused.contains(testbed.info().name)
                && refused.lines().count() == 1,
            "{refused}"
        );
    }
}

/// Each testbed runs the receiver's windows that it supports and refuses the rest in a line that says why.
#[test]
fn a_receive_window_runs_where_the_receiver_has_one() {
    for testbed in BUILT_IN.into_iter().filter(|testbed| testbed.available().is_ok()) {
        let name = testbed.info().name;
        for (keys, on) in [
            ("rwnd=64kB", &["sim", "quic", "linux"][..]),
            ("rwnd=auto", &["sim", "linux"][..]),
            ("rwnd=64kB,read=10Mbit", &["sim", "linux"][..]),
        ] {
            let path = Path::parse(&format!("rapid-slide,{keys}")).expect("a path");
            let mut scenario = Scenario::new(path, 1_000_000);
            scenario.host = testbed.info().only_hosts().unwrap_or(scenario.host);
            let arm = if name == "linux" { "kernel:cubic" } else { "slowstart" };
            let checked = testbed.check(&scenario, &self::arm(arm));
            assert_eq!(checked.is_ok(), on.contains(&name), "{keys} on {name}: {checked:?}");
            if let Err(refused) = checked {
                let line = refused.to_string();
                assert!(line.contains("leave `rwnd`") && line.lines().count() == 1, "{line}");
            }
        }
    }
}

/// Each testbed runs the ECN modes, longest timeouts and packet sizes that it supports and refuses the rest
/// in a line that says why.
#[test]
fn options_of_a_transport_run_where_the_transport_has_them() {
    for testbed in BUILT_IN.into_iter().filter(|testbed| testbed.available().is_ok()) {
        let name = testbed.info().name;
        let tcp = name == "linux";
        for (path, options, on, why) in [
            ("rapid-slide", "@(ecn=rfc9000)", &["sim", "quic", "quic-real"][..], "`ecn"),
            ("rapid-slide", "@(ecn=off)", &["sim", "quic"], "`ecn"),
            ("rapid-slide", "@(ecn=quic-go)", &["sim"], "`ecn"),
            ("rapid-slide", "@(rtomax=10s)", &["linux"], "`rtomax` is TCP's"),
            ("rapid-slide,mtu=1280B", "", &["sim", "quic", "quic-real", "linux"], "mtu"),
            ("rapid-slide,mtu=9kB", "", &["sim", "quic", "quic-real", "linux"], "mtu"),
            ("rapid-slide,mtu=1.2kB", "", &["linux"], "QUIC sends datagrams of at least 1200 B"),
        ] {
            // The kernel's own controllers have no ECN validation either, and say so in their way.
            if tcp && options.contains("ecn") {
                continue;
            }
            let path = Path::parse(path).expect("a path");
            let host = testbed.info().only_hosts().map(|host| host.on(&path));
            let mut scenario = Scenario::new(path, 1_000_000);
            scenario.host = host.unwrap_or(scenario.host);
            let arm = if tcp { "kernel:cubic" } else { "slowstart" };
            let checked = testbed.check(&scenario, &self::arm(&format!("{arm}{options}")));
            assert_eq!(checked.is_ok(), on.contains(&name), "{options} on {name}: {checked:?}");
            if let Err(refused) = checked {
                let line = refused.to_string();
                assert!(line.contains(why) && line.lines().count() == 1, "{line}");
            }
        }
    }
    let tcp = Scenario {
        host: firstflight_lab::scenario::hosts_of_tcp("rack").expect("hosts"),
        ..Scenario::new(Path::default(), 1_000_000)
    };
    let refused = |options: &str| {
        let arm = arm(&format!("slowstart@({options})"));
        BUILT_IN[0].check(&tcp, &arm).err().map(|refused| refused.to_string())
    };
    assert_eq!(refused("rtomax=300s"), None, "the simulator's TCP has it");
    let line = refused("ecn=rfc9000").expect("refused");
    assert!(line.contains("`ecn` is QUIC's"), "{line}");
}

/// Acceptance of ECN validation on a path that marks every packet: within 1.5 times the ideal by
/// quic-go's rule; by the RFC's alone it stays a marked path. noq without ECT is not marked.
#[test]
fn quic_gos_rule_makes_a_path_that_marks_everything_usable() {
    let path = "rate=100Mbit,rtt=30ms,queue=30ms,ecn=ce:100%";
    let arms = "slowstart,hystart++,rapid,plumb";
    for (rule, fast) in [("quic-go", true), ("off", true), ("rfc9000", false)] {
        let arms: Vec<NamedArm> =
            arms.split(',').map(|name| arm(&format!("{name}@(ecn={rule})"))).collect();
        let scenario = Scenario::new(Path::parse(path).expect("a path"), 10_000_000);
        let done = Plan::new(arms, scenario).run(Keep::Rows, &|| ()).expect("it runs");
        for row in done.rows {
            let ratio = row.vs_ideal.expect("it finishes");
            assert_eq!(ratio < 1.5, fast, "{}: {ratio} times the ideal", row.arm);
            let failure = (rule == "quic-go").then_some("mangled");
            assert_eq!(row.ecn_failure, failure, "{}", row.arm);
        }
    }
    let quic = BUILT_IN.into_iter().find(|testbed| testbed.info().name == "quic");
    if let Some(testbed) = quic.filter(|testbed| testbed.available().is_ok()) {
        let scenario = Scenario::new(Path::parse(path).expect("a path"), 3_000_000);
        let arms = vec![arm("hystart++@(ecn=off)"), arm("hystart++@(ecn=rfc9000)")];
        let rows = Plan { testbed, ..Plan::new(arms, scenario) }
            .run(Keep::Rows, &|| ())
            .expect("it runs")
            .rows;
        let ratios: Vec<f64> = rows.iter().filter_map(|row| row.vs_ideal).collect();
        assert!(
            ratios.len() == 2 && ratios[0] < 2.0 && ratios[1] > 5.0,
            "noq without and with ECT: {ratios:?} times the ideal"
        );
    }
}

/// Advice of the path and receive timestamps are the simulator's; each refusal names the way out.
#[test]
fn advice_and_receive_timestamps_run_where_there_are_any() {
    let advised = Path::parse("rapid-slide,scone=20Mbit").expect("a path");
    for testbed in BUILT_IN.into_iter().filter(|testbed| testbed.available().is_ok()) {
        let name = testbed.info().name;
        let hosts = testbed.info().only_hosts();
        let mut scenario = Scenario::new(advised.clone(), 1_000_000);
        scenario.host = hosts.unwrap_or(scenario.host);
        let plain = if name == "linux" { "kernel:cubic" } else { "slowstart" };
        let checked = testbed.check(&scenario, &arm(plain));
        assert_eq!(checked.is_ok(), name == "sim", "scone= on {name}: {checked:?}");
        if let Err(refused) = checked {
            assert!(refused.to_string().contains("hint=scone:RATE"), "{refused}");
        }
    }
    let sim =
        BUILT_IN.into_iter().find(|testbed| testbed.info().name == "sim").expect("the simulator");
    let refusal = |text: &str| {
        let checked = sim.check(&Scenario::new(advised.clone(), 1_000), &arm(text));
        checked.err().map(|error| error.to_string()).unwrap_or_default()
    };
    let two = refusal("rapid(hint=on)@(hint=saved:9Mbit,advice=exit)");
    assert!(two.contains("one hint"), "{two}");
    for text in ["rapid(hint=on)@(hint=saved:9Mbit)", "slowstart@(hint=scone:9Mbit,advice=cap)"] {
        assert_eq!(refusal(text), "", "{text} runs on a path that advises");
    }
    let mut tcp = Scenario::new(advised.clone(), 1_000);
    tcp.host = firstflight_lab::scenario::hosts_of_tcp("linux").expect("a preset");
    let stamped = sim.check(&tcp, &arm("slowstart@(receivets=on)"));
    assert!(stamped.is_err_and(|error| error.to_string().contains("TCP has timestamps")));
}

#[test]
fn a_comparison_that_is_stopped_has_no_result() {
    let plan = plan(vec![arm("slowstart")], "rapid-slide");
    assert!(plan.run_with(Keep::Rows, None, &compare::Watch::default()).is_ok());
    let stopped = plan
        .run_with(
            Keep::Rows,
            None,
            &compare::Watch { stop: &AtomicBool::new(true), ..compare::Watch::default() },
        )
        .expect_err("stopped")
        .to_string();
    assert!(stopped.contains("stopped"), "`{stopped}` should say so");
}

fn test() -> Test {
    Test {
        population: Population::parse("cdn").expect("a population"),
        arms: parse_arms("slowstart,rapid").expect("arms"),
        flows: 400,
        seed: 1,
        iw: 30,
        burst: 2,
        limit: Nanos::from_secs(600),
        host: firstflight_lab::Hosts::default(),
        detection: None,
        clock: Clock::Receiver,
        limits: firstflight_lab::decision::Limits::default(),
    }
}

fn blocks(test: &Test, blocks: impl IntoIterator<Item = u64>) -> Result<Tallies, Error> {
    let stop = AtomicBool::new(false);
    let run = Run { blocks: Some(blocks.into_iter().collect()), ..Run::default() };
    test.run(&run, &mut Watch { tick: &|_| (), stop: &stop, rows: None })
}

#[test]
fn ranges_of_blocks_add_up_to_the_whole_test() {
    let test = test();
    let experiment = test.experiment();
    let stop = AtomicBool::new(false);
    let whole = test
        .run(&Run::default(), &mut Watch { tick: &|_| (), stop: &stop, rows: None })
        .expect("runs");
    let parts = [4..7, 0..1, 1..4].map(|range| blocks(&test, range).expect("runs"));
    assert_eq!(test.blocks(), 7, "400 connections in blocks of 64");
    let shards = parts
        .into_iter()
        .enumerate()
        .map(|(index, part)| (index.to_string(), experiment.clone(), part))
        .collect();
    let (_, joined) = shard::join(shards).expect("every block once");
    let json = |tallies: &Tallies| Analysis::new(&experiment, tallies, &[]).to_json();
    assert_eq!(json(&joined), json(&whole), "ranges joined in any order are one run");
    assert_eq!(
        blocks(&test, [7]).expect_err("no such block").to_string(),
        "block 7: there are 7, counted from 0"
    );
}

#[test]
fn a_population_travels_with_its_files() {
    let csv = "rtt_ms,rate_mbps,group\n20,100,fibre\n40,50,fibre\n90,8,dsl\n";
    let here = Population::from_csv("measured.csv", csv).expect("a population");
    let files = BTreeMap::from([("measured.csv".to_owned(), csv.to_owned())]);
    let there = Population::from_parts("elsewhere", &here.to_string(), &files).expect("the same");
    assert_eq!(there.to_string(), here.to_string(), "the same file");
    assert!(
        (0..50).all(|index| here.draw(1, index) == there.draw(1, index)),
        "the same connections"
    );
    let line = Population::from_parts("elsewhere", &here.to_string(), &BTreeMap::new())
        .expect_err("a file is missing")
        .to_string();
    assert!(line.contains("measured.csv was not provided"), "`{line}` should name the file");
}

#[test]
fn every_built_in_population_survives_travelling() {
    for name in firstflight_lab::population::builtin::names() {
        let here = Population::parse(name).expect("a population");
        let there =
            Population::from_parts(name, &here.to_string(), &BTreeMap::new()).expect("the same");
        assert_eq!(there.to_string(), here.to_string(), "{name}");
    }
}

#[test]
fn acks_that_a_sender_asks_for_are_refused_where_nobody_hears_of_them() {
    let of = |path: &str| Scenario::new(Path::parse(path).expect("a path"), 1_000_000);
    let asks = arm("slowstart@(acks=8)");
    let tcp = Scenario { host: firstflight_sim::tcp::Host::default().into(), ..of("geo") };
    for (scenario, what) in [(tcp, "QUIC"), (of("geo,gro=1ms:30kB"), "gro=")] {
        let refused = scenario.simulate(&asks, 1, None).expect_err("refused").to_string();
        assert!(refused.contains("`acks`") && refused.contains(what), "{refused}");
    }
    for testbed in BUILT_IN {
        let refused = testbed.check(&of("geo"), &asks).err().map(|error| error.to_string());
        let (name, runs) = (testbed.info().name, refused.is_none());
        assert_eq!(runs, name == "sim", "only the simulator's receiver hears it, not {name}");
        assert!(refused.is_none_or(|line| line.contains("`acks`")), "{name}");
    }
    let plain = of("geo,ack=25").simulate(&arm("hystart++"), 1, None).expect("runs");
    let asked = of("geo,ack=25").simulate(&arm("hystart++@(acks=8)"), 1, None).expect("runs");
    assert_ne!(plain.acked_after, asked.acked_after, "asking changes what is acknowledged");
}
