//! `firstflight compare` from the outside: what it prints, what its JSON holds, and that both are
//! the same every time.
#![expect(clippy::float_cmp, reason = "the numbers compared are integers, or the same computation")]

use crate::command;

use command::{interrupted, refused, run, well};
use serde_json::Value;

/// Keys of the document, in order.
const DOCUMENT: &[&str] = &["firstflight", "experiment", "warnings", "summary", "results"];

const EXPERIMENT: &[&str] = &[
    "testbed",
    "transport",
    "detection",
    "path",
    "path_name",
    "rate_mbps",
    "rtt_ms",
    "queue_bytes",
    "bdp_bytes",
    "bytes",
    "arms",
    "seed",
    "repeat",
    "stopped",
    "iw",
    "burst",
    "datagram_bytes",
    "packet_bytes",
    "ack_every",
    "max_ack_delay_ms",
    "limit_s",
];

/// Fields of a trial that the design documents, and `arm_full`, which spells the arm out.
const TRIAL: &[&str] = &[
    "arm",
    "arm_full",
    "path",
    "testbed",
    "seed",
    "complete",
    "ttlb_ms",
    "acked_ms",
    "ideal_ms",
    "vs_ideal",
    "delivered_bytes",
    "goodput_mbps",
    "packets_sent",
    "packets_lost",
    "loss_ratio",
    "retransmitted_bytes",
    "retransmissions",
    "lost_retransmissions",
    "rtos",
    "spurious_losses",
    "limited_by",
    "ecn_failure",
    "handshake_ms",
    "limited",
    "drops",
    "recoveries",
    "recoveries_timed_out",
    "slow_starts_after_recovery",
    "recoveries_below_ssthresh",
    "full_bdp_bytes",
    "exit",
    "episodes",
    "queue_ms",
    "loaded_responsiveness",
];

const EXIT: &[&str] = &[
    "reason",
    "time_ms",
    "rounds",
    "cwnd",
    "cwnd_after",
    "inflight",
    "bdp_ratio",
    "estimate",
    "capped",
];

const LIMITED: &[&str] = &["cwnd", "pacing", "maxrate", "rwnd", "sndbuf", "app"];

const EPISODE: &[&str] = &[
    "start_ms",
    "end_ms",
    "cwnd_before",
    "inflight",
    "acked_bytes",
    "lost_bytes",
    "silence_ms",
    "cwnd_after",
    "repaired_ms",
];

const QUEUE: &[&str] = &["p50", "p99", "max"];

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> =
        value.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[track_caller]
fn assert_keys(value: &Value, expected: &[&str], what: &str) {
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(keys(value), expected, "the fields of {what}");
}

#[track_caller]
fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} is {}, not a number", value[key]))
}

fn results(document: &Value) -> &Vec<Value> {
    document["results"].as_array().expect("a list of results")
}

/// The rows of the table: what stands between the second and the third rule.
fn table_rows(text: &str) -> Vec<&str> {
    let ruled: Vec<usize> = text
        .lines()
        .enumerate()
        .filter(|(_, line)| line.starts_with('─'))
        .map(|(index, _)| index)
        .collect();
    assert_eq!(ruled.len(), 3, "the table has a rule above, under the header and below: {text}");
    text.lines().take(ruled[2]).skip(ruled[1] + 1).collect()
}

#[test]
fn without_arguments_six_arms_take_off_on_the_default_path() {
    let run = well(&["compare"]);
    let arms: Vec<&str> =
        table_rows(&run.stdout).iter().filter_map(|row| row.split_whitespace().next()).collect();
    assert_eq!(arms, ["slowstart", "hystart", "hystart++", "rapid", "plumb", "oracle"]);
    for word in [
        "rapid-slide: rate=100Mbit,rtt=30ms,queue=30ms",
        "3.00 MB",
        "completion time",
        "vs ideal",
        "goodput",
        "loss",
        "queueing delay p99",
        "seed 1",
    ] {
        assert!(run.stdout.contains(word), "the table should say `{word}`: {}", run.stdout);
    }
    assert!(run.stdout.starts_with("plumb is fastest"), "{}", run.stdout);
    let said = run.said();
    assert!(said.len() == 1 && said[0].starts_with("note: timing matters: "), "{said:?}");
}

