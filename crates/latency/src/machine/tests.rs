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
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
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
    assert_eq!(spent(stat, 0), Some(SpentTicks { idle: 9, stolen: 8 }));
    assert_eq!(spent(stat, 10), Some(SpentTicks { idle: 41, stolen: 3 }));
    assert_eq!(spent(stat, 1), None);
    assert_eq!(spent("cpu0 1\n", 0), Some(SpentTicks::default()));
}
