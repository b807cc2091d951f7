//! What there is: arms and paths, with a line each and its source.

use crate::done::Done;
use crate::output::{Output, fitted, prose, show};
use crate::rows::Rows;
use crate::sheet::{Field, Sheet, Side};
use firstflight::arm::SenderParams;
use firstflight::arm::{AVOIDANCES, Part, RECOVERIES, SHORT_NAMES, STARTUPS};
use firstflight::options::OptionDoc;
use firstflight_lab::{Error, STACK_ARMS, own};
use firstflight_path::{Path, builtins};

/// Parts of an arm: what their table is called, and the kind of part in data.
const KINDS: [(&str, &str, &[Part]); 3] = [
    ("startups", "startup", STARTUPS),
    ("congestion avoidance", "avoidance", AVOIDANCES),
    ("recovery", "recovery", RECOVERIES),
];

/// `firstflight arms`.
pub(crate) fn arms() -> Result<Done, Error> {
    show(&Arms).map(|()| Done::Well)
}

struct Arms;

impl Output for Arms {
    fn text(&self) -> String {
        let about = [
            "An arm is startup(options)/avoidance(options)/recovery(options)@(sender options); only the startup is needed, the rest defaults to cubic/prr.",
            "Such as: rapid, hystart++(css=off)/reno, slowstart/cubic/immediate@(iw=30,pace=on).",
        ];
        format!("{}\n{}", prose(&about), fitted(&self.sheets()))
    }

    fn sheets(&self) -> Vec<Sheet> {
        let of = |(title, kind, parts): (&str, &str, &[Part])| {
            let mut sheet = parts_sheet(title, kind);
            for part in parts {
                sheet.row([part.name, part.summary, part.source]);
                options(&mut sheet, part.options);
            }
            sheet
        };
        let mut sheets: Vec<Sheet> = KINDS.into_iter().map(of).collect();
        let mut sender = parts_sheet("sender", "sender");
        options(&mut sender, SenderParams::DOCS);
        let columns =
            [("short name", Side::Left), ("arm", Side::Prose), ("what it is", Side::Prose)];
        let mut short = Sheet::new("short names", columns);
        for name in SHORT_NAMES {
            short.row([name.name, name.arm, name.summary]);
        }
        let mut stacks = parts_sheet("controllers of QUIC stacks", "arm of `--on quic`");
        for arm in STACK_ARMS {
            stacks.row([arm.name, arm.summary, arm.source]);
        }
        sheets.extend([sender, short, stacks]);
        let listed = own::listed();
        if !listed.is_empty() {
            let columns = [("name", Side::Left), ("part", Side::Prose)];
            let mut own = Sheet::new("of this program", columns);
            for (kind, name) in listed {
                own.row([name, kind]);
            }
            sheets.push(own);
        }
        sheets
    }

    /// A row for each part, each option, each short name and each controller of a stack.
    fn rows(&self) -> Rows {
        let mut rows = Rows::new(&["kind", "name", "option", "values", "arm", "summary", "source"]);
        let mut row = |cells: [&str; 7]| {
            let value = |text: &str| Some(text).filter(|text| !text.is_empty()).into();
            rows.row(cells.map(value));
        };
        for (_, kind, parts) in KINDS {
            for part in parts {
                row([kind, part.name, "", "", part.name, part.summary, part.source]);
                for doc in part.options {
                    row([kind, part.name, doc.key, doc.values, "", doc.meaning, part.source]);
                }
            }
        }
        for doc in SenderParams::DOCS {
            row(["sender", "", doc.key, doc.values, "", doc.meaning, ""]);
        }
        for short in SHORT_NAMES {
            row(["short name", short.name, "", "", short.arm, short.summary, ""]);
        }
        for arm in STACK_ARMS {
            row(["stack", arm.name, "", "", arm.name, arm.summary, arm.source]);
        }
        rows
    }
}

fn parts_sheet(title: &str, kind: &str) -> Sheet {
    let columns = [(kind, Side::Left), ("what it is", Side::Prose), ("source", Side::Prose)];
    Sheet::new(title, columns)
}

/// Options below the part that they belong to.
fn options(sheet: &mut Sheet, docs: &[OptionDoc]) {
    for doc in docs {
        let what = format!("{}: {}", doc.values, doc.meaning);
        sheet.row([Field::from(format!("  {}=", doc.key)), what.into(), "".into()]);
    }
}

/// `firstflight paths`.
pub(crate) fn paths() -> Result<Done, Error> {
    for builtin in builtins() {
        // Parsing every one here means that the list can never show a path that does not work.
        Path::parse(builtin.name)?;
    }
    show(&Paths).map(|()| Done::Well)
}

struct Paths;

impl Output for Paths {
    fn text(&self) -> String {
        let about = [
            "A path is a name from this list, inline text such as `rate=100Mbit,rtt=30ms,queue=30ms,loss=0.1%`, or a TOML file with the same keys.",
            "Keys follow a name, too: `geo,return=geo_cold`, `geo,ack=1` (an ACK for every packet), `geo,ack=4/rtt` (four per round trip).",
        ];
        format!("{}\n{}", prose(&about), fitted(&self.sheets()))
    }

    fn sheets(&self) -> Vec<Sheet> {
        let columns = [("path", Side::Left), ("what it is", Side::Prose), ("source", Side::Prose)];
        let mut sheet = Sheet::new("built-in paths", columns);
        for path in builtins() {
            let what = format!("{}\n{}", path.about, path.text);
            sheet.row([Field::from(path.name), what.into(), path.source.into()]);
        }
        vec![sheet]
    }

    fn rows(&self) -> Rows {
        let mut rows = Rows::new(&["name", "path", "about", "source"]);
        for path in builtins() {
            rows.row([path.name, path.text, path.about, path.source].map(Into::into));
        }
        rows
    }
}
