//! What the machine says of itself. Readers take the root of its files.

use serde::Serialize;
use std::fs;
use std::path::Path;

/// A cache for data, as the machine describes it: a guest's description may
/// be of no machine that there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DescribedCache {
    /// 1, 2, 3.
    pub level: u64,
    pub bytes: u64,
}

/// The caches for data of a CPU, the first level first.
#[must_use]
pub fn described_caches(root: &Path, cpu: u32) -> Vec<DescribedCache> {
    let directory = root.join(format!("sys/devices/system/cpu/cpu{cpu}/cache"));
    let read = |index: u32, name: &str| {
        let text = fs::read_to_string(directory.join(format!("index{index}/{name}"))).ok()?;
        Some(text.trim().to_owned())
    };
    let cache = |index| {
        let kind = read(index, "type")?;
        let level = read(index, "level")?.parse().ok()?;
        let kib: u64 = read(index, "size")?.strip_suffix('K')?.parse().ok()?;
        (kind != "Instruction").then_some(DescribedCache { level, bytes: kib.checked_mul(1024)? })
    };
    let mut all: Vec<DescribedCache> = (0..16).filter_map(cache).collect();
    all.sort_by_key(|cache| cache.level);
    all
}

/// Bytes of memory that can be taken without anybody's loss: those of the
/// machine, or those that its control groups have left for this process.
#[must_use]
pub fn available_memory(root: &Path) -> u64 {
    let text = fs::read_to_string(root.join("proc/meminfo")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    // A kernel that does not say has some memory all the same.
    let machine = kib.map_or(1 << 30, |kib| kib.saturating_mul(1024));
    machine.min(cgroup_headroom(root))
}

/// What the control groups above this process (v2) have left.
fn cgroup_headroom(root: &Path) -> u64 {
    let text = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let path = text.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let top = root.join("sys/fs/cgroup");
    let mut left = u64::MAX;
    for group in top.join(path).ancestors().take_while(|group| group.starts_with(&top)) {
        let number = |name: &str| {
            let text = fs::read_to_string(group.join(name)).ok()?;
            text.trim().parse::<u64>().ok()
        };
        if let (Some(most), Some(now)) = (number("memory.max"), number("memory.current")) {
            left = left.min(most.saturating_sub(now));
        }
    }
    left
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryNode {
    pub node: u32,
    /// CPUs that are next to it; none of memory alone.
    pub cpus: Vec<u32>,
    pub has_memory: bool,
}

/// The nodes, by number.
#[must_use]
pub fn memory_nodes(root: &Path) -> Vec<MemoryNode> {
    let top = root.join("sys/devices/system/node");
    let list = |name: &str| {
        let text = fs::read_to_string(top.join(name)).unwrap_or_default();
        numbers(text.trim())
    };
    let with_memory = list("has_memory");
    let node = |node: u32| MemoryNode {
        node,
        cpus: list(&format!("node{node}/cpulist")),
        has_memory: with_memory.contains(&node),
    };
    list("online").into_iter().map(node).collect()
}

/// `0-3,8`: lists of CPUs and nodes; what is no list is empty.
#[must_use]
pub fn numbers(list: &str) -> Vec<u32> {
    const MAX_NUMBER: u32 = 65_536;
    let mut all = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) {
            all.extend(first..=last.min(MAX_NUMBER));
        }
    }
    all
}

/// What a CPU has spent its time on since the machine started, ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuTicks {
    /// Idle, or waiting for a disk.
    pub(crate) idle: u64,
    /// Taken by the host while there was work.
    pub(crate) stolen: u64,
}

/// Of the text of /proc/stat; None of a CPU that is not there.
pub(crate) fn cpu_ticks(stat: &str, cpu: u32) -> Option<CpuTicks> {
    let name = format!("cpu{cpu} ");
    let line = stat.lines().find_map(|line| line.strip_prefix(&name))?;
    let field = |index| line.split_whitespace().nth(index).and_then(|text| text.parse().ok());
    let number = |index| field(index).unwrap_or(0_u64);
    // user nice system idle iowait irq softirq steal (proc_stat(5)).
    Some(CpuTicks { idle: number(3) + number(4), stolen: number(7) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn caches_are_those_for_data() {
        let cpu = "sys/devices/system/cpu/cpu3/cache";
        let mut files = Vec::new();
        for (index, (level, kind, size)) in [
            ("3", "Unified", "515072K"),
            ("1", "Instruction", "32K"),
            ("1", "Data", "48K"),
            ("2", "Unified", "odd"),
        ]
        .into_iter()
        .enumerate()
        {
            for (name, text) in [("level", level), ("type", kind), ("size", size)] {
                files.push((format!("{cpu}/index{index}/{name}"), format!("{text}\n")));
            }
        }
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (&**path, &**text)).collect();
        let root = tree(&files);
        let cache = |level, bytes| DescribedCache { level, bytes };
        assert_eq!(described_caches(root.path(), 3), [cache(1, 48 << 10), cache(3, 503 << 20)]);
        assert_eq!(described_caches(root.path(), 0), []);
    }

    #[test]
    fn memory_is_bounded_by_the_groups_above() {
        let root = tree(&[
            ("proc/meminfo", "MemTotal: 9 kB\nMemAvailable:    4096 kB\n"),
            ("proc/self/cgroup", "1:cpu:/x\n0::/a/b\n"),
            ("sys/fs/cgroup/a/memory.max", "3000000\n"),
            ("sys/fs/cgroup/a/memory.current", "1000000\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/a/b/memory.current", "1\n"),
        ]);
        assert_eq!(available_memory(root.path()), 2_000_000);
        fs::remove_file(root.path().join("proc/self/cgroup")).unwrap();
        assert_eq!(available_memory(root.path()), 4096 << 10);
        fs::remove_file(root.path().join("proc/meminfo")).unwrap();
        assert_eq!(available_memory(root.path()), 1 << 30);
    }

    #[test]
    fn nodes_have_cpus_and_memory_or_one_of_both() {
        let root = tree(&[
            ("sys/devices/system/node/online", "0-2\n"),
            ("sys/devices/system/node/has_memory", "0,2\n"),
            ("sys/devices/system/node/node0/cpulist", "0-1,4\n"),
            ("sys/devices/system/node/node1/cpulist", "2-3\n"),
            ("sys/devices/system/node/node2/cpulist", "\n"),
        ]);
        let node =
            |node, cpus: &[u32], has_memory| MemoryNode { node, cpus: cpus.to_vec(), has_memory };
        assert_eq!(
            memory_nodes(root.path()),
            [node(0, &[0, 1, 4], true), node(1, &[2, 3], false), node(2, &[], true)]
        );
        assert_eq!(memory_nodes(&root.path().join("nowhere")), []);
        assert_eq!(numbers("3-1,x,7,0-"), [7]);
        assert_eq!(numbers("0-4294967295").len(), 65_537);
    }

    #[test]
    fn ticks_are_those_of_the_cpu() {
        let stat = "cpu  9 9 9 9 9 9 9 9\ncpu0 1 2 3 4 5 6 7 8 9 9\ncpu10 1 1 1 40 1 1 1 3 0 0\n";
        assert_eq!(cpu_ticks(stat, 0), Some(CpuTicks { idle: 9, stolen: 8 }));
        assert_eq!(cpu_ticks(stat, 10), Some(CpuTicks { idle: 41, stolen: 3 }));
        assert_eq!(cpu_ticks(stat, 1), None);
        assert_eq!(cpu_ticks("cpu0 1\n", 0), Some(CpuTicks::default()));
    }
}
