//! One line of /proc/PID/maps.

/// A mapping as [proc_pid_maps(5)] shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MapsLine<'a> {
    pub(super) start: u64,
    pub(super) end: u64,
    /// PROT_* bits.
    pub(super) protection: u32,
    /// MAP_SHARED or MAP_PRIVATE.
    pub(super) flags: u32,
    /// Bytes.
    pub(super) offset: u64,
    pub(super) major: u32,
    pub(super) minor: u32,
    pub(super) inode: u64,
    /// As the kernel escapes it (a line feed is `\012`); empty for
    /// anonymous memory.
    pub(super) path: &'a [u8],
}

impl MapsLine<'_> {
    pub(super) fn is_executable(&self) -> bool {
        self.protection & libc::PROT_EXEC.cast_unsigned() != 0
    }
}

/// None: no such line.
pub(super) fn parse(line: &[u8]) -> Option<MapsLine<'_>> {
    let mut fields = line.splitn(6, |&b| b == b' ');
    let mut field = || std::str::from_utf8(fields.next()?).ok();
    let (start, end) = field()?.split_once('-')?;
    let rights = field()?.as_bytes();
    let offset = field()?;
    let (major, minor) = field()?.split_once(':')?;
    let inode = field()?.parse().ok()?;
    let path = fields.next().unwrap_or_default().trim_ascii_start();
    let right = |at: usize, letter: u8, bit: i32| {
        if rights.get(at) == Some(&letter) { bit.cast_unsigned() } else { 0 }
    };
    let shared = rights.get(3) == Some(&b's');
    Some(MapsLine {
        start: u64::from_str_radix(start, 16).ok()?,
        end: u64::from_str_radix(end, 16).ok()?,
        protection: right(0, b'r', libc::PROT_READ)
            | right(1, b'w', libc::PROT_WRITE)
            | right(2, b'x', libc::PROT_EXEC),
        flags: if shared { libc::MAP_SHARED } else { libc::MAP_PRIVATE }.cast_unsigned(),
        offset: u64::from_str_radix(offset, 16).ok()?,
        major: u32::from_str_radix(major, 16).ok()?,
        minor: u32::from_str_radix(minor, 16).ok()?,
        inode,
        path,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_mapping_has_every_field() {
        let line = parse(
            b"7f4c3994c000-7f4c39972000 r-xp 00001000 fe:00 325843                     /usr/lib/a b",
        )
        .unwrap();
        assert_eq!(
            (line.start, line.end, line.offset),
            (0x7f4c_3994_c000, 0x7f4c_3997_2000, 0x1000)
        );
        assert_eq!((line.protection, line.flags), (5, 2));
        assert_eq!((line.major, line.minor, line.inode), (0xfe, 0, 325_843));
        assert_eq!(line.path, b"/usr/lib/a b");
        assert!(line.is_executable());
    }

    #[test]
    fn anonymous_and_shared_and_special_ones_are_read() {
        let anonymous = parse(b"c000000000-c000400000 rw-p 00000000 00:00 0 ").unwrap();
        assert_eq!((anonymous.path, anonymous.is_executable()), (&b""[..], false));
        assert_eq!(parse(b"10-20 rw-s 00000000 00:01 7 /dev/zero (deleted)").unwrap().flags, 1);
        let vsyscall =
            parse(b"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0   [vsyscall]").unwrap();
        assert_eq!((vsyscall.path, vsyscall.protection), (&b"[vsyscall]"[..], 4));
    }

    #[test]
    fn other_lines_are_none() {
        for line in ["", "x", "10-20", "10-20 r", "10-zz r-xp 0 0:0 0", "10-20 r-xp 0 00 0 x"] {
            assert_eq!(parse(line.as_bytes()), None, "{line}");
        }
    }
}
