//! Arms that quinn does not support are refused with a reason, and all others are built.

use firstflight_quic::quinn;
use quinn_proto::congestion::ControllerFactory;
use std::time::Instant;

#[test]
fn arms_that_need_a_pacing_rate_are_refused_with_the_way_out() {
    let table = [
        ("rapid", "rapid(jump=off)"),
        ("jumpstart", "noq"),
        ("plumb", "noq"),
        ("suss", "noq"),
        ("chirping", "noq"),
        ("slowstart@(pace=off)", "pace="),
        ("slowstart@(burst=4)", "burst="),
        ("slowstart@(recgain=2)", "recgain="),
        ("no-such-arm", "unknown"),
    ];
    for (arm, way_out) in table {
        let refused = quinn::factory(arm).expect_err(arm).to_string();
        assert!(
            refused.contains(way_out) && !refused.contains('\n'),
            "`{arm}` is refused with `{refused}`, which does not say `{way_out}`"
        );
    }
}

#[test]
fn every_other_startup_is_built_with_the_standard_window() {
    for arm in [
        "slowstart",
        "limited",
        "hystart",
        "hystart++",
        "search",
        "best",
        "best-published",
        "rapid(jump=off)",
        "oracle",
    ] {
        let controller = quinn::factory(arm).expect(arm).build(Instant::now(), 1200);
        assert_eq!(controller.initial_window(), 12_000, "{arm}: ten packets of 1200 bytes");
        assert_eq!(
            controller.window(),
            12_001,
            "{arm}: quinn holds back what would reach the window"
        );
        let status = quinn::status(controller.as_ref()).expect("the controller is ours");
        assert_eq!(status.cwnd, 12_000, "{arm}: it shows the window itself");
    }
}

#[test]
fn a_controller_of_another_maker_says_nothing_of_itself() {
    let factory = std::sync::Arc::new(quinn_proto::congestion::CubicConfig::default());
    assert!(quinn::status(factory.build(Instant::now(), 1200).as_ref()).is_none());
}
