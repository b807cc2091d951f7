//! Invariants after every event, whatever it was, and further ones if a path could have made
//! it.

use super::Reached;
use crate::told::Told;
use firstflight::arm::{Arm, StartupSpec};
use firstflight::controller::{Increase, Stats};
use firstflight::startup::jump::JumpWindow;
use firstflight::units::{MAX_BYTES, UNSET_SSTHRESH};
use firstflight::{
    AnyController, Config, Congestion, Exit, Nanos, Phase, Ready, Sent, Seq, Timeout, Transport,
};

/// State of the checks for one controller.
pub(super) struct Watch {
    arm: String,
    transport: Transport,
    mss: u64,
    iw: u64,
    /// The jump window in bytes.
    jump: Option<u64>,
    /// Only windows that are used grow.
    used_only: bool,
    /// A startup that knows the path.
    reference: bool,
    /// Unused windows fall as in Linux.
    lowers_unused: bool,
    /// Growth per round trip; threefold is the fastest but for Plumb's.
    growth: u64,
    /// BBR, which no congestion control follows: losses and timeouts end nothing, and its window comes
    /// back after those and after ProbeRTT.
    whole: bool,
    /// Plumb opens its window at once to three times what is in flight, and takes landings back.
    plumb: bool,
    /// SUSS opens its window as paced packets leave.
    suss: bool,
    /// Paced Chirping, whose window follows what is in flight until startup is over.
    chirps: bool,
    /// It is told where to go, and goes there at once.
    told: bool,
    /// The most that was in flight.
    flight: u64,
    stats: Stats,
    exit: Option<Exit>,
    mark: Option<Seq>,
    in_recovery: bool,
    /// Losses since an episode last opened.
    unanswered: bool,
    reached: Reached,
}

impl Watch {
    pub(super) fn new(controller: &AnyController, arm: &Arm, config: Config) -> Watch {
        let mss = config.mss.clamp(1, 1 << 16);
        let least = if config.transport == Transport::Quic { 2 * mss } else { mss };
        let iw = config.initial_window.clamp(least, MAX_BYTES);
        // Every startup but BBR's, whose window follows the measured rate.
        let gated = !matches!(arm.startup, StartupSpec::Bbr(_) | StartupSpec::Bbr3(_));
        let jump = match arm.startup {
            StartupSpec::Rapid(params) => params.jump,
            StartupSpec::Jump(params) => Some(params.window),
            StartupSpec::Careful(params) => params
                .saved
                .map(|saved| JumpWindow::Packets((saved / 2).min(params.max.unwrap_or(u32::MAX)))),
            StartupSpec::Plumb(params) => {
                Some(params.saved.map_or(JumpWindow::Initial(2), JumpWindow::Packets))
            }
            StartupSpec::Oracle(params) if params.rate => Some(JumpWindow::Initial(2)),
            _ => None,
        };
        let jump = jump.map(|jump| match jump {
            JumpWindow::Initial(times) => iw.saturating_mul(times.into()).min(MAX_BYTES),
            JumpWindow::Packets(packets) => mss.saturating_mul(packets.into()).min(MAX_BYTES),
        });
        // The saved window is larger than Plumb's first flight, or bounded by it.
        let flight = matches!(arm.startup, StartupSpec::Plumb(_)).then(|| iw.saturating_mul(2));
        let jump = jump.max(flight.map(|flight| flight.min(MAX_BYTES)));
        let (plumb, growth) = match arm.startup {
            StartupSpec::Plumb(params) => (true, u64::from(params.growth).max(3)),
            _ => (false, 3),
        };
        Watch {
            whole: arm.startup.is_whole(),
            plumb,
            suss: matches!(arm.startup, StartupSpec::Suss(_)),
            growth,
            chirps: matches!(arm.startup, StartupSpec::Chirping(_)),
            told: matches!(arm.startup, StartupSpec::Oracle(params) if params.rate),
            flight: 0,
            arm: arm.to_string(),
            transport: config.transport,
            mss,
            iw,
            jump: jump.filter(|_| config.paced),
            reference: arm.startup.is_reference(),
            lowers_unused: config.increase == Increase::Linux && config.idle_restart,
            used_only: gated && config.increase == Increase::Limited,
            stats: *controller.stats(),
            exit: None,
            mark: None,
            in_recovery: false,
            unanswered: false,
            reached: Reached::default(),
        }
    }

