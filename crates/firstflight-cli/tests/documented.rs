//! The commands in the documentation work: every fenced shell command of README.md,
//! CONTRIBUTING.md and docs/ runs, ends with exit code 0 and says something. Commands of one page
//! run in its order, in a folder of their own. Output that a page shows is what its command prints;
//! `WRITE_DOCS=1` writes it into the page instead of complaining.
//!
//! A page states what its commands need in comments above the block they are
//! about:
//!
//! * `<!-- notest: PART: why -->`: commands that contain PART do not run here, and why. The default
//!   is that they do.
//! * `<!-- test: THIS => THAT -->`: run with THAT for THIS, to be quick; of a file, read with it.
//! * `<!-- background: PART -->`: commands that contain PART run until the page is through, beside
//!   those that follow.
//! * `<!-- file: NAME -->`: the block is a file that later commands read.
//! * `<!-- output: COMMAND -->`: the block is what COMMAND prints; without `: COMMAND`, what the last
//!   command above it does.
//!
//! Commands on QUIC and Parquet run where the features are built in, as in `make test`.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

/// Languages of blocks that are no commands.
const NO_COMMANDS: &[&str] = &["c", "cpp", "diff", "json", "python", "rust", "text", "toml"];
/// Beginnings of lines that must stand inside a block.
const PROGRAMS: &[&str] = &["firstflight ", "cargo ", "sudo ", "make ", "pip "];

/// Something to type.
#[derive(Clone, Debug)]
struct Typed {
    line: usize,
    text: String,
    background: bool,
}

/// Output that a page shows.
#[derive(Clone, Debug, PartialEq)]
struct Shown {
    /// First line inside of the block, from 1.
    line: usize,
    command: String,
    text: Vec<String>,
}

/// Parts of a page that this test uses.
#[derive(Debug, Default)]
struct Page {
    commands: Vec<Typed>,
    shown: Vec<Shown>,
    files: BTreeMap<String, String>,
    left_out: Vec<String>,
    wrong: Vec<String>,
}

/// Comments above a block, with how often each was of use.
#[derive(Default)]
struct Remarks {
    all: Vec<(String, String, u32)>,
}

impl Remarks {
    fn note(&mut self, line: &str) {
        let Some(inside) = line.strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->"))
        else {
            return;
        };
        let inside = inside.trim();
        if let Some((kind, rest)) =
            inside.split_once(": ").or((inside == "output").then_some((inside, "")))
            && ["notest", "test", "background", "file", "output"].contains(&kind)
        {
            self.all.push((kind.to_owned(), rest.trim().to_owned(), 0));
        }
    }

    /// The first one of this kind that is about the text, as `meant` reads it.
    fn find<T>(&mut self, kind: &str, meant: impl Fn(&str) -> Option<T>) -> Option<T> {
        self.all.iter_mut().filter(|(known, _, _)| known == kind).find_map(|(_, text, uses)| {
            let found = meant(text)?;
            *uses += 1;
            Some(found)
        })
    }
}

/// Reads a page.
fn read(text: &str) -> Page {
    let mut page = Page::default();
    let mut remarks = Remarks::default();
    // The language of the block we are in, its lines so far, and where it begins.
    let mut block: Option<(String, Vec<String>, usize)> = None;
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        match (&mut block, trimmed.strip_prefix("```")) {
            (None, Some(language)) => block = Some((language.to_owned(), Vec::new(), number + 2)),
            (Some(_), Some(_)) => {
                let (language, lines, first) = block.take().expect("inside of one");
                close(&mut page, &mut remarks, &language, &lines, first);
            }
            (Some((_, lines, _)), None) => lines.push(line.trim_end().to_owned()),
            (None, None) => {
                remarks.note(trimmed);
                if line.starts_with("    ")
                    && PROGRAMS.iter().any(|program| trimmed.starts_with(program))
                {
                    page.wrong
                        .push(format!("{}: a command outside of a block: {trimmed}", number + 1));
                }
            }
        }
    }
    page
}

