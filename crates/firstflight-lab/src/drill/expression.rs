//! Statements about `tcp_info` as written in packetdrill scripts, in Python: `assert` with numbers,
//! comparisons, arithmetic, `and`, `or`, `not`.

use std::fmt;

/// The state of a sender, by the names of `tcp_info`; `None` for state that is not modelled.
pub trait Info {
    /// The value of a name such as `tcpi_snd_cwnd`.
    fn value(&self, name: &str) -> Option<i64>;
}

/// Why a statement does not hold or cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The statement is false: the statement, and the values it refers to.
    False(String),
    /// The statement needs state that is not modelled.
    Unknown(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::False(text) | Trouble::Unknown(text) => f.write_str(text),
        }
    }
}

/// Checks every `assert` of a block.
///
/// # Errors
/// The first statement that is false, otherwise the first that cannot be judged.
pub fn check(code: &str, info: &impl Info) -> Result<(), Trouble> {
    let mut unknown = None;
    for line in code.lines().flat_map(|line| line.split(';')) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() || line.starts_with("print") {
            continue;
        }
        // A constant that Linux also defines.
        if line.split_once('=').is_some_and(|(name, _)| constant(name.trim()).is_some()) {
            continue;
        }
        let Some(claim) = line.strip_prefix("assert") else {
            unknown.get_or_insert(Trouble::Unknown(format!("`{line}` is not modelled")));
            continue;
        };
        match judge(claim.trim(), info) {
            Ok(true) => {}
            Ok(false) => {
                let mut seen = Vec::new();
                for name in names(claim) {
                    if let Some(value) = info.value(name)
                        && !seen.contains(&format!("{name} is {value}"))
                    {
                        seen.push(format!("{name} is {value}"));
                    }
                }
                let claim = message_apart(claim).trim();
                return Err(Trouble::False(format!("{claim}: {}", seen.join(", "))));
            }
            Err(why) => {
                unknown.get_or_insert(Trouble::Unknown(why));
            }
        }
    }
    unknown.map_or(Ok(()), Err)
}

/// The names of `tcp_info` in a statement.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char: char| !char.is_ascii_alphanumeric() && char != '_')
        .filter(|word| word.starts_with("tcpi_"))
}

/// A claim without its message, which follows the first comma outside parentheses and strings.
fn message_apart(claim: &str) -> &str {
    let (mut depth, mut quote) = (0i32, None);
    for (at, char) in claim.char_indices() {
        match (quote, char) {
            (Some(open), _) if char == open => quote = None,
            (None, '\'' | '"') => quote = Some(char),
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            (None, ',') if depth == 0 => return &claim[..at],
            (Some(_) | None, _) => {}
        }
    }
    claim
}

fn judge(claim: &str, info: &impl Info) -> Result<bool, String> {
    let claim = message_apart(claim);
    let mut parser = Parser { tokens: tokens(claim)?, at: 0, info, depth: 0 };
    let value = parser.any()?;
    match parser.tokens.get(parser.at) {
        None => Ok(value != 0),
        Some(token) => Err(format!("`{token}` in `{}`", claim.trim())),
    }
}

fn tokens(text: &str) -> Result<Vec<String>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_word = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '.';
        let len = if is_word(first) {
            rest.len() - rest.trim_start_matches(is_word).len()
        } else if ["==", "!=", "<=", ">=", "//", "<<", ">>"].iter().any(|two| rest.starts_with(two))
        {
            2
        } else if "<>+-*/%()&|~".contains(first) {
            1
        } else {
            return Err(format!("`{first}` in `{}`", text.trim()));
        };
        tokens.push(rest[..len].to_owned());
        rest = rest[len..].trim_start();
    }
    Ok(tokens)
}

struct Parser<'a, I> {
    tokens: Vec<String>,
    at: usize,
    info: &'a I,
    depth: u32,
}