    pub(super) fn reached(&self, controller: &AnyController) -> Reached {
        let stats = controller.stats();
        Reached {
            episodes: stats.loss_episodes.saturating_add(stats.ecn_episodes),
            timeouts: stats.timeouts,
            undone: stats.undone,
            ..self.reached
        }
    }

    fn least(&self) -> u64 {
        if self.transport == Transport::Quic { 2 * self.mss } else { self.mss }
    }

    /// Holds after every event.
    pub(super) fn after(&mut self, event: &str, c: &AnyController) {
        let arm = &self.arm;
        self.reached.events += 1;
        self.reached.grew |= u32::from(c.exit().is_none() && c.cwnd() >= self.iw.saturating_mul(4));
        let (cwnd, least) = (c.cwnd(), self.least());
        assert!(
            (least..=MAX_BYTES).contains(&cwnd),
            "{arm}: after {event} the window is {cwnd}, outside {least}..=2^40"
        );
        if let Some(ssthresh) = c.ssthresh() {
            assert!(
                ssthresh >= 2 * self.mss,
                "{arm}: after {event} the threshold is {ssthresh}, below two segments of {}",
                self.mss
            );
        }
        if let Some(rate) = c.pacing_rate() {
            assert!(rate.0 > 0, "{arm}: after {event} the pacing rate is zero");
        }
        let recovery_shown = c.phase() == Phase::Recovery;
        assert_eq!(
            recovery_shown,
            c.in_recovery(),
            "{arm}: after {event} the phase is {:?}, in recovery {}",
            c.phase(),
            c.in_recovery()
        );
        self.admission(event, c);
        let mut signals = 0;
        c.signals(&mut |_, _| signals += 1);
        assert!(signals < 64, "{arm}: {signals} signals are too many to trace");
        self.counters(event, c);
    }

    /// `admits` says the same as the window outside recovery, and in recovery at least never
    /// prefers the larger packet or flight.
    fn admission(&self, event: &str, c: &AnyController) {
        let (arm, cwnd, mss) = (&self.arm, c.cwnd(), self.mss);
        let mut flights = [0, cwnd / 2, cwnd.saturating_sub(mss), cwnd, cwnd + 1, u64::MAX];
        flights.sort_unstable();
        for (i, &inflight) in flights.iter().enumerate() {
            let admitted = c.admits(mss, inflight);
            if !c.in_recovery() {
                let fits = inflight.saturating_add(mss) <= cwnd;
                assert_eq!(
                    admitted, fits,
                    "{arm}: after {event} {mss} bytes on top of {inflight} with a window of {cwnd}"
                );
            }
            let smaller = flights[..i].iter().all(|&less| c.admits(mss, less));
            assert!(
                !admitted || smaller,
                "{arm}: after {event} a flight of {inflight} admits a segment and a smaller one does not"
            );
            assert!(
                !admitted || c.admits(mss / 2, inflight),
                "{arm}: after {event} a segment is admitted and half of one is not"
            );
        }
        // A sender with nothing in flight and no window to send in would hang for ever, but for
        // recovery, whose timers are the transport's.
        assert!(
            c.in_recovery() || c.admits(mss, 0),
            "{arm}: after {event} not even one segment may be sent, window {cwnd}"
        );
    }

