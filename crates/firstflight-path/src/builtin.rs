//! The paths that have a name.

use crate::error::{PathError, suggestion};

/// A named path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// `name`, or `set/member`.
    pub name: &'static str,
    /// The path as inline text.
    pub text: &'static str,
    /// One line about it, our assumptions included.
    pub about: &'static str,
    /// Where the numbers come from.
    pub source: &'static str,
}

/// The path that is used when none is given.
pub const DEFAULT: &str = "rapid-slide";

const RAPID: &str = "Rapid Start slides, IETF 125";
const BEST: &str = "BEST slides, NetDev 0x16";
const GVISOR: &str = "google/gvisor pull request 10287";
const HYSTARTPP: &str = "HyStart++ slides, IETF tcpm interim of 29 April 2020";
const PANTHEON: &str = "StanfordSNR/observatory src/scripts/experiments.yml";
const QUICLY: &str = "h2o/quicly t/simulator-plot.rb";
const NEQO: &str = "mozilla/neqo neqo-transport/benches/min_bandwidth.rs";
const PICO: &str = "private-octopus/picoquic picoquictest/satellite_test.c";

const fn path(name: &'static str, text: &'static str, about: &'static str, source: &'static str) -> Builtin {
    Builtin { name, text, about, source }
}

static BUILTINS: &[Builtin] = &[
    path("rapid-slide", "rate=100Mbit,rtt=30ms,queue=30ms", "the path of the Rapid Start plots; the default", RAPID),
    path("geo", "rate=150Mbit,rtt=600ms,queue=1bdp", "geostationary satellite; queue of one BDP is one of the three that were shown", BEST),
    path("leo", "rate=100Mbit,rtt=30ms,queue=1bdp", "low-orbit satellite; queue of one BDP is our assumption", BEST),
    path("5g", "rate=3Gbit,rtt=10ms,queue=1bdp", "5G cell; queue of one BDP is our assumption", BEST),
    path("4g", "rate=200Mbit,rtt=20ms,queue=1bdp", "4G cell; queue of one BDP is our assumption", BEST),
    path(
        "gvisor",
        "rate=85.5Mbit,rtt=140ms,queue=1bdp",
        "Abu Dhabi to Helsinki; rate from the plateau of the plot, queue of one BDP is our assumption",
        GVISOR,
    ),
    path("hystart++-100ms", "rate=100Mbit,rtt=100ms,queue=1bdp", "laboratory path with a buffer of one BDP", HYSTARTPP),
    path("hystart++-50ms", "rate=100Mbit,rtt=50ms,queue=1bdp", "laboratory path with a buffer of one BDP", HYSTARTPP),
    path("hystart++-25ms", "rate=100Mbit,rtt=25ms,queue=1bdp", "laboratory path with a buffer of one BDP", HYSTARTPP),
    path("pantheon6/india", "rate=100.42Mbit,rtt=54ms,queue=173pkt,up=100.42Mbit", "calibrated real path to AWS India, 0.38 BDP", PANTHEON),
    path(
        "pantheon6/korea-china",
        "rate=77.72Mbit,rtt=102ms,queue=94pkt,loss=0.06%,up=77.72Mbit",
        "calibrated real path, AWS Korea to China, 0.14 BDP",
        PANTHEON,
    ),
    path(
        "pantheon6/california-mexico",
        "rate=114.68Mbit,rtt=90ms,queue=450pkt,up=114.68Mbit",
        "calibrated real path, AWS California to Mexico, 0.52 BDP",
        PANTHEON,
    ),
    path("pantheon-lab/shallow-10", "rate=12Mbit,rtt=60ms,queue=9kB,up=12Mbit", "buffer of a tenth of the BDP", PANTHEON),
    path("pantheon-lab/shallow-33", "rate=12Mbit,rtt=60ms,queue=30kB,up=12Mbit", "buffer of a third of the BDP", PANTHEON),
    path("pantheon-lab/shallow-50", "rate=12Mbit,rtt=60ms,queue=45kB,up=12Mbit", "buffer of half the BDP", PANTHEON),
    path("pantheon-lab/shallow-100", "rate=12Mbit,rtt=60ms,queue=90kB,up=12Mbit", "buffer of one BDP", PANTHEON),
    path("quicly15/dsl", "rate=30Mbit,rtt=30ms,queue=50ms", "DSL line", QUICLY),
    path("quicly15/home-wifi", "rate=100Mbit,rtt=25ms,queue=15ms", "Wi-Fi at home", QUICLY),
    path("quicly15/public", "rate=20Mbit,rtt=40ms,queue=200ms", "public Wi-Fi, queue of five BDP", QUICLY),
    path("quicly15/corporate-wifi", "rate=500Mbit,rtt=10ms,queue=20ms", "Wi-Fi at work", QUICLY),
    path("quicly15/lte", "rate=30Mbit,rtt=60ms,queue=120ms", "LTE cell", QUICLY),
    path("quicly15/5g", "rate=100Mbit,rtt=40ms,queue=80ms", "5G cell", QUICLY),
    path("quicly15/leo", "rate=50Mbit,rtt=40ms,queue=80ms", "low-orbit satellite", QUICLY),
    path("quicly15/geo", "rate=50Mbit,rtt=600ms,queue=600ms", "geostationary satellite", QUICLY),
    path("quicly15/docomo-office", "rate=140Mbit,rtt=28ms,queue=217ms", "mobile network seen from an office; looks measured", QUICLY),
    path(
        "quicly15/au-office",
        "rate=440Mbit,rtt=20ms,queue=233ms",
        "mobile network seen from an office, queue of 12 BDP; looks measured",
        QUICLY,
    ),
    path("quicly15/wifi-office", "rate=710Mbit,rtt=4ms,queue=11ms", "Wi-Fi in an office; looks measured", QUICLY),
    path("quicly15/docomo-mall", "rate=38Mbit,rtt=41ms,queue=300ms", "mobile network in a shopping mall; looks measured", QUICLY),
    path("quicly15/congested", "rate=1Mbit,rtt=200ms,queue=400ms", "congested path", QUICLY),
    path("quicly15/bdp20", "rate=1Mbit,rtt=100ms,queue=100ms", "BDP of 12.5 kB", QUICLY),
    path("quicly15/bdp40", "rate=2Mbit,rtt=100ms,queue=100ms", "BDP of 25 kB", QUICLY),
    path("neqo/gbit", "rate=1Gbit,rtt=40ms,queue=500kB,up=1Gbit,up_queue=500kB", "1 Gbit/s with a queue of 4 ms", NEQO),
    path(
        "pico/sat-250-3",
        "rate=250Mbit,rtt=600ms,queue=600ms,up=3Mbit,up_queue=600ms",
        "geostationary satellite, 250 Mbit/s down, 3 up",
        PICO,
    ),
    path(
        "pico/sat-50-10",
        "rate=50Mbit,rtt=600ms,queue=600ms,up=10Mbit,up_queue=600ms",
        "geostationary satellite, 50 Mbit/s down, 10 up",
        PICO,
    ),
    path(
        "pico/sat-10-2",
        "rate=10Mbit,rtt=600ms,queue=600ms,up=2Mbit,up_queue=600ms",
        "geostationary satellite, 10 Mbit/s down, 2 up",
        PICO,
    ),
    path(
        "pico/sat-2-10",
        "rate=2Mbit,rtt=600ms,queue=600ms,up=10Mbit,up_queue=600ms",
        "geostationary satellite, data on the slow side",
        PICO,
    ),
];

/// Every named path, the default first.
pub fn builtins() -> &'static [Builtin] {
    BUILTINS
}

pub(crate) fn find(name: &str) -> Result<&'static Builtin, PathError> {
    BUILTINS.iter().find(|builtin| builtin.name == name).ok_or_else(|| {
        let nearest = suggestion(name, BUILTINS.iter().map(|builtin| builtin.name));
        PathError::new(format!(
            "`{name}` is no known path{nearest}; allowed: a name of `firstflight paths`, key=value items, or a .toml file"
        ))
    })
}
