//! Startups that forward to others.

/// Implements all hooks of a [`Startup`](crate::startup::Startup) that wraps another one, except
/// the type `Saved`, `save` and `restore`. Each hook forwards to the inner startup, so a new hook
/// is added only here. `each!(self, startup => hook)` runs `hook` on the inner startup.
///
/// ```
/// use firstflight::startup::{SlowStart, Startup};
///
/// struct Renamed(SlowStart);
///
/// macro_rules! inner {
///     ($renamed:expr, $startup:ident => $hook:expr) => {{
///         let Renamed($startup) = $renamed;
///         $hook
///     }};
/// }
///
/// impl Startup for Renamed {
///     type Saved = ();
///     firstflight::forward_startup!(inner);
/// }
/// ```
#[macro_export]
macro_rules! forward_startup {
    ($each:ident) => {
        fn start(&mut self, now: $crate::units::Time, nxt: $crate::units::Seq) {
            $each!(self, startup => startup.start(now, nxt));
        }
        fn on_hint(&mut self, hint: &$crate::Hint) {
            $each!(self, startup => startup.on_hint(hint));
        }
        #[inline]
        fn on_rtt(
            &mut self,
            now: $crate::units::Time,
            rtt: $crate::units::Nanos,
            cx: &$crate::event::Context,
        ) {
            $each!(self, startup => startup.on_rtt(now, rtt, cx));
        }
        fn on_initial_window(&mut self, cx: &$crate::event::Context) {
            $each!(self, startup => startup.on_initial_window(cx));
        }
        #[inline]
        fn before_send(
            &mut self,
            ready: &$crate::event::Ready,
            w: &mut $crate::event::Window,
            cx: &$crate::event::Context,
        ) {
            $each!(self, startup => startup.before_send(ready, w, cx));
        }
        #[inline]
        fn heeds(&self) -> $crate::startup::Heeds {
            $each!(self, startup => startup.heeds())
        }
        #[inline]
        fn on_sent(
            &mut self,
            sent: &$crate::event::Sent,
            w: $crate::event::Window,
            cx: &$crate::event::Context,
        ) {
            $each!(self, startup => startup.on_sent(sent, w, cx));
        }
        #[inline]
        fn train(&self) -> Option<$crate::startup::Train> {
            $each!(self, startup => startup.train())
        }
        #[inline]
        fn sample(
            &mut self,
            ack: &$crate::event::Ack,
            w: $crate::event::Window,
            cx: &$crate::event::Context,
        ) -> $crate::startup::Verdict {
            $each!(self, startup => startup.sample(ack, w, cx))
        }
        fn sample_in_recovery(
            &mut self,
            ack: &$crate::event::Ack,
            w: $crate::event::Window,
            cx: &$crate::event::Context,
        ) -> Option<u64> {
            $each!(self, startup => startup.sample_in_recovery(ack, w, cx))
        }
        #[inline]
        fn grow(
            &mut self,
            ack: &$crate::event::Ack,
            acked: u64,
            w: &mut $crate::event::Window,
            cx: &$crate::event::Context,
        ) -> $crate::startup::Grown {
            $each!(self, startup => startup.grow(ack, acked, w, cx))
        }
        // Without the attribute the compiler emits a call if any startup implements this hook.
        #[inline(always)]
        fn beside_avoidance(
            &mut self,
            ack: &$crate::event::Ack,
            acked: u64,
            w: $crate::event::Window,
            cx: &$crate::event::Context,
        ) -> Option<u64> {
            $each!(self, startup => startup.beside_avoidance(ack, acked, w, cx))
        }
        #[inline(always)]
        fn reach(&self, max_fs: u64, w: $crate::event::Window, cx: &$crate::event::Context) -> u64 {
            $each!(self, startup => startup.reach(max_fs, w, cx))
        }
        fn reached(&mut self) -> $crate::startup::ExitReason {
            $each!(self, startup => startup.reached())
        }
        fn on_congestion(
            &mut self,
            signal: $crate::event::Signal,
            beta: $crate::units::Ratio,
            ack: &$crate::event::Ack,
            w: $crate::event::Window,
            cx: &$crate::event::Context,
        ) -> Option<$crate::recovery::OwnRecovery> {
            $each!(self, startup => startup.on_congestion(signal, beta, ack, w, cx))
        }
        fn absorbs(
            &mut self,
            signal: $crate::event::Signal,
            ack: &$crate::event::Ack,
            cx: &$crate::event::Context,
        ) -> bool {
            $each!(self, startup => startup.absorbs(signal, ack, cx))
        }
        #[inline]
        fn is_whole(&self) -> bool {
            $each!(self, startup => startup.is_whole())
        }
        fn false_alarm(&mut self, w: &mut $crate::event::Window) -> bool {
            $each!(self, startup => startup.false_alarm(w))
        }
        fn on_timeout(
            &mut self,
            timeout: $crate::event::Timeout,
            now: $crate::units::Time,
            nxt: $crate::units::Seq,
        ) {
            $each!(self, startup => startup.on_timeout(timeout, now, nxt));
        }
        fn on_idle(&mut self, now: $crate::units::Time, nxt: $crate::units::Seq) {
            $each!(self, startup => startup.on_idle(now, nxt));
        }
        #[inline]
        fn pacing(&self) -> $crate::startup::Pacing {
            $each!(self, startup => startup.pacing())
        }
        fn status(&self) -> $crate::startup::Status {
            $each!(self, startup => startup.status())
        }
        fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
            $each!(self, startup => startup.signals(visit));
        }
    };
}
