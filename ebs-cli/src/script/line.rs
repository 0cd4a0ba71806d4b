//! One record as a line, column for column as `perf script` prints it.

use super::field::{Field, Fields};
use record::registers::RegsAbi;
use record::sample::Weight;
use record::{Arch, Registers, Sample};
use std::io::Write;

/// What stands at an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Named {
    /// Symbol and bytes from its start; None prints `[unknown]`.
    pub(super) symbol: Option<(String, u64)>,
    /// Object; None prints `[unknown]`.
    pub(super) object: Option<String>,
}

/// A record with the names of what its addresses point to.
#[derive(Clone, Debug)]
pub(super) struct Line<'a> {
    /// The record.
    pub(super) sample: &'a Sample<'a>,
    /// Command name of its thread; None prints `:TID`.
    pub(super) comm: Option<&'a [u8]>,
    /// Name of its event.
    pub(super) event: &'a str,
    /// Width of the longest name of an event in this recording.
    pub(super) event_width: usize,
    /// At the instruction pointer.
    pub(super) ip: Option<&'a Named>,
    /// At the data address; None prints nothing.
    pub(super) addr: Option<&'a Named>,
    /// Names of the registers.
    pub(super) arch: Arch,
}

impl Line<'_> {
    /// Appends the line and its end.
    pub(super) fn write(&self, fields: Fields, out: &mut Vec<u8>) {
        // Writing to a vector cannot fail.
        let _ = self.try_write(fields, out);
    }

    fn try_write(&self, fields: Fields, out: &mut Vec<u8>) -> std::io::Result<()> {
        self.write_task(fields, out)?;
        let sample = self.sample;
        if let (true, Some(cpu)) = (fields.has(Field::Cpu), sample.cpu) {
            write!(out, "[{:03}] ", cpu.0)?;
        }
        if let (true, Some(time)) = (fields.has(Field::Time), sample.time) {
            let (seconds, rest) = (time.0 / 1_000_000_000, time.0 % 1_000_000_000);
            write!(out, "{seconds:5}.{:06}: ", rest / 1000)?;
        }
        if let (true, Some(period)) = (fields.has(Field::Period), sample.period) {
            write!(out, "{period:10} ")?;
        }
        if fields.has(Field::Event) {
            out.resize(out.len() + self.event_width.saturating_sub(self.event.len()), b' ');
            clean(self.event.as_bytes(), out);
            out.extend(b": ");
        }
        if let (true, Some(addr)) = (fields.has(Field::Addr), sample.addr) {
            write!(out, "{addr:16x}")?;
            if let Some(named) = self.addr {
                write_names(Some(named), fields, out)?;
            }
        }
        if let (true, Some(source)) = (fields.has(Field::DataSrc), sample.data_src) {
            write!(out, " {:16x}", source.0)?;
        }
        if let (true, Some(weight)) = (fields.has(Field::Weight), sample.weight) {
            let weight = match weight {
                Weight::Full(weight) => weight,
                Weight::Struct { var1, .. } => u64::from(var1),
            };
            write!(out, " {weight:16}")?;
        }
        if let (true, Some(ip)) = (fields.has(Field::Ip), sample.ip) {
            write!(out, " {ip:16x}")?;
            write_names(self.ip, fields, out)?;
        }
        if let (true, Some(registers)) = (fields.has(Field::Iregs), &sample.regs_intr) {
            write_registers(registers, self.arch, out)?;
        }
        if let (true, Some(physical)) = (fields.has(Field::PhysAddr), sample.phys_addr) {
            write!(out, " {physical:16x}")?;
        }
        out.push(b'\n');
        Ok(())
    }

    fn write_task(&self, fields: Fields, out: &mut Vec<u8>) -> std::io::Result<()> {
        let task = self.sample.task;
        if fields.has(Field::Comm) {
            let unnamed;
            let comm = match (self.comm, task) {
                (Some(comm), _) => comm,
                (None, Some(task)) => {
                    unnamed = format!(":{}", task.tid);
                    unnamed.as_bytes()
                }
                (None, None) => b":-1",
            };
            out.resize(out.len() + 16_usize.saturating_sub(comm.len()), b' ');
            clean(comm, out);
            out.push(b' ');
        }
        let Some(task) = task else {
            return Ok(());
        };
        match (fields.has(Field::Pid), fields.has(Field::Tid)) {
            (true, true) => write!(out, "{:5}/{:<5} ", task.pid.0, task.tid.0),
            (true, false) => write!(out, "{:5} ", task.pid.0),
            (false, true) => write!(out, "{:5} ", task.tid.0),
            (false, false) => Ok(()),
        }
    }
}

fn write_names(named: Option<&Named>, fields: Fields, out: &mut Vec<u8>) -> std::io::Result<()> {
    if fields.has(Field::Sym) {
        match named.and_then(|named| named.symbol.as_ref()) {
            Some((name, offset)) => {
                out.push(b' ');
                clean(name.as_bytes(), out);
                if fields.has(Field::Symoff) {
                    write!(out, "+{offset:#x}")?;
                }
            }
            None => write!(out, " [unknown]")?,
        }
    }
    if fields.has(Field::Dso) {
        let object = named.and_then(|named| named.object.as_deref());
        out.extend(b" (");
        clean(object.unwrap_or("[unknown]").as_bytes(), out);
        out.push(b')');
    }
    Ok(())
}

/// Appends a name, which neither ends a line nor commands the terminal:
/// `?` stands for each control character. Other bytes stay as they are.
fn clean(name: &[u8], out: &mut Vec<u8>) {
    if name.iter().all(|byte| (b' '..=b'~').contains(byte)) {
        return out.extend(name);
    }
    for chunk in name.utf8_chunks() {
        let mut bytes = [0; 4];
        for character in chunk.valid().chars() {
            let shown = if character.is_control() { '?' } else { character };
            out.extend(shown.encode_utf8(&mut bytes).as_bytes());
        }
        out.extend(chunk.invalid());
    }
}

/// Nothing for a task that has no registers.
fn write_registers(
    registers: &Registers<'_>,
    arch: Arch,
    out: &mut Vec<u8>,
) -> std::io::Result<()> {
    let abi = match registers.abi {
        RegsAbi::None => return Ok(()),
        RegsAbi::Bits32 => 1,
        RegsAbi::Bits64 => 2,
    };
    write!(out, " ABI:{abi} ")?;
    for bit in 0..64 {
        if let Some(value) = registers.get(bit) {
            match record::registers::name(arch, bit) {
                Some(name) => write!(out, "{:>5}:{value:#x} ", name.to_ascii_uppercase())?,
                None => write!(out, "{:>5}:{value:#x} ", format!("R#{bit}"))?,
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
