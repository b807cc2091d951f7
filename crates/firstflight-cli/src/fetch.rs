//! `firstflight fetch`.

use crate::done::Done;
use clap::Args;
use firstflight::Nanos;
use firstflight_lab::Error;
use firstflight_lab::size;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// URLs to download, such as https://localhost:4433/bytes/10MB; one after the other, each over its own connection
    #[arg(required = true, value_name = "URL")]
    urls: Vec<String>,
    /// Pin the server's public key: base64 of its SHA-256, as `serve` prints it
    #[arg(long, value_name = "BASE64", conflicts_with_all = ["ca", "insecure"])]
    pin: Option<String>,
    /// Trust certificates signed by these CA certificates, PEM, instead of those of the system
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    ca: Option<PathBuf>,
    /// Skip certificate verification
    #[arg(long)]
    insecure: bool,
    /// Connect to this address instead of the URL's host, for example to a relay
    #[arg(long, value_name = "HOST:PORT")]
    connect: Option<String>,
    /// Ask the server to send with this arm
    #[arg(long)]
    arm: Option<String>,
    /// Byte range, such as 0-999, 1000- or -500
    #[arg(long, value_name = "FIRST-LAST", allow_hyphen_values = true)]
    range: Option<String>,
    /// Receive window of the connection and of its stream
    #[arg(long, value_name = "SIZE", default_value = "32MB", value_parser = size::parse, allow_hyphen_values = true)]
    window: u64,
    /// Write the object to a file; `-` streams it to standard output, and the summary goes to standard error; several objects are concatenated
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Idle timeout, seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = |text: &str| size::count(text, 1..=3600, "seconds"), allow_negative_numbers = true)]
    idle: u64,
    /// Time limit of a download: 30s, 500ms, 2min, or a number of seconds
    #[arg(long, value_name = "TIME", default_value = "3600s", value_parser = |text: &str| size::limit(text, 86_400), allow_negative_numbers = true)]
    limit: Nanos,
    /// Write the results as JSON to a file, `-` for standard output instead of lines
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[cfg(not(feature = "quic"))]
pub(crate) fn run(_options: &Options) -> Result<Done, Error> {
    Err(Error::new(
        "`fetch` is not part of this build: `cargo run --release --features quic -- fetch` has it",
    ))
}

#[cfg(feature = "quic")]
pub(crate) use with_quic::run;

#[cfg(feature = "quic")]
mod with_quic {
    use super::{Done, Error, Options};
    use crate::address::resolve;
    use crate::files::{Growing, check_outputs, write_bytes};
    use crate::progress::{Progress, Unit};
    use crate::terminal::{CAUTION, say, whisper};
    use firstflight_http::{Fetch, FetchError, Fetched, Trust, Verified, fetch};
    use firstflight_lab::table::figure;
    use serde_json::{Value, json};
    use std::time::Duration;

