//! `firstflight kernel`: what it says without the feature, and with it that nothing is left however
//! the command ends. Needs root; says what is missing and passes where that is not given.
use std::process::{Command, Output};

fn kernel(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_firstflight"))
        .arg("kernel")
        .args(arguments)
        .output()
        .expect("the command runs")
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
    assert!(
        line.contains("--features bpf") && line.lines().count() == 1,
        "one line that names the feature: {line}"
    );
}

#[cfg(feature = "bpf")]
mod with_bpf {
    use super::{kernel, text};
    use crate::ONE;
    use std::fs;
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    const NAME: &str = "ff_search";

    fn registered() -> bool {
        let list = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
            .expect("the kernel's list");
        list.split_whitespace().any(|name| name == NAME)
    }

    /// `kernel load search`, once it says that it is loaded; nothing where that is not permitted.
    fn load() -> Option<Child> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_firstflight"))
            .args(["kernel", "load", "search"])
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command runs");
        // Leftovers of processes that somebody killed are reported first.
        let line = BufReader::new(child.stderr.take().expect("piped"))
            .lines()
            .map(|line| line.expect("text"))
            .find(|line| !line.starts_with("note:"))
            .unwrap_or_default();
        if line.contains(&format!("{NAME} is loaded")) {
            return Some(child);
        }
        child.kill().expect("it is ours");
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
            let listed = text(&kernel(&["list", "--format", "csv"]).stdout);
            let shown = listed.contains(&format!(",{NAME},true,"));
            if !shown {
                // A test that fails leaves nothing loaded behind.
                child.kill().expect("it is ours");
                child.wait().expect("it ends");
            }
            assert!(shown, "list shows it:\n{listed}");
            assert!(
                Command::new("kill")
                    .args([signal, &child.id().to_string()])
                    .status()
                    .expect("kill")
                    .success()
            );
            let status = child.wait().expect("it ends");
            assert!(
                signal == "-KILL" || status.success(),
                "{signal} is a way to end it: {status:?}"
            );
            assert_gone(signal);
        }
    }

    /// Runs a script for bash in a network namespace of its own, with a route over its loopback;
    /// `$FF` is our command, `state` prints the default and the route, `load ARGUMENTS` loads
    /// search in the background and waits until it is there.
    fn in_namespace(script: &str) -> Option<String> {
        const HEAD: &str = "set -u; ip link set lo up && ip route add 10.5.0.0/16 dev lo metric 7 || exit 99
            state() { sleep 0.2; echo \"$1: $(cat /proc/sys/net/ipv4/tcp_congestion_control) $(ip route show exact 10.5.0.0/16)\"; }
            load() { coproc LOADED { exec \"$FF\" kernel load search \"$@\" 2>&1; }; pid=$LOADED_PID; read -r line <&${LOADED[0]}; echo \"$line\"; }\n";
        let output = Command::new("unshare")
            .args(["--net", "bash", "-c", &format!("{HEAD}{script}")])
            .env("FF", env!("CARGO_BIN_EXE_firstflight"))
            .output()
            .expect("unshare runs");
        let (said, complained) = (text(&output.stdout), text(&output.stderr));
        if said.contains("needs")
            || complained.contains("not permitted")
            || output.status.code() == Some(99)
        {
            println!("skipped: {said}{complained}");
            return None;
        }
        Some(said)
    }

    /// The line of the output that begins so.
    fn state<'a>(said: &'a str, name: &str) -> &'a str {
        said.lines()
            .find(|line| line.starts_with(&format!("{name}:")))
            .unwrap_or_else(|| panic!("no line `{name}` in:\n{said}"))
    }

    #[test]
    fn default_and_routes_are_put_back_however_the_command_ends() {
        let _one = ONE.lock();
        for signal in ["INT", "TERM", "KILL"] {
            let script = format!(
                "state before; load --default --route 10.5.0.0/16; state loaded; kill -{signal} $pid; wait $pid; state after"
            );
            let Some(said) = in_namespace(&script) else { return };
            let [before, loaded, after] =
                ["before", "loaded", "after"].map(|name| state(&said, name));
            assert!(
                loaded.contains("loaded: ff_search") && loaded.contains("congctl ff_search"),
                "default and route name it: {loaded}"
            );
            assert_eq!(
                after.strip_prefix("after"),
                before.strip_prefix("before"),
                "{signal}: as it was before"
            );
            assert_gone(signal);
        }
    }

    #[test]
    fn the_process_that_puts_things_back_is_watched() {
        let _one = ONE.lock();
        // Once the default names the arm the keeper is there; then it is killed, and the command
        // after it, or both at once.
        let script = "state before; load --default --route 10.5.0.0/16; state loaded
            keeper() { cat /proc/$pid/task/$pid/children; }
            first=$(keeper); kill -KILL $first; read -r line <&${LOADED[0]}; echo \"renewed: $line\"
            [ \"$(keeper)\" != \"$first\" ] && echo 'another: yes'; state renewed
            kill -KILL $pid; wait $pid; state after
            load --default --route 10.5.0.0/16; kill -KILL $pid $(keeper); wait $pid
            \"$FF\" kernel unload search 2>&1; state both; ls -d /run/firstflight* 2>/dev/null";
        let Some(said) = in_namespace(script) else { return };
        let [before, renewed, after, both] = ["before", "renewed", "after", "both"].map(|name| {
            said.lines()
                .rfind(|line| line.starts_with(&format!("{name}:")))
                .unwrap_or_else(|| panic!("no {name} in:\n{said}"))
        });
        assert!(
            said.contains("a new one has started") && said.contains("another: yes"),
            "it says so: {said}"
        );
        assert!(
            renewed.contains("renewed: ff_search"),
            "and nothing is put back meanwhile: {renewed}"
        );
        assert_eq!(
            after.strip_prefix("after"),
            before.strip_prefix("before"),
            "keeper first, then the command: {said}"
        );
        assert_eq!(
            both.strip_prefix("both"),
            before.strip_prefix("before"),
            "both at once, and then unload: {said}"
        );
        assert!(!said.contains("/run/firstflight"), "no folder is left: {said}");
        assert_gone("KILL");
    }

    #[test]
    fn an_arm_that_is_loaded_already_is_said_in_one_line() {
        let _one = ONE.lock();
        let script = "load --default; \"$FF\" kernel load search --default 2>second; echo \"second: $? $(wc -l < second) $(cat second)\"
            state still; kill -INT $pid; wait $pid; state after
            \"$FF\" kernel load search --pin 2>&1; \"$FF\" kernel load search 2>second; echo \"pinned: $? $(wc -l < second) $(cat second)\"
            \"$FF\" kernel unload search 2>&1; rm second";
        let folder = tempfile::tempdir().expect("a folder");
        let script = format!("cd {}; {script}", folder.path().display());
        let Some(said) = in_namespace(&script) else { return };
        let (second, pinned) = (state(&said, "second"), state(&said, "pinned"));
        assert!(
            second.starts_with("second: 2 1 ")
                && second.contains("ff_search is already loaded by a running `kernel load`"),
            "{second}"
        );
        assert!(
            state(&said, "still").contains("still: ff_search"),
            "the first is not touched: {said}"
        );
        assert!(
            pinned.starts_with("pinned: 2 1 ") && pinned.contains("unload 'search'"),
            "{pinned}"
        );
        assert_gone("unload");
    }

    #[test]
    fn what_somebody_else_has_set_meanwhile_stays() {
        let _one = ONE.lock();
        let script = "load --default --route 10.5.0.0/16; echo reno > /proc/sys/net/ipv4/tcp_congestion_control
            ip route replace 10.5.0.0/16 dev lo metric 7 congctl reno; kill -INT $pid; wait $pid; state after";
        let Some(said) = in_namespace(script) else { return };
        let after = state(&said, "after");
        assert!(
            after.contains("after: reno") && after.contains("congctl reno"),
            "what others chose is not ours to put back: {after}"
        );
        assert_gone("INT");
    }

    #[test]
    fn a_pinned_default_stays_until_it_is_unloaded() {
        let _one = ONE.lock();
        let script = "state before; \"$FF\" kernel load search --pin --default --route 10.5.0.0/16 2>&1; state pinned
            \"$FF\" kernel unload search 2>&1; state after; ls -d /run/firstflight* 2>/dev/null";
        let Some(said) = in_namespace(script) else { return };
        assert!(state(&said, "pinned").contains("pinned: ff_search"), "it is the default: {said}");
        assert_eq!(
            state(&said, "after").strip_prefix("after"),
            state(&said, "before").strip_prefix("before"),
            "as it was before"
        );
        assert!(!said.contains("/run/firstflight"), "no folder is left: {said}");
        assert_gone("unload");
    }

    /// A control group of version 2 that is removed again.
    struct Group(std::path::PathBuf);

    impl Group {
        fn make() -> Option<Group> {
            let mounts = fs::read_to_string("/proc/mounts").ok()?;
            let root =
                mounts.lines().find_map(|line| match line.split(' ').collect::<Vec<_>>()[..] {
                    [_, folder, "cgroup2", ..] => Some(folder.to_owned()),
                    _ => None,
                })?;
            let folder = std::path::Path::new(&root)
                .join(format!("firstflight-test-{}", std::process::id()));
            fs::create_dir(&folder).ok().map(|()| Group(folder))
        }
    }

    impl Drop for Group {
        fn drop(&mut self) {
            let _ = fs::remove_dir(&self.0);
        }
    }

    #[test]
    fn connections_of_a_control_group_use_the_arm_and_others_do_not() {
        let _one = ONE.lock();
        let Some(group) = Group::make() else {
            return println!("skipped: needs a control group of version 2, and root");
        };
        let script = "port() { ss -tlnH | sed -nE 's/.*:([0-9]+) .*/\\1/p' | head -1; }
            python3 -m http.server 0 --bind 127.0.0.1 >/dev/null 2>&1 & server=$!
            for _ in $(seq 100); do [ -n \"$(port)\" ] && break; sleep 0.05; done; P=$(port)
            load --cgroup \"$GROUP\"
            use() { bash -c \"[ -z '$2' ] || echo \\$\\$ > '$2/cgroup.procs'; exec 3<>/dev/tcp/127.0.0.1/$P; echo $1: \\$(ss -tinH dport = :$P | tr '\\n' ' ')\"; }
            use inside \"$GROUP\"; use outside ''
            kill -KILL $pid; wait $pid; sleep 0.2; use after \"$GROUP\"; kill $server";
        let script = script.replace("$GROUP", &group.0.display().to_string());
        let Some(said) = in_namespace(&script) else { return };
        assert!(state(&said, "inside").contains(NAME), "a process of the group: {said}");
        assert!(!state(&said, "outside").contains(NAME), "a process outside: {said}");
        assert!(!state(&said, "after").contains(NAME), "after the command was killed: {said}");
        assert_gone("KILL");
    }

    #[test]
    fn two_that_choose_in_one_control_group_are_told_of_each_other() {
        let _one = ONE.lock();
        let Some(group) = Group::make() else {
            return println!("skipped: needs a control group of version 2, and root");
        };
        let below = group.0.join("below");
        fs::create_dir(&below).expect("a group below");
        let script = "load --cgroup \"$GROUP\"; first=$pid
            for folder in \"$GROUP\" \"$GROUP/below\"; do
                coproc SECOND { exec \"$FF\" kernel load hystart++ --cgroup \"$folder\" 2>&1; }; pid=$SECOND_PID
                read -r note <&${SECOND[0]}; echo \"said: $note\"; read -r line <&${SECOND[0]}; echo \"then: $line\"
                kill -INT $pid; wait $pid; echo \"code: $?\"
            done; kill -INT $first; wait $first; echo \"first: $?\"";
        let script = script.replace("$GROUP", &group.0.display().to_string());
        let said = in_namespace(&script);
        let _ = fs::remove_dir(&below);
        let Some(said) = said else { return };
        let lines = |name: &str| said.lines().filter(|line| line.starts_with(name)).count();
        for line in said.lines().filter(|line| line.starts_with("said: ")) {
            assert!(line.contains("`kernel load` also chooses controllers here"), "{said}");
        }
        let counts = ["said: ", "then: ff_hystartpp is loaded", "code: 0", "first: 0"].map(lines);
        assert_eq!(counts, [2, 2, 2, 1], "{said}");
        assert_gone("INT");
    }

    #[test]
    fn exits_of_traced_connections_are_printed_and_kept() {
        let _one = ONE.lock();
        let folder = tempfile::tempdir().expect("a folder");
        for (kind, connections) in [("csv", 2), ("sqlog", 2), ("qlog", 1)] {
            let file = folder.path().join(format!("exits.{kind}"));
            // 20 Mbit/s with a short queue, so that slow start ends in a loss.
            let script = format!(
                "ip link set lo mtu 1500 && tc qdisc add dev lo root tbf rate 20mbit burst 3000 latency 20ms || exit 99
                coproc TRACED {{ exec \"$FF\" kernel trace search --out '{}' 2>&1; }}; pid=$TRACED_PID; read -r head <&${{TRACED[0]}}; echo \"$head\"
                for _ in $(seq 200); do grep -q {NAME} /proc/sys/net/ipv4/tcp_available_congestion_control && break; sleep 0.05; done
                for _ in $(seq {connections}); do python3 - <<'PYTHON' || exit 99
import socket, threading
listener = socket.create_server(('127.0.0.1', 0))
def take():
    taken = listener.accept()[0]
    while taken.recv(65536): pass
taking = threading.Thread(target=take); taking.start()
sender = socket.socket(); sender.setsockopt(socket.IPPROTO_TCP, 13, b'{NAME}')
sender.connect(listener.getsockname()); sender.sendall(bytes(3000000)); sender.close(); taking.join()
PYTHON
                read -r exit <&${{TRACED[0]}}; echo \"exit: $exit\"; done; kill -INT $pid; wait $pid; echo \"code: $?\"",
                file.display()
            );
            let Some(said) = in_namespace(&script) else { return };
            let printed: Vec<&str> =
                said.lines().filter(|line| line.starts_with("exit: ")).collect();
            assert_eq!(printed.len(), connections, "one line per connection: {said}");
            let kept = fs::read_to_string(&file)
                .unwrap_or_else(|error| panic!("{}: {error}; {said}", file.display()));
            for line in printed {
                let [endpoints, reason] =
                    line.split_whitespace().skip(1).take(2).collect::<Vec<_>>()[..]
                else {
                    panic!("{line}")
                };
                assert!(endpoints.contains(">127.0.0.1:"), "who it was: {line}");
                // A packet that a queue of this very host refuses is a mark to the kernel
                // (tcp_enter_cwr), if it hears of it before the loss.
                assert!(["loss", "flattened", "ecn"].contains(&reason), "why: {line}");
                assert!(
                    kept.contains(endpoints) && kept.contains(reason),
                    "the file has it, too: {line}\n{kept}"
                );
            }
            assert_eq!(state(&said, "code"), "code: 0", "Ctrl-C is how it ends");
            assert_eq!(
                fs::read_dir(folder.path())
                    .expect("the folder")
                    .filter(|entry| entry.as_ref().unwrap().path() != file)
                    .count(),
                0
            );
            fs::remove_file(&file).expect("it is there");
            assert_gone("INT");
        }
    }

    #[test]
    fn selections_that_cannot_work_are_one_line_and_load_nothing() {
        let _one = ONE.lock();
        for arguments in
            [["load", "search", "--route", "203.0.113.0/24"], ["load", "search", "--cgroup", "/"]]
        {
            let output = kernel(&arguments);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}");
            assert_eq!(
                text(&output.stderr).lines().count(),
                1,
                "{arguments:?}: {}",
                text(&output.stderr)
            );
            assert!(!registered(), "{arguments:?} is refused before anything is loaded");
        }
    }

    #[test]
    fn without_privilege_each_command_says_in_one_line_what_it_needs() {
        let _one = ONE.lock();
        let cases: [&[&str]; 5] = [
            &["kernel", "load", "search"],
            &["kernel", "load", "search", "--pin"],
            &["kernel", "load", "search", "--route", "default"],
            &["kernel", "trace", "search"],
            &["link", "--", "true"],
        ];
        for arguments in cases {
            let command = [
                &["--bounding-set=-all", "--inh-caps=-all", env!("CARGO_BIN_EXE_firstflight")],
                arguments,
            ]
            .concat();
            let Ok(output) = Command::new("setpriv").args(&command).output() else {
                return println!("skipped: no setpriv");
            };
            let said = text(&output.stderr);
            if said.starts_with("setpriv") {
                return println!("skipped: {said}");
            }
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
            assert!(said.lines().count() == 1, "{arguments:?}: {said}");
            assert!(
                said.contains("needs CAP_") || said.contains("none of exactly this prefix"),
                "{arguments:?}: {said}"
            );
        }
    }

    #[test]
    fn unknown_arms_and_needless_unloading_are_one_line_and_code_2() {
        let _one = ONE.lock();
        for arguments in [["load", "no-such-arm"], ["unload", "search"], ["trace", "no-such-arm"]] {
            let output = kernel(&arguments);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}");
            assert_eq!(
                text(&output.stderr).lines().count(),
                1,
                "{arguments:?}: {}",
                text(&output.stderr)
            );
        }
    }
}
