//! The kernel controllers equal the core: the same C code that becomes BPF, compiled natively, and
//! the core crate receive the same random ACKs and have the same window and threshold after each.
//! With one-byte segments the core computes in packets, as the kernel does.
//!
//! The parts that the kernel provides are the same for both: recovery holds the window at the
//! threshold, avoidance adds one packet per window acknowledged.

use crate::native;
use crate::twin::{self, Course, Mode, Twin};
use crate::whole_packets::WholePackets;
use firstflight::recovery::{Immediate, Policy, Prr, RateHalving, Sack, prr, rate_halving, sack};
use firstflight::startup::{
    Best, BestPublished, Careful, HyStart, HyStartPlusPlus, Plumb, RapidStart, Search, SlowStart,
    Startup, best_published, careful, hystart, hystart_plus_plus, plumb, rapid_start, search,
};

/// ACKs of a course. There are as many courses per arm as make 1.6 million ACKs, and six million
/// with `NIGHT` set.
const ACKS: u32 = 4_000;

fn seeds() -> u64 {
    if std::env::var_os("NIGHT").is_some() { 1_500 } else { 400 }
}

/// Least number of times that each compared case has to occur: a thousand in the six million.
fn enough() -> u64 {
    2 * seeds() / 3
}

fn hold_equal<S: Startup, R: Policy + Copy>(
    name: &str,
    mode: Mode,
    mss: u32,
    startup: impl Fn() -> S,
    recovery: R,
) -> twin::Account {
    let arm = native::arm(name);
    let mut total = twin::Account::default();
    for seed in 0..seeds() {
        let course = Course::draw(seed, mss);
        let mut twin = Twin::new(&course, arm, mode, startup(), recovery);
        total.add(&twin.run(ACKS));
    }
    println!("{name}: {total:?}");
    assert!(total.acks >= 1_000_000, "{name}: only {} ACKs were compared", total.acks);
    assert!(
        total.losses > 1_000 && total.timeouts > 1_000 && total.undone > 100,
        "{name}: too little happened: {total:?}"
    );
    total
}

/// Mode A: the startup alone.
fn startup_equals<S: Startup>(name: &str, mss: u32, startup: impl Fn() -> S) -> twin::Account {
    hold_equal(name, Mode::Kernel, mss, startup, Immediate::default())
}

/// Mode B: startup, recovery and pacing.
const WHOLE: Mode = Mode::Arm { window_in_recovery: true };
/// The kernel's window has to show that the first repeat may go; the core says so beside its
/// window.
const FIRST_REPEAT_IN_WINDOW: Mode = Mode::Arm { window_in_recovery: false };

#[test]
fn hystart_plus_plus_equals_the_core() {
    startup_equals("ff_hystartpp", 1, || HyStartPlusPlus::new(hystart_plus_plus::Params::RFC9406));
}

#[test]
fn hystart_plus_plus_of_the_draft_equals_the_core() {
    startup_equals("ff_hystartpp_ls", 1, || {
        WholePackets::new(HyStartPlusPlus::new(hystart_plus_plus::Params::DRAFT03))
    });
}

#[test]
fn hystart_equals_the_core() {
    startup_equals("ff_hystart", 1448, || HyStart::new(hystart::Params::LINUX));
}

#[test]
fn best_as_published_equals_the_core() {
    startup_equals("ff_best_pub", 1448, || BestPublished::new(best_published::Params::PUBLISHED));
}

#[test]
fn best_equals_the_core() {
    startup_equals("ff_best", 1, Best::default);
    let total = startup_equals("ff_best", 1448, || WholePackets::new(Best::default()));
    assert!(
        total.outcomes.values().all(|&count| count >= seeds() / 150),
        "every conclusion of a round is compared: {:?}",
        total.outcomes
    );
}

#[test]
fn search_equals_the_core() {
    startup_equals("ff_search", 1, || Search::new(search::Params::V4_0));
    startup_equals("ff_search", 1448, || Search::new(search::Params::V4_0));
}

