//! `firstflight kernel`: what it says without the feature, and with it that nothing is left however the command ends. Needs root; says
//! what is missing and passes where that is not given.
#![cfg(target_os = "linux")]

use std::process::{Command, Output};

fn kernel(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_firstflight")).arg("kernel").args(arguments).output().expect("the command runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(not(feature = "bpf"))]
#[test]
fn a_build_without_the_controllers_says_how_to_get_them() {
    let output = kernel(&["list"]);
    assert_eq!(output.status.code(), Some(2));
    let line = text(&output.stderr);
    assert!(line.contains("--features bpf") && line.lines().count() == 1, "one line that names the feature: {line}");
}

#[cfg(feature = "bpf")]
mod with_bpf {
    use super::{kernel, text};
    use std::fs;
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};
    use std::sync::Mutex;
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    /// Names are global to the machine, so one test at a time.
    static ONE: Mutex<()> = Mutex::new(());
    const NAME: &str = "ff_search";

    fn registered() -> bool {
        let list = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").expect("the kernel's list");
        list.split_whitespace().any(|name| name == NAME)
    }

    /// `kernel load search`, once it says that it is loaded; nothing where that is not permitted.
    fn load() -> Option<Child> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_firstflight"))
            .args(["kernel", "load", "search"])
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let mut line = String::new();
        BufReader::new(child.stderr.take().expect("piped")).read_line(&mut line).expect("a line");
        if line.contains(&format!("{NAME} is loaded")) {
            return Some(child);
        }
        child.wait().expect("it ends");
        assert!(line.contains("needs"), "loading fails only for want of something: {line}");
        println!("skipped: {}", line.trim());
        None
    }

    fn assert_gone(how: &str) {
        let started = Instant::now();
        while registered() && started.elapsed() < Duration::from_secs(5) {
            sleep(Duration::from_millis(5));
        }
        assert!(!registered(), "{how}: {NAME} is still registered");
    }

    #[test]
    fn a_loaded_arm_is_gone_with_its_command_however_that_ends() {
        let _one = ONE.lock();
        for signal in ["-INT", "-TERM", "-HUP", "-KILL"] {
            let Some(mut child) = load() else { return };
            assert!(registered(), "it is registered while the command runs");
            let listed = text(&kernel(&["list"]).stdout);
            assert!(listed.lines().any(|line| line.contains(NAME) && line.contains("loaded")), "list shows it:\n{listed}");
            assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill").success());
            let status = child.wait().expect("it ends");
            assert!(signal == "-KILL" || status.success(), "{signal} is a way to end it: {status:?}");
            assert_gone(signal);
        }
    }

    #[test]
    fn unknown_arms_and_needless_unloading_are_one_line_and_code_2() {
        let _one = ONE.lock();
        for arguments in [["load", "no-such-arm"], ["unload", "search"], ["trace", "no-such-arm"]] {
            let output = kernel(&arguments);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}");
            assert_eq!(text(&output.stderr).lines().count(), 1, "{arguments:?}: {}", text(&output.stderr));
        }
    }
}