/// The end of a block.
fn close(page: &mut Page, remarks: &mut Remarks, language: &str, lines: &[String], first: usize) {
    if let Some(name) = remarks.find("file", |name| Some(name.to_owned())) {
        let mut text = lines.join("\n") + "\n";
        for (_, remark, uses) in remarks.all.iter_mut().filter(|(kind, _, _)| kind == "test") {
            let Some((this, that)) =
                remark.split_once(" => ").filter(|(this, _)| text.contains(this))
            else {
                continue;
            };
            text = text.replace(this, that);
            *uses += 1;
        }
        page.files.insert(name, text);
    } else if let Some(command) = remarks.find("output", |command| Some(command.to_owned())) {
        let last = page.commands.last().map(|typed| typed.text.clone());
        match Some(command).filter(|command| !command.is_empty()).or(last) {
            Some(command) => {
                page.shown.push(Shown { line: first, command, text: lines.to_vec() });
            }
            None => page.wrong.push(format!("{}: output of which command?", first - 1)),
        }
    } else if language == "sh" {
        commands(page, remarks, lines, first);
    } else if !NO_COMMANDS.contains(&language) {
        page.wrong.push(format!(
            "{}: a block of `{language}`; allowed: sh, {}",
            first - 1,
            NO_COMMANDS.join(", ")
        ));
    }
    for (kind, text, _) in remarks.all.iter().filter(|(_, _, uses)| *uses == 0) {
        page.wrong.push(format!(
            "{}: `{kind}: {text}` is about nothing in the block below it",
            first - 1
        ));
    }
    remarks.all.clear();
}

fn commands(page: &mut Page, remarks: &mut Remarks, lines: &[String], first: usize) {
    let mut typed = String::new();
    for (number, line) in lines.iter().enumerate() {
        typed.push_str(line.trim());
        if let Some(begun) = typed.strip_suffix('\\') {
            typed = begun.to_owned();
            continue;
        }
        let mut text = std::mem::take(&mut typed);
        let line = first + number;
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let why = remarks.find("notest", |rest| {
            rest.split_once(": ")
                .filter(|(part, _)| text.contains(part))
                .map(|(_, why)| why.to_owned())
        });
        if let Some(why) = why {
            page.left_out.push(format!("{line}: {text}: {why}"));
            continue;
        }
        let background =
            remarks.find("background", |part| text.contains(part).then_some(())).is_some();
        if let Some((this, that)) = remarks.find("test", |rest| {
            rest.split_once(" => ")
                .filter(|(this, _)| text.contains(this))
                .map(|(a, b)| (a.to_owned(), b.to_owned()))
        }) {
            text = text.replace(&this, &that);
        }
        page.commands.push(Typed { line, text, background });
    }
}

/// The feature that a command needs and this build does not have.
fn lacks(text: &str) -> Option<&'static str> {
    let quic = [" serve ", " fetch ", "--on quic"].iter().any(|part| text.contains(part));
    if quic && !cfg!(feature = "quic") {
        Some("quic")
    } else if text.contains(".parquet") && !cfg!(feature = "parquet") {
        Some("parquet")
    } else {
        None
    }
}

/// Directory in which the commands of a page run.
struct Place {
    folder: tempfile::TempDir,
    path: String,
}

impl Place {
    /// A folder with what pages assume: the experiments and samples of the checkout, and traces.
    fn make(checkout: &Path) -> Place {
        let folder = tempfile::tempdir().expect("a folder");
        let programs = folder.path().join(".programs");
        fs::create_dir(&programs).expect("a folder");
        let link = |to: &Path, name: PathBuf| std::os::unix::fs::symlink(to, name).expect("a link");
        link(Path::new(env!("CARGO_BIN_EXE_firstflight")), programs.join("firstflight"));
        link(&checkout.join("experiments"), folder.path().join("experiments"));
        link(&checkout.join("samples"), folder.path().join("samples"));
        fs::create_dir(folder.path().join("tests")).expect("a folder");
        link(&checkout.join("tests/drill"), folder.path().join("tests/drill"));
        // Cargo has built the program for this test already.
        let cargo = "#!/bin/sh\n[ \"$1\" = run ] || exit 99\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec firstflight \"$@\"\n";
        fs::write(programs.join("cargo"), cargo).expect("a file");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(programs.join("cargo"), mode).expect("a program");
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
        let place = Place { folder, path };
        // A file's type follows from its first bytes, not its name.
        let made = place.run(
            "firstflight compare --arms rapid --bytes 1MB --trace server.sqlog && firstflight compare --arms rapid --bytes 1MB --trace trace.csv \
             && mkdir captures && cp samples/lossy-mobile/*.sqlog.gz captures/ && cp server.sqlog one.pcap && gzip -c server.sqlog > one.pcap.gz",
        );
        assert!(made.status.success(), "traces: {}", String::from_utf8_lossy(&made.stderr));
        place
    }

    fn shell(&self, text: &str) -> Command {
        let mut shell = Command::new("timeout");
        shell
            .args(["--kill-after=10", "600", "bash", "-euo", "pipefail", "-c", text])
            .current_dir(self.folder.path());
        shell.env("PATH", &self.path).env("NO_COLOR", "1").stdin(Stdio::null());
        shell
    }