#[test]
fn the_best_value_of_each_judged_column_is_marked() {
    let run = well(&["compare"]);
    let marks: usize = table_rows(&run.stdout).iter().map(|row| row.matches('*').count()).sum();
    let judged =
        ["completion time", "vs ideal", "goodput", "loss", "retransmitted", "queueing delay p99"]
            .len();
    assert!(
        marks >= judged,
        "{judged} columns are judged and {marks} values are marked: {}",
        run.stdout
    );
}

#[test]
fn json_holds_the_documented_fields_and_no_others() {
    let document = well(&["compare", "--bytes", "10MB", "--json", "-"]).json();
    assert_keys(&document, DOCUMENT, "the document");
    assert_keys(&document["experiment"], EXPERIMENT, "the experiment");
    assert_eq!(results(&document).len(), 6, "one result per arm");
    let mut episodes = 0;
    for row in results(&document) {
        let arm = row["arm"].as_str().expect("a name");
        assert_keys(row, TRIAL, arm);
        assert_keys(&row["exit"], EXIT, &format!("the exit of {arm}"));
        assert_keys(&row["limited"], LIMITED, &format!("limited of {arm}"));
        let shares = LIMITED.iter().map(|key| number(&row["limited"], key)).sum::<f64>();
        assert!((shares - 1.0).abs() < 1e-9, "the reasons of {arm} add up to {shares}, not to 1");
        assert_keys(&row["queue_ms"], QUEUE, &format!("queue_ms of {arm}"));
        for episode in row["episodes"].as_array().expect("a list") {
            assert_keys(episode, EPISODE, &format!("an episode of {arm}"));
            episodes += 1;
        }
    }
    assert!(episodes > 0, "on this path somebody loses packets");
}

