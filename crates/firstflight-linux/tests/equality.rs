//! The controllers of the kernel equal the core: the same C that becomes BPF, compiled natively, and the core crate see the same random
//! ACKs and have the same window and threshold after each. With segments of one byte the core computes in packets, as the kernel does.
//!
//! What the comparison leaves to the kernel is the same for both: recovery holds the window at the threshold, avoidance adds one packet
//! per window acknowledged.
#![cfg(feature = "native")]

use firstflight_linux as _;

mod native;
mod stand_in;
mod twin;

use firstflight::startup::{BestPublished, HyStart, HyStartPlusPlus, Search, best_published, hystart, hystart_plus_plus, search};
use twin::{Course, Twin};

/// ACKs per arm: more than a million.
const SEEDS: u64 = 1_500;
const ACKS: u32 = 4_000;

fn hold_equal<S: firstflight::startup::Startup>(name: &str, mss: u32, startup: impl Fn() -> S) {
    let arm = native::arm(name);
    let mut total = twin::Account::default();
    for seed in 0..SEEDS {
        let course = Course::draw(seed, mss);
        let mut twin = Twin::new(&course, arm, startup());
        total.add(&twin.run(ACKS));
    }
    println!("{name}: {total:?}");
    assert!(total.acks >= 1_000_000, "{name}: only {} ACKs were compared", total.acks);
    assert!(total.losses > 100 && total.timeouts > 100 && total.undone > 20 && total.idle > 20, "{name}: too little happened: {total:?}");
}

#[test]
fn hystart_plus_plus_equals_the_core() {
    hold_equal("ff_hystartpp", 1, || HyStartPlusPlus::new(hystart_plus_plus::Params::RFC9406));
}

#[test]
fn hystart_plus_plus_of_the_draft_equals_the_core() {
    hold_equal("ff_hystartpp_ls", 1, || HyStartPlusPlus::new(hystart_plus_plus::Params::DRAFT03));
}

#[test]
fn hystart_equals_the_core() {
    hold_equal("ff_hystart", 1448, || HyStart::new(hystart::Params::LINUX));
}

#[test]
fn best_as_published_equals_the_core() {
    hold_equal("ff_best_pub", 1448, || BestPublished::new(best_published::Params::PUBLISHED));
}

#[test]
fn search_equals_the_core() {
    hold_equal("ff_search", 1, || Search::new(search::Params::V4_0));
}
