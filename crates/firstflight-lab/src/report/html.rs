//! Puts the data and the page's own files together. Nothing is fetched when the page opens, and its content policy
//! says so; the data stands in a script element of type JSON, in which no byte sequence can end the element.

use super::Report;

const PAGE: &str = include_str!("page.html");
/// What the page's `{{name}}` marks stand for, apart from title, version and data.
const PARTS: [(&str, &str); 6] = [
    ("style", include_str!("style.css")),
    ("data.js", include_str!("data.js")),
    ("draw.js", include_str!("draw.js")),
    ("charts.js", include_str!("charts.js")),
    ("words.js", include_str!("words.js")),
    ("interact.js", include_str!("interact.js")),
];

impl Report {
    /// The page. Series are thinned as [`Report::bounded`] says, so any trace may go in.
    pub fn to_html(&self) -> String {
        let title = text(&self.title);
        let version = text(&self.version);
        // Only maps with keys other than strings can fail here, and there are none.
        let data = script(&serde_json::to_string(&self.bounded()).unwrap_or_default());
        // One pass over the template alone: marks inside the data or the title stay what they are.
        let mut out = String::with_capacity(PAGE.len() + data.len() + 80_000);
        let mut rest = PAGE;
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
