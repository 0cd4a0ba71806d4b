//! Samples -> tables: sites, registers, addresses. Plain data in, plain data
//! and text out; never prints.
//!
//! ```
//! use analysis::{Pipeline, Query, table};
//! use record::stream::{Decoder, Step};
//! use symbolizer::{Options, Symbolizer};
//!
//! fn table_of(stream: &[u8]) -> Result<String, Box<dyn std::error::Error>> {
//!     let query = Query { keys: analysis::Key::parse_list("routine,object")?, ..Query::default() };
//!     let mut pipeline = Pipeline::new(query, Symbolizer::new(Options::default()))?;
//!     let (mut decoder, mut rest) = (Decoder::new(), stream);
//!     while let Step::Record { consumed, record } = decoder.step(rest)? {
//!         pipeline.record(&decoder, &record)?;
//!         rest = &rest[consumed..];
//!     }
//!     decoder.finish(rest.len())?;
//!     Ok(table::render(&pipeline.finish(&decoder)?, table::Style::default()))
//! }
//! # assert!(table_of(b"no stream at all").is_err());
//! ```
//!
//! - [`Query`] with its [`Key`]s, [`Filter`]s, [`Sort`] and [`Site`]: what is
//!   asked.
//! - [`Pipeline`]: records in, [`Report`] out.
//! - [`annotate`]: the instructions of a routine with their samples.
//! - [`Sieve`]: which samples of an event its type means.
//! - [`emulation()`]: what made samples that no hardware made.
//! - [`without_parameters`]: C++ names as filters and sites may give them.
//! - [`table`], [`json`], [`csv`](mod@csv): a report as text; docs/report.md
//!   says what each column and field means.

pub mod annotate;
pub mod csv;
pub mod filter;
pub mod json;
pub mod registers;
pub mod report;
pub mod table;

mod access;
mod aggregates;
mod answer;
mod atom;
mod by_line;
mod comms;
mod distribution;
mod emulation;
mod error;
mod event;
mod fields;
mod glob;
mod held;
mod instruction_class;
mod key;
mod lookup;
mod members;
mod names;
mod nearest;
mod parameters;
mod pipeline;
mod previous;
mod query;
mod room;
mod sampled;
mod sieve;
mod site;
mod sort;
mod tally;
mod weight;

pub use emulation::emulation;
pub use error::Error;
pub use filter::{Filter, FilterError};
pub use glob::Glob;
pub use instruction_class::classes;
pub use key::{Key, KeyError};
pub use members::{Growth, Members, Share};
pub use parameters::without_parameters;
pub use pipeline::Pipeline;
pub use previous::Previous;
pub use query::{Query, QueryError, RegisterQuery, Weighting};
pub use report::Report;
pub use sieve::{Doubt, Sieve, Sifted};
pub use site::{Site, SiteError};
pub use sort::{Sort, SortError};
