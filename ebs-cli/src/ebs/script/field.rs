//! Fields of a line of `ebs script`, named as `perf script -F` names them.

use perfdata::{Attr, AttrFlags, EventType, SampleType, SoftwareEvent};
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    Comm,
    Pid,
    Tid,
    /// CPU, in brackets.
    Cpu,
    /// Privilege level, in letters.
    Misc,
    /// Seconds with six digits.
    Time,
    /// Events that the record stands for.
    Period,
    Event,
    /// Data address; with `sym` and `dso` the symbol and object there.
    Addr,
    /// What the instruction before IP accessed, where a timer interrupted.
    AddrBefore,
    /// Memory level, operation, snoop, TLB: the word and what it says.
    DataSrc,
    /// Why the miss is one, as the emulated PMU tells.
    Miss,
    Weight,
    /// Cost of the whole instruction.
    InsLat,
    /// Instruction pointer, or the call chain on lines of its own.
    Ip,
    /// Routine at the instruction pointer.
    Sym,
    /// Bytes from the routine's start.
    Symoff,
    /// Object at the instruction pointer.
    Dso,
    /// Source file and line of the instruction, on a line of its own.
    Srcline,
    /// Registers at the sample.
    Iregs,
    /// Registers of user space at its last entry to the kernel.
    Uregs,
    /// Recent branches; with `dso` their objects.
    Brstack,
    /// Physical address of `addr`.
    PhysAddr,
    /// Size of the page that holds `addr`.
    DataPageSize,
    /// Size of the page that holds the instruction.
    CodePageSize,
}

/// In the order on a line, which is perf's whatever order is asked for.
const NAMES: [(&str, Field); 25] = [
    ("comm", Field::Comm),
    ("pid", Field::Pid),
    ("tid", Field::Tid),
    ("cpu", Field::Cpu),
    ("misc", Field::Misc),
    ("time", Field::Time),
    ("period", Field::Period),
    ("event", Field::Event),
    ("addr", Field::Addr),
    ("addr-before", Field::AddrBefore),
    ("data_src", Field::DataSrc),
    ("miss", Field::Miss),
    ("weight", Field::Weight),
    ("ins_lat", Field::InsLat),
    ("ip", Field::Ip),
    ("sym", Field::Sym),
    ("symoff", Field::Symoff),
    ("dso", Field::Dso),
    ("srcline", Field::Srcline),
    ("iregs", Field::Iregs),
    ("uregs", Field::Uregs),
    ("brstack", Field::Brstack),
    ("phys_addr", Field::PhysAddr),
    ("data_page_size", Field::DataPageSize),
    ("code_page_size", Field::CodePageSize),
];

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    #[error("{word:?} is no field; the fields are {}", names())]
    Unknown {
        /// As typed.
        word: String,
    },
    #[error("symoff is the offset from a symbol: add sym")]
    OffsetAlone,
    #[error("{0} belongs to an address: add ip, or addr")]
    NameAlone(&'static str),
    #[error("srcline is the source line of the instruction: add ip")]
    LineAlone,
    #[error("{word:?} changes the usual fields; start every field with + or -, or none of them")]
    Mixed {
        /// As typed.
        word: String,
    },
}

pub fn field_names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|(name, _)| *name)
}

fn names() -> String {
    field_names().collect::<Vec<_>>().join(", ")
}

impl FromStr for Field {
    type Err = FieldError;

    fn from_str(word: &str) -> Result<Field, FieldError> {
        let known = NAMES.iter().find(|(name, _)| *name == word);
        known.map(|(_, field)| *field).ok_or_else(|| FieldError::Unknown { word: word.to_owned() })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    These(LineFields),
    /// The usual fields of each event, more or less.
    Usual {
        added: LineFields,
        left_out: LineFields,
    },
}

impl Selection {
    /// What a typed list means, where `+FIELD` and `-FIELD` change the usual
    /// fields; the usual ones for an empty list.
    ///
    /// # Errors
    ///
    /// Words that are no field, and combinations that print nothing.
    pub fn parse(words: &[String]) -> Result<Selection, FieldError> {
        let (mut these, mut added, mut left_out) = (LineFields(0), LineFields(0), LineFields(0));
        for word in words {
            let word = word.trim();
            let (set, name) = match (word.strip_prefix('+'), word.strip_prefix('-')) {
                (Some(name), _) => (&mut added, name),
                (_, Some(name)) => (&mut left_out, name),
                (None, None) => (&mut these, word),
            };
            *set = set.and(LineFields::of([name.trim().parse()?]));
        }
        let changes = added != LineFields(0) || left_out != LineFields(0);
        if these == LineFields(0) {
            return Ok(Selection::Usual { added, left_out });
        }
        if changes {
            let change = words.iter().find(|word| word.trim().starts_with(['+', '-']));
            return Err(FieldError::Mixed { word: change.cloned().unwrap_or_default() });
        }
        these.check()?;
        Ok(Selection::These(these))
    }

