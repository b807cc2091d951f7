//! The analysis of field tests, on tables with a known answer.

use firstflight_lab::field::{Answer, FieldRequest};
use firstflight_lab::request::from_pairs;
use firstflight_path::random::mix;
use std::fmt::Write as _;
use std::path::PathBuf;

fn answer(files: &[PathBuf], options: &[(&str, &str)]) -> Result<Answer, String> {
    let pairs: Vec<(String, String)> =
        options.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let request: FieldRequest = from_pairs(&pairs).map_err(|error| error.to_string())?;
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    request.answer(&files).map_err(|error| error.to_string())
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let file = self.0.path().join(name);
        std::fs::write(&file, text).expect("written");
        file
    }
}

fn unit(random: u64) -> f64 {
    (random >> 11) as f64 / (1_u64 << 53) as f64
}

/// Rows of clients with a few connections each: arm, client, bytes, ms, segments, retransmitted.
/// `b` takes `factor` times as long and retransmits `harm` times as much.
fn rows(clients: u64, factor: f64, harm: f64) -> Vec<(String, u64, u64, f64, u64, u64)> {
    let mut rows = Vec::new();
    for client in 0..clients {
        let draw = |purpose: u64| mix(mix(client.wrapping_mul(31)).wrapping_add(purpose));
        let treated = draw(0) >> 63 == 1;
        let own = (unit(draw(1)) - 0.5).exp();
        for connection in 0..=draw(2) % 5 {
            let at = |purpose: u64| draw(100 + 10 * connection + purpose);
            let bytes = 20_000 << (at(0) % 4);
            let slow = if treated { factor } else { 1.0 };
            let ms = slow * own * (bytes as f64).sqrt() * (0.8 * unit(at(1))).exp();
            let segments = bytes / 1000;
            let rate = 0.02 * if treated { harm } else { 1.0 };
            let lost = (0..segments).filter(|k| unit(at(1000 + k)) < rate).count() as u64;
            let arm = if treated { "b" } else { "a" };
            rows.push((arm.to_owned(), client, bytes, ms, segments, lost));
        }
    }
    rows
}

fn csv(rows: &[(String, u64, u64, f64, u64, u64)]) -> String {
    let mut text = "arm,client,bytes,ttlb_ms,segments,retransmitted\n".to_owned();
    for (arm, client, bytes, ms, segments, lost) in rows {
        let _ = writeln!(text, "{arm},c{client},{bytes},{ms},{segments},{lost}");
    }
    text
}

const CLIENT: (&str, &str) = ("cluster", "client");

#[test]
fn a_known_difference_is_found_with_its_size_and_the_page_says_the_same() {
    let folder = Folder::new();
    let table = folder.file("a.csv", &csv(&rows(1500, 0.9, 1.0)));
    let found = answer(&[table], &[CLIENT, ("baseline", "a"), ("shares", "a=50%,b=50%")]);
    let found = found.expect("an answer");
    let row = &found.results[0];
    let plain = row.reduction_pct.expect("enough units");
    let always = row.always_valid_pct.expect("enough units");
    assert!(plain.covers(10.0) && plain.low > 5.0 && row.stands, "{plain:?}");
    assert!(
        always.low < plain.low && always.high > plain.high,
        "{always:?} is wider than {plain:?}"
    );
    assert!(found.finding.starts_with("b: completion times "), "{}", found.finding);
    assert_eq!((found.withheld.as_deref(), found.stopped()), (None, None));
    assert!(found.aa.as_ref().and_then(|aa| aa.always_valid_pct).is_some_and(|aa| aa.covers(0.0)));
    assert!(
        found
            .sample_ratio
            .as_ref()
            .is_some_and(|ratio| !ratio.mismatch && ratio.counted == "units")
    );
    let page = found.page("firstflight trial analyse a.csv");
    assert!(page.contains(&found.finding) && page.contains("\"reduction_pct\""));
}

