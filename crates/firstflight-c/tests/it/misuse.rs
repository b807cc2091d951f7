//! Calls that are wrong: each has a code and a sentence, and none ends the program.

use crate::call::{CONFIG, Memory, Sender, text};
use firstflight_c::*;
use proptest::prelude::*;
use std::ffi::{c_char, c_void};
use std::ptr;

fn refused(arm: &str, config: &ff_config) -> (i32, String) {
    Sender::of(arm, config, 0).err().unwrap_or_else(|| panic!("{arm} was taken"))
}

#[test]
fn a_wrong_arm_or_value_has_a_sentence() {
    assert_eq!(
        refused("hystart--", &CONFIG),
        (FF_ARM, "unknown arm or startup `hystart--`".to_owned())
    );
    let (code, why) = refused("rapid(k=0)", &CONFIG);
    assert_eq!(code, FF_ARM);
    assert!(why.starts_with("rapid: `k` takes "), "{why}");
    for (config, why) in [
        (ff_config { mss: 0, ..CONFIG }, "mss is 0; it must be 1 to 65536 bytes"),
        (ff_config { transport: 7, ..CONFIG }, "transport is 7; it must be FF_QUIC or FF_TCP"),
        (ff_config { paced: 3, ..CONFIG }, "paced is 3; it must be FF_DEFAULT, FF_ON or FF_OFF"),
        (
            ff_config { burst: u64::MAX, ..CONFIG },
            "burst is 18446744073709551615; it must be at most 2^30 bytes",
        ),
    ] {
        assert_eq!(refused("rapid", &config), (FF_VALUE, why.to_owned()));
    }
    let mut sender = Sender::of("rapid", &CONFIG, 0).unwrap();
    // SAFETY: a sender.
    unsafe {
        assert_eq!(ff_set_mss(sender.at(), 0), FF_VALUE);
        assert_eq!(
            text(ff_last_error(sender.at().cast())),
            "mss is 0; it must be 1 to 65536 bytes"
        );
        assert_eq!(ff_on_ack(sender.at(), ptr::null()), FF_NULL);
        assert_eq!(text(ff_last_error(sender.at().cast())), "a pointer is NULL");
        let wrong = ff_congestion { timeout: 9, ..ff_congestion::BLANK };
        assert_eq!(ff_on_congestion(sender.at(), &raw const wrong), FF_VALUE);
        assert_eq!(ff_signals(sender.at(), None, ptr::null_mut()), FF_NULL);
    }
}

#[test]
fn memory_without_a_sender_is_told_apart() {
    let (null, mut memory) = (ptr::null_mut::<c_void>(), Memory::new(0xff));
    let config = CONFIG;
    // SAFETY: NULL, or memory of the right size.
    unsafe {
        assert_eq!(ff_sender_init(null, c"rapid".as_ptr(), &raw const config, 0), FF_NULL);
        assert_eq!(ff_sender_init(memory.at(), ptr::null(), &raw const config, 0), FF_NULL);
        assert_eq!(ff_sender_init(memory.at(), c"rapid".as_ptr(), ptr::null(), 0), FF_NULL);
        let odd = memory.at().byte_add(1);
        assert_eq!(ff_sender_init(odd, c"rapid".as_ptr(), &raw const config, 0), FF_MISALIGNED);
        assert_eq!(ff_on_spurious(odd.cast()), FF_MISALIGNED);
        assert_eq!(
            text(ff_last_error(odd)),
            "the memory of the sender is not aligned to ff_sender_align()"
        );
        assert_eq!(text(ff_last_error(null)), "the memory of the sender is NULL");
        let mut never = Memory::new(0);
        let never = never.at().cast::<ff_sender>();
        assert_eq!(ff_on_spurious(never), FF_NOT_A_SENDER);
        assert_eq!((ff_cwnd(never), ff_can_send(never, 1, 0), ff_pacing_rate(never)), (0, 0, 0));
        assert_eq!((ff_ssthresh(never), ff_recovery_mark(never)), (FF_NONE, FF_NONE));
        assert_eq!(text(ff_phase(never)), "");
        assert_eq!(ff_next_send_time(never, 77, 1200, 0), 77);
    }
}

#[test]
fn a_failed_init_leaves_no_sender() {
    let mut memory = Memory::new(0);
    let config = CONFIG;
    // SAFETY: memory of the right size.
    unsafe {
        assert_eq!(ff_sender_init(memory.at(), c"rapid".as_ptr(), &raw const config, 0), FF_OK);
        assert!(ff_cwnd(memory.at().cast()) > 0);
        assert_eq!(ff_sender_init(memory.at(), c"nothing".as_ptr(), &raw const config, 0), FF_ARM);
        assert_eq!(ff_on_spurious(memory.at().cast()), FF_NOT_A_SENDER);
        assert_eq!(text(ff_last_error(memory.at())), "unknown arm or startup `nothing`");
    }
}

/// A struct with more behind it, as a newer header has it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Newer<T> {
    known: T,
    beyond: u64,
}

