//! One harness for hooks: a startup or an avoidance alone, called as a controller calls it, with ACKs of which a
//! test names only the facts that it is about.

use crate::told::Told;
use firstflight::avoidance::{Avoidance, Cut};
use firstflight::startup::{Grown, Leave, Startup, Verdict};
use firstflight::units::MAX_BYTES;
use firstflight::{
    Config, Context, Nanos, Ratio, Seq, Signal, Time, Transport, UNSET_SSTHRESH, Window,
};

/// A QUIC sender: paced, limited by its window, an initial window of ten packets of `mss` bytes.
pub(crate) const fn quic(mss: u64) -> Context {
    firstflight::with!(Context { iw: 10 * mss, ..Context::new(&Config::quic(mss), Seq(0)) })
}

/// The same with a smoothed RTT.
pub(crate) const fn quic_at(mss: u64, srtt_ms: u64) -> Context {
    firstflight::with!(Context { srtt: Nanos::from_millis(srtt_ms), ..quic(mss) })
}

/// A TCP sender without a pacer.
pub(crate) const fn tcp(mss: u64) -> Context {
    firstflight::with!(Context {
        transport: Transport::Tcp,
        paced: false,
        max_burst: 65_536,
        ..quic(mss)
    })
}

/// A window in congestion avoidance.
pub(crate) const fn avoiding(cwnd: u64) -> Window {
    Window { cwnd, ssthresh: cwnd }
}

/// A window in slow start that no threshold bounds.
pub(crate) const fn starting(cwnd: u64) -> Window {
    Window { cwnd, ssthresh: UNSET_SSTHRESH }
}

/// A cut in avoidance of `flight` bytes, in flight and outstanding.
pub(crate) const fn cut(now: Time, signal: Signal, flight: u64) -> Cut {
    Cut { now, signal, inflight_before: flight, flight, from_slow_start: false }
}

/// The cut of a timeout with `flight` bytes outstanding, now and in the last round trip.
pub(crate) fn timeout(now: Time, flight: u64, w: Window) -> Cut {
    Cut { from_slow_start: w.in_slow_start(), ..cut(now, Signal::Loss, flight) }
}

/// The window after `cut`.
pub(crate) fn reduced(
    avoidance: &mut impl Avoidance,
    cut: &Cut,
    w: Window,
    cx: &Context,
) -> Window {
    let left = avoidance.reduce(cut, w, cx);
    Window { cwnd: left.cwnd, ssthresh: left.ssthresh }
}

/// Avoidance receives an ACK all of whose bytes count. Returns the bytes by which the window grew.
pub(crate) fn grow(
    avoidance: &mut impl Avoidance,
    w: &mut Window,
    told: &Told,
    cx: &Context,
) -> u64 {
    let before = w.cwnd;
    avoidance.grow(&told.ack(), told.acked, w, &told.within(cx));
    w.cwnd - before
}

/// A path of constant RTT that acknowledges each window evenly, two segments at a time, until `done` or for at
/// most `limit`. `grow` receives the time of each ACK. Returns the time that passed.
pub(crate) fn fly(
    w: &mut Window,
    (start, mss, rtt, limit): (Time, u64, Nanos, Nanos),
    mut grow: impl FnMut(Time, &mut Window),
    done: impl Fn(&Window) -> bool,
) -> Nanos {
    let mut round = start;
    while !done(w) && round.since(start) < limit {
        let acks = (w.cwnd / (2 * mss)).max(1);
        for n in 0..acks {
            let now = round + Nanos(rtt.0 * n / acks);
            grow(now, w);
            if done(w) {
                return now.since(start);
            }
        }
        round += rtt;
    }
    round.since(start)
}

