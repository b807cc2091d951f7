//! User-defined avoidances and recoveries, and arms that name them.

use firstflight::Nanos;
use firstflight::avoidance::{Cubic, Prague, Reno, cubic, prague, reno};
use firstflight::recovery::{Prr, RateHalving, prr, rate_halving};
use firstflight::startup::{HyStartPlusPlus, RapidStart, hystart_plus_plus, rapid_start};
use firstflight_lab::compare::Keep;
use firstflight_lab::flows::{App, Flows, SharingFlow};
use firstflight_lab::{
    NamedArm, OwnAvoidance, OwnPart, OwnRecovery, OwnStartup, Plan, Scenario, TrialRow,
    hosts_of_tcp, own_arm, own_parts, parse_arms,
};
use firstflight_path::Path;

/// Parts of ours, as if somebody else had written them.
fn parts() -> Vec<OwnPart> {
    let rapid = || RapidStart::new(rapid_start::Params::default());
    let hystart = || HyStartPlusPlus::new(hystart_plus_plus::Params::default());
    let halving = || RateHalving::new(rate_halving::Params::default());
    vec![
        OwnPart::Startup(OwnStartup::of("my-rapid", rapid)),
        OwnPart::Startup(OwnStartup::of("my-hystart", hystart)),
        OwnPart::Avoidance(OwnAvoidance::of("my-cubic", || Cubic::new(cubic::Params::default()))),
        OwnPart::Avoidance(OwnAvoidance::of("my-reno", || Reno::new(reno::Params::default()))),
        OwnPart::Avoidance(OwnAvoidance::of(
            "my-prague",
            || Prague::new(prague::Params::default()),
        )),
        OwnPart::Recovery(OwnRecovery::of("my-prr", || Prr::new(prr::Params::default()))),
        OwnPart::Recovery(OwnRecovery::of("my-halving", halving)),
    ]
}

/// The same arm of ours and of such parts.
fn pair(ours: &str, own: &str) -> [NamedArm; 2] {
    let own = own_arm(own, &parts()).expect("it has parts of somebody's own").expect(own);
    [parse_arms(ours).expect(ours).remove(0), own]
}

const PAIRS: [(&str, &str); 6] = [
    ("slowstart/cubic/prr", "slowstart/my-cubic/my-prr"),
    ("rapid/cubic/prr", "my-rapid/my-cubic/my-prr"),
    ("rapid/reno/halving", "rapid/my-reno/my-halving"),
    ("hystart++/cubic/prr@(iw=30)", "my-hystart/cubic/my-prr@(iw=30)"),
    ("bbr/reno", "bbr/my-reno"),
    ("slowstart/prague", "slowstart/my-prague"),
];

fn nameless(rows: &[TrialRow]) -> Vec<TrialRow> {
    let bare =
        |row: &TrialRow| TrialRow { arm: String::new(), arm_full: String::new(), ..row.clone() };
    rows.iter().map(bare).collect()
}

#[test]
fn parts_that_do_what_ours_do_give_what_ours_give() {
    for (ours, own) in PAIRS {
        for path in [
            "rate=20Mbit,rtt=80ms,queue=0.2bdp",
            // Losses that prove false are taken back.
            "rate=30Mbit,rtt=40ms,queue=1bdp,reorder=2%:20ms,loss=0.1%",
            "rate=20Mbit,rtt=40ms,queue=2bdp,codel,ecn",
        ] {
            for host in [None, Some(hosts_of_tcp("rack").expect("hosts"))] {
                let scenario = Scenario::new(Path::parse(path).expect(path), 3_000_000);
                let scenario = host.map_or(scenario.clone(), |host| Scenario { host, ..scenario });
                let plan = Plan { repeat: 3, ..Plan::new(pair(ours, own).to_vec(), scenario) };
                let result = plan.run(Keep::Rows, &|| ()).expect("runs");
                let [ours, own] = [0, 1].map(|place| nameless(result.trials(place)));
                assert_eq!(ours, own, "{own:?} behind virtual calls on {path}");
            }
        }
    }
}

#[test]
fn beside_other_flows_they_do_so_too() {
    let scenario =
        Scenario::new(Path::parse("rate=30Mbit,rtt=40ms,queue=0.5bdp").expect("a path"), 1);
    for (ours, own) in PAIRS {
        let [ours, own] = pair(ours, own).map(|arm| {
            let other = parse_arms("slowstart/cubic/prr").expect("an arm").remove(0);
            let flow = |arm, start| SharingFlow {
                arm,
                app: App::Bulk(5_000_000),
                start: Nanos::from_millis(start),
                rtt_extra: Nanos::ZERO,
            };
            let flows = [flow(other, 0), flow(arm, 500)];
            let every = Some(Nanos::from_millis(100));
            scenario
                .run_flows(&Flows { sample: every, ..Flows::new(&flows, 1) }, None)
                .expect("runs")
                .delivered
        });
        assert_eq!(ours, own);
    }
}

#[test]
fn an_arm_of_them_has_its_names_in_full() {
    let full = |text: &str| {
        own_arm(text, &parts())
            .map(|arm| arm.map_or_else(|error| error.to_string(), |arm| arm.full()))
    };
    assert_eq!(full("my-rapid").as_deref(), Some("my-rapid/cubic/prr"));
    assert_eq!(
        full(" hystart++(css=3)/my-reno/sack@(iw=30,pace=on)").as_deref(),
        Some("hystart++(css=3)/my-reno/sack@(iw=30,pace=on)")
    );
    assert_eq!(full("slowstart/cubic/my-prr").as_deref(), Some("slowstart/cubic/my-prr"));
    assert_eq!(full("rapid/reno"), None, "nothing of it is somebody's own");
    assert_eq!(full("my-reno"), None, "an avoidance is no startup");
    for (wrong, said) in [("my-rapid/nonsense", "nonsense"), ("bbr3/my-reno", "bbr3")] {
        let error = full(wrong).expect("it has parts of somebody's own");
        assert!(error.contains(wrong) && error.contains(said), "{wrong}: {error}");
    }
}

#[test]
fn names_that_are_taken_or_none_are_refused() {
    let named =
        |name: &str| OwnPart::Recovery(OwnRecovery::of(name, || Prr::new(prr::Params::default())));
    for wrong in ["prr", "Rapid", "best", "all", "", "a/b", "a(b)"] {
        let error = own_parts(vec![named(wrong)]).expect_err(wrong);
        assert!(error.as_str().contains(&format!("`{wrong}`")), "{error}");
    }
    assert!(own_parts(vec![named("mine"), named("mine")]).is_err(), "twice");
}
