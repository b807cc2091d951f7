//! Parsing and validation of requests. No input or output here: a request head is converted into an
//! [`Ask`] or a status.

use super::content::{Part, parse_size};
use firstflight_quic::Plan;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, StatusCode};
use percent_encoding::percent_decode_str;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The header field with which a client chooses the arm of its connection.
pub const ARM: HeaderName = HeaderName::from_static("firstflight-arm");
/// The header field that names the pattern of an object's bytes.
pub const PATTERN: HeaderName = HeaderName::from_static("firstflight-pattern");

/// Longest path that is examined, bytes.
const LONGEST_PATH: usize = 2048;

/// A valid request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ask {
    pub(super) what: What,
    /// Whether only the head of the answer is requested.
    pub(super) head: bool,
    pub(super) range: Option<Asked>,
    /// The arm to use.
    pub(super) arm: Option<Plan>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// The start page.
    Home,
    /// This many bytes of the pattern.
    Bytes(u64),
    /// A file below the folder.
    File(PathBuf),
}

/// A range as requested, RFC 9110 section 14.1.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// From this offset on.
    From(u64),
    /// From the first to the last offset, both inclusive.
    Between(u64, u64),
    /// The last bytes, this many.
    Last(u64),
}

/// The status and details of a refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) field: Option<(HeaderName, HeaderValue)>,
}

impl From<StatusCode> for Refusal {
    fn from(status: StatusCode) -> Refusal {
        Refusal { status, field: None }
    }
}

/// The requests that a listener allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowed {
    pub(super) largest: u64,
    pub(super) files: bool,
    /// Also files whose names start with a dot.
    pub(super) hidden: bool,
    pub(super) choice: bool,
}

/// Reads a request.
pub(super) fn read(request: &Request<()>, allowed: Allowed) -> Result<Ask, Refusal> {
    let fields = request.headers();
    // RFC 9114 section 4.2: connection-specific fields make a request malformed.
    for field in [
        header::CONNECTION,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
        HeaderName::from_static("keep-alive"),
    ] {
        if fields.contains_key(field) {
            return Err(StatusCode::BAD_REQUEST.into());
        }
    }
    let head = match *request.method() {
        Method::GET => false,
        Method::HEAD => true,
        _ => {
            let allow = Some((header::ALLOW, HeaderValue::from_static("GET, HEAD")));
            return Err(Refusal { status: StatusCode::METHOD_NOT_ALLOWED, field: allow });
        }
    };
    refuse_content(fields)?;
    let arm = arm(fields, allowed)?;
    let what = what(request.uri().path(), allowed)?;
    // RFC 9110 section 14.2: a range is defined for GET only. No object here has a validator, so no
    // If-Range can match.
    let range = if head || fields.contains_key(header::IF_RANGE) { None } else { range(fields)? };
    Ok(Ask { what, head, range, arm })
}

/// Requests with GET or HEAD have no content.
fn refuse_content(fields: &HeaderMap) -> Result<(), Refusal> {
    let mut lengths = fields.get_all(header::CONTENT_LENGTH).iter();
    let Some(length) = lengths.next() else { return Ok(()) };
    let number = length
        .to_str()
        .ok()
        .filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
    match number {
        Some(number) if lengths.next().is_none() && number.bytes().all(|digit| digit == b'0') => {
            Ok(())
        }
        Some(_) if fields.get_all(header::CONTENT_LENGTH).iter().count() == 1 => {
            Err(StatusCode::PAYLOAD_TOO_LARGE.into())
        }
        _ => Err(StatusCode::BAD_REQUEST.into()),
    }
}

fn arm(fields: &HeaderMap, allowed: Allowed) -> Result<Option<Plan>, Refusal> {
    let mut named = fields.get_all(&ARM).iter();
    let Some(name) = named.next() else { return Ok(None) };
    if !allowed.choice {
        return Err(StatusCode::FORBIDDEN.into());
    }
    let plan = name
        .to_str()
        .ok()
        .filter(|_| named.next().is_none())
        .and_then(|name| Plan::parse(name).ok());
    plan.map(Some).ok_or_else(|| StatusCode::BAD_REQUEST.into())
}

