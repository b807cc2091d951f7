//! Runs a battery: all cells with all seeds, the algorithm and the baseline in the same role.

use crate::battery::Battery;
use crate::cell::{Cell, cells};
use crate::declare::{Checked, Declaration};
use crate::effort::Effort;
use crate::judge::{Readings, settle, together};
use crate::metric::read;
use crate::report::{CellRow, CriterionRow, Report, Verdict, deciding};
use crate::run::{Run, Seat, expected_packets, refusal};
use crate::schema::{Answer, Criterion, Judge};
use firstflight::arm::SenderParams;
use firstflight_lab::testbed::sim;
use firstflight_lab::{NamedArm, Sender, Testbed};
use firstflight_path::Error;
use rayon::prelude::*;
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// An evaluation to run, with its settings.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// The battery.
    pub battery: Battery,
    /// Indices of the criteria to run, see [`Battery::select`].
    pub criteria: Vec<usize>,
    /// The evaluated algorithm.
    pub algorithm: NamedArm,
    /// The baseline, run in the same scenarios.
    pub baseline: NamedArm,
    /// Amount of work to run.
    pub effort: Effort,
    /// The first seed.
    pub seed: u64,
    /// The author's declarations about the algorithm.
    pub declaration: Declaration,
    /// Testbed. Only the simulator runs all cells; others leave out those that they cannot run.
    pub testbed: &'static dyn Testbed,
}

/// Amount of work.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Job {
    /// Cells.
    pub cells: u32,
    /// Distinct plans; cells of several criteria can share one.
    pub plans: u32,
    /// Runs.
    pub runs: u64,
    /// Maximum number of data packets, if every path is always full.
    pub packets: u64,
    /// Total path time of all runs, s.
    pub seconds: f64,
}

/// Cells that differ only in their rules, run once.
struct Group {
    cells: Vec<usize>,
    seeds: u32,
}

/// Values of one seed of a group: the algorithm's and the baseline's, for each cell and each rule.
type Values = Vec<Vec<[Option<f64>; 2]>>;

/// A seed of one cell, with the values of each rule.
type OneSeed = (u64, Vec<[Option<f64>; 2]>);

/// Values of one seed. In each cell, the values of the `everywhere` rules follow those of the cell's own rules.
struct Seeded {
    seed: u64,
    values: Values,
}

/// Failures of the algorithm: for each, the number of runs and the first cell and seed.
#[derive(Default)]
struct Troubles {
    found: Mutex<BTreeMap<String, (u32, String)>>,
    end: AtomicBool,
}

/// Cells that are not run: for each reason, the number of cells per criterion.
type LeftOut = BTreeMap<String, BTreeMap<usize, usize>>;

/// Number of runs with the same failure after which the evaluation ends.
const ENOUGH: u32 = 10;

impl Troubles {
    fn add(&self, what: &str, cell: &str, seed: u64, ends: bool) {
        let mut found = self.found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let place = format!("{cell} --seed {seed}");
        let known = found.entry(what.to_owned()).or_insert((0, place.clone()));
        known.0 += 1;
        // The smallest place, so that the text does not depend on the order of threads.
        if place < known.1 {
            known.1 = place;
        }
        if ends || known.0 >= ENOUGH {
            self.end.store(true, Ordering::Relaxed);
        }
    }

    fn lines(self, label: &str) -> Vec<String> {
        let found = self.found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let line =
            |(what, (_, place)): (String, (u32, String))| format!("{label} {what}: --cell {place}");
        found.into_iter().map(line).collect()
    }
}

impl Evaluation {
    fn runs_of(&self, index: usize) -> bool {
        let criterion = &self.battery.criteria[index];
        !self.declaration.excludes.contains(&criterion.criterion) && criterion.not_run.is_none()
    }

    /// The cells to run.
    ///
    /// # Errors
    /// One line that names a cell with a mistake in it.
    pub fn cells(&self) -> Result<Vec<Cell>, Error> {
        self.sorted().map(|(run, _)| run)
    }

