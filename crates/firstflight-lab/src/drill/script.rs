//! Packetdrill scripts: the part of the language that concerns a data sender.
//!
//! A script is read line by line. A line outside the subset makes the whole script unplayable, with
//! the line and the reason, because skipping it would change the meaning of the rest. Commands in
//! backticks never run: their sysctl lines become settings of the sender, and the rest is listed.

use super::settings::Settings;
use firstflight::Nanos;
use std::fmt;

/// One script.
#[derive(Clone, Debug)]
pub struct Script {
    /// Settings from sysctl lines and command-line options of the script.
    pub settings: Settings,
    /// Commands in backticks, as written. They never run.
    pub commands: Vec<String>,
    /// Tolerance of times.
    pub tolerance: Nanos,
    /// All events, in order.
    pub steps: Vec<Step>,
}

/// One event of a script.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Line of the file, from 1.
    pub line: usize,
    /// Time of the event.
    pub when: When,
    /// The event.
    pub what: What,
    /// The event as written, without its time.
    pub text: String,
}

/// Time of an event: nanoseconds, from the start or after the previous event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At any time.
    Any,
    /// Between these two moments after the start.
    At(u64, u64),
    /// Between these two delays after the previous event.
    After(u64, u64),
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// The application writes this many bytes.
    Write(u64),
    /// The application closes the connection.
    Close,
    /// The application selects a congestion control.
    Congestion(String),
    /// The application turns Nagle's algorithm off or on.
    NoDelay(bool),
    /// The application limits the segment size.
    MaxSegment(u32),
    /// A segment arrives at the sender.
    Inject(Segment),
    /// A segment is expected from the sender.
    Expect(Segment),
    /// Statements about `tcp_info`.
    Check(String),
    /// An event that does not concern a sender: set-up, reads.
    Nothing,
}

/// A TCP segment as written in a script: sequence numbers are relative to the SYN of each end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// SYN is set.
    pub syn: bool,
    /// FIN is set.
    pub fin: bool,
    /// RST is set.
    pub rst: bool,
    /// ECE is set.
    pub ece: bool,
    /// CWR is set.
    pub cwr: bool,
    /// First sequence number.
    pub from: u64,
    /// One past the last sequence number.
    pub to: u64,
    /// Acknowledgement number.
    pub ack: Option<u64>,
    /// The window field, unscaled.
    pub window: Option<u64>,
    /// Maximum segment size.
    pub mss: Option<u32>,
    /// SACK is permitted.
    pub sack_ok: bool,
    /// Shift of the window field.
    pub scale: Option<u8>,
    /// Timestamp and its echo.
    pub stamps: Option<(u32, u32)>,
    /// SACK blocks.
    pub sacks: Vec<(u64, u64)>,
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}({})", self.from, self.to, self.to - self.from)
    }
}

/// Why a script cannot be played: the line and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unplayable {
    /// Line of the file, from 1.
    pub line: usize,
    /// The reason.
    pub why: String,
}

impl fmt::Display for Unplayable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

/// Calls that set up a connection or read from it, without effect on its sender.
const HARMLESS: [&str; 14] = [
    "socket",
    "bind",
    "listen",
    "accept",
    "fcntl",
    "read",
    "recv",
    "recvmsg",
    "recvfrom",
    "poll",
    "epoll_create",
    "epoll_ctl",
    "epoll_wait",
    "connect",
];

