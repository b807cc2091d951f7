//! Parts of your own for [`program!`](crate::program). Each function makes a part that is called
//! `name` in arms and is created anew for every trial.

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

/// Defines `main`: the command `firstflight` with your own startup, congestion avoidance and recovery algorithms,
/// each with its name in arms.
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
