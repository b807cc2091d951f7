//! `firstflight kernel`.

use crate::done::Done;
use clap::{Args, Subcommand};
use firstflight_lab::Error;

#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Load an arm into the running kernel; --pin keeps it loaded
    Load {
        /// The arm, as `kernel list` names it
        arm: String,
        /// Keep the arm loaded until `kernel unload`
        #[arg(long)]
        pin: bool,
        #[command(flatten)]
        who: Who,
    },
    /// Undo the changes listed on standard input once it ends; run by `kernel load`
    #[command(hide = true)]
    Undo,
    /// Unload a pinned arm
    Unload {
        /// The arm, or `all`
        arm: String,
    },
    /// List the arms, and which of them are loaded
    List,
    /// Print startup exits live, of a pinned arm or of one loaded until Ctrl-C
    Trace {
        /// The arm
        arm: String,
        /// Also write the exits to this file at the end: .csv, .parquet, .qlog or .sqlog
        #[arg(long, value_name = "FILE")]
        out: Option<std::path::PathBuf>,
    },
}

/// Connections that use the arm, in addition to sockets that choose it themselves
/// (`TCP_CONGESTION`). All settings are restored when the arm is unloaded.
#[derive(Args, Debug)]
struct Who {
    /// Use the arm for new connections of this network namespace, including those of running servers
    #[arg(long)]
    default: bool,
    /// Use the arm for connections to this prefix, whose route exists (`203.0.113.0/24`, `default`); repeatable
    #[arg(long = "route", value_name = "PREFIX")]
    routes: Vec<String>,
    /// Use the arm for connections of the processes in this cgroup (version 2) and below; repeatable
    #[arg(long = "cgroup", value_name = "FOLDER")]
    cgroups: Vec<std::path::PathBuf>,
}

#[cfg(not(feature = "bpf"))]
pub(crate) fn run(_options: &Options) -> Result<Done, Error> {
    Err(Error::new(
        "the kernel's controllers are not part of this build: `cargo build --release --features bpf` has them (Debian: clang libelf-dev zlib1g-dev)",
    ))
}

#[cfg(feature = "bpf")]
pub(crate) use with_bpf::{run, say_rivals};

#[cfg(feature = "bpf")]
mod with_bpf {
    use super::{Action, Done, Error, Options, Who};
    use crate::exits::Exits;
    use crate::output::{self, Output, fitted};
    use crate::stop::{graceful, never};
    use crate::terminal::{CAUTION, QUIET, say, whisper, width, wrap};
    use firstflight::ExitReason;
    use firstflight_linux::kernel::{self, ARMS, Exit, KernelArm, Loaded, Selection};
    use firstflight_table::{Kind, Table};
    use std::process::Command;
    use std::time::Duration;

    pub(crate) fn run(options: &Options) -> Result<Done, Error> {
        match &options.action {
            Action::Load { arm, pin, who } => load(named(arm)?, *pin, who),
            Action::Undo => undo(),
            Action::Unload { arm } if arm == "all" => {
                kernel::pinned().into_iter().try_for_each(kernel::unload)?;
                Ok(Done::Well)
            }
            Action::Unload { arm } => kernel::unload(named(arm)?).map(|()| Done::Well),
            Action::List => list(),
            Action::Trace { arm, out } => trace(named(arm)?, out.as_deref()),
        }
    }

