//! One random sequence of events of a connection, given to the kernel's controller and to the
//! core's in parallel.

mod course;

pub(crate) use course::Course;

use crate::native::{
    self, CWND_RESTART, CWR, Connection, Facts, LOSS, OPEN, RECOVERY, Sample, TX_START, UNSET,
};
use crate::stand_in::{StandIn, timeout};
use course::Random;
use firstflight::event::{Ack, AckDetail, Congestion, Event, Ready, Sent};
use firstflight::recovery::Policy;
use firstflight::resume::Observation;
use firstflight::startup::Startup;
use firstflight::{Config, Controller, Nanos, Seq, Time};
use std::collections::VecDeque;

const IW: u32 = 10;
/// Packets of Plumb's trains, and the fewest that the kernel hands on as one otherwise.
const TRAIN: u32 = 4;
const LEAST_BURST: u32 = 2;
/// More packets than this are not left under way: something is lost then.
const MOST: u32 = 50_000;
/// Duration of each sleep of the connection.
const SILENCE_US: u64 = 3_000_000;
/// The timeout beyond the smoothed RTT; the timeout is shorter than the silence.
const RTTVAR_US: u32 = 200_000;
/// The timeout that a silence of it outlasts.
const TIMEOUT_US: u64 = 1_000_000;
/// Bytes that an application with enough data has written ahead.
const AHEAD: u64 = 1 << 30;

/// Owner of recovery and pacing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The kernel, or what stands for it here: the window is at the threshold while an episode
    /// lasts.
    Kernel,
    /// The arm. Its window in an episode is compared too, unless it shows the permission for the
    /// first repeat where the core does not.
    Arm { window_in_recovery: bool },
}

/// Counts of events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    pub acks: u64,
    pub losses: u64,
    pub marks: u64,
    pub timeouts: u64,
    pub undone: u64,
    pub idle: u64,
    /// Counts by phase of an arm with a hook before sending.
    pub phases: std::collections::BTreeMap<&'static str, u64>,
    /// Connections that left something for the next one.
    pub left: u64,
    /// Counts by BEST's conclusion.
    pub outcomes: std::collections::BTreeMap<&'static str, u64>,
    /// Counts by reason of exit.
    pub exits: std::collections::BTreeMap<&'static str, u64>,
}

impl Account {
    pub(crate) fn add(&mut self, other: &Account) {
        self.acks += other.acks;
        self.losses += other.losses;
        self.marks += other.marks;
        self.timeouts += other.timeouts;
        self.undone += other.undone;
        self.idle += other.idle;
        for (phase, count) in &other.phases {
            *self.phases.entry(phase).or_default() += count;
        }
        self.left += other.left;
        for (reason, count) in &other.exits {
            *self.exits.entry(reason).or_default() += count;
        }
        for (kind, count) in &other.outcomes {
            *self.outcomes.entry(kind).or_default() += count;
        }
    }
}

/// `tcp_cwnd_validate` of the kernel, in packets.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    /// `is_cwnd_limited`, `max_packets_out`, `cwnd_usage_seq`.
    limited: bool,
    most_out: u32,
    until: u64,
    /// `snd_cwnd_used`, `snd_cwnd_stamp`, `lsndtime`.
    most_sent: u32,
    since_us: u64,
    sent_us: u64,
}

/// Both of them, and the network.
pub(crate) struct Twin<S: Startup, R: Policy> {
    course: Course,
    mode: Mode,
    random: Random,
    kernel: Connection,
    core: Controller<S, StandIn, R>,
    facts: Facts,
    start_us: u64,
    now_us: u64,
    /// Packets in order of sequence: first unacknowledged, next new one.
    una: u64,
    nxt: u64,
    /// First sequence number, bytes.
    isn: u64,
    /// Packets under way: the deliveries when each was sent. Those that were lost and not sent
    /// again, and those delivered out of order.
    flying: VecDeque<(u64, u64)>,
    pipe: u32,
    holes: u32,
    sacked: u32,
    /// Sent since the episode began.
    out: u32,
    delivered: u64,
    /// Of these, by ACKs before a silence that neither side was shown.
    unseen: u64,
    sent: u64,
    limited: bool,
    /// The application had no more to send.
    lazy: bool,
    used: Used,
    /// The arm's recovery is RFC 6937 bound by conservation.
    conserves: bool,
    /// The arm jumps with an ACK and leaves something for the next connection: what the core learns.
    learns: Option<Observation>,
    /// Eight times the smoothed RTT, us.
    srtt_x8: u64,
    /// The kernel's `sk_pacing_rate` after the latest ACK, if this arm's pacing
    /// is the kernel's; else the arm's rate.
    kept_rate: Option<u64>,
    /// Of the receiver's clock, in ticks.
    clock_offset: u32,
    /// Bytes that the application has written and the arm was not yet allowed to send.
    backlog: u64,
    /// The course is over when startup is.
    startup_only: bool,
    /// Ends the episode and the silence about further losses.
    high: u64,
    before_cut: (u32, u32),
    account: Account,
}