/// Socket options that do not affect the sender here.
const HARMLESS_OPTIONS: [&str; 8] = [
    "SO_REUSEADDR",
    "SO_SNDBUF",
    "SO_RCVBUF",
    "SO_LINGER",
    "SO_TIMESTAMPING",
    "SO_ZEROCOPY",
    "TCP_USER_TIMEOUT",
    "SO_KEEPALIVE",
];

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// At the first line outside the subset.
    pub fn parse(text: &str) -> Result<Script, Unplayable> {
        let mut script = Script {
            settings: Settings::default(),
            commands: Vec::new(),
            // Packetdrill's own tolerance.
            tolerance: Nanos::from_millis(4),
            steps: Vec::new(),
        };
        for (line, chunk) in chunks(text)? {
            let fail = |why: String| Unplayable { line, why };
            script.read(line, &chunk).map_err(fail)?;
        }
        Ok(script)
    }

    /// Name of the congestion control that the script requests.
    pub fn congestion(&self) -> &str {
        let named = self.steps.iter().rev().find_map(|step| match &step.what {
            What::Congestion(name) => Some(name.as_str()),
            _ => None,
        });
        named.unwrap_or(&self.settings.congestion)
    }

    fn read(&mut self, line: usize, chunk: &str) -> Result<(), String> {
        if let Some(option) = chunk.strip_prefix("--") {
            return self.option(option);
        }
        if chunk.starts_with('`') {
            let command = chunk.trim_matches('`');
            self.commands.push(command.to_owned());
            return self.settings.command(command);
        }
        let (when, rest) = When::split(chunk)?;
        let what = if let Some(code) = rest.strip_prefix("%{") {
            What::Check(code.trim_end().trim_end_matches("}%").to_owned())
        } else if rest.starts_with('`') {
            let command = rest.trim_matches('`');
            if !self.settings.is_neutral(command) {
                return Err(format!(
                    "the command `{}` changes the path mid-way",
                    first_line(command)
                ));
            }
            What::Nothing
        } else if let Some(packet) = rest.strip_prefix('<') {
            What::Inject(Segment::parse(packet)?)
        } else if let Some(packet) = rest.strip_prefix('>') {
            What::Expect(Segment::parse(packet)?)
        } else {
            call(rest)?
        };
        self.steps.push(Step { line, when, what, text: rest.to_owned() });
        Ok(())
    }

    fn option(&mut self, option: &str) -> Result<(), String> {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        match key.trim() {
            "tolerance_usecs" => {
                let micros: u64 = value.trim().parse().map_err(|_| format!("`--{option}`"))?;
                self.tolerance = Nanos::from_micros(micros);
                Ok(())
            }
            "ip_version" if value.trim() != "ipv4" => Err(format!("`--{option}`: IPv4 only")),
            _ => Ok(()),
        }
    }
}

/// Logical lines: without comments, with a code block or a command in backticks as one line.
fn chunks(text: &str) -> Result<Vec<(usize, String)>, Unplayable> {
    let text = without_block_comments(text);
    let mut chunks = Vec::new();
    let mut open: Option<(usize, String, &str)> = None;
    for (index, raw) in text.lines().enumerate() {
        let line = index + 1;
        if let Some((first, mut chunk, end)) = open.take() {
            chunk.push('\n');
            // In code `//` is a division; packetdrill's comments are outside code.
            chunk.push_str(raw);
            match raw.find(end) {
                Some(at) => {
                    let keep = chunk.len() - raw.len() + at + end.len();
                    chunk.truncate(keep);
                    chunks.push((first, chunk));
                }
                None => open = Some((first, chunk, end)),
            }
            continue;
        }
        let mut rest = raw.trim();
        while !rest.is_empty() {
            // The end of this chunk, on this line or a later one.
            let code = rest.find("%{");
            let command = rest.find('`');
            let comment = rest.find("//").unwrap_or(rest.len());
            let opener = match (code, command) {
                (Some(at), other) if at < comment && other.is_none_or(|other| at < other) => {
                    Some((at + 2, "}%"))
                }
                (_, Some(at)) if at < comment => Some((at + 1, "`")),
                _ => None,
            };
            match opener {
                None => {
                    let bare = rest[..comment].trim();
                    if !bare.is_empty() && !bare.starts_with('#') {
                        chunks.push((line, bare.to_owned()));
                    }
                    break;
                }
                Some((body, end)) => {
                    let Some(at) = rest[body..].find(end) else {
                        open = Some((line, rest.to_owned(), end));
                        break;
                    };
                    let stop = body + at + end.len();
                    chunks.push((line, rest[..stop].to_owned()));
                    rest = rest[stop..].trim();
                }
            }
        }
    }
    match open {
        Some((line, _, end)) => Err(Unplayable { line, why: format!("`{end}` is missing") }),
        None => Ok(join_calls(chunks)),
    }
}

/// Joins calls that span several lines, as `sendmsg` does.
fn join_calls(chunks: Vec<(usize, String)>) -> Vec<(usize, String)> {
    let mut joined: Vec<(usize, String)> = Vec::new();
    for (line, chunk) in chunks {
        let starts = chunk.starts_with(['+', '*', '`', '-', '%'])
            || chunk.starts_with(|first: char| first.is_ascii_digit() || first == '.');
        match joined.last_mut() {
            Some((_, before)) if !starts => {
                before.push(' ');
                before.push_str(&chunk);
            }
            _ => joined.push((line, chunk)),
        }
    }
    joined
}

