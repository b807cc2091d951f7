//! Controllers in the running kernel. Needs root; otherwise it reports what is missing and passes.
use firstflight_linux::kernel::{
    ARMS, Exit, Features, KernelArm, Loaded, Selection, arm, is_registered, pinned, registered,
    unload,
};
use firstflight_linux::link::{Place, Report};
use firstflight_linux::{LinkEmulator, LinkOptions};
use firstflight_path::Path;
use nix::sys::socket::{getsockopt, setsockopt, sockopt::TcpCongestion};
use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

fn load(arm: &'static KernelArm) -> Option<Loaded> {
    match Loaded::load(arm) {
        Ok(loaded) => Some(loaded),
        Err(refusal)
            if refusal.to_string().contains("not permitted")
                || refusal.to_string().contains("needs") =>
        {
            println!("skipped: {refusal}");
            None
        }
        Err(refusal) => panic!("{refusal}"),
    }
}

fn choose(stream: &TcpStream, arm: &KernelArm) {
    setsockopt(stream, TcpCongestion, &OsString::from(arm.kernel_name))
        .expect("the socket takes the controller");
    let chosen = getsockopt(stream, TcpCongestion).expect("the socket's controller");
    assert_eq!(
        chosen.to_string_lossy().trim_end_matches('\0'),
        arm.kernel_name,
        "the socket has what it was given"
    );
}

/// Sends `bytes` through the link under this arm: how long it took, and what was reported.
fn transfer(loaded: &Loaded, path: &str, bytes: usize) -> (Duration, Vec<Exit>) {
    let (took, report) = carry(loaded, path, bytes, LinkOptions::default());
    let mut exits = Vec::new();
    loaded.watch(|exit| exits.push(exit), || false).expect("reports");
    println!("{}: {took:?}, {exits:?}\n{report}", loaded.arm().name);
    (took, exits)
}

/// A link over this path, and who listens behind it.
fn listening(path: &str, options: LinkOptions) -> (LinkEmulator, TcpListener) {
    let path = Path::parse(path).expect("a path");
    let link = LinkEmulator::start(&path, options).expect("a link");
    let address = (link.receiver().address(), 5001);
    let listener = link.receiver().run(|| TcpListener::bind(address));
    (link, listener.expect("the namespace").expect("a listener"))
}

/// A connection to that listener which this arm drives.
fn connected(link: &LinkEmulator, arm: &KernelArm) -> TcpStream {
    let address = (link.receiver().address(), 5001);
    let stream = link.sender().run(|| TcpStream::connect(address));
    let stream = stream.expect("the namespace").expect("a connection");
    choose(&stream, arm);
    stream
}

/// Reads until the other end closes: how many bytes.
fn read_all(mut stream: TcpStream) -> usize {
    let (mut buffer, mut got) = (vec![0; 1 << 16], 0);
    while let Ok(len @ 1..) = stream.read(&mut buffer) {
        got += len;
    }
    got
}

/// Duration, and the link's counters.
fn carry(loaded: &Loaded, path: &str, bytes: usize, options: LinkOptions) -> (Duration, Report) {
    let (link, listener) = listening(path, options);
    let receiver = thread::spawn(move || read_all(listener.accept().expect("a connection").0));
    let started = Instant::now();
    let mut stream = connected(&link, loaded.arm());
    stream.write_all(&vec![0; bytes]).expect("data");
    drop(stream);
    assert_eq!(receiver.join().expect("the receiver"), bytes, "every byte arrives");
    (started.elapsed(), link.stop())
}

#[test]
fn every_arm_loads_moves_data_and_leaves_nothing() {
    let _one = crate::ONE.lock();
    for arm in ARMS {
        let Some(loaded) = load(arm) else { return };
        assert!(
            is_registered(arm),
            "{} is registered while it is loaded: {:?}",
            arm.kernel_name,
            registered()
        );
        let (took, exits) = transfer(&loaded, "rate=50Mbit,rtt=20ms,queue=20ms", 3_000_000);
        assert!(took > Duration::from_millis(480), "{}: faster than the path: {took:?}", arm.name);
        assert!(
            took < Duration::from_millis(2_500),
            "{}: far slower than any other: {took:?}",
            arm.name
        );
        assert!(exits.iter().all(|exit| exit.arm == arm), "{}: reports are its own", arm.name);
        assert!(!exits.is_empty(), "{}: 3 MB overflow this path, so startup has ended", arm.name);
        drop(loaded);
        assert!(!is_registered(arm), "{} is gone: {:?}", arm.name, registered());
    }
}

