//! Combines the data and the page's own files. The page fetches nothing when it opens, and its
//! content policy enforces that. The data is in a script element of type JSON, escaped so that no
//! byte sequence can end the element.

use super::Report;

const FRAME: &str = include_str!("frame.html");
/// The style of every page.
pub const STYLE: &str = include_str!("style.css");
const NUMBERS: &str = include_str!("numbers.js");
const DRAW: &str = include_str!("draw.js");
const CHROME: &str = include_str!("chrome.js");
const FRAMES: &str = include_str!("frames.js");

/// Parts of one kind of page; frame, colours and tools are common to all.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Kind of page, shown next to the name of the program.
    pub kind: &'a str,
    /// The id and text of the heading that a keyboard user can skip to.
    pub skip: &'a str,
    /// Styles in addition to the common one.
    pub styles: &'a [&'a str],
    /// Content below the title and the finding.
    pub body: &'a str,
    /// Scripts shared with other kinds of pages.
    pub common: &'a [&'a str],
    /// Scripts of this page, loaded after the common ones.
    pub scripts: &'a [&'a str],
}

/// The scripts that draw a comparison, whether the data is in the page or computed there.
pub const COMPARE_SCRIPTS: &[&str] = &[
    include_str!("data.js"),
    NUMBERS,
    DRAW,
    include_str!("charts.js"),
    CHROME,
    include_str!("words.js"),
    include_str!("interact.js"),
];

/// The page of a comparison.
pub const COMPARE: Page<'_> = Page {
    kind: "compare",
    skip: "results",
    styles: &[],
    body: include_str!("page.html"),
    common: COMPARE_SCRIPTS,
    scripts: &[include_str!("main.js")],
};

/// The style of static charts.
pub const STILL_STYLE: &str = include_str!("still.css");

/// The style of a body that is rendered from a document.
pub const DOCUMENT_STYLE: &str = include_str!("document.css");

/// The end of such a body; its script fills in the command.
pub const AGAIN: &str = "<section aria-labelledby=\"again\"><h2 id=\"again\">Run it again</h2><p class=\"how\">The same command with the same version gives the \
     same numbers, on any machine, with any number of threads.</p><div class=\"command\"><pre id=\"command\" tabindex=\"0\"></pre>\
     <button type=\"button\" id=\"copy\" class=\"quiet no-print\">Copy</button></div></section>\n";

/// The scripts of static charts: they read the data into `report` and draw frames into the page.
pub const STILL_SCRIPTS: &[&str] = &[
    "const report = JSON.parse(document.getElementById(\"data\").textContent);",
    NUMBERS,
    DRAW,
    FRAMES,
    CHROME,
];

/// The page of an A/B test.
pub(super) const AB: Page<'_> = Page {
    kind: "A/B test",
    skip: "verdict",
    styles: &[STILL_STYLE, include_str!("ab.css")],
    body: include_str!("ab.html"),
    common: STILL_SCRIPTS,
    scripts: &[include_str!("ab_charts.js"), include_str!("ab.js")],
};

/// The page of a recommendation for recorded paths: the page of an A/B test, with the
/// recommendation above it and the input data below.
pub(super) const ADVICE: Page<'_> = Page {
    kind: "advice",
    skip: "answer",
    styles: AB.styles,
    body: concat!(
        include_str!("advice_answer.html"),
        include_str!("ab.html"),
        include_str!("advice_evidence.html")
    ),
    common: STILL_SCRIPTS,
    scripts: &[include_str!("ab_charts.js"), include_str!("ab.js"), include_str!("advice.js")],
};

/// The page of a sweep.
pub(super) const SWEEP: Page<'_> = Page {
    kind: "sweep",
    skip: "best",
    styles: &[STILL_STYLE, include_str!("sweep.css")],
    body: include_str!("sweep.html"),
    common: STILL_SCRIPTS,
    scripts: &[include_str!("sweep.js")],
};

/// The page of a field test.
#[cfg(feature = "field")]
pub(super) const TRIAL: Page<'_> = Page {
    kind: "field test",
    skip: "effects",
    styles: &[STILL_STYLE, DOCUMENT_STYLE],
    body: "",
    common: STILL_SCRIPTS,
    scripts: &[include_str!("trial.js")],
};

