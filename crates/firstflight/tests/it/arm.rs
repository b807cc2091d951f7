//! Names of arms: parsing and printing are inverse, and what cannot be meant is refused with a
//! reason.

use crate::rig::{MSS, Rig};

use firstflight::arm::SenderParams;
use firstflight::arm::{
    AVOIDANCES, Arm, ArmError, Part, RECOVERIES, SHORT_NAMES, STARTUPS, split_list,
};
use firstflight::controller::Config;
use firstflight::options::OptionDoc;
use firstflight::{Seq, Time};
use proptest::prelude::*;

fn parse(text: &str) -> Arm {
    Arm::parse(text).unwrap_or_else(|error| panic!("`{text}` should be an arm: {error}"))
}

#[test]
fn canonical_names() {
    // (what is typed, what it means in full)
    let rows = [
        ("slowstart", "slowstart/cubic/prr"),
        ("rapid", "rapid/cubic/prr"),
        ("rapidstart", "rapid/cubic/prr"),
        ("rapid-nojump", "rapid(jump=off)/cubic/prr"),
        ("rapid-nojump/reno", "rapid(jump=off)/reno/prr"),
        ("rapid(k=11/18)", "rapid(k=11/18)/cubic/prr"),
        ("rapid(k=2/3)", "rapid/cubic/prr"),
        ("rapid(jump=off)/reno(beta=0.7)", "rapid(jump=off)/reno(beta=0.7)/prr"),
        ("rapid(jump=60)", "rapid(jump=60)/cubic/prr"),
        (
            "hystart++(css=off)/cubic/prr@(iw=30,pace=on)",
            "hystart++(css=off)/cubic/prr@(iw=30,pace=on)",
        ),
        ("hystart++-draft03", "hystart++(mode=lss)/cubic/prr"),
        ("hystart", "hystart/cubic(floor20=on)/prr"),
        ("hystart/cubic", "hystart/cubic/prr"),
        ("hystart(profile=gvisor,train=off)", "hystart(profile=gvisor,train=off)/cubic/prr"),
        (" slowstart / reno / immediate @( iw = 30 )", "slowstart/reno/immediate@(iw=30)"),
        ("slowstart/reno(beta=7/10)/immediate", "slowstart/reno(beta=0.7)/immediate"),
        ("slowstart/reno(beta=999/1000)", "slowstart/reno(beta=0.999)/prr"),
        ("slowstart/reno(beta=9999/16384)", "slowstart/reno(beta=9999/16384)/prr"),
        ("slowstart/reno(beta=32767/50000)", "slowstart/reno(beta=0.65534)/prr"),
        ("slowstart/cubic(first=0.5)/prr(mode=crb)", "slowstart/cubic(first=0.5)/prr(mode=crb)"),
        ("slowstart/reno/halving(moderation=off)", "slowstart/reno/halving(moderation=off)"),
        ("oracle(exit=375000)", "oracle(exit=375000)/cubic/prr"),
        ("slowstart/cubic/prr(safeack=2015)", "slowstart/cubic/prr(safeack=2015)"),
        ("slowstart/cubic/prr(safeack=9937,mode=linux)", "slowstart/cubic/prr(mode=linux)"),
        (
            "slowstart/cubic/prr(mode=linux,safeack=2015,guard=on)",
            "slowstart/cubic/prr(mode=linux,safeack=2015,guard=on)",
        ),
        (
            "slowstart@(early=ab,detection=linux26)",
            "slowstart/cubic/prr@(detection=linux26,early=ab)",
        ),
        ("slowstart@(maxrate=20Mbit)", "slowstart/cubic/prr@(maxrate=20Mbit)"),
        ("slowstart@(maxrate=20000kbit,iw=5)", "slowstart/cubic/prr@(iw=5,maxrate=20Mbit)"),
        ("slowstart@(maxrate=2.50Gbit)", "slowstart/cubic/prr@(maxrate=2.5Gbit)"),
        ("slowstart@(maxrate=1000000bit)", "slowstart/cubic/prr@(maxrate=1Mbit)"),
        ("slowstart@(maxrate=12.345678901Gbit)", "slowstart/cubic/prr@(maxrate=12.345678896Gbit)"),
        ("slowstart@(early=naive)", "slowstart/cubic/prr@(early=naive)"),
        ("slowstart@(detection=linux26,early=off)", "slowstart/cubic/prr@(detection=linux26)"),
    ];
    for (typed, full) in rows {
        assert_eq!(parse(typed).to_string(), full, "`{typed}` in full");
        assert_eq!(parse(full), parse(typed), "`{full}` read back");
    }
}

