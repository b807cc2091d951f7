//! The search space: an arm in which some options have a range instead of a value.
//!
//! Every parameter is an ordered list of levels, so that whole numbers, fractions, switches and
//! words are treated alike. `*` is the whole range that the option's own table states, `a..b` a part
//! of it. Long ranges are thinned, evenly or, if their ends are far apart, by a constant factor.

use crate::arms::{NamedArm, Sender, default_of, parse_arms};
use firstflight::arm::{
    AVOIDANCES, Arm, Part, RECOVERIES, SHORT_NAMES, STARTUPS, SenderParams, split_list,
};
use firstflight::options::{OptionDoc, Range};
use firstflight_path::Error;

/// Ranges with more values than this are thinned.
const MOST_LEVELS: u64 = 48;
/// A range whose ends differ by more than this factor is thinned by a constant factor.
const WIDE: u64 = 16;
/// Fractions are multiples of this.
const MILLI: u64 = 1_000;
/// The part that holds the sender's options.
const SENDER: &str = "sender";

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// The value as an option takes it.
    pub text: String,
    /// Whether it is what the arm does without the option.
    pub is_default: bool,
}

/// An option to be tuned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name of the part it belongs to, `sender` for options behind `@`.
    pub part: String,
    /// Name of the option.
    pub key: &'static str,
    /// Meaning of the option.
    pub meaning: &'static str,
    /// Its values, in order.
    pub levels: Vec<Level>,
    /// Index of the default among them.
    pub default: usize,
    place: usize,
}

/// One part of an arm as it was typed.
#[derive(Clone, Debug)]
struct Piece {
    name: String,
    docs: &'static [OptionDoc],
    /// Options with fixed values.
    fixed: Vec<(String, String)>,
    /// Options with a range, as typed.
    open: Vec<(String, String)>,
}

/// The parameters of an arm, and all arms that they span.
#[derive(Clone, Debug)]
pub struct Space {
    pieces: Vec<Piece>,
    /// The parameters, in the order of the arm's parts and their options.
    pub parameters: Vec<Parameter>,
    /// Options whose range cannot be enumerated, or has one value only in this arm.
    pub left_out: Vec<String>,
}

/// A candidate: the level of every parameter.
pub type Choice = Vec<usize>;

/// Splits a text at the first `mark` outside parentheses.
fn outside(text: &str, mark: char) -> Option<(&str, &str)> {
    let mut depth = 0_u32;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            c if c == mark && depth == 0 => return Some((&text[..at], &text[at + c.len_utf8()..])),
            _ => {}
        }
    }
    None
}

fn is_open(value: &str) -> bool {
    value == "*" || value.contains("..")
}

/// Reads a part and its options.
fn piece(text: &str, parts: &[Part]) -> Result<Piece, Error> {
    let text = text.trim();
    let bad = || Error::new(format!("arm `{text}`: parentheses do not match"));
    let (name, options) = match text.split_once('(') {
        None => (text, None),
        Some((name, rest)) => (name.trim(), Some(rest.strip_suffix(')').ok_or_else(bad)?)),
    };
    let docs = if parts.is_empty() {
        SenderParams::DOCS
    } else {
        parts.iter().find(|part| part.name == name).map_or(&[][..], |part| part.options)
    };
    let mut piece = Piece { name: name.to_owned(), docs, fixed: Vec::new(), open: Vec::new() };
    for option in options.into_iter().flat_map(|options| options.split(',')) {
        let (key, value) = option.split_once('=').ok_or_else(|| {
            Error::new(format!("`{option}` is not an option of the form key=value"))
        })?;
        let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
        if is_open(&value) { piece.open.push((key, value)) } else { piece.fixed.push((key, value)) }
    }
    Ok(piece)
}

