//! Decides from the evidence where a connection was captured and whether its numbers can be
//! trusted.
//!
//! A vantage needs two kinds of evidence: the halves of the handshake, the time from data to its
//! ACK, timestamp echoes, TTLs. Each time is an upper bound on the round trip to an end, so the
//! smallest of a kind counts.

use super::evidence::{End, Evidence, Steps};
use crate::quality::{Quality, Trust, Vantage, time};
use firstflight::Nanos;

/// A near half below this fraction of the RTT (1/10) is added to RTTs; above it, the capture was
/// taken in the middle.
const NEAR: u64 = 10;
/// A near half below this fraction of the RTT (1/50) is the sender's own processing time.
const OWN: u64 = 50;
/// Typical processing time of an end.
const TURN: Nanos = Nanos(100_000);
/// Processing time of a busy host.
const SLOW_TURN: Nanos = Nanos(250_000);
/// If ACKs are this many times faster than the SYN/ACK, they come from a proxy.
const PROXY: u64 = 4;
const PROXY_LEAST: Nanos = Nanos::from_millis(1);
/// A clock step of at least this fraction of the RTT (1/50) is mentioned; from 1/10 it hides exits.
const TICK_TOLD: u64 = 50;
const TICK_HIDES: u64 = 10;

/// The data of one end as its sender's state describes it.
pub(super) struct Seen {
    /// Index of the end.
    pub(super) index: usize,
    pub(super) begins: bool,
    pub(super) unseen: u64,
    pub(super) out_of_order: u64,
    pub(super) left_out: u64,
    /// The near half that was added to its RTTs.
    pub(super) added: Nanos,
    pub(super) rtt: Option<Nanos>,
    /// An ACK has the same timestamp as its data.
    pub(super) is_instant: bool,
    pub(super) steps: Steps,
    /// Both ends are on this host.
    pub(super) is_here: bool,
}

fn ms(time: Nanos) -> f64 {
    time.0 as f64 / 1e6
}

fn said(nanos: Nanos) -> String {
    time(ms(nanos))
}

/// Whether an end that responds after `half` of `rtt` is near.
pub(super) fn is_near(half: Nanos, rtt: Nanos) -> bool {
    half.0.saturating_mul(NEAR) < rtt.0
}

/// Whether the near half is distance and not the sender's own processing time.
pub(super) fn is_to_add(half: Nanos, rtt: Nanos) -> bool {
    half > SLOW_TURN && half.0.saturating_mul(OWN) >= rtt.0
}

/// Position of the capture.
struct Place {
    vantage: Vantage,
    trust: Trust,
    near: Option<Nanos>,
    far: Option<Nanos>,
    proxy: Option<Nanos>,
    evidence: Vec<String>,
    remarks: Vec<String>,
}

impl Place {
    fn share(&self) -> Option<f64> {
        let (near, far) = (self.near?.0 as f64, self.far?.0 as f64);
        (near + far > 0.0).then(|| near / (near + far))
    }
}

/// The evidence, for people.
fn sentences(own: &End, peer: &End) -> Vec<String> {
    let mut told = Vec::new();
    if let (Some(near), Some(far)) = (own.handshake, peer.handshake) {
        told.push(format!(
            "handshake: the sender responds after {}, the receiver after {}",
            said(near),
            said(far)
        ));
    }
    if let Some(data) = peer.data {
        told.push(format!("data: ACKs arrive {} after the data", said(data)));
    }
    if let (Some(near), Some(far)) = (own.echo, peer.echo) {
        told.push(format!(
            "timestamps: the sender echoes after {}, the receiver after {}",
            said(near),
            said(far)
        ));
    }
    told.push(format!("TTL: {} from the sender, {} from the receiver", own.ttl, peer.ttl));
    told
}

