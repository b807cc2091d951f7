//! Every arm that can be named, in a program that is linked against nothing: no standard library, no C library, no heap, no start-up code.
//! It drives each through slow start, a loss, the repair, avoidance, a timeout and a false alarm, and returns the number of arms that
//! could not be parsed. That it links shows what the core needs; that it returns 0 shows that it works like that.
#![no_std]
#![no_main]

use core::panic::PanicInfo;
use firstflight::arm::{AVOIDANCES, Arm, RECOVERIES, STARTUPS};
use firstflight::{Ack, AckDetail, AnyController, Config, Congestion, Nanos, Ready, Sent, Seq, Time, Timeout, Transport};

const MSS: u64 = 1_200;

/// `startup/avoidance/recovery` without a heap.
struct Name {
    bytes: [u8; 64],
    len: usize,
}

impl Name {
    fn of(parts: [&str; 3]) -> Name {
        let mut name = Name { bytes: [0; 64], len: 0 };
        for (i, part) in parts.iter().enumerate() {
            for &byte in if i > 0 { b"/".iter() } else { b"".iter() }.chain(part.as_bytes()) {
                if let Some(slot) = name.bytes.get_mut(name.len) {
                    *slot = byte;
                    name.len += 1;
                }
            }
        }
        name
    }

    fn text(&self) -> &str {
        core::str::from_utf8(self.bytes.get(..self.len).unwrap_or(&[])).unwrap_or("")
    }
}

fn ack(round: u64, lost: u64) -> Ack {
    let rtt = Some(Nanos::from_millis(30 + round));
    Ack {
        now: Time(round * 30_000_000),
        acked: 2 * MSS,
        acked_fresh: 2 * MSS,
        lost,
        rtt,
        srtt: rtt,
        una: Seq(2 * round + 2),
        nxt: Seq(2 * round + 12),
        flight: 10 * MSS,
        inflight_before: 12 * MSS,
        inflight: 10 * MSS - lost,
        sent: (2 * round + 12) * MSS,
        tx_acked: Some(2 * round + 1),
        tx_lost: (lost > 0).then_some(2 * round),
        tx_next: 2 * round + 12,
        cwnd_limited: true,
        app_limited: false,
        ce: false,
        sacked: 0,
        detail: AckDetail::default(),
    }
}

/// A short life; the window at its end.
fn drive(c: &mut AnyController) -> u64 {
    let srtt = Some(Nanos::from_millis(30));
    c.before_send(&Ready { now: Time(1), backlog: u64::MAX, srtt, ..Ready::default() });
    c.on_sent(&Sent { now: Time(1), bytes: 12 * MSS, nxt: Seq(12), inflight: 12 * MSS, srtt });
    for round in 0..200 {
        c.on_ack(&ack(round, if round % 60 == 40 { MSS } else { 0 }));
        if round == 45 {
            c.on_spurious();
        }
        if round == 150 {
            let timeout = Timeout::PersistentCongestion;
            c.on_congestion(&Congestion { now: Time(round * 30_000_000), timeout, nxt: Seq(400), inflight_before: 10 * MSS });
        }
    }
    let mut signals = 0;
    c.signals(&mut |_, value| signals ^= value);
    core::hint::black_box(signals);
    if c.admits(MSS, 0) { c.cwnd() } else { 0 }
}

/// On how many of both transports an arm ends without a window.
fn try_out(arm: &Arm) -> i32 {
    let mut failed = 0;
    for base in [Config::quic(MSS), firstflight::with!(Config { transport: Transport::Tcp, ..Config::tcp(MSS) })] {
        let mut controller = arm.with_oracle(300_000).controller(base, Time(0), Seq(0));
        failed += i32::from(drive(&mut controller) < MSS);
    }
    failed
}

fn run() -> i32 {
    let mut failed = 0;
    for startup in STARTUPS {
        // One that does everything itself takes nothing beside it.
        if let Ok(arm) = Arm::parse(startup.name)
            && arm.startup.is_whole()
        {
            failed += try_out(&arm);
            continue;
        }
        for avoidance in AVOIDANCES {
            for recovery in RECOVERIES {
                let name = Name::of([startup.name, avoidance.name, recovery.name]);
                failed += Arm::parse(name.text()).map_or(1, |arm| try_out(&arm));
            }
        }
    }
    failed
}

// The kernel enters with the stack aligned as if nobody had called; compiled code expects a call.
#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(".globl _start", "_start:", "xor ebp, ebp", "call {main}", "ud2", main = sym main);
#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(".globl _start", "_start:", "bl {main}", "brk 1", main = sym main);

extern "C" fn main() -> ! {
    exit(run())
}

#[panic_handler]
fn panic(_info: &PanicInfo<'_>) -> ! {
    exit(101)
}

/// Linux on the two machines that the check runs on; elsewhere linking is the proof and running it hangs.
fn exit(code: i32) -> ! {
    // SAFETY: the system call that ends the process: it returns nothing and touches no memory.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    unsafe {
        core::arch::asm!("syscall", in("rax") 231, in("rdi") code, options(noreturn))
    }
    // SAFETY: as above.
    #[cfg(all(target_os = "linux", target_arch = "aarch64"))]
    unsafe {
        core::arch::asm!("svc 0", in("x8") 94, in("x0") code, options(noreturn))
    }
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    loop {
        core::hint::black_box(code);
    }
}

/// Functions that compilers call for copies and fills and that a C library usually provides. Volatile, so that they are not compiled into calls of themselves.
mod memory {
    #[unsafe(no_mangle)]
    unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, n: usize) -> *mut u8 {
        for i in 0..n {
            // SAFETY: the caller promises `n` valid bytes on both sides.
            unsafe { to.add(i).write_volatile(from.add(i).read()) };
        }
        to
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, n: usize) -> *mut u8 {
        for i in 0..n {
            let i = if to.cast_const() > from { n - 1 - i } else { i };
            // SAFETY: as for memcpy; the direction keeps what is still to be read.
            unsafe { to.add(i).write_volatile(from.add(i).read()) };
        }
        to
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn memset(to: *mut u8, byte: i32, n: usize) -> *mut u8 {
        for i in 0..n {
            // SAFETY: the caller promises `n` valid bytes.
            unsafe { to.add(i).write_volatile(byte as u8) };
        }
        to
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
        for i in 0..n {
            // SAFETY: the caller promises `n` valid bytes on both sides.
            let (x, y) = unsafe { (a.add(i).read_volatile(), b.add(i).read_volatile()) };
            if x != y {
                return i32::from(x) - i32::from(y);
            }
        }
        0
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
        // SAFETY: the same promise.
        unsafe { memcmp(a, b, n) }
    }
}
