//! The report: its data reaches the page unchanged, and thinning keeps everything a reader would
//! look for.

use firstflight_lab::report::{
    Episode, Exit, Fact, Ideal, Level, Loss, MAX_LOSSES, MAX_POINTS, MAX_SPANS, Note, Path, Phase,
    Point, Report, Series, thin, thin_losses, thin_phases,
};
use firstflight_table::{Better, Column, Marked, Table};
use serde_json::{Value, json};

/// The data of a page, found as a browser finds it: from the opening tag to the first thing that
/// ends a script.
fn data_of(page: &str) -> &str {
    let open = r#"<script type="application/json" id="data">"#;
    let start = page.find(open).expect("the page has a data element") + open.len();
    let end = page[start..].find("</script").expect("the data element ends");
    &page[start..start + end]
}

/// Two arms: the first with a range and words, the second without.
fn small_table(time: f64) -> Table {
    let columns = [
        ("arm", vec!["a".into(), "b".into()]),
        ("arm_full", vec!["".into(), "".into()]),
        ("ttlb_ms", vec![Marked::from(time).range(Some([1.0, 2.0])), Marked::from(2.5)]),
        ("exit_reason", vec![Marked::from("delay"), Marked::default()]),
    ];
    let column = |key: &str| Column {
        key: key.into(),
        name: key.to_uppercase(),
        unit: "ms".into(),
        better: Better::Low,
        ..Column::default()
    };
    Table::of_columns("", columns.map(|(key, cells)| (column(key), cells)))
}

/// The data of a page as JSON.
fn read(page: &str) -> Value {
    serde_json::from_str(data_of(page)).expect("the data is valid JSON")
}

fn small_report() -> Report {
    Report {
        finding: "slowstart takes 1.0 ms.".into(),
        title: "A & B".into(),
        command: "firstflight compare --arms 'a,b'".into(),
        version: "firstflight 0".into(),
        testbed: "sim".into(),
        place: "in the simulator".into(),
        path: Path {
            text: "rate=1Mbit,rtt=8ms".into(),
            rate_mbps: Some(1.0),
            rtt_ms: 8.0,
            bdp_bytes: Some(1000),
            ..Path::default()
        },
        workload_bytes: 3000,
        seed: u64::from(u32::MAX),
        repeat: 1,
        notes: vec![Note { level: Level::Warning, text: "careful".into() }],
        table: small_table(1.5),
        series: vec![Series {
            look: 0,
            arm: "a".into(),
            points: vec![
                Point {
                    t_ms: 0.0,
                    cwnd: 10,
                    ssthresh: None,
                    inflight: 1,
                    delivered_bytes: 0,
                    queue_bytes: 0,
                },
                Point {
                    t_ms: 1.25,
                    cwnd: 20,
                    ssthresh: Some(15),
                    inflight: 2,
                    delivered_bytes: 3000,
                    queue_bytes: 7,
                },
            ],
            phases: vec![Phase { start_ms: 0.0, end_ms: 1.25, name: "startup".into() }],
            losses: vec![Loss { t_ms: 1.0, bytes: 5 }],
            exit: Some(Exit {
                reason: "delay".into(),
                because: "the round-trip time had risen".into(),
                time_ms: 1.0,
                cwnd: 20,
                bdp_ratio: None,
            }),
            episodes: vec![Episode {
                start_ms: 1.0,
                end_ms: None,
                cwnd_before: 20,
                cwnd_after: 10,
                silence_ms: 0.5,
                lost_bytes: 5,
            }],
            episodes_total: 0,
        }],
        ideal: Some(Ideal { t0_ms: 4.0, rate_mbps: 1.0 }),
        provenance: vec![Fact { name: "Built with".into(), value: "care".into() }],
    }
}

