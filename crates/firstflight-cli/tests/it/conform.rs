//! `firstflight conform` and `firstflight vectors`, from end to end.

use crate::command::{refused, run, well};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const CUBIC: &str = "slowstart/cubic/immediate";

#[test]
fn an_arm_of_ours_agrees_with_itself_and_a_planted_factor_is_found() {
    let same = well(&["conform", CUBIC, "--strict"]).stdout;
    assert!(same.contains(" matches ") && !same.contains("differs"), "{same}");
    let planted = "slowstart/cubic(beta=0.595)/immediate";
    let found = well(&["conform", planted, "--against", CUBIC, "--json", "-"]).json();
    assert_eq!(found["same"], false);
    let first = &found["connections"][0]["first"];
    assert_eq!(
        (&first["rule"], &first["section"]),
        (&"reduction".into(), &"RFC 9438 4.6, 4.7".into())
    );
    let side = |name: &str| {
        let side = &first["step"][name];
        side["cwnd"].as_f64().expect("a window") / side["cwnd_before"].as_f64().expect("another")
    };
    assert!(
        (side("theirs") - 0.595).abs() < 0.001 && (side("ours") - 0.7).abs() < 0.001,
        "{first}"
    );
    let strict = run(&["conform", planted, "--against", CUBIC, "--strict"]);
    assert!(strict.code == 1 && strict.stdout.contains("x 0.595"), "{}", strict.stdout);
    let csv = well(&["conform", planted, "--against", CUBIC, "--format", "csv"]).stdout;
    assert!(csv.starts_with("path,bytes,rule,section,events,differ,on_its_own"), "{csv}");
}

#[test]
fn a_program_in_any_language_can_be_held_against_ours() {
    let path = ["--path", "rapid-slide", "--bytes", "1MB", "--json", "-"];
    let lazy = r#"exec:sed -u 's/.*/{"cwnd":14720,"ssthresh":null}/'"#;
    let found = well(&[&["conform", lazy][..], &path].concat()).json();
    let first = &found["connections"][0]["first"];
    assert_eq!(first["rule"], "slow_start", "a window that never grows: {first}");
    assert_eq!(first["step"]["theirs"]["cwnd"], 14_720);
    refused(&[(&["conform", "exec:echo nothing"], "each answer is a line")]);
    // The shell says so, too.
    let missing = run(&["conform", "exec:no-such-program-anywhere"]);
    assert!(missing.code == 2 && missing.stderr.contains("exit code 127"), "{}", missing.stderr);
}

/// A controller that died: the check has failed, strict or not, and says how.
#[track_caller]
fn dies(controller: &str, why: &str, from: &str) {
    for strict in [&[][..], &["--strict"]] {
        let path = ["--path", "rapid-slide", "--bytes", "200kB", "--json", "-"];
        let dead = run(&[&["conform", controller][..], &path, strict].concat());
        assert_eq!(dead.code, 1, "{controller}: {}", dead.stderr);
        assert!(dead.stderr.contains(why), "{controller}: {}", dead.stderr);
        let answer = dead.json();
        assert_eq!(answer["same"], false, "{controller}");
        let ended = answer["connections"][0]["ended"].as_str().expect("the reason");
        assert!(ended.contains(why) && ended.contains(from), "{controller}: {ended}");
    }
}

#[test]
fn a_program_that_dies_is_a_check_that_failed() {
    dies("exec:true", "exit code 0", "before the first event");
    dies("exec:exit 7", "exit code 7", "before the first event");
    dies("exec:kill -SEGV $$", "signal 11, SIGSEGV", "before the first event");
    let once = r#"exec:read x; echo '{"cwnd":14720}'; exit 0"#;
    dies(once, "exit code 0", " ms (");
    let silent = r#"exec:read x; echo '{"cwnd":14720}'; exec sleep 100"#;
    let hung = run(&["conform", silent, "--path", "rapid-slide", "--bytes", "200kB"]);
    assert!(hung.code == 1 && hung.stderr.contains("within 10 s"), "{}", hung.stderr);
}

