//! Parts of error lines: the nearest known name, and quoted text with control characters escaped.

use firstflight_path::input::shortened;
pub use firstflight_path::nearest;
use firstflight_table::text::one_line;

/// Formats a line with quoted values: line breaks and other control characters are escaped, and
/// long values are shortened.
pub fn printable(line: &str) -> String {
    one_line(&shortened(line)).into_owned()
}