#[test]
fn the_data_in_the_page_is_the_report() {
    let report = small_report();
    let page = read(&report.to_html());
    let whole = serde_json::to_value(&report).expect("a report is JSON");
    assert_eq!(page, whole, "the page carries another report than the one it was made from");
    let column = |key: &str| json!({"key": key, "label": key.to_uppercase(), "unit": "ms", "better": "low", "explanation": ""});
    let row = |arm: &str, values: Value, spread: Value| json!({"arm": arm, "arm_full": "", "values": values, "spread": spread, "best": [], "near": []});
    assert_eq!(
        page["table"],
        json!({
            "columns": [column("ttlb_ms"), column("exit_reason")],
            "rows": [
                row("a", json!([1.5, "delay"]), json!([{"low": 1.0, "high": 2.0}, null])),
                row("b", json!([2.5, null]), json!([])),
            ],
        }),
        "the scripts read the table by these names"
    );
    let points = json!({
        "t_ms": [0.0, 1.25], "cwnd": [10, 20], "ssthresh": [null, 15], "inflight": [1, 2],
        "delivered_bytes": [0, 3000], "queue_bytes": [0, 7],
    });
    assert_eq!(page["series"][0]["points"], points, "points are stored as columns");
}

#[test]
fn no_text_can_end_or_extend_the_data_element() {
    let steering = "\u{2028}\u{2029}";
    for nasty in [
        "</script><script>alert(1)</script>",
        "<!--<script>",
        "</SCRIPT >",
        "]]>",
        steering,
        "\"'\\",
        "{{data}}{{style}}",
        "$&",
    ] {
        // A reader sees what would steer; all else comes back as it went in.
        let seen = if nasty == steering { r"\u2028\u2029" } else { nasty };
        let [mut report, mut expected] = [small_report(), small_report()];
        for (report, text) in [(&mut report, nasty), (&mut expected, seen)] {
            for field in [
                &mut report.title,
                &mut report.command,
                &mut report.path.text,
                &mut report.notes[0].text,
                &mut report.series[0].arm,
            ] {
                *field = text.into();
            }
        }
        let page = report.to_html();
        assert!(!data_of(&page).contains('<'), "{nasty:?} leaves a `<` in the data");
        let expected = serde_json::to_value(&expected).expect("a report is JSON");
        assert_eq!(read(&page), expected, "{nasty:?} does not come back");
    }
}