impl<S: Startup, R: Policy> Twin<S, R> {
    pub(crate) fn new(
        course: &Course,
        arm: u32,
        mode: Mode,
        startup: S,
        recovery: R,
    ) -> Twin<S, R> {
        let mut random = course.random.clone();
        // Close to the wrap, so that every course passes it.
        let isn = u64::from(u32::MAX) - random.below(40_000) * u64::from(course.mss);
        // The clock's origin is a moment like any other.
        let start_us = if random.once_in(4) { 0 } else { 1_000_000 + random.below(1 << 33) };
        let base = random.next() as u32;
        let handshake = random.once_in(2).then_some(course.base_us);
        let facts = Facts {
            now_us: start_us,
            una: isn as u32,
            nxt: isn as u32,
            delivered: base,
            sent: base.wrapping_add(1),
            srtt_us: 8 * handshake.unwrap_or(0) as u32,
            ..Facts::default()
        };
        let mss = u64::from(course.mss);
        let in_mode_b = mode != Mode::Kernel;
        let config = firstflight::with!(Config {
            initial_window: u64::from(IW) * mss,
            paced: course.paced || in_mode_b,
            idle_restart: !in_mode_b,
            ..Config::tcp(mss)
        });
        let (now, seq) = (Time(start_us * 1_000), Seq(isn));
        let mut core = Controller::new(startup, StandIn::default(), recovery, config, now, seq);
        let kernel = Connection::new(arm, IW, course.mss, course.paced, &facts);
        if in_mode_b && let Some(us) = handshake {
            let rtt = Nanos::from_micros(us);
            core.on_handshake_rtt(now, rtt);
            if !kernel.is_asked_before_sending() {
                core.before_send(&Ready {
                    now,
                    nxt: seq,
                    backlog: u64::MAX,
                    srtt: Some(rtt),
                    ..Ready::default()
                });
            }
        }
        Twin {
            kernel,
            core,
            course: course.clone(),
            mode,
            random,
            facts,
            start_us,
            now_us: start_us,
            una: 0,
            nxt: 0,
            isn,
            flying: VecDeque::new(),
            pipe: 0,
            holes: 0,
            sacked: 0,
            out: 0,
            delivered: 0,
            unseen: 0,
            sent: 0,
            limited: true,
            lazy: false,
            used: Used { since_us: start_us, sent_us: start_us, ..Used::default() },
            conserves: arm == native::arm("ff_prr_crb"),
            learns: (arm == native::arm("ff_careful")).then(|| Observation::new(mss)),
            srtt_x8: 8 * course.base_us,
            kept_rate: (arm == native::arm("ff_hystart")).then_some(0),
            clock_offset: base,
            backlog: 0,
            startup_only: false,
            high: 0,
            before_cut: (0, 0),
            account: Account::default(),
        }
    }

    /// Only as long as startup goes on: the kernel repairs and avoids congestion in whole packets.
    pub(crate) fn until_startup_is_over(mut self) -> Twin<S, R> {
        self.startup_only = true;
        self
    }

    pub(crate) fn run(&mut self, acks: u32) -> Account {
        self.compare("the start");
        self.send(false);
        for _ in 0..acks {
            if self.is_over() {
                break;
            }
            if self.pipe == 0 && self.holes + self.sacked == 0 {
                // After a silence nothing is outstanding that could time out.
                self.send(false);
            } else if self.pipe == 0 {
                self.time_out();
            }
            self.ack();
            self.compare("an ACK");
            let state = self.kernel.state();
            if state == RECOVERY && self.random.once_in(40) {
                self.undo();
            } else if (self.mode == Mode::Kernel || self.kernel.is_asked_before_sending())
                && state == OPEN
                && self.holes + self.sacked == 0
                && self.random.once_in(self.course.idle)
            {
                self.fall_silent();
            } else if self.random.once_in(self.course.rto) {
                self.time_out();
            }
            let lazy = self.random.once_in(self.course.lazy);
            self.send(lazy);
        }
        self.compare_exits();
        self.compare_outcomes();
        self.compare_what_is_left();
        self.account.clone()
    }

