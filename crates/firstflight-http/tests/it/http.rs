//! Objects over real sockets: complete, in part, from a folder, with any arm, and the shutdown of a
//! server.

use crate::served::{Served, finish, foreign, options, runtime};
use firstflight_http::{
    ARM, Ended, Fetch, FetchError, Fetched, ServerOptions, Trust, Verified, content, fetch,
};
use http::StatusCode;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;
use tokio::task::JoinHandle;

#[expect(clippy::unnecessary_wraps, reason = "what takes the pieces may refuse them")]
fn nothing(_: Option<u64>, _: &[u8]) -> Result<(), String> {
    Ok(())
}

/// A download that would take minutes, once its first byte is there.
async fn slow_download(served: &Served) -> JoinHandle<Result<Fetched, FetchError>> {
    let wanted = Fetch { window: 50_000, ..served.wanting("/bytes/1GB") };
    let (begun, reached) = tokio::sync::oneshot::channel();
    let mut begun = Some(begun);
    let download = tokio::spawn(async move {
        let take = move |_: Option<u64>, _: &[u8]| {
            if let Some(begun) = begun.take() {
                let _ = begun.send(());
            }
            std::thread::sleep(Duration::from_millis(5));
            Ok(())
        };
        fetch(&wanted, take).await
    });
    reached.await.unwrap();
    download
}

/// The metrics as text.
fn metrics(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

fn count(metrics: &str, name: &str) -> u64 {
    let line = metrics
        .lines()
        .find(|line| line.starts_with(name))
        .unwrap_or_else(|| panic!("no {name} in\n{metrics}"));
    line.rsplit(' ').next().and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{line}"))
}

#[test]
fn an_object_arrives_whole_and_every_byte_is_checked() {
    runtime().block_on(async {
        let served = Served::start(options("hystart++"));
        for (size, bytes) in [
            ("0", 0),
            ("1B", 1),
            ("7B", 7),
            ("64KiB", 65_536),
            ("65537", 65_537),
            ("5MB", 5_000_000),
        ] {
            let mut collected = Vec::new();
            let take = |announced, piece: &[u8]| {
                assert_eq!(announced, Some(bytes), "{size}: the length is announced");
                collected.extend_from_slice(piece);
                Ok(())
            };
            let fetched = fetch(&served.wanting(&format!("/bytes/{size}")), take).await.unwrap();
            assert_eq!((fetched.status, fetched.bytes), (StatusCode::OK, bytes), "{size}");
            assert_eq!(fetched.verified, Verified::Content, "{size}");
            assert_eq!(fetched.arm.as_deref(), Some("hystart++/cubic/prr"), "{size}");
            let mut expected = vec![0; bytes as usize];
            content::fill(0, &mut expected);
            assert!(collected == expected, "{size}: the bytes are those of the pattern");
        }
        served.end().await;
    });
}

#[test]
fn every_address_of_a_host_is_tried_until_one_answers() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    // Nobody listens at the second; the third is of a family that may be missing, and the fourth of
    // documentation (RFC 3849).
    let closed: SocketAddr = "127.0.0.1:9".parse().unwrap();
    let [other, nowhere]: [SocketAddr; 2] =
        ["[::1]:9", "[2001:db8::1]:9"].map(|text| text.parse().unwrap());
    let keep = UdpSocket::bind(silent).unwrap();
    runtime().block_on(async {
        let served = Served::start(options("slowstart"));
        for before in [&[][..], &[silent], &[other], &[nowhere], &[closed, silent, other, nowhere]]
        {
            for after in [&[][..], &[silent, other]] {
                let connect_to = [before, &[served.address], after].concat();
                let wanted = Fetch { connect_to, ..served.wanting("/bytes/10kB") };
                let fetched = fetch(&wanted, nothing).await.unwrap();
                assert_eq!(fetched.bytes, 10_000, "{:?}", wanted.connect_to);
            }
        }
        // Each that did not answer is named.
        let connect_to = vec![silent, other];
        let wanted =
            Fetch { connect_to, idle: Duration::from_millis(300), ..served.wanting("/bytes/10kB") };
        let failed = fetch(&wanted, nothing).await.unwrap_err().to_string();
        assert!(failed.contains(&silent.to_string()) && failed.contains("[::1]:9"), "{failed}");
        served.end().await;
    });
    drop(keep);
}

