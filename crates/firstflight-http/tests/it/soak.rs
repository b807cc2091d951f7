//! A soak test of the server: fifty clients that cancel, move to other ports and stop reading at
//! random, and the delays of their healthy requests.
//!
//! A connection that moves to another port can fall silent for good: noq 1.4.0 abandons the new
//! path if its validation is late, with any controller (`moves.rs`). Such connections are counted
//! and printed; the assertions concern only connections that have not moved.
//!
//! The short version is part of every test run and asserts nothing about time. The long version,
//! ten minutes or `FIRSTFLIGHT_SOAK_SECONDS` seconds, also asserts that no healthy request goes a
//! second without progress: `cargo test -p firstflight-http --all-features soak -- --ignored
//! --nocapture`.
use crate::served::{Asked, Requests, Served, finish, options, quinn_with, runtime};
use firstflight_http::{Limits, ServerOptions};
use h3::error::Code;
use std::future::Future;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// With this in its environment the test binary is the server.
const SERVER: &str = "FIRSTFLIGHT_SOAK_SERVER";
const CLIENTS: u64 = 50;
/// Most that a client may take of one object before it reads it, and of all of them, bytes.
const WINDOWS: (u32, u32) = (16_000, 128_000);
/// Pause of a client between two actions, milliseconds: all of them together ask for 2 MB/s, so
/// that an unoptimised build on a machine that has other work is not what they wait for.
const THINKING: (u64, u64) = (500, 3500);
/// A request that makes no progress for so long has failed: as long as the server's own patience.
const STUCK: Duration = Duration::from_secs(30);
/// Memory of a process that serves nobody, bytes.
const BASE: u64 = 64 << 20;

fn limits() -> Limits {
    // All clients have one address, which must not count as one client here.
    let many = 1_000_000.try_into().unwrap();
    Limits { new_per_second: many, requests_per_second: many, ..Limits::default() }
}

/// The server, in a process of its own, so that its memory is its own: no test, but a part of those
/// below.
#[test]
#[ignore = "the server of the other two"]
fn serves_the_others() {
    if std::env::var_os(SERVER).is_none() {
        return;
    }
    runtime().block_on(async {
        let served = Served::start(ServerOptions { limits: limits(), ..options("rapid") });
        println!("\nserving {}", served.address);
        std::io::stdout().flush().unwrap();
        // Until the other side of the pipe is closed, however it ends.
        tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()))
            .await
            .unwrap()
            .unwrap();
        let (done, enough) = served.stop();
        drop(enough);
        done.await.unwrap();
    });
}

struct Serving {
    child: Child,
    address: SocketAddr,
}

impl Serving {
    fn start() -> Serving {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "soak::serves_the_others", "--nocapture"])
            .env(SERVER, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines
            .find_map(|line| {
                line.unwrap().strip_prefix("serving ").map(|address| address.parse().unwrap())
            })
            .unwrap();
        // Its later output is read, so that it never waits for us.
        std::thread::spawn(move || lines.for_each(drop));
        Serving { child, address }
    }

    /// Resident memory, bytes.
    fn memory(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it lives");
        let line = status.lines().find(|line| line.starts_with("VmRSS")).expect("its memory");
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success(), "the server ends well");
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A small generator, for choices that need no more.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low)
    }
}

/// Counts of events.
#[derive(Debug, Default)]
struct Tally {
    /// Of every request that was read to its end: what its client did before, the whole time, and
    /// the longest without progress.
    healthy: Vec<(&'static str, Duration, Duration)>,
    cancelled: u64,
    moved: u64,
    /// Connections that fell silent after a move.
    hung: u64,
    stalled: u64,
    connections: u64,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.healthy.extend(other.healthy);
        self.cancelled += other.cancelled;
        self.moved += other.moved;
        self.hung += other.hung;
        self.stalled += other.stalled;
        self.connections += other.connections;
    }
}

async fn ask(requests: &mut Requests, size: u64) -> Asked {
    let request = http::Request::get(format!("https://localhost/bytes/{size}")).body(()).unwrap();
    let mut stream = requests.send_request(request).await.expect("a request");
    finish(&mut stream).await;
    stream
}

async fn in_time<T>(what: &str, waiting: impl Future<Output = T>) -> Result<T, String> {
    tokio::time::timeout(STUCK, waiting).await.map_err(|_| format!("{what}: nothing for {STUCK:?}"))
}

