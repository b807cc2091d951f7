//! Traces of real Linux TCP: the packets on the link agree with the trial and with the path. Needs
//! root; otherwise the tests pass with a message that says what is missing.

use firstflight::Event;
use firstflight_lab::compare::{Keep, Watch};
use firstflight_lab::testbed::linux;
use firstflight_lab::{Plan, Scenario, TrialRow, hosts_of_tcp, parse_arms};
use firstflight_log::trace::{Log, Received, Source, What};
use firstflight_path::Path;
use std::sync::Mutex;

fn traced(path: &str, arms: &str) -> Option<Vec<(TrialRow, Log)>> {
    let scenario = Scenario {
        host: hosts_of_tcp("rack").expect("hosts"),
        ..Scenario::new(Path::parse(path).expect("a path"), 3_000_000)
    };
    let traces = Mutex::<Vec<(usize, Log)>>::default();
    let take = |arm, trace| {
        traces.lock().expect("no panic").push((arm, trace));
        Ok(())
    };
    let plan =
        Plan { testbed: &linux::BED, ..Plan::new(parse_arms(arms).expect("arms"), scenario) };
    match plan.run_with(Keep::Rows, Some(&take), &Watch::default()) {
        Ok(comparison) => {
            let mut traces = traces.into_inner().expect("no panic");
            traces.sort_by_key(|(arm, _)| *arm);
            Some(
                comparison
                    .rows
                    .into_iter()
                    .zip(traces.into_iter().map(|(_, trace)| trace))
                    .collect(),
            )
        }
        Err(bad) if bad.to_string().contains("needs") => {
            println!("skipped: {bad}");
            None
        }
        Err(bad) => panic!("{bad}"),
    }
}

#[test]
fn the_log_of_a_kernel_sender_agrees_with_its_trial_and_its_path() {
    let Some(trials) = traced("rate=50Mbit,rtt=40ms,queue=20ms", "kernel:cubic,hystart++") else {
        return;
    };
    for (row, trace) in trials {
        let arm = &row.arm;
        assert_eq!(
            trace.start().map(|start| start.source),
            Some(Source::Wire),
            "{arm}: the log says how it came about"
        );
        let (mut sent, mut acked, mut lost, mut smallest) = (0, 0, 0, u64::MAX);
        for entry in &trace.entries {
            match &entry.what {
                What::Event { event: Event::Sent(_), .. } => sent += 1,
                What::Event { event: Event::Ack(ack, _), .. } => {
                    acked += ack.acked;
                    lost += ack.lost;
                    smallest = ack.rtt.map_or(smallest, |rtt| rtt.0.min(smallest));
                }
                _ => {}
            }
        }
        assert_eq!(acked, 3_000_000, "{arm}: every byte is acknowledged once");
        assert_eq!(Some(sent), row.packets_sent, "{arm}: as many packets as the kernel counts");
        let again = row.retransmitted_bytes.expect("the kernel counts them");
        assert_eq!(lost > 0, again > 0, "{arm}: {lost} bytes are lost, {again} were sent again");
        let rtt_ms = smallest as f64 / 1e6;
        assert!(
            (39.9..42.0).contains(&rtt_ms),
            "{arm}: the smallest RTT is {rtt_ms} ms on a path of 40"
        );
        let arrived =
            trace.receiver.iter().filter(|(_, what)| matches!(what, Received::Data { .. })).count()
                as u64;
        let dropped =
            trace.entries.iter().filter(|entry| matches!(&entry.what, What::Event { packet: Some(packet), .. } if packet.dropped)).count()
                as u64;
        assert_eq!(arrived + dropped, sent, "{arm}: what is sent arrives or is dropped");
        let delivered =
            trace.entries.iter().rev().find_map(|entry| entry.state).map(|state| state.delivered);
        assert_eq!(delivered, Some(3_000_000), "{arm}: the receiver has it all in order");
        let exit = trace.entries.iter().find_map(|entry| {
            if let What::Exit(exit) = entry.what { Some(exit.reason.name()) } else { None }
        });
        assert_eq!(
            exit,
            row.exit.as_ref().map(|exit| exit.reason),
            "{arm}: the exit is the one that the kernel reported"
        );
    }
}