fn what(path: &str, allowed: Allowed) -> Result<What, Refusal> {
    if path.len() > LONGEST_PATH {
        return Err(StatusCode::URI_TOO_LONG.into());
    }
    if path == "/" {
        return Ok(What::Home);
    }
    if let Some(size) = path.strip_prefix("/bytes/") {
        let size = parse_size(size).ok_or(StatusCode::BAD_REQUEST)?;
        // This server does not have the object.
        return if size <= allowed.largest {
            Ok(What::Bytes(size))
        } else {
            Err(StatusCode::NOT_FOUND.into())
        };
    }
    let file = file(path)?;
    if allowed.files && (allowed.hidden || !is_hidden(&file)) {
        Ok(What::File(file))
    } else {
        Err(StatusCode::NOT_FOUND.into())
    }
}

/// Whether a name in the path starts with a dot: files of version control, of an editor, or
/// secrets.
pub(super) fn is_hidden(file: &Path) -> bool {
    file.iter().any(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Whether every `%` is followed by two hexadecimal digits, RFC 3986 section 2.1.
fn is_encoded(segment: &str) -> bool {
    let hex = |text: &str| {
        text.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    segment.split('%').skip(1).all(hex)
}

/// The name of a file below the folder, decoded once. Segments that are not plain names are refused
/// before any file lookup.
fn file(path: &str) -> Result<PathBuf, Refusal> {
    let bad = || Refusal::from(StatusCode::BAD_REQUEST);
    let path = path.strip_prefix('/').ok_or_else(bad)?;
    let mut file = PathBuf::new();
    for segment in path.split('/') {
        if !is_encoded(segment) {
            return Err(bad());
        }
        let segment = percent_decode_str(segment).decode_utf8().map_err(|_| bad())?;
        let plain = !segment.is_empty()
            && segment != "."
            && segment != ".."
            && !segment.contains(['/', '\\', '\0']);
        if !plain {
            return Err(bad());
        }
        file.push(&*segment);
    }
    Ok(file)
}

/// RFC 9110 section 14.2: an unknown unit is ignored, and so are several ranges in one request,
/// which we do not serve. A malformed range is refused.
fn range(fields: &HeaderMap) -> Result<Option<Asked>, Refusal> {
    let mut ranges = fields.get_all(header::RANGE).iter();
    let Some(range) = ranges.next() else { return Ok(None) };
    let bad = || Refusal::from(StatusCode::BAD_REQUEST);
    if ranges.next().is_some() {
        return Err(bad());
    }
    let (unit, set) = range.to_str().ok().and_then(|text| text.split_once('=')).ok_or_else(bad)?;
    if !unit.eq_ignore_ascii_case("bytes") {
        return Ok(None);
    }
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let one = |text: &str| {
        let (first, last) = text.trim().split_once('-')?;
        match (first, last) {
            ("", last) => number(last).map(Asked::Last),
            (first, "") => number(first).map(Asked::From),
            (first, last) => Some(Asked::Between(number(first)?, number(last)?))
                .filter(|range| !backwards(range)),
        }
    };
    let all: Option<Vec<Asked>> = set.split(',').map(one).collect();
    let all = all.ok_or_else(bad)?;
    Ok(if let [one] = all[..] { Some(one) } else { None })
}

fn backwards(range: &Asked) -> bool {
    matches!(range, Asked::Between(first, last) if last < first)
}

/// The part of an object of `total` bytes.
///
/// # Errors
/// 416 with the object's length, if no byte of the range is inside.
pub(super) fn part(asked: Option<Asked>, total: u64) -> Result<Part, Refusal> {
    let Range { start, end } = match asked {
        None => return Ok(Part { range: 0..total, total }),
        Some(Asked::From(first)) => first..total,
        Some(Asked::Between(first, last)) => first..last.saturating_add(1).min(total),
        Some(Asked::Last(count)) => total.saturating_sub(count)..total,
    };
    if start < end {
        return Ok(Part { range: start..end, total });
    }
    let there_is = HeaderValue::from_str(&format!("bytes */{total}"))
        .ok()
        .map(|value| (header::CONTENT_RANGE, value));
    Err(Refusal { status: StatusCode::RANGE_NOT_SATISFIABLE, field: there_is })
}

#[cfg(test)]
mod tests;
