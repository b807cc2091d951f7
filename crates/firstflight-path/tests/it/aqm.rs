//! Queue management and marks. CoDel decided at the offer is compared with a simulated queue.

use firstflight_path::{DropCause, Fate, Link, Path, Purpose, Stream};
use proptest::prelude::*;
use std::collections::VecDeque;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
const DATA: u32 = 1500;

fn forward(text: &str) -> Link {
    let path = Path::parse(text).unwrap_or_else(|e| panic!("`{text}` should be a path, but: {e}"));
    path.links(DATA, 66, 1, 0).unwrap_or_else(|e| panic!("`{text}` should make links, but: {e}")).0
}

#[test]
fn step_marking_marks_from_the_threshold_on() {
    // One packet takes 1.5 ms. The threshold is met by the packet that waits exactly 15 ms.
    let mut by_time = forward("rate=8Mbit,rtt=100ms,queue=unlimited,ecn=15ms");
    let mut by_bytes = forward("rate=8Mbit,rtt=100ms,queue=unlimited,ecn=10pkt");
    for k in 0..20_u64 {
        let Fate::Deliver { waited, marked, .. } = by_time.offer(0, DATA) else {
            panic!("delivered")
        };
        assert_eq!((waited, marked), (k * 1_500_000, waited >= 15 * MS), "packet {k} by time");
        // The packet in service is not counted: the eleventh of those that wait meets ten.
        let Fate::Deliver { marked, .. } = by_bytes.offer(0, DATA) else { panic!("delivered") };
        assert_eq!(marked, k >= 11, "packet {k} by bytes");
    }
}

#[test]
fn marks_by_chance_are_the_share_that_is_asked_for() {
    let mut link = forward("rate=8Mbit,rtt=100ms,queue=unlimited,ecn=ce:10%");
    let marked = (0..10_000_u64)
        .filter(|k| matches!(link.offer(k * 2 * MS, DATA), Fate::Deliver { marked: true, .. }))
        .count();
    // Four standard deviations of 30.
    assert!((880..=1_120).contains(&marked), "{marked} of 10000 at a tenth");
}

/// CoDel as a queue that is really run: a list of packets, a server that takes them, and the two
/// nested loops of the published pseudocode, without the exemption for the last packet (departure
/// D1).
struct ReferenceCodel {
    target: u64,
    interval: u64,
    first_above: u64,
    dropping: bool,
    drop_next: u64,
    count: u64,
    last_count: u64,
}

impl ReferenceCodel {
    /// Takes the next packet; true if it may be dropped.
    fn take(&mut self, queue: &mut VecDeque<(u64, u64)>, now: u64) -> Option<((u64, u64), bool)> {
        let Some(packet) = queue.pop_front() else {
            self.first_above = 0;
            return None;
        };
        let mut ok = false;
        if now - packet.1 < self.target {
            self.first_above = 0;
        } else if self.first_above == 0 {
            self.first_above = now + self.interval;
        } else if now >= self.first_above {
            ok = true;
        }
        Some((packet, ok))
    }

    fn law(&self, t: u64) -> u64 {
        t + (u128::from(self.interval).pow(2) / u128::from(self.count)).isqrt() as u64
    }

