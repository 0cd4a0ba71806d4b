//! A program to be loaded, in words: what a worker asks the supervisor for.

use record::{Pid, Tid};
use sampling::in_kernel::{Duty, InKernel, Keep, KernelProgram, Shows, SiteTables};

// What the supervisor hands back goes in one message.
const _: () = assert!(KernelProgram::MOST_DESCRIPTORS <= crate::passing::MOST_HANDED);

/// Words of it.
pub(crate) const PROGRAM_WORDS: usize = 20;

// Of the first word: the table's sites (0: a filter), and these.
const BY_PROCESS: u64 = 1 << 32;
const STRIDES: u64 = 1 << 33;
const USER_ONLY: u64 = 1 << 34;
const SHOWS_ADDRESS: u64 = 1 << 35;
const SHOWS_WEIGHT: u64 = 1 << 36;
const SHOWS_DATA_SRC: u64 = 1 << 37;
const HAS_CGROUP: u64 = 1 << 38;
const HAS_COMM: u64 = 1 << 39;
const HAS_IP: u64 = 1 << 40;
const HAS_ADDRESS: u64 = 1 << 41;
const HAS_DATA_SRC: u64 = 1 << 42;
const FLAGS: u64 = (HAS_DATA_SRC << 1) - BY_PROCESS;

/// The words of a program for events that show this; None: no program is
/// like that ([`Keep::check`]).
pub(crate) fn words(in_kernel: &InKernel, shows: Shows) -> Option<[u64; PROGRAM_WORDS]> {
    let keep = &in_kernel.keep;
    keep.check().ok()?;
    let tables = match in_kernel.duty {
        Duty::Filter => SiteTables { sites: 0, by_process: false, strides: false },
        Duty::Aggregate(tables) if tables.sites == 0 => return None,
        Duty::Aggregate(tables) => tables,
    };
    let flags = [
        (BY_PROCESS, tables.by_process),
        (STRIDES, tables.strides),
        (USER_ONLY, keep.user_only),
        (SHOWS_ADDRESS, shows.address),
        (SHOWS_WEIGHT, shows.weight),
        (SHOWS_DATA_SRC, shows.data_src),
        (HAS_CGROUP, keep.cgroup.is_some()),
        (HAS_COMM, keep.comm.is_some()),
        (HAS_IP, keep.ip.is_some()),
        (HAS_ADDRESS, keep.address.is_some()),
        (HAS_DATA_SRC, keep.data_src.is_some()),
    ];
    let set = flags.into_iter().filter(|(_, set)| *set);
    let first = set.fold(u64::from(tables.sites), |word, (flag, _)| word | flag);
    let mut comm = [0; 16];
    for (to, byte) in comm.iter_mut().zip(keep.comm.iter().flat_map(|name| name.bytes())) {
        *to = byte;
    }
    let [comm, rest] = comm.as_chunks::<8>().0 else { return None };
    let (ip, address) = (keep.ip.unwrap_or_default(), keep.address.unwrap_or_default());
    let (mask, value) = keep.data_src.unwrap_or_default();
    let mut words = [0; PROGRAM_WORDS];
    words[..12].copy_from_slice(&[
        first,
        keep.one_in,
        keep.least_weight,
        mask,
        value,
        ip.0,
        ip.1,
        address.0,
        address.1,
        keep.cgroup.unwrap_or(0),
        u64::from_ne_bytes(*comm),
        u64::from_ne_bytes(*rest),
    ]);
    put(&mut words[12..16], keep.pids.iter().map(|pid| pid.0));
    put(&mut words[16..], keep.tids.iter().map(|tid| tid.0));
    Some(words)
}

