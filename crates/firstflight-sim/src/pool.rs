//! Memory that stays with its thread, so that one trial reuses the memory of the previous one.
//!
//! A trial at a long round trip grows its rings to megabytes. The system provides such memory page
//! by page, each at the cost of a hundred simulated packets, takes it back when the trial ends, and
//! provides it again for the next one: a fifth of the time of a short trial.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::{Deref, DerefMut};

/// Arrays smaller than this are left to the allocator, which handles them quickly.
const LEAST: usize = 16 << 10;
/// Maximum number of bytes that a thread keeps.
const MOST: usize = 8 << 20;

/// Element type of rings and scoreboards.
pub trait Plain: Copy + Default + 'static {}
impl<T: Copy + Default + 'static> Plain for T {}

#[derive(Default)]
struct Kept {
    bytes: usize,
    /// Arrays by type and length.
    arrays: HashMap<(TypeId, usize), Vec<Box<dyn Any>>>,
}

thread_local! {
    static KEPT: RefCell<Kept> = RefCell::default();
}

/// An array of a fixed length. Its initial content is unspecified: write before you read.
#[derive(Debug)]
pub struct Array<T: Plain>(Box<[T]>);

impl<T: Plain> Array<T> {
    /// An array of this length.
    pub fn new(len: usize) -> Array<T> {
        Array(Array::kept(len).unwrap_or_else(|| vec![T::default(); len].into_boxed_slice()))
    }

    fn kept(len: usize) -> Option<Box<[T]>> {
        let bytes = len * size_of::<T>();
        if bytes < LEAST {
            return None;
        }
        KEPT.with_borrow_mut(|kept| {
            let array = kept.arrays.get_mut(&(TypeId::of::<T>(), len))?.pop()?;
            kept.bytes -= bytes;
            array.downcast().ok().map(|array| *array)
        })
    }
}

impl<T: Plain> Drop for Array<T> {
    fn drop(&mut self) {
        let (len, bytes) = (self.0.len(), size_of_val::<[T]>(&self.0));
        if bytes < LEAST {
            return;
        }
        let array = std::mem::take(&mut self.0);
        // A thread that is ending keeps no arrays.
        _ = KEPT.try_with(|kept| {
            let mut kept = kept.borrow_mut();
            if kept.bytes + bytes <= MOST {
                kept.bytes += bytes;
                kept.arrays.entry((TypeId::of::<T>(), len)).or_default().push(Box::new(array));
            }
        });
    }
}

impl<T: Plain> Clone for Array<T> {
    fn clone(&self) -> Array<T> {
        Array(self.0.clone())
    }
}

impl<T: Plain> Deref for Array<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Plain> DerefMut for Array<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> usize {
        KEPT.with_borrow(|kept| kept.bytes)
    }

    #[test]
    fn memory_is_kept_for_the_same_type_and_length_and_never_more_than_stated() {
        let before = kept();
        drop(Array::<u64>::new(100));
        assert_eq!(kept(), before, "what is small is not kept");
        let mut array = Array::<u64>::new(4096);
        array[5] = 9;
        let place = array.as_ptr();
        drop(array);
        assert_eq!(kept(), before + 32_768, "an array of 32 KiB is kept");
        let other = Array::<u32>::new(4096);
        assert_eq!(kept(), before + 32_768, "not for another type");
        let again = Array::<u64>::new(4096);
        assert_eq!((again.as_ptr(), kept()), (place, before), "it serves again");
        drop((other, again));
        for _ in 0..3 {
            let arrays: Vec<Array<u64>> = (0..20).map(|_| Array::new(1 << 16)).collect();
            drop(arrays);
            assert!(kept() <= MOST, "{} bytes are kept where {MOST} are allowed", kept());
        }
    }
}
