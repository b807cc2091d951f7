//! Packetdrill scripts against the simulator's sender.

use firstflight::arm::Arm;
use firstflight_lab::drill::{Script, Verdict, arm_of, play, record};
use std::path::PathBuf;

/// Scripts of our own, one per rule.
fn ours() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/drill");
    let mut scripts: Vec<(String, String)> = std::fs::read_dir(folder)
        .expect("the folder of scripts")
        .map(|entry| entry.expect("an entry").path())
        .map(|file| (file.display().to_string(), std::fs::read_to_string(&file).expect("a script")))
        .collect();
    scripts.sort();
    scripts
}

#[test]
fn every_script_of_ours_holds_for_the_arm_that_follows_its_congestion_control() {
    let scripts = ours();
    assert!(scripts.len() >= 4, "{} scripts", scripts.len());
    for (name, text) in &scripts {
        let script = Script::parse(text).unwrap_or_else(|bad| panic!("{name}: {bad}"));
        let arm = arm_of(script.congestion()).expect("an arm");
        let played = play(&script, &arm);
        assert_eq!(played.verdict, Verdict::Pass, "{name}");
        assert!(played.judged >= 2 && played.unknown.is_empty(), "{name}: {played:?}");
    }
}

/// A recorded script says what the arm does: it holds for that arm, and fails for one that does
/// something else.
#[test]
fn a_recorded_script_holds_for_its_arm_and_fails_for_another() {
    let arms = [
        "slowstart/reno/prr",
        "hystart",
        "hystart++",
        "rapid(jump=off)",
        "best",
        "search",
        "bbr",
        "bbr3",
        "plumb",
    ];
    let arms = arms.map(|text| Arm::parse(text).expect(text));
    let mut told_apart = 0;
    for (name, text) in &ours() {
        let script = Script::parse(text).expect(name);
        for arm in &arms {
            // A script acknowledges what its own arm has sent: another may not have sent it yet.
            let Ok(recorded) = record(&script, arm) else { continue };
            let again = Script::parse(&recorded).unwrap_or_else(|bad| panic!("{bad}:\n{recorded}"));
            assert_eq!(play(&again, arm).verdict, Verdict::Pass, "{name}, {arm}:\n{recorded}");
            let others = arms.iter().filter(|other| *other != arm);
            told_apart +=
                others.filter(|other| play(&again, other).verdict != Verdict::Pass).count();
        }
    }
    assert!(told_apart > 20, "recorded scripts fail for {told_apart} other arms");
}

#[test]
fn a_wrong_expectation_fails_at_its_line_with_both_values() {
    let (_, text) =
        &ours()[ours().iter().position(|(name, _)| name.ends_with("slow-start.pkt")).expect("it")];
    let verdict = |from: &str, to: &str| {
        let changed = text.replacen(from, to, 1);
        assert_ne!(&changed, text, "`{from}` stands in the script");
        let script = Script::parse(&changed).unwrap_or_else(|bad| panic!("{from}: {bad}"));
        play(&script, &arm_of("reno").expect("an arm")).verdict
    };
    let fails = |from: &str, to: &str, says: &str| match verdict(from, to) {
        Verdict::Fail { line, why } => assert!(line > 4 && why.contains(says), "{line}: {why}"),
        other => panic!("`{to}`: {other:?}"),
    };
    fails("tcpi_snd_cwnd == 12", "tcpi_snd_cwnd == 13", "tcpi_snd_cwnd is 12");
    fails("> . 10001:14001(4000)", "> . 10001:15001(5000)", "nothing was sent");
    fails("> . 10001:14001(4000)", "> . 9001:14001(5000)", "sent 10001:");
    fails("   +0 > . 10001", " +.02 > . 10001", "sent it at");
    fails("ack 4001 win", "ack 59001 win", "acknowledges");
}

#[test]
fn what_is_outside_the_subset_is_named_with_its_line_and_never_guessed() {
    for (script, says) in [
        ("0 socket(...) = 3\n+0 tee(3) = 0", "tee()"),
        ("0 < icmp unreachable", "icmp"),
        ("`rm -rf nothing`", "`rm -rf nothing` is not modelled"),
        ("`sysctl -q net.ipv4.tcp_rto_min_us=5000`", "tcp_rto_min_us=5000"),
        ("0 %{ assert 1", "`}%` is missing"),
        ("0 < S 0:5(4) win 3", "do not make 5"),
        ("0 < . 1:1(0) ack 1 win 3 <weird 4>", "weird"),
        ("+x write(4, ..., 4) = 4", "does not start with a time"),
        ("0 setsockopt(4, SOL_SOCKET, SO_MAX_PACING_RATE, [9], 4) = 0", "SO_MAX_PACING_RATE"),
    ] {
        let bad = Script::parse(script).expect_err(script);
        assert!(bad.line >= 1 && bad.why.contains(says), "{script}: {bad}");
        assert!(!bad.why.contains('\n'), "one line: {bad}");
    }
}

/// Any change to a script gives a verdict: no panic, no endless loop.
#[test]
fn any_script_gets_a_verdict() {
    let scripts = ours();
    let mut state = 7u64;
    let mut draw = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let words = [
        "ack 0",
        "ack 4294967295",
        "+86400",
        "sack 1:4294967295",
        "win 0",
        "wscale 14",
        "E.",
        "F.",
        "1:1(0)",
        "+0",
        "*",
        "write(4, ..., 4294967295) = 4294967295",
        "mss 1",
        "<",
        "%{",
        "`",
        "}%",
    ];
    let mut played = 0;
    for _ in 0..1_500 {
        let (_, text) = &scripts[draw(scripts.len())];
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for _ in 0..=draw(3) {
            let at = draw(lines.len());
            match draw(4) {
                0 => {
                    lines.remove(at);
                }
                1 => lines.insert(at, lines[draw(lines.len())].clone()),
                2 => {
                    let parts: Vec<&str> = lines[at].split_whitespace().collect();
                    if !parts.is_empty() {
                        let part = parts[draw(parts.len())];
                        lines[at] = lines[at].replacen(part, words[draw(words.len())], 1);
                    }
                }
                _ => {
                    let to = draw(lines.len());
                    lines.swap(at, to);
                }
            }
            if lines.is_empty() {
                lines.push(String::new());
            }
        }
        if let Ok(script) = Script::parse(&lines.join("\n")) {
            let arm = arm_of(script.congestion()).unwrap_or_else(|_| arm_of("cubic").expect("it"));
            play(&script, &arm);
            let _ = record(&script, &arm);
            played += 1;
        }
    }
    assert!(played > 300, "{played} of the changed scripts can be played");
}
