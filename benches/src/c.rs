//! The same controller behind the C interface.

use crate::Sender;
use crate::scenario::{PACKET, RTT, Scenario, Step};
use firstflight_c::*;
use std::ffi::CString;

pub struct C {
    memory: Vec<u128>,
    acks: Vec<ff_ack>,
}

impl C {
    pub fn new(arm: &str) -> C {
        let mut memory = vec![0u128; ff_sender_size().div_ceil(16)];
        let config = ff_config {
            size: size_of::<ff_config>(),
            transport: FF_QUIC,
            paced: FF_DEFAULT,
            mss: PACKET,
            initial_window: 0,
            nxt: 0,
            burst: 0,
            max_burst: 0,
            sack: FF_DEFAULT,
            reserved: 0,
        };
        let arm = CString::new(arm).expect("no zero byte");
        // SAFETY: enough memory, a string, a struct of the right size.
        let code = unsafe { ff_sender_init(memory.as_mut_ptr().cast(), arm.as_ptr(), &config, 999_000_000) };
        assert_eq!(code, FF_OK);
        C { memory, acks: Vec::new() }
    }

    fn at(&mut self) -> *mut ff_sender {
        self.memory.as_mut_ptr().cast()
    }
}

fn in_c(step: &Step) -> ff_ack {
    let ack = &step.ack;
    ff_ack {
        size: size_of::<ff_ack>(),
        now: ack.now.0,
        acked: ack.acked,
        acked_fresh: ack.acked_fresh,
        lost: ack.lost,
        rtt: ack.rtt.map_or(0, |rtt| rtt.0),
        srtt: ack.srtt.map_or(0, |srtt| srtt.0),
        una: ack.una.0,
        nxt: ack.nxt.0,
        flight: ack.flight,
        sacked: ack.sacked,
        inflight_before: ack.inflight_before,
        inflight: ack.inflight,
        sent: ack.sent,
        tx_acked_end: ack.tx_acked.map_or(0, |ordinal| ordinal + 1),
        tx_lost_end: ack.tx_lost.map_or(0, |ordinal| ordinal + 1),
        tx_next: ack.tx_next,
        ce: ack.ce.into(),
        cwnd_limited: ack.cwnd_limited.into(),
        app_limited: ack.app_limited.into(),
        lost_again: 0,
        repeat_acked: 0,
        rescue_next: 0,
        unrepaired: 0,
        sack_advances: 0,
        ce_bytes: 0,
        receiver_ts: 0,
        has_receiver_ts: 0,
        reserved: [0; 3],
    }
}

#[inline(never)]
#[unsafe(no_mangle)]
fn measured_c(sender: *mut ff_sender, acks: &[ff_ack]) {
    for ack in acks {
        // SAFETY: a sender and a struct of the right size.
        unsafe { ff_on_ack(sender, ack) };
    }
}

impl Sender for C {
    fn prepare(&mut self, scenario: &Scenario) {
        let ready = ff_ready {
            size: size_of::<ff_ready>(),
            now: 999_500_000,
            nxt: 0,
            inflight: 0,
            backlog: FF_NONE,
            srtt: RTT,
            idle: 0,
            timeout: 0,
        };
        // SAFETY: a sender and a struct of the right size.
        unsafe { ff_before_send(self.at(), &ready) };
        for ack in scenario.before.iter().map(in_c) {
            // SAFETY: as above.
            unsafe { ff_on_ack(self.at(), &ack) };
        }
        self.acks = scenario.measured.iter().map(in_c).collect();
    }

    fn play(&mut self, _: &Scenario) {
        let at = self.at();
        measured_c(at, &self.acks);
    }

    fn window(&self) -> u64 {
        // SAFETY: a sender.
        unsafe { ff_cwnd(self.memory.as_ptr().cast()) }
    }
}
