//! Values of text records to records of a stream.

use super::column::{Column, flags_bit};
use super::parser::{TextError, Values};
use crate::arch::Arch;
use crate::attr::{Attr, AttrFlags, EventType, SampleType};
use crate::bytes::{ByteOrder, RecordWords};
use crate::header::Misc;
use crate::registers::{Registers, RegsAbi};
use crate::sample::{Sample, SampleLayout, Weight};
use crate::stream::{Feature, write};
use crate::units::{Cpu, Pid, Task, Tid, Time};
use std::collections::HashMap;

const ORDER: ByteOrder = ByteOrder::Little;
/// Records of a round: lines come in order of time, so any number would do.
const ROUND: u64 = 4096;
/// What the line above the header begins with of records that no hardware made.
const EMULATED: &[u8] = b"# emulated";
const NAME: &str = "text_record";
const EMULATED_NAME: &str = "text_record (emulated)";

#[derive(Debug, Default)]
pub(super) struct RecordWriter {
    /// None before the first header line.
    arch: Option<Arch>,
    is_emulated: bool,
    layouts: Vec<SampleLayout>,
    known: HashMap<TextEvent, usize>,
    records: u64,
    /// Registers of the last record that had any since the header line.
    registers: Option<u64>,
}

/// Records with the same columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct TextEvent {
    fields: SampleType,
    registers: u64,
    is_emulated: bool,
}

impl RecordWriter {
    /// A `#` line that names no columns.
    pub(super) fn remark(&mut self, line: &[u8]) {
        self.is_emulated |= line.starts_with(EMULATED);
    }

    pub(super) fn header(
        &mut self,
        arch: Arch,
        line: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), TextError> {
        self.registers = None;
        match self.arch {
            Some(before) if before == arch => Ok(()),
            Some(before) => Err(TextError::Machine { line, before, arch }),
            None => {
                self.arch = Some(arch);
                write::file_header(ORDER, out);
                let arch = Feature::Arch(arch.to_string());
                write::feature(&arch, ORDER, out).map_err(|error| unwritten(line, &error))
            }
        }
    }

    pub(super) fn record(
        &mut self,
        values: &Values<'_>,
        line: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), TextError> {
        let arch = self.arch.unwrap_or_default();
        let (mut fields, mut named, mut sampled) = (SampleType::IDENTIFIER, 0, 0);
        let mut words = [0; 64];
        for (_, column, value) in values.iter() {
            let Some(column) = column else { continue };
            if let Some(bit) = register_of(column, arch) {
                named |= 1 << bit;
                if let Some(value) = value {
                    sampled |= 1 << bit;
                    words[bit] = value;
                }
            } else if value.is_some() {
                fields |= column.field();
            }
        }
        if sampled != 0 {
            self.registers = Some(sampled);
        }
        let mask = self.registers.unwrap_or(named);
        if mask != 0 {
            fields |= SampleType::REGS_INTR;
        }
        if fields.contains(SampleType::WEIGHT_STRUCT) {
            fields.remove(SampleType::WEIGHT);
        }
        let bytes: Vec<u8> = (0..64)
            .filter(|bit| sampled >> bit & 1 == 1)
            .flat_map(|bit: usize| words[bit].to_le_bytes())
            .collect();
        let abi = match arch {
            _ if sampled == 0 => RegsAbi::None,
            Arch::X86 | Arch::Arm => RegsAbi::Bits32,
            _ => RegsAbi::Bits64,
        };
        let registers = Registers { abi, mask: sampled, words: RecordWords::new(&bytes, ORDER) };
        let event = TextEvent { fields, registers: mask, is_emulated: self.is_emulated };
        let event = self.event(event, line, out)?;
        let of = Named { values, fields, line };
        let sample = Sample {
            identifier: Some(event as u64 + 1),
            regs_intr: fields.contains(SampleType::REGS_INTR).then_some(registers),
            ..of.sample()?
        };
        self.layouts[event].encode(&sample, out).map_err(|error| unwritten(line, &error))?;
        self.records += 1;
        if self.records.is_multiple_of(ROUND) {
            write::finished_round(ORDER, out);
        }
        Ok(())
    }

