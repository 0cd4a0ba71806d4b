//! The kernel's symbols, read to be kept in a recording.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use perfdata::bytes::ByteOrder;
use perfdata::kernel_list::{KernelModule, KernelSymbol, PackedKernelList};
use perfdata::sample_filter::PrivilegeMode;
use perfdata::{AttrFlags, KernelList, SampleType};
use rustc_hash::FxHashMap;

use super::KernelFile;
use super::ProcVisibility;
use crate::sys::event::NATIVE_ORDER;
use crate::{PlannedEvent, machine::build_id};

/// What of the kernel's symbols a recording of these events can have a use
/// for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeededSymbols {
    Code,
    /// Its variables, too.
    Data,
}

/// What addresses of the kernel can be in samples; None: none can.
pub fn needed_symbols<'e>(
    mut events: impl Iterator<Item = &'e PlannedEvent>,
    data_mappings: bool,
) -> Option<NeededSymbols> {
    let sees_kernel = |event: &PlannedEvent| {
        let (flags, fields) = (event.attr.flags, event.attr.sample_type);
        let of_chains = !flags.contains(AttrFlags::EXCLUDE_CALLCHAIN_KERNEL);
        // Hardware that cannot leave the kernel out has its samples dropped
        // when they are read.
        let of_samples = !flags.contains(AttrFlags::EXCLUDE_KERNEL)
            && event.filter.may_keep(PrivilegeMode::Kernel);
        of_samples || fields.contains(SampleType::CALLCHAIN) && of_chains
    };
    let needed_symbols = if data_mappings { NeededSymbols::Data } else { NeededSymbols::Code };
    events.any(sees_kernel).then_some(needed_symbols)
}

/// The symbols that the kernel shows to whom `proc_visibility` looks for, packed.
/// None: it hides its addresses, or has no list. Takes the kernel 50 ms.
///
/// # Errors
/// Why there is a list and it cannot be kept.
pub fn kernel_list(
    proc_visibility: &ProcVisibility,
    root: &Path,
    needed_symbols: NeededSymbols,
) -> Result<Option<PackedKernelList>, String> {
    let proc = root.join("proc");
    let Ok(symbols) = proc_visibility.kernel(&proc, KernelFile::Symbols) else { return Ok(None) };
    let failed = |error: io::Error| format!("/proc/kallsyms: {error}");
    let mut reader = KallsymsReader::default();
    read(symbols, &mut reader).map_err(failed)?;
    let mut list = reader.list;
    if list.symbols.iter().all(|symbol| symbol.address == 0) {
        return Ok(None);
    }
    let modules = proc_visibility.kernel(&proc, KernelFile::Modules).and_then(io::read_to_string);
    let sys = root.join("sys");
    for line in modules.unwrap_or_default().lines() {
        place(line, &sys, &mut list.modules);
    }
    list.build_id = noted(&sys.join("kernel/notes"));
    match needed_symbols {
        NeededSymbols::Code => list.keep_code(),
        NeededSymbols::Data => list.keep_all(),
    }
    list.pack().map(Some).map_err(|error| error.to_string())
}

#[derive(Default)]
struct KallsymsReader {
    list: KernelList,
    numbers: FxHashMap<Vec<u8>, u16>,
}

fn read(symbols: File, reader: &mut KallsymsReader) -> io::Result<()> {
    let mut lines = BufReader::with_capacity(1 << 16, symbols);
    let mut line = Vec::with_capacity(256);
    for number in 1.. {
        line.clear();
        if lines.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        reader.add(text).ok_or_else(|| {
            let text = String::from_utf8_lossy(&text[..text.len().min(80)]);
            io::Error::other(format!("line {number} is no symbol: `{}`", text.escape_debug()))
        })?;
    }
    Ok(())
}

impl KallsymsReader {
    /// A line: address, type, name, and after a tab the module in brackets.
    fn add(&mut self, line: &[u8]) -> Option<()> {
        let digits = line.iter().position(|&byte| byte == b' ')?;
        let address = std::str::from_utf8(line.get(..digits)?).ok()?;
        let address = u64::from_str_radix(address, 16).ok()?;
        let [b' ', kind, b' ', rest @ ..] = line.get(digits..)? else { return None };
        let end = rest.iter().position(|&byte| byte == b'\t').unwrap_or(rest.len());
        let module = match rest.get(end + 1..) {
            None | Some([]) => KernelSymbol::NO_MODULE,
            Some(word) => self.number(word.strip_prefix(b"[")?.strip_suffix(b"]")?)?,
        };
        let name = rest.get(..end).filter(|name| !name.is_empty())?;
        let start = u32::try_from(self.list.names.len()).ok()?;
        self.list.names.extend_from_slice(name);
        self.list.names.push(b'\n');
        let length = u16::try_from(name.len()).ok()?;
        self.list.symbols.push(KernelSymbol { address, name: start, length, module, kind: *kind });
        Some(())
    }

    fn number(&mut self, name: &[u8]) -> Option<u16> {
        if let Some(&known) = self.numbers.get(name) {
            return Some(known);
        }
        let new = u16::try_from(self.list.modules.len()).ok()?;
        let name = name.to_vec();
        self.list.modules.push(KernelModule { name: name.clone(), ..KernelModule::default() });
        self.numbers.insert(name, new);
        (new != KernelSymbol::NO_MODULE).then_some(new)
    }
}

