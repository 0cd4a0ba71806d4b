//! Whether a breakpoint's address is where its program will be. `nm` tells
//! addresses in the file; a position-independent program is loaded elsewhere.

use std::fs::File;
use std::path::Path;

use perfdata::Pid;

use crate::machine::program_headers::{HEADERS, INTERPRETER, LOAD, ProgramHeaders, word};
use crate::request::event_spec::{
    Breakpoint, BreakpointLocation, NamedBreakpoint, RequestedEvent, WatchedAccess,
};
use crate::{Request, Target};

/// Where the kernel puts x86-64 programs that it does not move at random:
/// two thirds of 47 bits (ELF_ET_DYN_BASE, arch/x86/include/asm/elf.h).
const UNMOVED: u64 = ((1 << 47) - PAGE) / 3 * 2;
const PAGE: u64 = 4096;
/// ADDR_NO_RANDOMIZE [personality(2)].
const NOT_RANDOM: u32 = 0x0004_0000;
/// Where a process has its program headers [getauxval(3)].
const AT_PHDR: u64 = 3;

/// What the user should know who watches an address of a file instead of one
/// of the process; None: it is none, or that cannot be told. `command` is
/// the file that the target will execute, `root` holds `proc`.
pub fn misplaced(request: &Request, command: Option<&Path>, root: &Path) -> Option<String> {
    request.each().find_map(|one| {
        let Ok(RequestedEvent::Breakpoint(point)) = one.event.event() else { return None };
        match one.target {
            Target::Command => of_command(point, command?, root),
            Target::Process(pid) => of_process(point, pid, root),
            Target::System | Target::Cgroup => None,
        }
    })
}

fn of_command(point: &Breakpoint, file: &Path, root: &Path) -> Option<String> {
    let headers = movable(point, &File::open(file).ok()?)?;
    let said = explain_file_address(point, &file.display().to_string());
    let there = unmoved(&headers).and_then(|bias| moved(point, bias));
    let there = match (there, is_random(root)) {
        (Some(there), false) => format!(", or -t {there}, where it will be"),
        (Some(there), true) => format!(", or put `setarch -R` before ebs and say -t {there}"),
        (None, _) => String::new(),
    };
    let named = in_file(point, file);
    Some(format!("{said}: say -t {named}, and ebs looks where that is{there}"))
}

fn in_file(point: &Breakpoint, file: &Path) -> NamedBreakpoint {
    NamedBreakpoint {
        spot: BreakpointLocation::FileAddress(point.address),
        object: file.file_name().map(|name| name.to_string_lossy().into_owned()),
        len: (point.access != WatchedAccess::Execute).then_some(point.len),
        access: point.access,
    }
}

fn of_process(point: &Breakpoint, pid: Pid, root: &Path) -> Option<String> {
    let directory = root.join(format!("proc/{pid}"));
    let headers = movable(point, &File::open(directory.join("exe")).ok()?)?;
    let maps = std::fs::read(directory.join("maps")).ok()?;
    if is_mapped(point.address, &String::from_utf8_lossy(&maps))? {
        return None;
    }
    let file = std::fs::read_link(directory.join("exe")).ok()?;
    let said = explain_file_address(point, &file.display().to_string());
    let bias = loaded(&headers, &std::fs::read(directory.join("auxv")).ok()?)?;
    let there = moved(point, bias)?;
    Some(format!("{said}; in process {pid} it is at -t {there}"))
}

fn explain_file_address(point: &Breakpoint, file: &str) -> String {
    format!(
        "{point}: {:#x} is an address in the file {file}, which is position-independent: nothing \
         is there when it runs",
        point.address
    )
}

/// The file's headers, if it is loaded anywhere and has the address.
fn movable(point: &Breakpoint, file: &File) -> Option<ProgramHeaders> {
    let headers = ProgramHeaders::read(file).filter(|headers| headers.is_movable)?;
    headers.span()?.contains(&point.address).then_some(headers)
}

fn moved(point: &Breakpoint, bias: u64) -> Option<Breakpoint> {
    Some(Breakpoint { address: point.address.checked_add(bias)?, ..point.clone() })
}

/// What is added to addresses of a file that is not moved at random
/// (load_elf_binary(), fs/binfmt_elf.c); None where that is not known.
fn unmoved(headers: &ProgramHeaders) -> Option<u64> {
    let known = cfg!(target_arch = "x86_64") && headers.is_wide;
    if !known || headers.of(INTERPRETER).next().is_none() {
        return None;
    }
    let alignments = headers.of(LOAD).map(|segment| segment.alignment);
    let alignment = alignments.filter(|it| it.is_power_of_two()).max().unwrap_or(1);
    let first = headers.of(LOAD).next()?.address;
    let base = UNMOVED & !(alignment - 1);
    Some(base.checked_sub(first)? & !(PAGE - 1))
}