/// Reads an answer to its end. Whole time and longest time without progress.
async fn read(requests: &mut Requests, size: u64) -> Result<(Duration, Duration), String> {
    let begun = Instant::now();
    let (mut last, mut longest, mut bytes) = (begun, Duration::ZERO, 0);
    let mut progress = || {
        longest = longest.max(last.elapsed());
        last = Instant::now();
        longest
    };
    let mut stream = in_time("a place for a request", ask(requests, size)).await?;
    progress();
    let response = in_time("the head of an answer", stream.recv_response())
        .await?
        .map_err(|error| error.to_string())?;
    assert_eq!(response.status().as_u16(), 200);
    progress();
    while let Some(piece) = in_time("a piece of an object", stream.recv_data())
        .await?
        .map_err(|error| error.to_string())?
    {
        bytes += bytes::Buf::remaining(&piece) as u64;
        progress();
    }
    assert_eq!(bytes, size, "whole");
    let longest = progress();
    Ok((begun.elapsed(), longest))
}

/// One client until `end`.
async fn client(address: SocketAddr, mut dice: Dice, end: Instant) -> Tally {
    let mut tally = Tally::default();
    while Instant::now() < end {
        let mut transport = quinn::TransportConfig::default();
        transport.stream_receive_window(WINDOWS.0.into()).receive_window(WINDOWS.1.into());
        let (endpoint, connection) = quinn_with(address, transport).await;
        let (mut driver, mut requests) =
            h3::client::new(h3_quinn::Connection::new(connection.clone())).await.expect("HTTP/3");
        let driving = tokio::spawn(async move { driver.wait_idle().await });
        tally.connections += 1;
        let mut moved = false;
        for _ in 0..dice.between(2, 8) {
            tokio::time::sleep(Duration::from_millis(dice.between(THINKING.0, THINKING.1))).await;
            let after = match dice.below(4) {
                0 => {
                    // Ten large ones, cancelled after some of the first arrived; what follows is
                    // healthy again.
                    let mut large = Vec::new();
                    for _ in 0..10 {
                        large.push(ask(&mut requests, 1_000_000_000).await);
                    }
                    tokio::time::sleep(Duration::from_millis(dice.below(50))).await;
                    for stream in &mut large {
                        stream.stop_sending(Code::H3_REQUEST_CANCELLED);
                        tally.cancelled += 1;
                    }
                    "cancelling"
                }
                1 => {
                    endpoint
                        .rebind(UdpSocket::bind("127.0.0.1:0").expect("a port"))
                        .expect("moved");
                    tally.moved += 1;
                    moved = true;
                    "moving"
                }
                2 => {
                    // One is not read for a while; others of the same connection have credit and go
                    // on.
                    let mut stalled = ask(&mut requests, dice.between(100_000, 1_000_000)).await;
                    tally.stalled += 1;
                    tokio::time::sleep(Duration::from_millis(dice.below(300))).await;
                    if !moved {
                        let beside = read(&mut requests, dice.between(1, 20_000)).await;
                        let (whole, silent) =
                            beside.unwrap_or_else(|why| panic!("beside a stalled one: {why}"));
                        tally.healthy.push(("stalling", whole, silent));
                    }
                    stalled.stop_sending(Code::H3_REQUEST_CANCELLED);
                    "stalling"
                }
                _ => "nothing",
            };
            let after = if moved { "moving" } else { after };
            match read(&mut requests, dice.between(1, 60_000)).await {
                Ok((whole, silent)) => tally.healthy.push((after, whole, silent)),
                Err(_) if moved => {
                    tally.hung += 1;
                    break;
                }
                Err(why) => panic!("after {after}: {why}"),
            }
        }
        drop(requests);
        driving.abort();
        connection.close(0_u32.into(), b"");
        // A moment for the server to hear of it; some are never heard of again.
        if dice.below(2) == 0 {
            let _ = tokio::time::timeout(Duration::from_secs(1), endpoint.wait_idle()).await;
        }
    }
    tally
}

