//! The functions.

use crate::abi::*;
use crate::text::{Names, Sentence};
use core::ffi::{CStr, c_char, c_void};
use core::mem::{MaybeUninit, align_of, needs_drop, size_of};
use firstflight::event::Impossible;
use firstflight::{
    Ack, AnyController, Arm, Config, Congestion, ExitReason, Nanos, Pacer, Phase, Rate, Ready,
    Sent, Seq, Time,
};

/// Contents of a sender's memory.
#[repr(C)]
struct Sender {
    /// [`ALIVE`] while the controller may be used.
    mark: u64,
    error: Sentence,
    controller: AnyController,
    pacer: Pacer,
}

/// The largest burst in bytes, of a call and of the pacer's bucket.
const LARGEST_BURST: u64 = 1 << 30;

const ALIVE: u64 = u64::from_ne_bytes(*b"ff_alive");

// Memory that is thrown away needs no call.
const _: () = assert!(!needs_drop::<Sender>());

macro_rules! names {
    ($type:ident) => {{
        let mut names = [""; $type::ALL.len()];
        let mut i = 0;
        while i < names.len() {
            names[i] = $type::ALL[i].name();
            i += 1;
        }
        Names::of(names)
    }};
}

static PHASES: Names<{ Phase::ALL.len() }> = names!(Phase);

static REASONS: Names<{ ExitReason::ALL.len() }> = names!(ExitReason);

static RULES: Names<{ Impossible::ALL.len() }> = names!(Impossible);

const fn in_words(code: i32) -> &'static str {
    match code {
        FF_OK => "no error",
        FF_NULL => "a pointer is NULL",
        FF_MISALIGNED => "the memory of the sender is not aligned to ff_sender_align()",
        FF_NOT_A_SENDER => "this memory holds no sender: ff_sender_init was not called, or failed",
        FF_SIZE => {
            "`size` of a struct is not sizeof that struct, or the struct is of a newer version of the library"
        }
        FF_ARM => "the arm is not valid",
        FF_VALUE => "a value is out of its range",
        _ => "a bug in this library; the sender must not be used again",
    }
}

/// Reports a value that is out of its range.
#[cold]
fn out_of_range(why: &mut Sentence, field: &str, value: u64, allowed: &str) -> i32 {
    *why = Sentence::of(format_args!("{field} is {value}; it must be {allowed}"));
    FF_VALUE
}

/// Runs `act`; a panic becomes `None`.
#[cfg(feature = "std")]
#[inline(always)]
fn caught<R>(act: impl FnOnce() -> R) -> Option<R> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(act)).ok()
}

#[cfg(not(feature = "std"))]
#[inline(always)]
fn caught<R>(act: impl FnOnce() -> R) -> Option<R> {
    Some(act())
}

/// The place of a sender in the caller's memory, which may hold anything.
#[inline(always)]
fn place(memory: *mut c_void) -> Result<*mut Sender, i32> {
    let sender = memory.cast::<Sender>();
    if sender.is_null() {
        Err(FF_NULL)
    } else if sender.is_aligned() {
        Ok(sender)
    } else {
        Err(FF_MISALIGNED)
    }
}

/// The sender in the caller's memory.
#[inline(always)]
unsafe fn memory<'a>(memory: *mut c_void) -> Result<&'a mut Sender, i32> {
    let sender = place(memory)?;
    // SAFETY: the caller keeps the rules of the crate; the mark tells whether the rest is a sender.
    if unsafe { (&raw const (*sender).mark).read() } != ALIVE {
        return Err(FF_NOT_A_SENDER);
    }
    // SAFETY: the mark is written last, so everything before it is.
    Ok(unsafe { &mut *sender })
}