fn is_random(root: &Path) -> bool {
    let text = |file: &str| std::fs::read_to_string(root.join(file)).unwrap_or_default();
    let own = u32::from_str_radix(text("proc/self/personality").trim(), 16).unwrap_or(0);
    own & NOT_RANDOM == 0 && text("proc/sys/kernel/randomize_va_space").trim() != "0"
}

/// What was added to addresses of a file, by where its headers are now.
fn loaded(headers: &ProgramHeaders, auxv: &[u8]) -> Option<u64> {
    let width = if headers.is_wide { 8 } else { 4 };
    let word = |at| word(auxv, at, headers.is_wide, headers.order);
    let entries = (0..auxv.len() / width / 2).map(|index| 2 * width * index);
    let found = entries.filter(|at| word(*at) == Some(AT_PHDR)).find_map(|at| word(at + width));
    found?.checked_sub(headers.of(HEADERS).next()?.address)
}

/// Whether a mapping has the address; None: these are no mappings.
fn is_mapped(address: u64, maps: &str) -> Option<bool> {
    let mut any = None;
    for line in maps.lines() {
        let (start, rest) = line.split_once('-')?;
        let end = rest.split(' ').next()?;
        let number = |word| u64::from_str_radix(word, 16).ok();
        let is_here = (number(start)?..number(end)?).contains(&address);
        any = Some(any == Some(true) || is_here);
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Modes;
    use crate::machine::program_headers::ProgramHeader;
    use perfdata::ByteOrder;

    fn headers(alignment: u64) -> ProgramHeaders {
        let segment = |kind, address| ProgramHeader {
            kind,
            offset: 0,
            address,
            file_size: 0x1000,
            memory_size: 0x1000,
            alignment,
        };
        ProgramHeaders {
            order: ByteOrder::Little,
            is_wide: true,
            is_movable: true,
            segments: vec![
                segment(HEADERS, 0x40),
                segment(INTERPRETER, 0x318),
                segment(LOAD, 0),
                segment(LOAD, 0x4000),
            ],
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn programs_that_are_not_moved_lie_where_the_kernel_puts_them() {
        assert_eq!(unmoved(&headers(0x1000)), Some(0x5555_5555_4000));
        assert_eq!(unmoved(&headers(0x20_0000)), Some(0x5555_5540_0000));
        let alone = headers(1);
        let segments = alone.of(LOAD).copied().collect();
        assert_eq!(unmoved(&ProgramHeaders { segments, ..alone }), None, "as a loader is");
    }

    #[test]
    fn a_running_program_is_found_by_its_headers() {
        let auxv = [33_u64, 7, AT_PHDR, 0x7000_0040, 0, 0].map(u64::to_le_bytes).concat();
        assert_eq!(loaded(&headers(1), &auxv), Some(0x7000_0000));
        assert_eq!(loaded(&headers(1), &auxv[..16]), None);
        let maps = "1000-2000 r--p 0 0:0 0\n4000-5000 rw-p 0 0:0 0 /a-b c\n";
        for (address, mapped) in [(0x1000, true), (0x2000, false), (0x4fff, true), (0, false)] {
            assert_eq!(is_mapped(address, maps), Some(mapped), "{address:#x}");
        }
        assert_eq!(is_mapped(0, ""), None);
    }

    #[test]
    fn this_program_is_told_where_its_variables_are() {
        static HERE: u64 = 7;
        let there = std::ptr::from_ref(&HERE).addr() as u64;
        let auxv = std::fs::read("/proc/self/auxv").unwrap();
        let own = ProgramHeaders::read(&File::open("/proc/self/exe").unwrap()).unwrap();
        let in_file = there - loaded(&own, &auxv).unwrap();
        let pid = Pid(std::process::id().cast_signed());
        let said = |address: u64| {
            let event = format!("mem:{address:#x}/8:w");
            let request = Request::new(event.as_str(), Modes::USER, Target::Process(pid));
            misplaced(&request, None, Path::new("/"))
        };
        assert_eq!(said(there), None);
        let told = said(in_file).unwrap();
        assert!(told.ends_with(&format!("it is at -t mem:{there:#x}/8:w")), "{told}");
        assert_eq!(said(own.span().unwrap().end.next_multiple_of(8)), None, "not in the file");
    }
}