    pub(super) fn end(&mut self, lines: u64, out: &mut Vec<u8>) -> Result<(), TextError> {
        if self.arch.is_some() && self.layouts.is_empty() {
            let fields = SampleType::IDENTIFIER | SampleType::IP;
            let event = TextEvent { fields, registers: 0, is_emulated: self.is_emulated };
            self.event(event, lines, out)?;
        }
        if self.arch.is_some() {
            write::finished_round(ORDER, out);
        }
        Ok(())
    }

    /// The number of an event, which is described when it is new.
    fn event(
        &mut self,
        event: TextEvent,
        line: u64,
        out: &mut Vec<u8>,
    ) -> Result<usize, TextError> {
        if let Some(&known) = self.known.get(&event) {
            return Ok(known);
        }
        // Periods of records differ where they were drawn, and no line says how; without a period
        // each record is an event.
        let has_periods = event.fields.contains(SampleType::PERIOD);
        let flags = if has_periods { AttrFlags::FREQ } else { AttrFlags::empty() };
        let attr = Attr {
            kind: EventType::RAW,
            sample_type: event.fields,
            sample_regs_intr: event.registers,
            sample_period: u64::from(!has_periods),
            flags: AttrFlags::SAMPLE_ID_ALL | flags,
            ..Attr::default()
        };
        let layout = SampleLayout::new(&attr, ORDER).map_err(|error| unwritten(line, &error))?;
        let number = self.layouts.len();
        let id = number as u64 + 1;
        let name = if event.is_emulated { EMULATED_NAME } else { NAME };
        write::attr(&attr, &[id], ORDER, out)
            .and_then(|()| write::event_name(id, name, ORDER, out))
            .map_err(|error| unwritten(line, &error))?;
        self.layouts.push(layout);
        self.known.insert(event, number);
        Ok(number)
    }
}

/// A record whose values are asked for by name.
struct Named<'v, 'p> {
    values: &'v Values<'p>,
    fields: SampleType,
    line: u64,
}

impl Named<'_, '_> {
    fn sample(&self) -> Result<Sample<'static>, TextError> {
        let get = |column| self.values.get(column);
        let task = self.fields.contains(SampleType::TID).then(|| {
            Ok::<_, TextError>(Task {
                pid: Pid(self.number(Column::Pid)?.unwrap_or(-1)),
                tid: Tid(self.number(Column::Tid)?.unwrap_or(-1)),
            })
        });
        let weight = if self.fields.contains(SampleType::WEIGHT_STRUCT) {
            Some(Weight::Struct {
                var1: self.number(Column::Weight)?.unwrap_or(0),
                var2: self.number(Column::Weight2)?.unwrap_or(0),
                var3: self.number(Column::Weight3)?.unwrap_or(0),
            })
        } else {
            get(Column::Weight).map(Weight::Full)
        };
        Ok(Sample {
            misc: Misc(self.number(Column::Misc)?.unwrap_or(0)),
            ip: get(Column::Ip),
            task: task.transpose()?,
            time: get(Column::Time).map(Time),
            addr: get(Column::Addr),
            cpu: self.number(Column::Cpu)?.map(Cpu),
            period: get(Column::Period),
            weight,
            data_src: get(Column::DataSrc).map(crate::data_src::DataSrc),
            transaction: get(Column::Transaction),
            phys_addr: get(Column::PhysAddr),
            cgroup: get(Column::Cgroup),
            data_page_size: get(Column::DataPageSize),
            code_page_size: get(Column::CodePageSize),
            ..Sample::default()
        })
    }

    /// A value that has fewer than 64 bits in a record.
    fn number<N: TryFrom<i64>>(&self, column: Column) -> Result<Option<N>, TextError> {
        let Some(value) = self.values.get(column) else { return Ok(None) };
        match N::try_from(value.cast_signed()) {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(TextError::TooLarge {
                line: self.line,
                column: column.name(Arch::default()),
                value,
            }),
        }
    }
}

fn register_of(column: Column, arch: Arch) -> Option<usize> {
    let bit = match column {
        Column::Register(bit) => Some(bit),
        Column::Flags => flags_bit(arch),
        _ => None,
    };
    usize::try_from(bit?).ok()
}

fn unwritten(line: u64, reason: &dyn std::fmt::Display) -> TextError {
    TextError::Unwritten { line, reason: reason.to_string() }
}
