//! Expands scenarios into cells: one per combination of values, with parsed path, flows and times.

use crate::battery::Battery;
use crate::effort::Effort;
use crate::schema::{Criterion, EcnField, Flow, Judge, LIES, Scenario, text_of};
use firstflight::Nanos;
use firstflight_lab::flows::{App, Lie};
use firstflight_lab::{Hosts, NamedArm, hosts_of_tcp, nearest, parse_arms, size};
use firstflight_path::random::normal;
use firstflight_path::{Codepoint, Error, Path};
use firstflight_sim::nada::Params;

/// One flow of a cell.
#[derive(Clone, Debug)]
pub struct PlannedFlow {
    /// The sender's arm; `None` for the evaluated algorithm or its baseline.
    pub arm: Option<NamedArm>,
    /// Name in rules.
    pub role: String,
    /// Start time, before the random delay.
    pub start: Nanos,
    /// Maximum random delay of the start; `None` is one round trip.
    pub spread: Option<Nanos>,
    /// Stop time, if before the end of the cell.
    pub stop: Option<Nanos>,
    /// Traffic.
    pub app: App,
    /// Distribution of a random size, whose mean is the size in `app`.
    pub sizes: Option<LogNormal>,
    /// Extra RTT on top of the path's.
    pub rtt_extra: Nanos,
    /// Changes of its propagation delay, replacing the cell's: start time and additional delay.
    pub steps: Vec<(Nanos, Nanos)>,
    /// Its ACKs are released at multiples of this interval.
    pub ack_batch: Nanos,
    /// Maximum jitter of its ACKs.
    pub ack_jitter: Nanos,
    /// Its ECN codepoint, if it differs from the path's.
    pub ecn: Option<Codepoint>,
    /// Flow queues treat it and all other flows in the tunnel as one flow.
    pub tunnel: bool,
    /// Its data travels in the reverse direction.
    pub reverse: bool,
    /// Its receiver reports no marks.
    pub hides_marks: bool,
    /// Other false claims of its receiver.
    pub lie: Option<Lie>,
    /// Its sender skips one packet number in this many, on average.
    pub skips: Option<u64>,
}

/// Lognormally distributed sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogNormal {
    /// Mean of the logarithm of bytes.
    pub mu: f64,
    /// Its standard deviation.
    pub sigma: f64,
}

impl LogNormal {
    /// Parses `MU:SIGMA`.
    fn parse(text: &str) -> Option<LogNormal> {
        let (mu, sigma) = text.split_once(':')?;
        let number = |text: &str, most: f64| {
            text.parse::<f64>().ok().filter(|number| (0.0..=most).contains(number))
        };
        Some(LogNormal { mu: number(mu, 20.0)?, sigma: number(sigma, 3.0)? })
    }

    /// The mean size, bytes.
    pub fn mean(self) -> u64 {
        libm::exp(self.mu + self.sigma * self.sigma / 2.0) as u64
    }

    /// The size for a random draw, bytes: at least one, and at most a thousand times the mean.
    pub fn size(self, draw: u64) -> u64 {
        let size = libm::exp(self.mu + self.sigma * normal(draw)) as u64;
        size.clamp(1, self.mean().saturating_mul(1000).max(1))
    }
}

/// One scenario with one set of values.
#[derive(Clone, Debug)]
pub struct Cell {
    /// `5.1.3/grid:0.25bdp,8`.
    pub id: String,
    /// Index of its criterion in the battery.
    pub criterion: usize,
    /// Index of its scenario there.
    pub scenario: usize,
    /// Its values, as shown in its name.
    pub values: Vec<String>,
    /// The path.
    pub path: Path,
    /// Simulated time.
    pub time: Nanos,
    /// Flows.
    pub flows: Vec<PlannedFlow>,
    /// Event from which `t90_s` and `overshoot` are measured.
    pub event: Option<Nanos>,
    /// Changes of the propagation delay of all flows: start time and additional delay.
    pub steps: Vec<(Nanos, Nanos)>,
    /// Transport, packet sizes and timers of the hosts.
    pub host: Hosts,
    /// Role whose flows are also run alone.
    pub solo: Option<String>,
    /// Each packet is delayed by a random time of up to one packet time.
    pub phase: bool,
    /// Number of seeds.
    pub seeds: u32,
    /// Its rules.
    pub judges: Vec<Judge>,
    /// Index of the previous cell in the sweep.
    pub before: Option<usize>,
}

