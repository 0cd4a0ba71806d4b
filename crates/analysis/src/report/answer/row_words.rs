//! Values of keys become the words of cells.

use crate::collect::sampled::KeyColumn;
use crate::name::key_value::{KeyValue, Missing};
use crate::name::lookup::Lookup;
use crate::name::place_names::PlaceKind;
use crate::name::regions::RegionPath;
use crate::query::key::Key;
use crate::report::{Cell, MissingValue, SiteCell};
use perfdata::MissClass;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use symbolizer::Place;

pub(super) fn missing(lack: Missing, lookup: &Lookup, register: &str) -> MissingValue {
    match lack {
        Missing::Ip => MissingValue::Field("ip"),
        Missing::Tid => MissingValue::Field("tid"),
        Missing::Cpu => MissingValue::Field("cpu"),
        Missing::Time => MissingValue::Field("time"),
        Missing::Addr => MissingValue::Field("addr"),
        Missing::Address => MissingValue::Address,
        Missing::Registers => MissingValue::Registers,
        Missing::Register => MissingValue::Register(Arc::from(register)),
        Missing::DataSrc => MissingValue::Field("data_src"),
        Missing::NotAvailable => MissingValue::NotAvailable,
        Missing::Region => MissingValue::Region,
        Missing::RegionNotKept => MissingValue::RegionNotKept,
        Missing::Class => MissingValue::Class,
        Missing::Heap => MissingValue::Heap,
        Missing::NoBlock => MissingValue::NoBlock,
        Missing::NoSampledBlock => MissingValue::NoSampledBlock,
        Missing::NotKept => MissingValue::NotKept,
        Missing::Before(why) => MissingValue::Before(why.text()),
        Missing::Name(reason) => MissingValue::Name(lookup.places.unresolved(reason)),
    }
}

fn class(number: u64) -> Cell {
    let class = u8::try_from(number).ok().and_then(MissClass::of_number);
    Cell::Text(Arc::from(class.map_or("", MissClass::name)))
}

#[derive(Debug)]
pub(super) struct Words<'l> {
    pub(super) lookup: &'l mut Lookup,
    sites: FxHashMap<(PlaceKind, Place), SiteCell>,
}

impl<'l> Words<'l> {
    pub(super) fn new(lookup: &'l mut Lookup) -> Words<'l> {
        Words { lookup, sites: FxHashMap::default() }
    }

    /// The words of a level, or that it is not available; None where there
    /// is no data source at all.
    pub(super) fn level(&self, value: KeyValue) -> Option<String> {
        match value.as_name() {
            Ok(name) => Some(self.lookup.places.name(name).to_string()),
            Err(Missing::DataSrc) => None,
            Err(lack) => Some(format!("[{}]", missing(lack, self.lookup, ""))),
        }
    }

    pub(super) fn cell(&mut self, column: &KeyColumn, value: KeyValue) -> Cell {
        let cell = match &column.key {
            Key::Site => {
                value.as_place().map(|place| Cell::Site(self.site(PlaceKind::Code, place)))
            }
            Key::Alloc => value
                .as_place()
                .map(|place| Cell::Text(self.site(PlaceKind::Code, place).to_string().into())),
            Key::Data => {
                value.as_place().map(|place| Cell::Data(self.site(PlaceKind::Data, place)))
            }
            Key::Ip | Key::Addr | Key::Line | Key::Page | Key::AddrBefore | Key::Register(_) => {
                value.value().map(Cell::Address)
            }
            Key::Pid | Key::Tid | Key::Cpu => value.as_signed().map(Cell::Number),
            Key::Time(_) => value.value().map(Cell::Time),
            // Until all rows are known: FrameWords::finish().
            Key::Stack => {
                value.value().map(|chain| Cell::Chain(usize::try_from(chain).unwrap_or(usize::MAX)))
            }
            Key::Routine
            | Key::Inlined
            | Key::Srcline
            | Key::RoutineLine
            | Key::Operands
            | Key::Caller
            | Key::Callee
            | Key::Object
            | Key::Variable
            | Key::AllocLine
            | Key::Block
            | Key::Holder
            | Key::Type
            | Key::Member
            | Key::Access(_) => {
                value.as_name().map(|name| Cell::Text(self.lookup.places.name(name)))
            }
            Key::Region => {
                value.as_name().map(|path| Cell::Text(self.lookup.regions.text(RegionPath(path))))
            }
            Key::Miss => value.value().map(class),
            Key::Comm => value.as_comm().map(|comm| Cell::Text(self.lookup.comms.text(comm))),
        };
        cell.unwrap_or_else(|lack| {
            let register = match &column.key {
                Key::Register(name) => name,
                _ => "",
            };
            let missing = missing(lack, self.lookup, register);
            if matches!(column.key, Key::Site | Key::Data) {
                Cell::SiteMissing(missing)
            } else {
                Cell::Missing(missing)
            }
        })
    }

    fn site(&mut self, of: PlaceKind, place: Place) -> SiteCell {
        let Words { lookup, sites } = self;
        sites.entry((of, place)).or_insert_with(|| lookup.places.site_cell(of, place)).clone()
    }
}
