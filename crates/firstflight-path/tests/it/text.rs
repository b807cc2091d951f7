//! Paths as text: round trips, names, files, and every error line.

use firstflight_path::{Path, Queue, Rate, builtins, nearest};
use proptest::prelude::*;
use std::fs;
use std::path::PathBuf;

fn parse(text: &str) -> Path {
    Path::parse(text).unwrap_or_else(|e| panic!("`{text}` should be a path, but: {e}"))
}

fn refusal(text: &str) -> String {
    match Path::parse(text) {
        Ok(path) => panic!("`{text}` should be refused, but is the path {path}"),
        Err(e) => e.to_string(),
    }
}

/// A file in the target directory that no other test writes.
fn file(name: &str, text: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("text");
    fs::create_dir_all(&folder).expect("the test folder can be made");
    let place = folder.join(name);
    fs::write(&place, text).expect("the test file can be written");
    place
}

#[test]
fn inline_text_gives_the_stated_numbers() {
    let path = parse("rate=100Mbit,rtt=30ms,queue=30ms,loss=0.5%,up=10Mbit");
    assert_eq!(path.rate_bps(), 100_000_000);
    assert_eq!(path.rtt(), 30_000_000);
    assert_eq!(path.bdp_bytes(), 375_000);
    assert_eq!(path.queue_bytes(), Some(375_000));
    assert_eq!(path.full_bdp_bytes(), Some(750_000));
    assert_eq!(path.loss_ppb(), 5_000_000);
    assert_eq!(path.up_bps(), 10_000_000);
}

#[test]
fn keys_left_out_have_their_stated_defaults() {
    let path = parse("rate=8Mbit,rtt=100ms");
    assert_eq!(path.queue_bytes(), Some(100_000), "the queue is one BDP");
    assert_eq!(path.up_bps(), 80_000_000, "the reverse rate is ten times the forward rate");
    assert_eq!((path.loss_ppb(), path.up_loss_ppb(), path.up_queue()), (0, 0, Queue::Unlimited));
}

#[test]
fn each_unit_is_understood() {
    for (text, canonical) in [
        ("rate=570kbit,rtt=0.056s,queue=14pkt", "rate=570kbit,rtt=56ms,queue=14pkt"),
        ("rate=0.57Mbit , rtt=56000us, queue=21000B", "rate=570kbit,rtt=56ms,queue=21kB"),
        ("queue=0.25bdp,rate=933.1Mbit,rtt=1.5ms", "rate=933.1Mbit,rtt=1.5ms,queue=0.25bdp"),
        (
            "rate=10Gbit,rtt=140ms,queue=unlimited,loss=0.06%",
            "rate=10Gbit,rtt=140ms,queue=unlimited,loss=0.06%",
        ),
        (
            "rate=8Mbit,rtt=1s,queue=1.5kB,up=1600kbit,up_queue=8192B,up_loss=1%",
            "rate=8Mbit,rtt=1s,queue=1.5kB,up=1.6Mbit,up_queue=8.192kB,up_loss=1%",
        ),
        ("rate=8000000bit,rtt=30.0000001ms,queue=2MB", "rate=8Mbit,rtt=30ms,queue=2MB"),
    ] {
        assert_eq!(parse(text).to_string(), canonical, "canonical text of `{text}`");
    }
}

#[test]
fn every_named_path_parses_prints_and_parses_again() {
    for builtin in builtins() {
        let path = parse(builtin.name);
        assert_eq!(path.name(), builtin.name);
        assert_eq!(path.source(), builtin.source);
        assert_eq!(parse(builtin.text), path, "text of {}", builtin.name);
        assert_eq!(parse(&path.to_string()), path, "canonical text of {}", builtin.name);
        assert!(path.open(1500, 66, 1, 0).is_ok(), "{} makes links", builtin.name);
        assert_eq!(
            path.to_string(),
            builtin.text,
            "the table has the canonical text of {}",
            builtin.name
        );
    }
    assert_eq!(parse("rapid-slide"), Path::default());
}

