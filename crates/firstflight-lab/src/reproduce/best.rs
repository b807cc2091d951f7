//! BEST.
use super::{Assumption, Effort, Item, Row, Source};
use crate::error::Bad;
pub const SOURCE: Source =
    Source { name: "best", document: "BEST slides, NetDev 0x16", stated: "", items: ITEMS, assumptions: ASSUMPTIONS, measure: rows };
const ITEMS: &[Item] = &[];
const ASSUMPTIONS: &[Assumption] = &[];
fn rows(_effort: &Effort<'_>) -> Result<Vec<Row>, Bad> {
    Ok(Vec::new())
}
