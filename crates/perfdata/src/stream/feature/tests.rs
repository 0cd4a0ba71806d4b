use super::*;
use crate::attr::EventType;
use crate::header::Misc;
use crate::stream::{BuildId, Compression, EventGroup, NumaNode};

const ORDERS: [ByteOrder; 2] = [ByteOrder::Little, ByteOrder::Big];

fn bytes(feature: &Feature, order: ByteOrder) -> Vec<u8> {
    let mut out = Vec::new();
    feature.encode(&mut ByteWriter::new(&mut out, order));
    out
}

fn all(order: ByteOrder) -> Vec<Feature> {
    let attr = Attr { kind: EventType::SOFTWARE, config: 2, ..Attr::default() };
    let cache = CacheDescription {
        level: 1,
        line_size: 64,
        sets: 64,
        ways: 8,
        kind: "Data".into(),
        size: "32K".into(),
        cpus: "0".into(),
    };
    vec![
        Feature::Hostname("a host".into()),
        Feature::OsRelease(String::new()),
        Feature::Version("6.1".into()),
        Feature::Arch("aarch64".into()),
        Feature::NrCpus { available: 8, online: 3 },
        // A name of exactly the alignment needs room for its NUL.
        Feature::CpuDescription("x".repeat(64)),
        Feature::CpuId("AuthenticAMD,25,1,1".into()),
        Feature::TotalMemory(1 << 40),
        Feature::CommandLine(vec!["ebs".into(), "-k".into(), String::new()]),
        Feature::EventDescriptions(vec![
            EventName::new(&attr, &[1, 2], "page_fault", order).unwrap(),
            EventName::new(&attr, &[], "other", order).unwrap(),
        ]),
        Feature::PmuMappings(vec![(4, "cpu".into()), (1, "software".into())]),
        Feature::Caches(vec![
            cache.clone(),
            CacheDescription { kind: "Instruction".into(), ..cache },
        ]),
        Feature::SampleTime { first: Time(1), last: Time(u64::MAX) },
        Feature::Other { id: FeatureId(99), data: vec![1, 2, 3] },
    ]
    .into_iter()
    .chain(details().into_iter().map(Feature::Detail))
    .collect()
}

fn details() -> Vec<Detail> {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let build_id = |id: Vec<u8>, path: &str| BuildId {
        misc: Misc(1 << 15 | 2),
        pid: -1,
        id,
        path: path.into(),
    };
    vec![
        Detail::BuildIds(vec![build_id(vec![7; 20], "/bin/true"), build_id(vec![8; 16], "[k]")]),
        Detail::CpuTopology {
            packages: vec!["0-3".into()],
            cores: vec!["0,2".into(), "1,3".into()],
        },
        Detail::NumaNodes(vec![NumaNode { node: 1, total: 2, free: 3, cpus: "0-3".into() }]),
        Detail::Groups(vec![EventGroup { name: "{a,b}".into(), leader: 0, members: 2 }]),
        Detail::MemoryBlocks {
            block_size: 1 << 27,
            nodes: vec![(0, 64, vec![5]), (1, 65, vec![6, 7])],
        },
        Detail::ClockResolution(1),
        Detail::Compression(Compression { kind: 1, level: 2, ratio: 3, ring: 4 }),
        Detail::CpuPmuCaps(vec![pair("branches", "32"), pair("max_precise", "3")]),
        Detail::ClockReference { clockid: 1, wall: 2, clock: 3 },
        Detail::HybridTopology(vec![pair("cpu_core", "0-3"), pair("cpu_atom", "4-11")]),
        Detail::PmuCaps(vec![("cpu_core".into(), vec![pair("branches", "32")])]),
    ]
}

#[test]
fn what_is_written_is_read() {
    for order in ORDERS {
        for feature in all(order) {
            let data = bytes(&feature, order);
            assert_eq!(Feature::decode(feature.id(), &data, order), Ok(feature));
        }
    }
}

/// The first bytes of the CACHE section that perf 6.1 wrote on an AMD EPYC.
#[test]
fn a_cache_as_perf_writes_it() {
    let mut data = Vec::new();
    for word in [1u32, 1, 1, 64, 64, 8] {
        data.extend(word.to_le_bytes());
    }
    for text in ["Data", "32K", "0"] {
        data.extend(64u32.to_le_bytes());
        let mut padded = [0; 64];
        padded[..text.len()].copy_from_slice(text.as_bytes());
        data.extend(padded);
    }
    let Ok(Feature::Caches(caches)) = Feature::decode(FeatureId::CACHE, &data, ByteOrder::Little)
    else {
        panic!("no caches")
    };
    let cache = &caches[0];
    assert_eq!((cache.level, cache.line_size, cache.sets, cache.ways), (1, 64, 64, 8));
    assert_eq!((&*cache.kind, &*cache.size, &*cache.cpus), ("Data", "32K", "0"));
    assert_eq!(bytes(&Feature::Caches(caches), ByteOrder::Little), data);
}

#[test]
fn every_cut_is_an_error_and_no_count_reserves_memory() {
    for feature in all(ByteOrder::Little) {
        let data = bytes(&feature, ByteOrder::Little);
        if matches!(feature, Feature::Other { .. }) {
            continue;
        }
        // A list of build ids may end after any of them.
        let ends: &[usize] = match feature {
            Feature::Detail(Detail::BuildIds(_)) => &[0, 100],
            _ => &[],
        };
        for cut in
            (0..data.len()).filter(|cut| !ends.iter().any(|end| (*end..end + 8).contains(cut)))
        {
            let result = Feature::decode(feature.id(), &data[..cut], ByteOrder::Little);
            assert!(result.is_err(), "{feature:?} cut to {cut}");
        }
    }
    let hostile = [0xff; 16];
    for id in [FeatureId::HOSTNAME, FeatureId::CMDLINE, FeatureId::EVENT_DESC, FeatureId::CACHE] {
        assert!(Feature::decode(id, &hostile, ByteOrder::Little).is_err(), "{id}");
    }
}

#[test]
fn the_line_size_is_that_of_the_nearest_data_cache() {
    let mut features = crate::stream::Features::default();
    assert_eq!(features.cache_line_size(), None);
    let cache = |level, kind: &str, line_size| CacheDescription {
        level,
        line_size,
        kind: kind.into(),
        ..CacheDescription::default()
    };
    let caches = vec![cache(2, "Unified", 128), cache(1, "Instruction", 32), cache(1, "Data", 64)];
    features.insert(Feature::Caches(caches));
    assert_eq!(features.cache_line_size(), Some(64));
}

/// Two nodes of 272 blocks: perf writes how many bits follow once more.
#[test]
fn memory_blocks_as_perf_writes_them() {
    let words: [u64; 17] =
        [1, 1 << 27, 2, 0, 272, 272, 0x3fff, !0, !0, !0, 0xffff, 1, 272, 272, 0, 0, !0];
    let mut data: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
    assert!(Feature::decode(FeatureId::MEM_TOPOLOGY, &data, ByteOrder::Little).is_err());
    data.extend([7u64, 8].into_iter().flat_map(u64::to_le_bytes));
    let blocks = vec![(0, 272, vec![0x3fff, !0, !0, !0, 0xffff]), (1, 272, vec![0, 0, !0, 7, 8])];
    let expected = Detail::MemoryBlocks { block_size: 1 << 27, nodes: blocks };
    let read = Feature::decode(FeatureId::MEM_TOPOLOGY, &data, ByteOrder::Little);
    assert_eq!(read, Ok(Feature::Detail(expected)));
}