    /// Counters never fall and an exit stays what it was.
    fn counters(&mut self, event: &str, c: &AnyController) {
        let (old, new) = (self.stats, *c.stats());
        let pairs = [
            (old.loss_episodes, new.loss_episodes),
            (old.ecn_episodes, new.ecn_episodes),
            (old.replaced, new.replaced),
            (old.undone, new.undone),
            (old.timeouts, new.timeouts),
            (old.slow_starts_after_recovery, new.slow_starts_after_recovery),
        ];
        for (old, new) in pairs {
            assert!(new >= old, "{}: after {event} a counter fell from {old} to {new}", self.arm);
        }
        if new.undone == old.undone && self.exit.is_some() {
            assert_eq!(c.exit(), self.exit, "{}: after {event} the exit is another one", self.arm);
        }
        if new.loss_episodes + new.ecn_episodes > old.loss_episodes + old.ecn_episodes {
            assert!(
                c.exit().is_some(),
                "{}: {event} opened an episode and startup goes on",
                self.arm
            );
        }
        self.stats = new;
        self.exit = c.exit();
        self.mark = c.recovery_mark();
        self.in_recovery = c.in_recovery();
    }

    pub(super) fn before_send(&mut self, ready: &Ready, before: &AnyController, c: &AnyController) {
        let arm = &self.arm;
        let (old, new) = (before.cwnd(), c.cwnd());
        if self.whole {
            assert!(
                new == old || (ready.inflight == 0 && new > old),
                "{arm}: sending made a window of {new} of one of {old}"
            );
            return self.after("before_send", c);
        }
        if self.chirps && before.exit().is_none() {
            // Bytes in flight, and the opening or a chirp.
            let more = self.iw.max(16 * self.mss);
            let most = old.max(ready.inflight.min(MAX_BYTES) + more);
            assert!(new <= most, "{arm}: sending raised the window from {old} to {new}");
            return self.after("before_send", c);
        }
        if new > old {
            let mut jump = self.jump.unwrap_or(0);
            if self.suss {
                before.signals(&mut |name, value| {
                    jump = if name == "suss_limit_bytes" { value } else { jump };
                });
            }
            assert!(
                new <= jump,
                "{arm}: sending raised the window from {old} to {new}, the jump goes to {jump}"
            );
            // The jump itself may pass the threshold, and startup ends with it.
            assert!(before.exit().is_none(), "{arm}: a jump after startup, from {old} to {new}");
            assert!(ready.srtt.is_some(), "{arm}: a jump without an RTT to spread it over");
        }
        if new < old && self.lowers_unused {
            // Down to the initial window in whole segments, and the threshold keeps the way back.
            let least = old.min(self.iw / self.mss * self.mss);
            assert!(new >= least, "{arm}: sending cut the window from {old} to {new}");
            // The oracle sets a threshold of its own when it first sends.
            assert!(
                self.reference || c.ssthresh() >= before.ssthresh(),
                "{arm}: silence lowered the threshold"
            );
        } else if new < old {
            let idled = ready.idle > ready.timeout && ready.timeout > Nanos::ZERO;
            assert!(
                idled && new == self.iw,
                "{arm}: sending cut the window from {old} to {new}, idle {:?}",
                ready.idle
            );
        }
        self.after("before_send", c);
    }

    pub(super) fn sent(&mut self, sent: &Sent, c: &AnyController) {
        self.flight = self.flight.max(sent.inflight);
        self.after("on_sent", c);
    }

    pub(super) fn spurious(&mut self, c: &AnyController) {
        self.after("on_spurious", c);
        let mut again = *c;
        again.on_spurious();
        let same =
            (again.cwnd(), again.ssthresh(), again.stats()) == (c.cwnd(), c.ssthresh(), c.stats());
        assert!(same, "{}: a second false alarm for the same episode changed something", self.arm);
    }

    pub(super) fn timeout(&mut self, event: &Congestion, c: &AnyController) {
        let least = if event.timeout == Timeout::PersistentCongestion {
            2 * self.mss
        } else {
            self.least()
        };
        assert_eq!(c.cwnd(), least, "{}: the window after {:?}", self.arm, event.timeout);
        assert!(!c.in_recovery(), "{}: {:?} leaves recovery open", self.arm, event.timeout);
        let ended = self.whole || c.exit().is_some();
        assert!(ended, "{}: {:?} does not end startup", self.arm, event.timeout);
        self.after("a timeout", c);
    }