    fn run(&self, text: &str) -> Output {
        self.shell(text).output().expect("bash")
    }

    /// Starts what runs until it is told to end, and waits until it has said something.
    fn start(&self, text: &str) -> Beside {
        // Without the shell in between, a signal reaches the command itself.
        let mut child = self
            .shell(&format!("exec {text}"))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("bash");
        let mut said = String::new();
        let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        let _ = stderr.read_line(&mut said);
        // Nobody reads on, and nobody is to be stopped by that.
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).for_each(drop));
        Beside { child, said }
    }

    /// Bytes in files that commands made.
    fn written(&self) -> u64 {
        fn below(folder: &Path) -> u64 {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries
                .filter_map(|entry| Some((entry.path(), entry.metadata().ok()?)))
                .map(|(path, data)| if data.is_dir() { below(&path) } else { data.len() })
                .sum()
        }
        below(self.folder.path())
    }
}

/// A command beside others.
struct Beside {
    child: Child,
    said: String,
}

impl Drop for Beside {
    fn drop(&mut self) {
        // `timeout` hands the signal on.
        let _ = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        let _ = self.child.wait();
    }
}

/// Failed commands of a page, and the output of each command.
fn try_page(checkout: &Path, page: &Page) -> (Vec<String>, BTreeMap<String, String>) {
    let place = Place::make(checkout);
    for (name, text) in &page.files {
        fs::write(place.folder.path().join(name), text).expect("a file");
    }
    let (mut wrong, mut printed) = (Vec::new(), BTreeMap::new());
    let mut beside = Vec::new();
    for Typed { line, text, background } in &page.commands {
        if let Some(feature) = lacks(text) {
            println!("  {line}: not run without the feature `{feature}`: {text}");
            continue;
        }
        if *background {
            let started = place.start(text);
            if started.said.is_empty() || started.said.starts_with("firstflight:") {
                wrong.push(format!("{line}: `{text}` does not start: {}", started.said));
            }
            beside.push(started);
            continue;
        }
        let (before, began) = (place.written(), Instant::now());
        let output = place.run(text);
        let took = began.elapsed().as_secs_f64();
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            wrong.push(format!("{line}: `{text}` ends with {}: {said}", output.status));
        } else if output.stdout.is_empty() && said.is_empty() && place.written() == before {
            wrong.push(format!("{line}: `{text}` says nothing"));
        } else {
            println!("  {line}: {took:.1} s: {text}");
            printed.insert(text.clone(), String::from_utf8_lossy(&output.stdout).into_owned());
        }
    }
    (wrong, printed)
}

/// Outputs that a page shows and its command does not print, and the corrected page. Commands that
/// printed something before do not run again.
fn try_shown(
    checkout: &Path,
    page: &Page,
    text: &str,
    known: &BTreeMap<String, String>,
) -> (Vec<String>, String) {
    let (mut wrong, mut lines) = (Vec::new(), text.lines().map(str::to_owned).collect::<Vec<_>>());
    if page.shown.is_empty() {
        return (wrong, text.to_owned());
    }
    let place = Place::make(checkout);
    for (name, text) in &page.files {
        fs::write(place.folder.path().join(name), text).expect("a file");
    }
    // From the last one up, so that line numbers stay what they are.
    for Shown { line, command, text } in page.shown.iter().rev() {
        let printed = known
            .get(command)
            .cloned()
            .unwrap_or_else(|| String::from_utf8_lossy(&place.run(command).stdout).into_owned());
        let printed: Vec<String> =
            printed.trim_end().lines().map(|line| line.trim_end().to_owned()).collect();
        if printed == *text {
            println!("  {line}: as shown: {command}");
        } else {
            wrong.push(format!(
                "{line}: `{command}` prints something else (docs/regenerate.sh shown):\n{}",
                printed.join("\n")
            ));
            lines.splice(line - 1..line - 1 + text.len(), printed);
        }
    }
    (wrong, lines.join("\n") + "\n")
}