/// The signal called `name` among those that `signals` visits.
pub(crate) fn signal(
    name: &str,
    signals: impl FnOnce(&mut dyn FnMut(&'static str, u64)),
) -> Option<u64> {
    let mut found = None;
    signals(&mut |signal, value| {
        if signal == name {
            found = Some(value);
        }
    });
    found
}

/// The startup receives a loss; it must bring no recovery of its own.
pub(crate) fn lose(startup: &mut impl Startup, w: Window, cx: &Context) {
    let ack = Told::default().ack();
    let own = startup.on_congestion(Signal::Loss, Ratio::new(7, 10), &ack, w, cx);
    assert!(own.is_none(), "no startup of these tests brings a recovery of its own");
}

/// A startup without a controller around it: its hooks, its window, and what ACKs tell it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alone<S> {
    pub alg: S,
    pub w: Window,
    pub cx: Context,
    /// Time of the last ACK, ns.
    pub now: u64,
    pub una: u64,
    pub nxt: u64,
    /// Facts of each ACK beside time and positions.
    pub told: Told,
    /// The last exit.
    pub left: Option<Leave>,
}

impl<S: Startup> Alone<S> {
    /// A window of `cwnd` bytes without a threshold at time zero; nothing is acknowledged and the startup has not
    /// begun.
    pub(crate) fn of(alg: S, cwnd: u64, cx: Context) -> Alone<S> {
        let told = Told { cwnd_limited: true, ..Told::default() };
        Alone { alg, w: starting(cwnd), cx, now: 0, una: 0, nxt: 0, told, left: None }
    }

    /// The startup begins at `now` with `nxt` as the first position.
    pub(crate) fn begun(mut self, now: u64, nxt: u64) -> Alone<S> {
        self.alg.start(Time(now), Seq(nxt));
        Alone { now, nxt, ..self }
    }

    /// An ACK at this time and position.
    pub(crate) fn record(&self) -> Told {
        Told { now: Time(self.now), una: Seq(self.una), nxt: Seq(self.nxt), ..self.told }
    }

    /// Below the threshold: the sample hook, and what it concludes.
    pub(crate) fn sample(&mut self, told: &Told) -> Verdict {
        if !self.w.in_slow_start() {
            return Verdict::Stay;
        }
        let verdict = self.alg.sample(&told.ack(), self.w, &told.within(&self.cx));
        self.conclude(verdict);
        verdict
    }

    /// The growth hook, and what it concludes. Returns the bytes by which the window grew.
    pub(crate) fn grow(&mut self, told: &Told) -> (u64, Grown) {
        let before = self.w.cwnd;
        let (ack, cx) = (told.ack(), told.within(&self.cx));
        let grown = self.alg.grow(&ack, told.acked, &mut self.w, &cx);
        let by = self.w.cwnd - before;
        self.conclude(grown.verdict);
        (by, grown)
    }

    fn conclude(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Stay => {}
            Verdict::Aim { ssthresh } => self.w.ssthresh = ssthresh,
            Verdict::Hold { cwnd } | Verdict::Settle { cwnd, .. } => self.w.cwnd = cwnd,
            Verdict::Leave(leave) => {
                let cwnd = leave.cwnd.unwrap_or(self.w.cwnd);
                self.w = Window { cwnd, ssthresh: leave.ssthresh };
                self.left = Some(leave);
            }
        }
    }

    /// A loss that shows now.
    pub(crate) fn lose(&mut self) {
        lose(&mut self.alg, self.w, &self.cx);
    }

    pub(crate) fn signal(&self, name: &str) -> Option<u64> {
        signal(name, |visit| self.alg.signals(visit))
    }
}

/// SplitMix64.
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Uniform, both ends included.
    pub(crate) fn within(&mut self, lo: u64, hi: u64) -> u64 {
        lo + ((u128::from(self.next()) * u128::from(hi - lo + 1)) >> 64) as u64
    }
}

/// An avoidance without a controller around it. Samples arrive a millisecond apart.
#[derive(Clone)]
pub(crate) struct Avoiding<A> {
    pub alg: A,
    pub w: Window,
    pub cx: Context,
    pub now: Time,
}

impl<A: Avoidance> Avoiding<A> {
    /// A window of `cwnd` bytes at the threshold at time zero.
    pub(crate) fn of(alg: A, cwnd: u64, cx: Context) -> Avoiding<A> {
        Avoiding { alg, w: avoiding(cwnd), cx, now: Time(0) }
    }

    /// A sample, a millisecond after the last. Returns the record of its ACK.
    pub(crate) fn sampled(&mut self, rtt: Nanos, srtt: Nanos, in_recovery: bool) -> Told {
        self.now += Nanos::from_millis(1);
        self.alg.on_rtt(self.now, rtt, self.w, in_recovery);
        Told { now: self.now, rtt: Some(rtt), srtt: Some(srtt), ..Told::default() }
    }

    pub(crate) fn reduce(&mut self, signal: Signal, from_slow_start: bool) {
        let cut = Cut { from_slow_start, ..cut(self.now, signal, MAX_BYTES) };
        self.w = reduced(&mut self.alg, &cut, self.w, &self.cx);
    }

    /// Returns the bytes by which the window grew.
    pub(crate) fn grown(&mut self, told: &Told) -> u64 {
        grow(&mut self.alg, &mut self.w, told, &self.cx)
    }
}