#[test]
fn named_paths_have_the_published_sizes() {
    for (name, bdp, queue) in [
        ("rapid-slide", 375_000, 375_000),
        ("geo", 11_250_000, 11_250_000),
        ("leo", 375_000, 375_000),
        ("5g", 3_750_000, 3_750_000),
        ("4g", 500_000, 500_000),
        ("gvisor", 1_496_250, 1_496_250),
        ("hystart++-100ms", 1_250_000, 1_250_000),
        ("hystart++-25ms", 312_500, 312_500),
        ("pantheon6/india", 677_835, 259_500),
        ("pantheon6/korea-china", 990_930, 141_000),
        ("pantheon6/california-mexico", 1_290_150, 675_000),
        ("pantheon-lab/shallow-10", 90_000, 9_000),
        ("quicly15/dsl", 112_500, 187_500),
        ("quicly15/home-wifi", 312_500, 187_500),
        ("quicly15/public", 100_000, 500_000),
        ("quicly15/corporate-wifi", 625_000, 1_250_000),
        ("quicly15/lte", 225_000, 450_000),
        ("quicly15/5g", 500_000, 1_000_000),
        ("quicly15/leo", 250_000, 500_000),
        ("quicly15/geo", 3_750_000, 3_750_000),
        ("quicly15/docomo-office", 490_000, 3_797_500),
        ("quicly15/au-office", 1_100_000, 12_815_000),
        ("quicly15/wifi-office", 355_000, 976_250),
        ("quicly15/docomo-mall", 194_750, 1_425_000),
        ("quicly15/congested", 25_000, 50_000),
        ("quicly15/bdp20", 12_500, 12_500),
        ("quicly15/bdp40", 25_000, 25_000),
        ("neqo/gbit", 5_000_000, 500_000),
    ] {
        let path = parse(name);
        assert_eq!(
            (path.bdp_bytes(), path.queue_bytes()),
            (bdp, Some(queue)),
            "BDP and queue of {name}"
        );
    }
}

#[test]
fn a_name_is_overridden_by_the_keys_behind_it() {
    let path = parse("geo,queue=0.25bdp,loss=0.1%");
    assert_eq!(path.to_string(), "rate=150Mbit,rtt=600ms,queue=0.25bdp,loss=0.1%");
    assert_eq!(path.name(), "", "a changed path no longer bears the name");
    assert_ne!(path, parse("geo"));
}

#[test]
fn a_toml_file_gives_the_same_path_as_inline_text() {
    let place = file(
        "dsl.toml",
        "name = \"my line\"\nsource = \"measured, twice\"\nrate = \"30Mbit\"\nrtt = \"30ms\"\nloss = \"0.5%\"\nqueue = \"50ms\"\n",
    );
    let path = parse(place.to_str().expect("UTF-8"));
    assert_eq!(path, parse("rate=30Mbit,rtt=30ms,queue=50ms,loss=0.5%"));
    assert_eq!((path.name(), path.source()), ("my line", "measured, twice"));
    let place = file("based.toml", "base = \"geo\"\nqueue = \"2bdp\"\n");
    assert_eq!(parse(place.to_str().expect("UTF-8")), parse("geo,queue=2bdp"));
}

