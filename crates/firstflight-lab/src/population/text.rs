//! Writes a population as a file with all values filled in, as stored with results.

use super::knobs::as_seen;
use super::{Assumption, Group, Knobs, Population, Variable};
use std::fmt::{self, Write as _};

impl fmt::Display for Population {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted =
            |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        writeln!(
            f,
            "schema = 1\nname = {}\nversion = {}",
            quoted(&self.name),
            quoted(&self.version)
        )?;
        writeln!(f, "about = {}", quoted(&self.about))?;
        if let Some(packets) = self.initial_window {
            writeln!(f, "initial_window = {packets}")?;
        }
        writeln!(f, "size_bins = {:?}", self.size_bins)?;
        for source in &self.sources {
            let (value, reference) = (quoted(&source.value), quoted(&source.reference));
            writeln!(
                f,
                "\n[[source]]\nvalue = {value}\nstatus = \"{}\"\nref = {reference}",
                source.status
            )?;
        }
        let Knobs { q, k, s, r, l, status, .. } = &self.knobs;
        writeln!(
            f,
            "\n[calibration]\nq = {q:?}\nk = {k:?}\ns = {s:?}\nstatus = {}",
            quoted(status)
        )?;
        if !as_seen(*r) {
            writeln!(f, "r = {r:?}")?;
        }
        if !as_seen(*l) {
            writeln!(f, "l = {l:?}")?;
        }
        if let Some(calibrated) = self.knobs.calibrated {
            writeln!(f, "calibrated = \"{}\"", if calibrated { "yes" } else { "no" })?;
        }
        for Assumption { value, low, high, reference } in &self.assumptions {
            let (value, reference) = (quoted(value), quoted(reference));
            writeln!(
                f,
                "\n[[assumption]]\nvalue = {value}\nlow = {low}\nhigh = {high}\nref = {reference}"
            )?;
        }
        self.groups
            .iter()
            .try_for_each(|group| write!(f, "\n[[group]]\nname = {}\n{group}", quoted(&group.name)))
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "weight = {:?}", self.weight)?;
        if let Some(rows) = &self.rows {
            let group =
                rows.group.as_ref().map_or(String::new(), |group| format!(", group = \"{group}\""));
            writeln!(f, "# {} rows, digest {:016x}", rows.len(), rows.digest)?;
            writeln!(
                f,
                "rows = {{ file = \"{}\"{group}, jitter = {:?} }}",
                rows.file, rows.jitter
            )?;
        }
        for (variable, distribution) in &self.variables {
            let floor = if *variable == Variable::Buffer {
                format!(", floor_packets = {}", self.floor_packets)
            } else {
                String::new()
            };
            writeln!(f, "{} = {}", variable.name(), distribution.show(&floor))?;
        }
        if self.rate_is_lower_bound {
            writeln!(f, "rate_down_is = \"lower bound\"")?;
        }
        writeln!(f, "return_path = \"{}\"", self.return_path)?;
        if !self.path.is_empty() {
            writeln!(f, "path = \"{}\"", self.path)?;
        }
        if let Some(bursts) = &self.bursts {
            writeln!(f, "bursts = {bursts}")?;
        }
        if let Some(reordering) = &self.reordering {
            writeln!(f, "reordering = {reordering}")?;
        }
        if let Some(policer) = &self.policer {
            writeln!(f, "policer = {policer}")?;
        }
        write!(f, "{}", self.workload)?;
        let mut pairs = String::new();
        for (index, (a, b, rho)) in self.correlation.pairs().iter().enumerate() {
            write!(
                pairs,
                "{}[\"{}\", \"{}\", {rho:?}]",
                if index > 0 { ", " } else { "" },
                a.name(),
                b.name()
            )?;
        }
        writeln!(f, "correlation = [{pairs}]")
    }
}