    /// The cells to run, and those left out.
    fn sorted(&self) -> Result<(Vec<Cell>, LeftOut), Error> {
        let runs: Vec<usize> =
            self.criteria.iter().copied().filter(|index| self.runs_of(*index)).collect();
        let (mut cells, left_out) = self.carried(cells(&self.battery, &runs, self.effort)?);
        // The `everywhere` rules follow a cell's own rules.
        let everywhere: Vec<Judge> = runs
            .iter()
            .map(|index| &self.battery.criteria[*index])
            .filter(|criterion| criterion.everywhere)
            .flat_map(|criterion| criterion.judge.clone())
            .collect();
        for cell in &mut cells {
            cell.judges.extend(everywhere.clone());
        }
        Ok((cells, left_out))
    }

    /// Separates the cells that the testbed can run from the others.
    fn carried(&self, all: Vec<Cell>) -> (Vec<Cell>, LeftOut) {
        let (mut run, mut left_out) = (Vec::new(), LeftOut::new());
        if self.is_simulated() {
            return (all, left_out);
        }
        let mut places: Vec<Option<usize>> = Vec::with_capacity(all.len());
        for mut cell in all {
            let arms = [&self.algorithm, &self.baseline];
            if let Some(why) = refusal(&cell, self.testbed, arms) {
                let of = left_out.entry(why.to_string()).or_default();
                *of.entry(cell.criterion).or_default() += 1;
                places.push(None);
            } else {
                cell.before = cell.before.and_then(|before| places[before]);
                places.push(Some(run.len()));
                run.push(cell);
            }
        }
        (run, left_out)
    }

    pub(crate) fn is_simulated(&self) -> bool {
        self.testbed.info().name == sim::BED.info().name
    }

    /// Amount of work.
    ///
    /// # Errors
    /// Errors of [`Evaluation::cells`].
    pub fn job(&self) -> Result<Job, Error> {
        let cells = self.cells()?;
        let groups = groups(&cells);
        let mut job =
            Job { cells: cells.len() as u32, plans: groups.len() as u32, ..Job::default() };
        for group in &groups {
            let cell = &cells[group.cells[0]];
            let runs = u64::from(group.seeds) * cell.runs();
            job.runs += runs;
            job.packets += runs * expected_packets(cell);
            job.seconds += runs as f64 * cell.time.0 as f64 / 1e9;
        }
        Ok(job)
    }

    fn check(&self) -> Result<(), Error> {
        self.testbed.available()?;
        if !self.is_simulated() {
            return Ok(());
        }
        for arm in [&self.algorithm, &self.baseline] {
            let (Sender::Arm(parts) | Sender::Own { rest: parts, .. }) = &arm.sender else {
                return Err(Error::new(format!(
                    "arm `{}`: the simulator evaluates only our own arms; `--on quic` and `--on linux` run those of stacks and of the kernel",
                    arm.label
                )));
            };
            let SenderParams { detection, early, acks, ecn, rto_max, .. } = parts.sender;
            let hosts = detection.is_some() || early.is_some() || rto_max.is_some();
            if hosts || acks.is_some() || ecn.is_some() {
                return Err(Error::new(format!(
                    "arm `{}`: `detection`, `early`, `rtomax`, `acks` and `ecn` cannot be set, because flows that share a path share their hosts",
                    arm.label
                )));
            }
        }
        Ok(())
    }

    /// Whether the algorithm is its own baseline. The baseline's runs then need other start times and phases, or
    /// nothing would differ.
    fn is_itself(&self) -> bool {
        self.algorithm.full() == self.baseline.full()
    }

    /// Checks the declaration with short runs. An algorithm that panics there also panics in a cell, which reports it.
    fn checked(&self) -> Result<Checked, Error> {
        let declared = &self.declaration;
        let looked = self
            .is_simulated()
            .then(|| catch_unwind(AssertUnwindSafe(|| declared.checked(&self.algorithm))));
        match looked {
            Some(Ok(Ok(checked))) => Ok(checked),
            Some(Ok(Err(error))) if !is_broken(&self.algorithm) => Err(error),
            _ => Ok(Checked { unchecked: declared.unlooked(), ..Checked::default() }),
        }
    }

