//! The text of effects, varying rates and return paths: round trips and every refusal.

use firstflight_path::{
    Acks, Aqm, BatchSettings, Delay, DualPi2, Ecn, Effects, Fate, FqCodel, GilbertElliott,
    GrantSettings, HandoverSettings, Jitter, Path, Poisson, Policer, Queue, Rate, Red, Release,
    Reorder, Rwnd, Steps, WanderingRate,
};
use proptest::prelude::*;

fn parse(text: &str) -> Path {
    Path::parse(text).unwrap_or_else(|e| panic!("`{text}` should be a path, but: {e}"))
}

fn refusal(rest: &str) -> String {
    let text = format!("rate=10Mbit,rtt=100ms,{rest}");
    match Path::parse(&text) {
        Ok(path) => panic!("`{text}` should be refused, but is the path {path}"),
        Err(e) => e.to_string(),
    }
}

#[test]
fn each_key_is_understood_and_printed() {
    for (given, canonical) in [
        ("policer=8Mbit:20ms", "policer=8Mbit:20ms"),
        ("mtu=1280B", "mtu=1.28kB"),
        ("ecn=bleach", "ecn=bleach"),
        ("ecn=drop", "ecn=drop"),
        ("codel", "codel"),
        ("codel=5ms:100ms", "codel"),
        ("codel=1ms:10ms,ecn", "codel=1ms:10ms,ecn"),
        ("pie,ecn=false", "pie"),
        ("pie=20ms", "pie=20ms"),
        ("red", "red"),
        ("red=5pkt:15pkt:2%:0.2%", "red"),
        ("ared=7.5kB:20kB,ecn", "ared=5pkt:20kB:2%:0.2%,ecn"),
        ("fq_codel", "fq_codel"),
        ("fq_codel=flows:1/target:5ms", "fq_codel=flows:1"),
        ("fq_codel=quantum:300B/interval:20ms,ecn", "fq_codel=quantum:300B/interval:20ms,ecn"),
        ("dualpi2,ecn", "dualpi2,ecn"),
        ("dualpi2=alpha:0.15/beta:3/update:15ms", "dualpi2=update:15ms/alpha:0.15/beta:3"),
        (
            "dualpi2=k:4/step:2ms/classic:20/target:10ms",
            "dualpi2=target:10ms/k:4/step:2ms/classic:20",
        ),
        ("ecn=15ms", "ecn=15ms"),
        ("ecn=ce:5%", "ecn=ce:5%"),
        ("ecn=65pkt", "ecn=65pkt"),
        ("ge=0.1%:3:80%", "ge=0.1%:3:80%:0%"),
        ("ge=0.1%:3.5:80%:1%", "ge=0.1%:3.5:80%:1%"),
        ("loss_every=64", "loss_every=64"),
        ("loss=30%,loss_until=2s", "loss=30%,loss_until=2s"),
        ("hello=3000B", "hello=3kB"),
        ("ge=0.1%:3:80%,loss_until=2000ms", "ge=0.1%:3:80%:0%,loss_until=2s"),
        ("jitter=500us", "jitter=500us"),
        ("jitter=1ms-3ms", "jitter=1ms-3ms"),
        ("jitter=normal:3ms:1ms", "jitter=normal:3ms:1ms"),
        ("reorder=1%:3ms", "reorder=1%:3ms"),
        ("reorder=0.9%:3ms:0.1%:30ms", "reorder=0.9%:3ms:0.1%:30ms"),
        ("dup=0.01%", "dup=0.01%"),
        ("up=1Mbit,up_policer=500kbit:50ms,up_codel", "up=1Mbit,up_policer=500kbit:50ms,up_codel"),
        (
            "up=poisson:1Mbit,up_lead_in=10,up_ms_slots",
            "up=poisson:1Mbit,up_lead_in=10,up_ms_slots",
        ),
        (
            "up=1Mbit,up_steps=1s:2Mbit/1.5s:off/3s:1Mbit",
            "up=1Mbit,up_steps=1s:2Mbit/1.5s:off/3s:1Mbit",
        ),
        ("up=1Mbit,up_wander=0.3", "up=1Mbit,up_wander=0.3:1s"),
        ("delay=before", "delay=before"),
        ("delay=even,overhead=0B", ""),
        ("overhead=80B", "overhead=80B"),
        ("return=plain", ""),
        ("return=geo_cold", "return=geo_cold"),
        ("return=geo:1:1.7", "return=geo_cold"),
        ("return=geo:11:1", "return=geo_warm"),
        ("return=geo:3:1.6:outages", "return=geo:3:1.6:outages"),
        ("return=geo:1:1.7:outages", "return=geo_stress"),
        ("return=batch:5ms:24:9us-30us", "return=lte"),
        ("return=batch:2.5ms:24:9us-30us", "return=batch:2.5ms:24:9us-30us"),
        ("return=batch:100ms:1", "return=batch:100ms:1"),
        ("return=first:10us-60us:64:1us-3us", "return=nic"),
        ("return=leo:10ms", "return=leo"),
        ("return=leo:5ms:0.8-1.2:20%", "return=leo:5ms:0.8-1.2:20%:20ms:40ms"),
        ("thin=2", "thin=2"),
        ("gro=20us:64kB", "gro=20us:64kB"),
        ("comp_sack=1000us:44", "comp_sack=1ms:44"),
        ("ack=1", "ack=1"),
        ("ack=2,gro=20us:64kB", "gro=20us:64kB,ack=2"),
        ("ack=4/rtt", "ack=4/rtt"),
    ] {
        let path = parse(&format!("rate=10Mbit,rtt=100ms,{given}"));
        let expected = if canonical.is_empty() { String::new() } else { format!(",{canonical}") };
        assert_eq!(
            path.to_string(),
            format!("rate=10Mbit,rtt=100ms,queue=1bdp{expected}"),
            "canonical text of `{given}`"
        );
    }
}

