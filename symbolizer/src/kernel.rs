//! The kernel's own symbols: /proc/kallsyms, System.map, vmlinux.

mod lines;
pub(crate) mod list;
pub(crate) mod load;
pub(crate) mod recorded;
pub(crate) mod table;
pub(crate) mod view;
pub(crate) mod vmlinux;
