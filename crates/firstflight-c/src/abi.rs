//! The structs that cross the boundary.
//!
//! Each begins with its size. A caller that was compiled with an older header passes a shorter struct, and the fields it does not
//! have are zero. A caller with a newer header may pass a longer struct, as long as what this library does not know is zero.
//! Zero therefore always means "nothing", "unknown" or "the default".

use core::mem::{MaybeUninit, size_of};
use core::ptr;

/// A point in time on the caller's monotonic clock, in nanoseconds since any origin.
pub type ff_time = u64;

/// No value: a threshold that was never set, a mark that does not exist.
pub const FF_NONE: u64 = u64::MAX;

/// The call succeeded.
pub const FF_OK: i32 = 0;
/// A pointer is NULL.
pub const FF_NULL: i32 = -1;
/// The sender's memory is not aligned to `ff_sender_align()`.
pub const FF_MISALIGNED: i32 = -2;
/// The memory holds no sender: `ff_sender_init` was not called or failed, or an earlier call returned `FF_BUG`.
pub const FF_NOT_A_SENDER: i32 = -3;
/// The `size` of a struct is too small, or the struct is of a newer version and uses what this library does not know.
pub const FF_SIZE: i32 = -4;
/// The arm is not valid; `ff_last_error` says why.
pub const FF_ARM: i32 = -5;
/// A value is out of its range; `ff_last_error` names it.
pub const FF_VALUE: i32 = -6;
/// A bug in this library. The sender must not be used again.
pub const FF_BUG: i32 = -7;

/// QUIC's rules: packet numbers, RFC 9002.
pub const FF_QUIC: u32 = 0;
/// TCP's rules: sequence numbers, RFC 5681 and RFC 6675.
pub const FF_TCP: u32 = 1;

/// The default of the arm or the transport.
pub const FF_DEFAULT: u32 = 0;
/// On.
pub const FF_ON: u32 = 1;
/// Off.
pub const FF_OFF: u32 = 2;

/// TCP: the retransmission timer expired for the first time in a series.
pub const FF_RTO: u32 = 0;
/// TCP: the retransmission timer expired again.
pub const FF_RTO_AGAIN: u32 = 1;
/// QUIC: persistent congestion (RFC 9002 section 7.6).
pub const FF_PERSISTENT_CONGESTION: u32 = 2;

/// A sender, in memory that the caller provides.
pub struct ff_sender {
    _opaque: (),
}

/// Configuration of a connection.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ff_config {
    /// `sizeof(struct ff_config)`.
    pub size: usize,
    /// `FF_QUIC` or `FF_TCP`.
    pub transport: u32,
    /// Turns pacing on (`FF_ON`) or off (`FF_OFF`). `FF_DEFAULT` paces QUIC but not TCP. The arm's `@(pace=..)` overrides this field.
    pub paced: u32,
    /// Largest payload of a packet as the window counts it, in bytes: 1 to 65536.
    pub mss: u64,
    /// Initial window in bytes, at most 2^40; 0: ten packets as in RFC 6928 and RFC 9002. The arm's `@(iw=..)` overrides this field.
    pub initial_window: u64,
    /// The first packet number (QUIC) or sequence number (TCP).
    pub nxt: u64,
    /// Depth of the pacer's bucket in bytes, at most 2^30; 0: ten packets. The arm's `@(burst=..)` overrides this field.
    pub burst: u64,
    /// Largest burst that leaves in one send call, in bytes (GSO), at most 2^30; 0: ten packets (QUIC), 64 KiB (TCP).
    pub max_burst: u64,
    /// TCP: `FF_ON` or `FF_DEFAULT` if the connection uses SACK, `FF_OFF` if not.
    pub sack: u32,
    /// 0.
    pub reserved: u32,
}

/// Describes the state of the connection before a burst is sent.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ff_ready {
    /// `sizeof(struct ff_ready)`.
    pub size: usize,
    /// The current time.
    pub now: ff_time,
    /// Next packet number (QUIC) or next new sequence number (TCP).
    pub nxt: u64,
    /// Bytes in flight.
    pub inflight: u64,
    /// Bytes that the application and the peer's limits allow to be sent now; `FF_NONE` if there is no limit.
    pub backlog: u64,
    /// Smoothed RTT in ns; 0 if there was no sample yet.
    pub srtt: u64,
    /// Time since the last byte left flight, in ns; 0 if bytes are in flight.
    pub idle: u64,
    /// Retransmission timeout (TCP) or probe timeout (QUIC) in force, in ns.
    pub timeout: u64,
}

/// Describes a packet or burst that was sent.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ff_sent {
    /// `sizeof(struct ff_sent)`.
    pub size: usize,
    /// The current time.
    pub now: ff_time,
    /// Bytes sent, new and repeated, as the window counts them.
    pub bytes: u64,
    /// Next packet number (QUIC) or highest sequence number sent so far (TCP), after this send.
    pub nxt: u64,
    /// Bytes in flight, these included.
    pub inflight: u64,
    /// Smoothed RTT in ns; 0 if there was no sample yet.
    pub srtt: u64,
}

