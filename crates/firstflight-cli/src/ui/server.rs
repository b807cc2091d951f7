//! The web server of the playground: a few files, for programs on this machine.
//!
//! Silent clients cannot keep others out: every request has a time limit, and a new client replaces
//! the one whose request has been incomplete for longest.

use crate::engine;
use firstflight_lab::Error;
use firstflight_web::page::POLICY;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A file that is served.
pub(super) struct Handed {
    pub(super) name: &'static str,
    pub(super) kind: &'static str,
    pub(super) bytes: Cow<'static, [u8]>,
}

/// Maximum number of connections; above it, the one whose request has been incomplete for longest
/// is closed.
const MOST: usize = 200;
/// Maximum size of a request, bytes; it may include the cookies of everything on this host.
const LONGEST: usize = 64 << 10;
/// Time limits for a whole request, for a whole response, and for a client to close.
const ASKING: Duration = Duration::from_secs(5);
const ANSWERING: Duration = Duration::from_secs(30);
const LEAVING: Duration = Duration::from_secs(1);
/// Pause after a failed accept, and number of failures in a row that end the server.
const PAUSE: Duration = Duration::from_millis(20);
const FAILURES: u32 = 3_000;

/// All connected clients.
#[derive(Default)]
struct Clients {
    open: AtomicUsize,
    /// Clients whose request is incomplete, in order of arrival.
    asking: Mutex<VecDeque<Arc<TcpStream>>>,
}

impl Clients {
    fn asking(&self) -> MutexGuard<'_, VecDeque<Arc<TcpStream>>> {
        self.asking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the connection whose request has been incomplete for longest; false if there is none.
    fn close_oldest(&self) -> bool {
        let oldest = self.asking().pop_front();
        // Its thread then reads the end of the stream.
        oldest.is_some_and(|stream| stream.shutdown(Shutdown::Both).is_ok())
    }

    fn has_asked(&self, stream: &Arc<TcpStream>) {
        self.asking().retain(|other| !Arc::ptr_eq(other, stream));
    }
}

/// Serves until the program ends, with one thread per connection.
pub(super) fn serve(listener: &TcpListener, all: &Arc<Vec<Handed>>) -> Result<(), Error> {
    let clients = Arc::new(Clients::default());
    let mut failures = 0;
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
            Err(error) => {
                // Without file descriptors or memory, no client can be accepted until another
                // leaves.
                failures += 1;
                if failures > FAILURES {
                    return Err(Error::new(format!("the server ends: {error}")));
                }
                clients.close_oldest();
                thread::sleep(PAUSE);
                continue;
            }
        };
        failures = 0;
        // If all clients are being served, the new one is refused.
        if clients.open.load(Ordering::Relaxed) >= MOST && !clients.close_oldest() {
            continue;
        }
        let stream = Arc::new(stream);
        clients.open.fetch_add(1, Ordering::Relaxed);
        clients.asking().push_back(Arc::clone(&stream));
        let (all, with) = (Arc::clone(all), Arc::clone(&clients));
        let mine = Arc::clone(&stream);
        let started = thread::Builder::new().spawn(move || {
            // A client that disconnects early harms only itself.
            let _ = talk(&mine, &all, &with);
            with.has_asked(&mine);
            with.open.fetch_sub(1, Ordering::Relaxed);
        });
        if started.is_err() {
            clients.has_asked(&stream);
            clients.open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Time until a deadline; an error once it has passed.
fn left(deadline: Instant) -> io::Result<Option<Duration>> {
    match deadline.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(ErrorKind::TimedOut.into()),
        left => Ok(Some(left)),
    }
}

/// The start of a request, or the error status to respond with.
enum Asked {
    Whole(Vec<u8>),
    Refused(&'static str),
}

fn talk(stream: &Arc<TcpStream>, all: &[Handed], clients: &Clients) -> io::Result<()> {
    let asked = ask(stream)?;
    clients.has_asked(stream);
    let mut to = Answering { stream, deadline: Instant::now() + ANSWERING };
    match asked {
        Asked::Whole(request) => answer(&mut to, &request, all)?,
        Asked::Refused(status) => respond(&mut to, status, "text/plain", b"", false)?,
    }
    leave(stream)
}

/// Reads up to the end of the headers.
fn ask(mut stream: &TcpStream) -> io::Result<Asked> {
    let deadline = Instant::now() + ASKING;
    let (mut request, mut part) = (Vec::new(), [0; 4096]);
    loop {
        let read = left(deadline).and_then(|left| {
            stream.set_read_timeout(left)?;
            stream.read(&mut part)
        });
        match read {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => request.extend_from_slice(&part[..read]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Ok(Asked::Refused("408 Request Timeout"));
            }
            Err(error) => return Err(error),
        }
        let has = |end: &[u8]| request.windows(end.len()).any(|part| part == end);
        if request.len() > LONGEST {
            return Ok(Asked::Refused("431 Request Header Fields Too Large"));
        }
        if has(b"\r\n\r\n") || has(b"\n\n") {
            return Ok(Asked::Whole(request));
        }
    }
}

/// Closes so that the response arrives: data that the client still sends is read, because the
/// system would otherwise reset the connection and discard the response.
fn leave(mut stream: &TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    let deadline = Instant::now() + LEAVING;
    let mut part = vec![0; 1 << 16];
    loop {
        stream.set_read_timeout(left(deadline)?)?;
        if stream.read(&mut part)? == 0 {
            return Ok(());
        }
    }
}

/// Writes until a deadline.
struct Answering<'a> {
    stream: &'a TcpStream,
    deadline: Instant,
}

