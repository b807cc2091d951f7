//! Growth and reductions of a window if ACKs are merged, the application is the limit,
//! the connection is silent, or packets change their size.

use crate::rig;
use crate::told::{Hear, Told};
use firstflight::arm::{Arm, STARTUPS};
use firstflight::avoidance::{Avoidance, Reno, reno};
use firstflight::event::Context;
use firstflight::{
    AnyController, Config, Congestion, Nanos, Ready, Sent, Seq, Time, Timeout, Transport, Window,
};
use proptest::prelude::*;

const MSS: u64 = 1_000;
const MS: u64 = 1_000_000;
const RTT: u64 = 50 * MS;

/// A sender on a path without a bottleneck; packets by number.
#[derive(Clone)]
struct Sender {
    c: AnyController,
    tcp: bool,
    mss: u64,
    now: u64,
    sent: u64,
    acked: u64,
    /// In flight, of those between.
    out: u64,
    limited: bool,
    empty_since: u64,
}

impl Sender {
    fn new(arm: &str, config: Config) -> Sender {
        let tcp = config.transport == Transport::Tcp;
        let mut c = rig::controller(arm, config);
        c.on_handshake_rtt(Time(0), Nanos(RTT));
        let mss = config.mss;
        Sender { c, tcp, mss, now: 0, sent: 0, acked: 0, out: 0, limited: false, empty_since: 0 }
    }

    fn tcp(arm: &str) -> Sender {
        Sender::new(
            arm,
            firstflight::with!(Config { initial_window: 10 * MSS, ..Config::tcp(MSS) }),
        )
    }

    fn seq(&self, packet: u64) -> Seq {
        Seq(if self.tcp { packet * self.mss } else { packet })
    }

    fn ready(&mut self, timeout: u64) {
        let idle = if self.out == 0 { self.now - self.empty_since } else { 0 };
        self.c.before_send(&Ready {
            now: Time(self.now),
            nxt: self.seq(self.sent),
            inflight: self.out * self.mss,
            backlog: 1 << 40,
            srtt: Some(Nanos(RTT)),
            idle: Nanos(idle),
            timeout: Nanos(timeout),
        });
    }

    /// Sends `most` packets as far as the window allows; how many.
    fn send(&mut self, most: u64) -> u64 {
        self.ready(300 * MS);
        let mut count = 0;
        self.limited = false;
        while count < most {
            if !self.c.admits(self.mss, self.out * self.mss) {
                self.limited = true;
                break;
            }
            (self.sent, self.out, count) = (self.sent + 1, self.out + 1, count + 1);
            self.c.on_sent(&Sent {
                now: Time(self.now),
                bytes: self.mss,
                nxt: self.seq(self.sent),
                inflight: self.out * self.mss,
                srtt: Some(Nanos(RTT)),
            });
        }
        count
    }

    /// Sends a packet again that is still in flight.
    fn repeat(&mut self) {
        self.c.on_sent(&Sent {
            now: Time(self.now),
            bytes: self.mss,
            nxt: self.seq(self.sent),
            inflight: (self.out + 1) * self.mss,
            srtt: Some(Nanos(RTT)),
        });
    }

    fn record(&self, packets: u64, lost: u64) -> Told {
        let bytes = packets * self.mss;
        let una = self.acked + packets + lost;
        Told {
            now: Time(self.now),
            acked: bytes,
            acked_fresh: bytes,
            lost: lost * self.mss,
            rtt: Some(Nanos(RTT)),
            srtt: Some(Nanos(RTT)),
            min_rtt: Some(Nanos(RTT)),
            una: self.seq(una),
            nxt: self.seq(self.sent),
            advanced: true,
            flight: (self.out - packets) * self.mss,
            inflight_before: self.out * self.mss,
            inflight: (self.out - packets - lost) * self.mss,
            delivered: una * self.mss,
            sent: self.sent * self.mss,
            tx_acked: Some(una - 1),
            tx_lost: (lost > 0).then_some(self.acked),
            tx_next: self.sent,
            cwnd_limited: self.limited,
            app_limited: !self.limited,
            ..Told::default()
        }
    }

    fn deliver(&mut self, ack: &Told, packets: u64) {
        self.acked += packets;
        self.out -= packets;
        if self.out == 0 {
            self.empty_since = self.now;
        }
        self.c.hear(ack);
    }

