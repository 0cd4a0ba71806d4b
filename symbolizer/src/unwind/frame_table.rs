//! One section of unwind entries: `.eh_frame` or `.debug_frame`.

use super::fde_index::FdeIndex;
use super::frame_rule::{CfaSource, FrameRule, RegisterSource, SavedRegister};
use crate::ChainEnd;
use crate::dwarf::bytes::SectionBytes;
use crate::dwarf::sections::SectionReader;
use gimli::{
    BaseAddresses, CfaRule, DebugFrame, EhFrame, EndianSlice, RegisterRule, RunTimeEndian,
    UnwindContext, UnwindExpression, UnwindSection, UnwindTableRow,
};

/// Bytes of one entry that are followed: routines of megabytes have a few
/// thousand.
const MOST_ENTRY: usize = 1 << 20;
/// Bytes of one expression.
const MOST_EXPRESSION: usize = 1 << 10;

#[derive(Debug)]
pub(super) struct FrameTable {
    bytes: SectionBytes,
    bases: BaseAddresses,
    index: FdeIndex,
    is_debug: bool,
}

/// `.eh_frame` and what its entries are relative to.
#[derive(Debug)]
pub(super) struct EhSections {
    pub(super) table: SectionBytes,
    pub(super) address: u64,
    /// `.eh_frame_hdr` and its address.
    pub(super) header: Option<(SectionBytes, u64)>,
    /// Addresses of `.text` and `.got`.
    pub(super) text: u64,
    pub(super) got: u64,
}

impl FrameTable {
    pub(super) fn of_eh(sections: EhSections) -> FrameTable {
        let EhSections { table, address, header, text, got } = sections;
        let bases = BaseAddresses::default().set_eh_frame(address).set_text(text).set_got(got);
        let ready = header.and_then(|(bytes, at)| FdeIndex::of_header(bytes, at, address));
        let index = ready.unwrap_or_else(|| FdeIndex::of_section(&eh(&table), &bases));
        FrameTable { bytes: table, bases, index, is_debug: false }
    }

    pub(super) fn of_debug(table: SectionBytes) -> FrameTable {
        let bases = BaseAddresses::default();
        let index = FdeIndex::of_section(&debug(&table), &bases);
        FrameTable { bytes: table, bases, index, is_debug: true }
    }

    /// The rule at a link-time address; None: no entry has it.
    pub(super) fn rule(
        &self,
        address: u64,
        context: &mut UnwindContext<usize>,
    ) -> Result<Option<FrameRule>, ChainEnd> {
        match self.is_debug {
            true => self.rule_in(&debug(&self.bytes), address, context),
            false => self.rule_in(&eh(&self.bytes), address, context),
        }
    }

    fn rule_in<'a, S>(
        &'a self,
        section: &S,
        address: u64,
        context: &mut UnwindContext<usize>,
    ) -> Result<Option<FrameRule>, ChainEnd>
    where
        S: UnwindSection<SectionReader<'a>>,
    {
        let damaged = |_| ChainEnd::DamagedTable;
        let Some(entry) = self.index.find(address) else { return Ok(None) };
        let entry = section
            .fde_from_offset(&self.bases, S::Offset::from(entry), S::cie_from_offset)
            .map_err(damaged)?;
        if !entry.contains(address) {
            return Ok(None);
        }
        if entry.entry_len().saturating_add(entry.cie().entry_len()) > MOST_ENTRY {
            return Err(ChainEnd::DamagedTable);
        }
        let row = entry
            .unwind_info_for_address(section, &self.bases, context, address)
            .map_err(damaged)?;
        let return_register = number(entry.cie().return_address_register())?;
        let is_signal = entry.is_signal_trampoline();
        RowReader { section, return_register, is_signal }.rule(row).map(Some)
    }

    /// Bytes of memory that it takes.
    pub(super) fn size(&self) -> usize {
        self.bytes.owned().saturating_add(self.index.size())
    }
}

fn eh(bytes: &SectionBytes) -> EhFrame<SectionReader<'_>> {
    let mut section = EhFrame::from(EndianSlice::new(bytes, RunTimeEndian::Little));
    section.set_address_size(8);
    section
}

fn debug(bytes: &SectionBytes) -> DebugFrame<SectionReader<'_>> {
    let mut section = DebugFrame::from(EndianSlice::new(bytes, RunTimeEndian::Little));
    section.set_address_size(8);
    section
}

struct RowReader<'s, S> {
    section: &'s S,
    return_register: u8,
    is_signal: bool,
}

impl<'a, S: UnwindSection<SectionReader<'a>>> RowReader<'_, S> {
    fn rule(&self, row: &UnwindTableRow<usize>) -> Result<FrameRule, ChainEnd> {
        let cfa = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                CfaSource::Register { register: number(*register)?, offset: *offset }
            }
            CfaRule::Expression(expression) => CfaSource::Expression(self.bytes(*expression)?),
        };
        let mut saved = Vec::new();
        for (register, rule) in row.registers() {
            let source = match rule {
                RegisterRule::SameValue => continue,
                RegisterRule::Undefined => RegisterSource::Lost,
                RegisterRule::Offset(offset) => RegisterSource::At(*offset),
                RegisterRule::ValOffset(offset) => RegisterSource::Value(*offset),
                RegisterRule::Register(other) => RegisterSource::Register(number(*other)?),
                RegisterRule::Expression(it) => RegisterSource::AtExpression(self.bytes(*it)?),
                RegisterRule::ValExpression(it) => RegisterSource::Expression(self.bytes(*it)?),
                // Whether a return address is signed: it is stripped anyway.
                RegisterRule::Architectural | RegisterRule::Constant(_) => continue,
            };
            // Vector registers lead nowhere.
            if let Ok(register) = number(*register) {
                saved.push(SavedRegister { register, source });
            }
        }
        let (return_register, is_signal) = (self.return_register, self.is_signal);
        Ok(FrameRule { cfa, saved: saved.into(), return_register, is_signal })
    }

    fn bytes(&self, expression: UnwindExpression<usize>) -> Result<Box<[u8]>, ChainEnd> {
        let bytes = expression.get(self.section).map_err(|_| ChainEnd::DamagedTable)?;
        let bytes = bytes.0.slice();
        (bytes.len() <= MOST_EXPRESSION).then(|| bytes.into()).ok_or(ChainEnd::DamagedTable)
    }
}

fn number(register: gimli::Register) -> Result<u8, ChainEnd> {
    u8::try_from(register.0).map_err(|_| ChainEnd::DamagedTable)
}
