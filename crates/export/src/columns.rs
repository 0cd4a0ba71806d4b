//! A sample as a flat row: the columns of CSV and Parquet, in their order.

use analysis::{FrameRoutine, NameNumber, SampleNames, SingleSample};
use perfdata::{CpuMode, DataSrc};
use render::Cell;

/// A column. What each is for is in docs/parquet.md.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlatColumn {
    pub(crate) name: &'static str,
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "CSV has but one kind"))]
    pub(crate) kind: ColumnKind,
    pub(crate) value: ColumnValue,
}

/// None: the sample does not tell.
pub(crate) type ColumnValue = for<'r> fn(&FlatRow<'r>) -> Option<Cell<'r>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    /// UTF-8.
    Text,
    /// 0 to 2^64-1.
    Unsigned,
    /// The same; CSV has it hex.
    Address,
    /// 32 bits, signed.
    Signed,
    Flag,
}

/// A sample, what its names mean, and its stack in words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlatRow<'r> {
    pub(crate) sample: &'r SingleSample,
    pub(crate) names: &'r SampleNames<'r>,
    pub(crate) stack: &'r str,
}

impl<'r> FlatRow<'r> {
    fn text(&self, name: Option<NameNumber>) -> Option<Cell<'r>> {
        Some(Cell::name(self.names.name(name?)))
    }

    fn innermost(&self) -> Option<FrameRoutine> {
        self.names.innermost(self.sample.stack)?.routines.first().copied()
    }

    fn source(&self) -> Option<DataSrc> {
        self.sample.data_src.filter(|it| it.is_available())
    }
}

/// Appends the routines of a stack, outermost first, with `;` between them;
/// one in a name becomes `:`.
pub(crate) fn push_stack(sample: &SingleSample, names: &SampleNames<'_>, into: &mut String) {
    let frames: Vec<_> = names.frames(sample.stack).collect();
    let routines = frames.iter().rev().filter_map(|frame| names.frame(*frame));
    let routines = routines.flat_map(|frame| frame.routines.iter().rev());
    for (at, routine) in routines.enumerate() {
        if at > 0 {
            into.push(';');
        }
        let name = names.name(routine.name).chars();
        into.extend(name.map(|letter| if letter == ';' { ':' } else { letter }));
    }
}

fn mode(mode: CpuMode) -> &'static str {
    match mode {
        CpuMode::Unknown => "unknown",
        CpuMode::Kernel => "kernel",
        CpuMode::User => "user",
        CpuMode::Hypervisor => "hypervisor",
        CpuMode::GuestKernel => "guest kernel",
        CpuMode::GuestUser => "guest user",
    }
}

const fn column(name: &'static str, kind: ColumnKind, value: ColumnValue) -> FlatColumn {
    FlatColumn { name, kind, value }
}

use ColumnKind::{Address, Flag, Signed, Text, Unsigned};

pub(crate) const COLUMNS: [FlatColumn; 37] = [
    column("event", Text, |row| Some(Cell::name(&*row.names.event(row.sample.event)?.name))),
    column("samples", Unsigned, |row| Some(Cell::Count(row.sample.samples))),
    column("events", Unsigned, |row| Some(Cell::Count(row.sample.period))),
    column("time", Unsigned, |row| Some(Cell::Count(row.sample.time?.0))),
    column("pid", Signed, |row| Some(Cell::Signed(row.sample.task?.pid.0.into()))),
    column("tid", Signed, |row| Some(Cell::Signed(row.sample.task?.tid.0.into()))),
    column("comm", Text, |row| row.text(row.sample.comm)),
    column("cpu", Unsigned, |row| Some(Cell::Count(row.sample.cpu?.0.into()))),
    column("mode", Text, |row| Some(Cell::name(mode(row.sample.mode)))),
    column("ip", Address, |row| row.sample.ip.map(Cell::Address)),
    column("exact_ip", Flag, |row| Some(Cell::Flag(row.sample.is_exact))),
    column("routine", Text, |row| row.text(row.sample.routine.ok())),
    column("unresolved", Text, |row| row.text(row.sample.routine.err())),
    column("object", Text, |row| row.text(row.sample.object)),
    column("build_id", Text, |row| row.text(row.names.innermost(row.sample.stack)?.build_id)),
    column("object_address", Address, |row| {
        row.names.innermost(row.sample.stack)?.address.map(Cell::Address)
    }),
    column("inlined", Text, |row| row.text(row.innermost().map(|routine| routine.name))),
    column("source_file", Text, |row| row.text(row.innermost()?.file)),
    column("source_line", Unsigned, |row| {
        Some(row.innermost()?.line).filter(|line| *line > 0).map(|line| Cell::Count(line.into()))
    }),
    column("stack", Text, |row| Some(Cell::name(row.stack))),
    column("addr", Address, |row| row.sample.address.map(Cell::Address)),
    column("variable", Text, |row| row.text(row.sample.variable)),
    column("type", Text, |row| row.text(row.sample.of_type)),
    column("member", Text, |row| row.text(row.sample.member)),
    column("allocation", Text, |row| row.text(row.sample.allocation)),
    column("op", Text, |row| row.text(row.sample.access.operation)),
    column("level", Text, |row| row.text(row.sample.access.level)),
    column("distance", Text, |row| Some(Cell::name(row.source()?.distance()?.to_string()))),
    column("remote", Flag, |row| Some(Cell::Flag(row.source()?.is_of_another_node()))),
    column("tlb", Text, |row| row.text(row.sample.access.tlb)),
    column("snoop", Text, |row| row.text(row.sample.access.snoop)),
    column("locked", Flag, |row| {
        row.sample.access.lock.and(row.source()).map(|it| Cell::Flag(it.is_locked()))
    }),
    column("blocked", Text, |row| row.text(row.sample.access.blocked)),
    column("data_src", Address, |row| row.sample.data_src.map(|it| Cell::Address(it.0))),
    column("weight", Unsigned, |row| row.sample.weight.map(Cell::Count)),
    column("latency", Unsigned, |row| row.sample.latency.map(Cell::Count)),
    column("cause", Text, |row| Some(Cell::name(row.sample.miss?.to_string()))),
];