#[test]
fn rapid_start_equals_the_core_with_its_recovery_and_pacing() {
    hold_equal(
        "ff_rapid",
        WHOLE,
        1,
        || RapidStart::new(rapid_start::Params::default()),
        Prr::new(prr::Params::rfc9937()),
    );
    let nojump =
        firstflight::with!(rapid_start::Params { jump: None, ..rapid_start::Params::default() });
    hold_equal(
        "ff_rapid_nojump",
        WHOLE,
        1,
        || RapidStart::new(nojump),
        Prr::new(prr::Params::rfc9937()),
    );
}

/// K15: the grain is that of the kernel's pacer.
const PLUMB: plumb::Params =
    firstflight::with!(plumb::Params { grain: 12, ..plumb::Params::DEFAULT });

fn plumb_equals(name: &str, params: plumb::Params) {
    let prr = Prr::new(prr::Params::rfc9937());
    let total = hold_equal(name, WHOLE, 1, || Plumb::new(params), prr);
    for phase in ["jump", "rapid", "css", "drain", "recovery", "avoidance"] {
        let count = total.phases.get(phase).copied().unwrap_or(0);
        assert!(count > enough(), "the phase `{phase}` is compared: {total:?}");
    }
    assert!(total.idle > enough(), "silences are compared: {total:?}");
    for reason in ["loss", "delay", "ecn", "timeout"] {
        assert!(total.exits.contains_key(reason), "an exit by {reason} is compared: {total:?}");
    }
    // Its window is not whole packets; they are compared with what the core's holds.
    let mut total = twin::Account::default();
    for seed in 0..4 * seeds() {
        let (course, startup) = (Course::draw(seed, 1448), Plumb::new(params));
        let twin = Twin::new(&course, native::arm(name), WHOLE, startup, prr);
        total.add(&twin.until_startup_is_over().run(ACKS));
    }
    println!("{name}: {total:?}");
    let least = 1_000 * seeds();
    assert!(total.acks >= least, "only {} ACKs of startups were compared", total.acks);
}

#[test]
fn plumb_equals_the_core_with_its_first_flight_and_pacing() {
    plumb_equals("ff_plumb", PLUMB);
}

#[test]
fn plumb_that_verifies_equals_the_core() {
    plumb_equals("ff_plumb_verify", firstflight::with!(plumb::Params { verify: true, ..PLUMB }));
}

/// With and without an RTT to compare: jumps that are validated, cut to what was used of them,
/// retreats, paths that are others; and what each connection leaves for the next one.
#[test]
fn careful_resume_equals_the_core_with_its_retreat_and_with_what_it_leaves() {
    for (saved, rtt_ms) in [(600, None), (5_000, Some(60))] {
        let params = firstflight::with!(careful::Params {
            saved: Some(saved),
            rtt_ms,
            ..careful::Params::default()
        });
        native::save(saved, 1_000 * rtt_ms.unwrap_or(0));
        let total = hold_equal(
            "ff_careful",
            WHOLE,
            1,
            || Careful::new(params),
            Prr::new(prr::Params::rfc9937()),
        );
        native::save(0, 0);
        assert!(total.left > 100, "too few left anything: {total:?}");
    }
}

#[test]
fn prr_equals_the_core() {
    hold_equal("ff_prr", WHOLE, 1, || SlowStart, Prr::new(prr::Params::rfc9937()));
}

#[test]
fn prr_of_rfc_6937_equals_the_core_with_each_bound() {
    for (name, bound) in [
        ("ff_prr_crb", prr::Bound::Crb),
        ("ff_prr_ssrb", prr::Bound::Ssrb),
        ("ff_prr_ub", prr::Bound::Ub),
    ] {
        hold_equal(name, WHOLE, 1, || SlowStart, Prr::new(prr::Params::rfc6937(bound)));
    }
}

#[test]
fn rfc_6675_admits_what_the_core_admits() {
    hold_equal(
        "ff_rfc6675",
        FIRST_REPEAT_IN_WINDOW,
        1,
        || SlowStart,
        Sack::new(sack::Params::default()),
    );
}

#[test]
fn rate_halving_equals_the_core() {
    hold_equal(
        "ff_rate_halving",
        WHOLE,
        1,
        || SlowStart,
        RateHalving::new(rate_halving::Params::default()),
    );
}
