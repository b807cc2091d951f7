//! The kernel controllers as native code: one connection, and the kernel's calls for it.

use std::ffi::{CStr, c_char, c_int};
use std::ptr::NonNull;

/// State of the kernel at one moment. Layout of `struct facts` in `native.c`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Facts {
    pub now_us: u64,
    pub bytes_acked: u64,
    /// The kernel's pacing rate, bytes per second.
    pub pacing_rate: u64,
    pub una: u32,
    pub nxt: u32,
    pub packets_out: u32,
    pub sacked_out: u32,
    pub lost_out: u32,
    pub retrans_out: u32,
    pub max_packets_out: u32,
    pub delivered: u32,
    pub sent: u32,
    pub prr_out: u32,
    /// Eight times the smoothed RTT.
    pub srtt_us: u32,
    pub cwnd_limited: u32,
    pub app_limited: u32,
    pub has_ts: u32,
    pub receiver_ts: u32,
    /// The end of what the application has written, bytes.
    pub write_seq: u32,
    pub rttvar_us: u32,
}

/// One ACK as mode B is told it. Layout of `struct sample` in `native.c`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    pub acked: u32,
    pub losses: u32,
    /// `u32::MAX` for none.
    pub rtt_us: u32,
    pub in_flight_before: u32,
    /// The connection's deliveries when the latest of the packets just acknowledged was sent.
    pub delivered_when_sent: u32,
    pub is_retrans: u32,
}

/// Layout of `struct exit_record` in `firstflight.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ExitRecord {
    pub at_us: u64,
    pub since_first_send_us: u64,
    pub estimate: u64,
    pub bytes_acked: u64,
    pub socket: u64,
    pub daddr: u32,
    pub detect_cwnd: u32,
    pub cwnd: u32,
    pub ssthresh: u32,
    pub inflight: u32,
    pub rounds: u32,
    pub mss: u32,
    pub srtt_us: u32,
    pub min_rtt_us: u32,
    pub dport: u16,
    pub lport: u16,
    pub reason: u8,
    pub arm: u8,
    pub outcomes: [u8; 8],
    pub pad: [u8; 6],
}

unsafe extern "C" {
    fn ff_connection_size() -> u64;
    fn ff_arms() -> u32;
    fn ff_name(arm: u32) -> *const c_char;
    fn ff_init(c: *mut u64, arm: u32, cwnd: u32, mss: u32, paced: bool);
    fn ff_set_facts(c: *mut u64, facts: *const Facts);
    fn ff_pkts_acked(c: *mut u64, arm: u32, acked: u32, rtt_us: c_int);
    fn ff_cong_avoid(c: *mut u64, arm: u32, acked: u32);
    fn ff_cong_control(c: *mut u64, arm: u32, sample: *const Sample);
    fn ff_pacing_rate(c: *const u64) -> u64;
    fn ff_is_asked_before_sending(arm: u32) -> bool;
    fn ff_before_send(c: *mut u64, arm: u32) -> u32;
    fn ff_reduce(c: *mut u64, arm: u32, state: u8, ask: bool);
    fn ff_open(c: *mut u64, arm: u32);
    fn ff_undo(c: *mut u64, arm: u32, ssthresh: u32);
    fn ff_event(c: *mut u64, arm: u32, event: u32);
    fn ff_state(c: *const u64) -> u8;
    fn ff_cwnd(c: *const u64) -> u32;
    fn ff_set_cwnd(c: *mut u64, cwnd: u32);
    fn ff_set_ssthresh(c: *mut u64, ssthresh: u32);
    fn ff_ssthresh(c: *const u64) -> u32;
    fn ff_outcomes(c: *const u64) -> *const [u8; 8];
    fn ff_last_exit() -> *const ExitRecord;
    fn ff_save(cwnd: u32, rtt_us: u32);
    fn ff_release(c: *mut u64, arm: u32) -> u32;
}

/// Kernel states.
pub(crate) const OPEN: u8 = 0;
pub(crate) const CWR: u8 = 2;
pub(crate) const RECOVERY: u8 = 3;
pub(crate) const LOSS: u8 = 4;

pub(crate) const TX_START: u32 = 0;
pub(crate) const CWND_RESTART: u32 = 1;

/// A threshold that was never set.
pub(crate) const UNSET: u32 = 0x7fff_ffff;

/// The number of the arm that registers as `name`.
pub(crate) fn arm(name: &str) -> u32 {
    // SAFETY: names are static strings, asked for in range.
    let names = (0..unsafe { ff_arms() }).map(|arm| unsafe { CStr::from_ptr(ff_name(arm)) });
    let found = names.enumerate().find(|(_, known)| known.to_str() == Ok(name));
    found.unwrap_or_else(|| panic!("no arm `{name}`")).0 as u32
}

