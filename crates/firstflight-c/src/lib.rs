//! `libfirstflight`: every arm of firstflight behind a C interface. The header is `include/firstflight.h`, the guide is
//! `docs/how-to/stack.md`.
//!
//! The library allocates nothing and keeps no global state. The caller provides the memory of each sender; it is flat and may be
//! moved with `memcpy`. One thread at a time may use a sender; different senders are independent.
//!
//! # Safety
//!
//! The functions check what can be checked: NULL, alignment, the size of a struct, every value. The caller guarantees the rest. Memory of
//! a sender has [`ff_sender_size`] bytes; once [`ff_sender_init`] had it, the functions may be called with it, and only they write to it.
//! A pointer to a struct is NULL or points to as many bytes as its `size` says. A text ends with a zero byte. A callback does not use
//! the sender.
#![cfg_attr(not(feature = "std"), no_std)]
// The names are C's.
#![allow(non_camel_case_types)]
// The names of the interface begin with `ff_`.
#![allow(clippy::wildcard_imports)]
// Said once, above.
#![allow(clippy::missing_safety_doc)]

mod abi;
mod convert;
mod sender;
mod text;

pub use abi::*;
pub use sender::*;

/// Without `std` nothing can catch a panic. The program stops.
#[cfg(not(feature = "std"))]
#[panic_handler]
fn stop(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
