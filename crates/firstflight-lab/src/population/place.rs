//! Reads TOML key by key, so that every refusal names file, line, key and what is allowed, in one
//! line.

use firstflight_path::Error;
use firstflight_path::suggestion;
use toml::de::{DeTable, DeValue};

/// The keys of a group, or of the defaults for all groups.
pub(super) const VALUES: &[&str] = &[
    "rtt",
    "rate_down",
    "rate_down_is",
    "rate_up",
    "buffer",
    "loss",
    "size",
    "rows",
    "return_path",
    "path",
    "correlation",
    "rank_correlation",
    "bursts",
    "reordering",
    "policer",
    "responses",
    "video",
];

/// A file and its text.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

impl Place<'_> {
    /// `file:line: message`.
    pub(super) fn bad(&self, offset: usize, message: impl std::fmt::Display) -> Error {
        let line =
            self.text[..offset.min(self.text.len())].bytes().filter(|byte| *byte == b'\n').count()
                + 1;
        Error::new(format!("{}:{line}: {message}", self.file))
    }
}

/// A table whose keys are all known.
pub(super) struct Section<'a> {
    place: Place<'a>,
    /// Name of the table with a trailing dot; empty at the top.
    prefix: String,
    offset: usize,
    table: &'a DeTable<'a>,
}

/// A key and its value.
pub(super) struct Field<'a> {
    place: Place<'a>,
    pub(super) name: String,
    offset: usize,
    value: &'a DeValue<'a>,
}

impl<'a> Section<'a> {
    /// A table named `name` (empty at the top of the file) that starts at `offset`; keys outside
    /// `known` are refused.
    pub(super) fn new(
        place: Place<'a>,
        name: &str,
        offset: usize,
        table: &'a DeTable<'a>,
        known: &[&str],
    ) -> Result<Section<'a>, Error> {
        let prefix = if name.is_empty() { String::new() } else { format!("{name}.") };
        // The first in the file, not in alphabetical order.
        let strange = table
            .iter()
            .filter(|(key, _)| !known.contains(&key.get_ref().as_ref()))
            .min_by_key(|(key, _)| key.span().start);
        if let Some((key, _)) = strange {
            let near = suggestion(key.get_ref(), known.iter().copied());
            let known = known.join(", ");
            return Err(place.bad(
                key.span().start,
                format_args!("{prefix}{}: unknown key{near}; allowed: {known}", key.get_ref()),
            ));
        }
        Ok(Section { place, prefix, offset, table })
    }

    /// The names present.
    pub(super) fn names(&self) -> Vec<&'a str> {
        self.table.iter().map(|(key, _)| key.get_ref().as_ref()).collect()
    }

    pub(super) fn get(&self, key: &str) -> Option<Field<'a>> {
        let (name, value) = self.table.iter().find(|(name, _)| name.get_ref().as_ref() == key)?;
        Some(Field {
            place: self.place,
            name: format!("{}{key}", self.prefix),
            offset: name.span().start,
            value: value.get_ref(),
        })
    }

    pub(super) fn need(&self, key: &str) -> Result<Field<'a>, Error> {
        self.get(key).ok_or_else(|| self.bad(key, "is missing"))
    }

    /// An error about the whole table that concerns `key`.
    pub(super) fn bad(&self, key: &str, message: impl std::fmt::Display) -> Error {
        self.place.bad(self.offset, format_args!("{}{key}: {message}", self.prefix))
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<String>, Error> {
        self.get(key).map(|field| field.text().map(str::to_owned)).transpose()
    }
}

impl<'a> Field<'a> {
    pub(super) fn bad(&self, message: impl std::fmt::Display) -> Error {
        self.place.bad(self.offset, format_args!("{}: {message}", self.name))
    }

    /// Gives the field a different name, for errors that concern a part of it.
    pub(super) fn renamed(&self, name: &str) -> Field<'a> {
        Field { place: self.place, name: name.to_owned(), offset: self.offset, value: self.value }
    }

    fn other(&self, allowed: &str) -> Error {
        self.bad(format_args!("found {}; allowed: {allowed}", self.value.type_str()))
    }

    pub(super) fn text(&self) -> Result<&'a str, Error> {
        self.value.as_str().ok_or_else(|| self.other("text in quotes"))
    }

    /// A finite number.
    pub(super) fn number(&self) -> Result<f64, Error> {
        let text = match self.value {
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.as_str().to_owned(),
            _ => return Err(self.other("a number")),
        };
        match text.replace('_', "").parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => {
                Err(self
                    .bad(format_args!("{text} is not a number; allowed: a plain decimal number")))
            }
        }
    }

    /// A number that satisfies `fits`.
    pub(super) fn number_that(
        &self,
        fits: impl Fn(f64) -> bool,
        allowed: &str,
    ) -> Result<f64, Error> {
        let number = self.number()?;
        if fits(number) {
            Ok(number)
        } else {
            Err(self.bad(format_args!("{number} is out of range; allowed: {allowed}")))
        }
    }

    /// A list with every entry as a field.
    pub(super) fn list(&self) -> Result<Vec<Field<'a>>, Error> {
        let list = self.value.as_array().ok_or_else(|| self.other("a list in brackets"))?;
        let entry = |(index, value): (usize, &'a toml::Spanned<DeValue<'a>>)| Field {
            place: self.place,
            name: format!("{}[{index}]", self.name),
            offset: value.span().start,
            value: value.get_ref(),
        };
        Ok(list.iter().enumerate().map(entry).collect())
    }

    pub(super) fn section(&self, known: &[&str]) -> Result<Section<'a>, Error> {
        let table = self.value.as_table().ok_or_else(|| self.other("a table in braces"))?;
        Section::new(self.place, &self.name, self.offset, table, known)
    }

    pub(super) fn is_table(&self) -> bool {
        self.value.is_table()
    }

    /// The single key of a table in braces, for choices such as distributions.
    pub(super) fn choice(&self, known: &[&str], besides: &[&str]) -> Result<Field<'a>, Error> {
        let all: Vec<&str> = known.iter().chain(besides).copied().collect();
        let section = self.section(&all)?;
        let mut found = section.names().into_iter().filter(|name| known.contains(name));
        match (found.next(), found.next()) {
            (Some(one), None) => section.need(one),
            _ => Err(self.bad(format_args!(
                "found {} distributions; allowed: one of {}",
                section.names().len(),
                known.join(", ")
            ))),
        }
    }
}
