//! Records as `perf script` prints them.

use super::chain::{Besides, CopiedStack, copied_stack, end_of_frames, frames, is_full, is_unsent};
use super::column::hex;
use super::field::{Field, LineFields, Selection};
use super::line::{self, Start, write_emulation};
use super::names::{self, Names};
use super::registers::RegisterNames;
use super::title_widths::TitleWidths;
use super::{About, Printer};
use analysis::{Growth, Members, SampleShare};
use perfdata::attr::BranchSampleType;
use perfdata::data_src::PerfText;
use perfdata::registers::instruction_pointer;
use perfdata::stream::{EventDescription, StreamDecoder};
use perfdata::{Arch, ClassifiedMiss, DataSrc, Sample, SampleType, SoftwareEvent};
use rustc_hash::FxHashMap;
use std::io::Write;
use symbolizer::{ChainEnd, ChainEnds, Place, SampledAddress, StackFrame, Symbolizer, UserStack};

#[derive(Debug)]
pub struct PerfPrinter {
    selection: Selection,
    chains: Chains,
    /// Call chains of which not all was printed.
    cut: u64,
    ends: ChainEnds,
    /// Frames of the last one.
    unwound: Vec<StackFrame>,
    members: Members,
    names: Names,
    sources: DataSources,
    registers: RegisterNames,
    /// Of each event of which a record was printed.
    looks: Vec<Option<Look>>,
    widths: TitleWidths,
    notes: Vec<String>,
    /// Where in the text source lines are missing, and whose.
    unsourced: Vec<(usize, Place)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chains {
    /// Nothing: the instruction pointer stands on the line.
    Hidden,
    /// So many frames at most.
    Frames(usize),
}

#[derive(Debug)]
struct Look {
    fields: LineFields,
    /// Its name, as wide as the widest of the recording.
    title: Box<[u8]>,
    /// Frames printed at most; None without call chains.
    frames: Option<usize>,
    besides: Besides,
    /// Whether its data addresses are named.
    data_named: bool,
    /// Whether a timer took its records between two instructions.
    before: bool,
}

#[derive(Clone, Copy, Debug)]
struct PrintedRecord<'a> {
    event: usize,
    sample: &'a Sample<'a>,
    period: Option<u64>,
}

impl PerfPrinter {
    pub fn new(selection: Selection, chains: Chains) -> PerfPrinter {
        PerfPrinter {
            selection,
            chains,
            cut: 0,
            ends: ChainEnds::default(),
            unwound: Vec::new(),
            members: Members::default(),
            names: Names::new(),
            sources: DataSources::default(),
            registers: RegisterNames::new(Arch::default()),
            looks: Vec::new(),
            widths: TitleWidths::default(),
            notes: Vec::new(),
            unsourced: Vec::new(),
        }
    }

    /// Learns how an event's records look, and notes what they lack.
    fn look_at(&mut self, index: usize, about: &mut About<'_>) {
        let decoder = about.decoder;
        let Some(event) = decoder.events().get(index) else {
            return;
        };
        if self.looks.len() <= index {
            self.looks.resize_with(index + 1, || None);
        }
        let (fields, asked) = self.selection.of(&event.attr);
        let lacking = asked.lacking(&event.attr);
        if !lacking.is_empty() {
            let (name, lacking) = (event.title(), lacking.join(", "));
            self.notes.push(format!("{name} was recorded without {lacking}"));
        }
        let width = self.widths.widest(decoder);
        let name = event.perf_title();
        let mut title = vec![b' '; width.saturating_sub(name.len())];
        line::clean(name.as_bytes(), &mut title);
        let has = |any| event.attr.sample_type.contains(any);
        let arch = decoder.features().machine();
        let stack = has(SampleType::REGS_USER | SampleType::STACK_USER);
        let besides = Besides {
            calls: event.attr.branch_sample_type.contains(BranchSampleType::CALL_STACK),
            most_calls: decoder.features().branches_kept(event.attr.kind),
            stack,
            instruction_pointer: instruction_pointer(arch),
        };
        let frames = match self.chains {
            Chains::Frames(most) if fields.has(Field::Ip) && has(SampleType::CALLCHAIN) => {
                Some(most)
            }
            _ => None,
        };
        self.looks[index] = Some(Look {
            fields,
            title: title.into(),
            frames,
            besides,
            data_named: fields.names_addresses() && names_data(event),
            before: fields.has(Field::AddrBefore)
                && !fields.lacking(&event.attr).contains(&"addr-before"),
        });
        if self.registers.arch() != arch {
            self.registers = RegisterNames::new(arch);
        }
    }
}

