//! `firstflight ui`: the playground, a page with a built-in simulator, served on the loopback
//! address.

mod server;

use crate::done::{Done, failed};
use crate::engine;
use crate::files::{check_folder_of_ours, make_folder, write_bytes};
use crate::terminal::{TITLE, say, whisper};
use clap::Args;
use firstflight_lab::{Error, size};
use firstflight_web::page::{ENGINE, files};
use server::{Handed, serve};
use std::borrow::Cow;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::{fs, thread};

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Port on the loopback address; 0 picks a free one
    #[arg(long, default_value_t = 0, value_parser = |text: &str| size::port(text, 0), allow_negative_numbers = true)]
    port: u16,
    /// Print the address without opening the page in the browser
    #[arg(long)]
    no_open: bool,
    /// Write the page into this folder, for any web server, and serve nothing; with a trailing slash, the folder is created
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
    /// Browser simulator built by `make web`, instead of the built-in one
    #[arg(long, value_name = "FILE")]
    engine: Option<PathBuf>,
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
    say(&format!("{TITLE}playground{TITLE:#} {address} (press Ctrl-C to stop)\n"))?;
    if !options.no_open && !open(&address) {
        whisper("no browser could be started: open the address yourself");
    }
    serve(&listener, &Arc::new(all))?;
    Ok(Done::Well)
}

fn write(all: &[Handed], folder: &Path) -> Result<Done, Error> {
    check_folder_of_ours(folder)?;
    make_folder(folder)?;
    for file in all {
        // Files are written unpacked, because any web server may serve them.
        let bytes = engine::unpacked(&file.bytes).map_err(|error| failed(folder, &error))?;
        write_bytes(&folder.join(file.name), &bytes)?;
    }
    say(&format!("{}: {} files\n", folder.display(), all.len()))?;
    Ok(Done::Well)
}

/// The engine: the requested one, the built-in one, or the one that `make web` wrote next to the
/// program.
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
    Err(Error::new(format!("--engine {}: is not a WebAssembly module", file.display())))
}

/// Opens the page in the user's browser; false if that is impossible.
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
    // Some of these commands run as long as the browser, so a thread waits for each.
    thread::spawn(move || child.wait());
    true
}
