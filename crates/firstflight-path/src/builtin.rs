//! The named paths.
//!
//! A table of name, text, one-line description with our assumptions, and public source of the
//! numbers. Names are `set/member`; the bare names are single paths of published talks.

use crate::error::{Error, suggestion};

/// A named path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// `name`, or `set/member`.
    pub name: &'static str,
    /// The path as inline text.
    pub text: &'static str,
    /// One-line description, including our assumptions.
    pub about: &'static str,
    /// Source of the numbers.
    pub source: &'static str,
}

/// The default path.
pub const DEFAULT: &str = "rapid-slide";

const RAPID: &str = "Rapid Start slides, IETF 125";
const BEST: &str = "BEST slides, NetDev 0x16";
const GVISOR: &str = "google/gvisor pull request 10287";
const HYSTARTPP: &str = "HyStart++ slides, IETF tcpm interim of 29 April 2020";
const PANTHEON: &str = "StanfordSNR/observatory src/scripts/experiments.yml";
const QUICLY: &str = "h2o/quicly t/simulator-plot.rb";
const NEQO_DSL: &str = "mozilla/neqo test-fixture/src/sim/taildrop.rs";
const NEQO: &str = "mozilla/neqo neqo-transport/benches/min_bandwidth.rs";
const PICO: &str = "private-octopus/picoquic picoquictest/satellite_test.c";
const SMOLTCP: &str = "smoltcp-rs/smoltcp tests/netsim.rs";
const NGTCP2: &str = "ngtcp2/ngtcp2 issue 333";

