//! Limits of a sender: a largest pacing rate, the receiver's window, and the measure
//! that names them.

use crate::hosts::{MS, SECOND, controller, path};
use firstflight::Nanos;
use firstflight_sim::{Hosts, Limited, Outcome, Setup, Stop, quic, run, tcp};

fn both() -> [Hosts; 2] {
    [Hosts::Quic(quic::Host::default()), Hosts::Tcp(tcp::Host::default())]
}

fn trial(text: &str, arm: &str, host: Hosts, object: u64) -> Outcome {
    let path = path(text);
    let setup = Setup {
        path: &path,
        host,
        pacer_burst: 10 * host.mss(),
        object,
        limit: Nanos::from_secs(600),
        seed: 1,
        path_index: 0,
    };
    run(&setup, controller(arm, host, Nanos::ZERO), None).expect("the path carries the packets")
}

/// Completion time, ns.
fn time(outcome: &Outcome) -> u64 {
    outcome.delivered_after.unwrap_or_else(|| panic!("it stopped with {:?}", outcome.stop)).0
}

fn whole(limited: &Limited) -> u64 {
    let &Limited { cwnd, pacing, max_rate, rwnd, sndbuf, app } = limited;
    [cwnd, pacing, max_rate, rwnd, sndbuf, app].iter().map(|part| part.0).sum()
}

/// 10 MB at 20 Mbit/s are 4 s; headers and the first round trips come on top. BBRv3 takes the cap for
/// the path: it paces a percent below the delivery rate that it measures.
#[test]
fn a_largest_rate_holds_every_startup_and_is_named_as_the_reason() {
    for host in both() {
        for arm in ["slowstart", "hystart++", "rapid", "plumb", "bbr", "bbr3", "jumpstart"] {
            let pace = if matches!(host, Hosts::Tcp(_)) { "pace=on," } else { "" };
            let arm = format!("{arm}@({pace}maxrate=20Mbit)");
            let outcome = trial("rate=200Mbit,rtt=40ms", &arm, host, 10_000_000);
            let Limited { max_rate, .. } = outcome.limited;
            let ms = time(&outcome) / MS;
            assert!((4_000..4_400).contains(&ms), "{arm}: {ms} ms for 4 s of data at the cap");
            assert!(
                arm.starts_with("bbr3") || max_rate.0 * 10 > outcome.acked_after.0 * 8,
                "{arm}: the cap was the reason for {max_rate:?} of {:?}",
                outcome.acked_after
            );
            assert_eq!(outcome.counters.packets_dropped, 0, "{arm}: a tenth of the rate");
        }
    }
}

/// `SO_MAX_PACING_RATE` turns the pacing of an unpaced TCP socket on: with a cap that never acts, it
/// sends as the same sender that is paced; with `pace=off`, the cap is all there is.
#[test]
fn a_cap_paces_an_unpaced_sender_as_the_socket_option_does() {
    let host = Hosts::Tcp(tcp::Host::default());
    let of = |arm: &str| trial("rate=100Mbit,rtt=40ms,queue=20ms", arm, host, 5_000_000);
    let [capped, paced, plain] =
        ["slowstart@(maxrate=900Gbit)", "slowstart@(pace=on)", "slowstart"].map(of);
    assert_eq!(capped.acked_after, paced.acked_after, "paced by its window");
    assert!(
        capped.limited.pacing > Nanos::ZERO && plain.limited.pacing == Nanos::ZERO,
        "the pacer held {:?}, and without the option {:?}",
        capped.limited.pacing,
        plain.limited.pacing
    );
    let alone = of("slowstart@(maxrate=50Mbit,pace=off)");
    assert!(alone.limited.pacing == Nanos::ZERO && alone.limited.max_rate > Nanos::ZERO);
}

#[test]
fn an_exit_tells_whether_the_cap_was_in_force() {
    let host = Hosts::Quic(quic::Host::default());
    let of = |arm: &str| trial("rate=50Mbit,rtt=40ms,queue=10ms", arm, host, 5_000_000);
    assert_eq!(of("slowstart").exit_capped, None, "no cap");
    assert_eq!(of("slowstart@(maxrate=900Gbit)").exit_capped, Some(false));
    // Loss comes although the sender is held to little more than the link's rate.
    let above = of("slowstart@(maxrate=55Mbit)");
    assert_eq!((above.exit.is_some(), above.exit_capped), (true, Some(true)));
}