    fn ack(&mut self, packets: u64) {
        let ack = self.record(packets, 0);
        self.deliver(&ack, packets);
    }

    /// An ACK of `packets` that shows one before them to be lost.
    fn lose(&mut self, packets: u64) {
        let ack = self.record(packets, 1);
        self.deliver(&ack, packets + 1);
    }

    fn packets(&self) -> u64 {
        self.c.cwnd() / self.mss
    }

    /// A round trip of as much as the window allows, at most `most`, two packets per ACK.
    fn round(&mut self, most: u64) {
        self.send(most);
        self.now += RTT;
        while self.out > 0 {
            self.ack(self.out.min(2));
        }
    }
}

/// Startups that count all of an ACK; what they do beside is out of the way.
const COUNT_ALL: [&str; 8] = [
    "slowstart",
    "hystart",
    "hystart(profile=gvisor)",
    "limited(max=100000)",
    "search",
    "best",
    "rapid(jump=off)",
    "plumb",
];

/// Windows of Linux 6.18 after each ACK where the receiver merges 32 segments (`gro_flush_timeout`).
/// Shows LINUX count-all.
#[test]
fn an_ack_per_32_segments_grows_the_window_as_in_the_kernel() {
    let kernel = [20, 40, 72, 104, 136, 168, 200, 232, 264, 296, 328, 360, 392];
    for arm in COUNT_ALL {
        let mut sender = Sender::tcp(arm);
        sender.send(u64::MAX);
        let mut windows = Vec::new();
        for _ in kernel {
            sender.now += 10 * MS;
            sender.ack(sender.out.min(32));
            windows.push(sender.packets());
            sender.send(u64::MAX);
        }
        assert_eq!(windows, kernel, "{arm}");
    }
}

/// Shows RFC5681 3.1-count, RFC3465 2.2-L.
#[test]
fn the_documents_count_one_and_two_segments_of_an_ack() {
    for (arm, counted) in [
        ("slowstart@(count=1)", 1),
        ("slowstart@(count=2)", 2),
        ("hystart@(count=2)", 2),
        ("rapid(jump=off)@(count=1)", 1),
        ("hystart++", 8),
        ("hystart++(cap=2)", 2),
        ("hystart++@(count=1)", 1),
        ("hystart++@(pace=on)", 10),
        ("slowstart", 10),
    ] {
        let mut sender = Sender::tcp(arm);
        sender.send(u64::MAX);
        sender.ack(10);
        assert_eq!(sender.packets(), 10 + counted, "{arm}: ten segments in one ACK");
    }
    let mut sender = Sender::new("hystart++@(pace=off)", Config::quic(MSS));
    sender.send(u64::MAX);
    sender.ack(10);
    assert_eq!(sender.packets(), 20, "RFC 9002 has no cap");
    let error = Arm::parse("slowstart(count=1)").expect_err("it is the sender's").to_string();
    assert!(error.contains("`@(count=..)`"), "{error}");
}

proptest! {
    /// Shows LINUX count-all.
    #[test]
    fn merged_acks_grow_every_startup_as_fast_as_single_ones(
        arm in prop::sample::select(&COUNT_ALL[..]),
        merged in prop::collection::vec(1u64..80, 1..12),
    ) {
        let (mut one, mut other) = (Sender::tcp(arm), Sender::tcp(arm));
        for packets in merged {
            for sender in [&mut one, &mut other] {
                sender.now += 10 * MS;
                sender.send(u64::MAX);
            }
            let packets = packets.min(one.out);
            one.ack(packets);
            for _ in 0..packets {
                other.ack(1);
            }
            prop_assert_eq!(one.c.cwnd(), other.c.cwnd(), "{} packets", packets);
        }
    }
}

/// `slow-start-app-limited` of packetdrill's tests of Linux: fourteen segments, an ACK per two.
/// Shows LINUX used-half.
#[test]
fn packetdrills_application_limited_slow_start() {
    for (arm, expected) in [
        ("hystart", [12, 14, 16, 18, 20]),
        ("slowstart@(increase=linux)", [12, 14, 16, 18, 20]),
        ("slowstart@(increase=limited)", [12, 14, 16, 18, 18]),
    ] {
        let mut sender = Sender::tcp(arm);
        sender.send(10);
        let mut windows = Vec::new();
        for _ in expected {
            sender.ack(2);
            windows.push(sender.packets());
            let left = 14 - sender.sent;
            if left > 0 {
                sender.send(left);
            }
            sender.limited = false;
        }
        assert_eq!(windows, expected, "{arm}");
    }
}