    fn notes(&self, left_out: &LeftOut) -> Vec<String> {
        let mut notes = vec![
            "RFC 9743 gives no thresholds and is not a checklist: a concern is a finding to explain, and a report without concerns is not an approval.".to_owned(),
        ];
        if self.is_itself() {
            notes.push("The algorithm is the baseline: with the same seeds, the baseline's runs have other start times and phases.".into());
        }
        notes.extend(self.declaration.sentence());
        if self.effort == Effort::Quick {
            notes.push("Quick: five seeds cannot decide rules that are tested together with thousands of others. Marked rows have p < 0.05 individually, some of them by chance.".into());
        }
        for (why, of) in left_out {
            notes.push(format!("{} cells are left out: {why}.", of.values().sum::<usize>()));
        }
        if !self.is_simulated() {
            notes.push(format!(
                "On `{}` individual packets are not recorded: `backoff` and measures that the link does not know are not judged.",
                self.testbed.info().name
            ));
        }
        notes
    }
}

/// Groups cells with the same plan.
fn groups(cells: &[Cell]) -> Vec<Group> {
    let mut by_plan: BTreeMap<String, usize> = BTreeMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        let Cell { path, time, flows, event, steps, host, solo, phase, .. } = cell;
        let paired = cell.is_paired();
        let plan = format!(
            "{path} {time:?} {flows:?} {event:?} {steps:?} {host:?} {solo:?} {phase} {paired}"
        );
        let place = *by_plan.entry(plan).or_insert_with(|| {
            groups.push(Group { cells: Vec::new(), seeds: 0 });
            groups.len() - 1
        });
        groups[place].cells.push(index);
        groups[place].seeds = groups[place].seeds.max(cell.seeds);
    }
    groups
}

/// Runs an evaluation until it is complete or `stop` is set. `tick` is called after every seed of a plan with the
/// expected number of packets. The result does not depend on the number of threads.
///
/// # Errors
/// One line if an arm cannot be evaluated here, a file of the battery has a mistake, or the evaluation
/// is stopped before any run is finished.
pub fn evaluate(
    evaluation: &Evaluation,
    tick: &(impl Fn(u64) + Sync),
    stop: &AtomicBool,
) -> Result<Report, Error> {
    evaluation.check()?;
    let (cells, left_out) = evaluation.sorted()?;
    if cells.is_empty()
        && let Some((why, _)) = left_out.first_key_value()
    {
        return Err(Error::new(format!("no cell can be run: {why}")));
    }
    let groups = groups(&cells);
    let tasks: Vec<(usize, u32)> = groups
        .iter()
        .enumerate()
        .flat_map(|(group, plan)| (0..plan.seeds).map(move |seed| (group, seed)))
        .collect();
    let total = tasks.len();
    let troubles = Troubles::default();
    let checked = evaluation.checked()?;
    let contradictions = &checked.wrong;
    if !contradictions.is_empty() {
        // The results would belong to a different algorithm than the declared one.
        troubles.end.store(true, Ordering::Relaxed);
    }
    let done: Vec<Option<Seeded>> = tasks
        .par_iter()
        .map(|(group, seed)| {
            if stop.load(Ordering::Relaxed) || troubles.end.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let group = &groups[*group];
            let seeded = seeded(evaluation, &cells, group, *seed, &troubles)?;
            let cell = &cells[group.cells[0]];
            tick(expected_packets(cell) * cell.runs());
            Ok(seeded)
        })
        .collect::<Result<_, Error>>()?;
    let through = done.iter().filter(|one| one.is_some()).count();
    let ended = troubles.end.load(Ordering::Relaxed);
    let label = &evaluation.algorithm.label;
    let mut broken: Vec<String> =
        contradictions.iter().map(|what| format!("{label} {what}")).collect();
    broken.extend(troubles.lines(label));
    if through == 0 && total > 0 && broken.is_empty() {
        return Err(Error::new("stopped before any run was finished"));
    }
    let runs: u64 = tasks
        .iter()
        .zip(&done)
        .filter(|(_, done)| done.is_some())
        .map(|((group, _), _)| cells[groups[*group].cells[0]].runs())
        .sum();
    let partial = (through < total).then(|| {
        let why = match (ended, contradictions.is_empty()) {
            (true, true) => "ended because the algorithm is broken",
            (true, false) => "ended because the declaration is wrong",
            _ => "stopped",
        };
        format!("{why} after {through} of {total} seeds over all plans; rules with fewer than two seeds were not judged")
    });
    let mut per_cell: Vec<Vec<OneSeed>> = cells.iter().map(|_| Vec::new()).collect();
    for ((group, _), seeded) in tasks.iter().zip(done) {
        let Some(Seeded { seed, values }) = seeded else { continue };
        for (cell, values) in groups[*group].cells.iter().zip(values) {
            per_cell[*cell].push((seed, values));
        }
    }
    let (rows, tests, marked) = judged(&evaluation.battery, &cells, &per_cell);
    let criteria = criteria(evaluation, &cells, &rows, (&broken, &left_out));
    Ok(Report {
        firstflight: env!("CARGO_PKG_VERSION"),
        battery: "rfc9743",
        version: evaluation.battery.version.clone(),
        sha256: evaluation.battery.sha256.clone(),
        algorithm: evaluation.algorithm.label.clone(),
        algorithm_full: evaluation.algorithm.full(),
        baseline: evaluation.baseline.label.clone(),
        baseline_full: evaluation.baseline.full(),
        testbed: evaluation.testbed.info().name,
        effort: evaluation.effort.name(),
        seed: evaluation.seed,
        cells: cells.len() as u32,
        runs,
        tests,
        marked,
        notes: [evaluation.notes(&left_out), checked.notes()].concat(),
        partial,
        broken,
        criteria,
    })
}

