//! Bad input: exactly one line that says what is wrong and what is allowed, exit code 2, and not a
//! file written.

use crate::command;

use command::{inside, run, run_in};
use std::fs;
use tempfile::TempDir;

/// A folder with everything that can be wrong about a file.
fn broken_files() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let files = [
        ("empty.trace", ""),
        ("words.trace", "1\n2\nthree\n4\n"),
        ("negative.trace", "1\n-2\n"),
        ("backwards.trace", "1\n5\n3\n"),
        ("zero.trace", "0\n0\n"),
        ("gap.trace", "1000000000\n"),
        ("unknown-key.toml", "rate = \"10Mbit\"\nrtt = \"30ms\"\nbananas = 3\n"),
        ("no-toml.toml", "rate = = 10Mbit\n"),
        ("wrong-value.toml", "rtt = \"30ms\"\nrate = \"10\"\n"),
        ("loop.toml", "base = \"nowhere\"\n"),
        ("population.toml", "schema = 1\nname = \"mine\"\n"),
        ("experiment.toml", "path = \"geo\"\narms = [\"rapid\"]\n"),
        ("path.toml", "rate = \"10Mbit\"\nrtt = \"30ms\"\n"),
        ("empty.toml", ""),
    ];
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    fs::create_dir(folder.path().join("results")).expect("a folder");
    folder
}

/// Runs every row and holds each to the rule. A row is what is asked for and what the line has to
/// contain, in order.
#[track_caller]
fn refused(rows: &[(&[&str], &[&str])]) {
    let folder = broken_files();
    let before = inside(&folder);
    for (arguments, told) in rows {
        let run = run_in(&folder, arguments);
        let typed = format!("`firstflight {}`", arguments.join(" "));
        assert_eq!(run.code, 2, "{typed} is bad input: {}{}", run.stdout, run.stderr);
        assert_eq!(run.stdout, "", "{typed} prints no result");
        assert_eq!(run.said().len(), 1, "{typed} is told one line, not: {}", run.stderr);
        assert!(
            run.stderr.starts_with("firstflight: ") && run.stderr.ends_with('\n'),
            "{typed} is told who speaks: {}",
            run.stderr
        );
        let mut rest = run.stderr.as_str();
        for part in *told {
            let at = rest
                .find(part)
                .unwrap_or_else(|| panic!("{typed} should be told `{part}`: {}", run.stderr));
            rest = &rest[at + part.len()..];
        }
        assert_eq!(inside(&folder), before, "{typed} writes nothing");
        assert_eq!(
            fs::read_dir(folder.path().join("results")).expect("the folder").count(),
            0,
            "{typed} writes nothing"
        );
    }
}

/// The same with every kind of output asked for, so that there is something that must not be
/// written.
#[track_caller]
fn refused_with_outputs(rows: &[(&[&str], &[&str])]) {
    const OUTPUTS: &[&str] =
        &["--json", "results/out.json", "--report", "results/out.html", "--trace", "results"];
    for (arguments, told) in rows {
        refused(&[(&[&["compare"][..], arguments, OUTPUTS].concat(), told)]);
    }
}

#[test]
fn an_arm_that_does_not_exist_is_answered_with_the_nearest_name() {
    refused_with_outputs(&[
        (&["--arms", "rapd"], &["unknown arm or startup `rapd`", "did you mean `rapid`?"]),
        (&["--arms", "slowstart,hystart+"], &["`hystart+`", "did you mean `hystart"]),
        (
            &["--arms", "xylophone"],
            &["unknown arm or startup `xylophone`", "`firstflight arms` lists all"],
        ),
        (
            &["--arms", "rapid/cubc"],
            &["unknown congestion avoidance `cubc`", "did you mean `cubic`?"],
        ),
        (&["--arms", "rapid/cubic/pr"], &["unknown recovery `pr`", "did you mean `prr`?"]),
        (&["--arms", "CUBIC"], &["`CUBIC`: it is a congestion avoidance", "`slowstart/cubic`"]),
        (&["--arms", "prr"], &["it is a recovery", "use `slowstart/cubic/prr`"]),
        (&["--arms", "Hystart"], &["did you mean `hystart`?"]),
        (&["--arms", "slowstart(iw=30)"], &["no option `iw`", "`slowstart@(iw=30)`"]),
        (
            &["--arms", "rapid(jump=off,pace=on)/reno@(iw=30)"],
            &["`rapid(jump=off)/reno@(pace=on,iw=30)`"],
        ),
        (&["--arms", "rapid(jmp=off)"], &["no option `jmp`", "did you mean `jump`?"]),
        (&["--arms", "rapid(jump=maybe)"], &["`jump` takes off, 2iw or packets, not `maybe`"]),
        (&["--arms", "rapid(jump=off"], &["parentheses do not match"]),
        (&["--arms", "slowstart@iw=30"], &["`slowstart@(iw=30)`"]),
        (&["--arms", "slowstart/BBR"], &["it is a startup; `bbr` runs it"]),
        (&["--arms", "bbr/prr"], &["`prr`, it is a recovery; use `bbr/cubic/prr`"]),
        (&["--arms", "rapid/"], &["`firstflight arms` lists all"]),
        (&["--sweep", "foo=1..2"], &["foo=1: unknown key"]),
        (&["--arms", "rapid,,oracle"], &["an arm is missing; allowed: names"]),
        (&["--arms", ""], &["arm"]),
        // A value cannot make two lines out of one, nor write to the terminal.
        (&["--arms", "ra\npi\u{1b}[31md"], &[r"`ra\npi\u001b[31md`"]),
    ]);
}

