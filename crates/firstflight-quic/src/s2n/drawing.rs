//! A field test on s2n-quic: which provider draws, and what it builds.

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

/// Builds controllers with an arm that is drawn for each client: [`Trial::s2n`].
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
        // The controller alone keeps the recorder: the row is written when it goes.
        Endpoint::new(drawn.plan).with_recorder(drawn.recorder).build(path.max_datagram_size)
    }
}