/// Shows LINUX used-round.
#[test]
fn a_window_that_was_full_counts_as_used_for_the_round() {
    let mut sender = Sender::tcp("oracle(exit=20000)/reno/sack");
    sender.round(u64::MAX);
    assert_eq!(sender.packets(), 20, "avoidance begins");
    sender.send(u64::MAX);
    sender.limited = false;
    let before = sender.c.cwnd();
    for _ in 0..20 {
        sender.ack(1);
    }
    assert!(sender.c.cwnd() > before + MSS * 9 / 10, "{} of {before}", sender.c.cwnd());
    let before = sender.c.cwnd();
    sender.round(19);
    assert_eq!(sender.c.cwnd(), before, "one segment more would have fitted");
}

/// Shows OURS used-paced.
#[test]
fn waiting_for_a_pacer_uses_the_window() {
    let mut sender = Sender::tcp("oracle(exit=20000)/reno/sack");
    sender.round(u64::MAX);
    let before = sender.c.cwnd();
    for (limited, grows) in [(false, false), (true, true)] {
        sender.send(4);
        sender.limited = limited;
        sender.ack(4);
        assert_eq!(sender.c.cwnd() > before, grows, "limited: {limited}");
    }
}

/// Shows OURS another-used.
#[test]
fn a_window_beside_another_sender_is_used_by_what_that_has_in_flight() {
    for (arm, config, flight, grows) in [
        ("oracle(exit=20000)/reno", Config::quic(MSS), 17, false),
        ("oracle(exit=20000)/reno", Config::quic(MSS), 18, true),
        ("oracle(exit=20000)/reno", Config::tcp(MSS), 18, false),
        ("oracle(exit=20000)/reno", Config::tcp(MSS), 20, true),
        ("slowstart", Config::quic(MSS), 9, false),
        ("slowstart", Config::quic(MSS), 10, true),
        ("slowstart", Config::tcp(MSS), 10, false),
        ("slowstart", Config::tcp(MSS), 11, true),
    ] {
        let mut sender = Sender::new(arm, config);
        sender.round(u64::MAX);
        let before = sender.c.cwnd();
        assert_eq!(before, 20 * MSS, "{arm}");
        sender.send(flight);
        // Limits of the other flow come from its own window.
        let ack = Told { cwnd_limited: true, ..sender.record(1, 0) };
        sender.c.on_ack_of_another(&ack.ack());
        assert_eq!(sender.c.cwnd() > before, grows, "{arm}: {flight} in flight");
    }
}

/// Shows LINUX unused-lowered.
#[test]
fn a_window_that_is_not_used_for_a_timeout_falls_half_of_the_way() {
    let mut sender = Sender::tcp("oracle(exit=100000)/reno/sack");
    while sender.packets() < 100 {
        sender.round(u64::MAX);
    }
    // 40 segments per round trip of 50 ms; the timeout is 300 ms.
    let mut windows = vec![];
    for _ in 0..15 {
        sender.round(40);
        windows.push((sender.packets(), sender.c.ssthresh().expect("met") / MSS));
    }
    assert_eq!(windows[..5], [(100, 100); 5]);
    // Half of the way is 70, from where slow start grows to twice the flight.
    assert_eq!(windows[5..], [(80, 100); 10]);
    let mut quic = Sender::new("oracle(exit=100000)/reno", Config::quic(MSS));
    while quic.packets() < 100 {
        quic.round(u64::MAX);
    }
    (0..15).for_each(|_| quic.round(40));
    assert_eq!(quic.packets(), 100, "RFC 9002 lowers no window for that");
}

/// `tcp_cwnd_validate` and what hangs on it, in segments, beside the core.
struct Kernel {
    cwnd: u64,
    ssthresh: u64,
    reno: Reno,
    /// Bytes: the core grows Reno's window by parts of a segment.
    bytes: u64,
    is_cwnd_limited: bool,
    max_packets_out: u64,
    cwnd_usage_seq: u64,
    snd_cwnd_used: u64,
    snd_cwnd_stamp: u64,
    lsndtime: u64,
}