#[test]
fn presets_of_the_return_path_have_names() {
    for (name, release) in [
        ("plain", Release::Plain),
        ("geo_cold", Release::Grant(GrantSettings::COLD)),
        ("geo_warm", Release::Grant(GrantSettings::WARM)),
        ("geo_starved", Release::Grant(GrantSettings::STARVED)),
        ("geo_stress", Release::Grant(GrantSettings::STRESS)),
        ("lte", Release::Batch(BatchSettings::LTE)),
        ("wifi", Release::Batch(BatchSettings::WIFI)),
        ("nic", Release::Batch(BatchSettings::NIC)),
        ("leo", Release::Handover(HandoverSettings::LEO)),
    ] {
        let path = parse(&format!("geo,return={name}"));
        assert_eq!(*path.release(), release);
        assert_eq!(release.to_string(), name);
        assert_eq!(
            path.is_driven(),
            !matches!(release, Release::Plain | Release::Handover(_)),
            "{name}"
        );
    }
    assert_eq!(
        parse("geo,return=nic").receive_aggregation(),
        Some((20_000, 65_536)),
        "a network card merges what it receives"
    );
    assert_eq!(parse("geo,gro=1ms:30kB").receive_aggregation(), Some((1_000_000, 30_000)));
    assert_eq!(parse("geo").receive_aggregation(), None);
    assert_eq!(
        ["geo", "geo,ack=1", "geo,ack=4/rtt"].map(|text| parse(text).acks()),
        [None, Some(Acks::Every(1)), Some(Acks::PerRtt(4))]
    );
    let receiver = |text| (parse(text).rwnd(), parse(text).read_bps());
    assert_eq!(receiver("geo"), (None, None));
    assert_eq!(receiver("geo,rwnd=64kB"), (Some(Rwnd::Fixed(64_000)), None));
    assert_eq!(receiver("geo,rwnd=auto"), (Some(Rwnd::Auto(6_291_456)), None));
    assert_eq!(
        receiver("geo,rwnd=auto:26MB,read=10Mbit"),
        (Some(Rwnd::Auto(26_000_000)), Some(10_000_000))
    );
    assert_eq!(
        ["geo", "geo,scone=20Mbit"].map(|text| parse(text).scone_bps()),
        [None, Some(20_000_000)],
        "what a network element advises"
    );
    assert_ne!(parse("geo,scone=20Mbit"), parse("geo"), "senders are told something else");
    assert_eq!(
        ["geo", "geo,hello=4kB"].map(|text| parse(text).hello()),
        [None, Some(4_000)],
        "a handshake before the data"
    );
    assert_ne!(parse("geo,hello=4kB"), parse("geo"), "data starts later");
    assert_eq!(
        parse("geo,scone=20Mbit").rate_bps(),
        parse("geo").rate_bps(),
        "advice limits nothing"
    );
    assert_eq!(
        (parse("geo").sack_compression(), parse("geo,comp_sack=1ms:44").sack_compression()),
        (None, Some((1_000_000, 44)))
    );
}