/// Saved values that connections of this thread find for their destination from now on: packets, and us or 0
/// for an RTT that is not known; no packets for nothing.
pub(crate) fn save(cwnd: u32, rtt_us: u32) {
    // SAFETY: two numbers.
    unsafe { ff_save(cwnd, rtt_us) }
}

/// One connection.
pub(crate) struct Connection {
    memory: Box<[u64]>,
    arm: u32,
}

impl Connection {
    /// The number of its arm.
    pub(crate) fn arm(&self) -> u32 {
        self.arm
    }

    pub(crate) fn new(arm: u32, cwnd: u32, mss: u32, paced: bool, facts: &Facts) -> Connection {
        // SAFETY: the C side needs zeroed memory of this size, aligned for u64.
        let words = (unsafe { ff_connection_size() } as usize).div_ceil(8);
        let mut connection = Connection { memory: vec![0; words].into(), arm };
        connection.set_facts(facts);
        // SAFETY: here and below: the pointer is to this connection's memory, which was sized by
        // the C side.
        unsafe { ff_init(connection.at(), arm, cwnd, mss, paced) };
        connection
    }

    fn at(&mut self) -> *mut u64 {
        self.memory.as_mut_ptr()
    }

    pub(crate) fn set_facts(&mut self, facts: &Facts) {
        unsafe { ff_set_facts(self.at(), facts) }
    }

    pub(crate) fn pkts_acked(&mut self, acked: u32, rtt_us: Option<u32>) {
        unsafe { ff_pkts_acked(self.at(), self.arm, acked, rtt_us.map_or(-1, u32::cast_signed)) }
    }

    pub(crate) fn cong_avoid(&mut self, acked: u32) {
        unsafe { ff_cong_avoid(self.at(), self.arm, acked) }
    }

    pub(crate) fn cong_control(&mut self, sample: &Sample) {
        unsafe { ff_cong_control(self.at(), self.arm, sample) }
    }

    /// Bytes per second.
    pub(crate) fn pacing_rate(&self) -> u64 {
        unsafe { ff_pacing_rate(self.memory.as_ptr()) }
    }

    /// Whether the arm has a say before the kernel sends.
    pub(crate) fn is_asked_before_sending(&self) -> bool {
        unsafe { ff_is_asked_before_sending(self.arm) }
    }

    /// The kernel is about to send: the least number of packets that leave as one.
    pub(crate) fn before_send(&mut self) -> u32 {
        unsafe { ff_before_send(self.at(), self.arm) }
    }

    /// A reduction begins: the threshold is set, unless one is running, and the state changes.
    pub(crate) fn reduce(&mut self, state: u8, ask: bool) {
        unsafe { ff_reduce(self.at(), self.arm, state, ask) }
    }

    pub(crate) fn open(&mut self) {
        unsafe { ff_open(self.at(), self.arm) }
    }

    pub(crate) fn undo(&mut self, ssthresh: u32) {
        unsafe { ff_undo(self.at(), self.arm, ssthresh) }
    }

    pub(crate) fn event(&mut self, event: u32) {
        unsafe { ff_event(self.at(), self.arm, event) }
    }

    /// It is over: the packets that it leaves for the next one, 0 for none.
    pub(crate) fn release(&mut self) -> u32 {
        unsafe { ff_release(self.at(), self.arm) }
    }

    pub(crate) fn state(&self) -> u8 {
        unsafe { ff_state(self.memory.as_ptr()) }
    }

    pub(crate) fn cwnd(&self) -> u32 {
        unsafe { ff_cwnd(self.memory.as_ptr()) }
    }

    pub(crate) fn set_cwnd(&mut self, cwnd: u32) {
        unsafe { ff_set_cwnd(self.at(), cwnd) }
    }

    pub(crate) fn set_ssthresh(&mut self, ssthresh: u32) {
        unsafe { ff_set_ssthresh(self.at(), ssthresh) }
    }

    /// Number of the startup's evaluations by conclusion.
    pub(crate) fn outcomes(&self) -> [u8; 8] {
        // SAFETY: points into this connection's memory.
        unsafe { *ff_outcomes(self.memory.as_ptr()) }
    }

    pub(crate) fn ssthresh(&self) -> u32 {
        unsafe { ff_ssthresh(self.memory.as_ptr()) }
    }
}

/// The last report of this thread.
pub(crate) fn last_exit() -> ExitRecord {
    // SAFETY: a thread-local of the C side, alive as long as the thread.
    unsafe { NonNull::new(ff_last_exit().cast_mut()).expect("a record").read() }
}
