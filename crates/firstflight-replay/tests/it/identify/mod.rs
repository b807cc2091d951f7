//! Identification of startups: the confusion matrices of `docs/identify.md`, from captures of our
//! testbeds that contain only packets.

mod capture;
mod matrix;

use capture::{Kind, file, logs, steady};
use firstflight_lab::Testbed;
use firstflight_lab::testbed::sim;
use firstflight_replay::advice::tried;
use firstflight_replay::files::follow_bytes;
use firstflight_replay::identify::{DEFAULT_CANDIDATES, Identity};
use firstflight_replay::replay::Settings;
use firstflight_replay::results::Results;
use matrix::{Matrix, Said};

/// Paths that nothing was chosen by: constants of the score were looked for on others.
const HELD_OUT: [(&str, u64); 6] = [
    ("rate=35Mbit,rtt=55ms,queue=2bdp", 8_000_000),
    ("rate=22Mbit,rtt=110ms,queue=1.2bdp", 8_000_000),
    ("rate=70Mbit,rtt=28ms,queue=80ms", 10_000_000),
    ("rate=18Mbit,rtt=130ms,queue=2bdp", 8_000_000),
    ("rate=90Mbit,rtt=60ms,queue=1bdp", 14_000_000),
    ("rate=45Mbit,rtt=33ms,queue=3bdp", 8_000_000),
];
/// All that are tried and that our testbeds run: BBRv1 runs in the kernel alone.
const TRIED: [&str; 11] = [
    "slowstart",
    "hystart",
    "hystart++",
    "hystart++-draft03",
    "search",
    "best",
    "limited",
    "rapid",
    "jumpstart",
    "plumb",
    "bbr",
];
/// Not among what is tried.
const PLANTED: [&str; 2] = ["bbr3", "careful(saved=500)"];

/// These and those; over TCP what jumps needs a pacer.
fn senders(kind: Kind) -> String {
    let jumps = |name: &str| {
        ["rapid", "jumpstart", "plumb", "careful"].iter().any(|one| name.starts_with(one))
    };
    let name = |name: &&str| match kind {
        Kind::Pcap if jumps(name) => format!("{name}@(pace=on)"),
        Kind::Pcap | Kind::Qlog => (*name).to_owned(),
    };
    TRIED.iter().chain(&PLANTED).map(name).collect::<Vec<_>>().join(",")
}

fn identified(name: &str, bytes: Vec<u8>, candidates: &str) -> Identity {
    let settings = Settings { identify: tried(candidates).expect("arms"), ..Settings::default() };
    let (replay, files) = follow_bytes(name, bytes, settings).expect("a connection");
    let results = Results::new(replay, files);
    results.connections[0].identified.clone().expect("it was asked")
}

/// With `NIGHT` set (`make night`) all of the page's paths, otherwise the first three.
fn at_night() -> bool {
    std::env::var_os("NIGHT").is_some()
}

#[track_caller]
fn holds(testbed: &'static dyn Testbed, kind: Kind, heading: &str) {
    let paths = if at_night() { &HELD_OUT[..] } else { &HELD_OUT[..3] };
    let matrix = Matrix::of(testbed, kind, &senders(kind), paths);
    let (all, right) = matrix.right(&TRIED);
    assert!(right * 10 >= all * 9, "{heading}: {right} of {all} are right");
    for sender in TRIED {
        let wrong = matrix.count(sender, |said| matches!(said, Said::Wrong(_)));
        assert_eq!(wrong, 0, "{heading}: {sender} was taken for another");
    }
    for planted in PLANTED {
        let named = matrix.count(planted, |said| *said != Said::Unknown);
        assert_eq!(named, 0, "{heading}: {planted}, which was not tried, was taken for another");
    }
    if !at_night() {
        return;
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/identify.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let table = matrix.markdown();
    let told =
        format!("**{heading}**: {right} of {all} captures of candidates are right.\n\n{table}");
    assert!(page.contains(&told), "docs/identify.md should say:\n\n{told}");
}

#[test]
fn senders_of_simulated_quic_are_told_from_their_packets() {
    holds(&sim::BED, Kind::Qlog, "QUIC in the simulator, qlog");
}

#[test]
fn senders_of_simulated_tcp_are_told_from_their_packets() {
    holds(&sim::BED, Kind::Pcap, "TCP in the simulator, captures");
}

/// The capture of one arm.
fn captured(kind: Kind, arm: &str) -> Vec<u8> {
    file(kind, &logs(&sim::BED, kind, arm, HELD_OUT[0], 7)[0])
}

#[test]
fn the_cut_is_measured_to_a_few_percent_also_where_it_is_none_of_those_tried() {
    for (avoidance, cut) in [("reno", 0.5), ("cubic", 0.7), ("cubic(beta=0.6)", 0.6)] {
        let arm = format!("slowstart/{avoidance}/immediate");
        let tried = "slowstart,hystart++,rapid,bbr";
        let identity = identified(&arm, captured(Kind::Qlog, &arm), tried);
        assert!(identity.alike.contains(&"slowstart".to_owned()), "{arm}: {}", identity.why);
        let measured = identity.cut.expect("a loss and what came after it");
        assert!((measured - cut).abs() < 0.05, "{arm}: {measured}");
    }
}

#[test]
fn what_is_not_among_those_tried_is_unknown() {
    for truth in ["rapid", "bbr"] {
        let others: Vec<&str> = DEFAULT_CANDIDATES.split(',').filter(|one| *one != truth).collect();
        let identity = identified(truth, captured(Kind::Qlog, truth), &others.join(","));
        assert_eq!(identity.startup, None, "{truth}: {}", identity.why);
        assert!(identity.alike.is_empty(), "{truth}: {:?}", identity.alike);
        assert_eq!(identity.candidates.len(), others.len(), "all that were tried are listed");
    }
}

#[test]
fn an_application_that_sends_at_one_rate_is_no_startup() {
    for rtt in [20_000_000, 45_000_000, 90_000_000] {
        let identity = identified("steady", steady(1_448_000, rtt, 4_000), DEFAULT_CANDIDATES);
        assert!(identity.alike.is_empty(), "{rtt}: {:?}, {}", identity.alike, identity.why);
        assert!(identity.rounds > 40, "{rtt}: {}", identity.why);
    }
}

#[test]
fn a_trace_of_ours_gives_the_same_answer_and_its_name_is_no_help() {
    let log = &logs(&sim::BED, Kind::Qlog, "hystart++", HELD_OUT[0], 7)[0];
    let mut ours = Vec::new();
    firstflight_log::trace::csv::write(&[log], &mut ours).expect("memory");
    let text = String::from_utf8(ours).expect("a table");
    assert_eq!(
        identified("ours.csv", text.clone().into(), DEFAULT_CANDIDATES).startup.as_deref(),
        Some("hystart++")
    );
    let renamed = text.replace("hystart++", "slowstart");
    assert_eq!(
        identified("ours.csv", renamed.into(), DEFAULT_CANDIDATES).startup.as_deref(),
        Some("hystart++")
    );
}

#[test]
fn a_few_packets_say_nothing() {
    let log = &logs(&sim::BED, Kind::Qlog, "slowstart", ("rapid-slide", 60_000), 7)[0];
    let identity = identified("short", file(Kind::Qlog, log), DEFAULT_CANDIDATES);
    assert_eq!((identity.startup, identity.alike.len()), (None, 0));
    assert!(identity.why.contains("too few"), "{}", identity.why);
}
