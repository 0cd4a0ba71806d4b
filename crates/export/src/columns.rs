//! A sample as a flat row: the columns of CSV and Parquet, in their order.

use analysis::{FrameRoutine, NameNumber, SampleNames, SingleSample};
use perfdata::{CpuMode, DataSrc};
use std::borrow::Cow;

/// A column. What each is for is in docs/parquet.md.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlatColumn {
    pub(crate) name: &'static str,
    pub(crate) kind: ColumnKind,
    pub(crate) value: ColumnValue,
}

pub(crate) type ColumnValue = for<'r> fn(&FlatRow<'r>) -> FlatValue<'r>;

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

/// A value, none where the sample does not tell. Of which kind it is its column
/// says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FlatValue<'r> {
    Absent,
    Text(Cow<'r, str>),
    Unsigned(u64),
    Signed(i32),
    Flag(bool),
}

/// A sample, what its names mean, and its stack in words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlatRow<'r> {
    pub(crate) sample: &'r SingleSample,
    pub(crate) names: &'r SampleNames<'r>,
    pub(crate) stack: &'r str,
}

impl<'r> FlatRow<'r> {
    fn text(&self, name: Option<NameNumber>) -> FlatValue<'r> {
        name.map_or(FlatValue::Absent, |name| FlatValue::Text(self.names.name(name).into()))
    }

    fn innermost(&self) -> Option<FrameRoutine> {
        self.names.innermost(self.sample.stack)?.routines.first().copied()
    }

    fn source<V: Into<FlatValue<'r>>>(&self, of: impl Fn(DataSrc) -> Option<V>) -> FlatValue<'r> {
        self.sample.data_src.filter(|it| it.is_available()).and_then(of).into_value()
    }
}

impl From<u64> for FlatValue<'_> {
    fn from(number: u64) -> Self {
        FlatValue::Unsigned(number)
    }
}

impl From<u32> for FlatValue<'_> {
    fn from(number: u32) -> Self {
        FlatValue::Unsigned(number.into())
    }
}

impl From<i32> for FlatValue<'_> {
    fn from(number: i32) -> Self {
        FlatValue::Signed(number)
    }
}

impl From<bool> for FlatValue<'_> {
    fn from(flag: bool) -> Self {
        FlatValue::Flag(flag)
    }
}

impl From<String> for FlatValue<'_> {
    fn from(text: String) -> Self {
        FlatValue::Text(text.into())
    }
}

trait OptionalValue<'r> {
    fn into_value(self) -> FlatValue<'r>;
}

impl<'r, V: Into<FlatValue<'r>>> OptionalValue<'r> for Option<V> {
    fn into_value(self) -> FlatValue<'r> {
        self.map_or(FlatValue::Absent, Into::into)
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
    column("event", Text, |row| {
        let event = row.names.event(row.sample.event);
        event.map_or(FlatValue::Absent, |event| FlatValue::Text(event.name.as_str().into()))
    }),
    column("samples", Unsigned, |row| row.sample.samples.into()),
    column("events", Unsigned, |row| row.sample.period.into()),
    column("time", Unsigned, |row| row.sample.time.map(|time| time.0).into_value()),
    column("pid", Signed, |row| row.sample.task.map(|task| task.pid.0).into_value()),
    column("tid", Signed, |row| row.sample.task.map(|task| task.tid.0).into_value()),
    column("comm", Text, |row| row.text(row.sample.comm)),
    column("cpu", Unsigned, |row| row.sample.cpu.map(|cpu| cpu.0).into_value()),
    column("mode", Text, |row| FlatValue::Text(mode(row.sample.mode).into())),
    column("ip", Address, |row| row.sample.ip.into_value()),
    column("exact_ip", Flag, |row| row.sample.is_exact.into()),
    column("routine", Text, |row| row.text(row.sample.routine.ok())),
    column("unresolved", Text, |row| row.text(row.sample.routine.err())),
    column("object", Text, |row| row.text(row.sample.object)),
    column("build_id", Text, |row| {
        row.text(row.names.innermost(row.sample.stack).and_then(|frame| frame.build_id))
    }),
    column("object_address", Address, |row| {
        row.names.innermost(row.sample.stack).and_then(|frame| frame.address).into_value()
    }),
    column("inlined", Text, |row| row.text(row.innermost().map(|routine| routine.name))),
    column("source_file", Text, |row| row.text(row.innermost().and_then(|it| it.file))),
    column("source_line", Unsigned, |row| {
        row.innermost().map(|it| it.line).filter(|line| *line > 0).into_value()
    }),
    column("stack", Text, |row| FlatValue::Text(row.stack.into())),
    column("addr", Address, |row| row.sample.address.into_value()),
    column("variable", Text, |row| row.text(row.sample.variable)),
    column("type", Text, |row| row.text(row.sample.of_type)),
    column("member", Text, |row| row.text(row.sample.member)),
    column("allocation", Text, |row| row.text(row.sample.allocation)),
    column("op", Text, |row| row.text(row.sample.access.operation)),
    column("level", Text, |row| row.text(row.sample.access.level)),
    column("distance", Text, |row| row.source(|it| it.distance().map(|far| far.to_string()))),
    column("remote", Flag, |row| row.source(|it| Some(it.is_of_another_node()))),
    column("tlb", Text, |row| row.text(row.sample.access.tlb)),
    column("snoop", Text, |row| row.text(row.sample.access.snoop)),
    column("locked", Flag, |row| row.source(|it| row.sample.access.lock.map(|_| it.is_locked()))),
    column("blocked", Text, |row| row.text(row.sample.access.blocked)),
    column("data_src", Address, |row| row.sample.data_src.map(|it| it.0).into_value()),
    column("weight", Unsigned, |row| row.sample.weight.into_value()),
    column("latency", Unsigned, |row| row.sample.latency.into_value()),
    column("cause", Text, |row| row.sample.miss.map(|miss| miss.to_string()).into_value()),
];