#[test]
fn a_fraction_has_six_digits_at_most_on_either_side() {
    assert_eq!(parse("slowstart/reno(beta=100000/200000)"), parse("slowstart/reno(beta=0.5)"));
    for wrong in ["1000000/2000000", "100000/0200000", "0.5000000", "+1/2", "/2", "1/"] {
        let text = format!("slowstart/reno(beta={wrong})");
        let refused = Arm::parse(&text);
        assert!(refused.is_err(), "`{wrong}` is refused: {refused:?}");
    }
}

/// Shows NS3 cubic-floor.
#[test]
fn hystart_of_ns3_brings_the_bound_of_its_cubic() {
    for (typed, full) in [
        ("hystart-ns3", "hystart(profile=ns3)/cubic(floor20=on)/prr"),
        ("hystart(profile=ns3,delay=off)", "hystart(profile=ns3,delay=off)/cubic(floor20=on)/prr"),
        ("hystart-ns3/cubic", "hystart(profile=ns3)/cubic/prr"),
        ("hystart-gvisor", "hystart(profile=gvisor)/cubic/prr"),
    ] {
        assert_eq!(parse(typed).to_string(), full, "`{typed}` in full");
    }
}

#[test]
fn refusals_say_what_is_wrong() {
    let rows = [
        ("", "an arm is missing between two commas"),
        ("warp", "unknown arm or startup `warp`"),
        ("slowstart/vegas", "unknown congestion avoidance `vegas`"),
        ("slowstart/cubic/hope", "unknown recovery `hope`"),
        (
            "slowstart/cubic/prr/more",
            "arm `slowstart/cubic/prr/more`: at most startup/avoidance/recovery",
        ),
        ("rapid(k=2/3", "arm `rapid(k=2/3`: parentheses do not match"),
        ("rapid)", "arm `rapid)`: parentheses do not match"),
        ("rapid(k)", "`k` is not an option of the form key=value"),
        (
            "rapid(speed=9)",
            "rapid has no option `speed`; it has k, jump, threshold, spread, recovery, hystart, hint",
        ),
        ("rapid(k=3/2)", "rapid: `k` takes a fraction below 1, not `3/2`"),
        ("slowstart@(iw=0)", "the sender: `iw` takes 1 to 1000 packets, not `0`"),
        ("slowstart@iw=3", "arm `slowstart@iw=3`: parentheses do not match"),
        (
            "slowstart/reno(beta=1.0)",
            "reno: `beta` takes 0.05 to below 1, at most four decimals, not `1.0`",
        ),
        (
            "hystart(train=off,delay=off)",
            "hystart with both detectors off is slow start: say slowstart",
        ),
        (
            "slowstart/cubic/prr(mode=crb,safeack=2015)",
            "prr: `safeack` takes 9937, 2015 (modes 9937 and linux), not `2015`",
        ),
        (
            "slowstart/reno(beta=0.123457)",
            "reno: `beta` takes 0.05 to below 1, at most four decimals, not `0.123457`",
        ),
        (
            "slowstart@(maxrate=20)",
            "the sender: `maxrate` takes a rate such as 20Mbit, 1kbit to 1000Gbit, not `20`",
        ),
        (
            "slowstart@(maxrate=2Tbit)",
            "the sender: `maxrate` takes a rate such as 20Mbit, 1kbit to 1000Gbit, not `2Tbit`",
        ),
        ("slowstart@(early=c)", "the sender: `early` takes off, naive, a, b, ab, not `c`"),
        (
            "slowstart@(detection=quic)",
            "the sender: `detection` takes rack, linux, linux26, sack6675, sack3517, reno, windows, not `quic`",
        ),
        (
            "slowstart@(detection=rack,early=ab)",
            "early retransmit goes with detection=linux26; the others have none, and in RACK's place it would be done twice",
        ),
        (
            "rapid@(pace=off)",
            "a jump spreads its window over a round trip and needs the pacer: use rapid(jump=off) or drop pace=off",
        ),
        ("bbr@(pace=off)", "bbr finds the rate by pacing: drop pace=off"),
        (
            "careful(saved=300,rtt=600)@(pace=off)",
            "careful spreads its jump over a round trip and needs the pacer: drop pace=off",
        ),
        (
            "jumpstart@(pace=off)",
            "jumpstart spreads its window over a round trip and needs the pacer: drop pace=off",
        ),
    ];
    for (typed, line) in rows {
        match Arm::parse(typed) {
            Ok(arm) => panic!("`{typed}` should be refused, was read as {arm}"),
            Err(error) => assert_eq!(error.to_string(), line, "refusal of `{typed}`"),
        }
    }
}

