//! `firstflight drill`: plays packetdrill scripts against our sender.

use crate::done::{Done, failed};
use crate::output::{Columns, Files, Output, fitted, produce};
use crate::terminal::{say, width, wrap};
use clap::Args;
use firstflight_lab::drill::{Played, Script, Verdict, arm_of, play, record};
use firstflight_lab::{Error, NamedArm, parse_arms};
use firstflight_table::text::xml;
use firstflight_table::{Kind, Marked, Table};
use std::ffi::OsStr;
use std::fmt::{Display, Write};
use std::fs;
use std::path::{Path, PathBuf};

/// Scripts are small; a larger file is not a script.
const MOST_BYTES: u64 = 4 << 20;

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Packetdrill scripts, or folders of them (every .pkt file below)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Arms to run the scripts with [default: the one that matches the script's congestion control]
    #[arg(long, value_name = "ARMS")]
    arms: Option<String>,
    /// Testbed: sim, or linux for the running kernel (root; --features linux)
    #[arg(long, value_name = "TESTBED", default_value = "sim", value_parser = ["sim", "linux"])]
    on: String,
    /// Print the script with the arm's segments and windows filled in
    #[arg(long, conflicts_with_all = ["json", "junit"])]
    record: bool,
    /// Write the verdicts as JSON to a file, `-` for standard output instead of the table
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the verdicts as JUnit XML to a file, for CI
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

/// A script played with an arm.
struct Row {
    script: String,
    arm: String,
    played: Played,
}

pub(crate) fn run(options: &Options) -> Result<Done, Error> {
    let arms = options.arms.as_deref().map(parse_arms).transpose()?;
    let files = scripts(&options.files)?;
    if options.record {
        if options.on != "sim" {
            return Err(Error::new("--record: records the simulator's sender; leave out --on"));
        }
        return recorded(&files, arms.as_deref());
    }
    let play = || {
        let mut rows = Vec::new();
        for file in &files {
            rows.extend(play_file(file, &options.on, arms.as_deref())?);
        }
        Ok(Answer { rows })
    };
    let outputs =
        Files { json: options.json.as_ref(), others: &[("--junit", options.junit.as_deref())] };
    let answer =
        produce(&outputs, Columns::OfResult, play, |answer: &Answer, _| Ok(answer.junit()))?;
    Ok(match [answer.count("fail"), answer.count("pass")] {
        [0, 0] => Done::Because("no script was played".to_owned()),
        [0, _] => Done::Well,
        _ => Done::Short,
    })
}

/// Every script, in the order of names.
fn scripts(given: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for path in given {
        if path.is_dir() {
            let before = files.len();
            below(path, &mut files)?;
            if files.len() == before {
                return Err(Error::new(format!("{}: no .pkt file in this folder", path.display())));
            }
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn below(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut paths: Vec<PathBuf> =
        entries.map_err(|error| failed(folder, &error))?.iter().map(fs::DirEntry::path).collect();
    paths.sort();
    for path in paths {
        // A link to a parent folder would never end.
        if path.is_dir() && !path.is_symlink() {
            below(&path, files)?;
        } else if path.extension() == Some(OsStr::new("pkt")) {
            files.push(path);
        }
    }
    Ok(())
}

fn read(file: &Path) -> Result<String, Error> {
    let size = fs::metadata(file).map_err(|error| failed(file, &error))?.len();
    if size > MOST_BYTES {
        return Err(Error::new(format!("{}: too large for a script", file.display())));
    }
    let bytes = fs::read(file).map_err(|error| failed(file, &error))?;
    String::from_utf8(bytes)
        .map_err(|_| Error::new(format!("{}: a script is text in UTF-8", file.display())))
}

fn play_file(file: &Path, on: &str, arms: Option<&[NamedArm]>) -> Result<Vec<Row>, Error> {
    let name = file.display().to_string();
    let skipped = |line: usize, why: String| Played {
        verdict: Verdict::Skipped { line, why },
        judged: 0,
        unknown: Vec::new(),
    };
    let script = match Script::parse(&read(file)?) {
        Ok(script) => script,
        Err(unplayable) => {
            let played = skipped(unplayable.line, unplayable.why);
            return Ok(vec![Row { script: name, arm: String::new(), played }]);
        }
    };
    if on == "linux" {
        return in_kernel(&name, &script, arms);
    }
    let Some(arms) = arms else {
        let row = match arm_of(script.congestion()) {
            Ok(arm) => Row { script: name, arm: arm.to_string(), played: play(&script, &arm) },
            Err(error) => Row {
                script: name,
                arm: String::new(),
                played: skipped(1, format!("{error}; --arms names one")),
            },
        };
        return Ok(vec![row]);
    };
    arms.iter()
        .map(|arm| {
            let played = play(&script, arm.arm()?);
            Ok(Row { script: name.clone(), arm: arm.label.clone(), played })
        })
        .collect()
}

/// The verdicts of the running kernel.
#[cfg(all(feature = "linux", target_os = "linux"))]
fn in_kernel(name: &str, script: &Script, arms: Option<&[NamedArm]>) -> Result<Vec<Row>, Error> {
    let row = |arm: Option<&NamedArm>| {
        let label =
            arm.map_or_else(|| format!("kernel:{}", script.congestion()), |arm| arm.label.clone());
        let played = firstflight_lab::drill::play_in_kernel(script, arm)?;
        Ok(Row { script: name.to_owned(), arm: label, played })
    };
    match arms {
        None => Ok(vec![row(None)?]),
        Some(arms) => arms.iter().map(|arm| row(Some(arm))).collect(),
    }
}

#[cfg(not(all(feature = "linux", target_os = "linux")))]
fn in_kernel(_: &str, _: &Script, _: Option<&[NamedArm]>) -> Result<Vec<Row>, Error> {
    Err(Error::new(
        "--on linux is not part of this build: `cargo build --release --features linux` has it",
    ))
}

fn recorded(files: &[PathBuf], arms: Option<&[NamedArm]>) -> Result<Done, Error> {
    let [file] = files else {
        return Err(Error::new("--record: one script at a time"));
    };
    let place = |error: &dyn Display| Error::new(format!("{}: {error}", file.display()));
    let script = Script::parse(&read(file)?).map_err(|bad| place(&bad))?;
    let arm = match arms {
        None => arm_of(script.congestion()).map_err(|bad| place(&bad))?,
        Some([arm]) => *arm.arm()?,
        Some(_) => return Err(Error::new("--record: one arm at a time")),
    };
    say(&record(&script, &arm).map_err(|bad| place(&bad))?)?;
    Ok(Done::Well)
}

struct Answer {
    rows: Vec<Row>,
}

impl Answer {
    fn count(&self, verdict: &str) -> usize {
        self.rows.iter().filter(|row| row.played.verdict.name() == verdict).count()
    }

    fn sentence(&self) -> String {
        let [passed, failed, skipped] = ["pass", "fail", "skipped"].map(|name| self.count(name));
        let of = self.rows.len();
        let plural = if of == 1 { "script passes" } else { "scripts pass" };
        format!("{passed} of {of} {plural}, {failed} fail, {skipped} are skipped.")
    }

    /// The verdicts as JUnit XML.
    fn junit(&self) -> String {
        let mut text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"drill\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n",
            self.rows.len(),
            self.count("fail"),
            self.count("skipped"),
        );
        for row in &self.rows {
            let _ = write!(
                text,
                "  <testcase classname=\"{}\" name=\"{}\"",
                xml(&row.arm),
                xml(&row.script)
            );
            let tag = match row.played.verdict {
                Verdict::Pass => None,
                Verdict::Fail { .. } => Some("failure"),
                Verdict::Skipped { .. } => Some("skipped"),
            };
            match tag.zip(row.played.verdict.reason()) {
                Some((tag, (line, why))) => {
                    let why = xml(why);
                    let _ = writeln!(text, "><{tag} message=\"line {line}: {why}\"/></testcase>");
                }
                None => text += "/>\n",
            }
        }
        text + "</testsuite>\n"
    }
}

impl Output for Answer {
    fn text(&self) -> String {
        let mut text = wrap(&self.sentence(), 0, width()) + "\n";
        text += &fitted(&self.sheets());
        text
    }

    fn sheets(&self) -> Vec<Table> {
        let several = self.rows.windows(2).any(|pair| pair[0].script == pair[1].script);
        let mut columns = vec![
            ("script", Kind::Prose),
            ("verdict", Kind::Name),
            ("line", Kind::Number),
            ("reason", Kind::Prose),
        ];
        if several {
            columns.insert(1, ("arm", Kind::Prose));
        }
        let mut sheet = Table::new(String::new(), columns);
        for row in &self.rows {
            let verdict = &row.played.verdict;
            let (line, why) = match (verdict.reason(), row.played.unknown.len()) {
                (Some((line, why)), _) => (line.to_string(), why.to_owned()),
                (None, 0) => (String::new(), String::new()),
                (None, 1) => (String::new(), format!("not judged: {}", row.played.unknown[0])),
                (None, more) => (
                    String::new(),
                    format!("{more} statements not judged; first: {}", row.played.unknown[0]),
                ),
            };
            let mut cells = vec![
                Marked::from(row.script.clone()),
                Marked::from(verdict.name()).bold(matches!(verdict, Verdict::Fail { .. })),
                line.into(),
                why.into(),
            ];
            if several {
                cells.insert(1, row.arm.clone().into());
            }
            sheet.row(cells);
        }
        vec![sheet]
    }

    fn rows(&self) -> Table {
        let mut rows =
            Table::of_data(["script", "arm", "verdict", "line", "reason", "judged", "not_judged"]);
        for row in &self.rows {
            let verdict = &row.played.verdict;
            let (line, why) = verdict.reason().unzip();
            rows.values([
                row.script.clone().into(),
                row.arm.clone().into(),
                verdict.name().into(),
                line.into(),
                why.into(),
                row.played.judged.into(),
                row.played.unknown.len().into(),
            ]);
        }
        rows
    }
}
