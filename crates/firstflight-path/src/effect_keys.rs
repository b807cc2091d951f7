//! Keys of the effects on packets of one direction, in the order in which they are printed.

use crate::capacity::queue;
use crate::direction::{Aqm, Ecn, Effects, GilbertElliott, Jitter, Policer, Reorder};
use crate::error::{Error, Key};
use crate::managed::{DualPi2, FqCodel, Red};
use crate::setting::Setting;
use crate::value::{self, print_factor, print_percent, print_time};

pub(crate) const EFFECTS: &[Setting<Effects>] = &[
    Setting {
        name: "policer",
        alone: false,
        read: |effects, key, text| Ok(Effects { policer: Some(policer(key, text)?), ..effects }),
        show: |effects| effects.policer.map(|policer| policer.to_string()),
        draws: |_| false,
    },
    Setting {
        name: "codel",
        alone: true,
        read: |effects, key, text| managed(effects, key, text, Aqm::CODEL, codel),
        show: |effects| match effects.aqm? {
            Aqm::CODEL => Some(String::new()),
            Aqm::Codel { target, interval } => {
                Some(format!("{}:{}", print_time(target), print_time(interval)))
            }
            _ => None,
        },
        draws: |_| false,
    },
    Setting {
        name: "pie",
        alone: true,
        read: |effects, key, text| {
            managed(effects, key, text, Aqm::PIE, |key, text| {
                Ok(Aqm::Pie { target: value::TIME.parse(key, text)? })
            })
        },
        show: |effects| match effects.aqm? {
            Aqm::PIE => Some(String::new()),
            Aqm::Pie { target } => Some(print_time(target)),
            _ => None,
        },
        draws: |effects| matches!(effects.aqm, Some(Aqm::Pie { .. })),
    },
    Setting {
        name: "red",
        alone: true,
        read: |effects, key, text| {
            managed(effects, key, text, Aqm::Red(Red::default()), |key, text| {
                Red::parse(key, text, false).map(Aqm::Red)
            })
        },
        show: |effects| red(effects.aqm?, Red::default()),
        draws: |effects| matches!(effects.aqm, Some(Aqm::Red(red)) if !red.adaptive),
    },
    Setting {
        name: "ared",
        alone: true,
        read: |effects, key, text| {
            managed(effects, key, text, Aqm::Red(adaptive()), |key, text| {
                Red::parse(key, text, true).map(Aqm::Red)
            })
        },
        show: |effects| red(effects.aqm?, adaptive()),
        draws: |effects| matches!(effects.aqm, Some(Aqm::Red(red)) if red.adaptive),
    },
    Setting {
        name: "fq_codel",
        alone: true,
        read: |effects, key, text| {
            managed(effects, key, text, Aqm::FqCodel(FqCodel::default()), |key, text| {
                FqCodel::parse(key, text).map(Aqm::FqCodel)
            })
        },
        show: |effects| match effects.aqm? {
            Aqm::FqCodel(fq) => Some(fq.to_string()),
            _ => None,
        },
        // The seed determines which flows share a queue.
        draws: |effects| matches!(effects.aqm, Some(Aqm::FqCodel(fq)) if fq.flows > 1),
    },
    Setting {
        name: "dualpi2",
        alone: true,
        read: |effects, key, text| {
            managed(effects, key, text, Aqm::DualPi2(DualPi2::default()), |key, text| {
                DualPi2::parse(key, text).map(Aqm::DualPi2)
            })
        },
        show: |effects| match effects.aqm? {
            Aqm::DualPi2(dual) => Some(dual.to_string()),
            _ => None,
        },
        draws: |effects| matches!(effects.aqm, Some(Aqm::DualPi2(_))),
    },
    Setting {
        name: "ecn",
        alone: true,
        read: |effects, key, text| Ok(Effects { ecn: ecn(key, text)?, ..effects }),
        show: |effects| {
            Some(match effects.ecn? {
                Ecn::InsteadOfDrop => String::new(),
                Ecn::Above(queue) => queue.to_string(),
                Ecn::Chance(share) => format!("ce:{}", print_percent(share)),
                Ecn::Bleach => "bleach".to_owned(),
                Ecn::Drop => "drop".to_owned(),
            })
        },
        draws: |effects| matches!(effects.ecn, Some(Ecn::Chance(share)) if is_open(share)),
    },
    Setting {
        name: "ge",
        alone: false,
        read: |effects, key, text| Ok(Effects { ge: Some(gilbert_elliott(key, text)?), ..effects }),
        show: |effects| {
            let GilbertElliott { g, burst, h, k } = effects.ge?;
            let (g, h, k) = (print_percent(g), print_percent(h), print_percent(k));
            Some(format!("{g}:{}:{h}:{k}", print_factor(burst)))
        },
        draws: |effects| {
            let open = |GilbertElliott { g, h, k, .. }| is_open(k) || (g > 0 && h != k);
            effects.ge.is_some_and(open)
        },
    },
    Setting {
        name: "loss_every",
        alone: false,
        read: |effects, key, text| {
            let every = value::count(key, text, 1, 1_000_000_000)?;
            Ok(Effects { loss_every: Some(every), ..effects })
        },
        show: |effects| effects.loss_every.map(|every| every.to_string()),
        draws: |_| false,
    },
    Setting {
        name: "loss_until",
        alone: false,
        read: |effects, key, text| {
            Ok(Effects { loss_until: Some(value::TIME.parse(key, text)?), ..effects })
        },
        show: |effects| effects.loss_until.map(print_time),
        draws: |_| false,
    },
    Setting {
        name: "jitter",
        alone: false,
        read: |effects, key, text| Ok(Effects { jitter: Some(jitter(key, text)?), ..effects }),
        show: |effects| {
            Some(match effects.jitter? {
                Jitter::Uniform(0, high) => print_time(high),
                Jitter::Uniform(low, high) => format!("{}-{}", print_time(low), print_time(high)),
                Jitter::Normal(mean, sigma) => {
                    format!("normal:{}:{}", print_time(mean), print_time(sigma))
                }
            })
        },
        draws: |effects| match effects.jitter {
            Some(Jitter::Uniform(low, high)) => low < high,
            Some(Jitter::Normal(_, sigma)) => sigma > 0,
            None => false,
        },
    },
    Setting {
        name: "reorder",
        alone: false,
        read: |effects, key, text| Ok(Effects { reorder: Some(reorder(key, text)?), ..effects }),
        show: |effects| {
            let Reorder { first, second } = effects.reorder?;
            let pair = |(share, mean)| format!("{}:{}", print_percent(share), print_time(mean));
            Some(match second {
                None => pair(first),
                Some(second) => format!("{}:{}", pair(first), pair(second)),
            })
        },
        draws: |effects| {
            let draws = |Reorder { first, second }| {
                first.0 > 0 || second.is_some_and(|(share, _)| share > 0)
            };
            effects.reorder.is_some_and(draws)
        },
    },
    Setting {
        name: "dup",
        alone: false,
        read: |effects, key, text| {
            Ok(Effects { dup_ppb: value::LOSS.parse(key, text)?, ..effects })
        },
        show: |effects| (effects.dup_ppb != 0).then(|| print_percent(effects.dup_ppb)),
        draws: |effects| is_open(effects.dup_ppb),
    },
];

