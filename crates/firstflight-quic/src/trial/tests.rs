use super::{COLUMNS, RowWriter, Trial, TrialOptions};
use crate::driver::{AckedPacket, Driver, EndOfAcks};
use firstflight::{Nanos, Time};
use firstflight_trial::design::{By, Design, Slots};
use firstflight_trial::row::named;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

/// A file in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Memory {
    fn rows(&self) -> Vec<Value> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn trial(text: &str) -> (Trial, Memory) {
    with(text, &TrialOptions::default())
}

fn with(text: &str, options: &TrialOptions) -> (Trial, Memory) {
    let memory = Memory::default();
    (Trial::new(RowWriter::to(Box::new(memory.clone())), text, options).expect("a trial"), memory)
}

const MS: u64 = 1_000_000;

/// Sends `packets` at `start`, and acknowledges them a round trip of 40 ms later if `acknowledged`.
fn flight(driver: &mut Driver, start: u64, first: u64, packets: u64, acknowledged: bool) {
    for packet in first..first + packets {
        driver.sent(Time(start), 1200, packet);
    }
    let now = Time(start + 40 * MS);
    for packet in (first..first + packets).filter(|_| acknowledged) {
        let packet =
            AckedPacket { bytes: 1200, sent: Time(start), position: Some(packet), fresh: true };
        driver.acked(now, packet, false, Nanos(40 * MS));
    }
    if acknowledged {
        let largest = Some(first + packets - 1);
        driver.end_acks(now, EndOfAcks { inflight: 0, app_limited: true, largest, older: false });
    }
    // Stacks copy a controller to read its numbers.
    drop(driver.clone());
}

/// A link that takes a millisecond per packet, is 40 ms long and never drops, with a receiver that
/// acknowledges each packet. With each ACK, as many packets leave as the window allows, `packets`
/// in total.
fn clocked(driver: &mut Driver, start: u64, first: u64, packets: u64) {
    let (mut now, mut free, mut next) = (start, start, first);
    let mut out = VecDeque::new();
    loop {
        while 1200 * (out.len() as u64 + 1) <= driver.window() && next < first + packets {
            driver.sent(Time(now), 1200, next);
            free = free.max(now) + MS;
            out.push_back((free + 40 * MS, now, next));
            next += 1;
        }
        let Some((at, sent, number)) = out.pop_front() else { return };
        now = at;
        let position = Some(number);
        let packet = AckedPacket { bytes: 1200, sent: Time(sent), position, fresh: true };
        driver.acked(Time(now), packet, false, Nanos(now - sent));
        let inflight = 1200 * out.len() as u64;
        let end = EndOfAcks { inflight, app_limited: false, largest: position, older: false };
        driver.end_acks(Time(now), end);
    }
}

/// A connection: a handshake, `packets` of data, and as many again 100 ms after these are
/// acknowledged; the last flight is acknowledged if `whole`.
fn connection(trial: &Trial, client: Option<IpAddr>, packets: u64, whole: bool) {
    let drawn = trial.draw(client);
    let mut driver = Driver::new(drawn.plan, 1200, Time(0), Some(drawn.recorder));
    let copy = driver.clone();
    flight(&mut driver, 0, 0, 1, true);
    flight(&mut driver, 40 * MS, 1, packets, true);
    flight(&mut driver, 180 * MS, 1 + packets, packets, whole);
    drop(copy);
}

