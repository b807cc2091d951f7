//! `firstflight link --udp`: datagrams of several clients pass the path in both directions, without
//! privilege.
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A relay that runs, and the address it listens at.
struct Relay {
    child: Child,
    address: SocketAddr,
    lines: BufReader<std::process::ChildStderr>,
}

impl Relay {
    fn to(server: SocketAddr, path: &str, more: &[&str]) -> Relay {
        let server = server.to_string();
        let mut arguments = vec!["link", "--udp", "127.0.0.1:0", "--to", &server, "--path", path];
        arguments.extend(more);
        let mut child = Command::new(env!("CARGO_BIN_EXE_firstflight"))
            .args(arguments)
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut lines = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        lines.read_line(&mut line).expect("a line");
        let address = line
            .split_whitespace()
            .nth(1)
            .and_then(|word| word.parse().ok())
            .unwrap_or_else(|| panic!("no address in {line}"));
        Relay { child, address, lines }
    }

    /// Ends it as Ctrl-C does; what it says.
    fn end(mut self) -> String {
        assert!(
            Command::new("kill")
                .args(["-INT", &self.child.id().to_string()])
                .status()
                .expect("kill")
                .success()
        );
        let mut said = String::new();
        self.lines.read_to_string(&mut said).expect("text");
        let status = self.child.wait().expect("it ends");
        assert!(status.success(), "it ends well: {status:?}, {said}");
        said
    }
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    socket
}

/// A server that sends every datagram back, as often as it hears one within ten seconds.
fn echo() -> SocketAddr {
    let socket = socket();
    let address = socket.local_addr().expect("bound");
    thread::spawn(move || {
        let mut buffer = [0; 2000];
        while let Ok((len, from)) = socket.recv_from(&mut buffer) {
            let _ = socket.send_to(&buffer[..len], from);
        }
    });
    address
}

#[test]
fn each_client_hears_its_own_answers_after_the_round_trip_of_the_path() {
    let relay = Relay::to(echo(), "rate=100Mbit,rtt=40ms", &[]);
    let clients = [socket(), socket(), socket()];
    let begin = Instant::now();
    for (number, client) in clients.iter().enumerate() {
        client.send_to(&[number as u8; 700], relay.address).expect("sent");
    }
    for (number, client) in clients.iter().enumerate() {
        let mut buffer = [0; 2000];
        let (len, from) = client.recv_from(&mut buffer).expect("an answer");
        assert_eq!(
            (len, from),
            (700, relay.address),
            "client {number} hears 700 bytes from the relay"
        );
        assert!(
            buffer[..len].iter().all(|byte| usize::from(*byte) == number),
            "client {number} hears the answer to another"
        );
    }
    let took = begin.elapsed();
    // 40 ms with a data packet of 1500 bytes; these are shorter.
    assert!(took >= Duration::from_millis(39), "{took:?} is less than the path takes");
    let said = relay.end();
    assert!(
        said.contains("clients: 3")
            && said.contains("forward: 3 packets, 2184 bytes; 3 delivered, 0 dropped"),
        "{said}"
    );
}

#[test]
fn the_queue_drops_what_does_not_fit_and_the_report_counts_it() {
    // 1 Mbit/s, room for ten packets of 1028 bytes: of a hundred at once about eleven pass.
    let relay = Relay::to(echo(), "rate=1Mbit,rtt=20ms,queue=10280B,up=100Mbit", &[]);
    let client = socket();
    client.set_read_timeout(Some(Duration::from_secs(1))).expect("a timeout");
    for _ in 0..100 {
        client.send_to(&[7; 1000], relay.address).expect("sent");
    }
    let mut buffer = [0; 2000];
    let heard = std::iter::from_fn(|| client.recv_from(&mut buffer).ok()).count();
    let said = relay.end();
    // A server that a busy machine lets wait loses some at its socket: they never reach the queue.
    let met = forwarded(&said);
    assert!((60..=100).contains(&met), "{met} packets met the queue: {said}");
    assert!((10..met).contains(&heard), "{heard} of {met} passed a queue of ten: {said}");
    let dropped = met - heard;
    assert!(
        said.contains(&format!("{heard} delivered, {dropped} dropped (Queue {dropped})")),
        "{heard} passed, so {dropped} were dropped: {said}"
    );
}

/// Packets that came to the direction towards the client.
fn forwarded(said: &str) -> usize {
    let forward = said.lines().find_map(|line| line.strip_prefix("forward: ")).expect("a line");
    forward.split(' ').next().and_then(|count| count.parse().ok()).expect("a number")
}

#[test]
fn with_upload_the_queue_is_in_front_of_the_server() {
    let relay = Relay::to(echo(), "rate=1Mbit,rtt=20ms,queue=10280B,up=100Mbit", &["--upload"]);
    let client = socket();
    client.set_read_timeout(Some(Duration::from_secs(1))).expect("a timeout");
    for _ in 0..100 {
        client.send_to(&[7; 1000], relay.address).expect("sent");
    }
    let mut buffer = [0; 2000];
    let heard = std::iter::from_fn(|| client.recv_from(&mut buffer).ok()).count();
    let said = relay.end();
    assert_eq!(
        forwarded(&said),
        100,
        "all hundred of the client meet the forward direction: {said}"
    );
    assert!((10..100).contains(&heard), "{heard} of 100 passed: {said}");
}

#[test]
fn what_no_path_carries_is_not_relayed() {
    let relay = Relay::to(echo(), "rate=100Mbit,rtt=10ms", &[]);
    let client = socket();
    client.set_read_timeout(Some(Duration::from_millis(500))).expect("a timeout");
    client.send_to(&[1; 1473], relay.address).expect("loopback takes it");
    let mut buffer = [0; 2000];
    assert!(
        client.recv_from(&mut buffer).is_err(),
        "1473 bytes and 28 of headers are more than 1500"
    );
    client.send_to(&[1; 1472], relay.address).expect("sent");
    assert_eq!(
        client.recv_from(&mut buffer).expect("an answer").0,
        1472,
        "1472 bytes are a full packet"
    );
    assert!(relay.end().contains("larger than the path carries: 1"));
}

#[test]
fn more_clients_than_there_is_room_for_are_turned_away() {
    let relay = Relay::to(echo(), "rate=100Mbit,rtt=10ms", &["--clients", "1"]);
    let (first, second) = (socket(), socket());
    let mut buffer = [0; 100];
    first.send_to(b"first", relay.address).expect("sent");
    assert_eq!(first.recv_from(&mut buffer).expect("an answer").0, 5);
    second.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout");
    second.send_to(b"second", relay.address).expect("sent");
    assert!(second.recv_from(&mut buffer).is_err(), "there is room for one");
    assert!(relay.end().contains("rejected: 1"));
}

#[test]
fn bad_input_is_one_line_and_code_2() {
    let rows: [(&[&str], &str); 5] = [
        (&["--udp", "127.0.0.1:0"], "--to"),
        (&["--to", "127.0.0.1:1"], "--udp"),
        (&["--udp", "127.0.0.1", "--to", "127.0.0.1:1"], "HOST:PORT"),
        (&["--udp", "127.0.0.1:0", "--to", "[::1]:1"], "IPv6"),
        (&["--udp", "203.0.113.1:4433", "--to", "127.0.0.1:1"], "203.0.113.1:4433"),
    ];
    for (arguments, named) in rows {
        let output = Command::new(env!("CARGO_BIN_EXE_firstflight"))
            .arg("link")
            .args(arguments)
            .output()
            .expect("runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(
            said.lines().count() == 1 && said.contains(named),
            "{arguments:?} is refused with a line about {named}: {said}"
        );
    }
}