/// Whether a share, in 1e-9, is neither 0 nor 1.
pub(crate) fn is_open(share: u64) -> bool {
    (1..1_000_000_000).contains(&share)
}

/// Queue management, at most one per direction: `usual` if the key stands alone, `None` if its
/// value is `false`.
fn managed(
    effects: Effects,
    key: Key,
    text: &str,
    usual: Aqm,
    parse: fn(Key, &str) -> Result<Aqm, Error>,
) -> Result<Effects, Error> {
    let aqm = match text {
        "false" => return Ok(effects),
        "true" => usual,
        text => parse(key, text)?,
    };
    if effects.aqm.is_some() {
        let alone = Effects { aqm: effects.aqm, ..Effects::default() };
        let first = EFFECTS.iter().find(|setting| (setting.show)(&alone).is_some());
        let first = first.map_or("another", |setting| setting.name);
        let wrong = format!("the queue already has {first}");
        return Err(Error::at(key, "...", wrong, format!("one of {first} and {}", key.1)));
    }
    Ok(Effects { aqm: Some(aqm), ..effects })
}

/// RED or adaptive RED, whichever `usual` is.
fn red(aqm: Aqm, usual: Red) -> Option<String> {
    match aqm {
        Aqm::Red(red) if red == usual => Some(String::new()),
        Aqm::Red(red) if red.adaptive == usual.adaptive => Some(red.to_string()),
        _ => None,
    }
}