#[test]
fn a_path_that_does_not_exist_is_answered_with_the_nearest_name() {
    refused_with_outputs(&[
        (
            &["--path", "gep"],
            &["`gep` is not a known path", "did you mean `geo`?", "`firstflight paths`"],
        ),
        (&["--path", "quicly15/lt"], &["did you mean `quicly15/lte`?"]),
        (&["--path", "nowhere.toml"], &["nowhere.toml: cannot read the path"]),
        (&["--path", ""], &["empty path"]),
        (&["--path", "ge\no"], &["is not a known path"]),
    ]);
}

#[test]
fn every_quantity_of_a_path_needs_its_unit_and_a_sane_value() {
    refused_with_outputs(&[
        (&["--path", "rate=10,rtt=30ms"], &["rate=10: the unit is missing; allowed: "]),
        (&["--path", "rate=10Mbit,rtt=30"], &["rtt=30: the unit is missing; allowed: "]),
        (
            &["--path", "geo,loss=0.5"],
            &["loss=0.5: the unit is missing (did you mean `0.5%` or `50%`?)"],
        ),
        (
            &["--path", "rate=10Mbit,rtt=30ms,queue=30"],
            &["queue=30: the unit is missing; allowed: "],
        ),
        (&["--path", "rate=-10Mbit,rtt=30ms"], &["rate=-10Mbit: is negative; allowed: "]),
        (&["--path", "rate=10Mbit,rtt=-30ms"], &["rtt=-30ms: is negative; allowed: "]),
        (&["--path", "rate=10Mbit,rtt=30ms,queue=-30ms"], &["queue=-30ms: is negative; allowed: "]),
        (&["--path", "rate=10Mbit,rtt=30ms,loss=-1%"], &["loss=-1%: is negative; allowed: "]),
        (&["--path", "rate=10Mbit,rtt=30ms,loss=100%"], &["loss=100%", "allowed: "]),
        (&["--path", "rate=0Mbit,rtt=30ms"], &["rate=0Mbit: is zero; allowed: "]),
        (&["--path", "rate=10Mbit,rtt=0ms"], &["rtt=0ms: is zero; allowed: "]),
        (
            &["--path", "rate=10Mbit,rtt=30ms,queue=100B"],
            &["queue=100B", "holds no packet", "allowed: 1500B or more"],
        ),
        (&["--path", "rate=10Mbit,rtt=30ms,queue=0pkt"], &["queue=0pkt", "allowed: 1pkt"]),
        (&["--path", "rate=10bananas,rtt=30ms"], &["rate=10bananas: unknown unit; allowed: "]),
        (&["--path", "rate=10Mbit,rtt=30ms,qeue=30ms"], &["qeue=30ms: unknown key"]),
        (&["--path", "rate=10Mbit"], &["rtt"]),
    ]);
}

#[test]
fn a_trace_has_to_be_a_trace() {
    refused_with_outputs(&[
        (&["--path", "rate=trace:empty.trace,rtt=30ms"], &["empty.trace:1: empty trace"]),
        (
            &["--path", "rate=trace:words.trace,rtt=30ms"],
            &["words.trace:3: `three` is not a non-negative whole number"],
        ),
        (
            &["--path", "rate=trace:negative.trace,rtt=30ms"],
            &["negative.trace:2: `-2` is not a non-negative whole number"],
        ),
        (
            &["--path", "rate=trace:backwards.trace,rtt=30ms"],
            &["backwards.trace:3: 3 is less than the 5 before it"],
        ),
        (&["--path", "rate=trace:zero.trace,rtt=30ms"], &["zero.trace", "has no length"]),
        (
            &["--path", "rate=trace:missing.trace,rtt=30ms"],
            &["missing.trace: cannot read the trace"],
        ),
        (&["--path", "rate=trace:results,rtt=30ms"], &["results: cannot read the trace"]),
        // One packet in eleven days: no round trip is long enough for it.
        (
            &["--path", "rate=trace:gap.trace,rtt=30ms,queue=100pkt"],
            &["rtt=30ms: leaves no time to send a packet"],
        ),
    ]);
}

