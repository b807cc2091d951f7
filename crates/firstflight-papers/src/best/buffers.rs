//! Throughput limits by socket buffers.

use super::links::{LINKS, ground};
use crate::lab::{arm, watch};
use crate::{Effort, Scale, Values};
use firstflight::Nanos;
use firstflight_lab::Error;
use firstflight_lab::scenario::{Hosts, Scenario};
use firstflight_sim::observe::Signals;
use firstflight_sim::tcp::{Buffer, Host};
use firstflight_sim::{Observer, Snapshot};
use rayon::prelude::*;

/// Maximum of both buffers that the slides recommend.
pub(crate) const RECOMMENDED: u64 = 26_214_400;

/// Bytes delivered in order at two times.
#[derive(Default)]
struct Between {
    from: u64,
    to: u64,
    at: [u64; 2],
}

impl Observer for Between {
    fn on_event(&mut self, snapshot: &Snapshot, _signals: &Signals<'_>) {
        if snapshot.now.0 < self.from {
            self.at[0] = snapshot.delivered;
        }
        if snapshot.now.0 < self.to {
            self.at[1] = snapshot.delivered;
        }
    }
}

/// A delivery rate and the link's payload rate, bit/s.
pub(crate) struct PayloadRate {
    pub(crate) payload: f64,
    pub(crate) capacity: f64,
}

/// Delivery rate between two times, with these buffers of receiver and sender.
pub(crate) fn rate(
    path: &str,
    buffers: [Buffer; 2],
    seconds: [u64; 2],
) -> Result<PayloadRate, Error> {
    let host = Host { receive_buffer: buffers[0], send_buffer: buffers[1], ..Host::default() };
    let plain = ground(path, "unlimited", 1 << 42)?;
    let limit = Nanos::from_secs(seconds[1]);
    let ground = Scenario { host: Hosts::from(host), limit, ..plain };
    let [from, to] = seconds.map(|second| second * 1_000_000_000);
    let mut between = Between { from, to, at: [0, 0] };
    watch(&ground, &arm("slowstart")?, 1, Some(&mut between))?;
    Ok(PayloadRate {
        payload: (between.at[1] - between.at[0]) as f64 * 8.0 / (to - from) as f64 * 1e9,
        capacity: ground.path.rate_bps() as f64 * 1448.0 / 1500.0,
    })
}

/// Measures delivery with the default and the recommended buffers.
pub(super) fn values(effort: &Effort<'_>) -> Result<Values, Error> {
    effort.tell("best: socket buffers");
    let default = [Buffer::LINUX_RECEIVE, Buffer::LINUX_SEND];
    let recommended = [
        Buffer::Linux { default: 131_072, max: RECOMMENDED },
        Buffer::Linux { default: 16_384, max: RECOMMENDED },
    ];
    let jobs: Vec<(usize, bool)> =
        (0..LINKS.len()).flat_map(|link| [(link, true), (link, false)]).collect();
    let measured = jobs
        .into_par_iter()
        .with_max_len(1)
        .map(|(link, by_default)| {
            effort.look();
            // A second of 5G has a quarter of a million packets and a hundred round trips, so a quick
            // run covers a shorter time.
            let seconds = if effort.scale != Scale::Full && LINKS[link].name == "5G" {
                [3, 5]
            } else {
                [30, 60]
            };
            let rate =
                rate(LINKS[link].path, if by_default { default } else { recommended }, seconds)?;
            Ok((link, by_default, seconds, rate.payload / rate.capacity))
        })
        .collect::<Result<Vec<_>, Error>>()?;
    let mut values = Values::default();
    for (link, by_default, seconds, share) in measured {
        let (name, buffers) =
            (LINKS[link].name, if by_default { "default" } else { "recommended" });
        values
            .number(format!("buffers.{buffers}.{name}"), share)
            .detail("from", &seconds[0])
            .detail("to", &seconds[1])
            .case(format!("{name}, {buffers} buffers"));
    }
    Ok(values)
}
