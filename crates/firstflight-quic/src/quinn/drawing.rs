//! A field test on quinn: the factory that draws arms.

use super::Factory;
use crate::plan::Refused;
use crate::trial::{Drawn, Trial};
use quinn_proto::congestion;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

impl Trial {
    /// A factory for quinn that draws for every connection.
    ///
    /// # Errors
    /// If quinn does not support one of the arms.
    pub fn quinn(&self) -> Result<Arc<Drawing>, Refused> {
        Drawing::new(self.clone(), None).map(Arc::new)
    }

    /// A factory for the connections of one client.
    ///
    /// # Errors
    /// As [`Trial::quinn`].
    pub fn quinn_for(&self, client: IpAddr) -> Result<Arc<Drawing>, Refused> {
        Drawing::new(self.clone(), Some(client)).map(Arc::new)
    }
}

/// Builds controllers, each with an arm drawn at random: [`Trial::quinn`].
#[derive(Clone, Debug)]
pub struct Drawing {
    trial: Trial,
    client: Option<IpAddr>,
    origin: Instant,
}

impl Drawing {
    fn new(trial: Trial, client: Option<IpAddr>) -> Result<Drawing, Refused> {
        for plan in trial.plans() {
            Factory::new(*plan)?;
        }
        Ok(Drawing { trial, client, origin: Instant::now() })
    }
}

impl congestion::ControllerFactory for Drawing {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn congestion::Controller> {
        let Drawn { plan, recorder } = self.trial.draw(self.client);
        // Only the controller holds the recorder: the row is written when the controller is
        // dropped.
        let factory = Factory { plan, origin: self.origin, recorder: Some(recorder) };
        Arc::new(factory).build(now, current_mtu)
    }
}
