//! The table of several flows at a time.

use crate::output::{Output, names};
use crate::results::{lay_out, sheet};
use crate::rows::Rows;
use crate::sheet::Sheet;
use crate::terminal::{QUIET, TITLE, width, wrap};
use firstflight_lab::Error;
use firstflight_lab::sharing::{SharedFlowRow, Sharing, SharingPlan};
use firstflight_lab::table::figure;

impl Output for Sharing {
    fn text(&self) -> String {
        as_text(self)
    }

    fn sheets(&self) -> Vec<Sheet> {
        vec![sheet(&title(self), &self.table())]
    }

    /// A row per flow; `trial_arm` is the arm of its trial, which cross traffic has another one of.
    fn rows(&self) -> Rows {
        let mut all = Rows::new(&["trial_arm"]);
        all.names.extend(Rows::names_of(SharedFlowRow::MEASURES));
        for trial in &self.rows {
            let of = [("trial_arm", trial.arm.as_str().into())];
            all.extend(&of, Rows::of(SharedFlowRow::MEASURES, &trial.flows));
        }
        all
    }

    fn json(&self) -> Result<String, Error> {
        Ok(self.to_json())
    }
}

/// Names of the columns, for people and in data.
pub(crate) fn columns(plan: &SharingPlan) -> (Vec<String>, Vec<String>) {
    let mut plan = plan.clone();
    plan.plan.arms.clear();
    let none = Sharing { plan, rows: Vec::new(), warnings: Vec::new() };
    (names(&none.sheets()), none.rows().names)
}

/// The path, by its name if it has one.
fn title(sharing: &Sharing) -> String {
    let row = sharing.plan.plan.resolved();
    let name = row.path_name.filter(|name| *name != row.path);
    name.map_or_else(|| row.path.clone(), |name| format!("{name}: {}", row.path))
}

/// The table with what it is about.
pub(crate) fn as_text(sharing: &Sharing) -> String {
    let SharingPlan { plan, flows, cross, apart, app_name, .. } = &sharing.plan;
    let row = plan.resolved();
    let queue = row.queue_bytes.map_or("unlimited queue".into(), |bytes| {
        format!("queue {}", figure(bytes as f64, "bytes"))
    });
    let title = title(sharing);
    let against = match cross.len() {
        0 => String::new(),
        _ => format!(
            " against {}",
            cross.iter().map(|arm| arm.label.as_str()).collect::<Vec<_>>().join(", ")
        ),
    };
    let repeats = if plan.repeat > 1 {
        format!(", median of {} trials (smallest..largest)", plan.repeat)
    } else {
        String::new()
    };
    let about = format!(
        "{flows} {} of an arm at a time{against}, {} ms apart, {app_name}, {} each, at {} Mbit/s, RTT {} ms, {queue}; {}, {}, initial window {} packets, seed {}{repeats}",
        if *flows == 1 { "flow" } else { "flows" },
        apart.0 as f64 / 1e6,
        figure(row.bytes as f64, "bytes"),
        row.rate_mbps,
        row.rtt_ms,
        row.transport,
        row.detection,
        row.iw,
        row.seed,
    );
    format!(
        "{TITLE}{title}{TITLE:#}\n\
         {QUIET}{}{QUIET:#}\n\
         {}\n\
         {QUIET}* best of its column; shares are counted from the last start to the first end{QUIET:#}\n",
        wrap(&about, 0, width()),
        lay_out(&sharing.table()),
    )
}