/// Latest wake-up of a sleeping thread on this machine until `end`: no fault of a server.
async fn lateness(end: Instant) -> Duration {
    let mut worst = Duration::ZERO;
    while Instant::now() < end {
        let (asleep, nap) = (Instant::now(), Duration::from_millis(10));
        tokio::time::sleep(nap).await;
        worst = worst.max(asleep.elapsed().saturating_sub(nap));
    }
    worst
}

fn percentile(sorted: &[Duration], per_mille: usize) -> f64 {
    sorted
        .get((sorted.len() * per_mille / 1000).min(sorted.len().saturating_sub(1)))
        .map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
}

/// The longest that a healthy request went without progress, and how late the machine was.
fn soak(length: Duration) -> (Duration, Duration) {
    let serving = Serving::start();
    let end = Instant::now() + length;
    let (mut tally, late, memory) = runtime().block_on(async {
        let address = serving.address;
        let late = tokio::spawn(lateness(end));
        let clients: Vec<_> =
            (0..CLIENTS).map(|number| tokio::spawn(client(address, Dice(number), end))).collect();
        let mut memory = Vec::new();
        while Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(500)).await;
            memory.push(serving.memory());
        }
        let mut tally = Tally::default();
        for client in clients {
            tally.add(client.await.expect("no client fails"));
        }
        (tally, late.await.unwrap(), memory)
    });
    serving.end();
    let healthy = std::mem::take(&mut tally.healthy);
    for kind in ["nothing", "cancelling", "moving", "stalling"] {
        let mut silent: Vec<_> = healthy
            .iter()
            .filter(|(after, ..)| *after == kind)
            .map(|(_, _, silent)| *silent)
            .collect();
        silent.sort();
        let [p50, p99, most] = [500, 990, 1000].map(|per_mille| percentile(&silent, per_mille));
        println!(
            "longest time without progress after {kind}, ms: p50 {p50:.1}, p99 {p99:.1}, max {most:.1} of {}",
            silent.len()
        );
    }
    let stayed = healthy.into_iter().filter(|(after, ..)| *after != "moving");
    let (mut whole, mut silent): (Vec<_>, Vec<_>) =
        stayed.map(|(_, whole, silent)| (whole, silent)).unzip();
    whole.sort();
    silent.sort();
    for (what, times) in [("whole request", &whole), ("longest time without progress", &silent)] {
        let [p50, p90, p99, p999, most] =
            [500, 900, 990, 999, 1000].map(|per_mille| percentile(times, per_mille));
        println!(
            "{what}, ms: p50 {p50:.1}, p90 {p90:.1}, p99 {p99:.1}, p99.9 {p999:.1}, max {most:.1} of {}",
            times.len()
        );
    }
    let peak = memory.iter().max().copied().unwrap_or(0);
    let part = |quarter: usize| {
        memory[memory.len() * quarter / 4..memory.len() * (quarter + 1) / 4]
            .iter()
            .max()
            .copied()
            .unwrap_or(0)
    };
    println!(
        "{tally:?}; the machine was at most {late:?} late; the server had at most {} MB: by quarters {:?}",
        peak >> 20,
        [0, 1, 2, 3].map(part)
    );
    assert!(
        tally.cancelled > 0 && tally.moved > 0 && tally.stalled > 0 && whole.len() as u64 > CLIENTS,
        "{tally:?}"
    );
    let bound = Limits { connections: CLIENTS as usize, ..limits() }.worst_case() + BASE;
    assert!(peak < bound, "{peak} bytes were resident, and {bound} are the bound");
    if length > Duration::from_secs(60) {
        assert!(part(3) < part(1) + (32 << 20), "the memory of the server grows: {memory:?}");
    }
    (silent.last().copied().unwrap_or_default(), late)
}

#[test]
fn fifty_unruly_clients_get_every_answer_they_read() {
    soak(Duration::from_secs(10));
}

#[test]
#[ignore = "ten minutes; FIRSTFLIGHT_SOAK_SECONDS says how long"]
fn no_healthy_request_waits_a_second_longer_than_the_machine() {
    let seconds = std::env::var("FIRSTFLIGHT_SOAK_SECONDS")
        .map_or(600, |text| text.parse().expect("a number of seconds"));
    let (silent, late) = soak(Duration::from_secs(seconds));
    assert!(
        silent < Duration::from_secs(1) + late,
        "a healthy request made no progress for {silent:?}, and the machine was {late:?} late"
    );
}
