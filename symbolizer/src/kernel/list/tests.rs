use super::*;

fn parse(text: &str) -> Result<SymbolList, ListError> {
    SymbolList::parse(text.as_bytes().to_vec())
}

#[test]
fn the_grammar() {
    let list = parse(concat!(
        "ffffffff81000000 T _text\n",
        "\n",
        "                 U undefined\n",
        "c0100000 t short.constprop.0\n",
        "ffffffffc0000000 t init_module\t[nf_tables]\n",
        "ffffffffc0000010 T other [x y]\r\n",
        "FFFFFFFFC0201000 t ftrace_trampoline\t[__builtin__ftrace]\n",
        "0000000000000001 A last_without_newline",
    ))
    .unwrap();
    let module = |entry: &ListedSymbol| {
        list.modules.get(usize::from(entry.module)).map(|name| String::from_utf8_lossy(name))
    };
    let seen: Vec<_> = list
        .entries
        .iter()
        .map(|entry| {
            let name = String::from_utf8_lossy(list.name(entry));
            (entry.address, char::from(entry.kind), name, module(entry))
        })
        .collect();
    let expected = [
        (0xffff_ffff_8100_0000, 'T', "_text", None),
        (0xc010_0000, 't', "short.constprop.0", None),
        (0xffff_ffff_c000_0000, 't', "init_module", Some("nf_tables")),
        (0xffff_ffff_c000_0010, 'T', "other", Some("x y")),
        (0xffff_ffff_c020_1000, 't', "ftrace_trampoline", Some("__builtin__ftrace")),
        (1, 'A', "last_without_newline", None),
    ];
    let expected = expected.map(|(address, kind, name, module)| {
        (address, kind, name.into(), module.map(std::borrow::Cow::from))
    });
    assert_eq!(seen, expected);
    assert_eq!(list.address_of("short.constprop.0"), Some(0xc010_0000));
    assert_eq!(list.address_of("init_module"), None);
}

#[test]
fn lines_that_are_none_are_quoted_with_their_number() {
    for line in [
        "hello",
        "ffffffff81000000",
        "ffffffff81000000 T",
        "ffffffff81000000 T ",
        "ffffffff81000000  name",
        "fffffffff81000000 T name",
        "ffffffff81000000 T name module",
        "ffffffff81000000 T name []",
        "ffffffff81000000 T\tname",
        " T name x",
        "g T name",
    ] {
        let error = parse(&format!("ffffffff81000000 T _text\n{line}\n")).unwrap_err();
        assert_eq!(
            error,
            ListError::Line { line: 2, text: line.trim().escape_debug().to_string() }
        );
    }
}

#[test]
fn lists_without_addresses() {
    assert_eq!(parse("").unwrap_err(), ListError::Empty);
    assert_eq!(parse("\n\n").unwrap_err(), ListError::Empty);
    assert_eq!(parse("0000000000000000 T _text\n0 t x\n").unwrap_err(), ListError::Hidden);
}

#[test]
fn more_modules_than_numbers() {
    let text: String = (0..=u32::from(u16::MAX)).map(|n| format!("{n:x} t a [m{n}]\n")).collect();
    assert_eq!(parse(&text).unwrap_err(), ListError::TooManyModules { line: 65536 });
    // Alternating names take no time.
    let text: String = (0..200_000).map(|n| format!("1 t a [m{}]\n", n % 60_000)).collect();
    assert_eq!(parse(&text).unwrap().modules.len(), 60_000);
}

proptest::proptest! {
    #[test]
    fn sixteen_digits_at_once_are_those_one_by_one(number: u64, at in 0_usize..16, byte: u8) {
        let mut text: [u8; 16] = format!("{number:016x}").into_bytes().try_into().unwrap();
        proptest::prop_assert_eq!(sixteen_digits(&text), Some(number));
        text[at] = byte;
        // Large letters go the other way.
        let is_small = matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let expected = is_small.then(|| any_digits(&text).0);
        proptest::prop_assert_eq!(sixteen_digits(&text), expected);
    }
}

proptest::proptest! {
    /// One line that ends as Windows has it, and none goes the short way.
    #[test]
    fn the_short_way_gives_what_the_long_one_does(
        lines in proptest::collection::vec(
            proptest::prop_oneof![
                "[0-9a-f]{16} [a-zA-Z ] [a-z_. \t]{0,12}",
                "[0-9a-f]{14,17} [tT] [a-z_]{1,9}(\t\\[[a-z]{1,4}\\])?",
                "[0-9A-F]{16} T x",
                "[ -~]{0,30}",
            ],
            1..12,
        ),
    ) {
        let text = lines.join("\n") + "\n";
        let last = "ffffffffffffffff T last";
        let of = |end: &str| {
            parse(&format!("{text}{last}{end}\n")).map(|list| (list.entries, list.modules))
        };
        proptest::prop_assert_eq!(of(""), of("\r"));
    }
}