#[test]
fn commas_inside_parentheses_do_not_separate_arms() {
    let list: Vec<&str> =
        split_list("rapid(k=2/3,jump=off),slowstart@(iw=30,pace=off),oracle").collect();
    assert_eq!(list, ["rapid(k=2/3,jump=off)", "slowstart@(iw=30,pace=off)", "oracle"]);
}

#[test]
fn every_name_in_the_catalogue_parses_and_makes_a_controller() {
    let names =
        STARTUPS.iter().map(|part| part.name).chain(SHORT_NAMES.iter().map(|short| short.name));
    for name in names {
        let arm = parse(name);
        for config in [Config::quic(1472), Config::tcp(1448)] {
            let controller = arm.with_oracle(375_000).controller(config, Time(0), Seq(0));
            assert!(
                controller.cwnd() >= 2 * config.mss,
                "{name} starts with a window of {}",
                controller.cwnd()
            );
        }
    }
    for avoidance in AVOIDANCES {
        for recovery in RECOVERIES {
            parse(&format!("slowstart/{}/{}", avoidance.name, recovery.name));
        }
    }
}

/// The ends of a range that help gives, `0.05 to below 1` say: the smallest value that is allowed, the
/// largest, and the values just outside, each as text.
fn ends(values: &str) -> Option<([String; 2], [String; 2])> {
    let (before, after) = values.split_once(" to ")?;
    let low = before.rsplit(' ').next()?;
    let (after, below) = after.strip_prefix("below ").map_or((after, false), |rest| (rest, true));
    let high = after.split([' ', ',']).next()?;
    let above = before.ends_with("above 0");
    // In steps of a ten-thousandth where there is a point, else of one.
    let scale = if low.contains('.') || high.contains('.') { 10_000.0 } else { 1.0 };
    let steps = |text: &str| text.parse::<f64>().ok().map(|value| (value * scale).round() as u64);
    let text = |steps: u64| match scale {
        1.0 => steps.to_string(),
        _ => format!("{}.{:04}", steps / 10_000, steps % 10_000),
    };
    let first = steps(low)? + u64::from(above);
    let last = steps(high)? - u64::from(below);
    // Below zero nothing can be written.
    let under = first.checked_sub(1).map_or("-1".to_owned(), text);
    Some(([text(first), text(last)], [under, text(last + 1)]))
}

