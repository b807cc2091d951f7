//! A trial: one arm on one path with one object and one seed, from the first packet until the last
//! acknowledgement.

use crate::flow::Hosted;
use crate::hosts::Hosts;
use crate::instrumented::{Combined, Company, Core};
use crate::observe::{Nobody, Observer, Tape};
use crate::outcome::{Outcome, Stop};
use crate::running::Running;
use crate::setup::Setup;
use crate::{quic, tcp};
use firstflight_path::Error;

/// [`run`](crate::run) for this type of observer.
pub(crate) fn observed<S: Combined, O: Observer>(
    setup: &Setup<'_>,
    controller: Core<S>,
    observer: &mut O,
) -> Result<Outcome, Error> {
    // Two types: a sender without a recorder need not check whether one is present.
    if observer.listens() {
        in_company(setup, controller, Tape::default(), observer).map(|(outcome, _)| outcome)
    } else {
        in_company(setup, controller, Nobody, observer).map(|(outcome, _)| outcome)
    }
}

/// Like [`run`], with these followers, which are returned.
pub(crate) fn in_company<S: Combined, L: Company<S>, O: Observer>(
    setup: &Setup<'_>,
    controller: Core<S>,
    company: L,
    observer: &mut O,
) -> Result<(Outcome, L), Error> {
    match setup.host {
        Hosts::Quic(host) => {
            between::<quic::Ends<S, L>, L, O>(setup, host, controller, company, observer)
        }
        Hosts::Tcp(host) => {
            between::<tcp::Ends<S, L>, L, O>(setup, host, controller, company, observer)
        }
    }
}

fn between<E: Hosted<L>, L: Default, O: Observer>(
    setup: &Setup<'_>,
    host: E::Host,
    controller: Core<E::Startup>,
    company: L,
    observer: &mut O,
) -> Result<(Outcome, L), Error> {
    let mut running = Running::<E>::open(setup, host, controller, company, observer)?;
    let stop = running.until(observer, |_| false).unwrap_or(Stop::TimeLimit);
    let company = std::mem::take(running.flow.ends.company());
    Ok((running.finish(stop), company))
}
