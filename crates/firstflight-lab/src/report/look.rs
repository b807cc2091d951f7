//! One look per startup on every page: a reader who has learned that a colour is HyStart++ on one
//! page finds the same colour on the next.

/// Number of colours that people with any kind of colour blindness can distinguish; the pages'
/// style sheet has them in this order.
const COLOURS: usize = 6;
/// Number of different looks. A look is a pair of a colour (its number modulo six) and a shape
/// (modulo eight).
const LOOKS: usize = 24;

/// Colours of common startups, by name.
const HOMES: [(&str, usize); 13] = [
    ("slowstart", 0),
    ("hystart", 1),
    ("hystart++", 2),
    ("plumb", 3),
    ("rapid-nojump", 3),
    ("rapid", 4),
    ("oracle", 5),
    ("best", 3),
    ("search", 5),
    ("jumpstart", 1),
    ("best-published", 3),
    ("hystart++-draft03", 2),
    ("hystart-gvisor", 1),
];

/// The startup of an arm as requested: the text before options and other parts.
fn startup(arm: &str) -> &str {
    arm.split(['(', '/', '@']).next().unwrap_or(arm)
}

/// The look of each of these arms: that of its startup, unless another arm already has that colour.
/// Two arms have the same colour only if there are more than six arms, and the same look only if
/// there are more than 24.
#[allow(clippy::missing_panics_doc, reason = "what it asserts follows from its own loops")]
pub fn looks<'a>(arms: impl IntoIterator<Item = &'a str>) -> Vec<usize> {
    let arms: Vec<&str> = arms.into_iter().collect();
    let mut looks: Vec<Option<usize>> = vec![None; arms.len()];
    for (name, look) in HOMES {
        let first = arms.iter().position(|arm| startup(arm) == name);
        if let Some(arm) = first.filter(|_| !looks.contains(&Some(look))) {
            looks[arm] = Some(look);
        }
    }
    for arm in 0..arms.len() {
        if looks[arm].is_none() {
            let free = (0..LOOKS).find(|look| !looks.contains(&Some(*look)));
            looks[arm] = Some(free.unwrap_or(arm % LOOKS));
        }
    }
    assert!(arms.len() > COLOURS || looks.iter().flatten().all(|look| *look < COLOURS));
    looks.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::{COLOURS, LOOKS, looks};

    #[test]
    fn a_startup_keeps_its_look_whatever_stands_beside_it() {
        assert_eq!(looks(["slowstart", "hystart", "hystart++", "rapid"]), [0, 1, 2, 4]);
        assert_eq!(looks(["hystart", "slowstart", "rapid", "hystart++"]), [1, 0, 4, 2]);
        assert_eq!(looks(["rapid/cubic", "hystart++(cap=2)"]), [4, 2]);
        assert_eq!(looks(["slowstart", "best", "search"]), [0, 3, 5]);
    }

    #[test]
    fn no_two_arms_share_a_colour_before_it_must_be() {
        let six = ["rapid", "rapid(k=3)", "rapid(k=4)", "mine", "slowstart", "other"];
        let mut colours: Vec<usize> = looks(six).iter().map(|look| look % COLOURS).collect();
        colours.sort_unstable();
        assert_eq!(colours, [0, 1, 2, 3, 4, 5]);
        let many: Vec<String> = (0..LOOKS).map(|arm| format!("arm{arm}")).collect();
        let mut all = looks(many.iter().map(String::as_str));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), LOOKS);
    }
}
