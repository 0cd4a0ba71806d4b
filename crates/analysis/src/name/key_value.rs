//! The value of one key of one sample in 96 bits.

use perfdata::{Tid, Time};
use symbolizer::{ObjectId, Place};

use crate::code::previous::NoAccess;
use crate::name::comms::Comm;
use crate::name::names::NumberedNames;

/// What the bits mean is the key's matter; see the constructors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct KeyValue {
    tag: u32,
    value: u64,
}

/// Set in the tag of values that say why there is no value.
const LACK: u32 = 1 << 31;
/// The tag of types that wait until all samples are counted.
const UNDECIDED: u32 = LACK | 0x7fff;

/// Why a sample has no value for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Missing {
    /// The event has no PERF_SAMPLE_IP.
    Ip,
    /// No PERF_SAMPLE_TID.
    Tid,
    /// No PERF_SAMPLE_CPU.
    Cpu,
    /// No PERF_SAMPLE_TIME.
    Time,
    /// No PERF_SAMPLE_ADDR.
    Addr,
    /// The event gave address 0 and cannot mean it.
    Address,
    /// The task had no registers to sample.
    Registers,
    /// The register was not asked for when recording.
    Register,
    /// No PERF_SAMPLE_DATA_SRC.
    DataSrc,
    /// The machine does not say.
    NotAvailable,
    /// The access before the sample cannot be worked out.
    Before(NoAccess),
    /// The thread was in no region that the program names.
    Region,
    /// It is not known any more in which.
    RegionNotKept,
    /// The recording does not tell blocks of the heap.
    Heap,
    /// The address is in no block of the heap.
    NoBlock,
    /// The same, where some blocks alone were told.
    NoSampledBlock,
    /// The emulation was not told to classify misses, or did not this one.
    Class,
    NotKept,
    /// No routine; the number of the reason among the names.
    Name(u32),
}

impl KeyValue {
    /// Until all samples are counted: a type that is decided on then, by number.
    pub(crate) fn undecided(number: u32) -> KeyValue {
        KeyValue { tag: UNDECIDED, value: u64::from(number) }
    }

    pub(crate) fn as_undecided(self) -> Option<u32> {
        (self.tag == UNDECIDED).then(|| u32::try_from(self.value).unwrap_or(u32::MAX))
    }

    /// In every column of the row of what was not kept.
    pub(crate) const NOT_KEPT: KeyValue = KeyValue { tag: LACK | 11, value: 0 };

    pub(crate) fn number(value: u64) -> KeyValue {
        KeyValue { tag: 0, value }
    }

    pub(crate) fn signed(value: i32) -> KeyValue {
        KeyValue::number(i64::from(value).cast_unsigned())
    }

    pub(crate) fn place(place: Place) -> KeyValue {
        // Objects are numbered from 0; 2^31 of them do not fit in memory.
        KeyValue { tag: place.object.0 & !LACK, value: place.address }
    }

    pub(crate) fn comm(comm: Comm) -> KeyValue {
        match comm {
            Comm::Named(name) => KeyValue { tag: 0, value: u64::from(name) },
            Comm::Unnamed(tid) => KeyValue { tag: 1, value: u64::from(tid.0.cast_unsigned()) },
        }
    }

    pub(crate) fn missing(lack: Missing) -> KeyValue {
        let (kind, value) = match lack {
            Missing::Ip => (0, 0),
            Missing::Tid => (1, 0),
            Missing::Cpu => (2, 0),
            Missing::Addr => (3, 0),
            Missing::Address => (4, 0),
            Missing::Registers => (5, 0),
            Missing::Register => (6, 0),
            Missing::DataSrc => (7, 0),
            Missing::NotAvailable => (8, 0),
            Missing::Name(reason) => (9, reason),
            Missing::Before(why) => (10, why as u32),
            Missing::NotKept => (11, 0),
            Missing::Time => (12, 0),
            Missing::Region => (13, 0),
            Missing::RegionNotKept => (14, 0),
            Missing::Class => (15, 0),
            Missing::Heap => (16, 0),
            Missing::NoBlock => (17, 0),
            Missing::NoSampledBlock => (18, 0),
        };
        KeyValue { tag: LACK | kind, value: u64::from(value) }
    }

