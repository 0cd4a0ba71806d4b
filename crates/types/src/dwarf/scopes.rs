//! Variables of routines, and where they are.

use super::attributes::{EntryKey, UnitPlace, key};
use super::unit_reader::TypeReader;
use crate::table::{NameId, TypeId};
use crate::variables::{
    FrameBase, LocalVariable, LocatedBytes, LocatedPart, RoutineStretch, RoutineVariables,
    StaticVariable, VariableTable, located,
};
use gimli::AttributeValue;
use rustc_hash::FxHashMap;
use std::ops::Range;
use symbolizer::{CodeAttributes, SectionReader, SectionUnit};

/// Scopes within each other.
const MOST_NESTED: usize = 1024;
/// Parts of variables, over stretches of code, of one file. A file has no more
/// than bytes of debug info: lists that many variables share would make much of
/// little.
const MOST_LOCALS: usize = 1 << 23;
/// Stretches of code of one scope.
const MOST_RANGES: usize = 1 << 12;
/// Entries that say what others are.
const MOST_ORIGINS: usize = 16;

type Value<'a> = AttributeValue<SectionReader<'a>>;

#[derive(Debug)]
pub(super) struct ScopeReader {
    most: usize,
    locals: Vec<Unresolved<LocalVariable>>,
    statics: Vec<Unresolved<StaticVariable>>,
    routines: Vec<Unresolved<RoutineVariables>>,
    stretches: Vec<RoutineStretch>,
    /// What entries say that others take their names and types from.
    declared: FxHashMap<EntryKey, Declaration>,
    open: Vec<Scope>,
    told_full: bool,
}

/// Something whose name and type another entry may tell.
#[derive(Debug)]
struct Unresolved<T> {
    what: T,
    origin: Option<EntryKey>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Declaration {
    name: Option<NameId>,
    of: Option<TypeId>,
    origin: Option<EntryKey>,
}

/// A routine, a call that was inlined, or a block.
#[derive(Debug)]
struct Scope {
    depth: isize,
    code: Vec<Range<u64>>,
    frame: FrameBase,
    /// Where a routine's variables begin.
    routine: Option<usize>,
}

#[derive(Debug, Default)]
struct ScopeAttributes<'a> {
    name: Option<Value<'a>>,
    of: Option<EntryKey>,
    origin: Option<EntryKey>,
    code: CodeAttributes<'a>,
    /// It is the declaration of a variable that a class has once.
    is_static_member: bool,
    frame: Option<Value<'a>>,
    location: Option<Value<'a>>,
}

impl ScopeReader {
    /// `size`: bytes of debug info that the file has.
    pub(super) fn new(size: usize) -> ScopeReader {
        ScopeReader {
            most: MOST_LOCALS.min(size),
            locals: Vec::new(),
            statics: Vec::new(),
            routines: Vec::new(),
            stretches: Vec::new(),
            declared: FxHashMap::default(),
            open: Vec::new(),
            told_full: false,
        }
    }

    /// Reads the variables of a unit, up to where it is damaged.
    pub(super) fn unit(&mut self, unit: &SectionUnit<'_, '_>, types: &mut TypeReader) {
        if let Err(why) = self.entries(unit, types) {
            let start = unit.unit.header.offset().0;
            types.note(format!("variables of the unit at {start:#x}: {why}"));
        }
        while let Some(scope) = self.open.pop() {
            self.close(&scope);
        }
    }

