//! The available choices: the tables of the core and of the path, for a page's controls.

use firstflight::arm::{AVOIDANCES, Part, RECOVERIES, SHORT_NAMES, STARTUPS, SenderParams};
use firstflight::options::OptionDoc;
use firstflight_lab::DEFAULT_ARMS;
use firstflight_path::{DEFAULT, builtins};
use serde::Serialize;

/// All tables.
#[derive(Debug, Serialize)]
pub(crate) struct Facts {
    version: &'static str,
    arms: &'static str,
    path: &'static str,
    startups: Vec<PartRow>,
    avoidances: Vec<PartRow>,
    recoveries: Vec<PartRow>,
    sender: Vec<OptionRow>,
    short_names: Vec<[&'static str; 3]>,
    paths: Vec<PathRow>,
}

#[derive(Debug, Serialize)]
struct PartRow {
    name: &'static str,
    summary: &'static str,
    source: &'static str,
    options: Vec<OptionRow>,
}

#[derive(Debug, Serialize)]
struct OptionRow {
    key: &'static str,
    values: &'static str,
    meaning: &'static str,
}

#[derive(Debug, Serialize)]
struct PathRow {
    name: &'static str,
    text: &'static str,
    about: &'static str,
    source: &'static str,
}

pub(crate) fn facts() -> Facts {
    Facts {
        version: env!("CARGO_PKG_VERSION"),
        arms: DEFAULT_ARMS,
        path: DEFAULT,
        startups: STARTUPS.iter().map(part).collect(),
        avoidances: AVOIDANCES.iter().map(part).collect(),
        recoveries: RECOVERIES.iter().map(part).collect(),
        sender: options(SenderParams::DOCS),
        short_names: SHORT_NAMES.iter().map(|name| [name.name, name.arm, name.summary]).collect(),
        paths: builtins()
            .iter()
            .map(|path| PathRow {
                name: path.name,
                text: path.text,
                about: path.about,
                source: path.source,
            })
            .collect(),
    }
}

fn part(part: &Part) -> PartRow {
    PartRow {
        name: part.name,
        summary: part.summary,
        source: part.source,
        options: options(part.options),
    }
}

fn options(docs: &[OptionDoc]) -> Vec<OptionRow> {
    docs.iter()
        .map(|doc| OptionRow { key: doc.key, values: doc.values, meaning: doc.meaning })
        .collect()
}
