//! What there is: arms and paths, with a line each and its source.

use crate::Done;
use crate::terminal::{QUIET, TITLE, say};
use firstflight::arm::SenderParams;
use firstflight::arm::{AVOIDANCES, Part, RECOVERIES, SHORT_NAMES, STARTUPS, ShortName};
use firstflight::options::OptionDoc;
use firstflight_lab::Error;
use firstflight_path::{Builtin, Path, builtins};

/// `firstflight arms`.
pub(crate) fn arms() -> Result<Done, Error> {
    let short =
        |short: &ShortName| format!("  {:<20} {:<28} {}\n", short.name, short.arm, short.summary);
    say(&format!(
        "An arm is {TITLE}startup(options)/avoidance(options)/recovery(options)@(sender options){TITLE:#};\n\
         only the startup is needed, the rest defaults to cubic/prr.\n\n\
         {TITLE}Startups{TITLE:#}\n{}\n\
         {TITLE}Congestion avoidance{TITLE:#}\n{}\n\
         {TITLE}Recovery{TITLE:#}\n{}\n\
         {TITLE}Sender{TITLE:#}\n{}\n\
         {TITLE}Short names{TITLE:#}\n{}",
        parts(STARTUPS),
        parts(AVOIDANCES),
        parts(RECOVERIES),
        options(SenderParams::DOCS),
        SHORT_NAMES.iter().map(short).collect::<String>(),
    ))?;
    Ok(Done::Well)
}

fn parts(parts: &[Part]) -> String {
    let line = |part: &Part| {
        format!(
            "  {:<20} {} {QUIET}[{}]{QUIET:#}\n{}",
            part.name,
            part.summary,
            part.source,
            options(part.options)
        )
    };
    parts.iter().map(line).collect()
}

fn options(docs: &[OptionDoc]) -> String {
    let line = |doc: &OptionDoc| {
        format!(
            "      {QUIET}{:<16}{QUIET:#} {}: {}\n",
            format!("{}=", doc.key),
            doc.values,
            doc.meaning
        )
    };
    docs.iter().map(line).collect()
}

/// `firstflight paths`.
pub(crate) fn paths() -> Result<Done, Error> {
    for builtin in builtins() {
        // Parsing every one here means that the list can never show a path that does not work.
        Path::parse(builtin.name)?;
    }
    let lines = |path: &Builtin| {
        format!(
            "{TITLE}{:<30}{TITLE:#} {}\n{:<30} {} {QUIET}[{}]{QUIET:#}\n",
            path.name, path.text, "", path.about, path.source
        )
    };
    say(&format!(
        "A path is a name from this list, inline text such as {TITLE}rate=100Mbit,rtt=30ms,queue=30ms,loss=0.1%{TITLE:#},\n\
         or a TOML file with the same keys; keys follow a name, too: {TITLE}geo,return=geo_cold{TITLE:#}, {TITLE}geo,ack=1{TITLE:#} (an ACK for every packet).\n\n{}",
        builtins().iter().map(lines).collect::<String>(),
    ))?;
    Ok(Done::Well)
}
