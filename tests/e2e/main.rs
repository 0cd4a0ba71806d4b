//! The whole program end to end.