#[test]
fn csv_and_json_lines_say_the_same_and_a_half_written_line_is_left() {
    let folder = Folder::new();
    let rows = rows(300, 0.9, 1.0);
    let mut lines = String::new();
    for (arm, client, bytes, ms, segments, lost) in &rows {
        let _ = writeln!(
            lines,
            "{{\"arm\":\"{arm}\",\"client\":\"c{client}\",\"bytes\":{bytes},\"ttlb_ms\":{ms},\"segments\":{segments},\"retransmitted\":{lost}}}"
        );
    }
    let table = folder.file("a.csv", &csv(&rows));
    let one = answer(&[table], &[CLIENT]).expect("CSV");
    let whole = answer(&[folder.file("a.jsonl", &lines)], &[CLIENT]).expect("JSON lines");
    assert_eq!(one.results, whole.results);
    assert_eq!(one.totals, whole.totals);
    let cut = folder.file("b.jsonl", &(lines + "{\"arm\":\"a\",\"cli"));
    assert_eq!(answer(&[cut], &[CLIENT]).expect("all but the last").results, whole.results);
}

/// Slots of a minute in turns; `b` takes `factor` times as long, noon three times, and in the first
/// ten seconds of a slot both are slow.
fn slots(pairs: u64, factor: f64) -> String {
    let mut text = "arm,slot,slot_s,bytes,ttlb_ms,access\n".to_owned();
    for slot in 0..2 * pairs {
        let of = |purpose: u64| mix(mix(slot.wrapping_mul(77)).wrapping_add(purpose));
        let first = mix(slot / 2) >> 63;
        let treated = (first ^ (slot & 1)) == 1;
        let hour = 2.0 + (slot as f64 / pairs as f64 * std::f64::consts::PI).sin();
        for connection in 0..12 + of(0) % 6 {
            let at = |purpose: u64| of(100 + 10 * connection + purpose);
            let since = at(2) % 60;
            let slow = if since < 10 {
                5.0
            } else if treated {
                factor
            } else {
                1.0
            };
            let ms = 50.0 * hour * slow * (0.6 * unit(at(1))).exp();
            let arm = if treated { "b" } else { "a" };
            let access = ["cable", "radio"][(at(3) % 2) as usize];
            let _ = writeln!(text, "{arm},{slot},{since},{},{ms},{access}", 20_000 << (at(0) % 3));
        }
    }
    text
}

#[test]
fn arms_that_took_turns_are_compared_by_pairs_of_slots() {
    let folder = Folder::new();
    let table = folder.file("a.csv", &slots(60, 0.9));
    let options = [("baseline", "a"), ("settle", "10"), ("by", "access")];
    let found = answer(std::slice::from_ref(&table), &options).expect("an answer");
    let row = &found.results[0];
    let plain = row.reduction_pct.expect("60 pairs");
    assert!(plain.covers(10.0) && plain.low > 4.0 && row.units == 60, "{row:?}");
    assert!(row.degrees.is_some_and(|degrees| degrees > 50.0 && degrees <= 59.0), "{row:?}");
    assert_eq!(found.withheld, None);
    let ratio = found.sample_ratio.as_ref().expect("slots have a plan");
    assert_eq!((ratio.counted.as_str(), ratio.counts.as_slice()), ("slots", &[60, 60][..]));
    assert!(found.warnings.iter().any(|told| told.contains("start of slots")));
    assert!(!found.warnings.iter().any(|told| told.contains("Spang")), "{:?}", found.warnings);
    let access: Vec<_> = found.parts.iter().filter(|part| part.part == "access").collect();
    assert_eq!(access.len(), 2, "{:?}", found.parts);
    assert!(access.iter().all(|part| part.reduction_pct.covers(10.0)), "{access:?}");
    let mixed = answer(&[table], &[("baseline", "a")]).expect("an answer");
    assert!(mixed.results[0].rows > row.rows, "nothing is left out without --settle");
    assert!(mixed.warnings.iter().any(|told| told.contains("--settle")), "{:?}", mixed.warnings);
    // A sixth of these rows are the same in both arms: 1 - 0.9^(5/6).
    let mixed = mixed.results[0].reduction_pct.expect("60 pairs");
    assert!(mixed.covers(8.4), "{mixed:?}");
    let few = folder.file("b.csv", &slots(30, 0.9));
    let few = answer(&[few], &[("settle", "10")]).expect("an answer");
    assert!(few.withheld.as_ref().is_some_and(|why| why.contains("30 pairs")), "{few:?}");
}