/// Reads an arm into its parts, the sender's options last.
fn pieces(text: &str) -> Result<Vec<Piece>, Error> {
    let (parts, sender) =
        outside(text, '@').map_or((text, None), |(parts, sender)| (parts, Some(sender)));
    let mut texts: Vec<&str> = Vec::new();
    let mut rest = Some(parts);
    while let Some(part) = rest {
        let split = outside(part, '/');
        texts.push(split.map_or(part, |(first, _)| first));
        rest = split.map(|(_, rest)| rest);
    }
    if texts.len() > 3 {
        return Err(Error::new(format!("arm `{text}`: at most startup/avoidance/recovery")));
    }
    let known: [&[Part]; 3] = [STARTUPS, AVOIDANCES, RECOVERIES];
    let read = texts.iter().zip(known).map(|(text, parts)| piece(text, parts));
    let mut pieces = read.collect::<Result<Vec<_>, _>>()?;
    let mut sender = match sender {
        Some(text) if text.trim_start().starts_with('(') => piece(text, &[])?,
        // The parser of arms states what is wrong.
        Some(_) => return Err(refusal(text)),
        None => piece("", &[])?,
    };
    if let Some(short) = SHORT_NAMES.iter().find(|short| short.name == pieces[0].name) {
        let mut whole = self::pieces(short.arm)?;
        let whole_sender = whole.pop();
        for (place, mut piece) in pieces.into_iter().enumerate() {
            if place == 0 {
                whole[0].fixed.append(&mut piece.fixed);
                whole[0].open.append(&mut piece.open);
            } else if place < whole.len() {
                whole[place] = piece;
            } else {
                whole.push(piece);
            }
        }
        pieces = whole;
        if let Some(mut given) = whole_sender {
            given.fixed.append(&mut sender.fixed);
            given.open.append(&mut sender.open);
            sender = given;
        }
    }
    SENDER.clone_into(&mut sender.name);
    pieces.push(sender);
    Ok(pieces)
}

/// The error of the parser of arms for this text, with every range replaced by a number.
fn refusal(text: &str) -> Error {
    match parse_arms(text) {
        Err(error) => error,
        Ok(_) => Error::new(format!("arm `{text}`: cannot be tuned")),
    }
}

impl Space {
    /// Reads an arm with ranges: `hystart++(low=*,divisor=2..8)@(iw=10..60)`. If none of its
    /// options has a range, all options of its parts are tuned, except those with a fixed value.
    /// `assumed` are the values that the experiment supplies for options of the sender.
    ///
    /// # Errors
    /// A one-line message if the text is not an arm of ours, or an option has no such values.
    pub fn parse(text: &str, assumed: &[(&str, u32)]) -> Result<Space, Error> {
        if split_list(text).count() != 1 {
            return Err(Error::new(format!("`{text}`: several arms; allowed: one")));
        }
        let mut pieces = pieces(text.trim())?;
        let mut space =
            Space { pieces: pieces.clone(), parameters: Vec::new(), left_out: Vec::new() };
        let base = space.default_arm()?;
        let Sender::Arm(plain) = base.sender else {
            return Err(Error::new(format!(
                "arm `{text}`: only arms of built-in parts have options to tune"
            )));
        };
        if base.is_reference() {
            return Err(Error::new(format!(
                "arm `{text}`: it knows what no sender can know, so its options mean nothing"
            )));
        }
        if pieces.iter().all(|piece| piece.open.is_empty()) {
            for piece in pieces.iter_mut().filter(|piece| piece.name != SENDER) {
                let free = |doc: &&OptionDoc| piece.fixed.iter().all(|(key, _)| key != doc.key);
                let open = piece.docs.iter().filter(free).map(|doc| (doc.key.into(), "*".into()));
                piece.open = open.collect();
            }
        }
        for (place, piece) in pieces.iter().enumerate() {
            for (key, _) in &piece.open {
                if !piece.docs.iter().any(|doc| doc.key == key) {
                    // The parser of arms names the option that was probably meant.
                    return Err(refusal(&space.with_option(place, key, "1")));
                }
                if piece.fixed.iter().any(|(fixed, _)| fixed == key) {
                    return Err(Error::new(format!("`{key}` has a value and a range")));
                }
            }
            for doc in piece.docs {
                let mut given = piece.open.iter().filter(|(key, _)| key == doc.key);
                let Some((_, asked)) = given.next() else { continue };
                if given.next().is_some() {
                    return Err(Error::new(format!("`{}` stands twice", doc.key)));
                }
                let supplied =
                    assumed.iter().find(|(key, _)| piece.name == SENDER && *key == doc.key);
                let supplied = supplied.map(|(_, value)| value.to_string());
                match space.parameter(place, doc, asked, &plain, supplied.as_deref())? {
                    Some(parameter) => space.parameters.push(parameter),
                    None => space.left_out.push(doc.key.to_owned()),
                }
            }
        }
        if space.parameters.is_empty() {
            return Err(Error::new(format!(
                "arm `{text}`: nothing to tune; name an option with a range, as in `{}`",
                "hystart++(divisor=*)@(iw=10..60)"
            )));
        }
        Ok(space)
    }

