//! What there is: arms and paths, with a line each and its source.

use crate::Done;
use crate::terminal::{QUIET, TITLE};
use anstream::println;
use firstflight::arm::options::{OptionDoc, SenderParams};
use firstflight::arm::{AVOIDANCES, Part, RECOVERIES, SHORT_NAMES, STARTUPS};
use firstflight_lab::Bad;
use firstflight_path::{Path, builtins};

/// `firstflight arms`.
pub fn arms() -> Done {
    println!("An arm is {TITLE}startup(options)/avoidance(options)/recovery(options)@(sender options){TITLE:#};");
    println!("only the startup is needed, the rest defaults to cubic/prr.\n");
    parts("Startups", STARTUPS);
    parts("Congestion avoidance", AVOIDANCES);
    parts("Recovery", RECOVERIES);
    println!("{TITLE}Sender{TITLE:#}");
    options(SenderParams::DOCS);
    println!("\n{TITLE}Short names{TITLE:#}");
    for short in SHORT_NAMES {
        println!("  {:<20} {:<28} {}", short.name, short.arm, short.summary);
    }
    Done::Well
}

fn parts(title: &str, parts: &[Part]) {
    println!("{TITLE}{title}{TITLE:#}");
    for part in parts {
        println!("  {:<20} {} {QUIET}[{}]{QUIET:#}", part.name, part.summary, part.source);
        options(part.options);
    }
    println!();
}

fn options(docs: &[OptionDoc]) {
    for doc in docs {
        println!("      {QUIET}{:<16}{QUIET:#} {}: {}", format!("{}=", doc.key), doc.values, doc.meaning);
    }
}

/// `firstflight paths`.
pub fn paths() -> Result<Done, Bad> {
    println!("A path is a name from this list, inline text such as {TITLE}rate=100Mbit,rtt=30ms,queue=30ms,loss=0.1%{TITLE:#},");
    println!("or a TOML file with the same keys.\n");
    for builtin in builtins() {
        // Parsing every one here means that the list can never show a path that does not work.
        Path::parse(builtin.name)?;
        println!("{TITLE}{:<30}{TITLE:#} {}", builtin.name, builtin.text);
        println!("{:<30} {} {QUIET}[{}]{QUIET:#}", "", builtin.about, builtin.source);
    }
    Ok(Done::Well)
}
