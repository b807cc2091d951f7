//! Recorded connections as a population of their own, for an A/B test whose result applies to
//! exactly these paths.
//!
//! [`to_toml`](super::to_toml) describes how a large sample is distributed. Here the values of each
//! connection stay together: it is a group of its own, or shares one with the most similar
//! connections. The result therefore shows the effect on each group, and how much the effects
//! differ. If the ACKs of a connection followed a grid, its return path gets that grid. A buffer
//! that no loss showed is assumed from the round trip, and each assumption is listed with the range
//! over which a recommendation must hold.

use super::entry::{Entry, MOST_BYTES, grid, size};
use super::model::Ends;
use super::text::{four, quantile, quoted, table};
use std::fmt::Write as _;

/// Maximum number of groups: enough to show the spread of the effects, with enough simulated
/// connections in each.
const MOST_GROUPS: usize = 24;

/// A value that the traces do not show.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Assumed {
    /// Name of the value.
    pub value: String,
    /// The assumed value, with the reason.
    pub text: String,
}

/// The connections as a population.
#[derive(Clone, Debug)]
pub struct Paths {
    /// The population file.
    pub toml: String,
    /// Assumptions.
    pub assumed: Vec<Assumed>,
    /// Number of connections.
    pub connections: usize,
    /// Mean object size, bytes, after the limit on sizes.
    pub mean_bytes: f64,
    /// Minimum, median and maximum of the round trip, ms.
    pub rtt_ms: [f64; 3],
    /// Minimum, median and maximum of the rate, Mbit/s.
    pub rate_mbps: [f64; 3],
    /// Minimum, median and maximum of the buffer, ms; `None` if no loss came with a queue.
    pub buffer_ms: Option<[f64; 3]>,
    /// Minimum, median and maximum of the loss without a queue, as a share of the packets sent.
    pub loss: [f64; 3],
    /// Number of connections whose rate is a lower bound.
    pub lower_bounds: usize,
    /// Periods of ACK grids in ms, and the number of connections with each.
    pub grids: Vec<(f64, usize)>,
}

/// Minimum, median and maximum.
fn range(mut values: Vec<f64>) -> Option<[f64; 3]> {
    values.sort_by(f64::total_cmp);
    Some([*values.first()?, quantile(&values, 0.5), *values.last()?])
}

/// Groups connections that share group, grid and kind of rate (exact or lower bound), adjacent in
/// round trip.
fn clusters(entries: &[Entry]) -> Vec<Vec<&Entry>> {
    let mut sorted: Vec<&Entry> = entries.iter().collect();
    if sorted.len() <= MOST_GROUPS {
        return sorted.into_iter().map(|entry| vec![entry]).collect();
    }
    let key = |entry: &Entry| {
        let grid = grid(entry).map_or(0, |period| (period * 1e3) as u64);
        (entry.group.clone(), grid, entry.lower_bound)
    };
    sorted.sort_by(|a, b| key(a).cmp(&key(b)).then(a.rtt_ms.total_cmp(&b.rtt_ms)));
    let size = sorted.len().div_ceil(MOST_GROUPS);
    let strata = sorted.chunk_by(|a, b| key(a) == key(b));
    // In each stratum only the last group is smaller than `size`; many small strata do no harm.
    strata.flat_map(|stratum| stratum.chunks(size).map(<[&Entry]>::to_vec)).collect()
}

/// The distribution of a value: a single value is spread by its uncertainty, several follow their
/// own spread.
fn values(mut of: Vec<f64>, suffix: &str, sigma: f64) -> String {
    match of.as_slice() {
        [one] => {
            let one = four(*one);
            format!("{{ lognormal = {{ median{suffix} = {one:?}, sigma = {sigma:?} }} }}")
        }
        few if few.len() < 4 => {
            let shown: Vec<String> =
                few.iter().map(|value| format!("{:?}", four(*value))).collect();
            let weights = vec!["1.0"; few.len()].join(", ");
            format!(
                "{{ choice = {{ values{suffix} = [{}], weights = [{weights}] }} }}",
                shown.join(", ")
            )
        }
        _ => table(&mut of, suffix),
    }
}

