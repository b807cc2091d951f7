//! A shared library in a separate process: an exit, a crash or an endless loop in it ends that
//! process and not the comparison.
//!
//! Both sides are this program, connected by a socket that is the standard input of the child. Each
//! request is a row of numbers as [`Table`] passes them to the library. Each answer is three
//! numbers: whether it is a refusal, then window and threshold, or the length of the refusal's
//! text.

use super::foreign::{Foreign, ending};
use super::table::{NONE, ROW, Table, row_of};
use firstflight::{Begin, Event};
use firstflight_path::Error;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// First number of the row that starts a connection; the numbers of events are small.
const BEGIN: u64 = NONE - 1;
/// First number of the row that ends a connection.
const END: u64 = BEGIN - 1;
/// Longest refusal that is read, bytes.
const LONGEST: u64 = 4096;
/// Bytes of a number.
const WORD: usize = size_of::<u64>();

/// The side that sends requests.
#[derive(Debug)]
pub struct Guarded {
    name: String,
    child: Child,
    socket: UnixStream,
    limit: Duration,
    window: (u64, Option<u64>),
    /// Whether the library was loaded.
    open: bool,
    died: bool,
}

impl Guarded {
    /// Starts `command`, which calls [`answer`] for the library called `name`. Each answer may take
    /// up to `limit`.
    ///
    /// # Errors
    /// A one-line message if it does not start.
    pub fn start(name: &str, mut command: Command, limit: Duration) -> Result<Guarded, Error> {
        let failed = |error: std::io::Error| Error::new(format!("{name}: {error}"));
        let (socket, theirs) = UnixStream::pair().map_err(failed)?;
        socket.set_read_timeout(Some(limit)).map_err(failed)?;
        socket.set_write_timeout(Some(limit)).map_err(failed)?;
        // Output of the library is not part of the result.
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::from(std::io::stderr()));
        let child = command.spawn().map_err(failed)?;
        let (name, window) = (name.to_owned(), (0, None));
        Ok(Guarded { name, child, socket, limit, window, open: false, died: false })
    }

    fn ask(&mut self, row: &[u64], during: &str) -> Result<(), Error> {
        let question: Vec<u8> = row.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let written = self.socket.write_all(&question);
        // If the library was refused, the refusal was sent before this request.
        let answered = match self.hear() {
            Ok(Some(refused)) => Ok(Some(refused)),
            heard => written.and(heard),
        };
        let why = match answered {
            Ok(None) => return Ok(()),
            Ok(Some(refused)) => return Err(Error::new(refused)),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                let _ = self.child.kill();
                format!("the library did not return within {} s", self.limit.as_secs_f64())
            }
            Err(_) => ending(&mut self.child, "the library"),
        };
        self.died = true;
        Err(Error::new(format!("{}: {why}, {during}", self.name)))
    }

    /// Reads one answer: the refusal, if it is one.
    fn hear(&mut self) -> std::io::Result<Option<String>> {
        if !std::mem::replace(&mut self.open, true) {
            // The report that the library was loaded comes before the first answer.
            if let Some(refused) = self.hear()? {
                return Ok(Some(refused));
            }
        }
        let [refused, cwnd, ssthresh] = read_row(&mut self.socket)?;
        if refused == 0 {
            self.window = (cwnd, (ssthresh != NONE).then_some(ssthresh));
            return Ok(None);
        }
        let mut text = vec![0; cwnd.min(LONGEST) as usize];
        self.socket.read_exact(&mut text)?;
        Ok(Some(String::from_utf8_lossy(&text).into_owned()))
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Foreign for Guarded {
    fn begin(&mut self, begin: &Begin) -> Result<(), Error> {
        let mut row = [NONE; ROW];
        row[..5].copy_from_slice(&[
            BEGIN,
            begin.now.0,
            begin.config.initial_window,
            begin.config.mss,
            begin.nxt.0,
        ]);
        self.ask(&row, "before the first event")
    }

    fn tell(&mut self, event: &Event) -> Result<(), Error> {
        let during = format!("at {:.1} ms ({})", crate::trial::ms(event.now().0), event.name());
        self.ask(&row_of(event), &during)
    }

    fn end(&mut self) -> Result<(), Error> {
        let mut row = [NONE; ROW];
        row[0] = END;
        self.ask(&row, "after the last event")
    }

    fn window(&self) -> (u64, Option<u64>) {
        self.window
    }

    fn died(&self) -> bool {
        self.died
    }
}

/// The side that answers: opens the library and passes it the requests on standard input, until
/// that ends.
///
/// # Errors
/// A one-line message if standard input is not from [`Guarded`].
pub fn answer(open: impl FnOnce() -> Result<Table, Error>) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error::new(format!("standard input: {error}"));
    super::table::die_with_parent();
    let socket = std::io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
    let mut socket = UnixStream::from(socket);
    let mut table = match open() {
        Ok(table) => {
            write_row(&mut socket, [0, 0, NONE]).map_err(failed)?;
            table
        }
        Err(refused) => return refuse(&mut socket, &refused).map_err(failed),
    };
    loop {
        let row: [u64; ROW] = match read_row(&mut socket) {
            Ok(row) => row,
            // The other side has ended.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        let told = match row {
            [BEGIN, now_ns, initial_window, mss, nxt, ..] => {
                table.begin_with(&super::table::BeginRecord { now_ns, initial_window, mss, nxt })
            }
            [END, ..] => {
                table.end();
                Ok(())
            }
            row => table.tell_row(&row),
        };
        if let Err(refused) = told {
            return refuse(&mut socket, &refused).map_err(failed);
        }
        let (cwnd, ssthresh) = table.window();
        write_row(&mut socket, [0, cwnd, ssthresh.unwrap_or(NONE)]).map_err(failed)?;
    }
}

fn refuse(socket: &mut UnixStream, refused: &Error) -> std::io::Result<()> {
    let text = refused.as_str().as_bytes();
    write_row(socket, [1, text.len() as u64, 0])?;
    socket.write_all(text)
}

fn write_row(socket: &mut UnixStream, row: [u64; 3]) -> std::io::Result<()> {
    let bytes: Vec<u8> = row.iter().flat_map(|word| word.to_ne_bytes()).collect();
    socket.write_all(&bytes)
}

fn read_row<const WORDS: usize>(socket: &mut UnixStream) -> std::io::Result<[u64; WORDS]> {
    let mut bytes = [[0; WORD]; WORDS];
    socket.read_exact(bytes.as_flattened_mut())?;
    Ok(bytes.map(u64::from_ne_bytes))
}