#[test]
fn structs_of_other_versions_are_read_by_their_size() {
    let newer = |beyond| Newer {
        known: ff_config { size: size_of::<Newer<ff_config>>(), ..CONFIG },
        beyond,
    };
    let init = |config: *const Newer<ff_config>| {
        // SAFETY: memory of the right size; the struct is as long as it says.
        unsafe { ff_sender_init(Memory::new(0).at(), c"rapid".as_ptr(), config.cast(), 0) }
    };
    assert_eq!(init(&newer(0)), FF_OK, "what the library does not know is not used");
    assert_eq!(init(&newer(1)), FF_SIZE, "what the library does not know is used");
    for size in [0, 8, size_of::<ff_config>() - 1, 4097, usize::MAX] {
        assert_eq!(refused("rapid", &ff_config { size, ..CONFIG }).0, FF_SIZE, "{size}");
    }
    let mut sender = Sender::of("rapid", &CONFIG, 5).unwrap();
    let size = size_of::<Newer<ff_misfed_info>>();
    let none = ff_misfed_info { size, ..ff_misfed_info::BLANK };
    let mut told = Newer { known: none, beyond: 9 };
    // SAFETY: a sender, and a struct as long as it says.
    unsafe {
        assert_eq!(ff_misfed(sender.at(), (&raw mut told).cast()), 0);
        ff_on_handshake_rtt(sender.at(), 10, 1000);
        let back = ff_ack { now: 20, ..ff_ack::BLANK };
        assert_eq!(ff_on_ack(sender.at(), &raw const back), FF_OK);
        assert_eq!(ff_on_ack(sender.at(), &ff_ack { now: 19, ..back }), FF_OK);
        assert_eq!(ff_misfed(sender.at(), (&raw mut told).cast()), 1);
    }
    assert_eq!(
        (told.known.at, told.known.count, text(told.known.rule), told.beyond),
        (19, 1, "time_back".to_owned(), 0)
    );
}

extern "C" fn collect(user: *mut c_void, name: *const c_char, value: u64) {
    // SAFETY: `user` is the list below.
    unsafe { &mut *user.cast::<Vec<(String, u64)>>() }.push((text(name), value));
}

#[test]
fn signals_come_with_their_names() {
    let mut sender = Sender::of("hystart++", &CONFIG, 0).unwrap();
    let mut list = Vec::<(String, u64)>::new();
    // SAFETY: a sender, a function and what it is called with.
    let code = unsafe { ff_signals(sender.at(), Some(collect), (&raw mut list).cast()) };
    assert_eq!(code, FF_OK);
    assert!(!list.is_empty() && list.iter().all(|(name, _)| !name.is_empty()), "{list:?}");
}

proptest! {
    /// Any bytes as a struct, at any address: a code, never a crash.
    #[test]
    fn hostile_structs_are_survived(
        arm in prop::sample::select(vec!["slowstart", "hystart++", "rapid", "best", "search", "plumb", "bbr3", "careful(saved=60,rtt=40)"]),
        calls in prop::collection::vec((0u8..7, any::<[u64; 20]>(), any::<[u8; 8]>(), any::<bool>(), 0usize..8), 1..60),
    ) {
        let mut sender = Sender::of(arm, &CONFIG, 0).unwrap();
        for (which, mut words, shifts, sized, offset) in calls {
            for (word, shift) in words.iter_mut().zip(shifts.iter().cycle()) {
                *word >>= shift & 63;
            }
            let sizes = [0, size_of::<ff_ready>(), size_of::<ff_sent>(), size_of::<ff_ack>(), size_of::<ff_congestion>(), 0, 0];
            // A size that lies within the buffer, or one that no version has.
            words[0] = if sized { sizes[usize::from(which)] as u64 } else { words[0] % 8 };
            let mut buffer = [0u8; 8 * 20 + 8];
            for (i, word) in words.iter().enumerate() {
                buffer[offset + 8 * i..][..8].copy_from_slice(&word.to_ne_bytes());
            }
            let (at, from) = (sender.at(), buffer[offset..].as_ptr());
            // SAFETY: a sender; the buffer is as long as its first word says, aligned or not.
            let code = unsafe {
                match which {
                    0 => ff_on_handshake_rtt(at, words[1], words[2]),
                    1 => ff_before_send(at, from.cast()),
                    2 => ff_on_sent(at, from.cast()),
                    3 => ff_on_ack(at, from.cast()),
                    4 => ff_on_congestion(at, from.cast()),
                    5 => ff_on_spurious(at),
                    _ => ff_set_mss(at, words[1]),
                }
            };
            prop_assert!([FF_OK, FF_SIZE, FF_VALUE].contains(&code), "{}", code);
            // SAFETY: a sender.
            unsafe {
                prop_assert!(ff_cwnd(at) > 0, "still alive");
                ff_next_send_time(at, words[3], words[4], words[5]);
                ff_can_send(at, words[4], words[5]);
            }
        }
    }
}
