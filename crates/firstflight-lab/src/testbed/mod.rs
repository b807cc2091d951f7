//! Testbeds, which run trials: the interface, and the built-in testbeds.
//!
//! A testbed is a type that implements [`Testbed`]; a [`Plan`](crate::Plan) runs on any testbed,
//! including those of other crates. Each testbed of this crate has a module and a line in
//! [`BUILT_IN`]. Command line, experiments, Python and reports take names, descriptions and limits
//! from [`Info`].

mod absent;
mod bed;
pub mod linux;
pub mod quic;
pub mod quic_real;
pub mod sim;

pub use bed::{Info, Speaks, Testbed, Windows};

use firstflight_path::{Error, suggestion};

/// The testbeds of this crate, including those that this build does not support
/// ([`Testbed::available`]).
pub static BUILT_IN: [&dyn Testbed; 4] = [&sim::BED, &quic::BED, &quic_real::BED, &linux::BED];

/// Testbeds by name: the built-in ones, and added ones.
#[derive(Clone, Debug)]
pub struct Testbeds(Vec<&'static dyn Testbed>);

impl Default for Testbeds {
    fn default() -> Testbeds {
        Testbeds(BUILT_IN.to_vec())
    }
}

impl Testbeds {
    /// Adds a testbed.
    ///
    /// # Errors
    /// A one-line message if there is one with that name.
    pub fn add(&mut self, testbed: &'static dyn Testbed) -> Result<(), Error> {
        let name = testbed.info().name;
        if self.names().any(|known| known == name) {
            return Err(Error::new(format!("testbed `{name}`: this name is already in use")));
        }
        self.0.push(testbed);
        Ok(())
    }

    /// All testbeds, the built-in ones first.
    pub fn iter(&self) -> impl Iterator<Item = &'static dyn Testbed> {
        self.0.iter().copied()
    }

    /// Names of the testbeds.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.iter().map(|testbed| testbed.info().name)
    }

    /// The testbed with that name, if this build and this machine support it.
    ///
    /// # Errors
    /// A one-line message if there is none.
    pub fn find(&self, name: &str) -> Result<&'static dyn Testbed, Error> {
        let Some(testbed) = self.iter().find(|testbed| testbed.info().name == name) else {
            let near = suggestion(name, self.names());
            return Err(Error::new(format!(
                "on {name}: unknown value{near}; allowed: {}",
                self.names().collect::<Vec<_>>().join(", ")
            )));
        };
        testbed.available().map(|()| testbed)
    }
}