impl Kernel {
    const IW: u64 = 10;
    const RTO: u64 = 300 * MS;

    fn in_slow_start(&self) -> bool {
        self.bytes < self.ssthresh * MSS
    }

    fn is_limited(&self) -> bool {
        self.is_cwnd_limited
            || (self.in_slow_start() && self.bytes < 2 * self.max_packets_out * MSS)
    }

    fn set(&mut self, segments: u64) {
        (self.cwnd, self.bytes) = (segments, segments * MSS);
    }

    fn keep_threshold(&mut self) {
        self.cwnd = self.bytes / MSS;
        self.ssthresh = self.ssthresh.max(self.cwnd / 2 + self.cwnd / 4);
    }

    fn before_send(&mut self, now: u64, out: u64) {
        let delta = now - self.lsndtime;
        if out > 0 || delta <= Kernel::RTO {
            return;
        }
        self.keep_threshold();
        let least = Kernel::IW.min(self.cwnd);
        let (mut left, mut cwnd) = (delta, self.cwnd);
        while left > Kernel::RTO {
            left -= Kernel::RTO;
            if left > 0 && cwnd > least {
                cwnd /= 2;
            }
        }
        self.set(cwnd.max(least));
        (self.snd_cwnd_stamp, self.snd_cwnd_used) = (now, 0);
    }

    fn sent(&mut self, now: u64, una: u64, nxt: u64, out: u64) {
        let full = (out + 1) * MSS > self.bytes;
        if una >= self.cwnd_usage_seq
            || full
            || (!self.is_cwnd_limited && out > self.max_packets_out)
        {
            self.is_cwnd_limited = full;
            self.max_packets_out = out;
            self.cwnd_usage_seq = nxt;
        }
        self.lsndtime = now;
        if self.is_limited() {
            (self.snd_cwnd_used, self.snd_cwnd_stamp) = (0, now);
            return;
        }
        self.snd_cwnd_used = self.snd_cwnd_used.max(out);
        if now - self.snd_cwnd_stamp >= Kernel::RTO {
            let used = self.snd_cwnd_used.max(Kernel::IW);
            if used * MSS < self.bytes {
                self.keep_threshold();
                self.set(u64::midpoint(self.cwnd, used));
            }
            (self.snd_cwnd_used, self.snd_cwnd_stamp) = (0, now);
        }
    }

    fn acked(&mut self, packets: u64, cx: &Context) {
        if !self.is_limited() {
            return;
        }
        let mut acked = packets * MSS;
        if self.in_slow_start() {
            let room = self.ssthresh * MSS - self.bytes;
            let used = acked.min(room);
            (self.bytes, acked) = (self.bytes + used, acked - used);
            if !self.in_slow_start() {
                // The core begins to count anew where slow start ends.
                self.reno = Reno::new(reno::Params::default());
            }
        }
        if acked > 0 {
            let mut w = Window { cwnd: self.bytes, ssthresh: self.bytes };
            self.reno.grow(&Told::default().ack(), acked, &mut w, cx);
            self.bytes = w.cwnd;
        }
    }
}

proptest! {
    /// Any application on a path that loses nothing, with needless repeats: bulk, pieces, pauses,
    /// silence.
    /// Shows LINUX used-round, LINUX used-half, LINUX used-once, LINUX used-new, LINUX unused-lowered, LINUX idle-halved.
    #[test]
    fn the_flag_and_the_count_are_the_kernels(
        exit in 12u64..200,
        steps in prop::collection::vec((0u64..130, 0u64..60, 0u64..8, 0u64..4), 1..120),
    ) {
        let mut sender = Sender::tcp(&format!("oracle(exit={exit}000)/reno/sack"));
        let cx = crate::hooks::quic(MSS);
        let mut kernel = Kernel {
            cwnd: 10, ssthresh: exit, reno: Reno::new(reno::Params::default()), bytes: 10 * MSS,
            is_cwnd_limited: false, max_packets_out: 0, cwnd_usage_seq: 0,
            snd_cwnd_used: 0, snd_cwnd_stamp: 0, lsndtime: 0,
        };
        let mut sent_once = false;
        for (offered, acked, pause, repeats) in steps {
            if repeats == 0 && sender.out > 0 {
                sender.repeat();
                kernel.lsndtime = sender.now;
            }
            if offered > 0 {
                if sent_once {
                    kernel.before_send(sender.now, sender.out);
                }
                if sender.send(offered) > 0 {
                    sent_once = true;
                    kernel.sent(sender.now, sender.acked, sender.sent, sender.out);
                }
            }
            // The transport's other facts are those of the kernel.
            sender.limited = false;
            sender.now += [1, 10, 50, 50, 120, 310, 700, 2_000][pause as usize] * MS;
            let acked = acked.min(sender.out);
            if acked > 0 {
                sender.ack(acked);
                kernel.acked(acked, &cx);
                prop_assert_eq!(sender.c.cwnd(), kernel.bytes, "after an ACK of {}", acked);
            }
        }
    }
}

