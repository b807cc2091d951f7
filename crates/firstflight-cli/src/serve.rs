//! `firstflight serve`.

use crate::done::Done;
use crate::drawing::Drawing;
use clap::Args;
use firstflight_lab::Error;
use firstflight_lab::size;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Address to listen on, with its own arm after `=`; port 0 picks a free port, and a name stands for all its addresses. Repeatable
    #[arg(long, value_name = "ADDRESS:PORT[=ARM]", default_value = "localhost:4433")]
    listen: Vec<String>,
    /// Arm to send with
    #[arg(long, default_value = "hystart++")]
    arm: String,
    /// Let a client choose another arm with the header field `firstflight-arm` of its first
    /// request
    #[arg(long)]
    allow_arm: bool,
    /// Choose each connection's arm at random, for example slowstart,rapid=20% (baseline first); rows go to `--rows`
    #[arg(long, value_name = "SHARES", requires = "rows", conflicts_with_all = ["arm", "allow_arm"])]
    trial: Option<String>,
    /// Append a row for each connection of the trial to this file, for `trial analyse`
    #[arg(long, value_name = "FILE", requires = "trial")]
    rows: Option<PathBuf>,
    #[command(flatten)]
    drawing: Drawing,
    /// Start a client's next connection with what its last one learned about the path (Careful Resume, RFC 9959), if that is at most this many seconds old; needs an arm that starts with `careful` or `plumb`
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "3600", value_parser = |text: &str| size::count(text, 1..=604_800, "seconds"), conflicts_with = "trial")]
    resume: Option<u64>,
    /// Number of clients that `--resume` remembers; the oldest is forgotten first
    #[arg(long, value_name = "CLIENTS", default_value_t = 10_000, requires = "resume", value_parser = |text: &str| size::count(text, 1..=10_000_000, "clients").map(|n| n as usize), allow_negative_numbers = true)]
    resume_clients: usize,
    /// Record in the trial's rows how each of these would have exited startup on the same events (open loop): hystart++,search
    #[arg(long, value_name = "ARMS", requires = "trial")]
    shadow: Option<String>,
    /// Initial window in packets, for arms that do not name one
    #[arg(long, default_value_t = 10, value_parser = |text: &str| size::count(text, 1..=1000, "packets").map(|n| n as u32), allow_negative_numbers = true)]
    iw: u32,
    /// Also serve the files of this folder
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
    /// Also serve files and folders whose names begin with a dot
    #[arg(long, requires = "dir")]
    dotfiles: bool,
    /// Certificate chain, PEM [default: a new self-signed certificate]
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Private key of the certificate, PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Names in the self-signed certificate
    #[arg(long, value_name = "NAME", default_values = ["localhost", "127.0.0.1", "::1"], conflicts_with = "cert")]
    name: Vec<String>,
    /// Expose Prometheus metrics at http://ADDRESS:PORT/metrics
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<String>,
    /// Maximum number of connections per listener; above half of this limit, clients must validate their address (Retry)
    #[arg(long, default_value_t = 200, value_parser = |text: &str| size::count(text, 1..=1_000_000, "connections").map(|n| n as usize), allow_negative_numbers = true)]
    connections: usize,
    /// Maximum number of connections from one address
    #[arg(long, default_value_t = 200, value_parser = |text: &str| size::count(text, 1..=1_000_000, "connections").map(|n| n as usize), allow_negative_numbers = true)]
    per_address: usize,
    /// New connections per second from one address
    #[arg(long, default_value_t = 500, value_parser = |text: &str| size::count(text, 1..=1_000_000, "per second").map(|n| n as u32), allow_negative_numbers = true)]
    connection_rate: u32,
    /// Requests per second from one address
    #[arg(long, default_value_t = 2000, value_parser = |text: &str| size::count(text, 1..=1_000_000, "per second").map(|n| n as u32), allow_negative_numbers = true)]
    request_rate: u32,
    /// Maximum number of concurrent requests on one connection
    #[arg(long, default_value_t = 32, value_parser = |text: &str| size::count(text, 1..=1000, "requests").map(|n| n as u32), allow_negative_numbers = true)]
    requests: u32,
    /// Largest SIZE accepted in /bytes/SIZE
    #[arg(long, value_name = "SIZE", default_value = "1024GiB", value_parser = size::parse, allow_hyphen_values = true)]
    largest: u64,
    /// Memory for the unacknowledged data of all connections of a listener
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = size::parse, allow_hyphen_values = true)]
    memory: u64,
    /// Abort responses that stay below 1 kB/s for this long, and close connections that send no request for this long
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = |text: &str| size::count(text, 1..=3600, "seconds"), allow_negative_numbers = true)]
    patience: u64,
    /// Graceful shutdown period in seconds; a second signal closes all connections at once
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = |text: &str| size::count(text, 0..=3600, "seconds"), allow_negative_numbers = true)]
    grace: u64,
}

