//! The same controller behind the C interface.

use crate::Sender;
use crate::scenario::{PACKET, RTT, Scenario};
use firstflight_c::*;
use std::ffi::CString;

pub struct C {
    memory: Vec<u128>,
    acks: Vec<ff_ack>,
}

impl C {
    pub fn new(arm: &str) -> C {
        let mut memory = vec![0u128; ff_sender_size().div_ceil(16)];
        let config = ff_config { mss: PACKET, ..ff_config::BLANK };
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
        let ready = ff_ready { now: 999_500_000, backlog: FF_NONE, srtt: RTT, ..ff_ready::BLANK };
        // SAFETY: a sender and a struct of the right size.
        unsafe { ff_before_send(self.at(), &ready) };
        for step in &scenario.before {
            // SAFETY: as above.
            unsafe { ff_on_ack(self.at(), &ff_ack::from(&step.ack)) };
        }
        self.acks = scenario.measured.iter().map(|step| ff_ack::from(&step.ack)).collect();
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