fn adaptive() -> Red {
    Red { adaptive: true, ..Red::default() }
}

/// The key alone, a capacity, `ce:SHARE`, `bleach` or `drop`.
fn ecn(key: Key, text: &str) -> Result<Option<Ecn>, Error> {
    Ok(match text {
        "false" => None,
        "true" => Some(Ecn::InsteadOfDrop),
        "bleach" => Some(Ecn::Bleach),
        "drop" => Some(Ecn::Drop),
        text => Some(match text.strip_prefix("ce:") {
            Some(share) => Ecn::Chance(value::CHANCE.parse(key, share)?),
            None => Ecn::Above(queue(key, text)?),
        }),
    })
}

/// `RATE:BUCKET`.
fn policer(key: Key, text: &str) -> Result<Policer, Error> {
    let parts = value::fields(key, text, &["RATE", "BUCKET"], 2)?;
    let build = || {
        Ok(Policer {
            bps: value::RATE.parse("RATE", parts[0])?,
            bucket: value::TIME.parse("BUCKET", parts[1])?,
        })
    };
    build().map_err(|e: Error| e.within(format!("{key}={text}")))
}

/// `TARGET:INTERVAL`.
fn codel(key: Key, text: &str) -> Result<Aqm, Error> {
    let parts = value::fields(key, text, &["TARGET", "INTERVAL"], 2)?;
    let build = || {
        Ok(Aqm::Codel {
            target: value::TIME.parse("TARGET", parts[0])?,
            interval: value::TIME.parse("INTERVAL", parts[1])?,
        })
    };
    build().map_err(|e: Error| e.within(format!("{key}={text}")))
}

/// `G:BURST:H:K`, `K` may be left out.
fn gilbert_elliott(key: Key, text: &str) -> Result<GilbertElliott, Error> {
    let parts = value::fields(key, text, &["G", "BURST", "H", "K"], 3)?;
    let build = || {
        Ok(GilbertElliott {
            g: value::CHANCE.parse("G", parts[0])?,
            burst: value::BURST.parse("BURST", parts[1])?,
            h: value::CHANCE.parse("H", parts[2])?,
            k: parts.get(3).map_or(Ok(0), |k| value::CHANCE.parse("K", k))?,
        })
    };
    build().map_err(|e: Error| e.within(format!("{key}={text}")))
}

/// `MAX`, `MIN-MAX` or `normal:MEAN:SIGMA`.
fn jitter(key: Key, text: &str) -> Result<Jitter, Error> {
    if text.starts_with("normal") {
        let parts = value::fields(key, text, &["normal", "MEAN", "SIGMA"], 3)?;
        let build = || {
            Ok(Jitter::Normal(
                value::EXTRA.parse("MEAN", parts[1])?,
                value::EXTRA.parse("SIGMA", parts[2])?,
            ))
        };
        return build().map_err(|e: Error| e.within(format!("{key}={text}")));
    }
    let (low, high) = value::range(key, text, &value::EXTRA)?;
    Ok(if text.contains('-') { Jitter::Uniform(low, high) } else { Jitter::Uniform(0, high) })
}

/// `SHARE:MEAN` or `SHARE:MEAN:SHARE:MEAN`.
fn reorder(key: Key, text: &str) -> Result<Reorder, Error> {
    let parts = value::fields(key, text, &["SHARE", "MEAN", "SHARE", "MEAN"], 2)?;
    let pair = |share: &str, mean: &str| {
        Ok((value::CHANCE.parse("SHARE", share)?, value::TIME.parse("MEAN", mean)?))
    };
    let build = || match parts.as_slice() {
        [share, mean] => Ok(Reorder { first: pair(share, mean)?, second: None }),
        [share, mean, other, its_mean] => {
            Ok(Reorder { first: pair(share, mean)?, second: Some(pair(other, its_mean)?) })
        }
        _ => Err(Error::at(key, text, "has 3 fields", "SHARE:MEAN or SHARE:MEAN:SHARE:MEAN")),
    };
    build().map_err(|e: Error| e.within(format!("{key}={text}")))
}
