//! The line table of one unit.

use super::paths::Paths;
use super::root::Root;
use super::sections::SectionReader;
use gimli::Dwarf;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineSpot {
    /// Number in the unit's list of files.
    pub(crate) file: u32,
    /// 0: none.
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// A stretch of code whose rows stand together.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    start: u64,
    end: u64,
    first: u32,
    rows: u32,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    /// Bytes from the start of the sequence.
    offset: u32,
    spot: LineSpot,
}

#[derive(Debug)]
pub(crate) struct LineTable {
    /// By end.
    sequences: Vec<Sequence>,
    rows: Vec<Row>,
    pub(crate) paths: Paths,
    /// Where the file's code begins.
    first: u64,
}

impl LineTable {
    /// None: the unit has no line table. `first`: where the file's code begins.
    pub(crate) fn read<'a>(
        dwarf: &Dwarf<SectionReader<'a>>,
        root: &Root<'a>,
        first: u64,
    ) -> gimli::Result<Option<LineTable>> {
        let Some(offset) = root.lines else { return Ok(None) };
        let size = root.unit.header.address_size();
        let program = dwarf.debug_line.program(offset, size, root.directory, None)?;
        let paths = Paths::new(dwarf, &root.unit, program.header(), root.directory);
        let mut lines = LineTable { sequences: Vec::new(), rows: Vec::new(), paths, first };
        let mut rows = program.rows();
        let mut building = Building::default();
        while let Some((_, row)) = rows.next_row()? {
            let address = row.address();
            if row.end_sequence() {
                lines.close(&mut building, address);
                continue;
            }
            let spot = LineSpot {
                file: saturate(row.file_index()),
                line: row.line().map_or(0, |line| saturate(line.get())),
                column: match row.column() {
                    gimli::ColumnType::LeftEdge => 0,
                    gimli::ColumnType::Column(column) => saturate(column.get()),
                },
            };
            building.add(&mut lines.rows, address, spot);
        }
        lines.rows.truncate(building.first);
        lines.sequences.sort_by_key(|sequence| sequence.end);
        lines.rows.shrink_to_fit();
        Ok(Some(lines))
    }

    fn close(&mut self, building: &mut Building, end: u64) {
        let first = std::mem::replace(&mut building.first, self.rows.len());
        let start = building.start.take();
        let count = self.rows.len() - first;
        match (start, u32::try_from(first), u32::try_from(count)) {
            (Some(start), Ok(first), Ok(rows))
                if (self.first..end).contains(&start) && rows > 0 =>
            {
                self.sequences.push(Sequence { start, end, first, rows });
            }
            _ => {
                self.rows.truncate(first);
                building.first = first;
            }
        }
    }

    /// What stands at an address: the last row at or before it, within its
    /// sequence.
    pub(crate) fn find(&self, address: u64) -> Option<LineSpot> {
        let index = self.sequences.partition_point(|sequence| sequence.end <= address);
        let sequence = self.sequences.get(index).filter(|found| found.start <= address)?;
        let rows = self.rows_of(sequence);
        let offset = u32::try_from(address - sequence.start).unwrap_or(u32::MAX);
        let row = rows.partition_point(|row| row.offset <= offset).checked_sub(1)?;
        Some(rows[row].spot)
    }

    fn rows_of(&self, sequence: &Sequence) -> &[Row] {
        let first = usize::try_from(sequence.first).unwrap_or(usize::MAX);
        let count = usize::try_from(sequence.rows).unwrap_or(0);
        self.rows.get(first..first.saturating_add(count)).unwrap_or_default()
    }

    /// Bytes of memory.
    pub(crate) fn size(&self) -> usize {
        self.rows.len() * size_of::<Row>()
            + self.sequences.len() * size_of::<Sequence>()
            + self.paths.size()
    }
}

#[derive(Debug, Default)]
struct Building {
    start: Option<u64>,
    first: usize,
}

impl Building {
    fn add(&mut self, rows: &mut Vec<Row>, address: u64, spot: LineSpot) {
        let start = *self.start.get_or_insert(address);
        // A row before the one before it, or 4 GiB into the code: of no
        // sound program.
        let Some(offset) = address.checked_sub(start).and_then(|at| u32::try_from(at).ok()) else {
            return;
        };
        match rows.get_mut(self.first..).and_then(<[Row]>::last_mut) {
            Some(last) if last.offset > offset => {}
            // Of several rows at one address the last counts.
            Some(last) if last.offset == offset => last.spot = spot,
            Some(last) if last.spot == spot => {}
            _ => rows.push(Row { offset, spot }),
        }
    }
}

fn saturate(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
