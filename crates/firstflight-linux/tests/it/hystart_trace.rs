//! The kernel's own HyStart compared with the core's: connections over random emulated paths,
//! traced ACK by ACK by a controller that only calls the kernel's CUBIC and records its results,
//! and replayed through the core. Needs root; otherwise it reports what is missing and passes.
//!
//! `FIRSTFLIGHT_TRACES=240 cargo test -p firstflight-linux --features bpf --test it hystart_trace::
//! -- --nocapture` runs this many connections (12 by default); `FIRSTFLIGHT_RECORD=DIR` saves each
//! recording there.

#[path = "../../../firstflight/tests/it/recorded_hystart/mod.rs"]
mod recorded_hystart;

use self::recorded_hystart::{Kind, Recording, Row, replay};
use firstflight::startup::ExitReason;
use firstflight_linux::kernel::{self, HystartTrace, Record};
use firstflight_linux::link::{LinkEmulator, LinkOptions};
use firstflight_path::Path;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, connect, setsockopt, socket,
    sockopt::TcpCongestion,
};
use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::time::Duration;
use std::{env, fs, thread};

const DEFAULT: u64 = 12;
/// Rows to keep after the exit.
const AFTER: usize = 20;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From `low` to `high`, each factor of two as likely as any other.
    fn spread(&mut self, low: f64, high: f64) -> f64 {
        let part = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        low * (high / low).powf(part)
    }
}

/// Detections by train and by delay that this namespace counted.
fn counters(link: &LinkEmulator) -> (u64, u64) {
    let counted = link.sender().tcp_counters().expect("the namespace and its counters");
    let of = |name| counted.get(name).unwrap_or(0);
    (of("TCPHystartTrainDetect"), of("TCPHystartDelayDetect"))
}

/// TCP's own timer paces; the rate is far above what any path here carries, so that it never bounds
/// the kernel's.
fn pace(stream: &TcpStream) {
    let most: u64 = 1 << 40;
    // SAFETY: the option takes an unsigned long, which `most` is on the 64-bit machines of this
    // test.
    let result = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MAX_PACING_RATE,
            std::ptr::from_ref(&most).cast(),
            size_of::<u64>() as libc::socklen_t,
        )
    };
    assert_eq!(result, 0, "SO_MAX_PACING_RATE: {}", std::io::Error::last_os_error());
}

/// A connection with the recording controller from its first packet on: the machine's default may
/// be one that paces.
fn connected((address, port): (Ipv4Addr, u16)) -> TcpStream {
    let fd = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)
        .expect("a socket");
    setsockopt(&fd, TcpCongestion, &OsString::from(HystartTrace::CONTROLLER))
        .expect("the socket takes the controller");
    connect(fd.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(address, port)))
        .expect("a connection");
    TcpStream::from(fd)
}

fn row(record: &Record) -> Row {
    Row {
        kind: match record.kind().expect("a kind of record") {
            kernel::Kind::Begun => Kind::Begun,
            kernel::Kind::Acked => Kind::Acked,
            kernel::Kind::TimedOut => Kind::TimedOut,
        },
        at_us: record.at_us,
        rtt_us: record.rtt_us(),
        una: record.una,
        nxt: record.nxt,
        packets_out: record.packets_out,
        srtt_x8: record.srtt_x8,
        cwnd: record.cwnd,
        ssthresh: record.ssthresh,
        pacing_rate: record.pacing_rate,
        found: record.found(),
        epoch: record.epoch(),
        state: record.state,
    }
}

/// Sends enough over `path` that slow start ends, and what the kernel did meanwhile.
fn connection(
    trace: &HystartTrace,
    path: &str,
    bytes: usize,
    paced: bool,
) -> Result<Recording, firstflight_path::Error> {
    let link = LinkEmulator::start(&Path::parse(path).expect("a path"), LinkOptions::default())?;
    let address = (link.receiver().address(), 5001);
    let listener = link.receiver().run(|| TcpListener::bind(address))?.expect("a listener");
    let receiver = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut buffer = vec![0; 1 << 16];
        while let Ok(1..) = stream.read(&mut buffer) {}
    });
    trace.take(|_| {})?;
    let mut stream = link.sender().run(|| connected(address))?;
    if paced {
        pace(&stream);
    }
    stream.set_write_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    let _ = stream.write_all(&vec![0; bytes]);
    drop(stream);
    receiver.join().expect("the receiver");
    let mut records = Vec::new();
    let lost = trace.take(|record| records.push(record))?;
    assert_eq!(lost, 0, "every ACK was recorded");
    let begun = records
        .iter()
        .position(|record| record.kind() == Some(kernel::Kind::Begun))
        .expect("CUBIC was set up");
    let socket = records[begun].socket;
    let ours: Vec<&Record> =
        records[begun..].iter().filter(|record| record.socket == socket).collect();
    let (trains, delays) = counters(&link);
    let last = ours.last().expect("records");
    Ok(Recording {
        about: format!("{path}, {bytes} bytes, paced: {paced}"),
        mss: last.mss,
        gso_max_size: last.gso_max_size,
        paced: last.paced(),
        trains,
        delays,
        rows: ours.iter().map(|record| row(record)).collect(),
    })
}