#[test]
fn a_policed_path_has_the_rate_of_its_policer() {
    let path = parse("rate=1Gbit,rtt=20ms,queue=1bdp,policer=12Mbit:10ms");
    assert_eq!((path.rate_bps(), path.link_bps()), (12_000_000, 1_000_000_000));
    assert_eq!(
        (path.bdp_bytes(), path.queue_bytes(), path.up_bps()),
        (30_000, Some(2_500_000), 10_000_000_000)
    );
}

fn refuses(text: &str, expected: &str) {
    let line = refusal(text);
    if expected.ends_with(' ') {
        assert!(line.starts_with(expected), "refusal of `{text}`: {line}");
    } else {
        assert_eq!(line, expected, "refusal of `{text}`");
    }
}

#[test]
fn each_wrong_effect_is_refused_with_its_range() {
    const RATES: &str = "allowed: 1kbit to 1000Gbit, with the unit bit, kbit, Mbit or Gbit";
    const TIMES: &str = "allowed: more than 0 and at most 100s, with the unit us, ms or s";
    const EXTRAS: &str = "allowed: 0s to 100s, with the unit us, ms or s";
    const SHARES: &str = "allowed: 0% to 100%, such as 0.1%";
    for (text, expected) in [
        ("policer=8Mbit", "policer=8Mbit: has 1 field; allowed: policer=RATE:BUCKET, such as 12Mbit:10ms".to_owned()),
        ("policer=0Mbit:10ms", format!("policer=0Mbit:10ms: RATE=0Mbit: is zero; {RATES}")),
        ("policer=8Mbit:10", format!("policer=8Mbit:10: BUCKET=10: the unit is missing; {TIMES}")),
        ("policer=1Mbit:10ms", "policer=1Mbit:10ms: has a bucket of 1250 B that never holds a packet of 1500 B; allowed: a bucket of 1500B or more".to_owned()),
        ("policer=10Mbit:10ms", "policer=10Mbit:10ms: never acts, because the link itself sends 10Mbit; allowed: a rate below that of the link".to_owned()),
        ("codel=5ms", "codel=5ms: has 1 field; allowed: codel=TARGET:INTERVAL, such as 5ms:100ms".to_owned()),
        ("codel=0ms:100ms", format!("codel=0ms:100ms: TARGET=0ms: is zero; {TIMES}")),
        ("pie=0ms", format!("pie=0ms: is zero; {TIMES}")),
        ("codel,pie", "pie=...: the queue already has codel; allowed: one of codel and pie".to_owned()),
        ("pie,ared", "ared=...: the queue already has pie; allowed: one of pie and ared".to_owned()),
        ("red=5pkt", "red=5pkt: has 1 field; allowed: red=MIN:MAX up to red=MIN:MAX:MAXP:WEIGHT".to_owned()),
        ("red=5pkt:15pkt:0.02", format!("red=5pkt:15pkt:0.02: MAXP=0.02: the unit is missing (did you mean `0.02%` or `2%`?); {SHARES}")),
        ("return=leo:5ms:1:0.2", format!("return=leo:5ms:1:0.2: LOSS=0.2: the unit is missing (did you mean `0.2%` or `20%`?); {SHARES}")),
        ("red=15pkt:5pkt", "red=15pkt:5pkt:2%:0.2%: never drops early; allowed: MIN below MAX, and neither MAXP nor WEIGHT 0".to_owned()),
        ("fq_codel=queues:5", "fq_codel=queues:5: `queues:5` is not a setting; allowed: `fq_codel` alone, or flows, quantum, target and interval as flows:1024/target:5ms".to_owned()),
        ("fq_codel=flows:0", "fq_codel=flows:0: flows=0: is too small; allowed: a whole number from 1 to 65536".to_owned()),
        ("dualpi2=update:10us", "dualpi2=10us: updates too often; allowed: 1ms or more".to_owned()),
        ("dualpi2=k", "dualpi2=k: `k` is not a setting; allowed: target, update, alpha, beta, k, step, classic".to_owned()),
        ("up_fq_codel", "up_fq_codel=...: manages the forward direction only; allowed: codel, pie or red in the reverse direction".to_owned()),
        ("prop=20ms", "prop=20ms: the idle round trip is already given; allowed: one of rtt and prop".to_owned()),
        ("ecn", "ecn=true: there is no queue management that could mark instead of drop; allowed: with codel, pie, red or fq_codel, or with a threshold such as ecn=15ms".to_owned()),
        ("codel,ecn=15ms", "ecn=15ms: the queue management decides what is marked; allowed: `ecn` alone with queue management".to_owned()),
        ("pie,ecn=ce:1%", "ecn=ce:...: the queue management decides what is marked; allowed: `ecn` alone with queue management".to_owned()),
        ("ecn=ce:200%", format!("ecn=200%: is too large; {SHARES}")),
        ("ecn=ce:0.5", format!("ecn=0.5: the unit is missing (did you mean `0.5%` or `50%`?); {SHARES}")),
        ("ecn=15", "ecn=15: the unit is missing; allowed: bytes (B, kB, MB), packets (pkt), time (us, ms, s), bdp, or `unlimited`".to_owned()),
        ("ge=1%:3", "ge=1%:3: has 2 fields; allowed: ge=G:BURST:H up to ge=G:BURST:H:K".to_owned()),
        ("ge=150%:3:80%", format!("ge=150%:3:80%: G=150%: is too large; {SHARES}")),
        ("ge=0.005:3:80%", format!("ge=0.005:3:80%: G=0.005: the unit is missing (did you mean `0.005%` or `0.5%`?); {SHARES}")),
        ("ge=1%:0.5:80%", "ge=1%:0.5:80%: BURST=0.5: is too small; allowed: 1 to 1000000 packets".to_owned()),
        ("ge=1%:3:101%", format!("ge=1%:3:101%: H=101%: is too large; {SHARES}")),
        ("ge=1%:3:80%:-1", format!("ge=1%:3:80%:-1: K=-1: is negative; {SHARES}")),
        ("loss=1%,ge=1%:3:80%", "ge=...: two loss processes; allowed: one of loss and ge; the loss of the good state is the last field of ge".to_owned()),
        ("loss_every=0", "loss_every=0: is too small; allowed: a whole number from 1 to 1000000000".to_owned()),
        ("loss_every=1.5", "loss_every=1.5: is not a whole number; allowed: a whole number from 1 to 1000000000".to_owned()),
        ("loss_until=2s", "loss_until=2s: there is no loss that could end; allowed: with loss, ge or loss_every".to_owned()),
        ("hello=200B", "hello=200B: is too small; allowed: 500B to 11kB, with the unit B or kB".to_owned()),
        ("hello=4", "hello=4: the unit is missing; allowed: 500B to 11kB, with the unit B or kB".to_owned()),
        ("loss=1%,loss_until=0s", format!("loss_until=0s: is zero; {TIMES}")),
        ("loss=1%,loss_until=2", format!("loss_until=2: the unit is missing; {TIMES}")),
        ("up_loss_until=2s", "up_loss_until=2s: there is no loss that could end; allowed: with loss, ge or loss_every".to_owned()),
        ("jitter=101s", format!("jitter=101s: is too large; {EXTRAS}")),
        ("jitter=5ms-1ms", "jitter=5ms-1ms: is in descending order; allowed: the smaller value first".to_owned()),
        ("jitter=normal:1ms", "jitter=normal:1ms: has 2 fields; allowed: jitter=normal:MEAN:SIGMA".to_owned()),
        ("jitter=normal:1ms:x", format!("jitter=normal:1ms:x: SIGMA=x: is not a number; {EXTRAS}")),
        ("reorder=1%", "reorder=1%: has 1 field; allowed: reorder=SHARE:MEAN up to reorder=SHARE:MEAN:SHARE:MEAN".to_owned()),
        ("reorder=0.5:3ms", format!("reorder=0.5:3ms: SHARE=0.5: the unit is missing (did you mean `0.5%` or `50%`?); {SHARES}")),
        ("reorder=1%:0ms", format!("reorder=1%:0ms: MEAN=0ms: is zero; {TIMES}")),
        ("reorder=60%:1ms:60%:1ms", format!("reorder=120%: is too large; {SHARES}")),
        ("dup=100%", "dup=100%: is too large; allowed: 0% up to but not including 100%, such as 0.1%".to_owned()),
        ("steps=1s", "steps=1s: has 1 field; allowed: steps=TIME:RATE".to_owned()),
        ("steps=1s:0Mbit", format!("steps=1s:0Mbit: RATE=0Mbit: is zero; {RATES}")),
        ("steps=2s:1Mbit/1s:2Mbit", "steps=2s:1Mbit/1s:2Mbit: goes back in time; allowed: increasing times".to_owned()),
        ("steps=2s:off", "steps=2s:off: ends in an outage that never ends; allowed: `off` at any step but the last".to_owned()),
        ("wander=3", "wander=3: SD=3: is too large; allowed: a plain number from 0.001 to 2".to_owned()),
        ("wander=0.3:0s", format!("wander=0.3:0s: TAU=0s: is zero; {TIMES}")),
        ("wander=0.3,steps=1s:1Mbit", "wander=0.3: the rate already has steps; allowed: one of steps and wander".to_owned()),
        ("lead_in=5", "lead_in=5: only a Poisson process has it; give rate=poisson:3Mbit as well".to_owned()),
        ("up_spread", "up_spread=true: only a trace has it; give up=trace:FILE as well".to_owned()),
        ("up_steps=1s:1Mbit", "up_steps=1s:1Mbit: only a constant rate has it; give up=100Mbit as well".to_owned()),
        ("delay=front", "delay=front: is not a position of the propagation delay; allowed: even, before or behind".to_owned()),
        ("overhead=2kB", "overhead=2kB: is too large; allowed: 0B to 1500B".to_owned()),
    ] {
        refuses(text, &expected);
    }
}

