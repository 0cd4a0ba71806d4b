//! Parquet: docs/parquet.md is what others may count on.

use crate::columns::{COLUMNS, ColumnKind, FlatRow, push_stack};
use crate::export::{Export, ExportedRecording};
use analysis::{SampleNames, SampleSink, SingleSample};
use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use perfdata::Time;
use render::Cell;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

/// Version of the columns and of the metadata; counts up when one changes its
/// meaning or goes.
const VERSION: u32 = 1;
/// Rows of a group: what is in memory at once.
const GROUP: usize = 1 << 16;

type FileWriter = SerializedFileWriter<Box<dyn Write + Send>>;

pub(crate) struct ParquetExport {
    /// None: it could not be begun, and why not is told at the first sample.
    writer: Result<FileWriter, Option<ParquetError>>,
    columns: Vec<ColumnValues>,
    rows: usize,
    /// Times of the first and last sample.
    span: Option<(Time, Time)>,
    stack: String,
}

impl ParquetExport {
    pub(crate) fn new(out: Box<dyn Write + Send>) -> ParquetExport {
        ParquetExport {
            writer: writer(out).map_err(Some),
            columns: COLUMNS.iter().map(|column| ColumnValues::new(column.kind)).collect(),
            rows: 0,
            span: None,
            stack: String::new(),
        }
    }

    fn writer(&mut self) -> io::Result<&mut FileWriter> {
        match &mut self.writer {
            Ok(writer) => Ok(writer),
            Err(why) => Err(why.take().map_or_else(|| io::Error::other("not begun"), as_io)),
        }
    }

    fn write_group(&mut self) -> io::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        self.rows = 0;
        let mut columns = std::mem::take(&mut self.columns);
        let written = write_columns(self.writer()?, &mut columns);
        self.columns = columns;
        written.map_err(as_io)
    }
}

fn write_columns(
    writer: &mut FileWriter,
    columns: &mut [ColumnValues],
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for values in columns {
        let Some(mut column) = group.next_column()? else { break };
        values.write(&mut column)?;
        column.close()?;
    }
    group.close().map(|_| ())
}

fn writer(out: Box<dyn Write + Send>) -> Result<FileWriter, ParquetError> {
    let fields: Result<Vec<_>, ParquetError> = COLUMNS
        .iter()
        .map(|column| {
            let (physical, logical) = match column.kind {
                ColumnKind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
                ColumnKind::Unsigned => (PhysicalType::INT64, None),
                ColumnKind::Address => (PhysicalType::INT64, Some(LogicalType::integer(64, false))),
                ColumnKind::Signed => (PhysicalType::INT32, None),
                ColumnKind::Flag => (PhysicalType::BOOLEAN, None),
            };
            let of_type = Type::primitive_type_builder(column.name, physical);
            let of_type = of_type.with_repetition(Repetition::OPTIONAL);
            of_type.with_logical_type(logical).build().map(Arc::new)
        })
        .collect();
    let schema = Type::group_type_builder("samples").with_fields(fields?).build()?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_created_by(concat!("hardmeter ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))
}

/// The error of `out` as it was: a closed pipe is one.
fn as_io(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        other => io::Error::other(other),
    }
}

impl fmt::Debug for ParquetExport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParquetExport").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl SampleSink for ParquetExport {
    fn take(&mut self, sample: &SingleSample, names: &SampleNames<'_>) -> io::Result<()> {
        if let Some(time) = sample.time {
            let (first, last) = self.span.unwrap_or((time, time));
            self.span = Some((first.min(time), last.max(time)));
        }
        self.stack.clear();
        push_stack(sample, names, &mut self.stack);
        let row = FlatRow { sample, names, stack: &self.stack };
        for (column, values) in COLUMNS.iter().zip(&mut self.columns) {
            values.push((column.value)(&row));
        }
        self.rows += 1;
        if self.rows >= GROUP { self.write_group() } else { Ok(()) }
    }

    fn end(&mut self, _names: &SampleNames<'_>) -> io::Result<()> {
        self.write_group()
    }
}