/// Does something to a sender and keeps the sentence of what went wrong.
#[inline(always)]
unsafe fn change(sender: *mut ff_sender, act: impl FnOnce(&mut Sender) -> Result<(), i32>) -> i32 {
    // SAFETY: the caller keeps the rules of the crate.
    let sender = match unsafe { memory(sender.cast()) } {
        Ok(sender) => sender,
        Err(code) => return code,
    };
    match caught(|| act(&mut *sender)) {
        Some(Ok(())) => FF_OK,
        Some(Err(code)) => {
            // A value out of its range has its own sentence.
            if code != FF_VALUE {
                sender.error = Sentence::of(in_words(code));
            }
            code
        }
        None => {
            sender.mark = 0;
            FF_BUG
        }
    }
}

/// Asks a sender; `otherwise` where there is none.
#[inline(always)]
unsafe fn ask<R>(sender: *const ff_sender, otherwise: R, question: impl FnOnce(&Sender) -> R) -> R {
    // SAFETY: the caller keeps the rules of the crate; nothing is written.
    let Ok(sender) = (unsafe { memory(sender.cast_mut().cast()) }) else { return otherwise };
    caught(|| question(sender)).unwrap_or(otherwise)
}

/// Returns the version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn ff_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Returns the size of a sender in bytes, the same for every arm.
#[unsafe(no_mangle)]
pub extern "C" fn ff_sender_size() -> usize {
    size_of::<Sender>()
}

/// Returns the alignment of a sender in bytes. Memory from `malloc` has it.
#[unsafe(no_mangle)]
pub extern "C" fn ff_sender_align() -> usize {
    align_of::<Sender>()
}

/// Initialises a sender of `arm` ("hystart++", "rapid/cubic/prr@(iw=32)", ...) in `memory`, which is then a `struct ff_sender`. Free
/// nothing but the memory itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_sender_init(
    memory: *mut c_void,
    arm: *const c_char,
    config: *const ff_config,
    now: ff_time,
) -> i32 {
    let sender = match place(memory) {
        Ok(sender) => sender,
        Err(code) => return code,
    };
    // SAFETY: not NULL, aligned and large enough; no reference to it exists.
    let (mark, error) = unsafe { (&raw mut (*sender).mark, &raw mut (*sender).error) };
    // SAFETY: as above. The memory may hold anything: only these two are written before there is a controller.
    unsafe {
        mark.write(0);
        error.write(Sentence::EMPTY);
    }
    let mut why = Sentence::EMPTY;
    // SAFETY: the caller keeps the rules of the crate.
    let made = caught(|| unsafe { make(arm, config, Time(now), &mut why) });
    match made {
        Some(Ok((controller, pacer))) => {
            // SAFETY: as above.
            unsafe {
                (&raw mut (*sender).controller).write(controller);
                (&raw mut (*sender).pacer).write(pacer);
                mark.write(ALIVE);
            }
            FF_OK
        }
        Some(Err(code)) => {
            // SAFETY: as above.
            unsafe { error.write(if why.is_empty() { Sentence::of(in_words(code)) } else { why }) };
            code
        }
        None => FF_BUG,
    }
}

unsafe fn make(
    arm: *const c_char,
    config: *const ff_config,
    now: Time,
    why: &mut Sentence,
) -> Result<(AnyController, Pacer), i32> {
    let mut room = MaybeUninit::uninit();
    // SAFETY: the caller keeps the rules of the crate.
    let given = unsafe { read(config, &mut room) }?;
    if arm.is_null() {
        return Err(FF_NULL);
    }
    // SAFETY: the caller keeps the rules of the crate.
    let text = unsafe { CStr::from_ptr(arm) }.to_str().map_err(|_| FF_ARM)?;
    let arm = Arm::parse(text).map_err(|error| {
        *why = Sentence::of(error);
        FF_ARM
    })?;
    if !(1..=65_536).contains(&given.mss) {
        return Err(out_of_range(why, "mss", given.mss, "1 to 65536 bytes"));
    }
    let mut config = match given.transport {
        FF_QUIC => Config::quic(given.mss),
        FF_TCP => Config::tcp(given.mss),
        other => return Err(out_of_range(why, "transport", other.into(), "FF_QUIC or FF_TCP")),
    };
    config.paced = switch(why, "paced", given.paced)?.unwrap_or(config.paced);
    config.sack = switch(why, "sack", given.sack)?.unwrap_or(config.sack);
    if let Some(window) =
        amount(why, "initial_window", given.initial_window, 1 << 40, "at most 2^40 bytes")?
    {
        config.initial_window = window;
    }
    if let Some(burst) =
        amount(why, "max_burst", given.max_burst, LARGEST_BURST, "at most 2^30 bytes")?
    {
        config.max_burst = burst;
    }
    let bucket = amount(why, "burst", given.burst, LARGEST_BURST, "at most 2^30 bytes")?
        .unwrap_or(10 * given.mss);
    let bucket = arm.sender.burst.map_or(bucket, |packets| given.mss * u64::from(packets));
    Ok((arm.controller(config, now, Seq(given.nxt)), Pacer::new(bucket, now)))
}

