//! Hints: their text, how long they count, what they start, and how the network's advice bounds a
//! startup.

use crate::rig::{MSS, Rig, START, config};
use firstflight::options::OptionValue;
use firstflight::{
    Advice, Arm, Config, ExitReason, Hint, HintSource, Nanos, Phase, Rate, Transport,
};

const MBIT: u64 = 125_000;

fn hint(text: &str) -> Hint {
    <Hint as OptionValue>::parse(text).unwrap_or_else(|| panic!("`{text}` should be a hint"))
}

fn refusal(text: &str) -> String {
    match Arm::parse(text) {
        Ok(arm) => panic!("`{text}` should be refused, but is {arm}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_hint_prints_as_it_is_read() {
    for text in ["saved:20Mbit", "prefix:1.5Gbit:3600s", "scone:5Mbit:60s"] {
        let arm = format!("rapid(hint=on)@(hint={text},advice=exit)");
        let arm = Arm::parse(&arm).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(arm.sender.hint, Some(hint(text)), "{arm}");
        let again = arm.to_string();
        assert!(again.contains(&format!("hint={text}")), "{again} has {text}");
        assert_eq!(Arm::parse(&again), Ok(arm), "{again}");
    }
    for text in ["20Mbit", "saved", "saved:20", "saved:20Mbit:60", "saved:20Mbit:6s:1", "isp:1Mbit"]
    {
        assert_eq!(<Hint as OptionValue>::parse(text), None, "`{text}` is no hint");
    }
}

#[test]
fn a_hint_that_nobody_uses_is_refused() {
    for (arm, why) in [
        ("slowstart@(hint=saved:20Mbit)", "careful and rapid(hint=on)"),
        ("rapid@(hint=saved:20Mbit)", "careful and rapid(hint=on)"),
        ("careful(saved=300,rtt=600)@(hint=saved:20Mbit)", "knows its window"),
        ("slowstart@(hint=scone:20Mbit)", "advice=exit or advice=cap"),
        ("bbr3@(advice=exit)", "advice=cap"),
        ("rapid(hint=on,jump=off)", "with a jump"),
        ("careful@(hint=saved:20Mbit,pace=off)", "needs the pacer"),
        ("slowstart@(hint=saved:0bit)", "`hint` takes SOURCE:RATE"),
    ] {
        assert!(refusal(arm).contains(why), "{arm}: {} names {why}", refusal(arm));
    }
}

/// Shows SCONE period-1, OURS hint-age.
#[test]
fn advice_counts_for_67_seconds_and_what_was_measured_for_an_hour() {
    for (text, fresh) in [
        ("scone:20Mbit:67s", true),
        ("scone:20Mbit:68s", false),
        ("saved:20Mbit:3600s", true),
        ("saved:20Mbit:3601s", false),
        ("prefix:20Mbit:3601s", false),
    ] {
        assert_eq!(hint(text).is_fresh(), fresh, "{text}");
    }
}

/// Shows SCONE lowest-1.
#[test]
fn the_lowest_advice_that_has_not_expired_counts() {
    let (low, high, old) = (hint("scone:5Mbit:9s"), hint("scone:9Mbit"), hint("scone:1Mbit:99s"));
    for (one, other, counts) in
        [(low, high, low), (high, low, low), (old, high, high), (high, old, high)]
    {
        assert_eq!(one.or_lower(other), counts, "{one:?} and {other:?}");
    }
}

/// Shows SCONE signal-1.
#[test]
fn a_rate_signal_is_a_twentieth_of_a_decade_above_100_kbit() {
    let rate = |signal| Hint::scone(signal).map(|hint| hint.rate.0 * 8);
    for (signal, bits) in [
        (0, Some(100_000)),
        (1, Some(112_200)),
        (20, Some(1_000_000)),
        (40, Some(10_000_000)),
        (46, Some(19_950_000)),
        (126, Some(199_500_000_000)),
        (127, None),
        (255, None),
    ] {
        assert_eq!(rate(signal), bits, "signal {signal}");
    }
    let rates: Vec<u64> = (0..127).filter_map(rate).collect();
    assert!(rates.is_sorted(), "a larger signal is a larger rate");
    for (limit, advised) in [(20 * MBIT, 19_950_000), (10 * MBIT, 10_000_000), (1, 100_000)] {
        let hint = Hint::advising(Rate(limit));
        assert_eq!((hint.source, hint.rate.0 * 8), (HintSource::Scone, advised), "{limit} B/s");
    }
}

/// A connection with a window of ten packets of 1000 bytes and an RTT of 100 ms.
fn rig(arm: &str, hint: Option<Hint>) -> Rig {
    let base = config(Transport::Quic, 10 * MSS);
    let mut rig = Rig::with(arm, firstflight::with!(Config { hint, ..base }));
    rig.rtt = Nanos::from_millis(100);
    rig.c.on_handshake_rtt(START, rig.rtt);
    rig
}

/// Fills windows and acknowledges them in whole round trips until startup ends, at most 20 times.
fn run(rig: &mut Rig) {
    for _ in 0..20 {
        rig.fill();
        rig.wait(100);
        while rig.inflight() > 0 && rig.c.exit().is_none() {
            rig.ack(MSS);
        }
        if rig.c.exit().is_some() {
            return;
        }
    }
}

/// Shows SCONE bound-2.
#[test]
fn slow_start_ends_at_the_advised_rate_times_the_rtt() {
    // 8 Mbit/s over 100 ms are 100 packets of 1000 bytes.
    for arm in ["slowstart", "hystart++", "rapid", "limited", "search", "best"] {
        for advice in ["exit", "cap"] {
            let mut rig = rig(&format!("{arm}@(advice={advice})"), Some(hint("scone:8Mbit")));
            run(&mut rig);
            let exit = rig.c.exit().unwrap_or_else(|| panic!("{arm} ends at the advice"));
            assert_eq!((exit.reason, exit.cwnd), (ExitReason::Advice, 100 * MSS), "{arm}");
            assert_eq!(rig.c.phase(), Phase::Avoidance, "{arm} goes on in avoidance");
            rig.fill();
            rig.ack(rig.inflight());
            assert!(rig.c.cwnd() > 100 * MSS, "{arm}: avoidance may find more than was advised");
        }
    }
}

/// Shows SCONE bound-1.
#[test]
fn advice_never_starts_a_jump() {
    for arm in ["rapid(hint=on)", "careful"] {
        let large = Some(hint("scone:800Mbit"));
        let mut told = rig(&format!("{arm}@(advice=exit)"), large);
        let mut plain = rig(arm, None);
        for _ in 0..4 {
            for rig in [&mut told, &mut plain] {
                rig.fill();
                rig.wait(100);
                rig.ack(rig.inflight());
            }
            assert_eq!(told.c.cwnd(), plain.c.cwnd(), "{arm} with advice above what it needs");
        }
    }
}

#[test]
fn advice_is_ignored_unless_the_sender_uses_it_and_does_not_lower_the_first_window() {
    let mut ignorant = rig("slowstart", Some(hint("scone:8Mbit")));
    run(&mut ignorant);
    assert_eq!(ignorant.c.exit(), None, "today's senders know of no advice");
    assert_eq!(ignorant.c.max_rate(), None);
    let mut old = rig("slowstart@(advice=cap)", Some(hint("scone:8Mbit:68s")));
    run(&mut old);
    assert_eq!((old.c.exit(), old.c.max_rate()), (None, None), "it had expired before");
    let mut tiny = rig("slowstart@(advice=exit)", Some(hint("scone:100kbit")));
    assert_eq!(tiny.c.cwnd(), 10 * MSS, "the initial window needs no advice");
    run(&mut tiny);
    let exit = tiny.c.exit().expect("and a packet later it ends");
    assert_eq!((exit.reason, exit.cwnd), (ExitReason::Advice, 11 * MSS));
}

/// Shows SCONE period-1.
#[test]
fn a_cap_ends_when_the_advice_expires() {
    let (advised, set) = (Rate(MBIT), Rate(4 * MBIT));
    for (arm, after) in [
        ("slowstart@(advice=cap)", None),
        ("slowstart@(maxrate=4Mbit,advice=cap)", Some(set)),
        ("bbr3@(advice=cap)", None),
    ] {
        let mut rig = rig(arm, Some(hint("scone:1Mbit:60s")));
        assert_eq!(rig.c.max_rate(), Some(advised), "{arm}: the lower of both");
        rig.fill();
        rig.wait(7_000);
        rig.ack(MSS);
        assert_eq!(rig.c.max_rate(), Some(advised), "{arm}: 67 s after the element set it");
        rig.fill();
        rig.wait(1);
        rig.ack(MSS);
        assert_eq!(rig.c.max_rate(), after, "{arm}: afterwards it is unknown");
    }
    let mut higher = rig("slowstart@(maxrate=1Mbit,advice=cap)", Some(hint("scone:4Mbit")));
    assert_eq!(higher.c.max_rate(), Some(advised), "what the sender is set to may be lower");
    higher.wait(1);
    assert_eq!(Advice::Cap.name(), "cap");
}

/// Shows OURS hint-share, OURS hint-most.
#[test]
fn rapid_start_jumps_to_half_of_a_hint_within_two_and_eight_initial_windows() {
    for (text, packets) in [
        ("saved:8Mbit", 50),
        ("prefix:8Mbit:60s", 50),
        ("saved:1Mbit", 20),
        ("saved:800Mbit", 80),
        ("saved:800Mbit:7200s", 20),
    ] {
        let mut rig = rig(&format!("rapid(hint=on)@(hint={text})"), None);
        rig.send(MSS);
        assert_eq!(rig.c.cwnd(), packets * MSS, "{text}");
        assert_eq!(rig.c.phase(), Phase::Jump, "{text}");
        let rate = rig.c.pacing_rate().map(|rate| rate.0);
        assert_eq!(rate, Some(packets * MSS * 10), "{text}: over a whole round trip");
        rig.fill();
        rig.wait(100);
        rig.ack(MSS);
        assert!(rig.c.cwnd() >= packets * MSS, "{text}: the used jump is kept");
    }
}

/// Shows CR9959 hint-window.
#[test]
fn careful_resume_takes_its_window_from_the_hint() {
    // 40 Mbit/s over 100 ms are 500 packets, over a saved RTT of 150 ms 750; half of it is the jump.
    for (arm, jump) in [("careful", 250), ("careful(rtt=150)", 375), ("careful(max=99)", 99)] {
        let mut rig = rig(&format!("{arm}@(hint=saved:40Mbit:600s)"), None);
        rig.fill();
        rig.wait(100);
        rig.ack(10 * MSS);
        rig.send(MSS);
        assert_eq!(rig.c.cwnd(), jump * MSS, "{arm}");
    }
    let mut other = rig("careful(rtt=300)@(hint=saved:40Mbit)", None);
    for _ in 0..3 {
        other.fill();
        other.wait(100);
        other.ack(other.inflight());
    }
    assert_eq!(other.c.cwnd(), 80 * MSS, "a third of the RTT is another path: slow start");
}
