//! `firstflight --help`: the commands in groups, one line each, and the exit codes.

use crate::done::CODES;
use clap::Command;
use std::fmt::Write as _;

/// Commands by purpose, in the order of `--help`.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Decide", &["advise", "ab", "tune"]),
    ("Compare", &["compare", "run", "replay", "diff", "report", "check"]),
    ("Live traffic", &["watch", "trial"]),
    ("For authors of algorithms", &["evaluate", "conform", "vectors", "drill", "reproduce"]),
    ("Tools", &["link", "serve", "fetch", "kernel", "ui", "completions"]),
    ("Lists", &["arms", "paths", "populations"]),
];

/// The whole command with its subcommands in groups.
pub(crate) fn grouped(command: Command) -> Command {
    let mut lists = String::new();
    for (group, names) in GROUPS {
        // A build without a feature has fewer commands.
        let known: Vec<&Command> =
            names.iter().filter_map(|name| command.find_subcommand(name)).collect();
        if known.is_empty() {
            continue;
        }
        let _ = writeln!(lists, "{group}:");
        for one in known {
            let about = one.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(lists, "  {:<12} {about}", one.get_name());
        }
        lists.push('\n');
    }
    let mut codes = String::from("Exit codes:\n");
    for (code, meaning) in CODES {
        let _ = writeln!(codes, "  {code:<6} {meaning}");
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{lists}{{all-args}}\n\n{codes}\n\
         `firstflight COMMAND --help` explains a command and shows examples.\n"
    );
    // Without this, the commands would be listed again in one block.
    command
        .mut_subcommands(|one| one.hide(true))
        .override_usage("firstflight [OPTIONS] <COMMAND>")
        .help_template(template)
}

#[cfg(test)]
mod tests {
    use super::{CODES, GROUPS, grouped};
    use crate::Cli;
    use clap::CommandFactory;
    use std::fs;

    #[test]
    fn help_and_the_documentation_explain_every_exit_code() {
        let help = grouped(Cli::command()).render_help().to_string();
        let page = fs::read_to_string("../../docs/commands.md").expect("the page is there");
        for (code, meaning) in CODES {
            let line = format!("  {code:<6} {meaning}\n");
            assert!(help.contains(&line), "`{line}` is not in:\n{help}");
            assert!(line.trim_end().len() <= 100, "the line is too wide: {line}");
            let row = format!("| {code} | {meaning} |\n");
            assert!(page.contains(&row), "docs/commands.md has no row {row}");
        }
    }

    #[test]
    fn every_command_is_in_one_group_with_a_line_that_fits() {
        let command = Cli::command();
        for one in command.get_subcommands().filter(|one| !one.is_hide_set()) {
            let name = one.get_name();
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&name)).count();
            assert_eq!(groups, 1, "{name}");
            let about = one.get_about().expect("a line").to_string();
            assert!(15 + about.len() <= 80, "{name}: {about}");
        }
    }
}
