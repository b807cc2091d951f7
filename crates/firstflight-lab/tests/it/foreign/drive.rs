//! The language of the tables: one step per line, run against the code that corresponds to the code
//! under test in the other project.
//!
//! A line whose second word is `=`, `<`, `>`, `<=` or `>=` states a value; `, ours VALUE` after it
//! is our value if it differs. Every other line is a step. `repeat N` and `until STATEMENT` extend
//! to their `end`; `note FIELD` keeps a value that later lines call `noted`.

use super::subject::{Subject, Words};

/// Outcome of a table's row.
#[derive(Clone, Debug, Default)]
pub(super) struct Verdict {
    /// Statements that were judged.
    pub stated: usize,
    /// Statements that ours does not fulfil, as the table says.
    pub differences: Vec<String>,
    /// Facts that the table omits or gets wrong.
    pub wrong: Vec<String>,
}

/// A value of a field or of a table: a number (bytes, nanoseconds, a count) or a word.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Number(i128),
    Word(String),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Number(number) => write!(f, "{number}"),
            Value::Word(word) => f.write_str(word),
        }
    }
}

const UNITS: [(&str, i128); 4] =
    [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
/// A loop that has not ended by then never will.
const MOST_ROUNDS: usize = 100_000;

/// `1200`, `10p` (packets), `2.5ms`, `yes`.
pub(super) fn value(text: &str, mss: u64) -> Value {
    let scaled = |number: &str, unit: i128| -> Option<i128> {
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let places = 10_i128.pow(u32::try_from(part.len()).ok()?);
        let digits: i128 = format!("{whole}{part}").parse().ok()?;
        (digits * unit % places == 0).then_some(digits * unit / places)
    };
    let packets = text.strip_suffix('p').and_then(|number| scaled(number, i128::from(mss)));
    let time = UNITS
        .iter()
        .find_map(|(unit, scale)| text.strip_suffix(unit).and_then(|n| scaled(n, *scale)));
    match packets.or(time).or_else(|| text.parse().ok()) {
        Some(number) => Value::Number(number),
        None => Value::Word(text.to_owned()),
    }
}

struct Statement<'a> {
    field: &'a str,
    operator: &'a str,
    expected: &'a str,
    margin: Option<&'a str>,
    ours: Option<&'a str>,
}

impl<'a> Statement<'a> {
    fn read(line: &'a str) -> Option<Statement<'a>> {
        let (field, rest) = line.split_once(' ')?;
        let (operator, rest) = rest.split_once(' ')?;
        if !["=", "<", ">", "<=", ">="].contains(&operator) {
            return None;
        }
        let (expected, ours) = match rest.split_once(", ours ") {
            Some((expected, ours)) => (expected, Some(ours)),
            None => (rest, None),
        };
        let (expected, margin) = match expected.split_once(" +- ") {
            Some((expected, margin)) => (expected, Some(margin)),
            None => (expected, None),
        };
        Some(Statement { field, operator, expected, margin, ours })
    }
}

/// One row's run.
pub(super) struct Run {
    subject: Subject,
    noted: Option<i128>,
    pub verdict: Verdict,
}

impl Run {
    pub(super) fn of(steps: &str) -> Verdict {
        let mut run = Run { subject: Subject::None, noted: None, verdict: Verdict::default() };
        let lines: Vec<&str> = steps
            .lines()
            .map(|line| line.split('#').next().unwrap_or_default().trim())
            .filter(|line| !line.is_empty())
            .collect();
        run.block(&lines);
        run.verdict
    }

    fn block(&mut self, lines: &[&str]) {
        let mut at = 0;
        while at < lines.len() {
            let line = lines[at];
            at += 1;
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            if word == "repeat" || word == "until" {
                let Some(length) = block_length(&lines[at..]) else {
                    return self.wrong(line, "has no `end`");
                };
                let inside = &lines[at..at + length];
                at += length + 1;
                self.round(word, rest, inside, line);
            } else if word == "note" {
                match self.field(rest) {
                    Ok(Value::Number(number)) => self.noted = Some(number),
                    other => self.wrong(line, &format!("cannot be noted: {other:?}")),
                }
            } else if let Some(statement) = Statement::read(line) {
                self.judge(&statement, line);
            } else if let Err(why) = self.subject.step(word, &Words::of(rest)) {
                self.wrong(line, &why);
            }
            if !self.verdict.wrong.is_empty() {
                return;
            }
        }
    }

