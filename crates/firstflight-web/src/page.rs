//! The page: static files that any server can hand out, and that need nothing but each other and
//! the engine. Charts, table and colours are those of the reports. Plain scripts without a framework:
//! what a framework would save here is less than what it would add.

use firstflight_lab::report::html::{COMPARE_SCRIPTS, STYLE};

/// One file of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name, beside the others.
    pub name: &'static str,
    /// Its content type.
    pub kind: &'static str,
    /// Content.
    pub text: String,
}

/// The name of the engine, the one file that is built (`make web`), and its content type.
pub const ENGINE: (&str, &str) = ("engine.wasm", "application/wasm");

/// Content security policy of every file: nothing is loaded from elsewhere, nothing runs that is
/// not a file of the page, and only the engine is compiled.
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

/// All files but the engine.
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
