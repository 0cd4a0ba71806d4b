//! Samples -> tables: sites, registers, addresses. Plain data in, plain data
//! and text out; never prints.

pub mod csv;
pub mod filter;
pub mod json;
pub mod registers;
pub mod report;
pub mod table;

mod glob;
mod key;
mod nearest;
mod notes;
mod query;
mod site;

pub use filter::{Filter, FilterError};
pub use glob::Glob;
pub use key::{Key, KeyError};
pub use query::{Query, QueryError, RegisterQuery, Sort, Weighting};
pub use report::Report;
pub use site::{Site, SiteError};
