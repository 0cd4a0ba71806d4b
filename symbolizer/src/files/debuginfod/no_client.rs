//! In place of requests, where the feature `debuginfod` is off: files that
//! others have fetched are found in the cache all the same.

use super::settings::Settings;
use super::{Downloads, Failure};
use std::fs::File;

#[derive(Clone, Debug)]
pub(super) struct Agent;

pub(super) fn agent(_: &Settings) -> Agent {
    Agent
}

/// Says that nobody can be asked.
pub(super) fn download(
    _: &Agent,
    _: &str,
    _: &Settings,
    _: Option<&dyn Downloads>,
    _: &mut File,
) -> Result<(), Failure> {
    let why = "this program has no debuginfod client; build it with --features debuginfod";
    Err(Failure::Dead(why.to_owned()))
}
