//! What goes into an error line: the nearest known name, and text that is shown, not obeyed.

use firstflight_path::input::shortened;
pub use firstflight_path::nearest;
use firstflight_table::text::one_line;

/// One line, whatever it quotes: line breaks and other control characters of a value are shown, not
/// obeyed, and long values are cut short.
pub fn printable(line: &str) -> String {
    one_line(&shortened(line)).into_owned()
}
