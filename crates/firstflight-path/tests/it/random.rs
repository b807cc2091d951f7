//! The keyed generator against its published vectors (seed 1).

use firstflight_path::random::{Purpose, Sequence, Stream, between, mix, normal};

#[test]
fn one_step_from_state_one_is_the_published_value() {
    assert_eq!(mix(1), 0x910a_2dec_8902_5cc1);
}

#[test]
fn streams_give_the_vectors_of_seed_one() {
    for (purpose, path, k, expected) in [
        (Purpose::Rtt, 0, 0, 0xb57b_946d_e813_49e1_u64),
        (Purpose::Rtt, 1, 0, 0xaef7_1425_3055_051c),
        (Purpose::Rtt, 0, 1, 0x47e9_e121_5629_bb0e),
        (Purpose::Rate, 0, 0, 0x8a59_da21_4a79_4400),
        (Purpose::Rate, 1, 0, 0x94ee_9abb_b21d_dd24),
        (Purpose::Buffer, 0, 0, 0x87db_3903_13aa_fce0),
        (Purpose::Buffer, 1, 0, 0x591e_3149_9bb3_6ae1),
    ] {
        let value = Stream::new(1, path, purpose).value(k);
        assert_eq!(
            value, expected,
            "{purpose:?} of path {path}, k = {k}: got {value:#x}, expected {expected:#x}"
        );
    }
}

#[test]
fn values_depend_on_their_key_and_not_on_the_order_of_asking() {
    let stream = Stream::new(7, 3, Purpose::ForwardLoss);
    let forwards: Vec<u64> = (0..100).map(|k| stream.value(k)).collect();
    let backwards: Vec<u64> = (0..100).rev().map(|k| stream.value(k)).collect();
    assert!(forwards.iter().eq(backwards.iter().rev()));
    assert_ne!(
        stream.value(0),
        Stream::new(7, 3, Purpose::ReverseLoss).value(0),
        "another purpose, other values"
    );
    assert_ne!(
        stream.value(0),
        Stream::new(8, 3, Purpose::ForwardLoss).value(0),
        "another seed, other values"
    );
    assert_ne!(
        stream.value(0),
        Stream::new(7, 4, Purpose::ForwardLoss).value(0),
        "another path, other values"
    );
}

#[test]
fn normal_values_are_the_published_ones() {
    for (purpose, path, expected) in [
        (Purpose::Rtt, 0, 5_502_234_174_i64),
        (Purpose::Rtt, 1, 4_773_895_464),
        (Purpose::Rate, 0, 1_015_259_833),
        (Purpose::Rate, 1, 2_064_129_311),
        (Purpose::Buffer, 0, 770_014_971),
        (Purpose::Buffer, 1, -3_904_093_124),
    ] {
        let z = in_1e10(normal(Stream::new(1, path, purpose).value(0)));
        assert_eq!(z, expected, "z of {purpose:?}, path {path}, in 1e-10");
    }
    // The ends, u = 2^-54 and 1 - 2^-54, are finite and mirror images.
    assert_eq!((in_1e10(normal(0)), in_1e10(normal(u64::MAX))), (-82_923_610_758, 82_923_610_758));
    assert_eq!(in_1e10(normal(1 << 63)), 0);
}

fn in_1e10(z: f64) -> i64 {
    (z * 1e10).round() as i64
}

#[test]
fn whole_numbers_between_two_ends_include_both() {
    let mut draws = Sequence::new(1);
    assert_eq!(
        [draws.draw(), draws.draw(), draws.draw()],
        [0x910a_2dec_8902_5cc1, 0xbeeb_8da1_658e_ec67, 0xf893_a2ee_fb32_555e]
    );
    assert_eq!((between(0, 3, 9), between(u64::MAX, 3, 9)), (3, 9));
    assert_eq!((between(u64::MAX, 0, u64::MAX), between(5, 7, 7)), (u64::MAX, 7));
}
