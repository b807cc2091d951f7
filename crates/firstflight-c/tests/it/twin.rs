//! The same events through C and through Rust give the same answers.

use crate::call::{CONFIG, Sender, text};
use firstflight::arm::{AVOIDANCES, Part, RECOVERIES, STARTUPS};
use firstflight::{
    Ack, AckDetail, AnyController, Arm, Config, Congestion, Event, Nanos, Ready, Sent, Seq, SoFar,
    Time, Timeout,
};
use firstflight_c::*;

fn same(c: &mut Sender, rust: &AnyController) -> Result<(), String> {
    let expected = (
        rust.cwnd(),
        rust.ssthresh().unwrap_or(FF_NONE),
        rust.pacing_rate().map_or(0, |rate| rate.0),
        rust.phase().name().to_owned(),
    );
    let found = c.answers();
    if found == expected { Ok(()) } else { Err(format!("C {found:?}, Rust {expected:?}")) }
}

/// A connection of random events, most of them possible.
struct Random {
    state: u64,
    now: u64,
    nxt: u64,
    una: u64,
    sent: u64,
    inflight: u64,
}

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        // Vigna's splitmix64.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % most
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    fn event(&mut self, cwnd: u64) -> Event {
        self.now += self.below(3_000_000);
        let now = Time(self.now);
        let srtt = Some(Nanos(20_000_000 + self.below(5_000_000)));
        match self.below(40) {
            0 => Event::Congestion(Congestion {
                now,
                timeout: [Timeout::Rto, Timeout::RtoAgain, Timeout::PersistentCongestion]
                    [self.below(3) as usize],
                nxt: Seq(self.nxt),
                inflight_before: self.inflight,
            }),
            1 => Event::Spurious { now },
            2 if self.one_in(20) => Event::Mss { now, mss: 500 + self.below(3000) },
            3..=11 => Event::Ready(Ready {
                now,
                nxt: Seq(self.nxt),
                inflight: self.inflight,
                backlog: self.below(1 << 20),
                srtt,
                idle: Nanos(if self.inflight == 0 { self.below(2_000_000_000) } else { 0 }),
                timeout: Nanos(200_000_000),
            }),
            12..=24 => {
                let bytes = 1200 * (1 + self.below(1 + cwnd / 2400).min(64));
                (self.nxt, self.sent, self.inflight) =
                    (self.nxt + bytes / 1200, self.sent + bytes, self.inflight + bytes);
                Event::Sent(Sent { now, bytes, nxt: Seq(self.nxt), inflight: self.inflight, srtt })
            }
            _ => {
                let before = self.inflight;
                let acked = self.below(before + 1).min(1200 * 40);
                let lost =
                    if self.one_in(12) { self.below(before - acked + 1).min(1200 * 8) } else { 0 };
                self.inflight = before - acked - lost;
                self.una = (self.una + acked / 1200).min(self.nxt);
                let mut detail = AckDetail::default();
                detail.ce_bytes = (acked > 0 && self.one_in(9)).then_some(acked);
                detail.lost_again = self.one_in(50);
                detail.repeat_acked = self.one_in(50);
                detail.rescue_next = self.one_in(50);
                detail.unrepaired = self.one_in(9);
                detail.sack_advances = self.one_in(9);
                detail.receiver_ts = (!self.one_in(3)).then_some((self.now / 1_000_000) as u32);
                let rtt = (acked > 0 && !self.one_in(4))
                    .then(|| Nanos(20_000_000 + self.below(9_000_000)));
                let tx_lost = (lost > 0).then(|| self.below(self.nxt.max(1)));
                let ack = Ack {
                    now,
                    acked,
                    acked_fresh: self.below(acked + 1),
                    lost,
                    ce: self.one_in(60),
                    rtt,
                    srtt,
                    una: Seq(self.una),
                    nxt: Seq(self.nxt),
                    flight: before - acked,
                    sacked: self.below(before + 1),
                    inflight_before: before,
                    inflight: self.inflight,
                    sent: self.sent,
                    tx_acked: (acked > 0).then(|| self.una.saturating_sub(1)),
                    tx_lost,
                    tx_next: self.nxt,
                    cwnd_limited: !self.one_in(4),
                    app_limited: self.one_in(4),
                    detail,
                };
                Event::Ack(ack, SoFar::default())
            }
        }
    }
}

/// Every startup, avoidance and recovery, and some of their modes.
fn all_arms() -> Vec<String> {
    let of = |parts: &[Part], before: &str, after: &str| -> Vec<String> {
        parts.iter().map(|part| format!("{before}{}{after}", part.name)).collect()
    };
    let modes = [
        "hystart++(mode=lss)",
        "search(version=3.1)",
        "careful(saved=60,rtt=40)",
        "plumb(saved=60,rtt=40)",
        "rapid@(iw=32,increase=linux)",
    ];
    [
        of(STARTUPS, "", ""),
        of(AVOIDANCES, "slowstart/", "/immediate"),
        of(RECOVERIES, "slowstart/cubic/", ""),
        modes.map(str::to_owned).to_vec(),
    ]
    .concat()
}

/// Events per arm and transport: a million at night.
fn events() -> u32 {
    if std::env::var_os("NIGHT").is_some() { 1_000_000 } else { 10_000 }
}