#[test]
fn a_path_file_is_refused_with_its_name() {
    refused_with_outputs(&[
        (
            &["--path", "unknown-key.toml"],
            &["unknown-key.toml:3: ", "bananas=3: unknown key; allowed: ", "rate", "queue"],
        ),
        (&["--path", "no-toml.toml"], &["no-toml.toml:1: "]),
        (&["--path", "wrong-value.toml"], &["wrong-value.toml: rate=10: the unit is missing"]),
        (&["--path", "loop.toml"], &["loop.toml:1: ", "`nowhere` is not a known path"]),
    ]);
}

#[test]
fn an_object_has_a_size() {
    refused_with_outputs(&[
        (&["--bytes", "0B"], &["--bytes 0B: is zero; allowed: 1B to "]),
        (&["--bytes", "10"], &["--bytes 10: the unit is missing; allowed: "]),
        (&["--bytes", "-5MB"], &["--bytes -5MB: is negative; allowed: "]),
        (&["--bytes", "10Mbit"], &["--bytes 10Mbit: unknown unit; allowed: "]),
        (&["--bytes", "many"], &["--bytes many: is not a number; allowed: "]),
        (&["--bytes", "99999TB"], &["unknown unit"]),
        (&["--bytes", "9999999GB"], &["is too large"]),
        (&["--bytes="], &["--bytes: the value is missing"]),
    ]);
}

#[test]
fn counts_are_whole_and_in_range() {
    refused_with_outputs(&[
        (&["--seed", "-1"], &["--seed -1: is negative; allowed: 0 to "]),
        (&["--seed", "lucky"], &["--seed lucky: is not a whole number"]),
        (&["--repeat", "0"], &["--repeat 0: is zero; allowed: 1 to "]),
        (&["--repeat", "2.5"], &["--repeat 2.5: is not a whole number"]),
        (&["--iw", "1001"], &["--iw 1001: is too large; allowed: 1 to 1000 packets"]),
        (
            &["--limit", "0"],
            &[
                "--limit 0: is zero; allowed: 1us to 86400s, with the unit us, ms, s, min or h, or 1 to 86400 seconds",
            ],
        ),
        (&["--threads", "0"], &["--threads 0: is zero; allowed: 1 to "]),
    ]);
}

#[test]
fn a_testbed_that_is_not_in_this_build_is_named() {
    refused_with_outputs(&[
        #[cfg(not(feature = "quic"))]
        (
            &["--on", "quic"],
            &["testbed `quic` is not part of this build", "--features quic", "`--on sim`"],
        ),
        #[cfg(not(feature = "linux"))]
        (&["--on", "linux"], &["testbed `linux` is not part of this build"]),
        (
            &["--on", "quick"],
            &[
                "--on quick: unknown value (did you mean `quic`?); allowed: sim, quic, quic-real, linux",
            ],
        ),
    ]);
}

#[test]
fn transport_and_detection_have_to_go_together() {
    refused_with_outputs(&[
        (&["--transport", "udp"], &["--transport udp: unknown value", "; allowed: quic, tcp"]),
        (&["--transport", "tcp", "--detection", "rak"], &["unknown detection `rak`", "rack"]),
        (&["--detection", "rack"], &["--detection: QUIC has its own", "`--transport tcp`"]),
    ]);
}

#[test]
fn outputs_need_a_place_to_go() {
    refused(&[
        (&["compare", "--report", "nowhere/out.html"], &["output folder nowhere does not exist"]),
        (&["compare", "--json", "nowhere/out.json"], &["output folder nowhere does not exist"]),
        (&["compare", "--trace", "nowhere"], &["output folder nowhere does not exist"]),
        (&["compare", "--trace", "empty.trace"], &["empty.trace"]),
        (
            &["compare", "--json", "-", "--report", "nowhere/out.html"],
            &["output folder nowhere does not exist"],
        ),
        (
            &["compare", "--json", "results/out.json", "--trace", "nowhere"],
            &["output folder nowhere does not exist"],
        ),
        (&["compare", "--report", "results"], &["results: is a folder, not a file"]),
        (&["compare", "--report", "-"], &["a report goes to a file"]),
        (
            &["compare", "--report", "results/out", "--json", "results/out"],
            &["--json names the same file"],
        ),
        (&["compare", "--json="], &["--json: the value is missing"]),
    ]);
}

