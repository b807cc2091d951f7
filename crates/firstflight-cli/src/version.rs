//! `--version`: the build's version and features.

use std::sync::LazyLock;

/// Features, and whether this build has them.
const FEATURES: [(&str, bool); 6] = [
    ("replay", cfg!(feature = "replay")),
    ("keylog", cfg!(feature = "keylog")),
    ("quic", cfg!(feature = "quic")),
    ("bpf", cfg!(feature = "bpf")),
    ("linux", cfg!(feature = "linux")),
    ("parquet", cfg!(feature = "parquet")),
];

/// Version, commit, features and target, one line each.
pub(crate) static LONG: LazyLock<String> = LazyLock::new(|| {
    let with = |wanted: bool| {
        let names = FEATURES.iter().filter(|(_, has)| *has == wanted).map(|(name, _)| *name);
        let names = names.collect::<Vec<_>>().join(", ");
        if names.is_empty() { "none".to_owned() } else { names }
    };
    let without = match with(false).as_str() {
        "none" => String::new(),
        names => format!(" (not built in: {names}; `--features full` has all)"),
    };
    format!(
        "{}\ncommit:   {}\nfeatures: {}{without}\ntarget:   {}",
        env!("CARGO_PKG_VERSION"),
        env!("FIRSTFLIGHT_COMMIT"),
        with(true),
        env!("FIRSTFLIGHT_TARGET"),
    )
});