    pub(crate) fn value(self) -> Result<u64, Missing> {
        if self.tag & LACK == 0 {
            return Ok(self.value);
        }
        Err(match self.tag & !LACK {
            0 => Missing::Ip,
            1 => Missing::Tid,
            2 => Missing::Cpu,
            3 => Missing::Addr,
            4 => Missing::Address,
            5 => Missing::Registers,
            6 => Missing::Register,
            7 => Missing::DataSrc,
            8 => Missing::NotAvailable,
            10 => {
                let index = usize::try_from(self.value).unwrap_or(usize::MAX);
                Missing::Before(NoAccess::ALL.get(index).copied().unwrap_or(NoAccess::NoCode))
            }
            11 => Missing::NotKept,
            12 => Missing::Time,
            13 => Missing::Region,
            14 => Missing::RegionNotKept,
            15 => Missing::Class,
            16 => Missing::Heap,
            17 => Missing::NoBlock,
            18 => Missing::NoSampledBlock,
            _ => Missing::Name(u32::try_from(self.value).unwrap_or(u32::MAX)),
        })
    }

    /// A number that was made from 32 signed bits.
    pub(crate) fn as_signed(self) -> Result<i64, Missing> {
        self.value().map(u64::cast_signed)
    }

    /// A number that was given out by a list of names.
    pub(crate) fn as_name(self) -> Result<u32, Missing> {
        self.value().map(|value| u32::try_from(value).unwrap_or(u32::MAX))
    }

    pub(crate) fn as_place(self) -> Result<Place, Missing> {
        self.value().map(|address| Place { object: ObjectId(self.tag), address })
    }

    pub(crate) fn as_comm(self) -> Result<Comm, Missing> {
        let value = self.as_name()?;
        Ok(match self.tag {
            0 => Comm::Named(value),
            _ => Comm::Unnamed(Tid(value.cast_signed())),
        })
    }
}

/// Where samples without a time are looked up: in the newest of everything.
pub(crate) const TIMELESS: Time = Time(u64::MAX);

impl NumberedNames {
    /// A text by its number.
    pub(crate) fn key_value(&mut self, text: &str) -> KeyValue {
        KeyValue::number(u64::from(self.number(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_undecided_is_neither_a_name_nor_another_lack() {
        assert_eq!(KeyValue::undecided(7).as_undecided(), Some(7));
        for other in [KeyValue::number(7), KeyValue::missing(Missing::Name(7)), KeyValue::NOT_KEPT]
        {
            assert_eq!(other.as_undecided(), None);
            assert_ne!(other, KeyValue::undecided(7));
        }
    }

    #[test]
    fn atoms_give_back_what_went_in() {
        assert_eq!(KeyValue::signed(-1).as_signed(), Ok(-1));
        assert_eq!(KeyValue::number(u64::MAX).value(), Ok(u64::MAX));
        let place = Place { object: ObjectId(7), address: u64::MAX };
        assert_eq!(KeyValue::place(place).as_place(), Ok(place));
        for comm in [Comm::Named(3), Comm::Unnamed(Tid(-1)), Comm::Unnamed(Tid(5))] {
            assert_eq!(KeyValue::comm(comm).as_comm(), Ok(comm));
        }
        for lack in [
            Missing::Ip,
            Missing::Tid,
            Missing::Cpu,
            Missing::Addr,
            Missing::Address,
            Missing::Registers,
            Missing::Register,
            Missing::DataSrc,
            Missing::NotAvailable,
            Missing::Name(9),
            Missing::Before(NoAccess::First),
            Missing::Before(NoAccess::Event),
            Missing::NotKept,
            Missing::Time,
            Missing::Region,
            Missing::RegionNotKept,
            Missing::Class,
            Missing::Heap,
            Missing::NoBlock,
            Missing::NoSampledBlock,
        ] {
            assert_eq!(KeyValue::missing(lack).value(), Err(lack));
            assert_eq!(KeyValue::missing(lack).as_place(), Err(lack));
        }
    }
}
