//! A controller of an arm: one call per ACK.

use crate::Sender;
use crate::scenario::{PACKET, RTT, Scenario, Step};
use firstflight::{AnyController, Arm, Config, Nanos, Ready, Seq, Time};

pub struct Ours {
    name: String,
    controller: AnyController,
}

impl Ours {
    pub fn new(name: &str) -> Ours {
        let arm = Arm::parse(name).unwrap_or_else(|error| panic!("{error}"));
        Ours { name: name.to_owned(), controller: arm.with_oracle(1 << 40).controller(Config::quic(PACKET), Time(999_000_000), Seq(0)) }
    }
}

#[inline(never)]
#[unsafe(no_mangle)]
fn measured_ours(controller: &mut AnyController, steps: &[Step]) {
    for step in steps {
        controller.on_ack(&step.ack);
    }
}

impl Sender for Ours {
    fn prepare(&mut self, scenario: &Scenario) {
        // A jump takes off here.
        let (now, srtt) = (Time(999_500_000), Some(Nanos(RTT)));
        self.controller.before_send(&Ready { now, srtt, backlog: u64::MAX, ..Ready::default() });
        scenario.before.iter().for_each(|step| self.controller.on_ack(&step.ack));
    }

    fn play(&mut self, scenario: &Scenario) {
        measured_ours(&mut self.controller, &scenario.measured);
        // For the script, which marks the number: not all of it is of slow start.
        if scenario.in_startup
            && let Some(exit) = self.controller.exit()
        {
            eprintln!("{}: startup ended: {exit:?}", self.name);
        }
    }

    fn window(&self) -> u64 {
        self.controller.cwnd()
    }
}
