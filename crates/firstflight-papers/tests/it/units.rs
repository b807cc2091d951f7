//! Rows of the published experiments that follow from the algebra: if one does not hold, our code is
//! wrong. Those of Rapid Start's plots are in `rapid_start_slides.rs`.

use firstflight_papers::{
    Effort, Gate, Partial, Row, SOURCES, Scale, Values, Verdict, early_retransmit, gvisor,
    hystart_plus_plus, prr, reproduce, source,
};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[track_caller]
fn values_hold(name: &str, values: &Values, id: &str) {
    hold(&source(name).expect("the document").rows_of_all(values), id);
}

#[track_caller]
fn hold(rows: &[Row], id: &str) {
    assert!(rows.iter().any(|row| row.id == id), "row {id} is measured");
    for row in rows {
        println!("{row}");
        assert!(
            row.gate == Gate::Unit && row.holds(),
            "row {} is a consequence of the algebra and has to hold: {row}",
            row.id
        );
    }
}

#[test]
fn row_1_8_draft_03_leaves_by_delay_and_grows_by_a_quarter_beside_avoidance() {
    values_hold("hystart++", &hystart_plus_plus::unit_values(), "1.8");
}

#[test]
fn row_4_2_5_integers_give_the_same_bits() {
    values_hold("gvisor", &gvisor::unit_values().expect("the rig carries full packets"), "4.2.5");
}

#[test]
fn row_5_1_7_standard_is_silent_under_light_loss_and_prr_is_not() {
    values_hold("prr", &prr::unit_values(), "5.1.7");
}

#[test]
fn row_5_4_1_early_retransmit_needs_one_duplicate_less_than_the_flight() {
    values_hold("early-retransmit", &early_retransmit::unit_values(), "5.4.1");
}

