//! A boundary around code that reads foreign input: a panic becomes a [`Broken`], and the rest of
//! the program goes on.
//!
//! If a program aborts on a panic, as in a browser, there is no boundary.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{self, AssertUnwindSafe, Location, PanicHookInfo};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, Once, PoisonError};

/// An internal error. Displayed, it is one line that can be pasted into an issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    place: String,
    what: String,
}

/// Maximum length of a message, which may quote the input.
const LONGEST: usize = 150;

impl Broken {
    /// The file and line of the panic.
    pub fn place(&self) -> &str {
        &self.place
    }

    fn of(info: &PanicHookInfo<'_>) -> Broken {
        Broken { place: info.location().map_or_else(unknown, place), what: message(info.payload()) }
    }

    fn of_payload(payload: &(dyn Any + Send)) -> Broken {
        Broken { place: unknown(), what: message(payload) }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Broken { place, what } = self;
        let (version, home) = (env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_REPOSITORY"));
        write!(
            f,
            "internal error at {place}: {what} (firstflight {version}); please report this line at {home}/issues"
        )
    }
}

fn unknown() -> String {
    "an unknown place".to_owned()
}

/// Source location of a panic. Registry paths start with folders of the machine that built the
/// program, which are removed.
fn place(location: &Location<'_>) -> String {
    let file = location.file().replace('\\', "/");
    let file = match file.split_once("registry/src/").and_then(|(_, rest)| rest.split_once('/')) {
        Some((_, rest)) => rest.to_owned(),
        None => file.rfind("/library/").map_or(file.clone(), |at| file[at + 1..].to_owned()),
    };
    format!("{file}:{}:{}", location.line(), location.column())
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let text: String = text.unwrap_or("no message").chars().take(LONGEST).collect();
    crate::text::one_line(&text).into_owned()
}

thread_local! {
    /// Number of boundaries that this thread is inside.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static LAST: RefCell<Option<Broken>> = const { RefCell::new(None) };
}

/// Whether the whole program, with all its threads, is inside a boundary.
static PROGRAM: AtomicBool = AtomicBool::new(false);
static LAST_OF_ANY: Mutex<Option<Broken>> = Mutex::new(None);
static CAUGHT: AtomicU64 = AtomicU64::new(0);

/// Panics inside a boundary are recorded instead of printed; others go to the previous hook.
fn note_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if DEPTH.get() > 0 {
                LAST.set(Some(Broken::of(info)));
            } else if PROGRAM.load(Ordering::Relaxed) {
                let mut last = LAST_OF_ANY.lock().unwrap_or_else(PoisonError::into_inner);
                *last = Some(Broken::of(info));
            } else {
                before(info);
            }
        }));
    });
}

/// Runs `work` and catches its panic. Data that `work` was modifying must not be used afterwards.
///
/// # Errors
/// The panic, if there was one.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Broken> {
    note_panics();
    DEPTH.set(DEPTH.get() + 1);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    DEPTH.set(DEPTH.get() - 1);
    done.map_err(|payload| {
        CAUGHT.fetch_add(1, Ordering::Relaxed);
        LAST.take().unwrap_or_else(|| Broken::of_payload(&*payload))
    })
}

/// Like [`guarded`], for a whole program: catches a panic of any of its threads that reaches this
/// one.
///
/// # Errors
/// Like [`guarded`].
pub fn program<T>(work: impl FnOnce() -> T) -> Result<T, Broken> {
    note_panics();
    PROGRAM.store(true, Ordering::Relaxed);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    PROGRAM.store(false, Ordering::Relaxed);
    done.map_err(|payload| {
        CAUGHT.fetch_add(1, Ordering::Relaxed);
        let mut last = LAST_OF_ANY.lock().unwrap_or_else(PoisonError::into_inner);
        last.take().unwrap_or_else(|| Broken::of_payload(&*payload))
    })
}

/// Number of panics caught so far: if it is not zero, the program did not do all of its work.
pub fn caught() -> u64 {
    CAUGHT.load(Ordering::Relaxed)
}

/// Panics that each cost one connection, reported in a single remark: a peer may cause any number
/// of them.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    first: Option<Broken>,
    count: u64,
}

impl Tally {
    /// Adds a panic.
    pub fn add(&mut self, broken: Broken) {
        self.count += 1;
        self.first.get_or_insert(broken);
    }

    /// Number of connections given up.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The remark about them, if there are any.
    pub fn remark(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        Some(match self.count {
            1 => format!("1 connection was given up: {first}"),
            count => format!("{count} connections were given up: {first}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_one_line_with_its_place_and_the_work_around_it_goes_on() {
        let before = caught();
        let done: Vec<_> = (0..4_u32)
            .map(|number| guarded(|| assert!(number != 2, "two\nis\u{1b}[2J bad")))
            .collect();
        assert_eq!(done.iter().filter(|one| one.is_ok()).count(), 3);
        assert!(caught() > before);
        let line = done[2].as_ref().expect_err("it panicked").to_string();
        let place = format!("internal error at {}:", file!());
        assert!(line.starts_with(&place) && line.contains(r"two\nis\u001b[2J bad"), "{line}");
        assert!(line.contains(env!("CARGO_PKG_VERSION")) && line.ends_with("/issues"), "{line}");
        assert_eq!(line.lines().count(), 1);
    }

    #[test]
    fn boundaries_may_stand_in_one_another() {
        let outer: Result<(), Broken> = guarded(|| {
            let inner = guarded(|| panic!("inner"));
            assert!(inner.expect_err("it panicked").to_string().contains("inner"));
            panic!("outer");
        });
        let outer = outer.expect_err("it panicked");
        assert!(outer.to_string().contains(": outer ("), "{outer}");
    }

    #[test]
    fn places_name_no_machine() {
        let Err(broken) = guarded(|| "1".parse::<u8>().map(|one| [0; 1][usize::from(one)])) else {
            panic!("there is no second element");
        };
        assert!(!broken.place().starts_with('/'), "{broken}");
        let mut map = std::collections::BTreeMap::from([(1, 2)]);
        map.insert(3, 4);
        let Err(broken) = guarded(|| {
            let (from, to) = (2, 1);
            map.range(from..to).count()
        }) else {
            panic!("a range ends before its start");
        };
        assert!(
            broken.place().starts_with("library/") || !broken.place().starts_with('/'),
            "{broken}"
        );
    }
}
