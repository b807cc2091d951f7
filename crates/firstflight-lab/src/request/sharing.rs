//! Several flows at a time, cross traffic or an application: the options.

use crate::arms::parse_arms;
use crate::compare::Plan;
use crate::flows::{App, Response};
use crate::sharing::SharingPlan;
use crate::size;
use clap::Args;
use firstflight::Nanos;
use firstflight_path::Error;

/// Several flows at a time, cross traffic, or an application.
#[derive(Args, Clone, Debug)]
pub struct SharingArgs {
    /// Number of flows of each arm that share the bottleneck
    #[arg(long, value_name = "N", value_parser = flows, allow_negative_numbers = true)]
    flows: Option<u32>,
    /// Time between flow starts, such as `500ms`; cross traffic starts first
    #[arg(long, value_name = "TIME", value_parser = size::time, allow_negative_numbers = true)]
    apart: Option<Nanos>,
    /// Largest random delay of starts and timers when flows share a path, as on real hosts; `0ms` keeps flows in lockstep
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = size::time, allow_negative_numbers = true)]
    jitter: Nanos,
    /// Cross traffic: arms, separated by commas; each is an endless flow that starts first
    #[arg(long, value_name = "ARMS")]
    cross: Option<String>,
    /// Traffic of a flow: `bulk`; `web:COUNT:PAUSE`, that many responses of `--bytes`; `video:FIRST:WRITE:EVERY`; `blocks:BLOCK:RUN`
    #[arg(long, value_name = "APP")]
    app: Option<String>,
}

fn flows(text: &str) -> Result<u32, String> {
    size::count(text, 1..=10_000, "flows").map(|count| count as u32)
}

impl SharingArgs {
    /// Whether any of them was given.
    pub fn are_given(&self) -> bool {
        self.flows.is_some() || self.apart.is_some() || self.cross.is_some() || self.app.is_some()
    }

    /// The plan that results from applying them to a comparison.
    ///
    /// # Errors
    /// A one-line message if an option is invalid.
    pub fn plan(&self, plan: Plan) -> Result<SharingPlan, Error> {
        let app_name = self.app.clone().unwrap_or_else(|| "bulk".into());
        let app = parse_app(&app_name, plan.scenario.bytes)
            .map_err(|what| Error::new(format!("--app {app_name}: {what}")))?;
        let cross = self.cross.as_deref().map_or(Ok(Vec::new()), parse_arms)?;
        let plan = SharingPlan {
            plan,
            flows: self.flows.unwrap_or(1),
            cross,
            apart: self.apart.unwrap_or_default(),
            jitter: self.jitter,
            app,
            app_name,
        };
        Ok(plan.staged())
    }
}

/// Parses an application; `bytes` is the size of an object, a response or a video.
fn parse_app(text: &str, bytes: u64) -> Result<App, String> {
    let words: Vec<&str> = text.split(':').collect();
    let part = |name: &str, what: String| format!("{name} {what}");
    match words.as_slice() {
        ["bulk"] => Ok(App::Bulk(bytes)),
        ["web", count, pause] => {
            let count =
                size::count(count, 1..=100_000, "responses").map_err(|what| part("COUNT", what))?;
            let pause = size::time(pause).map_err(|what| part("PAUSE", what))?;
            let response =
                |place| Response { pause: if place == 0 { Nanos::ZERO } else { pause }, bytes };
            Ok(App::Responses((0..count).map(response).collect()))
        }
        ["video", first, write, every] => Ok(App::Video {
            bytes,
            first: size::parse(first).map_err(|what| part("FIRST", what))?.min(bytes),
            write: size::parse(write).map_err(|what| part("WRITE", what))?,
            every: size::time(every)
                .ok()
                .filter(|every| *every > Nanos::ZERO)
                .ok_or("EVERY is not a time above 0, such as 150ms")?,
        }),
        ["blocks", block, run] => Ok(App::Blocks {
            block: size::parse(block).map_err(|what| part("BLOCK", what))?,
            run: size::time(run).map_err(|what| part("RUN", what))?,
        }),
        _ => Err(
            "unknown; allowed: bulk, web:COUNT:PAUSE (web:3:500ms), video:FIRST:WRITE:EVERY (video:2MB:500kB:2s), blocks:BLOCK:RUN (blocks:1MB:10s)"
                .into(),
        ),
    }
}