    fn time(&self) -> Time {
        Time(self.now_us * 1_000)
    }

    /// The receiver's clock as this ACK tells it.
    fn receiver_ts(&self) -> Option<u32> {
        let ticks = self.now_us.checked_div(self.course.tick_us)?;
        Some(self.clock_offset.wrapping_add(ticks as u32))
    }

    /// Exact in nanoseconds.
    fn srtt(&self) -> Nanos {
        Nanos(self.srtt_x8 * 125)
    }

    /// The end of an ACK in the kernel: 200 % of the window, or of what is outstanding if that is
    /// more, per smoothed RTT while the window is below half of the threshold, else 120 %.
    fn keep_rate(&mut self) {
        let outstanding = self.pipe + self.holes + self.sacked;
        let (cwnd, ssthresh) = (self.kernel.cwnd(), self.kernel.ssthresh());
        let percent = if cwnd < ssthresh / 2 { 200 } else { 120 };
        let rate = u64::from(cwnd.max(outstanding)) * u64::from(self.course.mss) * 80_000 * percent
            / self.srtt_x8;
        self.kept_rate = self.kept_rate.map(|_| rate);
    }

    fn bytes(&self, packets: u64) -> u64 {
        packets * u64::from(self.course.mss)
    }

    fn seq(&self, packets: u64) -> Seq {
        Seq(self.isn + self.bytes(packets))
    }

    /// A burst has ended, or the window let none begin.
    fn validate(&mut self, sent: u32) {
        let cwnd = self.kernel.cwnd();
        let (full, out) = (self.pipe >= cwnd, self.pipe + self.holes + self.sacked);
        if sent > 0 {
            self.used.sent_us = self.now_us;
        } else if !full {
            return;
        }
        let used = &mut self.used;
        if self.una >= used.until || full || (!used.limited && out > used.most_out) {
            (used.limited, used.most_out, used.until) = (full, out, self.nxt);
        }
        let slow_start = cwnd < self.kernel.ssthresh();
        if used.limited || (slow_start && cwnd < 2 * used.most_out) {
            (used.most_sent, used.since_us) = (0, self.now_us);
            return;
        }
        used.most_sent = used.most_sent.max(out);
        // The timeout is told with the first silence.
        let told = self.mode == Mode::Kernel && self.account.idle > 0;
        if !told || self.now_us - used.since_us < TIMEOUT_US {
            return;
        }
        used.since_us = self.now_us;
        if self.kernel.state() == OPEN {
            let most = std::mem::take(&mut used.most_sent).max(IW);
            if most < cwnd {
                self.keep_threshold();
                self.kernel.set_cwnd(u32::midpoint(cwnd, most));
            }
        }
    }

    /// At least three quarters of the window.
    fn keep_threshold(&mut self) {
        let (cwnd, ssthresh) = (self.kernel.cwnd(), self.kernel.ssthresh());
        if ssthresh != UNSET {
            self.kernel.set_ssthresh(ssthresh.max(cwnd / 2 + cwnd / 4));
        }
    }

    /// Tells the kernel's side what is so now.
    fn tell(&mut self) {
        let base = self.facts;
        let facts = Facts {
            now_us: self.now_us,
            // No ACK reported the silent ones, to the core either.
            bytes_acked: self.bytes(self.una - self.unseen),
            una: self.seq(self.una).0 as u32,
            nxt: self.seq(self.nxt).0 as u32,
            packets_out: self.pipe + self.holes + self.sacked,
            sacked_out: self.sacked,
            lost_out: self.holes,
            prr_out: self.out,
            max_packets_out: self.used.most_out,
            delivered: base.delivered.wrapping_add((self.delivered - self.unseen) as u32),
            sent: base.sent.wrapping_add(self.sent as u32),
            srtt_us: if self.srtt_is_known() { self.srtt_x8 as u32 } else { 0 },
            cwnd_limited: u32::from(self.used.limited),
            app_limited: u32::from(self.lazy),
            has_ts: u32::from(self.receiver_ts().is_some()),
            receiver_ts: self.receiver_ts().unwrap_or(0),
            write_seq: (self.seq(self.nxt).0 + self.ahead()) as u32,
            rttvar_us: RTTVAR_US,
            pacing_rate: self
                .kept_rate
                .unwrap_or_else(|| self.core.pacing_rate().map_or(0, |rate| rate.0)),
            ..base
        };
        self.kernel.set_facts(&facts);
    }