/// Blanks out C comments, so that lines keep their numbers.
fn without_block_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("/*") {
        let (before, comment) = rest.split_at(start);
        plain.push_str(before);
        let end = comment.find("*/").map_or(comment.len(), |end| end + 2);
        plain.extend(comment[..end].chars().filter(|&char| char == '\n'));
        rest = &comment[end..];
    }
    plain.push_str(rest);
    plain
}

/// The first line of a text, which messages quote, and at most 80 characters of it.
fn first_line(text: &str) -> &str {
    let line = text.trim().lines().next().unwrap_or_default();
    line.char_indices().nth(80).map_or(line, |(end, _)| line[..end].trim_end())
}

impl When {
    /// The time at the start of a line, and its remaining text.
    fn split(chunk: &str) -> Result<(When, &str), String> {
        if let Some(rest) = chunk.strip_prefix('*') {
            return Ok((When::Any, rest.trim_start()));
        }
        let (relative, rest) = match chunk.strip_prefix('+') {
            Some(rest) => (true, rest.trim_start()),
            None => (false, chunk),
        };
        let (first, mut rest) = seconds(rest)?;
        let mut last = first;
        if let Some(after) = rest.strip_prefix('~') {
            let (second, after) = seconds(after.trim_start_matches('+'))?;
            (last, rest) = (second, after);
        } else if let Some(after) = rest.trim_start().strip_prefix("...") {
            // A call that blocks until then; it takes effect at once.
            (_, rest) = seconds(after.trim_start().trim_start_matches('+'))?;
        }
        if last < first {
            return Err("the time range ends before it begins".into());
        }
        let when = if relative { When::After(first, last) } else { When::At(first, last) };
        Ok((when, rest.trim_start()))
    }
}

/// A decimal number of seconds, in nanoseconds, and the text after it.
fn seconds(text: &str) -> Result<(u64, &str), String> {
    // `0...0.1`: the dots of a range are not a decimal point.
    let digits =
        |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let whole = digits(text);
    let mut end = whole;
    let mut fraction = "";
    if text[end..].starts_with('.') && !text[end..].starts_with("...") {
        let places = digits(&text[end + 1..]);
        fraction = &text[end + 1..end + 1 + places];
        end += 1 + places;
    }
    if whole == 0 && fraction.is_empty() {
        return Err(format!("`{}` does not start with a time", first_line(text)));
    }
    let nanos: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    let whole: u64 =
        if whole == 0 { 0 } else { text[..whole].parse().map_err(|_| "a time too large")? };
    let nanos: u64 = nanos.parse().map_err(|_| "a time too fine".to_owned())?;
    // No script takes more than a day.
    if whole > 86_400 {
        return Err("a time over a day".into());
    }
    Ok((whole * 1_000_000_000 + nanos, &text[end..]))
}

/// A call of the application.
fn call(text: &str) -> Result<What, String> {
    let Some((name, rest)) = text.split_once('(') else {
        return Err(format!("`{}` is not an event", first_line(text)));
    };
    let name = name.trim();
    let (arguments, result) = rest.rsplit_once(')').unwrap_or((rest, ""));
    let fields: Vec<&str> = arguments.split(',').map(str::trim).collect();
    let result = result.trim().trim_start_matches('=').trim();
    match name {
        "write" | "send" | "sendto" => {
            if fields.iter().any(|field| field.contains("MSG_") && *field != "MSG_DONTWAIT") {
                return Err(format!("{name}() with {}", fields[3..].join(", ")));
            }
            let wrote = result.split_whitespace().next().unwrap_or_default();
            match wrote.parse::<u64>() {
                // A full buffer concerns the kernel; the sender has enough space.
                Ok(bytes) => Ok(What::Write(bytes)),
                Err(_) if result.starts_with("-1") || result.starts_with("...") => {
                    Err(format!("{name}() that blocks or fails"))
                }
                Err(_) => Err(format!("{name}() without a number of bytes")),
            }
        }
        "close" => Ok(What::Close),
        "getsockopt" => Ok(What::Nothing),
        "setsockopt" => {
            let option = fields.get(2).copied().unwrap_or_default();
            let value =
                fields.get(3).map(|value| value.trim_matches(['[', ']', '"'])).unwrap_or_default();
            match option {
                "TCP_CONGESTION" => Ok(What::Congestion(value.to_owned())),
                "TCP_NODELAY" => Ok(What::NoDelay(value != "0")),
                "TCP_MAXSEG" => {
                    let mss = value.parse().map_err(|_| format!("TCP_MAXSEG of `{value}`"))?;
                    Ok(What::MaxSegment(mss))
                }
                option if HARMLESS_OPTIONS.contains(&option) => Ok(What::Nothing),
                option => Err(format!("the socket option {option} is not modelled")),
            }
        }
        name if HARMLESS.contains(&name) => Ok(What::Nothing),
        name => Err(format!("the call {name}() is not modelled")),
    }
}

