//! A table of commands and hostile names: whatever a file is called or holds, nothing that steers a
//! terminal reaches standard output or standard error, in any format.

use crate::command::{command, inside};
use serde_json::Value;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Colours, a title, a cleared screen, a line of its own, C1, bidirectional characters, separators.
const HOSTILE: &str = "\u{1b}[31mRED\u{1b}]0;t\u{7}\u{1b}[2J\r\u{9b}31m\u{202e}evil\u{2028}\u{2066}\u{feff}\nfirstflight: forged";

fn steers(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Runs it with these words, and returns what it wrote.
#[track_caller]
fn tame(folder: &TempDir, arguments: &[&str]) -> (Option<i32>, String) {
    let output = command(arguments).current_dir(folder.path()).output().expect("it runs");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).expect("UTF-8");
    let found: Vec<char> = text.chars().filter(|c| steers(*c)).collect();
    assert!(found.is_empty(), "{found:?} of {arguments:?} in {text}");
    let forged = text.lines().any(|line| line.starts_with("firstflight: forged"));
    // A cell of CSV may have several lines, in quotes.
    let csv = arguments.contains(&"csv");
    assert!(!forged || csv, "{arguments:?} lets a name write a line: {text}");
    assert_ne!(output.status.code(), Some(101), "{arguments:?}: {text}");
    (output.status.code(), text)
}

/// Every text in this JSON, and the keys of what arms are called, with the hostile one behind it.
fn poisoned(value: Value, known: &[&str]) -> Value {
    match value {
        Value::String(text) => (text + HOSTILE).into(),
        Value::Array(all) => all.into_iter().map(|one| poisoned(one, known)).collect(),
        Value::Object(fields) => {
            let field = |(key, value): (String, Value)| {
                let keeps = known.contains(&key.as_str());
                (key, if keeps { value } else { poisoned(value, known) })
            };
            Value::Object(fields.into_iter().map(field).collect())
        }
        other => other,
    }
}

fn write(folder: &TempDir, name: &str, text: &str) {
    fs::write(folder.path().join(name), text).expect("written");
}

const FORMATS: [&str; 5] = ["table", "md", "csv", "tex", "json"];

#[test]
fn no_name_of_a_file_steers_a_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let none = HOSTILE;
    let json = format!("{none}.json");
    for arguments in [
        &["replay", none][..],
        &["advise", none],
        &["diff", none, none],
        &["check", none, "--against", none],
        &["run", none],
        &["run", none, "--report", none],
        &["compare", "--path", none],
        &["compare", "--arms", none],
        &["compare", "--bytes", none],
        &["compare", "--arms", "rapid", "--json", "no folder\u{1b}[2J/x"],
        &["ab", "--population", none],
        &["ab", "merge", none],
        &["ab", "--flows", "20", "--arms", "rapid", "--out", none],
        &["evaluate", "rapid", "--battery", none],
        &["evaluate", "rapid", "--against", none],
        &["evaluate", "rapid", "--cell", none],
        &["populations", "describe", none],
        &["populations", "show", none],
        &["populations", "from-traces", none],
        &["conform", &format!("table:{none}")],
        &["reproduce", none],
        &["trial", "analyse", none],
        &["trial", "analyse", &json, "--by", none],
        &["vectors", none],
        &["completions", none],
        &["ui", "--port", none],
        &["serve", "--dir", none, "--listen", none],
        &["fetch", none],
        &["link", "--path", none, "--", "true"],
        &["kernel", "load", none],
        &[none],
        &["compare", none],
        &["compare", "--columns", none],
        &["compare", "--arms", "rapid", "--format", none],
    ] {
        let (code, text) = tame(&folder, arguments);
        assert_eq!(code, Some(2), "{arguments:?} is refused: {text}");
    }
    assert_eq!(inside(&folder), Vec::<String>::new(), "nothing is written");
}

