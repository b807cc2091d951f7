//! The binding over iroh-quinn, for the client.

use iroh_quinn as stack;

#[expect(clippy::duplicate_mod, reason = "one binding for two stacks with the same interface")]
#[path = "binding.rs"]
pub(super) mod binding;
