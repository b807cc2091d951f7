//! Reasons for the first difference between the kernel and our sender in an episode. Lines are of
//! Linux 6.12's `net/ipv4`.

use super::kernel::{Episode, Recording};
use super::ours::{Clock, JIFFY, Ours, Step};
use super::{agree, kernel};

/// A reason that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Name {
    CubicTick,
    Hystart,
    Clock,
    Timer,
    UnusedAtRepeat,
    HystartInRecovery,
    MergedSegments,
    ReadLate,
    Unknown,
}

impl Name {
    /// Its meaning, and its place in the kernel.
    pub(super) fn meaning(self) -> &'static str {
        match self {
            Name::CubicTick => {
                "the curve of CUBIC is looked at once per jiffy, 4 ms here; ours has ticks of 1/1024 s (tcp_cubic.c: bictcp_update, tcp_jiffies32)"
            }
            Name::Hystart => {
                "HyStart compares microseconds that only the kernel knows, and its train grows with the pacing rate (tcp_cubic.c: hystart_update, hystart_ack_delay)"
            }
            Name::Clock => {
                "a time is at a border: an ACK taken at most 200 microseconds earlier or later gives what the kernel did (tcp_input.c: tcp_mstamp_refresh)"
            }
            Name::Timer => {
                "a timer: the kernel's fire at jiffies, the later the longer they are (timer.c: calc_wheel_index; tcp_recovery.c: tcp_rack_mark_lost, tcp_output.c: tcp_schedule_loss_probe)"
            }
            Name::UnusedAtRepeat => {
                "an unused window falls at the next send, in the kernel only at one of new data (tcp_output.c: tcp_write_xmit, tcp_cwnd_validate)"
            }
            Name::HystartInRecovery => {
                "HyStart goes on in a recovery while the window is below the threshold, and sets that, with another ACK than ours (tcp_cubic.c: cubictcp_acked, hystart_update)"
            }
            Name::MergedSegments => {
                "SACKed segments are merged, and a duplicate of one counts as that of a repeat if any of them was repeated (tcp_input.c: tcp_shifted_skb, tcp_sacktag_one)"
            }
            Name::ReadLate => {
                "the kernel counts the segment as sent, and the machine hands it over only with the next event"
            }
            Name::Unknown => "unknown",
        }
    }
}

/// Names the first difference, which is at step `at`.
pub(super) fn name(episode: &Episode, recording: &Recording, ours: &[Step], at: usize) -> Name {
    let (k, o) = (&recording.steps[at], &ours[at]);
    let before = at.checked_sub(1).map(|at| &recording.steps[at].state);
    let cubic = episode.congestion == "cubic";
    let same_losses = (k.state.lost, k.state.sacked, k.state.phase)
        == (o.state.lost, o.state.sacked, o.state.phase);
    let avoids = before.is_some_and(|before| before.cwnd >= before.ssthresh);
    if cubic && avoids && same_losses && k.state.cwnd.abs_diff(o.state.cwnd) <= 2 {
        return Name::CubicTick;
    }
    let left = |state: &kernel::State| before.is_some_and(|b| b.ssthresh > state.ssthresh);
    if cubic && same_losses && k.state.phase <= 1 && left(&k.state) != left(&o.state) {
        return Name::Hystart;
    }
    // Before PRR moves the window; ours finds it with another ACK.
    let found = |state: &kernel::State| {
        left(state) && before.is_some_and(|before| state.ssthresh == before.cwnd)
    };
    if cubic && same_losses && k.state.phase == 3 && found(&k.state) != found(&o.state) {
        return Name::HystartInRecovery;
    }
    if Clock::shaken(at)
        .any(|clock| agree(recording, &Ours::new(episode, recording, clock).play(), 0) > at)
    {
        return Name::Clock;
    }
    let timer_first = Ours::new(episode, recording, Clock::TimerBefore(at)).play();
    if agree(recording, &timer_first, 0) > at {
        return Name::Timer;
    }
    let idle = recording.steps[..=at].windows(3).last().map_or(0, |some| some[2].at - some[0].at);
    let (kw, ow) = ((k.state.cwnd, k.state.ssthresh), (o.state.cwnd, o.state.ssthresh));
    if same_losses && idle > 200_000_000 && ow.0 <= kw.0 && ow.1 <= kw.1 {
        return Name::UnusedAtRepeat;
    }
    let apart = (0..=at).find(|&at| recording.steps[at].state.seen != ours[at].state.seen);
    let reports = |at: usize| recording.steps[at].ack.is_some_and(|ack| ack.dsack);
    if apart.is_some_and(|at| recording.steps[at].state.seen && reports(at)) {
        return Name::MergedSegments;
    }
    let from = |left: &[kernel::Left]| -> Vec<u64> { left.iter().map(|left| left.from).collect() };
    // The segments that left with this step and by timers after it.
    let left = |now: &[kernel::Left], later: &[kernel::Left]| {
        let mut all = [from(now), from(later)].concat();
        all.sort_unstable();
        all
    };
    let same_timer = k.sent.len() == o.sent.len() && k.state.cwnd == o.state.cwnd;
    let later_timer = left(&k.sent, &k.later) == left(&o.sent, &o.later);
    let other_timer = k.later.len() != o.later.len() && (same_timer || later_timer);
    // Packets that timers released since the step before, at another time.
    let moved = at.checked_sub(1).is_some_and(|before| {
        let (k, o) = (&recording.steps[before].later, &ours[before].later);
        k.iter().zip(o).any(|(k, o)| k.at.abs_diff(o.at) > JIFFY)
    });
    if other_timer || moved {
        return Name::Timer;
    }
    let next = recording.steps.get(at + 1).map_or_else(Vec::new, |next| from(&next.sent));
    if k.state == o.state && [from(&k.sent), next].concat().starts_with(&from(&o.sent)) {
        return Name::ReadLate;
    }
    Name::Unknown
}