#[test]
fn a_toml_file_is_refused_with_file_and_line() {
    for (name, text, expected) in [
        (
            "unknown.toml",
            "rate = \"1Mbit\"\n\nrt = \"1ms\"\n",
            "unknown.toml:3: rt=1ms: unknown key (did you mean `rtt`?)",
        ),
        (
            "kind.toml",
            "rate = [1]\n",
            "kind.toml:1: rate: found array; allowed: text, a number, true or false",
        ),
        ("syntax.toml", "rate = \"1Mbit\"\nrtt = \n", "syntax.toml:2: "),
        ("value.toml", "rate = \"1Mbit\"\nrtt = \"1m\"\n", "value.toml: rtt=1m: unknown unit"),
        (
            "base.toml",
            "base = \"gio\"\n",
            "base.toml:1: `gio` is not a known path (did you mean `geo`?)",
        ),
    ] {
        let place = file(name, text);
        let line = refusal(place.to_str().expect("UTF-8"));
        assert!(line.contains(expected), "{name}: `{line}` should contain `{expected}`");
        assert!(!line.contains('\n'), "one line: {line}");
    }
    assert!(refusal("no-such-file.toml").starts_with("no-such-file.toml: cannot read the path: "));
}

#[test]
fn a_semicolon_between_keys_is_refused_and_the_comma_named() {
    for text in ["rate=100Mbit;rtt=30ms", "rate=100Mbit,rtt=30ms;codel", "geo,loss=1%; rtt=30ms"] {
        let commas = text.replace(';', ",");
        let expected = format!("{text}: `;` separates no keys; allowed: commas, such as {commas}");
        assert_eq!(refusal(text), expected);
    }
    // In a file's name it is part of the name.
    assert!(refusal("rate=trace:no;such.trace,rtt=30ms").contains("no;such.trace"));
}

