//! The request, as options of the command and keywords of Python.

use super::analysis::analyse;
use super::answer::Answer;
use super::columns::{Names, Question, Ratio};
use super::earlier::Asked;
use super::table;
use crate::size;
use clap::Args;
use firstflight_log::input::FileName;
use firstflight_path::Error;
use firstflight_table::guard::guarded;
use firstflight_trial::assign::shares;
use firstflight_trial::statistics::stop::Rule;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Question about a table.
#[derive(Args, Clone, Debug)]
pub struct FieldRequest {
    /// Column with the arm [default: arm]
    #[arg(long, value_name = "COLUMN")]
    pub arm: Option<String>,
    /// Column with the bytes; times are compared at equal size [default: bytes_written, bytes_acked,
    /// bytes or size]
    #[arg(long, value_name = "COLUMN")]
    pub size: Option<String>,
    /// Column with the time to compare [default: busy_ms or ttlb_ms]
    #[arg(long, value_name = "COLUMN")]
    pub time: Option<String>,
    /// Column with the client; its connections form one unit [default: unit, if there is one]
    #[arg(long, value_name = "COLUMN")]
    pub cluster: Option<String>,
    /// Arm that the others are compared with [default: the one with the most rows]
    #[arg(long, value_name = "ARM")]
    pub baseline: Option<String>,
    /// Column with the handshake RTT in ms [default: handshake_rtt_ms, if there is one]
    #[arg(long, value_name = "COLUMN")]
    pub rtt: Option<String>,
    /// Column that changes whenever the shares change [default: epoch, if there is one]
    #[arg(long, value_name = "COLUMN")]
    pub epoch: Option<String>,
    /// Column with the start in seconds, for the hours in the plan [default: start_s, if there is one]
    #[arg(long, value_name = "COLUMN")]
    pub start: Option<String>,
    /// Column with the client's time before the test, to reduce variance
    #[arg(long, value_name = "COLUMN")]
    pub before: Option<String>,
    /// Rows of the same clients from before the test, with the same client and time columns, such as `watch --keep-key` writes: their times
    /// reduce variance, and `--by` accepts their columns
    #[arg(long, value_name = "FILE", conflicts_with = "before")]
    pub earlier: Option<PathBuf>,
    /// Column that states whether everything arrived [default: acked_all, if there is one]
    #[arg(long, value_name = "COLUMN")]
    pub complete: Option<String>,
    /// Column with the time slot, counted from 0, if arms took turns: slots 0 and 1 form a pair, 2 and 3 the next, and a pair is one unit [default: slot, if there is one]
    #[arg(long, value_name = "COLUMN")]
    pub slot: Option<String>,
    /// Column with the seconds since the start of the slot [default: slot_s, if there is one]
    #[arg(long, value_name = "COLUMN")]
    pub since: Option<String>,
    /// Leave out connections that started in the first seconds of a slot, while those of the previous slot were still running
    #[arg(long, value_name = "SECONDS", default_value_t = 0, value_parser = |text: &str| size::count(text, 0..=86_400, "seconds"), allow_negative_numbers = true)]
    pub settle: u64,
    /// Text columns, separated by commas, to break effects down by, in addition to size and RTT
    #[arg(long, value_name = "COLUMNS")]
    pub by: Option<String>,
    /// Ratios of totals, separated by commas: retransmitted/segments, timeouts/connections
    /// [default: those of our own columns]
    #[arg(long, value_name = "RATIOS")]
    pub ratio: Option<String>,
    /// Planned shares, to compare with the observed ones: cubic=80%,rapid=20%
    #[arg(long, value_name = "SHARES")]
    pub shares: Option<String>,
    /// Ratios that an arm must not exceed, separated by commas: 'retransmitted > 2x'; exit with code 3 if one does
    #[arg(long, value_name = "RULES")]
    pub stop_if: Option<String>,
    /// Expected effect in percent, at which the always-valid interval is narrowest; choose it before the start
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = hope, allow_negative_numbers = true)]
    pub hope: f64,
    /// Number of trials to simulate from these rows, to see how often the intervals cover the truth
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = |text: &str| size::count(text, 0..=100_000, "trials"), allow_negative_numbers = true)]
    pub rehearse: u64,
    /// Seed of every random draw
    #[arg(long, default_value_t = 1, value_parser = |text: &str| size::count(text, 0..=u64::MAX, ""), allow_negative_numbers = true)]
    pub seed: u64,
}

fn hope(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim().parse::<f64>().ok();
    number
        .filter(|percent| (0.1..=100.0).contains(percent))
        .ok_or_else(|| "allowed: 0.1 to 100 percent".to_owned())
}

/// Ratios of our own columns.
const OWN: [(&str, Option<&str>); 3] =
    [("retransmitted", Some("segments")), ("bytes_lost", Some("bytes_sent")), ("timeouts", None)];

