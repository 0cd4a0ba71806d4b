//! Enums whose values have names, from one list.

/// The enum, `ALL` of its values, and the name of each.
macro_rules! named_enum {
    (
        $(#[$meta:meta])*
        pub enum $enum:ident { $($(#[$doc:meta])* $value:ident $(= $number:literal)? => $name:literal,)* }
    ) => {
        $(#[$meta])*
        pub enum $enum { $($(#[$doc])* $value $(= $number)?,)* }

        impl $enum {
            /// All of them, in the order of the enum.
            pub const ALL: [$enum; [$($enum::$value),*].len()] = [$($enum::$value),*];

            /// The name that users type and streams carry.
            pub const fn name(self) -> &'static str {
                match self {
                    $($enum::$value => $name,)*
                }
            }
        }
    };
}

pub(crate) use named_enum;
