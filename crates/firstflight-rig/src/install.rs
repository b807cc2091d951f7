//! Selects the controllers for a sender's stack.

use crate::followed::Witness;
use crate::logbook::{Logbook, open};
use crate::own::OwnControl;
use crate::trial::{Control, Shared};
use firstflight_path::Error;
use firstflight_quic::noq;
#[cfg(feature = "quinn")]
use firstflight_quic::{Plan, quinn};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// A factory for the sending stack.
pub(crate) enum Installed {
    Noq(noq::Foreign),
    #[cfg(feature = "quinn")]
    Quinn(quinn::Foreign),
}

/// The factory of this trial's controllers, which report every event to `logbook`.
pub(crate) fn install(
    control: Control,
    shared: &Shared<'_>,
    epoch: Instant,
    logbook: &Arc<Mutex<Logbook>>,
    witness: Option<Witness>,
) -> Result<Installed, Error> {
    Ok(match control {
        Control::Noq(plan) => Installed::Noq(Arc::new(
            noq::Factory::new(plan).with_origin(epoch).with_recorder(logbook.clone()),
        )),
        Control::Own(control) => own(&control, shared, epoch, logbook, witness)?,
        #[cfg(feature = "quinn")]
        Control::Quinn(plan) => Installed::Quinn(Arc::new(of_quinn(plan, epoch, logbook)?)),
    })
}

#[cfg(feature = "quinn")]
fn of_quinn(
    plan: Plan,
    epoch: Instant,
    logbook: &Arc<Mutex<Logbook>>,
) -> Result<quinn::Factory, Error> {
    let factory = quinn::Factory::new(plan).map_err(|refused| Error::new(refused.0))?;
    Ok(factory.with_origin(epoch).with_recorder(logbook.clone()))
}

/// One of the stack's own controllers, with one of ours alongside for the logbook.
fn own(
    control: &OwnControl,
    shared: &Shared<'_>,
    epoch: Instant,
    logbook: &Arc<Mutex<Logbook>>,
    witness: Option<Witness>,
) -> Result<Installed, Error> {
    let state = open(logbook).follow(witness);
    #[cfg(feature = "quinn")]
    if let Some(foreign) = control.of_quinn(shared.datagram) {
        let ours = of_quinn(control.beside, epoch, logbook)?;
        return Ok(Installed::Quinn(Arc::new(ours.beside(foreign, state))));
    }
    let foreign = control.of_noq(shared.datagram, shared.seed);
    let foreign = foreign.ok_or_else(|| Error::new("a stack without a rig"))?;
    let ours = noq::Factory::new(control.beside).with_origin(epoch).with_recorder(logbook.clone());
    Ok(Installed::Noq(Arc::new(ours.beside(foreign, state))))
}
