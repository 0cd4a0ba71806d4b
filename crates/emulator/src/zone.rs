//! A range of the code cache near some of the program's code.

use crate::translate::{
    Assembler, BlockMark, ColdMark, InstructionPhase, Location, MarkPhase, StateMark, Stubs, stop,
    write_entry,
};

pub(crate) const MEMORY_NAME: &str = "hardmeter";
/// Its path in the target's /proc/PID/maps.
pub const MEMORY_PATH: &str = "/memfd:hardmeter (deleted)";

/// Memory of a zone as the tracer has it mapped.
pub type ZoneMemory = Box<dyn AsMut<[u8]> + Send>;

/// Registers that scratch work takes first, as a mark holds them.
const RAX_AND_RCX: u16 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneId(pub usize);

pub(crate) struct Zone {
    pub(crate) base: u64,
    memory: ZoneMemory,
    size: u64,
    pub(crate) stubs: Stubs,
    /// Offsets where code in line and code out of line goes next.
    pub(crate) hot: u64,
    pub(crate) cold: u64,
    split: u64,
    pub(crate) blocks: Vec<BlockMark>,
    pub(crate) marks: Vec<StateMark>,
    pub(crate) colds: Vec<ColdMark>,
}

impl std::fmt::Debug for Zone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Zone({:#x}, {:#x} bytes)", self.base, self.size)
    }
}