/// Every number agrees with those it follows from.
#[test]
fn json_values_agree_with_each_other() {
    let document = well(&["compare", "--bytes", "10MB", "--json", "-"]).json();
    let experiment = &document["experiment"];
    assert_eq!(number(experiment, "bytes"), 10e6);
    assert_eq!(number(experiment, "bdp_bytes"), 100e6 / 8.0 * 0.030, "100 Mbit/s times 30 ms");
    assert_eq!(
        experiment["queue_bytes"], experiment["bdp_bytes"],
        "a queue of 30 ms on a path of 30 ms"
    );
    for row in results(&document) {
        let arm = &row["arm"];
        assert_eq!(row["complete"], true, "{arm} finishes");
        assert_eq!(row["testbed"], "sim");
        let (ttlb, acked, ideal) =
            (number(row, "ttlb_ms"), number(row, "acked_ms"), number(row, "ideal_ms"));
        // A full packet of 1500 bytes at 100 Mbit/s takes 120 us and an ACK of 64 bytes at ten
        // times the rate 0.512 us; the two ways share the rest.
        assert_eq!(
            ideal,
            (30.0 - 0.12 - 0.000_512) / 2.0 + 10e6 * 8.0 / 100e3,
            "one way and 10 MB at 100 Mbit/s"
        );
        assert!(
            ttlb + 14.9 < acked && acked < ttlb + 14.95 + 25.0,
            "{arm}: the return path and a delayed ACK lie between {ttlb} and {acked} ms"
        );
        assert!(ttlb > ideal, "{arm} took {ttlb} ms and nobody beats {ideal} ms");
        assert!(
            (number(row, "vs_ideal") - ttlb / ideal).abs() < 1e-9,
            "{arm}: vs_ideal is ttlb over ideal"
        );
        let goodput = number(row, "goodput_mbps");
        assert!(
            (goodput - 10e6 * 8e-3 / ttlb).abs() < 1e-9,
            "{arm}: goodput is the object over the completion time"
        );
        let (sent, lost) = (number(row, "packets_sent"), number(row, "packets_lost"));
        assert!(sent * 1472.0 >= 10e6 && lost < sent, "{arm}: {sent} packets, {lost} lost");
        assert!(
            (number(row, "loss_ratio") - lost / sent).abs() < 1e-12,
            "{arm}: loss_ratio is lost over sent"
        );
        assert!(
            number(row, "retransmitted_bytes") <= lost * 1472.0,
            "{arm} repeats no more than it lost"
        );
        assert_eq!(number(row, "spurious_losses"), 0.0, "{arm}: nothing is reordered here");
        assert_eq!(number(row, "full_bdp_bytes"), 750_000.0, "BDP plus queue");
        let exit = &row["exit"];
        assert!(
            (number(exit, "bdp_ratio") - number(exit, "cwnd") / 375e3).abs() < 1e-9,
            "{arm}: bdp_ratio is the window over the BDP"
        );
        assert!(
            number(exit, "time_ms") > 30.0 && number(exit, "time_ms") < ttlb,
            "{arm} leaves startup within the transfer"
        );
        let [p50, p99, max] = ["p50", "p99", "max"].map(|key| number(&row["queue_ms"], key));
        assert!(
            p50 <= p99 && p99 <= max && max < 30.2,
            "{arm}: {p50}, {p99} and {max} ms in a queue of 30 ms"
        );
        let recoveries = number(row, "recoveries");
        assert_eq!(
            Some(recoveries),
            row["episodes"].as_array().map(|list| list.len() as f64),
            "{arm}: every recovery is told as an episode"
        );
        assert!(
            number(row, "recoveries_below_ssthresh") <= recoveries,
            "{arm}: some of {recoveries} recoveries"
        );
        let mut before = 0.0;
        for episode in row["episodes"].as_array().expect("a list") {
            let (start, end) = (number(episode, "start_ms"), number(episode, "end_ms"));
            assert!(
                before <= start && start < end && end <= acked,
                "{arm}: an episode from {start} to {end} ms after one that ended at {before}"
            );
            assert!(
                number(episode, "cwnd_before") > 0.0 && number(episode, "cwnd_after") > 0.0,
                "{arm}: windows are never empty"
            );
            before = end;
        }
        assert_eq!(
            lost == 0.0,
            row["episodes"] == Value::Array(vec![]),
            "{arm}: losses are repaired in episodes, and {lost} were lost"
        );
    }
}

#[test]
fn the_oracle_loses_nothing_where_the_queue_holds_a_bdp() {
    let document = well(&["compare", "--arms", "oracle,slowstart", "--json", "-"]).json();
    assert_eq!(number(&results(&document)[0], "packets_lost"), 0.0, "the oracle's losses");
    assert!(
        number(&results(&document)[1], "packets_lost") > 0.0,
        "slow start overshoots on the same path"
    );
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    let plain =
        ["compare", "--json", "-", "--repeat", "3", "--path", "leo,loss=0.1%", "--bytes", "2MB"];
    let first = well(&plain).stdout;
    assert_eq!(first, well(&plain).stdout, "two runs");
    for threads in ["1", "2", "7"] {
        let run = well(&[&plain[..], &["--threads", threads]].concat());
        assert_eq!(first, run.stdout, "{threads} threads");
    }
}

#[test]
fn another_seed_draws_other_losses() {
    let lost = |seed: &str| {
        let run = well(&[
            "compare",
            "--arms",
            "slowstart",
            "--path",
            "leo,loss=1%",
            "--seed",
            seed,
            "--repeat",
            "1",
            "--json",
            "-",
        ]);
        results(&run.json())[0]["ttlb_ms"].clone()
    };
    assert_ne!(lost("1"), lost("2"));
    assert_eq!(
        lost("18446744073709551615"),
        lost("18446744073709551615"),
        "the largest seed is a seed"
    );
}

