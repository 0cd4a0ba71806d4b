use std::fs;

use super::*;

fn with(description: &str) -> Result<Geometry, GeometryError> {
    Geometry::default().with(description)
}

#[test]
fn descriptions_change_what_they_name() {
    let changed = with("l1d=48k,12,64 l2=off ll=30m,12 DTLB=64,full stlb=1536,12").unwrap();
    assert_eq!(changed.to_string(), "48K/12 L1D, 32K/8 L1I, 30M/12 L3, 64/full DTLB, 1536/12 STLB");
    assert_eq!(with("").unwrap(), Geometry::default());
    assert_eq!(
        with("zen3 l3=off").unwrap().to_string(),
        "32K/8 L1D, 32K/8 L1I, 512K/8 L2, 64/full DTLB, 2048/16 STLB"
    );
    let none = with("l1d=off l1i=off l2=off l3=off dtlb=off stlb=off").unwrap();
    assert_eq!(none.to_string(), "no caches");
}

#[test]
fn tlbs_are_named_by_themselves_or_by_a_machine() {
    for (description, named) in
        [("", false), ("l1d=8k,4 ll=off", false), ("l2=off STLB=64,4", true), ("Zen3", true)]
    {
        assert_eq!(Geometry::names_tlbs(description), named, "{description:?}");
    }
    let without = with("zen3").unwrap().without_tlbs().to_string();
    assert_eq!(without, "32K/8 L1D, 32K/8 L1I, 512K/8 L2, 32M/16 L3");
}

#[test]
fn each_preset_is_a_description_of_itself() {
    for (name, levels) in PRESETS {
        let machine = with(name).unwrap();
        let text = machine.to_string();
        let mut again = Vec::new();
        for part in text.split(", ") {
            let (size, level) = part.split_once(' ').unwrap();
            again.push(format!("{level}={}", size.replace('/', ",")).to_ascii_lowercase());
        }
        assert_eq!(again.join(" "), levels, "{name}: {text}");
        assert_eq!(with(levels).unwrap(), machine, "{name}");
    }
}

#[test]
fn wrong_descriptions_are_quoted() {
    for (text, part) in [
        ("l4=1m,8", "neither"),
        ("pentium", "zen3"),
        ("l1d=32k", "number of ways"),
        ("l1d=32k,x", "\"x\" is not a size"),
        ("l1d=0,8", "\"0\" is not a size"),
        ("l1d=32k,8,32", "64 bytes"),
        ("l1d=30k,8", "not a power of two"),
        ("l1d=32100,8", "no whole number of sets"),
        ("l1d=8m,8", "more than"),
        ("l2=1m,full", "at most 128"),
        ("dtlb=64,4,64", "no lines"),
        ("dtlb=64,5", "no whole number"),
        ("stlb=99999999,1", "at most"),
        ("l2=99999999999g,8", "is not a size"),
        ("l2=1m,8:", "from 1 to"),
        ("l2=1m,8:0", "from 1 to"),
        ("l1d=32k,8:4.5", "from 1 to"),
        ("l1d=32k:4", "number of ways"),
        ("l1i=32k,8:4", "no time of its own"),
        ("dtlb=64,4:1", "no time of its own"),
        ("memory=10001", "from 1 to"),
        ("walk=64,4", "from 1 to"),
    ] {
        let error = with(text).unwrap_err().to_string();
        assert!(error.contains(part) && error.contains(text), "{text}: {error}");
    }
}

#[test]
fn times_are_of_levels_and_of_what_is_none() {
    let timed = "l1d=32k,8,64:4 l2=512k,8:13 ll=4m,16:55 stlb=2048,16:7 memory=410 modified=86 \
                 walk=90 blocked=14";
    let geometry = with(timed).unwrap();
    let AccessCosts { lines, pages, blocked } = geometry.shape().costs;
    assert_eq!((lines, pages, blocked), ([4, 13, 55, 86, 410], [0, 0, 7, 90], 14));
    let text = geometry.to_string();
    assert!(
        text.ends_with(
            "2048/16 STLB, cycles 4 L1D 13 L2 55 L3 86 modified 410 memory +7 STLB +90 walk +14 \
             blocked"
        ),
        "{text}"
    );
    // Sizes alone leave the times as they were, and so does a machine's name.
    assert_eq!(geometry.clone().with("zen3 l2=1m,8").unwrap().costs, geometry.costs);
    assert_eq!(with("l2=1m,8").unwrap().costs, COSTS);
}

#[test]
fn sysfs_gives_the_caches() {
    let root = std::env::temp_dir().join(format!("hardmeter-geometry-{}", std::process::id()));
    let all = [
        ("1", "Data", "12", "64"),
        ("1", "Instruction", "8", "64"),
        ("2", "Unified", "20", "1024"),
        ("3", "Unified", "12", "40960"),
    ];
    for (index, (level, kind, ways, sets)) in all.into_iter().enumerate() {
        let directory = root.join(format!("sys/devices/system/cpu/cpu0/cache/index{index}"));
        fs::create_dir_all(&directory).unwrap();
        for (name, value) in [
            ("level", level),
            ("type", kind),
            ("ways_of_associativity", ways),
            ("number_of_sets", sets),
            ("coherency_line_size", "64"),
        ] {
            fs::write(directory.join(name), format!("{value}\n")).unwrap();
        }
    }
    let geometry = Geometry::of_machine(&root);
    fs::remove_dir_all(&root).unwrap();
    let text = geometry.to_string();
    assert!(text.starts_with("48K/12 L1D, 32K/8 L1I, 1280K/20 L2, 30M/12 L3, "), "{text}");
    // Nothing there: the machine that is the same everywhere.
    let geometry = Geometry::of_machine(&root);
    assert_eq!(geometry.l2, Geometry::default().l2);
}