impl Printer for PerfPrinter {
    fn print(&mut self, sample: &Sample<'_>, about: &mut About<'_>, out: &mut Vec<u8>) {
        match self.members.share(about.decoder, sample) {
            SampleShare::Grown(grown) => {
                for Growth { event, by } in grown {
                    let record = PrintedRecord { event, sample, period: Some(by) };
                    self.print_as(record, about, out);
                }
            }
            SampleShare::Unexplained => {}
            SampleShare::Own => {
                let record = PrintedRecord { event: about.event, sample, period: sample.period };
                self.print_as(record, about, out);
            }
        }
    }

    fn names_places(&self) -> bool {
        true
    }

    fn renamed(&mut self, event: usize) {
        self.widths.renamed(event);
    }

    fn all_renamed(&mut self) {
        self.widths.all_renamed();
    }

    fn complete(&mut self, symbolizer: &mut Symbolizer, text: &mut Vec<u8>) {
        if self.unsourced.is_empty() {
            return;
        }
        self.names.learn_lines(symbolizer, self.unsourced.iter().map(|(_, place)| *place));
        let before = std::mem::take(text);
        let mut copied = 0;
        for (at, place) in self.unsourced.drain(..) {
            text.extend_from_slice(&before[copied..at]);
            write_source(self.names.line(place), text);
            copied = at;
        }
        text.extend_from_slice(&before[copied..]);
    }