    fn named(name: &str) -> Result<&'static KernelArm, Error> {
        kernel::arm(name)
    }

    fn load(arm: &'static KernelArm, pin: bool, who: &Who) -> Result<Done, Error> {
        let selection = Selection {
            default: who.default,
            routes: who.routes.clone(),
            cgroups: who.cgroups.clone(),
        };
        // From here on, a signal unloads the arm cleanly.
        let stop = graceful("unloading the arm");
        selection.check(arm)?;
        for cgroup in &selection.cgroups {
            say_rivals(cgroup);
        }
        let loaded = Loaded::load_for(arm, &selection.cgroups)?;
        let (name, used_by) = (arm.kernel_name, used_by(&selection));
        if pin {
            loaded.pin(&selection)?;
            whisper(&format!(
                "{name} is loaded and stays{used_by}; `firstflight kernel unload '{}'` unloads it",
                arm.name
            ));
            return Ok(Done::Well);
        }
        let mut keeper = Command::new(
            std::env::current_exe()
                .map_err(|error| Error::new(format!("our own file: {error}")))?,
        );
        keeper.args(["kernel", "undo"]);
        // Dropped before the arm, because everything that refers to the arm must be removed first.
        let mut keeper = selection.apply(arm, keeper)?;
        whisper(&format!("{name} is loaded until Ctrl-C{used_by}"));
        loop {
            if keeper.renew()? {
                whisper("the process that restores the system was killed; a new one has started");
            }
            if stop.wait(LOOK) {
                return Ok(Done::Well);
            }
        }
    }

    /// Reports other programs that choose the controllers of a cgroup.
    pub(crate) fn say_rivals(cgroup: &std::path::Path) {
        for rival in kernel::rivals(cgroup) {
            whisper(&format!(
                "{CAUTION}note:{CAUTION:#} {}: {rival} also chooses controllers here; the kernel \
                 uses the choice of the program that it calls last",
                cgroup.display()
            ));
        }
    }

    fn used_by(selection: &Selection) -> String {
        let mut users = Vec::new();
        if selection.default {
            users.push("every new connection of this namespace".to_owned());
        }
        users.extend(selection.routes.iter().map(|prefix| format!("connections to {prefix}")));
        users.extend(
            selection.cgroups.iter().map(|cgroup| format!("connections of {}", cgroup.display())),
        );
        if users.is_empty() {
            return ", for sockets that choose it (TCP_CONGESTION); see --default, --route, --cgroup".into();
        }
        format!(", for {}", users.join(", "))
    }

    /// Waits until `kernel load` ends for any reason, and undoes the changes it announced.
    fn undo() -> Result<Done, Error> {
        never();
        let words = std::io::read_to_string(std::io::stdin())
            .map_err(|error| Error::new(error.to_string()))?;
        kernel::undo_and_forget(&words).map(|()| Done::Well)
    }

    fn list() -> Result<Done, Error> {
        output::show(&Listed { registered: kernel::registered(), pinned: kernel::pinned() })
            .map(|()| Done::Well)
    }

    /// Our arms, and their state in the kernel.
    struct Listed {
        registered: Vec<String>,
        pinned: Vec<&'static KernelArm>,
    }

    impl Listed {
        fn is_loaded(&self, arm: &KernelArm) -> bool {
            self.registered.iter().any(|name| name == arm.kernel_name)
        }

        fn state(&self, arm: &KernelArm) -> String {
            let state = match (self.is_loaded(arm), self.pinned.contains(&arm)) {
                (true, true) => "pinned",
                (true, false) => "loaded",
                (false, _) => "",
            };
            let default = if kernel::is_default(arm) { " default" } else { "" };
            format!("{state}{default}").trim_start().to_owned()
        }
    }

    impl Output for Listed {
        fn text(&self) -> String {
            let ours = |name: &&str| ARMS.iter().any(|arm| arm.kernel_name == *name);
            let names = self.registered.iter().map(String::as_str);
            let theirs: Vec<&str> = names.filter(|name| !ours(name)).collect();
            let line = format!("The kernel's own: {}", theirs.join(" "));
            let line = wrap(&line, 0, width());
            format!("{}{QUIET}{line}{QUIET:#}\n", fitted(&self.sheets()))
        }

        fn sheets(&self) -> Vec<Table> {
            let columns = [
                ("arm\n  name in the kernel", Kind::Name),
                ("state", Kind::Name),
                ("description", Kind::Prose),
            ];
            let mut sheet = Table::new("arms of the kernel", columns);
            for arm in ARMS {
                let names = format!("{}\n  {}", arm.name, arm.kernel_name);
                sheet.row([names, self.state(arm), arm.about.to_owned()]);
            }
            vec![sheet]
        }

        fn rows(&self) -> Table {
            let mut rows =
                Table::of_data(["arm", "kernel_name", "loaded", "pinned", "default", "about"]);
            for arm in ARMS {
                rows.values([
                    arm.name.into(),
                    arm.kernel_name.into(),
                    self.is_loaded(arm).into(),
                    self.pinned.contains(&arm).into(),
                    kernel::is_default(arm).into(),
                    arm.about.into(),
                ]);
            }
            rows
        }
    }

    fn trace(arm: &'static KernelArm, out: Option<&std::path::Path>) -> Result<Done, Error> {
        let mut file = out.map(|out| Exits::open(out, arm.name)).transpose()?;
        let stop = graceful("stopping the trace");
        say(HEAD)?;
        let mut failed = None;
        let take = |exit: Exit| {
            let kept = file.as_mut().map_or(Ok(()), |file| file.add(&exit));
            failed = failed.take().or(kept.err()).or(say(&line(&exit)).err());
        };
        let result = if kernel::pinned().contains(&arm) {
            kernel::watch_pinned(arm, take, || !stop.came())
        } else {
            Loaded::load(arm).and_then(|loaded| loaded.watch(take, || !stop.came()))
        };
        result?;
        file.map_or(Ok(()), Exits::finish)?;
        failed.map_or(Ok(Done::Well), Err)
    }

    /// Interval for checking the process that undoes the changes.
    const LOOK: Duration = Duration::from_millis(100);

    const HEAD: &str = "connection                reason         after ms  rounds  window  in flight  srtt ms     acked  estimate  rounds that concluded\n";

    /// Formats a report. The unit of the estimate depends on the reason: microseconds of RTT, or
    /// packets.
    fn line(exit: &Exit) -> String {
        let ms = |us: u64| us as f64 / 1e3;
        format!(
            "{:<25} {:<12} {:>10.3} {:>7} {:>7} {:>10} {:>8.3} {:>9} {:>9}  {}\n",
            format!("{}>{}:{}", exit.port, exit.peer.0, exit.peer.1),
            exit.reason.map_or("undone", ExitReason::name),
            ms(exit.since_first_send_us),
            exit.rounds,
            exit.detect_cwnd,
            exit.inflight,
            ms(u64::from(exit.srtt_us)),
            exit.bytes_acked,
            exit.estimate,
            outcomes(exit),
        )
    }

    /// Counts of the conclusions of its evaluations, for arms that count them.
    fn outcomes(exit: &Exit) -> String {
        let counted = exit.arm.outcomes.iter().zip(exit.outcomes).filter(|(_, count)| *count > 0);
        counted.map(|(kind, count)| format!("{kind} {count}")).collect::<Vec<_>>().join(" ")
    }
}