#[test]
fn each_wrong_value_is_refused_in_one_line_that_names_key_value_and_range() {
    const RATES: &str = "allowed: 1kbit to 1000Gbit, with the unit bit, kbit, Mbit or Gbit";
    const TRIPS: &str = "allowed: more than 0 and at most 3600s, with the unit us, ms or s";
    const QUEUES: &str =
        "allowed: bytes (B, kB, MB), packets (pkt), time (us, ms, s), bdp, or `unlimited`";
    const LOSSES: &str = "allowed: 0% up to but not including 100%, such as 0.1%";
    for (text, expected) in [
        ("", "empty path; give a name such as `geo`, or rate=100Mbit,rtt=30ms,queue=30ms".to_owned()),
        ("goe", "`goe` is not a known path (did you mean `geo`?); allowed: a name listed by `firstflight paths`, key=value items, or a .toml file".to_owned()),
        ("quicly15/dls", "`quicly15/dls` is not a known path (did you mean `quicly15/dsl`?); allowed: a name listed by `firstflight paths`, key=value items, or a .toml file".to_owned()),
        ("100Mbps", "`100Mbps` is not a known path; a number needs its key, as in `rate=100Mbit,rtt=30ms`".to_owned()),
        ("rtt=30ms", "rate is missing; for example, rate=100Mbit".to_owned()),
        ("rate=1Mbit", "rtt is missing; for example, rtt=30ms".to_owned()),
        ("rate=0Mbit,rtt=30ms", format!("rate=0Mbit: is zero; {RATES}")),
        ("rate=100,rtt=30ms", format!("rate=100: the unit is missing; {RATES}")),
        ("rate=100MB,rtt=30ms", format!("rate=100MB: unknown unit; {RATES}")),
        ("rate=-1Mbit,rtt=30ms", format!("rate=-1Mbit: is negative; {RATES}")),
        ("rate=fast,rtt=30ms", format!("rate=fast: is not a number; {RATES}")),
        ("rate=1.2.3Mbit,rtt=30ms", format!("rate=1.2.3Mbit: is not a number; {RATES}")),
        ("rate=.Mbit,rtt=30ms", format!("rate=.Mbit: is not a number; {RATES}")),
        ("rate=.5Mbit,rtt=30ms", format!("rate=.5Mbit: is not a number; {RATES}")),
        ("rate=5.Mbit,rtt=30ms", format!("rate=5.Mbit: is not a number; {RATES}")),
        ("rate=999bit,rtt=30ms", format!("rate=999bit: is too small; {RATES}")),
        ("rate=1001Gbit,rtt=30ms", format!("rate=1001Gbit: is too large; {RATES}")),
        ("rate=99999999999999999999999Gbit,rtt=30ms", format!("rate=99999999999999999999999Gbit: is too large; {RATES}")),
        ("rate=1Mbit,rtt=0ms", format!("rtt=0ms: is zero; {TRIPS}")),
        ("rate=1Mbit,rtt=30", format!("rtt=30: the unit is missing; {TRIPS}")),
        ("rate=1Mbit,rtt=-30ms", format!("rtt=-30ms: is negative; {TRIPS}")),
        ("rate=1Mbit,rtt=3601s", format!("rtt=3601s: is too large; {TRIPS}")),
        ("rate=1Mbit,rtt=0.0000001us", format!("rtt=0.0000001us: is too small; {TRIPS}")),
        ("rate=1Mbit,rtt=30ms,queue=30", format!("queue=30: the unit is missing; {QUEUES}")),
        ("rate=1Mbit,rtt=30ms,queue=30km", format!("queue=30km: unknown unit (did you mean `30kB`?); {QUEUES}")),
        ("rate=1Mbit,rtt=30ms,queue=-1ms", format!("queue=-1ms: is negative; {QUEUES}")),
        ("rate=1Mbit,rtt=30ms,queue=deep", format!("queue=deep: is not a number; {QUEUES}")),
        ("rate=1Mbit,rtt=30ms,queue=1.5pkt", "queue=1.5pkt: is not a number of packets; allowed: 1pkt to 1000000000pkt".to_owned()),
        ("rate=1Mbit,rtt=30ms,queue=0bdp", "queue=0bdp: is zero; allowed: 0.001bdp to 1000bdp".to_owned()),
        ("rate=1Mbit,rtt=30ms,queue=1.499kB", "queue=1.499kB: comes to 1499 B and holds no packet of 1500 B; allowed: 1500B or more, or `unlimited`".to_owned()),
        ("rate=1Mbit,rtt=30ms,queue=0.1bdp", "queue=0.1bdp: comes to 375 B and holds no packet of 1500 B; allowed: 1500B or more, or `unlimited`".to_owned()),
        ("rate=1Mbit,rtt=30ms,up_queue=1ms", "up_queue=1ms: comes to 1250 B and holds no packet of 1500 B; allowed: 1500B or more, or `unlimited`".to_owned()),
        ("rate=1Mbit,rtt=30ms,loss=100%", format!("loss=100%: is too large; {LOSSES}")),
        (
            "rate=1Mbit,rtt=30ms,loss=0.5",
            format!("loss=0.5: the unit is missing (did you mean `0.5%` or `50%`?); {LOSSES}"),
        ),
        (
            "rate=1Mbit,rtt=30ms,loss=1",
            format!("loss=1: the unit is missing (did you mean `1%`?); {LOSSES}"),
        ),
        ("rate=1Mbit,rtt=30ms,loss=-1%", format!("loss=-1%: is negative; {LOSSES}")),
        ("rate=1Mbit,rtt=30ms,loss=1ms", format!("loss=1ms: unknown unit; {LOSSES}")),
        ("rate=1Mbit,rtt=30ms,up_loss=120%", format!("up_loss=120%: is too large; {LOSSES}")),
        ("rate=1Mbit,rtt=12ms", "rtt=12ms: leaves no time to send a packet of 1500 B and an ACK of 40 B; allowed: 12.032ms or more".to_owned()),
        ("rate=1Mbit,rtt=30ms,rtt=31ms", "rtt=31ms: given twice, 30ms before".to_owned()),
        ("rate=1Mbit,rtt=", "rtt=: the value is missing".to_owned()),
        ("rate=1Mbit,fast", "`fast` is not key=value".to_owned()),
        ("rate=1Mbit,rtt=30ms,once", "once=true: only a trace has it; give rate=trace:FILE as well".to_owned()),
        ("rate=1Mbit,rtt=30ms,scale=2", "scale=2: only a trace has it; give rate=trace:FILE as well".to_owned()),
    ] {
        assert_eq!(refusal(text), expected, "refusal of `{text}`");
    }
    assert!(refusal("rate=1Mbit,queu=30ms").starts_with(
        "queu=30ms: unknown key (did you mean `queue`?); allowed: name, source, rate, "
    ));
    assert!(
        refusal("rate=trace:no-such-file,rtt=30ms")
            .starts_with("no-such-file: cannot read the trace: ")
    );
}

