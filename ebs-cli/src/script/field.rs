//! Fields of a line of `ebs script`, named as `perf script -F` names them.

use record::{Attr, AttrFlags, SampleType};
use std::str::FromStr;

/// One field. The order here is the order on a line, whatever order they
/// are asked for in: perf's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// Command name of the thread at that time.
    Comm,
    /// Process id.
    Pid,
    /// Thread id.
    Tid,
    /// CPU, in brackets.
    Cpu,
    /// Seconds with six digits.
    Time,
    /// Events that the record stands for.
    Period,
    /// Name of the event.
    Event,
    /// Data address; with `sym` and `dso` the symbol and object there.
    Addr,
    /// Memory level, operation, snoop, TLB: the raw word.
    DataSrc,
    /// Cost of the access.
    Weight,
    /// Instruction pointer.
    Ip,
    /// Routine at the instruction pointer.
    Sym,
    /// Bytes from the routine's start.
    Symoff,
    /// Object at the instruction pointer.
    Dso,
    /// Registers.
    Iregs,
    /// Physical address of `addr`.
    PhysAddr,
}

const NAMES: [(&str, Field); 16] = [
    ("comm", Field::Comm),
    ("pid", Field::Pid),
    ("tid", Field::Tid),
    ("cpu", Field::Cpu),
    ("time", Field::Time),
    ("period", Field::Period),
    ("event", Field::Event),
    ("addr", Field::Addr),
    ("data_src", Field::DataSrc),
    ("weight", Field::Weight),
    ("ip", Field::Ip),
    ("sym", Field::Sym),
    ("symoff", Field::Symoff),
    ("dso", Field::Dso),
    ("iregs", Field::Iregs),
    ("phys_addr", Field::PhysAddr),
];

/// Why a list of fields means nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// No such field.
    #[error("{word:?} is no field; the fields are {}", names())]
    Unknown {
        /// As typed.
        word: String,
    },
    /// `symoff` has nothing to stand behind.
    #[error("symoff is the offset from a symbol: add sym")]
    OffsetAlone,
    /// Symbols of nothing.
    #[error("{0} belongs to an address: add ip, or addr")]
    NameAlone(&'static str),
}