#[test]
fn missing_rows_withhold_the_verdict() {
    let folder = Folder::new();
    // Every third client of `b` is lost.
    let kept: Vec<_> =
        rows(1500, 0.8, 1.0).into_iter().filter(|row| row.0 == "a" || row.1 % 3 > 0).collect();
    let table = folder.file("a.csv", &csv(&kept));
    let options = [CLIENT, ("baseline", "a"), ("shares", "a=50%,b=50%")];
    let found = answer(&[table], &options).expect("an answer");
    assert!(found.sample_ratio.as_ref().is_some_and(|ratio| ratio.mismatch));
    assert!(found.finding.starts_with("No verdict: rows are missing"), "{}", found.finding);
}

#[test]
fn an_arm_that_changes_what_is_transferred_withholds_the_verdict() {
    let folder = Folder::new();
    let mut moved = rows(1500, 1.0, 1.0);
    for row in moved.iter_mut().filter(|row| row.0 == "b") {
        row.2 *= 4;
    }
    let table = folder.file("a.csv", &csv(&moved));
    let found = answer(&[table], &[CLIENT]).expect("an answer");
    assert!(found.balance.unbalanced && found.withheld.is_some(), "{:?}", found.balance);
}

#[test]
fn a_harmful_arm_breaks_its_rule_and_a_harmless_one_does_not() {
    let folder = Folder::new();
    for (harm, stopped) in [(4.0, true), (1.0, false)] {
        let table = folder.file("a.csv", &csv(&rows(1200, 1.0, harm)));
        let options = [CLIENT, ("baseline", "a"), ("stop_if", "retransmitted > 2x")];
        let options =
            options.map(|(name, value)| (if name == "stop_if" { "stop-if" } else { name }, value));
        let found = answer(&[table], &options).expect("an answer");
        assert_eq!(found.stopped().is_some(), stopped, "{harm}: {}", found.finding);
        let times = found.totals[0].times.expect("enough events");
        assert!(times.low < harm && harm < times.high * 1.05, "{harm} is about {times:?}");
    }
}

