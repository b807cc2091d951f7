//! Requests, good and bad, as a table.

use super::*;

const ALLOWED: Allowed =
    Allowed { largest: 10_000_000_000, files: true, hidden: false, choice: true };

type Fields<'a> = &'a [(&'a str, &'a str)];

fn ask(method: &str, path: &str, fields: Fields<'_>, allowed: Allowed) -> Result<Ask, u16> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    read(&request.body(()).expect("a request"), allowed).map_err(|refusal| refusal.status.as_u16())
}

fn get(path: &str) -> Result<What, u16> {
    ask("GET", path, &[], ALLOWED).map(|ask| ask.what)
}

#[test]
fn paths_name_objects() {
    let rows = [
        ("/", What::Home),
        ("/bytes/10MB", What::Bytes(10_000_000)),
        ("/bytes/64kB?again=1", What::Bytes(64_000)),
        ("/bytes/1GiB", What::Bytes(1 << 30)),
        ("/bytes/1500", What::Bytes(1500)),
        ("/bytes/0", What::Bytes(0)),
        ("/a/b.txt", What::File("a/b.txt".into())),
        ("/a%20b", What::File("a b".into())),
        ("/caf%C3%A9", What::File("café".into())),
        // Decoded exactly once.
        ("/%252e%252e", What::File("%2e%2e".into())),
    ];
    for (path, what) in rows {
        assert_eq!(get(path), Ok(what), "{path}");
    }
}

#[test]
fn bad_paths_have_their_status() {
    let long = format!("/{}", "a".repeat(LONGEST_PATH));
    let rows = [
        ("/../etc/passwd", 400),
        ("/a/../../etc/passwd", 400),
        ("/%2e%2e/etc/passwd", 400),
        ("/..%2fetc%2fpasswd", 400),
        ("/..%5c..%5cboot.ini", 400),
        ("/./a", 400),
        ("//etc/passwd", 400),
        ("/a//b", 400),
        ("/a/", 400),
        ("/a%00b", 400),
        ("/%ff%fe", 400),
        ("/%zz", 400),
        ("/a%2", 400),
        ("/100%", 400),
        ("/.git/config", 404),
        ("/a/.env", 404),
        ("/%2eenv", 404),
        ("/...", 404),
        ("/bytes/", 400),
        ("/bytes/ten", 400),
        ("/bytes/-1", 400),
        ("/bytes/1.5MB", 400),
        ("/bytes/10mb", 400),
        ("/bytes/10MB/..", 400),
        ("/bytes/11GB", 404),
        ("/bytes/99999999999999999999999999GB", 404),
        (&long, 414),
    ];
    for (path, status) in rows {
        assert_eq!(get(path), Err(status), "{path}");
    }
    let without = Allowed { files: false, ..ALLOWED };
    assert_eq!(ask("GET", "/a", &[], without), Err(404), "there is no folder");
    assert_eq!(
        ask("GET", "/../a", &[], without),
        Err(400),
        "and what climbs is refused all the same"
    );
}

#[test]
fn methods_and_fields_have_their_status() {
    let rows: [(&str, Fields<'_>, u16); 17] = [
        ("POST", &[], 405),
        ("PUT", &[], 405),
        ("OPTIONS", &[], 405),
        ("BREW", &[], 405),
        ("GET", &[("content-length", "5")], 413),
        ("GET", &[("content-length", "99999999999999999999999")], 413),
        ("GET", &[("content-length", "-5")], 400),
        ("GET", &[("content-length", "0"), ("content-length", "5")], 400),
        ("GET", &[("connection", "close")], 400),
        ("GET", &[("transfer-encoding", "chunked")], 400),
        ("GET", &[("firstflight-arm", "no-such-arm")], 400),
        ("GET", &[("firstflight-arm", "rapid"), ("firstflight-arm", "best")], 400),
        ("GET", &[("range", "bytes=--5")], 400),
        ("GET", &[("range", "bytes=-5-10")], 400),
        ("GET", &[("range", "bytes=9-5")], 400),
        ("GET", &[("range", "0-5")], 400),
        ("GET", &[("range", "bytes=0-1"), ("range", "bytes=2-3")], 400),
    ];
    for (method, fields, status) in rows {
        assert_eq!(ask(method, "/bytes/10MB", fields, ALLOWED), Err(status), "{method} {fields:?}");
    }
    assert_eq!(
        ask("GET", "/", &[("firstflight-arm", "rapid")], Allowed { choice: false, ..ALLOWED }),
        Err(403)
    );
    assert_eq!(
        ask("GET", "/", &[("firstflight-arm", "rapid")], ALLOWED).expect("allowed").arm,
        Plan::parse("rapid").ok()
    );
    assert!(
        ask("GET", "/", &[("content-length", "0")], ALLOWED).is_ok(),
        "no content is no content"
    );
}

#[test]
fn ranges_are_read_as_rfc_9110_has_them() {
    let rows = [
        ("bytes=0-99", Some(Asked::Between(0, 99))),
        ("Bytes=5-5", Some(Asked::Between(5, 5))),
        ("bytes=100-", Some(Asked::From(100))),
        ("bytes=-500", Some(Asked::Last(500))),
        // Ranges that we do not serve are ignored.
        ("bytes=0-1, 4-5", None),
        ("lines=1-2", None),
    ];
    for (range, asked) in rows {
        let fields = [("range", range)];
        assert_eq!(
            ask("GET", "/bytes/10MB", &fields, ALLOWED).expect(range).range,
            asked,
            "{range}"
        );
        assert_eq!(
            ask("HEAD", "/bytes/10MB", &fields, ALLOWED).expect(range).range,
            None,
            "a range means nothing for HEAD"
        );
    }
    let stale = [("range", "bytes=0-1"), ("if-range", "\"etag\"")];
    assert_eq!(
        ask("GET", "/bytes/10MB", &stale, ALLOWED).expect("a request").range,
        None,
        "nothing here can match If-Range"
    );
}

#[test]
fn parts_lie_inside_the_object() {
    let rows = [
        (None, 1000, Some(0..1000)),
        (None, 0, Some(0..0)),
        (Some(Asked::Between(0, 99)), 1000, Some(0..100)),
        (Some(Asked::Between(900, 2000)), 1000, Some(900..1000)),
        (Some(Asked::Between(0, u64::MAX)), 1000, Some(0..1000)),
        (Some(Asked::Between(999, 999)), 1000, Some(999..1000)),
        (Some(Asked::Between(1000, 1000)), 1000, None),
        (Some(Asked::From(999)), 1000, Some(999..1000)),
        (Some(Asked::From(1000)), 1000, None),
        (Some(Asked::From(u64::MAX)), 1000, None),
        (Some(Asked::Last(1)), 1000, Some(999..1000)),
        (Some(Asked::Last(5000)), 1000, Some(0..1000)),
        (Some(Asked::Last(0)), 1000, None),
        (Some(Asked::Last(5)), 0, None),
    ];
    for (asked, total, range) in rows {
        let found = part(asked, total);
        if let Some(range) = range {
            assert_eq!(found, Ok(Part { range, total }), "{asked:?} of {total}");
            continue;
        }
        let refusal = found.expect_err("nothing is inside");
        assert_eq!(refusal.status, StatusCode::RANGE_NOT_SATISFIABLE, "{asked:?} of {total}");
        let (name, value) = refusal.field.expect("the length there is");
        assert_eq!(
            (name, value),
            (header::CONTENT_RANGE, format!("bytes */{total}").parse().expect("a value"))
        );
    }
}
