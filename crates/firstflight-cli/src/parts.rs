//! Parts of your own for [`program!`](crate::program): each function makes one, called `name` in arms, of
//! which a fresh one is made for every trial.

use firstflight::avoidance::Avoidance;
use firstflight::recovery::Recovery;
use firstflight::startup::Startup;
use firstflight_lab::{OwnAvoidance, OwnPart, OwnRecovery, OwnStartup};

/// A startup: `name/cubic/prr`.
pub fn startup<S: Startup + 'static>(
    name: &str,
    make: impl Fn() -> S + Send + Sync + 'static,
) -> OwnPart {
    OwnPart::Startup(OwnStartup::of(name, make))
}

/// A congestion avoidance: `slowstart/name/prr`.
pub fn avoidance<A: Avoidance + Clone + 'static>(
    name: &str,
    make: impl Fn() -> A + Send + Sync + 'static,
) -> OwnPart {
    OwnPart::Avoidance(OwnAvoidance::of(name, make))
}

/// A recovery: `slowstart/cubic/name`.
pub fn recovery<R: Recovery + Clone + 'static>(
    name: &str,
    make: impl Fn() -> R + Send + Sync + 'static,
) -> OwnPart {
    OwnPart::Recovery(OwnRecovery::of(name, make))
}

/// Writes `main`: the command `firstflight` with startups, avoidances and recoveries of your own, each
/// with its name in arms.
///
/// ```no_run
/// use firstflight::avoidance::{Reno, reno};
/// use firstflight::recovery::Immediate;
///
/// firstflight_cli::program! {
///     avoidance "my-reno" => Reno::new(reno::Params::default()),
///     recovery "at-once" => Immediate::default(),
/// }
/// ```
#[macro_export]
macro_rules! program {
    ($($kind:ident $name:literal => $make:expr),+ $(,)?) => {
        fn main() -> ::std::process::ExitCode {
            let parts = ::std::vec![$($crate::parts::$kind($name, || $make)),+];
            $crate::run(parts, ::std::env::args_os())
        }
    };
}
