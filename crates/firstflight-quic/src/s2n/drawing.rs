//! A field test on s2n-quic: the provider that draws arms.

use super::{Controller, Endpoint};
use crate::trial::Trial;
use s2n_quic_core::recovery::congestion_controller::{self, PathInfo};
use std::net::SocketAddr;

impl Trial {
    /// A provider for s2n-quic that draws for every client.
    pub fn s2n(&self) -> Drawing {
        Drawing::new(self.clone())
    }
}

/// Builds controllers, each with an arm drawn for its client: [`Trial::s2n`].
#[derive(Clone, Debug)]
pub struct Drawing(Trial);

impl Drawing {
    fn new(trial: Trial) -> Drawing {
        Drawing(trial)
    }
}

impl congestion_controller::Endpoint for Drawing {
    type CongestionController = Controller;

    fn new_congestion_controller(&mut self, path: PathInfo<'_>) -> Controller {
        let client = SocketAddr::from(path.remote_address.clone()).ip();
        let drawn = self.0.draw(Some(client));
        // Only the controller holds the recorder: the row is written when the controller is
        // dropped.
        Endpoint::new(drawn.plan).with_recorder(drawn.recorder).build(path.max_datagram_size)
    }
}