/// A unique name for a group.
fn name(members: &[&Entry], index: usize) -> String {
    let clean = |text: &str| text.chars().filter(|c| !c.is_control()).take(100).collect::<String>();
    match members {
        [one] => clean(&one.name),
        [first, .., last] => {
            let group =
                if first.group == "traces" { String::new() } else { clean(&first.group) + ", " };
            let grid =
                grid(first).map_or(String::new(), |period| format!(", ACK grid {period} ms"));
            let rtt = format!("RTT {:.1} to {:.1} ms", first.rtt_ms, last.rtt_ms);
            format!("{group}{rtt}{grid} ({})", index + 1)
        }
        [] => String::new(),
    }
}

fn group(text: &mut String, name: &str, weight: f64, members: &[&Entry]) {
    let first = members[0];
    let all = |of: &dyn Fn(&Entry) -> f64| members.iter().map(|entry| of(entry)).collect();
    let rtt = values(all(&|entry| entry.rtt_ms), "_ms", 0.03);
    let rate = values(all(&|entry| entry.rate_mbps), "_mbps", 0.1);
    let buffer = values(all(&|entry| entry.fit().buffer_ms), "_ms", 0.1);
    let size = values(all(&size), "_bytes", 0.3);
    let mut loss: Vec<f64> = all(&|entry| entry.fit().loss.clamp(0.0, 0.5));
    let loss = table(&mut loss, "");
    let _ = write!(
        text,
        "\n[[group]]\nname = {}\nweight = {weight:?}\nrtt = {rtt}\nrate_down = {rate}\n\
         buffer = {buffer}\nloss = {loss}\nsize = {size}\n",
        quoted(name)
    );
    if first.lower_bound {
        text.push_str("rate_down_is = \"lower bound\"\n");
    }
    if let Some(period) = grid(first) {
        let gap = first.gap_us.clamp(1.0, 1_000.0);
        let _ = writeln!(text, "return_path = \"batch:{period}ms:1000:{gap:.0}us\"");
    }
}