fn switch(why: &mut Sentence, field: &str, value: u32) -> Result<Option<bool>, i32> {
    match value {
        FF_DEFAULT => Ok(None),
        FF_ON => Ok(Some(true)),
        FF_OFF => Ok(Some(false)),
        other => Err(out_of_range(why, field, other.into(), "FF_DEFAULT, FF_ON or FF_OFF")),
    }
}

fn amount(
    why: &mut Sentence,
    field: &str,
    value: u64,
    most: u64,
    allowed: &str,
) -> Result<Option<u64>, i32> {
    if value > most {
        Err(out_of_range(why, field, value, allowed))
    } else {
        Ok((value > 0).then_some(value))
    }
}

/// Returns a sentence about the last error of this sender, valid until the next call for this sender. After a failed `ff_sender_init`,
/// pass the same memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_last_error(memory: *const c_void) -> *const c_char {
    static NULL: Sentence = Sentence::fixed("the memory of the sender is NULL");
    static MISALIGNED: Sentence = Sentence::fixed(in_words(FF_MISALIGNED));
    match place(memory.cast_mut()) {
        // SAFETY: `ff_sender_init` wrote it, whether it failed or not.
        Ok(sender) => unsafe { &(*sender).error }.as_ptr(),
        Err(FF_NULL) => NULL.as_ptr(),
        Err(_) => MISALIGNED.as_ptr(),
    }
}

/// Records the RTT that the handshake measured, in ns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_on_handshake_rtt(
    sender: *mut ff_sender,
    now: ff_time,
    rtt: u64,
) -> i32 {
    // SAFETY: the caller keeps the rules of the crate.
    unsafe {
        change(sender, |sender| {
            sender.controller.on_handshake_rtt(Time(now), Nanos(rtt));
            Ok(())
        })
    }
}

/// Call this before each burst, and before `ff_can_send`: it may start a train or end an idle period.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_before_send(sender: *mut ff_sender, ready: *const ff_ready) -> i32 {
    // SAFETY: the caller keeps the rules of the crate.
    unsafe {
        change(sender, |sender| {
            let mut room = MaybeUninit::uninit();
            sender.controller.before_send(&Ready::from(read(ready, &mut room)?));
            Ok(())
        })
    }
}

/// Records packets that were sent, and takes their bytes from the pacer's bucket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_on_sent(sender: *mut ff_sender, sent: *const ff_sent) -> i32 {
    // SAFETY: the caller keeps the rules of the crate.
    unsafe {
        change(sender, |sender| {
            let mut room = MaybeUninit::uninit();
            let sent = Sent::from(read(sent, &mut room)?);
            let spacing = sender.controller.spacing();
            sender.pacer.on_sent(sent.now, sent.bytes.min(LARGEST_BURST), spacing);
            sender.controller.on_sent(&sent);
            Ok(())
        })
    }
}

