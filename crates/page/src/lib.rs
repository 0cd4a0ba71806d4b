//! A recording as one page of HTML that needs nothing else: no file beside
//! it, no network, and no script to be read. Plain data in, text out; no
//! file, no clock.
//!
//! - [`PageContent`]: what the page shows, a field a section.
//! - [`render()`]: the page.
//!
//! `policy` names what a browser may run and load; [`render::Table`] and `figure`
//! are what sections are made of; `sections` has a file each. Words of others get
//! into markup through [`render::HtmlText`] alone, which escapes them.

mod content;
mod figure;
mod heat_grid;
mod page;
mod policy;
mod sections;

pub use content::{AnnotatedRoutine, PageContent, SectionContent};
pub use page::render;