impl Cell {
    /// Description of the scenario; the criterion's title if it has none.
    pub(crate) fn about<'a>(&self, battery: &'a Battery) -> &'a str {
        let criterion = &battery.criteria[self.criterion];
        let scenario = &criterion.scenario[self.scenario];
        if scenario.about.is_empty() { &criterion.title } else { &scenario.about }
    }

    /// Path, number of flows and description.
    pub(crate) fn place(&self, battery: &Battery) -> String {
        let flows = match self.flows.len() {
            1 => String::new(),
            flows => format!(", {flows} flows"),
        };
        format!("{}{flows}: {}", self.path, self.about(battery))
    }

    /// Start of the last flow that stays to the end; both horizons begin there.
    pub fn newcomer(&self) -> Nanos {
        let stays = self.flows.iter().filter(|flow| flow.stop.is_none());
        stays.map(|flow| flow.start).max().unwrap_or_default()
    }

    /// Whether a rule compares with a run in which all receivers are honest.
    pub(crate) fn is_paired(&self) -> bool {
        self.judges.iter().any(|judge| crate::metrics::needs_honest(&judge.metric))
    }

    /// Whether a receiver makes false claims.
    pub(crate) fn is_lied_to(&self) -> bool {
        self.flows.iter().any(|flow| flow.lie.is_some())
    }

    /// Number of runs for one seed: algorithm, baseline, and the runs that their rules compare them with.
    pub(crate) fn runs(&self) -> u64 {
        2 + u64::from(self.solo.is_some()) + 2 * u64::from(self.is_paired())
    }

    /// The longest idle round trip of any flow.
    pub fn rtt(&self) -> Nanos {
        let longest =
            |steps: &[(Nanos, Nanos)]| steps.iter().map(|(_, extra)| extra.0).max().unwrap_or(0);
        let of_flow = |flow: &PlannedFlow| flow.rtt_extra.0 + longest(&flow.steps);
        let extra = self.flows.iter().map(of_flow).max().unwrap_or(0);
        Nanos(self.path.rtt() + extra + longest(&self.steps))
    }
}

/// Cells of these criteria at this effort, in order.
///
/// # Errors
/// One line that names the scenario and the cell.
pub fn cells(battery: &Battery, criteria: &[usize], effort: Effort) -> Result<Vec<Cell>, Error> {
    let mut all: Vec<Cell> = Vec::new();
    for index in criteria {
        let criterion = &battery.criteria[*index];
        for (place, scenario) in criterion.scenario.iter().enumerate() {
            let mut before = None;
            for values in combinations(battery, scenario, effort) {
                let name: Vec<String> = values.label();
                let id = format!("{}/{}{}", criterion.prefix(), scenario.id, suffix(&name));
                let cell = read(criterion, scenario, &values)
                    .map_err(|bad| Error::new(format!("cell {id}: {bad}")))?;
                let seeds = effort.seeds(scenario.seeds);
                let cell = Cell { id, criterion: *index, scenario: place, seeds, before, ..cell };
                before = Some(all.len());
                all.push(cell);
            }
        }
    }
    Ok(all)
}

fn suffix(name: &[String]) -> String {
    if name.is_empty() { String::new() } else { format!(":{}", name.join(",")) }
}

/// Values of a cell by name, and those shown in its name.
#[derive(Clone, Debug, Default)]
struct Values {
    all: Vec<(String, String)>,
    shown: Vec<String>,
}

impl Values {
    fn label(&self) -> Vec<String> {
        self.shown.clone()
    }

    fn with(&self, name: &str, value: &str) -> Values {
        let mut new = self.clone();
        new.all.push((name.to_owned(), value.to_owned()));
        new.shown.push(value.to_owned());
        new
    }

