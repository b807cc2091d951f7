//! The running kernel as the host of a script: a socket in a separate namespace, behind a TUN
//! device that this program writes to and reads from.

use super::expression::Info;
use super::player::{Host, Player, Refusal, Sent};
use super::script::{Script, Segment};
use super::settings::Settings;
use super::verdict::Played;
use crate::arms::NamedArm;
use crate::testbed::linux::controller;
use firstflight_linux::kernel::Loaded;
use firstflight_linux::scripted::{Header, Peer, TcpInfo};
use firstflight_path::Error;
use std::collections::VecDeque;
use std::time::Duration;

/// Plays a script against the kernel's TCP, with this arm (one of ours, loaded temporarily, or one
/// of the kernel's own) or with the congestion control that the script requests.
///
/// # Errors
/// A one-line message about missing privilege, or a feature that this kernel does not have.
pub fn play_in_kernel(script: &Script, arm: Option<&NamedArm>) -> Result<Played, Error> {
    let (congestion, ours) = match arm {
        Some(arm) => controller(arm)?,
        None => (script.congestion().to_owned(), None),
    };
    let loaded = ours.map(Loaded::load).transpose()?;
    let host = Kernel {
        peer: Peer::open(&congestion, &sysctls(&script.settings))?,
        isn: None,
        stamp_shift: None,
        sent: VecDeque::new(),
        waiting: VecDeque::new(),
    };
    let played = Player::new(script, host).play();
    // The socket is closed before its controller is unloaded.
    drop(loaded);
    Ok(played)
}

/// Settings of the namespace: those that scripts name, and defaults in place of the machine's
/// changes.
fn sysctls(settings: &Settings) -> Vec<(&'static str, String)> {
    let flag = |on: bool| u8::from(on).to_string();
    let or_none = |on: bool, value: &str| if on { value } else { "0" }.to_owned();
    vec![
        ("net/ipv4/tcp_sack", flag(settings.sack)),
        ("net/ipv4/tcp_timestamps", flag(settings.timestamps)),
        ("net/ipv4/tcp_early_retrans", or_none(settings.probes, "3")),
        ("net/ipv4/tcp_recovery", flag(settings.rack)),
        ("net/ipv4/tcp_frto", or_none(settings.f_rto, "2")),
        ("net/ipv4/tcp_slow_start_after_idle", flag(settings.restart_after_idle)),
        ("net/ipv4/tcp_ecn", or_none(settings.ecn, "1")),
    ]
}

struct Kernel {
    peer: Peer,
    /// The kernel's first sequence number.
    isn: Option<u32>,
    /// The kernel's timestamps minus the script's.
    stamp_shift: Option<u32>,
    sent: VecDeque<Sent>,
    /// SYNs that no expectation has claimed.
    waiting: VecDeque<Header>,
}

impl Kernel {
    /// Collects segments that the kernel sends until `until`, or until `enough` holds.
    fn collect(&mut self, until: u64, enough: impl Fn(&Kernel) -> bool) {
        loop {
            if enough(self) {
                return;
            }
            let Some((at, header)) = self.peer.receive(Duration::from_nanos(until)) else { return };
            let at = at.as_nanos() as u64;
            if header.syn {
                self.isn = Some(header.seq);
                self.waiting.push_back(header);
            } else if header.len > 0
                && let Some(isn) = self.isn
            {
                let from = u64::from(header.seq.wrapping_sub(isn).wrapping_sub(1));
                self.sent.push_back(Sent { at, from, to: from + u64::from(header.len) });
            }
        }
    }
}

impl Host for Kernel {
    const REAL_TIME: bool = true;

    fn wait(&mut self, until: u64) {
        self.collect(until, |_| false);
    }

    fn wait_for_data(&mut self, deadline: u64) {
        self.collect(deadline, |kernel| !kernel.sent.is_empty());
    }

    fn sent(&mut self) -> &mut VecDeque<Sent> {
        &mut self.sent
    }

    fn expect_syn(&mut self, _now: u64, segment: &Segment, deadline: u64) -> Result<(), Refusal> {
        self.collect(deadline, |kernel| !kernel.waiting.is_empty());
        let Some(syn) = self.waiting.pop_front() else {
            return Err(Refusal::Differs("expected a SYN, nothing was sent".into()));
        };
        if let (Some((value, _)), Some((stamp, _))) = (segment.stamps, syn.stamps) {
            self.stamp_shift.get_or_insert(stamp.wrapping_sub(value));
        }
        Ok(())
    }

    fn inject(&mut self, _now: u64, segment: &Segment) -> Result<(), Refusal> {
        let wrap = |offset: u64| self.isn.unwrap_or_default().wrapping_add(offset as u32);
        let header = Header {
            syn: segment.syn,
            fin: segment.fin,
            ece: segment.ece,
            cwr: segment.cwr,
            seq: segment.from as u32,
            ack: segment.ack.map(wrap),
            window: segment.window.unwrap_or(65_535) as u16,
            len: (segment.to - segment.from) as u32,
            mss: segment.mss.map(|mss| mss as u16),
            sack_ok: segment.sack_ok,
            scale: segment.scale,
            stamps: segment
                .stamps
                .map(|(value, echo)| (value, echo.wrapping_add(self.stamp_shift.unwrap_or(0)))),
            sacks: segment.sacks.iter().map(|&(from, to)| (wrap(from), wrap(to))).collect(),
        };
        self.peer.inject(&header).map_err(|error| Refusal::Lacks(error.to_string()))
    }

    fn write(&mut self, bytes: u64) -> Result<(), Refusal> {
        self.peer.write(bytes).map_err(|error| Refusal::Lacks(format!("write(): {error}")))
    }

    fn no_delay(&mut self, on: bool) -> Result<(), Refusal> {
        self.peer.no_delay(on).map_err(|error| Refusal::Lacks(format!("TCP_NODELAY: {error}")))
    }

    fn max_segment(&mut self, _mss: u32) -> Result<(), Refusal> {
        Err(Refusal::Lacks("TCP_MAXSEG is not set in the kernel".into()))
    }

    fn call(&mut self, text: &str) -> Result<(), Refusal> {
        if text.starts_with("accept") {
            return self
                .peer
                .accept()
                .map_err(|error| Refusal::Differs(format!("accept(): {error}")));
        }
        if text.starts_with("connect") {
            return self
                .peer
                .connect()
                .map_err(|error| Refusal::Lacks(format!("connect(): {error}")));
        }
        Ok(())
    }

    fn info(&self) -> Option<impl Info> {
        self.peer.info()
    }
}

impl Info for TcpInfo {
    fn value(&self, name: &str) -> Option<i64> {
        self.field(name.strip_prefix("tcpi_")?)
    }
}