/// What words ask for; None: no program.
pub(crate) fn program(words: &[u64; PROGRAM_WORDS]) -> Option<(InKernel, Shows)> {
    let first = words[0];
    let has = |flag| first & flag != 0;
    let sites = u32::try_from(first & u64::from(u32::MAX)).ok()?;
    if first >> 32 & !(FLAGS >> 32) != 0 {
        return None;
    }
    let duty = match sites {
        0 => Duty::Filter,
        sites => {
            let (by_process, strides) = (has(BY_PROCESS), has(STRIDES));
            Duty::Aggregate(SiteTables { sites, by_process, strides })
        }
    };
    let comm = [words[10].to_ne_bytes(), words[11].to_ne_bytes()].concat();
    let comm = String::from_utf8(comm).ok()?;
    let keep = Keep {
        pids: numbers(&words[12..16]).map(Pid).collect(),
        tids: numbers(&words[16..]).map(Tid).collect(),
        cgroup: has(HAS_CGROUP).then_some(words[9]),
        comm: has(HAS_COMM).then(|| comm.trim_end_matches('\0').to_owned()),
        ip: has(HAS_IP).then_some((words[5], words[6])),
        address: has(HAS_ADDRESS).then_some((words[7], words[8])),
        one_in: words[1],
        least_weight: words[2],
        data_src: has(HAS_DATA_SRC).then_some((words[3], words[4])),
        user_only: has(USER_ONLY),
    };
    keep.check().ok()?;
    let shows = Shows {
        address: has(SHOWS_ADDRESS),
        weight: has(SHOWS_WEIGHT),
        data_src: has(SHOWS_DATA_SRC),
    };
    Some((InKernel { duty, keep }, shows))
}

/// Two ids a word; 0: none.
fn put(words: &mut [u64], ids: impl Iterator<Item = i32>) {
    for (at, id) in ids.enumerate() {
        if let Some(word) = words.get_mut(at / 2) {
            *word |= u64::from(id.cast_unsigned()) << (32 * (at % 2));
        }
    }
}

fn numbers(words: &[u64]) -> impl Iterator<Item = i32> + use<'_> {
    let halves = words.iter().flat_map(|word| {
        let [a, b, c, d, e, f, g, h] = word.to_le_bytes();
        [i32::from_le_bytes([a, b, c, d]), i32::from_le_bytes([e, f, g, h])]
    });
    halves.filter(|id| *id != 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keeps() -> impl Strategy<Value = Keep> {
        let range = (any::<u64>(), any::<u64>()).prop_map(|(a, b)| (a.min(b), a.max(b)));
        let ids = prop::collection::vec(1..=i32::MAX, 0..=Keep::MOST_IDS);
        let data_src = (1..=u64::MAX, any::<u64>()).prop_map(|(mask, value)| (mask, value & mask));
        (
            (ids.clone(), ids, prop::option::of(1..=u64::MAX)),
            (prop::option::of("[a-z\u{e9} ]{1,7}"), prop::option::of(range.clone())),
            (prop::option::of(range), 1..=u64::MAX, any::<u64>()),
            (prop::option::of(data_src), any::<bool>()),
        )
            .prop_map(
                |((pids, tids, cgroup), (comm, ip), (address, one_in, least_weight), rest)| {
                    let (data_src, user_only) = rest;
                    let pids = pids.into_iter().map(Pid).collect();
                    let tids = tids.into_iter().map(Tid).collect();
                    Keep {
                        pids,
                        tids,
                        cgroup,
                        comm,
                        ip,
                        address,
                        one_in,
                        least_weight,
                        data_src,
                        user_only,
                    }
                },
            )
    }

    proptest! {
        #[test]
        fn programs_come_out_as_they_went_in(
            keep in keeps(),
            counts in prop::option::of((1..=u32::MAX, any::<bool>(), any::<bool>())),
            (address, weight, data_src) in any::<(bool, bool, bool)>(),
        ) {
            let duty = counts.map_or(Duty::Filter, |(sites, by_process, strides)| {
                Duty::Aggregate(SiteTables { sites, by_process, strides })
            });
            let (in_kernel, shows) = (InKernel { duty, keep }, Shows { address, weight, data_src });
            let words = words(&in_kernel, shows).unwrap();
            prop_assert_eq!(program(&words), Some((in_kernel, shows)));
        }

        #[test]
        fn any_words_are_a_program_that_can_be_or_none(words in any::<[u64; PROGRAM_WORDS]>()) {
            if let Some((in_kernel, _)) = program(&words) {
                prop_assert!(in_kernel.keep.check().is_ok());
            }
        }
    }

    #[test]
    fn what_cannot_be_has_no_words() {
        let keep = Keep { one_in: 0, ..Keep::default() };
        let wrong = InKernel { duty: Duty::Filter, keep };
        assert_eq!(words(&wrong, Shows::default()), None);
        let mut none = words(&InKernel::aggregate(), Shows::default()).unwrap();
        none[0] |= 1 << 63;
        assert_eq!(program(&none), None, "of a newer worker");
    }
}
