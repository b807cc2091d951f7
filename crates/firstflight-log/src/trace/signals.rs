//! Internal signals as columns. An algorithm lists its signals with their values on request, and
//! the list may change from one request to the next.

/// Returns the values passed to `visit`, in the order of `names`; new names are appended to it. A
/// value is `None` if an earlier signal does not exist (yet).
pub fn row<N: AsRef<str> + From<&'static str>>(
    names: &mut Vec<N>,
    visit: impl FnOnce(&mut dyn FnMut(&'static str, u64)),
) -> Vec<Option<u64>> {
    let mut values = Vec::new();
    visit(&mut |name, value| {
        let known = names.iter().position(|known| known.as_ref() == name);
        let index = known.unwrap_or_else(|| {
            names.push(N::from(name));
            names.len() - 1
        });
        if values.len() <= index {
            values.reserve(names.len() - values.len());
            values.resize(index + 1, None);
        }
        values[index] = Some(value);
    });
    values
}

#[cfg(test)]
mod tests {
    use super::row;

    #[test]
    fn a_signal_keeps_its_column() {
        let mut names: Vec<String> = Vec::new();
        let first = row(&mut names, |visit| {
            visit("rounds", 3);
            visit("armed", 1);
        });
        let second = row(&mut names, |visit| {
            visit("bins", 7);
            visit("armed", 0);
        });
        assert_eq!(names, ["rounds", "armed", "bins"]);
        assert_eq!(first, [Some(3), Some(1)]);
        assert_eq!(second, [None, Some(0), Some(7)]);
        assert_eq!(row(&mut names, |_| {}), []);
    }
}
