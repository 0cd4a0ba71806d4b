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
mod sections {
    //! The sections of a page, a file each.

    pub(crate) mod absent;
    pub(crate) mod callers;
    pub(crate) mod causes;
    pub(crate) mod curve;
    pub(crate) mod levels;
    pub(crate) mod maps;
    pub(crate) mod members;
    pub(crate) mod recording;
    pub(crate) mod routines;
    pub(crate) mod sharing;
    pub(crate) mod sites;
    pub(crate) mod threads;
}

pub use content::{AnnotatedRoutine, PageContent, SectionContent};
pub use page::render;
