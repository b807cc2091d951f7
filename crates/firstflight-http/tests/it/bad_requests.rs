//! Bad requests: each gets exactly the right status, or the right error of the stream or connection
//! if no status can be sent; and the server keeps running.

use crate::served::{Served, heedless, options, quinn, runtime};
use firstflight_http::{Fetch, ServerOptions, fetch};
use h3::error::Code;
use std::time::Duration;

/// A request as `h3` of a foreign client sends it: status, header fields of interest and body of
/// the answer.
async fn asked(
    served: &Served,
    method: &str,
    path: &str,
    fields: &[(&str, &str)],
    body: usize,
) -> (u16, Option<String>, usize) {
    // A client that heeds the limits it was told would not send all of these.
    heedless(served.address, async |mut requests| {
        let mut request =
            http::Request::builder().method(method).uri(format!("https://localhost{path}"));
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let mut stream = requests.send_request(request.body(()).unwrap()).await.unwrap();
        if body > 0 {
            // The server may stop us before it is all said.
            let _ = stream.send_data(bytes::Bytes::from(vec![0; body])).await;
        }
        let _ = stream.finish().await;
        let response = tokio::time::timeout(Duration::from_secs(10), stream.recv_response())
            .await
            .expect("an answer in time")
            .unwrap();
        let mut len = 0;
        while let Some(piece) = stream.recv_data().await.unwrap() {
            len += bytes::Buf::remaining(&piece);
        }
        let field = [http::header::CONTENT_RANGE, http::header::ALLOW, http::header::RETRY_AFTER]
            .iter()
            .find_map(|name| response.headers().get(name))
            .map(|value| value.to_str().unwrap().to_owned());
        (response.status().as_u16(), field, len)
    })
    .await
}

/// Method, path, header fields; status and what one telling header field of the answer says.
type Row<'a> = (&'a str, &'a str, Vec<(&'a str, &'a str)>, u16, Option<&'a str>);

#[test]
fn bad_requests_get_their_status_and_nothing_else() {
    let long = format!("/{}", "a".repeat(3000));
    let large = "x".repeat(20_000);
    let rows: Vec<Row<'_>> = vec![
        ("GET", "/../../etc/passwd", vec![], 400, None),
        ("GET", "/%2e%2e/%2e%2e/etc/passwd", vec![], 400, None),
        ("GET", "/..%2f..%2fetc%2fpasswd", vec![], 400, None),
        ("GET", "/bytes/%00", vec![], 400, None),
        ("GET", "/bytes/-5MB", vec![], 400, None),
        ("GET", "/bytes/99999999999999GB", vec![], 404, None),
        ("GET", "/%zz", vec![], 400, None),
        ("GET", "/etc/passwd", vec![], 404, None),
        ("GET", &long, vec![], 414, None),
        ("GET", "/bytes/1MB", vec![("x-large", &large)], 431, None),
        ("GET", "/bytes/1MB", vec![("range", "bytes=-5-10")], 400, None),
        ("GET", "/bytes/1MB", vec![("range", "bytes=9-5")], 400, None),
        ("GET", "/bytes/1MB", vec![("range", "bytes=1000000-")], 416, Some("bytes */1000000")),
        ("GET", "/bytes/1MB", vec![("range", "bytes=-0")], 416, Some("bytes */1000000")),
        ("POST", "/bytes/1MB", vec![], 405, Some("GET, HEAD")),
        ("DELETE", "/bytes/1MB", vec![], 405, Some("GET, HEAD")),
        ("GET", "/bytes/1MB", vec![("content-length", "-1")], 400, None),
        ("GET", "/bytes/1MB", vec![("transfer-encoding", "chunked")], 400, None),
        ("GET", "/bytes/1MB", vec![("connection", "keep-alive")], 400, None),
        ("GET", "/bytes/1MB", vec![("firstflight-arm", "rapid")], 403, None),
    ];
    runtime().block_on(async {
        let served = Served::start(options("slowstart"));
        for (method, path, fields, status, field) in rows {
            let what = format!("{method} {} {fields:?}", &path[..path.len().min(60)]);
            let (is, says, body) = asked(&served, method, path, &fields, 0).await;
            assert_eq!(
                (is, says.as_deref(), body),
                (status, field, 0),
                "{}",
                &what[..what.len().min(200)]
            );
        }
        let (status, _, body) =
            asked(&served, "GET", "/bytes/1MB", &[("content-length", "5000000")], 5_000_000).await;
        assert_eq!((status, body), (413, 0), "content is not wanted, and is not waited for");
        let (status, ..) = asked(&served, "POST", "/bytes/1MB", &[], 5_000_000).await;
        assert_eq!(status, 405, "nor is content whose length is not said");
        let allowed = Served::start(ServerOptions { choice: true, ..options("slowstart") });
        let (status, ..) =
            asked(&allowed, "GET", "/bytes/1MB", &[("firstflight-arm", "rapid(")], 0).await;
        assert_eq!(status, 400, "an arm that is none");
        let good = fetch(&served.wanting("/bytes/100kB"), |_, _| Ok(())).await.unwrap();
        assert_eq!(good.bytes, 100_000, "the server lives on");
        served.end().await;
        allowed.end().await;
    });
}

