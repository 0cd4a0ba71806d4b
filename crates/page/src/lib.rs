//! A recording as one page of HTML that needs nothing else: no file beside
//! it, no network, and no script to be read. Plain data in, text out; no
//! file, no clock.
//!
//! - [`PageContent`]: what the page shows, a field a section.
//! - [`render`]: the page.
//!
//! `html_text` is the only file that puts words of others into markup, and
//! escapes them; `policy` names what a browser may run and load; `table` and
//! `figure` are what sections are made of; `sections` has a file each.

mod content;
mod figure;
mod heat_grid;
mod html_text;
mod page;
mod policy;
mod sections;
mod table;

pub use content::{AnnotatedRoutine, PageContent, SectionContent};
pub use page::render;
