//! Keys out of what a terminal sends for them (ECMA-48; xterm's control
//! sequences, "PC-Style Function Keys"; the `CSI u` that terminals send for
//! letters once another program has asked for it).

/// What begins a sequence; by itself a key.
const ESC: u8 = 0x1b;
/// Bytes of a sequence at most: what is longer is none.
const MOST: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct KeyBytes(Vec<u8>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ParsedKey {
    length: usize,
    /// `None`: a mouse, an answer, a key that was let go, no UTF-8.
    key: Option<TopKey>,
}

/// What a sequence says besides its last letter.
#[derive(Clone, Copy, Debug)]
struct KeyParameters {
    number: u32,
    has_shift: bool,
    has_control: bool,
}

impl KeyBytes {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn key(&mut self) -> Option<TopKey> {
        while let Some(ParsedKey { length, key }) = parse(&self.0) {
            self.0.drain(..length);
            if key.is_some() {
                return key;
            }
        }
        None
    }

    /// Whether there is a part of one, once [`KeyBytes::key`] gives none.
    pub(crate) fn has_part(&self) -> bool {
        !self.0.is_empty()
    }

    /// What the part is if nothing comes behind it: Esc, or nothing.
    pub(crate) fn give_up(&mut self) -> Option<TopKey> {
        let part = std::mem::take(&mut self.0);
        (part == [ESC]).then_some(TopKey::Esc)
    }
}

/// The first key; `None`: bytes are missing.
fn parse(bytes: &[u8]) -> Option<ParsedKey> {
    let one = |key| Some(ParsedKey { length: 1, key });
    match *bytes {
        [ESC, b'[', ref rest @ ..] => sequence(rest),
        [ESC, b'O', last, ..] => Some(ParsedKey { length: 3, key: key_of_letter(last) }),
        [] | [ESC] | [ESC, b'O'] => None,
        [ESC, ESC, ..] => one(Some(TopKey::Esc)),
        // Alt and a key.
        [ESC, ref rest @ ..] => {
            parse(rest).map(|parsed| ParsedKey { length: parsed.length + 1, ..parsed })
        }
        [b'\r', ..] => one(Some(TopKey::Enter)),
        [b'\t', ..] => one(Some(TopKey::Tab)),
        [0x7f, ..] => one(Some(TopKey::Backspace)),
        [byte @ 0x01..=0x1a, ..] => one(Some(TopKey::Control(char::from(byte - 1 + b'a')))),
        [0..0x20, ..] => one(None),
        _ => letter(bytes),
    }
}

fn letter(bytes: &[u8]) -> Option<ParsedKey> {
    let most = &bytes[..bytes.len().min(4)];
    let valid = match str::from_utf8(most) {
        Ok(valid) => valid,
        Err(error) if error.valid_up_to() == 0 => {
            return Some(ParsedKey { length: error.error_len()?, key: None });
        }
        Err(error) => str::from_utf8(&most[..error.valid_up_to()]).unwrap_or_default(),
    };
    let letter = valid.chars().next()?;
    Some(ParsedKey { length: letter.len_utf8(), key: Some(TopKey::Char(letter)) })
}

/// A sequence from behind its ESC and `[`: parameters, and the letter that ends
/// it.
fn sequence(bytes: &[u8]) -> Option<ParsedKey> {
    let Some(at) = bytes.iter().position(|byte| !(0x20..=0x3f).contains(byte)) else {
        return (bytes.len() > MOST).then_some(ParsedKey { length: bytes.len() + 2, key: None });
    };
    let (said, last) = (&bytes[..at], bytes[at]);
    let (length, key) = match last {
        // F1 to F5 of Linux' console.
        b'[' if at == 0 => (4, Some(TopKey::Other)),
        // X10's mouse: a button and a place.
        b'M' if at == 0 => (6, None),
        0x40..=0x7e => (at + 3, parameters(said).and_then(|said| key_of(said, last))),
        // None at all: what begins here is looked at by itself.
        _ => (at + 2, None),
    };
    (bytes.len() + 2 >= length).then_some(ParsedKey { length, key })
}

/// `number[:shifted];modifiers[:what happened]`; `None`: no key, or it is let
/// go.
fn parameters(said: &[u8]) -> Option<KeyParameters> {
    let mut parts = str::from_utf8(said).ok()?.split(';');
    let mut numbers = || {
        parts.next().unwrap_or_default().split(':').map(|text| match text {
            "" => Ok(0),
            text => text.parse::<u32>(),
        })
    };
    let mut codes = numbers();
    let number = codes.next()?.ok()?;
    let shifted = codes.next().and_then(Result::ok);
    let mut modifiers = numbers();
    // One more than the sum of 1 for Shift, 2 for Alt, 4 for Ctrl.
    let held = modifiers.next()?.ok()?.saturating_sub(1);
    let (has_shift, has_control) = (held & 1 != 0, held & 4 != 0);
    let is_let_go = modifiers.next() == Some(Ok(3));
    let number = shifted.filter(|_| has_shift).unwrap_or(number);
    (!is_let_go).then_some(KeyParameters { number, has_shift, has_control })
}

/// The key of a sequence that ends with this letter.
fn key_of(said: KeyParameters, last: u8) -> Option<TopKey> {
    let key = match (last, said.number) {
        (b'u', number) => key_of_code(number, said)?,
        (b'~', 1 | 7) => TopKey::Home,
        (b'~', 4 | 8) => TopKey::End,
        (b'~', 5) => TopKey::PageUp,
        (b'~', 6) => TopKey::PageDown,
        // Insert, Delete, F1 to F20.
        (b'~', 2 | 3 | 11..=34) => TopKey::Other,
        (b'Z', _) => TopKey::BackTab,
        _ => key_of_letter(last)?,
    };
    // Ctrl with an arrow and the like is no key of ours.
    let is_ours = !said.has_control || matches!(key, TopKey::Control(_));
    is_ours.then_some(key)
}

/// The key of a letter that ends a sequence without a number.
fn key_of_letter(last: u8) -> Option<TopKey> {
    Some(match last {
        b'A' => TopKey::Up,
        b'B' => TopKey::Down,
        b'C' => TopKey::Right,
        b'D' => TopKey::Left,
        b'H' => TopKey::Home,
        b'F' => TopKey::End,
        // F1 to F4.
        b'P'..=b'S' => TopKey::Other,
        _ => return None,
    })
}

fn key_of_code(number: u32, said: KeyParameters) -> Option<TopKey> {
    Some(match number {
        13 | 57414 => TopKey::Enter,
        9 if said.has_shift => TopKey::BackTab,
        9 => TopKey::Tab,
        27 => TopKey::Esc,
        127 => TopKey::Backspace,
        57399..=57408 => TopKey::Char(char::from_digit(number - 57399, 10)?),
        57410 => TopKey::Char('/'),
        57417 => TopKey::Left,
        57418 => TopKey::Right,
        57419 => TopKey::Up,
        57420 => TopKey::Down,
        57421 => TopKey::PageUp,
        57422 => TopKey::PageDown,
        57423 => TopKey::Home,
        57424 => TopKey::End,
        57344..=63743 => TopKey::Other,
        _ => match char::from_u32(number).filter(|letter| !letter.is_control())? {
            letter if said.has_control => TopKey::Control(letter),
            letter => TopKey::Char(letter),
        },
    })
}

/// A key, with or without Shift and Alt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopKey {
    Char(char),
    Control(char),
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Tab,
    BackTab,
    Enter,
    Esc,
    Backspace,
    Other,
}

#[cfg(test)]
mod tests {
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
}