#[test]
fn random_events_give_the_same_answers_for_every_arm() {
    for arm in all_arms() {
        for (transport, base) in [(FF_QUIC, Config::quic(1200)), (FF_TCP, Config::tcp(1200))] {
            let mut rust = Arm::parse(&arm).unwrap().controller(base, Time(0), Seq(0));
            let mut c = Sender::of(&arm, &ff_config { transport, ..CONFIG }, 0).unwrap();
            let mut random = Random { state: 1, now: 0, nxt: 0, una: 0, sent: 0, inflight: 0 };
            for step in 0..events() {
                let event = random.event(rust.cwnd());
                assert_eq!(c.tell(&event), FF_OK);
                rust.tell(&event);
                if let Err(apart) = same(&mut c, &rust) {
                    panic!("{arm}, step {step}, {event:?}: {apart}");
                }
                // SAFETY: a sender.
                let sends = unsafe { ff_can_send(c.at(), 1200, random.inflight) };
                assert_eq!(
                    sends,
                    i32::from(rust.admits(1200, random.inflight)),
                    "{arm}, step {step}"
                );
            }
            // SAFETY: a sender, and structs of the right size.
            unsafe {
                let mut exit = ff_exit_info::BLANK;
                let ended = ff_exit(c.at(), &raw mut exit);
                let expected = rust.exit();
                assert_eq!(ended, i32::from(expected.is_some()), "{arm}");
                if let Some(expected) = expected {
                    let estimate = expected.estimate.unwrap_or(FF_NONE);
                    assert_eq!(
                        (exit.at, exit.cwnd, exit.estimate),
                        (expected.at.0, expected.cwnd, estimate),
                        "{arm}"
                    );
                    assert_eq!(text(exit.reason), expected.reason.name());
                }
                let mark = rust.recovery_mark().map_or(FF_NONE, |mark| mark.0);
                assert_eq!(
                    (ff_recovery_mark(c.at()), ff_rounds(c.at())),
                    (mark, rust.rounds()),
                    "{arm}"
                );
                assert_eq!(ff_in_recovery(c.at()), i32::from(rust.in_recovery()), "{arm}");
                assert_eq!(ff_is_l4s(c.at()), i32::from(rust.is_l4s()), "{arm}");
            }
        }
    }
}

#[test]
fn the_packets_of_a_train_leave_together_unless_a_largest_rate_spreads_them() {
    // Five trains of four packets in a round trip of 50 ms.
    let next = 10_000_000;
    for (arm, expected) in [
        ("plumb@(burst=2)", [0, 0, 0, 0, next, next]),
        ("plumb@(burst=2,maxrate=8Mbit)", [0, 0, 1_200_000, 2_400_000, next, next]),
    ] {
        let mut c = Sender::of(arm, &CONFIG, 0).unwrap();
        let (rtt, bytes) = (50_000_000, 1200);
        let (mut now, mut nxt) = (0, 0);
        // SAFETY: a sender.
        unsafe { ff_on_handshake_rtt(c.at(), 0, rtt) };
        let times = expected.map(|_| {
            let (inflight, backlog) = (nxt * bytes, FF_NONE);
            let ready = ff_ready { now, nxt, inflight, backlog, srtt: rtt, ..ff_ready::BLANK };
            // SAFETY: a sender and structs of the right size.
            unsafe {
                assert_eq!(ff_before_send(c.at(), &raw const ready), FF_OK);
                now = ff_next_send_time(c.at(), now, bytes, nxt * bytes);
                nxt += 1;
                let inflight = nxt * bytes;
                let sent = ff_sent { now, bytes, nxt, inflight, srtt: rtt, ..ff_sent::BLANK };
                assert_eq!(ff_on_sent(c.at(), &raw const sent), FF_OK);
            }
            now
        });
        assert_eq!(times, expected, "{arm}: departures in ns, 1.2 ms per packet at the cap");
    }
}

#[test]
fn the_pacer_keeps_the_pacing_rate() {
    let mut c = Sender::of("slowstart@(burst=2)", &CONFIG, 0).unwrap();
    let rtt = 50_000_000;
    // SAFETY: a sender and structs of the right size.
    unsafe {
        assert_eq!(ff_pacing_rate(c.at()), 0, "no RTT yet");
        assert_eq!(ff_next_send_time(c.at(), 5, 1200, 0), 5, "so nothing waits");
        ff_on_handshake_rtt(c.at(), 0, rtt);
        let mut sent = ff_sent { bytes: 1200, srtt: rtt, ..ff_sent::BLANK };
        while ff_can_send(c.at(), 1200, sent.inflight) == 1 {
            sent.now = ff_next_send_time(c.at(), sent.now, 1200, sent.inflight);
            (sent.nxt, sent.inflight) = (sent.nxt + 1, sent.inflight + 1200);
            assert_eq!(ff_on_sent(c.at(), &raw const sent), FF_OK);
        }
        assert_eq!(sent.nxt, 10);
        // Two packets leave at once, the others at twice the window per RTT.
        let rate = ff_pacing_rate(c.at());
        assert_eq!(rate, 2 * 12_000 * 20);
        assert_eq!(sent.now, 8 * 1200 * 1_000_000_000 / rate);
    }
}
