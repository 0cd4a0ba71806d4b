//! Terms and bits, by hand, at random, and for every tree of fixtures.

use proptest::prelude::*;

use super::*;
use crate::machine::facts::FixtureTrees;

fn bits(text: &str) -> BitField {
    match TermFormat::parse(text) {
        TermFormat::Bits(bits) => bits,
        other => panic!("{text}: {other:?}"),
    }
}

fn formats(list: &[(&str, &str)]) -> Formats {
    list.iter().map(|(name, text)| (*name, TermFormat::parse(text))).collect()
}

fn x86() -> Formats {
    formats(&[
        ("event", "config:0-7,32-35\n"),
        ("umask", "config:8-15,40-47"),
        ("edge", "config:18"),
        ("inv", "config:23\n"),
        ("cmask", "config:24-31"),
        ("ldlat", "config1:0-15"),
        ("all", "config2:0-63"),
        ("third", "config3:63"),
        ("fourth", "config4:1-2\n\n"),
        ("newer", "config5:0-7"),
        ("other", "sample_period:0-63"),
    ])
}

fn pack(text: &str) -> Result<ConfigWords, String> {
    x86().pack(&Terms::parse(text).unwrap()).map_err(|error| error.to_string())
}

#[test]
fn every_published_form() {
    for (text, word, mask) in [
        ("config:0-7\n", ConfigWord::Config, 0xff),
        ("config:18", ConfigWord::Config, 1 << 18),
        ("config:0-7,32-35\n", ConfigWord::Config, 0xf_0000_00ff),
        ("config:0-7,32-35,59-60", ConfigWord::Config, 0x1800_000f_0000_00ff),
        ("config:0-7,21", ConfigWord::Config, 0x20_00ff),
        ("config:14-51", ConfigWord::Config, 0x000f_ffff_ffff_c000),
        ("config1:0-63", ConfigWord::Config1, u64::MAX),
        ("config2:63", ConfigWord::Config2, 1 << 63),
        ("config3:0", ConfigWord::Config3, 1),
        ("config4:1,6-10,44\n\n", ConfigWord::Config4, 0x1000_0000_07c2),
        ("config:32-35,0-7", ConfigWord::Config, 0xf_0000_00ff),
        ("config:0-7,4-9", ConfigWord::Config, 0x3ff),
        (" config : 0 - 7 , 9 ", ConfigWord::Config, 0x2ff),
    ] {
        let found = bits(text);
        assert_eq!((found.word(), found.mask()), (word, mask), "{text:?}");
        assert_eq!(bits(&found.to_string()), found);
    }
    assert_eq!(bits("config:0-7,32-35").to_string(), "config:0-7,32-35");
    assert_eq!(bits("config1:5").to_string(), "config1:5");
}

#[test]
fn unknown_forms_are_kept_verbatim() {
    for text in [
        "",
        "config",
        "config:",
        "config5:0",
        "config:64",
        "config:7-0",
        "config:-1",
        "config:0-",
        "config:0,,1",
        "config:+1",
        "config:0-7;8",
        "sample_period:0-63",
        "config:0-7 umask:1",
        "\u{0}\u{1}",
        "config:99999999999999999999",
    ] {
        assert_eq!(TermFormat::parse(text), TermFormat::Unknown(text.to_owned()), "{text:?}");
    }
    let error = pack("newer=1").unwrap_err();
    assert!(error.starts_with("term newer: its format on this kernel, \"config5:0-7\""), "{error}");
}

