//! The randomization design of a trial: the unit that gets an arm, and the part of units that takes
//! part.

use crate::assign::{Assignment, Error, PREFIX_V4, PREFIX_V6, Share, Unit};
use std::net::IpAddr;
use std::time::Duration;

/// Unit of randomization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// All connections of a client's network.
    Client,
    /// Each connection.
    Connection,
    /// All connections that start in a time slot (a switchback). Slots come in pairs, and the pair
    /// is the unit of analysis. Effects of arms on each other within one bottleneck cannot blur the
    /// difference here, but only two arms are possible.
    Time(Slots),
}

/// Time slots, counted from the start of the trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// Length of a slot: at least ten times the duration of nearly all connections. Otherwise too
    /// few remain after those at the start of a slot are dropped.
    pub length: Duration,
}

impl Slots {
    /// The usual length.
    pub const USUAL: Slots = Slots { length: Duration::from_secs(600) };

    /// The slot at this time after the start, and the offset into the slot.
    pub fn at(&self, since: Duration) -> (u64, Duration) {
        let length = self.length.as_nanos().max(1);
        let (slot, within) = (since.as_nanos() / length, since.as_nanos() % length);
        let nanos = |nanos: u128| u64::try_from(nanos).unwrap_or(u64::MAX);
        (nanos(slot), Duration::from_nanos(nanos(within)))
    }
}

/// Randomization design of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Design {
    /// Unit of randomization.
    pub by: By,
    /// Length of the IPv4 prefix that counts as one client, 0 to 32.
    pub prefix_v4: u8,
    /// Number of bits of an IPv6 address that identify a client, 0 to 128.
    pub prefix_v6: u8,
    /// Part of the units that takes part, above 0 and at most 1. With time slots, clients are
    /// enrolled.
    pub enrol: f64,
}

impl Default for Design {
    fn default() -> Design {
        Design { by: By::Client, prefix_v4: PREFIX_V4, prefix_v6: PREFIX_V6, enrol: 1.0 }
    }
}

/// Assignment of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index of its arm.
    pub arm: usize,
    /// The unit that was assigned the arm; for slots, the pair.
    pub unit: Unit,
    /// The slot in which it started, and the offset into that slot.
    pub slot: Option<(u64, Duration)>,
}

impl Place {
    /// Public name of a pair of slots in a row; `None` for other units.
    pub fn pair(&self) -> Option<String> {
        self.slot.map(|(slot, _)| pair_name(slot))
    }
}

/// Name of this slot's pair in a row.
pub fn pair_name(slot: u64) -> String {
    format!("pair {}", slot / 2)
}

impl Design {
    /// Whether these arms can be drawn with this design.
    ///
    /// # Errors
    /// A one-line message: time slots need two arms with half of the slots each.
    pub fn check(&self, shares: &[Share]) -> Result<(), Error> {
        let halves =
            shares.len() == 2 && shares.iter().all(|share| (share.part - 0.5).abs() < 1e-9);
        if matches!(self.by, By::Time(_)) && !halves {
            let told = "time slots alternate between two arms; leave the shares out";
            return Err(Error(told.to_owned()));
        }
        Ok(())
    }

    /// Draws the arm of a connection that starts this long after the start of the trial: by client
    /// if the client is known and is the unit, otherwise by the connection's number. `None` if the
    /// connection takes no part.
    pub fn draw(
        &self,
        assignment: &Assignment,
        client: Option<IpAddr>,
        number: u64,
        since: Duration,
    ) -> Option<Place> {
        let client = client.filter(|_| self.by != By::Connection);
        let unit = client.map_or_else(
            || Unit::connection(number),
            |client| Unit::client_within(client, self.prefix_v4, self.prefix_v6),
        );
        if !assignment.enrols(&unit, self.enrol) {
            return None;
        }
        Some(match self.by {
            By::Time(slots) => {
                let (slot, within) = slots.at(since);
                let (arm, unit) = (assignment.arm_of_slot(slot), Unit::pair(slot / 2));
                Place { arm, unit, slot: Some((slot, within)) }
            }
            _ => Place { arm: assignment.arm(&unit), unit, slot: None },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assign::{Key, shares};
    use proptest::prelude::*;

    fn assignment(text: &str) -> Assignment {
        Assignment::new(Key([4; 16]), &shares(text).expect("shares")).expect("shares")
    }

    #[test]
    fn slots_take_two_arms_in_turns() {
        let time = Design { by: By::Time(Slots::USUAL), ..Design::default() };
        let check = |design: &Design, text: &str| design.check(&shares(text).expect("shares"));
        assert!(check(&time, "a,b").is_ok() && check(&time, "a=50%,b=50%").is_ok());
        assert!(check(&time, "a,b=20%").is_err() && check(&time, "a,b,c").is_err());
        assert!(check(&Design::default(), "a,b=20%,c=3%").is_ok());
        let slots = Slots { length: Duration::from_secs(10) };
        assert_eq!(slots.at(Duration::from_millis(25_500)), (2, Duration::from_millis(5_500)));
        assert_eq!(slots.at(Duration::from_secs(30)), (3, Duration::ZERO));
    }

    #[test]
    fn who_takes_no_part_is_in_no_arm_and_clients_come_back_to_theirs() {
        let design = Design { enrol: 0.3, ..Design::default() };
        let of = assignment("a,b=30%");
        let (mut drawn, mut outside) = ([0_u32; 2], 0_u32);
        for client in 0..4_000_u32 {
            let address = IpAddr::from((client << 8).to_be_bytes());
            let place = design.draw(&of, Some(address), 0, Duration::ZERO);
            let again = IpAddr::from((client << 8 | 0x4d).to_be_bytes());
            assert_eq!(place, design.draw(&of, Some(again), 9, Duration::from_secs(99)));
            match place {
                Some(place) => drawn[place.arm] += 1,
                None => outside += 1,
            }
        }
        // Five standard deviations.
        assert!((2_655..=2_945).contains(&outside), "{outside} of 4000 outside, 2800 planned");
        let part = f64::from(drawn[1]) / f64::from(4_000 - outside);
        assert!((0.234..0.366).contains(&part), "{part} of those inside, 0.3 planned");
    }

    proptest! {
        #[test]
        fn a_connection_has_the_arm_of_its_slot(seconds in 0_u64..100_000, number: u64) {
            let slots = Slots { length: Duration::from_secs(60) };
            let design = Design { by: By::Time(slots), ..Design::default() };
            let of = assignment("a,b");
            let place = design.draw(&of, None, number, Duration::from_secs(seconds)).unwrap();
            prop_assert_eq!(place.arm, of.arm_of_slot(seconds / 60));
            prop_assert_eq!(place.unit, Unit::pair(seconds / 120));
            prop_assert_eq!(place.slot, Some((seconds / 60, Duration::from_secs(seconds % 60))));
            prop_assert_eq!(place.pair(), Some(format!("pair {}", seconds / 120)));
        }
    }
}
