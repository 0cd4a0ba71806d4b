//! Samples -> tables: sites, registers, addresses. Plain data in, plain data
//! and text out; never prints.
//!
//! ```
//! use analysis::{Pipeline, Query, table};
//! use perfdata::stream::{StreamDecoder, StreamStep};
//! use symbolizer::{Symbolizer, SymbolizerOptions};
//!
//! fn table_of(stream: &[u8]) -> Result<String, Box<dyn std::error::Error>> {
//!     let query = Query { keys: analysis::Key::parse_list("routine,object")?, ..Query::default() };
//!     let mut pipeline = Pipeline::new(query, Symbolizer::new(SymbolizerOptions::default()))?;
//!     let (mut decoder, mut rest) = (StreamDecoder::new(), stream);
//!     while let StreamStep::Record { consumed, record } = decoder.step(rest)? {
//!         pipeline.record(&decoder, &record)?;
//!         rest = &rest[consumed..];
//!     }
//!     decoder.finish(rest.len())?;
//!     Ok(table::render(&pipeline.finish(&decoder)?, table::Style::default()))
//! }
//! # assert!(table_of(b"no stream at all").is_err());
//! ```
//!
//! - [`Query`] with its [`Key`]s, [`Filter`]s, [`Sort`] and [`SiteName`]: what is
//!   asked.
//! - [`Pipeline`]: records in, [`Report`] out.
//! - [`SampleSink`]: takes each counted sample, a [`SingleSample`].
//! - [`annotate`]: the instructions of a routine with their samples.
//! - [`report::TypeReport`]: types, and what was sampled of each member.
//! - [`diff`]: two recordings, or two sets, side by side.
//! - [`Sieve`]: which samples of an event its type means.
//! - [`Comms`]: names of threads, over time.
//! - [`emulation()`]: what made samples that no hardware made.
//! - [`without_parameters`]: C++ names as filters and sites may give them.
//! - [`report::EventPlots`]: histograms of what a report counts; [`plot`] draws them.
//! - [`table`], [`json`], [`csv`](mod@csv): a report as text; docs/report.md
//!   says what each column and field means. [`folded`]: its call chains.
//!
//! The rooms, each of which uses those before it:
//! - `query`: what is asked, in words that can be typed.
//! - `code`: what an instruction is, and what it accesses.
//! - `typed`: the type of what it accesses.
//! - `name`: places, threads and objects become words.
//! - `sieve`: which samples are meant.
//! - `collect`: samples become rows of numbers, and are counted.
//! - `reorder`: other orders of members, and the lines that they touch.
//! - `report`: rows become words; [`annotate`]: the instructions of a routine;
//!   [`diff`]: two reports side by side.
//! - `print`: both as text.
//!
//! A sample passes through in these shapes, each named after what it holds:
//! `HeldSample` while the side records of its time may come (`perfdata::stream::Rounds`),
//! `CountedSample` while it finds its row, an `Atom` a key as that row's path;
//! `RowCount` is what a row adds up (`RowTally`), `CountedRows` are all of
//! them at the end, and [`report::Row`] is one in words.

#![warn(missing_docs)]

pub mod annotate;
pub mod diff;
pub mod report;

pub mod causes;
mod code;
mod collect;
mod error;
mod name {
    //! What samples are about, in words: places, threads, objects.

    pub(crate) mod access_types;
    pub(crate) mod allocation_site;
    pub(crate) mod atom;
    pub(crate) mod block_lives;
    pub(crate) mod build_keys;
    pub(crate) mod call_chains;
    pub(crate) mod cell;
    pub(crate) mod chain_parts;
    pub(crate) mod chain_tree;
    pub(crate) mod chain_words;
    pub(crate) mod comms;
    pub(crate) mod data_holder;
    pub(crate) mod frame_bytes;
    pub(crate) mod heap_blocks;
    pub(crate) mod lookup;
    pub(crate) mod mapped_spans;
    pub(crate) mod mapping_maker;
    pub(crate) mod mapping_sizes;
    pub(crate) mod mappings;
    pub(crate) mod names;
    pub(crate) mod regions;
    pub(crate) mod sampled_stacks;
    pub(crate) mod stacks;
    pub(crate) mod thread_pointers;
    pub(crate) mod undecided_types;
    mod variable_atoms;
}
mod pipeline;
mod print {
    //! Reports and annotations as text.

    pub mod annotation;
    pub mod causes;
    pub mod csv;
    pub mod curves;
    mod diff_columns;
    pub mod diff_csv;
    pub mod folded;
    pub(crate) mod hindrances;
    pub mod json;
    pub mod plot;
    pub(crate) mod row_table;
    pub mod sharing;
    pub mod table;
}
mod query;
mod reorder {
    //! Another order of a structure's members, of which fewer lines are touched.
    //! Pure functions of what was accessed together.

    pub(crate) mod line_costs;
    pub(crate) mod member_order;
    pub(crate) mod movable_part;
}
mod sieve;
mod typed {
    //! On whose data an instruction works: type and offset of what it accesses.
    //!
    //! By code: types are followed from variables, of which debug info says in
    //! which register or stack slot they are, through the instructions of a
    //! routine to the operands of each (`routine_flow`). By object: a static
    //! variable has a type, and the data address a place in it. Both give a type
    //! and an offset, of which `member_name` makes what a user reads.
    //!
    //! Pure but for `object_types`, which asks a symbolizer for debug info and
    //! code.

    pub(crate) mod access_type;
    pub(crate) mod block_votes;
    pub(crate) mod flow_state;
    pub(crate) mod flow_value;
    pub(crate) mod frame_registers;
    pub(crate) mod known_variables;
    pub(crate) mod live_variables;
    pub(crate) mod member_name;
    pub(crate) mod object_types;
    pub(crate) mod routine_flow;
    pub(crate) mod transfer;
    pub(crate) mod typed_operand;
}

pub use code::instruction_class::classes;
pub use code::previous::Previous;
pub use collect::late_samples::SampleRoom;
pub use collect::members::{Growth, Members, SampleShare};
pub use collect::registers;
pub use collect::single_sample::{NamedAccess, SampleNames, SampleSink, SingleSample, TakenEvent};
pub use error::Error;
pub use name::comms::{Comm, Comms};
pub use name::regions::{RegionPath, Regions};
pub use name::sampled_stacks::{FrameId, FrameRoutine, NameNumber, NamedFrame, StackId};
pub use pipeline::{Overview, Pipeline};
pub use print::{
    annotation, causes as cause_cards, csv, curves, diff_csv, folded, json, plot, sharing, table,
};
pub use query::chain_view::FrameCut;
pub use query::chain_view::{ChainView, TreeOrder, TreeQuery};
pub use query::filter::{self, Filter, QueryFilterError};
pub use query::glob::Glob;
pub use query::key::{Key, KeyError};
pub use query::parameters::without_parameters;
pub use query::site::{SiteError, SiteName};
pub use query::sort::{Sort, SortError};
pub use query::time::{RunPart, RunTimes, TimeError, TimeRange, TimeStep};
pub use query::view::{KnownCache, KnownCaches, View};
pub use query::{Query, QueryError, RegisterQuery, Weighting};
pub use report::Report;
pub use report::emulation::emulation;
pub use sieve::{Doubt, Sieve, SieveVerdict};
pub use symbolizer::SampledAddress;
