//! /proc/PID/maps, live or saved.

use memchr::memchr;

/// A line of /proc/PID/maps (proc_pid_maps(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapsEntry<'a> {
    /// First address.
    pub start: u64,
    /// First address beyond; above `start`.
    pub end: u64,
    /// `r`, `w`, `x`, `p` or `s`, `-` where not.
    pub permissions: [u8; 4],
    /// Offset in the file, bytes.
    pub offset: u64,
    /// Device, major and minor.
    pub device: (u32, u32),
    /// Inode, 0 for memory without a file.
    pub inode: u64,
    /// Path with the kernel's escapes undone nowhere: a newline in it stays
    /// `\012`. Empty for anonymous memory.
    pub path: &'a [u8],
}

/// A line that is none of /proc/PID/maps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is no mapping (START-END PERMISSIONS OFFSET DEVICE INODE [PATH]): `{text}`")]
pub struct MapsError {
    /// Counted from 1.
    pub line: usize,
    /// The line, cut at 80 bytes.
    pub text: String,
}

/// All lines; blank ones are passed over.
pub fn parse(bytes: &[u8]) -> Result<Vec<MapsEntry<'_>>, MapsError> {
    let mut entries = Vec::new();
    for (line, text) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        if text.is_empty() {
            continue;
        }
        entries.push(entry(text).ok_or_else(|| MapsError {
            line,
            text: String::from_utf8_lossy(&text[..text.len().min(80)]).escape_debug().collect(),
        })?);
    }
    Ok(entries)
}

fn entry(line: &[u8]) -> Option<MapsEntry<'_>> {
    let (start, rest) = hex_until(line, b'-')?;
    let (end, rest) = hex_until(rest, b' ')?;
    let (permissions, rest) = rest.split_first_chunk::<4>()?;
    let (offset, rest) = hex_until(rest.strip_prefix(b" ")?, b' ')?;
    let (major, rest) = hex_until(rest, b':')?;
    let (minor, rest) = hex_until(rest, b' ')?;
    let length = memchr(b' ', rest).unwrap_or(rest.len());
    let inode = decimal(&rest[..length])?;
    let path = rest[length..].trim_ascii_start();
    let device = (u32::try_from(major).ok()?, u32::try_from(minor).ok()?);
    (start < end && is_permissions(*permissions)).then_some(MapsEntry {
        start,
        end,
        permissions: *permissions,
        offset,
        device,
        inode,
        path,
    })
}

fn is_permissions([read, write, execute, share]: [u8; 4]) -> bool {
    let is = |byte, letter| byte == letter || byte == b'-';
    is(read, b'r') && is(write, b'w') && is(execute, b'x') && matches!(share, b'p' | b's')
}

/// A hexadecimal number of 1 to 16 digits, and what follows the delimiter.
fn hex_until(text: &[u8], delimiter: u8) -> Option<(u64, &[u8])> {
    let length = memchr(delimiter, text)?;
    let digits = &text[..length];
    let sound = (1..=16).contains(&length) && digits.iter().all(u8::is_ascii_hexdigit);
    let number = u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    sound.then_some((number, &text[length + 1..]))
}

/// Digits only: `parse` alone would take a sign.
fn decimal(digits: &[u8]) -> Option<u64> {
    let sound = digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| sound)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_every_kind() {
        let text = b"55d0c8a00000-55d0c8a21000 r-xp 00002000 fe:00 247030                     /usr/bin/a b (deleted)\n\
        7fff0000-7fff1000 rw-p 00000000 00:00 0 \n\
        7ffc8d5f0000-7ffc8d5f2000 r-xp 00000000 00:00 0                          [vdso]\n\
        ffffffffff600000-ffffffffff601000 --xs 00000000 00:00 0 [vsyscall]";
        let entries = parse(text).unwrap();
        let first = MapsEntry {
            start: 0x55d0_c8a0_0000,
            end: 0x55d0_c8a2_1000,
            permissions: *b"r-xp",
            offset: 0x2000,
            device: (0xfe, 0),
            inode: 247_030,
            path: b"/usr/bin/a b (deleted)",
        };
        assert_eq!(entries[0], first);
        let rest: Vec<_> = entries[1..].iter().map(|entry| entry.path).collect();
        assert_eq!(rest, [&b""[..], b"[vdso]", b"[vsyscall]"]);
    }

    #[test]
    fn lines_of_none() {
        for line in [
            "hello",
            "1000-1000 r-xp 00000000 00:00 0",
            "2000-1000 r-xp 00000000 00:00 0",
            "1000-2000 r-xq 00000000 00:00 0",
            "1000-2000 r-xp 00000000 00:00",
            "1000-2000 r-xp 00000000 0000 0",
            "+1000-2000 r-xp 00000000 00:00 0",
            "10000000000000000-2000 r-xp 00000000 00:00 0",
            "1000-2000 r-xp 00000000 00:00 x",
            "1000-2000 r-xp 00000000 00:00 +5",
            "1000-2000 r-xp 00000000 00:00 ",
        ] {
            let error = parse(format!("\n{line}\n").as_bytes()).unwrap_err();
            assert_eq!(error, MapsError { line: 2, text: line.to_owned() });
        }
    }

    #[test]
    fn this_process() {
        let text = std::fs::read("/proc/self/maps").unwrap();
        let entries = parse(&text).unwrap();
        assert_eq!(entries.len(), text.iter().filter(|&&byte| byte == b'\n').count());
        let here = this_process as *const () as usize as u64;
        let own = entries.iter().find(|entry| (entry.start..entry.end).contains(&here)).unwrap();
        assert_eq!(own.permissions[2], b'x');
        assert!(own.path.starts_with(b"/"));
    }
}