#[cfg(not(feature = "quic"))]
pub(crate) fn run(_options: &Options) -> Result<Done, Error> {
    Err(Error::new(
        "`serve` is not part of this build: `cargo run --release --features quic -- serve` has it",
    ))
}

#[cfg(feature = "quic")]
pub(crate) use with_quic::run;

#[cfg(feature = "quic")]
mod with_quic {
    use super::{Done, Error, Options};
    use crate::address::resolve;
    use crate::done::{failed, tell_of_cut};
    use crate::secret::warn_if_shared;
    use crate::stop::graceful_with;
    use crate::terminal::{CAUTION, QUIET, whisper};
    use firstflight::resume::{is_resumable, unsaved};
    use firstflight_http::{Certificate, Ended, Exporter, Limits, Meter, Server, ServerOptions};
    use firstflight_lab::table::figure;
    use firstflight_quic::Plan;
    use firstflight_quic::resume::{Memory, Settings};
    use firstflight_quic::trial::{RowWriter, Trial, TrialOptions};
    use firstflight_table::rows::News;
    use std::num::NonZeroU32;
    use std::path::PathBuf;
    use std::time::Duration;
    use tokio::sync::watch;
    use tokio::task::JoinSet;

    pub(crate) fn run(options: &Options) -> Result<Done, Error> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        runtime.map_err(|error| Error::new(format!("threads: {error}")))?.block_on(serve(options))
    }

    async fn serve(options: &Options) -> Result<Done, Error> {
        let meter = Meter::default();
        let trial = trial(options)?;
        // Every listener is opened before any request is served.
        let servers = options
            .listen
            .iter()
            .map(|listen| listener(options, listen, &meter, trial.as_ref()))
            .collect::<Result<Vec<_>, Error>>()?;
        let mut told = signals();
        let exporter = match &options.metrics {
            Some(text) => Some(Exporter::bind(&meter, &resolve("--metrics", text)?)?),
            None => None,
        };
        if let (Some(trial), Some(file)) = (&trial, &options.rows) {
            let cut = trial.begin().map_err(|error| failed(file, &error))?;
            tell_of_cut(file, cut);
            tokio::spawn(look_after_rows(trial.clone(), file.clone(), meter.clone()));
        }
        let mut running = JoinSet::new();
        for (server, arm) in servers {
            for address in server.addresses() {
                whisper(&format!("serving https://{address}/bytes/SIZE with {arm}"));
            }
            whisper(&format!("{QUIET}public key {}{QUIET:#}", server.pin()));
            let (mut stop, mut again, grace) =
                (told.clone(), told.clone(), Duration::from_secs(options.grace));
            let enough = async move {
                tokio::select! {
                    () = tokio::time::sleep(grace) => {}
                    () = times(&mut again, 2) => {}
                }
            };
            running.spawn(server.run(async move { times(&mut stop, 1).await }, enough));
        }
        if let Some(exporter) = exporter {
            for address in exporter.addresses() {
                whisper(&format!("metrics at http://{address}/metrics"));
            }
            tokio::spawn(exporter.run());
        }
        let worst = limits(options).worst_case() * options.listen.len() as u64;
        whisper(&format!(
            "{QUIET}memory limit {} at {} connections; press Ctrl-C to stop{QUIET:#}",
            figure(worst as f64, "bytes"),
            options.connections * options.listen.len()
        ));
        times(&mut told, 1).await;
        let mut cut = 0;
        while let Some(ended) = running.join_next().await {
            match ended {
                Ok(Ended::Drained) => {}
                Ok(Ended::CutOff(connections)) => cut += connections,
                Err(error) => return Err(Error::new(format!("a listener failed: {error}"))),
            }
        }
        let lost = trial.as_ref().is_some_and(|trial| tell(trial) > 0);
        if cut > 0 {
            whisper(&format!("{cut} connections were cut off"));
        }
        Ok(if cut == 0 && !lost { Done::Well } else { Done::Short })
    }

    /// Retries rows that wait to be written, updates their metrics, and reports changes at once.
    async fn look_after_rows(trial: Trial, file: PathBuf, meter: Meter) {
        let mut news = News::default();
        loop {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let health = trial.health();
            meter.rows(health.waiting, health.lost);
            if let Some(line) = news.of(&health) {
                whisper(&format!("{CAUTION}note:{CAUTION:#} {}: {line}", file.display()));
            }
        }
    }

    /// Waits for this many signals.
    async fn times(told: &mut watch::Receiver<u32>, times: u32) {
        let _ = told.wait_for(|count| *count >= times).await;
    }

    /// Counts signals. The first lets responses in progress finish, the second cuts them off, and a
    /// third ends the program without rows for open connections.
    fn signals() -> watch::Receiver<u32> {
        let (count, told) = watch::channel(0);
        let words = "shutting down, waiting for responses in progress";
        graceful_with(
            words,
            2,
            Some(Box::new(move |signals| count.send_modify(|count| *count = signals))),
        );
        told
    }

    fn limits(options: &Options) -> Limits {
        let rate = |rate| NonZeroU32::new(rate).unwrap_or(NonZeroU32::MIN);
        Limits {
            connections: options.connections,
            per_address: options.per_address,
            new_per_second: rate(options.connection_rate),
            requests_per_second: rate(options.request_rate),
            requests: options.requests,
            largest: options.largest,
            memory: options.memory,
            patience: Duration::from_secs(options.patience),
        }
    }

    /// The requested trial.
    fn trial(options: &Options) -> Result<Option<Trial>, Error> {
        let (Some(shares), Some(file)) = (&options.trial, &options.rows) else {
            let alone = options.drawing.first_given();
            return alone
                .map_or(Ok(None), |name| Err(Error::new(format!("{name}: needs --trial"))));
        };
        if let Some(listen) = options.listen.iter().find(|listen| listen.contains('=')) {
            return Err(Error::new(format!("--listen {listen}: the trial draws the arm")));
        }
        let rows = RowWriter::later(file).map_err(|error| failed(file, &error))?;
        let told = TrialOptions {
            design: options.drawing.design()?,
            max_share: options.drawing.max_share().to_owned(),
            initial_window: Some(options.iw),
            shadow: options.shadow.clone().unwrap_or_default(),
        };
        let trial = Trial::new(rows, shares, &told);
        trial.map(Some).map_err(|why| Error::new(format!("--trial {shares}: {}", why.0)))
    }

    /// Reports the trial's end. Returns the number of lost rows.
    fn tell(trial: &Trial) -> u64 {
        let drawn: Vec<String> =
            trial.drawn().iter().map(|(arm, count)| format!("{arm} {count}")).collect();
        whisper(&format!("connections drawn: {}", drawn.join(", ")));
        if trial.outside() > 0 {
            whisper(&format!("{} connections did not take part", trial.outside()));
        }
        let health = trial.finish();
        if health.lost > 0 {
            whisper(&format!("{CAUTION}note:{CAUTION:#} {health}"));
        }
        health.lost
    }

    fn listener(
        options: &Options,
        listen: &str,
        meter: &Meter,
        trial: Option<&Trial>,
    ) -> Result<(Server, String), Error> {
        // An address has no `=`; an arm may have several.
        let (address, arm) = listen.split_once('=').unwrap_or((listen, &options.arm));
        // The lab's error suggests a name; the stack then refuses arms that it cannot run.
        firstflight_lab::parse_arms(arm)?;
        let plan = Plan {
            initial_window: Some(options.iw),
            ..Plan::parse(arm).map_err(|why| Error::new(why.0))?
        };
        let resume = options.resume.map(|seconds| memory(options, seconds, &plan)).transpose()?;
        let certificate = match (&options.cert, &options.key) {
            (Some(chain), Some(key)) => {
                Certificate::Files { chain: chain.clone(), key: key.clone() }
            }
            _ => Certificate::ThrowAway(options.name.clone()),
        };
        let server = Server::bind(ServerOptions {
            choice: options.allow_arm,
            folder: options.dir.clone(),
            hidden: options.dotfiles,
            certificate,
            meter: meter.clone(),
            limits: limits(options),
            resume,
            trial: trial.cloned(),
            ..ServerOptions::new(&resolve("--listen", address)?, plan)
        })?;
        if let Some(key) = &options.key {
            warn_if_shared(key, false, "pretend to be this server");
        }
        let arm = options.trial.clone().unwrap_or_else(|| plan.arm.to_string());
        Ok((server, arm))
    }

    /// The saved path parameters of a listener. Each listener has its own, because addresses are
    /// part of a path.
    fn memory(options: &Options, seconds: u64, plan: &Plan) -> Result<Memory, Error> {
        if !is_resumable(plan.arm) || unsaved(plan.arm) != plan.arm {
            return Err(Error::new(format!(
                "--resume: the arm `{}` must start with `careful` or `plumb`, without saved parameters; allowed: --arm careful",
                plan.arm
            )));
        }
        let lifetime = Duration::from_secs(seconds);
        Ok(Memory::new(Settings { lifetime, clients: options.resume_clients }))
    }
}
