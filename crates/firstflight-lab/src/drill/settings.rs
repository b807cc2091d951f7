//! Settings of a host that a script makes with sysctl, as options of the simulated sender.

/// Settings that affect a sender's decisions. The defaults are those of an unmodified kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Name of the congestion control.
    pub congestion: String,
    /// `tcp_sack`.
    pub sack: bool,
    /// `tcp_timestamps`.
    pub timestamps: bool,
    /// `tcp_early_retrans`: tail loss probes.
    pub probes: bool,
    /// `tcp_recovery`, bit 0: RACK marks losses.
    pub rack: bool,
    /// `tcp_frto`.
    pub f_rto: bool,
    /// `tcp_slow_start_after_idle`.
    pub restart_after_idle: bool,
    /// `tcp_ecn`: the server accepts ECN.
    pub ecn: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            congestion: "cubic".into(),
            sack: true,
            timestamps: true,
            probes: true,
            rack: true,
            f_rto: true,
            restart_after_idle: true,
            ecn: true,
        }
    }
}

/// Settings that do not affect the decisions of the simulated sender: buffers, caches, set-up
/// limits, burst sizes.
const NEUTRAL: [&str; 26] = [
    "tcp_rmem",
    "tcp_wmem",
    "tcp_syn_retries",
    "tcp_synack_retries",
    "tcp_dsack",
    "tcp_fack",
    "tcp_tso_win_divisor",
    "tcp_ecn_option",
    "tcp_pacing_ss_ratio",
    "tcp_pacing_ca_ratio",
    "tcp_notsent_lowat",
    "tcp_fastopen",
    "tcp_fastopen_key",
    "tcp_syncookies",
    "tcp_min_tso_segs",
    "tcp_no_metrics_save",
    "tcp_moderate_rcvbuf",
    "tcp_limit_output_bytes",
    "tcp_invalid_ratelimit",
    "tcp_shrink_window",
    "tcp_adv_win_scale",
    "tcp_autocorking",
    "tcp_comp_sack_nr",
    "tcp_comp_sack_delay_ns",
    "tcp_reflect_tos",
    "optmem_max",
];

impl Settings {
    /// Reads a block of commands; none of them runs.
    ///
    /// # Errors
    /// A one-line message about the first command that would affect the verdict.
    pub(super) fn command(&mut self, text: &str) -> Result<(), String> {
        for line in text.replace("\\\n", " ").lines() {
            let line = line.split(" #").next().unwrap_or_default().trim();
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                [] | ["tc" | "ip" | "ethtool" | "nstat", ..] => {}
                [first, ..] if first.starts_with('#') => {}
                // The scripts' own defaults: ECN is off, and an idle sender keeps its window.
                [first, ..] if first.ends_with("defaults.sh") => {
                    (self.restart_after_idle, self.ecn) = (false, false);
                }
                ["sysctl" | "./set_sysctls.py", ref rest @ ..] => self.sysctls(rest)?,
                [first, ref rest @ ..] if first.ends_with("set_sysctls.py") => {
                    self.sysctls(rest)?;
                }
                [first, ..] if first.contains("sysctl_restore") => {}
                // Both detectors of the kernel's HyStart, which is its default.
                ["echo", "3", ">", file] if file.ends_with("hystart_detect") => {}
                _ => return Err(format!("the command `{line}` is not modelled")),
            }
        }
        Ok(())
    }

    /// Whether a command in the middle of a script affects neither the sender nor its path.
    pub(super) fn is_neutral(&self, command: &str) -> bool {
        let mut after = self.clone();
        let path = ["tc ", "ip ", "iptables", "nft"];
        let touches =
            command.lines().any(|line| path.iter().any(|word| line.trim().starts_with(word)));
        !touches && after.command(command).is_ok() && after == *self
    }

    fn sysctls(&mut self, words: &[&str]) -> Result<(), String> {
        for word in words {
            let Some((key, value)) = word.split_once('=') else { continue };
            let key = key.rsplit(['.', '/']).next().unwrap_or_default();
            let value = value.trim_matches(['"', '\'']);
            let on = value != "0";
            match key {
                "tcp_congestion_control" => value.clone_into(&mut self.congestion),
                "tcp_sack" => self.sack = on,
                "tcp_timestamps" => self.timestamps = on,
                "tcp_early_retrans" => self.probes = on,
                "tcp_recovery" => self.rack = on,
                "tcp_frto" => self.f_rto = on,
                "tcp_slow_start_after_idle" => self.restart_after_idle = on,
                "tcp_ecn" => self.ecn = on,
                "tcp_reordering" if value == "3" => {}
                key if NEUTRAL.contains(&key) => {}
                key => return Err(format!("the setting {key}={value} is not modelled")),
            }
        }
        Ok(())
    }
}