    /// The parameter of an option; `None` if it has only one value in this arm.
    fn parameter(
        &self,
        place: usize,
        doc: &OptionDoc,
        asked: &str,
        plain: &Arm,
        supplied: Option<&str>,
    ) -> Result<Option<Parameter>, Error> {
        let part = self.pieces[place].name.clone();
        let what = |text: &str| {
            let values = doc.values;
            Error::new(format!("{part}: `{}={asked}`: {text}; allowed: {values}", doc.key))
        };
        let arm = |value: &str| {
            let text = self.with_option(place, doc.key, value);
            Arm::parse(&text).ok()
        };
        let own = |text: &str| match supplied {
            Some(value) => value == text,
            None => arm(text).as_ref() == Some(plain),
        };
        let texts = match values(doc, asked) {
            Ok(texts) => texts,
            // An option that nobody named is left out; one with a range of its own is an error.
            Err(Unusable::NoRange) if asked == "*" => return Ok(None),
            Err(Unusable::NoRange) => return Err(what("has no range")),
            Err(Unusable::Bad(why)) => return Err(what(&why)),
        };
        let mut levels: Vec<Level> = texts
            .into_iter()
            .filter(|text| own(text) || arm(text).is_some())
            .map(|text| Level { is_default: own(&text), text })
            .collect();
        if !levels.iter().any(|level| level.is_default) {
            let with =
                |option: &str| arm(option.split_once('=').map_or(option, |(_, value)| value));
            let default = supplied.map(str::to_owned).or_else(|| default_of(doc, plain, with));
            let text = default.map_or_else(|| "unset".to_owned(), |text| as_decimal(&text));
            let at = number(&text).map_or(0, |value| {
                levels.partition_point(|level| number(&level.text).is_none_or(|x| x < value))
            });
            levels.insert(at, Level { text, is_default: true });
        }
        let default = levels.iter().position(|level| level.is_default).unwrap_or(0);
        let (key, meaning) = (doc.key, doc.meaning);
        let some = levels.len() > 1;
        Ok(some.then_some(Parameter { part, key, meaning, levels, default, place }))
    }

    /// The text of the arm with this option added.
    fn with_option(&self, place: usize, key: &str, value: &str) -> String {
        self.write(&[(place, key, value)])
    }

    /// The text of the arm with its fixed options and these.
    fn write(&self, added: &[(usize, &str, &str)]) -> String {
        let one = |(place, piece): (usize, &Piece)| {
            let ours = added.iter().filter(|(at, ..)| *at == place);
            let ours = ours.map(|(_, key, value)| (*key, *value));
            let fixed = piece.fixed.iter().map(|(key, value)| (key.as_str(), value.as_str()));
            let mut options: Vec<(&str, &str)> = fixed.chain(ours).collect();
            // A preset replaces all options, so it stands first, as it does in the table.
            let rank = |key: &str| piece.docs.iter().position(|doc| doc.key == key);
            options.sort_by_key(|(key, _)| rank(key));
            let options: Vec<String> =
                options.into_iter().map(|(key, value)| format!("{key}={value}")).collect();
            if options.is_empty() { String::new() } else { format!("({})", options.join(",")) }
        };
        let options: Vec<String> = self.pieces.iter().enumerate().map(one).collect();
        let (sender, parts) = match options.split_last() {
            Some((sender, parts)) => (sender.as_str(), parts),
            None => ("", &[][..]),
        };
        let parts: Vec<String> = self
            .pieces
            .iter()
            .zip(parts)
            .map(|(piece, options)| format!("{}{options}", piece.name))
            .collect();
        let at = if sender.is_empty() { "" } else { "@" };
        format!("{}{at}{sender}", parts.join("/"))
    }

    /// The default of every parameter.
    pub fn default_choice(&self) -> Choice {
        self.parameters.iter().map(|parameter| parameter.default).collect()
    }

    /// The arm without any of the tuned options.
    ///
    /// # Errors
    /// A one-line message if it is not an arm.
    fn default_arm(&self) -> Result<NamedArm, Error> {
        let mut arms = parse_arms(&self.write(&[]))?;
        arms.pop().ok_or_else(|| Error::new("an arm is missing"))
    }

    /// The text of a candidate: options at their default are left out.
    pub fn text(&self, choice: &[usize]) -> String {
        let options = self.parameters.iter().zip(choice).filter_map(|(parameter, level)| {
            let Level { text, is_default } = &parameter.levels[*level];
            (!is_default).then_some((parameter.place, parameter.key, text.as_str()))
        });
        self.write(&options.collect::<Vec<_>>())
    }

    /// The arm of a candidate; `None` if these values do not go together.
    pub fn arm(&self, choice: &[usize]) -> Option<NamedArm> {
        let label = self.text(choice);
        let arm = Arm::parse(&label).ok()?;
        Some(NamedArm { label, sender: Sender::Arm(arm) })
    }

    /// The name of a parameter, with its part if two parts have an option of that name.
    pub fn name(&self, index: usize) -> String {
        let Parameter { part, key, .. } = &self.parameters[index];
        let twice = self.parameters.iter().filter(|other| other.key == *key).count() > 1;
        if twice { format!("{part} {key}") } else { (*key).to_owned() }
    }