#[test]
fn a_library_that_dies_or_hangs_is_a_check_that_failed() {
    let folder = tempfile::tempdir().expect("a folder");
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/vectors");
    let ends = |name: &str, deed: &str, last: &str| -> Option<String> {
        let (source, file) =
            (folder.path().join(format!("{name}.c")), folder.path().join(format!("{name}.so")));
        let text = format!(
            "#include \"controller.h\"\n#include <stdio.h>\n#include <stdlib.h>\n\
             static int told;\n\
             static void *create(const struct firstflight_begin *b) {{ (void)b; return malloc(8); }}\n\
             static void tell(void *c, const struct firstflight_event *e) {{ (void)c; (void)e; if (++told > 100) {{ {deed} }} }}\n\
             static struct firstflight_window window(const void *c) {{ (void)c; return (struct firstflight_window){{14720, FIRSTFLIGHT_NONE}}; }}\n\
             static void destroy(void *c) {{ free(c); {last} }}\n\
             static const struct firstflight_controller table = {{FIRSTFLIGHT_VERSION, create, tell, window, destroy}};\n\
             const struct firstflight_controller *firstflight_controller(void) {{ return &table; }}\n"
        );
        std::fs::write(&source, text).expect("written");
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-w", "-I"]).arg(&docs).arg("-o").arg(&file).arg(&source);
        assert!(cc.status().ok()?.success(), "the controller in C compiles");
        Some(format!("table:{}", file.display()))
    };
    let made = |name: &str, deed: &str| ends(name, deed, "");
    for (name, deed, why) in [
        ("leaves", "exit(0);", "exit code 0"),
        ("quits", "_Exit(3);", "exit code 3"),
        ("crashes", "*(volatile int *)0 = 1;", "SIGSEGV"),
        ("aborts", "abort();", "SIGABRT"),
    ] {
        let Some(library) = made(name, deed) else { return };
        dies(&library, why, " ms (");
    }
    let Some(freed) = ends("frees", "", "abort();") else { return };
    dies(&freed, "SIGABRT", "after the last event");
    let Some(hangs) = made("hangs", "for (;;);") else { return };
    let hung = run(&["conform", &hangs, "--path", "rapid-slide", "--bytes", "200kB"]);
    assert!(hung.code == 1 && hung.stderr.contains("within 10 s"), "{}", hung.stderr);
    // Words of the library are not part of the result.
    let prints = made("prints", "puts(\"hello\");").expect("again");
    let said =
        run(&["conform", &prints, "--path", "rapid-slide", "--bytes", "200kB", "--json", "-"]);
    assert_eq!((said.code, &said.json()["connections"][0]["ended"]), (0, &Value::Null));
}

#[test]
fn what_cannot_be_held_against_ours_is_refused_with_what_can() {
    let kernel = if cfg!(feature = "linux") { "--against" } else { "--features linux" };
    refused(&[
        (&["conform", "kernel:westwood"], kernel),
        (&["conform", "noq:bbr3"], "--against"),
        (&["conform", "noq:cubik"], "did you mean `noq:cubic`?"),
        (&["conform", "slowstart,rapid"], "one controller at a time"),
    ]);
}

#[cfg(feature = "quic")]
#[test]
fn a_controller_of_a_stack_is_held_against_its_counterpart_on_its_own_stack() {
    let found = well(&["conform", "quinn:newreno", "--json", "-"]).json();
    assert_eq!(found["against"], "slowstart/reno(base=cwnd)/immediate");
    for connection in found["connections"].as_array().expect("a list") {
        assert!(connection["acks"].as_u64() > Some(1_000), "{connection}");
        for row in connection["rules"].as_array().expect("a list") {
            assert!(row["rule"] != "reduction" || row["differ"] == 0, "{row}");
        }
    }
}

/// The examples of runners in the documentation; `None` where this machine has not their language.
fn runner(folder: &Path, language: &str) -> Option<Command> {
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/vectors");
    if language == "go" {
        // It compiles its whole standard library: for `make night`.
        std::env::var_os("NIGHT")?;
        Command::new("go").arg("version").output().ok()?;
        let mut go = Command::new("go");
        go.arg("run").arg(docs.join("newreno.go")).env("GOCACHE", folder.join("go"));
        return Some(go);
    }
    let program = folder.join("newreno");
    let sources = ["run.c", "newreno.c"].map(|file| docs.join(file));
    let built =
        Command::new("cc").args(["-Wall", "-Werror", "-o"]).arg(&program).args(sources).status();
    assert!(built.ok()?.success(), "the runner in C compiles");
    Some(Command::new(program))
}

/// The NewReno of the documentation as a shared library, changed or not; `None` without a compiler.
fn library(folder: &Path, name: &str, change: impl Fn(String) -> String) -> Option<String> {
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/vectors");
    let text = std::fs::read_to_string(docs.join("newreno.c")).expect("a file");
    let (source, file) = (folder.join(format!("{name}.c")), folder.join(format!("{name}.so")));
    std::fs::write(&source, change(text)).expect("written");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-I"]).arg(&docs).arg("-o").arg(&file).arg(&source);
    assert!(cc.status().ok()?.success(), "the controller in C compiles");
    Some(format!("table:{}", file.display()))
}