#[test]
fn each_wrong_return_path_and_receiver_is_refused_with_its_range() {
    for (text, expected) in [
        (
            "return=geo_hot",
            "return=geo_hot: unknown release (did you mean `geo_cold`?); allowed: plain, geo_cold, geo_warm, geo_starved, geo_stress, lte, wifi, nic, leo, or geo:..., batch:..., first:..., leo:...",
        ),
        (
            "return=geo:0.5:1.7",
            "return=geo:0.5:1.7: GRANT=0.5: is too small; allowed: 1 to 160 ACKs per frame",
        ),
        (
            "return=geo:1:0.9",
            "return=geo:1:0.9: GROWTH=0.9: is too small; allowed: a plain number from 1 to 10",
        ),
        (
            "return=geo:1:1:outage",
            "return=geo:1:1:outage: outages=outage: is unknown; allowed: `outages` or nothing",
        ),
        (
            "return=batch:0ms:5",
            "return=batch:0ms:5: PERIOD=0ms: is zero; allowed: more than 0 and at most 100s, with the unit us, ms or s",
        ),
        (
            "return=batch:5ms:0",
            "return=batch:5ms:0: CAP=0: is too small; allowed: a whole number from 1 to 1000000",
        ),
        (
            "return=leo:10ms:2-1",
            "return=leo:10ms:2-1: FACTOR=2-1: is in descending order; allowed: the smaller value first",
        ),
        (
            "return=leo,steps=1s:1Mbit",
            "rate=10Mbit: return=leo varies the rate itself; allowed: a constant rate",
        ),
        (
            "return=lte,up_reorder=1%:1ms",
            "up_reorder=...: return=lte keeps the order of ACKs; allowed: one of the two",
        ),
        ("thin=0", "thin=0: is too small; allowed: a whole number from 1 to 1000000"),
        (
            "thin=2,up_jitter=1ms",
            "thin=2: needs to know which ACKs wait; allowed: with a constant `up` without further effects, or with a release engine",
        ),
        ("gro=20us", "gro=20us: has 1 field; allowed: gro=TIME:BYTES"),
        ("comp_sack=1ms", "comp_sack=1ms: has 1 field; allowed: comp_sack=TIME:COUNT"),
        ("ack=0", "ack=0: is too small; allowed: a whole number from 1 to 1000"),
        ("ack=1001", "ack=1001: is too large; allowed: a whole number from 1 to 1000"),
        ("ack=0/rtt", "ack=0: is too small; allowed: a whole number from 1 to 100"),
        ("ack=4/s", "ack=4/s: is not a whole number; allowed: a whole number from 1 to 1000"),
        (
            "rwnd=64",
            "rwnd=64: the unit is missing; allowed: 1500B to 1000MB, with the unit B, kB or MB, or auto, or auto:MAX",
        ),
        (
            "rwnd=100B",
            "rwnd=100B: is too small; allowed: 1500B to 1000MB, with the unit B, kB or MB, or auto, or auto:MAX",
        ),
        (
            "rwnd=auto:64kB",
            "rwnd=64kB: is too small; allowed: auto, or auto:MAX with MAX from 131072B to 1000MB",
        ),
        (
            "rwnd=auto26MB",
            "rwnd=auto26MB: is not a number; allowed: auto, or auto:MAX with MAX from 131072B to 1000MB",
        ),
        (
            "mtu=1280",
            "mtu=1280: the unit is missing; allowed: 576B to 9000B, with the unit B or kB",
        ),
        ("mtu=500B", "mtu=500B: is too small; allowed: 576B to 9000B, with the unit B or kB"),
        (
            "mtu=9000B,queue=4kB",
            "queue=4kB: comes to 4000 B and holds no packet of 9000 B; allowed: 9000B or more, or `unlimited`",
        ),
        (
            "mtu=9000B,policer=100kbit:0.5s",
            "policer=100kbit:500ms: has a bucket of 6250 B that never holds a packet of 9000 B; allowed: a bucket of 9000B or more",
        ),
        (
            "codel,ecn=bleach",
            "ecn=bleach: the queue management decides what is marked; allowed: `ecn` alone with queue management",
        ),
        (
            "codel,ecn=drop",
            "ecn=drop: the queue management decides what is marked; allowed: `ecn` alone with queue management",
        ),
        (
            "read=10Mbit",
            "read=10Mbit: never delays a sender whose receiver has an unlimited buffer; allowed: with rwnd, such as rwnd=auto",
        ),
        ("jiter=1ms", "jiter=1ms: unknown key (did you mean `jitter`?); allowed: "),
        ("up_jiter=1ms", "up_jiter=1ms: unknown key (did you mean `jitter`?); allowed: "),
    ] {
        refuses(text, expected);
    }
}

