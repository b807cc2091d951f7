//! TCP counters of the kernel for a network namespace.

use std::collections::HashMap;

/// The counters under `TcpExt` in `/proc/net/netstat`, by the kernel's names without that prefix.
#[derive(Clone, Debug, Default)]
pub struct TcpCounters(HashMap<String, u64>);

impl TcpCounters {
    /// Parses a line of names and a line of values; any other text yields no counters.
    pub(crate) fn parse(text: &str) -> TcpCounters {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
        let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        let pairs = names.split_whitespace().zip(values.split_whitespace());
        let known = pairs.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
        TcpCounters(known.collect())
    }

    /// Count since the namespace was created; `None` if this kernel has no counter of that name.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.get(name).copied()
    }
}
