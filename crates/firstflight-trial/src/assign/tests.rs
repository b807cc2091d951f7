use super::{Assignment, Key, Pseudonyms, Share, Unit, limits, shares};
use proptest::prelude::*;
use std::net::IpAddr;

fn of(parts: &[f64]) -> Vec<Share> {
    parts.iter().enumerate().map(|(arm, part)| Share::of(format!("arm{arm}"), *part)).collect()
}

fn client(text: &str) -> Unit {
    Unit::client(text.parse::<IpAddr>().expect("an address"))
}

#[test]
fn hashes_are_those_of_the_reference() {
    // Key 00..0f and message 00..0e of the SipHash paper (Aumasson, Bernstein 2012, appendix A).
    use std::hash::Hasher;
    let key: [u8; 16] = std::array::from_fn(|byte| byte as u8);
    let mut hasher = siphasher::sip::SipHasher24::new_with_key(&key);
    hasher.write(&std::array::from_fn::<u8, 15, _>(|byte| byte as u8));
    assert_eq!(hasher.finish(), 0xa129_ca61_49be_45e5);
}

#[test]
fn networks_are_one_client_and_mapped_addresses_are_ipv4() {
    assert_eq!(client("192.0.2.1"), client("192.0.2.200"));
    assert_ne!(client("192.0.2.1"), client("192.0.3.1"));
    assert_eq!(client("::ffff:192.0.2.9"), client("192.0.2.1"));
    assert_eq!(client("2001:db8:0:aa01::1"), client("2001:db8:0:aaff::2"));
    assert_ne!(client("2001:db8:0:aa01::1"), client("2001:db8:0:ab01::1"));
    let address = "10.1.2.3".parse().expect("an address");
    assert_eq!(Unit::client_within(address, 0, 0), client("0.0.0.0"));
    assert_ne!(Unit::client_within(address, 32, 128), client("10.1.2.0"), "a host is no network");
}

#[test]
fn shares_come_out_as_planned_and_enrolment_does_not_move_them() {
    let assignment = Assignment::new(Key([3; 16]), &of(&[0.7, 0.2, 0.1])).expect("shares add up");
    let mut counts = [0_u32; 3];
    let mut among = [0_u32; 3];
    let n = 100_000;
    for number in 0..n {
        let unit = Unit::connection(number);
        counts[assignment.arm(&unit)] += 1;
        if assignment.enrols(&unit, 0.2) {
            among[assignment.arm(&unit)] += 1;
        }
    }
    let of = |counts: [u32; 3]| {
        let sum: u32 = counts.iter().sum();
        (sum, counts.map(|count| f64::from(count) / f64::from(sum)))
    };
    let ((_, all), (enrolled, few)) = (of(counts), of(among));
    assert!((f64::from(enrolled) / n as f64 - 0.2).abs() < 0.005, "{enrolled} take part");
    for (arm, part) in [0.7, 0.2, 0.1].into_iter().enumerate() {
        assert!((all[arm] - part).abs() < 0.005, "arm {arm} has {all:?}");
        assert!((few[arm] - part).abs() < 0.012, "of those who take part, arm {arm} has {few:?}");
    }
}

#[test]
fn texts_are_read_as_they_are_typed() {
    let read = |text: &str| {
        shares(text).map(|all| {
            all.iter().map(|one| format!("{} {:.4}", one.arm, one.part)).collect::<Vec<_>>()
        })
    };
    assert_eq!(read("slowstart,rapid=20%").unwrap(), ["slowstart 0.8000", "rapid 0.2000"]);
    assert_eq!(read("a,b,c,d").unwrap(), ["a 0.2500", "b 0.2500", "c 0.2500", "d 0.2500"]);
    assert_eq!(
        read("a=0.9,rapid(jump=off,k=2)/reno=0.1").unwrap(),
        ["a 0.9000", "rapid(jump=off,k=2)/reno 0.1000"]
    );
    for (wrong, told) in [
        ("", "an arm is missing"),
        ("a", "at least one other arm"),
        ("a,a", "named twice"),
        ("a=50%,b=20%", "add up to 70%"),
        ("a,b=x", "`x` is not a share"),
        ("a,b=nan", "`nan` is not a share"),
        ("a,b=-5%", "allowed: more than 0"),
        ("a,b=120%", "add up to 120%, more than 100%"),
        ("a,b,c=10%", "only the first arm"),
        ("a,b=1=2", "allowed: ARM or ARM=SHARE"),
    ] {
        let error = shares(wrong).expect_err(wrong).0;
        assert!(error.contains(told), "{wrong}: {error}");
    }
}

#[test]
fn a_trial_keeps_its_arms_and_counts_its_epochs() {
    let mut assignment = Assignment::new(Key([1; 16]), &of(&[0.9, 0.1])).expect("shares");
    assert_eq!(assignment.epoch(), 0);
    assignment.reshare(&of(&[0.5, 0.5])).expect("more of the same");
    assert_eq!(assignment.epoch(), 1);
    assert!(assignment.reshare(&of(&[0.5, 0.25, 0.25])).is_err());
    assert_eq!(format!("{:?}", Key([1; 16])), "Key(..)");
}