fn rates() -> impl Strategy<Value = Rate> {
    let bps = || 1_000_u64..1_000_000_000_000;
    prop_oneof![
        bps().prop_map(Rate::Constant),
        (bps(), 0_u64..1000, any::<bool>())
            .prop_map(|(bps, lead_in, ms_slots)| Rate::Poisson(Poisson { bps, lead_in, ms_slots })),
        (bps(), 1_000_u64..2_000_001, 1_u64..100_000_000_000)
            .prop_map(|(bps, sd, tau)| Rate::Wander(WanderingRate { bps, sd, tau })),
        (
            bps(),
            prop::collection::vec((0_u64..5_000_000_000, prop_oneof![Just(0_u64), bps()]), 1..4)
        )
            .prop_map(|(first, mut then)| {
                then.sort_unstable();
                Rate::Steps(Steps { first, then: then.into() })
            }),
    ]
}

fn managed() -> impl Strategy<Value = Aqm> {
    let ns = || 1_u64..1_000_000_000;
    prop_oneof![
        (1_u64..100_000, 1_u64..100_000, 1_u64..1_000_000_000, 1_u64..1_000_000_000, any::<bool>())
            .prop_map(|(min, more, max_p, weight, adaptive)| Aqm::Red(Red {
                min,
                max: min + more,
                max_p,
                weight,
                adaptive,
            })),
        (1_u64..65_537, 1_u64..1_000_000, ns(), ns()).prop_map(
            |(flows, quantum, target, interval)| {
                Aqm::FqCodel(FqCodel { flows, quantum, target, interval })
            }
        ),
        (ns(), ns(), 1_000_u64..9_000_000, 1_000_u64..9_000_000, 1_u64..101, ns(), 1_u64..100)
            .prop_map(|(target, update, alpha, beta, k, step, classic)| Aqm::DualPi2(DualPi2 {
                target,
                update,
                alpha,
                beta,
                k,
                step,
                classic,
            })),
    ]
}

