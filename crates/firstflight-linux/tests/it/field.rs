//! Field tests of kernel TCP: a real web server in a control group, real downloads through an
//! emulated link. Needs root and control groups of version 2; otherwise it reports what is missing
//! and passes.
use firstflight_linux::kernel::{COLUMNS, FieldTest, SLOT_COLUMNS, TRIAL_COLUMNS};
use firstflight_linux::{LinkEmulator, LinkOptions};
use firstflight_path::Path;
use firstflight_trial::assign::{Assignment, Key, Pseudonyms, Unit, shares};
use firstflight_trial::design::{By, Design, Slots};
use firstflight_trial::row::{Row, named};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A control group in a hierarchy that is mounted for the test.
struct Group {
    root: PathBuf,
    folder: PathBuf,
}

impl Group {
    fn make() -> Option<Group> {
        let root = std::env::temp_dir().join(format!("firstflight-cgroup-{}", std::process::id()));
        fs::create_dir_all(&root).ok()?;
        let none: Option<&str> = None;
        if let Err(error) = mount(Some("none"), &root, Some("cgroup2"), MsFlags::empty(), none) {
            let _ = fs::remove_dir(&root);
            println!("skipped: control groups of version 2: {error}");
            return None;
        }
        let folder = root.join(format!("firstflight-field-{}", std::process::id()));
        let group = Group { root, folder };
        fs::create_dir(&group.folder).ok()?;
        Some(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A process that was just killed may still be listed.
        for _ in 0..50 {
            if fs::remove_dir(&self.folder).is_ok() {
                break;
            }
            sleep(Duration::from_millis(20));
        }
        let _ = umount2(&self.root, MntFlags::MNT_DETACH);
        let _ = fs::remove_dir(&self.root);
    }
}

/// Ends with its owner.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server in the group, at the sender's end.
fn spawned(link: &LinkEmulator, group: &Group, serve: &str) -> Serving {
    // Its listener has to be born in the group.
    let script = format!("echo $$ > {}/cgroup.procs && exec {serve}", group.folder.display());
    let mut command = Command::new("sh");
    command.args(["-c", &script]).stdout(Stdio::null()).stderr(Stdio::null());
    Serving(link.sender().enter(&mut command).spawn().expect("a shell"))
}

/// Until it listens.
fn wait_for(link: &LinkEmulator, address: SocketAddr) {
    let patience = Instant::now() + Duration::from_secs(20);
    while link.sender().run(|| TcpStream::connect(address)).expect("the namespace").is_err() {
        assert!(Instant::now() < patience, "the server does not listen");
        sleep(Duration::from_millis(50));
    }
}

/// `python3 -m http.server` in the group, at the sender's end.
struct WebServer {
    serving: Option<Serving>,
    folder: PathBuf,
    address: SocketAddr,
}

impl WebServer {
    fn start(link: &LinkEmulator, group: &Group, sizes: &[usize]) -> WebServer {
        let folder = std::env::temp_dir().join(format!("firstflight-web-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        for size in sizes {
            fs::write(folder.join(format!("{size}")), vec![b'x'; *size]).expect("an object");
        }
        let address = SocketAddr::from((link.sender().address(), 8080));
        let serve = format!(
            "python3 -m http.server 8080 --bind {} --directory {}",
            address.ip(),
            folder.display()
        );
        let serving = Some(spawned(link, group, &serve));
        let server = WebServer { serving, folder, address };
        wait_for(link, address);
        server
    }

    /// Downloads an object from the other end: bytes with the head.
    fn download(&self, link: &LinkEmulator, size: usize) -> usize {
        let address = self.address;
        let mut stream = link
            .receiver()
            .run(|| TcpStream::connect(address))
            .expect("the namespace")
            .expect("a connection");
        stream.write_all(format!("GET /{size} HTTP/1.0\r\n\r\n").as_bytes()).expect("asked");
        let mut got = Vec::new();
        stream.read_to_end(&mut got).expect("an answer");
        got.len()
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        self.serving.take();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A service with a mind of its own. At one port its listener has chosen a controller; at the other a
/// connection is asked for what it does: `c` chooses one after all, `p` pauses between two parts.
const SERVICE: &str = "
import socket, sys, threading, time
def serve(port, chosen):
    listener = socket.create_server((sys.argv[1], port))
    if chosen: listener.setsockopt(6, 13, b'reno')
    while True:
        client, _ = listener.accept()
        what = client.recv(1)
        if what == b'c': client.setsockopt(6, 13, b'reno')
        # Who only looks whether anybody listens gets nothing.
        if what: client.sendall(bytes(1500000))
        if what == b'p':
            time.sleep(2)
            client.sendall(bytes(1500000))
        client.close()
threading.Thread(target=serve, args=(8081, True), daemon=True).start()
serve(8080, False)
";

const KEYS: [Key; 2] = [Key([5; 16]), Key([9; 16])];

const EACH: Design = Design { by: By::Connection, prefix_v4: 24, prefix_v6: 56, enrol: 1.0 };

fn start(group: &Group, text: &str, design: &Design) -> Option<(FieldTest, Assignment)> {
    let assignment = Assignment::new(KEYS[0], &shares(text).expect("shares")).expect("shares");
    match FieldTest::start(&group.folder, &assignment, KEYS, design) {
        Ok(test) => Some((test, assignment)),
        Err(refusal) if refusal.to_string().contains("not permitted") => {
            println!("skipped: {refusal}");
            None
        }
        Err(refusal) => panic!("{refusal}"),
    }
}

/// Rows as they come, until there are so many or nothing more comes.
fn rows(test: &FieldTest, most: usize) -> Vec<Row> {
    let (mut rows, patience) = (Vec::new(), Instant::now() + Duration::from_secs(10));
    while rows.len() < most && Instant::now() < patience {
        test.take(Duration::from_millis(50), |row| rows.push(row)).expect("rows");
    }
    rows
}

#[test]
fn every_download_from_a_real_web_server_leaves_a_row_of_its_arm() {
    const DOWNLOADS: usize = 40;
    const SIZE: usize = 200_000;
    let _one = crate::ONE.lock();
    let Some(group) = Group::make() else { return };
    let path = Path::parse("rate=50Mbit,rtt=20ms,queue=20ms").expect("a path");
    let link = LinkEmulator::start(&path, LinkOptions::default()).expect("a link");
    let server = WebServer::start(&link, &group, &[SIZE]);
    let Some((test, _)) = start(&group, "kernel:cubic,hystart++", &EACH) else { return };
    for _ in 0..DOWNLOADS {
        assert!(server.download(&link, SIZE) > SIZE, "the whole object arrives");
    }
    let rows = rows(&test, DOWNLOADS);
    let counts = test.counts().expect("counters");
    assert_eq!(rows.len(), DOWNLOADS, "a row of each: {counts:?}");
    assert_eq!(counts.assigned.iter().sum::<u64>(), DOWNLOADS as u64, "{counts:?}");
    assert_eq!((counts.left_out, counts.failed, counts.dropped), (0, 0, 0), "{counts:?}");
    for (number, name) in test.names().iter().enumerate() {
        let of = rows.iter().filter(|row| row.arm.as_ref() == Some(name)).count();
        assert_eq!(of as u64, counts.assigned[number], "{name}");
        assert!(of >= 6, "{name} has {of} of {DOWNLOADS}, half is planned");
    }
    for row in &rows {
        let busy = row.busy_ms.expect("there were data");
        // 200 kB at 50 Mbit/s take 32 ms, and slow start takes its rounds of 20 ms.
        assert!((40.0..4_000.0).contains(&busy), "{row:?}");
        assert!(row.bytes_acked.expect("known") > SIZE as u64, "{row:?}");
        assert!(row.bytes_written.expect("known") > SIZE as u64, "{row:?}");
        assert!(row.handshake_rtt_ms.is_some_and(|ms| (19.0..200.0).contains(&ms)), "{row:?}");
        assert_eq!(row.acked_all, Some(true), "the server closes at once: {row:?}");
        assert_eq!(row.ended.as_deref(), Some("fin"), "{row:?}");
    }
    let units: std::collections::BTreeSet<_> = rows.iter().map(|row| row.unit.clone()).collect();
    assert_eq!(units.len(), DOWNLOADS, "each connection is a unit");
    let text: String = rows.iter().map(|row| row.line(COLUMNS)).collect();
    let address = link.receiver().address().to_string();
    assert!(!text.contains(&address), "no address of a client: {text}");
    drop(test);
    assert!(server.download(&link, SIZE) > SIZE, "the service goes on without the test");
}

#[test]
fn the_kernel_draws_as_the_library_does_and_clients_keep_their_arm() {
    let _one = crate::ONE.lock();
    let Some(group) = Group::make() else { return };
    let path = Path::parse("rate=100Mbit,rtt=4ms,queue=20ms").expect("a path");
    let link = LinkEmulator::start(&path, LinkOptions::default()).expect("a link");
    let server = WebServer::start(&link, &group, &[1000]);
    let address: Ipv4Addr = link.receiver().address();
    for prefix_v4 in [24, 17, 32] {
        let design = Design { prefix_v4, ..Design::default() };
        let Some((test, assignment)) = start(&group, "kernel:cubic,kernel:reno", &design) else {
            return;
        };
        for _ in 0..5 {
            server.download(&link, 1000);
        }
        let rows = rows(&test, 5);
        assert_eq!(rows.len(), 5, "{:?}", test.counts());
        let unit = Unit::client_within(address.into(), prefix_v4, 56);
        let (arm, name) = (assignment.arm(&unit), Pseudonyms::new(KEYS[1]).name(&unit));
        for row in &rows {
            assert_eq!(row.unit.as_deref(), Some(name.as_str()), "the hash of its /{prefix_v4}");
            assert_eq!(row.arm.as_deref(), Some(assignment.names()[arm].as_str()));
        }
    }
}

#[test]
fn who_takes_no_part_keeps_its_controller_and_leaves_no_row() {
    const DOWNLOADS: usize = 40;
    let _one = crate::ONE.lock();
    let Some(group) = Group::make() else { return };
    let path = Path::parse("rate=100Mbit,rtt=4ms,queue=20ms").expect("a path");
    let link = LinkEmulator::start(&path, LinkOptions::default()).expect("a link");
    let server = WebServer::start(&link, &group, &[1000]);
    let design = Design { enrol: 0.4, ..EACH };
    // One controller twice: labels tell the arms apart.
    let Some((test, _)) = start(&group, "hystart++#a,hystart++#b", &design) else { return };
    for _ in 0..DOWNLOADS {
        server.download(&link, 1000);
    }
    let patience = Instant::now() + Duration::from_secs(10);
    let mut rows = Vec::new();
    let counts = loop {
        test.take(Duration::from_millis(50), |row| rows.push(row)).expect("rows");
        let counts = test.counts().expect("counters");
        let drawn = counts.assigned.iter().sum::<u64>();
        if rows.len() as u64 == drawn && drawn + counts.outside == DOWNLOADS as u64 {
            break counts;
        }
        assert!(Instant::now() < patience, "{} rows, {counts:?}", rows.len());
    };
    // 16 of 40 are planned; outside of 5 to 29 comes once in 50 000 times.
    assert!((5..=29).contains(&rows.len()), "{} of {DOWNLOADS} take part", rows.len());
    assert_eq!((counts.left_out, counts.failed, counts.dropped), (0, 0, 0), "{counts:?}");
    let known = ["hystart++#a", "hystart++#b"];
    assert!(rows.iter().all(|row| row.arm.as_deref().is_some_and(|arm| known.contains(&arm))));
}

#[test]
fn slots_of_time_give_all_connections_the_arm_of_their_slot() {
    let _one = crate::ONE.lock();
    let Some(group) = Group::make() else { return };
    let path = Path::parse("rate=100Mbit,rtt=4ms,queue=20ms").expect("a path");
    let link = LinkEmulator::start(&path, LinkOptions::default()).expect("a link");
    let server = WebServer::start(&link, &group, &[1000]);
    let slots = Slots { length: Duration::from_millis(400) };
    let design = Design { by: By::Time(slots), ..Design::default() };
    let arms = "kernel:cubic,kernel:reno";
    let Some((test, assignment)) = start(&group, arms, &design) else { return };
    let began = Instant::now();
    let (mut downloads, mut rows) = (0, Vec::new());
    // By the clock, and until there are rows of two pairs at least.
    while began.elapsed() < Duration::from_millis(2_400) {
        server.download(&link, 1000);
        downloads += 1;
        test.take(Duration::ZERO, |row| rows.push(row)).expect("rows");
    }
    let patience = Instant::now() + Duration::from_secs(10);
    while rows.len() < downloads && Instant::now() < patience {
        test.take(Duration::from_millis(50), |row| rows.push(row)).expect("rows");
    }
    assert_eq!(rows.len(), downloads, "{:?}", test.counts());
    let mut seen = std::collections::BTreeSet::new();
    for row in &rows {
        let slot = row.slot.expect("a slot");
        seen.insert(slot);
        assert_eq!(row.unit, Some(format!("pair {}", slot / 2)));
        assert_eq!(row.slot_s, Some(0), "slots are shorter than a second");
        let arm = assignment.arm_of_slot(slot);
        assert_eq!(row.arm.as_deref(), Some(assignment.names()[arm].as_str()), "slot {slot}");
    }
    assert!(seen.len() >= 2, "connections came in slots {seen:?} only");
    assert_eq!(test.columns().len(), COLUMNS.len() + TRIAL_COLUMNS.len() + SLOT_COLUMNS.len());
}

#[test]
fn a_service_that_chooses_its_controller_is_left_out_and_one_that_chooses_later_is_told() {
    const SIZE: usize = 1_500_000;
    let _one = crate::ONE.lock();
    let Some(group) = Group::make() else { return };
    let path = Path::parse("rate=50Mbit,rtt=20ms,queue=300ms").expect("a path");
    let link = LinkEmulator::start(&path, LinkOptions::default()).expect("a link");
    let address = link.sender().address();
    let serve = format!("python3 -c \"{SERVICE}\" {address}");
    let serving = spawned(&link, &group, &serve);
    for port in [8080, 8081] {
        wait_for(&link, (address, port).into());
    }
    let got = |port: u16, what: &[u8]| {
        let connected = link.receiver().run(|| TcpStream::connect((address, port)));
        let mut stream = connected.expect("the namespace").expect("a connection");
        stream.write_all(what).expect("asked");
        let mut got = Vec::new();
        stream.read_to_end(&mut got).expect("an answer");
        got.len()
    };
    let Some((test, _)) = start(&group, "hystart#a,hystart#b", &EACH) else { return };
    for _ in 0..3 {
        assert_eq!(got(8081, b"-"), SIZE);
    }
    assert_eq!(got(8080, b"-"), SIZE);
    assert_eq!(got(8080, b"c"), SIZE);
    assert_eq!(got(8080, b"p"), 2 * SIZE);
    let rows = rows(&test, 3);
    let counts = test.counts().expect("counters");
    drop(serving);
    assert_eq!((counts.left_out, counts.failed, counts.dropped), (3, 0, 0), "{counts:?}");
    let [plain, changed, paused] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!(
        [plain, changed, paused].map(|row| row.changed),
        [Some(false), Some(true), Some(false)]
    );
    assert!(
        rows.iter().all(|row| row.arm.as_deref().is_some_and(|arm| arm.starts_with("hystart#")))
    );
    // The arm's own report of how startup ended; who was replaced before the first data has none.
    assert!(changed.exit_reason.is_none(), "{changed:?}");
    for row in [plain, paused] {
        let busy = row.busy_ms.expect("there were data");
        assert!(row.exit_reason.is_some() && row.exit_cwnd_bytes > Some(10_000), "{row:?}");
        assert!(row.exit_ms.is_some_and(|ms| (10.0..busy + 1.0).contains(&ms)), "{row:?}");
        assert!(row.rwnd_limited_ms.is_some_and(|ms| ms < busy + 10.0), "{row:?}");
    }
    // 3 MB take 480 ms at least, and the service was silent for 2 s that do not count.
    let (busy, first) = (paused.busy_ms.unwrap_or(0.0), plain.busy_ms.unwrap_or(0.0));
    assert!(busy > 480.0, "{busy} ms");
    assert!(busy < 2.0 * first + 1500.0, "{busy} ms for twice as much as in {first}");
}

#[test]
fn connections_that_are_open_are_known_with_their_arm() {
    let _one = crate::ONE.lock();
    let Some(group) = Group::make() else { return };
    let path = Path::parse("rate=100Mbit,rtt=4ms,queue=20ms").expect("a path");
    let link = LinkEmulator::start(&path, LinkOptions::default()).expect("a link");
    let server = WebServer::start(&link, &group, &[1000]);
    let Some((test, _)) = start(&group, "kernel:cubic,kernel:reno", &EACH) else { return };
    let connect = || link.receiver().run(|| TcpStream::connect(server.address));
    let open: Vec<TcpStream> =
        (0..5).map(|_| connect().expect("the namespace").expect("a connection")).collect();
    server.download(&link, 1000);
    let patience = Instant::now() + Duration::from_secs(10);
    let mut over = 0;
    while (over, test.open()) != (1, 5) {
        test.look().expect("the kernel's table");
        test.take(Duration::from_millis(20), |_| over += 1).expect("rows");
        assert!(Instant::now() < patience, "{over} over, {} open", test.open());
    }
    let rows = test.open_rows();
    let numbers: Vec<Option<u64>> = rows.iter().map(|row| row.connection).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4].map(Some));
    for row in &rows {
        assert_eq!((row.ended.as_deref(), row.censored), (Some("open"), Some(true)), "{row:?}");
        assert!(row.arm.is_some() && row.unit.is_some() && row.start_s.is_some(), "{row:?}");
        assert!(row.handshake_rtt_ms.is_some_and(|ms| (3.0..200.0).contains(&ms)), "{row:?}");
    }
    drop(open);
    while (over, test.open()) != (6, 0) {
        test.take(Duration::from_millis(20), |_| over += 1).expect("rows");
        assert!(Instant::now() < patience, "{over} over, {} open", test.open());
    }
}

#[test]
fn what_is_no_control_group_or_no_arm_is_refused() {
    let _one = crate::ONE.lock();
    let assignment =
        |text: &str| Assignment::new(KEYS[0], &shares(text).expect("shares")).expect("shares");
    let root = std::path::Path::new("/");
    let start = |text: &str| FieldTest::start(root, &assignment(text), KEYS, &Design::default());
    let refused = start("kernel:cubic,kernel:reno").expect_err("no control group").to_string();
    assert!(!refused.contains('\n') && !refused.is_empty());
    if let Ok(group) = firstflight_linux::kernel::cgroup_root() {
        let start =
            FieldTest::start(&group, &assignment("kernel:cubic,nothing"), KEYS, &Design::default());
        let refused = start.expect_err("no arm").to_string();
        assert!(refused.contains("nothing"), "{refused}");
    }
    for column in COLUMNS.iter().chain(TRIAL_COLUMNS).chain(SLOT_COLUMNS) {
        assert!(named(column).is_some(), "{column} is no column of firstflight_trial::row");
    }
}