#[test]
fn a_server_at_several_addresses_is_one_server() {
    runtime().block_on(async {
        let listen = ["127.0.0.1:0", "127.0.0.2:0", "[::1]:0"].map(|text| text.parse().unwrap());
        let plan = firstflight_quic::Plan::parse("slowstart").unwrap();
        let served = Served::start(ServerOptions::new(&listen, plan));
        let mut reached = 0;
        for at in listen {
            let connect_to = vec![SocketAddr::new(at.ip(), served.address.port())];
            // One key and one count for all.
            let wanted =
                Fetch { connect_to, idle: Duration::from_secs(2), ..served.wanting("/bytes/10kB") };
            match fetch(&wanted, nothing).await {
                Ok(fetched) => reached += u64::from(fetched.bytes == 10_000),
                Err(error) => assert!(at.is_ipv6(), "{error}"),
            }
        }
        assert!(reached >= 2, "{reached} of {}", listen.len());
        let accepted = "firstflight_connections_total{outcome=\"accepted\"}";
        assert_eq!(count(&metrics(served.metrics), accepted), reached);
        served.end().await;
    });
}

#[test]
fn a_byte_that_is_wrong_is_found_wherever_it_is() {
    let mut bytes = vec![0; 100_003];
    content::fill(5, &mut bytes);
    assert_eq!(content::first_wrong(5, &bytes), None);
    for wrong in [0, 1, 4095, 4096, 65_535, 100_002] {
        let mut spoilt = bytes.clone();
        spoilt[wrong] ^= 1;
        assert_eq!(content::first_wrong(5, &spoilt), Some(5 + wrong as u64), "byte {wrong}");
    }
    assert_eq!(content::first_wrong(6, &bytes), Some(6), "bytes that moved by one");
}

#[test]
fn a_client_may_choose_the_arm_of_its_connection_with_its_first_request() {
    runtime().block_on(async {
        let served = Served::start(ServerOptions { choice: true, ..options("slowstart") });
        for arm in ["rapid", "best/reno/immediate", "jumpstart", "slowstart"] {
            let fetched =
                fetch(&Fetch { arm: Some(arm.into()), ..served.wanting("/bytes/200kB") }, nothing)
                    .await
                    .unwrap();
            assert_eq!((fetched.status, fetched.bytes), (StatusCode::OK, 200_000), "{arm}");
            let expected = firstflight_quic::Plan::parse(arm).unwrap().arm.to_string();
            assert_eq!(fetched.arm, Some(expected), "{arm}: the answer says what sends");
        }
        let late = foreign(served.address, async |mut requests| {
            let mut statuses = Vec::new();
            for arm in [None, Some("rapid"), Some("slowstart")] {
                let mut request = http::Request::get("https://localhost/bytes/1kB");
                if let Some(arm) = arm {
                    request = request.header(ARM, arm);
                }
                let mut stream = requests.send_request(request.body(()).unwrap()).await.unwrap();
                finish(&mut stream).await;
                statuses.push(stream.recv_response().await.unwrap().status().as_u16());
            }
            statuses
        });
        assert_eq!(
            late.await,
            [200, 409, 200],
            "a second request is too late for another arm, and not for the one there is"
        );
        served.end().await;
    });
}