#[test]
fn the_kernels_hystart_and_ours_leave_on_the_same_ack() {
    let _one = crate::ONE.lock();
    let trace = match HystartTrace::attach() {
        Ok(trace) => trace,
        Err(refusal) => return println!("skipped: {refusal}"),
    };
    let count =
        env::var("FIRSTFLIGHT_TRACES").ok().and_then(|count| count.parse().ok()).unwrap_or(DEFAULT);
    let record = env::var_os("FIRSTFLIGHT_RECORD");
    let mut random = Random(18);
    let (mut trains, mut delays, mut none, mut acks, mut rates, mut other_rates, mut early) =
        (0, 0, 0, 0, 0, 0, 0);
    let mut differences = Vec::new();
    for number in 0..count {
        let rtt = random.spread(1.0, 200.0);
        // A packet and its ACK fit into half an RTT.
        let rate = random.spread((25.0 / rtt).max(5.0), 200.0);
        // At least five packets.
        let queue = (rtt * random.spread(0.25, 2.0)).max(60.0 / rate);
        // Twice what path and queue hold, and the windows before that.
        let bytes = (2.0 * rate * 125.0 * (rtt + queue)).clamp(150_000.0, 6_000_000.0) as usize;
        let paced = number % 2 == 1;
        let path = format!("rate={rate:.1}Mbit,rtt={rtt:.1}ms,queue={queue:.1}ms");
        let recording = match connection(&trace, &path, bytes, paced) {
            Ok(recording) => recording,
            Err(refusal) if refusal.to_string().contains("needs") => {
                return println!("skipped: {refusal}");
            }
            Err(refusal) => panic!("{refusal}"),
        };
        assert_eq!(recording.paced, paced, "{path}: who paces");
        let compared = replay(&recording, u64::from(recording.gso_max_size));
        if let Some(folder) = &record {
            let until = compared
                .kernel
                .first()
                .map_or(recording.rows.len(), |row| (row + AFTER).min(recording.rows.len()));
            let kept = Recording { rows: recording.rows[..until].to_vec(), ..recording.clone() };
            fs::write(
                std::path::Path::new(folder).join(format!("{number:03}.txt")),
                kept.to_text(),
            )
            .expect("the recording is kept");
        }
        acks += compared.acks;
        rates += compared.rates_equal;
        other_rates += compared.rates_other.len();
        // Without the allowance, as ours was before: only where nothing paces.
        early += u32::from(!paced && replay(&recording, 0).core != compared.core);
        match compared.core.first() {
            Some((_, Some(ExitReason::Train))) => trains += 1,
            Some((_, Some(_))) => delays += 1,
            _ => none += 1,
        }
        if !compared.agree() || !compared.reason_fits(&recording) {
            println!(
                "{number}: {}: kernel {:?} ({} trains, {} delays), core {:?}, {} in recovery",
                recording.about,
                compared.kernel,
                recording.trains,
                recording.delays,
                compared.core,
                compared.in_recovery
            );
            differences.push(number);
        }
        if let Some((row, ours, kernels)) = compared.rates_other.first() {
            println!(
                "{number}: {}: rate at row {row}: ours {ours}, the kernel's {kernels}; {} more",
                recording.about,
                compared.rates_other.len() - 1
            );
        }
    }
    println!(
        "{count} connections, {acks} ACKs: {trains} exits by train, {delays} by delay, {none} without; {} differ; rates: {rates} equal, \
         {other_rates} not; without the allowance {early} of the unpaced would differ",
        differences.len()
    );
    assert_eq!(
        differences,
        Vec::<u64>::new(),
        "connections on which kernel and core leave differently"
    );
}
