//! The value of one key of one sample in 96 bits.

use perfdata::{Tid, Time};
use symbolizer::{ObjectId, Place};

use crate::code::previous::NoAccess;
use crate::name::comms::Comm;

/// What the bits mean is the key's matter; see the constructors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Atom {
    tag: u32,
    value: u64,
}

/// Set in the tag of atoms that say why there is no value.
const LACK: u32 = 1 << 31;
/// The tag of types that wait until all samples are counted.
const UNDECIDED: u32 = LACK | 0x7fff;

/// Why a sample has no value for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Lack {
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

impl Atom {
    /// Until all samples are counted: a type that is decided on then, by number.
    pub(crate) fn undecided(number: u32) -> Atom {
        Atom { tag: UNDECIDED, value: u64::from(number) }
    }

    pub(crate) fn as_undecided(self) -> Option<u32> {
        (self.tag == UNDECIDED).then(|| u32::try_from(self.value).unwrap_or(u32::MAX))
    }

    /// In every column of the row of what was not kept.
    pub(crate) const NOT_KEPT: Atom = Atom { tag: LACK | 11, value: 0 };

    pub(crate) fn number(value: u64) -> Atom {
        Atom { tag: 0, value }
    }

    pub(crate) fn signed(value: i32) -> Atom {
        Atom::number(i64::from(value).cast_unsigned())
    }

    pub(crate) fn place(place: Place) -> Atom {
        // Objects are numbered from 0; 2^31 of them do not fit in memory.
        Atom { tag: place.object.0 & !LACK, value: place.address }
    }

    pub(crate) fn comm(comm: Comm) -> Atom {
        match comm {
            Comm::Named(name) => Atom { tag: 0, value: u64::from(name) },
            Comm::Unnamed(tid) => Atom { tag: 1, value: u64::from(tid.0.cast_unsigned()) },
        }
    }

    pub(crate) fn lack(lack: Lack) -> Atom {
        let (kind, value) = match lack {
            Lack::Ip => (0, 0),
            Lack::Tid => (1, 0),
            Lack::Cpu => (2, 0),
            Lack::Addr => (3, 0),
            Lack::Address => (4, 0),
            Lack::Registers => (5, 0),
            Lack::Register => (6, 0),
            Lack::DataSrc => (7, 0),
            Lack::NotAvailable => (8, 0),
            Lack::Name(reason) => (9, reason),
            Lack::Before(why) => (10, why as u32),
            Lack::NotKept => (11, 0),
            Lack::Time => (12, 0),
            Lack::Region => (13, 0),
            Lack::RegionNotKept => (14, 0),
            Lack::Class => (15, 0),
            Lack::Heap => (16, 0),
            Lack::NoBlock => (17, 0),
            Lack::NoSampledBlock => (18, 0),
        };
        Atom { tag: LACK | kind, value: u64::from(value) }
    }

    pub(crate) fn value(self) -> Result<u64, Lack> {
        if self.tag & LACK == 0 {
            return Ok(self.value);
        }
        Err(match self.tag & !LACK {
            0 => Lack::Ip,
            1 => Lack::Tid,
            2 => Lack::Cpu,
            3 => Lack::Addr,
            4 => Lack::Address,
            5 => Lack::Registers,
            6 => Lack::Register,
            7 => Lack::DataSrc,
            8 => Lack::NotAvailable,
            10 => {
                let index = usize::try_from(self.value).unwrap_or(usize::MAX);
                Lack::Before(NoAccess::ALL.get(index).copied().unwrap_or(NoAccess::NoCode))
            }
            11 => Lack::NotKept,
            12 => Lack::Time,
            13 => Lack::Region,
            14 => Lack::RegionNotKept,
            15 => Lack::Class,
            16 => Lack::Heap,
            17 => Lack::NoBlock,
            18 => Lack::NoSampledBlock,
            _ => Lack::Name(u32::try_from(self.value).unwrap_or(u32::MAX)),
        })
    }

    /// A number that was made from 32 signed bits.
    pub(crate) fn as_signed(self) -> Result<i64, Lack> {
        self.value().map(u64::cast_signed)
    }

    /// A number that was given out by a list of names.
    pub(crate) fn as_name(self) -> Result<u32, Lack> {
        self.value().map(|value| u32::try_from(value).unwrap_or(u32::MAX))
    }

    pub(crate) fn as_place(self) -> Result<Place, Lack> {
        self.value().map(|address| Place { object: ObjectId(self.tag), address })
    }

    pub(crate) fn as_comm(self) -> Result<Comm, Lack> {
        let value = self.as_name()?;
        Ok(match self.tag {
            0 => Comm::Named(value),
            _ => Comm::Unnamed(Tid(value.cast_signed())),
        })
    }
}

/// Where samples without a time are looked up: in the newest of everything.
pub(crate) const TIMELESS: Time = Time(u64::MAX);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_undecided_is_neither_a_name_nor_another_lack() {
        assert_eq!(Atom::undecided(7).as_undecided(), Some(7));
        for other in [Atom::number(7), Atom::lack(Lack::Name(7)), Atom::NOT_KEPT] {
            assert_eq!(other.as_undecided(), None);
            assert_ne!(other, Atom::undecided(7));
        }
    }

    #[test]
    fn atoms_give_back_what_went_in() {
        assert_eq!(Atom::signed(-1).as_signed(), Ok(-1));
        assert_eq!(Atom::number(u64::MAX).value(), Ok(u64::MAX));
        let place = Place { object: ObjectId(7), address: u64::MAX };
        assert_eq!(Atom::place(place).as_place(), Ok(place));
        for comm in [Comm::Named(3), Comm::Unnamed(Tid(-1)), Comm::Unnamed(Tid(5))] {
            assert_eq!(Atom::comm(comm).as_comm(), Ok(comm));
        }
        for lack in [
            Lack::Ip,
            Lack::Tid,
            Lack::Cpu,
            Lack::Addr,
            Lack::Address,
            Lack::Registers,
            Lack::Register,
            Lack::DataSrc,
            Lack::NotAvailable,
            Lack::Name(9),
            Lack::Before(NoAccess::First),
            Lack::Before(NoAccess::Event),
            Lack::NotKept,
            Lack::Time,
            Lack::Region,
            Lack::RegionNotKept,
            Lack::Class,
            Lack::Heap,
            Lack::NoBlock,
            Lack::NoSampledBlock,
        ] {
            assert_eq!(Atom::lack(lack).value(), Err(lack));
            assert_eq!(Atom::lack(lack).as_place(), Err(lack));
        }
    }
}