#[test]
fn a_client_that_closes_before_a_probe_of_the_mtu_has_got_everything() {
    // The largest data packet has 1200 bytes: a larger packet is a probe. Of two packets reported
    // at once the larger one may be data, unless each is reported by itself.
    for (bytes, packets, batches, complete) in [
        (1452, 1, true, true),
        (1200, 1, true, false),
        (1452, 2, true, false),
        (1452, 2, false, true),
        (1200, 2, false, false),
    ] {
        let (trial, memory) = trial("slowstart,rapid");
        let drawn = trial.draw_in(None, batches);
        let mut driver = Driver::new(drawn.plan, 1200, Time(0), Some(drawn.recorder));
        flight(&mut driver, 0, 0, 5, true);
        driver.sent(Time(50 * MS), bytes, 4 + packets);
        drop(driver);
        let row = &memory.rows()[0];
        assert_eq!(row["acked_all"], complete, "{bytes} bytes in {packets} packets: {row}");
    }
    // A packet of the size of an earlier probe is data once the path supports that size.
    let (trial, memory) = trial("slowstart,rapid");
    let drawn = trial.draw(None);
    let mut driver = Driver::new(drawn.plan, 1200, Time(0), Some(drawn.recorder));
    flight(&mut driver, 0, 0, 5, true);
    driver.sent(Time(50 * MS), 1452, 5);
    let packet = AckedPacket { bytes: 1452, sent: Time(50 * MS), position: Some(5), fresh: true };
    driver.acked(Time(90 * MS), packet, false, Nanos(40 * MS));
    driver.end_acks(
        Time(90 * MS),
        EndOfAcks { inflight: 0, app_limited: true, largest: Some(5), older: false },
    );
    driver.settle();
    driver.resize(1452);
    driver.sent(Time(91 * MS), 1452, 6);
    drop(driver);
    assert_eq!(memory.rows()[0]["acked_all"], false);
}

#[test]
fn a_row_is_written_when_the_connection_ends_with_its_last_ack() {
    let (trial, memory) = trial("slowstart,rapid");
    connection(&trial, None, 4, true);
    let rows = memory.rows();
    assert_eq!(rows.len(), 1, "one connection, however often it was copied");
    let row = &rows[0];
    assert_eq!(row["bytes_acked"], 9600);
    assert_eq!(row["acked_all"], true);
    assert!((row["handshake_rtt_ms"].as_f64().unwrap() - 40.0).abs() < 1e-9, "{row}");
    // Two flights of 40 ms; the pause between them is the application's.
    assert!((row["busy_ms"].as_f64().unwrap() - 80.0).abs() < 1e-9, "{row}");
    assert!((row["goodput_mbps"].as_f64().unwrap() - 0.96).abs() < 1e-9, "{row}");
    connection(&trial, None, 4, false);
    let cut = &memory.rows()[1];
    assert_eq!((&cut["acked_all"], &cut["bytes_acked"]), (&false.into(), &4800.into()));
}

#[test]
fn columns_are_those_of_the_table() {
    for name in COLUMNS {
        assert!(named(name).is_some(), "{name} is no column of firstflight_trial::row");
    }
    let (trial, memory) = trial("slowstart,rapid");
    connection(&trial, None, 2, true);
    let row = memory.rows().remove(0);
    let mut names: Vec<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
    let mut columns = COLUMNS.to_vec();
    names.sort_unstable();
    columns.sort_unstable();
    assert_eq!(names, columns);
}

#[test]
fn clients_keep_their_arm_and_rows_say_nothing_of_their_address() {
    let (trial, memory) = trial("slowstart,rapid=30%");
    let mut clients = BTreeMap::new();
    for network in 0..200_u8 {
        for host in [7, 9] {
            let client: IpAddr = [198, 51, network, host].into();
            connection(&trial, Some(client), 1, true);
            let row = memory.rows().pop().unwrap();
            let of = (row["arm"].clone(), row["unit"].clone());
            assert_eq!(clients.entry(network).or_insert_with(|| of.clone()), &of);
        }
    }
    let treated = clients.values().filter(|(arm, _)| arm == "rapid").count();
    assert!((35..=85).contains(&treated), "{treated} of 200 clients, 60 are planned");
    let drawn: u64 = trial.drawn().iter().map(|(_, count)| count).sum();
    assert_eq!((drawn, memory.rows().len()), (400, 400));
    let text = String::from_utf8(memory.0.lock().unwrap().clone()).unwrap();
    assert!(!text.contains("198.51") && !text.contains("198, 51"));
    assert!(trial.health().is_well());
}

#[test]
fn a_trial_of_no_arms_is_refused() {
    for (wrong, told) in [
        ("slowstart", "at least one other arm"),
        ("slowstart,rapdi", "rapdi"),
        ("slowstart,rapid@(detection=rack)", "detects losses"),
    ] {
        let refused =
            Trial::new(RowWriter::to(Box::new(Memory::default())), wrong, &TrialOptions::default())
                .expect_err(wrong)
                .0;
        assert!(refused.contains(told), "{wrong}: {refused}");
    }
}

