//! The table of fields: what is written of an event is all that there is to it, and reading it back
//! gives the same event.

use crate::told::Told;
use firstflight::event::{Ready, Timeout};
use firstflight::fields::{Datum, EVENT, EXIT, Value};
use firstflight::named::Wrong;
use firstflight::{Congestion, Event, Nanos, Ratio, Sent, Seq, SoFar, Time};

fn events() -> [Event; 8] {
    let now = Time(7);
    let full = Told {
        now,
        acked: 1,
        acked_fresh: 2,
        lost: 3,
        ce: true,
        ce_bytes: Some(1),
        rtt: Some(Nanos(4)),
        srtt: Some(Nanos(5)),
        min_rtt: Some(Nanos(6)),
        una: Seq(7),
        nxt: Seq(8),
        advanced: true,
        flight: 9,
        sacked: 10,
        inflight_before: 11,
        inflight: 12,
        delivered: 13,
        sent: 14,
        tx_acked: Some(15),
        tx_lost: Some(16),
        tx_next: 17,
        lost_again: true,
        repeat_acked: true,
        rescue_next: true,
        unrepaired: true,
        cwnd_limited: true,
        app_limited: true,
        receiver_ts: Some(18),
    };
    // The highest `una` so far is no field of its own.
    let so_far = SoFar { una: Seq(0), ..full.so_far() };
    let timer = Told { now, lost: 3, ..Told::default() };
    [
        Event::HandshakeRtt { now, rtt: Nanos(31) },
        Event::Ready(Ready {
            now,
            nxt: Seq(3),
            inflight: 4,
            backlog: 5,
            srtt: Some(Nanos(6)),
            idle: Nanos(8),
            timeout: Nanos(9),
        }),
        Event::Sent(Sent { now, bytes: 1200, nxt: Seq(4), inflight: 2400, srtt: None }),
        Event::Ack(full.ack(), so_far),
        Event::Ack(timer.ack(), timer.so_far()),
        Event::Congestion(Congestion {
            now,
            timeout: Timeout::RtoAgain,
            nxt: Seq(8),
            inflight_before: 9,
        }),
        Event::Spurious { now },
        Event::Mss { now, mss: 1400 },
    ]
}

fn text(value: Value<'_>) -> String {
    match value {
        Value::Name(name) => name.to_owned(),
        Value::Ratio(ratio) => format!("{}/{}", ratio.num(), ratio.den()),
        Value::Whole(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Flag(flag) => flag.to_string(),
    }
}

#[test]
fn an_event_read_back_from_its_fields_is_the_same_event() {
    for event in events() {
        let mut back = Event::blank(event.name(), event.now()).expect("a known name");
        for field in EVENT {
            let written = field.get(&event).map(text);
            field.put(&mut back, written.as_deref()).expect("what was written can be read");
        }
        assert_eq!(format!("{back:?}"), format!("{event:?}"), "{} comes back", event.name());
    }
}

#[test]
fn an_event_without_a_field_that_it_needs_is_none() {
    for (name, field) in [("ack", "una"), ("sent", "nxt"), ("sent", "sent_bytes"), ("mss", "mss")] {
        let mut event = Event::blank(name, Time(0)).expect("a known name");
        let field = EVENT.iter().find(|known| known.name == field).expect("a field");
        assert_eq!(field.put(&mut event, None), Err(Wrong::Absent), "{name} needs {}", field.name);
    }
    let mut ack = Event::blank("ack", Time(0)).expect("a known name");
    for field in EVENT.iter().filter(|field| !["una", "nxt"].contains(&field.name)) {
        assert_eq!(field.put(&mut ack, None), Ok(()), "an ACK may come without {}", field.name);
    }
    assert!(Event::blank("of a later version", Time(0)).is_none());
}

#[test]
fn every_field_has_a_name_of_its_own_and_a_meaning() {
    let mut names: Vec<&str> = EVENT.iter().map(|field| field.name).collect();
    names.extend(EXIT.iter().map(|field| field.name));
    assert!(EVENT.iter().all(|field| !field.doc.is_empty()), "each says what it means");
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "no name stands twice");
}

#[test]
fn a_blank_event_has_its_name_and_its_time() {
    for event in events() {
        let blank = Event::blank(event.name(), Time(9)).expect("an event of this name");
        assert_eq!(blank.now(), Time(9), "{}", event.name());
        // Whether an ACK is a timer's is told by what it says.
        let kind = if event.name() == "timer" { "ack" } else { event.name() };
        assert_eq!(blank.name(), kind);
    }
    assert!(Event::blank("send", Time(9)).is_none(), "no event is called so");
}

#[test]
fn a_ratio_is_read_as_it_is_written() {
    let mut ratio = Ratio::new(1, 2);
    assert_eq!(ratio.put(Some("5/4"), true), Ok(()));
    assert_eq!(ratio, Ratio::new(5, 4));
    assert_eq!(ratio.value().map(text).as_deref(), Some("5/4"));
    for wrong in ["5", "5/0", "/4", "5/4/3", "-5/4"] {
        assert!(ratio.put(Some(wrong), true).is_err(), "`{wrong}` is no ratio");
    }
    assert_eq!(ratio.put(None, true), Err(Wrong::Absent));
    assert_eq!(ratio, Ratio::new(5, 4), "what is wrong changes nothing");
}
