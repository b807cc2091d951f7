//! Programs in C and C++, linked with the library: the examples, and those of the page on stacks.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The static library, beside the tests that it was built with.
fn library() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    tests.parent().unwrap().join("libfirstflight_c.a")
}

/// Whether there is a compiler; says so if not.
fn compiler(name: &str) -> bool {
    let found = Command::new(name).arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: no {name}");
    }
    found
}

#[test]
fn the_header_compiles_without_a_warning() {
    let strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-x"];
    for (compiler_name, language) in [("cc", ["c", "-std=c99"]), ("c++", ["c++", "-std=c++11"])] {
        if !compiler(compiler_name) {
            continue;
        }
        let built = Command::new(compiler_name)
            .args(strict)
            .args(language)
            .arg(here("include/firstflight.h"))
            .status();
        assert!(built.unwrap().success(), "{compiler_name}");
    }
}

#[test]
fn a_transfer_over_loopback_arrives() {
    if !compiler("cc") {
        return;
    }
    let folder = std::env::temp_dir().join(format!("firstflight-c-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join("transfer");
    let built = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(here("include"))
        .arg("-o")
        .arg(&program)
        .arg(here("examples/transfer.c"))
        .arg(library())
        .args(["-lpthread", "-ldl", "-lm"])
        .status();
    assert!(built.unwrap().success(), "the transfer compiles");
    for arm in ["hystart++", "rapid", "plumb"] {
        // A port that was free a moment ago.
        let port = std::net::UdpSocket::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port()
            .to_string();
        let receiver =
            Command::new(&program).args(["receive", &port]).stdout(Stdio::piped()).spawn().unwrap();
        let sent = Command::new(&program)
            .args(["send", "127.0.0.1", &port, "2000000", arm])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&sent.stdout).into_owned();
        assert!(sent.status.success(), "{said}{}", String::from_utf8_lossy(&sent.stderr));
        assert!(said.starts_with(&format!("{arm}: 1667 packets in ")), "{said}");
        let received = receiver.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&received.stdout), "received 1667 packets\n");
    }
    let refused =
        Command::new(&program).args(["send", "127.0.0.1", "9", "1", "hystart--"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&refused.stderr), "unknown arm or startup `hystart--`\n");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The fenced blocks of a language on the page on stacks.
fn blocks(language: &str) -> Vec<String> {
    let page = std::fs::read_to_string(here("../../docs/how-to/stack.md")).unwrap();
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// Compiles a source with the library and returns what the program prints.
fn run(compiler_name: &str, standard: &str, extension: &str, source: &str) -> String {
    let folder =
        std::env::temp_dir().join(format!("firstflight-page-{extension}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (file, program) = (folder.join(format!("page.{extension}")), folder.join("page"));
    std::fs::write(&file, source).unwrap();
    let built = Command::new(compiler_name)
        .args([standard, "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(here("include"))
        .arg("-o")
        .arg(&program)
        .arg(&file)
        .arg(library())
        .args(["-lpthread", "-ldl", "-lm"])
        .status();
    assert!(built.unwrap().success(), "the block of the page compiles");
    let done = Command::new(&program).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(done.status.success() && done.stderr.is_empty(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn the_lines_of_the_page_compile_and_run() {
    if compiler("cc") {
        let [block] = &blocks("c")[..] else { panic!("one block in C") };
        let source = format!(
            "#include <firstflight.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
             int main(void) {{\nff_time now = 0;\nuint64_t inflight = 0, rtt = 50000000;\n{block}free(sender);\n}}\n"
        );
        // Ten packets, and one that was acknowledged.
        assert_eq!(run("cc", "-std=c11", "c", &source), "window 13200, phase startup\n");
    }
    if compiler("c++") {
        let [of_cpp, of_ns3] = &blocks("cpp")[..] else { panic!("one block in C++, one of ns-3") };
        let source = format!(
            "#include <cstdint>\n#include <cstdio>\n#include <firstflight.h>\n#include <stdexcept>\n#include <vector>\n\
             int main() {{\nff_time now = 0;\nstd::uint64_t rtt = 50000000;\n{of_cpp}}}\n"
        );
        assert_eq!(run("c++", "-std=c++17", "cpp", &source), "window 14480\n");
        // The program that `contrib/ns3/agreement.sh` compiles has the lines for ns-3.
        let program = std::fs::read_to_string(here("../../contrib/ns3/example.cc")).unwrap();
        for line in of_ns3.lines() {
            assert!(program.contains(line), "contrib/ns3/example.cc has not the line {line}");
        }
    }
}