/// Ten rounds of a window each, whichever transport: the last needs half a round trip only.
#[test]
fn a_fixed_window_is_sent_once_per_round_trip() {
    for host in both() {
        let packet = match host {
            Hosts::Quic(host) => host.payload(),
            Hosts::Tcp(host) => u64::from(host.mss),
        };
        let text = format!("rate=1Gbit,rtt=100ms,rwnd={}B", 20 * packet);
        let outcome = trial(&text, "slowstart@(iw=40,pace=off)", host, 200 * packet);
        let ms = time(&outcome) / MS;
        assert!((940..1_010).contains(&ms), "{ms} ms for ten windows of 100 ms with {host:?}");
        let rwnd = outcome.limited.rwnd.0;
        assert!(rwnd > 850 * MS, "the window was the reason for {rwnd} ns");
        assert_eq!(outcome.limited.cwnd, Nanos::ZERO, "the window of 40 packets is larger");
    }
}

/// The buffer fills, then the reader's rate is the sender's.
#[test]
fn a_slow_reader_slows_the_sender_to_its_rate_once_its_buffer_is_full() {
    for host in both() {
        let text = "rate=100Mbit,rtt=20ms,rwnd=200kB,read=8Mbit";
        let outcome = trial(text, "slowstart", host, 5_000_000);
        // Half (MAX_DATA) to all of the 200 kB wait in the buffer when the last byte arrives, so 4.8
        // to 4.9 s have been read by then, and an update takes a round trip.
        let ms = time(&outcome) / MS;
        assert!((4_780..4_950).contains(&ms), "{ms} ms, not 4800 to 4900, with {host:?}");
        assert!(outcome.limited.rwnd.0 > 4_200 * MS, "{:?}", outcome.limited);
        assert_eq!(outcome.counters.packets_dropped, 0);
        assert_eq!(outcome.counters.rtos, 0, "an update leaves before the sender gives up");
    }
}

/// An update that is lost comes again; otherwise the sender would wait for ever.
#[test]
fn lost_window_updates_end_no_transfer() {
    for host in both() {
        for rwnd in ["20kB", "auto"] {
            let text = format!("rate=100Mbit,rtt=20ms,rwnd={rwnd},read=8Mbit,up_loss=40%");
            let outcome = trial(&text, "slowstart", host, 2_000_000);
            assert_eq!(outcome.stop, Stop::Complete, "{text} with {host:?}");
        }
    }
}

/// A window that tunes itself stays ahead of slow start with TCP. With QUIC it announces itself half a
/// window late, which costs less than a tenth. Then it is the limit: with TCP half of its buffer (the
/// rest is overhead), with QUIC half to all of it, because a limit that is announced half a window
/// late leaves half to all of the window in use.
#[test]
fn a_tuned_window_stays_ahead_of_slow_start_and_then_is_the_limit() {
    for host in both() {
        let is_quic = matches!(host, Hosts::Quic(_));
        let free = trial("rate=100Mbit,rtt=100ms,queue=unlimited", "slowstart", host, 3_000_000);
        let text = "rate=100Mbit,rtt=100ms,queue=unlimited,rwnd=auto";
        let tuned = trial(text, "slowstart", host, 3_000_000);
        let late = if is_quic { 10 } else { 0 };
        let (tuned, free) = (time(&tuned), time(&free));
        assert!(
            (free..=free + free * late / 100).contains(&tuned),
            "{tuned} ns instead of {free} with {host:?}"
        );
        // A bandwidth-delay product of 12.5 MB against a window of 4 MB at most.
        let text = "rate=1Gbit,rtt=100ms,rwnd=auto:4MB";
        let outcome = trial(text, "slowstart", host, 200_000_000);
        let mbps = 200_000_000 * 8_000 / time(&outcome);
        let (most, least) = if is_quic { (320, 45) } else { (160, 85) };
        assert!(
            (most * least / 100..=most).contains(&mbps),
            "{mbps} Mbit/s with {host:?}, where the window allows {most}"
        );
        let Limited { rwnd, .. } = outcome.limited;
        assert!(rwnd.0 * 10 > outcome.acked_after.0 * 8, "{:?}", outcome.limited);
    }
}

