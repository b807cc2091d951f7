//! Keys of a path that belong to neither direction, in the order in which they are printed.

use crate::error::{Error, Key};
use crate::path::{Acks, Delay, MOST_COMPRESSED, MOST_PER_ACK, MOST_PER_RTT, Path, Rwnd};
use crate::release::Release;
use crate::setting::Setting;
use crate::value::{self, print_rate, print_size, print_time};

pub(crate) const WHOLE: &[Setting<Path>] = &[
    Setting {
        name: "delay",
        alone: false,
        read: |path, _, text| delay(text).map(|delay| path.with_delay(delay)),
        show: |path| match path.delay() {
            Delay::Even => None,
            Delay::Before => Some("before".to_owned()),
            Delay::Behind => Some("behind".to_owned()),
        },
        draws: |_| false,
    },
    Setting {
        name: "overhead",
        alone: false,
        read: |path, key, text| Ok(path.with_overhead(value::OVERHEAD.parse(key, text)?)),
        show: |path| (path.overhead() != 0).then(|| print_size(path.overhead())),
        draws: |_| false,
    },
    Setting {
        name: "mtu",
        alone: false,
        read: |path, key, text| Ok(path.with_mtu(Some(value::MTU.parse(key, text)?))),
        show: |path| path.mtu().map(print_size),
        draws: |_| false,
    },
    Setting {
        name: "return",
        alone: false,
        read: |path, _, text| Ok(path.with_release(Release::parse(text)?)),
        show: |path| (*path.release() != Release::Plain).then(|| path.release().to_string()),
        draws: |path| path.release().draws(),
    },
    Setting {
        name: "thin",
        alone: false,
        read: |path, key, text| Ok(path.with_thin(Some(value::count(key, text, 1, 1_000_000)?))),
        show: |path| path.thin().map(|limit| limit.to_string()),
        draws: |_| false,
    },
    Setting {
        name: "gro",
        alone: false,
        read: |path, key, text| {
            let parts = value::fields(key, text, &["TIME", "BYTES"], 2)?;
            let window = value::TIME.parse(key, parts[0])?;
            Ok(path.with_gro(Some((window, value::SIZE.parse(key, parts[1])?))))
        },
        show: |path| {
            let (window, bytes) = path.gro_given()?;
            Some(format!("{}:{}", print_time(window), print_size(bytes)))
        },
        draws: |_| false,
    },
    Setting {
        name: "comp_sack",
        alone: false,
        read: |path, key, text| {
            let parts = value::fields(key, text, &["TIME", "COUNT"], 2)?;
            let count = value::count(key, parts[1], 1, MOST_COMPRESSED)?;
            Ok(path.with_comp_sack(Some((value::TIME.parse(key, parts[0])?, count))))
        },
        show: |path| {
            let (time, count) = path.sack_compression()?;
            Some(format!("{}:{count}", print_time(time)))
        },
        draws: |_| false,
    },
    Setting {
        name: "ack",
        alone: false,
        read: |path, key, text| Ok(path.with_acks(Some(acks(key, text)?))),
        show: |path| {
            Some(match path.acks()? {
                Acks::Every(packets) => packets.to_string(),
                Acks::PerRtt(times) => format!("{times}/rtt"),
            })
        },
        draws: |_| false,
    },
    Setting {
        name: "rwnd",
        alone: false,
        read: |path, key, text| Ok(path.with_rwnd(Some(rwnd(key, text)?))),
        show: |path| {
            Some(match path.rwnd()? {
                Rwnd::AUTO => "auto".to_owned(),
                Rwnd::Auto(bytes) => format!("auto:{}", print_size(bytes)),
                Rwnd::Fixed(bytes) => print_size(bytes),
            })
        },
        draws: |_| false,
    },
    Setting {
        name: "read",
        alone: false,
        read: |path, key, text| Ok(path.with_read(Some(value::RATE.parse(key, text)?))),
        show: |path| path.read_bps().map(print_rate),
        draws: |_| false,
    },
    Setting {
        name: "scone",
        alone: false,
        read: |path, key, text| Ok(path.with_scone(Some(value::RATE.parse(key, text)?))),
        show: |path| path.scone_bps().map(print_rate),
        draws: |_| false,
    },
    Setting {
        name: "hello",
        alone: false,
        read: |path, key, text| Ok(path.with_hello(Some(value::HELLO.parse(key, text)?))),
        show: |path| path.hello().map(print_size),
        draws: |_| false,
    },
];

/// `64kB`, `auto` or `auto:26MB`.
fn rwnd(key: Key, text: &str) -> Result<Rwnd, Error> {
    match text.strip_prefix("auto") {
        Some("") => Ok(Rwnd::AUTO),
        Some(most) => match most.strip_prefix(':') {
            Some(most) => value::RMEM.parse(key, most).map(Rwnd::Auto),
            None => value::RMEM.parse(key, text).map(Rwnd::Auto),
        },
        None => value::RWND.parse(key, text).map(Rwnd::Fixed),
    }
}

fn delay(text: &str) -> Result<Delay, Error> {
    match text {
        "even" => Ok(Delay::Even),
        "before" => Ok(Delay::Before),
        "behind" => Ok(Delay::Behind),
        _ => Err(Error::at(
            "delay",
            text,
            "is not a position of the propagation delay",
            "even, before or behind",
        )),
    }
}

/// `2`, every second packet, or `4/rtt`, four times per round trip.
fn acks(key: Key, text: &str) -> Result<Acks, Error> {
    match text.strip_suffix("/rtt") {
        Some(times) => value::count(key, times, 1, MOST_PER_RTT).map(Acks::PerRtt),
        None => value::count(key, text, 1, MOST_PER_ACK).map(Acks::Every),
    }
}