/// Packets that left at once, pause by pause.
fn trains(report: &Report) -> Vec<usize> {
    const PAUSE: u64 = 10_000_000;
    let sights = report.sights.iter();
    let sent = sights.filter(|s| s.place == Place::SenderOut && s.segment.payload > 0);
    let (mut trains, mut last) = (Vec::new(), None);
    for sight in sent {
        match trains.last_mut() {
            Some(train) if last.is_some_and(|last| sight.segment.now.0 < last + PAUSE) => {
                *train += 1;
            }
            _ => trains.push(1),
        }
        last = Some(sight.segment.now.0);
    }
    trains
}

#[test]
fn the_first_flight_of_plumb_leaves_as_trains() {
    let _one = crate::ONE.lock();
    let Some(loaded) = load(arm("plumb").expect("an arm")) else { return };
    let options = LinkOptions { witness: true, ..LinkOptions::default() };
    // Ten leave at once whatever a controller says (K6, K13), then a train; a machine that stalls for
    // longer than a pause shows it with what follows.
    let seen: Vec<Vec<usize>> = (0..5)
        .map(|_| trains(&carry(&loaded, "rate=50Mbit,rtt=200ms,queue=1bdp", 100_000, options).1))
        .collect();
    assert!(seen.iter().any(|trains| trains.starts_with(&[10, 4])), "{seen:?}");
}

/// Connections one after the other over one link, each wholly over before the next one begins: how long
/// the data of each took.
fn one_after_the_other(arm: &KernelArm, path: &str, bytes: usize, count: usize) -> Vec<Duration> {
    let (link, listener) = listening(path, LinkOptions::default());
    let receiver = thread::spawn(move || {
        for _ in 0..count {
            assert_eq!(read_all(listener.accept().expect("a connection").0), bytes);
        }
    });
    let mut took = Vec::new();
    for _ in 0..count {
        let started = Instant::now();
        let mut stream = connected(&link, arm);
        stream.write_all(&vec![0; bytes]).expect("data");
        stream.shutdown(Shutdown::Write).expect("an end");
        // The other end closes when it has read all.
        let rest = stream.read(&mut [0; 1]).expect("its end");
        assert_eq!(rest, 0, "the receiver says nothing");
        took.push(started.elapsed());
        drop(stream);
        // The last ACK, and what the kernel does after it.
        thread::sleep(Duration::from_millis(100));
    }
    receiver.join().expect("the receiver");
    println!("{}: {took:?}\n{}", arm.name, link.stop());
    took
}

/// The first connection to a destination doubles its window for seven round trips; the next one jumps in
/// its second, the one after it as well. The receiver's window, which opens as data come, takes a part of
/// what that saves.
#[test]
fn the_next_connection_to_a_destination_starts_from_what_the_last_one_has_carried() {
    const PATH: &str = "rate=20Mbit,rtt=300ms,queue=1bdp";
    const BYTES: usize = 1_500_000;
    const SAVED: Duration = Duration::from_millis(100);
    let _one = crate::ONE.lock();
    let careful = arm("careful").expect("there is one");
    let Some(loaded) = load(careful) else { return };
    let took = one_after_the_other(careful, PATH, BYTES, 3);
    let resumed = took[1].max(took[2]);
    assert!(resumed + SAVED < took[0], "{took:?}");
    drop(loaded);
    let Some(_anew) = load(careful) else { return };
    let anew = one_after_the_other(careful, PATH, BYTES, 1);
    assert!(resumed + SAVED < anew[0], "loaded anew it knows nothing: {resumed:?}, {anew:?}");
}

