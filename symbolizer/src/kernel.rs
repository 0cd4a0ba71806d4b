//! The kernel's own symbols: /proc/kallsyms and System.map.

pub(crate) mod list;
pub(crate) mod load;
pub(crate) mod recorded;
pub(crate) mod table;
pub(crate) mod view;