    pub(crate) fn run(options: &Options) -> Result<Done, Error> {
        let to_stdout = options.json.as_ref().is_some_and(|file| file.as_os_str() == "-");
        let file = options.output.as_deref().filter(|file| file.as_os_str() != "-");
        let piped = options.output.is_some() && file.is_none();
        if piped && to_stdout {
            return Err(Error::new("--output - and --json -: allowed: one of them"));
        }
        check_outputs(options.json.as_ref(), &[("--output", file)])?;
        let wanted = options
            .urls
            .iter()
            .map(|url| wanted(options, url))
            .collect::<Result<Vec<_>, Error>>()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Error::new(format!("threads: {error}")))?;
        let mut output = file.map(Growing::open).transpose()?;
        let mut out = std::io::stdout();
        let mut rows = Vec::new();
        let mut well = true;
        for wanted in &wanted {
            let into = match &mut output {
                Some(file) => Some(file as &mut dyn std::io::Write),
                None => piped.then_some(&mut out as &mut dyn std::io::Write),
            };
            let result = runtime.block_on(download(wanted, into));
            if let Err(FetchError::Bad(line)) = result {
                return Err(Error::new(line));
            }
            well &= result.as_ref().is_ok_and(|fetched| fetched.status.is_success());
            rows.push(row(wanted, &result));
            match &result {
                Ok(fetched) if to_stdout => warn(wanted, fetched),
                Ok(fetched) => {
                    warn(wanted, fetched);
                    match fetched.status.is_success() {
                        true if piped => whisper(&line(wanted, fetched)),
                        true => say(&line(wanted, fetched))?,
                        false => {}
                    }
                }
                Err(error) => whisper(&format!(
                    "{CAUTION}{}:{CAUTION:#} {error}{}",
                    wanted.url,
                    way_out(error)
                )),
            }
        }
        // An incomplete object is not written.
        if well && let Some(output) = output {
            output.finish()?;
        }
        let document = || {
            let document = json!({ "firstflight": env!("CARGO_PKG_VERSION"), "results": rows });
            format!("{document:#}\n")
        };
        match &options.json {
            Some(_) if to_stdout => say(&document())?,
            Some(file) => write_bytes(file, document())?,
            None => {}
        }
        Ok(if well { Done::Well } else { Done::Short })
    }

    fn wanted(options: &Options, url: &str) -> Result<Fetch, Error> {
        let parsed = url.parse().map_err(|error| {
            Error::new(format!("{url}: {error}; allowed: https://HOST[:PORT]/PATH"))
        })?;
        let trust = match (&options.pin, &options.ca) {
            (Some(pin), _) => Trust::Pin(pin.clone()),
            (None, Some(file)) => Trust::Authority(file.clone()),
            (None, None) if options.insecure => Trust::Anyone,
            (None, None) => Trust::System,
        };
        let fetch = Fetch {
            trust,
            connect_to: options
                .connect
                .as_ref()
                .map_or(Ok(Vec::new()), |text| resolve("--connect", text))?,
            arm: options.arm.clone(),
            range: options.range.as_ref().map(|range| format!("bytes={range}")),
            window: options.window,
            idle: Duration::from_secs(options.idle),
            limit: Duration::from_nanos(options.limit.0),
            ..Fetch::new(parsed)
        };
        fetch.target().map_err(|error| Error::new(error.to_string()))?;
        Ok(fetch)
    }

    async fn download(
        wanted: &Fetch,
        mut output: Option<&mut dyn std::io::Write>,
    ) -> Result<Fetched, FetchError> {
        let progress = Progress::begin(
            "{bar:40} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
            Unit::Bytes,
            None,
        );
        let result = fetch(wanted, |announced, piece| {
            if let Some(announced) = announced {
                progress.expect(announced);
            }
            progress.inc(piece.len() as u64);
            match &mut output {
                Some(output) => {
                    output.write_all(piece).map_err(|error| format!("the output: {error}"))
                }
                None => Ok(()),
            }
        });
        let result = result.await;
        if let Some(output) = output {
            output.flush().map_err(|error| FetchError::Bad(format!("the output: {error}")))?;
        }
        result
    }

    fn ms(duration: Duration) -> f64 {
        duration.as_secs_f64() * 1e3
    }

    fn warn(wanted: &Fetch, fetched: &Fetched) {
        if !fetched.status.is_success() {
            // The status with which a server refuses an arm.
            let refused = fetched.status.as_u16() == 403 && wanted.arm.is_some();
            let why = if refused { "; for --arm the server must run with --allow-arm" } else { "" };
            whisper(&format!("{CAUTION}{}:{CAUTION:#} {}{why}", wanted.url, fetched.status));
        }
    }

    /// Advice on an error.
    fn way_out(error: &FetchError) -> &'static str {
        match error {
            FetchError::Untrusted(_) => {
                "; --pin KEY trusts the server with that key, --insecure skips the verification"
            }
            _ => "",
        }
    }

    fn goodput_mbps(fetched: &Fetched) -> f64 {
        fetched.bytes as f64 * 8e-6 / fetched.last_byte.as_secs_f64().max(1e-9)
    }

    fn line(wanted: &Fetch, fetched: &Fetched) -> String {
        let arm = fetched.arm.as_ref().map_or(String::new(), |arm| format!(", {arm}"));
        format!(
            "{}: {} in {:.1} ms, {:.1} Mbit/s; {}{arm}\n",
            wanted.url,
            figure(fetched.bytes as f64, "bytes"),
            ms(fetched.last_byte),
            goodput_mbps(fetched),
            match fetched.verified {
                Verified::Content => "content verified",
                Verified::Length => "length verified",
                Verified::Nothing => "not verified: no length announced",
            },
        )
    }

    fn row(wanted: &Fetch, result: &Result<Fetched, FetchError>) -> Value {
        let url = wanted.url.to_string();
        match result {
            Ok(fetched) => json!({
                "url": url,
                "status": fetched.status.as_u16(),
                "complete": fetched.status.is_success(),
                "bytes": fetched.bytes,
                "verified": fetched.verified.name(),
                "arm": fetched.arm,
                "handshake_ms": ms(fetched.handshake),
                "ttfb_ms": ms(fetched.first_byte),
                "ttlb_ms": ms(fetched.last_byte),
                "goodput_mbps": goodput_mbps(fetched),
                "window_bytes": fetched.window,
                "error": null,
            }),
            Err(error) => {
                json!({ "url": url, "complete": false, "window_bytes": wanted.window, "error": error.to_string() })
            }
        }
    }
}