#[test]
fn words_that_mean_nothing_are_named() {
    refused(&[
        (&["compar"], &["unknown command `compar` (did you mean `compare`?)"]),
        (&["comprae"], &["did you mean `compare`?"]),
        (&["fly"], &["unknown command `fly`"]),
        (&["compare", "--arm", "rapid"], &["unknown option `--arm` (did you mean `--arms`?)"]),
        (&["compare", "--population", "cdn"], &["unknown option `--population` (`ab` has it)"]),
        (&["compare", "rapid"], &["unexpected argument `rapid`"]),
        (&["compare", "--arms", "rapid", "--arms", "oracle"], &["--arms: given more than once"]),
        (&["compare", "--arms"], &["--arms: the value is missing"]),
        (&["compare", "--flows", "2", "--jitter", "-1ms"], &["`-1` is negative"]),
        (&["watch", "--for", "-1s"], &["`-1` is negative"]),
        (&["paths", "foo"], &["`foo` is not a known path"]),
        (
            &["ab", "--population", "day.pcap.gz", "--flows", "20"],
            &["`day.pcap.gz` is a capture or a log", "`firstflight advise day.pcap.gz`"],
        ),
    ]);
}

#[test]
fn words_of_other_programs_are_understood() {
    refused(&[
        (&["compare", "--rtt", "30ms"], &["`--path rate=100Mbit,rtt=30ms`"]),
        (&["compare", "--bandwidth", "1"], &["`--path rate=100Mbit,rtt=30ms`"]),
        (&["compare", "--buffer", "1bdp"], &["`--path geo,queue=1bdp`"]),
        (&["compare", "--size", "10MB"], &["did you mean `--bytes`?"]),
        (&["compare", "-o", "x"], &["`--json FILE` writes data, `--report FILE` a page"]),
        (&["compare", "-n", "3"], &["`--repeat 20`"]),
        (&["compare", "--csv", "x"], &["`--format csv`"]),
        (&["compare", "--path", "geo,buffer=1bdp"], &["did you mean `queue`?"]),
        (&["compare", "--path", "geo,latency=1ms"], &["did you mean `rtt`?"]),
        (&["compare", "--path", "rate=1Mbit,bw=2Mbit"], &["did you mean `rate`?"]),
        (&["compare", "--path", "geo,plr=1%"], &["did you mean `loss`?"]),
        (&["compare", "--arms", "hystartpp"], &["did you mean `hystart++`?"]),
        (&["compare", "--arms", "hystart+"], &["did you mean `hystart++`?"]),
        (&["compare", "--arms", "quinn:rapid"], &["`--on quic --arms rapid` runs ours in noq"]),
        (&["compare", "--bytes", "10mb"], &["did you mean `10MB`?"]),
        (&["compare", "--path", "geo,rtt=30msec"], &["did you mean `30ms`?"]),
        (&["compare", "--path", "geo,queue=100pkts"], &["did you mean `100pkt`?"]),
        (&["reproduce", "rapid"], &["did you mean `rapid-start`?"]),
        (&["trial", "statsu"], &["did you mean `status`?"]),
        (&["ui", "--port", "http"], &["is not a whole number; allowed: 0 to 65535"]),
    ]);
    // Three letters are too few for a guess at distance two.
    for words in [&["compare", "--path", "lxx"][..], &["reproduce", "foo"]] {
        let run = run(words);
        assert!(run.code == 2 && !run.stderr.contains("did you mean"), "{}", run.stderr);
    }
}

#[test]
fn a_file_of_another_kind_is_called_by_its_kind() {
    refused(&[
        (&["compare", "--path", "population.toml"], &["is a population", "ab --population"]),
        (&["compare", "--path", "experiment.toml"], &["is an experiment", "firstflight run"]),
        (&["ab", "--population", "experiment.toml"], &["is an experiment", "firstflight run"]),
        (&["ab", "--population", "path.toml"], &["is a path", "--path"]),
        (&["run", "population.toml"], &["is a population", "ab --population"]),
        (&["run", "path.toml"], &["is a path", "compare --path"]),
        (&["run", "empty.toml"], &["is empty"]),
        (&["compare", "--report", "x.pdf"], &["a report is a web page"]),
    ]);
}

#[test]
fn without_a_command_the_help_is_shown() {
    let run = run(&[]);
    assert_eq!(run.code, 2);
    assert!(
        run.stdout.is_empty() && run.stderr.contains("compare") && run.stderr.contains("Usage:"),
        "{}",
        run.stderr
    );
}