/// The list of experiments: numbers of the rows by document, as in our specification of experiments.
const LIST: &[(&str, &[&str])] = &[
    ("hystart++", &["1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7", "1.8", "1.9", "1.10"]),
    (
        "rapid-start",
        &[
            "2.1.1", "2.1.2", "2.1.3", "2.1.4", "2.1.5", "2.1.6", "2.1.7", "2.1.8", "2.1.9",
            "2.1.10", "2.1.11", "2.1.12", "2.1.13", "2.2.1", "2.2.2", "2.2.3", "2.2.4", "2.2.5",
            "2.2.6", "2.2.7",
        ],
    ),
    ("best", &["3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "3.10"]),
    (
        "gvisor",
        &["4.1.1", "4.1.2", "4.1.3", "4.1.4", "4.1.5", "4.2.1", "4.2.2", "4.2.3", "4.2.4", "4.2.5"],
    ),
    (
        "prr",
        &[
            "5.1.1",
            "5.1.2",
            "5.1.3",
            "5.1.4",
            "5.1.5",
            "5.1.6",
            "5.1.7",
            "5.2 M5",
            "5.2 M6",
            "5.2 M7",
            "5.2 control",
            "5.3",
            "5.5",
        ],
    ),
    ("early-retransmit", &["5.4.1", "5.4.2", "5.4.3", "5.4.4", "5.4.5"]),
    ("neqo", &["6.1"]),
    ("cuback", &["7.1", "7.2"]),
    ("abba", &["8.1", "8.2", "8.3", "8.4", "8.5", "8.6"]),
    ("browser", &["9.1", "9.2", "9.3", "9.4"]),
    ("careful", &["10.1", "10.2", "10.3", "10.4", "10.5"]),
    ("leo", &["11.1", "11.2", "11.3", "11.4"]),
    ("suss", &["13.1", "13.2", "13.3"]),
    ("chirping", &["12.1", "12.2", "12.3", "12.4", "12.5"]),
    ("rwnd", &["15.1", "15.2"]),
    ("scone", &["14.1", "14.2", "14.3", "14.4", "14.5"]),
    ("idle-trap", &["16.1", "16.2"]),
];

/// Parts of the names of the slides' figures.
const PICTURES: &[&str] = &[
    "Shorter downloads, by percentile",
    "Shorter downloads, by point of presence",
    "Shorter downloads, by object size",
    "Loss per connection, by percentile",
    "Download time by exit point and queue",
    "Throughput of the upload over time",
    "Window over time",
    "Gain of HyStart++ -03 for flows that start together, by recovery",
    "Share of retransmissions that are lost",
    "Longest silence that a timer ends",
    "Window of a flow when startup ends, by RTT",
];

#[test]
fn the_documents_have_the_rows_of_the_list_and_no_other() {
    let ours: Vec<(&str, Vec<&str>)> = SOURCES
        .iter()
        .map(|source| (source.name, source.items.iter().map(|item| item.id).collect()))
        .collect();
    let list: Vec<(&str, Vec<&str>)> =
        LIST.iter().map(|(name, rows)| (*name, rows.to_vec())).collect();
    assert_eq!(ours, list, "documents and rows of the list of experiments");
    for item in SOURCES.iter().flat_map(|source| &source.items) {
        let letters =
            !item.gates.is_empty() && item.gates.chars().all(|gate| "UGBQ-".contains(gate));
        assert!(letters, "gates of row {}: {}", item.id, item.gates);
    }
}

/// The primary run of chapter 1 shows a gain, and PRR or RACK removes it. Six draws are enough for the direction, not
/// for the size.
#[test]
fn prr_and_rack_take_away_what_draft_03_gains_over_rfc_6675() {
    let gains = hystart_plus_plus::together::short_gains(6).expect("the paths carry full packets");
    println!("{gains:?}");
    let [(_, primary), controls @ ..] = gains.as_slice() else {
        panic!("a primary run and controls")
    };
    assert!(*primary > 5.0, "RFC 6675 without PRR and RACK gains: {gains:?}");
    assert_eq!(controls.len(), 3);
    for (name, gain) in controls {
        assert!(
            *gain < 5.0 && gain + 5.0 < *primary,
            "{name} leaves nothing of {primary:.1} %: {gain:.1} %"
        );
    }
}

/// Runs every document with very few connections: the results are meaningless, but none may be missing.
#[test]
fn a_glance_measures_every_row_of_the_list_and_leaves_none_out() {
    let begun = AtomicU64::new(0);
    let tell = |_: &str| {
        begun.fetch_add(1, Ordering::Relaxed);
    };
    let effort = Effort::new(Scale::Glance, &tell);
    let mut pictures = Vec::new();
    let mut steps = Vec::new();
    for source in SOURCES.iter() {
        let chapter = source.run(&effort).unwrap_or_else(|bad| panic!("{}: {bad}", source.name));
        steps.push((source.name, begun.swap(0, Ordering::Relaxed), source.steps));
        assert!(
            chapter.unmatched.is_empty(),
            "{}: every claim has a value and every value a claim: {:#?}",
            source.name,
            chapter.unmatched
        );
        for item in &source.items {
            let rows: Vec<&Row> = chapter.rows.iter().filter(|row| row.id == item.id).collect();
            assert!(
                !rows.is_empty(),
                "row {} of {} is measured or says why not",
                item.id,
                source.name
            );
            assert!(
                rows.iter().all(|row| row.verdict != Verdict::NotRun),
                "row {} was not run",
                item.id
            );
            // Of each gate that the list has, at least one row; a quoted row has nothing to gate.
            for gate in item.gates.chars().filter(|gate| "UGB".contains(*gate)) {
                let too_few = rows.iter().any(|row| row.gate == Gate::Seen);
                assert!(
                    rows.iter().any(|row| row.gates.contains(gate)) || too_few,
                    "row {} of {} has a gate {gate}",
                    item.id,
                    source.name
                );
            }
        }
        for (index, row) in chapter.rows.iter().enumerate() {
            for other in &chapter.rows[..index] {
                assert!(row.key != other.key, "two rows have the key {}", row.key);
                let same =
                    (row.id, &row.case, &row.measure) == (other.id, &other.case, &other.measure);
                assert!(!same, "row {} stands there twice: {row} and {other}", row.id);
            }
            for text in [&row.ours, &row.says, &row.accepted] {
                assert!(
                    ["none %", "NaN", "Some("].iter().all(|part| !text.contains(part)),
                    "what is unknown is no number, and what is known is bare: {row}"
                );
            }
            assert!(
                row.published.is_none() || row.measured.is_none() || row.ratio.is_some(),
                "both sizes are compared: {row}"
            );
            for name in &row.assumptions {
                assert!(
                    source.assumptions.iter().any(|known| known.name == *name),
                    "assumption {name} of row {} is explained",
                    row.id
                );
            }
        }
        for figure in &chapter.figures {
            let nothing = figure
                .series
                .iter()
                .flat_map(|series| &series.points)
                .all(|point| point[1].to_bits() << 1 == 0);
            assert!(!nothing, "the picture `{}` has values", figure.name);
        }
        pictures.extend(chapter.figures.into_iter().map(|figure| figure.name));
    }
    for picture in PICTURES {
        assert!(
            pictures.iter().any(|name| name.contains(picture)),
            "there is a picture `{picture}` among {pictures:?}"
        );
    }
    for (name, begun, stated) in &steps {
        assert_eq!(begun, stated, "measurements of {name}; of all: {steps:?}");
    }
}

#[test]
fn a_run_that_is_stopped_keeps_the_documents_that_are_through() {
    let stop = AtomicBool::new(false);
    let tell = |what: &str| {
        if what.starts_with("rapid-start") {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let effort = Effort::new(Scale::Glance, &tell);
    let sources = ["early-retransmit", "rapid-start"].map(|name| source(name).expect("a document"));
    // On one thread one document is through before the next begins.
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let all = alone.install(|| reproduce(&sources, &effort, &stop)).expect("one is through");
    let names: Vec<&str> = all.sources.iter().map(|chapter| chapter.name).collect();
    assert_eq!(names, ["early-retransmit"]);
    assert_eq!(all.partial, Some(Partial { documents: 1, of: 2, stopped_in: "rapid-start" }));
    assert!(all.to_json().contains("\"stopped_in\": \"rapid-start\""));
    for page in [all.to_markdown("x"), all.to_html("x")] {
        assert!(page.contains("partial: 1 of 2 documents, stopped in rapid-start"), "{page}");
    }
    let none = reproduce(&sources, &effort, &stop).map(|_| ());
    let line = none.expect_err("nothing is through").to_string();
    assert_eq!(line, "stopped before any document was finished");
}

#[test]
fn documents_side_by_side_give_what_they_give_alone_and_in_order() {
    let effort = || Effort::new(Scale::Glance, &|_| {});
    let sources =
        ["early-retransmit", "neqo", "careful"].map(|name| source(name).expect("a document"));
    let go = AtomicBool::new(false);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("threads");
    let together = pool.install(|| reproduce(&sources, &effort(), &go)).expect("runs");
    assert_eq!(together.partial, None);
    let alone: Vec<_> = sources.iter().map(|source| source.run(&effort()).expect("runs")).collect();
    // In words, where what is not a number is equal to itself.
    for (together, alone) in together.sources.iter().zip(&alone) {
        assert_eq!(
            format!("{together:?}"),
            format!("{alone:?}"),
            "{} on three threads",
            alone.name
        );
    }
    assert_eq!(together.sources.len(), alone.len());
}

#[test]
fn documents_side_by_side_end_together_when_somebody_stops_them() {
    let stop = AtomicBool::new(false);
    let begun = AtomicU64::new(0);
    let tell = |_: &str| {
        // The short one of two is through by then.
        stop.store(begun.fetch_add(1, Ordering::Relaxed) > 8, Ordering::Relaxed);
    };
    let effort = Effort::new(Scale::Glance, &tell);
    let sources = ["prr", "browser"].map(|name| source(name).expect("a document"));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("threads");
    let all = pool.install(|| reproduce(&sources, &effort, &stop)).expect("one is through");
    let names: Vec<&str> = all.sources.iter().map(|chapter| chapter.name).collect();
    assert_eq!(names, ["browser"]);
    assert_eq!(all.partial, Some(Partial { documents: 1, of: 2, stopped_in: "prr" }));
}

/// A published point without a use could become wrong unnoticed.
#[test]
fn every_published_point_is_used() {
    fn sources(folder: &std::path::Path, text: &mut String) {
        for entry in std::fs::read_dir(folder).expect("the sources are there") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                sources(&path, text);
            } else {
                text.push_str(&std::fs::read_to_string(path).expect("text"));
            }
        }
    }
    let mut code = String::new();
    sources(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut code);
    let mut seen = 0;
    for source in SOURCES.iter() {
        for points in &source.points {
            assert!(code.contains(&format!("\"{}\"", points.name)), "{}", points.name);
            assert_eq!(points.points().len(), points.values.len(), "{}", points.name);
            seen += 1;
        }
    }
    assert!(seen > 10, "the papers have points");
}