    fn entries<'a>(
        &mut self,
        unit: &SectionUnit<'_, 'a>,
        types: &mut TypeReader,
    ) -> Result<(), String> {
        let failed = |error: gimli::Error| error.to_string();
        let start = unit.unit.header.offset().0;
        let place = UnitPlace { section: unit.section, info: unit.info, start };
        let mut entries = unit.unit.entries_raw(None).map_err(failed)?;
        while !entries.is_empty() {
            let offset = entries.next_offset().0;
            let depth = entries.next_depth();
            let Some(abbreviation) = entries.read_abbreviation().map_err(failed)? else { continue };
            while let Some(scope) = self.open.pop_if(|scope| scope.depth >= depth) {
                self.close(&scope);
            }
            let tag = abbreviation.tag();
            let is_scope = is_scope(tag);
            if !is_scope && !is_variable(tag) {
                entries.skip_attributes(abbreviation.attributes()).map_err(failed)?;
                continue;
            }
            let mut said = ScopeAttributes::default();
            for spec in abbreviation.attributes() {
                let attribute = entries.read_attribute(*spec).map_err(failed)?;
                said.take(attribute.name(), attribute.value(), place);
            }
            if self.locals.len() >= self.most {
                if !std::mem::replace(&mut self.told_full, true) {
                    types.note("more variables than are kept: some are left out".to_owned());
                }
                continue;
            }
            let key = EntryKey::at(place.section, start.saturating_add(offset));
            if is_scope {
                if self.open.len() >= MOST_NESTED {
                    return Err(format!("scopes are nested deeper than {MOST_NESTED}"));
                }
                let scope = self.scope(unit, types, &said, depth);
                match tag == gimli::DW_TAG_subprogram {
                    true => self.routine(scope, key, &said, types),
                    false => self.open.push(scope),
                }
            } else if tag != gimli::DW_TAG_member || said.is_static_member {
                self.variable(unit, types, &said, key);
            }
        }
        Ok(())
    }

    fn scope<'a>(
        &self,
        unit: &SectionUnit<'_, 'a>,
        types: &mut TypeReader,
        said: &ScopeAttributes<'a>,
        depth: isize,
    ) -> Scope {
        let code = said.code(unit).unwrap_or_else(|error| {
            types.note(format!("where a scope lies: {error}"));
            Vec::new()
        });
        let frame = match said.frame {
            Some(AttributeValue::Exprloc(expression)) => {
                let encoding = unit.unit.encoding();
                let parts = located(expression, encoding, FrameBase::default(), |_| None);
                FrameBase(match parts.first().map(|it| it.part) {
                    Some(LocatedPart::Local(place)) => Some(place),
                    _ => None,
                })
            }
            Some(_) => FrameBase::default(),
            None => self.open.last().map(|scope| scope.frame).unwrap_or_default(),
        };
        Scope { depth, code, frame, routine: None }
    }

    /// One that has code begins a list of variables; one that has none says
    /// what others return.
    fn routine(
        &mut self,
        mut scope: Scope,
        key: EntryKey,
        said: &ScopeAttributes<'_>,
        types: &mut TypeReader,
    ) {
        let of = said.of.map(|of| types.id_of(Some(of)));
        self.declared.insert(key, Declaration { name: None, of, origin: said.origin });
        if scope.code.is_empty() {
            // Nothing in it lies anywhere, but it says what others are.
            self.open.push(scope);
            return;
        }
        let number = u32::try_from(self.routines.len()).unwrap_or(u32::MAX);
        let begun = u32::try_from(self.locals.len()).unwrap_or(u32::MAX);
        let what = RoutineVariables { returns: of.unwrap_or(TypeId::VOID), locals: begun..begun };
        self.routines.push(Unresolved { what, origin: said.origin.filter(|_| of.is_none()) });
        // The first of several is where it is called (DWARF 5, 2.17.3).
        let stretch = |(at, code): (usize, &Range<u64>)| RoutineStretch {
            start: code.start,
            end: code.end,
            routine: number,
            is_entry: at == 0,
        };
        self.stretches.extend(scope.code.iter().enumerate().map(stretch));
        scope.routine = usize::try_from(number).ok();
        self.open.push(scope);
    }

    fn close(&mut self, scope: &Scope) {
        let end = u32::try_from(self.locals.len()).unwrap_or(u32::MAX);
        if let Some(routine) = scope.routine.and_then(|number| self.routines.get_mut(number)) {
            routine.what.locals.end = end;
        }
    }

    fn variable<'a>(
        &mut self,
        unit: &SectionUnit<'_, 'a>,
        types: &mut TypeReader,
        said: &ScopeAttributes<'a>,
        key: EntryKey,
    ) {
        let name = said.name.and_then(|name| unit.dwarf.attr_string(&unit.unit, name).ok());
        let name = name.and_then(|name| types.builder.name(name.slice()));
        let of = said.of.map(|of| types.id_of(Some(of)));
        let Some(location) = said.location else {
            self.declared.insert(key, Declaration { name, of, origin: said.origin });
            return;
        };
        let origin = said.origin.filter(|_| of.is_none() || name.is_none());
        let frame = self.open.last().map(|scope| scope.frame).unwrap_or_default();
        let encoding = unit.unit.encoding();
        let address = |index| unit.dwarf.address(&unit.unit, gimli::DebugAddrIndex(index)).ok();
        let of = of.unwrap_or(TypeId::VOID);
        if let AttributeValue::Exprloc(expression) = location {
            let parts = located(expression, encoding, frame, address);
            let everywhere = self.open.last().map(|scope| &scope.code[..]).unwrap_or_default();
            for LocatedBytes { first, bytes, part } in parts {
                match part {
                    LocatedPart::Local(place) => {
                        self.locals.extend(everywhere.iter().map(|code| {
                            let addresses = code.clone();
                            let what = LocalVariable { name, of, addresses, place, first, bytes };
                            Unresolved { what, origin }
                        }));
                    }
                    LocatedPart::Static(start) if first == 0 && start >= unit.first.data => {
                        let what = StaticVariable { name, of, start };
                        self.statics.push(Unresolved { what, origin });
                    }
                    LocatedPart::Static(_) | LocatedPart::Nowhere => {}
                }
            }
            return;
        }
        let list = unit.dwarf.attr_locations(&unit.unit, location);
        let read = || -> gimli::Result<()> {
            let Some(mut list) = list? else { return Ok(()) };
            while let Some(entry) = list.next()? {
                for LocatedBytes { first, bytes, part } in
                    located(entry.data, encoding, frame, address)
                {
                    if let LocatedPart::Local(place) = part
                        && self.locals.len() < self.most
                    {
                        let addresses = entry.range.begin..entry.range.end;
                        let what = LocalVariable { name, of, addresses, place, first, bytes };
                        self.locals.push(Unresolved { what, origin });
                    }
                }
            }
            Ok(())
        };
        if let Err(error) = read() {
            types.note(format!("a list of locations: {error}"));
        }
    }

    pub(super) fn finish(self) -> VariableTable {
        let declared = self.declared;
        let told = |origin: Option<EntryKey>| {
            let mut sum = Declaration::default();
            let mut at = origin;
            for _ in 0..MOST_ORIGINS {
                let Some(entry) = at.and_then(|key| declared.get(&key)) else { break };
                sum.name = sum.name.or(entry.name);
                sum.of = sum.of.or(entry.of);
                at = entry.origin;
            }
            sum
        };
        let complete = |of: &mut TypeId, name: &mut Option<NameId>, origin| {
            let told = told(origin);
            *name = name.or(told.name);
            if *of == TypeId::VOID {
                *of = told.of.unwrap_or(TypeId::VOID);
            }
        };
        let locals = self.locals.into_iter().map(|Unresolved { mut what, origin }| {
            complete(&mut what.of, &mut what.name, origin);
            what
        });
        let statics = self.statics.into_iter().map(|Unresolved { mut what, origin }| {
            complete(&mut what.of, &mut what.name, origin);
            what
        });
        let routines = self.routines.into_iter().map(|Unresolved { mut what, origin }| {
            complete(&mut what.returns, &mut None, origin);
            what
        });
        let mut table = VariableTable {
            locals: locals.collect(),
            statics: statics.collect(),
            stretches: self.stretches,
            routines: routines.collect(),
        };
        table.statics.sort_by_key(|variable| variable.start);
        table.stretches.sort_by_key(|stretch| (stretch.start, stretch.end));
        table
    }
}

