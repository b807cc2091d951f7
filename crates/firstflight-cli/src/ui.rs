//! `firstflight ui`: the playground, a page with the simulator inside, on the loopback address.

use crate::done::{Done, failed};
use crate::engine;
use crate::files::{check_folder_of_ours, make_folder, write_bytes};
use crate::terminal::{TITLE, say, whisper};
use clap::Args;
use firstflight_lab::Error;
use firstflight_web::page::{ENGINE, POLICY, files};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, thread};

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Port on the loopback address; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Print the address only; otherwise the page is opened in the browser
    #[arg(long)]
    no_open: bool,
    /// Write the page into this folder, for any web server, and serve nothing; `NAME/` makes it
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
    /// The simulator for browsers that `make web` builds, if another than the program's own
    #[arg(long, value_name = "FILE")]
    engine: Option<PathBuf>,
}

/// A file as it is handed out.
struct Handed {
    name: &'static str,
    kind: &'static str,
    bytes: Cow<'static, [u8]>,
}

pub(crate) fn run(options: &Options) -> Result<Done, Error> {
    let mut all = vec![Handed { name: ENGINE.0, kind: ENGINE.1, bytes: engine(options)? }];
    all.extend(files().into_iter().map(|file| Handed {
        name: file.name,
        kind: file.kind,
        bytes: file.text.into_bytes().into(),
    }));
    if let Some(folder) = &options.write {
        return write(&all, folder);
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))
        .map_err(|error| Error::new(format!("--port {}: {error}", options.port)))?;
    let port = listener.local_addr().map_err(|error| Error::new(error.to_string()))?.port();
    let address = format!("http://127.0.0.1:{port}/");
    say(&format!("{TITLE}playground{TITLE:#} {address} (Ctrl-C ends it)\n"))?;
    if !options.no_open && !open(&address) {
        whisper("no browser can be started from here: open the address in one");
    }
    serve(&listener, &Arc::new(all))
}

fn write(all: &[Handed], folder: &Path) -> Result<Done, Error> {
    check_folder_of_ours(folder)?;
    make_folder(folder)?;
    for file in all {
        // Any web server hands out what it finds.
        let bytes = engine::unpacked(&file.bytes).map_err(|error| failed(folder, &error))?;
        write_bytes(&folder.join(file.name), &bytes)?;
    }
    say(&format!("{}: {} files\n", folder.display(), all.len()))?;
    Ok(Done::Well)
}

/// The engine: the one asked for, the one built in, or the one that `make web` left beside.
fn engine(options: &Options) -> Result<Cow<'static, [u8]>, Error> {
    let Some(file) = &options.engine else {
        return engine::packed().ok_or_else(|| {
            Error::new(
                "this program was built without the simulator for browsers: `make web` in a \
                 checkout of firstflight builds it, and `firstflight ui` of that checkout finds it \
                 there",
            )
        });
    };
    let bytes = fs::read(file).map_err(|error| failed(file, &error))?;
    if bytes.starts_with(engine::MAGIC) || bytes.starts_with(engine::GZIP) {
        return Ok(bytes.into());
    }
    Err(Error::new(format!("--engine {}: is no module of WebAssembly", file.display())))
}

/// Shows the page to the user; false if there is nothing to show it in.
fn open(address: &str) -> bool {
    let (program, before): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("cmd", &["/C", "start", ""])
    } else {
        ("xdg-open", &[])
    };
    let mut command = Command::new(program);
    command.args(before).arg(address);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    // Some of these wait for the browser to end: each is waited for.
    thread::spawn(move || child.wait());
    true
}

/// Answers until the program is ended. A thread for each connection, and each is quickly through.
fn serve(listener: &TcpListener, all: &Arc<Vec<Handed>>) -> Result<Done, Error> {
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
            Err(error) => return Err(Error::new(format!("the server ends: {error}"))),
        };
        let all = Arc::clone(all);
        // A client that goes away in the middle harms only itself.
        thread::spawn(move || answer(stream, &all));
    }
}

/// The longest request that is read.
const LONGEST: u64 = 8192;
const PATIENCE: Duration = Duration::from_secs(5);

fn answer(mut stream: TcpStream, all: &[Handed]) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut part = [0; 1024];
    // To the end of the headers, so that closing does not take the answer back.
    while !request.ends_with(b"\r\n\r\n") && (request.len() as u64) < LONGEST {
        let read = stream.read(&mut part)?;
        if read == 0 {
            break;
        }
        request.extend_from_slice(&part[..read]);
    }
    let request = String::from_utf8_lossy(&request);
    let mut words = request.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let name = target.split(['?', '#']).next().unwrap_or_default().trim_start_matches('/');
    let name = if name.is_empty() { "index.html" } else { name };
    let head_only = method == "HEAD";
    if !head_only && method != "GET" {
        return respond(&mut stream, "405 Method Not Allowed", "text/plain", b"GET only\n", false);
    }
    match all.iter().find(|file| file.name == name) {
        Some(file) => respond(&mut stream, "200 OK", file.kind, &file.bytes, head_only),
        None => respond(&mut stream, "404 Not Found", "text/plain", b"no such file\n", head_only),
    }
}

fn respond(
    stream: &mut TcpStream,
    status: &str,
    kind: &str,
    body: &[u8],
    head_only: bool,
) -> std::io::Result<()> {
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
    stream.write_all(head.as_bytes())?;
    if !head_only {
        stream.write_all(body)?;
    }
    stream.flush()
}
