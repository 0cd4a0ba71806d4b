//! perf.data in pipe form: the one stream format of hardmeter, on the wire,
//! on disk and on stdin. docs/stream-format.md says what is in ours.
//!
//! - [`StreamDecoder`]: bytes in pieces of any size -> records; no I/O.
//! - [`EventDescription`], [`Features`]: what the stream says of its events
//!   and of the machine.
//! - [`write`](mod@write): the same, appended to a buffer.
//! - [`note`]: hardmeter's own `key=value` notes.
//! - [`RoundBuffer`]: what waits until nothing that belongs before it can come;
//!   [`OrderedRoundBuffer`]: records in order of time.

mod cpu_map;
mod decoder;
mod description;
mod error;
mod feature;
mod features;
mod ids;
mod magic;
mod model_clock;
pub mod note;
mod round_buffer;
mod route;
mod sample_record;
mod title;
mod tracepoint_names;
mod update;
pub mod write;

pub(crate) use decoder::most_of;
pub use decoder::{RecordTally, StreamDecoder, StreamRecord, StreamStep, Unreadable};
pub use description::EventDescription;
pub use error::StreamError;
pub(crate) use feature::MOST_EVENTS;
pub use feature::{
    BuildId, CacheDescription, Compression, EventGroup, EventName, Feature, FeatureId, NumaNode,
};
pub use features::{FeatureSection, Features};
pub(crate) use magic::Magic;
pub use model_clock::ModelClock;
pub use round_buffer::{OrderedRoundBuffer, RoundBatch, RoundBuffer};
pub use sample_record::SampleRecord;