/// Processes an ACK, or losses that a timer found.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_on_ack(sender: *mut ff_sender, ack: *const ff_ack) -> i32 {
    // SAFETY: the caller keeps the rules of the crate.
    unsafe {
        change(sender, |sender| {
            let mut room = MaybeUninit::uninit();
            sender.controller.on_ack(&Ack::from(read(ack, &mut room)?));
            Ok(())
        })
    }
}

/// Processes a timeout or persistent congestion.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_on_congestion(
    sender: *mut ff_sender,
    congestion: *const ff_congestion,
) -> i32 {
    // SAFETY: the caller keeps the rules of the crate.
    unsafe {
        change(sender, |sender| {
            let mut room = MaybeUninit::uninit();
            let given = read(congestion, &mut room)?;
            let congestion = Congestion::try_from(given).map_err(|other| {
                let allowed = "FF_RTO, FF_RTO_AGAIN or FF_PERSISTENT_CONGESTION";
                out_of_range(&mut sender.error, "timeout", other.into(), allowed)
            })?;
            sender.controller.on_congestion(&congestion);
            Ok(())
        })
    }
}

/// Undoes the last window reduction, because the packets that were declared lost have arrived.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_on_spurious(sender: *mut ff_sender) -> i32 {
    // SAFETY: the caller keeps the rules of the crate.
    unsafe {
        change(sender, |sender| {
            sender.controller.on_spurious();
            Ok(())
        })
    }
}

/// Sets the largest payload of a packet, in bytes: 1 to 65536.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_set_mss(sender: *mut ff_sender, mss: u64) -> i32 {
    // SAFETY: the caller keeps the rules of the crate.
    unsafe {
        change(sender, |sender| {
            if !(1..=65_536).contains(&mss) {
                return Err(out_of_range(&mut sender.error, "mss", mss, "1 to 65536 bytes"));
            }
            sender.controller.set_mss(mss);
            Ok(())
        })
    }
}

/// Returns the congestion window in bytes; 0 without a sender.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_cwnd(sender: *const ff_sender) -> u64 {
    // SAFETY: the caller keeps the rules of the crate.
    unsafe { ask(sender, 0, |sender| sender.controller.cwnd()) }
}

/// Returns the slow-start threshold in bytes; `FF_NONE` until it is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_ssthresh(sender: *const ff_sender) -> u64 {
    // SAFETY: the caller keeps the rules of the crate.
    unsafe { ask(sender, FF_NONE, |sender| sender.controller.ssthresh().unwrap_or(FF_NONE)) }
}

/// Returns 1 if window and recovery allow the sender to send `bytes` with `inflight` bytes already in flight, 0 otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_can_send(sender: *const ff_sender, bytes: u64, inflight: u64) -> i32 {
    // SAFETY: the caller keeps the rules of the crate.
    unsafe { ask(sender, 0, |sender| i32::from(sender.controller.admits(bytes, inflight))) }
}

/// Returns the pacing rate in bytes per second; 0 if packets are not paced, or not yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_pacing_rate(sender: *const ff_sender) -> u64 {
    // SAFETY: the caller keeps the rules of the crate.
    unsafe { ask(sender, 0, |sender| sender.controller.pacing_rate().map_or(0, |Rate(rate)| rate)) }
}

/// Returns the time, `now` or later, at which the pacer releases a packet of `bytes` bytes with `inflight` bytes in flight. For
/// transports without a pacer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_next_send_time(
    sender: *mut ff_sender,
    now: ff_time,
    bytes: u64,
    inflight: u64,
) -> ff_time {
    let mut wait = Nanos::ZERO;
    // SAFETY: the caller keeps the rules of the crate.
    _ = unsafe {
        change(sender, |sender| {
            let spacing = sender.controller.spacing();
            wait = sender.pacer.delay(Time(now), bytes.min(LARGEST_BURST), inflight, spacing);
            Ok(())
        })
    };
    now.saturating_add(wait.0)
}

/// Returns 1 if packets should be marked ECT(1) to request the low-latency service of L4S, 0 otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_is_l4s(sender: *const ff_sender) -> i32 {
    // SAFETY: the caller keeps the rules of the crate.
    unsafe { ask(sender, 0, |sender| i32::from(sender.controller.is_l4s())) }
}