impl FieldRequest {
    /// The question for a table with this header.
    ///
    /// # Errors
    /// A one-line message if an option does not fit the table.
    fn question<'a>(
        &self,
        file: &str,
        header: &[String],
        stop: &'a AtomicBool,
    ) -> Result<Question<'a>, Error> {
        let given = [
            &self.arm,
            &self.size,
            &self.time,
            &self.cluster,
            &self.rtt,
            &self.epoch,
            &self.start,
            &self.before,
            &self.complete,
            &self.slot,
            &self.since,
        ];
        let names = Names::fill(file, given.map(|name| name.as_deref()), header)?;
        let list = |text: &Option<String>| -> Vec<String> {
            let pieces = text.iter().flat_map(|text| text.split(','));
            pieces.map(|piece| piece.trim().to_owned()).filter(|piece| !piece.is_empty()).collect()
        };
        let ratios = match &self.ratio {
            Some(_) => {
                list(&self.ratio).iter().map(|text| Ratio::parse(text)).collect::<Result<_, _>>()?
            }
            None => own_ratios(header),
        };
        for name in ratios
            .iter()
            .flat_map(|ratio: &Ratio| [Some(&ratio.above), ratio.below.as_ref()])
            .flatten()
        {
            if !header.contains(name) {
                return Err(table::missing(&file, name, header));
            }
        }
        let by = list(&self.by);
        let others: Vec<String> =
            by.iter().filter(|name| !header.contains(name)).cloned().collect();
        let earlier = self.earlier(others.clone())?;
        if let (Some(name), None) = (others.first(), &earlier) {
            return Err(table::missing(&file, name, header));
        }
        let rule = |text: &String| {
            Rule::parse(text).map_err(|wrong| Error::new(format!("--stop-if {text}: {wrong}")))
        };
        let planned = |text: &String| {
            shares(text).map_err(|error| Error::new(format!("--shares {text}: {error}")))
        };
        Ok(Question {
            stop,
            names,
            baseline: self.baseline.clone(),
            ratios,
            shares: self.shares.as_ref().map(planned).transpose()?.unwrap_or_default(),
            rules: list(&self.stop_if).iter().map(rule).collect::<Result<_, _>>()?,
            tau: libm::log1p(self.hope / 100.0),
            by,
            earlier,
            settle: self.settle as f64,
            rehearse: self.rehearse as u32,
            seed: self.seed,
        })
    }

    /// The tables from before the test, which must have these columns.
    fn earlier(&self, by: Vec<String>) -> Result<Option<Asked>, Error> {
        let Some(file) = &self.earlier else { return Ok(None) };
        let tables = table::files(file)?;
        let file = FileName::of(file);
        let first =
            tables.first().ok_or_else(|| Error::new(format!("{file}: contains no table")))?;
        let header = table::names(first)?;
        if let Some(name) = by.iter().find(|name| !header.contains(name)) {
            return Err(table::missing(&file, name, &header));
        }
        Ok(Some(Asked { file, tables, by }))
    }

    /// Checks that a table with these columns, which is still to be written, supports the question.
    ///
    /// # Errors
    /// A one-line message if a required column is missing or an option is invalid.
    pub fn check_rules(&self, columns: &[&str]) -> Result<(), Error> {
        let header: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
        let stop = AtomicBool::new(false);
        let question = self.question("the rows", &header, &stop)?;
        let known = |rule: &Rule| {
            let named = |ratio: &Ratio| ratio.name() == rule.measure || ratio.above == rule.measure;
            question.ratios.iter().any(named)
        };
        match question.rules.iter().find(|rule| !known(rule)) {
            None => Ok(()),
            Some(rule) => {
                let names: Vec<String> = question.ratios.iter().map(Ratio::name).collect();
                let told = format!("--stop-if {}: no such ratio", rule.measure);
                Err(Error::new(format!("{told}; there are {}", names.join(", "))))
            }
        }
    }

    /// Reads tables with the same columns and analyses them. A folder stands for the Parquet files
    /// in it.
    ///
    /// # Errors
    /// A one-line message if a table cannot be read or an option does not fit it.
    pub fn answer(&self, files: &[impl AsRef<Path>]) -> Result<Answer, Error> {
        self.answer_until(files, &AtomicBool::new(false))
    }

    /// Like [`answer`](Self::answer), until `stop` is set.
    ///
    /// # Errors
    /// A one-line message, also if it was stopped.
    pub fn answer_until(
        &self,
        files: &[impl AsRef<Path>],
        stop: &AtomicBool,
    ) -> Result<Answer, Error> {
        let mut tables = Vec::new();
        for file in files {
            tables.extend(table::files(file.as_ref())?);
        }
        // The first table whose columns can be read at all shows which columns there are.
        let mut broken = Vec::new();
        let header = loop {
            let first = tables.first().ok_or_else(|| {
                Error::new(broken.pop().unwrap_or_else(|| "no table is given".to_owned()))
            })?;
            match guarded(|| table::names(first)) {
                Ok(header) => break header?,
                Err(why) => broken.push(format!("{}: {why}", tables.remove(0))),
            }
        };
        let question = self.question(&tables[0].to_string(), &header, stop)?;
        let mut answer = analyse(&tables, &question)?;
        answer.experiment.files =
            files.iter().map(|file| file.as_ref().display().to_string()).collect();
        answer.warnings.splice(0..0, broken);
        Ok(answer)
    }
}

fn own_ratios(header: &[String]) -> Vec<Ratio> {
    let has = |name: &str| header.iter().any(|known| known == name);
    let there = OWN.iter().filter(|(above, below)| has(above) && below.is_none_or(has));
    let ratio = |(above, below): &(&str, Option<&str>)| Ratio {
        above: (*above).to_owned(),
        below: below.map(str::to_owned),
    };
    there.map(ratio).collect()
}