/// 40 packets in flight, whatever the window is.
/// Shows OURS base-flight.
#[test]
fn a_cut_bites() {
    for (arm, most) in [
        ("slowstart/cubic", 28),
        ("slowstart/cuback", 28),
        ("slowstart/abba", 28),
        ("slowstart/reno", 20),
        ("slowstart/dctcp", 20),
        ("slowstart/prague", 20),
    ] {
        for config in [Config::quic(MSS), Config::tcp(MSS)] {
            let mut sender = Sender::new(arm, config);
            (0..40).for_each(|_| sender.round(40));
            let window = sender.packets();
            sender.send(40);
            sender.now += RTT;
            sender.lose(3);
            let threshold = sender.c.ssthresh().expect("a cut") / MSS;
            assert!(threshold <= most, "{arm}: a window of {window} became {threshold}");
        }
    }
    let mut sender = Sender::new("slowstart/cubic(profile=linux)", Config::quic(MSS));
    (0..40).for_each(|_| sender.round(40));
    let window = sender.c.cwnd();
    sender.send(40);
    sender.now += RTT;
    sender.lose(3);
    let left = sender.c.ssthresh().expect("a cut") / MSS;
    assert_eq!(left, window / MSS * 717 / 1024, "the kernel cuts the window");
}

proptest! {
    /// Whatever the application offers: a threshold is at most beta times the largest flight of the
    /// last round trip, or two packets.
    /// Shows OURS base-flight.
    #[test]
    fn every_cut_leaves_less_than_was_in_flight(
        arm in prop::sample::select(&["slowstart/cubic", "hystart++/cuback", "hystart/abba", "search/reno", "limited/dctcp", "slowstart/prague", "slowstart/cubic@(increase=maxfs)"][..]),
        tcp: bool,
        stretch in 1u64..64,
        rounds in prop::collection::vec((1u64..150, any::<bool>(), any::<bool>()), 1..40),
    ) {
        let config = if tcp { Config::tcp(MSS) } else { Config::quic(MSS) };
        let beta = if arm.contains("reno") || arm.contains("dctcp") || arm.contains("prague") { 50 } else { 70 };
        let mut sender = Sender::new(arm, config);
        for (offered, loses, timeout) in rounds {
            sender.send(offered);
            let flight = sender.out;
            sender.now += RTT;
            let episodes = sender.c.stats().loss_episodes;
            if loses && timeout && tcp {
                sender.c.on_congestion(&Congestion {
                    now: Time(sender.now), timeout: Timeout::Rto, nxt: sender.seq(sender.sent),
                    inflight_before: flight * MSS,
                });
                let left = sender.c.ssthresh().expect("a threshold");
                prop_assert!(left <= (flight * MSS * beta / 100).max(2 * MSS), "{} of {}", left, flight);
            }
            while sender.out > 0 {
                if loses && !timeout && sender.out == flight && flight > 1 {
                    sender.lose(1);
                    if sender.c.stats().loss_episodes > episodes {
                        let left = sender.c.ssthresh().expect("a threshold");
                        prop_assert!(left <= (flight * MSS * beta / 100).max(2 * MSS), "{} of {}", left, flight);
                    }
                } else {
                    sender.ack(sender.out.min(stretch));
                }
            }
        }
    }
}

