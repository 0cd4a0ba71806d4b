//! Any bytes as /proc/PID/maps: lines must be taken or refused as a slow
//! reader of words does, come back the same from the text that the kernel
//! would print, and place every address in the last mapping that covers it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use perfdata::{CpuMode, Pid, Time};
use symbolizer::{
    KernelSource, MapsEntry, ObjectId, Resolution, Symbolizer, SymbolizerOptions, parse_maps,
};

fn hex(digits: &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for &byte in digits {
        number = number << 4 | u64::from(char::from(byte).to_digit(16)?);
    }
    (1..=16).contains(&digits.len()).then_some(number)
}

fn pair(text: &[u8], delimiter: u8) -> Option<(u64, u64)> {
    let at = text.iter().position(|&byte| byte == delimiter)?;
    Some((hex(&text[..at])?, hex(&text[at + 1..])?))
}

fn slow(line: &[u8]) -> Option<MapsEntry<'_>> {
    let words: Vec<&[u8]> = line.splitn(6, |&byte| byte == b' ').collect();
    let [range, permissions, offset, device, inode, ref path @ ..] = words[..] else { return None };
    let (start, end) = pair(range, b'-').filter(|(start, end)| start < end)?;
    let permissions: [u8; 4] = permissions.try_into().ok()?;
    let letters = [b"r-", b"w-", b"x-", b"ps"];
    let known = permissions.iter().zip(letters).all(|(letter, any)| any.contains(letter));
    let (major, minor) = pair(device, b':')?;
    let digits = !inode.is_empty() && inode.iter().all(u8::is_ascii_digit);
    let inode = digits.then(|| std::str::from_utf8(inode).expect("digits").parse().ok())??;
    let path = path.first().copied().unwrap_or_default();
    let blanks = path.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    known.then_some(MapsEntry {
        start,
        end,
        permissions,
        offset: hex(offset)?,
        device: (u32::try_from(major).ok()?, u32::try_from(minor).ok()?),
        inode,
        path: &path[blanks..],
    })
}

/// As `show_map_vma` prints it.
fn print(entry: &MapsEntry<'_>, text: &mut Vec<u8>) {
    let MapsEntry { start, end, permissions, offset, device: (major, minor), inode, path } = entry;
    let from = text.len();
    let permissions = std::str::from_utf8(permissions).expect("ASCII");
    let line = format!(
        "{start:08x}-{end:08x} {permissions} {offset:08x} {major:02x}:{minor:02x} {inode} "
    );
    text.extend_from_slice(line.as_bytes());
    if !path.is_empty() {
        text.resize(text.len().max(from + 73), b' ');
        text.extend_from_slice(path);
    }
    text.push(b'\n');
}

/// What the object of a mapping is called, and whether places in it count
/// from the start of the file.
fn shown(path: &[u8]) -> (String, bool) {
    let memory = ["//", "/memfd:", "/dev/zero", "/SYSV", "/anon_hugepage", "/[aio]"];
    let memory = memory.iter().any(|start| path.starts_with(start.as_bytes()));
    let file = path.starts_with(b"/") && !memory;
    let name = match path {
        b"" => b"//anon",
        _ if file => path.strip_suffix(b" (deleted)").unwrap_or(path),
        _ => path,
    };
    (String::from_utf8_lossy(name).into_owned(), file || path == b"[vdso]")
}

/// The place of every edge, with no file system to look at.
fn place(entries: &[MapsEntry<'_>]) {
    let root = "/nonexistent/fuzz".into();
    let debug_directories = Vec::new();
    let options = SymbolizerOptions {
        root,
        kernel: KernelSource::None,
        debug_directories,
        ..SymbolizerOptions::default()
    };
    let mut symbolizer = Symbolizer::new(options);
    symbolizer.maps(Pid(1), entries, Time(0));
    let edges = entries
        .iter()
        .flat_map(|entry| [entry.start.wrapping_sub(1), entry.start, entry.end - 1, entry.end]);
    for address in edges {
        let place = symbolizer.place(CpuMode::User, Pid(1), address, Time(1));
        let again = symbolizer.place(CpuMode::User, Pid(1), address, Time(1));
        assert_eq!(place, again);
        let over = |entry: &&MapsEntry| (entry.start..entry.end).contains(&address);
        let entry = entries.iter().rfind(over);
        place_data(&mut symbolizer, address, entry);
        let Some(entry) = entry else {
            assert_eq!(place.object, ObjectId::UNMAPPED, "{address:#x}");
            continue;
        };
        let (name, counts_from_file) = shown(entry.path);
        assert_eq!(symbolizer.object_name(place.object), name, "{address:#x}");
        let expected = match counts_from_file {
            true => address.wrapping_sub(entry.start).wrapping_add(entry.offset),
            false => address,
        };
        assert_eq!(place.address, expected, "{address:#x}");
    }
}

/// The same of data: addresses of the upper half are the kernel's, of the
/// vdso's data nothing counts from its start, and those in memory with a
/// number of its own (memfd) may count from there.
fn place_data(symbolizer: &mut Symbolizer, address: u64, entry: Option<&MapsEntry<'_>>) {
    let place = symbolizer.data_place(CpuMode::Kernel, Pid(1), address, Time(1));
    assert_eq!(place, symbolizer.data_place(CpuMode::User, Pid(1), address, Time(1)));
    let resolution = symbolizer.resolve_data(place);
    assert!(matches!(resolution, Resolution::Unknown(_)), "{address:#x}: {resolution:?}");
    let expected = match entry {
        _ if address >> 63 == 1 => (ObjectId::KERNEL, address),
        None => (ObjectId::UNMAPPED, address),
        Some(entry) => {
            let (name, counts_from_file) = shown(entry.path);
            assert_eq!(symbolizer.object_name(place.object), name, "{address:#x}");
            let from_file = address.wrapping_sub(entry.start).wrapping_add(entry.offset);
            let is_file = counts_from_file && entry.path != b"[vdso]";
            let may_count = is_file || entry.path.starts_with(b"/memfd:");
            let counts = is_file || (may_count && place.address == from_file);
            (place.object, if counts { from_file } else { address })
        }
    };
    assert_eq!((place.object, place.address), expected, "{address:#x}");
}

fuzz_target!(|input: &[u8]| {
    let lines =
        input.split(|&byte| byte == b'\n').map(|line| (!line.is_empty()).then(|| slow(line)));
    let lines: Vec<_> = lines.collect();
    let wrong = lines.iter().position(|line| *line == Some(None));
    let entries = match parse_maps(input) {
        Ok(entries) => entries,
        Err(error) => {
            assert_eq!(Some(error.line), wrong.map(|index| index + 1));
            return assert!(error.to_string().contains(&format!("line {}", error.line)));
        }
    };
    assert_eq!(wrong, None);
    assert_eq!(entries, lines.into_iter().flatten().flatten().collect::<Vec<_>>());

    let mut text = Vec::new();
    entries.iter().for_each(|entry| print(entry, &mut text));
    assert_eq!(parse_maps(&text).as_ref(), Ok(&entries));

    place(&entries);
});