#[test]
fn one_arm_is_a_plan() {
    let folder = Folder::new();
    let baseline: Vec<_> = rows(1000, 1.0, 1.0).into_iter().filter(|row| row.0 == "a").collect();
    let found = answer(&[folder.file("a.csv", &csv(&baseline))], &[CLIENT]).expect("a plan");
    assert!(found.results.is_empty() && found.finding.starts_with("One arm"), "{}", found.finding);
    let needs: Vec<f64> = found.needs.iter().map(|need| need.units).collect();
    assert!(needs[0] > needs[1] && needs[1] > needs[2] && needs[2] > 100.0, "{needs:?}");
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let folder = Folder::new();
    let good = csv(&rows(30, 1.0, 1.0));
    let file = |text: &str| folder.file("x.csv", text);
    for (text, options, told) in [
        ("", vec![], "x.csv: is empty"),
        ("arm,bytes,ttlb_ms\n", vec![], "no row has an arm"),
        ("arm,bytes,ttlb_ms\na,1,x\n", vec![], "line 2: `x` under `ttlb_ms` is not a number"),
        ("arm,bytes,ttlb_ms\na,1,-4\n", vec![], "not a number; allowed: 0 or more"),
        ("arm,bytes,ttlb_ms\na,1\n", vec![], "is not a table"),
        ("arm,bytes,ttlb_ms\na,1,0\nb,1,0\n", vec![], "no row has a time"),
        ("{\"arm\": }\n", vec![], "line 1: is not a JSON object"),
        ("{\n\"firstflight\": 1\n}\n", vec![], "line 1: a JSON object over several lines"),
        (&good, vec![("arm", "amr")], "no column `amr` (did you mean `arm`?)"),
        (&good, vec![("arm", "client"), ("cluster", "client")], "no row has a time"),
        (&good, vec![("time", "arm")], "cannot be a name and a number"),
        (&good, vec![("baseline", "c")], "--baseline c: column `arm` has"),
        (&good, vec![("ratio", "lost/segments")], "no column `lost`"),
        (&good, vec![("ratio", "/segments")], "--ratio /segments: allowed"),
        (&good, vec![("stop-if", "timeouts > 2x")], "no such ratio"),
        (&good, vec![("stop-if", "retransmitted")], "allowed: MEASURE > FACTORx"),
        (&good, vec![("shares", "a=50%,c=50%")], "has no arm `c`"),
        (&good, vec![("hope", "0")], "0.1 to 100 percent"),
    ] {
        match answer(&[file(text)], &options) {
            Err(line) => assert!(line.contains(told) && !line.contains('\n'), "{told}: {line}"),
            // More than 64 arms are refused, fewer are an odd question.
            Ok(_) => assert!(options.iter().any(|(_, value)| *value == "client"), "{told}"),
        }
    }
    let lacks = answer(&[folder.0.path().join("none.csv")], &[]).expect_err("no file");
    assert!(lacks.contains("none.csv"), "{lacks}");
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_is_read_as_the_others_are() {
    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    use std::sync::Arc;
    let folder = Folder::new();
    let rows = rows(300, 0.9, 1.0);
    let schema = "message rows { required binary arm (utf8); optional binary client (utf8);
        required int64 bytes; required double ttlb_ms; required int64 other; }";
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let file = folder.0.path().join("a.parquet");
    let out = std::fs::File::create(&file).expect("a file");
    let properties =
        WriterProperties::builder().set_compression(parquet::basic::Compression::SNAPPY).build();
    let mut writer =
        SerializedFileWriter::new(out, schema, Arc::new(properties)).expect("a writer");
    let mut group = writer.next_row_group().expect("a group");
    let texts = |text: Vec<String>| {
        text.iter().map(|text| ByteArray::from(text.as_str())).collect::<Vec<_>>()
    };
    for column in 0..5 {
        let mut next = group.next_column().expect("a column").expect("one more");
        let whole: Vec<i64> = rows.iter().map(|row| row.2 as i64).collect();
        match column {
            0 => next.typed::<ByteArrayType>().write_batch(
                &texts(rows.iter().map(|row| row.0.clone()).collect()),
                None,
                None,
            ),
            1 => next.typed::<ByteArrayType>().write_batch(
                &texts(rows.iter().map(|row| format!("c{}", row.1)).collect()),
                Some(&vec![1; rows.len()]),
                None,
            ),
            3 => next.typed::<DoubleType>().write_batch(
                &rows.iter().map(|row| row.3).collect::<Vec<_>>(),
                None,
                None,
            ),
            _ => next.typed::<Int64Type>().write_batch(&whole, None, None),
        }
        .expect("written");
        next.close().expect("closed");
    }
    group.close().expect("closed");
    writer.close().expect("closed");
    let table = folder.file("a.csv", &csv(&rows));
    let found = answer(&[file], &[CLIENT]).expect("Parquet");
    assert_eq!(found.results, answer(&[table], &[CLIENT]).expect("CSV").results);
}

#[cfg(feature = "parquet")]
#[test]
fn rows_come_back_from_a_folder_of_parquet_that_somebody_was_still_writing() {
    use firstflight_lab::field::{Holds, RowStore};
    use serde_json::{Map, Value, json};
    let folder = Folder::new();
    let rows = rows(300, 0.9, 1.0);
    let columns = [
        ("arm", Holds::Text),
        ("client", Holds::Text),
        ("bytes", Holds::Whole),
        ("ttlb_ms", Holds::Real),
        ("whole", Holds::Flag),
    ];
    let columns: Vec<_> = columns.map(|(name, holds)| (name.to_owned(), holds)).into();
    let place = folder.0.path().join("rows.parquet");
    let mut store = RowStore::open(&place, columns.clone()).expect("a folder");
    for (index, (arm, client, bytes, ms, ..)) in rows.iter().enumerate() {
        let whole = if index % 3 == 0 { Value::Null } else { (index % 3 == 1).into() };
        let row = json!({"arm": arm, "client": format!("c{client}"), "bytes": bytes,
            "ttlb_ms": ms, "whole": whole});
        store.add(row.as_object().cloned().unwrap_or_default());
        if index == rows.len() / 2 {
            store.flush().expect("written");
            // Another process goes on where this one ended.
            store = RowStore::open(&place, columns.clone()).expect("the same folder");
        }
    }
    assert!(store.waiting() > 0);
    store.flush().expect("written");
    store.flush().expect("nothing to write");
    // A file that was cut is none yet.
    std::fs::write(place.join("000003.part"), b"PAR1 and then the power went").expect("written");
    let table = folder.file("a.csv", &csv(&rows));
    let found = answer(std::slice::from_ref(&place), &[CLIENT]).expect("Parquet");
    assert_eq!(found.results, answer(&[table], &[CLIENT]).expect("CSV").results);
    assert_eq!(found.experiment.files.len(), 1, "as it was asked for");
    assert_eq!(std::fs::read_dir(&place).expect("a folder").count(), 3);
    let with = answer(&[place], &[CLIENT, ("complete", "whole")]).expect("flags");
    let told = with.totals.iter().find(|row| row.ratio == "incomplete/connections");
    assert!(told.is_some_and(|row| row.value.is_some_and(|value| (0.3..0.7).contains(&value))));
    let mut empty =
        RowStore::open(&folder.0.path().join("none.parquet"), columns).expect("a folder");
    empty.add(Map::new());
    assert_eq!(empty.waiting(), 1);
    let none = answer(&[folder.0.path().join("none.parquet")], &[]).expect_err("no file in it");
    assert!(none.contains("without Parquet files"), "{none}");
}