#[test]
fn a_share_has_its_limit_and_another_one_is_fixed_at_the_start() {
    let most = Assignment::new(Key([1; 16]), &of(&[0.2, 0.8])).expect_err("beyond one half").0;
    assert!(most.contains("at most 50% with 2 arms"), "{most}");
    let plan = |text: &str| shares(text).expect("shares");
    let within = |shares: &[Share], text: &str| {
        Assignment::within(Key([1; 16]), shares, &limits(text).expect("limits"))
    };
    let mut wide = within(&plan("a,b=10%"), "b=80%").expect("room");
    wide.reshare(&plan("a,b=80%")).expect("as large as it may be");
    assert!(wide.reshare(&plan("a,b=81%")).is_err());
    for (wrong, told) in [("a=80%", "limits are for b"), ("x=8%", "limits are for b")] {
        let error = within(&plan("a,b=10%"), wrong).expect_err(wrong).0;
        assert!(error.contains(told), "{wrong}: {error}");
    }
    let much = within(&plan("a,b=10%,c=10%"), "b=80%").expect_err("80 % and a third").0;
    assert!(much.contains("add up to 113"), "{much}");
    assert!(limits("b").is_err() && limits("b=0").is_err() && limits("b=200%").is_err());
}

#[test]
fn slots_come_in_pairs_and_chance_says_which_arm_is_first() {
    let assignment = Assignment::new(Key([7; 16]), &of(&[0.5, 0.5])).expect("shares");
    let pairs = 2_000;
    let mut first = [0; 2];
    for pair in 0..pairs {
        let [one, other] = [2 * pair, 2 * pair + 1].map(|slot| assignment.arm_of_slot(slot));
        assert_eq!(one + other, 1, "one of each in pair {pair}");
        first[one] += 1;
    }
    // Four standard deviations of a fair coin.
    assert!(first.iter().all(|count| (1_000 - 90..=1_000 + 90).contains(count)), "{first:?}");
}

#[test]
fn pseudonyms_are_stable_and_say_nothing_without_the_key() {
    let (one, other) = (Pseudonyms::new(Key([1; 16])), Pseudonyms::new(Key([2; 16])));
    let unit = client("192.0.2.1");
    assert_eq!(one.name(&unit), one.name(&client("192.0.2.7")));
    assert_ne!(one.name(&unit), other.name(&unit));
    assert_eq!(one.name(&unit).len(), 16);
}

proptest! {
    #[test]
    fn a_share_that_grows_takes_only_from_the_baseline(
        key: [u8; 16],
        before in proptest::collection::vec(1_u32..=100, 1..6),
        after in proptest::collection::vec(1_u32..=100, 6),
        units in proptest::collection::vec(any::<u64>(), 200),
    ) {
        let arms = before.len() + 1;
        let parts = |hundredths: &[u32]| {
            let mut parts: Vec<f64> =
                hundredths.iter().map(|part| f64::from(*part) / 100.0 / arms as f64).collect();
            parts.insert(0, 1.0 - parts.iter().sum::<f64>());
            of(&parts)
        };
        let mut assignment = Assignment::new(Key(key), &parts(&before)).unwrap();
        let old: Vec<usize> =
            units.iter().map(|unit| assignment.arm(&Unit::connection(*unit))).collect();
        assignment.reshare(&parts(&after[..before.len()])).unwrap();
        for (unit, old) in units.iter().zip(old) {
            let new = assignment.arm(&Unit::connection(*unit));
            prop_assert!(new == old || new == 0 || old == 0, "from arm {old} to arm {new}");
            if new != old {
                let arm = new.max(old);
                prop_assert_eq!(new == arm, after[arm - 1] > before[arm - 1]);
            }
        }
    }

    #[test]
    fn parts_come_out_under_any_limits_and_take_only_from_the_baseline(
        key: [u8; 16],
        weights in proptest::collection::vec(1_u32..100, 2..6),
        filled in proptest::collection::vec(0.05..1.0_f64, 6),
        more in proptest::collection::vec(0.05..1.0_f64, 6),
    ) {
        let sum: u32 = weights.iter().sum();
        let limits: Vec<Share> = weights[1..]
            .iter()
            .enumerate()
            .map(|(index, weight)| {
                Share::of(format!("arm{}", index + 1), f64::from(*weight) / f64::from(sum))
            })
            .collect();
        let parts = |filled: &[f64]| {
            let mut parts: Vec<f64> =
                limits.iter().zip(filled).map(|(limit, filled)| limit.part * filled).collect();
            parts.insert(0, 1.0 - parts.iter().sum::<f64>());
            parts
        };
        let mut assignment =
            Assignment::within(Key(key), &of(&parts(&filled)), &limits).unwrap();
        let units = 4_000;
        let drawn = |assignment: &Assignment| -> Vec<usize> {
            (0..units).map(|unit| assignment.arm(&Unit::connection(unit))).collect()
        };
        let before = drawn(&assignment);
        for (arm, part) in parts(&filled).iter().enumerate() {
            let came = before.iter().filter(|of| **of == arm).count() as f64 / units as f64;
            // Six standard deviations.
            prop_assert!((came - part).abs() < 0.048, "arm {arm}: {came}, planned {part}");
        }
        assignment.reshare(&of(&parts(&more))).unwrap();
        for (old, new) in before.iter().zip(drawn(&assignment)) {
            prop_assert!(*old == new || *old == 0 || new == 0, "from arm {old} to arm {new}");
        }
    }

    #[test]
    fn any_text_is_shares_or_one_line(text in ".{0,60}") {
        if let Err(error) = shares(&text) {
            prop_assert!(!error.0.is_empty());
        }
    }
}
