//! The table of several flows at a time.

use crate::terminal::{QUIET, TITLE, lay_out};
use firstflight_lab::sharing::{Sharing, SharingPlan};
use firstflight_lab::table::figure;

/// The table with what it is about.
pub(crate) fn as_text(sharing: &Sharing) -> String {
    let SharingPlan { plan, flows, cross, apart, app_name, .. } = &sharing.plan;
    let row = plan.resolved();
    let queue = row.queue_bytes.map_or("unlimited queue".into(), |bytes| {
        format!("queue {}", figure(bytes as f64, "bytes"))
    });
    let title = row
        .path_name
        .filter(|name| *name != row.path)
        .map_or_else(|| row.path.clone(), |name| format!("{name}: {}", row.path));
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
    format!(
        "{TITLE}{title}{TITLE:#}\n\
         {QUIET}{flows} {} of an arm at a time{against}, {} ms apart, {app_name}, {} each, at {} Mbit/s, RTT {} ms, {queue}; {}, {}, initial \
         window {} packets, seed {}{repeats}{QUIET:#}\n\
         {}\n\
         {QUIET}* best of its column; shares are counted from the last start to the first end{QUIET:#}\n",
        if *flows == 1 { "flow" } else { "flows" },
        apart.0 as f64 / 1e6,
        figure(row.bytes as f64, "bytes"),
        row.rate_mbps,
        row.rtt_ms,
        row.transport,
        row.detection,
        row.iw,
        row.seed,
        lay_out(&sharing.table()),
    )
}
