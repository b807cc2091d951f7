//! No packet is created on the way, only the path drops packets, no clock runs backwards, and the
//! same setup gives the same trial.

use crate::rig;

use firstflight::Nanos;
use firstflight_path::{Path, Queue};
use firstflight_sim::quic::Host;
use firstflight_sim::{Outcome, Stop};
use proptest::prelude::*;
use rig::{DATAGRAM, PAYLOAD, Trial, WIRE, Watch, digest};

const ARMS: &[&str] = &[
    "slowstart",
    "slowstart@(pace=off)",
    "slowstart/reno/immediate",
    "slowstart/reno/sack",
    "slowstart/cubic/halving@(pace=off)",
    "slowstart/cubic/prr(mode=linux)",
    "limited",
    "hystart",
    "hystart-gvisor@(pace=off)",
    "hystart++",
    "hystart++-draft03@(pace=off)",
    "search",
    "search3@(pace=off)",
    "best",
    "best-published",
    "rapid",
    "rapid(jump=off)@(pace=off)",
    "jumpstart",
    "plumb",
    "chirping",
    "plumb-tolerant",
    "suss",
    "oracle",
];

fn any_path() -> impl Strategy<Value = Path> {
    (200_u64..1_000_000, 200_u64..300_000, 2_u64..600, 0_u64..80, 0_u64..80, prop::bool::ANY)
        .prop_map(|(kbit, us, packets, loss, up_loss, clean)| {
            // The idle RTT has to hold a data packet and an ACK.
            let rtt = us * 1_000 + 2 * WIRE * 8_000_000 / kbit;
            let (loss, up_loss) =
                if clean { (0, 0) } else { (loss * 1_000_000, up_loss * 1_000_000) };
            Path::new(kbit * 1_000, rtt)
                .with_queue(Queue::Packets(packets))
                .with_loss_ppb(loss)
                .with_up_loss_ppb(up_loss)
        })
}

fn any_trial() -> impl Strategy<Value = Trial> {
    (any_path(), 0..ARMS.len(), 1_u64..1_500_000, 2_u64..80, 1_u32..5, 1_u64..12, any::<u64>())
        .prop_map(|(path, arm, object, iw, ack_every, burst, seed)| {
            let host = Host { ack_every, ..Host::default() };
            Trial {
                iw,
                host,
                burst,
                seed,
                limit: Nanos::from_secs(200),
                ..Trial::new(path, ARMS[arm], object)
            }
        })
}

/// No sender beats it: the serialization of what has to be sent, and the rest of one idle round
/// trip.
fn bound(trial: &Trial) -> u64 {
    let serial =
        |bytes: u64| (u128::from(bytes) * 8_000_000_000 / u128::from(trial.path.rate_bps())) as u64;
    let packets = trial.object.div_ceil(PAYLOAD);
    trial.path.rtt() - serial(WIRE) + serial(trial.object + packets * (WIRE - PAYLOAD)) - packets
}

fn check_outcome(trial: &Trial, outcome: &Outcome) -> Result<(), TestCaseError> {
    prop_assert!(
        outcome.delivered <= trial.object,
        "{} B delivered of an object of {} B",
        outcome.delivered,
        trial.object
    );
    if outcome.stop == Stop::Complete {
        let packets = trial.object.div_ceil(PAYLOAD);
        let arrived = outcome.counters.packets_sent - outcome.counters.packets_dropped;
        prop_assert!(
            arrived >= packets,
            "an object of {} packets was completed by {} that arrived",
            packets,
            arrived
        );
        prop_assert_eq!(outcome.delivered, trial.object, "a finished object is delivered in order");
        prop_assert!(
            outcome.acked_after.0 >= bound(trial),
            "{} ns beat the bound of {} ns",
            outcome.acked_after.0,
            bound(trial)
        );
        let at = outcome.delivered_after.map_or(u64::MAX, |at| at.0);
        // The bound holds the return path, which is no longer than half a round trip.
        let earliest = bound(trial) - trial.path.rtt() / 2;
        prop_assert!(
            at >= earliest,
            "delivered after {at} ns, which beats the bound of {earliest} ns"
        );
        prop_assert!(
            at < outcome.acked_after.0,
            "delivered after {at} ns, acknowledged after {} ns",
            outcome.acked_after.0
        );
    }
    // A first-in first-out path gives no reason for a false alarm, so what is declared lost was
    // dropped.
    prop_assert_eq!(outcome.counters.spurious_losses, 0, "nothing overtakes on this path");
    prop_assert!(
        outcome.counters.packets_lost <= outcome.counters.packets_dropped,
        "{} lost of {} dropped",
        outcome.counters.packets_lost,
        outcome.counters.packets_dropped
    );
    prop_assert_eq!(
        outcome.queue_us.len() + outcome.counters.packets_dropped,
        outcome.counters.packets_sent,
        "each packet is delivered or dropped"
    );
    prop_assert!(
        outcome.counters.lost_retransmissions <= outcome.counters.retransmissions,
        "only what was repeated can be lost again"
    );
    for episode in &outcome.episodes {
        prop_assert!(
            episode.end.is_none_or(|end| end > episode.start),
            "an episode takes time: {episode:?}"
        );
        prop_assert!(
            episode.repaired.is_none_or(|at| at >= episode.start),
            "repair comes after loss: {episode:?}"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_packet_is_at_the_receiver_dropped_or_under_way_at_every_moment(trial in any_trial()) {
        let (mut before, mut broken) = (0, None);
        let outcome = trial.steps(trial.links(), |now, flow, _| {
            let (sender, receiver) = (flow.sender(), flow.receiver());
            let counters = sender.counters();
            let accounted = receiver.packets() + counters.packets_dropped + flow.data_under_way();
            let due = [
                (counters.packets_sent == accounted, "sent = received + dropped + under way"),
                (flow.delivered() <= receiver.packets() * PAYLOAD, "no more delivered than received"),
                (sender.inflight() <= counters.packets_sent * DATAGRAM, "no more in flight than sent"),
                (flow.data_under_way() == 0 || sender.inflight() > 0, "what is under way is in flight"),
                (now >= before, "time runs forward"),
                (flow.complete() || flow.next_event() < u64::MAX, "an unfinished flow has something to wait for"),
            ];
            before = now;
            if let Some((_, what)) = due.iter().find(|(holds, _)| !holds) {
                broken.get_or_insert(format!("{what}: broken at {now} ns, {counters:?}"));
            }
        });
        prop_assert_eq!(broken, None);
        check_outcome(&trial, &outcome)?;
    }

    #[test]
    fn the_same_setup_is_the_same_trial_watched_or_not(trial in any_trial()) {
        let first = digest(&trial.run());
        prop_assert_eq!(&digest(&trial.run()), &first, "a second run differs");
        let mut watch = Watch::default();
        prop_assert_eq!(&digest(&trial.observe(&mut watch)), &first, "watching changes the trial");
        prop_assert_eq!(&digest(&trial.steps(trial.links(), |_, _, _| ())), &first, "stepping by hand changes the trial");
        prop_assert!(watch.0.windows(2).all(|pair| pair[0].now <= pair[1].now), "the trial's clock went backwards");
        prop_assert!(watch.0.windows(2).all(|pair| pair[0].delivered <= pair[1].delivered), "delivered bytes were taken back");
    }
}
