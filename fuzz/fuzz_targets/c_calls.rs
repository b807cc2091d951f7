//! The C interface under hostile calls: any arm, any struct of any size at any address, in any order. Nothing crashes, and a sender
//! that was made stays one.
#![no_main]

use firstflight_c::*;
use libfuzzer_sys::fuzz_target;

/// The next bytes of the input; nothing at its end.
fn take<'a>(input: &mut &'a [u8], most: usize) -> &'a [u8] {
    let (head, rest) = input.split_at(most.min(input.len()));
    *input = rest;
    head
}

fn number(input: &mut &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let some = take(input, 8);
    bytes[..some.len()].copy_from_slice(some);
    u64::from_le_bytes(bytes)
}

/// A struct in a buffer of the size that it states, or of one that states nonsense, which must not be read beyond its first word.
fn record(input: &mut &[u8], size: usize) -> (Vec<u8>, usize) {
    let choice = number(input);
    let (stated, offset) = match choice % 4 {
        0 => (choice as usize % 8, 0),
        1 => (size + choice as usize / 8 % 64, choice as usize / 512 % 8),
        _ => (size, choice as usize / 512 % 8),
    };
    let mut buffer = vec![0; offset + stated.max(8)];
    let some = take(input, buffer.len() - offset);
    buffer[offset..offset + some.len()].copy_from_slice(some);
    buffer[offset..offset + 8].copy_from_slice(&stated.to_ne_bytes());
    (buffer, offset)
}

fuzz_target!(|input: &[u8]| {
    let mut input = input;
    let arm = {
        let length = number(&mut input) as usize % 64;
        let mut arm = take(&mut input, length).to_vec();
        arm.retain(|byte| *byte != 0);
        arm.push(0);
        arm
    };
    let mut memory = vec![u128::MAX; ff_sender_size().div_ceil(16)];
    let at = memory.as_mut_ptr();
    let (config, offset) = record(&mut input, size_of::<ff_config>());
    // SAFETY: enough memory, a text, and structs as long as they say.
    unsafe {
        let config = config[offset..].as_ptr().cast();
        let mut made = ff_sender_init(at.cast(), arm.as_ptr().cast(), config, number(&mut input));
        if made != FF_OK {
            let usual = ff_config { mss: 1200, ..ff_config::BLANK };
            let arms = [
                c"hystart++",
                c"rapid",
                c"plumb",
                c"bbr3",
                c"search",
                c"best",
                c"careful(saved=60,rtt=40)",
                c"slowstart/abba/sack",
            ];
            made = ff_sender_init(
                at.cast(),
                arms[number(&mut input) as usize % arms.len()].as_ptr(),
                &raw const usual,
                0,
            );
        }
        assert_eq!(made, FF_OK);
        let sender = at.cast::<ff_sender>();
        while !input.is_empty() {
            let which = take(&mut input, 1)[0] % 7;
            let sizes = [
                size_of::<ff_ready>(),
                size_of::<ff_sent>(),
                size_of::<ff_ack>(),
                size_of::<ff_congestion>(),
            ];
            let code = if let Some(size) = sizes.get(usize::from(which)) {
                let (buffer, offset) = record(&mut input, *size);
                let from = buffer[offset..].as_ptr();
                match which {
                    0 => ff_before_send(sender, from.cast()),
                    1 => ff_on_sent(sender, from.cast()),
                    2 => ff_on_ack(sender, from.cast()),
                    _ => ff_on_congestion(sender, from.cast()),
                }
            } else {
                match which {
                    4 => ff_on_handshake_rtt(sender, number(&mut input), number(&mut input)),
                    5 => ff_on_spurious(sender),
                    _ => ff_set_mss(sender, number(&mut input)),
                }
            };
            assert!([FF_OK, FF_SIZE, FF_VALUE].contains(&code), "{code}");
            assert!(ff_cwnd(sender) > 0);
            ff_next_send_time(sender, number(&mut input), number(&mut input), number(&mut input));
        }
    }
});
