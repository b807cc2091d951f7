//! The functions that the module exports: five functions of numbers, enough for any host of
//! WebAssembly. Generated bindings would tie this crate to a tool of exactly the same version, only
//! to pass two strings.
//!
//! A host requests room ([`input`]), writes a request into the memory, makes the call ([`call`])
//! and reads the answer at [`output`]. The answer stays until the next call.
#![expect(unsafe_code, reason = "names without mangling; memory is touched by the host alone")]

use crate::Engine;
use std::cell::RefCell;

#[derive(Default)]
struct Call {
    engine: Engine,
    input: Vec<u8>,
    file: Vec<u8>,
    output: Vec<u8>,
}

thread_local! {
    static CALL: RefCell<Call> = RefCell::default();
}

/// Allocates room for a request of this many bytes. Returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn input(bytes: usize) -> *mut u8 {
    CALL.with_borrow_mut(|call| {
        call.input.clear();
        call.input.resize(bytes, 0);
        call.input.as_mut_ptr()
    })
}

/// Allocates room for the file of the next request, of this many bytes. Returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn file(bytes: usize) -> *mut u8 {
    CALL.with_borrow_mut(|call| {
        call.file.clear();
        call.file.resize(bytes, 0);
        call.file.as_mut_ptr()
    })
}

/// Processes the request. Returns 0 if the output is the answer, or 1 if it is an error message.
#[unsafe(no_mangle)]
pub extern "C" fn call() -> u32 {
    CALL.with_borrow_mut(|Call { engine, input, file, output }| {
        let file = std::mem::take(file);
        let (code, text) = match engine.call_with(&String::from_utf8_lossy(input), file) {
            Ok(answer) => (0, answer),
            Err(error) => (1, error.to_string()),
        };
        *output = text.into_bytes();
        code
    })
}

/// Address of the output.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    CALL.with_borrow(|call| call.output.as_ptr())
}

/// Size of the output in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn output_bytes() -> usize {
    CALL.with_borrow(|call| call.output.len())
}
