//! Tells the program what it was built from, for `--version`: commit and target; and puts the engine
//! of the playground into it, if `FIRSTFLIGHT_ENGINE` names one. Nothing of it is needed: outside of
//! a checkout, or without git, the commit is that of the package or unknown.

use std::path::Path;
use std::process::Command;

/// A packager's word for the commit.
const COMMIT: &str = "FIRSTFLIGHT_COMMIT";

/// The absolute path of `engine.wasm.gz`, which `make web` builds.
const ENGINE: &str = "FIRSTFLIGHT_ENGINE";

fn main() {
    println!("cargo::rerun-if-env-changed={COMMIT}");
    println!("cargo::rerun-if-changed=build.rs");
    let told = std::env::var(COMMIT).ok().filter(|commit| !commit.trim().is_empty());
    let commit = told.or_else(of_checkout).or_else(of_package);
    println!("cargo::rustc-env={COMMIT}={}", commit.as_deref().unwrap_or("unknown").trim());
    let target = std::env::var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=FIRSTFLIGHT_TARGET={target}");
    engine();
}

/// The engine as `engine.wasm.gz` of the build, empty where there is none: `firstflight ui` says so,
/// and reports are without it.
fn engine() {
    println!("cargo::rerun-if-env-changed={ENGINE}");
    let named = std::env::var(ENGINE).ok().filter(|file| !file.trim().is_empty());
    let out = std::env::var("OUT_DIR").expect("cargo says where to write");
    let bytes = named.map_or_else(Vec::new, |file| {
        println!("cargo::rerun-if-changed={file}");
        let bytes = std::fs::read(&file).unwrap_or_else(|error| panic!("{ENGINE}={file}: {error}"));
        assert!(bytes.starts_with(b"\x1f\x8b"), "{ENGINE}={file}: is no engine.wasm.gz");
        bytes
    });
    std::fs::write(Path::new(&out).join("engine.wasm.gz"), bytes).expect("the build can write");
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| output.status.success() && !text.is_empty())
}

/// The commit of the checkout that this file belongs to; a copy inside of another project's
/// checkout belongs to none.
fn of_checkout() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    // A commit moves the branch that HEAD names, another checkout HEAD itself.
    for name in ["HEAD", "logs/HEAD"] {
        let file = git(&["rev-parse", "--git-path", name])?;
        if Path::new(&file).exists() {
            println!("cargo::rerun-if-changed={file}");
        }
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

/// The commit that `cargo package` noted.
fn of_package() -> Option<String> {
    let text = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = text.split_once("\"sha1\"")?;
    let commit = rest.split('"').nth(1)?;
    commit.get(..12).map(str::to_owned)
}