fn effects() -> impl Strategy<Value = Effects> {
    let ns = || 0_u64..100_000_000_001;
    let share = || 0_u64..1_000_000_001;
    let option = |p| prop::option::weighted(0.3, p);
    let queue = prop_oneof![
        (1_u64..1_000_000).prop_map(Queue::Bytes),
        (1_u64..1_000_000_000).prop_map(Queue::Time),
        (1_000_u64..2_000_000).prop_map(Queue::Bdp)
    ];
    (
        prop::option::weighted(0.3, (1_000_u64..1_000_000_000_000, 1_u64..100_000_000_000)),
        prop::option::weighted(
            0.4,
            prop_oneof![
                Just(Aqm::CODEL),
                Just(Aqm::PIE),
                managed(),
                (1_u64..1_000_000_000, 1_u64..1_000_000_000)
                    .prop_map(|(target, interval)| Aqm::Codel { target, interval })
            ],
        ),
        prop::option::weighted(
            0.3,
            prop_oneof![
                Just(Ecn::InsteadOfDrop),
                queue.prop_map(Ecn::Above),
                Just(Ecn::Bleach),
                Just(Ecn::Drop),
            ],
        ),
        prop::option::weighted(0.3, (share(), 1_000_000_u64..1_000_000_000_000, share(), share())),
        (prop::option::weighted(0.3, 1_u64..1_000_000_000), prop::option::weighted(0.3, ns())),
        prop::option::weighted(
            0.3,
            prop_oneof![
                (ns(), ns()).prop_map(|(a, b)| Jitter::Uniform(a, b)),
                (ns(), ns()).prop_map(|(a, b)| Jitter::Normal(a, b))
            ],
        ),
        prop::option::weighted(
            0.3,
            ((0_u64..500_000_000, ns()), option((0_u64..600_000_000, ns()))),
        ),
        prop_oneof![Just(0_u64), 0_u64..1_000_000_000],
    )
        .prop_map(
            |(policer, aqm, ecn, ge, (loss_every, loss_until), jitter, reorder, dup_ppb)| Effects {
                policer: policer.map(|(bps, bucket)| Policer { bps, bucket }),
                aqm,
                ecn,
                ge: ge.map(|(g, burst, h, k)| GilbertElliott { g, burst, h, k }),
                loss_every,
                // Text with an end has a loss that could end.
                loss_until: loss_until.filter(|_| loss_every.is_some()),
                jitter,
                reorder: reorder.map(|(first, second)| Reorder { first, second }),
                dup_ppb,
            },
        )
}