#[test]
fn the_arm_that_was_chosen_is_the_arm_that_ran() {
    runtime().block_on(async {
        let served = Served::start(ServerOptions { choice: true, ..options("slowstart") });
        // An oracle that leaves at 20 kB: no other arm ends startup for that reason.
        let wanted =
            Fetch { arm: Some("oracle(exit=20000)".into()), ..served.wanting("/bytes/2MB") };
        fetch(&wanted, nothing).await.unwrap();
        let address = served.metrics;
        // Counted when the last acknowledgement is in, which the client does not wait for.
        let counted = async {
            loop {
                let text = tokio::task::spawn_blocking(move || metrics(address)).await.unwrap();
                if text.contains("reason=\"oracle\"") {
                    return text;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let text = tokio::time::timeout(Duration::from_secs(10), counted)
            .await
            .expect("the exit of the oracle is counted");
        assert!(
            text.contains("firstflight_startup_exits_total{arm=\"chosen\",reason=\"oracle\"} 1"),
            "{text}"
        );
        served.end().await;
    });
}

#[test]
fn a_range_is_a_part_of_the_object_and_is_checked_as_such() {
    runtime().block_on(async {
        let served = Served::start(options("slowstart"));
        let rows = [
            ("bytes=0-99", 100, "bytes 0-99/1000000"),
            ("bytes=999-100000", 99_002, "bytes 999-100000/1000000"),
            ("bytes=999999-", 1, "bytes 999999-999999/1000000"),
            ("bytes=-5", 5, "bytes 999995-999999/1000000"),
        ];
        for (range, bytes, says) in rows {
            let fetched = fetch(
                &Fetch { range: Some(range.into()), ..served.wanting("/bytes/1MB") },
                nothing,
            )
            .await
            .unwrap();
            assert_eq!(
                (fetched.status, fetched.bytes),
                (StatusCode::PARTIAL_CONTENT, bytes),
                "{range}"
            );
            assert_eq!(fetched.fields[http::header::CONTENT_RANGE], says, "{range}");
            assert_eq!(fetched.verified, Verified::Content, "{range}");
        }
        served.end().await;
    });
}

#[test]
fn a_folder_is_served_and_nothing_outside_of_it() {
    runtime().block_on(async {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::create_dir(folder.path().join("below")).unwrap();
        std::fs::write(folder.path().join("below/a page.html"), "hello").unwrap();
        std::fs::write(outside.path().join("secret"), "secret").unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret"), folder.path().join("link"))
            .unwrap();
        std::os::unix::fs::symlink("below", folder.path().join("inside")).unwrap();
        std::fs::write(folder.path().join(".hidden"), "hidden").unwrap();
        std::fs::create_dir(folder.path().join(".folder")).unwrap();
        std::fs::write(folder.path().join(".folder/file"), "hidden").unwrap();
        std::os::unix::fs::symlink(".hidden", folder.path().join("to-hidden")).unwrap();
        let served = Served::start(ServerOptions {
            folder: Some(folder.path().to_owned()),
            ..options("slowstart")
        });
        let rows = [
            ("/below/a%20page.html", 200, 5),
            ("/inside/a%20page.html", 200, 5),
            ("/below", 404, 0),
            ("/no-such-file", 404, 0),
            ("/link", 404, 0),
            ("/below/..%2f..%2fsecret", 400, 0),
            ("/.hidden", 404, 0),
            ("/.folder/file", 404, 0),
            ("/to-hidden", 404, 0),
        ];
        for (path, status, bytes) in rows {
            let fetched = fetch(&served.wanting(path), nothing).await.unwrap();
            assert_eq!((fetched.status.as_u16(), fetched.bytes), (status, bytes), "{path}");
        }
        let fetched = fetch(&served.wanting("/below/a%20page.html"), nothing).await.unwrap();
        assert_eq!(fetched.fields[http::header::CONTENT_TYPE], "text/html");
        assert_eq!(fetched.verified, Verified::Length, "nobody knows what should be in a file");
        let missing = fetch(&served.wanting("/no-such-file"), nothing).await.unwrap();
        assert_eq!(
            missing.verified,
            Verified::Nothing,
            "an answer that is not the object says nothing about it"
        );
        served.end().await;
        let options = ServerOptions {
            folder: Some(folder.path().to_owned()),
            hidden: true,
            ..options("slowstart")
        };
        let asked = Served::start(options);
        for path in ["/.hidden", "/.folder/file", "/to-hidden"] {
            assert_eq!(
                fetch(&asked.wanting(path), nothing).await.unwrap().bytes,
                6,
                "{path}, if it is asked for"
            );
        }
        asked.end().await;
    });
}

#[test]
fn only_the_holder_of_the_pinned_key_is_believed() {
    runtime().block_on(async {
        let served = Served::start(options("slowstart"));
        let wanted = served.wanting("/bytes/1kB");
        let believed = fetch(&Fetch { trust: Trust::Anyone, ..wanted.clone() }, nothing).await;
        assert!(believed.is_ok(), "{believed:?}");
        for trust in
            [Trust::Pin("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=".into()), Trust::System]
        {
            let refused = fetch(&Fetch { trust: trust.clone(), ..wanted.clone() }, nothing).await;
            assert!(matches!(refused, Err(FetchError::Untrusted(_))), "{trust:?}: {refused:?}");
        }
        served.end().await;
    });
}

#[test]
fn a_server_told_to_end_finishes_what_it_began_and_takes_nothing_new() {
    runtime().block_on(async {
        let served = Served::start(options("slowstart"));
        let wanted = served.wanting("/bytes/3MB");
        let (half, reached) = tokio::sync::oneshot::channel();
        let mut half = Some(half);
        let mut seen = 0;
        // Reads slowly, so that the end comes in the middle.
        let slow = wanted.clone();
        let download = tokio::spawn(async move {
            let take = move |_: Option<u64>, piece: &[u8]| {
                seen += piece.len();
                if seen > 500_000
                    && let Some(half) = half.take()
                {
                    let _ = half.send(());
                }
                std::thread::sleep(Duration::from_micros(500));
                Ok(())
            };
            fetch(&Fetch { window: 100_000, ..slow }, take).await
        });
        reached.await.unwrap();
        let (done, enough) = served.stop();
        let refused = fetch(&Fetch { idle: Duration::from_secs(1), ..wanted }, nothing).await;
        assert!(refused.is_err(), "nobody new gets in: {refused:?}");
        let fetched = download.await.unwrap().unwrap();
        assert_eq!(
            (fetched.bytes, fetched.verified),
            (3_000_000, Verified::Content),
            "what was begun is finished"
        );
        assert_eq!(done.await.unwrap(), Ended::Drained);
        drop(enough);
    });
}

#[test]
fn a_client_that_stays_does_not_keep_a_server_from_ending() {
    runtime().block_on(async {
        let served = Served::start(options("slowstart"));
        let (_endpoint, connection) = crate::served::quinn(served.address).await;
        let (mut driver, mut requests) =
            h3::client::new(h3_quinn::Connection::new(connection.clone())).await.unwrap();
        let driving = tokio::spawn(async move { driver.wait_idle().await });
        let request = http::Request::get("https://localhost/bytes/10kB").body(()).unwrap();
        let mut stream = requests.send_request(request).await.unwrap();
        finish(&mut stream).await;
        assert_eq!(stream.recv_response().await.unwrap().status(), StatusCode::OK);
        while stream.recv_data().await.unwrap().is_some() {}
        let (done, _enough) = served.stop();
        // Much less than the patience with a connection that asks nothing.
        let ended = tokio::time::timeout(Duration::from_secs(15), done)
            .await
            .expect("it ends although the client is still there");
        assert_eq!(ended.unwrap(), Ended::Drained);
        driving.abort();
    });
}

#[test]
fn a_server_that_has_waited_long_enough_cuts_off_what_is_left() {
    runtime().block_on(async {
        let served = Served::start(options("slowstart"));
        let download = slow_download(&served).await;
        let (done, enough) = served.stop();
        drop(enough);
        assert_eq!(done.await.unwrap(), Ended::CutOff(1));
        let cut = download.await.unwrap();
        assert!(matches!(cut, Err(FetchError::Failed(_))), "the client hears of it: {cut:?}");
    });
}

#[test]
fn metrics_count_what_happened() {
    runtime().block_on(async {
        let served = Served::start(options("rapid"));
        for _ in 0..3 {
            fetch(&served.wanting("/bytes/300kB"), nothing).await.unwrap();
        }
        fetch(&served.wanting("/nothing"), nothing).await.unwrap();
        let at = served.metrics;
        let text = tokio::task::spawn_blocking(move || metrics(at)).await.unwrap();
        assert!(text.starts_with("HTTP/1.1 200") && text.trim_end().ends_with("# EOF"), "{text}");
        assert_eq!(
            count(&text, "firstflight_connections_total{outcome=\"accepted\"}"),
            4,
            "{text}"
        );
        assert_eq!(count(&text, "firstflight_responses_total{status=\"200\"}"), 3, "{text}");
        assert_eq!(count(&text, "firstflight_responses_total{status=\"404\"}"), 1, "{text}");
        assert!(count(&text, "firstflight_bytes_sent_total") > 600_000, "{text}");
        assert!(text.contains("firstflight_time_to_last_byte_seconds_bucket{"), "{text}");
        assert!(text.contains("arm=\"rapid"), "{text}");
        served.end().await;
    });
}

#[test]
fn bytes_are_counted_while_they_are_sent() {
    runtime().block_on(async {
        let served = Served::start(options("slowstart"));
        let download = slow_download(&served).await;
        let at = served.metrics;
        let text = tokio::task::spawn_blocking(move || metrics(at)).await.unwrap();
        assert!(
            count(&text, "firstflight_bytes_sent_total") > 0
                && count(&text, "firstflight_packets_sent_total") > 0,
            "{text}"
        );
        let (done, enough) = served.stop();
        drop(enough);
        done.await.unwrap();
        drop(download.await.unwrap());
    });
}

#[test]
fn responses_that_wait_for_credit_of_the_connection_can_be_cancelled() {
    const CANCELLED: usize = 10;
    runtime().block_on(async {
        let mut patient = options("slowstart");
        // A place for every request but no more, and nothing that ends a response early.
        patient.limits.requests = CANCELLED as u32 + 1;
        patient.limits.patience = Duration::from_secs(3600);
        let served = Served::start(patient);
        let mut transport = quinn::TransportConfig::default();
        transport.receive_window(50_000_u32.into()).stream_receive_window(1_000_000_u32.into());
        let (_endpoint, connection) = crate::served::quinn_with(served.address, transport).await;
        let (mut driver, mut requests) =
            h3::client::new(h3_quinn::Connection::new(connection)).await.unwrap();
        let driving = tokio::spawn(async move { driver.wait_idle().await });
        let mut ask = async |path: &str| {
            let request = http::Request::get(format!("https://localhost{path}")).body(()).unwrap();
            let mut stream = requests.send_request(request).await.unwrap();
            finish(&mut stream).await;
            stream
        };
        let events = async {
            // Takes all the credit of the connection and gives none back.
            let mut greedy = ask("/bytes/1MB").await;
            assert_eq!(greedy.recv_response().await.unwrap().status(), StatusCode::OK);
            tokio::time::sleep(Duration::from_millis(200)).await;
            for _ in 0..CANCELLED {
                ask("/bytes/1GB").await.stop_sending(h3::error::Code::H3_REQUEST_CANCELLED);
            }
            // The places of the cancelled ones are free although there is no credit yet.
            // One may stay unannounced: a stack tells of new places when more than an eighth of all
            // are free.
            let mut next = Vec::new();
            for _ in 1..CANCELLED {
                next.push(ask("/bytes/1kB").await);
            }
            // With credit the answers come, those that were not cancelled.
            while greedy.recv_data().await.unwrap().is_some() {}
            for stream in &mut next {
                assert_eq!(stream.recv_response().await.unwrap().status(), StatusCode::OK);
                while stream.recv_data().await.unwrap().is_some() {}
            }
        };
        tokio::time::timeout(Duration::from_secs(60), events)
            .await
            .expect("a cancelled response gives its place back");
        driving.abort();
        drop(requests);
        let (done, enough) = served.stop();
        drop(enough);
        done.await.unwrap();
    });
}

#[test]
fn a_foreign_client_gets_the_head_alone_when_it_asks_for_it() {
    runtime().block_on(async {
        let served = Served::start(options("slowstart"));
        foreign(served.address, async |mut requests| {
            let head = http::Request::head("https://localhost/bytes/10MB").body(()).unwrap();
            let mut stream = requests.send_request(head).await.unwrap();
            finish(&mut stream).await;
            let response = stream.recv_response().await.unwrap();
            assert_eq!(response.headers()[http::header::CONTENT_LENGTH], "10000000");
            assert!(stream.recv_data().await.unwrap().is_none(), "a head has no body");
        })
        .await;
        served.end().await;
    });
}