#[test]
fn each_malformed_trace_is_refused_with_file_line_and_reason() {
    for (text, expected) in [
        ("", ":1: empty trace"),
        ("1\n\n2\n", ":2: empty line in a trace"),
        ("1\n2\n\n", ":3: empty line in a trace"),
        ("1\n2.5\n", ":2: `2.5` is not a non-negative whole number of milliseconds"),
        ("-1\n", ":1: `-1` is not a non-negative whole number of milliseconds"),
        ("1\nx\n", ":2: `x` is not a non-negative whole number of milliseconds"),
        ("1\n5\n4\n", ":3: 4 is less than the 5 before it: times never decrease"),
        ("0\n0\n", ":2: the last value is 0, so the trace has no length"),
        ("99999999999\n", ":1: 99999999999 is beyond 1000000000 ms"),
    ] {
        let place = file("malformed.trace", text);
        let place = place.to_str().expect("UTF-8");
        assert_eq!(
            refusal(&format!("rate=trace:{place},rtt=30ms")),
            format!("{place}{expected}"),
            "refusal of {text:?}"
        );
    }
}

#[test]
fn a_trace_is_read_with_its_options_and_printed_with_them() {
    let place = file("twelve.trace", "1\n");
    let place = place.to_str().expect("UTF-8");
    assert_eq!(
        parse(&format!("rate=trace:{place},rtt=30ms")).rate_bps(),
        12_000_000,
        "one line `1` is 12 Mbit/s"
    );
    let place = file("ten.trace", "0\n2\n2\n5\n7\n10\n");
    let place = place.to_str().expect("UTF-8");
    for (options, bps, canonical) in [
        ("", 7_200_000, ""),
        (",start=3ms", 7_200_000, ",start=3ms"),
        (",spread,start=random", 7_200_000, ",start=random,spread"),
        (",scale=2.5", 18_000_000, ",scale=2.5"),
        (",skip=2ms", 4_500_000, ",skip=2ms"),
        (",once", 6_000_000, ",once"),
    ] {
        let path = parse(&format!("rate=trace:{place}{options},rtt=30ms,queue=20pkt"));
        assert_eq!(path.rate_bps(), bps, "mean rate with `{options}`");
        assert_eq!(path.to_string(), format!("rate=trace:{place}{canonical},rtt=30ms,queue=20pkt"));
        assert_eq!(parse(&path.to_string()), path);
        assert!(matches!(path.rate(), Rate::Trace(played) if played.file() == place));
    }
    for (options, expected) in [
        (
            "skip=10ms",
            format!("skip=10ms: leaves nothing of {place}; allowed: less than its 10 ms"),
        ),
        (
            "skip=0.5ms",
            "skip=0.5ms: cuts a millisecond of the trace; allowed: whole milliseconds".to_owned(),
        ),
        (
            "start=10ms",
            format!(
                "start=10ms: is after the end of {place}; allowed: less than the 10 ms that are played"
            ),
        ),
        (
            "start=2",
            "start=2: the unit is missing; allowed: 0s or more, with the unit us, ms or s"
                .to_owned(),
        ),
        ("scale=0", "scale=0: is zero; allowed: a plain number from 0.001 to 1000".to_owned()),
        ("once=yes", "once=yes: is neither; allowed: true or false".to_owned()),
    ] {
        assert_eq!(refusal(&format!("rate=trace:{place},rtt=30ms,{options}")), expected);
    }
}