impl<I: Info> Parser<'_, I> {
    fn takes(&mut self, token: &str) -> bool {
        let takes = self.tokens.get(self.at).is_some_and(|found| found == token);
        self.at += usize::from(takes);
        takes
    }

    fn one_of(&mut self, list: &[&'static str]) -> Option<&'static str> {
        list.iter().find(|token| self.takes(token)).copied()
    }

    fn any(&mut self) -> Result<i64, String> {
        let mut value = self.all()?;
        while self.takes("or") {
            let other = self.all()?;
            value = i64::from(value != 0 || other != 0);
        }
        Ok(value)
    }

    fn all(&mut self) -> Result<i64, String> {
        let mut value = self.not()?;
        while self.takes("and") {
            let other = self.not()?;
            value = i64::from(value != 0 && other != 0);
        }
        Ok(value)
    }

    fn not(&mut self) -> Result<i64, String> {
        if !self.takes("not") {
            return self.compared();
        }
        self.descend(Self::not).map(|value| i64::from(value == 0))
    }

    /// Python chains comparisons: `1 < x < 3`.
    fn compared(&mut self) -> Result<i64, String> {
        let mut left = self.bits()?;
        let mut holds = None;
        while let Some(sign) = self.one_of(&["==", "!=", "<=", ">=", "<", ">"]) {
            let right = self.bits()?;
            let this = match sign {
                "==" => left == right,
                "!=" => left != right,
                "<=" => left <= right,
                ">=" => left >= right,
                "<" => left < right,
                _ => left > right,
            };
            holds = Some(holds.unwrap_or(true) && this);
            left = right;
        }
        Ok(holds.map_or(left, i64::from))
    }

    fn bits(&mut self) -> Result<i64, String> {
        let mut value = self.sum()?;
        while let Some(sign) = self.one_of(&["&", "|", "<<", ">>"]) {
            let other = self.sum()?;
            let shift = u32::try_from(other).unwrap_or(u32::MAX);
            value = match sign {
                "&" => value & other,
                "|" => value | other,
                "<<" => value.checked_shl(shift).unwrap_or(0),
                _ => value.checked_shr(shift).unwrap_or(0),
            };
        }
        Ok(value)
    }

    fn sum(&mut self) -> Result<i64, String> {
        let mut value = self.product()?;
        while let Some(sign) = self.one_of(&["+", "-"]) {
            let other = self.product()?;
            let result =
                if sign == "+" { value.checked_add(other) } else { value.checked_sub(other) };
            value = result.ok_or("a number too large")?;
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<i64, String> {
        let mut value = self.unary()?;
        while let Some(sign) = self.one_of(&["*", "//", "/", "%"]) {
            let other = self.unary()?;
            let result = match sign {
                "*" => value.checked_mul(other),
                // Integers: every script divides exactly or rounds down.
                "%" => value.checked_rem_euclid(other),
                _ => value.checked_div_euclid(other),
            };
            value = result.ok_or("a division by zero, or a number too large")?;
        }
        Ok(value)
    }

    fn unary(&mut self) -> Result<i64, String> {
        if self.takes("-") {
            let value = self.descend(Self::unary)?;
            return value.checked_neg().ok_or_else(|| "a number too large".into());
        }
        if self.takes("~") {
            return self.descend(Self::unary).map(|value| !value);
        }
        self.descend(Self::single)
    }

    /// Descends one level; an expression from a file must not exhaust the stack.
    fn descend(&mut self, parse: fn(&mut Self) -> Result<i64, String>) -> Result<i64, String> {
        self.depth += 1;
        if self.depth > 64 {
            return Err("an expression too deep".into());
        }
        let value = parse(self);
        self.depth -= 1;
        value
    }

    fn single(&mut self) -> Result<i64, String> {
        if self.takes("(") {
            let value = self.any()?;
            return if self.takes(")") { Ok(value) } else { Err("`)` is missing".into()) };
        }
        if self.takes("abs") {
            return self
                .descend(Self::single)?
                .checked_abs()
                .ok_or_else(|| "a number too large".into());
        }
        let Some(token) = self.tokens.get(self.at).cloned() else {
            return Err("the expression ends too early".into());
        };
        self.at += 1;
        if token.starts_with(|first: char| first.is_ascii_digit()) {
            let value = match token.strip_prefix("0x") {
                Some(digits) => i64::from_str_radix(digits, 16),
                None => token.parse(),
            };
            return value.map_err(|_| format!("`{token}` is not a whole number"));
        }
        constant(&token)
            .or_else(|| self.info.value(&token))
            .ok_or_else(|| format!("{token} is not modelled"))
    }
}

/// Constants of `tcp_info`.
fn constant(name: &str) -> Option<i64> {
    Some(match name {
        "TCP_CA_Open" | "False" => 0,
        "TCP_CA_Disorder" | "True" | "TCP_ESTABLISHED" => 1,
        "TCP_CA_CWR" => 2,
        "TCP_CA_Recovery" => 3,
        "TCP_CA_Loss" => 4,
        "TCP_INFINITE_SSTHRESH" => 0x7fff_ffff,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Cwnd;

    impl Info for Cwnd {
        fn value(&self, name: &str) -> Option<i64> {
            (name == "tcpi_snd_cwnd").then_some(12)
        }
    }

    #[test]
    fn an_assertion_is_true_false_or_not_modelled() {
        let is = |code: &str| check(code, &Cwnd);
        assert_eq!(is("assert tcpi_snd_cwnd == 12, tcpi_snd_cwnd"), Ok(()));
        assert_eq!(is("assert 10 < tcpi_snd_cwnd <= 2 * (5 + 1)"), Ok(()));
        assert_eq!(is("print(tcpi_snd_cwnd); assert not tcpi_snd_cwnd < 12 and 1"), Ok(()));
        assert_eq!(is("# nothing\nassert tcpi_snd_cwnd // 5 == 2, 'a, b'"), Ok(()));
        assert_eq!(
            is("assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd"),
            Err(Trouble::False("tcpi_snd_cwnd == 10: tcpi_snd_cwnd is 12".into()))
        );
        assert!(matches!(is("assert tcpi_unknown == 1"), Err(Trouble::Unknown(_))));
        assert!(matches!(is("x = 3"), Err(Trouble::Unknown(_))));
        let both = is("assert tcpi_unknown\nassert tcpi_snd_cwnd == 3");
        assert!(matches!(both, Err(Trouble::False(_))), "what is false comes first: {both:?}");
        for nonsense in [
            "assert (",
            "assert 1 +",
            "assert 1 / 0",
            "assert $",
            "assert 1 2",
            &format!("assert {}", "(".repeat(500)),
        ] {
            assert!(matches!(is(nonsense), Err(Trouble::Unknown(_))), "{nonsense}");
        }
    }
}
