//! A controller behind a table of C functions (`docs/vectors/controller.h`): loaded from a shared
//! library, or linked into the user's program.

use super::foreign::Foreign;
use firstflight::fields::{EVENT, Value};
use firstflight::{Begin, Event};
use firstflight_path::Error;
use std::ffi::c_void;
use std::path::Path;

/// [`Functions::version`] of this interface.
pub const VERSION: u32 = 1;

/// A field that an event does not have or that is unknown; a threshold that was never set.
pub const NONE: u64 = u64::MAX;

/// The events, in the order of their numbers.
pub const KINDS: [&str; 8] =
    ["handshake_rtt", "ready", "sent", "ack", "timer", "timeout", "spurious", "mss"];

/// Numbers per event: the index in [`KINDS`], the time in ns, then each field of [`EVENT`].
pub const ROW: usize = 2 + EVENT.len();

/// The timeouts, in the order of their numbers.
pub const TIMEOUTS: [&str; 3] = ["rto", "rto_again", "persistent_congestion"];

/// Arguments of the function that starts a connection.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BeginRecord {
    /// Start time, ns.
    pub now_ns: u64,
    /// Initial window, bytes.
    pub initial_window: u64,
    /// Largest payload of a packet, bytes.
    pub mss: u64,
    /// The first packet or sequence number.
    pub nxt: u64,
}

/// Answer of a controller.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct WindowRecord {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold, bytes; [`NONE`] if it was never set.
    pub ssthresh: u64,
}

/// `struct firstflight_controller`. An event is a row of numbers: the index in [`KINDS`], the time
/// in ns, then each field of [`EVENT`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Functions {
    /// [`VERSION`].
    pub version: u32,
    /// Starts a connection: returns its controller, or null if there can be none.
    pub create: unsafe extern "C" fn(begin: *const BeginRecord) -> *mut c_void,
    /// Handles one event.
    pub tell: unsafe extern "C" fn(controller: *mut c_void, event: *const u64),
    /// Returns the current window.
    pub window: unsafe extern "C" fn(controller: *const c_void) -> WindowRecord,
    /// Ends the connection.
    pub destroy: unsafe extern "C" fn(controller: *mut c_void),
}

/// A controller behind such a table.
#[derive(Debug)]
pub struct Table {
    name: String,
    functions: Functions,
    /// Controller of the current connection; null before the first one.
    controller: *mut c_void,
}

impl Table {
    /// Wraps functions that a program has linked.
    ///
    /// # Safety
    /// They do what `docs/vectors/controller.h` says: `tell` and `window` may be called on a
    /// controller that `create` returned from any thread, one call at a time, until `destroy`.
    ///
    /// # Errors
    /// A one-line message if their version differs.
    pub unsafe fn new(name: &str, functions: Functions) -> Result<Table, Error> {
        if functions.version != VERSION {
            return Err(Error::new(format!(
                "{name}: its table has version {}, this program knows {VERSION}",
                functions.version
            )));
        }
        let name = name.to_owned();
        Ok(Table { name, functions, controller: std::ptr::null_mut() })
    }

    /// The table that a shared library exports. The library stays loaded.
    ///
    /// # Safety
    /// Loading runs the library's initializers; its table must satisfy [`new`](Self::new).
    ///
    /// # Errors
    /// A one-line message if it cannot be loaded, or has no table with this version.
    pub unsafe fn open(file: &Path) -> Result<Table, Error> {
        let name = format!("table:{}", file.display());
        // SAFETY: as the caller promises.
        let table = unsafe { library::symbol(file, c"firstflight_controller") };
        let table = table.map_err(|why| Error::new(format!("{name}: {why}")))?;
        // SAFETY: the header declares the symbol as a function without arguments.
        let table = unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *const Functions>(table)
        };
        // SAFETY: it returns a table that lives as long as the library, which stays loaded.
        let functions = unsafe { table().as_ref() };
        let functions = functions.ok_or_else(|| Error::new(format!("{name}: it has no table")))?;
        // SAFETY: as the caller promises.
        unsafe { Table::new(&name, *functions) }
    }

    /// Starts a connection.
    ///
    /// # Errors
    /// A one-line message if there can be no controller for it.
    pub fn begin_with(&mut self, record: &BeginRecord) -> Result<(), Error> {
        self.end();
        // SAFETY: the record lives as long as the call.
        self.controller = unsafe { (self.functions.create)(record) };
        if self.controller.is_null() {
            return Err(Error::new(format!("{}: it creates no controller", self.name)));
        }
        Ok(())
    }

    /// Handles one event, in the format of [`row_of`].
    ///
    /// # Errors
    /// A one-line message if no connection has begun.
    pub fn tell_row(&mut self, row: &[u64; ROW]) -> Result<(), Error> {
        if self.controller.is_null() {
            return Err(Error::new(format!("{}: no connection has begun", self.name)));
        }
        // SAFETY: `create` returned it; the row has the length that the header says, and lives as long
        // as the call.
        unsafe { (self.functions.tell)(self.controller, row.as_ptr()) }
        Ok(())
    }

    /// Ends the connection and destroys its controller.
    pub(super) fn end(&mut self) {
        let controller = std::mem::replace(&mut self.controller, std::ptr::null_mut());
        if !controller.is_null() {
            // SAFETY: `create` returned it, and there is no other pointer to it.
            unsafe { (self.functions.destroy)(controller) }
        }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        self.end();
    }
}

