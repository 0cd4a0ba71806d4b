//! The values of one column of a group of rows.

use crate::columns::ColumnKind;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedColumnWriter;
use render::Cell;
use rustc_hash::FxHashMap;

/// Values that there are, and of each row whether it has one.
#[derive(Debug)]
pub(super) struct ColumnValues {
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
    pub(super) fn new(kind: ColumnKind) -> ColumnValues {
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
    pub(super) fn push(&mut self, value: Option<Cell<'_>>) {
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
    pub(super) fn write(
        &mut self,
        column: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError> {
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