/// Takes a line of /proc/modules in: where a module lies, and which build
/// it is.
fn place(line: &str, sys: &Path, modules: &mut [KernelModule]) {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let &[name, size, _, _, _, base, ..] = words.as_slice() else { return };
    let base = base.strip_prefix("0x").and_then(|base| u64::from_str_radix(base, 16).ok());
    let (Some(base), Ok(size)) = (base.filter(|&base| base != 0), size.parse()) else { return };
    if let Some(module) = modules.iter_mut().find(|module| module.name == name.as_bytes()) {
        (module.base, module.size) = (base, size);
        let notes = sys.join("module").join(name).join("notes/.note.gnu.build-id");
        module.build_id = noted(&notes);
    }
}

/// The build id in a file of notes; empty: none.
fn noted(path: &Path) -> Vec<u8> {
    let notes = fs::read(path).unwrap_or_default();
    let order: ByteOrder = NATIVE_ORDER;
    build_id::in_notes(&notes, order).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::opener::hardware;

    fn kept(kallsyms: &str, modules: &str) -> Result<Option<KernelList>, String> {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        };
        write("proc/kallsyms", kallsyms.as_bytes());
        write("proc/modules", modules.as_bytes());
        let note = |id: &[u8]| {
            let length = u8::try_from(id.len()).unwrap();
            [&[4, 0, 0, 0, length, 0, 0, 0, 3, 0, 0, 0], &b"GNU\0"[..], id].concat()
        };
        if cfg!(target_endian = "little") {
            write("sys/kernel/notes", &note(&[7; 20]));
            write("sys/module/loop/notes/.note.gnu.build-id", &note(&[9; 20]));
        }
        let packed = kernel_list(&ProcVisibility::default(), root.path(), NeededSymbols::Code)?;
        Ok(packed.map(|packed| packed.unpack().unwrap()))
    }

    #[test]
    fn only_what_keeps_samples_or_chains_of_the_kernel_needs_its_list() {
        let (none, chain) = (AttrFlags::empty(), SampleType::IP | SampleType::CALLCHAIN);
        for (flags, fields, filter, expected) in [
            (none, SampleType::IP, "all", Some(NeededSymbols::Code)),
            (none, SampleType::IP, "ibs:ld_op+mode:kernel", Some(NeededSymbols::Code)),
            (none, SampleType::IP, "ibs:ld_op+mode:user", None),
            (AttrFlags::EXCLUDE_KERNEL, SampleType::IP, "all", None),
            (none, chain, "mode:user", Some(NeededSymbols::Code)),
            (AttrFlags::EXCLUDE_CALLCHAIN_KERNEL, chain, "mode:user", None),
        ] {
            let mut event = hardware("cycles", 0);
            (event.attr.flags, event.attr.sample_type) = (flags, fields);
            event.filter = filter.parse().unwrap();
            assert_eq!(needed_symbols([&event].into_iter(), false), expected, "{flags:?} {filter}");
        }
    }

    #[test]
    fn the_list_is_what_the_kernel_shows() {
        let list = kept(
            "ffffffff81000000 T _text\nffffffff81000100 t one\nffffffff82000000 D data\n\
             ffffffff82000008 d more\nffffffffc0000000 t own\t[loop]\n\
             ffffffffc0100000 t bpf_prog_1\t[bpf]\n",
            "loop 40960 0 - Live 0xffffffffc0000000\nother 1 0 - Live 0x0000000000000000\n",
        );
        let list = list.unwrap().unwrap();
        let names = list.symbols.iter().map(|symbol| {
            let module = list.modules.get(usize::from(symbol.module));
            (list.name(symbol), module.map_or(&b""[..], |module| &module.name))
        });
        let none = &b""[..];
        let wanted: [(&[u8], &[u8]); 5] = [
            (b"_text", none),
            (b"one", none),
            (b"data", none),
            (b"own", b"loop"),
            (b"bpf_prog_1", b"bpf"),
        ];
        assert_eq!(names.collect::<Vec<_>>(), wanted);
        assert_eq!((list.modules[0].base, list.modules[0].size), (0xffff_ffff_c000_0000, 40_960));
        if cfg!(target_endian = "little") {
            assert_eq!((&list.build_id, &list.modules[0].build_id), (&vec![7; 20], &vec![9; 20]));
        }
    }

    #[test]
    fn hidden_addresses_are_not_kept() {
        assert_eq!(kept("0000000000000000 T _text\n0000000000000000 t one\n", ""), Ok(None));
        assert_eq!(kept("", ""), Ok(None));
        let nowhere =
            kernel_list(&ProcVisibility::default(), Path::new("/nonexistent"), NeededSymbols::Code);
        assert_eq!(nowhere, Ok(None));
    }

    #[test]
    fn what_is_no_list_is_told() {
        let error = kept("ffffffff81000000 T _text\nnonsense\n", "").unwrap_err();
        assert!(error.contains("line 2") && error.contains("nonsense"), "{error}");
    }

    #[test]
    #[allow(clippy::print_stderr, reason = "a test that skips says so")]
    fn the_running_kernels_list_is_small() {
        match kernel_list(&ProcVisibility::default(), Path::new("/"), NeededSymbols::Data).unwrap()
        {
            Some(packed) => {
                let list = packed.unpack().unwrap();
                assert!(packed.size() < 8 * list.symbols.len(), "{packed:?}");
            }
            None => eprintln!("skipped: /proc/kallsyms shows no addresses"),
        }
    }
}