/// The sources of the values, and the ranges over which a recommendation must hold.
fn assumptions(entries: &[Entry], ends: &Ends) -> (String, Vec<Assumed>) {
    let n = entries.len();
    let count = |what: &dyn Fn(&Entry) -> bool| entries.iter().filter(|entry| what(entry)).count();
    let (unseen, bounds) = (count(&|entry| entry.full_ms.is_none()), count(&|e| e.lower_bound));
    let cut = count(&|entry| entry.bytes > MOST_BYTES);
    let mut text = String::new();
    let mut assumed = Vec::new();
    let mut tried = |value: &str, low: &str, high: &str, why: String| {
        let _ = write!(
            text,
            "\n[[assumption]]\nvalue = \"{value}\"\nlow = {{ {low} }}\nhigh = {{ {high} }}\nref = {}\n",
            quoted(&why)
        );
        assumed.push(Assumed { value: value.to_owned(), text: why });
    };
    let [low, high] = ends.buffers;
    let seen = n - unseen;
    tried(
        "buffers",
        &format!("q = {low:.2}, words = \"buffers {low:.2} times as deep\""),
        &format!("q = {high:.2}, words = \"buffers {high:.2} times as deep\""),
        format!(
            "losses of {seen} of {n} show a full queue; {low:.2} to {high:.2} times the \
             best-fitting buffers reproduce loss and time equally well"
        ),
    );
    match ends.loss {
        Some([low, high]) => tried(
            "random loss",
            &format!("l = {low:.2}, words = \"{low:.2} times the random loss\""),
            &format!("l = {high:.2}, words = \"{high:.2} times the random loss\""),
            format!(
                "{low:.2} to {high:.2} times the best-fitting loss reproduces loss and time equally well"
            ),
        ),
        None => tried(
            "random loss",
            "words = \"no random loss\"",
            &format!(
                "k = {:.6}, words = \"random loss of {:.3} %\"",
                ends.unseen,
                ends.unseen * 100.0
            ),
            format!(
                "none seen; {:.3} % would not show in this number of packets",
                ends.unseen * 100.0
            ),
        ),
    }
    if bounds > 0 {
        let why = format!(
            "{bounds} of {n} never filled their path; rates up to 4 times higher are tried"
        );
        tried(
            "rates beyond those seen",
            "words = \"the rates seen\"",
            "r = 4, words = \"4 times the rates seen\"",
            why,
        );
    }
    let mut also = |value: &str, text: String| {
        assumed.push(Assumed { value: value.to_owned(), text });
    };
    let untold = count(&|entry| entry.lost.is_none());
    if untold > 0 {
        also("loss", format!("none on {untold} of {n}: their logs do not record losses"));
    }
    also(
        "losses",
        "packets that were not lost to a full queue are lost independently of each other".into(),
    );
    also("return path", "a plain delay, or the ACK grid that was found; no loss of ACKs".into());
    also(
        "competing traffic",
        "none: its effects are contained in the measured rate and losses".into(),
    );
    let bound = MOST_BYTES / 1_000_000;
    let cut = if cut > 0 { format!("; {cut} of {n} cut at {bound} MB") } else { String::new() };
    also("object size", format!("the bytes each connection delivered in the capture{cut}"));
    (text, assumed)
}

impl Paths {
    /// Creates the population; `about` describes the connections. `None` if there are none.
    pub fn of(entries: &[Entry], about: &str, ends: &Ends) -> Option<Paths> {
        let all = |of: &dyn Fn(&Entry) -> f64| range(entries.iter().map(of).collect());
        let (rtt_ms, rate_mbps) = (all(&|entry| entry.rtt_ms)?, all(&|entry| entry.rate_mbps)?);
        let (assumptions, assumed) = assumptions(entries, ends);
        let mut toml = format!(
            "schema = 1\nname = \"your paths\"\nversion = \"1\"\nabout = {}\n\n\
             [[source]]\nvalue = \"rtt, rate_down, buffer, loss, size\"\nstatus = \"D\"\n\
             ref = \"the captures, as docs/replay.md says\"\n{assumptions}",
            quoted(about)
        );
        let clusters = clusters(entries);
        let (mut left, mut names) = (1.0, Vec::<String>::new());
        for (index, members) in clusters.iter().enumerate() {
            let share = members.len() as f64 / entries.len() as f64;
            // The last weight is the remainder, so the weights sum to 1 despite rounding.
            let weight = if index + 1 == clusters.len() { left } else { share };
            left -= weight;
            let mut name = name(members, index);
            if name.is_empty() || names.contains(&name) {
                name = format!("{name} ({})", index + 1);
            }
            group(&mut toml, &name, weight, members);
            names.push(name);
        }
        let mut grids: Vec<(f64, usize)> = Vec::new();
        for period in entries.iter().filter_map(grid) {
            match grids.iter_mut().find(|(known, _)| known.total_cmp(&period).is_eq()) {
                Some((_, count)) => *count += 1,
                None => grids.push((period, 1)),
            }
        }
        Some(Paths {
            toml,
            assumed,
            connections: entries.len(),
            mean_bytes: entries.iter().map(size).sum::<f64>() / entries.len() as f64,
            rtt_ms,
            rate_mbps,
            buffer_ms: range(entries.iter().filter_map(|entry| entry.full_ms).collect()),
            loss: all(&|entry| entry.fit().loss)?,
            lower_bounds: entries.iter().filter(|entry| entry.lower_bound).count(),
            grids,
        })
    }
}
