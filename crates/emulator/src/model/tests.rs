//! The model against a plain one, and against counts worked out by hand.

mod machine;
mod plain;
mod random;
mod stack;
mod truth;
