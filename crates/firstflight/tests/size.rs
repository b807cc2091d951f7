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

/// The most that a connection may have to reserve for its controller, in bytes.
const BAR: usize = 1024;

#[test]
fn a_controller_fits_a_kibibyte_whatever_its_startup() {
    macro_rules! check {
        ($($startup:ident),*) => {
            $(let size = size_of::<Controller<$startup, AnyAvoidance, AnyRecovery>>();
            assert!(size <= BAR, "a controller that begins with {} takes {size} bytes, the bar is {BAR}", stringify!($startup));)*
        };
    }
    check!(SlowStart, LimitedSlowStart, HyStart, HyStartPlusPlus, Search, Best, BestPublished, RapidStart, JumpStart, Oracle);
}

#[test]
fn a_controller_of_any_arm_fits_a_kibibyte() {
    let size = size_of::<ArmController>();
    assert!(size <= BAR, "a controller that may be of any arm takes {size} bytes, the bar is {BAR}");
}
