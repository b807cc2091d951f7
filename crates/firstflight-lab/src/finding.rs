//! What a comparison comes to, in one sentence or two: who is done first, and at which price.

use crate::compare::Comparison;
use crate::sweep::{JUDGED, Judged, SAME};

/// An arm as the finding sees it.
struct Seen<'a> {
    arm: &'a str,
    /// Completion time, ms; none if it did not finish.
    ms: Option<f64>,
    /// Lost packets, percent; none where the testbed cannot know.
    loss: Option<f64>,
}

impl Comparison {
    /// The finding, for the top of a page: on this path, with these seeds, and no further. Arms
    /// that are told what no sender can know (`oracle`) bound the others and are left out.
    pub fn finding(&self) -> String {
        let [time, loss] = &JUDGED;
        let median = |judged: &Judged, arm| judged.value(self, arm).map(|value| value.median);
        let rows: Vec<Seen<'_>> = self
            .plan
            .arms
            .iter()
            .enumerate()
            .filter(|(_, arm)| !arm.is_reference())
            .map(|(index, arm)| Seen {
                arm: &arm.label,
                ms: median(time, index),
                loss: median(loss, index),
            })
            .collect();
        told(&rows)
    }
}

fn told(rows: &[Seen<'_>]) -> String {
    let mut done: Vec<(&Seen<'_>, f64)> =
        rows.iter().filter_map(|seen| Some((seen, seen.ms?))).collect();
    done.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (Some(&(first, ms)), Some(&(last, slowest))) = (done.first(), done.last()) else {
        return "No arm finished within the limit.".to_owned();
    };
    let same = slowest <= ms * (1.0 + SAME / 100.0);
    let mut words = if done.len() == 1 {
        format!("{} takes {ms:.1} ms{}.", first.arm, loses(first))
    } else if same {
        format!("All arms take the same time, {ms:.1} ms.")
    } else {
        // The first that was asked for is what the others are compared with.
        let asked = rows.iter().find_map(|seen| Some((seen, seen.ms?)));
        let (other, later) = asked.filter(|(_, of)| *of > ms).unwrap_or((last, slowest));
        let sooner = 100.0 * (1.0 - ms / later);
        format!(
            "{} finishes first, after {ms:.1} ms, {sooner:.1} % before {}{}.",
            first.arm,
            other.arm,
            loses(first)
        )
    };
    words += &least(first, &done, same);
    let unfinished: Vec<&str> =
        rows.iter().filter(|seen| seen.ms.is_none()).map(|seen| seen.arm).collect();
    if !unfinished.is_empty() {
        words += " Not finished within the limit: ";
        words += &unfinished.join(", ");
        words.push('.');
    }
    words
}

fn loses(seen: &Seen<'_>) -> String {
    match seen.loss {
        Some(0.0) => ", without loss".to_owned(),
        Some(loss) => format!(", and loses {loss:.2} % of its packets"),
        None => String::new(),
    }
}

/// Who loses least of those that are done, if that is known and they differ.
fn least(first: &Seen<'_>, done: &[(&Seen<'_>, f64)], same: bool) -> String {
    let losses = done.iter().filter_map(|(seen, ms)| Some((seen.arm, seen.loss?, *ms)));
    let Some((arm, loss, ms)) = losses.clone().min_by(|a, b| a.1.total_cmp(&b.1)) else {
        return String::new();
    };
    if losses.clone().count() < 2 || losses.clone().all(|(_, other, _)| other <= loss) {
        String::new()
    } else if arm == first.arm && !same {
        " No arm loses less.".to_owned()
    } else {
        format!(" {arm} loses least, {loss:.2} %, and takes {ms:.1} ms.")
    }
}

#[cfg(test)]
mod tests {
    use super::{Seen, told};

    fn seen(arm: &str, ms: impl Into<Option<f64>>, loss: impl Into<Option<f64>>) -> Seen<'_> {
        Seen { arm, ms: ms.into(), loss: loss.into() }
    }

    #[test]
    fn who_is_first_and_at_which_price() {
        let rows = [seen("a", 1000.0, 9.0), seen("b", 900.0, 10.0), seen("c", 1000.0, 1.0)];
        assert_eq!(
            told(&rows),
            "b finishes first, after 900.0 ms, 10.0 % before a, and loses 10.00 % of its packets. \
             c loses least, 1.00 %, and takes 1000.0 ms."
        );
        let rows = [seen("a", 1000.0, 9.0), seen("b", 900.0, 1.0), seen("c", None, 0.0)];
        assert_eq!(
            told(&rows),
            "b finishes first, after 900.0 ms, 10.0 % before a, and loses 1.00 % of its packets. \
             No arm loses less. Not finished within the limit: c."
        );
    }

    #[test]
    fn nothing_is_said_that_is_not_known() {
        assert_eq!(told(&[]), "No arm finished within the limit.");
        assert_eq!(told(&[seen("a", 10.0, None)]), "a takes 10.0 ms.");
        let same = [seen("a", 1000.0, 2.0), seen("b", 1001.0, 1.0)];
        assert_eq!(
            told(&same),
            "All arms take the same time, 1000.0 ms. b loses least, 1.00 %, and takes 1001.0 ms."
        );
        let same = [seen("a", 1000.0, None), seen("b", 1001.0, None)];
        assert_eq!(told(&same), "All arms take the same time, 1000.0 ms.");
    }
}