    /// The packet to send at `now`; the dropped ones are noted.
    fn dequeue(
        &mut self,
        queue: &mut VecDeque<(u64, u64)>,
        now: u64,
        dropped: &mut Vec<u64>,
    ) -> Option<u64> {
        let mut head = self.take(queue, now);
        if self.dropping {
            if !head.is_some_and(|(_, ok)| ok) {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                dropped.extend(head.map(|((id, _), _)| id));
                self.count += 1;
                head = self.take(queue, now);
                if head.is_some_and(|(_, ok)| ok) {
                    self.drop_next = self.law(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if head.is_some_and(|(_, ok)| ok) {
            dropped.extend(head.map(|((id, _), _)| id));
            head = self.take(queue, now);
            self.dropping = true;
            let delta = self.count - self.last_count;
            let recent = now.saturating_sub(self.drop_next) < 16 * self.interval;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = self.law(now);
            self.last_count = self.count;
        }
        head.map(|((id, _), _)| id)
    }
}

/// Which arrivals the reference delivers on a link that takes `service` per packet.
fn reference_deliveries(arrivals: &[u64], service: u64) -> Vec<bool> {
    let mut codel = ReferenceCodel {
        target: 5 * MS,
        interval: 100 * MS,
        first_above: 0,
        dropping: false,
        drop_next: 0,
        count: 0,
        last_count: 0,
    };
    let (mut queue, mut dropped) = (VecDeque::new(), Vec::new());
    let mut delivered = vec![false; arrivals.len()];
    let (mut next, mut busy_until) = (0, None);
    loop {
        let now = if let Some(free) = busy_until {
            // Departures come before arrivals at the same instant.
            while next < arrivals.len() && arrivals[next] < free {
                queue.push_back((next as u64, arrivals[next]));
                next += 1;
            }
            free
        } else if next < arrivals.len() {
            queue.push_back((next as u64, arrivals[next]));
            next += 1;
            arrivals[next - 1]
        } else {
            return delivered;
        };
        let sent = codel.dequeue(&mut queue, now, &mut dropped);
        if let Some(id) = sent {
            delivered[id as usize] = true;
        }
        busy_until = sent.map(|_| now + service);
    }
}

#[test]
fn codel_bounds_a_standing_queue_and_spares_a_burst() {
    let mut link = forward("rate=100Mbit,rtt=30ms,queue=unlimited,codel");
    let burst = (0..300).filter(|_| matches!(link.offer(0, DATA), Fate::Drop(_))).count();
    assert_eq!(burst, 0, "a burst of 36 ms is gone before the interval ends");
    // Twice the rate for 20 s: a controlled law cannot hold an unresponsive flow, but it must drop
    // more and more.
    let mut drops = [0_u64; 20];
    for k in 0..333_333_u64 {
        let now = SECOND + k * 60_000;
        if link.offer(now, DATA) == Fate::Drop(DropCause::Aqm) {
            drops[((now - SECOND) / SECOND) as usize] += 1;
        }
    }
    // Arrivals of the first second leave within two, and n drops take 2 sqrt(n) intervals of 100
    // ms: n = 100.
    assert!(
        (90..=110).contains(&drops[0]),
        "{} drops among the packets of the first second",
        drops[0]
    );
    assert!(
        drops.windows(2).all(|pair| pair[1] > pair[0]),
        "the rate of drops rises while the queue stands: {drops:?}"
    );
}

#[test]
fn codel_with_ecn_marks_instead_of_dropping() {
    let mut marking = forward("rate=100Mbit,rtt=30ms,queue=unlimited,codel,ecn");
    let fates: Vec<Fate> = (0..40_000_u64).map(|k| marking.offer(k * 100_000, DATA)).collect();
    assert!(fates.iter().all(|fate| matches!(fate, Fate::Deliver { .. })), "nothing is dropped");
    let marks =
        fates.iter().filter(|fate| matches!(fate, Fate::Deliver { marked: true, .. })).count();
    assert!(marks > 50, "{marks} packets are marked in 4 s of overload");
}

#[test]
fn pie_spares_the_first_burst_and_then_holds_the_delay_near_its_target() {
    let mut link = forward("rate=100Mbit,rtt=30ms,queue=unlimited,pie");
    let (mut dropped, mut waits, mut offered) = (0_u64, Vec::new(), 0_u64);
    // A quarter more than the link carries, for 30 s.
    for k in 0..312_500_u64 {
        let now = k * 96_000;
        match link.offer(now, DATA) {
            Fate::Drop(cause) => {
                assert_eq!(cause, DropCause::Aqm);
                assert!(now >= 150 * MS, "a drop at {now} ns, inside the burst allowance");
                dropped += u64::from(now > 10 * SECOND);
            }
            Fate::Deliver { waited, .. } if now > 10 * SECOND => waits.push(waited),
            _ => {}
        }
        offered += u64::from(now > 10 * SECOND);
    }
    let share = dropped * 1000 / offered;
    assert!((195..=205).contains(&share), "{share}/1000 are dropped, the excess is 200/1000");
    let mean = waits.iter().sum::<u64>() / waits.len() as u64;
    assert!(
        (10 * MS..20 * MS).contains(&mean),
        "the delay settles at {mean} ns, the target is 15 ms"
    );
}

/// PIE as RFC 8033 writes it (section 4 and the pseudocode of its appendix A), in floating point, in
/// front of a link of 8 Mbit/s, where a packet of 1500 bytes takes 1.5 ms.
struct ReferencePie {
    target: f64,
    marks: bool,
    p: f64,
    /// Seconds.
    delay_before: f64,
    burst: f64,
    updates: u64,
    /// When the link is through, ns.
    busy: u64,
}

impl ReferencePie {
    const SERVICE: u64 = 1_500_000;
    const UPDATE: u64 = 15 * MS;

    fn new(marks: bool) -> Self {
        Self { target: 0.015, marks, p: 0.0, delay_before: 0.0, burst: 0.15, updates: 0, busy: 0 }
    }

    fn update(&mut self, delay: f64) {
        let change = 0.125 * (delay - self.target) + 1.25 * (delay - self.delay_before);
        // RFC8033 4.2: auto-tuning.
        let tuning = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (0.01, 8.0)];
        let scale = tuning
            .iter()
            .find(|(below, _)| self.p < *below)
            .map_or_else(|| if self.p < 0.1 { 2.0 } else { 1.0 }, |(_, scale)| *scale);
        let change = change / scale;
        self.p += if self.p >= 0.1 { change.min(0.02) } else { change };
        self.p = self.p.clamp(0.0, 1.0);
        if delay == 0.0 && self.delay_before == 0.0 {
            self.p *= 0.98;
        }
        self.burst = (self.burst - 0.015).max(0.0);
        if self.p == 0.0 && delay < self.target / 2.0 && self.delay_before < self.target / 2.0 {
            self.burst = 0.15;
        }
        self.delay_before = delay;
    }

    /// A packet arrives, `u` is its draw. What is expected: whether it passes, and marked or not.
    fn offer(&mut self, now: u64, waiting: u64, u: f64) -> (bool, bool) {
        while (self.updates + 1) * Self::UPDATE <= now {
            self.updates += 1;
            let delay = self.busy.saturating_sub(self.updates * Self::UPDATE);
            self.update(delay as f64 / 1e9);
        }
        let safe = self.burst > 1e-9
            || (self.delay_before < self.target / 2.0 && self.p < 0.2)
            || waiting <= 3_000;
        let hit = !safe && u < self.p;
        let (passes, marked) = (!hit || (self.marks && self.p < 0.1), hit && self.marks);
        if passes {
            self.busy = self.busy.max(now) + Self::SERVICE;
        }
        (passes, passes && marked)
    }
}

#[test]
fn pie_decides_about_every_packet_as_the_text_does() {
    let draws = Stream::new(1, 0, Purpose::Aqm);
    for marks in [false, true] {
        let ecn = if marks { ",ecn" } else { "" };
        let mut link = forward(&format!("rate=8Mbit,rtt=30ms,queue=unlimited,pie{ecn}"));
        let mut reference = ReferencePie::new(marks);
        let (mut now, mut ordinal, mut hits) = (0, 0, [0_u32; 2]);
        // So many packets, so far apart: overload of all sizes, rests, near balance, bursts.
        for (packets, gap) in [
            (1_500, 1_000_000),
            (300, 3_000_000),
            (3_000, 600_000),
            (1, 700 * MS),
            (4_000, 1_450_000),
            (200, 10_000),
            (2_000, 1_600_000),
            (1, 40 * SECOND),
            (2_500, 1_200_000),
            (3_000, 300_000),
            (3_000, 1_300_000),
        ] {
            for _ in 0..packets {
                now += gap;
                let u = ((draws.value(ordinal) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
                let (passes, marked) = reference.offer(now, link.queued_bytes(now), u);
                let fate = link.offer(now, DATA);
                let found = match fate {
                    Fate::Deliver { marked, .. } => (true, marked),
                    _ => (false, false),
                };
                assert_eq!(
                    found,
                    (passes, marked),
                    "packet {ordinal} at {now} ns with ecn {marks}: {fate:?}, p is {}",
                    reference.p
                );
                hits[0] += u32::from(!passes);
                hits[1] += u32::from(marked);
                ordinal += 1;
            }
        }
        assert!(hits[0] > 500, "{} drops are hardly a test", hits[0]);
        assert_eq!(hits[1] > 100, marks, "{} marks", hits[1]);
    }
}

#[test]
fn pie_forgets_in_a_rest() {
    let mut link = forward("rate=100Mbit,rtt=30ms,queue=unlimited,pie");
    let overload = |link: &mut Link, from: u64| -> usize {
        (0..20_000_u64)
            .filter(|k| link.offer(from + k * 96_000, DATA) == Fate::Drop(DropCause::Aqm))
            .count()
    };
    let first = overload(&mut link, 0);
    let again = overload(&mut link, 3600 * SECOND);
    assert!(first > 500, "{first} drops in two seconds of overload");
    assert!(
        again.abs_diff(first) * 5 < first,
        "after an hour of rest it starts over: {again} drops against {first}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn codel_at_the_offer_equals_codel_at_the_dequeue(
        phases in prop::collection::vec((50_usize..600, prop_oneof![40_000_u64..119_000, 100_000_u64..130_000, 200_000_u64..3_000_000]), 1..40),
    ) {
        let arrivals: Vec<u64> = phases
            .iter()
            .flat_map(|(packets, gap)| std::iter::repeat_n(*gap, *packets))
            .scan(0, |now, gap| { *now += gap; Some(*now) })
            .collect();
        let mut link = forward("rate=100Mbit,rtt=30ms,queue=unlimited,codel");
        let seen: Vec<bool> = arrivals.iter().map(|now| link.offer(*now, DATA) != Fate::Drop(DropCause::Aqm)).collect();
        let expected = reference_deliveries(&arrivals, 120_000);
        let first = seen.iter().zip(&expected).position(|(a, b)| a != b);
        prop_assert_eq!(first, None, "first difference");
    }
}
