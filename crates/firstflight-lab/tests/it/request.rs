//! One table of requests: keys of experiments, keyword arguments of Python and options of the
//! command line agree.

use firstflight_lab::request::{
    AbRequest, Asked, CompareRequest, Key, Takes, from_pairs, keys, parse,
};
use std::fmt::Write;
use std::{env, fs};

fn names(keys: &[Key]) -> String {
    keys.iter().map(|key| key.name.as_str()).collect::<Vec<_>>().join(" ")
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.into(), value.into())
}

#[test]
fn a_request_says_what_is_compared_and_nothing_else() {
    let compare = "on real transport detection path bytes arms resume seed repeat iw limit flows apart jitter cross app";
    assert_eq!(names(&keys::<CompareRequest>()), compare);
    let ab = "population flows baseline arms transport detection seed iw limit max-loss-cost max-queue max-slower";
    assert_eq!(names(&keys::<AbRequest>()), ab);
}

#[test]
fn every_option_has_a_meaning_and_a_default_that_is_taken() {
    for key in keys::<CompareRequest>().iter().chain(&keys::<AbRequest>()) {
        assert!(!key.help.is_empty(), "--{} means something", key.name);
    }
    for key in keys::<CompareRequest>() {
        let typed = key.default.iter().filter_map(|value| key.word(value).ok()?);
        let request = parse::<CompareRequest>(&typed.collect::<Vec<_>>());
        assert!(request.is_ok(), "the default of --{}: {:?}", key.name, request.err());
    }
}

#[test]
fn a_flag_is_true_or_false() {
    let real = |value| from_pairs::<CompareRequest>(&[pair("real", value)]);
    assert!(matches!(real("false").and_then(|request| request.asked()), Ok(Asked::Alone(_))));
    let refused = real("true").and_then(|request| request.asked()).map(|_| ()).unwrap_err();
    assert!(refused.as_str().starts_with("--real: only `--on quic`"), "{}", refused.as_str());
    assert_eq!(real("on").unwrap_err().as_str(), "--real on: allowed: true or false");
}

#[test]
fn options_of_several_flows_ask_for_several() {
    let pairs = [pair("flows", "3"), pair("cross", "rapid"), pair("app", "web:2:10ms")];
    let asked = from_pairs::<CompareRequest>(&pairs).and_then(|request| request.asked());
    let Ok(Asked::Together(plan)) = asked else { panic!("not several flows: {asked:?}") };
    assert_eq!((plan.flows, plan.cross.len(), plan.app_name.as_str()), (3, 1, "web:2:10ms"));
    let unknown = from_pairs::<CompareRequest>(&[pair("flow", "3")]).unwrap_err();
    assert_eq!(unknown.as_str(), "--flow: unknown option");
}

/// A keyword argument of Python.
fn keyword(key: &Key) -> String {
    let kind = match key.takes {
        Takes::Text => "str",
        Takes::Number | Takes::Size => "Number",
        Takes::Flag => "bool",
        Takes::Arms if key.name == "baseline" => "ArmLike",
        Takes::Arms => "ArmLike | Sequence[ArmLike]",
        Takes::Path => "str | os.PathLike[str] | Path",
        Takes::Population => "str | os.PathLike[str] | Population",
    };
    let name = key.name.replace('-', "_");
    let default = match (&key.default, key.takes) {
        (_, Takes::Flag) => return format!("{name}: bool = False"),
        (None, _) => return format!("{name}: {kind} | None = None"),
        (Some(number), Takes::Number) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            number.clone()
        }
        (Some(text), _) => format!("\"{text}\""),
    };
    format!("{name}: {kind} = {default}")
}

/// The parameters of a function: the first ones by position too, the others by name only.
fn parameters(keys: &[Key], first: &[&str], without: &[&str]) -> String {
    let mut text = String::new();
    for name in first {
        let key = keys.iter().find(|key| key.name == *name).expect("an option");
        let _ = writeln!(text, "    {},", keyword(key));
    }
    text.push_str("    *,\n");
    let others = keys.iter().filter(|key| ![first, without].concat().contains(&key.name.as_str()));
    for key in others {
        let _ = writeln!(text, "    {},", keyword(key));
    }
    text
}

#[test]
fn the_keyword_arguments_of_python_are_the_options() {
    const BEGIN: &str = "    # Options, written by `WRITE_DOCS=1 cargo test -p firstflight-lab --features request the_keyword_arguments_of_python`.\n";
    const END: &str = "    # End of options.\n";
    let (compare, ab) = (keys::<CompareRequest>(), keys::<AbRequest>());
    let files = [
        ("_compare.py", parameters(&compare, &["path", "arms"], &[])),
        // Several flows at a time are no sweep.
        (
            "_sweep.py",
            parameters(&compare, &["path", "arms"], &["flows", "apart", "jitter", "cross", "app"]),
        ),
        ("_ab.py", parameters(&ab, &["population", "arms"], &[])),
        #[cfg(feature = "tune")]
        (
            "_tune.py",
            parameters(&keys::<firstflight_lab::request::TuneRequest>(), &["population"], &[]),
        ),
        // A cluster has its own idea of how many connections are worth it.
        ("ray.py", parameters(&ab, &["population", "arms"], &["flows"])),
    ];
    for (file, expected) in files {
        let name = format!("{}/../../python/firstflight/{file}", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(&name).expect("the package");
        let (before, rest) = text.split_once(BEGIN).expect("where the options begin");
        let (found, after) = rest.split_once(END).expect("where the options end");
        if env::var_os("WRITE_DOCS").is_some() {
            fs::write(name, format!("{before}{BEGIN}{expected}{END}{after}")).expect("written");
        } else {
            assert!(
                found == expected,
                "python/firstflight/{file} does not have the options:\n{expected}"
            );
        }
    }
}