fn place(all: &Evidence, seen: &Seen) -> Place {
    let (own, peer) = (&all.ends[seen.index], &all.ends[1 - seen.index]);
    let near = own.answers();
    // As the sender's own control loop sees it; the handshake is used where data shows nothing.
    let data = [peer.data, peer.echo].into_iter().flatten().min();
    let far = data
        .map_or(peer.handshake, |data| Some(peer.handshake.map_or(data, |hand| hand.min(data))));
    let proxy = peer.handshake.zip(data).filter(|(hand, data)| {
        *hand > *data + PROXY_LEAST && hand.0 > data.0.saturating_mul(PROXY)
    });
    let mut place = Place {
        vantage: Vantage::Unknown,
        trust: Trust::Doubtful,
        near,
        far,
        proxy: None,
        evidence: sentences(own, peer),
        remarks: Vec::new(),
    };
    let ttl = (own.is_here_by_ttl(), peer.is_here_by_ttl());
    if seen.is_here {
        (place.vantage, place.trust) = (Vantage::Sender, Trust::Sound);
        place.evidence.push("addresses: both ends are on the same host".into());
        return place;
    }
    let Some(far) = far else {
        return doubt(place, "no response from the receiver shows where the capture was made");
    };
    let (vantage, kinds) = match near {
        Some(near) => {
            let vantage = side(near, far);
            let of = |near: Option<Nanos>, far: Option<Nanos>| {
                near.zip(far).is_some_and(|(near, far)| side(near, far) == vantage)
            };
            let ttl = match vantage {
                Vantage::Sender => ttl == (true, false),
                Vantage::Receiver => ttl == (false, true),
                _ => ttl == (false, false),
            };
            let kinds = [
                of(own.handshake, peer.handshake),
                of(Some(near), peer.data),
                of(own.echo, peer.echo),
                ttl,
            ];
            (vantage, kinds.iter().filter(|backs| **backs).count())
        }
        // Only one end answers: the evidence is the time to its ACKs, and the TTLs.
        None => match ttl {
            (true, false) if far > TURN => (Vantage::Sender, 2),
            (false, true) if far <= PROXY_LEAST => (Vantage::Receiver, 2),
            _ => (Vantage::Unknown, 1),
        },
    };
    if near.is_some_and(|near| near <= TURN) && far <= TURN {
        (place.vantage, place.trust) = (Vantage::Sender, Trust::Sound);
        place.evidence.push(format!("both ends respond within {}", said(TURN)));
        return place;
    }
    let near = near.unwrap_or(Nanos::ZERO);
    // An application that waits before it sends looks as if it were far away.
    let is_tight =
        own.handshake.is_some() || own.stale.0.saturating_mul(2) >= near.0 || ttl == (false, true);
    let is_tight = is_tight && (own.handshake.is_some() || ttl != (true, false));
    let is_far = matches!(vantage, Vantage::Middle | Vantage::Receiver);
    if kinds < 2 || (is_far && !is_tight) {
        let why = match (vantage, far <= PROXY_LEAST) {
            (Vantage::Receiver, _) | (Vantage::Unknown, true) => format!(
                "possibly captured at the receiver: its ACKs leave {} after the data",
                said(far)
            ),
            (Vantage::Middle, _) => format!(
                "possibly captured in the middle of the path: {} of the {} round trip lie between the capture and the sender",
                said(near),
                said(near + far)
            ),
            _ => "only the delay of its ACKs suggests that it was captured at the sender".into(),
        };
        return doubt(place, &why);
    }
    decide(place, vantage, (near, far), proxy)
}

/// Applies the vantage, which two kinds of evidence support.
fn decide(
    mut place: Place,
    vantage: Vantage,
    (near, far): (Nanos, Nanos),
    proxy: Option<(Nanos, Nanos)>,
) -> Place {
    place.vantage = vantage;
    match vantage {
        Vantage::Sender | Vantage::Unknown => {
            place.trust = Trust::Sound;
            if let Some((hand, data)) = proxy {
                place.proxy = Some(data);
                place.remarks.push(format!(
                    "a proxy acknowledges the data: ACKs arrive {} after the data, but the SYN-ACK took {}",
                    said(data),
                    said(hand)
                ));
            }
        }
        Vantage::Receiver => {
            place.trust = Trust::Refused;
            place.remarks.push(format!(
                "captured at the receiver: its ACKs leave {} after the data; capture at the sender instead",
                said(far)
            ));
        }
        Vantage::Middle => {
            let between = format!(
                "{} of the {} round trip lie between the capture and the sender",
                said(near),
                said(near + far)
            );
            if near <= SLOW_TURN {
                return doubt(
                    place,
                    &format!(
                        "captured in the middle of the path, or the sender is slow: {between}"
                    ),
                );
            }
            place.trust = Trust::Refused;
            place.remarks.push(format!(
                "captured in the middle of the path: {between}; capture at the sender instead"
            ));
        }
    }
    place
}

fn doubt(mut place: Place, why: &str) -> Place {
    place.vantage = Vantage::Unknown;
    place.trust = Trust::Doubtful;
    place.remarks.push(why.to_owned());
    place
}

/// The vantage, by the fraction of the RTT before the capture.
fn side(near: Nanos, far: Nanos) -> Vantage {
    let rtt = near + far;
    if is_near(near, rtt) {
        Vantage::Sender
    } else if is_near(far, rtt) {
        Vantage::Receiver
    } else {
        Vantage::Middle
    }
}

