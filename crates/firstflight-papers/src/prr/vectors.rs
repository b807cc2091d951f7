//! The rules themselves: one segment of a flight of twenty is lost; ACK by ACK.

use crate::Values;
use firstflight::recovery::Cause;
use firstflight::recovery::{Entry, Progress, Prr, Recovery, Sack, prr, sack};

const MSS: u64 = 1000;

/// Segments sent on each ACK, from the one that starts recovery to the last before the retransmission is
/// acknowledged. Twenty were in flight and the first two ACKs released one new segment each; segment 0 is lost.
fn sends(mut recovery: impl Recovery, target: u64) -> Vec<u64> {
    let (flight, mut sacked, mut sent_after) = (22, 3, 0);
    recovery.enter(&Entry {
        cause: Cause::Ack,
        target: target * MSS,
        flight: flight * MSS,
        sacked: sacked * MSS,
        delivered: MSS,
        cwnd: 20 * MSS,
        reduced: target * MSS,
        mss: MSS,
    });
    let mut sends = Vec::new();
    for ack in 3..22 {
        sacked = ack;
        // Lost segments do not count until they are retransmitted; retransmissions and new segments count.
        let pipe = |sent: u64| (flight - 1 - sacked + sent) * MSS;
        recovery.on_ack(&Progress {
            delivered: MSS,
            advanced: false,
            newly_lost: if ack == 3 { MSS } else { 0 },
            pipe: pipe(sent_after),
            mss: MSS,
            ..Progress::default()
        });
        let before = sent_after;
        while recovery.admits(MSS, pipe(sent_after)) && sent_after - before < 30 {
            recovery.on_sent(MSS);
            sent_after += 1;
        }
        sends.push(sent_after - before);
    }
    sends
}

/// Number of ACKs without a transmission after the first one, and the longest run of them.
fn silent(sends: &[u64]) -> (usize, usize) {
    let after = &sends[1..];
    let longest = after.split(|&sent| sent > 0).map(<[u64]>::len).max().unwrap_or(0);
    (after.iter().filter(|&&sent| sent == 0).count(), longest)
}

/// Silent ACKs of each policy, for two targets.
pub(super) fn values() -> Values {
    let standard = |target| silent(&sends(Sack::new(sack::Params::default()), target));
    let mut values = Values::default();
    for (target, due) in [(10, 9), (14, 5)] {
        let (silent, row) = standard(target);
        let ours = format!("{silent}, {row} in a row");
        values
            .exact("vectors.silence", ours, format!("{due} in a row"), silent == due && row == due)
            .case(format!("Standard, T = {target} of 20"));
        for (name, params) in
            [("SSRB", prr::Params::rfc6937(prr::Bound::Ssrb)), ("RFC 9937", prr::Params::rfc9937())]
        {
            let (silent, row) = self::silent(&sends(Prr::new(params), target));
            let ours = format!("{silent}, at most {row} in a row");
            values
                .exact("vectors.silence", ours, "at most 2 in a row", row <= 2)
                .case(format!("PRR {name}, T = {target} of 20"));
        }
    }
    values
}