    pub(super) fn ack(
        &mut self,
        ack: &Told,
        wild: bool,
        before: &AnyController,
        c: &AnyController,
    ) {
        let arm = &self.arm;
        let (old, new) = (before.cwnd(), c.cwnd());
        let congestion = ack.lost > 0 || ack.ce;
        let opened = c.stats().loss_episodes + c.stats().ecn_episodes
            - before.stats().loss_episodes
            - before.stats().ecn_episodes;
        assert!(opened <= 1, "{arm}: one ACK opened {opened} episodes");
        // New data may be lost before a recovery is over, and then counts at its end.
        let earlier = self.transport == Transport::Tcp && (self.unanswered || ack.unrepaired);
        assert!(
            congestion || earlier || opened == 0,
            "{arm}: an episode opened without loss or marks"
        );
        self.unanswered = opened == 0 && (self.unanswered || ack.lost > 0);
        if ack.acked == 0 && !before.in_recovery() && !c.in_recovery() {
            assert!(new <= old, "{arm}: an ACK of nothing raised the window from {old} to {new}");
        }
        if !before.in_recovery() && opened == 1 && c.in_recovery() {
            assert!(
                c.recovery_mark() == Some(ack.nxt),
                "{arm}: the mark of the episode is not what was next to be sent"
            );
        }
        if !wild {
            self.plausible(ack, before, c);
        }
        self.after("on_ack", c);
    }

    /// Only where the record agrees with itself.
    fn plausible(&self, ack: &Told, before: &AnyController, c: &AnyController) {
        let arm = &self.arm;
        let (old, new) = (before.cwnd(), c.cwnd());
        let returns = self.plumb && before.phase() == Phase::Drain && c.phase() != Phase::Drain;
        let free = returns || self.told || self.whole;
        let quiet = !before.in_recovery() && !c.in_recovery() && !free;
        if quiet && before.ssthresh().unwrap_or(UNSET_SSTHRESH) > old {
            let at_once = if self.plumb { 3 * self.flight.max(ack.inflight_before) } else { 0 };
            // It leaves with the window that it has found.
            let found = c.exit().filter(|_| before.exit().is_none()).map_or(0, |exit| exit.cwnd);
            let chirp = if self.chirps { found.max(ack.inflight + 16 * self.mss) } else { 0 };
            let most = old.max(self.jump.unwrap_or(0)).max(at_once).max(chirp);
            // SUSS makes room for the packet that its pacer holds.
            let held = if self.suss { 2 * self.mss } else { 0 };
            let most = most.saturating_add((self.growth - 1) * ack.acked).saturating_add(held);
            assert!(
                new <= most,
                "{arm}: {} acknowledged bytes raised the window from {old} to {new}",
                ack.acked
            );
        }
        if quiet
            && self.used_only
            && !self.chirps
            && !ack.cwnd_limited
            && ack.inflight_before < old / 2
        {
            assert!(
                new <= old,
                "{arm}: the window was not used, {} of {old} bytes, and grew to {new}",
                ack.inflight_before
            );
        }
        // Windows in recovery may vary, but at the start of an episode they exceed neither what was
        // there before (rounded up to segments) nor what is or was just now in flight by
        // more than the first repeat, a limited segment and what gVisor's option inflates.
        if !before.in_recovery() && c.in_recovery() {
            let inflate = if arm.contains("inflate=10") { 10 } else { 0 };
            let most = old.max(ack.inflight + ack.acked + self.mss) + (1 + inflate) * self.mss;
            assert!(
                new <= most,
                "{arm}: an episode opened with a window of {new}, before it was {old}, in flight {}, acknowledged {}",
                ack.inflight,
                ack.acked
            );
        }
    }
}