/// Makes the quality record for the data of one end.
pub(super) fn judge(all: &Evidence, seen: &Seen) -> Quality {
    let place = place(all, seen);
    let share = place.share();
    let Place { vantage, trust, near, far, proxy, evidence, remarks } = place;
    let mut record = Quality {
        trust,
        vantage,
        share,
        near_ms: near.map(ms),
        far_ms: far.map(ms),
        added_ms: ms(seen.added),
        evidence,
        begins: seen.begins,
        doubled: all.ends.iter().map(|end| end.doubled).sum(),
        doubled_unsure: all.ends.iter().map(|end| end.unsure).sum(),
        out_of_order: seen.out_of_order,
        unseen_bytes: seen.unseen,
        options_cut: all.cut,
        tick_ms: all.tick().map(ms),
        clock_steps: seen.steps.count,
        largest_step_ms: (seen.steps.count > 0).then_some(seen.steps.largest as f64 / 1e6),
        proxy_ms: proxy.map(ms),
        left_out_bytes: seen.left_out,
        shows_exits: seen.begins,
        shows_rtt: true,
        to_add_ns: 0,
        remarks,
    };
    if trust == Trust::Refused {
        return record;
    }
    add_near(&mut record, all, seen, near.zip(far));
    whole(&mut record);
    clock(&mut record, all, seen);
    record
}

/// Sets the near half that RTTs still lack because no handshake showed it in time.
fn add_near(record: &mut Quality, all: &Evidence, seen: &Seen, halves: Option<(Nanos, Nanos)>) {
    if let Some((near, far)) = halves
        && record.vantage == Vantage::Sender
        && seen.added == Nanos::ZERO
        && all.ends[seen.index].handshake.is_none_or(|hand| hand > near)
        && is_to_add(near, near + far)
        && !seen.is_here
    {
        record.to_add_ns = near.0;
        record.added_ms = ms(near);
    }
    if record.added_ms > 0.0 && record.vantage == Vantage::Sender {
        record.vantage = Vantage::Middle;
        record.remarks.push(format!(
            "captured {} away from the sender; RTTs include this time",
            time(record.added_ms)
        ));
    }
}

/// Records whether the capture is complete, without copies, and in order.
fn whole(record: &mut Quality) {
    if !record.begins {
        record
            .remarks
            .push("started before the capture: exits and the initial window are unknown".into());
    }
    if record.doubled > 0 {
        record
            .remarks
            .push(format!("{} frames were captured twice; copies are dropped", record.doubled));
    }
    if record.doubled_unsure > 0 {
        record.trust = Trust::Doubtful;
        record.remarks.push(format!(
            "{} frames may be copies, but nothing proves it; they count as sent",
            record.doubled_unsure
        ));
    }
    if record.out_of_order > 0 {
        record
            .remarks
            .push(format!("{} frames were out of order in the file", record.out_of_order));
    }
    if record.unseen_bytes > 0 {
        record.remarks.push(format!("{} bytes are not in the capture", record.unseen_bytes));
    }
    if record.options_cut > 0 {
        record.remarks.push(format!(
            "TCP options of {} frames were cut off (snaplen): SACK and timestamps may be missing",
            record.options_cut
        ));
    }
}

/// Records what the clock hides.
fn clock(record: &mut Quality, all: &Evidence, seen: &Seen) {
    if let Some(largest) = record.largest_step_ms {
        record.trust = Trust::Doubtful;
        let way = if largest < 0.0 { "back" } else { "forward" };
        let times = if record.clock_steps == 1 { "once" } else { "several times" };
        record.remarks.push(format!(
            "the clock stepped {times}, by at most {} {way}; the steps are removed",
            time(largest.abs())
        ));
    }
    let Some(tick) = all.tick() else { return };
    // If an ACK has the same tick as its data, the RTT is shorter than a tick.
    let rtt = seen.rtt.filter(|rtt| !seen.is_instant && rtt.0 >= 2 * tick.0).unwrap_or(Nanos::ZERO);
    record.shows_rtt = rtt > Nanos::ZERO;
    if tick.0.saturating_mul(TICK_TOLD) < rtt.0 {
        return;
    }
    let hides = tick.0.saturating_mul(TICK_HIDES) >= rtt.0;
    let consequence = if hides { ": exits and shorter times are unknown" } else { "" };
    record.remarks.push(format!("the clock has a resolution of {}{consequence}", said(tick)));
    if hides {
        record.trust = Trust::Doubtful;
        record.shows_exits = false;
    }
}