    /// Number of candidates.
    pub fn size(&self) -> u64 {
        let levels = self.parameters.iter().map(|parameter| parameter.levels.len() as u64);
        levels.fold(1, u64::saturating_mul)
    }
}

/// Why an option has no levels.
enum Unusable {
    /// Its values cannot be enumerated.
    NoRange,
    /// The text is not a part of its range.
    Bad(String),
}

/// A number in thousandths, rounded down; `None` for words.
fn number(text: &str) -> Option<u64> {
    if let Some((num, den)) = text.split_once('/') {
        let num = num.parse::<u64>().ok()?.checked_mul(MILLI)?;
        return num.checked_div(den.parse().ok()?);
    }
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || part.len() > 3 || !digits(whole) || !digits(part) {
        return None;
    }
    let part: u64 = format!("{part:0<3}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(MILLI)?.checked_add(part)
}

/// A fraction such as `277/100` as a decimal, if three digits hold it.
fn as_decimal(text: &str) -> String {
    let terms = text.split_once('/');
    let terms = terms.and_then(|(a, b)| Some((a.parse::<u64>().ok()?, b.parse::<u64>().ok()?)));
    match terms {
        Some((num, den)) if den > 0 && (num * MILLI).is_multiple_of(den) => {
            decimal(num * MILLI / den)
        }
        _ => text.to_owned(),
    }
}

/// Thousandths as the shortest decimal.
fn decimal(milli: u64) -> String {
    let text = format!("{}.{:03}", milli / MILLI, milli % MILLI);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The values that an option may be tried with.
fn values(doc: &OptionDoc, asked: &str) -> Result<Vec<String>, Unusable> {
    let (off, low, high, unit) = match doc.range {
        Range::Words if asked == "*" => {
            // Behind a parenthesis the table states where the words apply.
            let words = doc.values.split_once(" (").map_or(doc.values, |(words, _)| words);
            return Ok(words.split(", ").map(str::to_owned).collect());
        }
        Range::Words => return Err(Unusable::Bad("it takes words, so only `*`".into())),
        Range::Whole { off, low, high } => (off, low * MILLI, high * MILLI, MILLI),
        Range::Fraction { off, low, high } => match (number(low), number(high)) {
            (Some(low), Some(high)) => (off, low, high, 1),
            _ => return Err(Unusable::NoRange),
        },
        _ => return Err(Unusable::NoRange),
    };
    let (from, to) = if asked == "*" {
        (low, high)
    } else {
        let ends = asked.split_once("..").and_then(|(a, b)| {
            Some((number(a.trim())?, number(b.trim_start_matches('=').trim())?))
        });
        match ends {
            Some((from, to)) if low <= from && from < to && to <= high => (from, to),
            Some((from, to)) if from >= to => {
                return Err(Unusable::Bad("the first end must be the smaller one".into()));
            }
            Some(_) => return Err(Unusable::Bad("out of range".into())),
            None => return Err(Unusable::Bad("expected `*` or `LOW..HIGH`".into())),
        }
    };
    let spread = spread(from / unit, to / unit);
    let text = |value: u64| decimal(value * unit);
    let words = (off && asked == "*").then(|| "off".to_owned());
    Ok(words.into_iter().chain(spread.into_iter().map(text)).collect())
}

/// At most about [`MOST_LEVELS`] values between two ends, which belong to them.
fn spread(low: u64, high: u64) -> Vec<u64> {
    if high - low < MOST_LEVELS {
        return (low..=high).collect();
    }
    let mut values = vec![low];
    if (high + 1) / (low + 1) >= WIDE {
        let factor = libm::pow((high + 1) as f64 / (low + 1) as f64, 1.0 / MOST_LEVELS as f64);
        let mut value = (low + 1) as f64;
        for _ in 1..MOST_LEVELS {
            value *= factor;
            values.push(two_digits((value - 1.0) as u64));
        }
    } else {
        let rough = (high - low).div_ceil(MOST_LEVELS);
        let power = 10_u64.pow(rough.ilog10());
        let step = [1, 2, 5, 10].into_iter().map(|n| n * power).find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        values.extend((low / step + 1..).map(|n| n * step).take_while(|value| *value < high));
    }
    values.push(high);
    values.retain(|value| (low..=high).contains(value));
    values.sort_unstable();
    values.dedup();
    values
}

/// A number rounded down to two digits.
fn two_digits(value: u64) -> u64 {
    let unit = 10_u64.pow(value.checked_ilog10().unwrap_or(0).saturating_sub(1));
    value / unit * unit
}