/// A QPACK string with a prefix of so many bits, not Huffman coded (RFC 9204 section 4.1.2).
fn string(out: &mut Vec<u8>, first: u8, bits: u32, text: &[u8]) {
    let most = (1_usize << bits) - 1;
    if text.len() < most {
        out.push(first | text.len() as u8);
    } else {
        out.push(first | most as u8);
        let mut rest = text.len() - most;
        while rest >= 128 {
            out.push(rest as u8 | 128);
            rest >>= 7;
        }
        out.push(rest as u8);
    }
    out.extend_from_slice(text);
}

/// A frame of HTTP/3 with a length of up to 2^14.
fn frame(kind: u8, content: &[u8]) -> Vec<u8> {
    let mut frame = vec![kind, 0x40 | (content.len() >> 8) as u8, content.len() as u8];
    frame.extend_from_slice(content);
    frame
}

/// A HEADERS frame with exactly these fields, legal or not.
fn headers(fields: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut block = vec![0, 0];
    for (name, value) in fields {
        string(&mut block, 0x20, 3, name);
        string(&mut block, 0, 7, value);
    }
    frame(1, &block)
}

const GET: [(&[u8], &[u8]); 4] = [
    (b":method", b"GET"),
    (b":scheme", b"https"),
    (b":authority", b"localhost"),
    (b":path", b"/bytes/1kB"),
];

fn with<'a>(more: &[(&'a [u8], &'a [u8])]) -> Vec<u8> {
    headers(&[&GET[..], more].concat())
}

/// Result of sending raw bytes on a request stream.
#[derive(Debug, PartialEq, Eq)]
enum Became {
    /// Something came back, and the end.
    Answered,
    /// The stream was reset.
    Reset(u64),
    /// The connection was closed.
    Closed(u64),
}

async fn raw(served: &Served, bytes: &[u8], finish: bool) -> Became {
    let (_endpoint, connection) = quinn(served.address).await;
    let mut control = connection.open_uni().await.unwrap();
    // Control stream, empty SETTINGS.
    control.write_all(&[0, 4, 0]).await.unwrap();
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    let _ = send.write_all(bytes).await;
    if finish {
        let _ = send.finish();
    }
    let read = tokio::time::timeout(Duration::from_secs(15), receive.read_to_end(1 << 20))
        .await
        .expect("an end in time");
    match read {
        Ok(_) => Became::Answered,
        // A request dropped because its connection ends is cancelled first: the end is on its way.
        Err(quinn::ReadToEndError::Read(quinn::ReadError::Reset(code)))
            if code.into_inner() != Code::H3_REQUEST_CANCELLED.value() =>
        {
            Became::Reset(code.into_inner())
        }
        Err(_) => match connection.closed().await {
            quinn::ConnectionError::ApplicationClosed(close) => {
                Became::Closed(close.error_code.into_inner())
            }
            other => panic!("{other}"),
        },
    }
}

