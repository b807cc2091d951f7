//! Arms that behave alike share one simulation.
//!
//! A sender asks its controller only a few questions: may this packet leave, at which rate, has an
//! episode begun. As long as two controllers receive the same events and give the same answers, the
//! packets are the same, and so is every later event. So one controller leads a simulation, and the
//! others receive every event and every question that the leader does ([`Company::along`]). A
//! follower that answers differently leaves at that moment. Followers that never left have had
//! exactly the trial that they would have had alone; their reports (window, episodes, exit) are
//! their own. Those that left get a new simulation, shared among them in the same way.
//!
//! Internal state is not compared: windows may differ as long as no packet depends on them.

use crate::instrumented::{Company, Core, Instrumented};
use crate::observe::{Nobody, Record};
use crate::outcome::Outcome;
use crate::setup::Setup;
use crate::trial::in_company;
use firstflight::startup::AnyStartup;
use firstflight::{AnyController, Event, Recorder};
use firstflight_path::Error;

/// Controllers that have so far answered as their leader did, with the index of their arm.
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

/// Runs one trial of each of these controllers. The outcomes equal those of
/// [`run`](crate::run) for each controller alone; controllers that behave alike share one
/// simulation.
///
/// # Errors
/// Errors of [`run`](crate::run).
pub fn run_alike(setup: &Setup<'_>, controllers: &[AnyController]) -> Result<Vec<Outcome>, Error> {
    let mut outcomes: Vec<Option<Outcome>> = controllers.iter().map(|_| None).collect();
    while let Some(leader) = outcomes.iter().position(Option::is_none) {
        // Queues see in every packet whether the sender asks for L4S.
        // The sender reports waits at the largest rate.
        let seen = |place: usize| (controllers[place].is_l4s(), controllers[place].max_rate());
        let rest = (leader + 1..controllers.len())
            .filter(|place| outcomes[*place].is_none() && seen(*place) == seen(leader));
        let mut company = Followers(
            rest.map(|place| (place, Instrumented::new(controllers[place], setup.host.mss())))
                .collect(),
        );
        if company.0.is_empty() {
            outcomes[leader] = Some(in_company(setup, controllers[leader], Nobody, &mut Nobody)?.0);
            continue;
        }
        let outcome;
        (outcome, company) = in_company(setup, controllers[leader], company, &mut Nobody)?;
        for (place, follower) in company.0 {
            let mut own = outcome.clone();
            own.say(follower.core(), follower.account());
            outcomes[place] = Some(own);
        }
        outcomes[leader] = Some(outcome);
    }
    Ok(outcomes.into_iter().flatten().collect())
}
