//! `firstflight watch`: replays live TCP connections with every startup.

#[cfg(feature = "bpf")]
mod answer;
mod options;
#[cfg(feature = "bpf")]
mod rows;
#[cfg(feature = "bpf")]
mod session;

pub(crate) use options::Options;

#[cfg(not(feature = "bpf"))]
pub(crate) fn run(_options: &Options) -> Result<crate::done::Done, firstflight_lab::Error> {
    Err(firstflight_lab::Error::new(
        "`watch` is not part of this build: `cargo build --release --features bpf` has it (Debian: clang libelf-dev zlib1g-dev)",
    ))
}

#[cfg(feature = "bpf")]
pub(crate) use session::run;
