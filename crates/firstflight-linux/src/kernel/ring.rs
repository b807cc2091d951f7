//! Ring buffers for the reports of BPF programs.

use super::exits::Exit;
use firstflight_path::Error;
use libbpf_rs::{MapCore, RingBuffer, RingBufferBuilder};
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

/// The records of a ring buffer, read on demand.
pub(super) struct Records<T> {
    ring: RingBuffer<'static>,
    /// Filled by the buffer's callback.
    read: Rc<RefCell<Vec<T>>>,
}

impl<T: 'static> Records<T> {
    /// For this buffer; records that `parse` rejects are skipped.
    ///
    /// # Errors
    /// If the buffer cannot be read.
    pub(super) fn of(ring: &dyn MapCore, parse: fn(&[u8]) -> Option<T>) -> Result<Self, Error> {
        let read = Rc::new(RefCell::new(Vec::new()));
        let into = Rc::clone(&read);
        let mut builder = RingBufferBuilder::new();
        builder
            .add(ring, move |bytes| {
                into.borrow_mut().extend(parse(bytes));
                0
            })
            .map_err(failed)?;
        Ok(Records { ring: builder.build().map_err(failed)?, read })
    }

    /// Waits at most `patience` for a program to signal new records, and passes all that are there
    /// to `each`.
    ///
    /// # Errors
    /// If the buffer cannot be read.
    pub(super) fn take(&self, patience: Duration, each: impl FnMut(T)) -> Result<(), Error> {
        // An interrupted wait is not a failure.
        let _ = self.ring.poll(patience);
        self.ring.consume().map_err(failed)?;
        self.read.take().into_iter().for_each(each);
        Ok(())
    }
}

impl<T> fmt::Debug for Records<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Records")
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn failed(error: libbpf_rs::Error) -> Error {
    Error::new(format!("ring buffer: {error}"))
}

/// Reads the reports of a ring buffer as they arrive, and those left when `go_on` returns `false`.
pub(super) fn watch(
    ring: &dyn MapCore,
    mut take: impl FnMut(Exit),
    mut go_on: impl FnMut() -> bool,
) -> Result<(), Error> {
    let mut builder = RingBufferBuilder::new();
    builder
        .add(ring, |bytes| {
            Exit::parse(bytes).into_iter().for_each(&mut take);
            0
        })
        .map_err(failed)?;
    let ring = builder.build().map_err(failed)?;
    while go_on() {
        // An interrupted wait is not a failure: the interruption has also changed `go_on`.
        let _ = ring.poll(Duration::from_millis(50));
    }
    ring.consume().map_err(failed)
}