#[test]
fn what_is_no_request_at_all_is_an_error_of_its_stream_or_connection() {
    let message = Became::Reset(Code::H3_MESSAGE_ERROR.value());
    let rows: Vec<(&str, Vec<u8>, Became)> = vec![
        ("a good one", with(&[]), Became::Answered),
        (
            "an upper-case name",
            with(&[(b"X-Name", b"1")]),
            Became::Reset(Code::H3_MESSAGE_ERROR.value()),
        ),
        (
            "a space in a name",
            with(&[(b"x name", b"1")]),
            Became::Reset(Code::H3_MESSAGE_ERROR.value()),
        ),
        ("an empty name", with(&[(b"", b"1")]), Became::Reset(Code::H3_MESSAGE_ERROR.value())),
        (
            "a line break in a value",
            with(&[(b"x-a", b"1\r\nx-b: 2")]),
            Became::Reset(Code::H3_MESSAGE_ERROR.value()),
        ),
        (
            "a zero byte in a value",
            with(&[(b"x-a", b"\0")]),
            Became::Reset(Code::H3_MESSAGE_ERROR.value()),
        ),
        (
            "an unknown pseudo-header",
            with(&[(b":nonsense", b"1")]),
            Became::Reset(Code::H3_MESSAGE_ERROR.value()),
        ),
        (
            "a pseudo-header of responses",
            with(&[(b":status", b"no")]),
            Became::Reset(Code::H3_MESSAGE_ERROR.value()),
        ),
        (
            "a path that is none",
            headers(&[GET[0], GET[1], GET[2], (b":path", b"no path at all\x01")]),
            message,
        ),
        ("no method", headers(&GET[1..]), Became::Reset(Code::H3_MESSAGE_ERROR.value())),
        (
            "no authority",
            headers(&[GET[0], GET[1], GET[3]]),
            Became::Reset(Code::H3_MESSAGE_ERROR.value()),
        ),
        (
            "two authorities",
            with(&[(b"host", b"elsewhere")]),
            Became::Reset(Code::H3_MESSAGE_ERROR.value()),
        ),
        ("two methods", with(&[GET[0]]), Became::Reset(Code::H3_MESSAGE_ERROR.value())),
        (
            "two paths",
            with(&[(b":path", b"/bytes/2kB")]),
            Became::Reset(Code::H3_MESSAGE_ERROR.value()),
        ),
        (
            "two schemes behind a field",
            with(&[(b"x-a", b"1"), GET[1]]),
            Became::Reset(Code::H3_MESSAGE_ERROR.value()),
        ),
        ("nothing", vec![], Became::Reset(Code::H3_REQUEST_INCOMPLETE.value())),
        ("data first", frame(0, b"hello"), Became::Closed(Code::H3_FRAME_UNEXPECTED.value())),
        (
            "a field block that is none",
            frame(1, &[0xff; 20]),
            Became::Closed(Code::QPACK_DECOMPRESSION_FAILED.value()),
        ),
    ];
    runtime().block_on(async {
        let served = Served::start(options("slowstart"));
        for (what, bytes, expected) in rows {
            assert_eq!(raw(&served, &bytes, true).await, expected, "{what}");
        }
        let good = fetch(&served.wanting("/bytes/100kB"), |_, _| Ok(())).await.unwrap();
        assert_eq!(good.bytes, 100_000, "the server lives on");
        served.end().await;
    });
}

