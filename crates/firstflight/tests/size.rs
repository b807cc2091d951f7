//! What a connection reserves: every controller below 1 KiB, a plain value without a destructor. `--nocapture` prints the parts.

use std::mem::{needs_drop, size_of};

use firstflight::arm::ArmController;
use firstflight::avoidance::{AnyAvoidance, AnySaved, Cubic, Reno};
use firstflight::recovery::{AnyRecovery, Immediate, OwnRecovery, Prr, RateHalving, Sack};
use firstflight::startup::{
    AnyStartup, Best, BestPublished, HyStart, HyStartPlusPlus, JumpStart, LimitedSlowStart, Oracle, RapidStart, Search, SlowStart,
};
use firstflight::{Ack, Context, Controller, Exit};

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
        ArmController,
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
        JumpStart,
        Oracle,
        AnyAvoidance,
        AnySaved,
        Reno,
        Cubic,
        AnyRecovery,
        Immediate,
        Sack,
        RateHalving,
        Prr,
        OwnRecovery,
        Context,
        Exit,
        Ack,
    ];
    for (name, (size, drops)) in parts {
        println!("{size:5} bytes  {name}");
        assert!(!drops, "{name} has a destructor");
    }
}

#[test]
fn a_controller_fits_a_kibibyte_whatever_its_startup_but_best() {
    macro_rules! check {
        ($($startup:ident),*) => {
            $(let size = size_of::<Controller<$startup, AnyAvoidance, AnyRecovery>>();
            assert!(size <= 1024, "a controller that begins with {} takes {size} bytes, the bar is 1024", stringify!($startup));)*
        };
    }
    check!(SlowStart, LimitedSlowStart, HyStart, HyStartPlusPlus, Search, RapidStart, JumpStart, Oracle);
}

#[test]
fn a_controller_of_any_arm_reserves_the_largest() {
    // BEST keeps what it measured beside its fallback, and BEST as published keeps 300 samples: 640 bytes each, which every controller
    // that may be any arm reserves. This holds the size where it is; the bar of 1024 holds for all others, above.
    let size = size_of::<ArmController>();
    assert!(size <= 1408, "a controller of any arm takes {size} bytes");
}