#[test]
fn who_takes_no_part_leaves_no_row_and_labels_are_arms_of_their_own() {
    let design = Design { enrol: 0.5, ..Design::default() };
    let options = TrialOptions { design, max_share: "rapid#2=90%".into(), ..Default::default() };
    let (trial, memory) = with("rapid#1,rapid#2=80%", &options);
    for _ in 0..200 {
        connection(&trial, None, 1, true);
    }
    let drawn: u64 = trial.drawn().iter().map(|(_, count)| count).sum();
    assert_eq!(drawn + trial.outside(), 200);
    // Seven standard deviations of a fair coin.
    assert!((50..=150).contains(&drawn), "{drawn} of 200 take part");
    let rows = memory.rows();
    assert_eq!(rows.len() as u64, drawn, "a row of each that takes part");
    assert!(rows.iter().all(|row| row["arm"].as_str().is_some_and(|arm| arm.contains('#'))));
}

#[test]
fn slots_of_time_are_units_with_two_arms() {
    let by = By::Time(Slots { length: std::time::Duration::from_secs(3600) });
    let options = TrialOptions { design: Design { by, ..Design::default() }, ..Default::default() };
    let (trial, memory) = with("slowstart,rapid", &options);
    for client in ["192.0.2.1", "198.51.100.7"] {
        connection(&trial, client.parse().ok(), 1, true);
    }
    let rows = memory.rows();
    assert_eq!(rows[0]["arm"], rows[1]["arm"], "the same slot: {rows:?}");
    for row in rows {
        assert_eq!((&row["unit"], &row["slot"]), (&"pair 0".into(), &0.into()), "{row}");
        assert!(row["slot_s"].as_u64().is_some_and(|seconds| seconds < 3600), "{row}");
    }
    for wrong in ["a,b,c", "slowstart,rapid=20%"] {
        assert!(
            Trial::new(RowWriter::to(Box::new(Memory::default())), wrong, &options).is_err(),
            "{wrong}"
        );
    }
}

#[test]
fn startups_beside_the_sender_change_nothing_and_have_their_columns() {
    let run = |shadow: &str| {
        let options = TrialOptions { shadow: shadow.into(), ..Default::default() };
        let (trial, memory) = with("hystart++#a,hystart++#b", &options);
        let drawn = trial.draw(None);
        let mut driver = Driver::new(drawn.plan, 1200, Time(0), Some(drawn.recorder));
        flight(&mut driver, 0, 0, 1, true);
        clocked(&mut driver, 40 * MS, 1, 2000);
        drop(driver);
        memory.rows().remove(0)
    };
    let (alone, beside) = (run(""), run("hystart++,slowstart,hystart"));
    for name in COLUMNS.iter().filter(|name| !["unit", "arm", "start_s"].contains(name)) {
        assert_eq!(alone[name], beside[name], "{name}");
    }
    assert_eq!(beside["exit_reason"], "css_done", "the queue grows, and nothing is lost: {beside}");
    assert_eq!(beside["hystart++.exit_ms"], beside["exit_ms"], "the arm that ran: {beside}");
    assert_eq!(beside["hystart++.exit_reason"], beside["exit_reason"], "{beside}");
    // HyStart does not wait for the end of conservative slow start.
    let [hybrid, own] = ["hystart.exit_ms", "exit_ms"].map(|name| beside[name].as_f64().unwrap());
    assert!(beside["hystart.exit_reason"] == "train" && hybrid < own, "{beside}");
    assert!(beside["slowstart.exit_ms"].is_null(), "without a loss it stays: {beside}");
    assert!(alone.get("hystart++.exit_ms").is_none(), "{alone}");
    for wrong in ["nothing", "hystart++,", "search,search"] {
        let options = TrialOptions { shadow: wrong.into(), ..Default::default() };
        let told =
            Trial::new(RowWriter::to(Box::new(Memory::default())), "slowstart,rapid", &options);
        assert!(told.is_err(), "{wrong}");
    }
}