/// Describes an ACK, or losses that a timer found (then `acked` and `rtt` are 0). Set every field up to `app_limited`. Only some
/// transports know the fields after it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ff_ack {
    /// `sizeof(struct ff_ack)`.
    pub size: usize,
    /// When the ACK arrived at the host.
    pub now: ff_time,
    /// Bytes newly delivered: cumulative and SACK, each byte once (TCP); newly acknowledged packets that were in flight (QUIC).
    pub acked: u64,
    /// Of `acked`, bytes sent at or after `ff_recovery_mark` (RFC 9002 section 7.3.2). Only QUIC's rules use it; a transport that
    /// cannot tell sets `acked`.
    pub acked_fresh: u64,
    /// Bytes newly declared lost.
    pub lost: u64,
    /// RTT sample in ns; 0 if there is none.
    pub rtt: u64,
    /// Smoothed RTT in ns, this sample included; 0 if there was none yet.
    pub srtt: u64,
    /// Largest acknowledged packet number + 1 (QUIC), SND.UNA (TCP).
    pub una: u64,
    /// Next packet number (QUIC), SND.NXT (TCP).
    pub nxt: u64,
    /// `nxt - una` (TCP); bytes in flight after removing `acked` and before removing `lost` (QUIC).
    pub flight: u64,
    /// TCP: bytes SACKed above `una`. QUIC: 0.
    pub sacked: u64,
    /// Bytes in flight just before this ACK.
    pub inflight_before: u64,
    /// Bytes in flight after removing `acked` and `lost`.
    pub inflight: u64,
    /// Bytes sent on this connection so far, repeats included.
    pub sent: u64,
    /// Ordinal + 1 of the latest transmission among what was newly delivered (QUIC: packet number + 1); 0 if nothing was.
    pub tx_acked_end: u64,
    /// Ordinal + 1 of the latest transmission among what was newly declared lost; 0 if nothing was. TCP: if an original is declared lost after its repeat was sent,
    /// this is the original.
    pub tx_lost_end: u64,
    /// Ordinal of the next transmission (QUIC: `nxt`).
    pub tx_next: u64,
    /// Nonzero: the ACK newly reports congestion marks (ECN-CE).
    pub ce: u8,
    /// Nonzero: the window was the limit since the last ACK, not the application and not the peer. Waiting for the pacer counts as
    /// limited by the window.
    pub cwnd_limited: u8,
    /// Nonzero: the application had nothing to send while the window was open.
    pub app_limited: u8,
    /// TCP, nonzero: a repeat that was sent in this recovery was itself declared lost.
    pub lost_again: u8,
    /// TCP, nonzero: `una` passed a segment that was sent more than once.
    pub repeat_acked: u8,
    /// TCP, nonzero: the next transmission would be the rescue retransmission of RFC 6675.
    pub rescue_next: u8,
    /// TCP, nonzero: something declared lost is neither acknowledged nor SACKed.
    pub unrepaired: u8,
    /// TCP, nonzero: what this ACK SACKs grows the window as if `una` had moved (Linux after reordering).
    pub sack_advances: u8,
    /// Of `acked`, bytes in packets that arrived with an ECN mark; 0 if there were none or the transport cannot tell.
    pub ce_bytes: u64,
    /// The receiver's clock when it sent the ACK, in ticks (TCP TSval), if `has_receiver_ts` is nonzero.
    pub receiver_ts: u32,
    /// Nonzero: `receiver_ts` is known.
    pub has_receiver_ts: u8,
    /// 0.
    pub reserved: [u8; 3],
}

/// Describes a timeout or persistent congestion.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ff_congestion {
    /// `sizeof(struct ff_congestion)`.
    pub size: usize,
    /// The current time.
    pub now: ff_time,
    /// Next packet number (QUIC), SND.NXT (TCP).
    pub nxt: u64,
    /// Bytes in flight just before.
    pub inflight_before: u64,
    /// `FF_RTO`, `FF_RTO_AGAIN` or `FF_PERSISTENT_CONGESTION`.
    pub timeout: u32,
    /// 0.
    pub reserved: u32,
}

/// Describes the end of startup.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ff_exit_info {
    /// `sizeof(struct ff_exit_info)`, set by the caller.
    pub size: usize,
    /// The time of the exit.
    pub at: ff_time,
    /// Time since the first byte was sent, in ns.
    pub since_first_send: u64,
    /// Round trips completed.
    pub rounds: u64,
    /// Window before any reduction, in bytes.
    pub detect_cwnd: u64,
    /// Window right after, in bytes.
    pub cwnd: u64,
    /// Bytes in flight just before the deciding ACK.
    pub inflight: u64,
    /// The value that decided, in the algorithm's own unit; `FF_NONE` if there is none.
    pub estimate: u64,
    /// The reason, a static string: "loss", "delay", "css_done", ...
    pub reason: *const core::ffi::c_char,
}