impl<'a> ScopeAttributes<'a> {
    fn take(&mut self, name: gimli::DwAt, value: Value<'a>, place: UnitPlace) {
        match name {
            gimli::DW_AT_name => self.name = Some(value),
            gimli::DW_AT_type => self.of = key(value, place),
            gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => {
                self.origin = key(value, place);
            }
            gimli::DW_AT_declaration | gimli::DW_AT_external => self.is_static_member = true,
            gimli::DW_AT_frame_base => self.frame = Some(as_expression(value)),
            gimli::DW_AT_location => self.location = Some(as_expression(value)),
            _ => self.code.take(name, value),
        }
    }

    /// Stretches with at least one address.
    fn code(&self, unit: &SectionUnit<'_, 'a>) -> gimli::Result<Vec<Range<u64>>> {
        let mut code = Vec::new();
        self.code.each(unit.dwarf, &unit.unit, unit.first.code, |start, end| {
            if code.len() < MOST_RANGES && start < end {
                code.push(start..end);
            }
            Ok(())
        })?;
        Ok(code)
    }
}

/// Versions before 4 have expressions in blocks.
fn as_expression(value: Value<'_>) -> Value<'_> {
    match value {
        AttributeValue::Block(bytes) => AttributeValue::Exprloc(gimli::Expression(bytes)),
        value => value,
    }
}

fn is_scope(tag: gimli::DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_subprogram
            | gimli::DW_TAG_inlined_subroutine
            | gimli::DW_TAG_lexical_block
            | gimli::DW_TAG_try_block
            | gimli::DW_TAG_catch_block
    )
}

/// Entries that are variables, or tell the types of some.
fn is_variable(tag: gimli::DwTag) -> bool {
    matches!(tag, gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter | gimli::DW_TAG_member)
}
