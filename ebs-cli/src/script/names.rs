//! Names of the addresses in records, each looked up once.

use super::line::Named;
use analysis::without_parameters;
use record::{CpuMode, Misc, Sample, SampleId, SideRecord};
use rustc_hash::FxHashMap;
use symbolizer::{ObjectId, Place, Resolution, Symbolizer};

/// A symbolizer that remembers the instructions it named. Data addresses
/// are too many to remember.
#[derive(Debug)]
pub(super) struct Names {
    symbolizer: Symbolizer,
    code: FxHashMap<Place, Named>,
}

impl Names {
    /// Nothing is named yet.
    pub(super) fn new(symbolizer: Symbolizer) -> Names {
        Names { symbolizer, code: FxHashMap::default() }
    }

    /// Takes note of a mapping.
    pub(super) fn side(&mut self, misc: Misc, record: &SideRecord<'_>, id: &SampleId) {
        self.symbolizer.side(misc, record, id);
    }

    /// Takes note of the recorded kernel's release.
    pub(super) fn recorded_release(&mut self, release: &str) {
        self.symbolizer.recorded_release(release);
    }

    /// What is at the record's instruction pointer.
    pub(super) fn code(&mut self, sample: &Sample<'_>) -> &Named {
        let place = place(&mut self.symbolizer, sample, sample.misc.cpu_mode(), sample.ip);
        let symbolizer = &mut self.symbolizer;
        self.code.entry(place).or_insert_with(|| name(symbolizer, place))
    }

    /// What is at its data address: the kernel's when its highest bit is
    /// set, whatever mode the record was taken in.
    pub(super) fn data(&mut self, sample: &Sample<'_>) -> Named {
        let kernel = sample.addr.is_some_and(|addr| addr >> 63 == 1);
        let mode = if kernel { CpuMode::Kernel } else { CpuMode::User };
        let place = place(&mut self.symbolizer, sample, mode, sample.addr);
        name(&mut self.symbolizer, place)
    }
}

fn place(
    symbolizer: &mut Symbolizer,
    sample: &Sample<'_>,
    mode: CpuMode,
    address: Option<u64>,
) -> Place {
    let pid = sample.task.map(|task| task.pid).unwrap_or_default();
    symbolizer.place(mode, pid, address.unwrap_or(0), sample.time.unwrap_or_default())
}

/// Spelled as perf spells it.
fn name(symbolizer: &mut Symbolizer, place: Place) -> Named {
    let symbol = match symbolizer.resolve(place) {
        Resolution::Routine(routine) => {
            Some((without_parameters(&routine.name).to_owned(), routine.offset))
        }
        Resolution::Unknown(_) => None,
    };
    let object = match place.object {
        ObjectId::KERNEL => Some("[kernel.kallsyms]".to_owned()),
        ObjectId::UNMAPPED | ObjectId::UNKNOWN_PROCESS => None,
        object => Some(symbolizer.object_name(object).to_owned()),
    };
    Named { symbol, object }
}
