//! The stacks' own controllers.

use firstflight_quic::Plan;
use noq_proto::congestion as noq;
#[cfg(feature = "quinn")]
use quinn_proto::congestion as quinn;
#[cfg(feature = "s2n")]
use s2n_quic_core::recovery::{bbr, cubic};
use std::sync::Arc;

/// A controller that is part of a stack, on that stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Own {
    /// noq's CUBIC, its default.
    NoqCubic,
    /// noq's NewReno.
    NoqNewReno,
    /// noq's BBRv3. Its probe times are drawn from the system's random source.
    NoqBbr3,
    /// quinn's CUBIC, its default.
    #[cfg(feature = "quinn")]
    QuinnCubic,
    /// quinn's NewReno.
    #[cfg(feature = "quinn")]
    QuinnNewReno,
    /// quinn's BBRv1, which it calls experimental. The order of its gains is drawn from the
    /// system's random source.
    #[cfg(feature = "quinn")]
    QuinnBbr,
    /// s2n-quic's CUBIC with hybrid slow start, on noq's stack.
    #[cfg(feature = "s2n")]
    S2nCubic,
    /// s2n-quic's BBRv2, on noq's stack.
    #[cfg(feature = "s2n")]
    S2nBbr,
}

impl Own {
    /// All controllers in this build.
    pub const ALL: &[Own] = &[
        Own::NoqCubic,
        Own::NoqNewReno,
        Own::NoqBbr3,
        #[cfg(feature = "quinn")]
        Own::QuinnCubic,
        #[cfg(feature = "quinn")]
        Own::QuinnNewReno,
        #[cfg(feature = "quinn")]
        Own::QuinnBbr,
        #[cfg(feature = "s2n")]
        Own::S2nCubic,
        #[cfg(feature = "s2n")]
        Own::S2nBbr,
    ];

    /// Stack and controller: `noq:cubic`.
    pub const fn name(self) -> &'static str {
        match self {
            Own::NoqCubic => "noq:cubic",
            Own::NoqNewReno => "noq:newreno",
            Own::NoqBbr3 => "noq:bbr3",
            #[cfg(feature = "quinn")]
            Own::QuinnCubic => "quinn:cubic",
            #[cfg(feature = "quinn")]
            Own::QuinnNewReno => "quinn:newreno",
            #[cfg(feature = "quinn")]
            Own::QuinnBbr => "quinn:bbr",
            #[cfg(feature = "s2n")]
            Own::S2nCubic => "s2n:cubic",
            #[cfg(feature = "s2n")]
            Own::S2nBbr => "s2n:bbr",
        }
    }

    /// The controller of that name.
    pub fn from_name(name: &str) -> Option<Own> {
        Own::ALL.iter().copied().find(|own| own.name() == name)
    }

    /// Whether the stack that runs it names each packet that it declares lost.
    pub(crate) const fn names_losses(self) -> bool {
        match self {
            Own::NoqCubic | Own::NoqNewReno | Own::NoqBbr3 => true,
            #[cfg(feature = "quinn")]
            Own::QuinnCubic | Own::QuinnNewReno | Own::QuinnBbr => false,
            #[cfg(feature = "s2n")]
            Own::S2nCubic | Own::S2nBbr => true,
        }
    }
}

/// One of the stacks' own controllers, its initial window, and our controller that runs alongside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnControl {
    /// The controller.
    pub own: Own,
    /// Initial window in packets of the trial's datagram size.
    pub initial_window: u32,
    /// Our controller, which receives the same calls but controls nothing; its events are recorded.
    pub beside: Plan,
}

impl OwnControl {
    fn window(&self, datagram: u16) -> u64 {
        u64::from(self.initial_window) * u64::from(datagram)
    }

    /// Its factory on noq; `None` if noq does not run it. `seed` is for the controllers of
    /// s2n-quic.
    #[cfg_attr(not(feature = "s2n"), expect(unused_variables, reason = "noq's take no seed"))]
    pub(crate) fn of_noq(
        &self,
        datagram: u16,
        seed: u64,
    ) -> Option<firstflight_quic::noq::Foreign> {
        let window = self.window(datagram);
        Some(match self.own {
            Own::NoqCubic => {
                let mut config = noq::CubicConfig::default();
                config.initial_window(window);
                Arc::new(config)
            }
            Own::NoqNewReno => {
                let mut config = noq::NewRenoConfig::default();
                config.initial_window(window);
                Arc::new(config)
            }
            Own::NoqBbr3 => {
                let mut config = noq::Bbr3Config::default();
                config.initial_window(window);
                Arc::new(config)
            }
            #[cfg(feature = "s2n")]
            Own::S2nCubic => {
                let window = u32::try_from(window).ok()?;
                let endpoint = cubic::builder::Builder::default();
                let endpoint = endpoint.with_initial_congestion_window(window).build();
                Arc::new(crate::s2n::Factory::new(endpoint, datagram, window, seed))
            }
            #[cfg(feature = "s2n")]
            Own::S2nBbr => {
                let window = u32::try_from(window).ok()?;
                let endpoint = bbr::builder::Builder::default();
                let endpoint = endpoint.with_initial_congestion_window(window).build();
                Arc::new(crate::s2n::Factory::new(endpoint, datagram, window, seed))
            }
            #[cfg(feature = "quinn")]
            Own::QuinnCubic | Own::QuinnNewReno | Own::QuinnBbr => return None,
        })
    }

    /// Its factory on quinn; `None` if it is not quinn's.
    #[cfg(feature = "quinn")]
    pub(crate) fn of_quinn(&self, datagram: u16) -> Option<firstflight_quic::quinn::Foreign> {
        let window = self.window(datagram);
        Some(match self.own {
            Own::QuinnCubic => {
                let mut config = quinn::CubicConfig::default();
                config.initial_window(window);
                Arc::new(config)
            }
            Own::QuinnNewReno => {
                let mut config = quinn::NewRenoConfig::default();
                config.initial_window(window);
                Arc::new(config)
            }
            Own::QuinnBbr => {
                let mut config = quinn::BbrConfig::default();
                config.initial_window(window);
                Arc::new(config)
            }
            Own::NoqCubic | Own::NoqNewReno | Own::NoqBbr3 => return None,
            #[cfg(feature = "s2n")]
            Own::S2nCubic | Own::S2nBbr => return None,
        })
    }
}