#[test]
fn terms_become_words() {
    for (text, words) in [
        ("", [0; 5]),
        ("event=0xc5,umask=0x1,inv,cmask=0x01\n", [0x0180_01c5, 0, 0, 0, 0]),
        ("event=0x120", [0x1_0000_0020, 0, 0, 0, 0]),
        ("event=0xfff,umask=0xffff", [0x0000_ff0f_0000_ffff, 0, 0, 0, 0]),
        ("event=0xcd, umask=0x1 ,ldlat=30", [0x1cd, 30, 0, 0, 0]),
        ("event=010", [10, 0, 0, 0, 0]),
        ("inv=0", [0; 5]),
        ("all=0xffffffffffffffff,third,fourth=3", [0, 0, u64::MAX, 1 << 63, 6]),
        ("config=0x1cd,config1=3,config4=9", [0x1cd, 3, 0, 0, 9]),
        ("config=0x1cd,inv,umask=1", [0x80_01cd, 0, 0, 0, 0]),
        ("r1a8,inv", [0x80_01a8, 0, 0, 0, 0]),
        ("event=0xc0,period=1000,name=mine", [0xc0, 0, 0, 0, 0]),
    ] {
        assert_eq!(pack(text).map(|config| config.words), Ok(words), "{text}");
    }
    let terms = Terms::parse("event=1,period=0x10,name='a b'").unwrap();
    assert_eq!((terms.period(), terms.label()), (Ok(Some(16)), Ok(Some("a b"))));
}

#[test]
fn wrong_terms_are_refused_by_name() {
    for (text, part) in [
        (
            "umask=0x10000",
            "umask=0x10000 is too wide: config:8-15,40-47 has 16 bits, at most 0xffff",
        ),
        ("edge=2", "edge=0x2 is too wide: config:18 has 1 bits"),
        ("evnt=1", "this PMU has no term evnt; did you mean event?"),
        ("zzzzz=1", "this PMU has no term zzzzz"),
        ("config5=1", "no term config5; did you mean config"),
        ("umask=1,umask=2", "umask is given twice"),
        ("config=1,r2", "config is given twice"),
        (
            "config=0x1cd,umask=2",
            "umask and config=0x1cd disagree about the bits config:8-15,40-47",
        ),
        ("event=low", "event=low: a number belongs here"),
        ("umask=?", "umask wants a value"),
        ("config", "config wants a value"),
        ("freq=99", "freq is a setting of perf record"),
        ("other=1", "\"sample_period:0-63\""),
    ] {
        let error = pack(text).unwrap_err();
        assert!(error.contains(part), "{text}: {error}");
    }
    for (text, part) in [
        ("name='a'b'c'", "name=\"'a'b'c'\" is no text"),
        ("name=a\u{7}", "name=\"a\\u{7}\" is no text"),
        ("name=\"a", "a quote is not closed"),
        ("event=5 umask", "event=5 umask: no number"),
    ] {
        let error = Terms::parse(text).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
    let terms = |text| Terms::parse(text).unwrap();
    assert!(terms("period").period().is_err() && terms("period=x").period().is_err());
    assert!(terms("name").label().is_err() && terms("name=5").label().is_err());
}

#[test]
fn bits_that_no_format_describes_are_seen() {
    let older = formats(&[("event", "config:0-7"), ("umask", "config:8-15"), ("x", "later:1")]);
    let config = ConfigWords { words: [0x0100_0000_41c5, 3, 0, 0, 0] };
    assert_eq!(older.uncovered(&config).words, [0x0100_0000_0000, 3, 0, 0, 0]);
    assert!(x86().uncovered(&config).is_zero());
    assert_eq!(config.to_string(), "config=0x100000041c5,config1=0x3");
    assert_eq!(ConfigWords::default().to_string(), "config=0x0");
}

proptest! {
    #[test]
    fn a_field_gives_back_its_value(mask in 1_u64.., value: u64, noise: u64) {
        let field = BitField::new(ConfigWord::Config2, mask).unwrap();
        let value = value & field.max();
        let word = field.deposit(value).unwrap();
        prop_assert_eq!(word & !mask, 0);
        prop_assert_eq!(field.extract(word | noise & !mask), value);
        prop_assert_eq!(bits(&field.to_string()), field);
        if field.width() < 64 {
            prop_assert_eq!(field.deposit(field.max() + 1), None);
        }
    }

    #[test]
    fn any_text_is_terms_or_a_reason(text in "[a-z0-9=,?'\" \n:.xX-]{0,30}") {
        match Terms::parse(&text) {
            Ok(terms) => {
                prop_assert_eq!(Terms::parse(&terms.to_string()), Ok(terms.clone()));
                if let Err(error) = x86().pack(&terms) {
                    prop_assert!(error.to_string().len() > 10);
                }
            }
            Err(error) => prop_assert!(error.to_string().len() > 10),
        }
    }
}

/// Every format of every tree, with its smallest, largest and mixed values,
/// alone and together with all others that it does not overlap.
#[test]
fn every_format_of_every_tree_round_trips() {
    let trees = FixtureTrees::unpack();
    let mut seen = 0;
    for machine in trees.machines() {
        for pmu in trees.facts(&machine).pmus.unwrap() {
            let formats = pmu.description.unwrap().formats;
            let mut together = Vec::new();
            let mut taken = ConfigWords::default();
            for (name, format) in formats.iter() {
                let place = format!("{machine}/{}/{name}", pmu.name);
                let TermFormat::Bits(field) = format else { panic!("{place}: {format:?}") };
                seen += 1;
                for value in [0, 1, field.max(), 0x5555_5555_5555_5555 & field.max()] {
                    let terms = Terms::parse(&format!("{name}={value:#x}")).unwrap();
                    let config = formats.pack(&terms).unwrap();
                    assert_eq!(field.extract(config.get(field.word())), value, "{place}");
                    assert!(formats.uncovered(&config).is_zero(), "{place}");
                }
                if taken.get(field.word()) & field.mask() == 0 {
                    *taken.get_mut(field.word()) |= field.mask();
                    together.push((name, field, field.max() & 0x3333_3333_3333_3333));
                }
            }
            let text: Vec<_> =
                together.iter().map(|(name, _, value)| format!("{name}={value}")).collect();
            let config = formats.pack(&Terms::parse(&text.join(",")).unwrap()).unwrap();
            for (name, field, value) in together {
                let found = field.extract(config.get(field.word()));
                assert_eq!(found, value, "{machine}/{}/{name}", pmu.name);
            }
        }
    }
    assert!(seen > 400, "{seen} formats");
}

/// x86's layout written down once more, without format files: what the
/// kernel's event text means to a reader of the SDM and of AMD's PPR.
fn by_hand(text: &str) -> [u64; 5] {
    let mut words = [0; 5];
    for term in text.trim().split(',') {
        let (name, value) = term.split_once('=').unwrap_or((term, "1"));
        let value = match value.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
            None => value.parse().unwrap(),
        };
        match name {
            "event" => words[0] |= value & 0xff | value >> 8 << 32,
            "umask" => words[0] |= (value & 0xff) << 8 | value >> 8 << 40,
            "edge" => words[0] |= value << 18,
            "any" => words[0] |= value << 21,
            "inv" => words[0] |= value << 23,
            "cmask" => words[0] |= value << 24,
            "in_tx" => words[0] |= value << 32,
            "in_tx_cp" => words[0] |= value << 33,
            "ldlat" => words[1] |= value,
            other => panic!("{text}: {other}"),
        }
    }
    words
}

