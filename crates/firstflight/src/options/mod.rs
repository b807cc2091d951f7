//! Options: the parameters of an algorithm that the name of an arm can set.
//!
//! An algorithm declares each option once, next to its rules, with `params!`: key, field, default,
//! allowed values, meaning. The structure, its defaults, the parser, the printer and the list of
//! `firstflight arms` are generated from that.

mod value;

pub use crate::named::Wrong;
pub use value::{Listed, OptionValue, Range};

use core::fmt;

/// One option of one part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionDoc {
    /// Its name.
    pub key: &'static str,
    /// Allowed values.
    pub values: &'static str,
    /// The same values for a program that tries them.
    pub range: Range,
    /// Its meaning.
    pub meaning: &'static str,
}

/// A set of options that parses from and prints to `key=value` pairs.
pub trait Options: Copy + Default {
    /// Every option.
    const DOCS: &'static [OptionDoc];
    /// Sets one option.
    ///
    /// # Errors
    /// If there is no such option or it does not take the value.
    fn set(&mut self, key: &str, value: &str) -> Result<(), Wrong>;
    /// Visits the options that differ from the default, in the order of [`Options::DOCS`].
    ///
    /// # Errors
    /// Errors of the visitor.
    fn changed(&self, visit: &mut dyn FnMut(&'static str, &dyn Show) -> fmt::Result)
    -> fmt::Result;
}

/// A value that can be written.
pub trait Show {
    /// Writes it.
    ///
    /// # Errors
    /// Errors of the writer.
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

impl<T: OptionValue> Show for T {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        OptionValue::show(self, f)
    }
}

/// A part without options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoOptions;

impl Options for NoOptions {
    const DOCS: &'static [OptionDoc] = &[];
    fn set(&mut self, _key: &str, _value: &str) -> Result<(), Wrong> {
        Err(Wrong::Absent)
    }
    fn changed(
        &self,
        _visit: &mut dyn FnMut(&'static str, &dyn Show) -> fmt::Result,
    ) -> fmt::Result {
        Ok(())
    }
}

/// Parses the value, if it is allowed.
pub(crate) fn read<T: OptionValue>(
    text: &str,
    values: &'static str,
    fits: impl Fn(T) -> bool,
) -> Result<T, Wrong> {
    T::parse(text).filter(|&value| fits(value)).ok_or(Wrong::Not(values))
}

/// Whether `value` is in `low..=high`.
pub(crate) fn within<T: PartialOrd + Copy>(value: T, low: T, high: T) -> bool {
    low <= value && value <= high
}

/// Whether `value` is `off` or in `low..=high`.
pub(crate) fn off_or_within<T: PartialOrd + Copy>(value: Option<T>, low: T, high: T) -> bool {
    value.is_none_or(|value| within(value, low, high))
}

/// Declares the options of an algorithm, each once:
///
/// ```text
/// params! {
///     /// The options of Example.
///     #[derive(Clone, Copy, Debug, PartialEq, Eq)]
///     pub struct Params {
///         /// Segments below which nothing is detected.
///         pub low_window: u64 = 16, "low" [0..=10_000 "segments"] "no detection below this window";
///         /// What no name of an arm can set.
///         pub queue: u64 = 0;
///     }
/// }
/// ```
///
/// A field has a type, a default and, if an arm's name can set it, a key, allowed values in
/// brackets and a meaning. The allowed values are one of: `[]` all values of the type ([`Listed`]);
/// `[1..=50 "unit"]` a range; `[off or 1..=64]` a range of an `Option`; `["in words" if test]` and
/// `["in words"]` values described in words; `[words NAME if test]` the same with the words in a
/// constant. Values in words end with a [`Range`], as in `["1 to 4" if test; Range::Fraction { .. }]`,
/// unless they are [`Range::Described`]. A leading `some` is for an `Option` that no value unsets: `[some 1..=1000 "packets"]`,
/// `[some of Type]`, `[some "in words" if test]`.
///
/// Entries that are not fields may follow the structure: `preset "key": Type [values] "meaning", of
/// |params| .., make |value| ..;` replaces all fields at once; the others are compared with the
/// preset in force, so that `profile=gvisor` prints as just that; `option "key": Type [values]
/// "meaning", get |params| .., set |params, value| ..;` reads and sets a part of a field; `get`
/// returns `None` and `set` returns false if there is no such part.
macro_rules! params {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                $(#[$of:meta])*
                pub $field:ident: $type:ty = $default:expr $(, $key:literal [$($values:tt)*] $meaning:literal)?;
            )*
        }
        $(preset $pkey:literal: $ptype:ty [$($pvalues:tt)*] $pmeaning:literal, of $pof:expr, make $pmake:expr;)?
        $(option $okey:literal: $otype:ty [$($ovalues:tt)*] $omeaning:literal, get $oget:expr, set $oset:expr;)*
    ) => {
        $(#[$meta])*
        #[non_exhaustive]
        pub struct $name {
            $(
                $(#[$of])*
                $(#[doc = concat!("\n\nOption `", $key, "`: ", $meaning, ".")])?
                pub $field: $type,
            )*
        }

        impl $name {
            /// Every option at its default.
            #[doc(hidden)]
            pub const DEFAULT: $name = $name { $($field: $default,)* };
        }

        impl Default for $name {
            fn default() -> $name {
                $name::DEFAULT
            }
        }

        impl $crate::options::Options for $name {
            const DOCS: &'static [$crate::options::OptionDoc] = &[
                $($crate::options::OptionDoc {
                    key: $pkey,
                    values: $crate::options::params!(@text $ptype, [$($pvalues)*]),
                    range: $crate::options::params!(@range $ptype, [$($pvalues)*]),
                    meaning: $pmeaning,
                },)?
                $($crate::options::OptionDoc {
                    key: $okey,
                    values: $crate::options::params!(@text $otype, [$($ovalues)*]),
                    range: $crate::options::params!(@range $otype, [$($ovalues)*]),
                    meaning: $omeaning,
                },)*
                $($($crate::options::OptionDoc {
                    key: $key,
                    values: $crate::options::params!(@text $type, [$($values)*]),
                    range: $crate::options::params!(@range $type, [$($values)*]),
                    meaning: $meaning,
                },)?)*
            ];

            fn set(&mut self, key: &str, value: &str) -> Result<(), $crate::options::Wrong> {
                match key {
                    $($pkey => {
                        let make: fn($ptype) -> $name = $pmake;
                        *self = make($crate::options::params!(@read value, $ptype, [$($pvalues)*]));
                    })?
                    $($okey => {
                        let set: fn(&mut $name, $otype) -> bool = $oset;
                        if !set(self, $crate::options::params!(@read value, $otype, [$($ovalues)*])) {
                            return Err($crate::options::Wrong::Not($crate::options::params!(@text $otype, [$($ovalues)*])));
                        }
                    })*
                    $($($key => self.$field = $crate::options::params!(@read value, $type, [$($values)*]),)?)*
                    _ => return Err($crate::options::Wrong::Absent),
                }
                Ok(())
            }

            fn changed(
                &self,
                visit: &mut dyn FnMut(&'static str, &dyn $crate::options::Show) -> core::fmt::Result,
            ) -> core::fmt::Result {
                let base = $name::DEFAULT;
                $(
                    let (of, make): (fn(&$name) -> $ptype, fn($ptype) -> $name) = ($pof, $pmake);
                    let preset = of(self);
                    let base = if preset == of(&base) {
                        base
                    } else {
                        visit($pkey, &preset)?;
                        make(preset)
                    };
                )?
                $(
                    let get: fn(&$name) -> Option<$otype> = $oget;
                    if let Some(value) = get(self)
                        && get(&base) != Some(value)
                    {
                        visit($okey, &value)?;
                    }
                )*
                $($(if self.$field != base.$field {
                    visit($key, &self.$field)?;
                })?)*
                Ok(())
            }
        }
    };

    (@text $type:ty, []) => { <$type as $crate::options::Listed>::VALUES };
    (@text $type:ty, [$low:literal..=$high:literal $($unit:literal)?]) => { concat!($low, " to ", $high $(, " ", $unit)?) };
    (@text $type:ty, [off or $low:literal..=$high:literal $($unit:literal)?]) => { concat!("off, or ", $low, " to ", $high $(, " ", $unit)?) };
    (@text $type:ty, [some of $inner:ty]) => { <$inner as $crate::options::Listed>::VALUES };
    (@text $type:ty, [some $($values:tt)+]) => { $crate::options::params!(@text $type, [$($values)+]) };
    (@text $type:ty, [words $words:ident if $fits:expr $(; $range:expr)?]) => { $words };
    (@text $type:ty, [$words:literal if $fits:expr $(; $range:expr)?]) => { $words };
    (@text $type:ty, [$words:literal $(; $range:expr)?]) => { $words };

    (@range $type:ty, []) => { <$type as $crate::options::Listed>::RANGE };
    (@range $type:ty, [$low:literal..=$high:literal $($unit:literal)?]) => {
        $crate::options::Range::Whole { off: false, low: $low, high: $high }
    };
    (@range $type:ty, [off or $low:literal..=$high:literal $($unit:literal)?]) => {
        $crate::options::Range::Whole { off: true, low: $low, high: $high }
    };
    (@range $type:ty, [some of $inner:ty]) => { <$inner as $crate::options::Listed>::RANGE };
    (@range $type:ty, [some $($values:tt)+]) => { $crate::options::params!(@range $type, [$($values)+]) };
    (@range $type:ty, [$($values:tt)*]) => { $crate::options::params!(@described $($values)*) };

    (@described words $words:ident if $fits:expr $(; $range:expr)?) => { $crate::options::params!(@or $($range)?) };
    (@described $words:literal if $fits:expr $(; $range:expr)?) => { $crate::options::params!(@or $($range)?) };
    (@described $words:literal $(; $range:expr)?) => { $crate::options::params!(@or $($range)?) };
    (@or $range:expr) => { $range };
    (@or) => { $crate::options::Range::Described };

    (@read $value:ident, $type:ty, [some of $inner:ty]) => { Some($crate::options::params!(@read $value, $inner, [])) };
    (@read $value:ident, $type:ty, [some $($values:tt)+]) => { Some($crate::options::params!(@read $value, _, [$($values)+])) };
    (@read $value:ident, $type:ty, [$($values:tt)*]) => {
        $crate::options::read::<$type>(
            $value,
            $crate::options::params!(@text $type, [$($values)*]),
            $crate::options::params!(@fits [$($values)*]),
        )?
    };

    (@fits []) => { |_| true };
    (@fits [$low:literal..=$high:literal $($unit:literal)?]) => { |value| $crate::options::within(value, $low, $high) };
    (@fits [off or $low:literal..=$high:literal $($unit:literal)?]) => { |value| $crate::options::off_or_within(value, $low, $high) };
    (@fits [words $words:ident if $fits:expr $(; $range:expr)?]) => { $fits };
    (@fits [$words:literal if $fits:expr $(; $range:expr)?]) => { $fits };
    (@fits [$words:literal $(; $range:expr)?]) => { |_| true };
}
pub(crate) use params;