    /// The text with every `$name` replaced by its value.
    fn fill(&self, text: &str) -> Result<String, Error> {
        let mut out = String::new();
        let mut parts = text.split('$');
        out.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let end = part
                .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
                .unwrap_or(part.len());
            let (name, rest) = part.split_at(end);
            let value = self.all.iter().find(|(known, _)| known == name);
            let value = value.ok_or_else(|| Error::new(format!("`${name}` has no value")))?;
            out.push_str(&value.1);
            out.push_str(rest);
        }
        Ok(out)
    }
}

/// Key of the name of a cell in a grid or list, which is shown in place of its values.
const NAME: &str = "name";

fn combinations(battery: &Battery, scenario: &Scenario, effort: Effort) -> Vec<Values> {
    let tables = match &scenario.grid {
        Some(grid) => battery.grid(grid),
        None => &scenario.cells,
    };
    let quick = effort == Effort::Quick;
    let mut all: Vec<Values> = tables
        .iter()
        .map(|table| {
            let mut values = Values::default();
            for (key, value) in table {
                let text = text_of(value).unwrap_or_default();
                if key != NAME {
                    values.all.push((key.clone(), text.clone()));
                }
                if key == NAME || !table.contains_key(NAME) {
                    values.shown.push(text);
                }
            }
            values
        })
        .collect();
    if let Some(names) = scenario.quick.get("cell").filter(|_| quick) {
        let keeps =
            |values: &Values| names.iter().filter_map(text_of).any(|name| values.shown[0] == name);
        all.retain(keeps);
    }
    if all.is_empty() {
        all.push(Values::default());
    }
    for (name, given) in &scenario.sweep {
        let fewer = scenario.quick.get(name).filter(|_| quick);
        let texts: Vec<String> = fewer.unwrap_or(given).iter().filter_map(text_of).collect();
        all = all
            .iter()
            .flat_map(|values| texts.iter().map(|text| values.with(name, text)))
            .collect();
    }
    all
}

/// The maximum of [`firstflight_lab::scenario::rtt_jitter`].
const MOST_RTT_JITTER: u64 = 500_000;

fn read(criterion: &Criterion, scenario: &Scenario, values: &Values) -> Result<Cell, Error> {
    let time = |text: &str| -> Result<Nanos, Error> {
        let text = values.fill(text)?;
        size::time(&text).map_err(|bad| Error::new(format!("`{text}`: {bad}")))
    };
    let maybe = |text: &Option<String>| text.as_deref().map(time).transpose();
    let path = Path::parse(&values.fill(&scenario.path)?)?;
    // With the largest random addition to the RTT.
    path.clone().with_rtt(path.rtt() + MOST_RTT_JITTER).check()?;
    let end = time(&scenario.time)?;
    let mut flows = Vec::new();
    for flow in &scenario.flow {
        flows.extend(read_flow(flow, values, &path, end)?);
    }
    let steps = scenario
        .rtt_steps
        .as_ref()
        .map_or(Ok(Vec::new()), |text| read_steps(&values.fill(text)?, path.rtt()))?;
    let hosts = scenario.transport.as_deref();
    let host = hosts.map_or(Ok(Hosts::default()), |text| read_hosts(&values.fill(text)?))?;
    let judges = scenario.judge.iter().filter(|judge| {
        judge.at.is_empty() || judge.at.iter().any(|value| values.shown.contains(value))
    });
    let everywhere = criterion.everywhere;
    debug_assert!(!everywhere, "a criterion that looks everywhere has no scenarios");
    Ok(Cell {
        id: String::new(),
        criterion: 0,
        scenario: 0,
        values: values.label(),
        path,
        time: end,
        flows,
        event: maybe(&scenario.event)?,
        steps,
        host,
        solo: scenario.solo.clone(),
        phase: !scenario.phase_off,
        seeds: 0,
        judges: judges.cloned().collect(),
        before: None,
    })
}