    fn round(&mut self, word: &str, rest: &str, inside: &[&str], line: &str) {
        if word == "repeat" {
            let Ok(times) = rest.parse::<usize>() else { return self.wrong(line, "how often?") };
            for _ in 0..times {
                self.block(inside);
                if !self.verdict.wrong.is_empty() {
                    return;
                }
            }
            return;
        }
        for _ in 0..MOST_ROUNDS {
            let holds = Statement::read(rest)
                .ok_or_else(|| "is no statement".to_owned())
                .and_then(|statement| self.holds(&statement, statement.expected));
            match holds {
                Ok(true) => return,
                Ok(false) => self.block(inside),
                Err(why) => return self.wrong(line, &why),
            }
            if !self.verdict.wrong.is_empty() {
                return;
            }
        }
        self.wrong(line, "never comes true");
    }

    fn wrong(&mut self, line: &str, why: &str) {
        self.verdict.wrong.push(format!("`{line}` {why}"));
    }

    fn field(&self, name: &str) -> Result<Value, String> {
        self.subject.field(name).ok_or_else(|| format!("no field `{name}`"))
    }

    /// The value that a table gives, `noted` and sums included.
    fn value(&self, text: &str) -> Result<Value, String> {
        let mut sum: Option<i128> = None;
        for (index, term) in text.split(" + ").enumerate() {
            let term = match (term, self.noted) {
                ("noted", Some(number)) => Value::Number(number),
                ("noted", None) => return Err("nothing was noted".to_owned()),
                _ => value(term, self.subject.mss()),
            };
            match term {
                Value::Number(number) => sum = Some(sum.unwrap_or(0) + number),
                word @ Value::Word(_) if index == 0 && !text.contains(" + ") => return Ok(word),
                word @ Value::Word(_) => return Err(format!("`{word}` is no number")),
            }
        }
        sum.map(Value::Number).ok_or_else(|| "nothing to compare with".to_owned())
    }

    fn holds(&self, statement: &Statement<'_>, expected: &str) -> Result<bool, String> {
        let (found, expected) = (self.field(statement.field)?, self.value(expected)?);
        let margin = match statement.margin.map(|text| self.value(text)).transpose()? {
            None => 0,
            Some(Value::Number(margin)) => margin,
            Some(word) => return Err(format!("`{word}` is no margin")),
        };
        Ok(match (&found, &expected) {
            (Value::Number(found), Value::Number(expected)) => match statement.operator {
                "=" => (found - expected).abs() <= margin,
                "<" => found < expected,
                ">" => found > expected,
                "<=" => found <= expected,
                _ => found >= expected,
            },
            _ => statement.operator == "=" && found == expected,
        })
    }

    fn judge(&mut self, statement: &Statement<'_>, line: &str) {
        self.verdict.stated += 1;
        let found = match self.field(statement.field) {
            Ok(found) => found,
            Err(why) => return self.wrong(line, &why),
        };
        match (self.holds(statement, statement.expected), statement.ours) {
            (Err(why), _) => self.wrong(line, &why),
            (Ok(true), None) => {}
            (Ok(true), Some(_)) => self.wrong(line, &format!("does not differ: {found}")),
            (Ok(false), None) => self.wrong(line, &format!("is {found}")),
            (Ok(false), Some(ours)) => {
                if self.value(ours).as_ref() == Ok(&found) {
                    let Statement { field, operator, expected, .. } = statement;
                    let operator = if *operator == "=" { "" } else { operator };
                    let told = format!("{field} {operator}{expected}, ours {ours}");
                    if self.verdict.differences.last() != Some(&told) {
                        self.verdict.differences.push(told);
                    }
                } else {
                    self.wrong(line, &format!("ours is {found}"));
                }
            }
        }
    }
}

/// Lines before the `end` of a block that has begun.
fn block_length(lines: &[&str]) -> Option<usize> {
    let mut depth = 0_u32;
    for (index, line) in lines.iter().enumerate() {
        match line.split(' ').next() {
            Some("repeat" | "until") => depth += 1,
            Some("end") if depth == 0 => return Some(index),
            Some("end") => depth -= 1,
            _ => {}
        }
    }
    None
}
