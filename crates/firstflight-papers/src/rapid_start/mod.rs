//! Rapid Start: the slides' claims about their plots and about the production experiment.

mod figures;
mod plots;
pub(crate) mod production;
mod runs;

use super::{Effort, Measured, Source, Values};
use firstflight_lab::Error;
use runs::Runs;

/// Measures the document's claims.
pub(crate) fn measured(effort: &Effort<'_>, source: &Source) -> Result<Measured, Error> {
    effort.tell("rapid-start: the plotted path");
    let all = Runs::all();
    let mut measured =
        Measured { values: plotted(&all), figures: figures::plotted(&all), ..Measured::default() };
    let (values, found) = production::measured(effort, source)?;
    measured.extend(Measured {
        values,
        figures: figures::production(&found),
        ..Measured::default()
    });
    Ok(measured)
}

/// Values of the plots only. Nothing in them is random, so a quick run gives the same values.
pub fn plot_values(effort: &Effort<'_>) -> Values {
    effort.tell("rapid-start: the plotted path");
    plotted(&Runs::all())
}

fn plotted(all: &Runs) -> Values {
    let parts = [
        plots::idle_share_of_first_round(all),
        plots::jump_rate(all),
        plots::growth_per_acked_byte(all),
        plots::window_at_first_loss(all),
        plots::baseline_cut_and_second_recovery(all),
        plots::landing(all),
        plots::silence(all),
        plots::draining_and_bursts(all),
        plots::repair_time(all),
        plots::losses(all),
        plots::forced_cuts(),
        plots::factors(),
        plots::marks(),
    ];
    let mut values = Values::default();
    for part in parts {
        values.extend(part);
    }
    values
}