impl Segment {
    /// Parses the text after `<` or `>`.
    fn parse(text: &str) -> Result<Segment, String> {
        let mut text = text.trim();
        let mut segment = Segment::default();
        // ECN of the IP header: `[ect0]`; the address tuple of a segment: `1.1.1.1:5 > ...`.
        while let Some(rest) = text.strip_prefix('[') {
            let (field, rest) = rest.split_once(']').ok_or("`]` is missing")?;
            if !matches!(
                field,
                "noecn" | "ect0" | "ect1" | "ect01" | "ce" | "0x0" | "ECT0" | "ECT1" | "CE"
            ) {
                return Err(format!("the field `[{field}]` is not modelled"));
            }
            text = rest.trim_start();
        }
        let mut words = text.split_whitespace();
        let flags = words.next().unwrap_or_default();
        if flags.starts_with("icmp") || flags.starts_with("udp") {
            return Err(format!("{flags} packets are not modelled"));
        }
        for flag in flags.chars() {
            match flag {
                'S' => segment.syn = true,
                'F' => segment.fin = true,
                'R' => segment.rst = true,
                'E' => segment.ece = true,
                'W' => segment.cwr = true,
                'P' | '.' | '-' => {}
                'A' => return Err("AccECN needs flags that the simulator does not send".into()),
                other => return Err(format!("the TCP flag `{other}` in `{flags}`")),
            }
        }
        let numbers = words.next().ok_or("no sequence numbers")?;
        (segment.from, segment.to) = sequence(numbers)?;
        let rest = text.split_once(numbers).map_or("", |(_, rest)| rest);
        let (fields, options) = match rest.split_once('<') {
            Some((fields, options)) => {
                (fields, options.split_once('>').ok_or("`>` is missing behind the options")?.0)
            }
            None => (rest, ""),
        };
        let fields: Vec<&str> = fields.split_whitespace().collect();
        for pair in fields.chunks(2) {
            match *pair {
                ["ack", value] => segment.ack = Some(number(value)?),
                ["win", value] => segment.window = Some(number(value)?),
                ["urg", _] => return Err("urgent data is not modelled".into()),
                [field, ..] => return Err(format!("the field `{field}` of a segment")),
                [] => {}
            }
        }
        segment.options(options)?;
        Ok(segment)
    }

    fn options(&mut self, text: &str) -> Result<(), String> {
        for option in text.split(',').map(str::trim).filter(|option| !option.is_empty()) {
            let words: Vec<&str> = option.split_whitespace().collect();
            match words[..] {
                ["nop" | "eol" | "..."] => {}
                ["sackOK"] => self.sack_ok = true,
                ["mss", value] => self.mss = Some(number(value)? as u32),
                ["wscale", value] => self.scale = Some(number(value)?.min(14) as u8),
                ["TS", "val", value, "ecr", echo] => {
                    self.stamps = Some((number(value)? as u32, number(echo)? as u32));
                }
                ["sack", ref blocks @ ..] => {
                    for block in blocks {
                        let (from, to) = block.split_once(':').ok_or("a SACK block without `:`")?;
                        self.sacks.push((number(from)?, number(to)?));
                    }
                }
                ["FO" | "FOEXP" | "md5" | "ECN" | "exp" | "mpcapable", ..] => {
                    return Err(format!("the TCP option `{}` is not modelled", words[0]));
                }
                _ => return Err(format!("the TCP option `{option}`")),
            }
        }
        Ok(())
    }
}

fn sequence(text: &str) -> Result<(u64, u64), String> {
    let shape = || format!("`{text}` is not FROM:TO(BYTES)");
    let (from, rest) = text.split_once(':').ok_or_else(shape)?;
    let (to, bytes) = rest.split_once('(').ok_or_else(shape)?;
    let bytes = bytes.strip_suffix(')').ok_or_else(shape)?;
    let (from, to, bytes) = (number(from)?, number(to)?, number(bytes)?);
    if from.checked_add(bytes) != Some(to) {
        return Err(format!("`{text}`: {from} and {bytes} bytes do not make {to}"));
    }
    Ok((from, to))
}

fn number(text: &str) -> Result<u64, String> {
    let value: u64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    if value > u64::from(u32::MAX) { Err(format!("`{text}` is beyond 32 bits")) } else { Ok(value) }
}
