//! One startup out of all, chosen at run time without a heap or a virtual call.

use super::{
    Bbr, Bbr3, Best, BestPublished, Careful, Chirping, HyStart, HyStartPlusPlus, JumpStart,
    LimitedSlowStart, Oracle, Plumb, RapidStart, Search, SlowStart, Startup, Suss,
};

macro_rules! startups {
    ($($(#[$doc:meta])* $name:ident($type:ty),)*) => {
        /// Any startup of the crate.
        // The tag is a byte of its own: left alone, the compiler hides it in a field of the largest, and every hook of every ACK would have
        // to look twice.
        #[repr(u8)]
        #[derive(Clone, Copy, Debug)]
        #[allow(clippy::large_enum_variant, reason = "no allocation: the largest state is what a connection reserves anyway")]
        #[non_exhaustive]
        pub enum AnyStartup {
            $($(#[$doc])* $name($type),)*
        }

        /// The state of any startup that a false alarm restores.
        #[derive(Clone, Copy, Debug)]
        #[doc(hidden)]
        pub enum AnySavedStartup {
            $($(#[$doc])* $name(<$type as Startup>::Saved),)*
        }

        impl AnyStartup {
            fn saved(&self) -> AnySavedStartup {
                match self {
                    $(AnyStartup::$name(startup) => AnySavedStartup::$name(startup.save()),)*
                }
            }

            /// State that another startup saved is ignored.
            fn take_back(&mut self, saved: AnySavedStartup) {
                match (self, saved) {
                    $((AnyStartup::$name(startup), AnySavedStartup::$name(saved)) => {
                        startup.restore(saved);
                    })*
                    _ => {}
                }
            }
        }

        $(impl From<$type> for AnyStartup {
            fn from(startup: $type) -> Self {
                AnyStartup::$name(startup)
            }
        })*

        macro_rules! each {
            ($self:expr, $startup:ident => $call:expr) => {
                match $self { $(AnyStartup::$name($startup) => $call,)* }
            };
        }
    };
}

startups! {
    /// Classic slow start.
    SlowStart(SlowStart),
    /// Limited Slow Start (RFC 3742).
    Limited(LimitedSlowStart),
    /// HyStart.
    HyStart(HyStart),
    /// HyStart++ (RFC 9406 and draft-03).
    HyStartPlusPlus(HyStartPlusPlus),
    /// SEARCH (3.1 and 4.0).
    Search(Search),
    /// BEST, robust mode.
    Best(Best),
    /// BEST as published.
    BestPublished(BestPublished),
    /// Plumb.
    Plumb(Plumb),
    /// Paced Chirping.
    Chirping(Chirping),
    /// Rapid Start.
    Rapid(RapidStart),
    /// SUSS.
    Suss(Suss),
    /// BBR's startup.
    Bbr(Bbr),
    /// BBR, the whole of it.
    Bbr3(Bbr3),
    /// Careful Resume.
    Careful(Careful),
    /// Jump start.
    Jump(JumpStart),
    /// Slow start that knows the BDP.
    Oracle(Oracle),
}

impl Default for AnySavedStartup {
    fn default() -> Self {
        AnySavedStartup::SlowStart(())
    }
}

impl Startup for AnyStartup {
    type Saved = AnySavedStartup;

    crate::forward_startup!(each);

    fn save(&self) -> AnySavedStartup {
        self.saved()
    }
    fn restore(&mut self, saved: AnySavedStartup) {
        self.take_back(saved);
    }
}
