//! Enumerations whose values have names.

/// The enumeration, the list of its values and its names in both directions, all out of one table: a value cannot be missing in one of
/// them. A value's place in `ALL` is `value as usize`.
macro_rules! named {
    ($(#[$meta:meta])* pub enum $type:ident { $($(#[$of:meta])* $value:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        pub enum $type {
            $($(#[$of])* $value,)+
        }

        impl $type {
            /// Every value, in the order of declaration: `ALL[value as usize] == value`.
            pub const ALL: [$type; [$($name),+].len()] = [$($type::$value),+];

            /// The name used in traces, tables and JSON.
            pub const fn name(self) -> &'static str {
                match self {
                    $($type::$value => $name,)+
                }
            }

            /// The value of this name; `None` if there is none.
            pub fn from_name(name: &str) -> Option<$type> {
                match name {
                    $($name => Some($type::$value),)+
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use named;