#[test]
fn the_reasons_add_up_to_the_time_of_the_transfer() {
    for host in both() {
        for (text, arm) in [
            ("rate=20Mbit,rtt=30ms,queue=10ms", "slowstart"),
            ("rate=20Mbit,rtt=30ms,queue=10ms,loss=2%", "rapid-nojump"),
            ("rate=20Mbit,rtt=30ms,rwnd=40kB,read=6Mbit", "bbr@(maxrate=9Mbit)"),
        ] {
            let outcome = trial(text, arm, host, 1_000_000);
            assert_eq!(whole(&outcome.limited), outcome.acked_after.0, "{arm} over {text}");
        }
    }
}

/// A transfer within the first window waits for nothing but its ACKs.
#[test]
fn a_short_object_is_limited_by_its_own_end() {
    for host in both() {
        let outcome = trial("rate=1Gbit,rtt=100ms", "slowstart@(pace=off)", host, 5_000);
        let Limited { app, .. } = outcome.limited;
        assert_eq!(app.0, outcome.acked_after.0, "{:?}", outcome.limited);
        assert!(app.0 < SECOND);
    }
}

/// Full packets are as large as the path's MTU; headers are the same, so that the shares of an
/// object are 1220 of 1280 bytes, 1436 of 1500 and 8936 of 9000 (QUIC).
#[test]
fn packets_have_the_size_of_the_path() {
    const OBJECT: u64 = 20_000_000;
    for host in both() {
        for mtu in [1_228, 1_280, 1_500, 9_000] {
            let text = format!("rate=100Mbit,rtt=30ms,queue=100MB,mtu={mtu}B");
            let host = host.on(&path(&text));
            assert_eq!(u64::from(host.packet_bytes()), mtu, "{}", host.transport());
            let outcome = trial(&text, "slowstart", host, OBJECT);
            let payload = match host {
                Hosts::Quic(host) => host.payload(),
                Hosts::Tcp(host) => u64::from(host.mss),
            };
            let packets = OBJECT.div_ceil(payload);
            assert_eq!(outcome.counters.packets_sent, packets, "{mtu} B over {}", host.transport());
            // 80 ns per byte; slow start fills the path within some round trips.
            let served = (OBJECT + packets * (mtu - payload)) * 80;
            let took = time(&outcome) - served;
            assert!(
                (14 * MS..200 * MS).contains(&took),
                "{mtu} B over {}: {took} ns more than the packets take",
                host.transport()
            );
        }
    }
    let tiny = path("rate=100Mbit,rtt=30ms,mtu=1200B");
    let hosts = both().map(|host| host.on(&tiny).packet_bytes());
    assert_eq!(hosts, [1_228, 1_200], "QUIC's datagrams have at least 1200 bytes");
}

/// A timeout that cannot exceed two minutes always comes before the ACK if a round trip takes five.
#[test]
fn a_longer_bound_of_the_timeout_carries_tcp_over_five_minutes() {
    let run = |rto_max| {
        let host = tcp::Host { rto_max, ..tcp::Host::default() };
        let text = "rate=10Mbit,rtt=300s,queue=100MB";
        let path = path(text);
        let host = Hosts::Tcp(host);
        let setup = Setup {
            path: &path,
            host,
            pacer_burst: 10 * host.mss(),
            object: 100_000,
            limit: Nanos::from_secs(86_400),
            seed: 1,
            path_index: 0,
        };
        let outcome = run(&setup, controller("slowstart", host, Nanos::ZERO), None);
        outcome.expect("the path carries the packets")
    };
    let [two_minutes, an_hour] = [None, Some(Nanos::from_secs(3_600))].map(run);
    assert_eq!(an_hour.counters.rtos, 0, "an ACK comes after 300 s, a timeout later");
    assert!(two_minutes.counters.spurious_timeouts > 0, "{:?}", two_minutes.counters);
    // Three round trips of slow start, less the way back.
    let seconds = time(&an_hour) / SECOND;
    assert!((700..800).contains(&seconds), "{seconds} s for 70 segments");
    assert!(
        two_minutes.counters.retransmitted_bytes > 0 && time(&two_minutes) > time(&an_hour),
        "{} s with a bound of two minutes",
        time(&two_minutes) / SECOND
    );
}
