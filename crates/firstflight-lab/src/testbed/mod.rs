//! Where trials run: what a testbed is, and those that are built in.
//!
//! A testbed is a type that implements [`Testbed`]; a [`Plan`](crate::Plan) runs on any, also on
//! one of another crate. Those of this crate have a module each and a line in [`BUILT_IN`]; command
//! line, experiments, Python and reports take names, descriptions and limits from [`Info`].

mod absent;
mod bed;
pub mod linux;
pub mod quic;
pub mod quic_real;
pub mod sim;

pub use bed::{Info, Speaks, Testbed};

use firstflight_path::{Error, suggestion};

/// The testbeds of this crate, whether or not this build has all of them ([`Testbed::available`]).
pub static BUILT_IN: [&dyn Testbed; 4] = [&sim::BED, &quic::BED, &quic_real::BED, &linux::BED];

/// Testbeds by name: those that are built in, and those that somebody adds.
#[derive(Clone, Debug)]
pub struct Testbeds(Vec<&'static dyn Testbed>);

impl Default for Testbeds {
    fn default() -> Testbeds {
        Testbeds(BUILT_IN.to_vec())
    }
}

impl Testbeds {
    /// One more.
    ///
    /// # Errors
    /// One line if there is one of that name.
    pub fn add(&mut self, testbed: &'static dyn Testbed) -> Result<(), Error> {
        let name = testbed.info().name;
        if self.names().any(|known| known == name) {
            return Err(Error::new(format!("testbed `{name}`: there is one of that name")));
        }
        self.0.push(testbed);
        Ok(())
    }

    /// All of them, those that are built in first.
    pub fn iter(&self) -> impl Iterator<Item = &'static dyn Testbed> {
        self.0.iter().copied()
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.iter().map(|testbed| testbed.info().name)
    }

    /// The one of that name, if this build and this machine have it.
    ///
    /// # Errors
    /// One line.
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
