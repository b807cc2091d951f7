//! The stacks' own controllers.

use firstflight_quic::Plan;
use noq_proto::congestion as noq;
#[cfg(feature = "quinn")]
use quinn_proto::congestion as quinn;
use std::sync::Arc;

/// A controller that comes with a stack, on that stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Own {
    /// noq's CUBIC, what it runs when nothing else is asked for.
    NoqCubic,
    /// noq's NewReno.
    NoqNewReno,
    /// noq's BBRv3. Its probes come at times drawn from the system's random source.
    NoqBbr3,
    /// quinn's CUBIC, what it runs when nothing else is asked for.
    #[cfg(feature = "quinn")]
    QuinnCubic,
    /// quinn's NewReno.
    #[cfg(feature = "quinn")]
    QuinnNewReno,
    /// quinn's BBRv1, which it calls experimental. Its gains come in an order drawn from the
    /// system's random source.
    #[cfg(feature = "quinn")]
    QuinnBbr,
}

impl Own {
    /// All that this build has.
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
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Own> {
        Own::ALL.iter().copied().find(|own| own.name() == name)
    }

    /// The stack names each packet that it declares lost.
    pub(crate) const fn names_losses(self) -> bool {
        matches!(self, Own::NoqCubic | Own::NoqNewReno | Own::NoqBbr3)
    }
}

/// One of the stacks' own controllers, what it starts with, and who is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnControl {
    /// Which.
    pub own: Own,
    /// Initial window in packets; the datagrams of the trial are meant.
    pub initial_window: u32,
    /// What of ours hears the same calls and steers nothing: events are recorded as it is told
    /// them.
    pub beside: Plan,
}

impl OwnControl {
    fn window(&self, datagram: u16) -> u64 {
        u64::from(self.initial_window) * u64::from(datagram)
    }

    /// What noq builds it from; `None` if it is none of noq's.
    pub(crate) fn of_noq(&self, datagram: u16) -> Option<firstflight_quic::noq::Foreign> {
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
            #[cfg(feature = "quinn")]
            Own::QuinnCubic | Own::QuinnNewReno | Own::QuinnBbr => return None,
        })
    }

    /// What quinn builds it from; `None` if it is none of quinn's.
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
        })
    }
}
