//! What holds the bytes that a sample is on.

use crate::code::register_number;
use crate::collect::sampled::CountedSample;
use crate::name::data_holder::{DataHolder, MappingHolder};
use crate::name::frame_bytes::frame_byte;
use crate::name::heap_block::HeapBlock;
use crate::name::key_value::KeyValue;
use crate::name::lookup::Lookup;
use crate::name::mappings::MappingMaker;
use crate::name::place_names::PlaceNames;
use crate::name::stacks::ThreadPoint;
use iced_x86::Register;
use perfdata::{Arch, CpuMode, SampleType};
use symbolizer::SampledAddress;

impl CountedSample<'_> {
    /// What holds the bytes that it is on.
    pub(crate) fn holder(&mut self, lookup: &mut Lookup) -> DataHolder {
        match self.block(lookup) {
            Ok(block) => self.in_block(block, lookup),
            Err(_) => self.on_stack(lookup).unwrap_or_else(|| self.in_mapping(lookup)),
        }
    }

    /// The same; of stacks alone what is mapped there.
    pub(crate) fn holder_but_stacks(&self, lookup: &mut Lookup) -> DataHolder {
        match self.block(lookup) {
            Ok(block) => self.in_block(block, lookup),
            Err(_) => self.in_mapping(lookup),
        }
    }

    /// The mapping that the program made, or what is mapped there otherwise.
    fn in_mapping(&self, lookup: &mut Lookup) -> DataHolder {
        let mapping = self.mapping(lookup);
        if mapping.is_some_and(|it| it.maker == MappingMaker::Allocator) {
            return DataHolder::Allocator;
        }
        match mapping.and_then(|it| it.origin()) {
            Some(origin) => {
                let object = self.data(lookup).ok().map(|place| place.object);
                let object = object.filter(|_| origin.is_file);
                DataHolder::Mapping(MappingHolder { origin, object })
            }
            None => self.mapped(lookup),
        }
    }

    fn in_block(&self, block: HeapBlock, lookup: &mut Lookup) -> DataHolder {
        block.asker.site.map_or_else(|_| self.mapped(lookup), DataHolder::Block)
    }

    fn mapped(&self, lookup: &mut Lookup) -> DataHolder {
        let data = self.data(lookup);
        let variable = data.map_or_else(KeyValue::missing, |place| lookup.places.variable(place));
        DataHolder::Mapped { variable, object: data.ok().map(|place| place.object) }
    }

    fn on_stack(&mut self, lookup: &mut Lookup) -> Option<DataHolder> {
        if !lookup.stacks.is_wanted {
            return None;
        }
        let address = self.address().ok()?;
        let point = self.thread_point(lookup)?;
        let SampledAddress { pid, time, .. } = point.at;
        let pointers = &mut lookup.stacks.pointers;
        if let Some(name) = pointers.variable(pid, time, address, &mut lookup.places) {
            return Some(DataHolder::ThreadLocal(name));
        }
        if point.may_reach(address) {
            match self.words.callers {
                Some(_) => _ = self.chain(lookup),
                None => lookup.chains.forget(),
            }
            let Lookup { places, frames, types, chains, .. } = lookup;
            let types = &mut types.objects;
            let symbolizer = &mut places.symbolizer;
            if let Some(byte) = frame_byte(&point, address, chains, types, symbolizer) {
                return Some(DataHolder::Frame(frames.name(byte, types, places)));
            }
        }
        lookup.stacks.owner(point.at.pid, address).map(DataHolder::Stack)
    }

    /// Learns where its thread has its stack, and what is its own.
    pub(crate) fn learn_thread(&mut self, lookup: &mut Lookup) {
        let Some(point) = self.thread_point(lookup) else { return };
        let Lookup { stacks, places: PlaceNames { symbolizer, .. }, .. } = lookup;
        stacks.learn(&point, symbolizer);
        let pointers = &mut stacks.pointers;
        if let Ok(address) = self.address()
            && let Some(from) = pointers.facts(point.at, point.place, symbolizer).from_pointer
        {
            let pointer = address.wrapping_sub(from.cast_unsigned());
            pointers.learn(point.at, point.tid, pointer, symbolizer);
        }
    }

    /// Where its thread is on its stack; None: its registers do not tell.
    pub(crate) fn thread_point(&mut self, lookup: &mut Lookup) -> Option<ThreadPoint> {
        if let Some(known) = self.point {
            return known;
        }
        let point = self.find_point(lookup);
        self.point = Some(point);
        point
    }

    fn find_point(&mut self, lookup: &mut Lookup) -> Option<ThreadPoint> {
        let at = self.held.at();
        let tells = at.mode == CpuMode::User
            && self.fields.has(SampleType::TID)
            && !self.fields.registers_of_user()
            && lookup.stacks.arch == Arch::X86_64;
        if !tells {
            return None;
        }
        let place = self.place(lookup).ok()?;
        let value = |register| self.register_of_kernel(register_number(register)?);
        let (stack, base) = (value(Register::RSP)?, value(Register::RBP));
        // What a PEBS record has may be what the instruction left.
        let Lookup { stacks, places, .. } = lookup;
        let is_moved = !self.fields.is_emulated()
            && stacks.pointers.facts(at, place, &mut places.symbolizer).moves_stack;
        (!is_moved).then_some(ThreadPoint { at, tid: self.held.tid(), place, stack, base })
    }
}