/// First line of a panic's message.
fn said(thrown: &(dyn Any + Send)) -> String {
    let text = thrown.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| thrown.downcast_ref::<String>().cloned());
    text.unwrap_or_default().lines().next().unwrap_or_default().to_owned()
}

/// Whether a custom startup has reported that it is broken.
fn is_broken(arm: &NamedArm) -> bool {
    matches!(&arm.sender, Sender::Own { own, .. } if own.is_broken())
}

/// Runs one seed of a group: the algorithm, the baseline, and the role that is run alone.
fn seeded(
    evaluation: &Evaluation,
    cells: &[Cell],
    group: &Group,
    round: u32,
    troubles: &Troubles,
) -> Result<Option<Seeded>, Error> {
    let seed = evaluation.seed.wrapping_add(u64::from(round));
    let members = || group.cells.iter().map(|index| &cells[*index]);
    let cell = &cells[group.cells[0]];
    let watched = members().flat_map(|cell| &cell.judges);
    let sends = watched.into_iter().any(|judge| crate::metrics::needs_sends(&judge.metric));
    let bed = evaluation.testbed;
    let seat = Seat { sends, ..Seat::of(bed, &evaluation.algorithm, seed) };
    let ours = match catch_unwind(AssertUnwindSafe(|| Run::of(cell, seat))) {
        Ok(Ok(run)) => run,
        Ok(Err(error)) if is_broken(&evaluation.algorithm) => {
            troubles.add(&format!("broke ({error})"), &cell.id, seed, true);
            return Ok(None);
        }
        // A real stack may abandon a connection.
        Ok(Err(error)) if !evaluation.is_simulated() => {
            troubles.add(&format!("failed ({error})"), &cell.id, seed, false);
            return Ok(None);
        }
        Ok(Err(error)) => return Err(error),
        Err(thrown) => {
            troubles.add(&format!("panicked ({})", said(&*thrown)), &cell.id, seed, true);
            return Ok(None);
        }
    };
    let draws = u64::from(evaluation.is_itself());
    let rival = Seat { draws, arm: &evaluation.baseline, ..seat };
    let theirs = Run::of(cell, rival)?;
    // At high loss, this can happen by chance.
    let by_chance = cell.path.loss_ppb() >= 100_000_000;
    // A sender that believes a false receiver may send endlessly and deliver nothing; its rules measure that.
    let judged = !cell.is_lied_to();
    if ours.delivered() == 0 && theirs.delivered() > 0 && !by_chance && judged {
        let arm = &evaluation.baseline.label;
        troubles.add(&format!("delivered nothing, although {arm} did"), &cell.id, seed, false);
    }
    if ours.runaway && judged {
        let what = "sent more than eight times what the path carries and was stopped";
        troubles.add(what, &cell.id, seed, false);
    }
    let alone = cell.solo.as_deref().map(|role| {
        let seat = Seat { only: Some(role), ..Seat::of(bed, &evaluation.baseline, seed) };
        Run::of(cell, seat)
    });
    let alone = alone.transpose()?;
    let honest = |seat| {
        // All cells of a plan need the same runs.
        cell.is_paired()
            .then(|| Run::of(cell, Seat { honest: true, sends: false, ..seat }))
            .transpose()
    };
    let (ours, theirs) = ((ours, honest(seat)?), (theirs, honest(rival)?));
    let read = |paired: &_, judge: &Judge| read(paired, alone.as_ref(), judge);
    let values = members()
        .map(|cell| {
            cell.judges.iter().map(|judge| [read(&ours, judge), read(&theirs, judge)]).collect()
        })
        .collect();
    Ok(Some(Seeded { seed, values }))
}