/// An option accepts the values that its help states, to the last step.
#[test]
fn every_range_is_the_one_that_help_gives() {
    let mut checked = 0;
    for (parts, before) in [
        (STARTUPS, ""),
        (AVOIDANCES, "slowstart/"),
        (RECOVERIES, "slowstart/cubic/"),
        (SENDER, "slowstart"),
    ] {
        for part in parts {
            for doc in part.options {
                let Some((inside, outside)) = ends(doc.values) else { continue };
                for (values, allowed) in [(inside, true), (outside, false)] {
                    for value in values {
                        let text = format!("{before}{}({}={value})", part.name, doc.key);
                        let parsed = Arm::parse(&text);
                        let refused = matches!(parsed, Err(ArmError::BadValue { .. }));
                        assert_eq!(refused, !allowed, "`{text}`, of {}: {parsed:?}", doc.values);
                        checked += 1;
                    }
                }
            }
        }
    }
    assert!(checked > 200, "{checked} values");
}

/// ABBA computes with a share of at most three digits on either side, DCTCP and Prague with a hundredth at
/// least.
#[test]
fn shares_and_weights_have_bounds() {
    for (gain, allowed) in [
        ("1", true),
        ("998/999", true),
        ("1/999", true),
        ("1/1000", false),
        ("1001/1000", false),
        ("3/2", false),
    ] {
        let text = format!("slowstart/abba(gain={gain})");
        assert_eq!(Arm::parse(&text).is_ok(), allowed, "`{text}`");
    }
    for (option, allowed) in
        [("gain=1/100", true), ("gain=1/101", false), ("gain=3/299", true), ("gain=3/301", false)]
    {
        for avoidance in ["dctcp", "prague"] {
            let text = format!("slowstart/{avoidance}({option})");
            assert_eq!(Arm::parse(&text).is_ok(), allowed, "`{text}`");
        }
    }
}

/// Values worth trying for an option: whatever its documentation lists, and a few numbers.
fn candidates(doc: &OptionDoc) -> Vec<String> {
    let listed = doc.values.split([',', ' ']).filter(|word| !word.is_empty()).map(str::to_owned);
    listed
        .chain(["1", "2", "5", "30", "0.7", "0.85", "11/18", "2iw", "off", "on"].map(str::to_owned))
        .collect()
}

