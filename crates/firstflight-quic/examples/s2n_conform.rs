//! s2n-quic's own CUBIC for `firstflight conform`: reads events, one line of JSON each, and answers
//! with its window (docs/conform.md).
//!
//! ```sh
//! cargo build -p firstflight-quic --features s2n --example s2n_conform
//! firstflight conform exec:target/debug/examples/s2n_conform --against hystart/cubic/immediate
//! ```
//!
//! The order of events is that of the stack: the RTT, then losses, then the acknowledged data.

use s2n_quic_core::event::builder::{BbrState, SlowStartExitCause};
use s2n_quic_core::packet::number::PacketNumberSpace;
use s2n_quic_core::random;
use s2n_quic_core::recovery::bandwidth::{Bandwidth, RateSample};
use s2n_quic_core::recovery::congestion_controller::Publisher;
use s2n_quic_core::recovery::cubic::ApplicationSettings;
use s2n_quic_core::recovery::{CongestionController, CubicCongestionController, RttEstimator};
use s2n_quic_core::time::{Clock, NoopClock, Timestamp};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::time::Duration;

/// Discards the log of the stack.
struct Nobody;

impl Publisher for Nobody {
    fn on_slow_start_exited(&mut self, _cause: SlowStartExitCause, _window: u32) {}
    fn on_delivery_rate_sampled(&mut self, _sample: RateSample) {}
    fn on_pacing_rate_updated(
        &mut self,
        _rate: Bandwidth,
        _burst: u32,
        _gain: num_rational::Ratio<u64>,
    ) {
    }
    fn on_bbr_state_changed(&mut self, _state: BbrState) {}
}

/// Provides no random numbers: CUBIC uses none.
struct NoChance;

impl random::Generator for NoChance {
    fn public_random_fill(&mut self, dest: &mut [u8]) {
        dest.fill(0);
    }
    fn private_random_fill(&mut self, dest: &mut [u8]) {
        dest.fill(0);
    }
}

/// One connection's controller.
struct Connection {
    controller: CubicCongestionController,
    rtt: RttEstimator,
    /// Departure time of each packet in flight.
    sent: BTreeMap<u64, Timestamp>,
}

impl Connection {
    fn new(mss: u64) -> Connection {
        let mss = u16::try_from(mss).unwrap_or(u16::MAX);
        Connection {
            controller: CubicCongestionController::new(mss, ApplicationSettings::default()),
            rtt: RttEstimator::new(Duration::from_millis(333)),
            sent: BTreeMap::new(),
        }
    }

    fn on_sent(&mut self, now: Timestamp, event: &Value) {
        let number = |name: &str| event[name].as_u64();
        let Some((bytes, nxt)) = number("sent_bytes").zip(number("nxt")) else { return };
        self.sent.insert(nxt.saturating_sub(1), now);
        // The object is larger than the window.
        let limited = Some(false);
        self.controller.on_packet_sent(now, bytes as usize, limited, &self.rtt, &mut Nobody);
    }

    fn on_ack(&mut self, now: Timestamp, event: &Value) {
        let number = |name: &str| event[name].as_u64();
        let newest = number("tx_acked");
        let left = newest.and_then(|newest| self.sent.get(&newest).copied()).unwrap_or(now);
        if let Some(rtt) = number("rtt_ns") {
            let (rtt, space) = (Duration::from_nanos(rtt), PacketNumberSpace::ApplicationData);
            self.rtt.update_rtt(Duration::ZERO, rtt, now, true, space);
            self.controller.on_rtt_update(left, now, &self.rtt, &mut Nobody);
        }
        let lost = number("lost_bytes").unwrap_or(0);
        if let Some(lost) = u32::try_from(lost).ok().filter(|lost| *lost > 0) {
            let (persistent, burst) = (false, true);
            let chance = &mut NoChance;
            self.controller.on_packet_lost(lost, (), persistent, burst, chance, now, &mut Nobody);
        }
        let acked = number("acked_bytes").unwrap_or(0) as usize;
        if acked > 0 {
            let chance = &mut NoChance;
            self.controller.on_ack(left, acked, (), &self.rtt, chance, now, &mut Nobody);
        }
        if let Some(newest) = newest {
            self.sent = self.sent.split_off(&newest);
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut connection = Connection::new(1472);
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let event: Value = serde_json::from_str(&line?)?;
        let nanos = event["now_ns"].as_u64().unwrap_or(0);
        let now = NoopClock.get_time() + Duration::from_nanos(nanos);
        match event["event"].as_str() {
            Some("begin") => connection = Connection::new(event["mss"].as_u64().unwrap_or(1472)),
            Some("sent") => connection.on_sent(now, &event),
            Some("ack" | "timer") => connection.on_ack(now, &event),
            _ => {}
        }
        let window = connection.controller.congestion_window();
        writeln!(out, "{}", json!({"cwnd": window, "ssthresh": null}))?;
        out.flush()?;
    }
    Ok(())
}
