//! An [`Ack`] with a default for every fact, and the facts that the controller derives, so that a test names only
//! those that it is about.

#![allow(dead_code, reason = "each test program uses its part")]

use firstflight::avoidance::Avoidance;
use firstflight::recovery::Policy;
use firstflight::startup::Startup;
use firstflight::{Ack, AckDetail, Context, Controller, Nanos, Seq, SoFar, Time};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    pub now: Time,
    pub acked: u64,
    pub acked_fresh: u64,
    pub lost: u64,
    pub ce: bool,
    pub ce_bytes: Option<u64>,
    pub rtt: Option<Nanos>,
    pub srtt: Option<Nanos>,
    pub min_rtt: Option<Nanos>,
    pub una: Seq,
    pub nxt: Seq,
    pub advanced: bool,
    pub flight: u64,
    pub sacked: u64,
    pub inflight_before: u64,
    pub inflight: u64,
    pub delivered: u64,
    pub sent: u64,
    pub tx_acked: Option<u64>,
    pub tx_lost: Option<u64>,
    pub tx_next: u64,
    pub lost_again: bool,
    pub repeat_acked: bool,
    pub rescue_next: bool,
    pub unrepaired: bool,
    pub cwnd_limited: bool,
    pub app_limited: bool,
    pub receiver_ts: Option<u32>,
}

impl Told {
    /// The transport's report.
    pub(crate) fn ack(&self) -> Ack {
        let mut detail = AckDetail::default();
        (detail.ce_bytes, detail.receiver_ts) = (self.ce_bytes, self.receiver_ts);
        (detail.lost_again, detail.repeat_acked) = (self.lost_again, self.repeat_acked);
        (detail.rescue_next, detail.unrepaired) = (self.rescue_next, self.unrepaired);
        Ack {
            now: self.now,
            acked: self.acked,
            acked_fresh: self.acked_fresh,
            lost: self.lost,
            ce: self.ce,
            rtt: self.rtt,
            srtt: self.srtt,
            una: self.una,
            nxt: self.nxt,
            flight: self.flight,
            sacked: self.sacked,
            inflight_before: self.inflight_before,
            inflight: self.inflight,
            sent: self.sent,
            tx_acked: self.tx_acked,
            tx_lost: self.tx_lost,
            tx_next: self.tx_next,
            cwnd_limited: self.cwnd_limited,
            app_limited: self.app_limited,
            detail,
        }
    }

    /// The facts that the controller derives.
    pub(crate) fn so_far(&self) -> SoFar {
        SoFar {
            delivered: self.delivered,
            min_rtt: self.min_rtt,
            una: self.una,
            advanced: self.advanced,
        }
    }

    /// A context with them, as hooks receive it.
    pub(crate) fn within(&self, cx: &Context) -> Context {
        firstflight::with!(Context { so_far: self.so_far(), ..*cx })
    }
}

/// Controllers that receive a [`Told`].
pub(crate) trait Hear {
    fn hear(&mut self, told: &Told);
}

impl<S: Startup, A: Avoidance, R: Policy> Hear for Controller<S, A, R> {
    fn hear(&mut self, told: &Told) {
        let mut ack = told.ack();
        // A test that keeps no sequence numbers says whether they moved.
        ack.detail.sack_advances = told.advanced && told.una <= self.so_far().una;
        self.on_ack(&ack);
    }
}