fn names() -> String {
    NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

impl FromStr for Field {
    type Err = FieldError;

    fn from_str(word: &str) -> Result<Field, FieldError> {
        let known = NAMES.iter().find(|(name, _)| *name == word);
        known.map(|(_, field)| *field).ok_or_else(|| FieldError::Unknown { word: word.to_owned() })
    }
}

/// A set of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields(u32);

impl Fields {
    /// What is printed when nothing is asked for; perf's choice for software
    /// events.
    pub fn usual() -> Fields {
        use Field::{Comm, Cpu, Dso, Event, Ip, Period, Sym, Symoff, Tid, Time};
        Fields::of([Comm, Tid, Cpu, Time, Period, Event, Ip, Sym, Symoff, Dso])
    }

    /// These fields.
    pub fn of(fields: impl IntoIterator<Item = Field>) -> Fields {
        Fields(fields.into_iter().fold(0, |bits, field| bits | 1 << field as u32))
    }

    /// The fields of a typed list; [`Fields::usual`] for an empty one.
    ///
    /// # Errors
    ///
    /// Words that are no field, and combinations that print nothing.
    pub fn parse(words: &[String]) -> Result<Fields, FieldError> {
        if words.is_empty() {
            return Ok(Fields::usual());
        }
        let parsed: Result<Vec<Field>, FieldError> =
            words.iter().map(|word| word.trim().parse()).collect();
        let fields = Fields::of(parsed?);
        if fields.has(Field::Symoff) && !fields.has(Field::Sym) {
            return Err(FieldError::OffsetAlone);
        }
        let no_address = !fields.has(Field::Ip) && !fields.has(Field::Addr);
        for (name, field) in [("sym", Field::Sym), ("dso", Field::Dso)] {
            if no_address && fields.has(field) {
                return Err(FieldError::NameAlone(name));
            }
        }
        Ok(fields)
    }

    /// Whether `field` is among them.
    #[inline]
    pub fn has(self, field: Field) -> bool {
        self.0 >> field as u32 & 1 == 1
    }

    /// The fields among them that records of an event cannot have, by name:
    /// nothing is printed for these.
    pub fn lacking(self, attr: &Attr) -> Vec<&'static str> {
        let has = |any: SampleType| attr.sample_type.intersects(any);
        let recorded = |field: Field| match field {
            Field::Comm | Field::Pid | Field::Tid => has(SampleType::TID),
            Field::Cpu => has(SampleType::CPU),
            Field::Time => has(SampleType::TIME),
            // Without frequency mode the attr says it.
            Field::Period => has(SampleType::PERIOD) || !attr.flags.contains(AttrFlags::FREQ),
            Field::Addr => has(SampleType::ADDR),
            Field::DataSrc => has(SampleType::DATA_SRC),
            Field::Weight => has(SampleType::WEIGHT | SampleType::WEIGHT_STRUCT),
            Field::Ip => has(SampleType::IP),
            Field::Iregs => has(SampleType::REGS_INTR),
            Field::PhysAddr => has(SampleType::PHYS_ADDR),
            // They belong to an address, which is looked at by itself.
            Field::Event | Field::Sym | Field::Symoff | Field::Dso => true,
        };
        let absent = NAMES.iter().filter(|(_, field)| self.has(*field) && !recorded(*field));
        absent.map(|(name, _)| *name).collect()
    }

    /// Whether any address gets a name or an object.
    pub fn names_addresses(self) -> bool {
        self.has(Field::Sym) || self.has(Field::Dso)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(list: &str) -> Result<Fields, FieldError> {
        Fields::parse(&list.split(',').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn every_name_is_a_field_of_its_own() {
        for (name, field) in NAMES {
            assert_eq!(name.parse(), Ok(field));
            let others = NAMES.iter().filter(|(_, other)| *other != field);
            assert!(others.into_iter().all(|(_, other)| !Fields::of([field]).has(*other)));
        }
    }

    #[test]
    fn lists_are_sets() {
        assert_eq!(parse("ip,sym"), Ok(Fields::of([Field::Sym, Field::Ip])));
        assert_eq!(parse("ip, ip"), Ok(Fields::of([Field::Ip])));
        assert_eq!(Fields::parse(&[]), Ok(Fields::usual()));
    }

    #[test]
    fn fields_that_were_not_recorded_are_named() {
        let sample_type = SampleType::IP | SampleType::TID | SampleType::WEIGHT_STRUCT;
        let attr = Attr { sample_type, ..Attr::default() };
        let all = Fields::of(NAMES.map(|(_, field)| field));
        assert_eq!(all.lacking(&attr), ["cpu", "time", "addr", "data_src", "iregs", "phys_addr"]);
        let frequency = Attr { flags: AttrFlags::FREQ, ..attr };
        assert_eq!(Fields::of([Field::Period, Field::Ip]).lacking(&frequency), ["period"]);
        let everything = Attr { sample_type: SampleType::all(), ..Attr::default() };
        assert_eq!(all.lacking(&everything), [""; 0]);
        assert_eq!(Fields::of([Field::Ip, Field::Sym]).lacking(&Attr::default()), ["ip"]);
    }

    #[test]
    fn what_prints_nothing_is_refused() {
        assert_eq!(parse("ip,symoff"), Err(FieldError::OffsetAlone));
        assert_eq!(parse("sym,comm"), Err(FieldError::NameAlone("sym")));
        assert_eq!(parse("addr,dso"), Ok(Fields::of([Field::Addr, Field::Dso])));
        let said = parse("ip,color").expect_err("is none").to_string();
        assert!(said.starts_with("\"color\" is no field; the fields are comm, pid,"), "{said}");
        assert!(parse("").is_err());
    }
}
