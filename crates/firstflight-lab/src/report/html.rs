//! Puts the data and the page's own files together. Nothing is fetched when the page opens, and its
//! content policy says so; the data stands in a script element of type JSON, in which no byte
//! sequence can end the element.

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
    /// Kind of page, shown beside the name of the program.
    pub kind: &'a str,
    /// The id of the heading that a keyboard user can skip to; also the word for it.
    pub skip: &'a str,
    /// Styles besides the common one.
    pub styles: &'a [&'a str],
    /// Content below title and lead.
    pub body: &'a str,
    /// Scripts that it shares with other kinds of pages.
    pub common: &'a [&'a str],
    /// Its own scripts, behind the common ones.
    pub scripts: &'a [&'a str],
}

/// The scripts that draw a comparison, whether its data stand in the page or are computed there.
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

/// The style of charts that stand still.
pub const STILL_STYLE: &str = include_str!("still.css");

/// The scripts of charts that stand still: they read the data into `report` and draw frames into
/// the page.
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

/// The page of an answer for recorded paths: that of an A/B test, with the answer above it and
/// below it what was read.
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
    styles: &[STILL_STYLE],
    body: include_str!("trial.html"),
    common: STILL_SCRIPTS,
    scripts: &[include_str!("trial.js")],
};

/// The page of a diff.
pub(super) const DIFF: Page<'_> = Page {
    kind: "diff",
    skip: "changes",
    styles: &[STILL_STYLE, include_str!("diff.css")],
    body: include_str!("diff.html"),
    common: STILL_SCRIPTS,
    scripts: &[include_str!("diff.js")],
};

/// A simulator inside a page, which the page's scripts run.
#[derive(Clone, Copy, Debug)]
pub struct Inside<'a> {
    /// Its module of WebAssembly, as gzip in base64.
    pub module: &'a str,
    /// Request from which the page was made: options and values, as JSON.
    pub plan: &'a str,
}

impl Report {
    /// The page. Series are thinned as [`Report::bounded`] says, so any trace may go in.
    pub fn to_html(&self) -> String {
        // Only maps with keys other than strings can fail here, and there are none.
        COMPARE.fill(
            &self.title,
            &self.version,
            &serde_json::to_string(&self.bounded()).unwrap_or_default(),
        )
    }
}

impl Page<'_> {
    /// The page with this title and these data. `json` is the data as the scripts read it.
    pub fn fill(&self, title: &str, version: &str, json: &str) -> String {
        self.fill_with(title, version, json, None)
    }

    /// The same page with a simulator inside. Its policy then allows to compile that, and to run it
    /// beside the page.
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
        // One pass over the frame alone: marks inside the data or the title stay what they are.
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

/// As text of an element or of a quoted attribute; characters that steer are visible.
pub fn text(raw: &str) -> String {
    let raw = firstflight_table::text::cell(raw);
    raw.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// As the content of a script element: without `<` neither `</script>` nor `<!--` can appear, and
/// inside JSON `<` only ever stands in strings, where the escape means the same character. Characters that
/// steer are visible.
fn script(json: &str) -> String {
    firstflight_table::text::readable_json(json).replace('<', "\\u003c")
}
