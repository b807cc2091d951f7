//! The example servers, over loopback with a client of their own stack.

#[allow(dead_code, reason = "the example's own main")]
#[path = "../../examples/noq_server.rs"]
mod noq_server;
#[allow(dead_code, reason = "the example's own main")]
#[path = "../../examples/quinn_server.rs"]
mod quinn_server;
#[allow(dead_code, reason = "the example's own main")]
#[path = "../../examples/trial_clients.rs"]
mod trial_clients;
#[allow(dead_code, reason = "the example's own main")]
#[path = "../../examples/trial_server.rs"]
mod trial_server;

use crate::anyone::tls;
use firstflight_quic::trial::Trial;
use firstflight_quic::trial::design::{By, Design};
use std::collections::BTreeMap;
use std::sync::Arc;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A client of a stack gets an object from the example server of that stack: the stacks differ in
/// their types, not in their names.
macro_rules! serves {
    ($test:ident, $stack:ident, $server:ident) => {
        #[test]
        fn $test() {
            runtime().block_on(async {
                let server = $server::listen("127.0.0.1:0".parse().unwrap()).unwrap();
                let address = server.local_addr().unwrap();
                tokio::spawn($server::serve(server));
                let client = $stack::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
                let crypto = $stack::crypto::rustls::QuicClientConfig::try_from(tls()).unwrap();
                let config = $stack::ClientConfig::new(Arc::new(crypto));
                let connection =
                    client.connect_with(config, address, "localhost").unwrap().await.unwrap();
                let (mut send, mut receive) = connection.open_bi().await.unwrap();
                send.write_all(b"object").await.unwrap();
                assert_eq!(
                    receive.read_to_end(2_000_000).await.unwrap().len(),
                    1_000_000,
                    "the whole object arrives"
                );
            });
        }
    };
}

serves!(a_noq_server_with_an_arm_serves, noq, noq_server);
serves!(a_quinn_server_with_an_arm_serves, quinn, quinn_server);

/// Downloads one object of 100 kB over a connection of its own.
async fn get(client: &noq::Endpoint, address: std::net::SocketAddr) {
    let crypto = noq::crypto::rustls::QuicClientConfig::try_from(tls()).unwrap();
    let config = noq::ClientConfig::new(Arc::new(crypto));
    let connection = client.connect_with(config, address, "localhost").unwrap().await.unwrap();
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    send.write_all(b"object").await.unwrap();
    assert_eq!(receive.read_to_end(200_000).await.unwrap().len(), 100_000);
    connection.close(0_u32.into(), b"");
}

#[test]
fn a_trial_leaves_a_row_of_every_connection_of_a_real_server_and_no_address() {
    const CONNECTIONS: usize = 24;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.jsonl");
    let trial = Trial::open(&file, "slowstart,rapid").unwrap();
    runtime().block_on(async {
        let server = trial_server::listen("127.0.0.1:0".parse().unwrap(), &trial).unwrap();
        let address = server.local_addr().unwrap();
        let serving = tokio::spawn(trial_server::serve(server.clone()));
        let client = noq::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
        for _ in 0..CONNECTIONS {
            get(&client, address).await;
        }
        client.wait_idle().await;
        server.close(0_u32.into(), b"");
        server.wait_idle().await;
        serving.abort();
        let _ = serving.await;
    });
    let drawn: u64 = trial.drawn().iter().map(|(_, count)| count).sum();
    assert_eq!(drawn, CONNECTIONS as u64);
    let text = std::fs::read_to_string(&file).unwrap();
    let rows: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), CONNECTIONS, "a row of each: {text}");
    for row in &rows {
        assert!(row["bytes_acked"].as_u64().unwrap() > 90_000, "{row}");
        assert!(row["busy_ms"].as_f64().unwrap() > 0.0, "{row}");
        assert!(["slowstart", "rapid"].contains(&row["arm"].as_str().unwrap()), "{row}");
    }
    assert!(!text.contains("127.0.0"), "no address: {text}");
}

#[test]
fn a_server_that_draws_for_clients_leaves_some_out_and_tells_of_startups_beside() {
    const CLIENTS: u8 = 40;
    const EACH: usize = 2;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.jsonl");
    // Clients are told apart by their whole address: all of 127.0.0.0/24 is one household otherwise.
    let design = Design { by: By::Client, enrol: 0.5, prefix_v4: 32, ..Design::default() };
    let trial = trial_clients::trial(&file, design).unwrap();
    runtime().block_on(async {
        let (server, config) = trial_clients::listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = server.local_addr().unwrap();
        let serving = tokio::spawn(trial_clients::serve(server.clone(), config, trial.clone()));
        for client in 1..=CLIENTS {
            let client = noq::Endpoint::client(([127, 0, 0, client], 0).into()).unwrap();
            for _ in 0..EACH {
                get(&client, address).await;
            }
            client.wait_idle().await;
        }
        server.close(0_u32.into(), b"");
        server.wait_idle().await;
        serving.abort();
        let _ = serving.await;
    });
    let drawn: u64 = trial.drawn().iter().map(|(_, count)| count).sum();
    assert_eq!(drawn + trial.outside(), u64::from(CLIENTS) * EACH as u64);
    let text = std::fs::read_to_string(&file).unwrap();
    let rows: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len() as u64, drawn, "a row of each that takes part: {text}");
    let mut units = BTreeMap::<&str, Vec<&str>>::new();
    for row in &rows {
        let text = |name: &str| row[name].as_str().unwrap();
        units.entry(text("unit")).or_default().push(text("arm"));
        for shadow in ["slowstart", "search"] {
            for cell in ["exit_reason", "exit_ms", "exit_ack", "exit_cwnd_bytes"] {
                assert!(row.get(format!("{shadow}.{cell}")).is_some(), "{shadow}.{cell}: {row}");
            }
        }
        if text("arm") == "slowstart" {
            let [own, beside] = ["exit_reason", "slowstart.exit_reason"].map(|name| &row[name]);
            assert_eq!(own, beside, "beside itself an arm leaves as it does: {row}");
        }
    }
    // 20 of 40 clients are planned; outside of 5 to 35 comes once in ten million times.
    assert!((5..=35).contains(&units.len()), "{} clients take part", units.len());
    for (unit, arms) in &units {
        let same = arms.iter().all(|arm| *arm == arms[0]);
        assert!(arms.len() == EACH && same, "a client keeps its arm: {unit} {arms:?}");
    }
    assert!(!text.contains("127.0.0"), "no address: {text}");
}

#[test]
fn an_arm_costs_a_server_fewer_than_ten_lines() {
    for source in [
        include_str!("../../examples/noq_server.rs"),
        include_str!("../../examples/quinn_server.rs"),
        include_str!("../../examples/trial_clients.rs"),
    ] {
        let changed = source.lines().filter(|line| line.ends_with("// firstflight")).count();
        let used = source.lines().filter(|line| line.contains("firstflight_quic")).count();
        assert!(
            changed >= used && changed < 10,
            "{changed} lines are marked, {used} name the crate"
        );
    }
}