/// Describes impossible reports of the transport.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ff_misfed_info {
    /// `sizeof(struct ff_misfed_info)`, set by the caller.
    pub size: usize,
    /// Time of the first such report.
    pub at: ff_time,
    /// Number of such reports.
    pub count: u64,
    /// The rule that the first such report broke, a static string: "time_back", "more_delivered", ...
    pub rule: *const core::ffi::c_char,
}

/// A struct that begins with its size.
///
/// # Safety
/// The type is `repr(C)`, begins with `size: usize`, and any bytes are a value of it.
pub(crate) unsafe trait Versioned: Copy {
    /// Its size in the first version of the library that had it.
    const FIRST: usize;
}

/// No struct is larger in any version, so that a wild `size` reads no wild memory.
const LARGEST: usize = 4096;

macro_rules! sized {
    ($($type:ident $first:literal)+) => {$(
        // SAFETY: repr(C) structs of integers, arrays of them and pointers, beginning with `size`.
        unsafe impl Versioned for $type {
            const FIRST: usize = $first;
        }
        impl $type {
            /// Nothing but its size.
            pub const BLANK: $type = {
                // SAFETY: any bytes are a value of it.
                let mut blank: $type = unsafe { MaybeUninit::zeroed().assume_init() };
                blank.size = size_of::<$type>();
                blank
            };
        }
        const _: () = assert!(size_of::<$type>() >= $first && size_of::<$type>() <= LARGEST);
        const _: () = assert!(core::mem::offset_of!($type, size) == 0);
    )+};
}
sized! {
    ff_config 64
    ff_ready 64
    ff_sent 48
    ff_ack 160
    ff_congestion 40
    ff_exit_info 72
    ff_misfed_info 32
}

/// The size that the caller gave.
///
/// # Safety
/// `from` is NULL or points to a struct that begins with its size, aligned or not.
unsafe fn size_of_caller<T: Versioned>(from: *const T) -> Result<usize, i32> {
    if from.is_null() {
        return Err(FF_NULL);
    }
    // SAFETY: not NULL, and its first member is the size.
    let size = unsafe { from.cast::<usize>().read_unaligned() };
    if (T::FIRST..=LARGEST).contains(&size) { Ok(size) } else { Err(FF_SIZE) }
}

/// A struct of any version of the library: the caller's own, or a copy in `room` where it is of another version or not aligned.
///
/// # Safety
/// `from` is NULL or points to `size` readable bytes, where `size` is its first member, and nobody writes to them meanwhile.
#[inline(always)]
pub(crate) unsafe fn read<T: Versioned>(
    from: *const T,
    room: &mut MaybeUninit<T>,
) -> Result<&T, i32> {
    // SAFETY: if it is not NULL, its first member is the size.
    if from.is_aligned()
        && !from.is_null()
        && unsafe { from.cast::<usize>().read() } == size_of::<T>()
    {
        // SAFETY: aligned, of this version, and any bytes are a value.
        return Ok(unsafe { &*from });
    }
    // SAFETY: as the caller promises.
    unsafe { copy(from, room) }
}

/// Copies a struct of any version into `room`.
///
/// # Safety
/// As [`read`].
#[cold]
#[inline(never)]
unsafe fn copy<T: Versioned>(from: *const T, room: &mut MaybeUninit<T>) -> Result<&T, i32> {
    // SAFETY: as the caller promises.
    let size = unsafe { size_of_caller(from) }?;
    let known = size.min(size_of::<T>());
    *room = MaybeUninit::zeroed();
    // SAFETY: `known` bytes are readable, and the value has room for them.
    unsafe { ptr::copy_nonoverlapping(from.cast::<u8>(), room.as_mut_ptr().cast(), known) };
    for at in known..size {
        // SAFETY: below `size`.
        if unsafe { from.cast::<u8>().add(at).read() } != 0 {
            return Err(FF_SIZE);
        }
    }
    // SAFETY: any bytes are a value.
    Ok(unsafe { room.assume_init_ref() })
}

/// Writes as much of a struct as the caller's version has; what the caller has beyond it becomes zero. `size` stays.
///
/// # Safety
/// `to` is NULL or points to `size` writable bytes, where `size` is its first member.
pub(crate) unsafe fn write<T: Versioned>(to: *mut T, value: &T) -> Result<(), i32> {
    // SAFETY: as the caller promises.
    let size = unsafe { size_of_caller(to.cast_const()) }?;
    let known = size.min(size_of::<T>());
    let head = size_of::<usize>();
    // SAFETY: `size` bytes are writable, and the value has `known`.
    unsafe {
        let from = ptr::from_ref(value).cast::<u8>();
        ptr::copy_nonoverlapping(from.add(head), to.cast::<u8>().add(head), known - head);
        ptr::write_bytes(to.cast::<u8>().add(known), 0, size - known);
    }
    Ok(())
}