fn releases() -> impl Strategy<Value = Release> {
    let range = |most: u64| (0..most, 0..most);
    prop_oneof![
        Just(Release::Plain),
        (500_u64..170_000, 900_000_u64..11_000_000, any::<bool>()).prop_map(
            |(start, growth, outages)| Release::Grant(GrantSettings { start, growth, outages })
        ),
        (any::<bool>(), range(1_000_000_000), 0_u64..1_100_000, range(1_000_000)).prop_map(
            |(on_first, period, cap, spacing)| Release::Batch(BatchSettings {
                on_first,
                period,
                cap,
                spacing
            })
        ),
        (0_u64..1_000_000_000, range(5_000_000), 0_u64..1_100_000_000, range(1_000_000_000))
            .prop_map(|(step, factor, burst, (data_extra, ack_extra))| {
                Release::Handover(HandoverSettings { step, factor, burst, data_extra, ack_extra })
            }),
    ]
}

fn acks() -> impl Strategy<Value = Option<Acks>> {
    prop::option::of(prop_oneof![
        (0_u64..1_010).prop_map(Acks::Every),
        (0_u64..110).prop_map(Acks::PerRtt),
    ])
}

fn rwnds() -> impl Strategy<Value = Option<Rwnd>> {
    prop::option::of(prop_oneof![
        (1_400_u64..2_000_000).prop_map(Rwnd::Fixed),
        (131_000_u64..40_000_000).prop_map(Rwnd::Auto),
        Just(Rwnd::AUTO),
    ])
}