    /// Bytes that the application has written and that were not sent: only arms with a hook before sending
    /// see it run out, for the others it pauses.
    fn ahead(&self) -> u64 {
        if self.kernel.is_asked_before_sending() { self.backlog } else { AHEAD }
    }

    /// Arms that are asked before they send wait for a sample; the others are told one at once.
    fn srtt_is_known(&self) -> bool {
        !self.kernel.is_asked_before_sending() || self.facts.srtt_us > 0 || self.account.acks > 0
    }

    /// Some arms have a say before each burst: trains, a pause that was longer than the timeout.
    fn ask_before_sending(&mut self, idle: Nanos) {
        if !self.kernel.is_asked_before_sending() {
            return;
        }
        self.tell();
        let least = self.kernel.before_send();
        let rttvar = Nanos::from_micros(u64::from(RTTVAR_US));
        let srtt = Some(self.srtt()).filter(|_| self.srtt_is_known());
        self.core.before_send(&Ready {
            now: self.time(),
            nxt: self.seq(self.nxt),
            inflight: self.bytes(u64::from(self.pipe)),
            backlog: self.backlog,
            srtt,
            idle,
            timeout: self.srtt() + rttvar,
        });
        let train = self.core.train().is_some();
        assert!(
            train || least == LEAST_BURST,
            "{least} packets shall leave as one and no train is under way; {:?}",
            self.course
        );
        let room = self.kernel.cwnd().saturating_sub(self.pipe);
        assert!(
            !train || least == TRAIN.min(room).max(LEAST_BURST),
            "a train is under way and {least} packets of {room} shall leave as one; {:?}",
            self.course
        );
        *self.account.phases.entry(self.core.phase().name()).or_default() += 1;
        self.compare("the question before a burst");
        self.compare_pacing();
    }

    /// Fills the window, holes first; a lazy application fills it only in part. In mode B the core
    /// must admit just these packets.
    fn send(&mut self, lazy: bool) {
        self.backlog = if lazy { 0 } else { AHEAD };
        self.ask_before_sending(Nanos::ZERO);
        let (mss, empty) = (u64::from(self.course.mss), self.pipe == 0 && self.kernel.cwnd() == 1);
        // K11: conservation may grant nothing to an empty pipe, and the kernel has no window of
        // zero.
        let least = self.conserves && empty && self.core.in_recovery() && !self.core.admits(mss, 0);
        let room = if least { 0 } else { self.kernel.cwnd().saturating_sub(self.pipe) };
        let count = if lazy { self.random.below(u64::from(room) + 1) as u32 } else { room };
        let (now, srtt) = (self.time(), Some(self.srtt()));
        for nth in 0..count {
            let admits = self.core.admits(mss, self.bytes(u64::from(self.pipe)));
            assert!(
                self.mode == Mode::Kernel || admits,
                "the core holds back packet {nth} of {room}; {:?}",
                self.course
            );
            if self.holes > 0 {
                self.holes -= 1;
            } else {
                self.nxt += 1;
            }
            self.flying.push_back((self.sent, self.delivered - self.unseen));
            self.pipe += 1;
            self.sent += 1;
            self.out += 1;
            let (nxt, inflight) = (self.seq(self.nxt), self.bytes(u64::from(self.pipe)));
            self.core.on_sent(&Sent { now, bytes: mss, nxt, inflight, srtt });
        }
        let more = self.core.admits(mss, self.bytes(u64::from(self.pipe)));
        assert!(
            self.mode == Mode::Kernel || lazy || !more,
            "the core admits more than {room} packets; {:?}",
            self.course
        );
        (self.limited, self.lazy) = (self.pipe >= self.kernel.cwnd(), lazy);
        self.validate(count);
    }

