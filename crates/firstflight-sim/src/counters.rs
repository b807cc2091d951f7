//! The counters of a trial.

use crate::instrumented::{Combined, Core};
use firstflight::account::{Account, Kept};

/// Declares the counters and the conversion of known counters into optional ones.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)+) => {
        /// Counters of one sender. A testbed that cannot know all of them uses
        /// `Counters<Option<u64>>`.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counters<N = u64> {
            $($(#[$doc])* pub $name: N,)+
        }

        impl From<Counters> for Counters<Option<u64>> {
            fn from(known: Counters) -> Self {
                Counters { $($name: Some(known.$name),)+ }
            }
        }
    };
}

counters! {
    /// Data packets sent, retransmissions and probes included.
    packets_sent,
    /// Packets declared lost that the path had dropped.
    packets_lost,
    /// Packets that the path dropped, whether or not the sender noticed.
    packets_dropped,
    /// Packets declared lost and acknowledged later.
    spurious_losses,
    /// Packets that carried retransmitted data.
    retransmissions,
    /// Object bytes sent again.
    retransmitted_bytes,
    /// Retransmissions that the path dropped.
    lost_retransmissions,
    /// Probe timeouts (QUIC), or expiries of the retransmission timer, backoffs included (TCP).
    rtos,
    /// Timeouts proven spurious, by F-RTO or otherwise (TCP).
    spurious_timeouts,
    /// Tail loss probes (TCP).
    probes,
    /// Losses declared by early retransmit (TCP).
    early_retransmits,
    /// Early retransmits of segments that the path had not dropped.
    early_retransmits_spurious,
    /// Recovery episodes opened by losses.
    recoveries,
    /// Recoveries that had no more in flight at entry, before any retransmission, than the
    /// threshold allows, in whole packets.
    recoveries_below_ssthresh,
    /// Recoveries cut short by a timeout (TCP).
    recoveries_timed_out,
    /// Episodes that an ACK ended with the window below the threshold.
    slow_starts_after_recovery,
    /// Episodes proven to be false alarms.
    undone,
}

impl Counters {
    /// The same, with the recoveries of this controller.
    pub(crate) fn of_controller<S: Combined>(
        self,
        controller: &Core<S>,
        account: &Account<Vec<Kept>>,
    ) -> Counters {
        let stats = controller.stats();
        Counters {
            recoveries: u64::from(stats.loss_episodes),
            recoveries_below_ssthresh: account.recoveries_below_ssthresh(),
            recoveries_timed_out: account.recoveries_timed_out(),
            slow_starts_after_recovery: u64::from(stats.slow_starts_after_recovery),
            undone: u64::from(stats.undone),
            ..self
        }
    }
}