/// Rows of nine clients of ten from before a test: how slow each is, and the kind of its path.
fn earlier(clients: u64) -> String {
    let mut text = "client,ttlb_ms,path\n".to_owned();
    for client in (0..clients).filter(|client| client % 10 != 0) {
        let own = (unit(mix(mix(client.wrapping_mul(31)).wrapping_add(1))) - 0.5).exp();
        let path = if client % 2 == 0 { "batches" } else { "plain" };
        for connection in 0..3 {
            let odd = if connection == 0 { "other" } else { path };
            let noise = (0.2 * unit(mix(client * 7 + connection))).exp();
            let _ = writeln!(text, "c{client},{},{odd}", 100.0 * own * noise);
        }
    }
    text
}

#[test]
fn what_was_seen_of_clients_before_takes_out_variance_and_splits_effects() {
    let folder = Folder::new();
    let table = folder.file("a.csv", &csv(&rows(1500, 0.9, 1.0)));
    let before = folder.file("before.csv", &earlier(1500)).display().to_string();
    let own = [CLIENT, ("baseline", "a")];
    let plain = answer(std::slice::from_ref(&table), &own).expect("an answer");
    let options = [&own[..], &[("earlier", before.as_str()), ("by", "path")]].concat();
    let found = answer(std::slice::from_ref(&table), &options).expect("an answer");
    let left = found.results[0].variance_left.expect("a covariate");
    assert!(left < 0.8, "half of the variance is the client's own, {left} is left");
    let wide = |of: &Answer| of.results[0].reduction_pct.map(|one| one.high - one.low);
    assert!(wide(&found) < wide(&plain), "{:?} beside {:?}", wide(&found), wide(&plain));
    assert!(found.results[0].reduction_pct.expect("enough units").covers(10.0));
    let parts: Vec<&str> = found
        .parts
        .iter()
        .filter(|part| part.part == "path")
        .map(|part| part.name.as_str())
        .collect();
    assert_eq!(parts, ["batches", "plain", "not seen earlier"], "{:?}", found.parts);
    assert_eq!(found.experiment.earlier.as_deref(), Some(before.as_str()));

    let refused = |options: &[(&str, &str)]| {
        answer(std::slice::from_ref(&table), options).expect_err("refused")
    };
    let wrong = refused(&[("earlier", &before), ("baseline", "a")]);
    assert!(wrong.contains("--cluster names one"), "{wrong}");
    let wrong = refused(&[CLIENT, ("earlier", &before), ("by", "paths")]);
    assert!(wrong.contains("no column `paths` (did you mean `path`?)"), "{wrong}");
    let wrong = refused(&[CLIENT, ("earlier", &before), ("before", "ttlb_ms")]);
    assert!(wrong.contains("does not go with --before"), "{wrong}");
    let wrong = refused(&[CLIENT, ("earlier", "nowhere.csv")]);
    assert!(wrong.starts_with("nowhere.csv"), "{wrong}");
}
