//! A field test on noq: the factory that draws arms.

use super::Factory;
use crate::trial::Trial;
use noq_proto::congestion;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

impl Trial {
    /// A factory for noq that draws for every connection.
    pub fn noq(&self) -> Arc<Drawing> {
        Arc::new(Drawing::new(self.clone(), None))
    }

    /// A factory for the connections of one client.
    pub fn noq_for(&self, client: IpAddr) -> Arc<Drawing> {
        Arc::new(Drawing::new(self.clone(), Some(client)))
    }
}

/// Builds controllers, each with an arm drawn at random: [`Trial::noq`].
#[derive(Clone, Debug)]
pub struct Drawing {
    trial: Trial,
    client: Option<IpAddr>,
    origin: Instant,
}

impl Drawing {
    fn new(trial: Trial, client: Option<IpAddr>) -> Drawing {
        Drawing { trial, client, origin: Instant::now() }
    }
}

impl congestion::ControllerFactory for Drawing {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn congestion::Controller> {
        let drawn = self.trial.draw_in(self.client, false);
        // Only the controller holds the recorder: the row is written when the controller is
        // dropped.
        let factory =
            Factory::new(drawn.plan).with_origin(self.origin).with_recorder(drawn.recorder);
        Arc::new(factory).build(now, current_mtu)
    }
}
