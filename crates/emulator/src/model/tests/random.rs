//! Random accesses: the model behind its tables and the plain one agree on
//! each of them.

use proptest::prelude::*;

use super::machine::Machine;
use super::plain::Plain;
use crate::model::{LevelShape, Shape};

#[derive(Clone, Copy, Debug)]
enum Step {
    Data {
        thread: usize,
        address: u64,
        size: u64,
        write: bool,
    },
    Fetch {
        thread: usize,
        address: u64,
    },
    /// The same line again and again: hits that only the tables see.
    Again {
        thread: usize,
        address: u64,
        times: u8,
        write: bool,
    },
}

fn level(off: bool) -> impl Strategy<Value = LevelShape> {
    let level = (0_u32..4, 1_u64..6).prop_map(|(sets, ways)| LevelShape {
        sets: 1 << sets,
        ways,
        start: 0,
    });
    (level, 0_u8..6).prop_map(
        move |(level, kind)| {
            if kind == 0 && off { LevelShape::default() } else { level }
        },
    )
}

fn second() -> impl Strategy<Value = LevelShape> {
    let known = prop::sample::select(vec![8_u64, 16]).prop_map(|ways| LevelShape {
        sets: 1,
        ways,
        start: 0,
    });
    prop_oneof![level(true), known]
}

fn third() -> impl Strategy<Value = LevelShape> {
    (0_u64..20, 1_u64..6).prop_map(|(sets, ways)| LevelShape { sets, ways, start: 0 })
}

/// The ways that have code of their own, or others.
fn first() -> impl Strategy<Value = LevelShape> {
    let sets = prop::sample::select(vec![1_u64, 4, 64, 64]);
    let ways = prop::sample::select(vec![8_u64, 12]);
    let known = (sets, ways).prop_map(|(sets, ways)| LevelShape { sets, ways, start: 0 });
    prop_oneof![level(true), known]
}

fn shape() -> impl Strategy<Value = Shape> {
    let told = prop::sample::select(vec![0_u8, 0, 1, 2, 4, 7]);
    (first(), first(), second(), third(), level(true), level(true), told).prop_map(
        |(l1d, l1i, l2, l3, dtlb, stlb, told)| {
            Shape { l1d, l1i, l2, l3, dtlb, stlb, ..Shape::default() }
                .with_shadows(|level| told >> (level as u8 - 1) & 1 != 0)
                .place(false, false)
        },
    )
}

/// Few lines of few pages, some of which share a place in the tables.
fn address() -> impl Strategy<Value = u64> {
    (0_u64..3, 0_u64..8, 0_u64..6, 0_u64..64).prop_map(|(far, page, line, byte)| {
        0x7f00_0000_0000 + (far << 22) + (page << 12) + (line << 6) + byte
    })
}

fn step(threads: usize) -> impl Strategy<Value = Step> {
    let thread = 0..threads;
    prop_oneof![
        8 => (thread.clone(), address(), prop_oneof![9 => 1_u64..40, 1 => 40_u64..700], any::<bool>())
            .prop_map(|(thread, address, size, write)| Step::Data { thread, address, size, write }),
        2 => (thread.clone(), address()).prop_map(|(thread, address)| Step::Fetch { thread, address }),
        4 => (thread, address(), 1_u8..4, any::<bool>())
            .prop_map(|(thread, address, times, write)| Step::Again { thread, address, times, write }),
    ]
}

fn run(shape: Shape, threads: usize, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut machine = Machine::new(shape, threads);
    let mut plain = Plain::new(&shape, threads);
    for (number, &step) in steps.iter().enumerate() {
        machine.check();
        match step {
            Step::Data { thread, address, size, write } => {
                let is = machine.access(thread, address, size, write);
                let should = plain.access(thread, address, size, write);
                prop_assert_eq!(is, should, "step {}: {:?}", number, step);
            }
            Step::Fetch { thread, address } => {
                let is = machine.fetch(thread, address);
                prop_assert_eq!(is, plain.fetch(thread, address), "step {}: {:?}", number, step);
            }
            Step::Again { thread, address, times, write } => {
                for _ in 0..times {
                    let is = machine.access(thread, address, 1, write);
                    let should = plain.access(thread, address, 1, write);
                    prop_assert_eq!(is, should, "step {}: {:?}", number, step);
                }
            }
        }
    }
    Ok(())
}

/// Fewer than usual, since each makes tables of megabytes; `PROPTEST_CASES`
/// says otherwise.
fn config() -> ProptestConfig {
    let cases = std::env::var_os("PROPTEST_CASES").map_or(48, |_| ProptestConfig::default().cases);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn one_thread_agrees(shape in shape(), steps in prop::collection::vec(step(1), 1..600)) {
        run(shape, 1, &steps)?;
    }

    #[test]
    fn three_threads_agree(shape in shape(), steps in prop::collection::vec(step(3), 1..600)) {
        run(shape, 3, &steps)?;
    }

    /// With prefetchers or the store buffer there is nothing to compare with,
    /// but what is always so.
    #[test]
    fn tables_and_caches_agree(
        shape in shape(),
        prefetch in any::<bool>(),
        forward in any::<bool>(),
        steps in prop::collection::vec(step(2), 1..400),
    ) {
        let mut machine = Machine::new(shape.place(prefetch, forward), 2);
        for step in steps {
            match step {
                Step::Data { thread, address, size, write } => {
                    machine.access(thread, address, size, write);
                }
                Step::Fetch { thread, address } => {
                    machine.fetch(thread, address);
                }
                Step::Again { thread, address, times, write } => {
                    for _ in 0..times {
                        machine.access(thread, address, 1, write);
                    }
                }
            }
            machine.check();
        }
    }
}