impl Write for Answering<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(left(self.deadline)?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn answer(to: &mut impl Write, request: &[u8], all: &[Handed]) -> io::Result<()> {
    let request = String::from_utf8_lossy(request);
    let mut words = request.split([' ', '\r', '\n']);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let name = target.split(['?', '#']).next().unwrap_or_default().trim_start_matches('/');
    let name = if name.is_empty() { "index.html" } else { name };
    let head_only = method == "HEAD";
    if !head_only && method != "GET" {
        return respond(to, "405 Method Not Allowed", "text/plain", b"GET only\n", false);
    }
    match all.iter().find(|file| file.name == name) {
        Some(file) => respond(to, "200 OK", file.kind, &file.bytes, head_only),
        None => respond(to, "404 Not Found", "text/plain", b"no such file\n", head_only),
    }
}

fn respond(
    to: &mut impl Write,
    status: &str,
    kind: &str,
    body: &[u8],
    head_only: bool,
) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {status}\r\n");
    for (name, value) in [
        ("Content-Type", kind),
        ("Content-Length", &body.len().to_string()),
        ("Content-Security-Policy", POLICY),
        ("X-Content-Type-Options", "nosniff"),
        ("Cache-Control", "no-store"),
        ("Connection", "close"),
    ]
    .into_iter()
    .chain(body.starts_with(engine::GZIP).then_some(("Content-Encoding", "gzip")))
    {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    head.push_str("\r\n");
    to.write_all(head.as_bytes())?;
    if !head_only {
        to.write_all(body)?;
    }
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::{Handed, LONGEST, MOST, serve};
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::sync::Arc;
    use std::time::Duration;

    fn server() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let address = listener.local_addr().expect("bound");
        let page = Handed { name: "index.html", kind: "text/html", bytes: b"<p>"[..].into() };
        std::thread::spawn(move || serve(&listener, &Arc::new(vec![page])));
        address
    }

    fn ask(address: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        // A server that has read enough may have closed the connection.
        let _ = stream.write_all(request);
        let mut all = String::new();
        stream.read_to_string(&mut all).expect("an answer that is not taken back");
        all
    }

    #[test]
    fn requests_of_any_form_get_their_status() {
        let address = server();
        let cookies = |bytes| format!("GET / HTTP/1.1\r\nCookie: {}\r\n\r\n", "a".repeat(bytes));
        for (request, status) in [
            ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 200),
            ("HEAD /index.html?x HTTP/1.1\r\n\r\n", 200),
            ("GET / HTTP/1.0\n\n", 200),
            ("GET\r\n\r\n", 200),
            ("GET /../etc/passwd HTTP/1.1\r\n\r\n", 404),
            ("GET //etc/passwd HTTP/1.1\r\n\r\n", 404),
            ("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 405),
            (&cookies(9_000), 200),
            (&cookies(LONGEST), 431),
            (&cookies(10_000_000), 431),
        ] {
            let answer = ask(address, request.as_bytes());
            let wanted = format!("HTTP/1.1 {status} ");
            assert!(answer.starts_with(&wanted), "{request:.40}: {answer:.80}");
        }
    }

    #[test]
    fn silent_clients_keep_nobody_out() {
        let address = server();
        // Both ends of each connection are in this process, which has 1024 descriptors by default.
        let silent: Vec<TcpStream> = (0..MOST + 50)
            .map(|_| {
                let mut stream = TcpStream::connect(address).expect("it listens");
                let _ = stream.write_all(b"G");
                stream
            })
            .collect();
        for _ in 0..20 {
            let answer = ask(address, b"GET / HTTP/1.1\r\n\r\n");
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        }
        drop(silent);
    }
}
