//! A sender behind the C functions, told the events of Rust.

use firstflight::{Ack, Event, Timeout};
use firstflight_c::*;
use std::ffi::{CStr, CString, c_char, c_void};

/// Memory of a sender, aligned for it.
pub(crate) struct Memory(Vec<u128>);

impl Memory {
    /// Room for one sender, filled with `byte`.
    pub(crate) fn new(byte: u8) -> Memory {
        assert!(ff_sender_align() <= align_of::<u128>());
        Memory(vec![u128::from_ne_bytes([byte; 16]); ff_sender_size().div_ceil(16)])
    }

    pub(crate) fn at(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }
}

/// The text that `from` points to.
pub(crate) fn text(from: *const c_char) -> String {
    assert!(!from.is_null());
    // SAFETY: the library returns strings.
    unsafe { CStr::from_ptr(from) }.to_str().unwrap().to_owned()
}

/// A sender in memory of its own.
pub(crate) struct Sender(Memory);

impl Sender {
    /// The sender of `arm`, or the code and the sentence of the error.
    pub(crate) fn of(arm: &str, config: &ff_config, now: u64) -> Result<Sender, (i32, String)> {
        let (mut memory, arm) = (Memory::new(0xa5), CString::new(arm).unwrap());
        // SAFETY: memory of the right size, a string and a struct of the right size.
        let code = unsafe { ff_sender_init(memory.at(), arm.as_ptr(), config, now) };
        if code == FF_OK {
            return Ok(Sender(memory));
        }
        // SAFETY: `ff_sender_init` had this memory.
        Err((code, text(unsafe { ff_last_error(memory.at()) })))
    }

    pub(crate) fn at(&mut self) -> *mut ff_sender {
        self.0.at().cast()
    }

    /// Tells it one event.
    pub(crate) fn tell(&mut self, event: &Event) -> i32 {
        let at = self.at();
        // SAFETY: a sender, and structs of the right size.
        unsafe {
            match event {
                Event::HandshakeRtt { now, rtt } => ff_on_handshake_rtt(at, now.0, rtt.0),
                Event::Ready(ready) => ff_before_send(
                    at,
                    &ff_ready {
                        size: size_of::<ff_ready>(),
                        now: ready.now.0,
                        nxt: ready.nxt.0,
                        inflight: ready.inflight,
                        backlog: ready.backlog,
                        srtt: ready.srtt.map_or(0, |srtt| srtt.0),
                        idle: ready.idle.0,
                        timeout: ready.timeout.0,
                    },
                ),
                Event::Sent(sent) => ff_on_sent(
                    at,
                    &ff_sent {
                        size: size_of::<ff_sent>(),
                        now: sent.now.0,
                        bytes: sent.bytes,
                        nxt: sent.nxt.0,
                        inflight: sent.inflight,
                        srtt: sent.srtt.map_or(0, |srtt| srtt.0),
                    },
                ),
                Event::Ack(ack, _) => ff_on_ack(at, &of_ack(ack)),
                Event::Congestion(congestion) => ff_on_congestion(
                    at,
                    &ff_congestion {
                        size: size_of::<ff_congestion>(),
                        now: congestion.now.0,
                        nxt: congestion.nxt.0,
                        inflight_before: congestion.inflight_before,
                        timeout: match congestion.timeout {
                            Timeout::Rto => FF_RTO,
                            Timeout::RtoAgain => FF_RTO_AGAIN,
                            Timeout::PersistentCongestion => FF_PERSISTENT_CONGESTION,
                        },
                        reserved: 0,
                    },
                ),
                Event::Spurious { .. } => ff_on_spurious(at),
                Event::Mss { mss, .. } => ff_set_mss(at, *mss),
            }
        }
    }

    /// What a transport reads after each event: window, threshold, pacing rate, phase.
    pub(crate) fn answers(&mut self) -> (u64, u64, u64, String) {
        let at = self.at();
        // SAFETY: a sender.
        unsafe { (ff_cwnd(at), ff_ssthresh(at), ff_pacing_rate(at), text(ff_phase(at))) }
    }
}

/// QUIC with packets of 1200 bytes, everything else by default.
pub(crate) const CONFIG: ff_config = ff_config {
    size: size_of::<ff_config>(),
    transport: FF_QUIC,
    paced: FF_DEFAULT,
    mss: 1200,
    initial_window: 0,
    nxt: 0,
    burst: 0,
    max_burst: 0,
    sack: FF_DEFAULT,
    reserved: 0,
};

fn of_ack(ack: &Ack) -> ff_ack {
    let detail = &ack.detail;
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
        lost_again: detail.lost_again.into(),
        repeat_acked: detail.repeat_acked.into(),
        rescue_next: detail.rescue_next.into(),
        unrepaired: detail.unrepaired.into(),
        sack_advances: detail.sack_advances.into(),
        ce_bytes: detail.ce_bytes.unwrap_or(0),
        receiver_ts: detail.receiver_ts.unwrap_or(0),
        has_receiver_ts: detail.receiver_ts.is_some().into(),
        reserved: [0; 3],
    }
}