fn read_flow(
    flow: &Flow,
    values: &Values,
    path: &Path,
    end: Nanos,
) -> Result<Vec<PlannedFlow>, Error> {
    let time = |text: &str| -> Result<Nanos, Error> {
        let text = values.fill(text)?;
        size::time(&text).map_err(|bad| Error::new(format!("`{text}`: {bad}")))
    };
    let maybe = |text: &Option<String>| text.as_deref().map(time).transpose();
    let count = values.fill(&text_of(&flow.count).unwrap_or_default())?;
    let count = size::count(&count, 0..=10_000, "flows")
        .map_err(|bad| Error::new(format!("count `{count}`: {bad}")))?;
    let who = values.fill(&flow.who)?;
    let arm = if flow.is_seat() { None } else { parse_arms(&who)?.into_iter().next() };
    let rtt = maybe(&flow.rtt)?.map_or(path.rtt(), |rtt| rtt.0);
    let rtt_extra = rtt
        .checked_sub(path.rtt())
        .map(Nanos)
        .ok_or_else(|| Error::new("a flow's `rtt` is below the path's"))?;
    let steps = flow
        .rtt_steps
        .as_ref()
        .map_or(Ok(Vec::new()), |text| read_steps(&values.fill(text)?, rtt))?;
    let (start, apart) = (time(&flow.start)?, time(&flow.apart)?);
    let stop = maybe(&flow.stop)?;
    let (app, sizes) = read_app(&values.fill(&flow.app)?, Nanos(end.0.saturating_sub(start.0)))?;
    let ack_batch = maybe(&flow.ack_batch)?.unwrap_or_default();
    let ack_jitter = maybe(&flow.ack_jitter)?.unwrap_or_default();
    let spread = maybe(&flow.spread)?;
    let ecn = flow.ecn.map(|field| match field {
        EcnField::Off => Codepoint::NotEct,
        EcnField::Ect0 => Codepoint::Ect0,
        EcnField::Ect1 => Codepoint::Ect1,
    });
    let lie = flow.lie.as_deref().map(|lie| read_lie(&values.fill(lie)?)).transpose()?;
    let skips = flow.skips.as_ref().map(|skips| {
        let skips = values.fill(&text_of(skips).unwrap_or_default())?;
        size::count(&skips, 0..=1_000_000, "packets")
            .map_err(|bad| Error::new(format!("skips `{skips}`: {bad}")))
    });
    let skips = skips.transpose()?.filter(|skips| *skips > 0);
    let one = |place: u64| PlannedFlow {
        arm: arm.clone(),
        role: flow.role().to_owned(),
        start: Nanos(start.0 + apart.0 * place),
        spread,
        stop,
        app: app.clone(),
        sizes,
        rtt_extra,
        steps: steps.clone(),
        ack_batch,
        ack_jitter,
        ecn,
        tunnel: flow.tunnel,
        reverse: flow.reverse,
        hides_marks: flow.hides_marks,
        lie,
        skips,
    };
    Ok((0..count).map(one).collect())
}

/// A receiver reneges at most five times a second.
const RENEGES_EVERY: Nanos = Nanos(200_000_000);

fn read_lie(text: &str) -> Result<Lie, Error> {
    Ok(match text {
        "optimistic" => Lie::Optimistic,
        "duplicates" => Lie::Duplicates,
        "reneges" => Lie::Reneges(RENEGES_EVERY),
        "delays" => Lie::Delays,
        _ => {
            let near = nearest(text, LIES.iter().copied());
            let near = near.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
            return Err(Error::new(format!("lie `{text}`{near}; allowed: {}", LIES.join(", "))));
        }
    })
}

fn read_hosts(text: &str) -> Result<Hosts, Error> {
    match text.split_once(':') {
        Some(("tcp", preset)) => hosts_of_tcp(preset),
        None if text == "quic" => Ok(Hosts::default()),
        _ => Err(Error::new(format!("transport `{text}`: allowed: quic, tcp:PRESET"))),
    }
}

/// Maximum frame rate of a media flow, per second.
const MOST_FRAMES: u64 = 240;