/// Without a link and whatever time it takes: for other kernels in an emulator (`kernels.sh`).
#[test]
fn every_arm_carries_a_connection_over_loopback() {
    const BYTES: usize = 5_000_000;
    let _one = crate::ONE.lock();
    for arm in ARMS {
        let Some(loaded) = load(arm) else { return };
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let mut stream =
            TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        let (receiver, _) = listener.accept().expect("the other end");
        choose(&stream, arm);
        let reading = thread::spawn(move || read_all(receiver));
        stream.write_all(&vec![0; BYTES]).expect("data");
        let chosen = getsockopt(&stream, TcpCongestion).expect("the socket's controller");
        drop(stream);
        assert_eq!(
            reading.join().expect("the receiver"),
            BYTES,
            "{}: every byte arrives",
            arm.name
        );
        assert_eq!(
            chosen.to_string_lossy().trim_end_matches('\0'),
            arm.kernel_name,
            "the socket still has it"
        );
        drop(loaded);
        assert!(!is_registered(arm), "{} is gone: {:?}", arm.name, registered());
        println!("{} works", arm.name);
    }
}

/// Mount point of control groups of version 2, and the group of this process.
fn groups() -> Option<(PathBuf, PathBuf)> {
    let mounts = fs::read_to_string("/proc/mounts").ok()?;
    let root = mounts.lines().find_map(|line| match line.split(' ').collect::<Vec<_>>()[..] {
        [_, folder, "cgroup2", ..] => Some(PathBuf::from(folder)),
        _ => None,
    })?;
    let ours = fs::read_to_string("/proc/self/cgroup").ok()?;
    let ours = root.join(ours.lines().find_map(|line| line.strip_prefix("0::/"))?);
    Some((root, ours))
}

/// Before 6.4 there are no links that vanish with their owner; since, there is nothing to take out.
#[test]
fn what_a_killed_loader_left_is_taken_out_by_name() {
    let _one = crate::ONE.lock();
    if Features::detect().is_ok_and(|features| features.links()) {
        return println!("this kernel leaves nothing");
    }
    // The kernel keeps fifteen characters of a map's name.
    for arm in ["hystart++", "hystart++-draft03"].map(|name| arm(name).expect("an arm")) {
        let Some(loaded) = load(arm) else { return };
        std::mem::forget(loaded);
        unload(arm).expect("taken out");
        assert!(!is_registered(arm), "{} is gone: {:?}", arm.name, registered());
    }
}

#[test]
fn a_control_group_is_given_the_arm_without_asking() {
    let _one = crate::ONE.lock();
    let Some((root, before)) = groups() else {
        return println!("no control groups of version 2 here");
    };
    let group = root.join(format!("firstflight-kernel-test-{}", std::process::id()));
    if fs::create_dir(&group).is_err() {
        return println!("skipped: control groups need root");
    }
    let enter = |group: &PathBuf| {
        fs::write(group.join("cgroup.procs"), std::process::id().to_string())
            .expect("the control group takes us");
    };
    enter(&group);
    let arm = arm("best").expect("an arm");
    let loaded = Loaded::load_for(arm, std::slice::from_ref(&group));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let stream =
        TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
    let (accepted, _) = listener.accept().expect("the other end");
    let chosen = [&stream, &accepted]
        .map(|stream| getsockopt(stream, TcpCongestion).expect("the socket's controller"));
    enter(&before);
    fs::remove_dir(&group).expect("an empty group");
    match loaded {
        Ok(_) => {
            assert!(
                chosen.iter().all(|name| name.to_string_lossy().starts_with(arm.kernel_name)),
                "both ends use it: {chosen:?}"
            );
        }
        Err(refusal) => assert!(refusal.to_string().contains("not permitted"), "{refusal}"),
    }
}

#[test]
fn a_pinned_arm_outlives_its_loader_and_is_taken_out_by_name() {
    let _one = crate::ONE.lock();
    let arm = arm("hystart++").expect("an arm");
    let Some(loaded) = load(arm) else { return };
    loaded.pin(&Selection::default()).expect("pinned");
    assert!(is_registered(arm) && pinned().contains(&arm), "it stays");
    assert!(
        Loaded::load(arm).is_err_and(|refusal| refusal.to_string().contains("already loaded")),
        "no second one of its name"
    );
    unload(arm).expect("taken out");
    assert!(!is_registered(arm), "nothing is left: {:?}", registered());
    assert!(pinned().is_empty(), "no pin is left");
    assert!(
        unload(arm).is_err_and(|refusal| refusal.to_string().contains("not loaded")),
        "what is not loaded cannot be taken out"
    );
}
