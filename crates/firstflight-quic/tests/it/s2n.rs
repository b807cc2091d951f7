//! The example server for s2n-quic, over loopback with a client of its own stack.

#[allow(dead_code, reason = "the example's own main")]
#[path = "../../examples/s2n_server.rs"]
mod s2n_server;

use firstflight::{AnyController, Begin, Event, Recorder};
use firstflight_quic::{Plan, s2n};
use s2n_quic::Client;
use s2n_quic::client::Connect;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::net::UdpSocket;

const OBJECT: usize = 1_000_000;

/// Record of the controllers of a server.
#[derive(Debug, Default)]
struct Heard {
    arms: BTreeSet<String>,
    acks: u64,
    sent: u64,
    /// Bytes lost, as ACKs revealed them.
    lost: u64,
    loss_episodes: u64,
    /// The largest window of any moment.
    cwnd: u64,
    initial_window: u64,
}

impl Recorder<AnyController> for Heard {
    fn on_begin(&mut self, begin: &Begin) {
        self.arms.insert(begin.arm.to_string());
        self.initial_window = begin.config.initial_window;
    }

    fn on_event(&mut self, event: &Event, after: &AnyController) {
        match event {
            Event::Ack(ack, so_far) if !so_far.is_timer(ack) => {
                self.acks += 1;
                self.lost += ack.lost;
            }
            Event::Sent(sent) => self.sent += sent.bytes,
            _ => {}
        }
        self.cwnd = self.cwnd.max(after.cwnd());
        self.loss_episodes = u64::from(after.stats().loss_episodes);
    }
}

/// Passes datagrams on between one client and `server`; of those to the client, every `period`th is
/// dropped after the handshake.
async fn drop_some(relay: UdpSocket, server: SocketAddr, period: usize) {
    let mut client = None;
    let mut passed = 0;
    let mut datagram = vec![0; 65536];
    while let Ok((length, from)) = relay.recv_from(&mut datagram).await {
        let to = if from == server {
            passed += 1;
            client.filter(|_| passed < 20 || passed % period != 0)
        } else {
            client = Some(from);
            Some(server)
        };
        if let Some(to) = to {
            let _ = relay.send_to(&datagram[..length], to).await;
        }
    }
}

/// Downloads one object from a server with this arm; every `dropped`th datagram of it is lost.
fn download(arm: &str, dropped: Option<usize>) -> Arc<Mutex<Heard>> {
    let heard = Arc::new(Mutex::new(Heard::default()));
    let controllers = s2n::Endpoint::new(Plan::parse(arm).unwrap()).with_recorder(heard.clone());
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let own = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
        let pair = (own.cert.der().as_ref(), &*own.signing_key.serialize_der());
        let server = s2n_server::listen("127.0.0.1:0".parse().unwrap(), pair, controllers).unwrap();
        let mut address = server.local_addr().unwrap();
        tokio::spawn(s2n_server::serve(server));
        if let Some(period) = dropped {
            let relay = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            let server = std::mem::replace(&mut address, relay.local_addr().unwrap());
            tokio::spawn(drop_some(relay, server, period));
        }
        let client = Client::builder().with_tls(own.cert.der().as_ref()).unwrap();
        let client =
            client.with_io("127.0.0.1:0".parse::<SocketAddr>().unwrap()).unwrap().start().unwrap();
        let mut connection =
            client.connect(Connect::new(address).with_server_name("localhost")).await.unwrap();
        let mut stream = connection.open_bidirectional_stream().await.unwrap();
        stream.send(b"object".to_vec().into()).await.unwrap();
        let mut got = 0;
        while let Some(piece) = stream.receive().await.unwrap() {
            assert!(piece.iter().all(|byte| *byte == 0x2a), "the object holds nothing but 0x2a");
            got += piece.len();
        }
        assert_eq!(got, OBJECT, "the whole object arrives");
    });
    heard
}

#[test]
fn an_s2n_server_with_an_arm_serves_and_the_arm_decides() {
    for arm in ["hystart++/cubic/prr", "rapid", "slowstart/reno/halving@(iw=20)"] {
        let heard = download(arm, None);
        let account = heard.lock().unwrap();
        let named = Plan::parse(arm).unwrap().arm.to_string();
        assert_eq!(
            account.arms.iter().collect::<Vec<_>>(),
            [&named],
            "every controller runs the arm that was asked for"
        );
        assert!(account.sent >= OBJECT as u64, "the controller counts the object: {account:?}");
        assert!(account.acks > 0, "the controller hears ACKs: {account:?}");
        assert!(
            account.cwnd > account.initial_window,
            "the arm opens the window of {}: {account:?}",
            account.initial_window
        );
    }
}

#[test]
fn losses_reach_the_arm_with_the_acks_that_reveal_them() {
    let heard = download("hystart++/cubic/prr", Some(50));
    let account = heard.lock().unwrap();
    assert!(
        account.lost > 0 && account.loss_episodes > 0,
        "ACKs bring losses, and the arm answers them: {account:?}"
    );
    assert!(
        account.sent >= OBJECT as u64 + account.lost,
        "what was lost is sent again: {account:?}"
    );
}

#[test]
fn an_arm_costs_a_server_fewer_than_ten_lines() {
    let source = include_str!("../../examples/s2n_server.rs");
    let changed = source.lines().filter(|line| line.ends_with("// firstflight")).count();
    let used = source.lines().filter(|line| line.contains("firstflight_quic")).count();
    assert!(changed >= used && changed < 10, "{changed} lines are marked, {used} name the crate");
}