    #[expect(
        clippy::too_many_lines,
        reason = "the record of one ACK, field by field, on both sides"
    )]
    fn ack(&mut self) {
        self.account.acks += 1;
        let most = u64::from(self.pipe.min(self.course.stretch));
        // In an episode of ours an ACK may bring no news, or news of further losses.
        let ours = self.mode != Mode::Kernel && matches!(self.kernel.state(), CWR | RECOVERY);
        let idle = ours && self.random.once_in(8);
        let acked = if idle { 0 } else { 1 + self.random.below(most) as u32 };
        let waiting = u64::from(
            self.pipe.saturating_sub((self.course.base_us / self.course.serial_us) as u32),
        );
        self.now_us += match (self.random.once_in(self.course.uneven), self.random.once_in(2)) {
            (false, half) => {
                u64::from(acked) * self.course.serial_us
                    / if half && self.course.bimodal { 8 } else { 1 }
            }
            (true, true) => 0,
            (true, false) => self.random.below(self.course.base_us),
        };
        if self.random.once_in(self.course.clock_jumps) {
            self.clock_offset = self.random.next() as u32;
        }
        let sample = self.course.base_us
            + waiting * self.course.serial_us
            + self.random.below(self.course.jitter_us);
        // The kernel's samples are signed.
        let sample = sample.min(u64::from(i32::MAX.cast_unsigned()));
        let rtt_us = (!self.random.once_in(self.course.no_sample))
            .then_some(sample as u32)
            .filter(|_| !idle);

        let before = self.pipe;
        let state = self.kernel.state();
        let latest = self.flying.drain(..acked as usize).next_back();
        self.pipe -= acked;
        self.delivered += u64::from(acked);
        self.sacked += acked;
        let advanced = !idle && (state == OPEN || self.random.once_in(2));
        if advanced {
            self.una += u64::from(std::mem::take(&mut self.sacked));
        }
        let news =
            state == OPEN && self.una >= self.high && self.pipe > 0 && !self.core.in_recovery();
        let overflow = waiting > u64::from(self.course.queue) || before > MOST;
        let lost = if news && (overflow || self.random.once_in(self.course.loss)) {
            1 + self.random.below(u64::from(self.pipe)) as u32
        } else if ours
            && state == RECOVERY
            && self.una < self.high
            && self.pipe > 0
            && self.random.once_in(if idle { 2 } else { 6 })
        {
            // Without news this is what a loss timer finds.
            1 + self.random.below(u64::from(self.pipe.min(8))) as u32
        } else {
            0
        };
        let ce = news && self.random.once_in(self.course.mark);
        let is_retrans = state >= RECOVERY && self.random.once_in(3);
        // Elsewhere it stands still: BEST is told the rate before the ACK by the kernel and the
        // rate with its sample by the core.
        if let Some(rtt_us) = rtt_us.filter(|_| self.kept_rate.is_some()) {
            // RFC6298 2-3, as the kernel rounds it.
            self.srtt_x8 = (self.srtt_x8 + u64::from(rtt_us))
                .saturating_sub(self.srtt_x8 >> 3)
                .clamp(8, u64::from(u32::MAX >> 1));
        }

        // The kernel, in its order: samples, then what was lost, then growth.
        self.tell();
        self.kernel.pkts_acked(acked, rtt_us);
        let inflight_at_sample = self.pipe;
        self.flying.drain(..lost as usize);
        self.pipe -= lost;
        self.holes += lost;
        // LINUX cwr-above: an episode of marks holds until something above it is acknowledged.
        let outstanding = self.pipe + self.holes + self.sacked;
        let above = state == CWR && outstanding > 0;
        if state != OPEN && (self.una > self.high || (self.una == self.high && !above)) {
            self.kernel.open();
        }
        if news && (lost > 0 || ce) {
            self.cut(if lost > 0 { RECOVERY } else { CWR });
        } else if matches!(self.kernel.state(), OPEN | LOSS) && advanced {
            // LINUX may-raise-cwnd: not on an ACK that only adds SACKs. LINUX ack-completing: also on
            // the one that ends an episode.
            self.kernel.cong_avoid(acked);
        }
        self.tell();
        self.kernel.cong_control(&Sample {
            acked,
            losses: lost,
            rtt_us: rtt_us.unwrap_or(u32::MAX),
            in_flight_before: before,
            delivered_when_sent: self
                .facts
                .delivered
                .wrapping_add(latest.map_or(0, |latest| latest.1) as u32),
            is_retrans: u32::from(is_retrans),
        });

        // In mode A samples of repeats are not told apart, so the kernel's side drops all of an
        // episode.
        let dropped = if self.mode == Mode::Kernel { state >= RECOVERY } else { is_retrans };
        let inflight = if self.mode == Mode::Kernel { inflight_at_sample } else { self.pipe };
        let mut detail = AckDetail::default();
        detail.receiver_ts = self.receiver_ts();
        let ack = Ack {
            now: self.time(),
            acked: self.bytes(u64::from(acked)),
            acked_fresh: self.bytes(u64::from(acked)),
            lost: self.bytes(u64::from(lost)),
            ce,
            rtt: rtt_us.filter(|_| !dropped).map(|us| Nanos::from_micros(u64::from(us))),
            srtt: Some(self.srtt()),
            una: self.seq(self.una),
            nxt: self.seq(self.nxt),
            flight: self.bytes(u64::from(self.pipe + self.holes + self.sacked)),
            sacked: self.bytes(u64::from(self.sacked)),
            inflight_before: self.bytes(u64::from(before)),
            inflight: self.bytes(u64::from(inflight)),
            sent: self.bytes(self.sent),
            tx_acked: latest.map(|latest| latest.0),
            tx_next: self.sent,
            cwnd_limited: self.limited,
            app_limited: self.lazy,
            tx_lost: None,
            detail,
        };
        self.core.on_ack(&ack);
        self.ask();
        self.learn(&Event::Ack(ack, *self.core.so_far()));
        self.keep_rate();
        self.compare_pacing();
    }

    fn compare_pacing(&self) {
        if self.mode == Mode::Kernel || self.shows_first_repeat() || self.is_over() {
            return;
        }
        let core = self.core.pacing_rate().map_or(0, |rate| rate.0);
        assert_eq!(
            self.kernel.pacing_rate(),
            core,
            "pacing rate (kernel, core) after ACK {} in state {} and phase {}; {:?}",
            self.account.acks,
            self.kernel.state(),
            self.core.phase().name(),
            self.course
        );
    }

    /// K16: what the core does before it sends is done with the ACK.
    fn ask(&mut self) {
        if self.learns.is_none() {
            return;
        }
        let (now, nxt, srtt) = (self.time(), self.seq(self.nxt), Some(self.srtt()));
        let inflight = self.bytes(u64::from(self.pipe));
        let ready = Ready { now, nxt, inflight, backlog: u64::MAX, srtt, ..Ready::default() };
        self.core.before_send(&ready);
    }

    fn learn(&mut self, event: &Event) {
        if let Some(learns) = &mut self.learns {
            learns.take(event, &self.core);
        }
    }

    /// Values saved for the next connection; less than four initial windows are not kept.
    fn compare_what_is_left(&mut self) {
        let Some(learns) = &self.learns else { return };
        let packets = learns.saved().map_or(0, |saved| saved.cwnd / u64::from(self.course.mss));
        let expected = if packets < 4 * u64::from(IW) { 0 } else { packets };
        self.account.left += u64::from(expected > 0);
        let left = u64::from(self.kernel.release());
        assert_eq!(
            left, expected,
            "packets left to the next one (kernel, core); {:?}",
            self.course
        );
    }

    fn cut(&mut self, state: u8) {
        match state {
            CWR => self.account.marks += 1,
            _ => self.account.losses += 1,
        }
        self.before_cut = (self.kernel.cwnd(), self.kernel.ssthresh());
        self.tell();
        self.kernel.reduce(state, true);
        if self.mode == Mode::Kernel {
            self.kernel.set_cwnd(self.kernel.ssthresh());
        }
        self.out = 0;
        self.high = self.nxt;
    }

    fn undo(&mut self) {
        self.account.undone += 1;
        let smaller = self.core.in_recovery() || self.kernel.cwnd() < self.before_cut.0;
        let ssthresh = if smaller { self.before_cut.1 } else { self.kernel.ssthresh() };
        self.kernel.undo(ssthresh);
        self.core.on_spurious();
        self.learn(&Event::Spurious { now: self.time() });
        self.keep_rate();
        self.compare("an undo");
    }

    fn time_out(&mut self) {
        self.account.timeouts += 1;
        let before = self.pipe;
        let first = self.kernel.state() == OPEN;
        self.now_us += self.course.base_us;
        self.holes += self.pipe;
        self.pipe = 0;
        self.flying.clear();
        self.tell();
        self.kernel.reduce(LOSS, first);
        self.kernel.set_cwnd(1);
        self.high = self.nxt;
        let (now, nxt) = (self.time(), self.seq(self.nxt));
        let congestion = Congestion {
            now,
            timeout: timeout(first),
            nxt,
            inflight_before: self.bytes(u64::from(before)),
        };
        self.core.on_congestion(&congestion);
        self.learn(&Event::Congestion(congestion));
        self.compare("a timeout");
        self.send(false);
    }

    /// Everything is acknowledged, and the application pauses for longer than the timeout.
    fn fall_silent(&mut self) {
        self.account.idle += 1;
        self.una += u64::from(self.pipe);
        self.delivered += u64::from(self.pipe);
        self.unseen += u64::from(self.pipe);
        self.pipe = 0;
        self.flying.clear();
        self.now_us += SILENCE_US;
        self.tell();
        let idle = Nanos::from_micros(SILENCE_US);
        if self.kernel.is_asked_before_sending() {
            // K7.
            self.kernel.event(TX_START);
            return self.ask_before_sending(idle);
        }
        self.kernel.event(CWND_RESTART);
        self.keep_threshold();
        let cwnd = self.kernel.cwnd();
        let timeouts = (self.now_us - self.used.sent_us - 1) / TIMEOUT_US;
        self.kernel.set_cwnd((cwnd >> timeouts.min(31)).max(cwnd.min(IW)));
        (self.used.most_sent, self.used.since_us) = (0, self.now_us);
        self.kernel.event(TX_START);
        let ready = Ready {
            now: self.time(),
            nxt: self.seq(self.nxt),
            idle,
            timeout: Nanos::from_micros(TIMEOUT_US),
            ..Ready::default()
        };
        self.core.before_send(&ready);
        self.compare("a silence");
    }

    /// The kernel's window may be one packet above the pipe where the core permits the first repeat
    /// beside its window.
    fn shows_first_repeat(&self) -> bool {
        self.core.in_recovery() && self.mode == (Mode::Arm { window_in_recovery: false })
    }

    /// The course was for startup alone.
    fn is_over(&self) -> bool {
        self.startup_only && self.core.exit().is_some()
    }

    fn compare(&self, after: &str) {
        if self.shows_first_repeat() || self.is_over() {
            return;
        }
        let mss = u64::from(self.course.mss);
        let whole = |bytes: u64| bytes / mss * mss;
        let core = (whole(self.core.cwnd()), self.core.ssthresh().map(whole));
        let ssthresh = Some(self.kernel.ssthresh()).filter(|ssthresh| *ssthresh != UNSET);
        let kernel = (
            u64::from(self.kernel.cwnd()) * mss,
            ssthresh.map(|ssthresh| u64::from(ssthresh) * mss),
        );
        let at = self.now_us - self.start_us;
        assert_eq!(
            kernel, core,
            "window and threshold (kernel, core) after {after}, ACK {} at {at} us; {:?}",
            self.account.acks, self.course
        );
    }

    /// BEST alone counts them; every kind is a signal of the core's.
    fn compare_outcomes(&mut self) {
        const KINDS: [&str; 8] = [
            "best_set",
            "best_late",
            "best_inflated",
            "best_pacer",
            "best_few",
            "best_ambiguous",
            "best_unstable",
            "best_disagree",
        ];
        let mut counted = [None; 8];
        self.core.startup().signals(&mut |name, value| {
            if let Some(kind) = KINDS.iter().position(|kind| *kind == name) {
                counted[kind] = Some(value);
            }
        });
        for ((kind, counted), ours) in KINDS.into_iter().zip(counted).zip(self.kernel.outcomes()) {
            let Some(counted) = counted else { continue };
            *self.account.outcomes.entry(kind).or_default() += counted;
            assert_eq!(
                u64::from(ours),
                counted.min(255),
                "rounds that concluded `{kind}` (kernel, core); {:?}",
                self.course
            );
        }
    }

    fn compare_exits(&mut self) {
        let record = native::last_exit();
        let Some(exit) = self.core.exit() else { return };
        *self.account.exits.entry(exit.reason.name()).or_default() += 1;
        assert_eq!(
            u32::from(record.arm),
            self.kernel.arm(),
            "number that the report names, and place of the arm in arms.def"
        );
        let mss = u64::from(self.course.mss);
        let kernel = (record.reason, u64::from(record.detect_cwnd) * mss, record.at_us);
        assert_eq!(
            kernel,
            (exit.reason as u8 + 1, exit.detect_cwnd / mss * mss, exit.at.0 / 1_000),
            "reason, window and time of the exit (kernel, core)"
        );
    }
}