/// The pages below a folder.
fn pages_below(folder: &Path, pages: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            pages_below(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
}

#[test]
fn every_documented_command_works() {
    let checkout =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the checkout");
    let write = std::env::var_os("WRITE_DOCS").is_some();
    let mut names = vec![checkout.join("README.md"), checkout.join("CONTRIBUTING.md")];
    pages_below(&checkout.join("docs"), &mut names);
    names.sort();
    let (mut wrong, mut count) = (String::new(), 0);
    for name in names {
        let text = fs::read_to_string(&name).expect("a page");
        let page = read(&text);
        let short = name.strip_prefix(&checkout).expect("in the checkout").display().to_string();
        let mut lines = page.wrong.clone();
        if !page.commands.is_empty() || !page.left_out.is_empty() {
            println!("{short}");
            page.left_out.iter().for_each(|line| println!("  {line}"));
        }
        let mut printed = BTreeMap::new();
        if !page.commands.is_empty() {
            count += page.commands.len();
            if !write {
                let (wrong, all) = try_page(&checkout, &page);
                lines.extend(wrong);
                printed = all;
            }
        }
        let (differs, right) = try_shown(&checkout, &page, &text, &printed);
        if write && !differs.is_empty() {
            fs::write(&name, right).expect("a page");
            println!("{short}: {} outputs written", differs.len());
        } else {
            lines.extend(differs);
        }
        for line in lines {
            let _ = writeln!(wrong, "{short}:{line}");
        }
    }
    assert!(count >= 30, "only {count} commands were found: the pages are no longer understood");
    assert!(wrong.is_empty(), "documented commands that do not work:\n{wrong}");
}

/// Examples that take long here, need root or the port of a page beside them, in the words of a
/// page.
const REMARKS: &str = "\
<!-- notest: sudo: needs root -->
<!-- notest: reproduce --all: takes a minute -->
<!-- notest: reproduce rapid-start: takes minutes -->
<!-- background: firstflight serve -->
<!-- background: link --udp -->
<!-- notest: firstflight ui: needs what `make web` builds -->
<!-- notest: --fail-if worse: ends with code 1 where something got worse -->
<!-- test: serve --arm rapid => serve --arm rapid --listen localhost:4533 -->
<!-- test: https://localhost:4433 => https://localhost:4533 -->
<!-- test: 127.0.0.1:5000 --to 127.0.0.1:4433 => 127.0.0.1:5100 --to 127.0.0.1:4533 -->
<!-- test: firstflight advise => firstflight advise --flows 300 -->
<!-- test: --flows 100000 => --flows 100 -->
<!-- test: ab --population => ab --flows 100 --population -->
";

/// The examples below the options of every command, as one page.
fn examples_of_help() -> String {
    let help = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstflight"));
        let output = command.args(arguments).arg("--help").output().expect("it starts");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let all = help(&[]);
    // Commands stand in groups before the options.
    let names: Vec<&str> = all
        .lines()
        .take_while(|line| *line != "Options:")
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    // Servers run beside the other commands, so they start first.
    let (first, others): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| **name == "serve");
    let mut lines = String::new();
    for name in first.into_iter().chain(others) {
        let text = help(&[name]);
        let examples = text.lines().skip_while(|line| *line != "Examples:").skip(1);
        let before = lines.len();
        for line in examples.take_while(|line| line.starts_with("  ")) {
            lines.extend([line.trim(), "\n"]);
        }
        assert!(lines.len() > before, "`{name} --help` shows no examples:\n{text}");
    }
    format!("{REMARKS}```sh\n{lines}```\n")
}

#[test]
fn every_example_of_help_works() {
    let checkout =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the checkout");
    let page = read(&examples_of_help());
    assert!(page.commands.len() > 20, "{:?}", page.commands);
    let wrong: Vec<String> =
        page.wrong.iter().cloned().chain(try_page(&checkout, &page).0).collect();
    assert!(wrong.is_empty(), "examples of `--help` that do not work:\n{}", wrong.join("\n"));
}

#[test]
fn a_page_is_read_as_it_is_written() {
    let page = read(
        "<!-- notest: sudo: root -->\n<!-- test: --flows 10 => --flows 1 -->\n<!-- background: serve -->\n```sh\nsudo one\ntwo \\\n  --flows 10   # a lot\nserve\n```\n\
         <!-- file: a.toml -->\n```toml\nx = 1\n```\n<!-- notest: never: typed -->\n```sh\nthree\n```\n<!-- output -->\n```text\n 3\n```\n```\nfour\n```\n    make five\n",
    );
    let typed: Vec<(usize, &str, bool)> = page
        .commands
        .iter()
        .map(|typed| (typed.line, typed.text.as_str(), typed.background))
        .collect();
    assert_eq!(
        typed,
        [(7, "two --flows 1   # a lot", false), (8, "serve", true), (16, "three", false)]
    );
    assert_eq!(page.left_out, ["5: sudo one: root"]);
    assert_eq!(page.files["a.toml"], "x = 1\n");
    let shown = Shown { line: 20, command: "three".into(), text: vec![" 3".into()] };
    assert_eq!(page.shown, [shown]);
    assert_eq!(
        page.wrong.len(),
        3,
        "a remark about nothing, a block without a language, a hidden command: {:?}",
        page.wrong
    );
}
