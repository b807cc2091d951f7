//! The ring buffer through which the controllers report.

use super::exits::Exit;
use firstflight_path::Error;
use libbpf_rs::{MapCore, RingBufferBuilder};
use std::time::Duration;

/// Reads the reports of a ring buffer as they come, and those that are left when `go_on` says no.
pub(super) fn watch(
    ring: &dyn MapCore,
    mut take: impl FnMut(Exit),
    mut go_on: impl FnMut() -> bool,
) -> Result<(), Error> {
    let failed = |error: libbpf_rs::Error| Error::new(format!("ring buffer: {error}"));
    let mut builder = RingBufferBuilder::new();
    builder
        .add(ring, |bytes| {
            Exit::parse(bytes).into_iter().for_each(&mut take);
            0
        })
        .map_err(failed)?;
    let ring = builder.build().map_err(failed)?;
    while go_on() {
        // An interrupted wait is no failure: whoever interrupted also told `go_on`.
        let _ = ring.poll(Duration::from_millis(50));
    }
    ring.consume().map_err(failed)
}