/// Our arms behind the C library, as a table of functions and linked with the runner of vectors; `None` without a compiler.
fn through_c(folder: &Path) -> Option<(String, PathBuf)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tests = std::env::current_exe().expect("a program");
    let library = tests.with_file_name("libfirstflight_c.a");
    let build = |file: &Path, sources: &[&str], options: &[&str]| -> Option<()> {
        let mut cc = Command::new("cc");
        cc.args(["-Wall", "-Wextra", "-Werror", "-I"]).arg(root.join("docs/vectors")).arg("-I");
        cc.arg(root.join("crates/firstflight-c/include")).args(options).arg("-o").arg(file);
        cc.arg(root.join("crates/firstflight-c/examples/table.c"));
        cc.args(sources.iter().map(|source| root.join(source))).arg(&library);
        assert!(cc.args(["-lpthread", "-ldl", "-lm"]).status().ok()?.success(), "{sources:?}");
        Some(())
    };
    let (table, runner) = (folder.join("table.so"), folder.join("runner"));
    build(&table, &[], &["-shared", "-fPIC"])?;
    build(&runner, &["docs/vectors/run.c"], &[])?;
    Some((format!("table:{}", table.display()), runner))
}

#[test]
fn our_arms_through_c_agree_to_the_byte() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some((table, runner)) = through_c(folder.path()) else { return };
    for arm in ["hystart++", "plumb", "bbr3"] {
        let arguments = ["conform", &table, "--against", arm, "--tolerance", "0B", "--strict"];
        let mut conform = Command::new(env!("CARGO_BIN_EXE_firstflight"));
        let said = conform.args(arguments).env("FIRSTFLIGHT_ARM", arm).output().expect("it runs");
        let text = String::from_utf8_lossy(&said.stdout);
        assert!(said.status.success() && text.contains(" matches "), "{arm}: {text}");
    }
    let vectors = folder.path().join("vectors.json");
    for (arm, transport) in [("rapid", "quic"), ("slowstart/cubic/sack", "tcp")] {
        let path = vectors.to_str().expect("text");
        well(&["vectors", "--arms", arm, "--transport", transport, "--json", path]);
        let mut through = Command::new(&runner);
        through.env("FIRSTFLIGHT_ARM", arm).env("FIRSTFLIGHT_TRANSPORT", transport);
        let done = through.arg(&vectors).output().expect("it runs");
        assert!(done.status.success(), "{arm}: {}", String::from_utf8_lossy(&done.stdout));
    }
}

#[test]
fn a_table_of_functions_in_c_agrees_to_the_byte_and_a_planted_cut_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let against = ["--against", "slowstart/reno(base=cwnd)/immediate"];
    let Some(exact) = library(folder.path(), "exact", |text| text) else { return };
    let same =
        well(&[&["conform", &exact, "--tolerance", "0B", "--strict"][..], &against].concat());
    assert!(same.stdout.contains(" matches "), "{}", same.stdout);
    let deeper = library(folder.path(), "deeper", |text| {
        text.replace("MAX(c->cwnd / 2, ", "MAX(c->cwnd / 10 * 4, ")
    });
    let found =
        well(&[&["conform", &deeper.expect("again"), "--json", "-"][..], &against].concat());
    let first = &found.json()["connections"][0]["first"];
    assert_eq!((&first["rule"], first["on_its_own"].as_bool()), (&"reduction".into(), Some(true)));
    for (name, change, why) in [
        ("none", ["return &table;", "return (void)table.version, NULL;"], "it has no table"),
        ("other", ["{FIRSTFLIGHT_VERSION,", "{FIRSTFLIGHT_VERSION + 1,"], "has version 2"),
        ("nobody", ["if (c) c->mss", "return 0; if (c) c->mss"], "it creates no controller"),
        (
            "hidden",
            ["*firstflight_controller(void) {", "*another(void) {"],
            "firstflight_controller",
        ),
    ] {
        let [from, to] = change;
        let file = library(folder.path(), name, |text| text.replace(from, to)).expect("again");
        refused(&[(&["conform", &file], why)]);
    }
    refused(&[(&["conform", "table:nothing.so"], "No such file")]);
}

#[test]
fn the_runners_of_the_documentation_agree_with_the_vectors_and_notice_a_changed_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("newreno.json");
    let name = file.to_str().expect("text");
    let reno = "slowstart/reno(base=cwnd)/immediate";
    well(&["vectors", "--arms", reno, "--transport", "quic", "--json", name]);
    let text = std::fs::read_to_string(&file).expect("a file");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(document["vectors"].as_array().map(Vec::len), Some(15));
    let changed = folder.path().join("changed.json");
    let initial = document["vectors"][0]["config"]["initial_window"].to_string();
    std::fs::write(&changed, text.replacen(&initial, "40000", 1)).expect("written");
    for language in ["go", "c"] {
        let Some(mut good) = runner(folder.path(), language) else { continue };
        let good = good.arg(&file).output().expect("it runs");
        let said = String::from_utf8_lossy(&good.stdout);
        assert!(good.status.success() && said.contains("every window"), "{language}: {said}");
        let bad = runner(folder.path(), language).expect("again").arg(&changed).output();
        let bad = bad.expect("it runs");
        let said = String::from_utf8_lossy(&bad.stdout);
        assert!(!bad.status.success() && said.contains("expected"), "{language}: {said}");
    }
}
