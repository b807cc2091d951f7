//! No address, no port and no payload of a client is in any file that `watch` and `trial` write,
//! with clients of both families.

use super::secrets::Secrets;
use super::service::{Group, ONE, Service, ended, started};
use super::trial::age;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

const PATH: &str = "rate=100Mbit,rtt=4ms,queue=20ms";
const SIZE: usize = 60_000;
const EACH: usize = 10;
/// The last segments of a connection are under way when its client has all.
const TAIL: Duration = Duration::from_millis(500);

fn firstflight(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_firstflight"))
        .args(arguments)
        .output()
        .expect("the command runs");
    let said =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.code() != Some(2), "{arguments:?}: {said:?}");
    said.concat()
}

/// Downloads of both families; their ports are secrets from now on.
fn download(service: &Service, secrets: &mut Secrets) -> usize {
    let families = 1 + usize::from(service.v6().is_some());
    for _ in 0..EACH {
        secrets.port(service.download().1);
        if service.v6().is_some() {
            secrets.port(service.download_v6().1);
        }
    }
    sleep(TAIL);
    families * EACH
}

fn lines(file: &str) -> usize {
    fs::read_to_string(file).expect("rows").lines().count()
}

#[test]
fn no_file_of_watch_or_trial_tells_an_address_a_port_or_payload() {
    let _one = ONE.lock();
    let Some(group) = Group::make() else { return };
    let Some(mut service) = Service::start(&group, PATH, SIZE) else { return };
    if !service.also_v6(&group) {
        println!("IPv6 is missing here: only IPv4 is tried");
    }
    let mut secrets = Secrets::default();
    service.ends().into_iter().for_each(|end| secrets.address(end));
    for text in ["xxxxxxxx", "GET /object"] {
        secrets.payload(text);
    }
    let place = service.file("told");
    fs::create_dir(&place).expect("a folder");
    let file = |name: &str| format!("{place}/{name}");
    let cgroup = ["--cgroup", group.folder()];

    let (answer, page, population) = (file("answer.json"), file("page.html"), file("mine.toml"));
    let (rows, parquet) = (file("watched.jsonl"), file("watched.parquet"));
    for out in [&rows, &parquet] {
        let mut arguments = vec!["watch", "--arms", "slowstart,search", "--out", out];
        arguments.extend(["--json", &answer, "--report", &page, "--population", &population]);
        let started = started(&[&arguments[..], &cgroup].concat(), "watching");
        let Some((child, _said)) = started else { return };
        let downloads = download(&service, &mut secrets);
        let (code, shown) = ended(child, "-INT");
        assert_eq!(code, Some(0), "{shown}");
        fs::write(file("shown"), &shown).expect("written");
        let told: Value =
            serde_json::from_str(&fs::read_to_string(&answer).expect("JSON")).unwrap();
        assert_eq!(told["closed"].as_u64(), Some(downloads as u64), "{told}");
    }
    assert_eq!(lines(&rows) % EACH, 0, "a row of each");

    // A folder with all that `trial` writes into it, while one connection is open.
    let (folder, arms) = (file("trial"), "kernel:cubic,kernel:reno");
    let mut arguments = vec!["trial", "start", "--arms", arms, "--unit", "client", "--detach"];
    arguments.extend(["--out", &folder, "--prefix4", "32", "--prefix6", "128"]);
    firstflight(&[&arguments[..], &cgroup].concat());
    let open = service.connect();
    secrets.port(open.local_addr().expect("bound").port());
    let downloads = download(&service, &mut secrets);
    firstflight(&["trial", "shares", &folder, "kernel:cubic,kernel:reno=40%"]);
    let again = download(&service, &mut secrets);
    firstflight(&["trial", "stop", &folder]);
    drop(open);
    assert_eq!(lines(&format!("{folder}/rows.jsonl")), downloads + again + 1);
    age(&folder);
    // One client of each family may have one arm only: then there is nothing to compare.
    let looked = Command::new(env!("CARGO_BIN_EXE_firstflight"))
        .args([
            "trial",
            "report",
            &folder,
            "--json",
            &file("look.json"),
            "--report",
            &file("look.html"),
        ])
        .output()
        .expect("the command runs");
    fs::write(file("report"), [&looked.stdout[..], &looked.stderr].concat()).expect("written");
    fs::write(file("status"), firstflight(&["trial", "status", &folder])).expect("written");
    assert!(Path::new(&format!("{folder}/mature.jsonl")).is_file(), "it was looked at");

    let (rows, parquet) = (file("rows.jsonl"), file("rows.parquet"));
    for out in [&rows, &parquet] {
        let arguments = ["trial", "start", "--arms", arms, "--unit", "connection", "--rows", out];
        let started = started(&[&arguments[..], &cgroup].concat(), "trial of");
        let Some((child, _said)) = started else { return };
        download(&service, &mut secrets);
        assert_eq!(ended(child, "-INT").0, Some(0));
        let (json, page) = (file("analysed.json"), file("analysed.html"));
        firstflight(&["trial", "analyse", out, "--json", &json, "--report", &page]);
    }
    let files = secrets.assert_in_none(&[Path::new(&place)]);
    // The look's two, if there were two arms to compare.
    let look = [file("look.json"), file("look.html")];
    let written = look.iter().filter(|file| Path::new(file).is_file()).count();
    assert!(files >= 18 + written, "{files} files were searched, {written} of the look");
    assert!(looked.status.code() == Some(1) || written == 2, "{looked:?}");
    if cfg!(feature = "parquet") {
        assert!(Path::new(&format!("{parquet}/000001.parquet")).is_file(), "Parquet was searched");
    }
}
