use super::{Assignment, Key, Pseudonyms, Share, Unit, shares};
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
        ("a,b=80%", "at most 50.0000% with 2 arms"),
        ("a=50%,b=20%", "add up to 70.0000%"),
        ("a,b=x", "`x` is no share"),
        ("a,b=nan", "`nan` is no share"),
        ("a,b=-5%", "allowed: more than 0"),
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
    fn any_text_is_shares_or_one_line(text in ".{0,60}") {
        if let Err(error) = shares(&text) {
            prop_assert!(!error.0.is_empty());
        }
    }
}
