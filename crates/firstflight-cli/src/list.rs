//! `firstflight arms` and `firstflight paths`: one line for each item, or a description of one
//! item.

use crate::done::Done;
use crate::output::{Output, fitted, prose, show};
use clap::Args;
use firstflight::arm::SenderParams;
use firstflight::arm::{AVOIDANCES, Arm, Part, RECOVERIES, SHORT_NAMES, STARTUPS};
use firstflight::options::OptionDoc;
use firstflight_lab::{Error, STACK_ARMS, default_of, own};
use firstflight_path::{Builtin, Path, builtins, suggestion};
use firstflight_table::{Kind, Table};

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Item to describe: its options and source
    name: Option<String>,
}

/// Parts of an arm: the header of their table, the kind of part in data, and the parts.
const KINDS: [(&str, &str, &[Part]); 3] = [
    ("startup", "startup", STARTUPS),
    ("congestion avoidance", "avoidance", AVOIDANCES),
    ("recovery", "recovery", RECOVERIES),
];

/// The name under which the sender's options are described.
const SENDER: &str = "sender";

/// `firstflight arms`.
pub(crate) fn arms(options: &Options) -> Result<Done, Error> {
    let name = options.name.as_ref().map(|name| name.to_lowercase());
    if let Some(name) = &name
        && !known_arms().any(|known| known == name)
    {
        let near = suggestion(name, known_arms());
        let what = format!("`{name}` is not part of an arm{near}; `firstflight arms` lists all");
        return Err(Error::new(what));
    }
    show(&Arms { name }).map(|()| Done::Well)
}

/// All names that `firstflight arms NAME` can describe.
fn known_arms() -> impl Iterator<Item = &'static str> {
    let parts = KINDS.iter().flat_map(|(_, _, parts)| *parts).map(|part| part.name);
    let short = SHORT_NAMES.iter().map(|short| short.name);
    let own = own::listed().into_iter().map(|(_, name)| name);
    parts.chain([SENDER]).chain(short).chain(STACK_ARMS.iter().map(|arm| arm.name)).chain(own)
}

struct Arms {
    /// The item to describe; `None` for all items.
    name: Option<String>,
}

impl Arms {
    fn wants(&self, name: &str) -> bool {
        self.name.as_ref().is_none_or(|wanted| wanted == name)
    }

    /// A part: a line with its description and source, and a table of its options.
    fn one(&self) -> Vec<Table> {
        let mut sheets = Vec::new();
        for ((header, _, parts), start) in
            KINDS.into_iter().zip(["", "slowstart/", "slowstart/cubic/"])
        {
            for part in parts.iter().filter(|part| self.wants(part.name)) {
                let before = format!("{start}{}(", part.name);
                let mut about = described(header);
                about.row([part.name, part.summary, part.source]);
                sheets.push(about);
                sheets.extend(options(part.options, &before));
            }
        }
        if self.wants(SENDER) {
            sheets.extend(options(SenderParams::DOCS, "slowstart@("));
        }
        for short in SHORT_NAMES.iter().filter(|short| self.wants(short.name)) {
            let columns =
                [("short name", Kind::Name), ("arm", Kind::Prose), ("description", Kind::Prose)];
            let mut about = Table::new("", columns);
            about.row([short.name, short.arm, short.summary]);
            sheets.push(about);
        }
        for arm in STACK_ARMS.iter().filter(|arm| self.wants(arm.name)) {
            let mut about = described("arm of `--on quic`");
            about.row([arm.name, arm.summary, arm.source]);
            sheets.push(about);
        }
        for (kind, name) in own::listed().into_iter().filter(|(_, name)| self.wants(name)) {
            let mut about = listed("of this program");
            about.row([name, kind]);
            sheets.push(about);
        }
        sheets
    }

    fn all() -> Vec<Table> {
        let mut sheets = Vec::new();
        for (header, _, parts) in KINDS {
            let mut sheet = listed(header);
            for part in parts {
                sheet.row([part.name, part.summary]);
            }
            sheets.push(sheet);
        }
        let mut short = listed("short name");
        for name in SHORT_NAMES {
            short.row([name.name, name.summary]);
        }
        let mut stacks = listed("arm of `--on quic`");
        for arm in STACK_ARMS {
            stacks.row([arm.name, arm.summary]);
        }
        sheets.extend([short, stacks]);
        let own = own::listed();
        if !own.is_empty() {
            let mut sheet = listed("of this program");
            for (kind, name) in own {
                sheet.row([name, kind]);
            }
            sheets.push(sheet);
        }
        sheets
    }
}

impl Output for Arms {
    fn text(&self) -> String {
        let sheets = fitted(&self.sheets());
        if self.name.is_some() {
            return sheets;
        }
        let about = [
            "An arm is startup/avoidance/recovery@(sender options), each with options in parentheses. Only the startup is needed; the rest defaults to cubic/prr.",
            "Examples: rapid, hystart++(css=off)/reno, slowstart/cubic/immediate@(iw=30,pace=on).",
            "`firstflight arms NAME` describes one with its options; `firstflight arms sender` lists the sender options.",
        ];
        format!("{}\n{sheets}", prose(&about))
    }

    fn sheets(&self) -> Vec<Table> {
        if self.name.is_some() { self.one() } else { Arms::all() }
    }

