//! The kernel's own code: its text, and its modules.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use perfdata::sideband::{FileIdentity, Mapping};
use perfdata::{Misc, Pid, SidebandRecord, Task, Tid};

use super::KernelFile;
use super::Synthesizer;

/// PERF_RECORD_MISC_KERNEL.
const KERNEL: Misc = Misc(1);

#[derive(Clone, Debug, PartialEq, Eq)]
struct KernelRange {
    name: String,
    start: u64,
    length: u64,
    page_offset: u64,
}

/// Appends a MMAP of the kernel's text, named and laid out as perf does
/// (perf_event__synthesize_kernel_mmap() in tools/perf/util): the address of
/// `_text` is start and page offset both, which tells readers where this
/// boot put the kernel. One more for each module. Nothing when addresses are
/// hidden (kptr_restrict).
pub(crate) fn kernel(synthesizer: &mut Synthesizer<'_>, out: &mut Vec<u8>) {
    let proc = synthesizer.proc;
    let open = |file| synthesizer.proc_visibility.kernel(proc, file);
    let text = open(KernelFile::Symbols).ok().and_then(|symbols| text(symbols, proc));
    let modules = open(KernelFile::Modules).and_then(io::read_to_string).unwrap_or_default();
    for code in text.into_iter().chain(modules.lines().filter_map(module)) {
        let record = SidebandRecord::Mmap(Mapping {
            task: Task { pid: Pid(-1), tid: Tid(0) },
            start: code.start,
            length: code.length,
            page_offset: code.page_offset,
            file: FileIdentity::Unknown,
            protection: None,
            flags: None,
            path: code.name.as_bytes(),
        });
        synthesizer.append(&record, KERNEL, out);
    }
}

/// From `_text` (or `_stext`) to `_etext`, by /proc/kallsyms.
///
/// Making that list up to `_etext`, after a hundred thousand symbols, costs
/// the kernel 40 ms; it stops at `_text`, near the front, where /proc/iomem
/// tells the length.
fn text(symbols: File, proc: &Path) -> Option<KernelRange> {
    let lines = BufReader::new(symbols).split(b'\n');
    let known_length =
        fs::read_to_string(proc.join("iomem")).ok().and_then(|map| code_length(&map));
    let (mut text, mut stext, mut etext) = (None, None, None);
    for line in lines.map_while(Result::ok) {
        let Ok(line) = std::str::from_utf8(&line) else { continue };
        let place = match line.rsplit(' ').next() {
            Some("_text") => &mut text,
            Some("_stext") => &mut stext,
            Some("_etext") => &mut etext,
            _ => continue,
        };
        *place = line.split(' ').next().and_then(|word| u64::from_str_radix(word, 16).ok());
        if text.is_some() && (etext.is_some() || known_length.is_some()) {
            break;
        }
    }
    let start = text.or(stext).filter(|&address| address != 0)?;
    let length = match (etext, known_length) {
        (Some(end), _) => end.saturating_sub(start),
        (None, length) => length.unwrap_or(0),
    };
    let name = if text.is_some() { "[kernel.kallsyms]_text" } else { "[kernel.kallsyms]_stext" };
    Some(KernelRange { name: name.into(), start, length, page_offset: start })
}

/// The bytes from `_text` to `_etext` by /proc/iomem, whose `Kernel code` is
/// just that on x86 (setup_arch() in arch/x86/kernel/setup.c; on other
/// architectures it ends elsewhere). None for readers without CAP_SYS_ADMIN,
/// who are shown zeros.
fn code_length(iomem: &str) -> Option<u64> {
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    let line = iomem.lines().find(|line| line.ends_with(" : Kernel code"))?;
    let (start, end) = line.trim_start().split_once(' ')?.0.split_once('-')?;
    let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    end.checked_sub(start)?.checked_add(1).filter(|_| end != 0)
}

/// A line of /proc/modules: `name size uses users state address`.
fn module(line: &str) -> Option<KernelRange> {
    let mut words = line.split_ascii_whitespace();
    let name = format!("[{}]", words.next()?);
    let length = words.next()?.parse().ok()?;
    let address = words.nth(3)?.strip_prefix("0x")?;
    let start = u64::from_str_radix(address, 16).ok().filter(|&start| start != 0)?;
    Some(KernelRange { name, start, length, page_offset: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(proc: &Path) -> Option<KernelRange> {
        super::text(File::open(proc.join("kallsyms")).ok()?, proc)
    }

    fn proc(kallsyms: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("kallsyms"), kallsyms).unwrap();
        dir
    }

    #[test]
    fn text_is_from_its_first_to_its_last_symbol() {
        let dir = proc(
            "ffffffff81000000 T _stext\nffffffff81000000 T _text\n\
             ffffffff81000010 t x\nffffffff822090c8 T _etext\n",
        );
        let code = text(dir.path()).unwrap();
        assert_eq!((code.start, code.length), (0xffff_ffff_8100_0000, 0x0120_90c8));
        assert_eq!(code.page_offset, code.start);
        assert_eq!(code.name, "[kernel.kallsyms]_text");
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_memory_map_tells_the_length_of_the_text() {
        let dir = proc(
            "ffffffff81000000 T _stext\nffffffff81000000 T _text\nffffffff81000010 t x\n\
             ffffffff82209fff T _etext\n",
        );
        fs::write(
            dir.path().join("iomem"),
            "00001000-0009fbff : System RAM\n  01000000-022090c7 : Kernel code\n",
        )
        .unwrap();
        let code = text(dir.path()).unwrap();
        assert_eq!((code.start, code.length), (0xffff_ffff_8100_0000, 0x0120_90c8));
        assert_eq!(code_length("  00000000-00000000 : Kernel code\n"), None);
        assert_eq!(code_length("  00000009-00000001 : Kernel code\n"), None);
        assert_eq!(code_length("  x-00000001 : Kernel code\n"), None);
    }

    /// Both ways give this machine's text the same end.
    #[test]
    fn the_running_kernel_has_one_length() {
        let here = Path::new("/proc");
        let list = fs::read(here.join("kallsyms")).unwrap_or_default();
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("kallsyms"), list).unwrap();
        assert_eq!(text(dir.path()), text(here));
    }

    #[test]
    fn hidden_addresses_are_no_text() {
        let dir = proc("0000000000000000 T _text\n0000000000000000 T _etext\n");
        assert_eq!(text(dir.path()), None);
        assert_eq!(text(Path::new("/nonexistent")), None);
        assert_eq!(module("nf_tables 303104 0 - Live 0x0000000000000000"), None);
    }

    #[test]
    fn a_module_is_its_line() {
        let wanted = KernelRange {
            name: "[ext4]".into(),
            start: 0xffff_ffff_c010_0000,
            length: 4096,
            page_offset: 0,
        };
        assert_eq!(module("ext4 4096 1 a,b, Live 0xffffffffc0100000 (E)"), Some(wanted));
        assert_eq!(module("ext4 many 1 - Live 0xffffffffc0100000"), None);
    }
}
