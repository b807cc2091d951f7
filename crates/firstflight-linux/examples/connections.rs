//! Opens new connections at a fixed rate, to measure the cost of each: a server that answers and
//! closes at once, and clients that connect on schedule, whether or not earlier ones have finished.
//!
//! ```text
//! connections serve 127.0.0.1:7000 1000           # answers each with 1000 bytes
//! connections load 7000 5000 60                   # 5000 a second for a minute
//! ```
//!
//! A finished connection keeps its ports for a minute at the end that closed first. So clients
//! connect in turn to 64 loopback addresses, each of which has its own ports; the server listens on
//! all of them (`serve 0.0.0.0:7000`).

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

/// Number of threads of the server, and of the clients.
const THREADS: u64 = 4;
const ADDRESSES: u64 = 64;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", at, bytes] => serve(at.parse()?, bytes.parse()?),
        ["load", port, rate, seconds] => load(port.parse()?, rate.parse()?, seconds.parse()?),
        _ => Err("serve ADDRESS BYTES, or load PORT RATE SECONDS".into()),
    }
}

fn serve(at: SocketAddr, bytes: usize) -> Result<(), Failure> {
    let listener = TcpListener::bind(at)?;
    let answer = vec![b'x'; bytes];
    println!("serving");
    scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Ok((mut stream, _)) = listener.accept() {
                    // A client that has already left gets no answer.
                    let _ = stream.write_all(&answer);
                }
            });
        }
    });
    Ok(())
}

fn load(port: u16, rate: u64, seconds: u64) -> Result<(), Failure> {
    if rate == 0 || seconds == 0 {
        return Err("a rate and a time above 0".into());
    }
    let (done, failed, late) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let (began, total) = (Instant::now(), rate.saturating_mul(seconds));
    let over = Duration::from_secs(seconds);
    scope(|scope| {
        for thread in 0..THREADS {
            let (done, failed, late) = (&done, &failed, &late);
            scope.spawn(move || {
                for number in (thread..total).step_by(THREADS as usize) {
                    let due = Duration::from_nanos(number.saturating_mul(1_000_000_000) / rate);
                    let now = began.elapsed();
                    if now > over + Duration::from_secs(1) {
                        // The connections still due were not made.
                        return;
                    }
                    // An early client waits; a late one reports its delay.
                    sleep(due.saturating_sub(now));
                    let behind = now.saturating_sub(due).as_millis() as u64;
                    late.fetch_max(behind, Ordering::Relaxed);
                    let host = Ipv4Addr::new(127, 0, 0, 1 + (number % ADDRESSES) as u8);
                    let count = if get((host, port).into()).is_ok() { done } else { failed };
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let (done, took) = (done.into_inner(), began.elapsed().as_secs_f64());
    println!(
        "{{\"asked_per_s\": {rate}, \"done\": {done}, \"failed\": {}, \"seconds\": {took:.2}, \"done_per_s\": {:.0}, \"latest_ms\": {}}}",
        failed.into_inner(),
        done as f64 / took,
        late.into_inner()
    );
    Ok(())
}

/// Runs one connection to its end.
fn get(to: SocketAddr) -> std::io::Result<usize> {
    let mut stream = TcpStream::connect(to)?;
    let mut piece = [0; 16_384];
    let mut got = 0;
    loop {
        match stream.read(&mut piece) {
            Ok(0) if got == 0 => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(0) => return Ok(got),
            Ok(bytes) => got += bytes,
            Err(error) => return Err(error),
        }
    }
}