type Row = (&'static str, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("rapid-slide", "rate=100Mbit,rtt=30ms,queue=30ms", "the path of the Rapid Start plots, the default", RAPID),
    ("geo", "rate=150Mbit,rtt=600ms,queue=1bdp", "geostationary satellite; one BDP is the largest of the three queues shown", BEST),
    ("leo", "rate=100Mbit,rtt=30ms,queue=1bdp", "low-orbit satellite; a queue of one BDP is our assumption", BEST),
    ("5g", "rate=3Gbit,rtt=10ms,queue=1bdp", "5G cell; a queue of one BDP is our assumption", BEST),
    ("4g", "rate=200Mbit,rtt=20ms,queue=1bdp", "4G cell; a queue of one BDP is our assumption", BEST),
    ("gvisor", "rate=85.5Mbit,rtt=140ms,queue=1bdp", "Abu Dhabi to Helsinki; rate from the plateau of the plot, a queue of one BDP is our assumption", GVISOR),
    ("hystart++-100ms", "rate=100Mbit,rtt=100ms,queue=1bdp", "laboratory path with a buffer of one BDP", HYSTARTPP),
    ("hystart++-50ms", "rate=100Mbit,rtt=50ms,queue=1bdp", "laboratory path with a buffer of one BDP", HYSTARTPP),
    ("hystart++-25ms", "rate=100Mbit,rtt=25ms,queue=1bdp", "laboratory path with a buffer of one BDP", HYSTARTPP),

    // The original Poisson files open with 10, 50 and 40 slots 100 ms apart: `lead_in=` and `up_lead_in=` bring them back.
    ("pantheon6/nepal", "rate=poisson:570kbit,rtt=56ms,queue=14pkt,loss=4.77%,up=poisson:570kbit", "Nepal to AWS India, 5.3 BDP; calibrated from measurements; original opens with lead_in=10", PANTHEON),
    ("pantheon6/mexico-cell", "rate=poisson:2.64Mbit,rtt=176ms,queue=130pkt,up=poisson:2.64Mbit", "Mexico cellular to AWS California, 3.4 BDP; calibrated from measurements; original opens with lead_in=50", PANTHEON),
    ("pantheon6/colombia-cell", "rate=poisson:3.04Mbit,rtt=260ms,queue=426pkt,up=poisson:3.04Mbit", "AWS Brazil to Colombia cellular, 6.5 BDP; calibrated from measurements; original opens with lead_in=40", PANTHEON),
    ("pantheon6/india", "rate=100.42Mbit,rtt=54ms,queue=173pkt,up=100.42Mbit", "India to AWS India, 0.38 BDP; calibrated from measurements", PANTHEON),
    ("pantheon6/korea-china", "rate=77.72Mbit,rtt=102ms,queue=94pkt,loss=0.06%,up=77.72Mbit", "AWS Korea to China, 0.14 BDP; calibrated from measurements", PANTHEON),
    ("pantheon6/california-mexico", "rate=114.68Mbit,rtt=90ms,queue=450pkt,up=114.68Mbit", "AWS California to Mexico, 0.52 BDP; calibrated from measurements", PANTHEON),

    // The originals are queues of one packet behind 1 ms slots. Ours are token buckets in front of
    // a link of 1 Gbit/s; bucket size and link rate are our assumptions.
    ("pantheon-lab/policer-12-20", "rate=1Gbit,rtt=20ms,queue=1bdp,policer=12Mbit:10ms,up=1Gbit", "token bucket of 12 Mbit/s, RTT 20 ms; bucket of 10 ms is our assumption", PANTHEON),
    ("pantheon-lab/policer-12-100", "rate=1Gbit,rtt=100ms,queue=1bdp,policer=12Mbit:10ms,up=1Gbit", "token bucket of 12 Mbit/s, RTT 100 ms; bucket of 10 ms is our assumption", PANTHEON),
    ("pantheon-lab/policer-60-20", "rate=1Gbit,rtt=20ms,queue=1bdp,policer=60Mbit:10ms,up=1Gbit", "token bucket of 60 Mbit/s, RTT 20 ms; bucket of 10 ms is our assumption", PANTHEON),
    ("pantheon-lab/policer-60-100", "rate=1Gbit,rtt=100ms,queue=1bdp,policer=60Mbit:10ms,up=1Gbit", "token bucket of 60 Mbit/s, RTT 100 ms; bucket of 10 ms is our assumption", PANTHEON),
    ("pantheon-lab/policer-108-20", "rate=1Gbit,rtt=20ms,queue=1bdp,policer=108Mbit:10ms,up=1Gbit", "token bucket of 108 Mbit/s, RTT 20 ms; bucket of 10 ms is our assumption", PANTHEON),
    ("pantheon-lab/policer-108-100", "rate=1Gbit,rtt=100ms,queue=1bdp,policer=108Mbit:10ms,up=1Gbit", "token bucket of 108 Mbit/s, RTT 100 ms; bucket of 10 ms is our assumption", PANTHEON),
    ("pantheon-lab/ack-1-per-100ms", "rate=12Mbit,rtt=20ms,queue=1bdp,return=batch:100ms:1", "one ACK per 100 ms; a queue of one BDP is our assumption", PANTHEON),
    ("pantheon-lab/ack-10-per-200ms", "rate=12Mbit,rtt=20ms,queue=1bdp,return=batch:200ms:10", "ten ACKs per 200 ms; a queue of one BDP is our assumption", PANTHEON),
    ("pantheon-lab/shallow-10", "rate=12Mbit,rtt=60ms,queue=9kB,up=12Mbit", "buffer of a tenth of the BDP", PANTHEON),
    ("pantheon-lab/shallow-33", "rate=12Mbit,rtt=60ms,queue=30kB,up=12Mbit", "buffer of a third of the BDP", PANTHEON),
    ("pantheon-lab/shallow-50", "rate=12Mbit,rtt=60ms,queue=45kB,up=12Mbit", "buffer of half the BDP", PANTHEON),
    ("pantheon-lab/shallow-100", "rate=12Mbit,rtt=60ms,queue=90kB,up=12Mbit", "buffer of one BDP", PANTHEON),

    // The original simulator has all delay in front of the bottleneck: `delay=before`.
    ("quicly15/dsl", "rate=30Mbit,rtt=30ms,queue=50ms", "DSL line", QUICLY),
    ("quicly15/home-wifi", "rate=100Mbit,rtt=25ms,queue=15ms", "Wi-Fi at home", QUICLY),
    ("quicly15/public", "rate=20Mbit,rtt=40ms,queue=200ms", "public Wi-Fi, queue of five BDP", QUICLY),
    ("quicly15/corporate-wifi", "rate=500Mbit,rtt=10ms,queue=20ms", "Wi-Fi at work", QUICLY),
    ("quicly15/lte", "rate=30Mbit,rtt=60ms,queue=120ms", "LTE cell", QUICLY),
    ("quicly15/5g", "rate=100Mbit,rtt=40ms,queue=80ms", "5G cell", QUICLY),
    ("quicly15/leo", "rate=50Mbit,rtt=40ms,queue=80ms", "low-orbit satellite", QUICLY),
    ("quicly15/geo", "rate=50Mbit,rtt=600ms,queue=600ms", "geostationary satellite", QUICLY),
    ("quicly15/docomo-office", "rate=140Mbit,rtt=28ms,queue=217ms", "mobile network seen from an office; looks measured", QUICLY),
    ("quicly15/au-office", "rate=440Mbit,rtt=20ms,queue=233ms", "mobile network seen from an office; a queue of 12 BDP; looks measured", QUICLY),
    ("quicly15/wifi-office", "rate=710Mbit,rtt=4ms,queue=11ms", "Wi-Fi in an office; looks measured", QUICLY),
    ("quicly15/docomo-mall", "rate=38Mbit,rtt=41ms,queue=300ms", "mobile network in a shopping mall; looks measured", QUICLY),
    ("quicly15/congested", "rate=1Mbit,rtt=200ms,queue=400ms", "congested path", QUICLY),
    ("quicly15/bdp20", "rate=1Mbit,rtt=100ms,queue=100ms", "BDP of 12.5 kB", QUICLY),
    ("quicly15/bdp40", "rate=2Mbit,rtt=100ms,queue=100ms", "BDP of 25 kB", QUICLY),

    ("neqo/dsl", "rate=8Mbit,rtt=100ms,queue=32.768kB,up=1.6Mbit,up_queue=8.192kB,overhead=80B", "DSL line, each packet counts 80 B more", NEQO_DSL),
    ("neqo/gbit", "rate=1Gbit,rtt=40ms,queue=500kB,up=1Gbit,up_queue=500kB", "1 Gbit/s with a queue of 4 ms", NEQO),
    ("neqo/gbit-codel", "rate=1Gbit,rtt=40ms,queue=1MB,codel,ecn,up=1Gbit,up_queue=1MB", "1 Gbit/s with CoDel that marks", NEQO),

    ("pico/sat-250-3", "rate=250Mbit,rtt=600ms,queue=600ms,up=3Mbit,up_queue=600ms", "geostationary satellite, 250 Mbit/s down, 3 up", PICO),
    ("pico/sat-250-3+jitter", "rate=250Mbit,rtt=600ms,queue=600ms,jitter=normal:3ms:1ms,up=3Mbit,up_queue=600ms,up_jitter=normal:3ms:1ms", "the same with 3 ms of jitter each way", PICO),
    ("pico/sat-250-3+loss", "rate=250Mbit,rtt=600ms,queue=600ms,loss_every=64,up=3Mbit,up_queue=600ms", "the same without every 64th data packet; the original hits ACKs, too", PICO),
    ("pico/sat-50-10", "rate=50Mbit,rtt=600ms,queue=600ms,up=10Mbit,up_queue=600ms", "geostationary satellite, 50 Mbit/s down, 10 up", PICO),
    ("pico/sat-50-10+jitter", "rate=50Mbit,rtt=600ms,queue=600ms,jitter=normal:3ms:1ms,up=10Mbit,up_queue=600ms,up_jitter=normal:3ms:1ms", "the same with 3 ms of jitter each way", PICO),
    ("pico/sat-50-10+loss", "rate=50Mbit,rtt=600ms,queue=600ms,loss_every=64,up=10Mbit,up_queue=600ms", "the same without every 64th data packet; the original hits ACKs, too", PICO),
    ("pico/sat-10-2", "rate=10Mbit,rtt=600ms,queue=600ms,up=2Mbit,up_queue=600ms", "geostationary satellite, 10 Mbit/s down, 2 up", PICO),
    ("pico/sat-10-2+jitter", "rate=10Mbit,rtt=600ms,queue=600ms,jitter=normal:3ms:1ms,up=2Mbit,up_queue=600ms,up_jitter=normal:3ms:1ms", "the same with 3 ms of jitter each way", PICO),
    ("pico/sat-10-2+loss", "rate=10Mbit,rtt=600ms,queue=600ms,loss_every=64,up=2Mbit,up_queue=600ms", "the same without every 64th data packet; the original hits ACKs, too", PICO),
    ("pico/sat-2-10", "rate=2Mbit,rtt=600ms,queue=600ms,up=10Mbit,up_queue=600ms", "geostationary satellite, data on the slow side", PICO),
    ("pico/sat-2-10+jitter", "rate=2Mbit,rtt=600ms,queue=600ms,jitter=normal:3ms:1ms,up=10Mbit,up_queue=600ms,up_jitter=normal:3ms:1ms", "the same with 3 ms of jitter each way", PICO),
    ("pico/sat-2-10+loss", "rate=2Mbit,rtt=600ms,queue=600ms,loss_every=64,up=10Mbit,up_queue=600ms", "the same without every 64th data packet; the original hits ACKs, too", PICO),
    ("pico/sat-20-2", "rate=20Mbit,rtt=600ms,queue=600ms,loss_every=64,up=2Mbit,up_queue=600ms", "satellite interoperability case with loss; queue as in its siblings", PICO),

    ("smoltcp/multi", "rate=200Mbit,rtt=100ms,queue=65.536kB,up=200Mbit,up_queue=65.536kB", "shallow queue for many flows; the original draws 50 ms x U(0.5, 1.5) per flow and direction, this is its mean", SMOLTCP),
    ("ngtcp2/sat", "rate=144Mbit,rtt=570ms,queue=10.8MB,jitter=30ms,up_jitter=30ms", "geostationary satellite, 300 ms +-15 ms each way; a queue of one BDP is our assumption", NGTCP2),
];

