//! A sender behind the C functions, told the events of Rust.

use firstflight::Event;
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
                Event::Ready(ready) => ff_before_send(at, &ready.into()),
                Event::Sent(sent) => ff_on_sent(at, &sent.into()),
                Event::Ack(ack, _) => ff_on_ack(at, &ack.into()),
                Event::Congestion(congestion) => ff_on_congestion(at, &congestion.into()),
                Event::Spurious { .. } => ff_on_spurious(at),
                Event::Mss { mss, .. } => ff_set_mss(at, *mss),
            }
        }
    }

    /// State that a transport reads after each event: window, threshold, pacing rate, phase.
    pub(crate) fn answers(&mut self) -> (u64, u64, u64, String) {
        let at = self.at();
        // SAFETY: a sender.
        unsafe { (ff_cwnd(at), ff_ssthresh(at), ff_pacing_rate(at), text(ff_phase(at))) }
    }
}

/// QUIC with packets of 1200 bytes, everything else by default.
pub(crate) const CONFIG: ff_config = ff_config { mss: 1200, ..ff_config::BLANK };
