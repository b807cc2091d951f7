//! Shell completions and manual pages, generated from the command line definition.

use crate::done::{CODES, Done};
use crate::files::{check_folder_of_ours, make_folder, write_bytes};
use crate::terminal::say;
use clap::{Args, Command};
use clap_complete::Shell;
use firstflight_lab::Error;
use std::fmt::Write as _;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Args, Debug)]
pub(crate) struct ManOptions {
    /// Folder for the pages; with a trailing slash, it is created
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

pub(crate) fn run(options: &Options, command: Command) -> Result<Done, Error> {
    say(&completions(options.shell, command)).map(|()| Done::Well)
}

fn completions(shell: Shell, mut command: Command) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "firstflight", &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Writes the manual pages.
pub(crate) fn man(options: &ManOptions, command: Command) -> Result<Done, Error> {
    check_folder_of_ours(&options.folder)?;
    make_folder(&options.folder)?;
    for (name, page) in pages(command) {
        let file = options.folder.join(name);
        write_bytes(&file, &page)?;
    }
    Ok(Done::Well)
}

/// The page with the sections that man-pages(7) lists: the exit codes, and the examples by that name.
fn with_codes(page: &str) -> String {
    let mut codes = String::from(".SH \"EXIT STATUS\"\n");
    for (code, meaning) in CODES {
        let _ = write!(codes, ".TP\n{code}\n{}\n", meaning.replace('-', "\\-"));
    }
    let begin = |section: &str| page.find(&format!("\n.SH {section}\n")).map(|at| at + 1);
    let at = begin("EXTRA").or_else(|| begin("VERSION")).unwrap_or(page.len());
    let (before, after) = page.split_at(at);
    let examples = after.replacen(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n", 1);
    format!("{before}{codes}{examples}")
}

/// Manual pages with their file names: one for the program and one for each visible command.
fn pages(mut command: Command) -> Vec<(String, Vec<u8>)> {
    fn collect(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) {
        // Named like git's pages: `firstflight-compare`.
        let name = command.get_display_name().unwrap_or_else(|| command.get_name());
        // Writing to memory cannot fail.
        let mut page = Vec::new();
        let _ = clap_mangen::Man::new(command.clone()).render(&mut page);
        pages.push((format!("{name}.1"), with_codes(&String::from_utf8_lossy(&page)).into_bytes()));
        let shown = |command: &&Command| !command.is_hide_set() && command.get_name() != "help";
        command.get_subcommands().filter(shown).for_each(|below| collect(below, pages));
    }
    command.build();
    let mut all = Vec::new();
    collect(&command, &mut all);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cli;
    use clap::CommandFactory;

    /// Collects visible commands with their long options, including nested commands.
    fn all(command: &Command, into: &mut Vec<(String, Vec<String>)>) {
        let visible = command.get_arguments().filter(|argument| !argument.is_hide_set());
        let longs = visible.filter_map(|argument| argument.get_long()).map(str::to_owned);
        into.push((command.get_name().to_owned(), longs.collect()));
        let shown = |command: &&Command| !command.is_hide_set();
        command.get_subcommands().filter(shown).for_each(|command| all(command, into));
    }

    fn commands() -> Vec<(String, Vec<String>)> {
        let mut commands = Vec::new();
        all(&Cli::command(), &mut commands);
        assert!(commands.len() > 15, "{commands:?}");
        commands
    }

    #[test]
    fn completions_know_every_command_and_every_option() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let text = completions(shell, Cli::command());
            for (name, options) in commands() {
                assert!(text.contains(&name), "{shell} does not know `{name}`");
                for option in options {
                    // fish writes options without dashes.
                    let known = [format!("--{option}"), format!("-l {option}")];
                    let known = known.iter().any(|text_of| text.contains(text_of.as_str()));
                    assert!(known, "{shell} does not know `{name} --{option}`");
                }
            }
        }
    }

    #[test]
    fn every_command_has_a_manual_page_with_its_options() {
        let pages = pages(Cli::command());
        let text_of = |page: &[u8]| String::from_utf8_lossy(page).replace('\\', "");
        for (name, options) in commands() {
            let page = pages.iter().find(|(file, page)| {
                file.strip_suffix(".1")
                    .is_some_and(|file| file == name || file.ends_with(&format!("-{name}")))
                    && options.iter().all(|option| text_of(page).contains(&format!("--{option}")))
            });
            assert!(page.is_some(), "`{name}` has no page with all of {options:?}");
        }
    }

    #[test]
    fn every_manual_page_explains_the_exit_codes_before_its_examples() {
        for (name, page) in pages(Cli::command()) {
            let page = String::from_utf8_lossy(&page).into_owned();
            let codes = page.find("\n.SH \"EXIT STATUS\"\n");
            assert!(codes.is_some(), "{name} does not explain its exit code:\n{page}");
            let examples = page.find("\n.SH EXAMPLES\n");
            assert!(examples.is_none() || codes < examples, "{name}: the examples come first");
            assert!(!page.contains(".SH EXTRA"), "{name} has a section without a usual name");
        }
    }

    #[test]
    fn every_command_shows_examples_and_the_order_is_that_of_use() {
        let command = Cli::command();
        let visible = command.get_subcommands().filter(|command| !command.is_hide_set());
        let names: Vec<&str> = visible
            .map(|command| {
                let examples = command.get_after_help().map(ToString::to_string);
                let begun = examples.is_some_and(|text| text.starts_with("Examples:\n  "));
                assert!(begun, "`{}` shows no examples", command.get_name());
                command.get_name()
            })
            .collect();
        let place = |name: &str| names.iter().position(|known| *known == name);
        assert_eq!(place("compare").zip(place("ab")).map(|(a, b)| a < b), Some(true), "{names:?}");
        assert!(place("completions") == Some(names.len() - 1), "{names:?}");
    }
}