fn part_text(parts: &'static [Part]) -> impl Strategy<Value = String> {
    (
        0..parts.len(),
        proptest::collection::vec(
            (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
            0..4,
        ),
    )
        .prop_map(move |(which, picks)| {
            let part = &parts[which];
            let options: Vec<String> = picks
                .iter()
                .filter(|_| !part.options.is_empty())
                .map(|(key, value)| {
                    let doc = key.get(part.options);
                    let values = candidates(doc);
                    format!("{}={}", doc.key, value.get(&values))
                })
                .collect();
            if options.is_empty() {
                part.name.to_owned()
            } else {
                format!("{}({})", part.name, options.join(","))
            }
        })
}

/// The sender's options as if they were a part's.
const SENDER: &[Part] = &[Part { name: "@", summary: "", source: "", options: SenderParams::DOCS }];

proptest! {
    #[test]
    fn what_parses_prints_and_parses_to_the_same(
        s in part_text(STARTUPS), a in part_text(AVOIDANCES), r in part_text(RECOVERIES), sender in part_text(SENDER),
    ) {
        let text = format!("{s}/{a}/{r}{sender}");
        if let Ok(arm) = Arm::parse(&text) {
            let printed = arm.to_string();
            prop_assert_eq!(Arm::parse(&printed).map_err(|e| e.to_string()), Ok(arm), "`{}` printed as `{}`", text, printed);
            prop_assert_eq!(parse(&printed).to_string(), printed, "printing is stable");
        }
    }

    #[test]
    fn no_text_panics(text in "[a-z+(),=/@ 0-9.é-]{0,40}") {
        for arm in Arm::parse_list(&text) {
            if let Err(error) = arm {
                prop_assert!(!error.to_string().is_empty());
                prop_assert!(!matches!(error, ArmError::Nonsense("")));
            }
        }
    }
}

#[test]
fn options_of_the_sender_stand_alone_in_parentheses() {
    assert!(Arm::parse("rapid@(iw=30)").is_ok());
    for text in ["rapid@", "rapid@iw", "rapid@sender(iw=30)"] {
        let refused = Arm::parse(text);
        assert!(matches!(refused, Err(ArmError::Parentheses(_))), "`{text}`: {refused:?}");
    }
}

/// Names of signals are columns of traces: each part has its own, each once.
#[test]
fn each_part_shows_its_signals() {
    const SEARCH: &str = "search_max_norm_percent search_max_look_bins search_exits search_continued \
        search_warming search_rtt_inflated search_zero_sent search_resets search_reset_passed_bins \
        search_empty_queue_target_bytes search_full_queue_target_bytes";
    let best = format!(
        "best_clock_kbps best_median_kbps best_chunk_kbps best_release_period_ns best_aim_bytes \
        best_set best_late best_inflated best_pacer best_few best_ambiguous best_unstable \
        best_disagree best_restarts best_skipped_acks {SEARCH}"
    );
    let rows = [
        ("slowstart", ""),
        ("limited", "lss_rest"),
        (
            "hystart",
            "hystart_min_rtt_ns hystart_round_min_ns hystart_samples hystart_round_start_ns \
            hystart_last_ack_ns hystart_end_mark hystart_found",
        ),
        (
            "hystart++",
            "hspp_last_min_ns hspp_round_min_ns hspp_samples hspp_window_end hspp_css_entries \
            hspp_css_returns",
        ),
        ("search", SEARCH),
        ("best", &best),
        (
            "best-published",
            "best_samples best_median_mbps best_decided_mbps best_decided_packets best_decided \
            best_zero_median best_not_due best_sticky",
        ),
        ("rapid", "rtt_floor_ns rtt_threshold_ns"),
        (
            "bbr",
            "bbr_max_bw bbr_full_bw bbr_full_count bbr_rounds bbr_lost_in_round bbr_loss_events",
        ),
        (
            "bbr3",
            "bbr_state bbr_max_bw bbr_bw bbr_min_rtt bbr_rounds bbr_full_count bbr_extra_acked",
        ),
        ("careful", "careful_pipe"),
        ("plumb", "rtt_floor_ns rtt_threshold_ns calm_rounds bunched strikes"),
        ("jumpstart", ""),
        ("oracle", ""),
    ];
    // Further parts have their signals in a test of their own.
    for (name, _) in rows {
        assert!(STARTUPS.iter().any(|startup| startup.name == name), "{name} is a startup");
    }
    let avoidances = [
        ("cubic", "cwnd_prior"),
        ("cuback", "cwnd_prior"),
        ("abba", "cwnd_prior"),
        ("reno", ""),
        ("dctcp", "alpha_millionths"),
        ("prague", "alpha_millionths prague_wait_rounds"),
    ];
    let names = avoidances.map(|row| row.0).to_vec();
    assert_eq!(names, AVOIDANCES.iter().map(|a| a.name).collect::<Vec<_>>());
    let shown = |arm: &str| {
        let mut rig = Rig::quic(arm, 10 * MSS);
        for _ in 0..3 {
            rig.fill();
            rig.wait(30);
            rig.ack(5 * MSS);
        }
        let mut all = Vec::new();
        rig.c.signals(&mut |name, _| all.push(name));
        all.join(" ")
    };
    for (startup, signals) in rows {
        let due = [signals, "cwnd_prior"].join(" ");
        assert_eq!(shown(startup), due.trim(), "{startup}");
    }
    for (avoidance, signals) in avoidances {
        assert_eq!(shown(&format!("slowstart/{avoidance}")), signals, "{avoidance}");
    }
}
