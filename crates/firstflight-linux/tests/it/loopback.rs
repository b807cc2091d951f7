//! Watching connections and drawing arms over loopback, with the kernel alone: `kernels.sh` also
//! runs these tests in other kernels. Needs root and a control group of version 2.

use firstflight_linux::kernel::{FieldTest, Key, Watch, WatchOptions};
use firstflight_log::live::What;
use firstflight_trial::assign::{Assignment, shares};
use firstflight_trial::design::{By, Design};
use firstflight_trial::row::Row;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::socket::getsockopt;
use nix::unistd::Pid;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
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
fn wait(most: usize, mut take: impl FnMut(&mut Vec<Row>)) -> Vec<Row> {
    let (mut rows, patience) = (Vec::new(), Instant::now() + Duration::from_secs(30));
    let sent = |rows: &[Row]| rows.iter().filter(|row| row.bytes_acked > Some(1000)).count();
    while sent(&rows) < most && Instant::now() < patience {
        take(&mut rows);
    }
    rows.retain(|row| row.bytes_acked > Some(1000));
    rows
}

fn told_by(test: &FieldTest, most: usize) -> Vec<Row> {
    wait(most, |rows| {
        test.take(Duration::from_millis(20), |row| rows.push(row)).expect("rows");
    })
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

fn watching(inside: &Inside) -> Option<Watch> {
    let options = WatchOptions { of_2_32: 1 << 32, port: None, pseudonyms: Key([2; 16]) };
    permitted(Watch::start(&inside.group, &options))
}

/// Two of the kernel's own controllers, drawn for each connection.
fn drawing(inside: &Inside) -> Option<FieldTest> {
    let keys = [Key([3; 16]), Key([4; 16])];
    let arms = shares("kernel:cubic,kernel:reno").expect("shares");
    let assignment = Assignment::new(keys[0], &arms).expect("shares");
    let design = Design { by: By::Connection, ..Design::default() };
    permitted(FieldTest::start(&inside.group, &assignment, keys, &design))
}

#[test]
fn connections_over_loopback_are_watched_to_their_end() {
    let _one = crate::ONE.lock();
    let Some(inside) = Inside::enter() else { return println!("skipped: needs a control group") };
    let Some(watch) = watching(&inside) else { return };
    transfers();
    let mut records = 0;
    let rows = wait(CONNECTIONS, |rows| {
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
    let Some(test) = drawing(&inside) else { return };
    transfers();
    let rows = told_by(&test, CONNECTIONS);
    whole(&rows);
    let counts = test.counts().expect("counters");
    assert_eq!(counts.assigned.iter().sum::<u64>(), 2 * CONNECTIONS as u64, "{counts:?}");
    assert_eq!((counts.left_out, counts.failed, counts.dropped), (0, 0, 0), "{counts:?}");
    // 20 of 40 are planned; outside of 4 to 36 comes once in ten million times.
    assert!(counts.assigned.iter().all(|count| (4..=36).contains(count)), "{counts:?}");
    println!("trial works");
}

/// The kernel's number of a socket, by which the programs name its place.
mod number {
    use nix::libc;
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Cookie;
    nix::getsockopt_impl!(
        Cookie,
        libc::SOL_SOCKET,
        libc::SO_COOKIE,
        u64,
        nix::sys::socket::sockopt::GetStruct<u64>
    );
}

fn cookie(socket: &impl AsFd) -> u64 {
    getsockopt(socket, number::Cookie).expect("the kernel numbers sockets")
}

/// This thread stays on one processor until it is dropped: each numbers sockets by itself, from
/// batches of 4096.
struct OneProcessor(CpuSet);

impl OneProcessor {
    fn stay() -> OneProcessor {
        let allowed = sched_getaffinity(Pid::from_raw(0)).expect("processors");
        let first = (0..CpuSet::count()).find(|cpu| allowed.is_set(*cpu).unwrap_or(false));
        let mut one = CpuSet::new();
        one.set(first.expect("a processor")).expect("a processor");
        sched_setaffinity(Pid::from_raw(0), &one).expect("it is ours");
        OneProcessor(allowed)
    }
}

impl Drop for OneProcessor {
    fn drop(&mut self) {
        let _ = sched_setaffinity(Pid::from_raw(0), &self.0);
    }
}

/// Places of connections in the first map of the programs; further ones share them.
const PLACES: u64 = 1 << 16;
/// Open at the same time, twice; a place is wanted by one of each.
const PAIRS: usize = 8;
/// Written before and after the others are there; small enough to wait in buffers.
const PART: usize = 4000;

/// Connections in this thread alone, both ends, after the server has written the first part.
fn opened(listener: &TcpListener) -> Vec<(TcpStream, TcpStream)> {
    let address = listener.local_addr().expect("an address");
    let open = |_| {
        let client = TcpStream::connect(address).expect("a connection");
        let (mut server, _) = listener.accept().expect("a client");
        server.write_all(&[b'x'; PART]).expect("data");
        (client, server)
    };
    (0..PAIRS).map(open).collect()
}

/// Two sets of connections of which the second one finds its places taken. All are open at the same
/// time, which `meanwhile` sees; then each has a second part and is closed.
fn colliding(meanwhile: impl FnOnce()) {
    let _one = OneProcessor::stay();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let first = opened(&listener);
    let places = |set: &[(TcpStream, TcpStream)]| -> Vec<u64> {
        set.iter().map(|(_, server)| cookie(server) % PLACES).collect()
    };
    let taken = places(&first);
    let before = cookie(&first[0].0).min(cookie(&first[0].1)) - 1;
    let number = || cookie(&UdpSocket::bind("127.0.0.1:0").expect("a socket"));
    // Another processor may have drawn the batch: then once more round.
    let reached = (0..4 * PLACES).any(|_| number() % PLACES == before % PLACES);
    assert!(reached, "no socket got the number before those of the first set");
    let second = opened(&listener);
    let shared = places(&second).iter().filter(|place| taken.contains(place)).count();
    assert!(shared > PAIRS / 2, "{shared} of {PAIRS} servers' sockets find their place taken");
    meanwhile();
    for (mut client, mut server) in first.into_iter().chain(second) {
        server.write_all(&[b'y'; PART]).expect("data");
        drop(server);
        let mut got = Vec::new();
        client.read_to_end(&mut got).expect("data");
        assert_eq!(got.len(), 2 * PART);
    }
}

/// Records of servers; each has reported all of its own data.
fn whole_pairs(rows: &[Row]) {
    assert_eq!(rows.len(), 2 * PAIRS);
    for row in rows {
        assert_eq!(row.bytes_acked, Some(2 * PART as u64 + 1), "data and FIN: {row:?}");
        assert_eq!((row.acked_all, row.ended.as_deref()), (Some(true), Some("fin")), "{row:?}");
    }
    let mut numbers: Vec<_> = rows.iter().map(|row| row.connection).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 2 * PAIRS, "each is a connection of its own");
}

#[test]
fn a_watched_connection_whose_place_is_taken_is_watched_like_any_other() {
    let _one = crate::ONE.lock();
    let Some(inside) = Inside::enter() else { return println!("skipped: needs a control group") };
    let Some(watch) = watching(&inside) else { return };
    colliding(|| ());
    let mut sent = 0;
    let rows = wait(2 * PAIRS, |rows| {
        let each = |heard: firstflight_linux::kernel::Heard| {
            sent += match heard.record.what {
                What::Sent(segment) => segment.payload as usize,
                _ => 0,
            };
            rows.extend(heard.row.map(|row| *row));
        };
        watch.take(Duration::from_millis(20), each).expect("records");
    });
    whole_pairs(&rows);
    assert_eq!(sent, 4 * PAIRS * PART, "bytes that were seen to leave");
    let counts = watch.counts().expect("counters");
    assert_eq!((counts.watched, counts.dropped, counts.failed), (4 * PAIRS as u64, 0, 0));
    println!("watch beyond its first map works");
}

#[test]
fn a_drawn_connection_whose_place_is_taken_has_its_arm_and_its_row() {
    let _one = crate::ONE.lock();
    let Some(inside) = Inside::enter() else { return println!("skipped: needs a control group") };
    let Some(test) = drawing(&inside) else { return };
    colliding(|| {
        test.look().expect("open connections");
        assert_eq!(test.open(), 4 * PAIRS, "both ends of all are open");
    });
    let rows = told_by(&test, 2 * PAIRS);
    whole_pairs(&rows);
    let counts = test.counts().expect("counters");
    assert_eq!(counts.assigned.iter().sum::<u64>(), 4 * PAIRS as u64, "{counts:?}");
    assert_eq!((counts.left_out, counts.failed, counts.dropped), (0, 0, 0), "{counts:?}");
    println!("trial beyond its first map works");
}