#[test]
fn no_text_in_an_answer_a_trace_or_a_table_steers_a_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let compare = ["compare", "--bytes", "300kB", "--arms", "slowstart,rapid"];
    tame(&folder, &[&compare[..], &["--json", "c.json"]].concat());
    tame(&folder, &["compare", "--bytes", "300kB", "--arms", "slowstart", "--trace", "t.sqlog"]);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("written");
    let answer: Value = serde_json::from_str(&read("c.json")).expect("JSON");
    write(&folder, "hostile.json", &poisoned(answer, &["testbed", "transport"]).to_string());
    for format in FORMATS {
        for (before, after) in [("hostile.json", "hostile.json"), ("c.json", "hostile.json")] {
            tame(&folder, &["diff", before, after, "--format", format]);
            tame(&folder, &["check", after, "--against", before, "--format", format]);
        }
    }
    // A trace whose title, description and vantage point are hostile, in a file that is.
    let trace = read("t.sqlog");
    let (head, rest) = trace.split_once('\n').expect("a header");
    let head: Value = serde_json::from_str(head.trim_start_matches('\u{1e}')).expect("JSON");
    let known = [
        "qlog_version",
        "file_schema",
        "serialization_format",
        "event_schemas",
        "vantage_point",
        "common_fields",
    ];
    let head = poisoned(head, &known);
    let name = HOSTILE.replace('/', "_") + ".sqlog";
    write(&folder, &name, &format!("\u{1e}{head}\n{rest}"));
    for format in FORMATS {
        let (code, text) = tame(&folder, &["replay", &name, "--format", format]);
        assert_eq!(code, Some(0), "{text}");
    }
    let five = [name.as_str(); 5];
    tame(&folder, &[&["advise"][..], &five, &["--flows", "20", "--arms", "rapid"]].concat());
    tame(&folder, &["populations", "from-traces", &name]);
    // Rows of anybody.
    let row = |number: u32| {
        let arm = if number.is_multiple_of(2) { "a".to_owned() } else { format!("b{HOSTILE}") };
        let row = serde_json::json!({
            "arm": arm, "bytes": 1000, "ttlb_ms": 30 + number * 7 % 50,
            "unit": format!("{}{HOSTILE}", number / 3), "=country": format!("=1+{HOSTILE}"),
        });
        format!("{row}\n")
    };
    write(&folder, "rows.jsonl", &(0..300).map(row).collect::<String>());
    for format in FORMATS {
        let arguments = ["trial", "analyse", "rows.jsonl", "--by", "=country", "--format", format];
        let (code, text) = tame(&folder, &arguments);
        assert!(matches!(code, Some(0 | 1)), "{text}");
    }
    let population = "rtt_ms,rate_mbps,loss_pct,group\n".to_owned()
        + &format!("31,88.5,0.1,\"{HOSTILE}\"\n").repeat(5);
    write(&folder, "p.csv", &population);
    let title = serde_json::to_string(HOSTILE).expect("JSON");
    write(
        &folder,
        "e.toml",
        &format!(
            "title = {title}\npath = \"rapid-slide\"\nbytes = \"100kB\"\narms = [\"slowstart\"]\n"
        ),
    );
    for format in FORMATS {
        tame(
            &folder,
            &[
                "ab",
                "--population",
                "p.csv",
                "--flows",
                "20",
                "--arms",
                "rapid",
                "--format",
                format,
            ],
        );
        tame(&folder, &["populations", "describe", "p.csv", "--format", format]);
        tame(&folder, &["run", "e.toml", "--format", format]);
    }
    tame(&folder, &["populations", "show", "p.csv"]);
    write(&folder, "q.csv", &population.replace("\nfirstflight", "").replace('\r', ""));
    for arguments in [
        &["diff", "c.json", "hostile.json"][..],
        &["replay", &name],
        &["advise", &name, "--flows", "20", "--arms", "rapid"],
        &["trial", "analyse", "rows.jsonl", "--by", "=country"],
        &["ab", "--population", "q.csv", "--flows", "20", "--arms", "rapid"],
        &["run", "e.toml"],
    ] {
        let (_, text) = tame(&folder, &[arguments, &["--report", "page.html"]].concat());
        let page = fs::read_to_string(folder.path().join("page.html"));
        let page = page.unwrap_or_else(|bad| panic!("{arguments:?}: {bad}: {text}"));
        let raw: Vec<char> = page.chars().filter(|c| steers(*c)).collect();
        assert!(raw.is_empty(), "{raw:?} in the page of {arguments:?}");
        let (_, data) = page.split_once("id=\"data\">").expect("a page has data");
        let (data, _) = data.split_once("</script>").expect("and they end");
        let data: Value = serde_json::from_str(data).expect("JSON");
        assert!(!any_text(&data, |text| text.contains(|c| steers(c) && c != '\r')), "{data}");
        fs::remove_file(folder.path().join("page.html")).expect("a page");
    }
}

