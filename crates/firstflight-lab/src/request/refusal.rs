//! Errors for command lines that cannot be parsed: one line that names the option, the value and
//! what is allowed.

use crate::error::nearest;
use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use firstflight_path::synonym;
use std::error::Error as _;

/// The line for an error of the argument parser. If the parser suggests no name, for example
/// because of upper and lower case, the names of `command` are searched, if it is given.
pub fn line_of(error: &Error, command: Option<&Command>) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => texts.first().cloned(),
        _ => None,
    };
    // The parser names an option `--bytes <BYTES>`; the message uses `--bytes`.
    let option = text(ContextKind::InvalidArg)
        .map(|option| option.split(' ').next().unwrap_or_default().to_owned());
    let value = text(ContextKind::InvalidValue).unwrap_or_default();
    match (error.kind(), option) {
        (ErrorKind::InvalidValue | ErrorKind::ValueValidation, Some(option))
            if value.is_empty() =>
        {
            format!("{option}: the value is missing")
        }
        (ErrorKind::InvalidValue, Some(option)) => {
            let allowed = match error.get(ContextKind::ValidValue) {
                Some(ContextValue::Strings(values)) => format!("; allowed: {}", values.join(", ")),
                _ => String::new(),
            };
            let near = text(ContextKind::SuggestedValue).or_else(|| {
                let Some(ContextValue::Strings(values)) = error.get(ContextKind::ValidValue) else {
                    return None;
                };
                nearest(&value, values.iter().map(String::as_str)).map(str::to_owned)
            });
            format!("{option} {value}: unknown value{}{allowed}", meant(near))
        }
        (ErrorKind::ValueValidation, Some(option)) => {
            format!(
                "{option} {value}: {}",
                error.source().map_or_else(|| "is not valid".to_owned(), ToString::to_string)
            )
        }
        // The parser reads a negative number as an option, `-1s` as `-1`.
        (ErrorKind::UnknownArgument, Some(option)) if is_negative(&option) => {
            format!("`{option}` is negative; the value of an option never is")
        }
        (ErrorKind::UnknownArgument, Some(option)) if option.starts_with('-') => {
            let used = command.map(|command| used(command, error));
            if let Some(words) = used.and_then(|used| in_our_words(&option, used)) {
                return format!("unknown option `{option}`; {words}");
            }
            let known: Vec<String> = command.map(options).unwrap_or_default();
            let near = text(ContextKind::SuggestedArg)
                .or_else(|| nearest(&option, known.iter().map(String::as_str)).map(str::to_owned));
            // An exact match in another command is more likely than a distant name.
            let typed = near.as_deref().and_then(|near| nearest(&option, [near]));
            let hint = match command.and_then(|command| command_with(command, &option)) {
                Some(of) if typed.is_none_or(|near| near == option) => format!(" (`{of}` has it)"),
                _ => meant(near),
            };
            format!("unknown option `{option}`{hint}; `--help` lists all")
        }
        (ErrorKind::UnknownArgument, Some(word)) => {
            format!("unexpected argument `{word}`; values follow an option, as `--path geo`")
        }
        (ErrorKind::InvalidSubcommand, _) => {
            let word = text(ContextKind::InvalidSubcommand).unwrap_or_default();
            // The parser's own distance takes `comprae` for `completions`.
            let used = command.map(|command| used(command, error));
            let known = used.into_iter().flat_map(Command::get_subcommands);
            let near = nearest(&word, known.map(Command::get_name)).map(str::to_owned);
            let near = near.or_else(|| text(ContextKind::SuggestedSubcommand));
            let of = match used {
                Some(used) if Some(used.get_name()) != command.map(Command::get_name) => {
                    format!("firstflight {} --help", used.get_name())
                }
                _ => "firstflight help".to_owned(),
            };
            format!("unknown command `{word}`{}; `{of}` lists all", meant(near))
        }
        (ErrorKind::ArgumentConflict, Some(option)) => {
            match text(ContextKind::PriorArg).as_deref().and_then(|prior| prior.split(' ').next()) {
                Some(prior) if prior != option => format!("{option}: does not go with {prior}"),
                _ => format!("{option}: given more than once"),
            }
        }
        (ErrorKind::MissingRequiredArgument, _) => {
            let Some(ContextValue::Strings(names)) = error.get(ContextKind::InvalidArg) else {
                return first_sentence(&error.to_string());
            };
            format!("missing: {}; see `--help`", names.join(", "))
        }
        _ => first_sentence(&error.to_string()),
    }
}

/// The line for an error of the argument parser.
pub fn line(error: &Error) -> String {
    line_of(error, None)
}

/// The subcommand that the error is about, according to its usage line; otherwise this command.
fn used<'a>(command: &'a Command, error: &Error) -> &'a Command {
    let Some(ContextValue::StyledStr(usage)) = error.get(ContextKind::Usage) else {
        return command;
    };
    let usage = usage.to_string();
    let mut found = command;
    for word in usage.split_whitespace() {
        found = found.find_subcommand(word).unwrap_or(found);
    }
    found
}

/// Replacement for another program's option, if the command has it under another name.
fn in_our_words(option: &str, command: &Command) -> Option<&'static str> {
    let has = |name: &str| command.get_arguments().any(|one| one.get_long() == Some(name));
    let word = option.trim_start_matches('-');
    if has(word) {
        return None;
    }
    let (needs, words) = match synonym(word).unwrap_or(word) {
        "rtt" | "rate" => ("path", "set it in the path: `--path rate=100Mbit,rtt=30ms`"),
        "queue" => ("path", "set it in the path: `--path geo,queue=1bdp`"),
        "loss" => ("path", "set it in the path: `--path geo,loss=0.1%`"),
        "o" | "output" | "out" if has("report") => {
            ("json", "`--json FILE` writes data, `--report FILE` a page")
        }
        "o" | "output" | "out" => ("json", "`--json FILE` writes data"),
        // An option that all commands have.
        "csv" => return Some("`--format csv` prints data"),
        "n" | "repeat" => ("repeat", "`--repeat 20` runs 20 trials of each arm"),
        "t" | "time" | "duration" => ("limit", "`--limit 30s` ends a trial"),
        "congestion" | "algorithms" | "arms" => ("arms", "`--arms` names algorithms"),
        "P" | "parallel" | "flows" => ("flows", "`--flows 4` runs four at a time"),
        _ => return None,
    };
    has(needs).then_some(words)
}

/// Long options of a command and of its subcommands.
fn options(command: &Command) -> Vec<String> {
    let own = command.get_arguments().filter_map(|argument| argument.get_long());
    let below = command.get_subcommands().flat_map(options);
    own.map(|name| format!("--{name}")).chain(below).collect()
}

/// The first subcommand that has the option.
fn command_with<'a>(command: &'a Command, option: &str) -> Option<&'a str> {
    let found = command.get_subcommands().find(|one| options(one).iter().any(|own| own == option));
    found.map(Command::get_name)
}

/// True for a number with a minus sign.
fn is_negative(option: &str) -> bool {
    let number = option.strip_prefix('-').unwrap_or_default();
    number.starts_with(|first: char| first.is_ascii_digit() || first == '.')
}

fn meant(name: Option<String>) -> String {
    name.map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"))
}

/// The argument parser's message without its usage text, as one line.
fn first_sentence(message: &str) -> String {
    let text = message.strip_prefix("error: ").unwrap_or(message);
    let told = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
    told.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}