/// An hour of requests between two bulk transfers: the kernel's curve stands still meanwhile.
/// Shows LINUX cubic-idle.
#[test]
fn requests_do_not_age_the_kernels_epoch() {
    for config in
        [Config::quic(MSS), firstflight::with!(Config { idle_restart: false, ..Config::tcp(MSS) })]
    {
        // The next request leaves with the answer, or a second later.
        for pause in [0, 1_000 * MS] {
            let mut sender = Sender::new("slowstart/cubic(profile=linux)/prr", config);
            (0..5).for_each(|_| sender.round(u64::MAX));
            sender.send(u64::MAX);
            sender.now += RTT;
            sender.lose(2);
            while sender.out > 0 {
                sender.ack(sender.out.min(2));
            }
            (0..20).for_each(|_| sender.round(u64::MAX));
            let before = sender.packets();
            for _ in 0..3_600 {
                sender.now += pause;
                sender.round(1);
            }
            sender.now += pause;
            sender.round(u64::MAX);
            let after = sender.packets();
            assert!(after <= before + 4, "{before} -> {after} in one round trip, pause {pause}");
        }
    }
}

/// Shows LINUX cubic-goes-on.
#[test]
fn an_epoch_of_the_kernel_outlasts_a_silence() {
    let mut sender = Sender::tcp("slowstart/cubic(profile=linux)/prr");
    (0..5).for_each(|_| sender.round(u64::MAX));
    sender.send(u64::MAX);
    sender.now += RTT;
    sender.lose(2);
    while sender.out > 0 {
        sender.ack(sender.out.min(2));
    }
    (0..10).for_each(|_| sender.round(u64::MAX));
    let before = sender.packets();
    sender.now += 700 * MS;
    sender.send(u64::MAX);
    assert_eq!(sender.packets(), before / 4, "two timeouts of 300 ms");
    let threshold = sender.c.ssthresh().expect("a cut") / MSS;
    assert!(threshold >= before / 2 + before / 4 - 1, "{threshold} of {before}");
    while sender.c.cwnd() < sender.c.ssthresh().expect("a threshold") {
        sender.now += RTT;
        while sender.out > 0 {
            sender.ack(sender.out.min(2));
        }
        sender.send(u64::MAX);
    }
    (0..20).for_each(|_| sender.round(u64::MAX));
    let after = sender.packets();
    assert!(after + 2 >= before, "the curve leads back to {before}, not to {after}");
}

/// Every startup there is, and what a sender or an avoidance adds.
fn arms() -> Vec<String> {
    let startups = STARTUPS.iter().map(|part| part.name.to_owned());
    let careful =
        ["careful(saved=100)", "plumb(saved=200)", "rapid(jump=30)", "hystart++(mode=lss)"];
    let more = [
        "slowstart/cubic(profile=linux)",
        "slowstart/reno",
        "slowstart/cuback",
        "slowstart/abba(version=1)",
        "slowstart/dctcp",
        "slowstart/prague",
        "slowstart/cubic/sack",
        "slowstart/cubic/immediate",
        "slowstart/cubic/halving",
        "slowstart@(iw=10)",
        "slowstart@(iw=30)",
        "slowstart@(increase=maxfs)",
        "slowstart@(increase=literal)",
        "slowstart@(count=2)",
    ];
    startups.chain(careful.into_iter().chain(more).map(str::to_owned)).collect()
}

fn sized(tcp: bool, mss: u64) -> Config {
    if tcp { Config::tcp(mss) } else { Config::quic(mss) }
}

