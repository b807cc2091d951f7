//! What the kernel's TCP has counted in a network namespace.

use std::collections::HashMap;

/// The counters under `TcpExt` in `/proc/net/netstat`, by the kernel's names without that prefix.
#[derive(Clone, Debug, Default)]
pub struct TcpCounters(HashMap<String, u64>);

impl TcpCounters {
    /// A line of names, and one of values under them; of another text there are none.
    pub(crate) fn parse(text: &str) -> TcpCounters {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
        let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        let pairs = names.split_whitespace().zip(values.split_whitespace());
        let known = pairs.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
        TcpCounters(known.collect())
    }

    /// Since the namespace was made; `None` if this kernel counts nothing under that name.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.get(name).copied()
    }
}
