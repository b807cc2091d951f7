//! Examples below the options in `--help`. `tests/documented.rs` runs every one.

pub(crate) const ADVISE: &str = "\
Examples:
  firstflight advise samples/satellite.pcap.gz        # which startup to deploy on these paths
  firstflight advise samples/lossy-mobile/*.sqlog.gz --report page.html";

pub(crate) const COMPARE: &str = "\
Examples:
  firstflight compare
  firstflight compare --path geo --bytes 30MB --report geo.html
  firstflight compare --path rate=20Mbps,rtt=80ms,queue=1bdp,loss=0.1% --arms slowstart,rapid
  firstflight compare --repeat 30 --format csv > trials.csv
  firstflight compare --bytes 1MB --sweep rtt=10ms..300ms --sweep queue=0.25..4bdp
  firstflight compare --flows 4 --apart 1s --cross slowstart";

pub(crate) const AB: &str = "\
Examples:
  firstflight ab --population cdn --flows 100000 --arms jumpstart,rapid --report ab.html
  firstflight ab --population geo --baseline hystart --arms slowstart,hystart++,rapid
  firstflight ab --population cdn --shard 1/4 --save one.ffab";

pub(crate) const TUNE: &str = "\
Examples:
  firstflight tune 'hystart++(divisor=*)@(iw=10..60)' --population cdn --report tune.html
  firstflight tune 'jumpstart@(iw=10..40)' --population geo --objective p95 --max-loss-cost 0.5
  firstflight tune 'slowstart@(iw=10..60)' --objective time+loss:2 --flows 300 --holdout 1000";

pub(crate) const DIFF: &str = "\
Examples:
  firstflight compare --json iw10.json
  firstflight compare --iw 30 --json iw30.json
  firstflight diff iw10.json iw30.json --report diff.html
  firstflight diff iw10.json iw30.json --fail-if worse  # exits with code 1 if anything got worse";

pub(crate) const REPORT: &str = "\
Examples:
  firstflight ab --population cdn --arms rapid,plumb --json ab.json
  firstflight report ab.json                            # writes ab.html";

pub(crate) const CHECK: &str = "\
Examples:
  firstflight compare --bytes 1MB --json baseline.json
  firstflight compare --bytes 1MB --json now.json
  firstflight check now.json --against baseline.json --tolerance ttlb_ms:2%,loss_ratio:0.001";

#[cfg(all(target_os = "linux", feature = "replay"))]
pub(crate) const WATCH: &str = "\
Examples:
  sudo firstflight watch --port 443 --sample 1/10 --for 10min --report watch.html
  sudo firstflight watch --cgroup FOLDER --out rows.jsonl --population mine.toml";

#[cfg(feature = "field")]
pub(crate) const TRIAL: &str = "\
Examples:
  firstflight trial analyse samples/connections.csv.gz --size bytes --time ttlb_ms --cluster client";

#[cfg(all(target_os = "linux", feature = "field"))]
pub(crate) const TRIAL_START: &str = "\
Examples:
  sudo firstflight trial start --cgroup FOLDER --arms kernel:cubic,hystart++=20% --rows rows.jsonl";

#[cfg(feature = "field")]
pub(crate) const TRIAL_ANALYSE: &str = "\
Examples:
  firstflight trial analyse samples/connections.csv.gz --size bytes --time ttlb_ms --cluster client
  firstflight trial analyse samples/connections.csv.gz --size bytes --cluster client --report trial.html
  firstflight trial analyse samples/connections.csv.gz --size bytes --cluster client --rehearse 200";

pub(crate) const RUN: &str = "\
Examples:
  firstflight run experiments/best-satellite.toml --dry-run    # print the equivalent commands
  firstflight run experiments/best-satellite.toml --format md";

pub(crate) const CONFORM: &str = "\
Examples:
  firstflight conform 'slowstart/cubic(beta=0.6)/immediate' --against slowstart/cubic/immediate
  firstflight conform slowstart/reno/immediate --strict    # an arm agrees with itself on every ACK";

pub(crate) const DRILL: &str = "\
Examples:
  firstflight drill tests/drill
  firstflight drill tests/drill --junit drill.xml
  firstflight drill tests/drill/slow-start.pkt --arms slowstart/reno,hystart++/reno
  firstflight drill tests/drill/slow-start.pkt --arms plumb --record > plumb.pkt";

pub(crate) const VECTORS: &str = "\
Examples:
  firstflight vectors --json vectors.json
  firstflight vectors --arms 'slowstart/reno(base=cwnd)/immediate' --json reno.json";

pub(crate) const REPLAY: &str = "\
Examples:
  firstflight replay samples/*.pcap.gz
  firstflight replay server.sqlog --arms hystart,search --report replay.html
  firstflight replay trace.csv --format csv > exits.csv";

pub(crate) const REPRODUCE: &str = "\
Examples:
  firstflight reproduce --list
  firstflight reproduce --all --quick --report published.html
  firstflight reproduce rapid-start --csv rows.csv";

pub(crate) const EVALUATE: &str = "\
Examples:
  firstflight evaluate rapid --dry-run                # how long it would take
  firstflight evaluate rapid --quick --criteria 7.11 --annex annex.md
  firstflight evaluate rapid --cell 7.8/outage:2s     # one cell, number by number";

pub(crate) const ARMS: &str = "\
Examples:
  firstflight arms
  firstflight arms rapid                             # one with its options
  firstflight arms --format csv > arms.csv";

pub(crate) const PATHS: &str = "\
Examples:
  firstflight paths
  firstflight paths geo                              # one with its keys and source
  firstflight paths --format md";

pub(crate) const POPULATIONS: &str = "\
Examples:
  firstflight populations
  firstflight populations geo                        # where its numbers come from
  firstflight populations describe geo               # its quantiles
  firstflight populations show cdn > mine.toml       # to copy and change
  firstflight populations from-traces samples/*.pcap.gz > measured.toml";

pub(crate) const SERVE: &str = "\
Examples:
  firstflight serve --arm rapid
  firstflight serve --trial slowstart,rapid=20% --rows rows.jsonl --listen 127.0.0.1:4434";

pub(crate) const UI: &str = "\
Examples:
  firstflight ui
  firstflight ui --write page/                       # for any web server";

pub(crate) const FETCH: &str = "\
Examples:
  firstflight fetch https://localhost:4433/bytes/10MB --insecure";

#[cfg(target_os = "linux")]
pub(crate) const LINK: &str = "\
Examples:
  sudo firstflight link --path geo -- COMMAND
  firstflight link --udp 127.0.0.1:5000 --to 127.0.0.1:4433 --path geo";

#[cfg(target_os = "linux")]
pub(crate) const KERNEL: &str = "\
Examples:
  firstflight kernel list
  sudo firstflight kernel load rapid --default
  sudo firstflight kernel trace hystart++ --out exits.csv";

pub(crate) const COMPLETIONS: &str = "\
Examples:
  firstflight completions bash > firstflight.bash
  firstflight completions zsh > _firstflight
  firstflight completions fish > firstflight.fish";
