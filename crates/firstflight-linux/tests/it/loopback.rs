//! Watching and drawing over loopback, with nothing but the kernel: what `kernels.sh` runs in other
//! kernels, too. Needs root and a control group of version 2.

use firstflight_linux::kernel::{FieldTest, Key, Watch, WatchOptions};
use firstflight_trial::assign::{Assignment, shares};
use firstflight_trial::design::{By, Design};
use firstflight_trial::row::Row;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

const CONNECTIONS: usize = 20;
const BYTES: usize = 100_000;

/// A control group that this process is in until it is dropped.
struct Inside {
    group: PathBuf,
    before: PathBuf,
}

impl Inside {
    fn enter() -> Option<Inside> {
        let mounts = fs::read_to_string("/proc/mounts").ok()?;
        let root =
            mounts.lines().find_map(|line| match line.split(' ').collect::<Vec<_>>()[..] {
                [_, folder, "cgroup2", ..] => Some(PathBuf::from(folder)),
                _ => None,
            })?;
        let ours = fs::read_to_string("/proc/self/cgroup").ok()?;
        let before = root.join(ours.lines().find_map(|line| line.strip_prefix("0::/"))?);
        let group = root.join(format!("firstflight-loopback-{}", std::process::id()));
        fs::create_dir(&group).ok()?;
        let inside = Inside { group, before };
        inside.go(&inside.group);
        Some(inside)
    }

    fn go(&self, group: &std::path::Path) {
        let entered = fs::write(group.join("cgroup.procs"), std::process::id().to_string());
        assert!(entered.is_ok() || thread::panicking(), "{}: {entered:?}", self.group.display());
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.go(&self.before);
        let _ = fs::remove_dir(&self.group);
    }
}

/// A server that closes at once, and its clients; both ends are in the group.
fn transfers() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("an address");
    let serving = thread::spawn(move || {
        for _ in 0..CONNECTIONS {
            let (mut stream, _) = listener.accept().expect("a client");
            stream.write_all(&vec![b'x'; BYTES]).expect("data");
        }
    });
    for _ in 0..CONNECTIONS {
        let mut got = Vec::new();
        let mut stream = TcpStream::connect(address).expect("a connection");
        stream.read_to_end(&mut got).expect("data");
        assert_eq!(got.len(), BYTES);
    }
    serving.join().expect("all are served");
}

/// Rows of those that sent something, when there are so many or nothing more comes.
fn wait(mut take: impl FnMut(&mut Vec<Row>)) -> Vec<Row> {
    let (mut rows, patience) = (Vec::new(), Instant::now() + Duration::from_secs(30));
    let sent = |rows: &[Row]| rows.iter().filter(|row| row.bytes_acked > Some(1000)).count();
    while sent(&rows) < CONNECTIONS && Instant::now() < patience {
        take(&mut rows);
    }
    rows.retain(|row| row.bytes_acked > Some(1000));
    rows
}

fn whole(rows: &[Row]) {
    assert_eq!(rows.len(), CONNECTIONS);
    for row in rows {
        assert_eq!(row.bytes_acked, Some(BYTES as u64 + 1), "data and FIN: {row:?}");
        assert_eq!((row.acked_all, row.ended.as_deref()), (Some(true), Some("fin")), "{row:?}");
        assert!(row.busy_ms.is_some_and(|ms| ms > 0.0), "{row:?}");
    }
}

fn permitted<T>(started: Result<T, firstflight_path::Error>) -> Option<T> {
    match started {
        Ok(started) => Some(started),
        Err(refusal) => {
            assert!(refusal.to_string().contains("not permitted"), "{refusal}");
            println!("skipped: {refusal}");
            None
        }
    }
}

#[test]
fn connections_over_loopback_are_watched_to_their_end() {
    let _one = crate::ONE.lock();
    let Some(inside) = Inside::enter() else { return println!("skipped: needs a control group") };
    let options = WatchOptions { of_2_32: 1 << 32, port: None, pseudonyms: Key([2; 16]) };
    let Some(watch) = permitted(Watch::start(&inside.group, &options)) else { return };
    transfers();
    let mut records = 0;
    let rows = wait(|rows| {
        let each = |heard: firstflight_linux::kernel::Heard| {
            records += 1;
            rows.extend(heard.row.map(|row| *row));
        };
        watch.take(Duration::from_millis(20), each).expect("records");
    });
    whole(&rows);
    let counts = watch.counts().expect("counters");
    assert_eq!((counts.watched, counts.dropped, counts.failed), (2 * CONNECTIONS as u64, 0, 0));
    assert!(records > 4 * CONNECTIONS, "packets, too: {records} records");
    println!("watch works");
}

#[test]
fn connections_over_loopback_are_given_arms_and_leave_rows() {
    let _one = crate::ONE.lock();
    let Some(inside) = Inside::enter() else { return println!("skipped: needs a control group") };
    let keys = [Key([3; 16]), Key([4; 16])];
    let arms = shares("kernel:cubic,kernel:reno").expect("shares");
    let assignment = Assignment::new(keys[0], &arms).expect("shares");
    let design = Design { by: By::Connection, ..Design::default() };
    let started = FieldTest::start(&inside.group, &assignment, keys, &design);
    let Some(test) = permitted(started) else { return };
    transfers();
    let rows = wait(|rows| {
        test.take(Duration::from_millis(20), |row| rows.push(row)).expect("rows");
    });
    whole(&rows);
    let counts = test.counts().expect("counters");
    assert_eq!(counts.assigned.iter().sum::<u64>(), 2 * CONNECTIONS as u64, "{counts:?}");
    assert_eq!((counts.left_out, counts.failed, counts.dropped), (0, 0, 0), "{counts:?}");
    // 20 of 40 are planned; outside of 4 to 36 comes once in ten million times.
    assert!(counts.assigned.iter().all(|count| (4..=36).contains(count)), "{counts:?}");
    println!("trial works");
}