/// The page of a tuning.
#[cfg(feature = "tune")]
pub(super) const TUNE: Page<'_> = Page {
    kind: "tuning",
    skip: "parameters",
    styles: &[STILL_STYLE, include_str!("ab.css")],
    body: include_str!("tune.html"),
    common: STILL_SCRIPTS,
    scripts: &[include_str!("tune.js")],
};

/// The page of a diff.
pub(super) const DIFF: Page<'_> = Page {
    kind: "diff",
    skip: "changes",
    styles: &[STILL_STYLE, DOCUMENT_STYLE],
    body: "",
    common: STILL_SCRIPTS,
    scripts: &[include_str!("diff.js")],
};

/// A simulator inside a page, run by the page's scripts.
#[derive(Clone, Copy, Debug)]
pub struct Inside<'a> {
    /// The WebAssembly module, as gzip in base64.
    pub module: &'a str,
    /// The request that produced the page: options and values, as JSON.
    pub plan: &'a str,
}

impl Report {
    /// The page. Series are thinned as in [`Report::bounded`], so traces of any size are allowed.
    pub fn to_html(&self) -> String {
        // Only maps with non-string keys can fail here, and there are none.
        COMPARE.fill(
            &self.title,
            &self.version,
            &serde_json::to_string(&self.bounded()).unwrap_or_default(),
        )
    }
}

impl Page<'_> {
    /// The page with this title and data. `json` is the data in the format of the scripts.
    pub fn fill(&self, title: &str, version: &str, json: &str) -> String {
        self.fill_with(title, version, json, None)
    }

    /// Like [`Page::fill`], with the simulator embedded. The page's policy then allows it to
    /// compile and run the simulator.
    pub fn fill_with(
        &self,
        title: &str,
        version: &str,
        json: &str,
        inside: Option<&Inside<'_>>,
    ) -> String {
        let (title, version, data) = (text(title), text(version), script(json));
        let policy = inside.map_or("", |_| " 'wasm-unsafe-eval'; worker-src blob:");
        let inside = inside.map_or(String::new(), |inside| {
            let plan = script(inside.plan);
            format!(
                "<script type=\"application/json\" id=\"plan\">{plan}</script>\n\
                 <script type=\"application/gzip\" id=\"engine\">{}</script>\n",
                inside.module
            )
        });
        let styles = [&[STYLE], self.styles].concat().join("\n");
        let scripts = [self.common, self.scripts].concat().join("\n");
        // A single pass over the frame: placeholders inside the data or the title are left alone.
        let mut out = String::with_capacity(
            FRAME.len()
                + styles.len()
                + scripts.len()
                + self.body.len()
                + data.len()
                + inside.len()
                + 1_000,
        );
        let mut rest = FRAME;
        while let Some((before, tail)) = rest.split_once("{{")
            && let Some((name, after)) = tail.split_once("}}")
        {
            out.push_str(before);
            out.push_str(match name {
                "title" => &title,
                "version" => &version,
                "data" => &data,
                "policy" => policy,
                "inside" => &inside,
                "kind" => self.kind,
                "skip" => self.skip,
                "styles" => &styles,
                "body" => self.body,
                "scripts" => &scripts,
                _ => "",
            });
            rest = after;
        }
        out.push_str(rest);
        out
    }
}

/// Up to three arms by name, more by their number: for a title.
pub(super) fn in_words<S: AsRef<str>>(arms: &[S]) -> String {
    if arms.len() > 3 {
        return format!("{} arms", arms.len());
    }
    arms.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join(", ")
}

/// Escapes text for an element or a quoted attribute; control characters are made visible.
pub fn text(raw: &str) -> String {
    let raw = firstflight_table::text::cell(raw);
    raw.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Escapes the content of a script element: without `<` neither `</script>` nor `<!--` can appear,
/// and inside JSON `<` only occurs in strings, where the escape means the same character. Control
/// characters are made visible.
fn script(json: &str) -> String {
    firstflight_table::text::readable_json(json).replace('<', "\\u003c")
}