/// State of a sender after each of these steps.
fn history(sender: &mut Sender, steps: &[(u64, u64)]) -> Vec<(u64, Option<u64>, Option<u64>)> {
    let mut seen = Vec::new();
    for &(kind, amount) in steps {
        match kind {
            0..=2 => {
                sender.send(if kind == 0 { u64::MAX } else { amount });
            }
            3..=6 if sender.out > 0 => sender.ack(amount.min(sender.out)),
            7 if sender.out > 1 => sender.lose(amount.min(sender.out - 1)),
            8 if sender.tcp && sender.out > 0 => sender.c.on_congestion(&Congestion {
                now: Time(sender.now),
                timeout: Timeout::Rto,
                nxt: sender.seq(sender.sent),
                inflight_before: sender.out * sender.mss,
            }),
            _ => sender.now += amount * 10 * MS,
        }
        sender.now += MS;
        seen.push((
            sender.c.cwnd(),
            sender.c.ssthresh(),
            sender.c.pacing_rate().map(|rate| rate.0),
        ));
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Shows RFC9002 7.2-resize.
    #[test]
    fn a_size_that_changes_before_anything_is_sent_was_there_from_the_start(
        arm in prop::sample::select(arms()),
        tcp: bool,
        sizes in prop::collection::vec(prop::sample::select(&[536u64, 1200, 1280, 1448, 1472, 1500, 4000, 9000][..]), 2..4),
        steps in prop::collection::vec((0u64..10, 1u64..40), 1..60),
    ) {
        let (first, last) = (sizes[0], sizes[sizes.len() - 1]);
        let arm = arm.as_str();
        let mut changed = Sender::new(arm, sized(tcp, first));
        for size in &sizes[1..] {
            changed.c.set_mss(*size);
        }
        changed.mss = last;
        let mut made = Sender::new(arm, sized(tcp, last));
        prop_assert_eq!(history(&mut changed, &steps), history(&mut made, &steps), "{} {:?}", arm, sizes);
    }
}

/// Shows RFC9002 7.2-resize.
#[test]
fn the_initial_window_follows_the_size_later_too() {
    let mut sender = Sender::new("slowstart/reno/immediate", Config::quic(1500));
    sender.c.set_mss(1200);
    assert_eq!(sender.c.cwnd(), 12_000, "nothing is acknowledged yet");
    sender.c.set_mss(1500);
    assert_eq!(sender.c.cwnd(), 14_720);

    let mut sender = Sender::new("slowstart/reno/sack", Config::tcp(9000));
    (0..5).for_each(|_| sender.round(u64::MAX));
    sender.c.set_mss(1200);
    sender.now += 60_000 * MS;
    sender.ready(300 * MS);
    assert_eq!(sender.c.cwnd(), 12_000, "RFC 5681 4.1: no more than the initial window");

    let mut sender = Sender::new("slowstart/cubic", Config::quic(1200));
    sender.round(u64::MAX);
    let window = sender.c.cwnd();
    sender.c.set_mss(1452);
    assert_eq!(sender.c.cwnd(), window, "a window that has grown keeps its bytes in QUIC");
}

/// Shows RFC5681 3.1-resize.
#[test]
fn smaller_segments_keep_their_number() {
    for arm in
        ["slowstart/cubic", "slowstart/reno", "slowstart/cuback", "slowstart/cubic(profile=linux)"]
    {
        let mut sender = Sender::new(arm, Config::tcp(9000));
        (0..5).for_each(|_| sender.round(u64::MAX));
        sender.send(u64::MAX);
        sender.now += RTT;
        sender.lose(2);
        while sender.out > 0 {
            sender.ack(sender.out.min(2));
        }
        let before = (sender.packets(), sender.c.ssthresh().expect("a cut") / 9000);
        sender.c.set_mss(1500);
        sender.mss = 1500;
        let after = (sender.packets(), sender.c.ssthresh().expect("a cut") / 1500);
        assert_eq!(after, before, "{arm}");
        // It goes on as a connection with segments of that size.
        (sender.sent, sender.acked) = (sender.sent * 6, sender.acked * 6);
        (0..10).for_each(|_| sender.round(u64::MAX));
        let grown = sender.packets() - before.0;
        assert!((1..=before.0).contains(&grown), "{arm}: {grown} segments in ten round trips");
        sender.c.set_mss(9000);
        assert!(sender.c.cwnd() >= 9000, "{arm}");
    }
}

/// A curve goes on where it was when packets become larger: with QUIC's windows the same bytes.
#[test]
fn an_epoch_survives_a_change_of_size() {
    let mut sender = Sender::new("slowstart/cubic", Config::quic(MSS));
    (0..6).for_each(|_| sender.round(u64::MAX));
    sender.send(u64::MAX);
    sender.now += RTT;
    sender.lose(2);
    while sender.out > 0 {
        sender.ack(sender.out.min(2));
    }
    (0..60).for_each(|_| sender.round(u64::MAX));
    let (before, mut other) = (sender.c.cwnd(), sender.clone());
    sender.c.set_mss(1_200);
    assert_eq!(sender.c.cwnd(), before);
    for sender in [&mut sender, &mut other] {
        (0..3).for_each(|_| sender.round(u64::MAX));
    }
    let (after, plain) = (sender.c.cwnd(), other.c.cwnd());
    let far = after.abs_diff(plain);
    assert!(after >= before && far <= 2 * MSS, "{before} -> {after}, {plain} with the old size");
}
