//! Answers of debug info kept on disk, by build id.
//!
//! `layout` is what a file of the cache looks like, `builder` puts one
//! together from a [`crate::DebugFile`], `blocks` reads one and checks what it
//! reads, `index` looks addresses up in it. `folder` is the directory,
//! `indexes` those of it that a program asks, and `indexed_file` an ELF file that
//! is asked by way of its index.

mod answers;
mod blocks;
mod builder;
pub mod folder;
pub mod index;
pub mod indexed_file;
pub mod indexes;
mod layout;

#[cfg(test)]
mod tests;
