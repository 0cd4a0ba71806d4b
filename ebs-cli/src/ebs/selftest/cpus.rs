//! Two CPUs that do not share a first-level cache.

use rustix::thread::{CpuSet, sched_getaffinity};
use std::fs;
use std::path::Path;

/// Two CPUs of different cores that this process may run on, of those under
/// `root`; None: there are none.
pub(super) fn of_two_cores(root: &Path) -> Option<[usize; 2]> {
    let allowed = sched_getaffinity(None).ok()?;
    pair(root, (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)))
}

fn pair(root: &Path, mut cpus: impl Iterator<Item = usize>) -> Option<[usize; 2]> {
    let first = cpus.next()?;
    let siblings = |cpu: usize| {
        let list = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        fs::read_to_string(root.join(list)).ok()
    };
    let own = siblings(first);
    // Where nothing is said of cores, each CPU is one.
    cpus.find(|cpu| own.is_none() || siblings(*cpu) != own).map(|other| [first, other])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siblings_are_no_pair() {
        let root = tempfile::tempdir().expect("a directory can be made");
        for (cpu, list) in [(0, "0,2"), (1, "1,3"), (2, "0,2"), (3, "1,3")] {
            let place = root.path().join(format!("sys/devices/system/cpu/cpu{cpu}/topology"));
            fs::create_dir_all(&place).expect("it can be made");
            fs::write(place.join("thread_siblings_list"), list).expect("it can be written");
        }
        assert_eq!(pair(root.path(), [0, 2, 3].into_iter()), Some([0, 3]));
        assert_eq!(pair(root.path(), [0, 2].into_iter()), None);
        assert_eq!(pair(root.path(), std::iter::empty()), None);
        let bare = tempfile::tempdir().expect("a directory can be made");
        assert_eq!(pair(bare.path(), [4, 5].into_iter()), Some([4, 5]));
    }
}
