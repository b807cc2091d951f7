//! Arms that behave alike share one simulation.
//!
//! A sender learns of its controller only what it asks it: may this packet leave, at which rate, has
//! an episode begun. As long as two controllers are told the same and answer the same, the packets
//! are the same, and so is every later event. So one controller leads a simulation, others are told
//! everything that it is told and asked everything that it is asked ([`Company::along`]), and one that
//! answers otherwise for the first time leaves. Those that never did have had the very trial they would
//! have had alone; what they say of themselves (window, episodes, exit) is their own. Those that left
//! get a simulation of their own, in company again.
//!
//! What a controller thinks is nobody's business: windows may differ, as long as no packet depends
//! on it.

use crate::instrumented::{Company, Core, Instrumented};
use crate::observe::{Nobody, Record};
use crate::outcome::Outcome;
use crate::trial::{Setup, run_in_company};
use firstflight::arm::ArmController;
use firstflight::startup::AnyStartup;
use firstflight::{Event, Recorder};
use firstflight_path::Error;

/// Controllers that have answered as their leader did so far, by the place of their arm.
#[derive(Debug, Default)]
pub(crate) struct Followers(Vec<(usize, Instrumented<AnyStartup, Nobody>)>);

impl Company<AnyStartup> for Followers {
    #[inline]
    fn along<T: PartialEq>(
        &mut self,
        answer: &T,
        ask: impl Fn(&mut Instrumented<AnyStartup, Nobody>) -> T,
    ) {
        if !self.0.is_empty() {
            self.0.retain_mut(|(_, follower)| ask(follower) == *answer);
        }
    }

    #[inline]
    fn every(&self, holds: impl Fn(&Instrumented<AnyStartup, Nobody>) -> bool) -> bool {
        self.0.iter().all(|(_, follower)| holds(follower))
    }
}

impl Recorder<Core<AnyStartup>> for Followers {
    #[inline]
    fn records() -> bool {
        false
    }
    #[inline]
    fn on_event(&mut self, _event: &Event, _after: &Core<AnyStartup>) {}
}

impl Iterator for Followers {
    type Item = Record;
    #[inline]
    fn next(&mut self) -> Option<Record> {
        None
    }
}

/// Runs one trial of each of these controllers: outcome for outcome what
/// [`run_arm`](crate::run_arm) gives for each alone, with one simulation for all that behave alike.
///
/// # Errors
/// Those of [`run`](crate::run).
pub fn run_alike(setup: &Setup<'_>, controllers: &[ArmController]) -> Result<Vec<Outcome>, Error> {
    let mut outcomes: Vec<Option<Outcome>> = controllers.iter().map(|_| None).collect();
    while let Some(leader) = outcomes.iter().position(Option::is_none) {
        // Queues see who asks for L4S, in every packet.
        let l4s = controllers[leader].is_l4s();
        let rest = (leader + 1..controllers.len())
            .filter(|place| outcomes[*place].is_none() && controllers[*place].is_l4s() == l4s);
        let mut company = Followers(
            rest.map(|place| (place, Instrumented::new(controllers[place], setup.host.mss())))
                .collect(),
        );
        if company.0.is_empty() {
            outcomes[leader] =
                Some(run_in_company(setup, controllers[leader], Nobody, &mut Nobody)?.0);
            continue;
        }
        let outcome;
        (outcome, company) = run_in_company(setup, controllers[leader], company, &mut Nobody)?;
        for (place, follower) in company.0 {
            let mut own = outcome.clone();
            own.say(follower.core(), follower.account());
            outcomes[place] = Some(own);
        }
        outcomes[leader] = Some(outcome);
    }
    Ok(outcomes.into_iter().flatten().collect())
}