/// An MTU is the packet of `pkt`, of the idle round trip and of `prop=`; larger packets are refused.
#[test]
fn an_mtu_is_the_size_of_full_packets() {
    let jumbo = parse("rate=100Mbit,rtt=30ms,queue=10pkt,mtu=9kB,ecn=5pkt");
    assert_eq!((jumbo.packet(), jumbo.queue_bytes()), (9_000, Some(90_000)));
    assert_eq!(parse("rate=100Mbit,rtt=30ms,queue=10pkt").queue_bytes(), Some(15_000));
    let [large, small] = ["mtu=9kB", "mtu=1280B"].map(|mtu| {
        let path = parse(&format!("rate=8Mbit,prop=30ms,up=8Mbit,queue=100ms,{mtu}"));
        path.rtt()
    });
    assert_eq!((large, small), (39_040_000, 31_320_000), "30 ms, a full packet, an ACK of 40 B");
    let refused = jumbo.open_driven(9_001, 40, 1, 0).expect_err("it does not fit").to_string();
    assert_eq!(
        refused,
        "mtu=9kB: is less than the packets of 9001 B that the hosts send; allowed: 9001B or more"
    );
    for len in [1_500, 9_000] {
        let (mut forward, _) = jumbo.open(len, 40, 1, 0).expect("they fit");
        let Fate::Deliver { at, .. } = forward.offer(0, len) else { panic!("{len} is delivered") };
        let service = u64::from(len) * 80;
        assert!(at > service, "{len} B: {at} ns after {service} ns of service");
    }
}

/// Values that no text can express: shares beyond all packets.
#[test]
fn a_share_of_marks_or_losses_is_at_most_all() {
    let effects = Effects::default();
    let path = Path::new(10_000_000, 30_000_000);
    for (share, fits) in [(0, true), (1_000_000_000, true), (1_000_000_001, false)] {
        let marks = Effects { ecn: Some(Ecn::Chance(share)), ..effects };
        let burst = GilbertElliott { g: 0, burst: 2_000_000, h: share, k: 0 };
        let losses = Effects { ge: Some(burst), ..effects };
        for effects in [marks, losses] {
            let checked = path.clone().with_effects(effects).check();
            assert_eq!(checked.is_ok(), fits, "{share} of a billion: {checked:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn printing_and_parsing_again_gives_an_equal_path(
        (rate, up, rtt, loss) in (rates(), prop::option::of(rates()), 1_u64..4_000_000_000_000, prop_oneof![4 => Just(0_u64), 1 => 0_u64..1_000_000_000]),
        (forward, reverse, release) in (effects(), prop_oneof![Just(Effects::default()), effects()], releases()),
        (delay, overhead, thin) in (prop::sample::select(vec![Delay::Even, Delay::Before, Delay::Behind]), 0_u64..1600, prop::option::of(0_u64..1000)),
        gro in prop::option::of((0_u64..1_000_000_000, 0_u64..1_000_000)),
        (comp_sack, ack) in (prop::option::of((0_u64..1_000_000_000, 0_u64..1_000)), acks()),
        (rwnd, read, mtu) in (rwnds(), prop::option::of(900_u64..1_000_000_000_001), prop::option::of(570_u64..1_510)),
    ) {
        let path = Path::with_rate(rate, rtt).with_up(up).with_loss_ppb(loss).with_effects(forward).with_up_effects(reverse);
        let path = path.with_release(release).with_delay(delay).with_overhead(overhead).with_thin(thin).with_gro(gro).with_comp_sack(comp_sack).with_acks(ack).with_rwnd(rwnd).with_read(read).with_mtu(mtu);
        match path.check() {
            Ok(()) => {
                prop_assert_eq!(Path::parse(&path.to_string()).expect("canonical text parses"), path.clone());
                prop_assert!(path.open_driven(path.packet().min(1500) as u32, 40, 1, 0).is_ok());
            }
            Err(e) => {
                prop_assert!(!e.as_str().contains('\n'));
                let text = path.to_string();
                prop_assert!(Path::parse(&text).is_err(), "{} is refused by the check ({}) and must be by the parser", text, e);
            }
        }
    }
}