/// Every rule of every cell, settled together; the number of relative rules; and the number of marked rows.
fn judged(
    battery: &Battery,
    cells: &[Cell],
    per_cell: &[Vec<OneSeed>],
) -> (Vec<Vec<CellRow>>, u32, u32) {
    let column = |cell: usize, judge: usize, who: usize| -> Vec<Option<f64>> {
        let seeds = cells[cell].seeds as usize;
        per_cell[cell].iter().take(seeds).map(|(_, values)| values[judge][who]).collect()
    };
    let mut rows: Vec<Vec<CellRow>> = Vec::with_capacity(cells.len());
    for (index, cell) in cells.iter().enumerate() {
        let mut own = Vec::new();
        for (place, judge) in cell.judges.iter().enumerate() {
            let twin = cell.before.and_then(|before| {
                let same = |other: &Judge| other.name() == judge.name() && other.rule == judge.rule;
                Some((before, cells[before].judges.iter().position(same)?))
            });
            let seeds = per_cell[index].iter().take(cell.seeds as usize).map(|(seed, _)| *seed);
            let queue = cell
                .path
                .queue_bytes()
                .map(|bytes| bytes as f64 * 8e3 / cell.path.link_bps().max(1) as f64);
            let readings = Readings {
                cell: &cell.id,
                place: cell.place(battery),
                judge,
                seeds: seeds.collect(),
                ours: column(index, place, 0),
                theirs: column(index, place, 1),
                before: twin.map_or(Vec::new(), |(cell, judge)| column(cell, judge, 0)),
                queue_ms: queue,
                rtt_s: cell.rtt().0 as f64 / 1e9,
            };
            own.push(readings.row());
        }
        rows.push(own);
    }
    let mut all: Vec<&mut CellRow> =
        rows.iter_mut().flatten().filter(|row| row.seeds >= 2).collect();
    let relative = |row: &&&mut CellRow| row.chance.is_some();
    let tests = all.iter().filter(relative).count() as u32;
    let marked = all.iter().filter(|row| row.marked).count() as u32;
    settle(&mut all);
    (rows, tests, marked)
}

fn criteria(
    evaluation: &Evaluation,
    cells: &[Cell],
    rows: &[Vec<CellRow>],
    (broken, left_out): (&[String], &LeftOut),
) -> Vec<CriterionRow> {
    let battery = &evaluation.battery;
    let everywhere: usize = evaluation
        .criteria
        .iter()
        .filter(|index| evaluation.runs_of(**index) && battery.criteria[**index].everywhere)
        .map(|index| battery.criteria[*index].judge.len())
        .sum();
    let own = |cell: usize| cells[cell].judges.len() - everywhere;
    let row = |index: &usize| {
        let criterion = &battery.criteria[*index];
        let of = |cell: &usize| criterion.everywhere || cells[*cell].criterion == *index;
        let judges: Vec<CellRow> = (0..cells.len())
            .filter(of)
            .flat_map(|cell| {
                let range =
                    if criterion.everywhere { own(cell)..rows[cell].len() } else { 0..own(cell) };
                rows[cell][range].to_vec()
            })
            .filter(|row| row.seeds >= 2)
            .collect();
        let refused = left_out.iter().find(|(_, of)| of.contains_key(index));
        let refused = refused.map(|(why, _)| why.as_str());
        finished(evaluation, criterion, cells, judges, (broken, refused))
    };
    evaluation.criteria.iter().map(row).collect()
}

