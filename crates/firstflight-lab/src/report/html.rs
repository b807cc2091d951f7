//! Puts the data and the page's own files together. Nothing is fetched when the page opens, and its content policy
//! says so; the data stands in a script element of type JSON, in which no byte sequence can end the element.

use super::Report;

const PAGE: &str = include_str!("page.html");
/// What the page's `{{name}}` marks stand for, apart from title, version and data. Pages share most of them.
const PARTS: [(&str, &str); 11] = [
    ("style", include_str!("style.css")),
    ("data.js", include_str!("data.js")),
    ("numbers.js", include_str!("numbers.js")),
    ("draw.js", include_str!("draw.js")),
    ("charts.js", include_str!("charts.js")),
    ("chrome.js", include_str!("chrome.js")),
    ("words.js", include_str!("words.js")),
    ("interact.js", include_str!("interact.js")),
    ("ab.css", include_str!("ab.css")),
    ("ab_charts.js", include_str!("ab_charts.js")),
    ("ab.js", include_str!("ab.js")),
];

impl Report {
    /// The page. Series are thinned as [`Report::bounded`] says, so any trace may go in.
    pub fn to_html(&self) -> String {
        // Only maps with keys other than strings can fail here, and there are none.
        fill(PAGE, &self.title, &self.version, &serde_json::to_string(&self.bounded()).unwrap_or_default())
    }
}

/// A template with its marks replaced. `json` is the data as the scripts read it.
pub(super) fn fill(template: &str, title: &str, version: &str, json: &str) -> String {
    let (title, version, data) = (text(title), text(version), script(json));
    // One pass over the template alone: marks inside the data or the title stay what they are.
    let mut out = String::with_capacity(template.len() + data.len() + 80_000);
    let mut rest = template;
    while let Some((before, tail)) = rest.split_once("{{")
        && let Some((name, after)) = tail.split_once("}}")
    {
        out.push_str(before);
        out.push_str(match name {
            "title" => &title,
            "version" => &version,
            "data" => &data,
            part => PARTS.iter().find(|(known, _)| *known == part).map_or("", |(_, text)| text),
        });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// As text of an element or of a quoted attribute.
fn text(raw: &str) -> String {
    raw.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// As the content of a script element: without `<` neither `</script>` nor `<!--` can appear, and inside JSON
/// `<` only ever stands in strings, where the escape means the same character.
fn script(json: &str) -> String {
    json.replace('<', "\\u003c")
}