/// Parses `BYTES:RATE`, for a flow that lasts `time`.
fn read_frames(text: &str, time: Nanos) -> Option<App> {
    let (bytes, rate) = text.split_once(':')?;
    let frame = size::parse(bytes).ok().filter(|bytes| *bytes <= 10_000_000)?;
    let rate = rate.parse().ok().filter(|rate| (1..=MOST_FRAMES).contains(rate))?;
    let every = 1_000_000_000 / rate;
    let frames = (time.0 / every).max(1);
    Some(App::Video { bytes: frame * frames, first: frame, write: frame, every: Nanos(every) })
}

/// Parses `media:nada` or `media:nada:MOST`, for a flow that lasts `time`.
fn read_media(text: &str, time: Nanos) -> Option<App> {
    let rates = match text.split(':').collect::<Vec<_>>().as_slice() {
        ["media", "nada"] => Params::default(),
        ["media", "nada", most] => {
            let max = Path::parse(&format!("rate={most},rtt=1s")).ok()?.rate_bps();
            Params { max, ..Params::default() }
        }
        _ => return None,
    };
    (rates.min..=100_000_000).contains(&rates.max).then_some(App::Nada { rates, run: time })
}

/// Parses the traffic of a flow that lasts `time`, and the distribution of its size if that is random.
fn read_app(text: &str, time: Nanos) -> Result<(App, Option<LogNormal>), Error> {
    if text == "endless" {
        return Ok((App::Endless, None));
    }
    if let Some(given) = text.strip_prefix("lognormal:") {
        let sizes = LogNormal::parse(given).ok_or_else(|| {
            Error::new(format!("`{text}`: allowed: lognormal:MU:SIGMA, 0 to 20 and 0 to 3"))
        })?;
        return Ok((App::Bulk(sizes.mean()), Some(sizes)));
    }
    if let Some(given) = text.strip_prefix("frames:") {
        let app = read_frames(given, time).ok_or_else(|| {
            Error::new(format!("`{text}`: allowed: frames:BYTES:RATE, 1 to {MOST_FRAMES} a second"))
        })?;
        return Ok((app, None));
    }
    if text.starts_with("media:") {
        let app = read_media(text, time).ok_or_else(|| {
            Error::new(format!(
                "`{text}`: allowed: media:nada, media:nada:MOST with 150kbit to 100Mbit"
            ))
        })?;
        return Ok((app, None));
    }
    let bytes = size::parse(text).map_err(|bad| Error::new(format!("`{text}`: {bad}")))?;
    Ok((App::Bulk(bytes), None))
}

/// Parses `TIME:RTT/TIME:RTT` into additional delays over an RTT of `least` ns; no RTT may be below it.
fn read_steps(text: &str, least: u64) -> Result<Vec<(Nanos, Nanos)>, Error> {
    let bad = || {
        Error::new(format!(
            "rtt_steps={text}: allowed: TIME:RTT/TIME:RTT, no RTT below the initial one"
        ))
    };
    text.split('/')
        .map(|step| {
            let (at, rtt) = step.split_once(':').ok_or_else(bad)?;
            let [at, rtt] = [at, rtt].map(|text| size::time(text).map_err(|_| bad()));
            Ok((at?, Nanos(rtt?.0.checked_sub(least).ok_or_else(bad)?)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstflight_path::{Purpose, Stream};

    #[test]
    fn sizes_have_the_mean_and_the_tails_of_their_source() {
        // heistp/ccafct: P5 65 536, mean 645 683, P95 2 097 152.
        let sizes = LogNormal::parse("12.823:1.0534").expect("two numbers");
        let draws = Stream::new(1, 0, Purpose::Size);
        let mut drawn: Vec<u64> = (0..20_000).map(|k| sizes.size(draws.value(k))).collect();
        drawn.sort_unstable();
        let mean = drawn.iter().sum::<u64>() / 20_000;
        for (what, is, should) in [
            ("mean", mean, 645_683),
            ("stated mean", sizes.mean(), 645_683),
            ("P5", drawn[1_000], 65_536),
            ("P95", drawn[19_000], 2_097_152),
        ] {
            let off = is.abs_diff(should) * 100 / should;
            assert!(off <= 5, "{what}: {is} instead of {should}");
        }
        assert_eq!(LogNormal::parse("30:1").or(LogNormal::parse("12")), None);
    }
}
