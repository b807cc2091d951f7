//! The simulator for browsers, as `make web` builds it: the playground and reports have it inside.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use firstflight_log::input;
use std::borrow::Cow;
use std::io::{Cursor, Read as _, Result};
use std::{env, fs};

/// The engine that this program was built with (`FIRSTFLIGHT_ENGINE`, see `build.rs`); nothing if
/// it was built without.
static BUILT_IN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/engine.wasm.gz"));

/// How every module of WebAssembly begins.
pub(crate) const MAGIC: &[u8] = b"\0asm";

/// How every file of gzip begins.
pub(crate) const GZIP: &[u8] = b"\x1f\x8b";

/// The engine as gzip: the one built in, or the one that `make web` left beside the program.
pub(crate) fn packed() -> Option<Cow<'static, [u8]>> {
    if !BUILT_IN.is_empty() {
        return Some(BUILT_IN.into());
    }
    // target/release/firstflight, target/web/engine.wasm.gz
    let program = env::current_exe().ok()?;
    let file = program.parent()?.parent()?.join("web").join("engine.wasm.gz");
    fs::read(file).ok().filter(|bytes| bytes.starts_with(GZIP)).map(Cow::Owned)
}

/// The same as text, for a page that has it inside.
pub(crate) fn as_text() -> Option<String> {
    packed().map(|bytes| BASE64_STANDARD.encode(bytes))
}

/// What was packed, or the bytes themselves if they were not.
///
/// # Errors
/// If they are broken.
pub(crate) fn unpacked(bytes: &[u8]) -> Result<Cow<'_, [u8]>> {
    if !bytes.starts_with(GZIP) {
        return Ok(bytes.into());
    }
    let mut out = Vec::new();
    input::decompress(Cursor::new(bytes.to_vec()))?.read_to_end(&mut out)?;
    Ok(out.into())
}
