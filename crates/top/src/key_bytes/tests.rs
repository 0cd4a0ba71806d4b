use super::*;

/// Keys of bytes that came at once, and of the part that is left.
fn keys(bytes: &[u8]) -> (Vec<TopKey>, Option<TopKey>) {
    let mut all = KeyBytes::default();
    all.add(bytes);
    let keys = std::iter::from_fn(|| all.key()).collect();
    let given_up = all.give_up();
    assert!(!all.has_part());
    (keys, given_up)
}

/// Each of these keys by itself, whichever terminal sends it.
const ALONE: &[(&str, TopKey)] = &[
    ("a", TopKey::Char('a')),
    ("Ä", TopKey::Char('Ä')),
    ("字", TopKey::Char('字')),
    ("🦀", TopKey::Char('🦀')),
    ("\x03", TopKey::Control('c')),
    ("\x1a", TopKey::Control('z')),
    // Ctrl+J and Ctrl+H, as which some send Enter and Backspace.
    ("\n", TopKey::Control('j')),
    ("\x08", TopKey::Control('h')),
    ("\r", TopKey::Enter),
    ("\t", TopKey::Tab),
    ("\x7f", TopKey::Backspace),
    ("\x1b[A", TopKey::Up),
    ("\x1bOB", TopKey::Down),
    ("\x1bOC", TopKey::Right),
    ("\x1b[D", TopKey::Left),
    ("\x1b[H", TopKey::Home),
    ("\x1bOF", TopKey::End),
    ("\x1b[1~", TopKey::Home),
    ("\x1b[8~", TopKey::End),
    ("\x1b[5~", TopKey::PageUp),
    ("\x1b[6~", TopKey::PageDown),
    ("\x1b[Z", TopKey::BackTab),
    ("\x1b[3~", TopKey::Other),
    ("\x1bOP", TopKey::Other),
    ("\x1b[15~", TopKey::Other),
    ("\x1b[[A", TopKey::Other),
    // Shift and Alt change nothing.
    ("\x1bq", TopKey::Char('q')),
    ("\x1bÄ", TopKey::Char('Ä')),
    ("\x1b\x03", TopKey::Control('c')),
    ("\x1b[1;2A", TopKey::Up),
    ("\x1b[6;3~", TopKey::PageDown),
    // Left behind by a program that asked for them.
    ("\x1b[99;5u", TopKey::Control('c')),
    ("\x1b[113u", TopKey::Char('q')),
    ("\x1b[115:83;2u", TopKey::Char('S')),
    ("\x1b[27u", TopKey::Esc),
    ("\x1b[9;2u", TopKey::BackTab),
    ("\x1b[57404;1:1u", TopKey::Char('5')),
    ("\x1b[57358u", TopKey::Other),
];

#[test]
fn a_key_is_known_however_its_bytes_come() {
    for (bytes, key) in ALONE {
        assert_eq!(keys(bytes.as_bytes()), (vec![*key], None), "{bytes:?}");
        let (mut one, mut found) = (KeyBytes::default(), Vec::new());
        for byte in bytes.bytes() {
            assert!(found.is_empty(), "{bytes:?} is longer");
            one.add(&[byte]);
            found.extend(one.key());
        }
        assert_eq!((found, one.has_part()), (vec![*key], false), "{bytes:?}");
    }
}

#[test]
fn keys_that_come_at_once_are_told_apart() {
    let all: String = ALONE.iter().map(|(bytes, _)| *bytes).collect();
    let known = ALONE.iter().map(|(_, key)| *key).collect();
    assert_eq!(keys(all.as_bytes()), (known, None));
    assert_eq!(keys(b"\x1b\x1b[A"), (vec![TopKey::Esc, TopKey::Up], None));
    assert_eq!(keys(b"j\x1b"), (vec![TopKey::Char('j')], Some(TopKey::Esc)));
    assert_eq!(keys(b"\x1b\x1b"), (vec![TopKey::Esc], Some(TopKey::Esc)));
}

#[test]
fn what_is_no_key_is_skipped() {
    for bytes in [
        // Ctrl with an arrow, or a key let go.
        &b"\x1b[1;5A"[..],
        b"\x1b[5;5~",
        b"\x1b[113;1:3u",
        // Mice: X10's, xterm's, rxvt's; focus; a paste's ends; answers.
        b"\x1b[M !!",
        b"\x1b[<0;10;20M",
        b"\x1b[32;10;20M",
        b"\x1b[I\x1b[O",
        b"\x1b[200~\x1b[201~",
        b"\x1b[?62;22c",
        // Nothing at all.
        b"\0\x1c\x1f",
        b"\xff\xc3\xe5",
        b"\x1b[99999999999999999999u",
        b"\x1b[1114112u\x1b[u",
        b"\x1b[1;x",
        b"\x1bO!",
    ] {
        assert_eq!(keys(bytes).0, [], "{bytes:?}");
        let next = [bytes, b"q"].concat();
        assert_eq!(keys(&next), (vec![TopKey::Char('q')], None), "{bytes:?}");
    }
    // What breaks a sequence off is looked at by itself.
    assert_eq!(keys(b"\x1b[1\x1b[A\x1b[\x03"), (vec![TopKey::Up, TopKey::Control('c')], None));
}

#[test]
fn a_part_is_waited_for_and_given_up_whole() {
    let parts: [&[u8]; 8] = [
        b"\x1b[",
        b"\x1b[1;",
        b"\x1bO",
        b"\x1b[[",
        b"\x1b[M !",
        b"\x1b[<0;1",
        b"\x1b\xc3",
        b"\xf0\x9f\xa6",
    ];
    for part in parts {
        let mut all = KeyBytes::default();
        all.add(part);
        assert_eq!((all.key(), all.has_part()), (None, true), "{part:?}");
        assert_eq!((all.give_up(), all.has_part()), (None, false), "{part:?}");
    }
    // However much comes, it is kept no longer than a key may be.
    let mut all = KeyBytes::default();
    all.add(b"\x1b[");
    for _ in 0..10_000 {
        all.add(b"1");
        all.key();
        assert!(all.0.len() <= MOST + 2);
    }
}
