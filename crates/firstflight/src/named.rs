//! Values read from text: enumerations whose values have names, and errors for invalid text.

/// Why an option or a field could not be read from text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// There is no such option, or a required field is missing.
    Absent,
    /// The text is not of this form.
    Not(&'static str),
}

/// A closed set of values, each with a name.
pub trait Named: Copy + PartialEq + Sized + 'static {
    /// The names in the order of declaration, separated by commas, as help and errors list them.
    const NAMES: &'static str;

    /// The name used in options, traces, tables and JSON.
    fn to_name(self) -> &'static str;

    /// The value of this name; `None` if there is none.
    fn of_name(name: &str) -> Option<Self>;
}

/// Generates the enumeration, the list of its values and its names in both directions from one
/// table, so that no value can be missing in one of them.
macro_rules! named {
    ($(#[$meta:meta])* $visibility:vis enum $type:ident { $($(#[$of:meta])* $value:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        $visibility enum $type {
            $($(#[$of])* $value,)+
        }

        impl $type {
            /// Every value, in the order of declaration: `ALL[value as usize] == value`.
            #[doc(hidden)]
            $visibility const ALL: [$type; [$($name),+].len()] = [$($type::$value),+];

            /// The name used in options, traces, tables and JSON.
            $visibility const fn name(self) -> &'static str {
                match self {
                    $($type::$value => $name,)+
                }
            }

            /// The value of this name; `None` if there is none.
            #[doc(hidden)]
            $visibility fn from_name(name: &str) -> Option<$type> {
                match name {
                    $($name => Some($type::$value),)+
                    _ => None,
                }
            }
        }

        impl $crate::named::Named for $type {
            const NAMES: &'static str = $crate::named::named!(@join $($name)+);

            fn to_name(self) -> &'static str {
                self.name()
            }

            fn of_name(name: &str) -> Option<$type> {
                $type::from_name(name)
            }
        }
    };
    (@join $first:literal $($rest:literal)*) => { concat!($first $(, ", ", $rest)*) };
}
pub(crate) use named;