#[test]
fn a_trace_beside_a_toml_file_is_found() {
    file("beside.trace", "1\n");
    let place = file("beside.toml", "rate = \"trace:beside.trace\"\nrtt = \"30ms\"\nonce = true\n");
    let path = parse(place.to_str().expect("UTF-8"));
    assert_eq!(path.rate_bps(), 12_000_000);
    assert_eq!(parse(&path.to_string()), path);
}

fn queues() -> impl Strategy<Value = Queue> {
    prop_oneof![
        (1500_u64..1_000_000_000).prop_map(Queue::Bytes),
        (1_u64..1_000_000).prop_map(Queue::Packets),
        (1_u64..10_000_000_000).prop_map(Queue::Time),
        (1_000_u64..1_000_000_000).prop_map(Queue::Bdp),
        Just(Queue::Unlimited),
    ]
}

proptest! {
    #[test]
    fn printing_and_parsing_again_gives_an_equal_path(
        rate in 1_000_u64..1_000_000_000_000, rtt in 1_u64..100_000_000_000, queue in queues(), loss in 0_u64..1_000_000_000,
        up in prop::option::of(1_000_u64..1_000_000_000_000), up_queue in queues(), up_loss in 0_u64..1_000_000_000,
    ) {
        let path = Path::new(rate, rtt).with_queue(queue).with_loss_ppb(loss);
        let path = path.with_up(up.map(Rate::Constant)).with_up_queue(up_queue).with_up_loss_ppb(up_loss);
        // The parser refuses the same values as the check, in the same words.
        match path.check() {
            Ok(()) => prop_assert_eq!(Path::parse(&path.to_string()).expect("canonical text parses"), path),
            Err(e) => prop_assert_eq!(Path::parse(&path.to_string()).expect_err("what the check refuses"), e),
        }
    }

    #[test]
    fn any_text_gives_a_path_or_one_line(text in "\\PC{0,40}|(rate|rtt|queue|loss|up|once|start)=[-0-9.a-zA-Z%:]{0,12}(,(rate|rtt|queue)=[0-9.a-zA-Z%]{0,9}){0,3}") {
        if let Err(e) = Path::parse(&text) {
            prop_assert!(!e.as_str().is_empty() && !e.as_str().contains('\n'));
        }
    }
}

#[test]
fn propagation_apart_from_serialization_makes_slow_lines_possible() {
    // 1500 B at 20 kbit/s take 600 ms, an ACK of 40 B at ten times that 1.6 ms.
    let path = parse("rate=20kbit,prop=60ms,queue=10pkt");
    assert_eq!(path.to_string(), "rate=20kbit,rtt=661.6ms,queue=10pkt");
    assert_eq!(parse(&path.to_string()), path);
    let far = parse("rate=20kbit,up=20kbit,prop=60ms,overhead=10B");
    assert_eq!(far.rtt(), 60_000_000 + 604_000_000 + 20_000_000, "both links, overhead counted");
}

/// A third of the letters wrong is a typing error, more is another word, and who types more than a hundred
/// letters means none of ours.
#[test]
fn the_nearest_name_is_one_that_may_have_been_meant() {
    let long = "a".repeat(100);
    let longer = "a".repeat(102);
    for (typed, known, found) in [
        ("queue", "queue", true),
        ("QUEUE", "queue", true),
        ("qeue", "queue", true),
        ("quxyz", "queue", false),
        ("abcxyz", "abcdef", true),
        ("abwxyz", "abcdef", false),
        (&long[..], &long[..], true),
        (&longer[..], &longer[..], false),
        (&longer[..101], &longer[..101], false),
    ] {
        assert_eq!(nearest(typed, ["something", known]).is_some(), found, "{typed} for {known}");
    }
}
