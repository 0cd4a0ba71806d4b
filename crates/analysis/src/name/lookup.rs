//! What names of samples are looked up in.

use crate::bounded::{Bounded, MOST_REMEMBERED};
use crate::code::previous::Previous;
use crate::name::access_types::{AccessTypes, TypeAndMember};
use crate::name::call_chains::CallChains;
use crate::name::comms::Comms;
use crate::name::data_holder::{DataHolder, MappingHolder};
use crate::name::frame_bytes::FrameNames;
use crate::name::heap_blocks::HeapBlocks;
use crate::name::key_value::{KeyValue, Missing};
use crate::name::place_names::PlaceNames;
use crate::name::regions::Regions;
use crate::name::source_lines::SourceLines;
use crate::name::stacks::Stacks;
use crate::name::undecided_types::{BlockAccess, UndecidedTypes};
use crate::typed::block_votes::BlockPlace;
use crate::typed::object_types::TypedAccess;
use perfdata::DataSrc;
use perfdata::data_src::DataSrcAspect;
use rustc_hash::FxHashMap;
use symbolizer::Symbolizer;

#[derive(Debug)]
pub(crate) struct Lookup {
    pub(crate) places: PlaceNames,
    pub(crate) lines: SourceLines,
    pub(crate) comms: Comms,
    pub(crate) regions: Regions,
    pub(crate) heap: HeapBlocks,
    pub(crate) holders: HolderNumbers,
    pub(crate) types: AccessTypes,
    pub(crate) undecided: UndecidedTypes,
    pub(crate) stacks: Stacks,
    pub(crate) frames: FrameNames,
    pub(crate) chains: CallChains,
    pub(crate) previous: Previous,
    accesses: Bounded<(DataSrcAspect, DataSrc), KeyValue, MOST_REMEMBERED>,
}

/// Names of what holds data, by number.
#[derive(Debug, Default)]
pub(crate) struct HolderNumbers {
    pub(crate) known: FxHashMap<DataHolder, u32>,
    /// Mappings by their name without sizes: what has one name is one row.
    pub(crate) mappings: FxHashMap<u32, Vec<MappingHolder>>,
}

impl Lookup {
    pub(crate) fn new(symbolizer: Symbolizer) -> Lookup {
        Lookup {
            places: PlaceNames::new(symbolizer),
            lines: SourceLines::default(),
            comms: Comms::default(),
            regions: Regions::default(),
            heap: HeapBlocks::default(),
            holders: HolderNumbers::default(),
            types: AccessTypes::default(),
            undecided: UndecidedTypes::default(),
            stacks: Stacks::default(),
            frames: FrameNames::default(),
            chains: CallChains::default(),
            previous: Previous::default(),
            accesses: Bounded::default(),
        }
    }

    /// An answer of a data source by the number of its words.
    #[inline]
    pub(crate) fn access(&mut self, aspect: DataSrcAspect, source: DataSrc) -> KeyValue {
        let places = &mut self.places;
        *self.accesses.or_insert_with((aspect, source), || match source.aspect(aspect) {
            Some(words) => places.texts.key_value(&words),
            None => KeyValue::missing(Missing::NotAvailable),
        })
    }

    /// Type and member of an access that its code tells, in words.
    pub(crate) fn type_and_member(&mut self, typed: &TypedAccess) -> TypeAndMember {
        self.types.type_and_member(typed, &mut self.places)
    }

    /// The type of an access to a block of the heap, as far as it is known by now.
    pub(crate) fn access_in_block(
        &mut self,
        found: Result<TypedAccess, TypeAndMember>,
        place: BlockPlace,
    ) -> BlockAccess {
        self.undecided.access_in_block(found, place, &mut self.types, &mut self.places)
    }

    /// Decides by what was counted so far the types of all accesses that wait for that.
    pub(crate) fn decide_types(&mut self) {
        self.undecided.decide(&mut self.types, &mut self.places);
    }

    /// The number of a block's life as that of the block in words.
    pub(crate) fn named_block(&mut self, life: KeyValue) -> KeyValue {
        let begin = self.heap.begin.unwrap_or_default();
        let text = life.as_name().ok().and_then(|life| self.heap.lives.text(life, begin));
        text.map_or(life, |text| self.places.texts.key_value(&text))
    }

    pub(crate) fn notes(&self) -> impl Iterator<Item = Option<String>> {
        let of_threads = [self.comms.note(), self.places.symbolizer.left_out(), self.heap.note()];
        let told = self.undecided.told_by_blocks(&self.places);
        let of_types = [self.types.note(&told), self.undecided.note()];
        let of_threads = of_threads.into_iter().chain(of_types);
        of_threads.into_iter().chain(self.regions.notes()).chain(self.chains.notes())
    }
}
