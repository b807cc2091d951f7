//! The binding over noq, for the server.

use noq as stack;

#[path = "binding.rs"]
pub(super) mod binding;
