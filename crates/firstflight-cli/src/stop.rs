//! Handling of signals, the same for every command.
//!
//! SIGINT, SIGTERM, SIGHUP and SIGQUIT are all requests to end. After [`graceful`] was called, the
//! first one makes the command end with its results so far and print a message, and the second one
//! ends it at once. Any other command ends at the first one and discards its incomplete output
//! files. A SIGHUP or SIGQUIT that was ignored when the command started, as `nohup` ignores SIGHUP,
//! stays ignored. SIGXFSZ ends nothing: a write beyond the limit fails instead.
#![cfg_attr(not(unix), expect(dead_code, reason = "Ctrl-C ends the program there"))]

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

static STOP: AtomicBool = AtomicBool::new(false);
static COUNT: AtomicU32 = AtomicU32::new(0);
static POLICY: Mutex<Option<Policy>> = Mutex::new(None);
static CAME: Condvar = Condvar::new();
/// True while a thread prints the policy's message.
static SPEAKING: AtomicBool = AtomicBool::new(false);

type Then = Box<dyn Fn(u32) + Send>;

/// Effect of the signals.
struct Policy {
    /// Message of the first signal; empty for none.
    words: &'static str,
    /// Number of signals that do not end the command; the next one ends it at once.
    patience: u32,
    then: Option<Then>,
}

fn policy() -> MutexGuard<'static, Option<Policy>> {
    POLICY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A handle to the request to end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop(());

impl Stop {
    /// Set by the first signal.
    #[expect(clippy::unused_self, reason = "its holder listens to signals")]
    pub(crate) fn flag(self) -> &'static AtomicBool {
        &STOP
    }

    /// Whether a signal has arrived.
    #[cfg(target_os = "linux")]
    #[expect(clippy::unused_self, reason = "its holder listens to signals")]
    pub(crate) fn came(self) -> bool {
        STOP.load(Ordering::Relaxed)
    }

    /// Waits until a signal arrives, at most for `most`. Returns whether one arrived.
    #[cfg(target_os = "linux")]
    pub(crate) fn wait(self, most: Duration) -> bool {
        let guard = policy();
        let waited = CAME.wait_timeout_while(guard, most, |_| !STOP.load(Ordering::Relaxed));
        drop(waited);
        self.came()
    }
}

/// From now on, the first signal asks this command to end with its results so far, and prints
/// `words`, which describe what happens now, such as `stopping after this trial`.
pub(crate) fn graceful(words: &'static str) -> Stop {
    graceful_with(words, 1, None)
}

/// Like [`graceful`], but `patience` signals do not end the command; `then` is called with the
/// number of each of them.
pub(crate) fn graceful_with(words: &'static str, patience: u32, then: Option<Then>) -> Stop {
    *policy() = Some(Policy { words, patience, then });
    Stop(())
}

/// From now on, no signal ends this command.
#[cfg(all(target_os = "linux", feature = "bpf"))]
pub(crate) fn never() {
    graceful_with("", u32::MAX, None);
}

/// Whether a signal has asked the command to end.
pub(crate) fn asked() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Counts a signal and carries out the policy.
fn obey(end: impl FnOnce()) {
    let count = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
    let guard = policy();
    let Some(policy) = guard.as_ref().filter(|policy| count <= policy.patience) else {
        drop(guard);
        return end();
    };
    STOP.store(true, Ordering::Relaxed);
    if count == 1 && !policy.words.is_empty() {
        let words = policy.words;
        // Standard error may be a full pipe and block; the next signal must not wait for it.
        SPEAKING.store(true, Ordering::Relaxed);
        let speaker = std::thread::Builder::new().spawn(move || {
            crate::terminal::whisper(&format!("{words}; press Ctrl-C again to stop now"));
            let guard = self::policy();
            SPEAKING.store(false, Ordering::Relaxed);
            drop(guard);
            CAME.notify_all();
        });
        if speaker.is_err() {
            SPEAKING.store(false, Ordering::Relaxed);
        }
    }
    if let Some(then) = &policy.then {
        then(count);
    }
    CAME.notify_all();
}

/// Waits, at most a second, until the message of the first signal is written. A command that ended
/// at once would cut it off, and a pipe that nobody reads may never accept it.
pub(crate) fn finish() {
    let most = Duration::from_secs(1);
    let waited = CAME.wait_timeout_while(policy(), most, |_| SPEAKING.load(Ordering::Relaxed));
    drop(waited);
}

/// Handles signals from now on. Must be called before other threads start, so that signals
/// interrupt none of them.
#[cfg(unix)]
pub(crate) fn listen() {
    use nix::sys::signal::{SigSet, Signal, raise};
    let mut ours = SigSet::empty();
    ours.add(Signal::SIGINT);
    ours.add(Signal::SIGTERM);
    for signal in [Signal::SIGHUP, Signal::SIGQUIT] {
        if !is_ignored(signal as i32) {
            ours.add(signal);
        }
    }
    let mut blocked = ours;
    blocked.add(Signal::SIGXFSZ);
    if blocked.thread_block().is_err() {
        return;
    }
    let end = move |signal: Signal| {
        firstflight_table::whole::discard_all();
        let _ = ours.thread_unblock();
        // Restores the signal's default effect; an ignored signal ends the command all the same.
        let _ = raise(signal);
        std::process::exit(128 + signal as i32);
    };
    let wait = move || {
        while let Ok(signal) = ours.wait() {
            obey(|| end(signal));
        }
    };
    if std::thread::Builder::new().name("signals".into()).spawn(wait).is_err() {
        let _ = blocked.thread_unblock();
    }
}

/// Signals keep their default effect.
#[cfg(not(unix))]
pub(crate) fn listen() {}

#[cfg(target_os = "linux")]
use firstflight_linux::supervise::is_ignored;

/// Other systems do not tell which signals were ignored, so SIGHUP and SIGQUIT keep their effect.
#[cfg(all(unix, not(target_os = "linux")))]
fn is_ignored(_: i32) -> bool {
    true
}