#[test]
fn the_title_is_text_wherever_the_page_shows_it() {
    let report =
        Report { title: r#"<b>"A" & B</b>"#.into(), version: "<i>".into(), ..small_report() };
    let page = report.to_html();
    assert!(
        page.contains("<title>&lt;b&gt;&quot;A&quot; &amp; B&lt;/b&gt;</title>"),
        "the title element holds markup"
    );
    assert!(
        !page.contains("<b>\"A\"") && !page.contains("<i>"),
        "title or version came through as markup"
    );
}

#[test]
fn every_part_of_the_page_is_in_place_and_none_ends_its_element() {
    let page = Report::default().to_html();
    assert!(
        !page.contains("{{"),
        "a mark of the template was not filled: {:?}",
        page.split_once("{{").map(|(_, t)| &t[..t.len().min(20)])
    );
    assert_eq!(
        page.matches("<script").count(),
        2,
        "one script element for the data and one for the program"
    );
    assert_eq!(page.matches("</script").count(), 2, "a script element ends early");
    assert_eq!(page.matches("</style").count(), 1, "the style element ends early");
}

#[test]
fn the_page_names_no_address_to_fetch_from() {
    let page = small_report().to_html();
    // The one address is the name of the SVG namespace, which nobody fetches.
    for (at, _) in page.match_indices("http") {
        let rest = &page[at..];
        assert!(
            rest.starts_with("http://www.w3.org/2000/svg") || rest.starts_with("http-equiv"),
            "unexpected address: {}",
            &rest[..60]
        );
    }
    assert!(page.contains("default-src 'none'"), "the page does not forbid itself the network");
}

#[test]
fn numbers_that_json_has_not_become_null_and_the_rest_stays() {
    let report = Report { table: small_table(f64::NAN), ..small_report() };
    let page = read(&report.to_html());
    assert_eq!(
        page["table"]["rows"][0]["values"],
        json!([null, "delay"]),
        "not-a-number is shown as a missing value"
    );
}

// --- Thinning
// --------------------------------------------------------------------------------------------------

/// A window that saws, a queue with one spike of a single sample, a threshold that is set half-way.
fn long_series(n: usize) -> Vec<Point> {
    let point = |i: usize| Point {
        t_ms: i as f64 * 0.1,
        cwnd: 10_000 + (i as u64 * 7919) % 50_000,
        ssthresh: (i > n / 2).then_some(30_000 - i as u64 % 7),
        inflight: 5_000 + (i as u64 * 104_729) % 40_000,
        delivered_bytes: i as u64 * 1500,
        queue_bytes: if i == n / 3 { 999_999 } else { i as u64 % 13 },
    };
    (0..n).map(point).collect()
}

#[test]
fn a_short_series_stays_as_it_is() {
    for n in [0, 1, 2, MAX_POINTS] {
        let points = long_series(n);
        assert_eq!(thin(&points, MAX_POINTS), points, "{n} points fit into {MAX_POINTS}");
    }
}

#[test]
fn thinning_keeps_to_the_bound_for_every_bound() {
    let points = long_series(20_000);
    for max in [0, 1, 2, 3, 9, 10, 11, 19, 20, 100, 999, 1500, 19_999] {
        let kept = thin(&points, max).len();
        assert!(kept <= max, "{kept} points are kept where {max} are allowed");
        assert!(kept >= max.min(2), "{kept} points are kept where {max} are allowed");
    }
}

#[test]
fn thinning_uses_most_of_what_it_may_where_curves_rise_together() {
    let rise = |i: u64| Point {
        t_ms: i as f64,
        cwnd: i,
        ssthresh: None,
        inflight: i,
        delivered_bytes: i,
        queue_bytes: i,
    };
    let points: Vec<Point> = (0..100_000).map(rise).collect();
    let kept = thin(&points, MAX_POINTS).len();
    assert!(kept > MAX_POINTS * 4 / 5, "only {kept} of {MAX_POINTS} points are used");
}

#[test]
fn thinning_keeps_ends_order_and_extremes() {
    for (n, max) in [(5_000, 10), (5_000, 100), (50_000, MAX_POINTS)] {
        let points = long_series(n);
        let kept = thin(&points, max);
        assert_eq!(kept.first(), points.first(), "the first of {n} points is gone at {max}");
        assert_eq!(kept.last(), points.last(), "the last of {n} points is gone at {max}");
        assert!(
            kept.windows(2).all(|w| w[0].t_ms < w[1].t_ms),
            "points are out of order or doubled"
        );
        let mut rest = points.iter();
        assert!(
            kept.iter().all(|k| rest.any(|p| p == k)),
            "a kept point is none of the given ones"
        );
        for (name, field) in fields() {
            let range =
                |list: &[Point]| (list.iter().map(field).min(), list.iter().map(field).max());
            assert_eq!(
                range(&kept),
                range(&points),
                "the range of {name} changed, {n} points at {max}"
            );
        }
    }
}

type Field = fn(&Point) -> u64;

fn fields() -> [(&'static str, Field); 5] {
    [
        ("cwnd", |p| p.cwnd),
        ("ssthresh", |p| p.ssthresh.unwrap_or(u64::MAX)),
        ("inflight", |p| p.inflight),
        ("delivered_bytes", |p| p.delivered_bytes),
        ("queue_bytes", |p| p.queue_bytes),
    ]
}

#[test]
fn thinning_survives_times_that_make_no_sense() {
    let with = |times: &[f64]| {
        times
            .iter()
            .cycle()
            .take(100)
            .map(|&t_ms| Point { t_ms, ..Point::default() })
            .collect::<Vec<_>>()
    };
    for times in
        [&[5.0][..], &[f64::NAN], &[0.0, f64::INFINITY], &[3.0, -2.0], &[f64::MAX, f64::MIN]]
    {
        let kept = thin(&with(times), 20).len();
        assert!((1..=20).contains(&kept), "{kept} points are kept of times {times:?}");
    }
}

#[test]
fn thinned_losses_add_up_to_the_same_bytes() {
    let losses: Vec<Loss> =
        (0..10_000).map(|i| Loss { t_ms: f64::from(i) * 0.37, bytes: 1000 + i as u64 }).collect();
    let sum = |list: &[Loss]| list.iter().map(|loss| loss.bytes).sum::<u64>();
    for max in [1, 2, 7, MAX_LOSSES, 9_999, 10_000] {
        let marks = thin_losses(&losses, max);
        assert!(marks.len() <= max, "{} marks where {max} are allowed", marks.len());
        assert_eq!(sum(&marks), sum(&losses), "the bytes of {max} marks");
        assert!(marks.windows(2).all(|w| w[0].t_ms < w[1].t_ms), "marks are out of order");
    }
    let burst = vec![Loss { t_ms: 4.0, bytes: 1 }; 50];
    assert_eq!(
        thin_losses(&burst, 10),
        [Loss { t_ms: 4.0, bytes: 50 }],
        "a burst at one time is one mark"
    );
}

#[test]
fn thinned_phases_cover_the_same_time_and_keep_the_long_ones() {
    let mut phases = vec![Phase { start_ms: 0.0, end_ms: 500.0, name: "startup".into() }];
    for i in 0..2_000 {
        let (start_ms, name) =
            (500.0 + f64::from(i), if i % 2 == 0 { "recovery" } else { "avoidance" });
        phases.push(Phase { start_ms, end_ms: start_ms + 1.0, name: name.into() });
    }
    let kept = thin_phases(&phases, MAX_SPANS);
    assert!(kept.len() <= MAX_SPANS, "{} phases where {MAX_SPANS} are allowed", kept.len());
    assert_eq!(kept[0].name, "startup", "the long phase is gone");
    assert!(
        kept.windows(2).all(|w| w[0].end_ms.total_cmp(&w[1].start_ms).is_eq()),
        "a gap or an overlap between phases"
    );
    assert!(
        (kept[kept.len() - 1].end_ms - 2500.0).abs() < 1e-9,
        "the phases end at {} instead of 2500",
        kept[kept.len() - 1].end_ms
    );
    assert_eq!(thin_phases(&[], 5), [], "nothing stays nothing");
}

#[test]
fn a_page_of_many_long_arms_stays_below_two_megabytes() {
    let phase = |i: u32| Phase {
        start_ms: f64::from(i),
        end_ms: f64::from(i) + 1.0,
        name: ["recovery", "avoidance"][i as usize % 2].into(),
    };
    let episode = |i: u32| Episode {
        start_ms: f64::from(i) + 1.0 / 3.0,
        end_ms: Some(f64::from(i) + 2.0 / 3.0),
        cwnd_before: 123_456_789,
        cwnd_after: 98_765_432,
        silence_ms: 1.0 / 7.0,
        lost_bytes: 12_345_678,
    };
    let series = |index: usize| Series {
        arm: format!("arm-{index}"),
        points: long_series(40_000)
            .into_iter()
            .map(|p| Point { cwnd: p.cwnd + 400_000_000, t_ms: p.t_ms * 1.1, ..p })
            .collect(),
        phases: (0..3_000).map(phase).collect(),
        losses: (0..5_000).map(|i| Loss { t_ms: f64::from(i) * 1.1, bytes: 1500 }).collect(),
        episodes: (0..3_000).map(episode).collect(),
        ..Series::default()
    };
    for arms in [8, 16, 40] {
        let report = Report { series: (0..arms).map(series).collect(), ..small_report() };
        let size = report.to_html().len();
        assert!(size < 2_000_000, "a page with {arms} arms has {size} bytes");
        let first = &report.bounded().series[0];
        assert_eq!(first.episodes_total, 3_000, "the page forgets how many episodes there were");
    }
}

#[test]
fn every_phase_has_its_place_in_the_key_and_its_colour() {
    let names = firstflight::Phase::ALL.map(firstflight::Phase::name);
    let scripts = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/report/charts.js"));
    let (_, list) = scripts.split_once("const PHASES = [").expect("charts.js lists the phases");
    let (list, _) = list.split_once(']').expect("the list ends");
    let mut listed: Vec<&str> = list.split(',').map(|name| name.trim().trim_matches('"')).collect();
    let style = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/report/style.css"));
    for name in names {
        assert!(
            listed.contains(&name),
            "phase `{name}`: give it a place in PHASES of report/charts.js"
        );
        assert!(
            style.contains(&format!(".phase-{name} {{")),
            "phase `{name}`: give it a colour in report/style.css"
        );
    }
    listed.retain(|name| !names.contains(name));
    assert!(listed.is_empty(), "report/charts.js lists phases that no sender has: {listed:?}");
}
