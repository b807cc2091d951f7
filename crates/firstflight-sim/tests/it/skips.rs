//! Senders that skip packet numbers, as RFC 9000 section 21.4 allows, against receivers that
//! acknowledge packets before they arrive.

use crate::hosts::{path, plan, shared, tcp_every};
use firstflight::Nanos;
use firstflight_sim::{
    Access, App, Arrangement, Hosts, Lie, Outcome, SharedOutcome, Stop, run_flows,
};

const SECOND: u64 = 1_000_000_000;

fn run(text: &str, app: &App, access: Access, limit: u64) -> SharedOutcome {
    let (path, host) = (path(text), Hosts::default());
    let plans = vec![plan("hystart++/cubic/prr", host, app.clone(), Nanos::ZERO)];
    let whole = *app == App::Endless;
    let arrangement = Arrangement { access: vec![access], whole, ..Arrangement::default() };
    run_flows(&shared(&path, host, limit), plans, &arrangement, None).expect("it is carried")
}

fn one(text: &str, app: &App, lie: Option<Lie>, skips: Option<u64>) -> Outcome {
    let access = Access { lie, skips, ..Access::default() };
    run(text, app, access, 60 * SECOND).flows.remove(0)
}

#[test]
fn an_optimistic_receiver_is_caught_and_an_honest_one_is_not() {
    let path = "rate=20Mbit,rtt=80ms,queue=1bdp";
    let object = App::Bulk(10_000_000);
    let liar = |skips| one(path, &object, Some(Lie::Optimistic), skips);
    assert_ne!(liar(None).stop, Stop::Closed, "nobody looks: all is believed");
    for mean in [2, 100, 1_000] {
        let closed = liar(Some(mean));
        assert_eq!(closed.stop, Stop::Closed, "one number in {mean} is skipped");
        assert!(!closed.complete() && closed.delivered < 10_000_000, "{}", closed.delivered);
        let honest = one(path, &object, None, Some(mean));
        assert_eq!((honest.stop, honest.delivered), (Stop::Complete, 10_000_000), "{mean}");
    }
}

/// Nobody tells the sender that a number was skipped and not lost: loss, reordering, duplicates and
/// marks go on as ever, in a build that checks both ends after every event.
#[test]
fn whatever_the_path_does_an_honest_connection_gets_through() {
    for path in [
        "rate=20Mbit,rtt=80ms,queue=0.2bdp",
        "rate=20Mbit,rtt=80ms,queue=1bdp,loss=3%",
        "rate=20Mbit,rtt=80ms,queue=4bdp,pie,ecn",
        "rate=5Mbit,rtt=200ms,queue=1bdp,reorder=5%:20ms",
        "rate=5Mbit,rtt=50ms,queue=1bdp,loss=40%",
    ] {
        for mean in [1, 2, 50] {
            let outcome = one(path, &App::Bulk(600_000), None, Some(mean));
            assert_eq!(outcome.stop, Stop::Complete, "{path}, one in {mean}");
            assert_eq!(outcome.delivered, 600_000, "{path}, one in {mean}");
        }
    }
}

/// A flow without an end that is closed leaves the path to the others, and the trial goes on.
#[test]
fn a_closed_connection_sends_no_more_and_the_others_go_on() {
    let (path, host) = (path("rate=20Mbit,rtt=80ms,queue=1bdp"), Hosts::default());
    let flow = || plan("hystart++/cubic/prr", host, App::Endless, Nanos::ZERO);
    let liar = Access { lie: Some(Lie::Optimistic), skips: Some(100), ..Access::default() };
    let arrangement = Arrangement {
        access: vec![Access::default(), liar],
        whole: true,
        ..Arrangement::default()
    };
    let done =
        run_flows(&shared(&path, host, 10 * SECOND), vec![flow(), flow()], &arrangement, None)
            .expect("it is carried");
    assert_eq!([done.flows[0].stop, done.flows[1].stop], [Stop::TimeLimit, Stop::Closed]);
    let [honest, closed] = [0, 1].map(|flow| done.flows[flow].delivered);
    assert!(honest > 20_000_000 && closed < 2_000_000, "{honest} and {closed} bytes");
}

#[test]
fn tcp_has_no_numbers_to_skip() {
    let (path, host) = (path("rate=20Mbit,rtt=80ms"), Hosts::from(tcp_every()));
    let plans = vec![plan("slowstart", host, App::Bulk(1_000), Nanos::ZERO)];
    let access = vec![Access { skips: Some(10), ..Access::default() }];
    let arrangement = Arrangement { access, ..Arrangement::default() };
    let refused = run_flows(&shared(&path, host, SECOND), plans, &arrangement, None);
    assert!(refused.expect_err("TCP").to_string().contains("only QUIC"));
}