#[test]
fn repeats_count_the_seed_up_and_the_table_shows_the_median() {
    let arguments = [
        "compare",
        "--arms",
        "slowstart,hystart++",
        "--repeat",
        "5",
        "--seed",
        "7",
        "--bytes",
        "2MB",
    ];
    let document = well(&[&arguments[..], &["--json", "-"]].concat()).json();
    let seeds: Vec<u64> =
        results(&document).iter().filter_map(|row| row["seed"].as_u64()).collect();
    assert_eq!(
        seeds,
        [7, 8, 9, 10, 11, 7, 8, 9, 10, 11],
        "arms in order, seeds in order within each"
    );
    let mut times: Vec<f64> =
        results(&document)[..5].iter().map(|row| number(row, "ttlb_ms")).collect();
    times.sort_by(f64::total_cmp);
    assert!(
        times[4] - times[0] > 0.0 && times[4] < times[0] + 100.0,
        "up to half a millisecond more round trip makes {times:?}"
    );

    let table = well(&arguments).stdout;
    assert!(table.contains("medians of 5 trials, seeds 7 to 11"), "{table}");
    let rows = table_rows(&table);
    assert_eq!(rows.len(), 2, "a row per arm: {table}");
    assert!(
        rows[0].contains(&format!("{:.1}", times[2])),
        "the median {:.1} stands in `{}`",
        times[2],
        rows[0]
    );
}

#[test]
fn arms_take_options_and_commas_in_parentheses_do_not_separate_them() {
    let arms = "rapid(jump=off,spread=on)/reno(beta=0.7),hystart++(css=off)/cubic/immediate@(iw=30,pace=off)";
    let document = well(&["compare", "--arms", arms, "--json", "-"]).json();
    let names: Vec<&str> =
        results(&document).iter().filter_map(|row| row["arm"].as_str()).collect();
    assert_eq!(
        names,
        [
            "rapid(jump=off,spread=on)/reno(beta=0.7)",
            "hystart++(css=off)/cubic/immediate@(iw=30,pace=off)"
        ]
    );
    assert_eq!(
        results(&document)[0]["arm_full"],
        "rapid(jump=off,spread=on)/reno(beta=0.7)/prr",
        "what is left out is spelled out"
    );
}

#[test]
fn an_option_changes_what_its_arm_does() {
    let document =
        well(&["compare", "--arms", "slowstart,slowstart@(iw=40),slowstart/reno", "--json", "-"])
            .json();
    let times: Vec<f64> = results(&document).iter().map(|row| number(row, "ttlb_ms")).collect();
    assert!(
        times[1] < times[0],
        "an initial window of 40 packets saves round trips: {} and {} ms",
        times[1],
        times[0]
    );
    assert_ne!(times[2], times[0], "Reno is not CUBIC");
    let warnings = document["warnings"].as_array().expect("warnings");
    assert!(
        warnings
            .iter()
            .all(|warning| warning.as_str().is_some_and(|text| text.starts_with("timing matters"))),
        "three different arms: {warnings:?}"
    );
}

#[test]
fn the_initial_window_option_holds_for_arms_that_name_none() {
    let document =
        well(&["compare", "--arms", "slowstart,slowstart@(iw=10)", "--iw", "40", "--json", "-"])
            .json();
    let times: Vec<f64> = results(&document).iter().map(|row| number(row, "ttlb_ms")).collect();
    assert!(times[0] < times[1], "40 packets take {} ms and 10 packets {} ms", times[0], times[1]);
}

#[test]
fn every_detection_of_tcp_takes_off() {
    for detection in ["rack", "linux", "linux26", "sack6675", "sack3517", "reno", "windows"] {
        let arguments = [
            "compare",
            "--transport",
            "tcp",
            "--detection",
            detection,
            "--path",
            "4g",
            "--bytes",
            "3MB",
            "--repeat",
            "1",
            "--json",
            "-",
        ];
        let document = well(&arguments).json();
        assert_eq!(document["experiment"]["transport"], "tcp");
        assert_eq!(document["experiment"]["detection"], detection);
        assert_eq!(results(&document).len(), 6, "the default arms with {detection}");
        assert_eq!(
            document,
            well(&[&arguments[..], &["--threads", "1"]].concat()).json(),
            "{detection} on one thread"
        );
    }
    let document = well(&["compare", "--json", "-"]).json();
    assert_eq!(document["experiment"]["transport"], "quic", "the default");
    assert_eq!(document["experiment"]["detection"], "quic", "QUIC has its own");
}

