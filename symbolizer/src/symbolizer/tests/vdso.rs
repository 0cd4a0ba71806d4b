//! Names of the vdso, which need no names of the kernel.

use super::*;

/// What this process has mapped; None: no vdso is there.
fn maps() -> Option<(Vec<u8>, u64, u64)> {
    let maps = std::fs::read("/proc/self/maps").unwrap();
    let entries = crate::parse_maps(&maps).unwrap();
    let vdso = entries.iter().find(|entry| entry.path == b"[vdso]");
    let extent = vdso.map(|vdso| (vdso.start, vdso.end));
    if extent.is_none() {
        eprintln!("skipped: this process has no vdso");
    }
    extent.map(|(start, end)| (maps, start, end))
}

/// Whether the vdso has names in a recording of such a kernel.
fn is_named(root: &tempfile::TempDir, release: &str, told: &[SideRecord<'_>]) -> Option<bool> {
    let (maps, start, end) = maps()?;
    let mut symbolizer = Symbolizer::new(below(root));
    symbolizer.recorded_release(release);
    for record in told {
        symbolizer.side(NONE, record, &at(0));
    }
    symbolizer.maps(Pid(1), &crate::parse_maps(&maps).unwrap(), Time(0));
    let names = (0..end - start).step_by(16).map(|step| {
        let place = symbolizer.place(CpuMode::User, Pid(1), start + step, Time(1));
        symbolizer.resolve(place).text().to_owned()
    });
    let names: Vec<String> = names.collect();
    let is_named = names.iter().any(|name| name.ends_with("clock_gettime"));
    assert_ne!(names.iter().any(|name| name == "[vdso-unknown]"), is_named, "{names:?}");
    Some(is_named)
}

fn listing(list: &str) -> tempfile::TempDir {
    let root = machine();
    std::os::unix::fs::symlink("/proc/self", root.path().join("proc/self")).unwrap();
    std::fs::write(root.path().join("proc/kallsyms"), list).unwrap();
    root
}

fn lies_at(address: u64) -> SideRecord<'static> {
    mapping(-1, address, 0x100, address, b"[kernel.kallsyms]_text")
}

/// Users without rights have vdso names: that kernel symbols are hidden from
/// them says nothing about where they recorded.
#[test]
fn the_vdso_of_a_user_without_rights() {
    let root = listing("0000000000000000 T _text\n0000000000000000 T first\n");
    let Some(is_here) = is_named(&root, "6.1.0", &[]) else { return };
    assert!(is_here);
    assert_eq!(is_named(&root, "6.2.0", &[]), Some(false));
    // Readable, and no anchor: nothing says elsewhere. Then another boot.
    let root = listing("ffffffff91000000 T _text\nffffffff91000000 T first\n");
    assert_eq!(is_named(&root, "6.1.0", &[]), Some(true));
    assert_eq!(is_named(&root, "6.1.0", &[anchor()]), Some(true));
    assert_eq!(is_named(&root, "6.1.0", &[lies_at(0xffff_ffff_9200_0000)]), Some(false));
}

/// That a recording is of this boot is seen by the first symbols. The list as
/// a whole, here one with an end that cannot be read, is for the kernel's names.
#[test]
fn the_vdso_needs_no_kernel_symbols() {
    let list = "ffffffff91000000 T _text\nffffffff91000100 T more\n".repeat(3000);
    let root = listing(&(list + "no symbol\n"));
    let Some(is_here) = is_named(&root, "6.1.0", &[anchor()]) else { return };
    assert!(is_here);
    assert_eq!(is_named(&root, "6.1.0", &[lies_at(0xffff_ffff_9200_0000)]), Some(false));
}