    /// The fields of an event's records, and of them those that were asked
    /// for by name.
    pub fn of(self, attr: &Attr) -> (LineFields, LineFields) {
        match self {
            Selection::These(fields) => (fields, fields),
            Selection::Usual { added, left_out } => {
                let fields = LineFields::usual(attr).and(added).without(left_out);
                (fields, added.without(left_out))
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineFields(u32);

impl LineFields {
    /// What is printed when nothing is asked for: perf's choice, which of
    /// events that a CPU counts by its own numbers has all of the access.
    pub fn usual(attr: &Attr) -> LineFields {
        use Field::{Comm, Cpu, Dso, Event, Ip, Period, Sym, Symoff, Tid, Time};
        let usual = LineFields::of([Comm, Tid, Cpu, Time, Period, Event, Ip, Sym, Symoff, Dso]);
        if attr.kind != EventType::RAW {
            return usual;
        }
        use Field::{Addr, CodePageSize, DataPageSize, DataSrc, InsLat, PhysAddr, Weight};
        let access = [Addr, DataSrc, Weight, InsLat, PhysAddr, DataPageSize, CodePageSize];
        usual.and(LineFields::of(access.into_iter().filter(|field| recorded(*field, attr))))
    }

    pub fn of(fields: impl IntoIterator<Item = Field>) -> LineFields {
        LineFields(fields.into_iter().fold(0, |bits, field| bits | 1 << field as u32))
    }

    fn and(self, more: LineFields) -> LineFields {
        LineFields(self.0 | more.0)
    }

    fn without(self, less: LineFields) -> LineFields {
        LineFields(self.0 & !less.0)
    }

    /// Whether every field has something to belong to.
    fn check(self) -> Result<(), FieldError> {
        if self.has(Field::Symoff) && !self.has(Field::Sym) {
            return Err(FieldError::OffsetAlone);
        }
        let no_address = !self.has(Field::Ip) && !self.has(Field::Addr);
        if no_address && self.has(Field::Sym) {
            return Err(FieldError::NameAlone("sym"));
        }
        if self.has(Field::Srcline) && !self.has(Field::Ip) {
            return Err(FieldError::LineAlone);
        }
        if no_address && !self.has(Field::Brstack) && self.has(Field::Dso) {
            return Err(FieldError::NameAlone("dso"));
        }
        Ok(())
    }

    #[inline]
    pub fn has(self, field: Field) -> bool {
        self.0 >> field as u32 & 1 == 1
    }

    /// The fields among them that records of an event cannot have, by name:
    /// nothing is printed for these.
    pub fn lacking(self, attr: &Attr) -> Vec<&'static str> {
        let absent = NAMES.iter().filter(|(_, field)| self.has(*field) && !recorded(*field, attr));
        absent.map(|(name, _)| *name).collect()
    }

    pub fn names_addresses(self) -> bool {
        self.has(Field::Sym) || self.has(Field::Dso)
    }
}

fn recorded(field: Field, attr: &Attr) -> bool {
    let has = |any: SampleType| attr.sample_type.intersects(any);
    match field {
        Field::Comm | Field::Pid | Field::Tid => has(SampleType::TID),
        Field::Cpu => has(SampleType::CPU),
        Field::Time => has(SampleType::TIME),
        // Without frequency mode the attr says it.
        Field::Period => has(SampleType::PERIOD) || !attr.flags.contains(AttrFlags::FREQ),
        Field::Addr => has(SampleType::ADDR),
        Field::AddrBefore => has(SampleType::REGS_INTR) && is_clock(attr),
        Field::DataSrc => has(SampleType::DATA_SRC),
        Field::Miss => has(SampleType::RAW),
        Field::Weight => has(SampleType::WEIGHT | SampleType::WEIGHT_STRUCT),
        Field::InsLat => has(SampleType::WEIGHT_STRUCT),
        Field::Ip => has(SampleType::IP),
        Field::Iregs => has(SampleType::REGS_INTR),
        Field::Uregs => has(SampleType::REGS_USER),
        Field::Brstack => has(SampleType::BRANCH_STACK),
        Field::PhysAddr => has(SampleType::PHYS_ADDR),
        Field::DataPageSize => has(SampleType::DATA_PAGE_SIZE),
        Field::CodePageSize => has(SampleType::CODE_PAGE_SIZE),
        // Names belong to an address, which is looked at by itself.
        Field::Misc | Field::Event | Field::Sym | Field::Symoff | Field::Dso | Field::Srcline => {
            true
        }
    }
}

/// Whether a timer takes an event's samples: cpu_clock, task_clock.
fn is_clock(attr: &Attr) -> bool {
    attr.software().is_some_and(SoftwareEvent::is_clock)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(list: &str) -> Result<Selection, FieldError> {
        Selection::parse(&list.split(',').map(str::to_owned).collect::<Vec<_>>())
    }

    fn parse(list: &str) -> Result<LineFields, FieldError> {
        Ok(select(list)?.of(&Attr::default()).0)
    }

    #[test]
    fn every_name_is_a_field_of_its_own() {
        for (name, field) in NAMES {
            assert_eq!(name.parse(), Ok(field));
            let others = NAMES.iter().filter(|(_, other)| *other != field);
            assert!(others.into_iter().all(|(_, other)| !LineFields::of([field]).has(*other)));
        }
    }

    #[test]
    fn lists_are_sets() {
        assert_eq!(parse("ip,sym"), Ok(LineFields::of([Field::Sym, Field::Ip])));
        assert_eq!(parse("ip, ip"), Ok(LineFields::of([Field::Ip])));
        let usual = Selection::parse(&[]).map(|usual| usual.of(&Attr::default()));
        assert_eq!(usual, Ok((LineFields::usual(&Attr::default()), LineFields(0))));
    }

    #[test]
    fn fields_that_were_not_recorded_are_named() {
        let sample_type = SampleType::IP | SampleType::TID | SampleType::WEIGHT_STRUCT;
        let attr = Attr { sample_type, ..Attr::default() };
        let all = LineFields::of(NAMES.map(|(_, field)| field));
        let lacking = "cpu time addr addr-before data_src miss iregs uregs brstack phys_addr data_page_size \
                       code_page_size";
        assert_eq!(all.lacking(&attr).join(" "), lacking);
        let frequency = Attr { flags: AttrFlags::FREQ, ..attr };
        assert_eq!(LineFields::of([Field::Period, Field::Ip]).lacking(&frequency), ["period"]);
        let sample_type = SampleType::all();
        let everything = Attr { sample_type, kind: EventType::SOFTWARE, ..Attr::default() };
        assert_eq!(all.lacking(&everything), [""; 0]);
        assert_eq!(LineFields::of([Field::Ip, Field::Sym]).lacking(&Attr::default()), ["ip"]);
    }

    #[test]
    fn what_prints_nothing_is_refused() {
        assert_eq!(parse("ip,symoff"), Err(FieldError::OffsetAlone));
        assert_eq!(parse("addr,srcline"), Err(FieldError::LineAlone));
        assert_eq!(parse("sym,comm"), Err(FieldError::NameAlone("sym")));
        assert_eq!(parse("addr,dso"), Ok(LineFields::of([Field::Addr, Field::Dso])));
        let said = parse("ip,color").expect_err("is none").to_string();
        assert!(said.starts_with("\"color\" is no field; the fields are comm, pid,"), "{said}");
        assert!(parse("").is_err());
    }

    #[test]
    fn the_usual_fields_are_changed_by_signs() {
        let attr = Attr {
            kind: EventType::RAW,
            sample_type: SampleType::ADDR | SampleType::WEIGHT,
            ..Attr::default()
        };
        let (fields, asked) = select("+iregs,-weight,+ addr").expect("are fields").of(&attr);
        assert!(fields.has(Field::Iregs) && fields.has(Field::Addr) && fields.has(Field::Ip));
        assert!(!fields.has(Field::Weight) && !fields.has(Field::DataSrc), "was not recorded");
        assert_eq!(asked, LineFields::of([Field::Iregs, Field::Addr]));
        let mixed = select("ip,+addr").expect_err("is neither");
        assert!(mixed.to_string().starts_with("\"+addr\" changes the usual fields"), "{mixed}");
    }
}
