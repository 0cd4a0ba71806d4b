//! `ebs cache`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `ebs cache`.
#[derive(Clone, Debug, Args)]
pub struct CacheArguments {
    /// What to do.
    #[command(subcommand)]
    pub action: CacheAction,
}

/// What is done with the indexes of debug info.
#[derive(Clone, Debug, Subcommand)]
pub enum CacheAction {
    /// Makes an index of each file's debug info: eip2r -l answers from it at once.
    Add {
        /// Programs, libraries, a vmlinux: ELF files with a build id.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Lists them: bytes, when last used, build id.
    List,
    /// Removes them all.
    Clear,
    /// Prints where they are.
    Path,
}
