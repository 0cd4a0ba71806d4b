//! The value of one key in one row.

use crate::share_interval::ratio;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::fmt;
use std::sync::Arc;

/// A value, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cell {
    /// Process, thread or CPU number.
    Number(i64),
    /// Nanoseconds from the begin of the run.
    Time(u64),
    /// An address, or a register's value.
    Address(u64),
    /// A name.
    Text(Arc<str>),
    /// A call chain by its number among the report's.
    Chain(usize),
    /// A site.
    Site(SiteCell),
    /// A data address; its routine is a variable.
    Data(SiteCell),
    /// No value.
    Missing(MissingValue),
    /// No value for a site.
    SiteMissing(MissingValue),
}

/// An instruction, the same for all processes that run the object; or a data
/// address, the same for all that map it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteCell {
    /// Address in the object as objdump shows it; for the kernel, for code
    /// made at run time and where nothing is mapped, the run-time address.
    pub address: u64,
    /// File, kernel or module.
    pub object: Arc<str>,
    /// Routine, or variable, and offset, or the reason why it has no name.
    pub routine: Result<RoutineOffset, UnresolvedName>,
}

impl SiteCell {
    /// An instruction by its routine, or its address.
    pub(crate) fn in_routine(&self) -> String {
        match &self.routine {
            Ok(routine) => format!("{}+{:#x}", routine.name, routine.offset),
            Err(unknown) => format!("{:#x} {}", self.address, unknown.tag),
        }
    }
}

/// A site as a row's cell has it in JSON.
pub(crate) fn as_cell<S: Serializer>(site: &SiteCell, serializer: S) -> Result<S::Ok, S::Error> {
    Cell::Site(site.clone()).serialize(serializer)
}

impl SiteCell {
    /// The same with a folded name.
    pub(crate) fn short(&self) -> SiteCell {
        let mut site = self.clone();
        if let Ok(routine) = &mut site.routine {
            routine.name = Arc::from(&*symbolizer::short_name(&routine.name));
        }
        site
    }
}

/// `parse+0x1c`; without a name why there is none, and the address in the file.
impl fmt::Display for SiteCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.routine {
            Ok(RoutineOffset { name, offset }) => write!(f, "{name}+{offset:#x}"),
            Err(unresolved) => {
                let file = symbolizer::file_name(&self.object);
                write!(f, "{} {file}+{:#x}", unresolved.tag, self.address)
            }
        }
    }
}

/// Why a place has no routine name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnresolvedName {
    /// Short, in brackets, without blanks: `[no-symbols]`.
    pub tag: &'static str,
    /// Of which file, as its path ends; None: of none, or the row says it.
    pub of: Option<Arc<str>>,
    /// In full: `no symbols in /bin/true`.
    pub reason: Arc<str>,
}

/// Routine, or variable, and bytes from its start.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoutineOffset {
    /// Demangled.
    pub name: Arc<str>,
    /// Bytes from its first.
    pub offset: u64,
}

/// Why a sample has no value for a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MissingValue {
    /// The event was recorded without this field.
    Field(&'static str),
    /// The event gives an address only at times, and gave 0 here.
    Address,
    /// The task ran in a mode that has no registers to sample.
    Registers,
    /// The register is not among those recorded.
    Register(Arc<str>),
    /// The machine does not say.
    NotAvailable,
    /// The thread was in no region.
    Region,
    /// Which regions it was in is not known any more.
    RegionNotKept,
    /// Why the miss is one was not recorded.
    Class,
    /// Blocks of the heap were not recorded.
    Heap,
    /// The address is in no block of the heap.
    NoBlock,
    /// The address is in no block that was sampled.
    NoSampledBlock,
    /// Not all rows were kept; this is the one of all others.
    NotKept,
    /// What the instruction before accessed is not known.
    Before(&'static str),
    /// The routine has no name; the reason is the symbolizer's.
    Name(UnresolvedName),
}

impl fmt::Display for MissingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MissingValue::Field(field) => write!(f, "no {field} in this event"),
            MissingValue::Address => f.write_str("no address given"),
            MissingValue::Registers => f.write_str("no registers in this sample"),
            MissingValue::Register(name) => write!(f, "{name} not recorded"),
            MissingValue::NotAvailable => f.write_str("not available"),
            MissingValue::Region => f.write_str("no region"),
            MissingValue::RegionNotKept => f.write_str("region not kept"),
            MissingValue::Class => f.write_str("not recorded; --classify exact"),
            MissingValue::Heap => f.write_str("not recorded; --heap"),
            MissingValue::NoBlock => f.write_str("not in the heap"),
            MissingValue::NoSampledBlock => f.write_str("in no sampled block"),
            MissingValue::NotKept => f.write_str("rows not kept"),
            MissingValue::Before(reason) => f.write_str(reason),
            MissingValue::Name(unresolved) => f.write_str(&unresolved.reason),
        }
    }
}

impl MissingValue {
    /// For a column: short, in brackets. Rows of several files are told apart
    /// by the file, unless they stand beside it.
    pub(crate) fn mark(&self, is_of_object: bool) -> String {
        match self {
            MissingValue::Name(UnresolvedName { tag, of: Some(of), .. }) if !is_of_object => {
                format!("{tag} {of}")
            }
            MissingValue::Name(UnresolvedName { tag, .. }) => (*tag).to_owned(),
            other => format!("[{other}]"),
        }
    }
}

impl Cell {
    pub(crate) fn address(&self) -> Option<u64> {
        match self {
            Cell::Address(address) => Some(*address),
            Cell::Site(site) | Cell::Data(site) => Some(site.address),
            Cell::Number(_)
            | Cell::Time(_)
            | Cell::Text(_)
            | Cell::Chain(_)
            | Cell::Missing(_)
            | Cell::SiteMissing(_) => None,
        }
    }

    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Cell::Text(text) => Some(text),
            Cell::Site(site) | Cell::Data(site) => Some(match &site.routine {
                Ok(routine) => &routine.name,
                Err(_) => &site.object,
            }),
            Cell::Number(_)
            | Cell::Time(_)
            | Cell::Address(_)
            | Cell::Chain(_)
            | Cell::Missing(_)
            | Cell::SiteMissing(_) => None,
        }
    }
}

/// An address as JSON and CSV have it.
pub(crate) fn hex(address: u64) -> String {
    format!("{address:#x}")
}

/// Numbers as numbers, addresses as hex strings (JSON numbers lose bits
/// beyond 53), a missing value as `{"missing": REASON}`.
impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Cell::Number(number) => serializer.serialize_i64(*number),
            // Seconds.
            Cell::Time(nanoseconds) => serializer.serialize_f64(ratio(*nanoseconds, 1_000_000_000)),
            Cell::Address(address) => serializer.serialize_str(&hex(*address)),
            Cell::Text(text) => serializer.serialize_str(text),
            Cell::Chain(number) => number.serialize(serializer),
            Cell::Site(site) | Cell::Data(site) => {
                let name = if matches!(self, Cell::Site(_)) { "routine" } else { "variable" };
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("address", &hex(site.address))?;
                match &site.routine {
                    Ok(routine) => {
                        map.serialize_entry(name, &*routine.name)?;
                        map.serialize_entry("offset", &routine.offset)?;
                    }
                    Err(unresolved) => map.serialize_entry("unresolved", &*unresolved.reason)?,
                }
                map.serialize_entry("object", &*site.object)?;
                map.end()
            }
            Cell::Missing(missing) | Cell::SiteMissing(missing) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("missing", &missing.to_string())?;
                map.end()
            }
        }
    }
}
