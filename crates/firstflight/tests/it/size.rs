//! Size of a connection's state: every controller of at most 1608 bytes, a plain value without a destructor.
//! `--nocapture` prints the parts.

use crate::told::Told;
use std::mem::{needs_drop, size_of};

use firstflight::avoidance::abba_first::Queue;
use firstflight::avoidance::abba_model::Line;
use firstflight::avoidance::cuback_curve::AckCurve;
use firstflight::avoidance::{Abba, AnyAvoidance, AnySaved, Cuback, Cubic, Dctcp, Prague, Reno};
use firstflight::recovery::{
    AnyRecovery, CarefulRetreat, Immediate, OwnRecovery, Prr, RapidRecovery, RateHalving, Sack,
    SafeRetreat,
};
use firstflight::startup::{
    AnyStartup, Bbr, Bbr3, Best, BestPublished, Careful, Chirping, HyStart, HyStartPlusPlus,
    JumpStart, LimitedSlowStart, Oracle, Plumb, RapidStart, Search, SlowStart, Suss,
};
use firstflight::{AnyController, Context, Controller, Exit};

fn plain_value<T: Copy>() -> (usize, bool) {
    (size_of::<T>(), needs_drop::<T>())
}

macro_rules! sizes {
    ($($type:ty),* $(,)?) => {
        [$((stringify!($type), plain_value::<$type>())),*]
    };
}

#[test]
fn every_part_is_a_plain_value() {
    let parts = sizes![
        AnyController,
        Controller<SlowStart, Reno, Immediate>,
        Controller<HyStartPlusPlus, Cubic, Prr>,
        AnyStartup,
        SlowStart,
        LimitedSlowStart,
        HyStart,
        HyStartPlusPlus,
        Search,
        Best,
        BestPublished,
        RapidStart,
        Bbr,
        Bbr3,
        Careful,
        Chirping,
        JumpStart,
        Plumb,
        Oracle,
        AnyAvoidance,
        AnySaved,
        Reno,
        Cubic,
        Cuback,
        Abba,
        Dctcp,
        Prague,
        AnyRecovery,
        Immediate,
        Sack,
        RateHalving,
        Prr,
        OwnRecovery,
        Context,
        Exit,
        Told,
    ];
    for (name, (size, drops)) in parts {
        println!("{size:5} bytes  {name}");
        assert!(!drops, "{name} has a destructor");
    }
}

/// The most that a connection may have to reserve for its controller, in bytes. Any arm's is as large
/// as the largest of its parts together: BBR, and ABBA with its copy for undo.
const BAR: usize = 1608;
/// The same where the congestion avoidance is CUBIC.
const WITH_CUBIC: usize = 1392;

#[test]
fn a_controller_stays_below_the_bar_whatever_its_startup() {
    macro_rules! check {
        ($($startup:ident),*) => {
            $(let size = size_of::<Controller<$startup, AnyAvoidance, AnyRecovery>>();
            assert!(size <= BAR, "a controller that begins with {} takes {size} bytes, the bar is {BAR}", stringify!($startup));
            let size = size_of::<Controller<$startup, Cubic, AnyRecovery>>();
            assert!(size <= WITH_CUBIC, "with CUBIC one that begins with {} takes {size} bytes", stringify!($startup));)*
        };
    }
    check!(
        SlowStart,
        LimitedSlowStart,
        HyStart,
        HyStartPlusPlus,
        Search,
        Best,
        BestPublished,
        RapidStart,
        Suss,
        Bbr,
        Bbr3,
        Careful,
        Chirping,
        JumpStart,
        Plumb,
        Oracle
    );
}

#[test]
fn a_controller_of_any_arm_stays_below_the_bar() {
    let size = size_of::<AnyController>();
    assert!(
        size <= BAR,
        "a controller that may be of any arm takes {size} bytes, the bar is {BAR}"
    );
}

/// The head of each file states the right size of its state.
#[test]
fn states_are_as_large_as_their_files_say() {
    macro_rules! check {
        ($($file:literal: $type:ty),* $(,)?) => {{
            $({
                let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/", $file)).expect("a source file");
                let head: String = text.lines().map_while(|line| line.strip_prefix("//!")).collect::<Vec<_>>().join("");
                let stated = head.split_once("State:").map(|(_, rest)| rest.trim_start().chars().take_while(char::is_ascii_digit).collect::<String>());
                let size = size_of::<$type>();
                assert_eq!(stated, Some(size.to_string()), "the head of {} states another size than the {size} bytes of {}", $file, stringify!($type));
            })*
            [$($file),*]
        }};
    }
    let listed = check!(
        "startup/slow_start.rs": SlowStart,
        "startup/limited_slow_start.rs": LimitedSlowStart,
        "startup/hystart.rs": HyStart,
        "startup/hystart_plus_plus.rs": HyStartPlusPlus,
        "startup/search.rs": Search,
        "startup/best.rs": Best,
        "startup/best_published.rs": BestPublished,
        "startup/rapid_start.rs": RapidStart,
        "startup/suss.rs": Suss,
        "startup/bbr.rs": Bbr,
        "startup/bbr3.rs": Bbr3,
        "startup/careful.rs": Careful,
        "startup/chirping.rs": Chirping,
        "startup/jump_start.rs": JumpStart,
        "startup/oracle.rs": Oracle,
        "startup/plumb.rs": Plumb,
        "avoidance/reno.rs": Reno,
        "avoidance/cubic.rs": Cubic,
        "avoidance/dctcp.rs": Dctcp,
        "avoidance/prague.rs": Prague,
        "avoidance/abba.rs": Abba,
        "avoidance/abba_first.rs": Queue,
        "avoidance/abba_model.rs": Line,
        "avoidance/cuback.rs": Cuback,
        "avoidance/cuback_curve.rs": AckCurve,
        "recovery/immediate.rs": Immediate,
        "recovery/sack.rs": Sack,
        "recovery/rate_halving.rs": RateHalving,
        "recovery/prr.rs": Prr,
        "recovery/rapid_recovery.rs": RapidRecovery,
        "recovery/safe_retreat.rs": SafeRetreat,
        "recovery/careful_retreat.rs": CarefulRetreat,
    );
    // An algorithm whose state nobody measured would be one whose head may say anything.
    for (folder, is) in [
        ("startup", "impl Startup for "),
        ("avoidance", "impl Avoidance for "),
        ("recovery", "impl Policy for "),
    ] {
        let files = std::fs::read_dir(format!("{}/src/{folder}", env!("CARGO_MANIFEST_DIR")))
            .expect("a folder");
        for path in files.map(|file| file.expect("a file").path()).filter(|path| path.is_file()) {
            let name = format!("{folder}/{}", path.file_name().expect("a name").to_string_lossy());
            let text = std::fs::read_to_string(&path).expect("a source file");
            let head = text.lines().take_while(|line| line.starts_with("//!"));
            if text.contains(is) && head.into_iter().any(|line| line.contains("State:")) {
                assert!(
                    listed.contains(&name.as_str()),
                    "{name} states the size of its state: add it to this list"
                );
            }
        }
    }
}
