use super::{Blocked, DataSrc, Distance, Level, LevelOutcome, Operation, Snoop, TlbOutcome};

fn text(word: u64) -> String {
    DataSrc(word).to_string()
}

#[test]
fn nothing_is_known_from_zero_and_both_forms_of_not_available() {
    for word in [0, DataSrc::NOT_AVAILABLE_OLD.0, DataSrc::NOT_AVAILABLE.0] {
        assert!(!DataSrc(word).is_available(), "{word:#x}");
        assert_eq!(text(word), "not available");
        assert_eq!(DataSrc(word).level(), Level::NotAvailable);
        assert_eq!(DataSrc(word).distance(), None);
        assert_eq!(DataSrc(word).unknown_bits(), 0);
    }
}

/// Words that a Skylake-SP wrote for load latency samples, each taken apart
/// by hand along the shifts of uapi/linux/perf_event.h.
#[test]
fn words_of_a_real_machine_read_as_what_they_mean() {
    for (word, wanted) in [
        (0x102_6810_0142, "load, L1 hit, snoop none, TLB L1/L2 hit"),
        (0x102_6a10_0142, "load, L1 hit, snoop none, locked, TLB L1/L2 hit"),
        (0x118_6810_0242, "load, LFB hit, snoop none, TLB L1/L2 hit"),
        (0x104_6810_0442, "load, L2 hit, snoop none, TLB L1/L2 hit"),
        (0x106_6810_0842, "load, L3 hit, snoop none, TLB L1/L2 hit"),
        (0x106_5010_0842, "load, L3 hit, snoop none, TLB L2 miss"),
    ] {
        assert_eq!(text(word), wanted, "{word:#x}");
    }
}

#[test]
fn the_level_number_wins_over_the_deprecated_bits() {
    // lvl: hit, L3; lvl_num: CXL; remote.
    let source = DataSrc(2 | (2 | 1 << 6) << 5 | 9 << 33 | 1 << 37);
    assert_eq!(source.level(), Level::Cxl);
    assert_eq!(source.distance(), Some(Distance::Remote));
    assert_eq!(source.to_string(), "load, CXL hit, remote");
    let plain = DataSrc(4 | 1 << 6 << 5 | 15 << 33);
    assert_eq!(plain.level(), Level::L3);
    assert_eq!(plain.to_string(), "store, L3");
}

#[test]
fn every_level_number_has_its_own_name() {
    let mut seen = std::collections::HashSet::new();
    for number in 1..15u64 {
        let level = DataSrc(number << 33).level();
        assert!(!matches!(level, Level::NotAvailable | Level::Unknown(_)), "{number}");
        assert!(seen.insert(level.to_string()), "{number} {level}");
    }
    assert_eq!(DataSrc(4 << 33).level(), Level::L4);
    assert_eq!(DataSrc(14 << 33).level(), Level::PersistentMemory);
}

#[test]
fn deprecated_levels_tell_the_distance() {
    for (bit, level, distance) in [
        (3, Level::L1, None),
        (4, Level::LineFillBuffer, None),
        (5, Level::L2, None),
        (6, Level::L3, None),
        (7, Level::Ram, None),
        (8, Level::Ram, Some(Distance::OneHop)),
        (9, Level::Ram, Some(Distance::TwoHops)),
        (10, Level::AnyCache, Some(Distance::OneHop)),
        (11, Level::AnyCache, Some(Distance::TwoHops)),
        (12, Level::Io, None),
        (13, Level::Uncached, None),
    ] {
        let source = DataSrc(1 << (5 + bit));
        assert_eq!((source.level(), source.distance()), (level, distance), "bit {bit}");
    }
}

/// Zen 2 and 3 do not tell their L3 from another core's cache: as Linux 6.1
/// and 6.6 write that.
#[test]
fn the_l3_or_a_near_cache_is_not_far_away() {
    let linux_6_1 = 2 | (2 | 1 << 6 | 1 << 10) << 5;
    let linux_6_6 = linux_6_1 | 11 << 33 | 1 << 43;
    for word in [linux_6_1, linux_6_6] {
        assert_eq!(DataSrc(word).level(), Level::AnyCache);
        assert_eq!(text(word), "load, cache hit");
    }
    assert_eq!(text(linux_6_6 | 1 << 37), "load, cache hit, another core");
}

#[test]
fn hops_say_how_far() {
    for (hops, distance) in
        [(1, Distance::Core), (2, Distance::Node), (3, Distance::Socket), (4, Distance::Board)]
    {
        let source = DataSrc(3 << 33 | 1 << 37 | hops << 43);
        assert_eq!(source.distance(), Some(distance));
    }
    assert_eq!(
        text(2 | 11 << 33 | 1 << 37 | 3 << 43 | 16 << 19),
        "load, cache, another socket, snoop hitm"
    );
}

#[test]
fn each_field_is_read_from_its_own_bits() {
    let source =
        DataSrc(4 | 8 | 4 << 5 | 2 << 38 | 4 << 19 | 2 << 24 | 0b110100 << 26 | 6 << 40 | 7 << 46);
    assert_eq!(source.operation(), Operation::STORE | Operation::PREFETCH);
    assert_eq!(source.outcome(), LevelOutcome::MISS);
    assert_eq!(source.snoop(), Snoop::PEER | Snoop::HIT);
    assert!(source.is_locked());
    assert_eq!(source.tlb(), TlbOutcome::MISS | TlbOutcome::L2 | TlbOutcome::WALK);
    assert_eq!(source.blocked(), Blocked::DATA | Blocked::ADDRESS);
    assert_eq!(source.region(), Some(7));
    assert_eq!(
        source.to_string(),
        "store+prefetch, miss, snoop hit+peer, locked, TLB L2 miss+page walk, \
         blocked by data+address, region MMIO"
    );
    assert_eq!(DataSrc(u64::MAX).unknown_bits(), 0xfff8_0000_0000_0000);
}