impl Zone {
    /// A zone over memory that is mapped at `base` in the target; stubs are
    /// written by the caller.
    pub(crate) fn new(base: u64, mut memory: ZoneMemory) -> Zone {
        let size = memory.as_mut().as_mut().len() as u64;
        let split = (size / 2) & !63;
        Zone {
            base,
            memory,
            size,
            stubs: Stubs::default(),
            hot: 0,
            cold: split,
            split,
            blocks: Vec::new(),
            marks: Vec::new(),
            colds: Vec::new(),
        }
    }

    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        self.memory.as_mut().as_mut()
    }

    pub(crate) fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.base) < self.size
    }

    /// Whether 32 bits reach from all of the zone to `address`.
    pub(crate) fn reaches(&self, address: u64) -> bool {
        let margin = 1 << 20;
        let limit = (1 << 31) - margin;
        address.abs_diff(self.base) < limit && address.abs_diff(self.base + self.size) < limit
    }

    pub(crate) fn write(&mut self, address: u64, bytes: &[u8]) {
        let Ok(at) = usize::try_from(address.wrapping_sub(self.base)) else { return };
        if let Some(to) = self.bytes().get_mut(at..at + bytes.len()) {
            to.copy_from_slice(bytes);
        }
    }

    /// `count` bytes at an address, fewer at the end.
    pub(crate) fn read(&mut self, address: u64, count: usize) -> &[u8] {
        let Ok(at) = usize::try_from(address.wrapping_sub(self.base)) else { return &[] };
        let bytes = self.bytes();
        let end = (at + count).min(bytes.len());
        bytes.get(at..end).unwrap_or_default()
    }

    pub(crate) fn has_room(&self, hot: u64, cold: u64) -> bool {
        self.hot + hot <= self.split && self.cold + cold <= self.size
    }

    pub(crate) fn append(&mut self, hot: &Assembler, cold: &Assembler) {
        self.write(hot.base, &hot.bytes);
        self.write(cold.base, &cold.bytes);
        self.hot += hot.bytes.len() as u64;
        self.cold += cold.bytes.len() as u64;
    }

    pub(crate) fn append_cold(&mut self, cold: &Assembler) {
        self.write(cold.base, &cold.bytes);
        self.cold += cold.bytes.len() as u64;
    }

    /// Code out of line by which indirect branches enter a block at `host`.
    pub(crate) fn add_entry(&mut self, pc: u64, host: u64) -> u64 {
        let mut code = Assembler::default();
        code.restart(self.base + self.cold);
        write_entry(&mut code, pc, self.stubs.miss);
        code.jump(host);
        stop::write(&mut code, stop::DIRECT, pc, 0);
        self.colds.push(ColdMark {
            start: u32::try_from(self.cold).unwrap_or(u32::MAX),
            site: u16::try_from(code.bytes.len() - 16).unwrap_or(0),
            saved: 0,
            is_site: false,
            held: RAX_AND_RCX,
            phase: MarkPhase::Branching,
        });
        let entry = code.base;
        self.append_cold(&code);
        entry
    }

    pub(crate) fn used(&self) -> u64 {
        self.hot + self.cold - self.split
    }

    pub(crate) fn clear(&mut self) {
        self.hot = self.stubs.end - self.base;
        self.cold = self.split;
        self.blocks.clear();
        self.marks.clear();
        self.colds.clear();
    }

    pub(crate) fn locate(&mut self, address: u64) -> Option<Location> {
        let offset = address.checked_sub(self.base)?;
        if address < self.stubs.end {
            return Some(self.locate_stub(address));
        }
        let offset = u32::try_from(offset).ok()?;
        if u64::from(offset) < self.split {
            self.locate_hot(offset)
        } else {
            self.locate_cold(offset)
        }
    }

    fn locate_stub(&self, address: u64) -> Location {
        let stubs = &self.stubs;
        let (phase, held) = if address < stubs.entered {
            (InstructionPhase::Checked, RAX_AND_RCX)
        } else if address < stubs.miss {
            (InstructionPhase::Runtime, 0)
        } else if address < stubs.missed {
            (InstructionPhase::Branching, RAX_AND_RCX)
        } else if address < stubs.turn {
            (InstructionPhase::Runtime, 0)
        } else if address < stubs.turned {
            (InstructionPhase::Branching, RAX_AND_RCX)
        } else if address < stubs.tail {
            (InstructionPhase::Runtime, 0)
        } else {
            (InstructionPhase::Branching, RAX_AND_RCX)
        };
        Location { ip: 0, next: 0, held, phase, part: false }
    }

    fn locate_hot(&self, offset: u32) -> Option<Location> {
        let after = self.blocks.partition_point(|block| block.start <= offset);
        let block = self.blocks.get(after.checked_sub(1)?)?;
        let end = self.blocks.get(after).map_or(self.marks.len(), |next| next.marks as usize);
        let (ip, phase) = (block.ip, InstructionPhase::Before);
        let mut location = Location { ip, next: ip, held: 0, phase, part: false };
        let mut position = block.start;
        for mark in self.marks.get(block.marks as usize..end)? {
            position += u32::from(mark.delta);
            if position > offset {
                break;
            }
            if mark.length > 0 {
                location.ip = location.next;
                location.next = location.ip + u64::from(mark.length);
            }
            location.held = mark.held;
            location.phase = mark.phase.phase();
            location.part = mark.phase == MarkPhase::Part;
        }
        Some(location)
    }

    fn locate_cold(&mut self, offset: u32) -> Option<Location> {
        let after = self.colds.partition_point(|cold| cold.start <= offset);
        let cold = *self.colds.get(after.checked_sub(1)?)?;
        let at = self.base + u64::from(cold.start) + u64::from(cold.site);
        let mut held = cold.held;
        if offset - cold.start >= u32::from(cold.saved) && cold.saved > 0 {
            held |= RAX_AND_RCX;
        }
        if cold.is_site {
            let site = self.read(at, 40);
            let ip = u64::from_le_bytes(*site.first_chunk()?);
            let length = *site.get(23)?;
            // The target could have written there.
            let next = ip.wrapping_add(u64::from(length));
            return Some(Location { ip, next, held, phase: cold.phase.phase(), part: false });
        }
        let (ip, next) = stop::address(self.read(at, 16))?;
        Some(Location { ip, next, held, phase: cold.phase.phase(), part: false })
    }
}
