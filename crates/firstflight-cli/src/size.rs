//! Sizes as users write them.

/// Reads `10MB`, `200kB`, `1GiB`, `1500B`: a positive number with its unit.
///
/// # Errors
/// One line that says what is allowed.
pub fn parse(text: &str) -> Result<u64, String> {
    const UNITS: &[(&str, u64)] =
        &[("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1)];
    let wrong = || format!("`{text}` is not a size: a positive number with its unit (B, kB, MB, GB, KiB, MiB, GiB), such as 10MB");
    let (number, unit) = UNITS.iter().find_map(|&(name, unit)| Some((text.strip_suffix(name)?.trim(), unit))).ok_or_else(wrong)?;
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || !whole.bytes().chain(part.bytes()).all(|b| b.is_ascii_digit()) || part.len() > 9 {
        return Err(wrong());
    }
    let scale = 10u64.pow(part.len() as u32);
    let digits: u64 = format!("{whole}{part}").parse().map_err(|_| wrong())?;
    let bytes = u128::from(digits) * u128::from(unit) / u128::from(scale);
    match u64::try_from(bytes) {
        Ok(bytes) if (1..=1 << 40).contains(&bytes) => Ok(bytes),
        _ => Err(format!("`{text}`: an object has 1 B to 1 TiB")),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn sizes_have_a_number_and_a_unit() {
        let rows =
            [("10MB", 10_000_000), ("200kB", 200_000), ("1.5 MB", 1_500_000), ("1MiB", 1_048_576), ("1B", 1), ("2GB", 2_000_000_000)];
        for (text, bytes) in rows {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in ["10", "MB", "-5MB", "0B", "0.1B", "10 bananas", "1e3kB", "99999999999999999999B", "9999999GB", "1.2.3MB", ""] {
            assert!(parse(text).is_err(), "{text:?} should be refused");
        }
    }
}