/// Returns 1 during a recovery, 0 otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_in_recovery(sender: *const ff_sender) -> i32 {
    // SAFETY: the caller keeps the rules of the crate.
    unsafe { ask(sender, 0, |sender| i32::from(sender.controller.in_recovery())) }
}

/// Returns the number of the first packet (QUIC) or byte (TCP) sent after the last recovery began, which `acked_fresh` of `struct ff_ack`
/// needs; `FF_NONE` if there was no recovery.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_recovery_mark(sender: *const ff_sender) -> u64 {
    // SAFETY: the caller keeps the rules of the crate.
    unsafe {
        ask(sender, FF_NONE, |sender| {
            sender.controller.recovery_mark().map_or(FF_NONE, |Seq(mark)| mark)
        })
    }
}

/// Returns the phase of the sender, a static string: "startup", "css", "recovery", "avoidance", ...; "" without a sender.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_phase(sender: *const ff_sender) -> *const c_char {
    // SAFETY: the caller keeps the rules of the crate.
    unsafe { ask(sender, c"".as_ptr(), |sender| PHASES.get(sender.controller.phase() as usize)) }
}

/// Returns the number of round trips that startup has completed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_rounds(sender: *const ff_sender) -> u32 {
    // SAFETY: the caller keeps the rules of the crate.
    unsafe { ask(sender, 0, |sender| sender.controller.rounds()) }
}

/// Returns 1 and fills `exit` if startup has ended, 0 if not, a negative code on an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_exit(sender: *mut ff_sender, exit: *mut ff_exit_info) -> i32 {
    let mut found = FF_OK;
    // SAFETY: the caller keeps the rules of the crate.
    let code = unsafe {
        change(sender, |sender| {
            let Some(ended) = sender.controller.exit() else { return Ok(()) };
            found = 1;
            write(
                exit,
                &ff_exit_info {
                    at: ended.at.0,
                    since_first_send: ended.since_first_send.0,
                    rounds: ended.rounds.into(),
                    detect_cwnd: ended.detect_cwnd,
                    cwnd: ended.cwnd,
                    inflight: ended.inflight,
                    estimate: ended.estimate.unwrap_or(FF_NONE),
                    reason: REASONS.get(ended.reason as usize),
                    ..ff_exit_info::BLANK
                },
            )
        })
    };
    if code == FF_OK { found } else { code }
}

/// Returns 1 and fills `misfed` if the transport made impossible reports, such as time that goes backwards or more bytes delivered than
/// sent; 0 if not, a negative code on an error. Tests of a transport should check that it returns 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_misfed(sender: *mut ff_sender, misfed: *mut ff_misfed_info) -> i32 {
    let mut found = FF_OK;
    // SAFETY: the caller keeps the rules of the crate.
    let code = unsafe {
        change(sender, |sender| {
            let Some(wrong) = sender.controller.misfed() else { return Ok(()) };
            found = 1;
            let (at, count) = (wrong.at.0, wrong.count.into());
            let rule = RULES.get(wrong.rule as usize);
            write(misfed, &ff_misfed_info { at, count, rule, ..ff_misfed_info::BLANK })
        })
    };
    if code == FF_OK { found } else { code }
}

/// Calls `visit` with the name and value of each inner signal of startup and avoidance, for logs. The name is valid during the call only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_signals(
    sender: *const ff_sender,
    visit: Option<unsafe extern "C" fn(user: *mut c_void, name: *const c_char, value: u64)>,
    user: *mut c_void,
) -> i32 {
    let Some(visit) = visit else { return FF_NULL };
    // SAFETY: the caller keeps the rules of the crate.
    unsafe {
        change(sender.cast_mut(), |sender| {
            sender
                .controller
                .signals(&mut |name, value| visit(user, Sentence::of(name).as_ptr(), value));
            Ok(())
        })
    }
}