    /// A row for each part, option, short name and stack controller.
    fn rows(&self) -> Table {
        let mut rows =
            Table::of_data(["kind", "name", "option", "values", "arm", "summary", "source"]);
        let mut row = |cells: [&str; 7]| {
            rows.values(cells.map(|text| Some(text).filter(|text| !text.is_empty()).into()));
        };
        for (_, kind, parts) in KINDS {
            for part in parts.iter().filter(|part| self.wants(part.name)) {
                row([kind, part.name, "", "", part.name, part.summary, part.source]);
                for doc in part.options {
                    row([kind, part.name, doc.key, doc.values, "", doc.meaning, part.source]);
                }
            }
        }
        for doc in SenderParams::DOCS.iter().filter(|_| self.wants(SENDER)) {
            row([SENDER, "", doc.key, doc.values, "", doc.meaning, ""]);
        }
        for short in SHORT_NAMES.iter().filter(|short| self.wants(short.name)) {
            row(["short name", short.name, "", "", short.arm, short.summary, ""]);
        }
        for arm in STACK_ARMS.iter().filter(|arm| self.wants(arm.name)) {
            row(["stack", arm.name, "", "", arm.name, arm.summary, arm.source]);
        }
        rows
    }
}

/// A table with one line per item.
fn listed(header: &str) -> Table {
    Table::new("", [(header, Kind::Name), ("description", Kind::Prose)])
}

/// A table about one item.
fn described(header: &str) -> Table {
    let columns = [(header, Kind::Name), ("description", Kind::Prose), ("source", Kind::Prose)];
    Table::new("", columns)
}

/// The options of a part, if it has any; an option between `before` and `)` makes an arm.
fn options(docs: &[OptionDoc], before: &str) -> Option<Table> {
    let columns = [
        ("option", Kind::Name),
        ("values", Kind::Prose),
        ("default", Kind::Name),
        ("meaning", Kind::Prose),
    ];
    let mut sheet = Table::new("options", columns);
    let plain = Arm::parse(before.trim_end_matches(['@', '('])).ok();
    for doc in docs {
        let set = |option: &str| Arm::parse(&format!("{before}{option})")).ok();
        let default = plain.as_ref().and_then(|plain| default_of(doc, plain, set));
        let default = default.unwrap_or_else(|| "-".to_owned());
        let key = format!("{}=", doc.key);
        sheet.row([key.as_str(), doc.values, &default, doc.meaning]);
    }
    (!docs.is_empty()).then_some(sheet)
}

/// `firstflight paths`.
pub(crate) fn paths(options: &Options) -> Result<Done, Error> {
    let paths = match &options.name {
        Some(name) => std::slice::from_ref(Builtin::named(name)?),
        None => builtins(),
    };
    for builtin in paths {
        // The list never shows a path that does not work.
        Path::parse(builtin.name)?;
    }
    show(&Paths { paths, all: options.name.is_none() }).map(|()| Done::Well)
}

/// Kinds of paths, in the order of the list.
const KINDS_OF_PATHS: [&str; 4] = ["fixed or Wi-Fi", "mobile", "satellite", "laboratory"];

struct Paths {
    paths: &'static [Builtin],
    all: bool,
}

impl Output for Paths {
    fn text(&self) -> String {
        let sheets = fitted(&self.sheets());
        if !self.all {
            return sheets;
        }
        let about = [
            "A path is a name from this list, inline text such as `rate=100Mbit,rtt=30ms,queue=30ms,loss=0.1%`, or a TOML file with the same keys.",
            "A name takes keys, too: `geo,return=geo_cold`, `geo,ack=1` (an ACK for every packet), `geo,ack=4/rtt` (four per round trip).",
            "`firstflight paths NAME` describes one.",
        ];
        format!("{}\n{sheets}", prose(&about))
    }

    fn sheets(&self) -> Vec<Table> {
        if !self.all {
            let columns = [("path", Kind::Name), ("value", Kind::Prose)];
            let one = |path: &Builtin| {
                let mut sheet = Table::new("", columns);
                let aliases: Vec<_> = path.aliases().collect();
                let mut row = |name: &str, value: &str| sheet.row([name, value]);
                row("name", path.name);
                if !aliases.is_empty() {
                    row("alias", &aliases.join(", "));
                }
                row("kind", path.kind());
                row("description", path.about);
                row("keys", path.text);
                row("source", path.source);
                sheet
            };
            return self.paths.iter().map(one).collect();
        }
        let of = |kind: &str| {
            let mut sheet = listed(kind);
            for path in self.paths.iter().filter(|path| path.kind() == kind) {
                // Only the first clause; our assumptions follow it.
                let about = path.about.split(';').next().unwrap_or_default();
                let mut what = about.to_owned();
                path.aliases().for_each(|alias| what.extend([" [", alias, "]"]));
                sheet.row([path.name, &what]);
            }
            sheet
        };
        KINDS_OF_PATHS.map(of).into()
    }

    fn rows(&self) -> Table {
        let mut rows = Table::of_data(["name", "kind", "aliases", "path", "about", "source"]);
        for path in self.paths {
            let aliases = path.aliases().collect::<Vec<_>>().join(" ");
            let cells = [path.name, path.kind(), &aliases, path.text, path.about, path.source];
            rows.values(cells.map(Into::into));
        }
        rows
    }
}
