//! Knowledge about a test's clients from rows before the test: their times, which reduce variance,
//! and text columns by which effects can be grouped.
//!
//! The test cannot have changed them, so such a covariate does not bias the effect (Deng et al.,
//! "Improving the sensitivity of online controlled experiments", WSDM 2013).

use super::table::{self, Kind, NONE, Table, Texts};
use firstflight_log::input::FileName;
use firstflight_path::Error;
use std::collections::{BTreeMap, HashMap};

/// Value for a client that has no earlier row.
pub(super) const NOT_SEEN: &str = "not seen earlier";

/// Tables from before a test, and the columns read from them.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The named input: a table, or a folder of Parquet files.
    pub file: FileName,
    /// The tables.
    pub(super) tables: Vec<FileName>,
    /// Text columns that the test's own tables lack.
    pub(super) by: Vec<String>,
}

/// Earlier knowledge about clients.
#[derive(Clone, Debug, Default)]
pub(super) struct Earlier {
    /// Remarks about the files for the reader.
    pub(super) remarks: Vec<String>,
    /// The geometric mean of a client's times.
    times: HashMap<String, f64>,
    /// For each text column, the value in most rows of a client.
    words: Vec<(String, HashMap<String, String>)>,
}

impl Earlier {
    /// Reads the columns of clients and times and the text columns.
    ///
    /// # Errors
    /// A one-line message: a table that cannot be read, or that lacks a column.
    pub(super) fn read(asked: &Asked, cluster: &str, time: &str) -> Result<Earlier, Error> {
        let mut table = Table::default();
        table.ask(cluster, Kind::Text);
        table.ask(time, Kind::Number);
        for name in &asked.by {
            table.ask(name, Kind::Text);
        }
        for file in &asked.tables {
            table.read(file)?;
        }
        let twice = |name: &str| table::twice(&asked.file, name);
        let clients = table.text(cluster).ok_or_else(|| twice(cluster))?;
        let times = table.number(time).ok_or_else(|| twice(time))?;
        let mut sums: HashMap<&str, (f64, f64)> = HashMap::new();
        for (client, time) in clients.of.iter().zip(times) {
            if *client != NONE && *time > 0.0 {
                let sum = sums.entry(clients.names[*client as usize].as_str()).or_default();
                *sum = (sum.0 + libm::log(*time), sum.1 + 1.0);
            }
        }
        let mean =
            |(client, (sum, rows)): (&str, (f64, f64))| (client.to_owned(), libm::exp(sum / rows));
        let mut words = Vec::new();
        for name in &asked.by {
            let texts = table.text(name).ok_or_else(|| twice(name))?;
            words.push((name.clone(), most(clients, texts)));
        }
        let times = sums.into_iter().map(mean).collect();
        Ok(Earlier { remarks: table.remarks, times, words })
    }

    /// The time of each of these clients; NaN for a client without earlier rows.
    pub(super) fn times<'a>(&self, clients: impl Iterator<Item = Option<&'a str>>) -> Vec<f64> {
        let of = |client: Option<&str>| client.and_then(|client| self.times.get(client).copied());
        clients.map(|client| of(client).unwrap_or(f64::NAN)).collect()
    }

    /// A text column by its name: its values, and the value of each of these clients.
    pub(super) fn words<'a>(
        &self,
        name: &str,
        clients: impl Iterator<Item = Option<&'a str>>,
    ) -> Option<(Vec<String>, Vec<u32>)> {
        let (_, known) = self.words.iter().find(|(known, _)| known == name)?;
        let mut names: Vec<String> = known.values().cloned().collect();
        names.sort_unstable();
        names.dedup();
        let unseen = names.len() as u32;
        let number = |client: Option<&str>| {
            let word = client.and_then(|client| known.get(client));
            let place = word.and_then(|word| names.binary_search(word).ok());
            place.map_or(unseen, |place| place as u32)
        };
        let of = clients.map(number).collect();
        names.push(NOT_SEEN.to_owned());
        Some((names, of))
    }
}

/// The value in most rows of each client; the first in the alphabet if several are equally
/// frequent.
fn most(clients: &Texts, texts: &Texts) -> HashMap<String, String> {
    let mut counts: HashMap<u32, BTreeMap<&str, u64>> = HashMap::new();
    for (client, text) in clients.of.iter().zip(&texts.of) {
        if *client != NONE && *text != NONE {
            let word = texts.names[*text as usize].as_str();
            *counts.entry(*client).or_default().entry(word).or_default() += 1;
        }
    }
    let said = |(client, words): (u32, BTreeMap<&str, u64>)| {
        // `max_by_key` returns the last of equal elements.
        let word = words.into_iter().rev().max_by_key(|(_, count)| *count)?.0;
        Some((clients.names[client as usize].clone(), word.to_owned()))
    };
    counts.into_iter().filter_map(said).collect()
}
