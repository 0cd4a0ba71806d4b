use super::*;
use latency::FieldPages;
use latency::part::curves::LevelStudy;
use latency::part::tlbs::TlbStudy;
use proptest::prelude::*;

fn level(size: u64, ends_before: Option<u64>, latency: f64) -> FoundLevel {
    FoundLevel { size, ends_before, latency }
}

fn study(levels: Vec<FoundLevel>, tlbs: Vec<FoundLevel>) -> LatencyStudy {
    let huge_pages = FieldPages { huge: true, huge_bytes: 0, bytes: 0 };
    LatencyStudy {
        levels: Some(LevelStudy { levels, ..LevelStudy::default() }),
        tlbs: Some(TlbStudy { huge_pages, points: Vec::new(), levels: tlbs }),
        ..LatencyStudy::default()
    }
}

fn zen3() -> Geometry {
    Geometry::default().with("zen3").unwrap()
}

#[test]
fn sizes_are_the_machines_where_both_agree() {
    let levels = vec![
        level(32 << 10, Some(40 << 10), 4.05),
        level(384 << 10, Some(448 << 10), 12.4),
        level(4 << 20, Some(5 << 20), 56.8),
        level(256 << 20, None, 410.2),
    ];
    let tlbs =
        vec![level(64, Some(80), 0.1), level(1280, Some(1536), 7.3), level(16384, None, 131.5)];
    let text = as_cache(&study(levels, tlbs), &zen3()).unwrap();
    assert_eq!(
        text,
        "l1d=32k,8:4 l2=384k,12:12 l3=4m,8:57 dtlb=64,64 stlb=1280,10:7 walk=132 memory=410"
    );
    let geometry = zen3().with(&text).unwrap();
    assert_eq!(geometry.costs.lines, [4, 12, 57, 110, 410]);
    assert_eq!(geometry.costs.pages, [0, 0, 7, 132]);
}

#[test]
fn levels_that_were_not_seen_are_off() {
    let two = vec![level(32 << 10, Some(40 << 10), 4.0), level(1 << 30, None, 90.0)];
    let text = as_cache(&study(two, Vec::new()), &zen3()).unwrap();
    assert_eq!(text, "l1d=32k,8:4 l2=off l3=off memory=90");
    let one = vec![level(1 << 30, None, 90.0)];
    let error = as_cache(&study(one, Vec::new()), &zen3()).unwrap_err().to_string();
    assert!(error.contains("ebs memlat"), "{error}");
    assert!(as_cache(&LatencyStudy::default(), &zen3()).is_err());
}

#[test]
fn a_size_that_ends_little_by_little_is_the_machines() {
    let (here, next) = (level(224 << 10, Some(256 << 10), 12.0), level(1 << 30, None, 54.0));
    let described = Some(Described { size: 512 << 10, ways: 8 });
    let at = |cycles| agreed(&here, &next, described, &[Timed { size: 512 << 10, cycles }]);
    assert_eq!((at(24.0).size, at(24.0).ways), (512 << 10, 8));
    assert_eq!((at(50.0).size, at(50.0).ways), (224 << 10, 14));
}

proptest! {
    /// Whatever was found, the emulated PMU takes it.
    #[test]
    fn what_is_printed_is_understood(
        octaves in prop::collection::vec((1_u32..5, 4_u64..8), 1..5),
        pages in prop::collection::vec((1_u32..5, 4_u64..8), 0..3),
        latencies in prop::collection::vec(0.0..20_000.0_f64, 8),
    ) {
        let found = |steps: &[(u32, u64)], first: u32| {
            let mut octave = first;
            let mut levels = Vec::new();
            for ((octaves, part), latency) in steps.iter().zip(&latencies) {
                octave += octaves;
                let size = (1_u64 << octave) / 4 * part;
                levels.push(level(size, Some(size + 1), *latency));
            }
            levels.push(level(1 << 50, None, 9.0));
            levels
        };
        let study = study(found(&octaves, 13), found(&pages, 3));
        let text = as_cache(&study, &zen3()).unwrap();
        prop_assert!(zen3().with(&text).is_ok(), "{}: {:?}", text, zen3().with(&text));
    }
}
