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