/// The section about multipath transport.
const MULTIPATH: &str = "7.10";

/// A criterion with its rows.
fn finished(
    evaluation: &Evaluation,
    criterion: &Criterion,
    cells: &[Cell],
    judges: Vec<CellRow>,
    (broken, refused): (&[String], Option<&str>),
) -> CriterionRow {
    let covered = criterion.covers.as_deref().map(|kind| coverage(kind, cells));
    let found = together(judges.iter());
    let of_this = format!("--cell {}/", criterion.prefix());
    let declared = &evaluation.declaration;
    let several_paths = criterion.criterion == MULTIPATH && declared.multipath == Some(true);
    let (verdict, reason) = if declared.excludes.contains(&criterion.criterion) {
        (Verdict::NotApplicable, Some("excluded by the declaration".to_owned()))
    } else if several_paths {
        let why = "the algorithm is declared to send on several paths, which no run here does";
        (Verdict::NotRun, Some(why.to_owned()))
    } else if let Some(why) = &criterion.not_applicable {
        (Verdict::NotApplicable, Some(why.clone()))
    } else if let Some(why) = &criterion.not_run {
        (Verdict::NotRun, Some(why.clone()))
    } else if let Some(covered) = covered {
        match covered {
            Some(words) if broken.is_empty() => (Verdict::Pass, Some(words)),
            _ => (Verdict::NotRun, Some("no cell of this kind was run".into())),
        }
    } else if let Some(line) = broken.iter().find(|line| line.contains(&of_this)) {
        (Verdict::Concern, Some(line.clone()))
    } else if found == Verdict::Concern {
        (found, None)
    } else if criterion.answer == Some(Answer::Author) {
        (Verdict::Author, None)
    } else if judges.is_empty() {
        let why = if criterion.everywhere {
            "it uses the cells of other criteria, and none was run"
        } else {
            refused.unwrap_or("none of its cells was finished")
        };
        (Verdict::NotRun, Some(why.to_owned()))
    } else {
        (found, None)
    };
    let deciding = deciding(&judges, verdict);
    CriterionRow {
        section: criterion.criterion.clone(),
        title: criterion.title.clone(),
        strength: criterion.strength.clone(),
        source: criterion.source.clone(),
        about: criterion.about.clone(),
        verdict,
        reason,
        ours: criterion.ours.clone(),
        author: criterion.author.clone(),
        missing: criterion.missing.clone(),
        deciding,
        judges,
    }
}

/// Describes the range of the cells of a kind; `None` if there is none.
fn coverage(kind: &str, cells: &[Cell]) -> Option<String> {
    let fits = |cell: &&Cell| {
        let effects = cell.path.effects();
        let tail = effects.aqm.is_none() && effects.ecn.is_none();
        tail && (kind == "drop-tail" || effects.ge.is_none() && cell.path.loss_ppb() == 0)
    };
    let some: Vec<&Cell> = cells.iter().filter(fits).collect();
    let ends = |of: &dyn Fn(&Cell) -> f64| {
        let values = || some.iter().map(|cell| of(cell));
        (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max))
    };
    let (slow, fast) = ends(&|cell| cell.path.rate_bps() as f64 / 1e6);
    let (near, far) = ends(&|cell| cell.rtt().0 as f64 / 1e6);
    let queue = |cell: &Cell| {
        cell.path
            .queue_bytes()
            .map_or(0.0, |queue| queue as f64 / cell.path.bdp_bytes().max(1) as f64)
    };
    let (short, long) = ends(&queue);
    (!some.is_empty()).then(|| {
        format!(
            "evaluated in {} cells with {slow} to {fast} Mbit/s, RTTs of {near} to {far} ms and queues of {short:.2} to {long:.1} BDP",
            some.len()
        )
    })
}
