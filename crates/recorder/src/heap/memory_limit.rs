//! How much memory the control groups of this process may have.

use std::fs;
use std::path::Path;

/// The lowest limit of the groups above a process and its own, bytes; None: there is none. `root` is
/// that of /proc and /sys.
pub(super) fn memory_limit(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    groups.lines().filter_map(|line| of_group(root, line)).min()
}

/// That of a line `NUMBER:CONTROLLERS:PATH`, version 2 without controllers.
fn of_group(root: &Path, line: &str) -> Option<u64> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?);
    let (top, file) = match controllers {
        "" => ("sys/fs/cgroup", "memory.max"),
        _ if controllers.split(',').any(|it| it == "memory") => {
            ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
        }
        _ => return None,
    };
    let top = root.join(top);
    let group = top.join(path.trim_start_matches('/'));
    // A path from outside of this namespace leads nowhere: its top has a limit, too.
    let above = group.ancestors().take_while(|group| group.starts_with(&top));
    above.filter_map(|group| fs::read_to_string(group.join(file)).ok()?.trim().parse().ok()).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_limit_of_all_groups_counts() {
        let limit = |groups: &str, files: &[(&str, &str)]| {
            let root = tempfile::tempdir().unwrap();
            for (path, text) in [("proc/self/cgroup", groups)].iter().chain(files) {
                let path = root.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            memory_limit(root.path())
        };
        let mib = |count: u64| count << 20;
        let own = ("sys/fs/cgroup/a/b/memory.max", "max\n");
        let above = ("sys/fs/cgroup/a/memory.max", "62914560\n");
        assert_eq!(limit("0::/a/b\n", &[own]), None);
        assert_eq!(limit("0::/a/b\n", &[own, above]), Some(mib(60)));
        // As in a container whose namespace has another top.
        let top = ("sys/fs/cgroup/memory.max", "1048576\n");
        assert_eq!(limit("0::/../x\n", &[own, above, top]), Some(mib(1)));
        let first = ("sys/fs/cgroup/memory/c/memory.limit_in_bytes", "104857600\n");
        let all = ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        let groups = "7:cpu,cpuacct:/c\n4:memory:/c/d\n1:name=systemd:/c\n0::/\n";
        assert_eq!(limit(groups, &[first, all]), Some(mib(100)));
        assert_eq!(limit("", &[]), None);
        assert_eq!(limit("0::/a", &[("sys/fs/cgroup/a/memory.max", "much")]), None);
    }
}