/// Whether `is` holds for a key or a string in this JSON.
fn any_text(value: &Value, is: impl Fn(&str) -> bool + Copy) -> bool {
    match value {
        Value::String(text) => is(text),
        Value::Array(all) => all.iter().any(|one| any_text(one, is)),
        Value::Object(fields) => fields.iter().any(|(key, one)| is(key) || any_text(one, is)),
        _ => false,
    }
}

/// Text columns of CSV hold no formula; numbers stay numbers.
#[test]
fn no_text_of_a_csv_table_is_a_formula() {
    let folder = tempfile::tempdir().expect("a folder");
    let row = |number: u32| {
        let arm = if number.is_multiple_of(2) { "+a" } else { "=HYPERLINK(\"x\")" };
        format!(
            "{{\"arm\":{},\"bytes\":1000,\"ttlb_ms\":{}}}\n",
            serde_json::json!(arm),
            30 + number % 9
        )
    };
    write(&folder, "rows.jsonl", &(0..300).map(row).collect::<String>());
    let (_, text) = tame(&folder, &["trial", "analyse", "rows.jsonl", "--format", "csv"]);
    let cells = text.lines().flat_map(|line| line.split(','));
    let formulas: Vec<&str> = cells
        .map(|cell| cell.trim_start_matches('"'))
        .filter(|cell| {
            cell.starts_with(['=', '+', '@'])
                || cell.starts_with('-') && cell.parse::<f64>().is_err()
        })
        .collect();
    assert!(formulas.is_empty() && text.contains("'=HYPERLINK"), "{formulas:?} in {text}");
}

#[test]
fn options_are_checked_before_anything_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let compare = ["compare", "--bytes", "100kB", "--arms", "slowstart,rapid", "--json"];
    tame(&folder, &[&compare[..], &["a.json"]].concat());
    tame(&folder, &[&compare[..], &["b.json", "--seed", "2"]].concat());
    write(
        &folder,
        "e.toml",
        "path = [\"geo\", \"leo\"]\nbytes = \"100kB\"\narms = [\"slowstart\"]\n",
    );
    let before = inside(&folder);
    for arguments in [
        &["diff", "a.json", "b.json", "--columns", "nosuch", "--report", "x.html"][..],
        &["check", "a.json", "--against", "b.json", "--columns", "nosuch", "--junit", "x.xml"],
        &["run", "e.toml", "--columns", "nosuch", "--report", "pages/"],
        &["ab", "--flows", "20", "--arms", "rapid", "--resume", "blocks", "--out", "rows.txt"],
        &["ab", "--flows", "20", "--arms", "rapid", "--save", "-"],
        &["evaluate", "rapid", "--list", "--columns", "nosuch", "--annex", "x.txt"],
        #[cfg(feature = "quic")]
        &["serve", "--trial", "nosuch,rapid", "--rows", "rows.jsonl"],
        #[cfg(feature = "quic")]
        &["serve", "--trial", "slowstart,rapid", "--rows", "rows.jsonl", "--listen", "256.0.0.1:1"],
        #[cfg(feature = "quic")]
        &["serve", "--trial", "slowstart,rapid", "--rows", "-"],
        #[cfg(all(feature = "bpf", target_os = "linux"))]
        &[
            "trial",
            "start",
            "--cgroup",
            "/proc",
            "--arms",
            "kernel:cubic,kernel:reno",
            "--out",
            "d/e",
        ],
        #[cfg(all(feature = "bpf", target_os = "linux"))]
        &[
            "trial",
            "start",
            "--cgroup",
            "/proc",
            "--arms",
            "kernel:cubic,kernel:reno",
            "--out",
            "d",
            "--detach",
        ],
        #[cfg(all(feature = "bpf", target_os = "linux"))]
        &[
            "trial",
            "start",
            "--cgroup",
            "/proc",
            "--arms",
            "kernel:cubic,kernel:reno",
            "--rows",
            "-",
        ],
        #[cfg(all(feature = "bpf", target_os = "linux"))]
        &["watch", "--cgroup", "/proc", "--out", "-"],
        #[cfg(all(feature = "bpf", target_os = "linux"))]
        &["watch", "--cgroup", "/proc", "--out", "rows.jsonl"],
    ] {
        let (code, text) = tame(&folder, arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {text}");
        let whys = text.lines().filter(|line| line.starts_with("firstflight: ")).count();
        assert_eq!(whys, 1, "{arguments:?}: {text}");
        assert_eq!(inside(&folder), before, "{arguments:?}");
    }
    assert!(!Path::new("-").exists());
}