/// Common names for some of the paths.
const ALIASES: &[(&str, &str)] = &[
    ("dsl", "quicly15/dsl"),
    ("lte", "quicly15/lte"),
    ("satellite", "geo"),
    ("starlink", "leo"),
    ("wifi", "quicly15/home-wifi"),
];

static BUILTINS: [Builtin; ROWS.len()] = {
    let mut table = [Builtin { name: "", text: "", about: "", source: "" }; ROWS.len()];
    let mut index = 0;
    while index < ROWS.len() {
        let (name, text, about, source) = ROWS[index];
        table[index] = Builtin { name, text, about, source };
        index += 1;
    }
    table
};

/// Every named path, the default first.
pub fn builtins() -> &'static [Builtin] {
    &BUILTINS
}

impl Builtin {
    /// The path with this name or alias.
    ///
    /// # Errors
    /// A one-line message with the nearest name.
    pub fn named(name: &str) -> Result<&'static Builtin, Error> {
        let lower = name.to_lowercase();
        let ours = ALIASES.iter().find(|(alias, _)| *alias == lower).map_or(name, |(_, ours)| ours);
        BUILTINS.iter().find(|builtin| builtin.name == ours).ok_or_else(|| {
            if name.starts_with(|c: char| c.is_ascii_digit()) {
                return Error::new(format!(
                    "`{name}` is not a known path; a number needs its key, as in `rate=100Mbit,rtt=30ms`"
                ));
            }
            let nearest = suggestion(name, BUILTINS.iter().map(|builtin| builtin.name));
            Error::new(format!(
                "`{name}` is not a known path{nearest}; allowed: a name listed by `firstflight paths`, key=value items, or a .toml file"
            ))
        })
    }

    /// Kind of network.
    pub fn kind(&self) -> &'static str {
        const SATELLITE: &[&str] = &["geo", "leo", "quicly15/geo", "quicly15/leo", "ngtcp2/sat"];
        const MOBILE: &[&str] = &[
            "4g",
            "5g",
            "quicly15/lte",
            "quicly15/5g",
            "quicly15/docomo-office",
            "quicly15/docomo-mall",
            "quicly15/au-office",
        ];
        const FIXED: &[&str] =
            &["gvisor", "neqo/dsl", "quicly15/dsl", "quicly15/congested", "quicly15/public"];
        match self.name {
            name if SATELLITE.contains(&name) || name.starts_with("pico/") => "satellite",
            name if MOBILE.contains(&name) || name.ends_with("-cell") => "mobile",
            name if FIXED.contains(&name)
                || name.contains("wifi")
                || name.starts_with("pantheon6/") =>
            {
                "fixed or Wi-Fi"
            }
            _ => "laboratory",
        }
    }

    /// Aliases of the path.
    pub fn aliases(&self) -> impl Iterator<Item = &'static str> {
        let name = self.name;
        ALIASES.iter().filter(move |(_, of)| *of == name).map(|(alias, _)| *alias)
    }
}