#[test]
fn a_push_stream_of_a_client_ends_its_connection() {
    runtime().block_on(async {
        let served = Served::start(options("slowstart"));
        // The type in every length that an integer may have.
        for kind in [&[1][..], &[0x40, 1], &[0x80, 0, 0, 1], &[0xc0, 0, 0, 0, 0, 0, 0, 1]] {
            let (_endpoint, connection) = quinn(served.address).await;
            let mut push = connection.open_uni().await.unwrap();
            push.write_all(&[kind, &[0]].concat()).await.unwrap();
            let closed = tokio::time::timeout(Duration::from_secs(15), connection.closed())
                .await
                .expect("an end in time");
            let quinn::ConnectionError::ApplicationClosed(close) = closed else {
                panic!("{closed}")
            };
            assert_eq!(
                close.error_code.into_inner(),
                Code::H3_STREAM_CREATION_ERROR.value(),
                "{kind:?}"
            );
        }
        // A stream of a kind that means nothing is read and forgotten.
        let (_endpoint, connection) = quinn(served.address).await;
        let mut reserved = connection.open_uni().await.unwrap();
        reserved.write_all(&[0x21, 1, 1, 1]).await.unwrap();
        let good = fetch(&served.wanting("/bytes/100kB"), |_, _| Ok(())).await.unwrap();
        assert_eq!((good.bytes, connection.close_reason()), (100_000, None));
        connection.close(0_u32.into(), b"");
        served.end().await;
    });
}

#[test]
fn a_frame_that_never_ends_is_not_kept() {
    runtime().block_on(async {
        let served = Served::start(options("slowstart"));
        // HEADERS of a gigabyte, as eight-byte length, and as much of it as the server takes.
        let mut bytes = vec![1, 0xc0, 0, 0, 0, 0x40, 0, 0, 0];
        bytes.resize(1_000_000, 0);
        let (_endpoint, connection) = quinn(served.address).await;
        let (mut send, _receive) = connection.open_bi().await.unwrap();
        let stopped = tokio::time::timeout(Duration::from_secs(15), send.write_all(&bytes))
            .await
            .expect("an end in time");
        assert!(stopped.is_err(), "the server takes no megabyte of a request");
        served.end().await;
    });
}

#[test]
fn whoever_asks_too_often_is_told_to_wait() {
    runtime().block_on(async {
        let mut slow = options("slowstart");
        slow.limits.requests_per_second = 1.try_into().unwrap();
        let served = Served::start(slow);
        let mut statuses = Vec::new();
        for _ in 0..6 {
            statuses.push(asked(&served, "GET", "/bytes/1kB", &[], 0).await);
        }
        assert_eq!(statuses[0].0, 200, "{statuses:?}");
        assert!(
            statuses
                .iter()
                .any(|(status, after, body)| (*status, after.as_deref(), *body)
                    == (429, Some("1"), 0)),
            "{statuses:?}"
        );
        served.end().await;
    });
}

#[test]
fn more_connections_than_there_are_places_are_refused_and_places_come_back() {
    runtime().block_on(async {
        let mut narrow = options("slowstart");
        narrow.limits.per_address = 3;
        let served = Served::start(narrow);
        let mut inside = Vec::new();
        for _ in 0..3 {
            inside.push(quinn(served.address).await);
        }
        let wanted = Fetch { idle: Duration::from_secs(2), ..served.wanting("/bytes/1kB") };
        assert!(fetch(&wanted, |_, _| Ok(())).await.is_err(), "a fourth has no place");
        for (endpoint, connection) in inside {
            connection.close(0_u32.into(), b"");
            endpoint.wait_idle().await;
        }
        let mut again = fetch(&wanted, |_, _| Ok(())).await;
        for _ in 0..50 {
            if again.is_ok() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            again = fetch(&wanted, |_, _| Ok(())).await;
        }
        assert_eq!(again.expect("places come back").bytes, 1000);
        served.end().await;
    });
}

#[test]
fn a_half_full_house_lets_in_only_who_proves_its_address() {
    runtime().block_on(async {
        let mut small = options("slowstart");
        small.limits.connections = 4;
        let served = Served::start(small);
        let _inside = [quinn(served.address).await, quinn(served.address).await];
        // Sent back with a token, and let in with it.
        assert_eq!(
            fetch(&served.wanting("/bytes/10kB"), |_, _| Ok(())).await.unwrap().bytes,
            10_000
        );
        let _third = quinn(served.address).await;
        let (done, enough) = served.stop();
        drop(enough);
        done.await.unwrap();
    });
}