    fn end(&mut self, _decoder: &StreamDecoder, symbolizer: &Symbolizer, _out: &mut Vec<u8>) {
        self.notes.extend(self.members.take_notes());
        self.notes.extend(symbolizer.left_out());
        self.notes.extend(self.ends.note());
        if let (cut @ 1.., Chains::Frames(most)) = (self.cut, self.chains) {
            self.notes.push(format!(
                "{cut} call chains have more than {most} frames; --max-stack prints them"
            ));
        }
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}

impl PerfPrinter {
    fn print_as(&mut self, record: PrintedRecord<'_>, about: &mut About<'_>, out: &mut Vec<u8>) {
        let PrintedRecord { event, sample, period } = record;
        if self.looks.get(event).is_none_or(Option::is_none) {
            self.look_at(event, about);
            if let Some(description) = about.decoder.events().get(event) {
                write_emulation(description, out);
            }
        }
        let PerfPrinter { names, sources, registers, looks, cut, ends, unwound, unsourced, .. } =
            self;
        let Some(look) = looks.get(event).and_then(Option::as_ref) else {
            return;
        };
        let fields = look.fields;
        let at = SampledAddress::of(sample);
        let comm = about.comm;
        let symbolizer = &mut *about.symbolizer;
        let padded = look.frames.is_none();
        let title = &look.title;
        Start { sample, comm, padded, period, event: title }.write(fields, out);
        if let (true, Some(addr)) = (fields.has(Field::Addr), sample.addr) {
            let named = look
                .data_named
                .then(|| names::data(symbolizer, SampledAddress { address: addr, ..at }));
            line::write_addr(addr, named.as_ref(), fields, out);
        }
        if look.before {
            line::write_before(names.before(symbolizer, sample), out);
        }
        if let (true, Some(word)) = (fields.has(Field::DataSrc), sample.data_src) {
            sources.write(word, out);
        }
        if let (true, Some(raw)) = (fields.has(Field::Miss), sample.raw) {
            line::write_class(ClassifiedMiss::decode(raw).and_then(|miss| miss.class), out);
        }
        if let Some(weight) = sample.weight {
            line::write_weight(weight, fields, out);
        }
        if let Some(most) = look.frames {
            out.push(b'\n');
            unwound.clear();
            if let Some(CopiedStack { registers, stack }) = copied_stack(sample, look.besides) {
                let SampledAddress { pid, time, .. } = at;
                let of = UserStack { pid, time, registers, stack, most };
                let end = symbolizer.unwind(&of, unwound);
                ends.add(end, 1);
                *cut += u64::from(end == ChainEnd::FrameLimit);
            } else if is_unsent(sample) {
                ends.add(ChainEnd::NotSent, 1);
            } else if let Some(end) = end_of_frames(sample, look.besides) {
                ends.add(end, 1);
            } else if is_full(sample, look.besides) {
                ends.add(ChainEnd::CallsLimit, 1);
            }
            let most = most.saturating_add(unwound.len());
            for (index, frame) in frames(sample, look.besides, unwound).enumerate() {
                if index == most {
                    *cut += 1;
                    break;
                }
                out.push(b'\t');
                let at = SampledAddress { mode: frame.mode, address: frame.address, ..at };
                let (shown, at) = names::in_file(symbolizer, at);
                let named = fields.names_addresses().then(|| names.code(symbolizer, at));
                line::write_ip(shown, named, fields, out);
                if fields.has(Field::Srcline) {
                    unsourced.push((out.len(), at.place(symbolizer)));
                }
                out.push(b'\n');
            }
        } else if let (true, Some(ip)) = (fields.has(Field::Ip), sample.ip) {
            out.push(b' ');
            let named = fields.names_addresses().then(|| names.code(symbolizer, at));
            line::write_ip(ip, named, fields, out);
            if fields.has(Field::Srcline) {
                unsourced.push((out.len(), at.place(symbolizer)));
            }
        }
        for (field, set) in [(Field::Iregs, &sample.regs_intr), (Field::Uregs, &sample.regs_user)] {
            if let (true, Some(set)) = (fields.has(field), set) {
                registers.write(set, out);
            }
        }
        if let (true, Some(stack)) = (fields.has(Field::Brstack), &sample.branch_stack) {
            let object = |address, out: &mut Vec<u8>| {
                if fields.has(Field::Dso) {
                    let end = SampledAddress { address, ..at };
                    names.branch(symbolizer, end).write_object(out);
                }
            };
            line::write_branches(stack, object, out);
        }
        if let (true, Some(physical)) = (fields.has(Field::PhysAddr), sample.phys_addr) {
            out.push(b' ');
            hex(physical, 15, out);
        }
        for (field, size) in [
            (Field::DataPageSize, sample.data_page_size),
            (Field::CodePageSize, sample.code_page_size),
        ] {
            if let (true, Some(size)) = (fields.has(field), size) {
                line::write_page_size(size, out);
            }
        }
        out.push(b'\n');
    }
}

/// A line of its own, and nothing where there is none
/// (map__fprintf_srcline(), tools/perf/util/map.c).
fn write_source(line: Option<&[u8]>, out: &mut Vec<u8>) {
    if let Some(line) = line {
        out.extend_from_slice(b"\n  ");
        out.extend_from_slice(line);
    }
}

/// Whether perf names the data addresses of an event: those of page faults
/// (sample_addr_correlates_sym(), tools/perf/util/event.c).
fn names_data(event: &EventDescription) -> bool {
    event.attr.software().is_some_and(SoftwareEvent::is_page_fault)
}

/// Texts that are kept; machines write some dozens of different words.
const KEPT: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct DataSources {
    texts: FxHashMap<DataSrc, Box<[u8]>>,
    /// Of the longest text so far: perf pads all that follow to it.
    width: usize,
}

impl DataSources {
    pub(super) fn write(&mut self, word: DataSrc, out: &mut Vec<u8>) {
        if self.texts.len() >= KEPT {
            self.texts.clear();
        }
        let text = self.texts.entry(word).or_insert_with(|| {
            let mut text = Vec::new();
            // Writing to a vector cannot fail.
            let _ = write!(text, " {:15x} {}", word.0, PerfText(word));
            text.into()
        });
        self.width = self.width.max(text.len());
        let end = out.len() + self.width;
        out.extend_from_slice(text);
        out.resize(end, b' ');
    }
}
