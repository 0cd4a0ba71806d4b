//! PROCMAP_QUERY (Linux 6.11) on an open /proc/PID/maps: mappings with the
//! build ids of their files, which the kernel reads itself.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use emulator::MappedRegion;

/// `_IOWR('f', 17, struct procmap_query)` of include/uapi/linux/fs.h.
pub const PROCMAP_QUERY: u32 = 0xc068_6611;

/// PROCMAP_QUERY_VMA_EXECUTABLE, and the other rights as they are told.
const READABLE: u64 = 1;
const WRITABLE: u64 = 2;
const EXECUTABLE: u64 = 4;
const SHARED: u64 = 8;
const PROCMAP_QUERY_COVERING_OR_NEXT_VMA: u64 = 16;

/// Bytes of the longest path that the kernel tells (PATH_MAX).
const MAX_PATH: usize = 4096;
/// Bytes of the longest build id (BUILD_ID_SIZE_MAX).
const MAX_BUILD_ID: usize = 20;

/// struct procmap_query.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct ProcmapQuery {
    size: u64,
    flags: u64,
    address: u64,
    start: u64,
    end: u64,
    rights: u64,
    page_size: u64,
    offset: u64,
    inode: u64,
    major: u32,
    minor: u32,
    name_size: u32,
    build_id_size: u32,
    name: u64,
    build_id: u64,
}

/// The mapping at `address` or the next one, with the build ID of its file, if that has one;
/// executable ones only, or all. None: there is no more.
///
/// # Errors
/// ENOTTY: a kernel older than 6.11.
pub(crate) fn next(
    maps: &impl AsFd,
    address: u64,
    executable: bool,
) -> io::Result<Option<(MappedRegion, Option<Vec<u8>>)>> {
    let mut name = [0u8; MAX_PATH];
    let mut build_id = [0u8; MAX_BUILD_ID];
    let mut query = ProcmapQuery {
        size: size_of::<ProcmapQuery>() as u64,
        flags: PROCMAP_QUERY_COVERING_OR_NEXT_VMA | if executable { EXECUTABLE } else { 0 },
        address,
        name_size: u32::try_from(name.len()).map_err(io::Error::other)?,
        build_id_size: u32::try_from(build_id.len()).map_err(io::Error::other)?,
        name: name.as_mut_ptr().expose_provenance() as u64,
        build_id: build_id.as_mut_ptr().expose_provenance() as u64,
        ..ProcmapQuery::default()
    };
    // SAFETY: the query is of the size that the request's number says, and
    // points to two buffers of the sizes that it says; all outlive the call.
    let result = unsafe {
        libc::ioctl(maps.as_fd().as_raw_fd(), PROCMAP_QUERY.into(), (&raw mut query).cast::<u8>())
    };
    if result < 0 {
        let error = io::Error::last_os_error();
        return if error.raw_os_error() == Some(libc::ENOENT) { Ok(None) } else { Err(error) };
    }
    let part = |bytes: &[u8], size: u32| {
        let size = usize::try_from(size).unwrap_or(0).min(bytes.len());
        bytes[..size].to_vec()
    };
    // The name's size counts the NUL behind it.
    let name = part(&name, query.name_size.saturating_sub(1));
    let build_id = Some(part(&build_id, query.build_id_size)).filter(|id| !id.is_empty());
    let right = |bit: u64, protection: i32| {
        if query.rights & bit != 0 { protection.cast_unsigned() } else { 0 }
    };
    let region = MappedRegion {
        start: query.start,
        end: query.end,
        protection: right(READABLE, libc::PROT_READ)
            | right(WRITABLE, libc::PROT_WRITE)
            | right(EXECUTABLE, libc::PROT_EXEC),
        shared: query.rights & SHARED != 0,
        offset: query.offset,
        device: (query.major, query.minor),
        inode: query.inode,
        path: name,
    };
    Ok(Some((region, build_id)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::print_stderr, reason = "a test that skips says why")]

    use std::fs::{self, File};

    use super::*;

    #[test]
    fn it_tells_what_the_text_tells() {
        assert_eq!(size_of::<ProcmapQuery>(), 0x68);
        let maps = File::open("/proc/self/maps").unwrap();
        let (mut address, mut told) = (0, Vec::new());
        loop {
            match next(&maps, address, true) {
                Ok(Some(found)) => {
                    address = found.0.end;
                    told.push(found);
                }
                Ok(None) => break,
                Err(error) => {
                    eprintln!("skipped: no PROCMAP_QUERY (Linux 6.11): {error}");
                    return;
                }
            }
        }
        let text = fs::read_to_string("/proc/self/maps").unwrap();
        let executable = text.lines().filter(|line| line.split(' ').nth(1).unwrap().contains('x'));
        // The page of vsyscalls is no mapping of the process's.
        let lines: Vec<&str> = executable.filter(|line| !line.ends_with("[vsyscall]")).collect();
        assert_eq!(told.len(), lines.len());
        for ((mapped, _), line) in told.iter().zip(lines) {
            assert!(line.starts_with(&format!("{:x}-{:x} r", mapped.start, mapped.end)), "{line}");
            assert!(
                line.contains(&format!(
                    " {:08x} {:02x}:{:02x} {}",
                    mapped.offset, mapped.device.0, mapped.device.1, mapped.inode
                )),
                "{line}"
            );
            assert!(line.ends_with(std::str::from_utf8(&mapped.path).unwrap()), "{line}");
            assert_eq!(mapped.protection & 4, 4);
        }
        let exe = fs::read_link("/proc/self/exe").unwrap();
        let of_exe = told.iter().find(|(it, _)| it.path == exe.as_os_str().as_encoded_bytes());
        let id = crate::machine::build_id::read(&File::open(exe).unwrap());
        assert_eq!(of_exe.unwrap().1, id, "as its notes have it");
        assert!(id.is_some());
    }
}