impl Export for ParquetExport {
    fn finish(&mut self, recording: &ExportedRecording<'_>) -> io::Result<()> {
        let told = exposure(recording, self.span).to_string();
        let writer = self.writer()?;
        for (key, value) in
            [("hardmeter.schema", VERSION.to_string()), ("hardmeter.exposure", told)]
        {
            writer.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
        }
        writer.finish().map_err(as_io)?;
        writer.inner_mut().flush()
    }
}

/// Of the machine and of each event, as docs/parquet.md says.
fn exposure(recording: &ExportedRecording<'_>, span: Option<(Time, Time)>) -> Value {
    let ExportedRecording { report, features } = recording;
    let events = report.events.iter().map(|event| {
        json!({
            "name": event.name,
            "unit": event.unit,
            "sampling": event.sampling,
            "samples": event.totals.samples,
            "counted": event.totals.counted,
            "events": event.totals.period,
            "recorder": event.ledger,
        })
    });
    let seconds = recording.report.events.iter().filter_map(|event| event.ledger.as_ref()?.seconds);
    json!({
        "host": report.machine.hostname,
        "kernel": report.machine.os_release,
        "arch": report.machine.arch,
        "cpu": features.cpu_description,
        "cpus": features.nr_cpus.map(|(_, online)| online),
        "command": report.machine.command_line,
        "first_time": span.map(|(first, _)| first.0),
        "last_time": span.map(|(_, last)| last.0),
        "seconds": seconds.reduce(f64::max),
        "events": events.collect::<Vec<_>>(),
        "losses": report.losses,
        "filters": report.query.filters,
    })
}

/// Values that there are, and of each row whether it has one.
#[derive(Debug)]
struct ColumnValues {
    values: TypedValues,
    levels: Vec<i16>,
}

#[derive(Debug)]
enum TypedValues {
    /// Each text once in memory.
    Text {
        values: Vec<ByteArray>,
        known: FxHashMap<Box<str>, ByteArray>,
    },
    Long(Vec<i64>),
    Int(Vec<i32>),
    Flag(Vec<bool>),
}

impl ColumnValues {
    fn new(kind: ColumnKind) -> ColumnValues {
        let values = match kind {
            ColumnKind::Text => {
                TypedValues::Text { values: Vec::new(), known: FxHashMap::default() }
            }
            ColumnKind::Unsigned | ColumnKind::Address => TypedValues::Long(Vec::new()),
            ColumnKind::Signed => TypedValues::Int(Vec::new()),
            ColumnKind::Flag => TypedValues::Flag(Vec::new()),
        };
        ColumnValues { values, levels: Vec::new() }
    }

    /// Adds the value of a row. Counts are below 2^63, and addresses are stored
    /// as their bits.
    fn push(&mut self, value: Option<Cell<'_>>) {
        let is_there = match (&mut self.values, value) {
            (TypedValues::Text { values, known }, Some(Cell::Name(text))) => {
                match known.get(&*text) {
                    Some(array) => values.push(array.clone()),
                    None => {
                        let array = ByteArray::from(text.as_bytes().to_vec());
                        known.insert(text.into(), array.clone());
                        values.push(array);
                    }
                }
                true
            }
            (TypedValues::Long(values), Some(Cell::Count(number) | Cell::Address(number))) => {
                values.push(number.cast_signed());
                true
            }
            (TypedValues::Int(values), Some(Cell::Signed(number))) => {
                let number = i32::try_from(number).ok();
                values.extend(number);
                number.is_some()
            }
            (TypedValues::Flag(values), Some(Cell::Flag(flag))) => {
                values.push(flag);
                true
            }
            _ => false,
        };
        self.levels.push(i16::from(is_there));
    }

    /// Writes all of them, and is empty then.
    fn write(&mut self, column: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let levels = Some(self.levels.as_slice());
        match &mut self.values {
            TypedValues::Text { values, known } => {
                column.typed::<ByteArrayType>().write_batch(values, levels, None)?;
                values.clear();
                known.clear();
            }
            TypedValues::Long(values) => {
                column.typed::<Int64Type>().write_batch(values, levels, None)?;
                values.clear();
            }
            TypedValues::Int(values) => {
                column.typed::<Int32Type>().write_batch(values, levels, None)?;
                values.clear();
            }
            TypedValues::Flag(values) => {
                column.typed::<BoolType>().write_batch(values, levels, None)?;
                values.clear();
            }
        }
        self.levels.clear();
        Ok(())
    }
}
