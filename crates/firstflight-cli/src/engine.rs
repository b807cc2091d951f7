//! The browser simulator that `make web` builds; the playground and reports include it.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use firstflight_log::input;
use std::borrow::Cow;
use std::io::{Cursor, Read as _, Result};
use std::{env, fs};

/// The engine that was included in this build (`FIRSTFLIGHT_ENGINE`, see `build.rs`); empty if none
/// was.
static BUILT_IN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/engine.wasm.gz"));

/// First bytes of every WebAssembly module.
pub(crate) const MAGIC: &[u8] = b"\0asm";

/// First bytes of every gzip file.
pub(crate) const GZIP: &[u8] = b"\x1f\x8b";

/// The engine as gzip: the built-in one, or the one that `make web` wrote next to the program.
pub(crate) fn packed() -> Option<Cow<'static, [u8]>> {
    if !BUILT_IN.is_empty() {
        return Some(BUILT_IN.into());
    }
    // target/release/firstflight, target/web/engine.wasm.gz
    let program = env::current_exe().ok()?;
    let file = program.parent()?.parent()?.join("web").join("engine.wasm.gz");
    fs::read(file).ok().filter(|bytes| bytes.starts_with(GZIP)).map(Cow::Owned)
}

/// The engine as text, for including it in a page.
pub(crate) fn as_text() -> Option<String> {
    packed().map(|bytes| BASE64_STANDARD.encode(bytes))
}

/// The unpacked bytes, or the bytes themselves if they are not packed.
pub(crate) fn unpacked(bytes: &[u8]) -> Result<Cow<'_, [u8]>> {
    if !bytes.starts_with(GZIP) {
        return Ok(bytes.into());
    }
    let mut out = Vec::new();
    input::decompress(Cursor::new(bytes.to_vec()))?.read_to_end(&mut out)?;
    Ok(out.into())
}