#[cfg(feature = "quic")]
#[test]
fn flows_of_a_stack_share_a_bottleneck_with_its_own_controller() {
    let together = [
        "compare", "--on", "quic", "--flows", "2", "--apart", "300ms", "--bytes", "2MB",
        "--repeat", "1",
    ];
    let shared = [&together[..], &["--cross", "noq:cubic", "--arms", "rapid,noq:newreno"]].concat();
    let document = well(&[&shared[..], &["--json", "-"]].concat()).json();
    assert_eq!(document["experiment"]["testbed"], "quic");
    assert_eq!(document["experiment"]["cross"][0], "noq:cubic");
    for trial in results(&document) {
        let flows = trial["flows"].as_array().unwrap();
        let roles: Vec<_> = flows.iter().map(|flow| flow["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["cross", "arm", "arm"]);
        assert!(trial["complete"] == true && trial["jain"].as_f64().unwrap() > 0.3, "{trial}");
        let starts: Vec<_> = flows.iter().map(|flow| flow["start_ms"].as_f64().unwrap()).collect();
        // Handshakes wait in the queue: two round trips with 30 ms more at most.
        for (start, planned) in starts.iter().zip([0.0, 300.0, 600.0]) {
            assert!((planned - 0.1..planned + 65.0).contains(start), "{starts:?}");
        }
    }
    assert_eq!(document, well(&[&shared[..], &["--json", "-", "--threads", "1"]].concat()).json());

    let web = [&together[..], &["--app", "web:3:1s"]].concat();
    refused(&[(&web, "all flows need the same distance and carry `bulk`")]);
    let varies = well(&[&together[..], &["--arms", "quinn:bbr"]].concat());
    assert!(varies.stderr.contains("quinn:bbr is not repeatable"), "{}", varies.stderr);
}

#[test]
fn identical_arms_are_pointed_out() {
    let twins = ["compare", "--arms", "rapid,rapidstart"];
    let run = well(&twins);
    let told = "rapid and rapidstart behaved identically: nothing on this path tells them apart";
    assert_eq!(run.said()[0], format!("note: {told}"));
    let document = well(&[&twins[..], &["--json", "-"]].concat()).json();
    assert_eq!(document["warnings"][0], told, "programs hear it, too");
}

/// The second connection of a client of a satellite, over both transports.
#[test]
fn a_connection_that_resumes_starts_from_what_the_one_before_it_has_learnt() {
    for transport in ["quic", "tcp"] {
        let compare = |more: &[&str]| {
            let common = [
                "compare",
                "--transport",
                transport,
                "--path",
                "rate=20Mbit,rtt=600ms,queue=1bdp",
                "--bytes",
                "1MB",
                "--arms",
                "slowstart@(pace=on),careful@(pace=on)",
                "--json",
                "-",
            ];
            well(&[&common[..], more].concat()).json()
        };
        let document = compare(&["--resume"]);
        let [slow, careful] = &results(&document)[..] else { panic!("two rows: {document}") };
        let full = careful["arm_full"].as_str().expect("text");
        assert!(full.starts_with("careful(saved=") && full.contains(",rtt=600"), "{full}");
        assert_eq!(careful["arm"], "careful@(pace=on)", "as it was asked for");
        // After 1 MB half of the last window is saved, and half of that is used: two round trips.
        let (before, after) = (number(slow, "ttlb_ms"), number(careful, "ttlb_ms"));
        assert!(before - after > 1100.0, "{transport}: {after} ms resumed, {before} ms not");
        assert_eq!(document["experiment"]["resume"], "same");
        assert!(document["warnings"].to_string().contains("the connection before it left"));
        // Another path: slow start to the byte.
        let other = compare(&["--resume=rate=20Mbit,rtt=1300ms,queue=1bdp"]);
        assert_eq!(number(&results(&other)[1], "ttlb_ms"), before, "{transport}: half of the RTT");
    }
}

#[test]
fn what_cannot_resume_is_said_in_one_line() {
    refused(&[
        (&["compare", "--resume", "--arms", "slowstart"], "`careful`"),
        (&["compare", "--resume=nowhere", "--arms", "careful"], "nowhere"),
        (&["compare", "--resume", "--arms", "careful", "--flows", "2"], "one flow after another"),
    ]);
}

#[test]
fn a_trial_that_does_not_finish_is_shown_and_ends_with_1() {
    let slow = ["compare", "--limit", "1", "--bytes", "1GB", "--arms", "slowstart,oracle"];
    let run = run(&slow);
    assert_eq!(run.code, 1, "a result fell short: {}", run.stderr);
    assert_eq!(table_rows(&run.stdout).len(), 2, "the table is there all the same");
    let told = "2 of 2 trials did not finish within the limit of 1 s of simulated time";
    assert!(run.stderr.contains(told), "`{}` should say `{told}`", run.stderr);
    assert!(run.stdout.contains(">= 1 s") && !run.stdout.contains("1 s ("), "{}", run.stdout);

    let run = command::run(&[&slow[..], &["--json", "-"]].concat());
    assert_eq!(run.code, 1);
    for row in results(&run.json()) {
        assert_eq!(row["complete"], false);
        for field in ["ttlb_ms", "acked_ms", "vs_ideal"] {
            assert_eq!(row[field], Value::Null, "{field} does not apply to {}", row["arm"]);
        }
        let delivered = number(row, "delivered_bytes");
        assert!(
            delivered > 1e6 && delivered < 12.5e6,
            "{delivered} B arrived at {} in a second of 100 Mbit/s",
            row["arm"]
        );
        assert!(
            (number(row, "goodput_mbps") - delivered * 8e-6).abs() < 1e-9,
            "goodput is what arrived over the second"
        );
    }
}

/// A trace that delivers its first packets and then nothing for eleven days.
#[test]
fn a_path_that_falls_silent_stops_by_the_limit_and_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("silence.trace"), "1\n2\n3\n").expect("a file");
    let run = command::run_in(
        &folder,
        &[
            "compare",
            "--path",
            "rate=trace:silence.trace,once,rtt=30ms,queue=100pkt",
            "--arms",
            "slowstart",
            "--limit",
            "20",
        ],
    );
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(
        run.stderr
            .contains("1 of 1 trials did not finish within the limit of 20 s of simulated time"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_path_that_never_delivers_stops_by_the_limit_and_says_so() {
    let lossy = "rapid-slide,loss=99.9999999%";
    refused(&[(
        &["compare", "--path", lossy, "--arms", "slowstart,rapid", "--limit", "20"],
        "within the limit of 20 s of simulated time",
    )]);
}

#[test]
fn an_object_of_one_byte_is_an_object() {
    for path in ["rapid-slide", "geo", "5g"] {
        let document = well(&["compare", "--path", path, "--bytes", "1B", "--json", "-"]).json();
        for row in results(&document) {
            assert_eq!(row["packets_sent"], 1, "{} on {path}", row["arm"]);
            assert_eq!(row["exit"], Value::Null, "startup of {} never ends on {path}", row["arm"]);
        }
    }
}

#[test]
fn several_flows_and_cross_traffic_are_a_trial_with_a_row_for_each() {
    let asked = [
        "compare",
        "--flows",
        "2",
        "--apart",
        "300ms",
        "--jitter",
        "0ms",
        "--cross",
        "slowstart/reno",
        "--bytes",
        "2MB",
        "--arms",
        "slowstart,rapid",
        "--json",
        "-",
    ];
    let run = well(&asked);
    let document = run.json();
    assert_eq!(
        (&document["experiment"]["flows"], &document["experiment"]["apart_ms"]),
        (&2.into(), &300.0.into())
    );
    assert_eq!(results(&document).len(), 2, "an arm, a trial");
    for trial in results(&document) {
        assert_keys(
            trial,
            &["arm", "seed", "complete", "jain", "shared_ms", "goodput_mbps", "flows"],
            "a trial of several flows",
        );
        let flows = trial["flows"].as_array().expect("a list of flows");
        let starts: Vec<f64> = flows.iter().map(|flow| number(flow, "start_ms")).collect();
        assert_eq!(starts[0], 0.0, "cross traffic first, then flow by flow");
        // A handshake waits behind what cross traffic has in the queue, which is 30 ms long.
        assert!(
            starts[1] >= 300.0 && starts[1] <= 330.0 && starts[2] >= 600.0 && starts[2] <= 630.0,
            "{starts:?}"
        );
        assert_eq!(flows[0]["role"], "cross");
        assert!(
            flows[1..].iter().all(|flow| flow["role"] == "arm" && flow["complete"] == true),
            "both flows are through: {trial}"
        );
    }
    assert_eq!(well(&asked).stdout, run.stdout, "the same bytes every time");
    let late =
        well(&["compare", "--flows", "3", "--bytes", "50kB", "--arms", "slowstart", "--json", "-"])
            .json();
    assert_eq!(late["experiment"]["jitter_ms"], 1.0);
    let starts: Vec<f64> = results(&late)[0]["flows"]
        .as_array()
        .expect("flows")
        .iter()
        .map(|flow| number(flow, "start_ms"))
        .collect();
    assert!(
        starts.iter().all(|start| *start > 0.0 && *start <= 1.0) && starts[0] != starts[1],
        "delayed at random: {starts:?}"
    );
    let table =
        well(&["compare", "--app", "web:3:100ms", "--bytes", "50kB", "--arms", "slowstart"]);
    assert!(
        table.stdout.contains("web:3:100ms") && table.stdout.contains("Jain"),
        "{}",
        table.stdout
    );
}

#[test]
fn what_several_flows_cannot_be_is_said_in_one_line() {
    refused(&[
        (&["compare", "--flows", "0"], "is zero"),
        (&["compare", "--apart", "5"], "the unit is missing"),
        (&["compare", "--jitter", "1"], "the unit is missing"),
        (&["compare", "--app", "web:3"], "allowed: bulk, web:COUNT:PAUSE"),
        (&["compare", "--app", "video:1MB:64kB:0s"], "EVERY is not a time above 0"),
        (&["compare", "--flows", "2", "--report", "x.html"], "--report: shows one flow alone"),
    ]);
}

#[test]
fn a_limit_takes_units() {
    let limit = |text: &str| {
        let run = run(&[
            "compare",
            "--bytes",
            "1GB",
            "--arms",
            "slowstart",
            "--limit",
            text,
            "--json",
            "-",
        ]);
        number(&run.json()["experiment"], "limit_s")
    };
    for (text, seconds) in [("500ms", 0.5), ("2s", 2.0), ("0.02min", 1.2), ("1", 1.0)] {
        assert_eq!(limit(text), seconds, "--limit {text}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_shows_the_repeats_that_are_done() {
    let base = ["compare", "--repeat", "100000", "--bytes", "1MB", "--arms", "slowstart,rapid"];
    let stopped = interrupted(4, &[&base[..], &["--threads", "1", "--json", "-"]].concat());
    let (json, said) = (stopped.json(), &stopped.stderr);
    let repeat = json["experiment"]["repeat"].as_u64().expect("repeats");
    let rows = json["results"].as_array().expect("results");
    assert!((1..100_000).contains(&repeat), "{repeat}");
    assert_eq!(rows.len() as u64, 2 * repeat, "every arm has as many");
    assert!(said.contains(&format!("stopped: {repeat} of 100000 trials per arm")), "{said}");
    // The same seeds as those of a run that asks for so many.
    assert_eq!(rows[0]["seed"], rows[rows.len() / 2]["seed"]);
}
