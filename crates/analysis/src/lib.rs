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
//! - [`View`]: what else is asked, each a folder with what collects for it, its
//!   numbers and its text: [`causes`], [`curve`], [`c2c`], [`layout`], [`maps`],
//!   [`plots`] and [`annotate`].
//! - [`diff`]: two recordings, or two sets, side by side.
//! - [`Sieve`]: which samples of an event its type means.
//! - [`Comms`]: names of threads, over time.
//! - [`emulation()`]: what made samples that no hardware made.
//! - [`without_parameters`]: C++ names as filters and sites may give them.
//! - [`table`], [`json`], [`csv`](mod@csv): a report as text; docs/report.md
//!   says what each column and field means. [`folded`]: its call chains.
//!
//! The rooms, each of which uses those before it:
//! - `query`: what is asked, in words that can be typed.
//! - `code`: what an instruction is, and what it accesses.
//! - `typed`: the type of what it accesses.
//! - `name`: places, threads and objects become words.
//! - `sieve`: which samples are meant.
//! - `collect`: samples become rows of numbers, and are counted; a view counts
//!   by its `Collector`.
//! - `report`: rows become words.
//! - `print`: reports as text.
//! - a folder for each view.
//! - `pipeline`: feeds the collectors of the views that are asked for.
//!
//! A sample passes through in these shapes, each named after what it holds:
//! `PendingSample` while the sideband records of its time may come (`perfdata::stream::RoundBuffer`),
//! `CountedSample` while it finds its row, a `KeyValue` for each key of that row;
//! `RowCount` is what a row adds up (`RowTally`), `CountedRows` are all of
//! them at the end, and [`report::Row`] is one in words.

#![warn(missing_docs)]

pub mod report;

mod bounded;
mod cache_shape;
mod code;
mod collect;
mod error;
mod name {
    //! What samples are about, in words: places, threads, objects.

    pub(crate) mod access_types;
    pub(crate) mod allocation_site;
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
    pub(crate) mod heap_block;
    pub(crate) mod heap_blocks;
    pub(crate) mod holder_names;
    pub(crate) mod key_value;
    pub(crate) mod lookup;
    pub(crate) mod mapped_spans;
    pub(crate) mod mapping_maker;
    pub(crate) mod mapping_sizes;
    pub(crate) mod mappings;
    pub(crate) mod names;
    pub(crate) mod place_names;
    pub(crate) mod regions;
    pub(crate) mod source_lines;
    pub(crate) mod stacks;
    pub(crate) mod thread_pointers;
    pub(crate) mod undecided_types;
}
mod pipeline;
mod print {
    //! Reports as text.

    pub mod csv;
    pub mod folded;
    pub mod json;
    pub(crate) mod row_table;
    mod short_rows;
    pub mod table;
    mod text;
}
mod query;
mod share_interval;
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

pub mod annotate;
pub mod c2c {
    //! Lines that several threads use: docs/c2c.md.

    mod access_totals;
    pub(crate) mod collect;
    mod line_sharing;
    mod line_use;
    mod print;
    pub(crate) mod sharing_report;

    pub use access_totals::AccessTotals;
    pub use line_sharing::LineSharing;
    pub use print::{eights, render};
    pub use sharing_report::{LineSite, LineThread, SharedLine, SharingReport, SiteWait};
}
pub mod causes;
pub mod curve {
    //! What caches of other sizes would miss: docs/causes.md.

    pub(crate) mod collect;
    pub(crate) mod curve_report;
    mod curve_subject;
    mod miss_curve;
    mod print;
    pub(crate) mod stack_distances;

    pub use curve_report::{CurveLack, CurveMark, CurveReport, EventCurve};
    pub use miss_curve::{MissCurve, MissCurvePoint};
    pub use print::{fits, marks, render, size};
}
pub mod diff;
pub mod layout {
    //! Types that samples are on, and orders of their members that would touch fewer lines:
    //! docs/types.md.

    pub(crate) mod collect;
    mod line_costs;
    mod member_order;
    mod movable_part;
    mod object_visits;
    mod order;
    mod rows;
    mod thread_set;
    pub(crate) mod type_report;

    pub use movable_part::NoOrder;
    pub use order::{OrderedMember, SuggestedOrder};
    pub use rows::{PartUse, RowUse};
    pub use type_report::{MemberUse, SampledType, TypeReport, UseCount};
}
pub mod maps {
    //! Where accesses are over time.

    pub(crate) mod collect;
    mod map_cells;
    pub(crate) mod map_report;

    pub use map_report::{EventMap, MapCell, MapReport, ObjectBand, SetMap};
}
pub mod plots {
    //! Histograms of a report's samples.

    pub(crate) mod collect;
    pub(crate) mod plot_report;
    mod print;

    pub use collect::SetOrigin;
    pub use plot_report::{EventPlots, LatencyPlot, PlotBar, PlotLevel, PlotReport, SetPlot};
    pub use print::{PlotGlyphs, render};
}
mod samples {
    //! Each counted sample in words, for exports.

    pub(crate) mod collect;
    pub(crate) mod late_samples;
    pub(crate) mod sampled_stacks;
    pub(crate) mod single_sample;
}

pub use cache_shape::{CacheShape, MissedLevel};
pub use code::instruction_class::classes;
pub use code::previous::Previous;
pub use collect::members::{Growth, Members, SampleShare};
pub use collect::registers;
pub use error::Error;
pub use name::comms::{Comm, Comms};
pub use name::regions::{RegionPath, Regions};
pub use pipeline::{Overview, Pipeline};
pub use print::{csv, folded, json, table};
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
pub use samples::late_samples::SampleRoom;
pub use samples::sampled_stacks::{FrameId, FrameRoutine, NameNumber, NamedFrame, StackId};
pub use samples::single_sample::{NamedAccess, SampleNames, SampleSink, SingleSample, TakenEvent};
pub use share_interval::ShareInterval;
pub use sieve::{Doubt, Sieve, SieveVerdict};
pub use symbolizer::SampledAddress;
