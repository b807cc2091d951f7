//! The page: static files that any server can provide, and that need only each other and the
//! engine. Charts, table and colours are those of the reports. The scripts use no framework, which
//! would add more code than it saves.

use firstflight_lab::report::html::{COMPARE_SCRIPTS, STYLE};

/// One file of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name, relative to the other files.
    pub name: &'static str,
    /// Its content type.
    pub kind: &'static str,
    /// Content.
    pub text: String,
}

/// The name and content type of the engine, the only file that is built (`make web`).
pub const ENGINE: (&str, &str) = ("engine.wasm", "application/wasm");

/// Content security policy of every file: nothing is loaded from elsewhere, only scripts of the
/// page run, and only the engine is compiled.
pub const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src \
                          'self'; img-src data:; connect-src 'self'; worker-src 'self'; base-uri \
                          'none'; form-action 'none'";

pub(crate) const ASK: &str = include_str!("../page/ask.js");
pub(crate) const SLIDERS: &str = include_str!("../page/sliders.js");
pub(crate) const ENGINE_SCRIPT: &str = include_str!("../page/engine.js");

const SCRIPTS: &[&str] = &[
    ASK,
    include_str!("../page/state.js"),
    SLIDERS,
    include_str!("../page/controls.js"),
    include_str!("../page/watch.js"),
    include_str!("../page/grid.js"),
    include_str!("../page/tour.js"),
    include_str!("../page/replay.js"),
    include_str!("../page/game.js"),
    include_str!("../page/play.js"),
];

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// All files except the engine.
pub fn files() -> Vec<File> {
    let tour = concat!("const TOUR = ", include_str!("../page/tour.json"), ";\n");
    let scripts = [COMPARE_SCRIPTS, &[tour], SCRIPTS].concat().join("\n");
    let style = [STYLE, include_str!("../page/playground.css")].join("\n");
    let file = |name, kind, text: &str| File { name, kind, text: text.to_owned() };
    vec![
        file("index.html", "text/html; charset=utf-8", include_str!("../page/index.html")),
        file("playground.css", "text/css; charset=utf-8", &style),
        file("playground.js", SCRIPT, &format!("(() => {{\n\"use strict\";\n{scripts}}})();\n")),
        file("worker.js", SCRIPT, include_str!("../page/worker.js")),
        file("engine.js", SCRIPT, ENGINE_SCRIPT),
    ]
}