impl Foreign for Table {
    fn begin(&mut self, begin: &Begin) -> Result<(), Error> {
        self.begin_with(&BeginRecord {
            now_ns: begin.now.0,
            initial_window: begin.config.initial_window,
            mss: begin.config.mss,
            nxt: begin.nxt.0,
        })
    }

    fn tell(&mut self, event: &Event) -> Result<(), Error> {
        self.tell_row(&row_of(event))
    }

    fn window(&self) -> (u64, Option<u64>) {
        if self.controller.is_null() {
            return (0, None);
        }
        // SAFETY: `create` returned it.
        let WindowRecord { cwnd, ssthresh } = unsafe { (self.functions.window)(self.controller) };
        (cwnd, (ssthresh != NONE).then_some(ssthresh))
    }
}

/// An event as a row of numbers.
pub fn row_of(event: &Event) -> [u64; ROW] {
    let mut row = [NONE; ROW];
    let kind = KINDS.iter().position(|kind| *kind == event.name());
    row[0] = kind.map_or(NONE, |kind| kind as u64);
    row[1] = event.now().0;
    for (to, field) in row[2..].iter_mut().zip(EVENT) {
        *to = field.get(event).map_or(NONE, number);
    }
    row
}

/// Makes this process end when its parent does, whatever the library is doing.
#[cfg(target_os = "linux")]
pub(super) fn die_with_parent() {
    use std::ffi::{c_int, c_ulong};
    // From the C library, which every Rust program is linked with.
    unsafe extern "C" {
        fn prctl(option: c_int, ...) -> c_int;
    }
    const PR_SET_PDEATHSIG: c_int = 1;
    const SIGKILL: c_ulong = 9;
    // SAFETY: this option takes one number and changes nothing in memory. A refusal leaves the process
    // to end with its standard input.
    let _ = unsafe { prctl(PR_SET_PDEATHSIG, SIGKILL) };
}

#[cfg(all(unix, not(target_os = "linux")))]
pub(super) fn die_with_parent() {}

/// A field as a number.
fn number(value: Value<'_>) -> u64 {
    match value {
        Value::Whole(number) => number,
        Value::Flag(flag) => flag.into(),
        Value::Name(name) => {
            TIMEOUTS.iter().position(|known| *known == name).map_or(NONE, |at| at as u64)
        }
        // No event has such a field.
        Value::Real(_) | Value::Ratio(_) => NONE,
    }
}

#[cfg(unix)]
mod library {
    use std::ffi::{CStr, CString, c_char, c_int, c_void};
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    /// Resolves all symbols at once, so that missing ones are reported when the library is loaded.
    const RTLD_NOW: c_int = 2;

    // From the C library, which every Rust program is linked with.
    unsafe extern "C" {
        fn dlopen(file: *const c_char, mode: c_int) -> *mut c_void;
        fn dlsym(library: *mut c_void, symbol: *const c_char) -> *mut c_void;
        fn dlerror() -> *const c_char;
    }

    /// The error message of the last call.
    fn complaint() -> String {
        // SAFETY: the result is null, or a text that stays valid until the next call.
        unsafe {
            let text = dlerror();
            if text.is_null() {
                return "it cannot be loaded".to_owned();
            }
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    }

    /// # Safety
    /// Loading runs the library's initializers.
    pub(super) unsafe fn symbol(file: &Path, symbol: &CStr) -> Result<*mut c_void, String> {
        // With its full path, no other folder is searched.
        let file = file.canonicalize().map_err(|error| error.to_string())?;
        let file = CString::new(file.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
        // SAFETY: both texts live as long as the calls; the caller vouches for the library.
        unsafe {
            let library = dlopen(file.as_ptr(), RTLD_NOW);
            if library.is_null() {
                return Err(complaint());
            }
            let found = dlsym(library, symbol.as_ptr());
            if found.is_null() { Err(complaint()) } else { Ok(found) }
        }
    }
}

#[cfg(not(unix))]
mod library {
    use std::ffi::{CStr, c_void};
    use std::path::Path;

    /// # Safety
    /// There are no requirements.
    pub(super) unsafe fn symbol(_file: &Path, _symbol: &CStr) -> Result<*mut c_void, String> {
        Err("this system has no dlopen; a program behind `exec:` does the same".to_owned())
    }
}