#[test]
fn every_alias_of_every_tree_packs_to_what_it_says() {
    let trees = FixtureTrees::unpack();
    let (mut seen, mut scaled) = (0, 0);
    for machine in trees.machines() {
        for pmu in trees.facts(&machine).pmus.unwrap() {
            let description = pmu.description.unwrap();
            let directory = trees.path(&machine).join("devices").join(&pmu.name).join("events");
            let files = std::fs::read_dir(directory).into_iter().flatten().count();
            let companions = description.aliases.values();
            let companions =
                companions.map(|alias| usize::from(alias.scale.is_some())).sum::<usize>();
            assert_eq!(files, description.aliases.len() + companions, "{machine}/{}", pmu.name);
            scaled += companions;
            for name in description.aliases.keys() {
                let place = format!("{machine}/{}/{name}", pmu.name);
                let file =
                    trees.path(&machine).join("devices").join(&pmu.name).join("events").join(name);
                let text = std::fs::read_to_string(file).unwrap();
                let config = description
                    .alias_config(name)
                    .unwrap()
                    .unwrap_or_else(|error| panic!("{place}: {error}"));
                seen += 1;
                assert_eq!(config.words, by_hand(&text), "{place}: {text}");
                assert!(description.formats.uncovered(&config).is_zero(), "{place}");
            }
        }
    }
    assert!(seen > 350 && scaled >= 12, "{seen} aliases, {scaled} with a scale");
}
